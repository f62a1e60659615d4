"""`perfarray speedup-test`: its table, its data and its files."""

import pytest

from cli.commands import as_json, run, write_rows


@pytest.fixture(autouse=True)
def _configuration():
    """Write a configuration of two benchmarks, one of them measured once a side."""
    for name, values in {
        "one": "1.0",
        "other": "1.1",
        "old": "1.0 1.1 1.05 1.02",
        "new": "0.9 0.8 0.85 0.95",
    }.items():
        first, *names = values.split()
        write_rows(name, first, names)
    write_rows(
        "bench.csv",
        "Name,Sample1,Sample2,ConfLevel,Coef",
        ["a,one,other,0.95,1", "b,old,new,0.95,1"],
    )


def test_its_answer_has_the_forms_of_all_commands(tmp_path):
    """It is printed as data; the tool's files are beside the configuration, or where -o says, as
    the tool's own option does."""
    answer = as_json("speedup-test", "bench.csv", "-o", "own", code=0)
    assert (tmp_path / "own.report").is_file()
    assert (
        answer["exit_reason"] == "significant: 1 of 2 speedups of means, 1 of 2 speedups of medians"
    )
    assert [(row["benchmark"], row["statistic"], row["significant"]) for row in answer["rows"]] == [
        ("a", "mean", False), ("a", "median", False), ("b", "mean", True), ("b", "median", True)
    ]  # fmt: skip
    assert [row["statistic"] for row in answer["suites"]] == ["min", "mean", "median"]
    assert "there is no folder" in run("speedup-test", "bench.csv", "--prefix", "no/folder").output


def test_a_benchmark_without_spread_is_a_row_and_no_warning():
    """The table says that it cannot conclude; the library's remedy is written in Python."""
    result = run("speedup-test", "bench.csv", code=0)
    assert result.stderr == ""
    assert (
        next(line for line in result.stdout.splitlines() if line.strip().startswith("a ")).count(
            "no"
        )
        >= 2
    )

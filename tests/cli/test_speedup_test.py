"""`perfarray speedup-test`: its table, its data and its files."""

import json

from cli.test_compare import run


def write(folder):
    """Write a configuration of two benchmarks, one of them measured once a side."""
    for name, values in {"one": "1.0", "other": "1.1", "old": "1.0 1.1 1.05 1.02", "new": "0.9 0.8 0.85 0.95"}.items():
        (folder / name).write_text("\n".join(values.split()) + "\n")
    (folder / "bench.csv").write_text("Name,Sample1,Sample2,ConfLevel,Coef\na,one,other,0.95,1\nb,old,new,0.95,1\n")
    return folder / "bench.csv"


def test_its_answer_has_the_forms_of_all_commands(tmp_path):
    """It is printed as data; the tool's files are beside the configuration, or where -o says, as the tool's own option does."""
    result = run("speedup-test", write(tmp_path), "--json", "-o", tmp_path / "own")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "own.report").is_file()
    found = json.loads(result.stdout)
    assert found["exit_reason"] == "significant: 1 of 2 speedups of means, 1 of 2 speedups of medians"
    assert [(row["benchmark"], row["statistic"], row["significant"]) for row in found["rows"]] == [
        ("a", "mean", False), ("a", "median", False), ("b", "mean", True), ("b", "median", True)
    ]  # fmt: skip
    assert [row["statistic"] for row in found["suites"]] == ["min", "mean", "median"]
    assert "there is no folder" in run("speedup-test", tmp_path / "bench.csv", "--prefix", tmp_path / "no" / "folder").output


def test_a_benchmark_without_spread_is_a_row_and_no_warning(tmp_path, monkeypatch):
    """The table says that it cannot conclude; the library's remedy is written in Python."""
    monkeypatch.setenv("COLUMNS", "120")
    result = run("speedup-test", write(tmp_path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert next(line for line in result.stdout.splitlines() if line.strip().startswith("a ")).count("no") >= 2

"""`--families` and `--control`: parts of names that are compared, and what the others stand
against."""

import re

import numpy as np
import pytest

from cli.commands import as_json, one_line, refused, run, write

SORTS = {
    "BM_std_sort/8": [8.0, 8.1, 7.9, 8.0],
    "BM_mine_sort/8": [4.0, 4.1, 3.9, 4.0],
    "BM_std_sort/64": [64.0, 65.0, 63.0, 64.0],
    "BM_mine_sort/64": [32.0, 33.0, 31.0, 32.0],
}
PATTERN = "BM_{version}_sort/*"


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "results.csv", SORTS)


@pytest.fixture
def sides(tmp_path):
    """Four controls and two benchmarks; all are 3 % slower, and one of these is 10 % slower."""
    rng = np.random.default_rng(1)
    names = [*(f"io_{number}" for number in range(4)), "parse", "sort"]
    factors = [1.03] * 5 + [1.10]
    files = []
    for side, factor in (("old", [1.0] * 6), ("new", factors)):
        logs = 0.003 * rng.standard_normal((6, 8)) + np.log(factor)[:, None]
        rows = dict(zip(names, np.exp(logs).tolist(), strict=True))
        files.append(write(tmp_path / f"{side}.csv", rows))
    return files


def test_families_of_one_file_are_compared(file):
    rows = as_json("compare", file, "--families", PATTERN, "--baseline", "std", code=0)[
        "benchmarks"
    ]
    assert [row["benchmark"] for row in rows] == ["BM_{version}_sort/8", "BM_{version}_sort/64"]
    assert [row["verdict"] for row in rows] == ["faster"] * 2
    assert [round(row["estimate"], 6) for row in rows] == [0.5, 0.5]


def test_the_only_name_is_the_dim_compared(file):
    output = run("compare", file, "--families", PATTERN, code=0).stdout
    assert "every version beside std (the first; --baseline names another)" in one_line(output)


def test_labels_that_are_not_like_it_are_named(tmp_path):
    file = write(tmp_path / "results.csv", SORTS | {"BM_copy": [1.0, 1.0]})
    result = run("compare", file, "--families", PATTERN, "--baseline", "std", code=0)
    assert result.stderr.count("are not like") == 1
    assert "'BM_copy'" in result.stderr


def test_messages_speak_of_the_option(file):
    assert "--families 'XX_{version}'" in refused("compare", file, "--families", "XX_{version}")
    assert "--families 'BM_*'" in refused("compare", file, "--families", "BM_*")


def test_families_of_two_files_are_matched(tmp_path):
    """A part that is another in each file, such as the folder of its tests, separates no sides.

    Several families of one file are compared each with itself in the other file."""
    slower = {name: [1.1 * value for value in values] for name, values in SORTS.items()}
    old = write(tmp_path / "old.csv", {f"code/t/{name}": values for name, values in SORTS.items()})
    new = write(tmp_path / "new.csv", {f"home/t/{name}": values for name, values in slower.items()})
    message = refused("compare", old, new)
    pattern = re.search("--families '(.*?)'", message)[1]
    rows = as_json("compare", old, new, "--families", pattern)["benchmarks"]
    assert [row["benchmark"] for row in rows] == [f"{{root}}/t/{name}" for name in SORTS]
    assert [round(row["estimate"], 6) for row in rows] == [1.1] * len(SORTS)
    once = [
        write(tmp_path / side / "once.csv", {f"{root}/t/{name}": [1.0] for name in SORTS})
        for side, root in (("old", "code"), ("new", "home"))
    ]
    chosen = ("--select", "benchmark=*std*", "--families", pattern)
    printed = run("compare", *once, *chosen, code=2).stdout
    assert "--select 'benchmark=*std*' --families '{root}/*' --between EARLIER\n" in printed
    assert "(root code)" in run("compare", old, new, "--families", pattern).stdout
    same = as_json("compare", old, old, "--families", "code/t/" + PATTERN)["benchmarks"]
    assert {(row["version"], row["estimate"]) for row in same} == {("std", 1.0), ("mine", 1.0)}


def test_rows_are_judged_beside_controls(sides):
    answer = as_json("compare", *sides, "--control", "io_*", code=1)
    verdicts = {row["benchmark"]: row["verdict"] for row in answer["benchmarks"]}
    assert [verdicts[f"io_{number}"] for number in range(4)] == ["control"] * 4
    assert (verdicts["parse"], verdicts["sort"]) == ("inconclusive", "slower")
    assert "2 compared beside 4 controls: 1 slower" in answer["exit_reason"]
    assert {note["code"] for note in answer["notes"]} >= {"controls"}


def test_controls_alone_are_never_slower(sides):
    """What all of them did is no verdict: the exit code is that of the other benchmarks."""
    run("compare", *sides, code=1)
    arguments = [f"--control=io_{number}" for number in range(4)]
    run("compare", *sides, *arguments, "--control", "sort", "--threshold", "5%", code=0)


def test_the_screen_says_what_ratios_are_relative_to(sides):
    output = one_line(run("compare", *sides, "--control", "io_*", code=1).stdout)
    assert "Ratios are relative to 4 controls: 'io_0', 'io_1', 'io_2' and 1 more." in output


def test_messages_on_controls_speak_of_the_option(sides):
    assert "--control 'disk_*' is no label" in refused("compare", *sides, "--control", "disk_*")
    assert refused("compare", *sides, "--control", "io_0").startswith("error: 1 control measured")
    message = refused("compare", *sides, "--control", "io_*", "--statistic", "median")
    assert "--control is for ratios of means" in message


def test_controls_that_are_proposed_are_options(tmp_path):
    """A list of labels becomes an option for each, also where a label has brackets."""
    rng = np.random.default_rng(2)
    names = ["sort[n=1]", *(f"b{number}" for number in range(7))]
    sides = [
        write(
            tmp_path / f"{side}.csv",
            {name: (factor * np.exp(0.002 * rng.standard_normal(8))).tolist() for name in names},
        )
        for side, factor in (("old", 1), ("new", 1.04))
    ]
    output = one_line(run("compare", *sides, code=1).stdout)
    assert "cannot touch, as in --control 'sort[n=1]' --control 'b0'." in output

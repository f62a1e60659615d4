"""Files of one name that were measured in rounds are compared in pairs, where their dates show
rounds; without dates pairs are proposed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from cli.commands import as_json, refused, run, write_rows
from perfarray.cli.runs import in_runs
from perfarray.cli.several_files import are_numbered as are_runs
from perfarray.timings.processes import recipe

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
ALTERNATING = [("old", 1), ("new", 1), ("new", 2), ("old", 2)]
SESSIONS = ("--files-are", "session")


def sequence(rounds, fixed=False):
    """Return the sides and numbers of files in the order of measurement: the old one first in every
    other round, or in all."""
    pairs = [("old", "new") if fixed or number % 2 else ("new", "old") for number in range(1, 99)]
    return [(side, number) for number in range(1, rounds + 1) for side in pairs[number - 1]]


def measure(order, *, dates=True, same_date=False, lacking=(), rate=False, name="{number}.json"):
    """Write Google Benchmark's files in an order: rounds vary by 8 %, runs by 0.5 %, and `c` is 5 %
    slower in the new version."""
    rng = np.random.default_rng(1)
    factors = np.exp(0.08 * rng.standard_normal(99))
    for minute, (side, number) in enumerate(order):
        rows = []
        for label in "abc":
            nanoseconds = 100 * factors[number] * np.exp(0.005 * rng.standard_normal())
            nanoseconds *= 1.05 if (label, side) == ("c", "new") else 1.0
            row = {"name": label, "iterations": 9, "real_time": nanoseconds, "time_unit": "ns"}
            row["cpu_time"] = nanoseconds
            row |= {"items_per_second": 1e9 / nanoseconds} if rate else {}
            rows += [] if (side, number, label) in lacking else [row]
        moment = START + timedelta(minutes=0 if same_date else minute)
        is_dated = dates is True or dates == side
        content = {"context": {"date": moment.isoformat()} if is_dated else {}, "benchmarks": rows}
        path = write_rows(f"{side}/{name.format(side=side, number=number)}", "", [])
        path.write_text(json.dumps(content))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def codes(content):
    return [note["code"] for note in content["notes"] if note["code"].endswith(("rounds", "order"))]


def test_dates_show_pairs():
    """The change is seen, which independent sessions do not show; the heading and the outcome say
    that pairs are compared, and `--unpaired` compares without."""
    measure(sequence(5))
    result = run("compare", "old", "new", *SESSIONS, code=1)
    assert "3 compared (5 rounds, in pairs): 1 slower" in result.stdout
    assert "\nFiles of one name are one round, by their dates" in result.stdout
    assert result.stderr == ""
    content = as_json("compare", "old", "new", *SESSIONS, code=1)
    assert content["attrs"]["paired"] == "session"
    assert content["attrs"]["paired_by"] == "label"
    assert codes(content) == []
    unpaired = as_json("compare", "old", "new", *SESSIONS, "--unpaired", code=0)
    assert "paired" not in unpaired["attrs"]
    assert codes(unpaired) == []
    assert "rounds" not in unpaired["exit_reason"]
    given = as_json("compare", "old", "new", *SESSIONS, "--paired", "session", code=1)
    assert given["benchmarks"] == content["benchmarks"]
    contradiction = ("--paired", "session", "--unpaired")
    assert "contradict" in refused("compare", "old", "new", *SESSIONS, *contradiction)


def test_numbered_files_are_sessions():
    """Folders of numbered files need no option: the heading says what a file is, and pairs are made
    as with it. Files of other names may be anything."""
    measure(sequence(5))
    result = run("compare", "old", "new", code=1)
    assert "\nFiles of a side are numbered: each is a run of the whole harness" in result.stdout
    with_option = run("compare", "old", "new", *SESSIONS, code=1)
    lines = result.stdout.splitlines()
    assert [*lines[:2], *lines[3:]] == with_option.stdout.splitlines()
    for files, are_numbered in {
        ("1.txt", "2.txt", "3.json"): True,
        ("64.txt", "128.txt", "256.txt"): False,
        ("1.txt", "2.txt", "4.txt"): False,
        ("round-01.json", "round-02.json"): True,
        ("1.old.txt", "2.old.txt"): True,
        ("1/results.xml", "2/results.xml"): True,
        ("1/a.xml", "2/b.xml"): False,
        ("threads-1.json", "threads-2.json"): False,
        ("day1.csv", "day2.csv"): False,
        ("parse.txt", "sort.txt"): False,
        ("1.txt", "sort.txt"): False,
    }.items():
        assert are_runs(files) is are_numbered


def test_what_more_than_one_number_tells_apart_may_be_anything():
    """Sides may have words of their own; files of one side with two words, one number, two numbers
    or a further setting in the name may be of two versions, tools or settings."""
    assert are_runs(["old-1.txt"], ["new-1.txt", "new-2.txt"])
    assert are_runs(["1.txt", "2.txt", "3.txt"], ["1.txt", "3.txt"])
    assert are_runs(["run1/1.txt", "run1/2.txt"])
    for files in (
        ["old-1.txt", "new-1.txt", "new-2.txt"],
        ["base-1.txt", "head-2.txt"],
        ["1.csv", "1.txt", "2.csv"],
        ["01.csv", "1.csv", "2.csv"],
        ["1.threads4.json", "2.threads8.json"],
        ["1.2.json", "1.3.json"],
        ["1/1.json", "1/2.json", "2/1.json", "2/2.json"],
    ):
        assert not are_runs(files)


def test_files_of_two_versions_are_not_pooled():
    """A folder that holds numbered files of two versions is asked about."""
    measure(sequence(2), name="old-{number}.json")
    for file in Path().glob("*/old-*.json"):
        slower = file.read_text().replace('_time": 1', '_time": 2')
        file.with_name(file.name.replace("old", "new")).write_text(slower)
    assert "What is a file?" in refused("compare", "old", "new")


def test_what_differs_within_a_run_does_not_describe_it():
    """The files of a folder are one run. A machine that all have is its machine; of two machines
    neither is. Its date is that of its first file."""
    of_file = {
        "file": ["1/a", "1/b", "2/a", "2/b"],
        "cpu": ("file", ["i7", "i9", "i7", "i9"]),
        "os": ("file", ["x", "x", "y", "y"]),
        "date": ("file", ["1", "2", "3", "4"]),
    }
    values = [[1, np.nan], [np.nan, 2], [3, np.nan], [np.nan, 4]]
    times = xr.Dataset({"time": (("file", "benchmark"), values)}, of_file)
    runs = in_runs(times.assign_coords(benchmark=["x", "y"]))
    assert runs["time"].values.tolist() == [[1, 2], [3, 4]]
    assert "cpu" not in runs.coords
    assert runs["os"].values.tolist() == ["x", "y"]
    assert runs["date"].values.tolist() == ["1", "3"]


def test_rounds_of_families():
    """Both families are in each file, which is one round."""
    measure(sequence(4), name="{number}.json")
    for file in Path("old").glob("*.json"):
        file.write_text(file.read_text().replace('"b"', '"BM_x_s"').replace('"c"', '"BM_y_s"'))
    families = ("--families", "BM_{version}_s", "--baseline", "x")
    result = run("compare", "old", *families, *SESSIONS)
    assert "Files of one name" not in result.stdout
    assert "Each file with all families is one round" in result.stdout


def test_a_fixed_order_is_told():
    """With pairs as without; the sentence says what it does and what to do."""
    measure(sequence(3, fixed=True))
    printed = run("compare", "old", "new", *SESSIONS, code=1).stdout
    assert "In all 3 rounds the baseline was measured first" in printed
    assert "old new, new old" in printed
    assert codes(as_json("compare", "old", "new", *SESSIONS)) == ["fixed_order"]
    assert codes(as_json("compare", "old", "new", *SESSIONS, "--unpaired")) == ["fixed_order"]


@pytest.mark.parametrize(
    "options",
    [{"dates": False}, {"dates": "old"}, {"same_date": True}],
    ids=["no dates", "dates of one side", "one date"],
)
def test_without_dates_nothing_is_paired(options):
    """Pairs are proposed where a side has no dates, or all files have one."""
    measure(sequence(4), **options)
    content = as_json("compare", "old", "new", *SESSIONS, code=0)
    assert "paired" not in content["attrs"]
    assert codes(content) == ["undated_rounds"]
    printed = run("compare", "old", "new", *SESSIONS).stdout
    assert "--paired 'session' compares inside each round" in printed


def test_one_after_the_other_is_no_round():
    """Nor are files of other names."""
    order = sorted(sequence(4), reverse=True)
    measure(order)
    content = as_json("compare", "old", "new", *SESSIONS, code=0)
    assert codes(content) == []
    assert "measured_in_sequence" in [note["code"] for note in content["notes"]]


def test_files_of_other_names_are_no_pairs():
    """Asked for, pairs of them are refused."""
    measure(sequence(4), name="{side}-{number}.json")
    content = as_json("compare", "old", "new", *SESSIONS, code=0)
    assert codes(content) == []
    answer = refused("compare", "old", "new", *SESSIONS, "--paired", "session")
    assert "have no session in common" in answer


def test_a_round_without_the_other_side_is_left_out():
    """Three files of old and two of new make two pairs, and a warning; of one pair and two files
    that are alone there are no pairs."""
    measure(sequence(3)[:-1])
    result = run("compare", "old", "new", *SESSIONS)
    assert "(2 rounds, in pairs)" in result.stdout
    assert "1 unit of one system has no partner and is left out" in result.stderr
    measure([("old", 4), ("old", 5)])
    assert "in pairs" not in run("compare", "old", "new", *SESSIONS).stdout


def test_one_round_has_no_pairs():
    """One file a side is one execution, whatever files are."""
    measure(sequence(1))
    assert "No answer" in run("compare", "old", "new", *SESSIONS, code=2).stdout
    assert "in pairs" not in run("compare", "old", "new", *SESSIONS, code=2).stdout


def test_benchmarks_that_a_round_lacks():
    """A benchmark has the pairs in which both sides measured it."""
    measure(sequence(5), lacking={("new", 3, "a"), ("old", 2, "b")})
    content = as_json("compare", "old", "new", *SESSIONS)
    assert {row["benchmark"]: row["n"] for row in content["benchmarks"]} == {"a": 4, "b": 4, "c": 5}
    assert content["exit_reason"].startswith("3 compared (4 to 5 rounds, in pairs): ")


def test_rates():
    """Of a throughput the same benchmark is slower."""
    measure(sequence(5), rate=True)
    content = as_json("compare", "old", "new", *SESSIONS, "--metric", "items_per_second", code=1)
    verdicts = {row["benchmark"]: row["verdict"] for row in content["benchmarks"]}
    assert verdicts["c"] == "slower"
    assert "(5 rounds, in pairs)" in content["exit_reason"]


@pytest.mark.parametrize(
    ("options", "in_pairs"),
    [
        (("--statistic", "median"), True),
        (("--prior", "suite"), True),
        (("--correction", "holm"), True),
        (("--metric", "time,cpu_time"), True),
        (("--method", "studentized"), True),
        (("--statistic", "median", "--method", "rank"), False),
        (("--levels", "execution"), False),
    ],
)
def test_other_options(options, in_pairs):
    """Pairs are made where the other options allow them."""
    measure(sequence(5))
    printed = run("compare", "old", "new", *SESSIONS, *options).stdout
    assert ("(5 rounds, in pairs)" in printed) == in_pairs


def test_two_suites():
    """Each has an answer of the same pairs."""
    for minute, (side, number) in enumerate(sequence(3)):
        date, factor = START + timedelta(minutes=minute), 1.001 if side == "new" else 1.0
        rows = [
            f"{suite},{name},{date.isoformat()},{factor * (number + 1 + 0.001 * index % number)}"
            for index, (suite, name) in enumerate(("ua", "ub", "vc", "vd"))
        ]
        write_rows(f"{side}/{number}.csv", "suite,benchmark,date,time", rows)
    content = as_json("compare", "old", "new", *SESSIONS, "--by", "suite")
    assert content["attrs"]["paired"] == "session"
    assert [(row["suite"], row["n"]) for row in content["suites"]] == [("u", 3), ("v", 3)]
    assert content["exit_reason"].startswith("4 compared (3 rounds, in pairs)")


def test_the_recipe_leads_to_pairs():
    """The order of the recipe for several processes alternates."""
    assert "old/$i new/$i new/$((i+1)) old/$((i+1))" in recipe("go").measure
    measure([*ALTERNATING, *((side, number + 2) for side, number in ALTERNATING)])
    content = as_json("compare", "old", "new", *SESSIONS, code=1)
    assert "(4 rounds, in pairs)" in content["exit_reason"]
    assert codes(content) == []

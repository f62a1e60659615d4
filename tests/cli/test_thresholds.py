"""`perfarray calibrate -o FILE` and `perfarray compare --thresholds FILE`."""

import tomllib

import numpy as np
import pytest
from tests.cli.commands import as_json, refused, run, write_rows

NAMES = ("parse", 'quote "x" \\ tab\tend', "[a.b] = 1", "ünï\u202e")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with 14 sessions, of five runs each."""
    path, rng = tmp_path_factory.mktemp("sessions"), np.random.default_rng(1)
    for number in range(14):
        write_session(path / f"run{number:02}.csv", rng)
    return path


def write_session(path, rng, factor=1.0):
    rows = []
    for name in NAMES:
        session = factor * np.exp(0.01 * rng.standard_normal())
        for run_number in range(5):
            time = float(session * np.exp(0.003 * rng.standard_normal()))
            quoted = name.replace('"', '""')
            rows.append(f'"{quoted}",{run_number},{time!r}')
    return write_rows(path, "benchmark,execution,time", rows)


@pytest.fixture(scope="module")
def thresholds(folder, tmp_path_factory):
    file = tmp_path_factory.mktemp("files") / "thresholds.toml"
    run("calibrate", folder, "-o", file, code=0)
    return file


def test_a_file_of_thresholds_is_toml_whatever_names_are(folder, thresholds):
    """The file has the labels and numbers of the answer, as another reader sees them."""
    content = tomllib.loads(thresholds.read_text(encoding="utf-8"))
    rows = as_json("calibrate", folder)["thresholds"]
    assert set(content["thresholds"]) == {row["benchmark"] for row in rows} == set(NAMES)
    for row in rows:
        assert content["thresholds"][row["benchmark"]] == pytest.approx(row["threshold"], rel=1e-3)
    assert content["false_alarms"] == 0.01
    assert 0 < content["suite_threshold"] < 0.05


def test_compare_reads_thresholds(tmp_path, thresholds):
    """Each row is judged at the file's threshold; --threshold NAME= stands before it."""
    rng = np.random.default_rng(7)
    old = write_session(tmp_path / "old.csv", rng)
    new = write_session(tmp_path / "new.csv", rng, 1.2)
    content = tomllib.loads(thresholds.read_text(encoding="utf-8"))["thresholds"]
    answer = as_json("compare", old, new, "--thresholds", thresholds, code=1)
    assert {row["benchmark"]: row["threshold"] for row in answer["benchmarks"]} == content
    answer = as_json(
        "compare", old, new, "--thresholds", thresholds, "--threshold", "parse=50%", code=1
    )
    verdicts = {row["benchmark"]: row for row in answer["benchmarks"]}
    assert verdicts["parse"]["threshold"] == 0.5
    assert verdicts["parse"]["verdict"] == "equivalent"


def test_the_file_holds_the_level_that_compare_checks(tmp_path, folder, thresholds):
    """Its comments state the level of its limits; intervals of another level have a warning."""
    file = tmp_path / "wide.toml"
    run("calibrate", folder, "--confidence", "99%", "-o", file, code=0)
    assert "# Behind each: its 99 % limits" in file.read_text(encoding="utf-8")
    rng = np.random.default_rng(7)
    sides = [write_session(tmp_path / f"{name}.csv", rng) for name in ("old", "new")]
    for further in ((), ("--threshold", "parse=5%")):
        result = run("compare", *sides, "--thresholds", file, *further)
        assert "calibrated for 99 % intervals, and these are 95 %" in result.stderr
        assert "Calibrate with --confidence 95%" in result.stderr
    result = run("compare", *sides, "--thresholds", file, "--confidence", "99%")
    assert "were calibrated for" not in result.stderr


def test_the_file_holds_how_compare_was_called(tmp_path, folder, thresholds):
    """Statistic, method, prior and number of runs are in the file; a warning says what differs."""
    content = tomllib.loads(thresholds.read_text(encoding="utf-8"))
    expected = {"statistic": "mean", "method": "fieller", "prior": "none", "runs": 5}
    assert {name: content[name] for name in expected} == expected
    rng = np.random.default_rng(7)
    sides = [write_session(tmp_path / f"{name}.csv", rng) for name in ("old", "new")]
    assert "calibrated" not in run("compare", *sides, "--thresholds", thresholds).stderr
    result = run("compare", *sides, "--thresholds", thresholds, "--statistic", "median")
    assert "calibrated with statistic mean, method fieller, and this is with" in result.stderr
    result = run("compare", *sides, "--thresholds", thresholds, "--select", "execution=[012]")
    assert "calibrated for 5 executions a side, and most rows have 3" in result.stderr


def test_benchmarks_without_a_threshold_are_told(tmp_path, thresholds):
    rng = np.random.default_rng(7)
    old, new = (write_session(tmp_path / f"{name}.csv", rng) for name in ("old", "new"))
    file = tmp_path / "some.toml"
    file.write_text('[thresholds]\nparse = 0.05\n"gone" = 0.02\n')
    result = run("compare", old, new, "--thresholds", file)
    assert "3 benchmarks" in result.stderr
    assert "gone" in result.stderr
    quiet = as_json("compare", old, new, "--thresholds", file, "--threshold", "4%")
    assert sorted({row["threshold"] for row in quiet["benchmarks"]}) == [0.04, 0.05]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("thresholds = 3", "no threshold below [thresholds]"),
        ("[thresholds]", "no threshold below [thresholds]"),
        ("[thresholds]\na = -0.1", 'thresholds."a" = -0.1 is no fraction'),
        ("[thresholds]\na = nan", 'thresholds."a" = nan is no fraction'),
        ("[thresholds]\na = inf", 'thresholds."a" = inf is no fraction'),
        ("[thresholds]\na = true", 'thresholds."a" = True is no fraction'),
        ("[thresholds]\na = '2%'", "thresholds.\"a\" = '2%' is no fraction"),
        ("[thresholds.a]\nb = 1", "thresholds.\"a\" = 'dict' is no fraction"),
        ("suite_threshold = 2\n[thresholds]\na = 0", "suite_threshold = 2 is no fraction"),
        ("limits = 1\n[thresholds]\na = 0", "unknown key 'limits'"),
        ("method = 1\n[thresholds]\na = 0", "method is no text in quotes"),
        ("runs = 0\n[thresholds]\na = 0", "runs is no number of 1 or more"),
        ("runs = true\n[thresholds]\na = 0", "runs is no number of 1 or more"),
        ("runs = inf\n[thresholds]\na = 0", "runs is no number of 1 or more"),
        ("a = = 1", "this is no TOML"),
        ("a = " + "[" * 5000, "this is no TOML"),
    ],
)
def test_what_a_file_should_not_hold_is_refused_by_name(tmp_path, text, facts):
    file = tmp_path / "thresholds.toml"
    file.write_text(text)
    old = write_session(tmp_path / "old.csv", np.random.default_rng(1))
    assert facts in refused("compare", old, old, "--thresholds", file)


def test_a_missing_file_is_named(tmp_path):
    old = write_session(tmp_path / "old.csv", np.random.default_rng(1))
    assert "no such file" in refused("compare", old, old, "--thresholds", tmp_path / "none.toml")


def test_too_few_sessions_are_told(folder, tmp_path):
    """One file is no place with sessions; of two the command says how many more to measure."""
    assert "two sessions or more" in refused("calibrate", folder / "run00.csv")
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        write_session(tmp_path / f"{name}.csv", rng)
    assert "more bring them within 1.25 times" in run("calibrate", tmp_path).stderr

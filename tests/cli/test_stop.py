"""`perfarray stop`: whether to go on, how many more, and the exit codes of a loop."""

import json

import pytest

import perfarray
from cli.test_compare import OLD, run, write
from perfarray.cli.problems import in_line

PYPERF = perfarray.dataset_path("python_malloc") / "malloc.json"


def test_what_is_still_to_be_run():
    """It is the number that `stopping` extrapolates less the number measured, and 0 where the rule stops; exit code 1 says go on."""
    shown = run("stop", PYPERF, "--half-width", "1%")
    assert shown.exit_code == 1
    assert shown.stdout.splitlines()[-1] == "Go on: 5 of 6 cells are not within ±1 % yet; 143 to 1,252 more executions each"
    assert shown.stdout.splitlines()[0].endswith("still to run")
    with pytest.warns(perfarray.PerfarrayWarning, match="not within"):
        found = perfarray.stopping(perfarray.read(PYPERF), half_width=0.01).squeeze()
    answer = json.loads(run("stop", PYPERF, "--half-width", "1%", "--json").stdout)
    assert answer["exit_code"] == 1
    more = {row["benchmark"]: row["more"] for row in answer["rows"]}
    wanted = (found["extrapolated"] - found["n"]).where(found["required"].isnull(), 0).to_series()
    assert more == wanted.astype(int).to_dict()
    rows = [line.split() for line in shown.stdout.splitlines()[2:8]]
    assert {row[0]: int(row[-1].replace(",", "")) for row in rows} == more


def test_enough():
    """Exit code 0 ends the loop."""
    shown = run("stop", PYPERF, "--half-width", "20%")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (0, "Stop: all 6 cells are within ±20 %")


def test_two_inputs_and_options(tmp_path):
    """The half-width of two inputs is that of their ratio; --start units are needed first."""
    old, new = (write(tmp_path / f"{name}.csv", {"fft": [factor * value for value in OLD]}) for name, factor in (("old", 1), ("new", 0.9)))
    shown = run("stop", old, new, "--half-width", "1%", "--start", "7", "--output", "csv")
    assert shown.exit_code == 1
    assert shown.stdout.splitlines()[1].endswith(",6.0,1")
    (row,) = json.loads(run("stop", old, new, "--half-width", "0.1%", "--start", "6", "--json").stdout)["rows"]
    assert row["more"] == row["extrapolated"] - 6 > 0
    enough = run("stop", old, new, "--half-width", "5%", "--start", "3", "--rule", "t")
    assert "then: candidate / baseline, with its interval, where the rule stops" in enough.stdout
    assert (enough.exit_code, enough.stdout.splitlines()[-1]) == (0, "Stop: the one cell is within ±5 %")
    assert "looked at after every unit, from --start 3 on" in in_line(enough.stderr)


@pytest.mark.parametrize(
    ("options", "message"),
    [((), "say how narrow the interval has to be: --half-width 1%"), (("--half-width", "1%", "--start", "1"), "--start 1")],
)
def test_no_answer(options, message):
    """Exit code 2 ends a loop that goes on at 1."""
    shown = run("stop", PYPERF, *options)
    assert shown.exit_code == 2
    assert message in in_line(shown.stderr)

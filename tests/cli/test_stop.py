"""`perfarray stop`: whether to go on, how many more, and the exit codes of a loop."""

import pytest

import perfarray
from cli.commands import OLD, SHIPPED, as_json, run, write_sides
from perfarray.cli.problems import in_line

PYPERF = SHIPPED / "malloc.json"


def test_what_is_still_to_be_run():
    """It is the number that `stopping` extrapolates less the number measured, and 0 where the rule
    stops; exit code 1 says go on."""
    printed_text = run("stop", PYPERF, "--half-width", "1%", code=1).stdout.splitlines()
    assert (
        printed_text[-1]
        == "Go on: 5 of 6 cells are not within ±1 % yet; 143 to 1,252 more executions each"
    )
    assert printed_text[0].endswith("still to run")
    with pytest.warns(perfarray.PerfarrayWarning, match="not within"):
        answer = perfarray.stopping(perfarray.read(PYPERF), half_width=0.01).squeeze()
    printed = {
        row["benchmark"]: row["more"]
        for row in as_json("stop", PYPERF, "--half-width", "1%", code=1)["rows"]
    }
    missing_runs = (
        (answer["extrapolated"] - answer["n"]).where(answer["required"].isnull(), 0).to_series()
    )
    assert printed == missing_runs.astype(int).to_dict()
    rows = [line.split() for line in printed_text[2:8]]
    assert {row[0]: int(row[-1].replace(",", "")) for row in rows} == printed


def test_enough():
    """Exit code 0 ends the loop."""
    assert (
        run("stop", PYPERF, "--half-width", "20%", code=0).stdout.splitlines()[-1]
        == "Stop: all 6 cells are within ±20 %"
    )


def test_two_inputs_and_options():
    """The half-width of two inputs is that of their ratio; --start units are needed first."""
    command = (
        "stop",
        *write_sides({"fft": OLD}, {"fft": [0.9 * time for time in OLD]}),
        "--half-width",
    )
    printed_text = run(*command, "1%", "--start", "7", "--output", "csv", code=1).stdout
    assert printed_text.splitlines()[1].endswith(",6.0,1")
    (row,) = as_json(*command, "0.1%", "--start", "6")["rows"]
    assert row["more"] == row["extrapolated"] - 6 > 0
    result = run(*command, "5%", "--start", "3", "--rule", "t", code=0)
    assert "then: candidate / baseline, with its interval, where the rule stops" in result.stdout
    assert result.stdout.splitlines()[-1] == "Stop: the one cell is within ±5 %"
    assert "looks after every unit from --start 3 on" in in_line(result.stderr)


def test_what_is_not_known_is_a_dash():
    """Before the first look there is no number, and so none with a question mark."""
    command = ("stop", *write_sides({"fft": OLD}, {"fft": OLD}), "--half-width", "1%")
    printed = run(*command, "--start", "10", code=1).stdout.splitlines()
    assert printed[2].split() == ["fft", "-", "6", "-", "4"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say how narrow the interval has to be: --half-width 1%"),
        (("--half-width", "1%", "--start", "1"), "--start 1"),
    ],
)
def test_no_answer(options, message):
    """Exit code 2 ends a loop that goes on at 1."""
    assert message in in_line(run("stop", PYPERF, *options, code=2).stderr)

"""`perfarray compare --statistic p99`: a percentile of the iterations of each execution, without
those that are marked."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.commands import as_json, one_line, run, write_rows


@pytest.fixture
def sides():
    """Write two files of 6 executions of 40 iterations, and return the times of those that are not
    marked."""
    rng, times = np.random.default_rng(1), {}
    for name, factor in (("old", 1.0), ("new", 1.2)):
        values = np.round(factor * rng.lognormal(sigma=0.3, size=(6, 40)), 6)
        values[:, :3] = 100.0
        rows = [f"{i},{j},{values[i, j]},{j < 3}" for i in range(6) for j in range(40)]
        write_rows(f"{name}.csv", "execution,iteration,time,warmup", rows)
        times[name] = values[:, 3:]
    return times


COMMAND = ("compare", "old.csv", "new.csv", "--statistic")


def test_percentiles_of_executions_are_compared(sides):
    (row,) = as_json(*COMMAND, "p90")["benchmarks"]
    tails = {name: np.quantile(values, 0.9, axis=1) for name, values in sides.items()}
    expected = perfarray.from_samples(tails).perf.compare("old")
    for name in ("estimate", "lower", "upper", "n"):
        assert row[name] == pytest.approx(expected[name].item(), rel=1e-12)


@pytest.mark.usefixtures("sides")
def test_the_answer_says_what_was_compared_and_that_iterations_are_few():
    printed = run(*COMMAND, "p99").stdout
    assert (
        "p99: of the iterations of each execution, up to 37 of them, without those marked (36 "
        "warmup)"
    ) in printed
    assert "37 iterations are few for p99" in printed
    assert "1000" in printed
    assert "few for" not in run(*COMMAND, "p50").stdout


@pytest.mark.usefixtures("sides")
@pytest.mark.parametrize("statistic", ["p0", "p100", "p", "maxi", "99"])
def test_other_statistics_are_refused(statistic):
    output = run(*COMMAND, statistic, code=2).stderr
    assert statistic in output
    assert "p99" in output


@pytest.mark.parametrize(
    ("statistic", "share"), [("min", 0.0), ("minimum", 0.0), ("max", 1.0), ("maximum", 1.0)]
)
def test_extremes_of_the_iterations(sides, statistic, share):
    """The smallest or largest iteration of each execution is its value; executions are compared as
    means are."""
    extremes = {name: np.quantile(values, share, axis=1).mean() for name, values in sides.items()}
    (row,) = as_json(*COMMAND, statistic)["benchmarks"]
    assert row["estimate"] == pytest.approx(extremes["new"] / extremes["old"])


def test_extremes_of_unequal_numbers_are_named():
    """More iterations have an extreme that lies farther out: the heading says so where their
    numbers differ."""
    for name, iterations in (("old.csv", 4), ("new.csv", 9)):
        rows = [
            f"{process},{n},{10 + process + n}" for process in range(3) for n in range(iterations)
        ]
        write_rows(name, "execution,iteration,time", rows)
    output = one_line(run("compare", "old.csv", "new.csv", "--statistic", "min").stdout)
    assert "executions have 4 to 9 iterations" in output


def test_one_level_has_no_percentile():
    for name in ("old.csv", "new.csv"):
        write_rows(name, "execution,time", ["0,1.0", "1,1.1"])
    assert "one level, executions" in one_line(run(*COMMAND, "p99", code=2).stderr)


def test_a_quantile_keeps_what_a_comparison_needs():
    """`times.quantile(q, "iteration")` of xarray keeps unit and direction, and its answer is
    compared like timings."""
    times = xr.DataArray(
        np.random.default_rng(2).uniform(1, 2, (2, 5, 9)),
        dims=("version", "execution", "iteration"),
        name="rate",
    )
    times = times.assign_coords(version=["old", "new"]).assign_attrs(units="ops/s", better="higher")
    verdicts = times.quantile(0.99, "iteration", keep_attrs=True).perf.compare("old")
    assert verdicts.attrs["better"] == "higher"
    assert verdicts["candidate_mean"].attrs["units"] == "ops/s"
    assert verdicts["n"].item() == 5

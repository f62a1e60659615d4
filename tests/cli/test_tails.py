"""`perfarray compare --statistic p99`: a percentile of the iterations of each execution, without those that are marked."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import perfarray
from perfarray.cli import app as cli


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    paths, sides = [], {}
    for name, factor in (("old", 1.0), ("new", 1.2)):
        values = np.round(factor * rng.lognormal(sigma=0.3, size=(6, 40)), 6)
        marks = np.arange(40) < 3
        values[:, marks] = 100.0
        rows = [f"{i},{j},{values[i, j]},{marks[j]}" for i in range(6) for j in range(40)]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["execution,iteration,time,warmup", *rows]))
        paths.append(str(path))
        sides[name] = values[:, ~marks]
    return paths, sides


def run(*arguments):
    return CliRunner().invoke(cli.app, ["compare", *arguments])


def test_percentiles_of_executions_are_compared(files):
    paths, sides = files
    result = run(*paths, "--statistic", "p90", "--json")
    (row,) = json.loads(result.stdout)["benchmarks"]
    tails = {name: np.quantile(values, 0.9, axis=1) for name, values in sides.items()}
    expected = perfarray.from_samples(tails).perf.compare("old")
    assert [row[name] for name in ("estimate", "lower", "upper", "n")] == pytest.approx(
        [expected[name].item() for name in ("estimate", "lower", "upper", "n")], rel=1e-12
    )


def test_the_answer_says_what_was_compared_and_that_iterations_are_few(files):
    paths, _ = files
    text = run(*paths, "--statistic", "p99").stdout
    assert "p99: of the iterations of each execution, up to 37 of them, without those marked (36 warmup)" in text
    assert "37 iterations are few for p99" in text
    assert "1000" in text
    assert "few for" not in run(*paths, "--statistic", "p50").stdout


@pytest.mark.parametrize("statistic", ["p0", "p100", "p", "max", "99"])
def test_other_statistics_are_refused(files, statistic):
    result = run(*files[0], "--statistic", statistic)
    assert result.exit_code == 2
    assert statistic in result.stderr
    assert "p99" in result.stderr


def test_one_level_has_no_percentile(tmp_path):
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("execution,time\n0,1.0\n1,1.1\n")
    result = run(str(tmp_path / "old.csv"), str(tmp_path / "new.csv"), "--statistic", "p99")
    assert result.exit_code == 2
    assert "one level, executions" in result.stderr


def test_a_quantile_keeps_what_a_comparison_needs():
    """`times.quantile(q, "iteration")` of xarray keeps unit and direction, and its answer is compared like timings."""
    times = xr.DataArray(np.random.default_rng(2).uniform(1, 2, (2, 5, 9)), dims=("version", "execution", "iteration"), name="rate")
    times = times.assign_coords(version=["old", "new"]).assign_attrs(units="ops/s", better="higher")
    verdicts = times.quantile(0.99, "iteration", keep_attrs=True).perf.compare("old")
    assert verdicts.attrs["better"] == "higher"
    assert verdicts["candidate_mean"].attrs["units"] == "ops/s"
    assert verdicts["n"].item() == 5

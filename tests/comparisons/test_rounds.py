"""Sides that were measured in rounds: the note names `paired=` where units of one label move
together on both sides."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from perfarray.comparisons.numerics.rounds import round_correlation

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "rounds.py"


def sessions(together=0.0, separate=0.0, n=6, seed=2):
    """Return two versions of five benchmarks in sessions of three executions; a session adds
    something to one side, or to both."""
    rng = np.random.default_rng(seed)
    log_times = together * rng.standard_normal((1, 1, n, 1)) + separate * rng.standard_normal(
        (2, 1, n, 1)
    )
    values = np.exp(log_times + 0.005 * rng.standard_normal((2, 5, n, 3)))
    coords = {"version": ["old", "new"], "benchmark": list("abcde")}
    attrs = {"units": "s", "shared_levels": "session"}
    return xr.DataArray(
        values,
        dims=("version", "benchmark", "session", "execution"),
        coords=coords,
        attrs=attrs,
        name="time",
    )


def note(times, **options):
    notes = times.perf.compare("old", **options).perf.notes()
    return next((note for note in notes if note.code == "measured_in_rounds"), None)


def test_rounds_are_seen_and_pairs_named():
    """Session i of both sides shares 5 %: the note names the argument, whose limits are narrower;
    with it there is no note."""
    times = sessions(together=0.05)
    rounds_note = note(times)
    assert "paired='session'" in rounds_note.message
    assert rounds_note.values["correlation"] > 0.9
    assert rounds_note.aside
    assert note(times, paired="session") is None
    widths = [
        (result["upper"] - result["lower"]).max()
        for result in (times.perf.compare("old", paired=pair) for pair in (None, "session"))
    ]
    assert widths[1] < 0.3 * widths[0]


@pytest.mark.parametrize("seed", range(4))
def test_sides_measured_apart_have_no_note(seed):
    """Sessions that move all benchmarks of their side are no rounds; nor are too few."""
    assert note(sessions(separate=0.05, seed=seed)) is None
    assert note(sessions(together=0.05, n=4, seed=seed)) is None


def test_other_labels_and_copies_are_no_rounds():
    """Labels of both sides must be the same ones, and values that are those of the other side times
    a factor are copies."""
    times = sessions(together=0.05).assign_coords(session=range(6))
    new, old = times.sel(version="new", drop=True), times.sel(version="old", drop=True)
    codes = [
        [note.code for note in new.perf.compare(old.assign_coords(session=labels)).perf.notes()]
        for labels in (range(6), range(1, 7))
    ]
    assert ["measured_in_rounds" in of_labels for of_labels in codes] == [True, False]
    values = np.random.default_rng(1).random((3, 8))
    assert np.isnan(round_correlation(values, 2 * values)).all()


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_a_common_warm_up_is_no_round():
    """Iterations of two processes that warm up alike are not proposed as pairs."""
    runs = 1 + 0.1 * 0.5 ** np.arange(10) + 0.002 * np.random.default_rng(1).normal(size=(2, 3, 10))
    coords = {"version": ["old", "new"], "benchmark": ["a", "b", "c"]}
    times = xr.DataArray(runs, dims=("version", "benchmark", "iteration"), coords=coords)
    assert note(times) is None
    assert note(times.rename(iteration="session")) is not None


def test_an_outlier_on_both_sides_is_no_round():
    """One slow session at one place makes a correlation near 1, and so it does in a fifth of all
    orders."""
    rng = np.random.default_rng(3)
    values = 1 + 0.01 * rng.standard_normal((2, 4, 5))
    values[:, :, 2] += 0.5
    correlation, pvalue = round_correlation(*values)
    assert correlation > 0.9
    assert pvalue == 1.0


def test_units_and_benchmarks_that_are_missing_are_left_out():
    """A benchmark that one side lacks, one without variation, and a session that lacks a benchmark
    do not count."""
    times = sessions(together=0.05, n=8)
    units = times.mean("execution").values
    expected = round_correlation(units[1][:3, 1:], units[0][:3, 1:])
    units[0, 3], units[1, 4] = np.nan, 1.0
    units[1, 0, 0] = np.nan
    assert round_correlation(units[1], units[0]) == pytest.approx(expected)


def test_how_often_pairs_are_proposed():
    """The table of the page holds: about 1 % of sides measured apart, most that share 8 %."""
    spec = importlib.util.spec_from_file_location("rounds", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rng = np.random.default_rng(5)
    assert script.share_of_notes(rng, 6, "lognormal", experiments=600) < 2.5
    assert script.share_of_notes(rng, 5, "", 0.08, experiments=60) > 90

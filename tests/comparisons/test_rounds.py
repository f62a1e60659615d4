"""Sides that were measured in rounds: the note names `paired=` where units of one label move
together on both sides."""

import importlib.util
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.comparisons.numerics.rounds import round_correlation

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts"
START = np.datetime64("2026-01-05T10:00:00", "s")


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


def script_of(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def dated(starts, labels="abcdef", **coords):
    """Return two versions of two benchmarks in sessions with labels, and the minutes after START at
    which those of each version began."""
    starts = np.asarray(starts, dtype=float)
    rng = np.random.default_rng(4)
    dates = [
        [str(START + np.timedelta64(round(60 * minute), "s")) for minute in side] for side in starts
    ]
    return xr.DataArray(
        1 + 0.01 * rng.standard_normal((2, 2, starts.shape[1])),
        dims=("version", "benchmark", "session"),
        coords={"version": ["old", "new"], "benchmark": ["x", "y"]}
        | {"session": list(labels[: starts.shape[1]])}
        | {"date": (("version", "session"), dates)}
        | coords,
        attrs={"units": "s", "shared_levels": "session"},
        name="time",
    )


def codes_of(times, baseline="old", **options):
    """Return the codes of the notes on rounds and their order."""
    codes = ("dated_rounds", "undated_rounds", "fixed_order", "measured_in_rounds")
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        notes = times.perf.compare(baseline, **options).perf.notes()
    return [note.code for note in notes if note.code in codes]


@pytest.mark.parametrize(
    ("starts", "codes"),
    [
        ([[0, 3, 4, 7], [1, 2, 5, 6]], ["dated_rounds"]),
        ([[0, 2, 4, 6], [1, 3, 5, 7]], ["fixed_order", "dated_rounds"]),
        ([[6, 4, 2, 0], [7, 5, 3, 1]], ["fixed_order", "dated_rounds"]),
        ([[0, 10, 20, 30], [0, 10, 20, 30]], ["dated_rounds"]),
        ([[0, 1], [3, 2]], []),
        ([[0, 1, 2, 3], [4, 5, 6, 7]], []),
        ([[0, 2, 4, 6], [3, 1, 5, 7]], []),
        ([[0, 0, 0, 0], [0, 0, 0, 0]], ["undated_rounds"]),
        ([[0, 0, 0, 0], [9, 9, 9, 9]], []),
        ([[0, 1, 2, 3], [1, 2, 3, 4]], ["fixed_order", "dated_rounds"]),
        ([[0, 1, 1, 2], [0, 1, 1, 2]], ["undated_rounds"]),
        ([[0], [1]], []),
    ],
    ids=[
        "alternating",
        "old first",
        "labels in reverse",
        "a date a round",
        "inside each other",
        "one after the other",
        "labels of other rounds",
        "one date",
        "a date a side",
        "whole minutes",
        "a date of two rounds",
        "one round",
    ],
)
def test_dates_of_labels_show_rounds(starts, codes):
    """Rounds lie one after the other: the next begins when both sides of the last have begun. Where
    two begin at once their order is not known."""
    assert codes_of(dated(starts)) == codes
    if "dated_rounds" in codes:
        codes = [code for code in codes if code == "fixed_order"]
        assert codes_of(dated(starts), paired="session") == codes


def test_dates_speak_against_rounds():
    """Sides that drift alike, one after the other, are no rounds, although they move together."""
    drift = 1 + 0.02 * np.arange(6) ** 1.5
    times = dated([range(6), range(10, 16)]) * drift[[3, 0, 5, 1, 4, 2]]
    times = times.assign_attrs(units="s", shared_levels="session")
    assert codes_of(times) == []
    assert codes_of(times.drop_vars("date")) == ["measured_in_rounds"]


def test_what_the_notes_say():
    """They are asides with the number of rounds, the level, and the side that came first."""
    notes = dated([[0, 2, 4], [1, 3, 5]]).perf.compare("new").perf.notes()
    order, pairs = (note for note in notes if "order" in note.code or "rounds" in note.code)
    assert order.values == {"level": "session", "rounds": 3, "first": "candidate"}
    assert pairs.values == {"level": "session", "rounds": 3}
    assert "paired='session'" in pairs.message
    assert order.aside
    assert pairs.aside


def test_sessions_without_labels_or_dates():
    """Numbers are no labels; labels without dates on a side make a proposal, which an execution of
    one label does not."""
    times = dated([[0, 3, 4, 7], [1, 2, 5, 6]])
    assert codes_of(times.drop_vars("session")) == []
    assert codes_of(
        times.drop_vars("session").assign_coords(session_label=("session", [1, 2, 3, 4]))
    ) == ["dated_rounds"]
    assert codes_of(times.drop_vars("date")) == ["undated_rounds"]
    assert codes_of(times.drop_vars("date").rename(session="execution")) == []
    assert codes_of(times.rename(session="execution")) == ["dated_rounds"]
    assert codes_of(times, method="rank", statistic="median") == []
    dates = times["date"].values.copy()
    for missing in ("", "unknown"):
        dates[1, 2] = missing
        assert codes_of(times.assign_coords(date=(("version", "session"), dates))) == [
            "undated_rounds"
        ]


def test_other_inputs_have_the_same_notes():
    """Two objects, several candidates that are all in rounds, dates of executions and benchmarks,
    and a Dataset of several metrics."""
    times = dated([[0, 3, 4, 7], [1, 2, 5, 6]])
    old, new = (times.sel(version=label, drop=True) for label in ("old", "new"))
    assert codes_of(new, old) == ["dated_rounds"]
    third = times.sel(version=["new"]).assign_coords(version=["third"])
    assert codes_of(xr.concat([times, third], "version")) == ["dated_rounds"]
    later = dated([[0, 3, 4, 7], [1, 2, 9, 9]]).sel(version=["new"]).assign_coords(version=["x"])
    assert codes_of(xr.concat([times, later], "version")) == []
    by_benchmark = times["date"].expand_dims(benchmark=2, execution=3)
    assert codes_of(times.expand_dims(execution=3).assign_coords(date=by_benchmark)) == [
        "dated_rounds"
    ]
    both = xr.Dataset({"time": times, "energy": times.assign_attrs(units="J")})
    assert codes_of(both, metric=["time", "energy"]) == ["dated_rounds"]
    assert codes_of(times.chunk()) == []


def test_units_that_one_side_lacks():
    """They are counted, where labels are equal and nothing was measured, too; if half of a side or
    more has no partner there are no rounds."""
    times = dated([[0, 3, 4, 7], [1, 2, 5, 6]])
    is_new = times["version"] == "new"
    for number, codes in ((3, ["dated_rounds"]), (2, [])):
        lacking = times.where(~is_new | (times["session"] < "abcd"[number]))
        if number == 2:
            lacking = lacking.isel(session=[0, 1, 2, 3])
        assert codes_of(lacking) == codes
        with pytest.warns(perfarray.PerfarrayWarning, match="of one system ha(s|ve) no partner"):
            result = lacking.perf.compare("old", paired="session")
        (note,) = (note for note in result.perf.notes() if note.code == "no_partner")
        assert note.values == {"level": "session", "units": 4 - number}
        assert set(result["n"].values.ravel()) == {number}
        complete = times.isel(session=slice(number)).perf.compare("old", paired="session")
        xr.testing.assert_allclose(
            result["estimate"].drop_vars([*result["estimate"].coords]),
            complete["estimate"].drop_vars([*complete["estimate"].coords]),
        )


def test_pairs_and_orders_on_simulated_truth():
    """Rounds of 8 %, runs of 0.5 %: in pairs a change of 5 % is seen and the level is 5 %. Where the
    second place is 5 % slower, a fixed order makes false verdicts and an alternating one none."""
    script, rng = script_of("paired_rounds"), np.random.default_rng(6)
    share = partial(script.verdict_share, rng, 5, experiments=1000)
    assert share(paired=False, change=1.05) < 12
    assert share(paired=True, change=1.05) > 99
    assert 3.5 < share(paired=True, experiments=4000) < 6.5
    assert share(paired=True, slot=1.05, alternate=False) > 99
    assert share(paired=True, slot=1.05) < 1


def test_how_often_pairs_are_proposed():
    """The table of the page holds: about 1 % of sides measured apart, most that share 8 %."""
    script = script_of("rounds")
    rng = np.random.default_rng(5)
    assert script.share_of_notes(rng, 6, "lognormal", experiments=600) < 2.5
    assert script.share_of_notes(rng, 5, "", 0.08, experiments=60) > 90

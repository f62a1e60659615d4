"""The file's own labels of units: what they make pairs and crossings of, and the note on levels
that are crossed."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.numerics.crossed import combined_pvalue, label_effect

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "crossed_nests.py"
WEEK = ["mon", "tue", "wed", "thu", "fri", "sat"]


def table(days=WEEK, hosts=4, crossed=True, sides=("old", "new"), seed=1):
    """Return the table of runs on some hosts, whose days have effects that all hosts share, or
    none."""
    rng = np.random.default_rng(seed)
    effects = {day: 0.02 * rng.standard_normal() for day in sorted({*WEEK, *days})}
    rows = [
        (side, host, day, run, np.exp(crossed * effects[day] + 0.002 * rng.standard_normal()))
        for side in sides
        for host in range(hosts)
        for day in days
        for run in range(2)
    ]
    return pd.DataFrame(rows, columns=["version", "binary", "session", "execution", "time"])


def codes(result):
    return [note.code for note in result.perf.notes()]


def quiet(function, *arguments, **keywords):
    with warnings.catch_warnings(action="ignore"):
        return function(*arguments, **keywords)


CALLS = {
    "mean_interval": {},
    "ratio_interval": {"baseline": "old"},
    "compare": {"baseline": "old"},
    "variance_components": {},
    "plan_repetitions": {"half_width": 0.01, "costs": {"binary": 60.0, "session": 1.0}},
}


@pytest.mark.parametrize("name", CALLS)
def test_crossed_levels_are_noted(name):
    """Equal labels of sessions whose means correlate over the binaries are noted, with the levels
    that give right limits."""
    times = table().perf.to_timings()
    result = quiet(getattr(perfarray, name), times, **CALLS[name])
    note = next(note for note in result.perf.notes() if note.code == "crossed_levels")
    assert "levels=('session', 'binary', 'execution')" in note.message
    assert note.values["correlation"] > 0.9
    nested = quiet(getattr(perfarray, name), table(crossed=False).perf.to_timings(), **CALLS[name])
    assert "crossed_levels" not in codes(nested)


def test_the_remedy_aligns_labels():
    """Sessions outside binaries are one session in all of them, whatever numbers their labels had
    inside each."""
    frame = table().query("not (binary == 1 and session == 'mon')")
    times = frame.perf.to_timings()
    assert times["session_label"].dims == ("binary", "session")
    interval = quiet(
        times.sel(version="old", drop=True).perf.mean_interval,
        levels=("session", "binary", "execution"),
    )
    by_day = (
        frame.query("version == 'old'")
        .groupby(["session", "binary"])["time"]
        .mean()
        .groupby("session")
        .mean()
    )
    assert interval["n"] == 6
    assert interval["estimate"].item() == pytest.approx(by_day.mean(), abs=1e-12)
    assert interval["standard_error"].item() == pytest.approx(by_day.std() / 6**0.5, abs=1e-12)


def test_labels_stand_beside_the_numbers(tmp_path):
    """They lie along the fewest dims, survive netCDF and a table, and are left out where they equal
    the numbers of outermost units."""
    times = table(hosts=3).perf.to_timings()
    assert {name: times[name].dims for name in times.coords if name.endswith("_label")} == {
        "session_label": ("session",),
        "execution_label": ("execution",),
    }
    times.to_netcdf(tmp_path / "times.nc")
    xr.testing.assert_identical(
        xr.load_dataset(tmp_path / "times.nc")["session_label"].drop_attrs(), times["session_label"]
    )
    restored = times.to_dataframe().reset_index().drop(columns="execution_label").perf.to_timings()
    assert restored["session_label"].values.tolist() == times["session_label"].values.tolist()
    assert "execution_label" not in perfarray.from_samples({"old": [1.0, 2.0], "new": [3.0]}).coords


def test_names_of_units_that_recur_nowhere_take_no_room():
    """Inner units whose names belong to one outer unit each make neither a crossing nor a pair;
    outer ones counted from 1 are known."""
    frame = pd.DataFrame(
        {"session": [1, 1, 2, 2], "execution": ["p", "q", "r", "s"], "time": [1.0, 2.0, 3.0, 4.0]}
    )
    assert [*frame.perf.to_timings().coords] == ["session", "execution"]
    assert [*frame.assign(session=frame["session"] + 1).perf.to_timings().coords] == [
        "session",
        "execution",
        "session_label",
    ]


@pytest.mark.parametrize("is_paired", [False, True])
def test_pairs_are_made_by_label(is_paired):
    """Numbers that reading gave are no labels: sessions are paired by what the file calls them."""
    old, new = (
        table(["mon", "tue", "wed"], 1, sides=["old"]),
        table(["tue", "wed", "thu"], 1, sides=["new"]),
    )
    old, new = (side.drop(columns="binary") for side in (old, new))
    if is_paired:
        sides = [side.drop(columns="version").perf.to_timings() for side in (new, old)]
        result = quiet(sides[0].perf.ratio_interval, sides[1], paired="session")
    else:
        result = quiet(
            pd.concat([old, new]).perf.to_timings().perf.ratio_interval, "old", paired="session"
        ).squeeze()
    assert (result["n"].item(), result.attrs["paired_by"]) == (2, "label")
    assert result["estimate"].item() == pytest.approx(
        new.query("session != 'thu'")["time"].mean() / old.query("session != 'mon'")["time"].mean(),
        rel=1e-12,
    )
    assert "no_partner" in codes(result)


def test_no_pair_is_made_of_numbers_and_labels():
    """Sides without a common label have no pairs, nor have labels and numbers; numbers on both
    sides are paired by number."""
    old, new, third = (
        table(days, 1).drop(columns="binary").query("version == 'new'")
        for days in (["mon"], ["tue", "wed"], ["wed", "fri"])
    )
    old, new, third = (side.drop(columns="version").perf.to_timings() for side in (old, new, third))
    with pytest.raises(ValueError, match="have no session in common"):
        new.perf.compare(old, paired="session")
    numbered = third.drop_vars("session_label")
    with pytest.raises(
        ValueError, match=r"only one system has labels of its sessions.*session_label"
    ):
        new.perf.compare(numbered, paired="session")
    by_number = quiet(new.drop_vars("session_label").perf.compare, numbered, paired="session")
    assert (by_number["n"].item(), by_number.attrs["paired_by"]) == (2, "number")


def test_labels_of_arrays_in_memory():
    """Texts along a level, or a coordinate `<level>_label`, are labels; whole numbers along it are
    positions."""
    effects = np.array([0.0, 0.03, -0.02, 0.05, 0.01])
    values = np.exp(effects + 0.002 * np.random.default_rng(1).standard_normal((4, 5)))
    array = xr.DataArray(values, dims=("binary", "session"), name="time", attrs={"units": "s"})
    days = WEEK[:5]
    crossed = [
        array.assign_coords(session=days),
        array.assign_coords(session_label=("session", days)),
    ]
    for times in (
        *crossed,
        array,
        array.assign_coords(session=range(5)),
        array.assign_coords(session=range(1, 6)),
    ):
        assert ("crossed_levels" in codes(quiet(times.perf.mean_interval))) == any(
            times is array for array in crossed
        )


def test_the_order_of_levels_is_refused_where_nothing_is_crossed():
    """Only sessions and builds, and levels whose units have labels, may lie inside each other;
    iterations are the innermost."""
    times = table().perf.to_timings()
    array = times.drop_vars("execution_label")
    with pytest.raises(ValueError, match="wrong order"):
        array.perf.mean_interval(levels=("execution", "session", "binary"))
    assert (
        quiet(times.isel(binary=0).perf.mean_interval, levels=("execution", "session"))["n"].max()
        == 2
    )


def test_true_nests_are_seldom_noted():
    """Of labels that mean nothing at most 1 % of calls are noted, of 100 benchmarks that share
    units and have long tails, too."""
    rng = np.random.default_rng(2)
    for shape in ((600, 1, 5, 5), (600, 1, 2, 8), (300, 100, 4, 6)):
        for law in (
            lambda size: rng.standard_normal(size),
            lambda size: np.exp(rng.standard_normal(size)),
        ):
            means = 1 + 0.01 * (law((shape[0], 1, *shape[2:])) + law(shape))
            noted = np.array([combined_pvalue(row) for row in label_effect(means)[0]]) <= 0.008
            assert noted.mean() <= 0.01 + 2 * (0.01 / shape[0]) ** 0.5
            means[..., 0, 0] = means[..., 1, -1] = np.nan
            noted = np.array([combined_pvalue(row) for row in label_effect(means)[0]]) <= 0.008
            assert noted.mean() <= 0.01 + 2 * (0.01 / shape[0]) ** 0.5


def test_the_effect_of_labels_by_hand():
    """Two outer and two inner units: deviations of labels of 1, of the rest of 0.5, so that F is 4
    with 1 and 1 degrees of freedom."""
    pvalue, ratio = label_effect(np.array([[0.0, 3.0], [10.0, 11.0]]))
    assert pvalue == pytest.approx(0.2951672, abs=1e-6)
    assert ratio == pytest.approx(4)
    assert np.isnan(label_effect(np.array([[0.0, 3.0], [np.nan, np.nan]]))[0])


def test_the_effect_of_labels_with_gaps():
    """Rows that lack labels are those of an additive model of rows and labels (statsmodels); a
    label of one row shows nothing."""
    formulas = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    rng = np.random.default_rng(5)
    means = rng.standard_normal((20, 5, 6))
    means[rng.random(means.shape) < 0.3] = np.nan
    for cell, ratio in zip(means, label_effect(means)[1], strict=True):
        measured = ~np.isnan(cell)
        row, label = np.nonzero(measured & (measured.sum(axis=0) > 1))
        frame = pd.DataFrame({"row": row, "label": label, "mean": cell[row, label]})
        fits = [
            formulas.ols(f"mean ~ {model}", frame).fit()
            for model in ("C(row)", "C(row) + C(label)")
        ]
        assert ratio == pytest.approx(anova(*fits)["F"].iloc[1], rel=1e-9)


def test_crossed_levels_with_gaps_are_noted():
    """Builds that each miss some days share the others: no day needs to be measured in all of them.
    A true nest gets no note."""
    for crossed in (True, False):
        frame = table(hosts=6, crossed=crossed, sides=["old"])
        frame = frame[
            [
                WEEK.index(day) != host
                for host, day in zip(frame["binary"], frame["session"], strict=True)
            ]
        ]
        assert (
            "crossed_levels" in codes(quiet(frame.perf.to_timings().perf.mean_interval))
        ) == crossed


def test_crossed_as_nested_is_wrong_and_the_remedy_right():
    """The table of the script: with sessions that all builds share, sessions as units give right
    limits and builds do not."""
    script = runpy.run_path(str(SCRIPT))
    times = script["draw"](np.random.default_rng(1), "sessions", (5, 5), (400, 1))
    (false, covered), (false_by_remedy, covered_by_remedy) = (
        quiet(script["wrong"], times, script[name], 1.0) for name in ("AS_NESTED", "REMEDY")
    )
    assert false > 0.4
    assert covered < 0.5
    assert false_by_remedy < 0.085
    assert covered_by_remedy > 0.92
    assert quiet(script["noted"], times.isel(experiment=range(60))) > 0.9

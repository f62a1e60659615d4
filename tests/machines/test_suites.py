"""A table of machines in the shape of SPEC's archives: its scores are those of `suite_score`,
whatever a row lacks or copies."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from shared_material import ARCHIVES, needs_archives

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

SUITES = {"int": ("gcc", "mcf", "xz"), "fp": ("lbm", "wrf")}


def reports():
    """Four machines, base and peak of two suites: peaks that reuse a base, no peak of `c`, and no
    `xz` in the base of `d`."""
    chance = np.random.default_rng(3)
    benchmarks = [name for names in SUITES.values() for name in names]
    values = np.exp(
        chance.normal(2, 0.5, (5, 4, 2, 1)) + 0.01 * chance.standard_normal((5, 4, 2, 3))
    )
    copied = np.zeros(values.shape, dtype=bool)
    for benchmark, machine in ((1, 0), (3, 0), (4, 0), (2, 1)):
        values[benchmark, machine, 1], copied[benchmark, machine, 1] = (
            values[benchmark, machine, 0],
            True,
        )
    values[:, 2, 1] = np.nan
    values[2, 3, 0] = np.nan
    coords = {"benchmark": benchmarks, "machine": list("abcd"), "tuning": ["base", "peak"]}
    suite = ("benchmark", [name for name, names in SUITES.items() for _ in names])
    attrs = {"units": "1", "better": "higher"}
    dims = ("benchmark", "machine", "tuning", "execution")
    return xr.DataArray(values, dims=dims, coords=coords, name="ratio", attrs=attrs).assign_coords(
        suite=suite, copied=(dims, copied)
    )


def agrees(times, **choices):
    """Return a table of machines, whose scores and variation are those of `suite_score` and
    `relative_variation`, cell by cell."""
    table = times.perf.machine_table(**choices)
    score = times.perf.suite_score(statistic="median")["estimate"].compute()
    variation = times.perf.relative_variation()[
        ["performance", "relative_variation", "n"]
    ].compute()
    for _, row in table.iterrows():
        cell = {dim: row[dim] for dim in score.dims if dim in table}
        np.testing.assert_allclose(row["performance"], score.sel(cell).item())
        of_cell = variation.sel(cell).squeeze()
        np.testing.assert_allclose(
            [row["performance"], row["relative_variation"]],
            [of_cell["performance"], of_cell["relative_variation"]],
        )
        assert row["n_runs"] == of_cell["n"]
    assert table["performance"].notna().sum() == score.notnull().sum()
    return table


@pytest.mark.parametrize("lazy", [False, True])
def test_scores_are_those_of_the_suite(lazy):
    """Copies count; a row that lacks a benchmark of its suite has no response and is named, and the
    others keep all benchmarks."""
    times = reports()
    if lazy:
        pytest.importorskip("dask")
        times = times.chunk({"machine": 1})
    table = agrees(times)
    is_incomplete = table["performance"].isna()
    assert table.loc[is_incomplete, ["machine", "suite", "tuning"]].values.tolist() == [
        ["d", "int", "base"]
    ]
    assert table.loc[is_incomplete, "n_benchmarks"].tolist() == [0]
    assert table.loc[~is_incomplete].groupby("suite")["n_benchmarks"].unique().map(
        list
    ).to_dict() == {
        "int": [3],
        "fp": [2],
    }
    (note,) = [
        note for note in table.perf.notes() if note.code not in ("suites_apart", "move_together")
    ]
    assert note.code == "incomplete_suite"
    assert note.message.startswith(
        "int: 1 of 7 cells lack benchmarks of their suite and have no score: d, base (no 'xz')"
    )


@pytest.mark.parametrize(
    "selection",
    [
        {"tuning": ["base"]},
        {"tuning": "base"},
        {"tuning": ["peak"]},
        {"machine": ["a", "b"]},
        {"machine": ["a"]},
    ],
)
def test_a_selection_has_the_scores_of_the_whole(selection):
    """What else is in an archive changes no score."""
    selected, complete = agrees(reports().sel(selection)), reports().perf.machine_table()
    tuning = selection.get("tuning", ["base", "peak"])
    rows = complete[
        complete["machine"].isin(selection.get("machine", list("abcd")))
        & complete["tuning"].isin([*np.atleast_1d(tuning)])
    ]
    np.testing.assert_allclose(selected["performance"], rows["performance"])
    np.testing.assert_array_equal(selected["n_benchmarks"], rows["n_benchmarks"])


def test_scores_without_runs_follow_the_suite():
    """Published scores go by the same rule; where no row is complete, the common benchmarks
    count."""
    scores = reports().isel(execution=0, tuning=0, drop=True).drop_vars("copied")
    table = scores.perf.machine_table(response="performance")
    integers = scores.isel(benchmark=slice(3))
    np.testing.assert_allclose(
        table.loc[table["suite"] == "int", "performance"],
        np.exp(np.log(integers).mean("benchmark", skipna=False)),
    )
    gaps = integers.copy()
    gaps[0, 0] = np.nan
    gaps[1, 1:] = np.nan
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="benchmarks are left out, so that all rows have the same suite",
    ):
        gaps.perf.machine_table(response="performance")


def test_notes_of_several_suites_are_one():
    """A note that several suites have comes once and names them, as in every answer by suite."""
    times = reports().isel(tuning=0, drop=True).drop_vars("copied")
    times = times.where((times["machine"] != "a") | (times["execution"] == 0)).assign_attrs(
        times.attrs
    )
    notes = [note for note in times.perf.machine_table().perf.notes() if note.code == "single_unit"]
    assert [dict(note.values) for note in notes] == [
        {"cells": 2, "of": 7, "names": notes[0].values["names"]}
    ]


def test_a_single_run_is_named_by_its_unit():
    """Where most cells repeat executions of one session, a lazy table says execution, too, and
    proposes no level to merge."""
    pytest.importorskip("dask")
    times = reports().isel(tuning=0, drop=True).drop_vars("copied").isel(benchmark=slice(3, 5))
    two = xr.concat([times, times.where(times["machine"] == "b")], "session").assign_attrs(
        times.attrs
    )
    two = two.where((two["machine"] != "a") | (two["execution"] == 0)).assign_attrs(times.attrs)
    messages = []
    for timings in (two, two.chunk({"machine": 1})):
        (note,) = [
            note for note in timings.perf.machine_table().perf.notes() if note.code == "single_unit"
        ]
        messages.append(note.message)
        assert "on one execution" in note.message
        assert "merge_level" not in note.message
    assert messages[0] == messages[1]


def settings():
    """Eight settings of two machines in two suites; the smaller suite lacks a benchmark, and
    machine `b` has one run."""
    chance = np.random.default_rng(5)
    times = np.exp(
        chance.standard_normal((5, 2, 8, 1)) + 0.01 * chance.standard_normal((5, 2, 8, 3))
    )
    times[3, 0, 0], times[3:, :, 5:], times[:, 1, :, 1:] = np.nan, np.nan, np.nan
    coords = {
        "benchmark": [name for names in SUITES.values() for name in names],
        "machine": ["a", "b"],
        "threads": np.arange(8),
    }
    suite = ("benchmark", [name for name, names in SUITES.items() for _ in names])
    array = xr.DataArray(
        times,
        dims=("benchmark", "machine", "threads", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    return array.assign_coords(suite=suite)


def test_a_model_has_the_notes_of_its_suite():
    """The largest suite is explained, and its table alone made: notes on the other, and on
    variation that nobody asked for, do not come."""
    times = settings()
    assert {"incomplete_suite", "single_unit"} <= {
        note.code for note in times.perf.machine_table().perf.notes()
    }
    ask = {"predictors": ["threads"], "model": "ols", "groups": None, "rng": 1}
    of_performance = times.perf.explain_variation(response="performance", **ask)
    assert [note.code for note in of_performance.notes()] == ["several_suites"]
    assert of_performance.to_dataset().attrs["n"] == 16
    of_variation = times.perf.explain_variation(**ask)
    assert [note.code for note in of_variation.notes() if note.code != "few_test_units"] == [
        "single_unit",
        "several_suites",
    ]
    assert of_variation.to_dataset().attrs["n"] == 8
    of_executions = times.perf.explain_variation(
        response="performance", levels=("execution",), **ask
    ).to_dataset()
    assert of_executions["total_explained"] == of_performance.to_dataset()["total_explained"]
    with pytest.raises(
        ValueError,
        match=r"levels=.* was given for a table: it is for timings; machine_table takes it",
    ):
        times.perf.machine_table().perf.explain_variation(levels=("execution",), **ask)


@pytest.mark.parametrize("machine", ["a", ["a"]])
def test_one_machine_is_one_unit(machine):
    """However one machine was selected, its settings are rows of one machine, and no test is
    possible on another."""
    times = settings().sel(machine=machine)
    assert set(times.perf.machine_table()["machine"]) == {"a"}
    with pytest.raises(
        ValueError,
        match=(
            r"'machine' has 1 label in 8 rows; a test needs 2 or more.*"
            r"Select more: limits take 6"
        ),
    ):
        times.perf.explain_variation(response="performance", predictors=["threads"], model="ols")


@needs_archives
def test_the_genuine_archives():
    """Base and peak have the scores that SPEC publishes, and every configuration its row."""
    times = perfarray.read_archive(ARCHIVES / "spec_csv", on_error="skip")
    table = times.perf.machine_table()
    rows = table[table["machine"].str.startswith(("Cisco", "ACTINA", "standard"))]
    scores = dict(
        zip(
            zip(rows["suite"], rows["tuning"], rows["performance"].round(2), strict=True),
            rows["n_benchmarks"],
            strict=True,
        )
    )
    assert scores == {
        ("int2006_rate", "base", 35.27): 12,
        ("int2006_rate", "base", 416.44): 12,
        ("int2006_rate", "peak", 432.09): 12,
        ("int2006_speed", "base", 38.12): 12,
        ("int2006_speed", "peak", 42.55): 12,
        ("fp2006_speed", "base", 66.52): 17,
        ("fp2006_speed", "peak", 70.69): 17,
    }
    with warnings.catch_warnings(action="ignore"):
        assert (
            perfarray.read_archive(ARCHIVES / "spec_txt", on_error="skip")
            .perf.machine_table()["performance"]
            .notna()
            .sum()
            == 342
        )

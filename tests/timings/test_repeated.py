"""The unit of a cell is the outermost level that this cell repeats, whatever other cells repeat."""

import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.conventions import ITERATION, LEVELS
from perfarray.timings.resolve import resolve
from strategies import examples

NEST = ("session", "execution", "iteration")

# Machines and what they have: five sessions of three executions, one session, one later session
# with a gap, two ragged sessions, one run, five sessions of one execution, nothing.
KINDS = ("sessions", "one", "later", "ragged", "single", "ones", "empty")
UNITS = {"sessions": 5, "one": 3, "later": 5, "ragged": 2, "single": 1, "ones": 5}


def archive(seed=0, iterations=2, benchmarks=3):
    """Two versions of a few benchmarks on machines that repeat different levels."""
    rng = np.random.default_rng(seed)
    shape = (2, len(KINDS), benchmarks, 5, 6, iterations)
    values = (
        rng.lognormal(0, 0.02, shape)
        * rng.lognormal(0, 0.05, (*shape[:4], 1, 1))
        * (1 + np.arange(benchmarks))[:, None, None, None]
    )
    measured = np.zeros((len(KINDS), 5, 6), dtype=bool)
    measured[0, :, :3] = measured[1, 0, :3] = measured[2, 3, [0, 1, 2, 4, 5]] = True
    measured[3, 1, [0, 3]] = measured[3, 4, 1:4] = measured[4, 2, 2] = measured[5, :, 0] = True
    labels = {
        "version": ["old", "new"],
        "machine": list(KINDS),
        "benchmark": list("abcdefgh")[:benchmarks],
    }
    dims = ("version", "machine", "benchmark", *NEST)
    return xr.DataArray(
        np.where(measured[None, :, None, ..., None], values, np.nan),
        labels,
        dims,
        "time",
        {"units": "s"},
    )


def trimmed(times):
    """Return timings as a file of one machine has them: without the repetitions that this machine
    lacks."""
    for level in NEST:
        times = times.dropna(level, how="all") if level in times.dims else times
    return times


def quietly(function):
    """Return an answer without its warnings, as a computed Dataset."""
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        result = function()
    result = getattr(result, "dataset", result)
    return (
        result.to_dataset(name="value") if isinstance(result, xr.DataArray) else result
    ).compute()


def assert_same(result, expected, without=()):
    """Check that all variables of two answers agree."""
    assert set(result.data_vars) == set(expected.data_vars)
    for name in expected.data_vars:
        if name not in without:
            assert result[name].dims == expected[name].dims, name
            if result[name].dtype.kind == "f":
                np.testing.assert_allclose(
                    result[name].values,
                    expected[name].values,
                    rtol=1e-9,
                    atol=1e-15,
                    err_msg=str(name),
                )
            else:
                np.testing.assert_array_equal(
                    result[name].values, expected[name].values, err_msg=str(name)
                )


def units_by_hand(cell):
    """Return the means of the units of a cell, an array of the levels that may be units."""
    with warnings.catch_warnings(action="ignore"):
        while cell.ndim > 1:
            means = cell
            while means.ndim > 1:
                means = np.nanmean(means, axis=-1)
            units = np.flatnonzero(~np.isnan(means))
            if len(units) > 1:
                return means[units]
            cell = cell[units[0] if len(units) else 0]
    return cell[~np.isnan(cell)]


def runs_of(cell):
    """Return the means of the executions of a cell, whose last axis holds iterations."""
    with warnings.catch_warnings(action="ignore"):
        return np.nanmean(cell, axis=-1)


@pytest.mark.parametrize(
    ("sizes", "n", "unit"),
    [
        ({"session": 1, "execution": 3}, 3, "execution"),  # a report of three runs
        ({"session": 1, "execution": 10, "iteration": 4}, 10, "execution"),
        ({"session": 5, "execution": 3}, 5, "session"),
        (
            {"session": 1, "execution": 1, "iteration": 9},
            1,
            "execution",
        ),  # never below an execution
        ({"session": 1, "iteration": 9}, 1, "session"),
        ({"execution": 1, "iteration": 9}, 1, "execution"),
        ({"iteration": 9}, 9, "iteration"),
        ({"binary": 1, "session": 5}, 5, "session"),
        ({"binary": 1, "session": 5, "iteration": 2}, 5, "session"),
        ({"binary": 1, "iteration": 5}, 1, "binary"),
        ({"binary": 1, "session": 1, "execution": 4}, 4, "execution"),
        ({"binary": 2, "session": 3, "execution": 4}, 2, "binary"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_unit_is_the_outermost_level_that_is_repeated(sizes, n, unit, dtype):
    """It is never below an execution by itself; iterations are units where they are all there
    is."""
    values = np.random.default_rng(0).lognormal(0, 0.02, tuple(sizes.values())).astype(dtype)
    result = quietly(
        lambda: xr.DataArray(
            values, dims=tuple(sizes), name="time", attrs={"units": "s"}
        ).perf.mean_interval()
    )
    assert (result["n"].item(), result.attrs["unit"]) == (n, unit)
    assert bool(result["lower"].notnull()) == (n > 1)


def test_each_cell_has_its_own_unit():
    """Five sessions of three stay five sessions; three runs of one session are three units; a cell
    without runs has none."""
    times = archive().sel(version="new")
    result = quietly(times.perf.mean_interval)
    assert result["n"].sel(benchmark="a").values.tolist() == [*UNITS.values(), 0]
    assert result.attrs["unit"] == "session"
    assert (
        quietly(times.drop_sel(machine="ones").perf.mean_interval).attrs["unit"] == "execution"
    )  # that of most
    for kind in UNITS:
        for name in times["benchmark"].values:
            units = units_by_hand(runs_of(times.sel(machine=kind, benchmark=name).values))
            cell = result.sel(machine=kind, benchmark=name)
            assert (cell["n"].item(), cell["estimate"].item()) == (
                len(units),
                pytest.approx(units.mean()),
            )
            error = units.std(ddof=1) / np.sqrt(len(units)) if len(units) > 1 else np.nan
            assert cell["standard_error"].item() == pytest.approx(error, nan_ok=True)


METHODS = {
    "mean_interval": {},
    "mean_interval, studentized": {"method": "studentized", "n_resamples": 99, "rng": 1},
    "compare": {"baseline": "old"},
    "compare, median": {"baseline": "old", "statistic": "median"},
    "ratio_interval": {"baseline": "old"},
    "suite_score": {},
    "five_number_summary": {"n_resamples": 19, "rng": 1},
    "relative_variation": {},
    "score_ratio_interval": {"baseline": "old"},
    "score_ratio_interval, bca": {"baseline": "old", "method": "bca", "rng": 1},
    "fit_mixture": {"n_components": 1},
    "run_estimate": {},
    "mean_difference": {"baseline": "old", "n_resamples": 19, "rng": 1},
    "randomization_test": {"baseline": "old", "rng": 1},
    "bootstrap_interval": {"n_resamples": 19, "rng": 1},
    "speedup_test": {"baseline": "old", "confidence_level": 0.9},
    "estimator_stability": {},
}
"""By method, what it is asked besides."""

OF_ALL = {"speedup_test": ["pvalue_adjusted"]}
"""Variables that are corrected for the number of cells."""


def ask(times, name):
    """Return the answer of a method of `METHODS`."""
    method, options = name.partition(", ")[0], METHODS[name]
    times = times if "baseline" in options else times.sel(version="new")
    return quietly(lambda: getattr(times.perf, method)(**options))


JOINT = (
    "compare",
    "compare, median",
    "suite_score",
    "five_number_summary",
    "relative_variation",
    "score_ratio_interval",
)
"""Methods that treat benchmarks jointly where these share units."""


CASES = [
    *((name, "") for name in METHODS),
    *((name, "session") for name in JOINT),
    ("five_number_summary", "session execution"),
]


@pytest.mark.parametrize(("name", "shared"), CASES)
def test_rows_do_not_depend_on_other_rows(name, shared):
    """A machine has the same numbers in the archive, selected by itself, and read by itself; lazily
    too."""
    times = archive(benchmarks=4 if shared else 3).assign_attrs(shared_levels=shared)
    # Benchmark b of the machine `one` lacks its middle run, benchmark c of `sessions` has one
    # session.
    times[{"machine": 1, "benchmark": 1, "session": 0, "execution": 1}] = np.nan
    times[{"machine": 0, "benchmark": 2, "session": slice(1, None)}] = np.nan
    answer = ask(times, name)
    for kind in UNITS:
        for selected in (times.sel(machine=[kind, "empty"]), trimmed(times.sel(machine=[kind]))):
            assert_same(
                ask(selected, name).sel(machine=[kind]),
                answer.sel(machine=[kind]),
                OF_ALL.get(name, ()),
            )
    if name != "fit_mixture":
        pytest.importorskip("dask.array")
        assert_same(ask(times.chunk(machine=2), name), answer)


@pytest.mark.parametrize("name", ["stopping", "required_runs"])
def test_steps_of_a_row_do_not_depend_on_other_rows(name):
    """What a machine has after a number of runs is the same beside machines of more runs."""
    options = {"half_width": 0.02} if name == "stopping" else {"width": 0.02, "start": 2}
    times = archive().drop_sel(machine=["ragged", "single", "empty"])
    answer = quietly(lambda: getattr(times.perf, name)("old", **options))
    for kind in times["machine"].values:
        row = quietly(lambda: getattr(times.sel(machine=[kind]).perf, name)("old", **options))  # noqa: B023
        for variable in ("estimate", "lower", "upper"):
            np.testing.assert_allclose(
                answer[variable].sel(machine=[kind], runs=row["runs"]).values,
                row[variable].values,
                rtol=1e-9,
            )


def test_histories_and_splits_take_the_same_units():
    """Change points and A/A splits of machines of one session are those of their executions."""
    rng = np.random.default_rng(3)
    values = rng.lognormal(0, 0.02, (2, 12, 4, 3))
    values[0, 6:] *= 1.2
    values[1, :, 1:] = np.nan
    labels = {"machine": ["sessions", "one"], "commit": np.arange(12)}
    times = xr.DataArray(
        values, labels, ("machine", "commit", "session", "execution"), "time", {"units": "s"}
    )
    runs = times.sel(machine=["one"]).isel(session=0, drop=True)
    changes = quietly(lambda: times.perf.change_points(dim="commit", correction=None))
    assert_same(
        quietly(lambda: runs.perf.change_points(dim="commit", correction=None)),
        changes.sel(machine=["one"]),
    )
    splits = [
        quietly(lambda: given_times.perf.calibrate(n_splits=20, rng=1))  # noqa: B023
        for given_times in (runs, times.sel(machine=["one"]))
    ]
    assert_same(*splits)


@st.composite
def nests(draw):
    """Draw timings of a few cells in two to four levels, of which each cell has some."""
    levels = sorted(
        draw(st.lists(st.sampled_from(LEVELS), min_size=2, max_size=4, unique=True)),
        key=LEVELS.index,
    )
    shape = (draw(st.integers(1, 4)), *(draw(st.integers(1, 3)) for _ in levels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.where(
        rng.random(shape) < draw(st.sampled_from([0.2, 0.5, 0.9])),
        rng.lognormal(0, 0.1, shape),
        np.nan,
    )
    values[rng.random(shape[0]) < 0.2] = np.nan
    return xr.DataArray(
        values, {"machine": np.arange(shape[0])}, ("machine", *levels), "time", {"units": "s"}
    )


@settings(max_examples=examples(200), deadline=None)
@given(nests())
def test_placed_units_are_those_of_the_cell(times):
    """Placing keeps the values of every cell; estimate, error and n are those of its units by hand,
    alone and lazily too."""
    levels = [str(dim) for dim in times.dims if dim != "machine"]
    data = resolve(times)
    result = quietly(times.perf.mean_interval)
    for machine in times["machine"].values:
        values, placed = (
            np.sort(array.sel(machine=machine).values.ravel()) for array in (times, data.array)
        )
        assert values[~np.isnan(values)].tolist() == placed[~np.isnan(placed)].tolist()
        cell = times.sel(machine=machine).values
        units = units_by_hand(runs_of(cell) if levels[-1] == ITERATION else cell)
        row = result.sel(machine=machine)
        assert (row["n"].item(), row["estimate"].item()) == (
            len(units),
            pytest.approx(units.mean() if len(units) else np.nan, nan_ok=True),
        )
        if len(units):
            assert_same(
                quietly(times.sel(machine=[machine]).perf.mean_interval),
                result.sel(machine=[machine]),
            )
    pytest.importorskip("dask.array")
    assert_same(quietly(times.chunk(machine=1).perf.mean_interval), result)


def test_positions_of_runs_stay():
    """Runs keep their positions, so that run 2 of one benchmark lies beside run 2 of another, and
    gaps stay gaps."""
    times = archive(iterations=1).isel(iteration=0, drop=True)
    placed = resolve(times).array.sel(machine="later", version="new", benchmark="a")
    np.testing.assert_array_equal(
        placed.isel(execution=0),
        times.sel(machine="later", version="new", benchmark="a").isel(session=3),
    )
    assert placed.isel(execution=slice(1, None)).isnull().all()
    # Cells of one session need no inner executions: the array is no longer than that of the
    # sessions.
    assert resolve(times).array.sizes["execution"] == 4


def test_coordinates_of_units_lie_beside_them():
    """Labels, dates and marks of runs are placed with them; numbers of units are positions."""
    hours = np.arange(30, dtype="timedelta64[h]").reshape(5, 6)
    dates = (("session", "execution"), np.datetime64("2026-01-01", "ns") + hours)
    coords = {
        "session": np.arange(10, 15),
        "session_label": ("session", list("vwxyz")),
        "date": dates,
    }
    coords["failed"] = (("session", "execution"), hours.astype(int) == 20)
    times = archive(iterations=1).isel(iteration=0, drop=True).assign_coords(coords)
    placed = (
        resolve(times).array.sel(machine="later", version="new", benchmark="a").isel(execution=0)
    )
    assert placed["date"].dtype.kind == "M"
    assert placed["date"].values[[0, 1]].tolist() == dates[1][3, :2].tolist()
    assert placed["session_label"].values[:3].tolist() == ["y", "y", "y"]
    assert placed["failed"].dtype == bool
    assert np.isnat(
        resolve(times)
        .array["date"]
        .sel(machine="sessions", version="new", benchmark="a")
        .values[5, 0]
    )
    assert "session" not in placed.coords
    assert_same(
        ask(times, "compare"), ask(times.drop_vars(["session", "session_label", "date"]), "compare")
    )


STOPPED = [
    (1, 1, 0, 0, 2, 5.0),
    (1, 2, 1, 3, 5, None),
    (1, 0, 1, 4, 0, None),
    (1, 0, 1, 4, 1, None),
    (1, 0, 1, 4, 2, None),
    (0, 3, 2, 4, 3, 9.0),
]
"""Places (version, machine, benchmark, session, execution) of stopped runs, and their limits."""


@pytest.mark.parametrize("censored", ["bound", "drop"])
def test_stopped_runs_are_runs_of_their_cell(censored):
    """A stopped run without a limit leaves nothing known of its cell, in the archive, alone and
    lazily; dropped ones do not count."""
    times = archive(iterations=1).isel(iteration=0, drop=True)
    values, mark, limits = (
        times.values.copy(),
        np.zeros(times.shape, dtype=bool),
        np.full(times.shape, np.nan),
    )
    for *place, limit in STOPPED:
        values[tuple(place)], mark[tuple(place)], limits[tuple(place)] = (
            np.nan,
            True,
            np.nan if limit is None else limit,
        )
    times = (
        times.copy(data=values)
        .assign_coords(censored=(times.dims, mark))
        .to_dataset(name="time")
        .assign(censored_at=(times.dims, limits))
    )

    def compared(data):
        return quietly(lambda: data.perf.compare("old", censored=censored))

    result = compared(times)
    unknown = result["estimate"].sel(machine="later", benchmark="b").isnull().item()
    assert unknown == (censored == "bound")
    for kind in UNITS:
        row = times.sel(machine=[kind])
        runs = row["time"].notnull() | row["censored"]
        places = {
            level: np.flatnonzero(runs.any([dim for dim in runs.dims if dim != level]).values)
            for level in ("session", "execution")
        }
        for selected in (row, row.isel(places)):
            alone = compared(selected)
            names = [
                name for name in alone.data_vars if name in result.data_vars
            ]  # without stopped runs there is more to tell
            assert_same(alone[names], result.sel(machine=[kind])[names])
    pytest.importorskip("dask.array")
    assert_same(compared(times.chunk(machine=1)), result)


class TestTwoSides:
    """A comparison of other timings, of which one side has sessions and the other none."""

    TIMES = archive(5)
    NEW, OLD = TIMES.sel(version="new", drop=True), TIMES.sel(version="old", drop=True)

    def test_other_timings_are_the_baseline_that_a_label_is(self):
        """Two objects have the numbers of two labels."""
        labelled = ask(self.TIMES, "compare").isel(version=0, drop=True)
        assert_same(quietly(lambda: self.NEW.perf.compare(self.OLD)), labelled)
        pytest.importorskip("dask.array")
        assert_same(
            quietly(lambda: self.NEW.chunk(machine=2).perf.compare(self.OLD.chunk(machine=2))),
            labelled,
        )

    def test_a_side_without_sessions_has_its_executions(self):
        """Each side has the outermost level that it repeats: five sessions against three
        executions."""
        runs = self.OLD.isel(session=0, drop=True).isel(execution=slice(0, 3))
        for new, old, row in ((self.NEW, runs, [5, 3]), (runs, self.NEW, [3, 5])):
            result = quietly(lambda: new.perf.compare(old))  # noqa: B023
            cell = result.sel(machine="sessions", benchmark="a")
            assert [cell["n_candidate"].item(), cell["n_baseline"].item()] == row
            for kind in UNITS:
                sides = [new.sel(machine=[kind]), old.sel(machine=[kind])]
                alone = quietly(lambda: sides[0].perf.compare(sides[1]))  # noqa: B023
                assert_same(alone, result.sel(machine=[kind]))

    def test_a_side_that_was_not_measured_has_no_answer(self):
        """Where the machine of one side has no run at all, there is no ratio, and no error."""
        runs = self.OLD.isel(session=0, drop=True)
        result = quietly(
            lambda: self.NEW.sel(machine=["later"]).perf.compare(runs.sel(machine=["later"]))
        )
        assert result["n"].values.tolist() == [[0, 0, 0]]
        assert result["estimate"].isnull().all()


def test_what_is_asked_decides_otherwise():
    """`levels=`, `unit=` and `paired=` keep the nest; components of variance, plans and counts keep
    it as it is."""
    times = archive()
    one = times.sel(machine=["one"], version="new")
    assert quietly(lambda: one.perf.mean_interval(levels=NEST))["n"].values.tolist() == [[1, 1, 1]]
    assert quietly(lambda: one.perf.mean_interval(levels=NEST[1:])).sizes["session"] == 5
    pooled = quietly(
        lambda: times.sel(machine="sessions", version="new").perf.normality(unit="execution")
    )
    assert pooled["n"].values.ravel().tolist() == [15, 15, 15]
    paired = quietly(
        lambda: times.sel(machine=["sessions", "one"]).perf.compare("old", paired="session")
    )
    assert paired["n"].sel(benchmark="a").values.ravel().tolist() == [5, 1]
    assert quietly(one.perf.variance_components)["level"].values.tolist() == list(NEST)
    assert quietly(one.perf.counts)["level"].values.tolist() == list(NEST)
    costs = {"session": 9, "execution": 3}
    plan = quietly(lambda: one.isel(machine=0).perf.plan_repetitions(half_width=0.05, costs=costs))
    assert plan.attrs["levels"] == " ".join(NEST)


def test_shared_sessions_make_way_for_shared_runs():
    """Where sessions are shared and a machine has one, its runs are treated jointly as sessions
    are, alone and beside others."""
    times = archive().assign_attrs(shared_levels="session")
    both = ask(times, "score_ratio_interval")
    one = ask(times.sel(machine=["one"]), "score_ratio_interval")
    assert (both.attrs["benchmarks"], one.attrs["benchmarks"]) == (
        "shared: session",
        "shared: execution",
    )
    runs = trimmed(times.sel(machine=["one"])).isel(session=0, drop=True)
    joint = quietly(lambda: runs.perf.score_ratio_interval("old", shared="execution"))
    assert_same(both.sel(machine=["one"]), joint)


class TestNote:
    """One note counts the cells that were measured in one session."""

    def note(self, times, **options):
        """Return the note on one session of a mean, None where there is none."""
        with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
            notes = times.sel(version="new").perf.mean_interval(**options).perf.notes()
        return next((note for note in notes if note.code == "one_session"), None)

    def test_cells_of_several_runs_are_counted(self):
        """Cells of one run, which have no limits, and cells without runs are not."""
        note = self.note(archive())
        assert (note.values["cells"], note.values["of"], note.aside) == (6, 18, False)
        assert note.message.startswith(
            "6 of 18 cells were measured in one session: the units are executions there"
        )

    def test_it_is_no_warning_where_no_cell_has_several(self):
        """Every cell was measured in one session, those of one run too: that is said beside the
        answer."""
        note = self.note(archive().sel(machine=["one", "later", "single"]))
        assert note.aside
        assert note.message.startswith("6 of 6 cells were measured in one session")

    def test_all_units_are_named(self):
        """Where cells of one build repeat sessions or executions, both are named."""
        builds = archive().expand_dims(binary=2).copy()
        builds[{"binary": 1, "machine": slice(1, None)}] = np.nan
        note = self.note(builds)
        assert "measured in one binary: the units are sessions or executions there" in note.message
        assert (note.values["cells"], note.values["of"]) == (12, 18)

    def test_there_is_none_where_all_repeat_sessions(self):
        """Neither where levels are named."""
        assert self.note(archive().sel(machine=["sessions", "ones"])) is None
        assert self.note(archive(), levels=NEST) is None

"""required_runs on labelled timings."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.suites.numerics.redrawn_scores import Score
from perfarray.suites.numerics.required_runs import extrapolate


def timings(runs=12, benchmarks=4, seed=1, spread=0.01, **dims_and_labels):
    """Return two versions that do not differ."""
    dims = {"benchmark": benchmarks, "version": ["old", "new"], **dims_and_labels}
    return perfarray.simulate(
        sizes={"execution": runs}, variances={"execution": spread**2}, dims=dims, rng=seed
    )


def scattered(times, columns):
    """Return the same runs in so many columns, at other places for every benchmark and version."""
    wide = times.transpose(..., "execution").pad(execution=(0, columns - times.sizes["execution"]))
    values, order = (
        np.full(wide.shape, np.nan),
        np.argsort(np.random.default_rng(0).random(wide.shape), axis=-1),
    )
    np.put_along_axis(
        values,
        np.sort(order[..., : times.sizes["execution"]], axis=-1),
        times.transpose(*wide.dims).values,
        axis=-1,
    )
    return wide.copy(data=values)


@pytest.mark.parametrize("gaps", [False, True])
def test_every_step_is_the_interval_of_the_first_runs(gaps):
    """Along `runs`: score_ratio_interval of that many measured ones; required is the first that is
    narrow enough."""
    times = timings()["time"]
    measured = scattered(times, columns=20) if gaps else times
    plan = measured.perf.required_runs("old", width=0.012)
    assert plan["runs"].values.tolist() == list(range(3, 21 if gaps else 13))
    for runs in (3, 7, 12):
        expected = times.isel(execution=slice(runs)).perf.score_ratio_interval("old")
        for name in ("estimate", "lower", "upper"):
            np.testing.assert_allclose(plan[name].sel(runs=runs), expected[name], rtol=1e-12)
    assert np.isnan(plan["estimate"].sel(runs=slice(13, None))).all()
    narrow = plan["width"].squeeze().values <= 0.012
    assert plan["required"].item() == plan["runs"].values[np.argmax(narrow)]
    assert plan["extrapolated"].item() == plan["required"].item()


def fewest_runs(width, half, df, have=12):
    """Return the fewest runs of which t limits of a ratio near 1 are `width` apart, half-width and
    df being those of the runs there are."""

    def reached(runs):
        scale = stats.t.ppf(0.975, df * (runs - 1) / (have - 1)) / stats.t.ppf(0.975, df)
        return 2 * np.sinh(half * np.sqrt(have / runs) * scale)

    return next(runs for runs in itertools.count(have + 1) if reached(runs) <= width)


@pytest.mark.parametrize(("runs", "factor"), [(12, 1.0), (12, 2.0), (3, 1.0)])
def test_extrapolation_shrinks_the_interval_of_all_runs(runs, factor):
    """The half-width on the log scale falls with the square root of the runs, and t as the degrees
    of freedom grow."""
    slower = xr.DataArray([1.0, factor], dims="version", coords={"version": ["old", "new"]})
    times = (timings(runs)["time"] * slower).assign_attrs(units="s")
    plan, interval = (
        times.perf.required_runs("old", width=0.004),
        times.perf.score_ratio_interval("old").squeeze(),
    )
    assert np.isnan(plan["required"].item())
    half, df = float(np.log(interval["upper"] / interval["lower"]) / 2), interval["df"].item()
    assert plan["extrapolated"].item() == fewest_runs(
        0.004 / interval["estimate"].item(), half, df, runs
    )


def test_wide_limits_shrink_towards_their_geometric_mean():
    """Drawn limits of 1/2 and 2 from ten runs are 1/sqrt(2) and sqrt(2) from four times as many."""
    ends, score = [np.array([end]) for end in (0.5, 2.0)], Score("geometric", "mean")
    width = np.sqrt(2) - 1 / np.sqrt(2)
    for allowed, runs in ((width + 1e-9, 40), (width - 1e-9, 41)):
        n_runs = extrapolate(*ends, np.array([np.nan]), np.array([10.0]), score, allowed)
        assert n_runs.tolist() == [runs]


def test_extrapolation_is_what_more_runs_need():
    """Of 200 pilots of 12 runs, the mean promise is what the true variance needs; a variance of 88
    df has a standard error of 15 %."""
    plan = timings(12, machine=200).perf.required_runs("old", width=0.004)
    truth = fewest_runs(0.004, stats.t.ppf(0.975, 8 * 11) * np.sqrt(2 * 0.01**2 / 4 / 12), 8 * 11)
    assert plan["required"].isnull().all()
    assert plan["extrapolated"].mean().item() == pytest.approx(truth, rel=4 * np.sqrt(2 / 88 / 200))


def test_extrapolation_meets_the_t_interval():
    """6 runs repeated 10 times have the standard error of 59 * 6/5 runs, since variances divide by
    n - 1."""
    times = timings(6)
    repeated = times.isel(execution=np.tile(np.arange(6), 10))
    width = repeated.perf.score_ratio_interval("old")
    target = (width["upper"] - width["lower"]).item()
    assert times.perf.required_runs("old", width=target)["extrapolated"].item() == pytest.approx(
        59 * 6 / 5, abs=1
    )  # a whole number


def test_bootstrap_and_shared_units():
    """The method is passed on, and so are shared units."""
    times = timings(8)
    with pytest.warns(UserWarning, match="too narrow"):
        expected = times.perf.score_ratio_interval(
            "old", method="percentile", shared="execution", rng=3
        )
    plan = times.perf.required_runs(
        "old", width=1.0, method="percentile", shared="execution", rng=3
    )
    np.testing.assert_allclose(plan["lower"].sel(runs=8), expected["lower"], rtol=1e-12)
    assert plan.attrs["benchmarks"] == "shared: execution"


def test_the_table_says_what_would_do_where_the_runs_do_not():
    """With a question mark, and the remark beside; it was empty."""
    plan = timings().perf.required_runs("old", width=0.004).squeeze()
    assert np.isnan(plan["required"])
    assert plan.perf.table().to_numpy().tolist() == [
        [f"{plan['extrapolated'].item():.0f}?", plan["remark"].item()]
    ]


def test_cells_with_fewer_runs_stop_earlier():
    """A benchmark with 5 runs of 12: nothing beyond 5."""
    times = timings()
    times["time"].loc[
        {"benchmark": "benchmark0", "version": "new", "execution": slice(5, None)}
    ] = np.nan
    with pytest.warns(
        UserWarning,
        match=r"49 runs are not used.* the fewest are 5 \(candidate\) and 12 \(baseline\)",
    ):
        plan = times.perf.required_runs("old", width=1e-9)
    assert plan["width"].notnull().values.ravel().tolist() == [True] * 3 + [False] * 7
    assert np.isnan(plan["required"].item())


def test_the_smaller_side_ends_the_search_and_is_named():
    """5 runs against 12: as many of both are taken, the result has both numbers, and one warning
    says what is not used."""
    times = timings(4 * 3)
    five_runs = times["time"].sel(version="new", drop=True).isel(execution=slice(5))
    old = times["time"].sel(version="old", drop=True)
    with pytest.warns(
        UserWarning, match=r"28 runs are not used: .* 5 \(candidate\) and 12 \(baseline\)"
    ) as caught:
        plan = five_runs.perf.required_runs(old, width=1e-9)
    assert len(caught) == 1
    assert (plan["n_candidate"].item(), plan["n_baseline"].item()) == (5, 12)
    assert plan["runs"].values.tolist() == [3, 4, 5]
    assert "on each side" in plan.attrs["question"]


def test_why_no_number_of_runs_is_enough_is_said():
    """An empty remark where `required` is known; else too wide, too few runs, nothing measured."""
    dims = {"benchmark": 3, "version": ["old", "new"], "machine": ["narrow", "wide", "few", "none"]}
    times = perfarray.simulate(
        sizes={"execution": 6}, variances={"execution": 1e-4}, dims=dims, rng=1
    )["time"].copy()
    times.loc[{"machine": "wide"}] = times.sel(machine="wide") ** 20
    times.loc[{"machine": "few", "execution": slice(2, None)}] = np.nan
    times.loc[{"machine": "none", "version": "new"}] = np.nan
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        plan = times.perf.required_runs("old", dim="version", width=0.03).squeeze("version")
    (message,) = [warning.message for warning in caught]
    assert [(note.code, note.values["cells"], note.values["of"]) for note in message.notes] == [
        ("no_value", 1, 4),
        ("few_units", 1, 4),
    ]
    assert "1 of 4 cells have fewer than start=3 runs" in str(message)
    assert "no benchmark measured on both sides" in str(message)
    remark = plan["remark"].to_series()
    last = plan["width"].sel(machine="wide", runs=6).item()
    assert remark["narrow"] == ""
    promised = f"{plan['extrapolated'].sel(machine='wide').item():.0f} would do"
    assert remark["wide"].startswith(f"with all 6 runs the interval is {last:.3g} wide; {promised}")
    assert [int(word) for word in remark["few"].split() if word.isdigit()] == [2, 3]
    assert remark["none"] == "no benchmark measured on both sides"
    assert ((remark == "") == plan["required"].notnull().to_series()).all()


def test_what_no_number_of_runs_can_do_is_said():
    """A width that ten million runs do not reach."""
    plan = timings(5).perf.required_runs("old", width=1e-9)
    assert np.isnan(plan["extrapolated"].item())
    assert plan["remark"].item().endswith("ten million runs would not do either")


def test_one_session_each_has_its_executions():
    """Where one machine has several sessions, those are its units; the other has the executions of
    its session, and a note counts it."""
    times = timings(runs=6, machine=["a", "b"], session=3)["time"]
    first = xr.DataArray([True, False, False], dims="session")
    times = times.where((times["machine"] == "a") | first).assign_attrs(times.attrs)
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="8 of 16 cells were measured in one session: the units are executions there",
    ):
        plan = times.perf.required_runs("old", width=0.1)
    n_required = [
        times.isel(machine=[position]).perf.required_runs("old", width=0.1)["required"].item()
        for position in (0, 1)
    ]
    assert plan["required"].values.ravel().tolist() == n_required


@pytest.mark.parametrize(
    ("runs", "inside", "remedied"), [(1, True, True), (2, True, False), (1, False, True)]
)
def test_what_to_do_with_one_run(runs, inside, remedied):
    """One run needs others, whatever lies inside it: its iterations are no runs. Two runs are
    merely too few."""
    sizes = {"execution": 4} | ({"iteration": 3} if inside else {})
    dims = {"benchmark": 3, "version": ["old", "new"], "machine": 2}
    times = perfarray.simulate(sizes=sizes, variances=dict.fromkeys(sizes, 1e-4), dims=dims, rng=1)[
        "time"
    ]
    short = times.where((times["machine"] == times["machine"][0]) | (times["execution"] < runs))
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 of 2 cells have fewer than start=3 runs"
    ) as caught:
        short.perf.required_runs("old", dim="version", width=0.03)
    assert ("Measure several executions" in str(caught[0].message)) == remedied
    assert "iteration" not in str(caught[0].message)

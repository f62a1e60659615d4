"""Scores of a suite: brute force, the oracle, all paths agree, matched suites, shared units, bad
input."""

from itertools import product

import numpy as np
import pytest
import xarray as xr

import perfarray

FIVE = ["minimum", "q1", "median", "q3", "maximum"]
MEANS = {
    "geometric": lambda x: np.exp(np.mean(np.log(x))),
    "arithmetic": np.mean,
    "harmonic": lambda x: 1 / np.mean(1 / x),
}


def suite(values, **dims):
    """Label runs (benchmark, execution), or with the dims given."""
    names = tuple(dims) or ("benchmark", "execution")
    values = np.asarray(values, dtype=float)
    labels = {"benchmark": [f"b{i}" for i in range(values.shape[names.index("benchmark")])]}
    return xr.DataArray(
        values, dims=names, coords=labels, name="time", attrs={"units": "s", "better": "lower"}
    )


def by_brute_force(rows, mean):
    """Return the five numbers of all scores."""
    scores = np.sort([MEANS[mean](np.array(draw)) for draw in product(*rows)])
    ranks = [-(-quarter * len(scores) // 4) - 1 for quarter in (1, 2, 3)]
    return np.array([scores[0], *scores[ranks], scores[-1]])


@pytest.fixture
def machines():
    """Three machines, five benchmarks, three executions."""
    rng = np.random.default_rng(1)
    values = rng.lognormal(0, 0.1, (5, 3, 3)) * rng.uniform(1, 40, (5, 1, 1))
    times = suite(values, benchmark=0, machine=0, execution=0)
    return times.assign_coords(machine=["x", "y", "z"])


@pytest.mark.parametrize("mean", MEANS)
def test_exact_numbers_are_those_of_all_scores(mean):
    """Four benchmarks, three runs: 81 scores."""
    times = suite(np.random.default_rng(2).lognormal(1, 0.5, (4, 3)))
    summary = times.perf.five_number_summary(method="exact", mean=mean)
    np.testing.assert_allclose(
        [summary[name].item() for name in FIVE], by_brute_force(times.values, mean), rtol=1e-12
    )
    assert summary["range"].item() == summary["maximum"].item() - summary["minimum"].item()
    assert summary["interquartile_range"].item() == summary["q3"].item() - summary["q1"].item()


@pytest.mark.parametrize("case", [0, 1])
def test_oracle(golden, case):
    """R's enumeration: extremes, median, first quartile between its hinge and the score below, and
    the mean and SD of scores."""
    case_data = golden("ci_and_empirical")["empirical_distribution"][case]
    times, output = suite(case_data["input"]["X"]), case_data["output"]
    summary = times.perf.five_number_summary(method="exact")
    hinges = output["fivenum_hinges"]
    np.testing.assert_allclose(
        [summary["minimum"].item(), summary["maximum"].item()], [hinges[0], hinges[4]], rtol=1e-10
    )
    if output["n"] % 2:
        np.testing.assert_allclose([summary[name].item() for name in FIVE], hinges, rtol=1e-10)
    np.testing.assert_allclose(
        [summary[name].item() for name in FIVE],
        by_brute_force(times.values, "geometric"),
        rtol=1e-12,
    )
    performance = times.perf.relative_variation()["performance"].item()
    np.testing.assert_allclose(performance, output["gm_of_medians"], rtol=1e-12)
    scores = times.perf.score_distribution(n_resamples=40_000, rng=1)
    np.testing.assert_allclose(
        scores.mean().item(), output["exact_mean"], atol=4 * output["exact_sd_population"] / 200
    )
    np.testing.assert_allclose(
        scores.std().item(), output["exact_sd_population"], rtol=4 / np.sqrt(2 * 40_000)
    )


@pytest.mark.parametrize("mean", MEANS)
def test_drawn_scores_follow_the_law(mean):
    """Every one of 8 scores is drawn as often as any other (chi-square of 20,000 draws below its
    99.9 % point)."""
    times = suite([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])
    scores = times.perf.score_distribution(n_resamples=20_000, mean=mean, rng=3)
    _, counts = np.unique(scores.round(9), return_counts=True)
    assert len(counts) == 8
    assert ((counts - 2500) ** 2 / 2500).sum() < 24.3


def test_monte_carlo_numbers_are_those_of_the_scores(machines):
    """The same seed draws the same scores; quantiles are order statistics 125, 250 and 375 of
    500."""
    scores = np.sort(machines.perf.score_distribution(rng=5).values, axis=-1)
    summary = machines.perf.five_number_summary(rng=5)
    for name, index in zip(FIVE, (0, 124, 249, 374, 499), strict=True):
        np.testing.assert_array_equal(summary[name].values, scores[:, index])
    np.testing.assert_allclose(summary["standard_deviation"], scores.std(axis=1, ddof=1), rtol=1e-9)


def test_all_paths_agree(machines):
    """Function, method, transposed, chunked, other order of runs: the same scores, in the order of
    the dims."""
    pytest.importorskip("dask")
    expected = perfarray.score_distribution(machines, rng=4)
    turned, other_order = (
        machines.transpose("execution", "machine", "benchmark"),
        machines.isel(execution=[2, 0, 1]),
    )
    for times in (machines, turned, machines.chunk(machine=1), other_order):
        xr.testing.assert_allclose(
            times.perf.score_distribution(rng=4).compute(), expected, rtol=1e-12
        )


def test_memory_batches_change_nothing(machines, monkeypatch):
    expected = machines.perf.score_distribution(rng=1)
    monkeypatch.setattr("perfarray.suites.numerics.distributions.BATCH", 1)
    xr.testing.assert_identical(machines.perf.score_distribution(rng=1), expected)


def test_ragged_runs_weigh_units_alike():
    """Two binaries with one and two executions: the lone execution has half of the weight."""
    times = suite([[[1.0, np.nan], [2.0, 3.0]]], benchmark=0, binary=0, execution=0)
    scores = times.perf.score_distribution(n_resamples=20_000, rng=1)
    shares = [(scores.round(9) == value).mean() for value in (1, 2, 3)]
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=4 * np.sqrt(0.25 * 0.75 / 20_000))
    assert times.perf.five_number_summary(method="exact")["median"].item() == pytest.approx(1.0)
    averaged = times.perf.score_distribution(value="binary", n_resamples=2000, rng=1)
    assert np.unique(averaged.round(9)).tolist() == [1.0, 2.5]


def test_shared_units_are_drawn_together():
    """The slow build is slow in both benchmarks: scores are 1 or 4, never 2."""
    times = suite([[1.0, 4.0], [1.0, 4.0]], benchmark=0, binary=0)
    scores = times.perf.score_distribution(shared="binary", rng=1)
    assert np.unique(scores.round(9)).tolist() == [1.0, 4.0]
    assert scores.attrs["benchmarks"] == "shared: binary"
    exact = times.perf.five_number_summary(method="exact", shared="binary")
    np.testing.assert_allclose([exact[name].item() for name in FIVE], [1, 1, 1, 4, 4])
    separate = times.perf.five_number_summary(method="exact")
    np.testing.assert_allclose([separate[name].item() for name in FIVE], [1, 1, 2, 2, 4])


def test_suites_are_matched(machines):
    """A benchmark that one machine lacks is left out of all, and named; a machine without any value
    is NaN and costs nothing."""
    holes = machines.where(~((machines["benchmark"] == "b1") & (machines["machine"] == "y"))).where(
        machines["machine"] != "z"
    )
    holes = holes.assign_attrs(machines.attrs)
    with pytest.warns(
        UserWarning, match=r"1 of 5 labels of 'benchmark' were not measured in every cell.*'b1'"
    ):
        summary = holes.perf.five_number_summary(method="exact")
    assert summary.attrs["unmatched"] == "b1"
    assert summary.attrs["n_benchmarks"] == 4
    expected = machines.drop_sel(benchmark="b1").perf.five_number_summary(method="exact")
    np.testing.assert_allclose(
        summary["median"].values[:2], expected["median"].values[:2], rtol=1e-12
    )
    assert np.isnan(summary["median"].values[2])


def test_single_runs_have_no_spread():
    """One run: NaN, n = 1, and one warning."""
    with pytest.warns(
        UserWarning,
        match=(
            "1 of 1 cells rest on one execution: their variation is NaN.*. Measure several "
            "executions"
        ),
    ):
        variation = suite([[1.0], [2.0]]).perf.relative_variation()
    assert np.isnan(variation["standard_deviation"])
    assert variation["n"] == 1
    np.testing.assert_allclose(variation["performance"], np.sqrt(2))


def sessions():
    """Four machines, three benchmarks: one machine with three sessions of three executions, three
    with one."""
    values = 10 + np.random.default_rng(6).normal(size=(4, 3, 3, 3))
    values[1:, :, 1:] = np.nan
    dims = ("machine", "benchmark", "session", "execution")
    coords = {"machine": list("wxyz"), "benchmark": list("abc")}
    return xr.DataArray(
        values, dims=dims, coords=coords, name="time", attrs={"units": "s", "better": "lower"}
    )


def test_a_machine_with_several_sessions_leaves_the_others_an_answer():
    """Its units stay its sessions; those of the others are their executions, and a note counts
    them."""
    times = sessions()
    with pytest.warns(
        UserWarning,
        match="9 of 12 cells were measured in one session: the units are executions there",
    ):
        variation = times.perf.relative_variation()
    assert variation["performance"].notnull().all()
    assert (variation.attrs["unit"], variation["n"].values.tolist()) == ("execution", [3, 3, 3, 3])
    alone = times.isel(machine=[0]).perf.relative_variation()
    assert alone.attrs["unit"] == "session"
    np.testing.assert_allclose(
        variation["relative_variation"][0], alone["relative_variation"][0], rtol=1e-12
    )
    merged = times.perf.merge_level("session").perf.relative_variation()
    inside = times.perf.relative_variation(unit="execution")
    single_session = (
        times.isel(session=0, machine=slice(1, None))
        .drop_vars("session", errors="ignore")
        .perf.relative_variation()
    )
    for name in ("performance", "relative_variation", "n"):
        np.testing.assert_allclose(inside[name], merged[name], rtol=1e-12)
        np.testing.assert_allclose(inside[name][1:], single_session[name], rtol=1e-12)
        np.testing.assert_allclose(variation[name][1:], single_session[name], rtol=1e-12)
    assert (inside.attrs["unit"], inside["n"].values.tolist()) == ("execution", [9, 3, 3, 3])
    one_machine = times.perf.relative_variation(levels="execution", across="benchmark").sel(
        machine="x", session=0
    )
    np.testing.assert_allclose(
        one_machine["relative_variation"], inside["relative_variation"].sel(machine="x"), rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore:.*no closed form")
@pytest.mark.parametrize(
    ("benchmarks", "mean", "shared"),
    [(1, "geometric", ()), (6, "geometric", ()), (6, "arithmetic", ()), (3, "geometric", "binary")],
)
def test_what_is_drawn_keeps_its_monte_carlo_error(benchmarks, mean, shared):
    """Under other keys the same cell has another answer: their spread is the error stated, 2 % at
    most, around what many draws give."""
    values = 20 + np.exp(np.random.default_rng(4).normal(size=(benchmarks, 9, 3)))
    one_suite = xr.DataArray(
        values,
        dims=("benchmark", "binary", "execution"),
        name="time",
        attrs={"units": "s", "better": "lower"},
    )
    copies = one_suite.expand_dims(copy=np.arange(60))
    variation = copies.perf.relative_variation(mean=mean, shared=shared, rng=1)
    share = variation["relative_variation"] / variation["relative_variation"].mean()
    error = float(variation["monte_carlo_error"].mean())
    assert (variation["monte_carlo_error"] <= 0.02).all()
    assert (
        0.7 < float(share.std(ddof=1)) / error < 1.35
    )  # of 60, the standard deviation is known to 9 %
    precise = one_suite.perf.relative_variation(
        method="monte_carlo", n_resamples=40_000, mean=mean, shared=shared, rng=2
    )
    centre = float(variation["relative_variation"].mean() / precise["relative_variation"]) - 1
    assert abs(centre) < 4 * np.hypot(error / np.sqrt(60), float(precise["monte_carlo_error"]))


def test_a_spread_without_a_closed_form_is_drawn():
    """More than 8 units of several runs, and harmonic means: the default draws, and says what was
    done, of which cells, with what error."""
    rng = np.random.default_rng(7)
    values = 10 + rng.normal(size=(2, 3, 9, 4))
    values[1, :, :, 1:] = np.nan  # the second machine has one run in each unit: a closed form
    dims = ("machine", "benchmark", "binary", "execution")
    times = xr.DataArray(values, dims=dims, name="time", attrs={"units": "s", "better": "lower"})
    with pytest.warns(
        UserWarning,
        match=(
            "1 of 2 cells .*have no closed form.*redrawn experiments.*standard error is at "
            "most 1.. %"
        ),
    ):
        variation = times.perf.relative_variation(rng=3)
    assert variation["drawn"].values.tolist() == [True, False]
    assert (variation["monte_carlo_error"] > 0).values.tolist() == [True, False]
    assert (variation.attrs["method"], variation.attrs["n_resamples"] >= 500) == (
        "exact, monte_carlo",
        True,
    )
    with pytest.warns(UserWarning, match="no closed form"):
        assert (
            times.isel(machine=[0])
            .perf.relative_variation(rng=3, n_resamples=50)
            .attrs["n_resamples"]
            == 50
        )
    alone = times.isel(machine=[1]).perf.relative_variation()
    assert alone.attrs["method"] == "exact"
    assert "n_resamples" not in alone.attrs
    np.testing.assert_allclose(
        variation["relative_variation"][1], alone["relative_variation"][0], rtol=1e-12
    )
    with pytest.warns(UserWarning, match="2 of 2 cells have no closed form"):
        assert times.perf.relative_variation(mean="harmonic", rng=3)["drawn"].all()
    with pytest.warns(UserWarning, match="no closed form"):
        shipped = perfarray.load_dataset("c_suite").perf.relative_variation(rng=1)
    assert (shipped["relative_variation"] > 0).all()


@pytest.mark.parametrize("method", ["exact", "monte_carlo"])
def test_identical_runs_and_one_benchmark(method):
    """Ties everywhere: five equal numbers, no variation; scores have the units of the data, a ratio
    has none."""
    times = suite([[2.1, 2.1, 2.1]])
    constant, varied = (
        times.perf.five_number_summary(method=method, rng=1),
        times.perf.relative_variation(method=method, rng=1),
    )
    np.testing.assert_allclose([constant[name].item() for name in FIVE], 2.1)
    assert method == "exact" or constant["standard_deviation"] == 0
    assert varied["relative_variation"] == 0
    assert [
        varied[name].attrs["units"] for name in ("standard_deviation", "relative_variation")
    ] == ["s", "1"]
    assert times.perf.score_distribution(rng=1).attrs["units"] == "s"


def test_a_benchmark_with_zeros_is_left_out():
    """Zero scores have no log: their benchmark is declined by name, of lazy timings too; an
    arithmetic mean takes them."""
    times = suite([[0.0, 1.0], [2.0, 3.0]]).assign_attrs(units="1")
    with pytest.warns(
        UserWarning,
        match=r"1 cell has zeros and no answer: 'b0'. Zeros .*, since mean='geometric' needs",
    ):
        assert times.perf.five_number_summary(method="exact")["minimum"] == 2.0
    assert times.perf.five_number_summary(mean="arithmetic", method="exact")["minimum"] == 1.0
    pytest.importorskip("dask")
    assert times.chunk().perf.five_number_summary(method="exact")["minimum"].compute() == 2.0


def test_a_unit_may_be_chosen_for_scores_and_their_five_numbers():
    """`unit=` pools the levels above, as merging them does; the executions of one session are the
    units without it, and a note says so."""
    nest = {
        "sizes": {"session": 1, "execution": 6},
        "variances": {"session": 1e-4, "execution": 1e-4},
    }
    times = perfarray.simulate(**nest, dims={"benchmark": 3, "machine": 2}, rng=1)
    unmerged = times.perf.five_number_summary(method="exact")
    (note,) = unmerged.perf.notes()
    assert note.message.startswith("6 of 6 cells were measured in one session")
    assert "The variation between sessions is not in the answer" in note.message
    summary = times.perf.five_number_summary(method="exact", unit="execution")
    assert (summary["n"] == 6).all()
    assert summary.attrs["unit"] == "execution"
    merged = times.perf.merge_level("session")
    xr.testing.assert_allclose(summary, merged.perf.five_number_summary(method="exact"))
    scores = times.perf.score_distribution(unit="execution", rng=1)
    xr.testing.assert_allclose(scores, merged.perf.score_distribution(rng=1))
    constant = times.where(times["execution"] == 0).dropna("execution", how="all")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="have a benchmark with a single execution, which shows no spread",
    ):
        constant.perf.five_number_summary(method="exact")

"""One number for a run time, and how stable it is."""

import tracemalloc
import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import perfarray
from perfarray.variation.numerics.estimators import (
    ESTIMATORS,
    estimate_of_runs,
    stability_of_estimators,
)

PAPERS_NAMES = {
    "average": "mean",
    "median": "median",
    "lower_quartile": "quartile",
    "minimum": "min",
}


def sample(*runs: float) -> xr.Dataset:
    return perfarray.from_samples({"fft": list(runs)}, dim="benchmark")


def estimate(times, statistic, **keywords):
    return times.perf.run_estimate(statistic=statistic, **keywords)["estimate"].item()


def overlapping(times, **keywords):
    """Return the stability of estimators from groups that overlap a lot, and expect the note."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        stability = times.perf.estimator_stability(**keywords)
    assert "few_runs" in [note.code for note in caught[0].message.notes]
    return stability


@pytest.mark.parametrize("case", range(4))
def test_oracle(golden, case):
    """The means and relative standard deviations over rotating groups are R's."""
    oracle = golden("min_estimator")["cases"][case]
    times = sample(*oracle["input"]["observations_in_order"])
    sizes = [output["k"] for output in oracle["output"]]
    with warnings.catch_warnings(action="ignore"):
        stability = times.perf.estimator_stability(group_sizes=sizes).squeeze("benchmark")
    for output in oracle["output"]:
        for name, statistic in PAPERS_NAMES.items():
            cell = stability.sel(group_size=output["k"], statistic=statistic)
            assert_allclose(cell["estimate"], output[name]["mean"], rtol=1e-12)
            assert_allclose(
                cell["relative_standard_deviation"],
                output[name]["rel_sd_n_minus_1"],
                rtol=1e-12,
                atol=1e-14,
            )


@pytest.mark.parametrize("statistic", ESTIMATORS)
@pytest.mark.parametrize("runs", range(1, 12))
def test_equal_weights_are_the_papers_formula(statistic, runs):
    """The weighted estimator of runs that weigh the same is the paper's order statistic, whether
    they lie in one unit or in many."""
    values = np.random.default_rng(runs).permutation(np.arange(1.0, 12.0) ** 2)[:runs]
    expected = ESTIMATORS[statistic](np.sort(values))
    assert_allclose(
        [estimate_of_runs(values.reshape(shape), statistic) for shape in ((1, -1), (-1, 1))],
        expected,
    )


@pytest.mark.parametrize(
    ("statistic", "samples", "expected"),
    [
        ("mean", [[1.0, 1.0, 1.0], [5.0]], 3.0),
        ("median", [[1.0, 1.0, 1.0], [5.0]], 3.0),
        ("min", [[1.0, 1.0, 1.0], [5.0]], 1.0),
        ("median", [[5.0], [1.0, 2.0, 8.0, 9.0]], 5.0),
        ("median", [[5.0], [9.0, 8.0, 2.0, 1.0]], 5.0),
        ("median", [[5.0], [1.0, 6.0], [2.0, 7.0]], 5.0),
        ("median", [[1.0, 2.0], [3.0], [4.0]], 3.0),
        ("median", [[1.0, 2.0], [3.0]], 2.5),
        (
            "quartile",
            [[5.0], [1.0, 2.0, 8.0, 9.0]],
            3.5,
        ),  # weights are 1/8 at each of four runs, F(2) = 1/4: the middle of 2 and 5
    ],
)
def test_units_weigh_the_same(statistic, samples, expected):
    """A unit with one run counts as much as a unit with three.

    The median is the point, or the middle of the interval, that has half of the weight on either
    side, of the sample turned round too.
    """
    times = perfarray.from_samples({"a": samples}, level=("binary", "execution"))
    assert estimate(times, statistic) == expected
    if statistic == "median":
        assert estimate((10 - times["time"]).assign_attrs(units="s"), statistic) == 10 - expected


def test_value_names_the_runs():
    times = perfarray.from_samples(
        {"a": [[1.0, 3.0], [4.0, 8.0]]}, level=("execution", "iteration")
    )
    assert estimate(times, "min") == 2.0
    by_iteration = times.perf.run_estimate(statistic="min", value="iteration")
    assert by_iteration["estimate"].item() == 1.0
    assert (by_iteration.attrs["value"], by_iteration.attrs["unit"]) == ("iteration", "execution")
    assert by_iteration["n"].item() == 4


def test_ragged_cells_rotate_round_their_own_end():
    """What was not measured is passed over, wherever it stands."""
    values = np.array([[3.0, np.nan, 1.0, 7.0, np.nan, 5.0], [3.0, 1.0, 7.0, 5.0, np.nan, np.nan]])
    for statistic in stability_of_estimators(values, (1, 2, 3), tuple(ESTIMATORS)):
        assert_allclose(statistic[0], statistic[1])


@pytest.mark.parametrize(("runs", "size"), [(20, 1), (20, 4), (20, 10), (9, 2)])
def test_adjusted_variance_of_a_mean_is_unbiased(runs, size):
    """The mean over 20,000 samples of normal runs is variance / k (Monte Carlo error < 0.8 %); the
    paper's is (n - k) / (n - 1) of it."""
    values = 1000 + np.random.default_rng(runs).standard_normal((20_000, runs))
    estimate, deviation, adjusted = stability_of_estimators(values, (size,), ("mean",))
    squares = (adjusted * estimate)[:, 0, 0] ** 2
    assert squares.mean() * size == pytest.approx(
        1, rel=4 * squares.std() / squares.mean() / 20_000**0.5
    )
    assert (deviation / adjusted)[0, 0, 0] == pytest.approx(((runs - size) / (runs - 1)) ** 0.5)


def test_groups_near_all_runs_are_not_called_stable():
    """300 normal samples of 20 runs, where 100 would be needed: by the paper's deviation all are
    stable at 19, adjusted nearly none."""
    times = perfarray.from_samples(
        {str(k): 1 + 0.05 * np.random.default_rng(k).standard_normal(20) for k in range(300)},
        dim="benchmark",
    )
    stability = overlapping(times, statistics="mean")
    assert (2 * stability["relative_standard_deviation"].sel(group_size=19) <= 0.01).all()
    assert stability["adjusted_standard_deviation"].sel(group_size=slice(11, None)).isnull().all()
    assert stability["required_group_size"].notnull().mean() < 0.02


def test_best_is_the_undisturbed_end():
    """The fastest run, of times and of rates; the lower end of rates is told to be the slow one."""
    times = sample(1.0, 2.0, 4.0)
    rates = (1 / times["time"]).assign_attrs(units="ops/s", better="higher")
    assert estimate(times, "best") == estimate(rates, "best") == 1.0
    with pytest.warns(
        perfarray.PerfarrayWarning, match="Higher is better here, so 'min' takes the slowest runs"
    ) as caught:
        assert estimate(rates, "min") == 0.25
    assert [note.code for note in caught[0].message.notes] == ["direction"]
    stability = overlapping(rates, group_sizes=(1, 2), statistics=("best",))
    assert_allclose(
        stability["estimate"].sel(group_size=2, statistic="best"), np.mean([1.0, 0.5, 1.0])
    )


def test_groups_need_enough_runs():
    with pytest.warns(
        UserWarning, match=r"1 of 1 cells have fewer runs than the largest group \(5\)"
    ) as caught:
        stability = sample(1.0, 2.0, 3.0).perf.estimator_stability(group_sizes=(1, 3, 5))
    assert len(caught) == 1
    assert stability["relative_standard_deviation"].isnull().sel(group_size=5).all()
    assert stability["relative_standard_deviation"].sel(group_size=3).notnull().all()


def test_size_that_separates_two_programs():
    """The smallest size from which on two standard deviations stay within the difference; none is
    NaN."""
    rng = np.random.default_rng(3)
    times = sample(*(1 + 0.02 * rng.standard_normal(400)))
    stability = times.perf.estimator_stability(difference=0.02).squeeze("benchmark")
    for statistic in PAPERS_NAMES.values():
        within = 2 * stability["adjusted_standard_deviation"].sel(statistic=statistic) <= 0.02
        required = stability["required_group_size"].sel(statistic=statistic).item()
        assert np.isnan(required) != within.values[-1]
        if np.isfinite(required):
            assert within.sel(group_size=slice(required, None)).all()
            assert required == 1 or not within.sel(group_size=required - 2)
    # Averaging k normal runs: 2 * 0.02 / sqrt(k) <= 0.02 from k = 4, so 5 is the first odd size.
    assert stability["required_group_size"].sel(statistic="mean").item() == 5
    assert (
        sample(1.0, 9.0, 2.0, 7.0)
        .perf.estimator_stability(group_sizes=(1,))["required_group_size"]
        .isnull()
        .all()
    )


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"group_sizes": (0, 3)}, "group_sizes=0: give a whole number of at least 1"),
        (
            {"statistics": ("mean", "mode")},
            "statistics='mode' is not known; choose one of 'mean', 'median', 'quartile', 'min'",
        ),
        ({"difference": 0}, "difference=0 and deviations=2.0 must be positive"),
        ({"value": "iteration"}, "value='iteration' is not known; choose one of 'execution'"),
    ],
)
def test_bad_input(keywords, message):
    with pytest.raises(ValueError, match=message):
        sample(1.0, 2.0, 3.0).perf.estimator_stability(**keywords)


def test_unknown_statistic():
    with pytest.raises(
        ValueError,
        match="statistic='mode' is not known; choose one of 'mean', 'median', 'quartile', 'min'",
    ):
        sample(1.0, 2.0).perf.run_estimate(statistic="mode")


def test_chunks_do_not_matter():
    pytest.importorskip("dask")
    times = perfarray.simulate(
        sizes={"execution": 80}, variances={"execution": 1e-4}, dims={"benchmark": 4}, rng=1
    )["time"]
    lazy = times.chunk({"benchmark": 1}).perf.estimator_stability()
    assert lazy.chunks
    xr.testing.assert_allclose(lazy.compute(), times.perf.estimator_stability())


def test_memory_of_groups_is_a_block_s(monkeypatch):
    """Groups of 9 of 20,000 runs are 1.4 MB, several times over; a block of them at a time gives
    the same numbers."""
    runs = np.random.default_rng(1).lognormal(0.0, 0.1, (1, 20_000))
    at_once = stability_of_estimators(runs, (9,), ("median",))
    monkeypatch.setattr("perfarray.variation.numerics.estimators.BLOCK", 1 << 12)
    tracemalloc.start()
    in_blocks = stability_of_estimators(runs, (9,), ("median",))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(in_blocks, at_once)
    assert peak < 1.4e6

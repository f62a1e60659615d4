"""Metrics of single runs on labelled timings and mixtures."""

import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import perfarray

NEW, OLD = [1.0, 2.0, 4.0] * 4, [2.0, 3.0, 5.0] * 4


@pytest.fixture
def times() -> xr.Dataset:
    """Two versions of twelve runs."""
    return perfarray.from_samples({"new": NEW, "old": OLD})


@pytest.fixture
def fitted() -> xr.Dataset:
    """Two versions of two benchmarks, ten runs each."""
    dims = {"benchmark": ["fft", "sort"], "version": ["a", "b"]}
    return perfarray.simulate(
        sizes={"execution": 10}, variances={"execution": 1.0}, mean=10.0, dims=dims, rng=1
    )


def test_worked_by_hand(times):
    """Nine kinds of pairs: four strictly faster ones without, six with ties half."""
    result = times.perf.prob_faster("old", n_resamples=0).sel(version="new")
    assert_allclose([result["estimate"], result["tied"], result["n"]], [6 / 9, 1 / 9, 12])
    assert_allclose(times.perf.prob_faster("old", ties="half", n_resamples=0)["estimate"], 13 / 18)
    assert_allclose(times.perf.prob_faster("old", shift=1.5, n_resamples=0)["estimate"], 8 / 9)
    gap = times.perf.mean_difference("old", n_resamples=0).sel(version="new")
    assert_allclose(gap["estimate"], (1 + 2 + 4 + 0 + 1 + 3 + 2 + 1 + 1) / 9)
    assert_allclose(gap["baseline_difference"], 12 / 11 * (2 * (1 + 3 + 2)) / 9)
    assert (gap["estimate"].attrs["units"], result["estimate"].attrs["units"]) == ("s", "1")


def test_fastest_of_two_is_faster(times):
    """With two systems, being the fastest is being faster than the other."""
    for ties in ("strict", "half"):
        pair = times.perf.prob_fastest(dim="version", ties=ties, rng=1)
        first = times.perf.prob_faster("old", ties=ties, rng=1).sel(version="new")
        assert_allclose(pair["estimate"].sel(version="new"), first["estimate"])
        assert_allclose(pair["tied"], first["tied"])


def test_more_is_faster_where_higher_is_better(times):
    """With better="higher" the larger run wins, and a shift still favours the candidate."""
    times["time"].attrs["better"] = "higher"
    turned = times.assign(time=(-times["time"]).assign_attrs(better="lower", units="1"))
    for shift in (0.0, 1.5):
        higher, lower = (
            source.perf.prob_faster("old", shift=shift, n_resamples=0)["estimate"]
            for source in (times, turned)
        )
        assert_allclose(higher, lower)
    higher, lower = (
        source.perf.prob_fastest(dim="version", n_resamples=0)["estimate"]
        for source in (times, turned)
    )
    assert_allclose(higher, lower)


def test_stopped_runs_of_both_sides_bound_the_probability():
    """Pairs are counted with one side's stopped runs endless and the other's at their limits; a tie
    that depends on them is NaN."""
    times = perfarray.from_samples({"a": [1.0, 5.0, 3.0], "b": [2.0, 4.0, 6.0]})
    times = times.assign_coords(censored=times["time"].isin([5.0, 4.0]))
    with pytest.warns(perfarray.PerfarrayWarning, match="stopped"):
        result = times.perf.prob_faster("b", n_resamples=0).sel(version="a")
    assert_allclose([result["at_least"], result["at_most"]], [5 / 9, 7 / 9])
    assert np.isnan(result["estimate"])
    three = perfarray.from_samples({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [2.0, 3.0]})
    three = three.assign_coords(censored=(three["time"] == 2.0) & (three["version"] != "c"))
    with pytest.warns(perfarray.PerfarrayWarning, match="stopped"):
        assert np.isnan(three.perf.prob_fastest(dim="version", n_resamples=0)["tied"])


def test_units_weigh_the_same_and_are_the_n():
    """A unit with one run counts as much as one with three; executions are runs, builds are
    units."""
    samples = {
        "new": [[1.0, 1.0, 1.0], [5.0, np.nan, np.nan]],
        "old": [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]],
    }
    times = perfarray.from_samples(samples, level=("binary", "execution"))
    result = times.perf.prob_faster("old", rng=1)
    assert (result["estimate"].item(), result["n"].item()) == (0.5, 2)
    assert (result.attrs["unit"], result.attrs["value"]) == ("binary", "execution")


def test_mixtures_are_what_method_mixture_fits(fitted):
    """Given mixtures answer as those fitted on the way."""
    mixtures = fitted.perf.fit_mixture()
    for function, keywords in (
        (perfarray.mean_difference, {"baseline": "a"}),
        (perfarray.prob_faster, {"baseline": "a", "shift": 0.5}),
        (perfarray.prob_fastest, {"dim": "version"}),
    ):
        source = function(mixtures, **keywords, n_resamples=0)
        from_times = function(fitted, **keywords, method="mixture", n_resamples=0)
        assert_allclose(
            source["estimate"].transpose(*from_times["estimate"].dims), from_times["estimate"]
        )
    second = perfarray.prob_faster(
        mixtures.sel(version="b"), mixtures.sel(version="a"), n_resamples=0
    )
    assert_allclose(
        second["estimate"],
        perfarray.prob_faster(mixtures, "a", n_resamples=0)["estimate"].sel(version="b"),
    )


def test_mixtures_from_parameters_are_exact():
    """Known mixtures have an answer, and no limits: there is no sample behind them."""
    first, two = (
        perfarray.GaussianMixture.from_parameters([1.0], [mean], [1.0]) for mean in (0.0, 1.0)
    )
    result = perfarray.prob_faster(first, two)
    assert_allclose(result["estimate"], 0.7602499389065233)
    assert np.isnan(result["lower"])


def test_limits_surround_and_repeat(fitted):
    """The same seed gives the same limits for any order of dims and chunks."""
    result = fitted.perf.prob_fastest(dim="version", n_resamples=100, rng=3)
    assert bool(
        ((result["lower"] < result["estimate"]) & (result["estimate"] < result["upper"])).all()
    )
    turned = fitted.transpose(..., "benchmark").perf.prob_fastest(
        dim="version", n_resamples=100, rng=3
    )
    xr.testing.assert_identical(result, turned.transpose(*result.dims))
    pair = fitted.perf.mean_difference("a", n_resamples=100, rng=3)
    chunks = fitted.chunk({"benchmark": 1}).perf
    lazy = (
        chunks.prob_fastest(dim="version", n_resamples=100, rng=3),
        chunks.mean_difference("a", n_resamples=100, rng=3),
    )
    for first, expected, unchecked in zip(lazy, (result, pair), ["run_units"] * 2, strict=True):
        assert first["lower"].chunks is not None
        computed = first.compute()
        assert computed.attrs.pop("unchecked") == unchecked
        xr.testing.assert_identical(expected, computed)


def test_fitted_limits(fitted):
    """Mixtures have limits from refitted samples, given or not; one value per unit draws the
    same."""
    first = fitted.sel(benchmark=["fft"], version=["a", "b"])
    result = first.perf.prob_faster(
        "a", method="mixture", n_resamples=19, confidence_level=0.9, rng=1
    )
    assert (result["lower"] < result["estimate"]).all()
    assert (result["estimate"] < result["upper"]).all()
    source = perfarray.prob_faster(
        first.perf.fit_mixture(), "a", n_resamples=19, confidence_level=0.9, rng=1
    )
    assert_allclose(source["lower"], result["lower"])


def test_metrics_side_by_side(fitted):
    fitted["energy"] = (2 * fitted["time"]).assign_attrs(units="J", better="lower")
    result = fitted.perf.prob_faster("a", metric=["time", "energy"], n_resamples=0)
    assert_allclose(result["estimate"].sel(metric="time"), result["estimate"].sel(metric="energy"))


def test_few_units_are_said_once():
    """Percentile limits of few units come with a warning; one unit, or none, has none."""
    times = perfarray.from_samples(
        {"old": [1.0, 2.0, 3.0], "new": [1.0, 3.0, 4.0], "one": [2.0], "none": [np.nan]}
    )
    with pytest.warns(UserWarning, match=r"fewer than 10 units") as caught:
        result = times.perf.mean_difference("old", rng=1)
    assert len(caught) == 1
    assert "rest on one execution" in str(caught[0].message)
    assert "have no measured value" in str(caught[0].message)
    assert result["lower"].isnull().values.tolist() == [False, True, True]


def test_paired_units(times):
    """Paired units are matched by label, and need two systems that share some."""
    result, gap = (
        times.perf.prob_faster("old", paired="execution", rng=1),
        times.perf.prob_faster("old", rng=1),
    )
    assert result.attrs["paired"] == "execution"
    assert result["upper"] - result["lower"] < gap["upper"] - gap["lower"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "kernel"}, "method='kernel' is not known"),
        ({"ties": "all"}, "ties='all' is not known"),
        ({"shift": "a lot"}, "shift='a lot' is not a number"),
        ({"n_resamples": 1}, "n_resamples=1: give 0"),
        ({"n_resamples": -1}, "n_resamples=-1"),
        ({"paired": "binary"}, "paired='binary' is not known"),
        ({"paired": "execution", "method": "mixture"}, "is for method='empirical'"),
        ({"value": "iteration"}, "value='iteration' is not known"),
        ({"confidence_level": 2.0}, "confidence_level=2.0 is out of range"),
        ({"baseline": "older"}, "No label 'older'"),
    ],
)
def test_wrong_arguments(times, keywords, message):
    with pytest.raises(ValueError, match=message):
        times.perf.prob_faster(**{"baseline": "old"} | keywords)


def test_wrong_kinds(times):
    """Mixtures and timings are not compared with each other; one system is no race; levels are no
    systems."""
    mixtures = times.perf.fit_mixture()
    with pytest.raises(ValueError, match="the baseline is a mixture"):
        perfarray.prob_faster(times, mixtures)
    with pytest.raises(ValueError, match="the baseline is timings"):
        perfarray.prob_faster(mixtures, times)
    with pytest.raises(ValueError, match="value='execution' was given with mixtures"):
        perfarray.prob_faster(mixtures, "old", value="execution")
    with pytest.raises(ValueError, match="two or more systems"):
        times.sel(version=["new"]).perf.prob_fastest(dim="version")
    with pytest.raises(ValueError, match="not one of the levels"):
        times.perf.prob_fastest(dim="execution")


def test_selecting_or_reordering_changes_no_seeded_number():
    """A benchmark's limits are the same beside other benchmarks, in another order, alone; so are
    those of a system among others."""
    rng = np.random.default_rng(2)
    values = rng.normal(10, 1, (3, 3, 4))
    coords = {"benchmark": ["fft", "sort", "lu"], "version": ["a", "b", "c"]}
    times = xr.DataArray(
        values, dims=("benchmark", "version", "execution"), coords=coords, name="time"
    )
    calls = {
        "prob_faster": {"baseline": "a"},
        "mean_difference": {"baseline": "a"},
        "prob_fastest": {"dim": "version"},
    }
    for name, keywords in calls.items():
        for method, n_resamples in (("empirical", 60), ("mixture", 3)):
            options = keywords | {
                "method": method,
                "n_resamples": n_resamples,
                "confidence_level": 0.5,
                "rng": 1,
            }
            with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
                complete = getattr(perfarray, name)(times, **options)
                for subset in (["lu", "fft"], "sort"):
                    result = getattr(perfarray, name)(times.sel(benchmark=subset), **options)
                    for limit in ("lower", "upper"):
                        assert_array_equal(
                            result[limit],
                            complete[limit].sel(benchmark=subset).transpose(*result[limit].dims),
                        )
                turned = getattr(perfarray, name)(times.sel(version=["c", "a", "b"]), **options)
                assert_array_equal(
                    turned["upper"].sel(version="b"), complete["upper"].sel(version="b")
                )


def test_the_key_of_a_result_gives_it_again(times):
    options = {"method": "mixture", "n_resamples": 5, "confidence_level": 0.5}
    first = times.perf.prob_faster("old", **options)
    xr.testing.assert_identical(
        first, times.perf.prob_faster("old", **options, rng=first.attrs["rng_key"])
    )


@pytest.mark.parametrize("name", ["prob_faster", "mean_difference"])
def test_one_session_has_its_executions(fitted, name):
    """The executions of one session are the units, and a note says what is then not in the
    answer."""
    answer = getattr(fitted["time"].expand_dims(session=1).perf, name)("a", rng=1)
    assert "The variation between sessions is not in the answer" in answer.perf.notes()[0].message
    xr.testing.assert_allclose(answer, getattr(fitted["time"].perf, name)("a", rng=1))

"""Totals of several runs: every combination counted, lattices beside lists, sums of mixtures,
limits, runs that never ended."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy.special import ndtr

import perfarray
from perfarray.mixtures.numerics import totals

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

NEW, OLD, THIRD = [1.1, 1.3, 1.2, 1.3], [1.2, 1.4, 1.1], [1.0, 1.6]


def sums(values, runs):
    """Return every total, in tenths."""
    return np.rint(10 * np.array([sum(column) for column in product(values, repeat=runs)]))


def prob_of_totals(*samples, **choices):
    """Return the probability that the first is faster than the second."""
    times = perfarray.from_samples(dict(zip("ab", samples, strict=True)))
    return times.perf.prob_faster("b", n_resamples=0, **choices).sel(version="a")


@pytest.mark.parametrize(("runs", "shift"), [(2, 0.0), (3, 0.2), (3, -0.15)])
def test_every_combination_is_counted(runs, shift):
    """The totals of all combinations of runs, with their ties, and a shift of the total."""
    ahead = sums(OLD, runs)[:, None] + 10 * shift - sums(NEW, runs)
    result = prob_of_totals(NEW, OLD, runs=runs, shift=shift)
    assert_allclose(
        [result["estimate"], result["tied"]],
        [(ahead > 1e-6).mean(), (abs(ahead) < 1e-6).mean()],
        atol=1e-12,
    )
    half = prob_of_totals(NEW, OLD, runs=runs, shift=shift, ties="half")
    assert_allclose(half["estimate"], result["estimate"] + result["tied"] / 2)
    rate = perfarray.from_samples({"a": NEW, "b": OLD})["time"].assign_attrs(
        units="1/s", better="higher"
    )
    higher = rate.perf.prob_faster("b", runs=runs, shift=shift, n_resamples=0)["estimate"].sel(
        version="a"
    )
    assert_allclose(higher, (10 * shift + sums(NEW, runs)[:, None] - sums(OLD, runs) > 1e-6).mean())


def test_the_fastest_total_of_three():
    """Ties are nobody's, or shared alike."""
    everything = [sums(values, 2) for values in (NEW, OLD, THIRD)]
    combined = np.stack([column.ravel() for column in np.meshgrid(*everything)])
    best = combined == combined.min(axis=0)
    times = perfarray.from_samples({"a": NEW, "b": OLD, "c": THIRD})
    alone, shared = (
        times.perf.prob_fastest(dim="version", runs=2, ties=ties, n_resamples=0)
        for ties in ("strict", "half")
    )
    assert_allclose(alone["estimate"], (best & (best.sum(axis=0) == 1)).mean(axis=1))
    assert_allclose(shared["estimate"], (best / best.sum(axis=0)).mean(axis=1))
    assert_allclose(alone["tied"], (best.sum(axis=0) > 1).mean())


def test_a_lattice_is_close_to_the_list(monkeypatch):
    """Skewed runs and normal ones, both ways, to a thousandth; a thousand runs are decided by the
    mean."""
    rng = np.random.default_rng(1)
    new, old = rng.normal(1.0, 0.1, 12), rng.lognormal(0.0, 0.2, 12)
    listed = prob_of_totals(new, old, runs=3, shift=0.02)["estimate"]
    monkeypatch.setattr(totals, "LISTED", 0)
    assert_allclose(prob_of_totals(new, old, runs=3, shift=0.02)["estimate"], listed, atol=1e-3)
    pair = perfarray.from_samples({"a": new, "b": old}).perf.prob_fastest(
        dim="version", runs=3, n_resamples=0
    )
    assert pair.perf.table().attrs["about"].split("; ")[1] == "totals of 3 runs each"
    assert_allclose(pair["estimate"].sum(), 1)
    assert_allclose(
        pair["estimate"].sel(version="a"), prob_of_totals(new, old, runs=3)["estimate"], atol=1e-3
    )
    assert prob_of_totals(new, old + 0.3, runs=1000)["estimate"] == pytest.approx(1)


def test_totals_of_mixtures(monkeypatch):
    """Those of normals are normal; those of two components have a component for every number of
    runs in the first; on a lattice as well."""
    first = perfarray.GaussianMixture.from_parameters([1.0], [1.0], [0.1])
    two = perfarray.GaussianMixture.from_parameters([0.3, 0.7], [1.0, 1.5], [0.1, 0.2])
    wide = perfarray.GaussianMixture.from_parameters([1.0], [1.01], [0.2])
    assert_allclose(
        perfarray.prob_faster(first, wide, runs=7, shift=0.03)["estimate"],
        ndtr(0.1 / np.sqrt(7 * 0.05)),
    )
    # Two runs: 0.09, 0.42 and 0.49 of means 2, 2.5 and 3.
    shares, means, variances = np.array([[0.09, 0.42, 0.49], [2, 2.5, 3], [0.02, 0.05, 0.08]])
    exact = shares @ ndtr((means - 2.6) / np.sqrt(variances + 0.02))
    assert_allclose(perfarray.prob_faster(first, two, runs=2, shift=-0.6)["estimate"], exact)
    pair = perfarray.GaussianMixture(
        dataset=xr.concat([first.to_dataset(), two.to_dataset()], "version", join="outer").fillna(
            {"weight": 0.0}
        )
    )
    fastest = perfarray.prob_fastest(pair, dim="version", runs=5)
    assert_allclose(
        fastest["estimate"][0], perfarray.prob_faster(first, two, runs=5)["estimate"], atol=1e-9
    )
    monkeypatch.setattr(totals, "COMPONENTS", 0)
    assert_allclose(
        perfarray.prob_faster(first, two, runs=2, shift=-0.6)["estimate"], exact, atol=1e-3
    )


def test_limits_know_how_many_totals_units_are():
    """They are wider the more runs a total takes; a lazy array has the same; one unit has none."""
    rng = np.random.default_rng(2)
    times = xr.DataArray(
        rng.normal(1, 0.1, (2, 2, 12)),
        dims=("benchmark", "version", "execution"),
        coords={"version": ["a", "b"]},
    )
    result = [times.perf.prob_faster("b", runs=runs) for runs in (1, 12)]
    assert (result[1]["upper"] - result[1]["lower"] > result[0]["upper"] - result[0]["lower"]).all()
    lazy = times.chunk(benchmark=1).perf.prob_faster("b", runs=12).compute()
    assert_allclose(lazy["upper"], result[1]["upper"])
    assert result[1].attrs["runs"] == 12
    assert times[..., :1].perf.prob_faster("b", runs=3, rng=1)["lower"].isnull().all()


def test_a_total_with_a_stopped_run_never_ends():
    """It is between the total with that run at its limit and one that is lost, listed or not."""
    times = perfarray.from_samples({"a": [1.0, 1.2, 3.0], "b": [1.1, 1.3, 1.5]})
    censored = times.assign_coords(censored=(times["time"] == 3.0))
    for runs in (2, 7):
        result = censored.perf.prob_faster("b", runs=runs, n_resamples=0).sel(version="a")
        assert_allclose(
            result["at_most"],
            times.perf.prob_faster("b", runs=runs, n_resamples=0)["estimate"].sel(version="a"),
            atol=1e-12,
        )
        lost = (
            times.where(times["time"] != 3.0, 1e6)
            .perf.prob_faster("b", runs=runs, n_resamples=0)["estimate"]
            .sel(version="a")
        )
        assert_allclose(result["at_least"], lost)


@pytest.mark.parametrize("endless", [1e80, -1e80])
def test_a_run_without_end_decides_its_totals_on_a_lattice(monkeypatch, endless):
    """A total with it is beyond all others, above or below, as where totals are listed."""
    runs = np.random.default_rng(3).normal(1.0, 0.1, (1, 2, 12))
    runs[0, 0, 0] = endless
    weights = np.full(runs.shape, 1 / 12)
    listed, *_ = totals.race_of_totals(runs, weights, 2, 0.0, ties=True)
    monkeypatch.setattr(totals, "LISTED", 0)
    on_lattice, *_ = totals.race_of_totals(runs, weights, 2, 0.0, ties=True)
    assert_allclose(on_lattice, listed, atol=1e-3)


def test_bad_input():
    for runs, message in ((0, "runs"), (1001, "totals are of up to 1000 runs")):
        with pytest.raises(ValueError, match=message):
            prob_of_totals(NEW, OLD, runs=runs)
    logs = perfarray.from_samples({"a": NEW, "b": OLD}).perf.fit_mixture(distribution="lognormal")
    with pytest.raises(
        ValueError,
        match="runs=2: totals are of normal mixtures, and these are lognormal; give the timings",
    ):
        perfarray.prob_faster(logs, "b", runs=2)


def test_totals_of_more_runs_than_units_are_noted():
    """Limits of a total that was hardly seen cover too little, and a note says so; without limits,
    or of few runs, there is none."""
    times = perfarray.from_samples({"a": NEW, "b": OLD})
    for runs, number, codes in ((4, None, ["few_units"]), (3, None, []), (4, 0, [])):
        result = times.perf.prob_faster("b", runs=runs, n_resamples=number, rng=1)
        assert [note.code for note in result.perf.notes()] == codes


def test_limits_of_totals_that_are_apart_do_not_depend_on_rounding():
    """Of systems that have no run in common, all that matters is how many runs there are, not that
    the share is 1 - 6e-15."""
    rng = np.random.default_rng(0)
    pairs = [
        perfarray.from_samples({"a": 2 + 0.01 * rng.random(20), "b": 1 + 0.01 * rng.random(20)})
        for _ in range(4)
    ]
    lower = [pair.perf.prob_faster("a", runs=5)["lower"].item() for pair in pairs]
    assert_allclose(lower, lower[0], rtol=1e-9)

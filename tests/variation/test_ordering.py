"""How often groups of few runs put two programs in the right order."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtr

import perfarray
from perfarray.timings.notes import collecting_notes

SMALL = perfarray.from_samples({"old": [3.0, 3.1, 5.0] * 4, "new": [2.0, 2.1, 4.0] * 4})


def simulated(effect, runs, experiments=1, seed=1):
    """Return runs of two programs that are so many deviations apart, in many experiments."""
    values = 10 + np.random.default_rng(seed).standard_normal((2, experiments, runs))
    values[1] += effect
    return xr.DataArray(
        values, dims=("version", "benchmark", "execution"), coords={"version": ["old", "new"]}
    )


def by_hand(new, old, size, estimate):
    """Count the pairs of groups in the order of all runs, one after the other."""
    groups = [
        [estimate(np.roll(side, -start)[:size]) for start in range(len(side))]
        for side in (new, old)
    ]
    larger = estimate(new) > estimate(old)
    return np.mean([0.5 if a == b else (a > b) == larger for a in groups[0] for b in groups[1]])


@pytest.mark.parametrize(
    ("statistic", "estimate"), [("mean", np.mean), ("median", np.median), ("min", np.min)]
)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_shares_are_those_counted_by_hand(statistic, estimate, size):
    """All pairs of a group of each program count, those that are equal half; the programs may have
    different numbers of runs."""
    rng = np.random.default_rng(2)
    new, old = rng.integers(1, 9, 11).astype(float), rng.integers(2, 12, 8).astype(float)
    with collecting_notes():
        stability = perfarray.from_samples({"old": old, "new": new}).perf.ordering_stability(
            "old", group_sizes=(size,), statistics=statistic
        )
    assert stability["right"].item() == pytest.approx(by_hand(new, old, size, estimate), abs=1e-12)
    assert stability["n"].item() == 8


def test_shares_are_those_of_new_experiments():
    """Of programs that surely differ, the mean share over experiments is the chance that means of k
    are right."""
    with collecting_notes():
        stability = simulated(1.5, 40, experiments=150).perf.ordering_stability(
            "old", group_sizes=(1, 3, 5), statistics="mean"
        )
    expected = ndtr(1.5 * np.sqrt(np.array([1, 3, 5]) / 2))
    np.testing.assert_allclose(
        stability["right"].mean("benchmark").values.ravel(), expected, atol=0.02
    )


def test_required_is_the_size_from_which_on_it_holds():
    """The minimum of three is right where the mean of one is not; where no size is large enough it
    is NaN."""
    stability = SMALL.perf.ordering_stability(
        "old", group_sizes=(1, 3), statistics=("mean", "min")
    ).squeeze("version")
    assert stability["required"].values.tolist() == [3.0, 3.0]
    assert np.isnan(SMALL.perf.ordering_stability("old", group_sizes=(1,))["required"]).all()
    assert (
        SMALL.perf.ordering_stability("old", group_sizes=(1,), share=0.7)["required"] == 1
    ).all()


def test_groups_of_more_than_half_have_no_share():
    """Groups of nearly all runs are right whatever the programs are, so they are left out, and a
    note tells of those before."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="groups of more than a quarter of their runs"
    ):
        stability = simulated(3.0, 12).perf.ordering_stability("old", group_sizes=(1, 6, 7))
    assert stability["right"].notnull().all(
        ["statistic", "version", "benchmark"]
    ).values.tolist() == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("times", "code"),
    [(simulated(0.0, 40, seed=3), "no_order"), (SMALL * 0 + 1.0, "no_order"), (SMALL, None)],
)
def test_programs_without_an_order_are_told(times, code):
    """Where the means do not differ, or are equal, a note says that there is nothing to be right
    about."""
    with collecting_notes() as notes:
        stability = times.perf.ordering_stability("old", group_sizes=(1, 3), statistics="mean")
    assert [note.code for note in notes] == ([code] if code else [])
    assert bool(stability["right"].isnull().all()) == bool((stability["ratio"] == 1).all())


def test_few_runs_are_told():
    with pytest.warns(perfarray.PerfarrayWarning, match="fewer than two groups of 1 runs"):
        stability = SMALL.isel(execution=[0]).perf.ordering_stability("old", group_sizes=(1,))
    assert stability["right"].isnull().all()


def test_rates_and_lazy_arrays():
    """The direction does not matter to `best`, nor do chunks."""
    rates = (1 / SMALL).assign(
        time=lambda data: data["time"].assign_attrs(better="higher", units="1/s")
    )
    best = {"group_sizes": (1, 3), "statistics": "best"}
    expected = SMALL.perf.ordering_stability("old", **best)["right"].values
    np.testing.assert_array_equal(
        rates.perf.ordering_stability("old", **best)["right"].values, expected
    )
    np.testing.assert_array_equal(
        SMALL.chunk({"version": 1})
        .perf.ordering_stability("old", **best)
        .compute()["right"]
        .values,
        expected,
    )


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"statistics": "mode"}, "statistics='mode'"),
        ({"group_sizes": (0,)}, "group_sizes"),
        ({"share": 95}, "share=95"),
    ],
)
def test_bad_choices_are_named(choices, message):
    with pytest.raises(ValueError, match=message):
        SMALL.perf.ordering_stability("old", **choices)

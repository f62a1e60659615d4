"""Units that carry a level: against plain deletion and enumeration of all pairs, false alarms,
spikes, rounded values, labels."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation.numerics.carriers import carriers


def normal(count, *sizes, seed=1):
    """Return cells with normal effects of variance 1 at each of three levels."""
    rng = np.random.default_rng(seed)
    return sum(
        rng.standard_normal((count, *sizes[:level], *(1,) * (3 - level))) for level in (1, 2, 3)
    )


def judged(values):
    return carriers(values, nested_anova(values, values.ndim - 1))


def by_deletion(means):
    """Return what one unit and two units take most of a sum of squares around the mean, and their
    places."""
    total, best = np.var(means) * len(means), []
    for number in (1, 2):
        variances = {
            out: np.var(np.delete(means, out)) * (len(means) - number)
            for out in combinations(range(len(means)), number)
        }
        out = min(variances, key=variances.get)
        best.append((set(out), 1 - variances[out] / total))
    return best


@pytest.mark.parametrize("number", [1, 2])
def test_outermost_units_are_those_whose_deletion_takes_most(number):
    """Every pair is tried; p-values are those of Grubbs' statistics with Bonferroni's bound, twice
    for two looks."""
    n = 9
    for seed in range(20):
        values = np.random.default_rng(seed).standard_normal((1, n))
        values[0, :number] += 15
        values[0, 1] *= (-1) ** seed
        carriers, (units, share) = judged(values), by_deletion(values[0])[number - 1]
        units_found = {carriers.first.item(), carriers.second.item()} - {-1}
        if len(units_found) != number:
            continue
        law = stats.beta(number / 2, (n - 1 - number) / 2)
        assert units_found == units
        assert carriers.share.item() == pytest.approx(share, rel=1e-9)
        bound = 2 * (n if number == 1 else n * (n - 1) / 2) * law.sf(share)
        assert carriers.pvalue.item() == pytest.approx(
            bound, rel=0.05
        )  # but for what rounding to the closest distance adds
    assert len(units_found) == number


def test_units_inside_which_a_level_varies():
    """Cochran's statistic: the largest sum of squares within units over all of them."""
    values = normal(1, 6, 4, 5)
    values[0, 2, 1, 3] += 30
    within = values[0].var(axis=-1).sum(axis=-1) * 5
    carriers = judged(values)
    assert (carriers.first[0, 2], carriers.second[0, 2]) == (2, -1)
    assert carriers.share[0, 2] == pytest.approx(within[2] / within.sum())
    assert carriers.pvalue[0, 2] == pytest.approx(
        2 * 6 * stats.beta(8, 40).sf(carriers.share[0, 2]), rel=0.05, abs=1e-14
    )


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_normal_effects_are_seldom_named(missing):
    """At most in one of a thousand cells of three levels, balanced or ragged: 0.01 to 0.1 % in
    20,000 cells of each of nine designs."""
    values = normal(4000, 6, 5, 4)
    values[np.random.default_rng(2).random(values.shape) < missing] = np.nan
    carriers = judged(values)
    alarms = (carriers.pvalue * 3 <= 1e-3).any(axis=-1).sum()
    assert alarms <= stats.binom.ppf(0.999, 4000, 1e-3)
    assert (np.isnan(carriers.pvalue) | (carriers.pvalue <= 1)).all()


@pytest.mark.parametrize(
    ("units", "size", "level", "power"),
    [(10, 20, 0, 0.95), (30, 10, 0, 0.95), (5, 20, 1, 0.95), (10, 20, 2, 0.95)],
)
def test_spikes_are_named(units, size, level, power):
    """A unit, an execution or an iteration so many standard deviations away."""
    values = normal(200, units, 5, 5)
    values[(slice(None), 3, *(0,) * level)] += size
    carriers = judged(values)
    is_named = (carriers.first[:, level] == 3) & (carriers.pvalue[:, level] * 3 <= 1e-3)
    assert is_named.mean() >= power


def test_a_step_of_a_clock_is_no_spike():
    """One value of ten that differs from the others by the resolution says nothing; one that
    differs by many steps does."""
    values = np.full((2, 10), 10.0)
    values[:, 4] = 11, 500
    values[1, 0] = 11
    carriers = judged(values)
    assert (carriers.pvalue[:, 0] < 1e-3).tolist() == [False, True]
    assert carriers.first[1, 0] == 4


def test_few_units_and_constant_ones_are_not_judged():
    """Of one or two units nothing is seen; of equal ones nothing varies."""
    assert np.isnan(judged(normal(3, 2, 4, 5)).pvalue).all()
    assert np.isnan(judged(np.ones((2, 5))).pvalue).all()
    carriers = judged(normal(3, 1, 4, 5))
    assert np.isnan(carriers.pvalue).all()
    assert (carriers.first == -1).all()


@pytest.mark.parametrize("method", ["anova", "reml"])
@pytest.mark.parametrize("chunks", [None, {"benchmark": 1}])
def test_a_warning_names_the_units(method, chunks):
    """With the benchmark, the label and the level; none where nothing stands out."""
    values = normal(2, 10, 4, 5) + 100
    values[1, 7, 2, 3] += 50
    values[1, 2, 1, 1] -= 60
    coords = {"benchmark": ["fft", "sort"], "binary": [f"b{number}" for number in range(10)]}
    times = xr.DataArray(
        values, dims=("benchmark", "binary", "execution", "iteration"), coords=coords, name="time"
    )
    message = (
        r"In 1 of 2 cells one or two binaries cause most of the spread "
        r"\(sort: binaries b2 and b7 with 9\d % of the squares of iteration\)"
    )
    if chunks is None:
        with pytest.warns(perfarray.PerfarrayWarning, match=message):
            components = times.perf.variance_components(method=method)
    else:
        components = times.chunk(chunks).perf.variance_components(method=method).compute()
    (note,) = [note for note in components.perf.notes() if note.code == "carried"]
    assert note.values["units"] == ["b2 and b7"]
    assert components["carried_by"].sel(benchmark="sort", level="iteration").item() == "b2 and b7"
    times.sel(benchmark=["fft"]).perf.variance_components(method=method)

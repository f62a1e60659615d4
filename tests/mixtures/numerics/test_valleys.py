"""How deep valleys are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from perfarray.mixtures.numerics.valleys import (
    _intraclass_correlation,
    deepest_valley,
    supported_modes,
)
from strategies import experiments


def by_definition(sample):
    """Look at every valley, with every region on each of its sides, as the text says."""
    n, result = len(sample), []

    def side(edge, width, inside, beyond):
        depths = []
        for distant in range(2, len(beyond) + 1):
            together, expected = inside + distant, width / (width + abs(beyond[distant - 1] - edge))
            share = inside / together
            terms = [(share, expected), (1 - share, 1 - expected)]
            distance = (
                sum(p * np.log(p / q) for p, q in terms if p > 0) if expected > share else 0.0
            )
            depths.append(
                np.sqrt(2 * together * distance) - np.sqrt(2 * np.log(np.e * n / together))
            )
        return max(depths, default=-np.inf)

    for low in range(n - 1):
        for high in range(low + 1, n):
            width, inside = sample[high] - sample[low], high - low - 1
            right = side(sample[high], width, inside, sample[high + 1 :])
            remaining = side(sample[low], width, inside, sample[:low][::-1])
            result.append((min(right, remaining), 0.5 * (sample[low] + sample[high])))
    return max(result)


@pytest.mark.parametrize("n", [6, 7])
def test_every_valley_is_looked_at(n):
    """In small samples all lengths are: depth and place are those of the definition."""
    samples = np.sort(np.random.default_rng(n).standard_normal((50, n)), axis=-1)
    depth, middle = deepest_valley(samples, n)
    assert_allclose(
        np.stack([depth, middle], axis=-1),
        [by_definition(sample) for sample in samples],
        rtol=1e-12,
    )


def test_depth_has_no_unit_and_no_side():
    """It is the same for values turned, moved and scaled; fewer than six have no valley."""
    sample = np.sort(np.random.default_rng(1).standard_normal((1, 40)), axis=-1)
    depth, middle = deepest_valley(sample, 40)
    assert_allclose(deepest_valley(7 - 3 * sample[:, ::-1], 40), [depth, 7 - 3 * middle])
    assert deepest_valley(sample[:, :5], 5)[0] == -np.inf


@pytest.mark.parametrize(("n", "samples"), [(8, 800), (30, 240)])
def test_one_mode_is_rejected_at_most_as_often_as_asked(n, samples):
    """Of samples of one flat mode a share of a has p up to a, within three standard errors; of a
    normal or a skewed one no more."""
    rng, count = np.random.default_rng(n), experiments(samples)
    for flat, runs in (
        (True, rng.random((count, n, 1))),
        (False, rng.standard_normal((count, n, 1))),
        (False, rng.lognormal(0, 0.5, (count, n, 1))),
    ):
        n_supported, pvalue = supported_modes(
            runs, np.full(count, 2.0), np.arange(count), n_samples=39, alpha=0.05, key=(1, 2)
        )
        for level in (0.05, 0.2):
            error = (pvalue <= level).mean() - level
            assert error < 3 * np.sqrt(level * (1 - level) / count)
            assert not flat or error > -3 * np.sqrt(level * (1 - level) / count)
        assert ((pvalue <= 0.05) == (n_supported == 2)).all()


def test_many_runs_are_looked_at_by_some_of_their_order_statistics(monkeypatch):
    """Two modes of 20,000 runs are two, drawn in blocks, and one is one."""
    monkeypatch.setattr("perfarray.mixtures.numerics.valleys.VALUES", 1 << 16)
    rng = np.random.default_rng(1)
    runs = np.stack(
        [
            rng.standard_normal((20_000, 1)),
            rng.standard_normal((20_000, 1)) + 5 * (np.arange(20_000) % 2)[:, None],
        ]
    )
    n_supported, _ = supported_modes(
        runs, np.full(2, 2.0), np.arange(2), n_samples=19, alpha=0.05, key=(1, 2)
    )
    assert n_supported.tolist() == [1, 2]


def test_units_that_resemble_each_other_are_drawn_so():
    """The intraclass correlation of units of 1, 2 and 9 runs is that of the analysis of variance,
    whose mean size is 12 / 2 - (1 + 4 + 81) / 12 / 2, and not the mean of 4."""
    rng = np.random.default_rng(3)
    runs = rng.normal(0, 1, (3, 1)) + rng.normal(0, 0.8, (3, 9))
    runs[0, 1:] = runs[1, 2:] = np.nan
    inside = np.array([1.0, 2, 9])
    means = np.nanmean(runs, axis=1)
    between = (inside * (means - np.nanmean(runs)) ** 2).sum() / 2
    within = np.nansum((runs - means[:, None]) ** 2) / 9
    component = (between - within) / ((12 - 86 / 12) / 2)
    assert_allclose(_intraclass_correlation(runs), component / (component + within))

"""A change of spread under an unchanged mean is noted."""

import warnings

import numpy as np
import pytest
from scipy import stats

import perfarray
from perfarray.numerics.spread import spread_change


def verdicts_of_samples(samples, **keywords):
    with warnings.catch_warnings(action="ignore"):
        return perfarray.from_samples(samples).perf.compare("old", **keywords)


def runs(spread, size, seed):
    """Return runs whose mean is 1 and whose logarithms have exactly this spread."""
    values = np.random.default_rng(seed).standard_normal(size)
    return np.exp(spread * (values - values.mean()) / values.std(ddof=1)).tolist()


def test_a_change_of_spread_is_noted():
    """The same mean with five times the spread is equivalent, and a note names the cell and both
    spreads."""
    result = verdicts_of_samples(
        {"old": runs(0.01, 20, 1), "new": runs(0.05, 20, 2), "like": runs(0.012, 20, 3)},
        threshold=0.03,
    )
    assert (
        result["verdict"].sel(version="like")
        == result["verdict"].sel(version="new")
        == "equivalent"
    )
    (note,) = (note for note in result.perf.notes() if note.code == "spread_changed")
    assert note.values["cells"] == ["new"]
    assert note.values["candidate_spread"] == pytest.approx([0.05], rel=0.01)
    assert note.values["baseline_spread"] == pytest.approx([0.01], rel=0.01)
    assert "new: 1 -> 5 %" in note.message


def test_times_that_are_all_longer_have_the_same_spread():
    """Spreads are relative: a program that takes three times as long varies by three times as
    much."""
    old = runs(0.02, 30, 4)
    assert "spread_changed" not in [
        note.code
        for note in verdicts_of_samples(
            {"old": old, "new": [3 * time for time in old]}
        ).perf.notes()
    ]


def test_few_units_and_zeros_are_not_tested():
    """Both tests need ten units a side above 0 that vary."""
    rng = np.random.default_rng(1)
    few_units = spread_change(rng.random((2, 9)) + 0.1, rng.random((2, 40)) + 0.1)
    zeros, equal = (
        spread_change(np.zeros(12), rng.random(12) + 0.1),
        spread_change(np.ones(12), rng.random(12) + 0.1),
    )
    assert all(np.isnan(field).all() for answer in (few_units, zeros, equal) for field in answer)


def test_the_tests_agree_with_scipy_and_with_bonett():
    """The largest p-value: Brown and Forsythe's as in SciPy, Bonett's from its formula with
    Student's t; gaps change nothing."""
    rng = np.random.default_rng(3)
    new, old = np.exp(0.02 * rng.standard_normal(15)), np.exp(0.05 * rng.standard_normal(20))
    logs = [np.log(side) for side in (new, old)]
    brown_forsythe = stats.levene(*logs, center="median").pvalue
    squares = sum(((side - side.mean()) ** 2).sum() for side in logs)
    fourth = sum(
        ((side - stats.trim_mean(side, 1 / (2 * (len(side) - 4) ** 0.5))) ** 4).sum()
        for side in logs
    )
    error = np.sqrt(sum((35 * fourth / squares**2 - (n - 3) / n) / (n - 1) for n in (15, 20)))
    bonett = 2 * stats.t.sf(abs(np.log(logs[0].var(ddof=1) / logs[1].var(ddof=1))) / error, 14)
    gaps = np.concatenate([new, np.full(5, np.nan)])
    assert spread_change(gaps, old)[0] == pytest.approx(max(brown_forsythe, bonett), rel=1e-9)


@pytest.mark.parametrize("law", ["normal", "lognormal"])
@pytest.mark.parametrize(("sizes", "benchmarks"), [((10, 10), 1), ((20, 20), 30), ((10, 40), 30)])
def test_equal_shapes_are_seldom_noted(law, sizes, benchmarks):
    """Of calls at most 1 % are noted though nothing changed, of normal and of lognormal runs."""
    rng = np.random.default_rng(5)
    experiments = 2000 if benchmarks == 1 else 300
    samples = [rng.standard_normal((experiments, benchmarks, size)) for size in sizes]
    new, old = (1 + 0.02 * sample if law == "normal" else np.exp(sample) for sample in samples)
    noted = spread_change(new, old)[0].min(axis=-1) * benchmarks <= 0.01
    assert noted.mean() <= 0.01

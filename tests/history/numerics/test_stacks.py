"""Series by series and all at once: a stack of series gives what each gives alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfarray.history.numerics.commits import STACK, blocks, commits_of
from perfarray.history.numerics.results import Search, chances, describe
from perfarray.history.numerics.search import rank_ranges
from perfarray.history.numerics.steps import fit_steps
from perfarray.history.numerics.trends import log_slopes
from strategies import examples


def histories(rng, series, size, units):
    """Return units of series of which some have gaps, ties, steps, dependent noise, another spread,
    or values that are not positive."""
    values = 0.01 * rng.normal(size=(series, size, units)) + 0.01 * rng.normal(
        size=(series, size, 1)
    )
    kind = rng.integers(0, 6, series)
    values[kind == 1, size // 2 :] += 0.05
    values[kind == 2, size // 3 : 2 * size // 3] *= 6.0
    values[kind == 3] = np.cumsum(values[kind == 3], axis=1)
    values[kind == 4] = np.round(values[kind == 4], 2)
    times = np.exp(values)
    times[kind == 5] -= 1.0
    times[rng.random(times.shape) < rng.choice([0.0, 0.1, 0.6], (series, 1, 1))] = np.nan
    return times


@pytest.mark.parametrize("rate", [0.0, 0.005])
@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1, 3, 8, 20, 45]),
    units=st.sampled_from([1, 3, 9]),
)
def test_a_stack_gives_what_each_series_gives(rate, seed, size, units):
    """Bit by bit, whatever is missing or tied: p-values, changes and slopes do not depend on the
    other series of the call."""
    rng = np.random.default_rng(seed)
    times, marks = histories(rng, 6, size, units), rng.random((2, 6, size)) < 0.05
    hosts, levels = rng.integers(0, 2, (6, size)), rng.choice([0.0, 0.05, 0.6], 6)
    search = Search(1, 2, 0.01, 0.95, "lower", np.arange(size), rate)
    slopes = {
        "levels": 1,
        "positions": np.arange(size) ** 1.5,
        "confidence_level": 0.9,
        "band": (0.999, 1.001),
        "better": "lower",
    }
    together = (
        *chances(times, search=search),
        *describe(times, levels, hosts, *marks, search=search),
        *log_slopes(times, **slopes),
    )
    for row in range(6):
        of_row = times[row], levels[row], hosts[row], *marks[:, row]
        alone = (
            *chances(times[row], search=search),
            *describe(*of_row, search=search),
            *log_slopes(times[row], **slopes),
        )
        for single_series, among in zip(alone, together, strict=True):
            np.testing.assert_array_equal(single_series, among[row])


def test_a_stack_holds_whole_series():
    """A series with more values than a stack has is one; others share a stack up to its size."""
    assert [len(block) for block in blocks(np.arange(3), STACK + 1)] == [1, 1, 1]
    assert [len(block) for block in blocks(np.arange(3), STACK // 2)] == [2, 1]
    times = np.exp(0.01 * np.random.default_rng(0).normal(size=(1, STACK // 16, 1)))
    slope, *_ = log_slopes(
        times,
        levels=1,
        positions=np.arange(STACK // 16.0),
        confidence_level=0.9,
        band=(1, 1),
        better="lower",
    )
    assert slope == pytest.approx(1, abs=1e-5)


@given(seed=st.integers(0, 2**32 - 1), distinct=st.integers(1, 40))
def test_ranks_of_ties(seed, distinct):
    """They are those of `searchsorted`, row by row."""
    values = np.random.default_rng(seed).integers(0, distinct, (5, 30)).astype(float)
    for row, first, last in zip(values, *rank_ranges(values), strict=True):
        np.testing.assert_array_equal(first, np.searchsorted(np.sort(row), row, "left"))
        np.testing.assert_array_equal(last, np.searchsorted(np.sort(row), row, "right"))


def test_two_changes_at_one_commit_are_one():
    """A step at 10 that was taken for two, at 8 and 12, both likeliest at 10, is one step."""
    commits = commits_of(
        np.exp(np.where(np.arange(30) < 10, 0.0, 1.0) + 0.01 * np.sin(np.arange(30)))[None, :, None]
    )
    fit, steps, _ = fit_steps(
        commits, np.where(np.isin(np.arange(30), (8, 12)), 0.01, np.nan)[None], 2
    )
    assert (steps.position.tolist(), steps.first.tolist(), steps.last.tolist()) == (
        [10],
        [10],
        [10],
    )
    np.testing.assert_allclose(fit.levels, [0.0, 1.0], atol=0.01)

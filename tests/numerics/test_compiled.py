"""Compiled random words and table look-ups: those of the NumPy engine, to the last bit."""

import numpy as np
import pytest

from perfarray.numerics.random import SCORES, Streams
from perfarray.numerics.with_replacement import add_one_of_each, one_of_each

compiled = pytest.importorskip("perfarray.numerics.compiled")

KEYS = [(1, 2), (2**63 + 2**62 + 1, 2**40 + 1)]
"""Of the second, NumPy rounds both halves: a list with one above 2^63 and one below becomes one of floats."""

CELLS = np.array([5, 2**63 + 7, 0], dtype=np.uint64)


def engines(key):
    """Return the streams of a key by both engines."""
    return [Streams(key, engine) for engine in ("numpy", "numba")]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("start", [0, 1, 4, 9])
def test_the_words_are_those_of_numpy(key, start):
    """From any place on, of any number of cells, as words, halves and whole numbers."""
    plain, fast = engines(key)
    for draw in ("words", "bits", "uniform"):
        for cells in (CELLS, CELLS[:1]):
            np.testing.assert_array_equal(getattr(fast, draw)(cells, SCORES, 11, start), getattr(plain, draw)(cells, SCORES, 11, start))
    np.testing.assert_array_equal(fast.below(30, CELLS, SCORES, 11, start), plain.below(30, CELLS, SCORES, 11, start))


@pytest.mark.parametrize(("kinds", "number", "size"), [(1, 1, 27), (2, 3, 256), (1, 2, 1)])
def test_entries_are_those_of_numpy(kinds, number, size):
    """One by one and summed, also beside what was there before, from one stream or from one for each table."""
    rng = np.random.default_rng(1)
    tables, before = rng.normal(size=(kinds, number, 3, size)), rng.normal(size=(kinds, 3, 50))
    plain, fast = (
        [one_of_each(tables, CELLS, SCORES, streams, 50, 3)] + [summed(tables, before, streams, apart) for apart in (False, True)]
        for streams in engines(KEYS[1])
    )
    for found, expected in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(found, expected)


def summed(tables, before, streams, apart):
    """Return what entries are added to."""
    sums = before.copy()
    add_one_of_each(sums, tables, CELLS, SCORES, streams, 7, own_streams=apart)
    return sums


def test_what_is_refused_is_drawn_again():
    """Number 99,074 of cell 12 stands for no entry of 1,000: found by looking through 40 million."""
    cell, place, table = np.array([12], dtype=np.uint64), 99_074, np.arange(1000.0)[None, None, None]
    plain, fast = engines((1, 2))
    assert int(plain.bits(cell, 5, 1, place)[0, 0]) * 1000 % 2**32 < 2**32 % 1000
    refused = int(plain.bits(cell, 5, 1, place)[0, 0]) * 1000 >> 32
    found, expected = (one_of_each(table, cell, 5, streams, 3, place - 1)[0, 0, 0] for streams in (fast, plain))
    np.testing.assert_array_equal(found, expected)
    assert found[1] != refused

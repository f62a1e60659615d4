"""Streams of whole random numbers: uniform, independent of what else is drawn, and the same for
ever."""

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics.random import BOOTSTRAP, SCORES, Streams

KEY = (1, 2)
CELLS = np.array([5, 2**63 + 7, 0], dtype=np.uint64)


@pytest.mark.parametrize("start", [0, 1, 3, 4, 9])
def test_a_stream_is_cut_anywhere(start):
    """Words, halves and whole numbers from a place on are those of the whole stream from that place
    on."""
    streams = Streams(KEY)
    for draw in (
        streams.words,
        streams.bits,
        streams.uniform,
        lambda *position: streams.below(30, *position),
    ):
        values = draw(CELLS, SCORES, 50)
        np.testing.assert_array_equal(draw(CELLS, SCORES, 11, start), values[:, start : start + 11])
        np.testing.assert_array_equal(draw(CELLS[1:2], SCORES, 50), values[1:2])


def test_words_are_those_of_numpy():
    """Philox with the counter set: what `numpy.random.Philox` gives, for ever."""
    expected = np.random.Philox(key=[1, 2], counter=[0, 0, 5, SCORES]).random_raw(9)
    np.testing.assert_array_equal(Streams(KEY).words([5], SCORES, 9)[0], expected)
    assert (
        Streams(KEY).words([5], BOOTSTRAP + 3, 1)[0, 0]
        == np.random.Philox(key=[1, 2], counter=[0, 0, 5, 3]).random_raw()
    )
    assert Streams(KEY).generator(5, SCORES).bit_generator.random_raw() == expected[0]


@pytest.mark.parametrize("size", [1, 2, 3, 20, 27, 252, 256, 900, 16_384, 70_000, 3 << 30])
def test_whole_numbers_are_uniform(size):
    """Every whole number below the size comes as often as every other, also beside its neighbour
    (chi-squared at 1 in 10,000)."""
    numbers = Streams(KEY).below(size, CELLS, SCORES, 100_000).ravel()
    assert 0 <= numbers.min() <= numbers.max() < size
    if size == 1:
        return
    for n_bins in (min(size, 256), min(size, 16)):
        share = np.diff(np.ceil(np.arange(n_bins + 1) * size / n_bins)) / size
        kinds = numbers * n_bins // size
        assert (
            stats.chisquare(np.bincount(kinds, minlength=n_bins), share * len(numbers)).pvalue
            > 1e-4
        )
    pairs = np.bincount(kinds[:-1:2] * n_bins + kinds[1::2], minlength=n_bins**2)
    assert (
        stats.chisquare(pairs, np.outer(share, share).ravel() * (len(numbers) // 2)).pvalue > 1e-4
    )


def test_what_is_refused_is_drawn_again_in_its_place():
    """Of 3 * 2^30 choices a quarter of the numbers is refused: the others stay where they are, and
    no third is favoured."""
    streams, size = Streams(KEY), 3 << 30
    bits = streams.bits(CELLS, SCORES, 30_000).astype(object)
    refused = (bits * size) % 2**32 < 2**32 % size
    assert refused.mean() == pytest.approx(0.25, abs=0.01)
    numbers = streams.below(size, CELLS, SCORES, 30_000)
    np.testing.assert_array_equal(numbers[~refused], ((bits * size) >> 32)[~refused].astype(int))
    assert (numbers[refused] != ((bits * size) >> 32)[refused].astype(int)).mean() > 0.99
    assert stats.chisquare(np.bincount(numbers.ravel() >> 30)).pvalue > 1e-4
    np.testing.assert_array_equal(
        streams.below(size, CELLS[:1], SCORES, 10, 77), numbers[:1, 77:87]
    )


@pytest.mark.parametrize(
    ("size", "tables", "start"), [(27, 3, 0), (27, 4, 5), (1, 2, 3), (13 << 25, 3, 7)]
)
def test_entries_are_the_same_numbers_side_by_side(size, tables, start):
    """One number for each table of a cell, counted through all tables: also those that were refused
    and drawn again."""
    streams = Streams(KEY)
    expected = (
        streams.below(size, CELLS, SCORES, 11 * tables, start * tables)
        .reshape(3, 11, tables)
        .transpose(2, 0, 1)
    )
    entries = streams.entries(size, tables, CELLS, SCORES, 11, start)
    np.testing.assert_array_equal(
        entries, expected + size * np.arange(3 * tables).reshape(tables, 3, 1)
    )


@pytest.mark.parametrize(
    ("sizes", "start"), [([27], 0), ([100, 100, 10], 5), ([3 << 30, 1000, 3 << 30], 3)]
)
def test_columns_are_the_same_numbers_one_size_after_the_other(sizes, start):
    """Each size takes its numbers of all rows, plus where its row begins: also those that were
    refused and drawn again."""
    streams, first = Streams(KEY), np.arange(33).reshape(3, 11)
    rows = streams.below(
        np.array(sizes), CELLS, SCORES, 11 * len(sizes), start * len(sizes)
    ).reshape(3, 11, -1)
    columns = [column.copy() for column in streams.columns(sizes, first, CELLS, SCORES, start)]
    np.testing.assert_array_equal(np.stack(columns, axis=-1), rows + first[..., None])


def test_every_number_has_a_size_of_its_own():
    """Sizes by position, or by cell and position: each number is below its own."""
    sizes = np.array([1, 2, 3, 1000])
    streams = Streams(KEY)
    by_position = streams.below(np.tile(sizes, 25_000), CELLS, SCORES, 100_000).reshape(3, -1, 4)
    assert (by_position.max(axis=(0, 1)) == sizes - 1).all()
    alone = streams.below(1000, CELLS, SCORES, 100_000).reshape(3, -1, 4)
    np.testing.assert_array_equal(by_position[..., 3], alone[..., 3])
    by_cell = streams.below(np.array([[7], [8], [9]]), CELLS, SCORES, 1000)
    assert by_cell.max(axis=1).tolist() == [6, 7, 8]


def test_uniform_numbers():
    """Between 0 and 1, flat."""
    numbers = Streams(KEY).uniform(CELLS, SCORES, 10_000)
    assert 0 <= numbers.min() < numbers.max() < 1
    assert stats.kstest(numbers.ravel(), "uniform").pvalue > 1e-4

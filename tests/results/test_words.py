"""Numbers in words: digits that the interval deserves, units that read well, ratios as factors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfarray.results import words


@pytest.mark.parametrize(
    ("answer", "better", "text"),
    [
        ((1.13, 1.10, 1.16, "bounded"), "lower", "1.13x slower (1.10 to 1.16)"),
        ((1 / 1.13, 1 / 1.16, 1 / 1.10, "bounded"), "lower", "1.13x faster (1.10 to 1.16)"),
        ((1.13, 1.10, 1.16, "bounded"), "higher", "1.13x faster (1.10 to 1.16)"),
        ((1.01, 0.97, 1.05, "bounded"), "lower", "1.01x slower (1.03x faster to 1.05x slower)"),
        ((120.0, 90.0, 160.0, "bounded"), "lower", "120x slower (90 to 160)"),
        ((1.0003, 1.0001, 1.0005, "bounded"), "lower", "1.0003x slower (1.0001 to 1.0005)"),
        ((2.0, 1.5, math.inf, "at_least"), "lower", "2.00x slower (at least 1.50)"),
        ((0.5, 0.0, 0.8, "at_most"), "lower", "2.00x faster (at least 1.25)"),
        ((1.2, 0.0, 1.8, "at_most"), "lower", "1.20x slower (any times faster to 1.80x slower)"),
        ((1.1, -math.inf, math.inf, "unbounded"), "lower", "1.10x slower (any ratio is possible)"),
        (
            (2.0, 0.5, 0.8, "exclusive"),
            "lower",
            "2.00x slower (beyond 2.00x faster or 1.25x faster)",
        ),
        ((1.1, math.nan, math.nan, "bounded"), "lower", "1.10x slower (no interval)"),
        ((1.0, 1.0, 1.0, "bounded"), "lower", "unchanged (no spread)"),
        ((1.13, 1.13, 1.13, "bounded"), "lower", "1.13x slower (no spread)"),
        # One digit is added where a limit that excludes 1 would read as 1.
        ((0.98, 0.96, 0.9985, "bounded"), "lower", "1.020x faster (1.002 to 1.042)"),
        ((0.98, 0.96, 0.996, "bounded"), "lower", "1.020x faster (1.004 to 1.042)"),
        ((0.98, 0.96, 0.99, "bounded"), "lower", "1.02x faster (1.01 to 1.04)"),
        ((math.nan, math.nan, math.nan, "bounded"), "lower", "-"),
    ],
)
def test_changes(answer, better, text):
    """Every kind of set has its words, in the sense of what is better."""
    assert words.change(*answer, better) == text


@pytest.mark.parametrize(
    ("answer", "digits", "text"),
    [
        # Limits that the digits of the column do not tell from the estimate are a half-width.
        ((1.01, 1.00999, 1.01001, "bounded"), 4, "1.010x slower (± 0.00099 %)"),
        ((0.5, 0.49999, 0.50001, "bounded"), 3, "2.00x faster (± 0.002 %)"),
        ((1.00001, 0.99999, 1.00003, "bounded"), 3, "unchanged (± 0.002 %)"),
        # A change that is sure is never "unchanged".
        ((1.00002, 1.00001, 1.00003, "bounded"), 3, "< 1.01x slower (± 0.001 %)"),
        ((0.99999, math.nan, math.nan, "exact"), 5, "< 1.0001x faster (exact)"),
        ((1.0, math.nan, math.nan, "exact"), 5, "unchanged (exact)"),
        # Of larger factors the decimals are fewer.
        ((29.97, 29.44, 30.51, "bounded"), 4, "29.97x slower (29.44 to 30.51)"),
        ((251.0, 248.6, 253.4, "bounded"), 4, "251.0x slower (248.6 to 253.4)"),
    ],
)
def test_changes_with_the_digits_of_a_column(answer, digits, text):
    """The digits of a column may be too few for a row, which then says so in another way."""
    assert words.change(*answer, "lower", digits) == text


@pytest.mark.parametrize(
    ("rows", "digits"),
    [
        ([(1.13, 1.10, 1.16)], 3),
        ([(1.01, 0.97, 1.05)], 3),
        ([(1.013, 1.010, 1.016)], 4),
        ([(1.13, 1.10, 1.16), (1.013, 1.010, 1.016)], 4),
        ([(1.13, 1.10, 1.16), (1.00003, 1.00002, 1.00004)], 5),
        ([(1.00003, 1.00002, 1.00004)], 6),
        ([(1.00003, 1.00002, 1.00004), (1.00006, 1.00005, 1.00007)], 6),
        ([(1.0, 1.0 - 1e-9, 1.0 + 1e-9)], 7),
        ([(1.13, math.nan, math.nan), (1.2, 1.2, 1.2)], 3),
        ([(math.nan, math.nan, math.nan)], 3),
        ([], 3),
        ([(2.0, 1.5, math.inf)], 3),
        ([(0.0, 0.0, 0.0)], 3),
    ],
)
def test_digits_of_a_column(rows, digits):
    """The neediest row decides, within three and five; beyond, only if all rows need more."""
    columns = np.array(rows).reshape(-1, 3).T
    assert words.digits_of(*columns, ratio=True) == digits


@given(
    st.lists(
        st.tuples(st.floats(-7, 3), st.floats(1e-6, 0.3), st.floats(1e-6, 0.3)),
        min_size=1,
        max_size=12,
    )
)
def test_all_rows_of_a_column_have_the_same_digits(rows):
    """Estimates in any unit have as many digits, and limits read as their estimate nowhere."""
    values = np.array(
        [(10**size, 10**size * (1 - below), 10**size * (1 + above)) for size, below, above in rows]
    )
    digits = words.digits_of(*values.T)
    texts = [words.quantity_between(*row, "s", digits) for row in values.tolist()]
    for text, (value, lower, upper) in zip(texts, values.tolist(), strict=True):
        estimate, limits = text.removesuffix(")").split(" (")
        if limits.startswith("±"):
            assert (upper - lower) / 2 < 10 ** (1 - digits) * value
            continue
        ends = [estimate.split()[0], *limits.split(" to ")]
        assert max(len(end.replace(".", "").lstrip("0")) for end in ends) in (digits, digits + 1)
        assert len({len(end.partition(".")[2]) for end in ends}) == 1
        if digits < 5:  # all needs are met
            assert ends[0] not in ends[1:]


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1.0))
def test_a_change_and_its_reverse_say_the_same(ratio, width):
    """Swapping candidate and baseline swaps faster and slower, and no number."""
    forth = words.change(
        ratio, ratio * math.exp(-width), ratio * math.exp(width), "bounded", "lower"
    )
    back = words.change(
        ratio, ratio * math.exp(-width), ratio * math.exp(width), "bounded", "higher"
    )
    assert forth.replace("slower", "?").replace("faster", "slower").replace("?", "faster") == back


@pytest.mark.parametrize(
    ("value", "units", "text"),
    [
        (164.3e-9, "s", "164 ns"),
        (0.9996, "s", "1.00 s"),
        (0.0123, "s", "12.3 ms"),
        (0.0, "s", "0.00 s"),
        (1234567.0, "ops/s", "1.23e+06 ops/s"),
        (43.76e6, "B", "43.8 MB"),
        (999.9e3, "B", "1.00 MB"),
        (12.0, "B", "12.0 B"),
        (0.0, "B", "0.00 B"),
        (math.nan, "s", "-"),
        (2.5, "1", "2.50"),
    ],
)
def test_quantities(value, units, text):
    """Times and bytes have the prefix that leaves one to three digits before the point; other units
    stay."""
    assert words.quantity(value, units) == text


@given(st.floats(1e-8, 1e3), st.floats(1e-4, 0.5))
def test_an_interval_holds_the_value_as_written(value, half):
    """Rounding never takes a value out of its interval as it is read."""
    text = words.quantity_between(value, value * (1 - half), value * (1 + half), "s")
    estimate, remainder = text.split(" (")
    lower, upper = remainder.rstrip(")").split(" to ")
    assert float(lower) <= float(estimate.split()[0]) <= float(upper)


def test_two_means_have_one_unit():
    """A second beside 997 ms is 1.006 s beside 0.997 s; what is far apart has units of its own."""
    assert words.quantities([0.997, 1.0061], "s") == ["0.997 s", "1.006 s"]
    assert words.quantities([164e-9, 185e-9], "s") == ["164 ns", "185 ns"]
    assert words.quantities([164e-9, 185e-9], "s", 4) == ["164.0 ns", "185.0 ns"]
    assert words.quantities([3.08, 92.326], "s") == ["3.08 s", "92.3 s"]
    assert words.quantities([52173.0, 104346.0], "1") == ["52173", "104346"]
    assert words.quantities([1.24e6, 1.3e6], "ops/s") == ["1.24e+06 ops/s", "1.30e+06 ops/s"]
    assert words.quantities([43.76e6, 9.379e6], "B") == ["43.76 MB", "9.38 MB"]
    assert words.quantities([1e-3, 1.0], "s") == ["1.00 ms", "1.00 s"]
    assert words.quantities([1e-6, 2.0], "s") == ["1.00 us", "2.00 s"]
    assert words.quantities([math.nan, 2.0], "s") == ["-", "2.00 s"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.0, "12.0 s"), (200.0, "3 min 20 s"), (28680.0, "7 h 58 min"), (math.nan, "-")],
)
def test_durations(seconds, text):
    assert words.duration(seconds) == text


def test_shares_and_probabilities():
    """Two digits where they are small, none beyond what is known."""
    assert [words.percent(share) for share in (0.0994, 0.0996, 0.997, -1.2)] == [
        "9.9 %",
        "10 %",
        "100 %",
        "-120 %",
    ]
    assert (words.percent(0.0123), words.percent(0.5), words.percent_between(0.93, 0.88, 0.97)) == (
        "1.2 %",
        "50 %",
        "93 % (88 to 97)",
    )
    # A column has the decimals of its narrowest interval, at most one unless all need two.
    assert words.places_of_shares([0.2, 0.0], [0.68, 0.03]) == 1
    assert words.places_of_shares([0.2, 0.0], [0.68, 0.001]) == 1
    assert words.places_of_shares([0.002, 0.0], [0.004, 0.001]) == 2
    assert words.places_of_shares([math.nan], [math.nan]) == 0
    assert words.percent_between(0.93, 0.88, 0.97, places=1) == "93.0 % (88.0 to 97.0)"
    assert (words.probability(1e-9), words.probability(0.0432), words.probability(0.5)) == (
        "< 0.0001",
        "0.043",
        "0.50",
    )

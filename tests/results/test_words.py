"""Numbers in words: digits that the interval deserves, units that read well, ratios as factors."""

import math

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
        ((1.0003, 1.0001, 1.0005, "bounded"), "lower", "1.00030x slower (1.00010 to 1.00050)"),
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
        ((1.0, 1.0, 1.0, "bounded"), "lower", "unchanged (1.00 to 1.00)"),
        # Digits are added until a limit does not seem to lie on the edge of the band.
        ((0.98, 0.96, 0.99997, "bounded"), "lower", "1.02041x faster (1.00003 to 1.04167)"),
        ((1.05, 1.0201, 1.08, "bounded"), ("lower", 0.02), "1.0500x slower (1.0201 to 1.0800)"),
        ((0.95, 0.92, 0.9801, "bounded"), ("lower", 0.02), "1.0526x faster (1.0203 to 1.0870)"),
        ((math.nan, math.nan, math.nan, "bounded"), "lower", "-"),
    ],
)
def test_changes(answer, better, text):
    """Every kind of set has its words, in the sense of what is better."""
    sense = better if isinstance(better, tuple) else (better,)
    assert words.change(*answer, *sense) == text


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
        (math.nan, "s", "-"),
        (2.5, "1", "2.50"),
    ],
)
def test_quantities(value, units, text):
    """Times have the prefix that leaves one to three digits before the point; other units stay."""
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
    assert (words.probability(1e-9), words.probability(0.0432), words.probability(0.5)) == (
        "< 0.0001",
        "0.043",
        "0.50",
    )

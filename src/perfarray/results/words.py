"""Numbers as text: times with a prefix, digits according to the interval, changes in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfarray.conventions import HIGHER, SECONDS

# The values of one cell of a result by variable, and its labels under `coords`
Cell = Mapping[str, Any]

# Functions that write a cell, by the title of the column
Columns = dict[str, Callable[[Cell], str]]

PREFIXES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))

# A missing number
NOTHING = "-"

# Changes of which one side is 0: of the first the ratio is 0, of the second there is none
TO_ZERO, FROM_ZERO = "to 0", "from 0"

# Numbers from here on are written with a power of ten
BIG = 1e5


def decimals(spread: float, maximum: int = 6) -> int:
    """Return the decimals of a number with an interval of this width: two digits of the width."""
    return max(0, min(maximum, math.ceil(math.log10(4 / spread)))) if 0 < spread < math.inf else 0


def number(value: float, spread: float = math.nan) -> str:
    """Write a number with the digits that its interval supports.

    Three digits without an interval.
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if spread > 0:
        return f"{value:.{decimals(spread)}f}" if abs(value) < BIG else f"{value:.3g}"
    if value and not 1e-4 <= abs(value) < BIG:
        return f"{value:.3g}"
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def scale_of(value: float, units: str) -> tuple[float, str]:
    """Return the divisor and the unit to write.

    Times get the largest unit that leaves at least 1 before the point.
    """
    if units != SECONDS:
        return 1.0, "" if units == "1" else units
    return (
        next(((size, name) for size, name in PREFIXES if abs(value) >= 0.9995 * size), PREFIXES[-1])
        if value
        else (1.0, SECONDS)
    )


def quantity(value: float, units: str, spread: float = math.nan) -> str:
    """Write a value with its unit: `164 ns`."""
    size, name = scale_of(value, units)
    return (
        f"{number(value / size, spread / size)} {name}".strip()
        if not math.isnan(value)
        else NOTHING
    )


def quantities(values: Sequence[float], units: str) -> list[str]:
    """Write values in the unit of the largest, unless they differ by a factor of 1000 or more."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or max(sizes) >= 1000 * min(sizes):
        return [quantity(value, units) for value in values]
    size, name = scale_of(max(sizes), units)
    if not 1e-4 <= min(sizes) / size <= max(sizes) / size < BIG:
        return [quantity(value, units) for value in values]
    decimals_shown = max(0, 2 - math.floor(math.log10(min(sizes) / size)))
    return [
        f"{value / size:.{decimals_shown}f} {name}".strip()
        if math.isfinite(value)
        else quantity(value, units)
        for value in values
    ]


def count(value: float) -> str:
    """Write a number of things."""
    if math.isinf(value):
        return "infinite"
    return (
        NOTHING
        if math.isnan(value)
        else f"{value:.0f}"
        if value == math.floor(value)
        else f"{value:.1f}"
    )


def ratio(value: float) -> str:
    """Write a ratio as a factor: `1.13x`."""
    return NOTHING if math.isnan(value) else f"{number(value)}x"


def quantity_between(value: float, lower: float, upper: float, units: str) -> str:
    """Write a value with its interval: `164 ns (160 to 168)`."""
    if math.isnan(lower) or math.isnan(upper):
        return quantity(value, units)
    size, _ = scale_of(value, units)
    limits = between(*(number(limit / size, (upper - lower) / size) for limit in (lower, upper)))
    return f"{quantity(value, units, upper - lower)} ({limits})"


def between(lower: str, upper: str) -> str:
    """Write an interval with formatted ends."""
    if NOTHING in (lower, upper):
        return "no interval"
    if (lower, upper) == ("-infinite", "infinite"):
        return "anything is possible"
    return (
        f"at least {lower}"
        if upper == "infinite"
        else f"at most {upper}"
        if lower == "-infinite"
        else f"{lower} to {upper}"
    )


def percent(share: float) -> str:
    """Write a share as a percentage of two digits, more above 10 %."""
    if math.isnan(share):
        return NOTHING
    return f"{100 * share:.2g} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def percent_between(share: float, lower: float, upper: float) -> str:
    """Write a share with its interval: `93 % (88 to 97)`."""
    if math.isnan(lower) or math.isnan(upper):
        return percent(share)
    digits = min(decimals(100 * (upper - lower)), 2)
    return f"{100 * share:.{digits}f} % ({100 * lower:.{digits}f} to {100 * upper:.{digits}f})"


def probability(value: float) -> str:
    """Write a p-value."""
    return (
        NOTHING
        if math.isnan(value)
        else "< 0.0001"
        if value < 1e-4
        else f"{value:.2g}"
        if value < 0.1
        else f"{value:.2f}"
    )


def times_as(ratio: float, better: str, digits: int) -> str:
    """Write a ratio as how many times faster or slower the candidate is: `1.13x slower`."""
    if ratio <= 0 or math.isinf(ratio):
        return f"any times {side(ratio, better)}"
    text = f"{max(ratio, 1 / ratio):.{digits}f}"
    return "unchanged" if float(text) == 1 else f"{text}x {side(ratio, better)}"


def side(ratio: float, better: str) -> str:
    """Return the word for a ratio of candidate and baseline."""
    return "faster" if (ratio > 1) == (better == HIGHER) else "slower"


def change(
    ratio: float, lower: float, upper: float, kind: str, better: str, threshold: float = 0.0
) -> str:
    """Write a ratio and its confidence set as a change: `1.13x slower (1.10 to 1.16)`."""
    if math.isnan(ratio):
        return NOTHING
    digits = _digits(ratio, lower, upper, threshold)
    estimate = TO_ZERO if ratio == 0 else times_as(ratio, better, digits)
    if math.isnan(lower) or math.isnan(upper):
        return f"{estimate} (no interval)"
    if kind == "unbounded":
        return f"{estimate} (any ratio is possible)"
    if kind == "exclusive":
        return (
            f"{estimate} (beyond {times_as(lower, better, digits)} or "
            f"{times_as(upper, better, digits)})"
        )
    if upper == 0:
        return estimate
    if lower >= 1 or upper <= 1:
        smaller, larger = (
            (lower, upper) if lower >= 1 else (1 / upper, 1 / lower if lower > 0 else math.inf)
        )
        limits = (
            f"{smaller:.{digits}f} to {larger:.{digits}f}"
            if larger < math.inf
            else f"at least {smaller:.{digits}f}"
        )
        return f"{estimate} ({limits})"
    return f"{estimate} ({times_as(lower, better, digits)} to {times_as(upper, better, digits)})"


def change_alone(
    ratio: float, lower: float, upper: float, better: str, threshold: float = 0.0
) -> str:
    """Write a ratio as `change` does, without its confidence set: `1.13x slower`."""
    if math.isnan(ratio):
        return NOTHING
    return (
        TO_ZERO if ratio == 0 else times_as(ratio, better, _digits(ratio, lower, upper, threshold))
    )


def drift(ratio: float, lower: float, upper: float, over: str) -> str:
    """Write a ratio of levels as a drift: `drifts by 30 % over 200 commits (15 to 45)`."""
    if math.isnan(ratio):
        return f"drifts over {over}"
    size = f"drifts by {percent(ratio - 1)} over {over}"
    if math.isnan(lower) or math.isnan(upper):
        return f"{size} (no interval)"
    digits = min(decimals(100 * (upper - lower)), 1) if upper < math.inf else 0
    limits = (
        f"{100 * (limit - 1):.{digits}f}" if limit < math.inf else "infinite"
        for limit in (lower, upper)
    )
    return f"{size} ({between(*limits)})"


def limits_of_change(lower: float, upper: float, better: str) -> str:
    """Write the limits of a ratio of positive means as changes: `1.01x faster to 1.03x slower`."""
    if math.isnan(lower) or math.isnan(upper):
        return NOTHING
    digits = _digits(math.sqrt(max(lower, 0.0) * upper), lower, upper, 0.0)
    return f"{times_as(lower, better, digits)} to {times_as(upper, better, digits)}"


def _digits(ratio: float, lower: float, upper: float, threshold: float) -> int:
    """Return the decimals that show on which side of the threshold the limits lie."""
    limits = [max(limit, 1 / limit) for limit in (lower, upper) if 0 < limit < math.inf]
    factor = max([*limits, ratio, 1 / ratio]) if 0 < ratio < math.inf else 1.0
    width = abs(math.log(upper / lower)) if len(limits) == 2 and upper > lower else math.nan
    digits = 0 if factor >= 100 else max(1 if factor >= 10 else 2, decimals(width, 5))
    beyond = [
        limit / (1 + threshold) if limit > 1 else (1 - threshold) / limit
        for limit in (lower, upper)
        if 0 < limit < math.inf
    ]
    while digits < 6 and any(0 < abs(factor - 1) < 0.5 * 10**-digits for factor in beyond):
        digits += 1
    return digits


def duration(seconds: float) -> str:
    """Write a duration: `7 h 58 min`, `3 min 20 s`, `12 s`."""
    if math.isnan(seconds):
        return NOTHING
    if seconds < 60:
        return quantity(seconds, SECONDS)
    big, small, size, unit = (
        ("h", "min", 3600.0, 60.0) if seconds >= 3600 else ("min", "s", 60.0, 1.0)
    )
    large, small_number = divmod(math.floor(seconds / unit), size / unit)
    return f"{large:.0f} {big} {small_number:.0f} {small}" if small_number else f"{large:.0f} {big}"

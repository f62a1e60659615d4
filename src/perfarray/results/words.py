"""Numbers as text: prefixes of units, digits according to the interval, changes in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfarray.conventions import EXACT, HIGHER, SECONDS, plural
from perfarray.results.variables import COMPARED

if TYPE_CHECKING:  # the help of commands, which show durations, loads no arrays
    import numpy.typing as npt
    import xarray as xr

    Numbers = float | npt.ArrayLike

# The values of one cell of a result by variable, and its labels under `coords`
Cell = Mapping[str, Any]

# Functions that write a cell, by the title of the column
Columns = dict[str, Callable[[Cell], str]]

# Divisors with the unit to write, the largest first; other units stay as they are
PREFIXES = {
    SECONDS: ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}

# A missing number
NOTHING = "-"

# Changes of which one side is 0: of the first the ratio is 0, of the second there is none
TO_ZERO, FROM_ZERO = "to 0", "from 0"

# Words beside or instead of a change: of units that are all equal, and of a ratio that reads as 1
NO_SPREAD, UNCHANGED = "no spread", "unchanged"

# Numbers from here on, or below, are written with a power of ten
BIG, TINY = 1e5, 1e-4

# Digits of a column: at least, at most, and at most where every row needs them (`digits_of`)
LEAST_DIGITS, MOST_DIGITS, ALL_DIGITS = 3, 5, 7

# Values of one row that differ by this factor share no decimals
FAR_APART = 10


def digits_of(
    estimate: "Numbers",
    lower: "Numbers",
    upper: "Numbers",
    *,
    ratio: bool = False,
    threshold: float = 0.0,
) -> int:
    """Return the digits of a column: the one rule for numbers beside their limits.

    The digits follow the uncertainty. A row needs those that tell its estimate from both of its
    limits; without a threshold, a limit that excludes 1 also needs one more where it would read as
    1. All rows of a column have the digits of the neediest: at least 3, at most 5, more only where
    every row needs more.

    They count from the first digit of the largest number of the row; its estimate and limits have
    one unit and the same decimals. A ratio is read as a factor, which faster and slower share. The
    means beside a change have as many digits, in the smaller of both.
    """
    import numpy as np

    values = np.stack([np.ravel(side).astype(float) for side in (estimate, lower, upper)])
    values = values[:, np.isfinite(values[0])]
    with np.errstate(divide="ignore", invalid="ignore"):
        values[~np.isfinite(values)] = np.nan
        nearest = np.fmax(values[1] - 1, 1 - values[2])  # above 0 where both limits exclude 1
        distances = np.abs(values[1:] - values[0])
        if ratio:
            factors = np.where(values > 0, np.fmax(values, 1 / values), np.nan)
            same_side = (values[1:] > 1) == (values[0] > 1)
            distances = np.where(
                same_side, np.abs(factors[1:] - factors[0]), factors[1:] + factors[0] - 2
            )
            nearest = np.where(nearest > 0, np.fmin(factors[1], factors[2]) - 1, np.nan)
            values = factors
        first = np.floor(np.log10(np.fmax.reduce(np.abs(values), axis=0)))
        distance = np.fmin.reduce(np.where(distances > 0, distances, np.nan), axis=0)
        needed = 1 + first + np.ceil(-np.log10(distance) - 1e-9)
        if ratio and not threshold:
            edge = 1 + first + np.ceil(-np.log10(2 * nearest))
            needed = np.fmax(needed, np.minimum(edge, LEAST_DIGITS + 1))
    needed = np.nan_to_num(needed[np.isfinite(first)], nan=LEAST_DIGITS)
    if not needed.size:
        return LEAST_DIGITS
    most = min(max(needed.min(), MOST_DIGITS), ALL_DIGITS)
    return int(np.clip(needed.max(), LEAST_DIGITS, most))


def column_digits(
    data: "xr.Dataset", *names: str, prefixes: Sequence[str] = ("",), **options: Any
) -> int:
    """Return the digits of the column of an estimate and its limits, also those of suites."""
    import numpy as np
    import xarray as xr

    rows = [
        [variable.values.ravel() for variable in xr.broadcast(*columns)]
        for prefix in prefixes
        if len(columns := [data[prefix + name] for name in names if prefix + name in data]) == 3
    ]
    if not rows:
        return LEAST_DIGITS
    return digits_of(*(np.concatenate(column) for column in zip(*rows, strict=True)), **options)


def ratio_digits(data: "xr.Dataset") -> int:
    """Return the digits of all changes of a result: `digits_of` its benchmarks and suites.

    In a history, drifts are no changes.
    """
    names, prefixes = ("estimate", "lower", "upper"), ("", "suite_")
    threshold = "threshold" in data or float(data.attrs.get("threshold", 0.0))
    if "cause" in data:
        data = data[[*names]].where(data["cause"] != "drift")
    for prefix in prefixes if "kind" in data else ():  # what has no limits is told from no change
        if f"{prefix}kind" in data:
            limit = data[f"{prefix}lower"].where(data[f"{prefix}kind"] != EXACT, 1.0)
            data = data.assign({f"{prefix}lower": limit})
    return column_digits(data, *names, prefixes=prefixes, ratio=True, threshold=threshold)


def decimals_of(digits: int, *values: float) -> int:
    """Return the decimals of numbers with so many digits, the largest of them."""
    largest = max((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
    # 999.6 has the exponent of 1000, as which it is written.
    return digits - 1 - int(f"{largest:.{digits - 1}e}".partition("e")[2])


def decimals(spread: float, maximum: int = 6) -> int:
    """Return the decimals of a share with an interval of this width: two digits of the width."""
    return max(0, min(maximum, math.ceil(math.log10(4 / spread)))) if 0 < spread < math.inf else 0


def number(value: float, digits: int = LEAST_DIGITS) -> str:
    """Write a number."""
    return numbers([value], digits)[0]


def numbers(values: Sequence[float], digits: int, decimals_shown: int | None = None) -> list[str]:
    """Write numbers with the same decimals, by default those of the largest.

    All or none have a power of ten.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    smallest, largest = min(sizes, default=1.0), max(sizes, default=1.0)
    places = decimals_of(digits, largest) if decimals_shown is None else decimals_shown
    form = (
        f".{digits - 1}e"
        if largest < TINY or (smallest >= BIG and places < 0)
        else f".{max(0, places)}f"
    )
    return [
        NOTHING
        if math.isnan(value)
        else f"{value:{form}}"
        if math.isfinite(value)
        else "infinite"
        if value > 0
        else "-infinite"
        for value in values
    ]


def scale_of(value: float, units: str) -> tuple[float, str]:
    """Return the divisor and the unit to write.

    Times and sizes get the largest unit that leaves at least 1 before the point.
    """
    if units not in PREFIXES:
        return 1.0, "" if units == "1" else units
    prefixes = PREFIXES[units]
    return (
        next(((size, name) for size, name in prefixes if abs(value) >= 0.9995 * size), prefixes[-1])
        if value
        else (1.0, units)
    )


def quantity(value: float, units: str, digits: int = LEAST_DIGITS) -> str:
    """Write a value with its unit: `164 ns`."""
    size, name = scale_of(value, units)
    return f"{number(value / size, digits)} {name}".strip() if not math.isnan(value) else NOTHING


def quantities(values: Sequence[float], units: str, digits: int = LEAST_DIGITS) -> list[str]:
    """Write values in the unit of the largest, unless they differ by a factor of 1000 or more.

    Each has so many digits; all have the decimals of the smallest, unless they are far apart.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or max(sizes) >= 1000 * min(sizes):
        return [quantity(value, units, digits) for value in values]
    size, name = scale_of(max(sizes), units)
    if max(sizes) >= FAR_APART * min(sizes):
        texts = [number(value / size, digits) for value in values]
    else:
        places = decimals_of(digits, min(sizes) / size)
        texts = numbers([value / size for value in values], digits, places)
    return [text if text == NOTHING else f"{text} {name}".strip() for text in texts]


def whole_numbers(values: Sequence[float], units: str, digits: int) -> list[str]:
    """Write counts in full; what is no whole number, or a time, as `quantities` does."""
    if units == SECONDS or not all(map(float.is_integer, values)):
        return quantities(values, units, digits)
    return [f"{value:.0f} {'' if units == '1' else units}".strip() for value in values]


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


def own_name(dim: str) -> str:
    """Return what the user calls a dim, which may have made room for a variable of answers.

    `data_n` is `n`.
    """
    name = dim.removeprefix("data_")
    return name if name in COMPARED.split() else dim


def labels_of(dim: str, size: int) -> str:
    """Write how many labels a dim has: `2 versions`; a plural is a name, `threads (3 labels)`."""
    if plural(dim) == dim or own_name(dim) != dim:
        return f"{own_name(dim)} ({size} {'label' if size == 1 else 'labels'})"
    return f"{size} {dim if size == 1 else plural(dim)}"


def ratio(value: float, digits: int = LEAST_DIGITS) -> str:
    """Write a ratio as a factor: `1.13x`."""
    return NOTHING if math.isnan(value) else f"{number(value, digits)}x"


def quantity_between(
    value: float, lower: float, upper: float, units: str, digits: int | None = None
) -> str:
    """Write a value with its interval: `164 ns (160 to 168)`.

    By default the digits are those of a column of this row alone.
    """
    digits = digits_of(value, lower, upper) if digits is None else digits
    if math.isnan(value) or math.isnan(lower) or math.isnan(upper):
        return quantity(value, units, digits)
    size, name = scale_of(value, units)
    estimate, *limits = numbers([side / size for side in (value, lower, upper)], digits)
    return f"{estimate} {name}".strip() + f" ({_told_apart(estimate, limits, value, lower, upper)})"


def _told_apart(
    estimate: str, limits: Sequence[str], value: float, lower: float, upper: float
) -> str:
    """Write an interval; where its ends read as the estimate, its half-width in percent."""
    if {*limits} != {estimate}:
        return between(*limits)
    return NO_SPREAD if lower == upper else f"± {percent((upper - lower) / 2 / abs(value))}"


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


def places_of_shares(lower: "Numbers", upper: "Numbers") -> int:
    """Return the decimals of a column of percentages: those of its narrowest interval.

    At most 1; 2 where every row needs them.
    """
    import numpy as np

    widths = np.ravel(100 * (np.asarray(upper, dtype=float) - np.asarray(lower, dtype=float)))
    needed = [decimals(width, 2) for width in widths[widths > 0]]
    return min(max(needed), max(1, min(needed))) if needed else 0


def percent_between(share: float, lower: float, upper: float, *, places: int | None = None) -> str:
    """Write a share with its interval: `93 % (88 to 97)`.

    By default the decimals are those of a column of this row alone.
    """
    if math.isnan(lower) or math.isnan(upper):
        return percent(share)
    places = places_of_shares(lower, upper) if places is None else places
    return f"{100 * share:.{places}f} % ({100 * lower:.{places}f} to {100 * upper:.{places}f})"


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
    return UNCHANGED if float(text) == 1 else f"{text}x {side(ratio, better)}"


def side(ratio: float, better: str) -> str:
    """Return the word for a ratio of candidate and baseline."""
    return "faster" if (ratio > 1) == (better == HIGHER) else "slower"


def change(
    ratio: float,
    lower: float,
    upper: float,
    kind: str,
    better: str,
    digits: int | None = None,
) -> str:
    """Write a ratio and its confidence set as a change: `1.13x slower (1.10 to 1.16)`.

    By default the digits are those of a column of this row alone.
    """
    if math.isnan(ratio):
        return NOTHING
    places = _places(ratio, lower, upper, digits)
    estimate = change_alone(ratio, lower, upper, better, digits, kind)
    if kind == EXACT:
        return f"{estimate} ({EXACT})"
    if math.isnan(lower) or math.isnan(upper):
        return f"{estimate} (no interval)"
    if kind == "unbounded":
        return f"{estimate} (any ratio is possible)"
    ends = [times_as(limit, better, places) for limit in (lower, upper)]
    if kind == "exclusive":
        return f"{estimate} (beyond {ends[0]} or {ends[1]})"
    if upper == 0:
        return estimate
    if lower >= 1 or upper <= 1:
        smaller, larger = (
            (lower, upper) if lower >= 1 else (1 / upper, 1 / lower if lower > 0 else math.inf)
        )
        text = f"{max(ratio, 1 / ratio):.{places}f}" if ratio else TO_ZERO
        limits = [
            f"{end:.{places}f}" if end < math.inf else "infinite" for end in (smaller, larger)
        ]
        return f"{estimate} ({_told_apart(text, limits, ratio, lower, upper)})"
    if ends == ["unchanged"] * 2:
        return f"{estimate} (± {percent((upper - lower) / 2)})"
    return f"{estimate} ({ends[0]} to {ends[1]})"


def change_alone(
    ratio: float,
    lower: float,
    upper: float,
    better: str,
    digits: int | None = None,
    kind: str = "",
) -> str:
    """Write a ratio as `change` does, without its confidence set: `1.13x slower`."""
    if math.isnan(ratio) or ratio == 0:
        return NOTHING if ratio else TO_ZERO
    places = _places(ratio, lower, upper, digits)
    text = times_as(ratio, better, places)
    differs = lower > 1 or upper < 1 or (kind == EXACT and ratio != 1)
    if text == UNCHANGED and differs:
        return f"< {1 + 10**-places:.{places}f}x {side(ratio, better)}"
    return text


def _places(ratio: float, lower: float, upper: float, digits: int | None) -> int:
    """Return the decimals of a ratio and its limits, read as factors."""
    digits = digits_of(ratio, lower, upper, ratio=True) if digits is None else digits
    factors = [max(end, 1 / end) for end in (ratio, lower, upper) if 0 < end < math.inf]
    return max(0, decimals_of(digits, *factors))


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


def limits_of_change(lower: float, upper: float, better: str, digits: int | None = None) -> str:
    """Write the limits of a ratio of positive means as changes: `1.01x faster to 1.03x slower`."""
    if math.isnan(lower) or math.isnan(upper):
        return NOTHING
    places = _places(math.sqrt(max(lower, 0.0) * upper), lower, upper, digits)
    return f"{times_as(lower, better, places)} to {times_as(upper, better, places)}"


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

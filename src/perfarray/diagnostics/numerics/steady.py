"""The steady state of a series of repetitions: where it begins, and what came before."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.dependence import measured_first
from perfarray.numerics.segments import change_points
from perfarray.numerics.types import Floats, Integers, Texts

KINDS = FLAT, WARMUP, SLOWDOWN, UNSTEADY, SHORT = (
    "flat",
    "warmup",
    "slowdown",
    "no_steady_state",
    "unknown",
)

ABSENT = ""  # the kind of a series that was not measured
LEAST = 10  # repetitions that a series needs

# Outliers: the most repetitions around one that they are judged by (at most a fifth of the series),
# their distance in ranges of these, and how many in a row may be outliers.
WINDOW, FAR, MOST = 200, 3.0, 2


class SteadyRules(NamedTuple):
    """The relative tolerance between segments, the share to be steady, the penalty of a segment, and whether higher is better."""

    tolerance: float
    share: float
    penalty: float
    higher: bool


def steady(
    values: Floats, rules: SteadyRules
) -> tuple[Texts, Floats, Floats, Floats, Floats, Floats]:
    """Classify series (..., n), with NaN where nothing was measured.

    Returns by series the kind, the first steady position (NaN where there is none), the mean from
    there on, and the number of segments; and by value the number and the mean of its segment.
    """
    shape, n = values.shape[:-1], values.shape[-1]
    rows = values.reshape(-1, n)
    kind, start, mean = (
        np.full(len(rows), SHORT, dtype=object),
        np.full(len(rows), np.nan),
        np.full(len(rows), np.nan),
    )
    number, segment, levels = (
        np.zeros(len(rows)),
        np.full(rows.shape, np.nan),
        np.full(rows.shape, np.nan),
    )
    order = np.argsort(np.isnan(rows), axis=-1, kind="stable")
    for row, (series, size) in enumerate(
        zip(*measured_first(rows), strict=True)
    ):  # each series has its own changes
        if size < LEAST:
            kind[row] = SHORT if size else ABSENT
            continue
        trimmed = without_outliers(series[:size])
        starts = change_points(
            trimmed, rules.penalty * np.log(size), _noise(trimmed, rules.tolerance)
        )
        means = np.add.reduceat(trimmed, starts) / np.diff([*starts, size])
        kind[row], first = classify(starts, means, size, rules)
        start[row] = order[row, first] if first < size else np.nan
        mean[row] = trimmed[first:].mean() if first < size else np.nan
        number[row], positions = len(starts), order[row, :size]
        segment[row, positions] = np.repeat(np.arange(len(starts)), np.diff([*starts, size]))
        levels[row, positions] = means[segment[row, positions].astype(int)]
    by_series = (
        kind.reshape(shape),
        start.reshape(shape),
        mean.reshape(shape),
        number.reshape(shape),
    )
    return *by_series, segment.reshape(values.shape), levels.reshape(values.shape)


def classify(starts: Integers, means: Floats, size: int, rules: SteadyRules) -> tuple[str, int]:
    """Return the kind of a series of segments, and its first steady repetition.

    `size` where there is none.

    Steady are the segments at the end whose means differ from the last one's by no more than the
    tolerance.
    """
    last = means[-1]
    worse = (last - means if rules.higher else means - last) / max(abs(last), np.finfo(float).tiny)
    within_tolerance = np.abs(worse) <= rules.tolerance
    first = len(means) - int(np.argmin([*within_tolerance[::-1], False]))
    position = int(starts[first]) if first < len(means) else 0
    if within_tolerance.all():
        return FLAT, 0
    if size - position < rules.share * size:
        return UNSTEADY, size
    return (SLOWDOWN if (worse < -rules.tolerance).any() else WARMUP), position


def without_outliers(series: Floats) -> Floats:
    """Return a series clipped to three times the range of 80 % of the values around, from the median there.

    Several in a row are no outliers, nor are those at the start: they may be a change.
    """
    n = len(series)
    window = min(n, max(20, min(WINDOW, n // 5)))
    step = window // 4 or 1
    around = np.lib.stride_tricks.sliding_window_view(series, window)[::step]
    low, middle, high = np.percentile(around, [10, 50, 90], axis=-1)
    nearest = np.clip((np.arange(n) - window // 2 + step // 2) // step, 0, len(around) - 1)
    far = FAR * (high - low)[nearest]
    clipped = np.clip(series, middle[nearest] - far, middle[nearest] + far)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], clipped != series, [False]])))
    for first, last in bounds.reshape(-1, 2).tolist():
        if first == 0 or last - first > MOST:
            clipped[first:last] = series[first:last]
    return clipped


def _noise(series: Floats, tolerance: float) -> float:
    """Return the standard deviation from differences of neighbours, at least a tenth of the tolerance."""
    spread = 1.4826 * np.median(np.abs(np.diff(series))) / np.sqrt(2)
    least = tolerance / 10 * abs(np.median(series))
    return float(max(spread, least, np.finfo(float).tiny))

"""The steady state of a series of repetitions: where it begins, and what came before."""

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
WINDOW, OUTLIER_RANGES, MAX_OUTLIERS = 200, 3.0, 2


def steady(
    values: Floats, *, tolerance: float, share: float, penalty: float, higher: bool
) -> tuple[Texts, Floats, Floats, Floats, Floats, Floats]:
    """Classify series (..., n), with NaN where nothing was measured.

    Parameters
    ----------
    values : array, shape (..., n)
        The series.
    tolerance : float
        The largest relative difference of a steady segment's mean from the last one's.
    share : float
        The share of a series that has to be steady.
    penalty : float
        The cost of a segment, in log(n).
    higher : bool
        Whether higher is better.

    Returns
    -------
    kind, start, mean, number : array, shape (...)
        The kind, the first steady position (NaN where there is none), the mean from there on, and
        the number of segments.
    segment, segment_mean : array, shape (..., n)
        The number and the mean of the segment of each value.
    """
    shape, n = values.shape[:-1], values.shape[-1]
    rows = values.reshape(-1, n)
    kind = np.full(len(rows), SHORT, dtype=object)
    start, mean, number = (
        np.full(len(rows), np.nan),
        np.full(len(rows), np.nan),
        np.zeros(len(rows)),
    )
    segment, levels = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
    order = np.argsort(np.isnan(rows), axis=-1, kind="stable")
    # Each series has its own changes.
    for row, (series, size) in enumerate(zip(*measured_first(rows), strict=True)):
        if size < LEAST:
            kind[row] = SHORT if size else ABSENT
            continue
        trimmed = without_outliers(series[:size])
        # The noise is that of differences of neighbours, at least a tenth of the tolerance.
        spread = 1.4826 * np.median(np.abs(np.diff(trimmed))) / np.sqrt(2)
        smallest = tolerance / 10 * abs(np.median(trimmed))
        noise = float(max(spread, smallest, np.finfo(float).tiny))
        starts = change_points(trimmed, penalty * np.log(size), noise)
        means = np.add.reduceat(trimmed, starts) / np.diff([*starts, size])
        kind[row], first = classify(starts, means, size, tolerance, share, higher)
        start[row] = order[row, first] if first < size else np.nan
        mean[row] = trimmed[first:].mean() if first < size else np.nan
        number[row], positions = len(starts), order[row, :size]
        segment[row, positions] = np.repeat(np.arange(len(starts)), np.diff([*starts, size]))
        levels[row, positions] = means[segment[row, positions].astype(int)]
    return (
        kind.reshape(shape),
        start.reshape(shape),
        mean.reshape(shape),
        number.reshape(shape),
        segment.reshape(values.shape),
        levels.reshape(values.shape),
    )


def classify(
    starts: Integers, means: Floats, size: int, tolerance: float, share: float, higher: bool
) -> tuple[str, int]:
    """Return the kind of a series of segments, and its first steady repetition, else `size`.

    Steady are the segments at the end whose means differ from the last one's by no more than the
    tolerance.
    """
    last = means[-1]
    worse = (last - means if higher else means - last) / max(abs(last), np.finfo(float).tiny)
    within_tolerance = np.abs(worse) <= tolerance
    first = len(means) - int(np.argmin([*within_tolerance[::-1], False]))
    position = int(starts[first]) if first < len(means) else 0
    if within_tolerance.all():
        return FLAT, 0
    if size - position < share * size:
        return UNSTEADY, size
    return (SLOWDOWN if (worse < -tolerance).any() else WARMUP), position


def without_outliers(series: Floats) -> Floats:
    """Return a series clipped to the median around, plus or minus three times the range of 80 %.

    Several in a row are no outliers, nor are those at the start: they may be a change.
    """
    n = len(series)
    window = min(n, max(20, min(WINDOW, n // 5)))
    step = window // 4 or 1
    around = np.lib.stride_tricks.sliding_window_view(series, window)[::step]
    low, middle, high = np.percentile(around, [10, 50, 90], axis=-1)
    nearest = np.clip((np.arange(n) - window // 2 + step // 2) // step, 0, len(around) - 1)
    reach = OUTLIER_RANGES * (high - low)[nearest]
    clipped = np.clip(series, middle[nearest] - reach, middle[nearest] + reach)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], clipped != series, [False]])))
    for first, last in bounds.reshape(-1, 2).tolist():
        if first == 0 or last - first > MAX_OUTLIERS:
            clipped[first:last] = series[first:last]
    return clipped

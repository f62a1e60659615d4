"""Whether the last commit differs, and since when, at a chosen rate of false alarms."""

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics.search import GROWTH
from perfarray.numerics.types import Floats, Mask

# The number of commits that are needed before one can be judged.
MIN_COMMITS = 8

# The largest number of last commits that are compared with those before.
WINDOW = 100

# False alarms per commit of each limit, by simulation (docs/scripts/history_law.py); beyond the
# last limit they fall as a normal tail.
LIMITS = np.array([2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0, 4.2, 4.4])
RATES = np.array([0.015, 0.0096, 0.0059, 0.0035, 0.002, 0.0011, 0.00051, 0.00025, 0.0001, 3.9e-05])


def watch(
    values: Floats, errors: Floats, min_size: int, rate: float
) -> list[tuple[int, int, float]]:
    """Return the changes that are seen when every commit is judged by those before it.

    The rank of each commit among those since the last change becomes a normal score. Without a
    change these scores are independent, whatever the noise, so that one limit holds for all series.
    The statistic is the largest sum of the last scores over the root of their number. After an
    alarm the watch starts again at the change.

    `values` (n,) are complete; of `errors` only the ratios count; a change has at least `min_size`
    commits; `rate` is that of false alarms per commit.

    Returns where the series changed, where this was seen, and the chance of such a change in a
    stable series of this length.

    References
    ----------
    D. R. McDonald, "A cusum procedure based on sequential ranks", Naval Research Logistics 37,
    1990; T. L. Lai, "Sequential changepoint detection in quality control and dynamical systems",
    JRSS B 57, 1995 (windows).
    """
    alarms: list[tuple[int, int, float]] = []
    n_known = max(MIN_COMMITS, min_size)
    first, limit = 0, float(np.interp(-np.log(rate), -np.log(RATES), LIMITS))
    while len(values) - first > n_known:
        statistics, lengths = largest_sums(
            sequential_scores(values[first:], errors[first:], n_known), min_size, n_known
        )
        candidates = np.flatnonzero(statistics >= limit)
        if not candidates.size:
            break
        index = int(candidates[0])
        statistic = float(statistics[index])
        alarm_rate = float(
            np.exp(
                np.interp(statistic, LIMITS, np.log(RATES))
                - max(statistic**2 - LIMITS[-1] ** 2, 0.0) / 2
            )
        )
        start = first + index - int(lengths[index]) + 1
        alarms.append((start, first + index, float(-np.expm1(-alarm_rate * len(values)))))
        first = start
    return alarms


def sequential_scores(values: Floats, errors: Floats, n_known: int) -> Floats:
    """Return the normal score of every value among those up to it, 0 for the first `n_known`.

    With unequal standard errors, ranks are those of distances from the median of the values before,
    in standard errors.
    """
    n = len(values)
    earlier: Mask = np.tri(n, k=-1, dtype=bool)
    if np.ptp(errors) == 0:
        distances, last = values[None, :], values[:, None]
    else:
        centres = np.array([np.median(values[: max(index, 1)]) for index in range(n)])
        distances = (values[None, :] - centres[:, None]) / errors
        last = np.diagonal(distances)[:, None]
    smaller = np.sum((distances < last) & earlier, axis=1)
    ties = np.sum((distances == last) & earlier, axis=1)
    scores = ndtri((smaller + ties / 2 + 0.5) / np.arange(1, n + 1))
    scores[:n_known] = 0.0
    return np.asarray(scores)


def largest_sums(scores: Floats, min_size: int, n_known: int) -> tuple[Floats, Floats]:
    """Return the largest sums of last scores over the root of their number, and this number."""
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    largest, lengths = np.zeros(len(scores)), np.full(len(scores), min_size)
    length = min_size
    while length <= min(WINDOW, len(scores) - n_known):
        statistics = np.zeros(len(scores))
        statistics[n_known + length - 1 :] = np.abs(
            sums[n_known + length :] - sums[n_known:-length]
        ) / np.sqrt(length)
        better = statistics > largest
        largest[better], lengths[better] = statistics[better], length
        length = max(length + 1, round(length * GROWTH))
    return largest, lengths

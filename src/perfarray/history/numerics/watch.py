"""Is the last commit different, and since when: a series watched commit by commit, at a chosen rate of false alarms."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics.search import GROWTH
from perfarray.numerics.types import Floats, Mask

KNOWN = 8
"""How many commits have to be known before one can be strange."""

WINDOW = 100
"""How many of the last commits may be different from those before."""

LIMITS = np.array([2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0, 4.2, 4.4])
RATES = np.array([0.015, 0.0096, 0.0059, 0.0035, 0.002, 0.0011, 0.00051, 0.00025, 0.0001, 3.9e-05])
"""How many false alarms per commit a limit gives, by simulation (docs/scripts/history_law.py); beyond the last, as a normal tail does."""


class Alarm(NamedTuple):
    """Where a series changed, where this was seen, and the chance of it anywhere in a stable series as long."""

    start: int
    seen_at: int
    pvalue: float


def watch(values: Floats, errors: Floats, least: int, rate: float) -> list[Alarm]:
    """Return the changes that are seen by one who looks at every commit once it is there.

    Each commit's rank among those since the last change becomes a normal score. Of commits that do not change these are independent,
    whatever the noise, so that one limit serves for all. What is watched is the largest of their sums over the last commits, over the
    root of their number; at an alarm the watch begins again where the change was.

    Parameters
    ----------
    values, errors : array, shape (n,)
        What was measured, complete; standard errors, of which only the ratios count.
    least : int
        The fewest commits that make a change.
    rate : float
        False alarms per commit.

    References
    ----------
    D. R. McDonald, "A cusum procedure based on sequential ranks", Naval Research Logistics 37, 1990; T. L. Lai, "Sequential changepoint
    detection in quality control and dynamical systems", JRSS B 57, 1995: windows.
    """
    alarms: list[Alarm] = []
    n_known = max(KNOWN, least)
    first, limit = 0, float(np.interp(-np.log(rate), -np.log(RATES), LIMITS))
    while len(values) - first > n_known:
        statistics, lengths = strangeness(sequential_scores(values[first:], errors[first:], n_known), least, n_known)
        candidates = np.flatnonzero(statistics >= limit)
        if not candidates.size:
            break
        alarm_index = int(candidates[0])
        strange = float(statistics[alarm_index])
        often = float(np.exp(np.interp(strange, LIMITS, np.log(RATES)) - max(strange**2 - LIMITS[-1] ** 2, 0.0) / 2))
        start = first + alarm_index - int(lengths[alarm_index]) + 1
        alarms.append(Alarm(start, first + alarm_index, float(-np.expm1(-often * len(values)))))
        first = start
    return alarms


def sequential_scores(values: Floats, errors: Floats, n_known: int) -> Floats:
    """Return the normal score of every value's rank among those up to it; 0 of the first, which have to be `known`.

    Where standard errors differ, ranks are those of distances from the median of the values before, in standard errors.
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


def strangeness(scores: Floats, least: int, n_known: int) -> tuple[Floats, Floats]:
    """Return at every place the largest sum of the last scores over the root of their number, and this number."""
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    largest, lengths = np.zeros(len(scores)), np.full(len(scores), least)
    length = least
    while length <= min(WINDOW, len(scores) - n_known):
        statistics = np.zeros(len(scores))
        statistics[n_known + length - 1 :] = np.abs(sums[n_known + length :] - sums[n_known:-length]) / np.sqrt(length)
        better = statistics > largest
        largest[better], lengths[better] = statistics[better], length
        length = max(length + 1, round(length * GROWTH))
    return largest, lengths

"""Where to look next for the commit that made a change: what one more measurement tells, and how many runs it is worth."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers, Mask

MOST = 64
"""Runs of one measurement beyond which none is looked at."""

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Search(NamedTuple):
    """What is asked of every series: the places of its commits among all, their number, which change, when it is sure, prices."""

    places: Integers
    size: int
    number: int | None
    sure: float
    commit_cost: float
    labels: npt.NDArray[Any]


def next_commits(
    change: Mask, probability: Floats, level: Floats, units: Floats, noise: Floats, within: Floats, *, search: Search
) -> tuple[npt.NDArray[Any], ...]:
    """Return what is best measured next of series: along all commits the posterior of the change; label, runs, culprit, its probability.

    Parameters
    ----------
    change, probability, level, units : array, shape (..., n)
        Along the commits of the history: the first of new segments, the probability of a change there, the mean of the segment (NaN where
        nothing was measured), and the units behind a commit's value.
    noise, within : array, shape (...)
        The relative standard deviation of a commit's value, and what of it lies between the units of one commit.
    search : Search
        What is asked.
    """
    shape = noise.shape
    posterior = np.full((*shape, search.size), np.nan)
    runs, sure = np.full(shape, np.nan), np.full(shape, np.nan)
    blank = _blank(search.labels)
    following, culprit = (np.full(shape, blank, dtype=search.labels.dtype) for _ in range(2))
    for cell in np.ndindex(shape):  # each has a change of its own
        starts = np.flatnonzero(change[cell])
        at = _which(starts, search.number)
        if at is None:
            continue
        measured = np.flatnonzero(~np.isnan(level[cell]))
        own = _positions(probability[cell], measured, starts, at, search)
        posterior[cell] = own
        best = int(np.argmax(own))
        culprit[cell], sure[cell] = search.labels[best], own[best]
        if own[best] < search.sure:
            before = measured[np.searchsorted(measured, starts[at]) - 1]
            step = abs(float(np.log(level[cell][starts[at]] / level[cell][before])))
            following[cell] = search.labels[int(np.argmin(np.abs(np.cumsum(own) - 0.5)))]
            own_units = 1 / np.mean(1 / units[cell][measured])
            runs[cell] = _runs(step, float(noise[cell]), float(within[cell]), float(own_units), search.commit_cost)
    return posterior, following, runs, culprit, sure


def _which(starts: Integers, number: int | None) -> int | None:
    """Return which of the changes is meant: the one at a place, or the last; None where it is not there."""
    if number is None:
        return len(starts) - 1 if len(starts) else None
    found = np.flatnonzero(starts == number)
    return int(found[0]) if found.size else None


def _blank(labels: npt.NDArray[Any]) -> Any:
    """Return what stands for no label."""
    return "" if labels.dtype.kind == "O" else np.array("NaT", dtype=labels.dtype) if labels.dtype.kind in "mM" else np.nan


def _positions(probability: Floats, measured: Integers, starts: Integers, at: int, search: Search) -> Floats:
    """Return the posterior of one change over all commits, from the middle of the segment before it to the middle of the one after.

    That of a commit is shared alike by those since the one measured before it, of which each may have made the change.
    """
    ends = [measured[0], *starts.tolist(), measured[-1] + 1]
    low, high = (ends[at] + ends[at + 1]) / 2, (ends[at + 1] + ends[at + 2]) / 2
    spread = np.zeros(search.size)
    for before, place in pairwise(measured.tolist()):
        if low < place <= max(high, starts[at]):
            first, last = search.places[before] + 1, search.places[place] + 1
            spread[first:last] += probability[place] / (last - first)
    return spread / spread.sum() if spread.sum() > 0 else np.where(np.arange(search.size) == search.places[starts[at]], 1.0, 0.0)


def _runs(step: float, noise: float, within: float, units: float, commit_cost: float) -> float:
    """Return the number of runs that tells most for its price, of which a part is that of the commit itself.

    Where one commit has one run only, nothing tells what more of them average away: it is one.
    """
    if not (step > 0 and noise > 0 and within > 0):
        return 1.0
    own = min(within, noise) ** 2
    number = np.arange(1, MOST + 1)
    spread = np.sqrt(noise**2 - own + own * units / number)
    told = information(step / spread) / (commit_cost + number)
    return float(number[np.argmax(told)])


def information(distance: Floats) -> Floats:
    """Return how many bits a measurement tells of whether a commit lies before or after a step, both as likely.

    `distance` is the step in standard deviations of the measurement.
    """
    likely = distance[..., None] ** 2 / 2 + distance[..., None] * NODES
    return np.asarray(1 - (WEIGHTS * np.logaddexp(0, -likely)).sum(axis=-1) / np.log(2))

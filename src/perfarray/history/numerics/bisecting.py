"""Where to look next for the commit that made a change: what one more measurement tells, and how many runs it is worth."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers, Mask

MOST = 64
"""Runs of one measurement beyond which none is looked at."""

BEND = 2.0
"""From how many standard deviations on a value counts less."""

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Search(NamedTuple):
    """What is asked of every series: the places of its commits among all, their number, which change, when it is sure, prices."""

    positions: Integers
    size: int
    number: int | None
    sure: float
    commit_cost: float
    labels: npt.NDArray[Any]


class Noise(NamedTuple):
    """The relative standard deviation between commits, which runs of one commit do not average away, and that of one run."""

    between: float
    run: float

    def of(self, runs: Floats) -> Floats:
        """Return the standard deviation of the value of a commit with so many runs."""
        return np.sqrt(self.between**2 + self.run**2 / runs)


def next_commits(
    change: Mask, value: Floats, level: Floats, units: Floats, noise: Floats, within: Floats, *, search: Search
) -> tuple[npt.NDArray[Any], ...]:
    """Return what is best measured next of series: label, runs, culprit and its probability, and along all commits the posterior.

    Parameters
    ----------
    change, value, level, units : array, shape (..., n)
        Along the commits of the history: the first of new segments, what was measured, the mean of the segment (NaN where nothing was
        measured), and the units behind a commit's value.
    noise, within : array, shape (...)
        The relative standard deviation of a commit's value, and what of it lies between the units of one commit.
    search : Search
        What is asked.
    """
    shape, blank = noise.shape, _blank(search.labels)
    posterior = np.full((*shape, search.size), np.nan)
    runs, sure = np.full(shape, np.nan), np.full(shape, np.nan)
    following, culprit = (np.full(shape, blank, dtype=search.labels.dtype) for _ in range(2))
    for cell in np.ndindex(shape):  # each has a change of its own
        starts = np.flatnonzero(change[cell])
        at = _which(starts, search.number)
        if at is None:
            continue
        measured = np.flatnonzero(~np.isnan(level[cell]))
        run_noise = min(float(within[cell]), float(noise[cell])) if within[cell] > 0 else 0.0
        spread = Noise((float(noise[cell]) ** 2 - run_noise**2) ** 0.5, run_noise * float(np.mean(1 / units[cell][measured])) ** -0.5)
        ends = [measured[0], *starts.tolist(), measured[-1] + 1]
        inside = measured[(measured > (ends[at] + ends[at + 1]) / 2 - 1) & (measured < (ends[at + 1] + ends[at + 2]) / 2)]
        previous = measured[np.searchsorted(measured, starts[at]) - 1]
        levels = np.log(level[cell][[previous, starts[at]]])
        chances = _chances(np.log(value[cell][inside]), levels, spread.of(units[cell][inside]))
        posterior[cell] = _shared(chances, search.positions[inside], search.size)
        best = int(np.argmax(posterior[cell]))
        culprit[cell], sure[cell] = search.labels[best], posterior[cell][best]
        if sure[cell] < search.sure:
            following[cell] = search.labels[int(np.argmin(np.abs(np.cumsum(posterior[cell]) - 0.5)))]
            runs[cell] = _runs(abs(float(levels[1] - levels[0])), spread, search.commit_cost)
    return following, runs, culprit, sure, posterior


def _which(starts: Integers, number: int | None) -> int | None:
    """Return which of the changes is meant: the one at a place, or the last; None where it is not there."""
    if number is None:
        return len(starts) - 1 if len(starts) else None
    positions = np.flatnonzero(starts == number)
    return int(positions[0]) if positions.size else None


def _blank(labels: npt.NDArray[Any]) -> Any:
    """Return what stands for no label."""
    return "" if labels.dtype.kind == "O" else np.array("NaT", dtype=labels.dtype) if labels.dtype.kind in "mM" else np.nan


def _chances(values: Floats, levels: Floats, spread: Floats) -> Floats:
    """Return the probability that a change lies between each value and the one before, all as likely beforehand, but for the first.

    The likelihood is that of Huber's loss: an outlying commit says no more than one at `BEND` standard deviations.
    """
    size = np.abs(values[:, None] - levels) / spread[:, None]
    losses = np.where(size <= BEND, size**2 / 2, BEND * size - BEND**2 / 2)
    gains = np.cumsum(losses[:, 1] - losses[:, 0])[:-1]
    chances = np.exp(gains - gains.max())
    return np.asarray(chances / chances.sum())


def _shared(chances: Floats, positions: Integers, size: int) -> Floats:
    """Return the posterior over all commits: each of those after one measured and up to the next may as well have made the change."""
    spread = np.zeros(size)
    for chance, (previous, position) in zip(chances, pairwise(positions.tolist()), strict=True):
        spread[previous + 1 : position + 1] += chance
    return np.asarray(spread / spread.sum())


def _runs(step: float, noise: Noise, commit_cost: float) -> float:
    """Return the number of runs that tells most for its price, of which a part is that of the commit itself.

    Where one commit has one run only, nothing tells what more of them average away: it is one.
    """
    if not (step > 0 and noise.run > 0):
        return 1.0
    number = np.arange(1.0, MOST + 1)
    information_rate = information(step / noise.of(number)) / (commit_cost + number)
    return float(number[np.argmax(information_rate)])


def information(distance: Floats) -> Floats:
    """Return how many bits a measurement tells of whether a commit lies before or after a step, both as likely.

    `distance` is the step in standard deviations of the measurement.
    """
    likely = distance[..., None] ** 2 / 2 + distance[..., None] * NODES
    return np.asarray(1 - (WEIGHTS * np.logaddexp(0, -likely)).sum(axis=-1) / np.log(2))

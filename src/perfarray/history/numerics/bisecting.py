"""Which commit to measure next to find the one that made a change, and how many runs of it pay."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from perfarray.history.numerics.results import blank
from perfarray.history.numerics.steps import huber_loss
from perfarray.numerics.types import Floats, Integers, Mask

# The numbers of runs that are considered.
RUNS = np.arange(1.0, 65.0)

# The cost of one more commit beside its runs, in runs.
COMMIT_COST = 1.0

# Relative difference up to which shares are equal
ROUNDING = 1e-9

# Gauss-Hermite quadrature over a standard normal variable.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def next_commits(
    change: Mask,
    value: Floats,
    level: Floats,
    units: Floats,
    noise: Floats,
    within: Floats,
    *,
    positions: Integers,
    labels: npt.NDArray[Any],
    number: int | None,
    probability: float,
) -> tuple[npt.NDArray[Any], ...]:
    """Return the commit to measure next, its runs, the culprit with its probability and range.

    The last array is the posterior.

    The first four arrays lie along the history (..., n): whether a commit begins a segment, its
    value, the mean of its segment (NaN where nothing was measured), and its units. `noise` and
    `within` (...) are the relative standard deviation of a commit, and the part between its units.
    `positions` are the measured ones among all commits, `labels`; `number` is the position of the
    change in the history (None: the last one).
    """
    shape = noise.shape
    posterior = np.full((*shape, len(labels)), np.nan)
    runs, certainty = (np.full(shape, np.nan) for _ in range(2))
    following, culprit, earliest, latest = (
        np.full(shape, blank(labels), dtype=labels.dtype) for _ in range(4)
    )
    for cell in np.ndindex(shape):  # each has a change of its own
        starts = np.flatnonzero(change[cell])
        candidates = (
            np.flatnonzero(starts == number) if number is not None else np.arange(len(starts))
        )
        if not candidates.size:
            continue
        at = int(candidates[-1])
        measured = np.flatnonzero(~np.isnan(level[cell]))
        run_noise = min(float(within[cell]), float(noise[cell])) if within[cell] > 0 else 0.0
        between = (float(noise[cell]) ** 2 - run_noise**2) ** 0.5
        run_noise *= float(np.mean(1 / units[cell][measured])) ** -0.5
        ends = [measured[0], *starts.tolist(), measured[-1] + 1]
        inside = measured[
            (measured > (ends[at] + ends[at + 1]) / 2 - 1)
            & (measured < (ends[at + 1] + ends[at + 2]) / 2)
        ]
        previous = measured[np.searchsorted(measured, starts[at]) - 1]
        old, new = np.log(level[cell][[previous, starts[at]]])
        # The change lies between a value and the one before; all these places are equally likely
        # beforehand.
        values = np.log(value[cell][inside])
        spread = np.sqrt(between**2 + run_noise**2 / units[cell][inside])
        losses_old, losses_new = (huber_loss(np.abs(values - mean) / spread) for mean in (old, new))
        chances = softmax(np.cumsum(losses_new - losses_old)[:-1])
        shares = np.zeros(len(labels))
        for chance, (low, high) in zip(chances, pairwise(positions[inside].tolist()), strict=True):
            # Commits that were not measured are as likely as the next one that was.
            shares[low + 1 : high + 1] += chance
        posterior[cell] = shares / shares.sum()
        best = int(np.argmax(posterior[cell]))
        culprit[cell], certainty[cell] = labels[best], posterior[cell][best]
        first, last = credible_range(posterior[cell], probability)
        earliest[cell], latest[cell] = labels[first], labels[last]
        if certainty[cell] < probability:
            following[cell] = labels[int(np.argmin(np.abs(np.cumsum(posterior[cell]) - 0.5)))]
            runs[cell] = 1.0  # where commits have one run, and nothing shows their noise
            if (step := abs(float(new - old))) > 0 and run_noise > 0:
                # Runs do not average away the noise between commits.
                bits = information(step / np.sqrt(between**2 + run_noise**2 / RUNS))
                runs[cell] = RUNS[np.argmax(bits / (COMMIT_COST + RUNS))]
    return following, runs, culprit, certainty, earliest, latest, posterior


def credible_range(posterior: Floats, probability: float) -> tuple[int, int]:
    """Return the ends of the smallest set of commits with such a probability.

    Commits that are as likely as the least likely one in the set are in it.
    """
    shares = np.sort(posterior)[::-1]
    last = min(int(np.searchsorted(np.cumsum(shares), probability)), len(shares) - 1)
    inside = np.flatnonzero(posterior >= shares[last] * (1 - ROUNDING))
    return int(inside[0]), int(inside[-1])


def information(distance: Floats) -> Floats:
    """Return the bits that a measurement tells of the side of a step on which a commit lies.

    Both sides are equally likely. `distance` is the step in standard deviations of the measurement.
    """
    log_odds = distance[..., None] ** 2 / 2 + distance[..., None] * NODES
    return np.asarray(1 - (WEIGHTS * np.logaddexp(0, -log_odds)).sum(axis=-1) / np.log(2))

"""Fits that EM runs together, with any number of components, in shared arrays; where EM stops."""

import itertools
from typing import Any, NamedTuple, cast

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask

Rows = Integers | Mask

# Least variance of a component, as a share of the sample's: a component there has collapsed on ties
# or on one value.
FLOOR = 1e-12

# Relative change of the log-likelihood at which plain EM gives way to accelerated EM: earlier, it
# may jump to another maximum.
CALM = 1e-7

# Estimated distance from the maximum, in standard deviations of a component, at which accelerated
# EM stops.
SETTLED = 1e-7

# Estimated log-likelihood still to gain at which accelerated EM stops: on a ridge the maximum is
# far away and no better.
GAIN = 1e-12

# The limit that stands for accelerated EM, which ends at a maximum.
ACCELERATED = 0.0

MOST_STEPS = 20_000

# Densities below this are computed again, relative to the nearest component.
TINY = 1e-280

# Squared change of the weights in the next step above which mclust takes that step for the fit it
# selects.
MOVED = float(np.sqrt(np.finfo(float).eps))

LOG_2PI = float(np.log(2 * np.pi))

# Values times components that are iterated together: what stays in a cache. Where fits end, others
# begin.
ACTIVE = 1 << 16

# A number of components, and whether they have one variance.
Candidate = tuple[int, bool]


class Samples(NamedTuple):
    """Samples of like size, ordered and standardised.

    Positions past a sample's end repeat its least value with weight 0.

    A value may stand for a group of values: `inside` is their variance.
    """

    values: Floats
    weights: Floats
    n: Integers
    total: Floats
    center: Floats
    scale: Floats
    raw: Floats
    inside: Floats

    def take(self, rows: Rows) -> "Samples":
        """Return some of the samples."""
        return Samples(*(column[rows] for column in cast(tuple[Any, ...], self)))


class Theta(NamedTuple):
    """Parameters of standardised samples, shape (sample, component).

    In a pool, of all fits in one sequence.
    """

    weights: Floats
    means: Floats
    variances: Floats

    def take(self, rows: Rows | slice) -> "Theta":
        """Return some of the samples, or of the components of a pool."""
        return Theta(*(column[rows] for column in self))

    def put(self, rows: Integers | slice, new: "Theta") -> None:
        """Overwrite some of the samples, or of the components of a pool."""
        for column, values in zip(self, new, strict=True):
            column[rows] = values

    def copy(self) -> "Theta":
        """Return a copy."""
        return Theta(*(column.copy() for column in self))


class EmResult(NamedTuple):
    """The result of EM for the fits of a pool."""

    theta: Theta
    loglik: Floats
    n_iterations: Integers
    converged: Mask
    floored: Mask

    def put(self, rows: Integers, components: Integers, new: "EmResult") -> None:
        """Overwrite some of the fits, whose parameters have the given positions."""
        self.theta.put(components, new.theta)
        for column, values in zip(self[1:], new[1:], strict=True):
            cast(Any, column)[rows] = values


def unfinished(theta: Theta, size: int) -> EmResult:
    """Return the results of fits that begin with some parameters, to be filled in."""
    return EmResult(
        theta.copy(),
        np.full(size, -np.inf),
        np.zeros(size, np.intp),
        np.zeros(size, bool),
        np.zeros(size, bool),
    )


class Pool:
    """Fits of samples of like size that EM runs together: one call of NumPy serves them all.

    The components of all fits stand in one sequence, and fits are sorted by their number of
    components: those of one number are a block.
    """

    def __init__(
        self,
        samples: Samples,
        rows: Integers,
        candidate: Integers,
        numbers: Integers,
        equal: Mask,
        steps: Any,
    ) -> None:
        self.samples, self.rows, self.candidate = samples, rows, candidate
        # `steps` are the `steps.Steps` of a law, which work on pools.
        self.numbers, self.equal, self.steps = numbers, equal, steps
        self.n, self.total = samples.n[rows], samples.total[rows]
        # What is subtracted from the log-likelihood to have it in the units of the data.
        self.jacobian = self.total * np.log(samples.scale[rows])
        self.firsts = np.cumsum(numbers) - numbers
        self.owner = np.repeat(np.arange(len(numbers)), numbers)
        self.load = np.asarray(self.n * numbers)

    def take(self, fits: Integers) -> "Pool":
        """Return some of the fits."""
        return Pool(
            self.samples,
            self.rows[fits],
            self.candidate[fits],
            self.numbers[fits],
            self.equal[fits],
            self.steps,
        )

    def components(self, fits: Integers) -> Integers:
        """Return the positions of the components of some of the fits."""
        count = self.numbers[fits]
        return np.asarray(
            np.repeat(self.firsts[fits] - np.cumsum(count) + count, count) + np.arange(count.sum())
        )

    def refilled(self, fits: Integers, first: int) -> tuple[Integers, int]:
        """Return the active fits and as many waiting ones, from `first` on, as there is room for.

        And the first that still waits.
        """
        load = self.load[fits].sum()
        last = (
            int(np.searchsorted(np.cumsum(self.load[first:]), ACTIVE - load, side="right")) + first
        )
        last = max(last, first + 1) if not len(fits) and first < len(self.load) else last
        return np.concatenate([fits, np.arange(first, last)]), last

    def sums(self, column: Floats) -> Floats:
        """Add up over the components of every fit."""
        return np.asarray(np.add.reduceat(column, self.firsts))

    def pooled(self, column: Floats) -> Floats:
        """Return the number of every component, or the sum over its fit if spreads are equal."""
        return np.where(self.equal[self.owner], self.sums(column)[self.owner], column)

    def shared(self, column: Floats, shares: Floats) -> Floats:
        """Return the number of every component over its share, or the fit's over its total."""
        pooled = (self.sums(column) / self.total)[self.owner]
        return np.where(self.equal[self.owner], pooled, column / shares)

    def bounded(self, theta: Theta) -> tuple[Theta, Mask]:
        """Keep variances at the floor or above, and return which fits needed it.

        A component without weight is at the floor too.
        """
        low = (theta.variances <= FLOOR) | (theta.weights < TINY)
        bounded = Theta(
            np.maximum(theta.weights, TINY), theta.means, np.where(low, FLOOR, theta.variances)
        )
        return bounded, np.asarray(np.logical_or.reduceat(low, self.firsts))


class Batch(Pool):
    """Some fits of a pool that are iterated together, with the arrays that their steps take."""

    def __init__(self, pool: Pool, fits: Integers) -> None:
        samples = pool.samples
        super().__init__(
            samples,
            pool.rows[fits],
            pool.candidate[fits],
            pool.numbers[fits],
            pool.equal[fits],
            pool.steps,
        )
        length = self.n.max()
        self.weights = samples.weights[self.rows, :length]
        # Of the sample of every component.
        self.values = samples.values[self.rows, :length][self.owner]
        self.scale = samples.scale[self.rows][self.owner]
        self.inside = (
            samples.inside[self.rows, :length][self.owner] if samples.inside.any() else None
        )
        # Each step overwrites these: three with a row per component, one with a row per fit.
        self.deviations, self.terms, self.joint = (np.empty(self.values.shape) for _ in range(3))
        self.density = np.empty(self.weights.shape)
        # Views of every number of components, shape (fit, component, value) and (fit, value).
        self.views = []
        for first, last in itertools.pairwise(
            np.flatnonzero(np.diff(self.numbers, prepend=0, append=0)).tolist()
        ):
            number, start = self.numbers[first], self.firsts[first]
            components = self.joint[start : start + (last - first) * number]
            self.views.append((components.reshape(-1, number, length), self.density[first:last]))

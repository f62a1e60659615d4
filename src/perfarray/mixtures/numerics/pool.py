"""Fits that EM runs together: samples, parameters and what they arrive at, of any number of components, side by side in one array."""

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from perfarray.mixtures.numerics.laws import Law
from perfarray.mixtures.numerics.start import quantile_classes
from perfarray.mixtures.numerics.stops import FLOOR, TINY
from perfarray.numerics.types import Floats, Integers, Mask

Rows = Integers | Mask

ACTIVE = 1 << 16
"""Values times components of the fits of a pool that go on at a time: what stays in a cache. Where fits end, others begin."""

Candidate = tuple[int, bool]
"""A number of components, and whether they have one variance."""


class Samples(NamedTuple):
    """Samples of like size, ordered and standardised; places past a sample's end repeat its least value with weight 0.

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
        return Samples(*(part[rows] for part in cast(tuple[Any, ...], self)))

    @property
    def jacobian(self) -> Floats:
        """What is taken off the log-likelihood to have it in the units of the data."""
        return self.total * np.log(self.scale)


class Theta(NamedTuple):
    """Parameters of standardised samples, shape (sample, component); in a pool those of all fits one after the other."""

    weights: Floats
    means: Floats
    variances: Floats

    def take(self, rows: Rows | slice) -> "Theta":
        """Return some of the samples, or of the components of a pool."""
        return Theta(*(part[rows] for part in self))

    def put(self, rows: Integers | slice, other: "Theta") -> None:
        """Overwrite some of the samples, or of the components of a pool."""
        for part, new in zip(self, other, strict=True):
            part[rows] = new


class Run(NamedTuple):
    """What EM of one number of components and one model arrived at."""

    theta: Theta
    loglik: Floats
    n_iterations: Integers
    converged: Mask
    floored: Mask

    def take(self, rows: Rows) -> "Run":
        """Return some of the samples."""
        return Run(self.theta.take(rows), *(part[rows] for part in cast(tuple[Any, ...], self[1:])))

    def put(self, rows: Integers, other: "Run") -> None:
        """Overwrite some of the samples."""
        self.theta.put(rows, other.theta)
        for part, new in zip(self[1:], other[1:], strict=True):
            cast(Any, part)[rows] = new


class Steps(NamedTuple):
    """What EM does that depends on the law of the components (`steps`).

    Parameters
    ----------
    prepared : callable
        (pool, theta): writes to the room of the pool what densities are made of, beside deviations.
    exponents, offset : callable
        (pool, theta, rows, out) and (pool, theta): what log densities are the sum of, beside a constant.
    maximised : callable
        (pool, theta, shares): the next places and squared spreads, of what each component takes of the values, which lies in the room.
    start : callable
        (samples, starts, theta, equal): the parameters EM starts from, of weights, means and variances of classes.
    classes : callable
        (samples, number): where these classes begin.
    constant : float
        What belongs to every log density.
    spreads : {1, 0}
        Whether spreads are parameters.
    edges : {0, 1}
        How often the place of a component counts once more than as one parameter, beyond the first: an edge is known to 1 / n and not to
        the root of that, which BIC, an integral over what is not known, takes into account.
    closed : bool
        Whether the start of one component is its maximum.
    law : Law, optional
        The law of the components, where all parameters move and densities have no jump: what Newton's method goes by (`newton`).
    """

    prepared: Callable[["Pool", Theta], None]
    exponents: Callable[..., Floats]
    offset: Callable[["Pool", Theta], Floats]
    maximised: Callable[["Pool", Theta, Floats], tuple[Floats, Floats]]
    start: Callable[[Samples, Integers, Theta, bool], Theta]
    classes: Callable[[Samples, int], Integers] = lambda samples, number: quantile_classes(samples.raw, samples.n, number)
    constant: float = 0.0
    spreads: int = 1
    edges: int = 0
    closed: bool = False
    law: Law | None = None


class Pool:
    """Fits of samples of like size that EM runs together: one call of NumPy serves them all, whatever their number of components.

    Components of all fits stand one after the other, and fits by their number of components, ascending: those of one number are a block.
    """

    def __init__(self, samples: Samples, rows: Integers, numbers: Integers, equal: Mask, steps: Steps) -> None:
        self.samples, self.rows, self.numbers, self.equal, self.steps = samples, rows, numbers, equal, steps
        self.n, self.total, self.jacobian = samples.n[rows], samples.total[rows], samples.jacobian[rows]
        self.firsts = np.cumsum(numbers) - numbers
        self.owner = np.repeat(np.arange(len(numbers)), numbers)

    def take(self, fits: Integers) -> "Pool":
        """Return some of the fits."""
        return Pool(self.samples, self.rows[fits], self.numbers[fits], self.equal[fits], self.steps)

    @cached_property
    def values(self) -> Floats:
        """Values of the sample of every fit, without what lies past the longest."""
        return self.samples.values[self.rows, : self.n.max()]

    @cached_property
    def weights(self) -> Floats:
        """What each value counts."""
        return self.samples.weights[self.rows, : self.n.max()]

    @cached_property
    def grouped(self) -> bool:
        """Whether values stand for several."""
        return bool(self.samples.inside.any())

    @cached_property
    def inside(self) -> Floats:
        """Variance inside what each value stands for."""
        return self.samples.inside[self.rows, : self.n.max()]

    @cached_property
    def scale(self) -> Floats:
        """What the sample of every component was divided by."""
        return self.samples.scale[self.rows][self.owner]

    def places(self, fits: Integers) -> Integers:
        """Return where the components of some of the fits stand."""
        count = self.numbers[fits]
        return np.asarray(np.repeat(self.firsts[fits] - np.cumsum(count) + count, count) + np.arange(count.sum()))

    def refilled(self, fits: Integers, first: int) -> tuple[Integers, int]:
        """Return the fits that go on, with as many of those from `first` on as there is room for, and the first of those left."""
        load = self.load[fits].sum()
        last = int(np.searchsorted(np.cumsum(self.load[first:]), ACTIVE - load, side="right")) + first
        last = max(last, first + 1) if not len(fits) and first < len(self.load) else last
        return np.concatenate([fits, np.arange(first, last)]), last

    @cached_property
    def load(self) -> Integers:
        """Values times components of every fit."""
        return np.asarray(self.n * self.numbers)

    @cached_property
    def blocks(self) -> list[tuple[slice, slice, int]]:
        """Fits and components of every number of components, and that number."""
        edges = [0, *(np.flatnonzero(np.diff(self.numbers)) + 1).tolist(), len(self.numbers)]
        found = []
        for first, last in itertools.pairwise(edges):
            number, start = int(self.numbers[first]), int(self.firsts[first])
            found.append((slice(first, last), slice(start, start + (last - first) * number), number))
        return found

    @cached_property
    def room(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What a step writes to, a row per component, and a row per fit: the next step writes over it."""
        length = self.values.shape[-1]
        deviations, squares, joint = (np.empty((len(self.owner), length)) for _ in range(3))
        return deviations, squares, joint, np.empty((len(self.numbers), length))

    @cached_property
    def repeated(self) -> Floats:
        """Values of the sample of every component."""
        return self.values[self.owner]

    @cached_property
    def views(self) -> list[tuple[Floats, Floats]]:
        """What a step writes of every block: of its components, shape (fit, component, value), and of its fits, shape (fit, value)."""
        _, _, joint, density = self.room
        return [(joint[rows].reshape(-1, number, joint.shape[-1]), density[fits]) for fits, rows, number in self.blocks]

    def sums(self, part: Floats) -> Floats:
        """Add up over the components of every fit."""
        return np.asarray(np.add.reduceat(part, self.firsts))

    def pooled(self, part: Floats) -> Floats:
        """Return a part of every component, or of all components of its fit together where these have one spread."""
        return np.where(self.equal[self.owner], self.sums(part)[self.owner], part)

    def shared(self, part: Floats, shares: Floats) -> Floats:
        """Return a part of every component over its share of the values, or of its fit over their number where it has one spread."""
        pooled = (self.sums(part) / self.total)[self.owner]
        return np.where(self.equal[self.owner], pooled, part / shares)

    def some(self, part: Mask) -> Mask:
        """Return for every fit whether something holds for one of its components."""
        return np.asarray(np.logical_or.reduceat(part, self.firsts))

    def held(self, theta: Theta) -> tuple[Theta, Mask]:
        """Keep variances at the floor or above, and say which fits needed it; a component without weight is at the floor too."""
        low = (theta.variances <= FLOOR) | (theta.weights < TINY)
        return Theta(np.maximum(theta.weights, TINY), theta.means, np.where(low, FLOOR, theta.variances)), self.some(low)


def run_pooled(
    samples: Samples,
    runs: Sequence[Run],
    fitted: Sequence[Integers],
    candidates: Sequence[Candidate],
    steps: Steps,
    work: Callable[[Pool, Run], Run],
) -> None:
    """Make a pool of some rows of every candidate, do some work with it, and write down what it finds."""
    order = sorted(range(len(candidates)), key=lambda place: candidates[place][0])
    count = [len(fitted[place]) for place in order]
    if not sum(count):
        return
    rows = np.concatenate([fitted[place] for place in order])
    numbers = np.repeat([candidates[place][0] for place in order], count)
    equal = np.repeat([candidates[place][1] for place in order], count)
    given = [runs[place].take(fitted[place]) for place in order]
    theta = Theta(*(np.concatenate([run.theta[part].ravel() for run in given]) for part in range(3)))
    rest = (np.concatenate([cast(Any, run)[part] for run in given]) for part in range(1, 5))
    found = work(Pool(samples, rows, numbers, equal, steps), Run(theta, *rest))
    fit = component = 0
    for place in order:
        some, number = fitted[place], candidates[place][0]
        fits, components = slice(fit, fit + len(some)), slice(component, component + len(some) * number)
        own = Theta(*(part[components].reshape(-1, number) for part in found.theta))
        runs[place].put(some, Run(own, *(part[fits] for part in cast(tuple[Any, ...], found[1:]))))
        fit, component = fits.stop, components.stop

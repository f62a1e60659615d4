"""EM for mixtures of normal distributions, many samples at once: plain as mclust runs and stops it, and accelerated to the maximum."""

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from perfarray.mixtures.numerics.start import quantile_classes
from perfarray.numerics.types import Floats, Integers, Mask

Rows = Integers | Mask

FLOOR = 1e-12
"""Least variance of a component, as a share of the sample's: a component there has collapsed on ties or on one value."""

CALM = 1e-7
"""Relative change of the log-likelihood at which plain EM gives way to accelerated EM: earlier, it may leap to another maximum."""

SETTLED = 1e-7
"""Estimated distance from the maximum, in standard deviations of a component, at which accelerated EM stops."""

GAIN = 1e-12
"""Log-likelihood that is estimated to be still to gain, at which accelerated EM stops: on a ridge the maximum is far and no better."""

MOST_STEPS = 20_000
"""Most steps of EM."""

BLOCK = 1 << 16
"""Values of the samples that are fitted together."""

ACTIVE = 1 << 16
"""Values times components of the fits of a pool that go on at a time: what stays in a cache. Where fits end, others begin."""

TINY = 1e-280
"""Densities below this are computed again, relative to the nearest component."""

MOVED = float(np.sqrt(np.finfo(float).eps))
"""Squared distance of the weights from those of the next step, above which mclust takes that step for the fit it selects."""

LOG_2PI = float(np.log(2 * np.pi))


class Samples(NamedTuple):
    """Samples of like size, ordered and standardised; places past a sample's end repeat its least value with weight 0."""

    values: Floats
    weights: Floats
    n: Integers
    total: Floats
    center: Floats
    scale: Floats
    raw: Floats

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

    def take(self, rows: Rows) -> "Theta":
        """Return some of the samples, or of the components of a pool."""
        return Theta(*(part[rows] for part in self))

    def put(self, rows: Integers, other: "Theta") -> None:
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


class Task(NamedTuple):
    """What plain EM is asked for: where to stop, whether fits at the floor go on, mclust's last step."""

    limit: float
    forced: bool
    last: bool


Candidate = tuple[int, bool]
"""A number of components, and whether they have one variance."""


def em(samples: Samples, candidates: Sequence[Candidate], task: Task, engine: str) -> list[Run]:
    """Run EM for every number of components and model asked for, on all samples."""
    size = len(samples.values)
    runs, starts = [], []
    for number, _ in candidates:
        theta = Theta(*(np.full((size, number), np.nan) for _ in range(3)))
        flags = np.zeros(size, bool), np.ones(size, bool)
        runs.append(Run(theta, np.full(size, -np.inf), np.zeros(size, np.intp), *flags))
        starts.append(quantile_classes(samples.raw, samples.n, number))
    fitted = [np.flatnonzero((np.diff(own, axis=-1) > 0).all(axis=-1)) for own in starts]
    if engine != "numpy":
        for run, own, rows, (_, equal) in zip(runs, starts, fitted, candidates, strict=True):
            run.put(rows, _em_compiled(samples.take(rows), own[rows], equal, task))
        return runs
    for run, own, rows, (_, equal) in zip(runs, starts, fitted, candidates, strict=True):
        run.theta.put(rows, _from_classes(samples.take(rows), own[rows], equal))
    _together(samples, runs, fitted, candidates, lambda pool, run: _em_pool(pool, run, task))
    return runs


def finish(
    samples: Samples, runs: Sequence[Run], fitted: Sequence[Integers], candidates: Sequence[Candidate], forced: bool, engine: str
) -> None:
    """Bring some of the fits of every candidate, the rows `fitted`, to their maximum."""
    if engine == "numpy":
        _together(samples, runs, fitted, candidates, lambda pool, run: _finished(pool, run, forced))
        return
    for run, rows, (_, equal) in zip(runs, fitted, candidates, strict=True):
        run.put(rows, _finished_compiled(samples.take(rows), run.take(rows), equal, forced))


def _em_compiled(samples: Samples, starts: Integers, equal: bool, task: Task) -> Run:
    """Let the compiled engine run EM."""
    from perfarray.mixtures.numerics.compiled import em_compiled

    jacobian = samples.jacobian
    theta, *found = em_compiled(samples.values, samples.weights, samples.n, samples.total, jacobian, starts, equal, *task)
    return Run(Theta(*theta), *found)


def _finished_compiled(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Let the compiled engine go on to the maximum."""
    from perfarray.mixtures.numerics.compiled import finish_compiled

    jacobian = samples.jacobian
    theta, loglik, steps, converged, floored = finish_compiled(
        samples.values, samples.weights, samples.n, samples.total, jacobian, run.theta, equal, forced, (CALM, SETTLED)
    )
    return Run(Theta(*theta), loglik, run.n_iterations + steps, converged, run.floored | floored)


class Pool:
    """Fits of samples of like size that EM runs together: one call of NumPy serves them all, whatever their number of components.

    Components of all fits stand one after the other, and fits by their number of components, ascending: those of one number are a block.
    """

    def __init__(self, samples: Samples, rows: Integers, numbers: Integers, equal: Mask) -> None:
        self.samples, self.rows, self.numbers, self.equal = samples, rows, numbers, equal
        self.n, self.total, self.jacobian = samples.n[rows], samples.total[rows], samples.jacobian[rows]
        self.firsts = np.cumsum(numbers) - numbers
        self.owner = np.repeat(np.arange(len(numbers)), numbers)

    def take(self, fits: Integers) -> "Pool":
        """Return some of the fits."""
        return Pool(self.samples, self.rows[fits], self.numbers[fits], self.equal[fits])

    @cached_property
    def values(self) -> Floats:
        """Values of the sample of every fit, without what lies past the longest."""
        return self.samples.values[self.rows, : self.n.max()]

    @cached_property
    def weights(self) -> Floats:
        """What each value counts."""
        return self.samples.weights[self.rows, : self.n.max()]

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

    def sums(self, part: Floats) -> Floats:
        """Add up over the components of every fit."""
        return np.asarray(np.add.reduceat(part, self.firsts))

    def some(self, part: Mask) -> Mask:
        """Say for every fit whether something holds for one of its components."""
        return np.asarray(np.logical_or.reduceat(part, self.firsts))


def _together(
    samples: Samples,
    runs: Sequence[Run],
    fitted: Sequence[Integers],
    candidates: Sequence[Candidate],
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
    found = work(Pool(samples, rows, numbers, equal), Run(theta, *rest))
    fit = component = 0
    for place in order:
        some, number = fitted[place], candidates[place][0]
        fits, components = slice(fit, fit + len(some)), slice(component, component + len(some) * number)
        own = Theta(*(part[components].reshape(-1, number) for part in found.theta))
        runs[place].put(some, Run(own, *(part[fits] for part in cast(tuple[Any, ...], found[1:]))))
        fit, component = fits.stop, components.stop


def _em_pool(pool: Pool, run: Run, task: Task) -> Run:
    """Plain EM from the classes; one component needs none."""
    alone = np.flatnonzero(pool.numbers == 1)
    several = np.flatnonzero(pool.numbers > 1)
    if len(several):
        _put(run, pool, several, _plain(pool.take(several), run.theta.take(pool.places(several)), task))
    if len(alone):
        theta = run.theta.take(pool.places(alone))
        run.loglik[alone] = _step(pool.take(alone), theta)[1]
        run.converged[alone], run.floored[alone] = True, False
    return run


def _put(run: Run, pool: Pool, fits: Integers, other: Run) -> None:
    """Overwrite some of the fits of a pool."""
    run.theta.put(pool.places(fits), other.theta)
    for part, new in zip(run[1:], other[1:], strict=True):
        cast(Any, part)[fits] = new


def _from_classes(samples: Samples, starts: Integers, equal: bool) -> Theta:
    """Return weights, means and variances of the classes EM starts from."""
    size, length = samples.values.shape
    number = starts.shape[-1] - 1
    shares, means, squares = (np.empty((size, number)) for _ in range(3))
    place = np.arange(length)
    for own in range(number):
        inside = np.where((place >= starts[:, own, None]) & (place < starts[:, own + 1, None]), samples.weights, 0.0)
        shares[:, own] = inside.sum(axis=-1)
        means[:, own] = (inside * samples.values).sum(axis=-1) / shares[:, own]
        squares[:, own] = (inside * (samples.values - means[:, own, None]) ** 2).sum(axis=-1)
    variances = np.broadcast_to((squares.sum(axis=-1) / samples.total)[:, None], squares.shape) if equal else squares / shares
    return Theta(shares / samples.total[:, None], means, variances)


def _step(pool: Pool, theta: Theta) -> tuple[Theta, Floats]:
    """One step of EM: the next parameters, and the log-likelihood of those that were given.

    Sums are about the present means, so that no digits cancel however narrow a component is.
    """
    values, weights, total = pool.values, pool.weights, pool.total
    length = values.shape[-1]
    deviations, squares, joint, density = pool.room
    for fits, rows, number in pool.blocks:
        np.subtract(values[fits, None], theta.means[rows].reshape(-1, number, 1), out=deviations[rows].reshape(-1, number, length))
    np.multiply(deviations, deviations, out=squares)
    slope, offset = (-0.5 / theta.variances)[:, None], (np.log(theta.weights) - 0.5 * np.log(theta.variances))[:, None]
    np.multiply(squares, slope, out=joint)
    joint += offset
    np.exp(joint, out=joint)
    for fits, rows, number in pool.blocks:
        joint[rows].reshape(-1, number, length).sum(axis=1, out=density[fits])
    far = np.flatnonzero(density.min(axis=-1) < TINY)
    with np.errstate(divide="ignore"):
        log_density = np.log(density)
    for fit in far:
        rows = slice(pool.firsts[fit], pool.firsts[fit] + pool.numbers[fit])
        terms = squares[rows] * slope[rows] + offset[rows]
        largest = terms.max(axis=0)
        joint[rows] = np.exp(terms - largest)
        density[fit] = joint[rows].sum(axis=0)
        log_density[fit] = np.log(density[fit]) + largest
    loglik = np.einsum("fn,fn->f", weights, log_density) - 0.5 * LOG_2PI * total
    np.divide(weights, density, out=density)
    for fits, rows, number in pool.blocks:
        own = joint[rows].reshape(-1, number, length)
        np.multiply(own, density[fits, None], out=own)
    shares = joint.sum(axis=-1)
    safe = np.where(shares > 0, shares, 1.0)
    shift = np.einsum("cn,cn->c", joint, deviations) / safe
    spread = np.einsum("cn,cn->c", joint, squares) - safe * shift**2
    pooled = (pool.sums(spread) / total)[pool.owner]
    variances = np.where(pool.equal[pool.owner], pooled, spread / safe)
    return Theta(shares / total[pool.owner], theta.means + shift, variances), loglik


def _held(pool: Pool, theta: Theta) -> tuple[Theta, Mask]:
    """Keep variances at the floor or above, and say which fits needed it; a component without weight is at the floor too."""
    low = (theta.variances <= FLOOR) | (theta.weights < TINY)
    return Theta(np.maximum(theta.weights, TINY), theta.means, np.where(low, FLOOR, theta.variances)), pool.some(low)


def _plain(pool: Pool, theta: Theta, task: Task) -> Run:
    """Plain EM as mclust stops it: when |change of l| / (1 + |l|) is at most `limit`, l in the units of the data.

    With `last`, weights that one more step would still move get that step, as in the fit that mclust selects; l stays what it was.
    """
    limit, forced, last = task
    size = len(pool.numbers)
    found = _unfinished(theta, size)
    before = np.full(size, np.inf)
    state = Theta(*(part.copy() for part in theta))
    fits, waiting = pool.refilled(np.empty(0, np.intp), 0)
    while len(fits):
        own, places = pool.take(fits), pool.places(fits)
        theta, goes_on = state.take(places), np.ones(len(fits), bool)
        while goes_on.all():
            theta, low = _held(own, theta)
            found.floored[fits] |= low
            if low.any() and not forced:
                found.n_iterations[fits[low]] = 0
                goes_on = ~low
                break
            following, loglik = _step(own, theta)
            in_units = loglik - own.jacobian
            stop = np.abs(before[fits] - in_units) / (1 + np.abs(in_units)) <= limit
            before[fits] = in_units
            found.n_iterations[fits] += 1
            goes_on = ~stop & (found.n_iterations[fits] < MOST_STEPS)
            if not goes_on.all():
                found.loglik[fits], found.converged[fits] = loglik, stop
                ends = ~goes_on[own.owner]
                given = theta.take(ends)
                last_step = _last_step(own.take(np.flatnonzero(~goes_on)), given, following.take(ends)) if last else given
                found.theta.put(places[ends], last_step)
            theta = following
        state.put(places, theta)
        fits, waiting = pool.refilled(fits[goes_on], waiting)
    return found


def _unfinished(theta: Theta, size: int) -> Run:
    """Return room for what fits that begin with some parameters arrive at."""
    start = Theta(*(part.copy() for part in theta))
    return Run(start, np.full(size, -np.inf), np.zeros(size, np.intp), np.zeros(size, bool), np.zeros(size, bool))


def _last_step(pool: Pool, theta: Theta, following: Theta) -> Theta:
    """Return the parameters mclust gives for the fit it selects: one step further where that moves the weights."""
    moves = (pool.sums((following.weights - theta.weights) ** 2) > MOVED)[pool.owner]
    return Theta(*(np.where(moves, new, old) for new, old in zip(_held(pool, following)[0], theta, strict=True)))


def _finished(pool: Pool, run: Run, forced: bool) -> Run:
    """Go on with plain EM until it is calm, then accelerated to the maximum."""
    calm = _plain(pool, run.theta, Task(CALM, forced, False))
    found = Run(calm.theta, calm.loglik, run.n_iterations + calm.n_iterations, calm.converged, run.floored | calm.floored)
    fits = np.flatnonzero(calm.converged & (forced | ~calm.floored))
    if len(fits):
        more = _accelerated(pool.take(fits), found.theta.take(pool.places(fits)), forced)
        steps, floored = found.n_iterations[fits] + more.n_iterations, found.floored[fits] | more.floored
        _put(found, pool, fits, more._replace(n_iterations=steps, floored=floored))
    return found


def _accelerated(pool: Pool, theta: Theta, forced: bool) -> Run:
    """Squared extrapolation of EM (Varadhan and Roland 2008), which goes back to plain EM wherever it would lose likelihood."""
    size = len(pool.numbers)
    found = _unfinished(theta, size)
    cap = np.full(size, 4.0)
    state = Theta(*(part.copy() for part in theta))
    fits, waiting = pool.refilled(np.empty(0, np.intp), 0)
    while len(fits):
        own, places = pool.take(fits), pool.places(fits)
        theta, goes_on = state.take(places), np.ones(len(fits), bool)
        while goes_on.all():
            theta, low_0 = _held(own, theta)
            first, loglik = _step(own, theta)
            first, low_1 = _held(own, first)
            second, loglik_1 = _step(own, first)
            second, low_2 = _held(own, second)
            far, stretch, distance = _extrapolated(own, theta, first, second, cap[fits])
            third, loglik_far = _step(own, far)
            third, low_3 = _held(own, third)
            accepted = loglik_far >= loglik_1
            longer = accepted & (stretch >= cap[fits])
            cap[fits] = np.where(longer, 4 * cap[fits], np.where(accepted, cap[fits], np.maximum(cap[fits] / 4, 1.0)))
            theta = Theta(*(np.where(accepted[own.owner], new, old) for new, old in zip(third, second, strict=True)))
            low = low_0 | low_1 | np.where(accepted, low_3, low_2)
            found.n_iterations[fits] += 3
            found.floored[fits] |= low
            arrived = (distance[0] <= SETTLED) | (np.abs(loglik_1 - loglik) * distance[1] <= GAIN)
            goes_on = ~arrived & (forced | ~low) & (found.n_iterations[fits] + 3 <= MOST_STEPS)
            if not goes_on.all():
                found.loglik[fits], found.converged[fits] = loglik_1, arrived
                ends = ~goes_on[own.owner]
                found.theta.put(places[ends], first.take(ends))
        state.put(places, theta)
        fits, waiting = pool.refilled(fits[goes_on], waiting)
    return found


def _extrapolated(pool: Pool, start: Theta, first: Theta, second: Theta, cap: Floats) -> tuple[Theta, Floats, tuple[Floats, Floats]]:
    """Return where two steps of EM point to, how far that is in steps, and an estimate of the way to the maximum: as it is, in steps."""
    deviation = np.sqrt(start.variances)
    # The one variance of a fit stands there once per component, and counts once.
    wide = np.where(pool.equal, np.sqrt(pool.numbers), 1.0)[pool.owner]
    log_weights = np.log(start.weights)
    pairs = [
        (np.log(first.weights) - log_weights, np.log(second.weights) - np.log(first.weights)),
        ((first.means - start.means) / deviation, (second.means - first.means) / deviation),
        (0.5 * np.log(first.variances / start.variances) / wide, 0.5 * np.log(second.variances / first.variances) / wide),
    ]
    one, bend = np.stack([pair[0] for pair in pairs]), np.stack([pair[1] - pair[0] for pair in pairs])
    length, curve = np.sqrt(pool.sums((one**2).sum(axis=0))), np.sqrt(pool.sums((bend**2).sum(axis=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(curve > 0, length / curve, 1.0)
    stretch = np.clip(ratio, 1.0, cap)
    own = stretch[pool.owner]
    moved = 2 * own * one + own**2 * bend
    log_weights = log_weights + moved[0]
    weights = np.exp(log_weights - np.maximum.reduceat(log_weights, pool.firsts)[pool.owner])
    weights = np.maximum(weights / pool.sums(weights)[pool.owner], TINY)
    means = start.means + deviation * moved[1]
    variances = np.clip(start.variances * np.exp(np.clip(2 * wide * moved[2], -60, 60)), FLOOR, 1e12)
    return Theta(weights, means, variances), stretch, (length * np.maximum(ratio, 1.0), np.maximum(ratio, 1.0))

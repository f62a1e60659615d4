"""EM for mixtures of normal distributions, many samples at once: plain as mclust runs and stops it, and accelerated to the maximum."""

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats
from perfarray.numerics.mixture_start import Integers, quantile_classes

Mask = npt.NDArray[np.bool_]
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
"""Values times components that are worked on together: what stays in a cache."""

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
    """Parameters of standardised samples, shape (sample, component)."""

    weights: Floats
    means: Floats
    variances: Floats

    def take(self, rows: Rows) -> "Theta":
        """Return some of the samples."""
        return Theta(*(part[rows] for part in self))

    def put(self, rows: Integers, other: "Theta") -> None:
        """Overwrite some of the samples."""
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
    """What plain EM is asked for: one variance or several, where to stop, whether fits at the floor go on, mclust's last step."""

    equal: bool
    limit: float
    forced: bool
    last: bool


def em(samples: Samples, number: int, task: Task, engine: str) -> Run:
    """Run EM for one number of components and one model, rows of a block at a time so that they stay in the cache."""
    size, length = samples.values.shape
    run = Run(
        Theta(*(np.full((size, number), np.nan) for _ in range(3))),
        np.full(size, -np.inf),
        np.zeros(size, np.intp),
        np.zeros(size, bool),
        np.ones(size, bool),
    )
    starts = quantile_classes(samples.raw, samples.n, number)
    fitted = np.flatnonzero((np.diff(starts, axis=-1) > 0).all(axis=-1))
    if engine != "numpy":
        run.put(fitted, _em_compiled(samples.take(fitted), starts[fitted], task))
        return run
    step = max(1, BLOCK // (length * number))
    for first in range(0, len(fitted), step):
        rows = fitted[first : first + step]
        own = samples.take(rows)
        run.put(rows, _em_rows(own, starts[rows], task))
    return run


def finish(samples: Samples, run: Run, rows: Integers, equal: bool, forced: bool, engine: str) -> None:
    """Bring some of the fits to their maximum, rows of a block at a time."""
    length, number = samples.values.shape[-1], run.theta.means.shape[-1]
    step = len(rows) if engine != "numpy" else max(1, BLOCK // (length * number))
    to_the_maximum = _finished if engine == "numpy" else _finished_compiled
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        run.put(some, to_the_maximum(samples.take(some), run.take(some), equal, forced))


def _em_compiled(samples: Samples, starts: Integers, task: Task) -> Run:
    """Let the compiled engine run EM."""
    from perfarray.numerics.compiled.mixture import em_compiled

    jacobian = samples.jacobian
    theta, *found = em_compiled(samples.values, samples.weights, samples.n, samples.total, jacobian, starts, *task)
    return Run(Theta(*theta), *found)


def _finished_compiled(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Let the compiled engine go on to the maximum."""
    from perfarray.numerics.compiled.mixture import finish_compiled

    jacobian = samples.jacobian
    theta, loglik, steps, converged, floored = finish_compiled(
        samples.values, samples.weights, samples.n, samples.total, jacobian, run.theta, equal, forced, (CALM, SETTLED)
    )
    return Run(Theta(*theta), loglik, run.n_iterations + steps, converged, run.floored | floored)


def _em_rows(samples: Samples, starts: Integers, task: Task) -> Run:
    """Plain EM from the classes; one component needs none."""
    theta = _from_classes(samples, starts, task.equal)
    if theta.means.shape[-1] > 1:
        return _plain(samples, theta, task)
    loglik = _step(samples, theta, task.equal)[1]
    size = len(loglik)
    return Run(theta, loglik, np.zeros(size, np.intp), np.ones(size, bool), np.zeros(size, bool))


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
    return Theta(shares / samples.total[:, None], means, _variances(squares, shares, samples.total, equal))


def _variances(squares: Floats, shares: Floats, total: Floats, equal: bool) -> Floats:
    """Return the variances of the components, or their common one."""
    if equal:
        return np.broadcast_to((squares.sum(axis=-1) / total)[:, None], squares.shape).copy()
    return np.asarray(squares / shares)


def _step(samples: Samples, theta: Theta, equal: bool) -> tuple[Theta, Floats]:
    """One step of EM: the next parameters, and the log-likelihood of those that were given.

    Sums are about the present means, so that no digits cancel however narrow a component is.
    """
    deviations = samples.values[:, None, :] - theta.means[..., None]
    squares = deviations * deviations
    slope, offset = (-0.5 / theta.variances)[..., None], (np.log(theta.weights) - 0.5 * np.log(theta.variances))[..., None]
    joint = squares * slope
    joint += offset
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    far = np.flatnonzero((total < TINY).any(axis=-1))
    with np.errstate(divide="ignore"):
        log_density = np.log(total)
    if len(far):
        terms = squares[far] * slope[far] + offset[far]
        largest = terms.max(axis=1)
        joint[far] = np.exp(terms - largest[:, None, :])
        total[far] = joint[far].sum(axis=1)
        log_density[far] = np.log(total[far]) + largest
    loglik = np.einsum("bn,bn->b", samples.weights, log_density) - 0.5 * LOG_2PI * samples.total
    joint *= (samples.weights / total)[:, None, :]
    shares = joint.sum(axis=-1)
    safe = np.where(shares > 0, shares, 1.0)
    shift = np.einsum("bkn,bkn->bk", joint, deviations) / safe
    spread = np.einsum("bkn,bkn->bk", joint, squares) - safe * shift**2
    variances = _variances(spread, safe, samples.total, equal)
    return Theta(shares / samples.total[:, None], theta.means + shift, variances), loglik


def _held(theta: Theta) -> tuple[Theta, Mask]:
    """Keep variances at the floor or above, and say which samples needed it; a component without weight is at the floor too."""
    low = (theta.variances <= FLOOR) | (theta.weights < TINY)
    return Theta(np.maximum(theta.weights, TINY), theta.means, np.where(low, FLOOR, theta.variances)), np.asarray(low.any(axis=-1))


def _plain(samples: Samples, theta: Theta, task: Task) -> Run:
    """Plain EM as mclust stops it: when |change of l| / (1 + |l|) is at most `limit`, l in the units of the data.

    With `last`, weights that one more step would still move get that step, as in the fit that mclust selects; l stays what it was.
    """
    equal, limit, forced, last = task
    size = len(samples.values)
    found = Run(
        Theta(*(part.copy() for part in theta)), np.full(size, -np.inf), np.zeros(size, np.intp), np.zeros(size, bool), np.zeros(size, bool)
    )
    rows = np.arange(size)
    jacobian = samples.jacobian
    before = np.full(size, np.inf)
    for step in range(1, MOST_STEPS + 1):
        theta, low = _held(theta)
        found.floored[rows] |= low
        if low.any() and not forced:
            samples, theta, rows, before, jacobian = _kept(~low, samples, theta, rows, before, jacobian)
            if not len(rows):
                break
        following, loglik = _step(samples, theta, equal)
        in_units = loglik - jacobian
        stop = np.abs(before - in_units) / (1 + np.abs(in_units)) <= limit
        if stop.any() or step == MOST_STEPS:
            found.theta.put(rows, _last_step(theta, following) if last else theta)
            found.loglik[rows], found.n_iterations[rows], found.converged[rows] = loglik, step, stop
            samples, following, rows, in_units, jacobian = _kept(~stop, samples, following, rows, in_units, jacobian)
            if not len(rows):
                break
        theta, before = following, in_units
    return found


def _last_step(theta: Theta, following: Theta) -> Theta:
    """Return the parameters mclust gives for the fit it selects: one step further where that moves the weights."""
    moves = ((following.weights - theta.weights) ** 2).sum(axis=-1) > MOVED
    return Theta(*(np.where(moves[:, None], new, old) for new, old in zip(_held(following)[0], theta, strict=True)))


def _kept(kept: Mask, samples: Samples, theta: Theta, rows: Integers, *parts: Floats) -> tuple[Samples, Theta, Integers, Floats, Floats]:
    """Go on with some of the samples, without what lies past the longest."""
    length = int(samples.n[kept].max(initial=0))
    own = Samples(*(part[kept, :length] if part.ndim == 2 else part[kept] for part in cast(tuple[Any, ...], samples)))
    first, second = (part[kept] for part in parts)
    return own, theta.take(kept), rows[kept], first, second


def _finished(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Go on with plain EM until it is calm, then accelerated to the maximum."""
    calm = _plain(samples, run.theta, Task(equal, CALM, forced, False))
    found = Run(calm.theta, calm.loglik, run.n_iterations + calm.n_iterations, calm.converged, run.floored | calm.floored)
    rows = np.flatnonzero(calm.converged & (forced | ~calm.floored))
    if len(rows):
        own = samples.take(rows)
        found.put(rows, _accelerated(own, found.take(rows), equal, forced))
    return found


def _accelerated(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Squared extrapolation of EM (Varadhan and Roland 2008), which goes back to plain EM wherever it would lose likelihood."""
    size = len(samples.values)
    theta = run.theta
    rows = np.arange(size)
    cap = np.full(size, 4.0)
    steps = run.n_iterations.copy()
    found = Run(theta, run.loglik.copy(), steps, np.zeros(size, bool), run.floored.copy())
    for _ in range(MOST_STEPS // 3):
        theta, low_0 = _held(theta)
        first, loglik = _step(samples, theta, equal)
        first, low_1 = _held(first)
        second, loglik_1 = _step(samples, first, equal)
        second, low_2 = _held(second)
        far, stretch, distance = _extrapolated(theta, first, second, cap, equal)
        third, loglik_far = _step(samples, far, equal)
        third, low_3 = _held(third)
        accepted = loglik_far >= loglik_1
        cap = np.where(accepted & (stretch >= cap), 4 * cap, np.where(accepted, cap, np.maximum(cap / 4, 1.0)))
        following = Theta(*(np.where(accepted[:, None], new, old) for new, old in zip(third, second, strict=True)))
        low = low_0 | low_1 | np.where(accepted, low_3, low_2)
        found.n_iterations[rows] += 3
        found.floored[rows] |= low
        arrived = (distance[0] <= SETTLED) | (np.abs(loglik_1 - loglik) * distance[1] <= GAIN)
        stop = arrived | (low & (not forced))
        if stop.any():
            found.theta.put(rows, first)
            found.loglik[rows], found.converged[rows] = loglik_1, arrived
            samples, following, rows, cap, _ = _kept(~stop, samples, following, rows, cap, cap)
            if not len(rows):
                break
        theta = following
    else:
        found.theta.put(rows, first.take(~stop))
        found.loglik[rows] = loglik_1[~stop]
    return found


def _extrapolated(start: Theta, first: Theta, second: Theta, cap: Floats, equal: bool) -> tuple[Theta, Floats, tuple[Floats, Floats]]:
    """Return where two steps of EM point to, how far that is in steps, and an estimate of the way to the maximum: as it is, in steps."""
    deviation = np.sqrt(start.variances)
    parts = [
        (np.log(first.weights) - np.log(start.weights), np.log(second.weights) - np.log(first.weights)),
        ((first.means - start.means) / deviation, (second.means - first.means) / deviation),
        (0.5 * np.log(first.variances / start.variances), 0.5 * np.log(second.variances / first.variances)),
    ]
    if equal:
        parts[2] = (parts[2][0] / np.sqrt(deviation.shape[-1]), parts[2][1] / np.sqrt(deviation.shape[-1]))
    one = np.concatenate([part[0] for part in parts], axis=-1)
    bend = np.concatenate([part[1] for part in parts], axis=-1) - one
    length, curve = np.sqrt((one**2).sum(axis=-1)), np.sqrt((bend**2).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(curve > 0, length / curve, 1.0)
    stretch = np.clip(ratio, 1.0, cap)
    moved = 2 * stretch[:, None] * one + (stretch**2)[:, None] * bend
    number = deviation.shape[-1]
    wide = np.sqrt(number) if equal else 1.0
    log_weights = np.log(start.weights) + moved[:, :number]
    log_weights -= log_weights.max(axis=-1, keepdims=True)
    weights = np.exp(log_weights)
    weights = np.maximum(weights / weights.sum(axis=-1, keepdims=True), TINY)
    means = start.means + deviation * moved[:, number : 2 * number]
    with np.errstate(over="ignore"):
        variances = np.clip(start.variances * np.exp(np.clip(2 * wide * moved[:, 2 * number :], -60, 60)), FLOOR, 1e12)
    return Theta(weights, means, variances), stretch, (length * np.maximum(ratio, 1.0), np.maximum(ratio, 1.0))

"""EM for mixtures, many samples at once: plain as mclust runs and stops it, and on to the maximum, accelerated."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from perfarray.mixtures.numerics.newton import Sample, climbed
from perfarray.mixtures.numerics.pool import Candidate, Pool, Run, Samples, Steps, Theta, run_pooled
from perfarray.mixtures.numerics.start import parameters_of_classes
from perfarray.mixtures.numerics.stops import CALM, FLOOR, GAIN, LONG, MOST_STEPS, MOVED, SETTLED, TINY, Task
from perfarray.numerics.types import Floats, Integers


class Means(NamedTuple):
    """What runs EM: plain, and on to the maximum, where one gives up the next."""

    plain: Callable[[Pool, Theta, Task], Run]
    further: tuple[Callable[[Pool, Theta, bool], Run], ...]


def em(samples: Samples, points: Samples, candidates: Sequence[Candidate], task: Task, engine: str, steps: Steps) -> list[Run]:
    """Run EM for every number of components and model asked for, on all samples: it starts from their values, and goes on with points."""
    size = len(samples.values)
    runs = [_unfinished(Theta(*(np.full((size, number), np.nan) for _ in range(3))), size) for number, _ in candidates]
    fitted = [np.empty(0, np.intp)] * len(candidates)
    for number in {number for number, _ in candidates}:
        starts = steps.classes(samples, number)
        rows = np.flatnonzero((np.diff(starts, axis=-1) > 0).all(axis=-1))
        own, starts = samples.take(rows), starts[rows]
        classes = Theta(*parameters_of_classes(own.values, own.weights, starts))
        pooled = np.repeat((classes.weights * classes.variances).sum(axis=-1, keepdims=True), number, axis=-1)
        for place, (alike, equal) in enumerate(candidates):
            if alike == number:
                fitted[place] = rows
                given = classes._replace(variances=pooled) if equal else classes
                runs[place].theta.put(rows, steps.start(own, starts, given, equal))
                runs[place].floored[:] = True
    run_pooled(points, runs, fitted, candidates, steps, lambda pool, run: _em_pool(pool, run, task, _means(engine, pool)))
    return runs


def finish(
    samples: Samples,
    runs: Sequence[Run],
    fitted: Sequence[Integers],
    candidates: Sequence[Candidate],
    forced: bool,
    engine: str,
    steps: Steps,
) -> None:
    """Bring some of the fits of every candidate, the rows `fitted`, to their maximum."""
    run_pooled(samples, runs, fitted, candidates, steps, lambda pool, run: _finished(pool, run, forced, _means(engine, pool)))


def _means(engine: str, pool: Pool) -> Means:
    """Return what an engine has for the fits of a pool."""
    if engine == "numba":
        from perfarray.mixtures.numerics.compiled import accelerated_compiled, plain_compiled

        return Means(plain_compiled, (accelerated_compiled,))
    # Where Newton's method finds no maximum, accelerated EM goes on as if it had not been asked.
    newton = pool.steps.law is not None and not pool.grouped
    return Means(_plain, (partial(_accelerated, most=LONG), _climbed, _accelerated) if newton else (_accelerated,))


def _em_pool(pool: Pool, run: Run, task: Task, means: Means) -> Run:
    """Plain EM from the classes; one component needs none, or goes on to its maximum."""
    alone = np.flatnonzero(pool.numbers == 1)
    several = np.flatnonzero(pool.numbers > 1)
    if len(several):
        _put(run, pool, several, means.plain(pool.take(several), run.theta.take(pool.places(several)), task))
    if len(alone):
        theta = run.theta.take(pool.places(alone))
        if pool.steps.closed:
            run.loglik[alone] = _step(pool.take(alone), theta)[1]
            run.converged[alone], run.floored[alone] = True, False
        else:
            _put(run, pool, alone, _finished(pool.take(alone), _unfinished(theta, len(alone)), task.forced, means))
    return run


def _put(run: Run, pool: Pool, fits: Integers, other: Run) -> None:
    """Overwrite some of the fits of a pool."""
    run.theta.put(pool.places(fits), other.theta)
    for part, new in zip(run[1:], other[1:], strict=True):
        cast(Any, part)[fits] = new


def _step(pool: Pool, theta: Theta) -> tuple[Theta, Floats]:
    """One step of EM: the next parameters, and the log-likelihood of those that were given."""
    weights, total, steps = pool.weights, pool.total, pool.steps
    deviations, _, joint, density = pool.room
    np.subtract(pool.repeated, theta.means[:, None], out=deviations)
    steps.prepared(pool, theta)
    offset = (np.log(theta.weights) + steps.offset(pool, theta))[:, None]
    steps.exponents(pool, theta, slice(None), joint)
    joint += offset
    np.exp(joint, out=joint)
    for own, together in pool.views:
        own.sum(axis=1, out=together)
    far = np.flatnonzero(density.min(axis=-1) < TINY)
    with np.errstate(divide="ignore"):
        log_density = np.log(density)
    for fit in far:
        rows = slice(pool.firsts[fit], pool.firsts[fit] + pool.numbers[fit])
        terms = steps.exponents(pool, theta, rows) + offset[rows]
        largest = terms.max(axis=0)
        joint[rows] = np.exp(terms - largest)
        density[fit] = joint[rows].sum(axis=0)
        log_density[fit] = np.log(density[fit]) + largest
    loglik = np.einsum("fn,fn->f", weights, log_density) + steps.constant * total
    np.divide(weights, density, out=density)
    for own, together in pool.views:
        np.multiply(own, together[:, None], out=own)
    shares = joint.sum(axis=-1)
    means, variances = steps.maximised(pool, theta, shares)
    return Theta(shares / total[pool.owner], means, variances), loglik


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
            theta, low = own.held(theta)
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
    return Theta(*(np.where(moves, new, old) for new, old in zip(pool.held(following)[0], theta, strict=True)))


def _finished(pool: Pool, run: Run, forced: bool, means: Means) -> Run:
    """Go on with plain EM until it is calm, then accelerated to the maximum, the longest ways with Newton's method."""
    calm = means.plain(pool, run.theta, Task(CALM, forced, False))
    found = Run(calm.theta, calm.loglik, run.n_iterations + calm.n_iterations, calm.converged, run.floored | calm.floored)
    fits = np.flatnonzero(calm.converged & (forced | ~calm.floored))
    for further in means.further:
        if not len(fits):
            break
        more = further(pool.take(fits), found.theta.take(pool.places(fits)), forced)
        steps, floored = found.n_iterations[fits] + more.n_iterations, found.floored[fits] | more.floored
        _put(found, pool, fits, more._replace(n_iterations=steps, floored=floored))
        fits = fits[~more.converged & (forced | ~more.floored)]
    return found


def _climbed(pool: Pool, theta: Theta, _forced: bool) -> Run:
    """Go on with Newton's method, fit by fit: each has second derivatives of its own."""
    found, law = _unfinished(theta, len(pool.numbers)), pool.steps.law
    assert law is not None
    for fit, (row, first, number) in enumerate(zip(pool.rows, pool.firsts, pool.numbers, strict=True)):
        own, components = slice(pool.n[fit]), slice(first, first + number)
        sample = Sample(pool.samples.values[row, own], pool.samples.weights[row, own], pool.samples.scale[row], law)
        end = climbed(sample, theta.take(components), bool(pool.equal[fit]))
        found.n_iterations[fit] = end.n_steps
        if end.converged:
            found.theta.put(components, end.theta)
            found.loglik[fit], found.converged[fit] = end.loglik, True
    return found


def _accelerated(pool: Pool, theta: Theta, forced: bool, most: int = MOST_STEPS) -> Run:
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
            theta, low_0 = own.held(theta)
            first, loglik = _step(own, theta)
            first, low_1 = own.held(first)
            second, loglik_1 = _step(own, first)
            second, low_2 = own.held(second)
            far, stretch, distance = _extrapolated(own, theta, first, second, cap[fits])
            third, loglik_far = _step(own, far)
            third, low_3 = own.held(third)
            accepted = loglik_far >= loglik_1
            longer = accepted & (stretch >= cap[fits])
            cap[fits] = np.where(longer, 4 * cap[fits], np.where(accepted, cap[fits], np.maximum(cap[fits] / 4, 1.0)))
            theta = Theta(*(np.where(accepted[own.owner], new, old) for new, old in zip(third, second, strict=True)))
            low = low_0 | low_1 | np.where(accepted, low_3, low_2)
            found.n_iterations[fits] += 3
            found.floored[fits] |= low
            arrived = (distance[0] <= SETTLED) | (np.abs(loglik_1 - loglik) * distance[1] <= GAIN)
            goes_on = ~arrived & (forced | ~low) & (found.n_iterations[fits] + 3 <= most)
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

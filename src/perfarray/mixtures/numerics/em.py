"""EM for mixtures of many samples at once: plain as mclust runs it, and accelerated."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from perfarray.mixtures.numerics.pool import (
    ACCELERATED,
    CALM,
    FLOOR,
    GAIN,
    MOST_STEPS,
    MOVED,
    SETTLED,
    TINY,
    Batch,
    Candidate,
    EmResult,
    Pool,
    Samples,
    Theta,
    unfinished,
)
from perfarray.mixtures.numerics.start import parameters_of_classes
from perfarray.mixtures.numerics.steps import Steps
from perfarray.numerics.types import Floats, Integers, Mask


def em(
    samples: Samples,
    points: Samples,
    candidates: Sequence[Candidate],
    limit: float,
    *,
    forced: bool,
    last: bool,
    engine: str,
    steps: Steps,
) -> tuple[Pool, EmResult]:
    """Run plain EM for every candidate on all samples, from classes of their values.

    It iterates over `points`, values or groups, to a relative change of the log-likelihood. Fits at
    the floor go on if `forced`; `last` is for mclust's last step. Returns the fits, those of one
    candidate after the other. A sample with too few distinct values for a candidate has no fit.
    """
    fits, thetas = [], []
    for number, models in itertools.groupby(enumerate(candidates), key=lambda pair: pair[1][0]):
        starts = steps.classes(samples, number)
        complete = np.flatnonzero((np.diff(starts, axis=-1) > 0).all(axis=-1))
        classified, starts = samples.take(complete), starts[complete]
        classes = Theta(*parameters_of_classes(classified.values, classified.weights, starts))
        pooled = np.repeat(
            (classes.weights * classes.variances).sum(axis=-1, keepdims=True), number, axis=-1
        )
        for candidate, (_, equal) in models:
            theta = classes._replace(variances=pooled) if equal else classes
            thetas.append(
                [column.ravel() for column in steps.start(classified, starts, theta, equal)]
            )
            fits.append(np.stack(np.broadcast_arrays(complete, candidate, number, equal)))
    rows, candidate, numbers, equal = np.concatenate(fits, axis=-1)
    pool = Pool(points, rows, candidate, numbers, equal.astype(bool), steps)
    theta = Theta(*(np.concatenate(columns) for columns in zip(*thetas, strict=True)))
    run = unfinished(theta, len(numbers))
    single_fits, mixture_fits = np.flatnonzero(numbers == 1), np.flatnonzero(numbers > 1)
    if len(mixture_fits):
        run_em = _engine(engine)
        components = pool.components(mixture_fits)
        ends = run_em(pool.take(mixture_fits), theta.take(components), limit, forced, last)
        run.put(mixture_fits, components, ends)
    # One component is at its maximum where that has a closed form.
    if len(single_fits) and steps.closed:
        run.loglik[single_fits] = _step(
            Batch(pool, single_fits), theta.take(pool.components(single_fits))
        )[1]
        run.converged[single_fits] = True
    elif len(single_fits):
        finish(pool, run, single_fits, forced, engine)
    return pool, run


def _engine(name: str) -> Callable[[Pool, Theta, float, bool, bool], EmResult]:
    if name == "numba":
        from perfarray.mixtures.numerics.compiled import run_compiled

        return run_compiled
    return _run


def finish(pool: Pool, run: EmResult, fits: Integers, forced: bool, engine: str) -> None:
    """Go on with some fits to the maximum: plain EM until it is calm, then accelerated EM."""
    run_em = _engine(engine)
    for limit in (CALM, ACCELERATED):
        if not len(fits):
            return
        components = pool.components(fits)
        end = run_em(pool.take(fits), run.theta.take(components), limit, forced, False)
        n_iterations = run.n_iterations[fits] + end.n_iterations
        floored = run.floored[fits] | end.floored
        run.put(fits, components, end._replace(n_iterations=n_iterations, floored=floored))
        fits = fits[end.converged & (forced | ~end.floored)]


def _step(pool: Batch, theta: Theta) -> tuple[Theta, Floats]:
    """Take one step of EM.

    Return the next parameters, and the log-likelihood of those that were given.
    """
    weights, total, steps = pool.weights, pool.total, pool.steps
    joint, density = pool.joint, pool.density
    np.subtract(pool.values, theta.means[:, None], out=pool.deviations)
    steps.prepare(pool, theta)
    offset = (np.log(theta.weights) + steps.offset(pool, theta))[:, None]
    steps.exponents(pool, theta, slice(None), joint)
    joint += offset
    np.exp(joint, out=joint)
    for components, sums in pool.views:
        components.sum(axis=1, out=sums)
    underflown = np.flatnonzero(density.min(axis=-1) < TINY)
    with np.errstate(divide="ignore"):
        log_density = np.log(density)
    for fit in underflown:
        rows = slice(pool.firsts[fit], pool.firsts[fit] + pool.numbers[fit])
        terms = steps.exponents(pool, theta, rows) + offset[rows]
        largest = terms.max(axis=0)
        joint[rows] = np.exp(terms - largest)
        density[fit] = joint[rows].sum(axis=0)
        log_density[fit] = np.log(density[fit]) + largest
    loglik = np.einsum("fn,fn->f", weights, log_density) + steps.constant * total
    np.divide(weights, density, out=density)
    for components, factors in pool.views:
        np.multiply(components, factors[:, None], out=components)
    shares = joint.sum(axis=-1)
    means, variances = steps.maximise(pool, theta, shares)
    return Theta(shares / total[pool.owner], means, variances), loglik


# Steps that some fits take from parameters on: gets a pool of them, their numbers and parameters,
# and what becomes of them, which it fills in. Returns the parameters to go on from, and which fits
# go on.
Advance = Callable[[Batch, Integers, Theta, EmResult], tuple[Theta, Mask]]


def _iterate(pool: Pool, theta: Theta, advance: Advance) -> EmResult:
    """Iterate as many fits at a time as stay in a cache; where some end, others begin."""
    result, state = unfinished(theta, len(pool.numbers)), theta.copy()
    fits, waiting = pool.refilled(np.empty(0, np.intp), 0)
    while len(fits):
        active, components = Batch(pool, fits), pool.components(fits)
        theta, continues = state.take(components), np.ones(len(fits), bool)
        while continues.all():
            theta, continues = advance(active, fits, theta, result)
        del (
            active
        )  # before the arrays of the next batch are made, which take its place in the cache
        state.put(components, theta)
        fits, waiting = pool.refilled(fits[continues], waiting)
    return result


def _run(pool: Pool, theta: Theta, limit: float, forced: bool, last: bool) -> EmResult:
    """Run EM: plain to a relative change of the log-likelihood, or accelerated.

    Plain EM stops as mclust does: when |change of l| / (1 + |l|) is at most the limit, l in the
    units of the data. With `last`, weights that one more step would still move get that step, as in
    the fit that mclust selects; l stays what it was.
    """
    if limit == ACCELERATED:
        return _accelerated(pool, theta, forced)
    previous = np.full(len(pool.numbers), np.inf)

    def advance(
        active: Batch, fits: Integers, theta: Theta, result: EmResult
    ) -> tuple[Theta, Mask]:
        theta, low = active.bounded(theta)
        result.floored[fits] |= low
        if low.any() and not forced:
            result.n_iterations[fits[low]] = 0
            return theta, ~low
        following, loglik = _step(active, theta)
        in_units = loglik - active.jacobian
        stops = np.abs(previous[fits] - in_units) / (1 + np.abs(in_units)) <= limit
        previous[fits] = in_units
        result.n_iterations[fits] += 1
        continues = ~stops & (result.n_iterations[fits] < MOST_STEPS)
        if not continues.all():
            result.loglik[fits], result.converged[fits] = loglik, stops
            ends = ~continues[active.owner]
            final = theta
            if last:
                moves = active.sums((following.weights - theta.weights) ** 2) > MOVED
                pairs = zip(active.bounded(following)[0], theta, strict=True)
                final = Theta(*(np.where(moves[active.owner], new, old) for new, old in pairs))
            result.theta.put(pool.components(fits)[ends], final.take(ends))
        return following, continues

    return _iterate(pool, theta, advance)


def _accelerated(pool: Pool, theta: Theta, forced: bool) -> EmResult:
    """Extrapolate EM by squared steps (Varadhan and Roland 2008).

    It goes back to plain EM wherever that would lose likelihood.
    """
    cap = np.full(len(pool.numbers), 4.0)

    def advance(
        active: Batch, fits: Integers, theta: Theta, result: EmResult
    ) -> tuple[Theta, Mask]:
        theta, low_0 = active.bounded(theta)
        first, loglik = _step(active, theta)
        first, low_1 = active.bounded(first)
        second, loglik_1 = _step(active, first)
        second, low_2 = active.bounded(second)
        extrapolated, stretch, length, ahead = _extrapolated(
            active, theta, first, second, cap[fits]
        )
        third, loglik_far = _step(active, extrapolated)
        third, low_3 = active.bounded(third)
        accepted = loglik_far >= loglik_1
        longer = accepted & (stretch >= cap[fits])
        cap[fits] = np.where(
            longer, 4 * cap[fits], np.where(accepted, cap[fits], np.maximum(cap[fits] / 4, 1.0))
        )
        low = low_0 | low_1 | np.where(accepted, low_3, low_2)
        result.n_iterations[fits] += 3
        result.floored[fits] |= low
        converged = (length * ahead <= SETTLED) | (np.abs(loglik_1 - loglik) * ahead <= GAIN)
        continues = ~converged & (forced | ~low) & (result.n_iterations[fits] + 3 <= MOST_STEPS)
        if not continues.all():
            result.loglik[fits], result.converged[fits] = loglik_1, converged
            ends = ~continues[active.owner]
            result.theta.put(pool.components(fits)[ends], first.take(ends))
        return Theta(
            *(
                np.where(accepted[active.owner], new, old)
                for new, old in zip(third, second, strict=True)
            )
        ), continues

    return _iterate(pool, theta, advance)


def _extrapolated(
    pool: Pool, start: Theta, first: Theta, second: Theta, cap: Floats
) -> tuple[Theta, Floats, Floats, Floats]:
    """Return where two steps of EM point to, and how far that is in steps.

    And the length of the first step, and the steps to the maximum.
    """
    deviation = np.sqrt(start.variances)
    # The one variance of a fit is repeated for each component, and counts once.
    wide = np.where(pool.equal, np.sqrt(pool.numbers), 1.0)[pool.owner]

    def difference(old: Theta, new: Theta) -> Floats:
        """Return a step (3, component): logarithms, but means in deviations."""
        by_variance = 0.5 * np.log(new.variances / old.variances) / wide
        return np.stack(
            [
                np.log(new.weights) - np.log(old.weights),
                (new.means - old.means) / deviation,
                by_variance,
            ]
        )

    step, next_step = difference(start, first), difference(first, second)
    bend = next_step - step
    length, curve = (
        np.sqrt(pool.sums((step**2).sum(axis=0))),
        np.sqrt(pool.sums((bend**2).sum(axis=0))),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(curve > 0, length / curve, 1.0)
    stretch = np.clip(ratio, 1.0, cap)
    factor = stretch[pool.owner]
    move = 2 * factor * step + factor**2 * bend
    log_weights = np.log(start.weights) + move[0]
    weights = np.exp(log_weights - np.maximum.reduceat(log_weights, pool.firsts)[pool.owner])
    weights = np.maximum(weights / pool.sums(weights)[pool.owner], TINY)
    means = start.means + deviation * move[1]
    variances = np.clip(start.variances * np.exp(np.clip(2 * wide * move[2], -60, 60)), FLOOR, 1e12)
    return Theta(weights, means, variances), stretch, length, np.maximum(ratio, 1.0)

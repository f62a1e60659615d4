"""Mixtures fitted to many samples at once: every number of components, both models, BIC."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.em import em, finish
from perfarray.mixtures.numerics.pool import Candidate, EmResult, Pool, Samples
from perfarray.mixtures.numerics.steps import NORMAL_STEPS, Steps
from perfarray.numerics.levels import unit_weights
from perfarray.numerics.types import Floats, Integers, Mask

EQUAL, UNEQUAL = "equal", "unequal"

MOST_COMPONENTS = 9  # tried unless more are requested, as in mclust

# Relative change of the log-likelihood at which mclust stops.
STOPPED = 1e-5

# How far below the largest BIC, where mclust would stop, a fit may lie to be brought to its
# maximum. Of 600 samples of 60 runs and up to four modes, another fit would have overtaken in two,
# by 3.4 of BIC; to bring all of them takes three times as long.
MARGIN = 20.0

# Values of the samples that are fitted in one block.
BLOCK = 1 << 16

# Weights that differ from 1 by less do so by rounding.
EVEN = 1e-12

# Groups of a large sample, about: samples with fewer than three times as many values are not
# grouped.
GROUPS = 400

# Widest group, in widths of the narrower of its neighbours and in standard deviations: wider ones
# reach over a gap or a tail.
WIDER, WIDEST = 4.0, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """How mixtures are fitted."""

    numbers: Sequence[int] = range(1, MOST_COMPONENTS + 1)
    models: Sequence[str] = (EQUAL, UNEQUAL)
    tolerance: float | None = (
        None  # relative change of the log-likelihood at which EM stops; None: at the maximum
    )
    forced: bool = (
        False  # fits with a component at the variance floor count where there are no others
    )
    families: Sequence[str] = ("normal",)  # names in `scale.FAMILIES`
    engine: str = "numpy"
    grouped: bool = False  # EM may treat neighbouring values of samples of thousands as one
    progress: Callable[[int], object] | None = (
        None  # called with the number of samples fitted, once for every family
    )


class Fits(NamedTuple):
    """One mixture per sample; shape (sample, component) and (sample,)."""

    weights: Floats
    means: Floats
    deviations: Floats
    n_components: Floats
    equal: Mask
    loglik: Floats
    bic: Floats
    n: Floats
    n_iterations: Floats
    converged: Mask
    floored: Mask
    n_floored: Floats


def weighted_samples(runs: Floats) -> tuple[Floats, Floats | None]:
    """Return runs (..., units, runs) as samples (sample, value), and the weight of each run.

    Units count alike, and the weights of a sample sum to the number of its runs; None means that
    all weights are 1.
    """
    sample = runs.reshape(-1, runs.shape[-2] * runs.shape[-1])
    measured = ~np.isnan(sample)
    weights = np.nan_to_num(unit_weights(runs)).reshape(sample.shape) * measured.sum(
        axis=-1, keepdims=True
    )
    weights[np.abs(weights - 1) < EVEN] = 1.0
    return sample, None if (weights[measured] == 1.0).all() else weights


def fit_mixtures(
    values: Floats, weights: Floats | None, request: FitRequest, steps: Steps = NORMAL_STEPS
) -> Fits:
    """Fit mixtures to samples (sample, value), and keep the one with the largest BIC.

    NaN is not measured; `weights` of the values sum to their number, by default 1 each. Means
    ascend; a sample without values has NaN.
    """
    size = len(values)
    fits = unfitted(size, max(request.numbers))
    count = (~np.isnan(values)).sum(axis=-1)
    # Missing values go last, with weight 0.
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    shares = (
        np.ones(values.shape) if weights is None else np.take_along_axis(weights, order, axis=-1)
    )
    shares = np.where(np.isnan(ordered), 0.0, shares)
    spread = (
        np.where(
            count > 0, ordered[np.arange(size), np.maximum(count, 1) - 1] - ordered[:, 0], np.nan
        )
        if size
        else np.empty(0)
    )
    # Constant samples are one component without variance, and their likelihood has no bound.
    constant = np.flatnonzero(spread == 0)
    fits.weights[constant], fits.weights[constant, :1] = 0.0, 1.0
    fits.means[constant, :1], fits.deviations[constant, :1] = ordered[constant, :1], 0.0
    fits.n_components[constant], fits.equal[constant], fits.converged[constant] = 1.0, True, True
    fits.loglik[constant], fits.bic[constant] = np.inf, np.inf
    fits.n[constant], fits.n_iterations[constant] = count[constant], 0.0
    fits.n_floored[constant] = 0.0
    rows = np.flatnonzero(spread > 0)
    progress = request.progress or (lambda _number: None)
    progress(size - len(rows))
    for block in _blocks(rows, count):
        length = int(count[block].max())
        samples = standardised(ordered[block, :length], shares[block, :length], count[block])
        _fit_block(fits, block, samples, request, steps)
        progress(len(block))
    if request.forced:
        _fit_fewer(fits, rows[np.isnan(fits.n_components[rows])], values, weights, request, steps)
    return fits


def unfitted(size: int, max_number: int, *metrics: int) -> Fits:
    """Return fits to be filled in, of one metric or of several together."""
    by_component = {
        name: np.full((size, max_number, *metrics), np.nan) for name in ("means", "deviations")
    }
    numbers = {
        name: np.full(size, np.nan)
        for name in ("n_components", "loglik", "bic", "n_iterations", "n_floored")
    }
    flags = {name: np.zeros(size, bool) for name in ("equal", "converged", "floored")}
    return Fits(
        weights=np.full((size, max_number), np.nan),
        **by_component,
        **numbers,
        **flags,
        n=np.zeros(size),
    )


def _blocks(rows: Integers, count: Integers) -> list[Integers]:
    order = rows[np.argsort(count[rows], kind="stable")]
    blocks, start = [], 0
    for stop in range(1, len(order) + 1):
        largest = count[order[stop - 1]]
        if (
            stop == len(order)
            or count[order[stop]] > 1.25 * count[order[start]] + 2
            or (stop + 1 - start) * largest > BLOCK
        ):
            blocks.append(order[start:stop])
            start = stop
    return blocks


def standardised(raw: Floats, weights: Floats, n: Integers) -> Samples:
    """Centre and scale every sample, so that nothing depends on units and no digits are lost."""
    measured = weights > 0
    filled = np.where(measured, raw, raw[:, :1])
    total = weights.sum(axis=-1)
    center = (weights * filled).sum(axis=-1) / total
    deviations = filled - center[:, None]
    # Values near the largest doubles would overflow when squared.
    largest = np.abs(deviations).max(axis=-1)
    shrunk = deviations / largest[:, None]
    scale = np.sqrt((weights * shrunk**2).sum(axis=-1) / total) * largest
    return Samples(
        deviations / scale[:, None],
        weights,
        n,
        total,
        center,
        scale,
        raw=filled,
        inside=np.zeros_like(filled),
    )


def _fit_block(
    fits: Fits, block: Integers, samples: Samples, request: FitRequest, steps: Steps
) -> None:
    """Fit a block of samples, and keep the best fits; where two are equal, the first."""
    tolerance = request.tolerance
    # Where there is one spread, or none, the models are one.
    models = request.models if steps.spreads else (EQUAL,)
    candidates: list[Candidate] = [
        (number, model == EQUAL or number == 1)
        for number in request.numbers
        for model in (models[:1] if number == 1 else models)
    ]
    normal = steps is NORMAL_STEPS
    engine = request.engine if normal else "numpy"
    pool, run = em(
        samples,
        grouped(samples) if request.grouped and normal else samples,
        candidates,
        STOPPED if tolerance is None else tolerance,
        forced=request.forced,
        last=tolerance is not None and len(candidates) > 1,
        engine=engine,
        steps=steps,
    )
    bics = _bics(pool, run, len(candidates), request.forced)
    if tolerance is None:
        # Only fits whose BIC may still become the largest go on; one component is at its maximum.
        promising = (bics >= bics.max(axis=0) - MARGIN) & np.isfinite(bics)
        finish(
            pool,
            run,
            np.flatnonzero(promising[pool.candidate, pool.rows] & (pool.numbers > 1)),
            request.forced,
            engine,
        )
        bics = _bics(pool, run, len(candidates), request.forced)
    floored, fit = np.ones(bics.shape, bool), np.zeros(bics.shape, int)
    floored[pool.candidate, pool.rows], fit[pool.candidate, pool.rows] = (
        run.floored,
        np.arange(len(pool.rows)),
    )
    fits.n[block], fits.n_floored[block] = samples.n, floored.sum(axis=0)
    # A fit at the floor is kept only if there is no other.
    competing = np.where(floored & ~floored.all(axis=0), -np.inf, bics)
    best = competing.argmax(axis=0)
    with_fit = np.flatnonzero(np.isfinite(competing.max(axis=0)))
    fits.bic[block[with_fit]] = bics[best[with_fit], with_fit]
    _keep(fits, block[with_fit], pool, run, fit[best[with_fit], with_fit])


def _bics(pool: Pool, run: EmResult, candidates: int, forced: bool) -> Floats:
    """Return the BIC of every fit, shape (candidate, sample).

    Minus infinity for those that do not compete.
    """
    numbers, steps = pool.numbers, pool.steps
    parameters = (
        2 * numbers
        - 1
        + steps.spreads * np.where(pool.equal, 1, numbers)
        + steps.edges * (numbers - 1)
    )
    bic = 2 * (run.loglik - pool.jacobian) - parameters * np.log(pool.total)
    bics = np.full((candidates, len(pool.samples.n)), -np.inf)
    bics[pool.candidate, pool.rows] = np.where(
        np.isfinite(bic) & (forced | ~run.floored), bic, -np.inf
    )
    return bics


def _keep(fits: Fits, rows: Integers, pool: Pool, run: EmResult, best: Integers) -> None:
    """Write the chosen fits in the units of the data, means ascending."""
    numbers, samples = pool.numbers[best], pool.samples.take(pool.rows[best])
    theta = np.full((3, len(rows), fits.means.shape[1]), np.nan)
    theta[:, np.arange(theta.shape[-1]) < numbers[:, None]] = run.theta.take(pool.components(best))
    order = np.argsort(theta[1], axis=-1, kind="stable")  # NaN goes last
    weights, means, variances = np.take_along_axis(theta, order[None], axis=-1)
    fits.weights[rows] = np.nan_to_num(weights)
    fits.means[rows] = samples.center[:, None] + samples.scale[:, None] * means
    fits.deviations[rows] = samples.scale[:, None] * np.sqrt(variances)
    fits.n_components[rows], fits.equal[rows], fits.loglik[rows] = (
        numbers,
        pool.equal[best],
        run.loglik[best] - pool.jacobian[best],
    )
    fits.n_iterations[rows], fits.converged[rows], fits.floored[rows] = (
        column[best] for column in run[2:]
    )


def _fit_fewer(
    fits: Fits,
    rows: Integers,
    values: Floats,
    weights: Floats | None,
    request: FitRequest,
    steps: Steps,
) -> None:
    """Fit samples with fewer distinct values than components: as many components as values."""
    distinct = np.array([len(np.unique(row[~np.isnan(row)])) for row in values[rows]], int)
    for number in np.unique(distinct):
        rows_of_number = rows[distinct == number]
        smaller = replace(request, numbers=[int(number)], progress=None)
        fewer = fit_mixtures(
            values[rows_of_number],
            None if weights is None else weights[rows_of_number],
            smaller,
            steps,
        )
        fits.weights[rows_of_number] = 0.0
        for column, new in zip(fits, fewer, strict=True):
            column[(rows_of_number, slice(number)) if column.ndim == 2 else rows_of_number] = new


def grouped(samples: Samples) -> Samples:
    """Return samples whose values are means of neighbours, with the variance inside them.

    EM then iterates over hundreds of points instead of thousands of values. All values of a group
    get the same responsibilities: EM maximises the largest lower bound of the log-likelihood of
    which that is true (Verbeek, Nunnink and Vlassis, "Accelerated EM-based clustering of large data
    sets", 2006). With one component the bound is the log-likelihood itself.
    """
    longest = int(samples.n.max())
    size = longest // GROUPS
    if size < 3:
        return samples
    measured = np.arange(longest) < samples.n[:, None]
    first = _first_of_group(samples.values[:, :longest], size) & measured
    count, starts = first.sum(axis=-1), np.flatnonzero(first[measured])
    x, w = samples.values[:, :longest][measured], samples.weights[:, :longest][measured]
    share = np.add.reduceat(w, starts)
    mean = np.add.reduceat(w * x, starts) / share
    deviations = x - np.repeat(mean, np.diff(starts, append=len(x)))
    spread = np.add.reduceat(w * deviations**2, starts) / share
    inside_row = np.arange(int(count.max())) < count[:, None]
    values, weights, inside = (np.zeros(inside_row.shape) for _ in range(3))
    values[inside_row], weights[inside_row], inside[inside_row] = mean, share, spread
    values = np.where(inside_row, values, values[:, :1])
    return samples._replace(values=values, weights=weights, n=count, raw=values, inside=inside)


def _first_of_group(values: Floats, size: int) -> Mask:
    """Return which values begin a group: one in `size`, and all different ones in wide places."""
    number = values.shape[-1] // size
    groups = values[:, : number * size].reshape(len(values), number, size)
    width = groups[..., -1] - groups[..., 0]
    padded = np.pad(width, [(0, 0), (1, 1)])
    ungrouped = width > np.minimum(WIDER * np.minimum(padded[:, :-2], padded[:, 2:]), WIDEST)
    first = np.ones(values.shape, bool)
    first[:, : number * size] = ((np.arange(size) == 0) | ungrouped[..., None]).reshape(
        len(values), -1
    )
    first[:, 1:] &= np.diff(values, axis=-1) != 0
    return first

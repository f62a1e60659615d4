"""Mixtures fitted to many samples at once: EM for every number of components and both models, BIC."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.em import em, finish
from perfarray.mixtures.numerics.groups import grouped
from perfarray.mixtures.numerics.pool import Candidate, Run, Samples, Steps
from perfarray.mixtures.numerics.steps import NORMAL_STEPS
from perfarray.mixtures.numerics.stops import Task
from perfarray.numerics.levels import unit_weights
from perfarray.numerics.types import Floats, Integers, Mask

EQUAL, UNEQUAL = "equal", "unequal"

MOST_COMPONENTS = 9
"""The most components tried unless more are asked for, as in mclust."""

STOPPED = 1e-5
"""Relative change of the log-likelihood at which mclust stops."""

MARGIN = 20.0
"""How far below the largest BIC a fit may lie, where mclust would stop, to be brought to its maximum.

Of 600 samples of 60 runs and up to four modes, another fit would have overtaken in two, by 3.4 of BIC; to go on with all of them takes
three times as long.
"""

BLOCK = 1 << 16
"""Values of the samples that are fitted together."""

EVEN = 1e-12
"""Weights that differ from 1 by less do so by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """How mixtures are fitted.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of components tried.
    models : sequence of {"equal", "unequal"}
        Whether the components have one variance, or each its own.
    tolerance : float, optional
        The relative change of the log-likelihood at which EM stops; default: at the maximum.
    forced : bool
        Whether fits with a component at the variance floor count where there are no others.
    families : sequence of str
        What the components may be (`families.FAMILIES`).
    engine : {"numpy", "numba"}
        What runs EM.
    grouped : bool
        Whether EM may take neighbouring values of samples of thousands together (`groups`).
    after : callable, optional
        Called with how many samples were fitted, whenever some were, once for every family.
    """

    numbers: Sequence[int] = range(1, MOST_COMPONENTS + 1)
    models: Sequence[str] = (EQUAL, UNEQUAL)
    tolerance: float | None = None
    forced: bool = False
    families: Sequence[str] = ("normal",)
    engine: str = "numpy"
    grouped: bool = False
    after: Callable[[int], object] | None = None

    def candidates(self, steps: Steps) -> list[Candidate]:
        """Every number of components with every model; one component has one spread, and there is one where spreads are no parameters."""
        models = self.models if steps.spreads else (EQUAL,)
        every = [(number, model) for number in self.numbers for model in (models[:1] if number == 1 else models)]
        return [(number, model == EQUAL or number == 1) for number, model in every]


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
    """Return the runs of cells, shape (..., units, runs), as samples (sample, value), and what each run counts.

    Units count alike, and the weights of a sample sum to the number of its runs; None means that all runs count 1.
    """
    sample = runs.reshape(-1, runs.shape[-2] * runs.shape[-1])
    measured = ~np.isnan(sample)
    weights = np.nan_to_num(unit_weights(runs)).reshape(sample.shape) * measured.sum(axis=-1, keepdims=True)
    weights[np.abs(weights - 1) < EVEN] = 1.0
    return sample, None if (weights[measured] == 1.0).all() else weights


def fit_mixtures(values: Floats, weights: Floats | None, request: FitRequest, steps: Steps = NORMAL_STEPS) -> Fits:
    """Fit mixtures of every number of components and every model, and keep the one with the largest BIC.

    Parameters
    ----------
    values : array, shape (sample, value)
        NaN where not measured.
    weights : array, shape (sample, value), optional
        What each value counts; they sum to the number of values. Default: 1.
    request : FitRequest
        What is tried, but for its families.
    steps : Steps
        What EM does: the law of the components.

    Returns
    -------
    Fits
        Means ascending; a sample without values has NaN.
    """
    size = len(values)
    most = max(request.numbers)
    found = _blank(size, most)
    count = (~np.isnan(values)).sum(axis=-1)
    ordered, shares = _ordered(values, weights)
    spread = np.where(count > 0, ordered[np.arange(size), np.maximum(count, 1) - 1] - ordered[:, 0], np.nan) if size else np.empty(0)
    _fill_constant(found, np.flatnonzero(spread == 0), ordered, count)
    rows = np.flatnonzero(spread > 0)
    after = request.after or (lambda _number: None)
    after(size - len(rows))
    for block in _alike(rows, count):
        length = int(count[block].max())
        samples = _standardised(ordered[block, :length], shares[block, :length], count[block])
        _fit_block(found, block, samples, request, steps)
        after(len(block))
    if request.forced:
        _fit_fewer(found, rows[np.isnan(found.n_components[rows])], values, weights, request, steps)
    return found


def _fit_fewer(found: Fits, rows: Integers, values: Floats, weights: Floats | None, request: FitRequest, steps: Steps) -> None:
    """Fit samples with fewer distinct values than components: as many components as there are distinct values."""
    distinct = np.array([len(np.unique(row[~np.isnan(row)])) for row in values[rows]], int)
    for number in np.unique(distinct):
        some = rows[distinct == number]
        own = None if weights is None else weights[some]
        fewer = fit_mixtures(values[some], own, replace(request, numbers=[int(number)], after=None), steps)
        found.weights[some] = 0.0
        for part, new in zip(found, fewer, strict=True):
            if part.ndim == 2:
                part[some, :number] = new
            else:
                part[some] = new


def _blank(size: int, most: int) -> Fits:
    """Return room for the fits."""
    by_component = {name: np.full((size, most), np.nan) for name in ("weights", "means", "deviations")}
    numbers = {name: np.full(size, np.nan) for name in ("n_components", "loglik", "bic", "n_iterations", "n_floored")}
    marks = {name: np.zeros(size, bool) for name in ("equal", "converged", "floored")}
    return Fits(**by_component, **numbers, **marks, n=np.zeros(size))


def _ordered(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Sort every sample, what was not measured last, with weight 0."""
    if weights is None:
        ordered = np.sort(values, axis=-1)
        return ordered, np.where(np.isnan(ordered), 0.0, 1.0)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    return ordered, np.where(np.isnan(ordered), 0.0, np.take_along_axis(weights, order, axis=-1))


def _fill_constant(found: Fits, rows: Integers, ordered: Floats, count: Integers) -> None:
    """Write constant samples down as one component without variance: nothing is fitted, and their likelihood has no bound."""
    for part, number in ((found.weights, 1.0), (found.means, ordered[rows, :1]), (found.deviations, 0.0)):
        part[rows] = np.nan if part is not found.weights else 0.0
        part[rows, :1] = number
    found.n_components[rows], found.equal[rows], found.converged[rows] = 1.0, True, True
    found.loglik[rows], found.bic[rows] = np.inf, np.inf
    found.n[rows], found.n_iterations[rows], found.n_floored[rows] = count[rows], 0.0, 0.0


def _alike(rows: Integers, count: Integers) -> list[Integers]:
    """Split rows into blocks of like size."""
    order = rows[np.argsort(count[rows], kind="stable")]
    blocks, start = [], 0
    for stop in range(1, len(order) + 1):
        largest = count[order[stop - 1]]
        if stop == len(order) or count[order[stop]] > 1.25 * count[order[start]] + 2 or (stop + 1 - start) * largest > BLOCK:
            blocks.append(order[start:stop])
            start = stop
    return blocks


def _standardised(raw: Floats, weights: Floats, n: Integers) -> Samples:
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
    return Samples(deviations / scale[:, None], weights, n, total, center, scale, raw=filled, inside=np.zeros_like(filled))


def _fit_block(found: Fits, block: Integers, samples: Samples, request: FitRequest, steps: Steps) -> None:
    """Fit a block of samples, and keep the best fits; where two are equal, the first."""
    candidates, tolerance = request.candidates(steps), request.tolerance
    limit, last = STOPPED if tolerance is None else tolerance, tolerance is not None and len(candidates) > 1
    normal = steps is NORMAL_STEPS
    points = grouped(samples) if request.grouped and normal else samples
    engine = request.engine if normal else "numpy"
    runs = em(samples, points, candidates, Task(limit, request.forced, last), engine, steps)
    bics = _bics(samples, runs, candidates, request.forced, steps)
    if tolerance is None:
        finish(points, runs, _near(bics, candidates), candidates, request.forced, engine, steps)
        bics = _bics(samples, runs, candidates, request.forced, steps)
    floored = np.stack([run.floored for run in runs])
    found.n[block], found.n_floored[block] = samples.n, floored.sum(axis=0)
    # A fit at the floor is kept only where there is no other.
    competing = np.where(floored & ~floored.all(axis=0), -np.inf, bics)
    chosen = competing.argmax(axis=0)
    for place, run in enumerate(runs):
        better = (chosen == place) & np.isfinite(competing[place])
        found.equal[block[better]], found.bic[block[better]] = candidates[place][1], bics[place][better]
        _keep(found, block[better], samples.take(better), run.take(better))


def _bics(samples: Samples, runs: Sequence[Run], candidates: Sequence[Candidate], forced: bool, steps: Steps) -> Floats:
    """Return the BIC of every fit, shape (candidate, sample); minus infinity for those that do not compete."""
    log_n, jacobian = np.log(samples.total), samples.jacobian
    found = []
    for run, (number, equal) in zip(runs, candidates, strict=True):
        parameters = 2 * number - 1 + steps.spreads * (1 if equal else number) + steps.edges * (number - 1)
        bic = 2 * (run.loglik - jacobian) - parameters * log_n
        found.append(np.where(np.isfinite(bic) & (forced | ~run.floored), bic, -np.inf))
    return np.stack(found)


def _near(bics: Floats, candidates: Sequence[Candidate]) -> list[Integers]:
    """Return which samples have fits whose BIC may still become the largest, of those that are not at their maximum."""
    near = (bics >= bics.max(axis=0) - MARGIN) & np.isfinite(bics)
    return [np.flatnonzero(own) if number > 1 else np.empty(0, np.intp) for own, (number, _) in zip(near, candidates, strict=True)]


def _keep(found: Fits, rows: Integers, samples: Samples, run: Run) -> None:
    """Write fits down in the units of the data, means ascending."""
    weights, means, variances = run.theta
    order = np.argsort(means, axis=-1, kind="stable")
    number = means.shape[-1]
    center, scale = samples.center[:, None], samples.scale[:, None]
    found.weights[rows], found.means[rows], found.deviations[rows] = 0.0, np.nan, np.nan
    found.weights[rows, :number] = np.take_along_axis(weights, order, axis=-1)
    found.means[rows, :number] = center + scale * np.take_along_axis(means, order, axis=-1)
    found.deviations[rows, :number] = scale * np.sqrt(np.take_along_axis(variances, order, axis=-1))
    found.n_components[rows], found.loglik[rows] = number, run.loglik - samples.jacobian
    found.n_iterations[rows], found.converged[rows], found.floored[rows] = run.n_iterations, run.converged, run.floored

"""Mixtures of normal distributions fitted to many samples at once: EM for every number of components and both models, BIC."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats, unit_weights, values_by_unit
from perfarray.numerics.mixture_start import Integers, quantile_classes

EQUAL, UNEQUAL = "equal", "unequal"

FLOOR = 1e-12
"""Least variance of a component, as a share of the sample's: a component there has collapsed on ties or on one value."""

MOST_COMPONENTS = 9
"""The most components tried unless more are asked for, as in mclust."""

STOPPED = 1e-5
"""Relative change of the log-likelihood at which mclust stops."""

CALM = 1e-7
"""Relative change of the log-likelihood at which plain EM gives way to accelerated EM: earlier, it may leap to another maximum."""

SETTLED = 1e-7
"""Estimated distance from the maximum, in standard deviations of a component, at which accelerated EM stops."""

GAIN = 1e-12
"""Log-likelihood that is estimated to be still to gain, at which accelerated EM stops: on a ridge the maximum is far and no better."""

MOST_STEPS = 20_000
"""Most steps of EM."""

MARGIN = 20.0
"""How far below the largest BIC a fit may lie, where mclust would stop, to be brought to its maximum: others do not catch up."""

BLOCK = 1 << 15
"""Values times components that are worked on together: what stays in a cache."""

TINY = 1e-280
"""Densities below this are computed again, relative to the nearest component."""

MOVED = float(np.sqrt(np.finfo(float).eps))
"""Squared distance of the weights from those of the next step, above which mclust takes that step for the fit it selects."""

EVEN = 1e-12
"""Weights that differ from 1 by less do so by rounding."""

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


class Fits(NamedTuple):
    """One mixture per sample; shape (sample, component) and (sample,)."""

    weights: Floats
    means: Floats
    deviations: Floats
    n_components: Floats
    equal: npt.NDArray[np.bool_]
    loglik: Floats
    bic: Floats
    n: Floats
    n_iterations: Floats
    converged: npt.NDArray[np.bool_]
    floored: npt.NDArray[np.bool_]
    n_floored: Floats


class Theta(NamedTuple):
    """Parameters of standardised samples, shape (sample, component)."""

    weights: Floats
    means: Floats
    variances: Floats

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "Theta":
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
    converged: npt.NDArray[np.bool_]
    floored: npt.NDArray[np.bool_]


class Task(NamedTuple):
    """What plain EM is asked for: one variance or several, where to stop, whether fits at the floor go on, mclust's last step."""

    equal: bool
    limit: float
    forced: bool
    last: bool


def samples_of_cells(values: Floats, levels: int, place: int) -> tuple[tuple[int, ...], Floats, Floats | None]:
    """Return the shape of the cells, the runs of each, and what each run counts: units count alike, and None means that runs do.

    Parameters
    ----------
    values : array, shape (..., n_L, ..., n_1)
        Measurements.
    levels : int
        The number of levels L.
    place : int
        The place in the nest of the level whose repetitions are runs.
    """
    runs = values_by_unit(values, levels, place)
    shape = (int(np.prod(runs.shape[:-2])), runs.shape[-2] * runs.shape[-1])
    sample = runs.reshape(shape)
    measured = ~np.isnan(sample)
    weights = np.nan_to_num(unit_weights(runs)).reshape(shape) * measured.sum(axis=-1, keepdims=True)
    weights[np.abs(weights - 1) < EVEN] = 1.0
    return runs.shape[:-2], sample, None if (weights[measured] == 1.0).all() else weights


def fit_mixtures(
    values: Floats,
    weights: Floats | None,
    numbers: Sequence[int],
    models: Sequence[str],
    *,
    tolerance: float | None = None,
    forced: bool = False,
    engine: str = "numpy",
) -> Fits:
    """Fit mixtures of every number of components and every model, and keep the one with the largest BIC.

    Parameters
    ----------
    values : array, shape (sample, value)
        NaN where not measured.
    weights : array, shape (sample, value), optional
        What each value counts; they sum to the number of values. Default: 1.
    numbers : sequence of int
        Numbers of components.
    models : sequence of {"equal", "unequal"}
        Whether the components have one variance, or each its own.
    tolerance : float, optional
        The relative change of the log-likelihood at which EM stops; default: at the maximum.
    forced : bool
        Whether fits with a component at the variance floor count where there are no others.
    engine : {"numpy", "numba"}
        What runs EM.

    Returns
    -------
    Fits
        Means ascending; a sample without values has NaN.
    """
    size = len(values)
    most = max(numbers)
    found = _blank(size, most)
    count = (~np.isnan(values)).sum(axis=-1)
    ordered, shares = _ordered(values, weights)
    spread = np.where(count > 0, ordered[np.arange(size), np.maximum(count, 1) - 1] - ordered[:, 0], np.nan) if size else np.empty(0)
    _fill_constant(found, np.flatnonzero(spread == 0), ordered, count)
    rows = np.flatnonzero(spread > 0)
    for block in _alike(rows, count):
        length = int(count[block].max())
        samples = _standardised(ordered[block, :length], shares[block, :length], count[block])
        _fit_block(found, block, samples, numbers, models, tolerance, forced, engine)
    if forced:
        _fit_fewer(found, rows[np.isnan(found.n_components[rows])], values, weights, models, tolerance, engine)
    return found


def _fit_fewer(
    found: Fits, rows: Integers, values: Floats, weights: Floats | None, models: Sequence[str], tolerance: float | None, engine: str
) -> None:
    """Samples with fewer distinct values than components get as many components as they have distinct values."""
    distinct = np.array([len(np.unique(row[~np.isnan(row)])) for row in values[rows]], int)
    for number in np.unique(distinct):
        some = rows[distinct == number]
        own = None if weights is None else weights[some]
        fewer = fit_mixtures(values[some], own, [int(number)], models, tolerance=tolerance, forced=True, engine=engine)
        found.weights[some] = 0.0
        for part, new in zip(found, fewer, strict=True):
            if part.ndim == 2:
                part[some, :number] = new
            else:
                part[some] = new


def _blank(size: int, most: int) -> Fits:
    """Return room for the fits."""
    per_component = [np.full((size, most), np.nan) for _ in range(3)]
    flags = [np.zeros(size, bool) for _ in range(3)]
    blank = [np.full(size, np.nan) for _ in range(6)]
    return Fits(*per_component, blank[0], flags[0], blank[1], blank[2], blank[3], blank[4], flags[1], flags[2], blank[5])


def _ordered(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Sort every sample, what was not measured last, with weight 0."""
    if weights is None:
        ordered = np.sort(values, axis=-1)
        return ordered, np.where(np.isnan(ordered), 0.0, 1.0)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    return ordered, np.where(np.isnan(ordered), 0.0, np.take_along_axis(weights, order, axis=-1))


def _fill_constant(found: Fits, rows: Integers, ordered: Floats, count: Integers) -> None:
    """A constant sample is one component without variance: nothing is fitted, and its likelihood has no bound."""
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
    return Samples(deviations / scale[:, None], weights, n, total, center, scale, filled)


def _fit_block(
    found: Fits,
    block: Integers,
    samples: Samples,
    numbers: Sequence[int],
    models: Sequence[str],
    tolerance: float | None,
    forced: bool,
    engine: str,
) -> None:
    """Fit a block of samples, and keep the best fits; where two are equal, the first."""
    log_n = np.log(samples.total)
    jacobian = samples.total * np.log(samples.scale)
    candidates = [(number, model == EQUAL or number == 1) for number in numbers for model in (models[:1] if number == 1 else models)]
    limit, last = STOPPED if tolerance is None else tolerance, tolerance is not None and len(candidates) > 1
    runs = [_em(samples, number, Task(equal, limit, forced, last), engine) for number, equal in candidates]

    def bic_of(place: int) -> Floats:
        number, equal = candidates[place]
        bic = 2 * (runs[place].loglik - jacobian) - (2 * number if equal else 3 * number - 1) * log_n
        return np.where(np.isfinite(bic) & (forced | ~runs[place].floored), bic, -np.inf)

    if tolerance is None:
        _finish(samples, runs, candidates, np.stack([bic_of(place) for place in range(len(runs))]), forced, engine)
    bics = np.stack([bic_of(place) for place in range(len(runs))])
    floored = np.stack([run.floored for run in runs])
    found.n[block], found.n_floored[block] = samples.n, floored.sum(axis=0)
    # A fit at the floor is kept only where there is no other.
    competing = np.where(floored & ~floored.all(axis=0), -np.inf, bics)
    chosen = competing.argmax(axis=0)
    for place, run in enumerate(runs):
        better = (chosen == place) & np.isfinite(competing[place])
        _keep(found, block, better, samples, run, run.loglik - jacobian, bics[place], candidates[place][1])


def _finish(
    samples: Samples, runs: list[Run], candidates: Sequence[tuple[int, bool]], bics: Floats, forced: bool, engine: str
) -> None:
    """Bring the fits to their maximum whose BIC may still become the largest."""
    best = bics.max(axis=0)
    for run, (number, equal), bic in zip(runs, candidates, bics, strict=True):
        rows = np.flatnonzero((bic >= best - MARGIN) & np.isfinite(bic))
        if number == 1 or not len(rows):
            continue
        step = len(rows) if engine != "numpy" else max(1, BLOCK // (samples.values.shape[-1] * number))
        finish = _finished if engine == "numpy" else _finished_compiled
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            own = Samples(*(part[some] for part in samples))
            _put(run, some, finish(own, Run(run.theta.take(some), *(part[some] for part in run[1:])), equal, forced))


def _keep(
    found: Fits, block: Integers, better: npt.NDArray[np.bool_], samples: Samples, run: Run, loglik: Floats, bic: Floats, equal: bool
) -> None:
    """Write fits down in the units of the data, means ascending."""
    rows = block[better]
    weights, means, variances = run.theta.take(better)
    order = np.argsort(means, axis=-1, kind="stable")
    number = means.shape[-1]
    center, scale = samples.center[better, None], samples.scale[better, None]
    found.weights[rows], found.means[rows], found.deviations[rows] = 0.0, np.nan, np.nan
    found.weights[rows, :number] = np.take_along_axis(weights, order, axis=-1)
    found.means[rows, :number] = center + scale * np.take_along_axis(means, order, axis=-1)
    found.deviations[rows, :number] = scale * np.sqrt(np.take_along_axis(variances, order, axis=-1))
    found.n_components[rows], found.equal[rows] = number, equal
    found.loglik[rows], found.bic[rows] = loglik[better], bic[better]
    found.n_iterations[rows], found.converged[rows] = run.n_iterations[better], run.converged[better]
    found.floored[rows] = run.floored[better]


def _em(samples: Samples, number: int, task: Task, engine: str) -> Run:
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
        _put(run, fitted, _em_compiled(Samples(*(part[fitted] for part in samples)), starts[fitted], task))
        return run
    step = max(1, BLOCK // (length * number))
    for first in range(0, len(fitted), step):
        rows = fitted[first : first + step]
        own = Samples(*(part[rows] for part in samples))
        _put(run, rows, _em_rows(own, starts[rows], task))
    return run


def _put(run: Run, rows: Integers, part: Run) -> None:
    """Write what a part arrived at into the whole."""
    run.theta.put(rows, part.theta)
    for whole, new in zip(run[1:], part[1:], strict=True):
        whole[rows] = new


def _em_compiled(samples: Samples, starts: Integers, task: Task) -> Run:
    """Let the compiled engine run EM."""
    from perfarray.numerics.compiled.mixture import em_compiled

    jacobian = samples.total * np.log(samples.scale)
    theta, *found = em_compiled(samples.values, samples.weights, samples.n, samples.total, jacobian, starts, *task)
    return Run(Theta(*theta), *found)


def _finished_compiled(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Let the compiled engine go on to the maximum."""
    from perfarray.numerics.compiled.mixture import finish_compiled

    jacobian = samples.total * np.log(samples.scale)
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
    terms = squares * (-0.5 / theta.variances)[..., None]
    terms += (np.log(theta.weights) - 0.5 * np.log(theta.variances))[..., None]
    joint = np.exp(terms)
    total = joint.sum(axis=1)
    far = np.flatnonzero((total < TINY).any(axis=-1))
    with np.errstate(divide="ignore"):
        log_density = np.log(total)
    if len(far):
        largest = terms[far].max(axis=1)
        joint[far] = np.exp(terms[far] - largest[:, None, :])
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


def _held(theta: Theta) -> tuple[Theta, npt.NDArray[np.bool_]]:
    """Keep variances at the floor or above, and say which samples needed it; a component without weight is at the floor too."""
    low = (theta.variances <= FLOOR) | (theta.weights < TINY)
    return Theta(np.maximum(theta.weights, TINY), theta.means, np.where(low, FLOOR, theta.variances)), low.any(axis=-1)


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
    jacobian = samples.total * np.log(samples.scale)
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


def _kept(
    kept: npt.NDArray[np.bool_], samples: Samples, theta: Theta, rows: Integers, *parts: Floats
) -> tuple[Samples, Theta, Integers, Floats, Floats]:
    """Go on with some of the samples, without what lies past the longest."""
    length = int(samples.n[kept].max(initial=0))
    own = Samples(*(part[kept, :length] if part.ndim == 2 else part[kept] for part in samples))
    first, second = (part[kept] for part in parts)
    return own, theta.take(kept), rows[kept], first, second


def _finished(samples: Samples, run: Run, equal: bool, forced: bool) -> Run:
    """Go on with plain EM until it is calm, then accelerated to the maximum."""
    calm = _plain(samples, run.theta, Task(equal, CALM, forced, False))
    found = Run(calm.theta, calm.loglik, run.n_iterations + calm.n_iterations, calm.converged, run.floored | calm.floored)
    rows = np.flatnonzero(calm.converged & (forced | ~calm.floored))
    if len(rows):
        own = Samples(*(part[rows] for part in samples))
        _put(found, rows, _accelerated(own, Run(found.theta.take(rows), *(part[rows] for part in found[1:])), equal, forced))
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


def _extrapolated(
    start: Theta, first: Theta, second: Theta, cap: Floats, equal: bool
) -> tuple[Theta, Floats, tuple[Floats, Floats]]:
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

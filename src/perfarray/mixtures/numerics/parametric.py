"""How two or more mixtures of normal distributions compare: Worms and Touati (2016), equations 7, 10 and 13.

A component with weight 0 is absent; one with standard deviation 0 is a point: a sample that was constant.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.empirical import Drawing, Limits, limits_from
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, fit_mixtures, weighted_samples
from perfarray.mixtures.numerics.normal import Mixture, classes, draw, present
from perfarray.mixtures.numerics.pool import Steps
from perfarray.mixtures.numerics.scale import FAMILIES, NAMES, Scaled, modes, moments
from perfarray.mixtures.numerics.steps import NORMAL_STEPS
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

PARAMETERS = ("weight", "mean", "standard_deviation", "n", "family")

EDGES = np.linspace(-8.0, 8.0, 11)
"""Where the panels of an integral end, in standard deviations of every component."""

NODES = 12
"""Points of the Gauss-Legendre rule in a panel: a normal density is integrated to 1e-15 over a panel 1.6 standard deviations wide."""

BLOCK = 500_000
"""Points times components evaluated at once."""


class System(NamedTuple):
    """Mixtures (..., component) on their scale, the runs they were fitted to (..., units, runs), if known, and independent units."""

    own: Scaled
    runs: Floats | None
    n: Floats


class _Pairs(NamedTuple):
    """Every component of one mixture against every component of another, shape (..., component, component)."""

    weight: Floats
    difference: Floats
    deviation: Floats
    known: Floats


def difference(x: Mixture, y: Mixture) -> Floats:
    """Return E|X - Y|, shape (...): equation 7."""
    pairs = _pairs(x, y)
    spread = np.where(pairs.deviation > 0, pairs.deviation, 1.0)
    score = pairs.difference / spread
    folded = pairs.difference * (2 * ndtr(score) - 1) + spread * np.sqrt(2 / np.pi) * np.exp(-0.5 * score**2)
    each = np.where(pairs.deviation > 0, folded, np.abs(pairs.difference))
    return np.asarray(pairs.known * (pairs.weight * each).sum(axis=(-2, -1)))


def difference_on_scale(pair: Sequence[Scaled]) -> Floats:
    """Return E|X - Y| of two mixtures that are both of values, or both of logarithms, cell by cell."""
    x, y = pair
    log = np.asarray(x.log | y.log)
    if not log.any():
        return difference(x.mixture, y.mixture)
    return np.where(log, difference_of_logs(x.mixture, y.mixture), difference(x.mixture, y.mixture))


def difference_of_logs(x: Mixture, y: Mixture) -> Floats:
    """Return E|X - Y|, shape (...), of mixtures whose logarithms are normal.

    It is E X + E Y - 2 E min(X, Y), and a lognormal's E[X; X < y] is E X times the probability under a mean that is s^2 larger:
    E[X; X < Y] = E X P[m_x + s_x^2 + e < m_y], e of variance s_x^2 + s_y^2.
    """
    pairs = _pairs(x, y)
    every = np.ones(np.broadcast_shapes(x.weights.shape[:-1], y.weights.shape[:-1]), bool)
    (_, new, _), (_, old, _) = moments(Scaled(present(x), every)), moments(Scaled(present(y), every))
    new, old = new[..., :, None], old[..., None, :]
    variances = [np.where(own.weights > 0, own.deviations, 0.0) ** 2 for own in (x, y)]
    spread = np.where(pairs.deviation > 0, pairs.deviation, 1.0)
    below = ndtr((-pairs.difference - variances[0][..., :, None]) / spread)
    above = ndtr((pairs.difference - variances[1][..., None, :]) / spread)
    each = np.where(pairs.deviation > 0, new * (1 - 2 * below) + old * (1 - 2 * above), np.abs(new - old))
    return np.asarray(pairs.known * (pairs.weight * each).sum(axis=(-2, -1)))


def alike(systems: Sequence[System], shift: float = 0.0, runs: int = 1) -> bool:
    """Return whether there are closed forms: all mixtures are normal, or all lognormal and neither shifted nor summed.

    Raises
    ------
    ValueError
        Totals of others.
    """
    codes = {code for system in systems for code in np.unique(np.asarray(system.own.family)[(system.own.mixture.weights > 0).any(axis=-1)])}
    if codes <= {0} or (codes <= {1} and not shift and runs == 1):
        return True
    if runs > 1:
        named = ", ".join(NAMES[int(code)] for code in sorted(codes))
        raise ValueError(f"runs={runs}: totals are of normal mixtures, and these are {named}; give the timings, or fit normal components")
    return False


def turned(systems: Sequence[System]) -> list[System]:
    """Return normal mixtures of minus the values, or of minus their logarithms."""
    return [one._replace(own=one.own._replace(mixture=one.own.mixture._replace(means=-one.own.mixture.means))) for one in systems]


def less(x: Mixture, y: Mixture, shift: float = 0.0, ties: float = 0.0) -> Floats:
    """Return P[X < Y + shift], shape (...): equation 10. Points that coincide count `ties`."""
    pairs = _pairs(x, y)
    lead = shift - pairs.difference
    spread = np.where(pairs.deviation > 0, pairs.deviation, 1.0)
    at_points = np.where(lead == 0, ties, (lead > 0).astype(float))
    each = np.where(pairs.deviation > 0, ndtr(lead / spread), at_points)
    return np.asarray(pairs.known * (pairs.weight * each).sum(axis=(-2, -1)))


def _pairs(x: Mixture, y: Mixture) -> _Pairs:
    """Put the components of two mixtures against each other."""
    new, old = present(x), present(y)
    known = np.where((new.weights > 0).any(axis=-1) & (old.weights > 0).any(axis=-1), 1.0, np.nan)
    weight, gap = new.weights[..., :, None] * old.weights[..., None, :], new.means[..., :, None] - old.means[..., None, :]
    return _Pairs(weight, gap, np.hypot(new.deviations[..., :, None], old.deviations[..., None, :]), known)


def least(mixtures: Mixture, ties: bool = False) -> Floats:
    """Return the probability of every mixture to be the least of all: equation 13.

    Parameters
    ----------
    mixtures : Mixture
        Parameters of shape (..., system, component); a system without components is left out.
    ties : bool
        Whether points that coincide share their probability alike; otherwise it is nobody's.

    Returns
    -------
    array, shape (..., system)
        NaN for systems without components. The integral is split at 0, 1.6, ..., 8 standard deviations on both sides of every mean, so
        that no narrow component is missed.
    """
    clean = present(mixtures)
    shape = clean.weights.shape
    rows = Mixture(*(part.reshape(-1, *shape[-2:]) for part in clean))
    found = np.empty((len(rows.weights), shape[-2]))
    points = shape[-2] * shape[-1] * len(EDGES) * NODES
    step = max(1, BLOCK // (points * shape[-1]))
    for start in range(0, len(found), step):
        own = slice(start, start + step)
        found[own] = _least(Mixture(*(part[own] for part in rows)), ties)
    return found.reshape(shape[:-1])


def _least(mixtures: Mixture, ties: bool) -> Floats:
    """Integrate over what has a density, and sum over points; shape (cell, system)."""
    weights, means, deviations = mixtures
    known = np.asarray((weights > 0).any(axis=-1))
    x, share = _rule(mixtures)
    survival = np.stack([_survival(mixtures, system, x) for system in range(weights.shape[1])], axis=1)
    survival[~known] = 1.0
    found = np.empty(known.shape)
    for system in range(weights.shape[1]):
        others = np.delete(survival, system, axis=1).prod(axis=1)
        density = np.zeros_like(x)
        at_points = np.zeros(len(x))
        for weight, mean, deviation in zip(weights[:, system].T, means[:, system].T, deviations[:, system].T, strict=True):
            spread = np.where(deviation > 0, deviation, 1.0)
            bell = np.exp(-0.5 * ((x - mean[:, None]) / spread[:, None]) ** 2)
            density += np.where(deviation > 0, weight / (spread * np.sqrt(2 * np.pi)), 0.0)[:, None] * bell
            if (deviation == 0).any():
                at_points += np.where(deviation == 0, weight * _won_at(mixtures, known, system, mean, ties), 0.0)
        found[:, system] = (share * density * others).sum(axis=-1) + at_points
    return np.where(known, found, np.nan)


def _rule(mixtures: Mixture) -> tuple[Floats, Floats]:
    """Return points and weights of the composite Gauss-Legendre rule of every cell, shape (cell, point)."""
    weights, means, deviations = mixtures
    ends = means[..., None] + deviations[..., None] * EDGES
    present = (weights > 0)[..., None]
    first = np.where(present, ends, np.inf).min(axis=(-3, -2, -1), keepdims=True)
    ends = np.sort(np.where(present, ends, first).reshape(len(ends), -1), axis=-1)
    ends = np.where(np.isfinite(ends), ends, 0.0)
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    middle, half = 0.5 * (ends[:, 1:] + ends[:, :-1]), 0.5 * np.diff(ends)
    x = middle[..., None] + half[..., None] * nodes
    return x.reshape(len(x), -1), (half[..., None] * shares).reshape(len(x), -1)


def _survival(mixtures: Mixture, system: int, x: Floats, reached: bool = False) -> Floats:
    """Return P[X > x] of one system, shape of x (cell, point); with `reached`, P[X >= x] at points."""
    found = np.zeros_like(x)
    for weight, mean, deviation in zip(*(part[:, system].T for part in mixtures), strict=True):
        spread = np.where(deviation > 0, deviation, 1.0)
        beyond = mean[:, None] >= x if reached else mean[:, None] > x
        found += weight[:, None] * np.where(deviation[:, None] > 0, ndtr((mean[:, None] - x) / spread[:, None]), beyond)
    return found


def _won_at(mixtures: Mixture, known: Mask, system: int, place: Floats, ties: bool) -> Floats:
    """Return the probability that all other systems lie beyond a point of this one, ties broken by lot where asked; shape (cell,)."""
    others = [other for other in range(known.shape[1]) if other != system]
    x = place[:, None]
    greater = [np.where(known[:, other], _survival(mixtures, other, x)[:, 0], 1.0) for other in others]
    if not ties:
        return np.asarray(np.prod(greater, axis=0))
    reached = [np.where(known[:, other], _survival(mixtures, other, x, reached=True)[:, 0], 1.0) for other in others]
    lots, shares = np.polynomial.legendre.leggauss((known.shape[1] + 1) // 2)
    won = np.zeros(len(place))
    for lot, share in zip(0.5 * (1 + lots), 0.5 * shares, strict=True):
        won += share * np.prod([above + lot * (upto - above) for above, upto in zip(greater, reached, strict=True)], axis=0)
    return won


def given(parameters: Floats) -> System:
    """Take mixtures from an array of parameters, shape (..., parameter, component); n may be unknown."""
    weights, means, deviations, n, family = (parameters[..., place, :] for place in range(len(PARAMETERS)))
    return System(Scaled(Mixture(weights, means, deviations), np.nan_to_num(family[..., 0]).astype(int)), None, n[..., 0])


def fitted(runs: Floats) -> System:
    """Fit a mixture to every cell, runs of shape (..., units, runs): each unit counts the same."""
    return System(_plain(_fit(runs)), runs, (~np.isnan(runs)).any(axis=-1).sum(axis=-1).astype(float))


def _plain(mixture: Mixture) -> Scaled:
    """Return mixtures as those of the values themselves."""
    return Scaled(mixture, np.zeros(mixture.weights.shape[:-1], int))


def _fit(runs: Floats, tolerance: float | None = None, steps: Steps = NORMAL_STEPS) -> Mixture:
    """Fit mixtures of up to nine components to runs of shape (..., units, runs), on their scale, and keep the one with the largest BIC.

    With a tolerance, runs were drawn, and neighbours of thousands are taken together.
    """
    found = fit_mixtures(*weighted_samples(runs), FitRequest(tolerance=tolerance, grouped=tolerance is not None), steps)
    return Mixture(*(part.reshape(*runs.shape[:-2], -1) for part in found[:3]))


def beside(mixtures: Sequence[Mixture]) -> Mixture:
    """Put mixtures of several systems beside each other, shape (..., system, component)."""
    most = max(one.weights.shape[-1] for one in mixtures)
    parts = []
    for part, blank in ((0, 0.0), (1, 0.0), (2, 1.0)):
        own = [
            np.pad(one[part], [(0, 0)] * (one[part].ndim - 1) + [(0, most - one[part].shape[-1])], constant_values=blank)
            for one in mixtures
        ]
        parts.append(np.stack(own, axis=-2))
    return Mixture(*parts)


def number_of_modes(own: Scaled) -> Floats:
    """Count the modes of mixtures (..., component); NaN where no component is present."""
    known = (own.mixture.weights > 0).any(axis=-1)
    found = np.full(known.shape, np.nan)
    found[known] = (~np.isnan(modes(Scaled(Mixture(*(part[known] for part in own.mixture)), np.asarray(own.family)[known])))).sum(axis=-1)
    return found


def resampled(
    systems: Sequence[System], cells: Integers, metric: Callable[[Sequence[Scaled]], Floats], drawing: Drawing, *, each: bool = False
) -> Limits:
    """Compute a metric of mixtures, and percentile limits from samples drawn again and fitted again.

    Parameters
    ----------
    systems : sequence of System
        Two or more, with cells that broadcast to those of the answer.
    cells : int array, shape (...)
        Keys of the cells, which name the streams.
    metric : callable
        Takes one mixture (..., component) per system, on its scale, returns (...), or (..., system) with `each`.
    drawing : Drawing
        How often samples are drawn.
    each : bool
        Whether the metric has a value for each system.

    Returns
    -------
    Limits
        Of shape (...), or (..., system); limits are NaN where a number of units is unknown or below 2.
    """
    return limits_from(_replicates(systems, cells, metric, drawing, each), drawing.confidence_level)


def resampled_modes(system: System, cells: Integers, drawing: Drawing) -> tuple[Limits, Floats]:
    """Count the modes of mixtures; return the count with percentile limits, and the share of refitted samples that agree with it."""
    replicates = _replicates([system], cells, lambda own: number_of_modes(own[0]), drawing)
    drawn = replicates[..., 1:]
    stable = (drawn == replicates[..., :1]).mean(axis=-1) if drawing.n_resamples else np.full(cells.shape, np.nan)
    stable = np.where(np.isnan(drawn).any(axis=-1), np.nan, stable)
    limits = limits_from(replicates, drawing.confidence_level)
    return Limits(limits.estimate, np.floor(limits.lower), np.ceil(limits.upper)), stable


def _replicates(
    systems: Sequence[System], cells: Integers, metric: Callable[[Sequence[Scaled]], Floats], drawing: Drawing, each: bool = False
) -> Floats:
    """Return a metric of mixtures, and of those fitted to samples drawn from them, along the last axis."""
    shape = (*cells.shape, len(systems)) if each else cells.shape
    replicates = np.full((*shape, drawing.n_resamples + 1), np.nan)
    replicates[..., 0] = metric([system.own for system in systems])
    if drawing.n_resamples:
        for place in np.ndindex(cells.shape):  # cell by cell: each has a stream of its own
            own = [_at(system, place, cells.shape) for system in systems]
            found = [fit for number, one in enumerate(own) if (fit := _redrawn(one, int(cells[place]), number, drawing)) is not None]
            if len(found) == len(systems):
                replicates[(*place, ..., slice(1, None))] = np.moveaxis(metric(found), 0, -1)
    return replicates


def _at(system: System, place: tuple[int, ...], shape: tuple[int, ...]) -> System:
    """Return one cell of a system."""
    parts = [np.broadcast_to(part, (*shape, part.shape[-1]))[place] for part in system.own.mixture]
    family = np.broadcast_to(system.own.family, shape)[place]
    runs = None if system.runs is None else np.broadcast_to(system.runs, (*shape, *system.runs.shape[-2:]))[place]
    return System(Scaled(Mixture(*parts), np.asarray(family)), runs, np.broadcast_to(system.n, shape)[place])


def _redrawn(system: System, cell: int, number: int, drawing: Drawing) -> Scaled | None:
    """Draw samples of one cell and fit them on its scale, by EM that stops where mclust does; None where there are no two units."""
    if not system.n >= 2:
        return None
    generator = Streams(drawing.key).generator(cell, SAMPLES + drawing.stream(number))
    runs, mixture, family = system.runs, system.own.mixture, FAMILIES[NAMES[int(system.own.family)]]
    if runs is None or runs.shape[-1] == 1 or (~np.isnan(runs)).sum(axis=-1).max() == 1:
        drawn = draw(mixture, (drawing.n_resamples, int(system.n), 1), generator, family.law)
    else:
        drawn = _smoothed(mixture, runs, drawing.n_resamples, generator)
    return Scaled(_fit(drawn, STOPPED, family.steps), np.full(drawing.n_resamples, system.own.family))


def _smoothed(mixture: Mixture, runs: Floats, number: int, generator: np.random.Generator) -> Floats:
    """Redraw units, and spread their runs inside the component each comes from, whose variance stays what it is.

    The width is Silverman's for the component's share of the runs: ties made by redrawing would look like spikes.
    """
    units = runs[~np.isnan(runs).all(axis=-1)]
    whole = Mixture(*(part[None, None] for part in mixture))
    component = np.nan_to_num(classes(whole, units), nan=1.0).astype(int) - 1
    clean = present(mixture)
    count = np.maximum(clean.weights * (~np.isnan(units)).sum(), 1.0)
    width = (4 / (3 * count)) ** 0.2
    picks = generator.integers(0, len(units), (number, len(units)))
    values, own = units[picks], component[picks]
    moved = values - clean.means[own] + width[own] * clean.deviations[own] * generator.standard_normal(values.shape)
    return np.asarray(clean.means[own] + moved / np.sqrt(1 + width[own] ** 2))

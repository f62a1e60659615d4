"""Families of mixtures: a law of the components, and the scale it is a law on. What is asked and answered is in the units of the values.

On its scale every component has a place and a spread. A mixture of lognormals, say, is one of normals of the logarithms; minus the
logarithms of Weibull values follow Gumbel's law, and exponential values are Weibull's with spread 1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, zeta

from perfarray.mixtures.numerics import normal
from perfarray.mixtures.numerics.fit import FitRequest, Fits, fit_mixtures
from perfarray.mixtures.numerics.laws import EDGED, GUMBEL, LOG_GAMMA, NORMAL, Law
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.pool import Steps
from perfarray.mixtures.numerics.steps import (
    EDGED_STEPS,
    EULER,
    EXPONENTIAL_STEPS,
    GAMMA_STEPS,
    GUMBEL_STEPS,
    GUMBEL_VARIANCE,
    NORMAL_STEPS,
)
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

CLEAR = 2.0
"""How much larger another family's BIC than the normal's must be: less is "not worth more than a bare mention" (Kass and Raftery 1995)."""


NARROW = 1e-3
"""Spread of logarithms of Weibull values below which a series of their variance is more exact than a difference."""


class Family(NamedTuple):
    """A family: the law of its components, how EM fits it, and its scale: 0 values, 1 their logarithms, -1 minus these."""

    law: Law
    steps: Steps
    logs: int


FAMILIES = {
    "normal": Family(NORMAL, NORMAL_STEPS, 0),
    "lognormal": Family(NORMAL, NORMAL_STEPS, 1),
    "gamma": Family(LOG_GAMMA, GAMMA_STEPS, 1),
    "weibull": Family(GUMBEL, GUMBEL_STEPS, -1),
    "exponential": Family(GUMBEL, EXPONENTIAL_STEPS, -1),
    "pareto": Family(EDGED, EDGED_STEPS, 1),
    "extreme": Family(GUMBEL, GUMBEL_STEPS, 0),
}
"""By name, in the order of their codes."""

NAMES = tuple(FAMILIES)


class Scaled(NamedTuple):
    """Parameters of shape (..., component) on the scale of a family, and the code of that, shape (...): its place in `NAMES`."""

    mixture: Mixture
    family: Integers | Mask | Any

    @property
    def log(self) -> Mask:
        """Whether logarithms are normal."""
        return np.asarray(np.asarray(self.family) == 1)

    @property
    def positive(self) -> Mask:
        """Whether values are positive."""
        return np.asarray(np.array([own.logs != 0 for own in FAMILIES.values()])[np.asarray(self.family, int)])

    def each(self, answer: Callable[[Family, Mixture], Floats], axes: int = 0) -> Floats:
        """Ask about the mixtures of one family after the other; the answer has `axes` more axes behind those of the mixtures.

        Several answers may be stacked along an axis before them.
        """
        family = np.asarray(self.family)
        codes = np.unique(family)
        if len(codes) < 2:  # none where there are no mixtures
            return answer(FAMILIES[NAMES[int(codes.max(initial=0))]], self.mixture)
        found: Any = np.nan
        for code in codes:
            own = family == code
            blank = zip(self.mixture, (0.0, 0.0, 1.0), strict=True)
            part = answer(FAMILIES[NAMES[int(code)]], Mixture(*(np.where(own[..., None], some, absent) for some, absent in blank)))
            found = np.where(own[(..., *[None] * axes)], part, found)
        return np.asarray(found)


def on_scale(x: Floats, logs: int) -> Floats:
    """Return values on a scale; those that are not positive have an infinite logarithm."""
    if not logs:
        return x
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(logs * np.where(x > 0, np.log(x), np.where(np.isnan(x), np.nan, -np.inf)))


def off_scale(y: Floats, logs: int) -> Floats:
    """Return the values that are so on a scale."""
    return np.asarray(np.exp(logs * y) if logs else y)


def density(own: Scaled, x: Floats) -> Floats:
    """Return the density at x, shape (...): that of a logarithm over x, and none where x is not positive."""

    def answer(family: Family, mixture: Mixture) -> Floats:
        inside = (x > 0) | np.isnan(x) | (family.logs == 0)
        found = normal.density(mixture, on_scale(np.where(inside, x, 1.0), family.logs), family.law)
        return np.where(inside | np.isnan(found), found / np.where(inside & (family.logs != 0), x, 1.0), 0.0)

    return own.each(answer)


def distribution(own: Scaled, x: Floats) -> Floats:
    """Return the probability of values up to x, shape (...)."""

    def answer(family: Family, mixture: Mixture) -> Floats:
        reached = normal.distribution(mixture, on_scale(x, family.logs), family.law)
        if family.logs >= 0:
            return np.asarray(reached)
        point = (mixture.deviations == 0) & (mixture.weights > 0)
        at = np.where(point, mixture.weights * (mixture.means == on_scale(x, -1)[..., None]), 0.0).sum(axis=-1)
        return np.asarray(1 - reached + at)

    return own.each(answer)


def quantiles(own: Scaled, probability: Floats) -> Floats:
    """Return where the distribution reaches a probability, shape (...)."""

    def answer(family: Family, mixture: Mixture) -> Floats:
        share = 1 - np.asarray(probability) if family.logs < 0 else probability
        return off_scale(normal.quantiles(mixture, share, family.law), family.logs)

    return own.each(answer)


def classes(own: Scaled, x: Floats) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from; NaN where x is, or has no logarithm."""

    def answer(family: Family, mixture: Mixture) -> Floats:
        y = on_scale(x, family.logs)
        return normal.classes(mixture, np.where(np.isinf(y) & (family.logs != 0), np.nan, y), family.law)

    return own.each(answer)


def modes(own: Scaled) -> Floats:
    """Return the local maxima of the density of the values, ascending, shape (..., component); NaN past the last.

    With y = log x the density of x is that of y times exp(-y). Exponential components all have theirs at 0, Pareto's each at its edge.
    """

    def answer(family: Family, mixture: Mixture) -> Floats:
        if family.law is EDGED:
            edges = np.sort(np.where(mixture.weights > 0, mixture.means, np.nan), axis=-1)
            edges[..., 1:][edges[..., 1:] == edges[..., :-1]] = np.nan
            return off_scale(np.sort(edges, axis=-1), family.logs)
        found = off_scale(normal.modes(mixture, family.law, -family.logs), family.logs)
        return np.sort(found, axis=-1)

    return own.each(answer, 1)


def mean(own: Scaled) -> Floats:
    """Return the mean of the values, shape (...)."""
    weights, means, _ = moments(own)
    return np.where((weights > 0).any(axis=-1), (weights * means).sum(axis=-1), np.nan)


def deviation(own: Scaled) -> Floats:
    """Return the standard deviation of the values, shape (...); infinite where a component's is."""
    weights, means, deviations = moments(own)
    known, endless = (weights > 0).any(axis=-1), np.asarray(np.isinf(deviations).any(axis=-1))
    own_means, inside = (np.where(endless[..., None], 0.0, part) for part in (means, deviations))
    between = np.where(weights > 0, own_means - (weights * own_means).sum(axis=-1, keepdims=True), 0.0)
    # Values near the largest doubles would overflow when squared.
    largest = np.maximum(np.abs(between), inside).max(axis=-1, keepdims=True)
    unit = np.where(largest > 0, largest, 1.0)
    found = unit[..., 0] * np.sqrt((weights * ((inside / unit) ** 2 + (between / unit) ** 2)).sum(axis=-1))
    return np.where(known, np.where(endless, np.inf, found), np.nan)


def moments(own: Scaled) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and standard deviation of every component in the units of the values, absent ones with weight 0."""
    present = own.mixture.weights > 0
    weights, places, spreads = (np.where(present, part, 0.0) for part in own.mixture)
    filled = Scaled(Mixture(weights, places, spreads), own.family)
    means, deviations = filled.each(lambda family, one: np.stack(_moments(family, one.means, one.deviations)), 1)
    return weights, np.where(present, means, 0.0), np.where(present, deviations, 0.0)


def _moments(family: Family, m: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Return means and standard deviations of components."""
    center, law = off_scale(m, family.logs), family.law
    if law is NORMAL:
        first = off_scale(m + 0.5 * s**2, family.logs) if family.logs else center
        return first, first * np.sqrt(np.expm1(s**2)) if family.logs else s
    if law is LOG_GAMMA:
        return center, center * s
    if law is EDGED:
        within, half = np.where(s < 1, 1 - s, 1.0), np.where(s < 0.5, 1 - 2 * s, 1.0)
        first = np.where(s < 1, center / within, np.inf)
        return first, np.where(s < 0.5, center * s / (within * np.sqrt(half)), np.inf)
    if family.logs:
        near = np.minimum(s, NARROW)
        series = near**2 * (zeta(2, 1) - near * (2 * zeta(3, 1) - 3.5 * zeta(4, 1) * near))
        relative = np.where(s < NARROW, series, gammaln(1 + 2 * s) - 2 * gammaln(1 + s))
        first = center * np.exp(gammaln(1 + s))
        return first, first * np.sqrt(np.expm1(relative))
    return m + EULER * s, np.sqrt(GUMBEL_VARIANCE) * s


def scipy_parameters(own: Scaled) -> tuple[Floats, Floats, Floats]:
    """Return shape, location and scale of every component as SciPy has them; NaN where a component is absent, or has no such parameter."""
    present = own.mixture.weights > 0
    places, spreads = (np.where(present, part, 0.0) for part in own.mixture[1:])
    filled = Scaled(Mixture(own.mixture.weights, places, spreads), own.family)
    found = filled.each(lambda family, one: np.stack(_as_scipy(family, one.means, one.deviations)), 1)
    shape, location, scale = np.where(present, found, np.nan)
    return shape, location, scale


def _as_scipy(family: Family, m: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return shape, location and scale of components."""
    if not family.logs:
        return np.full(np.shape(m), np.nan), m, s
    scale, zero = off_scale(m, family.logs), np.zeros(np.shape(m))
    with np.errstate(divide="ignore"):
        if family.law is NORMAL:
            return s, zero, scale
        if family.law is LOG_GAMMA:
            return 1 / s**2, zero, scale * s**2
        return (1 / s if family.steps.spreads else np.full(np.shape(m), np.nan)), zero, scale


def from_scipy(weights: Floats, means: Floats, deviations: Floats, family: Integers, *parameters: Floats) -> Scaled:
    """Return mixtures from weights, means, standard deviations and the code of their family, and from SciPy's parameters if it needs them.

    A component without standard deviation is a point at its mean.
    """
    own = Scaled(Mixture(weights, means, deviations), family)
    if not np.any(family):
        return own
    point = deviations == 0

    def places_and_spreads(one: Family, _mixture: Mixture) -> Floats:
        places, spreads = _of_scipy(one, own.mixture, *parameters)
        return np.stack((np.where(point, on_scale(means, one.logs), places), np.where(point, 0.0, spreads)))

    with np.errstate(all="ignore"):  # of families that a component is not of
        return Scaled(Mixture(weights, *own.each(places_and_spreads, 1)), family)


def _of_scipy(family: Family, mixture: Mixture, shape: Floats, location: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return places and spreads of components."""
    if family.law is NORMAL and not family.logs:
        return mixture.means, mixture.deviations
    if not family.logs:
        return location, scale
    place = on_scale(scale, family.logs)
    if family.law is NORMAL:
        return place, shape
    if family.law is LOG_GAMMA:
        return on_scale(scale * shape, 1), shape**-0.5
    return place, 1 / shape if family.steps.spreads else np.ones(np.shape(scale))


def fit_on_scale(values: Floats, weights: Floats | None, request: FitRequest) -> tuple[Fits, Integers]:
    """Fit mixtures of every family asked for, and keep the one with the largest BIC; return the code of its family as well.

    Log-likelihoods and BIC are those of the values: a density of x is that of log x over x, so sum(log x) comes off. Samples with values
    that are not positive have no fit of families of positive values. Where there are families to choose from, the normal one, if it is one
    of them, is kept where no other is clearly better, and where values are constant.
    """
    found, chosen = None, np.zeros(len(values), int)
    for name in request.families:
        new = _fit_family(values, weights, request, FAMILIES[name])
        code = NAMES.index(name)
        if found is None:
            found, chosen[:] = new, code
            continue
        lead = np.where(chosen == 0, CLEAR, 0.0) if request.families[0] == NAMES[0] else 0.0
        ahead = new.bic > np.where(np.isnan(found.bic), -np.inf, found.bic) + lead
        better = np.where(new.floored == found.floored, ahead, found.floored & ~np.isnan(new.bic))
        chosen = np.where(better, code, chosen)
        pairs = zip(found, new, strict=True)
        found = Fits(*(np.where(better[:, None] if one.ndim == 2 else better, one, old) for old, one in pairs))
    assert found is not None
    return found, chosen


def _fit_family(values: Floats, weights: Floats | None, request: FitRequest, family: Family) -> Fits:
    """Fit mixtures of one family to samples; their means are those of the scale."""
    if not family.logs:
        return fit_mixtures(values, weights, request, family.steps)
    positive = np.asarray(~(values <= 0).any(axis=-1))
    logs = np.log(np.where(positive[:, None], values, np.nan))
    found = fit_mixtures(family.logs * logs, weights, request, family.steps)
    jacobian = np.nansum(logs if weights is None else weights * logs, axis=-1)
    n = np.where(positive, found.n, (~np.isnan(values)).sum(axis=-1))
    return found._replace(loglik=found.loglik - jacobian, bic=found.bic - 2 * jacobian, n=n)


def draw(own: Scaled, number: int, cells: Integers, streams: Streams) -> Floats:
    """Draw values from every mixture, each from the stream of its cell, shape (..., value); NaN where there is none."""
    shape = np.shape(own.family)
    rows, codes = own.mixture.rows(), np.asarray(own.family, int).ravel()
    known = np.asarray((rows.weights > 0).any(axis=-1))
    found = np.full((len(known), number), np.nan)
    # One cell at a time, since each has a stream of its own.
    for row, cell in enumerate(np.broadcast_to(cells, shape).ravel().tolist()):
        if known[row]:
            one = Scaled(Mixture(*(part[row] for part in rows)), codes[row])
            found[row] = draw_from(one, (number,), streams.generator(cell, SAMPLES))
    return found.reshape(*shape, number)


def draw_from(own: Scaled, shape: Sequence[int], generator: np.random.Generator) -> Floats:
    """Draw values from one mixture, parameters of shape (component,)."""
    family = FAMILIES[NAMES[int(own.family)]]
    return off_scale(normal.draw(own.mixture, tuple(shape), generator, family.law), family.logs)

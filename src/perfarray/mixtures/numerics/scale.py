"""Families of mixtures: a law of the components, and the scale it holds on.

Arguments and answers are in the units of the values.

On its scale every component has a place and a spread. A mixture of lognormals, say, is one of
normals of the logarithms; minus the logarithms of Weibull values follow Gumbel's law, and
exponential values are Weibull's with spread 1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, zeta

from perfarray.mixtures.numerics import normal
from perfarray.mixtures.numerics.fit import FitRequest, Fits, fit_mixtures
from perfarray.mixtures.numerics.laws import EDGED, GUMBEL, LOG_GAMMA, NORMAL, Law
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.steps import (
    EDGED_STEPS,
    EULER,
    EXPONENTIAL_STEPS,
    GAMMA_STEPS,
    GUMBEL_STEPS,
    GUMBEL_VARIANCE,
    NORMAL_STEPS,
    Steps,
)
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

# Lead of another family's BIC over the normal's: less is "not worth more than a bare mention" (Kass
# and Raftery 1995).
LEAD = 2.0

# Spread of logarithms of Weibull values below which a series of their variance is more exact than a
# difference.
NARROW = 1e-3


class Family(NamedTuple):
    """A law, its steps of EM, and its scale: 0 for values, 1 for logarithms, -1 for minus those."""

    law: Law
    steps: Steps
    logs: int

    def to_scale(self, x: Floats) -> Floats:
        """Return values on the scale; those that are not positive have an infinite logarithm."""
        if not self.logs:
            return x
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                self.logs * np.where(x > 0, np.log(x), np.where(np.isnan(x), np.nan, -np.inf))
            )

    def from_scale(self, y: Floats) -> Floats:
        """Return the values at places on the scale."""
        return np.asarray(np.exp(self.logs * y) if self.logs else y)

    def moments(self, m: Floats, s: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of values, from places and spreads."""
        center, law = self.from_scale(m), self.law
        if law is NORMAL and not self.logs:
            return m, s
        if law is NORMAL:
            first = self.from_scale(m + 0.5 * s**2)
            return first, first * np.sqrt(np.expm1(s**2))
        if law is LOG_GAMMA:
            return center, center * s
        if law is EDGED:
            finite_mean, finite_variance = (
                np.where(s < 1, 1 - s, 1.0),
                np.where(s < 0.5, 1 - 2 * s, 1.0),
            )
            first = np.where(s < 1, center / finite_mean, np.inf)
            return first, np.where(
                s < 0.5, center * s / (finite_mean * np.sqrt(finite_variance)), np.inf
            )
        if self.logs:
            small = np.minimum(s, NARROW)
            series = small**2 * (zeta(2, 1) - small * (2 * zeta(3, 1) - 3.5 * zeta(4, 1) * small))
            relative = np.where(s < NARROW, series, gammaln(1 + 2 * s) - 2 * gammaln(1 + s))
            first = center * np.exp(gammaln(1 + s))
            return first, first * np.sqrt(np.expm1(relative))
        return m + EULER * s, np.sqrt(GUMBEL_VARIANCE) * s

    def to_scipy(self, m: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Return SciPy's shape, location and scale, from places and spreads."""
        unknown, zero = np.full(np.shape(m), np.nan), np.zeros(np.shape(m))
        if not self.logs:
            return unknown, m, s
        scale = self.from_scale(m)
        with np.errstate(divide="ignore"):
            if self.law is NORMAL:
                return s, zero, scale
            if self.law is LOG_GAMMA:
                return 1 / s**2, zero, scale * s**2
            return (1 / s if self.steps.spreads else unknown), zero, scale

    def from_scipy(
        self, mixture: NormalMixture, shape: Floats, location: Floats, scale: Floats
    ) -> tuple[Floats, Floats]:
        """Return places and spreads from SciPy's parameters, or from moments without any."""
        if not self.logs:
            return (mixture.means, mixture.deviations) if self.law is NORMAL else (location, scale)
        if self.law is NORMAL:
            return self.to_scale(scale), shape
        if self.law is LOG_GAMMA:
            return self.to_scale(scale * shape), shape**-0.5
        return self.to_scale(scale), 1 / shape if self.steps.spreads else np.ones(np.shape(scale))


# In the order of their codes.
FAMILIES = {
    "normal": Family(NORMAL, NORMAL_STEPS, 0),
    "lognormal": Family(NORMAL, NORMAL_STEPS, 1),
    "gamma": Family(LOG_GAMMA, GAMMA_STEPS, 1),
    "weibull": Family(GUMBEL, GUMBEL_STEPS, -1),
    "exponential": Family(GUMBEL, EXPONENTIAL_STEPS, -1),
    "pareto": Family(EDGED, EDGED_STEPS, 1),
    "extreme": Family(GUMBEL, GUMBEL_STEPS, 0),
}

NAMES = tuple(FAMILIES)


def family_of(code: Any) -> Family:
    """Return the family of a code."""
    return FAMILIES[NAMES[int(code)]]


class Scaled(NamedTuple):
    """Parameters (..., component) on the scale of a family, and its code (...), as in `NAMES`."""

    mixture: NormalMixture
    family: Integers | Mask | Any

    def take(self, index: Any) -> "Scaled":
        """Return the mixtures at an index of their shape."""
        return Scaled(self.mixture.take(index), np.asarray(self.family)[index])

    def rows(self, shape: tuple[int, ...]) -> "Scaled":
        """Return mixtures of a shape as rows, absent components with harmless numbers."""
        return Scaled(
            self.mixture.rows(shape), np.broadcast_to(np.asarray(self.family, int), shape).ravel()
        )

    def at_points(self) -> "Scaled":
        """Return rows of mixtures for values of shape (row, point)."""
        return self.take((slice(None), None))

    @property
    def positive(self) -> Mask:
        """Return whether the values of the family are positive."""
        return np.asarray(
            np.array([family.logs != 0 for family in FAMILIES.values()])[
                np.asarray(self.family, int)
            ]
        )

    def each(self, function: Callable[[Family, NormalMixture], Floats], axes: int = 0) -> Floats:
        """Evaluate a function for the mixtures of one family after the other.

        Its answer has `axes` more axes behind theirs.

        Several answers may be stacked along an axis before them.
        """
        codes = np.unique(self.family)
        if len(codes) < 2:  # none where there are no mixtures
            return function(family_of(codes.max(initial=0)), self.mixture)
        answer: Any = np.nan
        for code in codes:
            member = np.asarray(self.family) == code
            answer = np.where(
                member[(..., *[None] * axes)],
                function(family_of(code), self.mixture.where(member[..., None])),
                answer,
            )
        return np.asarray(answer)


def density(scaled: Scaled, x: Floats) -> Floats:
    """Return the density at x, shape (...): of a logarithm it is over x, and 0 below 0."""

    def answer(family: Family, mixture: NormalMixture) -> Floats:
        inside = (x > 0) | np.isnan(x) | (family.logs == 0)
        height = normal.density(mixture, family.to_scale(np.where(inside, x, 1.0)), family.law)
        return np.where(
            inside | np.isnan(height), height / np.where(inside & (family.logs != 0), x, 1.0), 0.0
        )

    return scaled.each(answer)


def distribution(scaled: Scaled, x: Floats) -> Floats:
    """Return the probability of values up to x, shape (...)."""

    def answer(family: Family, mixture: NormalMixture) -> Floats:
        y = family.to_scale(x)
        below = normal.distribution(mixture, y, family.law)
        if family.logs >= 0:
            return np.asarray(below)
        point = (mixture.deviations == 0) & (mixture.weights > 0)
        at = np.where(point, mixture.weights * (mixture.means == y[..., None]), 0.0).sum(axis=-1)
        return np.asarray(1 - below + at)

    return scaled.each(answer)


def quantiles(scaled: Scaled, probability: Floats) -> Floats:
    """Return where the distribution reaches a probability, shape (...)."""

    def answer(family: Family, mixture: NormalMixture) -> Floats:
        share = 1 - np.asarray(probability) if family.logs < 0 else probability
        return family.from_scale(normal.quantiles(mixture, share, family.law))

    return scaled.each(answer)


def classes(scaled: Scaled, x: Floats) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from.

    NaN where x is, or has no logarithm.
    """

    def answer(family: Family, mixture: NormalMixture) -> Floats:
        y = family.to_scale(x)
        return normal.classes(
            mixture, np.where(np.isinf(y) & (family.logs != 0), np.nan, y), family.law
        )

    return scaled.each(answer)


def modes(scaled: Scaled, *, count_only: bool = False) -> Floats:
    """Return the local maxima of the density of the values, ascending, shape (..., component).

    NaN past the last.

    With y = log x the density of x is that of y times exp(-y). Exponential components all have
    theirs at 0, Pareto's each at its edge. If modes are only `counted`, points next to them stand
    for them.
    """

    def answer(family: Family, mixture: NormalMixture) -> Floats:
        if family.law is EDGED:
            peaks = np.sort(np.where(mixture.weights > 0, mixture.means, np.nan), axis=-1)
            peaks[..., 1:][peaks[..., 1:] == peaks[..., :-1]] = np.nan
        else:
            peaks = normal.modes(mixture, family.law, -family.logs, count_only=count_only)
        return np.sort(family.from_scale(peaks), axis=-1)

    return scaled.each(answer, 1)


def number_of_modes(scaled: Scaled) -> Floats:
    """Count the modes, shape (...); NaN where no component is present."""
    return np.where(
        scaled.mixture.measured, (~np.isnan(modes(scaled, count_only=True))).sum(axis=-1), np.nan
    )


def mean(scaled: Scaled) -> Floats:
    """Return the mean of the values, shape (...)."""
    weights, means, _ = moments(scaled)
    return np.where((weights > 0).any(axis=-1), (weights * means).sum(axis=-1), np.nan)


def deviation(scaled: Scaled) -> Floats:
    """Return the standard deviation of the values, shape (...); infinite where a component's is."""
    weights, means, deviations = moments(scaled)
    infinite = np.asarray(np.isinf(deviations).any(axis=-1))
    means, within = (np.where(infinite[..., None], 0.0, column) for column in (means, deviations))
    between = np.where(weights > 0, means - (weights * means).sum(axis=-1, keepdims=True), 0.0)
    # Values near the largest doubles would overflow when squared.
    largest = np.maximum(np.abs(between), within).max(axis=-1, keepdims=True)
    divisor = np.where(largest > 0, largest, 1.0)
    total = divisor[..., 0] * np.sqrt(
        (weights * ((within / divisor) ** 2 + (between / divisor) ** 2)).sum(axis=-1)
    )
    return np.where((weights > 0).any(axis=-1), np.where(infinite, np.inf, total), np.nan)


def moments(scaled: Scaled) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and standard deviation of every component, in units of the values."""
    weights = scaled.mixture.weights
    means, deviations = _by_component(scaled, Family.moments, 0.0)
    return np.where(weights > 0, weights, 0.0), means, deviations


def _by_component(
    scaled: Scaled, function: Callable[[Family, Floats, Floats], tuple[Floats, ...]], fill: float
) -> Floats:
    """Return functions of the family, place and spread of every component, stacked.

    Another number where it is absent.
    """
    with_weight = scaled.mixture.weights > 0
    filled = Scaled(
        NormalMixture(*(np.where(with_weight, column, 0.0) for column in scaled.mixture)),
        scaled.family,
    )
    return np.where(
        with_weight,
        filled.each(lambda family, mixture: np.stack(function(family, *mixture[1:])), 1),
        fill,
    )


def scipy_parameters(scaled: Scaled) -> tuple[Floats, Floats, Floats]:
    """Return shape, location and scale of every component as SciPy has them.

    NaN where a component is absent, or has no such parameter.
    """
    shape, location, scale = _by_component(scaled, Family.to_scipy, np.nan)
    return shape, location, scale


def from_scipy(mixture: NormalMixture, family: Integers, *parameters: Floats) -> Scaled:
    """Return mixtures on their scale from moments, and from SciPy's parameters if it needs them.

    A component without standard deviation is a point at its mean.
    """
    if not np.any(family):
        return Scaled(mixture, family)
    point = mixture.deviations == 0

    def places_and_spreads(member: Family, _members: NormalMixture) -> Floats:
        means, spreads = member.from_scipy(mixture, *parameters)
        return np.stack(
            (np.where(point, member.to_scale(mixture.means), means), np.where(point, 0.0, spreads))
        )

    with np.errstate(all="ignore"):  # parameters of one family are evaluated for all
        return Scaled(
            NormalMixture(mixture.weights, *Scaled(mixture, family).each(places_and_spreads, 1)),
            family,
        )


def fit_on_scale(
    values: Floats, weights: Floats | None, request: FitRequest
) -> tuple[Fits, Integers]:
    """Fit mixtures of every requested family, and keep the one with the largest BIC.

    Return the code of its family as well.

    Log-likelihoods and BIC are those of the values: a density of x is that of log x over x, so
    sum(log x) is subtracted. Samples with values that are not positive have no fit of families of
    positive values. A requested normal family is kept where no other is clearly better, and where
    values are constant.
    """
    best, codes = None, np.zeros(len(values), int)
    for name in request.families:
        fits = _fit_family(values, weights, request, FAMILIES[name])
        code = NAMES.index(name)
        if best is None:
            best, codes[:] = fits, code
            continue
        lead = np.where(codes == 0, LEAD, 0.0) if request.families[0] == NAMES[0] else 0.0
        ahead = fits.bic > np.where(np.isnan(best.bic), -np.inf, best.bic) + lead
        better = np.where(fits.floored == best.floored, ahead, best.floored & ~np.isnan(fits.bic))
        codes = np.where(better, code, codes)
        pairs = zip(best, fits, strict=True)
        best = Fits(
            *(
                np.where(better[:, None] if new.ndim == 2 else better, new, old)
                for old, new in pairs
            )
        )
    assert best is not None
    return best, codes


def _fit_family(
    values: Floats, weights: Floats | None, request: FitRequest, family: Family
) -> Fits:
    """Fit mixtures of one family to samples; their means are those of the scale."""
    if not family.logs:
        return fit_mixtures(values, weights, request, family.steps)
    positive = np.asarray(~(values <= 0).any(axis=-1))
    logs = np.log(np.where(positive[:, None], values, np.nan))
    fits = fit_mixtures(family.logs * logs, weights, request, family.steps)
    jacobian = np.nansum(logs if weights is None else weights * logs, axis=-1)
    n = np.where(positive, fits.n, (~np.isnan(values)).sum(axis=-1))
    return fits._replace(loglik=fits.loglik - jacobian, bic=fits.bic - 2 * jacobian, n=n)


def draw(scaled: Scaled, number: int, cells: Integers, streams: Streams) -> Floats:
    """Draw values from every mixture, each from the stream of its cell, shape (..., value).

    NaN where there is none.
    """
    shape = np.shape(scaled.family)
    rows = scaled.rows(shape)
    values = np.full((len(rows.family), number), np.nan)
    keys = np.broadcast_to(cells, shape).ravel().tolist()
    for row in np.flatnonzero(
        rows.mixture.measured
    ):  # one cell at a time: each has a stream of its own
        values[row] = draw_from(rows.take(row), (number,), streams.generator(keys[row], SAMPLES))
    return values.reshape(*shape, number)


def draw_from(scaled: Scaled, shape: Sequence[int], generator: np.random.Generator) -> Floats:
    """Draw values from one mixture, parameters of shape (component,)."""
    family = family_of(scaled.family)
    return family.from_scale(normal.draw(scaled.mixture, tuple(shape), generator, family.law))

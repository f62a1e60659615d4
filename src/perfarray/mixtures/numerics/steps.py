"""What EM does that depends on the law: densities, likelihoods, first parameters.

Parameters are a place and the square of a spread (`laws`), in standard deviations of the sample. EM
writes `deviations` from the places to a batch of fits; `prepare` writes the `terms` that densities
are made of; `joint` holds each component's share of each value.
"""

# ruff: noqa: ARG002 - every law has the arguments that one of them needs

import numpy as np

from perfarray.mixtures.numerics.laws import gamma_constant, gamma_shape
from perfarray.mixtures.numerics.pool import LOG_2PI, Batch, Rows, Samples, Theta
from perfarray.mixtures.numerics.start import edged_classes, quantile_classes
from perfarray.numerics.types import Floats, Integers

EULER = float(np.euler_gamma)

GUMBEL_VARIANCE = float(np.pi**2 / 6)  # of Gumbel's law with spread 1

# Largest exponent: the law has no density to speak of beyond it.
LARGEST = 100.0


class Steps:
    """The steps of normal components; other laws override them.

    `spreads` is 0 where spreads are no parameters. `edges` is how often the
    place of a component beyond the first counts once more in BIC: an edge is known to 1 / n and not
    to its root. `closed` says that the start of one component is its maximum. `constant` belongs to
    every log density.
    """

    constant, spreads, edges, closed = -0.5 * LOG_2PI, 1, 0, True

    def classes(self, samples: Samples, number: int) -> Integers:
        """Return where the classes that EM starts from begin."""
        return quantile_classes(samples.raw, samples.n, number)

    def start(self, samples: Samples, starts: Integers, theta: Theta, equal: bool) -> Theta:
        """Return the first parameters, from weights, means and variances of classes."""
        return theta

    def prepare(self, batch: Batch, theta: Theta) -> None:
        """Fill in the terms: squared deviations, with the variance inside groups."""
        np.multiply(batch.deviations, batch.deviations, out=batch.terms)
        if batch.inside is not None:
            batch.terms += batch.inside

    def exponents(
        self, batch: Batch, theta: Theta, rows: Rows | slice, out: Floats | None = None
    ) -> Floats:
        """Return log densities up to the offset."""
        return np.multiply(batch.terms[rows], (-0.5 / theta.variances)[rows, None], out=out)

    def offset(self, batch: Batch, theta: Theta) -> Floats:
        """Return log densities less their exponents and the constant."""
        return np.asarray(-0.5 * np.log(theta.variances))

    def maximise(self, batch: Batch, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
        """Return the next places and squared spreads.

        Sums are about the present means, so that no digits cancel however narrow a component is.
        """
        deviations, joint = batch.deviations, batch.joint
        safe = np.where(shares > 0, shares, 1.0)
        shift = np.einsum("cn,cn->c", joint, deviations) / safe
        spread = np.einsum("cn,cn->c", joint, batch.terms) - safe * shift**2
        return theta.means + shift, batch.shared(spread, safe)


class _GumbelSteps(Steps):
    """The steps of Gumbel's law.

    `fixed`: with spread 1 before standardising, as minus the logarithms of exponential values have
    it.
    """

    constant, closed = 0.0, False

    def __init__(self, *, fixed: bool = False) -> None:
        self.fixed, self.spreads = fixed, int(not fixed)

    def start(self, samples: Samples, starts: Integers, theta: Theta, equal: bool) -> Theta:
        if self.fixed:
            variances = np.broadcast_to(samples.scale[:, None] ** -2.0, theta.means.shape)
        else:
            variances = theta.variances / GUMBEL_VARIANCE
        return Theta(theta.weights, theta.means - EULER * np.sqrt(variances), variances)

    def prepare(self, batch: Batch, theta: Theta) -> None:
        """Fill in the terms: exp(-d / s)."""
        _decay(batch.deviations, np.sqrt(theta.variances), batch.terms)

    def exponents(
        self, batch: Batch, theta: Theta, rows: Rows | slice, out: Floats | None = None
    ) -> Floats:
        scores = np.multiply(
            batch.deviations[rows], (-1 / np.sqrt(theta.variances))[rows, None], out=out
        )
        return np.subtract(scores, batch.terms[rows], out=scores)

    def maximise(self, batch: Batch, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
        """Return the most likely places given the spreads, and spreads after a step in 1 / s.

        With the most likely place put in, the log-likelihood is concave in 1 / s.
        """
        deviations, decays, joint = batch.deviations, batch.terms, batch.joint
        safe, spread = np.where(shares > 0, shares, 1.0), np.sqrt(theta.variances)
        if not self.fixed:
            mean = np.einsum("cn,cn->c", joint, deviations) / safe
            np.multiply(joint, decays, out=decays)
            mass = decays.sum(axis=-1)
            mass = np.where(mass > 0, mass, 1.0)
            first = np.einsum("cn,cn->c", decays, deviations) / mass
            second = np.einsum("cn,cn,cn->c", decays, deviations, deviations) / mass - first**2
            slope, bend = (
                batch.pooled(shares * column)
                for column in (spread - mean + first, theta.variances + second)
            )
            step = np.clip(slope / np.where(bend > 0, bend, 1.0) * spread, -0.5, 1.0)
            spread = spread / (1 + step)
            _decay(deviations, spread, decays)
        mass = np.einsum("cn,cn->c", joint, decays) / safe
        shift = np.log(np.where((mass > 0) & (shares > 0), mass, 1.0))
        return theta.means - spread * shift, spread**2


def _decay(deviations: Floats, spread: Floats, out: Floats) -> None:  # exp(-d / s)
    np.multiply(deviations, (-1 / spread)[:, None], out=out)
    np.minimum(out, LARGEST, out=out)
    np.exp(out, out=out)


class _GammaSteps(Steps):
    """The steps of logarithms of gamma values.

    The shape is one over the square of the spread before standardising.
    """

    constant, closed = 0.0, False

    def start(self, samples: Samples, starts: Integers, theta: Theta, equal: bool) -> Theta:
        """Return approximately the parameters that have the moments of classes."""
        return theta._replace(means=theta.means + 0.5 * theta.variances * samples.scale[:, None])

    def prepare(self, batch: Batch, theta: Theta) -> None:
        """Fill in the terms: exp(d) - 1 - d, d being before standardising."""
        excess = np.multiply(batch.deviations, batch.scale[:, None], out=batch.terms)
        np.minimum(excess, LARGEST, out=excess)
        np.subtract(np.expm1(excess), excess, out=excess)

    def exponents(
        self, batch: Batch, theta: Theta, rows: Rows | slice, out: Floats | None = None
    ) -> Floats:
        return np.multiply(
            batch.terms[rows], (-1 / (theta.variances * batch.scale**2))[rows, None], out=out
        )

    def offset(self, batch: Batch, theta: Theta) -> Floats:
        return np.asarray(
            gamma_constant(1 / (theta.variances * batch.scale**2)) + np.log(batch.scale)
        )

    def maximise(self, batch: Batch, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
        """Return logarithms of means, and spreads whose shape has the observed gap."""
        joint = batch.joint
        safe = np.where(shares > 0, shares, 1.0)
        mean = batch.scale * np.einsum("cn,cn->c", joint, batch.deviations) / safe
        shift = np.log1p(
            np.maximum(np.einsum("cn,cn->c", joint, batch.terms) / safe + mean, -0.999)
        )
        gap = batch.shared(shares * (shift - mean), safe)
        shape = gamma_shape(np.maximum(gap, np.finfo(float).tiny ** 0.25))
        return theta.means + shift / batch.scale, 1 / (shape * batch.scale**2)


class _EdgedSteps(Steps):
    """The steps of an edge and an exponential fall beyond it; EM does not move the edges."""

    constant, edges, closed = 0.0, 1, False

    def classes(self, samples: Samples, number: int) -> Integers:
        return edged_classes(samples.raw, samples.weights, samples.n, number)

    def start(self, samples: Samples, starts: Integers, theta: Theta, equal: bool) -> Theta:
        """Return the edges of classes, at their least values, and spreads."""
        edges = np.take_along_axis(samples.values, starts[:, :-1], axis=-1)
        excess = theta.means - edges
        spread = (
            np.broadcast_to((theta.weights * excess).sum(axis=-1, keepdims=True), excess.shape)
            if equal
            else excess
        )
        return theta._replace(means=edges, variances=spread**2)

    def prepare(self, batch: Batch, theta: Theta) -> None:
        """Fill in the terms: deviations, infinite before the edge."""
        np.copyto(batch.terms, batch.deviations)
        batch.terms[batch.deviations < 0] = np.inf

    def exponents(
        self, batch: Batch, theta: Theta, rows: Rows | slice, out: Floats | None = None
    ) -> Floats:
        return np.multiply(batch.terms[rows], (-1 / np.sqrt(theta.variances))[rows, None], out=out)

    def maximise(self, batch: Batch, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
        """Return edges, which stay where they are, and spreads."""
        mean = np.einsum("cn,cn->c", batch.joint, batch.deviations)
        return theta.means, batch.shared(mean, np.where(shares > 0, shares, 1.0)) ** 2


NORMAL_STEPS, GUMBEL_STEPS, EXPONENTIAL_STEPS, GAMMA_STEPS, EDGED_STEPS = (
    Steps(),
    _GumbelSteps(),
    _GumbelSteps(fixed=True),
    _GammaSteps(),
    _EdgedSteps(),
)

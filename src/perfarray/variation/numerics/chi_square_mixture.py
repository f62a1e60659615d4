"""The law of the variance that experiments find among units whose true variance is uncertain: a mixture of chi-squares.

The true variance is known at the nodes of a quadrature; what experiments find of each is a chi-square over its degrees of freedom.
A quantile lies in a bracket that is halved a fixed number of times. Its root is computed first, with a bound of the error: the share below
a middle is computed only where the middle is closer to the root than that.
"""

from functools import lru_cache

import numpy as np

from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import quantile_at

NODES = 24  # Gauss-Legendre nodes in the probability of the pilot's chi-square
HALVINGS = 24  # of the bracket of a quantile: to within 1e-6 of it
GUESSES, ROUNDS = 4, 3  # steps towards a root by normal cube roots, and by the law itself
BEND = 2.0  # no third derivative of a chi-square's density in its logarithm is larger than this, times the square of half its df
NOISE = 1e-13  # what rounding may do to a share
CERTAIN = 60.0  # exp(-60) is nothing beside a share of 1
BLOCK = 1 << 10  # quantiles sought at once: their nodes stay in the processor's cache
NORMAL = (0.7988, 0.03528)  # 2 Phi(z) - 1 is tanh of this odd polynomial, to within 3e-4 (Bowling et al. 2009)


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return nodes between 0 and 1, and their weights."""
    position, weight = np.polynomial.legendre.leggauss(NODES)
    return (position + 1) / 2, weight / 2


def chi_square_quantile(probability: float | Floats, df: Floats) -> Floats:
    """Return the quantile of chi-square."""
    from scipy.special import chdtri

    return np.asarray(chdtri(df, 1 - probability))


def mixture_quantile(probability: float, df: Floats, variance: Floats) -> Floats:
    """Return quantiles (rows) of what is found with degrees of freedom (rows), if the variances (rows, nodes) are true."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_unit = quantile_at(chi_square_quantile, probability, df) / df
        low, high = (
            np.log(np.maximum(edge, np.finfo(float).tiny)) for edge in (variance.min(axis=-1) * of_unit, variance.max(axis=-1) * of_unit)
        )
        uncertain = np.flatnonzero(low < high)
        for start in range(0, len(uncertain), BLOCK):
            block = uncertain[start : start + BLOCK]
            low[block], high[block] = _halved(low[block], high[block], df[block], variance[block], probability)
        return np.asarray(np.exp((low + high) / 2))


def mixture_share(quantile: Floats, df: Floats, variance: Floats) -> Floats:
    """Return the probability of no more than a quantile."""
    half = np.asarray(df)[..., None] / 2
    return np.asarray((nodes()[1] * _chi_square_share(half, half * np.asarray(quantile)[..., None] / variance)).sum(axis=-1))


def _chi_square_share(half: Floats, value: Floats) -> Floats:
    """Return the incomplete gamma function; it takes long, and is left out where Chernoff's bound says that it is 0 or 1."""
    from scipy.special import gammainc

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        uncertain = ~(value - half - half * np.log(value / half) > CERTAIN)
    if uncertain.all():
        return np.asarray(gammainc(half, value))
    share: Floats = (value > half).astype(float)
    share[uncertain] = gammainc(np.broadcast_to(half, value.shape)[uncertain], value[uncertain])  # its where= writes beyond arrays
    return share


def _halved(low: Floats, high: Floats, df: Floats, variance: Floats, probability: float) -> tuple[Floats, Floats]:
    """Return brackets of the logarithm, halved."""
    root, error = _root(low, high, df / 2, np.log(variance), probability)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = middle < root
        near = np.flatnonzero(~(np.abs(middle - root) > error))
        if len(near):
            short[near] = mixture_share(np.exp(middle[near]), df[near], variance[near]) < probability
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return low, high


def _root(low: Floats, high: Floats, half: Floats, logs: Floats, probability: float) -> tuple[Floats, Floats]:
    """Return logarithms of quantiles, and their largest errors: better ones until the errors are small beside the halved bracket."""
    root = _guess(low, high, half, logs, probability)
    error, rows, enough = np.full(len(root), np.inf), np.arange(len(root)), (high - low) / 2 ** (HALVINGS + 2)
    for _ in range(ROUNDS):
        root[rows], error[rows] = _improved(root[rows], half[rows, None], logs[rows], probability)
        rows = np.flatnonzero(~(error <= enough))
        if not len(rows):
            break
        root[rows] = np.clip(root[rows], low[rows], high[rows])
    return root, error


def _guess(low: Floats, high: Floats, half: Floats, logs: Floats, probability: float) -> Floats:
    """Return approximate logarithms, from normal cube roots of chi-squares (Wilson and Hilferty), by Newton's method for probits."""
    from scipy.special import ndtri

    weight, target = nodes()[1], ndtri(probability)
    mean = logs @ weight
    root = np.clip(mean - 0.5 / half + target * np.sqrt((logs**2) @ weight - mean**2 + 1 / half), low, high)
    steep = 3 * np.sqrt(half)[:, None]
    rate, shift = steep * np.exp(-logs / 3), steep - 1 / steep
    for _ in range(GUESSES):
        cube_root = rate * np.exp(root / 3)[:, None]
        normal = cube_root - shift
        square = normal**2
        tangent = np.tanh(normal * (NORMAL[0] + NORMAL[1] * square))
        probit = ndtri((1 + tangent @ weight) / 2)
        slope = ((1 - tangent**2) * (NORMAL[0] + 3 * NORMAL[1] * square) * cube_root) @ weight / 6
        step = (target - probit) * np.exp(-(probit**2) / 2) / np.sqrt(2 * np.pi) / slope
        root = np.clip(np.where(np.isfinite(step), root + step, root), low, high)
    return np.asarray(root)


def _improved(root: Floats, half: Floats, logs: Floats, probability: float) -> tuple[Floats, Floats]:
    """Return the roots of third-order Taylor polynomials of the share, and their largest errors; infinite where the share is too flat."""
    from scipy.special import gammaln

    argument, weight = root[:, None] - logs, nodes()[1]
    value = half * np.exp(argument)
    density = weight * np.exp(half * (argument + np.log(half)) - value - gammaln(half))
    bend, half_df = half - value, half[:, 0]
    excess = _chi_square_share(half, value) @ weight - probability
    slope, second, third = density.sum(axis=-1), (density * bend).sum(axis=-1), (density * (bend**2 - value)).sum(axis=-1)
    step = -excess / slope
    for _ in range(3):
        step = step - (excess + step * (slope + step * (second / 2 + step * third / 6))) / (slope + step * (second + step * third / 2))
    fourth, size = BEND * half_df * np.maximum(half_df, 0.5), np.abs(step)
    reach = 2 * size + 1e-4 / np.sqrt(half_df)  # the true root lies within it, and the slope on the way is no less than `least`
    least = slope - reach * (np.abs(second) + reach * (np.abs(third) / 2 + reach * fourth / 6))
    left_over = np.abs(excess + step * (slope + step * (second / 2 + step * third / 6)))
    error = (left_over + fourth * size**4 / 24 + NOISE) / least
    trusted = (least > 0) & (error < reach - size)
    return np.where(np.isfinite(step), root + step, root), np.where(trusted, error, np.inf)

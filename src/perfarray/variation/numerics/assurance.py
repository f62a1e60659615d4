"""What half-width experiments of a size will show, when the variance they will find is as uncertain as the pilot leaves it.

The half-width of n units is t sqrt(S^2 / n), and S^2 is v chi-square(n - 1) / (n - 1) about the
true variance v of a unit, of which the pilot knows S_p^2 = T + w_p: so v = max(S_p^2 df /
chi-square(df) - w_p, 0) + w, with w_p and w what lies below the outermost level at the counts of
the pilot and of the plan. The law of S^2 is the mixture of the first over the second chi-square, at
the nodes of a quadrature.

A quantile of it lies in a bracket that is halved a fixed number of times. Its root is computed
first, with a bound of the error: the share below a middle is computed only where the middle is
closer to the root than that.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.searching import MOST, first_reached
from perfarray.numerics.types import Floats, Mask
from perfarray.variation.numerics.allocation import Goal, quantile_at

NODES = 24  # Gauss-Legendre nodes in the probability of the pilot's chi-square
HALVINGS = 24  # of the bracket of a quantile: to within 1e-6 of it
GUESSES, ROUNDS = 6, 3  # most steps towards a root by normal cube roots, and by the law itself
# a guess needs no further step if the last was below this, over the square root of half the df
CLOSE = 0.2
# no third derivative of a chi-square's density in its logarithm is larger than this, times the
# square of half its df
BEND = 2.0
NOISE = 1e-12  # what rounding may do to a share, or to a logarithm
TERMS = 100  # of sums: with more the incomplete gamma function takes less time
CERTAIN, NEGLIGIBLE = (
    60.0,
    40.0,
)  # exp(-60) is nothing beside a share of 1, and exp(-40) nothing beside `NOISE`
BLOCK = 1 << 10  # quantiles sought at once: their nodes stay in the processor's cache
NORMAL = (
    0.7988,
    0.03528,
)  # 2 Phi(z) - 1 is tanh of this odd polynomial, to within 3e-4 (Bowling et al. 2009)


class Evidence(NamedTuple):
    """What a pilot knows of the outermost level: the variance of its units, the component in it, degrees of freedom, and those to come.

    `growth` is how many degrees of freedom each further unit brings: 1, or up to 2 where both
    systems of a ratio get one. `scale` (..., nodes) is the true over the found variance of a unit
    at the nodes of the pilot's chi-square; `of_plan`, of a unit as it is planned.
    """

    unit_variance: Floats
    top: Floats
    df: Floats
    growth: Floats
    scale: Floats
    of_plan: bool = False

    def of(self, cells: Mask) -> "Evidence":
        """Return the same of some cells."""
        unit_variance, top, df, growth = (field[cells] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.scale[cells])

    def along(self) -> "Evidence":
        """Return the same for arrays with one more axis at the end."""
        unit_variance, top, df, growth = (np.asarray(field)[..., None] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.scale[..., None, :], self.of_plan)


def evidence(unit_variance: Floats, top: Floats, df: Floats, growth: Floats) -> Evidence:
    """Return what a pilot with these degrees of freedom knows.

    An infinite number knows the variance.
    """
    distinct, cells = np.unique(
        df, return_inverse=True
    )  # most pilots of an array have equally many units
    freedom = distinct[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = freedom / chi_square_quantile(
            nodes()[0], np.where(np.isfinite(freedom), freedom, 1.0)
        )
        scale = np.where(np.isfinite(freedom), scale, 1.0)
    return Evidence(unit_variance, top, df, growth, scale[cells].reshape(*np.shape(df), NODES))


def assured_half_width(n: Floats, below: Floats, evidence: Evidence, goal: Goal) -> Floats:
    """Return the half-width that a share of experiments of n units, the assurance, stays within.

    `below` is the variance inside one.

    Without an assurance it is the half-width at the variance estimated, with Student's t of n - 1
    degrees of freedom.
    """
    n, below = np.asarray(n, dtype=float), np.asarray(below, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(n > 1, n, np.nan)
        if goal.assurance is None:
            df, variance = units - 1, np.maximum(evidence.top, 0.0) + below
        else:
            df = (units - 1) * evidence.growth
            variance = future_variance(df, below, evidence, goal.assurance)
        return np.asarray(quantile_at(t_quantile, goal.probability, df) * np.sqrt(variance / units))


def future_variance(df: Floats, below: Floats, evidence: Evidence, assurance: float) -> Floats:
    """Return the quantile of the variance that experiments with these degrees of freedom will find among their units."""
    variance = true_variances(below, evidence)
    shape = np.broadcast_shapes(np.shape(df), variance.shape[:-1])
    df, variance = (
        np.broadcast_to(df, shape).reshape(-1),
        np.broadcast_to(variance, (*shape, NODES)).reshape(-1, NODES),
    )
    return mixture_quantile(assurance, df, variance).reshape(shape)


def share_within(variance: Floats, df: Floats, true: Floats) -> Floats:
    """Return the probability that experiments with these degrees of freedom find no more than a variance among their units."""
    positive, share = variance > 0, np.zeros(np.shape(variance))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share[positive] = mixture_share(
            variance[positive], np.broadcast_to(df, share.shape)[positive], true[positive]
        )
    return share


def true_variances(below: Floats, evidence: Evidence) -> Floats:
    """Return the variances of a unit at the nodes of the pilot's chi-square, along the last axis."""
    unit_variance, top, inside = (
        np.asarray(field)[..., None] for field in (evidence.unit_variance, evidence.top, below)
    )
    if evidence.of_plan:
        return np.asarray((np.maximum(top, 0.0) + inside) * evidence.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(
            np.maximum(unit_variance * evidence.scale - (unit_variance - top), 0.0) + inside
        )


def component_limits(
    variance: Floats, level_variance: Floats, df: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return limits of the outermost component: chi-square limits of the variance of the outermost means, less what lies below it."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        below = level_variance - variance
        scales = (
            np.where(np.isposinf(df), 1.0, df / chdtri(df, probability))
            for probability in (tail, 1 - tail)
        )
        lower, upper = (level_variance * scale - below for scale in scales)
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


def half_width_limits(n: Floats, below: Floats, evidence: Evidence, goal: Goal) -> list[Floats]:
    """Return what the half-width of n units becomes at either limit of the outermost component."""
    limits = component_limits(
        evidence.top, evidence.unit_variance, evidence.df, goal.confidence_level
    )
    df, scale = (
        np.full(np.shape(evidence.top), np.inf),
        np.ones(NODES),
    )  # each limit counts as known
    return [
        assured_half_width(
            n, below, Evidence(component, component, df, evidence.growth, scale), goal
        )
        for component in limits
    ]


def units_to_add(
    have: Floats,
    below: Floats,
    evidence: Evidence,
    affordable: Floats | None,
    goal: Goal,
    planned: Floats | float = 0.0,
) -> tuple[Floats, Floats]:
    """Return how many units to add to those at hand, and the half-width of the mean of all, which is unweighted.

    They are all that are affordable, or the fewest that give the half-width, not far from those
    `planned` without a pilot. Units at hand have the variance that was found between them; that of
    new ones, with the variance `below` inside each, is what a share of experiments, the assurance,
    stays within.
    """
    have_variance, assurance = evidence.unit_variance, goal.assurance
    growth = 1.0 if assurance is None else evidence.growth

    def quantile(n: Floats) -> Floats:
        return quantile_at(t_quantile, goal.probability, np.where(n > 1, n - 1, np.nan) * growth)

    def half_width(more: Floats) -> Floats:
        n = have + more
        variance = np.maximum(evidence.top, 0.0) + below
        if assurance is not None:
            variance = np.where(
                more > 0,
                future_variance(np.maximum(more, 1.0) * growth, below, evidence, assurance),
                variance,
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(quantile(n) * (np.sqrt(have * have_variance + more * variance) / n))

    if affordable is not None:
        return affordable, half_width(affordable)
    target, true = float(goal.half_width or 0.0), true_variances(below, evidence)

    def reached(more: Floats) -> Mask:
        if assurance is None:
            return np.asarray(half_width(more) <= target)
        n = have + more
        with np.errstate(divide="ignore", invalid="ignore"):
            variance_left = (n * target / quantile(n)) ** 2 - have * have_variance
            share = share_within(variance_left / more, more * growth, true)
            return np.where(more > 0, share >= assurance, variance_left >= 0)

    # Those at hand may be enough as they are, and yet too few with one more, whose variance is not
    # known.
    unknown = np.isnan(below * have_variance * have)
    least = np.where(unknown, np.nan, np.where(reached(np.zeros(np.shape(unknown))), 0.0, 1.0))
    units = first_reached_near(np.maximum(planned - have, 0.0), reached, least)
    return units, half_width(units)


def first_reached_near(guess: Floats, holds: Callable[[Floats], Mask], low: Floats) -> Floats:
    """Return the smallest integers from low on at which a monotone condition holds, NaN where low is NaN.

    After low itself the search goes on at a guess, by growing steps. The condition is asked about
    NaN where the answer is known.
    """
    least, most, n, step = low, np.where(np.isnan(low), np.nan, np.inf), low, 0.5
    while (searched := ~np.isnan(n)).any():
        reached = holds(n)
        least, most = (
            np.where(searched & ~reached, n + 1, least),
            np.where(searched & reached, n, most),
        )
        below = np.where(
            least > low + 1, np.floor((least + most) / 2), np.maximum(least, most - step)
        )
        n = np.where(np.isinf(most), np.fmax(least + np.floor(step), guess), below)
        n = np.where((least < most) & (least < MOST), n, np.nan)
        step *= 2
    endless = np.isinf(most)
    return (
        np.where(endless, first_reached(holds, np.where(endless, low, np.nan)), most)
        if endless.any()
        else most
    )


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
        edges = (variance.min(axis=-1) * of_unit, variance.max(axis=-1) * of_unit)
        ends = np.log(np.maximum(edges, np.finfo(float).tiny))
        uncertain = np.flatnonzero(ends[0] < ends[1])
        uncertain = uncertain[
            np.argsort(df[uncertain], kind="stable")
        ]  # sums of a block then have about as many terms
        for start in range(0, len(uncertain), BLOCK):
            block = uncertain[start : start + BLOCK]
            ends[:, block] = _halved(
                ends[0, block], ends[1, block], df[block], variance[block], probability
            )
        return np.asarray(np.exp((ends[0] + ends[1]) / 2))


def mixture_share(quantile: Floats, df: Floats, variance: Floats) -> Floats:
    """Return the probability of no more than a quantile."""
    half = np.asarray(df)[..., None] / 2
    return np.asarray(
        (
            nodes()[1] * _chi_square_share(half, half * np.asarray(quantile)[..., None] / variance)
        ).sum(axis=-1)
    )


def _chi_square_share(half: Floats, value: Floats) -> Floats:
    """Return the incomplete gamma function.

    It takes long, and is left out where Chernoff's bound says that it is 0 or 1.
    """
    from scipy.special import gammainc

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        uncertain = ~(value - half - half * np.log(value / half) > CERTAIN)
    if uncertain.all():
        return np.asarray(gammainc(half, value))
    share: Floats = (value > half).astype(float)
    share[uncertain] = gammainc(
        np.broadcast_to(half, value.shape)[uncertain], value[uncertain]
    )  # its where= writes beyond arrays
    return share


def _halved(
    low: Floats, high: Floats, df: Floats, variance: Floats, probability: float
) -> tuple[Floats, Floats]:
    """Return brackets of the logarithm, halved.

    Roots are improved until their errors are small beside the halved bracket.
    """
    half, width = df / 2, (high - low) / 2**HALVINGS
    logs = np.log(
        np.ascontiguousarray(variance.T)
    )  # (nodes, rows): what is one number a row is then added to whole rows
    root = _guess(low, high, half, logs, probability)
    error, rows = np.full(len(root), np.inf), np.arange(len(root))
    for number in range(ROUNDS):
        root[rows], error[rows] = _improved(
            root[rows], half[rows], logs[:, rows] if number else logs, probability
        )
        rows = np.flatnonzero(~(error <= width / 4))
        if not len(rows):
            break
        root[rows] = np.clip(root[rows], low[rows], high[rows])
    places = (root - low) / width
    close = np.flatnonzero(
        ~(np.abs(places - np.rint(places)) * width > error + NOISE)
    )  # to what may be a middle
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = middle < root
        if len(close):
            near = close[~(np.abs(middle[close] - root[close]) > error[close])]
            if len(near):
                short[near] = (
                    mixture_share(np.exp(middle[near]), df[near], variance[near]) < probability
                )
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return low, high


def _guess(low: Floats, high: Floats, half: Floats, logs: Floats, probability: float) -> Floats:
    """Return approximate logarithms, from normal cube roots of chi-squares (Wilson and Hilferty), by Newton's method for probits."""
    from scipy.special import ndtri

    weight, target = nodes()[1], ndtri(probability)
    mean = weight @ logs
    distances = logs - mean  # the start allows for skewness, too (Cornish and Fisher)
    squares = distances * distances
    variance = weight @ squares + 1 / half
    skew = (weight @ (squares * distances) - 1 / half**2) / variance
    root = np.clip(
        mean - 0.5 / half + target * np.sqrt(variance) + skew * (target * target - 1) / 6, low, high
    )
    steep = 3 * np.sqrt(half)
    rate, shift, rows = steep * np.exp(logs / -3), steep - 1 / steep, np.arange(len(root))
    for _ in range(GUESSES):
        cube_root = rate * np.exp(root[rows] / 3)
        normal = cube_root - shift[rows]
        square = normal * normal
        tangent = np.tanh(normal * (NORMAL[0] + NORMAL[1] * square))
        probit = ndtri((1 + weight @ tangent) / 2)
        slope = (
            weight
            @ ((1 - tangent * tangent) * (NORMAL[0] + 3 * NORMAL[1] * square) * cube_root)
            / 6
        )
        step = (target - probit) * np.exp(-(probit**2) / 2) / np.sqrt(2 * np.pi) / slope
        root[rows] = np.clip(
            np.where(np.isfinite(step), root[rows] + step, root[rows]), low[rows], high[rows]
        )
        open_ = ~(np.abs(step) * np.sqrt(half[rows]) < CLOSE)
        rows = rows[open_]
        if not len(rows):
            break
        rate = rate[:, open_]
    return np.asarray(root)


def _improved(
    root: Floats, half: Floats, logs: Floats, probability: float
) -> tuple[Floats, Floats]:
    """Return the roots of third-order Taylor polynomials of the share, and their largest errors.

    Infinite where the share is too flat.
    """
    from scipy.special import gammaln

    argument, weight = (
        np.minimum(root - logs, 500.0),
        nodes()[1],
    )  # above it the share is 1, and nothing overflows
    value = half * np.exp(argument)
    bend = half - value
    bound = (
        -bend - half * argument
    )  # Chernoff's: minus the logarithm of what lies beyond is no less
    density = np.exp(half * np.log(half) - half - gammaln(half) - bound)
    excess = weight @ _approximate_share(half, value, density, bound) - probability
    slope, second, third = (
        weight @ density,
        weight @ (density * bend),
        weight @ (density * (bend * bend - value)),
    )
    step = -excess / slope
    for _ in range(3):
        step = step - (excess + step * (slope + step * (second / 2 + step * third / 6))) / (
            slope + step * (second + step * third / 2)
        )
    fourth, size = BEND * half * np.maximum(half, 0.5), np.abs(step)
    reach = 2 * size + 1e-4 / np.sqrt(
        half
    )  # the true root lies within it, and the slope on the way is no less than `least`
    least = slope - reach * (np.abs(second) + reach * (np.abs(third) / 2 + reach * fourth / 6))
    left_over = np.abs(excess + step * (slope + step * (second / 2 + step * third / 6)))
    error = (left_over + fourth * size**4 / 24 + NOISE) / least
    trusted = (least > 0) & (error < reach - size)
    return np.where(np.isfinite(step), root + step, root), np.where(trusted, error, np.inf)


def _approximate_share(half: Floats, value: Floats, density: Floats, bound: Floats) -> Floats:
    """Return the incomplete gamma function to within rounding: of few whole degrees of freedom it is a short sum, which takes less time.

    Above a value x lie x^(a-1) e^-x / Gamma(a) (1 + (a-1)/x + (a-1)(a-2)/x^2 + ...), and
    erfc(sqrt(x)) if df = 2 a is odd.
    """
    from scipy.special import erfc, gammainc

    summed = (2 * half == np.floor(2 * half)) & (
        half <= min(TERMS, len(half) / 8)
    )  # in a few rows each term takes longer
    share = np.where(bound > NEGLIGIBLE, value > half, np.nan)
    if summed.any():
        rows = slice(None) if summed.all() else np.flatnonzero(summed)
        freedom, inverse = half[rows], 1 / value[:, rows]
        odd, factors = (
            freedom != np.floor(freedom),
            freedom - np.arange(1, np.ceil(freedom.max()))[:, None],
        )
        above = np.zeros(inverse.shape)
        for product in np.cumprod(np.where(factors > 0.75, factors, 0.0), axis=0)[::-1]:
            above += product
            above *= inverse
        above += freedom > 0.75
        above *= inverse
        above *= density[:, rows]
        above[:, odd] += erfc(np.sqrt(value[:, rows][:, odd]))
        share[:, rows] = np.where(np.isnan(share[:, rows]), 1 - above, share[:, rows])
    if not summed.all():
        uncertain = np.isnan(share) & ~summed
        share[uncertain] = gammainc(np.broadcast_to(half, value.shape)[uncertain], value[uncertain])
    return share

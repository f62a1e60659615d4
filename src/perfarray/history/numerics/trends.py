"""The slope of a series beside its steps, where the dependence of neighbours is unknown. The last axis is the order."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax, stdtr, stdtrit

from perfarray.history.numerics.commits import commits_of
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import INCONCLUSIVE, Tests, decide

# Correlations of neighbours that are averaged over, equally likely beforehand.
CORRELATIONS = np.append(np.arange(0.0, 0.96, 0.05), 0.99)

# The median distance of normal values from their mean, in standard deviations.
NORMAL = 0.6745

# Values farther than so many robust standard deviations count less: their influence on the slope stays what it is there.
OUTLYING = 2.5

# Values farther than so many robust standard deviations from those around them do not belong to the history.
FAR = 4.0

# Iterations of the weights.
ROUNDS = 4

# A series with more values than this is searched for steps, at most one for each so many values.
LEAST_WITH_STEPS = 8

# A step that is left out is in doubt from this share of its penalty on: limits then hold the slopes with and without it.
NEARLY = 0.15

BISECTIONS = 60


class Mixture(NamedTuple):
    """Slopes by correlation of neighbours (..., correlations): weights, estimates, standard errors; and degrees of freedom (...)."""

    weight: Floats
    centre: Floats
    error: Floats
    df: Floats


def log_slopes(
    values: Floats, *segments: Floats, levels: int, positions: Floats, confidence_level: float, band: tuple[float, float], better: str
) -> tuple[npt.NDArray[Any], ...]:
    """Return the slopes of the logs of series, as factors, with limits and verdicts.

    Every segment has a mean of its own, and all have one slope. For each possible correlation of neighbours, the slope and its error are
    those of generalized least squares. They are averaged by the restricted likelihood of each correlation: a mixture of Student's t.

    `values` (..., n, n_L, ..., n_1) are positive timings, and `segments` (..., n) the numbers of the segments; without them, steps are
    searched for. `positions` (n,) are those of the commits; slopes between the factors of `band` do not matter.

    Returns slope, limits, p-value and verdict, the slope over the whole series, commits measured, correlation of neighbours (all of shape
    (...)), and segments (..., n). Limits hold the slopes with and without a step that is in doubt.

    References
    ----------
    A. Zellner, G. Tiao, "Bayesian analysis of the regression model with autocorrelated errors", JASA 59, 1964.
    """
    units = unit_means(values, levels)
    shape, size = units.shape[:-2], units.shape[-2]
    # The first axis holds the slopes with the steps that were found, and with one more that is in doubt.
    weight, centre, error = np.full((3, 2, *shape, len(CORRELATIONS)), np.nan)
    mixtures = Mixture(weight, centre, error, np.full((2, *shape), np.nan))
    n, reach, labels = np.full(shape, np.nan), np.full(shape, np.nan), np.full((*shape, size), np.nan)
    for cell in np.ndindex(shape):  # each has gaps and segments of its own
        commits = commits_of(np.where(units[cell] > 0, units[cell], np.nan))
        y, x, spread = commits.values, positions[commits.positions], commits.errors
        n[cell], reach[cell] = len(y), np.ptp(x) if len(y) else np.nan
        if not len(y):
            continue
        if segments:
            segment_numbers = np.broadcast_to(segments[0], labels.shape)[cell][commits.positions]
            starts: Integers = np.flatnonzero(np.diff(segment_numbers, prepend=np.nan) != 0)
            more = starts
        else:
            starts, more = _steps(y, x, spread)
        labels[cell][commits.positions] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(y)]))
        slopes = _robust(y, x, spread, starts)
        for index, fitted in enumerate((slopes, slopes if more is starts else _robust(y, x, spread, more))):
            for field, value in zip(mixtures, fitted or (), strict=False):
                field[(index, *cell)] = value
    alpha, mean = 1 - confidence_level, (weight * centre).sum(axis=-1)
    below_low, below_high = (_below(mixtures, bound) for bound in np.log(band))
    tests = Tests(1 - below_low, below_low, 1 - below_high, below_high)  # the share of slopes below a bound is the p-value of "above" it
    verdicts = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, better)
    agree = (verdicts[0] == verdicts[1]) | np.isnan(mean[1])
    with np.errstate(over="ignore"):
        lower, upper = np.exp(np.fmin(*_quantile(mixtures, alpha / 2))), np.exp(np.fmax(*_quantile(mixtures, 1 - alpha / 2)))
        slope, total = np.exp(mean[0]), np.exp(mean[0] * reach)
    verdict, likely_correlation = np.where(agree, verdicts[0], INCONCLUSIVE), (weight[0] * CORRELATIONS).sum(axis=-1)
    return slope, lower, upper, np.fmax(*tests.two_sided), verdict, total, n, likely_correlation, labels


def _steps(y: Floats, x: Floats, spread: Floats) -> tuple[Integers, Integers]:
    """Return where segments begin: steps are added while they exceed a penalty; and the same with one more that nearly does."""
    starts = np.array([0])
    if len(y) <= LEAST_WITH_STEPS:
        return starts, starts
    around, outlying = _outlying(y / spread)
    values = np.where(outlying > 1, around * spread, y)
    penalty, most = 4 * (1 + np.log(len(y))) * _long_run(values / spread) ** 2, len(y) // LEAST_WITH_STEPS
    while len(starts) <= most:
        gains = _gains(values, x, spread, starts)
        best = int(np.argmax(gains))
        if not gains[best] > penalty:
            break
        starts = _settled(values, x, spread, np.sort([*starts, best]), penalty)
    gains = _gains(values, x, spread, starts)
    best = int(np.argmax(gains))
    return starts, np.sort([*starts, best]) if gains[best] > NEARLY * penalty else starts


def _settled(y: Floats, x: Floats, spread: Floats, starts: Integers, penalty: float) -> Integers:
    """Move each start to where it explains most beside the others; drop those that do not exceed the penalty there."""
    for start in starts[1:].tolist():
        remaining = starts[starts != start]
        gains = _gains(y, x, spread, remaining)
        best = int(np.argmax(gains))
        starts = np.sort([*remaining, best]) if gains[best] > penalty else remaining
    return starts


def _gains(y: Floats, x: Floats, spread: Floats, starts: Integers) -> Floats:
    """Return the decrease of the sum of squares if one more segment begins at each position; slope and means are fitted again."""
    weight, lengths = spread**-2, np.diff([*starts, len(y)])
    residuals, free = _line(y, x, spread, starts)

    def after(values: Floats) -> Floats:
        """Sum the values of the same segment from each position on."""
        sums = np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
        return np.asarray(sums[:-1] - np.repeat(sums[[*starts[1:], len(y)]], lengths))

    weight_after, weight_of_segment = after(weight), np.repeat(np.add.reduceat(weight, starts), lengths)
    across = after(weight * free)
    size = weight_after * (weight_of_segment - weight_after) / weight_of_segment - across**2 / (weight * free**2).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(size > 1e-9 * weight_of_segment, after(weight * residuals) ** 2 / size, 0.0))


def _outlying(values: Floats) -> tuple[Floats, Floats]:
    """Return the medians of values and of those around them, and the distance from these over what noise explains (at least 1)."""
    around = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, mode="reflect"), 5), axis=-1)
    near = float(np.median(np.abs(np.diff(values)))) / NORMAL / 2**0.5
    return around, np.maximum(1.0, np.abs(values - around) / (FAR * near)) if near > 0 else np.ones_like(values)


def _long_run(values: Floats) -> float:
    """Return the standard deviation of means of many neighbours, times the root of their number.

    It is the largest that the distances between neighbouring batches show; their medians do not depend on steps or on the slope.
    """
    sums, size = np.concatenate([[0.0], np.cumsum(values - values[0])]), 1
    deviations: list[float] = []
    while size <= 2 or 16 * size <= len(values):
        means = (sums[size:] - sums[:-size]) / size
        differences = means[size:] - means[:-size]
        deviations.append(float(np.median(np.abs(differences - np.median(differences)))) / NORMAL * (size / 2) ** 0.5)
        size *= 2
    return max(deviations)


def _robust(y: Floats, x: Floats, spread: Floats, starts: Integers) -> Mixture | None:
    """Return the slope, with a larger variance of outlying values; None where too few values are left to estimate the noise."""
    if len(y) < len(starts) + 2:
        return None
    if len(y) > LEAST_WITH_STEPS:  # one distant value at an end would dominate the line
        spread = spread * _outlying(y / spread)[1]
    widened = spread
    for _ in range(ROUNDS):
        residuals, _ = _line(y, x, widened, starts)
        distances = np.abs(residuals / spread)
        typical = float(np.median(distances[distances > 0])) / NORMAL if (distances > 0).any() else 0.0
        widened = spread * np.sqrt(np.maximum(1.0, distances / (OUTLYING * typical))) if typical > 0 else spread
    return _mixture(y, x, widened, starts)


def _line(y: Floats, x: Floats, spread: Floats, starts: Integers) -> tuple[Floats, Floats]:
    """Return the residuals of independent values from one slope and the means of the segments, and x without its means."""
    weight, lengths = spread**-2, np.diff([*starts, len(y)])
    total = np.add.reduceat(weight, starts)
    free_y, free_x = (array - np.repeat(np.add.reduceat(weight * array, starts) / total, lengths) for array in (y, x))
    across = float((weight * free_x**2).sum())
    centre = float((weight * free_y * free_x).sum()) / across if across > 0 else 0.0
    return free_y - centre * free_x, free_x


def _mixture(y: Floats, x: Floats, spread: Floats, starts: Integers) -> Mixture | None:
    """Return the slopes by correlation of neighbours; values of different segments are independent."""
    rho, df = CORRELATIONS[:, None], len(y) - len(starts) - 1
    first = np.zeros(len(y), dtype=bool)
    first[starts] = True
    height, along, values = (_whitened(array / spread, rho, first) for array in (np.ones_like(y), x - x.mean(), y - y.mean()))
    inner = partial(np.add.reduceat, indices=starts, axis=-1)
    squares = inner(height**2)
    along_means, value_means = (inner(height * array) for array in (along, values))
    across = (along**2).sum(axis=-1) - (along_means**2 / squares).sum(axis=-1)
    cross_product = (along * values).sum(axis=-1) - (along_means * value_means / squares).sum(axis=-1)
    if not (across > 1e-9 * (along**2).sum(axis=-1)).all():  # every segment has one position
        return None
    centre = cross_product / across
    residual_squares = (values**2).sum(axis=-1) - (value_means**2 / squares).sum(axis=-1) - centre * cross_product
    if not (residual_squares > 1e-20 * max(float((y**2).sum()), 1.0)).all():
        return None
    log_likelihood = (
        -df / 2 * np.log(residual_squares)
        + len(starts) / 2 * np.log(1 - rho[:, 0] ** 2)
        - (np.log(squares).sum(axis=-1) + np.log(across)) / 2
    )
    return Mixture(softmax(log_likelihood), centre, np.sqrt(residual_squares / df / across), np.asarray(float(df)))


def _whitened(values: Floats, rho: Floats, first: Mask) -> Floats:
    """Return x_t - rho x_(t-1), and the first of each segment with the same variance (correlations, n)."""
    previous = np.concatenate([values[:1], values[:-1]])
    return np.where(first, np.sqrt(1 - rho**2) * values, values - rho * previous)


def _below(mixture: Mixture, value: Floats | float) -> Floats:
    distances = (np.asarray(value)[..., None] - mixture.centre) / mixture.error
    return np.asarray((mixture.weight * stdtr(mixture.df[..., None], distances)).sum(axis=-1))


def _quantile(mixture: Mixture, share: float) -> Floats:
    """Return a quantile of each mixture, by bisection between those of its components; NaN for series without a slope."""
    fitted = ~np.isnan(mixture.df)
    if not fitted.all():
        result = np.full(fitted.shape, np.nan)
        if fitted.any():
            result[fitted] = _quantile(Mixture(*(values[fitted] for values in mixture)), share)
        return result
    quantiles = mixture.centre + mixture.error * stdtrit(mixture.df[..., None], share)
    low, high = quantiles.min(axis=-1), quantiles.max(axis=-1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        under = _below(mixture, middle) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray(low + high) / 2

"""The slope of a series beside its steps, where the dependence of neighbours is unknown. The last axis is the order."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import softmax, stdtr, stdtrit

from perfarray.history.numerics.commits import blocks, stacks
from perfarray.history.numerics.search import running_sums
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask, Texts, same_text
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

# A series with more values than this is searched for outliers and for steps, at most one step for each so many values.
SHORT = 8

BISECTIONS = 60

# Steps of the secant method that come close to a quantile, and how close, relative to its distance from the slope.
SECANTS, PRECISION = 6, 3e-14

# A step that is left out is in doubt from this share of its penalty on: limits then hold the slopes with and without it.
NEARLY = 0.15


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
    units = np.where(units > 0, units, np.nan).reshape(-1, *units.shape[-2:])
    slope, lower, upper, pvalue, total, correlation = np.full((6, len(units)), np.nan)
    n, labels, verdict = np.zeros(len(units)), np.full((len(units), size), np.nan), same_text(INCONCLUSIVE, len(units))
    for rows, commits in stacks(units):
        cells = rows[:, None], commits.positions
        y, x, spread = commits.values, positions[commits.positions], commits.errors
        if segments:
            numbers = np.broadcast_to(segments[0], (*shape, size)).reshape(-1, size)[cells]
            starts = more = np.diff(numbers, axis=-1, prepend=np.nan) != 0
        else:
            starts, more = _steps(y, x, spread)
        n[rows], labels[cells] = y.shape[-1], np.cumsum(starts, axis=-1) - 1
        mixture = robust_slopes(y, x, spread, starts)
        mean, correlation[rows] = ((mixture.weight * values).sum(axis=-1) for values in (mixture.centre, CORRELATIONS))
        lower[rows], upper[rows], pvalue[rows], verdict[rows] = _judge(mixture, confidence_level, band, better)
        with np.errstate(over="ignore"):
            slope[rows], total[rows] = np.exp(mean), np.exp(mean * np.ptp(x, axis=-1))
        doubtful = np.flatnonzero((more != starts).any(axis=-1))
        if doubtful.size:
            mixture, rows = robust_slopes(y[doubtful], x[doubtful], spread[doubtful], more[doubtful]), rows[doubtful]
            low, high, larger, verdict_with_step = _judge(mixture, confidence_level, band, better)
            lower[rows], upper[rows], pvalue[rows] = np.fmin(lower[rows], low), np.fmax(upper[rows], high), np.fmax(pvalue[rows], larger)
            verdict[rows[(verdict[rows] != verdict_with_step) & ~np.isnan(larger)]] = INCONCLUSIVE
    arrays = (slope, lower, upper, pvalue, verdict, total, n, correlation, labels)
    return tuple(array.reshape((*shape, *array.shape[1:])) for array in arrays)


def _judge(mixture: Mixture, confidence_level: float, band: tuple[float, float], better: str) -> tuple[Floats, Floats, Floats, Texts]:
    """Return the limits, the p-values and the verdicts of slopes."""
    alpha = 1 - confidence_level
    below_low, below_high = (share_below(mixture, np.asarray(bound)) for bound in np.log(band))
    tests = Tests(1 - below_low, below_low, 1 - below_high, below_high)  # the share of slopes below a bound is the p-value of "above" it
    verdicts = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, better)
    with np.errstate(over="ignore"):
        lower, upper = (np.exp(quantile(mixture, share)) for share in (alpha / 2, 1 - alpha / 2))
    return lower, upper, tests.two_sided, verdicts


def _steps(y: Floats, x: Floats, spread: Floats) -> tuple[Mask, Mask]:
    """Return where segments begin: steps are added while they exceed a penalty; and the same with one more that nearly does."""
    n = y.shape[-1]
    starts = np.zeros(y.shape, dtype=bool)
    starts[:, 0] = True
    if n <= SHORT:
        return starts, starts
    around, excess = outlying(y / spread)
    values = np.where(excess > 1, around * spread, y)
    penalty, most = 4 * (1 + np.log(n)) * _long_run(values / spread) ** 2, n // SHORT
    rows = np.arange(len(y))
    while rows.size:
        best, gains = _best_start(values, x, spread, starts, rows)
        rows, best = rows[gains > penalty[rows]], best[gains > penalty[rows]]
        starts[rows, best] = True
        _settle(values, x, spread, starts, rows, penalty)
        rows = rows[starts[rows].sum(axis=-1) <= most]
    more, rows = starts.copy(), np.arange(len(y))
    best, gains = _best_start(values, x, spread, starts, rows)
    nearly = gains > NEARLY * penalty
    more[rows[nearly], best[nearly]] = True
    return starts, more


def _settle(y: Floats, x: Floats, spread: Floats, starts: Mask, rows: Integers, penalty: Floats) -> None:
    """Move each start of some rows to where it explains most beside the others; drop those that do not exceed the penalty there."""
    moving = {int(row): np.flatnonzero(starts[row])[1:] for row in rows}
    for number in range(max(map(len, moving.values()), default=0)):  # each depends on those before
        some = np.array([row for row in moving if number < len(moving[row])])
        starts[some, [moving[row][number] for row in some]] = False
        best, gains = _best_start(y, x, spread, starts, some)
        starts[some, best] |= gains > penalty[some]


def _best_start(y: Floats, x: Floats, spread: Floats, starts: Mask, rows: Integers) -> tuple[Integers, Floats]:
    """Return where one more segment of some rows decreases the sum of squares most, and by how much; slope and means are fitted again."""
    y, x, spread, starts = y[rows], x[rows], spread[rows], starts[rows]
    weight, firsts, n = spread**-2, np.flatnonzero(starts), y.shape[-1]
    lengths = np.diff(firsts, append=y.size)
    residuals, free = line(y, x, spread, starts)

    def after(values: Floats) -> Floats:
        """Sum the values of the same segment from each position on."""
        sums = np.zeros((len(values), n + 1))
        sums[:, :-1] = np.cumsum(values[:, ::-1], axis=-1)[:, ::-1]
        return np.asarray(sums[:, :-1] - np.repeat(sums[firsts // n, firsts % n + lengths], lengths).reshape(values.shape))

    weight_after, weight_of_segment = after(weight), np.repeat(np.add.reduceat(weight.ravel(), firsts), lengths).reshape(y.shape)
    across = after(weight * free)
    squares = (weight * free**2).sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = weight_after * (weight_of_segment - weight_after) / weight_of_segment - across**2 / squares
        gains = np.where(size > 1e-9 * weight_of_segment, after(weight * residuals) ** 2 / size, 0.0)
    best = np.argmax(gains, axis=-1)
    return best, gains[np.arange(len(best)), best]


def _long_run(values: Floats) -> Floats:
    """Return the standard deviation of means of many neighbours, times the root of their number.

    It is the largest that the distances between neighbouring batches show; their medians do not depend on steps or on the slope.
    """
    sums, size = running_sums(values - values[:, :1]), 1
    deviations: list[Floats] = []
    while size <= 2 or 16 * size <= values.shape[-1]:
        means = (sums[:, size:] - sums[:, :-size]) / size
        differences = means[:, size:] - means[:, :-size]
        distances = np.abs(differences - np.median(differences, axis=-1, keepdims=True))
        deviations.append(np.median(distances, axis=-1) / NORMAL * (size / 2) ** 0.5)
        size *= 2
    return np.asarray(np.max(deviations, axis=0))


def robust_slopes(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    """Return the slopes, with a larger variance of outlying values; NaN where too few values are left to estimate the noise."""
    n, numbers = y.shape[-1], starts.sum(axis=-1)
    weight, centre, error = np.full((3, len(y), len(CORRELATIONS)), np.nan)
    mixture = Mixture(weight, centre, error, np.full(len(y), np.nan))
    if n > SHORT:  # one distant value at an end would dominate the line
        spread = spread * outlying(y / spread)[1]
    for number in np.unique(numbers[numbers <= n - 2]).tolist():
        rows = np.flatnonzero(numbers == number)
        for block in blocks(rows, n * len(CORRELATIONS)):
            slopes = _reweighted(y[block], x[block], spread[block], starts[block])
            for field, values in zip(mixture, slopes, strict=True):
                field[block] = values
    return mixture


def outlying(values: Floats) -> tuple[Floats, Floats]:
    """Return the medians of values and of those around them, and the distance from these over what noise explains (at least 1)."""
    around = np.median(sliding_window_view(np.pad(values, ((0, 0), (2, 2)), mode="reflect"), 5, axis=-1), axis=-1)
    near = np.median(np.abs(np.diff(values)), axis=-1, keepdims=True) / NORMAL / 2**0.5
    near[near == 0] = np.inf
    return around, np.maximum(1.0, np.abs(values - around) / (FAR * near))


def _reweighted(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    widened = spread
    for _ in range(ROUNDS):
        residuals, _ = line(y, x, widened, starts)
        distances = np.abs(residuals / spread)
        typical = np.median(distances, axis=-1)
        for row in np.flatnonzero((distances == 0).any(axis=-1)):  # few: of these the median of the others
            typical[row] = np.median(distances[row][distances[row] > 0]) if distances[row].any() else np.inf
        widened = spread * np.sqrt(np.maximum(1.0, distances / (OUTLYING * (typical[:, None] / NORMAL))))
    return _mixture(y, x, widened, starts)


def line(y: Floats, x: Floats, spread: Floats, starts: Mask) -> tuple[Floats, Floats]:
    """Return the residuals of independent values from one slope and the means of the segments, and x without its means."""
    weight, firsts = spread**-2, np.flatnonzero(starts)
    total, lengths = np.add.reduceat(weight.ravel(), firsts), np.diff(firsts, append=y.size)
    means = (np.add.reduceat((weight * array).ravel(), firsts) / total for array in (y, x))
    free_y, free_x = (array - np.repeat(mean, lengths).reshape(y.shape) for array, mean in zip((y, x), means, strict=True))
    across, product = (array.sum(axis=-1, keepdims=True) for array in (weight * free_x**2, weight * free_y * free_x))
    return free_y - np.divide(product, across, out=np.zeros_like(across), where=across > 0) * free_x, free_x


def _mixture(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    """Return the slopes by correlation of neighbours, NaN where nothing varies; values of different segments are independent.

    All series have as many segments.
    """
    rho, shape, number = CORRELATIONS[:, None], (len(y), len(CORRELATIONS)), int(starts[0].sum())
    df = y.shape[-1] - number - 1
    first = np.broadcast_to(starts[:, None], (*shape, y.shape[-1]))
    firsts = np.flatnonzero(first)

    def inner(values: Floats) -> Floats:
        return np.add.reduceat(values.ravel(), firsts).reshape(*shape, number)

    centred = (np.ones_like(y), *(array - array.mean(axis=-1, keepdims=True) for array in (x, y)))
    height, along, values = (_whitened((array / spread)[:, None], rho, first) for array in centred)
    squares = inner(height**2)
    along_means, value_means = (inner(height * array) for array in (along, values))
    along_squares = (along**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = along_squares - (along_means**2 / squares).sum(axis=-1)
        cross_product = (along * values).sum(axis=-1) - (along_means * value_means / squares).sum(axis=-1)
        centre = cross_product / across
        residual_squares = (values**2).sum(axis=-1) - (value_means**2 / squares).sum(axis=-1) - centre * cross_product
        log_likelihood = (
            -df / 2 * np.log(residual_squares)
            + number / 2 * np.log(1 - rho[:, 0] ** 2)
            - (np.log(squares).sum(axis=-1) + np.log(across)) / 2
        )
        mixture = Mixture(softmax(log_likelihood, axis=-1), centre, np.sqrt(residual_squares / df / across), np.full(len(y), float(df)))
    # Where every segment has one position there is no slope, and where values lie on the line there is no noise.
    sloping = (across > 1e-9 * along_squares).all(axis=-1)
    varying = (residual_squares > 1e-20 * np.maximum((y**2).sum(axis=-1), 1.0)[:, None]).all(axis=-1)
    for field in mixture:
        field[~(sloping & varying)] = np.nan
    return mixture


def _whitened(values: Floats, rho: Floats, first: Mask) -> Floats:
    """Return x_t - rho x_(t-1), and the first of each segment with the same variance (series, correlations, n)."""
    previous = np.concatenate([values[..., :1], values[..., :-1]], axis=-1)
    return np.where(first, np.sqrt(1 - rho**2) * values, values - rho * previous)


def share_below(mixture: Mixture, value: Floats) -> Floats:
    """Return the share of the slopes below a value, or below one for each series."""
    distances = (value[..., None] - mixture.centre) / mixture.error
    return np.asarray((mixture.weight * stdtr(mixture.df[..., None], distances)).sum(axis=-1))


def quantile(mixture: Mixture, share: float) -> Floats:
    """Return a quantile of each mixture, by bisection between those of its components; NaN for series without a slope."""
    quantiles = mixture.centre + mixture.error * stdtrit(mixture.df[..., None], share)
    low, high = quantiles.min(axis=-1), quantiles.max(axis=-1)
    below, above = _bracket(mixture, quantiles, share)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        under = middle <= below
        near = np.flatnonzero((below < middle) & (middle < above))  # a mixture takes long
        under[near] = share_below(Mixture(*(field[near] for field in mixture)), middle[near]) < share
        below, above = np.where(under, np.fmax(below, middle), below), np.where(under, above, np.fmin(above, middle))
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray(low + high) / 2


def _bracket(mixture: Mixture, quantiles: Floats, share: float) -> tuple[Floats, Floats]:
    """Return close bounds of a quantile, by the secant method on the scale of Student's t; infinite where they are none."""
    target, previous, root = (stdtrit(mixture.df, share), *((mixture.weight * array).sum(axis=-1) for array in (mixture.centre, quantiles)))
    old = -target
    for _ in range(SECANTS):
        new = stdtrit(mixture.df, share_below(mixture, root)) - target
        with np.errstate(all="ignore"):
            step = new * (root - previous) / (new - old)
        previous, old = root, new
        root = np.clip(np.where(np.isfinite(step), root - step, root), quantiles.min(axis=-1), quantiles.max(axis=-1))
    margin = PRECISION * np.abs(quantiles - mixture.centre).max(axis=-1) + 4 * np.spacing(np.abs(root))
    below, above = root - margin, root + margin
    below[~(share_below(mixture, below) < share)] = -np.inf
    above[share_below(mixture, above) < share] = np.inf
    return below, above

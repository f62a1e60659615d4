"""One slope of all segments of a series, of unknown dependence: a mixture of Student's t."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import softmax, stdtr, stdtrit

from perfarray.history.numerics.commits import blocks
from perfarray.numerics.types import Floats, Mask, Texts
from perfarray.numerics.verdicts import Tests, decide

# Correlations of neighbours that are averaged over, equally likely beforehand.
CORRELATIONS = np.append(np.arange(0.0, 0.96, 0.05), 0.99)

# The median distance of normal values from their mean, in standard deviations.
NORMAL = 0.6745

# Values farther than so many robust standard deviations count less: their influence on the slope
# stays what it is there.
OUTLYING = 2.5

# Values farther than so many robust standard deviations from those around them do not belong to the
# history.
DISTANT = 4.0

# Iterations of the weights.
ROUNDS = 4

# A series with more values than this is searched for outliers and for steps, at most one step for
# each so many values.
SHORT = 8

BISECTIONS = 60

# Steps of the secant method that come close to a quantile, and how close, relative to its distance
# from the slope.
SECANTS, PRECISION = 6, 3e-14


class Mixture(NamedTuple):
    """Slopes by correlation of neighbours (..., correlations): weights, estimates, standard errors.

    And degrees of freedom (...).
    """

    weight: Floats
    centre: Floats
    error: Floats
    df: Floats


def robust_slopes(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    """Return the slopes, with a larger variance of outlying values.

    NaN where too few values are left to estimate the noise.
    """
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
    """Return running medians, and the distances from them over what noise explains (1 or more)."""
    around = np.median(
        sliding_window_view(np.pad(values, ((0, 0), (2, 2)), mode="reflect"), 5, axis=-1), axis=-1
    )
    noise = np.median(np.abs(np.diff(values)), axis=-1, keepdims=True) / NORMAL / 2**0.5
    noise[noise == 0] = np.inf
    return around, np.maximum(1.0, np.abs(values - around) / (DISTANT * noise))


def judge(
    mixture: Mixture, confidence_level: float, bounds: Floats, better: str
) -> tuple[Floats, Floats, Floats, Texts]:
    """Return the limits, the p-values and the verdicts of slopes.

    Those between the two bounds do not matter.
    """
    alpha = 1 - confidence_level
    below_low, below_high = (share_below(mixture, bound) for bound in bounds)
    # The share of slopes below a bound is the p-value of "above" it.
    tests = Tests(1 - below_low, below_low, 1 - below_high, below_high)
    verdicts = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, better)
    lower, upper = (quantile(mixture, share) for share in (alpha / 2, 1 - alpha / 2))
    return lower, upper, tests.two_sided, verdicts


def _reweighted(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    widened = spread
    for _ in range(ROUNDS):
        residuals, _ = line(y, x, widened, starts)
        distances = np.abs(residuals / spread)
        typical = np.median(distances, axis=-1)
        # Few series have values on the line: there, the others have the median.
        for row in np.flatnonzero((distances == 0).any(axis=-1)):
            off_line = distances[row][distances[row] > 0]
            typical[row] = np.median(off_line) if off_line.size else np.inf
        widened = spread * np.sqrt(
            np.maximum(1.0, distances / (OUTLYING * (typical[:, None] / NORMAL)))
        )
    return _mixture(y, x, widened, starts)


def line(y: Floats, x: Floats, spread: Floats, starts: Mask) -> tuple[Floats, Floats]:
    """Return the residuals from one slope and the means of segments, and x without its means."""
    weight, firsts = spread**-2, np.flatnonzero(starts)
    total, lengths = np.add.reduceat(weight.ravel(), firsts), np.diff(firsts, append=y.size)
    means = (np.add.reduceat((weight * array).ravel(), firsts) / total for array in (y, x))
    free_y, free_x = (
        array - np.repeat(mean, lengths).reshape(y.shape)
        for array, mean in zip((y, x), means, strict=True)
    )
    across, product = (
        array.sum(axis=-1, keepdims=True)
        for array in (weight * free_x**2, weight * free_y * free_x)
    )
    return free_y - np.divide(
        product, across, out=np.zeros_like(across), where=across > 0
    ) * free_x, free_x


def _mixture(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mixture:
    """Return the slopes by correlation of neighbours, NaN where nothing varies.

    Values of different segments are independent.

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
        cross_product = (along * values).sum(axis=-1) - (along_means * value_means / squares).sum(
            axis=-1
        )
        centre = cross_product / across
        residual_squares = (
            (values**2).sum(axis=-1)
            - (value_means**2 / squares).sum(axis=-1)
            - centre * cross_product
        )
        log_likelihood = (
            -df / 2 * np.log(residual_squares)
            + number / 2 * np.log(1 - rho[:, 0] ** 2)
            - (np.log(squares).sum(axis=-1) + np.log(across)) / 2
        )
        mixture = Mixture(
            softmax(log_likelihood, axis=-1),
            centre,
            np.sqrt(residual_squares / df / across),
            np.full(len(y), float(df)),
        )
    # Where every segment has one position there is no slope, and where values lie on the line there
    # is no noise.
    sloping = (across > 1e-9 * along_squares).all(axis=-1)
    varying = (residual_squares > 1e-20 * np.maximum((y**2).sum(axis=-1), 1.0)[:, None]).all(
        axis=-1
    )
    for field in mixture:
        field[~(sloping & varying)] = np.nan
    return mixture


def _whitened(values: Floats, rho: Floats, first: Mask) -> Floats:
    """Return x_t - rho x_(t-1), and the first of each segment with the same variance."""
    previous = np.concatenate([values[..., :1], values[..., :-1]], axis=-1)
    return np.where(first, np.sqrt(1 - rho**2) * values, values - rho * previous)


def share_below(mixture: Mixture, value: Floats) -> Floats:
    """Return the share of the slopes below a value, or below one for each series."""
    distances = (value[..., None] - mixture.centre) / mixture.error
    return np.asarray((mixture.weight * stdtr(mixture.df[..., None], distances)).sum(axis=-1))


def quantile(mixture: Mixture, share: float) -> Floats:
    """Return a quantile of each mixture, by bisection between those of its components.

    NaN for series without a slope.
    """
    quantiles = mixture.centre + mixture.error * stdtrit(mixture.df[..., None], share)
    low, high = quantiles.min(axis=-1), quantiles.max(axis=-1)
    below, above = _bracket(mixture, quantiles, share)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        under = middle <= below
        rows = np.flatnonzero((below < middle) & (middle < above))  # a mixture takes long
        under[rows] = (
            share_below(Mixture(*(field[rows] for field in mixture)), middle[rows]) < share
        )
        below, above = (
            np.where(under, np.fmax(below, middle), below),
            np.where(under, above, np.fmin(above, middle)),
        )
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray(low + high) / 2


def _bracket(mixture: Mixture, quantiles: Floats, share: float) -> tuple[Floats, Floats]:
    """Return close bounds of a quantile, by the secant method on the scale of Student's t.

    Infinite where they are none.
    """
    target, previous, root = (
        stdtrit(mixture.df, share),
        *((mixture.weight * array).sum(axis=-1) for array in (mixture.centre, quantiles)),
    )
    old = -target
    for _ in range(SECANTS):
        new = stdtrit(mixture.df, share_below(mixture, root)) - target
        with np.errstate(all="ignore"):
            step = new * (root - previous) / (new - old)
        previous, old = root, new
        root = np.clip(
            np.where(np.isfinite(step), root - step, root),
            quantiles.min(axis=-1),
            quantiles.max(axis=-1),
        )
    margin = PRECISION * np.abs(quantiles - mixture.centre).max(axis=-1) + 4 * np.spacing(
        np.abs(root)
    )
    below, above = root - margin, root + margin
    below[~(share_below(mixture, below) < share)] = -np.inf
    above[share_below(mixture, above) < share] = np.inf
    return below, above

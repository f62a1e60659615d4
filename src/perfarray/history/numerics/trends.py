"""The slope of a series beside its steps, under dependence of neighbours that is not known. The last axis is the order."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.history.numerics.commits import commits_of
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import INCONCLUSIVE, Tests, decide

CORRELATIONS = np.append(np.arange(0.0, 0.96, 0.05), 0.99)
"""Correlations of neighbours over which the slope is averaged: alike likely before the series is seen."""

NORMAL = 0.6745
"""The median distance of normal values from their mean, in standard deviations."""

OUTLYING = 2.5
"""Robust standard deviations from which on a value counts less, so that its pull on the slope stays what it is there."""

FAR = 4.0
"""Robust standard deviations from those around it, from which on a value is no part of the history."""

ROUNDS = 4
"""How often values are weighed anew."""

LEAST_WITH_STEPS = 8
"""Values that a series has more than, for each step that is looked for in it."""

NEARLY = 0.15
"""The share of its penalty from which on a step that is left out is in doubt: limits then hold the slopes with and without it."""

BISECTIONS = 60


class Question(NamedTuple):
    """What is asked of every series: where its commits lie, the limits' level, slopes that do not matter (as ratios), which is good."""

    levels: int
    positions: Floats
    confidence_level: float
    band: tuple[float, float]
    better: str


class Mixture(NamedTuple):
    """Slopes by correlation of neighbours (..., correlations): weights, estimates, errors; and degrees of freedom (...)."""

    weight: Floats
    centre: Floats
    error: Floats
    df: Floats


def log_slopes(values: Floats, *segments: Floats, question: Question) -> tuple[npt.NDArray[Any], ...]:
    """Return by what a step along the places multiplies series of positive values: slopes, limits and what else is known of them.

    Every segment has a height of its own, and all have one slope. Neighbours may depend on each other: for each correlation that is
    possible the slope and its error are those of least squares that take it off, and what is returned is their average, by how likely the
    residuals make each (restricted likelihood): Student's t mixed over correlations.

    Parameters
    ----------
    values : array, shape (..., n, n_L, ..., n_1)
        Timings; NaN is not measured.
    *segments : array, shape (..., n)
        The number of the segment of each commit; without it steps are looked for.
    question : Question
        What is asked.

    Returns
    -------
    tuple of array
        Slope, limits, p-value and verdict, the slope over the whole series, commits measured, correlation of neighbours (all of shape
        (...)), and segments (..., n). Limits hold the slopes with and without a step that nearly pays.

    References
    ----------
    A. Zellner, G. Tiao, "Bayesian analysis of the regression model with autocorrelated errors", JASA 59, 1964.
    """
    units = unit_means(values, question.levels)
    shape, size = units.shape[:-2], units.shape[-2]
    weight, centre, error = (np.full((*shape, len(CORRELATIONS)), np.nan) for _ in range(3))
    chosen = Mixture(weight, centre, error, np.full(shape, np.nan))
    alternative = Mixture(*(field.copy() for field in chosen))
    n, reach, labels = (np.full(segment_numbers, np.nan) for segment_numbers in (shape, shape, (*shape, size)))
    for cell in np.ndindex(shape):  # each has gaps and segments of its own
        commits = commits_of(np.log(np.where(units[cell] > 0, units[cell], np.nan)))
        y, x, spread = commits.values, question.positions[commits.positions], commits.errors
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
        for mixture, fitted in ((chosen, slopes), (alternative, slopes if more is starts else _robust(y, x, spread, more))):
            for field, value in zip(mixture, fitted or (), strict=False):
                field[cell] = value
    answers = _both(_conclude(chosen, reach, question), _conclude(alternative, reach, question))
    return (*answers, n, (chosen.weight * CORRELATIONS).sum(axis=-1), labels)


def _conclude(mixture: Mixture, reach: Floats, question: Question) -> tuple[npt.NDArray[Any], ...]:
    """Turn mixtures into slopes as ratios, limits, p-values, verdicts, and what the slope makes of the whole series."""
    alpha, (low, high) = 1 - question.confidence_level, np.log(question.band)
    centre = (mixture.weight * mixture.centre).sum(axis=-1)
    lower, upper = (_quantile(mixture, share) for share in (alpha / 2, 1 - alpha / 2))
    above_low, above_high = _below(mixture, low), _below(mixture, high)  # of slopes below an edge: what speaks against "above" it
    tests = Tests(1 - above_low, above_low, 1 - above_high, above_high)
    verdict = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, question.better)
    with np.errstate(over="ignore"):
        return (*(np.exp(log_value) for log_value in (centre, lower, upper)), tests.two_sided, verdict, np.exp(centre * reach))


def _both(chosen: tuple[npt.NDArray[Any], ...], alternative: tuple[npt.NDArray[Any], ...]) -> tuple[npt.NDArray[Any], ...]:
    """Return the first of two answers with limits that hold those of both, and a verdict where they agree."""
    slope, lower, upper, pvalue, verdict, total = chosen
    return (
        slope,
        np.fmin(lower, alternative[1]),
        np.fmax(upper, alternative[2]),
        np.fmax(pvalue, alternative[3]),
        np.where((verdict == alternative[4]) | np.isnan(alternative[0]), verdict, INCONCLUSIVE),
        total,
    )


def _steps(y: Floats, x: Floats, spread: Floats) -> tuple[Integers, Integers]:
    """Return where segments begin, a line and one step after the other as long as they pay; and the same with one that nearly does."""
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
    """Return starts, each moved to where it explains most beside the others, without those that do not pay their penalty there."""
    for start in starts[1:].tolist():
        remaining = starts[starts != start]
        gains = _gains(y, x, spread, remaining)
        best = int(np.argmax(gains))
        starts = np.sort([*remaining, best]) if gains[best] > penalty else remaining
    return starts


def _gains(y: Floats, x: Floats, spread: Floats, starts: Integers) -> Floats:
    """Return by how much the sum of squares falls if one more segment begins at each place, slope and heights fitted anew."""
    weight, lengths = spread**-2, np.diff([*starts, len(y)])
    _, residuals = _line(y, x, spread, starts)

    def after(values: Floats) -> Floats:
        """Sum what lies in the same segment from each place on."""
        sums = np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
        return np.asarray(sums[:-1] - np.repeat(sums[[*starts[1:], len(y)]], lengths))

    weight_after, weight_of_segment = after(weight), np.repeat(np.add.reduceat(weight, starts), lengths)
    free = x - np.repeat(np.add.reduceat(weight * x, starts) / np.add.reduceat(weight, starts), lengths)
    across = after(weight * free)
    size = weight_after * (weight_of_segment - weight_after) / weight_of_segment - across**2 / (weight * free**2).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(size > 1e-9 * weight_of_segment, after(weight * residuals) ** 2 / size, 0.0))


def _outlying(values: Floats) -> tuple[Floats, Floats]:
    """Return the medians of values and of those around them, and how many times farther from these than noise each lies; 1 for most."""
    around = np.median(np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, mode="reflect"), 5), axis=-1)
    near = float(np.median(np.abs(np.diff(values)))) / NORMAL / 2**0.5
    return around, np.maximum(1.0, np.abs(values - around) / (FAR * near)) if near > 0 else np.ones_like(values)


def _long_run(values: Floats) -> float:
    """Return the standard deviation that means of many neighbours have, times the root of their number.

    It is the largest that the distances of neighbouring batches show; their medians see no steps, and no slope.
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
    """Return the slope with outlying values given the variance that bounds their pull; None where nothing is left to tell the noise."""
    if len(y) < len(starts) + 2:
        return None
    if len(y) > LEAST_WITH_STEPS:  # one far value at an end would draw the line to itself
        spread = spread * _outlying(y / spread)[1]
    widened = spread
    for _ in range(ROUNDS):
        _, residuals = _line(y, x, widened, starts)
        far = np.abs(residuals / spread)
        typical = float(np.median(far[far > 0])) / NORMAL if (far > 0).any() else 0.0
        widened = spread * np.sqrt(np.maximum(1.0, far / (OUTLYING * typical))) if typical > 0 else spread
    return _mixture(y, x, widened, starts)


def _line(y: Floats, x: Floats, spread: Floats, starts: Integers) -> tuple[float, Floats]:
    """Return the slope of independent values and what it and the heights of the segments leave."""
    weight, lengths = spread**-2, np.diff([*starts, len(y)])
    total = np.add.reduceat(weight, starts)
    free = [array - np.repeat(np.add.reduceat(weight * array, starts) / total, lengths) for array in (y, x)]
    across = float((weight * free[1] ** 2).sum())
    centre = float((weight * free[0] * free[1]).sum()) / across if across > 0 else 0.0
    return centre, free[0] - centre * free[1]


def _mixture(y: Floats, x: Floats, spread: Floats, starts: Integers) -> Mixture | None:
    """Return the slopes by correlation of neighbours; those of different segments are taken as independent."""
    rho, df = CORRELATIONS[:, None], len(y) - len(starts) - 1
    first = np.zeros(len(y), dtype=bool)
    first[starts] = True
    height, along, values = (_whitened(array / spread, rho, first) for array in (np.ones_like(y), x - x.mean(), y - y.mean()))
    inner = partial(np.add.reduceat, indices=starts, axis=-1)
    squares = inner(height**2)
    shares = [inner(height * array) for array in (along, values)]
    across = (along**2).sum(axis=-1) - (shares[0] ** 2 / squares).sum(axis=-1)
    cross_product = (along * values).sum(axis=-1) - (shares[0] * shares[1] / squares).sum(axis=-1)
    if not (across > 1e-9 * (along**2).sum(axis=-1)).all():  # every segment is one place
        return None
    centre = cross_product / across
    residual_squares = (values**2).sum(axis=-1) - (shares[1] ** 2 / squares).sum(axis=-1) - centre * cross_product
    if not (residual_squares > 1e-20 * max(float((y**2).sum()), 1.0)).all():
        return None
    likely = (
        -df / 2 * np.log(residual_squares)
        + len(starts) / 2 * np.log(1 - rho[:, 0] ** 2)
        - (np.log(squares).sum(axis=-1) + np.log(across)) / 2
    )
    weight = np.exp(likely - likely.max())
    return Mixture(weight / weight.sum(), centre, np.sqrt(residual_squares / df / across), np.asarray(float(df)))


def _whitened(values: Floats, rho: Floats, first: Mask) -> Floats:
    """Return x_t - rho x_(t-1), and the first of each segment with the same variance (correlations, n)."""
    previous = np.concatenate([values[:1], values[:-1]])
    return np.where(first, np.sqrt(1 - rho**2) * values, values - rho * previous)


def _below(mixture: Mixture, value: Floats | float) -> Floats:
    """Return the share of each mixture below a place."""
    from scipy.special import stdtr

    distances = (np.asarray(value)[..., None] - mixture.centre) / mixture.error
    return np.asarray((mixture.weight * stdtr(mixture.df[..., None], distances)).sum(axis=-1))


def _quantile(mixture: Mixture, share: float) -> Floats:
    """Return the place below which a share of each mixture lies: between those of its parts, halved again and again."""
    from scipy.special import stdtrit

    quantiles = mixture.centre + mixture.error * stdtrit(mixture.df[..., None], share)
    low, high = quantiles.min(axis=-1), quantiles.max(axis=-1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        under = _below(mixture, middle) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray(low + high) / 2

"""Whether two samples differ in spread: Brown and Forsythe's test, its limits, and a cautious test.

Units are taken as logarithms: times which are all twice as long have the same spread. The ratio of
spreads is that of the mean distances from the medians. Its limits are the ratios that the test does
not reject when one side is divided by them.

Far out in the tails, where a note on many cells looks, this test alone has too many false alarms
for modes of which one side has none by chance, and Bonett's for few units of long tails. There
both must see a change, and so must the ranks of the distances from the median of both sides
together, which count such modes once. Where means differ more than spreads, a change is then
seldom seen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers

LEAST = 10  # units a side


class SpreadChange(NamedTuple):
    """A change of spread (...): p-values and limits, and the relative standard deviations."""

    cautious_pvalue: Floats
    candidate_spread: Floats
    baseline_spread: Floats
    ratio: Floats
    lower: Floats
    upper: Floats
    pvalue: Floats


class _Distances(NamedTuple):
    """Distances of both sides, their means, and their sums of squares about the means."""

    means: Sequence[Floats]
    squares: Sequence[Floats]


def spread_change(new: Floats, old: Floats, level: float = 0.95) -> SpreadChange:
    """Test a change of the relative spread of units (..., units), NaN where not measured.

    All is NaN for fewer than `LEAST` units a side, and where units are not above 0 or do not vary.
    M. B. Brown, A. B. Forsythe (1974); D. G. Bonett (2006).
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        sides, counts = _ordered_logs(new, old)
        sums = [_squares(side) for side in sides]
        fourth = sum(
            np.nansum((side - _trimmed_mean(side, n)) ** 4, axis=-1)
            for side, n in zip(sides, counts, strict=True)
        )
        kurtosis = (counts[0] + counts[1]) * fourth / (sums[0] + sums[1]) ** 2
        error = np.sqrt(sum((kurtosis - (n - 3) / n) / (n - 1) for n in counts))
        variances = [squares / (n - 1) for squares, n in zip(sums, counts, strict=True)]
        # Student's t, not z: the kurtosis of few units of long tails is seen too small.
        bonett = 2 * stdtr(
            np.minimum(*counts) - 1.0, -np.abs(np.log(variances[0] / variances[1])) / error
        )
        together = np.sort(np.concatenate(sides, axis=-1), axis=-1)
        centre = _median(together, counts[0] + counts[1])
        ranks = np.argsort(
            np.argsort(np.concatenate([np.abs(side - centre) for side in sides], axis=-1), axis=-1),
            axis=-1,
        )
        of_sides = np.split(ranks.astype(float), [sides[0].shape[-1]], axis=-1)
        ranked = [
            np.where(np.isnan(side), np.nan, side_ranks)
            for side, side_ranks in zip(sides, of_sides, strict=True)
        ]
        distances = _summarised(_from_medians(sides, counts))
        pvalue = _pvalue(distances, counts)
        cautious = np.maximum(np.maximum(bonett, pvalue), _pvalue(_summarised(ranked), counts))
        positive = ~(np.any(new <= 0, axis=-1) | np.any(old <= 0, axis=-1))
        valid = positive & (np.minimum(*counts) >= LEAST) & (sums[0] > 0) & (sums[1] > 0)
        spreads = [np.sqrt(np.expm1(variance)) for variance in variances]
        limits = _limits(distances, counts, level)
        ratio = distances.means[0] / distances.means[1]
    fields = (cautious, *spreads, ratio, *limits, pvalue)
    return SpreadChange(*(np.where(valid, field, np.nan) for field in fields))


def equal_spreads_pvalue(new: Floats, old: Floats, least: int) -> Floats:
    """Return Brown and Forsythe's p-value of equal spreads of logarithms (..., values).

    NaN below so many values a side.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        sides, counts = _ordered_logs(new, old)
        pvalue = _pvalue(_summarised(_from_medians(sides, counts)), counts)
    return np.where(np.minimum(*counts) >= least, pvalue, np.nan)


def _ordered_logs(new: Floats, old: Floats) -> tuple[list[Floats], list[Integers]]:
    """Return the logarithms of both sides, ascending and gaps last, and their numbers."""
    shape = np.broadcast_shapes(new.shape[:-1], old.shape[:-1])
    new, old = (np.broadcast_to(side, (*shape, side.shape[-1])) for side in (new, old))
    sides = [np.sort(np.log(np.where(side > 0, side, np.nan)), axis=-1) for side in (new, old)]
    return sides, [(~np.isnan(side)).sum(axis=-1) for side in sides]


def _from_medians(sides: Sequence[Floats], counts: Sequence[Integers]) -> list[Floats]:
    return [np.abs(side - _median(side, n)) for side, n in zip(sides, counts, strict=True)]


def _summarised(distances: Sequence[Floats]) -> _Distances:
    return _Distances([*map(mean_of_measured, distances)], [*map(_squares, distances)])


def _pvalue(distances: _Distances, counts: Sequence[Integers]) -> Floats:
    """Return the p-value of equal mean distances: the analysis of variance of two groups."""
    from scipy.special import fdtrc

    df, scale = counts[0] + counts[1] - 2.0, 1 / counts[0] + 1 / counts[1]
    difference = distances.means[0] - distances.means[1]
    statistic = df * difference**2 / scale / (distances.squares[0] + distances.squares[1])
    return np.asarray(fdtrc(1.0, df, statistic))


def _limits(
    distances: _Distances, counts: Sequence[Integers], level: float
) -> tuple[Floats, Floats]:
    """Return the ratios r at which the test of new / r against old is just not significant.

    (d_new - r d_old)^2 = c (S_new + r^2 S_old) with c = F (1 / n_new + 1 / n_old) / df. The upper
    limit is infinite where the baseline's spread may be 0.
    """
    from scipy.special import stdtrit

    df = counts[0] + counts[1] - 2.0
    factor = (
        stdtrit(np.maximum(df, 1.0), (1 + level) / 2) ** 2 * (1 / counts[0] + 1 / counts[1]) / df
    )
    (new, old), (new_squares, old_squares) = distances.means, distances.squares
    square, constant = old**2 - factor * old_squares, new**2 - factor * new_squares
    root = np.sqrt(np.maximum((new * old) ** 2 - square * constant, 0.0))
    # The smaller root, in the form that holds for any sign of the square's factor
    lower = np.where(constant > 0, constant / (new * old + root), 0.0)
    return lower, np.where(square > 0, (new * old + root) / square, np.inf)


def _squares(values: Floats) -> Floats:
    return np.asarray(np.nansum((values - mean_of_measured(values)[..., None]) ** 2, axis=-1))


def _median(ordered: Floats, n: Integers) -> Floats:
    middle = np.stack(
        [np.maximum(n - 1, 0) // 2, np.minimum(n // 2, ordered.shape[-1] - 1)], axis=-1
    )
    return np.asarray(np.take_along_axis(ordered, middle, axis=-1).mean(axis=-1, keepdims=True))


def _trimmed_mean(ordered: Floats, n: Integers) -> Floats:
    """Return the mean without the share 1 / (2 sqrt(n - 4)) of the values at either end."""
    rank, n_ = np.arange(ordered.shape[-1]), n[..., None]
    trim = np.floor(n_ / (2 * np.sqrt(np.maximum(n_ - 4.0, 1.0))))
    return mean_of_measured(np.where((rank >= trim) & (rank < n_ - trim), ordered, np.nan))[
        ..., None
    ]

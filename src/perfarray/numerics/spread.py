"""Whether two samples differ in spread: Bonett's interval, and Brown and Forsythe's test.

Bonett's test has too many false alarms for few units of long tails, Brown and Forsythe's for modes
of which one side has none by chance. Both must see a change, and so must the ranks of the distances
from the median of both sides together, which count such modes once. Where means differ more than
spreads, a change is then seldom seen. Units are taken as logarithms: times which are all twice as
long have the same spread.
"""

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers

LEAST = 10  # units a side


def spread_change(new: Floats, old: Floats) -> tuple[Floats, Floats, Floats]:
    """Test a change of the relative spread of units (..., units), NaN where not measured.

    The answers (...) are the largest p-value of the tests, and the relative standard deviation of
    either side; NaN for fewer than `LEAST` units a side, and where units are not above 0 or do not
    vary. D. G. Bonett (2006), M. B. Brown, A. B. Forsythe (1974).
    """
    from scipy.special import fdtrc, stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        shape = np.broadcast_shapes(new.shape[:-1], old.shape[:-1])
        new, old = (np.broadcast_to(side, (*shape, side.shape[-1])) for side in (new, old))
        sides = [np.sort(np.log(np.where(side > 0, side, np.nan)), axis=-1) for side in (new, old)]
        counts = [(~np.isnan(side)).sum(axis=-1) for side in sides]
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
        distances = [np.abs(side - _median(side, n)) for side, n in zip(sides, counts, strict=True)]
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
        df, scale = counts[0] + counts[1] - 2.0, 1 / counts[0] + 1 / counts[1]
        pvalue = bonett
        for new_distances, old_distances in (distances, ranked):
            difference = mean_of_measured(new_distances) - mean_of_measured(old_distances)
            statistic = (
                df * difference**2 / scale / (_squares(new_distances) + _squares(old_distances))
            )
            pvalue = np.maximum(pvalue, fdtrc(1.0, df, statistic))
        positive = ~(np.any(new <= 0, axis=-1) | np.any(old <= 0, axis=-1))
        valid = positive & (np.minimum(*counts) >= LEAST) & (sums[0] > 0) & (sums[1] > 0)
        spreads = [np.where(valid, np.sqrt(np.expm1(variance)), np.nan) for variance in variances]
    return np.where(valid, pvalue, np.nan), spreads[0], spreads[1]


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

"""Whether the benchmarks of a suite moved by one factor.

The last axis is that of the benchmarks; NaN is "no ratio". A machine, a setting or a build that
differs moves all benchmarks; a change of the program seldom does.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask

MIN_BENCHMARKS = 5
LEVEL = 0.01  # of the test that the common factor is 1
HETEROGENEITY = 0.05  # level of the test that the log ratios vary by more than their noise
OUTLIER = 0.005  # one-sided level from which a benchmark did not move with the others
# share of the common shift by which benchmarks may differ from it and still have moved with the
# others
ALIKE = 0.2
MANY = 1e9  # degrees of freedom that are as good as all
MOVED, SAME_SIGN, STAYED = 0.8, 0.9, 0.1  # shares of the benchmarks: at least, at least, at most


class CommonShift(NamedTuple):
    """The common log ratio, its standard error and df, and the benchmarks that share it.

    `alike` says which.
    """

    shift: Floats
    error: Floats
    df: Floats
    benchmarks: Integers
    common: Mask
    alike: Mask


def common_shift(log_ratios: Floats, errors: Floats, df: Floats) -> CommonShift:
    """Return the mean log ratio of the benchmarks that agree with the median.

    Some may have moved by more: they are left out. Few may have stayed: a suite of which a part
    changed has no common shift. Measured frequencies are in `docs/scripts/common_shift.py`.
    """
    from scipy.special import (
        fdtri,
        stdtr,
        stdtrit,
    )  # scipy.stats takes longer to load than a comparison

    df = np.minimum(df, MANY)
    measured = np.isfinite(log_ratios) & np.isfinite(errors)
    ratios, noise = np.where(measured, log_ratios, np.nan), np.where(measured, errors, np.nan)
    number = measured.sum(axis=-1)
    center = _median(ratios, number)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = ratios - center[..., None]
        limit = np.maximum(-stdtrit(df, OUTLIER) * noise, ALIKE * np.abs(center)[..., None])
        with_others: Mask = np.abs(distance) <= limit
        moved = with_others.sum(axis=-1)
        shift = np.where(with_others, ratios, 0.0).sum(axis=-1) / moved
        variance = np.where(with_others, (ratios - shift[..., None]) ** 2, 0.0).sum(axis=-1) / (
            moved - 1
        )
        noise_variance = np.where(with_others, noise**2, 0.0).sum(axis=-1) / moved
        error = np.sqrt(np.maximum(variance, noise_variance) / moved)
        freedom = np.where(with_others, df, 0.0).sum(axis=-1)
        spread = fdtri(np.maximum(moved - 1, 1), np.minimum(freedom, MANY), 1 - HETEROGENEITY) * (
            noise_variance + (ALIKE * shift) ** 2
        )
        significant = 2 * stdtr(moved - 1, -np.abs(shift) / error) <= LEVEL
    same_sign = (np.sign(ratios) == np.sign(shift)[..., None]).sum(axis=-1)
    stayed = (~with_others & measured & (np.abs(ratios) < np.abs(center)[..., None])).sum(axis=-1)
    most = (
        (moved >= MOVED * number) & (same_sign >= SAME_SIGN * number) & (stayed <= STAYED * number)
    )
    common = (number >= MIN_BENCHMARKS) & most & significant & (variance <= spread)
    return CommonShift(shift, error, moved - 1.0, moved, np.asarray(common), with_others)


def _median(ratios: Floats, number: Integers) -> Floats:
    """Return the medians of the measured ratios, NaN where there is none."""
    ordered = np.sort(ratios, axis=-1)  # NaN comes last
    places = (np.maximum(number - 1, 0) // 2, number // 2)
    middle = [
        np.take_along_axis(ordered, np.minimum(place, ratios.shape[-1] - 1)[..., None], axis=-1)[
            ..., 0
        ]
        for place in places
    ]
    return np.asarray((middle[0] + middle[1]) / 2)

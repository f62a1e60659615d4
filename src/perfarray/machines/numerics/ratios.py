"""Ratios of a table to its median row."""

import warnings

import numpy as np

from perfarray.numerics.types import Floats

REACHED = 98.0  # percent of the ratios; a few large ones would make the colours of all others pale


def ratios_to_median(values: Floats) -> tuple[Floats, ...]:
    """Return positive values (samples, configurations, features) relative to the median sample.

    NaN is a hole. Returned are the ratios; the geometric mean (samples, configurations) of each
    row; the geometric standard deviation (features) of each column; the median (features) over
    samples of the medians over their configurations, so that every sample counts once; and the
    factor from 1 within which most ratios lie.
    """
    with warnings.catch_warnings(
        action="ignore", category=RuntimeWarning
    ):  # NumPy warns of rows and columns that are all NaN
        reference = np.nanmedian(np.nanmedian(values, axis=1), axis=0)
        ratios = values / reference
        logs = np.log(ratios)
        means, spreads, reach = (
            np.nanmean(logs, axis=-1),
            np.nanstd(logs, axis=(0, 1)),
            np.nanpercentile(np.abs(logs), REACHED),
        )
        return ratios, np.exp(means), np.exp(spreads), reference, np.exp(reach)

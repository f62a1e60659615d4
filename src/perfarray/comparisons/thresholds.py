"""Thresholds that differ by benchmark, or along other dims of the verdicts."""

from collections.abc import Hashable, Mapping
from types import EllipsisType
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.timings.resolve import check_dim
from perfarray.timings.validation import check_threshold, listed

# The variables of an answer whose thresholds differ
THRESHOLD, SUITE_THRESHOLD = "threshold", "suite_threshold"

# What a caller gives: one change for all; by label of `across`, `...` being the others; or along
# any dims of the verdicts
Threshold = float | Mapping[str | EllipsisType, float] | xr.DataArray


def varies(threshold: Any) -> bool:
    """Return whether a threshold may differ between verdicts."""
    return isinstance(threshold, Mapping | pd.Series) or (
        isinstance(threshold, xr.DataArray) and threshold.ndim > 0
    )


def check_thresholds(threshold: Threshold) -> Threshold:
    """Return a threshold that differs between verdicts as it is, and one number checked."""
    return threshold if varies(threshold) else check_threshold(cast(float, threshold))


def thresholds_of(
    threshold: Any, array: xr.DataArray, across: str
) -> tuple[xr.Variable, xr.Variable]:
    """Return the thresholds of the benchmarks, along `across` and other dims, and of the suite.

    The suite's is that of the labels without one of their own in a mapping, and the mean over the
    benchmarks in an array.
    """
    labels = array[across].values.tolist() if across in array.dims else []
    if isinstance(threshold, xr.DataArray):
        for dim in threshold.dims:
            check_dim(array, dim, "threshold: dim")
        aligned = threshold.reindex(
            {dim: array[dim] for dim in threshold.dims if dim in threshold.indexes}
        )
        if bool(aligned.isnull().any()):
            raise ValueError(
                "threshold is missing for some labels of the timings; give one for each, as "
                "with threshold.fillna(0.02)"
            )
        rows = aligned.variable.copy(
            data=np.vectorize(check_threshold, otypes=[float])(aligned.values)
        )
        if across in rows.dims:
            return rows, rows.mean(across)
        return xr.Variable(
            (across, *rows.dims), np.broadcast_to(rows.values, (max(len(labels), 1), *rows.shape))
        ), rows
    given: dict[Hashable, float] = {
        label: check_threshold(value) for label, value in dict(threshold).items()
    }
    rest = given.pop(..., 0.0)
    if unknown := [label for label in given if label not in labels]:
        raise ValueError(
            f"threshold names {listed(unknown)}, not found along {across!r}: "
            f"{listed(labels, 5)}; `...` stands for all others"
        )
    return xr.Variable(
        (across,), [given.get(label, rest) for label in labels] or [rest]
    ), xr.Variable((), rest)

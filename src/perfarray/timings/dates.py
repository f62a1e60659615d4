"""Dates of the labels of a dim."""

from typing import Any

import pandas as pd
import xarray as xr


def earliest_dates(stamps: xr.DataArray, dim: str) -> pd.Series:
    """Return the earliest date of every label of a dim, NaT where there is none; a single NaT where dates do not lie along the dim."""
    if dim not in stamps.dims:
        return pd.Series([pd.NaT])
    texts = stamps.transpose(dim, ...).values.reshape(stamps.sizes[dim], -1).astype(str)
    dates = pd.DataFrame(texts).apply(pd.to_datetime, errors="coerce", utc=True, format="ISO8601")
    earliest: pd.Series[Any] = dates.min(axis=1)
    return earliest

"""When labels of a dim were made or measured."""

import pandas as pd
import xarray as xr


def earliest_dates(stamps: xr.DataArray, dim: str) -> pd.Series:
    """Return the earliest date of every label of a dim; NaT where one has none, for all where dates do not lie along it.

    Parameters
    ----------
    stamps : DataArray
        Dates, or texts as ISO 8601 has them.
    dim : str
        The dim whose labels are asked for.
    """
    if dim not in stamps.dims:
        return pd.Series([pd.NaT])
    texts = stamps.transpose(dim, ...).values.reshape(stamps.sizes[dim], -1).astype(str)
    dates: pd.Series = pd.DataFrame(texts).apply(pd.to_datetime, errors="coerce", utc=True, format="ISO8601").min(axis=1)
    return dates

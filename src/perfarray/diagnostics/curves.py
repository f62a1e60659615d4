"""What the picture of measurements in their order shows: which of them count, and the mean of each line."""

import xarray as xr

from perfarray.timings.resolve import Data, choose_metric, resolve


def sequence(times: Data, *, metric: str | None = None) -> xr.Dataset:
    """Say of measurements which of them answers use, and what these are on average.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    Dataset
        `value`, the measurements with their marks, `counted`, the same with NaN where they are marked, and `mean`, the average of what
        counts over the lowest level.
    """
    array, data = choose_metric(times, metric), resolve(times, metric)
    parts = {"value": array, "counted": data.array, "mean": data.array.mean(data.levels[-1])}
    attrs = array.attrs | {"metric": str(array.name or "time"), "levels": " ".join(data.levels)}
    return xr.Dataset({name: part.variable for name, part in parts.items()}, array.coords, attrs)

"""The order of repetitions: as stored, or by a coordinate."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import LEVELS
from perfarray.numerics.types import Integers
from perfarray.timings.resolve import Data, Timings, check_dim, check_names, choose_metric, resolve
from perfarray.timings.validation import listed

# Coordinates along the dim in question that hold the time of a measurement, beside those of kind
# datetime64.
STAMPS = ("date", "datetime", "timestamp", "time_stamp", "started", "commit_date")
STORED = "stored"


class Series(NamedTuple):
    """Timings in the order of one dim: the levels outside it number the series, those inside are averaged.

    `positions` are those of the repetitions as stored.
    """

    data: Timings
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    order: str
    positions: Integers


def in_order(
    times: Data, dim: str, levels: str | tuple[str, ...] | None, metric: Any, order: str | None
) -> Series:
    """Choose the metric and the nest, with `dim` as a level (the outermost if it is not a usual one), and sort along it."""
    array = choose_metric(times, metric, levels or dim)
    check_dim(array, dim)
    if levels is None and dim not in LEVELS:
        levels = (dim, *(level for level in LEVELS if level in array.dims))
    elif levels is not None and dim not in check_names(levels, "levels"):
        raise ValueError(
            f"dim={dim!r} is not one of levels={check_names(levels, 'levels')}; the order is "
            "that of a level"
        )
    data = resolve(times, metric, levels, as_nested=True)
    depth = data.levels.index(dim)
    name = _stamp(data.array, dim, order)
    order_of_values = np.arange(data.array.sizes[dim])
    if name != STORED:
        order_of_values = np.argsort(_moments(data.array.coords[name]), kind="stable")
        data = data._replace(array=data.array.isel({dim: order_of_values}))
    return Series(data, data.levels[:depth], data.levels[depth + 1 :], name, order_of_values)


def _stamp(array: xr.DataArray, dim: str, order: str | None) -> str:
    """Return the name of the coordinate that gives the order along a dim, or `stored`."""
    along = {str(name): label for name, label in array.coords.items() if label.dims == (dim,)}
    if order is not None:
        if order != STORED and (order not in along or _moments(along[order]) is None):
            raise ValueError(
                f"order={order!r} is no complete coordinate along {dim!r} alone; there is "
                f"{listed((STORED, *along))}"
            )
        return order
    named = [name for name in STAMPS if name in along] + [
        name for name, label in along.items() if label.dtype.kind == "M"
    ]
    return next((name for name in named if _moments(along[name]) is not None), STORED)


def _moments(stamps: xr.DataArray) -> Any:
    """Return dates or numbers that can be sorted.

    None for other texts, and where one is missing.
    """
    values = stamps.values
    if values.dtype.kind in "OUT":
        values = pd.to_datetime(
            pd.Series(values.astype(str)), errors="coerce", utc=True, format="ISO8601"
        ).to_numpy()
    return None if pd.isna(values).any() else values

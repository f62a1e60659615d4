"""The order of repetitions: as stored, or by a coordinate."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import ITERATION, LEVELS
from perfarray.numerics.types import Integers
from perfarray.timings.resolve import (
    Data,
    Timings,
    check_dim,
    check_levels,
    check_names,
    choose_metric,
    resolve,
)
from perfarray.timings.validation import listed

# Coordinates along the dim in question that hold the time of a measurement, beside those of kind
# datetime64.
STAMPS = ("date", "datetime", "timestamp", "time_stamp", "started", "commit_date")
STORED = "stored"


class Series(NamedTuple):
    """Timings in the order of one dim.

    Levels outside it number the series, those inside are averaged. `positions` are those of the
    repetitions as stored.
    """

    data: Timings
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    order: str
    positions: Integers

    @property
    def dim(self) -> str:
        """The dim whose repetitions have an order."""
        return self.data.levels[len(self.outer)]


def in_order(
    times: Data,
    dim: str | None,
    levels: str | tuple[str, ...] | None,
    metric: Any,
    order: str | None,
) -> Series:
    """Choose the metric and the nest, and sort the repetitions along `dim`.

    `dim` is the outermost level if it is not a usual one. Default: `iteration`, or the only level.
    """
    array = choose_metric(times, metric, levels or dim)
    if dim is None:
        nest = check_levels(array, levels)
        if ITERATION not in nest and len(nest) > 1:
            raise ValueError(f"Which repetitions have an order? Say so with dim=: {listed(nest)}")
        dim = ITERATION if ITERATION in nest else nest[0]
    check_dim(array, dim)
    if levels is None and dim not in LEVELS:
        levels = (dim, *(level for level in LEVELS if level in array.dims))
    elif levels is not None and dim not in check_names(levels, "levels"):
        raise ValueError(
            f"dim={dim!r} is not one of levels={check_names(levels, 'levels')}; the order is "
            "that of a level"
        )
    data = resolve(times, metric, levels, as_nested=True)
    depth, positions = data.levels.index(dim), np.arange(data.array.sizes[dim])
    along = {str(name): label for name, label in data.array.coords.items() if label.dims == (dim,)}
    if order is None:
        stamps = [name for name in STAMPS if name in along]
        stamps += [name for name, label in along.items() if label.dtype.kind == "M"]
        order = next((name for name in stamps if _moments(along[name]) is not None), STORED)
    elif order != STORED and (order not in along or _moments(along[order]) is None):
        raise ValueError(
            f"order={order!r} is no complete coordinate along {dim!r} alone; there is "
            f"{listed((STORED, *along))}"
        )
    if order != STORED:
        positions = np.argsort(_moments(along[order]), kind="stable")
        data = data._replace(array=data.array.isel({dim: positions}))
    return Series(data, data.levels[:depth], data.levels[depth + 1 :], order, positions)


def _moments(stamps: xr.DataArray) -> Any:
    """Return dates or numbers that can be sorted; None for other texts, or where one is missing."""
    values = stamps.values
    if values.dtype.kind in "OUT":
        values = pd.to_datetime(
            pd.Series(values.astype(str)), errors="coerce", utc=True, format="ISO8601"
        ).to_numpy()
    return None if pd.isna(values).any() else values

"""What mixtures of several metrics together are asked for: the component a run comes from, and runs drawn."""

from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION, METRIC
from perfarray.mixtures.numerics.joint import classes, draw, present
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.resolve import resolve

CORRELATION = "correlation"
METRIC_2 = "metric_2"
ALONG = "component"

CORE = ((ALONG,), (ALONG, METRIC), (ALONG, METRIC), (ALONG, METRIC, METRIC_2))
"""Dims of the parameters."""


def is_joint(dataset: xr.Dataset) -> bool:
    """Return whether a mixture is of several metrics together."""
    return CORRELATION in dataset and METRIC in dataset.dims


def covariance_parts(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, means, standard deviations and correlations."""
    drop = ("units", "better", METRIC, METRIC_2)
    return [dataset[name].drop_vars(drop, errors="ignore") for name in ("weight", "mean", "standard_deviation", CORRELATION)]


def assigned(dataset: xr.Dataset, times: Any) -> xr.DataArray:
    """Return the component each run most probably comes from."""
    names = [str(name) for name in dataset[METRIC].values]
    if isinstance(times, xr.Dataset):
        times = xr.concat(
            [resolve(times, name).array.drop_attrs() for name in names], METRIC, coords="minimal", compat="override", join="outer"
        )
    elif not (isinstance(times, xr.DataArray) and METRIC in times.dims):
        raise ValueError(f"the mixture is of {', '.join(names)} together: give a Dataset that has them, or a DataArray along {METRIC!r}")
    elif METRIC in times.coords:
        times = times.sel({METRIC: names})
    runs = times.astype(float).drop_vars(METRIC, errors="ignore")
    outputs = {"component": Output((), "1")}
    return apply(
        lambda *values: (classes(values[:-1], values[-1]),), *covariance_parts(dataset), runs, core=[*CORE, (METRIC,)], outputs=outputs
    )["component"]  # fmt: skip


def sampled(dataset: xr.Dataset, number: int, cells: xr.DataArray, key: tuple[int, int]) -> xr.DataArray:
    """Draw runs of all metrics together."""

    def kernel(*values: Any) -> tuple[Floats, ...]:
        *parts, keys = values
        shape = np.shape(keys)
        ends = [part.shape[part.ndim - len(dims) :] for part, dims in zip(parts, CORE, strict=True)]
        rows = [np.broadcast_to(part, (*shape, *end)).reshape(-1, *end) for part, end in zip(parts, ends, strict=True)]
        found = np.full((len(rows[0]), rows[1].shape[-1], number), np.nan)
        for row, cell in enumerate(np.asarray(keys).ravel().tolist()):  # one cell at a time, since each has a stream of its own
            if (rows[0][row] > 0).any():
                found[row] = draw(present(*(part[row] for part in rows)), number, Streams(key).generator(cell, SAMPLES))
        return (found.reshape(*shape, *found.shape[1:]),)

    coords = {METRIC: dataset[METRIC].values, EXECUTION: range(number)}
    found = apply(
        kernel, *covariance_parts(dataset), cells, core=[*CORE, ()], outputs={"runs": Output((METRIC, EXECUTION))}, coords=coords
    )["runs"]
    kept = {name: dataset[name] for name in ("units", "better") if name in dataset.coords}
    return found.assign_coords(kept)

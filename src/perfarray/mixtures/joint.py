"""Several metrics of a run in one mixture of normal distributions over all of them."""

from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION, METRIC
from perfarray.mixtures.numerics.joint import classes, draw, present
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.resolve import resolve

COMPONENT, CORRELATION, METRIC_2 = "component", "correlation", "metric_2"

# Dims of weights, means, standard deviations and correlations.
PARAMETER_DIMS = (
    (COMPONENT,),
    (COMPONENT, METRIC),
    (COMPONENT, METRIC),
    (COMPONENT, METRIC, METRIC_2),
)


def is_joint(dataset: xr.Dataset) -> bool:
    """Return whether a mixture is of several metrics together."""
    return CORRELATION in dataset and METRIC in dataset.dims


def joint_parameters(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, means, standard deviations and correlations."""
    drop = ("units", "better", METRIC, METRIC_2)
    return [
        dataset[name].drop_vars(drop, errors="ignore")
        for name in ("weight", "mean", "standard_deviation", CORRELATION)
    ]


def assign_jointly(dataset: xr.Dataset, times: Any) -> xr.DataArray:
    """Return the component each run most probably comes from."""
    names = [str(name) for name in dataset[METRIC].values]
    if isinstance(times, xr.Dataset):
        arrays = [resolve(times, name).array.drop_attrs() for name in names]
        times = xr.concat(arrays, METRIC, coords="minimal", compat="override", join="outer")
    elif not (isinstance(times, xr.DataArray) and METRIC in times.dims):
        raise ValueError(
            f"the mixture is of {', '.join(names)} together: give a Dataset that has them, or "
            f"a DataArray along {METRIC!r}"
        )
    elif METRIC in times.coords:
        times = times.sel({METRIC: names})
    runs = times.astype(float).drop_vars(METRIC, errors="ignore")

    def kernel(*values: Any) -> tuple[Floats]:
        return (classes(values[:-1], values[-1]),)

    core = [*PARAMETER_DIMS, (METRIC,)]
    return apply(
        kernel, *joint_parameters(dataset), runs, core=core, outputs={COMPONENT: Output((), "1")}
    )[COMPONENT]


def sample_jointly(
    dataset: xr.Dataset, number: int, cells: xr.DataArray, key: tuple[int, int]
) -> xr.DataArray:
    """Draw runs of all metrics together."""

    def kernel(*values: Any) -> tuple[Floats, ...]:
        *parameters, keys = values
        batch = np.shape(keys)
        tails = [
            column.shape[column.ndim - len(dims) :]
            for column, dims in zip(parameters, PARAMETER_DIMS, strict=True)
        ]
        rows = [
            np.broadcast_to(column, (*batch, *tail)).reshape(-1, *tail)
            for column, tail in zip(parameters, tails, strict=True)
        ]
        runs = np.full((len(rows[0]), rows[1].shape[-1], number), np.nan)
        for row, cell in enumerate(
            np.asarray(keys).ravel().tolist()
        ):  # one cell at a time: each has a stream of its own
            if (rows[0][row] > 0).any():
                runs[row] = draw(
                    present(*(column[row] for column in rows)),
                    number,
                    Streams(key).generator(cell, SAMPLES),
                )
        return (runs.reshape(*batch, *runs.shape[1:]),)

    runs = apply(
        kernel,
        *joint_parameters(dataset),
        cells,
        core=[*PARAMETER_DIMS, ()],
        outputs={"runs": Output((METRIC, EXECUTION))},
        coords={METRIC: dataset[METRIC].values, EXECUTION: range(number)},
    )["runs"]
    return runs.assign_coords(
        {name: dataset[name] for name in ("units", "better") if name in dataset.coords}
    )

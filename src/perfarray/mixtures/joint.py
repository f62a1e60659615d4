"""Several metrics of a run in one mixture of normal distributions over all of them: fitted, assigned to runs, and sampled."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION, METRIC, UNKNOWN
from perfarray.mixtures.numerics.fit import EQUAL, UNEQUAL, FitRequest, weighted_samples
from perfarray.mixtures.numerics.joint import classes, draw, fit_joint, present
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import single_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.units import cells_note, describe_value, value_depth

COMPONENT, CORRELATION, METRIC_2 = "component", "correlation", "metric_2"

# Dims of weights, means, standard deviations and correlations.
PARAMETER_DIMS = ((COMPONENT,), (COMPONENT, METRIC), (COMPONENT, METRIC), (COMPONENT, METRIC, METRIC_2))


def fit_jointly(
    times: Data,
    request: FitRequest,
    metric: Any,
    value: str | None,
    levels: str | tuple[str, ...] | None,
    progress: bool,
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Fit one mixture of several metrics to every cell; `attrs` describe the fit. Returns the Dataset of `fit_mixture`."""
    names = [] if metric is None or isinstance(metric, str) else check_names(metric, METRIC)
    if len(names) < 2 or not isinstance(times, xr.Dataset):
        raise ValueError(f"metric={metric!r}: joint=True fits several metrics of a Dataset together, as in metric=['time', 'energy']")
    if tuple(request.families) != ("normal",):
        raise ValueError(f"distribution={' '.join(request.families)!r}: joint=True fits normal components")
    metrics = [resolve(single_metric(times, name), name, levels) for name in names]
    first = metrics[0]
    for name, data in zip(names, metrics, strict=True):
        if data.levels != first.levels:
            raise ValueError(
                f"{name} has the levels {', '.join(data.levels)} and {names[0]} has {', '.join(first.levels)}: "
                "metrics measured together have the same; average over what one of them has more"
            )
    depth, most = value_depth(first, value), max(request.numbers)
    bar = cells_bar(first.array.count(first.levels), "fitting mixtures", show=progress)
    request = request if bar is None else replace(request, progress=bar.update)
    kernel = partial(_fit_cells, levels=len(first.levels), depth=depth, request=request, most=most)
    labels, units = np.array(names, object), [data.units for data in metrics]
    common = units[0] if len(set(units)) == 1 else None
    result = apply(
        kernel, *(data.array for data in metrics), core=[first.levels] * len(names), outputs=_outputs(common or ""),
        coords={COMPONENT: range(1, most + 1), METRIC: labels, METRIC_2: labels},
        attrs=describe_value(first, depth) | attrs | {"metric": " ".join(names)} | ({"units": common} if common else {}),
    )  # fmt: skip
    if bar is not None:
        bar.close()
    better = [data.better for data in metrics]
    result = result.assign_coords(units=(METRIC, np.array(units, object)), better=(METRIC, np.array(better, object)))
    return with_notes(result, *dict.fromkeys(note for data in metrics for note in data.notes), checks=("fit_mixture", "joint"))


def _outputs(units: str) -> dict[str, Output]:
    along = (COMPONENT, METRIC)
    return {
        **outputs("1", (COMPONENT,), weight="share of the runs"),
        **outputs(units, along, mean="", standard_deviation=""),
        CORRELATION: Output((*along, METRIC_2), "1", long_name="of two metrics inside a component"),
        "family": Output((), "", object, "distribution of a component"),
        **outputs(n_components=""),
        "covariance": Output((), "", object, "covariances of the components"),
        **outputs(loglik="log-likelihood", bic="2 log-likelihood - parameters log n"),
        **outputs(n="runs", n_incomplete="runs without one of the metrics", n_iterations="steps of EM"),
        "converged": Output((), "", bool),
        "floored": Output((), "", bool, "a component lies at the variance floor"),
        **outputs(n_floored="fits with a component at the variance floor"),
    }


def _fit_cells(*values: Floats, levels: int, depth: int, request: FitRequest, most: int) -> tuple[Any, ...]:
    """Return the columns of the fits of every cell in the order of the outputs."""
    metrics = np.broadcast_arrays(*values)
    missing = np.isnan(metrics)
    runs = [values_by_unit(np.where(missing.any(axis=0), np.nan, metric), levels, depth) for metric in metrics]
    partial_runs = values_by_unit(np.where(missing.all(axis=0), np.nan, 0.0), levels, depth)
    samples = np.stack([weighted_samples(metric)[0] for metric in runs], axis=-1)
    weights = weighted_samples(runs[0])[1]
    size, k = len(samples), len(runs)
    n = (~np.isnan(samples[..., 0])).sum(axis=-1).astype(float)
    n_incomplete = (~np.isnan(partial_runs.reshape(size, -1))).sum(axis=-1) - n
    weight, mean, deviation = np.zeros((size, most)), np.full((size, most, k), np.nan), np.full((size, most, k), np.nan)
    correlation = np.full((size, most, k, k), np.nan)
    family, covariance = np.full(size, UNKNOWN, object), np.full(size, UNKNOWN, object)
    n_components, loglik, bic, n_iterations, n_floored = (np.full(size, np.nan) for _ in range(5))
    converged, floored = np.zeros(size, bool), np.zeros(size, bool)
    for row, points in enumerate(samples):  # cell by cell: EM takes all components of one at once
        complete = ~np.isnan(points[:, 0])
        shares = np.ones(int(n[row])) if weights is None else weights[row, complete]
        answer = fit_joint(points[complete], shares, request) if n[row] > 1 else None
        if request.progress is not None:
            request.progress(1)
        if answer is None:
            continue
        fit, n_floored[row] = answer
        number, spread = len(fit.weights), np.sqrt(np.diagonal(fit.covariances, axis1=1, axis2=2))
        weight[row, :number], mean[row, :number], deviation[row, :number] = fit.weights, fit.means, spread
        correlation[row, :number] = fit.covariances / (spread[:, :, None] * spread[:, None])
        family[row], covariance[row], n_components[row] = "normal", EQUAL if fit.equal else UNEQUAL, number
        loglik[row], bic[row], n_iterations[row] = fit.loglik, fit.bic(shares.sum()), fit.n_iterations
        converged[row], floored[row] = fit.converged, fit.floored
    columns = (
        weight, mean, deviation, correlation, family, n_components, covariance, loglik, bic, n, n_incomplete, n_iterations, converged,
        floored, n_floored,
    )  # fmt: skip
    return tuple(column.reshape((*runs[0].shape[:-2], *column.shape[1:])) for column in columns)


def is_joint(dataset: xr.Dataset) -> bool:
    """Return whether a mixture is of several metrics together."""
    return CORRELATION in dataset and METRIC in dataset.dims


def joint_parameters(dataset: xr.Dataset) -> list[xr.DataArray]:
    """Return weights, means, standard deviations and correlations."""
    drop = ("units", "better", METRIC, METRIC_2)
    return [dataset[name].drop_vars(drop, errors="ignore") for name in ("weight", "mean", "standard_deviation", CORRELATION)]


def assign_jointly(dataset: xr.Dataset, times: Any) -> xr.DataArray:
    """Return the component each run most probably comes from."""
    names = [str(name) for name in dataset[METRIC].values]
    if isinstance(times, xr.Dataset):
        arrays = [resolve(times, name).array.drop_attrs() for name in names]
        times = xr.concat(arrays, METRIC, coords="minimal", compat="override", join="outer")
    elif not (isinstance(times, xr.DataArray) and METRIC in times.dims):
        raise ValueError(f"the mixture is of {', '.join(names)} together: give a Dataset that has them, or a DataArray along {METRIC!r}")
    elif METRIC in times.coords:
        times = times.sel({METRIC: names})
    runs = times.astype(float).drop_vars(METRIC, errors="ignore")

    def kernel(*values: Any) -> tuple[Floats]:
        return (classes(values[:-1], values[-1]),)

    core = [*PARAMETER_DIMS, (METRIC,)]
    return apply(kernel, *joint_parameters(dataset), runs, core=core, outputs={COMPONENT: Output((), "1")})[COMPONENT]


def sample_jointly(dataset: xr.Dataset, number: int, cells: xr.DataArray, key: tuple[int, int]) -> xr.DataArray:
    """Draw runs of all metrics together."""

    def kernel(*values: Any) -> tuple[Floats, ...]:
        *parameters, keys = values
        batch = np.shape(keys)
        tails = [column.shape[column.ndim - len(dims) :] for column, dims in zip(parameters, PARAMETER_DIMS, strict=True)]
        rows = [np.broadcast_to(column, (*batch, *tail)).reshape(-1, *tail) for column, tail in zip(parameters, tails, strict=True)]
        runs = np.full((len(rows[0]), rows[1].shape[-1], number), np.nan)
        for row, cell in enumerate(np.asarray(keys).ravel().tolist()):  # one cell at a time: each has a stream of its own
            if (rows[0][row] > 0).any():
                runs[row] = draw(present(*(column[row] for column in rows)), number, Streams(key).generator(cell, SAMPLES))
        return (runs.reshape(*batch, *runs.shape[1:]),)

    runs = apply(
        kernel, *joint_parameters(dataset), cells, core=[*PARAMETER_DIMS, ()], outputs={"runs": Output((METRIC, EXECUTION))},
        coords={METRIC: dataset[METRIC].values, EXECUTION: range(number)},
    )["runs"]  # fmt: skip
    return runs.assign_coords({name: dataset[name] for name in ("units", "better") if name in dataset.coords})


@check("joint")
def joint_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells with runs that lack a metric, and those without a fit."""
    n, lacking = result["n"], result["n_incomplete"]
    metrics = str(result.attrs["metric"]).replace(" ", " and ")
    incomplete = f"{{cells}} have runs without {metrics} together, which are left out (n_incomplete)"
    without = f"{{cells}} have no joint fit: runs of {metrics} that are too few, constant, or proportional to each other"
    return (
        cells_note("incomplete_runs", incomplete, lacking, (lacking > 0).values),
        cells_note("no_joint_fit", without, n, (result["n_components"].isnull() & (n > 0)).values),
    )

"""Several metrics of a run described together: one mixture of normal distributions over all of them."""

from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import METRIC, UNKNOWN
from perfarray.mixtures.correlated import CORRELATION, METRIC_2
from perfarray.mixtures.model import COMPONENT, NORMAL
from perfarray.mixtures.numerics.fit import EQUAL, UNEQUAL, FitRequest, weighted_samples
from perfarray.mixtures.numerics.joint import fit_joint
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import only
from perfarray.timings.notes import Note, check, noted
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.units import cells_note, describe_value, value_place


def fitted_jointly(
    times: Data, request: FitRequest, metric: Any, asked: dict[str, Any], progress: bool, attrs: dict[str, Any]
) -> xr.Dataset:
    """Fit one mixture of several metrics to every cell.

    Parameters
    ----------
    times : Dataset
        Timings with several metrics, of the same levels.
    request : FitRequest
        What is tried.
    metric : sequence of str
        The metrics.
    asked : dict
        `value` and `levels`, as `fit_mixture` takes them.
    progress : bool
        Whether a bar counts cells.
    attrs : dict
        What the result says of how it was fitted.

    Returns
    -------
    Dataset
        As `fit_mixture` says.
    """
    names = [] if metric is None or isinstance(metric, str) else check_names(metric, METRIC)
    if len(names) < 2 or not isinstance(times, xr.Dataset):
        raise ValueError(f"metric={metric!r}: joint=True fits several metrics of a Dataset together, as in metric=['time', 'energy']")
    if tuple(request.families) != (NORMAL,):
        raise ValueError(f"distribution={' '.join(request.families)!r}: joint=True fits normal components")
    every = [resolve(only(times, name), name, asked["levels"]) for name in names]
    levels = every[0].levels
    for name, data in zip(names, every, strict=True):
        if data.levels != levels:
            raise ValueError(
                f"{name} has the levels {', '.join(data.levels)} and {names[0]} has {', '.join(levels)}: metrics measured together have the"
                " same; average over what one of them has more"
            )
    place, most = value_place(every[0], asked["value"]), max(request.numbers)
    bar = cells_bar(every[0].array.count(levels), "fitting mixtures", show=progress)
    counting = request if bar is None else replace(request, after=bar.update)
    kernel = partial(_fit_cells, levels=len(levels), place=place, request=counting, most=most)
    coords = {COMPONENT: range(1, most + 1), METRIC: np.array(names, object), METRIC_2: np.array(names, object)}
    units = [data.units for data in every]
    result = apply(
        kernel, *(data.array for data in every), core=[levels] * len(names), outputs=_outputs(units), coords=coords,
        attrs=describe_value(every[0], place) | attrs | {"metric": " ".join(names)} | ({"units": units[0]} if len(set(units)) == 1 else {}),
    )  # fmt: skip
    if bar is not None:
        bar.close()
    for key, found in (("units", units), ("better", [data.better for data in every])):
        result = result.assign_coords({key: (METRIC, np.array(found, object))})
    notes = {note: None for data in every for note in data.notes}
    return noted(result, *notes, checks=("fit_mixture", "joint"))


def _outputs(units: list[str]) -> dict[str, Output]:
    """Return the variables of the result."""
    along, own = (COMPONENT, METRIC), units[0] if len(set(units)) == 1 else ""
    return {
        **outputs("1", (COMPONENT,), weight="share of the runs"),
        **outputs(own, along, mean="", standard_deviation=""),
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


def _fit_cells(*values: Floats, levels: int, place: int, request: FitRequest, most: int) -> tuple[Any, ...]:
    """Return the parts of the fits of every cell in the order of the outputs."""
    every = np.broadcast_arrays(*values)
    complete = ~np.isnan(every).any(axis=0)
    runs = [values_by_unit(np.where(complete, own, np.nan), levels, place) for own in every]
    some = values_by_unit(np.where(np.isnan(every).all(axis=0), np.nan, 0.0), levels, place)
    batch, k = runs[0].shape[:-2], len(runs)
    samples = np.stack([own.reshape(prod(batch), -1) for own in runs], axis=-1)
    counts = weighted_samples(runs[0])[1]
    shares = np.ones(samples.shape[:-1]) if counts is None else counts
    found = _blank(len(samples), most, k)
    for row, points in enumerate(samples):  # cell by cell: EM takes all components of one at once
        there = ~np.isnan(points[:, 0])
        found["n"][row] = there.sum()
        found["n_incomplete"][row] = (~np.isnan(some.reshape(len(samples), -1)[row])).sum() - there.sum()
        fit = fit_joint(points[there], shares[row, there], request) if there.sum() > 1 else None
        if request.after is not None:
            request.after(1)
        if fit is None:
            continue
        own, floored = fit
        number, deviations = len(own.weights), np.sqrt(np.diagonal(own.covariances, axis1=1, axis2=2))
        found["weight"][row, :number], found["mean"][row, :number] = own.weights, own.means
        found["standard_deviation"][row, :number] = deviations
        found[CORRELATION][row, :number] = own.covariances / (deviations[:, :, None] * deviations[:, None])
        found["family"][row], found["covariance"][row] = NORMAL, EQUAL if own.equal else UNEQUAL
        said = (number, own.loglik, own.bic(shares[row, there].sum()), own.n_iterations, own.converged, own.floored, floored)
        for name, value in zip(("n_components", "loglik", "bic", "n_iterations", "converged", "floored", "n_floored"), said, strict=True):
            found[name][row] = value
    return tuple(part.reshape((*batch, *part.shape[1:])) for part in found.values())


def _blank(size: int, most: int, k: int) -> dict[str, Any]:
    """Return room for what is found, in the order of the outputs."""
    unknown = np.nan
    return {
        "weight": np.zeros((size, most)),
        "mean": np.full((size, most, k), unknown),
        "standard_deviation": np.full((size, most, k), unknown),
        CORRELATION: np.full((size, most, k, k), unknown),
        "family": np.full(size, UNKNOWN, object),
        "n_components": np.full(size, unknown),
        "covariance": np.full(size, UNKNOWN, object),
        **{name: np.full(size, unknown) for name in ("loglik", "bic", "n", "n_incomplete", "n_iterations")},
        **{name: np.zeros(size, bool) for name in ("converged", "floored")},
        "n_floored": np.full(size, unknown),
    }


@check("joint")
def joint_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells with runs that lack a metric, and those without a fit."""
    n, lacking = result["n"], result["n_incomplete"]
    unknown = result["n_components"].isnull() & (n > 0)
    metrics = str(result.attrs["metric"]).replace(" ", " and ")
    incomplete = f"{{cells}} have runs without {metrics} together, which are left out (n_incomplete)"
    without = f"{{cells}} have no joint fit: runs of {metrics} that are too few, constant, or proportional to each other"
    return (
        cells_note("incomplete_runs", incomplete, lacking, (lacking > 0).values),
        cells_note("no_joint_fit", without, n, unknown.values),
    )

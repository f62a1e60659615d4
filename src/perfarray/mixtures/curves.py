"""What the pictures of runs and their mixtures show: densities, distributions, histograms, quartiles."""

from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import METRIC
from perfarray.mixtures.correlated import METRIC_2, covariance_parts, is_joint
from perfarray.mixtures.model import COMPONENT, mixture_of
from perfarray.mixtures.numerics.curves import component_densities, largest_gap, places
from perfarray.mixtures.numerics.joint import classes, ellipse
from perfarray.mixtures.numerics.joint import present as present_parts
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.scale import NAMES, Scaled, distribution
from perfarray.numerics.curves import histogram, kernel_density, weighted_quantiles
from perfarray.numerics.levels import unit_weights, values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.units import describe_value, value_place
from perfarray.timings.validation import check_choice, check_count

KINDS = ("density", "cdf")

DISTANCES, REPLICATE = "null_distance", "replicate"

HELD = (0.5, 0.95)
"""Shares of a component that its contours hold."""

VIOLIN_PLACES = 200
"""Places at which the density of a violin is estimated."""


class Runs(NamedTuple):
    """The runs of one cell in ascending order, and their weights, with which every unit counts the same."""

    values: Floats
    weights: Floats


def mixture_curves(result: xr.Dataset, *, kind: str = "density", times: Data | None = None, bins: int | str = "auto") -> xr.Dataset:
    """Return the curves of one mixture, and of the runs it was fitted to.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(...).to_dataset()` gives, or a selection of it: one cell.
    kind : {"density", "cdf"}
        Which picture is drawn: densities over a histogram of the runs, or distributions, which needs the runs.
    times : DataArray or Dataset, optional
        The timings that were fitted; default: the mixture alone.
    bins : int or str
        Bins of the histogram, as NumPy takes them.

    Returns
    -------
    Dataset
        Of metrics fitted together what `joint_curves` returns. Else along `place`: `x`, `density`, `distribution`, and `component_density`
        (component, place) of components that have one; along `point`: `constant`, the components without spread. With runs, along `run` in
        ascending order: `run` and `reached`, the share of the runs
        up to it; along `edge` and `bin` the histogram, `edges` and `height` (area 1); and where the distributions lie farthest
        apart, `gap_at`, `gap_step` of the runs and `gap_fitted` of the mixture.

    Raises
    ------
    ValueError
        An unknown kind; more than one cell, or one without a mixture; no timings for the distribution.
    """
    check_choice(kind, "kind", KINDS)
    if is_joint(result):
        return joint_curves(result, times=times)
    cell = _one_cell(result)
    present = (cell["weight"] > 0).values
    own = mixture_of(cell.isel({COMPONENT: present}))
    runs = Runs(np.empty(0), np.empty(0)) if times is None else _runs_of(times, cell)
    if kind == "cdf" and not runs.values.size:
        raise ValueError("kind='cdf' compares a mixture with its runs; give the timings with times=")
    wide = own.mixture.deviations > 0
    x = places(own, runs.values)
    parts = component_densities(Scaled(Mixture(*(part[wide] for part in own.mixture)), own.family), x)
    curves: dict[str, Any] = {
        "x": ("place", x),
        "density": ("place", parts.sum(axis=0)),
        "distribution": ("place", distribution(own, x)),
        "component_density": ((COMPONENT, "place"), parts),
        "constant": ("point", cell["mean"].values[present][~wide]),
    }
    curves |= _of_runs(runs, own, bins) if runs.values.size else {}
    said = {name: result[name].variable for name in ("n_components", "n") if name in result}
    units = str(cell.attrs.get("units", cell["mean"].attrs.get("units", "1")))
    labels = {name: coordinate for name, coordinate in result.coords.items() if COMPONENT not in coordinate.dims}
    return xr.Dataset(curves | said, labels, cell.attrs | {"units": units, "kind": kind, "family": NAMES[int(own.family)]})


def joint_curves(result: xr.Dataset, *, times: Data | None = None) -> xr.Dataset:
    """Return the contours of one mixture of several metrics together, of which the first two are drawn, and the runs it was fitted to.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(..., joint=True).to_dataset()` gives, or a selection of it: one cell.
    times : Dataset, optional
        The timings that were fitted; default: the mixture alone.

    Returns
    -------
    Dataset
        Along `component`: `weight`; along `metric` too `center`; and `contour` (component, probability, metric, place), the ellipses that
        hold such shares of a component. With runs, along `run`: `run` (run, metric), and `assigned`, the component each most probably comes
        from.

    Raises
    ------
    ValueError
        More than one cell, or one without a mixture.
    """
    cell = _one_cell(result)
    drawn = cell.isel({COMPONENT: (cell["weight"] > 0).values, METRIC: slice(2), METRIC_2: slice(2)})
    weights, means, covariances = present_parts(*(part.values for part in covariance_parts(drawn)))
    contours = [[ellipse(*own, share) for share in HELD] for own in zip(means, covariances, strict=True)]
    curves: dict[str, Any] = {
        "weight": (COMPONENT, weights),
        "center": ((COMPONENT, METRIC), means),
        "contour": ((COMPONENT, "probability", METRIC, "place"), np.array(contours)),
    }
    if times is not None:
        names = [str(name) for name in cell[METRIC].values]
        every = [_cell_runs(times, cell, name) for name in names]
        points = np.stack([np.where(np.isnan(every).any(axis=0), np.nan, own).ravel() for own in every], axis=-1)
        points = points[~np.isnan(points).any(axis=-1)]
        assigned = classes([part.values for part in covariance_parts(cell)], points)
        curves |= {"run": (("run", METRIC), points[:, :2]), "assigned": ("run", assigned)}
    said = {name: result[name].variable for name in ("n_components", "n") if name in result}
    labels = {name: coordinate for name, coordinate in drawn.coords.items() if coordinate.dims == (METRIC,)}
    labels |= {name: coordinate for name, coordinate in result.coords.items() if set(coordinate.dims) <= set(result["n_components"].dims)}
    return xr.Dataset(curves | said, labels | {"probability": list(HELD)}, cell.attrs | {"kind": "contours"})


def _one_cell(result: xr.Dataset) -> xr.Dataset:
    """Return the one mixture of a result."""
    dims = list(result["n_components"].dims)
    several = [str(dim) for dim in dims if result.sizes[dim] > 1]
    if several:
        example = ", ".join(f"{dim}={str(result[dim].values[0])!r}" for dim in several)
        raise ValueError(
            f"one mixture is drawn at a time; select one label along {', '.join(several)}, as in .sel({example}),"
            f" or draw them beside each other: plot(col={several[0]!r}, col_wrap=4)"
        )
    cell = result.squeeze(dims).compute()
    if not (cell["weight"] > 0).any():
        raise ValueError("nothing to draw: the cell has no mixture, since it has no measured value or no fit")
    return cell


def _of_runs(runs: Runs, own: Scaled, bins: int | str) -> dict[str, Any]:
    """Return what is drawn of runs."""
    reached = runs.weights.cumsum()
    height, edges = np.histogram(runs.values, np.histogram_bin_edges(runs.values, bins), weights=runs.weights, density=True)
    drawn = {"run": ("run", runs.values), "reached": ("run", reached), "edges": ("edge", edges), "height": ("bin", height)}
    gap = largest_gap(own, runs.values, reached)
    return drawn | {"gap_at": gap.x, "gap_step": gap.step, "gap_fitted": gap.fitted}


def _runs_of(times: Data, cell: xr.Dataset) -> Runs:
    """Return the runs that a mixture was fitted to."""
    metric = str(cell.attrs["metric"]) if isinstance(times, xr.Dataset) and "metric" in cell.attrs else None
    runs = _cell_runs(times, cell, metric)
    measured = ~np.isnan(runs)
    values, weights = runs[measured], unit_weights(runs)[measured]
    order = np.argsort(values, kind="stable")
    return Runs(values[order], weights[order])


def _cell_runs(times: Data, cell: xr.Dataset, metric: str | None) -> Floats:
    """Return the runs of a metric that a mixture was fitted to, shape (unit, run)."""
    asked = [level for level in str(cell.attrs.get("levels", "")).split() if level in times.dims]
    data = resolve(times, metric, tuple(asked) or None)
    array, levels = data.array, data.levels
    others = [dim for dim in array.dims if dim not in levels]
    chosen = {dim: cell[dim].item() for dim in others if dim in cell.coords and array.sizes[dim] > 1}
    own = array.sel(chosen).squeeze([dim for dim in others if array.sizes[dim] == 1])
    left = [str(dim) for dim in own.dims if dim not in levels]
    if left:
        raise ValueError(f"times has dims that the mixture has not: {', '.join(left)}; select one label of each")
    value = cell.attrs.get("value")
    place = levels.index(value) if value in levels else len(levels) - 1
    return values_by_unit(own.transpose(*levels).values, len(levels), place)


def violins(times: Data, *, value: str | None = None, metric: str | None = None) -> xr.Dataset:
    """Return the densities and the quartiles of the runs of every cell.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast. Each outermost unit has equal weight.
    value : str, optional
        The level whose repetitions are runs, those of lower levels averaged; default: `execution`, else the lowest.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    Dataset
        Along `place`, from the least run to the largest: `x` and `density` (Gaussian kernels by Scott's rule; NaN where all runs are one
        value); and `q1`, `median` and `q3`.

    Raises
    ------
    ValueError
        Unknown levels, value or metric; no cells.
    """
    data, place = _drawn_runs(times, value, metric)
    named = outputs(data.units, ("place",), x="") | outputs("", ("place",), density="") | outputs(data.units, q1="", median="", q3="")
    kernel = partial(_violin_of_cells, levels=len(data.levels), place=place)
    attrs = describe_value(data, place) | {"units": data.units}
    return apply(kernel, data.array, core=[data.levels], outputs=named, coords={"place": range(VIOLIN_PLACES)}, attrs=attrs)


def overlaid(times: Data, *, kind: str = "density", value: str | None = None, metric: str | None = None) -> xr.Dataset:
    """Return the densities of the runs of every cell, or the runs in ascending order and the share of them up to each.

    Parameters
    ----------
    times, value, metric
        As for `violins`.
    kind : {"density", "cdf"}
        What is drawn.

    Returns
    -------
    Dataset
        What `violins` returns; or along `run`: `x` and `reached`, NaN behind the last run; and `median`.

    Raises
    ------
    ValueError
        An unknown kind; and as `violins`.
    """
    check_choice(kind, "kind", KINDS)
    if kind == "density":
        return violins(times, value=value, metric=metric)
    data, place = _drawn_runs(times, value, metric)
    named = outputs(data.units, ("run",), x="") | outputs("1", ("run",), reached="") | outputs(data.units, median="")
    kernel = partial(_steps_of_cells, levels=len(data.levels), place=place)
    number = prod(data.array.sizes[level] for level in data.levels[: place + 1])
    attrs = describe_value(data, place) | {"units": data.units}
    return apply(kernel, data.array, core=[data.levels], outputs=named, coords={"run": range(number)}, attrs=attrs)


def _drawn_runs(times: Data, value: str | None, metric: str | None) -> tuple[Timings, int]:
    """Return the timings, and which of their levels holds the runs."""
    data = resolve(times, metric)
    return data, value_place(data, value)


def _steps_of_cells(values: Floats, *, levels: int, place: int) -> tuple[Floats, ...]:
    """Return runs in ascending order, the weight up to each, and the median."""
    runs, weights = _flat_runs(values, levels, place)
    order = np.argsort(runs, axis=-1)
    ordered = np.take_along_axis(runs, order, axis=-1)
    reached = np.nan_to_num(np.take_along_axis(weights, order, axis=-1)).cumsum(axis=-1)
    return ordered, np.where(np.isnan(ordered), np.nan, reached), *weighted_quantiles(runs, weights, (0.5,))


def _flat_runs(values: Floats, levels: int, place: int) -> tuple[Floats, Floats]:
    """Return the runs of cells and their weights, shape (..., run)."""
    runs = values_by_unit(values, levels, place)
    flat, weights = (part.reshape((*runs.shape[:-2], -1)) for part in (runs, unit_weights(runs)))
    return flat, weights


def _violin_of_cells(values: Floats, *, levels: int, place: int) -> tuple[Floats, ...]:
    """Return densities and quartiles."""
    flat, shares = _flat_runs(values, levels, place)
    smooth = kernel_density(flat, VIOLIN_PLACES, weights=shares)
    return *smooth, *weighted_quantiles(flat, shares, (0.25, 0.5, 0.75))


def distance_histograms(result: xr.Dataset, *, bins: int = 40) -> xr.Dataset:
    """Count the distances of the samples drawn for every cell in bins.

    Parameters
    ----------
    result : Dataset
        What `goodness_of_fit` returned with `distribution=True`, or a selection of it.
    bins : int
        Bins of a histogram.

    Returns
    -------
    Dataset
        `edges` along `edge`, `counts` along `bin` (NaN where nothing was drawn), and what else the result has.
    """
    number = check_count(bins, "bins")
    named = outputs("1", ("edge",), edges="") | outputs("1", ("bin",), counts="")
    labels = {"edge": range(number + 1), "bin": range(number)}
    found = apply(lambda drawn: histogram(drawn, number), result[DISTANCES], core=[[REPLICATE]], outputs=named, coords=labels)
    return result.drop_dims(REPLICATE).assign(found).assign_attrs(result=DISTANCES)

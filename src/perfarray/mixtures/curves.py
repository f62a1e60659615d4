"""Curves for the pictures of runs and their mixtures."""

from functools import partial
from math import prod
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import METRIC
from perfarray.mixtures.joint import COMPONENT, METRIC_2, is_joint, joint_parameters
from perfarray.mixtures.model import parameters_of, scaled_mixture
from perfarray.mixtures.numerics.curves import component_densities, curve_points, largest_gap
from perfarray.mixtures.numerics.joint import classes, ellipse, present
from perfarray.mixtures.numerics.scale import NAMES, Scaled, distribution
from perfarray.numerics.curves import histogram, kernel_density, weighted_quantiles
from perfarray.numerics.levels import unit_weights, values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.units import describe_value, value_depth
from perfarray.timings.validation import check_choice, check_count

KINDS = ("density", "cdf")

DISTANCES, REPLICATE = "null_distance", "replicate"

# Shares of a component inside its contours.
CONTOURS = (0.5, 0.95)

# Points at which the density of a violin is estimated.
VIOLIN_POINTS = 200


def mixture_curves(
    result: xr.Dataset,
    *,
    kind: str = "density",
    times: Data | None = None,
    bins: int | str = "auto",
) -> xr.Dataset:
    """Return the curves of one mixture, and of the runs it was fitted to.

    Along `place`: `x`, `density`, `distribution`, and `component_density` (component, place) of
    components with a spread; along `point`: `constant`, those without. With `times`, the timings
    that were fitted, along `run` in ascending order: `run` and `reached`, the share of the runs up
    to it; along `edge` and `bin` the histogram, `edges` and `height` (area 1); and at the largest
    distance of the distributions `gap_at`, `gap_step` of the runs and `gap_fitted` of the mixture.
    For metrics fitted together the result of `joint_curves`.
    """
    check_choice(kind, "kind", KINDS)
    if is_joint(result):
        return joint_curves(result, times=times)
    cell = _one_cell(result)
    components = cell.isel({COMPONENT: (cell["weight"] > 0).values})
    scaled = scaled_mixture(*(array.values for array in parameters_of(components)))
    runs, weights = (np.empty(0), np.empty(0)) if times is None else _sorted_runs(times, cell)
    if kind == "cdf" and not runs.size:
        raise ValueError(
            "kind='cdf' compares a mixture with its runs; give the timings with times="
        )
    smooth = scaled.mixture.deviations > 0
    x = curve_points(scaled, runs)
    densities = component_densities(Scaled(scaled.mixture.take(smooth), scaled.family), x)
    curves: dict[str, Any] = {
        "x": ("place", x),
        "density": ("place", densities.sum(axis=0)),
        "distribution": ("place", distribution(scaled, x)),
        "component_density": ((COMPONENT, "place"), densities),
        "constant": ("point", components["mean"].values[~smooth]),
    }
    if runs.size:
        reached = weights.cumsum()
        height, edges = np.histogram(
            runs, np.histogram_bin_edges(runs, bins), weights=weights, density=True
        )
        curves |= {
            "run": ("run", runs),
            "reached": ("run", reached),
            "edges": ("edge", edges),
            "height": ("bin", height),
        }
        curves |= zip(
            ("gap_at", "gap_step", "gap_fitted"), largest_gap(scaled, runs, reached), strict=True
        )
    curves |= {name: result[name].variable for name in ("n_components", "n") if name in result}
    units = str(cell.attrs.get("units", cell["mean"].attrs.get("units", "1")))
    labels = {
        name: coordinate
        for name, coordinate in result.coords.items()
        if COMPONENT not in coordinate.dims
    }
    return xr.Dataset(
        curves,
        labels,
        cell.attrs | {"units": units, "kind": kind, "family": NAMES[int(scaled.family)]},
    )


def joint_curves(result: xr.Dataset, *, times: Data | None = None) -> xr.Dataset:
    """Return the contours of one mixture of several metrics, for the first two, and its runs.

    Along `component`: `weight`; along `metric` too `center`; and `contour` (component, probability,
    metric, place), the ellipses that hold such shares of a component. With `times`, along `run`:
    `run` (run, metric), and `assigned`, the most probable component.
    """
    cell = _one_cell(result)
    plane = cell.isel(
        {COMPONENT: (cell["weight"] > 0).values, METRIC: slice(2), METRIC_2: slice(2)}
    )
    weights, means, covariances = present(*(array.values for array in joint_parameters(plane)))
    contours = [
        [ellipse(*component, share) for share in CONTOURS]
        for component in zip(means, covariances, strict=True)
    ]
    curves: dict[str, Any] = {
        "weight": (COMPONENT, weights),
        "center": ((COMPONENT, METRIC), means),
        "contour": ((COMPONENT, "probability", METRIC, "place"), np.array(contours)),
    }
    if times is not None:
        points = np.stack(
            [_cell_runs(times, cell, str(name)).ravel() for name in cell[METRIC].values], axis=-1
        )
        points = points[~np.isnan(points).any(axis=-1)]
        numbers = classes([array.values for array in joint_parameters(cell)], points)
        curves |= {"run": (("run", METRIC), points[:, :2]), "assigned": ("run", numbers)}
    curves |= {name: result[name].variable for name in ("n_components", "n") if name in result}
    labels = {
        name: coordinate
        for name, coordinate in plane.coords.items()
        if coordinate.dims == (METRIC,)
    }
    labels |= {
        name: coordinate
        for name, coordinate in result.coords.items()
        if set(coordinate.dims) <= set(result["n_components"].dims)
    }
    return xr.Dataset(
        curves, labels | {"probability": list(CONTOURS)}, cell.attrs | {"kind": "contours"}
    )


def _one_cell(result: xr.Dataset) -> xr.Dataset:
    """Return the only mixture of a result."""
    dims = list(result["n_components"].dims)
    unselected = [str(dim) for dim in dims if result.sizes[dim] > 1]
    if unselected:
        example = ", ".join(f"{dim}={str(result[dim].values[0])!r}" for dim in unselected)
        raise ValueError(
            f"one mixture is drawn at a time. Select one label along {', '.join(unselected)}, as "
            f"in .sel({example}). plot(col={unselected[0]!r}, col_wrap=4) draws them beside each "
            "other"
        )
    cell = result.squeeze(dims).compute()
    if not (cell["weight"] > 0).any():
        raise ValueError(
            "nothing to draw: the cell has no mixture, since it has no measured value or no fit"
        )
    return cell


def _sorted_runs(times: Data, cell: xr.Dataset) -> tuple[Floats, Floats]:
    """Return the runs that a mixture was fitted to, ascending, and their weights."""
    metric = (
        str(cell.attrs["metric"])
        if isinstance(times, xr.Dataset) and "metric" in cell.attrs
        else None
    )
    runs = _cell_runs(times, cell, metric)
    measured = ~np.isnan(runs)
    values, weights = runs[measured], unit_weights(runs)[measured]
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]


def _cell_runs(times: Data, cell: xr.Dataset, metric: str | None) -> Floats:
    """Return the runs of a metric that a mixture was fitted to, shape (unit, run)."""
    data, fitted_levels = resolve(times, metric), tuple(str(cell.attrs.get("levels", "")).split())
    if fitted_levels not in ((), data.levels) and set(fitted_levels) <= set(times.dims):
        data = resolve(times, metric, fitted_levels)
    array, levels = data.array, data.levels
    dims = [dim for dim in array.dims if dim not in levels]
    selection = {
        dim: cell[dim].item() for dim in dims if dim in cell.coords and array.sizes[dim] > 1
    }
    selected = array.sel(selection).squeeze([dim for dim in dims if array.sizes[dim] == 1])
    extra = [str(dim) for dim in selected.dims if dim not in levels]
    if extra:
        raise ValueError(
            f"times has dims that the mixture has not: {', '.join(extra)}; select one label of each"
        )
    value = cell.attrs.get("value")
    depth = levels.index(value) if value in levels else len(levels) - 1
    return values_by_unit(selected.transpose(*levels).values, len(levels), depth)


def violins(times: Data, *, value: str | None = None, metric: str | None = None) -> xr.Dataset:
    """Return the densities and the quartiles of the runs of every cell.

    Each outermost unit has equal weight.

    Along `place`, from the least run to the largest: `x` and `density` (Gaussian kernels by Scott's
    rule; NaN if all runs are one value); and `q1`, `median` and `q3`.
    """
    return overlaid(times, value=value, metric=metric)


def overlaid(
    times: Data, *, kind: str = "density", value: str | None = None, metric: str | None = None
) -> xr.Dataset:
    """Return the densities of the runs of every cell, or with `kind="cdf"` the distributions.

    Along `run`, in ascending order: `x` and `reached`, the share of the runs up to each, NaN past
    the last run; and `median`.
    """
    check_choice(kind, "kind", KINDS)
    data = resolve(times, metric)
    n_levels, depth = len(data.levels), value_depth(data, value)
    if kind == "density":
        dim, number, curve, quantiles = (
            "place",
            VIOLIN_POINTS,
            Output(("place",)),
            {"q1": 0.25, "median": 0.5, "q3": 0.75},
        )
    else:
        number = prod(data.array.sizes[level] for level in data.levels[: depth + 1])
        dim, curve, quantiles = "run", Output(("run",), "1"), {"median": 0.5}

    def kernel(values: Floats) -> tuple[Floats, ...]:
        by_unit = values_by_unit(values, n_levels, depth)
        runs, weights = (
            array.reshape((*by_unit.shape[:-2], -1)) for array in (by_unit, unit_weights(by_unit))
        )
        curve_values = (
            kernel_density(runs, VIOLIN_POINTS, weights=weights)
            if kind == "density"
            else _cumulative(runs, weights)
        )
        return *curve_values, *weighted_quantiles(runs, weights, tuple(quantiles.values()))

    variables = outputs(data.units, (dim,), x="") | {
        "density" if kind == "density" else "reached": curve
    }
    variables |= {name: Output((), data.units) for name in quantiles}
    attrs = describe_value(data, depth) | {"units": data.units}
    return apply(
        kernel,
        data.array,
        core=[data.levels],
        outputs=variables,
        coords={dim: range(number)},
        attrs=attrs,
    )


def _cumulative(runs: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return runs (..., run) in ascending order, and the share of the runs up to each."""
    order = np.argsort(runs, axis=-1)
    ordered = np.take_along_axis(runs, order, axis=-1)
    reached = np.nan_to_num(np.take_along_axis(weights, order, axis=-1)).cumsum(axis=-1)
    return ordered, np.where(np.isnan(ordered), np.nan, reached)


def distance_histograms(result: xr.Dataset, *, bins: int = 40) -> xr.Dataset:
    """Count the distances of the samples drawn by `goodness_of_fit(distribution=True)` in bins.

    Returns `edges` along `edge`, `counts` along `bin` (NaN where nothing was drawn), and the other
    variables of the result.
    """
    number = check_count(bins, "bins")
    variables = outputs("1", ("edge",), edges="") | outputs("1", ("bin",), counts="")
    labels = {"edge": range(number + 1), "bin": range(number)}
    counts = apply(
        partial(histogram, bins=number),
        result[DISTANCES],
        core=[[REPLICATE]],
        outputs=variables,
        coords=labels,
    )
    return result.drop_dims(REPLICATE).assign(counts).assign_attrs(result=DISTANCES)

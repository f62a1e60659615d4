"""Regions of machines in a biplot by the variation of their runs, and which machines differ."""

from math import prod
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.regions import pairwise_tests, regions
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.best import resolve_best
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import cell_keys, order_of_labels
from perfarray.timings.units import unit_depth
from perfarray.timings.validation import listed

# The dim of units while they are resampled.
UNIT = "_unit"

COMPONENT = "principal_component"

# Samples up to which every two are compared: 4,950 pairs.
MAX_PAIRED = 100


def resampled_units(
    times: Data,
    table: xr.DataArray,
    samples: str,
    features: str,
    *,
    unit: str | None,
    levels: Any,
    metric: str | None,
) -> xr.Dataset:
    """Return the units behind a table of samples and features, and keys of cells and features.

    Shared units have the same random numbers for all features. All is in memory; the attr
    `statistic` summarises units.
    """
    if "statistic" not in table.attrs:
        units, statistic, shared = table.compute().expand_dims({UNIT: 1}, -1), "mean", False
    else:
        data = resolve(times, metric, levels)
        depth_of_unit, depth = unit_depth(data, unit), len(data.levels)
        outer = data.levels[: depth_of_unit + 1]
        statistic = resolve_best(str(table.attrs["statistic"]), data.better)
        shared = set(outer) <= set(data.shared)

        def kernel(values: Floats) -> tuple[Floats, ...]:
            return (one_value_per_unit(values, depth, depth_of_unit),)

        units = apply(
            kernel,
            data.array.compute(),
            core=[data.levels],
            outputs={"value": Output((UNIT,), data.units)},
            coords={UNIT: range(prod(data.array.sizes[level] for level in outer))},
        )["value"].drop_vars(UNIT)
    if shared:
        units = units.where(units.notnull().all(features))
    cells = units.isel({UNIT: 0}, drop=True)
    keys = cell_keys([cells], (), excluded=features if shared else None)
    feature_keys = cell_keys([cells], (), excluded=samples)
    if shared:
        keys, feature_keys = keys.broadcast_like(cells), xr.zeros_like(feature_keys)
    arrays = {"units": units, "keys": keys, "feature_keys": feature_keys}
    return xr.Dataset(arrays, attrs={"statistic": statistic})


def with_regions(
    result: xr.Dataset,
    table: xr.DataArray,
    resampled: xr.Dataset,
    samples: str,
    features: str,
    *,
    scale: bool,
    draws: int,
    key: tuple[int, int],
    level: float,
) -> tuple[xr.Dataset, tuple[Note, ...]]:
    """Add regions, limits and distances to the principal components of a table.

    Return notes on samples without a region.
    """
    statistic = str(resampled.attrs["statistic"])
    units, keys = (
        resampled[name].transpose(samples, features, ...).values for name in ("units", "keys")
    )
    unit, second = result["score"].attrs["units"], f"{samples}_2"
    layouts: dict[str, tuple[tuple[str, ...], str]] = {
        "score_lower": ((samples, COMPONENT), unit),
        "score_upper": ((samples, COMPONENT), unit),
        "score_covariance": ((samples, COMPONENT, f"{COMPONENT}_2"), square_units(unit)),
        "region_radius": ((samples,), "1"),
        "loading_lower": ((features, COMPONENT), "1"),
        "loading_upper": ((features, COMPONENT), "1"),
        "distance": ((samples, second), unit),
        "apart_pvalue": ((samples, second), "1"),
    }
    arrays = regions(
        units,
        keys,
        table.transpose(samples, features).values,
        result["score"].transpose(samples, COMPONENT).values,
        scale=scale,
        statistic=statistic,
        draws=draws,
        key=key,
        level=level,
    )
    labels, notes, number = table[samples].values, [], table.sizes[samples]
    result = result.assign_coords({f"{COMPONENT}_2": result[COMPONENT].values})
    if number <= MAX_PAIRED:
        # The first of two samples does not depend on their positions.
        order, feature_keys = order_of_labels(labels), resampled["feature_keys"].values
        tests = pairwise_tests(
            units[order], statistic, result["divisor"].values, feature_keys, draws, key
        )
        inverse = np.argsort(order)
        arrays += tuple(matrix[np.ix_(inverse, inverse)] for matrix in tests)
        result = result.assign_coords({second: labels})
    else:
        text = (
            f"{number} labels of {samples!r} are more than {MAX_PAIRED}: they are not compared "
            "two by two. Select some."
        )
        notes.append(Note("no_value", text, {"labels": number, "of": MAX_PAIRED}))
    for (name, (dims, units_of)), array in zip(layouts.items(), arrays, strict=False):
        result[name] = (dims, array, {"units": units_of})
    without = [str(label) for label in labels[np.isnan(result["region_radius"].values)]]
    if without:
        text = (
            f"{len(without)} of {number} labels of {samples!r} have a single run of some "
            f"{features!r}: {listed(without, 5)}. One run shows no spread, so they have no region."
        )
        notes.append(Note("single_unit", text, {"labels": without, "of": number}))
    return result, tuple(notes)

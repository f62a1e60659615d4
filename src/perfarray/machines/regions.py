"""Regions of machines in a biplot by the variation of their runs, and which machines differ by more than that."""

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
MOST = 100


def resampled_units(
    times: Data, table: xr.DataArray, samples: str, features: str, *, unit: str | None, levels: Any, metric: str | None
) -> xr.Dataset:
    """Return the units behind a table of samples and features, in memory, with keys of cells and of features, and their statistic.

    Shared units have the same random numbers for all features.
    """
    if "statistic" not in table.attrs:
        units, statistic, shared = table.compute().expand_dims({UNIT: 1}, -1), "mean", False
    else:
        data = resolve(times, metric, levels)
        depth_of_unit, depth = unit_depth(data, unit), len(data.levels)
        outer = data.levels[: depth_of_unit + 1]
        statistic, shared = resolve_best(str(table.attrs["statistic"]), data.better), set(outer) <= set(data.shared)

        def kernel(values: Floats) -> tuple[Floats, ...]:
            return (one_value_per_unit(values, depth, depth_of_unit),)

        named, labels = {"value": Output((UNIT,), data.units)}, range(prod(data.array.sizes[level] for level in outer))
        units = apply(kernel, data.array.compute(), core=[data.levels], outputs=named, coords={UNIT: labels})["value"].drop_vars(UNIT)
    if shared:
        units = units.where(units.notnull().all(features))
    cells = units.isel({UNIT: 0}, drop=True)
    keys, feature_keys = cell_keys([cells], (), excluded=features if shared else None), cell_keys([cells], (), excluded=samples)
    if shared:
        keys, feature_keys = keys.broadcast_like(cells), xr.zeros_like(feature_keys)
    return xr.Dataset({"units": units, "keys": keys, "feature_keys": feature_keys}, attrs={"statistic": statistic})


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
    """Add regions, limits and distances to the principal components of a table; return notes on samples without a region."""
    statistic = str(resampled.attrs["statistic"])
    units, keys = (resampled[name].transpose(samples, features, ...).values for name in ("units", "keys"))
    score, values = result["score"].transpose(samples, COMPONENT).values, table.transpose(samples, features).values
    limits = regions(units, keys, values, score, scale=scale, statistic=statistic, draws=draws, key=key, level=level)
    unit, second = result["score"].attrs["units"], f"{samples}_2"
    variables: dict[str, tuple[tuple[str, ...], Floats, str]] = {
        "score_lower": ((samples, COMPONENT), limits.lower, unit),
        "score_upper": ((samples, COMPONENT), limits.upper, unit),
        "score_covariance": ((samples, COMPONENT, f"{COMPONENT}_2"), limits.covariance, square_units(unit)),
        "region_radius": ((samples,), limits.radius, "1"),
        "loading_lower": ((features, COMPONENT), limits.loading_lower, "1"),
        "loading_upper": ((features, COMPONENT), limits.loading_upper, "1"),
    }
    labels = {f"{COMPONENT}_2": result[COMPONENT].values}
    if len(units) <= MOST:
        order = order_of_labels(table[samples].values)  # the first of two samples does not depend on their positions
        tests = pairwise_tests(units[order], statistic, result["divisor"].values, resampled["feature_keys"].values, draws, key)
        inverse = np.argsort(order)
        distances, pvalues = (matrix[np.ix_(inverse, inverse)] for matrix in tests)
        variables |= {"distance": ((samples, second), distances, unit), "apart_pvalue": ((samples, second), pvalues, "1")}
        labels[second] = table[samples].values
    added = {name: (along, array, {"units": unit_of_variable}) for name, (along, array, unit_of_variable) in variables.items()}
    return result.assign(added).assign_coords(labels), _notes(limits.radius, table[samples])


def _notes(radius: Floats, labels: xr.DataArray) -> tuple[Note, ...]:
    """Return notes on samples without a region, and on too many samples to compare."""
    notes, number, dim = [], labels.size, str(labels.dims[0])
    without = labels.values[np.isnan(radius)]
    if len(without):
        text = f"{len(without)} of {number} labels of {dim!r} have a single run of something, and no region, since one shows no spread: "
        notes.append(Note("single_unit", text + listed(without, 5), {"labels": [str(label) for label in without], "of": number}))
    if number > MOST:
        text = f"{number} labels of {dim!r} are more than {MOST} and are not compared two by two; select some"
        notes.append(Note("not_compared", text, {"labels": number, "most": MOST}))
    return tuple(notes)

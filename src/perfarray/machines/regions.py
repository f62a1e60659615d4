"""Where machines may lie in a biplot, by the variation of their runs, and which of them it cannot tell apart."""

from math import prod
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.regions import Axes, apart, regions
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.best import named_end
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import cell_keys, order_of_labels
from perfarray.timings.units import unit_place
from perfarray.timings.validation import listed

UNIT = "_unit"
"""The dim of units while they are redrawn."""

COMPONENT = "principal_component"

MOST = 100
"""Samples up to which every two are compared: 4,950 pairs."""


class Chance(NamedTuple):
    """How often is redrawn, from which key, and the level of regions and limits."""

    n_resamples: int
    key: tuple[int, int]
    confidence_level: float


class Redrawing(NamedTuple):
    """What is redrawn: the units of every cell along `_unit`, with keys of samples and features, and of features; of which statistic."""

    units: xr.DataArray
    keys: xr.DataArray
    features: xr.DataArray
    statistic: str
    chance: Chance

    def at(self, indexers: dict[Any, Any]) -> "Redrawing":
        """Return what is redrawn in some places."""
        selected = [array.isel({dim: index for dim, index in indexers.items() if dim in array.dims}) for array in self[:3]]
        return self._replace(units=selected[0], keys=selected[1], features=selected[2])


def redrawing(
    times: Data, table: xr.DataArray, dims: tuple[str, str], chance: Chance, *, unit: str | None, levels: Any, metric: str | None
) -> Redrawing:
    """Return the units behind a table of samples and features, in memory; shared ones have the same random numbers for all features."""
    samples, features = dims
    if "statistic" not in table.attrs:
        units, statistic, shared = table.compute().expand_dims({UNIT: 1}, -1), "mean", False
    else:
        data = resolve(times, metric, levels)
        depth_of_unit, depth = unit_place(data, unit), len(data.levels)
        statistic, shared = named_end(str(table.attrs["statistic"]), data.better), set(data.levels[: depth_of_unit + 1]) <= set(data.shared)
        named, labels = (
            {"value": Output((UNIT,), data.units)},
            range(prod(data.array.sizes[level] for level in data.levels[: depth_of_unit + 1])),
        )

        def kernel(values: Floats) -> tuple[Floats, ...]:
            return (one_value_per_unit(values, depth, depth_of_unit),)

        units = apply(kernel, data.array.compute(), core=[data.levels], outputs=named, coords={UNIT: labels})["value"].drop_vars(UNIT)
    if shared:
        units = units.where(units.notnull().all(features))
    cells = units.isel({UNIT: 0}, drop=True)
    keys, of_features = cell_keys([cells], (), excluded=features if shared else None), cell_keys([cells], (), excluded=samples)
    if shared:
        keys, of_features = keys.broadcast_like(cells), xr.zeros_like(of_features)
    return Redrawing(units, keys, of_features, statistic, chance)


def with_regions(
    result: xr.Dataset, table: xr.DataArray, how: Redrawing, dims: tuple[str, str], *, scale: bool
) -> tuple[xr.Dataset, tuple[Note, ...]]:
    """Add regions, limits and distances to the principal components of a table; and say which samples have none."""
    samples, features = dims
    units, keys = how.units.transpose(samples, features, UNIT).values, how.keys.transpose(samples, features).values
    score, loading = (result[name].transpose(dim, COMPONENT).values for name, dim in (("score", samples), ("loading", features)))
    number, key, level = how.chance
    limits = regions(units, keys, Axes(table.transpose(samples, features).values, score, loading, scale), how.statistic, number, key, level)
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
        order = order_of_labels(table[samples].values)  # of two, the same one is the first, wherever they stand
        two = apart(units[order], how.statistic, result["divisor"].values, how.features.values, number, key)
        distances, pvalues = (values[np.ix_(np.argsort(order), np.argsort(order))] for values in two)
        variables |= {"distance": ((samples, second), distances, unit), "apart_pvalue": ((samples, second), pvalues, "1")}
        labels[second] = table[samples].values
    added = {name: (along, values, {"units": unit_of_variable}) for name, (along, values, unit_of_variable) in variables.items()}
    return result.assign(added).assign_coords(labels), _notes(limits.radius, table[samples])


def _notes(radius: Floats, labels: xr.DataArray) -> tuple[Note, ...]:
    """Say which samples have no region, and that too many are not compared."""
    notes, number, dim = [], labels.size, str(labels.dims[0])
    without = labels.values[np.isnan(radius)]
    if len(without):
        text = f"{len(without)} of {number} labels of {dim!r} have a single run of something, and no region, since one shows no spread: "
        notes.append(Note("single_unit", text + listed(without, 5), {"labels": [str(label) for label in without], "of": number}))
    if number > MOST:
        text = f"{number} labels of {dim!r} are more than {MOST} and are not compared two by two; select some"
        notes.append(Note("not_compared", text, {"labels": number, "most": MOST}))
    return tuple(notes)

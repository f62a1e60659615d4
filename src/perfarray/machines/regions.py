"""Regions of machines in a biplot by the variation of their runs, and which machines differ by more than that."""

from math import prod
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.regions import pairwise_tests, regions
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.best import named_end
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import cell_keys, order_of_labels
from perfarray.timings.units import unit_place
from perfarray.timings.validation import listed

# The dim of units while they are resampled.
UNIT = "_unit"

COMPONENT = "principal_component"

# Samples up to which every two are compared: 4,950 pairs.
MOST = 100


class Resampling(NamedTuple):
    """What is resampled: the units of every cell along `_unit`, keys of cells and of features, the statistic; how often, from which key."""

    units: xr.DataArray
    keys: xr.DataArray
    feature_keys: xr.DataArray
    statistic: str
    n_resamples: int
    key: tuple[int, int]
    confidence_level: float

    def isel(self, indexers: dict[Any, Any]) -> "Resampling":
        """Return the resampling of some positions."""
        selected = [array.isel({dim: index for dim, index in indexers.items() if dim in array.dims}) for array in self[:3]]
        return self._replace(units=selected[0], keys=selected[1], feature_keys=selected[2])


def resampling(
    times: Data,
    table: xr.DataArray,
    samples: str,
    features: str,
    *,
    n_resamples: int,
    key: tuple[int, int],
    confidence_level: float,
    unit: str | None,
    levels: Any,
    metric: str | None,
) -> Resampling:
    """Return the units behind a table of samples and features, in memory; shared units have the same random numbers for all features."""
    if "statistic" not in table.attrs:
        units, statistic, shared = table.compute().expand_dims({UNIT: 1}, -1), "mean", False
    else:
        data = resolve(times, metric, levels)
        depth_of_unit, depth = unit_place(data, unit), len(data.levels)
        outer = data.levels[: depth_of_unit + 1]
        statistic, shared = named_end(str(table.attrs["statistic"]), data.better), set(outer) <= set(data.shared)

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
    return Resampling(units, keys, feature_keys, statistic, n_resamples, key, confidence_level)


def with_regions(
    result: xr.Dataset, table: xr.DataArray, resampled: Resampling, samples: str, features: str, *, scale: bool
) -> tuple[xr.Dataset, tuple[Note, ...]]:
    """Add regions, limits and distances to the principal components of a table; return notes on samples without a region."""
    units = resampled.units.transpose(samples, features, UNIT).values
    score = result["score"].transpose(samples, COMPONENT).values
    limits = regions(
        units,
        resampled.keys.transpose(samples, features).values,
        table.transpose(samples, features).values,
        score,
        scale=scale,
        statistic=resampled.statistic,
        draws=resampled.n_resamples,
        key=resampled.key,
        level=resampled.confidence_level,
    )
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
        tests = pairwise_tests(
            units[order],
            resampled.statistic,
            result["divisor"].values,
            resampled.feature_keys.values,
            resampled.n_resamples,
            resampled.key,
        )
        inverse = np.argsort(order)
        distances, pvalues = (values[np.ix_(inverse, inverse)] for values in tests)
        variables |= {"distance": ((samples, second), distances, unit), "apart_pvalue": ((samples, second), pvalues, "1")}
        labels[second] = table[samples].values
    added = {name: (along, values, {"units": unit_of_variable}) for name, (along, values, unit_of_variable) in variables.items()}
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

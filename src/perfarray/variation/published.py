"""Variances that are given: published components, and those that `variance_components` returned, to plan from."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import xarray as xr

from perfarray.conventions import square_units
from perfarray.timings.apply import LEVEL
from perfarray.timings.resolve import Data, Timings
from perfarray.variation.request import Systems

COMPONENTS = "variance_components"
GIVEN = "given"


def from_components(components: Mapping[str, Any], *, mean: Any = 1.0, units: str = "1") -> xr.Dataset:
    """Return given variance components, such as published ones, as something to plan from.

    Parameters
    ----------
    components : mapping of str to float or DataArray
        The variance that each level adds, outermost first, in squared units of the mean; NaN where a level is not seen. Arrays may lie
        along other dims, such as `benchmark`.
    mean : float or DataArray
        Of the timings. With relative components, the squares of coefficients of variation, it is 1.
    units : str
        Of the mean; `s` lets an iteration cost its mean time.

    Returns
    -------
    Dataset
        `variance`, `share` and `coefficient_of_variation` along `level`, `total_coefficient_of_variation` and `mean`: for
        `plan_repetitions`, which takes them as exactly known.

    Raises
    ------
    ValueError
        No component, a component that is negative or infinite, a mean that is zero or no number.

    Examples
    --------
    Two builds in a hundred differ by 2 %, iterations by 1 %: how many iterations are worth a build that takes as long as 50 of them?

    >>> import perfarray
    >>> given = perfarray.from_components({"binary": 0.02**2, "iteration": 0.01**2})
    >>> plan = perfarray.plan_repetitions(given, costs={"binary": 50}, budget=1000).to_dataset()
    >>> plan["unrounded"].sel(level="iteration").round(2).item(), plan["repetitions"].to_series().to_dict()
    (3.54, {'binary': 18.0, 'iteration': 5.0})
    """
    if not isinstance(components, Mapping) or not components:
        raise ValueError(f"components={components!r}: give a mapping of levels to variances, outermost first")
    parts = [xr.DataArray(part).astype(float) for part in components.values()]
    for name, part in zip(components, parts, strict=True):
        if bool(((part < 0) | (part == np.inf)).any()):
            raise ValueError(
                f"components[{name!r}] holds {float(part.min()):g} to {float(part.max()):g}; a variance is zero or more, and finite"
            )
    middle = xr.DataArray(mean).astype(float)
    if bool(((middle == 0) | ~np.isfinite(middle)).any()):
        raise ValueError(f"mean={mean!r}: give the mean of the timings, not zero")
    level = xr.IndexVariable(LEVEL, np.array(list(components), dtype=object))
    variance = xr.concat(xr.broadcast(*parts), level).transpose(..., LEVEL)
    total = variance.sum(LEVEL, min_count=1)
    parts_of_mean = {"share": variance / total.where(total > 0), "coefficient_of_variation": np.sqrt(variance) / abs(middle)}
    parts_of_mean |= {"total_coefficient_of_variation": np.sqrt(total) / abs(middle)}
    result = xr.Dataset({"variance": variance, **parts_of_mean, "mean": middle})
    result["variance"].attrs = {"units": square_units(units), "long_name": "variance component"}
    result["mean"].attrs = {"units": units}
    for name in parts_of_mean:
        result[name].attrs = {"units": "1"}
    return result.assign_attrs(result=COMPONENTS, method=GIVEN, metric="time", levels=" ".join(components))


def is_published(times: object) -> TypeGuard[xr.Dataset]:
    """Return whether these are components instead of timings."""
    return isinstance(times, xr.Dataset) and times.attrs.get("result") == COMPONENTS


def published(components: xr.Dataset, baseline: object) -> Systems:
    """Return components as what a plan is made for: one system whose timings are its mean."""
    if baseline is not None:
        raise ValueError("components of variance have no baseline to plan a ratio to; give the timings of both systems")
    levels = tuple(map(str, components[LEVEL].values))
    mean = components["mean"].broadcast_like(components["variance"].isel({LEVEL: 0}, drop=True))
    array = (
        mean.expand_dims(dict.fromkeys(levels, 1))
        .rename(str(components.attrs.get("metric", "time")))
        .assign_attrs(components["mean"].attrs)
    )
    attrs: dict[str, Hashable] = {"metric": str(array.name), "levels": " ".join(levels), "unit": levels[0]}
    return Systems((Timings(array, levels, {}),), attrs, (), {})


def component_arrays(components: Data, biased: bool) -> tuple[list[xr.DataArray], list[Sequence[str]]]:
    """Return mean, components and, where they are estimates, variances of means and repetitions, with the dims of each that are core."""
    names = ["mean", "variance", *(["level_variance", "repetitions"] if components.attrs.get("method") != GIVEN else [])]
    if biased and len(names) == 2:
        raise ValueError("variances='biased' plans with the variances of means, which components do not tell; leave it out")
    return [components[name] for name in names], [[], *[[LEVEL]] * (len(names) - 1)]

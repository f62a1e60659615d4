"""Variances that are given, to plan from."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import xarray as xr

from perfarray.conventions import square_units
from perfarray.timings.apply import LEVEL
from perfarray.timings.resolve import Data, Timings
from perfarray.timings.validation import listed
from perfarray.variation.request import PlannedSystems

COMPONENTS = "variance_components"
GIVEN = "given"
POOLED = "pooled"
ABSENT = "_absent"  # the attr that names the levels a system does not have, on the way to a plan
PILOT = "_pilot"  # the dim along which pilots are pooled


def from_components(
    components: Mapping[str, Any] | Sequence[xr.Dataset],
    *,
    mean: Any = None,
    units: str | None = None,
) -> xr.Dataset:
    """Return given variance components as something to plan from.

    Parameters
    ----------
    components : mapping of str to float or DataArray, or sequence of Dataset
        The variance that each level adds, outermost first, in squared units of the mean; NaN where
        a level is not seen. Or what `variance_components` returned of several pilots of one nest:
        they are averaged by their degrees of freedom.
    mean : float or DataArray, optional
        Of the timings; default: 1, which suits squared coefficients of variation.
    units : str, optional
        Of the mean; `s` lets an iteration cost its mean time. Default: 1.

    Returns
    -------
    Dataset
        `variance`, `share` and `coefficient_of_variation` along `level`,
        `total_coefficient_of_variation` and `mean`: for `plan_repetitions`, which takes them as
        known. Of pilots also `level_variance` and `df` of the outermost level.

    Raises
    ------
    ValueError
        No component, a negative or infinite one; a mean that is zero or no number; pilots whose
        levels or units differ.

    Notes
    -----
    What differs between pilots is no part of pooled components. To plan for several days, join the
    timings along `session` and plan from those.

    Examples
    --------
    Builds differ by 2 %, iterations by 1 %; a build takes as long as 50 iterations.

    >>> import perfarray
    >>> given = perfarray.from_components({"binary": 0.02**2, "iteration": 0.01**2})
    >>> plan = perfarray.plan_repetitions(given, costs={"binary": 50}, budget=1000)
    >>> plan["repetitions"].to_series().to_dict()
    {'binary': 18.0, 'iteration': 5.0}
    """
    if isinstance(components, Sequence) and components and all(map(is_published, components)):
        if mean is not None or units is not None:
            raise ValueError(
                f"mean={mean!r} and units={units!r}: pilots have their own; leave both out"
            )
        return _pooled(components)
    if not isinstance(components, Mapping) or isinstance(components, xr.Dataset) or not components:
        received = (
            f"a {type(components).__name__}"
            if isinstance(components, xr.Dataset | Sequence) and components
            else repr(components)
        )
        raise ValueError(
            f"components={received}: give a mapping of levels to variances, outermost first, "
            "or a list of what "
            "variance_components() returned of several pilots"
        )
    units = "1" if units is None else units
    arrays = [xr.DataArray(value).astype(float) for value in components.values()]
    for name, value in zip(components, arrays, strict=True):
        if bool(((value < 0) | (value == np.inf)).any()):
            raise ValueError(
                f"components[{name!r}] holds {float(value.min()):g} to {float(value.max()):g}; "
                "a variance is zero or more, and finite"
            )
    middle = xr.DataArray(1.0 if mean is None else mean).astype(float)
    if bool(((middle == 0) | ~np.isfinite(middle)).any()):
        raise ValueError(f"mean={mean!r}: give the mean of the timings, not zero")
    level = xr.IndexVariable(LEVEL, np.array(list(components), dtype=object))
    variance = xr.concat(xr.broadcast(*arrays), level).transpose(..., LEVEL)
    return _described(variance, middle, units, GIVEN)


def _described(variance: xr.DataArray, mean: xr.DataArray, units: str, method: str) -> xr.Dataset:
    """Return components as a result, with what follows from them."""
    total = variance.sum(LEVEL, min_count=1)
    parts_of_mean = {
        "share": variance / total.where(total > 0),
        "coefficient_of_variation": np.sqrt(variance.clip(min=0)) / abs(mean),
    }
    parts_of_mean |= {"total_coefficient_of_variation": np.sqrt(total.clip(min=0)) / abs(mean)}
    result = xr.Dataset({"variance": variance, **parts_of_mean, "mean": mean})
    result["variance"].attrs = {"units": square_units(units), "long_name": "variance component"}
    result["mean"].attrs = {"units": units}
    for name in parts_of_mean:
        result[name].attrs = {"units": "1"}
    levels = " ".join(map(str, variance[LEVEL].values))
    return result.assign_attrs(result=COMPONENTS, method=method, metric="time", levels=levels)


def _pooled(pilots: Sequence[xr.Dataset]) -> xr.Dataset:
    """Average relative components by their degrees of freedom.

    A benchmark that a pilot lacks rests on the others.
    """
    for name in ("levels", "negative"):
        values = list(dict.fromkeys(str(pilot.attrs.get(name, "unknown")) for pilot in pilots))
        if len(values) > 1 or (name == "negative" and values != ["keep"]):
            needed = (
                "the same nest"
                if name == "levels"
                else "the estimates themselves, variance_components(negative='keep')"
            )
            raise ValueError(f"the pilots have {name} {listed(values)}; pooling needs {needed}")
    units = list(dict.fromkeys(str(pilot["mean"].attrs.get("units", "1")) for pilot in pilots))
    if len(units) > 1:
        raise ValueError(f"the pilots are in {listed(units)}; pooling needs one unit")
    joined = xr.concat(
        [
            pilot[["variance", "level_variance", "repetitions", "mean"]].reset_coords(drop=True)
            for pilot in pilots
        ],
        PILOT,
        join="outer",
        combine_attrs="drop",
        data_vars="all",
        coords="minimal",
        compat="override",
    )
    cumulative = joined["repetitions"].cumprod(LEVEL)
    inside = xr.concat(
        [xr.ones_like(cumulative.isel({LEVEL: [0]})), cumulative.isel({LEVEL: slice(None, -1)})],
        LEVEL,
    )
    level_df = (cumulative - inside.assign_coords({LEVEL: cumulative[LEVEL]})).where(
        joined["variance"].notnull(), 0.0
    )
    weight = level_df / level_df.sum(PILOT).where(lambda total_df: total_df > 0)
    outermost = {LEVEL: 0}
    mean = joined["mean"].weighted(cumulative.isel(outermost, drop=True).fillna(0.0)).mean(PILOT)
    square, pilot_squares = mean**2, (joined["mean"] ** 2).where(joined["mean"] != 0)
    averages = {
        name: (joined[name] / pilot_squares * weight).sum(PILOT, min_count=1) * square
        for name in ("variance", "level_variance")
    }
    result = _described(averages["variance"].transpose(..., LEVEL), mean, units[0], POOLED)
    result = result.assign(
        level_variance=averages["level_variance"].transpose(..., LEVEL),
        df=level_df.isel(outermost, drop=True).sum(PILOT),
    )
    result["level_variance"].attrs = {
        "units": square_units(units[0]),
        "long_name": "variance of the level's means",
    }
    result["df"].attrs = {"units": "1"}
    metric_attrs = {
        name: pilots[0].attrs[name] for name in ("metric", "better") if name in pilots[0].attrs
    }
    return result.assign_attrs(metric_attrs)


def is_published(times: object) -> TypeGuard[xr.Dataset]:
    """Return whether these are components instead of timings."""
    return isinstance(times, xr.Dataset) and times.attrs.get("result") == COMPONENTS


def published(
    components: xr.Dataset, baseline: object
) -> tuple[PlannedSystems, tuple[xr.Dataset, ...]]:
    """Return given components as systems whose timings are their means, along one nest."""
    datasets: tuple[xr.Dataset, ...] = (components,)
    if baseline is not None:
        if not is_published(baseline):
            raise ValueError(
                "components of variance are planned with those of a baseline, not "
                f"{type(baseline).__name__}: give both alike"
            )
        datasets = _of_one_nest(components, baseline)
    levels = tuple(map(str, datasets[0][LEVEL].values))
    sides = []
    for dataset in datasets:
        mean = dataset["mean"].broadcast_like(dataset["variance"].isel({LEVEL: 0}, drop=True))
        array = mean.expand_dims(dict.fromkeys(levels, 1)).rename(
            str(dataset.attrs.get("metric", "time"))
        )
        sides.append(Timings(array.assign_attrs(dataset["mean"].attrs), levels, {}))
    attrs: dict[str, Hashable] = {
        "metric": str(sides[0].array.name),
        "levels": " ".join(levels),
        "unit": levels[0],
    }
    attrs |= {"baseline": "other components"} if baseline is not None else {}
    return PlannedSystems(
        tuple(sides), attrs, (), {}, tuple(dataset.attrs.get(ABSENT, ()) for dataset in datasets)
    ), datasets


def _of_one_nest(*systems: xr.Dataset) -> tuple[xr.Dataset, ...]:
    """Return the components of two systems along the levels of both.

    A level that one lacks does not vary there.
    """
    nests = [[str(level) for level in dataset[LEVEL].values] for dataset in systems]
    longest = max(nests, key=len)
    for nest in nests:
        if nest != [level for level in longest if level in nest]:
            raise ValueError(
                "one nest is no part of the other: the systems have the levels "
                f"{tuple(nests[0])} and {tuple(nests[1])}"
            )
    labels = [
        {
            str(dim): dataset[dim].values.tolist()
            for dim in dataset.dims
            if dim != LEVEL and dim in dataset.coords
        }
        for dataset in systems
    ]
    for dim in labels[0].keys() & labels[1].keys():
        if labels[0][dim] != labels[1][dim]:
            raise ValueError(
                f"the systems have different labels along {dim!r}: {listed(labels[0][dim], 3)} "
                f"and {listed(labels[1][dim], 3)}"
            )
    results = []
    for dataset, nest in zip(systems, nests, strict=True):
        missing_levels = tuple(level for level in longest if level not in nest)
        aligned = dataset.reindex(
            {LEVEL: longest},
            fill_value={name: 0.0 for name in ("variance", "level_variance") if name in dataset},
        )
        if missing_levels and "df" in dataset and longest[0] in missing_levels:
            aligned = aligned.assign(
                df=xr.full_like(dataset["df"], np.inf)
            )  # what does not vary is known
        results.append(aligned.assign_attrs({**dataset.attrs, ABSENT: missing_levels}))
    return tuple(results)


def component_arrays(
    components: Data, biased: bool
) -> tuple[list[xr.DataArray], list[Sequence[str]]]:
    """Return mean, components and, of estimates, what is known of them.

    These are variances of means, degrees of freedom and, of one pilot, repetitions.

    Behind them stand the dims of each that are core.
    """
    method = components.attrs.get("method")
    if biased and method == GIVEN:
        raise ValueError(
            "variances='biased' plans with the variances of means, which components do not "
            "tell; leave it out"
        )
    names = ["mean", "variance", *(["level_variance", "df"] if method != GIVEN else [])]
    names += ["repetitions"] if method not in (GIVEN, POOLED) else []
    cores: list[Sequence[str]] = [[] if name in ("mean", "df") else [LEVEL] for name in names]
    return [components[name] for name in names], cores

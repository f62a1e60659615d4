"""Several metrics at once: one result each, side by side."""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import xarray as xr

from perfarray.conventions import LOWER, METRIC, UNKNOWN
from perfarray.timings.notes import collecting, noted
from perfarray.timings.resolve import Data, check_names, choose_metric

P = ParamSpec("P")
R = TypeVar("R")


def over_metrics(function: Callable[P, R]) -> Callable[P, R]:
    """Let `metric=` name several metrics: one result each, along a dim `metric` with coordinates units and better."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        metric = kwargs.get(METRIC)
        if metric is None or isinstance(metric, str):
            return function(*args, **kwargs)
        names = check_names(cast(Sequence[str], metric), METRIC)
        times = args[0]
        results = []
        with collecting() as gathered:
            for name in names:
                chosen = [_only(argument, name) for argument in args]
                others = {key: _only(value, name) for key, value in kwargs.items()}
                results.append(function(*chosen, **{**others, METRIC: name}))
        joined = _beside(cast(list[xr.Dataset], results), [choose_metric(cast(Data, times), name) for name in names], names)
        return cast(R, noted(joined, *gathered))

    return wrapper


def _beside(results: list[xr.Dataset], arrays: list[xr.DataArray], names: tuple[str, ...]) -> xr.Dataset:
    """Put results along a new dim `metric`; a cell that one metric lacks is NaN, False or `unknown`."""
    blanks: dict[Hashable, Any] = {name: np.nan for result in results for name in result.variables}
    for name, variable in results[0].data_vars.items():
        if variable.dtype.kind in "Ob":
            blanks[name] = UNKNOWN if variable.dtype == object else False
    along = xr.IndexVariable(METRIC, np.array(names, dtype=object))
    joined: xr.Dataset = xr.concat(
        results, along, join="outer", fill_value=blanks, combine_attrs="drop_conflicts", coords="minimal", compat="override"
    )
    for key, default in (("units", "1"), ("better", LOWER)):
        joined = joined.assign_coords({key: (METRIC, np.array([array.attrs.get(key, default) for array in arrays], dtype=object))})
    return joined


def _only(times: Any, metric: str) -> Any:
    """Return a Dataset with one metric alone, so that cells other metrics fill are not reported as empty."""
    return times[[metric]] if isinstance(times, xr.Dataset) and metric in times else times

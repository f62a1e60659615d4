"""Several metrics in one call: one result each, along a dim `metric`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import xarray as xr

from perfarray.conventions import LOWER, METRIC, UNKNOWN
from perfarray.timings.notes import collecting_notes, with_notes
from perfarray.timings.resolve import Data, check_names, choose_metric, metrics_of
from perfarray.timings.streams import one_key

P = ParamSpec("P")
R = TypeVar("R")
Told = TypeVar("Told", xr.Dataset, xr.DataArray)


def for_each_metric(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that a list of metrics gives one result along a dim `metric`."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        metric = kwargs.get(METRIC)
        if metric is None or isinstance(metric, str):
            return function(*args, **kwargs)
        names = check_names(cast(Sequence[str], metric), METRIC)
        results, keywords = [], one_key(function, kwargs)
        with collecting_notes() as gathered:
            for name in names:
                arguments = [single_metric(argument, name) for argument in args]
                options = {key: single_metric(value, name) for key, value in keywords.items()}
                results.append(function(*arguments, **{**options, METRIC: name}))
        arrays = [choose_metric(cast(Data, args[0]), name) for name in names]
        return cast(
            R, with_notes(concat_metrics(cast(list[xr.Dataset], results), names, arrays), *gathered)
        )

    return wrapper


def concat_metrics(
    results: Sequence[xr.Dataset], names: Sequence[str], arrays: Sequence[xr.DataArray]
) -> xr.Dataset:
    """Concatenate the results of several metrics along a dim `metric`."""
    joined = concat_results(results, METRIC, names)
    for key, default in (("units", "1"), ("better", LOWER)):
        joined = joined.assign_coords(
            {
                key: (
                    METRIC,
                    np.array([array.attrs.get(key, default) for array in arrays], dtype=object),
                )
            }
        )
    return joined


def concat_results(results: Sequence[Told], dim: str, labels: Sequence[str]) -> Told:
    """Concatenate results along a new dim.

    Cells that a result lacks become NaN, False or `unknown`.
    """
    blanks: Any = np.nan
    datasets: Any = results
    if isinstance(results[0], xr.Dataset):
        blanks = {name: np.nan for result in datasets for name in result.variables}
        for name, variable in results[0].data_vars.items():
            if variable.dtype.kind in "Ob":
                blanks[name] = UNKNOWN if variable.dtype == object else False
    along = xr.IndexVariable(dim, np.array(labels, dtype=object))
    # All other coordinates describe the data, and are the same in every result.
    computed: Any = ["suite_score"] if "suite_score" in results[0].coords else "minimal"
    how: dict[str, Any] = {
        "combine_attrs": "drop_conflicts",
        "coords": computed,
        "compat": "override",
    }
    return cast(Told, xr.concat(datasets, along, join="outer", fill_value=blanks, **how))


def single_metric(times: Any, metric: str) -> Any:
    """Return a Dataset with one metric, so that empty cells of others are not reported."""
    return times[[metric]] if isinstance(times, xr.Dataset) and metric in times else times


def are_measurements(data: xr.DataArray | xr.Dataset) -> bool:
    """Return whether data hold measurements, rather than a result."""
    if isinstance(data, xr.DataArray):
        data = xr.Dataset({"array": data.variable}, attrs=data.attrs)
    attrs = [data.attrs, *(variable.attrs for variable in data.data_vars.values())]
    return not any("result" in held for held in attrs) and bool(metrics_of(data))

"""Results of several methods side by side in one Dataset."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import UNKNOWN
from perfarray.results.models import FittedModel
from perfarray.timings.notes import Note, noted, notes

RESULTS = "results"
"""The attr that names what was combined."""


def combine(results: Mapping[str, xr.Dataset | xr.DataArray | FittedModel]) -> xr.Dataset:
    """Put results of several methods side by side.

    Parameters
    ----------
    results : mapping of str to Dataset, DataArray or result
        What functions of this package returned, by the name that is to stand before the names of its variables.

    Returns
    -------
    Dataset
        `mean_estimate`, `mean_lower`, ... and `ratio_estimate`, ...: the variables and attrs of every result under its name. A label that
        one of them lacks (the baseline, in a comparison) is NaN, False or `unknown` there. Their notes stand together.

    Raises
    ------
    ValueError
        When nothing is given, a name is no word, what it names is no result, or coordinates of the same name say different things.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]})
    >>> both = perfarray.combine({"mean": times.perf.mean_interval(), "ratio": times.perf.ratio_interval("old")})
    >>> both["mean_estimate"].sel(version="new").item(), round(both["ratio_estimate"].sel(version="new").item(), 3)
    (9.05, 0.9)
    """
    wrong = [name for name in results if not isinstance(name, str) or not name.isidentifier()]
    if wrong or not results:
        raise ValueError(f"results must map names to results, as in {{'mean': a, 'ratio': b}}; got {wrong[0] if wrong else results!r}")
    parts: list[xr.Dataset] = []
    said: list[Note] = []
    attrs: dict[str, Any] = {}
    labels: dict[str, list[list[Any]]] = {}
    for name, result in results.items():
        own = as_dataset(result)
        if "result" not in own.attrs:
            raise ValueError(f"{name!r} is no result of perfarray: its attr 'result' is missing")
        said += [note for note in notes(own) if note not in said]
        attrs |= {f"{name}_{key}": value for key, value in own.attrs.items() if key not in ("notes", "perfarray_version")}
        for dim, index in own.indexes.items():
            labels.setdefault(str(dim), []).append(list(index))
        parts.append(own.rename({key: f"{name}_{key}" for key in own.data_vars}).drop_attrs(deep=False))
    blanks = {str(key): _blank(variable) for part in parts for key, variable in part.data_vars.items()}
    try:
        merged = xr.merge(parts, join="outer", compat="no_conflicts", fill_value=blanks)
    except (xr.MergeError, ValueError) as error:
        name = next((str(key) for part in parts for key in part.coords if f"{key!r}" in str(error)), "")
        raise ValueError(f"the results {', '.join(results)} say different things of the coordinate {name!r}: {error}") from error
    described = {name: coordinate for part in parts for name, coordinate in part.coords.items() if coordinate.dtype.kind in "Ob"}
    merged = merged.assign_coords({name: _filled(merged[name], own) for name, own in described.items() if name not in merged.indexes})
    order = {dim: list(dict.fromkeys(chain(*sorted(own, key=lambda one: -len(one))))) for dim, own in labels.items()}
    return noted(merged.reindex(order).assign_attrs(attrs | {"result": "combine", RESULTS: " ".join(results)}), *said)


def parts_of(combined: xr.Dataset) -> dict[str, xr.Dataset]:
    """Return the results that were put side by side, as they were but for labels that others have."""
    parts = {}
    for name in str(combined.attrs[RESULTS]).split():
        own = {str(key): str(key).removeprefix(f"{name}_") for key in combined.data_vars if str(key).startswith(f"{name}_")}
        attrs = {key.removeprefix(f"{name}_"): value for key, value in combined.attrs.items() if str(key).startswith(f"{name}_")}
        parts[name] = combined[list(own)].rename(own).drop_attrs(deep=False).assign_attrs(attrs)
    return parts


def as_dataset(result: xr.Dataset | xr.DataArray | FittedModel) -> xr.Dataset:
    """Return a result as a Dataset."""
    if isinstance(result, FittedModel):
        return result.to_dataset()
    if isinstance(result, xr.DataArray):
        return result.to_dataset(name=str(result.name or "value")).assign_attrs(result.attrs)
    return result


def _filled(coordinate: xr.DataArray, like: xr.DataArray) -> xr.DataArray:
    """Return a coordinate that says so where no result describes a label."""
    return coordinate.fillna(_blank(like)).astype(like.dtype)


def _blank(variable: xr.DataArray) -> Any:
    """Return what stands where a result has no such label."""
    return {"O": UNKNOWN, "b": False}.get(variable.dtype.kind, np.nan)

"""Results of several methods combined in one Dataset."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import UNKNOWN
from perfarray.results.models import FittedModel
from perfarray.timings.notes import Note, notes, with_notes

# Attr: the names of the combined results
RESULTS = "results"


def combine(
    results: Mapping[str, xr.Dataset | xr.DataArray | FittedModel]
    | Iterable[xr.Dataset | xr.DataArray | FittedModel],
) -> xr.Dataset:
    """Combine results of several methods in one Dataset.

    Parameters
    ----------
    results : mapping of str to Dataset, DataArray or result; or several of these
        What functions of this package returned, by the name that is to stand before the names of
        its variables; default: the name of the function.

    Returns
    -------
    Dataset
        `mean_estimate`, `mean_lower`, ... and `ratio_estimate`, ...: the variables and attrs of
        every result under its name. A label that one of them lacks (the baseline, in a comparison)
        is NaN, False or `unknown` there. Their notes stand together.

    Raises
    ------
    ValueError
        When nothing is given, a name is no word, what it names is no result, or coordinates of the
        same name say different things.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]}
    >>> times = perfarray.from_samples(samples)
    >>> mean, ratio = times.perf.mean_interval(), times.perf.ratio_interval("old")
    >>> new = perfarray.combine({"mean": mean, "ratio": ratio}).sel(version="new")
    >>> new["mean_estimate"].item(), round(new["ratio_estimate"].item(), 3)
    (9.05, 0.9)
    >>> perfarray.combine([mean, ratio]).sel(version="new")["mean_interval_estimate"].item()
    9.05
    """
    if not isinstance(results, Mapping) or isinstance(results, xr.Dataset):
        results = _by_function(results)
    wrong = [name for name in results if not isinstance(name, str) or not name.isidentifier()]
    if wrong or not results:
        raise ValueError(
            f"results must map names to results, as in {{'mean': a, 'ratio': b}}; got "
            f"{wrong[0] if wrong else results!r}"
        )
    datasets: list[xr.Dataset] = []
    all_notes: list[Note] = []
    attrs: dict[str, Any] = {}
    labels: dict[str, list[list[Any]]] = {}
    for name, result in results.items():
        data = as_dataset(result)
        if "result" not in data.attrs:
            raise ValueError(f"{name!r} is no result of perfarray: its attr 'result' is missing")
        all_notes += [note for note in notes(data) if note not in all_notes]
        attrs |= {
            f"{name}_{key}": value
            for key, value in data.attrs.items()
            if key not in ("notes", "perfarray_version")
        }
        for dim, index in data.indexes.items():
            labels.setdefault(str(dim), []).append(list(index))
        datasets.append(
            data.rename({key: f"{name}_{key}" for key in data.data_vars}).drop_attrs(deep=False)
        )
    variables = chain.from_iterable(data.data_vars.items() for data in datasets)
    blanks = {str(key): _blank(variable) for key, variable in variables}
    coordinates = dict(chain.from_iterable(data.coords.items() for data in datasets))
    try:
        merged = xr.merge(datasets, join="outer", compat="no_conflicts", fill_value=blanks)
    except (xr.MergeError, ValueError) as error:
        name = next((str(key) for key in coordinates if repr(key) in str(error)), "")
        raise ValueError(
            f"the results {', '.join(results)} say different things of the coordinate "
            f"{name!r}: {error}"
        ) from error
    # A coordinate is unknown where no result describes a label.
    filled = {
        name: merged[name].fillna(_blank(coordinate)).astype(coordinate.dtype)
        for name, coordinate in coordinates.items()
        if coordinate.dtype.kind in "Ob" and name not in merged.indexes
    }
    order = {
        dim: list(dict.fromkeys(chain(*sorted(data, key=lambda index_labels: -len(index_labels)))))
        for dim, data in labels.items()
    }
    return with_notes(
        merged.assign_coords(filled)
        .reindex(order)
        .assign_attrs(attrs | {"result": "combine", RESULTS: " ".join(results)}),
        *all_notes,
    )


def _by_function(
    results: Iterable[xr.Dataset | xr.DataArray | FittedModel],
) -> dict[str, xr.Dataset]:
    """Return results by the name of their function."""
    if isinstance(results, xr.DataArray | xr.Dataset | FittedModel):
        raise ValueError("combine takes several results, as in [a, b] or {'mean': a, 'ratio': b}")
    datasets: dict[str, xr.Dataset] = {}
    for data in map(as_dataset, results):
        name = str(data.attrs.get("result", "this"))
        if name in datasets:
            raise ValueError(
                f"two results are of {name}. Name them, as in {{'first': a, 'second': b}}"
            )
        datasets[name] = data
    return datasets


def parts_of(combined: xr.Dataset) -> dict[str, xr.Dataset]:
    """Return the combined results, each without the labels of the others."""
    datasets = {}
    for name in str(combined.attrs[RESULTS]).split():
        new_names = {
            str(key): str(key).removeprefix(f"{name}_")
            for key in combined.data_vars
            if str(key).startswith(f"{name}_")
        }
        attrs = {
            key.removeprefix(f"{name}_"): value
            for key, value in combined.attrs.items()
            if str(key).startswith(f"{name}_")
        }
        datasets[name] = (
            combined[list(new_names)].rename(new_names).drop_attrs(deep=False).assign_attrs(attrs)
        )
    return datasets


def as_dataset(result: xr.Dataset | xr.DataArray | FittedModel) -> xr.Dataset:
    """Return a result as a Dataset."""
    if isinstance(result, FittedModel):
        return result.to_dataset()
    if isinstance(result, xr.DataArray):
        return result.to_dataset(name=str(result.name or "value")).assign_attrs(result.attrs)
    return result


def _blank(variable: xr.DataArray) -> Any:
    """Return the value for labels that a result lacks."""
    return {"O": UNKNOWN, "b": False}.get(variable.dtype.kind, np.nan)

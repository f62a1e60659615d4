"""Stored timings and further machines or commits as one Dataset.

It has the labels of both, and descriptors along these where they differ.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import HISTORY, LEVELS, MACHINE, MARKS, UNKNOWN, plural
from perfarray.tables.stores.writing import chunk_sizes
from perfarray.timings.notes import NOTES, first_of_each_code, notes, to_json
from perfarray.timings.validation import listed

# The dtype of texts in opened Zarr stores
TEXT = np.dtypes.StringDType()

# Attrs of a metric that must agree
MEANING = ("units", "better")

Sizes = Mapping[Hashable, int]


def grows_along(stored: xr.Dataset, times: xr.Dataset) -> str:
    """Return the dim to append along: machines, or the dim of the history if these exist."""
    dims = [MACHINE, *(dim for dim in HISTORY if dim in stored.indexes and dim in times.coords)]
    repeated: dict[str, list[Any]] = {}
    for dim in dims:
        if dim not in times.coords or dim not in stored.indexes:
            continue
        labels = pd.Index(np.atleast_1d(times[dim].values))
        repeated[dim] = labels.intersection(stored.indexes[dim], sort=False).tolist()
        if not repeated[dim]:
            return dim
    if not repeated:
        return MACHINE
    dim, labels_in_store = list(repeated.items())[-1]
    are = (
        f"1 {dim} is" if len(labels_in_store) == 1 else f"{len(labels_in_store)} {plural(dim)} are"
    )
    raise ValueError(
        f"{are} in the store already, and not added again: {listed(labels_in_store, 5)}"
    )


def joined_along(dim: str, stored: xr.Dataset, times: xr.Dataset) -> xr.Dataset:
    """Join stored timings, which stay lazy, with new labels of machines or commits.

    Descriptors of a whole that differ lie along the dim in the result; what one side does not say
    is `"unknown"`, NaN, or no mark.
    """
    _check_metrics(stored, times)
    if all(dataset.sizes.get("file", 1) == 1 for dataset in (stored, times)):
        # The labels of each side are those of one file: a dim of files would say no more, and
        # multiply the cells.
        stored, times = (dataset.isel(file=0, missing_dims="ignore") for dataset in (stored, times))
    first, second = (
        _with_dims(dim, dataset, opposite)
        for dataset, opposite in ((stored, times), (times, stored))
    )
    labels = {name: _labels(str(name), first, second) for name in first.sizes}
    aligned = {name: values for name, values in labels.items() if name != dim}
    first, second = (
        dataset.reindex(aligned, fill_value=_fills(dataset)) for dataset in (first, second)
    )
    names = dict.fromkeys(
        name for dataset in (first, second) for name in dataset.variables if name not in labels
    )
    variables = {name: _joined(dim, name, first, second) for name in names}
    metrics = {
        name: variable
        for name, variable in variables.items()
        if name in first.data_vars or name in second.data_vars
    }
    coords = {name: variable for name, variable in variables.items() if name not in metrics}
    return xr.Dataset(metrics, coords | labels, _attrs(stored, times))


def _check_metrics(stored: xr.Dataset, times: xr.Dataset) -> None:
    """Raise where a metric differs in unit or direction."""
    for name in stored.data_vars.keys() & times.data_vars.keys():
        for attr in MEANING:
            meanings = [dataset[name].attrs.get(attr) for dataset in (stored, times)]
            if None not in meanings and meanings[0] != meanings[1]:
                raise ValueError(
                    f"{attr!r} of {name!r} is {meanings[0]!r} in the store, and "
                    f"{meanings[1]!r} in what is to be added"
                )


def _with_dims(along: str, times: xr.Dataset, opposite: xr.Dataset) -> xr.Dataset:
    """Return timings with the other side's dims, labels for each, and texts of one dtype."""
    for dim in dict.fromkeys((along, *opposite.sizes)):
        if dim in times.dims:
            continue
        if dim not in LEVELS and dim not in times.coords:
            where = (
                f'say it, as in --layout "{{{dim}}}/..."'
                if dim == along
                else "what one side compares, the other must name"
            )
            raise ValueError(
                f"no dim {dim!r} in what has the dims {listed(list(times.sizes), 9)}; {where}"
            )
        times = times.expand_dims(dim) if dim in times.coords else times.expand_dims({dim: [0]})
    times = times.assign_coords(
        {dim: np.arange(size) for dim, size in times.sizes.items() if dim not in times.coords}
    )
    texts = [
        name
        for name, coordinate in times.coords.items()
        if name not in times.dims
        # A boolean that is no mark becomes text, which can be unknown.
        and (coordinate.dtype.kind in "OUS" or (coordinate.dtype.kind == "b" and name not in MARKS))
    ]
    return times.assign_coords({name: times[name].astype(TEXT) for name in texts})


def _labels(dim: str, first: xr.Dataset, second: xr.Dataset) -> npt.NDArray[Any]:
    """Return the labels of both sides along a dim: repetitions sorted, others in order."""
    indexes = [dataset.indexes[dim] for dataset in (first, second)]
    kinds = [index.dtype.kind in "iuf" for index in indexes]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"labels of {dim!r} are numbers on one side and texts on the other: "
            f"{listed([*indexes[0][:2], *indexes[1][:2]], 4)}"
        )
    union = indexes[0].append(indexes[1].difference(indexes[0], sort=False))
    values = np.sort(union.to_numpy()) if dim in LEVELS else union.to_numpy()
    return values if kinds[0] else values.astype(object)


def _fills(times: xr.Dataset) -> dict[Hashable, Any]:
    """Return the fill values of variables that cannot hold NaN."""
    kinds = {
        name: variable.dtype.kind
        for name, variable in times.variables.items()
        if name not in times.dims
    }
    return {name: UNKNOWN if kind == "T" else False for name, kind in kinds.items() if kind in "Tb"}


def _joined(along: str, name: Hashable, first: xr.Dataset, second: xr.Dataset) -> xr.Variable:
    """Return a joined variable: along the new labels, unless both sides agree."""
    a, b = (operand.variables.get(name) for operand in (first, second))
    if a is not None and b is not None:
        # Text where only one side is a text or a date
        kinds = {kind.replace("i", "f").replace("u", "f") for kind in (a.dtype.kind, b.dtype.kind)}
        a, b = (a, b) if len(kinds) == 1 else (_as_text(a), _as_text(b))
    dims = dict.fromkeys(dim for operand in (a, b) if operand is not None for dim in operand.dims)
    if along not in dims:
        agreed = _agreed(a, b)
        if agreed is not None:
            return agreed
        dims = dict.fromkeys((along, *dims))
    sizes = [{dim: operand.sizes[dim] for dim in dims} for operand in (first, second)]
    pieces = [_spread(a, b, sizes[0]).chunk(), _spread(b, a, sizes[1]).chunk()]
    joined: xr.Variable = xr.Variable.concat(pieces, along)
    attrs_of_pieces = [piece.attrs for piece in pieces]
    common_attrs = {
        key: value
        for key, value in attrs_of_pieces[0].items()
        if attrs_of_pieces[1].get(key) == value
    }
    joined.attrs = {
        key: value
        for key, value in (attrs_of_pieces[1] | attrs_of_pieces[0]).items()
        if key in MEANING
    } | common_attrs
    return joined


def _as_text(variable: xr.Variable) -> xr.Variable:
    """Return a variable as text; missing numbers and dates are unknown."""
    if variable.dtype.kind == "T":
        return variable
    texts: xr.Variable = variable.astype(TEXT).where(variable.notnull(), UNKNOWN)
    return texts


def _agreed(a: xr.Variable | None, b: xr.Variable | None) -> xr.Variable | None:
    """Return the merged values of both sides, None where they contradict each other."""
    if a is None or b is None:
        operand = b if a is None else a
        return operand.load() if operand is not None and operand.dims else None
    if a.dims != b.dims:
        return None
    is_stated = [operand.notnull().values & (operand.values != UNKNOWN) for operand in (a, b)]
    if (is_stated[0] & is_stated[1] & (a.values != b.values)).any() or (
        not a.dims and is_stated[0] != is_stated[1]
    ):
        return None
    return a.copy(data=np.where(is_stated[0], a.values, b.values))


def _spread(
    variable: xr.Variable | None, opposite: xr.Variable | None, sizes: Sizes
) -> xr.Variable:
    """Return a variable along all dims, or blanks of the opposite kind where it is missing."""
    if variable is not None:
        spread: xr.Variable = variable.set_dims(sizes)
        return spread
    import dask.array

    assert opposite is not None
    nothing = {"T": UNKNOWN, "b": False, "M": "NaT", "m": "NaT"}.get(opposite.dtype.kind, np.nan)
    dtype = float if opposite.dtype.kind in "iuf" else opposite.dtype
    chunks = tuple(chunk_sizes(sizes).values())
    blank = dask.array.full(
        tuple(sizes.values()), np.array(nothing, dtype=dtype), dtype=dtype, chunks=chunks
    )  # type: ignore[no-untyped-call]
    return xr.Variable(tuple(sizes), blank, opposite.attrs)


def _attrs(stored: xr.Dataset, times: xr.Dataset) -> dict[Hashable, Any]:
    """Return joined attrs: counts are added, notes kept once, others where both sides agree."""
    merged = {**times.attrs, **stored.attrs}
    for name in stored.attrs.keys() & times.attrs.keys() - {NOTES}:
        old, new = stored.attrs[name], times.attrs[name]
        if str(name).startswith("n_"):
            merged[name] = old + new
        elif old != new:
            del merged[name]
    unique_notes = first_of_each_code(
        [note for dataset in (stored, times) for note in notes(dataset)]
    )
    return merged | ({NOTES: to_json(tuple(unique_notes))} if unique_notes else {})

"""From a long table to a labelled array.

Values are placed, ragged runs padded with NaN, descriptors put on the dims they depend on.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import contains
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import EXACT, FORMAT, METRIC, UNKNOWN
from perfarray.numerics.types import Floats, Integers, same_text
from perfarray.results.reserved import settle_dims
from perfarray.tables.columns import (
    LARGEST_EXACT,
    Descriptor,
    Metric,
    Table,
    are_distinct,
    level_order,
    objects,
)
from perfarray.timings.apply import as_objects
from perfarray.timings.options import options

# Cells that an array may have however few are measured
SMALL = 2**24

# Size of the memory pages that systems use for large arrays, in bytes
LARGE_PAGE = 2**21


def build(table: Table) -> xr.Dataset:
    """Make the labelled array: one dim per label column and level, NaN where nothing was measured.

    Parameters
    ----------
    table : Table
        At most one row per cell.

    Returns
    -------
    Dataset
        Metrics over all dims; marks, columns and descriptors as coordinates. Names that answers
        use are `data_<name>`.

    Raises
    ------
    ValueError
        When two rows fall on one cell, or the array would be too large.
    """
    names = [*table.labels, *sorted(table.levels, key=level_order)]
    codes = [
        table.labels[name].codes if name in table.labels else table.levels[name] for name in names
    ]
    shape = tuple(
        len(table.labels[name].labels)
        if name in table.labels
        else int(table.levels[name].max(initial=-1)) + 1
        for name in names
    )
    cells = int(np.prod([float(size) for size in shape]))
    needed = partial(_needed, table, cells, dict(zip(names, shape, strict=True)))
    limits = options()
    if cells > limits.max_cells:
        raise ValueError(f"{needed()}; set_options(max_cells=...) allows more")
    if cells > SMALL and cells > limits.max_padding * len(table):
        raise ValueError(
            f"{needed()}, and almost all would be empty; set_options(max_padding=...) allows "
            "more for each measurement"
        )
    try:
        return settle_dims(_laid_out(table, names, codes, shape, cells))
    except MemoryError:
        raise ValueError(f"{needed()}, for which there is no memory") from None


def _needed(table: Table, cells: int, sizes: Mapping[str, int]) -> str:
    """Write how large the array would be."""
    shape_text = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    return (
        f"{len(table)} measurements would need an array of {cells} cells ({shape_text}); read "
        "fewer files at a time, or name fewer dims"
    )


def _laid_out(
    table: Table, names: list[str], codes: list[Integers], shape: tuple[int, ...], cells: int
) -> xr.Dataset:
    """Place what a table has in an array."""
    flat = np.ravel_multi_index(codes, shape) if len(table) else np.empty(0, dtype=np.intp)
    _check_single(flat, names, table, shape)
    variables = {
        name: _metric_variable(metric, table.shared, names, flat, shape)
        for name, metric in table.metrics.items()
    }
    coords: dict[Hashable, xr.Variable] = {}
    for name, size in zip(names, shape, strict=True):
        labels = table.labels[name].labels if name in table.labels else None
        values = np.arange(size) if labels is None else as_objects(_label_array(labels))
        coords[name] = _variable([name], values)
    for name, mark in table.marks.items():
        marked = np.zeros(cells, dtype=bool)
        marked[flat] = mark
        coords[name] = _variable(names, marked.reshape(shape))
    for name, (dims, values) in table.columns.items():
        coords[name] = _column_variable(dims, values, names, codes, shape)
    for name, descriptor in table.descriptors.items():
        labels_by_dim = {
            dim: table.labels[dim].labels for dim in descriptor.dims if dim in table.labels
        }
        coords[name] = _descriptor_variable(
            completed(descriptor, table), labels_by_dim, dict(zip(names, shape, strict=True))
        )
    return xr.Dataset(variables, coords, _attrs(table))


def _attrs(table: Table) -> dict[Hashable, Any]:
    """Return the attrs of the whole."""
    texts = {FORMAT: table.format, METRIC: table.metric}
    attrs: dict[Hashable, Any] = {name: text for name, text in texts.items() if text}
    return attrs | table.counts | table.attrs


def _variable(
    dims: Sequence[str], values: npt.NDArray[Any], attrs: Mapping[str, str] | None = None
) -> xr.Variable:
    return xr.Variable(tuple(dims), values, attrs)


def _metric_variable(
    metric: Metric,
    shared: tuple[str, ...],
    names: Sequence[str],
    flat: Integers,
    shape: tuple[int, ...],
) -> xr.Variable:
    """Place a metric's values, NaN elsewhere."""
    values = _blank(int(np.prod(shape)))
    values[flat] = metric.values
    attrs: dict[str, Any] = {"units": metric.units}
    attrs |= {"better": metric.better} if metric.better else {}
    attrs |= {EXACT: 1} if metric.exact else {}
    attrs |= {"shared_levels": " ".join(shared)} if shared else {}
    return _variable(names, values.reshape(shape), attrs)


def _blank(cells: int) -> Floats:
    """Return cells of NaN; a large array aligned to memory pages is filled in half the time."""
    room = LARGE_PAGE // 8 if cells * 8 > 2 * LARGE_PAGE else 0
    block = np.empty(cells + room)
    start = -block.ctypes.data % LARGE_PAGE // 8 if room else 0
    values = block[start : start + cells]
    values.fill(np.nan)
    return values


def _check_single(flat: Integers, names: list[str], table: Table, shape: tuple[int, ...]) -> None:
    """Raise where two rows fall on one cell; the message names the first."""
    if len(flat) < 2:
        return
    if are_distinct(flat, int(np.prod(shape))):
        return
    order = np.argsort(flat, kind="stable")
    repeats = np.flatnonzero(np.diff(flat[order]) == 0)
    index = np.unravel_index(flat[order][repeats[0]], shape)
    cell = ", ".join(
        f"{name}={table.labels[name].labels[int(i)] if name in table.labels else int(i)}"
        for name, i in zip(names, index, strict=True)
    )
    raise ValueError(
        f"{len(repeats)} rows repeat a cell that already has a value. The first is {cell}. Name "
        "the column that tells them apart as a dim or a level (binary, session, execution, "
        "iteration)"
    )


def _label_array(labels: list[Any]) -> npt.NDArray[Any]:
    """Return labels as an array: numbers stay numbers, all else is object dtype.

    Text survives every join and file then.
    """
    if labels and all(
        isinstance(label, int | float | np.number) and not isinstance(label, bool)
        for label in labels
    ):
        return np.array(labels)
    texts = [label if isinstance(label, str) else str(label) for label in labels]
    if "\0" in "".join(texts):  # files would end the label there
        raise ValueError(
            f"label {next(text for text in texts if chr(0) in text)[:80]!r} holds the character NUL"
        )
    return objects(texts)


def _column_variable(
    dims: tuple[str, ...],
    values: npt.NDArray[Any],
    names: list[str],
    codes: list[Integers],
    shape: tuple[int, ...],
) -> xr.Variable:
    """Place a column known per row on the dims it depends on."""
    if not dims:
        return _variable((), np.asarray(values[0], dtype=values.dtype))
    index = [names.index(dim) for dim in dims]
    sizes = tuple(shape[i] for i in index)
    numeric = values.dtype.kind in "iuf"
    array = np.full(sizes, np.nan) if numeric else same_text(UNKNOWN, sizes)
    array[tuple(codes[i] for i in index)] = values
    return _variable(dims, array)


def completed(descriptor: Descriptor, table: Table) -> Descriptor:
    """Return a descriptor with None for labels that its table lacks: `unknown`, not gaps."""
    if not descriptor.dims or any(dim not in table.labels for dim in descriptor.dims):
        return descriptor
    if len(descriptor.dims) > 1:
        return descriptor
    keys = [(label,) for label in table.labels[descriptor.dims[0]].labels]
    if all(key in descriptor.values for key in keys):
        return descriptor
    return replace(descriptor, values={**dict.fromkeys(keys), **descriptor.values})


def _descriptor_variable(
    descriptor: Descriptor, labels: Mapping[str, list[Any]], sizes: Mapping[str, int]
) -> xr.Variable:
    """Place a descriptor on as few dims as it depends on.

    Unknown values are `unknown`, or NaN among numbers.
    """
    non_missing = [value for value in descriptor.values.values() if value is not None]
    numeric = all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < LARGEST_EXACT
        for value in non_missing
    )
    dims = list(descriptor.dims)
    by_key = dict(descriptor.values)
    for dim in reversed([dim for dim in descriptor.dims if dim not in descriptor.keep]):
        reduced = _without(by_key, dims.index(dim))
        if reduced is not None:
            by_key, dims = reduced, [name for name in dims if name != dim]
    # Only known values are placed, since most combinations of labels may be empty.
    position_maps = [
        {label: positions for positions, label in enumerate(labels.get(dim, range(sizes[dim])))}
        for dim in dims
    ]
    entries = [
        (key, value)
        for key, value in by_key.items()
        if value is not None and all(map(contains, position_maps, key))
    ]
    shape, values = [len(positions) for positions in position_maps], [value for _, value in entries]
    at = np.zeros(len(entries), dtype=np.intp)
    for axis, positions in enumerate(position_maps):
        at = at * len(positions) + np.array(
            [positions[key[axis]] for key, _ in entries], dtype=np.intp
        )
    cells = math.prod(shape)
    array: npt.NDArray[Any] = np.full(cells, np.nan) if numeric else same_text(UNKNOWN, cells)
    array[at] = values if numeric else objects([str(value) for value in values])
    if numeric and len(values) == cells and all(isinstance(value, int) for value in values):
        array = array.astype(int)
    return _variable(dims, array.reshape(shape))


def _without(
    values_by_key: Mapping[tuple[Any, ...], Any], position: int
) -> dict[tuple[Any, ...], Any] | None:
    """Remove one dim from the keys; return None if the values depend on it."""
    reduced: dict[tuple[Any, ...], Any] = {}
    for key, value in values_by_key.items():
        if reduced.setdefault(key[:position] + key[position + 1 :], value) != value:
            return None
    return reduced

"""Long table to labelled array: numbers the repetitions inside their parents, pads ragged runs with NaN, places descriptors."""

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import LEVELS, LOWER, SECONDS, UNKNOWN, seconds_factor
from perfarray.numerics.types import Floats, Integers, Mask, Texts
from perfarray.timings.validation import listed

LARGEST = 2**31
"""Cells an array may have; a table that needs more is almost empty, and its dims were chosen badly."""

EXACT = 2**53
"""Numbers below this are exact as floats; a descriptor beyond it is kept as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One text or number for every row: a code into its distinct labels."""

    codes: Integers
    labels: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What is known about labels: values by label of some dims (`dims=()`: of everything in the table).

    It ends up on as few dims as it depends on, but always on those in `keep`.
    """

    dims: tuple[str, ...]
    values: Mapping[tuple[Any, ...], Any]
    keep: tuple[str, ...] = ()


NOT_SAID = Descriptor(dims=(), values={(): None})
"""What a table says that says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One measured quantity: a value per row (NaN: this row has none), its unit and which direction is good."""

    values: Floats
    units: str = SECONDS
    better: str = LOWER
    long_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Measurements as columns: what every reader returns and `build` makes an array of.

    `labels` are the dims that are compared or broadcast, `levels` the positions of the repetitions (from 0 inside their parent),
    `marks` boolean columns, `columns` numbers or texts known per row, `descriptors` what is known per label, `notes` what a warning is to
    say.
    """

    labels: dict[str, Column]
    levels: dict[str, Integers]
    metrics: dict[str, Metric]
    marks: dict[str, Mask] = field(default_factory=dict)
    columns: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = field(default_factory=dict)
    descriptors: dict[str, Descriptor] = field(default_factory=dict)
    attrs: dict[str, Hashable] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.metrics.values())).values)


def column_of(values: Iterable[Any]) -> Column:
    """Code values by their distinct labels, in order of first appearance."""
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(value, len(seen)) for value in values), dtype=np.intp)
    return Column(codes=codes, labels=list(seen))


def constant_column(label: Any, rows: int) -> Column:
    """Return the same label for every row."""
    return Column(codes=np.zeros(rows, dtype=np.intp), labels=[label])


def number_within(parents: Sequence[Integers], labels: npt.ArrayLike) -> Integers:
    """Number repetition labels from 0 inside their parent, in the order of the labels.

    Parameters
    ----------
    parents : sequence of int arrays, shape (rows,)
        Together they say which parent a row belongs to; none means there is one parent.
    labels : array, shape (rows,)
        The repetition's own label; rows with the same parent and label are the same repetition.

    Returns
    -------
    int array, shape (rows,)
    """
    own = np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1)
    order = np.lexsort((own, *reversed(parents)))
    new_parent = np.zeros(len(order), dtype=bool)
    new_parent[:1] = True
    for codes in parents:
        new_parent[1:] |= np.diff(codes[order]) != 0
    new_own = new_parent.copy()
    new_own[1:] |= np.diff(own[order]) != 0
    running = np.cumsum(new_own) - 1
    start = np.maximum.accumulate(np.where(new_parent, running, 0))
    positions = np.empty(len(order), dtype=np.intp)
    positions[order] = running - start
    return positions


def row_in_parent(parents: Sequence[Integers], rows: int) -> Integers:
    """Number rows from 0 inside their parent, in the order they come."""
    return number_within(parents, np.arange(rows))


def build(table: Table) -> xr.Dataset:
    """Make the labelled array: one dim per label column and level, NaN where nothing was measured.

    Parameters
    ----------
    table : Table
        At most one row per cell.

    Returns
    -------
    Dataset
        Metrics over all dims; marks, columns and descriptors as coordinates.

    Raises
    ------
    ValueError
        When two rows fall on one cell, or the array would be too large.
    """
    names = [*table.labels, *sorted(table.levels, key=_level_order)]
    codes = [table.labels[name].codes if name in table.labels else table.levels[name] for name in names]
    shape = tuple(len(table.labels[name].labels) if name in table.labels else int(table.levels[name].max(initial=-1)) + 1 for name in names)
    cells = int(np.prod([float(size) for size in shape]))
    if cells > LARGEST:
        sizes = ", ".join(f"{name}: {size}" for name, size in zip(names, shape, strict=True))
        raise ValueError(
            f"{len(table)} measurements would need an array of {cells} cells ({sizes}); read fewer files at a time, or name fewer dims"
        )
    flat = np.ravel_multi_index(codes, shape) if len(table) else np.empty(0, dtype=np.intp)
    _check_single(flat, names, table, shape)
    variables = {name: _metric_variable(metric, table.shared, names, flat, shape) for name, metric in table.metrics.items()}
    coords: dict[Hashable, xr.Variable] = {}
    for name, size in zip(names, shape, strict=True):
        coords[name] = xr.IndexVariable((name,), _label_array(table.labels[name].labels) if name in table.labels else np.arange(size))
    for name, mark in table.marks.items():
        marked = np.zeros(cells, dtype=bool)
        marked[flat] = mark
        coords[name] = _variable(names, marked.reshape(shape))
    for name, (dims, values) in table.columns.items():
        coords[name] = _column_variable(dims, values, names, codes, shape)
    for name, descriptor in table.descriptors.items():
        known = {dim: table.labels[dim].labels for dim in descriptor.dims if dim in table.labels}
        coords[name] = _descriptor_variable(completed(descriptor, table), known, dict(zip(names, shape, strict=True)))
    return xr.Dataset(variables, coords, dict(table.attrs))


def _variable(dims: Sequence[str], values: npt.NDArray[Any], attrs: Mapping[str, str] | None = None) -> xr.Variable:
    """Return a variable of an array that is what it shall be: xarray need not look at every text in it."""
    return xr.Variable(tuple(dims), values, attrs, fastpath=True)


def _metric_variable(metric: Metric, shared: tuple[str, ...], names: Sequence[str], flat: Integers, shape: tuple[int, ...]) -> xr.Variable:
    """Place a metric's values, NaN elsewhere."""
    values = np.full(int(np.prod(shape)), np.nan)
    values[flat] = metric.values
    attrs = {"units": metric.units, "better": metric.better}
    attrs |= {"long_name": metric.long_name} if metric.long_name else {}
    attrs |= {"shared_levels": " ".join(shared)} if shared else {}
    return _variable(names, values.reshape(shape), attrs)


def _level_order(name: str) -> int:
    """Sort levels from the outside in; those without a usual place come first."""
    return LEVELS.index(name) if name in LEVELS else -1


def _check_single(flat: Integers, names: list[str], table: Table, shape: tuple[int, ...]) -> None:
    """Raise when two rows fall on one cell; the message shows the first."""
    if len(flat) < 2:
        return
    taken = np.zeros(int(np.prod(shape)), dtype=bool)
    taken[flat] = True
    if int(np.count_nonzero(taken)) == len(flat):
        return
    order = np.argsort(flat, kind="stable")
    repeats = np.flatnonzero(np.diff(flat[order]) == 0)
    index = np.unravel_index(flat[order][repeats[0]], shape)
    place = ", ".join(
        f"{name}={table.labels[name].labels[int(i)] if name in table.labels else int(i)}" for name, i in zip(names, index, strict=True)
    )
    raise ValueError(
        f"{len(repeats)} rows repeat a cell that already has a value, the first at {place}; name the column that tells them apart as a "
        "dim or a level (binary, session, execution, iteration)"
    )


def _label_array(labels: list[Any]) -> npt.NDArray[Any]:
    """Return labels as an array: numbers stay numbers, all else is object dtype (text survives every join and file)."""
    if labels and all(isinstance(label, int | float | np.number) and not isinstance(label, bool) for label in labels):
        return np.array(labels)
    return _objects([label if isinstance(label, str) else str(label) for label in labels])


def _objects(values: Sequence[Any]) -> Texts:
    """Return a one-dimensional object array, whatever is in it."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _column_variable(
    dims: tuple[str, ...], values: npt.NDArray[Any], names: list[str], codes: list[Integers], shape: tuple[int, ...]
) -> xr.Variable:
    """Place a column known per row on the dims it depends on."""
    if not dims:
        return _variable((), np.asarray(values[0], dtype=values.dtype))
    index = [names.index(dim) for dim in dims]
    sizes = tuple(shape[i] for i in index)
    numeric = values.dtype.kind in "iuf"
    array = np.full(sizes, np.nan) if numeric else np.full(sizes, UNKNOWN, dtype=object)
    array[tuple(codes[i] for i in index)] = values
    return _variable(dims, array)


def completed(descriptor: Descriptor, table: Table) -> Descriptor:
    """Return a descriptor of labels that says None where its table has a label and it says nothing: that is `unknown`, not a gap."""
    if not descriptor.dims or any(dim not in table.labels for dim in descriptor.dims):
        return descriptor
    if len(descriptor.dims) > 1:
        return descriptor
    keys = [(label,) for label in table.labels[descriptor.dims[0]].labels]
    if all(key in descriptor.values for key in keys):
        return descriptor
    return replace(descriptor, values={**dict.fromkeys(keys), **descriptor.values})


def _descriptor_variable(descriptor: Descriptor, labels: Mapping[str, list[Any]], sizes: Mapping[str, int]) -> xr.Variable:
    """Place a descriptor on as few dims as it depends on; what is not known is `unknown`, or NaN among numbers."""
    stated = [value for value in descriptor.values.values() if value is not None]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < EXACT for value in stated)
    dims = list(descriptor.dims)
    known = dict(descriptor.values)
    for dim in reversed([dim for dim in descriptor.dims if dim not in descriptor.keep]):
        reduced = _without(known, dims.index(dim))
        if reduced is not None:
            known, dims = reduced, [name for name in dims if name != dim]
    choices = [labels[dim] if dim in labels else list(range(sizes[dim])) for dim in dims]
    filled = [known.get(key) for key in itertools.product(*choices)]
    if numeric:
        array: npt.NDArray[Any] = np.array([np.nan if value is None else value for value in filled], dtype=float)
        if all(isinstance(value, int) for value in filled):
            array = array.astype(int)
    else:
        array = _objects([UNKNOWN if value is None else str(value) for value in filled])
    return _variable(dims, array.reshape([len(choice) for choice in choices]))


def _without(known: Mapping[tuple[Any, ...], Any], position: int) -> dict[tuple[Any, ...], Any] | None:
    """Leave one dim out of the keys, or return None if the values depend on it."""
    reduced: dict[tuple[Any, ...], Any] = {}
    for key, value in known.items():
        if reduced.setdefault(key[:position] + key[position + 1 :], value) != value:
            return None
    return reduced


def to_seconds(table: Table) -> Table:
    """Return the table with every time in seconds."""
    return replace(table, metrics={name: in_seconds(metric) for name, metric in table.metrics.items()})


def in_seconds(metric: Metric) -> Metric:
    """Return a metric in seconds if its unit is a time, else as it is."""
    factor = seconds_factor(metric.units)
    if factor is None:
        return metric
    values = metric.values if factor == 1.0 else metric.values * factor
    return replace(metric, values=values, units=SECONDS)


def join_tables(tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], levels: Sequence[Mapping[str, int]]) -> Table:
    """Put tables under one another: each has labels (and positions of levels) of its own, the same names for all.

    What was known of a whole table becomes known of its labels; a mark, metric or level that a table lacks is False, NaN, or position 0.
    """
    rows = [len(table) for table in tables]
    labels = _joined_labels(tables, extra, rows)
    level_names = sorted({*itertools.chain(*(table.levels for table in tables)), *itertools.chain(*levels)}, key=_level_order)
    positions = {name: _joined_level(name, tables, levels, rows) for name in level_names}
    metrics = {}
    for name in dict.fromkeys(itertools.chain(*(table.metrics for table in tables))):
        having = [table.metrics[name] for table in tables if name in table.metrics]
        if len({(metric.units, metric.better) for metric in having}) > 1:
            said = listed(sorted({f"{metric.units}, {metric.better} is better" for metric in having}))
            raise ValueError(f"{name!r} means different things in different files ({said}); read them apart")
        parts = [table.metrics[name].values if name in table.metrics else np.full(n, np.nan) for table, n in zip(tables, rows, strict=True)]
        metrics[name] = replace(having[0], values=np.concatenate(parts))
    marks = {
        name: np.concatenate(
            [table.marks[name] if name in table.marks else np.zeros(n, dtype=bool) for table, n in zip(tables, rows, strict=True)]
        )
        for name in dict.fromkeys(itertools.chain(*(table.marks for table in tables)))
    }
    shared = tuple(name for name in level_names if all(name in table.shared for table in tables))
    return Table(
        labels=labels,
        levels=positions,
        metrics=metrics,
        marks=marks,
        columns=_joined_columns(tables, rows, (*labels, *level_names)),
        descriptors=_joined_descriptors(tables, extra, levels),
        attrs=_joined_attrs(tables),
        shared=shared,
    )


def _joined_level(name: str, tables: Sequence[Table], levels: Sequence[Mapping[str, int]], rows: Sequence[int]) -> Integers:
    """Return the positions along a level: those that the places of files say, else each file's own, else 0."""
    parts = []
    for table, own, n in zip(tables, levels, rows, strict=True):
        if name in table.levels and name not in own:
            parts.append(table.levels[name])
        else:
            parts.append(np.full(n, own.get(name, 0), dtype=np.intp))
    return np.concatenate(parts)


def _joined_labels(tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], rows: Sequence[int]) -> dict[str, Column]:
    """Code the label columns of all tables with one list of labels; a dim that a table lacks is `unknown` there."""
    names = dict.fromkeys(itertools.chain(*(table.labels for table in tables), *extra))
    joined = {}
    for name in names:
        seen: dict[Any, int] = {}
        recoded: dict[int, Integers] = {}  # Files that share a column: it is coded once.
        parts: list[Integers] = []
        for table, own, n in zip(tables, extra, rows, strict=True):
            column = None if name in own else table.labels.get(name)
            if column is None:
                label = own.get(name, UNKNOWN)
                parts.append(np.full(n, seen.setdefault(label, len(seen)), dtype=np.intp))
                continue
            if id(column) not in recoded:
                remap = np.array([seen.setdefault(label, len(seen)) for label in column.labels], dtype=np.intp)
                recoded[id(column)] = remap[column.codes]
            parts.append(recoded[id(column)])
        joined[name] = Column(codes=np.concatenate(parts), labels=list(seen))
    return joined


def _joined_columns(
    tables: Sequence[Table], rows: Sequence[int], dims: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]:
    """Columns known per row lie on all dims once there are several tables."""
    joined: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {}
    for name in dict.fromkeys(itertools.chain(*(table.columns for table in tables))):
        having = [table.columns[name][1] for table in tables if name in table.columns]
        numeric = all(values.dtype.kind in "iuf" for values in having)
        blank: Any = np.nan if numeric else UNKNOWN
        parts = [
            table.columns[name][1] if name in table.columns else np.full(n, blank, dtype=float if numeric else object)
            for table, n in zip(tables, rows, strict=True)
        ]
        joined[name] = (
            dims if len(tables) > 1 else tables[0].columns[name][0],
            np.concatenate([part.astype(float if numeric else object) for part in parts]),
        )
    return joined


def _joined_descriptors(
    tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], levels: Sequence[Mapping[str, int]]
) -> dict[str, Descriptor]:
    """Descriptors of each table, by its own labels and those that tell the tables apart."""
    joined: dict[str, Descriptor] = {}
    telling = tuple(dict.fromkeys(itertools.chain(*extra, *levels)))
    tails = [tuple({**labels, **positions}[dim] for dim in telling) for labels, positions in zip(extra, levels, strict=True)]
    for name in dict.fromkeys(itertools.chain(*(table.descriptors for table in tables))):
        own = [table.descriptors.get(name, NOT_SAID) for table in tables]
        distinct = {id(descriptor): descriptor for descriptor in own}.values()  # Files of one suite share the object.
        dims = tuple(dict.fromkeys(itertools.chain(*(descriptor.dims for descriptor in distinct))))
        keep = tuple(dict.fromkeys(itertools.chain(*(descriptor.keep for descriptor in distinct))))
        known: dict[tuple[Any, ...], Any] = {}
        merged: set[int] = set()
        for table, descriptor, tail in zip(tables, own, tails, strict=True):
            if not tail and descriptor.dims == dims and descriptor is not NOT_SAID:
                if id(descriptor) not in merged:
                    merged.add(id(descriptor))
                    known.update(completed(descriptor, table).values)
                continue
            for key, value in _spread(completed(descriptor, table), dims, table):
                known[(*key, *tail)] = value
        target = f"{name}_recorded" if name in telling else name
        joined[target] = Descriptor(dims=(*dims, *telling), values=known, keep=keep)
    return joined


def _spread(descriptor: Descriptor, dims: tuple[str, ...], table: Table) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """Return a descriptor's values by all of `dims`, repeating them along those it does not depend on."""
    if descriptor.dims == dims:
        return descriptor.values.items()
    choices = [_labels_along(dim, table) if dim not in descriptor.dims else [None] for dim in dims]
    spread = []
    for key, value in descriptor.values.items():
        given = dict(zip(descriptor.dims, key, strict=True))
        spread += [
            (tuple(given.get(dim, own) for dim, own in zip(dims, combination, strict=True)), value)
            for combination in itertools.product(*choices)
        ]
    return spread


def _labels_along(dim: str, table: Table) -> Sequence[Any]:
    """Return the labels a table has along a dim, or the positions along a level."""
    if dim in table.labels:
        return table.labels[dim].labels
    return range(int(table.levels[dim].max(initial=0)) + 1) if dim in table.levels else range(1)


def _joined_attrs(tables: Sequence[Table]) -> dict[str, Hashable]:
    """Keep what all tables say alike; numbers (of what was passed over) add up."""
    joined: dict[str, Hashable] = {}
    for name in dict.fromkeys(itertools.chain(*(table.attrs for table in tables))):
        values = [table.attrs[name] for table in tables if name in table.attrs]
        if all(isinstance(value, int) for value in values):
            joined[name] = sum(value for value in values if isinstance(value, int))
        elif len(set(values)) == 1:
            joined[name] = values[0]
    return joined

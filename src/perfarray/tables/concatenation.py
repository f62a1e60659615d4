"""Concatenate tables, each with labels (and positions of levels) of its own."""

import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray.conventions import UNKNOWN
from perfarray.numerics.types import Integers, Mask, same_text
from perfarray.tables.build import completed
from perfarray.tables.columns import Column, Descriptor, Metric, Table, level_order, objects
from perfarray.tables.roles import depends_only_on, level_labels
from perfarray.timings.crossed import label_name
from perfarray.timings.validation import listed

# The descriptor of a table that lacks it
UNSTATED = Descriptor(dims=(), values={(): None})


def join_tables(
    tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], levels: Sequence[Mapping[str, int]]
) -> Table:
    """Concatenate tables.

    What was known of a whole table becomes known of its labels; a mark, metric or level that a
    table lacks is False, NaN, or position 0.

    Parameters
    ----------
    tables : sequence of Table
        What was measured, table by table.
    extra : sequence of mapping
        For each table, dim to the label all its rows have.
    levels : sequence of mapping
        For each table, level to the position all its rows have.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        When one name is measured in different units, or better in different directions.
    """
    rows = [len(table) for table in tables]
    labels = {
        name: _joined_label(name, tables, extra, rows)
        for name in _names((table.labels for table in tables), extra)
    }
    level_names = sorted(_names((table.levels for table in tables), levels), key=level_order)
    positions = {name: _joined_level(name, tables, levels, rows) for name in level_names}
    formats = {table.format for table in tables}
    return Table(
        labels=labels,
        levels=positions,
        metrics={
            name: _joined_metric(name, tables, rows)
            for name in _names(table.metrics for table in tables)
        },
        metric=tables[0].metric,
        marks={
            name: _joined_mark(name, tables, rows)
            for name in _names(table.marks for table in tables)
        },
        columns=_joined_columns(tables, rows, labels, positions),
        descriptors=_joined_descriptors(tables, extra, levels),
        format=formats.pop() if len(formats) == 1 else "",
        counts={
            name: sum(table.counts.get(name, 0) for table in tables)
            for name in _names(table.counts for table in tables)
        },
        attrs=_joined_attrs(tables),
        shared=tuple(name for name in level_names if all(name in table.shared for table in tables)),
        notes=tuple(note for table in tables for note in table.notes),
    )


def _names(*groups: Iterable[Iterable[str]]) -> Iterable[str]:
    """Return the distinct names in several mappings, in order of first appearance."""
    return dict.fromkeys(itertools.chain.from_iterable(itertools.chain(*groups)))


def _joined_label(
    name: str, tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], rows: Sequence[int]
) -> Column:
    """Return the labels of all tables along a dim, coded by common labels.

    `unknown` for tables without the dim.
    """
    columns = [
        None if name in fixed else table.labels.get(name)
        for table, fixed in zip(tables, extra, strict=True)
    ]
    labels = [
        [fixed.get(name, UNKNOWN)] if column is None else column.labels
        for column, fixed in zip(columns, extra, strict=True)
    ]
    codes, distinct = pd.factorize(
        objects(list(itertools.chain.from_iterable(labels))), use_na_sentinel=False
    )
    starts = np.cumsum([0, *map(len, labels)])[:-1]
    codes_by_table = [
        np.zeros(n, dtype=np.intp) if column is None else column.codes
        for column, n in zip(columns, rows, strict=True)
    ]
    return Column(
        codes=codes[np.concatenate(codes_by_table) + np.repeat(starts, rows)].astype(
            np.intp, copy=False
        ),
        labels=distinct.tolist(),
    )


def _joined_level(
    name: str, tables: Sequence[Table], levels: Sequence[Mapping[str, int]], rows: Sequence[int]
) -> Integers:
    """Return positions along a level: by the file's place, else each table's own, else 0."""
    return np.concatenate(
        [
            table.levels[name]
            if name in table.levels and name not in fixed
            else np.full(n, fixed.get(name, 0), dtype=np.intp)
            for table, fixed, n in zip(tables, levels, rows, strict=True)
        ]
    )


def _joined_metric(name: str, tables: Sequence[Table], rows: Sequence[int]) -> Metric:
    """Return the values of one metric, NaN where a table lacks it."""
    having = [table.metrics[name] for table in tables if name in table.metrics]
    if len({(metric.units, metric.better) for metric in having}) > 1:
        different = listed(
            sorted({f"{metric.units}, {metric.better or 'neither'} is better" for metric in having})
        )
        raise ValueError(
            f"{name!r} means different things in different files ({different}); read them apart"
        )
    arrays = [
        table.metrics[name].values if name in table.metrics else np.full(n, np.nan)
        for table, n in zip(tables, rows, strict=True)
    ]
    exact = all(metric.exact for metric in having)
    return replace(having[0], values=np.concatenate(arrays), exact=exact)


def _joined_mark(name: str, tables: Sequence[Table], rows: Sequence[int]) -> Mask:
    """Return the rows of one mark, False where a table lacks it."""
    return np.concatenate(
        [
            table.marks.get(name, np.zeros(n, dtype=bool))
            for table, n in zip(tables, rows, strict=True)
        ]
    )


def _joined_columns(
    tables: Sequence[Table],
    rows: Sequence[int],
    labels: Mapping[str, Column],
    levels: Mapping[str, Integers],
) -> dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]:
    """Return columns known per row: on all dims if there are several tables.

    Texts that describe labels of one dim stay there.
    """
    joined: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {}
    names_of_units = {label_name(level): level for level in levels}
    for name in _names(table.columns for table in tables):
        having = [table.columns[name][1] for table in tables if name in table.columns]
        numeric = all(values.dtype.kind in "iuf" for values in having)
        arrays = [
            table.columns[name][1]
            if name in table.columns
            else np.full(n, np.nan)
            if numeric
            else same_text(UNKNOWN, n)
            for table, n in zip(tables, rows, strict=True)
        ]
        values = np.concatenate([array.astype(float if numeric else object) for array in arrays])
        dim_sets = {table.columns[name][0] if name in table.columns else () for table in tables}
        dims = dim_sets.pop() if len(dim_sets) == 1 else ()
        has_one_dim = not numeric and len(dims) == 1 and dims[0] in labels
        same_dims = len(tables) == 1 or (
            has_one_dim and depends_only_on(pd.factorize(values)[0], [labels[dims[0]].codes])
        )
        if name in names_of_units and len(tables) > 1:
            codes, names = pd.factorize(values, use_na_sentinel=False)
            unit_names = level_labels(
                Column(codes=codes, labels=names.tolist()), names_of_units[name], labels, levels
            )
            joined |= {name: unit_names} if unit_names else {}
            continue
        joined[name] = (dims if same_dims else (*labels, *levels), values)
    return joined


def _joined_descriptors(
    tables: Sequence[Table], extra: Sequence[Mapping[str, Any]], levels: Sequence[Mapping[str, int]]
) -> dict[str, Descriptor]:
    """Return the descriptors of all tables.

    They go by their own labels, by those that distinguish tables, and along dims where they differ.
    """
    joined: dict[str, Descriptor] = {}
    telling = tuple(_names(extra, levels))
    tails = [
        tuple({**labels, **positions}[dim] for dim in telling)
        for labels, positions in zip(extra, levels, strict=True)
    ]
    positions: list[dict[str, Sequence[Any]]] = []
    default_labels = {dim: [UNKNOWN] for dim in _names(table.labels for table in tables)}
    for name in _names(table.descriptors for table in tables):
        descriptors = [table.descriptors.get(name, UNSTATED) for table in tables]
        if (
            telling
            and name not in telling
            and (agreed := _agreed(descriptors, tables, telling)) is not None
        ):
            joined[name] = agreed
            continue
        if not telling and len({descriptor.dims for descriptor in descriptors}) == 1:
            # Labels without a value are completed when the array is built.
            dims = descriptors[0].dims
            merged, contradicted = _merged([descriptor.values for descriptor in descriptors], tails)
        else:
            descriptors = [_off_levels(descriptor, telling) for descriptor in descriptors]
            dims, merged, contradicted = (), {}, {()}
        if contradicted:
            positions = positions or _places(tables, telling)
            for dims in _widened(
                tuple(_names({descriptor.dims: None for descriptor in descriptors})),
                tables,
                positions,
            ):
                along = [
                    {dim: default_labels.get(dim, [0]) for dim in dims} | position
                    for position in positions
                ]
                spread = [
                    _spread(completed(descriptor, table), dims, choices)
                    for table, descriptor, choices in zip(tables, descriptors, along, strict=True)
                ]
                merged, contradicted = _merged(spread, tails)
                if not contradicted:
                    break
        target = f"{name}_recorded" if name in telling else name
        unknown = UNKNOWN if any(isinstance(value, str) for value in merged.values()) else None
        values = merged | dict.fromkeys(contradicted, unknown)
        joined[target] = Descriptor(
            dims=(*dims, *telling),
            values=values,
            keep=tuple(_names({descriptor.keep: None for descriptor in descriptors})),
        )
    return joined


def _agreed(
    descriptors: Sequence[Descriptor], tables: Sequence[Table], telling: tuple[str, ...]
) -> Descriptor | None:
    """Return what tables say alike of their labels, whatever tells the tables apart.

    None if they do not, or most share no descriptor.

    Small files of a format share descriptors and lists of labels: each pair is looked at once.
    """
    distinct = {id(descriptor): descriptor for descriptor in descriptors}.values()
    dims, keep = (
        tuple(_names(field))
        for field in zip(
            *((descriptor.dims, descriptor.keep) for descriptor in distinct), strict=True
        )
    )
    if not all(table.labels.keys() >= {*dims} for table in tables) or not {*dims, *keep}.isdisjoint(
        telling
    ):
        return None
    pairs = {
        (id(descriptor), *(id(table.labels[dim].labels) for dim in dims)): (descriptor, table)
        for descriptor, table in zip(descriptors, tables, strict=True)
    }
    if 2 * len(pairs) > len(tables):
        return None
    choices = [{dim: table.labels[dim].labels for dim in dims} for _, table in pairs.values()]
    spread = [
        _spread(completed(descriptor, table), dims, labels)
        for (descriptor, table), labels in zip(pairs.values(), choices, strict=True)
    ]
    merged, contradicted = _merged(spread, [()] * len(spread))
    return None if contradicted else Descriptor(dims=dims, values=merged, keep=keep)


def _places(tables: Sequence[Table], telling: Collection[str]) -> list[dict[str, Sequence[Any]]]:
    """Return the labels of each table along its dims, and its positions along its levels."""
    positions: list[dict[str, Sequence[Any]]] = [
        {dim: column.labels for dim, column in table.labels.items() if dim not in telling}
        for table in tables
    ]
    for name in _names(table.levels for table in tables):
        located = [
            (position, table.levels[name])
            for position, table in zip(positions, tables, strict=True)
            if name in table.levels and len(table)
        ]
        if name not in telling and located:
            codes = np.concatenate([codes for _, codes in located])
            starts = np.cumsum([0, *(len(codes) for _, codes in located)])[:-1]
            firsts, lasts = (
                reduce.reduceat(codes, starts).tolist() for reduce in (np.minimum, np.maximum)
            )
            for (position, _), first, last in zip(located, firsts, lasts, strict=True):
                position[name] = range(first, last + 1)
    return positions


def _widened(
    dims: tuple[str, ...], tables: Sequence[Table], positions: Sequence[Mapping[str, Sequence[Any]]]
) -> Iterator[tuple[str, ...]]:
    """Yield dims that may resolve contradictions.

    First the descriptor's own, then those where each table has one position, then all labels.
    """
    yield dims
    names = [name for name in _names(positions) if name not in dims]
    constant_names = [
        name
        for name in names
        if all(len(position.get(name, (UNKNOWN,))) == 1 for position in positions)
    ]
    yield (*dims, *constant_names)
    labels = _names(table.labels for table in tables)
    yield (*dims, *(name for name in names if name in constant_names or name in labels))


def _merged(
    descriptors: Sequence[Mapping[tuple[Any, ...], Any]], tails: Sequence[tuple[Any, ...]]
) -> tuple[dict[tuple[Any, ...], Any], set[tuple[Any, ...]]]:
    """Return the merged values of all tables, and the keys with contradictions."""
    merged: dict[tuple[Any, ...], Any] = {}
    contradicted = set()
    for descriptor, tail in zip(descriptors, tails, strict=True):
        for key, value in descriptor.items():
            full = (*key, *tail)
            if merged.setdefault(full, value) != value:
                contradicted.add(full)
    return merged, contradicted


def _off_levels(descriptor: Descriptor, telling: tuple[str, ...]) -> Descriptor:
    """Return a descriptor without the dims along which its table has one position."""
    positions = [position for position, dim in enumerate(descriptor.dims) if dim not in telling]
    if len(positions) == len(descriptor.dims):
        return descriptor
    values = {
        tuple(key[position] for position in positions): value
        for key, value in descriptor.values.items()
    }
    return replace(
        descriptor, dims=tuple(descriptor.dims[position] for position in positions), values=values
    )


def _spread(
    descriptor: Descriptor, dims: tuple[str, ...], choices: Mapping[str, Sequence[Any]]
) -> Mapping[tuple[Any, ...], Any]:
    """Return a descriptor's values by all of `dims`, repeated along those it does not depend on."""
    if descriptor.dims == dims:
        return descriptor.values
    along = [choices[dim] if dim not in descriptor.dims else [None] for dim in dims]
    spread = {}
    for labels, value in descriptor.values.items():
        by_dim = dict(zip(descriptor.dims, labels, strict=True))
        for combination in itertools.product(*along):
            spread[
                tuple(
                    by_dim.get(dim, choice) for dim, choice in zip(dims, combination, strict=True)
                )
            ] = value
    return spread


def _joined_attrs(tables: Sequence[Table]) -> dict[str, Hashable]:
    """Return the attrs that agree in all tables that have them."""
    values_by_name = {
        name: [table.attrs[name] for table in tables if name in table.attrs]
        for name in _names(table.attrs for table in tables)
    }
    return {name: values[0] for name, values in values_by_name.items() if alike(values)}


def alike(values: Sequence[Any]) -> bool:
    """Return whether attrs are equal, lists and arrays included."""
    return all(np.array_equal(values[0], value) for value in values[1:])

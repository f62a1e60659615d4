"""Settings and columns that the caller names as dims: `dims={"threads": "threads"}`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, LEVELS, UNKNOWN, plural
from perfarray.numerics.types import Texts
from perfarray.readers import custom, feather, parquet, tidy_csv
from perfarray.readers.labels import OCCURRENCE, PLAIN_NAME
from perfarray.readers.opening import Source
from perfarray.readers.recognising import formats
from perfarray.tables.columns import (
    Column,
    Descriptor,
    Table,
    column_of,
    level_order,
    number_within,
    objects,
)
from perfarray.tables.roles import level_labels
from perfarray.timings.crossed import label_name
from perfarray.timings.validation import listed


def with_dims(source: Source, table: Table) -> Table:
    """Return the table with the settings and columns that the caller named as dims and levels.

    They leave the labels of benchmarks.
    """
    requested = (
        {} if table.format in (custom.NAME, parquet.NAME, feather.NAME) else source.options.dims
    )
    name_by_dim = {
        dim: str(name)
        for dim, name in requested.items()
        if dim != name or dim not in (*table.labels, *table.levels)
    }
    # In a file in which no name is repeated, every entry is the first of its name.
    name_by_dim = {
        dim: name
        for dim, name in name_by_dim.items()
        if name != OCCURRENCE or name in table.descriptors or dim not in LEVELS
    }
    if not name_by_dim:
        return table
    repeated = next((dim for dim in name_by_dim if dim in table.labels), None)
    if repeated is not None:
        raise source.error(
            f"has a dim {repeated!r} of its own; give {name_by_dim[repeated]!r} another name in "
            "dims="
        )
    table, names = _without_settings_in_labels(source, table, name_by_dim), dict[str, Column]()
    for dim, name in name_by_dim.items():
        column = column_of(_values(source, table, name))
        descriptors = {key: value for key, value in table.descriptors.items() if key != name}
        table = replace(
            table,
            descriptors=descriptors,
            columns={key: value for key, value in table.columns.items() if key != name},
        )
        if dim not in LEVELS:
            table = replace(table, labels=table.labels | {dim: column})
        elif dim in table.levels and table.levels[dim].max(initial=0) > 0:
            raise source.error(
                f"holds several {plural(dim)} of its own, so dims={{{dim!r}: {name!r}}} would "
                "be a second level of that name"
            )
        else:
            # Numbers come before texts.
            ranks = {
                label: rank
                for rank, label in enumerate(
                    sorted(column.labels, key=lambda label: (isinstance(label, str), label))
                )
            }
            positions = np.array([ranks[label] for label in column.labels], dtype=np.intp)[
                column.codes
            ]
            table, names[dim] = replace(table, levels=table.levels | {dim: positions}), column
    table = _numbered(table)
    labels_of_levels = {
        label_name(name): level_labels(column, name, table.labels, table.levels)
        for name, column in names.items()
    }
    return replace(
        table,
        columns=table.columns
        | {name: labels for name, labels in labels_of_levels.items() if labels},
    )


def _values(source: Source, table: Table, name: str) -> Texts:
    if name in table.columns:
        values = table.columns[name][1]
        integral = values.dtype.kind == "f" and bool((values % 1 == 0).all())
        return objects((values.astype(int) if integral else values).tolist())
    if name not in table.descriptors:
        names = (
            tidy_csv.header(source.beginning)
            if table.format == tidy_csv.NAME
            else [*table.descriptors, *table.columns]
        )
        raise source.error(
            f"has no setting or column {name!r}; it has {listed(names, 30) or 'none'}"
        )
    descriptor = table.descriptors[name]
    labels = [
        table.levels[dim].tolist()
        if dim in table.levels
        else [table.labels[dim].labels[code] for code in table.labels[dim].codes.tolist()]
        for dim in descriptor.dims
    ]
    keys = zip(*labels, strict=True) if labels else [()] * len(table)
    return objects(
        [UNKNOWN if (value := descriptor.values.get(key)) is None else value for key in keys]
    )


def _without_settings_in_labels(
    source: Source, table: Table, name_by_dim: Mapping[str, str]
) -> Table:
    """Take the settings that become dims out of the labels of benchmarks.

    Other metadata then depends on both.
    """
    label_parts = table.parts.get(BENCHMARK)
    settings = [
        name
        for name in name_by_dim.values()
        if name in table.descriptors and BENCHMARK in table.descriptors[name].dims
    ]
    if label_parts is None or not settings:
        return table
    old_column = table.labels[BENCHMARK]
    plain = table.descriptors[PLAIN_NAME].values if PLAIN_NAME in table.descriptors else {}
    label_parts = [
        entry.without(settings, plain.get((label,), entry.name))
        for entry, label in zip(label_parts, old_column.labels, strict=True)
    ]
    labels = (
        formats()[table.format]
        .agree([replace(table, parts={BENCHMARK: label_parts})])[0]
        .labels[BENCHMARK]
        .labels
    )
    setting_values = [
        tuple(table.descriptors[name].values.get((label,)) for name in settings)
        for label in old_column.labels
    ]
    if len(set(zip(labels, setting_values, strict=True))) < len(labels):
        raise source.error(
            "has benchmarks that nothing would tell apart where dims= takes "
            f"{listed(settings)} out of their names"
        )
    new_column = column_of(labels)
    parts_by_label = dict(zip(labels, label_parts, strict=True))
    by_label = dict(zip(old_column.labels, zip(labels, setting_values, strict=True), strict=True))
    setting_dims = {
        name: dim for dim, name in name_by_dim.items() if name in settings and dim not in LEVELS
    }
    descriptors = {
        name: descriptor
        if BENCHMARK not in descriptor.dims
        else _moved(descriptor, by_label, settings, setting_dims)
        for name, descriptor in table.descriptors.items()
        if name not in settings
    }
    rows = {
        name: ((*table.labels, *table.levels), _values(source, table, name)) for name in settings
    }
    return replace(
        table,
        labels=table.labels
        | {BENCHMARK: Column(codes=new_column.codes[old_column.codes], labels=new_column.labels)},
        parts=table.parts | {BENCHMARK: [parts_by_label[label] for label in new_column.labels]},
        descriptors=descriptors,
        columns=table.columns | rows,
    )


def _moved(
    descriptor: Descriptor,
    by_label: Mapping[Any, Any],
    settings: Sequence[str],
    setting_dims: Mapping[str, str],
) -> Descriptor:
    """Return the metadata of benchmarks by their new labels, and the new dims."""
    axis = descriptor.dims.index(BENCHMARK)
    dims = [name for name in settings if name in setting_dims]
    values: dict[tuple[Any, ...], Any] = {}
    for key, value in descriptor.values.items():
        label, removed_values = by_label[key[axis]]
        added = tuple(
            UNKNOWN if value is None else value
            for name, value in zip(settings, removed_values, strict=True)
            if name in dims
        )
        values.setdefault((*key[:axis], label, *key[axis + 1 :], *added), value)
    return Descriptor(
        dims=(*descriptor.dims, *(setting_dims[name] for name in dims)), values=values
    )


def _numbered(table: Table) -> Table:
    """Number the repetitions again, from 0 inside their new parents."""
    parents = [column.codes for column in table.labels.values()]
    levels = {}
    for name in sorted(table.levels, key=level_order):
        levels[name] = (
            table.levels[name]
            if name in table.shared
            else number_within(parents, table.levels[name])
        )
        parents = [*parents, levels[name]]
    return replace(table, levels=levels)

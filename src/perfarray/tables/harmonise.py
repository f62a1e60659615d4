"""Tables made to agree before they are joined.

Each metric has one unit and name, the dims are the same, and no names collide.
"""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.conventions import CENSORED_AT, THROUGHPUT, TIME, UNKNOWN, seconds_factor
from perfarray.tables.columns import Column, Metric, Table, column_of, constant_column


def finished(tables: Sequence[Table]) -> list[Table]:
    """Bring each metric to one unit where tables differ, and name the main one."""
    tables = _same_units(tables)
    mains = {
        table.metric if table.metric in table.metrics else _main(table.metrics) for table in tables
    }
    main = mains.pop() if len(mains) == 1 else _main(mains)
    return [table if table.metric == main else replace(table, metric=main) for table in tables]


def _main(metrics: Iterable[str]) -> str:
    """Return the default metric of several."""
    names = sorted(metrics)
    return next((name for name in (TIME, THROUGHPUT) if name in names), names[0])


def _same_units(tables: Sequence[Table]) -> list[Table]:
    """Convert rates to rates per second where tables differ.

    Metrics of one name and different kinds are renamed by their unit.
    """
    units: dict[str, set[str]] = {}
    for table in tables:
        for name, metric in table.metrics.items():
            units.setdefault(name, set()).add(metric.units)
    differing = {
        name
        for name, distinct_units in units.items()
        if len(distinct_units) > 1 or {f"{name}_{TIME}", f"{name}_{THROUGHPUT}"} & units.keys()
    }
    if not differing:
        return list(tables)
    split = {
        name
        for name in differing
        if len(units[name]) == 1 or len({per_second(unit)[0] for unit in units[name]}) > 1
    }
    converted = [
        dict(_converted(name, metric, differing, split) for name, metric in table.metrics.items())
        for table in tables
    ]
    return [
        replace(table, metrics=metrics, columns=_limits_converted(table, differing))
        for table, metrics in zip(tables, converted, strict=True)
    ]


def _limits_converted(
    table: Table, differing: Collection[str]
) -> dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]:
    """Return a table's columns with limits of stopped runs converted like its main metric."""
    main = table.metric if table.metric in table.metrics else _main(table.metrics)
    if CENSORED_AT not in table.columns or main not in differing:
        return table.columns
    dims, limits = table.columns[CENSORED_AT]
    return table.columns | {CENSORED_AT: (dims, limits * per_second(table.metrics[main].units)[1])}


def _converted(
    name: str, metric: Metric, differing: Collection[str], split: Collection[str]
) -> tuple[str, Metric]:
    """Return a metric in the common unit, and its common name."""
    if name not in differing:
        return name, metric
    unit, factor = per_second(metric.units)
    kind = _kind(unit)
    return f"{name}_{kind}" if name in split and kind != name else name, replace(
        metric, values=metric.values * factor, units=unit
    )


def _kind(unit: str) -> str:
    """Name a kind of metric by its unit."""
    if seconds_factor(unit) is not None:
        return TIME
    return THROUGHPUT if unit.startswith("ops/") else re.sub(r"\W+", "_", unit)


def per_second(unit: str) -> tuple[str, float]:
    """Return a rate per second for a rate such as `ops/ms`, and the factor.

    Other units are returned as they are.

    Examples
    --------
    >>> per_second("ops/ms"), per_second("B")
    (('ops/s', 1000.0), ('B', 1.0))
    """
    quantity, _, per = unit.partition("/")
    factor = seconds_factor(per)
    return (unit, 1.0) if factor is None else (f"{quantity}/s", 1.0 / factor)


def rename_labels(table: Table, dim: str, labels: Mapping[Any, Any]) -> Table:
    """Return the table with other labels along one dim."""
    if all(old == new for old, new in labels.items()):
        return table
    column = table.labels[dim]
    descriptors = {}
    for name, descriptor in table.descriptors.items():
        if dim in descriptor.dims:
            at = descriptor.dims.index(dim)
            descriptor = replace(
                descriptor,
                values={
                    (*key[:at], labels[key[at]], *key[at + 1 :]): value
                    for key, value in descriptor.values.items()
                },
            )
        descriptors[name] = descriptor
    renamed = Column(codes=column.codes, labels=[labels[label] for label in column.labels])
    return replace(table, labels=table.labels | {dim: renamed}, descriptors=descriptors)


def promoted(table: Table, dims: Collection[str]) -> Table:
    """Return the table with descriptors turned into dims that another table has."""
    for name in set(dims) - table.labels.keys():
        descriptor = table.descriptors.get(name)
        if descriptor is None or not set(descriptor.dims) <= table.labels.keys():
            continue
        columns = [table.labels[dim] for dim in descriptor.dims]
        cells = (
            np.stack([column.codes for column in columns], axis=1)
            if columns
            else np.zeros((len(table), 1), dtype=np.intp)
        )
        distinct, inverse = np.unique(cells, axis=0, return_inverse=True)
        keys = (
            tuple(column.labels[code] for column, code in zip(columns, codes, strict=False))
            for codes in distinct
        )
        values = column_of(
            UNKNOWN if (value := descriptor.values.get(key)) is None else value for key in keys
        )
        label = Column(codes=values.codes[inverse.reshape(-1)], labels=values.labels)
        remaining = {key: value for key, value in table.descriptors.items() if key != name}
        table = replace(table, labels=table.labels | {name: label}, descriptors=remaining)
    return table


def without_clashes(table: Table, reserved: Collection[str]) -> Table:
    """Rename descriptors and columns whose names are dims or metrics of the joined table."""
    clashing = set(reserved) & (table.descriptors.keys() | table.columns.keys())
    if not clashing:
        return table
    descriptors = {
        f"{name}_recorded" if name in clashing else name: value
        for name, value in table.descriptors.items()
    }
    columns = {
        f"{name}_recorded" if name in clashing else name: value
        for name, value in table.columns.items()
    }
    return replace(table, descriptors=descriptors, columns=columns)


def collide(tables: Sequence[Table], locations: Sequence[Hashable]) -> bool:
    """Return whether two tables with the same location have a measurement on the same cell."""
    dims = sorted({name for table in tables for name in table.labels})
    varying = [
        name
        for name in dims
        if any(name in table.labels and len(table.labels[name].labels) != 1 for table in tables)
    ]
    fixed = [name for name in dims if name not in varying]
    # Only tables that agree on the dims with one label each can collide; their cells alone are
    # compared.
    meeting: dict[tuple[Any, ...], list[Table]] = {}
    for table, location in zip(tables, locations, strict=True):
        labels = tuple(
            table.labels[name].labels[0] if name in table.labels else UNKNOWN for name in fixed
        )
        meeting.setdefault((location, labels), []).append(table)
    return any(_overlap(group, varying) for group in meeting.values() if len(group) > 1)


def _overlap(tables: Sequence[Table], dims: Sequence[str]) -> bool:
    """Return whether two tables have a measurement on the same cell along `dims`."""
    occupied: set[tuple[Any, ...]] = set()
    for table in tables:
        cells = _cells(table, dims)
        if not occupied.isdisjoint(cells):
            return True
        occupied |= cells
    return False


def _cells(table: Table, dims: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the combinations of labels a table has measurements of."""
    unknown_column = constant_column(UNKNOWN, len(table))
    columns = [table.labels.get(name, unknown_column) for name in dims]
    varying = [column for column in columns if len(column.labels) > 1]
    if len(varying) <= 1:
        return set(product(*(column.labels for column in columns)))
    codes = np.unique(np.stack([column.codes for column in columns], axis=1), axis=0).tolist()
    return {
        tuple(column.labels[code] for column, code in zip(columns, row, strict=True))
        for row in codes
    }

"""Tables of many files become one: places give labels, names and units are made to agree, files of one place are told apart."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from perfarray.conventions import LEVELS, METRIC, THROUGHPUT, TIME, UNKNOWN, seconds_factor
from perfarray.numerics.types import Integers
from perfarray.readers.finding import Found
from perfarray.readers.opening import FileError
from perfarray.readers.recognising import formats
from perfarray.tables.build import Column, Descriptor, Table, column_of, constant_column, join_tables, number_within
from perfarray.timings.validation import listed


def combine(tables: Sequence[Table], kept: Sequence[Found]) -> Table:
    """Join the tables along what their places say; files that share a cell get a dim `file`."""
    tables = finished(_agreed(tables))
    own = {name for table in tables for name in table.labels}
    tables = [_promoted(_placed(table, one, own), own) for table, one in zip(tables, kept, strict=True)]
    extra = [{name: label for name, label in one.labels.items() if name not in LEVELS} for one in kept]
    levels = [{name: label for name, label in one.labels.items() if name in LEVELS} for one in kept]
    extra = [{name: label for name, label in labels.items() if name not in own} for labels in extra]
    places = [_place(table, one, own) for table, one in zip(tables, kept, strict=True)]
    if _collide(tables, places):
        if any("file" in one.labels for one in kept):
            raise ValueError(
                "several files of one label of dim 'file' hold the same benchmarks, and files that share a cell would be told apart by "
                "that dim; name another, as in dim='version'"
            )
        files = _file_labels(tables, kept, places)
        extra = [{**labels, "file": file} for labels, file in zip(extra, files, strict=True)]
    taken = own.union(*extra, *(table.metrics for table in tables))
    tables = [_without_clashes(table, taken) for table in tables]
    return join_tables(tables, extra, _positions(extra, levels))


def finished(tables: Sequence[Table]) -> list[Table]:
    """Bring each metric to one unit where files differ, and name the main one."""
    tables = _same_units(tables)
    mains = {str(table.attrs[METRIC] if table.attrs.get(METRIC) in table.metrics else _main(table.metrics)) for table in tables}
    main = mains.pop() if len(mains) == 1 else _main(mains)
    return [table if table.attrs.get(METRIC) == main else replace(table, attrs=table.attrs | {METRIC: main}) for table in tables]


def _main(metrics: Iterable[str]) -> str:
    """Return which of several metrics is meant when none is named."""
    names = sorted(metrics)
    return next((name for name in (TIME, THROUGHPUT) if name in names), names[0])


def _same_units(tables: Sequence[Table]) -> list[Table]:
    """Convert rates to one per second where files have several; a metric that is something else in another file gets its unit's name."""
    units: dict[str, set[str]] = {}
    for table in tables:
        for name, metric in table.metrics.items():
            units.setdefault(name, set()).add(metric.units)
    differing = {name for name, found in units.items() if len(found) > 1 or {f"{name}_{TIME}", f"{name}_{THROUGHPUT}"} & units.keys()}
    if not differing:
        return list(tables)
    common = {name: {per_second(unit)[0] for unit in units[name]} for name in differing}
    converted = []
    for table in tables:
        metrics = {}
        for name, metric in table.metrics.items():
            if name not in differing:
                metrics[name] = metric
                continue
            unit, factor = per_second(metric.units)
            kind = _kind(unit)
            split = len(units[name]) == 1 or len(common[name]) > 1
            metrics[f"{name}_{kind}" if split and kind != name else name] = replace(metric, values=metric.values * factor, units=unit)
        converted.append(replace(table, metrics=metrics))
    return converted


def _kind(unit: str) -> str:
    """Name a kind of metric by its unit."""
    if seconds_factor(unit) is not None:
        return TIME
    return THROUGHPUT if unit.startswith("ops/") else re.sub(r"\W+", "_", unit)


def per_second(unit: str) -> tuple[str, float]:
    """Return a rate such as `ops/ms` as `ops/s` and the factor; a unit that is no rate of time stays.

    Parameters
    ----------
    unit : str
        A unit.

    Returns
    -------
    tuple of str and float

    Examples
    --------
    >>> per_second("ops/ms"), per_second("B")
    (('ops/s', 1000.0), ('B', 1.0))
    """
    what, _, per = unit.partition("/")
    factor = seconds_factor(per)
    return (unit, 1.0) if factor is None else (f"{what}/s", 1.0 / factor)


def _agreed(tables: Sequence[Table]) -> list[Table]:
    """Let each format name the benchmarks of its files alike."""
    agreed = list(tables)
    for name, known in formats().items():
        own = [index for index, table in enumerate(tables) if table.attrs.get("format") == name]
        if known.agree is not None and len(own) > 1:
            for index, table in zip(own, known.agree([tables[index] for index in own]), strict=True):
                agreed[index] = table
    return agreed


def rename_labels(table: Table, dim: str, labels: Mapping[Any, Any]) -> Table:
    """Return the table with other labels along one dim."""
    column = table.labels[dim]
    descriptors = {}
    for name, descriptor in table.descriptors.items():
        if dim in descriptor.dims:
            at = descriptor.dims.index(dim)
            descriptor = replace(
                descriptor, values={(*key[:at], labels[key[at]], *key[at + 1 :]): value for key, value in descriptor.values.items()}
            )
        descriptors[name] = descriptor
    renamed = Column(codes=column.codes, labels=[labels[label] for label in column.labels])
    return replace(table, labels=table.labels | {dim: renamed}, descriptors=descriptors)


def check_place(table: Table, one: Found) -> None:
    """Raise where what a file's place says contradicts the file."""
    for name, label in one.labels.items():
        if name in table.metrics or name in table.marks:
            raise FileError(f"{one.path}: its place names {name!r}, which is a variable of the file; name the dim otherwise")
        if name in table.levels and table.levels[name].max(initial=0) > 0:
            raise FileError(
                f"{one.path}: the layout names the level {name!r}, but the file holds several of its own; name another level or a dim"
            )
        if name in table.labels and len(table.labels[name].labels) > 1:
            raise FileError(
                f"{one.path}: its place says {name}={label!r}, but the file holds several: {listed(table.labels[name].labels, 5)}"
            )


def _placed(table: Table, one: Found, dims: Collection[str]) -> Table:
    """Give dims of the files themselves the label a file's place has for it; what the file calls it stays as a coordinate."""
    for name in [name for name in one.labels if name in dims]:
        label = one.labels[name]
        said = table.labels[name].labels[0] if name in table.labels else label
        if name not in table.labels:
            table = replace(table, labels=table.labels | {name: constant_column(label, len(table))})
        elif said != label:
            table = rename_labels(table, name, {said: label})
            recorded = Descriptor(dims=(name,), values={(label,): str(said)})
            table = replace(table, descriptors=table.descriptors | {f"{name}_recorded": recorded})
    return table


def _promoted(table: Table, dims: set[str]) -> Table:
    """Make dims of descriptors that are dims in another file."""
    for name in dims - table.labels.keys():
        descriptor = table.descriptors.get(name)
        if descriptor is None or not set(descriptor.dims) <= table.labels.keys():
            continue
        columns = [table.labels[dim] for dim in descriptor.dims]
        cells = np.stack([column.codes for column in columns], axis=1) if columns else np.zeros((len(table), 0), dtype=np.intp)
        distinct, inverse = np.unique(cells, axis=0, return_inverse=True) if columns else (cells[:1], np.zeros(len(table), dtype=np.intp))
        said = [
            descriptor.values.get(tuple(column.labels[code] for column, code in zip(columns, codes, strict=True))) for codes in distinct
        ]
        labels = column_of(UNKNOWN if value is None else value for value in said)
        promoted = Column(codes=labels.codes[inverse.reshape(-1)], labels=labels.labels)
        others = {key: value for key, value in table.descriptors.items() if key != name}
        table = replace(table, labels=table.labels | {name: promoted}, descriptors=others)
    return table


def _without_clashes(table: Table, taken: set[str]) -> Table:
    """Rename what a file says of its labels where the name is a dim or a metric of the whole."""
    clashing = taken & (table.descriptors.keys() | table.columns.keys())
    if not clashing:
        return table
    descriptors = {f"{name}_recorded" if name in clashing else name: value for name, value in table.descriptors.items()}
    columns = {f"{name}_recorded" if name in clashing else name: value for name, value in table.columns.items()}
    return replace(table, descriptors=descriptors, columns=columns)


def _place(table: Table, one: Found, dims: Collection[str]) -> tuple[Any, ...]:
    """Return what tells a file from others as a whole: what its path says, and its number where it is not the first of a level."""
    said = tuple((name, label) for name, label in one.labels.items() if name not in dims)
    later = tuple(
        (name, int(codes[0])) for name, codes in table.levels.items() if len(codes) and codes[0] > 0 and (codes == codes[0]).all()
    )
    return said + later


def _collide(tables: Sequence[Table], places: Sequence[tuple[Any, ...]]) -> bool:
    """Say whether two files of the same place have a measurement on the same cell."""
    dims = sorted({name for table in tables for name in table.labels})
    varying = [name for name in dims if any(name in table.labels and len(table.labels[name].labels) != 1 for table in tables)]
    fixed = [name for name in dims if name not in varying]
    # Only files with the same labels along the dims that vary in no file can meet: few, and only their cells are looked at.
    meeting: dict[tuple[Any, ...], list[Table]] = {}
    for table, place in zip(tables, places, strict=True):
        labels = tuple(table.labels[name].labels[0] if name in table.labels else UNKNOWN for name in fixed)
        meeting.setdefault((place, labels), []).append(table)
    return any(_overlap(own, varying) for own in meeting.values() if len(own) > 1)


def _overlap(tables: Sequence[Table], dims: Sequence[str]) -> bool:
    """Say whether two files have a measurement on the same cell of some dims."""
    seen: set[tuple[Any, ...]] = set()
    for table in tables:
        cells = _cells(table, dims)
        if not seen.isdisjoint(cells):
            return True
        seen |= cells
    return False


def _cells(table: Table, dims: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the combinations of labels a table has measurements of."""
    absent = constant_column(UNKNOWN, len(table))
    columns = [table.labels.get(name, absent) for name in dims]
    varying = [column for column in columns if len(column.labels) > 1]
    if len(varying) <= 1:
        return set(product(*(column.labels for column in columns)))
    codes = np.unique(np.stack([column.codes for column in columns], axis=1), axis=0).tolist()
    return {tuple(column.labels[code] for column, code in zip(columns, row, strict=True)) for row in codes}


def _file_labels(tables: Sequence[Table], kept: Sequence[Found], places: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return what tells files of one place apart: their folders if that is enough, else their paths."""
    folders = [one.label.rpartition("/")[0] or "." for one in kept]
    apart = [(*place, folder) for place, folder in zip(places, folders, strict=True)]
    return [one.label for one in kept] if _collide(tables, apart) else folders


def _positions(extra: Sequence[Mapping[str, Any]], levels: Sequence[Mapping[str, str]]) -> list[dict[str, int]]:
    """Number level labels from paths from 0 inside their parent, 9 before 10."""
    places: list[dict[str, int]] = [{} for _ in levels]
    parents = [column_of(tuple(sorted((name, str(label)) for name, label in own.items() if name != "file")) for own in extra).codes]
    for name in [name for name in LEVELS if any(name in own for own in levels)]:
        numbers = number_within(parents, _ranks([own.get(name, "0") for own in levels]))
        for place, number in zip(places, numbers, strict=True):
            place[name] = int(number)
        parents = [*parents, numbers]
    return places


def _ranks(labels: Sequence[str]) -> Integers:
    """Return the place of each label among all, numbers inside them by value."""
    order = {label: rank for rank, label in enumerate(sorted(set(labels), key=_natural))}
    return np.array([order[label] for label in labels], dtype=np.intp)


def _natural(label: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts `run9` before `run10`."""
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", label) if part]

"""Join the tables of many files: labels of paths, names, units, and a dim `file`."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, HISTORY, LEVELS, UNKNOWN
from perfarray.numerics.types import Integers
from perfarray.readers.finding import InputFile, compared_labels
from perfarray.readers.opening import FileError
from perfarray.readers.recognising import formats
from perfarray.tables.columns import (
    Column,
    Descriptor,
    Table,
    column_of,
    constant_column,
    joint_codes,
    number_within,
)
from perfarray.tables.concatenation import join_tables
from perfarray.tables.harmonise import collide, finished, promoted, rename_labels, without_clashes
from perfarray.timings.crossed import label_name
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed


def combine(tables: Sequence[Table], files: Sequence[InputFile]) -> Table:
    """Join the tables along the labels of their paths; files that share a cell get a dim `file`."""
    tables = finished(_agreed(tables))
    if _along_history(tables, files):
        files = [file._replace(labels={}) for file in files]
    elif labels_of_files := _labels_of_files(tables, files):
        tables = [
            replace(table, descriptors=table.descriptors | {"file": descriptor})
            for table, descriptor in zip(tables, labels_of_files, strict=True)
        ]
        files = [file._replace(labels={}) for file in files]
    file_dims = {name for table in tables for name in table.labels}
    tables = [
        promoted(_relabelled(table, file, file_dims), file_dims)
        for table, file in zip(tables, files, strict=True)
    ]
    extra_labels = [
        {
            name: label
            for name, label in file.labels.items()
            if name not in LEVELS and name not in file_dims
        }
        for file in files
    ]
    locations = [
        _location(table, file, file_dims) for table, file in zip(tables, files, strict=True)
    ]
    if collide(tables, locations):
        if any("file" in compared_labels(file) for file in files):
            raise ValueError(
                "several files of one label of dim 'file' hold the same benchmarks. The dim "
                "'file' cannot tell them apart too. Name another, as in dim='version'"
            )
        file_labels = _file_labels(tables, files, locations)
        extra_labels = [
            {**labels, "file": label}
            for labels, label in zip(extra_labels, file_labels, strict=True)
        ]
    # A file whose content states its labels has none from its path; among files that have one, its
    # label is unknown.
    absent = dict.fromkeys(itertools.chain(*extra_labels), UNKNOWN)
    extra_labels = [absent | labels for labels in extra_labels]
    positions, notes = _positions(files)
    level_labels = _level_labels(files, positions)
    names = file_dims.union(*extra_labels, *level_labels, *(table.metrics for table in tables))
    tables = [without_clashes(table, names) for table in tables]
    tables = [
        replace(table, descriptors=table.descriptors | labels)
        for table, labels in zip(tables, level_labels, strict=True)
    ]
    joined = join_tables(tables, extra_labels, positions)
    return _in_given_order(
        replace(joined, notes=(*joined.notes, *notes)), [len(table) for table in tables], files
    )


def _along_history(tables: Sequence[Table], files: Sequence[InputFile]) -> bool:
    """Return whether each file is one commit, date or build without other labels."""
    stated = any(
        all(name in table.labels and len(table.labels[name].labels) == 1 for table in tables)
        for name in HISTORY
    )
    return stated and all(file.labels == {"file": file.label} for file in files)


def _labels_of_files(tables: Sequence[Table], files: Sequence[InputFile]) -> list[Descriptor]:
    """Return the label of each file by labels of its content that no other file has.

    These are the labels of one dim, or those of all dims along which each file has one label.
    """
    if len(files) < 2 or any(file.labels != {"file": file.label} for file in files):
        return []
    if any("file" in (*table.labels, *table.columns, *table.descriptors) for table in tables):
        return []
    dims = [
        name
        for name in tables[0].labels
        if name != BENCHMARK and all(name in table.labels for table in tables)
    ]
    constant = tuple(
        name for name in dims if all(len(table.labels[name].labels) == 1 for table in tables)
    )
    for names in [*((name,) for name in dims), constant]:
        combinations = [
            set(itertools.product(*(table.labels[name].labels for name in names)))
            for table in tables
        ]
        if len(set().union(*combinations)) == sum(map(len, combinations)):
            return [
                Descriptor(dims=names, values=dict.fromkeys(keys, file.label))
                for keys, file in zip(combinations, files, strict=True)
            ]
    return []


def _in_given_order(joined: Table, rows: Sequence[int], files: Sequence[InputFile]) -> Table:
    """Put the labels of dims along which each file has one into the caller's order of files.

    Benchmarks only if paths name them.
    """
    sequence = np.argsort([file.order for file in files], kind="stable")
    if (sequence == np.arange(len(files))).all():
        return joined
    starts = np.cumsum(rows) - rows
    labels = dict(joined.labels)
    for name, column in joined.labels.items():
        codes = column.codes[starts]
        ordered = name != BENCHMARK or any(name in file.labels for file in files)
        if ordered and (np.repeat(codes, rows) == column.codes).all():
            code_order = np.array(list(dict.fromkeys(codes[sequence].tolist())))
            labels[name] = Column(
                codes=np.argsort(code_order)[column.codes],
                labels=[column.labels[code] for code in code_order],
            )
    return replace(joined, labels=labels)


def _agreed(tables: Sequence[Table]) -> list[Table]:
    agreed = list(tables)
    for name, file_format in formats().items():
        indices = [index for index, table in enumerate(tables) if table.format == name]
        if len(indices) > 1:
            for index, table in zip(
                indices, file_format.agree([tables[index] for index in indices]), strict=True
            ):
                agreed[index] = table
    return agreed


def check_location(table: Table, file: InputFile) -> None:
    """Raise where the labels of a file's path contradict its content."""
    for name, label in file.labels.items():
        if name in table.metrics or name in table.marks:
            raise FileError(
                f"{file.path}: its place names {name!r}, which is a variable of the file; name "
                "the dim otherwise"
            )
        if name in table.levels and table.levels[name].max(initial=0) > 0:
            raise FileError(
                f"{file.path}: the layout names the level {name!r}, but the file holds several "
                "of its own. Name another level or a dim"
            )
        if name in table.labels and len(table.labels[name].labels) > 1:
            raise FileError(
                f"{file.path}: its place says {name}={label!r}, but the file holds several: "
                f"{listed(table.labels[name].labels, 5)}"
            )


def _relabelled(table: Table, file: InputFile, dims: Collection[str]) -> Table:
    """Label a file along dims of the content as its path does.

    The content's own label becomes the coordinate `<dim>_recorded`.
    """
    for name in [name for name in file.labels if name in dims]:
        label = file.labels[name]
        recorded = table.labels[name].labels[0] if name in table.labels else label
        if name not in table.labels:
            table = replace(table, labels=table.labels | {name: constant_column(label, len(table))})
        elif recorded != label:
            table = rename_labels(table, name, {recorded: label})
            descriptor = Descriptor(dims=(name,), values={(label,): str(recorded)})
            table = replace(table, descriptors=table.descriptors | {f"{name}_recorded": descriptor})
    return table


def _location(table: Table, file: InputFile, dims: Collection[str]) -> tuple[Any, ...]:
    """Return what identifies a file: labels of its path, and shared numbers of levels."""
    labels = [(name, label) for name, label in file.labels.items() if name not in dims]
    numbers = [
        (name, int(codes[0]))
        for name, codes in table.levels.items()
        if len(codes) and codes[0] > 0 and (codes == codes[0]).all()
    ]
    return (*labels, *numbers)


def _file_labels(
    tables: Sequence[Table], files: Sequence[InputFile], locations: Sequence[tuple[Any, ...]]
) -> list[str]:
    """Return labels that distinguish files of one location: folders, else paths."""
    if any("file" in file.labels for file in files):
        return [file.label for file in files]
    folders = [file.label.rpartition("/")[0] or "." for file in files]
    in_folders = [(*location, folder) for location, folder in zip(locations, folders, strict=True)]
    return [file.label for file in files] if collide(tables, in_folders) else folders


def _positions(files: Sequence[InputFile]) -> tuple[list[dict[str, int]], list[Note]]:
    """Number the level labels of paths from 0, in natural order.

    Labels are numbered inside each compared side where no two sides share one, or where common
    numbers would leave most cells empty.
    """
    file_labels = [file.labels for file in files]
    compared = sorted(
        {name for stated in file_labels for name in stated} - {BENCHMARK, "file", *LEVELS}
    )
    parents = [
        column_of(str(stated.get(name, "")) for stated in file_labels).codes for name in compared
    ]
    positions: list[dict[str, int]] = [{} for _ in files]
    ancestors: list[Integers] = []
    notes: list[Note] = []
    shared = True
    for name in [name for name in LEVELS if any(name in stated for stated in file_labels)]:
        labels = _ranks([str(stated.get(name, "0")) for stated in file_labels])
        inside, overall = (
            number_within([*parents, *ancestors], labels),
            number_within(ancestors, labels),
        )
        common = shared and _n_distinct([*ancestors, labels]) < _n_distinct(
            [*parents, *ancestors, labels]
        )
        shared = common and overall.max() < 2 * (inside.max() + 1)
        if common and not shared:
            values = {
                "level": name,
                "labels": int(overall.max()) + 1,
                "most": int(inside.max()) + 1,
            }
            sentence = (
                f"paths name {values['labels']} different labels of {name!r}, at most "
                f"{values['most']} of them together. {name} numbers start again inside "
                f"{listed(compared)}. {name}_label holds the labels."
            )
            notes.append(Note("numbering", sentence, values))
        ancestors = [*ancestors, overall if shared else inside]
        for position, number in zip(positions, ancestors[-1], strict=True):
            position[name] = int(number)
    return positions, notes


def _n_distinct(columns: Sequence[Integers]) -> int:
    return len(np.unique(joint_codes(columns)[0]))


def _level_labels(
    files: Sequence[InputFile], positions: Sequence[Mapping[str, int]]
) -> list[dict[str, Descriptor]]:
    pairs = zip(files, positions, strict=True)
    # The label of an outermost unit that equals its number tells nothing.
    names = {
        name
        for file, numbers in pairs
        for rank, (name, number) in enumerate(numbers.items())
        if (rank and name in file.labels) or file.labels.get(name) != str(number)
    }
    return [
        {
            label_name(name): Descriptor(dims=(), values={(): file.labels.get(name)}, keep=(name,))
            for name in LEVELS
            if name in names
        }
        for file in files
    ]


def _ranks(labels: Sequence[str]) -> Integers:
    """Return the rank of each label in natural order: 9 before 10."""
    names = sorted(set(labels))
    if len(names) > 1:
        from natsort import natsorted  # it takes as long to load as two small files to read

        names = natsorted(names)
    ranks = {label: rank for rank, label in enumerate(names)}
    return np.array([ranks[label] for label in labels], dtype=np.intp)

"""Tables of many files become one: places give labels, names and units are made to agree, files of one place are told apart."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, HISTORY, LEVELS, UNKNOWN
from perfarray.numerics.types import Integers
from perfarray.readers.finding import Found, compared_labels
from perfarray.readers.opening import FileError
from perfarray.readers.recognising import formats
from perfarray.tables.columns import Column, Descriptor, Table, column_of, constant_column, joint_codes, number_within
from perfarray.tables.harmonise import collide, finished, promoted, rename_labels, without_clashes
from perfarray.tables.join import join_tables
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed


def combine(tables: Sequence[Table], kept: Sequence[Found]) -> Table:
    """Join the tables along what their places say; files that share a cell get a dim `file`."""
    tables = finished(_agreed(tables))
    if _along_history(tables, kept):
        kept = [file._replace(labels={}) for file in kept]
    own = {name for table in tables for name in table.labels}
    tables = [promoted(_placed(table, one, own), own) for table, one in zip(tables, kept, strict=True)]
    extra = [{name: label for name, label in one.labels.items() if name not in LEVELS and name not in own} for one in kept]
    places = [_place(table, one, own) for table, one in zip(tables, kept, strict=True)]
    if collide(tables, places):
        if any("file" in compared_labels(one) for one in kept):
            raise ValueError(
                "several files of one label of dim 'file' hold the same benchmarks, and files that share a cell would be told apart by "
                "that dim; name another, as in dim='version'"
            )
        files = _file_labels(tables, kept, places)
        extra = [{**labels, "file": file} for labels, file in zip(extra, files, strict=True)]
    # A file that says itself where it belongs has no label of its path: beside files that have one, it is as any dim that a file lacks.
    absent = dict.fromkeys(itertools.chain(*extra), UNKNOWN)
    extra = [absent | labels for labels in extra]
    positions, notes = _positions(kept)
    called = _level_labels(kept, positions)
    taken = own.union(*extra, *called, *(table.metrics for table in tables))
    tables = [without_clashes(table, taken) for table in tables]
    tables = [replace(table, descriptors=table.descriptors | said) if said else table for table, said in zip(tables, called, strict=True)]
    joined = join_tables(tables, extra, positions)
    return _as_given(replace(joined, notes=(*joined.notes, *notes)), [len(table) for table in tables], kept)


def _along_history(tables: Sequence[Table], kept: Sequence[Found]) -> bool:
    """Return whether each file is one commit (date, build) and has no other label than its path: it then lies along the commits alone."""
    stated = any(all(name in table.labels and len(table.labels[name].labels) == 1 for table in tables) for name in HISTORY)
    return stated and all(file.labels == {"file": file.label} for file in kept)


def _as_given(joined: Table, rows: Sequence[int], kept: Sequence[Found]) -> Table:
    """Order the labels along dims of which each file has one as the caller gave the files; benchmarks if their places name them."""
    given = np.argsort([one.order for one in kept], kind="stable")
    if (given == np.arange(len(kept))).all():
        return joined
    starts = np.cumsum(rows) - rows
    labels = dict(joined.labels)
    for name, column in joined.labels.items():
        own = column.codes[starts]
        placed = name != BENCHMARK or any(name in one.labels for one in kept)
        if placed and (np.repeat(own, rows) == column.codes).all():
            before = np.array(list(dict.fromkeys(own[given].tolist())))
            labels[name] = Column(codes=np.argsort(before)[column.codes], labels=[column.labels[code] for code in before])
    return replace(joined, labels=labels)


def _agreed(tables: Sequence[Table]) -> list[Table]:
    """Let each format make what its files say agree."""
    agreed = list(tables)
    for name, known in formats().items():
        own = [index for index, table in enumerate(tables) if table.format == name]
        if len(own) > 1:
            for index, table in zip(own, known.agree([tables[index] for index in own]), strict=True):
                agreed[index] = table
    return agreed


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
        recorded = table.labels[name].labels[0] if name in table.labels else label
        if name not in table.labels:
            table = replace(table, labels=table.labels | {name: constant_column(label, len(table))})
        elif recorded != label:
            table = rename_labels(table, name, {recorded: label})
            before = Descriptor(dims=(name,), values={(label,): str(recorded)})
            table = replace(table, descriptors=table.descriptors | {f"{name}_recorded": before})
    return table


def _place(table: Table, one: Found, dims: Collection[str]) -> tuple[Any, ...]:
    """Return what tells a file from others as a whole: what its path says, and its number where it is not the first of a level."""
    stated = tuple((name, label) for name, label in one.labels.items() if name not in dims)
    later = tuple(
        (name, int(codes[0])) for name, codes in table.levels.items() if len(codes) and codes[0] > 0 and (codes == codes[0]).all()
    )
    return stated + later


def _file_labels(tables: Sequence[Table], kept: Sequence[Found], places: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return what tells files of one place apart: their folders if that is enough and none has its path as a label, else their paths."""
    if any("file" in one.labels for one in kept):
        return [one.label for one in kept]
    folders = [one.label.rpartition("/")[0] or "." for one in kept]
    apart = [(*place, folder) for place, folder in zip(places, folders, strict=True)]
    return [one.label for one in kept] if collide(tables, apart) else folders


def _positions(kept: Sequence[Found]) -> tuple[list[dict[str, int]], list[Note]]:
    """Number level labels from paths from 0, 9 before 10: one label is one number, whatever is compared and for every benchmark.

    Those that nothing shares are numbered inside what is compared, and so are those that would leave most of the array empty.
    """
    stated = [one.labels for one in kept]
    compared = sorted({name for own in stated for name in own} - {BENCHMARK, "file", *LEVELS})
    parents = [column_of(str(own.get(name, "")) for own in stated).codes for name in compared]
    places: list[dict[str, int]] = [{} for _ in kept]
    above: list[Integers] = []
    notes: list[Note] = []
    together = True
    for name in [name for name in LEVELS if any(name in own for own in stated)]:
        labels = _ranks([str(own.get(name, "0")) for own in stated])
        inside, overall = number_within([*parents, *above], labels), number_within(above, labels)
        common = together and _distinct([*above, labels]) < _distinct([*parents, *above, labels])
        together = common and overall.max() < 2 * (inside.max() + 1)
        if common and not together:
            notes.append(_numbered_apart(name, compared, int(overall.max()) + 1, int(inside.max()) + 1))
        above = [*above, overall if together else inside]
        for place, number in zip(places, above[-1], strict=True):
            place[name] = int(number)
    return places, notes


def _distinct(columns: Sequence[Integers]) -> int:
    """Return how many different rows columns have."""
    return len(np.unique(joint_codes(columns)[0]))


def _numbered_apart(name: str, compared: Sequence[str], overall: int, inside: int) -> Note:
    """Note that one label has several numbers."""
    sentence = (
        f"paths name {overall} different labels of {name!r}, and no more than {inside} of them in one place: they are numbered inside "
        f"{listed(compared)}, so that one number is not one {name}; {name}_label says which it is"
    )
    return Note("numbered_apart", sentence, {"level": name, "labels": overall, "most": inside})


def _level_labels(kept: Sequence[Found], places: Sequence[Mapping[str, int]]) -> list[dict[str, Descriptor]]:
    """Return what paths call the levels that they name, where that is not their number."""
    called = {
        name for one, place in zip(kept, places, strict=True) for name, number in place.items() if one.labels.get(name) != str(number)
    }
    return [
        {f"{name}_label": Descriptor(dims=(), values={(): one.labels.get(name)}, keep=(name,)) for name in LEVELS if name in called}
        for one in kept
    ]


def _ranks(labels: Sequence[str]) -> Integers:
    """Return the place of each label among all, numbers inside them by value."""
    names = sorted(set(labels))
    if len(names) > 1:
        from natsort import natsorted  # it takes as long to load as two small files to read

        names = natsorted(names)
    order = {label: rank for rank, label in enumerate(names)}
    return np.array([order[label] for label in labels], dtype=np.intp)

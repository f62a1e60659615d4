"""Recognising formats.

A format is one module of this package with NAME, `started`, `recognise` and `read`; no list names
them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import EXECUTION, ITERATION
from perfarray.numerics.types import Integers
from perfarray.readers import custom, labels
from perfarray.readers.labels import LISTED_NAMES
from perfarray.readers.numbers import check_measured
from perfarray.readers.opening import FileError, Source
from perfarray.readers.shapes import ANY, deviation
from perfarray.readers.suggestions import suggestion
from perfarray.tables.columns import Table
from perfarray.timings.validation import listed, number_of

# Errors of a reader where the content is not as its format has it
MISFIT = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)


class Format(NamedTuple):
    """How one format is recognised and read: the names of its module, in small letters.

    `recognise` looks at content (never only at the name) and raises nothing but FileError;
    `started` tells of a file too broken to parse whether it began as this format; `agree` makes the
    tables of several files agree. Of the optional ones, PLACED says that a file itself states where
    it belongs, so that its path gives no label; BESIDE names files that the tool puts beside its
    results, which are passed over in silence; `superseded` tells whether another file beside this
    one holds the same; SHAPE is that of the JSON; ANYWHERE says that what tells the format may
    stand late in a file, so that the format is tried last. MAGIC holds the first bytes of files
    that are no text; UNITS_BY_CALLER says that the caller may state the unit of the values.
    FAILURE_REMEDY says how the times of failed runs can be kept.
    """

    name: str
    recognise: Callable[[Source], bool]
    started: Callable[[str], Any]
    read: Callable[[Source], Table]
    agree: Callable[[Sequence[Table]], Sequence[Table]] = labels.agree
    placed: bool = False
    beside: tuple[str, ...] = ()
    superseded: Callable[[Source], bool] = lambda _: False
    shape: Any = ANY
    anywhere: bool = False
    magic: tuple[bytes, ...] = ()
    units_by_caller: bool = False
    failure_remedy: str = ""


@cache
def formats() -> Mapping[str, Format]:
    """Return every format there is a module for, by name."""
    import perfarray.readers as package

    modules = (
        vars(import_module(module.name))
        for module in walk_packages(package.__path__, "perfarray.readers.")
    )
    fields = [
        {key.lower(): value for key, value in module.items() if key.lower() in Format._fields}
        for module in modules
    ]
    known_formats = [Format(**values) for values in fields if "name" in values]
    return {
        file_format.name: file_format
        for file_format in sorted(known_formats, key=lambda file_format: file_format.anywhere)
    }


def names_of_formats() -> str:
    """Write the names of all formats for a message."""
    return ", ".join(sorted(formats()))


def recognise(source: Source) -> Format | None:
    """Return the requested format of a file, else the one that recognises it, else None.

    Raises FileError where the file began as a known format and is broken.
    """
    name = source.options.format if source.options.pattern is None else custom.NAME
    if name is not None:
        if name not in formats():
            raise ValueError(f"format={name!r} is not known; choose one of: {names_of_formats()}")
        return formats()[name]
    binary = [
        file_format
        for file_format in formats().values()
        if file_format.magic and file_format.recognise(source)
    ]
    if binary:
        return binary[0]
    try:
        is_text = bool(source.text if source.ascii is None else source.ascii)
    except FileError:
        if _has_started(source):
            raise
        return None
    if is_text:
        for file_format in (formats()[custom.NAME], *formats().values()):
            if file_format.recognise(source):
                return file_format
    if source.looks_like_json and source.json_or_none is None and _has_started(source):
        _ = source.json  # raises with the place
    return None


def _has_started(source: Source) -> bool:
    return any(file_format.started(source.head) for file_format in formats().values())


def read_table(
    source: Source, file_format: Format, reader: Callable[[Source], Table] | None = None
) -> Table:
    """Return a file or, with `reader`, a folder as a table that states its format."""
    if reader is None and not file_format.magic and source.is_blank:
        raise source.error("is empty")
    if source.options.units is not None and not file_format.units_by_caller:
        raise source.error(
            f"is of format {file_format.name!r}, which has units of its own; leave out "
            f"units={source.options.units!r}"
        )
    try:
        table = (reader or file_format.read)(source)
        _note_no_numbers(source)
        _note_failures(source, file_format.failure_remedy)
        check_measured(source, table)
    except MISFIT as error:
        reason = _deviation(source, file_format)
        if isinstance(error, FileError) and (reason is None or file_format.recognise(source)):
            raise
        raise source.error(
            f"is not as {file_format.name} writes it: "
            f"{reason or f'{type(error).__name__}: {error}'}"
        ) from error
    return replace(
        table,
        levels=_with_execution(table),
        format=file_format.name,
        notes=(*source.notes, *table.notes),
    )


def _note_no_numbers(source: Source) -> None:
    """Note which values are missing, by benchmark and what the file has there."""
    if locations := source.no_numbers:
        verb = "is" if len(locations) == 1 else "are"
        sentence = (
            f"{number_of(len(locations), 'value')} {verb} missing: {listed(locations, 5)}. All "
            "others are read."
        )
        source.note("no_numbers", sentence, values=len(locations), places=locations[:LISTED_NAMES])


def _note_failures(source: Source, remedy: str) -> None:
    """Note which benchmarks failed, and why."""
    if failures := source.failures:
        verb = "has" if len(failures) == 1 else "have"
        subject = f"{number_of(len(failures), 'benchmark')} {verb} failed runs"
        sentence = (
            f"{subject}: {listed(failures, 5)}. Failed runs have no time; all others are read. "
            f"{remedy}"
        )
        source.note(
            "failed_entries",
            sentence.rstrip(),
            benchmarks=len(failures),
            reasons=failures[:LISTED_NAMES],
        )


def _deviation(source: Source, file_format: Format) -> str | None:
    try:
        return None if file_format.shape is ANY else deviation(source.json, file_format.shape)
    except FileError:
        return None


def _with_execution(table: Table) -> dict[str, Integers]:
    # Iterations of which no execution is told are those of one, so that they are never the sampling
    # unit.
    has_execution = ITERATION not in table.levels or EXECUTION in table.levels
    return (
        table.levels
        if has_execution
        else table.levels | {EXECUTION: np.zeros(len(table), dtype=np.intp)}
    )


def not_recognised(source: Source) -> FileError:
    """Return why the caller's file cannot be read: no text, empty, broken or unknown."""
    if source.is_blank:
        return source.error("is empty")
    if source.looks_like_json and source.json_or_none is None:
        _ = source.json  # raises with the place
    owner = next(
        (name for name, file_format in formats().items() if source.path.name in file_format.beside),
        None,
    )
    remedy = (
        f"{owner} puts a file of this name beside its results, and those are read; else "
        if owner
        else ""
    )
    deviations = [
        (name, _deviation(source, candidate))
        for name, candidate in formats().items()
        if candidate.started(source.head)
    ]
    reasons = [f"it begins as {name} does, but {reason}" for name, reason in deviations if reason]
    remedy += "; ".join(reasons) or suggestion(source, companion=owner is not None)
    return source.error(
        f"no reader recognises its content, which begins {source.head[:40]!r}; {remedy}; "
        f"formats that are known: {names_of_formats()}"
    )

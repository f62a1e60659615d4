"""Recognising formats. A format is one module of this package with NAME, `started`, `recognise` and `read`; no list names them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import EXECUTION, ITERATION
from perfarray.numerics.types import Integers
from perfarray.readers import custom, entries
from perfarray.readers.numbers import check_measured
from perfarray.readers.opening import FileError, Source
from perfarray.readers.shapes import ANY, deviation
from perfarray.readers.suggestions import suggestion
from perfarray.tables.columns import Table

# What a reader runs into where content is not as its format has it
MISFIT = (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class Format(NamedTuple):
    """How one format is recognised and read.

    `recognise` looks at content (never only at the name) and raises nothing but FileError; `started` tells of a file too broken to parse
    whether it began as this format; `agree` makes the tables of several files say the same of what they share; `placed` (PLACED
    in the module, optional): a file itself tells where it belongs, so that its path is not needed for a label; `beside` (BESIDE, optional):
    names of the files the tool puts beside those that are read, passed over in silence in their folders; `superseded` (optional): whether
    another file beside this one holds the same, so that in a folder this one is passed over; `shape` (SHAPE, optional): that of its JSON,
    from which a file that cannot be read deviates at the place a refusal names. What may stand anywhere in a file (ANYWHERE in
    the module) is looked for when no format knows how the file begins.
    """

    name: str
    recognise: Callable[[Source], bool]
    started: Callable[[str], bool]
    read: Callable[[Source], Table]
    agree: Callable[[Sequence[Table]], Sequence[Table]]
    placed: bool = False
    beside: tuple[str, ...] = ()
    superseded: Callable[[Source], bool] | None = None
    shape: Any = ANY


@cache
def formats() -> Mapping[str, Format]:
    """Return every format there is a module for, by name."""
    import perfarray.readers as package

    formats_by_name, anywhere = {}, set()
    for module in walk_packages(package.__path__, "perfarray.readers."):
        code = import_module(module.name)
        if hasattr(code, "NAME"):
            formats_by_name[code.NAME] = Format(
                code.NAME,
                code.recognise,
                code.started,
                code.read,
                agree=getattr(code, "agree", entries.agree),
                placed=getattr(code, "PLACED", False),
                beside=getattr(code, "BESIDE", ()),
                superseded=getattr(code, "superseded", None),
                shape=getattr(code, "SHAPE", ANY),
            )
            anywhere |= {code.NAME} if getattr(code, "ANYWHERE", False) else set()
    return dict(sorted(formats_by_name.items(), key=lambda item: item[0] in anywhere))


def known_names() -> str:
    """Write the names of all formats for a message."""
    return ", ".join(sorted(formats()))


def recognise(source: Source, name: str | None) -> Format | None:
    """Return the format of a file: the one asked for, else the one that knows its content, else None.

    Raises
    ------
    ValueError
        When the format asked for does not exist.
    FileError
        When the file began as a known format and is broken.
    """
    if source.options.pattern is not None:
        name = custom.NAME
    if name is not None:
        if name not in formats():
            raise ValueError(f"format={name!r} is not known; choose one of: {known_names()}")
        return formats()[name]
    try:
        is_text = bool(source.text)
    except FileError:
        if any(known_format.started(source.head) for known_format in formats().values()):
            raise
        return None
    if is_text and custom.recognise(source):
        return formats()[custom.NAME]
    for known_format in formats().values():
        if is_text and known_format.recognise(source):
            return known_format
    broken_json = source.looks_like_json and source.json_or_none is None
    if broken_json and any(known_format.started(source.head) for known_format in formats().values()):
        _ = source.json  # raises, and says where
    return None


def read_table(source: Source, file_format: Format) -> Table:
    """Read one file into a table that says its format."""
    if not source.text or source.text.isspace():
        raise source.error("is empty")
    try:
        table = file_format.read(source)
        check_measured(source, table)
    except MISFIT as error:
        reason = _deviation(source, file_format)
        if isinstance(error, FileError) and (reason is None or file_format.recognise(source)):
            raise
        raise source.error(f"is not as {file_format.name} writes it: {reason or f'{type(error).__name__}: {error}'}") from error
    return replace(table, levels=_with_execution(table), format=file_format.name, notes=(*source.notes, *table.notes))


def _deviation(source: Source, file_format: Format) -> str | None:
    """Return where JSON first deviates from the shape of a format."""
    try:
        return None if file_format.shape is ANY else deviation(source.json, file_format.shape)
    except FileError:
        return None


def _with_execution(table: Table) -> dict[str, Integers]:
    """Return the levels of a table; iterations of which no execution is told are those of one, and never the unit."""
    has_execution = ITERATION not in table.levels or EXECUTION in table.levels
    return table.levels if has_execution else table.levels | {EXECUTION: np.zeros(len(table), dtype=np.intp)}


def not_recognised(source: Source) -> FileError:
    """Return why a file that was named cannot be read: it is no text, empty, broken, or of another kind."""
    if not source.text or source.text.isspace():
        return source.error("is empty")
    if source.looks_like_json and source.json_or_none is None:
        _ = source.json  # raises, and says where
    owners = [file_format.name for file_format in formats().values() if source.path.name in file_format.beside]
    helps = f"{owners[0]} puts a file of this name beside its results, and those are read; else " if owners else ""
    begun = [(name, _deviation(source, candidate)) for name, candidate in formats().items() if candidate.started(source.head)]
    reasons = [f"it begins as {name} does, but {reason}" for name, reason in begun if reason]
    helps += "; ".join(reasons) or suggestion(source, companion=bool(owners))
    return source.error(
        f"no reader recognises its content, which begins {source.head[:40]!r}; {helps}; formats that are known: {known_names()}"
    )

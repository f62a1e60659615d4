"""Notes: remarks on a result as data, collected during a call and emitted once, as one warning."""

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.numerics.types import Floats, Mask

# Characters that move the cursor of a terminal or turn the direction of a text, and bytes of file
# names that are no text
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# Attr: the notes of a result, as JSON
NOTES = "notes"

# Attr: the checks to run once a lazy result is computed
UNCHECKED = "unchecked"

Told = TypeVar("Told", bound=xr.Dataset | xr.DataArray | pd.DataFrame)
Check = Callable[[xr.Dataset], "tuple[Note | None, ...]"]

_CHECKS: dict[str, Check] = {}
_COLLECTOR: ContextVar["list[Note] | None"] = ContextVar("collector", default=None)

# Which cells of the result that is checked were measured: a cell that nobody measured is not
# counted. None: all, or none of them.
_MEASURED: ContextVar[Mask | None] = ContextVar("measured", default=None)


def escape_controls(text: str) -> str:
    """Return a text with the characters that are none to read as escapes."""
    return CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


@dataclass(frozen=True, slots=True)
class Note:
    """One remark on a result.

    Parameters
    ----------
    code : str
        The kind of the remark, for programs: `single_unit`, `few_units`, `unmatched`, ...
    message : str
        The sentence, for people.
    values : mapping
        The numbers and names in the sentence: int, float, str, or lists of them.
    aside : bool
        Whether the note is kept and shown with the result, but not part of the warning.

    Examples
    --------
    >>> Note("single_unit", "1 of 2 cells rests on one execution", {"cells": 1, "of": 2}).code
    'single_unit'
    """

    code: str
    message: str
    values: Mapping[str, Any] = field(default_factory=dict)
    aside: bool = False


class PerfarrayWarning(UserWarning):
    """The one warning of a call; `notes` holds its content as data.

    Parameters
    ----------
    *notes : Note
        The content.

    Attributes
    ----------
    notes : tuple of Note
        Each with `code`, `message` and `values`.

    Examples
    --------
    >>> warning = PerfarrayWarning(Note("single_unit", "one cell rests on one execution"))
    >>> str(warning), warning.notes[0].code
    ('one cell rests on one execution', 'single_unit')
    """

    def __init__(self, *notes: Note) -> None:
        super().__init__(*notes)
        self.notes = notes

    def __str__(self) -> str:
        return "\n".join(note.message for note in self.notes)


def count_note(code: str, text: str, where: Any, noun: str = "cells", **values: Any) -> Note | None:
    """Return a note on the cells where a mask is true, None if there are none.

    `{cells}` in the text becomes `2 of 9 cells`.

    In a check, cells that nobody measured do not count.
    """
    measured, of = _MEASURED.get(), where.size
    if measured is not None and measured.shape == where.shape:
        where, of = np.asarray(where) & measured, int(np.count_nonzero(measured))
    number = int(np.count_nonzero(where))
    if not number:
        return None
    return Note(
        code,
        text.replace("{cells}", f"{number} of {of} {noun}"),
        {noun: number, "of": of, **values},
    )


def significant_in_all(pvalue: Floats) -> Mask:
    """Return which p-values are significant at a family-wise error rate of 5 % (Bonferroni)."""
    return np.asarray(pvalue * np.count_nonzero(~np.isnan(pvalue)) <= 0.05)


def emit(*notes: Note | None) -> tuple[Note, ...]:
    """Emit notes as one warning at the line of the first caller outside this package.

    Return them without repeats.

    Inside `collecting` the notes go to the collecting caller instead.
    """
    unique = tuple({(note.code, note.message): note for note in notes if note is not None}.values())
    collector = _COLLECTOR.get()
    if collector is not None:
        collector += unique
    elif warned := [note for note in unique if not note.aside]:
        depth, frame = 1, sys._getframe(0)
        while (
            frame.f_back is not None
            and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "perfarray"
        ):
            frame, depth = frame.f_back, depth + 1
        warnings.warn(PerfarrayWarning(*warned), stacklevel=depth)
    return unique


def with_notes(result: Told, *notes: Note | None, checks: tuple[str, ...] = ()) -> Told:
    """Emit notes and keep them in the attr `notes`.

    Run the `checks` on the result, or postpone them where it is lazy.

    Parameters
    ----------
    result : Dataset, DataArray or DataFrame
        Changed in its attrs, and returned.
    *notes : Note or None
        None is ignored.
    checks : tuple of str
        Names of registered checks.
    """
    if checks and isinstance(result, xr.Dataset):
        dataset: xr.Dataset = result
        if is_lazy(dataset):
            result.attrs[UNCHECKED] = " ".join(checks)
        else:
            notes = (*notes, *_checked(dataset, checks))
    result.attrs.setdefault("perfarray_version", version())
    if emitted := emit(*notes):
        result.attrs[NOTES] = to_json(emitted)
    return result


def _checked(result: xr.Dataset, names: Iterable[str]) -> list[Note | None]:
    """Return the notes of some checks of a computed result."""
    token = _MEASURED.set(_measured_cells(result))
    try:
        return [note for name in names if name in _CHECKS for note in _CHECKS[name](result)]
    finally:
        _MEASURED.reset(token)


def _measured_cells(result: xr.Dataset) -> Mask | None:
    """Return which cells rest on a unit, of both sides.

    None where that is not known, and where all or none of them do.
    """
    if "n" not in result.data_vars or (
        "baseline" in result.attrs and "n_candidate" not in result.data_vars
    ):
        return None
    measured: Mask = np.nan_to_num(result.variables["n"].values) > 0
    return None if measured.all() or not measured.any() else measured


def add_notes(data: Told, *notes: Note | None) -> Told:
    """Emit notes on timings or a result, and keep them behind those that it has."""
    emitted = emit(*notes)
    if emitted:
        earlier = json.loads(str(data.attrs.get(NOTES, "[]")))
        data.attrs[NOTES] = json.dumps([*earlier, *json.loads(to_json(emitted))])
    return data


@cache
def version() -> str:
    """Return the version of the package."""
    import perfarray

    return perfarray.__version__


def check(name: str) -> Callable[[Check], Check]:
    """Register a function that returns notes on a computed result.

    `with_notes` and `notes` call it by name.
    """

    def register(function: Check) -> Check:
        _CHECKS[name] = function
        return function

    return register


def is_lazy(result: xr.Dataset) -> bool:
    """Return whether any variable of a result is still to be computed."""
    return any(
        not isinstance(variable.data, np.ndarray)
        for variable in result.data_vars.variables.values()
    )


@contextmanager
def collecting_notes() -> Iterator[list[Note]]:
    """Collect the notes of all calls inside the block instead of emitting them."""
    gathered: list[Note] = []
    token = _COLLECTOR.set(gathered)
    try:
        yield gathered
    finally:
        _COLLECTOR.reset(token)


def first_of_each_code(notes: list[Note]) -> list[Note]:
    """Return the first note of every code."""
    return list({note.code: note for note in reversed(notes)}.values())[::-1]


def to_json(notes: tuple[Note, ...]) -> str:
    """Write notes for an attr."""
    return json.dumps(
        list(map(note_as_dict, notes)),
        default=lambda value: value.item() if hasattr(value, "item") else str(value),
    )


def note_as_dict(note: Note) -> dict[str, Any]:
    """Return a note as JSON holds it."""
    return {"code": note.code, "message": note.message, "values": dict(note.values)} | (
        {"aside": True} if note.aside else {}
    )


def notes(result: xr.Dataset | xr.DataArray | pd.DataFrame) -> tuple[Note, ...]:
    """Return the remarks on a result.

    Parameters
    ----------
    result : Dataset, DataArray or DataFrame
        The result of a function of this package. Notes that count cells of a lazy result exist
        after computing it (`result.compute().perf.notes()`).

    Returns
    -------
    tuple of Note
        Each with `code`, `message` and `values`; empty where there are none.

    Examples
    --------
    >>> import warnings
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0], "new": [9.0]})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     verdict = times.perf.compare("old")
    >>> [note.code for note in verdict.perf.notes()]
    ['single_unit']
    """
    rows = json.loads(str(result.attrs.get(NOTES, "[]")))
    collected = [
        Note(row["code"], row["message"], row["values"], aside=bool(row.get("aside")))
        for row in rows
    ]
    checks = tuple(str(result.attrs.get(UNCHECKED, "")).split())
    if checks and isinstance(result, xr.Dataset) and not is_lazy(result):
        # A result from a file may come before the topic that made it: loading its function
        # registers the checks.
        import perfarray

        getattr(perfarray, str(result.attrs.get("result")), None)
        collected += [
            note for note in _checked(result, checks) if note is not None and note not in collected
        ]
    return tuple(collected)

"""Numbers in files: one parser, and checks whose messages name file, location and text.

A number is finite and written in digits of ASCII: `1_000`, `inf`, `nan` and the digits of other
scripts are none. Times and rates are not below 0 (a time of 0 is one that a coarse clock does not
see); and a file holds a measurement, or a run that failed or was stopped.
"""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from math import inf, isfinite, isnan, nan, nextafter
from sys import float_info
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.conventions import CENSORED, FAILED
from perfarray.numerics.types import Floats
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table
from perfarray.tables.measured import check_values

SMALLEST = nextafter(0.0, inf)  # The least number above 0
WRITTEN = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*", re.A | re.I)


def number(text: str) -> float | None:
    """Return a text as a finite number, or None.

    >>> [number(text) for text in ("1.5e3", "-2", "1_000", "inf", "nan", "\u0663")]
    [1500.0, -2.0, None, None, None, None]
    """
    value = float(text) if WRITTEN.fullmatch(text) else inf
    return value if isfinite(value) else None


def positive(text: str) -> float | None:
    """Return a text as a number above 0, or None."""
    value = number(text)
    return value if value is not None and value > 0 else None


def whole(text: str, digits: int = 15) -> int | None:
    """Return a text of so many ASCII digits at most as a number, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def value_of(text: str) -> int | float | str:
    """Return a setting as a number where its text is one."""
    value: int | float | None = whole(text)
    value = number(text) if value is None else value
    return text if value is None else value


def numbers(texts: Sequence[str]) -> list[float] | None:
    """Return texts as finite numbers, as `number` does one by one; None if one is none."""
    values = _parsed(texts)
    return None if values is None or not np.isfinite(values).all() else values.tolist()


def _parsed(texts: Sequence[str]) -> Floats | None:
    """Return texts as numbers, some of which may be infinite or NaN.

    None where one of them is none.
    """
    joined = "".join(texts)
    if "_" in joined or not joined.isascii():
        return None
    with suppress(ValueError):
        return np.fromiter(map(float, texts), float, len(texts))
    return None


def checked(
    values: Sequence[Any] | npt.NDArray[Any],
    locate: Callable[[int], str],
    source: Source,
    *,
    above_zero: bool = False,
    from_zero: bool = False,
    missing: Collection[str | None] = (),
) -> Floats:
    """Return numbers, or texts of numbers, as an array.

    Raise at the first that is none, or is too small.

    `locate` returns the place of a value in the file for the message. `missing` are texts (or None)
    of a value that was not measured, which is NaN in the array; a number that is not finite is
    missing where its text is, `"NaN"`, `"inf"` or `"-inf"`.
    """
    try:
        array = _plain(values)
    except OverflowError:
        array = None
    minimum = SMALLEST if above_zero else 0.0 if from_zero else -inf
    if array is not None and bool(np.isfinite(array).all()) and not bool((array < minimum).any()):
        return array
    limit = " above 0" if above_zero else " from 0" if from_zero else ""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    parsed = [parsed_number(value, missing) for value in values]
    for index, value in enumerate(parsed):
        if value is None or value < minimum:
            written = repr(values[index])
            written = written if len(written) <= 60 else f"{written[:60]}..."
            raise source.error(f"{locate(index)} is {written}; expected a number{limit}")
    return np.array(parsed, dtype=float)


def _plain(values: Sequence[Any] | npt.NDArray[Any]) -> Floats | None:
    """Return values of one kind as an array.

    None where they are of several, or texts of which one is no number.
    """
    if isinstance(values, np.ndarray):
        return np.asarray(values, dtype=float)
    types = set(map(type, values))
    if types == {str}:
        return _parsed(values)
    return np.asarray(values, dtype=float) if types <= {float, int} else None


def check_measured(source: Source, table: Table) -> None:
    """Raise where a table holds impossible values, or no measurement at all."""
    try:
        check_values(table)
    except ValueError as error:
        raise source.error(str(error)) from None
    measured = any(np.isfinite(metric.values).any() for metric in table.metrics.values())
    if not measured and not any(
        table.marks[mark].any() for mark in (FAILED, CENSORED) if mark in table.marks
    ):
        raise source.error(
            f"holds no measurement: every value is missing, the first is that of {table.place(0)}"
        )


def parsed_number(value: Any, missing: Collection[str | None] = ()) -> float | None:
    """Return a number of JSON, or the text of one.

    NaN where it is missing, None where it is no number.
    """
    if value is None or isinstance(value, str):
        return nan if value in missing else number(value or "")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not isfinite(value):
        return nan if ("NaN" if isnan(value) else str(value)) in missing else None
    return float(value) if abs(value) <= float_info.max else None

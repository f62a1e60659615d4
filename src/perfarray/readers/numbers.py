"""Numbers in files: one parser, and one set of checks that name the file, the place in it and what stands there.

A number is finite and written in digits of ASCII: `1_000`, `inf`, `nan` and the digits of other scripts are none. A time is above 0 unless
its run failed; times of the processor and rates are not below 0; and a file holds a measurement, or a run that failed or was stopped.
"""

import re
from collections.abc import Callable, Collection, Sequence
from math import inf, isfinite, nan
from sys import float_info
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.conventions import CENSORED, FAILED
from perfarray.numerics.types import Floats
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table
from perfarray.tables.measured import check_values

WRITTEN = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*", re.A | re.I)


def number(text: str) -> float | None:
    """Return a text as a finite number, or None.

    Parameters
    ----------
    text : str
        As a file has it.

    Returns
    -------
    float or None

    Examples
    --------
    >>> [number(text) for text in ("1.5e3", "-2", "1_000", "inf", "nan", "\u0663")]
    [1500.0, -2.0, None, None, None, None]
    """
    value = float(text) if WRITTEN.fullmatch(text) else inf
    return value if isfinite(value) else None


def positive(text: str) -> float | None:
    """Return a text as a number above 0, or None."""
    value = number(text)
    return value if value is not None and value > 0 else None


def numbers(texts: Sequence[str]) -> list[float] | None:
    """Return texts as finite numbers, or None where one of them is none: as `number` of each, and faster."""
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    joined = "".join(texts)
    plain = "_" not in joined and joined.isascii()
    # A sum that is finite shows that all numbers are.
    return values if plain and (isfinite(sum(values)) or all(map(isfinite, values))) else None


def checked(
    values: Sequence[Any] | npt.NDArray[Any],
    locate: Callable[[int], str],
    source: Source,
    *,
    above_zero: bool = False,
    missing: Collection[str] = (),
) -> Floats:
    """Return what a file has as numbers, or raise at the first that is none.

    Parameters
    ----------
    values : sequence
        Numbers, or texts of numbers; or an array of numbers.
    locate : callable
        Index of a value to its place in the file, for the message.
    source : Source
        The file.
    above_zero : bool
        As times must be.
    missing : collection of str
        Texts that stand for a value that was not measured; with any of them, NaN does too.

    Returns
    -------
    float array
        NaN where a value is missing.

    Raises
    ------
    FileError
        With the file, the place, what stands there, and what was expected.
    """
    try:
        plain = isinstance(values, np.ndarray) or set(map(type, values)) <= {float, int}
        array = np.asarray(values, dtype=float) if plain else None
    except OverflowError:
        array = None
    if array is not None and bool(np.isfinite(array).all()) and not (above_zero and bool((array <= 0).any())):
        return array
    values = values.tolist() if isinstance(values, np.ndarray) else values
    parsed = [_value(value, missing) for value in values]
    for index, value in enumerate(parsed):
        if value is None or (above_zero and value <= 0):
            written = repr(values[index])
            written = written if len(written) <= 60 else f"{written[:60]}..."
            raise source.error(f"{locate(index)} is {written}; expected a number{' above 0' if above_zero else ''}")
    return np.array(parsed, dtype=float)


def check_measured(source: Source, table: Table) -> None:
    """Raise where a table, of whatever format, holds what cannot have been measured, or nothing that was.

    Raises
    ------
    FileError
        With the metric, the labels of the first such value, and the value.
    """
    try:
        check_values(table)
    except ValueError as error:
        raise source.error(str(error)) from None
    nowhere = np.zeros(len(table), dtype=bool)
    measured = any(np.isfinite(metric.values).any() for metric in table.metrics.values())
    if not measured and not any(table.marks.get(mark, nowhere).any() for mark in (FAILED, CENSORED)):
        raise source.error(f"holds no measurement: every value is missing, the first is that of {table.place(0)}")


def _value(value: Any, missing: Collection[str]) -> float | None:
    """Return one value as a number, NaN where it is missing, None where it is none."""
    if isinstance(value, str):
        return nan if value in missing else number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if missing and value != value:
        return nan
    return float(value) if abs(value) <= float_info.max else None

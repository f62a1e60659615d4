"""Numbers as programs write them: decimal commas, thousands, units in the cell."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import SECONDS, seconds_factor
from perfarray.numerics.types import Floats
from perfarray.timings.validation import listed

# The ways to write numbers: the mark of thousands and the decimal mark
NOTATIONS = (("", "."), (",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."))

# What else stands for a blank or an apostrophe between thousands
SAME_MARKS = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'"})

# Texts of values that are no numbers, as programs print them
NO_NUMBERS = frozenset({"nan", "-nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"})


class NumberTexts(NamedTuple):
    """The numbers of a column of texts (NaN where blank), and their unit ("" for none)."""

    values: Floats
    unit: str


def parse_numbers(series: pd.Series) -> NumberTexts | None:
    """Return the numbers that texts hold, if all are written alike; None where they are no numbers.

    Raises
    ------
    ValueError
        Where texts are numbers that can be read in two ways, or whose units cannot be brought to
        one.

    Examples
    --------
    >>> parse_numbers(pd.Series(["70.55us", "2.01 ms"]))
    NumberTexts(values=array([7.055e-05, 2.010e-03]), unit='s')
    >>> parse_numbers(pd.Series(["10,2", "9,85"])).values
    array([10.2 ,  9.85])
    >>> parse_numbers(pd.Series(["1,010.1", "900"])).values
    array([1010.1,  900. ])
    """
    if (durations := _durations(series)) is not None:
        return durations
    texts = [
        value.strip() if isinstance(value, str) else "" if pd.isna(value) else str(value)
        for value in series
    ]
    cells = [_number_and_unit(text) for text in texts if text]
    units = {unit for _, unit in cells}
    if not cells or not all(map(_is_unit, units)):
        return None
    numbers = _in_one_notation([number for number, _ in cells], series.name)
    if numbers is None:
        return None
    if len(units) > 1:
        factors = {unit: seconds_factor(unit) if unit else None for unit in units}
        if None in factors.values():
            written = listed(sorted(unit or "no unit" for unit in units))
            raise ValueError(
                f"column {series.name!r} has cells in {written}, which cannot be brought to "
                "one unit; write all in one unit"
            )
        numbers = numbers * np.array([factors[unit] for _, unit in cells], dtype=float)
    values = np.full(len(texts), np.nan)
    values[[bool(text) for text in texts]] = numbers
    return NumberTexts(values, SECONDS if len(units) > 1 else units.pop())


def _durations(series: pd.Series) -> NumberTexts | None:
    """Return durations as pandas writes them (`0 days 00:00:01.5`) in seconds.

    None for other texts.
    """
    texts = series.dropna().map(str)
    if (
        not len(texts)
        or not texts.str.fullmatch(r"-?\d+ days?(?: \+?\d\d:\d\d:\d\d(?:\.\d+)?)?").all()
    ):
        return None
    return NumberTexts(
        np.asarray(pd.to_timedelta(series).dt.total_seconds(), dtype=np.float64), SECONDS
    )


def are_no_numbers(series: pd.Series) -> "pd.Series[bool]":
    """Return which cells of a column hold `nan` or an infinite value, and so no measurement.

    Examples
    --------
    >>> are_no_numbers(pd.Series(["1.5", "-nan", "+Inf", "fast"])).tolist()
    [False, True, True, False]
    >>> are_no_numbers(pd.Series([1.0, np.inf])).tolist()
    [False, True]
    """
    if pd.api.types.is_numeric_dtype(series):
        return pd.Series(
            np.isinf(series.to_numpy(dtype=float, na_value=np.nan)), index=series.index
        )
    texts = (
        series.astype(object)
        .map(lambda value: isinstance(value, str) and value.strip().lower() in NO_NUMBERS)
        .astype(bool)
    )
    # Arrow does not compare texts with numbers.
    return texts | series.astype(object).isin([np.inf, -np.inf])


def _number_and_unit(text: str) -> tuple[str, str]:
    """Split a cell behind its last digit."""
    end = len(text)
    while end and not (
        text[end - 1].isascii() and (text[end - 1].isdigit() or text[end - 1] == ".")
    ):
        end -= 1
    return text[:end].strip(), text[end:].strip()


def _is_unit(text: str) -> bool:
    """Return whether what stands behind a number may be a unit; nothing may."""
    return not text or ((text[0].isalpha() or text[0] == "%") and not any(map(str.isspace, text)))


def _in_one_notation(digits: Sequence[str], name: object) -> Floats | None:
    """Return numbers that are all written alike; None where they are not numbers."""
    readings = [
        values
        for group, point in NOTATIONS
        if (values := _read_all(digits, group, point)) is not None
    ]
    if not readings:
        return None
    if any((values != readings[0]).any() for values in readings[1:]):
        comma = next(text for text in digits if "," in text)
        raise ValueError(
            f"column {name!r} holds {comma!r}, whose comma may separate thousands or decimals. "
            "Write its numbers with a decimal point and "
            "without separators"
        )
    return readings[0]


def _read_all(digits: Sequence[str], group: str, point: str) -> Floats | None:
    """Return all numbers in one notation, None where one does not fit it."""
    plain = [_read(text, group, point) for text in digits]
    return None if None in plain else np.array(plain, dtype=float)


def _read(text: str, group: str, point: str) -> float | None:
    """Return a number in one notation, None where it does not fit."""
    text = text.translate(SAME_MARKS)
    mantissa, exponent_mark, exponent = text.replace("E", "e").partition("e")
    sign = mantissa[:1] if mantissa[:1] in ("+", "-") else ""
    integer, _, fraction = mantissa.removeprefix(sign).partition(point)
    groups = integer.split(group) if group else [integer]
    if len(groups) > 1 and (
        groups[0].startswith("0")
        or not 1 <= len(groups[0]) <= 3
        or any(len(piece) != 3 for piece in groups[1:])
    ):
        return None
    digits = "".join(groups)
    exponent_digits = exponent.lstrip("+-") if exponent_mark else "0"
    if not (digits + fraction) or not all(
        piece.isascii() and piece.isdigit() for piece in (digits + fraction, exponent_digits)
    ):
        return None
    return float(f"{sign}{digits or '0'}.{fraction or '0'}e{exponent if exponent_mark else '0'}")

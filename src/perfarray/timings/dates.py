"""Dates as files and people write them, and the dates of the labels of a dim."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

# Texts that stand for a missing date
MISSING = ("", "unknown", "nan", "nat", "none", "null", "<na>")

# Three numbers and perhaps a time of day, as in 2024-01-20, 20.01.2024 or 1/20/2024 3:00 PM
THREE_NUMBERS = r"(\d{4}|\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{1,2})((?:T|\s|,\s*).*)?"

# Which of the three numbers are the year, the month and the day
READINGS = {"the year": (0, 1, 2), "the day": (2, 1, 0), "the month": (2, 0, 1)}

# The words of dates, as in git's Sat Jan 20 00:00:00 2024 +0100 or Saturday, 20 January 2024 3:00
# PM
MONTHS = (
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]*(?:ary|ch|il|e|y|ust|ber))?"
)
WEEKDAYS = r"(?:mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?"
ZONES = r"[ecmp][sd]t|[cew]es?t|bst|jst|ist|utc|gmt|z"
WORDS = re.compile(rf"\b(?:{MONTHS}|{WEEKDAYS}|{ZONES}|am|pm|t)\b", re.I)
WORDED = rf"(?i)(?=.*\b{MONTHS}\b)(?:.*\b\d{{4}}\b|\d{{1,2}}[-/ ]{MONTHS}[-/ ,]+\d\d\b(?!:)).*"

# Other texts in ISO 8601: months, and dates without separators
ISO = r"\d{4}-\d\d|\d{8}T[\d:.]+(?:Z|[+-][\d:]+)?"

# A zone that is named, or the place it is of; without it the moment is wrong by some hours
NAMED_ZONE = re.compile(r"\[[^]]*\]$| [A-Z]{3,5}(?= \d{4}$|$)")

# Numbers, and git's raw dates: 1705705200 +0100
COUNTED = r"\d+(?:\.\d+)?(?: [+-]\d{4})?"

# What numbers count since 1970, by the number from which they do
EPOCHS: Mapping[float, Literal["s", "ms", "us", "ns"]] = {
    1e8: "s",
    1e11: "ms",
    1e14: "us",
    1e17: "ns",
}


def dates_of(values: Any) -> pd.Series:
    """Return the moments that texts, numbers or dates state, NaT where they state none.

    Parameters
    ----------
    values : array_like
        Dates; numbers such as 20240120 or seconds, milliseconds, ... since 1970; texts in ISO 8601,
        as git, mail programs and people write them. The order of day, month and year is the only
        one that is possible for all of them.

    Raises
    ------
    ValueError
        Where dates can be read in two ways.
    """
    series = pd.Series(np.asarray(values).ravel())
    if series.dtype.kind == "M":
        return series.dt.tz_localize("UTC")
    if series.dtype.kind in "iuf":
        return _from_numbers(series)
    # The runs of a commit share its date.
    codes, distinct = pd.factorize(series.fillna("").astype(str))
    texts = pd.Series(distinct, dtype=object).str.strip()
    texts = texts.mask(texts.str.lower().isin(MISSING), "")
    if texts[texts != ""].str.fullmatch(COUNTED).all():
        moments = _from_numbers(pd.to_numeric(texts.str.split(" ").str[0]))
    else:
        moments = _from_texts(texts)
    return moments.take(codes).reset_index(drop=True)


def are_dates(texts: Any) -> bool:
    """Return whether all texts are dates, perhaps in an unknown order of day and month."""
    series = pd.Series(np.asarray(texts).ravel()).dropna().astype(str)
    series = series[~series.str.strip().str.lower().isin(MISSING) & ~series.str.isdigit()]
    try:
        return bool(len(series)) and bool(dates_of(series).notna().all())
    except ValueError:
        return True


def _from_numbers(numbers: pd.Series) -> pd.Series:
    """Return the moments of numbers that are years, days such as 20240120, or since 1970."""
    nothing = pd.Series(pd.NaT, index=numbers.index, dtype="datetime64[ns, UTC]")
    values = numbers.dropna()
    if values.empty:
        return nothing
    low, high, integral = float(values.min()), float(values.max()), bool((values % 1 == 0).all())
    if integral and low >= 1970 and high < 2100:
        return _from_texts(numbers.map("{:.0f}-01".format))
    if integral and low >= 1e6 and high < 1e8:
        digits = numbers.map("{:08.0f}".format)
        days = _from_texts(digits.str.replace(r"(....)(..)(..)", r"\1-\2-\3", regex=True))
        return (
            days
            if days[values.index].notna().all()
            else _from_texts(digits.str.replace(r"(..)(..)(....)", r"\1-\2-\3", regex=True))
        )
    units = [unit for start, unit in EPOCHS.items() if start <= low and high < 1000 * start]
    return pd.to_datetime(numbers, unit=units[0], utc=True) if units else nothing


def _from_texts(texts: pd.Series) -> pd.Series:
    """Return the moments of texts; those that are no dates are NaT."""
    numbers = texts.str.extract(f"^{THREE_NUMBERS}$")
    has_three = numbers[0].notna()
    if has_three.any():
        texts = texts.mask(has_three, _years_first(numbers[has_three]))
    is_worded = texts.str.fullmatch(WORDED) & ~texts.str.replace(
        WORDS, "", regex=True
    ).str.contains(r"[^\W\d_]")
    texts = texts.where(has_three | is_worded | texts.str.fullmatch(ISO), "").str.replace(
        NAMED_ZONE, "", regex=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns of zones that it does not know
        return pd.to_datetime(texts, format="mixed", errors="coerce", utc=True)


def _years_first(numbers: pd.DataFrame) -> pd.Series:
    """Return dates of three numbers in the only order that is possible for all."""
    fields, time = [numbers[group] for group in (0, 2, 3)], numbers[4].fillna("").str.lstrip("T, ")
    readings: dict[tuple[str, ...], tuple[str, pd.Series]] = {}
    for name, (year, month, day) in READINGS.items():
        # Of 1.2.10 the last number is no year.
        is_short = (fields[year].str.len() == 2) & (numbers[1] != ".")
        century = np.where(fields[year] < "70", "20", "19")
        dates = (
            fields[year].mask(is_short, century + fields[year])
            + "-"
            + fields[month]
            + "-"
            + fields[day]
        )
        if pd.to_datetime(dates, format="%Y-%m-%d", errors="coerce").notna().all():
            readings.setdefault(tuple(dates), (name, dates))
    if len(readings) > 1:
        first, separator, second, third = numbers.iloc[0, :4]
        text = f"{first}{separator}{second}{separator}{third}"
        raise ValueError(
            f"the first number of {text!r} may be "
            f"{' or '.join(name for name, _ in readings.values())}"
        )
    return next(
        (dates + " " + time for _, dates in readings.values()), pd.Series("", index=numbers.index)
    )


def earliest_dates(stamps: xr.DataArray, dim: str) -> pd.Series:
    """Return the earliest date of every label of a dim, NaT where there is none.

    A single NaT where dates do not lie along the dim.
    """
    if dim not in stamps.dims:
        return pd.Series([pd.NaT])
    dates = dates_of(stamps.transpose(dim, ...).values)
    # Without a zone they are numbers, of which old pandas finds the least, too.
    moments = dates.dt.tz_localize(None).to_numpy()
    earliest: pd.Series[Any] = (
        pd.DataFrame(moments.reshape(stamps.sizes[dim], -1)).min(axis=1).dt.tz_localize("UTC")
    )
    return earliest

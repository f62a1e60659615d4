"""The columns of a table that become dims: those that neither another dim nor a numbering of repetitions determines."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from perfarray.conventions import HISTORY
from perfarray.numerics.types import Integers
from perfarray.tables.columns import Column, joint_codes
from perfarray.tables.roles import depends_only_on
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

# Labels from which 0, 1, 2 look like a numbering of repetitions rather than a setting with two values
LEAST_NUMBERING = 3


def compared_columns(columns: Mapping[str, pd.Series], labels: Mapping[str, Column], repetitions: Mapping[str, pd.Series]) -> list[str]:
    """Return the columns that become dims, in the order of the table.

    A column that dims or repetitions determine describes these. The others vary among rows that are otherwise alike: they are compared,
    and never taken for repetitions. Numbers and time stamps may be quantities measured along with the values; they are labels only where
    most of them occur more than once. `columns` have no role yet; `repetitions` are numbered by the table, outermost first.
    """
    if not columns:
        return []
    codes = {name: pd.factorize(series, use_na_sentinel=False)[0] for name, series in columns.items()}
    nest = [pd.factorize(series)[0] for series in repetitions.values()]
    dims = [column.codes for column in labels.values()]
    compared = set()
    # The finest column comes first, so that what it determines (a commit its date) becomes its coordinate and not a further dim.
    for name in sorted(columns, key=lambda name: (-codes[name].max(initial=0), name not in HISTORY)):
        quantity = _is_quantity(columns[name]) and name not in HISTORY
        if depends_only_on(codes[name], dims) or _describes_repetitions(codes[name], dims, nest, quantity):
            continue
        if quantity and not _recurs(codes[name], dims, columns[name]):
            continue
        compared.add(name)
        dims.append(codes[name])
    return [name for name in columns if name in compared]


def numbering_note(names: Sequence[str], labels: Mapping[str, Column], level: str) -> Note | None:
    """Return a note on dims whose labels are 0, 1, 2 or 1, 2, 3, which may be repetitions under another name."""
    numberings = [name for name in names if _is_numbering(labels[name].labels)]
    if not numberings:
        return None
    sentence = (
        f"column {listed(numberings)} is a dim, which is compared and never averaged; if it numbers repetitions, rename it {level!r}, or "
        f"give to_timings(..., {level}={numberings[0]!r})"
    )
    return Note("unclaimed_column", sentence, {"columns": numberings, "level": level})


def _is_quantity(series: pd.Series) -> bool:
    """Return whether a column may hold measurements: numbers, or times of day."""
    if pd.api.types.is_bool_dtype(series):
        return False
    if pd.api.types.is_numeric_dtype(series):
        return True
    moments = series if pd.api.types.is_datetime64_any_dtype(series) else _moments(series)
    return moments is not None and bool((moments.dropna() != moments.dropna().dt.normalize()).any())


def _moments(series: pd.Series) -> pd.Series | None:
    """Return texts as time stamps where all are written in ISO 8601, else None."""
    if not all(isinstance(label, str) and label[:4].isdigit() for label in series.dropna().head(3)):
        return None
    moments = pd.to_datetime(series, format="ISO8601", errors="coerce", utc=True)
    return None if moments.isna().any() else moments


def _describes_repetitions(codes: Integers, dims: Sequence[Integers], nest: Sequence[Integers], quantity: bool) -> bool:
    """Return whether a column describes the repetitions of a level: a quantity, or a text that differs between them."""
    for depth in range(1, len(nest) + 1):
        units = [*dims, *nest[:depth]]
        if depends_only_on(codes, units):
            return quantity or _combinations([*units[:-1], codes]) == _combinations(units)
    return False


def _recurs(codes: Integers, dims: Sequence[Integers], series: pd.Series) -> bool:
    """Return whether most rows share their number with other rows; where all rows are of one cell, whole numbers are labels."""
    if np.mean(np.bincount(codes)[codes] > 1) > 0.5:
        return True
    integral = pd.api.types.is_numeric_dtype(series) and bool((series.dropna() % 1 == 0).all())
    return integral and (not dims or _combinations(dims) == 1)


def _combinations(columns: Sequence[Integers]) -> int:
    """Return the number of distinct combinations of codes."""
    return len(np.unique(joint_codes(columns)[0]))


def _is_numbering(labels: Sequence[object]) -> bool:
    """Return whether labels are consecutive numbers from 0 or 1."""
    numbers = sorted(label for label in labels if isinstance(label, int | float) and not isinstance(label, bool))
    return len(numbers) == len(labels) >= LEAST_NUMBERING and numbers in (list(range(len(labels))), list(range(1, len(labels) + 1)))

"""Which columns of a table a model can use: chosen by name or by role; what says nothing is left out."""

from collections.abc import Sequence
from keyword import iskeyword
from typing import Final

import numpy as np
import pandas as pd

from perfarray.conventions import UNKNOWN
from perfarray.machines.roles import roles_of
from perfarray.numerics.types import Integers
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed

SETS: Final = ("environment", "flags")
RESERVED: Final = frozenset({"C", "I", "Q", "np"})
"""Names that mean something else in a formula."""


def is_number(column: pd.Series) -> bool:
    """Return whether a column holds numbers, or True and False."""
    return bool(pd.api.types.is_numeric_dtype(column))


def is_text(column: pd.Series) -> bool:
    """Return whether a column holds labels: neither numbers nor dates."""
    return not is_number(column) and not pd.api.types.is_datetime64_any_dtype(column)


def check_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise where a column is not there."""
    missing = [name for name in dict.fromkeys(names) if name not in table]
    if missing:
        raise ValueError(f"columns {listed(missing)} not found; the table has {listed(table.columns, 40)}")


def check_response(table: pd.DataFrame, name: str) -> None:
    """Raise where a response is no number."""
    if not is_number(table[name]):
        raise ValueError(f"response {name!r} holds {table[name].dtype} values, not numbers")


def chosen_columns(table: pd.DataFrame, predictors: str | Sequence[str] | None, excluded: set[str]) -> list[str]:
    """Return the columns that may explain; `others` have a part of their own in the model."""
    if predictors is not None and not (isinstance(predictors, str) and predictors in SETS):
        names = list(check_names(predictors, "predictors")) if len(predictors) else []
        check_columns(table, names)
        return names
    roles = roles_of(table)
    usable = {None: (None, "flag"), "environment": (None,), "flags": ("flag",)}[predictors]
    return [str(name) for name in table if roles.get(str(name)) in usable and name not in excluded]


def useful_columns(rows: pd.DataFrame, names: list[str], *, trees: bool) -> list[str]:
    """Leave out columns that say nothing: constant, empty, a label for nearly every row, a copy of another."""
    informative = []
    for name in names:
        values = stated(rows[name]).dropna()
        distinct = values.nunique()
        sparse = not trees and is_number(rows[name]) and len(values) < len(rows) / 2
        if distinct >= 2 and not sparse and (is_number(rows[name]) or distinct <= len(rows) / 2):
            informative.append(name)
    unique: dict[bytes, str] = {}
    for name in informative:
        unique.setdefault(_content(rows[name]), name)
    return list(unique.values()) if trees else _independent(rows, list(unique.values()))


def _independent(rows: pd.DataFrame, names: list[str]) -> list[str]:
    """Leave out columns that are linear combinations of an intercept and those before them."""
    basis = np.ones((len(rows), 1)) / np.sqrt(len(rows))
    independent = []
    for name in names:
        column = rows[name]
        if is_number(column):
            filled = column.astype(float)
            block = filled.fillna(filled.mean()).to_numpy()[:, None]
        else:
            block = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(dtype=float)
        scaled = block / np.where(np.linalg.norm(block, axis=0) > 0, np.linalg.norm(block, axis=0), 1.0)
        residual = scaled - basis @ (basis.T @ scaled)
        residual -= basis @ (basis.T @ residual)
        values, size, _ = np.linalg.svd(residual, full_matrices=False)
        if (size > 1e-8).all():
            independent.append(name)
            basis = np.hstack([basis, values])
    return independent


def stated(column: pd.Series) -> pd.Series:
    """Return a column whose `unknown` is missing."""
    return column if is_number(column) else column.astype(object).where(column.astype(object) != UNKNOWN)


def label_codes(rows: pd.DataFrame, groups: str | None) -> Integers | None:
    """Number the labels of a column in their order; rows without one have the label `unknown`."""
    if groups is None:
        return None
    return pd.factorize(rows[groups].astype(object).where(rows[groups].notna(), UNKNOWN).astype(str), sort=True)[0]


def term_of(rows: pd.DataFrame, name: str) -> str:
    """Write a column as a term of a formula."""
    plain = name.isidentifier() and not iskeyword(name) and name not in RESERVED
    written = name if plain else f"Q({name!r})"
    return written if is_number(rows[name]) else f"C({written})"


def _content(column: pd.Series) -> bytes:
    """Return what tells columns apart: numbers themselves, labels by where each occurs."""
    if is_number(column):
        return column.to_numpy(dtype=float, na_value=np.nan).tobytes()
    return b"labels" + pd.factorize(column.astype(str))[0].astype(np.int32).tobytes()

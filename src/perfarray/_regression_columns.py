"""Which rows and columns of a table a model can use: chosen by name or by a formula, what says nothing left out and named."""

import re
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray._descriptors import FLAG, LEVEL_VARIANCE, LEVEL_VARIATION, MEASURED, NOISE, RESPONSES, UNPARSED
from perfarray._regression_models import Fit, Kind, boosted, is_number, linear
from perfarray._validation import check_names, listed
from perfarray.conventions import LEVELS, MACHINE, UNKNOWN
from perfarray.numerics.influence import same_columns
from perfarray.numerics.levels import Floats

SETS: Final = ("environment", "flags")
LEAST: Final = 6
"""Rows that a model needs at least."""

NAMES = re.compile(r"""Q\(\s*["'](.+?)["']\s*\)|(?<![\w.])([A-Za-z_]\w*)(?!\w*\s*[(.]|\s*=(?!=))""")
"""Columns in a formula: quoted by Q, or a name that is neither called, looked into, nor a keyword."""


class Question(NamedTuple):
    """One call: rows that can be used, what is explained, by what, and how it is fitted."""

    rows: pd.DataFrame
    target: Floats
    predictors: list[str]
    fit: Callable[[pd.DataFrame, Floats], Fit]
    groups: npt.NDArray[Any] | None
    attrs: dict[Hashable, Any]
    notes: list[str]


def check_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise where a column is not there."""
    missing = [name for name in dict.fromkeys(names) if name not in table]
    if missing:
        raise ValueError(f"columns {listed(missing)} not found; the table has {listed(table.columns, 40)}")


def chosen(table: pd.DataFrame, predictors: str | Sequence[str] | None, kind: Kind) -> list[str]:
    """Return the columns that may explain."""
    if predictors is not None and not (isinstance(predictors, str) and predictors in SETS):
        names = list(check_names(predictors, "predictors")) if len(predictors) else []
        check_columns(table, names)
        return names
    levels = [name for name in table if name in LEVELS]
    labels = {MACHINE, "file", *levels, *RESPONSES, *MEASURED, *kind.effects} | ({kind.groups} if kind.model == "mixed" else set())
    names = [
        str(name)
        for name in table
        if name not in labels and not str(name).endswith((UNPARSED, LEVEL_VARIATION, LEVEL_VARIANCE, f"{LEVEL_VARIANCE}{NOISE}"))
    ]
    if predictors is None:
        return names
    return [name for name in names if name.startswith(FLAG) == (predictors == "flags")]


def by_columns(table: pd.DataFrame, response: str, names: list[str], log: bool, kind: Kind) -> Question:
    """Ask by columns."""
    check_columns(table, [response])
    names = [name for name in names if name != response]
    if not is_number(table[response]):
        raise ValueError(f"response {response!r} holds {table[response].dtype} values, not numbers")
    values = table[response].to_numpy(dtype=float, na_value=np.nan)
    usable, attrs, notes = _usable(table, response, values, log)
    rows = table[usable].reset_index(drop=True)
    kept, left_out = _useful(rows, names, kind.model)
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not kept and not kind.effects:
        raise ValueError(f"nothing is left to explain {response!r} by: {listed(left_out)} are constant, empty, copies, or labels of rows")
    target = np.log(values[usable]) if log else values[usable]
    if kind.model == "boosting":
        fit = lambda part, wanted: boosted(part, wanted, kept, kind.seed)  # noqa: E731
    else:
        right = " + ".join(_term(rows, name) for name in kept) or "1"
        complete = rows[kept].notna().all(axis=1).to_numpy() if kept else np.ones(len(rows), dtype=bool)
        attrs["n_incomplete"] = int((~complete).sum())
        rows, target = rows[complete].reset_index(drop=True), target[complete]
        fit = lambda part, wanted: linear(part, wanted, right, kept, kind, f"{response}{NOISE}")  # noqa: E731
    return Question(_enough(rows), target, kept, fit, _labels(rows, kind.groups), attrs, notes)


def by_formula(table: pd.DataFrame, formula: str, kind: Kind) -> Question:
    """Ask by a formula, from which terms of empty columns are left out."""
    left, tilde, right = formula.partition("~")
    if not tilde:
        raise ValueError(f"formula={formula!r} has no '~'; write response ~ predictors")
    check_columns(table, [*names_in(left), *names_in(right)])
    if not names_in(left):
        raise ValueError(f"formula={formula!r} names no response left of '~'")
    terms = _terms(right)
    empty = [name for name in dict.fromkeys(names_in(right)) if _stated(table[name]).dropna().nunique() < 2]
    kept = [term for term in terms if not set(names_in(term)) & set(empty)]
    if not kept and not kind.effects:
        raise ValueError(f"no term is left of {right.strip()!r}: {listed(empty)} are constant or empty")
    notes = [f"{listed(empty)} are constant or empty: terms with them are left out of the formula"] if empty else []
    usable = np.ones(len(table), dtype=bool)
    for term in kept:
        for name in names_in(term):
            column = table[name]
            usable &= column.notna().to_numpy()
            if "log" in term and is_number(column):
                usable &= column.to_numpy(dtype=float, na_value=np.nan) > 0
    response = names_in(left)[0]
    measured, attrs, said = _usable(table, response, table[response].to_numpy(dtype=float, na_value=np.nan), "log" in left)
    attrs |= {"n_incomplete": int((measured & ~usable).sum()), "formula": f"{left.strip()} ~ {' + '.join(kept) or '1'}"}
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(table[measured & usable].reset_index(drop=True))
    target = np.asarray(import_module("statsmodels.formula.api").ols(f"{left} ~ 1", rows).endog, dtype=float)
    predictors = list(dict.fromkeys(name for term in kept for name in names_in(term)))
    right = " + ".join(kept) or "1"
    fit = lambda part, wanted: linear(part, wanted, right, predictors, kind, f"{response}{NOISE}")  # noqa: E731
    return Question(rows, target, predictors, fit, _labels(rows, kind.groups), attrs, notes + said)


def names_in(part: str) -> list[str]:
    """Return the columns that a part of a formula names."""
    return [quoted or plain for quoted, plain in NAMES.findall(re.sub(r"(?<!Q\()(['\"]).*?\1", "", part))]


def _terms(right: str) -> list[str]:
    """Split the right side of a formula at the plus signs outside brackets."""
    terms, depth = [""], 0
    for sign in right:
        depth += (sign in "([") - (sign in ")]")
        if sign == "+" and not depth:
            terms.append("")
        else:
            terms[-1] += sign
    return [term.strip() for term in terms if term.strip()]


def _usable(table: pd.DataFrame, response: str, values: Floats, log: bool) -> tuple[npt.NDArray[np.bool_], dict[Hashable, Any], list[str]]:
    """Return the rows with a response that can be explained; those without are counted, zeros named."""
    finite = np.isfinite(values)
    zero = finite & (values <= 0) if log else np.zeros(len(values), dtype=bool)
    attrs: dict[Hashable, Any] = {"n_missing_response": int((~finite).sum()), "n_zero": int(zero.sum())}
    if not zero.any():
        return finite, attrs, []
    labels = table[MACHINE].to_numpy() if MACHINE in table else np.arange(len(table))
    names = [str(name) for name in labels[zero]]
    attrs["zero"] = ", ".join(names)
    note = f"{int(zero.sum())} rows have a {response} of zero or less, which has no log, and are left out: {listed(names)}"
    return finite & ~zero, attrs, [note]


def _useful(rows: pd.DataFrame, names: list[str], model: str) -> tuple[list[str], list[str]]:
    """Leave out columns that say nothing: constant, empty, a label for nearly every row, a copy of another."""
    kept = []
    for name in names:
        stated = _stated(rows[name]).dropna()
        distinct = stated.nunique()
        sparse = model != "boosting" and is_number(rows[name]) and len(stated) < len(rows) / 2
        if distinct >= 2 and not sparse and (is_number(rows[name]) or distinct <= len(rows) / 2):
            kept.append(name)
    first = same_columns([rows[name].to_numpy() if is_number(rows[name]) else rows[name].astype(str).to_numpy() for name in kept])
    unique = [name for number, name in enumerate(kept) if first[number] == number]
    if model != "boosting":
        unique = _independent(rows, unique)
    return unique, [name for name in names if name not in unique]


def _independent(rows: pd.DataFrame, names: list[str]) -> list[str]:
    """Leave out columns that are linear combinations of an intercept and those before them."""
    basis = np.ones((len(rows), 1)) / np.sqrt(len(rows))
    kept = []
    for name in names:
        column = rows[name]
        if is_number(column):
            filled = column.astype(float)
            block = filled.fillna(filled.mean()).to_numpy()[:, None]
        else:
            block = pd.get_dummies(column.astype(str), drop_first=True).to_numpy(dtype=float)
        own = block / np.where(np.linalg.norm(block, axis=0) > 0, np.linalg.norm(block, axis=0), 1.0)
        rest = own - basis @ (basis.T @ own)
        rest -= basis @ (basis.T @ rest)
        values, size, _ = np.linalg.svd(rest, full_matrices=False)
        if (size > 1e-8).all():
            kept.append(name)
            basis = np.hstack([basis, values])
    return kept


def _stated(column: pd.Series) -> pd.Series:
    """Return a column whose `unknown` is missing."""
    return column if is_number(column) else column.astype(object).where(column.astype(object) != UNKNOWN)


def _enough(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows if there are enough of them."""
    if len(rows) < LEAST:
        raise ValueError(
            f"{len(rows)} rows have a response and all that the model needs; it needs {LEAST} or more: leave out predictors with gaps"
        )
    return rows


def _labels(rows: pd.DataFrame, groups: str | None) -> npt.NDArray[Any] | None:
    """Return the labels of groups."""
    return None if groups is None else rows[groups].astype(str).to_numpy()


def _term(rows: pd.DataFrame, name: str) -> str:
    """Write a column as a term."""
    return f'Q("{name}")' if is_number(rows[name]) else f'C(Q("{name}"))'

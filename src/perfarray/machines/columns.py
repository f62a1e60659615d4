"""Which rows and columns of a table a model can use: chosen by name or by a formula, what says nothing left out and named."""

import re
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray.conventions import LEVELS, MACHINE, UNKNOWN
from perfarray.machines.models import Fit, Kind, boosted, is_number, linear
from perfarray.machines.numerics.influence import same_columns
from perfarray.machines.table import FLAG, LEVEL_VARIANCE, LEVEL_VARIATION, MEASURED, NOISE, RESPONSES, UNPARSED
from perfarray.numerics.types import Floats, Mask
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed

SETS: Final = ("environment", "flags")
LEAST: Final = 6
"""Rows that a model needs at least."""

NAMES = re.compile(r"""Q\(\s*["'](.+?)["']\s*\)|(?<![\w.])([A-Za-z_]\w*)(?!\w*\s*[(.]|\s*=(?!=))""")
"""Columns in a formula: quoted by Q, or a name that is neither called, looked into, nor a keyword."""

LOGGED = re.compile(r"""\blog(?:2|10)?\s*\(\s*(?:Q\(\s*["'](.+?)["']\s*\)|([A-Za-z_]\w*))\s*\)""")
"""A column in a formula of which the log is taken."""

PATSY: Final = frozenset({"C", "I", "Q", "np"})
"""Names that mean something else in a formula."""


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


def check_response(table: pd.DataFrame, name: str) -> None:
    """Raise where a response is no number."""
    if not is_number(table[name]):
        raise ValueError(f"response {name!r} holds {table[name].dtype} values, not numbers")


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
    check_response(table, response)
    values = table[response].to_numpy(dtype=float, na_value=np.nan)
    usable, attrs, notes = _usable(table, response, values, log)
    rows = _enough(table[usable].reset_index(drop=True), response)
    kept = _useful(rows, names, kind.model)
    if kind.model != "boosting" and kept:
        complete = rows[kept].notna().all(axis=1)
        attrs["n_incomplete"] = int((~complete).sum())
        rows = _enough(rows[complete].reset_index(drop=True), response, rows[kept])
        kept = _useful(rows, kept, kind.model)
    left_out = [name for name in names if name not in kept]
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not kept and not kind.effects:
        why = f"{listed(left_out)} are constant, empty, copies, or labels of rows" if left_out else "no predictor was given"
        raise ValueError(f"nothing is left to explain {response!r} by: {why}")
    measured = rows[response].to_numpy(dtype=float)
    target = _varied(np.log(measured) if log else measured, response, log)
    if kind.model == "boosting":
        fit = lambda part, wanted: boosted(part, wanted, kept, kind.seed)  # noqa: E731
    else:
        right = " + ".join(_term(rows, name) for name in kept) or "1"
        fit = lambda part, wanted: linear(part, wanted, right, kept, kind, f"{response}{NOISE}")  # noqa: E731
    return Question(rows, target, kept, fit, _labels(rows, kind.groups), attrs, notes)


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
    response, *others = names_in(left)
    check_response(table, response)
    right = " + ".join(kept) or "1"
    predictors = names_in(right)
    usable = _stated_rows(table, [*others, *predictors], _logged(f"{left} ~ {right}") - {response})
    measured, attrs, said = _usable(table, response, table[response].to_numpy(dtype=float, na_value=np.nan), response in _logged(left))
    attrs |= {"n_incomplete": int((measured & ~usable).sum()), "formula": f"{left.strip()} ~ {right}"}
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(table[measured & usable].reset_index(drop=True), response, table.loc[measured, predictors])
    target = _varied(_evaluated(formula, left, right, rows), left.strip(), bool(_logged(left)))
    predictors = list(dict.fromkeys(predictors))
    fit = lambda part, wanted: linear(part, wanted, right, predictors, kind, f"{response}{NOISE}")  # noqa: E731
    return Question(rows, target, predictors, fit, _labels(rows, kind.groups), attrs, notes + said)


def names_in(part: str) -> list[str]:
    """Return the columns that a part of a formula names."""
    return [quoted or plain for quoted, plain in NAMES.findall(re.sub(r"(?<!Q\()(['\"]).*?\1", "", part))]


def _logged(part: str) -> set[str]:
    """Return the columns of which a part of a formula takes the log."""
    return {quoted or plain for quoted, plain in LOGGED.findall(part)}


def _stated_rows(table: pd.DataFrame, names: Sequence[str], logged: set[str]) -> Mask:
    """Return the rows in which every column has a value, and those have a log that need one."""
    usable = np.ones(len(table), dtype=bool)
    for name in names:
        usable &= table[name].notna().to_numpy()
        if name in logged and is_number(table[name]):
            usable &= table[name].to_numpy(dtype=float, na_value=np.nan) > 0
    return usable


def _evaluated(formula: str, left: str, right: str, rows: pd.DataFrame) -> Floats:
    """Return what stands left of a formula, of rows that all of it can be computed of."""
    with np.errstate(invalid="ignore", divide="ignore"):
        try:
            model = import_module("statsmodels.formula.api").ols(f"{left} ~ {right}", rows)
        except Exception as error:  # a formula is code: whatever it raises
            raise ValueError(f"formula={formula!r} cannot be computed: {error}") from error
    found = np.asarray(model.endog, dtype=float)
    lost = len(rows) - int((np.isfinite(found) & np.isfinite(model.exog).all(axis=1)).sum())
    if lost:
        raise ValueError(f"formula={formula!r} has no number for {lost} of {len(rows)} rows, such as the log of zero: leave those out")
    return found


def _varied(target: Floats, response: str, log: bool) -> Floats:
    """Return a response, if it is not the same in all rows (to rounding: of a log, which may be near 0, that of 1)."""
    if np.ptp(target) <= 1e-12 * max(np.abs(target).max(), float(log)):
        raise ValueError(f"{response!r} is the same in all {len(target)} rows: there is nothing to explain")
    return target


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


def _usable(table: pd.DataFrame, response: str, values: Floats, log: bool) -> tuple[Mask, dict[Hashable, Any], list[str]]:
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


def _useful(rows: pd.DataFrame, names: list[str], model: str) -> list[str]:
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
    return unique if model == "boosting" else _independent(rows, unique)


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


def _enough(rows: pd.DataFrame, response: str, described: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the rows if there are enough of them; `described` are the predictors of all rows with a response."""
    if len(rows) >= LEAST:
        return rows
    if described is None:
        raise ValueError(f"{len(rows)} rows have a {response!r} that can be explained; a model needs {LEAST} or more")
    gaps = described.isna().sum().sort_values(ascending=False, kind="stable")
    most = ", ".join(f"{name!r} ({count} of {len(described)})" for name, count in gaps[gaps > 0].head(5).items())
    raise ValueError(
        f"{len(rows)} rows have a {response!r} and all that the model needs; it needs {LEAST} or more"
        + (f": leave out predictors with gaps, {most}" if most else "")
    )


def _labels(rows: pd.DataFrame, groups: str | None) -> npt.NDArray[Any] | None:
    """Return the labels of groups."""
    if groups is None:
        return None
    return rows[groups].astype(object).where(rows[groups].notna(), UNKNOWN).astype(str).to_numpy()


def _term(rows: pd.DataFrame, name: str) -> str:
    """Write a column as a term."""
    plain = name.isidentifier() and not iskeyword(name) and name not in PATSY
    written = name if plain else f"Q({name!r})"
    return written if is_number(rows[name]) else f"C({written})"

"""A regression on the rows of a table: which rows can be used, what is explained, by what, and how it is fitted."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE
from perfarray.machines.columns import (
    check_columns,
    check_response,
    chosen_columns,
    is_number,
    label_codes,
    stated,
    term_of,
    useful_columns,
)
from perfarray.machines.formulas import LOGS, Formula, arguments_of, columns_in, evaluate_formula, same_of_arrays
from perfarray.machines.models import Fit, ModelChoice, Terms, boosted, linear
from perfarray.machines.roles import noise_of, roles_of
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

LEAST: Final = 6
"""Rows that a model needs at least."""


class Problem(NamedTuple):
    """Usable rows, the response there, its predictors, what fits a model to some rows, the group of each row, and what was left out."""

    rows: pd.DataFrame
    target: Floats
    predictors: list[str]
    fit: Callable[[pd.DataFrame, Floats], Fit]
    groups: Integers | None
    attrs: dict[Hashable, Any]
    notes: tuple[Note, ...]

    @property
    def units(self) -> int:
        """The number of independent rows or groups."""
        return len(self.rows) if self.groups is None else int(self.groups.max()) + 1


def by_columns(table: pd.DataFrame, response: str, predictors: str | Sequence[str] | None, log: bool, choice: ModelChoice) -> Problem:
    """Explain a column by columns, from which those that say nothing are left out."""
    names = chosen_columns(table, predictors, {*choice.effects, *([choice.groups] if choice.groups and choice.model == "mixed" else [])})
    check_columns(table, [response])
    names = [name for name in names if name != response]
    check_response(table, response)
    values = table[response].to_numpy(dtype=float, na_value=np.nan)
    usable, attrs, notes = _with_response(table, response, values, log)
    rows = _enough(table[usable].reset_index(drop=True), response)
    trees = choice.model == "boosting"
    predictors_kept = useful_columns(rows, names, trees=trees)
    if not trees and predictors_kept:
        complete = rows[predictors_kept].notna().all(axis=1)
        attrs["n_incomplete"] = int((~complete).sum())
        rows = _enough(rows[complete].reset_index(drop=True), response, rows[predictors_kept])
        predictors_kept = useful_columns(rows, predictors_kept, trees=trees)
    left_out = [name for name in names if name not in predictors_kept]
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not predictors_kept and not choice.effects:
        why = f"{listed(left_out)} are constant, empty, copies, or labels of rows" if left_out else "no predictor was given"
        raise ValueError(f"nothing is left to explain {response!r} by: {why}")
    measured = rows[response].to_numpy(dtype=float)
    target = _varied(np.log(measured) if log else measured, response, log)
    if trees:
        fit = partial(boosted, predictors=predictors_kept, seed=choice.seed)
    else:
        right = " + ".join(term_of(rows, name) for name in predictors_kept) or "1"
        classes = {name for name in predictors_kept if not is_number(rows[name])}
        fit = partial(linear, terms=Terms(right, predictors_kept, classes, _noise(table, response), True), choice=choice)
    return Problem(rows, target, predictors_kept, fit, label_codes(rows, choice.groups), attrs, notes)


def by_formula(table: pd.DataFrame, formula: Formula, choice: ModelChoice) -> Problem:
    """Explain by a formula, from which terms of empty columns are left out."""
    on_left = columns_in([formula.response], table)
    check_columns(table, [*on_left, *columns_in(formula.codes(), table)])
    if not on_left:
        raise ValueError(f"formula={formula.text!r} names no response left of '~'")
    empty = [name for name in columns_in(formula.codes(), table) if stated(table[name]).dropna().nunique() < 2]
    if empty and not formula.without(empty).codes() and not choice.effects:
        raise ValueError(f"no term is left of {formula.right()!r}: {listed(empty)} are constant or empty")
    formula = formula.without(empty)
    response, *further_names = on_left
    check_response(table, response)
    predictors = columns_in(formula.codes(), table)
    logged = arguments_of([formula.response], LOGS)
    usable = _stated_rows(table, [*further_names, *predictors], (logged | arguments_of(formula.codes(), LOGS)) - {response})
    measured, attrs, notes = _with_response(table, response, table[response].to_numpy(dtype=float, na_value=np.nan), response in logged)
    attrs |= {"n_incomplete": int((measured & ~usable).sum()), "formula": f"{formula.response} ~ {formula.right()}"}
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(table[measured & usable].reset_index(drop=True), response, table.loc[measured, predictors])
    target = _varied(evaluate_formula(formula, rows), formula.response, bool(logged))
    classes = arguments_of(formula.codes(), ("C",))
    terms = Terms(formula.right(), predictors, classes, _noise(table, response), same_of_arrays(formula.codes()))
    fit = partial(linear, terms=terms, choice=choice)
    if empty:
        left_out = f"{listed(empty)} are constant or empty: terms with them are left out of the formula"
        notes = (Note("constant_terms", left_out, {"columns": empty}), *notes)
    return Problem(rows, target, predictors, fit, label_codes(rows, choice.groups), attrs, notes)


def _noise(table: pd.DataFrame, variance: str) -> str | None:
    """Return the column of what was taken off a variance, if there is one."""
    return name if roles_of(table).get(name := noise_of(variance)) == "noise" else None


def _stated_rows(table: pd.DataFrame, names: Sequence[str], logged: set[str]) -> Mask:
    """Return the rows in which every column has a value, and those have a log that need one."""
    usable = np.ones(len(table), dtype=bool)
    for name in names:
        usable &= table[name].notna().to_numpy()
        if name in logged and is_number(table[name]):
            usable &= table[name].to_numpy(dtype=float, na_value=np.nan) > 0
    return usable


def _with_response(table: pd.DataFrame, response: str, values: Floats, log: bool) -> tuple[Mask, dict[Hashable, Any], tuple[Note, ...]]:
    """Return the rows with a response that can be explained; those without are counted, zeros named."""
    finite = np.isfinite(values)
    zero = finite & (values <= 0) if log else np.zeros(len(values), dtype=bool)
    attrs: dict[Hashable, Any] = {"n_missing_response": int((~finite).sum()), "n_zero": int(zero.sum())}
    if not zero.any():
        return finite, attrs, ()
    labels = table[MACHINE].to_numpy() if MACHINE in table else np.arange(len(table))
    names = [str(name) for name in labels[zero]]
    attrs["zero"] = ", ".join(names)
    text = f"{int(zero.sum())} rows have a {response} of zero or less, which has no log, and are left out: {listed(names)}"
    return finite & ~zero, attrs, (Note("no_log", text, {"response": response, "rows": names}),)


def _varied(target: Floats, response: str, log: bool) -> Floats:
    """Return a response, if it is not the same in all rows (to rounding: of a log, which may be near 0, that of 1)."""
    if np.ptp(target) <= 1e-12 * max(np.abs(target).max(), float(log)):
        raise ValueError(f"{response!r} is the same in all {len(target)} rows: there is nothing to explain")
    return target


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

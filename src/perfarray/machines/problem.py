"""A regression on the rows of a table: usable rows, response, predictors, and how it is fitted."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE, UNKNOWN
from perfarray.machines.columns import (
    check_columns,
    columns_left_out,
    is_number,
    known_values,
    predictor_columns,
    term_of,
)
from perfarray.machines.formulas import LOGS, Formula, arguments_of, columns_in, evaluate_formula
from perfarray.machines.models import ModelChoice, ModelFit, boosted, linear
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

# The smallest number of rows for a model.
MIN_ROWS: Final = 6


class Problem(NamedTuple):
    """Usable rows, their response and predictors, the terms of a formula, attrs, and notes.

    `classes` are the predictors that are labels.
    """

    rows: pd.DataFrame
    target: Floats
    predictors: list[str]
    terms: str
    classes: set[str]
    choice: ModelChoice
    attrs: dict[Hashable, Any]
    notes: tuple[Note, ...]

    @property
    def groups(self) -> Integers | None:
        """The number of each row's group; rows without a label have the label `unknown`."""
        if self.choice.groups is None:
            return None
        labels = self.rows[self.choice.groups]
        return pd.factorize(
            labels.astype(object).where(labels.notna(), UNKNOWN).astype(str), sort=True
        )[0]

    def fit(self, rows: pd.DataFrame, target: Floats) -> ModelFit:
        """Fit the model to some rows."""
        if self.choice.model == "boosting":
            return boosted(rows, target, self.predictors, self.choice.seed)
        return linear(rows, target, self.terms, self.predictors, self.classes, self.choice)


def by_columns(
    table: pd.DataFrame,
    response: str,
    predictors: str | Sequence[str] | None,
    log: bool,
    choice: ModelChoice,
) -> Problem:
    """Explain a column by columns; those without information are dropped."""
    random_effect = {choice.groups} if choice.groups and choice.model == "mixed" else set()
    names = predictor_columns(table, predictors, random_effect)
    names = [name for name in names if name != response]
    check_columns(table, [response])
    has_response, attrs, notes = _with_response(table, response, log)
    is_missing = pd.DataFrame()
    rows = _enough(table[has_response].reset_index(drop=True), response)
    trees = choice.model == "boosting"
    reasons = columns_left_out(rows, names, trees=trees)
    useful = [name for name in names if name not in reasons]
    if not trees and useful:
        is_missing = rows[useful].isna()
        is_complete = ~is_missing.any(axis=1)
        rows = _enough(rows[is_complete].reset_index(drop=True), response, is_missing)
        reasons |= columns_left_out(rows, useful, trees=trees)
        attrs["n_incomplete"] = int((~is_complete).sum())
    useful = [name for name in names if name not in reasons]
    left_out = [name for name in names if name in reasons]
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not useful:
        reason = (
            f"{listed(left_out)} are constant, empty, copies, or labels of rows"
            if left_out
            else "no predictor was given"
        )
        raise ValueError(f"nothing is left to explain {response!r} by: {reason}")
    measured = rows[response].to_numpy(dtype=float)
    target = _varied(np.log(measured) if log else measured, response, log)
    terms = " + ".join(term_of(rows, name) for name in useful)
    classes = {name for name in useful if not is_number(rows[name])}
    notes += _incomplete(is_missing)
    if left_out and predictors is not None and not isinstance(predictors, str):
        texts = ", ".join(f"{name!r} ({reasons[name]})" for name in left_out)
        text = (
            f"{len(left_out)} of {len(names)} predictors are left out: {texts}. "
            "The answer is that of the others."
        )
        values = {"predictors": left_out, "reasons": [reasons[name] for name in left_out]}
        notes += (Note("predictors_left_out", text, values),)
    return Problem(rows, target, useful, terms, classes, choice, attrs=attrs, notes=notes)


def by_formula(table: pd.DataFrame, formula: Formula, choice: ModelChoice) -> Problem:
    """Explain by a formula; terms of empty columns are dropped."""
    on_left, on_right = columns_in([formula.response], table), columns_in(formula.codes(), table)
    check_columns(table, [*on_left, *on_right])
    if not on_left:
        raise ValueError(f"formula={formula.text!r} names no response left of '~'")
    empty = [name for name in on_right if known_values(table[name]).dropna().nunique() < 2]
    if empty and not formula.without(empty).codes():
        raise ValueError(
            f"no term is left of {formula.right()!r}: {listed(empty)} are constant or empty"
        )
    formula = formula.without(empty)
    response, *further_names = on_left
    codes = formula.codes()
    predictors = columns_in(codes, table)
    logged = arguments_of([formula.response], LOGS)
    measured, attrs, notes = _with_response(table, response, response in logged)
    measured_rows = table[measured]
    is_missing = measured_rows[list(dict.fromkeys((*further_names, *predictors)))].isna()
    for name in is_missing:
        if (
            name != response
            and name in logged | arguments_of(codes, LOGS)
            and is_number(table[name])
        ):
            is_missing[name] |= ~(measured_rows[name].to_numpy(dtype=float, na_value=np.nan) > 0)
    incomplete = is_missing.any(axis=1).to_numpy(dtype=bool)
    attrs |= {
        "n_incomplete": int(incomplete.sum()),
        "formula": f"{formula.response} ~ {formula.right()}",
    }
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(measured_rows[~incomplete].reset_index(drop=True), response, is_missing)
    target = _varied(evaluate_formula(formula, rows), formula.response, bool(logged))
    if empty:
        text = f"{listed(empty)} are constant or empty. The formula is fitted without their terms."
        notes = (Note("predictors_left_out", text, {"predictors": empty}), *notes)
    terms, classes = formula.right(), arguments_of(codes, ("C",))
    notes = (*notes, *_incomplete(is_missing))
    return Problem(rows, target, predictors, terms, classes, choice, attrs=attrs, notes=notes)


def _with_response(
    table: pd.DataFrame, response: str, log: bool
) -> tuple[Mask, dict[Hashable, Any], tuple[Note, ...]]:
    """Return the rows with a response, or with its log; count the others."""
    if not is_number(table[response]):
        raise ValueError(f"response {response!r} holds {table[response].dtype} values, not numbers")
    values = table[response].to_numpy(dtype=float, na_value=np.nan)
    finite = np.isfinite(values)
    zero = finite & (values <= 0) if log else np.zeros(len(values), dtype=bool)
    missing = int((~finite).sum())
    attrs: dict[Hashable, Any] = {"n_missing_response": missing, "n_zero": int(zero.sum())}
    notes: tuple[Note, ...] = ()
    if missing:
        text = (
            f"{missing} of {len(values)} rows have no {response} and are left out. "
            "The answer is that of the others."
        )
        counts = {"response": response, "missing": missing, "of": len(values)}
        notes = (Note("rows_left_out", text, counts),)
    if zero.any():
        labels = table[MACHINE].to_numpy() if MACHINE in table else np.arange(len(table))
        names = [str(name) for name in labels[zero]]
        attrs["zero"] = ", ".join(names)
        text = (
            f"{len(names)} rows have a {response} of zero or less, which has no log. "
            f"They are left out: {listed(names)}."
        )
        notes += (Note("rows_left_out", text, {"response": response, "rows": names}),)
    return finite & ~zero, attrs, notes


def _varied(target: Floats, response: str, log: bool) -> Floats:
    """Return a response.

    Raise if it is the same in all rows, to the rounding of the values or, for a log, of 1.
    """
    if np.ptp(target) <= 1e-12 * max(np.abs(target).max(), float(log)):
        raise ValueError(
            f"{response!r} is the same in all {len(target)} rows: there is nothing to explain"
        )
    return target


def _enough(
    rows: pd.DataFrame, response: str, is_missing: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the rows; raise if they are too few.

    `is_missing` says which predictors each row with a response lacks.
    """
    if len(rows) >= MIN_ROWS:
        return rows
    if is_missing is None:
        raise ValueError(
            f"{len(rows)} rows have a {response!r} that can be explained. A model needs "
            f"{MIN_ROWS} or more."
        )
    gaps = _gaps(is_missing)[1]
    raise ValueError(
        f"{len(rows)} rows have a {response!r} and all predictors. A model needs {MIN_ROWS} or more"
        + (f": leave out predictors with gaps, {gaps}." if gaps else ".")
    )


def _incomplete(is_missing: pd.DataFrame) -> tuple[Note, ...]:
    """Say how many rows lack which predictors."""
    gaps, text = _gaps(is_missing)
    if not gaps:
        return ()
    rows = int(is_missing.any(axis=1).sum())
    text = (
        f"{rows} of {len(is_missing)} rows lack a predictor that the model needs, and are left "
        f"out: {text}. Leave out these predictors, or use model='boosting', which takes gaps."
    )
    values = {
        "rows": rows,
        "of": len(is_missing),
        "predictors": [*gaps],
        "lacking": [*gaps.values()],
    }
    return (Note("rows_left_out", text, values),)


def _gaps(is_missing: pd.DataFrame) -> tuple[dict[str, int], str]:
    """Return the number of rows that lack each predictor, the largest first, and a text."""
    gaps = is_missing.sum().sort_values(ascending=False, kind="stable")
    numbers = {str(name): int(number) for name, number in gaps.items() if number}
    texts = [f"{name!r} ({number} of {len(is_missing)})" for name, number in numbers.items()]
    return numbers, ", ".join(texts[:5]) + (f" and {len(texts) - 5} more" if texts[5:] else "")

"""A regression on the rows of a table: which rows can be used, what is explained, by what, and how it is fitted."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE, UNKNOWN
from perfarray.machines.columns import (
    check_columns,
    chosen_columns,
    is_number,
    reason_left_out,
    roles_of,
    stated,
    term_of,
    useful_columns,
)
from perfarray.machines.formulas import LOGS, Formula, arguments_of, columns_in, evaluate_formula
from perfarray.machines.models import Fit, ModelChoice, boosted, linear
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

# The smallest number of rows for a model.
LEAST: Final = 6


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

    @property
    def units(self) -> int:
        """The number of independent rows or groups."""
        return len(self.rows) if (groups := self.groups) is None else int(groups.max()) + 1

    def fit(self, rows: pd.DataFrame, target: Floats) -> Fit:
        """Fit the model to some rows."""
        if self.choice.model == "boosting":
            return boosted(rows, target, self.predictors, self.choice.seed)
        noise = f"{self.attrs['response']}_noise"  # what was subtracted from a variance
        subtracted = (
            rows[noise].to_numpy(dtype=float)
            if roles_of(self.rows).get(noise) == "noise"
            else np.zeros(len(rows))
        )
        return linear(
            rows, target, self.terms, self.predictors, self.classes, subtracted, self.choice
        )


def by_columns(
    table: pd.DataFrame,
    response: str,
    predictors: str | Sequence[str] | None,
    log: bool,
    choice: ModelChoice,
) -> Problem:
    """Explain a column by columns; those without information are dropped."""
    names = chosen_columns(
        table,
        predictors,
        {*choice.effects, *([choice.groups] if choice.groups and choice.model == "mixed" else [])},
    )
    names = [name for name in names if name != response]
    check_columns(table, [response])
    usable, attrs, notes = _with_response(table, response, log)
    lacking = pd.DataFrame()
    rows = _enough(table[usable].reset_index(drop=True), response)
    trees = choice.model == "boosting"
    useful = useful_columns(rows, names, trees=trees)
    if not trees and useful:
        lacking = rows[useful].isna()
        rows = _enough(rows[~lacking.any(axis=1)].reset_index(drop=True), response, lacking)
        useful = useful_columns(rows, useful, trees=trees)
        attrs["n_incomplete"] = int(lacking.any(axis=1).sum())
    left_out = [name for name in names if name not in useful]
    attrs.update(response=response, log=int(log), left_out=", ".join(left_out))
    if not useful and not choice.effects:
        reason = (
            f"{listed(left_out)} are constant, empty, copies, or labels of rows"
            if left_out
            else "no predictor was given"
        )
        raise ValueError(f"nothing is left to explain {response!r} by: {reason}")
    measured = rows[response].to_numpy(dtype=float)
    target = _varied(np.log(measured) if log else measured, response, log)
    terms = " + ".join(term_of(rows, name) for name in useful) or "1"
    classes = {name for name in useful if not is_number(rows[name])}
    notes += _incomplete(lacking)
    if left_out and predictors is not None and not isinstance(predictors, str):
        reasons = [reason_left_out(rows, name, useful) for name in left_out]
        texts = ", ".join(
            f"{name!r} ({reason})" for name, reason in zip(left_out, reasons, strict=True)
        )
        text = (
            f"{len(left_out)} of {len(names)} predictors are left out: {texts}. The answer is "
            "that of the others"
        )
        notes += (Note("predictors_left_out", text, {"predictors": left_out, "reasons": reasons}),)
    return Problem(rows, target, useful, terms, classes, choice=choice, attrs=attrs, notes=notes)


def by_formula(table: pd.DataFrame, formula: Formula, choice: ModelChoice) -> Problem:
    """Explain by a formula; terms of empty columns are dropped."""
    on_left, on_right = columns_in([formula.response], table), columns_in(formula.codes(), table)
    check_columns(table, [*on_left, *on_right])
    if not on_left:
        raise ValueError(f"formula={formula.text!r} names no response left of '~'")
    empty = [name for name in on_right if stated(table[name]).dropna().nunique() < 2]
    if empty and not formula.without(empty).codes() and not choice.effects:
        raise ValueError(
            f"no term is left of {formula.right()!r}: {listed(empty)} are constant or empty"
        )
    formula = formula.without(empty)
    response, *further_names = on_left
    codes = formula.codes()
    predictors = columns_in(codes, table)
    logged = arguments_of([formula.response], LOGS)
    measured, attrs, notes = _with_response(table, response, response in logged)
    described = table[measured]
    lacking = described[list(dict.fromkeys((*further_names, *predictors)))].isna()
    for name in lacking:
        if (
            name != response
            and name in logged | arguments_of(codes, LOGS)
            and is_number(table[name])
        ):
            lacking[name] |= ~(described[name].to_numpy(dtype=float, na_value=np.nan) > 0)
    incomplete = lacking.any(axis=1).to_numpy(dtype=bool)
    attrs |= {
        "n_incomplete": int(incomplete.sum()),
        "formula": f"{formula.response} ~ {formula.right()}",
    }
    attrs.update(response=response, log=0, left_out=", ".join(empty))
    rows = _enough(described[~incomplete].reset_index(drop=True), response, lacking)
    target = _varied(evaluate_formula(formula, rows), formula.response, bool(logged))
    if empty:
        text = f"{listed(empty)} are constant or empty: terms with them are left out of the formula"
        notes = (Note("constant_terms", text, {"columns": empty}), *notes)
    terms, classes = formula.right(), arguments_of(codes, ("C",))
    return Problem(
        rows,
        target,
        predictors,
        terms,
        classes,
        choice=choice,
        attrs=attrs,
        notes=(*notes, *_incomplete(lacking)),
    )


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
            f"{missing} of {len(values)} rows have no {response} and are left out. The answer "
            "is that of the others"
        )
        notes = (
            Note(
                "missing_response", text, {"response": response, "rows": missing, "of": len(values)}
            ),
        )
    if not zero.any():
        return finite, attrs, notes
    labels = table[MACHINE].to_numpy() if MACHINE in table else np.arange(len(table))
    names = [str(name) for name in labels[zero]]
    attrs["zero"] = ", ".join(names)
    text = (
        f"{int(zero.sum())} rows have a {response} of zero or less, which has no log, and are "
        f"left out: {listed(names)}"
    )
    return (
        finite & ~zero,
        attrs,
        (*notes, Note("no_log", text, {"response": response, "rows": names})),
    )


def _varied(target: Floats, response: str, log: bool) -> Floats:
    """Return a response.

    Raise if it is the same in all rows, to the rounding of the values or, for a log, of 1.
    """
    if np.ptp(target) <= 1e-12 * max(np.abs(target).max(), float(log)):
        raise ValueError(
            f"{response!r} is the same in all {len(target)} rows: there is nothing to explain"
        )
    return target


def _enough(rows: pd.DataFrame, response: str, lacking: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the rows; raise if they are too few.

    `lacking` says which predictors each row with a response lacks.
    """
    if len(rows) >= LEAST:
        return rows
    if lacking is None:
        raise ValueError(
            f"{len(rows)} rows have a {response!r} that can be explained; a model needs "
            f"{LEAST} or more"
        )
    gaps = _gaps(lacking)
    remedy = f": leave out predictors with gaps, {_counted(gaps, len(lacking))}" if gaps else ""
    raise ValueError(
        f"{len(rows)} rows have a {response!r} and all that the model needs; it needs {LEAST} "
        f"or more{remedy}"
    )


def _incomplete(lacking: pd.DataFrame) -> tuple[Note, ...]:
    """Say how many rows lack which predictors."""
    gaps = _gaps(lacking)
    if not gaps:
        return ()
    rows = int(lacking.any(axis=1).sum())
    text = (
        f"{rows} of {len(lacking)} rows lack a predictor that the model needs, and are left "
        f"out: {_counted(gaps, len(lacking))}. "
        "The answer is that of the other rows. Leave out these predictors, or use "
        "model='boosting', which takes gaps"
    )
    values = {
        "rows": rows,
        "of": len(lacking),
        "predictors": list(gaps),
        "lacking": list(gaps.values()),
    }
    return (Note("incomplete_predictors", text, values),)


def _gaps(lacking: pd.DataFrame) -> dict[str, int]:
    """Return the number of rows that lack each predictor, the largest first."""
    gaps = lacking.sum().sort_values(ascending=False, kind="stable")
    return {str(name): int(number) for name, number in gaps.items() if number}


def _counted(gaps: dict[str, int], rows: int) -> str:
    """Write the predictors with the most gaps."""
    more = f" and {len(gaps) - 5} more" if len(gaps) > 5 else ""
    return (
        ", ".join(f"{name!r} ({number} of {rows})" for name, number in list(gaps.items())[:5])
        + more
    )

"""How well a model does on rows it did not see, and what each predictor carries there."""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE
from perfarray.machines.columns import is_number, is_text
from perfarray.machines.models import Fit, Predict
from perfarray.machines.numerics.influence import LEAST_UNITS, correlation_interval, influence_of, split_rows
from perfarray.machines.numerics.noise_ceiling import noise_ceiling
from perfarray.machines.problem import Problem
from perfarray.machines.roles import LOG_NOISE, roles_of
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import check_count, listed

REPEATS, ROWS_PERMUTED = 5, 10_000
"""How often each predictor is permuted, over all splits, and rows in all: where many are tested, once is enough."""

ROWS_PREDICTED: Final = 5_000
"""Rows that a model predicts at once: more do not stay in the processor's cache."""

SHOWN, GRID, AVERAGED = 8, 12, 100
"""Predictors with a partial dependence, points of each, rows averaged over."""


class Holdout(NamedTuple):
    """How the rows to test on are drawn: a share of them, so many times, or folds that cover all."""

    share: float
    folds: int | None
    splits: int


class Evaluation(NamedTuple):
    """Variables and attrs of the result, the fit to all rows, and what there is to say of the test."""

    variables: dict[str, Any]
    attrs: dict[Hashable, Any]
    fit: Fit
    notes: tuple[Note, ...]


class _Tested(NamedTuple):
    """Along the tests: which row, in which split, what was predicted, what permuting each predictor added; then rows of the tests.

    `copies` have predictors that all occur in a row fitted, `unanswered` no prediction.
    """

    row: Integers
    split: Integers
    predicted: Floats
    losses: Floats
    copies: Integers
    unanswered: Integers


def evaluate(problem: Problem, test: Holdout, confidence_level: float, rng: np.random.Generator) -> Evaluation:
    """Fit without the test rows and look at those; then fit to all."""
    rows, target, predictors = problem.rows, problem.target, problem.predictors
    tested = _tested(problem, test, rng)
    answered = np.unique(tested.row)
    units_of_rows = tested.row if problem.groups is None else problem.groups[tested.row]
    independent = problem.groups is None and len(answered) == len(tested.row)
    within = None if test.folds else tested.split
    roles = 1 if test.folds is None and test.splits == 1 else 2
    measured = target[tested.row]
    correlation = correlation_interval(measured, tested.predicted, None if independent else units_of_rows, confidence_level, within, roles)
    variance = float(target[answered].var()) if len(answered) else np.nan
    influence = influence_of(tested.losses, variance, units_of_rows, confidence_level)
    times = np.bincount(tested.row, minlength=len(rows))[answered]
    predicted = np.bincount(tested.row, weights=tested.predicted, minlength=len(rows))[answered] / times
    fit = problem.fit(rows, target)
    names = rows[MACHINE].astype(str).to_numpy()[answered] if MACHINE in rows else answered.astype(str)
    variables: dict[str, Any] = {
        "influence": ("predictor", influence.percent, {"units": "percent"}),
        "permutation_influence": ("predictor", influence.increase, {"units": "1"}),
        "lower": ("predictor", influence.lower, {"units": "1"}),
        "upper": ("predictor", influence.upper, {"units": "1"}),
        "measured": ("row", target[answered]),
        "predicted": ("row", predicted),
        "correlation": ((), correlation.estimate, {"units": "1"}),
        "correlation_lower": ((), correlation.lower, {"units": "1"}),
        "correlation_upper": ((), correlation.upper, {"units": "1"}),
        "noise_ceiling": ((), _ceiling(problem), {"units": "1"}),
        **_dependence(fit.predict, rows, [predictors[n] for n in np.argsort(-influence.percent, kind="stable")[:SHOWN]]),
        **_variances(fit.result),
        "predictor": np.array(predictors, dtype=object),
        "row": names.astype(object),
    }
    constant = [name for name, is_finite in zip(predictors, np.isfinite(influence.increase), strict=True) if not is_finite]
    number = len(np.unique(units_of_rows))
    attrs: dict[Hashable, Any] = {
        "n": len(rows),
        "n_unanswered": len(tested.unanswered),
        "n_test": len(answered),
        "n_test_units": number,
        "n_test_copies": len(tested.copies),
        "better_than_mean": int(correlation.lower > 0),
    }
    return Evaluation(variables, attrs, fit, _notes(number, problem.groups is not None, constant) if predictors else ())


def _notes(number: int, grouped: bool, constant: list[str]) -> tuple[Note, ...]:
    """Return notes where too little was tested for limits, or for an influence."""
    notes = []
    if number < LEAST_UNITS:
        noun = "groups" if grouped else "rows"
        text = f"{number} {noun} were tested, too few to tell an influence from chance (it takes {LEAST_UNITS}): its limits are NaN"
        notes.append(Note("few_test_units", text, {"units": number, "needed": LEAST_UNITS}))
    if constant:
        text = f"{listed(constant)} are the same throughout each test: permuting them says nothing, and their influence is not known"
        notes.append(Note("constant_in_tests", text, {"predictors": constant}))
    return tuple(notes)


def _tested(problem: Problem, test: Holdout, rng: np.random.Generator) -> _Tested:
    """Predict the rows of each split by a fit that did not see them, and permute the predictors there."""
    rows, target, predictors, groups = problem.rows, problem.target, problem.predictors, problem.groups
    if test.folds is not None:
        check_count(test.folds, "folds", 2)
        if test.folds > len(rows):
            raise ValueError(f"folds={test.folds} of {len(rows)} rows: give {len(rows)} or fewer")
    if groups is not None and problem.units < (test.folds or 2):
        raise ValueError(f"groups= has {problem.units} labels in {len(rows)} rows; a test needs {test.folds or 2} or more")
    test_splits = split_rows(len(rows), groups, test.share, test.folds, rng, test.splits) if predictors else []
    nothing = np.empty(0, dtype=np.intp)
    tests = [_Tested(nothing, nothing, np.empty(0), np.empty((len(predictors), 0)), nothing, nothing)]
    for number, chosen in enumerate(test_splits):
        training = np.setdiff1d(np.arange(len(rows)), chosen)
        trained = problem.fit(rows.iloc[training].reset_index(drop=True), target[training])
        copies = chosen[_copies(rows[predictors], chosen, training)]
        predicted = trained.predict(rows.iloc[chosen].reset_index(drop=True))
        predictable = np.isfinite(predicted)
        unanswered = chosen[~predictable]
        # Rows with labels that the fit did not see would pass them on to others.
        chosen, predicted = chosen[predictable], predicted[predictable]
        test_rows = rows.iloc[chosen].reset_index(drop=True)
        repeats = int(np.clip(ROWS_PERMUTED // max(len(test_rows), 1), 1, REPEATS if test.folds else max(1, REPEATS // test.splits)))
        losses = _permuted(trained.predict, test_rows, target[chosen], predicted, predictors, repeats, rng)
        tests.append(_Tested(chosen, np.full(len(chosen), number), predicted, losses, copies, unanswered))
    row, split, predicted, losses, copies, unanswered = (np.concatenate(test_rows, axis=-1) for test_rows in zip(*tests, strict=True))
    return _Tested(row, split, predicted, losses, np.unique(copies), np.unique(unanswered))


def _permuted(
    predict: Predict,
    test_rows: pd.DataFrame,
    measured: Floats,
    predicted: Floats,
    predictors: list[str],
    repeats: int,
    rng: np.random.Generator,
) -> Floats:
    """Return what permuting each predictor adds to the squared error of each row; NaN where it is the same in all of them."""
    orders = np.concatenate([rng.permutation(len(test_rows)) for _ in range(repeats)])
    repeated = test_rows.iloc[np.tile(np.arange(len(test_rows)), repeats)].reset_index(drop=True)
    losses = np.empty((len(predictors), len(test_rows)))
    at_once = max(1, ROWS_PREDICTED // max(len(repeated), 1))
    # Predictors in blocks, each block one call of the model: a call has a price of its own.
    for start in range(0, len(predictors), at_once):
        names = predictors[start : start + at_once]
        block = pd.concat([repeated.assign(**{name: test_rows[name].iloc[orders].array}) for name in names], ignore_index=True)
        permuted = predict(block).reshape(len(names), repeats, len(test_rows))
        losses[start : start + len(names)] = ((measured - permuted) ** 2).mean(axis=1) - (measured - predicted) ** 2
    losses[[test_rows[name].nunique(dropna=False) < 2 for name in predictors]] = np.nan
    return losses


def _copies(described: pd.DataFrame, test: Integers, training: Integers) -> Mask:
    """Return which test rows have predictors that all occur in one of the rows fitted."""
    marks = pd.util.hash_pandas_object(described.astype(str), index=False).to_numpy()
    return np.isin(marks[test], marks[training])


def _ceiling(problem: Problem) -> float:
    """Return the noise ceiling of a log of relative variation, whatever its base."""
    response = str(problem.attrs["response"])
    if response not in ("relative_variation", "variation") or roles_of(problem.rows).get(LOG_NOISE) != "log_noise":
        return float("nan")
    values = problem.rows[response].to_numpy(dtype=float)
    if (values <= 0).any():
        return float("nan")
    logs = np.log(values)
    if abs(np.corrcoef(logs, problem.target)[0, 1]) < 1 - 1e-9:
        return float("nan")
    return noise_ceiling(logs, problem.rows[LOG_NOISE].to_numpy(dtype=float))


def _dependence(predict: Predict, rows: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Return the average prediction at values of the most influential predictors, all else as it is in the rows."""
    sample = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(AVERAGED, len(rows))).astype(int))].reset_index(drop=True)
    at = np.full((len(names), GRID), "", dtype=object)
    value, averages = np.full((2, len(names), GRID), np.nan)
    for number, name in enumerate(names):
        column = rows[name]
        if is_number(column):
            stated = column.dropna().to_numpy(dtype=float)
            points: Any = np.unique(np.quantile(stated, np.linspace(0, 1, GRID), method="inverted_cdf"))
            value[number, : len(points)] = points
            points = points.astype(bool) if column.dtype == bool else points
        else:
            points = (column.astype(str) if is_text(column) else column).value_counts().index[:GRID].tolist()
        at[number, : len(points)] = [f"{point:g}" if isinstance(point, float) else str(point) for point in points]
        repeated = sample.iloc[np.tile(np.arange(len(sample)), len(points))].reset_index(drop=True)
        answers = predict(repeated.assign(**{name: np.repeat(points, len(sample))})).reshape(len(points), len(sample))
        has_answer = np.isfinite(answers).any(axis=1)
        averages[number, np.flatnonzero(has_answer)] = np.nanmean(answers[has_answer], axis=1)
    return {
        "dependent": ("dependent", np.array(names, dtype=object)),
        "at": (("dependent", "point"), at),
        "at_value": (("dependent", "point"), value),
        "dependence": (("dependent", "point"), averages),
    }


def _variances(result: Any) -> dict[str, Any]:
    """Return the variances of a mixed model's effects, the residual last."""
    if not hasattr(result, "vcomp"):
        return {}
    names = list(result.model.exog_vc.names) if len(result.vcomp) else ["groups"]
    values = list(result.vcomp) if len(result.vcomp) else [float(np.asarray(result.cov_re)[0, 0])]
    order = [names.index(name) for name in names]
    return {
        "effect": ("effect", np.array([*names, "residual"], dtype=object)),
        "variance": ("effect", np.array([*(values[n] for n in order), float(result.scale)])),
    }

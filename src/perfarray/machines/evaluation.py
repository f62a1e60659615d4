"""How well a model predicts rows that it was not fitted to, and what each predictor contributes."""

from collections.abc import Hashable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Final

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE
from perfarray.machines.columns import LOG_NOISE, is_number, is_text, roles_of
from perfarray.machines.models import ModelFit, Predict
from perfarray.machines.numerics.influence import (
    MIN_UNITS_FOR_LIMITS,
    correlation_interval,
    influence_of,
    random_rows,
)
from perfarray.machines.numerics.noise_ceiling import noise_ceiling
from perfarray.machines.numerics.shares import explained_shares
from perfarray.machines.problem import Problem
from perfarray.numerics.types import Floats, Integers
from perfarray.timings.notes import Note
from perfarray.timings.progress import progress_bar
from perfarray.timings.validation import check_count, listed, number_of

# Permutations of each predictor over all splits, and rows permuted in a test: a random part of many
# rows says as much in less time.
REPEATS, ROWS_PERMUTED = 5, 2_000

# Rows of one prediction: more do not fit into the cache of the processor.
ROWS_PREDICTED: Final = 20_000

# The correlation of ranks from which on predictors say nearly the same.
SIMILAR: Final = 0.95

# Rows whose ranks are correlated
RANKED: Final = 2_000

# Predictors with a partial dependence, points of each, and rows that are averaged.
DEPENDENT, GRID, AVERAGED = 8, 12, 100


def draw_test_sets(
    problem: Problem, test_size: float, splits: int, folds: int | None, rng: np.random.Generator
) -> list[Integers]:
    """Return the rows of each test: shares drawn at random, or folds that cover all rows.

    Rows of a group stay together.
    """
    n_rows, groups = len(problem.rows), problem.groups
    if folds is not None and check_count(folds, "folds", 2) > n_rows:
        raise ValueError(f"folds={folds} of {n_rows} rows: give {n_rows} or fewer")
    if not problem.predictors:
        return []
    units = np.arange(n_rows) if groups is None else groups
    n_units = int(units.max()) + 1
    if n_units < (folds or 2):
        remedy = (
            "Give fewer folds="
            if folds is not None and n_units > 1
            else f"Select more: limits take {MIN_UNITS_FOR_LIMITS}"
        )
        raise ValueError(
            f"{problem.choice.groups!r} has {number_of(n_units, 'label')} in {n_rows} rows; a test "
            f"needs {folds or 2} or more, since rows of one label stay together. {remedy}. "
            "Or give another column as groups=, or groups=None, which tests each row by itself"
        )
    if folds is None:
        return [random_rows(units, test_size, rng) for _ in range(splits)]
    try:
        splitters = import_module("sklearn.model_selection")
    except ImportError as error:
        raise ImportError("folds= needs scikit-learn: install perfarray[regression].") from error
    # GroupKFold fills the smallest fold with the largest group left: groups of one size take turns
    # in the order of their labels, which is made random.
    labels = rng.permutation(n_units)[units]
    return [test for _, test in splitters.GroupKFold(folds).split(labels, groups=labels)]


def evaluate(
    problem: Problem,
    fit: ModelFit,
    test_sets: list[Integers],
    covers_rows: bool,
    confidence_level: float,
    rng: np.random.Generator,
    progress: bool | None,
) -> tuple[dict[str, Any], dict[Hashable, Any], tuple[Note, ...]]:
    """Test a model on rows that are left out of its fits; return variables, attrs and notes.

    `fit` is that of all rows. The test sets are random, or cover all rows once.
    """
    rows, target, predictors = problem.rows, problem.target, problem.predictors
    groups = problem.groups
    repeats = REPEATS if covers_rows else max(1, REPEATS // max(len(test_sets), 1))
    tests, losses = _tests(problem, test_sets, repeats, rng, progress)
    has_answer = np.isfinite(tests["predicted"].to_numpy())
    n_copies, n_unanswered = (
        tests.loc[mask, "row"].nunique() for mask in (tests["is_copy"], ~has_answer)
    )
    tests, losses = tests[has_answer], losses.compress(has_answer, axis=-1)
    tested, answers, means, split = (
        tests[name].to_numpy() for name in ("row", "predicted", "mean", "split")
    )
    answered, times = np.unique(tested, return_counts=True)
    units = tested if groups is None else groups[tested]
    independent = groups is None and len(answered) == len(tested)
    correlation = correlation_interval(
        target[tested],
        answers,
        None if independent else units,
        confidence_level,
        None if covers_rows else split,
        exchanged=covers_rows or len(test_sets) > 1,
    )
    variance = float(target[answered].var()) if len(answered) else np.nan
    percent, increase = influence_of(losses[0], variance, units, confidence_level)
    errors, baseline = (target[tested] - answers) ** 2, (target[tested] - means) ** 2
    total, explained = explained_shares(errors, baseline, losses[1], units, confidence_level, rng)
    predicted = np.bincount(tested, weights=answers, minlength=len(rows))[answered] / times
    names = rows[MACHINE].to_numpy()[answered] if MACHINE in rows else answered
    strongest = [predictors[n] for n in np.argsort(-percent, kind="stable")[:DEPENDENT]]
    unitless, ends = {"units": "1"}, ("", "_lower", "_upper")
    variables: dict[str, Any] = {
        **{f"explained{end}": ("predictor", explained[n], unitless) for n, end in enumerate(ends)},
        **{f"total_explained{end}": ((), total[n], unitless) for n, end in enumerate(ends)},
        "influence": ("predictor", percent, {"units": "percent"}),
        "permutation_influence": ("predictor", increase[0], unitless),
        "lower": ("predictor", increase[1], unitless),
        "upper": ("predictor", increase[2], unitless),
        "measured": ("row", target[answered]),
        "predicted": ("row", predicted),
        **{f"correlation{end}": ((), correlation[n], unitless) for n, end in enumerate(ends)},
        "noise_ceiling": ((), _ceiling(problem), unitless),
        **_dependence(fit, rows, strongest),
        "predictor": np.array(predictors, dtype=object),
        "row": names.astype(str).astype(object),
    }
    if problem.choice.model == "mixed":
        variances = [float(np.asarray(fit.result.cov_re)[0, 0]), float(fit.result.scale)]
        variables["effect"] = np.array(["groups", "residual"], dtype=object)
        variables["variance"] = ("effect", np.array(variances))
    attrs: dict[Hashable, Any] = {
        "n": len(rows),
        "n_unanswered": n_unanswered,
        "n_test": len(answered),
        "n_test_units": len(np.unique(units)),
        "n_test_copies": n_copies,
        "better_than_mean": int(total[1] > 0),
    }
    return variables, attrs, _notes(problem, increase, int(attrs["n_test_units"]))


def _notes(problem: Problem, increase: Floats, n_units: int) -> tuple[Note, ...]:
    """Say where limits are missing, and which predictors rise and fall together."""
    rows, predictors, notes = problem.rows, problem.predictors, []
    if predictors and n_units < MIN_UNITS_FOR_LIMITS:
        noun = "machines" if problem.choice.groups == MACHINE else "groups"
        text = (
            f"{n_units} {noun if problem.choice.groups else 'rows'} were tested, too few to tell "
            f"an influence from chance. Its limits are NaN: they need {MIN_UNITS_FOR_LIMITS}."
        )
        values = {"units": n_units, "needed": MIN_UNITS_FOR_LIMITS}
        notes.append(Note("untested_influence", text, values))
    constant = [
        name for name, value in zip(predictors, increase[0], strict=True) if not np.isfinite(value)
    ]
    if constant:
        text = (
            f"{listed(constant)} are the same throughout each test. "
            "Their influence cannot be measured."
        )
        notes.append(Note("untested_influence", text, {"predictors": constant}))
    # Where a predictor surely contributes, another that says the same could stand for it.
    strong = {name for name, low in zip(predictors, increase[1], strict=True) if low > 0}
    numbers = [name for name in predictors if is_number(rows[name])]
    ranks = rows[numbers].iloc[_evenly(len(rows), RANKED)].rank()
    correlations = ranks.fillna(ranks.mean()).astype(float).corr().to_numpy()
    similar = [
        (numbers[first], numbers[second], float(correlations[first, second]))
        for first, second in np.argwhere(np.triu(np.abs(correlations) >= SIMILAR, 1)).tolist()
        if strong.intersection((numbers[first], numbers[second]))
    ]
    if similar:
        pairs = [f"{first} and {second} ({value:.2f})" for first, second, value in similar]
        text = (
            f"Predictors rise and fall together: {listed(pairs, 5)}. "
            "The model divides between them what either explains. Leave one out to see."
        )
        similarities = {
            "predictors": [list(pair) for *pair, _ in similar],
            "correlations": [correlation for *_, correlation in similar],
        }
        notes.append(Note("similar_predictors", text, similarities, aside=True))
    return tuple(notes)


def _tests(
    problem: Problem,
    test_sets: list[Integers],
    repeats: int,
    rng: np.random.Generator,
    progress: bool | None,
) -> tuple[pd.DataFrame, Floats]:
    """Predict the rows of each test by a fit that did not see them, and permute predictors there.

    Returns a line for each test of a row: the row, its split, its prediction, the mean of the rows
    fitted, and whether a row that was fitted has the same predictors. Then what permuting adds to
    its squared error (2, predictors, lines), NaN where nothing was permuted: of the row itself, and
    with what its value adds to the error of another.
    """
    rows, target, predictors = problem.rows, problem.target, problem.predictors
    groups = problem.groups
    tests = pd.DataFrame(
        {"row": [], "split": [], "predicted": [], "mean": [], "is_copy": []}, dtype=float
    ).astype({"row": int, "split": int, "is_copy": bool})
    losses = np.empty((2, len(predictors), 0))
    if not test_sets:
        return tests, losses
    units = np.arange(len(rows)) if groups is None else groups
    codes = rows[predictors].apply(lambda column: pd.factorize(column)[0])
    marks = pd.util.hash_pandas_object(codes, index=False).to_numpy()
    n_steps = len(test_sets) * (1 + len(predictors))
    with progress_bar(n_steps, "testing the model", "step", show=progress) or nullcontext() as bar:
        for split, test in enumerate(test_sets):
            training = np.setdiff1d(np.arange(len(rows)), test)
            fit = problem.fit(rows.iloc[training].reset_index(drop=True), target[training])
            if bar is not None:
                bar.update()
            prepared = fit.prepare(rows.iloc[test].reset_index(drop=True))
            lines = pd.DataFrame({"row": test, "split": split})
            lines["predicted"] = fit.predict_prepared(prepared)
            lines["mean"] = target[training].mean()
            lines["is_copy"] = np.isin(marks[test], marks[training])
            # Permuting would give labels that the fit did not see to other rows.
            permuted = np.flatnonzero(np.isfinite(lines["predicted"]))
            if len(permuted) > ROWS_PERMUTED:
                share = ROWS_PERMUTED / len(permuted)
                permuted = permuted[random_rows(units[test[permuted]], share, rng)]
            losses_of_split = np.full((2, len(predictors), len(test)), np.nan)
            losses_of_split[..., permuted] = _permuted(
                fit.predict_prepared,
                prepared.iloc[permuted].reset_index(drop=True),
                target[test[permuted]],
                lines["predicted"].to_numpy()[permuted],
                int(np.clip(ROWS_PERMUTED // max(len(permuted), 1), 1, repeats)),
                rng,
                bar,
            )
            tests = pd.concat([tests, lines], ignore_index=True)
            losses = np.concatenate([losses, losses_of_split], axis=-1)
    return tests, losses


def _permuted(
    predict: Predict,
    test_rows: pd.DataFrame,
    measured: Floats,
    predicted: Floats,
    repeats: int,
    rng: np.random.Generator,
    bar: Any,
) -> Floats:
    """Return what permuting each predictor adds to the squared error of each row, NaN if constant.

    Then the same with what the value of the row adds in the row that gets it, less the mean. Both
    have the same mean. Where a predictor adds nothing, the spread of the first is that of its mean;
    elsewhere a row counts twice, since values of a few rows may do most.
    """
    orders = np.stack([rng.permutation(len(test_rows)) for _ in range(repeats)])
    repeated = test_rows.iloc[np.tile(np.arange(len(test_rows)), repeats)].reset_index(drop=True)
    predictors = [str(name) for name in test_rows]
    losses = np.empty((len(predictors), repeats, len(test_rows)))
    at_once = max(1, ROWS_PREDICTED // max(len(repeated), 1))
    # Several predictors share one call of the model, which has a cost of its own.
    for start in range(0, len(predictors), at_once):
        names = predictors[start : start + at_once]
        blocks: list[pd.DataFrame] = [
            repeated.assign(**{name: test_rows[name].iloc[orders.ravel()].array}) for name in names
        ]
        permuted = predict(pd.concat(blocks, ignore_index=True)).reshape(
            len(names), repeats, len(test_rows)
        )
        losses[start : start + len(names)] = (measured - permuted) ** 2 - (
            measured - predicted
        ) ** 2
        if bar is not None:
            bar.update(len(names))
    losses[[test_rows[name].nunique(dropna=False) < 2 for name in predictors]] = np.nan
    losses_by_source = np.take_along_axis(losses, np.argsort(orders)[None], axis=-1)
    by_row = losses.mean(axis=1)
    return np.stack(
        [by_row, by_row + losses_by_source.mean(axis=1) - by_row.mean(axis=-1, keepdims=True)]
    )


def _ceiling(problem: Problem) -> float:
    """Return the noise ceiling of the log, to any base, of relative variation.

    NaN for other responses.
    """
    response = str(problem.attrs["response"])
    if (
        response not in ("relative_variation", "variation")
        or roles_of(problem.rows).get(LOG_NOISE) != "log_noise"
    ):
        return float("nan")
    values = problem.rows[response].to_numpy(dtype=float)
    logs = np.log(np.where(values > 0, values, np.nan))
    if not abs(np.corrcoef(logs, problem.target)[0, 1]) >= 1 - 1e-9:
        return float("nan")
    return noise_ceiling(logs, problem.rows[LOG_NOISE].to_numpy(dtype=float))


def _dependence(fit: ModelFit, rows: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Return the average prediction at values of predictors, with all others as in the rows."""
    sample = rows.iloc[_evenly(len(rows), AVERAGED)]
    at = np.full((len(names), GRID), "", dtype=object)
    value, averages = np.full((2, len(names), GRID), np.nan)
    for number, name in enumerate(names):
        column = rows[name]
        if is_number(column):
            numbers = column.dropna().to_numpy(dtype=float)
            shares = np.linspace(0, 1, GRID)
            points: Any = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
            value[number, : len(points)] = points
            points = points.astype(bool) if column.dtype == bool else points
        else:
            labels = column.astype(str) if is_text(column) else column
            points = labels.value_counts().index[:GRID].tolist()
        at[number, : len(points)] = [
            f"{point:g}" if isinstance(point, float) else str(point) for point in points
        ]
        repeated = sample.iloc[np.tile(np.arange(len(sample)), len(points))]
        table = repeated.assign(**{name: pd.Series(points).repeat(len(sample)).array})
        predictions = fit.predict(table).reshape(len(points), len(sample))
        answered = np.flatnonzero(np.isfinite(predictions).any(axis=1))
        averages[number, answered] = np.nanmean(predictions[answered], axis=1)
    return {
        "dependent": ("dependent", np.array(names, dtype=object)),
        "at": (("dependent", "point"), at),
        "at_value": (("dependent", "point"), value),
        "dependence": (("dependent", "point"), averages),
    }


def _evenly(number: int, n_max: int) -> Integers:
    """Return at most so many positions of rows, at equal steps."""
    return np.unique(np.linspace(0, number - 1, min(n_max, number)).astype(int))

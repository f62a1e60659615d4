"""How well a model predicts rows that it was not fitted to, and what each predictor contributes."""

from collections.abc import Hashable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import MACHINE
from perfarray.machines.columns import LOG_NOISE, is_number, is_text, roles_of
from perfarray.machines.models import Fit, Predict
from perfarray.machines.numerics.influence import (
    LEAST_UNITS,
    Influence,
    correlation_interval,
    influence_of,
    split_rows,
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
SHOWN, GRID, AVERAGED = 8, 12, 100


class Tests(NamedTuple):
    """By test of a row: the row, its split, its prediction, the mean of the rows fitted, and what permuting adds to its squared error.

    Losses (2, predictors, n) are NaN where nothing was permuted; the second also count what the
    value of the row adds to the error of another. Then rows whose predictors are those of a row
    that was fitted, and rows without a prediction.
    """

    rows: Integers
    split: Integers
    predicted: Floats
    mean: Floats
    losses: Floats
    copies: Integers
    unanswered: Integers


def evaluate(
    problem: Problem,
    fit: Fit,
    *,
    test_size: float,
    folds: int | None,
    splits: int,
    confidence_level: float,
    rng: np.random.Generator,
    progress: bool | None,
) -> tuple[dict[str, Any], dict[Hashable, Any], tuple[Note, ...]]:
    """Test a model on rows that are left out of its fits; return variables, attrs and notes.

    `fit` is that of all rows.
    """
    rows, target, predictors, groups = (
        problem.rows,
        problem.target,
        problem.predictors,
        problem.groups,
    )
    tests = _tests(problem, test_size, folds, splits, rng, progress)
    tested, answers = tests.rows, tests.predicted
    answered, times = np.unique(tested, return_counts=True)
    units_of_rows = tested if groups is None else groups[tested]
    independent = groups is None and len(answered) == len(tested)
    estimate, lower, upper = correlation_interval(
        target[tested],
        answers,
        None if independent else units_of_rows,
        confidence_level,
        None if folds else tests.split,
        exchanged=folds is not None or splits > 1,
    )
    variance = float(target[answered].var()) if len(answered) else np.nan
    influence = influence_of(tests.losses[0], variance, units_of_rows, confidence_level)
    errors, baseline = (target[tested] - answers) ** 2, (target[tested] - tests.mean) ** 2
    shares = explained_shares(
        errors, baseline, tests.losses[1], units_of_rows, confidence_level, rng
    )
    predicted = np.bincount(tested, weights=answers, minlength=len(rows))[answered] / times
    names = (
        rows[MACHINE].astype(str).to_numpy()[answered] if MACHINE in rows else answered.astype(str)
    )
    variables: dict[str, Any] = {
        "explained": ("predictor", shares.explained, {"units": "1"}),
        "explained_lower": ("predictor", shares.lower, {"units": "1"}),
        "explained_upper": ("predictor", shares.upper, {"units": "1"}),
        "total_explained": ((), shares.total, {"units": "1"}),
        "total_explained_lower": ((), shares.total_lower, {"units": "1"}),
        "total_explained_upper": ((), shares.total_upper, {"units": "1"}),
        "influence": ("predictor", influence.percent, {"units": "percent"}),
        "permutation_influence": ("predictor", influence.increase, {"units": "1"}),
        "lower": ("predictor", influence.lower, {"units": "1"}),
        "upper": ("predictor", influence.upper, {"units": "1"}),
        "measured": ("row", target[answered]),
        "predicted": ("row", predicted),
        "correlation": ((), estimate, {"units": "1"}),
        "correlation_lower": ((), lower, {"units": "1"}),
        "correlation_upper": ((), upper, {"units": "1"}),
        "noise_ceiling": ((), _ceiling(problem), {"units": "1"}),
        **_dependence(
            fit,
            rows,
            [predictors[n] for n in np.argsort(-influence.percent, kind="stable")[:SHOWN]],
        ),
        **_variances(fit.result),
        "predictor": np.array(predictors, dtype=object),
        "row": names.astype(object),
    }
    number = len(np.unique(units_of_rows))
    attrs: dict[Hashable, Any] = {
        "n": len(rows),
        "n_unanswered": len(np.unique(tests.unanswered)),
        "n_test": len(answered),
        "n_test_units": number,
        "n_test_copies": len(np.unique(tests.copies)),
        "better_than_mean": int(shares.total_lower > 0),
    }
    return variables, attrs, _notes(problem, influence, number)


def _notes(problem: Problem, influence: Influence, number: int) -> tuple[Note, ...]:
    """Return what limits the answer: few units tested, predictors that never vary in a test, and those that rise and fall together."""
    rows, predictors, notes = problem.rows, problem.predictors, []
    if predictors and number < LEAST_UNITS:
        noun = (
            "rows"
            if problem.groups is None
            else "machines"
            if problem.choice.groups == MACHINE
            else "groups"
        )
        text = (
            f"{number} {noun} were tested, too few to tell an influence from chance (it takes "
            f"{LEAST_UNITS}): its limits are NaN"
        )
        notes.append(Note("few_test_units", text, {"units": number, "needed": LEAST_UNITS}))
    constant = [
        name
        for name, increase in zip(predictors, influence.increase, strict=True)
        if not np.isfinite(increase)
    ]
    if constant:
        text = (
            f"{listed(constant)} are the same throughout each test: permuting them says "
            "nothing, and their influence is not known"
        )
        notes.append(Note("constant_in_tests", text, {"predictors": constant}))
    return *notes, *_similar(
        rows,
        [name for name, low in zip(predictors, influence.lower, strict=True) if low > 0],
        predictors,
    )


def _similar(rows: pd.DataFrame, strong: list[str], predictors: list[str]) -> list[Note]:
    """Return a note where predictors that surely contribute rise and fall with others, which could stand for them."""
    numbers = [name for name in predictors if is_number(rows[name])]
    ranks = rows[numbers].iloc[_evenly(len(rows), RANKED)].rank()
    correlations = ranks.fillna(ranks.mean()).astype(float).corr().to_numpy()
    similar = [
        (numbers[first], numbers[second], float(correlations[first, second]))
        for first, second in np.argwhere(np.triu(np.abs(correlations) >= SIMILAR, 1)).tolist()
        if {numbers[first], numbers[second]} & {*strong}
    ]
    if not similar:
        return []
    texts = listed(
        [f"{first} and {second} ({correlation:.2f})" for first, second, correlation in similar], 5
    )
    text = (
        f"Predictors rise and fall together: {texts}. The model divides between them what "
        "either explains. Leave one out to see"
    )
    values = {
        "predictors": [list(pair) for *pair, _ in similar],
        "correlations": [correlation for *_, correlation in similar],
    }
    return [Note("similar_predictors", text, values, aside=True)]


def _tests(
    problem: Problem,
    test_size: float,
    folds: int | None,
    splits: int,
    rng: np.random.Generator,
    progress: bool | None,
) -> Tests:
    """Predict the rows of each split by a fit that did not see them, and permute the predictors there."""
    rows, target, predictors, groups = (
        problem.rows,
        problem.target,
        problem.predictors,
        problem.groups,
    )
    if folds is not None and check_count(folds, "folds", 2) > len(rows):
        raise ValueError(f"folds={folds} of {len(rows)} rows: give {len(rows)} or fewer")
    if groups is not None and predictors and problem.units < (folds or 2):
        fewer = (
            " Give fewer folds=,"
            if folds is not None and problem.units > 1
            else f" Select more: limits take {LEAST_UNITS}. Or give"
        )
        raise ValueError(
            f"{problem.choice.groups!r} has {number_of(problem.units, 'label')} in {len(rows)} "
            f"rows; a test needs {folds or 2} or more, "
            f"since rows of one label stay together.{fewer} another column as groups=, or "
            "groups=None, which tests each row by itself"
        )
    no_rows = np.empty(0, dtype=np.intp)
    if not predictors:
        return Tests(
            no_rows, no_rows, np.empty(0), np.empty(0), np.empty((2, 0, 0)), no_rows, no_rows
        )
    codes = rows[predictors].apply(lambda column: pd.factorize(column)[0])
    marks = pd.util.hash_pandas_object(codes, index=False).to_numpy()
    tests = []
    test_sets = split_rows(len(rows), groups, test_size, folds, rng, splits)
    with (
        progress_bar(
            len(test_sets) * (1 + len(predictors)), "testing the model", "step", show=progress
        )
        or nullcontext() as bar
    ):
        for number, chosen in enumerate(test_sets):
            training = np.setdiff1d(np.arange(len(rows)), chosen)
            fit = problem.fit(rows.iloc[training].reset_index(drop=True), target[training])
            if bar is not None:
                bar.update()
            copies = chosen[np.isin(marks[chosen], marks[training])]
            prepared = fit.prepare(rows.iloc[chosen].reset_index(drop=True))
            predicted = fit.predict_prepared(prepared)
            answered = np.isfinite(predicted)
            unanswered = chosen[~answered]
            # Permuting would give labels that the fit did not see to other rows.
            chosen, predicted, prepared = chosen[answered], predicted[answered], prepared[answered]
            losses = np.full((2, len(predictors), len(chosen)), np.nan)
            permuted = _sampled(chosen, groups, rng)
            repeats = int(
                np.clip(
                    ROWS_PERMUTED // max(len(permuted), 1),
                    1,
                    REPEATS if folds else max(1, REPEATS // splits),
                )
            )
            losses[..., permuted] = _permuted(
                fit.predict_prepared,
                prepared.iloc[permuted].reset_index(drop=True),
                target[chosen[permuted]],
                predicted[permuted],
                repeats,
                rng,
                bar,
            )
            mean = np.full(len(chosen), target[training].mean())
            tests.append(
                (chosen, np.full(len(chosen), number), predicted, mean, losses, copies, unanswered)
            )
    return Tests(*(np.concatenate(arrays, axis=-1) for arrays in zip(*tests, strict=True)))


def _sampled(chosen: Integers, groups: Integers | None, rng: np.random.Generator) -> Integers:
    """Return the positions of the rows to permute: all, or of many a random part, rows of a group together."""
    if len(chosen) <= ROWS_PERMUTED:
        return np.arange(len(chosen))
    return split_rows(
        len(chosen),
        None if groups is None else groups[chosen],
        ROWS_PERMUTED / len(chosen),
        None,
        rng,
    )[0]


def _permuted(
    predict: Predict,
    test_rows: pd.DataFrame,
    measured: Floats,
    predicted: Floats,
    repeats: int,
    rng: np.random.Generator,
    bar: Any,
) -> Floats:
    """Return what permuting each predictor adds to the squared error of each row.

    NaN where it is the same in all of them.

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
    elsewhere = np.take_along_axis(losses, np.argsort(orders)[None], axis=-1)
    by_row = losses.mean(axis=1)
    return np.stack([by_row, by_row + elsewhere.mean(axis=1) - by_row.mean(axis=-1, keepdims=True)])


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


def _dependence(fit: Fit, rows: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Return the average prediction at values of the most influential predictors, with all others as they are in the rows."""
    sample = rows.iloc[_evenly(len(rows), AVERAGED)].reset_index(drop=True)
    prepared = fit.prepare(sample)
    at = np.full((len(names), GRID), "", dtype=object)
    value, averages = np.full((2, len(names), GRID), np.nan)
    blocks = []
    for number, name in enumerate(names):
        column = rows[name]
        if is_number(column):
            points: Any = np.unique(
                np.quantile(
                    column.dropna().to_numpy(dtype=float),
                    np.linspace(0, 1, GRID),
                    method="inverted_cdf",
                )
            )
            value[number, : len(points)] = points
            points = points.astype(bool) if column.dtype == bool else points
        else:
            points = (
                (column.astype(str) if is_text(column) else column)
                .value_counts()
                .index[:GRID]
                .tolist()
            )
        at[number, : len(points)] = [
            f"{point:g}" if isinstance(point, float) else str(point) for point in points
        ]
        prepared_points = fit.prepare(
            sample.iloc[np.zeros(len(points), dtype=int)].assign(**{name: points})
        )[name]
        repeated = prepared.iloc[np.tile(np.arange(len(sample)), len(points))].reset_index(
            drop=True
        )
        blocks.append(
            repeated.assign(
                **{name: prepared_points.iloc[np.repeat(np.arange(len(points)), len(sample))].array}
            )
        )
    # One call for all, which has a cost of its own.
    predictions = (
        fit.predict_prepared(pd.concat(blocks, ignore_index=True)).reshape(-1, len(sample))
        if blocks
        else np.empty((0, 1))
    )
    ends = np.cumsum([len(block) // len(sample) for block in blocks])
    for number, of_name in enumerate(np.split(predictions, ends)[:-1]):
        answered = np.isfinite(of_name).any(axis=1)
        averages[number, np.flatnonzero(answered)] = np.nanmean(of_name[answered], axis=1)
    return {
        "dependent": ("dependent", np.array(names, dtype=object)),
        "at": (("dependent", "point"), at),
        "at_value": (("dependent", "point"), value),
        "dependence": (("dependent", "point"), averages),
    }


def _evenly(number: int, most: int) -> Integers:
    """Return at most so many positions of rows, at equal steps."""
    return np.unique(np.linspace(0, number - 1, min(most, number)).astype(int))


def _variances(result: Any) -> dict[str, Any]:
    if not hasattr(result, "vcomp"):
        return {}
    if len(result.vcomp):
        names, values = list(result.model.exog_vc.names), list(result.vcomp)
    else:
        names, values = ["groups"], [float(np.asarray(result.cov_re)[0, 0])]
    return {
        "effect": ("effect", np.array([*names, "residual"], dtype=object)),
        "variance": ("effect", np.array([*values, float(result.scale)])),
    }

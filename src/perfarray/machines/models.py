"""The models that explain a response by columns of a table: boosted trees, least squares, gamma and mixed models."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.machines.columns import is_number, is_text
from perfarray.machines.numerics.jackknife_covariance import jackknife_covariance
from perfarray.machines.numerics.log_linear import log_linear
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

CATEGORIES: Final = 200
"""Labels of one predictor that a tree tells apart; rarer ones are one more label."""

OTHER: Final = "other"
SMALL: Final = 1000
"""Rows below which trees learn in fewer and larger steps: their fits take as long as they have steps."""

ALIASED: Final = 1e-8
"""Singular value, of columns of length 1, below which they are linear combinations of each other."""

Predict = Callable[[pd.DataFrame], Floats]


class Fit(NamedTuple):
    """The fitted object, what predicts from it, and what there is to say of it."""

    result: Any
    predict: Predict
    notes: tuple[Note, ...] = ()


class Terms(NamedTuple):
    """What stands right of `~`: the columns it is computed from, those of them that are labels, and the column of a variance's noise.

    `arrays` says that it gives the same of arrays as of columns of a table.
    """

    right: str
    predictors: list[str]
    classes: set[str]
    noise: str | None
    arrays: bool


class ModelChoice(NamedTuple):
    """Which model, with which random effects."""

    model: str
    groups: str | None
    effects: tuple[str, ...]
    reml: bool
    seed: int


def boosted(rows: pd.DataFrame, target: Floats, predictors: list[str], seed: int) -> Fit:
    """Fit boosted trees: missing values and categories as they are."""
    try:
        ensemble = import_module("sklearn.ensemble")
    except ImportError as error:
        raise ImportError("model='boosting' needs scikit-learn, which cannot be imported: install perfarray[regression]") from error
    categories = {}
    for name in predictors:
        if not is_number(rows[name]):
            categories[name] = rows[name].astype(str).value_counts().index[:CATEGORIES].sort_values()

    def prepared(table: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for name in predictors:
            if name in categories:
                text = table[name].astype(str)
                labels = [*categories[name].tolist(), OTHER]
                columns[name] = pd.Categorical(text.where(text.isin(categories[name]), OTHER), categories=list(dict.fromkeys(labels)))
            else:
                columns[name] = table[name].to_numpy(dtype=float, na_value=np.nan)
        return pd.DataFrame(columns)

    small = len(rows) < SMALL
    trees = ensemble.HistGradientBoostingRegressor(
        learning_rate=0.1 if small else 0.05,
        max_iter=100 if small else 300,
        max_leaf_nodes=16,
        min_samples_leaf=int(np.clip(len(rows) // 20, 3, 20)),
        l2_regularization=1.0,
        categorical_features="from_dtype",
        early_stopping=False,
        random_state=seed,
    )
    # One thread: trees of a few thousand rows gain nothing from more, and lose a hundredfold where others use the processors.
    limited = import_module("threadpoolctl").ThreadpoolController().limit
    with limited(limits=1, user_api="openmp"):
        trees.fit(prepared(rows), target)

    def predict(table: pd.DataFrame) -> Floats:
        with limited(limits=1, user_api="openmp"):
            return np.asarray(trees.predict(prepared(table)), dtype=float)

    return Fit(trees, predict)


def linear(rows: pd.DataFrame, target: Floats, *, terms: Terms, choice: ModelChoice) -> Fit:
    """Fit a linear, gamma or mixed model; rows with labels the fit did not see have no prediction."""
    right, predictors, classes, noise, arrays = terms
    models = import_module("statsmodels.formula.api")
    texts = [name for name in predictors if is_text(rows[name]) or (name in classes and not is_number(rows[name]))]
    rows = rows.assign(**{name: rows[name].astype(str) for name in texts}, _response=target)
    formula = f"_response ~ {right}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if choice.model == "ols":
                result = models.ols(formula, rows).fit()
            elif choice.model == "mixed":
                result = _mixed(models, formula, rows, choice).fit(reml=choice.reml, method=["bfgs", "lbfgs"], maxiter=500, gtol=1e-8)
            else:
                result = _gamma(models, formula, rows, np.zeros(len(rows)) if noise is None else rows[noise].to_numpy(dtype=float))
        except import_module("patsy").PatsyError as error:
            raise ValueError(f"the terms {right!r} cannot be computed of {len(rows)} of the rows alone: {error}") from error
    notes = []
    if choice.model == "mixed" and not result.converged and caught:
        notes.append(Note("not_converged", f"statsmodels says: {caught[-1].message}", {"message": str(caught[-1].message)}))
    aliased = [name for name, lost in zip(result.model.exog_names, _aliased(result.model.exog), strict=True) if lost]
    if aliased:
        text = (
            f"the terms {listed(aliased)} are linear combinations of each other: they have no coefficients of their own (NaN), and "
            "influence divides between them at will"
        )
        notes.append(Note("aliased_terms", text, {"terms": aliased}))
    labels = {name: set(rows[name]) for name in predictors if name in texts or name in classes}
    predicted = partial(_predicted, result, arrays)

    def predict(table: pd.DataFrame) -> Floats:
        ready = table[predictors].assign(**{name: table[name].astype(str) for name in texts}).reset_index(drop=True)
        complete = ready.notna().all(axis=1).to_numpy(copy=True)
        for name, fitted_labels in labels.items():
            complete &= ready[name].isin(fitted_labels).to_numpy()
        predictions = np.full(len(ready), np.nan)
        if complete.any():
            with np.errstate(invalid="ignore", divide="ignore"):
                predictions[complete] = _each_predicted(predicted, ready[complete])
                predictions = np.exp(predictions) if choice.model == "gamma" else predictions
        return predictions

    return Fit(result, predict, tuple(notes))


def _predicted(result: Any, arrays: bool, rows: pd.DataFrame) -> Floats:
    """Return the linear predictor of rows, which patsy makes of arrays in a tenth of the time that it takes for columns of a table."""
    patsy, data = import_module("patsy"), result.model.data
    columns: dict[str, Any] = {}
    for name, column in rows.items():
        columns[str(name)] = column.to_numpy() if arrays and isinstance(column.dtype, np.dtype | pd.StringDtype) else column
    terms = data.model_spec if hasattr(data, "model_spec") else data.design_info  # the latter before statsmodels 0.15
    (design,) = patsy.build_design_matrices([terms], columns, NA_action=patsy.NAAction(NA_types=[]))
    return np.asarray(np.asarray(design) @ np.asarray(result.fe_params if hasattr(result, "fe_params") else result.params))


def _each_predicted(predict: Callable[[pd.DataFrame], Any], rows: pd.DataFrame) -> Floats:
    """Predict all rows at once; where the formula fails, halves of them, so that a row it cannot take has NaN and the others a number."""
    try:
        return np.asarray(predict(rows), dtype=float)
    except Exception:  # a formula is code: whatever it raises
        if len(rows) == 1:
            return np.array([np.nan])
    half = len(rows) // 2
    return np.concatenate([_each_predicted(predict, rows.iloc[:half]), _each_predicted(predict, rows.iloc[half:])])


def _gamma(models: Any, formula: str, rows: pd.DataFrame, noise: Floats) -> Any:
    """Fit the log of an expected variance, which was estimated as the difference of a mean square and its noise.

    The mean square is positive and its standard deviation is proportional to its expectation, as the gamma family has it; the difference
    may be negative. So the mean square is the response, and the noise stands in the link: log(expected mean square - noise). It is the
    noise expected of the row's predictors: that of the row itself would weigh down the rows whose variance was estimated too low.
    """
    families = import_module("statsmodels.genmod.families")
    if noise.any():
        terms = models.glm(formula, rows, family=families.Gamma(families.links.Log())).exog
        begin = np.linalg.lstsq(terms, np.full(len(rows), np.log(noise.mean())), rcond=None)[0]
        expected = log_linear(terms, noise, np.zeros(len(rows)), begin)
        noise = np.full(len(rows), noise.mean()) if expected is None else np.exp(terms @ expected)

    class AboveNoise(families.links.Log):  # type: ignore[misc,name-defined]
        """Logarithm of what is above the noise."""

        def __call__(self, mean: Floats) -> Any:
            return super().__call__(mean - noise)

        def inverse(self, z: Floats) -> Any:
            return np.exp(z) + noise

        def deriv(self, mean: Floats) -> Any:
            return super().deriv(mean - noise)

    mean = float(rows["_response"].mean())
    if not mean > 0:
        raise ValueError(f"model='gamma' needs a response with a positive mean, and it is {mean:g}: there is nothing to explain")
    model = models.glm(formula, rows.assign(_response=rows["_response"] + noise), family=families.Gamma(AboveNoise()))
    start = np.linalg.lstsq(model.exog, np.full(len(rows), np.log(mean)), rcond=None)[0]
    coefficients = log_linear(model.exog, model.endog, noise, start)
    if coefficients is None:
        raise ValueError("model='gamma' found no coefficients: for some values of the predictors the estimated variance is zero or less")
    return model.fit(start_params=coefficients, maxiter=1)


def _mixed(models: Any, formula: str, rows: pd.DataFrame, choice: ModelChoice) -> Any:
    """Return a mixed model: one random effect, or several crossed ones as variance components of a single group."""
    if not choice.effects:
        return models.mixedlm(formula, rows, groups=rows[choice.groups].astype(str))
    joined = {f"_effect_{n}": _joined(rows, effect) for n, effect in enumerate(choice.effects)}
    components = {effect: f"0 + C({name})" for effect, name in zip(choice.effects, joined, strict=True)}
    return models.mixedlm(formula, rows.assign(**joined), groups=np.ones(len(rows)), re_formula="0", vc_formula=components)


def _joined(rows: pd.DataFrame, effect: str) -> pd.Series:
    """Return a label for each combination of an effect's columns."""
    return rows[effect.split(":")].astype(str).agg(":".join, axis=1)


def _aliased(design: Floats) -> Mask:
    """Return which columns are linear combinations of others, so that nothing determines their coefficients."""
    length = np.linalg.norm(design, axis=0)
    _, size, directions = np.linalg.svd(np.linalg.qr(design / np.where(length > 0, length, 1.0), mode="r"))
    free = np.concatenate([size, np.zeros(design.shape[1] - len(size))]) < ALIASED
    return np.asarray((np.abs(directions[free]) > ALIASED).any(axis=0))


def coefficients(result: Any, choice: ModelChoice, groups: Integers | None, confidence_level: float) -> dict[str, Any]:
    """Return coefficients with limits and p-values: from leaving out rows or groups; those of a mixed model are statsmodels'."""
    if choice.model == "boosting":
        return {}
    from scipy.special import stdtr, stdtrit

    estimate = np.asarray(result.fe_params if choice.model == "mixed" else result.params, dtype=float)
    design = np.asarray(result.model.exog)
    if choice.model == "mixed":
        error, df = np.asarray(result.bse_fe, dtype=float), np.inf
    else:
        fitted = np.asarray(result.fittedvalues)
        residuals = result.model.endog - fitted
        units = np.arange(len(design)) if groups is None else groups
        if choice.model == "ols":
            covariance = jackknife_covariance(design, residuals, units)
        else:
            variance, measured = np.exp(design @ estimate), result.model.endog

            def change(rows: Mask) -> Floats | None:
                estimate_without = log_linear(design[rows], measured[rows], (fitted - variance)[rows], estimate)
                return None if estimate_without is None else estimate - estimate_without

            covariance = jackknife_covariance(design * (variance / fitted)[:, None], residuals / fitted, units, change)
        error = np.sqrt(np.diag(covariance))
        df = float(len(design) - design.shape[1] if groups is None else units.max())
    estimate, error = (np.where(_aliased(design), np.nan, values) for values in (estimate, error))
    half = stdtrit(df, (1 + confidence_level) / 2) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalue = 2 * stdtr(df, -np.abs(estimate) / error)
    return {
        "term": ("term", np.array(list(result.model.exog_names), dtype=object)),
        "coefficient": ("term", estimate),
        "coefficient_lower": ("term", estimate - half),
        "coefficient_upper": ("term", estimate + half),
        "pvalue": ("term", pvalue),
    }

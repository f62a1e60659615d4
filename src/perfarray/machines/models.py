"""The models that explain a response by columns of a table: boosted trees and linear models."""

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.machines.columns import is_number, is_text
from perfarray.machines.formulas import design_columns
from perfarray.numerics.types import Floats, Mask
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

# Labels of one predictor that trees distinguish; rarer ones are one more label.
CATEGORIES: Final = 200
OTHER: Final = "other"

# With fewer rows, trees have fewer leaves.
SMALL: Final = 1000

# Columns of length 1 with a smaller singular value are linear combinations of each other.
ALIASED: Final = 1e-8

Predict = Callable[[pd.DataFrame], Floats]


class ModelFit(NamedTuple):
    """A fitted object, notes, and how it predicts.

    `prepare` reads the predictors of a table, `predict_prepared` predicts from these.
    """

    result: Any
    prepare: Callable[[pd.DataFrame], pd.DataFrame]
    predict_prepared: Predict
    notes: tuple[Note, ...] = ()

    def predict(self, table: pd.DataFrame) -> Floats:
        """Predict the rows of a table."""
        return self.predict_prepared(self.prepare(table))


class ModelChoice(NamedTuple):
    """The model, the column of groups, the likelihood of a mixed model, and the seed of trees."""

    model: str
    groups: str | None
    reml: bool
    seed: int


def boosted(rows: pd.DataFrame, target: Floats, predictors: list[str], seed: int) -> ModelFit:
    """Fit boosted trees, which take missing values and categories as they are."""
    try:
        ensemble = import_module("sklearn.ensemble")
    except ImportError as error:
        raise ImportError(
            "model='boosting' needs scikit-learn, which cannot be imported: install "
            "perfarray[regression], or give model='ols'"
        ) from error
    labels: dict[str, pd.Index] = {}
    for name in predictors:
        if not is_number(rows[name]):
            frequent = rows[name].astype(str).value_counts().index[:CATEGORIES].sort_values()
            labels[name] = frequent.union([OTHER], sort=False)

    def prepare(table: pd.DataFrame) -> pd.DataFrame:
        columns = {}
        for name in predictors:
            if name not in labels:
                columns[name] = table[name].to_numpy(dtype=float, na_value=np.nan)
                continue
            codes, distinct = pd.factorize(table[name], use_na_sentinel=False)
            positions = labels[name].get_indexer(pd.Index(distinct).astype(str))
            positions = np.where(
                positions < 0, labels[name].get_indexer(pd.Index([OTHER])), positions
            )
            columns[name] = positions[codes].astype(float)
        return pd.DataFrame(columns)

    trees = ensemble.HistGradientBoostingRegressor(
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=16 if len(rows) < SMALL else 31,
        min_samples_leaf=int(np.clip(len(rows) // 20, 3, 20)),
        l2_regularization=1.0,
        categorical_features=[name in labels for name in predictors],
        early_stopping=False,
        random_state=seed,
    )
    # One thread: trees of a few thousand rows gain nothing from more, and are a hundred times
    # slower where other processes use the cores.
    limited = import_module("threadpoolctl").ThreadpoolController().limit
    with limited(limits=1, user_api="openmp"):
        trees.fit(prepare(rows).to_numpy(), target)

    def predict_prepared(table: pd.DataFrame) -> Floats:
        with limited(limits=1, user_api="openmp"):
            return np.asarray(trees.predict(table.to_numpy()), dtype=float)

    return ModelFit(trees, prepare, predict_prepared)


def linear(
    rows: pd.DataFrame,
    target: Floats,
    right: str,
    predictors: list[str],
    classes: set[str],
    choice: ModelChoice,
) -> ModelFit:
    """Fit a linear or mixed model of the terms `right`.

    Rows with labels that the fit did not see have no prediction.
    """
    models = import_module("statsmodels.formula.api")
    texts = [
        name
        for name in predictors
        if is_text(rows[name]) or (name in classes and not is_number(rows[name]))
    ]
    rows = rows.assign(**{name: rows[name].astype(str) for name in texts}, _response=target)
    formula = f"_response ~ {right}"
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if choice.model == "ols":
                result = models.ols(formula, rows).fit()
            else:
                result = models.mixedlm(formula, rows, groups=rows[choice.groups].astype(str)).fit(
                    reml=choice.reml, method=["bfgs", "lbfgs"], maxiter=500, gtol=1e-8
                )
        except import_module("patsy").PatsyError as error:
            raise ValueError(
                f"the terms {right!r} cannot be computed of {len(rows)} of the rows alone: {error}"
            ) from error
        except np.linalg.LinAlgError as error:  # as where rows of one label have equal responses
            raise ValueError(
                f"model={choice.model!r} cannot be fitted to {len(rows)} rows ({error}). "
                "The variances of its random effects cannot be told apart. "
                "Take one row for each label, or model='ols'."
            ) from error
    if choice.model == "mixed" and not result.converged and caught:
        message = str(caught[-1].message)
        notes.append(Note("not_converged", f"statsmodels says: {message}", {"message": message}))
    titles, _ = design_columns(design_of(result))
    is_aliased = aliased_columns(result.model.exog)
    aliased = [title for title, lost in zip(titles, is_aliased, strict=True) if lost]
    if aliased:
        text = (
            f"The terms {listed(aliased)} are linear combinations of each other. "
            "They have no coefficients of their own, and influence divides between them at will."
        )
        notes.append(Note("similar_predictors", text, {"terms": aliased}))
    labels = {name: set(rows[name]) for name in predictors if name in texts or name in classes}

    def prepare(table: pd.DataFrame) -> pd.DataFrame:
        columns = table[predictors].assign(**{name: table[name].astype(str) for name in texts})
        return columns.reset_index(drop=True)

    arrays = _same_for_arrays(result, rows[predictors])

    def predict_prepared(columns: pd.DataFrame) -> Floats:
        complete = columns.notna().all(axis=1).to_numpy(copy=True)
        for name, fitted_labels in labels.items():
            complete &= columns[name].isin(fitted_labels).to_numpy()
        predictions = np.full(len(columns), np.nan)
        if complete.any():
            with np.errstate(invalid="ignore", divide="ignore"):
                predictions[complete] = _predictions(result, arrays, columns[complete])
        return predictions

    return ModelFit(result, prepare, predict_prepared, tuple(notes))


def design_of(result: Any) -> Any:
    """Return what patsy knows of the columns of a fitted design."""
    data = result.model.data
    # statsmodels before 0.15 calls it design_info.
    return data.model_spec if hasattr(data, "model_spec") else data.design_info


def _design(result: Any, rows: pd.DataFrame, arrays: bool) -> Floats:
    """Return the design matrix of rows, from columns of a table or from arrays."""
    patsy = import_module("patsy")
    columns: dict[str, Any] = {}
    for name, column in rows.items():
        columns[str(name)] = (
            column.to_numpy()
            if arrays and isinstance(column.dtype, np.dtype | pd.StringDtype)
            else column
        )
    return np.asarray(
        patsy.build_design_matrices(
            [design_of(result)], columns, NA_action=patsy.NAAction(NA_types=[])
        )[0]
    )


def _same_for_arrays(result: Any, rows: pd.DataFrame) -> bool:
    """Return whether the fitted formula has the same values for arrays.

    patsy takes a tenth of the time for arrays.
    """
    # Integers divided by zero are 0 in arrays, and infinite or NaN in columns, perhaps in later
    # rows only.
    if any(operator in name for name in result.model.exog_names for operator in ("//", "%")):
        return False
    try:
        return np.array_equal(_design(result, rows, arrays=True), result.model.exog)
    except Exception:  # a formula is code and may raise anything
        return False


def _predictions(result: Any, arrays: bool, rows: pd.DataFrame) -> Floats:
    """Return the linear predictor of rows.

    NaN for a row of which the formula cannot be computed.
    """
    try:
        design = _design(result, rows, arrays)
    except Exception:  # a formula is code and may raise anything
        half = len(rows) // 2
        if not half:
            return np.array([np.nan])
        return np.concatenate(
            [
                _predictions(result, arrays, half_rows)
                for half_rows in (rows.iloc[:half], rows.iloc[half:])
            ]
        )
    return np.asarray(
        design @ np.asarray(result.fe_params if hasattr(result, "fe_params") else result.params),
        dtype=float,
    )


def aliased_columns(design: Floats) -> Mask:
    """Return which columns are linear combinations of others: these have no coefficient."""
    length = np.linalg.norm(design, axis=0)
    _, singular, directions = np.linalg.svd(
        np.linalg.qr(design / np.where(length > 0, length, 1.0), mode="r")
    )
    free = np.concatenate([singular, np.zeros(design.shape[1] - len(singular))]) < ALIASED
    return np.asarray((np.abs(directions[free]) > ALIASED).any(axis=0))

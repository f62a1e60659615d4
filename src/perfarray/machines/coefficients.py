"""The coefficients of a linear model with their limits, and what its residuals show."""

from typing import Any

import numpy as np

from perfarray.conventions import MACHINE
from perfarray.machines.formulas import design_columns
from perfarray.machines.models import aliased_columns, design_of
from perfarray.machines.numerics.leaving_out import cook_distances, jackknife
from perfarray.machines.problem import Problem


def coefficients(result: Any, problem: Problem, confidence_level: float) -> dict[str, Any]:
    """Return coefficients with limits and p-values, from leaving out rows or groups.

    Those of a mixed model are from statsmodels.
    """
    choice, predictors, groups = problem.choice, problem.predictors, problem.groups
    if choice.model == "boosting":
        return {}
    from scipy.special import stdtr, stdtrit

    is_mixed = choice.model == "mixed"
    estimate = np.asarray(result.fe_params if is_mixed else result.params, dtype=float)
    design, fitted = np.asarray(result.model.exog), np.asarray(result.fittedvalues, dtype=float)
    residuals = np.asarray(result.model.endog) - fitted
    names = (
        problem.rows[MACHINE].astype(str).to_numpy()
        if MACHINE in problem.rows
        else np.arange(len(design)).astype(str)
    )
    variables: dict[str, Any] = {"fitted_row": names.astype(object)}
    variables |= {"fitted": ("fitted_row", fitted), "residual": ("fitted_row", residuals)}
    if is_mixed:
        error, df = np.asarray(result.bse_fe, dtype=float), np.inf
    else:
        units = np.arange(len(design)) if groups is None else groups
        covariance, changes = jackknife(design, residuals, units)
        error = np.sqrt(np.diag(covariance))
        df = float(len(design) - design.shape[1] if groups is None else units.max())
        distances = cook_distances(design, residuals, changes)[units]
        variables["cook_distance"] = ("fitted_row", distances, {"units": "1"})
    estimate, error = (
        np.where(aliased_columns(design), np.nan, values) for values in (estimate, error)
    )
    half = stdtrit(df, (1 + confidence_level) / 2) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalue = 2 * stdtr(df, -np.abs(estimate) / error)
    titles, names_of_columns = design_columns(design_of(result))
    spread = float(np.std(result.model.endog))
    standardized, half_standardized, in_units, half_in_units = np.full((4, len(predictors)), np.nan)
    for number, predictor in enumerate(predictors):
        columns = [
            column for column, of_column in enumerate(names_of_columns) if predictor in of_column
        ]
        scale = float(np.std(design[:, columns] @ estimate[columns])) / spread
        # Several terms have no sign in common, and no unit.
        is_single = len(columns) == 1
        standardized[number] = np.copysign(scale, estimate[columns[0]]) if is_single else scale
        if is_single:
            half_standardized[number] = (
                float(np.std(design[:, columns[0]])) / spread * half[columns[0]]
            )
            in_units[number], half_in_units[number] = estimate[columns[0]], half[columns[0]]
    return variables | {
        "term": ("term", np.array(titles, dtype=object)),
        "coefficient": ("term", estimate),
        "coefficient_lower": ("term", estimate - half),
        "coefficient_upper": ("term", estimate + half),
        "pvalue": ("term", pvalue),
        "standardized_coefficient": ("predictor", standardized, {"units": "1"}),
        "standardized_lower": ("predictor", standardized - half_standardized, {"units": "1"}),
        "standardized_upper": ("predictor", standardized + half_standardized, {"units": "1"}),
        "unit_coefficient": ("predictor", in_units),
        "unit_lower": ("predictor", in_units - half_in_units),
        "unit_upper": ("predictor", in_units + half_in_units),
    }

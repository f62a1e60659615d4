"""The coefficients of a linear model with their limits, in units and standardised, and what its residuals show."""

from typing import Any

import numpy as np

from perfarray.conventions import MACHINE
from perfarray.machines.formulas import design_columns
from perfarray.machines.models import aliased_columns, design_of
from perfarray.machines.numerics.variance_models import (
    Jackknife,
    cook_distances,
    jackknife,
    log_linear,
)
from perfarray.machines.problem import Problem
from perfarray.numerics.types import Floats, Integers, Mask


def coefficients(result: Any, problem: Problem, confidence_level: float) -> dict[str, Any]:
    """Return coefficients with limits and p-values, from leaving out rows or groups.

    Those of a mixed model are from statsmodels.
    """
    choice, predictors, groups = problem.choice, problem.predictors, problem.groups
    if choice.model == "boosting":
        return {}
    from scipy.special import stdtr, stdtrit

    estimate = np.asarray(
        result.fe_params if choice.model == "mixed" else result.params, dtype=float
    )
    design, fitted = np.asarray(result.model.exog), np.asarray(result.fittedvalues, dtype=float)
    # The residuals of a gamma model are relative to what is fitted, as its standard deviation is.
    residuals = (np.asarray(result.model.endog) - fitted) / (
        fitted if choice.model == "gamma" else 1.0
    )
    names = (
        problem.rows[MACHINE].astype(str).to_numpy()
        if MACHINE in problem.rows
        else np.arange(len(design)).astype(str)
    )
    variables: dict[str, Any] = {"fitted_row": names.astype(object)}
    variables |= {"fitted": ("fitted_row", fitted), "residual": ("fitted_row", residuals)}
    if choice.model == "mixed":
        error, df = np.asarray(result.bse_fe, dtype=float), np.inf
    else:
        units = np.arange(len(design)) if groups is None else groups
        scaled, without = _without_each(result, choice.model, design, residuals, estimate, units)
        error = np.sqrt(np.diag(without.covariance))
        df = float(len(design) - design.shape[1] if groups is None else units.max())
        variables["cook_distance"] = (
            "fitted_row",
            cook_distances(scaled, residuals, without.changes)[units],
            {"units": "1"},
        )
    estimate, error = (
        np.where(aliased_columns(design), np.nan, values) for values in (estimate, error)
    )
    half = stdtrit(df, (1 + confidence_level) / 2) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        pvalue = 2 * stdtr(df, -np.abs(estimate) / error)
    titles, names_of_columns = design_columns(design_of(result))
    # A gamma model explains a logarithm, which has no unit to be rid of.
    spread = 1.0 if choice.model == "gamma" else float(np.std(result.model.endog))
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


def _without_each(
    result: Any, model: str, design: Floats, residuals: Floats, estimate: Floats, units: Integers
) -> tuple[Floats, Jackknife]:
    """Return the design scaled as the residuals are, and what leaving out each unit changes."""
    if model == "ols":
        return design, jackknife(design, residuals, units)
    fitted, measured = np.asarray(result.fittedvalues), result.model.endog
    variance = np.exp(design @ estimate)

    def change(rows: Mask) -> Floats | None:
        estimate_without = log_linear(
            design[rows], measured[rows], (fitted - variance)[rows], estimate
        )
        return None if estimate_without is None else estimate - estimate_without

    scaled = design * (variance / fitted)[:, None]
    return scaled, jackknife(scaled, residuals, units, change)

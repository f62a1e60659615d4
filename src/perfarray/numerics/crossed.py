"""Whether units with one label are the same unit in every outer unit.

A two-way analysis of variance of unit means.
"""

import numpy as np

from perfarray.numerics.types import Floats, Mask

# Rows that differ by no more than rounding are copies of each other, and show nothing.
ROUNDING = 1e-18

# Smaller eigenvalues, over the number of rows, are 0: labels that no chain of rows joins are not
# compared.
SINGULAR = 1e-9

# p-values up to which ranks are looked at
SMALL = 0.05


def label_effect(means: Floats) -> tuple[Floats, Floats]:
    """Test the main effect of the labels of an inner level.

    F has inner - 1 and (inner - 1)(outer - 1) degrees of freedom.

    Inside a true nest a label is chance. Rows of unequal spread make F smaller, but one far value
    in two rows may make it large: a small p-value is no smaller than that of the ranks inside each
    row, which know no far values (Iman and Davenport 1980).

    Means are (..., outer, inner), NaN where not measured. The answers (...) are the p-value and F;
    NaN where outer units have too few labels in common, and where nothing varies.
    """
    pvalue, ratio = _two_way(means)
    copies = ratio > 1 / ROUNDING
    pvalue[copies], ratio[copies] = np.nan, np.nan
    small = pvalue <= SMALL
    if small.any():
        rows = means[small]
        measured = ~np.isnan(rows)
        ranks = np.where(measured, np.argsort(np.argsort(rows, axis=-1), axis=-1) + 0.5, np.nan)
        # Ranks of a row with gaps have the spread of the others.
        pvalue[small] = np.maximum(
            pvalue[small], _two_way(ranks / np.maximum(measured.sum(axis=-1, keepdims=True), 1))[0]
        )
    return pvalue, ratio


def _two_way(means: Floats) -> tuple[Floats, Floats]:
    """Return the p-value and F of the main effect of the last axis, beside that of the rows."""
    from scipy.special import fdtrc

    measured: Mask = ~np.isnan(means)
    # The effect of a label that one row has is not seen apart from that value.
    measured &= measured.sum(axis=-2, keepdims=True) > 1
    counts = measured.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(measured, means, 0.0)
        deviations = np.where(measured, values - values.sum(axis=-1, keepdims=True) / counts, 0.0)
        total = (deviations**2).sum(axis=(-2, -1))
        of_labels, df = _label_squares(deviations.sum(axis=-2), measured)
        residual, residual_df = (
            np.maximum(total - of_labels, 0.0),
            np.maximum(counts - 1, 0).sum(axis=(-2, -1)) - df,
        )
        testable = (df > 0) & (residual_df > 0) & (total > 0)
        ratio = np.array(np.where(testable, of_labels / df * residual_df / residual, np.nan))
        pvalue = fdtrc(df, residual_df, np.minimum(ratio, 1e300))
    return np.array(np.where(testable, pvalue, np.nan)), ratio


def _label_squares(sums: Floats, measured: Mask) -> tuple[Floats, Floats]:
    """Return the sum of squares of the labels and its df, from sums of deviations by label."""
    rows, labels = measured.any(axis=-1, keepdims=True), measured.any(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.asarray((sums**2).sum(axis=-1) / rows.sum(axis=(-2, -1)))
    df = np.asarray(np.maximum(labels.sum(axis=(-2, -1)) - 1.0, 0.0))
    gaps = (measured != (rows & labels)).any(axis=(-2, -1))
    if gaps.any():
        patterns, pattern_of = np.unique(
            measured[gaps].reshape(int(gaps.sum()), -1), axis=0, return_inverse=True
        )
        for number, pattern in enumerate(patterns):  # most cells have the gaps of others
            cells = np.zeros(gaps.shape, dtype=bool)
            cells[gaps] = pattern_of.ravel() == number
            squares[cells], df[cells] = _squares_with_gaps(
                sums[cells], pattern.reshape(measured.shape[-2:])
            )
    return squares, df


def _squares_with_gaps(sums: Floats, measured: Mask) -> tuple[Floats, int]:
    """Return the same of rows that lack labels, by incomplete blocks (Yates 1940).

    It is Q' C^- Q, with Q the sums and C = diag(rows of a label) - N' diag(1 / labels of a row) N;
    N says which row has which label.
    """
    labels = measured.any(axis=0)
    incidence = measured[measured.any(axis=1)][:, labels].astype(float)
    matrix = np.diag(incidence.sum(axis=0)) - incidence.T @ (
        incidence / incidence.sum(axis=1, keepdims=True)
    )
    values, vectors = np.linalg.eigh(matrix)
    estimable = values > SINGULAR * len(incidence)
    projected = sums[..., labels] @ vectors[:, estimable]
    return np.asarray((projected**2 / values[estimable]).sum(axis=-1)), int(estimable.sum())


def combined_pvalue(pvalues: Floats) -> float:
    """Return one p-value of all that are not NaN, which may depend on each other; 1 of none.

    Liu and Xie's (2020) Cauchy combination.
    """
    valid = pvalues[~np.isnan(pvalues)]
    if not valid.size:
        return 1.0
    # At 1 the tangent is infinite, and one p-value would outweigh all others.
    statistic = np.tan((0.5 - np.clip(valid, 1e-15, 0.99)) * np.pi).mean()
    return float(0.5 - np.arctan(statistic) / np.pi)

"""Whether units with one label are the same unit in every outer unit.

A two-way analysis of variance of unit means.
"""

import numpy as np

from perfarray.numerics.types import Floats, Mask

# Rows that differ by no more than rounding are copies of each other, and show nothing.
ROUNDING = 1e-18

# p-values up to which ranks are looked at
SMALL = 0.05


def label_effect(means: Floats) -> tuple[Floats, Floats]:
    """Test the main effect of the labels of an inner level.

    F has inner - 1 and (inner - 1)(outer - 1) degrees of freedom.

    Inside a true nest a label is chance. Rows of unequal spread make F smaller, but one far value
    in two rows may make it large: a small p-value is no smaller than that of the ranks inside each
    row, which know no far values (Iman and Davenport 1980).

    Means are (..., outer, inner), NaN where not measured; labels that an outer unit lacks are left
    out. The answers (...) are the p-value and F; NaN for fewer than two outer units or labels, and
    where nothing varies.
    """
    pvalue, ratio = _two_way(means)
    copies = ratio > 1 / ROUNDING
    pvalue[copies], ratio[copies] = np.nan, np.nan
    small = pvalue <= SMALL
    if small.any():
        rows = means[small]
        ranks = np.where(np.isnan(rows), np.nan, np.argsort(np.argsort(rows, axis=-1), axis=-1))
        pvalue[small] = np.maximum(pvalue[small], _two_way(ranks)[0])
    return pvalue, ratio


def _two_way(means: Floats) -> tuple[Floats, Floats]:
    """Return the p-value and F of the main effect of the last axis."""
    from scipy.special import fdtrc

    measured: Mask = ~np.isnan(means)
    rows = measured.any(axis=-1, keepdims=True)
    counted: Mask = np.asarray(rows & (measured | ~rows).all(axis=-2, keepdims=True))
    outer, inner = counted.any(axis=-1).sum(axis=-1), counted.any(axis=-2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(counted, means, 0.0)
        deviations = np.where(
            counted, values - values.sum(axis=-1, keepdims=True) / inner[..., None, None], 0.0
        )
        effects = deviations.sum(axis=-2, keepdims=True) / outer[..., None, None]
        of_labels = outer * (effects**2).sum(axis=(-2, -1))
        residual = (np.where(counted, deviations - effects, 0.0) ** 2).sum(axis=(-2, -1))
        enough = (outer > 1) & (inner > 1) & (of_labels + residual > 0)
        ratio = np.array(np.where(enough, of_labels * (outer - 1) / residual, np.nan))
        pvalue = fdtrc(inner - 1.0, (inner - 1.0) * (outer - 1.0), np.minimum(ratio, 1e300))
    return np.array(np.where(enough, pvalue, np.nan)), ratio


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

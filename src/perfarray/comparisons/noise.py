"""The sources of the error of a mean or of a ratio, and notes on cells with too few units."""

import numpy as np
import xarray as xr

from perfarray.conventions import EXACT, plural
from perfarray.numerics.skewness import FEW
from perfarray.numerics.types import Mask
from perfarray.timings.apply import Output, outputs
from perfarray.timings.notes import Note, check, count_note, significant_in_all

# Checks of the noisier side of a ratio, and of the units of one system
NOISE, SKEW = "noise", "skew"
SHARE = "candidate_share"
NORMALITY, SKEWED, SKEWNESS = "normality_pvalue", "skewness_pvalue", "skewness"
ADJUSTED = "skew_adjusted"
TOGETHER = 0.02  # the error rate at which cells with few units are called skewed together
# the correlation of units of different cells that is allowed for where it is not known
LIKELY = 0.5
# skewness of a mean from which on t covers some 92 of 95 % or less: that of 25 exponential units
MATTERS = 0.4


def _shape_outputs(units: str) -> dict[str, Output]:
    """Return the variables of `numerics.skewness.UnitShape`."""
    return outputs(
        **{
            NORMALITY: f"p-value of fewer than {FEW} {units}, if they are normal",
            SKEWED: f"p-value of the skewness of three {units} or more, if they are normal",
            SKEWNESS: f"skewness of the mean of three {units} or more",
        }
    )


SHAPE_OUTPUTS = _shape_outputs("units")
# The variables of `numerics.skewness.noisier_side`
NOISE_OUTPUTS = outputs(
    **{SHARE: "the candidate's share of the squared standard error"}
) | _shape_outputs("units of the noisier side")


@check(NOISE)
@check(SKEW)
def shape_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count cells with few or skewed units, at an error rate of 5 % in all.

    Ratios are judged by the noisier side. All cells with few units are named where they are skewed
    together, which no single one shows. Of a ratio, cells with two units on a side are named as
    well.
    """
    if NORMALITY not in result.data_vars:
        return ()
    units, n = plural(str(result.attrs["unit"])), result.variables["n"].values
    pvalue = result.variables[NORMALITY].values
    has_few = ~np.isnan(pvalue)
    few = significant_in_all(pvalue) | (has_few & _skewed_together(result, has_few))
    if SHARE in result.data_vars:
        share = result.variables[SHARE].values
        owner = f"have most of their error from one side, whose {units} are skewed"
        two = (
            f"{{cells}} rest on two {units} on a side. Their 95 % intervals hold the truth 50 to "
            "90 % of the time. Measure three or more, better five."
        )
        candidate, baseline = int((few & (share > 0.5)).sum()), int((few & (share < 0.5)).sum())
        text = (
            f"{{cells}} have most of their error from one side (the candidate in {candidate}, "
            f"the baseline in {baseline}). Its {units} are fewer than {FEW} and not normal. Such "
            "95 % intervals may hold the truth only 50 to 90 % of the time. Measure more of "
            "that side, or use method='studentized'."
        )
        has_interval = result.variables["kind"].values.astype(str) != EXACT
        notes = [
            count_note("few_units", two, (n == 2) & has_interval),
            count_note("few_skewed_units", text, few, candidate=candidate, baseline=baseline),
        ]
    else:
        owner = f"rest on skewed {units}"
        text = (
            f"{{cells}} rest on fewer than {FEW} {units}, which are not normal. Their 95 % "
            "intervals may hold the truth only 65 to 90 % of the time. Measure more "
            f"{units}, or use method='studentized'."
        )
        notes = [count_note("few_skewed_units", text, few)]
    if result.attrs["method"] == ADJUSTED:
        text = (
            f"{{cells}} have 3 or 4 {units} on a side: so few do not show whether they are "
            f"skewed. The limits are almost those of t. Measure 5 or more, better {FEW}."
        )
        return *notes, count_note("few_skewed_units", text, (n >= 3) & (n <= 4))
    text = (
        f"{{cells}} {owner}. Their 95 % intervals hold the truth 84 to 93 % of the time, and miss "
        f"mostly on one side. method={ADJUSTED!r} covers 1 to 3 points more at 1.1 times the "
        f"width. More {units} help further."
    )
    skewed = significant_in_all(np.where(has_few, np.nan, result.variables[SKEWED].values))
    skewed &= np.abs(result.variables[SKEWNESS].values) >= MATTERS
    return *notes, count_note("skewed_units", text, skewed)


def _skewed_together(result: xr.Dataset, few: Mask) -> bool:
    """Return whether cells with few units are skewed on the whole.

    The skewness of few units is far from normal, the mean of several of these is not. Of benchmarks
    whose units are correlated by r, the cubes are by r^3. Cells with the same units, as of several
    candidates and one baseline, count once.
    """
    from scipy.special import ndtri

    cells = few & (result.variables[SKEWED].values > 0)
    distances = np.sign(result.variables[SKEWNESS].values[cells]) * ndtri(
        1 - result.variables[SKEWED].values[cells] / 2
    )
    distances = np.unique(np.round(distances, 9))
    if len(distances) < 2:
        return False
    correlation = (
        result["suite_correlation"].max().item()
        if "suite_correlation" in result.data_vars
        else np.nan
    )
    alike = max(LIKELY if np.isnan(correlation) else correlation, 0.0) ** 3
    error = np.sqrt((1 + (len(distances) - 1) * alike) / len(distances))
    return bool(np.abs(distances.mean()) / error >= -ndtri(TOGETHER / 2))

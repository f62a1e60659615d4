"""The sources of the error of a mean or of a ratio, and notes on cells with too few units for their limits."""

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.numerics.skewness import FEW
from perfarray.timings.apply import Output, outputs
from perfarray.timings.notes import Note, check, count_note, significant_in_all

NOISE, SKEW = "noise", "skew"  # checks of the noisier side of a ratio, and of the units of one system
SHARE, NORMALITY, SKEWED, SKEWNESS = "candidate_share", "normality_pvalue", "skewness_pvalue", "skewness"
ADJUSTED = "skew_adjusted"
MATTERS = 0.4  # skewness of a mean from which on t covers some 92 of 95 % or less: that of 25 exponential units


def _shape_outputs(units: str) -> dict[str, Output]:
    """Return the variables of `numerics.skewness.UnitShape`."""
    return outputs(
        **{
            NORMALITY: f"p-value of fewer than {FEW} {units}, if they are normal",
            SKEWED: f"p-value of the skewness of {FEW} {units} or more, if they are normal",
            SKEWNESS: f"skewness of the mean of {FEW} {units} or more",
        }
    )


SHAPE_OUTPUTS = _shape_outputs("units")
# The variables of `numerics.skewness.noisier_side`
NOISE_OUTPUTS = outputs(**{SHARE: "the candidate's share of the squared standard error"}) | _shape_outputs("units of the noisier side")


@check(SKEW)
def skew_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name cells with few units that are not normal, at an error rate of 5 % in all."""
    if NORMALITY not in result:
        return ()
    units, few = plural(str(result.attrs["unit"])), significant_in_all(result.variables[NORMALITY].values)
    text = (
        f"{{cells}} rest on fewer than {FEW} {units}, and not normal ones: of 95 %, limits may cover 65 to 90; measure more {units}, or "
        "take method='studentized'"
    )
    return count_note("few_skewed_units", text, few), _skewed_units_note(result, f"rest on skewed {units}")


@check(NOISE)
def noise_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name two units on a side, and few units on a noisier side that are not normal, at an error rate of 5 % in all."""
    if NORMALITY not in result:
        return ()
    units, n, pvalue, share = plural(str(result.attrs["unit"])), *(result.variables[name].values for name in ("n", NORMALITY, SHARE))
    two = (
        f"{{cells}} rest on two {units} on a side: of 95 %, limits cover 90 if values are normal and as few as 50 if not; measure three or "
        "more, better five"
    )
    few = significant_in_all(pvalue)
    candidate, baseline = int((few & (share > 0.5)).sum()), int((few & (share < 0.5)).sum())
    noisier = (
        f"{{cells}} have most of their error from one side (the candidate in {candidate}, the baseline in {baseline}), whose {units} are "
        f"fewer than {FEW} and not normal: of 95 %, limits may cover 50 to 90; measure more of that side, in proportion to the "
        "standard deviations, or take method='studentized'"
    )
    return (
        count_note("two_units", two, n == 2),
        count_note("few_noisy_units", noisier, few, candidate=candidate, baseline=baseline),
        _skewed_units_note(result, f"have most of their error from one side, whose {units} are skewed"),
    )


def _skewed_units_note(result: xr.Dataset, owner: str) -> Note | None:
    """Name cells whose units are skewed so that limits miss more, at an error rate of 5 % in all; or too few to show skewness."""
    units, n = plural(str(result.attrs["unit"])), result.variables["n"].values
    if result.attrs["method"] == ADJUSTED:
        text = (
            f"{{cells}} have 3 or 4 {units} on a side: whether so few are skewed cannot be seen, and limits are little but those of t; "
            f"the adjustment works from 5 on, and well from {FEW}"
        )
        return count_note("unseen_skewness", text, (n >= 3) & (n <= 4))
    pvalue, skewness = (result.variables[name].values for name in (SKEWED, SKEWNESS))
    text = (
        f"{{cells}} {owner}: of 95 %, limits cover 84 to 93, and miss mostly beyond one end; method={ADJUSTED!r} covers one to three "
        f"points more at 1.1 times the width, more {units} still more"
    )
    return count_note("skewed_units", text, significant_in_all(pvalue) & (np.abs(skewness) >= MATTERS))

"""Where the error of a mean or of a ratio comes from, and whether there are too few units for the limits."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.numerics.ratio_tests import FEW, noisier_side, units_shape
from perfarray.timings.apply import Output
from perfarray.timings.notes import Note, check, count_note, in_all

NOISE = "noise"
"""The check of few units on the noisier side."""

SKEW = "skew"
"""The check of few, or of skewed, units of one system."""

SHARE, NORMALITY, SKEWED, SKEWNESS = "candidate_share", "normality_pvalue", "skewness_pvalue", "skewness"

ADJUSTED = "skew_adjusted"
"""The method that takes the skewness of units into account."""

MATTERS = 0.4
"""The skewness of a mean from which on t covers some 92 of 95 % or less: that of 25 exponential units."""

Beside = tuple[Callable[..., Sequence[Any]], dict[str, Output]]
"""A formula whose answers stand beside those of another of the same arrays, and the variables that it returns."""

NOTHING: Beside = (lambda *_: (), {})


def noise(levels: int, enabled: bool, dims: tuple[str, ...] = ()) -> Beside:
    """Return what gives the candidate's share of the squared error of ratios, and the p-value of normal units on the side with most of it.

    It takes two sides with so many levels last, and their `dims` before. Pairs, which have one error, and what stopped runs bound are not
    `asked`.
    """
    share = {SHARE: Output(dims, "1", long_name="the candidate's share of the squared standard error")}
    outputs = share | _shape(dims, " of the noisier side")
    return (lambda new, old, *_: noisier_side(new, old, levels=levels), outputs) if enabled else NOTHING


def skew(levels: int, enabled: bool) -> Beside:
    """Return what gives the p-values of normal units; stopped runs are not `asked`."""
    return (partial(units_shape, levels=levels), _shape((), "")) if enabled else NOTHING


def _shape(dims: tuple[str, ...], owner: str) -> dict[str, Output]:
    """Return the variables of `numerics.ratio_tests.Shape`."""
    names = {
        NORMALITY: f"p-value of fewer than {FEW} units{owner}, if they are normal",
        SKEWED: f"p-value of the skewness of {FEW} units{owner} or more, if they are normal",
        SKEWNESS: f"skewness of the mean of {FEW} units{owner} or more",
    }
    return {name: Output(dims, "1", long_name=text) for name, text in names.items()}


def _skewed(result: xr.Dataset, owner: str) -> tuple[Note | None, ...]:
    """Name cells whose units are skewed so that limits miss more, at an error rate of 5 % in all; or too few to be seen as skewed."""
    units, n = plural(str(result.attrs["unit"])), result.variables["n"].values
    if result.attrs["method"] == ADJUSTED:
        text = (
            f"{{cells}} have 3 or 4 {units} on a side: whether so few are skewed cannot be seen, and limits are little but those of t; "
            f"the adjustment works from 5 on, and well from {FEW}"
        )
        return (count_note("unseen_skewness", text, (n >= 3) & (n <= 4)),)
    pvalue, skewness = (result.variables[name].values for name in (SKEWED, SKEWNESS))
    skewed = in_all(pvalue) & (np.abs(skewness) >= MATTERS)
    text = (
        f"{{cells}} {owner}: of 95 %, limits cover 84 to 93, and miss mostly beyond one end; method={ADJUSTED!r} covers one to three "
        f"points more at 1.1 times the width, more {units} still more"
    )
    return (count_note("skewed_units", text, skewed),)


@check(SKEW)
def skew_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name cells with few units that are not normal, at an error rate of 5 % in all."""
    if NORMALITY not in result:
        return ()
    units, pvalue = plural(str(result.attrs["unit"])), result.variables[NORMALITY].values
    text = (
        f"{{cells}} rest on fewer than {FEW} {units}, and not normal ones: of 95 %, limits may cover 65 to 90; measure more {units}, or "
        "take method='studentized'"
    )
    few = in_all(pvalue)
    return count_note("few_skewed_units", text, few), *_skewed(result, f"rest on skewed {units}")


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
    few = in_all(pvalue)
    candidate, baseline = int((few & (share > 0.5)).sum()), int((few & (share < 0.5)).sum())
    noisier = (
        f"{{cells}} have most of their error from one side (the candidate in {candidate}, the baseline in {baseline}), whose {units} are "
        f"fewer than {FEW} and not normal: of 95 %, limits may cover 50 to 90; measure more of that side, in proportion to the "
        "standard deviations, or take method='studentized'"
    )
    skewed = _skewed(result, f"have most of their error from one side, whose {units} are skewed")
    return (
        count_note("two_units", two, n == 2),
        count_note("few_noisy_units", noisier, few, candidate=candidate, baseline=baseline),
        *skewed,
    )

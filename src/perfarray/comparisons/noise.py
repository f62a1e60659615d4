"""Where the error of a mean or of a ratio comes from, and whether there are too few units for the limits."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.numerics.ratio_tests import FEW, few_units, noisier_side
from perfarray.timings.apply import Output
from perfarray.timings.notes import Note, check, count_note

NOISE = "noise"
"""The check of few units on the noisier side."""

SKEW = "skew"
"""The check of few units of one system."""

SHARE, NORMALITY = "candidate_share", "normality_pvalue"


Beside = tuple[Callable[..., Sequence[Any]], dict[str, Output]]
"""A formula whose answers stand beside those of another of the same arrays, and the variables that it returns."""

NOTHING: Beside = (lambda *_: (), {})


def noise(levels: int, asked: bool, dims: tuple[str, ...] = ()) -> Beside:
    """Return what gives the candidate's share of the squared error of ratios, and the p-value of normal units on the side with most of it.

    It takes two sides with so many levels last, and their `dims` before. Pairs, which have one error, and what stopped runs bound are not
    `asked`.
    """
    outputs = {
        SHARE: Output(dims, "1", long_name="the candidate's share of the squared standard error"),
        NORMALITY: Output(dims, "1", long_name="p-value of few units of the noisier side, if they are normal"),
    }
    return (lambda new, old, *_: noisier_side(new, old, levels=levels), outputs) if asked else NOTHING


def skew(levels: int, asked: bool) -> Beside:
    """Return what gives the p-value of few units, if they are normal; stopped runs are not `asked`."""
    outputs = {NORMALITY: Output((), "1", long_name="p-value of few units, if they are normal")}
    return (partial(few_units, levels=levels), outputs) if asked else NOTHING


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
    return (count_note("few_skewed_units", text, pvalue * np.sum(~np.isnan(pvalue)) <= 0.05),)


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
    few = pvalue * np.sum(~np.isnan(pvalue)) <= 0.05
    candidate, baseline = int((few & (share > 0.5)).sum()), int((few & (share < 0.5)).sum())
    noisier = (
        f"{{cells}} have most of their error from one side (the candidate in {candidate}, the baseline in {baseline}), whose {units} are "
        f"fewer than {FEW} and not normal: of 95 %, limits may cover 50 to 90; measure more of that side, in proportion to the "
        "standard deviations, or take method='studentized'"
    )
    return count_note("two_units", two, n == 2), count_note("few_noisy_units", noisier, few, candidate=candidate, baseline=baseline)

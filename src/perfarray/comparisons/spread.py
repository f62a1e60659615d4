"""A change of spread between two systems, which a verdict on means does not see."""

import numpy as np
import xarray as xr

from perfarray.conventions import OTHER_SPREAD, plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.spread import LEAST, spread_change
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import adjust
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.notes import Note, check
from perfarray.timings.pairs import Pair
from perfarray.timings.zeros import cell_names

SPREAD = "spread"  # the check of changes of spread

# The rate of false marks in a call, of all its cells together (Holm): 1 % at most, whatever the law
# of the units
FALSE = 0.01

# Smaller ratios of spreads do not matter: long runs show them, and nobody would act on them.
MATTERS = 1.5

# Cells that a message names
EXAMPLES = 5

OUTPUTS = outputs(
    "1",
    cautious_pvalue="p-value of equal spreads by every test",
    candidate_spread="relative standard deviation of the candidate's units",
    baseline_spread="relative standard deviation of the baseline's units",
    spread_ratio="spread of the candidate / spread of the baseline",
    spread_lower="",
    spread_upper="",
    spread_pvalue="p-value of equal spreads of both sides' logarithms",
)


def with_spread(result: xr.Dataset, pair: Pair, confidence_level: float) -> xr.Dataset:
    """Return a comparison with the ratio of the spreads of both sides, and whether it changed.

    NaN for fewer than `LEAST` units a side and for stopped runs. A p-value that ranks gave stays.
    """
    arrays, nest = (pair.candidate.array, pair.baseline.array), pair.candidate.levels
    if pair.bounded or min(array.sizes[nest[0]] for array in arrays) < LEAST:
        variables = _without_test(result["estimate"].variable)
    else:
        tests = _tested(pair, confidence_level)
        if chunks := result.variables["estimate"].chunksizes:
            tests = {name: array.chunk(chunks) for name, array in tests.items()}
        dims = result.variables["estimate"].dims
        variables = {name: array.transpose(*dims) for name, array in tests.items()}
    return result.assign(
        {name: variable for name, variable in variables.items() if name not in result.data_vars}
    )


def _without_test(like: xr.Variable) -> dict[str, xr.Variable]:
    blank = xr.Variable(like.dims, like.data)
    numbers = {name: xr.full_like(blank, np.nan) for name in OUTPUTS if name != "cautious_pvalue"}
    return numbers | {"spread_changed": xr.full_like(blank, False, dtype=bool)}


def _tested(pair: Pair, confidence_level: float) -> dict[str, xr.Variable]:
    """Return the tests of all cells."""
    arrays, nest = [pair.candidate.array, pair.baseline.array], pair.candidate.levels
    if any(is_chunked(array) for array in arrays):
        arrays = [array.chunk(dict.fromkeys(nest, -1)) for array in arrays]

    def kernel(new: Floats, old: Floats) -> tuple[Floats, ...]:
        return spread_change(
            unit_means(new, len(nest)), unit_means(old, len(nest)), confidence_level
        )

    tests = apply(kernel, *arrays, core=[nest, nest], outputs=OUTPUTS)
    if pair.baselines:
        tests = tests.where(~pair.itself)
    variables = {name: tests.variables[name] for name in OUTPUTS if name != "cautious_pvalue"}
    return variables | {"spread_changed": _changed(tests).variable}


def _changed(tests: xr.Dataset) -> xr.DataArray:
    """Return the cells whose spread changed: every test sees it in spite of the number of cells."""
    arrays = [tests[name] for name in ("cautious_pvalue", "candidate_spread", "baseline_spread")]
    family = tuple(map(str, arrays[0].dims))
    arrays = [array.chunk(-1) if is_chunked(array) else array for array in arrays]
    outcome = {"changed": Output(family, "", bool, "whether the spread of the units changed")}
    return apply(_significant, *arrays, core=[family] * 3, outputs=outcome)["changed"]


def _significant(pvalue: Floats, new: Floats, old: Floats) -> tuple[Mask]:
    # If every label is a baseline, each pair of labels is tested twice.
    adjusted = adjust(pvalue.ravel(), "holm").reshape(pvalue.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        matters = np.abs(np.log(new / old)) >= np.log(MATTERS)
    return ((adjusted <= FALSE) & matters,)


@check(SPREAD)
def spread_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells whose units vary more, or less, than those of the baseline."""
    if "spread_changed" not in result.data_vars or not result["spread_changed"].any():
        return ()
    changed = result["spread_changed"]
    names = cell_names(changed)
    new, old = (
        result[f"{side}_spread"].transpose(*changed.dims).values[changed.values]
        for side in ("candidate", "baseline")
    )
    spreads = [
        f"{name}: {100 * before:.2g} -> {100 * after:.2g} %".removeprefix(": ")
        for name, before, after in zip(names, old, new, strict=True)
    ]
    listing = "; ".join([*spreads[:EXAMPLES], *(["..."] if len(spreads) > EXAMPLES else [])])
    units = plural(str(result.attrs["levels"]).split()[0])
    text = (
        f"The spread of {units} changed in {len(names)} of {changed.size} cells, marked "
        f"{OTHER_SPREAD} ({listing}). The verdict is about the mean alone. The picture 'overlay' "
        "shows both sides, and modes_by says what their modes go with."
    )
    values = {
        "cells": names,
        "of": changed.size,
        "candidate_spread": new.tolist(),
        "baseline_spread": old.tolist(),
    }
    return (Note("spread_changed", text, values),)

"""How many runs would make an observed speedup significant, where it is not."""

from typing import Final

import numpy as np
import xarray as xr

from perfarray.conventions import LOWER
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.speedups.numerics.enough import runs_for_ranks, runs_for_t
from perfarray.speedups.numerics.protocols import NO_ANSWER
from perfarray.speedups.numerics.tests import LARGE
from perfarray.timings.apply import apply, outputs
from perfarray.timings.pairs import Pair
from perfarray.timings.units import unit_place

USUAL_LEVEL: Final = 0.95
"""What is planned for where no level was given: any speedup is significant at some level."""


def with_required(result: xr.Dataset, pair: Pair, unit: str | None, statistic: str) -> xr.Dataset:
    """Add the runs a side with which the last test would see the observed speedup, were it the true one.

    NaN where it is significant, where there is no speedup, and where one run shows no spread. A small sample whose conditions
    fail is tested from `LARGE` runs on.
    """
    nest, sign = pair.candidate.levels, 1.0 if pair.candidate.better == LOWER else -1.0
    depth = unit_place(pair.candidate, unit)
    open_ = result["speedup"].where((result["speedup"] > 1) & ~result["significant"] & (result["n"] > 1))

    def kernel(new: Floats, old: Floats, speedup: Floats, level: Floats, failed: Floats, *greater: Floats) -> tuple[Floats]:
        runs, open_cells = np.full(speedup.shape, np.nan), ~np.isnan(speedup)
        risk = 1 - np.where(np.isnan(level), USUAL_LEVEL, level)[open_cells]
        if statistic == "mean":
            sides = [sign * one_value_per_unit(side, len(nest), depth) for side in (old, new)]
            x, y = (np.broadcast_to(side, (*open_cells.shape, side.shape[-1]))[open_cells] for side in sides)
            needed = runs_for_t(x, y, risk)
        else:
            needed = runs_for_ranks(greater[0][open_cells], risk)
        runs[open_cells] = np.where(failed[open_cells] > 0, np.maximum(needed, LARGE), needed)
        return (runs,)

    inputs = [open_, result["confidence_level"], (result["test"] == NO_ANSWER).astype(float)]
    inputs += [result["prob_faster"]] if statistic == "median" else []
    result_of_cells = apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        *inputs,
        core=[nest, nest, *[()] * len(inputs)],
        outputs=outputs(required="runs a side that would make it significant in 80 % of experiments"),
    )
    return result.assign(required=result_of_cells["required"].variable)

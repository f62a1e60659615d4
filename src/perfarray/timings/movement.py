"""Whether the units of different benchmarks move together."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import common_movement, movement
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.crossed import MATTERS
from perfarray.timings.notes import Note, check, significant_in_all
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names

# The correlation of the unit means of different benchmarks (of pairs, their ratios), and its
# p-value.
MOVES = {
    "suite_correlation": Output(
        (), "1", long_name="mean correlation between benchmarks of their units"
    ),
    "suite_correlation_pvalue": Output(
        (), "1", long_name="p-value of units of benchmarks that move together"
    ),
}

# The check of benchmarks that are assumed to be independent
MOVEMENT = "movement"


@check(MOVEMENT)
def movement_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return a note that names `shared=` where limits are too narrow by more than `MATTERS`.

    The correlation must be significant too, at a family-wise error rate of 5 %.
    """
    correlation, pvalue = (result.variables[name].values.ravel() for name in MOVES)
    if not (significant := significant_in_all(pvalue)).any():
        return ()
    if "suite_benchmarks" in result.data_vars:
        benchmarks = xr.broadcast(result["suite_correlation"], result["suite_benchmarks"])[
            1
        ].values.ravel()
    else:
        benchmarks = np.full(pvalue.shape, float(result.attrs.get("n_benchmarks", np.inf)))
    with np.errstate(invalid="ignore"):
        # The variance of a mean of correlated benchmarks, over that of independent ones
        too_narrow = np.sqrt(np.maximum(1 + (benchmarks - 1) * correlation, 1)) - 1
    moving = significant & (too_narrow > MATTERS)
    if not moving.any():
        return ()
    strongest, tested = (
        int(np.nanargmin(np.where(moving, pvalue, np.nan))),
        int(np.count_nonzero(~np.isnan(pvalue))),
    )
    mean, strongest_pvalue = float(correlation[strongest]), float(pvalue[strongest])
    unit, units = str(result.attrs["unit"]), plural(str(result.attrs["unit"]))
    where = ""
    if tested > 1:
        cells = result["suite_correlation"].copy(
            data=moving.reshape(result["suite_correlation"].shape)
        )
        where = f" in {int(moving.sum())} of {tested} cells ({listed(cell_names(cells), 2)})"
    text = (
        f"{units} of the benchmarks move together{where} (mean correlation {mean:.2g}, p "
        f"{strongest_pvalue:.2g}). The suite's limits take them as independent and are too "
        f"narrow. If one {unit} serves all benchmarks, say shared={unit!r}; else shared=()."
    )
    return (
        Note(
            "move_together",
            text,
            {"correlation": mean, "pvalue": strongest_pvalue, "suites": tested, "unit": unit},
        ),
    )


def together_notes(sides: Sequence[Timings], across: str, paired: bool) -> tuple[Note | None, ...]:
    """Return the same note of the timings behind a plan; none for lazy timings."""
    arrays, nest = [side.array for side in sides], sides[0].levels
    if any(map(is_chunked, arrays)):
        return ()

    def kernel(*values: Floats) -> tuple[Floats, ...]:
        means = [unit_means(side, len(nest)) for side in values]
        # Sides may have dims of their own, such as two candidates beside one baseline.
        measured = reduce(np.logical_and, (~np.isnan(side).all(axis=-1) for side in means))
        return *(
            movement(*means, paired=True) if paired else common_movement(*means)
        ), measured.sum(axis=-1)

    variables = MOVES | {"suite_benchmarks": Output((), "1")}
    return movement_notes(
        apply(
            kernel,
            *arrays,
            core=[[across, *nest]] * len(arrays),
            outputs=variables,
            attrs={"unit": nest[0]},
        )
    )

"""Dependence of the units on their order: tested with every interval, and noted."""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from perfarray.conventions import plural
from perfarray.numerics.dependence import LEAST, dependence_pvalue
from perfarray.numerics.intervals import BATCH_MEANS
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.notes import Note, check, count_note, significant_in_all
from perfarray.timings.resolve import Timings

# The check for units that depend on each other
DEPENDENCE = "dependence"

PVALUE = "dependence_pvalue"
# The variable of `numerics.dependence.dependence_pvalue`
ORDER_OUTPUTS = {PVALUE: Output((), "1", long_name="p-value of units whose order tells something")}


def dependence_note(sides: Sequence[Timings], paired: bool = False) -> Note | None:
    """Return the note on dependent units of the systems behind a plan; None for lazy timings."""
    arrays, nest = [side.array for side in sides], sides[0].levels
    if any(map(is_chunked, arrays)):
        return None

    def kernel(*values: Floats) -> tuple[Floats]:
        return (
            dependence_pvalue(*(unit_means(side, len(nest)) for side in values), paired=paired),
        )

    result = apply(kernel, *arrays, core=[nest] * len(arrays), outputs=ORDER_OUTPUTS)
    return _dependent(result[PVALUE].values, nest[0], "Look at the order.")


@check(DEPENDENCE)
def dependence_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return notes on cells with dependent units, or too few units for batch means."""
    unit, method = str(result.attrs["levels"]).split()[0], result.attrs.get("method")
    if method == BATCH_MEANS:
        n = result["n"].values
        text = (
            f"{{cells}} have fewer than {LEAST} {plural(unit)}, too few for "
            f"method='{BATCH_MEANS}'. They have no limits. Measure more."
        )
        return (count_note("few_units", text, (n > 1) & (n < LEAST), least=LEAST),)
    means = "of means, " if result.attrs.get("statistic") == "median" else ""
    remedy = f"{means}method='{BATCH_MEANS}' allows for that, from {LEAST} {plural(unit)} on."
    return (
        _dependent(result.variables[PVALUE].values, unit, remedy)
        if PVALUE in result.data_vars
        else None,
    )


def _dependent(pvalue: Any, unit: str, remedy: str) -> Note | None:
    """Return the note on dependent units."""
    dependent = significant_in_all(pvalue)
    if not dependent.any():
        return None
    text = (
        f"{{cells}} have {plural(unit)} that depend on those before them, or drift. Nominal 95 % "
        f"limits may cover only 50 to 85 %. {remedy} autocorrelation(dim={unit!r}) shows how far."
    )
    return count_note("dependent_units", text, dependent)

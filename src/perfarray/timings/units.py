"""The level whose repetitions are independent, and the level whose repetitions are runs."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import EXACT, EXECUTION, FORMAT, ITERATION, plural
from perfarray.numerics.types import Mask
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.processes import several_processes
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.zeros import cell_names


def unit_depth(data: Timings, unit: str | None) -> int:
    """Return the position in the nest of the level whose repetitions are independent.

    default: the outermost.

    Levels below it are averaged, levels above it are pooled (`numerics.levels.one_value_per_unit`).
    """
    return 0 if unit is None else _depth(data, unit, "unit")


def value_depth(data: Timings, value: str | None) -> int:
    """Return the position in the nest of the level whose repetitions are runs.

    default: `execution`, else the lowest level.

    Levels below it are averaged; all values count, each outermost unit with equal weight
    (`numerics.levels.values_by_unit`).
    """
    if value is not None:
        return _depth(data, value, "value")
    return data.levels.index(EXECUTION) if EXECUTION in data.levels else len(data.levels) - 1


def describe_unit(data: Timings, depth: int) -> dict[str, Hashable]:
    """Return the attrs of a result with another sampling unit than the outermost level."""
    return data.describe() | {"unit": data.levels[depth] if depth else data.unit}


def describe_value(data: Timings, depth: int) -> dict[str, Hashable]:
    """Return the attrs of a result with a level of runs.

    The sampling unit stays the outermost level.
    """
    return data.describe() | {"value": data.levels[depth]}


def _depth(data: Timings, level: str, argument: str) -> int:
    """Return the position of a level in the nest."""
    check_choice(level, argument, data.levels)
    return data.levels.index(level)


def pool_above_unit(data: Timings, unit: str | None) -> Timings:
    """Return the timings with the levels above the unit pooled, as `merge_level` does."""
    depth = unit_depth(data, unit)
    if not depth:
        return data
    outer, levels = data.levels[: depth + 1], data.levels[depth:]
    array = (
        data.array.drop_vars(outer, errors="ignore")
        .stack({"_pooled": outer}, create_index=False)
        .rename({"_pooled": levels[0]})
    )
    shared = (
        tuple(level for level in data.shared if level in levels)
        if set(outer) <= set(data.shared)
        else ()
    )
    return data._replace(array=array.assign_attrs(data.array.attrs), levels=levels, shared=shared)


def more_units(attrs: Mapping[Any, Any], *, unit: bool = False, one_side: bool = False) -> str:
    """Write what to do where cells of a result rest on one unit, without a full stop at the end.

    `unit` says whether the method has an argument `unit=`, `one_side` whether the other side has
    several units already. Iterations of one execution are not proposed as units: where executions
    vary, most of such verdicts on equal programs are false.
    """
    nest = str(attrs["levels"]).split()
    outer = str(attrs.get("unit", nest[0]))
    inner = tuple(nest[nest.index(outer) + 1 :])
    is_process = (one_side or outer in (EXECUTION, ITERATION)) and FORMAT in attrs
    ways = [
        several_processes(str(attrs[FORMAT]), compared="baseline" in attrs)
        if is_process
        else f"Measure several {plural(outer)}"
    ]
    if one_side:
        return f"{ways[0]}. Both sides need them: measure the other in the same way"
    # `between=` is for formulas of means of two independent sides.
    if (
        attrs.get("result") == "compare"
        and attrs["method"] == "fieller"
        and not {"paired", "between"} & set(attrs)
    ):
        ways.append("Or name earlier runs of these benchmarks: between=EARLIER")
    if inner and inner[0] != ITERATION:
        arguments = [
            f'merge_level("{outer}")',
            f"levels={inner!r}",
            *([f'unit="{inner[0]}"'] if unit else []),
        ]
        insides = (
            f"{', '.join(arguments[:-1])} or {arguments[-1]} take the repetitions inside it as "
            "independent"
        )
        ways.append(f"{insides}: what {plural(outer)} vary by is then not in the answer")
    return ". ".join(ways)


def single_unit_note(
    result: xr.Dataset, consequence: str, where: Mask | None = None
) -> Note | None:
    """Return the note on cells that rest on one unit, the consequence and the remedy."""
    one_unit = result.variables["n"].values == 1 if where is None else where
    if not one_unit.any():
        return None
    text = (
        f"{{cells}} rest on one {result.attrs['unit']}: {consequence}. "
        f"{more_units(result.attrs, unit=True)}"
    )
    return cells_note("single_unit", text, result["n"], one_unit)


# Code of the note on iterations that are taken as independent although the data tell their
# executions
ONE_PROCESS = "one_process"


def one_process_note(data: Timings, unit: str | None, compared_dim: str | None) -> Note | None:
    """Return the note on verdicts that rest on iterations, not on executions."""
    array = data.array
    if (unit or data.levels[0]) != ITERATION or array.sizes.get(ITERATION, 1) == 1:
        return None
    if EXECUTION not in array.dims or compared_dim == EXECUTION:
        return None
    text = (
        "Iterations are taken as independent, and those of one execution are not. What "
        "executions vary by is in no interval: "
        "equal programs then get verdicts in most cases. "
        f"{several_processes(str(array.attrs.get(FORMAT)), compared=True)}"
    )
    return Note(ONE_PROCESS, text, {"executions": array.sizes[EXECUTION]})


# The number of cells from which on a note does not name them
NAMED = 4

# The checks of the number of units, and of cells without values
UNITS, MEASURED = "units", "measured"
NOT_MEASURED = "{cells} have no measured value. Their answers are NaN."


@check(UNITS)
def units_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return notes on cells with one unit, without values, and without spread."""
    n, lower, upper = (result.variables[name].values for name in ("n", "lower", "upper"))
    single_unit, no_value, no_spread = (
        (n == 1) & np.isnan(lower) & np.not_equal(result.data_vars.get("kind", ""), EXACT),
        n == 0,
        (lower == upper) & (n > 1),
    )
    if not (single_unit | no_value | no_spread).any():
        return ()
    alone = without_other_side(result) if "n_candidate" in result and not no_value.all() else None
    unit = str(result.attrs["unit"])
    one_side = "n_candidate" in result and bool(
        (single_unit & (result["n_candidate"] != result["n_baseline"]).values).any()
    )
    remedy = more_units(result.attrs, one_side=one_side)
    one_unit_text = (
        f"{{cells}} rest on one {unit}: their limits are NaN, since one shows no spread. {remedy}"
    )
    if "between" in result.attrs:
        one_unit_text = (
            f"{{cells}} rest on one {unit} on a side, and between= does not say how the "
            f"{plural(unit)} of one {result.attrs['between']} "
            "vary. Their limits are NaN. Measure two or more, or give between= timings or "
            f"components with several {plural(unit)} in each "
            f"{result.attrs['between']}."
        )
    constant = "{cells} show no spread at all: all units are equal. Their interval has zero width."
    cases = (
        ("single_unit", one_unit_text, single_unit),
        ("no_value", NOT_MEASURED, no_value),
        ("no_spread", constant, no_spread),
    )
    return (
        *(cells_note(code, text, result["n"], where) for code, text, where in cases if where.any()),
        alone,
    )


def without_other_side(result: xr.Dataset) -> Note | None:
    """Return the note on what was measured on one side alone."""
    candidate, baseline = (result[name] > 0 for name in ("n_candidate", "n_baseline"))
    of_baseline = baseline & ~candidate
    dim = str(result.attrs.get("dim"))
    if dim in result.dims:
        of_baseline = baseline.any(dim) & ~(candidate & baseline).any(dim)
    number = int((candidate & ~baseline).sum() + of_baseline.sum())
    if not number:
        return None
    of, names = (
        number + int((candidate & baseline).sum()),
        cell_names(candidate != baseline) if number < NAMED else [],
    )
    return one_sided_note(number, of, names)


def one_sided_note(
    number: int, of: int, names: Sequence[str] = (), missing: str = "measured value on one side"
) -> Note:
    """Return the note on cells that one side alone has, with their names where these are few."""
    which = f" ({listed(names, 5)})" if names else ""
    return Note(
        "no_value",
        f"{number} of {of} cells{which} have no {missing}. Their answers are NaN.",
        {"cells": number, "of": of, "names": [*names]},
    )


@check(MEASURED)
def not_measured(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return the note on cells without values."""
    without = ~(result.variables["n"].values > 0)
    return (cells_note("no_value", NOT_MEASURED, result["n"], without) if without.any() else None,)


def cells_note(code: str, text: str, like: xr.DataArray, where: Mask) -> Note | None:
    """Return a note on some cells.

    `{cells}` in the text becomes their number, and up to three names.
    """
    number = np.count_nonzero(where)
    names = (
        cell_names(like.copy(data=where))
        if where.ndim and 0 < number < min(where.size, NAMED)
        else []
    )
    return count_note(
        code,
        text.replace("{cells}", f"{{cells}} ({listed(names)})") if names else text,
        where,
        names=names,
    )

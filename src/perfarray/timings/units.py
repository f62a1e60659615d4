"""What a sample is: the level whose repetitions are independent (`unit=`), and the level whose repetitions are runs (`value=`)."""

from collections.abc import Hashable

import numpy as np
import xarray as xr

from perfarray.conventions import EXECUTION
from perfarray.timings.apply import is_chunked
from perfarray.timings.resolve import Timings, cell_names
from perfarray.timings.validation import check_choice, listed


def unit_place(data: Timings, unit: str | None) -> int:
    """Return the place in the nest of the level whose repetitions are independent; default: the outermost.

    Levels below it are averaged, levels above it are pooled (`numerics.levels.one_value_per_unit`).

    Raises
    ------
    ValueError
        When `unit` is not a level of the nest; the message lists those that are.
    """
    return 0 if unit is None else _place(data, unit, "unit")


def value_place(data: Timings, value: str | None) -> int:
    """Return the place in the nest of the level whose repetitions are runs; default: `execution`, else the lowest level.

    Levels below it are averaged; all values count, each outermost unit with equal weight (`numerics.levels.values_by_unit`).

    Raises
    ------
    ValueError
        When `value` is not a level of the nest; the message lists those that are.
    """
    if value is not None:
        return _place(data, value, "value")
    return data.levels.index(EXECUTION) if EXECUTION in data.levels else len(data.levels) - 1


def describe_unit(data: Timings, place: int) -> dict[str, Hashable]:
    """Attrs that say which repetitions an answer takes as independent."""
    return data.describe() | {"unit": data.levels[place]}


def describe_value(data: Timings, place: int) -> dict[str, Hashable]:
    """Attrs that say which repetitions are runs; the unit stays the outermost level."""
    return data.describe() | {"value": data.levels[place]}


def _place(data: Timings, level: str, argument: str) -> int:
    """Return where a level stands in the nest."""
    check_choice(level, argument, data.levels)
    return data.levels.index(level)


def single_units(result: xr.Dataset, data: Timings) -> tuple[str, ...]:
    """Say which cells rest on one unit, on none, or on units that do not differ, and what can be done; a lazy result is not looked at."""
    notes = [data.selected]
    if is_chunked(result.variables["n"]):
        return tuple(notes)
    n, lower, upper = (result.variables[name].values for name in ("n", "lower", "upper"))
    single, empty, constant = n == 1, n == 0, (lower == upper) & (n > 1)
    if single.any():
        outermost, inner = data.levels[0], data.levels[1:]
        inside = f'merge_level("{outermost}") or levels={inner!r} take the repetitions inside it as independent, if they are'
        remedy = inside if inner else "measure more of them"
        notes.append(f"{_cells(result, single)} rest on one {outermost}: their limits are NaN, since one unit shows no spread; {remedy}")
    if empty.any():
        notes.append(f"{_cells(result, empty)} have no measured value; their answers are NaN")
    if constant.any():
        notes.append(f"{_cells(result, constant)} show no spread at all: their limits are the estimate, as sure as the values are exact")
    return tuple(notes)


def _cells(result: xr.Dataset, where: np.ndarray) -> str:
    """Write how many cells are meant; a few of several are named."""
    count = int(where.sum())
    names = listed(cell_names(result["n"].copy(data=where))) if where.ndim and count < where.size and count <= 3 else ""
    return f"{count} of {where.size} cells{f' ({names})' if names else ''}"

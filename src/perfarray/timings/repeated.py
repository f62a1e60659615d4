"""The unit of each cell: the outermost level that this cell repeats, never below an execution.

A cell that does not repeat the outermost level has the units that it repeats placed along that axis, one each, so that every formula takes
the units of a cell from one axis. Cells that repeat outer levels keep these: repeated sessions are never counted as runs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import CENSORED, EXECUTION, LEVELS, plural
from perfarray.numerics.levels import measured_units, placed_units, repeated_level, units_on_one_axis
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.crossed import label_name
from perfarray.timings.notes import Note


class UnitsOfCells(NamedTuple):
    """Arrays with the units of each cell along the outermost level, their nest, and the level that most cells repeat."""

    arrays: list[xr.DataArray]
    levels: tuple[str, ...]
    unit: str
    note: Note | None = None


def number_of_unit_levels(nest: Sequence[str]) -> int:
    """Return how many levels of a nest, the outermost first, may be the unit of a cell."""
    return nest.index(EXECUTION) + 1 if EXECUTION in nest and set(nest) <= set(LEVELS) else 1


def units_of_cells(arrays: Sequence[xr.DataArray], nest: tuple[str, ...]) -> UnitsOfCells:
    """Place the units of each cell along the outermost level that any cell repeats, and drop the levels around it.

    The note counts the cells that lack an outer level. Of lazy arrays the levels of one unit are dropped, and cells are placed when they
    are computed.
    """
    n_units = number_of_unit_levels(nest)
    single = [all(array.sizes[level] == 1 for array in arrays) for level in nest[: n_units - 1]]
    if n_units == 1:
        return UnitsOfCells([*arrays], nest, nest[0])
    if any(map(is_chunked, arrays)):
        outermost = single.index(False) if False in single else n_units - 1
        arrays = [array.isel(dict.fromkeys(nest[:outermost], 0), drop=True) for array in arrays]
        levels = nest[outermost:]
        note = _note(nest[0], levels[0]) if outermost else None
        return UnitsOfCells([_placed_lazily(array, levels, n_units - outermost) for array in arrays], levels, levels[0], note)
    measured = [measured_units(array.transpose(..., *nest).values, len(nest), n_units) for array in arrays]
    depths = [repeated_level(cells) for cells in measured]
    of_measured = np.concatenate([depth[depth >= 0] for depth in depths])
    if not of_measured.any():
        return UnitsOfCells([*arrays], nest, nest[0])
    outermost, unit = int(of_measured.min()), nest[int(np.bincount(of_measured).argmax())]
    if (of_measured == outermost).all() and all(single[:outermost]):
        placed = [array.isel(dict.fromkeys(nest[:outermost], 0), drop=True) for array in arrays]
    else:
        sides = zip(arrays, measured, depths, strict=True)
        placed = [_placed(array, nest, cells, depth, outermost) for array, cells, depth in sides]
    # A cell of one run has no limits, and a note of its own.
    several = np.concatenate([cells.reshape(len(cells), -1).sum(axis=1) > 1 for cells in measured])
    inner = np.concatenate(depths)[several & (np.concatenate(depths) > 0)]
    note = _note(nest[0], nest[int(np.bincount(inner).argmax())], len(inner), len(of_measured)) if len(inner) else None
    return UnitsOfCells(placed, nest[outermost:], unit, note)


def _placed(array: xr.DataArray, nest: Sequence[str], measured: Mask, depth: Integers, outermost: int) -> xr.DataArray:
    """Place the units of each cell, and what is said of them, along the level `outermost`; drop the levels around that."""
    units = nest[: measured.ndim - 1]
    dims = [dim for dim in array.dims if dim not in nest]

    def placed(variable: xr.Variable, fill: object) -> xr.Variable:
        inner = [dim for dim in variable.dims if dim not in (*dims, *units)]
        sizes = {dim: array.sizes[dim] for dim in (*dims, *units, *inner)}
        values: npt.NDArray[Any] = variable.set_dims(sizes).transpose(*sizes).values
        cells = values.reshape(len(measured), *values.shape[len(dims) :])
        moved = placed_units(cells, measured, depth, outermost, fill)
        return xr.Variable((*dims, *units[outermost:], *inner), moved.reshape(*values.shape[: len(dims)], *moved.shape[1:]))

    coords = {}
    for name, coordinate in array.coords.items():
        is_level = name in units
        if not set(units) & set(coordinate.dims):
            coords[name] = coordinate.variable
        elif not (is_level and coordinate.dtype.kind in "iu"):  # the numbers of units are positions
            is_mark = coordinate.dtype.kind == "b"
            labels = coordinate.variable if coordinate.dtype.kind in "bf" else coordinate.variable.astype(object)
            coords[label_name(str(name)) if is_level else name] = placed(labels.to_base_variable(), not is_mark and np.nan)
    order = [dim for dim in array.dims if dim not in nest[:outermost]]
    placed_array = xr.DataArray(placed(array.variable, np.nan), coords, name=array.name)
    return placed_array.transpose(*order).assign_attrs(array.attrs)


def _placed_lazily(array: xr.DataArray, nest: Sequence[str], n_units: int) -> xr.DataArray:
    """Place the units of each cell along the outermost level when the values are computed; stopped runs stay where they are."""
    if n_units == 1 or CENSORED in array.coords:
        return array
    length = max(array.sizes[level] for level in nest[:n_units])

    def placed(values: Floats) -> tuple[Floats]:
        return (units_on_one_axis(values, len(nest), n_units, length),)

    names = {f"_{level}": level for level in nest}  # a formula may not change the length of a dim that it gets
    sizes = {name: np.arange(length if level == nest[0] else array.sizes[level]) for name, level in names.items()}
    lazy = apply(placed, array, core=[nest], outputs={"placed": Output(tuple(names))}, coords=sizes)["placed"]
    return lazy.drop_vars(list(names)).rename(names).rename(array.name).transpose(*array.dims).assign_attrs(array.attrs)


def _note(outer: str, unit: str, cells: int = 1, of: int = 1) -> Note:
    """Return the note on cells that were measured in one unit of an outer level; it is an aside where all were."""
    text = (
        f"{cells} of {of} cells were measured in one {outer}: the units are {plural(unit)} there, and what {plural(outer)} vary by is not "
        f"in the answer. Measure several {plural(outer)}, or name what they vary by (compare has between=)"
    )
    return Note("one_session", text, {"cells": cells, "of": of, "level": outer, "unit": unit}, aside=cells == of)

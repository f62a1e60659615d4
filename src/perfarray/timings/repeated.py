"""The unit of each cell: the outermost level that this cell repeats, never below an execution.

A cell that does not repeat the outermost level has the units that it repeats placed along that
axis, one each, so that every formula takes the units of a cell from one axis. Cells that repeat
outer levels keep these: repeated sessions are never counted as runs.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import CENSORED, ITERATION, plural
from perfarray.numerics.levels import measured_units, placed_units, repeated_level
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.crossed import label_name
from perfarray.timings.notes import Note


class UnitsOfCells(NamedTuple):
    """Arrays with the units of each cell along the outermost level."""

    arrays: list[xr.DataArray]
    levels: tuple[str, ...]
    unit: str
    note: Note | None = None


def number_of_unit_levels(nest: Sequence[str]) -> int:
    """Return how many levels of a nest, the outermost first, may be the unit of a cell."""
    return max(len(nest) - (ITERATION in nest), 1)


def units_of_cells(
    arrays: Sequence[xr.DataArray], nest: tuple[str, ...], *, with_stopped: bool = False
) -> UnitsOfCells:
    """Place the units of each cell along the outermost level that any cell repeats.

    The note counts the cells that lack an outer level. Of lazy arrays the levels of one unit are
    dropped, and cells are placed when they are computed. If `with_stopped`, runs without a value
    that are marked as stopped are runs.
    """
    n_units = number_of_unit_levels(nest)
    has_one_label = [
        all(array.sizes[level] == 1 for array in arrays) for level in nest[: n_units - 1]
    ]
    if n_units == 1:
        return UnitsOfCells([*arrays], nest, nest[0])
    if any(map(is_chunked, arrays)):
        outermost = has_one_label.index(False) if False in has_one_label else n_units - 1
        arrays = [array.isel(dict.fromkeys(nest[:outermost], 0), drop=True) for array in arrays]
        levels = nest[outermost:]
        note = _note(nest[0], levels[:1]) if outermost else None
        aligned = [
            _placed_lazily(array, levels, n_units - outermost, with_stopped) for array in arrays
        ]
        return UnitsOfCells(aligned, levels, levels[0], note)
    measured = [
        measured_units(_runs(array, with_stopped).transpose(..., *nest).values, len(nest), n_units)
        for array in arrays
    ]
    depths = [repeated_level(cells) for cells in measured]
    of_measured = np.concatenate([depth[depth >= 0] for depth in depths])
    if not of_measured.any():
        return UnitsOfCells([*arrays], nest, nest[0])
    outermost, unit = int(of_measured.min()), nest[int(np.bincount(of_measured).argmax())]
    if (of_measured == outermost).all() and all(has_one_label[:outermost]):
        aligned = [array.isel(dict.fromkeys(nest[:outermost], 0), drop=True) for array in arrays]
    else:
        sides = zip(arrays, measured, depths, strict=True)
        aligned = [_placed(array, nest, cells, depth, outermost) for array, cells, depth in sides]
    # A cell of one run has no limits, and a note of its own.
    is_repeated = np.concatenate(
        [cells.reshape(len(cells), -1).sum(axis=1) > 1 for cells in measured]
    )
    inner = np.concatenate(depths)[is_repeated & (np.concatenate(depths) > 0)]
    # Where no cell has several outer units, every cell was measured in one.
    of = len(inner) if outermost else len(of_measured)
    names, counts = np.unique(inner, return_counts=True)
    note = (
        _note(nest[0], [nest[level] for level in names[np.argsort(-counts)]], len(inner), of)
        if len(inner)
        else None
    )
    return UnitsOfCells(aligned, nest[outermost:], unit, note)


def _runs(array: xr.DataArray, with_stopped: bool) -> xr.DataArray:
    """Return where an array has a run."""
    return (
        array.notnull() | array.coords[CENSORED]
        if with_stopped and CENSORED in array.coords
        else array.notnull()
    )


def _placed(
    array: xr.DataArray, nest: Sequence[str], measured: Mask, depth: Integers, outermost: int
) -> xr.DataArray:
    """Place the units of each cell, and what is said of them, along the level `outermost`.

    Drop the levels around that.
    """
    units = nest[: measured.ndim - 1]
    dims = [dim for dim in array.dims if dim not in nest]

    def placed(variable: xr.Variable, fill: object) -> xr.Variable:
        inner = [dim for dim in variable.dims if dim not in (*dims, *units)]
        sizes = {dim: array.sizes[dim] for dim in (*dims, *units, *inner)}
        values: npt.NDArray[Any] = variable.set_dims(sizes).transpose(*sizes).values
        cells = values.reshape(len(measured), *values.shape[len(dims) :])
        moved = placed_units(cells, measured, depth, outermost, fill)
        return xr.Variable(
            (*dims, *units[outermost:], *inner),
            moved.reshape(*values.shape[: len(dims)], *moved.shape[1:]),
        )

    coords = {}
    for name, coordinate in array.coords.items():
        is_level = name in units
        if not set(units) & set(coordinate.dims) and name != CENSORED:
            coords[name] = coordinate.variable
        elif not (is_level and coordinate.dtype.kind in "iu"):  # the numbers of units are positions
            kind, is_date = coordinate.dtype.kind, coordinate.dtype.kind in "mM"
            labels = (
                coordinate.variable
                if is_date or kind in "bf"
                else coordinate.variable.astype(object)
            )
            fill = coordinate.dtype.type("NaT") if is_date else kind != "b" and np.nan
            coords[label_name(str(name)) if is_level else name] = placed(
                labels.to_base_variable(), fill
            )
    order = [dim for dim in array.dims if dim not in nest[:outermost]]
    placed_array = xr.DataArray(placed(array.variable, np.nan), coords, name=array.name)
    return placed_array.transpose(*order).assign_attrs(array.attrs)


def _placed_lazily(
    array: xr.DataArray, nest: Sequence[str], n_units: int, with_stopped: bool
) -> xr.DataArray:
    """Place the units of each cell along the outermost level when the values are computed."""
    if n_units == 1:
        return array
    length = max(array.sizes[level] for level in nest[:n_units])
    marks = (
        [array.coords[CENSORED].reset_coords(drop=True)]
        if with_stopped and CENSORED in array.coords
        else []
    )
    marks = [mark.broadcast_like(array).chunk(array.chunksizes) for mark in marks]

    def placed(values: Floats, *marks: Mask) -> list[npt.NDArray[Any]]:
        shape = values.shape[: values.ndim - len(nest)]
        measured = measured_units(
            reduce(np.logical_or, marks, ~np.isnan(values)), len(nest), n_units
        )
        depth = repeated_level(measured)
        moved = []
        for side in (values, *marks):
            cells = side.reshape(len(measured), *side.shape[len(shape) :])
            fill = np.nan if side is values else False
            moved.append(placed_units(cells, measured, depth, 0, fill, length))
        return [side.reshape(*shape, *side.shape[1:]) for side in moved]

    names = {
        f"_{level}": level for level in nest
    }  # a formula may not change the length of a dim that it gets
    sizes = {
        name: np.arange(length if level == nest[0] else array.sizes[level])
        for name, level in names.items()
    }
    variables = {"placed": Output(tuple(names))} | (
        {"mark": Output(tuple(names), "", bool)} if marks else {}
    )
    lazy = apply(
        placed, array, *marks, core=[nest] * (1 + len(marks)), outputs=variables, coords=sizes
    )
    lazy = lazy.drop_vars(list(names)).rename(names).transpose(*array.dims)
    placed_array = lazy["placed"].rename(array.name).assign_attrs(array.attrs)
    return placed_array.assign_coords({CENSORED: lazy["mark"].variable}) if marks else placed_array


def _note(outer: str, units: Sequence[str], cells: int = 0, of: int = 0) -> Note:
    """Return the note on cells that were measured in one unit of an outer level.

    An aside where all were. Lazy cells are not counted.
    """
    subject = f"{cells} of {of} cells were" if of else "every cell was"
    text = (
        f"{subject} measured in one {outer}: the units are {' or '.join(map(plural, units))} "
        f"there. The variation between {plural(outer)} is not in the answer. Measure several "
        f"{plural(outer)}, or give their variation (compare has between=)."
    )
    return Note(
        "one_session",
        text,
        {"cells": cells, "of": of, "level": outer, "unit": units[0]},
        aside=cells == of,
    )

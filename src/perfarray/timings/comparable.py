"""Whether two sides can be compared: different suites raise, different machines, copies or threads give a note."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, CENSORED, HIGHER, SUITE, UNKNOWN
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names

COPIES = "copies"
# Coordinates with the number of concurrent runs of a benchmark
SETTINGS = (COPIES, "threads")


def check_sides(new: xr.DataArray, old: xr.DataArray, levels: Sequence[str], dim: str | None) -> tuple[Note, ...]:
    """Raise where compared cells are of different suites; return notes on copies and threads that differ.

    Both sides have the same labels on every dim but the levels and the dim compared, which only the new side has. What one side does not
    state differs from nothing, and neither do cells that are not measured on both sides; lazy ones are taken as measured.
    """
    differing = [(name, None if name == dim else _differing(name, new, old, levels)) for name in (SUITE, *SETTINGS)]
    suites = differing.pop(0)[1]
    if suites is not None:
        raise ValueError(_refusal(new, old, suites, dim))
    return tuple(_note(name, new, old, cells) for name, cells in differing if cells is not None)


def check_label(array: xr.DataArray, position: int, candidates: Iterable[int], levels: Sequence[str], dim: str) -> tuple[Note, ...]:
    """Check the candidates and the baseline, given by positions along a dim, as `check_sides` does."""
    if not any(dim in array.coords[name].dims for name in (SUITE, *SETTINGS) if name in array.coords and name != dim):
        return ()
    return check_sides(array.isel({dim: np.asarray(list(candidates))}), array.isel({dim: position}), levels, dim)


def check_systems(array: xr.DataArray, levels: Sequence[str], dim: str) -> tuple[Note, ...]:
    """Check all labels of a dim as `check_sides` does."""
    notes = [check_label(array, position, range(position), levels, dim) for position in range(1, array.sizes[dim])]
    return next((of_label for of_label in notes if of_label), ())


def align_sides(array: xr.DataArray, levels: Sequence[str], dim: str) -> tuple[xr.DataArray, tuple[Note, ...]]:
    """Remove the dims along which labels of `dim` never meet, as where each version was measured on a machine of its own.

    Their labels remain as descriptors along `dim`. Lazy arrays are returned as they are: where they were measured is not known.
    """
    names = [str(name) for name in array.dims if name not in (*levels, dim, BENCHMARK) and array.sizes[name] > 1]
    if not names or is_chunked(array):
        return array, ()
    measured = array.notnull() | array.coords[CENSORED] if CENSORED in array.coords else array.notnull()
    indexers = constant_dims(measured, dim, names)
    if not indexers:
        return array, ()
    aligned = array.isel({dim: np.arange(array.sizes[dim])} | indexers)
    columns = [aligned[name].values.tolist() if name in aligned.coords else range(array.sizes[dim]) for name in (dim, *indexers)]
    return aligned, (different_labels(list(indexers), [(label, others) for label, *others in zip(*columns, strict=True)]),)


def constant_dims(measured: xr.DataArray, dim: str, names: Iterable[str]) -> dict[str, xr.DataArray]:
    """Return the dims along which each label of `dim` was measured at one position alone, not all at the same, and these positions."""
    indexers = {}
    for name in names:
        cells = measured.any([other for other in measured.dims if other not in (dim, name)]).transpose(dim, name).values
        positions = cells.argmax(axis=1)
        if (cells.sum(axis=1) == 1).all() and (positions != positions[0]).any():
            indexers[name] = xr.DataArray(positions, dims=dim)
    return indexers


def different_labels(dims: Sequence[str], sides: Sequence[tuple[str, Sequence[object]]]) -> Note:
    """Return the note that the sides were measured at different labels of some dims, such as machines."""
    described = [f"{side}: {', '.join(map(str, labels))}" for side, labels in sides]
    more = f"; and {len(described) - 6} more" if len(described) > 6 else ""
    text = f"the sides differ in {' and '.join(dims)}, too ({'; '.join(described[:6])}{more}): a change is due to all differences together"
    return Note("sides_differ", text, {"dims": list(dims)})


def _differing(name: str, new: xr.DataArray, old: xr.DataArray, levels: Sequence[str]) -> xr.DataArray | None:
    """Return the cells measured on both sides in which a coordinate differs; None where there are none."""
    if name not in new.coords or name not in old.coords:
        return None
    candidate, baseline = (side.coords[name].variable.astype(object) for side in (new, old))
    if {*candidate.dims, *baseline.dims} & {*levels}:
        return None
    differs = (candidate != baseline) & _stated(candidate) & _stated(baseline)
    if not differs.values.any():
        return None
    for side in (new, old):
        if not is_chunked(side):
            differs = differs & side.variable.notnull().any([level for level in levels if level in side.dims])
    if not differs.values.any():
        return None
    return xr.DataArray(differs, {dim: new.indexes[dim] for dim in differs.dims if dim in new.indexes})


def _stated(variable: xr.Variable) -> xr.Variable:
    """Return where a descriptor is known."""
    stated: xr.Variable = variable.notnull() & (variable != UNKNOWN)
    return stated


def _refusal(new: xr.DataArray, old: xr.DataArray, cells: xr.DataArray, dim: str | None) -> str:
    """Write both suites, the cells, and what to compare instead."""
    suites, baseline_suites = (listed(values, 3) for values in _values(SUITE, new, old, cells))
    text = f"different suites are not compared: {suites} against {baseline_suites} in the baseline, of {_count(cells)} "
    text += f"({listed(cell_names(cells), 3)}); "
    remedy = "give sides of one suite"
    if dim is not None and dim in cells.dims:
        differs = cells.any([name for name in cells.dims if name != dim])
        comparable = cells[dim].values[~differs.values].tolist()
        remedy += f": times.sel({dim}=[...]) with the baseline and {listed(comparable, 5)}, which have its suite" if comparable else ""
    return f'{text}{remedy}; if these are names of one suite, times.drop_vars("{SUITE}") compares them'


def _note(name: str, new: xr.DataArray, old: xr.DataArray, cells: xr.DataArray) -> Note:
    """Return the note on the copies or threads of both sides."""
    numbers, baseline_numbers = (
        ", ".join(str(value).removesuffix(".0") for value in values[:3]) for values in _values(name, new, old, cells)
    )
    text = f"the sides ran different numbers of {name}: {numbers} against {baseline_numbers} in the baseline, of {_count(cells)}"
    if name == COPIES and new.attrs.get("better") != HIGHER:
        text += "; a time does not count them, a rate does (metric='ratio', where the files have it)"
    return Note("settings_differ", text, {"setting": name, "cells": int(cells.sum())})


def _count(cells: xr.DataArray) -> str:
    """Write the number of some cells."""
    number = int(cells.sum())
    return f"{number} cell{'s' if number > 1 else ''}"


def _values(name: str, new: xr.DataArray, old: xr.DataArray, cells: xr.DataArray) -> tuple[list[Any], list[Any]]:
    """Return the distinct values of a coordinate in the cells, for both sides."""
    sides = (side.coords[name].variable.set_dims(dict(cells.sizes)).transpose(*cells.dims).values[cells.values] for side in (new, old))
    first, second = (list(dict.fromkeys(side.tolist())) for side in sides)
    return first, second

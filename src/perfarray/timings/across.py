"""What crosses benchmarks: the dim of a suite, two systems side by side, and the benchmarks that not everybody has."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.numerics.suite import suite_units
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair, baseline_name
from perfarray.timings.resampling import cell_numbers
from perfarray.timings.resolve import Timings
from perfarray.timings.units import unit_place
from perfarray.timings.validation import listed

Kernel = Callable[[Floats, Floats, Any], tuple[np.ndarray, ...]]

UNMATCHED = "unmatched"
SUITE = "suite"
"""The coordinate of the readers that says which suite a benchmark belongs to."""


def check_across(across: str, nest: tuple[str, ...]) -> None:
    """Raise where the suite would average over a level."""
    if across in nest:
        raise ValueError(f"across={across!r} is a level of the nest {nest}; a suite averages over a dim that is not")


def along(side: Timings, across: str) -> xr.DataArray:
    """Return the timings with the dim of the suite in one chunk; a single benchmark gets one."""
    check_across(across, side.levels)
    array = side.array if across in side.array.dims else side.array.expand_dims({across: 1})
    return array.chunk({across: -1}) if is_chunked(array) else array


def common_benchmarks(data: Timings, across: str) -> tuple[xr.DataArray, tuple[str, ...]]:
    """Return which benchmarks every cell has, and the names of the others; cells without any value do not count."""
    array = along(data, across)
    present = array.notnull().any(data.levels).reset_coords(drop=True)
    others = [dim for dim in present.dims if dim != across]
    kept = (present | ~present.any(across)).all(others)
    if is_chunked(kept):
        return kept.chunk({across: -1}), ()
    unmatched = tuple(str(label) for label in kept[across].values[~kept.values])
    if not kept.any() and bool(present.any()):
        raise ValueError(
            f"no label of {across!r} was measured in every cell, so no suite is the same for all; select cells that have benchmarks in "
            f"common (dims {tuple(str(dim) for dim in others)})"
        )
    return kept, unmatched


def left_out_of_all(unmatched: tuple[str, ...], number: int, across: str) -> Note | None:
    """Name the benchmarks that are left out of every cell."""
    if not unmatched:
        return None
    text = f"{len(unmatched)} of {number} labels of {across!r} were not measured in every cell and are left out of all, so that all cells "
    return Note("unmatched", f"{text}have the same suite: {listed(unmatched)}", {"labels": list(unmatched), "dim": across})


def place_of_units(pair: Pair, unit: str | None, paired: str | None = None) -> int:
    """Return the place of the units in the nest; paired ones are the outermost."""
    place = unit_place(pair.candidate, unit)
    if paired is not None and place:
        raise ValueError(f"paired={paired!r} matches the outermost units, and unit={unit!r} takes others as independent; give one of them")
    return place


def describe_suites(pair: Pair, place: int, baseline: object, across: str) -> dict[str, Hashable]:
    """Return the attrs of a comparison of two suites."""
    return pair.describe() | {"unit": pair.candidate.levels[place], "across": across, "baseline": baseline_name(baseline)}


def over_suites(
    pair: Pair, place: int, across: str, kernel: Kernel, outputs: dict[str, Output], attrs: dict[str, Hashable], coords: dict[str, Any]
) -> xr.Dataset:
    """Give a formula the units (suites, benchmarks, units) of both systems and the numbers of the suites, and label what it returns."""
    sides = [along(side, across) for side in (pair.candidate, pair.baseline)]
    levels = pair.candidate.levels

    def unfolded(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        units = [suite_units(side, cells.shape, len(levels), place) for side in (new, old)]
        found = kernel(units[0], units[1], cells.ravel())
        return tuple(part.reshape((*cells.shape, *part.shape[1:])) for part in found)

    cells = cell_numbers(sides, levels, across)
    core = [[across, *levels], [across, *levels], []]
    labels = coords | {across: sides[0][across].values.tolist()}
    return apply(unfolded, *sides, cells, core=core, outputs=outputs, coords=labels, attrs=attrs)


def name_unmatched(result: xr.Dataset, matched: xr.DataArray, across: str) -> Note | None:
    """Name in the attrs, and in the note that is returned, the benchmarks that some pair lacks; lazy ones are not looked at.

    Pairs without any data lack nothing: they are counted apart.
    """
    if is_chunked(matched):
        return None
    pairs = np.moveaxis(matched.values, matched.get_axis_num(across), -1).reshape(-1, matched.sizes[across])
    lacking = matched[across].values[~pairs[pairs.any(axis=1)].all(axis=0)]
    said = [name for name in str(result.attrs.get(UNMATCHED, "")).split(", ") if name]
    names = list(dict.fromkeys([*said, *(str(label) for label in lacking)]))
    if names:
        result.attrs[UNMATCHED] = ", ".join(names)
    if not len(lacking):
        return None
    missing = f"{len(lacking)} of {matched.sizes[across]} along {across!r} are missing in some cells: {listed(lacking)}"
    text = f"{missing}; each ratio is over the benchmarks measured on both sides"
    return Note("unmatched", text, {"labels": [str(label) for label in lacking], "dim": across})


def name_suites(result: xr.Dataset | xr.DataArray, data: Timings, counted: xr.DataArray, across: str) -> Note | None:
    """Name in the attrs, and in the note that is returned, the suites that one mean is taken over, where they are several.

    `counted` says which benchmarks count, in every cell or in all; where it is lazy, all do.
    """
    suite = data.array.coords.get(SUITE)
    if suite is None or suite.dims != (across,):
        return None
    labels = np.array([str(label) for label in suite.values], dtype=object)
    mask = np.ones((1, len(labels)), dtype=bool)
    if not is_chunked(counted):
        mask = np.moveaxis(counted.values, counted.get_axis_num(across), -1).reshape(-1, len(labels))
    names = list(dict.fromkeys(labels))
    has = np.array([mask[:, labels == name].any(axis=1) for name in names])
    several = has.sum(axis=0) > 1
    mixed = [name for name, own in zip(names, has, strict=True) if (own & several).any()]
    if not mixed:
        return None
    result.attrs["suites"] = ", ".join(mixed)
    text = f'one mean is taken over the benchmarks of {len(mixed)} suites ({listed(mixed)}); times.groupby("suite") gives each its own'
    return Note("several_suites", text, {"suites": mixed})


def count_empty(empty: xr.DataArray | np.ndarray, what: str) -> Note | None:
    """Say how many cells have nothing to go by."""
    number = int(empty.sum())
    text = f"{number} of {empty.size} cells have {what}; their answers are NaN"
    return Note("no_value", text, {"cells": number, "of": empty.size}) if number else None

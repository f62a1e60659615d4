"""Copies of other results: the scores of their cells, and no measurements.

A peak of SPEC that reuses its base has the runs of its base. The suite counts them as SPEC does,
with a ratio of 1. Nothing of that ratio varies: both scores are one number, whatever its runs vary
by. Copies of something else than the other side vary as their runs do.
"""

from functools import reduce
from operator import or_

import xarray as xr

from perfarray.conventions import COPIED, TUNING
from perfarray.timings.apply import is_chunked
from perfarray.timings.marks import as_mark
from perfarray.timings.notes import Note
from perfarray.timings.pairs import Pair
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import cell_names


def has_copies(pair: Pair) -> bool:
    """Return whether copies were left out of a pair, or may have been where their mark is lazy."""
    return f"n_{COPIED}" in pair.attrs or COPIED in (
        *pair.candidate.uncounted,
        *pair.baseline.uncounted,
    )


def copies(pair: Pair) -> xr.DataArray | None:
    """Return which cells count with copies on either side.

    None where copies were left out, or there are none.
    """
    coords = [side.array.coords for side in (pair.candidate, pair.baseline)]
    cells = [as_mark(names[COPIED].reset_coords(drop=True)) for names in coords if COPIED in names]
    if not cells:
        return None
    either = reduce(or_, cells)
    either = either & ~pair.itself if pair.baselines else either
    return either if is_chunked(either) or either.any() else None


def same_runs(pair: Pair) -> xr.DataArray | None:
    """Return which of these cells have the same runs on both sides."""
    cells, levels, sides = (
        copies(pair),
        pair.candidate.levels,
        (pair.candidate.array, pair.baseline.array),
    )
    if cells is None or any(sides[0].sizes[level] != sides[1].sizes[level] for level in levels):
        return cells if cells is None else cells & False
    new, old = (side.reset_coords(drop=True).drop_vars(levels, errors="ignore") for side in sides)
    return cells & ((new == old) | (new.isnull() & old.isnull())).all(levels)


def without_variation(pair: Pair, equal_runs: xr.DataArray, statistic: str) -> Pair:
    """Return a pair with the same value for every run of the cells that are copies."""
    score = getattr(pair.candidate.array, statistic)(pair.candidate.levels).reset_coords(drop=True)

    def constant(array: xr.DataArray) -> xr.DataArray:
        filled = array.where(~equal_runs | array.isnull(), score)
        return filled.transpose(*array.dims, ...).assign_attrs(array.attrs)

    new, old = (
        side._replace(array=constant(side.array)) for side in (pair.candidate, pair.baseline)
    )
    return pair._replace(candidate=new, baseline=old)


def copies_note(pair: Pair) -> Note | None:
    """Return the note on the cells that count with copies.

    None where there are none, or where they are lazy.
    """
    cells, equal_runs = copies(pair), same_runs(pair)
    if cells is None or equal_runs is None or is_chunked(equal_runs):
        return None
    dim = str(pair.dim)
    labels = (
        cells[dim].values[cells.any([name for name in cells.dims if name != dim]).values].tolist()
        if dim in cells.dims
        else []
    )
    if (cells & ~equal_runs).any():
        subject = "a side is a copy of another result"
    elif dim == TUNING and len(labels) == 1 and "baseline" in pair.attrs:
        subject, cells = f"{labels[0]} is its {pair.attrs['baseline']}", cells.any(dim)
    else:
        subject = "the candidate is a copy of its baseline"
    names = cell_names(
        cells.isel({name: 0 for name, size in cells.sizes.items() if size == 1 < cells.size})
    )
    text = (
        f"{subject} in {number_of(len(names), 'cell')}: {listed(names, 5)}. Copies count in "
        "the suite and are not tested. "
        f'times.drop_vars("{COPIED}") takes them as measured.'
    )
    return Note(COPIED, text, {"cells": len(names), "names": names})

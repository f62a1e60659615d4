"""Cells without values to be about: marked, copied, or measured in another metric."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, LEVELS, plural
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names


def cells_of_copies(array: xr.DataArray, marked: xr.DataArray, nest: Sequence[str]) -> xr.DataArray:
    """Return which cells hold copies of other results and no measurement.

    Gaps of ragged cells are neither.
    """
    measured, copied = array.notnull() & ~marked, array.notnull() & marked
    return copied.any(nest) & ~measured.any(nest)


def copied_cells_note(cells: xr.DataArray) -> Note | None:
    """Return a note on the cells that hold only copies of other results, and are left out."""
    if not cells.any():
        return None
    names = cell_names(
        cells.isel({dim: 0 for dim, size in cells.sizes.items() if size == 1 < cells.size})
    )
    text = (
        f"{len(names)} cells are copies of other results and are left out: {listed(names, 5)}. A "
        "peak reuses its base, or a report was published twice. times.drop_vars('copied') "
        "counts them as measured."
    )
    return Note("copied", text, {"cells": len(names)})


def all_marked_note(
    unmarked: xr.DataArray, array: xr.DataArray, nest: Sequence[str], marks: Sequence[str]
) -> Note | None:
    """Return a note on the cells of which every run is left out by a mark.

    Cells without runs are not measured, and not named.
    """
    if not marks or is_chunked(array):
        return None
    marked = reduce(or_, (as_mark(unmarked.coords[mark]).reset_coords(drop=True) for mark in marks))
    measured = array.notnull().reset_coords(drop=True).any(nest)
    lost = (marked | xr.zeros_like(unmarked, dtype=bool).reset_coords(drop=True)).any(
        nest
    ) & ~measured
    if not lost.any():
        return None
    lost = lost.transpose(*measured.dims)
    names = cell_names(lost)
    # Where every benchmark is lost, as of a machine, that is named.
    if BENCHMARK in lost.dims and lost.ndim > 1:
        fully_lost = lost.any(BENCHMARK) & ~measured.any(BENCHMARK)
        names = cell_names(fully_lost) + cell_names(lost & ~fully_lost)
    cells, of = int(lost.sum()), int((lost | measured).sum())
    text = (
        f"{cells} of {of} cells have no answer, since all their runs are marked as "
        f"{' or '.join(marks)}: {listed(names, 5)}"
    )
    return Note("all_marked", text, {"cells": cells, "of": of, "names": names})


def number_of_marked(marked: xr.DataArray, array: xr.DataArray) -> int:
    """Return the number of positions of the array that a mark covers."""
    return int(marked.sum()) * int(
        np.prod([n for dim, n in array.sizes.items() if dim not in marked.dims])
    )


def as_mark(coordinate: xr.DataArray) -> xr.DataArray:
    """Return a boolean coordinate as bool.

    Joins turn it into objects or floats, where NaN means False.
    """
    if coordinate.dtype == bool:
        return coordinate
    texts = (
        [str(x) for x in np.ravel(coordinate.values) if isinstance(x, str)]
        if coordinate.dtype.kind in "OUST" and not is_chunked(coordinate)
        else []
    )
    if texts:
        raise ValueError(
            f"the mark {coordinate.name!r} holds the text {texts[0]!r}; marks are True and False"
        )
    return coordinate.notnull() & coordinate.fillna(False).astype(bool)


def selected_unit_note(level: str, unit: str) -> Note:
    """Return the note that one unit of an outer level was selected."""
    text = (
        f"One {level} was selected, so its {plural(unit)} are taken as independent units. Select "
        "with a list to keep the level."
    )
    return Note("selected_unit", text, {"level": level, "unit": unit})


def hidden_cells_notes(
    array: xr.DataArray, metrics: Mapping[str, xr.DataArray]
) -> tuple[Note, ...]:
    """Return a note on the cells that are empty in the chosen metric and hold values in another."""
    other_metrics = {name: metric for name, metric in metrics.items() if name != array.name}
    if not other_metrics or is_chunked(array):
        return ()
    empty = ~array.notnull().any([dim for dim in array.dims if dim in LEVELS])
    if not empty.any():
        return ()
    for name, metric in other_metrics.items():
        hidden = empty & metric.notnull().any([dim for dim in metric.dims if dim in LEVELS])
        if hidden.any():
            cells = cell_names(hidden)
            text = (
                f"{len(cells)} cells have no {array.name!r} but have {name!r} (choose it with "
                f"metric=): {listed(cells, 5)}"
            )
            return (Note("other_metric", text, {"cells": len(cells), "metric": name}),)
    return ()

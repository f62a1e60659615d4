"""Whether the sides of a comparison are valid results of SPEC."""

import numpy as np
import xarray as xr

from perfarray.conventions import ESTIMATED, LEVELS, VALID
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names

# By coordinate: the value of what cannot be published, the code of the note, and what such a side
# is
STATES = {
    VALID: (0, "invalid_side", "not valid"),
    ESTIMATED: (1, "estimated_side", "estimated, not reportable"),
}


def validity_notes(
    new: xr.DataArray, old: xr.DataArray, dim: str | None, baseline: str | None = None
) -> tuple[Note, ...]:
    """Return notes that name the invalid and the estimated sides.

    All reports of an archive may be estimates: where both sides are, the note is kept with the
    result and is no warning.
    """
    candidates = new[dim].values.tolist() if dim in new.coords else []
    names = {
        "candidate": candidates if len(candidates) == 1 else [],
        "baseline": [] if baseline is None else [baseline],
    }
    notes, compared_cells = [], _cells_compared(new, old)
    for name, (value, code, state) in STATES.items():
        labels = {
            side: _labels(array, compared_cells, name, value)
            for side, array in (("candidate", new), ("baseline", old))
        }
        sides = {
            side: along or [str(label) for label in names[side]]
            for side, along in labels.items()
            if along is not None
        }
        if not sides:
            continue
        subjects = [
            f"the {side}{f' ({listed(along, 5)})' if along else ''}"
            for side, along in sides.items()
        ]
        text = (
            f"{' and '.join(subjects)} {'is' if len(sides) == 1 else 'are'} {state}, as the "
            "file says. "
        )
        text += "Do not publish the ratio as one of valid results."
        values = {
            "sides": list(sides),
            "labels": list(dict.fromkeys(label for along in sides.values() for label in along)),
        }
        notes.append(Note(code, text, values, aside=name == ESTIMATED and len(sides) == 2))
    return tuple(notes)


def _cells_compared(new: xr.DataArray, old: xr.DataArray) -> xr.DataArray | None:
    """Return the cells that were measured on both sides.

    None where that is not known, or nothing is stated of either side.
    """
    if is_chunked(new) or is_chunked(old) or not {VALID, ESTIMATED} & {*new.coords, *old.coords}:
        return None
    sides = (
        side.reset_coords(drop=True).notnull().any([dim for dim in side.dims if dim in LEVELS])
        for side in (new, old)
    )
    return next(sides) & next(sides)


def _labels(
    array: xr.DataArray, compared_cells: xr.DataArray | None, name: str, value: int
) -> list[str] | None:
    """Return the labels of the cells compared that are in a state, none where it has no dims.

    None where no cell is in it.
    """
    coordinate = array.coords.get(name)
    if coordinate is None or coordinate.dtype.kind not in "biuf":
        return None
    cells = (coordinate == value).reset_coords(drop=True).compute()
    if compared_cells is not None:
        cells = cells & compared_cells.any(
            [dim for dim in compared_cells.dims if dim not in cells.dims]
        )
    if not np.any(cells):
        return None
    return (
        cell_names(
            cells.isel({dim: 0 for dim, size in cells.sizes.items() if size == 1 < cells.size})
        )
        if cells.ndim
        else []
    )

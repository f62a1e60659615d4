"""Files that one run of a tool wrote: those of a folder or an archive, each of other benchmarks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfarray.conventions import LEVELS, MARKS

if TYPE_CHECKING:
    import xarray as xr


def in_runs(times: "xr.Dataset") -> "xr.Dataset":
    """Return timings with one label of `file` for the files of each folder or archive.

    Where two of these hold the same benchmark they are several runs, and stay as they are.
    """
    import numpy as np
    import xarray as xr

    names = np.array([str(label).partition("/")[0] for label in times["file"].values.tolist()])
    places = {run: np.flatnonzero(names == run).tolist() for run in dict.fromkeys(names.tolist())}
    if len(places) in (1, len(names)):
        return times
    measured = {
        str(name): times[name].drop_vars([*times.coords])
        for name in (*times.data_vars, *MARKS)
        if name in times.variables and "file" in times[name].dims
    }
    for array in measured.values():
        is_here = array if array.dtype.kind == "b" else array.notnull()
        cells = is_here.any([dim for dim in array.dims if dim in LEVELS])
        if any((cells.isel(file=place).sum("file") > 1).any() for place in places.values()):
            return times
    merged = {
        name: xr.concat([_first(array, place) for place in places.values()], "file")
        for name, array in measured.items()
    }

    def differs(coordinate: "xr.DataArray") -> bool:
        texts = coordinate.values.astype(str)
        return any(len({*texts[place].tolist()}) > 1 for place in places.values())

    # What describes the benchmarks of single files, or some of its files, does not describe a run
    described = [
        name
        for name, coordinate in times.coords.items()
        if "file" in coordinate.dims
        and name not in measured
        and (coordinate.ndim > 1 or (name not in ("file", "date") and differs(coordinate)))
    ]
    runs = times.drop_vars([*described, *measured]).isel(
        file=[place[0] for place in places.values()]
    )
    ordered = {name: array.transpose(*measured[name].dims) for name, array in merged.items()}
    runs = runs.assign({name: array for name, array in ordered.items() if name not in MARKS})
    marks = {name: array for name, array in ordered.items() if name in MARKS}
    return runs.assign_coords(marks).assign_coords(file=[*places])


def _first(array: "xr.DataArray", positions: Sequence[int]) -> "xr.DataArray":
    """Return each value from the file that has it."""
    values = array.isel(file=positions[0])
    for position in positions[1:]:
        other = array.isel(file=position)
        values = values | other if array.dtype.kind == "b" else values.fillna(other)
    return values

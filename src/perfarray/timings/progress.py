"""A bar that counts the cells of a long computation."""

from typing import Any

import xarray as xr

from perfarray.timings.apply import is_chunked


def cells_bar(cells: xr.DataArray, doing: str, *, wanted: bool, each: int = 1) -> Any:
    """Return a bar that counts cells, or None where none is wanted, or cells are lazy: they are computed later.

    Parameters
    ----------
    cells : DataArray
        One value a cell.
    doing : str
        What is done to each, in front of the bar.
    wanted : bool
        What the caller was given as `progress=`.
    each : int
        How often each cell is counted.
    """
    if not wanted or is_chunked(cells):
        return None
    from tqdm.auto import tqdm

    return tqdm(total=each * cells.size, desc=doing, unit="cell")

"""A bar that counts the cells of a long computation."""

from typing import Any

import xarray as xr

from perfarray.timings.apply import is_chunked

# Seconds after which a bar that nobody asked for appears
PATIENCE = 5.0


def cells_bar(cells: xr.DataArray, doing: str, *, show: bool | None, each: int = 1) -> Any:
    """Return a bar that counts cells, or None where none is wanted, or cells are lazy: they are computed later."""
    if show is False or is_chunked(cells):
        return None
    from tqdm.auto import tqdm

    unasked = {"disable": None, "delay": PATIENCE} if show is None else {}
    return tqdm(total=each * cells.size, desc=doing, unit="cell", **unasked)

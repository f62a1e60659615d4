"""A progress bar over the cells of a long computation."""

from typing import Any

import xarray as xr

from perfarray.timings.apply import is_chunked

# Seconds after which a bar appears by default
PATIENCE = 5.0


def cells_bar(cells: xr.DataArray, doing: str, *, show: bool | None, each: int = 1) -> Any:
    """Return a progress bar over cells, None where `show` is False or the cells are lazy."""
    if show is False or is_chunked(cells):
        return None
    from tqdm.auto import tqdm

    unasked = {"disable": None, "delay": PATIENCE} if show is None else {}
    return tqdm(total=each * cells.size, desc=doing, unit="cell", **unasked)

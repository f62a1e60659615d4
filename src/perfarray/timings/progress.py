"""Progress bars of long calls: by themselves in a terminal or a notebook, silent in scripts."""

import sys
from threading import Timer
from typing import Any

import numpy as np
import xarray as xr

# Seconds after which a bar appears by itself
PATIENCE = 1.0


def progress_bar(total: int, doing: str, unit: str, *, show: bool | None, **options: Any) -> Any:
    """Return a progress bar, None where none is shown.

    `show` is True for a bar at once, False for none, and None for one that appears after `PATIENCE`
    seconds where a person looks on.
    """
    if show is False or (show is None and not _is_watched()):
        return None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, desc=doing, unit=unit, delay=0.0 if show else PATIENCE, **options)
    if not show:
        # By itself a bar waits for the first step, which may take long.
        timer = Timer(PATIENCE, bar.refresh)
        timer.daemon = True
        timer.start()
    return bar


def cells_bar(
    cells: xr.DataArray, doing: str, *, show: bool | None, steps_per_cell: int = 1
) -> Any:
    """Return a progress bar over cells, None where none is shown or the cells are lazy."""
    return progress_bar(
        steps_per_cell * cells.size,
        doing,
        "cell",
        show=show if isinstance(cells.data, np.ndarray) else False,
    )


def _is_watched() -> bool:
    """Return whether a person sees what a call prints while it runs."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return sys.stderr.isatty() or hasattr(shell, "kernel")

"""Progress bars of long calls: by themselves in a terminal or a notebook, silent in scripts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread, Timer
from typing import Any, Final
from weakref import WeakSet

import numpy as np
import xarray as xr

# Seconds after which a bar appears by itself
PATIENCE = 1.0

BARS: Final[WeakSet[Any]] = WeakSet()  # those that are shown, and some that are closed


def progress_bar(total: int, doing: str, unit: str, *, show: bool | None, **options: Any) -> Any:
    """Return a progress bar, None where none is shown.

    `show` is True for a bar at once, False for none, and None for one that appears after `PATIENCE`
    seconds where a person looks on.
    """
    if show is False or (show is None and not _is_watched()):
        return None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, desc=doing, unit=unit, delay=0.0 if show else PATIENCE, **options)
    BARS.add(bar)
    if not show:
        # By itself a bar waits for the first step, which may take long.
        timer = Timer(PATIENCE, bar.refresh)
        timer.daemon = True
        timer.start()
    return bar


@contextmanager
def telling_time(doing: str) -> Iterator[None]:
    """Say in a terminal how many seconds a block has taken, from the second on; bars go first."""
    ended = Event()

    def tell() -> None:
        for seconds in count(1):
            if ended.wait(PATIENCE):
                break
            if seconds > 1 and all(bar.disable for bar in BARS):
                print(f"\r{doing}: {seconds * PATIENCE:.0f} s", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = Thread(target=tell, daemon=True) if sys.stderr.isatty() else None
    if thread is not None:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread is not None:
            thread.join()


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

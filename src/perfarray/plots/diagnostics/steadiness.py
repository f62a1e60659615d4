"""How many executions are steady, and of which kind the others are."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import plural
from perfarray.plots.figure import NOTE_SIZE, axes_for, describe, selection
from perfarray.plots.rows import label_rows, shown_rows, size_for

KINDS: Final = {
    "flat": "#009E73",
    "warmup": "#56B4E9",
    "slowdown": "#E69F00",
    "no_steady_state": "#D55E00",
    "unknown": "#c8c8c8",
}
"""Kinds and their colours, from what is best to what says nothing."""

WRITTEN: Final = 0.08
"""Shares from here on have room for their number."""


def steady_kinds(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many executions of every cell are flat, warm up, slow down, or reach no steady state.

    Parameters
    ----------
    result : Dataset
        What `steady_state` returned.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: executions. Of more cells than there is room for, those with the fewest and the most flat ones are drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np, xarray as xr, perfarray
    >>> times = xr.DataArray(np.where(np.arange(50) < [[0], [5], [9]], 2.0, 1.0), dims=("execution", "iteration"))
    >>> ax = times.perf.steady_state().perf.plot()
    >>> {bars.get_label(): int(bars[0].get_width()) for bars in ax.containers}
    {'flat': 1, 'warmup': 2}
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    kind, cells = result["kind"], result["kind_of_all"].dims
    ordered = kind.transpose(*cells, ...)
    numbers = {name: np.count_nonzero((ordered.values == name).reshape(*ordered.shape[: len(cells)], -1), axis=-1) for name in KINDS}
    rows, left_out = shown_rows(result["kind_of_all"].copy(data=numbers["flat"].astype(float)), "number of flat series")
    ax = axes_for(ax, size_for(rows))
    n_series = max(kind.size // max(result["kind_of_all"].size, 1), 1)
    start = np.zeros(len(rows))
    for name, colour in KINDS.items():
        widths = np.array([float(numbers[name][tuple(row.cell[str(dim)] for dim in cells)]) for row in rows])
        if widths.any():
            bars = ax.barh([row.y for row in rows], widths, left=start, height=0.72, color=colour, label=name.replace("_", " "))
            texts = [f"{width:.0f}" if width >= WRITTEN * n_series else "" for width in widths]
            ax.bar_label(bars, texts, label_type="center", fontsize=NOTE_SIZE)
            start += widths
    label_rows(ax, rows)
    ax.set_xlim(0, n_series)
    outer = [str(dim) for dim in kind.dims if dim not in cells]
    ax.set_xlabel(f"number of series ({' x '.join(outer)})" if outer else "number of series")
    describe(ax, ", ".join([f"How {plural(str(result.attrs['dim']))} become steady", *selection(result["kind_of_all"]), *left_out]))
    return ax

"""How much was measured: repetitions of every level, fewest to most."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from perfarray.plots.figure import axes_for, describe, level_colours, selection
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for


def counts(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many repetitions of each level every cell has inside one parent: a point, or a line from the fewest to the most.

    Parameters
    ----------
    result : Dataset
        What `perfarray.counts` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: repetitions, logarithmic. Right of the rows stands how many values were measured in all.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [[9, 8], [10, 7], [1, 2]]}, dim="benchmark", level=("execution", "iteration"))
    >>> ax = times.perf.counts().perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "most"]
    [[3.0], [2.0]]
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    total = result["total"].isel(level=-1, drop=True)
    rows, left_out = shown_rows(total, "number of values")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    for number, (level, colour) in enumerate(level_colours([str(level) for level in result["level"].values]).items()):
        fewest, most = (
            np.array([float(result[name].isel({**row.cell, "level": number})) for row in rows]) for name in ("minimum", "maximum")
        )
        ax.hlines(heights, fewest, most, color=colour, linewidth=1.6, zorder=1)
        ax.plot(fewest, heights, "|", color=colour, markersize=8, gid="fewest")
        ax.plot(most, heights, "o", color=colour, markersize=6, label=level, gid="most")
    ax.set_xscale("log")
    first, last = ax.get_xlim()
    ax.set_xlim(min(0.9, first), max(2.0, last))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    note_unmeasured(ax, [row.y for row in rows if not float(total.isel(row.cell))])
    label_rows(ax, rows)
    beside_rows(ax, rows, [f"{float(total.isel(row.cell)):,.0f}" for row in rows], "values")
    ax.set_xlabel("repetitions inside one of the level above")
    describe(ax, ", ".join(["What was measured", *selection(total), *left_out]))
    return ax

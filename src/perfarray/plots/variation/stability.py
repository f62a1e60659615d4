"""Which number stands for a run's time: how much estimators vary between groups of runs, how often they order two programs rightly."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe, selection
from perfarray.plots.rows import label_rows, shown_rows, size_for

DODGE = 0.16
"""Distance of the marks of a row from each other, in rows: many estimators need groups of the same size."""


def stability(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how much estimators vary against the size of the group; of several cells how large the group has to be.

    Parameters
    ----------
    result : Dataset
        What `perfarray.estimator_stability` or `perfarray.ordering_stability` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Of one cell: standard deviation in percent of the estimate; full lines are the paper's, dashed ones adjusted for groups that
        overlap, and below the dotted line programs can be told apart that differ as much as was asked. Of several cells, in rows: the
        smallest size from which on they can; an arrow at the border where no size is large enough. Of orders: the share of pairs of groups
        that are right, and the dotted line is the share that was asked for; or, in rows, the smallest size that has it.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0, 10.0] * 3}, dim="benchmark")
    >>> ax = times.perf.estimator_stability(group_sizes=[1, 2], statistics="mean").perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('runs in a group', 'standard deviation, percent of the estimate')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    orders = "right" in result
    needed = result["required" if orders else "required_group_size"]
    cells = needed.isel(statistic=0, drop=True)
    colours = dict(zip((str(name) for name in result["statistic"].values), COLOURS, strict=False))
    if cells.size > 1:
        return _draw_rows(ax, needed, colours, float(result["group_size"].max()), _asked(result))
    ax = axes_for(ax, (7.5, 4.5))
    cell = result.squeeze(list(cells.dims))
    if orders:
        return _draw_shares(ax, cell, colours)
    for statistic, colour in colours.items():
        curve = cell.sel(statistic=statistic)
        ax.plot(curve["group_size"], 100 * curve["relative_standard_deviation"], "o-", color=colour, markersize=3.5, label=statistic)
        ax.plot(curve["group_size"], 100 * curve["adjusted_standard_deviation"], "--", color=colour, linewidth=1, gid="adjusted")
    target = 100 * float(result.attrs["difference"]) / float(result.attrs["deviations"])
    ax.axhline(target, color=DARK, linewidth=0.8, linestyle=":", label=_asked(result))
    ax.plot([], [], "--", color=DARK, linewidth=1, label="adjusted for overlap")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("runs in a group")
    ax.set_ylabel("standard deviation, percent of the estimate")
    describe(ax, ", ".join(["Stability of estimators", *selection(cells)]))
    return ax


def _draw_shares(ax: Axes, cell: xr.Dataset, colours: dict[str, str]) -> Axes:
    """Draw how often groups of each size order two programs as all runs do."""
    for statistic, colour in colours.items():
        ax.plot(cell["group_size"], 100 * cell["right"].sel(statistic=statistic), "o-", color=colour, markersize=3.5, label=statistic)
    ax.axhline(100 * float(cell.attrs["share"]), color=DARK, linewidth=0.8, linestyle=":", label=_asked(cell))
    ax.axhline(50, color=GREY, linewidth=0.8, label="chance")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("runs of each program")
    ax.set_ylabel("pairs of groups in the right order, percent")
    describe(ax, ", ".join(["Stability of the order", *compared(cell, cell["required"].isel(statistic=0))]))
    return ax


def _draw_rows(ax: Axes | None, needed: xr.DataArray, colours: dict[str, str], largest: float, goal: str) -> Axes:
    """Draw a row a cell, with a mark for every estimator."""
    rows, left_out = shown_rows(needed.isel(statistic=0, drop=True), "size of a group")
    ax = axes_for(ax, size_for(rows))
    for number, (statistic, colour) in enumerate(colours.items()):
        sizes = np.array([float(needed.isel({**row.cell, "statistic": number})) for row in rows])
        heights = np.array([row.y for row in rows]) + DODGE * (number - (len(colours) - 1) / 2)
        ax.plot(sizes, heights, "o", color=colour, markersize=4.5, label=statistic)
        open_heights = heights[np.isnan(sizes)]
        ax.plot(
            np.ones_like(open_heights),
            open_heights,
            ">",
            color=colour,
            markersize=4,
            transform=ax.get_yaxis_transform(),
            clip_on=False,
            gid="beyond",
        )
    label_rows(ax, rows)
    ax.set_xlim(0, largest + 1)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"runs in a group, so that {goal}")
    describe(ax, ", ".join(["Size of a group", *selection(needed.isel(statistic=0)), *left_out]))
    return ax


def _asked(result: xr.Dataset) -> str:
    """Write what groups have to tell apart, or how often they have to be right."""
    if "right" in result:
        return f"{100 * float(result.attrs['share']):g} % are in the right order"
    return f"{100 * float(result.attrs['difference']):g} % can be told apart"

"""How many repetitions are enough: a row a cell, where cells are too many to be drawn over each other."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from perfarray.plots.figure import COLOURS, axes_for, compared, describe
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for


def draw_enough(ax: Axes | None, result: xr.Dataset, *, quantity: str, label: str, title: str) -> Axes:
    """Draw a row a cell: how many are `required`; hollow, how many would do where there are not as many.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; default: a new figure.
    result : Dataset
        With `required` and perhaps `extrapolated`.
    what, label, title : str
        What is counted, and what is written under and over the picture.
    """
    enough = result["extrapolated"] if "extrapolated" in result else result["required"]
    enough = enough.where(np.isfinite(enough))
    rows, left_out = shown_rows(enough, f"number of {quantity}")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    required, sufficient = (np.array([float(number.isel(row.cell)) for row in rows]) for number in (result["required"], enough))
    is_short = np.isnan(required) & np.isfinite(sufficient)
    ax.plot(required, heights, "o", color=COLOURS[0], markersize=6, label="required")
    if is_short.any():
        ax.plot(sufficient[is_short], heights[is_short], "o", color=COLOURS[0], markerfacecolor="white", markersize=6, label="would do")
    note_unmeasured(ax, heights[np.isnan(sufficient)], "not known")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if np.isnan(number) else f"{number:,.0f}" for number in sufficient], quantity)
    ax.set_xlabel(label)
    describe(ax, ", ".join([title, *compared(result, enough), *left_out]))
    return ax


def further(cell: xr.Dataset, quantity: str) -> str:
    """Write how many would be enough for a cell that has too few, as far as that is known."""
    if np.isfinite(float(cell["required"])) or "extrapolated" not in cell:
        return ""
    enough = float(cell["extrapolated"])
    return f" (too few {quantity}; {enough:.0f} would do)" if np.isfinite(enough) else f" (too few {quantity})"

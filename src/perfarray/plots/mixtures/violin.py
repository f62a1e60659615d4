"""Runs of several configurations, side by side."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, LABEL_SIZE, NOTE_SIZE, axes_for, describe, number_format, selection
from perfarray.plots.mixtures.places import distribution_of, far_apart, write_places
from perfarray.plots.rows import TALLEST, extremes, named_cells

WIDTH: Final = 0.8
"""Width of the widest violin, where neighbours are 1 apart."""

ROOM: Final = 0.9
"""Width in inches that a violin and its name take; where that makes a figure too wide, names stand upright and violins closer."""

NARROWEST: Final = 0.3
"""Width in inches that a violin takes at least."""


def violin(curves: xr.Dataset, ax: Axes | None = None, relative: bool | None = None) -> Axes:
    """Draw a violin for every configuration, side by side: a kernel density mirrored, quartiles as a bar, the median as a dot.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.violins` gives: one violin for each cell.
    ax : Axes, optional
        Where to draw; default: a new figure, as wide as its violins need.
    relative : bool, optional
        Whether the runs of each configuration are divided by their median, which then stands under its name; default: where the largest
        median is more than five times the least, or violins would be flat on one axis, so that the shapes of all can be seen.

    Returns
    -------
    Axes
        Densities reach from the least to the largest run; all violins are as wide.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot.violin()
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['old', 'new']
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    cells = curves["median"]
    limit, is_drawn = int(TALLEST / NARROWEST), None
    left_out: list[str] = []
    if cells.size > limit:
        low, high, left_out = extremes((curves["q3"] - curves["q1"]) / cells, limit, "interquartile range")
        is_drawn = np.isin(np.arange(cells.size), [*low, *high]).reshape(cells.shape)
    named = named_cells(cells, is_drawn, limit=30)
    names = [name for _, name in named]
    crowded = len(named) > TALLEST / ROOM
    ax = axes_for(ax, (max(4.0, 1.5 + min(ROOM * len(named), TALLEST)), 6.0 if crowded else 4.5))
    units, name = str(curves.attrs["units"]), str(curves.attrs["metric"])
    medians = np.array([float(cells.isel(index)) for index, _ in named])
    if relative is None:
        relative = far_apart([curves["x"].isel(index).values for index, _ in named], medians)
    if relative:
        format_number, separator = number_format(units), ", " if crowded else "\n"
        names = [f"{label}{separator}{format_number(median)}".strip() for label, median in zip(names, medians, strict=True)]
        units, name = "1", f"{name} / median"
    for number, (index, _) in enumerate(named):
        if np.isfinite(medians[number]):
            _draw_violin(ax, number, curves.isel(index), medians[number] if relative else 1.0)
        else:
            ax.text(
                number, 0.02, "not measured", transform=ax.get_xaxis_transform(), rotation=90, ha="center", fontsize=NOTE_SIZE, color=DARK
            )
    turned = max(len(line) for name in names for line in name.split("\n")) > 10 and len(names) > 1
    rotation, alignment = (90, "center") if crowded else (30, "right") if turned else (0, "center")
    ax.set_xticks(range(len(names)), names, fontsize=LABEL_SIZE, rotation=rotation, ha=alignment)
    ax.set_xlim(-0.6, len(named) - 0.4)
    write_places(ax, "y", name, units)
    describe(ax, ", ".join([distribution_of(curves.attrs), *selection(cells), *left_out]))
    return ax


def _draw_violin(ax: Axes, number: int, cell: xr.Dataset, unit: float) -> None:
    """Draw one violin, in units of its own."""
    low, median, high = (float(cell[name]) / unit for name in ("q1", "median", "q3"))
    density = cell["density"].values
    if np.isfinite(density).all():
        half = 0.5 * WIDTH * density / density.max()
        y = cell["x"].values / unit
        ax.fill_betweenx(y, number - half, number + half, color=COLOURS[1], edgecolor=COLOURS[0], linewidth=0.8, label="density")
    else:
        ax.hlines(median, number - 0.3, number + 0.3, color=COLOURS[0], linewidth=1.6, label="density")
    ax.vlines(number, low, high, color=DARK, linewidth=5, label="quartiles", zorder=3)
    ax.plot(number, median, "o", color="white", markeredgecolor=DARK, markersize=5, label="median", zorder=4)

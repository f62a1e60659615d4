"""Runs of several systems in one picture, each in its colour."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, axes_for, describe, selection, write_units
from perfarray.plots.mixtures.places import distribution_of, far_apart, write_density, write_places
from perfarray.plots.rows import extremes, named_cells


def overlay(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the runs of every cell over each other, in a colour each: their densities, or how many of them lie up to each place.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.overlaid` gives.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Horizontal axis: the runs. Of more cells than colours those with the lowest and the highest medians are drawn, and the title says
        so. Where medians are so far apart that densities would be lines, the axis is logarithmic, and densities are as high as each
        other. A cell whose runs are all one value has no density: a line as high as the picture.

    Raises
    ------
    ValueError
        When no cell has a run.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot.overlay(kind="cdf")
    >>> [line.get_xdata().tolist() for line in ax.lines]
    [[1.0, 1.1, 1.4], [0.8, 0.9, 1.2]]
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    median = curves["median"]
    is_drawn, left_out = np.isfinite(median.values), list[str]()
    if not is_drawn.any():
        raise ValueError("no cell has a run; nothing to draw")
    if np.count_nonzero(is_drawn) > len(COLOURS):
        low, high, left_out = extremes(median, len(COLOURS), "median")
        is_drawn = np.isin(np.arange(median.size), [*low, *high]).reshape(median.shape)
    ax = axes_for(ax, (7.5, 4.5))
    steps, units = "reached" in curves, str(curves.attrs["units"])
    named = named_cells(median, is_drawn)
    scaled = far_apart([curves["x"].isel(index).values for index, _ in named], np.array([float(median.isel(index)) for index, _ in named]))
    for (index, name), colour in zip(named, COLOURS, strict=False):
        cell, label = curves.isel(index), name or "runs"
        if steps:
            finite = np.isfinite(cell["x"].values)
            ax.step(cell["x"].values[finite], cell["reached"].values[finite], where="post", color=colour, linewidth=1.5, label=label)
        elif np.isnan(cell["density"].values).any():
            ax.axvline(float(cell["median"]), color=colour, linewidth=1.5, label=label)
        else:
            height = cell["density"].values / (cell["density"].values.max() if scaled else 1.0)
            ax.plot(cell["x"], height, color=colour, linewidth=1.5, label=label)
            ax.fill_between(cell["x"], 0, height, color=colour, alpha=0.15, linewidth=0)
    ax.set_ylim(bottom=0)
    write_places(ax, "x", str(curves.attrs["metric"]), units)
    if scaled:
        ax.set_xscale("log")
        write_units(ax.xaxis, units)
    if steps:
        ax.set_ylabel("share of the runs up to here")
    elif scaled:
        ax.set_ylabel("density (highest = 1)")
    else:
        write_density(ax, units)
    describe(ax, ", ".join([distribution_of(curves.attrs), *selection(median), *left_out]))
    return ax

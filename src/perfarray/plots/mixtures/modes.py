"""Around how many values run times gather: modes of every cell, and how many of them the runs support."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.plots.figure import COLOURS, GREY, axes_for, describe, selection
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for


def modes(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many modes every cell's runs support, and how many the density fitted to them has.

    Parameters
    ----------
    result : Dataset
        What `perfarray.variability_level` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: modes. A hollow point beside a full one: the fitted density has modes that may be chance. A grey line reaches
        over the numbers of samples that were fitted again, where any were. Right of the rows stands p, of that many modes against fewer.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1 + number % 2 + 0.01 * (number % 7) for number in range(50)]}, dim="benchmark")
    >>> ax = times.perf.variability_level(rng=1).perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_label() == "supported by the runs"]
    [[2.0]]
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    fitted = result["estimate"]
    rows, left_out = shown_rows(fitted, "number of modes")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    number, supported, p, low, high = (
        np.array([float(result[name].isel(row.cell)) if name in result else np.nan for row in rows])
        for name in ("estimate", "n_supported", "pvalue", "lower", "upper")
    )
    ax.hlines(heights, low, high, color=GREY, linewidth=1.6, zorder=1)
    differs = (number != supported) & np.isfinite(number)
    if differs.any():
        ax.plot(number[differs], heights[differs], "o", color=GREY, markerfacecolor="white", markersize=6, label="of the fitted density")
    ax.plot(supported, heights, "o", color=COLOURS[0], markersize=6, label="supported by the runs", zorder=3)
    note_unmeasured(ax, heights[np.isnan(number)])
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if np.isnan(value) else f"{value:.3f}" for value in p], "p")
    ax.set_xlim(0.5, max(2.5, *(counts[np.isfinite(counts)].max(initial=2) + 0.5 for counts in (number, high))))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"modes of the run {'times' if result.attrs.get('metric', 'time') == 'time' else 'values'}")
    describe(ax, ", ".join(["Modes", *selection(fitted), *left_out]))
    return ax

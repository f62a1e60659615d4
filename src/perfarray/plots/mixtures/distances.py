"""How far samples of a mixture lie from their own mixtures: histograms, with the distance of the data and the critical value."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.comparisons.distribution import HEIGHT, INCHES, LOWEST, draw_bars
from perfarray.plots.figure import DARK, axes_for, describe, selection
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for


def distances(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the distances of the samples drawn for every cell as a histogram, the distance of the data, and the critical value.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.distance_histograms` gives of a result with its distribution.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: Kolmogorov's and Smirnov's distance. Right of the rows stands p, the share of the samples that lie further from
        their mixture than the data from theirs.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, figure 9.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.12, 9.93, 10.31, 9.85, 10.07]})
    >>> ax = times.perf.goodness_of_fit(n_resamples=50, distribution=True, rng=1).perf.plot(bins=10)
    >>> len(ax.patches[0].get_data().values), ax.get_title(loc="left")
    (10, 'Distances of samples from their mixtures, old')
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    observed = curves["statistic"]
    rows, left_out = shown_rows(observed, "distance", inches=INCHES)
    wide, high = size_for(rows, INCHES)
    ax = axes_for(ax, (wide, max(high, LOWEST)))
    for row in rows:
        cell, foot = curves.isel(row.cell), row.y + HEIGHT / 2
        draw_bars(ax, row, cell, "samples of the mixture")
        level = f"critical value at {100 * float(curves.attrs['alpha']):g} %"
        ax.vlines(float(cell["critical_value"]), foot - HEIGHT, foot, color=DARK, linewidth=1.0, linestyle=":", label=level)
        ax.vlines(float(cell["statistic"]), foot - HEIGHT, foot, color=DARK, linewidth=1.6, label="data")
    note_unmeasured(ax, [row.y for row in rows if np.isnan(curves["pvalue"].isel(row.cell))], "no test")
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if np.isnan(p) else f"{p:.3f}" for p in (float(curves["pvalue"].isel(row.cell)) for row in rows)], "p")
    ax.set_xlabel(f"Kolmogorov-Smirnov distance; {curves.attrs['n_resamples']} samples drawn and fitted")
    describe(ax, ", ".join(["Distances of samples from their mixtures", *selection(observed), *left_out]))
    return ax

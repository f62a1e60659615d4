"""What the ratio of two suites' scores could have been: histograms of exchanges, or of redrawn scores, with the ratio observed."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.comparisons.distribution import HEIGHT, INCHES, LOWEST, draw_bars
from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for


def ratio_distributions(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the ratios of redrawn scores of every cell as a histogram, the ratio observed, and the limits of its interval.

    Parameters
    ----------
    curves : Dataset
        What `suites.curves.ratio_histograms` gives of a result with its distribution.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the ratio. Right of the rows stands the p-value of a randomization test, else the ratio. Of an interval the bar
        below each histogram reaches from limit to limit, towards a side without limit as far as the histogram. Of one unit a side there
        is no histogram.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, figures 3 and 4.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = times.perf.randomization_test("old", method="exact", distribution=True).perf.plot(bins=10)
    >>> len(ax.patches[0].get_data().values), ax.get_title(loc="left")
    (10, 'Randomization test, new compared with old')
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    null, observed = curves.attrs["result"] == "null_distribution", curves["observed"]
    rows, left_out = shown_rows(observed, "ratio", inches=INCHES)
    figure_width, figure_height = size_for(rows, INCHES)
    ax = axes_for(ax, (figure_width, max(figure_height, LOWEST)))
    ax.axvline(1, color=GREY, linewidth=0.8, zorder=0)
    level = f"{100 * float(curves.attrs.get('confidence_level', 0.95)):g} % interval"
    for row in rows:
        cell, foot = curves.isel(row.cell), row.y + HEIGHT / 2
        draw_bars(ax, row, cell, "exchanges" if null else "t distribution" if curves.attrs["method"] == "t" else "redrawn")
        limits = [] if null else [float(cell["lower"]), float(cell["upper"])]
        if np.isfinite(limits).any():
            first, last = (limit if np.isfinite(limit) else float(cell["edges"][edge]) for limit, edge in zip(limits, (0, -1), strict=True))
            ax.hlines(foot, first, last, color=COLOURS[0], linewidth=3, label=level)
        ax.vlines(float(cell["observed"]), foot - HEIGHT, foot, color=DARK, linewidth=1.6, label="observed")
    note_unmeasured(ax, [row.y for row in rows if np.isnan(observed.isel(row.cell))], "not measured on both sides")
    label_rows(ax, rows)
    column = [float(curves["pvalue" if null else "observed"].isel(row.cell)) for row in rows]
    beside_rows(ax, rows, ["–" if np.isnan(value) else f"{value:.3f}" for value in column], "p" if null else "ratio")
    score = f"{curves.attrs['mean']} mean of {curves.attrs.get('metric', 'time')}, candidate / baseline"
    ax.set_xlabel(f"{score}\n{_redrawn(curves.attrs, null)}")
    title = "Randomization test" if null else "Ratio of the scores"
    describe(ax, ", ".join([title, *compared(curves, observed), *left_out]))
    return ax


def _redrawn(attrs: dict[str, object], null: bool) -> str:
    """Write what the histograms are of."""
    if null:
        return f"{attrs['n_resamples']} random exchanges of units" if "n_resamples" in attrs else "all exchanges of units"
    if attrs["method"] == "t":
        return "distribution that the t interval is read off"
    units = "benchmarks, and units inside them," if attrs.get("benchmarks") == "a sample" else "units"
    return f"{units} redrawn {attrs['n_resamples']} times ({attrs['method']})"

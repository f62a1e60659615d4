"""A bootstrap distribution: histograms of replicates, the statistic of the data, and percentile limits."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe, number_format, write_units
from perfarray.plots.rows import Row, beside_rows, label_rows, note_unmeasured, shown_rows, size_for

APART: Final = 2.0
"""Where cells differ by more than this factor, an axis that they share is that of replicates relative to each cell's own statistic."""

INCHES: Final = 0.5
"""Height of a row."""

LOWEST: Final = 2.6
"""Height in inches of a figure with few rows."""

HEIGHT: Final = 0.85
"""Height of the highest bar, in rows."""


def distribution(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the replicates of every cell as a histogram, with the statistic of the data and the percentiles of the replicates.

    Parameters
    ----------
    curves : Dataset
        What `comparisons.curves.histograms` gives of a `bootstrap_distribution`. Every dim but those of the histograms gives rows on one
        axis.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the statistic, in the units that the ticks name; relative to each cell's own statistic, which then stands at the
        right, where cells differ by more than a factor of 2.

    Notes
    -----
    The bar shows plain percentiles of the replicates; limits that hold what they promise with few units come from `bootstrap_interval`.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> ax = times.perf.bootstrap_distribution(rng=1).perf.plot()
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('Bootstrap distribution, fft', 'mean of time; level redrawn: execution; bar: 95 % of 1000 replicates')
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    width = (curves["upper"] - curves["lower"]) / curves["lower"], "width relative to its place"
    number, quantity = (curves["lower"], "ratio") if "baseline" in curves.attrs else width
    rows, left_out = shown_rows(number, quantity, inches=INCHES)
    figure_width, figure_height = size_for(rows, INCHES)
    ax = axes_for(ax, (figure_width, max(figure_height, 2.2)))
    relative = _far_apart(curves)
    for row in rows:
        cell = curves.isel(row.cell)
        _draw_row(ax, row, cell, 100 / float(cell["observed"]) if relative else 1.0)
    label_rows(ax, rows)
    if relative:
        format_number = number_format(str(curves.attrs.get("units", "1")))
        beside_rows(ax, rows, [format_number(float(curves["observed"].isel(row.cell))) for row in rows], "data")
    _describe(ax, curves, relative, left_out)
    return ax


def _far_apart(curves: xr.Dataset) -> bool:
    """Return whether the statistics of the cells are all positive and differ so much that one axis would squeeze histograms to lines."""
    if "observed" not in curves.coords:
        return False
    observed = curves["observed"].values[np.isfinite(curves["observed"].values)]
    return bool(observed.size > 1 and observed.min() > 0 and observed.max() > APART * observed.min())


def _draw_row(ax: Axes, row: Row, cell: xr.Dataset, unit: float) -> None:
    """Draw one cell: bars upwards from the row's line, the observed value as a mark, percentiles as a thick line."""
    if np.isnan(cell["lower"]):
        note_unmeasured(ax, [row.y])
        return
    draw_bars(ax, row, cell, "replicates", unit)
    foot, share = row.y + HEIGHT / 2, f"{100 * cell.attrs['confidence_level']:g} % of them"
    ax.hlines(foot, unit * float(cell["lower"]), unit * float(cell["upper"]), color=COLOURS[0], linewidth=3, label=share)
    observed = float(cell["observed"]) if "observed" in cell.coords else np.nan
    if "baseline" in cell.attrs:
        ax.axvline(unit, color=GREY, linewidth=0.8, zorder=0)
    if np.isfinite(observed):
        ax.vlines(unit * observed, foot - HEIGHT, foot, color=DARK, linewidth=1.2, label="data")


def draw_bars(ax: Axes, row: Row, cell: xr.Dataset, label: str, unit: float = 1.0) -> None:
    """Draw the histogram of one cell upwards from the row's line; values that are all one have none."""
    edges, counts = unit * cell["edges"].values, cell["counts"].values
    if np.isfinite(counts).all():
        foot = row.y + HEIGHT / 2
        ax.stairs(foot - HEIGHT * counts / counts.max(), edges, baseline=foot, fill=True, color=COLOURS[1], label=label, linewidth=0)


def _describe(ax: Axes, curves: xr.Dataset, relative: bool, left_out: list[str]) -> None:
    """Title, legend, and what the horizontal axis shows; its ticks carry the unit."""
    attrs = curves.attrs
    write_units(ax.xaxis, str(attrs.get("units", "1")))
    if relative:
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(value - 100, 6):+g} %")
    levels = str(attrs.get("resample", "execution")).split()
    resampling = "values redrawn, nest ignored" if levels == ["flat"] else f"level{'s' * (len(levels) > 1)} redrawn: {', '.join(levels)}"
    statistic = f"{attrs.get('statistic', 'statistic')} of {attrs.get('metric', 'time')}" + ", candidate / baseline" * ("baseline" in attrs)
    statistic += ", relative to the data's;\n" if relative else ";\n" if "baseline" in attrs else "; "
    ax.set_xlabel(f"{statistic}{resampling}; bar: {100 * attrs['confidence_level']:g} % of {attrs['n_resamples']} replicates")
    describe(ax, ", ".join(["Bootstrap distribution", *compared(curves, curves["lower"]), *left_out]))

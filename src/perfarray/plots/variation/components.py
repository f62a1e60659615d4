"""Where the variation comes from: each level's share of the variance, drawn."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import GREY, NOTE_SIZE, axes_for, describe, level_colours, selection
from perfarray.plots.rows import Row, beside_rows, label_rows, shown_rows, size_for

WRITTEN = 0.09
"""Shares from here on have room for their number."""


def variance_components(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw each level's share of the variance as a stacked bar, and beside it the whole coefficient of variation.

    Parameters
    ----------
    result : Dataset
        What `perfarray.variance_components` returned, or a selection of it: `variance` and `share` along `level`, and
        `total_coefficient_of_variation`. Every other dim gives rows: one bar per benchmark, or per benchmark and version.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: share of the variance in percent.

    Notes
    -----
    A negative component is drawn as zero and the others share the whole; its row carries a star. A level that is NaN (merged, or a
    single repetition) is absent: what it contributes is contained in the level it was merged into, or in the level above.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import xarray as xr, perfarray
    >>> times = xr.DataArray([[9.0, 11.0], [19.0, 21.0], [14.0, 16.0]], dims=("execution", "iteration"), name="time")
    >>> found = times.perf.variance_components()
    >>> found["variance"].values.tolist()
    [24.0, 2.0]
    >>> ax = variance_components(found)
    >>> [round(float(bar.get_width()), 1) for bar in ax.patches]
    [92.3, 7.7]
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    variance = result["variance"]
    spread = result["total_coefficient_of_variation"]
    rows, left_out = shown_rows(spread, "coefficient of variation")
    ax = axes_for(ax, size_for(rows))
    negative = variance < 0
    _draw_bars(ax, rows, result["share"].fillna(0.0))
    label_rows(ax, [row._replace(label=row.label + " *" * bool(negative.isel(row.cell).any())) for row in rows])
    beside_rows(ax, rows, [_percent(float(spread.isel(row.cell))) for row in rows], "coefficient\nof variation")
    _describe(ax, result, negative, left_out)
    return ax


def _draw_bars(ax: Axes, rows: list[Row], shares: xr.DataArray) -> None:
    """Stack the shares of each row, outermost level first, and write the large ones into the bars."""
    colours = level_colours([str(level) for level in shares["level"].values])
    start = np.zeros(len(rows))
    for number, (level, colour) in enumerate(colours.items()):
        widths = np.array([100 * float(shares.isel({**row.cell, "level": number})) for row in rows])
        if not widths.any():
            continue
        bars = ax.barh(
            [row.y for row in rows], widths, left=start, height=0.72, color=colour, label=level, edgecolor="white", linewidth=0.5
        )
        texts = [f"{width:.0f} %" if width >= 100 * WRITTEN else "" for width in widths]
        ax.bar_label(bars, texts, label_type="center", fontsize=NOTE_SIZE, color="white" if colour == "#0072B2" else "black")
        start += widths
    for row, total in zip(rows, start, strict=True):
        if not total:
            ax.text(1, row.y, "no variation estimated", va="center", fontsize=NOTE_SIZE, color=GREY)


def _percent(value: float) -> str:
    """Write a coefficient of variation with two digits, or a dash where there is none."""
    if np.isnan(value):
        return "–"
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:#.2g} %"


def _describe(ax: Axes, result: xr.Dataset, negative: xr.DataArray, left_out: list[str]) -> None:
    """Title, legend, horizontal axis, and the footnote on negative components."""
    note = ""
    if bool(negative.any()):
        is_negative = negative.any([dim for dim in negative.dims if dim != "level"])
        note = "\n* negative component drawn as zero: " + ", ".join(str(level) for level in negative["level"].values[is_negative.values])
    ax.set_xlim(0, 100)
    ax.set_xlabel(f"share of the variance of {result.attrs.get('metric', 'time')}, percent{note}")
    describe(ax, ", ".join(["Where the variation comes from", *selection(result), *left_out]))

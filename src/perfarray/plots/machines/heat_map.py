"""Machines by benchmarks: how each compares with the median machine."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from perfarray.conventions import BETTER, HIGHER, LOWER
from perfarray.plots.figure import (
    GREY,
    NOTE_SIZE,
    ChangeLocator,
    Floats,
    selection,
    shortened,
    text_width,
)
from perfarray.plots.rows import (
    INCHES,
    RowFrame,
    formatted,
    largest_part,
    ranked_rows,
    some_named,
    spacing,
)

MAX_ROWS: Final = 400  # thinner rows have no visible colour; of more the extremes are drawn
COLUMN: Final = 0.3  # inches of a column
LEAST: Final = 4.5  # inches of all columns
NUMBERS: Final = (20, 15)  # cells of up to so many rows and columns have their number
VECTORS: Final = 400  # more cells are an image in an SVG, which is a tenth as long
HOLE: Final = "#bdbdbd"
NARROW: Final = 1.1  # the scale reaches at least so far from 1: noise has pale colours


def heat_map(result: xr.Dataset, ax: Axes | None = None, *, max_rows: int = MAX_ROWS) -> Axes:
    """Draw the ratio of every machine to the median machine, benchmark by benchmark, as colours.

    Parameters
    ----------
    result : Dataset
        What `perfarray.machine_ratios` returned. Of several suites the one with most rows is drawn,
        and the title says so; select another, or draw all with `row="suite"`.
    ax : Axes, optional
        Where to draw; default: a new figure.
    max_rows : int
        Of more rows, the best and the worst are drawn, and the title counts the others.

    Returns
    -------
    Axes
        A row for each machine, or for each of its configurations, the best mean ratio first. A
        column for each benchmark, the one with the largest differences first. The scale of the
        colours is logarithmic and has its middle at 1; blue is better. Holes are grey. The column
        at the right has the mean ratio.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> labels = {"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]}
    >>> table = xr.DataArray([[1.0, 8.0], [2.0, 4.0], [4.0, 2.1]], labels, tuple(labels))
    >>> ax = table.perf.plot.heat_map()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x', 'y', 'z']
    """
    samples, features = str(result.attrs["samples"]), str(result.attrs["features"])
    suite_dims = [dim for dim in result["reference"].dims if dim != features]
    counts = result["mean_ratio"].count(
        [dim for dim in result["mean_ratio"].dims if dim not in suite_dims]
    )
    indexers, other_suites = largest_part(counts, "suites")
    shared = selection(result.isel({dim: [position] for dim, position in indexers.items()}))
    result = result.isel(indexers, drop=True)
    better, mean = str(result.attrs.get(BETTER, LOWER)), result["mean_ratio"]
    rows, labels, left_out = ranked_rows(mean, better, max_rows)
    ratios = result["ratio"].transpose(*mean.dims, features)
    cells = np.array([ratios.values[tuple(row.cell.values())] for row in rows])
    columns = np.flatnonzero(np.isfinite(cells).any(axis=0))
    columns = columns[np.argsort(-result["spread"].values[columns], kind="stable")]
    cells = cells[:, columns]
    (inches, step, size), (width, column_step, column_size) = (
        spacing(len(rows), INCHES),
        spacing(len(columns), COLUMN),
    )
    row_names, unnamed = some_named([row.label for row in rows], step, "rows")
    names = shortened([str(label) for label in result[features].values[columns]], limit=25)
    names, unnamed_columns = some_named(names, column_step, "columns")
    header = text_width(names, column_size) / 72  # inches above the first row
    extra = (max(0.0, width * len(names) - LEAST), header)
    rows = [row._replace(label=name) for row, name in zip(rows, row_names, strict=True)]
    frame = RowFrame(
        ax, rows, [*left_out, *unnamed, *unnamed_columns], inches=inches, extra=extra, size=size
    )
    _draw_cells(frame, cells, max(NARROW, float(result["reach"])), better)
    frame.ax.set_xticks([])
    for column, name in enumerate(names):
        if name:
            frame.ax.text(
                column,
                frame.heights[0] - 0.7,
                name,
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=column_size,
                gid="column",
            )
    title_parts = [
        f"{samples.capitalize()} relative to the median {samples}",
        *shared,
        *labels,
        *other_suites,
    ]
    means, _ = some_named(formatted(frame.values(mean), "{:.2f}x"), step, "")
    frame.finish(
        title_parts,
        f"ratio to the median {samples}, and its mean over {features}\nblue is better",
        means,
        "mean",
    )
    frame.ax.spines["bottom"].set_visible(False)
    frame.ax.set_ylim(top=frame.heights[0] - 1 - header / inches)
    return frame.ax


def _draw_cells(frame: RowFrame, cells: Floats, farthest: float, better: str) -> None:
    """Draw coloured cells, numbers where these have room, and some ratios for the legend."""
    colours = colormaps["RdBu" if better == HIGHER else "RdBu_r"].with_extremes(bad=HOLE)
    norm, edges = LogNorm(1 / farthest, farthest), np.arange(cells.shape[1] + 1) - 0.5
    # The best and the worst rows are apart: each block of rows is a mesh of its own.
    for block in np.split(np.arange(len(cells)), np.flatnonzero(np.diff(frame.heights) > 1) + 1):
        heights = np.append(frame.heights[block], frame.heights[block[-1]] + 1) - 0.5
        lines: dict[str, Any] = {
            "edgecolors": "white",
            "linewidth": min(0.5, 80 / len(cells)),
            "rasterized": cells.size > VECTORS,
            "gid": "cells",
        }
        frame.ax.pcolormesh(
            edges, heights, np.ma.masked_invalid(cells[block]), cmap=colours, norm=norm, **lines
        )
    if cells.shape[0] <= NUMBERS[0] and cells.shape[1] <= NUMBERS[1]:
        for row, column in np.argwhere(np.isfinite(cells)).tolist():
            ratio = cells[row, column]
            is_dark = abs(np.log(ratio)) > 0.6 * np.log(farthest)
            text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
            colour, y = "white" if is_dark else "black", frame.heights[row]
            frame.ax.text(
                column,
                y,
                text,
                color=colour,
                ha="center",
                va="center",
                fontsize=NOTE_SIZE,
                gid="ratio",
            )
    keys = [
        (f"{ratio:.3g}x", colours(norm(ratio)))
        for ratio in ChangeLocator().tick_values(1 / farthest, farthest)
    ]
    for label, colour in [*keys, *([("not measured", HOLE)] if np.isnan(cells).any() else [])]:
        frame.ax.scatter(
            [], [], s=60, marker="s", color=colour, edgecolors=GREY, linewidths=0.5, label=label
        )

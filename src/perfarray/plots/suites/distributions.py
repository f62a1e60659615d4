"""A suite's score: densities of its distribution for several machines, and five numbers as box plots."""

from collections.abc import Hashable
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, axes_for, describe, number_format, selection, write_units
from perfarray.plots.rows import beside_rows, label_rows, named_cells, note_unmeasured, shown_rows, size_for

MOST: Final = len(COLOURS)
"""Densities that can be told apart by colour; more have a row each."""

INCHES: Final = 0.4
"""Height of the row of a density."""

HEIGHT: Final = 0.85
"""Height of a density, in rows."""


def score_densities(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the density of every cell's scores, and its suite score as a dotted line.

    Parameters
    ----------
    curves : Dataset
        What `suites.curves.densities` gives of a `score_distribution`.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Horizontal axis: the score. A score that never varies is a line. More than seven cells have a row each.

    Raises
    ------
    ValueError
        When no cell has a score.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    >>> ax = times.perf.score_distribution(rng=1).perf.plot()
    >>> ax.get_xlabel()
    'geometric mean of time over benchmark'
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    cells = curves["score"].isel(place=0, drop=True)
    measured_cells = named_cells(cells, np.isfinite(cells.values))
    if not measured_cells:
        raise ValueError("no cell has a score; nothing to draw")
    if len(measured_cells) > MOST:
        rows, left_out = shown_rows(cells, "score", inches=INCHES)
        ax = axes_for(ax, size_for(rows, INCHES))
        note_unmeasured(ax, [row.y for row in rows if np.isnan(cells.isel(row.cell))])
        for row in rows:
            _draw_density(ax, curves.isel(row.cell), COLOURS[0], "density", foot=row.y + HEIGHT / 2, height=-HEIGHT)
        label_rows(ax, rows)
    else:
        ax = axes_for(ax, (7.5, 4.5))
        for (index, name), colour in zip(measured_cells, COLOURS, strict=False):
            _draw_density(ax, curves.isel(index), colour, name or "scores")
        ax.set_ylabel("density (highest = 1)")
        ax.set_ylim(0, 1.08)
        left_out = [f"{cells.size - len(measured_cells)} of {cells.size} cells not measured"] if len(measured_cells) < cells.size else []
    write_units(ax.xaxis, str(curves.attrs.get("units", "1")))
    ax.set_xlabel(_score_label(curves.attrs))
    describe(ax, ", ".join(["Scores of single runs of the suite", *selection(cells), *left_out]))
    return ax


def _draw_density(ax: Axes, cell: xr.Dataset, colour: str, label: str, *, foot: float = 0.0, height: float = 1.0) -> None:
    """Draw one density, as high as every other, and the suite score; a score that never varies is a line."""
    scores, density = cell["score"].values, cell["density"].values
    line_ends = [foot, foot + height]
    if np.isnan(density).any():
        ax.plot(scores[[0, 0]], line_ends, color=colour, linewidth=1.6, label=label)
        return
    curve = foot + height * density / density.max()
    ax.plot(scores, curve, color=colour, linewidth=1.6, label=label)
    if "suite_score" in cell.coords:
        ax.plot([float(cell["suite_score"])] * 2, line_ends, color=DARK, linewidth=1, linestyle=":", label="suite score")


def _score_label(attrs: dict[Hashable, object]) -> str:
    """Write what the score is; its unit stands on the ticks."""
    weighted = "weighted " if "weights" in attrs else ""
    return f"{weighted}{attrs.get('mean', 'geometric')} mean of {attrs.get('metric', 'time')} over {attrs.get('across', 'benchmark')}"


def five_numbers(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the five numbers of every cell as a box plot: whiskers from the least to the largest score, the box between the quartiles.

    Parameters
    ----------
    result : Dataset
        What `perfarray.five_number_summary` returned, or a selection of it. Every dim gives rows on one axis.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the score.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    >>> ax = five_numbers(times.perf.five_number_summary(method="exact"))
    >>> ax.get_title(loc="left")
    'Five numbers of the score, exact'
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    rows, left_out = shown_rows(result["median"], "median")
    ax = axes_for(ax, size_for(rows))
    numbers = np.array([[float(result[name].isel(row.cell)) for row in rows] for name in ("minimum", "q1", "median", "q3", "maximum")])
    heights = np.array([row.y for row in rows])
    measured = np.isfinite(numbers[2])
    note_unmeasured(ax, heights[~measured])
    (low, q1, median, q3, high), y = numbers[:, measured], heights[measured]
    ax.hlines(y, low, high, color=COLOURS[0], linewidth=1, label="minimum to maximum")
    for end in (low, high):
        ax.vlines(end, y - 0.16, y + 0.16, color=COLOURS[0], linewidth=1)
    ax.barh(y, q3 - q1, 0.55, q1, color=COLOURS[1], edgecolor=COLOURS[0], linewidth=0.8, label="quartiles", zorder=2)
    ax.vlines(median, y - 0.275, y + 0.275, color=DARK, linewidth=1.8, label="median", zorder=3)
    label_rows(ax, rows)
    write_units(ax.xaxis, str(result["median"].attrs.get("units", "1")))
    ax.set_xlabel(_score_label(result.attrs))
    exact = result.attrs.get("method") == "exact"
    how = "exact" if exact else f"{result.attrs.get('n_resamples', '')} scores drawn"
    describe(ax, ", ".join(["Five numbers of the score", *selection(result["median"]), how, *left_out]))
    return ax


def suite_scores(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the score of the suite of every cell.

    Parameters
    ----------
    result : Dataset
        What `perfarray.suite_score` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the score, logarithmic when the scores span more than a factor of ten; it stands right of the rows as well. A
        score says nothing of how sure it is: `score_ratio_interval` does.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 1.0], "sort": [4.0, 4.0]}, dim="benchmark")
    >>> ax = times.perf.suite_score().perf.plot()
    >>> ax.lines[0].get_xdata().tolist(), ax.get_xlabel()
    ([2.0], 'geometric mean of time over benchmark')
    >>> plt.close(ax.figure)
    """
    score = result["estimate"].compute()
    rows, left_out = shown_rows(score, "score")
    ax = axes_for(ax, size_for(rows))
    scores, heights = (np.array(values) for values in zip(*((float(score.isel(row.cell)), row.y) for row in rows), strict=True))
    if score.min() > 0 and score.max() > 10 * score.min():
        ax.set_xscale("log")
    ax.plot(scores, heights, "o", color=COLOURS[0], markersize=6)
    note_unmeasured(ax, heights[np.isnan(scores)])
    label_rows(ax, rows)
    units = str(score.attrs.get("units", "1"))
    write_units(ax.xaxis, units)
    beside_rows(ax, rows, [number_format(units)(value) for value in scores], "score")
    ax.set_xlabel(_score_label(result.attrs))
    describe(ax, ", ".join(["Scores of the suite", *selection(score), *left_out]))
    return ax

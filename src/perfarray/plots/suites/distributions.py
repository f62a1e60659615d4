"""A suite's score: densities of its distribution for several machines, and five numbers as box plots."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, describe, number_format, selection
from perfarray.plots.rows import label_rows, named_cells, note_unmeasured, shown_rows, size_for

MOST: Final = len(COLOURS)
"""Densities that can be told apart by colour; more are drawn in grey."""


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
        Horizontal axis: the score. A score that never varies is a line. More than seven cells have one colour.

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
    'geometric mean of time over benchmark, s'
    >>> plt.close(ax.figure)
    """
    curves = curves.compute()
    cells = curves["score"].isel(place=0, drop=True)
    places = named_cells(cells, np.isfinite(cells.values))
    if not places:
        raise ValueError("no cell has a score; nothing to draw")
    ax = axes_for(ax, (7.5, 4.5))
    crowd = len(places) > MOST
    for number, (place, name) in enumerate(places):
        label = (f"{len(places)} cells" if number == 0 else "_") if crowd else name or "scores"
        _draw_density(ax, curves.isel(place), GREY if crowd else COLOURS[number], label, dotted=not crowd)
    units = str(curves.attrs.get("units", "1"))
    ax.xaxis.set_major_formatter(number_format(units))
    ax.set_xlabel(_score_label(curves.attrs, units))
    ax.set_ylabel("density (highest = 1)")
    ax.set_ylim(0, 1.08)
    without = [f"{cells.size - len(places)} of {cells.size} cells not measured"] if len(places) < cells.size else []
    describe(ax, ", ".join(["Scores of single runs of the suite", *selection(cells), *without]))
    return ax


def _draw_density(ax: Axes, cell: xr.Dataset, colour: str, label: str, *, dotted: bool) -> None:
    """Draw one density, as high as every other."""
    along, density = cell["score"].values, cell["density"].values
    if np.isnan(density).any():
        ax.axvline(along[0], color=colour, linewidth=1.6, label=label)
        return
    ax.plot(along, density / density.max(), color=colour, linewidth=1.6 if dotted else 0.8, label=label)
    if dotted and "suite_score" in cell.coords:
        ax.axvline(float(cell["suite_score"]), color=colour, linewidth=1, linestyle=":")


def _score_label(attrs: dict[str, object], units: str) -> str:
    """Write what the score is."""
    score = f"{attrs.get('mean', 'geometric')} mean of {attrs.get('metric', 'time')} over {attrs.get('across', 'benchmark')}"
    return score if units in ("", "1") else f"{score}, {units}"


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
    units = str(result["median"].attrs.get("units", "1"))
    ax.xaxis.set_major_formatter(number_format(units))
    ax.set_xlabel(_score_label({str(key): value for key, value in result.attrs.items()}, units))
    exact = result.attrs.get("method") == "exact"
    how = "exact" if exact else f"{result.attrs.get('n_resamples', '')} scores drawn"
    describe(ax, ", ".join(["Five numbers of the score", *selection(result["median"]), how, *left_out]))
    return ax

"""Scores of suites: densities of single runs, box plots, points."""

from collections.abc import Hashable
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, axes_for, describe, number_format, selection, write_units
from perfarray.plots.rows import RowFrame, named_cells, shown_rows

INCHES: Final = 0.4  # height of the row of a density
HEIGHT: Final = 0.85  # height of a density, in rows


def score_densities(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the density of every cell's scores, and its suite score as a dotted line; of one cell with the quartiles of the scores.

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
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    >>> ax = times.perf.score_distribution(rng=1).perf.plot()
    >>> ax.get_xlabel()
    'geometric mean of time over benchmark'
    """
    scores = curves["score"].isel(place=0, drop=True)
    measured_cells = named_cells(scores, np.isfinite(scores.values))
    if not measured_cells:
        raise ValueError("no cell has a score; nothing to draw")
    title_parts = ["Scores of single runs of the suite", *selection(scores)]
    units, label = str(curves.attrs.get("units", "1")), _score_label(curves.attrs)
    if len(measured_cells) > len(COLOURS):
        frame = RowFrame(ax, *shown_rows(scores, "score", inches=INCHES), inches=INCHES)
        frame.note(np.isnan(frame.values(scores)))
        for row in frame.rows:
            _draw_density(frame.ax, curves.isel(row.cell), COLOURS[0], "density", foot=row.y + HEIGHT / 2, height=-HEIGHT)
        write_units(frame.ax.xaxis, units)
        return frame.finish(title_parts, label)
    ax = axes_for(ax, (7.5, 4.5))
    for (index, name), colour in zip(measured_cells, COLOURS, strict=False):
        _draw_density(ax, curves.isel(index), colour, name or "scores")
    if len(measured_cells) == 1:
        quartiles = curves["quartiles"].isel(measured_cells[0][0]).values
        ax.vlines(quartiles, 0, [0.5, 1, 0.5], color=COLOURS[2], linewidth=1.2, linestyle="--", label="quartiles")
    write_units(ax.xaxis, units)
    ax.set(xlabel=label, ylabel="density (highest = 1)", ylim=(0, 1.08))
    n_unmeasured = scores.size - len(measured_cells)
    return describe(ax, title_parts + [f"{n_unmeasured} of {scores.size} cells not measured"] * bool(n_unmeasured))


def _draw_density(ax: Axes, cell: xr.Dataset, colour: str, label: str, *, foot: float = 0.0, height: float = 1.0) -> None:
    scores, density = cell["score"].values, cell["density"].values
    ends = [foot, foot + height]
    if np.isnan(density).any():  # a score that never varies
        ax.plot(scores[[0, 0]], ends, color=colour, linewidth=1.6, label=label)
        return
    ax.plot(scores, foot + height * density / density.max(), color=colour, linewidth=1.6, label=label)
    if "suite_score" in cell.coords:
        ax.plot([float(cell["suite_score"])] * 2, ends, color=DARK, linewidth=1, linestyle=":", label="suite score")


def _score_label(attrs: dict[Hashable, object]) -> str:
    weighted = "weighted " if "weights" in attrs else ""
    return f"{weighted}{attrs.get('mean', 'geometric')} mean of {attrs.get('metric', 'time')} over {attrs.get('across', 'benchmark')}"


def five_numbers(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the five numbers of every cell as a box plot: whiskers from the least to the largest score, the box between the quartiles.

    Returns
    -------
    Axes
        Horizontal axis: the score.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    >>> ax = five_numbers(times.perf.five_number_summary(method="exact"))
    >>> ax.get_title(loc="left")
    'Five numbers of the score, exact'
    """
    frame = RowFrame(ax, *shown_rows(result["median"], "median"))
    ax, numbers = frame.ax, np.array([frame.values(result[name]) for name in ("minimum", "q1", "median", "q3", "maximum")])
    measured = np.isfinite(numbers[2])
    frame.note(~measured)
    (low, q1, median, q3, high), y = numbers[:, measured], frame.heights[measured]
    ax.hlines(y, low, high, color=COLOURS[0], linewidth=1, label="minimum to maximum")
    for end in (low, high):
        ax.vlines(end, y - 0.16, y + 0.16, color=COLOURS[0], linewidth=1)
    ax.barh(y, q3 - q1, 0.55, q1, color=COLOURS[1], edgecolor=COLOURS[0], linewidth=0.8, label="quartiles", zorder=2)
    ax.vlines(median, y - 0.275, y + 0.275, color=DARK, linewidth=1.8, label="median", zorder=3)
    write_units(ax.xaxis, str(result["median"].attrs.get("units", "1")))
    how = "exact" if result.attrs.get("method") == "exact" else f"{result.attrs.get('n_resamples', '')} scores drawn"
    return frame.finish(["Five numbers of the score", *selection(result["median"]), how], _score_label(result.attrs))


def suite_scores(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the suite score of every cell.

    Returns
    -------
    Axes
        Horizontal axis: the score, logarithmic when the scores span more than a factor of ten. The column at the right has the score,
        too. A score alone does not show its uncertainty; use `score_ratio_interval` to compare two.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 1.0], "sort": [4.0, 4.0]}, dim="benchmark")
    >>> ax = times.perf.suite_score().perf.plot()
    >>> ax.lines[0].get_xdata().tolist(), ax.get_xlabel()
    ([2.0], 'geometric mean of time over benchmark')
    """
    score = result["estimate"]
    frame = RowFrame(ax, *shown_rows(score, "score"))
    scores, units = frame.values(score), str(score.attrs.get("units", "1"))
    if score.min() > 0 and score.max() > 10 * score.min():
        frame.ax.set_xscale("log")
    frame.ax.plot(scores, frame.heights, "o", color=COLOURS[0], markersize=6)
    frame.note(np.isnan(scores))
    write_units(frame.ax.xaxis, units)
    texts = list(map(number_format(units), scores))
    return frame.finish(["Scores of the suite", *selection(score)], _score_label(result.attrs), texts, "score")

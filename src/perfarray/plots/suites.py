"""Scores of suites: densities of single runs, box plots, points."""

from collections.abc import Hashable, Mapping
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import BETTER, HIGHER, LOWER, SUITE, mean_title
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    TICKS,
    axes_for,
    check_choice,
    describe,
    selection,
    write_percent,
    write_units,
)
from perfarray.plots.rows import (
    MAX_ROWS,
    RowFrame,
    column_of,
    largest_part,
    named_cells,
    ranked_rows,
    shown_rows,
    spans_decades,
)
from perfarray.results.words import column_digits

INCHES: Final = 0.4  # height of the row of a density
HEIGHT: Final = 0.85  # height of a density, in rows


def score_densities(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the density of every cell's scores, and its suite score as a dotted line.

    Of one cell with the quartiles of the scores.

    Returns
    -------
    Axes
        Horizontal axis: the score. A score that never varies is a line. More than seven cells have
        a row each.

    Raises
    ------
    ValueError
        When no cell has a score.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}
    >>> times = perfarray.from_samples(samples, dim="benchmark")
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
        frame = RowFrame(
            ax,
            *shown_rows(scores, "score", inches=INCHES, measured=scores.notnull()),
            inches=INCHES,
        )
        for row in frame.rows:
            _draw_density(
                frame.ax,
                curves.isel(row.cell),
                COLOURS[0],
                "density",
                foot=row.y + HEIGHT / 2,
                height=-HEIGHT,
            )
        write_units(frame.ax.xaxis, units)
        return frame.finish(title_parts, label)
    ax = axes_for(ax, (6.5, 4.0))
    for (index, name), colour in zip(measured_cells, COLOURS, strict=False):
        _draw_density(ax, curves.isel(index), colour, name or "scores")
    if len(measured_cells) == 1:
        quartiles = curves["quartiles"].isel(measured_cells[0][0]).values
        ax.vlines(
            quartiles,
            0,
            [0.5, 1, 0.5],
            color=COLOURS[2],
            linewidth=1.2,
            linestyle="--",
            label="quartiles",
        )
    write_units(ax.xaxis, units)
    ax.set(xlabel=label, ylabel="density (highest = 1)", ylim=(0, 1.08))
    return describe(ax, title_parts)


def _draw_density(
    ax: Axes, cell: xr.Dataset, colour: str, label: str, *, foot: float = 0.0, height: float = 1.0
) -> None:
    scores, density = cell["score"].values, cell["density"].values
    ends = [foot, foot + height]
    if np.isnan(density).any():  # a score that never varies
        ax.plot(scores[[0, 0]], ends, color=colour, linewidth=1.6, label=label)
        return
    ax.plot(
        scores, foot + height * density / density.max(), color=colour, linewidth=1.6, label=label
    )
    if "suite_score" in cell.coords:
        ax.plot(
            [float(cell["suite_score"])] * 2,
            ends,
            color=DARK,
            linewidth=1,
            linestyle=":",
            label="suite score",
        )


def _score_label(attrs: dict[Hashable, object]) -> str:
    weighted = "weighted " if "weights" in attrs else ""
    return (
        f"{weighted}{mean_title(str(attrs.get('mean', 'geometric')))} of "
        f"{attrs.get('metric', 'time')} over {attrs.get('across', 'benchmark')}"
    )


def five_numbers(result: xr.Dataset, ax: Axes | None = None, *, max_rows: int = MAX_ROWS) -> Axes:
    """Draw five numbers as a box plot: whiskers from minimum to maximum, a box between quartiles.

    Parameters
    ----------
    result : Dataset
        What `perfarray.five_number_summary` returned. Scores of different suites are not compared:
        `plot()` draws a sheet for each suite, and on given Axes only the largest.
    ax : Axes, optional
        Where to draw; default: a new figure.
    max_rows : int
        Of more rows, the best and the worst are drawn, and the title counts the others.

    Returns
    -------
    Axes
        Horizontal axis: the score. Rows are sorted by the median, the best first; cells without a
        score have no row.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}
    >>> times = perfarray.from_samples(samples, dim="benchmark")
    >>> ax = five_numbers(times.perf.five_number_summary(method="exact"))
    >>> ax.get_title(loc="left")
    'Five numbers of the score, exact'
    """
    result, other_suites = _largest_suite(result, "median")
    frame, labels = _ranked_frame(ax, result["median"], result.attrs, max_rows)
    ax, y = frame.ax, frame.heights
    low, q1, median, q3, high = (
        frame.values(result[name]) for name in ("minimum", "q1", "median", "q3", "maximum")
    )
    ax.hlines(y, low, high, color=COLOURS[0], linewidth=1, label="minimum to maximum")
    for end in (low, high):
        ax.vlines(end, y - 0.16, y + 0.16, color=COLOURS[0], linewidth=1)
    ax.barh(
        y,
        q3 - q1,
        0.55,
        q1,
        color=COLOURS[1],
        edgecolor=COLOURS[0],
        linewidth=0.8,
        label="quartiles",
        zorder=2,
    )
    ax.vlines(median, y - 0.275, y + 0.275, color=DARK, linewidth=1.8, label="median", zorder=3)
    units = str(result["median"].attrs.get("units", "1"))
    write_units(ax.xaxis, units)
    how = (
        "exact"
        if result.attrs.get("method") == "exact"
        else f"{result.attrs.get('n_resamples', '')} scores drawn"
    )
    digits = column_digits(result, "median", "minimum", "maximum")
    texts = column_of(median, units, digits)
    return frame.finish(
        ["Five numbers of the score", *labels, *other_suites, how],
        _score_label(result.attrs),
        texts,
        "median",
    )


def relative_variation(
    result: xr.Dataset, ax: Axes | None = None, *, max_rows: int = MAX_ROWS, order: str = "score"
) -> Axes:
    """Draw how much the score of every cell varies, relative to it.

    Parameters
    ----------
    result : Dataset
        What `perfarray.relative_variation` returned.
    ax, max_rows
        As for `five_numbers`.
    order : {"score", "variation"}
        The best score first, as in the picture of the five numbers; or the most variable first.

    Returns
    -------
    Axes
        Horizontal axis: the standard deviation of the score in percent of it. The column at the
        right has the score. Cells without a score have no row; the row of a cell with a score and
        no variation says so.

    Raises
    ------
    ValueError
        An unknown order; no cell with a score.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}
    >>> times = perfarray.from_samples(samples, dim="benchmark")
    >>> ax = times.perf.plot.relative_variation()
    >>> ax.get_xlabel()
    'standard deviation of the score, percent of it'
    """
    check_choice("order", order, ("score", "variation"))
    result, other_suites = _largest_suite(result, "performance")
    score, variation = result["performance"], 100 * result["relative_variation"]
    ranked = (
        score if order == "score" else variation.fillna(-1.0).where(score.notnull())
    )  # cells without a variation come last
    frame, labels = _ranked_frame(
        ax, ranked, result.attrs if order == "score" else {BETTER: HIGHER}, max_rows
    )
    percentages = frame.values(variation)
    frame.ax.hlines(frame.heights, 0, percentages, color=COLOURS[1], linewidth=1.6, zorder=1)
    frame.draw_points(percentages, gid="estimates")
    frame.note(np.isnan(percentages), "one run shows no variation")
    frame.ax.set_xlim(left=0)
    frame.ax.xaxis.set_major_locator(MaxNLocator(TICKS))
    write_percent(frame.ax.xaxis, 100.0)
    texts = column_of(frame.values(score), str(score.attrs.get("units", "1")))
    title_parts = ["How much scores vary", *labels, *other_suites]
    return frame.finish(
        title_parts, "standard deviation of the score, percent of it", texts, "score"
    )


def suite_scores(result: xr.Dataset, ax: Axes | None = None, *, max_rows: int = MAX_ROWS) -> Axes:
    """Draw the suite score of every cell.

    Parameters
    ----------
    result : Dataset
        What `perfarray.suite_score` returned.
    ax, max_rows
        As for `five_numbers`.

    Returns
    -------
    Axes
        Horizontal axis: the score, logarithmic when the scores span more than a factor of ten. Rows
        are sorted, the best first. The column at the right has the score, too. A score alone does
        not show its uncertainty; use `score_ratio_interval` to compare two.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 1.0], "sort": [4.0, 4.0]}, dim="benchmark")
    >>> ax = times.perf.suite_score().perf.plot()
    >>> ax.lines[0].get_xdata().tolist(), ax.get_xlabel()
    ([2.0], 'geometric mean of time over benchmark')
    """
    result, other_suites = _largest_suite(result, "estimate")
    score = result["estimate"]
    frame, labels = _ranked_frame(ax, score, result.attrs, max_rows)
    scores, units = frame.values(score), str(score.attrs.get("units", "1"))
    if spans_decades(score):
        frame.ax.set_xscale("log")
    frame.draw_points(scores)
    write_units(frame.ax.xaxis, units)
    texts = column_of(scores, units)
    return frame.finish(
        ["Scores of the suite", *labels, *other_suites], _score_label(result.attrs), texts, "score"
    )


def _largest_suite(result: xr.Dataset, name: str) -> tuple[xr.Dataset, list[str]]:
    """Return the suite with most scores, and what the title says of the others."""
    if result.sizes.get(SUITE, 1) == 1:
        return result, []
    counts = result[name].count([dim for dim in result[name].dims if dim != SUITE])
    position, other_suites = largest_part(counts, "suites")
    return result.isel(position), other_suites


def _ranked_frame(
    ax: Axes | None, score: xr.DataArray, attrs: Mapping[Hashable, object], max_rows: int
) -> tuple[RowFrame, list[str]]:
    """Return a frame with a row for each cell with a score, the best first, and shared labels."""
    rows, labels, left_out = ranked_rows(score, str(attrs.get(BETTER, LOWER)), max_rows)
    return RowFrame(ax, rows, left_out), [*selection(score), *labels]

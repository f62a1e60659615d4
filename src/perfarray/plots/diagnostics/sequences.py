"""Measurements in the order they were taken, and how executions become steady."""

from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import MARKS, plural
from perfarray.plots.diagnostics.dependence import one_cell
from perfarray.plots.figure import (
    GREY,
    LABEL_SIZE,
    Floats,
    Mask,
    UnitFormatter,
    axes_for,
    describe,
    selection,
    text_width,
)
from perfarray.plots.rows import RowFrame, shown_rows

ALTERNATING: Final = ("#0072B2", "#D98200")  # colours of neighbouring outermost units
MANY_POINTS: Final = 2000  # more values have lines only, no points
GAP: Final = 0.08  # room between executions, as a share of one
# Kinds of executions and their colours, from the best to those that say nothing.
KINDS: Final = {
    "flat": "#009E73",
    "warmup": "#56B4E9",
    "slowdown": "#E69F00",
    "no_steady_state": "#D55E00",
    "unknown": "#c8c8c8",
}
WRITTEN: Final = 0.08  # shares from here on have room for their number


def run_sequence(sequence: xr.Dataset, ax: Axes | None = None, *, max_lines: int = 20) -> Axes:
    """Draw timings in the order they were taken, executions side by side, one line each.

    Parameters
    ----------
    sequence : Dataset
        What `diagnostics.curves.sequence` computes from timings of one cell: dims that are not
        repetitions (binary, session, execution, iteration) have size one or were selected. Values
        marked by the coordinate `warmup` are drawn hollow and grey; values marked `censored`,
        `failed` or `copied` are drawn as grey crosses.
    ax : Axes, optional
        Where to draw; default: a new figure.
    max_lines : int
        Of more executions, so many are drawn, evenly spaced among those with values; the title says
        so.

    Returns
    -------
    Axes
        Horizontal axis: executions, inside each its iterations from left to right. Vertical: the
        value in its units.

    Raises
    ------
    ValueError
        More than one cell; no values; `max_lines` below one.

    Notes
    -----
    The order is that of the dims, outermost first. The dark stroke over a line is the mean of its
    values that count: strokes at different heights are the variation between executions, which more
    iterations do not average away. With the segments of `steady_state` each segment has a stroke,
    and a dotted line shows where an execution becomes steady. Colours alternate between
    neighbouring units of the outermost level.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> times = xr.DataArray([[9.0, 11.0], [19.0, 21.0]], dims=("execution", "iteration"))
    >>> ax = times.perf.plot.run_sequence()
    >>> [line.get_ydata().tolist() for line in ax.lines if line.get_gid() == "values"]
    [[9.0, 11.0], [19.0, 21.0]]
    """
    if max_lines < 1:
        raise ValueError(f"max_lines must be 1 or more, got {max_lines}")
    levels = str(sequence.attrs["levels"]).split()
    all_lines = _lines_of(one_cell("run_sequence", sequence, levels), levels)
    if not all_lines:
        raise ValueError("run_sequence has nothing to draw: every value is NaN")
    indices = np.unique(
        np.linspace(0, len(all_lines) - 1, min(max_lines, len(all_lines))).round().astype(int)
    )
    lines = [all_lines[number] for number in indices]
    ax = axes_for(ax, (6.8, 3.8))
    lengths = [len(line.values) for line in lines]
    gap = max(1.0, GAP * max(lengths))
    starts = list(accumulate((length + gap for length in lengths[:-1]), initial=0.0))
    for line, start in zip(lines, starts, strict=True):
        _draw_line(ax, line, start, has_points=sum(lengths) <= MANY_POINTS)
    ax.set_xlabel(f"{' / '.join(levels[:-1]) or levels[0]}, in the order measured")
    if len(levels) > 1:
        middles = [start + (length - 1) / 2 for start, length in zip(starts, lengths, strict=True)]
        labels = [line.label for line in lines]
        crowded = (
            len(labels) * (text_width(labels) + 4)
            > 72 * ax.get_window_extent().width / ax.figure.dpi
        )
        ax.set_xticks(middles, labels, fontsize=LABEL_SIZE, rotation=90 if crowded else 0)
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel(f"{ax.get_xlabel()}\ninside each its {plural(levels[-1])}")
    ax.yaxis.set_major_formatter(UnitFormatter(str(sequence.attrs.get("units", "1"))))
    ax.set_ylabel(str(sequence.attrs["metric"]))
    left_out = (
        [f"{len(lines)} of {len(all_lines)} {plural(levels[-2])}"]
        if len(lines) < len(all_lines)
        else []
    )
    return describe(ax, [*selection(sequence["value"]), *left_out])


class Line(NamedTuple):
    """One execution: values up to the last, those that count, segments, and marks."""

    label: str
    unit: int
    values: Floats
    counted: Floats
    segments: list[tuple[int, int, float]]
    marks: dict[str, Mask]


def _lines_of(cell: xr.Dataset, levels: list[str]) -> list[Line]:
    """Return the executions that have a value."""
    array, valid = (cell[name].transpose(*levels) for name in ("value", "counted"))
    means = cell["mean"].transpose(*levels[:-1]).values
    segment_means = (
        cell["segment_mean"].transpose(*levels).values if "segment_mean" in cell else None
    )
    names = [name for name in MARKS if name in array.coords and bool(array[name].any())]
    marks = {name: array[name].broadcast_like(array).transpose(*levels).values for name in names}
    lines = []
    for index in np.ndindex(array.shape[:-1]):
        measured = np.flatnonzero(~np.isnan(array.values[index]))
        if measured.size:
            end = measured[-1] + 1
            label = "/".join(
                str(array[dim].values[number]) for dim, number in zip(levels, index, strict=False)
            )
            values, used = (
                variable.values[index][:end].astype(float) for variable in (array, valid)
            )
            segments = (
                _whole(used, float(means[index]))
                if segment_means is None
                else _segments(segment_means[index][:end])
            )
            line_marks = {name: mask[index][:end] for name, mask in marks.items()}
            lines.append(
                Line(label, index[0] if len(index) > 1 else 0, values, used, segments, line_marks)
            )
    return lines


def _whole(valid: Floats, mean: float) -> list[tuple[int, int, float]]:
    """Return one segment from the first to the last value that counts, if there are several."""
    positions = np.flatnonzero(np.isfinite(valid))
    return [(int(positions[0]), int(positions[-1]), mean)] if len(positions) > 1 else []


def _segments(means: Floats) -> list[tuple[int, int, float]]:
    """Return ends and mean of every segment, given the mean of the segment at each value."""
    finite = np.flatnonzero(np.isfinite(means))
    segments = np.split(finite, np.flatnonzero(np.diff(means[finite])) + 1) if len(finite) else []
    return [(int(segment[0]), int(segment[-1]), float(means[segment[0]])) for segment in segments]


def _draw_line(ax: Axes, line: Line, start: float, has_points: bool) -> None:
    """Draw all values in grey, those that count in colour, their mean, and the marked ones."""
    colour = ALTERNATING[line.unit % 2]
    x = start + np.arange(len(line.values))
    ax.plot(x, line.values, color="#c8c8c8", linewidth=0.8, zorder=1, gid="values")
    ax.plot(
        x,
        line.counted,
        color=colour,
        linewidth=0.9,
        marker="o" if has_points else "",
        markersize=2.5,
        zorder=2,
        gid="counted",
    )
    for first, last, mean in line.segments:
        ax.hlines(
            mean, start + first, start + last, color="black", linewidth=1.3, zorder=3, gid="mean"
        )
    positions = np.flatnonzero(np.isfinite(line.counted))
    if len(positions) and "warmup" in line.marks and line.marks["warmup"][0]:
        ax.axvline(
            x[positions[0]] - 0.5, color=GREY, linewidth=0.9, linestyle=":", zorder=0, gid="start"
        )
    for name, mask in line.marks.items():
        if mask.any():
            marker, label = "o" if name == "warmup" else "x", f"{name} (left out)"
            ax.plot(
                x[mask],
                line.values[mask],
                marker,
                color=GREY,
                markerfacecolor="white",
                markersize=3.5,
                label=label,
                gid=name,
            )


def steady_kinds(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many executions are flat, warm up, slow down, or reach no steady state.

    Returns
    -------
    Axes
        Horizontal axis: executions. Of more cells than there is room for, those with the fewest and
        the most flat ones are drawn.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> values = np.where(np.arange(50) < [[0], [5], [9]], 2.0, 1.0)
    >>> times = xr.DataArray(values, dims=("execution", "iteration"))
    >>> ax = times.perf.steady_state().perf.plot()
    >>> {bars.get_label(): int(bars[0].get_width()) for bars in ax.containers}
    {'flat': 1, 'warmup': 2}
    """
    kinds, cells = result["kind"], result["kind_of_all"]
    series_dims = [str(dim) for dim in kinds.dims if dim not in cells.dims]
    n_series = max(kinds.size // max(cells.size, 1), 1)
    # Masks are counted and not the texts: those of Zarr stores have no NaN.
    masks = {kind: kinds == kind for kind in KINDS}
    numbers = {
        kind: mask.where(mask).count(series_dims).transpose(*cells.dims)
        for kind, mask in masks.items()
    }
    frame = RowFrame(
        ax, *shown_rows(numbers["flat"].astype(float), "number of flat series", keeps_empty=True)
    )
    layers = (
        (kind.replace("_", " "), colour, frame.values(numbers[kind]))
        for kind, colour in KINDS.items()
    )
    frame.stack_bars(layers, lambda width: f"{width:.0f}" if width >= WRITTEN * n_series else "")
    frame.ax.set_xlim(0, n_series)
    label = f"number of series ({' x '.join(series_dims)})" if series_dims else "number of series"
    return frame.finish(
        [f"How {plural(str(result.attrs['dim']))} become steady", *selection(cells)], label
    )

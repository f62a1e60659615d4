"""Measurements in the order they were taken."""

from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import MARKS, plural
from perfarray.plots.figure import GREY, NOTE_SIZE, Floats, Mask, axes_for, describe, number_format, selection, text_width

ALTERNATING: Final = ("#0072B2", "#D98200")
"""Colours of neighbouring outermost units."""

MANY_POINTS: Final = 2000
"""Beyond this many values lines only, no points."""

GAP: Final = 0.08
"""Room between executions, as a share of one."""


def run_sequence(sequence: xr.Dataset, ax: Axes | None = None, *, max_lines: int = 20) -> Axes:
    """Draw timings in the order they were taken, executions side by side, one line each.

    Parameters
    ----------
    sequence : Dataset
        What `diagnostics.curves.sequence` gives of timings of one cell: dims that are not repetitions (binary, session, execution,
        iteration) have size one or were selected. Where a coordinate `warmup` marks values, these are drawn hollow and grey; values
        marked `censored`, `failed` or `copied`, which no answer uses, are drawn as grey crosses.
    ax : Axes, optional
        Where to draw; default: a new figure.
    max_lines : int
        With more executions, this many, evenly spaced among those with values, are drawn; the title says so.

    Returns
    -------
    Axes
        Horizontal axis: executions, inside each its iterations from left to right. Vertical: the value in its units.

    Raises
    ------
    ValueError
        More than one cell; no values; `max_lines` below one.

    Notes
    -----
    The order is that of the dims, outermost first. The dark stroke over a line is the mean of its values that count: strokes at
    different heights are the variation between executions, which more iterations do not average away. With the segments of
    `steady_state` there is a stroke for each, and a dotted line where an execution becomes steady. Colours alternate between
    neighbouring units of the outermost level.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import xarray as xr, perfarray
    >>> times = xr.DataArray([[9.0, 11.0], [19.0, 21.0]], dims=("execution", "iteration"), name="time", attrs={"units": "s"})
    >>> ax = times.perf.plot.run_sequence()
    >>> [line.get_ydata().tolist() for line in ax.lines if line.get_gid() == "values"]
    [[9.0, 11.0], [19.0, 21.0]]
    >>> plt.close(ax.figure)
    """
    if max_lines < 1:
        raise ValueError(f"max_lines must be 1 or more, got {max_lines}")
    levels = str(sequence.attrs["levels"]).split()
    _check_one_cell(sequence, levels)
    lines = _lines_of(sequence.compute(), levels)
    if not lines:
        raise ValueError("run_sequence has nothing to draw: every value is NaN")
    indices = np.unique(np.linspace(0, len(lines) - 1, min(max_lines, len(lines))).round().astype(int))
    drawn_lines = [lines[number] for number in indices]
    ax = axes_for(ax, (9.0, 4.0))
    starts = _starts(drawn_lines)
    for line, start in zip(drawn_lines, starts, strict=True):
        _draw_line(ax, line, start, points=sum(len(other_line.values) for other_line in drawn_lines) <= MANY_POINTS)
    _label_lines(ax, drawn_lines, starts, levels)
    _describe(ax, sequence, f"{len(drawn_lines)} of {len(lines)} {plural(levels[-2])}" if len(drawn_lines) < len(lines) else "")
    return ax


class Line(NamedTuple):
    """One execution: label, number of its outermost unit, values up to the last, those that count, strokes over them, and marks."""

    label: str
    unit: int
    values: Floats
    counted: Floats
    strokes: list[tuple[int, int, float]]
    marks: dict[str, Mask]


def _check_one_cell(sequence: xr.Dataset, levels: list[str]) -> None:
    """Raise when there is more than one cell."""
    cells = [str(dim) for dim in sequence.dims if dim not in levels and sequence.sizes[dim] > 1]
    if cells:
        example = ", ".join(f"{dim}={sequence[dim].values.tolist()[0]!r}" for dim in cells)
        sizes = ", ".join(f"{dim} ({sequence.sizes[dim]})" for dim in cells)
        raise ValueError(f"run_sequence draws one cell at a time; the array has several along {sizes}: select one, as in .sel({example})")


def _lines_of(sequence: xr.Dataset, levels: list[str]) -> list[Line]:
    """Cut the measurements into executions; those without a value are left out."""
    cell = sequence.squeeze([dim for dim in sequence.dims if dim not in levels], drop=True)
    array, counted = (cell[name].transpose(*levels) for name in ("value", "counted"))
    means = cell["mean"].transpose(*levels[:-1]).values
    segments = cell["segment_mean"].transpose(*levels).values if "segment_mean" in cell else None
    marks = {
        name: array[name].broadcast_like(array).transpose(*levels).values
        for name in MARKS
        if name in array.coords and bool(array[name].any())
    }
    lines = []
    for index in np.ndindex(array.shape[:-1]):
        measured = np.flatnonzero(~np.isnan(array.values[index]))
        if measured.size:
            end = measured[-1] + 1
            label = "/".join(str(array[dim].values[number]) for dim, number in zip(levels, index, strict=False))
            cut = {name: mask[index][:end] for name, mask in marks.items()}
            values, used = (variable.values[index][:end].astype(float) for variable in (array, counted))
            strokes = _segments(segments[index][:end]) if segments is not None else _whole(used, float(means[index]))
            lines.append(Line(label, index[0] if len(index) > 1 else 0, values, used, strokes, cut))
    return lines


def _whole(counted: Floats, mean: float) -> list[tuple[int, int, float]]:
    """Return one stroke over the values that count, from the first to the last, if there are several."""
    counts = np.flatnonzero(np.isfinite(counted))
    return [(int(counts[0]), int(counts[-1]), mean)] if len(counts) > 1 else []


def _segments(means: Floats) -> list[tuple[int, int, float]]:
    """Return a stroke for every segment, given the mean of its own at each of its values."""
    finite = np.flatnonzero(np.isfinite(means))
    segments = np.split(finite, np.flatnonzero(np.diff(means[finite])) + 1) if len(finite) else []
    return [(int(segment[0]), int(segment[-1]), float(means[segment[0]])) for segment in segments]


def _starts(lines: list[Line]) -> list[float]:
    """Return where each execution begins on the horizontal axis, in values."""
    gap = max(1.0, GAP * max(len(line.values) for line in lines))
    return list(accumulate((len(line.values) + gap for line in lines[:-1]), initial=0.0))


def _draw_line(ax: Axes, line: Line, start: float, points: bool) -> None:
    """Draw one execution: all values in grey, those that count over them in colour, their mean, and the marked ones."""
    colour = ALTERNATING[line.unit % 2]
    x = start + np.arange(len(line.values))
    counts = np.flatnonzero(np.isfinite(line.counted))
    ax.plot(x, line.values, color="#c8c8c8", linewidth=0.8, zorder=1, gid="values")
    ax.plot(x, line.counted, color=colour, linewidth=0.9, marker="o" if points else "", markersize=2.5, zorder=2, gid="counted")
    for first, last, mean in line.strokes:
        ax.hlines(mean, start + first, start + last, color="black", linewidth=1.3, zorder=3, gid="mean")
    if len(counts) and "warmup" in line.marks and line.marks["warmup"][0]:
        ax.axvline(x[counts[0]] - 0.5, color=GREY, linewidth=0.9, linestyle=":", zorder=0, gid="start")
    for name, mask in line.marks.items():
        if mask.any():
            marker = "o" if name == "warmup" else "x"
            (marked,) = ax.plot(x[mask], line.values[mask], marker, color=GREY, markersize=3.5, label=f"{name} (left out)", gid=name)
            marked.set_markerfacecolor("white")


def _label_lines(ax: Axes, lines: list[Line], starts: list[float], levels: list[str]) -> None:
    """Write which execution is which under the horizontal axis."""
    if len(levels) == 1:
        ax.set_xlabel(f"{levels[0]}, in the order measured")
        return
    middles = [start + (len(line.values) - 1) / 2 for line, start in zip(lines, starts, strict=True)]
    labels = [line.label for line in lines]
    room = 72 * ax.get_window_extent().width / ax.figure.dpi
    crowded = len(labels) * (text_width(labels) + 4) > room
    ax.set_xticks(middles, labels, fontsize=NOTE_SIZE, rotation=90 if crowded else 0)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel(f"{' / '.join(levels[:-1])}, in the order measured\ninside each its {plural(levels[-1])}")


def _describe(ax: Axes, sequence: xr.Dataset, note: str) -> None:
    """Title, vertical axis in the units of the data, legend of the marks."""
    ax.yaxis.set_major_formatter(number_format(str(sequence.attrs.get("units", "1"))))
    ax.set_ylabel(str(sequence.attrs["metric"]))
    describe(ax, ", ".join([*selection(sequence["value"]), *([note] if note else [])]))

"""Runs as points: one row for each benchmark, a colour for each version."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import plural
from perfarray.plots.figure import (
    DARK,
    Floats,
    label_text,
    number_format,
    selection,
    write_percent,
)
from perfarray.plots.mixtures.runs import (
    HUES,
    coloured_dim,
    common_medians,
    far_apart,
    write_values,
)
from perfarray.plots.rows import TALLEST, RowFrame, shown_rows

INCHES: Final = 0.14  # height of the points of one colour, and of the room between rows
LEAST: Final = 0.25  # inches of a row
GOLDEN: Final = 0.618034  # the fractions of multiples of it fill an interval evenly


def runs(curves: xr.Dataset, ax: Axes | None = None, *, relative: bool | None = None) -> Axes:
    """Draw every run as a point, and the medians as bars.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.overlaid` computes with `kind="cdf"`.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    relative : bool, optional
        Whether runs are divided by a median, which then stands at the right; default: where the
        largest median is more than five times the least, or points would be lines on one axis. It
        is that of the first version for all versions of a benchmark, else that of the runs.

    Returns
    -------
    Axes
        Horizontal axis: the runs. Versions (or the labels of the only dim besides benchmarks) have
        colours. Points of one colour lie at different heights only to be seen apart.

    Raises
    ------
    ValueError
        When no cell has a run.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_label() in ("old", "new")]
    [[1.0, 1.1, 1.4], [0.8, 0.9, 1.2]]
    """
    curves = curves.compute()
    hue = coloured_dim(curves["median"])
    median = curves["median"].transpose(..., *([hue] if hue else []))
    if not median.notnull().any():
        raise ValueError("no cell has a run; nothing to draw")
    relative = bool(far_apart(curves, median.dims)) if relative is None else relative
    unit, of_label = common_medians(curves, hue)
    unit = unit if relative else xr.ones_like(unit)
    # Where each cell has its own median, a row is one cell.
    together = hue if hue and not (relative and not of_label) else ""
    labels = median[hue].values.tolist() if hue else []
    ranked = median.max(together) / median.min(together) if together else median
    n_colours = len(labels) if together else 1
    n_rows = int(TALLEST / LEAST)
    inches = max(LEAST, min(INCHES * (n_colours + 1), TALLEST / max(1, min(ranked.size, n_rows))))
    rows = shown_rows(
        ranked,
        "ratio of medians" if together else "median",
        inches=inches,
        measured=median.notnull().any(together) if together else median.notnull(),
    )
    frame = RowFrame(ax, *rows, inches=inches)
    room = 1 / (n_colours + 1)
    cells = [
        ({**row.cell, together: place} if together else row.cell, row.y + room * shift)
        for place, shift in enumerate(np.arange(n_colours) - (n_colours - 1) / 2)
        for row in frame.rows
    ]
    for index, height in cells:
        colour = index[hue] if hue else 0
        label = label_text(hue, labels[colour]) if hue else ""
        values = curves["x"].isel(index).values / float(unit.isel(index))
        _draw_runs(frame.ax, values[np.isfinite(values)], height, room, HUES[colour], label)
    medians: Floats = np.array([median.isel(index) / unit.isel(index) for index, _ in cells])
    heights: Floats = np.array([height for _, height in cells])
    ends = heights - 0.45 * room, heights + 0.45 * room
    frame.ax.vlines(medians, *ends, color=DARK, linewidth=1.6, label="median", zorder=3)
    metric, units, texts, header = str(curves.attrs["metric"]), str(curves.attrs["units"]), [], ""
    if relative:
        first = unit.isel({together: 0}) if together else unit
        texts = list(map(number_format(units), frame.values(first)))
        header = f"median of {of_label}" if of_label else "median"
        write_percent(frame.ax.xaxis, 1.0, origin=1.0, sign="+")
        metric = f"{metric}, relative to the {header}"
    else:
        write_values(frame.ax, "x", metric, units)
    title = f"{metric.partition(',')[0]} of {plural(str(curves.attrs['value']))}"
    return frame.finish(
        [title[:1].upper() + title[1:], *selection(median)],
        frame.ax.get_xlabel() or metric,
        texts,
        header,
    )


def _draw_runs(
    ax: Axes, values: Floats, height: float, room: float, colour: str, label: str
) -> None:
    """Draw runs at heights around one."""
    shifts = 0.7 * room * ((GOLDEN * np.arange(1, values.size + 1)) % 1 - 0.5)
    ax.plot(
        values,
        height + shifts,
        "o",
        color=colour,
        markersize=3.5 if values.size <= 100 else 2.0,
        markeredgewidth=0,
        alpha=0.7,
        label=label or "_runs",
    )

"""A metric over commits: every value with its limits, the segments, and the changes by name."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import plural
from perfarray.plots.figure import (
    DARK,
    GREY,
    LABEL_SIZE,
    NOTE_SIZE,
    Floats,
    axes_for,
    describe,
    elided,
    number_format,
    plain,
    selection,
    text_width,
    write_units,
)
from perfarray.plots.rows import TALLEST, Row, RowFrame, rows_of
from perfarray.results.words import change_alone, percent, ratio_digits

VERDICTS: Final = {
    "slower": "#D55E00",
    "faster": "#009E73",
}  # colours of changes; the others are grey
# inches of a series where several stand under each other: at most, at least, and of a few together
LANES: Final = (1.2, 0.5, 4.0)
FILLED: Final = 0.36  # share of its lane that a series fills on either side of the middle
# a row shows at least this change on either side of its middle: the noise of a quiet series looks
# quiet
LEAST: Final = 0.01
FAR: Final = 4.0  # a series whose range is this many times the median range has a scale of its own
BAND: Final = "#f4f4f4"  # colour of the band of a row
TICKS: Final = 9  # commits with a tick
WIDTH: Final = 7.0  # inches of a figure, less its labels


def history(result: xr.Dataset, ax: Axes | None = None, *, only_changes: bool = False) -> Axes:
    """Draw the values of every series along its commits, its segments, changes and drifts.

    Parameters
    ----------
    result : Dataset
        What `change_points` returned.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its series need.
    only_changes : bool
        Whether series without a change are left out.

    Returns
    -------
    Axes
        Horizontal axis: commits in time. A single series has a vertical axis with units. Several
        stand under each other on one relative scale, which the label of the axis gives; a series
        that changes far more than most has its own, written beside its latest mean. Lines through
        values are their limits. A change is a dashed line with its size, orange where it is slower,
        green where faster; dotted where another host made it. Of more series than there is room
        for, those with the smallest `pvalue_any` are drawn.

    Raises
    ------
    ValueError
        Where there is nothing to draw.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> noise = np.random.default_rng(1).normal(0, 0.01, size=(40, 3))
    >>> slower = np.where(np.arange(40) < 25, 10.0, 10.6)[:, None]
    >>> commits = {"commit": [f"c{i}" for i in range(40)]}
    >>> times = xr.DataArray(slower * (1 + noise), commits, dims=("commit", "execution"))
    >>> ax = times.perf.plot.history()
    >>> [text.get_text() for text in ax.texts if text.get_gid() == "change"]
    ['c25: 1.060x slower']
    """
    dim, metric, result = (
        str(result.attrs["dim"]),
        str(result.attrs["metric"]),
        result.sortby("position"),
    )
    rows, left_out = _rows(result, dim, only_changes)
    is_single = len(rows) == 1
    highest, lowest, together = LANES
    inches = max(lowest, min(highest, together / len(rows)))
    frame = (
        None if is_single else RowFrame(ax, rows, left_out, inches=inches, extra=(WIDTH - 5.0, 0.0))
    )
    ax = axes_for(ax, (WIDTH, 3.8)) if frame is None else frame.ax
    commits = result[dim].values if dim in result.coords else np.arange(result.sizes[dim])
    # Of a date the day is written.
    days = [
        str(np.datetime_as_string(label, unit="D"))
        if isinstance(label, np.datetime64)
        else str(label)
        for label in commits
    ]
    labels = elided(days, 12)
    middles, ranges, common = _scales(result, rows)
    for row, middle, half in zip(rows, middles, ranges, strict=True):
        _draw_series(
            ax, result.isel(row.cell), None if is_single else (row.y, middle, half), labels
        )
    _label_commits(ax, labels)
    title, units = (
        f"{metric.capitalize()} over {plural(dim)}",
        str(result["value"].attrs.get("units", "")),
    )
    if frame is not None:
        latest = [
            number_format(units)(_measured(result.isel(row.cell))["segment_mean"].values[-1])
            for row in rows
        ]
        texts = [
            text if half == common else f"{text}, band ±{percent(half)}"
            for text, half in zip(latest, ranges, strict=True)
        ]
        for row in rows:
            ends = row.y - FILLED, row.y + FILLED
            ax.axhspan(*ends, color=BAND, linewidth=0, zorder=-1, gid="band")
        label = f"{dim}\ngrey bands: ±{percent(common)} around the middle of a row"
        return frame.finish([title, *selection(result["pvalue_any"])], label, texts, "latest mean")
    write_units(ax.yaxis, units)
    ax.set(xlabel=dim, ylabel=metric)
    return describe(ax, [title, *selection(result["pvalue_any"].isel(rows[0].cell)), *left_out])


def _measured(series: xr.Dataset) -> xr.Dataset:
    dims = series["value"].dims
    return series.isel({dims[0]: np.flatnonzero(series["value"].notnull().values)})


def _scales(result: xr.Dataset, rows: list[Row]) -> tuple[Floats, Floats, float]:
    """Return the middle and the relative range of each series, and the range that most share."""
    ends = []
    for row in rows:
        series = _measured(result.isel(row.cell))
        values = np.concatenate([series["value"].values, series["segment_mean"].values])
        ends.append((values.min(), values.max()))
    low, high = np.transpose(ends)
    middles = np.where(low + high == 0, 1.0, (low + high) / 2)
    ranges: Floats = (high - low) / 2 / np.abs(middles)
    is_near = ranges <= FAR * max(LEAST, np.sort(ranges)[len(ranges) // 2])
    common = float(np.max(ranges, initial=LEAST, where=is_near))
    return middles, np.where(is_near, common, ranges), common


def _label_commits(ax: Axes, labels: list[str]) -> None:
    figure = ax.get_figure(root=True)
    room = 72 * ax.get_position().width * (figure.get_figwidth() if figure is not None else 0.0)
    number = max(2, min(TICKS, len(labels), int(room / (text_width(labels) + 12))))
    ticks = np.unique(np.linspace(0, len(labels) - 1, number).round().astype(int))
    ax.set_xticks(ticks, [plain(labels[index]) for index in ticks.tolist()], fontsize=LABEL_SIZE)
    ax.set_xlim(-0.5, len(labels) - 0.5)


def _rows(result: xr.Dataset, dim: str, only_changes: bool) -> tuple[list[Row], list[str]]:
    """Return the series drawn, from the top down, and what the title says of the others."""
    pvalue = result["pvalue_any"]
    is_drawable = (result["n"] > 0) & (result["change"].any(dim) | (not only_changes))
    candidates = [row for row in rows_of(pvalue) if bool(is_drawable.isel(row.cell))]
    if not candidates:
        reason = (
            "no series changed; without only_changes all are drawn"
            if only_changes
            else "nothing was measured"
        )
        raise ValueError(f"history has nothing to draw: {reason}")
    likely = sorted(
        candidates, key=lambda row: float(np.nan_to_num(pvalue.isel(row.cell), nan=2.0))
    )[: int(TALLEST / LANES[1])]
    selected = [row for row in candidates if row in likely]
    rows = [
        Row(row.cell, ", ".join(filter(None, (row.group, row.label))), "", float(lane))
        for lane, row in enumerate(selected)
    ]
    selection_rule = (
        "the most likely to have changed"
        if len(selected) < len(candidates)
        else "those that changed"
    )
    return rows, [f"{len(selected)} of {pvalue.size}: {selection_rule}"] if len(
        selected
    ) < pvalue.size else []


def _draw_series(
    ax: Axes, series: xr.Dataset, lane: tuple[float, float, float] | None, labels: list[str]
) -> None:
    """Draw one series: in its units where it is alone, else in a lane."""
    value, lower, upper, mean = (
        series[name].values for name in ("value", "value_lower", "value_upper", "segment_mean")
    )
    measured = np.flatnonzero(~np.isnan(value))

    def scaled(values: Floats) -> Floats:
        if lane is None:
            return values
        y, middle, half = lane
        return y - FILLED * np.clip((values / middle - 1) / half, -1.25, 1.25)

    ax.vlines(
        measured,
        scaled(lower[measured]),
        scaled(upper[measured]),
        color=GREY,
        linewidth=0.8,
        alpha=0.6,
        gid="limits",
    )
    ax.plot(measured, scaled(value[measured]), ".", color=GREY, markersize=4, gid="values")
    segment = series["segment"].values[measured]
    for number in np.unique(segment).tolist():
        positions = measured[segment == number]
        ends = positions[[0, -1]]
        ax.plot(
            [ends[0] - 0.4, ends[1] + 0.4],
            scaled(mean[ends]),
            color=DARK,
            linewidth=1.6,
            gid="segment",
        )
    _draw_changes(ax, series, None if lane is None else lane[0], labels)


def _draw_changes(ax: Axes, series: xr.Dataset, y: float | None, labels: list[str]) -> None:
    drifts, digits = series["cause"].values == "drift", ratio_digits(series)
    for number, index in enumerate(np.flatnonzero(series["change"].values | drifts).tolist()):
        change = series.isel({series["change"].dims[0]: index})
        verdict, estimate, is_host = (
            str(change["verdict"].item()),
            float(change["estimate"]),
            change["cause"].item() == "host",
        )
        colour = VERDICTS.get(verdict, GREY)
        low, high = ax.get_ylim() if y is None else (y + 0.45, y - 0.45)
        label = "another host" if is_host else verdict
        style = ":" if is_host else "--"
        if not drifts[index]:
            ax.plot(
                [index - 0.5] * 2,
                [low, high],
                style,
                color=colour,
                linewidth=1.0,
                zorder=0,
                gid="mark",
                scaley=False,
                label=label,
            )
        is_rise = estimate > 1  # the room is then below the values that follow
        offset = 10 * (number % 3) + 2 if y is None else 0
        lower, upper = float(change["lower"]), float(change["upper"])
        text = change_alone(estimate, lower, upper, str(series.attrs["better"]), digits)
        text = f"{labels[index]}: {text}" if y is None else text
        if drifts[index]:  # written before its end, a change after its beginning
            text = f"drifts by {percent(estimate - 1)} over {change['n_segment']:.0f}"
        ax.annotate(
            plain(text),
            (index - 0.5, low if is_rise else high),
            (-3 if drifts[index] else 3, offset if is_rise else -offset),
            textcoords="offset points",
            ha="right" if drifts[index] else "left",
            va="bottom" if is_rise else "top",
            color=colour,
            fontsize=NOTE_SIZE,
            gid="change",
        )

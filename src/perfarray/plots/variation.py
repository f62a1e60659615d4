"""Where the variation comes from, and how much estimators vary between groups of runs."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import plural
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    NOTE_SIZE,
    TICKS,
    axes_for,
    compared,
    describe,
    draw_reference,
    level_colours,
    selection,
    write_percent,
)
from perfarray.plots.rows import RowFrame, mark_border, shown_rows

WRITTEN: Final = 9.0  # Bars of at least this many percent have room for their number.
DODGE: Final = (
    0.16  # distance of the marks of a row, in rows: many estimators need groups of the same size
)


def variance_components(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw each level's share of the variance, and beside it the total coefficient of variation.

    Returns
    -------
    Axes
        Horizontal axis: share of the variance in percent. Where only one level was repeated, its
        share is everything: if that is so in all cells, bars are coefficients of variation; a
        single such cell has no bar.

    Notes
    -----
    A negative component is drawn as zero, and its row has a star. A level that is NaN (merged, or a
    single repetition) is absent: its variance is part of the level it was merged into, or of the
    level above.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> values = [[9.0, 11.0], [19.0, 21.0], [14.0, 16.0]]
    >>> times = xr.DataArray(values, dims=("execution", "iteration"), name="time")
    >>> components = times.perf.variance_components()
    >>> components["variance"].values.tolist()
    [24.0, 2.0]
    >>> ax = variance_components(components)
    >>> [round(float(bar.get_width()), 1) for bar in ax.patches]
    [92.3, 7.7]
    """
    spread, negative = result["total_coefficient_of_variation"], result["variance"] < 0
    # A level that is alone has no share to be compared; one into which others were merged has
    # theirs, too.
    is_alone = result["share"].count("level") == 1
    is_alone = is_alone & ~result["merged"].any("level") if "merged" in result else is_alone
    shares = 100 * result["share"].fillna(0.0).where(~is_alone, 0.0)
    rows, left_out = shown_rows(
        spread, "coefficient of variation", measured=result["mean"].notnull() | spread.notnull()
    )
    is_repeated = (
        result["share"]
        .notnull()
        .any([dim for dim in result["share"].dims if dim != "level"])
        .values
    )
    levels = result["level"].values[is_repeated | ~is_repeated.any()]
    if len(levels) == 1:
        return _draw_single_level(RowFrame(ax, rows, left_out), result, str(levels[0]))
    starred = [
        row._replace(label=row.label + " *" * bool(negative.isel(row.cell).any())) for row in rows
    ]
    frame = RowFrame(ax, starred, left_out)
    colours = level_colours([str(level) for level in shares["level"].values])
    layers = [
        (level, colour, frame.values(shares, level=number))
        for number, (level, colour) in enumerate(colours.items())
    ]
    ends = frame.stack_bars(
        layers, lambda width: f"{width:.0f} %" if width >= WRITTEN else "", edge="white"
    )
    for y, lacks_shares in zip(
        frame.heights[ends == 0], frame.values(is_alone)[ends == 0], strict=True
    ):
        text = "only one level was repeated" if lacks_shares else "no variation estimated"
        frame.ax.text(1, y, text, va="center", fontsize=NOTE_SIZE, color=GREY)
    frame.ax.set_xlim(0, 100)
    label = f"share of the variance of {result.attrs.get('metric', 'time')}, percent"
    if bool(negative.any()):
        is_negative = negative.any([dim for dim in negative.dims if dim != "level"]).values
        label += "\n* negative component drawn as zero: " + ", ".join(
            str(level) for level in negative["level"].values[is_negative]
        )
    texts = [_percent(value) for value in frame.values(spread)]
    return frame.finish(
        ["Where the variation comes from", *selection(result)],
        label,
        texts,
        "coefficient\nof variation",
    )


def _draw_single_level(frame: RowFrame, result: xr.Dataset, level: str) -> Axes:
    """Draw the coefficient of variation between the repetitions of the only level."""
    spread = frame.values(result["total_coefficient_of_variation"])
    frame.ax.barh(frame.heights, 100 * spread, height=0.72, color=level_colours([level])[level])
    frame.note(np.isnan(spread), "one run shows no variation")
    frame.ax.set_xlim(left=0)
    frame.ax.xaxis.set_major_locator(MaxNLocator(TICKS))
    write_percent(frame.ax.xaxis, 100.0)
    label = (
        f"coefficient of variation of {result.attrs.get('metric', 'time')} between {plural(level)}"
    )
    texts = [_percent(value) for value in spread]
    return frame.finish(
        [f"How much {plural(level)} vary", *selection(result.isel(level=0, drop=True))],
        label,
        texts,
    )


def _percent(value: float) -> str:
    """Write a coefficient of variation in percent, with two digits."""
    if np.isnan(value):
        return "–"
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:#.2g} %"


def stability(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    r"""Draw the variation of estimators by group size; of several cells, the required group size.

    Returns
    -------
    Axes
        Of estimators of one cell: the standard deviation in percent of the estimate; full lines are
        the paper's, dashed lines are adjusted for groups that overlap; below the dotted line
        programs with the requested difference can be told apart. Of orders: the percentage of pairs
        of groups in the right order; the dotted line is the requested percentage. Of several cells,
        in rows: the smallest sufficient group size; an arrow at the border where no size is large
        enough.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0, 10.0] * 3}, dim="benchmark")
    >>> ax = times.perf.estimator_stability(group_sizes=[1, 2], statistics="mean").perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('runs in a group', 'standard deviation,\npercent of the estimate')
    """
    is_order = "right" in result
    required = result["required" if is_order else "required_group_size"]
    cells = required.isel(statistic=0, drop=True)
    colours = dict(zip((str(name) for name in result["statistic"].values), COLOURS, strict=False))
    if is_order:
        goal = f"{100 * float(result.attrs['share']):g} % are in the right order"
    else:
        goal = f"{100 * float(result.attrs['difference']):g} % can be told apart"
    if cells.size > 1:
        return _draw_required(ax, required, colours, float(result["group_size"].max()), goal)
    ax = axes_for(ax, (6.5, 4.0))
    curves = (
        100
        * result.squeeze(list(cells.dims))["right" if is_order else "relative_standard_deviation"]
    )
    for statistic, colour in colours.items():
        ax.plot(
            result["group_size"],
            curves.sel(statistic=statistic),
            "o-",
            color=colour,
            markersize=3.5,
            label=statistic,
        )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    target = (
        float(result.attrs["share"])
        if is_order
        else float(result.attrs["difference"]) / float(result.attrs["deviations"])
    )
    draw_reference(ax, 100 * target, goal, is_horizontal=True)
    if is_order:
        ax.axhline(50, color=GREY, linewidth=0.8, label="chance")
        ax.set(xlabel="runs of each program", ylabel="pairs of groups in the right order, percent")
        return describe(ax, ["Stability of the order", *compared(result, cells.squeeze())])
    adjusted = 100 * result.squeeze(list(cells.dims))["adjusted_standard_deviation"]
    for statistic, colour in colours.items():
        ax.plot(
            result["group_size"],
            adjusted.sel(statistic=statistic),
            "--",
            color=colour,
            linewidth=1,
            gid="adjusted",
        )
    ax.plot([], [], "--", color=DARK, linewidth=1, label="adjusted for overlap")
    ax.set(xlabel="runs in a group", ylabel="standard deviation,\npercent of the estimate")
    ax.set_ylim(bottom=0)
    return describe(ax, ["Stability of estimators", *selection(cells)])


def _draw_required(
    ax: Axes | None, required: xr.DataArray, colours: dict[str, str], largest: float, goal: str
) -> Axes:
    first = required.isel(statistic=0, drop=True)
    frame = RowFrame(ax, *shown_rows(first, "size of a group", keeps_empty=True))
    for number, (statistic, colour) in enumerate(colours.items()):
        sizes = frame.values(required, statistic=number)
        heights = frame.heights + DODGE * (number - (len(colours) - 1) / 2)
        frame.ax.plot(sizes, heights, "o", color=colour, markersize=4.5, label=statistic)
        mark_border(frame.ax, heights[np.isnan(sizes)], ">", colour, markersize=4)
    frame.ax.set_xlim(0, largest + 1)
    frame.ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return frame.finish(
        ["Size of a group", *selection(required.isel(statistic=0))],
        f"runs in a group, so that {goal}",
    )

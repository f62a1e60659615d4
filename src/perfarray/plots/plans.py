"""Plans of experiments: half-width against cost, beside one-level experiments."""

from collections.abc import Sequence
from itertools import cycle
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import (
    COLOURS,
    GREY,
    LABEL_SIZE,
    NOTE_SIZE,
    axes_for,
    compared,
    describe,
    measure_widest,
    text_width,
    write_plain,
)
from perfarray.plots.rows import RowFrame, named_cells, shown_rows

NAMED: Final = 24  # plans whose names fit beside their lines; more are drawn in rows
TIME_STEPS: Final = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86400.0))


def plan(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the half-width by budget, and the plan as a point on its line.

    Returns
    -------
    Axes
        Logarithmic axes: cost, and half-width in percent of the mean. Solid lines are plans (before
        rounding), dashed lines one-level experiments; a point is the plan in whole counts, which
        stand beside it. Of more than 24 plans each has a row: the filled point is the plan and the
        hollow point the one-level experiment of the same cost; the column at the right has counts
        and costs.

    Raises
    ------
    ValueError
        When no cell has a plan.

    Examples
    --------
    >>> import perfarray
    >>> samples, levels = {"fft": [[9, 8], [10, 7], [1, 2]]}, ("execution", "iteration")
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=levels)
    >>> ax = times.perf.plan_repetitions(costs={"execution": 10}, budget=200).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('cost, iterations', 'half-width (95 %), percent of the mean')
    """
    cells = named_cells(result["cost"], np.isfinite(result["cost"].values))
    if not cells:
        raise ValueError("no cell has a plan; nothing to draw")
    is_suite = result.attrs.get("result") == "plan_suite"
    title = "Precision of the suite's geometric mean" if is_suite else "Precision against cost"
    title_parts = [title, *compared(result, result["cost"])]
    level = 100 * float(result.attrs.get("confidence_level", 0.95))
    label = (
        f"half-width ({level:g} %), percent of the "
        f"{'ratio' if 'baseline' in result.attrs else 'mean'}"
    )
    unit, factor = _cost_unit(
        float(result["cost"].max()), str(result.attrs.get("cost_units", "iterations"))
    )
    if len(cells) > NAMED:
        return _draw_rows(ax, result, title_parts, label, unit, factor)
    is_crowded = len(cells) > len(COLOURS)
    names = [name for _, name in cells]
    ax = axes_for(ax, (6.5 + is_crowded * text_width(names, NOTE_SIZE) / 72, 4.2))
    for (index, name), colour in zip(cells, cycle(COLOURS)):
        _draw_cell(ax, name, result.isel(index), colour, factor, in_legend=not is_crowded)
    if len(cells) > 1:
        ax.plot([], [], color=GREY, linestyle="--", linewidth=1, label="one-level experiments")
    ax.set(xscale="log", yscale="log", xlabel=f"cost, {unit}", ylabel=label)
    for axis in (ax.xaxis, ax.yaxis):
        write_plain(axis, minor=True)
    ax.tick_params(labelsize=LABEL_SIZE)
    ax.grid(which="major", color="#e6e6e6", linewidth=0.6)
    if is_crowded:
        ends = [
            100 * float(result["half_width_by_budget"].isel(index)[..., -1]) for index, _ in cells
        ]
        costs = [
            float(result["cost"].isel(index)) / factor * float(result["budget_factor"][-1])
            for index, _ in cells
        ]
        _name_lines(ax, names, costs, ends)
    return describe(ax, title_parts)


def _name_lines(ax: Axes, names: Sequence[str], x: Sequence[float], y: Sequence[float]) -> None:
    """Write names beside the right ends of lines, moved apart where they would overlap."""
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    low, high = np.log(ax.get_ylim())
    order = np.argsort(y)
    ends = (np.log(np.asarray(y)[order]) - low) / (high - low) * height
    # As near to its line as the names below it allow; then all are moved down by half of the
    # largest shift.
    heights = np.maximum.accumulate(
        ends - NOTE_SIZE * 1.2 * np.arange(len(ends))
    ) + NOTE_SIZE * 1.2 * np.arange(len(ends))
    heights -= max(0.0, min(float((heights - ends).max()) / 2, heights[0]))
    for position, index in enumerate(order.tolist()):
        ax.annotate(
            names[index],
            (x[index], y[index]),
            (1, heights[position] / height),
            textcoords="axes fraction",
            va="center",
            fontsize=NOTE_SIZE,
            arrowprops={
                "arrowstyle": "-",
                "color": GREY,
                "linewidth": 0.4,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=False,
            gid="name",
        )
    measure_widest(ax.texts)


def _draw_rows(
    ax: Axes | None,
    result: xr.Dataset,
    title_parts: list[str],
    label: str,
    unit: str,
    factor: float,
) -> Axes:
    """Draw one row per cell: the plan, its half-width, and that of the one-level experiment."""
    half_width = 100 * result["half_width"]
    # The legend and the header of the column stand beside each other.
    frame = RowFrame(ax, *shown_rows(half_width, "half-width", keeps_empty=True), extra=(0.5, 0.0))
    ax, heights = frame.ax, frame.heights
    plans, defaults = frame.values(half_width), frame.values(100 * result["default_half_width"])
    ax.hlines(heights, plans, defaults, color=GREY, linewidth=1.2, zorder=1)
    frame.draw_points(
        defaults, colour=GREY, is_hollow=True, label="one-level experiment of the same cost"
    )
    frame.draw_points(plans, label="plan")
    frame.note(np.isnan(plans), "no plan")
    ax.set_xscale("log")
    write_plain(ax.xaxis, minor=True)
    ax.tick_params("x", labelsize=LABEL_SIZE)
    ax.grid(axis="x", which="major", color="#e6e6e6", linewidth=0.6)
    texts = []
    for row, cost in zip(frame.rows, frame.values(result["cost"]), strict=True):
        counts = result["repetitions"].isel(row.cell, missing_dims="ignore")
        counts_text = (
            " × ".join(f"{number:.0f}" for number in counts.values) + ", "
            if counts.dims == ("level",)
            else ""
        )
        texts.append("–" if np.isnan(cost) else f"{counts_text}{cost / factor:.3g} {unit}")
    return frame.finish(
        title_parts,
        label,
        texts,
        f"{' × '.join(str(level) for level in result['level'].values)}, cost",
    )


def _cost_unit(cost: float, units: str) -> tuple[str, float]:
    """Return the unit in which costs are written: minutes, hours or days for many seconds."""
    if units != "s":
        return units, 1.0
    return next(
        ((name, size) for name, size in reversed(TIME_STEPS) if cost >= 2 * size), TIME_STEPS[0]
    )


def _draw_cell(
    ax: Axes, name: str, cell: xr.Dataset, colour: str, factor: float, *, in_legend: bool
) -> None:
    """Draw the two lines of one cell and its plan; of a single cell the counts beside it."""
    cost, half_width = float(cell["cost"]) / factor, 100 * float(cell["half_width"])
    costs = cost * cell["budget_factor"].values
    best_label, default_label, plan_label = (
        (None, None, None) if name else ("best plan", "one-level experiment", "plan")
    )
    default_colour = colour if name else GREY
    ax.plot(
        costs,
        100 * cell["half_width_by_budget"].values,
        color=colour,
        linewidth=1.6,
        label=best_label,
    )
    ax.plot(
        costs,
        100 * cell["default_half_width_by_budget"].values,
        "--",
        color=default_colour,
        linewidth=1,
        label=default_label,
    )
    ax.plot([cost], [half_width], "o", color=colour, markersize=6, label=plan_label)
    counts = cell["repetitions"]
    if name and in_legend:
        ax.plot([], [], color=colour, marker="o", markersize=5, linewidth=1.6, label=name)
    elif not name and counts.dims == (
        "level",
    ):  # the counts of a suite's plan differ between benchmarks
        text = " × ".join(
            f"{number:.0f} {level}"
            for level, number in zip(counts["level"].values, counts.values, strict=True)
        )
        ax.annotate(
            text,
            (cost, half_width),
            (-6, -6),
            textcoords="offset points",
            fontsize=LABEL_SIZE,
            ha="right",
            va="top",
        )

"""What a plan buys: half-width against cost, beside the experiment that repeats the outermost level alone."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from perfarray.plots.figure import COLOURS, GREY, LABEL_SIZE, NOTE_SIZE, axes_for, compared, describe
from perfarray.plots.rows import beside_rows, label_rows, named_cells, note_unmeasured, shown_rows, size_for

MOST: Final = len(COLOURS)
"""Cells whose lines can be told apart by colour; more have a row each."""

TIME_STEPS: Final = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86400.0))


def plan(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the half-width that budgets give, and the plan as a point on its line.

    Parameters
    ----------
    result : Dataset
        A plan, or a selection of it: `half_width_by_budget`, `default_half_width_by_budget` along
        `budget_factor`, `cost`, `half_width`, `default_half_width`, and along `level` the repetitions. Every other dim gives lines, a
        colour each; more than seven cells have a row each.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Logarithmic axes: cost, and half-width in percent of the mean. Full lines are plans (before rounding), dashed ones the one-level
        experiment; a point is the plan, in whole counts, which stand beside it. In rows the full point is the plan and the hollow one the
        one-level experiment of the same cost; counts and costs stand at the right.

    Raises
    ------
    ValueError
        When no cell has a plan.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [[9, 8], [10, 7], [1, 2]]}, dim="benchmark", level=("execution", "iteration"))
    >>> ax = times.perf.plan_repetitions(costs={"execution": 10}, budget=200).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('cost, iterations', 'half-width (95 %), percent of the mean')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    cells = _cells(result)
    return _draw_rows(ax, result) if len(cells) > MOST else _draw_lines(ax, result, cells)


def _draw_lines(ax: Axes | None, result: xr.Dataset, cells: list[tuple[str, xr.Dataset]]) -> Axes:
    """Draw two lines a cell against the cost."""
    ax = axes_for(ax, (7.5, 4.5))
    unit, factor = _unit(max(float(cell["cost"]) for _, cell in cells), str(result.attrs.get("cost_units", "iterations")))
    for (name, cell), colour in zip(cells, COLOURS, strict=False):
        _draw_cell(ax, name, cell, colour, factor)
    if len(cells) > 1:
        ax.plot([], [], color=GREY, linestyle="--", linewidth=1, label="one-level experiments")
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        _set_plain_ticks(axis)
    ax.set_xlabel(f"cost, {unit}")
    ax.set_ylabel(_half_width(result))
    ax.grid(which="major", color="#e6e6e6", linewidth=0.6)
    describe(ax, _title(result))
    return ax


def _draw_rows(ax: Axes | None, result: xr.Dataset) -> Axes:
    """Draw a row a cell: the half-width of its plan, that of the one-level experiment of the same cost, and what the plan is."""
    half_width = 100 * result["half_width"]
    rows, left_out = shown_rows(half_width, "half-width")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    plans, defaults = (
        np.array([float(number.isel(row.cell)) for row in rows]) for number in (half_width, 100 * result["default_half_width"])
    )
    ax.hlines(heights, plans, defaults, color=GREY, linewidth=1.2, zorder=1)
    ax.plot(defaults, heights, "o", color=GREY, markerfacecolor="white", markersize=6, label="one-level experiment of the same cost")
    ax.plot(plans, heights, "o", color=COLOURS[0], markersize=6, label="plan")
    note_unmeasured(ax, heights[np.isnan(plans)], "no plan")
    ax.set_xscale("log")
    _set_plain_ticks(ax.xaxis)
    label_rows(ax, rows)
    unit, factor = _unit(float(result["cost"].max()), str(result.attrs.get("cost_units", "iterations")))
    levels = " × ".join(str(level) for level in result["level"].values)
    texts = [_bought(result.isel(row.cell), unit, factor) for row in rows]
    beside_rows(ax, rows, texts, f"{levels}, cost")
    ax.set_xlabel(_half_width(result))
    ax.grid(axis="x", which="major", color="#e6e6e6", linewidth=0.6)
    describe(ax, ", ".join([_title(result), *left_out]))
    return ax


def _half_width(result: xr.Dataset) -> str:
    """Write what the half-width is of."""
    level = 100 * float(result.attrs.get("confidence_level", 0.95))
    return f"half-width ({level:g} %), percent of the {'ratio' if 'baseline' in result.attrs else 'mean'}"


def _bought(cell: xr.Dataset, unit: str, factor: float) -> str:
    """Write the counts of a plan and what it costs; nothing where there is none."""
    counts = cell["repetitions"]
    if np.isnan(float(cell["cost"])):
        return "–"
    counts_text = " × ".join(f"{number:.0f}" for number in counts.values) + ", " if counts.dims == ("level",) else ""
    return f"{counts_text}{float(cell['cost']) / factor:.3g} {unit}"


def _cells(result: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """Return the cells that have a plan, each with its labels."""
    cells = named_cells(result["cost"], np.isfinite(result["cost"].values))
    if not cells:
        raise ValueError("no cell has a plan; nothing to draw")
    return [(name, result.isel(index)) for index, name in cells]


def _title(result: xr.Dataset) -> str:
    """Write what is planned."""
    subject = "Precision of the suite's geometric mean" if result.attrs.get("result") == "plan_suite" else "Precision against cost"
    return ", ".join([subject, *compared(result, result["cost"])])


def _unit(cost: float, units: str) -> tuple[str, float]:
    """Return the unit costs are shown in: seconds become minutes, hours or days."""
    if units != "s":
        return units, 1.0
    return next(((name, size) for name, size in reversed(TIME_STEPS) if cost >= 2 * size), TIME_STEPS[0])


def _draw_cell(ax: Axes, name: str, cell: xr.Dataset, colour: str, factor: float) -> None:
    """Draw one cell's two lines, its plan, and the counts beside it."""
    cost = float(cell["cost"]) / factor
    along = cost * cell["budget_factor"].values
    ax.plot(along, 100 * cell["half_width_by_budget"].values, color=colour, linewidth=1.6, label=None if name else "best plan")
    ax.plot(
        along, 100 * cell["default_half_width_by_budget"].values, color=colour if name else GREY, linewidth=1, linestyle="--",
        label=None if name else "one-level experiment",
    )  # fmt: skip
    ax.plot([cost], [100 * float(cell["half_width"])], "o", color=colour, markersize=6, label=None if name else "plan")
    if name:
        ax.plot([], [], color=colour, marker="o", markersize=5, linewidth=1.6, label=name)
    text = _counts(cell)
    if text and not name:
        ax.annotate(
            text, (cost, 100 * float(cell["half_width"])), (-6, -6), textcoords="offset points", fontsize=NOTE_SIZE, ha="right", va="top"
        )


def _counts(cell: xr.Dataset) -> str:
    """Write the counts of one plan: `16 binary x 29 execution x 4 iteration`; nothing where benchmarks differ."""
    counts = cell["repetitions"]
    if counts.dims != ("level",):
        return ""
    return " × ".join(f"{number:.0f} {level}" for level, number in zip(counts["level"].values, counts.values, strict=True))


def _set_plain_ticks(axis: Axis) -> None:
    """Write 0.5, 1, 2, 5 instead of powers of ten."""
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(labelsize=LABEL_SIZE)

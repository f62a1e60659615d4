"""What a plan buys: half-width against cost, beside the experiment that repeats the outermost level alone."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from perfarray.plots.figure import COLOURS, GREY, LABEL_SIZE, NOTE_SIZE, axes_for, compared, describe
from perfarray.plots.rows import named_cells

MOST: Final = len(COLOURS)
"""Cells that can be told apart by colour; of more, the plan's marker tells those of one colour apart."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")

LEGEND_ROWS: Final = 18
"""Entries in one column of the legend that stands beside many plans."""

LEGEND_COLUMNS: Final = 5
"""Entries in one row of the legend, as `describe` sets it."""

TIME_STEPS: Final = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86400.0))


def plan(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the half-width that budgets give, and the plan as a point on its line.

    Parameters
    ----------
    result : Dataset
        What a plan's `to_dataset` gave, or a selection of it: `half_width_by_budget`, `default_half_width_by_budget` along
        `budget_factor`, `cost`, `half_width`, and along `level` the repetitions. Every other dim gives lines, a colour each; more than
        seven repeat the colours with other markers, up to 49.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Logarithmic axes: cost, and half-width in percent of the mean. Full lines are plans (before rounding), dashed ones the one-level
        experiment; a point is the plan, in whole counts, which stand beside it.

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
    >>> ax = times.perf.plan_repetitions(costs={"execution": 10}, budget=200).plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('cost, iterations', 'half-width (95 %), percent of the mean')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    cells = _cells(result)
    ax = axes_for(ax, (7.5 if len(cells) <= MOST else 9.5, 4.5))
    units = str(result.attrs.get("cost_units", "iterations"))
    unit, factor = _unit(max(float(cell["cost"]) for _, cell in cells), units)
    for number, (name, cell) in enumerate(cells):
        _draw_cell(ax, name, cell, COLOURS[number % MOST], MARKERS[number // MOST % len(MARKERS)], factor)
    if len(cells) > 1:
        ax.plot([], [], color=GREY, linestyle="--", linewidth=1, label="one-level experiments")
    ax.set_xscale("log")
    ax.set_yscale("log")
    _plain_ticks(ax)
    level = 100 * float(result.attrs.get("confidence_level", 0.95))
    what = "ratio" if "baseline" in result.attrs else "mean"
    ax.set_xlabel(f"cost, {unit}")
    ax.set_ylabel(f"half-width ({level:g} %), percent of the {what}")
    ax.grid(which="major", color="#e6e6e6", linewidth=0.6)
    title = _title(result)
    describe(ax, title)
    if len(cells) > MOST:
        ax.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1.0), ncols=-(-len(cells) // LEGEND_ROWS), frameon=False, fontsize=NOTE_SIZE,
            borderaxespad=0.0, handlelength=1.6,
        )  # fmt: skip
        ax.set_title(title, loc="left", pad=8)
        return ax
    entries = len(cells) + 1 if len(cells) > 1 else 3
    ax.set_title(title, loc="left", pad=10 + 16 * -(-entries // LEGEND_COLUMNS))
    return ax


def _cells(result: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """Return the cells that have a plan, each with its labels."""
    cells = named_cells(result["cost"], np.isfinite(result["cost"].values))
    if not cells:
        raise ValueError("no cell has a plan; nothing to draw")
    return [(name, result.isel(place)) for place, name in cells]


def _title(result: xr.Dataset) -> str:
    """Write what is planned."""
    what = "Precision of the suite's geometric mean" if result.attrs.get("result") == "plan_suite" else "Precision against cost"
    return ", ".join([what, *compared(result, result["cost"])])


def _unit(cost: float, units: str) -> tuple[str, float]:
    """Return the unit costs are shown in: seconds become minutes, hours or days."""
    if units != "s":
        return units, 1.0
    return next(((name, size) for name, size in reversed(TIME_STEPS) if cost >= 2 * size), TIME_STEPS[0])


def _draw_cell(ax: Axes, name: str, cell: xr.Dataset, colour: str, marker: str, factor: float) -> None:
    """Draw one cell's two lines, its plan, and the counts beside it."""
    cost = float(cell["cost"]) / factor
    along = cost * cell["budget_factor"].values
    ax.plot(along, 100 * cell["half_width_by_budget"].values, color=colour, linewidth=1.6, label=None if name else "best plan")
    ax.plot(
        along, 100 * cell["default_half_width_by_budget"].values, color=colour if name else GREY, linewidth=1, linestyle="--",
        label=None if name else "one-level experiment",
    )  # fmt: skip
    ax.plot([cost], [100 * float(cell["half_width"])], marker, color=colour, markersize=6, label=None if name else "plan")
    if name:
        ax.plot([], [], color=colour, marker=marker, markersize=5, linewidth=1.6, label=name)
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


def _plain_ticks(ax: Axes) -> None:
    """Write 0.5, 1, 2, 5 instead of powers of ten."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.tick_params(labelsize=LABEL_SIZE)

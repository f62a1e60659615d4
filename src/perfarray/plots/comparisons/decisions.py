"""How many units a decision needs: what an experiment of any size can see, and where the one asked for lies."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter

from perfarray.conventions import plural
from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe
from perfarray.plots.rows import label_rows, shown_rows, size_for

GOALS = {
    "difference": "to see {change:g} %",
    "not_slower": "to rule out {threshold:g} % more",
    "equivalent": "to show equivalence within {threshold:g} %",
}
"""What the units are for."""


def smallest_changes(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the smallest change that experiments of every size see; of several cells how many units each needs.

    Parameters
    ----------
    result : Dataset
        What `perfarray.required_units` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Of one cell: the smallest change in percent against units a side, a dotted line at the change asked for, a point at the units that
        it needs, a hollow one at those of the pilot. Of several cells, in rows: those two points; a row without is not known.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9, 10.2, 9.8], "new": [10.1, 10.0, 9.8, 9.9, 10.2]})
    >>> ax = times.perf.required_units("old", change=0.05).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('executions a side', 'smallest change seen, percent')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    required, pilot = result["required"], result["n"]
    percentages = {name: 100 * float(result.attrs[name]) for name in ("change", "threshold")}
    purpose = GOALS[str(result.attrs["goal"])].format(**percentages)
    units, title = f"{plural(str(result.attrs['unit']))} a side", compared(result, required)
    chance = f"with a chance of {100 * float(result.attrs['planned_power']):g} %"
    if required.size > 1:
        rows, left_out = shown_rows(required, units)
        ax = axes_for(ax, size_for(rows))
        heights = [row.y for row in rows]
        for array, label, face in ((pilot, "pilot", "none"), (required, f"{purpose}, {chance}", COLOURS[0])):
            counts = np.array([float(array.isel(row.cell)) for row in rows])
            positions = np.where(np.isfinite(counts), counts, np.nan)
            ax.plot(positions, heights, "o", color=COLOURS[0], markerfacecolor=face, label=label, markersize=5)
        label_rows(ax, rows)
        title = [*title, *left_out]
    else:
        ax = axes_for(ax, (7.0, 4.2))
        cell = result.squeeze(list(required.dims))
        ax.plot(cell["units"], 100 * cell["smallest_change"], color=COLOURS[0])
        if result.attrs["goal"] == "difference":
            ax.axhline(abs(percentages["change"]), color=DARK, linewidth=0.8, linestyle=":", label=f"{percentages['change']:g} %")
            ax.plot(cell["required"], abs(percentages["change"]), "o", color=COLOURS[0], label=f"{purpose}, {chance}")
        ax.plot(cell["n"], 100 * cell["pilot_change"], "o", color=COLOURS[0], markerfacecolor="none", label="pilot")
        ax.set_yscale("log")
        _number_ticks(ax.yaxis)
        ax.set_ylabel("smallest change seen, percent")
        ax.grid(color=GREY, alpha=0.3, which="both", linewidth=0.5)
    ax.set_xscale("log")
    _number_ticks(ax.xaxis)
    ax.set_xlabel(units)
    describe(ax, ", ".join(title))
    return ax


def _number_ticks(axis: Axis) -> None:
    """Write plain numbers at powers of ten, and at twice and five times those."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else ""))

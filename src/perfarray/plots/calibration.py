"""How often rules are right or wrong: shares of simulated experiments, and of halves of the same timings."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, describe, selection
from perfarray.plots.rows import Row, beside_rows, label_rows, note_unmeasured, shown_rows, size_for

KINDS: Final = {
    "calibrate": ("False alarms between halves of the same timings", "false_alarm_rate"),
    "coverage": ("Coverage", "estimate"),
    "false_alarm_rate": ("False alarms", "estimate"),
    "power": ("Power", "estimate"),
}
"""By the function whose result it is: the title, and the variable that is drawn."""

WANTED_POWER: Final = 0.8
"""Where the line of a power stands."""


def rates(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw shares of experiments with two standard errors to either side, and where they ought to lie.

    Parameters
    ----------
    result : Dataset
        What `calibrate`, `coverage`, `false_alarm_rate` or `power` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: percent. The dotted line is the risk, or the level of confidence, that was asked for (of a power, 80 %). Of
        `calibrate`, a row is a rule, grey marks are the cells, and who uses the rule stands at the right.

    Raises
    ------
    ValueError
        For the result of another function.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> nest = {"sizes": {"binary": [3, 10]}, "variances": {"binary": 4e-4}, "n_experiments": 50, "rng": 1}
    >>> ax = rates(perfarray.coverage("ratio_interval", df="normal", **nest))
    >>> ax.get_title(loc="left"), [label.get_text() for label in ax.get_yticklabels()]
    ('Coverage of ratio_interval, normal effects, 50 experiments', ['binary 3', 'binary 10'])
    >>> plt.close(ax.figure)
    """
    result, kind = result.compute(), str(result.attrs.get("result"))
    if kind not in KINDS:
        raise ValueError(f"a result of {kind!r} has no rates; those of {', '.join(KINDS)} have")
    title, name = KINDS[kind]
    rows, left_out = shown_rows(result[name], "share")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    share, error = (100 * np.array([float(result[part].isel(row.cell)) for row in rows]) for part in (name, "error"))
    level = float(result.attrs["confidence_level"])
    wanted = 100 * {"coverage": level, "power": WANTED_POWER}.get(kind, round(1 - level, 12))
    ax.axvline(wanted, color=DARK, linewidth=0.8, linestyle=":", label=f"{wanted:g} %", zorder=1)
    if kind == "calibrate":
        _draw_cells(ax, result["cell_rate"], rows)
    ax.hlines(heights, np.maximum(share - 2 * error, 0), np.minimum(share + 2 * error, 100), color=COLOURS[0], linewidth=1.6, zorder=2)
    ax.plot(share, heights, "o", color=COLOURS[0], markersize=6, zorder=3, gid="rate")
    note_unmeasured(ax, heights[np.isnan(share)], "no answer")
    label_rows(ax, rows)
    if kind == "calibrate":
        beside_rows(ax, rows, [str(result["used_by"].isel(rule=row.cell["rule"]).values.ravel()[0]) for row in rows], "used by")
    else:
        beside_rows(ax, rows, [f"{value:.1f} %" if value == value else "–" for value in share], "share")
    ax.set_xlabel("percent of comparisons" if kind in ("calibrate", "false_alarm_rate") else "percent of experiments")
    asked = [] if kind == "calibrate" else [f"{result.attrs['distribution']} effects", f"{result.attrs['n_experiments']} experiments"]
    head = title if kind == "calibrate" else f"{title} of {result.attrs['method']}"
    describe(ax, ", ".join([head, *asked, *selection(result[name]), *left_out]))
    return ax


def _draw_cells(ax: Axes, cells: xr.DataArray, rows: Sequence[Row]) -> None:
    """Draw the rate of every cell as a small mark on its rule's row."""
    for row in rows:
        values = 100 * cells.isel(row.cell).values.ravel()
        ax.plot(values, np.full(values.size, row.y), "|", color=GREY, markersize=9, zorder=1.5, label="cells", gid="cells")

"""How often rules are right or wrong: shares of simulated experiments, and of halves of the same timings."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, LABEL_SIZE, NOTE_SIZE, axes_for, describe, selection, shortened
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

REACH: Final = 5.0
"""Points from what was asked for to the full colour of a map."""


def rates(result: xr.Dataset, ax: Axes | None = None, *, kind: str = "rows") -> Axes:
    """Draw shares of experiments with two standard errors to either side, and where they ought to lie.

    Parameters
    ----------
    result : Dataset
        What `calibrate`, `coverage`, `false_alarm_rate` or `power` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    kind : {"rows", "map"}
        A row for every share; or, of results along two dims, a coloured field for each with its percentage: white is what was asked for,
        red is worse (too little coverage or power, too many false alarms), blue the opposite, both full at a distance of five points.

    Returns
    -------
    Axes
        Rows have a horizontal axis in percent. The dotted line is the risk, or the level of confidence, that was asked for (of a power,
        80 %). Of `calibrate`, a row is a rule, grey marks are the cells, and who uses the rule stands at the right.

    Raises
    ------
    ValueError
        For the result of another function; for a map of more or fewer than two dims.

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
    result, made_by = result.compute(), str(result.attrs.get("result"))
    if made_by not in KINDS:
        raise ValueError(f"a result of {made_by!r} has no rates; those of {', '.join(KINDS)} have")
    if kind not in ("rows", "map"):
        raise ValueError(f"kind={kind!r} is not known; choose one of 'rows', 'map'")
    name = KINDS[made_by][1]
    if kind == "map":
        return _map(result, name, ax)
    rows, left_out = shown_rows(result[name], "share")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    share, error = (100 * np.array([float(result[variable].isel(row.cell)) for row in rows]) for variable in (name, "error"))
    target = _wanted(result)
    ax.axvline(target, color=DARK, linewidth=0.8, linestyle=":", label=f"{target:g} %", zorder=1)
    if made_by == "calibrate":
        _draw_cells(ax, result["cell_rate"], rows)
    ax.hlines(heights, np.maximum(share - 2 * error, 0), np.minimum(share + 2 * error, 100), color=COLOURS[0], linewidth=1.6, zorder=2)
    ax.plot(share, heights, "o", color=COLOURS[0], markersize=6, zorder=3, gid="rate")
    note_unmeasured(ax, heights[np.isnan(share)], "no answer")
    label_rows(ax, rows)
    if made_by == "calibrate":
        beside_rows(ax, rows, [str(result["used_by"].isel(rule=row.cell["rule"]).values.ravel()[0]) for row in rows], "used by")
    else:
        beside_rows(ax, rows, [f"{value:.1f} %" if value == value else "–" for value in share], "share")
    ax.set_xlabel("percent of comparisons" if made_by in ("calibrate", "false_alarm_rate") else "percent of experiments")
    describe(ax, ", ".join([_title(result), *selection(result[name]), *left_out]))
    return ax


def _title(result: xr.Dataset) -> str:
    """Write what was counted, of which method, and on what."""
    made_by, attrs = str(result.attrs["result"]), result.attrs
    title = KINDS[made_by][0]
    if made_by == "calibrate":
        return title
    return f"{title} of {attrs['method']}, {attrs['distribution']} effects, {attrs['n_experiments']} experiments"


def _wanted(result: xr.Dataset) -> float:
    """Return what the shares ought to be, in percent."""
    level = float(result.attrs["confidence_level"])
    return 100 * {"coverage": level, "power": WANTED_POWER}.get(str(result.attrs["result"]), round(1 - level, 12))


def _map(result: xr.Dataset, name: str, ax: Axes | None) -> Axes:
    """Draw a field for every share of a result along two dims."""
    shares = result[name].squeeze(drop=True)
    if shares.ndim != 2:
        raise ValueError(f"a map has two dims, and the result has {dict(shares.sizes)}: select from the others, as in .sel(...)")
    row_dim, column_dim = map(str, shares.dims)
    ax = axes_for(ax, (2.5 + 0.45 * shares.sizes[column_dim], 1.8 + 0.3 * shares.sizes[row_dim]))
    target, percent = _wanted(result), 100 * shares.values
    worse_above = result.attrs["result"] in ("calibrate", "false_alarm_rate")
    ax.pcolormesh(percent, cmap="RdBu_r" if worse_above else "RdBu", vmin=target - REACH, vmax=target + REACH)
    for (row, column), value in np.ndenumerate(percent):
        colour = "white" if abs(value - target) > 0.5 * REACH else DARK
        ax.text(column + 0.5, row + 0.5, f"{value:.0f}", ha="center", va="center", color=colour, fontsize=NOTE_SIZE, gid="share")
    for axis, dim in ((ax.xaxis, column_dim), (ax.yaxis, row_dim)):
        labels = shares[dim].values.tolist() if dim in shares.coords else range(shares.sizes[dim])
        axis.set_ticks(np.arange(shares.sizes[dim]) + 0.5, shortened([str(label) for label in labels]), fontsize=LABEL_SIZE)
        axis.set_tick_params(length=0)
    ax.set_xlabel(column_dim)
    ax.set_ylabel(row_dim)
    describe(ax, ", ".join([_title(result), *selection(result[name])]))
    return ax


def _draw_cells(ax: Axes, cells: xr.DataArray, rows: Sequence[Row]) -> None:
    """Draw the rate of every cell as a small mark on its rule's row."""
    for row in rows:
        values = 100 * cells.isel(row.cell).values.ravel()
        ax.plot(values, np.full(values.size, row.y), "|", color=GREY, markersize=9, zorder=1.5, label="cells", gid="cells")

"""How often rules are right or wrong: shares of simulated experiments, or of halves of timings."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    LABEL_SIZE,
    NOTE_SIZE,
    axes_for,
    check_choice,
    describe,
    draw_reference,
    selection,
    shortened,
)
from perfarray.plots.rows import RowFrame, formatted, shown_rows

TITLES: Final = {
    "calibrate": "False alarms between halves of the same timings",
    "coverage": "Coverage",
    "false_alarm_rate": "False alarms",
    "power": "Power",
}
DESIRED_POWER: Final = 0.8
REACH: Final = 5.0  # points from the target to the full colour of a map


def rates(result: xr.Dataset, ax: Axes | None = None, *, kind: str = "rows") -> Axes:
    r"""Draw error rates, coverage or power, each ± two standard errors, and the nominal value.

    Parameters
    ----------
    result : Dataset
        What `calibrate`, `coverage`, `false_alarm_rate` or `power` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    kind : {"rows", "map"}
        One row per share; or, of results along two dims, a heat map with the percentages: white is
        the target, red is worse (too little coverage or power, too many false alarms), blue is
        better, both saturated at a distance of five points.

    Returns
    -------
    Axes
        Rows have a horizontal axis in percent. The dotted line is the nominal risk or confidence
        level (of a power, 80 %). Of `calibrate`, a row is a rule, grey marks are the cells, and the
        tools that use the rule stand at the right.

    Raises
    ------
    ValueError
        For the result of another function; for a map of more or fewer than two dims.

    Examples
    --------
    >>> import perfarray
    >>> nest = {"sizes": {"binary": [3, 10]}, "variances": {"binary": 4e-4}}
    >>> effects = {"df": "normal", "n_experiments": 50, "rng": 1}
    >>> ax = rates(perfarray.coverage("ratio_interval", **nest, **effects))
    >>> ax.get_title(loc="left").replace("\n", " ")
    'Coverage of ratio_interval, normal effects, 50 experiments'
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['binary 3', 'binary 10']
    """
    function = str(result.attrs.get("result"))
    if function not in TITLES:
        raise ValueError(
            f"a result of {function!r} has no rates; those of {', '.join(TITLES)} have"
        )
    check_choice("kind", kind, ("rows", "map"))
    calibrated = function == "calibrate"
    shares = result["false_alarm_rate" if calibrated else "estimate"]
    if "rule" in shares.dims:  # The words of the names of rules, which are names of code.
        names = [str(rule).replace("_percent", " %") for rule in shares["rule"].values]
        shares = shares.assign_coords(rule=("rule", [name.replace("_", " ") for name in names]))
    if kind == "map":
        return _draw_map(result, shares, ax)
    frame = RowFrame(ax, *shown_rows(shares, "share"))
    ax, heights = frame.ax, frame.heights
    share, error = 100 * frame.values(shares), 100 * frame.values(result["error"])
    target = _target(result)
    draw_reference(ax, target, f"{target:g} %")
    if calibrated:
        for row in frame.rows:
            cell_rates = 100 * result["cell_rate"].isel(row.cell).values.ravel()
            ax.plot(
                cell_rates,
                np.full(cell_rates.size, row.y),
                "|",
                color=GREY,
                markersize=9,
                zorder=1.5,
                label="cells",
                gid="cells",
            )
        users = [
            str(result["used_by"].isel(rule=row.cell["rule"]).values.ravel()[0])
            for row in frame.rows
        ]
    texts, header = (users, "used by") if calibrated else (formatted(share, "{:.1f} %"), "share")
    ax.hlines(
        heights,
        np.maximum(share - 2 * error, 0),
        np.minimum(share + 2 * error, 100),
        color=COLOURS[0],
        linewidth=1.6,
        zorder=2,
    )
    frame.draw_points(share, zorder=3, gid="rate")
    frame.note(np.isnan(share), "no answer")
    label = (
        "percent of comparisons"
        if function in ("calibrate", "false_alarm_rate")
        else "percent of experiments"
    )
    return frame.finish([_title(result), *selection(shares)], label, texts, header)


def _title(result: xr.Dataset) -> str:
    function, attrs = str(result.attrs["result"]), result.attrs
    if function == "calibrate":
        return TITLES[function]
    return (
        f"{TITLES[function]} of {attrs['method']}, {attrs['distribution']} effects, "
        f"{attrs['n_experiments']} experiments"
    )


def _target(result: xr.Dataset) -> float:
    """Return the nominal value of the shares, in percent."""
    level = float(result.attrs["confidence_level"])
    return 100 * {"coverage": level, "power": DESIRED_POWER}.get(
        str(result.attrs["result"]), round(1 - level, 12)
    )


def _draw_map(result: xr.Dataset, rates_of_cells: xr.DataArray, ax: Axes | None) -> Axes:
    shares = rates_of_cells.squeeze(drop=True)
    if shares.ndim != 2:
        raise ValueError(
            f"a map has two dims, and the result has {dict(shares.sizes)}: select from the "
            "others, as in .sel(...)"
        )
    row_dim, column_dim = map(str, shares.dims)
    ax = axes_for(ax, (2.5 + 0.45 * shares.sizes[column_dim], 1.8 + 0.3 * shares.sizes[row_dim]))
    target, percent = _target(result), 100 * shares.values
    worse_above = result.attrs["result"] in ("calibrate", "false_alarm_rate")
    ax.pcolormesh(
        percent, cmap="RdBu_r" if worse_above else "RdBu", vmin=target - REACH, vmax=target + REACH
    )
    for (row, column), value in np.ndenumerate(percent):
        colour = "white" if abs(value - target) > 0.5 * REACH else DARK
        ax.text(
            column + 0.5,
            row + 0.5,
            f"{value:.0f}",
            ha="center",
            va="center",
            color=colour,
            fontsize=NOTE_SIZE,
            gid="share",
        )
    for axis, dim in ((ax.xaxis, column_dim), (ax.yaxis, row_dim)):
        labels = shares[dim].values.tolist() if dim in shares.coords else range(shares.sizes[dim])
        axis.set_ticks(
            np.arange(shares.sizes[dim]) + 0.5,
            shortened([str(label) for label in labels]),
            fontsize=LABEL_SIZE,
        )
        axis.set_tick_params(length=0)
        axis.set_label_text(dim)
    return describe(ax, [_title(result), *selection(rates_of_cells)])

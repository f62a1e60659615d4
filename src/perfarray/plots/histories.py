"""A metric over commits: every value with its limits, the segments, and the changes by name."""

from typing import Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import plural
from perfarray.plots.figure import DARK, GREY, NOTE_SIZE, Floats, axes_for, describe, elided, number_format, plain, selection
from perfarray.plots.rows import TALLEST, Row, label_rows, rows_of, size_for

VERDICTS: Final = {"slower": "#D55E00", "faster": "#009E73"}
"""Colours of changes; the others are grey."""

LANE: Final = 0.5
"""Height of a series in inches, where several stand under each other."""

FILLED: Final = 0.36
"""Share of its lane that a series fills on either side of the middle."""

NAMED: Final = 9
"""Commits that are named below."""


def history(result: xr.Dataset, ax: Axes | None = None, *, only_changes: bool = False) -> Axes:
    """Draw the values of every series along its commits, the mean of each segment, and its changes.

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
        Horizontal axis: commits, in their order. Of one series the vertical axis has units; several stand under each other, each as high
        as its own values are apart. Lines through values are their limits. A change is a dashed line with its size, orange where it is
        slower, green where faster; dotted where another host made it. Of more series than there is room for, those with the smallest
        `pvalue_any` are drawn.

    Raises
    ------
    ValueError
        Where there is nothing to draw.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np, xarray as xr, perfarray
    >>> noise = np.random.default_rng(1).normal(0, 0.01, size=(40, 3))
    >>> slower = np.where(np.arange(40) < 25, 10.0, 10.6)[:, None]
    >>> times = xr.DataArray(slower * (1 + noise), dims=("commit", "execution"), coords={"commit": [f"c{i}" for i in range(40)]})
    >>> ax = times.perf.plot.history()
    >>> [text.get_text() for text in ax.texts if text.get_gid() == "change"]
    ['c25: 1.06x']
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    dim = str(result.attrs["dim"])
    rows, left_out = _rows(result, dim, only_changes)
    is_single = len(rows) == 1
    ax = axes_for(ax, (9.0, 4.0) if is_single else (9.0 + size_for(rows)[0] - 5.5, size_for(rows, LANE)[1]))
    labels = elided(
        [_text(label) for label in result[dim].values] if dim in result.coords else list(map(str, range(result.sizes[dim]))), 12
    )
    for row in rows:
        _draw(ax, result.isel(row.cell), row.y, labels, is_single)
    if is_single:
        ax.yaxis.set_major_formatter(number_format(str(result["value"].attrs.get("units", ""))))
        ax.set_ylabel(str(result.attrs["metric"]))
    else:
        label_rows(ax, rows)
    ticks = np.unique(np.linspace(0, len(labels) - 1, min(NAMED, len(labels))).round().astype(int))
    ax.set_xticks(ticks, [plain(labels[index]) for index in ticks.tolist()], fontsize=NOTE_SIZE)
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_xlabel(dim)
    cell = result["pvalue_any"].isel(rows[0].cell) if is_single else result["pvalue_any"]
    describe(ax, ", ".join([f"{str(result.attrs['metric']).capitalize()} over {plural(dim)}", *selection(cell), *left_out]))
    return ax


def _rows(result: xr.Dataset, dim: str, only_changes: bool) -> tuple[list[Row], list[str]]:
    """Return the series that are drawn, from the top down, and what the title says of the others."""
    pvalue = result["pvalue_any"]
    is_shown = (result["n"] > 0) & (result["change"].any(dim) | (not only_changes))
    candidates = [row for row in rows_of(pvalue) if bool(is_shown.isel(row.cell))]
    if not candidates:
        reason = "no series changed; without only_changes all are drawn" if only_changes else "nothing was measured"
        raise ValueError(f"history has nothing to draw: {reason}")
    limit = int(TALLEST / LANE)
    likely = sorted(candidates, key=lambda row: float(np.nan_to_num(pvalue.isel(row.cell), nan=2.0)))[:limit]
    selected = [row for row in candidates if row in likely]
    rows = [
        row._replace(y=float(lane), label=", ".join(filter(None, (row.group, row.label))), group="") for lane, row in enumerate(selected)
    ]
    selection_rule = "the most likely to have changed" if len(selected) < len(candidates) else "those that changed"
    return rows, [f"{len(selected)} of {pvalue.size}: {selection_rule}"] if len(selected) < pvalue.size else []


def _text(label: object) -> str:
    """Write a label; of a date the day."""
    return str(np.datetime_as_string(label, unit="D")) if isinstance(label, np.datetime64) else str(label)


def _draw(ax: Axes, series: xr.Dataset, y: float, labels: list[str], is_single: bool) -> None:
    """Draw one series: in its units where it is alone, else into its lane."""
    names = ("value", "value_lower", "value_upper", "segment_mean")
    value, lower, upper, mean = (series[name].values for name in names)
    measured = np.flatnonzero(~np.isnan(value))
    middle, half = _lane([value, mean], measured)

    def scaled(values: Floats) -> Floats:
        return values if is_single else y - FILLED * np.clip((values - middle) / half, -1.25, 1.25)

    ax.vlines(measured, scaled(lower[measured]), scaled(upper[measured]), color=GREY, linewidth=0.8, alpha=0.6, gid="limits")
    ax.plot(measured, scaled(value[measured]), ".", color=GREY, markersize=4, gid="values")
    segment = series["segment"].values[measured]
    for number in np.unique(segment).tolist():
        positions = measured[segment == number]
        ax.plot([positions[0] - 0.4, positions[-1] + 0.4], [scaled(mean[positions[:1]])[0]] * 2, color=DARK, linewidth=1.6, gid="segment")
    changed, sizes = np.flatnonzero(series["change"].values), series["estimate"].values
    verdicts, causes = series["verdict"].values, series["cause"].values
    for number, index in enumerate(changed.tolist()):
        colour = VERDICTS.get(str(verdicts[index]), GREY)
        style = ":" if causes[index] == "host" else "--"
        size = f"{sizes[index]:.2f}x"
        low, high = ax.get_ylim() if is_single else (y + 0.45, y - 0.45)
        label = "another host" if causes[index] == "host" else str(verdicts[index])
        ax.plot([index - 0.5] * 2, [low, high], style, color=colour, linewidth=1.0, zorder=0, gid="mark", scaley=False, label=label)
        rises = sizes[index] > 1  # the room is then below the values that follow
        rise = 10 * (number % 3) + 2 if is_single else 0
        ax.annotate(
            plain(f"{labels[index]}: {size}" if is_single else size), (index - 0.5, low if rises else high), (3, rise if rises else -rise),
            textcoords="offset points", ha="left", va="bottom" if rises else "top", color=colour, fontsize=NOTE_SIZE, gid="change",
        )  # fmt: skip


def _lane(series: list[Floats], measured: npt.NDArray[np.intp]) -> tuple[float, float]:
    """Return the middle of what a lane shows, and half its height."""
    values = np.concatenate([row_values[measured] for row_values in series])
    low, high = float(values.min()), float(values.max())
    return (low + high) / 2, (high - low) / 2 or 1.0

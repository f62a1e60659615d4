"""Intervals of many replications of one experiment, side by side, and the true value."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import level_of_intervals
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    Floats,
    axes_for,
    describe,
    draw_reference,
    selection,
    write_units,
)

ESTIMATES: Final = ("estimate", "speedup")  # the first variable that a result has is drawn
WIDTH: Final = 150.0  # points of the widths of all intervals together; each has one to twelve


def strip(
    result: xr.Dataset,
    ax: Axes | None = None,
    *,
    along: str | None = None,
    truth: float | None = None,
) -> Axes:
    """Draw an interval for each label of a dim, side by side.

    Parameters
    ----------
    result : Dataset
        A result with `estimate`, `lower` and `upper`, or with a `speedup` without limits, of one
        cell but for one dim.
    ax : Axes, optional
        Where to draw; default: a new figure. Several results, such as those of several methods, may
        be drawn on one.
    along : str, optional
        The dim of the replications; default: the only one with several labels.
    truth : float, optional
        The true value: drawn as a line; intervals that do not contain it have another colour. The
        title counts those that do.

    Returns
    -------
    Axes
        Horizontal axis: the replications in their order.

    Raises
    ------
    ValueError
        A result without estimates; several dims with several labels and none selected with `along`.

    Examples
    --------
    >>> import perfarray
    >>> nest = {"sizes": {"execution": 5}, "variances": {"execution": 1e-4}}
    >>> dims = {"version": ["old", "new"], "benchmark": 9, "experiment": 20}
    >>> result = perfarray.simulate(**nest, dims=dims, rng=1).perf.score_ratio_interval("old")
    >>> ax = result.perf.plot(kind="strip", along="experiment", truth=1.0)
    >>> ax.get_title(loc="left")
    '19 of 20 intervals of 95 % along experiment hold 1, new'
    """
    name = next((name for name in ESTIMATES if name in result), None)
    if name is None:
        raise ValueError(
            "a strip draws 'estimate' with its limits, or 'speedup'; the result has "
            f"{[str(key) for key in result.data_vars]}"
        )
    long = [str(dim) for dim, size in result[name].sizes.items() if size > 1]
    along = along if along is not None else long[0] if len(long) == 1 else ""
    if along not in result[name].dims or set(long) - {along}:
        raise ValueError(
            f"a strip lies along one dim, but {long} have several labels. Give one of them as "
            "along=, and select or facet the others"
        )
    has_limits = {"lower", "upper"} <= set(result.data_vars)
    names = [name, "lower", "upper"] if has_limits else [name]
    result = result[names].compute().squeeze([dim for dim in result[name].dims if dim != along])
    ax = axes_for(ax, (6.8, 3.8))
    first_title = ax.get_title(
        loc="left"
    )  # A second result in the same Axes keeps the title of the first.
    x = np.arange(1.0, result.sizes[along] + 1)
    title = f"{name.capitalize()} along {along}"
    if has_limits:
        title = _draw_intervals(ax, result, x, along, truth)
        ax.plot(x, result[name].values, "o", color=DARK, markersize=3, label="estimate", zorder=3)
    else:
        label = f"{name}, {str(result.attrs.get('result', 'the result')).replace('_', ' ')}"
        ax.plot(
            x,
            result[name].values,
            "--",
            color=COLOURS[3],
            marker=".",
            linewidth=1,
            label=label,
            zorder=3,
        )
    if truth is not None:
        # Drawn above the intervals, to show which of them contain it.
        draw_reference(ax, truth, "truth", is_horizontal=True, zorder=2)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(x[0] - 0.7, x[-1] + 0.7)
    ax.set_xlabel(along)
    if first_title:
        return describe(ax, [first_title])
    ax.set_ylabel(str(result[name].attrs.get("long_name", name)))
    write_units(ax.yaxis, str(result[name].attrs.get("units", "1")))
    return describe(ax, [title, *selection(result[name])])


def _draw_intervals(
    ax: Axes, result: xr.Dataset, x: Floats, along: str, truth: float | None
) -> str:
    """Draw the intervals that have two limits, and return a title that counts them."""
    lower, upper = result["lower"].values, result["upper"].values
    bounded = np.isfinite(lower) & np.isfinite(upper)
    covering = bounded if truth is None else bounded & (lower <= truth) & (truth <= upper)
    level = level_of_intervals(result) or "unknown level"
    width = min(12.0, max(1.0, WIDTH / len(x)))
    for mask, colour, label in (
        (covering, COLOURS[1], "interval"),
        (bounded & ~covering, COLOURS[5], "interval that misses the truth"),
    ):
        if mask.any():
            ax.vlines(
                x[mask],
                lower[mask],
                upper[mask],
                colors=colour,
                linewidth=width,
                label=label,
                zorder=2,
            )
    number = int(np.count_nonzero(bounded))
    remark = f" ({len(x) - number} more without limits)" if number < len(x) else ""
    if truth is None:
        return f"{number} intervals of {level} along {along}{remark}"
    return (
        f"{int(np.count_nonzero(covering))} of {number} intervals of {level} along {along} "
        f"hold {truth:g}{remark}"
    )

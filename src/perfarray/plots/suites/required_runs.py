"""How many runs are enough: the interval of a ratio against the number of runs it rests on."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.plots.enough import draw_enough, further
from perfarray.plots.figure import COLOURS, DARK, axes_for, compared, describe

DODGE: Final = 0.2
"""Distance of cells at one number of runs, as a share of the least step."""


def required_runs(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the estimate and its interval at every number of runs, and the number from which on it is as narrow as was asked for.

    Parameters
    ----------
    result : Dataset
        What `perfarray.required_runs` returned, or a selection of it: `estimate`, `lower` and `upper` along `runs`, and `required`. Up to
        seven cells stand beside each other; more have a row each, with the numbers alone.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Horizontal axis: runs of every benchmark, as far as there are any; vertical axis: the ratio of scores. The line of no change is
        drawn where it is near: it does not make narrow intervals into dots. In rows: the runs that are required; hollow, what is
        expected to suffice where the runs there are do not.

    Raises
    ------
    ValueError
        When there is no cell.
    """
    result = result.compute()
    required = result["required"]
    if required.size > len(COLOURS):
        width = f" for an interval {result.attrs['width']:g} wide" if "width" in result.attrs else ""
        label = f"runs of every {result.attrs.get('across', 'benchmark')}{width}"
        return draw_enough(ax, result, quantity="runs", label=label, title="Required runs")
    if not required.size:
        raise ValueError(f"the result has no cell to draw: its dims are {dict(required.sizes)}")
    ax = axes_for(ax, (7.5, 4.5))
    runs = result["runs"].values.astype(float)
    step = DODGE * float(np.diff(runs).min()) if len(runs) > 1 else 0.0
    for number, index in enumerate(np.ndindex(*required.shape)):
        position = dict(zip(required.dims, index, strict=True))
        cell, colour = result.isel(position), COLOURS[number]
        shift = step * (number - (required.size - 1) / 2)
        name = ", ".join(str(required[dim].values[position[dim]]) for dim in required.dims if required.sizes[dim] > 1)
        label = (name or "interval") + further(cell, "runs")
        ax.vlines(runs + shift, cell["lower"].values, cell["upper"].values, color=colour, linewidth=2, label=label)
        if "estimate" in cell:
            ax.plot(runs + shift, cell["estimate"], "o", color=colour, markersize=4, gid="estimates")
        n_required = float(cell["required"])
        if np.isfinite(n_required):
            ax.axvline(n_required + shift, color=colour if name else DARK, linewidth=1, linestyle=":", label="_" if name else "required")
    _draw_no_change(ax)
    across = result.attrs.get("across", "benchmark")
    is_measured = result["lower"].notnull().any(required.dims).values
    ax.set_xlim(runs.min() - 0.5, (runs[is_measured].max() if is_measured.any() else runs.max()) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"runs of every {across}")
    level = 100 * float(result.attrs.get("confidence_level", 0.95))
    ax.set_ylabel(f"ratio of scores ({level:g} % interval)")
    describe(ax, ", ".join(["Interval by runs", *compared(result, required)]))
    return ax


def _draw_no_change(ax: Axes) -> None:
    """Draw the line of no change, unless the view would have to be more than twice as high for it."""
    low, high = ax.get_ylim()
    if low - (high - low) < 1.0 < high + (high - low):
        ax.axhline(1.0, color=DARK, linewidth=0.8, zorder=0)

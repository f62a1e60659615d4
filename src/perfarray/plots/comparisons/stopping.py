"""When to stop: the half-width of an interval against the units it rests on, the one that is wanted, and where a rule stops."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from perfarray.conventions import plural
from perfarray.plots.enough import draw_enough, further
from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe

RULES: Final = {"stein": "Stein's rule", "t": "t after every unit", "always_valid": "always valid", "cv": "coefficient of variation"}
"""What the rules are called."""


def half_widths(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the relative half-width after each further unit, the one that is wanted, and where the rule stops.

    Parameters
    ----------
    result : Dataset
        What `perfarray.stopping` returned, or a selection of it. Up to seven cells have a line each; more have a row, with how many units
        are enough.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Half-width in percent against the units taken; dotted the half-width that is wanted, in grey the units at which the rule begins to
        look; a point where it stops. In rows: the units that are enough, hollow where there are fewer.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.simulate(sizes={"execution": 40}, variances={"execution": 4e-4}, rng=1)
    >>> ax = times.perf.stopping(half_width=0.01).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('executions', 'half-width, percent')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    required, target, start = result["required"], float(result.attrs["half_width_wanted"]), int(result.attrs["start"])
    unit = plural(str(result.attrs["unit"]))
    units = f"{unit} a side" if "baseline" in result.attrs else unit
    title = f"Stopping, {RULES[str(result.attrs['rule'])]}"
    if required.size > len(COLOURS):
        return draw_enough(ax, result, quantity=unit, label=f"{units} for ±{100 * target:g} %", title=title)
    if not required.size:
        raise ValueError(f"the result has no cell to draw: its dims are {dict(required.sizes)}")
    ax = axes_for(ax, (7.0, 4.2))
    for number, index in enumerate(np.ndindex(*required.shape)):
        position = dict(zip(required.dims, index, strict=True))
        cell, colour = result.isel(position), COLOURS[number]
        name = ", ".join(str(required[dim].values[position[dim]]) for dim in required.dims if required.sizes[dim] > 1)
        reached = 100 * cell["half_width"].where(np.isfinite(cell["half_width"]))
        label = (name or "half-width") + further(cell, unit)
        ax.plot(cell["runs"], reached, color=colour, label=label)
        if np.isfinite(stop := float(cell["required"])):
            ax.plot(stop, float(reached.sel(runs=stop)), "o", color=colour, label="_" if name else f"stops at {stop:.0f}")
    ax.axhline(100 * target, color=DARK, linewidth=0.8, linestyle=":", label=f"±{100 * target:g} %")
    ax.axvline(start, color=GREY, linewidth=0.8)
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)) if high > 5 * low else MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(units)
    ax.set_ylabel("half-width, percent")
    describe(ax, ", ".join([title, *compared(result, required)]))
    return ax

"""Performance profiles: which share of the benchmarks each system solves."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import SUITE
from perfarray.plots.figure import (
    COLOURS,
    SHORT,
    TICKS,
    axes_for,
    describe,
    number_format,
    selection,
    write_percent,
    write_units,
)
from perfarray.plots.rows import largest_part, named_cells

# Neighbours differ in hue, since bands lie over each other
HUES: Final = tuple(COLOURS[number] for number in (0, 2, 3, 4, 1, 5, 6))
MAX_BANDS: Final = 4  # more bands over each other hide the curves
BEYOND: Final = 1.05  # factor by which the horizontal axis is longer than the curves


def profile(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the share of benchmarks that each system solves within a factor, or within a time.

    Parameters
    ----------
    result : Dataset
        What `suites.curves.profile` computes: one curve for each cell.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Horizontal axis: the factor of the fastest system's time, or the time; logarithmic where it
        is long. Up to four curves have bands, the pointwise limits. The legend has the numbers of
        benchmarks solved. Of more systems than colours those that solve most are drawn.

    Raises
    ------
    ValueError
        When no system solves a benchmark.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fast": [[1.0], [4.0]], "slow": [[2.0], [2.0]]}
    >>> times = perfarray.from_samples(samples, level=("benchmark", "execution"))
    >>> ax = times.perf.plot.profile()
    >>> [line.get_ydata().tolist() for line in ax.lines if line.get_gid() != "limits"]
    [[0.0, 0.5, 1.0, 1.0], [0.0, 0.5, 1.0, 1.0]]
    """
    result = result.compute()
    other_suites: list[str] = []
    if result.sizes.get(SUITE, 1) > 1:
        counts = result["n"].max([dim for dim in result["n"].dims if dim != SUITE])
        position, other_suites = largest_part(counts, "suites")
        result = result.isel(position)
    solved = result["solved"]
    if not (solved > 0).any():
        raise ValueError("no system solves a benchmark; nothing to draw")
    is_drawn, left_out = (solved.notnull() & (result["n"] > 0)).values, list[str]()
    order = np.argsort(-np.where(is_drawn, solved.values, -1.0), axis=None, kind="stable")
    if np.count_nonzero(is_drawn) > len(COLOURS):
        left_out = [f"{len(COLOURS)} of {np.count_nonzero(is_drawn)}: most benchmarks solved"]
        is_drawn = np.isin(np.arange(solved.size), order[: len(COLOURS)]).reshape(solved.shape)
    ax = axes_for(ax, (6.5, 4.0))
    cells = named_cells(solved, is_drawn)
    is_ratio = result.attrs["kind"] == "ratio"
    values = result["value"].isel(place=slice(1, None)).values
    first, last = (1.0 if is_ratio else np.nanmin(values)), np.nanmax(values)
    is_log = first > 0 and last > SHORT * first
    left = first if is_ratio else first / BEYOND if is_log else 0.0
    right = last * BEYOND if last > left else left + 1.0
    if is_log:
        ax.set_xscale("log")
        right = last * (last / left) ** (BEYOND - 1)
    has_bands = len(cells) <= MAX_BANDS
    for (index, name), colour in zip(cells, HUES, strict=False):
        cell = result.isel(index)
        _draw_curve(ax, cell, name or "solved", colour, (left, right), has_band=has_bands)
    ax.set(xlim=(left, right), ylim=(0, 1.02))
    write_percent(ax.yaxis)
    metric, units = str(result.attrs.get("metric", "time")), str(result["value"].attrs["units"])
    write_units(ax.xaxis, units)
    if is_ratio:
        if not is_log:
            ax.xaxis.set_major_locator(MaxNLocator(TICKS, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(lambda factor, _: f"{factor:.4g}x")
        ax.set_xlabel(f"{metric} as a factor of the fastest {result.attrs['dim']}'s")
    else:
        ax.set_xlabel(f"{metric} of a benchmark")
    ax.set_ylabel(f"share of the {int(result['n'].max())} benchmarks solved")
    percent = number_format("1")(100 * float(result.attrs["confidence_level"]))
    title = "Performance profile" if is_ratio else "Benchmarks solved within a time"
    bands = f"pointwise {percent} % bands" if has_bands else f"no bands above {MAX_BANDS} systems"
    return describe(ax, [title, bands, *selection(solved), *other_suites, *left_out])


def _draw_curve(
    ax: Axes,
    cell: xr.Dataset,
    name: str,
    colour: str,
    ends: tuple[float, float],
    *,
    has_band: bool,
) -> None:
    """Draw the steps of one system up to the right end, and its band."""
    reached = np.isfinite(cell["value"].values)
    x = np.append(np.maximum(cell["value"].values[reached], ends[0]), ends[1])
    share, lower, upper = (
        np.append(cell[variable].values[reached], cell[variable].values[reached][-1])
        for variable in ("share", "lower", "upper")
    )
    number = f"{int(cell['solved'])} of {int(cell['n'])}"
    if has_band:
        ax.fill_between(x, lower, upper, step="post", color=colour, alpha=0.1, linewidth=0)
        for limit in (lower, upper):
            ax.step(x, limit, where="post", color=colour, alpha=0.4, linewidth=0.6, gid="limits")
    ax.step(x, share, where="post", color=colour, linewidth=1.6, label=f"{name}: {number}")

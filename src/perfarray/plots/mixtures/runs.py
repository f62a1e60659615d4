"""Runs of several configurations, over each other or side by side, and their axis."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from perfarray.conventions import plural
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    LABEL_SIZE,
    NOTE_SIZE,
    PREFIXED,
    UnitFormatter,
    axes_for,
    describe,
    number_format,
    selection,
    write_units,
)
from perfarray.plots.rows import TALLEST, extremes, named_cells

# an axis that spans a smaller share of its values shows differences: four digits would repeat at
# every tick
CLOSE: Final = 0.005
ALIKE: Final = (
    5.0  # ratio of the largest median to the least, above which runs do not share a linear axis
)
FLAT: Final = 12.0  # an axis this many times as long as most violins shows none of their shapes
WIDTH: Final = 0.8  # width of the widest violin, where neighbours are 1 apart
# inches of a violin and its name; where the figure would be too wide, names are upright and violins
# closer
ROOM: Final = 0.9
NARROWEST: Final = 0.3  # inches that a violin takes at least


def overlay(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the runs of all cells over each other: densities, or cumulative distributions.

    Returns
    -------
    Axes
        Horizontal axis: the runs. Of more cells than colours, those with the lowest and the highest
        medians are drawn, and the title says so. Where medians are so far apart that densities
        would be lines, the axis is logarithmic, and all densities have one height. A cell whose
        runs all have one value is a vertical line.

    Raises
    ------
    ValueError
        When no cell has a run.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot.overlay(kind="cdf")
    >>> [line.get_xdata().tolist() for line in ax.lines]
    [[1.0, 1.1, 1.4], [0.8, 0.9, 1.2]]
    """
    curves = curves.compute()
    median = curves["median"]
    is_drawn, left_out = np.isfinite(median.values), list[str]()
    if not is_drawn.any():
        raise ValueError("no cell has a run; nothing to draw")
    if np.count_nonzero(is_drawn) > len(COLOURS):
        low, high, left_out = extremes(median, len(COLOURS), "median")
        is_drawn = np.isin(np.arange(median.size), [*low, *high]).reshape(median.shape)
    ax = axes_for(ax, (7.5, 4.5))
    cells = [(name or "runs", curves.isel(index)) for index, name in named_cells(median, is_drawn)]
    scaled = _far_apart([cell for _, cell in cells])
    for (name, cell), colour in zip(cells, COLOURS, strict=False):
        x = cell["x"].values
        if "reached" in cell:
            finite = np.isfinite(x)
            ax.step(
                x[finite],
                cell["reached"].values[finite],
                where="post",
                color=colour,
                linewidth=1.5,
                label=name,
            )
        elif np.isnan(cell["density"].values).any():
            ax.axvline(float(cell["median"]), color=colour, linewidth=1.5, label=name)
        else:
            height = cell["density"].values / (cell["density"].values.max() if scaled else 1.0)
            ax.plot(x, height, color=colour, linewidth=1.5, label=name)
            ax.fill_between(x, 0, height, color=colour, alpha=0.15, linewidth=0)
    ax.set_ylim(bottom=0)
    units = str(curves.attrs["units"])
    write_values(ax, "x", str(curves.attrs["metric"]), units)
    if scaled:
        ax.set_xscale("log")
        write_units(ax.xaxis, units)
    if "reached" in curves:
        ax.set_ylabel("share of the runs up to here")
    elif scaled:
        ax.set_ylabel("density (highest = 1)")
    else:
        write_density(ax, units)
    return describe(ax, [_distribution_of(curves.attrs), *selection(median), *left_out])


def violin(curves: xr.Dataset, ax: Axes | None = None, relative: bool | None = None) -> Axes:
    """Draw a violin for every configuration: density, quartiles as a bar, the median as a dot.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.violins` computes: one violin for each cell.
    ax : Axes, optional
        Where to draw; default: a new figure, as wide as its violins need.
    relative : bool, optional
        Whether the runs of each configuration are divided by their median, which then stands under
        its name; default: where the largest median is more than five times the least, or violins
        would be flat on one axis.

    Returns
    -------
    Axes
        Densities reach from the least to the largest run; all violins have the same width.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot.violin()
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['old', 'new']
    """
    curves = curves.compute()
    median = curves["median"]
    limit, is_drawn, left_out = int(TALLEST / NARROWEST), None, list[str]()
    if median.size > limit:
        low, high, left_out = extremes(
            (curves["q3"] - curves["q1"]) / median, limit, "interquartile range"
        )
        is_drawn = np.isin(np.arange(median.size), [*low, *high]).reshape(median.shape)
    selected = named_cells(median, is_drawn, limit=30)
    cells, names = [curves.isel(index) for index, _ in selected], [name for _, name in selected]
    crowded = len(cells) > TALLEST / ROOM
    ax = axes_for(ax, (max(4.0, 1.5 + min(ROOM * len(cells), TALLEST)), 6.0 if crowded else 4.5))
    units, metric = str(curves.attrs["units"]), str(curves.attrs["metric"])
    medians = [float(cell["median"]) for cell in cells]
    relative = _far_apart(cells) if relative is None else relative
    if relative:
        format_number, separator = number_format(units), ", " if crowded else "\n"
        names = [
            f"{name}{separator}{format_number(value)}".strip()
            for name, value in zip(names, medians, strict=True)
        ]
        units, metric = "1", f"{metric} / median"
    for number, (cell, value) in enumerate(zip(cells, medians, strict=True)):
        if np.isfinite(value):
            _draw_violin(ax, number, cell, value if relative else 1.0)
        else:
            ax.text(
                number,
                0.02,
                "not measured",
                transform=ax.get_xaxis_transform(),
                rotation=90,
                ha="center",
                fontsize=NOTE_SIZE,
                color=DARK,
            )
    turned = max(len(line) for name in names for line in name.split("\n")) > 10 and len(names) > 1
    rotation, alignment = (90, "center") if crowded else (30, "right") if turned else (0, "center")
    ax.set_xticks(range(len(names)), names, fontsize=LABEL_SIZE, rotation=rotation, ha=alignment)
    ax.set_xlim(-0.6, len(cells) - 0.4)
    write_values(ax, "y", metric, units)
    return describe(ax, [_distribution_of(curves.attrs), *selection(median), *left_out])


def _draw_violin(ax: Axes, number: int, cell: xr.Dataset, unit: float) -> None:
    low, median, high = (float(cell[name]) / unit for name in ("q1", "median", "q3"))
    density = cell["density"].values
    if np.isfinite(density).all():
        half = 0.5 * WIDTH * density / density.max()
        y = cell["x"].values / unit
        ax.fill_betweenx(
            y,
            number - half,
            number + half,
            color=COLOURS[1],
            edgecolor=COLOURS[0],
            linewidth=0.8,
            label="density",
        )
    else:
        ax.hlines(
            median, number - 0.3, number + 0.3, color=COLOURS[0], linewidth=1.6, label="density"
        )
    ax.vlines(number, low, high, color=DARK, linewidth=5, label="quartiles", zorder=3)
    ax.plot(
        number,
        median,
        "o",
        color="white",
        markeredgecolor=DARK,
        markersize=5,
        label="median",
        zorder=4,
    )


def _far_apart(cells: Sequence[xr.Dataset]) -> bool:
    """Return whether positive medians are so far apart that most densities are flat on one axis."""
    measured = [cell for cell in cells if np.isfinite(cell["median"])]
    medians = [float(cell["median"]) for cell in measured]
    if len(medians) < 2 or min(medians) <= 0:
        return False
    grids = [cell["x"].values[np.isfinite(cell["x"].values)] for cell in measured]
    lengths = [grid[-1] - grid[0] for grid in grids if grid[-1] > grid[0]]
    span = max(grid[-1] for grid in grids) - min(grid[0] for grid in grids)
    n_flat = sum(FLAT * length < span for length in lengths)
    return 2 * n_flat > len(lengths) or max(medians) > ALIKE * min(medians)


def _distribution_of(attrs: dict[Hashable, object]) -> str:
    return f"Distribution of {attrs['metric']} over {plural(str(attrs['value']))}"


def write_values(ax: Axes, axis_name: str, name: str, units: str) -> None:
    """Write numbers with units along an axis.

    Where they hardly differ, their differences from a round number.
    """
    axis, (low, high) = getattr(ax, f"{axis_name}axis"), getattr(ax, f"get_{axis_name}lim")()
    origin = 0.0
    if 0 < high - low < CLOSE * abs(low + high) / 2:
        origin = float(f"{(low + high) / 2:.4g}")
        name = f"{name}, from {number_format(units)(origin)}"
    axis.set_major_formatter(UnitFormatter(units, origin))
    axis.set_label_text(name)


def write_density(ax: Axes, units: str) -> None:
    """Write a density along the vertical axis, per unit of the horizontal axis, such as ns."""
    largest = max(map(abs, ax.get_xlim()))
    power = (
        3 * int(np.clip(np.floor(np.log10(largest) / 3), -8, 8))
        if units in PREFIXED and largest > 0
        else 0
    )
    ax.yaxis.set_major_formatter(lambda value, _: f"{value * 10.0**power:g}")
    ax.set_ylabel(
        "density" if units == "1" else f"density per {EngFormatter.ENG_PREFIXES[power]}{units}"
    )

"""Runs of several configurations, over each other or side by side, and their axis."""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from perfarray.conventions import BENCHMARK, VERSION, plural
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    LABEL_SIZE,
    NOTE_SIZE,
    PREFIXED,
    UnitFormatter,
    axes_for,
    describe,
    label_text,
    number_format,
    selection,
    write_units,
)
from perfarray.plots.rows import TALLEST, extremes, named_cells

# an axis that spans a smaller share of its values shows differences: four digits would repeat at
# every tick
CLOSE: Final = 0.005
# colours of versions: neighbours differ most
HUES: Final = tuple(COLOURS[number] for number in (0, 2, 3, 4, 5, 1, 6))
ALIKE: Final = (
    5.0  # ratio of the largest median to the least, above which runs do not share a linear axis
)
FLAT: Final = 12.0  # an axis this many times as long as most violins shows none of their shapes
WIDTH: Final = 0.8  # width of the widest violin, where neighbours are 1 apart
# inches of a violin and its name; where the figure would be too wide, names are upright and violins
# closer
ROOM: Final = 0.9
NARROWEST: Final = 0.3  # inches that a violin takes at least
NARROWEST_OF_GROUPS: Final = 0.2
GAP_OF_GROUPS: Final = 0.6  # room between violins of different benchmarks, in violins


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
    ax = axes_for(ax, (6.5, 4.0))
    cells = [(name or "runs", curves.isel(index)) for index, name in named_cells(median, is_drawn)]
    scaled = bool(far_apart(curves.where(median.copy(data=is_drawn)), median.dims))
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
        Whether runs are divided by a median, which then stands under the name; default: where the
        largest median is more than five times the least, or violins would be flat on one axis. It
        is that of the first version for all versions of a benchmark, else that of the runs.

    Returns
    -------
    Axes
        Densities reach from the least to the largest run; all violins have the same width. Versions
        (or the labels of the only dim besides benchmarks) have colours; those of a benchmark stand
        together.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = times.perf.plot.violin()
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['old', 'new']
    """
    curves = curves.compute()
    hue = coloured_dim(curves["median"])
    median = curves["median"].transpose(..., *([hue] if hue else []))
    units, metric = str(curves.attrs["units"]), str(curves.attrs["metric"])
    relative = bool(far_apart(curves, median.dims)) if relative is None else relative
    unit, of_label = common_medians(curves, hue)
    is_grouped = bool(of_label or not relative) and 0 < median.sizes.get(hue, 0) < median.size
    n_together = median.sizes[hue] if is_grouped else 1
    names, cells_of_names, left_out = _violins_drawn(curves, median, hue if is_grouped else "")
    room, step = (ROOM, 1.0) if n_together == 1 else (0.5 * ROOM, n_together + GAP_OF_GROUPS)
    inches = min(room * len(names) * step, TALLEST)
    crowded = inches < ROOM * len(names)
    ax = axes_for(ax, (max(4.0, 1.5 + inches), 6.0 if crowded else 4.5))
    if relative:
        format_number, separator = number_format(units), ", " if crowded else "\n"
        names = [
            f"{name}{separator}{format_number(float(unit.isel(cells[0])))}".strip()
            for name, cells in zip(names, cells_of_names, strict=True)
        ]
        units, metric = "1", f"{metric} / median{of_label and f' of {of_label}'}"
    violins = [
        (step * number + place, index, float(unit.isel(index)) if relative else 1.0)
        for number, cells in enumerate(cells_of_names)
        for place, index in enumerate(cells)
    ]
    for place, index, divisor in violins:
        colours = (HUES[index[hue]],) * 2 if hue else (COLOURS[1], COLOURS[0])
        label = label_text(hue, median[hue].values.tolist()[index[hue]]) if hue else "density"
        _draw_density(ax, place, curves.isel(index), divisor, colours, label)
    for place, index, divisor in violins:
        _draw_quartiles(ax, place, curves.isel(index), divisor)
    turned = max(len(line) for name in names for line in name.split("\n")) > 10 and len(names) > 1
    rotation, alignment = (90, "center") if crowded else (30, "right") if turned else (0, "center")
    middles = step * np.arange(len(names)) + (n_together - 1) / 2
    ax.set_xticks(middles, names, fontsize=LABEL_SIZE, rotation=rotation, ha=alignment)
    ax.set_xlim(-0.6, middles[-1] + n_together / 2 + 0.1)
    write_values(ax, "y", metric, units)
    return describe(ax, [_distribution_of(curves.attrs), *selection(median), *left_out])


def coloured_dim(median: xr.DataArray) -> str:
    """Return the dim whose labels have colours, "" where none has.

    That of versions, else the only one besides benchmarks, if it has no more labels than colours.
    """
    dims = [str(dim) for dim in median.dims if median.sizes[dim] > 1 and dim != BENCHMARK]
    hue = VERSION if VERSION in dims else dims[0] if len(dims) == 1 else ""
    return hue if median.sizes.get(hue, 0) <= len(COLOURS) else ""


def common_medians(curves: xr.Dataset, hue: str) -> tuple[xr.DataArray, str]:
    """Return the median that the runs of each cell are divided by, and the label whose it is.

    That of the first label with a colour, so that differences between labels are seen; each cell's
    own ("") where these are far apart, or some have no runs of the first.
    """
    median = curves["median"].transpose(..., *([hue] if hue else []))
    if not hue:
        return median, ""
    first = median.isel({hue: 0}, drop=True)
    if (median.notnull().any(hue) & ~(first > 0) | far_apart(curves, [hue])).any():
        return median, ""
    label = label_text(hue, median[hue].values.tolist()[0])
    return first.broadcast_like(median).transpose(*median.dims), label


def _violins_drawn(
    curves: xr.Dataset, median: xr.DataArray, together: str
) -> tuple[list[str], list[list[dict[Hashable, int]]], list[str]]:
    """Return names, the cells of each, and what the title says of others that have no room.

    Cells along the dim `together` have one name.
    """
    spread = (curves["q3"] - curves["q1"]) / curves["median"]
    spread = spread.transpose(*median.dims)
    n_together = median.sizes[together] if together else 1
    limit = int(TALLEST / (NARROWEST if n_together == 1 else NARROWEST_OF_GROUPS)) // n_together
    spread = spread.max(together) if together else spread
    is_drawn, left_out = None, list[str]()
    if spread.size > limit:
        low, high, left_out = extremes(spread, limit, "interquartile range")
        is_drawn = np.isin(np.arange(spread.size), [*low, *high]).reshape(spread.shape)
    named = named_cells(spread, is_drawn, limit=30)
    cells = [
        [{**index, together: place} for place in range(n_together)] if together else [index]
        for index, _ in named
    ]
    return [name for _, name in named], cells, left_out


def _draw_density(
    ax: Axes, place: float, cell: xr.Dataset, unit: float, colours: tuple[str, str], label: str
) -> None:
    density, median = cell["density"].values, float(cell["median"]) / unit
    if np.isfinite(density).all():
        half = 0.5 * WIDTH * density / density.max()
        ax.fill_betweenx(
            cell["x"].values / unit,
            place - half,
            place + half,
            color=colours[0],
            edgecolor=colours[1],
            linewidth=0.8,
            label=label,
        )
    elif np.isfinite(median):
        ax.hlines(median, place - 0.3, place + 0.3, color=colours[1], linewidth=1.6, label=label)
    else:
        ax.text(
            place,
            0.02,
            "not measured",
            transform=ax.get_xaxis_transform(),
            rotation=90,
            ha="center",
            fontsize=NOTE_SIZE,
            color=DARK,
        )


def _draw_quartiles(ax: Axes, place: float, cell: xr.Dataset, unit: float) -> None:
    low, median, high = (float(cell[name]) / unit for name in ("q1", "median", "q3"))
    if np.isfinite(median):
        ax.vlines(place, low, high, color=DARK, linewidth=5, label="quartiles", zorder=3)
        ax.plot(
            place,
            median,
            "o",
            color="white",
            markeredgecolor=DARK,
            markersize=5,
            label="median",
            zorder=4,
        )


def far_apart(curves: xr.Dataset, along: Sequence[Hashable]) -> xr.DataArray:
    """Return whether positive medians are so far apart that most densities are flat on one axis.

    Of the cells along some dims.
    """
    x, median = curves["x"], curves["median"]
    run = [*{*x.dims} - {*median.dims}]
    low, high = x.min(run), x.max(run)
    length, span = high - low, high.max(along) - low.min(along)
    length = length.where(length > 0)
    is_flat = 2 * length.where(FLAT * length < span).count(along) > length.count(along)
    least, largest = median.min(along), median.max(along)
    return (median.count(along) > 1) & (least > 0) & (is_flat | (largest > ALIKE * least))


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

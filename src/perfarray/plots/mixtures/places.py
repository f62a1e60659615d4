"""The axis along which runs lie."""

from collections.abc import Hashable
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from perfarray.conventions import plural
from perfarray.plots.figure import PREFIXED, Floats, number_format

CLOSE: Final = 0.005
"""Share of its place that an axis spans, below which it shows differences: four digits would write the same number at every tick."""

ALIKE: Final = 5.0
"""Ratio of the largest median to the least, above which runs do not share a linear axis."""

FLAT: Final = 12.0
"""Axes this many times as long as most violins show none of their shapes."""


def write_places(ax: Axes, axis_name: str, name: str, units: str) -> None:
    """Write numbers with units along an axis; where they hardly differ, their differences from a round number."""
    axis, (low, high) = getattr(ax, f"{axis_name}axis"), getattr(ax, f"get_{axis_name}lim")()
    format_number, origin = number_format(units), 0.0
    if 0 < high - low < CLOSE * abs(low + high) / 2:
        origin = float(f"{(low + high) / 2:.4g}")
        name = f"{name}, from {format_number(origin)}"
    axis.set_major_formatter(lambda value, _: format_number(value - origin))
    axis.set_label_text(name)


def write_density(ax: Axes, units: str) -> None:
    """Write a density along the vertical axis, per unit with the prefix that the horizontal axis has: per ns, where runs take some."""
    largest = max(map(abs, ax.get_xlim()))
    power = 3 * int(np.clip(np.floor(np.log10(largest) / 3), -8, 8)) if units in PREFIXED and largest > 0 else 0
    ax.yaxis.set_major_formatter(lambda value, _: f"{value * 10.0**power:g}")
    ax.set_ylabel("density" if units == "1" else f"density per {EngFormatter.ENG_PREFIXES[power]}{units}")


def distribution_of(attrs: dict[Hashable, object]) -> str:
    """Write what runs are, as the beginning of a title."""
    return f"Distribution of {attrs['metric']} over {plural(str(attrs['value']))}"


def far_apart(grids: list[Floats], medians: Floats) -> bool:
    """Return whether medians are all positive and so far apart that on one axis most violins would be flat."""
    measured = np.isfinite(medians)
    if np.count_nonzero(measured) < 2 or np.nanmin(medians) <= 0:
        return False
    measured_grids = [grid[np.isfinite(grid)] for grid, is_measured in zip(grids, measured, strict=True) if is_measured]
    lengths = [grid[-1] - grid[0] for grid in measured_grids if grid[-1] > grid[0]]
    span = max(grid[-1] for grid in measured_grids) - min(grid[0] for grid in measured_grids)
    flat = 2 * sum(FLAT * length < span for length in lengths) > len(lengths)
    return bool(flat or np.nanmax(medians) > ALIKE * np.nanmin(medians))

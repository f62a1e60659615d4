"""The runs of a cell, and the axis along which they lie."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import Floats, number_format

CLOSE: Final = 0.005
"""Share of its place that an axis spans, below which it shows differences: four digits would write the same number at every tick."""


def weighted_runs(own: xr.DataArray, levels: list[str], value: str | None = None) -> tuple[Floats, Floats]:
    """Return the measured runs of one cell, ascending, and weights with which every outermost unit counts the same.

    Runs are the repetitions of the level `value`, those below it averaged; default: all values.
    """
    for level in reversed(levels[levels.index(value) + 1 :] if value in levels else []):
        own, levels = own.mean(level), levels[:-1]
    values = own.transpose(*levels).values
    units = values.reshape(len(values), -1)
    measured = ~np.isnan(units)
    inside = measured.sum(axis=1, keepdims=True)
    shares = np.where(measured, 1.0 / np.maximum(inside, 1), 0.0) / max(int((inside > 0).sum()), 1)
    order = np.argsort(units[measured], kind="stable")
    return units[measured][order], shares[measured][order]


def write_places(ax: Axes, which: str, name: str, units: str) -> None:
    """Write numbers with units along an axis; where they hardly differ, their differences from a round number."""
    axis, (low, high) = getattr(ax, f"{which}axis"), getattr(ax, f"get_{which}lim")()
    written, from_where = number_format(units), 0.0
    if 0 < high - low < CLOSE * abs(low + high) / 2:
        from_where = float(f"{(low + high) / 2:.4g}")
        name = f"{name}, from {written(from_where)}"
    axis.set_major_formatter(lambda value, _: written(value - from_where))
    axis.set_label_text(name)

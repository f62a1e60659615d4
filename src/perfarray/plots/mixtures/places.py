"""The axis along which runs lie."""

from typing import Final

from matplotlib.axes import Axes

from perfarray.plots.figure import number_format

CLOSE: Final = 0.005
"""Share of its place that an axis spans, below which it shows differences: four digits would write the same number at every tick."""


def write_places(ax: Axes, which: str, name: str, units: str) -> None:
    """Write numbers with units along an axis; where they hardly differ, their differences from a round number."""
    axis, (low, high) = getattr(ax, f"{which}axis"), getattr(ax, f"get_{which}lim")()
    written, from_where = number_format(units), 0.0
    if 0 < high - low < CLOSE * abs(low + high) / 2:
        from_where = float(f"{(low + high) / 2:.4g}")
        name = f"{name}, from {written(from_where)}"
    axis.set_major_formatter(lambda value, _: written(value - from_where))
    axis.set_label_text(name)

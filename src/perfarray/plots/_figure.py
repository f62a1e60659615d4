"""What every picture shares: where it is drawn, its colours, and what its title says of the cells."""

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from perfarray.conventions import LEVELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_SIZE: Final = 9
NOTE_SIZE: Final = 8
GREY: Final = "#9a9a9a"
DARK: Final = "#333333"

COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#F0E442")
"""Okabe and Ito's colours, told apart by colour-blind readers; the first four are those of the repetition dims."""

NAMED: Final = ("benchmark", "version", "compiler", "flags", "tuning", *LEVELS)
"""Coordinates without a dim that a title names: what a reader selects. Machine and options come along with every file."""


PREFIXED: Final = ("s", "J", "W", "Hz", "ops/s")
"""Units that read well with a prefix: ms, kJ."""


def check_matplotlib() -> None:
    """Say what to install when matplotlib cannot be imported."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which cannot be imported: install perfarray[plots]") from error


def axes_for(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """Return the Axes given, or one on a new figure of that width and height in inches."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def describe(ax: "Axes", title: str) -> None:
    """Write the title, under it the legend of what was drawn (each entry once), and take the frame away."""
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    columns = 4 if len(entries) <= 4 else 3
    if entries:
        ax.legend(
            entries.values(), entries.keys(), loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=columns, frameon=False,
            fontsize=LABEL_SIZE, borderaxespad=0.3, handletextpad=0.4, columnspacing=1.2, handlelength=1.1,
        )  # fmt: skip
    ax.set_title(title, loc="left", pad=8 + 18 * -(-len(entries) // columns))
    ax.spines[["top", "right"]].set_visible(False)


def level_colours(levels: list[str]) -> dict[str, str]:
    """Give each level its colour, the same in every picture; levels of other names take what is left."""
    left = iter(COLOURS[len(LEVELS) :] * len(levels))
    return {level: COLOURS[LEVELS.index(level)] if level in LEVELS else next(left) for level in levels}


def number_format(units: str) -> Callable[[float], str]:
    """Return what writes a number with its unit, which a tick formatter may call too: a prefix where the unit takes one."""
    from matplotlib.ticker import EngFormatter

    prefixed = EngFormatter(unit=units)

    def written(value: float) -> str:
        rounded = float(f"{value:.4g}")
        if np.isnan(value):
            return "–"
        return prefixed(rounded) if units in PREFIXED else f"{rounded:g} {'' if units == '1' else units}".strip()

    return written


def selection(data: xr.Dataset | xr.DataArray) -> list[str]:
    """Return the labels all cells share: of dims of size one, and of what was selected."""
    single = [str(dim) for dim in data.dims if data.sizes[dim] == 1 and dim not in LEVELS]
    chosen = [name for name in NAMED if name in data.coords and data.coords[name].ndim == 0]
    return [label_text(name, data[name].values.ravel()[0]) for name in single + chosen]


def label_text(dim: str, label: object) -> str:
    """Write a label; a number says of what."""
    if isinstance(label, tuple):
        return ", ".join(str(part) for part in label)
    return str(label) if isinstance(label, str) else f"{dim} {label}"


def shortened(labels: list[str], limit: int = 40) -> list[str]:
    """Shorten long labels: by the package they share, then in the middle or nearer an end where that keeps different ones different."""
    if max(map(len, labels), default=0) > limit:
        labels = _without_package(labels)
    for length, head in product((limit, 3 * limit // 2), (0.5, 0.2, 0.8)):
        start = int(length * head)
        short = [text if len(text) <= length else f"{text[:start]}…{text[start + 1 - length :]}" for text in labels]
        if len(set(short)) == len(set(labels)):
            return short
    return labels


def _without_package(labels: list[str]) -> list[str]:
    """Leave out what stands before the last dot that all labels share: a package name says nothing that tells them apart."""
    parts = [label.split(".") for label in labels]
    shared = 0
    while len(labels) > 1 and all(len(own) > shared + 1 and own[: shared + 1] == parts[0][: shared + 1] for own in parts):
        shared += 1
    return ["…" + ".".join(own[shared:]) if shared else label for own, label in zip(parts, labels, strict=True)]


def text_width(labels: list[str]) -> float:
    """Return the width in points of the widest label."""
    from matplotlib.textpath import TextPath

    return max(
        (float(np.ptp(TextPath((0, 0), text, size=LABEL_SIZE).get_extents().intervalx)) for text in labels if text.strip()), default=0.0
    )

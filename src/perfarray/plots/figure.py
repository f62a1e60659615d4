"""What every picture shares: where it is drawn, its colours, and what its title says of the cells."""

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from perfarray.conventions import LEVELS

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

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


TICKS: Final = 5
"""Steps between ticks that are written with their units: more would touch beside rows."""

LONG: Final = 50.0
"""Ratio of the ends of a logarithmic axis, above which ticks between powers of ten would touch."""

MARGIN: Final = 40.0
"""Points beside the labels of the vertical axis: its own label, ticks, the borders of the figure."""

HANDLE: Final = 30.0
"""Points that an entry of a legend takes beside its text."""

WORD: Final = re.compile(r"[^\s_]+[\s_]*|[\s_]+")
"""A word of a label, with what stands between it and the next."""


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the Axes given, or one on a new figure of that width and height in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def describe(ax: Axes, title: str) -> None:
    """Write the title in lines as long as the figure is wide, under it the legend (each entry once), and take the frame away.

    The header of a column beside the rows stands at the height of the legend, and keeps its line where there is none.
    """
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    columns = min(4 if len(entries) <= 4 else 3, _columns(ax, list(entries)))
    if entries:
        ax.legend(
            entries.values(), entries.keys(), loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=columns, frameon=False,
            fontsize=LABEL_SIZE, borderaxespad=0.3, handletextpad=0.4, columnspacing=1.2, handlelength=1.1,
        )  # fmt: skip
    lines = max(-(-len(entries) // columns), any(text.get_gid() == "header" for text in ax.texts))
    ax.set_title(_wrapped(ax, plain(title)), loc="left", pad=8 + 18 * lines)
    ax.spines[["top", "right"]].set_visible(False)


def _room(ax: Axes) -> float:
    """Return how many points there are from the left end of the axes to the right border: of the figure, or of one of several axes."""
    figure = ax.get_figure(root=True)
    width = 72 * (figure.get_figwidth() if figure is not None else 0.0)
    if figure is None or len(figure.axes) > 1:
        return width * ax.get_position().width
    groups = [text.get_text() for text in ax.texts if text.get_gid() == "group"]
    return width - text_width([label.get_text() for label in ax.get_yticklabels()]) - text_width(groups) - MARGIN


def _columns(ax: Axes, labels: list[str]) -> int:
    """Return how many columns of a legend fit left of the header of the column beside the rows: all entries in one row if they fit."""
    room = _room(ax) - text_width([text.get_text() for text in ax.texts if text.get_gid() == "header"], NOTE_SIZE)
    if sum(text_width([label]) + HANDLE for label in labels) <= room:
        return max(1, len(labels))
    return max(1, int(room / (text_width(labels) + HANDLE)))


def _wrapped(ax: Axes, title: str) -> str:
    """Break a title into lines that fit; a single word may be too long."""
    size, room = FontProperties(size=ax.title.get_fontsize()).get_size_in_points(), _room(ax)
    lines: list[str] = []
    for line in title.split("\n"):
        lines.append("")
        for word in line.split(" "):
            longer = f"{lines[-1]} {word}" if lines[-1] else word
            if not lines[-1] or text_width([longer], size) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)


def level_colours(levels: list[str]) -> dict[str, str]:
    """Give each level its colour, the same in every picture; levels of other names take what is left."""
    spare_colours = iter(COLOURS[len(LEVELS) :] * len(levels))
    return {level: COLOURS[LEVELS.index(level)] if level in LEVELS else next(spare_colours) for level in levels}


def number_format(units: str) -> Callable[..., str]:
    """Return what writes a number with its unit, of a tick too (which comes with its position): a prefix where the unit takes one."""
    prefixed = EngFormatter(unit=units)

    def format_number(value: float, _position: int | None = None) -> str:
        rounded = float(f"{value:.4g}")
        if np.isnan(value):
            return "–"
        return prefixed(rounded) if units in PREFIXED else f"{rounded:g} {'' if units == '1' else units}".strip()

    return format_number


def write_units(axis: Axis, units: str) -> None:
    """Write numbers with their units, at so few ticks that they do not touch: on a long logarithmic axis at powers of ten alone."""
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(TICKS))
    elif high > LONG * low:
        axis.set_major_locator(LogLocator(numticks=TICKS + 1))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(number_format(units))


def selection(data: xr.Dataset | xr.DataArray, but: str = "") -> list[str]:
    """Return the labels all cells share, but that of one dim: of dims of size one, and of what was selected."""
    single = [str(dim) for dim in data.dims if data.sizes[dim] == 1 and dim not in LEVELS]
    chosen = [name for name in NAMED if name in data.coords and data.coords[name].ndim == 0]
    return [label_text(name, data[name].values.ravel()[0]) for name in single + chosen if name != but]


def compared(result: xr.Dataset, array: xr.DataArray) -> list[str]:
    """Return who is compared with whom, where that is one system and one baseline, and then what is the same in all cells."""
    attrs, coords = result.attrs, array.coords
    dim = str(attrs.get("dim", ""))
    baseline = coords["baseline"].item() if "baseline" in coords and coords["baseline"].ndim == 0 else attrs.get("baseline")
    if baseline is None:
        return selection(array)
    is_single = dim in coords and coords[dim].size == 1
    subject = f"{label_text(dim, coords[dim].values.ravel()[0])} compared with {baseline}" if is_single else f"compared with {baseline}"
    return [subject, *selection(array, dim)]


def label_text(dim: str, label: object) -> str:
    """Write a label; a number says of what."""
    if isinstance(label, tuple):
        return ", ".join(str(element) for element in label)
    return str(label) if isinstance(label, str) else f"{dim} {label}"


def shortened(labels: list[str], limit: int = 40) -> list[str]:
    """Shorten long labels without making different ones alike: by what many share, then in the middle or nearer an end.

    A package that all share and words that several share go first; words with digits stay, since they are model numbers.
    """
    return [plain(text) for text in elided(labels, limit)]


def plain(text: str) -> str:
    """Write a dollar sign as such: matplotlib takes what stands between two of them (Java's inner classes) for a formula."""
    return text.replace("$", r"\$")


def elided(labels: list[str], limit: int) -> list[str]:
    """Return labels of at most that length, half as much again, or any, until they differ as the whole ones do."""
    if max(map(len, labels), default=0) > limit:
        labels = _without_package(labels)
        fewer = _without_words(labels, limit)
        labels = fewer if len(set(fewer)) == len(set(labels)) else labels
    for length, head in product((limit, 3 * limit // 2), (0.5, 0.2, 0.8)):
        start = int(length * head)
        short = [text if len(text) <= length else f"{text[:start]}…{text[start + 1 - length :]}" for text in labels]
        if len(set(short)) == len(set(labels)):
            return short
    return labels


def _without_package(labels: list[str]) -> list[str]:
    """Leave out what stands before the last dot that all labels share: a package name says nothing that tells them apart."""
    components = [label.split(".") for label in labels]
    shared = 0
    while len(labels) > 1 and all(len(names) > shared + 1 and names[: shared + 1] == components[0][: shared + 1] for names in components):
        shared += 1
    return ["…" + ".".join(names[shared:]) if shared else label for names, label in zip(components, labels, strict=True)]


def _without_words(labels: list[str], limit: int) -> list[str]:
    """Leave words without digits out of labels that are too long, as many as needed: those first that most labels have."""
    shared = Counter(word for label in set(labels) for word in set(WORD.findall(label)))

    def shorter(label: str) -> str:
        words = WORD.findall(label)
        common = [position for position, word in enumerate(words) if shared[word] > 1 and not any(map(str.isdigit, word))]
        text, dropped = label, set[int]()
        for position in sorted(common, key=lambda position: -shared[words[position]]):
            if len(text) <= limit or len(dropped) == len(words) - 1:
                break
            dropped.add(position)
            text = re.sub("…+", "…", "".join("…" if number in dropped else word for number, word in enumerate(words)))
        return text

    return [shorter(label) for label in labels]


def text_width(labels: list[str], size: float = LABEL_SIZE) -> float:
    """Return the width in points of the widest line of the labels."""
    lines = {line for text in labels for line in text.split("\n") if line.strip()}
    return max((_width(line, size) for line in lines), default=0.0)


@lru_cache(maxsize=4096)
def _width(text: str, size: float) -> float:
    """Return the width in points of a line of text as the font measures it; an outline would take a hundred times as long."""
    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0])

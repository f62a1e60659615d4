"""What all pictures share: Axes, colours, titles, legends, labels, numbers, and SVG."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from io import BytesIO
from itertools import product, takewhile
from typing import Any, Final, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import (
    EngFormatter,
    Formatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from perfarray.conventions import LEVELS
from perfarray.results.words import own_name, side

CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)  # of terminals, and of directions of text

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

LABEL_SIZE: Final = 9
NOTE_SIZE: Final = 8
GREY: Final = "#9a9a9a"
DARK: Final = "#333333"
# Okabe and Ito's colours, which colour-blind readers can tell apart; the first four are those of
# the repetition dims.
COLOURS: Final = ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#F0E442")

NAMED: Final = (
    "benchmark",
    "suite",
    "version",
    "compiler",
    "flags",
    "tuning",
    *LEVELS,
)  # scalar coordinates that a title names
PREFIXED: Final = ("s", "J", "W", "Hz", "ops/s")  # units that take a prefix: ms, kJ
TICKS: Final = 5  # steps between ticks with units: more would touch
SHORT: Final = 5.0  # ratio of the ends of a logarithmic axis below which ticks are equal steps
LONG: Final = (
    50.0  # ratio of the ends of a logarithmic axis above which only powers of ten have a tick
)
CHANGES: Final = 7  # ticks with changes in words
MARGIN: Final = 40.0  # points for the label and the ticks of the vertical axis and for the borders
HANDLE: Final = 30.0  # points of a legend entry beside its text
BRACKETS: Final = re.compile(r"(?<=\S) \([^()]*\)$")
SPACE: Final = re.compile(r" (?!%|[^()]{,16}\))")  # a line breaks here, not in short brackets
WORD: Final = re.compile(r"[^\s_]+[\s_]*|[\s_]+")


def check_choice(argument: str, value: str, choices: Iterable[str]) -> None:
    """Raise where the value of an argument is none of its choices."""
    if value not in choices:
        names = ", ".join(map(repr, choices))
        raise ValueError(f"{argument}={value!r} is not known; choose one of {names}")


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given Axes, or those of a new figure of this width and height in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def describe(ax: Axes, title_parts: Iterable[str]) -> Axes:
    """Write the title in lines that fit, the legend below it (each label once); hide the frame."""
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    room = _room(ax)
    columns = min(4 if len(entries) <= 4 else 3, _legend_columns(ax, list(entries), room))
    if entries:
        ax.legend(
            entries.values(),
            entries.keys(),
            loc="lower left",
            bbox_to_anchor=(-0.01, 1.0),
            ncols=columns,
            frameon=False,
            fontsize=LABEL_SIZE,
            borderaxespad=0.3,
            handletextpad=0.4,
            columnspacing=1.2,
            handlelength=1.1,
        )
    # The header of the column right of the rows has the height of the legend, and needs a line
    # where there is no legend.
    lines = max(-(-len(entries) // columns), any(text.get_gid() == "header" for text in ax.texts))
    # A title that moves out of the way of an exponent above the axis measures all ticks of that
    # axis again, in every pass of the layout.
    y = None if isinstance(ax.yaxis.get_major_formatter(), ScalarFormatter) else 1.0
    title = _wrapped(
        plain(", ".join(title_parts)), ax.title.get_fontproperties().get_size_in_points(), room
    )
    ax.set_title(title, loc="left", pad=8 + 18 * lines, y=y)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _room(ax: Axes) -> float:
    """Return the points from the left end of the Axes to the right border of their column."""
    figure = ax.get_figure(root=True)
    width = 72 * (figure.get_figwidth() if figure is not None else 0.0)
    grid = ax.get_subplotspec()
    if figure is None or (grid is None and len(figure.axes) > 1):
        return width * ax.get_position().width
    column, n_columns = (None, 1) if grid is None else (grid.colspan, grid.get_gridspec().ncols)
    specs = ((panel, panel.get_subplotspec()) for panel in figure.axes)
    neighbours = [
        panel
        for panel, spec in specs
        if panel is ax or (spec is not None and spec.colspan == column)
    ]
    labels = [label.get_text() for panel in neighbours for label in panel.get_yticklabels()]
    groups = [
        text.get_text() for panel in neighbours for text in panel.texts if text.get_gid() == "group"
    ]
    if not groups:
        return width / n_columns - text_width(labels) - MARGIN
    bold = [text_width(texts, weight="bold") for texts in (labels, groups)]
    return width / n_columns - sum(bold) - MARGIN


def _legend_columns(ax: Axes, labels: list[str], room: float) -> int:
    """Return how many columns of a legend fit left of the header of the column beside the rows."""
    room -= text_width(
        [text.get_text() for text in ax.texts if text.get_gid() == "header"], NOTE_SIZE
    )
    if sum(text_width([label]) + HANDLE for label in labels) <= room:
        return max(1, len(labels))
    return max(1, int(room / (text_width(labels) + HANDLE)))


def _wrapped(title: str, size: float, room: float) -> str:
    """Break a title into lines that fit; a single word may be too long."""
    lines: list[str] = []
    for line in title.split("\n"):
        lines.append("")
        for word in SPACE.split(line):
            longer = f"{lines[-1]} {word}" if lines[-1] else word
            if not lines[-1] or text_width([longer], size) <= room:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)


def level_colours(levels: list[str]) -> dict[str, str]:
    """Return the colour of each level, the same in every picture.

    Other names take the colours that remain.
    """
    spare_colours = iter(COLOURS[len(LEVELS) :] * len(levels))
    return {
        level: COLOURS[LEVELS.index(level)] if level in LEVELS else next(spare_colours)
        for level in levels
    }


def draw_reference(
    ax: Axes,
    value: float,
    label: str | None = None,
    *,
    is_horizontal: bool = False,
    zorder: float = 1.0,
) -> None:
    """Draw a dotted line at a value that others are compared with."""
    line = ax.axhline if is_horizontal else ax.axvline
    line(value, color=DARK, linewidth=0.8, linestyle=":", zorder=zorder, label=label)


def write_percent(axis: Axis, whole: float = 1.0, *, origin: float = 0.0, sign: str = "") -> None:
    """Write parts of a whole in percent, or what they are more than an origin."""

    def text(value: float, _position: float | None = None) -> str:
        percent = round(100 * (value - origin) / whole, 6)
        return f"{percent:{sign}g} %".replace("-", "−")

    axis.set_major_formatter(text)


def number_format(units: str) -> Callable[..., str]:
    """Return a function that writes a number with its unit.

    It also serves as a formatter of ticks, which passes a position.
    """
    prefixed = EngFormatter(unit=units)

    def format_number(value: float, _position: int | None = None) -> str:
        rounded = float(f"{value:.4g}")
        if np.isnan(value):
            return "–"
        return (
            prefixed(rounded)
            if units in PREFIXED
            else f"{rounded:g} {'' if units == '1' else units}".strip()
        )

    return format_number


def write_units(axis: Axis, units: str) -> None:
    """Write numbers with their units, at so few ticks that they do not touch.

    On an axis below a factor of 1000 all in one unit.
    """
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "linear" or high <= SHORT * low:
        axis.set_major_locator(MaxNLocator(TICKS))
    else:
        axis.set_major_locator(
            LogTicks(subs=(1.0,) if high > LONG * low else (1.0, 2.0, 5.0), numticks=TICKS + 1)
        )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(UnitFormatter(units))


class UnitFormatter(Formatter):
    """Ticks with their unit, which is one for all unless a logarithmic axis spans a factor of 1000.

    As differences from an origin.
    """

    def __init__(self, units: str, origin: float = 0.0) -> None:
        self.units, self.origin = units, origin

    def __call__(self, value: float, _position: float | None = None) -> str:
        """Return the text of a tick."""
        assert isinstance(self.axis, Axis)
        low, high = sorted(abs(end - self.origin) for end in self.axis.get_view_interval())
        if self.units not in PREFIXED:
            return f"{value - self.origin:.6g} {'' if self.units == '1' else self.units}".strip()
        if not high or (self.axis.get_scale() == "log" and high > 1000 * low):
            return number_format(self.units)(value - self.origin)
        exponent = max(-24, min(24, 3 * math.floor(math.log10(high) / 3)))
        scaled = float(f"{(value - self.origin) / 10.0**exponent:.6g}")
        return f"{scaled:g} {EngFormatter.ENG_PREFIXES[exponent]}{self.units}".replace("-", "−")


class ChangeLocator(Locator):
    """Ticks at equal factors on both sides of 1, few enough for texts such as `1.2x faster`."""

    def __call__(self) -> Any:
        """Return the ticks of the visible part of the axis."""
        assert self.axis is not None
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two ratios."""
        reach = max(vmax, 1 / vmin)
        series = (10.0 ** np.arange(-6, 9)[:, None] * (1.0, 2.0, 5.0)).ravel()
        # Equal steps up to a factor of 2; beyond it 1.5, 2, 3, 5, 10, or powers of 10 to 1000.
        equal = [1 + step * np.arange(1, CHANGES) for step in series]
        wide = [series[18:][n::n] for n in (1, 3, 6, 9)]
        grids = equal if reach < 2 else [np.array([1.5, 2, 3, 5, 10]), *wide]
        for factors in grids:
            ticks = np.concatenate([1 / factors[::-1], [1.0], factors])
            visible = ticks[(ticks >= vmin) & (ticks <= vmax)]
            apart = self._apart(visible, vmin, vmax) if isinstance(self.axis, Axis) else visible
            if 2 * len(apart) > len(visible) <= CHANGES and factors[-1] >= reach:
                break
        return apart

    def _apart(self, ticks: Floats, low: float, high: float) -> Floats:
        """Return the ticks whose texts have room, in letters of any size; those near 1 go first."""
        assert isinstance(self.axis, Axis)
        places, ends = map(self.axis.get_transform().transform, (ticks, np.array([low, high])))
        # Room for one tick is as wide as the letters of the axis are high, three times.
        places = 3 * self.axis.get_tick_space() * places / abs(ends[1] - ends[0])
        texts, kept = map(self.axis.get_major_formatter(), ticks.tolist()), list[int]()
        halves = np.array([text_width([text]) / LABEL_SIZE / 2 + 0.15 for text in texts])
        for tick in np.argsort(abs(np.log(ticks)), kind="stable").tolist():
            if (abs(places[kept] - places[tick]) >= halves[kept] + halves[tick]).all():
                kept.append(tick)
        return ticks[sorted(kept)]


def write_changes(axis: Axis, better: str) -> None:
    """Write ratios as changes, `1.2x faster` in two lines; as factors where no side is better."""

    def text(ratio: float, _position: float | None = None) -> str:
        if not better:
            return f"{ratio:.4g}"
        return "same" if ratio == 1 else f"{max(ratio, 1 / ratio):.6g}x\n{side(ratio, better)}"

    axis.set_major_locator(ChangeLocator())
    axis.set_major_formatter(text)


class LogTicks(LogLocator):
    """Ticks of a logarithmic axis between its ends; matplotlib spends time on some beyond, too."""

    def __call__(self) -> Any:
        """Return the visible ticks, and those within rounding of an end."""
        assert self.axis is not None
        low, high = sorted(self.axis.get_view_interval())
        ticks = np.asarray(super().__call__())
        return ticks[(ticks > low * (1 - 1e-9)) & (ticks < high * (1 + 1e-9))]


def write_plain(axis: Axis, *, minor: bool = False) -> None:
    """Write plain numbers at 1, 2, 5, 10, ...; `minor` adds ticks between them."""
    axis.set_major_locator(LogTicks(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(LogTicks(subs="auto") if minor else NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
    axis.axes.tick_params(
        which="minor", labelbottom=False, labelleft=False
    )  # labels without text are measured as well


def selection(data: xr.Dataset | xr.DataArray, but: str = "") -> list[str]:
    """Return labels that all cells share: of dims of size one, and of what was selected."""
    dims = [str(dim) for dim in data.dims if data.sizes[dim] == 1 and dim not in LEVELS]
    names = [name for name in NAMED if name in data.coords and data.coords[name].ndim == 0]
    return [label_text(name, data[name].values.ravel()[0]) for name in dims + names if name != but]


def compared(result: xr.Dataset, array: xr.DataArray) -> list[str]:
    """Return candidate and baseline, if there is one each, and labels that all share."""
    attrs, coords = result.attrs, array.coords
    dim = str(attrs.get("dim", ""))
    baseline = (
        coords["baseline"].item()
        if "baseline" in coords and coords["baseline"].ndim == 0
        else attrs.get("baseline")
    )
    if baseline is None:
        return selection(array)
    is_single = dim in coords and coords[dim].size == 1
    subject = (
        f"{label_text(dim, coords[dim].values.ravel()[0])} compared with {baseline}"
        if is_single
        else f"compared with {baseline}"
    )
    return [subject, *selection(array, dim)]


def capitalized(title_parts: list[str]) -> list[str]:
    """Return the parts of a title with a capital where a phrase of `compared` begins it."""
    first = title_parts[0] if title_parts else ""
    return (
        [first[:1].upper() + first[1:], *title_parts[1:]]
        if first.startswith(("compared", "every"))
        else title_parts
    )


def label_text(dim: str, label: object) -> str:
    """Return a label as text; before a number stands its dim."""
    if isinstance(label, tuple):
        return ", ".join(str(element) for element in label)
    return str(label) if isinstance(label, str) else f"{own_name(dim)} {label}"


def shortened(labels: list[str], limit: int = 40) -> list[str]:
    """Return labels for matplotlib that are short and differ where the given ones do."""
    return [plain(text) for text in elided(labels, limit)]


def plain(text: str) -> str:
    """Escape dollar signs, which begin formulas, and controls, which XML forbids."""
    return CONTROLS.sub("?", text.replace("$", r"\$"))


def elided(labels: list[str], limit: int) -> list[str]:
    """Shorten labels to the limit, or to half as much again, if they still differ.

    Brackets at the end, a package that all share and words that several share go first, then
    letters in the middle or nearer an end.
    """
    if max(map(len, labels), default=0) > limit:
        shorter = [BRACKETS.sub("", label) for label in labels]  # such as a machine's processor
        labels = _without_package(shorter if len(set(shorter)) == len(set(labels)) else labels)
        fewer = _without_words(labels, limit)
        labels = fewer if len(set(fewer)) == len(set(labels)) else labels
    for length, head in product((limit, 3 * limit // 2), (0.5, 0.2, 0.8)):
        start = int(length * head)
        short = [
            text if len(text) <= length else f"{text[:start]}…{text[start + 1 - length :]}"
            for text in labels
        ]
        if len(set(short)) == len(set(labels)):
            return short
    return labels


def _without_package(labels: list[str]) -> list[str]:
    """Leave out components before a dot, or the `::` of pytest, that all labels share."""
    separator = "::" if any("::" in label for label in labels) else "."
    components = [label.split(separator) for label in labels]
    packages = zip(*(names[:-1] for names in components), strict=False)
    shared = (
        sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, packages))
        if len(labels) > 1
        else 0
    )
    return [
        "…" + separator.join(names[shared:]) if shared else label
        for names, label in zip(components, labels, strict=True)
    ]


def _without_words(labels: list[str], limit: int) -> list[str]:
    """Leave words out of long labels, as many as needed, the most frequent first.

    Words with digits are model numbers and stay.
    """
    frequency = Counter(word for label in set(labels) for word in set(WORD.findall(label)))

    def shorter(label: str) -> str:
        words = WORD.findall(label)
        common = [
            position
            for position, word in enumerate(words)
            if frequency[word] > 1 and not any(map(str.isdigit, word))
        ]
        text, dropped = label, set[int]()
        for position in sorted(common, key=lambda position: -frequency[words[position]]):
            if len(text) <= limit or len(dropped) == len(words) - 1:
                break
            dropped.add(position)
            text = re.sub(
                "…+",
                "…",
                "".join("…" if number in dropped else word for number, word in enumerate(words)),
            )
        return text

    return [shorter(label) for label in labels]


def measure_widest(texts: Iterable[Text]) -> None:
    """Let the layout measure only the widest text of a column, since each takes time."""
    for text in sorted(texts, key=lambda text: text_width([text.get_text()]))[:-1]:
        text.set_in_layout(False)


def text_width(labels: list[str], size: float = LABEL_SIZE, weight: str = "normal") -> float:
    """Return the width in points of the widest line of the labels."""
    lines = {line for text in labels for line in text.split("\n") if line.strip()}
    return max((_line_width(line, size, weight) for line in lines), default=0.0)


@lru_cache(maxsize=4096)
def _line_width(text: str, size: float, weight: str) -> float:
    # The metrics of the font: an outline of the text would take a hundred times as long.
    font = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def svg(ax: Axes) -> str:
    """Return the figure of some Axes as SVG whose letters are text, and close it.

    The same picture is the same text.
    """
    with plt.rc_context({"svg.hashsalt": "perfarray", "svg.fonttype": "none"}):
        content = BytesIO()
        # `savefig` draws twice, the first time for the layout, which is part of drawing.
        FigureCanvasSVG(_closed(ax)).print_svg(content, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
        return content.getvalue().decode()


def png(ax: Axes) -> bytes:
    """Return the figure of some Axes as PNG, and close it."""
    content = BytesIO()
    FigureCanvasAgg(_closed(ax)).print_png(content, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return content.getvalue()


def _closed(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    plt.close(figure)
    return figure

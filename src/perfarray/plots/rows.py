"""Pictures with one row per cell: which cells are drawn, their labels, and texts beside them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import BENCHMARK, HIGHER
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    LABEL_SIZE,
    NOTE_SIZE,
    Floats,
    Mask,
    axes_for,
    describe,
    label_text,
    measure_widest,
    shortened,
    text_width,
)
from perfarray.results.words import LEAST_DIGITS, NOTHING, quantities

GAP: Final = 0.7  # room between groups, in rows
INCHES: Final = 0.25  # height of a row
# inches of all rows; where more would be needed, the extremes are drawn, and the title says so
TALLEST: Final = 15.0
LONGEST: Final = 80  # letters of a label that names a cell by all its dims
MAX_ROWS: Final = 40  # the most ranked rows in a picture; of more only the extremes are drawn
SMALLEST: Final = 6.0  # points of the letters of rows that stand close
DECADE: Final = 10.0  # numbers that span more than this factor have a logarithmic axis
SUITE_SHARE: Final = 3  # suites take at most one in so many of the rows that fit


class Row(NamedTuple):
    """A cell's position in the array, label, group ("" without groups), and height of its row."""

    cell: dict[str, int]
    label: str
    group: str
    y: float


class RowFrame:
    """The Axes of a picture with one row per cell."""

    def __init__(
        self,
        ax: Axes | None,
        rows: list[Row],
        left_out: Sequence[str] = (),
        *,
        inches: float = INCHES,
        extra: tuple[float, float] = (0.0, 0.0),
        minimum: tuple[float, float] = (0.0, 0.0),
        size: float = LABEL_SIZE,
    ) -> None:
        # Width and height in inches follow labels and rows; the picture may need `extra` inches,
        # and `minimum` inches in all.
        self.size = size
        labels, groups = [row.label for row in rows], [row.group for row in rows]
        # Beside groups labels have room for bold letters, as those of suites are, and for screens
        # whose letters are wider than those of the font.
        self.label_points = text_width(labels, size, "bold" if any(groups) else "normal")
        text_points = self.label_points + text_width(groups, weight="bold")
        width, height = (
            5.0 + text_points / 72 + extra[0],
            1.5 + inches * (rows[-1].y - rows[0].y + 1) + extra[1],
        )
        self.ax = axes_for(ax, (max(width, minimum[0]), max(height, minimum[1])))
        self.rows, self.left_out = rows, left_out
        self.heights: Floats = np.array([row.y for row in rows])

    def values(self, array: xr.DataArray, **index: int) -> Floats:
        """Return the numbers of the rows, at one position along dims that the rows do not have."""
        cells = array.isel(index)
        return np.array(
            [cells.values[tuple(row.cell[str(dim)] for dim in cells.dims)] for row in self.rows],
            dtype=float,
        )

    def draw_points(
        self,
        values: Floats,
        mask: Mask | None = None,
        *,
        colour: str = COLOURS[0],
        is_hollow: bool = False,
        size: float = 6.0,
        **style: Any,
    ) -> None:
        """Draw a point in each row, or in those of a mask."""
        mask = np.full(len(self.rows), True) if mask is None else mask
        self.ax.plot(
            values[mask],
            self.heights[mask],
            "o",
            color=colour,
            markerfacecolor="white" if is_hollow else colour,
            markersize=size,
            **style,
        )

    def note(self, mask: Mask, text: str = "not measured") -> None:
        """Write into rows without a number why there is none."""
        note_rows(self.ax, self.heights[mask], text)

    def stack_bars(
        self,
        layers: Iterable[tuple[str, str, Floats]],
        text: Callable[[float], str],
        edge: str = "none",
    ) -> Floats:
        """Stack bars, given as label, colour and widths, with a text inside each.

        Return where they end.
        """
        ends = np.zeros(len(self.rows))
        for label, colour, widths in layers:
            if widths.any():
                bars = self.ax.barh(
                    self.heights,
                    widths,
                    left=ends,
                    height=0.72,
                    color=colour,
                    label=label,
                    edgecolor=edge,
                    linewidth=0.5,
                )
                text_colour = "white" if colour == COLOURS[0] else "black"
                inside = list(map(text, widths))
                for number in self.ax.bar_label(
                    bars, inside, label_type="center", fontsize=NOTE_SIZE, color=text_colour
                ):
                    if not number.get_text():  # It takes as long to draw as one with a text.
                        number.remove()
                ends = ends + widths
        return ends

    def finish(
        self, title_parts: Iterable[str], label: str, texts: Sequence[str] = (), header: str = ""
    ) -> Axes:
        """Write labels, texts beside the rows under a header, title and legend; return the Axes."""
        self._label_rows()
        if texts:
            self._write_texts(texts, header)
        self.ax.set_xlabel(label)
        inside_and_beside = [
            [text for text in self.ax.texts if text.get_gid() == gid]
            for gid in (None, "group", "beside")
        ]
        for column in (self.ax.get_yticklabels(), *inside_and_beside):
            measure_widest(column)
        return describe(self.ax, [*title_parts, *self.left_out])

    def _label_rows(self) -> None:
        ax, rows = self.ax, self.rows
        labels = [row.label for row in rows]
        ax.set_yticks(self.heights, labels, fontsize=self.size)
        ax.tick_params(axis="y", length=0, pad=8)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(rows[-1].y + 0.8, rows[0].y - 0.8)
        tops: dict[str, float] = {}
        for row in rows:
            tops.setdefault(row.group, row.y)
        for group in filter(None, tops):
            ax.annotate(
                group,
                (0, tops[group]),
                (-self.label_points - 20, 0),
                ("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=LABEL_SIZE,
                fontweight="bold",
                annotation_clip=False,
                gid="group",
            )
        for above, below in pairwise(rows):
            if above.group != below.group:
                ax.axhline((above.y + below.y) / 2, color="#dddddd", linewidth=0.6, zorder=0)

    def _write_texts(self, texts: Sequence[str], header: str) -> None:
        width = text_width([*texts, *header.split("\n")])
        style: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "right",
            "fontsize": min(NOTE_SIZE, self.size),
            "annotation_clip": False,
        }
        for y, text in zip(self.heights, texts, strict=True):
            self.ax.annotate(
                text,
                (1, y),
                (width + 8, 0),
                ("axes fraction", "data"),
                va="center",
                gid="beside",
                **style,
            )
        self.ax.annotate(
            header, (1, 1), (width + 8, 4), "axes fraction", va="bottom", gid="header", **style
        )


def rows_of(array: xr.DataArray, *, top: float = 0.0, is_measured: Mask | None = None) -> list[Row]:
    """Return a row for each cell, or for those measured, from the top down.

    Where several dims vary, a benchmark's cells form a group.
    """
    check_cells(array)
    dims = sorted((str(dim) for dim in array.dims), key=lambda dim: dim != BENCHMARK)
    labelled_dims = [dim for dim in dims if array.sizes[dim] > 1] or dims
    heads, tails = (
        (labelled_dims[:1], labelled_dims[1:])
        if array.size > 1 and len(labelled_dims) > 1
        else ([], labelled_dims)
    )
    texts = {
        dim: shortened([label_text(dim, label) for label in array[dim].values.tolist()])
        for dim in labelled_dims
    }
    rows: list[Row] = []
    for index in np.ndindex(*(array.sizes[dim] for dim in dims)):
        cell = dict(zip(dims, index, strict=True))
        if is_measured is not None and not is_measured[tuple(cell[str(dim)] for dim in array.dims)]:
            continue
        group, label = (
            ", ".join(texts[dim][cell[dim]] for dim in dims_of_text)
            for dims_of_text in (heads, tails)
        )
        gap = GAP if rows and rows[-1].group != group else 0.0
        rows.append(Row(cell, label, group, rows[-1].y + 1 + gap if rows else top))
    return rows


def check_cells(array: xr.DataArray) -> None:
    """Raise where a selection left no cell."""
    if not array.size:
        raise ValueError(f"the result has no cell to draw: its dims are {dict(array.sizes)}")


def shown_rows(
    number: xr.DataArray,
    quantity: str,
    *,
    inches: float = INCHES,
    top: float = 0.0,
    share: int = 1,
    ordered: bool = False,
    measured: xr.DataArray | None = None,
    keeps_empty: bool = False,
) -> tuple[list[Row], list[str]]:
    """Return the rows drawn, the first at height `top`, and what the title says of the others.

    Of more cells than fit (one `share`-th of a figure), those with the lowest and the highest
    numbers are drawn, in that order; `ordered` says that all have it also where they fit.
    `measured` says which cells have a row, if any has; default: those with a number, or all where
    the picture `keeps_empty` ones and says why they have none. The title counts the others.
    """
    check_cells(number)
    limit = int(TALLEST / inches / share)
    has_row = number.notnull() if measured is None else measured.transpose(*number.dims)
    is_measured = has_row.values if has_row.any() and not keeps_empty else None
    n_cells = number.size if is_measured is None else int(np.count_nonzero(is_measured))
    if n_cells <= limit and not ordered:
        rows = rows_of(number, top=top, is_measured=is_measured)
        if rows[-1].y + 1 - top <= limit:
            text = f"{n_cells} of {number.size}: those measured"
            return rows, [text] * (n_cells < number.size)
    low, high, left_out = extremes(number, limit, quantity)
    is_drawn = np.isin(np.arange(number.size), [*low, *high]).reshape(number.shape)
    cells = dict(
        zip(np.flatnonzero(is_drawn).tolist(), named_cells(number, is_drawn, LONGEST), strict=True)
    )
    rows = []
    for y, (cell, label) in enumerate(cells[position] for position in [*low, *high]):
        gap = GAP if y >= len(low) else 0.0
        rows.append(Row({str(dim): index for dim, index in cell.items()}, label, "", top + y + gap))
    return rows, left_out


def extremes(
    number: xr.DataArray, limit: int, quantity: str
) -> tuple[list[int], list[int], list[str]]:
    """Return flat positions of the lowest and the highest numbers, and what the title says.

    Both ascend. Of more than the limit, those that nobody measured are not counted. Where no more
    are measured, all are lowest; where none is, the first ones are.
    """
    values = number.values.astype(float)
    order = np.argsort(values, axis=None, kind="stable").tolist()
    measured = order[: np.count_nonzero(~np.isnan(values))]
    if len(measured) > limit:
        low, high = measured[: limit // 2], measured[len(measured) - limit // 2 :]
        return (
            low,
            high,
            [f"{len(low) + len(high)} of {len(measured)}: lowest and highest {quantity}"],
        )
    low, selection_rule = (
        measured or order[:limit],
        "those measured" if measured else "none is measured",
    )
    return (
        low,
        [],
        [f"{len(low)} of {number.size}: {selection_rule}"] if len(low) < number.size else [],
    )


def ranked_rows(
    score: xr.DataArray, better: str, max_rows: int
) -> tuple[list[Row], list[str], list[str]]:
    """Return a row for each cell with a score, the best first, shared labels, and what is left out.

    Of more than `max_rows` the best and the worst are drawn. A row is named by the dims in which
    measured cells differ.
    """
    if max_rows < 2:
        raise ValueError(f"max_rows={max_rows!r}: give a number of rows of at least 2")
    values = score.values.astype(float).ravel()
    measured = np.flatnonzero(~np.isnan(values))
    if not measured.size:
        raise ValueError("no cell has a score; nothing to draw")
    order = measured[
        np.argsort(values[measured] * (-1.0 if better == HIGHER else 1.0), kind="stable")
    ]
    n_rows, n_best = len(order), len(order) if len(order) <= max_rows else -(-max_rows // 2)
    selected = (
        order
        if n_rows == n_best
        else np.concatenate([order[:n_best], order[n_rows - max_rows // 2 :]])
    )
    names, shared = list[list[str]](), list[str]()
    for axis, dim in enumerate(map(str, score.dims)):
        positions = np.unravel_index(order, score.shape)[axis]
        labels = [
            label_text(dim, label) for label in score[dim].values[np.unique(positions)].tolist()
        ]
        if len(labels) > 1:
            texts = dict(zip(np.unique(positions).tolist(), shortened(labels), strict=True))
            names.append(
                [
                    texts[position]
                    for position in np.unravel_index(selected, score.shape)[axis].tolist()
                ]
            )
        elif score.sizes[dim] > 1:
            shared += labels
    texts_of_rows = (
        shortened([", ".join(labels_of_row) for labels_of_row in zip(*names, strict=True)], LONGEST)
        if names
        else [""]
    )
    cells = (
        zip(*(index.tolist() for index in np.unravel_index(selected, score.shape)), strict=True)
        if score.ndim
        else [()]
    )
    rows = [
        Row(dict(zip(map(str, score.dims), cell, strict=True)), text, "", y + GAP * (y >= n_best))
        for y, (cell, text) in enumerate(zip(cells, texts_of_rows, strict=True))
    ]
    n_left_out = n_rows - len(rows)
    extremes = f"the {n_best} best and the {len(rows) - n_best} worst"
    sentence = (
        f"{len(rows)} of {n_rows}: {extremes}; max_rows={n_rows} draws the {n_left_out} others"
    )
    measured_cells = [f"{n_rows} of {score.size}: those measured"] * (n_rows < score.size)
    return rows, shared, [sentence] * bool(n_left_out) + measured_cells


def spacing(number: int, inches: float) -> tuple[float, int, float]:
    """Return inches of a row or column so that all fit, every which has a name, and its letters."""
    inches = min(inches, TALLEST / number)
    step = int(np.ceil(SMALLEST / (72 * inches)))
    return inches, step, min(LABEL_SIZE, 72 * inches * step)


def some_named(names: Sequence[str], step: int, noun: str) -> tuple[list[str], list[str]]:
    """Return the names of every `step`-th row or column, else "", and what the title says."""
    texts = [name if number % step == 0 else "" for number, name in enumerate(names)]
    return texts, [f"{-(-len(names) // step)} of {len(names)}: {noun} with a name"] * (step > 1)


def largest_part(counts: xr.DataArray, noun: str) -> tuple[dict[str, int], list[str]]:
    """Return the position with the largest count, and what the title says of the others."""
    n_others = int(np.count_nonzero(counts.values > 0)) - 1
    position = np.unravel_index(int(counts.values.argmax()), counts.shape)
    indexers = {str(dim): int(index) for dim, index in zip(counts.dims, position, strict=True)}
    return indexers, [f"one of {n_others + 1} {noun} (select another)"] if n_others > 0 else []


def suite_rows(result: xr.Dataset, name: str, rows: Sequence[Row], label: str) -> list[Row]:
    """Return rows for the suite's answers, below the others.

    None where a single benchmark is the suite.
    """
    if f"suite_{name}" not in result or result[f"suite_{name}"].size == result[name].size:
        return []
    suite, _ = shown_rows(
        result[f"suite_{name}"], name, top=rows[-1].y + 1 + GAP, share=SUITE_SHARE
    )
    if len(suite) == 1:
        return [suite[0]._replace(label=label)]
    n_measured = int(result[f"suite_{name}"].count())
    label = f"{label}, {len(suite)} of {n_measured}" if len(suite) < n_measured else label
    return [
        row._replace(group=label, label=", ".join(filter(None, (row.group, row.label))))
        for row in suite
    ]


def named_cells(
    array: xr.DataArray, measured: Mask | None = None, limit: int = 40
) -> list[tuple[dict[Hashable, int], str]]:
    """Return position and name of every cell, or those measured: labels of dims that vary."""
    cells = [
        dict(zip(array.dims, index, strict=True))
        for index in np.ndindex(*array.shape)
        if measured is None or measured[index]
    ]
    varying = [dim for dim in array.dims if array.sizes[dim] > 1]
    texts = {
        dim: shortened([label_text(str(dim), label) for label in array[dim].values.tolist()])
        for dim in varying
    }
    names = shortened(
        [", ".join(texts[dim][cell[dim]] for dim in varying) for cell in cells], limit
    )
    return list(zip(cells, names, strict=True))


def column_of(values: Floats, units: str, digits: int = LEAST_DIGITS) -> list[str]:
    """Return numbers of one column with the unit and the decimals of `words.quantities`."""
    texts = quantities(values.tolist(), units, digits)
    return ["–" if text == NOTHING else text.replace(" us", " µs") for text in texts]


def formatted(values: Iterable[float], pattern: str = "{:.3f}") -> list[str]:
    """Return numbers as texts, NaN as a dash."""
    return ["–" if np.isnan(value) else pattern.format(value) for value in values]


def spans_decades(numbers: xr.DataArray) -> bool:
    """Return whether all numbers are positive and some lie a factor of more than ten apart."""
    return bool((numbers.min() > 0) & (numbers.max() > DECADE * numbers.min()))


def note_rows(ax: Axes, heights: Iterable[float], text: str) -> None:
    """Write a text at some heights, at the left end of the Axes."""
    for y in heights:
        ax.text(
            0.01,
            y,
            text,
            transform=ax.get_yaxis_transform(),
            va="center",
            color=DARK,
            fontsize=NOTE_SIZE,
        )


def mark_border(
    ax: Axes, heights: Floats | Sequence[float], marker: str, colour: str, markersize: float = 6
) -> None:
    """Draw arrows at the left ("<") or the right (">") border: the numbers lie beyond."""
    border = np.full(len(heights), float(marker == ">"))
    ax.plot(
        border,
        heights,
        marker,
        color=colour,
        markersize=markersize,
        transform=ax.get_yaxis_transform(),
        clip_on=False,
        gid="arrow",
    )

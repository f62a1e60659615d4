"""One row per cell: how the cells of a result stand under each other, and what is written beside them."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import BENCHMARK
from perfarray.plots.figure import DARK, LABEL_SIZE, NOTE_SIZE, Mask, label_text, shortened, text_width

GAP: Final = 0.7
"""Room between groups, in rows."""

INCHES: Final = 0.25
"""Height of a row."""

TALLEST: Final = 15.0
"""Height of all rows of a picture in inches; where more would be needed, the extremes are drawn, and the title says so."""

WHOLE: Final = 60
"""Letters of a label that names a cell by all its dims."""

SUITE_SHARE: Final = 3
"""Of the rows that have room, a suite's answers take one in so many at most."""


class Row(NamedTuple):
    """A cell's place: its position in the array, its label inside its group, the group ("" without groups), its height."""

    cell: dict[str, int]
    label: str
    group: str
    y: float


def rows_of(array: xr.DataArray, *, top: float = 0.0) -> list[Row]:
    """Give every cell a row, from the top down; where several dims vary, the cells of one benchmark form a group."""
    if not array.size:
        raise ValueError(f"the result has no cell to draw: its dims are {dict(array.sizes)}")
    dims = sorted((str(dim) for dim in array.dims), key=lambda dim: dim != BENCHMARK)
    labelled_dims = [dim for dim in dims if array.sizes[dim] > 1] or dims
    heads, tails = (labelled_dims[:1], labelled_dims[1:]) if array.size > 1 and len(labelled_dims) > 1 else ([], labelled_dims)
    texts = {dim: shortened([label_text(dim, label) for label in array[dim].values.tolist()]) for dim in labelled_dims}
    rows: list[Row] = []
    for index in np.ndindex(*(array.sizes[dim] for dim in dims)):
        cell = dict(zip(dims, index, strict=True))
        group, label = (", ".join(texts[dim][cell[dim]] for dim in dims_of_text) for dims_of_text in (heads, tails))
        gap = GAP if rows and rows[-1].group != group else 0.0
        rows.append(Row(cell, label, group, rows[-1].y + 1 + gap if rows else top))
    return rows


def shown_rows(
    number: xr.DataArray, quantity: str, *, inches: float = INCHES, top: float = 0.0, share: int = 1, ordered: bool = False
) -> tuple[list[Row], list[str]]:
    """Give every cell a row; of more than a figure has room for, those with the lowest and the highest numbers, in that order.

    Parameters
    ----------
    number : DataArray
        What is drawn of each cell, or how wide it is.
    what : str
        What the number is called.
    inches : float
        Height of a row.
    top : float
        Where the first row stands.
    share : int
        Part of the height that the rows may take: one in so many.
    ordered : bool
        Whether the rows stand in the order of the numbers also where all fit.

    Returns
    -------
    rows : list of Row
    left_out : list of str
        What the title says of the cells that are not drawn; empty where all are.
    """
    limit = int(TALLEST / inches / share)
    if number.size <= limit and not ordered:
        rows = rows_of(number, top=top)
        if rows[-1].y + 1 - top <= limit:
            return rows, []
    low, high, left_out = extremes(number, limit, quantity)
    is_drawn = np.isin(np.arange(number.size), [*low, *high]).reshape(number.shape)
    named = dict(zip(np.flatnonzero(is_drawn).tolist(), named_cells(number, is_drawn, WHOLE), strict=True))
    rows = []
    for y, (cell, label) in enumerate(named[position] for position in [*low, *high]):
        gap = GAP if y >= len(low) else 0.0
        rows.append(Row({str(dim): index for dim, index in cell.items()}, label, "", top + y + gap))
    return rows, left_out


def extremes(number: xr.DataArray, limit: int, quantity: str) -> tuple[list[int], list[int], list[str]]:
    """Return the flat places of the lowest and of the highest numbers, in ascending order, and what to say of the others.

    Where no more than `most` are measured they are all lowest, and where none is, the first ones are.
    """
    values = number.values.astype(float)
    order = np.argsort(values, axis=None, kind="stable").tolist()
    measured = order[: np.count_nonzero(~np.isnan(values))]
    if len(measured) > limit:
        low, high, selection_rule = measured[: limit // 2], measured[len(measured) - limit // 2 :], f"lowest and highest {quantity}"
    else:
        low, high, selection_rule = measured or order[:limit], [], "those measured" if measured else "none is measured"
    n_drawn = len(low) + len(high)
    return low, high, [f"{n_drawn} of {number.size}: {selection_rule}"] if n_drawn < number.size else []


def suite_rows(result: xr.Dataset, name: str, rows: Sequence[Row], label: str) -> list[Row]:
    """Return rows for the suite's answers, below the others; none where a single benchmark is the suite."""
    if f"suite_{name}" not in result or result[f"suite_{name}"].size == result[name].size:
        return []
    suite, left_out = shown_rows(result[f"suite_{name}"], name, top=rows[-1].y + 1 + GAP, share=SUITE_SHARE)
    if len(suite) == 1:
        return [suite[0]._replace(label=label)]
    label = f"{label}, {len(suite)} of {result[f'suite_{name}'].size}" if left_out else label
    return [row._replace(group=label, label=", ".join(text for text in (row.group, row.label) if text)) for row in suite]


def named_cells(array: xr.DataArray, measured: Mask | None = None, limit: int = 40) -> list[tuple[dict[Hashable, int], str]]:
    """Return the place and the name of every cell, or of those measured: the labels of the dims in which they differ."""
    cells = [dict(zip(array.dims, index, strict=True)) for index in np.ndindex(*array.shape) if measured is None or measured[index]]
    varying = [dim for dim in array.dims if array.sizes[dim] > 1]
    names = shortened([", ".join(label_text(str(dim), array[dim].values[cell[dim]]) for dim in varying) for cell in cells], limit)
    return list(zip(cells, names, strict=True))


def note_unmeasured(ax: Axes, heights: Iterable[float], text: str = "not measured") -> None:
    """Write at some heights that there is nothing to draw."""
    for y in heights:
        ax.text(0.01, y, text, transform=ax.get_yaxis_transform(), va="center", color=DARK, fontsize=NOTE_SIZE)


def size_for(rows: Sequence[Row], inches: float = INCHES) -> tuple[float, float]:
    """Return width and height in inches of a figure with these rows."""
    text_points = text_width([row.label for row in rows]) + text_width([row.group for row in rows])
    return 5.5 + text_points / 72, 1.5 + inches * (rows[-1].y - rows[0].y + 1)


def label_rows(ax: Axes, rows: Sequence[Row]) -> None:
    """Write the labels left of the Axes, groups left of the labels, first row on top."""
    labels = [row.label for row in rows]
    ax.set_yticks([row.y for row in rows], labels, fontsize=LABEL_SIZE)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(rows[-1].y + 0.8, rows[0].y - 0.8)
    groups = dict.fromkeys(row.group for row in rows if row.group)
    for group in groups:
        heights = [row.y for row in rows if row.group == group]
        ax.annotate(
            group, (0, min(heights)), (-text_width(labels) - 20, 0), ("axes fraction", "data"), textcoords="offset points",
            ha="right", va="center", fontsize=LABEL_SIZE, fontweight="bold", annotation_clip=False, gid="group",
        )  # fmt: skip
    for above, below in pairwise(rows):
        if above.group != below.group:
            ax.axhline((above.y + below.y) / 2, color="#dddddd", linewidth=0.6, zorder=0)


def beside_rows(ax: Axes, rows: Sequence[Row], texts: Sequence[str], header: str) -> None:
    """Write a column of short texts right of the Axes, with a header over it."""
    width = text_width([*texts, *header.split("\n")])
    for row, text in zip(rows, texts, strict=True):
        ax.annotate(
            text, (1, row.y), (width + 8, 0), ("axes fraction", "data"), textcoords="offset points",
            ha="right", va="center", fontsize=NOTE_SIZE, annotation_clip=False, gid="beside",
        )  # fmt: skip
    ax.annotate(
        header, (1, 1), (width + 8, 4), "axes fraction", textcoords="offset points",
        ha="right", va="bottom", fontsize=NOTE_SIZE, annotation_clip=False, gid="header",
    )  # fmt: skip

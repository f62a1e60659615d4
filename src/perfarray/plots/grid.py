"""One picture for each label of a dim, side by side: `row`, `col` and `col_wrap` as xarray's own pictures have them."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from perfarray.conventions import LEVELS
from perfarray.plots.figure import describe, label_text, plain, text_width

LARGEST: Final = 60.0
"""Inches that a figure is wide or high at most."""

LEAST: Final = 0.5
"""How much smaller than alone facets without rows are drawn where a figure has no room for them."""

ALIKE: Final = 4.0
"""Facets share an axis where all of it is at most this many times as long as what one of them shows."""

WHOLE: Final = (*LEVELS, "component", "group_size", "level", "method", "principal_component", "replicate", "runs", "statistic")
"""Dims that belong together in a picture."""

REFUSED: Final = ("agreement", "explain_variation", "principal_components")
"""Results with one picture for all cells."""


class Facet(NamedTuple):
    """What a picture is when it is drawn alone: size in inches, limits of both axes, labels of its rows, the parts of its title."""

    size: tuple[float, float]
    limits: tuple[tuple[float, float], tuple[float, float]]
    names: tuple[str, str]
    scales: tuple[str, str]
    rows: tuple[str, ...]
    title: list[str]


def facets(
    draw: Callable[..., Axes], data: Any, ax: Axes | None = None, *, row: str | None = None, col: str | None = None,
    col_wrap: int | None = None,
) -> Axes:  # fmt: skip
    """Draw a picture for each label of one or two dims, or, where none is given, the one picture.

    Parameters
    ----------
    draw : callable
        Takes what is drawn and `ax`, and returns the Axes.
    data : Dataset or DataArray
        A result, or timings.
    ax : Axes, optional
        Where the one picture is drawn; facets have a figure of their own.
    row, col : str, optional
        The dims whose labels are the rows and the columns of the figure.
    col_wrap : int, optional
        How many columns there are, with `col` alone: what is left goes on in the next row.

    Returns
    -------
    Axes
        The first, at the top left; `ax.figure.axes` has all.

    Raises
    ------
    ValueError
        A dim that is not there or belongs together in a picture; `ax`, or `col_wrap` with `row`; more than a figure has room for.

    Notes
    -----
    Facets share an axis where what they show is alike: then they are compared by eye. What all titles say stands once above.
    """
    if row is None and col is None and col_wrap is None:
        return draw(data, ax=ax)
    dims = _checked(data, ax, row, col, col_wrap)
    positions = list(product(*(range(data.sizes[dim]) for dim in dims)))
    cells = [data.isel({dim: [place] for dim, place in zip(dims, panel, strict=True)}) for panel in positions]
    previews = [_drawn_alone(draw, cell) for cell in cells]
    drawable = [facet for facet in previews if facet is not None]
    if not drawable:
        draw(data, ax=None)  # which says what is missing
        raise ValueError("nothing to draw: no label has anything that can be drawn by itself")
    shared = [cell for cell in drawable[0].title if all(cell in other.title for other in drawable)]
    columns = col_wrap if col_wrap is not None else data.sizes[col] if col is not None else 1
    figure, grid = _grid(drawable, len(cells), columns)
    entries: set[str] = set()
    filled = [facet is not None for facet in previews]
    limits = [_shared_limits(drawable, axis) for axis in (0, 1)]
    for number, (cell, facet, panel) in enumerate(zip(cells, previews, grid, strict=False)):
        labels = [label_text(dim, cell[dim].values.tolist()[0]) for dim in dims]
        if facet is None:
            panel.text(0.5, 0.5, "nothing to draw", ha="center", va="center", transform=panel.transAxes)
            panel.set_axis_off()
            describe(panel, ", ".join(labels))
            continue
        _fix(panel, limits)
        draw(cell, ax=panel)
        _fix(panel, limits)
        title = [text for text in facet.title if text not in shared]
        describe(panel, ", ".join([label for label in labels if label not in ", ".join(title)] + title))
        first = number - number % columns
        _leave_out(panel, drawable, left=any(filled[first:number]), below=any(filled[number + columns :: columns]), entries=entries)
    for empty in grid[len(cells) :]:
        empty.remove()
    if shared:
        figure.suptitle(plain(", ".join(shared)), x=0.01, ha="left", fontsize=grid[0].title.get_fontsize())
    return grid[0]


def _checked(data: Any, ax: Axes | None, row: str | None, col: str | None, col_wrap: int | None) -> list[str]:
    """Return the dims of facets, rows first; raise where there are none to be had."""
    kind = str(data.attrs.get("result", ""))
    if kind in REFUSED:
        raise ValueError(f"the picture of a result of {kind!r} shows all cells together and has no facets: leave out row, col and col_wrap")
    if ax is not None:
        raise ValueError("facets have a figure of their own: leave out ax, or row and col")
    if col_wrap is not None and (row is not None or col is None or col_wrap < 1):
        raise ValueError(f"col_wrap={col_wrap!r} is for col alone, a number of columns of at least 1; row={row!r}, col={col!r}")
    dims = [dim for dim in (row, col) if dim is not None]
    free = [str(dim) for dim in data.dims if dim not in WHOLE]
    wrong = [dim for dim in dims if dim not in free]
    if wrong or len(set(dims)) < len(dims):
        raise ValueError(
            f"row={row!r}, col={col!r}: give different dims with a picture for each label; there are {', '.join(free) or 'none'}"
        )
    return dims


def _drawn_alone(draw: Callable[..., Axes], cell: Any) -> Facet | None:
    """Draw a facet by itself, to know how large it is and what it shows, and throw it away; None where there is nothing to draw."""
    try:
        ax = draw(cell, ax=None)
    except ValueError as error:
        if "nothing to draw" not in str(error):
            raise
        return None
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches().tolist()
    rows = tuple(label.get_text() for label in ax.get_yticklabels()) if not ax.spines["left"].get_visible() else ()
    title = ax.get_title(loc="left").replace("\n", " ").replace(r"\$", "$").split(", ")
    facet = Facet(
        (width, height), (ax.get_xlim(), ax.get_ylim()), (ax.get_xlabel(), ax.get_ylabel()), (ax.get_xscale(), ax.get_yscale()), rows, title
    )
    plt.close(figure)
    return facet


def _grid(previews: Sequence[Facet], number: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for all facets, and its Axes in the order of reading."""
    width, height = (max(facet.size[axis] for facet in previews) for axis in (0, 1))
    label_width = text_width(list(previews[0].rows)) / 72 if _same_rows(previews) else 0.0
    rows = -(-number // columns)
    size = width + (columns - 1) * (width - label_width), rows * height + 0.3
    if max(size) > LARGEST and max(size) * LEAST <= LARGEST and not previews[0].rows:
        size = size[0] * LARGEST / max(size), size[1] * LARGEST / max(size)
    if max(size) > LARGEST:
        raise ValueError(
            f"{number} pictures of {width:.0f} x {height:.0f} inches in {columns} columns do not fit on a figure, which is {LARGEST:g}"
            f" inches wide and high at most: {'give col_wrap=4, or ' if rows == 1 else ''}select fewer labels"
        )
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, grid.ravel().tolist()


def _same_rows(previews: Sequence[Facet]) -> bool:
    """Return whether every facet has the same rows, under the same labels."""
    return bool(previews[0].rows) and all(facet.rows == previews[0].rows for facet in previews)


def _shared_limits(previews: Sequence[Facet], axis: int) -> tuple[float, float] | None:
    """Return limits of one axis that serve all facets, where they show the same and no facet would be squeezed by them."""
    if len({(facet.names[axis], facet.scales[axis]) for facet in previews}) > 1 or (axis == 1 and previews[0].rows):
        return None
    limits = np.array([facet.limits[axis] for facet in previews])
    extent = limits[:, 0].min(), limits[:, 1].max()
    lengths = np.log(limits) if previews[0].scales[axis] == "log" else limits
    is_compact = lengths[:, 1].max() - lengths[:, 0].min() <= ALIKE * np.diff(lengths).min()
    return (float(extent[0]), float(extent[1])) if is_compact else None


def _fix(ax: Axes, limits: Sequence[tuple[float, float] | None]) -> None:
    """Set what limits facets share, which a picture then keeps to."""
    x, y = limits
    if x is not None:
        ax.set_xlim(*x)
    if y is not None:
        ax.set_ylim(*y)


def _leave_out(ax: Axes, previews: Sequence[Facet], *, left: bool, below: bool, entries: set[str]) -> None:
    """Leave out what a neighbour says: labels of rows and of axes, and a legend without a new entry."""
    if left and _same_rows(previews):
        ax.set_yticklabels([])
        for text in [text for text in ax.texts if text.get_gid() == "group"]:
            text.remove()
    if left and len({facet.names[1] for facet in previews}) == 1:
        ax.set_ylabel("")
    if below and len({facet.names[0] for facet in previews}) == 1:
        ax.set_xlabel("")
    legend = ax.get_legend()
    if legend is not None:
        entry_labels = {text.get_text() for text in legend.get_texts()}
        legend.set_visible(not entry_labels <= entries)
        entries |= entry_labels

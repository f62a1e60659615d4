"""Which picture draws which result, alone or as facets, as xarray's `row`, `col`, `col_wrap`."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from perfarray import plots
from perfarray.conventions import LEVELS, SUITE
from perfarray.plots.figure import describe, label_text, plain, text_width
from perfarray.results.kinds import KINDS

# By the kind of the result, or of its curves, the picture that draws it.
PICTURES: Final[Mapping[str, str]] = MappingProxyType(
    {name: kind.picture for name, kind in sorted(KINDS.items()) if kind.picture}
)

LARGEST: Final = 60.0  # inches that a figure is wide or high at most
# facets without rows may be drawn at this share of their size where a figure has no room for them
LEAST: Final = 0.5
EMPTY: Final = 1.0  # inches of a row of facets without anything to draw
ALIKE: Final = 4.0  # facets share an axis at most so many times as long as that of one alone
TOGETHER: Final = (
    *LEVELS,
    "component",
    "group_size",
    "level",
    "method",
    "principal_component",
    "replicate",
    "runs",
    "statistic",
)
REFUSED: Final = (
    "agreement",
    "cluster_machines",
    "explain_variation",
    "principal_components",
)  # results with one picture for all cells
SHEETS: Final = (
    "five_number_summary",
    "profile",
    "relative_variation",
    "suite_score",
)  # scores of different suites have no common axis


def draw(result: xr.Dataset, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw a result, or the curves of one that does not carry what is drawn.

    Its attr `result` says which picture.

    Every result with an estimate takes `kind="strip"`, with `along=` and `truth=`: intervals of
    many replications side by side. Scores and their relative variation take `kind="histogram"`. All
    other keywords are the picture's.
    """
    name = result.attrs.get("result")
    if not isinstance(name, str) or name not in PICTURES:
        came = "an object without the attr 'result'" if name is None else f"a result of {name!r}"
        raise ValueError(
            f"no picture for {came}; there is one for the results of {', '.join(PICTURES)}"
            " (timings are drawn by plot(), plot.run_sequence(), plot.variance_components() and "
            "plot.intervals(baseline))"
        )
    if keywords.get("kind") == "strip":
        return plots.strip(
            result, ax, **{key: value for key, value in keywords.items() if key != "kind"}
        )
    if keywords == {"kind": "histogram"} and name in ("relative_variation", "suite_score"):
        return plots.score_histogram(result.compute(), ax)
    picture: Callable[..., Axes] = getattr(plots, PICTURES[name])
    return picture(result.compute(), ax=ax, **keywords)


class Facet(NamedTuple):
    """A picture drawn alone: size in inches, and of both axes limits, labels and scales.

    Labels of its rows, parts of its title.
    """

    size: tuple[float, float]
    limits: tuple[tuple[float, float], tuple[float, float]]
    labels: tuple[str, str]
    scales: tuple[str, str]
    rows: tuple[str, ...]
    title: list[str]


def facets(
    draw: Callable[..., Axes],
    data: Any,
    ax: Axes | None = None,
    *,
    row: str | None = None,
    col: str | None = None,
    col_wrap: int | None = None,
) -> Axes:
    """Draw a picture for each label of one or two dims, and return the first Axes.

    Where no dim is given, scores of several suites have a picture for each suite, as long as a
    figure has room for all; other results have one picture.

    Facets share an axis where their limits are alike, so that they can be compared by eye. The
    common parts of their titles are written once above all. What users read of the arguments is
    said in the accessor.
    """
    is_sheets = row is None and col is None and col_wrap is None
    if is_sheets:
        n_suites = data.sizes.get(SUITE, 1) if data.attrs.get("result") in SHEETS else 1
        if ax is not None or n_suites == 1:
            return draw(data, ax=ax)
        row = SUITE
    dims = _checked_dims(data, ax, row, col, col_wrap)
    cells = [
        data.isel({dim: [position] for dim, position in zip(dims, positions, strict=True)})
        for positions in product(*(range(data.sizes[dim]) for dim in dims))
    ]
    previews = [_preview(draw, cell) for cell in cells]
    drawable = [facet for facet in previews if facet is not None]
    if not drawable:
        draw(data, ax=None)  # raises an error that says what is missing
        raise ValueError("nothing to draw: no label has anything that can be drawn by itself")
    if is_sheets and sum(facet.size[1] for facet in drawable) > LARGEST:
        return draw(data, ax=None)  # the largest suite
    common = [text for text in drawable[0].title if all(text in facet.title for facet in drawable)]
    columns = col_wrap if col_wrap is not None else data.sizes[col] if col is not None else 1
    figure, panels = _grid(previews, columns)
    limits = {"xlim": _shared_limits(drawable, 0), "ylim": _shared_limits(drawable, 1)}
    limits = {name: ends for name, ends in limits.items() if ends is not None and not is_sheets}
    for cell, facet, panel in zip(cells, previews, panels, strict=False):
        if facet is None:
            note: dict[str, Any] = {"ha": "center", "va": "center", "transform": panel.transAxes}
            panel.text(0.5, 0.5, "nothing to draw", **note)
            panel.set_axis_off()
            continue
        # A picture keeps to limits set before; those that it changes are set again.
        panel.set(**limits)
        draw(cell, ax=panel)
        panel.set(**limits)
    entries: set[str] = set()
    is_drawn = [facet is not None for facet in previews]
    # The room of a title depends on the labels of all rows in its column.
    for number, (cell, facet, panel) in enumerate(zip(cells, previews, panels, strict=False)):
        labels = [label_text(dim, cell[dim].values.tolist()[0]) for dim in dims]
        title = [text for text in facet.title if text not in common] if facet is not None else []
        describe(panel, [label for label in labels if label not in ", ".join(title)] + title)
        if facet is not None:
            has_left = any(is_drawn[number - number % columns : number])
            has_below = any(is_drawn[number + columns :: columns])
            _hide_repeated(panel, drawable, has_left, has_below, entries)
    for empty in panels[len(cells) :]:
        empty.remove()
    if common:
        size = panels[0].title.get_fontsize()
        figure.suptitle(plain(", ".join(common)), x=0.01, ha="left", fontsize=size)
    return panels[0]


def _checked_dims(
    data: Any, ax: Axes | None, row: str | None, col: str | None, col_wrap: int | None
) -> list[str]:
    kind = str(data.attrs.get("result", ""))
    if kind in REFUSED:
        raise ValueError(
            f"the picture of a result of {kind!r} shows all cells together, without facets. "
            "Leave out row, col and col_wrap"
        )
    if ax is not None:
        raise ValueError("facets have a figure of their own: leave out ax, or row and col")
    if col_wrap is not None and (row is not None or col is None or col_wrap < 1):
        raise ValueError(
            f"col_wrap={col_wrap!r} is for col alone, a number of columns of at least 1; "
            f"row={row!r}, col={col!r}"
        )
    dims = [dim for dim in (row, col) if dim is not None]
    allowed = [str(dim) for dim in data.dims if dim not in TOGETHER]
    if set(dims) - set(allowed) or len(set(dims)) < len(dims):
        raise ValueError(
            f"row={row!r}, col={col!r}: give different dims with a picture for each label; "
            f"there are {', '.join(allowed) or 'none'}"
        )
    return dims


def _preview(draw: Callable[..., Axes], cell: Any) -> Facet | None:
    """Draw a facet alone, to get its size and limits, and close it.

    Return None where there is nothing to draw.
    """
    try:
        ax = draw(cell, ax=None)
    except ValueError as error:
        if "nothing to draw" not in str(error):
            raise
        return None
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches().tolist()
    rows = (
        tuple(label.get_text() for label in ax.get_yticklabels())
        if not ax.spines["left"].get_visible()
        else ()
    )
    title = ax.get_title(loc="left").replace("\n", " ").replace(r"\$", "$").split(", ")
    limits, labels, scales = (
        (ax.get_xlim(), ax.get_ylim()),
        (ax.get_xlabel(), ax.get_ylabel()),
        (ax.get_xscale(), ax.get_yscale()),
    )
    plt.close(figure)
    return Facet((width, height), limits, labels, scales, rows, title)


def _grid(facets: Sequence[Facet | None], columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with room for all facets, and its Axes in the order of reading.

    A row of the grid is as high as its highest facet.
    """
    previews = [facet for facet in facets if facet is not None]
    width, rows = max(facet.size[0] for facet in previews), -(-len(facets) // columns)
    heights = [
        max(
            (
                facet.size[1]
                for facet in facets[number * columns : (number + 1) * columns]
                if facet is not None
            ),
            default=EMPTY,
        )
        for number in range(rows)
    ]
    label_width = text_width(list(previews[0].rows)) / 72 if _has_same_rows(previews) else 0.0
    size = width + (columns - 1) * (width - label_width), sum(heights) + 0.3
    if max(size) > LARGEST and max(size) * LEAST <= LARGEST and not previews[0].rows:
        size = size[0] * LARGEST / max(size), size[1] * LARGEST / max(size)
    if max(size) > LARGEST:
        raise ValueError(
            f"{len(facets)} pictures of {width:.0f} x {max(heights):.0f} inches in {columns} "
            f"columns do not fit. A figure is at most {LARGEST:g} inches wide and high. "
            f"{'Give col_wrap=4, or select' if rows == 1 else 'Select'} fewer labels"
        )
    shape = {"height_ratios": heights}
    figure, panels = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, gridspec_kw=shape
    )
    return figure, panels.ravel().tolist()


def _has_same_rows(previews: Sequence[Facet]) -> bool:
    return bool(previews[0].rows) and all(facet.rows == previews[0].rows for facet in previews)


def _shared_limits(previews: Sequence[Facet], axis: int) -> tuple[float, float] | None:
    """Return limits of an axis for all facets of one quantity, unless some would be squeezed."""
    if len({(facet.labels[axis], facet.scales[axis]) for facet in previews}) > 1 or (
        axis == 1 and previews[0].rows
    ):
        return None
    limits = np.array([facet.limits[axis] for facet in previews])
    lengths = np.log(limits) if previews[0].scales[axis] == "log" else limits
    is_compact = lengths[:, 1].max() - lengths[:, 0].min() <= ALIKE * np.diff(lengths).min()
    return (float(limits[:, 0].min()), float(limits[:, 1].max())) if is_compact else None


def _hide_repeated(
    ax: Axes, previews: Sequence[Facet], has_left: bool, has_below: bool, entries: set[str]
) -> None:
    """Remove labels of rows and axes that a neighbour has too, and a legend without a new entry."""
    if has_left and _has_same_rows(previews):
        ax.set_yticklabels([])
        for text in [text for text in ax.texts if text.get_gid() == "group"]:
            text.remove()
    if has_left and len({facet.labels[1] for facet in previews}) == 1:
        ax.set_ylabel("")
    if has_below and len({facet.labels[0] for facet in previews}) == 1:
        ax.set_xlabel("")
    legend = ax.get_legend()
    if legend is not None:
        entry_labels = {text.get_text() for text in legend.get_texts()}
        legend.set_visible(not entry_labels <= entries)
        entries |= entry_labels

"""One comparison by every method: the verdict of each method on each benchmark."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import DARK, GREY, LABEL_SIZE, Mask, capitalized, compared
from perfarray.plots.interval_marks import VERDICTS
from perfarray.plots.rows import GAP, Row, RowFrame, shown_rows, suite_rows

NOT_APPLICABLE: Final = "not applicable"
NOT_ASKED: Final = "not asked"
# What the legend calls the verdict of a method that could have given another.
WORDS: Final = {
    "faster": "faster",
    "slower": "slower",
    "equivalent": "equivalent",
    "inconclusive": "no evidence",
}
COLUMN: Final = 0.55  # inches of a method's column
NARROWEST: Final = 6.0  # inches that the legend needs


def agreement(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the verdict of every method: a row for each cell, a column for each method.

    Returns
    -------
    Axes
        Horizontal axis: the methods that answered; its label names the others. A cross is a method
        that cannot answer for this row; an empty field is a method that was not asked. The column
        at the right says whether the methods that apply agree. Without any answer all methods have
        a column.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = agreement(times.perf.agreement("old", rng=1))
    >>> ax.get_title(loc="left")
    'new compared with old, by method'
    """
    rows, left_out = shown_rows(result["agree"], "agreement", keeps_empty=True)
    suite = suite_rows(result, "agree", rows, "suite")
    verdicts, outcomes = (
        np.array([*_of_rows(result[name], rows), *_of_rows(result.get(f"suite_{name}"), suite)])
        for name in ("verdict", "outcome")
    )
    answered: Mask = ~np.isin(outcomes, (NOT_APPLICABLE, NOT_ASKED))
    titles = np.array([str(title) for title in result["title"].values])
    has_column = answered.any(axis=0) | ~answered.any()
    methods, unanswered = titles[has_column].tolist(), titles[~has_column].tolist()
    verdicts, outcomes = verdicts[:, has_column], outcomes[:, has_column]
    answered = answered[:, has_column]
    frame = RowFrame(
        ax,
        rows + suite,
        left_out,
        extra=(COLUMN * len(methods) - 3.5, 0.9),
        minimum=(NARROWEST, 0.0),
    )
    ax = frame.ax
    for verdict, word in WORDS.items():
        colour, marker = VERDICTS[verdict]
        _draw_marks(
            frame, answered & (verdicts == verdict), word, color=colour, marker=marker, markersize=7
        )
    _draw_marks(
        frame, outcomes == NOT_APPLICABLE, NOT_APPLICABLE, color=GREY, marker="x", markersize=5
    )
    ax.set_xticks(
        range(len(methods)),
        methods,
        rotation=35,
        ha="right",
        rotation_mode="anchor",
        fontsize=LABEL_SIZE,
    )
    ax.set_xlim(-0.6, len(methods) - 0.4)
    if suite:
        ax.axhline(suite[0].y - 0.5 - GAP / 2, color=DARK, linewidth=0.8)
    agree = [*_of_rows(result["agree"], rows), *_of_rows(result.get("suite_agree"), suite)]
    texts = [
        "yes" if is_unanimous else "no" if any(answers) else "–"
        for is_unanimous, answers in zip(agree, answered, strict=True)
    ]
    return frame.finish(
        capitalized([*compared(result, result["agree"]), "by method"]),
        f"without an answer: {', '.join(unanswered)}" if unanswered else "",
        texts,
        "agree",
    )


def _of_rows(array: xr.DataArray | None, rows: Sequence[Row]) -> list[object]:
    return [] if array is None else [array.isel(row.cell).values for row in rows]


def _draw_marks(frame: RowFrame, mask: Mask, label: str, **style: object) -> None:
    rows, columns = np.nonzero(mask)
    if len(rows):
        frame.ax.plot(columns, frame.heights[rows], linestyle="none", label=label, **style)  # type: ignore[arg-type]

"""One comparison under every method: which method says what of which benchmark."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.comparisons.interval_marks import VERDICTS
from perfarray.plots.figure import DARK, GREY, LABEL_SIZE, axes_for, compared, describe
from perfarray.plots.rows import GAP, Row, beside_rows, label_rows, shown_rows, size_for, suite_rows

SUITE: Final = "suite"

NOT_APPLICABLE: Final = "not applicable"
NOT_ASKED: Final = "not asked"

WORDS: Final = {"faster": "faster", "slower": "slower", "equivalent": "equivalent", "inconclusive": "no evidence"}
"""What the legend calls the verdict of a method that could have given another."""

COLUMN: Final = 0.55
"""Width in inches of a method's column."""

NARROWEST: Final = 6.5
"""Width in inches that the legend needs."""


def agreement(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw what every method says of every cell: a row for each cell, a column for each method.

    Parameters
    ----------
    result : Dataset
        What `perfarray.agreement` returned, or a selection of it that keeps `method`.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the methods. A cross is a method that cannot answer with these data, whatever the truth; an empty place one that
        was not asked. Right of the rows stands whether the methods that apply agree.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = agreement(times.perf.agreement("old", rng=1))
    >>> ax.get_title(loc="left")
    'new compared with old, by method'
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    rows, left_out = shown_rows(result["agree"], "agreement")
    suite = suite_rows(result, "agree", rows, SUITE)
    methods = [str(title) for title in result["title"].values]
    width, height = size_for(rows + suite)
    ax = axes_for(ax, (max(width - 4.0 + COLUMN * len(methods), NARROWEST), height + 0.9))
    for verdict, (colour, marker) in VERDICTS.items():
        if verdict:
            chosen = _places(result, rows, verdict) + _places(result, suite, verdict, "suite_")
            _draw(ax, chosen, WORDS[verdict], color=colour, marker=marker, markersize=7)
    crossed = _places(result, rows, NOT_APPLICABLE) + _places(result, suite, NOT_APPLICABLE, "suite_")
    _draw(ax, crossed, NOT_APPLICABLE, color=GREY, marker="x", markersize=5)
    ax.set_xticks(
        range(len(methods)),
        methods,
        rotation=35,
        ha="right",
        rotation_mode="anchor",
        fontsize=LABEL_SIZE,
    )
    ax.set_xlim(-0.6, len(methods) - 0.4)
    label_rows(ax, rows + suite)
    if suite:
        ax.axhline(suite[0].y - 0.5 - GAP / 2, color=DARK, linewidth=0.8)
    beside_rows(ax, rows + suite, _agreements(result, rows) + _agreements(result, suite, "suite_"), "agree")
    title = ", ".join([*compared(result, result["agree"]), "by method", *left_out])
    describe(ax, title[:1].upper() + title[1:] if title.startswith("compared") else title)
    return ax


def _places(result: xr.Dataset, rows: list[Row], word: str, prefix: str = "") -> list[tuple[int, float]]:
    """Return where, by column and height, methods came to a verdict, or were not applicable."""
    verdict, outcome = result[f"{prefix}verdict"], result[f"{prefix}outcome"]
    marks = []
    for row in rows:
        outcomes, verdicts = outcome.isel(row.cell).values, verdict.isel(row.cell).values
        matches = outcomes == word if word == NOT_APPLICABLE else (verdicts == word) & ~np.isin(outcomes, (NOT_APPLICABLE, NOT_ASKED))
        marks += [(column, row.y) for column in np.flatnonzero(matches).tolist()]
    return marks


def _draw(ax: Axes, marks: list[tuple[int, float]], label: str, **style: object) -> None:
    """Draw the marks of one kind."""
    if marks:
        ax.plot(*np.array(marks, dtype=float).T, linestyle="none", label=label, **style)  # type: ignore[arg-type]


def _agreements(result: xr.Dataset, rows: list[Row], prefix: str = "") -> list[str]:
    """Write for every row whether the methods that apply agree."""
    words = []
    for row in rows:
        agree = bool(result[f"{prefix}agree"].isel(row.cell))
        able = not np.isin(result[f"{prefix}outcome"].isel(row.cell).values, (NOT_APPLICABLE, NOT_ASKED)).all()
        words.append("yes" if agree else "no" if able else "–")
    return words

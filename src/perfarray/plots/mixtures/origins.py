"""What modes go with: shares of the modes label by label, or how much of their variation each factor explains."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, NOTE_SIZE, axes_for, describe, number_format, selection, shortened
from perfarray.plots.rows import GAP, INCHES, TALLEST, Row, beside_rows, label_rows, note_unmeasured, shown_rows, size_for

WRITTEN: Final = 0.09
"""Shares from here on have room for their number."""


def mode_origins(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw what the modes of a cell go with, factor by factor: the share of each mode in the runs of every label.

    Parameters
    ----------
    result : Dataset
        What `perfarray.modes_by` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: share of the runs. Factors are groups of rows; right of the first row of each stands its adjusted p-value. Of more
        labels than there is room for those farthest from the others are drawn. Of several cells: how much of the modes' variation each
        factor explains, a hollow mark where that may be chance.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np, perfarray
    >>> runs = 1 + 0.2 * (np.arange(6) == 5)[:, None] + 0.01 * np.random.default_rng(1).standard_normal((6, 8))
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark", level=("binary", "execution"))
    >>> ax = times.perf.modes_by(by="binary", rng=1).perf.plot()
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.patches[-1].get_width().item()
    (['0', '1', '2', '3', '4', '5'], 1.0)
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    result = result if "factor" in result.dims else result.expand_dims("factor")
    if result["n_modes"].size == 1:
        return _shares(result.squeeze(list(result["n_modes"].dims)), ax, selection(result["n_modes"]))
    return _explained(result, ax)


def _shares(cell: xr.Dataset, ax: Axes | None, title_parts: list[str]) -> Axes:
    """Stack the shares of the modes of one cell, label by label."""
    rows, left_out = _label_rows(cell)
    ax = axes_for(ax, size_for(rows))
    shares = np.nan_to_num([cell["share"].isel(row.cell).values for row in rows])
    format_number, start = number_format(str(cell["location"].attrs.get("units", "1"))), np.zeros(len(rows))
    heights = [row.y for row in rows]
    for index in range(int(np.nan_to_num(cell["n_modes"].item()))):
        colour, label = COLOURS[index % len(COLOURS)], f"mode {index + 1}: {format_number(cell['location'].values[index])}"
        bars = ax.barh(heights, shares[:, index], left=start, height=0.72, color=colour, label=label, edgecolor="white", linewidth=0.5)
        texts = [f"{share:.0%}".replace("%", " %") if share >= WRITTEN else "" for share in shares[:, index]]
        ax.bar_label(bars, texts, label_type="center", fontsize=NOTE_SIZE, color="white" if index == 0 else "black")
        start += shares[:, index]
    if cell["n_modes"].item() == 0:
        note_unmeasured(ax, heights)
    label_rows(ax, rows)
    first = {row.cell["factor"]: row.y for row in reversed(rows)}
    adjusted = cell["pvalue_adjusted"].values
    beside_rows(ax, rows, [_p(adjusted[row.cell["factor"]]) if first[row.cell["factor"]] == row.y else "" for row in rows], "p")
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    ax.set_xlabel(f"share of the runs{_p_of(cell)}")
    describe(ax, ", ".join(["What the modes go with", *title_parts, *left_out]))
    return ax


def _label_rows(cell: xr.Dataset) -> tuple[list[Row], list[str]]:
    """Give every label of every factor a row; of too many, those of each factor that lie farthest from the whole."""
    share, factors = cell["share"].transpose("factor", "label", "mode"), [str(name) for name in cell["factor"].values]
    distances = np.nan_to_num(abs(share - cell["weight"]).values).max(axis=-1)
    present = share.notnull().any("mode").values
    limit = max(1, int(TALLEST / INCHES / len(factors)))
    rows: list[Row] = []
    for index, factor in enumerate(factors):
        candidates = np.flatnonzero(present[index])
        selected = np.sort(candidates[np.argsort(-distances[index, candidates], kind="stable")[:limit]])
        labels = shortened([str(cell["label"].values[label]) for label in selected]) if selected.size else ["–"]
        for number, label in enumerate(labels):
            gap = GAP if rows and not number else 0.0
            cell_index = {"factor": index, "label": int(selected[number]) if selected.size else 0}
            rows.append(Row(cell_index, label, factor.replace("_", " "), rows[-1].y + 1 + gap if rows else 0.0))
    n_labels = np.count_nonzero(present)
    return rows, [f"{len(rows)} of {n_labels}: labels farthest from the others"] if n_labels > len(rows) else []


def _explained(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw a mark for every factor in the row of every cell."""
    statistic = result["statistic"].transpose(..., "factor")
    rows, left_out = shown_rows(statistic.max("factor").where(result["n_modes"] > 0), "share explained")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    for index, factor in enumerate(result["factor"].values.tolist()):
        statistics, p = (
            np.array([float(result[name].isel({**row.cell, "factor": index})) for row in rows]) for name in ("statistic", "pvalue_adjusted")
        )
        significant, colour = p <= float(result.attrs["alpha"]), COLOURS[index % len(COLOURS)]
        ax.plot(statistics[significant], heights[significant], "o", color=colour, label=factor.replace("_", " "), zorder=3)
        ax.plot(
            statistics[~significant],
            heights[~significant],
            "o",
            color=colour,
            markerfacecolor="white",
            markersize=4,
            label="may be chance" if index == 0 else "",
        )
    modes = [float(result["n_modes"].isel(row.cell)) for row in rows]
    note_unmeasured(ax, heights[np.array(modes) == 0])
    note_unmeasured(ax, heights[np.array(modes) == 1], "one mode")
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if not number > 0 else f"{number:.0f}" for number in modes], "modes")
    ax.set_xlim(-0.02, 1.02)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    ax.set_xlabel(f"share of the modes' variation explained{_p_of(result)}")
    describe(ax, ", ".join(["What the modes go with", *left_out]))
    return ax


def _p(value: float) -> str:
    """Write a p-value."""
    return "–" if np.isnan(value) else f"{value:.3f}"


def _p_of(result: xr.Dataset) -> str:
    """Write which p-values these are."""
    correction = str(result.attrs["correction"])
    return "" if correction == "none" else f"\np-values adjusted for the number of factors ({correction})"

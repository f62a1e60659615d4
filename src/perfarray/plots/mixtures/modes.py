"""Modes of the runs: how many they support, and the factors they go with."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.plots.figure import (
    COLOURS,
    GREY,
    number_format,
    selection,
    shortened,
    write_percent,
)
from perfarray.plots.rows import GAP, INCHES, TALLEST, Row, RowFrame, formatted, shown_rows

WRITTEN: Final = 0.09  # shares from here on have room for their number


def modes(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many modes the runs of every cell support, and how many their density has.

    Returns
    -------
    Axes
        Horizontal axis: modes. A hollow point beside a filled one: the fitted density has modes
        that may be chance. A grey line is the range of the numbers of modes of resampled data,
        where there are any. The column at the right has the p-value of that many modes against
        fewer.

    Examples
    --------
    >>> import perfarray
    >>> runs = [1 + number % 2 + 0.01 * (number % 7) for number in range(50)]
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> ax = times.perf.variability_level(rng=1).perf.plot()
    >>> label = "supported by the runs"
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_label() == label]
    [[2.0]]
    """
    result = result.compute()
    fitted = result["estimate"]
    frame = RowFrame(ax, *shown_rows(fitted, "number of modes"))
    ax, heights = frame.ax, frame.heights
    number, supported = frame.values(fitted), frame.values(result["n_supported"])
    missing = fitted.copy(data=np.full(fitted.shape, np.nan))
    p, low, high = (
        frame.values(result.get(name, missing)) for name in ("pvalue", "lower", "upper")
    )
    if np.isfinite(low).any():
        label = "of resampled runs"
        ax.hlines(heights, low, high, color=GREY, linewidth=1.6, zorder=1, label=label)
    differs = (number != supported) & np.isfinite(number)
    if differs.any():
        ax.plot(
            number[differs],
            heights[differs],
            "o",
            color=GREY,
            markerfacecolor="white",
            markersize=6,
            label="of the fitted density",
        )
    ax.plot(
        supported,
        heights,
        "o",
        color=COLOURS[0],
        markersize=6,
        label="supported by the runs",
        zorder=3,
    )
    frame.note(np.isnan(number))
    ax.set_xlim(0.5, np.nanmax([2.0, *number, *high]) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    label = (
        f"modes of the run {'times' if result.attrs.get('metric', 'time') == 'time' else 'values'}"
    )
    return frame.finish(["Modes", *selection(fitted)], label, formatted(p), "p")


def mode_origins(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw which factors the modes of a cell go with: shares of each mode by label.

    Returns
    -------
    Axes
        Horizontal axis: share of the runs. Factors are groups of rows; right of the first row of
        each stands its adjusted p-value. Of more labels than there is room for, those farthest from
        the others are drawn. Of several cells: how much of the modes' variation each factor
        explains, with a hollow mark where that may be chance.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> noise = 0.01 * np.random.default_rng(1).standard_normal((6, 8))
    >>> runs = 1 + 0.2 * (np.arange(6) == 5)[:, None] + noise
    >>> levels = ("binary", "execution")
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark", level=levels)
    >>> ax = times.perf.modes_by(by="binary", rng=1).perf.plot()
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.patches[-1].get_width().item()
    (['0', '1', '2', '3', '4', '5'], 1.0)
    """
    result = result.compute()
    result = result if "factor" in result.dims else result.expand_dims("factor")
    n_modes = result["n_modes"]
    if n_modes.size == 1:
        return _draw_shares(result.squeeze(list(n_modes.dims)), ax, selection(n_modes))
    return _draw_explained(result, ax)


def _draw_shares(cell: xr.Dataset, ax: Axes | None, labels_of_cell: list[str]) -> Axes:
    """Stack the shares of the modes of one cell, label by label."""
    frame = RowFrame(ax, *_label_rows(cell))
    shares = np.nan_to_num([cell["share"].isel(row.cell).values for row in frame.rows])
    format_number = number_format(str(cell["location"].attrs.get("units", "1")))
    n_modes = int(np.nan_to_num(cell["n_modes"].item()))
    labels = [
        f"mode {index + 1}: {format_number(cell['location'].values[index])}"
        for index in range(n_modes)
    ]
    layers = (
        (label, COLOURS[index % len(COLOURS)], shares[:, index])
        for index, label in enumerate(labels)
    )
    frame.stack_bars(
        layers, lambda share: f"{100 * share:.0f} %" if share >= WRITTEN else "", edge="white"
    )
    if cell["n_modes"].item() == 0:
        frame.note(np.full(len(frame.rows), True))
    frame.ax.set_xlim(0, 1)
    pvalues = formatted(cell["pvalue_adjusted"].values)
    first = {row.cell["factor"]: row.y for row in reversed(frame.rows)}
    texts = [
        pvalues[row.cell["factor"]] if first[row.cell["factor"]] == row.y else ""
        for row in frame.rows
    ]
    return _finish(
        frame, cell, ["What the modes go with", *labels_of_cell], "share of the runs", texts, "p"
    )


def _label_rows(cell: xr.Dataset) -> tuple[list[Row], list[str]]:
    """Return a row for every label of every factor.

    Of too many labels, those of each factor that are farthest from the whole.
    """
    share, factors = (
        cell["share"].transpose("factor", "label", "mode"),
        [str(name) for name in cell["factor"].values],
    )
    distances = np.nan_to_num(abs(share - cell["weight"]).values).max(axis=-1)
    is_measured = share.notnull().any("mode").values
    limit = max(1, int(TALLEST / INCHES / len(factors)))
    rows: list[Row] = []
    for index, factor in enumerate(factors):
        candidates = np.flatnonzero(is_measured[index])
        selected = np.sort(
            candidates[np.argsort(-distances[index, candidates], kind="stable")[:limit]]
        ).tolist()
        labels = shortened([str(cell["label"].values[label]) for label in selected]) or ["–"]
        for number, (label, position) in enumerate(zip(labels, selected or [0], strict=True)):
            gap = GAP if rows and not number else 0.0
            y = rows[-1].y + 1 + gap if rows else 0.0
            rows.append(
                Row({"factor": index, "label": position}, label, factor.replace("_", " "), y)
            )
    n_labels = np.count_nonzero(is_measured)
    return rows, [f"{len(rows)} of {n_labels}: labels farthest from the others"] if n_labels > len(
        rows
    ) else []


def _draw_explained(result: xr.Dataset, ax: Axes | None) -> Axes:
    """Draw a mark for every factor in the row of every cell."""
    statistic = result["statistic"].transpose(..., "factor")
    frame = RowFrame(
        ax,
        *shown_rows(statistic.max("factor"), "share explained", measured=result["n_modes"] > 0),
    )
    n_modes = frame.values(result["n_modes"])
    for index, factor in enumerate(result["factor"].values.tolist()):
        statistics, p = (
            frame.values(result[name], factor=index) for name in ("statistic", "pvalue_adjusted")
        )
        significant, colour = p <= float(result.attrs["alpha"]), COLOURS[index % len(COLOURS)]
        name = factor.replace("_", " ")
        frame.draw_points(statistics, significant, colour=colour, label=name, zorder=3)
        label = "" if index else "may be chance"
        frame.draw_points(
            statistics, ~significant, colour=colour, is_hollow=True, size=4, label=label
        )
    frame.note(n_modes == 0)
    frame.note(n_modes == 1, "one mode")
    frame.ax.set_xlim(-0.02, 1.02)
    texts = [f"{number:.0f}" if number > 0 else "–" for number in n_modes]
    return _finish(
        frame,
        result,
        ["What the modes go with"],
        "share of the modes' variation explained",
        texts,
        "modes",
    )


def _finish(
    frame: RowFrame,
    result: xr.Dataset,
    title_parts: list[str],
    label: str,
    texts: list[str],
    header: str,
) -> Axes:
    """Finish a picture of shares, and write how p-values were adjusted."""
    write_percent(frame.ax.xaxis)
    correction = str(result.attrs["correction"])
    adjusted = (
        ""
        if correction == "none"
        else f"\np-values adjusted for the number of factors ({correction})"
    )
    return frame.finish(title_parts, label + adjusted, texts, header)

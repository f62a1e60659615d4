"""One number of every cell, with limits if it has any: repetitions, probabilities, speedups."""

from typing import Final, NamedTuple

import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import THROUGHPUT, TIME, level_of_intervals
from perfarray.plots.figure import (
    GREY,
    compared,
    draw_reference,
    level_colours,
    selection,
    write_percent,
    write_plain,
    write_units,
)
from perfarray.plots.interval_marks import IntervalMark, draw_intervals
from perfarray.plots.rows import RowFrame, column_of, formatted, shown_rows, spans_decades
from perfarray.results.words import column_digits


def counts(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how many repetitions of each level a parent has: a point, or a line from least to most.

    Returns
    -------
    Axes
        Horizontal axis: repetitions, logarithmic. The column at the right has the number of values
        of each cell.

    Examples
    --------
    >>> import perfarray
    >>> samples, levels = {"fft": [[9, 8], [10, 7], [1, 2]]}, ("execution", "iteration")
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=levels)
    >>> ax = times.perf.counts().perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "most"]
    [[3.0], [2.0]]
    """
    total = result["total"].isel(level=-1, drop=True)
    frame = RowFrame(ax, *shown_rows(total, "number of values", measured=total > 0))
    ax, heights, totals = frame.ax, frame.heights, frame.values(total)
    for number, (level, colour) in enumerate(
        level_colours([str(level) for level in result["level"].values]).items()
    ):
        minima, maxima = (
            frame.values(result[name], level=number) for name in ("minimum", "maximum")
        )
        ax.hlines(heights, minima, maxima, color=colour, linewidth=1.6, zorder=1)
        ax.plot(minima, heights, "|", color=colour, markersize=8, gid="fewest")
        frame.draw_points(maxima, colour=colour, label=level, gid="most")
    ax.set_xscale("log")
    write_plain(ax.xaxis)
    first, last = ax.get_xlim()
    ax.set_xlim(min(0.9, first), max(2.0, last))
    frame.note(totals == 0)
    label = "repetitions inside one of the level above"
    return frame.finish(
        ["What was measured", *selection(total)], label, formatted(totals, "{:,.0f}"), "values"
    )


class Quantity(NamedTuple):
    """How a number is drawn: its title and the label of its axis.

    Its value where systems do not differ.
    """

    title: str
    label: str
    name: str = "estimate"
    neutral: float | None = None
    percent: bool = False


QUANTITIES: Final = {
    "mean_difference": Quantity("Mean difference of two runs", "mean of |candidate - baseline|"),
    "prob_faster": Quantity(
        "Probability of the faster run",
        "how often a run of the candidate is faster",
        neutral=0.5,
        percent=True,
    ),
    "prob_fastest": Quantity(
        "Probability of the fastest run", "how often a run is the fastest of all", percent=True
    ),
    "speedup": Quantity("Speedup", "times as fast as the baseline", neutral=1.0),
}


def estimates(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the number of every cell in a row, with its interval, where it has one.

    Returns
    -------
    Axes
        Horizontal axis: the number. The dotted line is its value for systems that do not differ; of
        `mean_difference` that is a grey mark in each row, the mean difference of two runs of the
        baseline. The column at the right has the number.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [5.0, 5.1, 4.9]})
    >>> ax = times.perf.speedup("old").perf.plot()
    >>> ax.lines[-1].get_xdata().tolist(), ax.get_xlabel()
    ([2.0], 'times as fast as the baseline')
    """
    quantity = QUANTITIES[str(result.attrs["result"])]
    number = result[quantity.name]
    frame = RowFrame(ax, *shown_rows(number, "number"))
    required = [0.0, 1.0] if str(result.attrs["result"]).startswith("prob") else []
    if quantity.neutral is not None:
        draw_reference(frame.ax, quantity.neutral)
        required.append(quantity.neutral)
    if "baseline_difference" in result:
        differences = result["baseline_difference"]
        frame.ax.plot(
            frame.values(differences),
            frame.heights,
            "|",
            color=GREY,
            markersize=10,
            label="two runs of the baseline",
        )
        required += [float(differences.min()), float(differences.max())]
    is_speedup = quantity.neutral == 1 and bool(number.min() > 0)
    log = not quantity.percent and (is_speedup or spans_decades(number))
    lower, upper = (frame.values(result.get(name, number)) for name in ("lower", "upper"))
    kinds = [
        str(result["kind"].isel(row.cell).item()) if "kind" in result else "bounded"
        for row in frame.rows
    ]
    cells = zip(frame.heights, frame.values(number), lower, upper, kinds, strict=True)
    draw_intervals(frame.ax, [IntervalMark(*cell) for cell in cells], required, log)
    if quantity.percent:
        write_percent(frame.ax.xaxis)
    elif quantity.neutral is None:
        write_units(frame.ax.xaxis, str(number.attrs.get("units", "1")))
    units, values = str(number.attrs.get("units", "1")), frame.values(number)
    texts = (
        formatted(100 * values, "{:.1f} %")
        if quantity.percent
        else column_of(values, units, column_digits(result, quantity.name, "lower", "upper"))
    )
    level = f"\n{level_of_intervals(result)} intervals" if "lower" in result else ""
    label, runs = quantity.label, int(result.attrs.get("runs", 1))
    label = (
        label
        if runs == 1
        else label.replace("a run", f"{runs} runs").replace(" is ", " are ") + ", taken together"
    )
    title_parts = [_for_metric(quantity.title, result), *compared(result, number)]
    return frame.finish(title_parts, f"{_for_metric(label, result)}{level}", texts)


def _for_metric(text: str, result: xr.Dataset) -> str:
    """Write "better" instead of "faster" for metrics other than time and throughput."""
    if result.attrs.get("metric", TIME) in (TIME, THROUGHPUT):
        return text
    return (
        text.replace("faster", "better")
        .replace("fastest", "best")
        .replace("as fast as", "as good as")
    )

"""One number of every cell: probabilities, differences of runs, speedups, variation of scores; with its interval, where it has one."""

from typing import Final, NamedTuple

import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import THROUGHPUT, TIME, level_of_intervals
from perfarray.plots.comparisons.interval_marks import Interval, draw_intervals, view_of
from perfarray.plots.figure import DARK, GREY, axes_for, compared, describe, number_format, write_units
from perfarray.plots.rows import Row, beside_rows, label_rows, shown_rows, size_for


class Quantity(NamedTuple):
    """How a number is drawn: its variable, the title, the label of its axis; what it is without a difference; what stands beside."""

    name: str
    title: str
    label: str
    neutral: float | None = None
    percent: bool = False
    beside: str = ""


QUANTITIES: Final = {
    "mean_difference": Quantity("estimate", "Mean difference of two runs", "mean of |candidate - baseline|"),
    "prob_faster": Quantity("estimate", "Probability of the faster run", "how often a run of the candidate is faster", 0.5, percent=True),
    "prob_fastest": Quantity("estimate", "Probability of the fastest run", "how often a run is the fastest of all", percent=True),
    "relative_variation": Quantity(
        "relative_variation", "How much scores vary", "standard deviation of the score, relative to it", percent=True, beside="performance"
    ),
    "speedup": Quantity("estimate", "Speedup", "times as fast as the baseline", 1.0),
}
"""By the function whose result it is, what is drawn."""

RANGE: Final = 10.0
"""Positive numbers that span more than this factor have a logarithmic axis; speedups always have one."""


def estimates(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the number of every cell in a row, with its interval, where it has one.

    Parameters
    ----------
    result : Dataset
        What `prob_faster`, `prob_fastest`, `mean_difference`, `speedup` or `relative_variation` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the number. The dotted line is what it is of systems that do not differ; of `mean_difference` that is a grey mark
        in each row, what it is of two runs of the baseline. Right of the rows stands the number, or the score that varies.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [5.0, 5.1, 4.9]})
    >>> ax = times.perf.speedup("old").perf.plot()
    >>> ax.lines[-1].get_xdata().tolist(), ax.get_xlabel()
    ([2.0], 'times as fast as the baseline')
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    quantity = QUANTITIES[str(result.attrs["result"])]
    number = result[quantity.name]
    rows, left_out = shown_rows(number, "number")
    ax = axes_for(ax, size_for(rows))
    if quantity.neutral is not None:
        ax.axvline(quantity.neutral, color=DARK, linewidth=0.8, linestyle=":", zorder=1)
    if "baseline_difference" in result:
        differences = [float(result["baseline_difference"].isel(row.cell)) for row in rows]
        ax.plot(differences, [row.y for row in rows], "|", color=GREY, markersize=10, label="two runs of the baseline")
    _draw(ax, result, quantity, rows)
    label_rows(ax, rows)
    column = result[quantity.beside or quantity.name]
    written = number_format(str(column.attrs.get("units", "1")))
    values = [float(column.isel(row.cell)) for row in rows]
    texts = [f"{100 * value:.1f} %" if quantity.percent and not quantity.beside and value == value else written(value) for value in values]
    beside_rows(ax, rows, texts, quantity.beside)
    level = f"\n{level_of_intervals(result)} intervals" if "lower" in result else ""
    label, runs = quantity.label, int(result.attrs.get("runs", 1))
    label = label if runs == 1 else label.replace("a run", f"{runs} runs").replace(" is ", " are ") + ", taken together"
    ax.set_xlabel(f"{_words(label, result)}{level}")
    describe(ax, ", ".join([_words(quantity.title, result), *compared(result, number), *left_out]))
    return ax


def _draw(ax: Axes, result: xr.Dataset, quantity: Quantity, rows: list[Row]) -> None:
    """Draw points, with bars where there are limits, along an axis that suits them."""
    number = result[quantity.name]
    low, high = float(number.min()), float(number.max())
    log = low > 0 and not quantity.percent and (quantity.neutral == 1 or high > RANGE * low)
    names = ("lower", "upper") if "lower" in result else (quantity.name, quantity.name)
    intervals = []
    for row in rows:
        value, lower, upper = (float(result[name].isel(row.cell)) for name in (quantity.name, *names))
        kind = str(result["kind"].isel(row.cell).item()) if "kind" in result else "bounded"
        intervals.append(Interval(row.y, value, lower, upper, kind, "", False))
    required = [0.0, 1.0] if str(result.attrs["result"]).startswith("prob") else [] if quantity.neutral is None else [quantity.neutral]
    required += _ends(result)
    draw_intervals(ax, intervals, view_of(intervals, required, log), log)
    if quantity.percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(100 * value, 6):g} %")
    elif quantity.neutral is None:
        write_units(ax.xaxis, str(number.attrs.get("units", "1")))


def _words(text: str, result: xr.Dataset) -> str:
    """Say better where what was measured is not how fast a program is."""
    if result.attrs.get("metric", TIME) in (TIME, THROUGHPUT):
        return text
    return text.replace("faster", "better").replace("fastest", "best").replace("as fast as", "as good as")


def _ends(result: xr.Dataset) -> list[float]:
    """Return the least and the largest mark of the baseline."""
    differences = result.get("baseline_difference")
    return [] if differences is None else [float(differences.min()), float(differences.max())]

"""Points and bars of a forest plot: verdicts, unbounded sets, and the limits of the axis."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from perfarray.conventions import EXACT
from perfarray.plots.figure import DARK, GREY, LogTicks
from perfarray.plots.rows import mark_border, note_rows
from perfarray.results.words import FROM_ZERO

# Colour and marker of each verdict, the last where there is none; distinct for colour-blind readers
# and in grey.
VERDICTS: Final = {
    "faster": ("#0072B2", "^"),
    "slower": ("#D55E00", "v"),
    "equivalent": (DARK, "s"),
    "inconclusive": (GREY, "o"),
    "control": (GREY, "D"),
    "": ("#0072B2", "o"),
}
UNMEASURED: Final = "not measured on both sides"
# a limit this many times beyond its estimate does not stretch the axis; its bar ends in an arrow
FAR: Final = 10.0


class IntervalMark(NamedTuple):
    """An estimate with its limits, in the row at height `y`.

    Texts before and behind the estimate say what else is known of it.
    """

    y: float
    estimate: float
    lower: float
    upper: float
    kind: str = "bounded"
    verdict: str = ""
    is_suite: bool = False
    bound: str = ""
    mark: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an estimate nor a limit.

        Limits of plain replicates have no estimate.
        """
        return bool(np.isnan([self.estimate, self.lower, self.upper]).all())

    @property
    def reason(self) -> str:
        """Why there is no estimate: a difference alone can decide where the baseline is 0."""
        return FROM_ZERO if self.verdict in ("faster", "slower") else UNMEASURED

    @property
    def lacks_interval(self) -> bool:
        """Whether there is no interval though the values have noise."""
        return not self.segments() and self.kind != EXACT

    def in_percent(self) -> "IntervalMark":
        """Return the interval about its estimate, in percent of it."""
        lower, upper = (100 * (limit / self.estimate - 1) for limit in (self.lower, self.upper))
        return self._replace(estimate=0.0 * self.estimate, lower=lower, upper=upper)

    def segments(self) -> list[tuple[float, float]]:
        """Return the segments of the confidence set."""
        if np.isnan([self.lower, self.upper]).any():
            return []
        if self.kind == "exclusive":
            return [(-np.inf, self.lower), (self.upper, np.inf)]
        if self.kind == "unbounded":
            return [(-np.inf, np.inf)]
        return [(self.lower, self.upper)]


def view_of(
    intervals: Sequence[IntervalMark], required: Iterable[float], log: bool
) -> tuple[float, float]:
    """Return the ends of the axis: around estimates, required values, and limits not far away."""
    values = [*required]
    for interval in intervals:
        values.append(interval.estimate)
        for limit in (interval.lower, interval.upper):
            if abs(interval.estimate) / FAR < abs(limit) < abs(interval.estimate) * FAR or not log:
                values.append(limit)
    visible = np.array(
        [value for value in values if np.isfinite(value) and (value > 0 or not log)] or [1.0]
    )
    low, high = (
        (np.log(visible.min()), np.log(visible.max())) if log else (visible.min(), visible.max())
    )
    margin = max(0.05 * (high - low), 0.005 if log or not high else 0.005 * abs(high))
    limits = np.array([low - margin, high + margin])
    first, last = np.exp(limits) if log else limits
    return float(first), float(last)


def draw_intervals(
    ax: Axes, intervals: Sequence[IntervalMark], required: Iterable[float], log: bool
) -> None:
    """Draw bars and points on an axis with the required values, or with limits set before."""
    view = view_of(intervals, required, log) if ax.get_autoscalex_on() else ax.get_xlim()
    ax.set_xscale("log" if log else "linear")
    ax.set_xlim(view)
    # Round steps on a short axis, 1, 2, 5 on a long one, powers of ten on a very long one.
    ratio = view[1] / view[0] if log else 1.0
    log_locator = LogTicks(subs=(1.0, 2.0, 5.0) if ratio < 1e3 else (1.0,))
    ax.xaxis.set_major_locator(log_locator if ratio > 5 else MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    for verdict in VERDICTS:
        rows = [
            interval
            for interval in intervals
            if interval.verdict == verdict and not interval.is_empty
        ]
        _draw_bars(ax, rows, view, VERDICTS[verdict][0])
        _draw_points(ax, rows, verdict)
    empty = [interval for interval in intervals if interval.is_empty]
    for text in (FROM_ZERO, UNMEASURED):
        note_rows(ax, [interval.y for interval in empty if interval.reason == text], text)


def _draw_bars(ax: Axes, rows: list[IntervalMark], view: tuple[float, float], colour: str) -> None:
    """Draw the sets; what continues beyond the border ends in an arrow."""
    first, last = view
    for row in rows:
        for lower, upper in row.segments():
            if upper < first or lower > last:
                continue
            ax.hlines(
                row.y,
                max(lower, first),
                min(upper, last),
                color=colour,
                linewidth=2.6 if row.is_suite else 1.6,
                zorder=2,
            )
            for is_beyond, arrow in ((lower < first, "<"), (upper > last, ">")):
                if is_beyond:
                    mark_border(ax, [row.y], arrow, colour)


def _draw_points(ax: Axes, rows: list[IntervalMark], verdict: str) -> None:
    """Draw the estimates of one verdict: hollow without limits, larger for the suite.

    One legend entry.
    """
    (colour, marker), label = VERDICTS[verdict], verdict
    for is_suite, is_hollow in product((False, True), repeat=2):
        points = [
            row for row in rows if row.is_suite is is_suite and row.lacks_interval is is_hollow
        ]
        if points:
            ax.plot(
                [row.estimate for row in points],
                [row.y for row in points],
                linestyle="none",
                marker=marker,
                color=colour,
                markerfacecolor="white" if is_hollow else colour,
                markersize=9 if is_suite else 6,
                label=label or "_nolegend_",
                gid="estimates",
                zorder=3,
            )
            label = ""

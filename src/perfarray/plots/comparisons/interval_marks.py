"""Points and bars of a forest plot: verdicts, sets without end, and the stretch of axis that shows them."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from perfarray.plots.figure import DARK, GREY
from perfarray.plots.rows import note_unmeasured

VERDICTS: Final = {
    "faster": ("#0072B2", "^"),
    "slower": ("#D55E00", "v"),
    "equivalent": (DARK, "s"),
    "inconclusive": (GREY, "o"),
    "": ("#0072B2", "o"),
}
"""Colour and marker of each verdict, the last where there is none; distinct for colour-blind readers and in grey."""

FAR: Final = 10.0
"""A limit this many times beyond its estimate does not stretch the axis; its bar ends in an arrow."""


class Interval(NamedTuple):
    """One row's numbers; `side` is what to write before an estimate that is a bound, `mark` what to write behind one."""

    y: float
    estimate: float
    lower: float
    upper: float
    kind: str
    verdict: str
    suite: bool
    side: str = ""
    mark: str = ""

    @property
    def unmeasured(self) -> bool:
        """Whether there is neither an estimate nor a limit; limits of plain replicates have no estimate."""
        return bool(np.isnan([self.estimate, self.lower, self.upper]).all())

    def in_percent(self) -> "Interval":
        """Return the interval about its estimate, in percent of it; the plain percentiles of replicates have none, and are left out."""
        lower, upper = (100 * (limit / self.estimate - 1) for limit in (self.lower, self.upper))
        return self._replace(estimate=0.0 * self.estimate, lower=lower, upper=upper)

    def segments(self) -> list[tuple[float, float]]:
        """Return the stretches the set consists of."""
        if np.isnan([self.lower, self.upper]).any():
            return []
        if self.kind == "exclusive":
            return [(-np.inf, self.lower), (self.upper, np.inf)]
        if self.kind == "unbounded":
            return [(-np.inf, np.inf)]
        return [(self.lower, self.upper)]


def view_of(intervals: Sequence[Interval], required: Iterable[float], log: bool) -> tuple[float, float]:
    """Return the ends of the axis: all estimates, the values that must be seen, and limits that are not far away."""
    values = [*required]
    for interval in intervals:
        values.append(interval.estimate)
        for limit in (interval.lower, interval.upper):
            if abs(interval.estimate) / FAR < abs(limit) < abs(interval.estimate) * FAR or not log:
                values.append(limit)
    visible = np.array([value for value in values if np.isfinite(value) and (value > 0 or not log)] or [1.0])
    low, high = (np.log(visible.min()), np.log(visible.max())) if log else (visible.min(), visible.max())
    margin = max(0.05 * (high - low), 0.005 if log else 0.005 * abs(high))
    limits = np.array([low - margin, high + margin])
    first, last = np.exp(limits) if log else limits
    return float(first), float(last)


def draw_intervals(ax: Axes, intervals: Sequence[Interval], view: tuple[float, float], log: bool) -> None:
    """Draw bars and points on an axis that ends where `view` says, or where its limits were set before."""
    view = view if ax.get_autoscalex_on() else ax.get_xlim()
    ax.set_xscale("log" if log else "linear")
    ax.set_xlim(view)
    _set_ticks(ax, view, log)
    for verdict, (colour, marker) in VERDICTS.items():
        rows = [interval for interval in intervals if interval.verdict == verdict and not interval.unmeasured]
        if rows:
            _draw_bars(ax, rows, view, colour)
            _draw_points(ax, rows, verdict, colour, marker)
    note_unmeasured(ax, [interval.y for interval in intervals if interval.unmeasured], "not measured on both sides")


def _draw_bars(ax: Axes, rows: list[Interval], view: tuple[float, float], colour: str) -> None:
    """Draw the sets; what goes on beyond the border ends in an arrow."""
    first, last = view
    for row in rows:
        for lower, upper in row.segments():
            if upper < first or lower > last:
                continue
            ax.hlines(row.y, max(lower, first), min(upper, last), color=colour, linewidth=2.6 if row.suite else 1.6, zorder=2)
            for beyond, position, arrow in ((lower < first, 0.0, "<"), (upper > last, 1.0, ">")):
                if beyond:
                    ax.plot(
                        position, row.y, arrow, color=colour, markersize=6, clip_on=False, transform=ax.get_yaxis_transform(), gid="arrow"
                    )


def _draw_points(ax: Axes, rows: list[Interval], verdict: str, colour: str, marker: str) -> None:
    """Draw the estimates of one verdict: filled with limits, hollow without, larger for the suite; one legend entry."""
    label = verdict
    for suite in (False, True):
        for hollow in (False, True):
            chosen = [row for row in rows if row.suite is suite and (not row.segments()) is hollow]
            if not chosen:
                continue
            ax.plot(
                [row.estimate for row in chosen],
                [row.y for row in chosen],
                linestyle="none",
                marker=marker,
                color=colour,
                markerfacecolor="white" if hollow else colour,
                markersize=9 if suite else 6,
                label=label or "_nolegend_",
                gid="estimates",
                zorder=3,
            )
            label = ""


def _set_ticks(ax: Axes, view: tuple[float, float], log: bool) -> None:
    """Write plain numbers: round steps on a narrow stretch, 1, 2, 5 on a wide one, powers of ten on a very wide one."""
    ratio = view[1] / view[0] if log else 1.0
    subs = (1.0, 2.0, 5.0) if ratio < 1e3 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs) if ratio > 5 else MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))

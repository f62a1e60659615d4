"""The Speedup-Test: the steps of the protocol of each benchmark, and a suite's speedups."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from perfarray.plots.figure import (
    COLOURS,
    GREY,
    LABEL_SIZE,
    NOTE_SIZE,
    compared,
    draw_reference,
)
from perfarray.plots.interval_marks import draw_intervals
from perfarray.plots.rows import GAP, Row, RowFrame, shown_rows

HEADERS: Final = {
    "normal_baseline": "Shapiro-Wilk\nbaseline",
    "normal_candidate": "Shapiro-Wilk\ncandidate",
    "equal_variances": "F test",
    "same_shape": "Kolmogorov-Smirnov\nless the medians",
    "faster": "is it faster?",
}
GOES_ON, WARNS, STOPS, CHOOSES = "condition holds", "fails, goes on", "stops", "chooses the test"
SIGNIFICANT, NOT_SIGNIFICANT = "significant", "not significant"
FILLS: Final = {
    GOES_ON: "#cfe3f1",
    CHOOSES: "#e3dcef",
    WARNS: "#f6d9a0",
    STOPS: "#e9b39a",
    SIGNIFICANT: "#8fd0b7",
    NOT_SIGNIFICANT: "#dddddd",
}
# The state of the protocol after each outcome of a step; an outcome that is not here was not
# reached.
STATES: Final = {
    "normal": GOES_ON,
    "a shift": GOES_ON,
    "equal variances": CHOOSES,
    "unequal variances": CHOOSES,
    "not normal, large sample": WARNS,
    "not a shift, large samples": WARNS,
    "not normal, small sample": STOPS,
    "not a shift, small sample": STOPS,
    "no answer": STOPS,
    "significant": SIGNIFICANT,
    "not significant": NOT_SIGNIFICANT,
    "not significant, slower": NOT_SIGNIFICANT,
}
MARKS: Final = {"min": ("|", GREY), "mean": ("o", COLOURS[0]), "median": ("D", COLOURS[5])}
TESTED: Final = ("mean", "median")  # statistics with a test
SUITE: Final = "all benchmarks"
INCHES: Final = 0.4  # height of a row: p and outcome stand in two lines
COLUMN: Final = 1.8  # inches of a step, so that each outcome fits its box
NARROWEST: Final = 6.5  # inches that the legend needs


def protocol(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    r"""Draw a row per benchmark: one box per step of the protocol, with its p-value and outcome.

    Returns
    -------
    Axes
        Steps from left to right; the column at the right has the speedup and the level at which it
        is significant. A step that was not reached has no box. Where levels were searched, each row
        has a level of its own, and its conditions show the risk they were compared with.

    Examples
    --------
    >>> import perfarray
    >>> old, new = [2.799, 2.046, 1.259, 1.877, 2.244], [1.046, 0.259, 0.877, 1.244, 1.799]
    >>> times = perfarray.from_samples({"old": old, "new": new})
    >>> ax = protocol(times.perf.speedup_test("old", confidence_level=0.95))
    >>> [text.get_text() for text in ax.texts[:4]]
    ['normal\np 0.965', 'normal\np 0.965', 'equal variances\np 1', 'significant\np 0.0112']
    """
    steps = [str(step) for step in result["step"].values]
    frame = RowFrame(
        ax,
        *shown_rows(result["speedup"], "speedup", inches=INCHES, keeps_empty=True),
        inches=INCHES,
        extra=(COLUMN * len(steps) - 3.1, 0.4),
        minimum=(NARROWEST, 0.0),
    )
    cells = [result.isel(row.cell) for row in frame.rows]
    for row, cell in zip(frame.rows, cells, strict=True):
        _draw_steps(frame.ax, row.y, cell)
    frame.ax.set_xlim(-0.5, len(steps) - 0.5)
    frame.ax.set_xticks(
        range(len(steps)), [HEADERS.get(step, step) for step in steps], fontsize=LABEL_SIZE
    )
    frame.ax.tick_params(axis="x", length=0)
    frame.ax.spines["bottom"].set_visible(False)
    header = f"speedup of the\n{result.attrs.get('statistic', 'mean')}, level"
    return frame.finish(
        ["Speedup-Test", *compared(result, result["speedup"])],
        "",
        list(map(_speedup_text, cells)),
        header,
    )


def _draw_steps(ax: Axes, y: float, cell: xr.Dataset) -> None:
    pvalues, outcomes = cell["step_pvalue"].values.tolist(), cell["step_outcome"].values.tolist()
    risk = 1 - float(cell["judged_level"])
    for column, (pvalue, outcome) in enumerate(zip(pvalues, outcomes, strict=True)):
        if outcome not in STATES:
            ax.text(column, y, "–", ha="center", va="center", fontsize=NOTE_SIZE, color=GREY)
            continue
        state = STATES[outcome]
        ax.add_patch(
            Rectangle(
                (column - 0.48, y - 0.38),
                0.96,
                0.76,
                facecolor=FILLS[state],
                edgecolor="none",
                label=state,
            )
        )
        # With a search each row has a risk of its own, at which the same p may be normal or not:
        # the risk stands beside p, not the outcome.
        if bool(cell["searched"]) and state in (GOES_ON, WARNS, STOPS) and not np.isnan(pvalue):
            text = f"{pvalue:.3g}  {'>' if pvalue > risk else '≤'} {risk:.3g}"
        else:
            text = outcome if np.isnan(pvalue) else f"{outcome}\np {pvalue:.3g}"
        ax.text(column, y, text, ha="center", va="center", fontsize=LABEL_SIZE)


def _speedup_text(cell: xr.Dataset) -> str:
    ratio = float(cell["speedup"])
    level = (
        f"{100 * float(cell['confidence_level']):g} %"
        if bool(cell["significant"])
        else "no (slower)"
        if ratio < 1
        else "no"
    )
    return f"{ratio:.3f}, {level}"


def reported(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    r"""Draw the speedups of a report in a row per benchmark, filled where they are significant.

    Below them those of the whole suite.

    Returns
    -------
    Axes
        Horizontal axis: speedups of the minimum, the mean and the median. The column at the right
        has the levels at which mean and median are significant; the title says in how many
        benchmarks they are, with the interval of that proportion.

    Examples
    --------
    >>> import perfarray, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "old.txt").write_text("2.799\n2.046\n1.259\n1.877\n2.244")
    >>> _ = (folder / "new.txt").write_text("1.046\n0.259\n0.877\n1.244\n1.799")
    >>> rows = 'Name,Sample1,Sample2,ConfLevel,Coef\nfft,"old.txt","new.txt",NA,NA\n'
    >>> _ = (folder / "bench.cfg").write_text(rows)
    >>> ax = reported(perfarray.speedup_report(folder / "bench.cfg", confidence_level=0.95))
    >>> ax.get_title(loc="left").replace("\n", " ").split(", ")[1:]
    ['significant speedups: 1 of 1 of the mean (5 to 100 %)', '1 of 1 of the median (5 to 100 %)']
    """
    speedups, overall = result["speedup"], result["overall_speedup"]
    rows, left_out = shown_rows(speedups.sel(statistic="mean"), "speedup of the mean")
    suite = Row({}, SUITE, "", rows[-1].y + 1 + GAP)
    frame = RowFrame(ax, [*rows, suite], left_out)
    ax, heights = frame.ax, frame.heights[:-1]
    draw_reference(ax, 1.0)
    ax.axhline(suite.y - (1 + GAP) / 2, color="#dddddd", linewidth=0.6, zorder=0)
    cells = [result.isel(row.cell) for row in rows]
    for statistic, (marker, colour) in MARKS.items():
        tests = [cell.sel(statistic=statistic) for cell in cells]
        numbers, significant = (
            np.array([test[name].item() for test in tests]) for name in ("speedup", "significant")
        )
        for mask, face in ((significant, colour), (~significant, "white")):
            ax.plot(
                numbers[mask],
                heights[mask],
                marker,
                color=colour,
                markerfacecolor=face,
                markersize=6,
                zorder=3,
            )
        ax.plot(
            float(overall.sel(statistic=statistic)),
            suite.y,
            marker,
            color=colour,
            markersize=8,
            label=statistic,
            zorder=3,
        )
    values = np.array([cell["speedup"].values for cell in cells])
    draw_intervals(ax, [], [1.0, *values.ravel(), *overall.values], log=True)
    frame.note(np.append(np.isnan(values).all(axis=1), False))
    totals = ", ".join(f"{float(overall.sel(statistic=statistic)):.3f}x" for statistic in TESTED)
    counts = []
    for statistic in TESTED:
        summary = result.sel(statistic=statistic)
        lower, upper = (100 * float(summary[end]) for end in ("lower", "upper"))
        counts.append(
            f"{float(summary['accelerated']):g} of {summary['significant'].size} "
            f"of the {statistic} ({lower:.0f} to {upper:.0f} %)"
        )
    label = "times as fast as the baseline\nfilled: significant (all benchmarks: not tested)"
    texts = [*map(_levels_text, cells), totals]
    return frame.finish(
        [f"Speedup-Test, significant speedups: {', '.join(counts)}"],
        label,
        texts,
        "significant at\nmean, median",
    )


def _levels_text(cell: xr.Dataset) -> str:
    if bool(cell["speedup"].isnull().all()):
        return "–"
    tests = [cell.sel(statistic=statistic) for statistic in TESTED]
    return ", ".join(
        f"{100 * float(test['confidence_level']):g} %" if bool(test["significant"]) else "no"
        for test in tests
    )

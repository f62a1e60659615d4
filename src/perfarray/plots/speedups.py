"""The Speedup-Test: which way each benchmark went through it, and what it found of a whole suite."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from perfarray.plots.comparisons.interval_marks import draw_intervals, view_of
from perfarray.plots.figure import COLOURS, DARK, GREY, LABEL_SIZE, NOTE_SIZE, axes_for, compared, describe
from perfarray.plots.rows import GAP, Row, beside_rows, label_rows, note_unmeasured, shown_rows, size_for

HEADERS: Final = {
    "normal_baseline": "Shapiro-Wilk\nbaseline",
    "normal_candidate": "Shapiro-Wilk\ncandidate",
    "equal_variances": "F test",
    "same_shape": "Kolmogorov-Smirnov\nless the medians",
    "faster": "is it faster?",
}
"""What stands over each step."""

GOES_ON, WARNS, STOPS, CHOOSES = "condition holds", "fails, goes on", "stops", "chooses the test"
SIGNIFICANT, NOT_SIGNIFICANT = "significant", "not significant"
FILLS: Final = {
    GOES_ON: "#cfe3f1", CHOOSES: "#e3dcef", WARNS: "#f6d9a0", STOPS: "#e9b39a", SIGNIFICANT: "#8fd0b7", NOT_SIGNIFICANT: "#dddddd",
}  # fmt: skip

STATES: Final = {
    "normal": GOES_ON, "a shift": GOES_ON, "equal variances": CHOOSES, "unequal variances": CHOOSES,
    "not normal, large sample": WARNS, "not a shift, large samples": WARNS,
    "not normal, small sample": STOPS, "not a shift, small sample": STOPS, "no answer": STOPS,
    "significant": SIGNIFICANT, "not significant": NOT_SIGNIFICANT, "not significant, slower": NOT_SIGNIFICANT,
}  # fmt: skip
"""What each outcome of a step means for the way; an outcome that is not here was not reached."""

CONDITIONS: Final = (GOES_ON, WARNS, STOPS)
"""What may come of a condition: with a search its p-value stands beside the risk of its row, not in words."""


def protocol(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw a row per benchmark: one box per step of the protocol, with its p-value and outcome.

    Parameters
    ----------
    result : Dataset
        What `speedup_test` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Steps from left to right; right of them the speedup and the level it is significant at. A step that was not reached has no box.
        Where levels were searched for, each row was judged at its own: its conditions stand beside their risk.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [2.799, 2.046, 1.259, 1.877, 2.244], "new": [1.046, 0.259, 0.877, 1.244, 1.799]})
    >>> ax = protocol(times.perf.speedup_test("old", confidence_level=0.95))
    >>> [text.get_text() for text in ax.texts[:4]]
    ['0.965  normal', '0.965  normal', '1  equal variances', '0.0112  significant']
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    rows, left_out = shown_rows(result["speedup"], "speedup")
    steps = [str(step) for step in result["step"].values]
    width, height = size_for(rows)
    ax = axes_for(ax, (width + 1.1 * len(steps), height + 0.4))
    for row in rows:
        _draw_way(ax, row, result.isel(row.cell))
    label_rows(ax, rows)
    ax.set_xlim(-0.5, len(steps) - 0.5)
    ax.set_xticks(range(len(steps)), [HEADERS.get(step, step) for step in steps], fontsize=LABEL_SIZE)
    ax.tick_params(axis="x", length=0)
    beside_rows(
        ax, rows, [_found(result.isel(row.cell)) for row in rows], f"speedup of the\n{result.attrs.get('statistic', 'mean')}, level"
    )
    describe(ax, ", ".join(["Speedup-Test", *compared(result, result["speedup"]), *left_out]))
    ax.spines["bottom"].set_visible(False)
    return ax


def _draw_way(ax: Axes, row: Row, cell: xr.Dataset) -> None:
    """Draw one benchmark's boxes."""
    pvalues, outcomes = cell["step_pvalue"].values.tolist(), cell["step_outcome"].values.tolist()
    searched, risk = bool(cell["searched"]), 1 - float(cell["judged_level"])
    for column, (pvalue, outcome) in enumerate(zip(pvalues, outcomes, strict=True)):
        if outcome not in STATES:
            ax.text(column, row.y, "–", ha="center", va="center", fontsize=NOTE_SIZE, color=GREY)
            continue
        state = STATES[outcome]
        ax.add_patch(Rectangle((column - 0.48, row.y - 0.38), 0.96, 0.76, facecolor=FILLS[state], edgecolor="none", label=state))
        # Each row has a risk of its own: no p is normal at one and not at another.
        if searched and state in CONDITIONS and not np.isnan(pvalue):
            outcome = f"{'>' if pvalue > risk else '≤'} {risk:.3g}"
        text = outcome if np.isnan(pvalue) else f"{pvalue:.3g}  {outcome}"
        ax.text(column, row.y, text, ha="center", va="center", fontsize=NOTE_SIZE)


def _found(cell: xr.Dataset) -> str:
    """Write the speedup, and the level at which it is significant."""
    ratio = float(cell["speedup"])
    level = f"{100 * float(cell['confidence_level']):g} %" if bool(cell["significant"]) else "no (slower)" if ratio < 1 else "no"
    return f"{ratio:.3f}, {level}"


MARKS: Final = {"min": ("|", GREY), "mean": ("o", COLOURS[0]), "median": ("D", COLOURS[5])}
"""How the speedup of each statistic is drawn."""

TESTED: Final = ("mean", "median")
"""The statistics for which there is a test."""

SUITE: Final = "all benchmarks"


def reported(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    r"""Draw the speedups of a report in a row per benchmark, filled where they are significant; below them those of the whole suite.

    Parameters
    ----------
    result : Dataset
        What `speedup_report` returned.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: speedups of the minimum, the mean and the median. Right of the rows the levels at which mean and median are
        significant; the title says in how many benchmarks they are, with the interval of that proportion.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, times in (("old.txt", "2.799 2.046 1.259 1.877 2.244"), ("new.txt", "1.046 0.259 0.877 1.244 1.799")):
    ...     _ = (folder / name).write_text(times.replace(" ", "\n"))
    >>> _ = (folder / "bench.cfg").write_text('Name,Sample1,Sample2,ConfLevel,Coef\nfft,"old.txt","new.txt",NA,NA\n')
    >>> ax = reported(perfarray.speedup_report(folder / "bench.cfg", confidence_level=0.95))
    >>> ax.get_title(loc="left").replace("\n", " ")
    'Speedup-Test, significant speedups: 1 of 1 of the mean (5 to 100 %), 1 of 1 of the median (5 to 100 %)'
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    speedups, overall = result["speedup"], result["overall_speedup"]
    rows, left_out = shown_rows(speedups.sel(statistic="mean"), "speedup of the mean")
    suite = Row({}, SUITE, "", rows[-1].y + 1 + GAP)
    ax = axes_for(ax, size_for([*rows, suite]))
    ax.axvline(1.0, color=DARK, linewidth=0.8, linestyle=":", zorder=1)
    ax.axhline(suite.y - (1 + GAP) / 2, color="#dddddd", linewidth=0.6, zorder=0)
    for statistic, (marker, colour) in MARKS.items():
        selected = result.sel(statistic=statistic)
        for filled in (True, False):
            chosen = [row for row in rows if bool(selected["significant"].isel(row.cell)) is filled]
            numbers = [float(selected["speedup"].isel(row.cell)) for row in chosen]
            face = colour if filled else "white"
            ax.plot(numbers, [row.y for row in chosen], marker, color=colour, markerfacecolor=face, markersize=6, zorder=3)
        ax.plot(float(selected["overall_speedup"]), suite.y, marker, color=colour, markersize=8, label=statistic, zorder=3)
    label_rows(ax, [*rows, suite])
    totals = ", ".join(f"{float(overall.sel(statistic=statistic)):.3f}x" for statistic in TESTED)
    beside_rows(ax, [*rows, suite], [*(_levels(result.isel(row.cell)) for row in rows), totals], "significant at\nmean, median")
    row_speedups = [speedups.isel(row.cell).values for row in rows]
    values = [float(value) for value in np.concatenate([*row_speedups, overall.values])]
    draw_intervals(ax, [], view_of([], [1.0, *values], log=True), log=True)
    note_unmeasured(ax, [row.y for row, selected in zip(rows, row_speedups, strict=True) if np.isnan(selected).all()])
    ax.set_xlabel("times as fast as the baseline\nfilled: significant (all benchmarks: not tested)")
    counted = [_counted(result.sel(statistic=statistic), statistic) for statistic in TESTED]
    describe(ax, f"Speedup-Test, significant speedups: {', '.join([*counted, *left_out])}")
    return ax


def _levels(cell: xr.Dataset) -> str:
    """Write the levels at which mean and median are significant."""
    results = [cell.sel(statistic=statistic) for statistic in TESTED]
    if bool(cell["speedup"].isnull().all()):
        return "–"
    return ", ".join(f"{100 * float(answer['confidence_level']):g} %" if bool(answer["significant"]) else "no" for answer in results)


def _counted(row: xr.Dataset, statistic: str) -> str:
    """Write how many speedups are significant, and the interval of that proportion."""
    limits = f"{100 * float(row['lower']):.0f} to {100 * float(row['upper']):.0f} %"
    return f"{float(row['accelerated']):g} of {row['significant'].size} of the {statistic} ({limits})"

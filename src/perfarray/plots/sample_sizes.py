"""How many repetitions are enough: units for a decision, when to stop, runs of a suite."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from perfarray.conventions import plural
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    axes_for,
    compared,
    describe,
    draw_reference,
    write_plain,
)
from perfarray.plots.rows import RowFrame, check_cells, formatted, named_cells, shown_rows

RULES: Final = {
    "stein": "Stein's rule",
    "t": "t after every unit",
    "always_valid": "always valid",
    "cv": "coefficient of variation",
}
DODGE: Final = 0.2  # distance of cells at one number of runs, as a share of the least step


def smallest_changes(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the smallest change that experiments of each size detect.

    Of several cells, how many units each needs.

    Returns
    -------
    Axes
        Of one cell: the smallest change in percent against units a side, a dotted line at the
        requested change, a point at the units that it needs, a hollow point at those of the pilot.
        Of several cells, in rows: those two points; where one is missing, it is not known.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [10.0, 10.1, 9.9, 10.2, 9.8], "new": [10.1, 10.0, 9.8, 9.9, 10.2]}
    >>> times = perfarray.from_samples(samples)
    >>> ax = times.perf.required_units("old", change=0.05).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('executions a side', 'smallest change seen, percent')
    """
    required, pilot = result["required"], result["n"]
    change, power = (100 * float(result.attrs[name]) for name in ("change", "planned_power"))
    required_label = f"to see {change:g} %, with a chance of {power:g} %"
    units, title_parts = f"{plural(str(result.attrs['unit']))} a side", compared(result, required)
    if required.size > 1:
        frame = RowFrame(ax, *shown_rows(required, units, keeps_empty=True))
        for array, label, is_hollow in ((pilot, "pilot", True), (required, required_label, False)):
            counts = frame.values(array.where(np.isfinite(array)))
            frame.draw_points(counts, label=label, is_hollow=is_hollow, size=5)
        frame.ax.set_xscale("log")
        _number_ticks(frame.ax.xaxis)
        return frame.finish(title_parts, units)
    ax = axes_for(ax, (6.5, 4.0))
    cell = result.squeeze(list(required.dims))
    ax.plot(cell["units"], 100 * cell["smallest_change"], color=COLOURS[0])
    last, number = cell.isel(units=-1), float(cell["required"])
    if float(last["units"]) < number < np.inf:  # then the curve goes on to the point
        changes = [100 * float(last["smallest_change"]), abs(change)]
        ax.plot([float(last["units"]), number], changes, color=COLOURS[0])
    draw_reference(ax, abs(change), f"{change:g} %", is_horizontal=True)
    ax.plot(cell["required"], abs(change), "o", color=COLOURS[0], label=required_label)
    ax.plot(
        cell["n"],
        100 * cell["pilot_change"],
        "o",
        color=COLOURS[0],
        markerfacecolor="none",
        label="pilot",
    )
    ax.set(xscale="log", yscale="log", xlabel=units, ylabel="smallest change seen, percent")
    for axis in (ax.xaxis, ax.yaxis):
        _number_ticks(axis)
    ax.grid(color=GREY, alpha=0.3, which="both", linewidth=0.5)
    return describe(ax, title_parts)


def _number_ticks(axis: Axis) -> None:
    """Write plain numbers at powers of ten, and at twice and five times those."""
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")


def half_widths(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the relative half-width after each further unit, the target, and where the rule stops.

    Returns
    -------
    Axes
        Half-width in percent against the number of units; the dotted line is the target, the grey
        line the first unit at which the rule may stop, a point where it stops. In rows: the units
        that are enough, hollow where there are fewer.

    Raises
    ------
    ValueError
        When there is no cell.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.simulate(sizes={"execution": 40}, variances={"execution": 4e-4}, rng=1)
    >>> ax = times.perf.stopping(half_width=0.01).perf.plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('executions', 'half-width, percent')
    """
    required, target = result["required"], f"±{100 * float(result.attrs['half_width_wanted']):g} %"
    unit = plural(str(result.attrs["unit"]))
    units = f"{unit} a side" if "baseline" in result.attrs else unit
    title = f"Stopping, {RULES[str(result.attrs['rule'])]}"
    if required.size > len(COLOURS):
        return _draw_required(ax, result, quantity=unit, label=f"{units} for {target}", title=title)
    check_cells(required)
    ax = axes_for(ax, (6.5, 4.0))
    for (index, name), colour in zip(named_cells(required), COLOURS, strict=False):
        cell = result.isel(index)
        percent = 100 * cell["half_width"].where(np.isfinite(cell["half_width"]))
        ax.plot(
            cell["runs"], percent, color=colour, label=(name or "half-width") + _too_few(cell, unit)
        )
        if np.isfinite(stop := float(cell["required"])):
            ax.plot(
                stop,
                float(percent.sel(runs=stop)),
                "o",
                color=colour,
                label="_" if name else f"stops at {stop:.0f}",
            )
    draw_reference(ax, 100 * float(result.attrs["half_width_wanted"]), target, is_horizontal=True)
    start = int(result.attrs["start"])
    ax.axvline(start, color=GREY, linewidth=0.8, label=f"no stop before {start}")
    ax.set(yscale="log", xlabel=units, ylabel="half-width, percent")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(
        LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
        if high > 5 * low
        else MaxNLocator(8, steps=[1, 2, 5, 10])
    )
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    return describe(ax, [title, *compared(result, required)])


def required_runs(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the interval at every number of runs, and the number at which it is narrow enough.

    Returns
    -------
    Axes
        Horizontal axis: measured runs of every benchmark; vertical axis: the ratio of scores. The
        line of no change is drawn where it is so near that narrow intervals stay visible. In rows:
        the required runs; hollow, the extrapolated number where the measured runs are too few.

    Raises
    ------
    ValueError
        When there is no cell.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]}
    >>> times = perfarray.from_samples(samples)
    >>> ax = times.perf.required_runs("old", width=0.1, start=2).perf.plot()
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('Interval by runs, new compared with old', 'runs of every benchmark')
    """
    required, label = result["required"], f"runs of every {result.attrs.get('across', 'benchmark')}"
    if required.size > len(COLOURS):
        width = (
            f" for an interval {result.attrs['width']:g} wide" if "width" in result.attrs else ""
        )
        return _draw_required(
            ax, result, quantity="runs", label=f"{label}{width}", title="Required runs"
        )
    check_cells(required)
    ax = axes_for(ax, (6.5, 4.0))
    runs = result["runs"].values.astype(float)
    step = DODGE * float(np.diff(runs).min()) if len(runs) > 1 else 0.0
    for number, (index, name) in enumerate(named_cells(required)):
        cell = result.isel(index)
        colour, shift = COLOURS[number], step * (number - (required.size - 1) / 2)
        interval_label = (name or "interval") + _too_few(cell, "runs")
        ax.vlines(
            runs + shift,
            cell["lower"].values,
            cell["upper"].values,
            color=colour,
            linewidth=2,
            label=interval_label,
        )
        if "estimate" in cell:
            ax.plot(
                runs + shift, cell["estimate"], "o", color=colour, markersize=4, gid="estimates"
            )
        if np.isfinite(n_required := float(cell["required"])):
            ax.axvline(
                n_required + shift,
                color=colour if name else DARK,
                linewidth=1,
                linestyle=":",
                label="_" if name else "required",
            )
    low, high = ax.get_ylim()
    if (
        low - (high - low) < 1.0 < high + (high - low)
    ):  # the line of no change makes the view at most twice as high
        ax.axhline(1.0, color=DARK, linewidth=0.8, zorder=0)
    is_measured = result["lower"].notnull().any(required.dims).values
    ax.set_xlim(
        runs.min() - 0.5, (runs[is_measured].max() if is_measured.any() else runs.max()) + 0.5
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlabel=label,
        ylabel=(
            f"ratio of scores ({100 * float(result.attrs.get('confidence_level', 0.95)):g} % "
            "interval)"
        ),
    )
    return describe(ax, ["Interval by runs", *compared(result, required)])


def _too_few(cell: xr.Dataset, quantity: str) -> str:
    """Write how many would be enough for a cell that has too few, as far as that is known."""
    if np.isfinite(float(cell["required"])) or "extrapolated" not in cell:
        return ""
    sufficient = float(cell["extrapolated"])
    return (
        f" (too few {quantity}; {sufficient:.0f} would do)"
        if np.isfinite(sufficient)
        else f" (too few {quantity})"
    )


def _draw_required(
    ax: Axes | None, result: xr.Dataset, *, quantity: str, label: str, title: str
) -> Axes:
    """Draw one row per cell with the number that is required; hollow, the extrapolated number."""
    enough = result["extrapolated"] if "extrapolated" in result else result["required"]
    enough = enough.where(np.isfinite(enough))
    frame = RowFrame(ax, *shown_rows(enough, f"number of {quantity}", keeps_empty=True))
    required, sufficient = frame.values(result["required"]), frame.values(enough)
    is_short = np.isnan(required) & np.isfinite(sufficient)
    frame.draw_points(required, label="required")
    if is_short.any():
        frame.draw_points(sufficient, is_short, is_hollow=True, label="would do")
    frame.note(np.isnan(sufficient), "not known")
    frame.ax.set_xscale("log")
    write_plain(frame.ax.xaxis)
    return frame.finish(
        [title, *compared(result, enough)], label, formatted(sufficient, "{:,.0f}"), quantity
    )

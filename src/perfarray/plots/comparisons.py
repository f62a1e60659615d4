"""How much faster, and how sure: forest plots of ratios, of ratios of scores, and of means."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import (
    BENCHMARK,
    BY_PVALUE,
    EXACT,
    LOWER,
    TIME,
    level_of_intervals,
    percentage,
)
from perfarray.plots.figure import (
    capitalized,
    check_choice,
    compared,
    draw_reference,
    elided,
    number_format,
    selection,
    write_changes,
    write_percent,
    write_units,
)
from perfarray.plots.interval_marks import IntervalMark, draw_intervals
from perfarray.plots.moderation import moderated_errors
from perfarray.plots.rows import GAP, Row, RowFrame, shown_rows, spans_decades, suite_rows
from perfarray.plots.significance import pvalues
from perfarray.results import words

SUITE: Final = "suite (geometric mean)"
# dim of a ratio of scores along which each benchmark is left out; its first label leaves out none
WITHOUT: Final = "without"
# means this many times as far apart as most intervals are wide are drawn in percent of their own
APART: Final = 20.0
WITHIN: Final = "within_lower"  # the limits that lack what varies between sessions
BAND: Final = "#e4e4e4"  # colour of changes that do not matter
TWO_LINES: Final = (0.0, 0.2)  # inches that ticks of two lines need
SHORT: Final = 30  # letters of a benchmark's name behind `without`


def ratio_intervals(result: xr.Dataset, ax: Axes | None = None, *, kind: str = "intervals") -> Axes:
    """Draw ratios to a baseline with their intervals, one row per cell, the suite below.

    Parameters
    ----------
    result : Dataset
        What `compare`, `pairwise` or `ratio_interval` returned, or a selection of it. Of `pairwise`
        each pair is drawn once, the later label over the earlier; `result.sel(baseline=...)` draws
        all against one.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    kind : {"intervals", "pvalues", "errors"}
        Ratios with their intervals; or the p-values of `compare` and `pairwise`, the smallest
        first; or, with a prior, the standard errors without it (hollow) and with it, against the
        mean of the baseline.

    Returns
    -------
    Axes
        Horizontal axis: the change, as the table writes it, logarithmic (half the time is as far
        from no change as twice the time). Where a ratio is negative, the ratio.

    Raises
    ------
    ValueError
        An unknown kind; no cell with a ratio.

    Notes
    -----
    Colour and marker show the verdict; the grey band is 1 - threshold to 1 + threshold, of each row
    where it differs. A hollow point has no limits (one independent unit). An arrow at the border:
    the set continues, to a far limit or without end. A set drawn in two parts is everything outside
    an interval. With `between`, a broad grey bar has the limits within one session. The column at
    the right has the change as the table writes it; it says "at least" or "at most" where stopped
    runs make it a bound.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = ratio_intervals(times.perf.compare("old", threshold=0.02))
    >>> ax.get_xlabel().splitlines()[0]
    'change of time'
    """
    check_choice("kind", kind, ("intervals", "pvalues", "errors"))
    if kind == "errors":
        return moderated_errors(result, ax)
    result = _each_pair_once(result)
    own = result.coords.get("baseline")
    dim = str(result.attrs.get("dim", ""))
    if own is not None and own.ndim == 0 and dim in result.dims:  # no label is compared with itself
        result = result.sel({dim: (result[dim] != own).values})
    if kind == "pvalues":
        return pvalues(result, ax)
    estimate = result["estimate"]
    _check_measured(result, "on both sides: another baseline or dim may have values there")
    is_measured = estimate.notnull() | result["lower"].notnull()
    if "verdict" in result:  # from 0 on there is a verdict without a ratio
        is_measured = is_measured | result["verdict"].isin(("faster", "slower"))
    rows, left_out = shown_rows(estimate, "ratio", measured=is_measured)
    suite = suite_rows(result, "estimate", rows, SUITE)
    intervals = [
        *(_interval(result, row) for row in rows),
        *(_interval(result, row, "suite_") for row in suite),
    ]
    frame = RowFrame(ax, rows + suite, left_out, extra=TWO_LINES)
    draw_intervals(
        frame.ax,
        intervals,
        _draw_reference(frame, result, len(rows)),
        log=not bool((estimate <= 0).any()),
    )
    within = f"; broad: within one {result.attrs['between']}" if WITHIN in result else ""
    for row in rows if within else []:
        limits = [result[f"within_{end}"].isel(row.cell).item() for end in ("lower", "upper")]
        frame.ax.hlines(
            row.y,
            *np.clip(limits, *frame.ax.get_xlim()),
            color="black",
            alpha=0.2,
            linewidth=6,
            zorder=1,
            gid=WITHIN,
        )
    _finish_ratios(frame, result, intervals, _quantity(result), within)
    if suite:
        frame.ax.axhline(suite[0].y - 0.5 - GAP / 2, color="black", linewidth=0.8, gid="suite")
        for label in frame.ax.get_yticklabels()[-len(suite) :]:
            label.set_fontweight("bold")
    return frame.ax


def score_ratios(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw ratios of suite scores with their intervals.

    With `sensitivity`, also those without each benchmark in turn.

    Returns
    -------
    Axes
        Horizontal axis: the change, logarithmic. The change of the whole suite is the larger point,
        and of a single cell a dotted line: a benchmark without which the ratio moves far decides
        it.

    Raises
    ------
    ValueError
        No cell with a ratio.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fft": [[10.0, 10.2], [8.0, 8.1]], "sort": [[5.0, 5.1], [4.5, 4.6]]}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution"))
    >>> times = times.assign_coords(version=["old", "new"])
    >>> ax = score_ratios(times.perf.score_ratio_interval("old", sensitivity=True))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all benchmarks', 'without fft', 'without sort']
    """
    _check_measured(result, "on both sides: another baseline or dim may have values there")
    is_single = result["estimate"].size == 1
    ratios = (
        _with_sensitivity(result)
        if "estimate_without" in result
        else result[["estimate", "lower", "upper"]]
    )
    rows, left_out = shown_rows(ratios["estimate"], "ratio")
    if (
        left_out and is_single and all(row.cell[WITHOUT] for row in rows)
    ):  # the ratio of the whole suite is no extreme
        suite_cell = dict.fromkeys(rows[0].cell, 0)
        rows = [Row(suite_cell, str(ratios[WITHOUT].values[0]), "", rows[0].y - 1 - GAP), *rows]
    intervals = [
        _interval(ratios, row)._replace(is_suite=row.cell.get(WITHOUT, 0) == 0) for row in rows
    ]
    frame = RowFrame(ax, rows, left_out, extra=TWO_LINES)
    draw_intervals(frame.ax, intervals, _draw_reference(frame, result, len(rows)), log=True)
    if WITHOUT in ratios.dims and is_single:
        whole_suite = float(result["estimate"].values.item())
        draw_reference(frame.ax, whole_suite, "all benchmarks")
    sampled = (
        "; the benchmarks are a sample" if result.attrs.get("benchmarks") == "a sample" else ""
    )
    return _finish_ratios(
        frame,
        result,
        intervals,
        f"{result.attrs.get('mean', 'geometric')} mean of {_quantity(result)}",
        sampled,
    )


def _finish_ratios(
    frame: RowFrame,
    result: xr.Dataset,
    intervals: list[IntervalMark],
    quantity: str,
    remark: str = "",
) -> Axes:
    """Write the changes beside the rows, and a title with the candidate and the baseline."""
    is_paired = "pair" in result.dims
    title_parts = (
        ["every pair compared", *selection(result["estimate"])]
        if is_paired
        else compared(result, result["estimate"])
    )
    better, digits = str(result.attrs.get("better", LOWER)), words.ratio_digits(result)
    texts = [_change(interval, better, digits) + interval.mark for interval in intervals]
    is_log = frame.ax.get_xscale() == "log"
    if is_log:
        write_changes(frame.ax.xaxis, better)
    change = f"change of {quantity}" if is_log else f"{quantity}, candidate / baseline"
    label = f"{change}\n{_confidence(result, intervals)}{remark}"
    return frame.finish(capitalized(title_parts), label, texts, "change")


def _change(interval: IntervalMark, better: str, digits: int) -> str:
    if interval.bound:
        return interval.bound + words.ratio(interval.estimate, digits)
    return words.change_alone(interval.estimate, interval.lower, interval.upper, better, digits)


def _with_sensitivity(result: xr.Dataset) -> xr.Dataset:
    """Put the ratios without each benchmark behind that of the whole suite, along one dim."""
    across = str(result.attrs.get("across", BENCHMARK))
    variables = {}
    for name in ("estimate", "lower", "upper"):
        without = result[f"{name}_without"].dropna(across, how="all").rename({across: WITHOUT})
        # Shortened without the word: all have it, so that it would go first.
        names = [
            f"all {across}s",
            *(
                f"without {label}"
                for label in elided([str(label) for label in without[WITHOUT].values], SHORT)
            ),
        ]
        suite = result[name].expand_dims({WITHOUT: 1}).drop_vars(WITHOUT, errors="ignore")
        variables[name] = (
            xr.concat([suite, without.drop_vars(WITHOUT)], WITHOUT)
            .assign_coords({WITHOUT: names})
            .transpose(..., WITHOUT)
        )
    return xr.Dataset(variables, attrs=result.attrs)


def mean_intervals(
    result: xr.Dataset, ax: Axes | None = None, *, relative: bool | None = None
) -> Axes:
    """Draw means with their intervals, one row per cell.

    Parameters
    ----------
    result : Dataset
        What `mean_interval` or `bootstrap_interval` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    relative : bool, optional
        Whether each row is drawn in percent of its own mean; default: where means are positive and
        so far apart that on one axis most intervals would hide behind their points.

    Returns
    -------
    Axes
        Horizontal axis: the mean in the units of the data, logarithmic when the means span more
        than a factor of ten; or how far the limits are from the mean, in percent. The column at the
        right has the mean.

    Raises
    ------
    ValueError
        No cell with a mean.

    Notes
    -----
    A hollow point has no limits (one independent unit). Of more cells than a figure has room for,
    those with the narrowest and the widest intervals are drawn.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}
    >>> times = perfarray.from_samples(samples, dim="benchmark")
    >>> ax = times.perf.mean_interval().perf.plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['fft', 'sort']
    """
    estimate = result["estimate"]
    _check_measured(result, "at all")
    widths = _widths(result) / estimate
    rows, left_out = shown_rows(widths, "width relative to the mean", measured=estimate.notnull())
    frame = RowFrame(ax, rows, left_out)
    log = spans_decades(estimate)
    relative = _far_apart(result, log) if relative is None else relative
    means = [_interval(result, row) for row in frame.rows]
    intervals = [mean.in_percent() for mean in means] if relative else means
    draw_intervals(frame.ax, intervals, (), log and not relative)
    units, metric = str(estimate.attrs.get("units", "1")), str(result.attrs.get("metric", TIME))
    write_units(frame.ax.xaxis, units)
    if relative:
        write_percent(frame.ax.xaxis, 100.0, sign="+")
    format_number = number_format(units)
    texts = [mean.bound + format_number(mean.estimate) for mean in means]
    label = f"{metric}{', relative to the mean' * relative}\n{_confidence(result, intervals)}"
    return frame.finish([f"Mean {metric}", *selection(result)], label, texts, "mean")


def _check_measured(result: xr.Dataset, where: str) -> None:
    """Raise where there is nothing to draw, and name the picture that shows what was measured."""
    if not any(bool(result[name].notnull().any()) for name in ("estimate", "lower", "upper")):
        number = result["estimate"].size
        raise ValueError(
            f"nothing to draw: none of {number} cells is measured {where}; the picture counts "
            "(times.perf.plot.counts()) shows what is"
        )


def _widths(result: xr.Dataset) -> xr.DataArray:
    """Return the widths of intervals, NaN where there is none or an unbounded one."""
    width = result["upper"] - result["lower"]
    return width.where(np.isfinite(width))


def _far_apart(result: xr.Dataset, log: bool) -> bool:
    """Return whether means are so far apart that most intervals hide behind their points."""
    estimate, width = result["estimate"], _widths(result)
    low, high = estimate.min(), estimate.max()
    span, lengths = (np.log(high / low), width / estimate) if log else (high - low, width)
    return bool(low > 0) and bool(
        2 * np.count_nonzero(APART * lengths < span) > np.count_nonzero(np.isfinite(lengths))
    )


def _each_pair_once(result: xr.Dataset) -> xr.Dataset:
    """Put each pair of labels once along one dim `pair`: the later label over the earlier.

    A single pair is a comparison with one baseline.
    """
    names = result["baseline"].values.tolist() if "baseline" in result["estimate"].dims else []
    dim = next(
        (
            dim
            for dim in result["estimate"].dims
            if dim != "baseline" and set(result[dim].values.tolist()) & set(names)
        ),
        None,
    )
    if dim is None:
        return result
    labels = result[dim].values.tolist()
    pairs = [
        (i, j)
        for i, candidate in enumerate(labels)
        for j, baseline in enumerate(names)
        if candidate != baseline and not (candidate in names[:j] and baseline in labels)
    ]
    if len(pairs) == 1:
        return result.isel({dim: [pairs[0][0]], "baseline": pairs[0][1]})
    numerators, denominators = (
        xr.DataArray([pair[side] for pair in pairs], dims="pair") for side in (0, 1)
    )
    texts = np.array([f"{labels[i]} / {names[j]}" for i, j in pairs], dtype=object)
    return (
        result.isel({dim: numerators, "baseline": denominators})
        .drop_vars([str(dim), "baseline"])
        .assign_coords(pair=("pair", texts))
    )


def _interval(result: xr.Dataset, row: Row, prefix: str = "") -> IntervalMark:
    names = ("estimate", "lower", "upper", "kind", "verdict", "interval_agrees")
    cell = {
        name: result[prefix + name].isel(row.cell).item()
        for name in names
        if prefix + name in result
    }
    mark = "" if cell.get("interval_agrees", True) else f" {BY_PVALUE}"
    fields = {name: cell[name] for name in names[:-1] if name in cell}
    return IntervalMark(
        row.y, **fields, is_suite=bool(prefix), bound=_bound(result, cell), mark=mark
    )


def _bound(result: xr.Dataset, cell: dict[str, Any]) -> str:
    """Return what stands before an estimate that stopped runs make a bound."""
    is_one_sided = result.attrs.get("alternative", "two-sided") != "two-sided"
    if is_one_sided or result.attrs.get("censored") != "bound" or np.isnan(cell["estimate"]):
        return ""
    open_ends = {"at_least": np.isposinf(cell["upper"]), "at_most": cell["lower"] in (0.0, -np.inf)}
    kind = cell.get("kind", next((kind for kind, is_open in open_ends.items() if is_open), ""))
    return {"at_least": "at least ", "at_most": "at most "}.get(str(kind), "")


def _draw_reference(frame: RowFrame, result: xr.Dataset, n_benchmarks: int) -> tuple[float, float]:
    """Draw the line of no change and the band of the threshold, row by row where it differs.

    Return the ends of the widest band.
    """
    threshold = float(result.attrs.get("threshold", 0.0))
    thresholds = np.full(len(frame.rows), threshold)
    if "threshold" in result:
        names = ["threshold"] * n_benchmarks + ["suite_threshold"] * (
            len(frame.rows) - n_benchmarks
        )
        cells = zip(names, frame.rows, strict=True)
        thresholds = np.array(
            [float(result[name].isel(row.cell, missing_dims="ignore")) for name, row in cells]
        )
    low, high = 1 - thresholds, 1 + thresholds
    frame.ax.axvline(1, color="black", linewidth=0.8, zorder=1)
    if "threshold" in result:
        frame.ax.barh(
            frame.heights,
            high - low,
            1.0,
            low,
            color=BAND,
            linewidth=0,
            zorder=0,
            label="within its threshold",
        )
    elif threshold > 0:
        label = f"within ±{100 * threshold:g} %"
        frame.ax.axvspan(low[0], high[0], color=BAND, linewidth=0, zorder=0, label=label)
    return float(low.min()), float(high.max())


def _quantity(result: xr.Dataset) -> str:
    metric = str(result.attrs.get("metric", TIME))
    return f"median {metric}" if result.attrs.get("statistic") == "median" else metric


def _confidence(result: xr.Dataset, intervals: list[IntervalMark]) -> str:
    """Write the level of the bars, and why some points have none."""
    level, attrs = level_of_intervals(result), result.attrs
    bars = f"{level} confidence intervals" if level else "intervals"
    if intervals and all(row.kind == EXACT for row in intervals if not row.is_empty):
        bars = "exact, without intervals"
    notes, corrected = [], attrs.get("correction", "none") != "none"
    if corrected:
        number = sum(not (row.is_suite or row.is_empty) for row in intervals)
        requested_level = f"{percentage(attrs['confidence_level'])} %"
        if level and attrs["correction"] == "holm":
            bars = f"{level} intervals: all {number} hold together at {requested_level} (holm)"
        else:
            requested = "" if level else f" from {requested_level}"
            bars += f", corrected{requested} for many benchmarks ({attrs['correction']})"
        if any(row.is_suite for row in intervals):
            notes.append(f"the suite's is at {requested_level}")
    if any(row.lacks_interval and np.isfinite(row.estimate) for row in intervals):
        notes.append("hollow: one unit, no interval")
    if verdicts := {row.verdict for row in intervals if row.mark}:
        has_band = "threshold" in result or float(attrs.get("threshold", 0.0)) > 0
        edge = "the band" if has_band else "no change"
        notes.append(
            f"{BY_PVALUE} the p-value decides, although the interval touches {edge}"
            if verdicts <= {"faster", "slower"}
            else f"{BY_PVALUE} the p-value decides, the interval is wider"
        )
    return ("\n" if corrected else "; ").join(filter(None, [bars, "; ".join(notes)]))

"""How much faster, how sure: forest plots of ratios and of means."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import BENCHMARK, BY_PVALUE, HIGHER, LOWER, THROUGHPUT, TIME, level_of_intervals, percentage
from perfarray.plots.comparisons.interval_marks import Interval, draw_intervals, view_of
from perfarray.plots.figure import DARK, axes_for, compared, describe, elided, number_format, selection, write_units
from perfarray.plots.rows import GAP, Row, beside_rows, label_rows, shown_rows, size_for, suite_rows
from perfarray.plots.significance import pvalues

KINDS: Final = ("intervals", "pvalues")

SUITE: Final = "suite (geometric mean)"

WITHOUT: Final = "without"
"""The dim of a ratio of scores along which each benchmark is left out in turn; its first label leaves out none."""

APART: Final = 20.0
"""Means this many times as far apart as most intervals are wide are drawn in percent of their own."""

SHORT: Final = 30
"""Letters of a benchmark's name behind `without`."""


def ratio_intervals(result: xr.Dataset, ax: Axes | None = None, *, kind: str = "intervals") -> Axes:
    """Draw ratios to a baseline with their intervals, one row per cell, the suite below.

    Parameters
    ----------
    result : Dataset
        What `compare`, `pairwise` or `ratio_interval` returned, or a selection of it. Of `pairwise` each pair is drawn once, the label
        that stands later in the data over the earlier one; `result.sel(baseline=...)` draws all against one.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    kind : {"intervals", "pvalues"}
        Ratios with their intervals; or the p-values of `compare` and `pairwise`, the smallest first.

    Returns
    -------
    Axes
        Horizontal axis: the ratio, logarithmic (half the time is as far from 1 as twice the time) unless a ratio is negative.

    Raises
    ------
    ValueError
        An unknown kind.

    Notes
    -----
    Colour and marker say the verdict; the grey band is 1 - threshold to 1 + threshold. A hollow point has no limits (one independent
    unit). An arrow at the border: the set goes on, to a far limit or without end. A set drawn in two parts is everything outside an
    interval. Right of the rows stands the change from the baseline in percent, "at least" or "at most" where stopped runs leave no more
    known.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = ratio_intervals(times.perf.compare("old", threshold=0.02))
    >>> ax.get_xlabel().splitlines()[0]
    'time, candidate / baseline (<1 is faster)'
    >>> plt.close(ax.figure)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of 'intervals', 'pvalues'")
    result = _each_pair_once(result.compute())
    if kind == "pvalues":
        return pvalues(result, ax)
    estimate = result["estimate"]
    _check_measured(result, "on both sides: another baseline or dim may have values there")
    rows, left_out = shown_rows(estimate, "ratio")
    intervals = [_interval(result, row) for row in rows]
    suite = suite_rows(result, "estimate", rows, SUITE)
    intervals += [_interval(result, row, "suite_") for row in suite]
    everything = rows + suite
    ax = axes_for(ax, size_for(everything))
    log = not bool((estimate <= 0).any())
    view = view_of(intervals, _draw_reference(ax, result), log)
    draw_intervals(ax, intervals, view, log)
    label_rows(ax, everything)
    _set_suite_apart(ax, suite)
    beside_rows(ax, everything, [interval.side + _change(interval.estimate) + interval.mark for interval in intervals], "change")
    ax.set_xlabel(f"{_quantity(result)}\n{_confidence(result, intervals)}")
    describe(ax, _ratio_title(result, estimate, left_out))
    return ax


def score_ratios(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw ratios of suite scores with their intervals; with `sensitivity`, also those without each benchmark in turn.

    Parameters
    ----------
    result : Dataset
        What `score_ratio_interval` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.

    Returns
    -------
    Axes
        Horizontal axis: the ratio, logarithmic. The answer of the whole suite is the larger point, and of a single cell a dotted line: a
        benchmark without which the answer moves far decides it.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> samples = {"fft": [[10.0, 10.2], [8.0, 8.1]], "sort": [[5.0, 5.1], [4.5, 4.6]]}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    >>> ax = score_ratios(times.perf.score_ratio_interval("old", sensitivity=True))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all benchmarks', 'without fft', 'without sort']
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    _check_measured(result, "on both sides: another baseline or dim may have values there")
    ratios = _with_sensitivity(result) if "estimate_without" in result else result[["estimate", "lower", "upper"]]
    rows, left_out = shown_rows(ratios["estimate"], "ratio")
    if left_out and result["estimate"].size == 1 and all(row.cell[WITHOUT] for row in rows):  # the answer itself is no extreme
        suite_cell = dict.fromkeys(rows[0].cell, 0)
        rows = [Row(suite_cell, str(ratios[WITHOUT].values[0]), "", rows[0].y - 1 - GAP), *rows]
    intervals = [_interval(ratios, row)._replace(suite=row.cell.get(WITHOUT, 0) == 0) for row in rows]
    ax = axes_for(ax, size_for(rows))
    view = view_of(intervals, _draw_reference(ax, result), log=True)
    draw_intervals(ax, intervals, view, log=True)
    label_rows(ax, rows)
    if WITHOUT in ratios.dims and result["estimate"].size == 1:
        ax.axvline(float(result["estimate"].values.item()), color=DARK, linewidth=0.8, linestyle=":", zorder=1, label="all benchmarks")
    beside_rows(ax, rows, [interval.side + _change(interval.estimate) for interval in intervals], "change")
    sampled = "; the benchmarks are a sample" if result.attrs.get("benchmarks") == "a sample" else ""
    score = f"{result.attrs.get('mean', 'geometric')} mean of {_quantity(result)}"
    ax.set_xlabel(f"{score}\n{_confidence(result, intervals)}{sampled}")
    describe(ax, _ratio_title(result, result["estimate"], left_out))
    return ax


def _with_sensitivity(result: xr.Dataset) -> xr.Dataset:
    """Put the answers without each benchmark behind that of the whole suite, along one dim."""
    across = str(result.attrs.get("across", BENCHMARK))
    variables = {}
    for name in ("estimate", "lower", "upper"):
        without = result[f"{name}_without"].dropna(across, how="all").rename({across: WITHOUT})
        # Shortened without the word: all have it, so that it would go first.
        names = [f"all {across}s", *(f"without {label}" for label in elided([str(label) for label in without[WITHOUT].values], SHORT))]
        suite = result[name].expand_dims({WITHOUT: 1}).drop_vars(WITHOUT, errors="ignore")
        variables[name] = xr.concat([suite, without.drop_vars(WITHOUT)], WITHOUT).assign_coords({WITHOUT: names}).transpose(..., WITHOUT)
    return xr.Dataset(variables, attrs=result.attrs)


def mean_intervals(result: xr.Dataset, ax: Axes | None = None, *, relative: bool | None = None) -> Axes:
    """Draw means with their intervals, one row per cell.

    Parameters
    ----------
    result : Dataset
        What `mean_interval` or `bootstrap_interval` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    relative : bool, optional
        Whether each row is drawn in percent of its own mean; default: where means are positive and so far apart that on one axis most
        intervals would hide behind their points.

    Returns
    -------
    Axes
        Horizontal axis: the mean in the units of the data, logarithmic when the means span more than a factor of ten; or how far the
        limits are from the mean, in percent. Right of the rows stands the mean.

    Notes
    -----
    A hollow point has no limits (one independent unit). Of more cells than a figure has room for those with the narrowest and the widest
    intervals are drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    >>> ax = times.perf.mean_interval().perf.plot()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['fft', 'sort']
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    estimate = result["estimate"]
    _check_measured(result, "at all")
    rows, left_out = shown_rows(_widths(result) / estimate, "width relative to the mean")
    ax = axes_for(ax, size_for(rows))
    log = bool((estimate.min() > 0) & (estimate.max() > 10 * estimate.min()))
    relative = _far_apart(result, log) if relative is None else relative
    means = [_interval(result, row) for row in rows]
    intervals = [mean.in_percent() for mean in means] if relative else means
    draw_intervals(ax, intervals, view_of(intervals, (), log and not relative), log and not relative)
    label_rows(ax, rows)
    units = str(estimate.attrs.get("units", "1"))
    format_number = number_format(units)
    write_units(ax.xaxis, units)
    if relative:
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(value, 6):+g} %".replace("-", "−"))
    metric = str(result.attrs.get("metric", TIME))
    beside_rows(ax, rows, [mean.side + format_number(mean.estimate) for mean in means], "mean")
    ax.set_xlabel(f"{metric}{', relative to the mean' * relative}\n{_confidence(result, intervals)}")
    describe(ax, ", ".join([f"Mean {metric}", *selection(result), *left_out]))
    return ax


def _check_measured(result: xr.Dataset, where: str) -> None:
    """Raise where there is no answer to draw, and say which picture shows what there is."""
    if not any(bool(result[name].notnull().any()) for name in ("estimate", "lower", "upper")):
        number = result["estimate"].size
        raise ValueError(
            f"nothing to draw: none of {number} cells is measured {where}; the picture counts (times.perf.plot.counts()) shows what is"
        )


def _widths(result: xr.Dataset) -> xr.DataArray:
    """Return how wide intervals are, NaN where there is none or one without end."""
    width = result["upper"] - result["lower"]
    return width.where(np.isfinite(width))


def _far_apart(result: xr.Dataset, log: bool) -> bool:
    """Return whether means are all positive and so far apart that most intervals would be no longer than a point on their axis."""
    estimate, width = result["estimate"], _widths(result)
    low, high = estimate.min(), estimate.max()
    span, shown = (np.log(high / low), width / estimate) if log else (high - low, width)
    return bool(low > 0) and bool(2 * np.count_nonzero(APART * shown < span) > np.count_nonzero(np.isfinite(shown)))


def _each_pair_once(result: xr.Dataset) -> xr.Dataset:
    """Put the pairs of a table of comparisons along one dim `pair`: of a pair and its reverse the later label over the earlier."""
    names = result["baseline"].values.tolist() if "baseline" in result["estimate"].dims else []
    dim = next((dim for dim in result["estimate"].dims if dim != "baseline" and set(result[dim].values.tolist()) & set(names)), None)
    if dim is None:
        return result
    labels = result[dim].values.tolist()
    pairs = [
        (i, j)
        for i, candidate in enumerate(labels)
        for j, baseline in enumerate(names)
        if candidate != baseline and not (candidate in names[:j] and baseline in labels)
    ]
    numerators, denominators = (xr.DataArray([pair[side] for pair in pairs], dims="pair") for side in (0, 1))
    texts = np.array([f"{labels[i]} / {names[j]}" for i, j in pairs], dtype=object)
    return result.isel({dim: numerators, "baseline": denominators}).drop_vars([str(dim), "baseline"]).assign_coords(pair=("pair", texts))


def _interval(result: xr.Dataset, row: Row, prefix: str = "") -> Interval:
    """Take the numbers of one row."""
    cell = {
        name: result[prefix + name].isel(row.cell).item()
        for name in ("estimate", "lower", "upper", "kind", "verdict", "interval_agrees")
        if prefix + name in result
    }
    return Interval(
        row.y,
        float(cell["estimate"]),
        float(cell["lower"]),
        float(cell["upper"]),
        str(cell.get("kind", "bounded")),
        str(cell.get("verdict", "")),
        bool(prefix),
        side=_side(result, cell),
        mark="" if cell.get("interval_agrees", True) else f" {BY_PVALUE}",
    )


def _side(result: xr.Dataset, cell: dict[str, Any]) -> str:
    """Return what stands before an estimate that is a bound, since stopped runs leave no more known: the set is open to that side."""
    is_one_sided = result.attrs.get("alternative", "two-sided") != "two-sided"
    if is_one_sided or result.attrs.get("censored") != "bound" or np.isnan(cell["estimate"]):
        return ""
    open_ends = {"at_least": np.isposinf(cell["upper"]), "at_most": cell["lower"] in (0.0, -np.inf)}
    kind = cell.get("kind", next((kind for kind, is_open in open_ends.items() if is_open), ""))
    return {"at_least": "at least ", "at_most": "at most "}.get(str(kind), "")


def _set_suite_apart(ax: Axes, suite: list[Row]) -> None:
    """Draw a line above the suite, and write its label in bold."""
    if not suite:
        return
    ax.axhline(suite[0].y - 0.5 - GAP / 2, color="black", linewidth=0.8, gid="suite")
    for label in ax.get_yticklabels()[-len(suite) :]:
        label.set_fontweight("bold")


def _draw_reference(ax: Axes, result: xr.Dataset) -> tuple[float, float]:
    """Draw the line of no change and the band that does not matter; return the ends of the band."""
    threshold = float(result.attrs.get("threshold", 0.0))
    limits, label = (1 - threshold, 1 + threshold), f"within ±{100 * threshold:g} %"
    if result.attrs.get("band") == "log":
        limits, label = (1 / (1 + threshold), 1 + threshold), f"within a factor of {1 + threshold:g}"
    ax.axvline(1, color="black", linewidth=0.8, zorder=1)
    if threshold > 0:
        ax.axvspan(*limits, color="#e4e4e4", linewidth=0, zorder=0, label=label)
    return limits


def _change(ratio: float) -> str:
    """Write a ratio as a change in percent; beyond tenfold as a factor."""
    if np.isnan(ratio):
        return "–"
    percent = round(100 * (ratio - 1), 1) + 0.0  # no minus before a zero
    return f"{percent:+.1f} %".replace("-", "−") if -1 < ratio < 10 else f"×{ratio:.3g}"


def _quantity(result: xr.Dataset) -> str:
    """Write what the ratio is of, and which side of 1 is good."""
    metric, better = str(result.attrs.get("metric", TIME)), result.attrs.get("better")
    word = "faster" if metric in (TIME, THROUGHPUT) else "better"
    hint = {LOWER: f" (<1 is {word})", HIGHER: f" (>1 is {word})"}.get(str(better), "")
    median = "median " if result.attrs.get("statistic") == "median" else ""
    return f"{median}{metric}, candidate / baseline{hint}"


def _confidence(result: xr.Dataset, intervals: list[Interval]) -> str:
    """Write what the bars are, and why some points have none."""
    level, attrs = level_of_intervals(result), result.attrs
    bars = f"{level} confidence intervals" if level else "intervals"
    notes, corrected = [], attrs.get("correction", "none") != "none"
    if corrected:
        requested_level = percentage(attrs["confidence_level"])
        bars += f", corrected{'' if level else f' from {requested_level} %'} for many benchmarks ({attrs['correction']})"
        notes += [f"of the suite {requested_level} %"] if any(row.suite for row in intervals) else []
    notes += ["hollow: one unit, no interval"] if any(not row.segments() and np.isfinite(row.estimate) for row in intervals) else []
    notes += [f"{BY_PVALUE} the p-value decides, the interval is wider"] if any(row.mark for row in intervals) else []
    return ("\n" if corrected else "; ").join(filter(None, [bars, "; ".join(notes)]))


def _ratio_title(result: xr.Dataset, estimate: xr.DataArray, left_out: list[str]) -> str:
    """Name the candidate, where there is one, the baseline, what all rows share, and what is not drawn."""
    phrases = ["every pair compared", *selection(estimate)] if "pair" in result.dims else compared(result, estimate)
    title = ", ".join([*phrases, *left_out])
    return title[:1].upper() + title[1:] if title.startswith(("compared", "every")) else title

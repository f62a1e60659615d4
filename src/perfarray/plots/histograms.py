"""Histograms: bootstrap replicates, ratios of redrawn scores, distances from mixtures, scores."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import SUITE
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    TICKS,
    axes_for,
    compared,
    describe,
    number_format,
    selection,
    write_percent,
    write_units,
)
from perfarray.plots.rows import DECADE, RowFrame, formatted, shown_rows

# where cells differ by more than this factor, the axis is relative to each cell's own statistic
APART: Final = 2.0
INCHES: Final = 0.5  # height of a row
LOWEST: Final = 2.6  # inches that a figure with few rows is high
HEIGHT: Final = 0.85  # height of the highest bar, in rows
BINS: Final = 30  # of scores


def distribution(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the replicates of every cell as a histogram, with the statistic and percentiles.

    Returns
    -------
    Axes
        Horizontal axis: the statistic, in the units that the ticks name; relative to each cell's
        own statistic, which then stands at the right, where cells differ by more than a factor of
        2.

    Notes
    -----
    The bar shows plain percentiles of the replicates. With few units `bootstrap_interval` has
    limits that cover better.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> ax = times.perf.bootstrap_distribution(rng=1).perf.plot()
    >>> ax.get_xlabel()
    'mean of time; level redrawn: execution; bar: 95 % of 1000 replicates'
    """
    attrs, lower = curves.attrs, curves["lower"]
    is_ratio = "baseline" in attrs
    number, quantity = (
        (lower, "ratio")
        if is_ratio
        else ((curves["upper"] - lower) / lower, "width relative to its place")
    )
    frame = RowFrame(
        ax, *shown_rows(number, quantity, inches=INCHES), inches=INCHES, minimum=(0.0, 2.2)
    )
    observed = (
        frame.values(curves["observed"])
        if "observed" in curves.coords
        else np.full(len(frame.rows), np.nan)
    )
    relative = _far_apart(curves)
    for index, (cell, foot) in enumerate(_cells(frame, curves)):
        unit = 100 / observed[index] if relative else 1.0
        if np.isnan(cell["lower"]):
            continue
        _draw_bars(frame.ax, cell, foot, "replicates", unit)
        label = f"{100 * attrs['confidence_level']:g} % of them"
        frame.ax.hlines(
            foot,
            unit * float(cell["lower"]),
            unit * float(cell["upper"]),
            color=COLOURS[0],
            linewidth=3,
            label=label,
        )
        if is_ratio:
            frame.ax.axvline(unit, color=GREY, linewidth=0.8, zorder=0)
        if np.isfinite(observed[index]):
            frame.ax.vlines(
                unit * observed[index], foot - HEIGHT, foot, color=DARK, linewidth=1.2, label="data"
            )
    frame.note(np.isnan(frame.values(lower)))
    units = str(attrs.get("units", "1"))
    write_units(frame.ax.xaxis, units)
    if relative:
        write_percent(frame.ax.xaxis, 100.0, origin=100.0, sign="+")
    texts = list(map(number_format(units), observed)) if relative else []
    label = (
        f"{_statistic(attrs, relative)}; bar: {100 * attrs['confidence_level']:g} % of "
        f"{attrs['n_resamples']} replicates"
    )
    return frame.finish(["Bootstrap distribution", *compared(curves, lower)], label, texts, "data")


def _far_apart(curves: xr.Dataset) -> bool:
    """Return whether positive statistics differ so much that one axis would squeeze histograms."""
    if "observed" not in curves.coords:
        return False
    observed = curves["observed"].values[np.isfinite(curves["observed"].values)]
    return bool(
        observed.size > 1 and observed.min() > 0 and observed.max() > APART * observed.min()
    )


def _statistic(attrs: dict[str, Any], relative: bool) -> str:
    """Write the statistic and which levels were redrawn."""
    levels = str(attrs.get("resample", "execution")).split()
    resampling = (
        "values redrawn, nest ignored"
        if levels == ["flat"]
        else f"level{'s' * (len(levels) > 1)} redrawn: {', '.join(levels)}"
    )
    statistic = f"{attrs.get('statistic', 'statistic')} of {attrs.get('metric', 'time')}"
    if "baseline" in attrs:
        statistic += ", candidate / baseline"
    if relative:
        statistic += ", relative to the data's"
    return statistic + (";\n" if relative or "baseline" in attrs else "; ") + resampling


def ratio_distributions(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the ratios of redrawn scores as histograms, the observed ratio, and its interval.

    Returns
    -------
    Axes
        Horizontal axis: the ratio. The column at the right has the p-value of a randomization test,
        else the ratio. Of an interval, the bar below each histogram reaches from limit to limit, or
        to the end of the histogram on a side without limit. With one unit a side there is no
        histogram.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, figures
    3 and 4.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> result = times.perf.randomization_test("old", method="exact", distribution=True)
    >>> ax = result.perf.plot(bins=10)
    >>> len(ax.patches[0].get_data().values), ax.get_title(loc="left")
    (10, 'Randomization test, new compared with old')
    """
    attrs, observed = curves.attrs, curves["observed"]
    is_test = attrs["result"] == "null_distribution"
    frame = RowFrame(
        ax, *shown_rows(observed, "ratio", inches=INCHES), inches=INCHES, minimum=(0.0, LOWEST)
    )
    frame.ax.axvline(1, color=GREY, linewidth=0.8, zorder=0)
    frame.ax.xaxis.set_major_locator(MaxNLocator(TICKS))
    level = f"{100 * float(attrs.get('confidence_level', 0.95)):g} % interval"
    bars_label = (
        "exchanges" if is_test else "t distribution" if attrs["method"] == "t" else "redrawn"
    )
    for cell, foot in _cells(frame, curves):
        _draw_bars(frame.ax, cell, foot, bars_label)
        limits = [] if is_test else [float(cell["lower"]), float(cell["upper"])]
        if np.isfinite(limits).any():
            first, last = (
                limit if np.isfinite(limit) else float(cell["edges"][edge])
                for limit, edge in zip(limits, (0, -1), strict=True)
            )
            frame.ax.hlines(foot, first, last, color=COLOURS[0], linewidth=3, label=level)
        frame.ax.vlines(
            float(cell["observed"]),
            foot - HEIGHT,
            foot,
            color=DARK,
            linewidth=1.6,
            label="observed",
        )
    frame.note(np.isnan(frame.values(observed)), "not measured on both sides")
    texts = formatted(frame.values(curves["pvalue" if is_test else "observed"]))
    score = f"{attrs['mean']} mean of {attrs.get('metric', 'time')}, candidate / baseline"
    title_parts = [
        "Randomization test" if is_test else "Ratio of the scores",
        *compared(curves, observed),
    ]
    return frame.finish(
        title_parts, f"{score}\n{_resampling(attrs, is_test)}", texts, "p" if is_test else "ratio"
    )


def _resampling(attrs: dict[str, Any], is_test: bool) -> str:
    """Write how the values of the histograms were made."""
    if is_test:
        return (
            f"{attrs['n_resamples']} random exchanges of units"
            if "n_resamples" in attrs
            else "all exchanges of units"
        )
    if attrs["method"] == "t":
        return "distribution that the t interval is read off"
    units = (
        "benchmarks, and units inside them," if attrs.get("benchmarks") == "a sample" else "units"
    )
    return f"{units} redrawn {attrs['n_resamples']} times ({attrs['method']})"


def distances(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw distances of drawn samples from their mixtures, that of the data, and the critical one.

    Returns
    -------
    Axes
        Horizontal axis: the Kolmogorov-Smirnov distance. The column at the right has p, the share
        of the samples that are farther from their mixture than the data are from theirs.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, figure 9.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.12, 9.93, 10.31, 9.85, 10.07]})
    >>> ax = times.perf.goodness_of_fit(n_resamples=50, distribution=True, rng=1).perf.plot(bins=10)
    >>> len(ax.patches[0].get_data().values), ax.get_title(loc="left")
    (10, 'Distances of samples from their mixtures, old')
    """
    observed = curves["statistic"]
    frame = RowFrame(
        ax, *shown_rows(observed, "distance", inches=INCHES), inches=INCHES, minimum=(0.0, LOWEST)
    )
    level = f"critical value at {100 * float(curves.attrs['alpha']):g} %"
    for cell, foot in _cells(frame, curves):
        _draw_bars(frame.ax, cell, foot, "samples of the mixture")
        frame.ax.vlines(
            float(cell["critical_value"]),
            foot - HEIGHT,
            foot,
            color=DARK,
            linewidth=1.0,
            linestyle=":",
            label=level,
        )
        frame.ax.vlines(
            float(cell["statistic"]), foot - HEIGHT, foot, color=DARK, linewidth=1.6, label="data"
        )
    pvalues = frame.values(curves["pvalue"])
    frame.note(np.isnan(pvalues), "no test")
    label = f"Kolmogorov-Smirnov distance; {curves.attrs['n_resamples']} samples drawn and fitted"
    return frame.finish(
        ["Distances of samples from their mixtures", *selection(observed)],
        label,
        formatted(pvalues),
        "p",
    )


def score_histogram(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the scores of all cells, or how much they vary, as a histogram: one for each suite.

    Returns
    -------
    Axes
        Horizontal axis: the score, or its relative variation, logarithmic when they span more than
        a factor of ten. Scores that never vary have no place on a logarithmic axis; the title
        counts them.

    Raises
    ------
    ValueError
        When no cell has a score.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, figure
    11.

    Examples
    --------
    >>> import perfarray
    >>> nest = {"sizes": {"execution": 3}, "variances": {"execution": 1e-4}}
    >>> times = perfarray.simulate(**nest, dims={"machine": 50, "benchmark": 6}, rng=1)
    >>> ax = times.perf.suite_score().perf.plot(kind="histogram")
    >>> ax.get_title(loc="left"), int(sum(bar.get_height() for bar in ax.patches))
    ('Scores of the suite, 50 cells', 50)
    """
    is_variation = result.attrs["result"] == "relative_variation"
    values = result["relative_variation" if is_variation else "estimate"]
    title, label = (
        "Scores of the suite",
        f"{result.attrs['metric']}, {values.attrs.get('long_name', 'mean')}",
    )
    if is_variation:
        title, label = "How much scores vary", "standard deviation of the score, relative to it"
    measured = values.values[np.isfinite(values.values)]
    if not measured.size:
        raise ValueError("no cell has a score; nothing to draw")
    positive = measured[measured > 0]
    is_log = positive.size > 0 and measured.min() >= 0 and positive.max() > DECADE * positive.min()
    finite = positive if is_log else measured
    low, high = float(finite.min()), float(finite.max())
    reach = 0.0 if high > low else 0.05 * abs(high) or 1.0
    ends = low - reach, high + reach
    edges = np.geomspace(*ends, BINS + 1) if is_log else np.linspace(*ends, BINS + 1)
    edges[[0, -1]] = ends  # rounding would leave an end outside
    ax = axes_for(ax, (6.5, 4.0))
    suites = values[SUITE].values.tolist() if SUITE in values.dims else [""]
    for number, suite in enumerate(suites):
        of_suite = values.isel({SUITE: number}).values.ravel() if suite else finite
        style: dict[str, Any] = {"edgecolor": "white"}
        if len(suites) > 1:
            style = {"histtype": "step", "linewidth": 1.6, "label": str(suite)}
        ax.hist(
            of_suite[np.isfinite(of_suite)],
            bins=edges.tolist(),
            color=COLOURS[number % len(COLOURS)],
            **style,
        )
    if is_log:
        ax.set_xscale("log")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    write_units(ax.xaxis, str(values.attrs.get("units", "1")))
    if is_variation:
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(100 * value, 6):g} %")
    ax.set(xlabel=label, ylabel="cells")
    n_constant = measured.size - finite.size
    remarks = [
        f"{measured.size} cells",
        *[f"{n_constant} of them without variation"] * bool(n_constant),
    ]
    return describe(ax, [title, *selection(values), *remarks])


def _cells(frame: RowFrame, curves: xr.Dataset) -> list[tuple[xr.Dataset, float]]:
    """Return the histogram of each row, and the height of the line it stands on."""
    return [(curves.isel(row.cell), row.y + HEIGHT / 2) for row in frame.rows]


def _draw_bars(ax: Axes, cell: xr.Dataset, foot: float, label: str, unit: float = 1.0) -> None:
    edges, counts = unit * cell["edges"].values, cell["counts"].values
    if np.isfinite(counts).all():  # values that are all the same have no histogram
        ax.stairs(
            foot - HEIGHT * counts / counts.max(),
            edges,
            baseline=foot,
            fill=True,
            color=COLOURS[1],
            label=label,
            linewidth=0,
        )

"""What repetitions depend on: time, earlier values, and what else was recorded."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import plural
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    TICKS,
    Floats,
    UnitFormatter,
    axes_for,
    describe,
    selection,
)
from perfarray.plots.rows import named_cells, note_rows
from perfarray.results.words import probability


def correlogram(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the autocorrelation of the repetitions of every cell by lag, pooled over its series.

    Returns
    -------
    Axes
        Horizontal axis: the lag, from 1. Of more cells than colours all are drawn in grey, and
        those with the smallest `dependence_pvalue` over them in colour; the title says so. The
        dashed lines contain 95 % of the correlations of independent values, for the cell with the
        fewest.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> samples = {"fft": np.tile([1.0, 2.0, 3.0, 2.0], 10)}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level="iteration")
    >>> ax = times.perf.autocorrelation(max_lag=4).perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "cell"]
    [[1, 2, 3, 4]]
    """
    correlations, pvalue = (
        result["pooled_autocorrelation"].isel(lag=slice(1, None)),
        result["dependence_pvalue"],
    )
    dims = plural(str(result.attrs["dim"]))
    measured = np.isfinite(correlations.transpose("lag", ...).values).any(axis=0)
    order = np.argsort(np.where(measured, pvalue.values, np.inf), axis=None, kind="stable")[
        : min(len(COLOURS), np.count_nonzero(measured))
    ]
    coloured = np.isin(np.arange(pvalue.size), order).reshape(pvalue.shape) & measured
    ax = axes_for(ax, (6.5, 4.0))
    lags, notes = correlations["lag"].values, []
    if (measured & ~coloured).any():
        # One artist for all: thousands of lines take as many seconds as the rest of a report.
        cells = correlations.transpose(..., "lag").values[measured & ~coloured]
        points = np.stack(np.broadcast_arrays(lags, cells), axis=-1)
        grey_lines = LineCollection(
            [*points],
            colors=GREY,
            alpha=0.5,
            linewidths=0.7,
            capstyle="projecting",
            joinstyle="round",
            zorder=1,
            gid="cell",
        )
        ax.add_collection(grey_lines)
        notes = [f"in colour {np.count_nonzero(coloured)} of {pvalue.size}: lowest p of dependence"]
    for (index, name), colour in zip(named_cells(pvalue, coloured), COLOURS, strict=False):
        label = f"{name or 'all series'} (p {probability(float(pvalue.isel(index)))})"
        ax.plot(
            lags,
            correlations.isel(index),
            color=colour,
            linewidth=1.3,
            marker="o",
            markersize=3.5,
            zorder=3,
            label=label,
            gid="cell",
        )
    ax.axhline(0, color=DARK, linewidth=0.8)
    if not measured.any():
        note_rows(ax, [0.1], "no series has two repetitions that differ")
    number = float(result["pooled_n"].values[measured].min(initial=np.inf))
    for edge in (-1.96 / number**0.5, 1.96 / number**0.5):
        ax.axhline(edge, color=GREY, linewidth=0.9, linestyle="--", zorder=0, gid="band")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlabel=f"{dims} apart\ndashed: 95 % limits of one lag of independent values\n"
        "p: rank test for similar neighbours or a drift",
        ylabel="correlation",
    )
    return describe(ax, [f"How alike {dims} are", *selection(pvalue), *notes])


def lag(pairs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw every value against an earlier one.

    Independent values give a cloud, correlated ones a band, lasting modes give clusters.

    Returns
    -------
    Axes
        Series have different colours, in turn.

    Raises
    ------
    ValueError
        More than one cell; no pair of values.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 2.0, 4.0]}, dim="benchmark")
    >>> ax = times.perf.plot.lag(dim="execution")
    >>> [points.get_offsets().tolist() for points in ax.collections]
    [[[1.0, 2.0], [2.0, 4.0]]]
    """
    outer, dim, distance = (
        str(pairs.attrs["outer"]).split(),
        str(pairs.attrs["dim"]),
        int(pairs.attrs["lag"]),
    )
    cell = one_cell("lag", pairs, [*outer, dim])
    earlier, later = (
        cell[name].transpose(*outer, dim).values.reshape(-1, pairs.sizes[dim])
        for name in ("earlier", "value")
    )
    ax = _draw_points(
        ax,
        (5.5, 5.0),
        earlier,
        later,
        f"lag has nothing to draw: no two values are {distance} {plural(dim)} apart",
    )
    metric, units = str(pairs.attrs["metric"]), str(pairs.attrs["units"])
    _label_axes(
        ax,
        (f"{metric}, {distance} {dim if distance == 1 else plural(dim)} before", units),
        (metric, units),
    )
    correlation = float(cell["correlation"])
    return describe(
        ax,
        selection(pairs["value"])
        + ([] if np.isnan(correlation) else [f"correlation {correlation:.2f}"]),
    )


def against(runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw every measurement against what was recorded with it, such as the load.

    Returns
    -------
    Axes
        Where there are several levels, the units of the outermost have different colours, in turn.

    Raises
    ------
    ValueError
        More than one cell; nothing measured.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 2.0, 4.0]}, dim="benchmark")
    >>> times = times.assign_coords(load=("execution", [5.0, 80.0, 95.0]))
    >>> ax = times.perf.plot.against("load")
    >>> [points.get_offsets().tolist() for points in ax.collections]
    [[[5.0, 1.0], [80.0, 2.0], [95.0, 4.0]]]
    """
    attrs, levels = runs.attrs, str(runs.attrs["levels"]).split()
    coordinate = str(attrs["coordinate"])
    cell = one_cell("against", runs, levels)
    n_series = runs.sizes[levels[0]] if len(levels) > 1 else 1
    x, y = (
        cell[name].transpose(*levels).values.reshape(n_series, -1) for name in ("beside", "value")
    )
    ax = _draw_points(
        ax,
        (6.5, 4.5),
        x,
        y,
        f"against has nothing to draw: no measurement has a number in {coordinate!r}",
    )
    _label_axes(
        ax,
        (coordinate, str(attrs["coordinate_units"])),
        (str(attrs["metric"]), str(attrs["units"])),
    )
    return describe(
        ax,
        [
            *selection(runs["value"]),
            f"{np.count_nonzero(np.isfinite(x) & np.isfinite(y))} measurements",
        ],
    )


def _draw_points(
    ax: Axes | None, size: tuple[float, float], x_values: Floats, y_values: Floats, message: str
) -> Axes:
    """Draw a cloud for every series (series, repetitions); raise where there is no point."""
    paired = np.isfinite(x_values) & np.isfinite(y_values)
    if not paired.any():
        raise ValueError(message)
    ax = axes_for(ax, size)
    point_size = 12.0 if np.count_nonzero(paired) < 500 else 3.0
    for number, (x, y, mask) in enumerate(zip(x_values, y_values, paired, strict=True)):
        if mask.any():
            ax.scatter(
                x[mask],
                y[mask],
                s=point_size,
                color=COLOURS[number % len(COLOURS)],
                alpha=0.6,
                linewidths=0,
            )
    return ax


def _label_axes(ax: Axes, x: tuple[str, str], y: tuple[str, str]) -> None:
    for axis, (label, units) in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_label_text(label)
        axis.set_major_formatter(UnitFormatter(units))
    ax.xaxis.set_major_locator(MaxNLocator(TICKS))


def one_cell(picture: str, data: xr.Dataset, repeated: Sequence[str]) -> xr.Dataset:
    """Return the data of the one cell, without dims that are not repeated.

    Raise when there are several cells.
    """
    sizes = {str(dim): size for dim, size in data["value"].sizes.items() if dim not in repeated}
    varying = [dim for dim, size in sizes.items() if size > 1]
    if varying:
        example = ", ".join(f"{dim}={data[dim].values.tolist()[0]!r}" for dim in varying)
        along = ", ".join(f"{dim} ({sizes[dim]})" for dim in varying)
        raise ValueError(
            f"{picture} draws one cell at a time; the array has several along {along}: select "
            f"one, as in .sel({example})"
        )
    return data.compute().squeeze(list(sizes), drop=True)

"""What repetitions depend on: a correlogram, every value beside an earlier one, and beside what else was recorded."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import plural
from perfarray.plots.figure import COLOURS, DARK, GREY, TICKS, Floats, Mask, axes_for, describe, number_format, selection
from perfarray.plots.rows import named_cells, note_unmeasured


def correlogram(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw how alike repetitions are at every distance in their order, all series of a cell together.

    Parameters
    ----------
    result : Dataset
        What `autocorrelation` returned.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        Horizontal axis: the distance, from 1. Of more cells than colours all are drawn in grey, and those over them in colour whose
        `dependence_pvalue` is smallest; the title says so. Between the dashed lines lie 95 % of the correlations of independent values,
        where they are drawn: of the cell with the fewest.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np, perfarray
    >>> times = perfarray.from_samples({"fft": np.tile([1.0, 2.0, 3.0, 2.0], 10)}, dim="benchmark", level="iteration")
    >>> ax = times.perf.autocorrelation(max_lag=4).perf.plot()
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "cell"]
    [[1, 2, 3, 4]]
    >>> plt.close(ax.figure)
    """
    result = result.compute()
    pool, pvalue, dim = result["pooled_autocorrelation"].isel(lag=slice(1, None)), result["dependence_pvalue"], str(result.attrs["dim"])
    measured = np.isfinite(pool.transpose("lag", ...).values).any(axis=0)
    order = np.argsort(np.where(measured, pvalue.values, np.inf), axis=None, kind="stable")[: min(len(COLOURS), np.count_nonzero(measured))]
    coloured = np.isin(np.arange(pvalue.size), order).reshape(pvalue.shape) & measured
    ax = axes_for(ax, (7.5, 4.0))
    lag, notes = pool["lag"].values, []
    if (measured & ~coloured).any():
        for index, _ in named_cells(pvalue, measured & ~coloured):
            ax.plot(lag, pool.isel(index), color=GREY, alpha=0.5, linewidth=0.7, zorder=1, gid="cell")
        notes = [f"in colour {np.count_nonzero(coloured)} of {pvalue.size}: lowest p of dependence"]
    for (index, name), colour in zip(named_cells(pvalue, coloured), COLOURS, strict=False):
        label = f"{name or 'all series'} (p of the order, drift included: {float(pvalue.isel(index)):.2g})"
        ax.plot(lag, pool.isel(index), color=colour, linewidth=1.3, marker="o", markersize=3.5, zorder=3, label=label, gid="cell")
    ax.axhline(0, color=DARK, linewidth=0.8)
    if not measured.any():
        note_unmeasured(ax, [0.1], "no series has two repetitions that differ")
    number = float(result["pooled_n"].values[measured].min(initial=np.inf))
    for edge in (-1.96 / number**0.5, 1.96 / number**0.5):
        ax.axhline(edge, color=GREY, linewidth=0.9, linestyle="--", zorder=0, gid="band")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"{plural(dim)} apart")
    ax.set_ylabel("correlation")
    describe(ax, ", ".join([f"How alike {plural(dim)} are", *selection(pvalue), *notes]))
    return ax


def lag(pairs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw every value against an earlier one: a cloud where they are independent, a band where they are not, clumps of modes that stay.

    Parameters
    ----------
    pairs : Dataset
        What `diagnostics.curves.lagged` gives of timings of one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        A colour for every series, in turn.

    Raises
    ------
    ValueError
        More than one cell; no pair of values.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 2.0, 4.0]}, dim="benchmark")
    >>> ax = times.perf.plot.lag(dim="execution")
    >>> [points.get_offsets().tolist() for points in ax.collections]
    [[[1.0, 2.0], [2.0, 4.0]]]
    >>> plt.close(ax.figure)
    """
    pairs = pairs.compute()
    outer, dim, distance = str(pairs.attrs["outer"]).split(), str(pairs.attrs["dim"]), int(pairs.attrs["lag"])
    _check_one_cell("lag", pairs, (*outer, dim))
    squeezed = pairs.squeeze([name for name in pairs["value"].dims if name not in (*outer, dim)], drop=True)
    earlier, later = (squeezed[name].transpose(*outer, dim).values.reshape(-1, pairs.sizes[dim]) for name in ("earlier", "value"))
    paired = np.isfinite(earlier) & np.isfinite(later)
    if not paired.any():
        raise ValueError(f"lag has nothing to draw: no two values are {distance} {plural(dim)} apart")
    ax = axes_for(ax, (5.5, 5.0))
    _draw_points(ax, earlier, later, paired)
    formatter = number_format(str(pairs.attrs["units"]))
    ax.xaxis.set_major_formatter(formatter)
    ax.yaxis.set_major_formatter(formatter)
    ax.xaxis.set_major_locator(MaxNLocator(TICKS))
    ax.set_xlabel(f"{pairs.attrs['metric']}, {distance} {dim if distance == 1 else plural(dim)} before")
    ax.set_ylabel(str(pairs.attrs["metric"]))
    notes = [] if np.isnan(float(squeezed["correlation"])) else [f"correlation {float(squeezed['correlation']):.2f}"]
    describe(ax, ", ".join([*selection(pairs["value"]), *notes]))
    return ax


def against(runs: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw every measurement against what was recorded with it, such as the load: how times rise with it, and where they scatter.

    Parameters
    ----------
    runs : Dataset
        What `diagnostics.curves.against` gives of timings of one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        A colour for every unit of the outermost level, in turn, where there are several levels.

    Raises
    ------
    ValueError
        More than one cell; nothing measured.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 2.0, 4.0]}, dim="benchmark").assign_coords(load=("execution", [5.0, 80.0, 95.0]))
    >>> ax = times.perf.plot.against("load")
    >>> [points.get_offsets().tolist() for points in ax.collections]
    [[[5.0, 1.0], [80.0, 2.0], [95.0, 4.0]]]
    >>> plt.close(ax.figure)
    """
    runs = runs.compute()
    levels, coordinate = str(runs.attrs["levels"]).split(), str(runs.attrs["coordinate"])
    _check_one_cell("against", runs, levels)
    units = runs.sizes[levels[0]] if len(levels) > 1 else 1
    cell = runs.squeeze([name for name in runs["value"].dims if name not in levels], drop=True)
    x, y = (cell[name].transpose(*levels).values.reshape(units, -1) for name in ("beside", "value"))
    paired = np.isfinite(x) & np.isfinite(y)
    if not paired.any():
        raise ValueError(f"against has nothing to draw: no measurement has a number in {coordinate!r}")
    ax = axes_for(ax, (6.5, 4.5))
    _draw_points(ax, x, y, paired)
    ax.xaxis.set_major_formatter(number_format(str(runs.attrs["coordinate_units"])))
    ax.yaxis.set_major_formatter(number_format(str(runs.attrs["units"])))
    ax.xaxis.set_major_locator(MaxNLocator(TICKS))
    ax.set_xlabel(coordinate)
    ax.set_ylabel(str(runs.attrs["metric"]))
    describe(ax, ", ".join([*selection(runs["value"]), f"{np.count_nonzero(paired)} measurements"]))
    return ax


def _draw_points(ax: Axes, x_values: Floats, y_values: Floats, paired: Mask) -> None:
    """Draw a cloud for every series (series, repetitions), smaller points where there are many."""
    size = 12.0 if np.count_nonzero(paired) < 500 else 3.0
    for number, (x, y, mask) in enumerate(zip(x_values, y_values, paired, strict=True)):
        if mask.any():
            ax.scatter(x[mask], y[mask], s=size, color=COLOURS[number % len(COLOURS)], alpha=0.6, linewidths=0)


def _check_one_cell(picture: str, runs: xr.Dataset, repeated: Sequence[str]) -> None:
    """Raise when there is more than one cell."""
    cells = [str(name) for name in runs["value"].dims if name not in repeated and runs.sizes[name] > 1]
    if cells:
        example = ", ".join(f"{name}={runs[name].values.tolist()[0]!r}" for name in cells)
        several = f"the array has several along {', '.join(cells)}"
        raise ValueError(f"{picture} draws one cell at a time; {several}: select one, as in .sel({example})")

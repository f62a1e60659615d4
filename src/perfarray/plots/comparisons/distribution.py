"""A bootstrap distribution: histograms of replicates, the statistic of the data, and percentile limits."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, axes_for, describe, number_format, selection
from perfarray.plots.rows import Row, beside_rows, label_rows, note_unmeasured, rows_of, size_for

SAME = 1e-9
"""Relative range below which replicates are one value, but for rounding, and have no histogram."""

APART = 2.0
"""Where cells differ by more than this factor, an axis that they share is that of replicates relative to each cell's own statistic."""

HEIGHT = 0.85
"""Height of the highest bar, in rows."""


def distribution(result: xr.DataArray | xr.Dataset, ax: Axes | None = None, *, confidence_level: float = 0.95, bins: int = 40) -> Axes:
    """Draw the replicates of every cell as a histogram, with the statistic of the data and the percentiles of the replicates.

    Parameters
    ----------
    result : DataArray or Dataset
        What `perfarray.bootstrap_distribution` returned, or a selection of it: replicates along `replicate`, and the coordinate `observed`.
        Every other dim gives rows on one axis. A Dataset, as a file gives it back, has one variable with replicates.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    confidence_level : float
        Share of the replicates between the two ends of the bar under each histogram.
    bins : int
        Bars of a histogram.

    Returns
    -------
    Axes
        Horizontal axis: the statistic, in the units that the ticks name; relative to each cell's own statistic, which then stands at the
        right, where cells differ by more than a factor of 2.

    Raises
    ------
    ValueError
        When `confidence_level` is not between 0 and 1, `bins` is not a whole number of at least 1, or a Dataset holds no distribution
        or several.

    Notes
    -----
    The bar shows plain percentiles of the replicates; limits that hold what they promise with few units come from `bootstrap_interval`.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> ax = distribution(times.perf.bootstrap_distribution(rng=1))
    >>> ax.get_title(loc="left"), ax.get_xlabel()
    ('Bootstrap distribution, fft', 'mean of time; level redrawn: execution; bar: 95 % of 1000 replicates')
    >>> plt.close(ax.figure)
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level={confidence_level!r} is out of range; give a number between 0 and 1, such as 0.95")
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins={bins!r}: give a whole number of at least 1")
    result = _only_distribution(result).compute()
    cells = result.isel(replicate=0, drop=True)
    rows = rows_of(cells)
    width, height = size_for(rows)
    ax = axes_for(ax, (width, max(1.5 + 2 * (height - 1.5), 2.2)))
    relative = _far_apart(result)
    drawn = _relative(result) if relative else result
    for row in rows:
        _draw_row(ax, row, drawn.isel(row.cell), confidence_level, bins)
    label_rows(ax, rows)
    if relative:
        written = number_format(str(result.attrs.get("units", "1")))
        beside_rows(ax, rows, [written(float(result["observed"].isel(row.cell))) for row in rows], "data")
    _describe(ax, result, confidence_level, relative)
    return ax


def _only_distribution(result: xr.DataArray | xr.Dataset) -> xr.DataArray:
    """Return the one variable of a Dataset that has replicates; a DataArray is one."""
    if isinstance(result, xr.DataArray):
        return result
    found = [name for name, variable in result.data_vars.items() if "replicate" in variable.dims]
    if len(found) != 1:
        raise ValueError(
            f"the Dataset has {len(found)} variables with the dim 'replicate' ({', '.join(map(str, found))}); give one of them"
        )
    return result[found[0]]


def _far_apart(result: xr.DataArray) -> bool:
    """Return whether the statistics of the cells are all positive and differ so much that one axis would squeeze histograms to lines."""
    if "observed" not in result.coords:
        return False
    observed = result["observed"].values[np.isfinite(result["observed"].values)]
    return bool(observed.size > 1 and observed.min() > 0 and observed.max() > APART * observed.min())


def _relative(result: xr.DataArray) -> xr.DataArray:
    """Return replicates over the statistic of the data, in percent."""
    scaled = result.copy(data=100 * (result / result["observed"]).transpose(*result.dims).values)
    return scaled.assign_coords(observed=xr.full_like(result["observed"], 100.0).where(result["observed"].notnull()))


def _draw_row(ax: Axes, row: Row, replicates: xr.DataArray, confidence_level: float, bins: int) -> None:
    """Draw one cell: bars upwards from the row's line, the observed value as a mark, percentiles as a thick line."""
    values = replicates.values[np.isfinite(replicates.values)]
    if not values.size:
        note_unmeasured(ax, [row.y])
        return
    foot = row.y + HEIGHT / 2
    if np.ptp(values) > SAME * np.abs(values).max():
        heights, edges = np.histogram(values, bins=bins)
        ax.bar(
            edges[:-1], -HEIGHT * heights / heights.max(), np.diff(edges), bottom=foot, align="edge", color=COLOURS[1],
            label="replicates", linewidth=0,
        )  # fmt: skip
    low, high = np.quantile(values, [(1 - confidence_level) / 2, (1 + confidence_level) / 2])
    ax.hlines(foot, low, high, color=COLOURS[0], linewidth=3, label=f"{100 * confidence_level:g} % of them")
    observed = float(replicates["observed"]) if "observed" in replicates.coords else np.nan
    if np.isfinite(observed):
        ax.vlines(observed, foot - HEIGHT, foot, color=DARK, linewidth=1.2, label="data")


def _describe(ax: Axes, result: xr.DataArray, confidence_level: float, relative: bool) -> None:
    """Title, legend, and what the horizontal axis shows; its ticks carry the unit."""
    attrs = result.attrs
    written = number_format(str(attrs.get("units", "1")))
    ax.xaxis.set_major_formatter(lambda value, _: f"{round(value - 100, 6):+g} %" if relative else written(value))
    drawn = str(attrs.get("resample", "execution")).split()
    redrawn = "values redrawn, nest ignored" if drawn == ["flat"] else f"level{'s' * (len(drawn) > 1)} redrawn: {', '.join(drawn)}"
    number = result.sizes["replicate"]
    of = f"{attrs.get('statistic', 'statistic')} of {attrs.get('metric', 'time')}" + (", relative to the data's;\n" if relative else "; ")
    ax.set_xlabel(f"{of}{redrawn}; bar: {100 * confidence_level:g} % of {number} replicates")
    describe(ax, ", ".join(["Bootstrap distribution", *selection(result.isel(replicate=0, drop=True))]))

"""Mixtures and the runs they were fitted to: densities over histograms, distributions over steps."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import LEVELS, METRIC, TIME
from perfarray.plots.figure import COLOURS, DARK, GREY, Floats, axes_for, describe, selection
from perfarray.plots.mixtures.runs import weighted_runs, write_places

POINTS: Final = 200
"""Places at which a density is drawn, and within the reach of every component as many."""

REACH: Final = 4.0
"""Standard deviations of a component that are drawn."""

TALLEST: Final = 3.0
"""Height at which a narrow peak is cut, where there are runs, in heights of the tallest bar."""


def mixture(result: xr.Dataset, ax: Axes | None = None, times: xr.DataArray | xr.Dataset | None = None, bins: int | str = "auto") -> Axes:
    """Draw the density of a mixture and of its components, over a histogram of the runs with a tick for each.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(...).to_dataset()` gives, or a selection of it: one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.
    times : DataArray or Dataset, optional
        The timings that were fitted; default: the mixture alone.
    bins : int or str
        Bins of the histogram, as NumPy takes them.

    Returns
    -------
    Axes
        Peaks more than three times as high as the tallest bar are cut there.

    Raises
    ------
    ValueError
        When there is more than one cell, or a cell without a mixture.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    >>> ax = mixture(times.perf.fit_mixture().to_dataset(), times=times["time"])
    >>> ax.get_title(loc="left")
    'Mixture of 2 components, old, 6 runs: modes may be chance'
    >>> plt.close(ax.figure)
    """
    cell = _one_cell(result)
    weights, means, deviations, log = _parameters(cell)
    runs, shares = _runs(times, cell)
    ax = axes_for(ax, (7.5, 4.5))
    if runs.size:
        heights, edges = np.histogram(runs, np.histogram_bin_edges(runs, bins), weights=shares, density=True)
        ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=GREY, alpha=0.35, label="runs", linewidth=0)
        ax.plot(runs, np.full(runs.shape, 0.018), "|", color=DARK, markersize=7, transform=ax.get_xaxis_transform())
    x = _places(means, deviations, runs, log)
    bells = [
        weight * _bell(x, mean, deviation, log) for weight, mean, deviation in zip(weights, means, deviations, strict=True) if deviation > 0
    ]
    for number, bell in enumerate(bells):
        ax.plot(x, bell, color=COLOURS[1 + number % (len(COLOURS) - 1)], linewidth=1.1, linestyle="--", label="components")
    if bells:
        ax.plot(x, np.sum(bells, axis=0), color=COLOURS[0], linewidth=1.8, label="mixture")
    for point in _off_log(means[deviations == 0], log):
        ax.axvline(point, color=COLOURS[0], linewidth=1.8, label="mixture (constant)")
    top = TALLEST * heights.max() if runs.size else np.inf
    if bells and np.sum(bells, axis=0).max() > top:
        ax.set_ylim(0, top)
    _finish(ax, cell, "density")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    described = f"Mixture of {len(weights)} {'lognormal ' * log}component{'s' * (len(weights) > 1)}"
    describe(ax, ", ".join([described, *selection(result["n_components"]), *_doubt(cell, len(weights))]))
    return ax


def cdf_fit(result: xr.Dataset, ax: Axes | None = None, times: xr.DataArray | xr.Dataset | None = None) -> Axes:
    """Draw the distribution function of a mixture over the steps of the runs, and the largest distance between them.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(...).to_dataset()` gives, or a selection of it: one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.
    times : DataArray or Dataset
        The timings that were fitted.

    Returns
    -------
    Axes
        The distance is that of Kolmogorov and Smirnov, which takes both sides of a step.

    Raises
    ------
    ValueError
        When there is more than one cell, or one without a mixture, or no timings.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    >>> ax = cdf_fit(times.perf.fit_mixture().to_dataset(), times=times["time"])
    >>> ax.get_ylabel()
    'share of the runs up to here'
    >>> plt.close(ax.figure)
    """
    from scipy.special import ndtr

    cell = _one_cell(result)
    weights, means, deviations, log = _parameters(cell)
    runs, shares = _runs(times, cell)
    if not runs.size:
        raise ValueError("cdf_fit compares a mixture with its runs; give the timings with times=")
    ax = axes_for(ax, (7.5, 4.5))

    def reached(x: Floats) -> Floats:
        y, spread = _on_log(x, log)[:, None], np.where(deviations > 0, deviations, 1.0)
        each = np.where(deviations > 0, ndtr((y - means) / spread), y >= means)
        return np.asarray(each @ weights)

    x = _places(means, deviations, runs, log)
    values, first = np.unique(runs, return_index=True)
    steps = np.add.reduceat(shares, first).cumsum()
    ends = np.r_[x[0], values, x[-1]]
    ax.step(ends, np.r_[0.0, steps, 1.0], where="post", color=DARK, linewidth=1.1, label="runs")
    ax.plot(x, reached(x), color=COLOURS[0], linewidth=1.8, label="mixture")
    fitted = reached(values)
    before = np.where(deviations.max() > 0, fitted, 0.0)
    gaps = np.stack([np.abs(fitted - steps), np.abs(before - np.r_[0.0, steps[:-1]])])
    side, place = np.unravel_index(np.argmax(gaps), gaps.shape)
    step = np.r_[0.0, steps][place + (side == 0)]
    distance = float(gaps.max())
    ax.vlines(
        values[place], *sorted((step, fitted[place])), color=COLOURS[5], linewidth=3, label=f"largest distance {round(distance, 12):.3g}"
    )
    ax.set_ylim(0, 1.02)
    _finish(ax, cell, "share of the runs up to here")
    describe(ax, ", ".join(["Distribution of the runs and of the mixture", *selection(result["n_components"])]))
    return ax


def _one_cell(result: xr.Dataset) -> xr.Dataset:
    """Return the one cell of a result."""
    several = [str(dim) for dim in result["n_components"].dims if result.sizes[dim] > 1]
    if several:
        raise ValueError(f"one mixture is drawn at a time; select one label along {', '.join(several)}")
    cell = result.squeeze(list(result["n_components"].dims)).compute()
    if not (cell["weight"] > 0).any():
        raise ValueError("the cell has no mixture: it has no measured value")
    return cell


def _parameters(cell: xr.Dataset) -> tuple[Any, Any, Any, bool]:
    """Return weights, means and standard deviations of the components that are present, and whether they are those of logarithms."""
    present = (cell["weight"] > 0).values
    weights, means, deviations = (cell[name].values[present] for name in ("weight", "mean", "standard_deviation"))
    return weights, means, deviations, bool(cell["log"]) if "log" in cell else False


def _on_log(x: Floats, log: bool) -> Floats:
    """Return values, or their logarithms; those that have none become minus infinity."""
    if not log:
        return x
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)))


def _off_log(y: Floats, log: bool) -> Floats:
    """Return the values whose logarithms are given, where they are."""
    return np.asarray(np.exp(y)) if log else y


def _doubt(cell: xr.Dataset, components: int) -> list[str]:
    """Return what there is to say where a fit rests on so few runs that its modes may be chance."""
    few = "n" in cell and components > 1 and cell["n"] < cell.attrs.get("few_runs", 0)
    return [f"{cell['n'].item():.0f} runs: modes may be chance"] if few else []


def _runs(times: xr.DataArray | xr.Dataset | None, cell: xr.Dataset) -> tuple[Floats, Floats]:
    """Return the runs that were fitted, ascending, and their weights."""
    if times is None:
        return np.empty(0), np.empty(0)
    if isinstance(times, xr.Dataset):
        times = _fitted_metric(times, str(cell.attrs.get(METRIC, TIME)))
    levels = [level for level in str(cell.attrs.get("levels", "")).split() if level in times.dims]
    levels = levels or [level for level in LEVELS if level in times.dims]
    chosen = {str(dim): cell[dim].item() for dim in times.dims if dim not in levels and dim in cell.coords and times.sizes[dim] > 1}
    own = times.sel(chosen).squeeze([dim for dim in times.dims if dim not in (*levels, *chosen) and times.sizes[dim] == 1])
    left = [str(dim) for dim in own.dims if dim not in levels]
    if left:
        raise ValueError(f"times has dims that the mixture has not: {', '.join(left)}; select one label of each")
    return weighted_runs(own, levels, str(cell.attrs.get("value", levels[-1])))


def _fitted_metric(times: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the variable that was fitted."""
    if metric not in times:
        raise ValueError(f"times has no variable {metric!r}, which was fitted; it has {', '.join(map(str, times.data_vars))}")
    return times[metric]


def _places(means: Floats, deviations: Floats, runs: Floats, log: bool) -> Floats:
    """Return where curves are drawn: evenly, and densely where a component is narrow."""
    reach = REACH if not log else 0.75 * REACH
    ends = np.r_[_off_log(means - reach * deviations, log), _off_log(means + reach * deviations, log), runs]
    margin = 0.05 * (ends.max() - ends.min()) or 0.01 * abs(ends.max()) or 1.0
    even = np.linspace(ends.min() - margin, ends.max() + margin, POINTS)
    near = means[:, None] + deviations[:, None] * np.linspace(-REACH, REACH, POINTS)
    places = np.r_[even, _off_log(near.ravel(), log)]
    return np.sort(places[(places >= even[0]) & (places <= even[-1])] if log else places)


def _bell(x: Floats, mean: float, deviation: float, log: bool) -> Floats:
    """Return a normal density, or a lognormal one."""
    bell = np.exp(-0.5 * ((_on_log(x, log) - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    return np.asarray(np.where(x > 0, bell / np.where(x > 0, x, 1.0), 0.0) if log else bell)


def _finish(ax: Axes, cell: xr.Dataset, label: str) -> None:
    """Name the axes."""
    units = str(cell.attrs.get("units", cell["mean"].attrs.get("units", "1")))
    write_places(ax, "x", str(cell.attrs.get("metric", "time")), units)
    ax.set_ylabel(label)

"""Run times and the mixtures fitted to them: densities over histograms, distributions over steps, violins side by side."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr

from perfarray.conventions import LEVELS
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    LABEL_SIZE,
    axes_for,
    check_matplotlib,
    describe,
    label_text,
    number_format,
    selection,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS: Final = 200
"""Places at which a density is drawn, and within the reach of every component as many."""

REACH: Final = 4.0
"""Standard deviations of a component that are drawn."""

TALLEST: Final = 3.0
"""Height at which a narrow peak is cut, where there are runs, in heights of the tallest bar."""

WIDTH: Final = 0.8
"""Width of the widest violin, where neighbours are 1 apart."""

ALIKE: Final = 5.0
"""Ratio of the largest median to the least, above which violins are drawn relative to their medians."""

CLOSE: Final = 0.005
"""Share of its place that an axis spans, below which it shows differences: four digits would write the same number at every tick."""


def mixture(result: xr.Dataset, ax: "Axes | None" = None, times: xr.DataArray | None = None, bins: int | str = "auto") -> "Axes":
    """Draw the density of a mixture and of its components, over a histogram of the runs with a tick for each.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(...).to_dataset()` gives, or a selection of it: one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.
    times : DataArray, optional
        The timings that were fitted; default: the mixture alone.
    bins : int or str
        Bins of the histogram, as NumPy takes them.

    Returns
    -------
    Axes
        Peaks more than three times as high as the tallest bar are cut there.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
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
    'Mixture of 2 components, old'
    >>> plt.close(ax.figure)
    """
    check_matplotlib()
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
    describe(ax, ", ".join([described, *selection(result["n_components"])]))
    return ax


def cdf_fit(result: xr.Dataset, ax: "Axes | None" = None, times: xr.DataArray | None = None) -> "Axes":
    """Draw the distribution function of a mixture over the steps of the runs, and the largest distance between them.

    Parameters
    ----------
    result : Dataset
        What `fit_mixture(...).to_dataset()` gives, or a selection of it: one cell.
    ax : Axes, optional
        Where to draw; default: a new figure.
    times : DataArray
        The timings that were fitted.

    Returns
    -------
    Axes
        The distance is that of Kolmogorov and Smirnov, which takes both sides of a step.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
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

    check_matplotlib()
    cell = _one_cell(result)
    weights, means, deviations, log = _parameters(cell)
    runs, shares = _runs(times, cell)
    if not runs.size:
        raise ValueError("cdf_fit compares a mixture with its runs; give the timings with times=")
    ax = axes_for(ax, (7.5, 4.5))

    def reached(x: np.ndarray) -> np.ndarray:
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


def violin(times: xr.DataArray, ax: "Axes | None" = None, relative: bool | None = None) -> "Axes":
    """Draw a violin for every configuration, side by side: a kernel density mirrored, quartiles as a bar, the median as a dot.

    Parameters
    ----------
    times : DataArray
        Timings; every dim that is not a repetition dim gives violins. Each outermost unit has equal weight.
    ax : Axes, optional
        Where to draw; default: a new figure, as wide as its violins need.
    relative : bool, optional
        Whether the runs of each configuration are divided by their median, which then stands under its name; default: where the largest
        median is more than five times the least, so that the shapes of all can be seen.

    Returns
    -------
    Axes
        Densities are Gaussian kernel estimates by Scott's rule, between the least and the largest run; all violins are as wide.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    ValueError
        When there are no repetitions, or no cells.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.4], "new": [0.8, 0.9, 1.2]})
    >>> ax = violin(times["time"])
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['old', 'new']
    >>> plt.close(ax.figure)
    """
    check_matplotlib()
    levels: list[str] = [level for level in LEVELS if level in times.dims]
    if not levels or not times.size:
        raise ValueError(f"violins show repetitions; the array has the dims {dict(times.sizes)}, and needs one of {LEVELS}")
    cells = times.isel(dict.fromkeys(levels, 0), drop=True)
    shown = [dim for dim in cells.dims if cells.sizes[dim] > 1]
    places = [dict(zip(cells.dims, index, strict=True)) for index in np.ndindex(*cells.shape)]
    names = shortened([", ".join(label_text(str(dim), cells[dim].values[place[dim]]) for dim in shown) for place in places], 30)
    ax = axes_for(ax, (max(4.0, 1.5 + 0.9 * len(places)), 4.5))
    units, name = str(times.attrs.get("units", "1")), f"{times.name or 'time'}"
    drawn = [_weighted(times.isel(place), levels) for place in places]
    medians = np.array([_quantile(runs, shares, 0.5) for runs, shares in drawn])
    if relative is None:
        relative = bool(np.nanmin(medians, initial=np.inf) > 0 and np.nanmax(medians, initial=0) > ALIKE * np.nanmin(medians))
    if relative:
        drawn = [(runs / median, shares) for (runs, shares), median in zip(drawn, medians, strict=True)]
        written = number_format(units)
        names = [f"{label}\n{written(median)}".strip() for label, median in zip(names, medians, strict=True)]
        units, name = "1", f"{name} / median"
    for number, (runs, shares) in enumerate(drawn):
        if runs.size:
            _draw_violin(ax, number, runs, shares)
    turned = max(len(line) for name in names for line in name.split("\n")) > 10 and len(names) > 1
    ax.set_xticks(range(len(names)), names, fontsize=LABEL_SIZE, rotation=30 if turned else 0, ha="right" if turned else "center")
    ax.set_xlim(-0.6, len(places) - 0.4)
    _write_places(ax, "y", name, units)
    describe(ax, ", ".join(["Runs", *selection(cells)]))
    return ax


def _draw_violin(ax: "Axes", number: int, runs: np.ndarray, shares: np.ndarray) -> None:
    """Draw one violin; runs in ascending order."""
    from scipy.stats import gaussian_kde

    low, median, high = (_quantile(runs, shares, p) for p in (0.25, 0.5, 0.75))
    if runs[-1] - runs[0] > 1e-9 * abs(runs[-1]):
        y = np.linspace(runs[0], runs[-1], POINTS)
        density = gaussian_kde(runs, weights=shares)(y)
        half = 0.5 * WIDTH * density / density.max()
        ax.fill_betweenx(y, number - half, number + half, color=COLOURS[1], edgecolor=COLOURS[0], linewidth=0.8, label="density")
    else:
        ax.hlines(median, number - 0.3, number + 0.3, color=COLOURS[0], linewidth=1.6, label="density")
    ax.vlines(number, low, high, color=DARK, linewidth=5, label="quartiles", zorder=3)
    ax.plot(number, median, "o", color="white", markeredgecolor=DARK, markersize=5, label="median", zorder=4)


def _quantile(runs: np.ndarray, shares: np.ndarray, p: float) -> float:
    """Return a quantile of runs in ascending order; NaN without runs."""
    if not runs.size:
        return float("nan")
    return float(runs[min(int(np.searchsorted(np.cumsum(shares), p - 1e-12)), runs.size - 1)])


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


def _on_log(x: np.ndarray, log: bool) -> np.ndarray:
    """Return values, or their logarithms; those that have none become minus infinity."""
    if not log:
        return x
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)))


def _off_log(y: np.ndarray, log: bool) -> np.ndarray:
    """Return the values whose logarithms are given, where they are."""
    return np.asarray(np.exp(y)) if log else y


def _runs(times: xr.DataArray | None, cell: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs that were fitted, ascending, and their weights."""
    if times is None:
        return np.empty(0), np.empty(0)
    levels = [level for level in str(cell.attrs.get("levels", "")).split() if level in times.dims]
    levels = levels or [level for level in LEVELS if level in times.dims]
    chosen = {str(dim): cell[dim].item() for dim in times.dims if dim not in levels and dim in cell.coords and times.sizes[dim] > 1}
    own = times.sel(chosen).squeeze([dim for dim in times.dims if dim not in (*levels, *chosen) and times.sizes[dim] == 1])
    left = [str(dim) for dim in own.dims if dim not in levels]
    if left:
        raise ValueError(f"times has dims that the mixture has not: {', '.join(left)}; select one label of each")
    value = str(cell.attrs.get("value", levels[-1]))
    for level in reversed(levels[levels.index(value) + 1 :] if value in levels else []):
        own, levels = own.mean(level), [name for name in levels if name != level]
    return _weighted(own, levels)


def _weighted(own: xr.DataArray, levels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the measured runs of one cell, ascending, and weights with which every outermost unit counts the same."""
    values = own.transpose(*levels).values
    units = values.reshape(len(values), -1)
    measured = ~np.isnan(units)
    inside = measured.sum(axis=1, keepdims=True)
    shares = np.where(measured, 1.0 / np.maximum(inside, 1), 0.0) / max(int((inside > 0).sum()), 1)
    order = np.argsort(units[measured], kind="stable")
    return units[measured][order], shares[measured][order]


def _places(means: np.ndarray, deviations: np.ndarray, runs: np.ndarray, log: bool) -> np.ndarray:
    """Return where curves are drawn: evenly, and densely where a component is narrow."""
    reach = REACH if not log else 0.75 * REACH
    ends = np.r_[_off_log(means - reach * deviations, log), _off_log(means + reach * deviations, log), runs]
    margin = 0.05 * (ends.max() - ends.min()) or 0.01 * abs(ends.max()) or 1.0
    even = np.linspace(ends.min() - margin, ends.max() + margin, POINTS)
    near = means[:, None] + deviations[:, None] * np.linspace(-REACH, REACH, POINTS)
    places = np.r_[even, _off_log(near.ravel(), log)]
    return np.sort(places[(places >= even[0]) & (places <= even[-1])] if log else places)


def _bell(x: np.ndarray, mean: float, deviation: float, log: bool) -> np.ndarray:
    """Return a normal density, or a lognormal one."""
    bell = np.exp(-0.5 * ((_on_log(x, log) - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    return np.asarray(np.where(x > 0, bell / np.where(x > 0, x, 1.0), 0.0) if log else bell)


def _finish(ax: "Axes", cell: xr.Dataset, label: str) -> None:
    """Name the axes."""
    units = str(cell.attrs.get("units", cell["mean"].attrs.get("units", "1")))
    _write_places(ax, "x", str(cell.attrs.get("metric", "time")), units)
    ax.set_ylabel(label)


def _write_places(ax: "Axes", which: str, name: str, units: str) -> None:
    """Write numbers with units along an axis; where they hardly differ, their differences from a round number."""
    axis, (low, high) = getattr(ax, f"{which}axis"), getattr(ax, f"get_{which}lim")()
    written, from_where = number_format(units), 0.0
    if 0 < high - low < CLOSE * abs(low + high) / 2:
        from_where = float(f"{(low + high) / 2:.4g}")
        name = f"{name}, from {written(from_where)}"
    axis.set_major_formatter(lambda value, _: written(value - from_where))
    axis.set_label_text(name)

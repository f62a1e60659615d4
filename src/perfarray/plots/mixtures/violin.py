"""Runs of several configurations, side by side."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import LEVELS
from perfarray.plots.figure import COLOURS, DARK, LABEL_SIZE, Floats, axes_for, describe, number_format, selection
from perfarray.plots.mixtures.runs import weighted_runs, write_places
from perfarray.plots.rows import named_cells

POINTS: Final = 200
"""Places at which a density is drawn."""

WIDTH: Final = 0.8
"""Width of the widest violin, where neighbours are 1 apart."""

ALIKE: Final = 5.0
"""Ratio of the largest median to the least, above which violins are drawn relative to their medians."""


def violin(times: xr.DataArray, ax: Axes | None = None, relative: bool | None = None, value: str | None = None) -> Axes:
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
    value : str, optional
        The level whose repetitions are runs, those of lower levels averaged; default: all values.

    Returns
    -------
    Axes
        Densities are Gaussian kernel estimates by Scott's rule, between the least and the largest run; all violins are as wide.

    Raises
    ------
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
    levels: list[str] = [level for level in LEVELS if level in times.dims]
    if not levels or not times.size:
        raise ValueError(f"violins show repetitions; the array has the dims {dict(times.sizes)}, and needs one of {LEVELS}")
    if value is not None and value not in levels:
        raise ValueError(f"value={value!r} is no repetition dim of the array, which has {', '.join(levels)}")
    cells = times.isel(dict.fromkeys(levels, 0), drop=True)
    named = named_cells(cells, limit=30)
    places, names = [place for place, _ in named], [name for _, name in named]
    ax = axes_for(ax, (max(4.0, 1.5 + 0.9 * len(places)), 4.5))
    units, name = str(times.attrs.get("units", "1")), f"{times.name or 'time'}"
    drawn = [weighted_runs(times.isel(place), levels, value) for place in places]
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
    write_places(ax, "y", name, units)
    describe(ax, ", ".join(["Runs", *selection(cells)]))
    return ax


def _draw_violin(ax: Axes, number: int, runs: Floats, shares: Floats) -> None:
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


def _quantile(runs: Floats, shares: Floats, p: float) -> float:
    """Return a quantile of runs in ascending order; NaN without runs."""
    if not runs.size:
        return float("nan")
    return float(runs[min(int(np.searchsorted(np.cumsum(shares), p - 1e-12)), runs.size - 1)])

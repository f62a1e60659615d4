"""How surprising the observed ratio would be if both systems were alike: p-values of the randomization test."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for

LEAST: Final = 1e-6
"""The smallest p that is drawn in its place."""


def randomization(result: xr.Dataset, ax: Axes | None = None, *, alpha: float = 0.05) -> Axes:
    """Draw the p-value of every cell, and the smallest that its exchanges can give.

    Parameters
    ----------
    result : Dataset
        What `perfarray.randomization_test` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    alpha : float
        Where the dotted line stands.

    Returns
    -------
    Axes
        Horizontal axis: p, logarithmic. Right of the rows stands the ratio of the scores that was tested: p says how surprising it is,
        not how large.

    Raises
    ------
    ValueError
        When `alpha` is not a probability that can be drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = randomization(times.perf.randomization_test("old", method="exact"))
    >>> ax.get_xlabel()
    'two-sided p, all exchanges'
    >>> plt.close(ax.figure)
    """
    if not LEAST < alpha < 1:
        raise ValueError(f"alpha={alpha!r} is out of range; give a number between {LEAST:g} and 1, such as 0.05")
    result = result.compute()
    rows, left_out = shown_rows(result["pvalue"], "p")
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    pvalue, least, ratio = (
        np.array([float(part.isel(row.cell)) for row in rows])
        for part in (result["pvalue"], result["smallest_pvalue"], result["statistic"])
    )
    measured, beyond = np.isfinite(pvalue), pvalue < LEAST
    ax.set_xscale("log")
    ax.set_xlim(min(alpha, *np.fmax(np.fmin(pvalue, least), LEAST)) / 1.5, 1.15)
    ax.axvline(alpha, color=DARK, linewidth=0.8, linestyle=":", label=f"{alpha:g}", zorder=1)
    ax.plot(least, heights, "|", color=GREY, markersize=9, label="smallest p possible")
    ax.plot(pvalue[~beyond], heights[~beyond], "o", color=COLOURS[0], markersize=6, label="p", zorder=3)
    left = heights[beyond]
    ax.plot(np.zeros_like(left), left, "<", color=COLOURS[0], transform=ax.get_yaxis_transform(), clip_on=False, gid="beyond")
    note_unmeasured(ax, heights[~measured], "not measured on both sides")
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if np.isnan(value) else f"{value:.3f}" for value in ratio], "ratio")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    drawn = f"{result.attrs['n_resamples']} random exchanges" if "n_resamples" in result.attrs else "all exchanges"
    side = {"less": "one-sided (less)", "greater": "one-sided (greater)"}.get(str(result.attrs.get("alternative")), "two-sided")
    ax.set_xlabel(f"{side} p, {drawn}")
    describe(ax, ", ".join(["Randomization test", *compared(result, result["pvalue"]), *left_out]))
    return ax

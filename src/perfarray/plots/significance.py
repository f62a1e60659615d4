"""p-values of tests and of a whole study: where they stand, and the smallest that could have been."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, axes_for, compared, describe
from perfarray.plots.rows import beside_rows, label_rows, note_unmeasured, shown_rows, size_for

LEAST: Final = 1e-6
"""The smallest p that is drawn in its place."""

KINDS: Final = ("cells", "histogram", "qq")

BINS: Final = 20
"""Bars of a histogram: p up to 0.05 is the first."""

KOLMOGOROV: Final = 1.358
"""The distance of uniform samples, times the root of their size, that 5 % exceed."""

TESTS: Final = {
    "compare": ("p-values of a study", "estimate", "ratio"),
    "goodness_of_fit": ("Goodness of fit of the mixtures", "statistic", "distance"),
    "hierarchical_performance_test": ("Hierarchical performance test", "speedup", "speedup"),
    "normality": ("Test of normality (Shapiro and Wilk)", "statistic", "W"),
    "pairwise": ("p-values of a study", "estimate", "ratio"),
    "randomization_test": ("Randomization test", "statistic", "ratio"),
}
"""By the function whose result it is: the title, the variable that stands beside p, and its name."""


def pvalues(result: xr.Dataset, ax: Axes | None = None, *, alpha: float | None = None, kind: str = "cells") -> Axes:
    """Draw the p-value of every cell, with a correction both; or how the p-values of many cells are distributed.

    Parameters
    ----------
    result : Dataset
        What `randomization_test`, `hierarchical_performance_test`, `normality`, `goodness_of_fit` or `compare` returned, or a
        selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    alpha : float, optional
        Where the dotted line stands; default: the risk of the result, else 0.05.
    kind : {"cells", "histogram", "qq"}
        A row for every cell; or all p-values as a histogram, or in ascending order against those of tests that are right by chance alone.

    Returns
    -------
    Axes
        Horizontal axis: p, logarithmic. Right of the rows stands what was tested, as the ratio of the scores: p says how surprising it
        is, not how large. The benchmarks of a study stand in the order of their p; hollow points are p before the correction.
        Of a histogram the dashed line is what uniform p-values have; against these, dotted lines are the distance that 5 % of such samples
        exceed somewhere (Kolmogorov).

    Raises
    ------
    ValueError
        When `alpha` is not a probability that can be drawn; a result without p-values; an unknown kind.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = pvalues(times.perf.randomization_test("old", method="exact"))
    >>> ax.get_xlabel()
    'two-sided p, all exchanges'
    >>> plt.close(ax.figure)
    """
    alpha = _risk(result) if alpha is None else alpha
    if not LEAST < alpha < 1:
        raise ValueError(f"alpha={alpha!r} is out of range; give a number between {LEAST:g} and 1, such as 0.05")
    result = result.compute()
    if str(result.attrs["result"]) not in TESTS or "pvalue" not in result:
        raise ValueError(f"a result of {result.attrs['result']!r} has no p-values; those of {', '.join(TESTS)} have")
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is unknown; there is {', '.join(KINDS)}")
    if kind != "cells":
        return _together(result, ax, alpha, kind)
    title, tested_name, header = TESTS[str(result.attrs["result"])]
    corrected = result.attrs.get("correction", "none") != "none"
    pvalue = result["pvalue_adjusted" if corrected else "pvalue"]
    rows, left_out = shown_rows(pvalue, "p", ordered="pvalue_adjusted" in result)
    ax = axes_for(ax, size_for(rows))
    heights = np.array([row.y for row in rows])
    p, raw, tested = (np.array([float(array.isel(row.cell)) for row in rows]) for array in (pvalue, result["pvalue"], result[tested_name]))
    least = np.array([float(result["smallest_pvalue"].isel(row.cell)) if "smallest_pvalue" in result else np.nan for row in rows])
    measured, is_below = np.isfinite(p), p < LEAST
    ax.set_xscale("log")
    ax.set_xlim(min(alpha, *np.fmax(np.fmin(np.fmin(p, raw), least), LEAST)) / 1.5, 1.15)
    ax.axvline(alpha, color=DARK, linewidth=0.8, linestyle=":", label=f"{alpha:g}", zorder=1)
    if "smallest_pvalue" in result:
        ax.plot(least, heights, "|", color=GREY, markersize=9, label="smallest p possible")
    if corrected:
        ax.plot(np.fmax(raw, LEAST), heights, "o", color=GREY, markerfacecolor="white", markersize=5, label="p before the correction")
    ax.plot(p[~is_below], heights[~is_below], "o", color=COLOURS[0], markersize=6, label="p", zorder=3)
    low_heights = heights[is_below]
    ax.plot(np.zeros_like(low_heights), low_heights, "<", color=COLOURS[0], transform=ax.get_yaxis_transform(), clip_on=False, gid="beyond")
    note_unmeasured(ax, heights[~measured], "not measured on both sides" if "baseline" in result.attrs else "no answer")
    label_rows(ax, rows)
    beside_rows(ax, rows, ["–" if np.isnan(value) else f"{value:.3f}" for value in tested], header)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel(_what(result))
    describe(ax, ", ".join([title, *compared(result, result["pvalue"]), *left_out]))
    return ax


def _together(result: xr.Dataset, ax: Axes | None, alpha: float, kind: str) -> Axes:
    """Draw the p-values of all cells as a histogram, or against uniform ones."""
    values = result["pvalue"].values.ravel()
    p = np.sort(values[~np.isnan(values)])
    ax = axes_for(ax, (5.5, 4.5))
    if kind == "histogram":
        ax.hist(p, bins=BINS, range=(0, 1), color=COLOURS[1], edgecolor="white", label="p-values")
        ax.axhline(len(p) / BINS, color=DARK, linewidth=0.9, linestyle="--", label="uniform")
        ax.set_ylabel("cells")
        ax.set_xlabel(_what(result))
    else:
        quantiles = (np.arange(len(p)) + 0.5) / max(1, len(p))
        ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.9, linestyle="--", label="uniform")
        reach = KOLMOGOROV / max(1, len(p)) ** 0.5
        for sign in (-1, 1):
            ax.plot(
                [0, 1], [sign * reach, 1 + sign * reach], color=GREY, linewidth=0.8, linestyle=":", label="95 % of uniform samples inside"
            )
        ax.plot(quantiles, p, "o", color=COLOURS[0], markersize=3.5, label="p-values")
        ax.set_xlabel("of uniform p-values")
        ax.set_ylabel(_what(result))
        ax.set_ylim(-0.02, 1.02)
    ax.set_xlim(-0.02, 1.02)
    low = 100 * np.count_nonzero(p <= alpha) / max(1, len(p))
    title = TESTS[str(result.attrs["result"])][0]
    describe(ax, f"{title}, {len(p)} of {values.size} cells: {low:.3g} % have p up to {alpha:g}")
    return ax


def _risk(result: xr.Dataset) -> float:
    """Return the risk that a result was asked for."""
    attrs = result.attrs
    return round(1 - float(attrs["confidence_level"]), 12) if "confidence_level" in attrs else float(attrs.get("alpha", 0.05))


def _what(result: xr.Dataset) -> str:
    """Write which p it is."""
    attrs = result.attrs
    side = {"less": "one-sided (less) p", "greater": "one-sided (greater) p"}.get(str(attrs.get("alternative")), "two-sided p")
    if attrs["result"] == "randomization_test":
        return f"{side}, {attrs['n_resamples']} random exchanges" if "n_resamples" in attrs else f"{side}, all exchanges"
    if attrs["result"] == "goodness_of_fit":
        return f"p, {attrs['n_resamples']} samples drawn and fitted"
    if attrs["result"] == "normality":
        return f"p; {100 * float(result['share_rejected'].max()):.3g} % of the cells rejected" if result["group_size"].size == 1 else "p"
    if attrs["result"] == "hierarchical_performance_test":
        return "one-sided p, the candidate is better"
    return f"{side}, corrected ({attrs['correction']})" if attrs.get("correction", "none") != "none" else side

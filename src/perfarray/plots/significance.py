"""p-values of tests and of a whole study: per cell, as a histogram, or against uniform ones."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.conventions import LOWER
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    axes_for,
    check_choice,
    compared,
    describe,
    draw_reference,
)
from perfarray.plots.rows import RowFrame, formatted, mark_border, shown_rows
from perfarray.results.words import change_alone, digits_of

LEAST: Final = 1e-6  # smaller p-values are arrows at the border
KINDS: Final = ("cells", "histogram", "qq")
BINS: Final = 20  # bins of a histogram: the first holds p up to 0.05
KOLMOGOROV: Final = (
    1.358  # distance of uniform samples, times the root of their size, that 5 % exceed
)
CHANGE: Final = "change"
# By the function whose result it is: the title, the variable beside p, and what it is called.
TESTS: Final = {
    "compare": ("p-values of a study", "estimate", CHANGE),
    "goodness_of_fit": ("Goodness of fit of the mixtures", "statistic", "distance"),
    "hierarchical_performance_test": ("Hierarchical performance test", "speedup", "speedup"),
    "normality": ("Test of normality (Shapiro and Wilk)", "statistic", "W"),
    "pairwise": ("p-values of a study", "estimate", CHANGE),
    "randomization_test": ("Randomization test", "statistic", CHANGE),
}


def pvalues(
    result: xr.Dataset, ax: Axes | None = None, *, alpha: float | None = None, kind: str = "cells"
) -> Axes:
    """Draw the p-value of every cell, before and after a correction.

    Or the distribution of the p-values of many cells.

    Parameters
    ----------
    result : Dataset
        What `randomization_test`, `hierarchical_performance_test`, `normality`, `goodness_of_fit`,
        `compare` or `pairwise` returned, or a selection of it.
    ax : Axes, optional
        Where to draw; default: a new figure, as high as its rows need.
    alpha : float, optional
        Where the dotted line stands; default: the risk of the result, else 0.05.
    kind : {"cells", "histogram", "qq"}
        One row per cell; or all p-values as a histogram, or in ascending order against quantiles of
        the uniform distribution.

    Returns
    -------
    Axes
        Horizontal axis: p, logarithmic. The column at the right has the tested statistic, such as
        the ratio of the scores: p does not measure an effect. The benchmarks of a study stand in
        the order of their p; hollow points are p before the correction. The dashed line is the
        uniform distribution; the dotted lines of a Q-Q plot contain 95 % of uniform samples
        (Kolmogorov).

    Raises
    ------
    ValueError
        When `alpha` is not a probability that can be drawn; a result without p-values; an unknown
        kind.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    >>> ax = pvalues(times.perf.randomization_test("old", method="exact"))
    >>> ax.get_xlabel()
    'two-sided p, all exchanges'
    """
    if alpha is None:
        attrs = result.attrs
        alpha = (
            round(1 - float(attrs["confidence_level"]), 12)
            if "confidence_level" in attrs
            else float(attrs.get("alpha", 0.05))
        )
    if not LEAST < alpha < 1:
        raise ValueError(
            f"alpha={alpha!r} is out of range; give a number between {LEAST:g} and 1, such as 0.05"
        )
    if str(result.attrs["result"]) not in TESTS or "pvalue" not in result:
        raise ValueError(
            f"a result of {result.attrs['result']!r} has no p-values; those of "
            f"{', '.join(TESTS)} have"
        )
    check_choice("kind", kind, KINDS)
    return (
        _draw_cells(result, ax, alpha)
        if kind == "cells"
        else _draw_distribution(result, ax, alpha, kind)
    )


def _draw_cells(result: xr.Dataset, ax: Axes | None, alpha: float) -> Axes:
    title, statistic, header = TESTS[str(result.attrs["result"])]
    if result.sizes.get("group_size") == 1 and result["group_size"].item() == 1:
        result = result.squeeze("group_size", drop=True)  # single units, which need no title
    corrected = result.attrs.get("correction", "none") != "none"
    pvalue = result["pvalue_adjusted" if corrected else "pvalue"]
    frame = RowFrame(ax, *shown_rows(pvalue, "p", ordered="pvalue_adjusted" in result))
    ax, heights = frame.ax, frame.heights
    p, raw = frame.values(pvalue), frame.values(result["pvalue"])
    smallest = (
        frame.values(result["smallest_pvalue"])
        if "smallest_pvalue" in result
        else np.full(len(p), np.nan)
    )
    is_below = p < LEAST
    ax.set_xscale("log")
    ax.set_xlim(min(alpha, *np.fmax(np.fmin(np.fmin(p, raw), smallest), LEAST)) / 1.5, 1.15)
    draw_reference(ax, alpha, f"{alpha:g}")
    if "smallest_pvalue" in result:
        ax.plot(smallest, heights, "|", color=GREY, markersize=9, label="smallest p possible")
    if corrected:
        frame.draw_points(
            np.fmax(raw, LEAST),
            colour=GREY,
            is_hollow=True,
            size=5,
            label="p before the correction",
        )
    frame.draw_points(p, ~is_below, label="p", zorder=3)
    mark_border(ax, heights[is_below], "<", COLOURS[0])
    frame.note(
        ~np.isfinite(p), "not measured on both sides" if "baseline" in result.attrs else "no answer"
    )
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    texts = formatted(frame.values(result[statistic]))
    if header == CHANGE:
        better, missing = str(result.attrs.get("better", LOWER)), result[statistic] * np.nan
        ratios, lower, upper = (
            frame.values(result.get(name, missing)) for name in (statistic, "lower", "upper")
        )
        digits = digits_of(ratios, lower, upper, ratio=True)
        texts = [
            change_alone(*cell, better, digits) for cell in zip(ratios, lower, upper, strict=True)
        ]
    return frame.finish(
        [title, *compared(result, result["pvalue"])], _pvalue_label(result), texts, header
    )


def _draw_distribution(result: xr.Dataset, ax: Axes | None, alpha: float, kind: str) -> Axes:
    values = result["pvalue"].values.ravel()
    p = np.sort(values[~np.isnan(values)])
    number = max(1, len(p))
    ax = axes_for(ax, (5.5, 4.5))
    if kind == "histogram":
        ax.hist(p, bins=BINS, range=(0, 1), color=COLOURS[1], edgecolor="white", label="p-values")
        ax.axhline(len(p) / BINS, color=DARK, linewidth=0.9, linestyle="--", label="uniform")
        ax.set(xlabel=_pvalue_label(result), ylabel="cells")
    else:
        ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.9, linestyle="--", label="uniform")
        for reach in (-KOLMOGOROV / number**0.5, KOLMOGOROV / number**0.5):
            ax.plot(
                [0, 1],
                [reach, 1 + reach],
                color=GREY,
                linewidth=0.8,
                linestyle=":",
                label="95 % of uniform samples inside",
            )
        ax.plot(
            (np.arange(len(p)) + 0.5) / number,
            p,
            "o",
            color=COLOURS[0],
            markersize=3.5,
            label="p-values",
        )
        ax.set(xlabel="of uniform p-values", ylabel=_pvalue_label(result), ylim=(-0.02, 1.02))
    ax.set_xlim(-0.02, 1.02)
    low = 100 * np.count_nonzero(p <= alpha) / number
    title = TESTS[str(result.attrs["result"])][0]
    return describe(
        ax, [title, f"{len(p)} of {values.size} cells: {low:.3g} % have p up to {alpha:g}"]
    )


def _pvalue_label(result: xr.Dataset) -> str:
    attrs = result.attrs
    side = {"less": "one-sided (less) p", "greater": "one-sided (greater) p"}.get(
        str(attrs.get("alternative")), "two-sided p"
    )
    if attrs["result"] == "randomization_test":
        return (
            f"{side}, {attrs['n_resamples']} random exchanges"
            if "n_resamples" in attrs
            else f"{side}, all exchanges"
        )
    if attrs["result"] == "goodness_of_fit":
        return f"p, {attrs['n_resamples']} samples drawn and fitted"
    if attrs["result"] == "normality":
        return (
            f"p; {100 * float(result['share_rejected'].max()):.3g} % of the cells rejected"
            if result.sizes.get("group_size", 1) == 1
            else "p"
        )
    if attrs["result"] == "hierarchical_performance_test":
        return "one-sided p, the candidate is better"
    return (
        f"{side}, corrected ({attrs['correction']})"
        if attrs.get("correction", "none") != "none"
        else side
    )

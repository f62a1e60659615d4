"""The standard errors of ratios before and after what the suite tells of them."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    axes_for,
    capitalized,
    compared,
    describe,
    write_plain,
    write_units,
)


def moderated_errors(result: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw the standard error of each ratio against the baseline's mean, with a prior and without.

    Returns
    -------
    Axes
        Both axes are logarithmic. Hollow points are the standard errors of each benchmark alone,
        filled ones those with what the suite tells: the closer these lie to each other, the more
        alike the benchmarks vary.

    Raises
    ------
    ValueError
        A result without a prior.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> values = np.random.default_rng(1).normal(1.0, 0.01, (8, 2, 3))
    >>> dims = ("benchmark", "version", "execution")
    >>> times = xr.DataArray(values, {"version": ["old", "new"]}, dims, "time")
    >>> ax = moderated_errors(times.perf.compare("old", prior="suite"))
    >>> ax.get_ylabel()
    'standard error of the ratio, %'
    """
    if "unmoderated_standard_error" not in result:
        raise ValueError(
            "the result was made without a prior, and has no moderated errors: give "
            "compare(..., prior='suite')"
        )
    ax = axes_for(ax, (5.5, 4.0))
    alone, learned = (
        100 * result[name].values.ravel()
        for name in ("unmoderated_standard_error", "standard_error")
    )
    means = (
        result["baseline_mean"]
        if "baseline_mean" in result
        else xr.ones_like(result["standard_error"])
    )
    x = (
        means.broadcast_like(result["standard_error"])
        .transpose(*result["standard_error"].dims)
        .values.ravel()
    )
    positive = (alone > 0) & (learned > 0)
    ax.set(xscale="log", yscale="log", ylabel="standard error of the ratio, %")
    ax.vlines(x[positive], alone[positive], learned[positive], color=GREY, linewidth=0.9, zorder=1)
    ax.plot(
        x[positive],
        alone[positive],
        "o",
        color=DARK,
        markerfacecolor="white",
        markersize=5,
        label="alone",
        zorder=2,
    )
    ax.plot(
        x[positive],
        learned[positive],
        "o",
        color=COLOURS[0],
        markersize=5,
        label="with the suite",
        zorder=3,
    )
    write_plain(ax.yaxis)
    ax.set_xlabel("baseline's mean")
    write_units(ax.xaxis, str(means.attrs.get("units", "1")))
    title = capitalized(compared(result, result["standard_error"]))
    if result["prior_df"].size == 1:
        worth = result["prior_df"].item()
        title.append(
            "the suite's variances are all alike"
            if np.isposinf(worth)
            else f"the suite adds {worth:.2g} degrees of freedom"
        )
    return describe(ax, title)

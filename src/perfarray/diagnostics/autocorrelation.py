"""Whether repetitions depend on those before them, or drift."""

import math
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import plural
from perfarray.diagnostics.ordering import in_order
from perfarray.numerics import dependence
from perfarray.numerics.dependence import LEAST, LEAST_RANKED, Scores
from perfarray.numerics.levels import summarise_units, unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_count


@for_each_metric
def autocorrelation(
    times: Data,
    *,
    dim: str | None = None,
    max_lag: int | None = None,
    order: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Measure how far repetitions depend on those before them, and whether they drift.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; levels inside `dim` are averaged, repetitions outside it are series.
    dim : str, optional
        The repetitions whose order counts; default: `iteration`, else the only level.
    max_lag : int, optional
        The largest distance. Default: 10, or 10 log10(n).
    order : str, optional
        The coordinate along `dim` that gives the order, or "stored".
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        For every series: along `lag`, `autocorrelation`; `effective_n`, the independent repetitions
        that its mean is worth; `pvalue` (Ljung and Box's), `drift` (slope per repetition,
        relative), `drift_pvalue`, `n`. For every cell the same, pooled: `pooled_autocorrelation`
        along `lag`, `pooled_effective_n`, `pooled_drift`, `pooled_drift_pvalue`, `pooled_n`; and
        `dependence_pvalue`, of like neighbours or a drift.

    Raises
    ------
    ValueError
        Unknown names; a lag as long as the series.

    Notes
    -----
    Fewer than 30 repetitions cannot be tested, and their `effective_n` is too large. See
    :doc:`/how-to/dependence`.

    References
    ----------
    G. Ljung, G. Box, "On a measure of lack of fit in time series models", 1978. R. Bartels, "The
    rank version of von Neumann's ratio test for randomness", 1982.

    Examples
    --------
    Sums of neighbours have a correlation of one half.

    >>> import numpy as np, perfarray
    >>> noise = np.random.default_rng(4).normal(size=201)
    >>> sample = {"fft": 10 + noise[1:] + noise[:-1]}
    >>> times = perfarray.from_samples(sample, dim="benchmark", level="iteration")
    >>> times.perf.autocorrelation(max_lag=2)["autocorrelation"].round(1).values.ravel().tolist()
    [1.0, 0.5, 0.0]
    """
    series = in_order(times, dim, levels, metric, order)
    data, dim, size = series.data, series.dim, series.data.array.sizes[series.dim]
    if max_lag is None:
        n_lags = min(size - 1, max(10, math.floor(10 * math.log10(max(size, 1)))))
    else:
        n_lags = check_count(max_lag, "max_lag")
        if n_lags >= size:
            raise ValueError(
                f"max_lag={max_lag} needs more than {max_lag} repetitions along {dim!r}; there are "
                f"{size}"
            )
    of_series = {
        "effective_n": "independent repetitions",
        "pvalue": "",
        "drift": "relative slope per repetition",
        "drift_pvalue": "",
        "n": "repetitions",
    }
    of_cells = {
        "pooled_n": "repetitions of all series",
        "pooled_effective_n": "independent repetitions of all series",
        "pooled_drift": "mean relative slope per repetition",
        "pooled_drift_pvalue": "",
        "dependence_pvalue": "p-value of neighbours alike, or of a drift",
    }
    result = apply(
        partial(_describe, outer=len(series.outer), inner=len(series.inner), n_lags=n_lags),
        data.array,
        core=[data.levels],
        outputs={
            **outputs("1", (*series.outer, "lag"), autocorrelation=""),
            **outputs("1", ("lag",), pooled_autocorrelation=""),
            **outputs("1", series.outer, **of_series),
            **outputs(**of_cells),
        },
        coords={
            "lag": range(n_lags + 1),
            **{name: data.array[name].values for name in series.outer},
        },
        attrs=data.describe()
        | {"result": "autocorrelation", "unit": dim, "dim": dim, "order": series.order},
    )
    return with_notes(result, *data.notes, checks=("order",))


def _describe(values: Floats, *, outer: int, inner: int, n_lags: int) -> tuple[Any, ...]:
    """Return the variables of every series and of every cell.

    Timings are (..., outer levels, n, inner levels).
    """
    ordered = unit_means(values, inner + 1)
    batch, shape = ordered.shape[: ordered.ndim - 1 - outer], ordered.shape[:-1]
    series, n = dependence.measured_first(ordered.reshape(*batch, -1, ordered.shape[-1]))
    correlations = dependence.autocorrelations(series)
    unbiased = dependence.without_bias(correlations, n)
    pool, total = dependence.pooled(unbiased, n), np.sum(n, axis=-1).astype(float)
    slope, slope_pvalue = dependence.drift(series)
    slopes = summarise_units(slope)
    by_series = (
        n * dependence.effective_share(unbiased, n),
        dependence.ljung_box(correlations, n),
        slope,
        slope_pvalue,
        n.astype(float),
    )
    scores = Scores(*(array.sum(axis=-1) for array in dependence.order_scores(series)))
    pvalue = np.where(total >= LEAST_RANKED, dependence.order_pvalue(scores), np.nan)
    share = dependence.effective_share(pool, total / np.maximum((n > 0).sum(axis=-1), 1))
    return (
        correlations[..., : n_lags + 1].reshape(*shape, -1),
        pool[..., : n_lags + 1],
        *(array.reshape(shape) for array in by_series),
        total,
        total * share,
        slopes.mean,
        dependence.mean_pvalue(slopes),
        pvalue,
    )


@check("order")
def order_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that do not vary, and those with too few repetitions to show a dependence."""
    dim = str(result.attrs["dim"])
    pvalue, total = result["dependence_pvalue"].values, result["pooled_n"].values
    few = (
        f"{{cells}} have fewer than {LEAST} {plural(dim)}, too few to test dependence. Of "
        f"correlations of 0.3, 10 {plural(dim)} show 11 %, {LEAST} show 34 %, 100 show 81 %. "
        "Measure more."
    )
    constant = f"{{cells}} have {plural(dim)} that do not vary: they have no order to test."
    return (
        count_note("not_tested", few, (total < LEAST) & ~(pvalue <= 0.05), least=LEAST),
        count_note("no_spread", constant, (total >= LEAST) & np.isnan(pvalue)),
    )

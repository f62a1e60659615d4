"""Every label against every other."""

from typing import Any

import xarray as xr

from perfarray.comparisons.methods import check_options
from perfarray.comparisons.thresholds import Threshold, check_thresholds
from perfarray.comparisons.verdicts import decide
from perfarray.conventions import BENCHMARK
from perfarray.timings.across import suite_row_for_each
from perfarray.timings.labels import only_comparable_dim
from perfarray.timings.pairs import EVERY
from perfarray.timings.resampling import Resample
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng


@suite_row_for_each
def pairwise(
    times: Data,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    threshold: Threshold = 0.0,
    confidence_level: float = 0.95,
    statistic: str = "mean",
    value: str | None = None,
    method: str | None = None,
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    correction: str | None = None,
    censored: str = "bound",
    across: str = BENCHMARK,
    prior: str | None = None,
    between: Any = None,
    by: str | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Compare every label of a dim with every other.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    dim : str, optional
        The dim whose labels are compared; default: the only one that can be.
    levels, threshold, confidence_level, statistic, value, method, resample, n_resamples, rng
        As for `compare`: the method and its judgement.
    correction, censored, across, prior, between, by, shared, paired, metric
        As for `compare`. Every verdict of the call is corrected together, each pair of labels once.

    Returns
    -------
    Dataset
        What `compare` returns, with one more dim `baseline` at the end: labels of `dim`. A label
        against itself is NaN and inconclusive.

    Raises
    ------
    ValueError
        As `compare`; fewer than two labels.
    MemoryError
        When the pairs of labels, in memory, would need more than the computer has.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9], "c": [4.0, 4.1, 3.9]}
    >>> times = perfarray.from_samples(samples)
    >>> table = times.perf.pairwise(dim="version")["estimate"].round(2)
    >>> table.sel(version="c", baseline="a").item(), table.sel(version="a", baseline="b").item()
    (4.0, 0.5)
    """
    options = check_options(
        method=method,
        statistic=statistic,
        confidence_level=confidence_level,
        dim=only_comparable_dim(times, levels) if dim is None else dim,
        levels=levels,
        value=value,
        resample=resample,
        n_resamples=n_resamples,
        rng=rng,
        censored=censored,
        across=across,
        prior=prior,
        paired=paired,
        threshold=check_thresholds(threshold),
        correction=correction,
        between=between,
        shared=shared,
    )
    return decide(times, EVERY, options, metric)

"""Is it faster: verdicts for every benchmark and for the suite."""

from typing import Any

import xarray as xr

from perfarray.comparisons.controls import Patterns, method_with_controls
from perfarray.comparisons.methods import check_options
from perfarray.comparisons.thresholds import Threshold, check_thresholds
from perfarray.comparisons.verdicts import decide
from perfarray.conventions import BENCHMARK
from perfarray.timings.across import suite_row_for_each
from perfarray.timings.resampling import Resample
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng


@suite_row_for_each
def compare(
    times: Data,
    baseline: object,
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
    controls: Patterns | None = None,
    by: str | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Decide for each benchmark and for the suite whether a candidate is faster than the baseline.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the dim that holds it), or other timings, matched by label.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    threshold : float, mapping, DataArray or Dataset
        A relative change that does not matter: 0.02 for 2 %. Or one by benchmark, as in `{"parse":
        0.05, ...: 0.02}`, along any dims, or a result of `calibrate`.
    confidence_level : float
        Of intervals and verdicts.
    statistic, value, method, resample, n_resamples, rng, censored : as for `ratio_interval`
        What is compared, and how.
    correction : {None, "holm", "bh"}
        Holm limits the chance of any false verdict, "bh" the share of false ones.
    across, by : str, optional
        The dim of the suite row; a coordinate along it, a row for each value.
    prior : {None, "suite"}
        "suite" shrinks the variance of each benchmark towards the suite's
        (:doc:`/how-to/few_runs`).
    between : DataArray, Dataset or tuple of two numbers, optional
        What sessions vary by: earlier timings, components, or a relative standard deviation and its
        df (:doc:`/how-to/one_session`).
    controls : str or sequence of str, optional
        Labels along `across`, or patterns (* and ?), that the change cannot touch: other ratios are
        relative to theirs.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark. Default: `attrs["shared_levels"]`.
    paired : str, optional
        The outermost level, if its units match between the two systems.

    Returns
    -------
    Dataset
        For every benchmark and candidate the variables of `ratio_interval` and: `verdict`
        (`faster`, `slower`, `equivalent` or `inconclusive`); `pvalue`, `pvalue_equivalent`,
        `pvalue_adjusted`, `pvalue_equivalent_adjusted`; `not_slower`, `pvalue_not_slower`;
        `interval_level`; `interval_agrees`; `smallest_change` (80 % power); `n_candidate`,
        `n_baseline`; in the units of the data `candidate_mean`, `baseline_mean` (or medians),
        `difference`, `difference_lower`, `difference_upper`; `spread_ratio`, `spread_lower`,
        `spread_upper`, `spread_pvalue`, `candidate_spread`, `baseline_spread`, `spread_changed`.

        For every candidate `suite_estimate` (geometric mean ratio), `suite_lower`, `suite_upper`,
        `suite_df`, `suite_n`, `suite_benchmarks`, `suite_kind`, `suite_pvalue`, `suite_verdict`,
        `suite_correlation`, `suite_correlation_pvalue`.

        Thresholds that differ add `threshold`, `suite_threshold`; `between` adds
        `session_standard_deviation`, `session_df`, `within_lower`, `within_upper`; `controls` adds
        `raw_estimate`, `raw_lower`, `raw_upper`, `control`, `control_pvalue`, `control_estimate`,
        `control_lower`, `control_upper`, `control_standard_deviation`, `control_n`
        (:doc:`/conventions`).

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values.

    Notes
    -----
    Faster or slower means that the interval lies outside 1 ± threshold, equivalent inside; a
    correction decides by p-values. See :doc:`/evidence/intervals`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, equation 12.

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]}
    >>> verdicts = perfarray.from_samples(samples).perf.compare("old", threshold=0.02)
    >>> verdicts["verdict"].item(), verdicts["estimate"].item()
    ('faster', 0.9)
    """
    options = check_options(
        method=method_with_controls(controls, method, statistic, between),
        statistic=statistic,
        confidence_level=confidence_level,
        dim=dim,
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
        controls=controls,
        shared=shared,
    )
    return decide(times, baseline, options, metric)

"""Is it faster: verdicts for every benchmark and for the suite."""

from typing import Any

import xarray as xr

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
        A label of `dim` (default: the one dim that holds it), or other timings, matched by label.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a
        Dataset (default: its `time`). The units of a cell are the outermost level that it repeats.
    threshold : float, mapping or DataArray
        A relative change that does not matter: 0.02 for 2 %. It may differ by benchmark, as in
        `{"parse": 0.05, ...: 0.02}`, where `...` is all others (default 0) and the suite; or along
        any dims of the verdicts, the suite's being the mean over the benchmarks.
    confidence_level : float
        Of the intervals, and 1 minus the error rate of the verdicts.
    statistic, value, method, resample, n_resamples, rng, censored : as for `ratio_interval`
        What is compared, and how. Of stopped runs only verdicts that hold whatever they would have
        taken are given.
    correction : {None, "holm", "bh"}
        For all verdicts of the call but the suite row: Holm controls the chance of any false
        verdict (intervals: Bonferroni), Benjamini and Hochberg the share of false verdicts
        (intervals: Benjamini and Yekutieli). Corrected p-values then decide.
    across, by : str, optional
        The dim the suite row averages over; a coordinate along it, with one suite row for each of
        its values (default: `suite`, where benchmarks are of several).
    prior : {None, "suite"}
        With "suite" the variance of each benchmark is shrunk towards what those along `across` have
        in common: for 3 to 5 runs of some 8 benchmarks or more. For formulas of means; the suite
        row is without.
    between : DataArray, Dataset or tuple of two numbers, optional
        What sessions (or builds) vary by, where each side is one of them: timings of several, or a
        history along `commit`, `date` or `build`; variance components with that level outermost; or
        a relative standard deviation, without that of runs, and its df, as in `(0.01, 5)`. For
        formulas of means (:doc:`/how-to/one_session`).
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite).
        Default: `attrs["shared_levels"]`.
    paired : str, optional
        The outermost level, when its units match between the two systems.

    Returns
    -------
    Dataset
        For every benchmark and candidate the variables of `ratio_interval` and: `pvalue` and
        `pvalue_equivalent`, also corrected as `pvalue_adjusted` and `pvalue_equivalent_adjusted`;
        `interval_level`; `verdict`: `faster`, `slower`, `equivalent` or `inconclusive`;
        `interval_agrees`; `not_slower` with `pvalue_not_slower` (one-sided, at half the error
        rate); `smallest_change`, relative, seen with some 80 % power; `n_candidate` and
        `n_baseline`; `candidate_mean`, `baseline_mean` (or medians) and their `difference`, of
        means with `difference_lower` and `difference_upper`, in the units of the data. For every
        candidate `suite_estimate` (geometric mean ratio), `suite_lower`, `suite_upper`, `suite_df`,
        `suite_n`, `suite_benchmarks`, `suite_kind`, `suite_pvalue`, `suite_verdict`, and
        `suite_correlation` of the units of benchmarks with `suite_correlation_pvalue`. Where
        thresholds differ, `threshold` and `suite_threshold`. With a prior its variables as in
        `ratio_interval`. With `between`, `session_standard_deviation` (relative) and `session_df`,
        and the limits that lack it, `within_lower` and `within_upper` (uncorrected).

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods or corrections; units that differ; negative values.

    Notes
    -----
    Without correction, faster or slower means that the interval lies wholly outside the band 1 -
    threshold to 1 + threshold, equivalent wholly inside. A set that is exclusive or unbounded is
    inconclusive. P-values of a bootstrap are never below 1 / (n_resamples + 1).

    Where a mean is 0, the difference decides, and the suite row leaves the benchmark out. The suite
    row is for this fixed suite, of independent benchmarks or of units that they share: a shared
    build that is not declared makes its limits too narrow. :doc:`/how-to/trust` and
    :doc:`/how-to/skewed_timings` have error rates and power.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, equation 12. G. K. Smyth, "Linear models and empirical Bayes methods for assessing
    differential expression", 2004 (prior). B. Phipson et al., "Robust hyperparameter estimation
    protects against hypervariable genes", 2016 (a noisy benchmark). S. Holm 1979; Y. Benjamini, Y.
    Hochberg 1995; Y. Benjamini, D. Yekutieli 2005 (intervals after selection).

    Examples
    --------
    >>> import perfarray
    >>> samples = {"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]}
    >>> verdicts = perfarray.from_samples(samples).perf.compare("old", threshold=0.02)
    >>> verdicts["verdict"].item(), verdicts["estimate"].item(), verdicts["upper"].round(3).item()
    ('faster', 0.9, 0.914)
    """
    options = check_options(
        method=method,
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
        shared=shared,
    )
    return decide(times, baseline, options, metric)

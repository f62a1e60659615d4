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
    r"""Decide for each benchmark and for the suite whether a candidate is faster than the baseline, and by how much.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline : label, DataArray or Dataset
        The label that the others are compared with, or other timings, matched by label.
    dim : str, optional
        The dim compared; default: the one that holds the baseline.
    levels : str or tuple of str, optional
        The nest, outermost first; default: the repetition dims present. The independent units of a
        cell are the outermost that it repeats.
    threshold : float, mapping or DataArray
        A relative change that does not matter: 0.02 for 2 %. The band is 1 - threshold to 1 +
        threshold. It may differ by benchmark, as in `{"parse": 0.05, ...: 0.02}`, where `...` is
        all others (default 0) and the suite; or along any dims of the verdicts, the suite's being
        the mean over the benchmarks. The answer then holds `threshold` and `suite_threshold`.
    confidence_level : float
        Of the intervals, and 1 minus the error rate of the verdicts.
    statistic : {"mean", "median"}
        What is compared: means of the outermost units, or the median of all runs.
    value : str, optional
        For medians, the level whose repetitions are runs; default: `execution`, else the lowest.
    method : str, optional
        For means "fieller" (default), "delta", "log_delta", "skew_adjusted", "batch_means", or a
        bootstrap: "percentile", "basic", "bca", "studentized". For medians "order_statistics"
        (default), "rank" (exact for sides of one shape), or a bootstrap. `ratio_interval` explains
        them.
    resample : None, "all", "flat", str or tuple of str
        For the bootstrap, the levels drawn with replacement; default: the outermost.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates, and their seed.
    correction : {None, "holm", "bh"}
        For many verdicts: Holm controls the chance of any false verdict (intervals: Bonferroni),
        Benjamini and Hochberg the share of false verdicts (intervals: Benjamini and Yekutieli).
        Corrected p-values then decide.
    censored : {"bound", "drop"}
        Runs stopped at a limit (`censored_at`, else their value) count as at least that (rates: at
        most), and only verdicts that hold whatever they would have taken are given; or they are
        left out.
    across : str
        The dim the suite row averages over.
    prior : {None, "suite"}
        With "suite" the variance of each benchmark is shrunk towards what the benchmarks of the
        suite have in common (along `across`), which adds degrees of freedom: for 3 to 5 runs of
        some 8 benchmarks or more. A benchmark that is noisier than the others keeps its own
        variance, and a note names it. For formulas of means; the suite row is without.
    between : DataArray, Dataset or tuple of two numbers, optional
        What sessions (or builds) vary by, where each side is one of them: timings of two or more
        (`session`, `binary`, or a history along `commit`, `date` or `build`, whose changes are left
        out), variance components with that level outermost, or their relative standard deviation,
        without that of their runs, and its degrees of freedom, as in `(0.01, 5)`. Verdicts, limits
        and the suite row have it in; with a prior it is shrunk, too. A side of one run takes the
        variance of runs from there, or has no limits. Sides of several sessions, in an archive of
        both kinds, keep what these show. For formulas of means.
    by : str, optional
        A coordinate along `across`, with one suite row for each of its values. Default: `suite`,
        where benchmarks are of several suites.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite).
        Default: `attrs["shared_levels"]`.
    paired : str, optional
        The outermost level, when its units match between the two systems.
    metric : str or list of str, optional
        The variable(s) of a Dataset; default: its `time`.

    Returns
    -------
    Dataset
        For every benchmark and candidate the variables of `ratio_interval` and: `pvalue` and
        `pvalue_equivalent`, also corrected as `pvalue_adjusted` and `pvalue_equivalent_adjusted`;
        `interval_level`; `verdict`: `faster`, `slower`, `equivalent` or `inconclusive`, in the
        sense of `better`; `interval_agrees`; `not_slower` with `pvalue_not_slower` (one-sided, at
        half the error rate); `smallest_change`, relative, seen with some 80 % power; `n_candidate`
        and `n_baseline`, the units of each side; `candidate_mean` and `baseline_mean` (or medians),
        their `difference`, and of means Welch's limits of it at the same level, `difference_lower`
        and `difference_upper`, in the units of the data. For every candidate, over the benchmarks
        measured on both sides: `suite_estimate` (geometric mean ratio), `suite_lower`,
        `suite_upper`, `suite_df`, `suite_n`, `suite_benchmarks`, `suite_kind`, `suite_pvalue`,
        `suite_verdict`, and `suite_correlation` (the mean correlation between benchmarks of their
        units) with `suite_correlation_pvalue`. With a prior `prior_df` and
        `prior_standard_deviation` (of units, relative), `prior_pvalue` (small: noisier than the
        others), and relative standard errors with it, `standard_error`, and without,
        `unmoderated_standard_error`. With `between`, `session_standard_deviation` (relative) and
        `session_df`, and the limits that lack it, `within_lower` and `within_upper` (uncorrected).

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods or corrections; units that differ; values that are
        negative.

    Notes
    -----
    Without correction, faster or slower means that the interval lies wholly outside the band,
    equivalent wholly inside. A set that is exclusive or unbounded is inconclusive. With a bootstrap
    method or medians, p-values invert the limits; those of a bootstrap are never below 1 /
    (n_resamples + 1).

    Zeros count in means and differences. Where a mean is 0, the difference decides: the ratio is 0
    of a candidate of zeros, 1 of two sides of zeros, and else NaN, and the suite row leaves the
    benchmark out. A prior, the bootstrap, "delta", "log_delta" and medians of 0 decline such cells,
    and a note names them.

    The suite row is for this fixed suite: of independent benchmarks, or of units that they share
    (`shared`, `paired`). A shared build that is not declared makes its limits too narrow; a note
    says where the units of benchmarks are correlated. :doc:`/how-to/trust` and
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
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]})
    >>> verdict = times.perf.compare("old", threshold=0.02)
    >>> verdict["verdict"].item(), round(verdict["estimate"].item(), 3), round(verdict["upper"].item(), 3)
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

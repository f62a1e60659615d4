"""Is it faster: verdicts for every benchmark and for the suite."""

import xarray as xr

from perfarray.comparisons.family import conclude
from perfarray.comparisons.gathering import gather, of_metrics
from perfarray.comparisons.medians import check_ratio_method
from perfarray.comparisons.request import Request
from perfarray.conventions import BENCHMARK
from perfarray.timings.across import each_suite_row
from perfarray.timings.resampling import Resample
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng


@each_suite_row
def compare(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    threshold: float = 0.0,
    band: str = "linear",
    equivalence_risk: float | None = None,
    confidence_level: float = 0.95,
    statistic: str = "mean",
    value: str | None = None,
    method: str | None = None,
    df: str = "satterthwaite",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    correction: str | None = None,
    family: str | tuple[str, ...] | None = None,
    censored: str = "bound",
    across: str = BENCHMARK,
    by: str | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Compare every candidate with the baseline: is it faster, by how much, how surely; for each benchmark and for the suite.

    Parameters
    ----------
    times, baseline, dim, levels, metric : as for `ratio_interval`
        Timings; a label of `dim` or other timings; the nest, and the variable(s) of a Dataset.
    threshold : float
        A relative change that does not matter: 0.02 for 2 %. The band is 1 - threshold to 1 + threshold.
    band : {"linear", "log"}
        With "log" the band is 1 / (1 + threshold) to 1 + threshold: symmetric for a ratio and its inverse.
    equivalence_risk : float, optional
        Of each of the two one-sided tests of "equivalent". Default: half of 1 - `confidence_level`, so that the whole interval lies inside
        the band; with 0.05, the usual choice, the interval of 90 % does.
    confidence_level : float
        Of the intervals, and 1 minus the error rate of the verdicts.
    statistic, value : as for `ratio_interval`
        Whether means or medians are compared ("mean", "median"), and for medians the level whose repetitions are the runs.
    method, df, resample, n_resamples, rng : as for `ratio_interval`
        How limits are made (default: Fieller's theorem, with Welch and Satterthwaite's degrees of freedom; of medians, order statistics),
        and the bootstrap. Of medians it draws every benchmark alone, and is refused where they have common units.
    correction : {None, "holm", "bh"}
        For many verdicts at once: Holm keeps the chance of any false verdict at the error rate (intervals: Bonferroni's), Benjamini and
        Hochberg the share of false verdicts (intervals: Benjamini and Yekutieli's).
    family : str or tuple of str, optional
        The dims over which verdicts are corrected together, `metric` among them where several are named; default: every verdict of the
        call. The suite row stands outside.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as at least that (rates: at most), and only the verdicts that stay true whatever they would have
        taken are given; or they are left out, which flatters. The limit is the coordinate `censored_at`, else the value of the run.
    across : str
        The dim the suite row averages over; without it the suite is the one benchmark.
    by : str, optional
        A coordinate along `across`, such as `suite`: a suite row for each of its values, along a dim of that name, beside which the
        benchmarks keep their rows (and the coordinate, as `benchmark_suite`). Default: one row for all.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite). Default: `attrs["shared_levels"]`, else
        none, and the attr `benchmarks` of the result says that independence was assumed.
    paired : str, optional
        The outermost level, when its units match between the two systems. The suite row then takes every unit over all benchmarks at
        once, which is right whether or not the benchmarks share it.

    Returns
    -------
    Dataset
        For every benchmark and candidate: `estimate` = candidate / baseline, `lower`, `upper`, `df`, `n`, `kind` (as `ratio_interval`),
        `pvalue` (twice the smaller p of "not below" and "not above" the band), `pvalue_equivalent` (the larger of two one-sided tests of
        "outside the band"), both also corrected as `pvalue_adjusted` and `pvalue_equivalent_adjusted`; `interval_level`; `verdict`:
        `faster`, `slower`, `equivalent` or `inconclusive`, in the sense of `better`; `interval_agrees`, whether the interval shows the
        verdict; `not_slower`, whether a slowdown beyond the threshold
        is ruled out (one-sided, at half the error rate: the interval's limit; `pvalue_not_slower`, corrected); `smallest_change`, the
        relative change that such units show beyond the threshold with 80 % power; `candidate_mean` and `baseline_mean`, in the units of the
        data (`candidate_median`, `baseline_median`);
        `candidate_share` and what else says how sure limits are, as `ratio_interval`. For every candidate, over the benchmarks
        measured on both sides: `suite_estimate` (geometric mean ratio), `suite_lower`, `suite_upper`, `suite_df`, `suite_n`,
        `suite_benchmarks` (their number), `suite_kind`, `suite_pvalue`, `suite_verdict`; `suite_correlation`, the
        mean correlation between benchmarks of their units, and `suite_correlation_pvalue`. The suite row of one benchmark is that
        benchmark's, uncorrected.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods or corrections; units that differ; values that are zero or negative.

    Notes
    -----
    Without correction the verdict is the interval rule: faster or slower when the interval is wholly outside the band, equivalent when
    wholly inside; equivalence from a 95 % interval is two one-sided tests at 2.5 %. A set that is exclusive or unbounded is inconclusive;
    one that ends on one side only (`at_least`, `at_most`) may decide.

    With a correction the corrected p-values decide. Holm calls more faster or slower than Bonferroni's intervals show, as of 3 % of 2,000
    simulated benchmarks in suites of 20; such a change is marked `*` in tables and pictures. Limits that agree with Holm's verdicts exist
    (Strassburger and Bretz), but those of every rejected benchmark end at the band unless all are rejected, and no longer say how large a
    change is at least.

    With a bootstrap method the p-values invert its limits: the smallest error rate at which the interval leaves the value out, never
    below 1 / (n_resamples + 1); with `studentized` that is the share of replicates with abs(t*) >= abs(t), (b + 1) /
    (n_resamples + 1) just beyond a replicate.
    Corrections work on those p-values and need replicates accordingly.

    `smallest_change` is (1 + threshold) exp((t_(1 - alpha/2) + t_0.8) SE) - 1, SE being that of the log ratio: with few units its own error
    takes some power, and a change of its mean size is seen in 74, 77, 79 and 80 % of comparisons at 3, 5, 10 and 30 normal units a side
    that vary by 2 % (by 30 %: 72, 75, 78 and 79 %).

    The suite row is for this fixed suite. With independent benchmarks, SE² is the sum over systems and benchmarks of s²/(m ȳ²), over
    B², with Satterthwaite df. Units that the benchmarks share, or that are paired, are taken over the benchmarks first, Z_j = mean over
    benchmarks of unit mean / mean, and a unit that lacks a benchmark is left out and counted. Ignoring a shared build whose effects
    correlate at 0.3 covers 67 % instead of 95; where nothing is declared and the units of four or more benchmarks move together, a note
    names `shared=`. Its test (5 %) sees a correlation of 0.3 of 5 units a side in 72, 94 and 99 % of suites of 6, 13 and 29 benchmarks.

    Medians have the p-values that belong to their limits: the least error rate at which these lie beyond the band, so that nothing is
    decided by fewer than six units of one run (at 95 %). A program is called faster or slower than itself in 0 % of comparisons of 3 or 5
    such units a side, in 1 to 4 % of 10, of 30, and of 3 to 10 units of 10 runs, whether they are normal, lognormal or of two modes (of
    means in 2 to 5 %). The suite row adds the squared standard errors of the log medians over the benchmarks (Woodruff's, half of what
    lies between the runs one standard error to either side): of 13 benchmarks it is wrong in 0 to 5 % of normal and lognormal runs, in
    up to 9 % of runs of two modes. `smallest_change` of medians is seen in 77 to 88 %.

    With `method="rank"` a row is that of the exact rank-sum test: four units a side can decide (at 95 %), and eight that are completely
    apart have p = 0.00016. It assumes that the logs of both systems have one shape. The suite row stays that of the medians.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, equation 12.
    R. Woodruff, "Confidence intervals for medians and other position measures", 1952.
    H. Mann, D. Whitney, "On a test of whether one of two random variables is stochastically larger than the other", 1947; J. Hodges,
    E. Lehmann, "Estimates of location based on rank tests", 1963 (`rank`).
    K. Strassburger, F. Bretz, "Compatible simultaneous lower confidence bounds for the Holm procedure and other
    Bonferroni-based closed tests", 2008.
    S. Holm 1979; Y. Benjamini, Y. Hochberg 1995; Y. Benjamini, D. Yekutieli 2005 (intervals after selection).

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]})
    >>> verdict = times.perf.compare("old", threshold=0.02)
    >>> verdict["verdict"].item(), round(verdict["estimate"].item(), 3), round(verdict["upper"].item(), 3)
    ('faster', 0.9, 0.914)
    """
    del by  # the wrapper reads it
    request = Request(
        dim=dim, levels=levels, threshold=threshold, band=band, equivalence_risk=equivalence_risk,
        confidence_level=confidence_level, statistic=statistic, value=value,
        method=check_ratio_method(statistic, method, df, value), df=df, resample=resample,
        n_resamples=n_resamples, rng=rng, correction=correction, family=family, censored=censored, across=across, shared=shared,
        paired=paired, metric=metric,
    )  # fmt: skip
    return conclude([gather(*question) for question in of_metrics(times, baseline, request)], request)

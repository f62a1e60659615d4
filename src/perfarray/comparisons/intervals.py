"""How sure: intervals of a mean and of a ratio of means that rest on independent units."""

from functools import partial, reduce
from operator import or_

import numpy as np
import xarray as xr

from perfarray.comparisons.medians import MEDIAN, check_ratio_method, median_ratio
from perfarray.comparisons.noise import NOISE, SKEW, noise, skew
from perfarray.numerics.bootstrap_intervals import mean_by_draws, ratio_by_draws
from perfarray.numerics.intervals import BOOTSTRAP_METHODS, MEAN_METHODS, METHODS, UNBOUNDED, mean_by_units, ratio_by_units
from perfarray.timings.apply import Kernel, Output, apply, outputs, together
from perfarray.timings.censored import ONLY_WORSE, bound_interval
from perfarray.timings.dependence import DEPENDENCE, dependence
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import noted
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resampling import Resample, check_no_resampling, check_resampling
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, cell_keys
from perfarray.timings.units import UNITS
from perfarray.timings.validation import check_choice, check_confidence_level


@over_metrics
def mean_interval(
    times: Data,
    *,
    levels: str | tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
    method: str = "t",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    censored: str = "bound",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the mean with an interval that respects the nest.

    The lower levels are averaged first; the interval rests on the means of the outermost level's units, however many iterations stand
    behind each.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; ragged ones padded with NaN. Dims that are not levels broadcast.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its `time`).
    confidence_level : float
        Between 0 and 1.
    method : {"t", "normal", "skew_adjusted", "batch_means", "percentile", "basic", "bca", "studentized"}
        Student's t with units - 1 degrees of freedom; the normal (for comparison with papers that use it: too narrow for few units); t
        whose longer side follows the skewness of the units (Hall's transformation); t of eight batches of consecutive units, for units
        that depend on those before them, from 30 units on; or the bootstrap: the paper's percentiles, their mirror image, bias corrected
        and accelerated, symmetric studentized.
    resample : None, "all", "flat", str or tuple of str
        For the bootstrap, the levels drawn with replacement: the outermost (None), every one, those named; "flat" ignores the nest.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates, and their seed or the `rng_key` of an earlier result. Without effect on methods that draw nothing.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as at least that, and only what stays true is answered; or they are left out, as for `compare`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, `standard_error` (units of the data), `df` (NaN for the bootstrap), `n` (independent units). By
        formulas also, of fewer than 10 units, `normality_pvalue` (Shapiro and Wilk's), and of more the `skewness` of the mean with
        `skewness_pvalue` (D'Agostino's): a note names the cells where these say that limits cover too little.
        From 10 units on `dependence_pvalue`: whether their order tells something (1 where a first look says no); so does a note.

    Raises
    ------
    ValueError
        Unknown levels or methods; a confidence level outside 0 to 1.

    Notes
    -----
    One unit gives NaN limits. No interval of bounded width covers a mean whatever the distribution. Of a nominal 95 % (t), 5, 10 and 30
    units cover 88, 90 and 92 % where they are exponential, 82, 84 and 89 % where they are lognormal (sigma 1), 67, 89 and 94 % where a
    fifth of them lies in a second, far mode. `skew_adjusted` covers 90, 92 and 95 %, 84, 87 and 92 %, and 67, 89 and 95 %, never less
    than t, at 1.06 to 1.13 times the width; 95.1 to 95.6 % if they are normal, at 1.01 to 1.06. Whether 3 or 4 units are skewed cannot be
    seen.

    Units that depend on those before them cover less, 85, 67 and 47 % at correlations of 0.3, 0.6 and 0.8, however many there are. The
    note on them is wrong in at most 5 % of calls, of one cell or a thousand; of one cell of 30 units it comes in 33, 84 and 97 %, of 100
    in 81 % and more. `batch_means` then covers 95, 93 and 90 % (30 units), 95, 94.5 and 93 % (50), 95, 95 and 94 % (100), and is 1.15
    times as wide where units are independent.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, section 6.2.
    P. Hall, "On the removal of skewness by transformation", 1992.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> interval = times.perf.mean_interval()
    >>> [round(float(interval[name].item()), 3) for name in ("lower", "estimate", "upper")]
    [7.516, 10.0, 12.484]
    """
    check_choice(method, "method", MEAN_METHODS + BOOTSTRAP_METHODS)
    level = check_confidence_level(confidence_level)
    data = resolve(times, metric, levels, censored=censored)
    attrs = data.describe() | {"result": "mean_interval", "method": method, "confidence_level": level}
    variables, keys = _mean_outputs(data.units), []
    kernel: Kernel
    ordered, order_outputs = dependence(len(data.levels))
    if method in BOOTSTRAP_METHODS:
        plan = check_resampling(data, resample, n_resamples, rng)
        kernel = partial(mean_by_draws, draws=plan.draws, flat=plan.flat, method=method, level=level)
        keys, attrs, checks = [cell_keys([data.array], data.levels)], attrs | plan.attrs, (UNITS, "resampling", DEPENDENCE)
    else:
        check_no_resampling(method, resample)
        normal, shape_outputs = skew(len(data.levels), not data.bounded)
        kernel = together(partial(mean_by_units, levels=len(data.levels), method=method, level=level), normal)
        variables, checks = variables | shape_outputs, (UNITS, SKEW, DEPENDENCE)
    kernel = together(kernel, lambda values, *_: ordered(values))
    result = apply(kernel, data.array, *keys, core=[data.levels, *[()] * len(keys)], outputs=variables | order_outputs, attrs=attrs)
    result = bound_interval(result, data.bounds) if data.bounded else result
    limit_note = data.stopped_note("the limit of the mean towards what they would have been is open, and the estimate a bound")
    return noted(result, *data.notes, data.selected, limit_note, checks=checks)


def _mean_outputs(units: str) -> dict[str, Output]:
    """Return the variables of the interval of a mean."""
    return outputs(units, estimate="", lower="", upper="", standard_error="") | outputs(df="", n="independent units")


@over_metrics
def ratio_interval(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    confidence_level: float = 0.95,
    statistic: str = "mean",
    value: str | None = None,
    method: str | None = None,
    df: str = "satterthwaite",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    paired: str | None = None,
    censored: str = "bound",
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate how many times the baseline's mean or median each candidate's is, with a confidence set.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the one dim that holds it), or other timings, matched by label, but for repetitions.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its `time`).
    confidence_level : float
        Between 0 and 1.
    statistic : {"mean", "median"}
        Means are those of the outermost units, lower levels averaged first. A median is that of all runs, units having equal weight.
    value : str, optional
        For medians, the level whose repetitions are runs; lower levels are averaged first. Default: `execution`, else the lowest level.
    method : {"fieller", "delta", "log_delta", "skew_adjusted", "batch_means", "percentile", "basic", "bca", "studentized"}
        For means Fieller's theorem (default); first-order intervals of the ratio or of its log; Fieller's with the longer side following
        the skewness of the units (Hall's transformation), never shorter; Fieller's of eight batches of consecutive units a side, for
        units that depend on those before them, from 30 units on; or the bootstrap: the paper's percentiles, their mirror image, bias
        corrected and accelerated, symmetric studentized on the log ratio (the one to use with few units). For medians "order_statistics"
        (default), the runs between which each median lies, and what follows for the ratio; "rank", the ratios that the exact rank-sum
        test does not reject (Mann and Whitney), around the median of the ratios of every unit of one over every unit of the other
        (Hodges and Lehmann), if both systems' logs have one shape; or the bootstrap, but for the studentized.
    df : {"satterthwaite", "conservative", "normal"}
        Degrees of freedom: Welch and Satterthwaite's with the estimated ratio plugged in; the smaller number of units less one (the
        paper's n - 1); infinite. Not for the bootstrap.
    resample : None, "all", "flat", str or tuple of str
        For the bootstrap, the levels drawn with replacement: the outermost (None), every one (the paper's RRR), those named; "flat"
        ignores the nest. The two systems are drawn independently, or jointly by unit where they are `paired`.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates, and their seed or the `rng_key` of an earlier result. Without effect on methods that draw nothing.
    paired : str, optional
        The outermost level, when its units match between the two systems (the same sessions, the same build slots). Units measured on
        one side only are left out.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as at least that, and only what stays true is answered; or they are left out, as for `compare`.

    Returns
    -------
    Dataset
        `estimate` = candidate / baseline, `lower`, `upper`, `df`, `n` (units on the smaller side), and `kind` of the set: `bounded` [lower,
        upper], `exclusive` (everything outside (lower, upper): the baseline's mean may be zero), `unbounded` (the whole line). Sets of
        positive values are cut to the positive numbers: what is left of an exclusive one may be `at_least` [lower, inf) or `at_most` (0,
        upper]. By formulas, unless paired, also `candidate_share` of the squared error, and, where one side has 80 % of it with fewer than
        10 units, `normality_pvalue` of those (Shapiro and Wilk's), with more the `skewness` of their mean and `skewness_pvalue`
        (D'Agostino's): notes name the cells where these say that limits cover too little, and those with two units on a side.
        `dependence_pvalue` as `mean_interval`, of both sides or of pairs' ratios. The baseline's label is left out. Of medians,
        `df` is that of units of several runs; a limit that lies beyond all runs is 0 or infinite, `kind` says so, and a note.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or methods; units that differ; non-positive values with `log_delta`, `studentized` or medians.

    Notes
    -----
    Coverage of a nominal 95 % with Satterthwaite df: 94.3 to 95.7 % at 3 or more normal units a side (90 % with two of the noisier side
    against many). Where the candidate varies four times as much as the baseline, 5, 10 and 30 units a side cover 89, 91 and 93 % if they
    are exponential, 85, 86 and 90 % if lognormal (sigma 1), 67, 89 and 94 % if a fifth of them lies in a second, far mode: measure more
    units of the noisier side (n_new / n_old = sd_new / sd_old).

    Medians (`order_statistics`), whether units are normal, lognormal or of two modes (80 and 20 %), and whether or not the candidate varies
    four times as much: 96 to 99 % of 6 to 30 units of one run a side, fewer than 6 having no such interval of 95 %; 93 to 99 % of 5 units
    of 10 runs, 90 to 98 % of 10 units of 30, where the percentile bootstrap covers 82 to 96 %. If units divide into two equal modes, the
    median lies anywhere between them, and the limits may miss it. Paired units: 94 % and more. `speedup(..., confidence_level=0.95)` gives
    the inverse.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, equation 12 and lemma 7.7 (pairs).
    P. Hall, "On the removal of skewness by transformation", 1992.
    R. Woodruff, "Confidence intervals for medians and other position measures", 1952; E. Korn, B. Graubard, "Confidence intervals for
    proportions with small expected number of positive counts", 1998; G. Zou, A. Donner, "Construction of confidence limits about effect
    measures", 2008.
    H. Mann, D. Whitney, "On a test of whether one of two random variables is stochastically larger than the other", 1947; J. Hodges,
    E. Lehmann, "Estimates of location based on rank tests", 1963.

    Examples
    --------
    Table V of Kalibera and Jones, 95 %: the printed limits are 0.1 and 1.7.

    >>> import perfarray
    >>> old = [[[9, 11], [5, 6]], [[16, 13], [12, 8]], [[15, 7], [10, 14]]]
    >>> new = [[[10, 12], [6, 7]], [[9, 1], [11, 4]], [[8, 5], [3, 2]]]
    >>> times = perfarray.from_samples({"old": old, "new": new}, level=("binary", "execution", "iteration"))
    >>> ratio = times.perf.ratio_interval("old", df="conservative")
    >>> [round(ratio[name].item(), 3) for name in ("lower", "estimate", "upper")]
    [0.11, 0.619, 1.725]

    The median of six runs lies nearly anywhere between the smallest and the largest: one outlier is still in it.

    >>> times = perfarray.from_samples({"old": [10.0, 10.2, 10.4, 10.1, 10.3, 17.0], "new": [8.0, 8.3, 8.1, 8.4, 12.0, 8.2]})
    >>> median = times.perf.ratio_interval("old", statistic="median")
    >>> [round(median[name].item(), 3) for name in ("lower", "estimate", "upper")]
    [0.519, 0.805, 1.113]
    """
    method = check_ratio_method(statistic, method, df, value)
    level = check_confidence_level(confidence_level)
    positive = f"the log of a ratio (method={method!r})" if method in METHODS and METHODS[method].logs else ""
    at = 0 if resample is None else -1
    pair = resolve_pair(
        times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive=positive, positive_at=at, censored=censored
    )
    if statistic == MEDIAN:
        return median_ratio(
            pair, ratio_outputs(), value=value, method=method, level=level, resample=resample, n_resamples=n_resamples, rng=rng,
            paired=paired,
        )  # fmt: skip
    attrs = {**pair.attrs, "result": "ratio_interval", "method": method, "confidence_level": level} | ({"paired": paired} if paired else {})
    sides, nest, pairs = [pair.candidate.array, pair.baseline.array], pair.candidate.levels, paired is not None
    variables, keys = ratio_outputs(), []
    kernel: Kernel
    ordered, order_outputs = dependence(len(nest), paired=pairs)
    if method in BOOTSTRAP_METHODS:
        plan = check_resampling(pair.candidate, resample, n_resamples, rng, joint=pairs)
        kernel = partial(ratio_by_draws, levels=len(nest), draws=plan.draws, flat=plan.flat, paired=pairs, method=method, level=level)
        keys, attrs, checks = [cell_keys(sides, nest)], attrs | plan.attrs, (UNITS, "resampling", DEPENDENCE)
    else:
        check_no_resampling(method, resample)
        noisy, noise_outputs = noise(len(nest), not (pairs or pair.bounded))
        kernel = together(partial(ratio_by_units, levels=len(nest), paired=pairs, method=method, df_rule=df, level=level), noisy)
        variables, attrs, checks = variables | noise_outputs, attrs | {"df": df}, (UNITS, NOISE, DEPENDENCE)
    kernel = together(kernel, lambda new, old, *_: ordered(new, old))
    result = apply(kernel, *sides, *keys, core=[nest, nest, *[()] * len(keys)], outputs=variables | order_outputs, attrs=attrs)
    result = _bound_ratio(result, pair) if pair.bounded else result
    return noted(result, *pair.notes, pair.candidate.selected, pair.stopped_note(ONLY_WORSE), checks=checks)


def _bound_ratio(result: xr.Dataset, pair: Pair) -> xr.Dataset:
    """Open the limits of ratios towards what stopped runs leave unknown; those of positive values stay positive."""
    sides, nest = (pair.candidate.array, pair.baseline.array), pair.candidate.levels
    negative = reduce(or_, [(side.reset_coords(drop=True) < 0).any(nest) for side in sides])
    bounded = bound_interval(result, pair.bounds, lowest=xr.where(negative, -np.inf, 0.0))
    lower = bounded["lower"].where(bounded["kind"] != UNBOUNDED, -np.inf).transpose(*bounded["lower"].dims)
    return bounded.assign(lower=lower.assign_attrs(bounded["lower"].attrs))


def ratio_outputs(dims: tuple[str, ...] = ()) -> dict[str, Output]:
    """Return the variables every ratio has."""
    smaller = "independent units on the smaller side"
    numbers = outputs("1", dims, estimate="candidate / baseline", lower="", upper="", df="", n=smaller)
    return numbers | {"kind": Output(dims, "", object, "kind of confidence set")}

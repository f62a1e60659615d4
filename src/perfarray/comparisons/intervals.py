"""Intervals of a mean and of a ratio that rest on independent units."""

from functools import partial
from typing import Any

import xarray as xr

from perfarray.comparisons.medians import STOPPED, check_runs
from perfarray.comparisons.methods import check_options, choose_method
from perfarray.comparisons.noise import SHAPE_OUTPUTS, SKEW
from perfarray.comparisons.priors import PRIOR, PRIOR_OUTPUTS, PVALUE, check_prior
from perfarray.comparisons.verdicts import (
    RATIO_OUTPUTS,
    check_outputs,
    pair_arrays,
    row_checks,
    with_labels,
)
from perfarray.conventions import BENCHMARK
from perfarray.numerics.bootstrap_samples import mean_by_draws
from perfarray.numerics.dependence import dependence_pvalue
from perfarray.numerics.intervals import (
    BOOTSTRAP_METHODS,
    LOG_DELTA,
    LOG_METHODS,
    MEAN_METHODS,
    mean_by_units,
)
from perfarray.numerics.levels import summarise_units, unit_means
from perfarray.numerics.moderated import mean_by_suite
from perfarray.numerics.skewness import unit_shape
from perfarray.numerics.types import Floats
from perfarray.timings.across import apply_over_suite
from perfarray.timings.apply import apply, outputs
from perfarray.timings.censored import ONLY_WORSE, bound_interval
from perfarray.timings.dependence import DEPENDENCE, ORDER_OUTPUTS
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resampling import Resample, check_no_resampling, check_resampling
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, cell_keys
from perfarray.timings.units import UNITS
from perfarray.timings.validation import check_choice, check_confidence_level
from perfarray.timings.zeros import Positive

# The consequence for a mean of runs that were stopped at a limit
OPEN = "The mean is a bound. Its limit towards what they would have been is open"


@for_each_metric
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
    across: str = BENCHMARK,
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the mean with an interval that rests on the means of the outermost units.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    confidence_level : float
        Of the interval.
    method : str
        "t" (default); "normal" (too narrow for few units); "skew_adjusted"; "batch_means"
        (dependent units, from 30 on); or a bootstrap: "percentile", "basic", "bca", "studentized".
    resample : None, "all", "flat", str or tuple of str
        Levels to redraw: the outermost (None), all or those named; "flat" ignores the nest.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates; their seed, or the `rng_key` of a result.
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, or leave them out.
    across, prior : str; {None, "suite"}
        "suite" shrinks the variance of each benchmark (dim `across`) as in `compare`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, `standard_error` (units of the data), `df`, `n` (independent
        units), `dependence_pvalue` (from 10 units on: whether their order is random). Formulas add
        `normality_pvalue` (below 10 units), `skewness` and `skewness_pvalue`. A prior adds
        `prior_df`, `prior_standard_deviation` (relative), `prior_pvalue` (small: noisier than the
        other benchmarks) and `unmoderated_standard_error`.

    Raises
    ------
    ValueError
        Unknown names; a confidence level outside 0 to 1.

    Notes
    -----
    One unit gives NaN limits. Few units that are skewed (:doc:`/how-to/skewed_timings`) or depend
    on each other (:doc:`/how-to/dependence`) have limits that are too narrow. See
    :doc:`/how-to/bootstrap`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 6.2.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> interval = times.perf.mean_interval()
    >>> [round(float(interval[name].item()), 3) for name in ("lower", "estimate", "upper")]
    [7.516, 10.0, 12.484]
    """
    check_choice(method, "method", MEAN_METHODS + BOOTSTRAP_METHODS)
    check_prior(prior, method)
    check_no_resampling(method, resample)
    level = check_confidence_level(confidence_level)
    positive = Positive("the log of a mean (prior='suite')") if prior else None
    data = resolve(times, metric, levels, positive=positive, censored=censored)
    drawn, arrays, run = method in BOOTSTRAP_METHODS, [data.array], apply
    shaped = not drawn and not data.bounded
    attrs = {
        **data.describe(),
        "result": "mean_interval",
        "method": method,
        "confidence_level": level,
    }
    variables = outputs(data.units, estimate="", lower="", upper="", standard_error="")
    variables |= outputs(df="", n="independent units")
    if drawn:
        plan = check_resampling(data, resample, n_resamples, rng)
        arrays.append(cell_keys(arrays, data.levels))
        attrs |= plan.attrs
    if prior:
        run = partial(apply_over_suite, across=across, whole=[*PRIOR_OUTPUTS])
        variables |= PRIOR_OUTPUTS | outputs(prior_pvalue=PVALUE)
        variables |= outputs(data.units, unmoderated_standard_error="")
        attrs["prior"] = prior

    def kernel(values: Floats, *keys: Any) -> list[Floats]:
        means = unit_means(values, len(data.levels))
        units = summarise_units(means)
        if prior:
            interval = mean_by_suite(means, level=level)
        elif drawn:
            interval = mean_by_draws(
                values, *keys, draws=plan.draws, flat=plan.flat, method=method, level=level
            )
        else:
            interval = mean_by_units(means, units, method=method, level=level)
        return [*interval, *(unit_shape(means, units) if shaped else ()), dependence_pvalue(means)]

    variables |= (SHAPE_OUTPUTS if shaped else {}) | ORDER_OUTPUTS
    core = [data.levels, ()][: len(arrays)]
    result = run(kernel, *arrays, core=core, outputs=variables, attrs=attrs)
    if data.bounded:
        result = bound_interval(result, data.bounds)
    checks = (UNITS, "resampling" if drawn else SKEW, DEPENDENCE, *((PRIOR,) if prior else ()))
    stopped = data.stopped_note(OPEN)
    return with_notes(result, *data.notes, *data.unit_notes, stopped, checks=checks)


@for_each_metric
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
    across: str = BENCHMARK,
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the ratio of each candidate to the baseline, with a confidence set.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the dim that holds it), or other timings, matched by label.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    confidence_level : float
        Of the set.
    statistic : {"mean", "median"}
        Of the outermost units, or of all runs with units of equal weight.
    value : str, optional
        For medians, the level of a run.
    method : str, optional
        Means: "fieller" (default), "delta", "log_delta", "skew_adjusted", "batch_means" (dependent
        units) or "always_valid" (pairs, looked at after each). Medians: "order_statistics"
        (default) or "rank" (one shape). Bootstraps: "percentile", "basic", "bca", and of means
        "studentized".
    df : {"satterthwaite", "conservative", "normal"}
        Welch's, the smaller number of units less one, or infinite.
    resample : None, "all", "flat", str or tuple of str
        Levels to redraw: the outermost (None), all or those named; "flat" ignores the nest.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates; their seed, or the `rng_key` of a result.
    paired : str, optional
        The outermost level, if its units match between the two systems.
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, or leave them out.
    across, prior : str; {None, "suite"}
        "suite" shrinks the variance of each benchmark (dim `across`) as in `compare`.

    Returns
    -------
    Dataset
        `estimate` = candidate / baseline, `lower`, `upper`, `df`, `n` (units on the smaller side),
        and `kind`: `bounded` [lower, upper], `exclusive` (outside (lower, upper)), `unbounded` (the
        whole line), `at_least` [lower, inf), `at_most` (0, upper]; all of unit 1.
        `dependence_pvalue` as `mean_interval`. Ranks add `spread_pvalue`; formulas of means
        `candidate_share` of the squared error, and of the noisier side `normality_pvalue`,
        `skewness`, `skewness_pvalue`; a prior `prior_df`, `prior_standard_deviation`,
        `standard_error`, `unmoderated_standard_error` (relative) and `prior_pvalue`.

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values with `log_delta`, `studentized` or
        medians.

    Notes
    -----
    Limits cover less where the noisier side has few, skewed units: measure more of it. See
    :doc:`/how-to/skewed_timings` and :doc:`/how-to/bootstrap`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, equation 12 and lemma 7.7 (pairs).

    Examples
    --------
    Table V of Kalibera and Jones; the printed limits are 0.1 and 1.7.

    >>> import perfarray
    >>> old = [[[9, 11], [5, 6]], [[16, 13], [12, 8]], [[15, 7], [10, 14]]]
    >>> new = [[[10, 12], [6, 7]], [[9, 1], [11, 4]], [[8, 5], [3, 2]]]
    >>> nest = ("binary", "execution", "iteration")
    >>> times = perfarray.from_samples({"old": old, "new": new}, level=nest)
    >>> ratio = times.perf.ratio_interval("old", df="conservative")
    >>> ratio["lower"].round(2).item(), ratio["upper"].round(2).item()
    (0.11, 1.73)
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
        df=df,
    )
    positive = None
    if prior:
        positive = Positive("the log of a ratio (prior='suite')")
    elif options.method in LOG_METHODS:
        log = f"the log of a ratio (method={options.method!r})"
        of = "mean" if options.method == LOG_DELTA else "min"
        positive = Positive(log, of, 0 if resample is None else -1)
    pair = resolve_pair(
        times,
        baseline,
        dim=dim,
        metric=metric,
        levels=levels,
        paired=paired,
        positive=positive,
        censored=censored,
    )
    depth = 0
    if options.medians:
        depth, pair = check_runs(pair, value, options.method, paired)
    # Benchmarks are taken one by one, unless they learn from each other.
    rules, together = options.rules(pair.candidate.better), (across,) if prior else ()
    compare = choose_method(pair, options, rules, depth, None, together)
    arrays = pair_arrays(pair, compare, together)
    n_levels = len(arrays[0][1]) - len(together)

    def kernel(new: Floats, old: Floats, *inputs: Any) -> list[Any]:
        ratios = compare.function(new, old, rules.confidence_level, *inputs, rules=rules)
        means = [unit_means(side, n_levels) for side in (new, old)]
        return [*ratios.interval, *ratios.further, *row_checks(means, pair, options)]

    of_ratios = {name: output._replace(dims=together) for name, output in RATIO_OUTPUTS.items()}
    result = apply(
        kernel,
        *(array for array, _ in arrays),
        core=[core for _, core in arrays],
        outputs=of_ratios | {**compare.further} | check_outputs(pair, options, together),
        attrs={**pair.attrs, "result": "ratio_interval", **options.attrs, **compare.attrs},
    )
    if prior:
        result = with_labels(result, pair, across)
    stopped = pair.stopped_note(STOPPED if options.medians else ONLY_WORSE)
    return with_notes(result, *pair.notes, *pair.unit_notes, stopped, checks=options.checks)

"""A whole suite of benchmarks in one number: its score, and the ratio of two scores with limits."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import MEANS, match_sides, run_statistic, suite_mean, suite_units
from perfarray.numerics.types import Floats, Mask
from perfarray.suites.matching import (
    REPLICATE,
    Kernel,
    Request,
    TwoSystems,
    along,
    bounded_result,
    bounds_within,
    count,
    count_empty,
    counted,
    describe_one,
    describe_two,
    match_cells,
    moved,
    movement,
    moving,
    over_suites,
    resolve_systems,
)
from perfarray.suites.numerics.ratios import ScoreRatio, bootstrap_interval, redrawn_ratios, t_interval, t_places
from perfarray.suites.numerics.redrawn_scores import Score, draw_scores, two_sided_level
from perfarray.timings.across import Weights, each_suite
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.best import BEST, SUMMARIES, named_end
from perfarray.timings.censored import Bounds, bound_interval
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.resampling import few_replicates, few_units
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.units import describe_unit, single_unit_note, unit_place
from perfarray.timings.validation import check_choice, check_confidence_level, check_count
from perfarray.timings.weights import weigh

METHODS = ("t", "percentile", "basic", "bca")
ALTERNATIVES = ("two-sided", "less", "greater")

FIXED = "by how much do the scores of these very benchmarks differ"
SAMPLE = "a sample"
SAMPLED = "by how much would scores differ for programs like these: the benchmarks are a sample"


@each_suite
@over_metrics
def suite_score(
    times: Data,
    *,
    across: str = BENCHMARK,
    by: str | None = None,
    mean: str = "geometric",
    weights: Weights | None = None,
    statistic: str = "mean",
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Summarise a suite in one number: the mean over the benchmarks of a statistic of each one's runs.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are neither levels nor `across` broadcast.
    across : str
        The dim averaged over.
    by : str, optional
        A coordinate along `across`, such as `suite`: a result for each of its values, along a dim of that name. Default: one for all.
    mean : {"geometric", "harmonic", "arithmetic"}
        Over the benchmarks.
    weights : DataArray, Series, mapping or sequence, optional
        How much each benchmark counts, a number that is not negative: by label of `across`, or in their order. Only ratios matter; 0
        leaves a benchmark out. Default: all alike.
    statistic : {"mean", "median", "min", "best", "geometric"}
        Of the runs of one benchmark, one value per unit; `best` is the minimum of times and the maximum of rates.
    unit : str, optional
        The level whose repetitions are the runs, lower levels averaged first; default: the outermost.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its `time`).

    Returns
    -------
    Dataset
        `estimate` in the units of the data, over the dims that were not consumed.

    Raises
    ------
    ValueError
        Unknown dims, levels or choices; values that are zero or negative where logs or reciprocals are taken; no benchmark that every
        cell has; weights that are missing, negative or all zero.

    Notes
    -----
    A mean is never taken over different suites: benchmarks that some cell lacks are left out of every cell, and named in one warning and
    in the attr `unmatched`; the weights of the others keep their ratios. A cell without any value is NaN. A weighted score says so in the
    attr `weights`: the shares of the benchmarks as JSON.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, sections 3 and 9.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 3.0], "sort": [8.0, 8.0]}, dim="benchmark")
    >>> [round(times.perf.suite_score(mean=mean)["estimate"].item(), 3) for mean in ("geometric", "harmonic", "arithmetic")]
    [4.0, 3.2, 5.0]
    """
    del by  # the wrapper reads it
    check_choice(mean, "mean", MEANS)
    check_choice(statistic, "statistic", SUMMARIES)
    positive = f"a {mean} mean" if mean != "arithmetic" else "a geometric mean" if statistic == "geometric" else ""
    weighing = weigh(times, across, weights)
    data = resolve(weighing.kept(times), metric, levels, positive=positive, positive_at=unit or 0, censored="bound")
    unit_depth = unit_place(data, unit)
    system, depth, of_runs = match_cells(data, across), len(data.levels), named_end(statistic, data.better)

    shares = weighing.of(along(data, across)[across].values)

    def kernel(values: Floats, complete: Mask) -> tuple[Floats]:
        complete_values = values.compress(complete.reshape(-1), axis=-depth - 1)
        units = suite_units(complete_values, complete_values.shape[: -depth - 1], depth, unit_depth)
        scores = run_statistic(units, of_runs).reshape(complete_values.shape[:-depth])
        return (suite_mean(scores, mean, weights=None if shares is None else shares[complete.reshape(-1)]),)

    named = outputs(data.units, estimate=f"{weighing.name(mean)} mean over {across}")
    result = apply(kernel, along(system.data, across), system.complete, core=[[across, *data.levels], [across]], outputs=named)
    attrs = describe_unit(data, unit_depth) | {"result": "suite_score", "mean": mean, "statistic": statistic} | weighing.attrs
    return describe_one(result, system, attrs, *weighing.notes, checks=("suite_score",))


@check("suite_score")
def without_score(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without any value."""
    return (count_empty(result["estimate"].isnull(), "no measured value"),)


@each_suite
@over_metrics
def score_ratio_interval(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    mean: str = "geometric",
    weights: Weights | None = None,
    statistic: str = "mean",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    method: str = "t",
    n_resamples: int = 500,
    random_benchmarks: bool = False,
    sensitivity: bool = False,
    distribution: bool = False,
    across: str = BENCHMARK,
    by: str | None = None,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    censored: str = "bound",
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Estimate how many times the baseline's suite score each candidate's is, with limits.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are neither levels nor `across` broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the one dim that holds it), or other timings, matched by label, but for repetitions.
    mean, weights, statistic, across, unit, levels, metric : as for `suite_score`
        What a score is; repetitions of `unit` are independent. Medians, minima and `best` have bootstrap limits only.
    confidence_level : float
        Between 0 and 1.
    alternative : {"two-sided", "less", "greater"}
        "greater" gives [lower, inf), "less" (-inf, upper].
    method : {"t", "percentile", "basic", "bca"}
        t on the log scale with Welch and Satterthwaite's degrees of freedom; or the bootstrap, units redrawn within every system and
        benchmark (the paper's percentiles; their mirror image; bias corrected and accelerated).
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates, and their seed or the `rng_key` of an earlier result.
    random_benchmarks : bool
        Take the benchmarks as a sample of programs. t is then the paired t over benchmarks on log ratios, with benchmarks - 1 degrees of
        freedom; the bootstrap redraws benchmarks, and units inside them. That is another question: the attr `question` says which.
    sensitivity : bool
        Give the answer without each benchmark in turn, too.
    distribution : bool
        Keep what the limits are read off, 8 bytes for each of `n_resamples` ratios in every cell.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite): treated jointly. Default:
        `attrs["shared_levels"]`, else none, and the attr `benchmarks` of the result says that independence was assumed.
    paired : str, optional
        The outermost level, when its units match between the two systems. Benchmarks are then averaged inside each pair of units, which is
        right whether or not they move together.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as at least that, and the limit towards what is not known is open; or they are left out.
    by : str, optional
        A coordinate along `across`, such as `suite`: a result for each of its values, along a dim of that name. Default: one for all.

    Returns
    -------
    Dataset
        `estimate` = candidate / baseline, `lower`, `upper`, `standard_error` (of the log ratio), `df` (NaN for the bootstrap), `pvalue`
        (of "the ratio is 1", against `alternative`), `n` (units behind the benchmark that has fewest; the benchmarks where those are the
        sample), `suite_benchmarks` (how many were measured on both sides), and `suite_correlation`, the mean correlation between benchmarks
        of their units, with `suite_correlation_pvalue`: NaN where units are shared or paired. With `sensitivity`, along `across`:
        `estimate_without`, `lower_without`, `upper_without`. With `distribution`, along `replicate`: `distribution`, the ratios of the
        redrawn scores (for "t" equally probable places of its distribution); `.perf.plot()` draws it.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or choices; units that differ; values that are zero or negative; `method="t"` with a median,
        a minimum or `best` of fixed benchmarks; weights that are missing, negative or all zero.

    Notes
    -----
    Coverage of a nominal 95 % with 13 benchmarks (simulated, normal runs): t 95.0, 95.7 and 95.0 at 3, 5 and 10 runs, the paper's
    percentile bootstrap 87.2, 91.7 and 93.6. Runs that are all equal by rounding, as in reports of three digits, show no variation: where
    they are so in every benchmark the limits coincide, and say nothing of what rounding hides.

    A weighted sample of benchmarks is taken to vary alike, whatever they weigh: it tells as much as (sum w)^2 / sum w^2 equal ones. Of 5 to
    29 benchmarks whose weights are 1 to B, or of which a quarter counts eightfold, t covers 94.8 to 98.6 % (4,000 simulated comparisons
    each); where one counts as much as half of the others or more, 97 to 99.9. Percentiles of 13 cover 91 %, weighted or not, BCa 81 to
    88 % of weighted ones: take t.

    Benchmarks that one side lacks are left out of both scores, and named in the attr `unmatched` and in one warning. Sharing and
    pairing change the limits, not the estimate: a unit counts by what it adds to the log ratio to first order, w value / mean, summed over
    the benchmarks that share it and subtracted between paired systems. With `statistic="geometric"` that is exact: the mean over
    benchmarks of log(unit mean), whose ratio is the suite row of `compare` for shared units.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, sections 4, 8 and 9. Section 4 pools both
    systems before redrawing, which would centre the interval on 1; its tables redraw within systems, as is done here.

    Examples
    --------
    >>> import perfarray
    >>> fft, sort = {"old": [10.0, 10.2, 9.8], "new": [8.0, 8.1, 7.9]}, {"old": [5.0, 5.1, 4.9], "new": [4.5, 4.6, 4.4]}
    >>> samples = {"fft": list(fft.values()), "sort": list(sort.values())}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    >>> ratio = times.perf.score_ratio_interval("old")
    >>> [round(ratio[name].item(), 3) for name in ("lower", "estimate", "upper")]
    [0.827, 0.849, 0.871]
    """
    del by  # the wrapper reads it
    check_choice(mean, "mean", MEANS)
    check_choice(statistic, "statistic", SUMMARIES)
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(method, "method", METHODS)
    level = check_confidence_level(confidence_level)
    if not random_benchmarks:
        check_standard_error(method, statistic)
    n_kept = check_count(n_resamples, "n_resamples", 2) if distribution else 0
    draws = None if method == "t" else Draws((True,), check_count(n_resamples, "n_resamples", 2), key_of(rng))
    request = Request(dim=dim, metric=metric, levels=levels, across=across, unit=unit, shared=shared, paired=paired, censored=censored)
    weighing = weigh(times, across, weights)
    systems = resolve_systems(weighing.kept(times), weighing.kept(baseline), request)
    joint = systems.shared or paired is not None  # averaged over the benchmarks inside each unit, pairs may move together or not
    score = Score(mean, named_end(statistic, systems.better), joint, paired is not None, bool(random_benchmarks), level, alternative)
    score = score._replace(weights=weighing.of(systems.labels(in_key_order=draws is not None)))
    result = over_suites(
        _ratio_kernel(score, draws, method, sensitivity, n_kept), systems, _ratio_outputs(across, sensitivity, n_kept > 0),
        {REPLICATE: range(n_kept)} if n_kept else {}, in_key_order=draws is not None,
    )  # fmt: skip
    result = _without_bounds(bounded_result(result, systems, alternative=alternative), systems) if systems.pair.bounded else result
    attrs = {"result": "score_ratio_interval", "method": method, "confidence_level": level, "mean": mean, "statistic": statistic}
    attrs |= {"alternative": alternative, "question": SAMPLED if random_benchmarks else FIXED} | weighing.attrs
    attrs |= {"benchmarks": SAMPLE} if random_benchmarks else {}
    attrs |= {"n_resamples": draws.n_resamples, "engine": "numpy"} | describe_key(draws.key) if draws is not None else {}
    checks = ("suite_limits", "suite_benchmarks", *(("suite_replicates",) if draws else ()), *moving(request, joint))
    return describe_two(result, systems, attrs, *weighing.notes, checks=checks)


def _without_bounds(result: xr.Dataset, systems: TwoSystems) -> xr.Dataset:
    """Open the limits of the answers that leave out a benchmark as those of the others are open."""
    if "estimate_without" not in result:
        return result
    across = systems.across
    sides = [side.astype(int) for side in bounds_within(result, systems)]
    bounds_without = Bounds(*((side.sum(across) - side > 0) if across in side.dims else side > 0 for side in sides))
    names = {f"{name}_without": name for name in ("estimate", "lower", "upper")}
    bounded = bound_interval(result[list(names)].rename(names), bounds_without, lowest=0.0)
    return result.assign({name: bounded[plain] for name, plain in names.items()})


@check("suite_limits")
def without_limits(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells that rest on one unit, or on one benchmark where those are the sample."""
    consequence = "their limits are NaN, since one shows no spread"
    if result.attrs["benchmarks"] != SAMPLE:
        return (single_unit_note(result, consequence),)
    return (count_note("single_unit", f"{{cells}} rest on one {_unit(result)}: {consequence}; measure more of them", result["n"] == 1),)


@check("suite_replicates")
def too_few(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return where there are too few units for the bootstrap, or too few replicates for the confidence level."""
    attrs = result.attrs
    level = two_sided_level(float(attrs["confidence_level"]), str(attrs["alternative"]))
    few = few_units(result.variables["n"], str(attrs["method"]), f"units ({_unit(result)})")
    return few, few_replicates(int(attrs["n_resamples"]), str(attrs["method"]), level)


def _unit(result: xr.Dataset) -> str:
    """Return what an answer rests on: units, or benchmarks where those are the sample."""
    return str(result.attrs["across"] if result.attrs["benchmarks"] == SAMPLE else result.attrs["unit"])


def check_standard_error(method: str, statistic: str) -> None:
    """Raise where a t interval is wanted of a statistic that has no standard error."""
    if method == "t" and statistic in ("median", "min", BEST):
        raise ValueError(f"method='t' has no standard error of a {statistic}; use statistic='mean' or 'geometric', or method='percentile'")


def _ratio_outputs(across: str, sensitivity: bool, distribution: bool) -> dict[str, Output]:
    """Return the variables of the ratio of two scores, in the order of `numerics.ratios.ScoreRatio`."""
    error, units = "standard error of the log ratio", "independent units the answer rests on"
    named = outputs(estimate="candidate / baseline", lower="", upper="", standard_error=error, df="", pvalue="", n=units)
    without = outputs("1", (across,), estimate_without="", lower_without="", upper_without="")
    ratios = outputs("1", (REPLICATE,), distribution="candidate / baseline, redrawn")
    return named | counted(across) | moved() | (without if sensitivity else {}) | (ratios if distribution else {})


def _ratio_kernel(score: Score, draws: Draws | None, method: str, sensitivity: bool, n_kept: int) -> Kernel:
    """Return the formula of the interval, with or without the answers that leave out one benchmark, and with so many ratios kept."""

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        sides = match_sides(new, old, shared=score.shared, paired=score.paired)
        if draws is None:
            answers = t_interval(sides, sides.matched, score)
            less = _without_each(sides.matched, partial(t_interval, sides, score=score)) if sensitivity else ()
            less = (*less, t_places(answers, n_kept)) if n_kept else less
        else:
            rows = []
            for _, replicates in draw_scores(sides, cells, draws, score, each=sensitivity or score.random_benchmarks):
                interval = partial(bootstrap_interval, replicates, score=score, draws=draws, method=method)
                without = _without_each(replicates.sides.matched, interval) if sensitivity else ()
                answer = interval(replicates.sides.matched)
                ratios = (
                    np.where(answer.n[..., None] > 1, redrawn_ratios(replicates, replicates.sides.matched, score, draws), np.nan),
                ) * bool(n_kept)
                rows.append((*answer, *without, *ratios))
            joined = [np.concatenate(field) for field in zip(*rows, strict=True)]
            answers, less = ScoreRatio(*joined[:7]), tuple(joined[7:])
        return *answers, *count(sides), *movement(sides, joint=score.shared, paired=False), *less

    return kernel


def _without_each(matched: Mask, interval: Callable[[Mask], ScoreRatio]) -> tuple[Floats, ...]:
    """Return estimate and limits without each benchmark in turn; NaN for a benchmark that does not count, or the only one."""
    limits = np.full((3, *matched.shape), np.nan)
    # Each benchmark left out is a suite of its own: the loop keeps the memory of one.
    for index in range(matched.shape[-1]):
        remaining = matched & (np.arange(matched.shape[-1]) != index)
        answer = interval(remaining)
        counts = matched[..., index] & remaining.any(axis=-1)
        limits[..., index] = [np.where(counts, values, np.nan) for values in (answer.estimate, answer.lower, answer.upper)]
    return tuple(limits)

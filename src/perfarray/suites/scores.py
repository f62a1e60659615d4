"""A whole suite of benchmarks in one number: its score, and the ratio of two scores with limits."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, EXECUTION, mean_title
from perfarray.numerics.suite import SuiteSides, run_statistic, suite_mean, suite_units
from perfarray.numerics.types import Floats, Mask
from perfarray.suites import matching
from perfarray.suites.numerics.ratios import ratio_intervals
from perfarray.suites.numerics.redrawn_scores import Score, two_sided_level
from perfarray.suites.one_system import describe_one, match_cells
from perfarray.suites.time_means import ratio_mean_of, suite_mean_of
from perfarray.timings.across import PRIORS, for_each_suite
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.best import BEST, SLOWER_MEDIAN, SUMMARIES, resolve_best
from perfarray.timings.censored import Bounds, bound_interval
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.resampling import few_replicates, few_units
from perfarray.timings.resolve import Data, resolve
from perfarray.timings.streams import Rng
from perfarray.timings.units import describe_unit, single_unit_note, unit_depth
from perfarray.timings.validation import check_choice, check_confidence_level, check_count
from perfarray.timings.weights import Weights, weigh
from perfarray.timings.zeros import Positive

METHODS = ("t", "percentile", "basic", "bca")

FIXED = "by how much do the scores of these very benchmarks differ"
SAMPLE = "a sample"
SAMPLED = "by how much would scores differ for programs like these: the benchmarks are a sample"


@for_each_suite
@for_each_metric
def suite_score(
    times: Data,
    *,
    across: str = BENCHMARK,
    by: str | None = None,
    mean: str = "geometric",
    shift: float | None = None,
    limit: float | None = None,
    weights: Weights | None = None,
    statistic: str = "mean",
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Summarise a suite in one number: the mean over the benchmarks of a statistic of runs.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are neither levels nor `across` broadcast.
    across : str
        The dim averaged over.
    by : str, optional
        A coordinate along `across`: a result for each of its values, along a dim of that name.
        Default: `suite`, where benchmarks are of several suites.
    mean : {"geometric", "harmonic", "arithmetic", "par2", "par10", "shifted_geometric"}
        Over the benchmarks. Of times alone: `par2` is the arithmetic mean in which a run that was
        stopped or failed counts as twice its limit (`par10` ten times); `shifted_geometric` is the
        geometric mean of the times + `shift`, minus `shift`.
    shift : float, optional
        Of the shifted geometric mean, in seconds, so that differences between short times matter
        little. Default: 1 s, as SCIP reports it; Mittelmann's benchmarks use 10 s.
    limit : float, optional
        Time limit of all runs in seconds, for `par2` and `par10`: longer runs count as stopped.
        Default: what each stopped run has, `censored_at` or its value.
    weights : DataArray, Series, mapping or sequence, optional
        How much each benchmark counts: a number that is not negative, by label of `across` or in
        their order. Default: all alike.
    statistic : {"mean", "median", "slower_median", "min", "best", "geometric"}
        Of the runs of one benchmark, one value per unit; `best` is the minimum of times and the
        maximum of rates, `slower_median` what SPEC publishes: the median, and of an even number of
        runs the slower of the two in the middle.
    unit : str, optional
        The level whose repetitions are the runs, lower levels averaged first; default: the
        outermost that a cell repeats.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a
        Dataset (default: its `time`).

    Returns
    -------
    Dataset
        `estimate` in the units of the data, over the dims that were not consumed.

    Raises
    ------
    ValueError
        Unknown dims, levels or choices; values that are negative where logs or reciprocals are
        taken; no benchmark that every cell has; weights that are missing, negative or all zero; for
        `par2` a run that was stopped or failed and has no limit, or a metric that is no time.

    Notes
    -----
    Benchmarks of several suites have a score for each suite, along `suite`. A cell that lacks a
    benchmark of its named suite has none (NaN), and a warning names it. Where no suite is named,
    benchmarks that some cell lacks are left out of every cell, and the weights of the others keep
    their ratios. The attr `unmatched` names them, and `weights` holds the shares of the benchmarks
    as JSON.

    With `par2` and `par10`, the `statistic` of several runs is of penalised times; of lazy data a
    score with a run without a limit is infinite. In all other means runs that were stopped count as
    their limit, and failed runs are left out.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018,
    sections 3 and 9. PAR2: the SAT Competitions, https://satcompetition.github.io. Shifted
    geometric mean: T. Achterberg, "Constraint Integer Programming", 2007.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 3.0], "sort": [8.0, 8.0]}, dim="benchmark")
    >>> means = ("geometric", "harmonic", "arithmetic")
    >>> [round(times.perf.suite_score(mean=mean)["estimate"].item(), 3) for mean in means]
    [4.0, 3.2, 5.0]
    """
    over = suite_mean_of(mean, shift=shift, limit=limit)
    check_choice(statistic, "statistic", (*SUMMARIES, SLOWER_MEDIAN))
    positive = (
        f"a {mean} mean"
        if over.above_zero
        else "a geometric mean"
        if statistic == "geometric"
        else ""
    )
    weighing = weigh(times, across, weights)
    above_zero = Positive(positive, score_above_zero(statistic), unit or 0) if positive else None
    marked = resolve(
        over.marked(weighing.select(times), metric),
        metric,
        levels,
        positive=above_zero,
        censored="bound",
        with_copies=True,
        as_nested=unit is not None,
    )
    data = over.penalised(marked)
    unit_index = unit_depth(data, unit)
    system, depth, statistic_of_runs = (
        match_cells(data, across, weighing),
        len(data.levels),
        resolve_best(statistic, data.better),
    )
    n_outer = data.levels.index(EXECUTION) if unit is None and EXECUTION in data.levels else 0
    array = matching.along(system.data, across)
    shares = weighing.shares_of(array[across].values)

    def kernel(values: Floats, complete: Mask) -> tuple[Floats]:
        complete = complete.reshape(-1)
        values = values.compress(complete, axis=-depth - 1)
        units = suite_units(values, values.shape[: -depth - 1], depth, unit_index)
        scores = run_statistic(units, statistic_of_runs)
        if (
            statistic == SLOWER_MEDIAN and n_outer
        ):  # a rule for the runs of one report: of several reports the median counts
            runs = (~np.isnan(values)).any(axis=tuple(range(n_outer + 1 - depth, 0)))
            inside = runs.reshape(*runs.shape[:-n_outer], -1).sum(axis=-1).max(axis=-1, initial=0)
            scores = np.where(
                inside.reshape(scores.shape) > 1, run_statistic(units, "median"), scores
            )
        scores = scores.reshape(values.shape[:-depth])
        weights_of = None if shares is None else shares[complete]
        return (suite_mean(scores, over.formula, weights=weights_of, shift=over.shift),)

    variables = outputs(data.units, estimate=f"{weighing.name(mean_title(mean))} over {across}")
    result = apply(
        kernel, array, system.complete, core=[[across, *data.levels], [across]], outputs=variables
    )
    attrs = describe_unit(data, unit_index) | over.attrs
    attrs |= {"result": "suite_score", "statistic": statistic}
    return describe_one(result, system, attrs, over.note(marked), checks=("suite_score",))


@check("suite_score")
def without_score(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without any value."""
    return (matching.count_empty(result["estimate"].isnull(), "no measured value"),)


@for_each_suite
@for_each_metric
def score_ratio_interval(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    mean: str = "geometric",
    limit: float | None = None,
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
    prior: str | None = None,
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
        A label of `dim` (default: the one dim that holds it), or other timings, matched by label
        except along repetitions.
    mean, limit, weights, statistic, across, by, unit, levels, metric
        As for `suite_score`, without `slower_median` and the shifted geometric mean; repetitions of
        `unit` are independent. Medians, minima and `best` have bootstrap limits only.
    confidence_level : float
        Between 0 and 1.
    alternative : {"two-sided", "less", "greater"}
        "greater" gives [lower, inf), "less" (-inf, upper].
    method : {"t", "percentile", "basic", "bca"}
        t on the log scale with Welch and Satterthwaite's degrees of freedom; or the bootstrap, with
        units redrawn within every system and benchmark (percentiles as in the paper; basic; bias
        corrected and accelerated).
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates, and their seed or the `rng_key` of an earlier result.
    random_benchmarks : bool
        Take the benchmarks as a sample of programs, which is another question (attr `question`).
        "t" is then the paired t over benchmarks on log ratios, with benchmarks - 1 degrees of
        freedom; the bootstrap redraws benchmarks, and units inside them.
    sensitivity : bool
        Also give the answer without each benchmark in turn.
    distribution : bool
        Keep the `n_resamples` ratios that limits are read off.
    prior : {None, "suite"}
        With "suite" the degrees of freedom rest on variances that are shrunk towards what the
        suite's have in common, as in `compare`; the standard error stays, since all benchmarks are
        in it. For "t" of fixed, independent benchmarks of equal weight.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite):
        treated jointly. Default: `attrs["shared_levels"]`, else none, and the attr `benchmarks` of
        the result says that independence was assumed.
    paired : str, optional
        The outermost level, when its units match between the two systems; benchmarks are then
        averaged inside each pair of units.
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, with an open limit of the ratio where nothing is
        known; or leave them out.

    Returns
    -------
    Dataset
        `estimate` = candidate / baseline, `lower`, `upper`, `standard_error` (of the log ratio),
        `df` (NaN for the bootstrap), `pvalue` (of "the ratio is 1", against `alternative`), `n`
        (units behind the benchmark that has fewest, or benchmarks where those are the sample),
        `suite_benchmarks` (measured on both sides), and `suite_correlation`, the mean correlation
        between benchmarks of their units, with `suite_correlation_pvalue` (NaN where units are
        shared or paired). With `sensitivity`, along `across`: `estimate_without`, `lower_without`,
        `upper_without`. With `distribution`, along `replicate`: `distribution`, the ratios of the
        redrawn scores (for "t" equally probable places).

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or choices; units that differ; values that are negative;
        `par2` as in `suite_score`, or with `censored="drop"`; `method="t"` with a median, a minimum
        or `best` of fixed benchmarks; weights that are missing, negative or all zero.

    Notes
    -----
    With few runs, prefer t to the bootstrap, whose limits are too narrow; "How to compare two
    systems over a whole suite" in the documentation has the coverage of both. Runs that are equal
    by rounding show no variation: where they are equal in every benchmark, the limits coincide. A
    weighted sample of benchmarks is assumed to vary alike, whatever the weights. Benchmarks that
    one side lacks are left out of both scores, and named in the attr `unmatched` and in one
    warning. Benchmarks of several suites have a ratio for each, along `suite`. Sharing and pairing
    change the limits, not the estimate.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018,
    sections 4, 8 and 9; redrawn within systems, as in its tables.

    Examples
    --------
    >>> import perfarray
    >>> fft = {"old": [10.0, 10.2, 9.8], "new": [8.0, 8.1, 7.9]}
    >>> sort = {"old": [5.0, 5.1, 4.9], "new": [4.5, 4.6, 4.4]}
    >>> samples = {"fft": list(fft.values()), "sort": list(sort.values())}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution"))
    >>> times = times.assign_coords(version=["old", "new"])
    >>> ratio = times.perf.score_ratio_interval("old")
    >>> [round(ratio[name].item(), 3) for name in ("lower", "estimate", "upper")]
    [0.827, 0.849, 0.871]
    """
    over = ratio_mean_of(mean, limit, censored)
    matching.check_choices(over.formula, statistic, alternative, method, METHODS)
    check_standard_error("" if random_benchmarks else method, statistic)
    length = check_count(n_resamples, "n_resamples", 2) if distribution else 0
    draws = None if method == "t" else matching.draws_of(n_resamples, rng)
    marked = matching.resolve_systems(
        over.marked(times, metric),
        over.marked(baseline, metric),
        across,
        weights,
        dim=dim,
        metric=metric,
        levels=levels,
        unit=unit,
        shared=shared,
        paired=paired,
        censored=censored,
        positive_of=score_above_zero(statistic) if draws is None else "min",
        with_copies=True,
    )
    systems = over.penalised_systems(marked)
    joint = systems.shared or paired is not None  # pairs may move together or not
    _check_prior(prior, method, weights, random_benchmarks, joint)
    score = Score(
        over.formula,
        resolve_best(statistic, systems.better),
        shared=joint,
        paired=paired is not None,
        random_benchmarks=bool(random_benchmarks),
        confidence_level=check_confidence_level(confidence_level),
        alternative=alternative,
        weights=systems.weights(in_key_order=draws is not None),
        learn=prior is not None,
    )

    def kernel(sides: SuiteSides, cells: Any) -> tuple[np.ndarray, ...]:
        return ratio_intervals(
            sides, cells, score, draws, method, without=sensitivity, length=length
        )

    result = matching.over_suites(
        kernel,
        systems,
        _ratio_outputs(across if sensitivity else "", length),
        {matching.REPLICATE: range(length)},
        shared=joint,
        paired=score.paired,
        in_key_order=draws is not None,
        statistic=score.statistic,
    )
    result = matching.bounded_result(result, systems, alternative)
    result = _open_without(result, systems) if sensitivity else result
    attrs: dict[str, Hashable] = {"result": "score_ratio_interval"} | over.attrs
    attrs |= {"method": method, "confidence_level": score.confidence_level}
    attrs |= {"statistic": statistic} | ({"prior": prior} if prior else {})
    attrs |= {"alternative": alternative, "question": SAMPLED if random_benchmarks else FIXED}
    attrs |= ({"benchmarks": SAMPLE} if random_benchmarks else {}) | matching.describe_draws(draws)
    checks = ("suite_limits", "suite_benchmarks", *(("suite_replicates",) if draws else ()))
    checks += systems.movement_checks(joint)
    return matching.describe_two(result, systems, attrs, checks=checks)


def _check_prior(
    prior: str | None, method: str, weights: Weights | None, random_benchmarks: bool, joint: bool
) -> None:
    """Raise for an unknown prior, and for choices that do not go with one."""
    check_choice(prior, "prior", PRIORS)
    choices = {
        "method": None if method == "t" else method,
        "weights": weights,
        "random_benchmarks": random_benchmarks or None,
        "shared": joint or None,
    }
    conflicts = [f"{name}={value!r}" for name, value in choices.items() if value is not None]
    if prior is not None and conflicts:
        raise ValueError(
            f"{', '.join(conflicts)} does not go with prior={prior!r}, which is for t of fixed, "
            "independent, equal benchmarks"
        )


def _ratio_outputs(across: str, length: int) -> dict[str, Output]:
    """Return the variables of a ratio of scores; with `across` those without each benchmark."""
    variables = outputs(
        estimate="candidate / baseline",
        lower="",
        upper="",
        standard_error="standard error of the log ratio",
        df="",
        pvalue="",
        n="independent units the answer rests on",
    )
    if across:
        without = ("estimate_without", "lower_without", "upper_without")
        variables |= outputs("1", (across,), **dict.fromkeys(without, ""))
    if length:
        redrawn = "candidate / baseline, redrawn"
        variables |= outputs("1", (matching.REPLICATE,), distribution=redrawn)
    return variables


def _open_without(result: xr.Dataset, systems: matching.TwoSystems) -> xr.Dataset:
    """Open the limits of the answers that leave out a benchmark, as those of all are."""
    if not systems.pair.bounded:
        return result
    bounds = matching.matched_bounds(result, systems)
    other_bounds = Bounds(*(side.sum(systems.across) > side for side in bounds))
    names = {f"{name}_without": name for name in ("estimate", "lower", "upper")}
    bounded = bound_interval(result[list(names)].rename(names), other_bounds, lowest=0.0)
    return result.assign({name: bounded[plain] for name, plain in names.items()})


@check("suite_limits")
def without_limits(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells that rest on one unit, or on one benchmark where those are the sample."""
    consequence = "their limits are NaN, since one shows no spread"
    if result.attrs["benchmarks"] != SAMPLE:
        return (single_unit_note(result, consequence),)
    return (
        count_note(
            "single_unit",
            f"{{cells}} rest on one {_unit(result)}: {consequence}. Measure more of them.",
            result["n"] == 1,
        ),
    )


@check("suite_replicates")
def too_few(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Return notes on too few units for the bootstrap, or too few replicates."""
    attrs, method = result.attrs, str(result.attrs["method"])
    level = two_sided_level(float(attrs["confidence_level"]), str(attrs["alternative"]))
    unit_notes = few_units(result.variables["n"], method, f"units ({_unit(result)})")
    return unit_notes, few_replicates(int(attrs["n_resamples"]), method, level)


def _unit(result: xr.Dataset) -> str:
    """Return what an answer rests on: units, or benchmarks where those are the sample."""
    return str(
        result.attrs["across"] if result.attrs["benchmarks"] == SAMPLE else result.attrs["unit"]
    )


def score_above_zero(statistic: str) -> str:
    """Return what must be above 0 for a score to be so."""
    return statistic if statistic in ("mean", "median") else "min"


def check_standard_error(method: str, statistic: str) -> None:
    """Raise where a t interval is wanted of a statistic that has no standard error."""
    if method == "t" and statistic in ("median", "min", BEST):
        raise ValueError(
            f"method='t' has no standard error of a {statistic}; use statistic='mean' or "
            "'geometric', or method='percentile'"
        )

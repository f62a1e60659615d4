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
        A coordinate along `across`: one result for each value. Default: `suite`, if there are
        several.
    mean : {"geometric", "harmonic", "arithmetic", "par2", "par10", "shifted_geometric"}
        Over the benchmarks. Of times alone: `par2` is the arithmetic mean in which a run that was
        stopped or failed counts as twice its limit (`par10` ten times); `shifted_geometric` is the
        geometric mean of the times + `shift`, minus `shift`.
    shift : float, optional
        Of the shifted geometric mean, in seconds. Default: 1 s (SCIP); Mittelmann uses 10 s.
    limit : float, optional
        Time limit of all runs in seconds, for `par2` and `par10`: longer runs count as stopped.
        Default: what each stopped run has, `censored_at` or its value.
    weights : DataArray, Series, mapping or sequence, optional
        How much each benchmark counts, by label of `across` or in their order. Default: all alike.
    statistic : {"mean", "median", "slower_median", "min", "best", "geometric"}
        Of the runs of one benchmark. `best` is the minimum of times and the maximum of rates;
        `slower_median` is SPEC's: of an even number of runs, the slower of the middle two.
    unit : str, optional
        The level whose repetitions are the runs. Default: the outermost that a cell repeats.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        `estimate` in the units of the data, over the dims that were not consumed.

    Raises
    ------
    ValueError
        Unknown names; negative values with a geometric or harmonic mean; no benchmark that every
        cell has; invalid weights; for `par2` a run without a limit, or a metric that is no time.

    Notes
    -----
    A cell that lacks a benchmark of its named suite has no score (NaN). Where no suite is named,
    benchmarks that some cell lacks are left out of all. A warning and the attr `unmatched` name
    them. See :doc:`/how-to/suites`.

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
        A label of `dim` (default: the dim that holds it), or other timings, matched by label.
    mean, limit, weights, statistic, across, by, unit, levels, metric
        As for `suite_score`, without `slower_median` and the shifted geometric mean. Medians,
        minima and `best` need the bootstrap.
    confidence_level : float
        Of the limits.
    alternative : {"two-sided", "less", "greater"}
        "greater" gives [lower, inf), "less" (-inf, upper].
    method : {"t", "percentile", "basic", "bca"}
        t on the log scale with Welch's degrees of freedom; or the bootstrap of units.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates; their seed, or the `rng_key` of a result.
    random_benchmarks : bool
        Take the benchmarks as a sample of programs, which is another question.
    sensitivity : bool
        Add the answer without each benchmark.
    distribution : bool
        Keep the ratios that the limits are read off.
    prior : {None, "suite"}
        "suite" shrinks variances for the degrees of freedom, as in `compare` ("t" only).
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark. Default: `attrs["shared_levels"]`.
    paired : str, optional
        The outermost level, if its units match between the two systems.
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, or leave them out.

    Returns
    -------
    Dataset
        `estimate` = candidate / baseline, `lower`, `upper`, `standard_error` (of the log ratio),
        `df` (NaN for the bootstrap), `pvalue` of "the ratio is 1", `n` (units of the benchmark with
        fewest, or sampled benchmarks), `suite_benchmarks` (measured on both sides),
        `suite_correlation` of units between benchmarks with `suite_correlation_pvalue` (NaN if
        shared or paired); all of unit 1. With `sensitivity`, along `across`: `estimate_without`,
        `lower_without`, `upper_without`. With `distribution`, along `replicate`: `distribution`.

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values; "t" with a median, a minimum or `best`;
        `par2` as in `suite_score`, or with `censored="drop"`; invalid weights.

    Notes
    -----
    With few runs, use t: bootstrap limits are too narrow. Benchmarks that one side lacks are left
    out of both scores; a warning and the attr `unmatched` name them. See :doc:`/how-to/suites`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018,
    sections 4, 8 and 9; redrawn within systems, as in its tables.

    Examples
    --------
    The geometric mean of 0.8 and 0.9 is 0.849.

    >>> import perfarray
    >>> fft, sort = [[10.0, 10.2, 9.8], [8.0, 8.1, 7.9]], [[5.0, 5.1, 4.9], [4.5, 4.6, 4.4]]
    >>> times = perfarray.from_samples(
    ...     {"fft": fft, "sort": sort}, dim="benchmark", level=("version", "execution")
    ... )
    >>> ratio = times.assign_coords(version=["old", "new"]).perf.score_ratio_interval("old")
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

"""Verdicts on the ratios of two systems.

A method compares them, again at corrected levels, and its answer gets labels and notes.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.comparisons.controls import CONTROLS, mark_controls
from perfarray.comparisons.exact import is_declared_exact, judged_exactly, notes_on_noise_left_out
from perfarray.comparisons.medians import MEDIAN
from perfarray.comparisons.methods import Arguments, Method, Options, along_suite
from perfarray.comparisons.noise import NOISE_OUTPUTS
from perfarray.comparisons.rounds import rounds_notes
from perfarray.comparisons.spread import SPREAD, with_spread
from perfarray.comparisons.suite_rows import SUITE_ROW
from perfarray.comparisons.systems import Systems, describe_systems, resolve_systems
from perfarray.comparisons.thresholds import (
    SUITE_THRESHOLD,
    THRESHOLD,
    settings_notes,
    threshold_note,
    thresholds_of,
    varies,
)
from perfarray.comparisons.turns import sequence_note
from perfarray.conventions import BY_PVALUE, CENSORED, EXACT, METRIC
from perfarray.numerics.dependence import dependence_pvalue
from perfarray.numerics.intervals import BOUNDED
from perfarray.numerics.levels import unit_means
from perfarray.numerics.skewness import noisier_side
from perfarray.numerics.suite import movement
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import (
    NO_SUITE,
    RatioComparison,
    Rules,
    correct,
    judge,
    map_arrays,
    pvalues,
)
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.dependence import ORDER_OUTPUTS
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.movement import MOVEMENT, MOVES
from perfarray.timings.notes import Note, check, count_note, first_of_each_code, with_notes
from perfarray.timings.pairs import BASELINE, Pair
from perfarray.timings.resolve import Data
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import cell_names

UNITS_DIM = "_unit"  # of unit means that were averaged chunk by chunk

DECIDING = "deciding"  # the check of verdicts that intervals do not show
ZERO_MEANS = "zero_means"  # the check of ratios from or to 0

# The variables of every ratio
RATIO_OUTPUTS = outputs(
    estimate="candidate / baseline",
    lower="",
    upper="",
    df="",
    n="independent units on the smaller side",
) | {"kind": Output((), "", object, "kind of confidence set")}

# The variables of a comparison, in the order of `numerics.verdicts.judge`: of every benchmark, then
# the means of both sides, of the suite
ROW_OUTPUTS = RATIO_OUTPUTS | {
    "pvalue": Output((), "1"),
    "pvalue_adjusted": Output((), "1"),
    "pvalue_equivalent": Output((), "1"),
    "pvalue_equivalent_adjusted": Output((), "1"),
    "pvalue_not_slower": Output((), "1"),
    "interval_level": Output((), "1", long_name="confidence level of the interval"),
    "verdict": Output((), "", object),
    "interval_agrees": Output((), "", bool, "whether the interval shows the verdict"),
    "not_slower": Output((), "", bool),
    "smallest_change": Output((), "1", long_name="relative change seen with some 80 % power"),
}
SUITE_OUTPUTS = {
    "suite_estimate": Output((), "1", long_name="geometric mean of candidate / baseline"),
    "suite_lower": Output((), "1"),
    "suite_upper": Output((), "1"),
    "suite_df": Output((), "1"),
    "suite_n": Output((), "1", long_name="independent units on the smaller side"),
    "suite_benchmarks": Output((), "1", long_name="benchmarks measured on both sides"),
    "suite_kind": Output((), "", object, "kind of confidence set"),
    "suite_pvalue": Output((), "1"),
    "suite_verdict": Output((), "", object),
}


# p-values that are corrected, and the variables that follow from them
PVALUES = ("pvalue", "pvalue_equivalent", "pvalue_not_slower")
CORRECTED = ("pvalue_adjusted", "pvalue_equivalent_adjusted", "pvalue_not_slower", "interval_level")

# The units of each side, of which `n` is the smaller number
UNITS_OF_SIDES = outputs(
    n_candidate="independent units of the candidate", n_baseline="independent units of the baseline"
)

# By correction, why an interval does not show its verdict
WIDER = {
    "holm": "Holm's p-values decide. The intervals are wider: they are Bonferroni's, and hold for "
    "all at once.",
    "bh": "Benjamini and Hochberg's p-values decide. The intervals are Benjamini and Yekutieli's, "
    "for changes and equivalences together.",
    "none": "The p-values decide. The limits lie on the band, but for rounding.",
}


def decide(
    times: Data, baseline: object, options: Options, metric: str | list[str] | None
) -> xr.Dataset:
    """Compare two systems; with a correction at the levels that follow from all p-values."""
    corrected = None
    if options.correction:
        corrected = correct_all(
            pvalues_of_systems(times, baseline, options, metric=metric), options
        )
    return compare_systems(times, baseline, options=options, corrected=corrected, metric=metric)


@for_each_metric
def pvalues_of_systems(
    times: Data, baseline: object, options: Options, *, metric: str | list[str] | None = None
) -> xr.Dataset:
    """Return the p-values of all verdicts without correction, by one metric."""
    systems = resolve_systems(times, baseline, options, metric)
    pair, across = systems.pair, options.across
    groups = _arguments(systems, options, None) | {"scored": [], "same": []}
    arguments = [argument for group in groups.values() for argument in group]
    result = apply(
        partial(
            _pvalues, systems=systems, lengths={name: len(group) for name, group in groups.items()}
        ),
        *(array for array, _ in arguments),
        core=[core for _, core in arguments],
        outputs=dict.fromkeys(PVALUES, Output((across,), "1")),
    )
    return with_labels(result, pair, across)


@for_each_metric
def compare_systems(
    times: Data,
    baseline: object,
    *,
    options: Options,
    corrected: xr.Dataset | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Compare two systems by one metric.

    With a correction, `corrected` is what `correct_all` returns.
    """
    systems = resolve_systems(times, baseline, options, metric)
    if corrected is not None and METRIC in corrected.dims:
        corrected = corrected.sel({METRIC: metric}, drop=True)
    result = _judged(systems, options, corrected)
    if systems.controls is not None:
        result = mark_controls(result, systems.controls)
    declared_exact = is_declared_exact(systems, options)
    if declared_exact:
        result = judged_exactly(result, systems, options)
    attrs, notes = describe_systems(systems, result, options)
    if varies(options.threshold):
        attrs["threshold"] = float(result[SUITE_THRESHOLD].mean())
    if corrected is not None:
        attrs["family"] = corrected.attrs["family"]
    pair = systems.pair
    notes.append(threshold_note(options.threshold, pair.candidate.array, options.across))
    notes += settings_notes(options.threshold, attrs, result)
    notes += rounds_notes(times, baseline, pair, propose=options.pairs_possible)
    notes += [] if options.paired else [sequence_note(times, baseline, pair)]
    result = with_spread(result, pair, options.confidence_level)
    declared = options.shared is not None or pair.jointly or options.paired is not None
    checks = (
        *options.checks,
        DECIDING,
        ZERO_MEANS,
        SUITE_ROW,
        *((CONTROLS,) if systems.controls is not None else ()),
        *((EXACT,) if declared_exact else ()),
        SPREAD,
        *(() if declared else (MOVEMENT,)),
    )
    told = first_of_each_code([note for note in notes if note])
    told = notes_on_noise_left_out(result, told) if declared_exact else told
    return with_notes(result.assign_attrs(attrs), *told, checks=checks)


def _judged(systems: Systems, options: Options, corrected: xr.Dataset | None) -> xr.Dataset:
    """Return verdicts with the labels of the timings."""
    pair, across = systems.pair, options.across
    groups = _arguments(systems, options, corrected)
    arguments = [argument for group in groups.values() for argument in group]
    checks = MOVES | check_outputs(pair, options, (across,))
    checks |= {name: output._replace(dims=(across,)) for name, output in UNITS_OF_SIDES.items()}
    further = {**systems.method.further} | checks
    sides = {f"{side}_{options.statistic}": "" for side in ("candidate", "baseline")}
    limits = dict.fromkeys(
        ("difference_lower", "difference_upper"), "Welch's limit of candidate - baseline"
    )
    in_units = outputs(pair.candidate.units, **sides, difference="candidate - baseline", **limits)
    rows = {
        name: output._replace(dims=(across,)) for name, output in (ROW_OUTPUTS | in_units).items()
    }
    result = apply(
        partial(
            _compared,
            systems=systems,
            options=options,
            lengths={name: len(group) for name, group in groups.items()},
            levels=len(groups["sides"][0][1]) - 1,
            row_values=[bool(output.dims) for output in further.values()],
        ),
        *(array for array, _ in arguments),
        core=[core for _, core in arguments],
        outputs=rows | SUITE_OUTPUTS | further,
    )
    if options.medians:  # limits of a difference are those of means
        result = result.drop_vars([*limits])
    for name, (array, _) in zip((THRESHOLD, SUITE_THRESHOLD), groups["thresholds"], strict=False):
        result[name] = array.where(~pair.itself) if pair.baselines else array
    return with_labels(result, pair, across)


def _arguments(
    systems: Systems, options: Options, corrected: xr.Dataset | None
) -> dict[str, Arguments]:
    """Return the arrays that verdicts are made from, with their core dims."""
    pair, across, row = systems.pair, options.across, (options.across,)
    groups: dict[str, Arguments] = {
        "sides": pair_arrays(pair, systems.method, row),
        "scored": [],
        "same": [],
        "corrected": [],
        "thresholds": [],
        "itself": [(pair.itself, ())] if pair.baselines else [],
    }
    if systems.scored and systems.scoring and systems.same is not None:
        groups["scored"] = pair_arrays(systems.scored, systems.scoring, row)
        groups["same"] = [(along_suite(across, systems.same), row)]
    if corrected is not None:
        groups["corrected"] = [(along_suite(across, corrected[name]), row) for name in CORRECTED]
    if varies(options.threshold):
        thresholds = thresholds_of(options.threshold, pair.candidate.array, across)
        groups["thresholds"] = [*zip(map(xr.DataArray, thresholds), (row, ()), strict=True)]
    return groups


def _compared(
    *arrays: Any,
    systems: Systems,
    options: Options,
    lengths: dict[str, int],
    levels: int,
    row_values: list[bool],
) -> list[npt.NDArray[Any]]:
    """Return verdicts of the arrays of `_arguments`, outputs of the method, and checks."""
    given, rules = _grouped(arrays, lengths, systems.rules)
    new, old, *inputs = given["sides"]
    compared = partial(systems.method.function, new, old, rules=rules)
    corrected = given["corrected"]
    comparison = compared(corrected[-1] if corrected else rules.confidence_level, *inputs)
    means = [np.ascontiguousarray(unit_means(side, levels)) for side in (new, old)]
    moves = movement(*means, paired=rules.paired)
    if systems.scoring:
        plain, (new, old, *inputs_with_copies) = rules._replace(prior=False), given["scored"]
        scored = systems.scoring.function(
            new, old, rules.confidence_level, *inputs_with_copies, rules=plain
        )
        tested = (~np.isnan(scored.estimate) & ~given["same"][0]).any(axis=-1)
        comparison = _with_copies(comparison, scored, tested)
        scored_means = [np.ascontiguousarray(unit_means(side, levels)) for side in (new, old)]
        scored_moves = movement(*scored_means, paired=rules.paired)
        moves = map_arrays(partial(np.where, tested), scored_moves, moves)
    numbers = [(~np.isnan(side)).sum(axis=-1).astype(float) for side in means]
    values = [
        *comparison.further,
        *moves,
        *row_checks(means, systems.pair, options),
        *np.broadcast_arrays(*numbers),
    ]
    for same in given["itself"]:
        comparison, values = _without_itself(comparison, values, same, row_values)
    uncorrected = None
    if corrected and (comparison.suite.benchmarks == 1).any():
        uncorrected = compared(rules.confidence_level, *inputs).limits
    return [*judge(comparison, rules, corrected, uncorrected).values(), *values]


def _grouped(
    arrays: Sequence[Any], lengths: dict[str, int], rules: Rules
) -> tuple[dict[str, list[Any]], Rules]:
    """Return the arrays of `_arguments` by group, and the rules with thresholds that vary."""
    remaining = iter(arrays)
    given = {name: [next(remaining) for _ in range(length)] for name, length in lengths.items()}
    if given["thresholds"]:
        threshold, suite_threshold = given["thresholds"]
        rules = rules._replace(threshold=threshold, suite_threshold=suite_threshold)
    return given, rules


def _pvalues(*arrays: Any, systems: Systems, lengths: dict[str, int]) -> list[Floats]:
    """Return the p-values of the arrays of `_arguments`, without the suite."""
    given, rules = _grouped(arrays, lengths, systems.rules)
    new, old, *inputs = given["sides"]
    level = rules.confidence_level
    comparison = systems.method.function(
        new, old, level, *inputs, rules=rules._replace(suite_threshold=None)
    )
    for same in given["itself"]:
        comparison, _ = _without_itself(comparison, (), same, ())
    return [*pvalues(comparison.tests, rules.better)]


def pair_arrays(pair: Pair, method: Method, across: tuple[str, ...]) -> Arguments:
    """Return the arrays that a method takes: both sides, its inputs, and bounds of stopped runs."""
    sides, nest = [pair.candidate.array, pair.baseline.array], pair.candidate.levels
    if method.of_units and any(map(is_chunked, sides)):
        sides, nest = [_lazy_means(side, nest) for side in sides], (UNITS_DIM,)
    arrays = [
        *((side, (*across, *nest)) for side in sides),
        *method.inputs,
        *((bound, across) for bound in (pair.bounds if pair.bounded else ())),
    ]
    return [
        (along_suite(across[0], array) if across and across[0] in core else array, core)
        for array, core in arrays
    ]


def check_outputs(pair: Pair, options: Options, across: tuple[str, ...]) -> dict[str, Output]:
    """Return the variables of `row_checks`."""
    variables = (NOISE_OUTPUTS if _is_noisy(pair, options) else {}) | ORDER_OUTPUTS
    return {name: output._replace(dims=across) for name, output in variables.items()}


def _is_noisy(pair: Pair, options: Options) -> bool:
    """Return whether the method depends on the noisier side of ratios.

    Limits alone that are drawn do not depend on it.
    """
    alone = options.drawn and options.threshold is None
    return not (options.paired or pair.bounded or options.medians or alone)


def row_checks(means: Sequence[Floats], pair: Pair, options: Options) -> list[Floats]:
    """Return the variables of `check_outputs` of unit means."""
    noise = noisier_side(*means) if _is_noisy(pair, options) else ()
    return [*noise, dependence_pvalue(*means, paired=options.paired is not None)]


def _with_copies(
    comparison: RatioComparison, scored: RatioComparison, tested: Mask
) -> RatioComparison:
    """Return a comparison whose means and suite row count copies, where something else was tested.

    A copy of the other side adds a log ratio of 0 to the suite and nothing to its error, since both
    scores are one number. Where a suite has nothing but copies, nothing was measured twice: its
    ratio is 1, without a test.
    """
    suite = map_arrays(partial(np.where, tested), scored.suite, comparison.suite)
    return comparison._replace(
        candidate_mean=scored.candidate_mean,
        baseline_mean=scored.baseline_mean,
        suite=suite._replace(estimate=scored.suite.estimate, benchmarks=scored.suite.benchmarks),
    )


def _without_itself(
    comparison: RatioComparison, values: Sequence[Floats], same: Mask, row_values: Sequence[bool]
) -> tuple[RatioComparison, list[Floats]]:
    """Return a comparison of all pairs of labels, with NaN for a label with itself."""

    def blank(mask: Mask, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        fill: Any = {"O": BOUNDED, "b": False}.get(array.dtype.kind, np.nan)
        return np.asarray(np.where(mask, fill, array))

    in_rows, in_suites = partial(blank, same[..., None]), partial(blank, same)
    rows = map_arrays(in_rows, comparison._replace(suite=NO_SUITE, further=()))
    suite = map_arrays(in_suites, comparison.suite)
    blanked = [
        (in_rows if of_rows else in_suites)(value)
        for value, of_rows in zip(values, row_values, strict=True)
    ]
    return rows._replace(suite=suite), blanked


def with_labels(result: xr.Dataset, pair: Pair, across: str) -> xr.Dataset:
    """Return a result with the coordinates along the dims averaged over and compared."""
    array = pair.candidate.array
    if across not in array.dims:
        result = result.isel({across: 0}, drop=True)
    lost = {
        name
        for name, coord in array.coords.items()
        if {across, pair.dim} & {*coord.dims} and {*coord.dims} <= {*result.dims}
    }
    return result.assign_coords(array.drop_vars({*array.coords} - lost).coords)


def correct_all(result: xr.Dataset, options: Options) -> xr.Dataset:
    """Return the p-values of all verdicts, corrected together, with the levels of their intervals.

    Of a pair of labels and its reverse, one is a member: each half is a family.
    """
    family = tuple(map(str, result["pvalue"].dims))
    correction, alpha = str(options.correction), 1 - options.confidence_level
    sizes = [result.sizes[name] if name in (BASELINE, options.dim) else 1 for name in family]
    later = np.tri(max(sizes, default=1), k=-1, dtype=bool)

    def kernel(*pvalues: Floats) -> Sequence[Floats]:
        if BASELINE not in family:
            return correct(*pvalues, correction=correction, alpha=alpha)
        half = later.reshape(sizes)
        forth, back = (
            correct(
                *(np.where(mask, pvalue, np.nan) for pvalue in pvalues),
                correction=correction,
                alpha=alpha,
            )
            for mask in (half, ~half)
        )
        return [np.where(half, *each) for each in zip(forth, back, strict=True)]

    pvalues = [result[name] for name in PVALUES]
    corrected = apply(
        kernel,
        *(pvalue.chunk(-1) if is_chunked(pvalue) else pvalue for pvalue in pvalues),
        core=[family] * len(pvalues),
        outputs=dict.fromkeys(CORRECTED, Output(family)),
        attrs={"family": " ".join(sorted(family))},
    )
    return corrected.assign_coords(result.coords)


@check(DECIDING)
def deciding_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the verdicts that differ from their interval."""
    text = (
        f"{{cells}}, marked {BY_PVALUE}, have a verdict that the interval does not show. "
        f"{WIDER[result.attrs['correction']]}"
    )
    note = count_note("by_pvalue", text, ~result.variables["interval_agrees"].values)
    return (None if note is None else replace(note, aside=True),)


@check(ZERO_MEANS)
def zero_means_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells in which a side is 0, so that there is no log of their ratio.

    Count medians next to runs of 0.
    """
    if result.attrs.get("statistic") == MEDIAN:  # medians of 0 are declined
        ratios, in_suite = result["estimate"].notnull(), result["suite_benchmarks"]
        open_ended = result["kind"].isin(["at_least", "at_most", "unbounded"]) & ratios
        left_out = int(
            (ratios.sum([dim for dim in ratios.dims if dim not in in_suite.dims]) - in_suite).sum()
        )
        text = (
            f"The suite row leaves out {number_of(left_out, 'ratio')} of medians next to runs "
            "of 0. Their logs have no standard error."
        )
        bounded = result.attrs.get(CENSORED) == "bound"
        return (
            (Note(ZERO_MEANS, text, {"cells": left_out}),)
            if left_out > 0 and open_ended.any() and not bounded
            else ()
        )
    mean = result["candidate_mean"]
    zero = mean.copy(data=(mean.values == 0) | (result["baseline_mean"].values == 0))
    names = cell_names(zero)
    text = (
        f"{{cells}} have a mean of 0: {listed(names, 5)}. Their difference decides, and the "
        "suite row leaves them out."
    )
    return (count_note(ZERO_MEANS, text, zero.values, names=names),)


def _lazy_means(side: xr.DataArray, nest: tuple[str, ...]) -> xr.DataArray:
    """Average the lower levels of lazy timings chunk by chunk, which bounds the memory."""
    outputs, coords = {"_mean": Output((UNITS_DIM,))}, {UNITS_DIM: range(side.sizes[nest[0]])}
    means = apply(
        lambda values: (unit_means(values, len(nest)),),
        side,
        core=[nest],
        outputs=outputs,
        coords=coords,
    )
    return means["_mean"].chunk({UNITS_DIM: -1})

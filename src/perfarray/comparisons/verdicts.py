"""From evidence to results: verdicts are corrected over their family, limits made at the levels that follow, and labels put back."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.comparisons.engines import PART, REPLICATE, SIDE, CompareOptions
from perfarray.comparisons.evidence import Measured
from perfarray.comparisons.intervals import RATIO_OUTPUTS
from perfarray.comparisons.medians import BEYOND, MEDIAN
from perfarray.comparisons.noise import NOISE
from perfarray.comparisons.priors import PRIOR
from perfarray.comparisons.suite_rows import SUITE_ROW
from perfarray.comparisons.thresholds import THRESHOLD
from perfarray.conventions import BY_PVALUE, CENSORED, LOWER, METRIC
from perfarray.numerics.verdicts import (
    Adjusted,
    Evidence,
    Rules,
    Suite,
    Tests,
    adjust_pairs,
    adjust_tests,
    judge,
)
from perfarray.timings.apply import (
    Labels,
    Output,
    compute_variables,
    cut,
    in_order,
    is_chunked,
    outputs,
)
from perfarray.timings.dependence import DEPENDENCE
from perfarray.timings.metrics import concat_metrics
from perfarray.timings.movement import MOVEMENT
from perfarray.timings.notes import Note, check, collecting_notes, count_note, with_notes
from perfarray.timings.resolve import check_names
from perfarray.timings.units import UNITS
from perfarray.timings.validation import listed, number_of
from perfarray.timings.zeros import cell_names

Variables = dict[Hashable, xr.Variable]  # arrays by name, whose labels are those of the evidence

DECIDING = "deciding"  # the check of verdicts that intervals do not show
ZERO_MEANS = "zero_means"  # the check of ratios from or to 0

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

# By correction, why an interval does not show its verdict.
WIDER = {
    "holm": (
        "Holm's p-values decide, and the interval is wider: it is Bonferroni's, and holds for "
        "all at once"
    ),
    "bh": (
        "Benjamini and Hochberg's p-values decide; the interval is Benjamini and Yekutieli's, "
        "for changes and equivalences together"
    ),
    "none": "equivalence_risk= decides, and the interval has another level",
}


def conclude(measurements: Sequence[Measured], options: CompareOptions) -> xr.Dataset:
    """Decide on the evidence of all metrics together, and return a labelled result with its notes."""
    adjusted: list[Variables] = [{} for _ in measurements]
    attrs = {}
    if options.rules.correction:
        adjusted, family = _adjust_all(measurements, options)
        attrs = {"family": " ".join(sorted(family))}
    specific = "resampling" if options.drawn else BEYOND if options.medians else NOISE
    with collecting_notes() as notes:
        results = []
        for measured, levels in zip(measurements, adjusted, strict=True):
            result = _labelled(
                measured,
                _decide(measured, levels, options),
                options.across,
                {**measured.attrs, **attrs},
            )
            declared = (
                options.shared is not None or measured.pair.jointly or options.paired is not None
            )
            checks = (
                UNITS,
                DEPENDENCE,
                specific,
                DECIDING,
                ZERO_MEANS,
                SUITE_ROW,
                *((PRIOR,) if options.rules.prior else ()),
                *(() if declared else (MOVEMENT,)),
            )
            results.append(with_notes(result, *measured.notes, checks=checks))
    if isinstance(options.metric, str | None):
        return with_notes(results[0], *notes)
    return with_notes(
        concat_metrics(
            results, options.metric, [measured.pair.candidate.array for measured in measurements]
        ),
        *notes,
    )


def _adjust_all(
    measurements: Sequence[Measured], options: CompareOptions
) -> tuple[list[Variables], tuple[str, ...]]:
    """Correct the p-values of all metrics over their family.

    Return them by metric, and the dims of the family.
    """
    across = options.across
    tests = [_tests(measured) for measured in measurements]
    several = not isinstance(options.metric, str | None)
    joined: Variables = (
        dict(xr.concat(list(map(xr.Dataset, tests)), METRIC).variables) if several else tests[0]
    )
    single = (
        {across}
        if all(across not in measured.pair.candidate.array.dims for measured in measurements)
        else set()
    )
    dims = dict.fromkeys(dim for variable in joined.values() for dim in variable.dims)
    pair = measurements[0].pair
    pairs = (str(pair.dim), pair.baselines) if pair.baselines else ()
    family = check_family([dim for dim in dims if dim not in single], options.family, pairs)
    adjusted = _adjust(joined, family, options.rules, pairs)
    if not several:
        return [adjusted], family
    return [
        {name: variable.isel({METRIC: index}) for name, variable in adjusted.items()}
        for index in range(len(measurements))
    ], family


def _tests(measured: Measured) -> Variables:
    """Return the p-values of the tests, mirrored where higher is better, so that one family can hold metrics of both kinds."""
    order = Tests._fields if measured.rules.better == LOWER else Tests._fields[::-1]
    return {
        name: measured.evidence[f"_{field}"]
        for name, field in zip(Tests._fields, order, strict=True)
    }


def _decide(measured: Measured, adjusted: Variables, options: CompareOptions) -> Variables:
    """Return verdicts, and limits at the levels of the family, if there is one."""
    evidence, engine, across = measured.evidence, measured.engine, options.across
    rows, levels = (
        [row.chunk({across: -1}) if is_chunked(row) else row for row in group]
        for group in ([evidence[f"_{name}"] for name in Evidence._fields], adjusted.values())
    )
    suite = [evidence[f"_suite_{name}"] for name in Suite._fields]

    sides = {f"{side}_{options.statistic}": "" for side in ("candidate", "baseline")}
    limits = {
        f"difference_{end}": "Welch's limit of candidate - baseline" for end in ("lower", "upper")
    }
    in_units = outputs(
        measured.pair.candidate.units, **sides, difference="candidate - baseline", **limits
    )

    threshold = [evidence[THRESHOLD]] if THRESHOLD in evidence else []

    def kernel(*arrays: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        rules = (
            measured.rules._replace(threshold=cast(Any, arrays[-1]))
            if threshold
            else measured.rules
        )
        return list(
            judge(
                *arrays[: len(arrays) - len(threshold)], limits=engine.limits, rules=rules
            ).values()
        )

    variables = compute_variables(
        kernel,
        *(*rows, *suite, *levels, *(evidence[name] for name in engine.material), *threshold),
        core=[
            *([across] for _ in rows),
            *([] for _ in suite),
            *([across] for _ in levels),
            *([across, *dims] for dims in engine.material.values()),
            *([across] for _ in threshold),
        ],
        outputs={
            name: output._replace(dims=(across,))
            for name, output in (ROW_OUTPUTS | in_units).items()
        }
        | SUITE_OUTPUTS,
    )
    lacking = limits if options.medians else ()
    return {name: variable for name, variable in variables.items() if name not in lacking} | {
        name: evidence[name] for name in measured.checks
    }


def _labelled(
    measured: Measured, variables: Variables, across: str, attrs: Mapping[str, Hashable]
) -> xr.Dataset:
    """Order dims as in the data, and put back the coordinates of the dims averaged over and compared."""
    array, labels, data_coords = measured.pair.candidate.array, measured.labels, measured.coords
    if across not in array.dims:
        variables = {name: cut(variable, across, 0) for name, variable in variables.items()}
    present = dict.fromkeys(dim for variable in variables.values() for dim in variable.dims)
    dims = tuple(dict.fromkeys((*(dim for dim in array.dims if dim in present), *present)))
    inner, changed = {across, PART, REPLICATE, SIDE}, {across, measured.pair.dim}
    coords = {
        name: label for name, label in labels.variables.items() if not inner & set(label.dims)
    }
    coords |= {
        name: label
        for name, label in data_coords.variables.items()
        if changed & set(label.dims) and set(label.dims) <= set(dims)
    }
    indexes = {
        name: index
        for name, index in {**labels.indexes, **data_coords.xindexes}.items()
        if name in coords
    }
    return Labels(coords, indexes).dataset(
        {name: in_order(variable, dims) for name, variable in variables.items()}, attrs
    )


def check_family(
    among: Sequence[Hashable], family: str | Sequence[str] | None, pairs: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the dims over which verdicts are corrected together: all, or those named.

    Naming one dim of pairs names both.
    """
    dims = tuple(map(str, among))
    if family is None:
        return dims
    names = check_names(family, "family")
    unknown = [name for name in names if name not in dims]
    if unknown:
        raise ValueError(f"family={listed(unknown)}: not among the dims of the verdicts, {dims}")
    return tuple(dict.fromkeys((*names, *pairs))) if set(names) & set(pairs) else names


def _adjust(
    tests: Variables, family: tuple[str, ...], rules: Rules, pairs: tuple[str, ...]
) -> Variables:
    """Correct the p-values over the dims of a family.

    Of a pair of labels and its reverse, one is a member.
    """
    pvalues = [tests[name] for name in Tests._fields]
    kernel = partial(adjust_tests, axes=len(family), rules=rules)
    if pairs and pairs[0] in family:
        sizes = [pvalues[0].sizes[name] if name in pairs else 1 for name in family]
        kernel = partial(
            adjust_pairs,
            later=np.tri(max(sizes), k=-1, dtype=bool).reshape(sizes),
            axes=len(family),
            rules=rules,
        )
    return compute_variables(
        kernel,
        *(
            pvalue.chunk(dict.fromkeys(family, -1)) if is_chunked(pvalue) else pvalue
            for pvalue in pvalues
        ),
        core=[family] * len(pvalues),
        outputs={name: Output(family) for name in Adjusted._fields},
        sizes={name: pvalues[0].sizes[name] for name in family},
    )


@check(DECIDING)
def deciding_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the verdicts that differ from their interval."""
    text = (
        f"{{cells}}, marked {BY_PVALUE}, have a verdict that the interval does not show: "
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
    zero = (result["candidate_mean"] == 0) | (result["baseline_mean"] == 0)
    names = cell_names(zero)
    text = (
        f"{{cells}} have a mean of 0: {listed(names, 5)}. Their difference decides, and the "
        "suite row leaves them out."
    )
    return (count_note(ZERO_MEANS, text, zero.values, names=names),)

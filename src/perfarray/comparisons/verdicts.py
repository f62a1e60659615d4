"""From evidence to verdicts: which are corrected together, and what follows for each."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from perfarray.comparisons.engines import Measured
from perfarray.comparisons.intervals import ratio_outputs
from perfarray.comparisons.request import Request
from perfarray.conventions import BY_PVALUE, LOWER, METRIC
from perfarray.numerics.verdicts import Adjusted, Evidence, Rules, Suite, Tests, adjust_tests, judge
from perfarray.timings.apply import Output, compute, is_chunked, outputs
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed

Variables = dict[Hashable, xr.Variable]
"""Arrays by name, whose labels are those of the evidence."""

DECIDING = "deciding"
"""The check of verdicts that intervals do not show."""

WIDER = {
    "holm": "Holm's p-values decide, and the interval is wider: it is Bonferroni's, and holds for all at once",
    "bh": "Benjamini and Hochberg's p-values decide; the interval is Benjamini and Yekutieli's, for changes and equivalences together",
    "none": "equivalence_risk= decides, and the interval has another level",
}
"""By the correction, why an interval does not show its verdict."""


def decide(measurements: Sequence[Measured], request: Request, pairs: tuple[str, ...] = ()) -> tuple[list[Variables], tuple[str, ...]]:
    """Turn evidence into the variables of comparisons: correct p-values over their family, make limits at the levels that follow.

    `pairs` are the two dims along which every label meets every other, if there are. Several parts are metrics, and one more dim of the
    verdicts. The dims of the family are returned too.
    """
    rules, metrics = measurements[0].rules, not isinstance(request.metric, str | None)
    if not rules.correction:
        return [_conclude(measured, {}, request) for measured in measurements], ()
    tests = [_tests(measured) for measured in measurements]
    joined: Variables = dict(xr.concat(list(map(xr.Dataset, tests)), METRIC).variables) if metrics else tests[0]
    single = {request.across} if all(measured.single for measured in measurements) else set()
    dims = dict.fromkeys(dim for variable in joined.values() for dim in variable.dims)
    family = check_family([dim for dim in dims if dim not in single], request.family, pairs)
    adjusted = _adjust(joined, family, rules, pairs)
    each = (
        {name: its.isel({METRIC: index}) for name, its in adjusted.items()} if metrics else adjusted for index in range(len(measurements))
    )
    return [_conclude(measured, levels, request) for measured, levels in zip(measurements, each, strict=True)], family


def _tests(measured: Measured) -> Variables:
    """Return the p-values of the tests, mirrored where higher is better: what is said of the family then holds for every metric."""
    order = Tests._fields if measured.rules.better == LOWER else Tests._fields[::-1]
    return {name: measured.evidence[f"_{field}"] for name, field in zip(Tests._fields, order, strict=True)}


def _conclude(measured: Measured, adjusted: Variables, request: Request) -> Variables:
    """Make limits at the levels of the family, if there is one, and verdicts."""
    evidence, engine, across = measured.evidence, measured.engine, request.across
    rows = [evidence[f"_{name}"] for name in Evidence._fields]
    suite = [evidence[f"_suite_{name}"] for name in Suite._fields]
    levels = list(adjusted.values())
    rows, levels = ([row.chunk({across: -1}) if is_chunked(row) else row for row in group] for group in (rows, levels))
    variables = compute(
        partial(judge, limits=engine.limits, rules=measured.rules),
        *(*rows, *suite, *levels, *(evidence[name] for name in engine.material)),
        core=[
            *([across] for _ in rows),
            *([] for _ in suite),
            *([across] for _ in levels),
            *([across, *dims] for dims in engine.material.values()),
        ],
        outputs=_outputs(across, measured.units, request.statistic),
    )
    return variables | {name: evidence[name] for name in measured.checks}


def check_family(among: Sequence[Hashable], family: str | Sequence[str] | None, pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dims over which verdicts are corrected together: all, or those named; pairs lie along two dims, and are one thing."""
    dims = tuple(map(str, among))
    if family is None:
        return dims
    names = check_names(family, "family")
    unknown = [name for name in names if name not in dims]
    if unknown:
        raise ValueError(f"family={listed(unknown)}: not among the dims of the verdicts, {dims}")
    return tuple(dict.fromkeys((*names, *pairs))) if set(names) & set(pairs) else names


def _adjust(tests: Variables, family: tuple[str, ...], rules: Rules, pairs: tuple[str, ...]) -> Variables:
    """Correct the p-values over the dims of a family, in which a pair of labels and its reverse are not both."""
    pvalues = [tests[name] for name in Tests._fields]
    if not pairs or pairs[0] not in family:
        return _adjust_family(pvalues, family, rules)
    size = pvalues[0].sizes[pairs[0]]
    later = xr.Variable(pairs, np.tri(size, k=-1, dtype=bool))
    forth, back = (_adjust_family([pvalue.where(mask) for pvalue in pvalues], family, rules) for mask in (later, ~later))
    return {name: forth[name].where(later, back[name]) for name in forth}


def _adjust_family(pvalues: list[xr.Variable], family: tuple[str, ...], rules: Rules) -> Variables:
    """Correct the p-values over all dims of a family."""
    return compute(
        partial(adjust_tests, axes=len(family), rules=rules),
        *(pvalue.chunk(dict.fromkeys(family, -1)) if is_chunked(pvalue) else pvalue for pvalue in pvalues),
        core=[family] * len(pvalues),
        outputs={name: Output(family) for name in Adjusted._fields},
        sizes={name: pvalues[0].sizes[name] for name in family},
    )


@check(DECIDING)
def deciding_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the verdicts that their interval does not show."""
    text = f"{{cells}}, marked {BY_PVALUE}, have a verdict that the interval does not show: {WIDER[result.attrs['correction']]}"
    note = count_note("by_pvalue", text, ~result.variables["interval_agrees"].values)
    return (None if note is None else replace(note, aside=True),)


def _outputs(across: str, units: str, statistic: str) -> dict[str, Output]:
    """Return the variables of a comparison, in the order of `numerics.verdicts.Comparison`."""
    smaller, matched = "independent units on the smaller side", "benchmarks measured on both sides"
    level, geometric = "confidence level of the interval", "geometric mean of candidate / baseline"
    pvalues = dict.fromkeys(("pvalue", "pvalue_adjusted", "pvalue_equivalent", "pvalue_equivalent_adjusted", "pvalue_not_slower"), "")
    return (
        ratio_outputs((across,))
        | outputs("1", (across,), **pvalues, interval_level=level)
        | {"verdict": Output((across,), "", object)}
        | {
            "interval_agrees": Output((across,), "", bool, "whether the interval shows the verdict"),
            "not_slower": Output((across,), "", bool),
        }
        | outputs("1", (across,), smallest_change="relative change seen with some 80 % power")
        | outputs(units, (across,), **{f"{side}_{statistic}": "" for side in ("candidate", "baseline")})
        | outputs(suite_estimate=geometric, suite_lower="", suite_upper="", suite_df="", suite_n=smaller, suite_benchmarks=matched)
        | {"suite_kind": Output((), "", object, "kind of confidence set")}
        | outputs(suite_pvalue="")
        | {"suite_verdict": Output((), "", object)}
    )

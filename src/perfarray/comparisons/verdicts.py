"""From evidence to verdicts: which are corrected together, and what follows for each."""

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
import xarray as xr

from perfarray.comparisons.engines import PART, REPLICATE, Measured
from perfarray.comparisons.intervals import ratio_outputs
from perfarray.comparisons.request import Request
from perfarray.conventions import LOWER, METRIC
from perfarray.numerics.verdicts import Adjusted, Evidence, Rules, Suite, Tests, adjust_tests, judge
from perfarray.timings.apply import Output, apply, data_label, is_chunked, outputs
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed


def decide(parts: Sequence[Measured], request: Request, pairs: tuple[str, ...] = (), metrics: bool = False) -> list[xr.Dataset]:
    """Turn evidence into the variables of a comparison: correct p-values over their family, make limits at the levels that follow.

    `pairs` are the two dims along which every label meets every other, if there are. Several parts are `metrics`, and one more dim of the
    verdicts.
    """
    bare = [part.evidence.drop_vars(part.evidence.coords) for part in parts]
    tests = [_tests(own, part.rules) for own, part in zip(bare, parts, strict=True)]
    joined = xr.concat(tests, METRIC) if metrics else tests[0]
    rules, single = parts[0].rules, {request.across} if all(part.single for part in parts) else set()
    family = check_family([dim for dim in joined.dims if dim not in single], request.family, pairs) if rules.correction else ()
    adjusted = _adjust(joined, family, rules, pairs)
    each = [adjusted.isel({METRIC: place}) if metrics else adjusted for place in range(len(parts))]
    results = [_conclude(part, own, its, request.across) for part, own, its in zip(parts, bare, each, strict=True)]
    return [result.assign_attrs(family=" ".join(sorted(family))) for result in results] if rules.correction else results


def _tests(bare: xr.Dataset, rules: Rules) -> xr.Dataset:
    """Return the p-values of the tests, mirrored where higher is better: what is said of the family then holds for every metric."""
    order = Tests._fields if rules.better == LOWER else Tests._fields[::-1]
    return xr.Dataset({name: bare.variables[f"_{own}"] for name, own in zip(Tests._fields, order, strict=True)})


def _conclude(measured: Measured, bare: xr.Dataset, adjusted: xr.Dataset, across: str) -> xr.Dataset:
    """Make limits at the levels of the family, and verdicts."""
    evidence, engine, rules = measured.evidence, measured.engine, measured.rules
    rows = [*(bare[f"_{name}"] for name in Evidence._fields), *(adjusted[name] for name in Adjusted._fields)]
    rows = [row.chunk({across: -1}) if is_chunked(row) else row for row in rows]
    places, suite = len(Evidence._fields), [bare[f"_suite_{name}"] for name in Suite._fields]
    cores = [*[[across]] * places, *[[]] * len(suite), *[[across]] * len(Adjusted._fields)]
    found = apply(
        partial(judge, limits=engine.limits, rules=rules),
        *(*rows[:places], *suite, *rows[places:], *(bare[name] for name in engine.material)),
        core=[*cores, *([across, *dims] for dims in engine.material.values())],
        outputs=_outputs(across, measured.units),
        coords={across: range(bare.sizes[across])},
    )
    variables = {name: found.variables[name] for name in found.data_vars} | {name: evidence.variables[name] for name in measured.beside}
    coords = {data_label(name, variables): coordinate.variable for name, coordinate in evidence.coords.items()}
    coords = {name: coordinate for name, coordinate in coords.items() if not {PART, REPLICATE} & set(coordinate.dims)}
    return xr.Dataset(variables, coords, evidence.attrs)


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


def _adjust(tests: xr.Dataset, family: tuple[str, ...], rules: Rules, pairs: tuple[str, ...]) -> xr.Dataset:
    """Correct the p-values over the dims of a family, in which a pair of labels and its reverse are not both."""
    pvalues = [tests[name] for name in Tests._fields]
    if not pairs or pairs[0] not in family:
        return _adjust_family(pvalues, family, rules)
    later = xr.DataArray(np.tri(tests.sizes[pairs[0]], k=-1, dtype=bool), dims=pairs)
    forth, back = (_adjust_family([part.where(which) for part in pvalues], family, rules) for which in (later, ~later))
    return forth.where(later, back)


def _adjust_family(pvalues: list[xr.DataArray], family: tuple[str, ...], rules: Rules) -> xr.Dataset:
    """Correct the p-values over all dims of a family."""
    pvalues = [part.chunk(dict.fromkeys(family, -1)) if is_chunked(part) else part for part in pvalues]
    return apply(
        partial(adjust_tests, axes=len(family), rules=rules),
        *pvalues,
        core=[family] * len(pvalues),
        outputs={name: Output(family) for name in Adjusted._fields},
        coords={name: range(pvalues[0].sizes[name]) for name in family},
    ).drop_vars(family)


def _outputs(across: str, units: str) -> dict[str, Output]:
    """Return the variables of a comparison, in the order of `numerics.verdicts.Comparison`."""
    smaller, both = "independent units on the smaller side", "benchmarks measured on both sides"
    level, whole = "confidence level of the interval", "geometric mean of candidate / baseline"
    pvalues = dict.fromkeys(("pvalue", "pvalue_adjusted", "pvalue_equivalent", "pvalue_equivalent_adjusted", "pvalue_not_slower"), "")
    return (
        ratio_outputs((across,))
        | outputs("1", (across,), **pvalues, interval_level=level)
        | {"verdict": Output((across,), "", object), "not_slower": Output((across,), "", bool)}
        | outputs("1", (across,), smallest_change="relative change seen with some 80 % power")
        | outputs(units, (across,), candidate_mean="", baseline_mean="")
        | outputs(suite_estimate=whole, suite_lower="", suite_upper="", suite_df="", suite_n=smaller, suite_benchmarks=both)
        | {"suite_kind": Output((), "", object, "kind of confidence set")}
        | outputs(suite_pvalue="")
        | {"suite_verdict": Output((), "", object)}
    )

"""The two engines of a comparison: formulas of unit means, and redrawn timings. Both give evidence; one rule decides (`verdicts`)."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.comparisons.medians import ORDER_STATISTICS
from perfarray.comparisons.noise import noise
from perfarray.comparisons.request import Request
from perfarray.numerics import bootstrap_tests, median_tests, ratio_tests
from perfarray.numerics.levels import of_unit_means, unit_means
from perfarray.numerics.rank_sums import RANK
from perfarray.numerics.suite import movement
from perfarray.numerics.verdicts import Evidence, Known, Limits, Rules, Suite
from perfarray.timings.apply import Kernel, Output, apply, is_chunked, run, together
from perfarray.timings.dependence import dependence
from perfarray.timings.pairs import FAR, Pair, at_worst, unknown_at_best
from perfarray.timings.resampling import check_resampling
from perfarray.timings.resolve import Timings
from perfarray.timings.streams import cell_keys

UNITS_DIM, PART, REPLICATE, SIDE = "_unit", "_part", "_replicate", "_side"
"""Dims that no result has."""

MOVES = {
    "suite_correlation": Output((), "1", long_name="mean correlation between benchmarks of their units"),
    "suite_correlation_pvalue": Output((), "1", long_name="p-value of units of benchmarks that move together"),
}
"""How the unit means of different benchmarks, of pairs their ratios, move together, and the p-value of that."""


class Engine(NamedTuple):
    """A formula that gives evidence, what it takes between the timings and their bounds, and what it leaves for the verdicts.

    `material` are the variables that limits are made from, with the dims of their own, whose labels are in `coords`.
    """

    evidence: Callable[..., Sequence[Any]]
    limits: Limits
    material: dict[str, tuple[str, ...]]
    coords: dict[str, range]
    attrs: dict[str, Hashable]
    inputs: tuple[xr.DataArray, ...] = ()
    core: tuple[list[str], ...] = ()


class Measured(NamedTuple):
    """Evidence along the dim of the suite, what is in it for the reader as it is, and how many units the suite leaves out (0 if lazy).

    `single`: whether the dim of the suite is not one of the data, which are of one benchmark.
    """

    evidence: dict[Hashable, xr.Variable]
    labels: xr.Coordinates
    checks: tuple[str, ...]
    engine: Engine
    rules: Rules
    units: str
    incomplete: int
    single: bool


def measure(pair: Pair, request: Request, depth: int) -> Measured:
    """Let the engine of the method give evidence; beside it, whether the benchmarks move together and where the error comes from.

    `place` is that of the runs in the nest whose medians are compared.
    """
    across, levels, data = request.across, pair.candidate.levels, pair.candidate.array
    paired, all_values = request.paired is not None, request.draws or request.medians
    rules = Rules(
        method=request.method,
        df=request.df,
        threshold=request.threshold,
        confidence_level=request.confidence_level,
        correction=request.correction,
        better=pair.candidate.better,
        paired=paired,
        shared=pair.jointly,
        band=request.band,
        equivalence_risk=request.equivalence_risk,
    )
    sides, bounds = (_along(across, *each) for each in ((data, pair.baseline.array), pair.bounds if pair.bounded else ()))
    incomplete = 0
    if any(is_chunked(side) for side in (*sides, *bounds)):
        sides, levels = (sides, levels) if all_values else ([_means(side, levels) for side in sides], (UNITS_DIM,))
        sides, bounds = ([side.chunk({across: -1}) for side in each] for each in (sides, bounds))
    elif paired or pair.jointly:
        incomplete = sum(_incomplete(side, across) for side in (pair.candidate, pair.baseline))
    if request.draws:
        engine = _redrawing(pair, request, rules, depth)
    else:
        engine = _order_statistics(pair, request, rules, depth) if request.medians else _formulas(rules)
    noisy, check_outputs = noise(1, not (paired or pair.bounded or request.medians), (across,))
    ordered, also = dependence(1, paired=paired, dims=(across,))
    check_outputs = check_outputs | also
    checks = together(partial(movement, paired=paired), noisy, lambda new, old, *_: ordered(new, old))
    kernel = together(engine.evidence, of_unit_means(checks, len(levels)))
    if not all_values:
        kernel = of_unit_means(together(engine.evidence, checks), len(levels))
    evidence, labels = run(
        kernel,
        *sides,
        *engine.inputs,
        *bounds,
        core=[[across, *levels]] * 2 + [*engine.core] + [[across]] * len(bounds),
        outputs=_outputs(across, engine.material) | MOVES | check_outputs,
        coords=engine.coords,
    )
    return Measured(
        evidence=evidence,
        labels=labels,
        checks=(*MOVES, *check_outputs),
        engine=engine,
        rules=rules,
        units=pair.candidate.units,
        incomplete=incomplete,
        single=across not in data.dims,
    )


def _along(across: str, *arrays: xr.DataArray) -> list[xr.DataArray]:
    """Return arrays with the dim of the suite; a single benchmark is given it."""
    return [array if across in array.dims else array.expand_dims({across: 1}).assign_coords({across: [0]}) for array in arrays]


def _means(side: xr.DataArray, nest: tuple[str, ...]) -> xr.DataArray:
    """Average the lower levels of lazy timings chunk by chunk, so that not all benchmarks' are in memory at once."""
    return apply(
        lambda values: (unit_means(values, len(nest)),),
        side,
        core=[nest],
        outputs={"_mean": Output((UNITS_DIM,))},
        coords={UNITS_DIM: range(side.sizes[nest[0]])},
    )["_mean"].chunk({UNITS_DIM: -1})


def _formulas(rules: Rules) -> Engine:
    """Compare by formulas of unit means."""
    limits = partial(ratio_tests.limits_of_units, rules=rules)
    coords = {PART: range(ratio_tests.MATERIAL)}
    return Engine(partial(ratio_tests.evidence_of_units, rules=rules), limits, {"_limits": (PART,)}, coords, {"df": rules.df})


def _order_statistics(pair: Pair, request: Request, rules: Rules, depth: int) -> Engine:
    """Compare medians by the order of runs: where some were stopped, by the same with those at their best and at their worst."""
    across, nest, sides = request.across, pair.candidate.levels, (pair.candidate, pair.baseline)
    ends = [end(side).array for end in (unknown_at_best, at_worst) for side in sides] if pair.bounded else []
    unlimited = [side.bounds.at_least & side.bounds.at_most for side in sides] if pair.bounded else []
    inputs = [side.chunk({across: -1}) if is_chunked(side) else side for side in _along(across, *ends, *unlimited)]
    most = max(prod(side.array.sizes[level] for level in nest[: depth + 1]) for side in sides)
    return Engine(
        _of_runs(partial(median_tests.evidence_of_medians, rules=rules, levels=depth + 1, far=FAR), nest, depth, 2 + len(ends)),
        partial(median_tests.limits_of_medians, far=FAR, ranked=request.method == RANK),
        {"_limits": (SIDE, PART)},
        {SIDE: range(4 if ends else 2), PART: range(median_tests.NUMBERS + 2 * most)},
        {"value": nest[depth]},
        tuple(inputs),
        (*([across, *nest] for _ in ends), *([across] for _ in unlimited)),
    )


def _of_runs(kernel: Kernel, nest: tuple[str, ...], depth: int, number: int = 2) -> Kernel:
    """Return a formula of the runs of so many sides, and whatever follows them, as one of their values (..., n_L, ..., n_1)."""
    return lambda *values: kernel(*(unit_means(side, len(nest) - depth) for side in values[:number]), *values[number:])


def _redrawing(pair: Pair, request: Request, rules: Rules, depth: int) -> Engine:
    """Compare by the bootstrap, which needs all timings and not unit means alone; of medians, the runs."""
    across, nest = request.across, pair.candidate.levels
    if request.medians and (rules.shared or rules.paired) and pair.candidate.array.sizes.get(across, 1) > 1:
        raise ValueError(
            f"method={request.method!r} draws each benchmark alone where medians are compared, and these have common units (shared= or "
            f"paired=); choose method='{ORDER_STATISTICS}', or statistic='mean'"
        )
    runs = pair.candidate._replace(levels=nest[: depth + 1]) if request.medians else pair.candidate
    plan = check_resampling(runs, request.resample, request.n_resamples, request.rng, joint=rules.shared or rules.paired)
    arrays = [side.array for side in (pair.candidate, pair.baseline)]
    cells, groups = (cell_keys(arrays, nest, excluded) for excluded in (None, across))
    cells = cells if across in cells.dims else cells.expand_dims({across: 1})
    joint = next((number for number, name in enumerate(nest) if name not in pair.shared), len(nest))
    evidence = partial(bootstrap_tests.evidence_of_draws, rules=rules, draws=plan.draws, joint=joint, flat=plan.flat)
    return Engine(
        _of_runs(partial(evidence, statistic=request.statistic), nest, depth) if request.medians else evidence,
        partial(bootstrap_tests.limits_of_draws, rules=rules),
        {"_replicates": (REPLICATE,), "_limits": (PART,)},
        {REPLICATE: range(plan.draws.n_resamples), PART: range(bootstrap_tests.MATERIAL)},
        plan.attrs | ({"value": nest[depth]} if request.medians else {}),
        (cells.chunk({across: -1}) if is_chunked(cells) else cells, groups),
        ([across], []),
    )


def _outputs(across: str, material: dict[str, tuple[str, ...]]) -> dict[str, Output]:
    """Return the variables of evidence, which no descriptor is named like: `Evidence`, `Suite`, and what limits are made from."""
    rows = {f"_{name}": Output((across,), "", bool if name in Known._fields else float) for name in Evidence._fields}
    suite = {f"_suite_{name}": Output() for name in Suite._fields}
    return rows | suite | {name: Output((across, *dims)) for name, dims in material.items()}


def _incomplete(side: Timings, across: str) -> int:
    """Count the units with some of the benchmarks that were measured at all, but not all of them."""
    if across not in side.array.dims:
        return 0
    values = side.array.variable.transpose(..., across, *side.levels).values
    measured = ~np.isnan(values).all(axis=tuple(range(1 - len(side.levels), 0)))
    benchmarks = measured.any(axis=-1, keepdims=True)
    present, complete = (measured & benchmarks).any(axis=-2), (measured | ~benchmarks).all(axis=-2)
    return int((present & ~complete).sum())

"""The two engines of a comparison: formulas of unit means, and redrawn timings. Both give evidence; one rule decides (`verdicts`)."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.comparisons.noise import noise
from perfarray.comparisons.request import Request
from perfarray.numerics import bootstrap_tests, ratio_tests
from perfarray.numerics.levels import of_unit_means, unit_means
from perfarray.numerics.suite import movement
from perfarray.numerics.verdicts import Evidence, Known, Limits, Rules, Suite
from perfarray.timings.apply import Output, apply, is_chunked, run, together
from perfarray.timings.dependence import dependence
from perfarray.timings.pairs import Pair
from perfarray.timings.resampling import check_resampling
from perfarray.timings.resolve import Timings
from perfarray.timings.streams import cell_keys

UNITS_DIM, PART, REPLICATE = "_unit", "_part", "_replicate"
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
    beside: tuple[str, ...]
    engine: Engine
    rules: Rules
    units: str
    incomplete: int
    single: bool


def measure(pair: Pair, request: Request) -> Measured:
    """Let the engine of the method give evidence; beside it, whether the benchmarks move together and where the error comes from."""
    across, levels, data = request.across, pair.candidate.levels, pair.candidate.array
    paired = request.paired is not None
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
        sides, levels = (sides, levels) if request.draws else ([_means(side, levels) for side in sides], (UNITS_DIM,))
        sides, bounds = ([side.chunk({across: -1}) for side in each] for each in (sides, bounds))
    elif paired or pair.jointly:
        incomplete = sum(_incomplete(side, across) for side in (pair.candidate, pair.baseline))
    engine = _redrawing(pair, request, rules) if request.draws else _formulas(rules)
    noisy, told = noise(1, not (paired or pair.bounded), (across,))
    ordered, also = dependence(1, paired=paired, dims=(across,))
    told = told | also
    beside = together(partial(movement, paired=paired), noisy, lambda new, old, *_: ordered(new, old))
    kernel = together(engine.evidence, of_unit_means(beside, len(levels)))
    if not request.draws:
        kernel = of_unit_means(together(engine.evidence, beside), len(levels))
    evidence, labels = run(
        kernel,
        *sides,
        *engine.inputs,
        *bounds,
        core=[[across, *levels]] * 2 + [*engine.core] + [[across]] * len(bounds),
        outputs=_outputs(across, engine.material) | MOVES | told,
        coords=engine.coords,
    )
    return Measured(
        evidence=evidence,
        labels=labels,
        beside=(*MOVES, *told),
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


def _redrawing(pair: Pair, request: Request, rules: Rules) -> Engine:
    """Compare by the bootstrap, which needs all timings and not unit means alone."""
    across, nest = request.across, pair.candidate.levels
    plan = check_resampling(pair.candidate, request.resample, request.n_resamples, request.rng, joint=rules.shared or rules.paired)
    own = [side.array for side in (pair.candidate, pair.baseline)]
    cells, groups = (cell_keys(own, nest, apart) for apart in (None, across))
    cells = cells if across in cells.dims else cells.expand_dims({across: 1})
    joint = next((number for number, name in enumerate(nest) if name not in pair.shared), len(nest))
    return Engine(
        partial(bootstrap_tests.evidence_of_draws, rules=rules, draws=plan.draws, joint=joint, flat=plan.flat),
        partial(bootstrap_tests.limits_of_draws, rules=rules),
        {"_replicates": (REPLICATE,), "_limits": (PART,)},
        {REPLICATE: range(plan.draws.n_resamples), PART: range(bootstrap_tests.MATERIAL)},
        plan.attrs,
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
    wanted = measured.any(axis=-1, keepdims=True)
    some, every = (measured & wanted).any(axis=-2), (measured | ~wanted).all(axis=-2)
    return int((some & ~every).sum())

"""The two engines of a comparison: formulas of unit means, and redrawn timings. Both give evidence; one rule decides (`verdicts`)."""

from functools import partial
from typing import NamedTuple

import xarray as xr

from perfarray.comparisons.noise import noise
from perfarray.comparisons.request import Request
from perfarray.numerics import bootstrap_tests, ratio_tests
from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import common_movement
from perfarray.numerics.verdicts import Evidence, Known, Limits, Rules, Suite
from perfarray.timings.across import check_across
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.pairs import Pair
from perfarray.timings.resampling import check_resampling
from perfarray.timings.resolve import Timings
from perfarray.timings.streams import cell_keys

UNITS_DIM, PART, REPLICATE = "_unit", "_part", "_replicate"
"""Dims that no result has."""

CORRELATION = ("suite_correlation", "suite_correlation_pvalue")


class Engine(NamedTuple):
    """What an engine leaves for the verdicts: how limits are made, and the variables they are made from, with their own dims."""

    limits: Limits
    material: dict[str, tuple[str, ...]]


class Measured(NamedTuple):
    """Evidence along the dim of the suite, what is in it for the reader as it is, and how many units the suite leaves out (0 if lazy).

    `single`: whether the dim of the suite is not one of the data, which are of one benchmark.
    """

    evidence: xr.Dataset
    beside: tuple[str, ...]
    engine: Engine
    rules: Rules
    units: str
    incomplete: int
    single: bool


def measure(pair: Pair, request: Request) -> Measured:
    """Let the engine of the method give evidence; beside it, whether the benchmarks move together."""
    check_across(request.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    joint = pair.jointly or request.paired is not None
    means = [_means(side, request.across) for side in (pair.candidate, pair.baseline)]
    counted = joint and not any(is_chunked(side) for side in means)
    incomplete = sum(_incomplete(side, request.across) for side in means) if counted else 0
    rules = Rules(
        method=request.method,
        df=request.df,
        threshold=request.threshold,
        confidence_level=request.confidence_level,
        correction=request.correction,
        better=pair.candidate.better,
        paired=request.paired is not None,
        shared=pair.jointly,
        band=request.band,
    )
    bounds = _bounds(pair, request.across)
    draws = request.draws
    evidence, engine = _by_redrawing(pair, request, rules, bounds) if draws else _by_means(means, request.across, rules, bounds)
    single = request.across not in pair.candidate.array.dims
    beside = _movement(means, request.across, rules.paired) | noise(means, (UNITS_DIM,), not (rules.paired or pair.bounded))
    return Measured(evidence.assign(beside), tuple(beside), engine, rules, pair.candidate.units, incomplete, single)


def _means(side: Timings, across: str) -> xr.DataArray:
    """Average the lower levels: one value per outermost unit, on a dim of its own, along the benchmarks."""
    nest = side.levels
    found = apply(
        lambda values: (unit_means(values, len(nest)),),
        side.array,
        core=[nest],
        outputs={"_mean": Output((UNITS_DIM,))},
        coords={UNITS_DIM: side.array[nest[0]].values},
    )["_mean"].drop_vars(UNITS_DIM)
    if across not in found.dims:
        found = _with_dim(found, across)
    return found.chunk({across: -1, UNITS_DIM: -1}) if is_chunked(found) else found


def _with_dim(array: xr.DataArray, across: str) -> xr.DataArray:
    """Give a single benchmark the dim of the suite."""
    return array.expand_dims({across: 1}).assign_coords({across: [0]})


def _bounds(pair: Pair, across: str) -> list[xr.DataArray]:
    """Return what stopped runs leave known of the ratios along the benchmarks; nothing where none were stopped."""
    if not pair.bounded:
        return []
    sides = [side if across in side.dims else _with_dim(side, across) for side in pair.bounds]
    return [side.chunk({across: -1}) if is_chunked(side) else side for side in sides]


def _movement(means: list[xr.DataArray], across: str, paired: bool) -> dict[str, xr.Variable]:
    """Return how the unit means of different benchmarks, of pairs their ratios, move together, and the p-value of that."""
    means = [means[0] / means[1]] if paired else means
    names = ("mean correlation between benchmarks of their units", "p-value of units of benchmarks that move together")
    outputs = {name: Output((), "1", long_name=text) for name, text in zip(CORRELATION, names, strict=True)}
    found = apply(common_movement, *means, core=[[across, UNITS_DIM]] * len(means), outputs=outputs)
    return {name: found[name].variable for name in CORRELATION}


def _by_means(means: list[xr.DataArray], across: str, rules: Rules, bounds: list[xr.DataArray]) -> tuple[xr.Dataset, Engine]:
    """Compare by formulas of unit means."""
    engine = Engine(partial(ratio_tests.limits_of_units, rules=rules), {"_limits": (PART,)})
    return apply(
        partial(ratio_tests.evidence_of_units, rules=rules),
        *means,
        *bounds,
        core=[[across, UNITS_DIM], [across, UNITS_DIM], *([across] for _ in bounds)],
        outputs=_outputs(across, engine),
        coords={across: means[0][across].values.tolist(), PART: range(ratio_tests.MATERIAL)},
        attrs={"df": rules.df},
    ), engine


def _by_redrawing(pair: Pair, request: Request, rules: Rules, bounds: list[xr.DataArray]) -> tuple[xr.Dataset, Engine]:
    """Compare by the bootstrap, which needs all timings and not unit means alone."""
    across, nest = request.across, pair.candidate.levels
    sides = [side.array if across in side.array.dims else _with_dim(side.array, across) for side in (pair.candidate, pair.baseline)]
    if any(is_chunked(side) for side in sides):
        sides = [side.chunk({across: -1}) for side in sides]
    plan = check_resampling(pair.candidate, request.resample, request.n_resamples, request.rng, joint=rules.shared or rules.paired)
    own = [side.array for side in (pair.candidate, pair.baseline)]
    cells, groups = (cell_keys(own, nest, apart) for apart in (None, across))
    cells = cells if across in cells.dims else _with_dim(cells, across)
    cells = cells.chunk({across: -1}) if is_chunked(cells) else cells
    joint = next((number for number, name in enumerate(nest) if name not in pair.shared), len(nest))
    engine = Engine(partial(bootstrap_tests.limits_of_draws, rules=rules), {"_replicates": (REPLICATE,), "_limits": (PART,)})
    return apply(
        partial(bootstrap_tests.evidence_of_draws, rules=rules, draws=plan.draws, joint=joint, flat=plan.flat),
        *sides,
        cells,
        groups,
        *bounds,
        core=[[across, *nest], [across, *nest], [across], [], *([across] for _ in bounds)],
        outputs=_outputs(across, engine),
        coords={
            across: sides[0][across].values.tolist(),
            REPLICATE: range(plan.draws.n_resamples),
            PART: range(bootstrap_tests.MATERIAL),
        },
        attrs=plan.attrs,
    ), engine


def _outputs(across: str, engine: Engine) -> dict[str, Output]:
    """Return the variables of evidence, which no descriptor is named like: `Evidence`, `Suite`, and what limits are made from."""
    rows = {f"_{name}": Output((across,), "", bool if name in Known._fields else float) for name in Evidence._fields}
    suite = {f"_suite_{name}": Output() for name in Suite._fields}
    return rows | suite | {name: Output((across, *dims)) for name, dims in engine.material.items()}


def _incomplete(means: xr.DataArray, across: str) -> int:
    """Count the units with some of the benchmarks that were measured at all, but not all of them."""
    measured = means.notnull()
    wanted = measured.any(UNITS_DIM)
    some, every = (measured & wanted).any(across), (measured | ~wanted).all(across)
    return int((some & ~every).sum())

"""The two engines of a comparison: formulas of unit means, and redrawn timings. Both give evidence; one rule decides."""

from functools import partial
from typing import NamedTuple

import xarray as xr

from perfarray.comparisons.intervals import ratio_outputs
from perfarray.comparisons.request import Request
from perfarray.numerics.bootstrap_tests import compare_draws
from perfarray.numerics.levels import unit_means
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.verdicts import Rules
from perfarray.timings.across import check_across
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.pairs import Pair
from perfarray.timings.resampling import check_resampling
from perfarray.timings.resolve import Timings
from perfarray.timings.streams import cell_keys

UNITS_DIM = "_unit"


class Computed(NamedTuple):
    """Verdicts along the dim of the suite, and how many shared units the suite leaves out for want of some benchmark (0 of lazy ones)."""

    result: xr.Dataset
    incomplete: int


def compute(pair: Pair, request: Request) -> Computed:
    """Let the engine of the method give evidence, and decide."""
    check_across(request.across, pair.candidate.array, pair.candidate.levels, pair.dim)
    wanted = not request.draws or pair.jointly  # replicates need all timings; units are counted where benchmarks share them
    means = [_means(side, request.across) for side in (pair.candidate, pair.baseline)] if wanted else []
    counted = pair.jointly and not any(is_chunked(side) for side in means)
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
    known = _known(pair, request.across)
    result = _by_redrawing(pair, request, rules, known) if request.draws else _by_means(means, request.across, rules, known)
    return Computed(result, incomplete)


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


def _known(pair: Pair, across: str) -> list[xr.DataArray]:
    """Return what stopped runs leave known of the ratios along the benchmarks; nothing where none were stopped."""
    if not pair.bounded:
        return []
    sides = [side if across in side.dims else _with_dim(side, across) for side in pair.bounds]
    return [side.chunk({across: -1}) if is_chunked(side) else side for side in sides]


def _by_means(means: list[xr.DataArray], across: str, rules: Rules, known: list[xr.DataArray]) -> xr.Dataset:
    """Compare by formulas of unit means."""
    return apply(
        partial(compare_units, rules=rules),
        *means,
        *known,
        core=[[across, UNITS_DIM], [across, UNITS_DIM], *([across] for _ in known)],
        outputs=_outputs(across),
        coords={across: means[0][across].values.tolist()},
        attrs={"df": rules.df},
    )


def _by_redrawing(pair: Pair, request: Request, rules: Rules, known: list[xr.DataArray]) -> xr.Dataset:
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
    return apply(
        partial(compare_draws, rules=rules, draws=plan.draws, joint=joint, flat=plan.flat),
        *sides,
        cells,
        groups,
        *known,
        core=[[across, *nest], [across, *nest], [across], [], *([across] for _ in known)],
        outputs=_outputs(across),
        coords={across: sides[0][across].values.tolist()},
        attrs=plan.attrs,
    )


def _outputs(across: str) -> dict[str, Output]:
    """Return the variables of a comparison, in the order of `numerics.verdicts.Comparison`."""
    smaller, both = "independent units on the smaller side", "benchmarks measured on both sides"
    level, whole = "confidence level of the interval", "geometric mean of candidate / baseline"
    return (
        ratio_outputs((across,))
        | outputs("1", (across,), pvalue="", pvalue_adjusted="", pvalue_equivalent="", interval_level=level)
        | {"verdict": Output((across,), "", object)}
        | outputs(suite_estimate=whole, suite_lower="", suite_upper="", suite_df="", suite_n=smaller, suite_benchmarks=both)
        | {"suite_verdict": Output((), "", object)}
    )


def _incomplete(means: xr.DataArray, across: str) -> int:
    """Count the units with some of the benchmarks that were measured at all, but not all of them."""
    measured = means.notnull()
    wanted = measured.any(UNITS_DIM)
    some, every = (measured & wanted).any(across), (measured | ~wanted).all(across)
    return int((some & ~every).sum())

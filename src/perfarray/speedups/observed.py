"""Observed speedups of benchmarks and of suites: Touati, Worms and Briais (2010), section 3."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, CENSORED, LOWER, plural
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.median_tests import compare_medians
from perfarray.numerics.medians import units_with_limits
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import RatioComparison, Rules
from perfarray.speedups.numerics.tests import overall
from perfarray.timings.across import check_across, for_each_suite
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.best import BEST, resolve_best, slow_end_note
from perfarray.timings.censored import Bounds, bound_interval, ratio_bounds
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import Pair, resolve_pair, with_worst_case, without_zeros_of_both
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.units import more_units, one_sided_note, unit_depth
from perfarray.timings.validation import check_choice, check_confidence_level
from perfarray.timings.weights import Weights, as_weights, check_weights
from perfarray.timings.zeros import Positive, cell_names

STATISTICS = ("mean", "median", "min", BEST)
WEIGHT: Final = "weight"  # the coordinate with the weight of each benchmark

# Methods of comparison that give limits
METHODS: Final[Mapping[str, tuple[str, Callable[..., RatioComparison]]]] = {
    "mean": ("fieller", compare_units),
    "median": ("order_statistics", compare_medians),
}

BOUND: Final = (
    "A speedup that depends on the stopped runs is a bound, or NaN. A slower candidate has at "
    "most this speedup"
)


@for_each_metric
def speedup(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    confidence_level: float | None = None,
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return the observed speedup: how many times as fast as the baseline each candidate was.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the dim that holds it), or other timings, matched by label.
    statistic : {"mean", "median", "min", "best"}
        Of one benchmark's values; `best` is the minimum of times and the maximum of rates.
    confidence_level : float, optional
        Add limits of the mean's or median's speedup.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    unit : str, optional
        The level whose repetitions are the values.

    Returns
    -------
    Dataset
        `estimate` = baseline / candidate (candidate / baseline where higher is better) and `n`
        (values on the smaller side), of unit 1. With a confidence level also `lower`, `upper` and
        `kind`, as in `ratio_interval`.

    Raises
    ------
    ValueError
        Unknown names; units that differ; limits of a minimum.

    Notes
    -----
    `speedup_test` says whether a speedup is significant. The minimum depends on the number of runs
    (appendix A).

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, section 3.1.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [6.0, 8.0, 10.0], "new": [2.0, 4.0, 6.0]})
    >>> times.perf.speedup("old")["estimate"].item()
    2.0
    """
    check_choice(statistic, "statistic", STATISTICS)
    level = None if confidence_level is None else check_confidence_level(confidence_level)
    if level is not None and statistic not in METHODS:
        raise ValueError(
            f"statistic={statistic!r} has no limits: a minimum depends on the number of runs; "
            "choose 'mean' or 'median'"
        )
    pair = resolve_pair(
        times, baseline, dim=dim, metric=metric, levels=levels, unit=unit, censored="bound"
    )
    depth = unit_depth(pair.candidate, unit)
    pair = without_zeros_of_both(
        pair, Positive("a speedup", resolve_best(statistic, pair.candidate.better), depth)
    )
    result = _summaries(pair, statistic, unit)
    sides = (result["baseline"], result["candidate"])
    numerator, denominator = sides if pair.candidate.better == LOWER else sides[::-1]
    estimate = (numerator / denominator).assign_attrs(
        units="1", long_name="times as fast as the baseline"
    )
    attrs = {**result.attrs, "result": "speedup"}
    observed = xr.Dataset({"estimate": estimate, "n": result["n"]}, attrs=attrs)
    if pair.bounded:
        bounds = _open(result, pair, statistic, unit)
        observed = bound_interval(observed, bounds).assign(bound=bounds.words)
    remarks = [
        *pair.notes,
        slow_end_note([statistic], pair.candidate.better),
        pair.stopped_note(BOUND),
    ]
    if level is None:
        return with_notes(observed, *remarks, checks=("one_side",))
    limits = _limits(pair, depth, statistic, level)
    observed = observed.assign(
        {name: limits[name] for name in ("lower", "upper", "kind")}
    ).assign_attrs(confidence_level=level)
    return with_notes(observed, *remarks, checks=("one_side", "speedup_limits"))


def _limits(pair: Pair, depth: int, statistic: str, level: float) -> xr.Dataset:
    """Return the limits of speedups.

    Where runs were stopped they are open towards what those would have taken.
    """
    nest = pair.candidate.levels
    sides = [pair.baseline, pair.candidate]
    if pair.candidate.better != LOWER:
        sides.reverse()

    def kernel(numerator: Floats, denominator: Floats) -> Sequence[Any]:
        values = [one_value_per_unit(side, len(nest), depth) for side in (numerator, denominator)]
        name, compare = METHODS[statistic]
        estimate, lower, upper, *_, kind = compare(
            *values, level, rules=Rules(name, level), levels=1
        ).interval
        return estimate, lower, upper, kind

    variables = outputs(estimate="", lower="", upper="") | {
        "kind": Output((), "", object, "kind of confidence set")
    }
    arrays = [side.array for side in sides]
    limits = apply(kernel, *arrays, core=[nest, nest], outputs=variables)
    if not pair.bounded:
        return limits
    return bound_interval(limits, ratio_bounds(*(side.bounds for side in sides)))


@check("speedup_limits")
def speedup_limits_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without limits, or with one alone."""
    n, lower, upper = (
        result[name].transpose(*result["n"].dims).values for name in ("n", "lower", "upper")
    )
    level, unit = 100 * float(result.attrs["confidence_level"]), str(result.attrs["unit"])
    single_unit_text = (
        f"{{cells}} rest on one {unit}: their limits are NaN, since one shows no spread. "
        f"{more_units(result.attrs)}"
    )
    median = result.attrs["statistic"] == "median"
    needed = (
        f"{units_with_limits(level / 100)} {plural(unit)} a side have them"
        if median
        else f"Measure more {plural(unit)}"
    )
    open_ended = f"{{cells}} have a limit at {level:.4g} % that is 0 or infinite. {needed}."
    ends = (n > 1) & (result.attrs.get(CENSORED) != "bound") & (np.isinf(upper) | (lower <= 0))
    return count_note("single_unit", single_unit_text, n == 1), count_note(
        "no_limit", open_ended, ends
    )


def _open(cells: xr.Dataset, pair: Pair, statistic: str, unit: str | None) -> Bounds:
    """Return where the speedup depends on what stopped runs would have taken.

    A median or a minimum may not.
    """
    worst = _summaries(
        pair._replace(
            candidate=with_worst_case(pair.candidate), baseline=with_worst_case(pair.baseline)
        ),
        statistic,
        unit,
    )
    unknown = [
        side.bounds.at_least & side.bounds.at_most for side in (pair.candidate, pair.baseline)
    ]
    unbounded = (unknown[0] | unknown[1]).reset_coords(drop=True)
    candidate, baseline = (
        (cells[name] != worst[name]).reset_coords(drop=True) for name in ("candidate", "baseline")
    )
    measured = cells["n"] > 0
    return Bounds(baseline & measured | unbounded, candidate & measured | unbounded)


def _summaries(pair: Pair, statistic: str, unit: str | None) -> xr.Dataset:
    """Return one number per side and cell, and the number of values on the smaller side."""
    nest, depth = pair.candidate.levels, unit_depth(pair.candidate, unit)
    of_runs = resolve_best(statistic, pair.candidate.better)

    def kernel(new: Floats, old: Floats) -> tuple[Floats, ...]:
        sides = [one_value_per_unit(side, len(nest), depth) for side in (old, new)]
        numbers = [(~np.isnan(side)).sum(axis=-1).astype(float) for side in sides]
        return tuple(
            np.broadcast_arrays(
                *(run_statistic(side, of_runs) for side in sides), np.minimum(*numbers)
            )
        )

    return apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        core=[nest, nest],
        outputs=outputs(pair.candidate.units, baseline="", candidate="")
        | outputs(n="values on the smaller side"),
        attrs={**pair.attrs, "unit": nest[depth], "statistic": statistic},
    )


@for_each_suite
@for_each_metric
def overall_speedup(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    weights: str | Weights = "equal",
    across: str = BENCHMARK,
    by: str | None = None,
    significant: xr.DataArray | None = None,
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return the speedup of a suite, and the share of its weighted time saved.

    Parameters
    ----------
    times : DataArray or Dataset
        Times; dims that are not levels broadcast.
    baseline, dim, levels, unit, metric
        As for `speedup`.
    statistic : {"mean", "median", "min", "best"}
        The time of a benchmark.
    weights : {"equal", "fraction", "custom"}, array or mapping
        The same for all; shares of the baseline's time (equation 1); the coordinate `weight`; or
        numbers by label.
    across : str
        The dim summed over.
    by : str, optional
        A coordinate along `across`: one result for each value.
    significant : DataArray of bool, optional
        Which benchmarks count as accelerated. Default: those observed to be faster.

    Returns
    -------
    Dataset
        Of unit 1, over the benchmarks measured on both sides: `speedup`, `gain` (share of the time
        saved), `n`. Over the accelerated ones: `accelerated_speedup`, `accelerated_gain`,
        `n_accelerated`. With stopped runs, `bound`.

    Raises
    ------
    ValueError
        Invalid weights; rates, which do not add up; unknown names.

    Notes
    -----
    Report the latter beside `accelerated_proportion` (section 3.2).

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, equations 1 to 3.

    Examples
    --------
    Example 3.1: 3 s become 1 s, an hour 3428 s.

    >>> import perfarray, xarray
    >>> old = xarray.DataArray([[3.0], [3600.0]], dims=("benchmark", "execution"))
    >>> new = old.copy(data=[[1.0], [3428.0]])
    >>> result = perfarray.overall_speedup(new, old, weights="fraction")
    >>> round(result["gain"].item(), 4)
    0.0478
    """
    check_choice(statistic, "statistic", STATISTICS)
    pair = resolve_pair(
        times, baseline, dim=dim, metric=metric, levels=levels, unit=unit, censored="bound"
    )
    if pair.candidate.better != LOWER:
        raise ValueError(
            "overall_speedup adds up times, and here higher is better: rates do not add up; "
            "give times"
        )
    check_across(across, pair.candidate.array, pair.candidate.levels, pair.dim)
    cells = _summaries(pair, statistic, unit)
    if across not in cells.dims:
        cells = cells.expand_dims(across)
    baseline_times, candidate_times = cells["baseline"], cells["candidate"]
    bounds = _open(cells, pair, statistic, unit) if pair.bounded else None
    if significant is not None:
        accelerated = along_cells(significant, baseline_times, (), "significant").astype(bool)
    else:
        accelerated = baseline_times > candidate_times
        accelerated = accelerated if bounds is None else accelerated & ~bounds.at_most
    scheme = weights if isinstance(weights, str) else "custom"

    def kernel(old: Floats, new: Floats, weight: Floats, accelerated: Mask) -> tuple[Floats, ...]:
        masks = (np.ones(old.shape, dtype=bool), accelerated)
        return tuple(number for mask in masks for number in overall(old, new, weight, mask))

    result = apply(
        kernel,
        baseline_times,
        candidate_times,
        _weights(weights, baseline_times, pair, across),
        accelerated,
        core=[(across,)] * 4,
        outputs=outputs(
            speedup="",
            gain="share of the weighted time saved",
            n="benchmarks measured on both sides",
            accelerated_speedup="",
            accelerated_gain="",
            n_accelerated="benchmarks that count as accelerated",
        ),
        attrs={**cells.attrs, "result": "overall_speedup", "across": across, "weights": scheme},
    )
    if bounds is not None:  # a speedup that is no bound is NaN
        unknown = bounds.over(across)
        one_sided = ~(unknown.at_least & unknown.at_most)
        for name in ("speedup", "gain", "accelerated_speedup", "accelerated_gain"):
            result[name] = result[name].where(one_sided).assign_attrs(result[name].attrs)
        result["bound"] = unknown.words
    one_side = () if is_chunked(cells["n"].variable) else one_side_notes(cells)
    return with_notes(result, *pair.notes, pair.stopped_note(BOUND), *one_side)


def _weights(weights: Any, baseline_times: xr.DataArray, pair: Pair, across: str) -> xr.DataArray:
    """Return a weight per benchmark: numbers whose ratios matter."""
    if isinstance(weights, str):
        check_choice(weights, "weights", ("equal", "fraction", "custom"))
        if weights == "fraction":
            return baseline_times
        if weights == "equal":
            return xr.ones_like(baseline_times[across], dtype=float).reset_coords(drop=True)
        if WEIGHT not in pair.candidate.array.coords:
            raise ValueError(
                f"weights='custom' takes the coordinate {WEIGHT!r}, which the data do not "
                "have; give numbers, or 'equal'"
            )
        weights = pair.candidate.array.coords[WEIGHT]
    return check_weights(
        along_cells(as_weights(weights, baseline_times[across]), baseline_times, (), "weights"),
        across,
    )


def along_cells(
    values: xr.DataArray, array: xr.DataArray, levels: tuple[str, ...], noun: str
) -> xr.DataArray:
    """Return numbers per cell, in the order of the data's labels and without other coordinates."""
    values = values.reset_coords(
        [name for name in values.coords if name not in values.dims], drop=True
    )
    for dim in values.dims:
        check_dim(array, dim, f"dim of {noun}")
        if dim in levels:
            raise ValueError(f"{noun} lies along the level {dim!r}; give one value per cell")
    labels = {
        dim: array[dim].values
        for dim in values.dims
        if dim in array.coords and dim in values.coords
    }
    return values.reindex(labels) if labels else values


@check("one_side")
def one_side_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells that lack a side."""
    if "n_candidate" in result:
        measured = (result["n_candidate"] > 0) | (result["n_baseline"] > 0)
    elif "candidate" in result:
        measured = result["candidate"].notnull() | result["baseline"].notnull()
    else:
        measured = xr.ones_like(result["n"], dtype=bool)
    names, of = cell_names(measured & (result["n"] == 0)), int(measured.sum())
    if not names:
        return ()
    return (one_sided_note(len(names), of, names),)

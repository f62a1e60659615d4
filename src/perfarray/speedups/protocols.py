"""The Speedup-Test of Touati, Worms and Briais: observed speedups, whether they are significant, and those of a whole suite."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, LOWER
from perfarray.numerics.levels import mean_of_measured, one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.speedups.numerics.protocols import STEPS, describe_mean, describe_median
from perfarray.speedups.numerics.tests import YES, conclude, mean_steps, mean_verdict, median, median_steps, median_verdict, overall
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import warn
from perfarray.timings.pairs import Pair, resolve_pair
from perfarray.timings.resolve import Data, cell_names, check_dim
from perfarray.timings.units import unit_place
from perfarray.timings.validation import check_choice, check_confidence_level, listed

STATISTICS = ("mean", "median", "min")
TESTED = ("mean", "median")
LEVEL, WEIGHT = "confidence_level", "weight"
"""Coordinates along the benchmarks that hold a level, or a weight, of their own."""


@over_metrics
def speedup(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return the observed speedup: how many times as fast as the baseline each candidate was.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline : label, DataArray or Dataset
        A label of `dim`, or other timings, matched by label on dims that are not levels.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    statistic : {"mean", "median", "min"}
        What is taken of one benchmark's values.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    unit : str, optional
        The level whose repetitions are the values; lower levels are averaged first. Default: the outermost.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `estimate` = baseline / candidate (candidate / baseline where higher is better), `n` (values on the smaller side).

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or statistics; units that differ.

    Notes
    -----
    An observation, not a result: `speedup_test` says whether it is significant. The minimum depends on the number of runs and is hard to
    reproduce (appendix A). Nothing is left out as an outlier.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, section 3.1.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [6.0, 8.0, 10.0], "new": [2.0, 4.0, 6.0]})
    >>> times.perf.speedup("old")["estimate"].item(), times.perf.speedup("old", statistic="min")["estimate"].item()
    (2.0, 3.0)
    """
    check_choice(statistic, "statistic", STATISTICS)
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    result = _summaries(pair, statistic, unit)
    sides = (result["baseline"], result["candidate"])
    one, two = sides if pair.candidate.better == LOWER else sides[::-1]
    estimate = (one / two).assign_attrs(units="1", long_name="times as fast as the baseline")
    attrs = {**result.attrs, "result": "speedup", "baseline": _name_of(baseline)}
    warn(*pair.notes, *_empty_cells(result))
    return xr.Dataset({"estimate": estimate, "n": result["n"]}, attrs=attrs)


def _summaries(pair: Pair, statistic: str, unit: str | None) -> xr.Dataset:
    """Return one number per side and cell, and the number of values on the smaller side."""
    nest, place = pair.candidate.levels, unit_place(pair.candidate, unit)
    summary = {"mean": mean_of_measured, "median": median, "min": _smallest}[statistic]

    def kernel(new: Floats, old: Floats) -> tuple[Floats, ...]:
        sides = [one_value_per_unit(side, len(nest), place) for side in (old, new)]
        numbers = [(~np.isnan(side)).sum(axis=-1).astype(float) for side in sides]
        return tuple(np.broadcast_arrays(*(summary(side) for side in sides), np.minimum(*numbers)))

    units = pair.candidate.units
    return apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        core=[nest, nest],
        outputs={
            "baseline": Output((), units),
            "candidate": Output((), units),
            "n": Output((), "1", long_name="values on the smaller side"),
        },
        attrs=pair.describe() | {"unit": nest[place], "statistic": statistic},
    )


def _smallest(values: Floats) -> Floats:
    """Return the smallest measured value of the last axis, NaN where there is none."""
    least = np.where(np.isnan(values), np.inf, values).min(axis=-1, initial=np.inf)
    return np.where(np.isnan(values).all(axis=-1), np.nan, least)


@over_metrics
def speedup_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    confidence_level: float | xr.DataArray | None = None,
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether each candidate is faster than the baseline, by the Speedup-Test's protocols.

    Mean: Shapiro-Wilk on each sample; if a small one (30 values or fewer) is not normal, no conclusion. An F test then chooses Student's t
    or Welch's, one-sided. Median: Kolmogorov-Smirnov on the samples less their medians; if they differ and a sample is small, no
    conclusion. Then Mann-Whitney, one-sided, which also speaks of the probability that a run of the candidate is the faster one.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast. A coordinate `confidence_level` gives cells a level of their own, which wins over the
        call's; where it is NaN the call's holds.
    baseline, dim, levels, unit, metric
        As for `speedup`; `unit` names the level whose repetitions count as independent.
    statistic : {"mean", "median"}
        Which speedup is tested.
    confidence_level : float or DataArray, optional
        1 - risk, of every test of the protocol; an array gives cells their own. None, or NaN in an array, searches for the highest level
        above 50 % at which the speedup is significant, as the original tool does.

    Returns
    -------
    Dataset
        `speedup`; `significant` (bool); `confidence_level` (the one given, or found; NaN where the search could not conclude); `pvalue`
        and `test` of the last step ("Student t", "Welch t", "Mann-Whitney", or "cannot conclude" with NaN); `warnings` (the tool's
        sentences, joined by "; ", Sample1 is the baseline; "" where there are none); `prob_faster` = P[X > Y] (statistic="median" only);
        `n_baseline`, `n_candidate`, `n`; `searched` (bool); `protocol`, the way through the protocol as text; and along `step`,
        `step_pvalue` and `step_outcome`.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or statistics; levels outside 0 to 1.

    Notes
    -----
    The chained tests do not keep the risk exactly: docs/how-to/speedup_test.md has the measured one. A level found by the search was chosen
    by looking at the data: without any effect, almost every second benchmark is then called significant at some level above 50 %. Where the
    search ends in a plain no, the level reported is 0.99, as by the tool. With `unit="iteration"` iterations of one execution count as
    independent; where executions differ, that raises false alarms.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, sections 4.1 and 4.2 (figures 1 and 2), 6.2.2.

    Examples
    --------
    Example 1 of the paper: t = 2.8238, p = 0.01118.

    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [2.799, 2.046, 1.259, 1.877, 2.244], "new": [1.046, 0.259, 0.877, 1.244, 1.799]})
    >>> result = times.perf.speedup_test("old", confidence_level=0.95).squeeze()
    >>> result["significant"].item(), result["test"].item(), round(result["pvalue"].item(), 5)
    (True, 'Student t', 0.01118)
    >>> times.perf.speedup_test("old")["confidence_level"].item()
    0.98
    """
    check_choice(statistic, "statistic", TESTED)
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    place = unit_place(pair.candidate, unit)
    kernel = _kernel(pair, statistic, place)
    nest = pair.candidate.levels
    result = apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        _levels_asked(pair, confidence_level),
        core=[nest, nest, ()],
        outputs=_outputs(statistic),
        coords={"step": list(STEPS[statistic])},
        attrs=pair.describe()
        | {"result": "speedup_test", "method": "speedup-test", "statistic": statistic, "unit": nest[place], "baseline": _name_of(baseline)},
    )
    warn(*pair.notes, *_empty_cells(result), *_single_units(result, nest[place]))
    return result


def _kernel(pair: Pair, statistic: str, place: int) -> Any:
    """Return the test of one statistic on arrays."""
    nest = len(pair.candidate.levels)
    sign = 1.0 if pair.candidate.better == LOWER else -1.0

    def kernel(new: Floats, old: Floats, level: Floats) -> tuple[np.ndarray, ...]:
        x, y = (sign * one_value_per_unit(side, nest, place) for side in (old, new))
        if statistic == "mean":
            tested = mean_steps(x, y)
            found = conclude(lambda risk: mean_verdict(tested, risk), np.broadcast_to(1 - level, tested.n.shape))
            told, ratio = describe_mean(tested, found), _ratio(mean_of_measured(x), mean_of_measured(y), sign)
            more: tuple[Floats, ...] = ()
        else:
            shifted = median_steps(x, y)
            found = conclude(lambda risk: median_verdict(shifted, risk), np.broadcast_to(1 - level, shifted.n.shape))
            told, ratio = describe_median(shifted, found), _ratio(median(x), median(y), sign)
            more = (shifted.prob_greater,)
        n, m = ((~np.isnan(side)).sum(axis=-1).astype(float) for side in (x, y))
        n, m = (np.broadcast_to(number, found.risk.shape) for number in (n, m))
        given = np.where(np.isnan(level), np.round(1 - found.risk, 2), level)
        reported = np.where((n > 0) & (m > 0), given, np.nan)
        searched = np.broadcast_to(np.isnan(level), found.risk.shape)
        summary = (ratio, found.verdict == YES, reported, told.pvalue, told.test, told.warnings)
        return *summary, *more, n, m, np.minimum(n, m), searched, told.sentence, told.step_pvalue, told.step_outcome

    return kernel


def _ratio(one: Floats, two: Floats, sign: float) -> Floats:
    """Return the speedup from summaries of both sides: x / y of times, y / x of rates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(one / two if sign > 0 else two / one)


def _outputs(statistic: str) -> dict[str, Output]:
    """Return the variables of the test."""
    probability = {"prob_faster": Output((), "1", long_name="pairs of runs in which the candidate's is the faster one")}
    return {
        "speedup": Output((), "1", long_name=f"speedup of the {statistic}"),
        "significant": Output((), "", bool),
        "confidence_level": Output((), "1"),
        "pvalue": Output((), "1"),
        "test": Output((), "", object),
        "warnings": Output((), "", object),
        **(probability if statistic == "median" else {}),
        "n_baseline": Output((), "1"),
        "n_candidate": Output((), "1"),
        "n": Output((), "1", long_name="independent units on the smaller side"),
        "searched": Output((), "", bool),
        "protocol": Output((), "", object),
        "step_pvalue": Output(("step",), "1"),
        "step_outcome": Output(("step",), "", object),
    }


def _levels_asked(pair: Pair, given: float | xr.DataArray | None) -> xr.DataArray:
    """Return the level of every cell, NaN where it is searched for: its own, else the call's."""
    array = pair.candidate.array
    call = np.nan if given is None or isinstance(given, xr.DataArray) else check_confidence_level(given)
    own = given if isinstance(given, xr.DataArray) else array.coords.get(LEVEL)
    if own is None:
        return xr.DataArray(call)
    own = _along_cells(own, array, pair.candidate.levels, "confidence_level").astype(float)
    wrong = own.values[~np.isnan(own.values) & ~((own.values > 0) & (own.values < 1))]
    if wrong.size:
        raise ValueError(f"confidence_level holds {listed(wrong, 3)}; give numbers between 0 and 1, or NaN to search for a level")
    return own.where(own.notnull(), call)


def _along_cells(values: xr.DataArray, array: xr.DataArray, levels: tuple[str, ...], what: str) -> xr.DataArray:
    """Return numbers per cell, in the order of the data's labels and without other coordinates."""
    values = values.reset_coords([name for name in values.coords if name not in values.dims], drop=True)
    for dim in values.dims:
        check_dim(array, dim, f"dim of {what}")
        if dim in levels:
            raise ValueError(f"{what} lies along the level {dim!r}; give one value per cell")
    labels = {dim: array[dim].values for dim in values.dims if dim in array.coords and dim in values.coords}
    return values.reindex(labels) if labels else values


def _name_of(baseline: object) -> str:
    """Return what a result calls its baseline."""
    if isinstance(baseline, xr.DataArray | xr.Dataset):
        return str(getattr(baseline, "name", None) or "baseline")
    return str(baseline)


def _empty_cells(result: xr.Dataset) -> list[str]:
    """Say which cells lack a side; a lazy result is not looked at."""
    if is_chunked(result.variables["n"]):
        return []
    empty = result["n"] == 0
    if not empty.any():
        return []
    count = f"{int(empty.sum())} of {empty.size} cells"
    return [f"{count} have no measured value on one side; their answers are NaN: {listed(cell_names(empty), 5)}"]


def _single_units(result: xr.Dataset, unit: str) -> list[str]:
    """Say how many cells rest on one unit; a lazy result is not looked at."""
    if is_chunked(result.variables["n"]):
        return []
    single = int((result["n"] == 1).sum())
    remedy = f'measure more of them; merge_level("{unit}") or unit= take the repetitions inside it as independent, if they are'
    return [f"{single} of {result['n'].size} cells rest on one {unit}, which shows no spread: {remedy}"] if single else []


@over_metrics
def overall_speedup(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    statistic: str = "mean",
    weights: str | xr.DataArray | Sequence[float] | Mapping[Any, float] = "equal",
    across: str = BENCHMARK,
    significant: xr.DataArray | None = None,
    levels: str | tuple[str, ...] | None = None,
    unit: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return the speedup and the gain of a whole suite: weighted sums of times, before and after.

    Parameters
    ----------
    times : DataArray or Dataset
        Times of several benchmarks; dims that are not levels broadcast.
    baseline, dim, levels, unit, metric
        As for `speedup`.
    statistic : {"mean", "median", "min"}
        The time of a benchmark.
    weights : {"equal", "fraction", "custom"}, array or mapping
        The same for all; the benchmark's share of the baseline's total time (equation 1); the coordinate `weight` of the data; or numbers
        that are not negative: a DataArray or a mapping by label of `across`, or a sequence in their order. Only their ratios matter.
    across : str
        The dim summed over.
    significant : DataArray of bool, optional
        Which benchmarks count as accelerated (`speedup_test(...)["significant"]`); default: those observed to be faster.

    Returns
    -------
    Dataset
        Over all benchmarks measured on both sides: `speedup`, `gain` (share of the weighted time that is saved, negative for a loss), `n`.
        Over the accelerated ones only: `accelerated_speedup`, `accelerated_gain`, `n_accelerated` (section 3.2: report those only beside
        `accelerated_proportion`).

    Raises
    ------
    ValueError
        Weights that are negative, missing or all zero; data where higher is better (rates do not add up); unknown names.

    References
    ----------
    S. Touati, J. Worms, S. Briais, "The Speedup Test", 2010, equations 1 to 3.

    Examples
    --------
    Example 3.1 of the paper: 3 s become 1 s, an hour becomes 3428 s.

    >>> import perfarray, xarray
    >>> old = xarray.DataArray([[3.0], [3600.0]], dims=("benchmark", "execution"), coords={"benchmark": ["P1", "P2"]})
    >>> new = old.copy(data=[[1.0], [3428.0]])
    >>> result = perfarray.overall_speedup(new, old, weights="fraction")
    >>> round(result["gain"].item(), 4), round(result["speedup"].item(), 2)
    (0.0478, 1.05)
    """
    check_choice(statistic, "statistic", STATISTICS)
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    if pair.candidate.better != LOWER:
        raise ValueError("overall_speedup adds up times, and here higher is better: rates do not add up; give times")
    if across == pair.dim or across in pair.candidate.levels:
        raise ValueError(f"across={across!r} is compared or a level of the nest; name the dim whose times are added up")
    cells = _summaries(pair, statistic, unit)
    if across not in cells.dims:
        cells = cells.expand_dims(across)
    before, after = cells["baseline"], cells["candidate"]
    chosen = before > after if significant is None else _along_cells(significant, before, (), "significant").astype(bool)
    attrs = {str(key): value for key, value in cells.attrs.items()}
    attrs |= {"result": "overall_speedup", "baseline": _name_of(baseline), "across": across}
    attrs["weights"] = weights if isinstance(weights, str) else "custom"

    def kernel(old: Floats, new: Floats, weight: Floats, counted: np.ndarray) -> tuple[Floats, ...]:
        return *overall(old, new, weight, np.ones(old.shape, dtype=bool)), *overall(old, new, weight, counted)

    result = apply(
        kernel,
        before,
        after,
        _weights(weights, before, pair, across),
        chosen,
        core=[(across,)] * 4,
        outputs={
            "speedup": Output((), "1"), "gain": Output((), "1", long_name="share of the weighted time saved"),
            "n": Output((), "1", long_name="benchmarks measured on both sides"), "accelerated_speedup": Output((), "1"),
            "accelerated_gain": Output((), "1"), "n_accelerated": Output((), "1", long_name="benchmarks that count as accelerated"),
        },
        attrs=attrs,
    )  # fmt: skip
    warn(*pair.notes, *_empty_cells(cells))
    return result


def _weights(weights: Any, before: xr.DataArray, pair: Pair, across: str) -> xr.DataArray:
    """Return a weight per benchmark: numbers whose ratios matter."""
    if isinstance(weights, str):
        check_choice(weights, "weights", ("equal", "fraction", "custom"))
        if weights == "fraction":
            return before
        if weights == "equal":
            return xr.ones_like(before[across], dtype=float).reset_coords(drop=True)
        if WEIGHT not in pair.candidate.array.coords:
            raise ValueError(f"weights='custom' takes the coordinate {WEIGHT!r}, which the data do not have; give numbers, or 'equal'")
        weights = pair.candidate.array.coords[WEIGHT]
    labels = before[across].values.tolist()
    if isinstance(weights, Mapping):
        weights = [weights.get(label, np.nan) for label in labels]
    if not isinstance(weights, xr.DataArray):
        if len(weights) != len(labels):
            raise ValueError(f"weights has {len(weights)} numbers for {len(labels)} labels of {across!r}")
        weights = xr.DataArray(np.asarray(weights, dtype=float), dims=across, coords={across: before[across]})
    check_dim(weights, across, "dim of weights")
    weights = _along_cells(weights, before, (), "weights").astype(float)
    bad = [label for label, one in zip(labels, weights.transpose(across, ...).values, strict=True) if not np.all(one >= 0)]
    if bad or not weights.sum() > 0:
        what = f"missing or negative for {listed(bad, 5)}" if bad else "all zero"
        raise ValueError(f"weights are {what}; give every label of {across!r} a number that is not negative, and one above zero")
    return xr.DataArray(weights)

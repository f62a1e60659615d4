"""Is it faster: verdicts for every benchmark and for the suite."""

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.comparisons.intervals import DF_RULES, RATIO_METHODS, ratio_outputs
from perfarray.conventions import BENCHMARK
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_samples import Pairing, flattened, spread
from perfarray.numerics.bootstrap_verdicts import compare_draws
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats
from perfarray.numerics.verdicts import Rules, compare_units
from perfarray.timings.across import UNMATCHED, check_across, name_suites
from perfarray.timings.apply import Output, apply, data_label, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, noted
from perfarray.timings.pairs import Pair, baseline_name, resolve_pair
from perfarray.timings.resampling import (
    BOOTSTRAP_METHODS,
    Resample,
    Resampling,
    Rng,
    cell_numbers,
    check_no_resampling,
    check_resampling,
)
from perfarray.timings.resolve import Data, Timings, shared_levels
from perfarray.timings.validation import check_choice, check_confidence_level, check_threshold

UNITS_DIM = "_unit"


@over_metrics
def compare(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    threshold: float = 0.0,
    band: str = "linear",
    confidence_level: float = 0.95,
    method: str = "fieller",
    df: str = "satterthwaite",
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    correction: str | None = None,
    across: str = BENCHMARK,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Say of every benchmark whether each candidate is faster than the baseline, by how much and how surely; and of the suite.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    baseline : label, DataArray or Dataset
        A label of `dim`, or other timings, matched by label on dims that are not levels (repetitions are never aligned).
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    threshold : float
        A relative change that does not matter: 0.02 for 2 %. The band is 1 - threshold to 1 + threshold.
    band : {"linear", "log"}
        With "log" the band is 1 / (1 + threshold) to 1 + threshold: symmetric for a ratio and its inverse.
    confidence_level : float
        Of the intervals, and 1 minus the error rate of the verdicts.
    method : {"fieller", "delta", "log_delta", "percentile", "basic", "bca", "studentized"}
        As for `ratio_interval`.
    df : {"satterthwaite", "conservative", "normal"}
        As for `ratio_interval`.
    resample, n_resamples, rng : optional
        Of the bootstrap, as for `ratio_interval`.
    correction : {None, "holm", "bh"}
        For asking many benchmarks at once: Holm keeps the chance of any false verdict at the error rate (intervals: Bonferroni's),
        Benjamini and Hochberg the share of false verdicts (intervals: Benjamini and Yekutieli's). The family is the benchmarks of one
        candidate; the suite row stands outside it.
    across : str
        The dim the suite row averages over; without it the suite is the one benchmark.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite). Default: `attrs["shared_levels"]`, else
        none, and the attr `benchmarks` of the result says that independence was assumed.
    paired : str, optional
        The outermost level, when its units match between the two systems.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        For every benchmark and candidate: `estimate` = candidate / baseline, `lower`, `upper`, `df`, `n`, `kind` (as `ratio_interval`),
        `pvalue` (twice the smaller p of "not below" and "not above" the band), `pvalue_adjusted`, `pvalue_equivalent` (the larger of
        two one-sided tests of "outside the band"), `interval_level`, `verdict`: `faster`, `slower`, `equivalent` or `inconclusive`,
        in the sense of `better`. For every candidate, over the benchmarks measured on both sides: `suite_estimate` (geometric mean
        ratio), `suite_lower`, `suite_upper`, `suite_df`, `suite_n`, `suite_benchmarks` (their number), `suite_verdict`.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods or corrections; units that differ; values that are zero or negative.

    Notes
    -----
    Without correction the verdict is the interval rule: faster or slower when the interval is wholly outside the band, equivalent when
    wholly inside; equivalence from a 95 % interval is two one-sided tests at 2.5 %. A set that is exclusive or unbounded is inconclusive.

    With a bootstrap method the p-values invert its limits: the smallest error rate at which the interval leaves the value out, never
    below 1 / (n_resamples + 1); with `studentized` that is the share of replicates with abs(t*) >= abs(t), (b + 1) /
    (n_resamples + 1) just beyond a replicate.
    Corrections work on those p-values and need replicates accordingly.

    The suite row is for this fixed suite. With independent benchmarks, SE² is the sum over systems and benchmarks of s²/(m ȳ²), over
    B², with Satterthwaite df; units shared by the benchmarks are averaged jointly, Z_j = mean over benchmarks of log(unit mean), and a
    unit that lacks a benchmark is left out and counted. Ignoring a shared build whose effects correlate at 0.3 covers 67 % instead of 95.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, equation 12.
    S. Holm 1979; Y. Benjamini, Y. Hochberg 1995; Y. Benjamini, D. Yekutieli 2005 (intervals after selection).

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.1, 9.9, 10.0], "new": [9.0, 9.1, 8.9, 9.0]})
    >>> verdict = times.perf.compare("old", threshold=0.02)
    >>> verdict["verdict"].item(), round(verdict["estimate"].item(), 3), round(verdict["upper"].item(), 3)
    ('faster', 0.9, 0.914)
    """
    check_choice(method, "method", RATIO_METHODS + BOOTSTRAP_METHODS)
    check_choice(df, "df", DF_RULES)
    check_choice(correction, "correction", (None, "holm", "bh"))
    check_choice(band, "band", ("linear", "log"))
    level, margin = check_confidence_level(confidence_level), check_threshold(threshold)
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive="a comparison")
    common = shared_levels(pair.candidate, shared)
    joint = pair.candidate.levels[0] in common
    rules = Rules(method, df, margin, level, correction, pair.candidate.better, paired is not None, joint, band)
    attrs = pair.describe() | {"result": "compare", "method": method, "confidence_level": level, "threshold": margin, "band": band}
    attrs |= {"correction": correction or "none", "baseline": baseline_name(baseline)}
    attrs |= {"benchmarks": f"shared: {' '.join(common)}" if rules.shared else "independent (assumed)"}
    attrs |= {"paired": paired} if paired else {}
    new, old = (_units(side, across) for side in (pair.candidate, pair.baseline))
    plan = None
    if method in BOOTSTRAP_METHODS:
        plan = check_resampling(pair.candidate, resample, n_resamples, rng, joint=joint or paired is not None)
        result = _by_redrawing(pair, across, rules, plan, common, attrs)
    else:
        check_no_resampling(method, resample)
        core = [across, UNITS_DIM]
        coords = {across: new[across].values.tolist()}
        kernel = functools.partial(compare_units, rules=rules)
        result = apply(kernel, new, old, core=[core, core], outputs=_outputs(across), coords=coords, attrs=attrs | {"df": df})
    result = _as_given(result, pair, across)
    notes = [*pair.notes, pair.candidate.selected]
    if not (is_chunked(new) or is_chunked(old)):
        _name_unmatched(result, across)
        notes.append(_note_incomplete(result, pair, new, old, across) if joint else None)
    if across in result["estimate"].dims:
        # An attribute says it, and no note: who compares benchmark by benchmark has not asked for the suite row.
        name_suites(result, pair.candidate, result["estimate"].notnull(), across)
    return noted(result, *notes, checks=("units",) if plan is None else ("units", "resampling"))


def _by_redrawing(
    pair: Pair, across: str, rules: Rules, plan: Resampling, common: tuple[str, ...], attrs: dict[str, Hashable]
) -> xr.Dataset:
    """Compare by the bootstrap, which needs all timings and not unit means alone."""
    nest = pair.candidate.levels
    check_across(across, nest)
    draws = Draws(plan.drawn, plan.n_resamples, plan.key, plan.engine)
    joint = next((number for number, name in enumerate(nest) if name not in common), len(nest))
    sides = [side.array if across in side.array.dims else _with_dim(side.array, across) for side in (pair.candidate, pair.baseline)]
    if any(is_chunked(side) for side in sides):
        sides = [side.chunk({across: -1}) for side in sides]

    def kernel(new: Floats, old: Floats, cells: Any, groups: Any) -> tuple[np.ndarray, ...]:
        values = [spread(flattened(side, len(nest), plan.flat), cells.shape, len(draws.drawn)) for side in (new, old)]
        pairing = Pairing(values[0], values[1], cells, rules.paired)
        return compare_draws(pairing, np.broadcast_to(groups, cells.shape[:-1]), rules, draws, joint)

    cells, groups = (cell_numbers(sides, nest, apart) for apart in (None, across))
    core = [[across, *nest], [across, *nest], [across], []]
    coords = {across: sides[0][across].values.tolist()}
    return apply(kernel, *sides, cells, groups, core=core, outputs=_outputs(across), coords=coords, attrs=attrs | plan.describe())


def _with_dim(array: xr.DataArray, across: str) -> xr.DataArray:
    """Give a single benchmark the dim of the suite."""
    return array.expand_dims({across: 1}).assign_coords({across: [0]})


def _units(side: Timings, across: str) -> xr.DataArray:
    """Average the lower levels: one value per outermost unit, on a dim of its own; a single benchmark gets the dim `across`."""
    array, nest = side.array, side.levels
    check_across(across, nest)
    coords = {UNITS_DIM: array[nest[0]].values}
    averaged = apply(
        lambda values: (unit_means(values, len(nest)),),
        array,
        core=[nest],
        outputs={"_mean": Output((UNITS_DIM,))},
        coords=coords,
    )["_mean"].drop_vars(UNITS_DIM)
    if across not in averaged.dims:
        averaged = _with_dim(averaged, across)
    return averaged.chunk({across: -1, UNITS_DIM: -1}) if is_chunked(averaged) else averaged


def _outputs(across: str) -> dict[str, Output]:
    """Return the variables of a comparison, in the order of `numerics.comparison.Comparison`."""
    ratio = {name: output._replace(dims=(across,)) for name, output in ratio_outputs().items()}
    rows = {
        "pvalue": Output((across,), "1"),
        "pvalue_adjusted": Output((across,), "1"),
        "pvalue_equivalent": Output((across,), "1"),
        "interval_level": Output((across,), "1", long_name="confidence level of the interval"),
        "verdict": Output((across,), "", object),
    }
    suite = {
        "suite_estimate": Output((), "1", long_name="geometric mean of candidate / baseline"),
        "suite_lower": Output((), "1"),
        "suite_upper": Output((), "1"),
        "suite_df": Output((), "1"),
        "suite_n": Output((), "1", long_name="independent units on the smaller side"),
        "suite_benchmarks": Output((), "1", long_name="benchmarks measured on both sides"),
        "suite_verdict": Output((), "", object),
    }
    return ratio | rows | suite


def _as_given(result: xr.Dataset, pair: Pair, across: str) -> xr.Dataset:
    """Put dims in the order of the data and give back the coordinates of the dim averaged over; drop it where it was not there."""
    array = pair.candidate.array
    if across not in array.dims:
        return result.isel({across: 0}, drop=True)
    kept = {
        name: coordinate
        for name, coordinate in array.coords.items()
        if across in coordinate.dims and not set(coordinate.dims) & set(pair.candidate.levels)
    }
    if across not in array.coords:
        result = result.drop_vars(across)
    dims = [*(dim for dim in array.dims if dim in result.dims), *(dim for dim in result.dims if dim not in array.dims)]
    labels = {data_label(name, result.data_vars): c.variable for name, c in kept.items() if set(c.dims) <= set(result.dims)}
    return result.assign_coords(labels).transpose(*dims)


def _name_unmatched(result: xr.Dataset, across: str) -> None:
    """Name in the attrs the benchmarks that some candidate or the baseline lacks."""
    estimate = result["estimate"]
    if across not in estimate.dims:
        return
    absent = np.isnan(estimate.values).any(axis=tuple(i for i, dim in enumerate(estimate.dims) if dim != across))
    said = [name for name in str(result.attrs.get(UNMATCHED, "")).split(", ") if name]
    names = dict.fromkeys([*said, *(str(label) for label in result[across].values[absent])])
    if names:
        result.attrs[UNMATCHED] = ", ".join(names)


def _note_incomplete(result: xr.Dataset, pair: Pair, new: xr.DataArray, old: xr.DataArray, across: str) -> Note | None:
    """Count the shared units that the suite row leaves out, in the attrs and in a note."""
    dropped = sum(_incomplete(side, across) for side in (new, old))
    if not dropped:
        return None
    result.attrs["n_incomplete_units"] = dropped
    text = f"{dropped} shared units ({pair.candidate.levels[0]}) lack some benchmarks and are left out of the suite row"
    return Note("incomplete_units", text, {"units": dropped})


def _incomplete(units: xr.DataArray, across: str) -> int:
    """Count the units with some of the benchmarks that were measured at all, but not all of them."""
    measured = units.notnull()
    wanted = measured.any(UNITS_DIM)
    some, every = (measured & wanted).any(across), (measured | ~wanted).all(across)
    return int((some & ~every).sum())

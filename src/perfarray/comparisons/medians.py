"""The ratio of medians: how many times the baseline's middle run each candidate's middle run takes."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import CENSORED, LOWER, plural
from perfarray.numerics.bootstrap_intervals import median_ratio_by_draws
from perfarray.numerics.intervals import BOOTSTRAP_METHODS, DF_RULES, RATIO_METHODS, kind_of
from perfarray.numerics.levels import unit_means
from perfarray.numerics.medians import ratio_of_medians, units_with_limits
from perfarray.numerics.rank_sums import RANK, units_with_rank_limits
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Kernel, Output, apply, together
from perfarray.timings.censored import ratio_bounds
from perfarray.timings.dependence import DEPENDENCE, dependence
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.pairs import FAR, Pair, at_worst, hanging, unknown_at_best
from perfarray.timings.resampling import Resample, check_no_resampling, check_resampling
from perfarray.timings.resolve import Timings
from perfarray.timings.streams import Rng, cell_keys
from perfarray.timings.units import UNITS, value_place
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.values import check_positive

MEAN, MEDIAN = "mean", "median"
"""The statistics of runs whose ratio is taken."""

ORDER_STATISTICS = "order_statistics"
"""The default method of medians."""

MEDIAN_METHODS = (ORDER_STATISTICS, RANK, *(name for name in BOOTSTRAP_METHODS if name != "studentized"))

BEYOND = "beyond"
"""The check of limits that lie beyond all runs."""

STOPPED = "limits hold whatever they would have taken, and a ratio that hangs on it is a bound, or NaN where both sides do"
"""What follows for a ratio of medians."""


def check_ratio_method(statistic: str, method: str | None, df: str, value: str | None) -> str:
    """Return the method of a ratio of means or of medians, for which those that rest on standard errors of means are refused."""
    check_choice(statistic, "statistic", (MEAN, MEDIAN))
    check_choice(df, "df", DF_RULES)
    if statistic == MEAN:
        if value is not None:
            raise ValueError(f"value={value!r} says what the runs are whose median is taken; a mean takes unit means: give levels=")
        method = method or RATIO_METHODS[0]
        check_choice(method, "method", RATIO_METHODS + BOOTSTRAP_METHODS)
        return method
    if method is not None and method not in MEDIAN_METHODS:
        raise ValueError(f"method={method!r} is not one of a ratio of medians; choose one of {listed(MEDIAN_METHODS)}, or statistic='mean'")
    if df != DF_RULES[0]:
        raise ValueError(f"df={df!r} is for formulas of means; a ratio of medians takes none")
    return method or ORDER_STATISTICS


def check_runs(pair: Pair, value: str | None, method: str, paired: str | None) -> tuple[int, list[Note]]:
    """Return the place in the nest of the runs whose median is taken, and what zeros inside them there are; runs are positive.

    Rank sums take one value of every unit, and sides that do not depend on each other.
    """
    unit = pair.candidate.levels[0]
    if method == RANK and (value not in (None, unit) or paired):
        wrong = f"value={value!r}" if value not in (None, unit) else f"paired={paired!r}"
        raise ValueError(
            f"{wrong} does not go with method='rank', which ranks one value of each {unit}; choose method='{ORDER_STATISTICS}'"
        )
    depth, sides = value_place(pair.candidate, unit if method == RANK else value), (pair.candidate, pair.baseline)
    return depth, [note for side in sides for note in check_positive(side.array, pair.candidate.levels, "a ratio of medians", depth)]


def median_ratio(
    pair: Pair,
    outputs: dict[str, Output],
    *,
    value: str | None,
    method: str,
    level: float,
    resample: Resample,
    n_resamples: int,
    rng: Rng,
    paired: str | None,
) -> xr.Dataset:
    """Return the ratio of medians of every cell, with the variables that every ratio has."""
    nest, sides = pair.candidate.levels, (pair.candidate, pair.baseline)
    depth, zeros = check_runs(pair, value, method, paired)
    attrs: dict[str, Hashable] = {**pair.attrs, "result": "ratio_interval", "method": method, "confidence_level": level}
    attrs |= {"statistic": MEDIAN, "value": nest[depth]} | ({"paired": paired} if paired else {})
    keys: list[xr.DataArray] = []
    options: dict[str, Any] = {"levels": depth + 1, "paired": paired is not None, "level": level}
    limits: Kernel = partial(ratio_of_medians, **options, ranked=method == RANK)
    if method not in BOOTSTRAP_METHODS:
        check_no_resampling(method, resample)
    else:
        runs = pair.candidate._replace(levels=nest[: depth + 1])
        plan = check_resampling(runs, resample, n_resamples, rng, joint=paired is not None)
        keys, attrs = [cell_keys([side.array for side in sides], nest)], attrs | plan.attrs
        limits = partial(median_ratio_by_draws, **options, draws=plan.draws, flat=plan.flat, method=method)
    ordered, order_outputs = dependence(len(nest), paired=paired is not None)

    def of_timings(new: Floats, old: Floats, *keys_of_cells: Any) -> Sequence[Any]:
        return limits(*(unit_means(side, len(nest) - depth) for side in (new, old)), *keys_of_cells)

    kernel = together(of_timings, lambda new, old, *_: ordered(new, old))

    def answer(candidate: Timings, baseline: Timings) -> xr.Dataset:
        core = [nest, nest, *[()] * len(keys)]
        return apply(kernel, candidate.array, baseline.array, *keys, core=core, outputs=outputs | order_outputs, attrs=attrs)

    result = _bounded(pair, answer) if pair.bounded else answer(*sides)
    checks = (UNITS, "resampling" if method in BOOTSTRAP_METHODS else BEYOND, DEPENDENCE)
    return noted(result, *pair.notes, *zeros, pair.candidate.selected, pair.stopped_note(STOPPED), checks=checks)


def _bounded(pair: Pair, answer: Callable[[Timings, Timings], xr.Dataset]) -> xr.Dataset:
    """Return the widest limits that stopped runs leave: between the candidate's at best over the baseline's at worst, and the reverse."""
    best = [unknown_at_best(side) for side in (pair.candidate, pair.baseline)]
    worst = [at_worst(side) for side in (pair.candidate, pair.baseline)]
    limits, bad, good = answer(*best), answer(worst[0], best[1]), answer(best[0], worst[1])
    low, high = (good, bad) if pair.candidate.better == LOWER else (bad, good)
    lower, upper = low["lower"].where(~(low["lower"] < 1 / FAR), 0.0), high["upper"].where(~(high["upper"] > FAR), np.inf)
    bounds = ratio_bounds(
        hanging(pair.candidate, limits["estimate"], bad["estimate"]), hanging(pair.baseline, limits["estimate"], good["estimate"])
    )
    kinds = apply(lambda *ends: (kind_of(*ends),), lower, upper, core=[[], []], outputs={"kind": Output((), "", object)})["kind"]
    estimate = limits["estimate"].where(~(bounds.at_least & bounds.at_most))
    lower = lower.where(kinds != "unbounded", -np.inf)
    changed = {"estimate": estimate, "lower": lower, "upper": upper, "kind": kinds}
    return limits.assign({name: variable.assign_attrs(limits[name].attrs) for name, variable in changed.items()})


@check(BEYOND)
def beyond_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells of which a limit lies beyond all runs."""
    level = float(result["interval_level"].max() if "interval_level" in result else result.attrs["confidence_level"])
    units = str(result.attrs["levels"]).split()[0]
    ranked, by_ranks = result.attrs["method"] == RANK, units_with_rank_limits(level)
    needed = by_ranks if ranked else units_with_limits(level)
    alternative = "" if ranked else f"method='rank' needs {by_ranks}, and versions that differ by a factor only; "
    text = (
        f"{{cells}} have a limit beyond all their runs, so that there is none at {100 * level:.4g} %: {needed} {plural(units)} of one run "
        f"each have both, fewer at a lower confidence_level; {alternative}or take statistic='mean'"
    )
    if result.attrs.get(CENSORED) == "bound":
        return ()  # what stopped runs leave open is said already
    open_ended = np.isin(result["kind"].values.astype(str), ("at_least", "at_most", "unbounded"))
    return (count_note("no_limit", text, open_ended & (result["n"].values > 1), needed=needed),)

"""Ratios of medians: the runs that they need, and notes on limits beyond all runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import CENSORED, plural
from perfarray.numerics.levels import unit_means
from perfarray.numerics.medians import units_with_limits
from perfarray.numerics.rank_sums import RANK, units_with_rank_limits
from perfarray.numerics.types import Floats
from perfarray.numerics.verdicts import RatioComparison, Rules
from perfarray.timings.apply import outputs
from perfarray.timings.notes import Note, check, count_note, significant_in_all
from perfarray.timings.pairs import Pair, without_zeros_of_both
from perfarray.timings.units import value_depth
from perfarray.timings.zeros import Positive

MEDIAN = "median"
ORDER_STATISTICS = "order_statistics"  # the default method of medians
# the check of limits that lie beyond all runs, and of spreads that ranks take for equal
BEYOND = "beyond"
SPREAD_OUTPUTS = outputs(spread_pvalue="p-value of equal spreads of both sides' logarithms")

STOPPED = (
    "The limits hold whatever they would have taken. A ratio decided by a stopped "
    "run is a bound, or NaN"
)


def check_runs(pair: Pair, value: str | None, method: str, paired: str | None) -> tuple[int, Pair]:
    """Return the position of the runs in the nest, and the pair without cells of zeros.

    Rank sums need one value of every unit, all above 0, and independent sides.
    """
    unit = pair.candidate.levels[0]
    if method == RANK and (value not in (None, unit) or paired):
        wrong = f"value={value!r}" if value not in (None, unit) else f"paired={paired!r}"
        raise ValueError(
            f"{wrong} does not go with method='rank', which ranks one value of each {unit}; "
            f"choose method='{ORDER_STATISTICS}'"
        )
    depth = value_depth(pair.candidate, unit if method == RANK else value)
    of_ranks = Positive(f"a comparison with method={RANK!r}", "min", depth)
    return depth, without_zeros_of_both(
        pair, of_ranks if method == RANK else Positive("a ratio of medians", "median", depth)
    )


def of_runs(
    function: Callable[..., RatioComparison], below: int, ends: int
) -> Callable[..., RatioComparison]:
    """Return a method of runs as one of timings, whose lowest levels it averages."""

    def of_timings(
        new: Floats, old: Floats, level: Floats | float, *arrays: Any, rules: Rules
    ) -> RatioComparison:
        runs = [unit_means(side, below) for side in (new, old, *arrays[:ends])]
        return function(*runs[:2], level, *runs[2:], *arrays[ends:], rules=rules)

    return of_timings


@check(BEYOND)
def beyond_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with a limit beyond all runs.

    Of ranks, those whose sides have other spreads, at an error rate of 5 %.
    """
    level = float(
        result["interval_level"].max()
        if "interval_level" in result.data_vars
        else result.attrs["confidence_level"]
    )
    units = str(result.attrs["levels"]).split()[0]
    ranked, by_ranks = result.attrs["method"] == RANK, units_with_rank_limits(level)
    needed = by_ranks if ranked else units_with_limits(level)
    alternative = (
        ""
        if ranked
        else f"method='rank' needs {by_ranks}, and versions that differ by a factor only. "
    )
    text = (
        f"{{cells}} have a limit beyond all their runs, so that there is none at "
        f"{100 * level:.4g} %. {needed} {plural(units)} of one run each have both, fewer at a "
        f"lower confidence_level. {alternative}Or take statistic='mean'."
    )
    spreads = (
        "{cells} have sides that vary differently. Ranks are exact for equal spreads only: "
        "nominal 95 % limits cover 80 to 93 %. "
        f"Take method='{ORDER_STATISTICS}' or statistic='mean'."
    )
    unlike = (
        count_note("unequal_spreads", spreads, significant_in_all(result["spread_pvalue"].values))
        if ranked
        else None
    )
    if result.attrs.get(CENSORED) == "bound":
        return (unlike,)  # a note on stopped runs is there already
    open_ended = np.isin(result["kind"].values.astype(str), ("at_least", "at_most", "unbounded"))
    return unlike, count_note("no_limit", text, open_ended, needed=needed)

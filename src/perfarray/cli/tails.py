"""Percentiles of the lowest level, as `--statistic p99` compares them."""

import re
import warnings
from typing import TYPE_CHECKING, cast

import perfarray
from perfarray.conventions import LEVELS, MARKS, plural

if TYPE_CHECKING:
    import xarray as xr

# The extremes, as shares below them
EXTREMES = {"min": 0.0, "minimum": 0.0, "max": 1.0, "maximum": 1.0}

ENOUGH = 10.0  # values that should lie beyond a percentile


def share_of(statistic: str) -> float | None:
    """Return the share below a percentile such as `p99` or `p99.9`, or an extreme.

    None for other statistics.
    """
    if statistic in ("mean", "median"):
        return None
    if statistic in EXTREMES:
        return EXTREMES[statistic]
    match = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", statistic)
    if match is None or float(match[1]) == 0:
        raise ValueError(
            f"--statistic {statistic}: choose mean, median, or of the iterations min, max, or "
            "a percentile, as in p99"
        )
    return float(match[1]) / 100


def with_percentiles(times: "xr.Dataset", statistic: str) -> "tuple[xr.Dataset, str, list[str]]":
    """Return the sample of a statistic, what is compared of it, and sentences.

    Of a percentile or an extreme, the sample is that of the lowest level in each repetition above.
    """
    import numpy as np

    share = share_of(statistic)
    if share is None:
        return times, statistic, []
    levels = [level for level in LEVELS if level in times.dims]
    if len(levels) < 2:
        names = plural(levels[0]) if levels else "none"
        raise ValueError(
            f"--statistic {statistic} is taken over the iterations of each execution. The "
            f"files have one level, {names}"
        )
    level, above = levels[-1], levels[-2]
    measured = cast("xr.Dataset", perfarray.drop_warmup(times))
    for mark in MARKS:
        if mark in measured.coords:
            valid = ~measured.coords[mark].fillna(False).astype(bool)
            arrays = {
                name: array.where(valid)
                for name, array in measured.data_vars.items()
                if {*valid.dims} <= {*array.dims}
            }
            measured = measured.assign(arrays)
    numbers = {
        mark: int(times.coords[mark].fillna(False).astype(bool).sum())
        for mark in MARKS
        if mark in times.coords
    }
    left_out = ", ".join(f"{number} {mark}" for mark, number in numbers.items() if number)
    size = measured.sizes[level]
    without = f", without those marked ({left_out})" if left_out else ""
    sentences = [
        f"{statistic}: of the {plural(level)} of each {above}, up to {size} of them{without}"
    ]
    if statistic in EXTREMES:
        numbers_inside = measured.count(level)
        inside = {
            int(number)
            for array in numbers_inside.data_vars.values()
            for number in np.unique(array.values)
            if number
        }
        if len(inside) > 1:
            sentences.append(
                f"{statistic}: {above}s have {min(inside)} to {max(inside)} {plural(level)}. "
                f"The extreme of more {plural(level)} lies "
                "farther out. Compare sides with equally many"
            )
    elif size * (1 - share) < ENOUGH:
        sentences.append(
            f"{size} {plural(level)} are few for {statistic}: a change of the tail alone is "
            f"underestimated below {ENOUGH / (1 - share):.0f}"
        )
    with warnings.catch_warnings(
        action="ignore", category=RuntimeWarning
    ):  # a cell without values has no percentile
        sample = measured.quantile(share, level, keep_attrs=True).drop_vars("quantile")
    return sample, "mean", sentences

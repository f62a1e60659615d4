"""Intervals of a mean and of a ratio from redrawn timings: cells in, estimates and limits out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import least_units, limits_of
from perfarray.numerics.bootstrap_samples import Pairing, flattened, ratio_bootstrap, sample_bootstrap, spread
from perfarray.numerics.intervals import BOUNDED, Interval, kind_of
from perfarray.numerics.statistics import Statistic
from perfarray.numerics.types import Floats, Integers, same_text

KEPT = 1 << 18
"""Replicates of cells that are kept at once: what bounds the memory. It changes no number."""


def mean_by_draws(
    values: Floats, cells: Integers, *, draws: Draws, flat: bool, method: str, level: float, statistic: Statistic = "mean"
) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df (unknown) and n of means (or another statistic) of timings (..., n_L, ..., n_1)."""

    def interval(block: Floats, keys: Integers) -> tuple[Floats, ...]:
        bootstrap, sample = sample_bootstrap(block, keys, draws, statistic, method)
        limits = _known(limits_of(bootstrap, level), sample.n, method)
        return sample.estimate, *limits, sample.standard_error, np.full(sample.n.shape, np.nan), sample.n

    return _some_at_a_time(interval, draws, cells, flattened(values, values.ndim - cells.ndim, flat))


def ratio_by_draws(
    new: Floats, old: Floats, cells: Integers, *, levels: int, draws: Draws, flat: bool, paired: bool, method: str, level: float
) -> tuple[np.ndarray, ...]:
    """Return estimate, limits, df (unknown), n and kind of the ratio of the means of timings (..., n_L, ..., n_1)."""

    def interval(new_block: Floats, old_block: Floats, keys: Integers) -> tuple[np.ndarray, ...]:
        bootstrap, replicates = ratio_bootstrap(Pairing(new_block, old_block, keys, paired), draws, method)
        n = replicates.ratio.n
        limits = _known(limits_of(bootstrap, level), n, method)
        return replicates.ratio.estimate, *limits, np.full(n.shape, np.nan), n, same_text(BOUNDED, n.shape)

    return _some_at_a_time(interval, draws, cells, *(flattened(side, levels, flat) for side in (new, old)))


def median_ratio_by_draws(
    new: Floats, old: Floats, cells: Integers, *, levels: int, draws: Draws, flat: bool, paired: bool, method: str, level: float
) -> tuple[np.ndarray, ...]:
    """Return the same of the ratio of the medians of positive timings (..., n_L, ..., n_1)."""

    def interval(new_block: Floats, old_block: Floats, keys: Integers) -> tuple[np.ndarray, ...]:
        bootstrap, replicates = ratio_bootstrap(Pairing(new_block, old_block, keys, paired), draws, method, "median")
        n = replicates.ratio.n
        limits = _known(limits_of(bootstrap, level), n, method)
        return bootstrap.estimate, *limits, np.full(n.shape, np.nan), n, kind_of(*limits)

    return _some_at_a_time(interval, draws, cells, *(flattened(side, levels, flat) for side in (new, old)))


def _some_at_a_time(
    interval: Callable[..., tuple[np.ndarray[Any, Any], ...]], draws: Draws, cells: Integers, *sides: Floats
) -> tuple[np.ndarray, ...]:
    """Call a formula of the cells of sides (..., drawn levels) and their keys, on as many as memory is to hold; put the parts together."""
    levels, keys = len(draws.resampled), cells.ravel()
    rows = [spread(side, cells.shape, levels).reshape(-1, *side.shape[side.ndim - levels :]) for side in sides]
    size = max(1, KEPT // draws.n_resamples)
    blocks = [slice(first, first + size) for first in range(0, max(len(keys), 1), size)]
    fields = [interval(*(side[block] for side in rows), keys[block]) for block in blocks]
    return tuple(np.concatenate(field).reshape(cells.shape) for field in zip(*fields, strict=True))


def _known(limits: Interval, n: Floats, method: str) -> tuple[Floats, Floats]:
    """Return the limits, NaN where fewer units stand behind them than they need."""
    least = least_units(method)
    return np.where(n >= least, limits.lower, np.nan), np.where(n >= least, limits.upper, np.nan)

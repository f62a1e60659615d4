"""Intervals of a mean and of a ratio from redrawn timings: cells in, estimates and limits out."""

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import least_units, limits_of
from perfarray.numerics.bootstrap_samples import Pairing, flattened, ratio_bootstrap, sample_bootstrap, spread, statistic_ratio_bootstrap
from perfarray.numerics.intervals import BOUNDED, Interval
from perfarray.numerics.medians import kind_of
from perfarray.numerics.types import Floats, Integers, same_text


def mean_by_draws(values: Floats, cells: Integers, *, draws: Draws, flat: bool, method: str, level: float) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df (unknown) and n of means of timings (..., n_L, ..., n_1)."""
    found, sample = sample_bootstrap(flattened(values, values.ndim - cells.ndim, flat), cells, draws, "mean", method)
    limits = _known(limits_of(found, level), sample.n, method)
    return sample.estimate, *limits, sample.standard_error, np.full(sample.n.shape, np.nan), sample.n


def ratio_by_draws(
    new: Floats, old: Floats, cells: Integers, *, levels: int, draws: Draws, flat: bool, paired: bool, method: str, level: float
) -> tuple[np.ndarray, ...]:
    """Return estimate, limits, df (unknown), n and kind of the ratio of the means of timings (..., n_L, ..., n_1)."""
    sides = [spread(flattened(side, levels, flat), cells.shape, len(draws.drawn)) for side in (new, old)]
    found, drawn = ratio_bootstrap(Pairing(sides[0], sides[1], cells, paired), draws, method)
    n = drawn.ratio.n
    limits = _known(limits_of(found, level), n, method)
    return drawn.ratio.estimate, *limits, np.full(n.shape, np.nan), n, same_text(BOUNDED, n.shape)


def median_ratio_by_draws(
    new: Floats, old: Floats, cells: Integers, *, levels: int, draws: Draws, flat: bool, paired: bool, method: str, level: float
) -> tuple[np.ndarray, ...]:
    """Return the same of the ratio of the medians of positive timings (..., n_L, ..., n_1)."""
    sides = [spread(flattened(side, levels, flat), cells.shape, len(draws.drawn)) for side in (new, old)]
    found, n = statistic_ratio_bootstrap(Pairing(sides[0], sides[1], cells, paired), draws, "median", method)
    limits = _known(limits_of(found, level), n, method)
    return found.estimate, *limits, np.full(n.shape, np.nan), n, kind_of(*limits)


def _known(limits: Interval, n: Floats, method: str) -> tuple[Floats, Floats]:
    """Return the limits, NaN where fewer units stand behind them than they need."""
    least = least_units(method)
    return np.where(n >= least, limits.lower, np.nan), np.where(n >= least, limits.upper, np.nan)

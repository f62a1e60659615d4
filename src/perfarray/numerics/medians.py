"""Limits of medians and of their ratios: order statistics of runs in units of equal weight.

A limit of a median is the run at the limit of the share of runs below it (Woodruff 1952). For units
of one run each, that share is binomial, and its limits are those of the order statistics. For units
of several runs, its standard error is that over units, and it is taken as binomial of as many runs
as have this error, fewer for the degrees of freedom (Korn and Graubard 1998). The limits of a ratio
follow from those of both medians on the log scale (Zou and Donner 2008).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.intervals import t_quantile, welch_df
from perfarray.numerics.rank_sums import hodges_lehmann, rank_limits
from perfarray.numerics.statistics import nest_weights, weighted_median
from perfarray.numerics.types import Floats

ROUNDING = 1e-12  # shares are sums of weights: those that differ by less are equal


class SortedRuns(NamedTuple):
    """Runs of cells (cells, runs) in ascending order, with the cumulative share (position) of each.

    `below` is the share of every unit's runs below the median (cells, units), ties half; `error`
    the standard error of that share over all units, `independent` the effective number of runs, and
    `one_run` whether units have one run each.
    """

    ordered: Floats
    positions: Floats
    median: Floats
    below: Floats
    error: Floats
    independent: Floats
    one_run: npt.NDArray[np.bool_]

    @property
    def n(self) -> Floats:
        """Measured units."""
        return np.asarray((~np.isnan(self.below)).sum(axis=-1), dtype=float)


class Medians(NamedTuple):
    """The runs of two systems, the df of the log ratio of medians, and the correlation of pairs.

    `ranked`: whether limits are those of the exact rank-sum test, for units of one run each.
    """

    new: SortedRuns
    old: SortedRuns
    df: Floats
    correlation: Floats
    ranked: bool = False

    @property
    def samples(self) -> list[tuple[Floats, Floats]]:
        """The runs of every cell, in ascending order."""
        sides = zip(self.new.ordered, self.old.ordered, strict=True)
        return [(new[~np.isnan(new)], old[~np.isnan(old)]) for new, old in sides]

    @property
    def estimate(self) -> Floats:
        """Candidate over baseline."""
        if self.ranked:
            return np.array([hodges_lehmann(*sample) for sample in self.samples])
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.new.median / self.old.median

    @property
    def n(self) -> Floats:
        """Units on the smaller side."""
        return np.minimum(self.new.n, self.old.n)

    def limits(self, level: float | Floats) -> tuple[Floats, Floats]:
        """Return the limits of the ratio at one level, or one per cell.

        0 and infinity where they lie beyond all runs.
        """
        if self.ranked:
            # Cell by cell: a cell has as many ratios as the square of its runs.
            levels = np.broadcast_to(level, (len(self.df),)).tolist()
            limits = [
                rank_limits(*cell, cell_level)
                for cell, cell_level in zip(self.samples, levels, strict=True)
            ]
            lower, upper = np.reshape(limits, (-1, 2)).T
            return lower, upper
        return _ratio_limits(
            self, [median_limits(side, self.df, level) for side in (self.new, self.old)]
        )


def medians_of(new: Floats, old: Floats, *, paired: bool, ranked: bool = False) -> Medians:
    """Summarise the runs (cells, n_L, ..., n_1) of two systems around their medians.

    Pairs with a gap are left out.
    """
    cells = [new, old]
    if paired:
        inner = tuple(range(2, new.ndim))
        gaps = np.any([np.isnan(side).all(axis=inner, keepdims=True) for side in cells], axis=0)
        cells = [np.where(gaps, np.nan, side) for side in cells]
    new_runs, old_runs = (runs_of(side) for side in cells)
    correlation = _correlation(new_runs, old_runs) if paired else np.zeros(len(new))
    return Medians(new_runs, old_runs, _df(new_runs, old_runs, paired), correlation, ranked)


def as_cells(levels: int, *sides: Floats) -> tuple[tuple[int, ...], list[Floats]]:
    """Return the common batch shape of arrays (..., n_L, ..., n_1), and arrays with one."""
    batch = np.broadcast_shapes(*(side.shape[: side.ndim - levels] for side in sides))
    nests = [side.shape[side.ndim - levels :] for side in sides]
    return batch, [
        np.broadcast_to(side, (*batch, *nest)).reshape(-1, *nest)
        for side, nest in zip(sides, nests, strict=True)
    ]


def finite_df(medians: Medians) -> Floats:
    """Return the degrees of freedom, NaN for units of one run each, which have none."""
    return np.where(np.isfinite(medians.df), medians.df, np.nan)


def runs_of(values: Floats) -> SortedRuns:
    """Return the runs of cells (cells, n_L, ..., n_1) in order, summarised around their median."""
    weights = nest_weights(values)
    flat, share = (shares.reshape(*values.shape[:2], -1) for shares in (values, weights))
    measured = ~np.isnan(flat)
    all_runs, all_shares = (shares.reshape(len(values), -1) for shares in (flat, share))
    median = weighted_median(all_runs, all_shares)
    middle = median[:, None, None]
    unit_shares, units = share.sum(axis=-1), measured.any(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share_below = np.where(
            measured, share * ((flat < middle) + 0.5 * (flat == middle)), 0.0
        ).sum(axis=-1)
        below = np.where(units, share_below / unit_shares, np.nan)
        n = units.sum(axis=-1)
        centre = np.where(units, below, 0.0).sum(axis=-1, keepdims=True) / n[:, None]
        spread = np.sqrt(np.where(units, (below - centre) ** 2, 0.0).sum(axis=-1) / (n - 1) / n)
        independent = 1 / (all_shares**2).sum(axis=-1)
    one_run = (measured.sum(axis=-1) <= 1).all(axis=-1)
    error = np.where(
        n > 0, np.fmax(np.where(one_run, 0.0, spread), 0.5 / np.sqrt(independent)), np.nan
    )
    order = np.argsort(all_runs, axis=-1)
    ordered, shares = (
        np.take_along_axis(unit_shares, order, axis=-1) for unit_shares in (all_runs, all_shares)
    )
    with np.errstate(invalid="ignore"):
        scale = (independent / (independent + 1))[:, None]
        positions = 0.5 + (np.cumsum(shares, axis=-1) - shares / 2 - 0.5) * scale
    return SortedRuns(
        ordered,
        np.where(np.isnan(ordered), np.inf, positions),
        median,
        below,
        error,
        independent,
        one_run,
    )


def median_limits(runs: SortedRuns, df: Floats, level: float | Floats) -> tuple[Floats, Floats]:
    """Return the limits of medians; 0 and infinity where they lie beyond all runs."""
    from scipy.special import betaincinv

    fewer = np.where(
        runs.one_run,
        1.0,
        t_quantile((1 + level) / 2, np.full(df.shape, np.inf)) / t_quantile((1 + level) / 2, df),
    )
    half = (0.25 / runs.error**2 * fewer**2 + 1) / 2
    tail = betaincinv(half, half, (1 - level) / 2)
    return _run_at(runs, tail, beyond=0.0), _run_at(runs, 1 - tail, beyond=np.inf)


def _run_at(runs: SortedRuns, share: Floats, beyond: float) -> Floats:
    """Return the run at a share, interpolated between two.

    `beyond` where it lies outside all runs.
    """
    finite = np.isfinite(runs.positions)
    number = np.maximum(finite.sum(axis=-1, keepdims=True), 1)
    above = (runs.positions <= share[:, None]).sum(axis=-1, keepdims=True)
    low, high = np.clip(above - 1, 0, number - 1), np.clip(above, 0, number - 1)
    start, end, first, last = (
        np.take_along_axis(array, at, axis=-1)[:, 0]
        for array in (runs.positions, runs.ordered)
        for at in (low, high)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.where(end > start, np.clip((share - start) / (end - start), 0.0, 1.0), 0.0)
    outside = (share < runs.positions[:, 0] - ROUNDING) | (
        share > np.where(finite, runs.positions, -np.inf).max(axis=-1) + ROUNDING
    )
    return np.where(outside, beyond, first + between * (last - first))


def _df(new: SortedRuns, old: SortedRuns, paired: bool) -> Floats:
    """Return Welch and Satterthwaite's degrees of freedom of the log ratio.

    Infinite for units of one run each, NaN for too few.
    """
    if paired:
        df = new.n - 1
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            squared = [error_of_log(side) ** 2 for side in (new, old)]
            dfs = [np.where(side.one_run, np.inf, side.n - 1) for side in (new, old)]
        df = welch_df(*squared, *dfs)
    return np.where(
        (new.n > 1) & (old.n > 1), np.where(new.one_run & old.one_run, np.inf, df), np.nan
    )


def error_of_log(runs: SortedRuns) -> Floats:
    """Return the standard error of the log of a median, by the runs on either side of it.

    That error is of the share of the distribution below the middle run, beta with the effective
    number of runs.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = 0.5 / np.sqrt(0.25 / runs.error**2 + 2)
        inside = np.minimum(error, 0.5 - 1 / (runs.independent + 1))
        width = np.log(_run_at(runs, 0.5 + inside, np.inf)) - np.log(
            _run_at(runs, 0.5 - inside, 0.0)
        )
        return np.where(inside > 0, width / 2 * error / inside, 0.0)


def _correlation(new: SortedRuns, old: SortedRuns) -> Floats:
    """Return the correlation (0 or more) of the shares below the median of paired units.

    It is shrunk for few pairs.
    """
    n = new.n
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = [
            np.nan_to_num(side.below - np.nansum(side.below, axis=-1, keepdims=True) / n[:, None])
            for side in (new, old)
        ]
        product, *squares = (
            (first * second).sum(axis=-1)
            for first, second in (deviations, deviations[:1] * 2, deviations[1:] * 2)
        )
        correlation = product / np.sqrt(squares[0] * squares[1]) * (n - 1) / (n + 1)
    return np.asarray(np.clip(np.nan_to_num(correlation), 0.0, 1.0))


def _ratio_limits(medians: Medians, ends: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the limits of the ratio from those of both medians (Zou and Donner, on logs)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_medians = np.log(medians.new.median), np.log(medians.old.median)
        (down_new, up_new), (down_old, up_old) = [
            (middle - np.log(lower), np.log(upper) - middle)
            for middle, (lower, upper) in zip(log_medians, ends, strict=True)
        ]
        log, twice = log_medians[0] - log_medians[1], 2 * medians.correlation
        lower, upper = (
            np.where(
                np.isinf(new_distance) | np.isinf(old_distance),
                np.inf,
                np.sqrt(
                    np.maximum(
                        new_distance**2 + old_distance**2 - twice * new_distance * old_distance, 0.0
                    )
                ),
            )
            for new_distance, old_distance in ((down_new, up_old), (up_new, down_old))
        )
        (low_new, high_new), (low_old, high_old) = ends
        # Where a limit is the median itself, the quotient of both ends is the limit, without the
        # rounding of logs.
        return (
            np.where((down_new == 0) | (up_old == 0), low_new / high_old, np.exp(log - lower)),
            np.where((up_new == 0) | (down_old == 0), high_new / low_old, np.exp(log + upper)),
        )


def units_with_limits(level: float) -> int:
    """Return how many units of one run each have limits of their median at a confidence level."""
    from scipy.special import betainc

    number = 2
    while betainc((number + 1) / 2, (number + 1) / 2, 1 / (number + 1)) > (1 - level) / 2:
        number += 1
    return number

"""Comparisons of single runs and of totals: Worms and Touati (2016), equations 5, 9 and 12.

Every unit has equal weight, and so have the runs inside one. The placement of a run is the metric
given that run, such as P[x < Y]. A metric is a mean of placements over the units of each system, so
that its variance is the sum over systems of the variance of their units' mean placements, divided
by their number (DeLong and others 1988; Brunner and Munzel 2000). All cells are sorted at once:
O(n log n) for each, and nothing is redrawn.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from perfarray.mixtures.numerics.comparison import (
    Limits,
    MetricComparison,
    lots,
    number_of_units,
    rows_of_cells,
    wilson_limits,
)
from perfarray.mixtures.numerics.totals import race_of_totals
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import mean_of_measured, summarise_units, unit_weights
from perfarray.numerics.statistics import tied_positions
from perfarray.numerics.types import Floats, Integers, Mask

# Values of cells that are ranked at once.
BLOCK = 1 << 18


def mean_differences(
    runs: Sequence[Floats], shape: tuple[int, ...], comparison: MetricComparison
) -> Limits:
    """Return E|X - Y| of two systems, runs (..., unit, run), with Student's limits.

    Degrees of freedom are Satterthwaite's (1946).
    """

    def evaluate(systems: Sequence[Floats]) -> tuple[Floats, ...]:
        (new, old), weights, measured = _pair(systems)
        by_run = _distances(new, old, weights)
        estimate = np.where(measured, (weights[0] * by_run[0]).sum(axis=-1), np.nan)
        variances, numbers = _variances(by_run, systems, comparison.paired)
        variance = np.sum(variances, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = variance**2 / np.sum(
                [share**2 / (n - 1) for share, n in zip(variances, numbers, strict=True)], axis=0
            )
            quantile = t_quantile(0.5 + 0.5 * comparison.confidence_level, degrees)
            half = np.where(variance > 0, quantile * np.sqrt(variance), variance)
        return estimate, np.maximum(estimate - half, 0.0), estimate + half

    return Limits(*_in_blocks(evaluate, runs, shape, comparison.paired, [()] * 3))


def probabilities_less(
    runs: Sequence[Floats],
    shape: tuple[int, ...],
    comparison: MetricComparison,
    *,
    shift: float,
    ties: float,
) -> tuple[Limits, Floats]:
    """Return P[X < Y + shift] + ties P[X = Y + shift] with Wilson's limits, and that of a tie.

    It is what `probabilities_least` has of two systems, in 40 % of the time.
    """

    def evaluate(systems: Sequence[Floats]) -> tuple[Floats, ...]:
        (new, old), weights, measured = _pair(systems)
        size = new.shape[-1]
        order, first, end = _ranked(np.concatenate([new, old + shift], axis=-1))
        starts, ends = (_unsorted(position, order) for position in (first, end))
        is_new = order < size
        mass = np.take_along_axis(np.concatenate(weights, axis=-1), order, axis=-1)
        below, at_most = _reached(mass * is_new, starts[:, size:], ends[:, size:])
        beaten, reached = _reached(mass * ~is_new, starts[:, :size], ends[:, :size])
        tie = reached - beaten
        by_run = [1 - reached + ties * tie, below + ties * (at_most - below)]
        estimate = np.clip((weights[0] * by_run[0]).sum(axis=-1), 0.0, 1.0)
        variances, numbers = _variances(by_run, systems, comparison.paired)
        limits = wilson_limits(
            np.where(measured, estimate, np.nan),
            np.sum(variances, axis=0),
            np.minimum.reduce(numbers),
            comparison,
        )
        return *limits, np.where(measured, (weights[0] * tie).sum(axis=-1), np.nan)

    *limits, tied = _in_blocks(evaluate, runs, shape, comparison.paired, [()] * 4)
    return Limits(*limits), tied


def _pair(systems: Sequence[Floats]) -> tuple[list[Floats], list[Floats], Mask]:
    """Return runs and weights (cell, run) of two systems, and which cells have both."""
    flat = [values.reshape(len(values), -1) for values in systems]
    weights = [
        _weights(values).reshape(runs.shape) for values, runs in zip(systems, flat, strict=True)
    ]
    measured = (weights[0] > 0).any(axis=-1) & (weights[1] > 0).any(axis=-1)
    return flat, weights, np.asarray(measured)


def _variances(
    by_run: Sequence[Floats], systems: Sequence[Floats], paired: bool
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return the variances of mean placements, and numbers of units, of systems or of pairs."""
    means = [
        _unit_means(placement.reshape(values.shape), values)
        for placement, values in zip(by_run, systems, strict=True)
    ]
    means = [means[0] + means[1]] if paired else means
    _, variances, numbers = zip(*map(summarise_units, means), strict=True)
    return variances, numbers


def _reached(mass: Floats, *positions: Integers) -> list[Floats]:
    """Return the share of the weight (cell, run) before each position: 1 behind the last."""
    sums = _cumulative(mass)
    sums /= np.maximum(sums[:, -1:], 0.5)
    return [np.take_along_axis(sums, index, axis=-1) for index in positions]


def _distances(new: Floats, old: Floats, weights: Sequence[Floats]) -> list[Floats]:
    """Return the mean distance of each run (cell, run) from the runs of the other system."""
    runs, mass = np.concatenate([new, old], axis=-1), np.concatenate(weights, axis=-1)
    runs = runs - np.where(np.isnan(runs), np.inf, runs).min(axis=-1, keepdims=True, initial=np.inf)
    order = np.argsort(runs, axis=-1)
    is_new, mass = order < new.shape[-1], np.take_along_axis(mass, order, axis=-1)
    values = np.nan_to_num(np.take_along_axis(runs, order, axis=-1))
    # E|v - X| = v (2 F(v) - 1) + E[X] - 2 E[X; X <= v]; runs that tie with v add nothing, so that
    # their order does not matter.
    distances = []
    for side in (~is_new, is_new):
        weight = np.where(side, mass, 0.0)
        reached, moment = np.cumsum(weight, axis=-1), np.cumsum(weight * values, axis=-1)
        distances.append(values * (2 * reached - reached[:, -1:]) + moment[:, -1:] - 2 * moment)
    return np.split(_unsorted(np.where(is_new, *distances), order), [new.shape[-1]], axis=-1)


def unit_differences(runs: Floats) -> Floats:
    """Return E|X - X'| of two runs of different units for every cell, runs (..., units, runs)."""
    measured = ~np.isnan(runs)
    inside = measured.sum(axis=-1, keepdims=True)
    n_units = (inside > 0).sum(axis=(-2, -1)).astype(float)
    shares = np.where(measured, 1 / np.maximum(inside, 1), 0.0)
    lowest = np.where(measured, runs, np.inf).min(axis=(-2, -1), keepdims=True, initial=np.inf)
    above = np.where(measured, runs - np.where(np.isfinite(lowest), lowest, 0.0), np.inf)
    cell = (*above.shape[:-2], -1)
    # Pairs inside a unit, which would make the difference too small, are taken away again.
    pairs = _sum_of_distances(above.reshape(cell), shares.reshape(cell))
    pairs = pairs - _sum_of_distances(above, shares).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(n_units > 1, pairs / (n_units * (n_units - 1)), np.nan))


def _sum_of_distances(values: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of |x_i - x_j| over all ordered pairs (..., run).

    Values that count nothing are infinite.
    """
    order = np.argsort(values, axis=-1)
    x, w = (np.take_along_axis(array, order, axis=-1) for array in (values, weights))
    reached = np.cumsum(w, axis=-1)
    return np.asarray(
        2 * (w * np.where(w > 0, x, 0.0) * (2 * reached - w - reached[..., -1:])).sum(axis=-1)
    )


def probabilities_least(
    runs: Sequence[Floats],
    shape: tuple[int, ...],
    comparison: MetricComparison,
    *,
    ties: bool,
    n_runs: int = 1,
    shift: float = 0.0,
) -> tuple[Limits, Floats]:
    """Return the probability of every system to be the least, shape (..., system), and of a tie.

    `runs` are (..., unit, run) of every system. Totals of `n_runs` runs are compared; of several
    runs that of the last system is moved by `shift`. With `ties`, systems that tie for the least
    share its probability alike. Limits are Wilson's.
    """

    def evaluate(systems: Sequence[Floats]) -> tuple[Floats, ...]:
        units, most_runs = np.max([samples.shape[1:] for samples in systems], axis=0)
        values = np.full((len(systems[0]), len(systems), units, most_runs), np.nan)
        for system, samples in enumerate(systems):
            values[:, system, : samples.shape[1], : samples.shape[2]] = samples
        weights = _weights(values)
        measured = (weights > 0).any(axis=(-2, -1))
        flat = values.reshape(*values.shape[:2], -1)
        shares = weights.reshape(flat.shape)
        if n_runs == 1:
            wins, tied, by_run = _race(flat, shares, ties)
        else:
            wins, tied, by_run = race_of_totals(flat, shares, n_runs, shift, ties)
        wins = np.where(measured, np.clip(wins, 0.0, 1.0), np.nan)
        # Units of every rival (cell, system, rival, unit): all of them vary the probability of a
        # system.
        placements = by_run.reshape(*by_run.shape[:2], *values.shape[1:])
        means = _unit_means(placements, values[:, None])
        means = means.sum(axis=2, keepdims=True) if comparison.paired else means
        variance = n_runs**2 * np.nan_to_num(summarise_units(means).variance).sum(axis=-1)
        n = number_of_units(values)
        n_min = np.where(n > 0, n, np.inf).min(axis=-1, keepdims=True)
        limits = wilson_limits(wins, variance, n_min, comparison, n_runs)
        return *limits, np.where(measured.any(axis=-1), tied, np.nan)

    *limits, tied = _in_blocks(evaluate, runs, shape, comparison.paired, [(len(runs),)] * 3 + [()])
    return Limits(*limits), tied


def _race(runs: Floats, weights: Floats, ties: bool) -> tuple[Floats, Floats, Floats]:
    """Return wins (cell, system), ties (cell,) and placements (cell, system, rival, run)."""
    cells, systems, n = runs.shape
    runs, weights = runs.reshape(cells, -1), weights.reshape(cells, -1)
    order, first, end = _ranked(runs)
    mass = np.take_along_axis(weights, order, axis=-1)
    itself = (order // n)[:, None] == np.arange(systems)[:, None]
    # The probability that a run of the rival is more, or ties (cell, rival, run); 1 and 0 for a run
    # of its own.
    sums = _cumulative(np.where(itself, mass[:, None], 0.0))
    sums /= np.maximum(sums[..., -1:], 0.5)
    reached = np.take_along_axis(sums, end[:, None], axis=-1)
    above = np.where(itself, 1.0, 1.0 - reached)
    tie = np.where(itself, 0.0, reached - np.take_along_axis(sums, first[:, None], axis=-1))
    # Runs of every system in ascending order, as positions among all; how many of them precede each
    # run, or are at most as large.
    positions = np.sort(np.argsort(order, axis=-1).reshape(cells, systems, n), axis=-1)
    counts = np.zeros((cells, systems, systems * n + 1), int)
    np.cumsum(itself, axis=-1, out=counts[..., 1:])
    preceding, upto = (
        np.take_along_axis(counts, _unsorted(index, order)[:, None], axis=-1)
        .reshape(cells, systems, systems, n)
        .swapaxes(1, 2)
        for index in (first, end)
    )
    # Contiguous, so that sums do not depend on how cells are chunked.
    by_run = np.zeros((cells, systems, systems, n))
    # A product over rivals is averaged over the lot that breaks a tie.
    for lot, weight in lots(systems) if ties else [(0.0, 1.0)]:
        factors = above + lot * tie if ties else above
        # Products over all rivals but one: up to it, and from it on, since a factor may be 0.
        products = np.repeat(mass[:, None], systems, axis=1)
        products[:, 1:] *= np.cumprod(factors[:, :-1], axis=1)
        products[:, :-1] *= np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
        of_own_runs = np.take_along_axis(products, positions.reshape(cells, 1, -1), axis=-1)
        chances = _cumulative(of_own_runs.reshape(cells, systems, systems, n))
        given_lot = np.take_along_axis(chances, preceding, axis=-1)
        if ties:
            given_lot = (1 - lot) * given_lot + lot * np.take_along_axis(chances, upto, axis=-1)
        diagonal = np.arange(systems)
        given_lot[:, diagonal, diagonal] = _unsorted(factors.prod(axis=1), order).reshape(
            cells, systems, n
        )
        by_run += weight * given_lot
    wins = np.einsum(
        "csr,crs->cs",
        weights.reshape(cells, systems, n),
        np.diagonal(by_run, axis1=1, axis2=2),
    )
    strict = np.einsum("csi,ci->cs", itself, mass * above.prod(axis=1)) if ties else wins
    return wins, np.clip(1 - strict.sum(axis=-1), 0.0, 1.0), by_run.swapaxes(1, 2)


def _ranked(runs: Floats) -> tuple[Integers, Integers, Integers]:
    """Return the order of runs (cell, run), and where the tie of each begins and ends in it."""
    order = np.argsort(runs, axis=-1)
    ascending = np.take_along_axis(runs, order, axis=-1)
    if (ascending[:, 1:] != ascending[:, :-1]).all():  # ties take twice as long
        position = np.broadcast_to(np.arange(runs.shape[-1]), runs.shape)
        return order, position, position + 1
    first, last = tied_positions(ascending)
    return order, first, last + 1


def _cumulative(values: Floats) -> Floats:
    """Return cumulative sums along the last axis that start at 0."""
    sums = np.empty((*values.shape[:-1], values.shape[-1] + 1))
    sums[..., 0] = 0.0
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _unsorted(values: Any, order: Integers) -> Any:
    """Return values of sorted runs (cell, run) in the order of the data."""
    result = np.empty_like(values)
    np.put_along_axis(result, order, values, axis=-1)
    return result


def _weights(runs: Floats) -> Floats:
    """Return the weight of every run (..., unit, run); 0 in cells without runs."""
    return np.nan_to_num(unit_weights(runs))


def _unit_means(placements: Floats, runs: Floats) -> Floats:
    """Return the mean placement of every unit (..., unit), NaN without runs."""
    return mean_of_measured(np.where(np.isnan(runs), np.nan, placements))


def _in_blocks(
    function: Callable[[Sequence[Floats]], tuple[Floats, ...]],
    runs: Sequence[Floats],
    shape: tuple[int, ...],
    paired: bool,
    tails: Sequence[tuple[int, ...]],
) -> list[Floats]:
    """Evaluate a function of the runs (cell, unit, run) of all systems, some cells at a time.

    Its answers have the shapes (cell, *tail).
    """
    rows = rows_of_cells(runs, shape)
    size = sum(prod(values.shape[1:]) for values in rows) * prod(tails[0])
    step = max(1, BLOCK // max(size, 1))
    answers = [np.empty((prod(shape), *tail)) for tail in tails]
    for start in range(0, prod(shape), step):
        block = [values[start : start + step] for values in rows]
        if paired:  # units that all systems measured
            common = np.logical_and.reduce([(~np.isnan(values)).any(axis=-1) for values in block])
            block = [np.where(common[..., None], values, np.nan) for values in block]
        for answer, values in zip(answers, function(block), strict=True):
            answer[start : start + step] = values
    return [answer.reshape((*shape, *answer.shape[1:])) for answer in answers]

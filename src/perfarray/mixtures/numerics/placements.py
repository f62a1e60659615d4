"""Limits of comparisons of single runs by placements: a run's placement is the metric given that run, such as P[x < Y].

A metric is a mean of placements over the units of each system, so that its variance is the sum over
systems of the variance of their units' mean placements, divided by their number (DeLong and others
1988; Brunner and Munzel 2000). All cells are sorted at once: O(n log n) for each, and nothing is
redrawn.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from perfarray.mixtures.numerics.empirical import (
    ROUNDING,
    Drawing,
    Limits,
    cumulative,
    lots,
    matched,
    number_of_units,
    rows_of_cells,
    wilson_limits,
)  # fmt: skip
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import mean_of_measured, summarise_units, unit_weights
from perfarray.numerics.statistics import tied_positions
from perfarray.numerics.types import Floats, Integers

# Values of cells that are ranked at once.
BLOCK = 1 << 18


class Ranked(NamedTuple):
    """Runs of several systems (cell, run) in ascending order, not measured ones last, and where the ties of each begin and end."""

    order: Integers
    first: Integers
    end: Integers

    def sorted(self, values: Floats) -> Floats:
        """Return values of runs in ascending order of the runs."""
        return np.take_along_axis(values, self.order, axis=-1)

    def unsorted(self, values: Any) -> Any:
        """Return values of sorted runs in the order of the data."""
        result = np.empty_like(values)
        np.put_along_axis(result, np.broadcast_to(self.order, values.shape), values, axis=-1)
        return result


class Shares(NamedTuple):
    """Values of placements of two systems: the metric, the placements of each system's runs, and the probability of a tie."""

    estimate: Floats
    new: Floats
    old: Floats
    tied: Floats


def ranked(values: Floats) -> Ranked:
    """Sort runs (cell, run)."""
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    if (ascending[:, 1:] != ascending[:, :-1]).all():  # ties take twice as long
        position = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
        return Ranked(order, position, position + 1)
    first, last = tied_positions(ascending)
    return Ranked(order, first, last + 1)


def less_shares(
    new: Floats, old: Floats, weights: Sequence[Floats], shift: float, ties: float
) -> Shares:
    """Return P[X < Y + shift] + ties P[X = Y + shift], and placements, of runs (cell, run): equation 9 of Worms and Touati (2016)."""
    size = new.shape[-1]
    ranks = ranked(np.concatenate([new, old + shift], axis=-1))
    edges = [ranks.unsorted(position) for position in (ranks.first, ranks.end)]
    is_new, mass = ranks.order < size, ranks.sorted(np.concatenate(weights, axis=-1))
    less, at_most = _reached(mass * is_new, [edge[:, size:] for edge in edges])
    beaten, reached = _reached(mass * ~is_new, [edge[:, :size] for edge in edges])
    tied_new = reached - beaten
    placed_new, placed_old = 1 - reached + ties * tied_new, less + ties * (at_most - less)
    estimate = np.clip((weights[0] * placed_new).sum(axis=-1), 0.0, 1.0)
    return Shares(estimate, placed_new, placed_old, (weights[0] * tied_new).sum(axis=-1))


def _reached(mass: Floats, positions: Sequence[Integers]) -> list[Floats]:
    """Return the share of the weight (cell, run) that lies before each position: exactly 1 behind the last run, though sums are rounded."""
    sums = cumulative(mass)
    sums /= np.maximum(sums[:, -1:], 0.5)
    return [np.take_along_axis(sums, index, axis=-1) for index in positions]


def difference_shares(new: Floats, old: Floats, weights: Sequence[Floats]) -> Shares:
    """Return E|X - Y| and placements of runs (cell, run): equation 5."""
    runs, mass = np.concatenate([new, old], axis=-1), np.concatenate(weights, axis=-1)
    runs = runs - np.where(np.isnan(runs), np.inf, runs).min(axis=-1, keepdims=True, initial=np.inf)
    ranks = ranked(runs)
    is_new, mass = ranks.order < new.shape[-1], ranks.sorted(mass)
    values = np.nan_to_num(ranks.sorted(runs))
    # E|v - X| = v (2 F(v) - 1) + E[X] - 2 E[X; X <= v]; runs that tie with v add nothing, so that
    # their order does not matter.
    distances = []
    for side in (~is_new, is_new):
        weight = np.where(side, mass, 0.0)
        reached, moment = np.cumsum(weight, axis=-1), np.cumsum(weight * values, axis=-1)
        distances.append(values * (2 * reached - reached[:, -1:]) + moment[:, -1:] - 2 * moment)
    placements = ranks.unsorted(np.where(is_new, *distances))
    placed_new, placed_old = np.split(placements, [new.shape[-1]], axis=-1)
    return Shares(
        (weights[0] * placed_new).sum(axis=-1), placed_new, placed_old, np.full(len(new), np.nan)
    )


def _weights(runs: Floats) -> Floats:
    """Return the weight of every run (..., unit, run); 0 in cells without runs."""
    return np.nan_to_num(unit_weights(runs))


def _unit_means(placements: Floats, runs: Floats) -> Floats:
    """Return the mean placement of every unit (..., unit), NaN without runs, of runs (..., unit, run)."""
    return mean_of_measured(np.where(np.isnan(runs), np.nan, placements))


def _in_blocks(
    function: Callable[[Sequence[Floats]], tuple[Floats, ...]],
    runs: Sequence[Floats],
    shape: tuple[int, ...],
    paired: bool,
    each: bool = False,
) -> tuple[Limits, Floats]:
    """Evaluate a function of the runs (cell, unit, run) of all systems, some cells at a time.

    With `each` it has limits for each system.
    """
    rows = rows_of_cells(runs, shape)
    tail = (len(rows),) if each else ()
    step = max(1, BLOCK // max(sum(prod(values.shape[1:]) for values in rows) * prod(tail), 1))
    answers = [np.full((prod(shape), *axes), np.nan) for axes in (tail, tail, tail, ())]
    for start in range(0, prod(shape), step):
        block = [values[start : start + step] for values in rows]
        for answer, values in zip(
            answers, function(matched(block) if paired else block), strict=True
        ):
            answer[start : start + step] = values
    *limits, tied = (answer.reshape((*shape, *answer.shape[1:])) for answer in answers)
    return Limits(*limits), tied


def two_systems(
    runs: Sequence[Floats],
    shape: tuple[int, ...],
    shares: Callable[..., Shares],
    drawing: Drawing,
    *,
    score: bool,
) -> tuple[Limits, Floats]:
    """Return a metric of two systems with limits, and the probability of a tie, all of a shape.

    Runs are (..., unit, run).

    Limits are Wilson's with `score`, else Student's with the degrees of freedom of Satterthwaite
    (1946).
    """

    def evaluate(runs: Sequence[Floats]) -> tuple[Floats, ...]:
        weights = [_weights(values).reshape(len(values), -1) for values in runs]
        answer = shares(*(values.reshape(len(values), -1) for values in runs), weights)
        measured = (weights[0] > 0).any(axis=-1) & (weights[1] > 0).any(axis=-1)
        means = [
            _unit_means(placed.reshape(values.shape), values)
            for placed, values in zip((answer.new, answer.old), runs, strict=True)
        ]
        if drawing.paired:
            means = [means[0] + means[1]]
        _, variances, numbers = zip(*map(summarise_units, means), strict=True)
        estimate = np.where(measured, answer.estimate, np.nan)
        if score:
            limits = _score_limits(
                estimate, np.sum(variances, axis=0), np.minimum.reduce(numbers), drawing
            )
        else:
            limits = _student_limits(estimate, variances, numbers, drawing.confidence_level)
        return *limits, np.where(measured, answer.tied, np.nan)

    return _in_blocks(evaluate, runs, shape, drawing.paired)


def _score_limits(estimate: Floats, variance: Floats, n: Floats, drawing: Drawing) -> Limits:
    """Return Wilson's limits for the number of units that has a variance.

    NaN for fewer than two units.
    """
    spread = estimate * (1 - estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(spread < ROUNDING, np.nan, spread / variance)
    return wilson_limits(estimate, number, np.where(n > 1, n, np.nan), drawing)


def _student_limits(
    estimate: Floats, variances: Sequence[Floats], numbers: Sequence[Floats], level: float
) -> Limits:
    """Return limits of a positive mean of independent parts, each with the variance of its mean and its number of units."""
    variance = np.sum(variances, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variance**2 / np.sum(
            [share**2 / (n - 1) for share, n in zip(variances, numbers, strict=True)], axis=0
        )
        half = np.where(
            variance > 0, t_quantile(0.5 + 0.5 * level, degrees) * np.sqrt(variance), variance
        )
    return Limits(estimate, np.maximum(estimate - half, 0.0), estimate + half)


def several_systems(
    runs: Sequence[Floats], shape: tuple[int, ...], ties: bool, drawing: Drawing
) -> tuple[Limits, Floats]:
    """Return the probability of every system to be the least, shape (..., system), with Wilson's limits, and that of a tie for the least.

    `runs` are (..., unit, run) of every system. With `ties`, those that tie for the least share its
    probability alike (equation 12).
    """

    def evaluate(systems: Sequence[Floats]) -> tuple[Floats, ...]:
        runs = np.stack(systems, axis=1)  # (cell, system, unit, run)
        race = _race(runs, ties)
        placed = _placements(race, runs.shape[1])
        winners = np.diagonal(placed, axis1=1, axis2=2)
        weights = _weights(runs)
        wins = np.einsum("csr,crs->cs", weights.reshape(*weights.shape[:2], -1), winners)
        strict = (
            wins
            if not ties
            else np.einsum("csi,ci->cs", race.itself, race.mass * race.above.prod(axis=1))
        )
        # Units of every rival (cell, system, rival, unit): all of them vary the probability of a
        # system.
        means = _unit_means(
            placed.swapaxes(1, 2).reshape(*runs.shape[:2], *runs.shape[1:]), runs[:, None]
        )
        of_units = summarise_units(means.sum(axis=2) if drawing.paired else means).variance
        variance = of_units if drawing.paired else np.nan_to_num(of_units).sum(axis=-1)
        measured = (weights > 0).any(axis=(-2, -1))
        n = number_of_units(runs)
        least = np.where(n > 0, n, np.inf).min(axis=-1, keepdims=True)
        limits = _score_limits(
            np.where(measured, np.clip(wins, 0.0, 1.0), np.nan), variance, least, drawing
        )
        tied = np.clip(1 - np.where(measured, strict, 0.0).sum(axis=-1), 0.0, 1.0)
        return *limits, np.where(measured.any(axis=-1), tied, np.nan)

    return _in_blocks(evaluate, runs, shape, drawing.paired, each=True)


class Race(NamedTuple):
    """The runs of several systems in ascending order, with their weights, and whether each is a run of a system (cell, system, run).

    `above` and, where ties are shared, `tie` (cell, rival, run) are the probabilities that a run of
    the rival is more, or ties; 1 and 0 for a run of its own.
    """

    ranks: Ranked
    mass: Floats
    itself: Integers
    above: Floats
    tie: Floats | None


def _race(runs: Floats, ties: bool) -> Race:
    """Compare every run of (cell, system, unit, run) with the runs of every rival."""
    cells, systems = runs.shape[:2]
    ranks = ranked(runs.reshape(cells, -1))
    itself = (ranks.order // runs[0, 0].size)[:, None] == np.arange(systems)[:, None]
    mass = ranks.sorted(_weights(runs).reshape(cells, -1))
    sums = cumulative(np.where(itself, mass[:, None], 0.0))
    sums /= np.maximum(sums[..., -1:], 0.5)
    above = np.take_along_axis(sums, ranks.end[:, None], axis=-1)
    tie = (
        np.where(itself, 0.0, above - np.take_along_axis(sums, ranks.first[:, None], axis=-1))
        if ties
        else None
    )
    np.subtract(1.0, above, out=above)
    above[itself] = 1.0
    return Race(ranks, mass, itself, above, tie)


def _placements(race: Race, systems: int) -> Floats:
    """Return the probability of every system to be the least given each run (cell, rival, system, run)."""
    ranks, cells = race.ranks, len(race.mass)
    shape = (cells, systems, systems, race.mass.shape[-1] // systems)
    # Runs of every system in ascending order, as positions among all; how many of them precede each
    # run, or are at most as large.
    positions = np.sort(
        np.argsort(ranks.order, axis=-1).reshape(cells, systems, -1), axis=-1
    ).reshape(cells, 1, -1)
    counts = np.zeros((cells, systems, race.mass.shape[-1] + 1), int)
    np.cumsum(race.itself, axis=-1, out=counts[..., 1:])
    preceding, reached = (
        np.take_along_axis(counts, ranks.unsorted(index)[:, None], axis=-1)
        .reshape(shape)
        .swapaxes(1, 2)
        for index in (ranks.first, ranks.end)
    )
    if race.tie is None:
        return _given_lot(race, race.above, positions, preceding)
    placed = np.zeros(shape)
    for lot, weight in lots(
        systems
    ):  # a product over rivals is averaged over the lot that breaks a tie
        factors = race.above + lot * race.tie
        below, upto = (
            _given_lot(race, factors, positions, numbers) for numbers in (preceding, reached)
        )
        placed += weight * ((1 - lot) * below + lot * upto)
    return placed


def _given_lot(race: Race, factors: Floats, positions: Integers, preceding: Integers) -> Floats:
    """Return placements for given probabilities (cell, rival, run) that a run of the rival comes after a run."""
    systems = factors.shape[1]
    # Products over all rivals but one: up to it, and from it on, since a factor may be 0.
    chances = np.repeat(race.mass[:, None], systems, axis=1)
    chances[:, 1:] *= np.cumprod(factors[:, :-1], axis=1)
    chances[:, :-1] *= np.cumprod(factors[:, :0:-1], axis=1)[:, ::-1]
    sums = cumulative(np.take_along_axis(chances, positions, axis=-1).reshape(preceding.shape))
    placements = np.take_along_axis(sums, preceding, axis=-1)
    diagonal = np.arange(systems)
    placements[:, diagonal, diagonal] = race.ranks.unsorted(factors.prod(axis=1)).reshape(
        len(factors), systems, -1
    )
    return np.asarray(placements)

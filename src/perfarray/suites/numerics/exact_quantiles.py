"""The five numbers of a suite's score without drawing: quantiles inf{x: F(x) >= p} of a sum of one run of every benchmark.

F meets in the middle: the sums of one part of the suite are listed, and for each of them it is known how much of the other part lies
below a place less that sum. Where all sums are few enough the other part is listed too, and the quantile is one of them. Else values are
rounded to a lattice, on which the law of a sum is a convolution. The lattice of each benchmark begins where its values are moved least (of
three values by a fifth of a step mostly, and not by a half), what rounding can move is known, and the bounds that follow are returned.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.distributions import Suite, from_scale, to_scale, units_of

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))

LISTED = 1 << 22
"""Most sums of which the quantile is found: 3^13 are fewer. A lattice is as fast where there are more."""

SORTED = 1 << 12
"""Sums that are sorted rather than searched."""

LONGER = 27
"""How many times as many sums are searched as are looked for."""

SHORT = 1 << 10
"""Most sums of the benchmarks that are left out of a law on the lattice."""

POINTS = 1 << 20
"""The bounds of a quantile are at most as far apart as B steps of a lattice of so many between the least and the largest sum."""

FINER = 1.1
"""How many times as many steps are tried where those tried before leave bounds that are farther apart."""

WHOLE, LARGE = 1 << 53, 10**300
"""Weights below the first are whole numbers and add up without rounding; those beyond the second are added up as shares."""

NARROW = 1e-14
"""Sums that differ by less, relative to the largest, are equal but for rounding."""

BESIDE = 1 / 32
"""How far from where a quantile is guessed a bracket goes on, as a share of its width."""

ROUNDING = 1e-9
"""What rounding can change in the sums of larger weights, all positive, relative: 1e6 additions of 1.1e-16 each are less."""

Points = tuple[Floats, npt.NDArray[np.int64]]
"""Distinct values of one benchmark in ascending order, and how often each counts."""


class Quantiles(NamedTuple):
    """Quantiles of the sum, and between what bounds the true ones lie: equal to them where all sums were listed."""

    values: Floats
    lower: Floats
    upper: Floats


class ExactNumbers(NamedTuple):
    """Least, quartiles and largest of the scores of every cell, and between what bounds the quartiles lie; NaN without data."""

    minimum: Floats
    q1: Floats
    median: Floats
    q3: Floats
    maximum: Floats
    lower: Floats
    upper: Floats


def exact_numbers(suite: Suite, mean: str, after_each: Callable[[], object] | None = None) -> ExactNumbers:
    """Return the five numbers of every cell; the bounds have shape (3, cells). Something may be called after each cell."""
    extremes, quartiles = np.full((2, len(suite.runs)), np.nan), np.full((3, 3, len(suite.runs)), np.nan)
    # Cells differ in their values, and with them in the sums there are.
    for cell, units in enumerate(units_of(suite)):
        if units > 0:
            shares = None if suite.shares is None else suite.shares[cell]
            extremes[:, cell], quartiles[:, :, cell] = _exact_cell(to_scale(suite.runs[cell], mean) * suite.counts[:, None, None], shares)
        if after_each is not None:
            after_each()
    minimum, maximum = from_scale(extremes, mean)
    (q1, median, q3), lower, upper = from_scale(quartiles, mean)
    return ExactNumbers(minimum, q1, median, q3, maximum, lower, upper)


def _exact_cell(scaled: Floats, shares: Floats | None) -> tuple[Floats, Floats]:
    """Return least and largest average over benchmarks, and its quartiles with their bounds, shape (3, quartiles)."""
    if shares is None:
        groups, weights = [scaled], [Fraction(1)]
    else:
        used: Integers = np.flatnonzero(shares > 0)
        groups = [scaled[:, [unit]] for unit in used]
        weights = [Fraction(float(shares[unit])).limit_denominator(1 << 20) for unit in used]
    points = [[points_of(values_of_benchmark) for values_of_benchmark in group] for group in groups]
    least = min(sum(float(values[0]) for values, _ in group) for group in points)
    largest = max(sum(float(values[-1]) for values, _ in group) for group in points)
    extremes = np.array([least, largest]) / len(scaled)
    return extremes, np.clip(np.array(quantiles_of_sum(points, weights, QUARTERS)) / len(scaled), *extremes)


def points_of(runs: Floats) -> Points:
    """Return the distinct values of runs (units, values in a unit) with whole counts: units weigh alike, and in a unit its values."""
    units = [[value for value in unit if value == value] for unit in runs.tolist()]  # NaN differs from itself
    shared = lcm(*(len(unit) for unit in units if unit))
    counts: dict[float, int] = {}
    # Runs are mostly few: that is faster than arrays would be.
    for unit in units:
        for value in unit:
            counts[value] = counts.get(value, 0) + shared // len(unit)
    values = sorted(counts)
    return np.array(values), np.array([counts[value] for value in values])


def quantiles_of_sum(groups: Sequence[Sequence[Points]], shares: Sequence[Fraction], probabilities: Sequence[Fraction]) -> Quantiles:
    """Return quantiles of a sum of one draw per benchmark; of a mixture of such laws where units are shared.

    Parameters
    ----------
    parts : sequence of sequences of Points
        For every shared unit (one, where none is shared), the values of every benchmark.
    shares : sequence of Fraction
        The probability of each part.
    probabilities : sequence of Fraction
        Of the quantiles.

    Returns
    -------
    Quantiles
        Of shape (probabilities,).
    """
    totals = [prod(int(counts.sum()) for _, counts in group) for group in groups]
    denominator = lcm(*((share / total).denominator for share, total in zip(shares, totals, strict=True)))
    weights = [int(share / total * denominator) for share, total in zip(shares, totals, strict=True)]
    targets = [-(-p.numerator * denominator // p.denominator) for p in probabilities]
    if sum(prod(len(values) for values, _ in group) for group in groups) <= LISTED:
        quantiles = _listed(groups, weights, targets, denominator)
        return Quantiles(quantiles, quantiles, quantiles)
    return _on_lattice(groups, weights, targets, denominator)


def _listed(groups: Sequence[Sequence[Points]], weights: Sequence[int], targets: Sequence[int], denominator: int) -> Floats:
    """Return the least of all sums at which the weights reach each target."""
    kind: Any = np.int64 if denominator < WHOLE else object
    number = sum(prod(len(values) for values, _ in group) for group in groups)
    if number <= SORTED:
        laws = [_sums(group, weight, kind) for group, weight in zip(groups, weights, strict=True)]
        sums, multiplicities = (np.concatenate(pieces) for pieces in zip(*laws, strict=True))
        return _reached(sums, multiplicities, targets)
    halves = [_halves(group, weight, kind) for group, weight in zip(groups, weights, strict=True)]
    ends = [[float(half.short[end] + half.long[end]) for half in halves] for end in (0, -1)]
    extent = max(map(abs, (*ends[0], *ends[1])))
    start = Bracket(min(ends[0]) - extent, max(ends[1]) + extent, 0, denominator)
    quantiles = []
    for target in targets:
        bracket = _narrowed(partial(_weights_below, halves), target, start, least=NARROW * extent, few=denominator * SORTED // number)
        quantiles.append(_within(halves, bracket, target, tied=bracket.width <= NARROW * extent))
    return np.array(quantiles)


def _sums(group: Sequence[Points], weight: int, kind: Any) -> tuple[Floats, np.ndarray]:
    """Return all sums of one value of every benchmark, in ascending order, and how much each weighs."""
    sums, multiplicities = np.zeros(1), np.array([weight], dtype=kind)
    for values, counts in group:
        sums = np.add.outer(sums, values).ravel()
        multiplicities = np.multiply.outer(multiplicities, counts.astype(kind)).ravel()
    order = np.argsort(sums)
    return sums[order], multiplicities[order]


def _reached(sums: Floats, weights: np.ndarray, targets: Sequence[int]) -> Floats:
    """Return the least of some sums at which their weights reach each target."""
    order = np.argsort(sums)
    reached = np.cumsum(weights[order])
    return np.asarray(sums[order[[int(np.argmax(reached >= target)) for target in targets]]])


class Halves(NamedTuple):
    """All sums of one half of the benchmarks and of the other, ascending; the weights of the ones, those up to each of the others."""

    short: Floats
    weights: np.ndarray
    long: Floats
    upto: np.ndarray


def _halves(group: Sequence[Points], weight: int, kind: Any) -> Halves:
    """Split the benchmarks into two parts, of which the one that is searched has so many times as many sums."""
    halves: tuple[list[Points], list[Points]] = [], []
    sizes = [1, 1]
    for points in sorted(group, key=lambda points: -len(points[0])):
        next_one = int(sizes[1] < LONGER * sizes[0])
        halves[next_one].append(points)
        sizes[next_one] *= len(points[0])
    (short, weights), (long, long_weights) = _sums(halves[0], 1, kind), _sums(halves[1], weight, kind)
    return Halves(short, weights, long, np.concatenate([np.zeros(1, kind), np.cumsum(long_weights)]))


def _places(half: Halves, sums: Floats) -> npt.NDArray[np.int64]:
    """Return for every sum (n,) and every sum of the short half how many of the long half do not exceed what is left: (n, short)."""
    return np.searchsorted(half.long, sums[:, None] - half.short, side="right")


def _weights_below(halves: Sequence[Halves], sums: Floats) -> np.ndarray:
    """Return the weight of all that does not exceed each sum."""
    return np.asarray(sum((half.upto[_places(half, sums)] * half.weights).sum(axis=-1) for half in halves))


def _within(halves: Sequence[Halves], bracket: "Bracket", target: int, *, tied: bool) -> float:
    """Return the least sum inside a bracket at which the weights reach a target; of sums that differ by rounding, the largest."""
    sums_inside, multiplicities = [], []
    for half in halves:
        first, last = _places(half, np.array([bracket.low, bracket.high]))
        if tied:
            inside = last > first
            sums_inside.append(half.short[inside] + half.long[last[inside] - 1])
            continue
        short = np.repeat(np.arange(len(first)), last - first)
        long = np.arange(len(short)) + np.repeat(first - np.cumsum(last - first) + (last - first), last - first)
        sums_inside.append(half.short[short] + half.long[long])
        multiplicities.append(half.weights[short] * (half.upto[long + 1] - half.upto[long]))
    if tied:
        return float(max(sums.max(initial=-np.inf) for sums in sums_inside))
    return float(_reached(np.concatenate(sums_inside), np.concatenate(multiplicities), [target - bracket.below])[0])


class Bracket(NamedTuple):
    """Two places with a quantile between them: less than the target does not exceed the lower one, and as much the upper."""

    low: float
    high: float
    below: Any
    above: Any

    @property
    def width(self) -> float:
        """How far the places are apart."""
        return self.high - self.low


def _narrowed(
    weights: Callable[[Floats], np.ndarray], target: Any, bracket: Bracket, *, least: float, few: Any = 0, lattice: bool = False
) -> Bracket:
    """Narrow a bracket until it is no wider than the least, or holds little weight; on a lattice its ends are whole numbers.

    F is nearly straight inside a narrow bracket: its ends move to both sides of the place where a line from end to end reaches the
    target. Where it is not, the bracket is halved.
    """
    while bracket.width > least and bracket.above - bracket.below > few:
        guess = bracket.low + bracket.width * float((target - bracket.below) / (bracket.above - bracket.below))
        points = np.array([guess - BESIDE * bracket.width, guess + BESIDE * bracket.width, bracket.low + bracket.width / 2])
        inside = min(least, bracket.width / 2)
        points = np.sort(np.clip(np.rint(points) if lattice else points, bracket.low + inside, bracket.high - inside))
        for point, reached in zip(points.tolist(), weights(points).tolist(), strict=True):
            if reached >= target:
                bracket = bracket._replace(high=point, above=reached)
                break
            bracket = bracket._replace(low=point, below=reached)
    return bracket


def _on_lattice(groups: Sequence[Sequence[Points]], weights: Sequence[int], targets: Sequence[int], denominator: int) -> Quantiles:
    """Return quantiles of sums of rounded values, with bounds on those of the sums themselves.

    The lattice has as many steps as bring the bounds as near as `POINTS` would, were every value moved by half a step.
    """
    least = min(sum(float(values[0]) for values, _ in group) for group in groups)
    largest = max(sum(float(values[-1]) for values, _ in group) for group in groups)
    finest = POINTS / len(groups[0])
    steps = finest * max(sum(_expected_arc(len(values)) for values, _ in group) for group in groups) / FINER
    moved = np.inf
    while moved * finest > steps:
        steps *= FINER
        step = (largest - least) / steps
        rounded = [_rounded(group, step) for group in groups]
        begins = np.array([law.begin for law in rounded])
        offsets = np.rint(begins - begins[0])  # of a mixture, what is left of a step is moved, too
        moved = max(
            law.moved + 2 * remainder for law, remainder in zip(rounded, np.abs(begins - begins[0] - offsets).tolist(), strict=True)
        )
    scale = 1 if denominator < WHOLE else denominator
    laws = [_lattice_law(law, int(offset), weight, scale) for law, offset, weight in zip(rounded, offsets, weights, strict=True)]
    ends = [
        [offset + sum(values[end] for values in law.positions) for law, offset in zip(rounded, offsets, strict=True)] for end in (0, -1)
    ]
    start = Bracket(float(min(ends[0])) - 1.0, float(max(ends[1])), 0.0, denominator / scale)
    slack = 0.0 if scale == 1 else ROUNDING
    positions = [
        [
            _narrowed(partial(_lattice_weights, laws), target / scale * (1 + side * slack), start, least=1, lattice=True).high
            for target in targets
        ]
        for side in ((0, -1, 1) if slack else (0,))
    ]
    values, lower, upper = step * (begins[0] + np.array(positions if slack else positions * 3))
    return Quantiles(values, lower - step * moved / 2, upper + step * moved / 2)


def _expected_arc(number: int) -> float:
    """Return how long an arc that holds so many random places on a circle of length 1 has to be, on average."""
    return 1 - sum(1 / rank for rank in range(1, number + 1)) / number


class Rounded(NamedTuple):
    """Values as places on a lattice from `begin` on, in steps, by benchmark, their counts, and how far apart rounding can move two sums."""

    positions: list[Integers]
    counts: list[npt.NDArray[np.int64]]
    begin: float
    moved: float


def _rounded(group: Sequence[Points], step: float) -> Rounded:
    """Round values to steps, those of each benchmark from a place of its own on, so that they are moved least.

    What is left of a step beyond a whole number lies on a circle: the middle of the shortest arc that holds it all is that place.
    """
    positions, begin, moved = [], 0.0, 0.0
    for values, _ in group:
        first = float(values[0])
        remainders = sorted((value - first) / step % 1.0 for value in values.tolist())
        gap, end = max(
            (following - preceding, preceding)
            for preceding, following in zip(remainders, [*remainders[1:], remainders[0] + 1.0], strict=True)
        )
        arc = 1.0 - gap
        shift = end - arc / 2
        positions.append(np.rint((values - first) / step - shift).astype(np.int64))
        begin, moved = begin + shift + first / step, moved + arc
    return Rounded(positions, [counts for _, counts in group], begin, moved)


class LatticeLaw(NamedTuple):
    """The weights of the law of some benchmarks up to each place from the first on; the sums of the others, as places, with weights."""

    begin: int
    upto: Floats
    short: Integers
    weights: Floats


def _lattice_weights(laws: Sequence[LatticeLaw], limits: Floats) -> Floats:
    """Return the weight of all that does not exceed each place."""
    weights = np.zeros(len(limits))
    for law in laws:
        # Before the first place nothing is reached, after the last all is.
        positions = limits.astype(np.int64)[:, None] - law.short - (law.begin - 1)
        weights += law.upto.take(positions, mode="clip") @ law.weights
    return weights


def _lattice_law(rounded: Rounded, begin: int, weight: int, scale: int) -> LatticeLaw:
    """Return the law of the sums of places, with weights over `scale`: added up, not transformed.

    Rounding of a Fourier transform would decide where F is a quarter exactly; whole numbers below 2^53 add up exactly, as do their shares
    but for a relative error. The benchmarks with the widest ranges are listed: what they would add to is longest.
    """
    order = sorted(range(len(rounded.positions)), key=lambda index: int(rounded.positions[index][-1] - rounded.positions[index][0]))
    positions = [rounded.positions[index] for index in order]
    totals = [int(rounded.counts[index].sum()) for index in order]
    units = [1] * len(totals) if prod(totals) < LARGE else totals
    shares = [rounded.counts[index] / unit for index, unit in zip(order, units, strict=True)]
    number, n_long = 1, len(positions)
    while n_long > 1 and number * len(positions[n_long - 1]) <= SHORT:
        n_long -= 1
        number *= len(positions[n_long])
    short, multiplicities = np.zeros(1, dtype=np.int64), np.ones(1)
    for benchmark_positions, counts in zip(positions[n_long:], shares[n_long:], strict=True):
        short, multiplicities = np.add.outer(short, benchmark_positions).ravel(), np.multiply.outer(multiplicities, counts).ravel()
    upto = _upto([benchmark_positions - benchmark_positions[0] for benchmark_positions in positions[:n_long]], shares[:n_long])
    return LatticeLaw(
        begin + sum(int(benchmark_positions[0]) for benchmark_positions in positions[:n_long]),
        upto,
        short,
        multiplicities * (weight * prod(units) / scale),
    )


def _upto(positions: Sequence[Integers], shares: Sequence[Floats]) -> Floats:
    """Return how much of the law of a sum of places that begin with 0 does not exceed -1, 0, 1, ...

    What does not exceed a place adds up as what lies there does; before the first place are as many zeros as the widest benchmark needs.
    """
    ranges = [int(benchmark_positions[-1]) for benchmark_positions in positions]
    margin = 1 + max(ranges)
    # Two arrays serve in turn: new ones of megabytes would be zeroed by the system each time.
    law, wider = np.zeros((2, margin + 1 + sum(ranges)))
    law[margin] = 1.0
    end = margin + 1
    for benchmark_positions, counts, longer in zip(positions, shares, ranges, strict=True):
        law[end : end + longer] = law[end - 1]
        end += longer
        moved = (
            law[margin - shift : end - shift] if count == 1 else law[margin - shift : end - shift] * count
            for shift, count in zip(benchmark_positions.tolist(), counts.tolist(), strict=True)
        )
        into = np.add(next(moved), next(moved, 0.0), out=wider[margin:end])
        for term in moved:
            into += term
        law, wider = wider, law
    return law[margin - 1 :]

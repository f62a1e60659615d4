"""Quantiles inf{x: F(x) >= p} of a sum of one run of every benchmark, without chance.

F meets in the middle: the sums of one half of the suite are listed, and for each of them a search
counts the sums of the other half that stay below a limit. Up to `LISTED` sums the quantile is one
of them. Beyond that, values are rounded to a lattice, on which the law of a sum is a convolution;
the quantile then comes with the bounds that follow from the rounding.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.distributions import SuiteRuns, from_scale, to_scale, units_of

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
# Most sums of which the quantile is found: 3^13 are fewer; a lattice is as fast where there are
# more
LISTED = 1 << 22
SORTED = 1 << 12  # sums that are sorted rather than searched
LONGER = 27  # how many times as many sums the half that is searched has
SHORT = 1 << 10  # most sums of the benchmarks that are left out of a law on the lattice
# Bounds are at most as far apart as B steps of a lattice of so many steps between the least and
# the largest sum
POINTS = 1 << 20
FINER = 1.02  # how many times as many steps are tried where the bounds are farther apart
# Counts below the first add up without rounding; counts beyond the second are added as shares
WHOLE, LARGE = (
    1 << 53,
    10**300,
)
NARROW = 1e-14  # sums that differ by less, relative to the largest, are equal but for rounding
BESIDE = 1 / 32  # how far from the guessed quantile a bracket goes on, as a share of its width
# bound of the relative rounding error of sums of shares: 1e6 additions of 1.1e-16 each are less
ROUNDING = 1e-9

Points = tuple[
    Floats, npt.NDArray[np.int64]
]  # distinct values of one benchmark in ascending order, and how often each counts


class Quantiles(NamedTuple):
    """Quantiles of the sum, and bounds of the true ones."""

    values: Floats
    lower: Floats
    upper: Floats


def exact_numbers(
    suite: SuiteRuns, mean: str, after_each: Callable[[], object] | None = None
) -> tuple[Floats, Floats]:
    """Return the five numbers (5, cells), and bounds of the quartiles (2, 3, cells).

    `after_each` is called after each cell.
    """
    extremes, quartiles = (
        np.full((2, len(suite.runs)), np.nan),
        np.full((3, 3, len(suite.runs)), np.nan),
    )
    # Cells differ in their values, and with them in the sums there are.
    for cell, units in enumerate(units_of(suite)):
        if units > 0:
            shares = None if suite.shares is None else suite.shares[cell]
            extremes[:, cell], quartiles[:, :, cell] = _exact_cell(
                to_scale(suite.runs[cell], mean) * suite.counts[:, None, None], shares
            )
        if after_each is not None:
            after_each()
    values, *bounds = from_scale(quartiles, mean)
    minimum, maximum = from_scale(extremes, mean)
    return np.stack([minimum, *values, maximum]), np.stack(bounds)


def _exact_cell(scaled: Floats, shares: Floats | None) -> tuple[Floats, Floats]:
    """Return the extremes of the average over benchmarks, and its quartiles with bounds."""
    if shares is None:
        groups, weights = [scaled], [Fraction(1)]
    else:
        used: Integers = np.flatnonzero(shares > 0)
        groups = [scaled[:, [unit]] for unit in used]
        weights = [Fraction(float(shares[unit])).limit_denominator(1 << 20) for unit in used]
    points = [[points_of(benchmark_values) for benchmark_values in group] for group in groups]
    extremes = np.array(_extent(points)) / len(scaled)
    return extremes, np.clip(
        np.array(quantiles_of_sum(points, weights, QUARTERS)) / len(scaled), *extremes
    )


def _extent(groups: Sequence[Sequence[Points]]) -> tuple[float, float]:
    """Return the least and the largest sum of one value of every benchmark of a group."""
    smallest = min(sum(float(values[0]) for values, _ in group) for group in groups)
    return smallest, max(sum(float(values[-1]) for values, _ in group) for group in groups)


def points_of(runs: Floats) -> Points:
    """Return the distinct values of runs with whole counts; units weigh alike."""
    units = [
        [value for value in unit if value == value] for unit in runs.tolist()
    ]  # NaN differs from itself
    multiple = lcm(*(len(unit) for unit in units if unit))
    counts: dict[float, int] = {}
    # Most benchmarks have few runs, for which a dict is faster than arrays.
    for unit in units:
        for value in unit:
            counts[value] = counts.get(value, 0) + multiple // len(unit)
    values = sorted(counts)
    return np.array(values), np.array([counts[value] for value in values])


def quantiles_of_sum(
    groups: Sequence[Sequence[Points]],
    shares: Sequence[Fraction],
    probabilities: Sequence[Fraction],
) -> Quantiles:
    """Return quantiles of a sum of one draw per benchmark.

    Of a mixture of such laws where units are shared.

    A group holds the values of every benchmark in one shared unit, with the share of the unit;
    there is one group where none is shared.
    """
    totals = [prod(int(counts.sum()) for _, counts in group) for group in groups]
    denominator = lcm(
        *((share / total).denominator for share, total in zip(shares, totals, strict=True))
    )
    weights = [
        int(share / total * denominator) for share, total in zip(shares, totals, strict=True)
    ]
    targets = [-(-p.numerator * denominator // p.denominator) for p in probabilities]
    if sum(prod(len(values) for values, _ in group) for group in groups) > LISTED:
        return _on_lattice(groups, weights, targets, denominator)
    quantiles = _listed(groups, weights, targets, denominator)
    return Quantiles(quantiles, quantiles, quantiles)


def _listed(
    groups: Sequence[Sequence[Points]],
    weights: Sequence[int],
    targets: Sequence[int],
    denominator: int,
) -> Floats:
    """Return the least of all sums at which the weights reach each target."""
    kind: Any = np.int64 if denominator < WHOLE else object
    number = sum(prod(len(values) for values, _ in group) for group in groups)
    if number <= SORTED:
        laws = [_sums(group, weight, kind) for group, weight in zip(groups, weights, strict=True)]
        sums, multiplicities = (np.concatenate(pieces) for pieces in zip(*laws, strict=True))
        return _reached(sums, multiplicities, targets)
    halves = [_halves(group, weight, kind) for group, weight in zip(groups, weights, strict=True)]

    def weights_below(sums: Floats) -> np.ndarray:
        return np.asarray(
            sum((half.upto[half.places(sums)] * half.weights).sum(axis=-1) for half in halves)
        )

    ends = [[float(half.short[end] + half.long[end]) for half in halves] for end in (0, -1)]
    extent = max(map(abs, (*ends[0], *ends[1])))
    start = Bracket(min(ends[0]) - extent, max(ends[1]) + extent, 0, denominator)
    quantiles = []
    for target in targets:
        bracket = _narrowed(
            weights_below,
            target,
            start,
            max_width=NARROW * extent,
            max_weight=denominator * SORTED // number,
        )
        quantiles.append(
            _within(halves, bracket, target, tied=bracket.high - bracket.low <= NARROW * extent)
        )
    return np.array(quantiles)


def _sums(group: Sequence[Points], weight: int, kind: Any) -> tuple[Floats, np.ndarray]:
    """Return all sums of one value of every benchmark in ascending order, and their weights."""
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
    """All sums of two halves of the benchmarks, ascending.

    The weights of the short half, and the cumulative ones of the long half.
    """

    short: Floats
    weights: np.ndarray
    long: Floats
    upto: np.ndarray

    def places(self, sums: Floats) -> npt.NDArray[np.int64]:
        """Count the sums of the long half within the remainder of every limit: (n, short)."""
        return np.searchsorted(self.long, sums[:, None] - self.short, side="right")


def _halves(group: Sequence[Points], weight: int, kind: Any) -> Halves:
    """Split the benchmarks in two halves; the long one has `LONGER` times as many sums."""
    halves: tuple[list[Points], list[Points]] = [], []
    sizes = [1, 1]
    for points in sorted(group, key=lambda points: -len(points[0])):
        half = int(sizes[1] < LONGER * sizes[0])
        halves[half].append(points)
        sizes[half] *= len(points[0])
    (short, weights), (long, long_weights) = (
        _sums(halves[0], 1, kind),
        _sums(halves[1], weight, kind),
    )
    return Halves(
        short, weights, long, np.concatenate([np.zeros(1, kind), np.cumsum(long_weights)])
    )


def _within(halves: Sequence[Halves], bracket: "Bracket", target: int, *, tied: bool) -> float:
    """Return the least sum inside a bracket at which the weights reach a target.

    Of sums that differ by rounding, the largest.
    """
    sums_inside, multiplicities = [], []
    for half in halves:
        first, last = half.places(np.array([bracket.low, bracket.high]))
        if tied:
            inside = last > first
            sums_inside.append(half.short[inside] + half.long[last[inside] - 1])
            continue
        short = np.repeat(np.arange(len(first)), last - first)
        long = np.arange(len(short)) + np.repeat(last - np.cumsum(last - first), last - first)
        sums_inside.append(half.short[short] + half.long[long])
        multiplicities.append(half.weights[short] * (half.upto[long + 1] - half.upto[long]))
    if tied:
        return float(max(sums.max(initial=-np.inf) for sums in sums_inside))
    return float(
        _reached(
            np.concatenate(sums_inside), np.concatenate(multiplicities), [target - bracket.below]
        )[0]
    )


class Bracket(NamedTuple):
    """Two places with a quantile between them."""

    low: float
    high: float
    below: Any
    above: Any


def _narrowed(
    weights: Callable[[Floats], np.ndarray],
    target: Any,
    bracket: Bracket,
    *,
    max_width: float,
    max_weight: Any = 0,
    lattice: bool = False,
) -> Bracket:
    """Narrow a bracket until it is at most `max_width` wide, or holds at most `max_weight`.

    On a lattice its ends are whole numbers.

    F is nearly straight inside a narrow bracket: its ends move to both sides of the place where a
    line from end to end reaches the target. Where F is not straight, the bracket is halved.
    """
    while (
        width := bracket.high - bracket.low
    ) > max_width and bracket.above - bracket.below > max_weight:
        guess = bracket.low + width * float(
            (target - bracket.below) / (bracket.above - bracket.below)
        )
        points = np.array([guess - BESIDE * width, guess + BESIDE * width, bracket.low + width / 2])
        inside = min(max_width, width / 2)
        points = np.sort(
            np.clip(
                np.rint(points) if lattice else points, bracket.low + inside, bracket.high - inside
            )
        )
        for point, reached in zip(points.tolist(), weights(points).tolist(), strict=True):
            if reached >= target:
                bracket = bracket._replace(high=point, above=reached)
                break
            bracket = bracket._replace(low=point, below=reached)
    return bracket


def _on_lattice(
    groups: Sequence[Sequence[Points]],
    weights: Sequence[int],
    targets: Sequence[int],
    denominator: int,
) -> Quantiles:
    """Return quantiles of sums of rounded values, with bounds on those of the sums themselves.

    The lattice has as few steps as bring the bounds as near as `POINTS` steps would if every value
    were moved by half a step.
    """
    smallest, largest = _extent(groups)
    finest = POINTS / len(groups[0])
    *_, trial = _rounded_groups(groups, (largest - smallest) / POINTS)
    steps, error = (
        max(trial, 1.0) * finest / FINER,
        np.inf,
    )  # values may lie on the lattice that is tried, without any error
    while error * finest > steps:
        steps *= FINER
        step = (largest - smallest) / steps
        rounded, offsets, error = _rounded_groups(groups, step)
    scale = 1 if denominator < WHOLE else denominator
    counts = [[counts_of_benchmark for _, counts_of_benchmark in group] for group in groups]
    laws = [
        _lattice_law(*law, scale)
        for law in zip(rounded, counts, offsets.astype(int).tolist(), weights, strict=True)
    ]
    low, high = (
        min(law.begin + int(law.short[0]) for law in laws),
        max(law.begin + int(law.short[-1]) + len(law.upto) - 2 for law in laws),
    )
    start = Bracket(low - 1.0, float(high), 0.0, denominator / scale)
    # Whole numbers add up exactly; of shares, the bounds take the rounding in.
    positions = [
        [
            _narrowed(
                partial(_lattice_weights, laws),
                target / scale * factor,
                start,
                max_width=1,
                lattice=True,
            ).high
            for target in targets
        ]
        for factor in ((1.0,) if scale == 1 else (1.0, 1.0 - ROUNDING, 1.0 + ROUNDING))
    ]
    values, lower, upper = step * (
        rounded[0].begin + np.array(positions if len(positions) > 1 else positions * 3)
    )
    return Quantiles(values, lower - step * error / 2, upper + step * error / 2)


def _rounded_groups(
    groups: Sequence[Sequence[Points]], step: float
) -> tuple[list["Rounded"], Floats, float]:
    """Round the groups of a mixture to one lattice.

    Return also where they begin on it, and how far apart rounding can move two sums.
    """
    rounded = [_rounded(group, step) for group in groups]
    begins = np.array([law.begin for law in rounded]) - rounded[0].begin
    offsets = np.rint(begins)  # what is left of a step is an error, too
    return (
        rounded,
        offsets,
        float((np.array([law.error for law in rounded]) + 2 * np.abs(begins - offsets)).max()),
    )


class Rounded(NamedTuple):
    """Values as places on a lattice by benchmark, and what rounding can add up to."""

    positions: Sequence[Integers]
    begin: float
    error: float


def _rounded(group: Sequence[Points], step: float) -> Rounded:
    """Round the values of every benchmark to steps from its least value."""
    starts = np.cumsum([0, *(len(values) for values, _ in group)])
    distances = np.concatenate([values - values[0] for values, _ in group]) / step
    positions = np.rint(distances)
    remainders = distances - positions
    highest, lowest = (
        np.maximum.reduceat(remainders, starts[:-1]),
        np.minimum.reduceat(remainders, starts[:-1]),
    )
    begin = (
        sum(float(values[0]) for values, _ in group) / step + float((highest + lowest).sum()) / 2
    )
    return Rounded(
        np.split(positions.astype(np.int64), starts[1:-1]), begin, float((highest - lowest).sum())
    )


class LatticeLaw(NamedTuple):
    """The cumulative weights of some benchmarks from the place before `begin` on.

    The sums of the others, as places, with weights.
    """

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


def _lattice_law(
    rounded: Rounded,
    group_counts: Sequence[npt.NDArray[np.int64]],
    begin: int,
    weight: int,
    scale: int,
) -> LatticeLaw:
    """Return the law of the sums of places, with weights over `scale`: added up, not transformed.

    Rounding of a Fourier transform would decide where F is a quarter exactly; whole numbers below
    2^53 add up exactly, as do their shares but for a relative error. The benchmarks with the widest
    ranges are listed: a convolution with them would take longest.
    """
    benchmarks = sorted(
        zip(rounded.positions, group_counts, strict=True),
        key=lambda benchmark: int(np.ptp(benchmark[0])),
    )
    totals = [int(counts.sum()) for _, counts in benchmarks]
    units = [1] * len(totals) if prod(totals) < LARGE else totals
    shares = [counts / unit for (_, counts), unit in zip(benchmarks, units, strict=True)]
    positions = [steps for steps, _ in benchmarks]
    n_long, number = len(positions), 1
    while n_long > 1 and number * len(positions[n_long - 1]) <= SHORT:
        n_long -= 1
        number *= len(positions[n_long])
    short: Integers = reduce(
        lambda sums, steps: np.add.outer(sums, steps).ravel(),
        positions[n_long:],
        np.zeros(1, dtype=np.int64),
    )
    multiplicities: Floats = reduce(
        lambda weights, counts: np.multiply.outer(weights, counts).ravel(),
        shares[n_long:],
        np.ones(1),
    )
    upto = _upto([steps - steps[0] for steps in positions[:n_long]], shares[:n_long])
    first = begin + sum(int(steps[0]) for steps in positions[:n_long])
    return LatticeLaw(first, upto, short, multiplicities * (weight * prod(units) / scale))


def _upto(positions: Sequence[Integers], shares: Sequence[Floats]) -> Floats:
    """Return the cumulative weights of a sum of places that begin with 0, at -1, 0, 1, ..."""
    ranges = [int(steps[-1]) for steps in positions]
    margin = 1 + max(ranges)  # zeros in front, as many as the widest benchmark reads
    # Two arrays serve in turn: new ones of megabytes would be zeroed by the system each time.
    law, wider = np.zeros((2, margin + 1 + sum(ranges)))
    law[margin] = 1.0
    end = margin + 1
    for steps, counts, longer in zip(positions, shares, ranges, strict=True):
        law[end : end + longer] = law[end - 1]
        end += longer
        moved = (
            law[margin - shift : end - shift]
            if count == 1
            else law[margin - shift : end - shift] * count
            for shift, count in zip(steps.tolist(), counts.tolist(), strict=True)
        )
        sums = np.add(next(moved), next(moved, 0.0), out=wider[margin:end])
        for term in moved:
            sums += term
        law, wider = wider, law
    return law[margin - 1 :]

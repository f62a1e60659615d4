"""Quantiles of a sum of independent draws, one from every benchmark, without drawing: inf{x: F(x) >= p}.

The benchmarks are split into two halves. The sums of each half are listed in order, and how many pairs lie below x is counted with one
search per sum of the first half: 2 * 3^15 sums stand for the 3^29 of 29 benchmarks with three runs. Where a half has too many sums, values
are first rounded to a grid so that sums coincide; what rounding can move is bounded, and the bounds are returned.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers

HALF = 1 << 24
"""Most sums of one half that are listed: 128 MB. 3^15 are fewer."""

POINTS = 1 << 16
"""Steps of the grid between the least and the largest sum."""

PAIRS = 1 << 21
"""Pairs of sums that are listed to find the one that is asked for."""

NEEDLES = 1 << 12
"""Sums looked up at once: few enough that the sums they are looked up among stay in the cache."""

THINNED, EVERY = 1 << 16, 31
"""Halves with more sums than this are first searched with one sum standing for so many: an odd number, of which it is the middle one."""

NEAR = (4e-9, 1e-7, 4e-6)
"""How near the answer of a thinned search is expected, as a share of the range; further off where it is not, at the price of more steps."""

WIDE = 1 << 62
"""Counts from here on do not fit 64 bits and are Python's integers."""


Points = tuple[Floats, npt.NDArray[Any]]
"""Distinct values of one benchmark, and how often each counts."""


class Half(NamedTuple):
    """Sums in ascending order, how often each counts, the counts up to each place, and whether all count alike."""

    sums: Floats
    counts: npt.NDArray[Any]
    below: npt.NDArray[Any]
    alike: bool


class Part(NamedTuple):
    """A law of independent draws: its two halves (the shorter first), and the weight of one pair of sums."""

    short: Half
    long: Half
    weight: int

    @property
    def whole(self) -> int:
        """The weight of all pairs."""
        return int(self.short.below[-1]) * int(self.long.below[-1]) * self.weight


class Below(NamedTuple):
    """The pairs of sums that are not above a bound: their weight, their number, and how many each sum of the short halves makes."""

    bound: float
    weight: int
    pairs: int
    places: list[Integers]


class Quantiles(NamedTuple):
    """Quantiles of the sum, and between what bounds the true ones lie: equal to them but for a grid."""

    values: Floats
    lower: Floats
    upper: Floats


def points_of(runs: Floats) -> Points:
    """Return the distinct values of runs (units, values in a unit) with whole counts: units weigh alike, and in a unit its values."""
    measured = ~np.isnan(runs)
    inside = measured.sum(axis=1)
    shared = lcm(*(int(number) for number in inside if number))
    each = np.array([shared // int(number) if number else 0 for number in inside])
    values, place = np.unique(runs[measured], return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, place, np.broadcast_to(each[:, None], runs.shape)[measured])
    return values, counts


def quantiles_of_sum(parts: Sequence[Sequence[Points]], shares: Sequence[Fraction], probabilities: Sequence[Fraction]) -> Quantiles:
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
    totals = [prod(int(counts.sum()) for _, counts in part) for part in parts]
    whole = lcm(*((share / total).denominator for share, total in zip(shares, totals, strict=True)))
    weights = [int(share / total * whole) for share, total in zip(shares, totals, strict=True)]
    split = [_split(part) for part in parts]
    step = 0.0
    if max(_size(half) for pair in split for half in pair) > HALF:
        low = min(sum(float(values[0]) for values, _ in part) for part in parts)
        high = max(sum(float(values[-1]) for values, _ in part) for part in parts)
        step = (high - low) / POINTS
        laws = [Part(_grid_sums(short, step), _grid_sums(long, step), weight) for (short, long), weight in zip(split, weights, strict=True)]
    else:
        laws = [Part(_listed_sums(short), _listed_sums(long), weight) for (short, long), weight in zip(split, weights, strict=True)]
    found = np.array([_quantile(laws, -(-p.numerator * whole // p.denominator), whole) for p in probabilities])
    if not step:
        return Quantiles(found, found, found)
    slack = step * max(len(part) for part in parts) / 2
    return Quantiles(found * step, found * step - slack, found * step + slack)


def _size(half: Sequence[Points]) -> int:
    """Return how many sums a half has."""
    return prod(len(values) for values, _ in half)


def _split(part: Sequence[Points]) -> tuple[list[Points], list[Points]]:
    """Split benchmarks so that both halves have about as many sums, the smaller half first."""
    halves: tuple[list[Points], list[Points]] = ([], [])
    for points in sorted(part, key=lambda points: -len(points[0])):
        min(halves, key=_size).append(points)
    first, second = sorted(halves, key=_size)
    return first, second


def _listed_sums(half: Sequence[Points]) -> Half:
    """List the sums of a half in order."""
    total = prod(int(counts.sum()) for _, counts in half)
    sums, multiplicities = np.zeros(1), np.ones(1, dtype=object if total >= WIDE else np.int64)
    for values, counts in half:
        sums = np.add.outer(values, sums).ravel()
        multiplicities = np.multiply.outer(counts, multiplicities).ravel()
    if multiplicities.min() == multiplicities.max():
        sums.sort()
        return _half(sums, multiplicities)
    order = np.argsort(sums)
    return _half(sums[order], multiplicities[order])


def _grid_sums(half: Sequence[Points], step: float) -> Half:
    """Return the sums of a half in steps of a grid, to which its values were rounded: a convolution of whole counts."""
    total = prod(int(counts.sum()) for _, counts in half)
    multiplicities = np.ones(1, dtype=object if total >= WIDE else np.int64)
    least = 0
    for values, counts in half:
        steps = np.rint(values / step).astype(np.int64)
        offsets = steps - steps[0]
        least += int(steps[0])
        wider = np.zeros(len(multiplicities) + int(offsets[-1]), dtype=multiplicities.dtype)
        for offset, count in zip(offsets.tolist(), counts.tolist(), strict=True):
            wider[offset : offset + len(multiplicities)] += count * multiplicities
        multiplicities = wider
    used = np.flatnonzero(multiplicities)
    return _half((least + used).astype(float), multiplicities[used])


def _half(sums: Floats, counts: npt.NDArray[Any]) -> Half:
    """Return ordered sums with the counts below every place."""
    below = np.concatenate([np.zeros(1, dtype=counts.dtype), np.cumsum(counts)])
    return Half(sums, counts, below, bool(counts.min() == counts.max()))


def _quantile(laws: Sequence[Part], target: int, whole: int) -> float:
    """Return the least sum below or at which the weights reach the target.

    The interval (low, high] that holds it shrinks: first to what lies near the answer for thinned sums, then by linear interpolation, a
    little to either side in turn and less each time, until few enough pairs of sums are left to list them.
    """
    low, high = _ends(laws, whole)
    margin, side = 0.05, 1.0
    guesses = _guesses(laws, target, whole, high.bound - low.bound)
    while high.pairs - low.pairs > PAIRS:
        place = (target - low.weight) / (high.weight - low.weight) + side * margin
        before = high.bound - low.bound
        middle = low.bound + before * (place if 0.0 < place < 1.0 else 0.5)
        guesses = [guess for guess in guesses if low.bound < guess < high.bound]
        if guesses:
            middle = guesses.pop(0)
        if not low.bound < middle < high.bound:
            return high.bound
        found = _count(laws, middle)
        low, high = (low, found) if found.weight >= target else (found, high)
        # A side that cut away less than half: interpolation is not yet to be trusted so closely.
        margin = margin / 3 if high.bound - low.bound < before / 2 else min(2 * margin, 0.4)
        side = -side
    return _listed(laws, low, high, target - low.weight)


def _ends(laws: Sequence[Part], whole: int) -> tuple[Below, Below]:
    """Return a bound below all sums and one above none."""
    first = min(law.short.sums[0] + law.long.sums[0] for law in laws)
    last = max(law.short.sums[-1] + law.long.sums[-1] for law in laws)
    low = float(np.nextafter(first, -np.inf)) - 1e-12 * max(abs(first), abs(last))
    sizes = [(len(law.short.sums), len(law.long.sums)) for law in laws]
    none = Below(low, 0, 0, [np.zeros(short, dtype=np.int32) for short, _ in sizes])
    every: list[Integers] = [np.full(short, long, dtype=np.int32) for short, long in sizes]
    return none, Below(float(last), whole, sum(short * long for short, long in sizes), every)


def _guesses(laws: Sequence[Part], target: int, whole: int, extent: float) -> list[float]:
    """Return bounds that are likely to hold the quantile, the closest first; none where the sums are few."""
    if max(len(law.long.sums) for law in laws) <= THINNED:
        return []
    guess = _quantile([Part(_thinned(law.short), _thinned(law.long), law.weight) for law in laws], target, whole)
    return [guess + side * slack * extent for slack in NEAR for side in (-1, 1)]


def _thinned(half: Half) -> Half:
    """Return a half in which one sum, from the middle, stands for several that follow one another."""
    if len(half.sums) <= EVERY**2:
        return half
    below = np.append(half.below[:-1:EVERY], half.below[-1])
    middles = np.minimum(np.arange(0, len(half.sums), EVERY) + EVERY // 2, len(half.sums) - 1)
    return Half(half.sums[middles], np.diff(below), below, alike=False)


def _count(laws: Sequence[Part], bound: float) -> Below:
    """Return the pairs of sums that are not above a bound."""
    weight = pairs = 0
    places = [_places(law, bound) for law in laws]
    for law, own in zip(laws, places, strict=True):
        number = int(own.sum(dtype=np.int64))
        pairs += number
        if law.short.alike and law.long.alike:
            weight += number * int(law.short.counts[0]) * int(law.long.counts[0]) * law.weight
            continue
        # Some sums at a time: counts beyond 64 bits are Python's integers, and need memory.
        for start in range(0, len(own), NEEDLES):
            part = slice(start, start + NEEDLES)
            counts = law.short.counts[part].astype(object) if law.whole >= WIDE else law.short.counts[part]
            weight += int((counts * law.long.below[own[part]]).sum()) * law.weight
    return Below(bound, weight, pairs, places)


def _places(law: Part, bound: float) -> Integers:
    """Return, for the sums of the short half, how many of the long half make a pair with each that is not above a bound."""
    places = np.empty(len(law.short.sums), dtype=np.int32)
    for start in range(0, len(places), NEEDLES):
        part = slice(start, start + NEEDLES)
        needles = bound - law.short.sums[part]
        # The needles descend: all places lie between those of the last and the first.
        least, most = np.searchsorted(law.long.sums, needles[[-1, 0]], side="right").tolist()
        places[part] = least + np.searchsorted(law.long.sums[least:most], needles, side="right")
    return places


def _listed(laws: Sequence[Part], low: Below, high: Below, missing: int) -> float:
    """List the sums in (low, high], and return the one at which the weights reach what is missing."""
    pairs = [_between(*places) for places in zip(low.places, high.places, strict=True)]
    values = np.concatenate([law.short.sums[left] + law.long.sums[right] for law, (left, right) in zip(laws, pairs, strict=True)])
    if not len(values):
        return high.bound
    if len(laws) == 1 and laws[0].short.alike and laws[0].long.alike:
        each = int(laws[0].short.counts[0]) * int(laws[0].long.counts[0]) * laws[0].weight
        rank = -(-missing // each) - 1
        return float(np.partition(values, rank)[rank]) if rank < len(values) else high.bound
    kind = object if sum(law.whole for law in laws) >= WIDE else np.int64
    weights = np.concatenate(
        [law.short.counts[left].astype(kind) * law.long.counts[right] * law.weight for law, (left, right) in zip(laws, pairs, strict=True)]
    )
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= missing
    return float(values[order[int(np.argmax(reached))]]) if reached.any() else high.bound


def _between(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Return the pairs that are counted in the second but not in the first: places in the short half and in the long half."""
    rows = np.flatnonzero(last > first)
    number = (last[rows] - first[rows]).astype(np.intp)
    offsets = first[rows] - (np.cumsum(number) - number)
    return np.repeat(rows, number), np.arange(number.sum()) + np.repeat(offsets, number)

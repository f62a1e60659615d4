"""The five numbers of a suite's score without drawing: quantiles inf{x: F(x) >= p} of a sum of one run of every benchmark.

All sums are listed where they are few enough. Else values are rounded to a lattice, on which the law of a sum is a convolution; what
rounding can move is half a step per benchmark, and the bounds that follow are returned.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.distributions import Suite, from_scale, to_scale, units_of

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))

LISTED = 1 << 22
"""Most sums that are listed: 32 MB. 3^13 are fewer."""

POINTS = 1 << 20
"""Steps of the lattice between the least and the largest sum."""

WHOLE = 1 << 53
"""Weights below this are whole numbers and add up without rounding."""

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


def exact_numbers(suite: Suite, mean: str) -> ExactNumbers:
    """Return the five numbers of every cell; the bounds have shape (3, cells)."""
    extremes, quartiles = np.full((2, len(suite.runs)), np.nan), np.full((3, 3, len(suite.runs)), np.nan)
    # Cells differ in their values, and with them in the sums there are.
    for cell in np.flatnonzero(units_of(suite) > 0):
        shares = None if suite.shares is None else suite.shares[cell]
        extremes[:, cell], quartiles[:, :, cell] = _exact_cell(to_scale(suite.runs[cell], mean), shares)
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
    points = [[points_of(own) for own in group] for group in groups]
    least = min(sum(float(values[0]) for values, _ in part) for part in points)
    largest = max(sum(float(values[-1]) for values, _ in part) for part in points)
    extremes = np.array([least, largest]) / len(scaled)
    return extremes, np.clip(np.array(quantiles_of_sum(points, weights, QUARTERS)) / len(scaled), *extremes)


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
    targets = [-(-p.numerator * whole // p.denominator) for p in probabilities]
    if sum(prod(len(values) for values, _ in part) for part in parts) <= LISTED:
        found = _listed(parts, weights, targets, whole)
        return Quantiles(found, found, found)
    return _on_lattice(parts, weights, targets, whole)


def _listed(parts: Sequence[Sequence[Points]], weights: Sequence[int], targets: Sequence[int], whole: int) -> Floats:
    """Return the least of all sums at which the weights reach each target."""
    kind: Any = np.int64 if whole < WHOLE else object
    laws = []
    for part, weight in zip(parts, weights, strict=True):
        sums, multiplicities = np.zeros(1), np.array([weight], dtype=kind)
        for values, counts in part:
            sums = np.add.outer(sums, values).ravel()
            multiplicities = np.multiply.outer(multiplicities, counts.astype(kind)).ravel()
        laws.append((sums, multiplicities))
    sums, multiplicities = (np.concatenate(pieces) for pieces in zip(*laws, strict=True))
    if multiplicities.min() == multiplicities.max():
        ranks = [-(-target // int(multiplicities[0])) - 1 for target in targets]
        return np.asarray(np.partition(sums, ranks)[ranks])
    order = np.argsort(sums)
    reached = np.cumsum(multiplicities[order])
    return np.asarray(sums[order[[int(np.argmax(reached >= target)) for target in targets]]])


def _on_lattice(parts: Sequence[Sequence[Points]], weights: Sequence[int], targets: Sequence[int], whole: int) -> Quantiles:
    """Return quantiles of sums of rounded values, with bounds on those of the sums themselves."""
    least = min(sum(float(values[0]) for values, _ in part) for part in parts)
    largest = max(sum(float(values[-1]) for values, _ in part) for part in parts)
    step = (largest - least) / POINTS
    scale = 1 if whole < WHOLE else whole
    laws = [_lattice_law(part, weight, step, scale) for part, weight in zip(parts, weights, strict=True)]
    first = min(start for start, _ in laws)
    law = np.zeros(max(start + len(own) for start, own in laws) - first)
    for start, own in laws:
        law[start - first : start - first + len(own)] += own
    reached = np.cumsum(law)
    wanted = np.array([target / scale for target in targets])
    slack = 0.0 if scale == 1 else ROUNDING
    places = [np.minimum(np.searchsorted(reached, wanted * (1 + side * slack)), len(law) - 1) for side in (0, -1, 1)]
    values, lower, upper = ((first + place) * step for place in places)
    moved = step * max(len(part) for part in parts) / 2
    return Quantiles(values, lower - moved, upper + moved)


def _lattice_law(part: Sequence[Points], weight: int, step: float, scale: int) -> tuple[int, Floats]:
    """Return the first place and the weights, over `scale`, of the sums of values rounded to steps: added up, not transformed.

    Rounding of a Fourier transform would decide where F is a quarter exactly; whole numbers below 2^53 add up exactly, as do their shares
    but for a relative error.
    """
    least, law = 0, np.ones(1)
    for values, counts in sorted(part, key=lambda points: float(np.ptp(points[0]))):
        places = np.rint(values / step).astype(np.int64)
        least += int(places[0])
        offsets = (places - places[0]).tolist()
        wider = np.zeros(len(law) + offsets[-1])
        for offset, count in zip(offsets, counts.tolist(), strict=True):
            wider[offset : offset + len(law)] += (count if scale == 1 else count / int(counts.sum())) * law
        law = wider
    total = prod(int(counts.sum()) for _, counts in part)
    return least, law * (weight if scale == 1 else weight * total / scale)

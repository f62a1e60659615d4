"""The normal likelihood of a nest of repetitions, with its exact derivatives.

A nested design factors over its tree. Given the mean of the unit above, the children c of a unit
have estimates m_c with variance d_c = v + 1 / W_c (the component of their own level, plus what
their own children leave uncertain), so that the unit's estimate is m = sum(m_c / d_c) / W with W =
sum(1 / d_c), and the children contribute

    sum(log d_c) + log W + sum((m_c - m)^2 / d_c)

to -2 log likelihood (Woodbury, one level at a time). At the root log W belongs to REML alone. The
lowest level needs counts, means and the sum of squares within groups only, and groups of the same
size inside one parent are one entry: their number, mean and spread. No matrix is larger than the
number of levels. Derivatives are carried along: the second derivatives of the log determinants
alone are minus the trace of P V_i P V_j, the expectation of those of everything (Searle, Casella
and McCulloch 1992, chapter 6).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask

LOG_2PI = float(np.log(2 * np.pi))


class Tier(NamedTuple):
    """The units of one level, all cells one after the other, grouped by parent.

    `offset` is a reference value (the mean of what lies below) minus the parent's: differences keep
    their digits.
    """

    cell: Integers
    starts: Integers
    offset: Floats


class Statistics(NamedTuple):
    """What the likelihood needs to know of cells that have the same levels.

    The arrays `size`, `number` and `spread` describe groups of values: values in each, how many
    groups of that size the entry stands for, and the sum of squares of their means about the
    entry's mean.
    """

    levels: int
    values: Floats
    groups: Floats
    within: Floats
    log_sizes: Floats
    origin: Floats
    scale: Floats
    reference: Floats
    size: Floats
    number: Floats
    spread: Floats
    tiers: tuple[Tier, ...]

    def take(self, cells: Integers) -> "Statistics":
        """Return the statistics of some of the cells, in this order, as often as they are named."""
        count = len(self.values)
        lengths = [np.bincount(tier.cell, minlength=count) for tier in self.tiers]
        ranges = [_ranges((np.cumsum(length) - length)[cells], length[cells]) for length in lengths]
        tiers = []
        for t, tier in enumerate(self.tiers):
            children = np.diff(tier.starts, append=len(tier.cell))[
                ranges[t + 1] if t + 1 < len(ranges) else cells
            ]
            cell = np.repeat(np.arange(len(cells)), lengths[t][cells])
            tiers.append(Tier(cell, np.cumsum(children) - children, tier.offset[ranges[t]]))
        entries = ranges[0] if ranges else slice(0, 0)
        one_per_cell = [array[cells] for array in self[1:8]]
        return Statistics._make(
            (
                self.levels,
                *one_per_cell,
                self.size[entries],
                self.number[entries],
                self.spread[entries],
                tuple(tiers),
            )
        )


def _ranges(first: Integers, lengths: Integers) -> Integers:
    """Return first[0], first[0] + 1, ... (lengths[0] of them), first[1], ..."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + lengths, lengths)


class Likelihood(NamedTuple):
    """-2 log likelihood per cell with its derivatives by the components (lowest level first).

    The mean and its precision likewise.

    `observed` is the second derivative, `expected` its expectation; `precision` (cells, rows) has a
    value, first and second derivatives.
    """

    value: Floats
    gradient: Floats
    observed: Floats
    expected: Floats
    mean: Floats
    precision: Floats


def nested_statistics(cells: Floats) -> Statistics:
    """Reduce cells (count, n_L, ..., n_1), none of them empty, to what the likelihood needs."""
    count, levels = len(cells), cells.ndim - 1
    measured = ~np.isnan(cells)
    size = measured.sum(axis=-1)
    values = size.reshape(count, -1).sum(axis=1)
    filled = np.where(measured, cells, 0.0)
    origin = filled.reshape(count, -1).sum(axis=1) / values
    shape = (count,) + (1,) * (levels - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = filled.sum(axis=-1) / size
        deviations = np.where(measured, cells - means[..., None], 0.0).reshape(count, -1)
        centred = means - origin.reshape(shape)
    within = np.einsum("cn,cn->c", deviations, deviations)  # starts no threads of BLAS
    has_values = size > 0
    between = np.where(has_values, size * centred**2, 0.0).reshape(count, -1).sum(axis=1)
    scale = np.sqrt((within + between) / values)
    scale[scale == 0] = 1.0
    sizes, centred = size[has_values].astype(float), (centred / scale.reshape(shape))[has_values]
    groups = has_values.reshape(count, -1).sum(axis=1)
    log_sizes = np.bincount(_cell_of(has_values), np.log(sizes), count).astype(float)
    nothing, no_entries = np.zeros(count), np.empty(0)
    entries = (
        _entries(has_values, sizes, centred)
        if levels > 1
        else (nothing, no_entries, no_entries, no_entries, ())
    )
    return Statistics(
        levels,
        values.astype(float),
        groups.astype(float),
        within / scale**2,
        log_sizes,
        origin,
        scale,
        *entries,
    )


def _cell_of(has_values: Mask) -> Integers:
    """Return the cell of every unit that is present, in order."""
    return np.repeat(
        np.arange(len(has_values)), has_values.reshape(len(has_values), -1).sum(axis=1)
    )


def _entries(
    has_values: Mask, sizes: Floats, means: Floats
) -> tuple[Floats, Floats, Floats, Floats, tuple[Tier, ...]]:
    """Return the last fields of `Statistics`, tiers built from the groups of values up.

    Groups of one size in one parent are one entry.
    """
    above = np.asarray(has_values.any(axis=-1))
    key = _parents(has_values) * (int(sizes.max()) + 1) + sizes.astype(np.intp)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    number = np.diff(first, append=len(key)).astype(float)
    averages = np.add.reduceat(means[order], first) / number
    spread = np.add.reduceat(
        (means[order] - np.repeat(averages, number.astype(np.intp))) ** 2, first
    )
    parent, reference = _parents(has_values)[order][first], averages
    tiers = []
    while True:
        starts = np.flatnonzero(np.diff(parent, prepend=-1))
        references = reference
        lengths = np.diff(starts, append=len(parent))
        reference = np.add.reduceat(references, starts) / lengths
        cell = _cell_of(above)[parent] if above.ndim > 1 else parent
        tiers.append(Tier(cell, starts, references - np.repeat(reference, lengths)))
        if above.ndim == 1:
            return reference, sizes[order][first], number, spread, tuple(tiers)
        parent, above = _parents(above), np.asarray(above.any(axis=-1))


def _parents(has_values: Mask) -> Integers:
    """Return for every unit that is present the position of its parent."""
    inside = has_values.sum(axis=-1).ravel()
    inside = inside[inside > 0]
    return np.repeat(np.arange(len(inside)), inside)


def evaluate(data: Statistics, variances: Floats, restricted: bool) -> Likelihood:
    """Return -2 log likelihood, restricted or not, at variances (cells, L) over scale^2."""
    lowest = variances[:, 0]
    free = data.values - data.groups
    determinant, squares = (
        [free * np.log(lowest), free / lowest, -free / lowest**2],
        [data.within / lowest],
    )
    squares += [-squares[0] / lowest, 2 * squares[0] / lowest**2]
    logs, quadratic = (_embed(np.array(rows), data.levels) for rows in (determinant, squares))
    logs[0] += data.log_sizes
    if data.tiers:
        spread = np.zeros((6, len(data.size)))
        spread[0] = variances[data.tiers[0].cell, 1] + lowest[data.tiers[0].cell] / data.size
        spread[1], spread[2] = 1 / data.size, 1.0
        mean, precision = _climb(data, variances, spread, logs, quadratic)
        mean = mean + data.reference
    else:
        mean, precision = (
            data.reference,
            np.array([data.values / lowest, -data.values / lowest**2, 2 * data.values / lowest**3]),
        )
        logs[0] -= data.log_sizes - np.log(lowest)
        logs[1] += 1 / lowest
        logs[2] -= 1 / lowest**2
    if restricted:
        logs += _log(precision, 1 / precision[0])
    total = logs + quadratic
    residual_df = data.values - restricted
    levels = data.levels
    return Likelihood(
        total[0] + residual_df * (LOG_2PI + 2 * np.log(data.scale)),
        total[1 : levels + 1].T,
        _matrices(total, levels),
        -_matrices(logs, levels),
        data.origin + data.scale * mean,
        precision.T,
    )


def _climb(
    data: Statistics, variances: Floats, spread: Floats, logs: Floats, quadratic: Floats
) -> tuple[Floats, Floats]:
    """Go up the tiers, adding to the log determinants and the quadratic form.

    Return the mean (from its reference) and its precision.

    Every array has rows: value, first derivatives by the components so far, second derivatives by
    pairs of them.
    """
    shift = np.zeros(0)
    for t, tier in enumerate(data.tiers):
        weight = _reciprocal(spread)
        logarithm = _log(spread, weight[0])
        if t == 0:
            weighted_number = weight * data.number
            sums = [
                weighted_number,
                weighted_number * tier.offset,
                weighted_number * tier.offset**2 + weight * data.spread,
            ]
            logarithm = logarithm * data.number
        else:
            shift[0] += tier.offset
            moment = _product(weight, shift)
            sums = [weight, moment, _product(moment, shift)]
        precision, moment, square = (np.add.reduceat(array, tier.starts, axis=1) for array in sums)
        inverse = _reciprocal(precision)
        shift = _product(moment, inverse)
        residual = square - _product(moment, shift)
        logarithm = np.add.reduceat(logarithm, tier.starts, axis=1)
        if t + 1 < len(data.tiers):
            logarithm = logarithm + _log(precision, inverse[0])
            above = data.tiers[t + 1].cell
            cells = np.flatnonzero(np.diff(above, prepend=-1))
            residual, logarithm = (
                np.add.reduceat(array, cells, axis=1) for array in (residual, logarithm)
            )
            spread = _embed(inverse, t + 3)
            spread[0] += variances[above, t + 2]
            spread[t + 3] = 1.0
            shift = _embed(shift, t + 3)
        logs += _embed(logarithm, data.levels)
        quadratic += _embed(residual, data.levels)
    return shift[0], precision


@lru_cache
def _pairs(rows: int) -> tuple[int, Integers, Integers]:
    """Return the number of components, and the two components of each second derivative."""
    count = 1
    while 1 + count + count * (count + 1) // 2 < rows:
        count += 1
    first, second = np.array([(i, j) for j in range(count) for i in range(j + 1)], dtype=np.intp).T
    return count, first, second


def _embed(rows: Floats, count: int) -> Floats:
    """Add zero rows for the derivatives by components further up."""
    had = _pairs(len(rows))[0]
    wider = np.zeros((1 + count + count * (count + 1) // 2, rows.shape[1]))
    wider[: had + 1] = rows[: had + 1]
    wider[count + 1 : count + len(rows) - had] = rows[had + 1 :]
    return wider


def _product(a: Floats, b: Floats) -> Floats:
    """Multiply, with derivatives."""
    count, i, j = _pairs(len(a))
    first, second = a[1 : count + 1], b[1 : count + 1]
    result: Floats = a[0] * b
    result[1:] += b[0] * a[1:]
    result[count + 1 :] += first[i] * second[j] + first[j] * second[i]
    return result


def _reciprocal(a: Floats) -> Floats:
    """Divide 1 by it, with derivatives."""
    count, i, j = _pairs(len(a))
    inverse = 1 / a[0]
    result: Floats = a * -(inverse**2)
    result[0] = inverse
    result[count + 1 :] += 2 * a[0] * result[1 : count + 1][i] * result[1 : count + 1][j]
    return result


def _log(a: Floats, inverse: Floats) -> Floats:
    """Take the logarithm, with derivatives, given the reciprocal of the value."""
    count, i, j = _pairs(len(a))
    result: Floats = a * inverse
    result[0] = np.log(a[0])
    result[count + 1 :] -= result[1 : count + 1][i] * result[1 : count + 1][j]
    return result


def _matrices(rows: Floats, levels: int) -> Floats:
    """Return second derivatives as matrices (cells, L, L)."""
    _, i, j = _pairs(len(rows))
    result = np.empty((rows.shape[1], levels, levels))
    result[:, i, j] = result[:, j, i] = rows[levels + 1 :].T
    return result

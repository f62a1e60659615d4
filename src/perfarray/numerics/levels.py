"""Means and counts in a nest of repetitions. The last axes are the levels, outermost first.

NaN is "not measured".
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers, Mask

FEW = 8  # NumPy adds fewer values than these one after the other, and more of them by pairs
SMALL = 256  # values of which NumPy is faster row by row


class Counts(NamedTuple):
    """Along the levels: repetitions inside one parent, and repetitions with data in all."""

    minimum: Floats
    maximum: Floats
    total: Floats
    balanced: Mask


class UnitSummary(NamedTuple):
    """The mean over units, its squared standard error, and the number of units."""

    mean: Floats
    variance: Floats
    n: Floats


def reduced(ufunc: np.ufunc, values: Floats) -> Floats:
    """Reduce the last axis.

    A few columns one after the other, which is faster than row by row and rounds alike.
    """
    if values.size < SMALL or not 0 < values.shape[-1] < FEW:
        return np.asarray(ufunc.reduce(values, axis=-1))
    total = values[..., 0].copy(order="K")
    for position in range(1, values.shape[-1]):
        ufunc(total, values[..., position], out=total)
    return total


def mean_of_measured(values: Floats) -> Floats:
    """Average the last axis over what was measured; nothing measured gives NaN."""
    with np.errstate(invalid="ignore"):
        means = np.asarray(reduced(np.add, values) / values.shape[-1])
    ragged = np.isnan(means)
    if ragged.any():
        rows = values[ragged]
        measured = ~np.isnan(rows)
        with np.errstate(invalid="ignore"):
            means[ragged] = np.where(measured, rows, 0.0).sum(axis=-1) / measured.sum(axis=-1)
    return means


def unit_means(values: Floats, levels: int) -> Floats:
    """Average the lower levels of values (..., n_L, ..., n_1): one value per outermost unit.

    Repetitions have equal weight inside their parent, whatever the number of their own repetitions.
    """
    for _ in range(levels - 1):
        values = mean_of_measured(values)
    return values


def one_value_per_unit(values: Floats, levels: int, unit: int) -> Floats:
    """Average the levels below one, and put all of its repetitions on one axis.

    Of values (..., n_L, ..., n_1), `unit` is the position of that level, 0 for the outermost.
    Levels above it are pooled: their repetitions count as independent.
    """
    means = unit_means(values, levels - unit)
    return means.reshape(*means.shape[: values.ndim - levels], -1)


def values_by_unit(values: Floats, levels: int, value: int) -> Floats:
    """Average the levels below one, and keep its repetitions by outermost unit.

    Of values (..., n_L, ..., n_1), `value` is the position of that level, 0 for the outermost: then
    there is one value per unit.
    """
    means = unit_means(values, levels - value)
    batch = values.ndim - levels
    return means.reshape(*means.shape[: batch + 1], -1)


def unit_weights(values: Floats) -> Floats:
    """Return the weights of values (..., units, values) when units count alike.

    They sum to 1 over the last two axes; 0 where nothing was measured, NaN where a cell has no
    value at all.
    """
    measured = ~np.isnan(values)
    inside = measured.sum(axis=-1, keepdims=True)
    units = (inside > 0).sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(measured, 1.0 / inside, 0.0) / units
    return np.asarray(shares)


def repeated_level(measured: Mask) -> Integers:
    """Return the position of the outermost level with two units or more; -1 without any.

    A cell that repeats nothing has the last of these levels.
    """
    levels = measured.ndim - 1
    position = np.where(measured.reshape(len(measured), -1).any(axis=1), levels - 1, -1)
    for level in range(levels - 1)[::-1]:
        inside = measured.any(axis=tuple(range(level + 2, levels + 1)))
        position[inside.reshape(len(measured), -1).sum(axis=1) > 1] = level
    return position


def placed_units(
    values: npt.NDArray[Any],
    measured: Mask,
    level: Integers,
    outermost: int,
    fill: object,
    length: int = 0,
) -> npt.NDArray[Any]:
    """Place the units of each cell along the axis of one level.

    Of values (cells, n_L, ..., n_1, ...) `measured` has the first axes, the levels that may be
    units; `level` says which of these it is in each cell. The levels around `outermost`, of which
    every cell has one unit, go; units of inner levels lie at the first position of the levels
    between. They keep their positions, so that executions of one number stay beside each other.
    What has no unit is `fill`. The axis has `length` positions or more; without a `length`, inner
    axes end at the last unit of a cell that has several units around it.
    """
    sizes, inner = measured.shape[1:], values.shape[measured.ndim :]
    extents = (
        sizes[outermost + 1 :]
        if length
        else [
            _extent(measured[level < axis], axis + 1) for axis in range(outermost + 1, len(sizes))
        ]
    )
    inside = tuple(map(slice, extents))
    merged = values[(slice(None),) * (outermost + 2) + inside].reshape(
        len(values), -1, *extents, *inner
    )
    moves = level >= (outermost if merged.shape[1] > sizes[outermost] else outermost + 1)
    stay = (level >= 0) & ~moves
    blocks, longest = [], merged.shape[1] if stay.any() else max(length, 1)
    for position in np.unique(level[moves]).tolist():
        cells = np.flatnonzero(moves & (level == position))
        units = values[cells].reshape(len(cells), -1, *sizes[position:], *inner)
        is_measured = np.asarray(measured[cells].reshape(*units.shape[:3], -1).any(axis=3))
        units = units[np.arange(len(cells)), is_measured.any(axis=2).argmax(axis=1)]
        ends: tuple[Any, ...] = (
            slice(None),
            slice(_extent(is_measured, 2)),
            *inside[position - outermost :],
        )
        blocks.append((cells, position, units[ends]))
        longest = max(longest, blocks[-1][2].shape[1])
    result = np.full(
        (len(values), max(longest, length), *merged.shape[2:]), fill, dtype=values.dtype
    )
    if stay.any():
        result[stay, : merged.shape[1]] = merged[stay]
    for cells, position, units in blocks:
        index: tuple[Any, ...] = (cells, slice(units.shape[1]), *[0] * (position - outermost))
        result[index] = units
    return result


def _extent(measured: Mask, axis: int) -> int:
    """Return the length of an axis up to the last measurement, 1 or more."""
    positions = np.flatnonzero(
        measured.any(
            axis=tuple(
                reduced_axis for reduced_axis in range(measured.ndim) if reduced_axis != axis
            )
        )
    )
    return int(positions[-1]) + 1 if len(positions) else 1


def measured_units(runs: Mask, levels: int, n_units: int) -> Mask:
    """Return which units of the outer levels have a run: (cells, the levels that may be units)."""
    cells = runs.reshape(-1, *runs.shape[runs.ndim - levels :])
    return np.asarray(cells.any(axis=tuple(range(1 + n_units, cells.ndim))))


def units_on_one_axis(values: Floats, levels: int, n_units: int) -> Floats:
    """Place the units of each cell of values (..., n_L, ..., n_1) along the outermost level."""
    shape, measured = (
        values.shape[: values.ndim - levels],
        measured_units(~np.isnan(values), levels, n_units),
    )
    cells = values.reshape(len(measured), *values.shape[len(shape) :])
    units = placed_units(cells, measured, repeated_level(measured), 0, np.nan)
    return units.reshape(*shape, *units.shape[1:])


def summarise_units(means: Floats) -> UnitSummary:
    """Return mean, squared standard error and number of the units along the last axis.

    The squared standard error is the sample variance of the unit means over their number: unbiased
    for any imbalance below. Distances from one unit are averaged, so that equal units have their
    value as mean, and no variance.
    """
    measured = ~np.isnan(means)
    n, complete = measured.sum(axis=-1, dtype=float), measured.all()
    first = reduced(np.fmin, means) if means.shape[-1] else np.full(n.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = means - first[..., None]
        distances = distances if complete else np.where(measured, distances, 0.0)
        mean = reduced(np.add, distances) / n
        deviations = distances - mean[..., None]
        deviations = deviations if complete else np.where(measured, deviations, 0.0)
        variance = np.where(n > 1, reduced(np.add, deviations * deviations) / (n - 1) / n, np.nan)
    return UnitSummary(first + mean, variance, n)


def count_repetitions(values: Floats, levels: int) -> Counts:
    """Count the measured repetitions of values (..., n_L, ..., n_1) at every level: (..., L).

    A cell without data has zeros, and NaN extremes.
    """
    batch, nest = values.shape[: values.ndim - levels], values.shape[values.ndim - levels :]
    has_values = ~np.isnan(values)
    if has_values.all() and values.size:
        inside, total = (
            np.full((*batch, levels), counts, dtype=float) for counts in (nest, np.cumprod(nest))
        )
        return Counts(inside, inside, total, inside == inside)
    columns = []
    for below in range(levels):
        children = has_values.sum(axis=-1)
        parents = children > 0
        flat, has = children.reshape(*batch, -1).astype(float), parents.reshape(*batch, -1)
        empty = ~has.any(axis=-1)
        low = np.where(empty, np.nan, np.where(has, flat, np.inf).min(axis=-1))
        high = np.where(empty, np.nan, flat.max(axis=-1))
        columns.append((low, high, flat.sum(axis=-1)))
        if below < levels - 1:
            has_values = parents
    minimum, maximum, total = (
        np.stack(column[::-1], axis=-1) for column in zip(*columns, strict=True)
    )
    return Counts(minimum, maximum, total, minimum == maximum)

"""A cell's nest of repetitions in the form that is redrawn."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers, Mask


class Nest(NamedTuple):
    """A cell ready to be redrawn: measured repetitions come first at every level.

    Children counted by parent.
    """

    values: Floats
    counts: tuple[Integers, ...]
    resampled: tuple[bool, ...]


def averaged(
    values: Floats, resampled: tuple[bool, ...], joint: int = 0
) -> tuple[Floats, tuple[bool, ...]]:
    """Average the lower levels that are kept whole, where means alone are wanted."""
    while (
        len(resampled) > 1
        and (not resampled[-1] or values.shape[-1] == 1)
        and joint < len(resampled)
    ):
        values, resampled = mean_of_measured(values), resampled[:-1]
    return values, resampled


def nest_of(
    values: Floats,
    resampled: Sequence[bool],
    *,
    means: bool = True,
    unit_masks: Sequence[Mask] = (),
) -> Nest:
    """Bring a cell (n_L, ..., n_1) into the form that is redrawn.

    `resampled` says which levels are drawn with replacement, outermost first. Where `means` alone
    are wanted, lower levels that are kept whole are averaged at once. `unit_masks`, shapes (n_L,),
    (n_L, n_{L-1}), ..., are the units of levels drawn jointly that count as present, whether this
    cell measured them or not.
    """
    resampled = tuple(resampled)
    unit_masks = list(unit_masks)
    if means:
        values, resampled = averaged(values, resampled, len(unit_masks))
    counts: list[Integers] = []
    measured = ~np.isnan(values)
    for level in range(len(resampled)):
        has = (
            unit_masks[level]
            if level < len(unit_masks)
            else measured.any(axis=tuple(range(level + 1, values.ndim)))
        )
        order = np.argsort(~has, axis=-1, kind="stable")
        number = has.sum(axis=-1)
        keep = slice(0, max(int(number.max(initial=0)), 1))
        values = _reorder(values, order, level)[(slice(None),) * level + (keep,)]
        measured = ~np.isnan(values)
        unit_masks = [
            _reorder(mask, order, level)[(slice(None),) * level + (keep,)]
            if mask.ndim > level
            else mask
            for mask in unit_masks
        ]
        counts.append(number)
    return Nest(values, tuple(counts), resampled)


def _reorder(values: npt.NDArray[Any], order: Integers, level: int) -> npt.NDArray[Any]:
    """Apply an order of the axis `level`, which differs from parent to parent."""
    return np.take_along_axis(
        values, order.reshape(order.shape + (1,) * (values.ndim - level - 1)), axis=level
    )


def gather(values: Floats, picks: Sequence[Integers]) -> Floats:
    """Return the values that nested indices name.

    `picks`, shapes (replicates, m_L), (replicates, m_L, m_{L-1}), ..., say for every level,
    outermost first, which child of the parent drawn above stands here; levels without indices are
    kept whole. The answer has the shape (replicates, m_L, ..., n_1).
    """
    depth = len(picks)
    return np.asarray(
        values[tuple(pick.reshape(pick.shape + (1,) * (depth + 1 - pick.ndim)) for pick in picks)]
    )

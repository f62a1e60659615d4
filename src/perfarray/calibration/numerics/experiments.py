"""Simulated experiments in blocks, each with its own stream of random numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from perfarray.calibration.numerics.distributions import Draw, autocorrelated
from perfarray.numerics.random import EXPERIMENTS, Key, Streams
from perfarray.numerics.types import Floats

CACHED = 1 << 16  # effects that are drawn and added up at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One system of an experiment, whose mean is 1.

    `spans` are the fewest and most repetitions of each level, outermost first; `scales` the standard deviations of the levels' effects and
    `factor` the mean, each for every cell (or to be broadcast); `outer` the sizes of the cells' axes, and `common` the one along which
    effects are shared, if any. By level, `shared` is the correlation along that axis, `autocorrelation` that of neighbours, `pairs` that
    with the other system.
    """

    spans: tuple[tuple[int, int], ...]
    scales: tuple[Any, ...]
    factor: Any = 1.0
    outer: tuple[int, ...] = ()
    common: int | None = None
    shared: tuple[float, ...]
    autocorrelation: tuple[float, ...]
    pairs: tuple[float, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The most repetitions of every level."""
        return tuple(high for _, high in self.spans)

    @property
    def n_values(self) -> int:
        """How many values the side has at most."""
        return prod(self.outer) * prod(self.sizes)

    def shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of one level's effects."""
        return (*self.outer, *self.sizes[: level + 1])

    def joint_shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of the shared part of one level's effects: one cell for all along the common axis."""
        return tuple(1 if axis == self.common else size for axis, size in enumerate(self.shape(level)))

    @property
    def n_effects(self) -> int:
        """How many effects are drawn for an experiment."""
        levels = range(len(self.spans))
        return sum(prod(self.shape(i)) + (prod(self.joint_shape(i)) if self.shared[i] else 0) for i in levels)

    @property
    def n_common(self) -> int:
        """How many effects of an experiment are correlated with those of the other system."""
        return sum(prod(self.shape(level)) for level, correlation in enumerate(self.pairs) if correlation)

    @property
    def n_counts(self) -> int:
        """How many numbers of repetitions are drawn for an experiment."""
        return sum(prod(self.shape(i)[:-1]) for i, (low, high) in enumerate(self.spans) if low < high)


def draw_experiments(sides: Sequence[Side], draw: Draw, key: Key, first: int, count: int) -> list[Floats]:
    """Draw experiments `first` to `first + count` of a stream.

    `draw` gives independent effects with mean 0 and variance 1. The arrays (count, *outer, *sizes) are NaN where a parent has fewer
    repetitions than others.
    """
    streams = Streams(key)
    arrays = [np.empty((count, *side.shape(len(side.spans) - 1))) for side in sides]
    n_effects, n_counts = sum(side.n_effects for side in sides), sum(side.n_counts for side in sides)
    n_common = max(side.n_common for side in sides)
    at_once = max(1, CACHED // (n_effects + n_common))
    for start in range(0, count, at_once):
        stop = min(start + at_once, count)
        effects, counts = np.empty((stop - start, n_effects + n_common)), np.empty((stop - start, n_counts))
        # Each experiment has its own generator; its numbers are added up for as many experiments as a cache holds.
        for row in range(stop - start):
            generator = streams.generator(first + start + row, EXPERIMENTS)
            effects[row] = draw(generator, effects.shape[1:])
            if n_counts:
                counts[row] = generator.random(n_counts)
        used = counted = 0
        for side, values in zip(sides, arrays, strict=True):
            draws_of_side = effects[:, used : used + side.n_effects], counts[:, counted : counted + side.n_counts]
            values[start:stop] = _values(side, *draws_of_side, effects[:, n_effects:])
            used, counted = used + side.n_effects, counted + side.n_counts
    return arrays


def _values(side: Side, effects: Floats, counts: Floats, common: Floats) -> Floats:
    """Add up the effects of all levels and those that both systems share; repetitions beyond the drawn number are NaN."""
    depth, used, counted, matched = len(side.spans), 0, 0, 0
    total = np.ones((len(effects), *side.shape(depth - 1)))
    for level, (low, high) in enumerate(side.spans):
        shape = side.shape(level)
        level_effects = effects[:, used : used + prod(shape)].reshape(-1, *shape)
        used += prod(shape)
        if side.shared[level]:
            joint = effects[:, used : used + prod(side.joint_shape(level))].reshape(-1, *side.joint_shape(level))
            used += joint[0].size
            level_effects = np.sqrt(side.shared[level]) * joint + np.sqrt(1 - side.shared[level]) * level_effects
        if side.pairs[level]:
            common_effects = common[:, matched : matched + prod(shape)].reshape(-1, *shape)
            matched += prod(shape)
            level_effects = np.sqrt(side.pairs[level]) * common_effects + np.sqrt(1 - side.pairs[level]) * level_effects
        level_effects = autocorrelated(level_effects, side.autocorrelation[level])
        below = (...,) + (None,) * (depth - 1 - level)
        total += np.reshape(side.scales[level], np.shape(side.scales[level]) + (1,) * depth) * level_effects[below]
        if low < high:
            parents = prod(shape[:-1])
            repeated = np.floor(low + counts[:, counted : counted + parents] * (high - low + 1)).reshape(-1, *shape[:-1], 1)
            counted += parents
            total[np.broadcast_to((np.arange(high) >= repeated)[below], total.shape)] = np.nan
    total *= np.reshape(side.factor, np.shape(side.factor) + (1,) * depth)
    return total


def hide_levels(values: Floats, levels: int, hidden: Sequence[int]) -> Floats:
    """Make the repetitions of hidden levels those of the level below: the last `levels` axes are the nest, outermost first."""
    shape = list(values.shape)
    for level in sorted(hidden, reverse=True):
        axis = len(shape) - levels + level
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        levels -= 1
    return values.reshape(shape)

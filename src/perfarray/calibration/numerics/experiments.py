"""Distributions of the effects of a level, and simulated experiments in blocks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from perfarray.numerics.random import EXPERIMENTS, Key, Streams
from perfarray.numerics.types import Floats

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

CACHED = 1 << 16  # effects that are drawn and added up at once


def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Lognormal with sigma 1 and skewness 6.2."""
    return np.asarray(
        (rng.lognormal(0.0, 1.0, shape) - np.exp(0.5)) / np.sqrt(np.expm1(1.0) * np.exp(1.0))
    )


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Two narrow modes, the slower one in a fifth of the draws."""
    slow = rng.random(shape) < 0.2
    return np.asarray((5.0 * slow + rng.normal(size=shape) - 1.0) / np.sqrt(25 * 0.16 + 1.0))


# Effects with mean 0 and variance 1, by name.
DISTRIBUTIONS: Final[Mapping[str, Draw]] = {
    "normal": lambda rng, shape: rng.standard_normal(
        shape
    ),  # half the time of rng.normal, which adds a mean to the same numbers
    "lognormal": _lognormal,
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "bimodal": _bimodal,
}


def autocorrelated(effects: Floats, correlation: float) -> Floats:
    """Return independent effects (..., n) of variance 1 as a stationary AR(1)."""
    if not correlation:
        return effects
    series, fresh = effects.copy(), np.sqrt(1 - correlation**2)
    # A loop over positions: each effect needs the one before.
    for index in range(1, effects.shape[-1]):
        series[..., index] = correlation * series[..., index - 1] + fresh * effects[..., index]
    return series


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One system of an experiment, whose mean is 1.

    `spans` are the fewest and most repetitions of each level, outermost first; `scales` the
    standard deviations of the levels' effects and `factor` the mean, each for every cell (or to be
    broadcast); `outer` the sizes of the cells' axes, and `common` the one along which effects are
    shared, if any. By level, `shared` is the correlation along that axis, `autocorrelation` that of
    neighbours, `pairs` that with the other system.
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
    def n_values(self) -> int:
        """How many values the side has at most."""
        return prod(self.shape(len(self.spans) - 1))

    def shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of one level's effects."""
        return (*self.outer, *(high for _, high in self.spans[: level + 1]))

    def joint_shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of the shared part of one level's effects."""
        return tuple(
            1 if axis == self.common else size for axis, size in enumerate(self.shape(level))
        )

    def effect_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the effects of one experiment, shared parts last."""
        levels = range(len(self.spans))
        return [
            shape
            for i in levels
            for shape in (self.shape(i), *([self.joint_shape(i)] if self.shared[i] else []))
        ]

    def common_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the effects that are correlated with those of the other system."""
        return [self.shape(level) for level, correlation in enumerate(self.pairs) if correlation]

    def count_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the numbers of repetitions that are drawn."""
        return [
            self.shape(level)[:-1] for level, (low, high) in enumerate(self.spans) if low < high
        ]


def draw_experiments(
    sides: Sequence[Side], draw: Draw, key: Key, first: int, count: int
) -> list[Floats]:
    """Draw experiments `first` to `first + count` of a stream.

    `draw` gives independent effects with mean 0 and variance 1. The arrays (count, *outer, *sizes)
    are NaN where a parent has fewer repetitions than others.
    """
    streams = Streams(key)
    arrays = [np.empty((count, *side.shape(len(side.spans) - 1))) for side in sides]
    effect_shapes = [shape for side in sides for shape in side.effect_shapes()]
    count_shapes = [shape for side in sides for shape in side.count_shapes()]
    n_effects, n_counts = sum(map(prod, effect_shapes)), sum(map(prod, count_shapes))
    n_common = max(sum(map(prod, side.common_shapes())) for side in sides)
    at_once = max(1, CACHED // (n_effects + n_common))
    for start in range(0, count, at_once):
        stop = min(start + at_once, count)
        effects, counts = (
            np.empty((stop - start, n_effects + n_common)),
            np.empty((stop - start, n_counts)),
        )
        # Each experiment has its own generator; its numbers are added up for as many experiments as
        # a cache holds.
        for row in range(stop - start):
            generator = streams.generator(first + start + row, EXPERIMENTS)
            effects[row] = draw(generator, effects.shape[1:])
            if n_counts:
                counts[row] = generator.random(n_counts)
        effects_in_order, counts_in_order = (
            _arrays(effects, effect_shapes),
            _arrays(counts, count_shapes),
        )
        for side, values in zip(sides, arrays, strict=True):
            common = _arrays(effects[:, n_effects:], side.common_shapes())
            values[start:stop] = _values(
                side, stop - start, effects_in_order, counts_in_order, common
            )
    return arrays


def _arrays(numbers: Floats, shapes: Sequence[tuple[int, ...]]) -> Iterator[Floats]:
    """Yield the numbers of experiments (experiments, n) as arrays of these shapes."""
    start = 0
    for shape in shapes:
        yield numbers[:, start : start + prod(shape)].reshape(-1, *shape)
        start += prod(shape)


def _values(
    side: Side,
    number: int,
    effects: Iterator[Floats],
    counts: Iterator[Floats],
    common: Iterator[Floats],
) -> Floats:
    """Add up the effects of all levels and those that both systems share.

    Repetitions beyond the drawn number are NaN.
    """
    depth = len(side.spans)
    total = np.ones((number, *side.shape(depth - 1)))
    for level, (low, high) in enumerate(side.spans):
        level_effects = next(effects)
        if side.shared[level]:
            level_effects = (
                np.sqrt(side.shared[level]) * next(effects)
                + np.sqrt(1 - side.shared[level]) * level_effects
            )
        if side.pairs[level]:
            level_effects = (
                np.sqrt(side.pairs[level]) * next(common)
                + np.sqrt(1 - side.pairs[level]) * level_effects
            )
        level_effects = autocorrelated(level_effects, side.autocorrelation[level])
        below = (...,) + (None,) * (depth - 1 - level)
        total += (
            np.reshape(side.scales[level], np.shape(side.scales[level]) + (1,) * depth)
            * level_effects[below]
        )
        if low < high:
            repeated = np.floor(low + next(counts) * (high - low + 1))[..., None]
            total[np.broadcast_to((np.arange(high) >= repeated)[below], total.shape)] = np.nan
    total *= np.reshape(side.factor, np.shape(side.factor) + (1,) * depth)
    return total


def hide_levels(values: Floats, levels: int, hidden: Sequence[int]) -> Floats:
    """Make the repetitions of hidden levels those of the level below.

    The last `levels` axes are the nest, outermost first.
    """
    shape = list(values.shape)
    for level in sorted(hidden, reverse=True):
        axis = len(shape) - levels + level
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        levels -= 1
    return values.reshape(shape)

"""The runs of one system that a score is drawn from: what a run is, which units all benchmarks share, how often is drawn."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import MEANS, common_movement
from perfarray.numerics.types import Floats, Integers
from perfarray.suites.matching import INDEPENDENT, OneSystem, match_cells, movement_outputs
from perfarray.suites.numerics.distributions import Drawing, Suite, arrange
from perfarray.timings.across import MOVEMENT, Weights
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.resolve import Data, check_dim, check_positive_values, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, order_of_labels
from perfarray.timings.units import describe_value, pool_above_unit, value_depth
from perfarray.timings.validation import check_choice, check_count
from perfarray.timings.weights import weigh

Labels = str | Sequence[str] | None


class Runs(NamedTuple):
    """The suite of one system, the place of its runs in the nest, what is drawn, and the checks that its benchmarks need."""

    system: OneSystem
    depth: int
    drawing: Drawing
    checks: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """Whether the outermost units are the same for every benchmark."""
        return self.system.data.levels[0] in self.system.data.shared

    @property
    def cells(self) -> xr.DataArray:
        """The keys of the cells."""
        data = self.system.data
        return cell_keys([data.array], (*data.levels, self.system.across))

    def describe(self, *, random: bool) -> dict[str, Hashable]:
        """Return the attrs of the result."""
        data = self.system.data
        benchmarks = f"shared: {' '.join(data.shared)}" if data.shared else INDEPENDENT
        attrs = describe_value(data, self.depth) | {"mean": self.drawing.mean, "benchmarks": benchmarks}
        return attrs | ({"n_resamples": self.drawing.n_resamples, "engine": "numpy"} | describe_key(self.drawing.key) if random else {})


def check_drawing(mean: str, n_resamples: int, rng: Rng) -> Drawing:
    """Check what is drawn."""
    check_choice(mean, "mean", MEANS)
    return Drawing(check_count(n_resamples, "n_resamples", 2), mean, key_of(rng))


def resolve_runs(
    times: Data, across: str, weights: Weights | None, drawing: Drawing, *,
    metric: Labels, levels: Labels, value: str | None, unit: str | None, shared: Labels,
) -> Runs:  # fmt: skip
    """Choose metric, nest and runs, and match the suites of all cells."""
    positive = "" if drawing.mean == "arithmetic" else f"mean={drawing.mean!r}"
    weighing = weigh(times, across, weights)
    data = pool_above_unit(resolve(weighing.select(times), metric, levels, shared=shared, censored="bound"), unit)
    depth = value_depth(data, value)
    data = check_positive_values(data, positive, depth) if positive else data
    system = match_cells(data, across, weighing)
    check_dim(data.array, across, "across")
    declared = shared is not None or data.levels[0] in data.shared
    return Runs(system, depth, drawing, () if declared else (MOVEMENT,))


def over_cells(
    kernel: Callable[[Suite, Integers], tuple[np.ndarray, ...]],
    runs: Runs,
    outputs: dict[str, Output],
    coords: dict[str, Any] | None = None,
    *,
    most: int | None = None,
    in_key_order: bool = True,
) -> xr.Dataset:
    """Give a formula the runs of the matched benchmarks and the keys of the cells; at most `most` levels are drawn jointly.

    The common movement of units of benchmarks that share none is added to what the formula returns. Where random numbers are drawn,
    benchmarks come in an order that depends on their labels alone, not on that of the data.
    """
    data, across, array = runs.system.data, runs.system.across, runs.system.data.array
    # Not `runs` in the formula: tasks of dask would carry the timings.
    depth, value_depth, mean, shared = len(data.levels), runs.depth, runs.drawing.mean, runs.shared
    joint = next((number for number, level in enumerate(data.levels) if level not in data.shared), depth)
    joint = joint if most is None else min(joint, most)
    labels = array[across].values
    order = order_of_labels(labels) if in_key_order else np.arange(len(labels))
    shares = runs.system.weighing.shares_of(labels)

    def arranged(values: Floats, cells: Any, complete: Any) -> tuple[np.ndarray, ...]:
        positions = order[complete.reshape(-1)[order]]
        chosen = values.take(positions, axis=values.ndim - depth - 1)
        if mean != "arithmetic":
            # Data in memory were refused; a lazy cell with such a value has no score.
            wrong = (unit_means(chosen, depth - value_depth) <= 0).any(axis=tuple(range(-value_depth - 2, 0)))
            chosen = np.where(wrong.reshape(*wrong.shape, *[1] * (depth + 1)), np.nan, chosen)
        units = unit_means(chosen, depth)
        units = units.reshape(-1, *units.shape[-2:])
        movement = (np.full(len(units), np.nan),) * 2 if shared else common_movement(units)
        suite = arrange(chosen, depth, value_depth, joint)
        suite = suite if shares is None else suite._replace(counts=shares[positions] / shares[positions].mean())
        answers = (*kernel(suite, cells.ravel()), *movement)
        return tuple(answer.reshape((*values.shape[: -depth - 1], *answer.shape[1:])) for answer in answers)

    keys = _after_values(runs.cells, array) if is_chunked(array) else runs.cells
    core = [(across, *data.levels), (), (across,)]
    return apply(arranged, array, keys, runs.system.complete, core=core, outputs=outputs | movement_outputs(), coords=coords)


def _after_values(keys: xr.DataArray, array: xr.DataArray) -> xr.DataArray:
    """Let the keys of lazy cells wait for their values: else dask would fetch the values of all cells before it uses the first."""
    from dask.array import map_blocks

    first = array.isel({dim: 0 for dim in array.dims if dim not in keys.dims}).transpose(*keys.dims)
    chunked_keys = keys.chunk(first.chunksizes).data
    return keys.copy(data=map_blocks(lambda number, _: number, chunked_keys, first.data, dtype=keys.dtype))  # type: ignore[no-untyped-call]

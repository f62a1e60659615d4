"""The runs of one system that a score is drawn from: what a run is, which units all benchmarks share, how often is drawn."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import common_movement
from perfarray.numerics.types import Floats, Integers
from perfarray.suites.matching import INDEPENDENT, OneSystem, match_cells, moved
from perfarray.suites.numerics.distributions import Drawing, Suite, arrange
from perfarray.timings.across import MOVEMENT, Weights
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.resolve import Data, check_dim, check_positive_values, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, order_of_labels
from perfarray.timings.units import describe_value, pooled, value_place
from perfarray.timings.validation import check_choice, check_count
from perfarray.timings.weights import Weighing, weigh

MEANS = ("geometric", "harmonic", "arithmetic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the caller of a distribution chose, whatever is made of the scores."""

    metric: str | Sequence[str] | None
    levels: str | Sequence[str] | None
    across: str
    mean: str
    value: str | None
    shared: str | Sequence[str] | None
    n_resamples: int
    rng: Rng
    unit: str | None = None
    weights: Weights | None = None


class Runs(NamedTuple):
    """The suite of one system, the place of its runs in the nest, what is drawn, and whether somebody said which units are shared."""

    system: OneSystem
    depth: int
    drawing: Drawing
    shared_named: bool
    weighing: Weighing

    @property
    def shared(self) -> bool:
        """Whether the outermost units are the same for every benchmark."""
        return self.system.data.levels[0] in self.system.data.shared

    @property
    def cells(self) -> xr.DataArray:
        """The keys of the cells."""
        data = self.system.data
        return cell_keys([data.array], (*data.levels, self.system.across))

    @property
    def moving(self) -> tuple[str, ...]:
        """The check of units that move together, where nobody said whether benchmarks share them."""
        return () if self.shared or self.shared_named else (MOVEMENT,)

    def describe(self, *, random: bool) -> dict[str, Hashable]:
        """Return the attrs of the result."""
        data = self.system.data
        benchmarks = f"shared: {' '.join(data.shared)}" if data.shared else INDEPENDENT
        attrs = describe_value(data, self.depth) | {"mean": self.drawing.mean, "benchmarks": benchmarks} | self.weighing.attrs
        return attrs | ({"n_resamples": self.drawing.n_resamples, "engine": "numpy"} | describe_key(self.drawing.key) if random else {})


def resolve_runs(times: Data, request: Request) -> Runs:
    """Check what was given, and match the suites of all cells."""
    check_choice(request.mean, "mean", MEANS)
    positive = "" if request.mean == "arithmetic" else f"mean={request.mean!r}"
    weighing = weigh(times, request.across, request.weights)
    data = pooled(resolve(weighing.kept(times), request.metric, request.levels, shared=request.shared, censored="bound"), request.unit)
    depth = value_place(data, request.value)
    data = check_positive_values(data, positive, depth) if positive else data
    system = match_cells(data, request.across)
    check_dim(data.array, request.across, "across")
    drawing = Drawing(check_count(request.n_resamples, "n_resamples", 2), request.mean, key_of(request.rng))
    return Runs(system, depth, drawing, request.shared is not None, weighing)


def over_cells(
    kernel: Callable[[Suite, Integers], tuple[np.ndarray, ...]],
    runs: Runs,
    outputs: dict[str, Output],
    coords: dict[str, Any] | None = None,
    *,
    most: int | None = None,
    in_key_order: bool = True,
) -> xr.Dataset:
    """Give a formula the runs of the matched benchmarks and the keys of the cells; `most` levels are drawn together, if given.

    How the units of benchmarks that share none move together is added to what the formula returns. Where random
    numbers are `drawn`, benchmarks come in an order that depends on their labels alone, not on that of the data.
    """
    data, across = runs.system.data, runs.system.across
    depth, value_depth, mean, jointly = (
        len(data.levels),
        runs.depth,
        runs.drawing.mean,
        runs.shared,
    )  # not `runs`: tasks would carry the timings
    joint = next((number for number, level in enumerate(data.levels) if level not in data.shared), depth)
    joint = joint if most is None else min(joint, most)

    labels = data.array[across].values
    order = order_of_labels(labels) if in_key_order else np.arange(len(labels))
    shares = runs.weighing.of(labels)

    def arranged(values: Floats, cells: Any, complete: Any) -> tuple[np.ndarray, ...]:
        positions = order[complete.reshape(-1)[order]]
        chosen = values.take(positions, axis=values.ndim - depth - 1)
        if mean != "arithmetic":
            # Data in memory were refused; a lazy cell with such a value has no score.
            means = unit_means(chosen, depth - value_depth)
            axes = tuple(range(values.ndim - depth - 1, means.ndim))
            wrong = np.asarray((means <= 0).any(axis=axes))
            chosen = np.where(wrong[(..., *(np.newaxis,) * (depth + 1))], np.nan, chosen)
        units = unit_means(chosen, depth)
        units = units.reshape(-1, *units.shape[-2:])
        together = [np.full(len(units), np.nan)] * 2 if jointly else common_movement(units)
        suite = arrange(chosen, depth, value_depth, joint)
        suite = suite if shares is None else suite._replace(counts=shares[positions] / shares[positions].mean())
        answers = (*kernel(suite, cells.ravel()), *together)
        return tuple(array.reshape((*values.shape[: -depth - 1], *array.shape[1:])) for array in answers)

    numbers = _held_back(runs.cells, data.array) if is_chunked(data.array) else runs.cells
    core = [(across, *data.levels), (), (across,)]
    return apply(arranged, data.array, numbers, runs.system.complete, core=core, outputs=outputs | moved(), coords=coords)


def _held_back(keys: xr.DataArray, array: xr.DataArray) -> xr.DataArray:
    """Let the keys of lazy cells wait for their values: dask would fetch the values of all cells before it uses the first else."""
    from dask.array import map_blocks

    first = array.isel({dim: 0 for dim in array.dims if dim not in keys.dims}).transpose(*keys.dims)
    chunked_keys = keys.chunk(first.chunksizes).data
    return keys.copy(data=map_blocks(lambda number, _: number, chunked_keys, first.data, dtype=keys.dtype))  # type: ignore[no-untyped-call]

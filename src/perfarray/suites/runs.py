"""The runs of one system that a score is drawn from: what a run is, how often is drawn."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.levels import unit_means
from perfarray.numerics.suite import MEANS, common_movement
from perfarray.numerics.types import Floats, Integers
from perfarray.suites.matching import INDEPENDENT, Names
from perfarray.suites.numerics.distributions import Drawing, SuiteRuns, arrange
from perfarray.suites.one_system import OneSystem, match_cells
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.labels import label_values
from perfarray.timings.movement import MOVEMENT, MOVES
from perfarray.timings.resolve import Data, check_dim, decline_zeros, resolve
from perfarray.timings.streams import Rng, cell_keys, describe_key, key_of, order_of_labels
from perfarray.timings.units import describe_value, pool_above_unit, value_depth
from perfarray.timings.validation import check_choice, check_count
from perfarray.timings.weights import Weights, weigh
from perfarray.timings.zeros import Positive


class Runs(NamedTuple):
    """The suite of one system, the place of its runs in the nest, and what is drawn."""

    system: OneSystem
    depth: int
    drawing: Drawing
    checks: tuple[str, ...]

    @property
    def cells(self) -> xr.DataArray:
        """The keys of the cells."""
        data = self.system.data
        return cell_keys([data.array], (*data.levels, self.system.across))

    def describe(self, *, random: bool) -> dict[str, Hashable]:
        """Return the attrs of the result."""
        data = self.system.data
        benchmarks = f"shared: {' '.join(data.shared)}" if data.shared else INDEPENDENT
        attrs = describe_value(data, self.depth) | {
            "mean": self.drawing.mean,
            "benchmarks": benchmarks,
        }
        return attrs | (
            {"n_resamples": self.drawing.n_resamples, "engine": "numpy"}
            | describe_key(self.drawing.key)
            if random
            else {}
        )


def resolve_runs(
    times: Data,
    across: str,
    weights: Weights | None,
    mean: str,
    n_resamples: int,
    rng: Rng,
    *,
    metric: Names,
    levels: Names,
    value: str | None,
    unit: str | None,
    shared: Names,
) -> Runs:
    """Check what is drawn, choose metric, nest and runs, and match the suites of all cells."""
    check_choice(mean, "mean", MEANS)
    drawing = Drawing(check_count(n_resamples, "n_resamples", 2), mean, key_of(rng))
    positive = "" if mean == "arithmetic" else f"mean={mean!r}"
    weighing = weigh(times, across, weights)
    times, as_nested = weighing.select(times), unit is not None
    data = resolve(
        times,
        metric,
        levels,
        shared=shared,
        censored="bound",
        with_copies=True,
        as_nested=as_nested,
    )
    data = pool_above_unit(data, unit)
    depth = value_depth(data, value)
    data = decline_zeros(data, Positive(positive, level=depth)) if positive else data
    system = match_cells(data, across, weighing)
    check_dim(data.array, across, "across")
    declared = shared is not None or data.levels[0] in data.shared
    return Runs(system, depth, drawing, () if declared else (MOVEMENT,))


def over_cells(
    kernel: Callable[[SuiteRuns, Integers], tuple[np.ndarray, ...]],
    runs: Runs,
    outputs: dict[str, Output],
    coords: dict[str, Any] | None = None,
    *,
    max_joint: int | None = None,
    in_key_order: bool = True,
) -> xr.Dataset:
    """Give a formula the runs of the matched benchmarks and the keys of the cells.

    At most `max_joint` levels are drawn jointly.

    The common movement of units of benchmarks that share none is added to what the formula returns.
    Where random numbers are drawn, benchmarks come in an order that depends on their labels alone,
    not on that of the data.
    """
    data, across, array = runs.system.data, runs.system.across, runs.system.data.array
    # Not `runs` in the formula: tasks of dask would carry the timings.
    depth, value_depth, shared = len(data.levels), runs.depth, data.levels[0] in data.shared
    joint = next(
        (number for number, level in enumerate(data.levels) if level not in data.shared), depth
    )
    joint = joint if max_joint is None else min(joint, max_joint)
    labels = label_values(array, across)
    order = order_of_labels(labels) if in_key_order else np.arange(len(labels))
    shares = runs.system.weighing.shares_of(labels)

    def arranged(values: Floats, cells: Any, complete: Any) -> tuple[np.ndarray, ...]:
        positions = order[complete.reshape(-1)[order]]
        cell_values = values.take(positions, axis=values.ndim - depth - 1)
        units = unit_means(cell_values, depth)
        units = units.reshape(-1, *units.shape[-2:])
        movement = (np.full(len(units), np.nan),) * 2 if shared else common_movement(units)
        suite = arrange(cell_values, depth, value_depth, joint)
        suite = (
            suite
            if shares is None
            else suite._replace(counts=shares[positions] / shares[positions].mean())
        )
        answers = (*kernel(suite, cells.ravel()), *movement)
        return tuple(
            answer.reshape((*values.shape[: -depth - 1], *answer.shape[1:])) for answer in answers
        )

    keys = runs.cells
    if is_chunked(
        array
        # keys wait for their values: else dask would fetch the values of all cells before it uses
        # the first
    ):
        from dask.array import map_blocks

        first = array.isel({dim: 0 for dim in array.dims if dim not in keys.dims}).transpose(
            *keys.dims
        )
        chunked_keys: Any = keys.chunk(first.chunksizes).data
        waiting = map_blocks(lambda number, _: number, chunked_keys, first.data, dtype=keys.dtype)  # type: ignore[no-untyped-call]
        keys = keys.copy(data=waiting)
    core = [(across, *data.levels), (), (across,)]
    return apply(
        arranged,
        array,
        keys,
        runs.system.complete,
        core=core,
        outputs=outputs | MOVES,
        coords=coords,
    )

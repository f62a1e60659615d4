"""Curves of the picture of a plan: the half-width that budgets buy."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.numerics.types import Floats, Integers
from perfarray.timings.apply import LEVEL
from perfarray.variation.numerics.allocation import Goal
from perfarray.variation.numerics.forests import Forest, nest, side_by_side, tree
from perfarray.variation.numerics.plans import half_widths_by_budget

BUDGET_FACTOR = "budget_factor"
MAX_CELLS = 1 << 12  # planned at a time, which bounds the memory
FACTORS = tuple(2.0 ** (step / 2) for step in range(-6, 7))


def plan_curves(result: xr.Dataset) -> xr.Dataset:
    """Return a plan with the half-widths at multiples of its cost, along `budget_factor`.

    `half_width_by_budget` is that of the best plan before rounding,
    `default_half_width_by_budget` that of the experiment that repeats the outermost level alone.
    Both go through the half-widths of the plan.
    """
    result = result.compute()
    cell_dims, attrs = result["cost"].dims, result.attrs
    goal = Goal(
        attrs.get("budget"),
        attrs.get("half_width_wanted"),
        int(attrs["min_units"]),
        float(attrs["confidence_level"]),
        attrs.get("assurance"),
    )
    shape = result["cost"].shape
    best, default = (np.full((result["cost"].size, len(FACTORS)), np.nan) for _ in range(2))
    planned = np.flatnonzero(np.isfinite(result["cost"].values))
    # A forest has one shape: nests are planned together, plans across benchmarks one by one.
    is_across = str(attrs.get("across", "")) in result["variance"].dims
    step = 1 if is_across else MAX_CELLS
    for start in range(0, len(planned), step):
        rows = planned[start : start + step]
        if is_across:
            index = np.unravel_index(rows[0], shape)
            forest, counts = _forest(result.isel(dict(zip(cell_dims, index, strict=True))))
        else:
            forest, counts = _nests(result, rows)
        best[rows], default[rows] = _half_widths(forest, counts, result, rows, goal)
    dims = (*cell_dims, BUDGET_FACTOR)
    return result.assign_coords({BUDGET_FACTOR: list(FACTORS)}).assign(
        half_width_by_budget=(dims, best.reshape(*shape, -1), {"units": "1"}),
        default_half_width_by_budget=(dims, default.reshape(*shape, -1), {"units": "1"}),
    )


def _half_widths(
    forest: Forest, counts: Floats, result: xr.Dataset, rows: Integers, goal: Goal
) -> Sequence[Floats]:
    """Return the half-widths (rows, budgets) of the best plans, and of one of everything."""
    cost = result["cost"].values.ravel()[rows]
    money = cost if goal.budget is None else goal.budget
    one_of_everything = np.ones(counts.shape)
    one_of_everything[:, forest.roots] = np.floor(money / forest.cost.sum(axis=-1))[:, None]
    budgets = cost[:, None] * np.array(FACTORS)
    widths = (
        result[name].transpose(*result["cost"].dims).values.ravel()[rows]
        for name in ("half_width", "default_half_width")
    )
    return [
        half_widths_by_budget(forest, plan, width, budgets, goal, one_each)
        for plan, width, one_each in zip(
            (counts, one_of_everything), widths, (False, True), strict=True
        )
    ]


def _nests(result: xr.Dataset, rows: Integers) -> tuple[Forest, Floats]:
    """Return the nests of some cells, and their counts (rows, L)."""
    arrays = xr.broadcast(*(result[name] for name in ("repetitions", "variance", "level_cost")))
    counts, variance, cost = (
        np.nan_to_num(
            array.transpose(*result["cost"].dims, LEVEL).values.reshape(-1, array.sizes[LEVEL])[
                rows
            ]
        )
        for array in arrays
    )
    return nest(variance, cost), counts


def _forest(cell: xr.Dataset) -> tuple[Forest, Floats]:
    """Return the trees that one plan across benchmarks is made for, and its counts (1, nodes)."""
    across = str(cell.attrs["across"])
    measured = cell["repetitions"].notnull().all(LEVEL).values
    systems = [
        np.stack(
            [
                cell[prefix + name].transpose(across, LEVEL).values[measured]
                for name in ("variance", "level_cost", "repetitions")
            ]
        )
        for prefix in ("", "baseline_")
        if f"{prefix}variance" in cell
    ]
    shared = len(str(cell.attrs.get("shared", "")).split())
    if not shared:  # each benchmark of each system is a tree
        groups = [system[:, [row]] for system in systems for row in range(system.shape[1])]
    elif "paired" in cell.attrs:
        groups = [np.concatenate(systems, axis=1)]
    else:
        groups = systems
    stem = max(shared, 1)
    forest = side_by_side([tree(rows[:2, 0, :stem], rows[:2, :, stem:]) for rows in groups])
    counts = np.empty((1, len(forest.cost)))
    counts[:, forest.paths] = np.concatenate([rows[2] for rows in groups])
    return forest.of(None), counts

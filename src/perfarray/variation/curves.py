"""Curves of the picture of a plan: the half-width that budgets buy."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.numerics.types import Floats
from perfarray.timings.apply import LEVEL
from perfarray.variation.numerics.allocation import Goal
from perfarray.variation.numerics.forests import Forest, nest, side_by_side, tree
from perfarray.variation.numerics.plans import half_widths_by_budget

BUDGET_FACTOR = "budget_factor"
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
    best, default = (np.full((*shape, len(FACTORS)), np.nan) for _ in range(2))
    for index in np.ndindex(shape):
        cell = result.isel(dict(zip(cell_dims, index, strict=True)))
        if np.isfinite(cell["cost"]):
            best[index], default[index] = _of_cell(cell, goal)
    dims = (*cell_dims, BUDGET_FACTOR)
    return result.assign_coords({BUDGET_FACTOR: list(FACTORS)}).assign(
        half_width_by_budget=(dims, best, {"units": "1"}),
        default_half_width_by_budget=(dims, default, {"units": "1"}),
    )


def _of_cell(cell: xr.Dataset, goal: Goal) -> Sequence[Floats]:
    forest, counts = _forest(cell)
    one_of_everything = np.ones(counts.shape)
    money = float(cell["cost"]) if goal.budget is None else goal.budget
    one_of_everything[:, forest.roots] = np.floor(money / forest.cost.sum())
    budgets = float(cell["cost"]) * np.array([FACTORS])
    return [
        half_widths_by_budget(forest, plan, cell[name].values[None], budgets, goal, one_each)[0]
        for plan, name, one_each in (
            (counts, "half_width", False),
            (one_of_everything, "default_half_width", True),
        )
    ]


def _forest(cell: xr.Dataset) -> tuple[Forest, Floats]:
    """Return the trees that one plan is made for, and its counts (1, nodes)."""
    across = str(cell.attrs.get("across", ""))
    if across not in cell["variance"].dims:
        arrays = (cell[name].values[None] for name in ("variance", "level_cost", "repetitions"))
        variance, cost, counts = (np.nan_to_num(array) for array in arrays)
        return nest(variance, cost), counts
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

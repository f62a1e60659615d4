"""How often experiments reach the half-width that `plan_repetitions(budget=)` states, by pilot and
by where the variance lies.

    python docs/scripts/budget_plans.py

Pilots are of binaries, executions and iterations; shares of the variance are in that order.
Experiments as planned are drawn apart from the package. Prints percents for three budgets at an
assurance of 0.5 and of 0.9; docs/how-to/how_many_repetitions.md quotes the range.
"""

import sys
import warnings

import numpy as np
import xarray as xr
from scipy.stats import t

import perfarray  # noqa: F401  (registers .perf)

SPREAD, COSTS = 0.03, {"binary": 60.0, "execution": 5.0}
PILOTS = ((3, 2, 2), (3, 3, 3), (5, 3, 3), (10, 3, 3))
SHARES = ((0.6, 0.2, 0.2), (0.3, 0.3, 0.4), (0.1, 0.8, 0.1), (0.1, 0.3, 0.6), (0.05, 0.05, 0.9))
BUDGETS, ASSURANCES = (500.0, 2000.0, 8000.0), (0.5, 0.9)


def draw(
    rng: np.random.Generator, pilots: int, sizes: tuple[int, ...], shares: tuple[float, ...]
) -> xr.DataArray:
    """Draw pilots, one for each benchmark."""
    shapes = [(pilots, *sizes[:depth], *[1] * (3 - depth)) for depth in (1, 2, 3)]
    effects = (
        share**0.5 * rng.standard_normal(shape) for share, shape in zip(shares, shapes, strict=True)
    )
    dims = ("benchmark", "binary", "execution", "iteration")
    return xr.DataArray(1 + SPREAD * sum(effects), dims=dims, name="time", attrs={"units": "s"})


def reached(
    rng: np.random.Generator,
    times: xr.DataArray,
    shares: tuple[float, ...],
    budget: float,
    assurance: float,
) -> float:
    """Return the share of experiments that reach the half-width of their plan."""
    plan = times.perf.plan_repetitions(costs=COSTS, budget=budget, assurance=assurance)
    counts = plan["repetitions"].values
    true = SPREAD**2 * (
        np.array(shares)
        / np.cumprod(np.column_stack([np.ones(len(counts)), counts[:, 1:]]), axis=1)
    ).sum(axis=1)
    found = true * rng.chisquare(counts[:, 0] - 1) / (counts[:, 0] - 1)
    half = t.ppf(0.975, counts[:, 0] - 1) * np.sqrt(found / counts[:, 0])
    return float((half <= plan["half_width"].values).mean())


def main(pilots: int) -> None:
    """Print a row for each pilot and law."""
    rng = np.random.default_rng(1)
    print(
        "| pilot | shares |",
        " | ".join(f"{budget:.0f} s, {sure}" for budget in BUDGETS for sure in ASSURANCES),
        "|",
    )
    print("| --- | --- |", " | ".join(["---:"] * len(BUDGETS) * len(ASSURANCES)), "|")
    for sizes in PILOTS:
        for shares in SHARES:
            times = draw(rng, pilots, sizes, shares)
            cells = [
                reached(rng, times, shares, budget, sure)
                for budget in BUDGETS
                for sure in ASSURANCES
            ]
            print(
                f"| {sizes} | {shares} |",
                " | ".join(f"{100 * cell:.0f}" for cell in cells),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)

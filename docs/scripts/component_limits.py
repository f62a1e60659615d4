"""Print the first table of docs/how-to/variance_components.md: coverage of limits of a nominal 95
%, and how often a call is warned.

    python docs/scripts/component_limits.py [experiments]

Half a minute for 4,000 experiments on one core; Monte Carlo errors are some 0.3 to 0.8 points.
"""

import sys
import warnings

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray import variance_components

LEVELS = ("binary", "execution", "iteration")
INSIDE = (5, 5)
"""Executions of a binary, and iterations of an execution."""

BINARIES = (5, 10, 20, 30)
CASES = (
    "normal",
    "exponential",
    "lognormal, sigma 0.5",
    "lognormal, sigma 1",
    "one of 20 units 10 standard deviations away",
)

WARNED, NOTED = 0.001, 3.0
"""The p-value in all levels below which a warning names carriers, and the unevenness of which the kept note speaks."""

BATCH = 250


def effects(case: str, rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return effects of mean 0 and variance 1."""
    if case == "exponential":
        return rng.exponential(1, shape) - 1
    if case.startswith("lognormal"):
        sigma = float(case.split()[-1])
        return (np.exp(sigma * rng.standard_normal(shape)) - np.exp(sigma**2 / 2)) / np.sqrt(
            np.expm1(sigma**2) * np.exp(sigma**2)
        )
    normal = rng.standard_normal(shape)
    if case == "normal":
        return normal
    return (normal + 10 * (rng.random(shape) < 0.05) - 0.5) / np.sqrt(1 + 100 * 0.05 * 0.95)


def row(case: str, binaries: int, experiments: int, rng: np.random.Generator) -> list[str]:
    """Return the coverage of both kinds of limits of the three components, and how many percent of
    calls are warned, and noted."""
    covered, told = np.zeros((2, 3)), np.zeros(2)
    for _ in range(experiments // BATCH):
        sizes = (binaries, *INSIDE)
        values = sum(
            effects(case, rng, (BATCH, *sizes[:level], *(1,) * (3 - level))) for level in (1, 2, 3)
        )
        times = xr.DataArray(100 + values, dims=("experiment", *LEVELS))
        for number, limits in enumerate(("normal", "jackknife")):
            components = variance_components(times, limits=limits)
            covered[number] += ((components["lower"] <= 1) & (components["upper"] >= 1)).sum(
                "experiment"
            )
        told[0] += (components["carried_pvalue"].min("level") * len(LEVELS) <= WARNED).sum()
        told[1] += (
            (components["unevenness"].max("level") >= NOTED).sum()
            if "unevenness" in components
            else 0
        )
    share = 100 / (experiments // BATCH * BATCH)
    limits = [" / ".join(f"{share * count:.0f}" for count in counts) for counts in covered]
    return [*limits, f"{share * told[0]:.1f}", f"{share * told[1]:.0f}" if binaries >= 10 else "-"]


def main(experiments: int) -> None:
    """Print a row for each law of the effects and number of binaries."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    print(
        '| effects | binaries | `"normal"` | `"jackknife"` | warned | noted |\n| --- | --- | '
        "--- | --- | --- | --- |"
    )
    for case in CASES:
        for binaries in BINARIES:
            print(
                f"| {case} | {binaries} | "
                + " | ".join(row(case, binaries, experiments, rng))
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000)

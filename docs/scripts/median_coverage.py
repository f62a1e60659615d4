"""Print the tables of medians in docs/how-to/skewed_timings.md: coverage of a nominal 95 %, false
alarms, and power.

    python docs/scripts/median_coverage.py [experiments]

Two minutes for 2,000 experiments on one core (a tenth as many for the bootstrap; half as many
suites). Monte Carlo errors are some 0.5 points (1.5; 0.7).
"""

import sys
import warnings
from itertools import product

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray import compare, ratio_interval

SD = 0.02
DESIGNS = ((6, 1), (10, 1), (30, 1), (5, 10), (10, 30))
"""Units a side, and runs of each."""

ALARMS = ((3, 1), (5, 1), (10, 1), (30, 1), (3, 10), (5, 10), (10, 10))
SUITE = 13
"""The same of the comparison of a program with itself, and benchmarks of a suite."""

RANKED = (3, 4, 5, 8, 10, 30)
"""Units a side of one run each, of which rank sums and order statistics are compared."""

SLOWDOWN = 2
"""The change whose power is printed, in standard deviations."""

SHARE = 0.4
"""Share of the variance between units, where they have several runs."""

CASES = ("normal", "lognormal", "two modes, 80/20", "two modes, 50/50")


def effects(case: str, rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return effects of a standard deviation of 1."""
    if case == "normal":
        return rng.standard_normal(shape)
    if case == "lognormal":
        return np.exp(rng.standard_normal(shape)) / np.sqrt(np.expm1(1.0) * np.e)
    share = 0.2 if "80" in case else 0.5
    return (20 * (rng.random(shape) < share) + rng.standard_normal(shape)) / np.sqrt(
        400 * share * (1 - share) + 1
    )


def times(
    case: str, rng: np.random.Generator, experiments: int, units: int, runs: int, deviation: float
) -> xr.DataArray:
    """Return timings of many experiments."""
    own = effects(case, rng, (experiments, units, 1))
    inside = (
        np.sqrt(SHARE) * own + np.sqrt(1 - SHARE) * effects(case, rng, (experiments, units, runs))
        if runs > 1
        else own
    )
    return xr.DataArray(1 + deviation * inside, dims=("experiment", "binary", "execution"))


def alarms(experiments: int, rng: np.random.Generator) -> None:
    """Print how often programs and suites are called faster or slower than themselves, for each
    design and law."""
    print("\n| units x runs | " + " | ".join(CASES) + " |\n| --- |" + " --- |" * len(CASES))
    for units, runs in ALARMS:
        cells = []
        for case in CASES:
            found = {}
            for statistic in ("median", "mean"):
                drawn = (times(case, rng, experiments * SUITE, units, runs, SD) for _ in range(2))
                new, old = (
                    side.coarsen(experiment=SUITE).construct(experiment=("suite", "benchmark"))
                    for side in drawn
                )
                own = compare(new, old, statistic=statistic)
                found[statistic] = [
                    100 * float(own[name].isin(["faster", "slower"]).mean())
                    for name in ("verdict", "suite_verdict")
                ]
            (row, suite), (row_of_means, suite_of_means) = found.values()
            cells.append(f"{row:.1f} ({row_of_means:.1f}), {suite:.1f} ({suite_of_means:.1f})")
        print(f"| {units} x {runs} | " + " | ".join(cells) + " |", flush=True)


def ranks(experiments: int, rng: np.random.Generator) -> None:
    """Print coverage, width and power of the limits of rank sums and, in brackets, of order
    statistics, where medians are defined."""
    cases = [case for case in CASES if "50" not in case]
    print("\n| units | SD | " + " | ".join(cases) + " |\n| --- | --- |" + " --- |" * len(cases))
    for spread, units in product((1, 4), RANKED):
        row = []
        for case in cases:
            truth = np.divide(
                *(
                    float(times(case, rng, 1, 1_000_000, 1, SD * factor).median())
                    for factor in (spread, 1)
                )
            )
            new, old = (
                times(case, rng, experiments, units, 1, SD * factor) for factor in (spread, 1)
            )
            slower = new * (1 + SLOWDOWN * SD * spread) / truth
            numbers = []
            for method in ("rank", "order_statistics"):
                limits = ratio_interval(new, old, statistic="median", method=method)
                coverage = 100 * float(
                    ((limits["lower"] <= truth) & (truth <= limits["upper"])).mean()
                )
                width = 100 * float((limits["upper"] - limits["lower"].clip(min=0)).median())
                power = 100 * float(
                    (
                        ratio_interval(slower, old, statistic="median", method=method)["lower"] > 1
                    ).mean()
                )
                numbers.append(
                    [
                        f"{coverage:.1f}",
                        f"{width:.1f}" if np.isfinite(width) else "-",
                        f"{power:.0f}",
                    ]
                )
            row.append(
                ", ".join(f"{ranked} ({ordered})" for ranked, ordered in zip(*numbers, strict=True))
            )
        print(f"| {units} | {spread}:1 | " + " | ".join(row) + " |", flush=True)


def main(experiments: int) -> None:
    """Print a row for each design, and ratio of standard deviations."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    ranks(experiments, np.random.default_rng(2))
    alarms(experiments // 2, rng)
    print(
        "| units x runs | SD | " + " | ".join(CASES) + " |\n| --- | --- |" + " --- |" * len(CASES)
    )
    for units, runs in DESIGNS:
        for spread in (1, 4):
            deviations = (SD * spread, SD)
            cells = []
            for case in CASES:
                truth = np.divide(
                    *(
                        float(times(case, rng, 1, 1_000_000 // runs, runs, deviation).median())
                        for deviation in deviations
                    )
                )
                text = []
                for method, number in (
                    ("order_statistics", experiments),
                    ("percentile", experiments // 10),
                ):
                    new, old = (
                        times(case, rng, number, units, runs, deviation) for deviation in deviations
                    )
                    found = ratio_interval(
                        new, old, statistic="median", method=method, n_resamples=199, rng=1
                    )
                    text.append(
                        100 * float(((found["lower"] <= truth) & (truth <= found["upper"])).mean())
                    )
                cells.append(f"{text[0]:.1f} ({text[1]:.0f})")
            print(f"| {units} x {runs} | {spread}:1 | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)

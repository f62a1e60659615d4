"""Print the table of medians in docs/how-to/skewed_timings.md: coverage of a nominal 95 % by design and distribution.

    python docs/scripts/median_coverage.py [experiments]

Two minutes for 2,000 experiments on one core (a tenth as many for the bootstrap). Monte Carlo errors are some 0.5 points (1.5).
"""

import sys
import warnings

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray import ratio_interval

SD = 0.02
DESIGNS = ((6, 1), (10, 1), (30, 1), (5, 10), (10, 30))
"""Units a side, and runs of each."""

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
    return (20 * (rng.random(shape) < share) + rng.standard_normal(shape)) / np.sqrt(400 * share * (1 - share) + 1)


def times(case: str, rng: np.random.Generator, experiments: int, units: int, runs: int, deviation: float) -> xr.DataArray:
    """Return timings of many experiments."""
    own = effects(case, rng, (experiments, units, 1))
    inside = np.sqrt(SHARE) * own + np.sqrt(1 - SHARE) * effects(case, rng, (experiments, units, runs)) if runs > 1 else own
    return xr.DataArray(1 + deviation * inside, dims=("experiment", "binary", "execution"))


def main(experiments: int) -> None:
    """Print a row for each design, and ratio of standard deviations."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    print("| units x runs | SD | " + " | ".join(CASES) + " |\n| --- | --- |" + " --- |" * len(CASES))
    for units, runs in DESIGNS:
        for spread in (1, 4):
            deviations = (SD * spread, SD)
            cells = []
            for case in CASES:
                truth = np.divide(*(float(times(case, rng, 1, 1_000_000 // runs, runs, deviation).median()) for deviation in deviations))
                text = []
                for method, number in (("order_statistics", experiments), ("percentile", experiments // 10)):
                    new, old = (times(case, rng, number, units, runs, deviation) for deviation in deviations)
                    found = ratio_interval(new, old, statistic="median", method=method, n_resamples=199, rng=1)
                    text.append(100 * float(((found["lower"] <= truth) & (truth <= found["upper"])).mean()))
                cells.append(f"{text[0]:.1f} ({text[1]:.0f})")
            print(f"| {units} x {runs} | {spread}:1 | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)

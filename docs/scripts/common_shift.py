"""How often `compare` says that all benchmarks of a suite moved by one factor (the note
`common_shift`).

    python docs/scripts/common_shift.py

The noise of an execution is 1 %. "The same" are comparisons of a program with itself. In the next
columns all benchmarks are slower, in one of them a tenth of the benchmarks by 10 % more. In the
last ones only some of the benchmarks changed, or all by other factors: there the note is false. The
table is that of `docs/how-to/suites.md`.
"""

from itertools import product

import numpy as np
import xarray as xr

import perfarray
from perfarray.comparisons.suite_rows import shifts_of

EXPERIMENTS, NOISE = 1000, 0.01
BENCHMARKS, EXECUTIONS = (5, 8, 20, 60), (3, 5, 10, 30)
CHANGES = (
    "the same",
    "all 1 %",
    "all 3 %",
    "all 3 %, some 13 %",
    "a quarter 3 %",
    "half 1 %",
    "half 3 %",
    "half 3 %, half -3 %",
)


def change(name: str, benchmarks: int) -> np.ndarray:
    """Return the log ratios of the benchmarks."""
    place = (np.arange(benchmarks) + 0.5) / benchmarks
    return {
        "the same": np.zeros(benchmarks),
        "all 1 %": np.full(benchmarks, 0.01),
        "all 3 %": np.full(benchmarks, 0.03),
        "all 3 %, some 13 %": np.where(place < 0.1, 0.13, 0.03),
        "a quarter 3 %": np.where(place < 0.25, 0.03, 0.0),
        "half 1 %": np.where(place < 0.5, 0.01, 0.0),
        "half 3 %": np.where(place < 0.5, 0.03, 0.0),
        "half 3 %, half -3 %": np.where(place < 0.5, 0.03, -0.03),
    }[name]


def share_of_notes(
    rng: np.random.Generator,
    name: str,
    benchmarks: int,
    executions: int,
    experiments: int = EXPERIMENTS,
) -> float:
    """Return the share of experiments with a common shift."""
    log_times = NOISE * rng.standard_normal((2, experiments, benchmarks, executions))
    log_times[1] += change(name, benchmarks)[:, None]
    old, new = (
        xr.DataArray(np.exp(side), dims=("experiment", "benchmark", "execution"), name="time")
        for side in log_times
    )
    return float(shifts_of(perfarray.compare(new, old), "benchmark").common.mean())


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    print(f"| benchmarks | executions | {' | '.join(CHANGES)} |")
    print("| ---: | ---: |" + " ---: |" * len(CHANGES))
    for benchmarks, executions in product(BENCHMARKS, EXECUTIONS):
        shares = [100 * share_of_notes(rng, name, benchmarks, executions) for name in CHANGES]
        print(f"| {benchmarks} | {executions} | {' | '.join(f'{share:.1f}' for share in shares)} |")


if __name__ == "__main__":
    import warnings

    with warnings.catch_warnings(action="ignore"):
        main()

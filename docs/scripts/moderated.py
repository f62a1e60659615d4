"""How often `compare(prior="suite")` is wrong in its worst row, and what it sees, beside `compare`
without a prior.

    python docs/scripts/moderated.py

A program is compared with itself, and with one that is 2 % slower, at 1 % noise. One row is noisier
than the others, on both sides or on the candidate's alone; or noise differs by a lognormal law. The
tables are those of `docs/how-to/few_runs.md`. The level is that of the worst row: averaged over
rows, a noisy row that is wrong in every third experiment hides.
"""

from itertools import product

import numpy as np
import xarray as xr
from scipy import stats

import perfarray

EXPERIMENTS, NOISE, CHANGE = 2000, 0.01, 1.02
SUITES = tuple(product((8, 30), (3, 5, 10)))
NOISY = ((1, 1), (2, 2), (3, 3), (5, 5), (10, 10), (2, 1), (3, 1), (5, 1), (10, 1))
SPREADS = (0.3, 0.7)


def shares(
    rng: np.random.Generator, new: np.ndarray, old: np.ndarray, runs: int, experiments: int
) -> list[str]:
    """Return the share of false verdicts in the worst row, of means missed, and of 2 % seen in
    other rows, in percent, without -> with."""
    dims, coords = ("version", "experiment", "benchmark", "execution"), {"version": ["old", "new"]}
    noise = np.stack([old, new])[:, None, :, None] * rng.standard_normal(
        (2, experiments, len(new), runs)
    )
    cells: list[list[float]] = [[], [], []]
    for prior in (None, "suite"):
        verdicts = []
        for change in (1.0, CHANGE):
            times = xr.DataArray(
                (1 + noise) * np.array([1.0, change])[:, None, None, None],
                dims=dims,
                coords=coords,
                name="time",
            )
            differs = perfarray.compare(times, "old", prior=prior)["verdict"] != "inconclusive"
            verdicts.append(
                differs.mean([dim for dim in differs.dims if dim != "benchmark"]).values
            )
            if change == 1.0:
                interval = times.sel(version="new").perf.mean_interval(prior=prior)
                missed = (
                    ((interval["lower"] > 1) | (interval["upper"] < 1)).mean("experiment").values
                )
        for cell, value in zip(
            cells, (verdicts[0].max(), missed.max(), verdicts[1][1:].mean()), strict=True
        ):
            cell.append(100 * float(value))
    return [" -> ".join(f"{value:.1f}" for value in cell) for cell in cells]


def main(experiments: int = EXPERIMENTS) -> None:
    """Print the table of one noisy row, and that of benchmarks whose noise differs by a lognormal
    law."""
    rng = np.random.default_rng(1)
    print(
        "| benchmarks, runs a side | noisy row: baseline, candidate | false, worst row, % | "
        "means missed, worst row, % | 2 % seen, % |"
    )
    print("| --- | --- | ---: | ---: | ---: |")
    for (benchmarks, runs), (new, old) in product(SUITES, NOISY):
        sides = [NOISE * np.array([factor, *[1] * (benchmarks - 1)]) for factor in (new, old)]
        print(
            f"| {benchmarks} of {runs} | {old}x, {new}x |",
            " | ".join(shares(rng, *sides, runs, experiments)),
            "|",
            flush=True,
        )
    print(
        "\n| benchmarks, runs a side | spread | false, worst row, % | means missed, worst row, "
        "% | 2 % seen, % |"
    )
    print("| --- | ---: | ---: | ---: | ---: |")
    for (benchmarks, runs), spread in product(SUITES, SPREADS):
        places = (np.arange(benchmarks)[::-1] + 0.5) / benchmarks
        side = NOISE * np.exp(spread * stats.norm.ppf(places))
        print(
            f"| {benchmarks} of {runs} | {spread} |",
            " | ".join(shares(rng, side, side, runs, experiments)),
            "|",
            flush=True,
        )


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()

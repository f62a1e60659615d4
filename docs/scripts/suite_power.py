"""How often four methods see that a suite is slower in L of its 13 benchmarks: section 6.1 of
Irving et al. (2018), redone.

    python docs/scripts/suite_power.py [--experiments 100] [--seed 1]

Both systems are drawn from the same populations, 5 runs of 13 benchmarks; then 1 s is added to L
benchmarks of one. The populations are ours: means of 5 to 60 s, normal, standard deviations spread
evenly on the log scale from 0.012 to 0.91 s, the range the paper gives. L = 0 shows the rate of
false alarms at 5 %. It is a smaller version of the study in `docs/papers/irving.md`.
"""

import argparse
import warnings

import numpy as np
import xarray as xr

import perfarray

BENCHMARKS, RUNS = 13, 5


def draw(slower: int, experiments: int, rng: np.random.Generator) -> xr.DataArray:
    """Return timings (experiment, version, benchmark, execution); `slower` random benchmarks of
    "new" take 1 s more."""
    mean, spread = np.linspace(5, 60, BENCHMARKS), np.geomspace(0.012, 0.91, BENCHMARKS)
    spread = rng.permuted(np.tile(spread, (experiments, 1)), axis=1)
    values = rng.normal(mean[:, None], spread[:, None, :, None], (experiments, 2, BENCHMARKS, RUNS))
    chosen = rng.permuted(np.tile(np.arange(BENCHMARKS) < slower, (experiments, 1)), axis=1)
    values[:, 1] += chosen[..., None]
    return xr.DataArray(
        values,
        dims=("experiment", "version", "benchmark", "execution"),
        coords={"version": ["old", "new"]},
        name="time",
        attrs={"units": "s", "better": "lower"},
    )


def rejections(times: xr.DataArray, rng: np.random.Generator) -> dict[str, float]:
    """Return the share of experiments in which each method rejects "no difference" at 5 %,
    two-sided."""
    swapped = times.sel(version="old", drop=True)
    forth = perfarray.hierarchical_performance_test(times, "old")["pvalue"].squeeze("version")
    back = perfarray.hierarchical_performance_test(swapped, times.sel(version="new", drop=True))[
        "pvalue"
    ]
    pvalues = {
        "randomization": perfarray.randomization_test(times, "old", rng=rng)["pvalue"],
        "t, this suite": perfarray.score_ratio_interval(times, "old")["pvalue"],
        "t, benchmarks a sample": perfarray.score_ratio_interval(
            times, "old", random_benchmarks=True
        )["pvalue"],
        "HPT": 2 * np.minimum(forth, back),
    }
    return {name: float((pvalue <= 0.05).mean()) for name, pvalue in pvalues.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    warnings.simplefilter("ignore")
    for slower in (0, 1, 2, 3, 4, 5, 7, 9):
        found = rejections(draw(slower, arguments.experiments, rng), rng)
        if slower == 0:
            print(f"| L | {' | '.join(found)} |\n| ---: |{' ---: |' * len(found)}")
        print(
            f"| {slower} | {' | '.join(f'{100 * rate:.0f}' for rate in found.values())} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

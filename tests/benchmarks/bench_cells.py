"""Many small cells through the public functions, against whole-array code by hand and a loop over
machines: as ratios.

2,000 machines of 12 benchmarks of 3 runs a side (one benchmark for the ratio of means, 30 runs for
that of medians). `by hand` draws with one generator for all machines, in blocks of 100 that stay in
the cache, and gives the same limits or p-values; `a loop` goes machine by machine. `permuted` is
`Generator.permuted` of 29 benchmarks of 20 runs a side, too many exchanges to tabulate. `with gaps`
lacks one value in twenty, so that few machines have the same runs.
"""

import time
from collections.abc import Callable

import numpy as np
import xarray as xr
from interleaved import measured, print_ratio, ratio

MACHINES, BENCHMARKS, RUNS, SOME = 2000, 12, 3, 100
TAILS = (0.025, 0.975)


def timings(machines: int, benchmarks: int, runs: int) -> xr.DataArray:
    """Return timings of two versions."""
    values = np.random.default_rng(0).lognormal(0, 0.02, (2, machines, benchmarks, runs))
    labels = {
        "version": ["old", "new"],
        "machine": np.arange(machines),
        "benchmark": [f"b{number}" for number in range(benchmarks)],
    }
    return xr.DataArray(
        values, labels, ("version", "machine", "benchmark", "execution"), "time", {"units": "s"}
    )


def in_blocks(formula: Callable[..., np.ndarray], times: xr.DataArray) -> Callable[[], object]:
    """Return the formula of new and old (machines, benchmarks, runs), block by block."""
    old, new = times.values

    def call() -> np.ndarray:
        rng = np.random.default_rng(1)
        return np.concatenate(
            [
                formula(new[start : start + SOME], old[start : start + SOME], rng)
                for start in range(0, len(new), SOME)
            ]
        )

    return call


def redrawn(values: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return redrawn runs (machines, benchmarks, number, runs)."""
    picks = rng.integers(
        0, values.shape[-1], (*values.shape[:-1], number, values.shape[-1]), dtype=np.uint32
    )
    return np.take_along_axis(values[..., None, :], picks, axis=-1)


def ratio_of_means(new: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the percentile limits of ratios of means."""
    replicates = [redrawn(side, 200, rng).mean(axis=-1) for side in (new, old)]
    return np.quantile(replicates[0] / replicates[1], TAILS, axis=-1).T


def ratio_of_medians(new: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the percentile limits of ratios of medians."""
    replicates = [np.median(redrawn(side, 200, rng), axis=-1) for side in (new, old)]
    return np.quantile(replicates[0] / replicates[1], TAILS, axis=-1).T


def ratio_of_scores(new: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the percentile limits of ratios of geometric means of means."""
    replicates = [np.log(redrawn(side, 500, rng).mean(axis=-1)).mean(axis=1) for side in (new, old)]
    return np.quantile(np.exp(replicates[0] - replicates[1]), TAILS, axis=-1).T


def exchanged(
    new: np.ndarray, old: np.ndarray, rng: np.random.Generator, number: int = 500
) -> np.ndarray:
    """Return p-values of exchanges within every benchmark, by the geometric mean of means."""
    pool, runs = np.concatenate([new, old], axis=-1), new.shape[-1]
    exchanges = rng.permuted(
        np.broadcast_to(pool[:, None], (len(pool), number, *pool.shape[1:])), axis=-1
    )
    logs = (
        np.log(exchanges[..., :runs].mean(axis=-1)) - np.log(exchanges[..., runs:].mean(axis=-1))
    ).sum(axis=-1)
    observed = (np.log(new.mean(axis=-1)) - np.log(old.mean(axis=-1))).sum(axis=-1)
    shares = [
        ((logs >= observed[:, None]).sum(axis=-1) + 1) / (number + 1),
        ((logs <= observed[:, None]).sum(axis=-1) + 1) / (number + 1),
    ]
    return np.minimum(1, 2 * np.minimum(*shares))


def spread_by_machine(values: np.ndarray) -> list[float]:
    """Return the relative standard deviation of redrawn scores, machine by machine."""
    rng, spreads = np.random.default_rng(1), []
    for runs in values:
        picks = rng.integers(0, RUNS, (BENCHMARKS, 500, RUNS))
        scores = np.exp(
            np.log(np.take_along_axis(runs[:, None], picks, axis=-1).mean(axis=-1)).mean(axis=0)
        )
        spreads.append(scores.std(ddof=1) / np.exp(np.log(runs.mean(axis=-1)).mean()))
    return spreads


def main() -> None:
    """Measure in turn, and print ratios: ours beside the peer."""
    suite, one_benchmark = timings(MACHINES, BENCHMARKS, RUNS), timings(MACHINES, 1, RUNS)
    long, small_suites = timings(MACHINES // 10, 1, 30), timings(2, 29, 20)
    gaps = suite.where(np.random.default_rng(2).random(suite.shape) >= 0.05)
    percentile: dict[str, object] = {"method": "percentile", "n_resamples": 200, "rng": 1}
    resampling: dict[str, object] = {"n_resamples": 500, "rng": 1}
    rows: dict[str, tuple[Callable[[], object], str, Callable[[], object]]] = {
        "percentile ratio of means": (
            lambda: one_benchmark.perf.ratio_interval("old", **percentile),
            "by hand",
            in_blocks(ratio_of_means, one_benchmark),
        ),
        "percentile ratio of medians": (
            lambda: long.perf.ratio_interval("old", statistic="median", **percentile),
            "by hand",
            in_blocks(ratio_of_medians, long),
        ),
        "percentile ratio of scores": (
            lambda: suite.perf.score_ratio_interval("old", method="percentile", **resampling),
            "by hand",
            in_blocks(ratio_of_scores, suite),
        ),
        "randomization": (
            lambda: suite.perf.randomization_test("old", **resampling),
            "permuted",
            in_blocks(exchanged, suite),
        ),
        "randomization with gaps": (
            lambda: gaps.perf.randomization_test("old", **resampling),
            "without",
            lambda: suite.perf.randomization_test("old", **resampling),
        ),
        "randomization, 29 x 20": (
            lambda: small_suites.perf.randomization_test("old", n_resamples=1000, rng=1),
            "permuted",
            in_blocks(lambda *sides: exchanged(*sides, number=1000), small_suites),
        ),
        "relative variation of means": (
            lambda: suite.sel(version="new").perf.relative_variation(
                method="monte_carlo", statistic="mean", **resampling
            ),
            "a loop",
            lambda: spread_by_machine(suite.values[1]),
        ),
    }
    for name, (ours, peer, theirs) in rows.items():
        seconds = measured(name, {name: ours, peer: theirs}, rounds=5, clock=time.process_time)
        print_ratio(f"{name}, {peer}", "ours", ratio(seconds, peer, name))

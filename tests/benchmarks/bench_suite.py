"""The bootstrap interval of the ratio of two suites, 12 benchmarks x 3 runs, 500 replicates:
against SciPy, and for many machines.

`scipy` is `scipy.stats.bootstrap` of one machine: 24 samples, a vectorised statistic, percentiles;
it draws the same replicates.
"""

import time
import tracemalloc

import numpy as np
from interleaved import measured, print_ratio, ratio
from scipy import stats

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import match_sides
from perfarray.suites.numerics.ratios import bootstrap_interval
from perfarray.suites.numerics.redrawn_scores import Score, draw_scores

BENCHMARKS, RUNS, REPLICATES = 12, 3, 500
SCORE = Score("geometric", "mean")


def intervals(
    new: np.ndarray, old: np.ndarray, score: Score = SCORE, method: str = "percentile"
) -> float:
    """Return the mean lower limit over the machines."""
    sides = match_sides(new, old, shared=score.shared, paired=False)
    draws = Draws((True,), REPLICATES, (1, 2))
    blocks = draw_scores(sides, np.arange(len(new)), draws, score)
    return float(
        np.concatenate(
            [
                bootstrap_interval(block, block.sides.matched, score, draws, method).lower
                for block in blocks
            ]
        ).mean()
    )


def scipy_interval(new: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> float:
    """Return the lower limit of one machine."""

    def statistic(*samples: np.ndarray, axis: int) -> np.ndarray:
        means = [np.log(sample.mean(axis=axis)) for sample in samples]
        return np.exp((sum(means[:BENCHMARKS]) - sum(means[BENCHMARKS:])) / BENCHMARKS)

    result = stats.bootstrap(
        (*new, *old),
        statistic,
        n_resamples=REPLICATES,
        method="percentile",
        vectorized=True,
        rng=rng,
    )
    return float(result.confidence_interval.low)


def main(machines: int = 2000) -> None:
    """Print times, the ratio per machine, and the memory of many machines."""
    rng = np.random.default_rng(1)
    new, old = rng.lognormal(0, 0.05, (2, machines, BENCHMARKS, RUNS))
    variants = {
        "ours, 20 machines": lambda: intervals(new[:20], old[:20]),
        "scipy, 1 machine": lambda: scipy_interval(new[0], old[0], rng),
    }
    seconds = measured(
        f"{BENCHMARKS} benchmarks x {RUNS} runs, {REPLICATES} replicates", variants, rounds=9
    )
    print_ratio(
        "scipy, a machine",
        "ours, a machine",
        20 * ratio(seconds, "scipy, 1 machine", "ours, 20 machines"),
    )
    cases = {
        "means": (SCORE, "percentile"),
        "medians": (SCORE._replace(statistic="median"), "percentile"),
        "means, bca": (SCORE, "bca"),
        "random benchmarks": (SCORE._replace(random_benchmarks=True), "percentile"),
        "shared runs": (SCORE._replace(shared=True), "percentile"),
    }
    print(f"{machines} machines, seconds (of this process)")
    for name, (score, method) in cases.items():
        start, busy = time.perf_counter(), time.process_time()
        intervals(new, old, score, method)
        print(f"  {name:<40} {time.perf_counter() - start:6.2f} ({time.process_time() - busy:.2f})")
    tracemalloc.start()
    intervals(new, old)
    print(f"  most memory at once: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB")

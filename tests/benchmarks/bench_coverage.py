"""Coverage of a ratio over simulated experiments of 30 x 10 x 10, Fieller's and all levels redrawn,
against one experiment at a time.

The peer draws each experiment as arrays, and each replicate by arrays of indices. Both are measured
in seconds an experiment.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from interleaved import print_ratio
from scipy import stats

import perfarray

SIZES, REPLICATES, RATIO = (30, 10, 10), 1000, 0.95
LEVELS = ("binary", "execution", "iteration")
NEST = {"sizes": dict(zip(LEVELS, SIZES, strict=True)), "variances": dict.fromkeys(LEVELS, 1e-4)}


def ours(method: str, count: int) -> int:
    """Ask for the coverage."""
    options = (
        {"method": "percentile", "resample": "all", "n_resamples": REPLICATES}
        if method == "redrawn"
        else {}
    )
    perfarray.coverage("ratio_interval", **NEST, ratio=RATIO, n_experiments=count, rng=1, **options)
    return count


def alone(method: str, count: int) -> int:
    """Draw and judge one experiment after the other."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(count):
        effects_of_sides = (
            [
                rng.normal(0, 0.01, SIZES[:depth])[(...,) + (None,) * (3 - depth)]
                for depth in (1, 2, 3)
            ]
            for _ in range(2)
        )
        new, old = (
            scale * (1 + sum(effects))
            for scale, effects in zip((RATIO, 1), effects_of_sides, strict=True)
        )
        lower, upper = fieller(new, old) if method == "fieller" else percentiles(new, old, rng)
        covered += lower <= RATIO <= upper
    assert covered
    return count


def fieller(new: np.ndarray, old: np.ndarray) -> tuple[float, float]:
    """Equation 12, with Satterthwaite's degrees of freedom."""
    (x, vx), (y, vy) = (
        (units.mean(), units.var(ddof=1) / SIZES[0])
        for units in (side.mean(axis=(1, 2)) for side in (new, old))
    )
    ratio = x / y
    t = (
        stats.t.ppf(0.975, (vx + ratio**2 * vy) ** 2 / (vx**2 + ratio**4 * vy**2) * (SIZES[0] - 1))
        ** 2
    )
    half = np.sqrt((x * y) ** 2 - (y**2 - t * vy) * (x**2 - t * vx))
    return (x * y - half) / (y**2 - t * vy), (x * y + half) / (y**2 - t * vy)


def percentiles(new: np.ndarray, old: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Redraw every level."""
    a, b, c = SIZES
    ratios = np.empty(REPLICATES)
    for replicate in range(REPLICATES):
        means = []
        for values in (new, old):
            picks = rng.integers(0, a, a), rng.integers(0, b, (a, b)), rng.integers(0, c, (a, b, c))
            means.append(values[picks[0][:, None, None], picks[1][:, :, None], picks[2]].mean())
        ratios[replicate] = means[0] / means[1]
    return tuple(np.quantile(ratios, [0.025, 0.975]))


def per_experiment(call: Callable[[str, int], int], method: str, count: int) -> float:
    """Return the processor seconds of one experiment: other programs may run."""
    start = time.process_time()
    number = call(method, count)
    return (time.process_time() - start) / number


def main(rounds: int = 5) -> None:
    """Measure in turn, and print medians of ratios."""
    for method, n_large, n_small in (
        ("fieller", 1000, 200),
        ("redrawn", 25, 2),
    ):  # what is set up once is not each experiment's
        passes = [
            [per_experiment(ours, method, n_large), per_experiment(alone, method, n_small)]
            for _ in range(rounds + 1)
        ][1:]
        print(
            f"{method}: {1e3 * statistics.median(mine for mine, _ in passes):.2f} ms an experiment"
        )
        print_ratio(
            f"one experiment at a time, {method}",
            "coverage",
            statistics.median(theirs / mine for mine, theirs in passes),
        )

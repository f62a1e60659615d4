"""Public calls that draw or test many samples against compiled kernels for the same answers
(`kernels.py`): as ratios.

A ratio says how many times as much processor time, of one thread, ours take as the kernel with what
NumPy makes of its output: limits, five numbers, p-values. Kernels know nothing of labels, gaps or
notes, and draw from a cheaper generator.
"""

import time
from collections.abc import Callable

import kernels
import numpy as np
import xarray as xr
from bench_bootstrap import samples
from bench_cells import timings
from bench_scores import timings as scores
from interleaved import add_to_page, measured, print_ratio, ratio

import perfarray
from perfarray.mixtures.numerics.fit import MARGIN
from perfarray.mixtures.numerics.start import parameters_of_classes, quantile_classes
from perfarray.speedups.numerics.rank_tests import _prob_as_far, kolmogorov_smirnov

LEVELS, TAILS = ("binary", "execution", "iteration"), (0.025, 0.975)
REPLICATES, EXPERIMENTS, FEW, SCORES, EXCHANGES = 10_000, 1000, 200, 500, 1000
PAGE_ROWS = {
    "all levels of 30 x 30 x 30": (
        "bootstrap of a ratio, all levels",
        "30 x 30 x 30 runs, 10,000 replicates",
    ),
    "five numbers": ("five numbers of machines", "8,236 x 12 x 3 runs"),
    "randomization, 29 x 20": (
        "`randomization_test`",
        "2 suites of 29 x 20 runs, 1,000 exchanges",
    ),
    "mixtures of 35 runs": ("mixtures of 1 to 9 components", "300 samples of 35 runs"),
}
"""The work and the size of kernels on the page."""
STATE = np.random.default_rng(1).integers(0, 1 << 63, 4).astype(np.uint64)


def with_numba(call: Callable[[], object]) -> Callable[[], object]:
    """Return the same with the compiled engine."""

    def compiled() -> object:
        with perfarray.set_options(engine="numba"):
            return call()

    return compiled


def redrawn(times: xr.DataArray, number: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return ours and the kernel's limits of a ratio of means, every level redrawn: of times
    (version, cell, *LEVELS)."""
    options = {"method": "percentile", "resample": "all", "n_resamples": number, "rng": 1}

    def kernel() -> np.ndarray:
        old, new = (kernels.redrawn_means(side, number, STATE) for side in times.values)
        return np.quantile(new / old, TAILS, axis=-1)

    return lambda: times.perf.ratio_interval("old", **options), kernel


def five_numbers() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return ours and the kernel's five numbers and standard deviation of 8,236 machines."""
    times = scores()

    def kernel() -> tuple[np.ndarray, ...]:
        scores = np.sort(kernels.random_scores(times.values, SCORES, STATE), axis=-1)
        return np.exp(scores[:, [0, 124, 249, 374, -1]]), np.exp(scores).std(axis=-1, ddof=1)

    return lambda: times.perf.five_number_summary(n_resamples=SCORES, rng=1), kernel


def randomization() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return ours and the kernel's p-values of two suites of 29 benchmarks x 20 runs a side."""
    times = timings(2, 29, 20)

    def kernel() -> np.ndarray:
        old, new = np.log(times.values)
        observed, exchanged = (
            (new - old).mean(axis=(-2, -1)),
            kernels.exchanged(new, old, EXCHANGES, STATE),
        )
        shares = [
            ((exchanged >= observed[:, None]).sum(axis=-1) + 1),
            ((exchanged <= observed[:, None]).sum(axis=-1) + 1),
        ]
        return np.minimum(1, 2 * np.minimum(*shares) / (EXCHANGES + 1))

    return lambda: times.perf.randomization_test("old", n_resamples=EXCHANGES, rng=1), kernel


def same_shape() -> tuple[Callable[[], object], Callable[[], object]]:
    """Return ours and the kernel's tests of Kolmogorov and Smirnov: 10,000 pairs of samples of 30
    values, exact."""
    x, y = np.random.default_rng(1).normal(size=(2, 10_000, 30))

    def kernel() -> np.ndarray:
        steps = kernels.largest_distances(np.sort(x, axis=-1), np.sort(y, axis=-1))
        distinct, index = np.unique(steps, return_inverse=True)
        return _prob_as_far(distinct, 30, 30)[index]

    return lambda: kolmogorov_smirnov(x, y), kernel


def mixtures(samples: int, runs: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return ours and the kernel's mixtures of 1 to 9 components, to the maximum: samples of two
    modes."""
    rng = np.random.default_rng(1)
    values = rng.normal(10 + (rng.random((samples, runs)) < 0.3), 0.2)
    times = xr.DataArray(values, dims=("machine", "execution"), attrs={"units": "s"})
    ordered = np.sort(
        (values - values.mean(axis=-1, keepdims=True)) / values.std(axis=-1, keepdims=True), axis=-1
    )
    starts = np.ones((9, samples, 9, 3))
    for number in range(1, 10):
        classes = quantile_classes(ordered, np.full(samples, runs), number)
        starts[number - 1, :, :number] = np.stack(
            parameters_of_classes(ordered, np.ones(values.shape), classes), axis=-1
        )
    return lambda: times.perf.fit_mixture(), lambda: kernels.best_mixtures(ordered, starts, MARGIN)


def main(rounds: int = 5) -> None:
    """Measure in turn, and print ratios."""
    version = {"version": ["old", "new"]}
    one_experiment = xr.DataArray(
        np.stack(samples()[::-1])[:, None],
        dims=("version", "cell", *LEVELS),
        coords=version,
        attrs={"units": "s"},
    )
    values = np.random.default_rng(0).normal(10, 0.1, (2, EXPERIMENTS, 10, 10, 10))
    experiments = xr.DataArray(
        values, dims=("version", "cell", *LEVELS), coords=version, attrs={"units": "s"}
    )
    rows = {
        "all levels of 30 x 30 x 30": redrawn(one_experiment, REPLICATES),
        f"all levels of 10 x 10 x 10, {EXPERIMENTS} experiments": redrawn(experiments, FEW),
        "five numbers": five_numbers(),
        "randomization, 29 x 20": randomization(),
        "Kolmogorov-Smirnov, 30 and 30": same_shape(),
        "mixtures of 35 runs": mixtures(300, 35),
        "mixtures of 500 runs": mixtures(20, 500),
    }
    for name, (ours, kernel) in rows.items():
        compiled = "30 x 30 x 30" in name or "mixtures" in name
        variants = {"numpy": ours, "kernel": kernel} | (
            {"numba": with_numba(ours)} if compiled else {}
        )
        seconds = measured(name, variants, rounds=rounds, clock=time.process_time)
        for engine in [engine for engine in variants if engine != "kernel"]:
            print_ratio(f"{name}, {engine}", "kernel", ratio(seconds, engine, "kernel"))
            if name in PAGE_ROWS:
                work, size = PAGE_ROWS[name]
                compiled = ', `engine="numba"`' if engine == "numba" else ""
                peer = "a compiled kernel"
                add_to_page(seconds, engine, "kernel", f"{work}{compiled}", size, peer)

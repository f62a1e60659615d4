"""Five numbers and standard deviation of the scores of 8,236 machines x 12 benchmarks x 3 runs, 500
scores each, against peers: as ratios.

Ours are timed with labels in and out, on all machines. The peers take a part of the machines, since
they are slow, and their time is scaled to all: `scipy.stats.bootstrap` machine by machine
(vectorised statistic), and a vectorised `groupby.apply` of pandas, which draws all scores of one
machine at once. Two threads only mean something on two idle cores.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from interleaved import print_ratio, ratio
from scipy import stats

import perfarray  # noqa: F401 (registers .perf)

MACHINES, BENCHMARKS, RUNS, SCORES = 8236, 12, 3, 500
PART = 100


def timings() -> xr.DataArray:
    """Return scores of an archive."""
    rng = np.random.default_rng(0)
    values = rng.lognormal(0, 0.02, (MACHINES, BENCHMARKS, RUNS)) * rng.uniform(
        1, 50, (1, BENCHMARKS, 1)
    )
    labels = {"machine": np.arange(MACHINES), "benchmark": [f"b{i}" for i in range(BENCHMARKS)]}
    return xr.DataArray(
        values,
        dims=("machine", "benchmark", "execution"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )


def ours(times: xr.DataArray) -> None:
    """Describe every machine."""
    summary = times.perf.five_number_summary(n_resamples=SCORES, rng=1)
    assert summary["standard_deviation"].sizes == {"machine": MACHINES}


def spread(times: xr.DataArray) -> None:
    """Return the relative variation by Monte Carlo, which redraws medians."""
    times.perf.relative_variation(method="monte_carlo", n_resamples=SCORES, rng=1)


def geometric_mean(*runs: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the geometric mean of medians."""
    return np.exp(np.mean([np.log(np.median(values, axis=axis)) for values in runs], axis=0))


def scipy_by_machine(values: np.ndarray) -> None:
    """Redraw machine by machine."""
    for machine in values:
        replicates = stats.bootstrap(
            tuple(machine),
            geometric_mean,
            n_resamples=SCORES,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(1),
        ).bootstrap_distribution
        assert replicates.std(ddof=1) > 0
        np.quantile(replicates, [0, 0.25, 0.5, 0.75, 1])


def groupby_apply(table: pd.DataFrame) -> None:
    """Draw all scores of a machine at once, inside groupby.apply."""
    rng = np.random.default_rng(1)

    def describe(group: pd.DataFrame) -> pd.Series:
        logs = np.log(group["time"].to_numpy().reshape(BENCHMARKS, RUNS))
        picks = rng.integers(0, RUNS, (SCORES, BENCHMARKS))
        scores = np.exp(logs[np.arange(BENCHMARKS), picks].mean(axis=1))
        return pd.Series([scores.std(ddof=1), *np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])])

    assert len(table.groupby("machine")[["time"]].apply(describe)) == PART


def main(rounds: int = 5) -> None:
    """Measure in turn, and print medians of ratios."""
    times = timings()
    subset = times.isel(machine=slice(PART))
    table = subset.to_dataframe().reset_index()
    scale = MACHINES / PART
    variants: dict[str, tuple[Callable[[], None], float]] = {
        "ours": (lambda: ours(times), 1.0),
        "relative variation": (lambda: spread(times), 1.0),
        "scipy": (lambda: scipy_by_machine(subset.values), scale),
        "groupby.apply": (lambda: groupby_apply(table), scale),
    }
    result: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name, (call, factor) in variants.items():
            start = time.perf_counter()
            call()
            if number:
                result[name].append((time.perf_counter() - start) * factor)
    for name, seconds in result.items():
        print(f"{name:<20} {statistics.median(seconds):8.3f} s")
    for name in ("ours", "relative variation"):
        for peer in ("scipy", "groupby.apply"):
            print_ratio(peer, name, ratio(result, peer, name))

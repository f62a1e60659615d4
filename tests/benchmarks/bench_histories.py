"""Change points and trends of many histories through the public functions, as ratios of CPU times
in one run.

5,000 benchmarks of 3 commits of 3 runs, 2,000 of 10 commits, and 100 of 500 commits of one run,
half of them with two steps. `with gaps` lacks one run in ten. `linregress` of SciPy fits a line to
the means of a benchmark, one benchmark after the other. `otava` is apache-otava 0.8 (its command's
defaults), where it is installed.
"""

import time
import warnings

import numpy as np
import xarray as xr
from interleaved import add_to_page, ranked
from scipy.stats import linregress

import perfarray  # noqa: F401  (registers .perf)


def histories(benchmarks: int, commits: int, runs: int) -> xr.DataArray:
    """Return timings of stable benchmarks."""
    values = np.random.default_rng(0).lognormal(0, 0.01, (benchmarks, commits, runs))
    return xr.DataArray(
        values, dims=("benchmark", "commit", "execution"), name="time", attrs={"units": "s"}
    )


def lines(times: xr.DataArray) -> list[float]:
    """Return the slope of every benchmark."""
    logs = np.log(times.values).mean(axis=-1)
    return [linregress(np.arange(len(row)), row).slope for row in logs]


def otava(times: xr.DataArray) -> list[list[int]]:
    """Return the changes of every benchmark: E-divisive in windows of 50, merged by Student's t at
    p = 0.001."""
    from otava.analysis import compute_change_points

    with warnings.catch_warnings(action="ignore"):
        return [
            [change.index for change in compute_change_points(row)[0]]
            for row in times.values[..., 0].tolist()
        ]


def main() -> None:
    """Measure in turn, and print ratios: ours beside the peer."""
    how = {"rounds": 5, "clock": time.process_time}
    short, ten, long = histories(5_000, 3, 3), histories(2_000, 10, 3), histories(100, 500, 1)
    gaps = short.where(np.random.default_rng(1).random(short.shape) >= 0.1)
    long[::2, 200:] *= 1.05
    long[::2, 350:] *= 0.97
    for name, times in {"5,000 of 3 commits": short, "2,000 of 10 commits": ten}.items():
        ours = {"change points": times.perf.change_points, "trends": times.perf.trend}
        ranked(
            name,
            ours | {"linregress": lambda times=times: lines(times)},
            "linregress",
            prefix=f"{name}, ",
            **how,
        )
    methods = {"with gaps": gaps.perf.change_points, "without": short.perf.change_points}
    ranked(
        "5,000 of 3 commits, change points",
        methods,
        "with gaps",
        prefix="5,000 of 3 commits, change points ",
        **how,
    )
    calls = {
        "change points": long.perf.change_points,
        "trends": long.perf.trend,
        "otava": lambda: otava(long),
    }
    seconds = ranked(
        "100 of 500 commits", calls, "otava", "change points", prefix="100 of 500 commits, ", **how
    )
    size = "100 series of 500 commits"
    add_to_page(seconds, "change points", "otava", "`change_points`", size, "Otava")

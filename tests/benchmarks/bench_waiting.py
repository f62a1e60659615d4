"""What people wait for: reports, the table of many benchmarks, the correction of many verdicts.

A report has no peer. The table is compared with its columns in a DataFrame, and the correction with
the same verdicts without one.
"""

import time

import numpy as np
import xarray as xr
from bench_calls import table_lines
from interleaved import add_to_page, measured, ranked

import perfarray  # noqa: F401  (registers .perf)

RUNS = 5


def timings(benchmarks: int) -> xr.DataArray:
    """Return 5 runs of two versions; a quarter of the benchmarks is 5 % slower."""
    rng = np.random.default_rng(1)
    values = rng.lognormal(sigma=0.03, size=(benchmarks, 2, RUNS))
    values *= rng.lognormal(size=(benchmarks, 1, 1))
    values[::4, 1] *= 1.05
    labels = {"benchmark": [f"b{n}" for n in range(benchmarks)], "version": ["old", "new"]}
    dims = ("benchmark", "version", "execution")
    return xr.DataArray(values, labels, dims, "time", {"units": "s", "better": "lower"})


def main() -> None:
    """Print times, and ratios where there is a peer."""
    how = {"rounds": 3, "clock": time.process_time}
    for benchmarks in (20, 2000):
        times = timings(benchmarks)
        works = {"report": lambda times=times: times.perf.report("old")}
        seconds = measured(f"report of {benchmarks} benchmarks", works, **how)
        add_to_page(
            seconds, "report", "", "`report`", f"{benchmarks:,} benchmarks of 5 runs", "none"
        )
    verdicts = timings(100_000).perf.compare("old")
    works = {"table": verdicts.perf.table, "columns": lambda: table_lines(verdicts)}
    seconds = ranked("100,000 compared benchmarks", works, "table", **how)
    peer = "the columns in a DataFrame"
    add_to_page(seconds, "table", "columns", "`table` of verdicts", "100,000 benchmarks", peer)
    times = timings(20_000)
    works = {
        "holm": lambda: times.perf.compare("old", correction="holm"),
        "no correction": lambda: times.perf.compare("old", correction=None),
    }
    seconds = ranked("20,000 benchmarks", works, "holm", rounds=15, clock=time.process_time)
    work, peer = '`compare(correction="holm")`', "without correction"
    add_to_page(seconds, "holm", "no correction", work, "20,000 benchmarks of 5 runs", peer)

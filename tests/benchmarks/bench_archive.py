"""An archive larger than memory: written to Zarr by region, its components and intervals computed chunk by chunk.

python tests/benchmarks/bench_archive.py [CHUNK] [MACHINES ...]

Each size runs in a process of its own (peak memory is that of a process): machines x 12 benchmarks x 3 runs are written part by part,
read back lazily, and `variance_components` and `mean_interval` are streamed into another store. Peak memory must not grow with the number
of machines, and the time per machine must stay what it is. Labels of machines are numbers: xarray keeps the labels of a dim in memory,
8 bytes each.
"""

import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import dask
import dask.array
import numpy as np
import xarray as xr
from interleaved import compared

import perfarray

BENCHMARKS = [f"b{number:02d}" for number in range(12)]
RUNS = 3
CHUNK = 10_000
MACHINES = (1_000, 10_000, 100_000, 1_000_000)
WORKERS = 2


def write_by_region(store: Path, machines: int, chunk: int) -> None:
    """Write a template without values, then region after region: no more than one chunk is in memory."""
    shape = (machines, len(BENCHMARKS), RUNS)
    blank = dask.array.full(shape, np.nan, chunks=(chunk, -1, -1))
    coords = {"machine": np.arange(machines), "benchmark": np.array(BENCHMARKS, dtype=object), "execution": np.arange(RUNS)}
    attrs = {"units": "s", "better": "lower"}
    template = xr.Dataset({"time": (("machine", "benchmark", "execution"), blank, attrs)}, coords)
    template.to_zarr(store, compute=False, zarr_format=3, consolidated=False)
    for start in range(0, machines, chunk):
        stop = min(start + chunk, machines)
        part = perfarray.simulate(
            sizes={"execution": RUNS}, variances={"execution": 1e-4}, dims={"machine": stop - start, "benchmark": BENCHMARKS}, rng=start
        )
        part.drop_vars(list(part.coords)).to_zarr(store, region={"machine": slice(start, stop)}, consolidated=False)


def measure(machines: int, chunk: int) -> None:
    """Write, compute, and print seconds and peak memory."""
    dask.config.set(scheduler="threads", num_workers=WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        write_by_region(Path(folder) / "first.zarr", 10, 10)  # what is imported at first use is not part of the price
        first = xr.open_zarr(Path(folder) / "first.zarr", consolidated=False)
        dask.compute(first.perf.variance_components(), first.perf.mean_interval())
        marks = [time.perf_counter()]
        write_by_region(Path(folder) / "archive.zarr", machines, chunk)
        marks.append(time.perf_counter())
        times = xr.open_zarr(Path(folder) / "archive.zarr", consolidated=False)
        for name in ("variance_components", "mean_interval"):
            result = getattr(times.perf, name)()
            result.to_zarr(Path(folder) / f"{name}.zarr", zarr_format=3, consolidated=False)
            marks.append(time.perf_counter())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(machines, *(f"{after - before:.3f}" for before, after in pairwise(marks)), f"{peak:.0f}")


def main(chunk: int = CHUNK, sizes: tuple[int, ...] = MACHINES) -> None:
    """Print a row for every size."""
    print(f"chunks of {chunk} machines; seconds, microseconds a machine, peak memory of the process")
    print(f"{'machines':>10} {'write':>9} {'components':>11} {'intervals':>10} {'us/machine':>11} {'peak MB':>8} {'archive MB':>11}")
    found = []
    for machines in sizes:
        call = [sys.executable, __file__, "--measure", str(chunk), str(machines)]
        said = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
        write, components, intervals, peak = (float(number) for number in said[1:])
        each = 1e6 * (write + components + intervals) / machines
        found.append((each, peak))
        size = machines * len(BENCHMARKS) * RUNS * 8 / 2**20
        print(f"{machines:>10} {write:>9.2f} {components:>11.2f} {intervals:>10.2f} {each:>11.1f} {peak:>8.0f} {size:>11.1f}", flush=True)
    for name, last, before in zip(("time of a machine", "peak memory"), found[-1], found[-2:][0], strict=True):
        compared(f"{name}, {sizes[-1]} machines", f"{sizes[-2:][0]} machines", last / before)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[3]), int(sys.argv[2]))
    else:
        given = [int(text) for text in sys.argv[1:]]
        main(given[0] if given else CHUNK, tuple(given[1:]) or MACHINES)

"""Archives larger than memory: what each method takes for a machine, and the memory of the process,
at three sizes.

python tests/benchmarks/bench_archive.py [CHUNK] [MACHINES ...] [METHOD ...]

An archive of machines x 12 benchmarks x 3 runs is written part by part. Then every method is asked
for an answer from the store, lazily, and the answer is streamed into another store (`machine_table`
returns a table in memory). Each measurement is a process of its own (peak memory is that of a
process). Memory must not grow with the number of machines but for their labels, 8 bytes each here,
and the list of tasks; the time for a machine must stay what it is. CPU seconds are printed too: on
a busy computer they are what can be compared.
"""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import xarray as xr
from interleaved import print_ratio

import perfarray

BENCHMARKS = [f"b{number:02d}" for number in range(12)]
RUNS = 3
CHUNK = 10_000
MACHINES = (10_000, 100_000, 1_000_000)
WORKERS = 2

METHODS: dict[str, dict[str, Any]] = {
    "counts": {},
    "variance_components": {},
    "mean_interval": {},
    "run_estimate": {},
    "suite_score": {},
    "principal_components": {},
    "relative_variation": {},
    "five_number_summary": {"rng": 1},
    "compare": {"baseline": 0, "dim": "machine"},
    "machine_table": {},
}
"""What is asked of an archive."""


def write_by_region(store: Path, machines: int, chunk: int) -> None:
    """Write a template without values, then region after region: no more than one chunk is in
    memory."""
    shape = (machines, len(BENCHMARKS), RUNS)
    blank = dask.array.full(shape, np.nan, chunks=(chunk, -1, -1))
    coords = {
        "machine": np.arange(machines),
        "benchmark": np.array(BENCHMARKS, dtype=object),
        "execution": np.arange(RUNS),
    }
    attrs = {"units": "s", "better": "lower"}
    template = xr.Dataset({"time": (("machine", "benchmark", "execution"), blank, attrs)}, coords)
    template.to_zarr(store, compute=False, zarr_format=3, consolidated=False)
    for start in range(0, machines, chunk):
        stop = min(start + chunk, machines)
        region = perfarray.simulate(
            sizes={"execution": RUNS},
            variances={"execution": 1e-4},
            dims={"machine": stop - start, "benchmark": BENCHMARKS},
            rng=start,
        )
        region.drop_vars(list(region.coords)).to_zarr(
            store, region={"machine": slice(start, stop)}, consolidated=False
        )


def answer_of_store(name: str, store: Path, answer: Path) -> None:
    """Ask, and write the answer."""
    with warnings.catch_warnings(action="ignore"):
        result = getattr(xr.open_zarr(store, consolidated=False).perf, name)(**METHODS[name])
        if isinstance(result, xr.Dataset):
            result.to_zarr(answer, zarr_format=3, consolidated=False)


def measure(name: str, folder: Path, machines: int, chunk: int) -> None:
    """Write an archive, or ask one method, and print seconds, CPU seconds and peak memory."""
    dask.config.set(scheduler="threads", num_workers=WORKERS)
    store = folder / f"{machines}.zarr"
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        write_by_region(
            Path(temporary) / "first.zarr", 10, 10
        )  # what is imported at first use is not part of the price
        if name != "write":
            answer_of_store(name, Path(temporary) / "first.zarr", Path(temporary) / "answer.zarr")
        wall, cpu = time.perf_counter(), time.process_time()
        if name == "write":
            write_by_region(store, machines, chunk)
        else:
            answer_of_store(name, store, Path(temporary) / f"{name}.zarr")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main(
    chunk: int = CHUNK, sizes: tuple[int, ...] = MACHINES, names: tuple[str, ...] = tuple(METHODS)
) -> None:
    """Print a row for every method."""
    print(
        f"chunks of {chunk} machines, {WORKERS} threads; at {', '.join(map(str, sizes))} machines:"
    )
    print(
        "method                microseconds a machine     CPU microseconds a machine   peak "
        "memory of the process, MB",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("write", *names):
            rows = []
            for machines in sizes:
                call = [
                    sys.executable,
                    __file__,
                    "--measure",
                    name,
                    folder,
                    str(machines),
                    str(chunk),
                ]
                printed = subprocess.run(
                    call, check=True, capture_output=True, text=True
                ).stdout.split()
                wall, cpu, peak = (float(number) for number in printed)
                rows.append((1e6 * wall / machines, 1e6 * cpu / machines, peak))
            columns = ("".join(f"{row[column]:>9.0f}" for row in rows) for column in range(3))
            print(f"{name:<20}", *columns, flush=True)
            last, previous = rows[-1], rows[-2:][0]
            for quantity, column in (("CPU time of a machine", 1), ("peak memory", 2)):
                print_ratio(
                    f"{name}: {quantity}, {sizes[-1]} machines",
                    f"{sizes[-2:][0]} machines",
                    last[column] / previous[column],
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    else:
        numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
        asking = tuple(text for text in sys.argv[1:] if not text.isdigit())
        main(
            numbers[0] if numbers else CHUNK,
            tuple(numbers[1:]) or MACHINES,
            asking or tuple(METHODS),
        )

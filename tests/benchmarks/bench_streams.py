"""Answers streamed into Zarr: CPU seconds and peak memory of every method that takes lazy timings,
at 1e4, 1e5 and 1e6 machines.

python tests/benchmarks/bench_streams.py [CHUNK] [MACHINES ...] [METHOD ...]

An archive of machines x 29 benchmarks x 2 versions x 3 runs is written part by part; methods of one
system are asked about one version. Each measurement is a process of its own, with two threads of
dask.
"""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import xarray as xr
from interleaved import print_ratio

import perfarray

BENCHMARKS, VERSIONS, RUNS, WORKERS = 29, ["old", "new"], 3, 2
CHUNK = 10_000
MACHINES = (10_000, 100_000)
LIMIT = 600
"""Seconds after which a measurement is given up."""

OLD, SEED = {"baseline": "old"}, {"rng": 1}

ONE: dict[str, Mapping[str, Any]] = {
    "counts": {},
    "variance_components": {},
    "mean_interval": {},
    "suite_score": {},
    "score_distribution": SEED,
    "five_number_summary": SEED,
    "relative_variation": {},
    "run_estimate": {},
    "estimator_stability": {},
    "normality": {},
    "autocorrelation": {"dim": "execution"},
    "plan_repetitions": {"half_width": 0.02},
    "plan_suite": {"half_width": 0.02},
    "principal_components": {},
    "fit_mixture": {"n_components": 2},
    "machine_table": {},
    "bootstrap_interval": {"n_resamples": 200} | SEED,
    "change_points": {"dim": "machine"},
    "trend": {"dim": "machine"},
}
"""Methods of one system, with their options."""

TWO: dict[str, Mapping[str, Any]] = {
    "ratio_interval": OLD,
    "compare": OLD,
    "speedup": OLD,
    "speedup_test": OLD,
    "overall_speedup": OLD,
    "score_ratio_interval": OLD,
    "randomization_test": OLD | SEED,
    "hierarchical_performance_test": OLD,
    "required_units": OLD,
    "required_runs": OLD | {"width": 0.02},
    "prob_faster": OLD | {"n_resamples": 0},
    "mean_difference": OLD | {"n_resamples": 0},
    "prob_fastest": {"dim": "version", "n_resamples": 0},
    "pairwise": {"dim": "version"},
    "agreement": OLD | SEED,
}
"""Methods of two systems, with their options."""


def write_by_region(store: Path, machines: int, chunk: int) -> None:
    """Write a template without values, then region after region: no more than one chunk is in
    memory."""
    names = np.array([f"b{number:02d}" for number in range(BENCHMARKS)], dtype=object)
    coords = {
        "version": np.array(VERSIONS, dtype=object),
        "machine": np.arange(machines),
        "benchmark": names,
        "execution": np.arange(RUNS),
    }
    blank = dask.array.full(tuple(map(len, coords.values())), np.nan, chunks=(1, chunk, -1, -1))
    template = xr.Dataset({"time": ((*coords,), blank, {"units": "s", "better": "lower"})}, coords)
    template.to_zarr(store, compute=False, zarr_format=3, consolidated=False)
    for start in range(0, machines, chunk):
        stop = min(start + chunk, machines)
        values = np.random.default_rng(start).lognormal(
            0, 0.02, (len(VERSIONS), stop - start, BENCHMARKS, RUNS)
        )
        region = {"machine": slice(start, stop)}
        xr.Dataset({"time": ((*coords,), values)}).to_zarr(store, region=region, consolidated=False)


def stream(name: str, store: Path, answer: Path) -> None:
    """Ask a method about a store, and write its answer to another."""
    times = xr.open_zarr(store, consolidated=False)
    systems = times.isel(version=1, drop=True) if name in ONE else times
    with warnings.catch_warnings(action="ignore"):
        result = partial(getattr(perfarray, name), systems)(**{**ONE, **TWO}[name])
        result = getattr(result, "dataset", result)
        if isinstance(result, xr.Dataset):
            result.to_zarr(answer, zarr_format=3, consolidated=False)


def measure(name: str, folder: Path, machines: int, chunk: int) -> None:
    """Print CPU seconds and peak memory of one answer, or write the archive."""
    dask.config.set(scheduler="threads", num_workers=WORKERS)
    if name == "write":
        return write_by_region(folder / f"{machines}.zarr", machines, chunk)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        write_by_region(
            Path(temporary) / "first.zarr", 20, 10
        )  # what is imported at first use is not part of the price
        stream(name, Path(temporary) / "first.zarr", Path(temporary) / "first_answer.zarr")
        start = time.process_time()
        stream(name, folder / f"{machines}.zarr", Path(temporary) / "answer.zarr")
        print(
            time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        )
    return None


def call(name: str, folder: str, machines: int, chunk: int) -> tuple[float, float]:
    """Return CPU seconds and peak MB of a process of its own; NaN when it fails or takes too
    long."""
    command = [sys.executable, __file__, "--measure", name, folder, str(machines), str(chunk)]
    try:
        text = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=LIMIT
        ).stdout.split()
    except subprocess.TimeoutExpired:
        return float("nan"), float("nan")
    except subprocess.CalledProcessError as error:
        print(
            f"{name}, {machines} machines: {error.stderr.strip().splitlines()[-1:]}",
            file=sys.stderr,
            flush=True,
        )
        return float("nan"), float("nan")
    return (float(text[0]), float(text[1])) if text else (0.0, 0.0)


def main(
    chunk: int = CHUNK, sizes: tuple[int, ...] = MACHINES, names: tuple[str, ...] = (*ONE, *TWO)
) -> None:
    """Print a row of Markdown for every method."""
    titles = [
        f"{quantity} at {machines:,}" for quantity in ("CPU s", "peak MB") for machines in sizes
    ]
    print(
        "| method |",
        " | ".join(titles),
        "|\n|",
        " | ".join(["---"] * (1 + len(titles))),
        "|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for machines in sizes:
            call("write", folder, machines, chunk)
        for name in names:
            rows = [call(name, folder, machines, chunk) for machines in sizes]
            cells = [*(f"{cpu:.1f}" for cpu, _ in rows), *(f"{peak:.0f}" for _, peak in rows)]
            print(f"| `{name}` |", " | ".join(cells), "|", flush=True)
            if len(rows) > 1 and rows[-2][1] > 0:
                print_ratio(
                    f"{name}: peak memory, {sizes[-1]} machines",
                    f"{sizes[-2]} machines",
                    rows[-1][1] / rows[-2][1],
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
    else:
        numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
        names = tuple(text for text in sys.argv[1:] if not text.isdigit())
        main(
            numbers[0] if numbers else CHUNK, tuple(numbers[1:]) or MACHINES, names or (*ONE, *TWO)
        )

"""How long reading takes, as a multiple of `json.load` or `pandas.read_csv`: `python tests/benchmarks/bench_reading.py`.

Rounds alternate between the two, in one process; medians of the processor's time are compared. The tables are made here; the JSON files
lie in the archive folder beside the repository (or where PERFARRAY_SHARED says).
"""

import bz2
import gzip
import json
import lzma
import os
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from interleaved import compared

import perfarray

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SETS = {
    "pyperf": ("pyperf/moreati_counter-top", "pyperf/leeroywking_benchmark-dashboard", "pyperf/psf_pyperf"),
    "jmh": ("jmh",),
}
OPEN = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ROUNDS = 7


def files_of(folders: Sequence[str]) -> list[Path]:
    """Return the JSON files of some folders of the archive."""
    found = [path for folder in folders for path in sorted((SHARED / "data/archives" / folder).rglob("*.json*"))]
    return [path for path in found if path.is_file()]


def load(path: Path) -> object:
    """Parse one file, unpacked if need be."""
    with OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def parent(path: Path) -> Path:
    """Return the folder of a file: files of one folder belong together."""
    return path.parent


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def tidy(rows: int, folder: Path) -> Path:
    """Write a tidy table: 20 benchmarks on 5 machines, 20 executions of each."""
    sizes = {"benchmark": 20, "machine": 5, "execution": 20, "iteration": rows // 2000}
    codes = dict(zip(sizes, np.unravel_index(np.arange(rows), tuple(sizes.values())), strict=True))
    frame = pd.DataFrame(codes | {"time": np.random.default_rng(1).lognormal(size=rows)})
    path = folder / f"{rows}.csv"
    frame.astype({"benchmark": str, "machine": str}).replace({"machine": {str(n): f"host{n}" for n in range(5)}}).to_csv(path, index=False)
    return path


def tables() -> None:
    """Print the ratios of tidy CSV to what pandas takes."""
    with TemporaryDirectory() as folder:
        for rows in (2_000, 100_000):
            path = tidy(rows, Path(folder))
            works = {"pandas.read_csv": lambda path=path: pd.read_csv(path), "read": lambda path=path: perfarray.read(path)}
            rounds = [{label: seconds(work) for label, work in works.items()} for _ in range(ROUNDS + 1)][1:]
            compared(
                f"tidy CSV, {rows} rows: read", "pandas.read_csv", statistics.median(one["read"] / one["pandas.read_csv"] for one in rounds)
            )


def main() -> None:
    """Print the ratios."""
    warnings.simplefilter("ignore")
    tables()
    for name, folders in SETS.items():
        files = files_of(folders)
        works = {
            "json.load": lambda files=files: [load(path) for path in files],
            "read": lambda files=files: [perfarray.read(path) for path in files],
            "read_archive of each folder": lambda files=files: [perfarray.read_archive(list(own)) for _, own in groupby(files, parent)],
            "read_archive of all": lambda files=files: perfarray.read_archive(files),
        }
        for work in works.values():
            work()
        rounds = [{label: seconds(work) for label, work in works.items()} for _ in range(ROUNDS)]
        medians = {label: statistics.median(one[label] for one in rounds) for label in works}
        parts = [f"{label} {value * 1e3:.1f} ms ({value / medians['json.load']:.2f})" for label, value in medians.items()]
        print(f"{name}, {len(files)} files: " + ", ".join(parts))
        for label in list(works)[1:]:
            compared(f"{name}: {label}", "json.load", statistics.median(one[label] / one["json.load"] for one in rounds))


if __name__ == "__main__":
    main()

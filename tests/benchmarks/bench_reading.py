"""How long reading takes, as a multiple of `json.load` of the same files: `python tests/benchmarks/bench_reading.py`.

Rounds alternate between the two, in one process; the medians are compared. The files lie in the archive folder beside the repository (or
where PERFARRAY_SHARED says).
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
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print the ratios."""
    warnings.simplefilter("ignore")
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

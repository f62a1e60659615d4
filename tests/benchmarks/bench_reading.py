"""How long reading takes, as a multiple of `json.load`, `pandas.read_csv` or a scan of lines.

Rounds alternate between the two, in one process; medians of the processor's time are compared. The
tables are made here; the JSON files lie in the archive folder beside the repository (or where
PERFARRAY_SHARED says).
"""

import bz2
import gzip
import json
import lzma
import os
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from interleaved import add_to_page, print_ratio, ranked

import perfarray

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SETS = {
    "pyperf": (
        "pyperf/moreati_counter-top",
        "pyperf/leeroywking_benchmark-dashboard",
        "pyperf/psf_pyperf",
    ),
    "jmh": ("jmh",),
    "google_benchmark": ("google_benchmark",),
}
OPEN = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
EMPTY = ("test4_run.json", "test4_run0.json")  # Files that hold no measurement
ROUNDS = 7
PAGE_ROWS = {
    "hyperfine, 100 x 200: read": ("hyperfine's JSON", "100 commands of 200 times", "`json.load`"),
    "1,000 small files: read_archive": (
        "small JSON files",
        "1,000 files of 4 benchmarks",
        "`json.load`",
    ),
    "2000 small tables: read_archive": (
        "small tidy CSV files",
        "2,000 files of 20 rows",
        "`pandas.read_csv` of each",
    ),
}
"""The work, the size and the peer of files on the page."""


def files_of(folders: Sequence[str]) -> list[Path]:
    """Return the JSON files of some folders of the archive."""
    paths = [
        path
        for folder in folders
        for path in sorted((SHARED / "data/archives" / folder).rglob("*.json*"))
    ]
    return [path for path in paths if path.is_file() and path.name not in EMPTY]


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
    frame.astype({"benchmark": str, "machine": str}).replace(
        {"machine": {str(n): f"host{n}" for n in range(5)}}
    ).to_csv(path, index=False)
    return path


def tables() -> None:
    """Print the ratios of tidy CSV to what pandas takes."""
    with TemporaryDirectory() as folder:
        for rows in (2_000, 100_000, 1_000_000):
            path = tidy(rows, Path(folder))
            works = {
                "pandas.read_csv": lambda path=path: pd.read_csv(path),
                "read": lambda path=path: perfarray.read(path),
            }
            rounds = [
                {label: seconds(work) for label, work in works.items()} for _ in range(ROUNDS + 1)
            ][1:]
            if rows == 1_000_000:
                in_turn = {label: [times[label] for times in rounds] for label in works}
                size, peer = f"{rows:,} rows", "`pandas.read_csv`"
                add_to_page(in_turn, "read", "pandas.read_csv", "tidy CSV", size, peer)
            print_ratio(
                f"tidy CSV, {rows} rows: read",
                "pandas.read_csv",
                statistics.median(
                    seconds["read"] / seconds["pandas.read_csv"] for seconds in rounds
                ),
            )


def hyperfine(folder: Path, random: np.random.Generator) -> Path:
    """Write 100 commands of 200 times each."""
    times = random.lognormal(size=(100, 200)).round(6).tolist()
    results = [
        {"command": f"sort {number}", "times": row, "exit_codes": [0] * len(row)}
        for number, row in enumerate(times)
    ]
    path = folder / "hyperfine.json"
    path.write_text(json.dumps({"results": results}, indent=1))
    return path


def google_benchmark(folder: Path, random: np.random.Generator) -> Path:
    """Write 500 benchmarks of 20 repetitions."""
    times = random.lognormal(size=(500, 20)).round(6).tolist()
    rows = [
        {
            "name": f"BM_{n}/64",
            "family_index": n,
            "per_family_instance_index": 0,
            "run_name": f"BM_{n}/64",
            "run_type": "iteration",
            "repetitions": 20,
            "repetition_index": i,
            "threads": 1,
            "iterations": 9,
            "real_time": time,
            "cpu_time": time,
            "time_unit": "us",
        }
        for n, row in enumerate(times)
        for i, time in enumerate(row)
    ]
    path = folder / "google_benchmark.json"
    path.write_text(
        json.dumps({"context": {"host_name": "h", "num_cpus": 8}, "benchmarks": rows}, indent=1)
    )
    return path


def go(folder: Path, random: np.random.Generator) -> Path:
    """Write 10,000 lines: 500 benchmarks, each 20 times."""
    times = random.lognormal(5.0, size=(20, 500)).round(2).tolist()
    lines = [
        f"BenchmarkSort{n}/n=8-16 \t 1000\t {time} ns/op\t 16 B/op\t 1 allocs/op"
        for row in times
        for n, time in enumerate(row)
    ]
    path = folder / "go.txt"
    path.write_text(
        "\n".join(
            [
                "goos: linux",
                "goarch: amd64",
                "pkg: example.org/sort",
                *lines,
                "PASS",
                "ok example.org/sort 99.0s",
                "",
            ]
        )
    )
    return path


def scan(path: Path) -> list[tuple[str, float]]:
    """Return the names and times in the lines of Go's text."""
    with path.open(encoding="utf-8") as file:
        rows = [line.split() for line in file if line.startswith("Benchmark")]
    return [(words[0], float(words[2])) for words in rows]


def small_files(folder: Path, random: np.random.Generator) -> list[Path]:
    """Write 500 files of Google Benchmark and 500 of pytest-benchmark, of 4 benchmarks each."""
    paths = []
    for number in range(1000):
        times = random.lognormal(size=(4, 5)).round(6).tolist()
        if number % 2:
            rows = [
                {
                    "name": f"BM_{n}/64",
                    "repetition_index": i,
                    "iterations": 9,
                    "real_time": t,
                    "cpu_time": t,
                    "time_unit": "us",
                }
                for n, row in enumerate(times)
                for i, t in enumerate(row)
            ]
            content = {
                "context": {"host_name": f"host{number % 50}", "num_cpus": 8},
                "benchmarks": rows,
            }
        else:
            rows = [
                {
                    "fullname": f"t.py::test_{n}",
                    "name": f"test_{n}",
                    "stats": {"data": row, "rounds": 5},
                }
                for n, row in enumerate(times)
            ]
            content = {
                "machine_info": {"node": f"host{number % 50}", "cpu": {"count": 8}},
                "benchmarks": rows,
            }
        paths.append(folder / f"small/host{number % 50}/run{number // 50}.json")
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(json.dumps(content))
    return paths


def small_tables(folder: Path, random: np.random.Generator) -> list[Path]:
    """Write 2,000 tidy tables of 20 rows."""
    cells = [f"{name},{i},{j}" for name in ("fft", "sort") for i in range(2) for j in range(5)]
    paths = [folder / f"tables/run-{number:05}.csv" for number in range(2000)]
    paths[0].parent.mkdir()
    for path in paths:
        times = random.lognormal(size=len(cells)).round(6).tolist()
        rows = [f"{cell},{value}" for cell, value in zip(cells, times, strict=True)]
        path.write_text("\n".join(["benchmark,execution,iteration,time_ms", *rows, ""]))
    return paths


def written() -> None:
    """Print the ratios of files that are made here: many values in one file, few in many."""
    random = np.random.default_rng(1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        long_json, lines, small = (
            hyperfine(folder, random),
            go(folder, random),
            small_files(folder, random),
        )
        rows, runs = google_benchmark(folder, random), small_tables(folder, random)
        layout = "{machine}/{session}.json"
        works = (
            (
                "hyperfine, 100 x 200: read",
                "json.load",
                lambda: perfarray.read(long_json),
                lambda: load(long_json),
            ),
            (
                "google_benchmark, 10,000 rows: read",
                "json.load",
                lambda: perfarray.read(rows),
                lambda: load(rows),
            ),
            (
                "go, 10,000 lines: read",
                "scan of lines",
                lambda: perfarray.read(lines),
                lambda: scan(lines),
            ),
            (
                "1,000 small files: read_archive",
                "json.load",
                lambda: perfarray.read_archive(folder / "small", layout=layout),
                lambda: [load(path) for path in small],
            ),
            (
                f"{len(runs)} small tables: read_archive",
                "pandas.read_csv of each",
                lambda: perfarray.read_archive(folder / "tables"),
                lambda: [pd.read_csv(path) for path in runs],
            ),
            (
                "a small file: read",
                "json.load",
                lambda: perfarray.read(small[0]),
                lambda: load(small[0]),
            ),
        )
        for over, under, ours, plain in works:
            seconds = ranked(
                "", {over: ours, under: plain}, over, rounds=ROUNDS, clock=time.process_time
            )
            if over in PAGE_ROWS:
                add_to_page(seconds, over, under, *PAGE_ROWS[over])


def main() -> None:
    """Print the ratios."""
    tables()
    written()
    for name, folders in SETS.items():
        files = files_of(folders)
        works = {
            "json.load": lambda files=files: [load(path) for path in files],
            "read": lambda files=files: [perfarray.read(path) for path in files],
            "read_archive of each folder": lambda files=files: [
                perfarray.read_archive(list(group)) for _, group in groupby(files, parent)
            ],
            "read_archive of all": lambda files=files: perfarray.read_archive(files),
        }
        for work in works.values():
            work()
        rounds = [{label: seconds(work) for label, work in works.items()} for _ in range(ROUNDS)]
        medians = {
            label: statistics.median(seconds[label] for seconds in rounds) for label in works
        }
        columns = [
            f"{label} {value * 1e3:.1f} ms ({value / medians['json.load']:.2f})"
            for label, value in medians.items()
        ]
        print(f"{name}, {len(files)} files: " + ", ".join(columns))
        for label in list(works)[1:]:
            print_ratio(
                f"{name}: {label}",
                "json.load",
                statistics.median(seconds[label] / seconds["json.load"] for seconds in rounds),
            )

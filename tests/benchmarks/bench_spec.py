"""How long reading SPEC text reports takes, as a multiple of one scan of their lines for benchmark,
copies, seconds and rate.

Rounds alternate between the two, in one process; ratios are medians over rounds. The reports
lie in the archive folder beside the repository (or where PERFARRAY_SHARED says).
"""

import os
import re
import time
from pathlib import Path

from interleaved import add_to_page, measured, print_ratio, ratio

import perfarray
from perfarray.readers.finding import InputFile
from perfarray.readers.joining import combine
from perfarray.readers.opening import Source
from perfarray.readers.recognising import formats, read_table
from perfarray.tables.build import build

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[3] / "shared"))
FOLDER = SHARED / "data/archives/spec_txt"
ROW = re.compile(r"^(\d{3}\.\S+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+[S*]")
SCAN = "scan of their lines"


def scan(path: Path) -> list[tuple[str, int, float, float]]:
    """Return what an expression finds in the lines of one report."""
    rows = map(ROW.match, path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [(row[1], int(row[2]), float(row[3]), float(row[4])) for row in rows if row]


def main() -> None:
    """Print times and ratios: all of it, and its parts."""
    paths = sorted(FOLDER.rglob("*_*.txt"))
    spec_text = formats()["spec_text"]
    tables = [read_table(Source(path), spec_text) for path in paths]
    inputs = [InputFile(path, path.name, {}, False) for path in paths]
    joined = combine(tables, inputs)
    variants = {
        SCAN: lambda: [scan(path) for path in paths],
        "read_archive": lambda: perfarray.read_archive(FOLDER, format="spec_text"),
        "  each report to a table": lambda: [
            read_table(Source(path, answers), spec_text) for answers in ({},) for path in paths
        ],
        "  tables to one table": lambda: combine(tables, inputs),
        "  one table to an array": lambda: build(joined),
    }
    title = f"{len(paths)} reports, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB"
    times = measured(title, variants, clock=time.process_time)
    for name in list(variants)[1:]:
        print_ratio(name.strip(), SCAN, ratio(times, name, SCAN))
    kilobytes = sum(path.stat().st_size for path in paths) / len(paths) / 1000
    size = f"{len(paths)} files of {kilobytes:.0f} kB"
    add_to_page(times, "read_archive", SCAN, "SPEC text reports", size, "a scan of the lines")

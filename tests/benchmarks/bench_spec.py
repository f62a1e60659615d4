"""How long reading SPEC text reports takes, as a multiple of reading their bytes and splitting lines.

`python tests/benchmarks/bench_spec.py`. Rounds alternate between the two, in one process; ratios are medians over rounds. The reports
lie in the archive folder beside the repository (or where PERFARRAY_SHARED says).
"""

import os
import warnings
from pathlib import Path

from interleaved import compared, interleaved, ratio, report

import perfarray
from perfarray.readers.finding import Found
from perfarray.readers.joining import combine
from perfarray.readers.opening import Source
from perfarray.readers.recognising import formats, read_table
from perfarray.tables.build import build

SHARED = Path(os.environ.get("PERFARRAY_SHARED", Path(__file__).resolve().parents[3] / "shared"))
FOLDER = SHARED / "data/archives/spec_txt"


def main() -> None:
    """Print times and ratios: all of it, and its parts."""
    warnings.simplefilter("ignore")
    paths = sorted(FOLDER.rglob("*_*.txt"))
    known = formats()["spec_text"]
    tables = [read_table(Source(path), known) for path in paths]
    found = [Found(path, path.name, {}, False) for path in paths]
    joined = combine(tables, found)
    variants = {
        "bytes, split into lines": lambda: [path.read_bytes().decode().splitlines() for path in paths],
        "read_archive": lambda: perfarray.read_archive(FOLDER, format="spec_text"),
        "  each report to a table": lambda: [read_table(Source(path, answers), known) for answers in ({},) for path in paths],
        "  tables to one table": lambda: combine(tables, found),
        "  one table to an array": lambda: build(joined),
    }
    times = interleaved(variants)
    report(f"{len(paths)} reports, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB", times)
    for name in list(variants)[1:]:
        compared(name.strip(), "bytes, split into lines", ratio(times, name, "bytes, split into lines"))


if __name__ == "__main__":
    main()

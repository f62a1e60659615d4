"""Run benchmarks and print what they compare as one table of ratios: `OPENBLAS_NUM_THREADS=1 python
-m tests.benchmarks [NAME ...]`.

Every `bench_*.py` has a `main` that times ours and its peers in turn in this process and hands each
ratio to `interleaved.print_ratio`. `--repeat 3 --record FILE` keeps the ratios of three passes;
`--repeat 3 --against FILE` says what became slower since. `--page docs/benchmarks.md` measures what
stands on that page and writes its table anew.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
ON_PAGE = ("waiting", "reading", "spec", "calls", "kernels", "single_runs", "histories")
"""The benchmarks that have rows on the page."""


def main(arguments: list[str]) -> None:
    """Run the benchmarks named, or all."""
    sys.path.insert(0, str(FOLDER))
    topics = [path.stem.removeprefix("bench_") for path in sorted(FOLDER.glob("bench_*.py"))]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(topics))
    parser.add_argument("--repeat", type=int, default=1, help="passes through the benchmarks")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where to keep the ratios")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="an earlier record to compare with"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page to write the table of")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(topics):
        raise SystemExit(
            f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(topics)}"
        )
    sys.argv = sys.argv[:1]
    ratios: dict[str, list[float]] = {}
    left_out: dict[str, str] = {}
    for _ in range(options.repeat):
        run(options.names or (ON_PAGE if options.page else topics), ratios, left_out)
    rows = [(name, " ".join(f"{value:.2f}" for value in values)) for name, values in ratios.items()]
    show(rows + [(name, f"left out: {why}") for name, why in left_out.items()])
    recorded = import_module("recorded")
    if options.against is not None:
        show(recorded.against(options.against, ratios))
    if options.record is not None:
        recorded.save(ratios, options.record)
    if options.page is not None:
        write_page(options.page, import_module("interleaved").PAGE)


def write_page(page: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write the table of a page anew: its head stays, and each row follows another."""
    text = page.read_text()
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    page.write_text(re.sub(r"(?<=\| --- \|\n)(?:\|.*\n)*", lambda _: table, text, count=1))


def run(names: Sequence[str], ratios: dict[str, list[float]], left_out: dict[str, str]) -> None:
    """Run benchmarks once; add the ratios of every row to those found, and say what was left
    out."""
    table = import_module("interleaved").TABLE
    for name in names:
        print(f"{name}:", flush=True)
        n_rows = len(table)
        try:
            with warnings.catch_warnings(action="ignore"):  # notes are not what is measured
                import_module(f"bench_{name}").main()
        except (ImportError, FileNotFoundError) as error:
            left_out[name] = str(error)
        for over, under, value in table[n_rows:]:
            ratios.setdefault(f"{name}: {over} / {under}", []).append(value)


def show(rows: list[tuple[str, ...]]) -> None:
    """Print a table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(
        "\n"
        + "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])

"""Run benchmarks and print what they compare as one table of ratios: `python -m tests.benchmarks [NAME ...]`.

Every `bench_*.py` has a `main` that times ours and its peers in turn in this process and hands each ratio to `interleaved.compared`.
"""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all."""
    sys.path.insert(0, str(FOLDER))
    table = import_module("interleaved").TABLE
    known = [path.stem.removeprefix("bench_") for path in sorted(FOLDER.glob("bench_*.py"))]
    if unknown := set(names) - set(known):
        raise SystemExit(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    sys.argv = sys.argv[:1]
    rows: list[tuple[str, str, str]] = []
    for name in names or known:
        print(f"{name}:", flush=True)
        before = len(table)
        try:
            import_module(f"bench_{name}").main()
        except (ImportError, FileNotFoundError) as error:
            rows.append((name, f"left out: {error}", ""))
        rows += [(name, f"{over} / {under}", f"{value:.2f}") for over, under, value in table[before:]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print("\n" + "\n".join(f"{name:<{widths[0]}}  {what:<{widths[1]}}  {value:>{widths[2]}}" for name, what, value in rows))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Measure the C suite: builds x executions x iterations at two levels, in random order.

    python measure_c_suite.py ../c_suite.csv.gz

One *binary* is one build: the object files linked in a random order, run in an environment of
random size (both are known to move timings without any change to the program). All five benchmarks
are linked into each binary, so a build is shared by the benchmarks. One *execution* is one process
that runs one benchmark; its first three iterations are marked as warm-up. Executions of everything
are interleaved in random order, so that drift is spread over all of them.
"""

import argparse
import gzip
import random
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "c_suite"
BENCHMARKS = ("fft", "hash_table", "matrix_product", "string_search", "sort")
OPTIMISATION = ("O2", "O3")
WARMUP = 3


def build(folder, optimisation, number, chance):
    """Link the suite in a random order; return the binary and the environment it is to run in."""
    objects = []
    for source in sorted(SOURCES.glob("*.c")):
        target = folder / f"{source.stem}_{optimisation}.o"
        if not target.exists():
            subprocess.run(["gcc", f"-{optimisation}", "-c", source, "-o", target], check=True)
        objects.append(target)
    chance.shuffle(objects)
    binary = folder / f"suite_{optimisation}_{number}"
    subprocess.run(["gcc", *objects, "-o", binary, "-lm"], check=True)
    return binary, {"PADDING": "x" * chance.randrange(4096)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output")
    parser.add_argument("--binaries", type=int, default=15)
    parser.add_argument("--executions", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)

    rows = []
    with tempfile.TemporaryDirectory() as name:
        builds = {
            (optimisation, number): build(Path(name), optimisation, number, chance)
            for optimisation in OPTIMISATION
            for number in range(arguments.binaries)
        }
        for execution in range(arguments.executions):
            order = [(key, benchmark) for key in builds for benchmark in BENCHMARKS]
            chance.shuffle(order)
            for (optimisation, number), benchmark in order:
                binary, environment = builds[optimisation, number]
                command = [binary, benchmark, str(WARMUP + arguments.iterations)]
                printed = subprocess.run(
                    command, env=environment, check=True, capture_output=True, text=True
                ).stdout
                for iteration, seconds in enumerate(printed.split()):
                    warmup = str(iteration < WARMUP).lower()
                    rows.append(
                        (benchmark, optimisation, number, execution, iteration, warmup, seconds)
                    )

    rows.sort(key=lambda row: row[:5])
    with gzip.GzipFile(arguments.output, "wb", mtime=0) as raw:
        lines = ["# shared_levels: binary\n", "# units: s\n"]
        raw.write("".join(lines).encode())
        text = [("benchmark", "flags", "binary", "execution", "iteration", "warmup", "time"), *rows]
        raw.write("".join(",".join(map(str, row)) + "\n" for row in text).encode())


if __name__ == "__main__":
    main()

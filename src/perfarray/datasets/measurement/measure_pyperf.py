"""Six small Python benchmarks for pyperf.

How the shipped files were made, all on one machine with one interpreter:

    python measure_pyperf.py --inherit-environ PYTHONMALLOC -o pymalloc.json
    python measure_pyperf.py --inherit-environ PYTHONMALLOC -o malloc.json
    python measure_pyperf.py -o first.json
    python measure_pyperf.py -o second.json
    python measure_pyperf.py clean pymalloc.json malloc.json first.json second.json

PYTHONMALLOC was pymalloc, the default, in the first command and malloc in the second. The others
are an A/A pair: the same command, the second time in a session much later.

pyperf's own defaults: 20 worker processes (executions) of 3 values (iterations) after one warm-up.
`clean` removes what says whose machine it was (host, paths, kernel, processor) and nothing else.
"""

import json
import sys
from pathlib import Path

PRIVATE = {
    "boot_time",
    "command",
    "cpu_config",
    "cpu_freq",
    "cpu_model_name",
    "cpu_temp",
    "hostname",
    "platform",
    "python_cflags",
    "python_config_args",
    "python_compiler",
    "python_executable",
    "uptime",
}


def clean(path):
    """Drop private metadata from one pyperf file, at all three of its levels."""
    content = json.loads(Path(path).read_text())
    holders = [
        content,
        *content["benchmarks"],
        *(run for bench in content["benchmarks"] for run in bench["runs"]),
    ]
    for holder in holders:
        if "metadata" in holder:
            holder["metadata"] = {
                key: value for key, value in holder["metadata"].items() if key not in PRIVATE
            }
    Path(path).write_text(json.dumps(content, separators=(",", ":")) + "\n")


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y


def create_objects():
    return [Point(i, i + 1) for i in range(2000)]


def dict_insert():
    table = {}
    for i in range(2000):
        table[i * 7919 % 65536] = [i]
    return table


def fibonacci(n=16):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def json_dumps():
    return json.dumps(
        {"rows": [{"name": f"row {i}", "value": i * 0.1, "tags": ["a", "b"]} for i in range(100)]}
    )


def sort_strings():
    return sorted(str(i * 7919 % 10007) for i in range(1000))


def split_join():
    return " ".join(word.upper() for word in ("the quick brown fox " * 200).split())


if __name__ == "__main__":
    if sys.argv[1:2] == ["clean"]:
        for name in sys.argv[2:]:
            clean(name)
    else:
        import pyperf

        runner = pyperf.Runner()
        for function in (
            create_objects,
            dict_insert,
            fibonacci,
            json_dumps,
            sort_strings,
            split_join,
        ):
            runner.bench_func(function.__name__, function)

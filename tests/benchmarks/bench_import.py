"""What `import perfarray` costs beside `import xarray`, and the command line beside a first
DataArray: new processes in turn.

The issues allow 1.2 times for the import and 1.3 for a small comparison; help needs no array.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from interleaved import measured, print_ratio, ratio

import perfarray


def importing(module: str):
    """Return a call that imports a module in a new process."""
    return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


FIRST_ARRAY = "import xarray; xarray.DataArray([1.0])"
HELP, COMPARE, REPORT = "perfarray --help", "perfarray compare", "perfarray report"


def command(*words: object):
    """Return a call of the command line in a new process."""
    return lambda: subprocess.run(
        [sys.executable, "-m", "perfarray", *map(str, words)], check=False, capture_output=True
    )


def main() -> None:
    """Print times and the ratios."""
    folder = perfarray.dataset_path("python_malloc")
    seconds = measured(
        "import",
        {module: importing(module) for module in ("xarray", "perfarray")},
        rounds=15,
        budget=0.0,
    )
    print_ratio("import perfarray", "import xarray", ratio(seconds, "perfarray", "xarray"))
    calls = {
        FIRST_ARRAY: lambda: subprocess.run([sys.executable, "-c", FIRST_ARRAY], check=True),
        HELP: command("--help"),
        COMPARE: command("compare", folder / "malloc.json", folder / "pymalloc.json"),
        REPORT: command(
            "report",
            folder / "malloc.json",
            folder / "pymalloc.json",
            "-o",
            Path(gettempdir(), "perfarray_report.html"),
        ),
    }
    seconds = measured("command line", calls, rounds=15, budget=0.0)
    for name in (HELP, COMPARE, REPORT):
        print_ratio(name, "a first DataArray", ratio(seconds, name, FIRST_ARRAY))

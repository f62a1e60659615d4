"""What `import perfarray` costs beside `import xarray`: new processes in turn; the issue allows 1.2 times.

python tests/benchmarks/bench_import.py
"""

import subprocess
import sys

from interleaved import compared, interleaved, ratio, report


def importing(module: str):
    """Return a call that imports a module in a new process."""
    return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


def main() -> None:
    """Print times and the ratio."""
    found = interleaved({module: importing(module) for module in ("xarray", "perfarray")}, rounds=15, budget=0.0)
    report("import", found)
    compared("import perfarray", "import xarray", ratio(found, "perfarray", "xarray"))


if __name__ == "__main__":
    main()

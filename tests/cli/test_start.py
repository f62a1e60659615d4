"""What the command line loads before it reads its arguments."""

import json
import subprocess
import sys

import pytest

import perfarray
from perfarray import _is_command
from perfarray.cli.app import main

LOADED = """
import contextlib, json, runpy, sys
found = {}
for words in (["--version"], ["--help"], ["compare", "--help"]):
    sys.argv = ["/usr/bin/perfarray", *words]
    with contextlib.suppress(SystemExit):
        from perfarray.cli.app import main
        main()
    found[words[-1]] = sorted({"numpy", "pandas", "xarray", "matplotlib"} & set(sys.modules))
import xarray, perfarray
perfarray.compare
found["perf"] = hasattr(xarray.Dataset, "perf")
print(json.dumps(found), file=sys.stderr)
"""


def test_version_and_help_load_neither_pandas_nor_xarray():
    """They do not load NumPy, either; the first use of a public name registers the accessor."""
    code = "import sys; sys.argv = ['/usr/bin/perfarray']\n" + LOADED
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    answer = json.loads(child.stderr)
    assert answer == {"--version": [], "--help": [], "perf": True}
    assert child.stdout.startswith(f"perfarray {perfarray.__version__}\n")


def test_what_the_command_is(monkeypatch):
    """The script and `python -m perfarray` are the command; any other program that imports the
    package loads all of it."""
    for argv, orig, command in (
        (["/usr/bin/perfarray", "--help"], [], True),
        (["-m", "--help"], ["python", "-X", "dev", "-m", "perfarray", "--help"], True),
        (["-m"], ["python", "-m", "mybench"], False),
        (["-m"], ["python", "-mperfarray"], False),
        (["mybench.py", "perfarray"], ["python", "mybench.py", "perfarray"], False),
        (["-c"], ["python", "-c", "import perfarray"], False),
        ([], [], False),
    ):
        monkeypatch.setattr(sys, "argv", argv)
        monkeypatch.setattr(sys, "orig_argv", orig)
        assert _is_command() is command


def test_a_comparison_loads_no_package_that_it_does_not_use(tmp_path):
    """Imports take most of the time of a short command; old SciPy's special functions need its
    sparse arrays."""
    path = tmp_path / "timings.csv"
    path.write_text(
        "benchmark,execution,time\n"
        + "".join(f"{name},{number},{number + 9}.5\n" for name in "ab" for number in range(9))
    )
    unused = [
        "dask",
        "matplotlib",
        "numba",
        "patsy",
        "pyarrow.parquet",
        "scipy.optimize",
        "scipy.stats",
        "statsmodels",
    ]
    code = f"""
import atexit, sys
sys.argv[0] = "/usr/bin/perfarray"
atexit.register(lambda: print("loaded:", *(name for name in {unused} if sys.modules.get(name)), file=sys.stderr))
from perfarray.cli.app import main
main()
"""
    child = subprocess.run(
        [sys.executable, "-c", code, "compare", path, path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.stdout[:3], child.stderr.splitlines()[-1]) == ("old", "loaded:")


def test_main_leaves_the_modules_of_another_program_alone(monkeypatch, capsys):
    """Only a process of its own is kept from importing dask."""
    monkeypatch.setattr(sys, "argv", ["perfarray", "--version"])
    with pytest.raises(SystemExit):
        main()
    assert sys.modules.get("dask", "not imported") is not None
    assert capsys.readouterr().out == f"perfarray {perfarray.__version__}\n"

"""What the command line loads before it reads its arguments."""

import json
import subprocess
import sys

import perfarray
from perfarray import _is_command

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
    found = json.loads(child.stderr)
    assert found == {"--version": [], "--help": [], "perf": True}
    assert child.stdout.startswith(f"perfarray {perfarray.__version__}\n")


def test_what_the_command_is(monkeypatch):
    """The script and `python -m perfarray` are the command; any other program that imports the package loads all of it."""
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

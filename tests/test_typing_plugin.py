"""What mypy knows of `.perf` with the plugin that the package ships."""

import os
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

import perfarray

NEEDED = ("mypy", "pandas-stubs", "matplotlib")
missing = [name for name in NEEDED if not any(distributions(name=name))]
if missing:
    pytest.skip(
        f"types are checked where mypy and what it reads are installed; {', '.join(missing)} "
        "not (2026-11-22)",
        allow_module_level=True,
    )

SIGNATURE = (
    r"def \(baseline: object, \*, dim: str \| None =, .*threshold: float \| [^=]* =, "
    r".*metric: str \| list\[str\] \| None ="
)

LINES = {
    "method of a DataArray": (
        "reveal_type(array.perf.compare)",
        SIGNATURE + r"\) -> xarray\.core\.dataset\.Dataset",
    ),
    "method of a Dataset": (
        "reveal_type(times.perf.compare)",
        SIGNATURE + r"\) -> xarray\.core\.dataset\.Dataset",
    ),
    "method of a DataFrame": (
        "reveal_type(frame.perf.to_timings)",
        r"def \(\*, value: .*\) -> xarray\.core\.dataset\.Dataset",
    ),
    "answer": (
        'reveal_type(times.perf.compare("old"))',
        r'type is "xarray\.core\.dataset\.Dataset"',
    ),
    "mixture": (
        "reveal_type(times.perf.fit_mixture())",
        r'type is "perfarray\.mixtures\.model\.GaussianMixture"',
    ),
    "accessor of a mixture": (
        "reveal_type(times.perf.fit_mixture().perf)",
        r'type is "perfarray\.accessor\.TimingsAccessor"',
    ),
    "timings": (
        "reveal_type(frame.perf.to_timings())",
        r'type is "xarray\.core\.dataset\.Dataset"',
    ),
    "picture": (
        "reveal_type(times.perf.plot.intervals)",
        SIGNATURE
        + r", ax: matplotlib\.axes\._axes\.Axes \| None =\) -> matplotlib\.axes\._axes\.Axes",
    ),
    "picture of a result": (
        "reveal_type(array.perf.plot())",
        r'type is "matplotlib\.axes\._axes\.Axes"',
    ),
    "picture of timings": (
        "reveal_type(array.perf.plot.violin(relative=True))",
        r'type is "matplotlib\.axes\._axes\.Axes"',
    ),
    "no accessor": ("reveal_type(tree.perf)", 'type is "Any"'),
    "typo on a DataArray": (
        'array.perf.comparre("old")',
        '"TimingsAccessor" has no attribute "comparre"',
    ),
    "typo on a Dataset": (
        'times.perf.comparre("old")',
        '"TimingsAccessor" has no attribute "comparre"',
    ),
    "not on a DataFrame": (
        'frame.perf.compare("old")',
        '"FrameAccessor" has no attribute "compare"',
    ),
    "typo in a picture": (
        'times.perf.plot.interval("old")',
        '"PlotAccessor" has no attribute "interval"',
    ),
    "typo in an argument": (
        'times.perf.compare("old", thresold=0.02)',
        'Unexpected keyword argument "thresold"',
    ),
    "a text for a number": (
        'times.perf.compare("old", threshold="2 %")',
        'Argument "threshold" has incompatible type "str"; expected "float',
    ),
    "typo in an argument of a picture": (
        'times.perf.plot.intervals("old", thresold=0.02)',
        'Unexpected keyword argument "thresold"',
    ),
    "right": ('times.perf.plot.intervals("old", threshold=0.02, ax=None)', ""),
}
"""Lines of code, and what mypy says of each."""

SNIPPET = """
import pandas as pd
import xarray as xr

def use(
    array: xr.DataArray,
    times: xr.Dataset,
    frame: pd.DataFrame,
    series: pd.Series,
    tree: xr.DataTree,
) -> None:
""" + "".join(f"    {code}  # {line}\n" for line, (code, _) in LINES.items())

CONFIGURATION = """
[mypy]
strict = true
plugins = perfarray.typing_plugin
[mypy-dask.*,distributed.*,zarr.*,IPython.*,PIL.*,sqlalchemy.*,jinja2.*,scipy.*,asyncio.*,multiprocessing.*,unittest.*]
follow_imports = skip
[mypy-xarray.backends.*,xarray.plot.*,xarray.testing.*,pandas.io.*,pandas.plotting.*,perfarray.*.numerics.*,perfarray.numerics.*]
follow_imports = skip
"""
"""What is imported and the snippet does not speak of is not read: it would take long."""


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """What mypy says of each line of the snippet, in one run."""
    folder, home = tmp_path_factory.mktemp("mypy"), Path(perfarray.__file__).parents[1]
    (folder / "snippet.py").write_text(SNIPPET)
    (folder / "mypy.ini").write_text(CONFIGURATION)
    paths = {"PYTHONPATH": str(home)} | (
        {} if home.name == "site-packages" else {"MYPYPATH": str(home)}
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        os.devnull,
        "snippet.py",
    ]
    completed = subprocess.run(
        command, cwd=folder, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 1, (
        completed.stdout + completed.stderr
    )  # there are mistakes in the snippet, and nothing else
    lines = [line.rpartition("# ")[2] for line in SNIPPET.split("\n")]
    return [
        (lines[int(number) - 1], message)
        for number, message in re.findall(r"snippet\.py:(\d+): (.*)", completed.stdout)
    ]


@pytest.mark.parametrize("line", LINES)
def test_mypy_knows_the_accessor(line, messages):
    """It reveals signatures and types of answers, for every kind of object, and rejects what is not
    there."""
    messages_of_line, expected = (
        [message for position, message in messages if position == line],
        LINES[line][1],
    )
    assert len(messages_of_line) == bool(expected), messages
    assert all(re.search(expected, message) for message in messages_of_line), messages_of_line

"""Reference numbers and archives for tests; how hypothesis draws; a switch that turns skips into
failures.

The same examples are drawn in every run, so that a run says something about the change and not
about luck: few of them where people wait for the answer, many where PERFARRAY_EXAMPLES=many says so
(`.ci/run` does). To look for more, run `pytest --hypothesis-profile=default` (with
`--hypothesis-seed=N` to repeat what was found).

PERFARRAY_WITHOUT_EXTRAS=1 is for an environment that has none: a test that needs one is skipped,
but only where the package told it which extra to install; every such test is then a test of that
message.

PERFARRAY_REQUIRE_ALL=1 makes a skipped test fail: where the archives and every extra are there,
nothing may be skipped; with PERFARRAY_WITHOUT_BROWSER=1, as on a system that packages cannot be
added to, nothing but what needs a browser.
"""

import gc
import json
import os
import re
import sys
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from shared_material import SHARED
from strategies import examples

os.environ.setdefault("MPLBACKEND", "agg")  # no screen
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # the processes of pytest-xdist share the cores already

# Tests start some eighty processes: what is compiled is kept, or each would compile the same
# modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "fixed", derandomize=True, database=None, deadline=None, max_examples=examples(100)
)
settings.load_profile("fixed")

GOLDEN = Path(__file__).parent / "golden"
WITHOUT_BROWSER = os.environ.get("PERFARRAY_WITHOUT_BROWSER", "") not in {"", "0"}
WITHOUT_EXTRAS = os.environ.get("PERFARRAY_WITHOUT_EXTRAS", "") not in {"", "0"}
REQUIRE_ALL = os.environ.get("PERFARRAY_REQUIRE_ALL", "") not in {"", "0"}


gc.disable()  # until all is imported and collected: what is made then stays


def pytest_collection_finish():
    """Keep the garbage collector from looking again and again at all that was imported and
    collected."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in docstrings in the package alone: here there are none."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


@pytest.fixture(scope="session")
def golden():
    """Return a function that reads reference numbers by the name of their file in tests/golden."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def shared():
    """Return a function that finds a file or folder of the shared material, or skips."""

    def find(*names: str) -> Path:
        path = SHARED.joinpath(*names)
        if not path.exists():
            pytest.skip(
                f"needs the shared material ({'/'.join(names)}), which is not beside this "
                "checkout (since 2026-11)"
            )
        return path

    return find


EXTRAS = (
    r"matplotlib|mpl_toolkits|numba|sklearn|dask|distributed|h5netcdf|netCDF4|zarr|pyperf"
    r"|mypy|psutil"
)
TOLD = r"install perfarray\[\w+\]|chunk manager 'dask' is not available"


def skip_for_extras(report, pattern):
    """Return the report of a failure, as a skip where an error (and nothing that was asserted) says
    that an extra is not there."""
    text = str(report.longrepr)
    crash = getattr(report.longrepr, "reprcrash", None)
    if not (WITHOUT_EXTRAS and report.failed) or (
        crash and crash.message.startswith(("assert", "AssertionError"))
    ):
        return report
    if "src/perfarray/" not in text:  # the test itself, or xarray on its behalf, imports the extra
        pattern = rf"No module named '({EXTRAS})|{pattern}"
    if match := re.search(pattern, text[-3000:]):
        report.outcome, report.longrepr = "skipped", (str(Path(__file__)), 0, match[0])
    return report


def refuse_skips(report):
    """Return the report, as a failure where it is a skip that the switch does not allow."""
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if WITHOUT_BROWSER and "chromium" in reason:
            return report
        report.outcome, report.longrepr = (
            "failed",
            f"skipped where nothing may be skipped (PERFARRAY_REQUIRE_ALL): {reason}",
        )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """A test."""
    return refuse_skips(skip_for_extras((yield), TOLD))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """A file of tests: it may import an extra itself."""
    return refuse_skips(skip_for_extras((yield), rf"No module named '({EXTRAS})|{TOLD}"))

"""Iterations of one process a side: their verdicts are false in most cases, and carry a warning
that says so."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.commands import as_json, run

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "one_process.py"
WARNED = pytest.warns(
    perfarray.PerfarrayWarning,
    match="Iterations are taken as independent, and those of one execution are not",
)


def timings(executions=1, iterations=6):
    """Return timings of two versions of three benchmarks, as a reader makes them."""
    values = 1 + 0.01 * np.random.default_rng(1).random((2, 3, executions, iterations))
    dims = ("version", "benchmark", "execution", "iteration")
    array = xr.DataArray(
        values, dims=dims, coords={"version": ["old", "new"], "benchmark": list("abc")}, name="time"
    )
    return array.to_dataset().assign_attrs(format="google_benchmark")


def test_the_trap_and_the_way_out():
    """Where processes vary by 2 % and iterations by 1 %, nine of ten verdicts on iterations are
    false; five processes keep the level."""
    spec = importlib.util.spec_from_file_location("one_process", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rates = script.risks(0.02, experiments=600, rng=2)
    assert rates['levels="iteration"'] > 85
    assert max(rates["five processes a side"], rates["one, and between= of five"]) < 9


@pytest.mark.parametrize(
    ("executions", "options"), [(1, {"levels": "iteration"}), (3, {"levels": ("iteration",)})]
)
def test_verdicts_on_iterations_carry_a_note(executions, options):
    """It names the command of the tool; executions that are left out of the nest are no less
    several processes."""
    with WARNED:
        result = timings(executions).perf.compare("old", **options)
    (note,) = [note for note in result.perf.notes() if note.code == "one_process"]
    assert note.values == {"executions": executions}
    assert "--benchmark_out=" in note.message


@pytest.mark.parametrize(
    "method",
    ["speedup_test", "score_ratio_interval", "randomization_test", "hierarchical_performance_test"],
)
def test_a_unit_of_iterations_carries_it_too(method):
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        result = getattr(timings().perf, method)("old", unit="iteration")
    assert "one_process" in [note.code for note in result.perf.notes()]


@pytest.mark.parametrize(
    ("times", "options"),
    [
        (
            timings().isel(execution=0, drop=True),
            {},
        ),  # there is nothing but iterations, as the author of the array says
        (timings(2), {}),  # executions are the units
        (timings().isel(iteration=[0]), {"levels": "iteration"}),  # there is no verdict
    ],
)
def test_other_comparisons_have_no_such_note(times, options):
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        result = times.perf.compare("old", **options)
    assert "one_process" not in [note.code for note in result.perf.notes()]


def test_with_sessions_from_elsewhere_there_is_none():
    """What executions vary by is then in the intervals."""
    sessions = (
        timings(4).rename(execution="session").isel(version=0, drop=True).expand_dims(execution=1)
    )
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        result = timings().perf.compare("old", levels="iteration", between=sessions)
    assert "one_process" not in [note.code for note in result.perf.notes()]


def test_the_command_line_warns(tmp_path, monkeypatch):
    """On stderr, in the warnings of JSON and in Markdown; the exit code is that of the verdicts."""
    monkeypatch.chdir(tmp_path)
    for side, factor in (("old", 1), ("new", 2)):
        rows = [
            f"{name},0,{number},{factor * (1 + 0.01 * number)}"
            for name in "ab"
            for number in range(5)
        ]
        Path(f"{side}.csv").write_text("\n".join(["benchmark,execution,iteration,time", *rows]))
    command = ("compare", "old.csv", "new.csv", "--levels", "iteration")
    assert "warning: Iterations are taken as independent" in run(*command, code=1).stderr
    (line,) = as_json(*command)["warnings"]
    assert line.endswith("Each file is then a session: --files-are session")
    assert "\n> Iterations are taken as independent" in run(*command, "--output", "markdown").stdout
    assert "Iterations" not in run("compare", "old.csv", "new.csv", code=2).stderr


@pytest.mark.parametrize(
    ("options", "is_named"),
    [
        ({}, True),
        ({"statistic": "median"}, False),
        ({"method": "delta"}, False),
        ({"paired": "execution"}, False),
    ],
)
def test_earlier_runs_are_named_where_they_can_be_given(options, is_named):
    """Medians, other methods and pairs take no `between=`."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        timings().perf.compare("old", **options)
    assert ("between=" in str(caught[0].message)) == is_named

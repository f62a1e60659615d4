"""Imports point one way: entry points, then what joins topics, then topics, plumbing, numerics and the vocabulary."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import perfarray

ROOT = Path(perfarray.__file__).parent

ABOVE_TOPICS = {"_agreement", "comparison", "calibration", "report"}
TOPICS = {
    "_bootstrap",
    "_descriptors",
    "_diagnostics",
    "_estimators",
    "_goodness_of_fit",
    "_intervals",
    "_levels",
    "_mixture",
    "_mixture_metrics",
    "_principal_components",
    "_proportion",
    "_randomization",
    "_regression",
    "_regression_columns",
    "_regression_evaluation",
    "_regression_models",
    "_repetition",
    "_required_runs",
    "_score_distribution",
    "_speedup_test",
    "_suite",
    "_suite_plan",
    "_variance_components",
}
PLUMBING = {
    "_apply",
    "_costs",
    "_frame",
    "_mixture_model",
    "_mixture_systems",
    "_options",
    "_resampling",
    "_results",
    "_samples",
    "_suites",
    "_tables",
    "_timings",
    "_validation",
}

EXCEPTIONS = {
    ("readers._tidy_csv", "_tables"),  # a CSV file is a table: columns get their roles as in to_timings
    ("_agreement", "comparison"),  # agreement puts a comparison beside the other methods
    ("_regression", "_descriptors"),  # timings become a table of machines first
    ("_regression", "_regression_columns"),  # one topic in four files
    ("_regression", "_regression_evaluation"),
    ("_regression", "_regression_models"),
    ("_regression_columns", "_descriptors"),
    ("_regression_columns", "_regression_models"),
    ("_regression_evaluation", "_descriptors"),
    ("_regression_evaluation", "_regression_columns"),
    ("_regression_evaluation", "_regression_models"),
    ("_descriptors", "_score_distribution"),  # a machine's relative variation
    ("report", "readers._open"),  # a report on files opens them as the readers do
    ("report", "readers._speedup_test"),
    ("datasets", "readers"),  # a shipped dataset is files, read like any others
}


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name inside it."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "measurement" not in parts:
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "perfarray":
            inside = node.module.partition(".")[2]
            names |= {inside} if inside else {alias.name for alias in node.names} & set(modules())
        elif isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[2] for alias in node.names if alias.name.startswith("perfarray.")}
    return names


def allowed(name: str) -> set[str]:
    """Return the first parts of the names a module may import."""
    head = name.partition(".")[0]
    if name in {"", "__main__", "cli", "_cli_convert", "_cli_demo", "_cli_plan", "_cli_speedup_test", "_cli_tables", "backend"}:
        return {part.partition(".")[0] for part in modules()}
    if head == "accessor":
        return {"comparison", "plots"} | TOPICS | PLUMBING
    if head in ABOVE_TOPICS:
        return TOPICS | PLUMBING | {"numerics", "conventions"}
    if head in TOPICS:
        return PLUMBING | {"numerics", "conventions"}
    if head == "plots":
        return {"conventions", "plots"}
    if head in {"numerics", "conventions"}:
        return {"numerics", "conventions"} if head == "numerics" else set()
    if head in {"readers", "simulate", "datasets"}:
        return {"conventions", "_validation", "_frame", head}
    if head in PLUMBING:
        return PLUMBING | {"numerics", "conventions"}
    raise AssertionError(f"{name} has no place in the house; give it one here")


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_downwards(name):
    """A module imports only from floors below its own; the few exceptions are listed with their reason."""
    wrong = {
        target for target in imported(modules()[name]) if target.partition(".")[0] not in allowed(name) and (name, target) not in EXCEPTIONS
    }
    assert not wrong


def test_topics_do_not_import_each_other():
    """A topic stands alone."""
    for topic in TOPICS & set(modules()):
        others = imported(modules()[topic]) & TOPICS
        assert not {other for other in others if (topic, other) not in EXCEPTIONS}


def test_only_apply_calls_apply_ufunc():
    """One file holds xarray's plumbing."""
    users = [name for name, path in modules().items() if "apply_ufunc" in path.read_text()]
    assert users == ["_apply"]


def test_only_plots_know_matplotlib():
    """Figures are drawn in one place."""
    users = [name for name, path in modules().items() if "import matplotlib" in path.read_text() or "from matplotlib" in path.read_text()]
    assert all(name.startswith("plots") for name in users)


def test_import_is_light():
    """Importing perfarray imports no SciPy submodule, statsmodels, matplotlib, scikit-learn or numba."""
    heavy = ("scipy.", "statsmodels", "matplotlib", "sklearn", "numba", "typer", "rich", "tqdm")
    code = "import xarray, sys; before = set(sys.modules); import perfarray; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith(heavy)] == []
    assert {name for name in loaded if name.startswith("perfarray")} == {"perfarray", "perfarray.accessor"}


def test_top_level_stays_small():
    """Nothing gathers in a room without a name."""
    names = {path.stem for path in ROOT.rglob("*.py")}
    assert not names & {"utils", "core", "helpers", "common", "misc"}

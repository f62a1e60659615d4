"""The house: topic first, floor second. The folder says what a thing is about, the path says what
it may know; no file is listed here."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import perfarray
from perfarray.results.kinds import KINDS

ROOT = Path(perfarray.__file__).parent

GROUND = ("conventions", "numerics", "timings", "results", "tables", "readers", "datasets")
"""What every topic may stand on, from the ground up: each sees those before it."""

DOORS = ("accessor", "backend", "cli", "plots", "reports", "typing_plugin")
"""What stands over or beside the topics."""

OVER_TOPICS = ("crosscheck", "calibration")
"""Topics that call the public functions of others: that is what they are for."""

SEEN = {
    ("machines", "suites"): "a machine's relative variation is that of its suite's score",
    (
        "speedups",
        "readers",
    ): "the Speedup-Test's report is about files, which are read as a format of the archive's",
}
"""Topics that see another room, and why."""


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name inside it; the programs that measured
    the shipped timings are no part of it."""
    paths = {}
    for path in sorted(ROOT.rglob("*.py")):
        names_of_path = path.relative_to(ROOT).with_suffix("").parts
        if "measurement" not in names_of_path:
            paths[".".join(folder for folder in names_of_path if folder != "__init__")] = path
    return paths


@cache
def tree(name: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(modules()[name].read_text())


@cache
def nodes(name: str) -> list[ast.AST]:
    """Return the nodes of a module's syntax tree: many rules look at all of them."""
    return list(ast.walk(tree(name)))


def packaged(name: str) -> str | None:
    """Return the dotted name inside the package, or None for what is not of it."""
    head, _, module = name.partition(".")
    return module if head == "perfarray" else None


def imported_names(node: ast.AST) -> list[str]:
    """Return what one node of a syntax tree imports: by statement, or by the string given to
    import_module."""
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if (
        isinstance(node, ast.Call)
        and node.args
        and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
    ):
        text = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
        return [str(text.value)] if isinstance(text, ast.Constant) else []
    return []


@cache
def names(name: str) -> frozenset[str]:
    """Return all that a module imports, anywhere in it."""
    return frozenset(target for node in nodes(name) for target in imported_names(node))


@cache
def imported(name: str) -> frozenset[str]:
    """Return the modules of the package that a module imports."""
    return frozenset(
        target for target in map(packaged, names(name)) if target in modules() and target
    )


@cache
def rooms() -> frozenset[str]:
    """Return the folders and files directly under the package."""
    return frozenset(name.partition(".")[0] for name in modules() if name)


def topics() -> list[str]:
    """Return the rooms that are topics: all but the ground and the doors."""
    return sorted(rooms() - set(GROUND) - set(DOORS) - {"__main__"})


def room(name: str) -> str:
    """Return the folder or file directly under the package that a module lies in."""
    return name.partition(".")[0]


def rooms_seen(name: str) -> set[str]:
    """Return the other rooms that a module imports from."""
    return {room(target) for target in imported(name)} - {room(name)}


def inside(*names: str) -> list[str]:
    """Return the modules of some rooms."""
    return [name for name in modules() if room(name) in names]


@pytest.mark.parametrize("name", [name for name in modules() if "numerics" in name.split(".")])
def test_numerics_know_numpy_and_other_numerics(name):
    """Formulas know NumPy, SciPy, and numerics: their own topic's and the shared ones."""
    for target in imported(name):
        assert "numerics" in target.split("."), target
        assert room(target) in {room(name), "numerics"}, target
    libraries = {target.partition(".")[0] for target in names(name)}
    allowed = sys.stdlib_module_names | {"numpy", "scipy", "perfarray"}
    compiled = {"numba", "llvmlite"} if name.rpartition(".")[2].startswith("compiled") else set()
    assert libraries <= allowed | compiled


@pytest.mark.parametrize("name", inside(*topics()))
def test_topics_stand_alone(name):
    """A topic sees the ground up to the tables, and itself; one that sees another room is named,
    with its reason."""
    if room(name) not in OVER_TOPICS:
        allowed = {"conventions", "numerics", "timings", "results", "tables"} | {
            neighbour for topic, neighbour in SEEN if topic == room(name)
        }
        assert rooms_seen(name) <= allowed


@pytest.mark.parametrize("name", inside(*GROUND))
def test_the_ground_points_downwards(name):
    """Timings see numerics, results and tables see timings, readers see tables; datasets see
    readers."""
    assert rooms_seen(name) <= set(GROUND[: GROUND.index(room(name))])


IMPORTING = """
import importlib, json, sys, xarray
before, found = set(sys.modules), {}
for topic, names in json.loads(sys.argv[1]).items():
    for name in names:
        importlib.import_module(name)
    found[topic] = sorted(set(sys.modules) - before)
    for name in found[topic]:  # libraries stay: what they load is asked of the first alone
        if name.partition(".")[0] == "perfarray":
            del sys.modules[name]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What importing the package loads besides xarray, in a fresh process; then what importing each
    topic loads, one after the other."""
    names = {
        topic: [
            f"perfarray.{name}"
            for name in inside(topic)
            if not name.rpartition(".")[2].startswith("compiled")
        ]
        for topic in topics()
    }
    request = json.dumps({"": ["perfarray"]} | names)
    output = subprocess.run(
        [sys.executable, "-c", IMPORTING, request], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(output)


@pytest.mark.parametrize("topic", topics())
def test_a_topic_is_imported_alone(topic, loaded):
    """After importing one topic, no other is loaded."""
    topics_loaded = {room(module) for module in map(packaged, loaded[topic]) if module} & (
        set(topics()) | {"readers", "plots"}
    )
    assert topic in {room(module) for module in map(packaged, loaded[topic]) if module}
    if topic not in OVER_TOPICS:
        assert topics_loaded <= {topic} | {
            neighbour for seeing, neighbour in SEEN if seeing == topic
        }


STATISTICS = re.compile(
    r"(nan)?(average|mean|median|std|var|quantile|percentile|sum|prod|cumsum|cumprod|ptp)|cov|corr|corrcoef|histogram\w*|bincount|digitize|"
    r"searchsorted|interp\w*|trapezoid|convolve|polyfit|cumulative_\w+|reduce|reduceat|dot|matmul|einsum|rank|groupby|rolling|apply_ufunc"
)
"""Functions and methods, of whatever object, that make numbers of a sample.

Not among them: counts of rows, least and largest values (ends of an axis, the height a curve is
scaled to), logarithms (places on an axis), arithmetic (percent, units) and `diff` (widths of bars).
"""

DRAWING = {"numpy", "xarray", "matplotlib", "lazy_loader", "perfarray"}
"""What pictures are made with."""


@pytest.mark.parametrize("name", inside("plots"))
def test_pictures_see_results_and_compute_nothing(name):
    """A picture sees the vocabulary, the kinds and words of results, arrays and matplotlib, and
    makes no number of a sample."""
    assert {target for target in imported(name) if room(target) != "plots"} <= {
        "conventions",
        "results",
        "results.kinds",
        "results.words",
    }
    assert {target.partition(".")[0] for target in names(name)} <= (
        sys.stdlib_module_names - {"statistics"}
    ) | DRAWING
    called = [node.func for node in nodes(name) if isinstance(node, ast.Call)]
    computed = {
        ast.unparse(function)
        for function in called
        if STATISTICS.fullmatch(ast.unparse(function).rpartition(".")[2])
    }
    assert computed <= {"sum"}  # Python's own: how long labels are together


def test_the_accessor_joins_topics_with_pictures():
    """Nothing else imports pictures; the accessor imports besides them what a timings object is,
    and curves that results do not carry."""
    assert {room(name) for name in modules() if "plots" in rooms_seen(name)} <= {"accessor"}
    foreign = {
        target
        for target in imported("accessor")
        if room(target) not in ("plots", "timings", "results")
    }
    assert all(room(target) in topics() and target.endswith(".curves") for target in foreign)
    functions = [kind.curves.split(".") for kind in KINDS.values() if kind.curves]
    assert functions
    assert all(topic in topics() and module == "curves" for topic, module, _ in functions)


@pytest.mark.parametrize("name", inside("cli", "reports"))
def test_doors_see_public_functions(name):
    """The command line and the reports call public functions; they write files by
    `tables.replacing`, and print tables, rows and words by `results`, commands of tools by
    `timings.processes`, and how far they are by `timings.progress`."""
    assert rooms_seen(name) <= {"conventions", "timings", "tables", "results"}
    below = {
        target
        for target in imported(name)
        if room(target) in ("timings", "tables", "results")
        and not target.startswith("tables.stores.")
    }
    assert below <= {
        "timings",
        "timings.notes",
        "timings.processes",
        "timings.progress",
        "tables",
        "tables.replacing",
        "results",
        "results.answers",
        "results.builds",
        "results.pages",
        "results.printed",
        "results.rows",
        "results.words",
    }


def test_imports_run_in_no_circle():
    """No import is circular, not even inside a function: the sort raises `CycleError`. The
    `__init__` of a package is left out."""
    inits = {name for name, path in modules().items() if path.stem == "__init__"}
    TopologicalSorter({name: imported(name) - inits for name in modules()}).prepare()


def test_every_reason_is_needed():
    """A topic is named above because it does see the other."""
    for topic, neighbour in SEEN:
        assert any(neighbour in rooms_seen(name) for name in inside(topic)), (topic, neighbour)


def test_only_apply_calls_apply_ufunc():
    """One file holds xarray's plumbing."""
    assert [name for name, path in modules().items() if "apply_ufunc" in path.read_text()] == [
        "timings.apply"
    ]


def test_only_plots_know_matplotlib():
    """Figures are drawn in one place."""
    for name in modules():
        if room(name) != "plots" and any(
            target.partition(".")[0] == "matplotlib" for target in names(name)
        ):
            assert not any(
                target.partition(".")[0] == "matplotlib"
                for node in runtime(name)
                for target in imported_names(node)
            ), name


def runtime(name: str) -> list[ast.AST]:
    """Return the nodes of a module that are there when it runs: not those for type checkers
    alone."""
    typing = [
        node
        for node in nodes(name)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    skipped = {id(inner) for node in typing for inner in ast.walk(node)}
    return [node for node in nodes(name) if id(node) not in skipped]


def test_import_is_light(loaded):
    """Importing perfarray imports no SciPy submodule, statsmodels, matplotlib, scikit-learn or
    numba, and no topic."""
    heavy = ("scipy.", "statsmodels", "matplotlib", "sklearn", "numba", "typer", "rich", "tqdm")
    assert [name for name in loaded[""] if name.startswith(heavy)] == []
    assert {name for name in loaded[""] if name.startswith("perfarray")} == {
        "perfarray",
        "perfarray.accessor",
    }


def test_no_room_has_the_name_of_a_public_function():
    """The import system would put the module where the function was; so it is with pictures."""
    from perfarray import plots

    assert not set(perfarray.__all__) & rooms()
    assert not set(plots.__all__) & {path.stem for path in (ROOT / "plots").iterdir()}


def test_names_say_what_a_room_is_about():
    """Nothing gathers in a room without a name, and a name is said once."""
    assert not {path.stem for path in ROOT.rglob("*.py")} & {
        "utils",
        "core",
        "helpers",
        "common",
        "misc",
    }
    for name in modules():
        *folders, stem = name.split(".")
        assert not any(
            stem.startswith((folder, folder.removesuffix("s"))) for folder in folders[:1]
        ), name


def test_rooms_stay_small():
    """No file is longer than 500 lines, and no function than 60 without its docstring."""
    for name, path in modules().items():
        assert path.read_text().count("\n") <= 500, name
        for node in nodes(name):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                assert not body or body[-1].end_lineno - body[0].lineno < 60, f"{name}.{node.name}"


def test_what_travels_together_is_one_thing():
    """No call passes more than seven arguments by position; kernels that are compiled cannot take
    requests."""
    for name in modules():
        if not name.rpartition(".")[2].startswith("compiled"):
            for node in nodes(name):
                if isinstance(node, ast.Call):
                    assert (
                        len(
                            [
                                argument
                                for argument in node.args
                                if not isinstance(argument, ast.Starred)
                            ]
                        )
                        <= 7
                    ), f"{name}:{node.lineno}"

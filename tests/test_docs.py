"""The documentation: its code runs, its numbers are those that are printed, its links lead
somewhere, its glossary is complete."""

import inspect
import json
import re
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path

import listing
import matplotlib
import numpy as np
import pytest
from executed import run_blocks
from matplotlib import pyplot

import perfarray
from perfarray import conventions
from perfarray.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")], key=str)
PAGES = [page for page in PAGES if "_build" not in page.parts]
WITH_CODE = [
    page
    for page in PAGES
    if "```python" in page.read_text(encoding="utf-8") and page.parent.name != "gallery"
]
"""The gallery is run by tests/plots/test_gallery.py, which looks at what is drawn."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


NEEDS = {
    "docs/tutorials/kalibera_fft.md": (
        "data",
        "archives",
        "research_csv",
        "kalibera_fft",
        "fft-10.csv.xz",
    )
}
"""Pages about data that cannot be shipped: the file of the shared material that they read."""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A folder with the files that docs/evidence/kalibera_jones.md and other pages speak of."""
    folder, data = tmp_path_factory.mktemp("shipped"), perfarray.dataset_path("python_malloc")
    shutil.copy(data / "malloc.json", folder / "old.json")
    shutil.copy(data / "pymalloc.json", folder / "new.json")
    metric = {"score": 1.0, "scoreUnit": "ms/op", "rawData": [[1.0, 1.1], [1.2, 1.1]]}
    (folder / "jmh-result.json").write_text(
        json.dumps([{"benchmark": "a.B.c", "mode": "avgt", "primaryMetric": metric}])
    )
    times = perfarray.simulate(
        sizes={"execution": 3, "iteration": 2},
        variances={"execution": 1.0},
        mean=100.0,
        dims={"benchmark": ["fft", "sort"], "version": ["old", "new"]},
        rng=1,
    )
    times.perf.to_frame().rename(columns={"time": "time_ms"}).to_csv(
        folder / "timings.csv", index=False
    )
    (folder / "trust").symlink_to(ROOT / "docs" / "scripts" / "trust")
    return folder


@pytest.fixture
def files(shipped, tmp_path, monkeypatch):
    """These files in the current folder, for one page."""
    shutil.copytree(shipped, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    return tmp_path


@pytest.mark.filterwarnings(
    "ignore:(?s).*(skewed|depend on those before them|cannot be tested|cause most of the "
    "spread):perfarray.PerfarrayWarning"
)  # some of the timings that pages use are
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_runs(page, files, shared, capsys):
    """Every block of Python runs, in order and in one namespace; output that is shown, also behind
    a `print`, is what is printed."""
    if name_of(page) in NEEDS:
        data = shared(*NEEDS[name_of(page)])
        (files / data.name).symlink_to(data)
    for _ in run_blocks(page.read_text(encoding="utf-8"), str(page)):
        pyplot.close("all")
    printed = " ".join(capsys.readouterr().out.split())
    for comment in re.findall(r"^print\(.*  # (.* -> .*)$", page.read_text(encoding="utf-8"), re.M):
        assert comment in printed


COMMANDS = re.compile(r"^[ -]*(?:run: )?perfarray ([a-z].*?) *(?:#.*)?$", re.M)
"""Calls of the command line in blocks of shell or YAML."""


def test_commands_have_their_options():
    """Every option that a page types is one of its command."""
    parameters = {
        command.callback.__name__.replace("_", "-"): command.callback
        for command in app.registered_commands
    }
    parameters = {
        name: {parameter.replace("_", "-") for parameter in inspect.signature(function).parameters}
        for name, function in parameters.items()
    }
    parameters = {
        name: options | {"o"} | ({"append"} if name == "convert" else set())
        for name, options in parameters.items()
    }
    fences = [
        fence
        for page in PAGES
        for fence in re.findall(
            r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S
        )
    ]
    calls = [
        call.split()
        for kind, block in fences
        if kind in ("bash", "yaml", "")
        for call in COMMANDS.findall(block)
    ]
    assert len(calls) > 8
    for name, *words in calls:
        assert {word.lstrip("-") for word in words if re.match("--?[a-z]", word)} <= parameters[
            name
        ], (
            name,
            words,
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    """A relative link names a file that exists, and a heading in it."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that headings get."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_absolute_paths(page):
    """What is written holds on any machine."""
    assert not re.search(
        r"(?<![\w:/.`\"])/(home|root|tmp|work|usr|opt)/", page.read_text(encoding="utf-8")
    )


def test_the_readme_runs_the_same_tests_as_the_checks():
    """README.md's second command and .ci/run end in the same call of pytest, after installing the
    same extra."""
    commands = [
        line
        for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("python3 -m venv .venv")
    ]
    demo, tests = commands
    assert demo.endswith(".venv/bin/perfarray demo")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    called = re.findall(r'^PERFARRAY_EXAMPLES=many "\$python"( -m pytest.*?) \|\|', run, re.M)
    assert called == [tests.rpartition(".venv/bin/python")[2]]
    extra = re.search(r'"(\.\[\w+\])"', tests).group(1)
    assert f'environment main --editable "{extra}"\n' in run


def glossary() -> set[str]:
    """Return everything that stands in code signs in the glossary, lists that Sphinx makes included."""
    page = [(ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")]
    listing.fill(None, "conventions", page)
    return set(re.findall(r"`([^`]+)`", page[0]))


def test_glossary_names_every_constant():
    """Every public name of conventions.py is in docs/conventions.md, and every word it defines."""
    public = {
        name
        for name, value in vars(conventions).items()
        if not name.startswith("_") and name != "Final"
    }
    assert public - glossary() == set()
    words = {*conventions.LEVELS, *conventions.COMPARED, *conventions.MARKS}
    words |= {
        value
        for name, value in vars(conventions).items()
        if name.isupper() and isinstance(value, str)
    }
    assert words - glossary() == set()


def test_glossary_names_levels_outermost_first():
    """The table of levels has the nesting order."""
    text = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    positions = [text.index(f"\n| `{level}`") for level in conventions.LEVELS]
    assert all(first < second for first, second in pairwise(positions))


SENTENCES = {
    "carried_by",
    "differences",
    "finding",
    "protocol",
    "question",
    "remark",
    "suite_differences",
    "suite_remark",
    "title",
    "used_by",
    "warnings",
}
"""Variables of free text, or of labels."""


@pytest.mark.filterwarnings(
    "ignore:.*cells:UserWarning",
    "ignore:.*n_resamples:UserWarning",
    "ignore:.*smallest:UserWarning",
)
def test_glossary_names_what_results_hold():
    """Variables, coordinates and attributes of every result are in the glossary."""
    levels = ("binary", "execution", "iteration")
    times = perfarray.simulate(
        sizes=dict.fromkeys(levels, 3),
        variances=dict.fromkeys(levels, 1e-4),
        dims={"benchmark": 2, "version": ["old", "new"]},
        shared={"binary": 0.5},
        rng=1,
    )
    times = times.assign_coords(warmup=times["time"].isnull())
    baseline = {"baseline": "old", "dim": "version"}
    results = [
        times,
        times.perf.counts(),
        times.perf.variance_components(),
        times.perf.mean_interval(),
        times.perf.ratio_interval(**baseline, paired="binary"),
        times.perf.compare(**baseline, correction="holm"),
        times.perf.pairwise(dim="version"),
        times.perf.suite_score(),
        times.perf.score_ratio_interval(
            **baseline, sensitivity=True, distribution=True, method="basic", rng=1
        ),
        times.perf.randomization_test(**baseline, distribution=True, rng=1),
        times.perf.hierarchical_performance_test(**baseline),
        times.perf.required_runs(**baseline, width=0.5, start=2),
        times.perf.stopping(**baseline, half_width=0.5, start=2),
        times.perf.five_number_summary(method="exact"),
        times.perf.relative_variation(),
        times.perf.principal_components(samples="version"),
        times.perf.speedup(**baseline),
        times.perf.speedup_test(**baseline, statistic="median"),
        times.perf.overall_speedup(**baseline),
        times.perf.speedup_test(**baseline).perf.accelerated_proportion(),
        times.perf.agreement(**baseline, rng=1),
        times.perf.run_estimate(),
        times.perf.estimator_stability(group_sizes=(1, 2)),
        times.perf.normality(),
        times.perf.modes_by(n_resamples=1, rng=1),
        times.perf.calibrate(n_splits=2, rng=1),
        perfarray.coverage("ratio_interval", sizes={"binary": 3}, variances={}, n_experiments=2),
        perfarray.power(
            "compare",
            ratio=[0.9],
            sizes={"binary": 2, "execution": 2},
            variances={},
            ignored="binary",
            n_experiments=2,
        ),
        perfarray.load_dataset("aa_sessions"),
    ]
    used: set[str] = set()
    for result in results:
        used |= {str(name) for name in result.variables} | {str(name) for name in result.attrs}
        used |= {str(name) for variable in result.variables.values() for name in variable.attrs}
        words = [
            variable
            for name, variable in result.data_vars.items()
            if variable.dtype == object and name not in SENTENCES
        ]
        used |= {str(value) for variable in words for value in np.unique(variable) if value}
    assert used - glossary() == set()


def test_every_format_is_listed():
    """The page lists what each reader says of its format and what becomes of its fields; the README
    names it."""
    page = [(ROOT / "docs" / "formats.md").read_text(encoding="utf-8")]
    fields = re.findall(r"^\| (`[^|]*) \|[^|]*\|[^|]*\|$", page[0], re.M)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listing.fill(None, "formats", page)
    for name, row in perfarray.formats().iterrows():
        assert f"**`{name}`** {row['what']} {row['details']}" in page[0], name
        assert any(f"`{name}`" in field for field in fields), name
        assert f"`{name}`" in readme, name


def test_the_conda_recipe_needs_what_the_package_needs():
    """Every dependency of pyproject.toml with its lowest version, and no other; the version is the
    package's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "docs" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = re.search(r"^  run:\n(.*?)^  run_constraints:", recipe, re.M | re.S).group(1)
    assert re.findall(r"- (.+)", run) == [
        "python >=${{ python_min }}",
        *(need.replace(">=", " >=") for need in project["dependencies"]),
    ]
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    assert f'version: "{project["version"]}"' in recipe

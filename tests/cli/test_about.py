"""`perfarray ARCHIVE`: what is in it, and commands that have an answer."""

import re
import shlex
import warnings
from pathlib import Path

import pytest

import perfarray
from cli.commands import SHIPPED, as_json, refused, run, write_rows
from perfarray.cli.app import with_command
from perfarray.cli.selecting import parameters
from readers.files_of_our_own import entry, write


def sentence(*positions):
    """Describe what is there, and return the answer and the commands that it proposes, as words."""
    completed = run("about", *positions, code=0)
    return completed, [
        shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", completed.output, re.M)
    ]


def test_content_and_commands():
    """The command lists labels, repetitions and metrics, and proposes commands that exist and take
    their options."""
    completed, proposed = sentence(SHIPPED)
    assert "6 benchmarks: 'create_objects', " in completed.output
    assert "2 files: 'malloc.json', 'pymalloc.json'" in completed.output
    assert "at most 20 executions x 4 iterations" in completed.output
    assert "measured: time in s, lower is better" in completed.output
    assert {words[0] for words in proposed} == {
        "components",
        "counts",
        "compare",
        "plot",
        "report",
        "convert",
    }
    requested = next(words for words in proposed if "--dim" in words)
    assert run(*requested).exit_code in (0, 1)


@pytest.mark.parametrize("executions", [1, 3])
def test_proposed_commands_have_an_answer(executions):
    """Each command succeeds once its capitals are filled in; one execution has no comparison and no
    plan, and a line says why."""
    rows = [
        f"{name},{i},{j},{1 + i / 50 + j / 90}"
        for name in ("a b", "c")
        for i in range(executions)
        for j in range(2)
    ]
    completed, proposed = sentence(
        write_rows("runs.csv", "benchmark,execution,iteration,time", rows)
    )
    renamed = [words[0] for words in proposed if "OTHER" not in words]
    assert renamed == (["components", "compare", "plan", "plot"] if executions > 1 else []) + [
        "counts",
        "report",
        "convert",
    ]
    assert ("One execution of each shows no spread between executions" in completed.output) is (
        executions == 1
    )
    assert ("Run several processes: `" in completed.output) is (executions == 1)
    assert "--levels" not in completed.output
    for words in proposed:
        if words[0] in ("components", "compare", "plan", "counts") and executions > 1:
            run(
                *(word.replace("SECONDS", "1").replace("OTHER", "runs.csv") for word in words),
                code=0,
            )


def test_proposed_baseline():
    """It is the first label that was measured more than once."""
    rows = [
        f"a,{version},{i},{1 + i / 50}"
        for version, n in (("1.0", 1), ("1.1", 3), ("1.2", 3))
        for i in range(n)
    ]
    path = write_rows("runs.csv", "benchmark,version,execution,time", rows)
    assert "--dim version --baseline 1.1  " in run("about", path).output


def test_several_files_under_a_long_path():
    """A line explains --files-are; long commands are proposed, too, and there is no warning."""
    folder = "long" * 40
    for name in ("x", "y"):
        write_rows(
            f"{folder}/{name}.csv",
            "benchmark,execution,time,failed",
            ["a,0,1.0,False", "a,1,1.1,True"],
        )
    completed, _ = sentence(folder)
    assert "OTHER --files-are session  whether other timings are faster" in completed.stdout
    assert completed.stdout.endswith("--files-are session makes the files the repetitions.\n")
    assert completed.stderr == ""


def test_proposed_commands_repeat_options():
    """A proposed command reads the files as they were read."""
    path = write_rows(
        "runs.csv",
        "program;run;duration",
        [f"{name};{i};{1000 + i}" for name in "ab" for i in range(4)],
    )
    options = [
        "--dims",
        "benchmark=program,execution=run,time_ms=duration",
        "--encoding",
        "latin-1",
    ]
    completed, proposed = sentence(path, *options)
    assert all(set(options) <= set(words) for words in proposed)
    assert [
        run(*words).exit_code for words in proposed if words[0] in ("components", "counts")
    ] == [0, 0]
    assert "encoding='latin-1'); times.perf" in completed.output


def test_a_path_is_short_for_about():
    """A word that is no command and exists or looks like a path; a command stays one, even where a
    file has its name."""
    for words in ([str(SHIPPED), "--format", "pyperf"], ["nowhere.json"], ["results/*"], ["../x"]):
        assert with_command(words) == ["about", *words]
    Path("plan").touch()
    for words in (["plan"], ["pln"], ["--help"], []):
        assert with_command(words) == words


def test_files_that_cannot_be_read(tmp_path):
    """An error names the file; in a folder the others are described."""
    write_rows("good.csv", "benchmark,execution,time_s", ["fft,0,1.0", "fft,1,1.1"])
    write_rows(
        "bad.csv", "benchmark,execution,time_s", ["fft,0,1.0", "fft,1,1.1", "fft,2,none of it"]
    )
    completed, _ = sentence(tmp_path)
    assert "bad.csv" in completed.output
    assert "1 benchmark: 'fft'" in completed.output
    assert "bad.csv" in run("about", "bad.csv", code=2).output
    assert "a.json" in run("about", write_rows("a.json", "{}", []), code=2).output


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Return the files of two versions, and what is stored of each."""
    pytest.importorskip("h5netcdf")
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    files = [SHIPPED / f"{name}.json" for name in ("malloc", "pymalloc")]
    run("convert", files[0], "old.nc", code=0)
    run("convert", files[1], "new.zarr", code=0)
    perfarray.read(files[0]).to_netcdf("python.nc", engine="h5netcdf")
    perfarray.read(files[0])["time"].to_netcdf("array.nc", engine="h5netcdf")
    perfarray.read(files[0])["time"].rename(None).to_netcdf("unnamed.nc", engine="h5netcdf")
    perfarray.read(files[0]).to_netcdf("scipy.nc", engine="scipy")
    return files


def test_what_was_stored_is_a_side(stored):
    """The answer is that of the files, whoever wrote the store."""
    expected = as_json("compare", *stored)
    for store in ("old.nc", "python.nc", "array.nc", "unnamed.nc", "scipy.nc"):
        assert "6 benchmarks" in sentence(store)[0].output
        assert f"xarray.load_dataset('{store}')" in run("about", store).stdout
        for other in (stored[1], "new.zarr"):
            assert as_json("compare", store, other)["benchmarks"] == expected["benchmarks"]
    assert "--format" in refused("about", "old.nc", "--format", "pyperf")


def test_a_stored_answer_is_shown(stored):
    """It is no timings, and is no side of a comparison."""
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        answer = perfarray.compare(perfarray.read_archive(SHIPPED), "malloc.json", dim="file")
    answer.to_netcdf("answer.nc", engine="h5netcdf")
    printed = run("about", "answer.nc", code=0).stdout
    assert printed.startswith("answer.nc: an answer of compare\n")
    assert "1.54x faster (1.45 to 1.63)" in printed
    assert "holds an answer of compare" in refused("compare", "answer.nc", "old.nc")
    assert "holds an answer of compare" in refused("components", "answer.nc")


def test_an_archive_of_commits_is_a_history(tmp_path, monkeypatch):
    """One value of each commit will do for a history, which comes first; then nothing is
    missing."""
    monkeypatch.chdir(tmp_path)
    for number in range(8):
        content = {
            "commit_hash": f"{number}" * 40,
            "date": 10**12 + number,
            "params": {"machine": "m"},
            "results": {"time_a": 1 + number / 9},
        }
        write(tmp_path / "results" / f"{number}.json", content)
    completed, proposed = sentence("results")
    assert proposed[0] == ["history", "results"]
    assert "no verdict" not in completed.output
    run(*proposed[0])
    (tmp_path / "results" / "7.json").unlink()
    completed, proposed = sentence("results")
    assert "history" not in [words[0] for words in proposed]
    assert "history needs 8 commits or more. Here are 7." in completed.output


@pytest.mark.parametrize("unique", [{}, {"id": "{n}{kind}"}])
def test_parameters_are_named(tmp_path, unique):
    """Settings that several benchmarks share can be a dim; those of one benchmark each cannot."""
    rows = [
        {
            "fullname": f"t::sort[{n}-{kind}]",
            "params": {"n": n, "kind": kind}
            | {name: text.format(n=n, kind=kind) for name, text in unique.items()},
            "stats": {"data": [1.0, 2.0]},
        }
        for n in (1, 10)
        for kind in ("up", "down")
    ]
    path = write(tmp_path / "params.json", {"machine_info": {}, "benchmarks": rows})
    lines = [
        line.strip()
        for line in sentence(path)[0].output.splitlines()
        if line.startswith("  parameter ")
    ]
    assert lines == [
        "parameter n: 1, 10 (--dims n=n makes it a dim)",
        "parameter kind: 'up', 'down' (--dims kind=kind makes it a dim)",
    ]
    assert "parameter: --dims kind=kind --dim kind\n" in run("about", path).stdout
    for options, names in (((), "'n', 'kind'"), (("--baseline", "up"), "'kind'")):
        error = refused("compare", path, *options)
        assert f"of the benchmarks: {names}. Compare labels with --dims kind=kind" in error
    assert "--dims n=n --dim n" in refused("compare", path, "--baseline", "10")
    assert "--dims" not in refused("compare", path, "--baseline", "sideways")
    if not unique:
        assert (
            "(no interval)"
            in run(
                "compare", path, "--dims", "kind=kind", "--dim", "kind", "--baseline", "up"
            ).stdout
        )


def test_parameters_of_several_runs_are_compared(tmp_path):
    """The proposed command reads as before, and makes the parameter a dim."""
    path = write(
        tmp_path / "runs.json",
        [
            entry("sort", [[1.0, 1.1], [1.2]], params={"size": size, "kind": kind, "by": by})
            for kind in ("up", "down")
            for by in ("1", "2")
            for size in ("8", "64")
        ],
    )
    read_as = ("--dims", "size=size", "--keep-failed")
    _, proposed = sentence(path, *read_as)
    requested = next(words for words in proposed if words[-4:-2] == ["--dim", "kind"])
    assert requested[2:-4] == ["--dims", "size=size,kind=kind", "--keep-failed"]
    run(*requested, code=0)


def test_parameters_that_are_in_names_are_not_compared(tmp_path):
    """As a dim they would leave each label its own benchmarks, and no two could be compared."""
    results = [
        {"command": f"sort {kind} {n}", "times": [1.0, 1.1], "parameters": {"kind": kind}}
        for kind in ("up", "down")
        for n in (1, 2)
    ]
    path = write(tmp_path / "runs.json", {"results": results})
    assert "--dim kind" not in sentence(path)[0].output


def test_a_table_without_benchmarks_is_described():
    """Labels of other dims are compared, and text of a run beside it is no dim."""
    rows = [
        f"{compiler},{run},{1 + run / 50},{'fan' * (run == 2)}"
        for compiler in ("gcc", "clang")
        for run in range(4)
    ]
    path = write_rows("lab.csv", "compiler,run,seconds,remark", rows)
    completed, proposed = sentence(path)
    assert "2 compilers: 'gcc', 'clang'" in completed.output
    assert "benchmark" not in completed.output
    run(*next(words for words in proposed if "--dim" in words), code=0)


def test_a_label_that_is_not_known_is_none_of_a_parameter():
    """Benchmarks of another tool lack it, and it is no baseline."""
    samples = {name: [1.0, 1.1] for name in ("fft", "sort up", "sort down")}
    times = perfarray.from_samples(samples, dim="benchmark")
    times = times.assign_coords(kind=("benchmark", ["unknown", "up", "down"]))
    assert parameters(times) == {"kind": ["up", "down"]}


def test_exact_counts_need_no_further_process(tmp_path):
    """They have a verdict of one execution each, so that neither `about` nor `compare` asks for
    more."""
    sides = []
    for name, count in (("old", 1000), ("new", 1010)):
        counts = {"Ir": {"values": {"new": count, "old": 1}}}
        profile = {"tool": "Callgrind", "data": {"parts": [], "total": {"metrics": counts}}}
        summary = {"version": "7", "kind": "LibraryBenchmark", "benchmark_exe": "/e"}
        summary |= {"benchmark_file": "/b.rs", "function_name": "f", "module_path": "m::g::f"}
        sides.append(write(tmp_path / f"{name}.json", summary | {"id": "x", "profiles": [profile]}))
    assert "Run several processes" not in run("about", sides[0], code=0).output
    compared = run("compare", *sides, code=1).output
    assert "1.01x slower (exact)" in compared
    assert "measure several processes" not in compared

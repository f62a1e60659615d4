"""Files of one folder or archive that hold different benchmarks are what one run wrote."""

import os
import shutil
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from cli.commands import as_json, run, write_rows
from readers.files_of_our_own import write

SESSIONS = ("--files-are", "session")
HEADER = "benchmark,date,execution,time,failed"


def row(side, number, name, execution):
    """Return a row of a run; its first benchmark of the first run failed once."""
    rng = np.random.default_rng([number, execution, *name.encode()])
    time = round(rng.normal(1, 0.01) * (1.2 if side == "new" and name == "b" else 1.0), 6)
    failed = (number, name, execution) == (1, "a", 0)
    return f"{name},2026-01-0{number},{execution},{time},{failed}"


def runs(place, *, in_folders):
    """Write three runs a side of three benchmarks, a file a run or a file a benchmark."""
    for side in ("old", "new"):
        for number in (1, 2, 3):
            rows = {name: [row(side, number, name, i) for i in (0, 1)] for name in "abc"}
            files = {f"/{name}": rows[name] for name in "cab"}
            files = files if in_folders else {"": [*rows["a"], *rows["b"], *rows["c"]]}
            for name, lines in files.items():
                write_rows(place / side / f"{number}{name}.csv", HEADER, lines)


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_is_a_run(tmp_path, monkeypatch, packed):
    """The answer is that of files with all benchmarks, the suite and its warnings with it."""
    monkeypatch.chdir(tmp_path)
    runs(tmp_path / "files", in_folders=False)
    runs(tmp_path / "folders", in_folders=True)
    for folder in tmp_path.glob("folders/*/*") if packed else ():
        shutil.make_archive(str(folder), "tar", folder)
        shutil.rmtree(folder)
    expected = as_json("compare", "files/old", "files/new", *SESSIONS, code=1)
    answer = as_json("compare", "folders/old", "folders/new", *SESSIONS, code=1)
    assert answer["benchmarks"] == expected["benchmarks"]
    assert answer["suites"] == expected["suites"]
    assert answer["suites"][0]["n"] == 3
    assert answer["warnings"] == expected["warnings"]
    one = ("compare", "files/old/1.csv", "files/new/1.csv", "--between")
    assert as_json(*one, "folders/old")["suites"] == as_json(*one, "files/old")["suites"]


def test_files_of_one_benchmark_are_several_runs(tmp_path, monkeypatch):
    """A folder that holds two of them is no run."""
    monkeypatch.chdir(tmp_path)
    for side in ("old", "new"):
        for day in ("monday", "tuesday"):
            for number in (1, 2):
                rows = [row(side, number, "a", 1)]
                write_rows(Path(side) / day / f"{number}.csv", HEADER, rows)
    (answer,) = as_json("compare", "old", "new", *SESSIONS)["benchmarks"]
    assert (answer["n_old"], answer["n_new"]) == (4, 4)


CRITERION = """
import json, os, random, sys, tarfile, tempfile
from pathlib import Path
with tempfile.TemporaryDirectory() as place, tarfile.open(os.environ["OUT"], "w") as pack:
    for name, factor in {"a": 1.0, "b": float(sys.argv[1])}.items():
        sample = Path(place) / name / "new" / "sample.json"
        sample.parent.mkdir(parents=True)
        times = [factor * random.gauss(1e6, 1e3) for _ in range(10)]
        sample.write_text(json.dumps({"iters": [1.0] * 10, "times": times}))
    pack.add(place, ".")
"""


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="on Linux and macOS alone")
def test_commands_that_write_archives_are_measured_in_rounds(tmp_path, monkeypatch):
    """As the printed command for criterion.rs does."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bench.py", CRITERION.encode())
    old, new = (f"{sys.executable} bench.py {factor}" for factor in (1.0, 1.2))
    answer = as_json("ab", "--old", old, "--new", new, "--rounds", "1:8", code=1)
    verdicts = {row["benchmark"]: row["verdict"] for row in answer["benchmarks"]}
    assert verdicts == {"a": "equivalent", "b": "slower"}
    with tarfile.open("results/old/round-01.json") as pack:
        assert "./b/new/sample.json" in pack.getnames()
    # The rounds of its folders have one name, and are read again as files of one side
    count = f"({answer['rounds']} rounds"
    assert (
        count
        in run("compare", "results/old", "results/new", *SESSIONS, "--paired", "session").stdout
    )

"""pytest-benchmark's JSON: rounds, or their mean alone; machine and commit."""

import pytest

import perfarray
from readers.files_of_our_own import check, write


def bench(name="test_sort", data=(1.0, 2.0), **more):
    stats = {"mean": 1.5, "rounds": 2, "iterations": 10} | ({"data": list(data)} if data else {})
    return {"name": name, "fullname": f"tests/test_a.py::{name}", "group": None, "params": None, "stats": stats} | more


def read(tmp_path, *benchmarks, **more):
    return perfarray.read(write(tmp_path / "file.json", {"version": "5.1.0", "benchmarks": list(benchmarks), **more}))


def test_rounds_are_iterations_of_one_execution(tmp_path):
    """A value is the mean of a round, `loops` what a round held."""
    found = read(tmp_path, bench())
    check(found, benchmark=["tests/test_a.py::test_sort"], time=[[[1.0, 2.0]]], loops=[[[10.0, 10.0]]])
    assert found.attrs == {"format": "pytest_benchmark", "metric": "time"}


def test_parameters_are_coordinates(tmp_path):
    found = read(tmp_path, *(bench(f"test_sort[{n}]", params={"n": n}, group="g") for n in (1, 2)))
    check(found, benchmark=["tests/test_a.py::test_sort[1]", "tests/test_a.py::test_sort[2]"])
    check(found, benchmark_name=["tests/test_a.py::test_sort"] * 2, n=[1, 2], group=["g", "g"])


def test_rounds_that_are_missing_are_noted(tmp_path):
    """Without `--benchmark-save-data` the mean of all rounds is the one value, and its loops are all of them."""
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean"):
        check(read(tmp_path, bench(data=())), time=1.5, loops=20)
    with pytest.warns(perfarray.PerfarrayWarning, match=r"benchmarks\[0\] has 1 of 2 rounds"):
        read(tmp_path, bench(data=(1.0,)))


def test_machine_and_commit(tmp_path):
    """Descriptions of the machine, the interpreter and the commit are coordinates; old files know no processor."""
    machine = {"node": "box", "machine": "x86_64", "system": "Linux", "python_version": "3.14.0"}
    cpu = {"brand_raw": "A CPU", "count": 8}
    commit = {"id": "abc", "branch": "main", "time": "2026-01-01T00:00:00", "dirty": True}
    found = read(tmp_path, bench(), machine_info=machine | {"cpu": cpu}, commit_info=commit)
    check(found, machine="box", architecture="x86_64", os="Linux", cpu="A CPU", logical_cores=8, commit="abc", dirty="True")
    assert "cpu" not in read(tmp_path, bench(), machine_info=machine).coords


def test_files_of_several_machines(tmp_path):
    """Each file is an execution; where it says what differs, the machine stays known."""
    for index, machine in enumerate(("a", "b")):
        content = {"benchmarks": [bench(data=(1.0 + index,))], "machine_info": {"node": machine}}
        content["benchmarks"][0]["stats"]["rounds"] = 1
        write(tmp_path / f"{index}.json", content)
    found = perfarray.read_archive(tmp_path, layout="{execution}.json")
    check(found, time=[[[1.0], [2.0]]])
    assert found["machine"].dims == ("execution",)


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"file\.json: benchmarks\[0\]: 'data': value 1 is '\.\.\.'; expected a number above 0"):
        read(tmp_path, bench(data=(1.0, "...")))

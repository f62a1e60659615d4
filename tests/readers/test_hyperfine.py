"""hyperfine's JSON: times are processes, parameters settings, exit codes say what failed."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, refusals, write


def read(tmp_path, *results):
    return perfarray.read(write(tmp_path / "file.json", {"results": list(results)}))


def command(name="sort", times=(1.0, 2.0), **more):
    """Return the result of a command."""
    return {"command": name, "times": list(times)} | more


def scan(*sizes, name="sort"):
    """Return results of one command with several sizes."""
    return [command(name.format(n), [1.0], parameters={"n": n, "f": "x"}) for n in sizes]


def test_times_are_executions(tmp_path):
    """Every time is that of a process of its own; memory stands beside it where the version writes it."""
    found = read(tmp_path, command(mean=1.5, memory_usage_byte=[4096, 8192], exit_codes=[0, 0]))
    assert found["time"].dims == ("benchmark", "execution", "iteration")
    check(found, time=[[[1.0], [2.0]]], memory=[[[4096.0], [8192.0]]])
    assert found["memory"].attrs["units"] == "B"
    assert found.attrs == {"format": "hyperfine", "metric": "time"}


def test_a_run_with_an_exit_code_failed(tmp_path):
    """A run with another exit code than 0, or none, has no time."""
    found = read(tmp_path, command(times=[1.0, 2.0, 0.0], exit_codes=[0, 1, None]))
    check(found.squeeze(), time=[1.0, np.nan, np.nan], failed=[False, True, True])


def test_parameters_are_in_the_label_where_the_command_does_not_say_them(tmp_path):
    """Parameters are coordinates; labels have them if commands share a name, in this file or another."""
    found = read(tmp_path, *scan("10", "20"), command("ls", [1.0]))
    check(found, benchmark=["sort[n=10]", "sort[n=20]", "ls"], n=[10, 20, np.nan], f=["x", "x", "unknown"])
    check(read(tmp_path, *scan("10", "20", name="sort -n {}")), benchmark=["sort -n 10", "sort -n 20"])
    for name, sizes in (("old", ("10", "20")), ("new", ("10",))):
        write(tmp_path / "both" / f"{name}.json", {"results": scan(*sizes)})
    found = perfarray.read_archive(tmp_path / "both", layout="{version}.json")
    check(found, benchmark=["sort[n=10]", "sort[n=20]"])
    assert int(found["time"].count()) == 3


def test_a_command_that_repeats_stays(tmp_path):
    with pytest.warns(perfarray.PerfarrayWarning, match="occur more than once"):
        check(read(tmp_path, command(), command()), benchmark=["sort", "sort#2"])


def test_a_mean_alone_is_one_value(tmp_path):
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean"):
        assert read(tmp_path, {"command": "sort", "mean": 1.5})["time"].item() == 1.5


def test_a_time_of_nothing(tmp_path):
    """Without exit codes, a time of 0 makes all times of its command NaN, and no other; with them, that time alone; it is counted."""
    with pytest.warns(perfarray.PerfarrayWarning, match=r"1 of 2 commands have times of 0, .*: results\[1\] 'true'$") as told:
        found = read(tmp_path, command(), command("true", [9e-6, 0.0]))
    check(found.squeeze(), time=[[1.0, 2.0], [np.nan, np.nan]])
    assert [note.code for note in told[0].message.notes] == ["below_resolution"]
    assert (found.attrs["n_below_resolution"], found["failed"].values.any()) == (1, False)
    with pytest.warns(perfarray.PerfarrayWarning, match="1 times are 0, too short to be seen"):
        found = read(tmp_path, command("true", [3e-4, 0.0, 5e-4], exit_codes=[0, 0, 0]))
    check(found.squeeze(), time=[3e-4, np.nan, 5e-4])
    assert (found.attrs["n_below_resolution"], found["failed"].values.any()) == (1, False)


test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    (command(times=[1.0, 0.0]), r"results\[0\]: value 1 is 0\.0, .* 'sort' failed; take its result out"),
    (command(times=[1.0, 0.0, -1.0]), r"results\[0\]: value 2 is -1\.0; expected a number above 0"),
    (command(exit_codes=[0]), r"results\[0\]: 2 times, 1 exit codes"),
)

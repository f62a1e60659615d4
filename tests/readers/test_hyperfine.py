"""hyperfine's JSON: times are processes, parameters settings, exit codes say what failed."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import write


def read(tmp_path, *results):
    """Read a file of some commands."""
    return perfarray.read(write(tmp_path / "file.json", {"results": list(results)}))


def test_times_are_executions(tmp_path):
    """Every time is that of a process of its own; memory stands beside it where the version writes it."""
    found = read(tmp_path, {"command": "sort a", "mean": 1.5, "times": [1.0, 2.0], "memory_usage_byte": [4096, 8192], "exit_codes": [0, 0]})
    assert found["time"].dims == ("benchmark", "execution", "iteration")
    assert found["time"].values.tolist() == [[[1.0], [2.0]]]
    assert found["memory"].values.tolist() == [[[4096.0], [8192.0]]]
    assert found["memory"].attrs["units"] == "B"
    assert found.attrs == {"format": "hyperfine", "metric": "time"}


def test_a_run_with_an_exit_code_failed(tmp_path):
    """A run with another exit code than 0, or none, has no time."""
    found = read(tmp_path, {"command": "sort a", "times": [1.0, 2.0, 0.0], "exit_codes": [0, 1, None]})
    np.testing.assert_array_equal(found["time"].values.ravel(), [1.0, np.nan, np.nan])
    assert found["failed"].values.ravel().tolist() == [False, True, True]


def test_parameters_are_in_the_label_where_the_command_does_not_say_them(tmp_path):
    """Parameters are coordinates; labels have them if commands share a name."""
    scan = [{"command": "sort", "times": [1.0], "parameters": {"n": n, "f": "x"}} for n in ("10", "20")]
    found = read(tmp_path, *scan, {"command": "ls", "times": [1.0]})
    assert found["benchmark"].values.tolist() == ["sort[n=10]", "sort[n=20]", "ls"]
    np.testing.assert_array_equal(found["n"], [10, 20, np.nan])
    assert found["f"].values.tolist() == ["x", "x", "unknown"]
    said = read(tmp_path, *({"command": f"sort -n {n}", "times": [1.0], "parameters": {"n": n}} for n in ("10", "20")))
    assert said["benchmark"].values.tolist() == ["sort -n 10", "sort -n 20"]


def test_labels_agree_between_files(tmp_path):
    """A setting that one file needs in its labels is in the labels of all files."""
    for name, sizes in (("old", ("10", "20")), ("new", ("10",))):
        results = [{"command": "sort", "times": [1.0], "parameters": {"n": n}} for n in sizes]
        write(tmp_path / f"{name}.json", {"results": results})
    found = perfarray.read_archive(tmp_path, layout="{version}.json")
    assert found["benchmark"].values.tolist() == ["sort[n=10]", "sort[n=20]"]
    assert int(found["time"].count()) == 3


def test_a_command_that_repeats_stays(tmp_path):
    with pytest.warns(perfarray.PerfarrayWarning, match="occur more than once"):
        found = read(tmp_path, *({"command": "sort", "times": [time]} for time in (1.0, 2.0)))
    assert found["benchmark"].values.tolist() == ["sort", "sort#2"]


def test_a_mean_alone_is_one_value(tmp_path):
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean"):
        assert read(tmp_path, {"command": "sort", "mean": 1.5})["time"].item() == 1.5


def test_a_time_of_nothing_costs_its_command_and_no_other(tmp_path):
    """Without exit codes, a time of 0 makes all times of its command NaN."""
    with pytest.warns(perfarray.PerfarrayWarning, match=r"1 of 2 commands have times of 0, .*: results\[1\] 'true'$") as told:
        found = read(tmp_path, {"command": "sort", "times": [1.0, 2.0]}, {"command": "true", "times": [9e-6, 0.0]})
    np.testing.assert_array_equal(found["time"].values[..., 0], [[1.0, 2.0], [np.nan, np.nan]])
    assert [note.code for note in told[0].message.notes] == ["below_resolution"]
    assert (found.attrs["n_below_resolution"], found["failed"].values.any()) == (1, False)


def test_a_time_rounded_down(tmp_path):
    """With exit codes, only the time of 0 is NaN, and it is counted."""
    with pytest.warns(perfarray.PerfarrayWarning, match="1 times are 0, too short to be seen"):
        found = read(tmp_path, {"command": "true", "times": [3e-4, 0.0, 5e-4], "exit_codes": [0, 0, 0]})
    np.testing.assert_array_equal(found["time"].values.ravel(), [3e-4, np.nan, 5e-4])
    assert (found.attrs["n_below_resolution"], found["failed"].values.any()) == (1, False)


@pytest.mark.parametrize(("result", "message"), [
    ({"command": "a", "times": [1.0, 0.0]}, r"results\[0\]: value 1 is 0\.0, .* 'a' failed; take its result out"),
    ({"command": "a", "times": [1.0, 0.0, -1.0]}, r"results\[0\]: value 2 is -1\.0; expected a number above 0"),
    ({"command": "a", "times": [1.0, 2.0], "exit_codes": [0]}, r"results\[0\]: 2 times, 1 exit codes"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, result, message):
    with pytest.raises(ValueError, match=rf"file\.json: {message}"):
        read(tmp_path, result)

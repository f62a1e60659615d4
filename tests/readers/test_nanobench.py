"""nanobench's JSON: epochs, the batch of an iteration, counters, settings in labels."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import write


def result(name="sort", elapsed=(1e-6, 2e-6), batch=1, size=-1, **more):
    """Return one result, of as many epochs as there are times."""
    measurements = [
        {"iterations": 10 + epoch, "elapsed": time, "instructions": 50.0, "pagefaults": 0} for epoch, time in enumerate(elapsed)
    ]
    stated = {"title": "benchmark", "name": name, "unit": "op", "batch": batch, "complexityN": size, "median(elapsed)": 1.0}
    return stated | {"measurements": measurements} | more


def read(tmp_path, *results):
    """Read a file of some results."""
    return perfarray.read(write(tmp_path / "file.json", {"results": list(results)}))


def test_epochs_are_iterations_of_one_execution(tmp_path):
    """`elapsed` is the time of an iteration, `loops` how many an epoch has."""
    times = read(tmp_path, result())
    assert times["time"].dims == ("benchmark", "execution", "iteration")
    assert times["time"].values.tolist() == [[[1e-6, 2e-6]]]
    assert times["loops"].values.tolist() == [[[10.0, 11.0]]]
    assert times.attrs == {"format": "nanobench", "metric": "time"}


def test_a_template_of_its_own(tmp_path):
    """A name and epochs are enough."""
    times = read(tmp_path, {"name": "sort", "measurements": [{"iterations": 3, "elapsed": 1e-6}]})
    assert (times["time"].item(), times["loops"].item(), times.attrs["format"]) == (1e-6, 3, "nanobench")


def test_a_batch_is_a_coordinate(tmp_path):
    """The time stays that of an iteration, whatever it does; the unit is what a batch is counted in."""
    times = read(tmp_path, result(batch=64, unit="byte"))
    assert times["time"].values.max() == 2e-6
    assert (times["batch"].item(), times["unit"].item(), times["title"].item()) == (64, "byte", "benchmark")
    assert "complexityN" not in times.coords


def test_sizes_are_in_labels_that_need_them(tmp_path):
    times = read(tmp_path, *(result(size=size) for size in (10, 100)))
    assert times["benchmark"].values.tolist() == ["sort[complexityN=10]", "sort[complexityN=100]"]


def test_counters_are_variables_if_they_counted(tmp_path):
    """A counter that is 0 everywhere was not available."""
    times = read(tmp_path, result())
    assert set(times.data_vars) == {"time", "instructions"}
    assert (times["instructions"].attrs["better"], times["instructions"].values.max()) == ("lower", 50.0)


def test_a_benchmark_without_epochs_is_left_out(tmp_path):
    times = read(tmp_path, result(), result("skipped", elapsed=()))
    assert times["benchmark"].values.tolist() == ["sort"]


def test_files_are_executions(tmp_path):
    for execution, time in enumerate((1e-6, 3e-6)):
        write(tmp_path / f"{execution}.json", {"results": [result(elapsed=(time,))]})
    times = perfarray.read_archive(tmp_path, layout="{execution}.json")
    np.testing.assert_array_equal(times["time"].values, [[[1e-6], [3e-6]]])


@pytest.mark.parametrize(("broken", "message"), [
    (result(elapsed=(1e-6, 0.0)), r"results\[0\]: 'elapsed': value 1 is 0\.0; expected a number above 0"),
    (result(measurements=[{"iterations": 1}]), r"no reader .*as nanobench does, but results\[0\]\.measurements\[0\] has no 'elapsed'"),
    (result(elapsed=()), "no reader recognises its content"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, broken, message):
    with pytest.raises(ValueError, match=rf"file\.json: {message}"):
        read(tmp_path, broken)

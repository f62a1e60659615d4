"""criterion.rs: samples of iterations, baselines and their copies, the folder around them."""

import pytest

import perfarray
from readers.files_of_our_own import check, refusals, write


def sample(folder, times=(10.0, 22.0), iters=(1, 2), name="sort/vec/8", **more):
    """Write a sample and what criterion puts beside it."""
    group, function, value = name.split("/")
    known = {"group_id": group, "function_id": function, "value_str": value, "throughput": {"Bytes": 64}, "full_id": name}
    write(folder / "benchmark.json", known)
    for beside in ("estimates.json", "tukey.json"):
        write(folder / beside, {"mean": 1})
    return write(folder / "sample.json", {"sampling_mode": "Linear", "iters": list(iters), "times": list(times)} | more)


def test_a_sample_is_the_time_of_all_its_iterations(tmp_path):
    """What is read is the time of one, in seconds, and `loops` how many there were."""
    found = perfarray.read(sample(tmp_path / "new"))
    assert found["time"].dims == ("benchmark", "baseline", "execution", "iteration")
    check(found.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8], loops=[1.0, 2.0])
    check(found, benchmark="sort/vec/8", baseline="new", group="sort", function="vec", parameter=8, bytes=64, sampling_mode="Linear")


def test_old_files_are_two_lists(tmp_path):
    """They are recognised by their name, or by ten samples of 1, 2, 3, ... times as many iterations."""
    found = perfarray.read(write(tmp_path / "sort" / "base" / "sample.json", [[1, 2], [10.0, 22.0]]))
    check(found, benchmark="sort", baseline="base")
    check(found.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8])
    with pytest.raises(ValueError, match="no reader recognises its content"):
        perfarray.read(write(tmp_path / "other.json", [[1, 2], [10.0, 22.0]]))
    linear = [[5 * (place + 1) for place in range(10)], [50.0] * 10]
    assert perfarray.read(write(tmp_path / "other.txt", linear)).sizes["iteration"] == 10


@pytest.mark.parametrize(
    "header", ["sample_time_nanos,iteration_count", "throughput_num,throughput_type,sample_measured_value,unit,iteration_count"]
)
def test_raw_csv(tmp_path, header):
    """A named `raw.csv` is read; one in a folder only if no samples lie beside it."""
    cells = "{},{}" if "nanos" in header else "64,bytes,{},ns,{}"
    rows = [f"sort,,8,{cells.format(*own)}" for own in ((10.0, 1), (22.0, 2))]
    text = "\n".join([f"group,function,value,{header}", *rows])
    path = write(tmp_path / "sort" / "new" / "raw.csv", text)
    found = perfarray.read(tmp_path)
    check(found, benchmark="sort/8", baseline="new")
    check(found.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8])
    sample(path.parent, times=(30.0, 60.0))
    assert perfarray.read(tmp_path).sizes["benchmark"] == 1
    assert perfarray.read(path)["time"].values.ravel()[0] == 1e-8
    with pytest.raises(ValueError, match=r"raw\.csv: has values in 'cycles'; expected 'ns'"):
        perfarray.read(write(path, "group,function,value,sample_measured_value,unit,iteration_count\na,,,1,cycles,1\n"))


def test_the_folder_of_a_project(tmp_path):
    """Benchmarks and baselines are dims; a baseline that repeats the new run is marked; other files are skipped."""
    for side, times in (("new", (10.0, 22.0)), ("base", (11.0, 23.0))):
        sample(tmp_path / f"sort/vec/8/{side}")
        sample(tmp_path / f"sort/vec/9/{side}", times=times, name="sort/vec/9")
    write(tmp_path / "report" / "index.html", "<p>")
    with pytest.warns(perfarray.PerfarrayWarning, match="sort/vec/8: baseline 'base' is a copy of 'new'") as caught:
        found = perfarray.read_archive(tmp_path)
    assert [note.code for note in caught[0].message.notes] == ["copied_baseline"]
    assert dict(found.sizes) == {"benchmark": 2, "baseline": 2, "execution": 1, "iteration": 2}
    copied = found["copied"].all("iteration").squeeze("execution")
    assert copied.sel(baseline="base").values.tolist() == [True, False]
    assert not copied.sel(baseline="new").any()


test_what_is_wrong_is_said = refusals(lambda folder, more: perfarray.read(sample(folder, **more)), "sample.json", [
    ({"iters": [1]}, "has 1 numbers of iterations and 2 times"),
    ({"iters": [1, 0]}, "'iters': value 1 is 0; expected a number above 0"),
    ({"times": [1.0, None]}, "'times': value 1 is None; expected a number above 0"),
])  # fmt: skip


def test_a_broken_name_is_an_error(tmp_path):
    """The message names both files; a link out of the folder is not followed."""
    path = sample(tmp_path / "sort" / "new")
    beside = write(path.with_name("benchmark.json"), "{")
    with pytest.raises(ValueError, match=r"sample\.json: the name of its benchmark cannot be read: .*benchmark\.json"):
        perfarray.read(path)
    beside.unlink()
    beside.symlink_to(write(tmp_path / "elsewhere.json", {"full_id": "secret"}))
    assert perfarray.read(path)["benchmark"].item() == "sort"

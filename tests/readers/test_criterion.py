"""criterion.rs: samples of iterations, baselines and their copies, the folder around them."""

import pytest

import perfarray
from readers.files_of_our_own import NAN, check, refusals, write


def sample(folder, times=(10.0, 22.0), iters=(1, 2), name="sort/vec/8", **fields):
    """Write a sample and what criterion puts beside it."""
    group, function, value = name.split("/")
    benchmark = {
        "group_id": group,
        "function_id": function,
        "value_str": value,
        "throughput": {"Bytes": 64},
        "full_id": name,
    }
    write(folder / "benchmark.json", benchmark)
    for companion in ("estimates.json", "tukey.json"):
        write(folder / companion, {"mean": 1})
    return write(
        folder / "sample.json",
        {"sampling_mode": "Linear", "iters": list(iters), "times": list(times)} | fields,
    )


def test_a_sample_is_the_time_of_all_its_iterations(tmp_path):
    """What is read is the time of one, in seconds, and `loops` how many there were."""
    times = perfarray.read(sample(tmp_path / "new"))
    assert times["time"].dims == ("benchmark", "baseline", "execution", "iteration")
    check(times.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8], loops=[1.0, 2.0])
    check(
        times,
        benchmark="sort/vec/8",
        baseline="new",
        group="sort",
        function="vec",
        parameter=8,
        bytes=64,
        sampling_mode="Linear",
    )


def test_old_files_are_two_lists(tmp_path):
    """They are recognised by their name, or by ten samples of 1, 2, 3, ... times as many
    iterations."""
    times = perfarray.read(
        write(tmp_path / "sort" / "base" / "sample.json", [[1, 2], [10.0, 22.0]])
    )
    check(times, benchmark="sort", baseline="base")
    check(times.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8])
    with pytest.raises(ValueError, match="no reader recognises its content"):
        perfarray.read(write(tmp_path / "other.json", [[1, 2], [10.0, 22.0]]))
    linear = [[5 * (index + 1) for index in range(10)], [50.0] * 10]
    assert perfarray.read(write(tmp_path / "other.txt", linear)).sizes["iteration"] == 10


@pytest.mark.parametrize(
    "header",
    [
        "sample_time_nanos,iteration_count",
        "throughput_num,throughput_type,sample_measured_value,unit,iteration_count",
    ],
)
def test_raw_csv(tmp_path, header):
    """A named `raw.csv` is read; one in a folder only if no samples lie beside it."""
    cells = "{},{}" if "nanos" in header else "64,bytes,{},ns,{}"
    rows = [f"sort,,8,{cells.format(*sample_cells)}" for sample_cells in ((10.0, 1), (22.0, 2))]
    text = "\n".join([f"group,function,value,{header}", *rows])
    path = write(tmp_path / "sort" / "new" / "raw.csv", text)
    times = perfarray.read(tmp_path)
    check(times, benchmark="sort/8", baseline="new")
    check(times.squeeze(), rtol=1e-15, time=[1e-8, 1.1e-8])
    sample(path.parent, times=(30.0, 60.0))
    assert perfarray.read(tmp_path).sizes["benchmark"] == 1
    assert perfarray.read(path)["time"].values.ravel()[0] == 1e-8
    mixed = (
        "group,function,value,sample_measured_value,unit,iteration_count\na,,,1,cycles,1\na,,,1,"
        "ns,1\n"
    )
    with pytest.raises(
        ValueError,
        match=r"raw\.csv: has values in 'cycles', 'ns'; the samples of a benchmark have one unit",
    ):
        perfarray.read(write(path, mixed))


RAW = (
    "group,function,value,sample_measured_value,unit,iteration_count\nsort,vec,8,{},{},1\nsort,"
    "vec,8,{},{},2\n"
)


@pytest.mark.parametrize("unit", ["cycles", "instructions", "J"])
def test_a_measurement_that_is_no_time(tmp_path, unit):
    """Its values are a variable named by the unit, which `raw.csv` states, alone and beside
    samples; they are no nanoseconds."""
    sample(tmp_path / "sort/new", times=(5000.0, 12000.0))
    raw = write(tmp_path / "sort/new/raw.csv", RAW.format(5.0, unit, 12.0, unit))
    for path in (tmp_path, raw, raw.with_name("sample.json")):
        measured = perfarray.read(path)
        check(
            measured,
            metrics=[unit],
            metric=unit,
            benchmark="sort/vec/8",
            **{f"{unit}.attrs": {"units": unit, "better": "lower"}},
        )
        check(measured.squeeze(), **{unit: [5.0, 6.0]}, loops=[1.0, 2.0])


def test_a_raw_csv_of_another_run(tmp_path):
    """Its values are not those of the samples beside it, whose unit is then unknown."""
    path = sample(tmp_path / "sort/new", iters=(1, 3))
    write(path.with_name("raw.csv"), RAW.format(5.0, "cycles", 12.0, "cycles"))
    with pytest.raises(
        ValueError, match=r"sample\.json: has other numbers of iterations than raw\.csv beside it"
    ):
        perfarray.read(path)


def test_units_of_time_and_of_benchmarks(tmp_path):
    """A unit of time is brought to seconds; other benchmarks of a project stay times, and a copied
    baseline is marked in any unit."""
    sample(tmp_path / "a/new", name="sort/vec/8")
    for folder, unit in (("b/new", "cycles"), ("b/base", "cycles"), ("c/new", "ms")):
        sample(tmp_path / folder, name=f"sort/{folder[0]}/8")
        write(tmp_path / folder / "raw.csv", RAW.format(5.0, unit, 12.0, unit))
    with pytest.warns(
        perfarray.PerfarrayWarning, match="sort/b/8: baseline 'base' is a copy of 'new'"
    ):
        measured = perfarray.read_archive(tmp_path)
    new = measured.sel(baseline="new").squeeze()
    check(
        new,
        rtol=1e-15,
        time=[[1e-8, 1.1e-8], [NAN, NAN], [5e-3, 6e-3]],
        cycles=[[NAN, NAN], [5.0, 6.0], [NAN, NAN]],
    )


def test_the_folder_of_a_project(tmp_path):
    """Benchmarks and baselines are dims; a baseline that repeats the new run is marked; other files
    are skipped."""
    for side, times in (("new", (10.0, 22.0)), ("base", (11.0, 23.0))):
        sample(tmp_path / f"sort/vec/8/{side}")
        sample(tmp_path / f"sort/vec/9/{side}", times=times, name="sort/vec/9")
    write(tmp_path / "report" / "index.html", "<p>")
    with pytest.warns(
        perfarray.PerfarrayWarning, match="sort/vec/8: baseline 'base' is a copy of 'new'"
    ) as caught:
        archive = perfarray.read_archive(tmp_path)
    assert [note.code for note in caught[0].message.notes] == ["marked_copies"]
    assert dict(archive.sizes) == {"benchmark": 2, "baseline": 2, "execution": 1, "iteration": 2}
    copied = archive["copied"].all("iteration").squeeze("execution")
    assert copied.sel(baseline="base").values.tolist() == [True, False]
    assert not copied.sel(baseline="new").any()


test_what_is_wrong_is_said = refusals(
    lambda folder, fields: perfarray.read(sample(folder, **fields)),
    "sample.json",
    [
        ({"iters": [1]}, "has 1 numbers of iterations and 2 times"),
        ({"iters": [1, 0]}, "'iters': value 1 is 0; expected a number above 0"),
        ({"times": [1.0, -1.0]}, r"'times': value 1 is -1\.0; expected a number from 0"),
    ],
)


def test_zeros_and_what_is_no_number(tmp_path):
    """A time of 0 is a value; one that is no number is missing, and named."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 value is missing: \"'times': value 1 is null\""
    ):
        check(
            perfarray.read(sample(tmp_path / "new", times=(0.0, None))).squeeze(),
            time=[0.0, NAN],
            loops=[1.0, 2.0],
        )


def test_a_broken_name_is_an_error(tmp_path):
    """The message names both files; a link out of the folder is not followed."""
    path = sample(tmp_path / "sort" / "new")
    companion = write(path.with_name("benchmark.json"), "{")
    with pytest.raises(
        ValueError,
        match=r"sample\.json: the name of its benchmark cannot be read: .*benchmark\.json",
    ):
        perfarray.read(path)
    companion.unlink()
    companion.symlink_to(write(tmp_path / "elsewhere.json", {"full_id": "secret"}))
    assert perfarray.read(path)["benchmark"].item() == "sort"

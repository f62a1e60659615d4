"""Labels split into dims: the families of benchmarks of one file."""

import json

import numpy as np
import pytest
import xarray as xr

import perfarray

RUNS = {
    "BM_std_sort/8": [8.0, 8.2, 7.9],
    "BM_mine_sort/8": [4.0, 4.1, 4.2],
    "BM_std_sort/64": [64.0, 66.0, 63.0],
    "BM_mine_sort/64": [32.0, 33.0, 31.0],
}


@pytest.fixture
def times():
    return perfarray.from_samples(RUNS, dim="benchmark")


def test_a_name_in_braces_is_a_dim(times):
    """The name stays in its place in the labels, and every value keeps its labels."""
    split = times.perf.split_labels("BM_{version}_sort/*")
    assert split["version"].values.tolist() == ["std", "mine"]
    assert split["benchmark"].values.tolist() == ["BM_{version}_sort/8", "BM_{version}_sort/64"]
    for label, runs in RUNS.items():
        version = label.split("_")[1]
        values = split["time"].sel(version=version, benchmark=label.replace(version, "{version}"))
        assert values.values.tolist() == runs


def test_families_are_compared(times):
    result = perfarray.split_labels(times, "BM_{version}_sort/*").perf.compare("std")
    means = {label: np.mean(runs) for label, runs in RUNS.items()}
    expected = [means[f"BM_mine_sort/{n}"] / means[f"BM_std_sort/{n}"] for n in (8, 64)]
    np.testing.assert_allclose(result["estimate"].sel(version="mine"), expected)


def test_function_and_array_agree(times):
    expected = perfarray.split_labels(times, "BM_{version}_sort/*")
    xr.testing.assert_identical(times.perf.split_labels("BM_{version}_sort/*"), expected)
    array = perfarray.split_labels(times["time"], "BM_{version}_sort/*")
    xr.testing.assert_identical(array["time"], expected["time"])


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [
        ("BM_{version}_sort/{size}", {"version": 2, "size": 2, "benchmark": 1}),
        ("??_{version}_*", {"version": 2, "benchmark": 2}),
        ("{name}/*", {"name": 2, "benchmark": 2}),
    ],
)
def test_patterns(times, pattern, sizes):
    """Several names are several dims, * is any text and ? any letter."""
    split = perfarray.split_labels(times, pattern)
    assert {dim: split.sizes[dim] for dim in sizes} == sizes


def test_a_name_takes_as_little_as_it_can(times):
    split = perfarray.split_labels(times, "{prefix}_*")
    assert split["prefix"].values.tolist() == ["BM"]


def test_brackets_stand_for_themselves():
    times = perfarray.from_samples({"sort[std-8]": [1.0], "sort[mine-8]": [2.0]}, dim="benchmark")
    split = perfarray.split_labels(times, "sort[{impl}-*]")
    assert split["benchmark"].values.tolist() == ["sort[{impl}-8]"]


def test_a_name_has_no_slash():
    """Slashes separate the arguments of a benchmark: no dim goes over one."""
    times = perfarray.from_samples({"a/b/8": [1.0], "a/8": [2.0]}, dim="benchmark")
    with pytest.warns(perfarray.PerfarrayWarning, match="'a/b/8'"):
        split = perfarray.split_labels(times, "{name}/8")
    assert split["name"].values.tolist() == ["a"]


def test_labels_that_are_not_like_it_are_named_once():
    times = perfarray.from_samples(RUNS | {"BM_copy": [1.0], "noise": [2.0]}, dim="benchmark")
    with pytest.warns(
        perfarray.PerfarrayWarning, match="2 of 6 labels along 'benchmark'"
    ) as caught:
        split = perfarray.split_labels(times, "BM_{version}_sort/*")
    assert len(caught) == 1
    (note,) = split.perf.notes()
    assert (note.code, note.values["labels"]) == ("not_in_families", ["BM_copy", "noise"])


def test_a_label_that_one_family_lacks_is_nan(times):
    split = perfarray.split_labels(times.isel(benchmark=[0, 1, 2]), "BM_{version}_sort/*")
    assert split["time"].sel(version="mine", benchmark="BM_{version}_sort/64").isnull().all()


def test_one_family_is_a_dim_of_one_label(times):
    split = perfarray.split_labels(times.isel(benchmark=[0, 2]), "BM_{version}_sort/*")
    assert dict(split.sizes) == {"version": 1, "benchmark": 2, "execution": 3}


def test_coordinates_lie_on_the_dims_they_vary_over(times):
    """Marks stay true and false, and a coordinate called as the new dim has another name."""
    times = times.assign_coords(
        argument=("benchmark", [8, 8, 64, 64]),
        author=("benchmark", ["them", "us", "them", "us"]),
        failed=(("benchmark", "execution"), np.eye(4, 3, dtype=bool)),
        version="1.2",
    )
    split = perfarray.split_labels(times, "BM_{version}_sort/*")
    assert split["argument"].dims == ("benchmark",)
    assert split["author"].dims == ("version",)
    assert split["failed"].dtype == bool
    assert split["version_recorded"].item() == "1.2"
    assert split["time"].attrs == times["time"].attrs


def test_other_dims_and_levels_stay():
    values = np.arange(24.0).reshape(2, 2, 3, 2) + 1
    times = xr.DataArray(
        values,
        dims=("machine", "benchmark", "execution", "iteration"),
        coords={"machine": ["m", "n"], "benchmark": ["std", "mine"]},
        attrs={"units": "s"},
        name="time",
    )
    split = perfarray.split_labels(times, "{impl}")["time"]
    got = split.sel(benchmark="{impl}", impl="mine").transpose("machine", "execution", "iteration")
    np.testing.assert_array_equal(got, values[:, 1])


@pytest.mark.parametrize(
    ("pattern", "options", "message"),
    [
        (
            "XX_{version}",
            {},
            "no label along 'benchmark' is like it. The labels are 'BM_std_sort/8'",
        ),
        ("BM_*", {}, "must name dims in braces, each once, as in 'BM_{version}_sort/[*]'"),
        ("BM_{version", {}, "has a '{' whose '}' is missing"),
        ("{a}_{a}", {}, "each once"),
        ("BM_{benchmark}/*", {}, "the timings have such a dim or level"),
        ("BM_{iteration}/*", {}, "the timings have such a dim or level"),
        ("{a}", {"dim": "machine"}, "dim 'machine' not found"),
    ],
)
def test_messages(times, pattern, options, message):
    with pytest.raises(ValueError, match=message):
        perfarray.split_labels(times, pattern, **options)


def google_benchmark(path, times):
    """Write a file of Google Benchmark with one value a repetition."""
    rows = [
        {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": len(runs),
            "repetition_index": index,
            "threads": 1,
            "iterations": 10,
            "real_time": run,
            "cpu_time": run,
            "time_unit": "ns",
        }
        for name, runs in times.items()
        for index, run in enumerate(runs)
    ]
    context = {"date": "2026-05-12T10:00:00+00:00", "library_build_type": "release"}
    path.write_text(json.dumps({"context": context, "benchmarks": rows}))
    return path


def test_families_of_a_file_of_google_benchmark(tmp_path):
    """Its names and arguments are settings along the benchmarks, and find their dims."""
    times = perfarray.read(google_benchmark(tmp_path / "results.json", RUNS))
    split = perfarray.split_labels(times, "BM_{version}_sort/*")
    assert split["arg0"].dims == ("benchmark",)
    assert split["benchmark_name"].dims == ("version",)
    means = split["time"].mean(["execution", "iteration"])
    ratio = means.sel(version="mine") / means.sel(version="std")
    np.testing.assert_allclose(ratio, [12.3 / 24.1, 96 / 193])

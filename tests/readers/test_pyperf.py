"""pyperf files: what is measured, what is marked, what is passed over."""

import json

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import CALIBRATION, bench, check, reader, refusals, run, small_suite, suite, write
from shared_material import ARCHIVES, needs_archives

read = reader("file.json")


def test_runs_are_executions_and_values_iterations(tmp_path):
    """Warm-ups come first, are marked, and are times per loop as the values are."""
    times = read(tmp_path, small_suite(10.0, 20.0))
    assert times["time"].dims == ("benchmark", "execution", "iteration")
    check(times, time=[[[12.0, 10.0, 11.0], [22.0, 20.0, 21.0]]], warmup=[[[True, False, False]] * 2])
    assert times["warmup"].dtype == bool
    assert times["time"].attrs == {"units": "s", "better": "lower"}
    assert times.attrs == {"format": "pyperf", "metric": "time", "n_calibration_runs": 1}


def test_calibration_and_recalibration_runs_are_no_executions(tmp_path):
    """Runs without values are counted wherever they stand."""
    recalibration = run(warmups=[(4, 0.3)], recalibrate_loops=4)
    times = read(tmp_path, suite(bench("fft", CALIBRATION, recalibration, run(1.0), recalibration, run(2.0))))
    check(times, time=[[[1.0], [2.0]]])
    assert times.attrs["n_calibration_runs"] == 3


def test_the_first_run_dates_the_file(tmp_path):
    """Commits of a folder are sorted by their dates."""
    for commit, day in (("aa", 2), ("bb", 1)):
        runs = [run(1.0, date=f"2026-03-0{day} 02:00:0{second}") for second in (1, 0)]
        write(tmp_path / f"{commit}.json", suite(bench("fft", *runs)))
    times = perfarray.read_archive(tmp_path, layout="{commit}.json")
    assert times["date"].dims == ("commit",)
    check(times, commit=["bb", "aa"], date=["2026-03-01 02:00:00", "2026-03-02 02:00:00"])


@pytest.mark.parametrize(("duration", "iteration", "execution"), [(3.5, np.nan, 6.5 + 1.5), (4.0, 4 / 3, 6.0 + 4 / 3)])
def test_costs(tmp_path, duration, iteration, execution):
    """The gap between runs is the start of a process; a run that takes more than 1.25 times its loops sets up each value."""
    metadata = [{"date": f"2026-01-01 00:00:{second:02}", "duration": duration, "loops": 1} for second in (0, 10, 20, 30)]
    times = read(tmp_path, suite(bench("fft", *(run(1.0, 1.0, warmups=[(2, 1.0)], **stated) for stated in metadata))))
    np.testing.assert_allclose(times["execution_seconds"], execution)
    assert ("iteration_seconds" in times.coords) == (duration == 4.0)
    np.testing.assert_allclose(times.coords.get("iteration_seconds", np.nan), iteration)


def test_ragged_runs_are_padded(tmp_path):
    """The number of values and warm-ups may differ between runs and benchmarks; the rest is NaN and not marked."""
    times = read(tmp_path, suite(bench("a", run(1.0, 2.0, 3.0), run(4.0, warmups=[(1, 9.0)])), bench("b", run(5.0))))
    check(times, time=[[[1.0, 2.0, 3.0], [9.0, 4.0, np.nan]], [[5.0, np.nan, np.nan], [np.nan, np.nan, np.nan]]])
    assert times["warmup"].sum() == 1


@pytest.mark.parametrize("level", ["file", "benchmark", "run", "none"])
def test_name_is_found_at_every_level(tmp_path, level):
    """The name is in the metadata of the benchmark, of the file, or of the runs; a benchmark nobody named is called like its file."""
    content = suite({"runs": [run(1.0)]})
    places = {"file": content, "benchmark": content["benchmarks"][0], "run": content["benchmarks"][0]["runs"][0], "none": {}}
    places[level]["metadata"] = {"name": "telco"}
    check(read(tmp_path, content, "sorting.v2.json"), benchmark=["sorting" if level == "none" else "telco"])


def test_names_that_repeat_both_stay(tmp_path):
    """The second of two benchmarks of one name becomes `#2`, and one warning says so."""
    content = suite(bench("a", run(1.0)), bench("a", run(2.0)), bench("a#2", run(3.0)))
    with pytest.warns(UserWarning, match="1 benchmark names occur more than once") as caught:
        times = read(tmp_path, content)
    assert len(caught) == 1
    check(times, benchmark=["a", "a#3", "a#2"], time=[[[1.0]], [[2.0]], [[3.0]]])


def test_metadata_are_merged_downwards(tmp_path):
    """Metadata of a benchmark override those of the file, those of a run override both; what a benchmark does not say is `unknown`."""
    common = {"hostname": "h1", "cpu_model_name": "common", "cpu_count": 8, "python_version": "3.14"}
    one = bench("a", run(1.0, hostname="h2"), run(2.0), cpu_model_name="own", tags=["x", "y"])
    times = read(tmp_path, suite(one, bench("b", run(3.0), run(4.0)), **common))
    check(times, cpu=["own", "common"], machine=[["h2", "h1"], ["h1", "h1"]], tags=["x, y", "unknown"])
    assert (times["cpu"].dims, times["machine"].dims) == (("benchmark",), ("benchmark", "execution"))
    check(times, logical_cores=8, python_version="3.14")
    assert times["logical_cores"].dims == ()


def test_other_units_are_other_variables(tmp_path):
    """A file of bytes has no time."""
    content = suite(bench("a", run(1.0)), bench("b", run(4096.0), unit="byte"), bench("c", run(7), unit="integer"))
    found = read(tmp_path, content)
    assert {name: variable.attrs["units"] for name, variable in found.items()} == {"time": "s", "memory": "B", "count": "1"}
    check(found.squeeze(), memory=[np.nan, 4096.0, np.nan], time=[1.0, np.nan, np.nan], count=[np.nan, np.nan, 7])
    found = read(tmp_path, suite(bench("a", run(4096.0)), unit="byte"))
    assert (list(found), found.attrs["metric"]) == (["memory"], "memory")


def old(version, *runs, **metadata):
    """Return a file of a version before "1.0": `common_metadata` in the benchmark up to version 5."""
    if version == 6:
        return suite({"runs": runs}, version=6, name="telco", **metadata)
    return {"version": version, "benchmarks": [{"common_metadata": {"name": "telco"} | metadata, "runs": runs}]}


@pytest.mark.parametrize(("content", "times"), [
    (old(3, {"samples": [0.5, 0.6], "warmups": [0.7]}, loops=4, inner_loops=2), [0.7, 0.5, 0.6]),
    (old(3, {"raw_samples": [4.0, 8.0], "warmups": [16.0]}, loops=4, inner_loops=2), [2.0, 0.5, 1.0]),
    (old(3, {"raw_samples": [4.0], "metadata": {"loops": 2}}, loops=4), [2.0]),
    (old(4, {"samples": [0.5], "warmups": [[4, 8.0]]}, inner_loops=2), [1.0, 0.5]),
    (old(5, {"samples": [0.5], "warmups": [[4, 8.0]]}, inner_loops=2), [1.0, 0.5]),
    (old(6, {"values": [0.5], "warmups": [[4, 8.0]]}, inner_loops=2), [1.0, 0.5]),
    (suite(bench("a", run(0.5, warmups=[(4, 0.7)])), inner_loops=2), [0.7, 0.5]),
])  # fmt: skip
def test_what_old_versions_wrote(tmp_path, content, times):
    """Raw samples and bare warm-ups beside them, and warm-ups with loops in versions 4 to 6, are times of all loops; the rest is per loop.

    Loops of a run count more than those of the benchmark.
    """
    check(read(tmp_path, content), time=[[times]])


def test_the_number_of_cores_may_be_text(tmp_path):
    check(read(tmp_path, old(3, {"samples": [0.5]}, cpu_count="2")), logical_cores=2)


test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    ({"version": "1.0", "benchmarks": []}, "'benchmarks' is an empty list"),
    (suite(bench("fft", run(1.0)), bench("sort", CALIBRATION)), r"benchmark 'sort' \(benchmarks\[1\]\) has 1 runs and no values"),
    (suite(bench("a", run("fast"))), "value 0 of execution 0 of 'a' is 'fast'; expected a number above 0"),
    (suite(bench("a", run(True))), "value 0 of execution 0 of 'a' is True; expected a number above 0"),
    (suite(bench("a", run(1.0)), unit="furlong"), ".*unit 'furlong' is not one pyperf knows"),
    (suite(bench("a", {"values": 3.0})), r"is not as pyperf writes it: benchmarks\[0\]\.runs\[0\]\.values is 3\.0; expected a list$"),
    (suite(bench("a", run(1.0)), cpu_count="many"), r".*metadata\.cpu_count is 'many'; expected a number from 1$"),
    (suite({"runs": [{"raw_samples": [1.0]}]}, loops=0), r".*metadata\.loops is 0; expected a number from 1$"),
    (json.dumps(small_suite(1.0), indent=1)[:150], r"is not valid JSON: the file is cut off at line \d+, column \d+"),
    *((suite(bench("a", run(1.0)), version=version), r"has version .* that can be read are 3, 4, 5, 6, '1\.0'")
      for version in (2, "2.0", None, True, [1])),
)  # fmt: skip
test_a_forced_format_must_fit = refusals(
    lambda folder, content: read(folder, content, format="pyperf"),
    "file.json",
    ([], r"is not as pyperf writes it: the document is \[\]; expected an object$"),
    ({"version": "1.0", "benchmarks": 3}, "is not as pyperf writes it: benchmarks is 3; expected a list$"),
)


def test_the_file_name_may_lie(tmp_path):
    """The metadata tell the interpreter, not the name of the file."""
    files = {name: write(tmp_path / f"{name}.json", small_suite(1.0, python_version="3.6.8")) for name in ("py36", "py38")}
    check(perfarray.read_archive(files, dim="version"), version=["py36", "py38"], python_version="3.6.8")


@needs_archives
@pytest.mark.parametrize(
    ("new", "old"),
    [("telco.json", "telco.2016-10-21.2348d9d.json"), ("outliers.json.gz", "outliers.2017-03-16.fd790ce.json")],
)
def test_versions_of_one_file_agree(new, old):
    """The same measurements written by an old and a new version are the same numbers."""
    folder = ARCHIVES / "pyperf" / "psf_pyperf"
    first, second = perfarray.read(folder / new), perfarray.read(folder / "old" / old)
    np.testing.assert_allclose(first["time"], second["time"], rtol=1e-9)
    np.testing.assert_array_equal(first["warmup"], second["warmup"])


@needs_archives
@pytest.mark.parametrize(
    "name", ["moreati_counter-top/pypy.json", "psf_pyperf/outliers.json.gz", "psf_pyperf/old/outliers.2017-03-16.fd790ce.json"]
)
def test_pyperf_reads_the_same(name):
    pyperf = pytest.importorskip("pyperf")
    path = ARCHIVES / "pyperf" / name
    times = perfarray.read(path)
    for theirs in pyperf.BenchmarkSuite.load(str(path)).get_benchmarks():
        ours = times.sel(benchmark=theirs.get_name())
        warmup, found = ours["warmup"].values, ours["time"].values
        np.testing.assert_allclose(found[~warmup & ~np.isnan(found)], theirs.get_values(), rtol=1e-12)
        warm = [value for one in theirs.get_runs() if one.values for _, value in one.warmups]
        np.testing.assert_allclose(found[warmup], warm, rtol=1e-12)

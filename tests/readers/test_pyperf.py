"""pyperf files: what is measured, what is marked, what is passed over."""

import json

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import CALIBRATION, bench, run, small_suite, suite, write
from shared_material import ARCHIVES, needs_archives


def read(tmp_path, content, name="file.json"):
    return perfarray.read(write(tmp_path / name, content))


def test_runs_are_executions_and_values_iterations(tmp_path):
    """Warm-ups come first, are marked, and are times per loop as the values are."""
    times = read(tmp_path, small_suite(10.0, 20.0))
    assert times["time"].dims == ("benchmark", "execution", "iteration")
    assert times["time"].values.tolist() == [[[12.0, 10.0, 11.0], [22.0, 20.0, 21.0]]]
    assert times["warmup"].values.tolist() == [[[True, False, False]] * 2]
    assert times["warmup"].dtype == bool
    assert times["time"].attrs == {"units": "s", "better": "lower"}
    assert times.attrs == {"format": "pyperf", "metric": "time", "n_calibration_runs": 1}


def test_calibration_and_recalibration_runs_are_no_executions(tmp_path):
    """Runs without values are counted wherever they stand."""
    recalibration = run(warmups=[(4, 0.3)], recalibrate_loops=4)
    times = read(tmp_path, suite(bench("fft", CALIBRATION, recalibration, run(1.0), recalibration, run(2.0))))
    assert times["time"].values.tolist() == [[[1.0], [2.0]]]
    assert times.attrs["n_calibration_runs"] == 3


def test_the_first_run_dates_the_file(tmp_path):
    """Commits of a folder are sorted by their dates."""
    for commit, day in (("aa", 2), ("bb", 1)):
        runs = [run(1.0) | {"metadata": {"date": f"2026-03-0{day} 02:00:0{second}"}} for second in (1, 0)]
        write(tmp_path / f"{commit}.json", suite(bench("fft", *runs)))
    times = perfarray.read_archive(tmp_path, layout="{commit}.json")
    assert times["commit"].values.tolist() == ["bb", "aa"]
    assert times["date"].dims == ("commit",)
    assert times["date"].values.tolist() == ["2026-03-01 02:00:00", "2026-03-02 02:00:00"]


def test_nothing_but_calibration_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"file\.json: benchmark 'sort' \(benchmarks\[1\]\) has 1 runs and no values"):
        read(tmp_path, suite(bench("fft", run(1.0)), bench("sort", CALIBRATION)))


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
    np.testing.assert_array_equal(times["time"], [[[1.0, 2.0, 3.0], [9.0, 4.0, np.nan]], [[5.0, np.nan, np.nan], [np.nan, np.nan, np.nan]]])
    assert times["warmup"].sum() == 1


@pytest.mark.parametrize("level", ["file", "benchmark", "run"])
def test_name_is_found_at_every_level(tmp_path, level):
    """The name is in the metadata of the benchmark, of the file, or of the runs."""
    content = suite({"runs": [run(1.0)]})
    place = {"file": content, "benchmark": content["benchmarks"][0], "run": content["benchmarks"][0]["runs"][0]}[level]
    place["metadata"] = {"name": "telco"}
    assert read(tmp_path, content)["benchmark"].values.tolist() == ["telco"]


def test_without_any_name_the_file_is_the_name(tmp_path):
    """A benchmark nobody named is called like its file."""
    assert read(tmp_path, suite({"runs": [run(1.0)]}), "sorting.v2.json")["benchmark"].values.tolist() == ["sorting"]


def test_names_that_repeat_both_stay(tmp_path):
    """The second of two benchmarks of one name becomes `#2`, and one warning says so."""
    content = suite(bench("a", run(1.0)), bench("a", run(2.0)), bench("a#2", run(3.0)))
    with pytest.warns(UserWarning, match="1 benchmark names occur more than once") as caught:
        times = read(tmp_path, content)
    assert len(caught) == 1
    assert times["benchmark"].values.tolist() == ["a", "a#3", "a#2"]
    assert times["time"].values.ravel().tolist() == [1.0, 2.0, 3.0]


def test_metadata_are_merged_downwards(tmp_path):
    """Metadata of a benchmark override those of the file, those of a run override both."""
    content = suite(
        bench("a", run(1.0, hostname="h2"), run(2.0), cpu_model_name="own"),
        bench("b", run(3.0), run(4.0)),
        hostname="h1", cpu_model_name="common", cpu_count=8, python_version="3.14",
    )  # fmt: skip
    times = read(tmp_path, content)
    assert times["cpu"].dims == ("benchmark",)
    assert times["cpu"].values.tolist() == ["own", "common"]
    assert times["machine"].dims == ("benchmark", "execution")
    assert times["machine"].values.tolist() == [["h2", "h1"], ["h1", "h1"]]
    assert times["logical_cores"].dims == ()
    assert times["logical_cores"].item() == 8
    assert times["python_version"].item() == "3.14"


def test_a_descriptor_only_some_say_is_unknown_elsewhere(tmp_path):
    """What a benchmark does not say is `unknown`."""
    times = read(tmp_path, suite(bench("a", run(1.0), tags=["x", "y"]), bench("b", run(1.0))))
    assert times["tags"].values.tolist() == ["x, y", "unknown"]


def test_other_units_are_other_variables(tmp_path):
    content = suite(bench("a", run(1.0)), bench("b", run(4096.0), unit="byte"), bench("c", run(7), unit="integer"))
    found = read(tmp_path, content)
    assert {name: variable.attrs["units"] for name, variable in found.items()} == {"time": "s", "memory": "B", "count": "1"}
    assert found["memory"].sel(benchmark="b").item() == 4096.0
    assert np.isnan(found["time"].sel(benchmark=["b", "c"])).all()


def test_a_file_of_bytes_has_no_time(tmp_path):
    found = read(tmp_path, suite(bench("a", run(4096.0)), unit="byte"))
    assert list(found) == ["memory"]
    assert found.attrs["metric"] == "memory"


class TestOldVersions:
    """Versions 3 to 6 are older than "1.0"."""

    @staticmethod
    def old(version, runs, **metadata):
        """Return an old file: `common_metadata` in the benchmark up to version 5."""
        if version == 6:
            return suite({"runs": runs}, version=6, name="telco", **metadata)
        return {"version": version, "benchmarks": [{"common_metadata": {"name": "telco"} | metadata, "runs": runs}]}

    def test_version_3_has_samples_and_bare_warmups(self, tmp_path):
        """Both are per loop already; the number of cores is text."""
        content = self.old(3, [{"samples": [0.5, 0.6], "warmups": [0.7]}], loops=4, inner_loops=2, cpu_count="2")
        times = read(tmp_path, content)
        assert times["time"].values.tolist() == [[[0.7, 0.5, 0.6]]]
        assert times["logical_cores"].item() == 2

    def test_raw_samples_are_divided_by_loops(self, tmp_path):
        """A raw sample is the time of all loops, and so is a bare warm-up beside it."""
        content = self.old(3, [{"raw_samples": [4.0, 8.0], "warmups": [16.0]}], loops=4, inner_loops=2)
        assert read(tmp_path, content)["time"].values.tolist() == [[[2.0, 0.5, 1.0]]]

    def test_loops_of_a_run_count_more_than_those_of_the_benchmark(self, tmp_path):
        content = self.old(3, [{"raw_samples": [4.0], "metadata": {"loops": 2}}], loops=4)
        assert read(tmp_path, content)["time"].item() == 2.0

    @pytest.mark.parametrize(("version", "values"), [(4, "samples"), (5, "samples"), (6, "values")])
    def test_warmups_with_loops_are_times_of_all_loops(self, tmp_path, version, values):
        """Versions 4 to 6 wrote the number of loops and the time of all of them; the values are per loop."""
        content = self.old(version, [{values: [0.5], "warmups": [[4, 8.0]]}], inner_loops=2)
        assert read(tmp_path, content)["time"].values.tolist() == [[[1.0, 0.5]]]

    def test_version_1_0_has_warmups_per_loop(self, tmp_path):
        """The current version divides before it writes."""
        assert read(tmp_path, suite(bench("a", run(0.5, warmups=[(4, 0.7)])), inner_loops=2))["time"].values.tolist() == [[[0.7, 0.5]]]

    @pytest.mark.parametrize("version", [2, "2.0", None, True, [1]])
    def test_other_versions_are_refused(self, tmp_path, version):
        with pytest.raises(ValueError, match=r"file\.json: has version .* that can be read are 3, 4, 5, 6, '1\.0'"):
            read(tmp_path, suite(bench("a", run(1.0)), version=version))


@pytest.mark.parametrize(("content", "message"), [
    ({"version": "1.0", "benchmarks": []}, "'benchmarks' is an empty list"),
    (suite(bench("a", run("fast"))), "value 0 of execution 0 of 'a' is 'fast'; expected a number above 0"),
    (suite(bench("a", run(True))), "value 0 of execution 0 of 'a' is True; expected a number above 0"),
    (suite(bench("a", run(1.0)), unit="furlong"), "unit 'furlong' is not one pyperf knows"),
    (suite(bench("a", {"values": 3.0})), r"is not as pyperf writes it: benchmarks\[0\]\.runs\[0\]\.values is 3\.0; expected a list$"),
    (suite(bench("a", run(1.0)), cpu_count="many"), r"metadata\.cpu_count is 'many'; expected a number from 1$"),
    (suite({"runs": [{"raw_samples": [1.0]}]}, loops=0), r"metadata\.loops is 0; expected a number from 1$"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(str(tmp_path / "file.json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [([], r"the document is \[\]; expected an object"), ({"version": "1.0", "benchmarks": 3}, "benchmarks is 3; expected a list")],
)
def test_a_forced_format_must_fit(tmp_path, content, message):
    with pytest.raises(ValueError, match=f"is not as pyperf writes it: {message}$"):
        perfarray.read(write(tmp_path / "file.json", content), format="pyperf")


def test_the_file_name_may_lie(tmp_path):
    """The metadata tell the interpreter, not the name of the file."""
    files = {name: write(tmp_path / f"{name}.json", small_suite(1.0, python_version="3.6.8")) for name in ("py36", "py38")}
    times = perfarray.read_archive(files, dim="version")
    assert times["version"].values.tolist() == ["py36", "py38"]
    assert times["python_version"].item() == "3.6.8"


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
    """Values and warm-ups are those pyperf itself finds."""
    pyperf = pytest.importorskip("pyperf")
    path = ARCHIVES / "pyperf" / name
    times = perfarray.read(path)
    for theirs in pyperf.BenchmarkSuite.load(str(path)).get_benchmarks():
        ours = times.sel(benchmark=theirs.get_name())
        warmup = ours["warmup"].values
        found = ours["time"].values
        np.testing.assert_allclose(found[~warmup & ~np.isnan(found)], theirs.get_values(), rtol=1e-12)
        warm = [value for one in theirs.get_runs() if one.values for _, value in one.warmups]
        np.testing.assert_allclose(found[warmup], warm, rtol=1e-12)


def test_cut_off_at_every_level(tmp_path):
    """The message says that the file is cut off, and where."""
    text = json.dumps(small_suite(1.0), indent=1)
    with pytest.raises(ValueError, match=r"cut\.json: is not valid JSON: the file is cut off at line \d+, column \d+"):
        perfarray.read(write(tmp_path / "cut.json", text[: len(text) // 2]))

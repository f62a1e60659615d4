"""JMH files: units decide, forks are executions, settings are in the label."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, entry, reader, refusals, secondary, write

RATE = {"unit": "ops/ms", "mode": "thrpt"}

read_content = reader("jmh.json")


def read(tmp_path, *entries):
    return read_content(tmp_path, list(entries))


def read_versions(tmp_path, **versions):
    """Read an archive of files that are lists of entries, along `version`."""
    return perfarray.read_archive({name: write(tmp_path / f"{name}.json", own) for name, own in versions.items()}, dim="version")


def test_forks_are_executions(tmp_path):
    """Rows are forks whatever `forks` says (0: in the harness's own process; more: some have no row); ragged rows are padded."""
    times = read(tmp_path, entry(data=[[1.0, 2.0], [3.0], [4.0, 5.0]], forks=0))
    check(times, rtol=1e-7, time=[[[1e-9, 2e-9], [3e-9, np.nan], [4e-9, 5e-9]]], forks=0)
    assert times["time"].attrs == {"units": "s", "better": "lower"}
    assert times.attrs == {"format": "jmh", "metric": "time"}
    assert read(tmp_path, entry(forks=828))["time"].sizes["execution"] == 1


def test_throughput_is_never_time(tmp_path):
    """A rate keeps its unit and is better high; rates of several units, here or in several files, are per second."""
    found = read(tmp_path, entry(**RATE))
    assert list(found) == ["throughput"]
    assert found["throughput"].attrs == {"units": "ops/ms", "better": "higher"}
    assert found.attrs["metric"] == "throughput"
    found = read(tmp_path, entry("a", **RATE), entry("b", unit="ops/s", mode="thrpt")).isel(execution=0, iteration=0)
    assert found["throughput"].attrs["units"] == "ops/s"
    check(found, throughput=[1000.0, 1.0])


def test_all_modes_in_one_file(tmp_path):
    """Rates and times lie in their own variables, times in seconds; the mode is part of the label and a coordinate."""
    modes = {"thrpt": "ops/s", "avgt": "us/op", "sample": "s/op", "ss": "ms/op"}
    found = read(tmp_path, *(entry(unit=unit, mode=mode) for mode, unit in modes.items()))
    check(found, benchmark=[f"copy[mode={mode}]" for mode in modes], mode=list(modes))
    first = found.isel(execution=0, iteration=0)
    check(first, rtol=1e-7, time=[np.nan, 1e-6, 1.0, 1e-3], throughput=[1.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(("mode", "unit", "said", "metric"), [
    ("thrpt", "s/op", "the unit decides: read as a time", "time"), ("avgt", "ops/s", ".*throughput", "throughput"),
])  # fmt: skip
def test_the_unit_decides_and_one_warning_says_so(tmp_path, mode, unit, said, metric):
    """However many entries contradict themselves."""
    with pytest.warns(UserWarning, match=f"mode '{mode}' and unit '{unit}' contradict each other; {said}") as caught:
        found = read(tmp_path, *(entry(name, unit=unit, mode=mode) for name in "abc"))
    assert (len(caught), list(found)) == (1, [metric])


def test_values_of_other_kinds(tmp_path):
    """Mode sample has histograms, pairs of value and count, of which the mean is read; values may be "NaN"; scoreError is not read."""
    histogram = {"scoreUnit": "ms/op", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]], [[2.0, 1]], []]]}
    check(read(tmp_path, entry(mode="sample", primaryMetric=histogram)), rtol=1e-7, time=[[[2e-3, 2e-3, np.nan]]])
    assert np.isnan(read(tmp_path, entry(data=[["NaN", 1.0]]))["time"].values[0, 0, 0])


def test_costs(tmp_path):
    """An iteration takes the configured time, or one operation if that takes longer; the warm-up is that of a fork."""
    found = read(tmp_path, entry(data=[[3e9]], measurementTime="1 s", warmupTime="10 s", warmupIterations=5))
    check(found, iteration_seconds=3.0, execution_seconds=50.0)


def test_what_only_some_entries_say_is_unknown_elsewhere(tmp_path):
    """Versions may be missing in the whole file or in one entry; different benchmarks have different params."""
    bare = {key: value for key, value in entry("b", params=None).items() if key not in ("jmhVersion", "jdkVersion", "vmName")}
    assert "jdk_version" not in read(tmp_path, bare).coords
    check(read(tmp_path, entry("a", params={"size": "1"}), bare), jdk_version=["21", "unknown"], size=["1", "unknown"])


def test_settings_are_in_the_label_and_become_dims(tmp_path):
    settings = [(size, threads) for size in (16, 1024) for threads in (1, 4)]
    found = read(tmp_path, *(entry(data=[[float(size * n)]], threads=n, params={"size": str(size)}) for size, n in settings))
    assert found["benchmark"].values[-1] == "copy[size=1024,threads=4]"
    cube = found.set_index(benchmark=["benchmark_name", "size", "threads"]).unstack("benchmark")
    assert cube["time"].sel(benchmark_name="copy", size="1024", threads=4).item() == pytest.approx(4096e-9)


def test_jvm_args_that_alone_differ_are_a_dim(tmp_path):
    """`jvm_args` is a dim if results differ in nothing else, along which forks may differ; otherwise it describes benchmarks."""
    found = read(tmp_path, entry(jvmArgs=["-Xmx1g"]), entry(jvmArgs=["-Xmx2g", "-ea"], data=[[1.0], [2.0]]))
    check(found, jvm_args=["-Xmx1g", "-Xmx2g -ea"])
    assert found["time"].dims == ("benchmark", "jvm_args", "execution", "iteration")
    assert (found["forks"].dims, found["benchmark_name"].dims) == (("jvm_args",), ("benchmark",))
    found = read(tmp_path, entry("a", jvmArgs=["-ea"]), entry("b"))
    assert (found["jvm_args"].dims, found["time"].dims) == (("benchmark",), ("benchmark", "execution", "iteration"))


def test_the_same_twice_stays_twice(tmp_path):
    """Results with equal settings are kept, with one warning; `#2` stays behind the settings that other files make necessary."""
    with pytest.warns(UserWarning, match="occur more than once") as caught:
        check(read(tmp_path, entry(), entry()), benchmark=["copy", "copy#2"])
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="occur more than once"):
        found = read_versions(tmp_path, old=[entry(), entry()], new=[entry(threads=4)])
    check(found, benchmark=["copy[threads=1]", "copy[threads=1]#2", "copy[threads=4]"])


def test_params_named_like_dims_are_renamed(tmp_path):
    """A param must not take the place of a dim, a mark or a variable."""
    params = {"benchmark": "b", "version": "v", "time": "t", "warmup": "w", "threads": "8", "size": "1"}
    found = read(tmp_path, entry(params=params))
    assert {f"param_{name}" for name in params if name != "size"} | {"size"} <= set(found.coords)
    assert found["threads"].item() == 1


class TestSecondaryMetrics:
    """Profilers and the methods of a group are variables."""

    def test_names_lose_what_files_do_not_store(self, tmp_path):
        """The dot in front goes, a slash becomes an underscore; times are in seconds; perfasm and the like write "NaN" and "---"."""
        metrics = {
            "·gc.alloc.rate": secondary("MB/sec", [5.0, 6.0]),
            "·a/b": secondary("ms", [7.0, 8.0]),
            "·asm": secondary("---", ["NaN"]),
        }
        found = read(tmp_path, entry(secondaryMetrics=metrics))
        assert set(found) == {"time", "gc.alloc.rate", "a_b", "asm"}
        assert found["gc.alloc.rate"].attrs == {"units": "MB/sec", "better": "lower"}
        check(found, rtol=1e-7, a_b=[[[7e-3, 8e-3]]], asm=[[[np.nan, np.nan]]])
        assert found.attrs["metric"] == "time"

    def test_other_lengths_are_padded(self, tmp_path):
        """A profiler may have one value per fork, or more forks than the primary metric."""
        metrics = {"short": secondary("#", [5.0], []), "long": secondary("#", [1.0, 2.0, 3.0], [4.0], [6.0])}
        found = read(tmp_path, entry(data=[[1.0, 2.0], [3.0]], secondaryMetrics=metrics), entry("b"))
        none = [np.nan] * 3
        check(found.isel(benchmark=0), long=[[1, 2, 3], [4, np.nan, np.nan], [6, np.nan, np.nan]], short=[[5, np.nan, np.nan], none, none])
        check(found.isel(benchmark=0), rtol=1e-7, time=[[1e-9, 2e-9, np.nan], [3e-9, np.nan, np.nan], none])
        check(found.sel(benchmark="b"), long=[none] * 3)

    def test_names_of_ours_are_not_taken(self, tmp_path):
        """A group method called `time` or like a param is not the time."""
        metrics = {name: secondary("ops/s", [5.0]) for name in ("time", "mode", "size", "iteration")}
        found = read(tmp_path, entry(params={"size": "1"}, secondaryMetrics=metrics))
        assert set(found) == {"time", *(f"secondary_{name}" for name in metrics)}

    def test_one_name_with_two_meanings_is_two_variables(self, tmp_path):
        """A group measured in both modes has rates and times, in one file or several; they are not mixed."""
        rate, time = (entry(**own, secondaryMetrics={"put": secondary(own["unit"], [5.0])}) for own in (RATE, {"unit": "us/op"}))
        old, new = (write(tmp_path / f"{name}.json", [own]) for name, own in (("old", rate), ("new", time)))
        mid = write(tmp_path / "m.json", [entry(unit="ops/s", mode="thrpt", secondaryMetrics={"put": secondary("ops/s", [5.0])})])
        for found in (together := read(tmp_path, rate, time), perfarray.read_archive([old, mid, new])):
            assert set(found) == {"time", "throughput", "put_time", "put_throughput"}
            assert np.nanmax(found["put_time"]) == pytest.approx(5e-6)
            assert found.attrs["metric"] == "time"
        assert together["put_throughput"].attrs == {"units": "ops/ms", "better": "higher"}
        rates = perfarray.read_archive([old, mid])
        assert set(rates) == {"throughput", "put"}
        assert (rates["put"].attrs["units"], np.nanmax(rates["put"])) == ("ops/s", 5000.0)


class TestArchives:
    """The same benchmark has the same label in every file."""

    def test_mode_and_threads_agree(self, tmp_path):
        """What distinguishes entries in one file is named in all."""
        both = [entry("a", params={"size": "[1]"}), entry("b")]
        found = read_versions(tmp_path, old=both, new=[*both, entry("b", threads=4), entry("b", unit="ops/s", mode="thrpt")])
        labels = ["a[size=[1],mode=avgt,threads=1]", "b[mode=avgt,threads=1]", "b[mode=avgt,threads=4]", "b[mode=thrpt,threads=1]"]
        check(found, benchmark=labels)
        measured = found["time"].isel(execution=0, iteration=0).notnull()
        assert measured.values.tolist() == [[True, True], [True, True], [False, True], [False, False]]

    def test_a_mode_only_some_name_comes_before_threads(self, tmp_path):
        """The order of settings is params, mode, threads."""
        old, new = (entry(threads=4, params={"n": "1"}, **own) for own in ({}, {"unit": "ops/s", "mode": "thrpt"}))
        found = read_versions(tmp_path, old=[old], new=[new])
        check(found, benchmark=["copy[n=1,mode=avgt,threads=4]", "copy[n=1,mode=thrpt,threads=4]"])

    def test_jvm_args_are_a_dim_in_all_files_if_in_one(self, tmp_path):
        """A file where they describe joins one where they are compared."""
        old, new = entry(jvmArgs=["-ea"]), entry(jvmArgs=["-Xint"])
        found = read_versions(tmp_path, old=[old], new=[old, new])
        check(found, jvm_args=["-ea", "-Xint"])
        assert found["time"].isel(benchmark=0, execution=0, iteration=0).notnull().sum() == 3


test_what_is_wrong_is_said = refusals(
    read,
    "jmh.json",
    (entry(unit="parsecs"), "entry 0 has unit 'parsecs'; expected a time per operation"),
    (entry(primaryMetric={"score": 1.0, "scoreUnit": "ns/op"}), "entry 0: 'primaryMetric' has neither rawData nor rawDataHistogram"),
    (entry(data=[[1.0, "fast"]]), "entry 0: value 1 of fork 0 of 'time' is 'fast'; expected a number above 0"),
    (entry(data=[[1.0, None]]), "entry 0: value 1 of fork 0 of 'time' is None; expected a number above 0"),
    (entry(data=[[True]]), "entry 0: value 0 of fork 0 of 'time' is True; expected a number above 0"),
    (entry(data=[[]]), "has entries and no values in any of them"),
    (entry(data=[3.0]), r"is not as jmh writes it: \[0\]\.primaryMetric\.rawData\[0\] is 3\.0; expected a list$"),
    (entry(params=["size"]), r"is not as jmh writes it: \[0\]\.params is \['size'\]; expected an object$"),
)
test_a_forced_format_must_fit = refusals(
    lambda folder, content: read_content(folder, content, format="jmh"),
    "jmh.json",
    ({}, r"is not as jmh writes it: the document is \{\}; expected a list"),
    ([], "is an empty list"),
    ([1], r"is not as jmh writes it: \[0\] is 1; expected an object"),
)

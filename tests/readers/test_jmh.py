"""JMH files: units decide, forks are executions, settings are in the label."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import entry, secondary, write


def read(tmp_path, *entries, name="jmh.json"):
    return perfarray.read(write(tmp_path / name, list(entries)))


def test_forks_are_executions(tmp_path):
    """Rows are forks whatever `forks` says (0: in the harness's own process); ragged rows are padded."""
    times = read(tmp_path, entry(data=[[1.0, 2.0], [3.0], [4.0, 5.0]], forks=0))
    np.testing.assert_allclose(times["time"].values[0] * 1e9, [[1, 2], [3, np.nan], [4, 5]])
    assert times["forks"].item() == 0
    assert times["time"].attrs == {"units": "s", "better": "lower"}
    assert times.attrs == {"format": "jmh", "metric": "time"}


def test_forks_may_be_more_than_rows(tmp_path):
    assert read(tmp_path, entry(forks=828))["time"].sizes["execution"] == 1


def test_throughput_is_never_time(tmp_path):
    """A rate keeps its unit and is better high."""
    found = read(tmp_path, entry(unit="ops/ms", mode="thrpt"))
    assert list(found) == ["throughput"]
    assert found["throughput"].attrs == {"units": "ops/ms", "better": "higher"}
    assert found.attrs["metric"] == "throughput"


def test_all_modes_in_one_file(tmp_path):
    """Rates and times lie in their own variables; the mode is part of the label and a coordinate."""
    found = read(
        tmp_path,
        entry(unit="ops/s", mode="thrpt"),
        entry(unit="us/op"),
        entry(unit="s/op", mode="sample"),
        entry(unit="ms/op", mode="ss"),
    )
    assert found["benchmark"].values.tolist() == [f"copy[mode={mode}]" for mode in ("thrpt", "avgt", "sample", "ss")]
    assert found["mode"].values.tolist() == ["thrpt", "avgt", "sample", "ss"]
    np.testing.assert_allclose(found["time"].isel(execution=0, iteration=0), [np.nan, 1e-6, 1.0, 1e-3])
    np.testing.assert_allclose(found["throughput"].isel(execution=0, iteration=0), [1.0, np.nan, np.nan, np.nan])


def test_the_unit_decides_and_one_warning_says_so(tmp_path):
    """`s/op` with mode thrpt is a time; however many entries are so, the warning is one."""
    with pytest.warns(UserWarning, match="mode 'thrpt' and unit 's/op' contradict each other; the unit decides: read as a time") as caught:
        found = read(tmp_path, *(entry(name, unit="s/op", mode="thrpt") for name in "abc"))
    assert len(caught) == 1
    assert list(found) == ["time"]


def test_a_rate_with_a_mode_of_times_is_a_rate(tmp_path):
    with pytest.warns(UserWarning, match="mode 'avgt' and unit 'ops/s' contradict each other.*throughput"):
        assert list(read(tmp_path, entry(unit="ops/s"))) == ["throughput"]


def test_times_of_several_units_are_seconds(tmp_path):
    found = read(tmp_path, entry("a", unit="ns/op"), entry("b", unit="us/op"))
    np.testing.assert_allclose(found["time"].isel(execution=0, iteration=0), [1e-9, 1e-6])


def test_rates_of_several_units_are_per_second(tmp_path):
    """ops/ms and ops/s meet in ops/s."""
    found = read(tmp_path, entry("a", unit="ops/ms", mode="thrpt"), entry("b", unit="ops/s", mode="thrpt"))
    assert found["throughput"].attrs["units"] == "ops/s"
    np.testing.assert_allclose(found["throughput"].isel(execution=0, iteration=0), [1000.0, 1.0])


def test_histograms_give_the_mean_of_each_iteration(tmp_path):
    """Mode sample has pairs of value and count, and no rawData."""
    histogram = {"scoreUnit": "ms/op", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]], [[2.0, 1]], []]]}
    found = read(tmp_path, entry(mode="sample", primaryMetric=histogram))
    np.testing.assert_allclose(found["time"].values.ravel(), [2e-3, 2e-3, np.nan])


def test_not_a_number_is_text_in_json(tmp_path):
    """Values may be "NaN" and "+INF"; scoreError is not read."""
    assert np.isnan(read(tmp_path, entry(data=[["NaN", 1.0]]))["time"].values[0, 0, 0])


def test_costs(tmp_path):
    """An iteration takes the configured time, or one operation if that takes longer; the warm-up is that of a fork."""
    found = read(tmp_path, entry(data=[[3e9]], measurementTime="1 s", warmupTime="10 s", warmupIterations=5))
    assert (found["iteration_seconds"].item(), found["execution_seconds"].item()) == (3.0, 50.0)


def test_old_files_lack_versions(tmp_path):
    """jmhVersion and jdkVersion may be missing, in the whole file or in one entry."""
    bare = {key: value for key, value in entry("b").items() if key not in ("jmhVersion", "jdkVersion", "vmName")}
    assert "jdk_version" not in read(tmp_path, bare).coords
    assert read(tmp_path, entry("a"), bare)["jdk_version"].values.tolist() == ["21", "unknown"]


def test_settings_are_in_the_label_and_become_dims(tmp_path):
    """Params, mode and threads tell entries of one name apart, and unstack."""
    entries = [
        entry(data=[[float(size * threads)]], threads=threads, params={"size": str(size)}) for size in (16, 1024) for threads in (1, 4)
    ]
    found = read(tmp_path, *entries)
    assert found["benchmark"].values[-1] == "copy[size=1024,threads=4]"
    cube = found.set_index(benchmark=["benchmark_name", "size", "threads"]).unstack("benchmark")
    assert cube["time"].sel(benchmark_name="copy", size="1024", threads=4).item() == pytest.approx(4096e-9)


def test_jvm_args_that_alone_differ_are_a_dim(tmp_path):
    """`jvm_args` is a dim if results differ in nothing else; forks may differ along it."""
    found = read(tmp_path, entry(jvmArgs=["-Xmx1g"]), entry(jvmArgs=["-Xmx2g", "-ea"], data=[[1.0], [2.0]]))
    assert found["jvm_args"].values.tolist() == ["-Xmx1g", "-Xmx2g -ea"]
    assert found["time"].dims == ("benchmark", "jvm_args", "execution", "iteration")
    assert found["forks"].dims == ("jvm_args",)
    assert found["benchmark_name"].dims == ("benchmark",)


def test_jvm_args_are_a_coordinate_otherwise(tmp_path):
    found = read(tmp_path, entry("a", jvmArgs=["-ea"]), entry("b"))
    assert found["jvm_args"].dims == ("benchmark",)
    assert found["time"].dims == ("benchmark", "execution", "iteration")


def test_the_same_twice_stays_twice(tmp_path):
    """Results with equal settings are kept, with one warning."""
    with pytest.warns(UserWarning, match="occur more than once") as caught:
        found = read(tmp_path, entry(), entry())
    assert len(caught) == 1
    assert found["benchmark"].values.tolist() == ["copy", "copy#2"]


def test_params_named_like_dims_are_renamed(tmp_path):
    """A param must not take the place of a dim, a mark or a variable."""
    params = {"benchmark": "b", "version": "v", "time": "t", "warmup": "w", "threads": "8", "size": "1"}
    found = read(tmp_path, entry(params=params))
    assert {f"param_{name}" for name in params if name != "size"} | {"size"} <= set(found.coords)
    assert found["threads"].item() == 1


def test_a_param_only_some_have_is_unknown_elsewhere(tmp_path):
    """Different benchmarks have different params."""
    found = read(tmp_path, entry("a", params={"size": "1"}), entry("b", params=None))
    assert found["size"].values.tolist() == ["1", "unknown"]


class TestSecondaryMetrics:
    """Profilers and the methods of a group are variables."""

    def test_names_lose_what_files_do_not_store(self, tmp_path):
        """The dot in front goes, a slash becomes an underscore; times are in seconds."""
        metrics = {"·gc.alloc.rate": secondary("MB/sec", [5.0, 6.0]), "·a/b": secondary("ms", [7.0, 8.0])}
        found = read(tmp_path, entry(secondaryMetrics=metrics))
        assert set(found) == {"time", "gc.alloc.rate", "a_b"}
        assert found["gc.alloc.rate"].attrs == {"units": "MB/sec", "better": "lower"}
        np.testing.assert_allclose(found["a_b"].values.ravel(), [7e-3, 8e-3])
        assert found.attrs["metric"] == "time"

    def test_other_lengths_are_padded(self, tmp_path):
        """A profiler may have one value per fork, or more forks than the primary metric."""
        metrics = {"short": secondary("#", [5.0], []), "long": secondary("#", [1.0, 2.0, 3.0], [4.0], [6.0])}
        found = read(tmp_path, entry(data=[[1.0, 2.0], [3.0]], secondaryMetrics=metrics), entry("b"))
        np.testing.assert_array_equal(found["long"].values[0], [[1, 2, 3], [4, np.nan, np.nan], [6, np.nan, np.nan]])
        np.testing.assert_array_equal(found["short"].values[0], [[5, np.nan, np.nan], [np.nan] * 3, [np.nan] * 3])
        np.testing.assert_allclose(found["time"].values[0] * 1e9, [[1, 2, np.nan], [3, np.nan, np.nan], [np.nan] * 3])
        assert np.isnan(found["long"].sel(benchmark="b")).all()

    def test_names_of_ours_are_not_taken(self, tmp_path):
        """A group method called `time` or like a param is not the time."""
        metrics = {name: secondary("ops/s", [5.0]) for name in ("time", "mode", "size", "iteration")}
        found = read(tmp_path, entry(params={"size": "1"}, secondaryMetrics=metrics))
        assert set(found) == {"time", *(f"secondary_{name}" for name in metrics)}

    def test_one_name_with_two_meanings_is_two_variables(self, tmp_path):
        """A group measured in both modes has rates and times; they are not mixed."""
        found = read(
            tmp_path,
            entry(unit="ops/ms", mode="thrpt", secondaryMetrics={"put": secondary("ops/ms", [5.0])}),
            entry(unit="us/op", secondaryMetrics={"put": secondary("us/op", [5.0])}),
        )
        assert set(found) == {"time", "throughput", "put_time", "put_throughput"}
        assert np.nanmax(found["put_time"]) == pytest.approx(5e-6)
        assert found["put_throughput"].attrs == {"units": "ops/ms", "better": "higher"}

    def test_a_profiler_without_numbers(self, tmp_path):
        """perfasm and the like write "NaN" and the unit "---"."""
        found = read(tmp_path, entry(secondaryMetrics={"·asm": secondary("---", ["NaN"])}))
        assert np.isnan(found["asm"]).all()


class TestArchives:
    """The same benchmark has the same label in every file."""

    def test_mode_and_threads_agree(self, tmp_path):
        """What distinguishes entries in one file is named in all."""
        old = write(tmp_path / "old.json", [entry("a", params={"size": "[1]"}), entry("b")])
        new = write(
            tmp_path / "new.json",
            [entry("a", params={"size": "[1]"}), entry("b"), entry("b", threads=4), entry("b", unit="ops/s", mode="thrpt")],
        )
        found = perfarray.read_archive({"old": old, "new": new}, dim="version")
        assert found["benchmark"].values.tolist() == [
            "a[size=[1],mode=avgt,threads=1]", "b[mode=avgt,threads=1]", "b[mode=avgt,threads=4]", "b[mode=thrpt,threads=1]",
        ]  # fmt: skip
        assert found["time"].isel(execution=0, iteration=0).notnull().values.tolist() == [
            [True, True], [True, True], [False, True], [False, False],
        ]  # fmt: skip

    def test_repeats_keep_their_number(self, tmp_path):
        """`#2` stays behind the settings."""
        with pytest.warns(UserWarning, match="occur more than once"):
            found = perfarray.read_archive(
                {"old": write(tmp_path / "o.json", [entry(), entry()]), "new": write(tmp_path / "n.json", [entry(threads=4)])},
                dim="version",
            )
        assert found["benchmark"].values.tolist() == ["copy[threads=1]", "copy[threads=1]#2", "copy[threads=4]"]

    def test_a_mode_only_some_name_comes_before_threads(self, tmp_path):
        """The order of settings is params, mode, threads."""
        old = write(tmp_path / "o.json", [entry(threads=4, params={"n": "1"})])
        new = write(tmp_path / "n.json", [entry(threads=4, unit="ops/s", mode="thrpt", params={"n": "1"})])
        found = perfarray.read_archive({"old": old, "new": new}, dim="version")
        assert found["benchmark"].values.tolist() == ["copy[n=1,mode=avgt,threads=4]", "copy[n=1,mode=thrpt,threads=4]"]

    def test_jvm_args_are_a_dim_in_all_files_if_in_one(self, tmp_path):
        """A file where they describe joins one where they are compared."""
        old = write(tmp_path / "o.json", [entry(jvmArgs=["-ea"])])
        new = write(tmp_path / "n.json", [entry(jvmArgs=["-ea"]), entry(jvmArgs=["-Xint"])])
        found = perfarray.read_archive({"old": old, "new": new}, dim="version")
        assert found["jvm_args"].values.tolist() == ["-ea", "-Xint"]
        assert found["time"].isel(benchmark=0, execution=0, iteration=0).notnull().sum() == 3

    def test_group_methods_of_other_units_are_not_mixed(self, tmp_path):
        """A name that is a rate in one file and a time in the next is two variables; rates in two units meet in one."""
        old = write(tmp_path / "o.json", [entry(unit="ops/ms", mode="thrpt", secondaryMetrics={"put": secondary("ops/ms", [5.0])})])
        mid = write(tmp_path / "m.json", [entry(unit="ops/s", mode="thrpt", secondaryMetrics={"put": secondary("ops/s", [5.0])})])
        new = write(tmp_path / "n.json", [entry(secondaryMetrics={"put": secondary("ns/op", [5.0])})])
        rates = perfarray.read_archive([old, mid])
        assert set(rates) == {"throughput", "put"}
        assert rates["put"].attrs["units"] == "ops/s"
        assert np.nanmax(rates["put"]) == 5000.0
        both = perfarray.read_archive([old, mid, new])
        assert set(both) == {"throughput", "time", "put_throughput", "put_time"}
        assert both.attrs["metric"] == "time"


@pytest.mark.parametrize(("content", "message"), [
    (entry(unit="parsecs"), "entry 0 has unit 'parsecs'; expected a time per operation"),
    (entry(primaryMetric={"score": 1.0, "scoreUnit": "ns/op"}), "entry 0: 'primaryMetric' has neither rawData nor rawDataHistogram"),
    (entry(data=[[1.0, "fast"]]), "entry 0: value 1 of fork 0 of 'time' is 'fast'; expected a number above 0"),
    (entry(data=[[1.0, None]]), "entry 0: value 1 of fork 0 of 'time' is None; expected a number above 0"),
    (entry(data=[[True]]), "entry 0: value 0 of fork 0 of 'time' is True; expected a number above 0"),
    (entry(data=[[]]), "has entries and no values in any of them"),
    (entry(data=[3.0]), r"is not as jmh writes it: \[0\]\.primaryMetric\.rawData\[0\] is 3\.0; expected a list$"),
    (entry(params=["size"]), r"is not as jmh writes it: \[0\]\.params is \['size'\]; expected an object$"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, content)
    assert str(caught.value).startswith(str(tmp_path / "jmh.json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [({}, r"the document is \{\}; expected a list"), ([], "is an empty list"), ([1], r"\[0\] is 1; expected an object")],
)
def test_a_forced_format_must_fit(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        perfarray.read(write(tmp_path / "file.json", content), format="jmh")

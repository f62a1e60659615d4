"""JMH files: units decide, forks are executions, settings are in the label."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import NAN, check, entry, reader, readings, refusals, secondary, write

RATE = {"unit": "ops/ms", "mode": "thrpt"}

read_content = reader("jmh.json")


def read(tmp_path, *entries):
    return read_content(tmp_path, list(entries))


def read_versions(tmp_path, **versions):
    """Read an archive of files that are lists of entries, along `version`."""
    return perfarray.read_archive(
        {name: write(tmp_path / f"{name}.json", entries) for name, entries in versions.items()},
        dim="version",
    )


MODES = {"thrpt": "ops/s", "avgt": "us/op", "sample": "s/op", "ss": "ms/op"}
HISTOGRAM = {"scoreUnit": "ms/op", "rawDataHistogram": [[[[1.0, 3], [5.0, 1]], [[2.0, 1]], []]]}
BARE = {
    key: value
    for key, value in entry("b", params=None).items()
    if key not in ("jmhVersion", "jdkVersion", "vmName")
}
PROFILERS = {
    "·gc.alloc.rate": secondary("MB/sec", [5.0, 6.0]),
    "·a/b": secondary("ms", [7.0, 8.0]),
    "·asm": secondary("---", ["NaN"]),
}
LENGTHS = {
    "short": secondary("#", [5.0], []),
    "long": secondary("#", [1.0, 2.0, 3.0], [4.0], [6.0]),
}
PARAMS = {"benchmark": "b", "version": "v", "time": "t", "warmup": "w", "threads": "8", "size": "1"}
GROUPS = {name: secondary("ops/s", [5.0]) for name in ("time", "mode", "size", "iteration")}
NONE = [NAN] * 3

test_what_is_read = readings(
    lambda folder, entries: read(folder, *entries),
    [
        (
            "rows are forks, which are executions, whatever `forks` says; ragged rows are padded",
            [entry(data=[[1.0, 2.0], [3.0], [4.0, 5.0]], forks=0)],
            {
                "time": [[[1e-9, 2e-9], [3e-9, NAN], [4e-9, 5e-9]]],
                "forks": 0,
                "time.attrs": {"units": "s", "better": "lower"},
                "format": "jmh",
                "metric": "time",
                "rtol": 1e-7,
            },
        ),
        (
            "forks may be more than rows",
            [entry(forks=828)],
            {"time": [[[1e-9, 2e-9]]], "forks": 828, "rtol": 1e-7},
        ),
        (
            "throughput is never time",
            [entry(**RATE)],
            {
                "metrics": ["throughput"],
                "throughput.attrs": {"units": "ops/ms", "better": "higher"},
                "metric": "throughput",
            },
        ),
        (
            "rates of several units are per second",
            [entry("a", **RATE), entry("b", unit="ops/s", mode="thrpt")],
            {"throughput.units": "ops/s", "throughput": [[[1000.0, 2000.0]], [[1.0, 2.0]]]},
        ),
        (
            (
                "rates and times lie in their own variables; the mode is part of the label and a "
                "coordinate"
            ),
            [entry(unit=unit, mode=mode, data=[[1.0]]) for mode, unit in MODES.items()],
            {
                "benchmark": [f"copy[mode={mode}]" for mode in MODES],
                "mode": list(MODES),
                "time": [[[NAN]], [[1e-6]], [[1.0]], [[1e-3]]],
                "throughput": [[[1.0]], [[NAN]], [[NAN]], [[NAN]]],
                "rtol": 1e-7,
            },
        ),
        (
            "of histograms, pairs of value and count, the mean is read",
            [entry(mode="sample", primaryMetric=HISTOGRAM)],
            {"time": [[[2e-3, 2e-3, NAN]]], "rtol": 1e-7},
            "value 2 of fork 0 of 'time' is nan",
        ),
        (
            "a text may stand for no number, which is missing and named; scoreError is not read",
            [entry(data=[[1.0]]), entry("b", [["NaN", 1.0]])],
            {"time": [[[1e-9, NAN]], [[NAN, 1e-9]]], "rtol": 1e-7, "notes": ["no_numbers"]},
            "1 value is missing: \"b: entry 1: value 0 of fork 0 of 'time' is NaN\"",
        ),
        (
            "so may a null, in the time or in what a profiler counted",
            [
                entry(
                    "a",
                    [[1.0], [2.0, None]],
                    secondaryMetrics={"n": secondary("#", ["+INF", 0.0], [3.0])},
                ),
                entry("b", [[0.0]], secondaryMetrics={"n": secondary("#", [0.0])}),
            ],
            {
                "time": [[[1e-9, NAN], [2e-9, NAN]], [[0.0, NAN], NONE[:2]]],
                "n": [[[NAN, 0.0], [3.0, NAN]], [[0.0, NAN], NONE[:2]]],
                "rtol": 1e-7,
            },
            (
                "2 values are missing: \"a: entry 0: value 1 of fork 1 of 'time' is null\", "
                '"a: entry 0: '
                "value 0 of fork 0 of 'n' is [+]INF\""
            ),
        ),
        (
            (
                "an iteration takes the configured time, or one operation if that takes "
                "longer; the "
                "warm-up is that of a fork"
            ),
            [entry(data=[[3e9]], measurementTime="1 s", warmupTime="10 s", warmupIterations=5)],
            {"iteration_seconds": 3.0, "execution_seconds": 50.0},
        ),
        (
            "no warm-up takes no time, whether its time is stated or not",
            [entry("a", warmupIterations=0), entry("b", warmupIterations=1)],
            {"execution_seconds": [[0.0], [NAN]]},
        ),
        ("versions may be missing in the whole file", [BARE], {"absent": ["jdk_version"]}),
        (
            "what one entry does not say is unknown",
            [entry("a", params={"size": "1"}), BARE],
            {"jdk_version": ["21", "unknown"], "size": ["1", "unknown"]},
        ),
        (
            "`jvm_args` is a dim if results differ in nothing else, along which forks may differ",
            [entry(jvmArgs=["-Xmx1g"]), entry(jvmArgs=["-Xmx2g", "-ea"], data=[[1.0], [2.0]])],
            {
                "jvm_args": ["-Xmx1g", "-Xmx2g -ea"],
                "time.dims": ("benchmark", "jvm_args", "execution", "iteration"),
                "forks.dims": ("jvm_args",),
                "benchmark_name.dims": ("benchmark",),
            },
        ),
        (
            "`jvm_args` describes benchmarks otherwise",
            [entry("a", jvmArgs=["-ea"]), entry("b")],
            {"jvm_args.dims": ("benchmark",), "time.dims": ("benchmark", "execution", "iteration")},
        ),
        (
            "a param does not take the place of a dim, a mark or a variable",
            [entry(params=PARAMS)],
            {
                **{f"param_{name}": value for name, value in PARAMS.items() if name != "size"},
                "size": "1",
                "threads": 1,
            },
        ),
        (
            (
                "names of secondary metrics lose the dot in front, a slash becomes an underscore; "
                "times are in seconds; profilers write no numbers"
            ),
            [entry(secondaryMetrics=PROFILERS)],
            {
                "metrics": ["time", "gc.alloc.rate", "a_b", "asm"],
                "gc.alloc.rate.attrs": {"units": "MB/sec", "better": "lower"},
                "a_b": [[[7e-3, 8e-3]]],
                "asm": [[[NAN, NAN]]],
                "metric": "time",
                "rtol": 1e-7,
            },
        ),
        (
            "a profiler may have one value per fork, or more forks than the primary metric",
            [entry(data=[[1.0, 2.0], [3.0]], secondaryMetrics=LENGTHS), entry("b", data=[[1.0]])],
            {
                "long": [[[1, 2, 3], [4, NAN, NAN], [6, NAN, NAN]], [NONE] * 3],
                "short": [[[5, NAN, NAN], NONE, NONE], [NONE] * 3],
                "time": [
                    [[1e-9, 2e-9, NAN], [3e-9, NAN, NAN], NONE],
                    [[1e-9, NAN, NAN], NONE, NONE],
                ],
                "rtol": 1e-7,
            },
        ),
        (
            "a group method called `time` or like a param is not the time",
            [entry(params={"size": "1"}, secondaryMetrics=GROUPS)],
            {"metrics": ["time", *(f"secondary_{name}" for name in GROUPS)]},
        ),
    ],
)


@pytest.mark.parametrize(
    ("mode", "unit", "message", "metric"),
    [
        ("thrpt", "s/op", "The unit decides: values are read as a time", "time"),
        ("avgt", "ops/s", ".*throughput", "throughput"),
    ],
)
def test_the_unit_decides_and_one_warning_says_so(tmp_path, mode, unit, message, metric):
    """However many entries contradict themselves."""
    with pytest.warns(
        UserWarning, match=f"mode '{mode}' and unit '{unit}' contradict each other. {message}"
    ) as caught:
        times = read(tmp_path, *(entry(name, unit=unit, mode=mode) for name in "abc"))
    assert (len(caught), list(times)) == (1, [metric])


def test_settings_are_in_the_label_and_become_dims(tmp_path):
    settings = [(size, threads) for size in (16, 1024) for threads in (1, 4)]
    times = read(
        tmp_path,
        *(
            entry(data=[[float(size * n)]], threads=n, params={"size": str(size)})
            for size, n in settings
        ),
    )
    assert times["benchmark"].values[-1] == "copy[size=1024,threads=4]"
    cube = times.set_index(benchmark=["benchmark_name", "size", "threads"]).unstack("benchmark")
    assert cube["time"].sel(benchmark_name="copy", size="1024", threads=4).item() == pytest.approx(
        4096e-9
    )


def test_the_same_twice_stays_twice(tmp_path):
    """Results with equal settings are kept, with one warning; `#2` stands behind settings."""
    with pytest.warns(UserWarning, match="occur more than once") as caught:
        check(read(tmp_path, entry(), entry()), benchmark=["copy", "copy#2"])
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="occur more than once"):
        times = read_versions(tmp_path, old=[entry(), entry()], new=[entry(threads=4)])
    check(times, benchmark=["copy[threads=1]", "copy[threads=1]#2", "copy[threads=4]"])


def test_one_name_with_two_meanings_is_two_variables(tmp_path):
    """A group measured in both modes has rates and times, in one file or several; they are not
    mixed."""
    rate, time = (
        entry(**fields, secondaryMetrics={"put": secondary(fields["unit"], [5.0])})
        for fields in (RATE, {"unit": "us/op"})
    )
    old, new = (
        write(tmp_path / f"{name}.json", [fields])
        for name, fields in (("old", rate), ("new", time))
    )
    mid = write(
        tmp_path / "m.json",
        [entry(unit="ops/s", mode="thrpt", secondaryMetrics={"put": secondary("ops/s", [5.0])})],
    )
    for variables in (
        together := read(tmp_path, rate, time),
        perfarray.read_archive([old, mid, new]),
    ):
        assert set(variables) == {"time", "throughput", "put_time", "put_throughput"}
        assert np.nanmax(variables["put_time"]) == pytest.approx(5e-6)
        assert variables.attrs["metric"] == "time"
    assert together["put_throughput"].attrs == {"units": "ops/ms", "better": "higher"}
    rates = perfarray.read_archive([old, mid])
    assert set(rates) == {"throughput", "put"}
    assert (rates["put"].attrs["units"], np.nanmax(rates["put"])) == ("ops/s", 5000.0)


class TestArchives:
    """The same benchmark has the same label in every file."""

    def test_mode_and_threads_agree(self, tmp_path):
        """What distinguishes entries in one file is named in all."""
        entries = [entry("a", params={"size": "[1]"}), entry("b")]
        times = read_versions(
            tmp_path,
            old=entries,
            new=[*entries, entry("b", threads=4), entry("b", unit="ops/s", mode="thrpt")],
        )
        labels = [
            "a[size=[1],mode=avgt,threads=1]",
            "b[mode=avgt,threads=1]",
            "b[mode=avgt,threads=4]",
            "b[mode=thrpt,threads=1]",
        ]
        check(times, benchmark=labels)
        measured = times["time"].isel(execution=0, iteration=0).notnull()
        assert measured.values.tolist() == [
            [True, True],
            [True, True],
            [False, True],
            [False, False],
        ]

    def test_a_mode_only_some_name_comes_before_threads(self, tmp_path):
        """The order of settings is params, mode, threads."""
        old, new = (
            entry(threads=4, params={"n": "1"}, **fields)
            for fields in ({}, {"unit": "ops/s", "mode": "thrpt"})
        )
        times = read_versions(tmp_path, old=[old], new=[new])
        check(times, benchmark=["copy[n=1,mode=avgt,threads=4]", "copy[n=1,mode=thrpt,threads=4]"])

    def test_jvm_args_are_a_dim_in_all_files_if_in_one(self, tmp_path):
        """A file where they describe joins one where they are compared."""
        old, new = entry(jvmArgs=["-ea"]), entry(jvmArgs=["-Xint"])
        times = read_versions(tmp_path, old=[old], new=[old, new])
        check(times, jvm_args=["-ea", "-Xint"])
        assert times["time"].isel(benchmark=0, execution=0, iteration=0).notnull().sum() == 3


test_what_is_wrong_is_said = refusals(
    read,
    "jmh.json",
    [
        (entry(unit="parsecs"), "entry 0 has unit 'parsecs'; expected a time per operation"),
        (
            entry(primaryMetric={"score": 1.0, "scoreUnit": "ns/op"}),
            "entry 0: 'primaryMetric' has neither rawData nor rawDataHistogram",
        ),
        (
            entry(data=[[1.0, -1.0]]),
            r"entry 0: value 1 of fork 0 of 'time' is -1\.0; expected a number from 0",
        ),
        (
            entry(data=[[True]]),
            "entry 0: value 0 of fork 0 of 'time' is True; expected a number from 0",
        ),
        (entry(data=[[]]), "has entries and no values in any of them"),
        (
            entry(data=[3.0]),
            (
                r"is not as jmh writes it: \[0\]\.primaryMetric\.rawData\[0\] is 3\.0; expected a "
                r"list$"
            ),
        ),
        (
            entry(params=["size"]),
            r"is not as jmh writes it: \[0\]\.params is \['size'\]; expected an object$",
        ),
    ],
)
test_a_forced_format_must_fit = refusals(
    lambda folder, content: read_content(folder, content, format="jmh"),
    "jmh.json",
    [
        ({}, r"is not as jmh writes it: the document is \{\}; expected a list"),
        ([], "is an empty list"),
        ([1], r"is not as jmh writes it: \[0\] is 1; expected an object"),
    ],
)

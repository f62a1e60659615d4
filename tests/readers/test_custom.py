"""What the caller says of a file: settings and columns that are dims, CSV without a header,
patterns of home-grown files."""

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.readers import custom
from perfarray.readers.opening import FileOptions, Source
from readers.files_of_our_own import NAN, check, entry, reader, readings, write

read = reader("a.csv")
read_json = reader("a.json")


def google(name, value, threads):
    more = {
        "run_name": name,
        "run_type": "iteration",
        "real_time": value,
        "time_unit": "s",
        "iterations": 1,
    }
    return {"name": name, **more, "threads": threads}


def test_a_setting_becomes_a_dim(tmp_path):
    """The setting is taken out of the labels; other metadata stay; files of an archive agree."""
    rows = [google(f"BM_copy/{size}/threads:{n}", size * n, n) for size in (8, 64) for n in (1, 2)]
    content = {"context": {"num_cpus": 4}, "benchmarks": rows}
    found = read_json(tmp_path, content, dims={"threads": "threads"})
    check(found, benchmark=["BM_copy[arg0=8]", "BM_copy[arg0=64]"], threads=[1, 2], arg0=[8, 64])
    check(found.squeeze(), time=[[8, 16], [64, 128]])
    check(
        read_json(tmp_path, content, dims={"threads": "threads", "size": "arg0"}),
        benchmark=["BM_copy"],
        size=[8, 64],
    )
    assert (
        perfarray.read_archive(tmp_path, layout="{version}.json", dims={"threads": "threads"})[
            "time"
        ].sizes["threads"]
        == 2
    )
    java = [entry(threads=n, data=((float(n), 2.0),), params={"k": "1"}) for n in (1, 4)]
    times = read_json(tmp_path, java, dims={"threads": "threads"})
    check(times, benchmark=["copy[k=1]"])
    check(times.sel(threads=4).squeeze(), rtol=1e-7, time=[4e-9, 2e-9])


def test_a_setting_becomes_a_level(tmp_path):
    """A setting may be a level that the file does not have; numbers are sorted by value, and come
    before texts."""
    rows = [google(f"BM/run:{label}", time, 1) for label, time in (("x", 7.0), (10, 5.0), (9, 3.0))]
    times = read_json(tmp_path, {"context": {}, "benchmarks": rows}, dims={"session": "run"})[
        "time"
    ]
    assert times.sizes == {"benchmark": 1, "session": 3, "execution": 1, "iteration": 1}
    assert times.values.ravel().tolist() == [3.0, 5.0, 7.0]


def test_the_name_becomes_a_dim(tmp_path):
    """Implementations in one file are compared over their arguments, which are then the labels of
    benchmarks."""
    times = {"std": 4.0, "own": 2.0}
    rows = [
        google(f"BM_{name}/{size}", size * time, 1)
        for name, time in times.items()
        for size in (8, 64)
    ]
    implementations = read_json(
        tmp_path, {"context": {}, "benchmarks": rows}, dims={"impl": "benchmark_name"}
    )
    check(implementations, benchmark=["arg0=8", "arg0=64"], impl=["BM_std", "BM_own"])
    check(implementations.squeeze(), time=[[32, 16], [256, 128]])
    rows = [google(f"BM_{name}", time, 1) for name, time in times.items()]
    check(
        read_json(tmp_path, {"context": {}, "benchmarks": rows}, dims={"impl": "benchmark_name"}),
        benchmark=["all"],
    )
    java = [
        entry(f"org.{name}.run", params={"n": n}, data=((time,),))
        for name, time in times.items()
        for n in (1, 2)
    ]
    check(
        read_json(tmp_path, java, dims={"impl": "benchmark_name"}),
        benchmark=["n=1", "n=2"],
        impl=["org.std.run", "org.own.run"],
    )


NAMED = {"benchmark": "program", "threads": "n", "time_ms": "ms"}
DUMP = '"2009-12-14"\t"00:52"\t5\t"us-east-1d\\"\n"2009-12-14"\t"01:52"\t\\N\t"us-east-1d\\"\n12/14/09\t02:52\t7\t"us-east-1c\\"\n'
R = '"";"test";"time";"rank"\n"620001";"Scan";554.08;1\n"620002";"Scan";36;2\n'
GRID = {
    "benchmark": ["fft", "sort"],
    "threads": [2, 4],
    "time": [[[0.01], [0.006]], [[0.001], [0.0015]]],
    "rtol": 1e-7,
}

test_columns_of_a_table = readings(lambda folder, given: read(folder, given[0], dims=given[1]), [
    ("columns are named by their places in a table without a header",
     ("fft,2,10\nfft,4,6\nsort,2,1\nsort,4,1.5\n", {"benchmark": 0, "threads": 1, "time_ms": 2}), GRID),
    ("columns are named by their heads", ("program;n;ms\nfft;2;10\nfft;4;6\nsort;2;1\nsort;4;1.5\n", NAMED), GRID),
    ((
            "`metric` names the column of another value; a column `time` beside it is no time, and "
            "`NULL` of a database is missing"
        ),
     ("# a history\ntime,svs\n2023-04-07,59.5\n2023-04-08,NaN\n", {"date": "time", "metric": "svs"}),
     {"svs": [[59.5], [NAN]], "date": ["2023-04-07", "2023-04-08"]}),
    ("a value without a name", ("fft,5\n", {"benchmark": 0, "metric": 1}), {"value": 5}),
    ("a score beside times is a label", ("benchmark,mix,time\nfft,0.5,1\nfft,0.7,2\n", {"ratio": "mix"}), {"time": [[[1], [2]]]}),
    ((
            "of a database: tabs and no header, a quoted text that ends in a backslash, `\\N` for "
            "what is missing"
        ),
     (DUMP, {"zone": 3, "date": 0, "execution": 1, "metric": 2}),
     {"zone": ["us-east-1d\\", "us-east-1c\\"], "date": ["2009-12-14", "12/14/09"],
      "value": [[[5.0, NAN], [NAN] * 2], [[NAN] * 2, [7.0, NAN]]]}),
    ("of R: row numbers in a column without a name", (R, {"benchmark": "test", "time_us": "time", "iteration": "rank"}),
     {"time": [[[554.08e-6, 36e-6]]], "rtol": 1e-7}),
])  # fmt: skip


PHASES = {"new": {"warmup": [9.0], "runs": [1.0, 2.0]}, "old": {"warmup": [], "runs": [3.0]}}
ROWS = {
    "host": "h",
    "results": [{"name": "fft", "n": 8, "s": [1.0]}, {"name": "sort", "n": 9, "s": [2.0, 4.0]}],
}
COLUMNS = "gzip,,\n ,r1, r10\ncpu,X,X\nTime,5,6\nTime,7,\n"
NOTE = "1 rows have text where numbers are expected.*passed over"

test_patterns = readings(lambda folder, given: read(folder, given[0], **given[1]), [
    ("names in a pattern become dims, plain keys select", (PHASES, {"pattern": "{version}/runs/{iteration} = time_ms"}),
     {"time": [[[1e-3, 2e-3]], [[3e-3, NAN]]], "rtol": 1e-7}),
    ("every name is a dim", (PHASES, {"pattern": "{version}/{phase}/{iteration}"}),
     {"time.dims": ("version", "phase", "execution", "iteration"), "time": [[[[9.0, NAN]], [[1.0, 2.0]]], [[[NAN] * 2], [[3.0, NAN]]]]}),
    ("values beside the numbers are metadata", (ROWS, {"pattern": "results/{place}/s/{execution}", "dims": {"benchmark": "name"}}),
     {"benchmark": ["fft", "sort"], "host": "h"}),
    ("columns are repetitions; lines above the heads and rows of text are passed over",
     (COLUMNS, {"pattern": "r{execution} = time_ms", "dims": {"benchmark": 0}}),
     {"benchmark": ["Time"], "time": [[[0.005, 0.007], [0.006, NAN]]], "rtol": 1e-7}, NOTE),
    ("a column without a head has a name", (COLUMNS, {"pattern": "r{execution} = time_ms"}), {"column_0": "Time", "absent": ["0"]}, NOTE),
    ("a column that `dims` names holds no values",
     ("program,old,new\nfft,5,6\n", {"pattern": "{version} = time_ms", "dims": {"benchmark": "program"}}),
     {"version": ["old", "new"], "time": [[[5e-3], [6e-3]]], "rtol": 1e-7}),
])  # fmt: skip


ENTRIES = [{"case": "fft", "ms": 5.0}, {"case": "sort", "ms": 7.0}]
TWICE = [{"case": "fft", "ms": 5.0}, {"case": "fft", "ms": 6.0}, {"case": "sort", "ms": 7.0}]
NESTED = [
    {"suite": "a", "tests": [{"id": "x", "s": 1.0}]},
    {"suite": "b", "tests": [{"id": "x", "s": 2.0}, {"id": "y", "s": 3.0}]},
]
CROSSED = [
    {"lang": lang, "test": test, "s": 1.0} for lang in ("C", "Go") for test in ("fft", "sort")
]
UNEQUAL = {"old": [1.0, 2.0, 3.0], "new": [1.0, 2.0]}

test_labels_of_lists = readings(lambda folder, given: read(folder, given[0], **given[1]), [
    ("the text beside a number is the label, not its place", (ENTRIES, {"pattern": "{place}/ms = time_ms"}),
     {"place": ["fft", "sort"], "time": [[5e-3], [7e-3]], "rtol": 1e-15}),
    ("also under the name of the usual dim", (ENTRIES, {"pattern": "{benchmark}/ms = time_ms"}), {"benchmark": ["fft", "sort"]}),
    ("where the caller names the label, the place is no dim", (ENTRIES, {"pattern": "{i}/ms = time_ms", "dims": {"benchmark": "case"}}),
     {"benchmark": ["fft", "sort"], "sizes": {"benchmark": 2, "execution": 1}}),
    ("unless the caller names it", (ENTRIES, {"pattern": "{i}/ms = time_ms", "dims": {"number": "i"}}), {"number": [0, 1]}),
    ("each list has labels of its own", (NESTED, {"pattern": "{suite}/tests/{benchmark}/s"}),
     {"suite": ["a", "b"], "benchmark": ["x", "y"], "time": [[[1.0], [2.0]], [[NAN], [3.0]]]}),
    ("a name comes before other texts, which are dims if they tell entries apart", (CROSSED, {"pattern": "{benchmark}/s"}),
     {"benchmark": ["fft", "sort"], "lang": ["C", "Go"], "sizes": {"benchmark": 2, "lang": 2, "execution": 1}}),
    ("units and signs are no labels", ([{"unit": "s", "range": "± 3", "t": 1.0}] * 2, {"pattern": "{place}/t"}), {"place": [0, 1]}),
    ("a parameter is the label where no text is", ([{"n": n, "iterations": 9 - n, "t": 1.0} for n in (8, 2)], {"pattern": "{place}/t"}),
     {"place": [8, 2]}),
    ("of two numbers none is the parameter", ([{"a": n, "b": -n, "t": 1.0} for n in (8, 2)], {"pattern": "{place}/t"}), {"place": [0, 1]}),
    ("entries alike in all labels are repetitions, with a note", (TWICE, {"pattern": "{i}/ms = time_ms", "dims": {"benchmark": "case"}}),
     {"benchmark": ["fft", "sort"], "time": [[5e-3, 6e-3], [7e-3, NAN]], "rtol": 1e-15}, "entries of a list have the same labels"),
    ("places in lists of different lengths do not correspond", (UNEQUAL, {"pattern": "{version}/{place}"}),
     {"place": ["0 of 3", "1 of 3", "2 of 3", "0 of 2", "1 of 2"]}, "lists of 2 and 3 entries have no labels but their places"),
    ("places in lists of one length do", ({"old": [1.0, 2.0], "new": [3.0, 4.0]}, {"pattern": "{version}/{place}"}), {"place": [0, 1]}),
])  # fmt: skip


def test_a_list_that_grows_and_is_reordered(tmp_path):
    """Each entry is compared with that of its name: fft takes 5 ms on both sides, sort 7 ms."""
    write(tmp_path / "old.json", ENTRIES)
    write(tmp_path / "new.json", [{"case": "scan", "ms": 1.0}, *reversed(ENTRIES)])
    for options in (
        {"pattern": "{place}/ms = time_ms"},
        {"pattern": "{place}/ms = time_ms", "dims": {"place": "case"}},
    ):
        times = perfarray.read_archive(tmp_path, layout="{version}.json", **options)[
            "time"
        ].squeeze()
        check(times.to_dataset().sel(version="new"), rtol=1e-15, place=["scan", "sort", "fft"])
        np.testing.assert_allclose(
            times.sel(version="old", place=["fft", "sort"]), [5e-3, 7e-3], rtol=1e-15
        )
        np.testing.assert_allclose(
            times.sel(version="new", place=["fft", "sort"]), [5e-3, 7e-3], rtol=1e-15
        )


def test_places_of_lists_with_different_lengths_are_not_compared(tmp_path):
    """Nothing tells which of three numbers is which of two: no cell is measured in both files."""
    write(tmp_path / "old.json", [1.0, 2.0, 3.0])
    write(tmp_path / "new.json", [1.0, 2.0])
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="not compared by position.*make them repetitions with {execution} for {k}",
    ):
        times = perfarray.read_archive(tmp_path, layout="{version}.json", pattern="{k}")
    assert not times["time"].notnull().all("version").any()
    assert (
        perfarray.read_archive(tmp_path, layout="{version}.json", pattern="{execution}").sizes[
            "execution"
        ]
        == 3
    )


MIXED = [{"name": "a", "unit": "ms", "value": 12.5}, {"name": "b", "unit": "us", "value": 820}]
MEMORY = {"name": "m", "unit": "MB", "value": 120}
NAMES = {"dims": {"benchmark": "name"}}
MB = (
    "1 values are in 'MB', which is not 's'. They are left out. pattern='{i}/value = value "
    "\\[MB]' reads those in 'MB'"
)

test_units_beside_numbers = readings(lambda folder, given: read(folder, given[0], **given[1]), [
    ("the unit beside a number takes precedence, entry by entry", (MIXED, {"pattern": "{i}/value = time_s", **NAMES}),
     {"time": [[0.0125], [0.00082]], "time.units": "s", "absent": ["unit"], "rtol": 1e-14}),
    ("also where the pattern states none", (MIXED[:1], {"pattern": "{i}/value", **NAMES}), {"time": 0.0125, "rtol": 1e-14}),
    ("whatever the quantity is called", (MIXED, {"pattern": "{i}/value = latency", **NAMES}),
     {"latency": [[0.0125], [0.00082]], "latency.units": "s", "rtol": 1e-14}),
    ("a unit above the numbers holds for all of them", ({"time_unit": "us", "runs": [5, 7]}, {"pattern": "runs/{iteration}"}),
     {"time": [[5e-6, 7e-6]], "rtol": 1e-14}),
    ("the nearest unit holds", ({"units": "s", "runs": [{"name": "a", "units": "ns", "t": 5}]}, {"pattern": "runs/{i}/t"}),
     {"time": 5e-9, "rtol": 1e-14}),
    ("a unit may be that of one key", ([{"name": "a", "size": 5, "size_unit": "kB", "time_unit": "ms"}], {"pattern": "{i}/size = size"}),
     {"size": 5, "size.units": "kB"}),
    ("a number is no unit", ([{"name": "a", "units": 3, "t": 5}], {"pattern": "{i}/t"}), {"time": 5, "units": 3}),
    ("values in another unit are left out, with the pattern that reads them", ([*MIXED, MEMORY], {"pattern": "{i}/value", **NAMES}),
     {"benchmark": ["a", "b"], "time": [[0.0125], [0.00082]], "notes": ["other_units"], "rtol": 1e-14}, MB),
    ("which it does", ([*MIXED, MEMORY], {"pattern": "{i}/value = value [MB]", **NAMES}),
     {"benchmark": ["m"], "value": 120, "value.units": "MB"}, "2 values are in 'ms', 'us', which is not 'MB'"),
    ("a unit that is a dim is that which the values get", (MIXED, {"pattern": "{i}/value", "dims": {"benchmark": "name", "unit": "unit"}}),
     {"unit": ["s"], "benchmark": ["a", "b"]}),
    ("in a table the unit stands in a column", ("name,unit,r1,r2\na,us,5,7\n", {"pattern": "r{execution} = time_ms", **NAMES}),
     {"time": [[5e-6, 7e-6]], "rtol": 1e-14}),
    ("`units=` states the unit of a file that does not", ([5.0], {"pattern": "{execution}", "units": "ms"}), {"time": 5e-3, "rtol": 1e-14}),
    ("and yields to what stands beside a number", (MIXED[1:], {"pattern": "{i}/value", "units": "ms"}), {"time": 0.00082, "rtol": 1e-14}),
    ("of any quantity", ([5.0], {"pattern": "{execution} = rate", "units": "MB/s"}),
     {"rate": 5.0, "rate.units": "MB/s", "rate.better": "higher"}),
    ("what is no time is called a value", ([5.0], {"pattern": "{execution}", "units": "J"}), {"value": 5.0, "value.units": "J"}),
])  # fmt: skip


def test_zeros_and_what_is_no_number(tmp_path):
    """A time of 0 is a value; what is not finite is missing, counted and named, and costs no other
    value."""
    source = Source(
        write(tmp_path / "a.json", [0.0, 2.0]), file_options=FileOptions(pattern="{execution}")
    )
    assert custom.read(source).metrics["time"].values.tolist() == [0.0, 2.0]
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 value is missing: 'a/1 is inf'. All others are read"
    ):
        times = read_json(
            tmp_path, {"a": [1.0, float("inf"), None]}, pattern="{version}/{execution}"
        )
    check(times, time=[[1.0, NAN, NAN]])


@pytest.mark.parametrize("name", ["score", "ratio", "score_rate"])
def test_more_of_a_score_is_better(tmp_path, name):
    """A score is better higher, unless its unit is a time or the file states otherwise."""
    rows = f"version,{name}\nold,1\nnew,2\n"
    frame = pd.DataFrame({"version": ["old", "new"], name: [1.0, 2.0]})
    for found in (
        read_json(
            tmp_path, {"old": [1.0], "new": [2.0]}, pattern=f"{{version}}/{{execution}} = {name}"
        ),
        read(tmp_path, rows, dims={"metric": name}),
        read(tmp_path, f"# metric: {name}\n{rows}"),
        frame.perf.to_timings(value=name),
    ):
        assert (found[name].attrs["units"], found[name].attrs["better"]) == ("1", "higher")
    assert (
        read(tmp_path, f"# metric: {name}\n# better: lower\n{rows}")[name].attrs["better"]
        == "lower"
    )
    assert frame.perf.to_timings(value=name, units="ms")[name].attrs == {
        "units": "s",
        "better": "lower",
    }


@pytest.mark.parametrize(("head", "dims", "name", "units", "better"), [
    ("rate", {"throughput": "rate"}, "throughput", "ops/s", "higher"),
    ("rate", {"throughput [MB/s]": "rate"}, "throughput", "MB/s", "higher"),
    ("rate (MB/s)", {"metric": "rate (MB/s)"}, "rate", "MB/s", "higher"),
    ("latency [ms]", {"metric": "latency [ms]"}, "latency", "s", "lower"),
    ("points", {"score": "points"}, "score", "1", "higher"),
    ("ratio of mix", {"ratio": 1}, "ratio", "1", "higher"),
    ("points", {"metric": "points"}, "points", "1", None),
    ("page_faults", {"metric": "page_faults"}, "page_faults", "1", "lower"),
])  # fmt: skip
def test_which_direction_is_good(tmp_path, head, dims, name, units, better):
    """Name or unit of the values give the direction; any other quantity has none until it is
    said."""
    by_place = any(isinstance(place, int) for place in dims.values())
    text = "old,1\nnew,2\n" if by_place else f"version,{head}\nold,1\nnew,2\n"
    found = read(tmp_path, text, dims={"version": 0, **dims} if by_place else dims)
    assert found[name].attrs == {"units": units} | ({"better": better} if better else {})
    assert found.attrs["metric"] == name


VALUES = {"old": [1.0, 1.1, 1.05, 0.95], "new": [2.0, 2.1, 2.05, 1.95]}


@pytest.mark.parametrize(("content", "options"), [
    (VALUES, {"pattern": "{version}/{iteration}"}),
    ("version,iteration,time\n" + "".join(f"{name},{i},{own}\n" for name in VALUES for i, own in enumerate(VALUES[name])), {}),
], ids=["json", "csv"])  # fmt: skip
def test_iterations_of_one_execution(tmp_path, content, options):
    """Iterations are no sampling units: one execution allows no verdict."""
    times = read(tmp_path, content, **options)
    assert times["time"].sizes == {"version": 2, "execution": 1, "iteration": 4}
    with pytest.warns(perfarray.PerfarrayWarning):
        found = times.perf.compare("old", dim="version")
    check(found, verdict="inconclusive", n=1)


def test_a_pattern_in_a_folder(tmp_path):
    """A file without a number at the places of the pattern is skipped with a note, or refused if it
    was named."""
    write(tmp_path / "a.json", {"old": [1.0], "new": [2.0]})
    readme = write(tmp_path / "README.txt", "How these were measured.\n")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"of 2 files, 1 is of no known format and left out: 'README\.txt'",
    ):
        found = perfarray.read_archive(tmp_path, pattern="{version}/{iteration}")
    assert found.sizes["version"] == 2
    with pytest.raises(ValueError, match=r"README\.txt: has no number at any place"):
        perfarray.read_archive([readme], pattern="{version}/{iteration}")


@pytest.mark.parametrize(("text", "options", "message"), [
    ("a,1\n", {"dims": {"benchmark": 0, "time": 5}}, "has 2 columns, of places 0 to 1; dims= names"),
    ("benchmark,time\nfft,1\n", {"dims": {"threads": "n"}}, "has no setting or column 'n'"),
    ("a,1\nb,x\n", {"dims": {"benchmark": 0, "time": 1}}, "column 1, row 2 under the header, is 'x'"),
    ("p,ms\na,1\nb,-1\n", {"dims": {"benchmark": "p", "time_ms": "ms"}}, "column 'ms', row 2 under the header, is -1.0; expected"),
    ("p,n,s\na,1,1\na,,2\n", {"dims": {"benchmark": "p", "execution": "n", "time": "s"}}, "column 'n' names repetitions but is empty"),
    ('{"a": [{"n": "x", "s": 1}, {"s": 2}]}', {"pattern": "a/{k}/s", "dims": {"execution": "n"}}, "column 'n' names repetitions but is"),
    ("program,compiler,threads,time\nfft,gcc,1,5\n", {"dims": {"benchmark": "progam"}},
     "no setting or column 'progam'; it has 'program', 'compiler', 'threads', 'time'"),
    ("benchmark,time\nfft,x\n", {"pattern": "ti{execution}"}, "has no number at any place"),
    ("r1,r2\n1,x\n", {"pattern": "r{execution}"}, "row 2, column 'r2' is 'x'; expected a number"),
    ('{"a": {"b": 1}}', {"pattern": "{version}"}, "a is not a number: pattern='{version}' ends there"),
    ('{"a": [1, "x"]}', {"pattern": "{version}/{execution}"}, "a/1 is 'x'; expected a number"),
    ('{"a": 1}', {"format": "custom"}, "is read as 'custom' with what you say of it"),
    ('{"b": {"c": [null, 1]}}', {}, "say where its numbers are, of which 'b/c/1' is the first: pattern="),
    ('{"a": [null]}', {}, "it has no number"),
    ("[" * 900 + "]" * 900, {}, "it has no number"),
    ("some text\n", {}, (
            "name them with dims=.* for one without; format='tidy_csv' says what it lacks; formats "
            "that are known: asv, "
        )),
    ("alg,size,ms\nsort,1,2\n", {}, "this has 'alg', 'size', 'ms': "),
    ("benchmark,time_millisec\nfft,1\n", {}, "column 'time_millisec' has no unit of time that is known; these are ns, us, ms, s"),
    (" Performance counter stats for 'sh run.sh':\n\n 2,090,255,316,251      instructions\n", {}, "perf stat prints this, for people"),
    ("1.5\n1.6\n", {}, r"1 numbers without a header: dims=\{'time': 0\}"),
    ("# Benchmark mode: Throughput, ops/time\n", {}, "JMH prints this; .* -rf json"),
    ("sort    time:   [1.0 ns 1.1 ns 1.2 ns]\n", {}, "below target/criterion"),
    ([{"v": 1, "unit": "MB"}], {"pattern": "{i}/v = time_ms"},
     r"says beside its values that they are in 'MB', and the pattern that they are in 'ms'. pattern='{i}/v = value \[MB]' reads"),
    ([{"v": 1, "unit": "KB/s"}], {"pattern": "{i}/v = rate [MB/s]"}, r"are in 'KB/s', .* in 'MB/s'. pattern='{i}/v = rate \[KB/s]' reads"),
    ([{"v": 1, "unit": "MB"}, {"v": 1, "unit": "ms"}], {"pattern": "{i}/v = memory"},
     r"has values in 'MB', 'ms', which cannot be brought to one unit. pattern='{i}/v = memory \[MB]' reads those in 'MB'"),
    ("[1.0]", {"pattern": "{i} = time_ms", "units": "us"}, "units='us' contradict pattern='{i} = time_ms', which says 'ms'"),
    ([{"v": 1, "unit": "ms"}], {"pattern": "{i}/v", "units": "MB"}, r"are in 'ms', .* in 'MB'. pattern='{i}/v = time \[ms]' reads"),
    ('{"results": [{"command": "a", "times": [1.0]}]}', {"units": "us"},
     "is of format 'hyperfine', which has units of its own; leave out units='us'"),
    ("# units: s\nbenchmark,time\na,1\n", {"units": "ms"}, "says its units are 's', and units='ms'; one of them is wrong"),
    ("benchmark,time_ms\na,1\n", {"units": "us"}, "says its units are 'us', and its column of values is 'time_ms'"),
    ("[-1.0]", {"pattern": "{i}"}, r"0 is -1\.0; expected a number from 0"),
    ("a,1\n", {"pattern": "a"}, "pattern='a' must name dims in braces"),
    ('{"a": 1}', {"pattern": "{a}", "format": "jmh"}, "pattern= is for format='custom'"),
    ('{"a": 1}', {"dims": {"a": 1.5}}, "dims= must map names of dims and levels to columns or settings"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, text, options, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, "a.txt", **options)


def test_companions_of_results(tmp_path):
    message = (
        "asv puts a file of this name beside its results, and those are read; else say where "
        "its numbers are"
    )
    with pytest.raises(ValueError, match=message):
        read(tmp_path, {"version": 1}, "benchmarks.json")


@pytest.mark.parametrize(("text", "options"), [
    ("benchmark,time\nfft,12\n", {}),
    ("program,elapsed\nfft,12\n", {"dims": {"benchmark": "program", "time": "elapsed"}}),
    ("fft,12\n", {"dims": {"benchmark": 0, "time": 1}}),
])  # fmt: skip
def test_units_of_tables_may_be_stated_by_the_caller(tmp_path, text, options):
    """Where a table does not state the unit of its main values, `units=` does, without a note."""
    assert read(tmp_path, text, units="ms", **options)["time"].values.ravel().tolist() == [0.012]

"""Descriptions of files by the caller: settings and columns as dims, CSV without a header,
and what is refused."""

import pandas as pd
import pytest

import perfarray
from perfarray.readers import custom
from perfarray.readers.opening import FileOptions, Source
from readers.files_of_our_own import NAN, check, entry, reader, readings, write

read = reader("a.csv")
read_json = reader("a.json")


def google(name, value, threads):
    fields = {
        "run_name": name,
        "run_type": "iteration",
        "real_time": value,
        "time_unit": "s",
        "iterations": 1,
    }
    return {"name": name, **fields, "threads": threads}


def test_a_setting_becomes_a_dim(tmp_path):
    """The setting is taken out of the labels; other metadata stay; files of an archive agree."""
    rows = [google(f"BM_copy/{size}/threads:{n}", size * n, n) for size in (8, 64) for n in (1, 2)]
    content = {"context": {"num_cpus": 4}, "benchmarks": rows}
    times = read_json(tmp_path, content, dims={"threads": "threads"})
    check(times, benchmark=["BM_copy[arg0=8]", "BM_copy[arg0=64]"], threads=[1, 2], arg0=[8, 64])
    check(times.squeeze(), time=[[8, 16], [64, 128]])
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
DUMP = (
    '"2009-12-14"\t"00:52"\t5\t"us-east-1d\\"\n"2009-12-14"\t"01:52"\t\\N\t"us-east-1d\\"\n'
    '12/14/09\t02:52\t7\t"us-east-1c\\"\n'
)
R = '"";"test";"time";"rank"\n"620001";"Scan";554.08;1\n"620002";"Scan";36;2\n'
GRID = {
    "benchmark": ["fft", "sort"],
    "threads": [2, 4],
    "time": [[[0.01], [0.006]], [[0.001], [0.0015]]],
    "rtol": 1e-7,
}

test_columns_of_a_table = readings(
    lambda folder, content: read(folder, content[0], dims=content[1]),
    [
        (
            "columns are named by their places in a table without a header",
            (
                "fft,2,10\nfft,4,6\nsort,2,1\nsort,4,1.5\n",
                {"benchmark": 0, "threads": 1, "time_ms": 2},
            ),
            GRID,
        ),
        (
            "columns are named by their heads",
            ("program;n;ms\nfft;2;10\nfft;4;6\nsort;2;1\nsort;4;1.5\n", NAMED),
            GRID,
        ),
        (
            (
                "`metric` names the column of another value; a column `time` beside it is no "
                "time, and "
                "`NULL` of a database is missing"
            ),
            (
                "# a history\ntime,svs\n2023-04-07,59.5\n2023-04-08,NaN\n",
                {"date": "time", "metric": "svs"},
            ),
            {"svs": [[59.5], [NAN]], "date": ["2023-04-07", "2023-04-08"]},
        ),
        ("a value without a name", ("fft,5\n", {"benchmark": 0, "metric": 1}), {"value": 5}),
        (
            "a score beside times is a label",
            ("benchmark,mix,time\nfft,0.5,1\nfft,0.7,2\n", {"ratio": "mix"}),
            {"time": [[[1], [2]]]},
        ),
        (
            (
                "of a database: tabs and no header, a quoted text that ends in a backslash, "
                "`\\N` for "
                "what is missing"
            ),
            (DUMP, {"zone": 3, "date": 0, "execution": 1, "metric": 2}),
            {
                "zone": ["us-east-1d\\", "us-east-1c\\"],
                "date": ["2009-12-14", "12/14/09"],
                "value": [[[5.0, NAN], [NAN] * 2], [[NAN] * 2, [7.0, NAN]]],
            },
        ),
        (
            "of R: row numbers in a column without a name",
            (R, {"benchmark": "test", "time_us": "time", "iteration": "rank"}),
            {"time": [[[554.08e-6, 36e-6]]], "rtol": 1e-7},
        ),
    ],
)


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
    for scores in (
        read_json(
            tmp_path, {"old": [1.0], "new": [2.0]}, pattern=f"{{version}}/{{execution}} = {name}"
        ),
        read(tmp_path, rows, dims={"metric": name}),
        read(tmp_path, f"# metric: {name}\n{rows}"),
        frame.perf.to_timings(value=name),
    ):
        assert (scores[name].attrs["units"], scores[name].attrs["better"]) == ("1", "higher")
    assert (
        read(tmp_path, f"# metric: {name}\n# better: lower\n{rows}")[name].attrs["better"]
        == "lower"
    )
    assert frame.perf.to_timings(value=name, units="ms")[name].attrs == {
        "units": "s",
        "better": "lower",
    }


@pytest.mark.parametrize(
    ("head", "dims", "name", "units", "better"),
    [
        ("rate", {"throughput": "rate"}, "throughput", "ops/s", "higher"),
        ("rate", {"throughput [MB/s]": "rate"}, "throughput", "MB/s", "higher"),
        ("rate (MB/s)", {"metric": "rate (MB/s)"}, "rate", "MB/s", "higher"),
        ("latency [ms]", {"metric": "latency [ms]"}, "latency", "s", "lower"),
        ("points", {"score": "points"}, "score", "1", "higher"),
        ("ratio of mix", {"ratio": 1}, "ratio", "1", "higher"),
        ("points", {"metric": "points"}, "points", "1", None),
        ("page_faults", {"metric": "page_faults"}, "page_faults", "1", "lower"),
    ],
)
def test_which_direction_is_good(tmp_path, head, dims, name, units, better):
    """Name or unit of the values give the direction; any other quantity has none until it is
    said."""
    by_place = any(isinstance(column, int) for column in dims.values())
    text = "old,1\nnew,2\n" if by_place else f"version,{head}\nold,1\nnew,2\n"
    values = read(tmp_path, text, dims={"version": 0, **dims} if by_place else dims)
    assert values[name].attrs == {"units": units} | ({"better": better} if better else {})
    assert values.attrs["metric"] == name


VALUES = {"old": [1.0, 1.1, 1.05, 0.95], "new": [2.0, 2.1, 2.05, 1.95]}


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (VALUES, {"pattern": "{version}/{iteration}"}),
        (
            "version,iteration,time\n"
            + "".join(
                f"{name},{i},{value}\n" for name in VALUES for i, value in enumerate(VALUES[name])
            ),
            {},
        ),
    ],
    ids=["json", "csv"],
)
def test_iterations_of_one_execution(tmp_path, content, options):
    """Iterations are no sampling units: one execution allows no verdict."""
    times = read(tmp_path, content, **options)
    assert times["time"].sizes == {"version": 2, "execution": 1, "iteration": 4}
    with pytest.warns(perfarray.PerfarrayWarning):
        verdicts = times.perf.compare("old", dim="version")
    check(verdicts, verdict="inconclusive", n=1)


def test_a_pattern_in_a_folder(tmp_path):
    """A file without a number at the places of the pattern is skipped with a note, or refused if it
    was named."""
    write(tmp_path / "a.json", {"old": [1.0], "new": [2.0]})
    readme = write(tmp_path / "README.txt", "How these were measured.\n")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"of 2 files, 1 is of no known format and left out: 'README\.txt'",
    ):
        times = perfarray.read_archive(tmp_path, pattern="{version}/{iteration}")
    assert times.sizes["version"] == 2
    with pytest.raises(ValueError, match=r"README\.txt: has no number at any place"):
        perfarray.read_archive([readme], pattern="{version}/{iteration}")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "a,1\n",
            {"dims": {"benchmark": 0, "time": 5}},
            "has 2 columns, of places 0 to 1; dims= names",
        ),
        ("benchmark,time\nfft,1\n", {"dims": {"threads": "n"}}, "has no setting or column 'n'"),
        (
            "a,1\nb,x\n",
            {"dims": {"benchmark": 0, "time": 1}},
            "column 1, row 2 under the header, is 'x'",
        ),
        (
            "p,ms\na,1\nb,-1\n",
            {"dims": {"benchmark": "p", "time_ms": "ms"}},
            "column 'ms', row 2 under the header, is -1.0; expected",
        ),
        (
            "p,n,s\na,1,1\na,,2\n",
            {"dims": {"benchmark": "p", "execution": "n", "time": "s"}},
            "column 'n' names repetitions but is empty",
        ),
        (
            '{"a": [{"n": "x", "s": 1}, {"s": 2}]}',
            {"pattern": "a/{k}/s", "dims": {"execution": "n"}},
            "column 'n' names repetitions but is",
        ),
        (
            "program,compiler,threads,time\nfft,gcc,1,5\n",
            {"dims": {"benchmark": "progam"}},
            "no setting or column 'progam'; it has 'program', 'compiler', 'threads', 'time'",
        ),
        ("benchmark,time\nfft,x\n", {"pattern": "ti{execution}"}, "has no number at any place"),
        (
            "r1,r2\n1,x\n",
            {"pattern": "r{execution}"},
            "row 2, column 'r2' is 'x'; expected a number",
        ),
        (
            '{"a": {"b": 1}}',
            {"pattern": "{version}"},
            "a is not a number: pattern='{version}' ends there",
        ),
        ('{"a": [1, "x"]}', {"pattern": "{version}/{execution}"}, "a/1 is 'x'; expected a number"),
        ('{"a": 1}', {"format": "custom"}, "is read as 'custom' with what you say of it"),
        (
            '{"b": {"c": [null, 1]}}',
            {},
            "say where its numbers are. The first is 'b/c/1'. pattern=",
        ),
        ('{"a": [null]}', {}, "it has no number"),
        ("[" * 900 + "]" * 900, {}, "it has no number"),
        (
            "some text\n",
            {},
            (
                "name them with dims=.* for one without; format='tidy_csv' says what it lacks;"
                " formats "
                "that are known: asv, "
            ),
        ),
        ("alg,size,ms\nsort,1,2\n", {}, "this has 'alg', 'size', 'ms': "),
        (
            "benchmark,time_millisec\nfft,1\n",
            {},
            "column 'time_millisec' has no unit of time that is known; these are ns, us, ms, s",
        ),
        (
            " Performance counter stats for 'sh run.sh':\n\n 2,090,255,316,251      instructions\n",
            {},
            "perf stat prints this, for people",
        ),
        ("1.5\n1.6\n", {}, r"1 numbers without a header: dims=\{'time': 0\}"),
        ("# Benchmark mode: Throughput, ops/time\n", {}, "JMH prints this; .* -rf json"),
        ("sort    time:   [1.0 ns 1.1 ns 1.2 ns]\n", {}, "below target/criterion"),
        (
            [{"v": 1, "unit": "MB"}],
            {"pattern": "{i}/v = time_ms"},
            (
                r"says beside its values that they are in 'MB', and the pattern that they are in "
                r"'ms'. pattern='{i}/v = value \[MB]' reads"
            ),
        ),
        (
            [{"v": 1, "unit": "KB/s"}],
            {"pattern": "{i}/v = rate [MB/s]"},
            r"are in 'KB/s', .* in 'MB/s'. pattern='{i}/v = rate \[KB/s]' reads",
        ),
        (
            [{"v": 1, "unit": "MB"}, {"v": 1, "unit": "ms"}],
            {"pattern": "{i}/v = memory"},
            (
                r"has values in 'MB', 'ms', which cannot be brought to one unit. pattern='{i}/v = "
                r"memory \[MB]' reads those in 'MB'"
            ),
        ),
        (
            "[1.0]",
            {"pattern": "{i} = time_ms", "units": "us"},
            "units='us' contradict pattern='{i} = time_ms', which says 'ms'",
        ),
        (
            [{"v": 1, "unit": "ms"}],
            {"pattern": "{i}/v", "units": "MB"},
            r"are in 'ms', .* in 'MB'. pattern='{i}/v = time \[ms]' reads",
        ),
        (
            '{"results": [{"command": "a", "times": [1.0]}]}',
            {"units": "us"},
            "is of format 'hyperfine', which has units of its own; leave out units='us'",
        ),
        (
            "# units: s\nbenchmark,time\na,1\n",
            {"units": "ms"},
            "says its units are 's', and units='ms'; one of them is wrong",
        ),
        (
            "benchmark,time_ms\na,1\n",
            {"units": "us"},
            "says its units are 'us', and its column of values is 'time_ms'",
        ),
        ("[-1.0]", {"pattern": "{i}"}, r"0 is -1\.0; expected a number from 0"),
        ("a,1\n", {"pattern": "a"}, "pattern='a' must name dims in braces"),
        ('{"a": 1}', {"pattern": "{a}", "format": "jmh"}, "pattern= is for format='custom'"),
        (
            '{"a": 1}',
            {"dims": {"a": 1.5}},
            "dims= must map names of dims and levels to columns or settings",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("benchmark,time\nfft,12\n", {}),
        ("program,elapsed\nfft,12\n", {"dims": {"benchmark": "program", "time": "elapsed"}}),
        ("fft,12\n", {"dims": {"benchmark": 0, "time": 1}}),
    ],
)
def test_units_of_tables_may_be_stated_by_the_caller(tmp_path, text, options):
    """Where a table does not state the unit of its main values, `units=` does, without a note."""
    assert read(tmp_path, text, units="ms", **options)["time"].values.ravel().tolist() == [0.012]

"""Tidy CSV: columns are dims, levels, marks and values, whatever separates them."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals

read = reader("runs.csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators(tmp_path, separator, end):
    """Comma, semicolon and tab; lines of any system; blanks after the separator."""
    rows = ["benchmark,version,time", "fft, old,1.5", "fft, new,2.5"]
    times = read(tmp_path, end.join(row.replace(",", separator) for row in rows) + end)
    check(times.sel(benchmark="fft", version="new"), time=2.5)
    assert times.attrs == {"format": "tidy_csv", "metric": "time"}


def test_comments_give_units_and_shared_levels(tmp_path):
    """`# units: ms` is obeyed; what the comment does not know is passed over."""
    text = "# measured at night\n\n# units: ms\n# shared_levels: binary\nbenchmark,binary,time\nfft,3,5\nfft,7,6\nsort,7,8\n"
    times = read(tmp_path, text)
    check(times.squeeze(), rtol=1e-7, time=[[5e-3, 6e-3], [np.nan, 8e-3]])
    assert times["time"].attrs == {"units": "s", "better": "lower", "shared_levels": "binary"}


@pytest.mark.parametrize("column", ["time_ms", "time [ms]", "time (ms)", "time ms", "Time_ms", "milliseconds", "ms", "time_milliseconds"])
@pytest.mark.parametrize("comment", ["", "# units: ms\n"])
def test_the_unit_may_be_in_the_name(tmp_path, column, comment):
    check(read(tmp_path, f"{comment}benchmark,{column}\nfft,5\n"), rtol=1e-6, time=5e-3)


def test_units_of_rows(tmp_path):
    """A column of units is used, row by row where rows differ, for the limits of stopped runs too; it is no dim."""
    times = read(tmp_path, "benchmark,unit,censored,censored_at,time\nfft,ms,,,5\nfft,s,,,2\nsort,ns/op,1,7,9\n")
    assert times["time"].dims == ("benchmark", "execution")
    check(times, rtol=1e-7, time=[[5e-3, 2.0], [9e-9, np.nan]])
    np.testing.assert_allclose(times["censored_at"].sel(benchmark="sort"), 7e-9)
    check(read(tmp_path, "# units: ms\nbenchmark,Units,time\nfft,ms,5\n"), rtol=1e-6, time=5e-3)
    assert read(tmp_path, "benchmark,unit,energy\nfft,kJ,5\n")["energy"].attrs["units"] == "kJ"


def test_lines_of_data_may_begin_as_comments_do(tmp_path):
    """After the header what has a separator is a row; lines of comment between rows are passed over."""
    found = read(tmp_path, "# a comment, with a comma\nbenchmark,time\n#1,5\n# reboot\n#2,6\n")
    check(found.squeeze(), benchmark=["#1", "#2"], time=[5, 6])


@pytest.mark.parametrize(("text", "name", "attrs"), [
    ("# metric: score\n# units: points\n# better: higher\nbenchmark,score\nfft,5\n", "score", {"units": "points", "better": "higher"}),
    ("# units: ops/ms\nbenchmark,throughput\nfft,5\n", "throughput", {"units": "ops/ms", "better": "higher"}),
])  # fmt: skip
def test_another_column_of_values(tmp_path, text, name, attrs):
    """`# metric:` names the column, `units` and `better` what it is; throughput is never time."""
    found = read(tmp_path, text)
    assert (list(found), found[name].attrs, found.attrs["metric"]) == ([name], attrs, name)


def test_several_metrics(tmp_path):
    found = read(tmp_path, "benchmark,energy,cpu_time_ms,time\nfft,5,6,7\n")
    assert {name: variable.attrs["units"] for name, variable in found.items()} == {"time": "s", "energy": "J", "cpu_time": "s"}
    check(found, rtol=1e-6, cpu_time=6e-3)
    assert found.attrs["metric"] == "time"


def test_marks_are_bool(tmp_path):
    """true, yes and 1 mark; whatever is empty does not."""
    rows = "fft,0,true,,no,1\nfft,1,False,1,yes,2\nfft,2,,0,,3\n"
    times = read(tmp_path, "benchmark,execution,warmup,failed,censored,time\n" + rows)
    check(times, warmup=[[True, False, False]], failed=[[False, True, False]], censored=[[False, True, False]])
    assert {times[mark].dtype for mark in ("warmup", "failed", "censored")} == {np.dtype(bool)}


def test_what_describes_and_what_is_compared(tmp_path):
    """A column constant within each machine is its coordinate; text that nothing explains is a dim."""
    times = read(tmp_path, "benchmark,machine,cpu,mhz,time\nfft,a,Xeon,2000,1\nfft,b,Epyc,3000,2\nsort,b,Epyc,3000,2\n")
    assert times["cpu"].dims == times["mhz"].dims == ("machine",)
    assert times["time"].dims[:2] == ("benchmark", "machine")
    times = read(tmp_path, "benchmark,execution,allocator,time\nfft,0,a,1\nfft,0,b,2\nfft,1,a,3\nfft,1,b,4\n")
    check(times.sel(allocator="b"), time=[[2.0, 4.0]])


def test_repetitions_nobody_numbered_are_numbered(tmp_path):
    """Rows that repeat are executions; executions that repeat have iterations."""
    assert read(tmp_path, "benchmark,time\nfft,1\nfft,2\nsort,3\n")["time"].sizes == {"benchmark": 2, "execution": 2}
    assert read(tmp_path, "benchmark,execution,time\nfft,4,1\nfft,4,2\n")["time"].sizes == {"benchmark": 1, "execution": 1, "iteration": 2}


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null"])
def test_missing_values_are_nan(tmp_path, missing):
    check(read(tmp_path, f"benchmark,time\nfft,1\nfft,{missing}\n"), time=[[1.0, np.nan]])


def test_labels_are_as_they_are_written(tmp_path):
    """`3.10` is not `3.1`, `NA` and `None` are names, `a#2` is no comment; an empty label is unknown, whole numbers are numbers."""
    times = read(tmp_path, "benchmark,version,machine,l1/l2,time\nNA,3.10,2,x,1\nNone,3.1,10,x,2\na#2,,2,x,3\n")
    check(times, benchmark=["NA", "None", "a#2"], version=["3.10", "3.1", "unknown"], machine=[2, 10])
    assert "l1_l2" in times.coords  # a name that can be stored


test_what_is_wrong_is_said = refusals(
    read,
    "runs.csv",
    ("", "is empty"),
    (" \n\n", "is empty"),
    ("benchmark,time\n", "has a header and no rows"),
    ("benchmark,time,time_ms\nfft,1,2\n", "has two columns of time, 'time' and 'time_ms'"),
    ("benchmark,time,time\nfft,1,2\n", "has a column twice: 'time'"),
    ("# units: parsec\nbenchmark,time\nfft,1\n", "says its times are in 'parsec', which is not a unit of time"),
    ("# better: sideways\nbenchmark,time\nfft,1\n", ".*better='sideways' is not known"),
    ("# metric: score\nbenchmark,time2\nfft,1\n", "says its values are in column 'score'; its columns are 'benchmark', 'time2'"),
    ("benchmark,execution,time\nfft,,1\nfft,1,1\n", "column 'execution' names repetitions but is empty in 1 rows"),
    ("benchmark,warmup,time\nfft,maybe,1\n", "column 'warmup' is a mark, true or false; it holds 'maybe'"),
    ("benchmark,time\nfft,1\nsort,2,3,4\n", "is not a table"),
    ("benchmark,version,time\nfft,a,1\n\nfft,3\n", ".*row 2 under the header has 2 cells, and the header 3: 'fft,3'"),
    ("benchmark,time\nfft,1\nfft,nan\n", "column 'time', row 2 under the header, is 'nan'; expected a number"),
    ("benchmark,time\nfft,1\nfft,fast\n", "column 'time', row 2 under the header, is 'fast'; expected a number"),
    ("benchmark,time\nfft,True\n", "column 'time', row 1 under the header, is True; expected a number"),
    ("benchmark,execution,iteration,time\nfft,0,0,1\nfft,0,1,2\nfft,0,1,3\n",
     r"1 rows repeat a measurement, the first is row 3 under the header \(benchmark=fft, "),
    ("# units: s\nbenchmark,time_ms\nfft,5\n", ".*says its units are 's', and its column of values is 'time_ms'"),
    ("benchmark,unit,time\nfft,ms,5\nfft,parsec,5\n", ".*column 'unit' has rows in 'ms', 'parsec'"),
    ("benchmark,unit,time\nfft,ms,5\nfft,,5\n", ".*column 'unit' is empty in row 2"),
    ("# units: s\nbenchmark,unit,time\nfft,ms,5\n", ".*says its units are 's', and column 'unit' says 'ms'"),
    ("# units: s\nbenchmark,unit,time\nfft,ms,5\nfft,s,5\n", ".*column 'unit' has rows in 'ms', 's'"),
    ("benchmark,unit,time_ms\nfft,s,5\n", ".*says its units are 's', and its column of values is 'time_ms'"),
    ("benchmark,unit,time\nfft,millisec,5\n", ".*says its times are in 'millisec', which is not a unit of time: these are ns, us, ms"),
    ("benchmark,unit,energy\nfft,J,5\nfft,kJ,5\n", ".*column 'unit' has rows in 'J', 'kJ'"),
    ("# units: ms\nbenchmark,throughput\nfft,5\n", ".*'throughput' is in 'ms', which is a time"),
    ("benchmark,censored,censored_at,time\nfft,1,1_000,5\n", ".*column 'censored_at' holds 1 values that are not numbers"),
    ("benchmark,time\nf\0ft,5\n", ".*is not text: character 16 is NUL"),
    # Three dims that each have another label in every row.
    ("benchmark,machine,version,time\n" + "".join(f"b{i},m{i},v{i},1\n" for i in range(1300)),
     "1300 measurements would need an array of 2197000000 cells"),
    # A decimal comma makes two cells of one number: the row is named, and no number is cut off.
    *((f"benchmark,execution,time_ms\n{rows}parse,1,3,5\n",
       f"is not a table: row {number} under the header has 4 cells, and the header 3: 'parse,1,3,5'")
      for number, rows in ((1, ""), (2, "parse,0,4\n"))),
    # A `date` beside a bare `time` says when a row was written.
    *((text, "no reader recognises its content")
      for text in ("a,b\n1,2\n", "benchmark;size\nfft;1\n", "date,time\n2026-01-01,12:30\n2026-01-02,12:45\n")),
)  # fmt: skip
test_a_forced_format_needs_values = refusals(
    lambda folder, text: read(folder, text, format="tidy_csv"),
    "runs.csv",
    ("program,seconds_taken\nfft,1\n", "has no column of values: expected one of 'time', .*it has 'program', 'seconds_taken'"),
)


def test_a_date_beside_a_time_with_a_unit_is_compared(tmp_path):
    assert read(tmp_path, "commit,time\na,1\nb,2\n").sizes["commit"] == 2
    assert read(tmp_path, "date,time_ms\n2026-01-01,1\n2026-01-02,2\n").sizes["date"] == 2


def test_spec_runs_are_not_taken(tmp_path):
    """SPEC's single runs hold sums and scores among the rows, which their own reader knows."""
    assert read(tmp_path, "benchmark,time,ratio\n500.perlbench_r,344,4.63\nint_rate,3262,4.87\n").attrs["format"] == "spec_runs"


def test_what_was_written_is_read(tmp_path):
    times = perfarray.simulate(sizes={"execution": 3, "iteration": 2}, variances={"execution": 0.1, "iteration": 0.1}, rng=1)
    times = times.expand_dims(benchmark=["a", "a#2"])
    again = read(tmp_path, times.perf.to_frame().to_csv(index=False))
    np.testing.assert_array_equal(again["time"].transpose(*times["time"].dims), times["time"])

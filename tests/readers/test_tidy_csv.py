"""Tidy CSV: columns are dims, levels, marks and values, whatever separates them."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import write


def read(tmp_path, text, name="runs.csv"):
    return perfarray.read(write(tmp_path / name, text))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators(tmp_path, separator, end):
    """Comma, semicolon and tab; lines of any system; blanks after the separator."""
    rows = ["benchmark,version,time", "fft, old,1.5", "fft, new,2.5"]
    times = read(tmp_path, end.join(row.replace(",", separator) for row in rows) + end)
    assert times["time"].sel(benchmark="fft", version="new").item() == 2.5
    assert times.attrs == {"format": "tidy_csv", "metric": "time"}


def test_comments_give_units_and_shared_levels(tmp_path):
    """`# units: ms` is obeyed; what the comment does not know is passed over."""
    text = "# measured at night\n\n# units: ms\n# shared_levels: binary\nbenchmark,binary,time\nfft,3,5\nfft,7,6\nsort,7,8\n"
    times = read(tmp_path, text)
    np.testing.assert_allclose(times["time"], [[5e-3, 6e-3], [np.nan, 8e-3]])
    assert times["time"].attrs == {"units": "s", "better": "lower", "shared_levels": "binary"}


@pytest.mark.parametrize("column", ["time_ms", "time [ms]", "time (ms)", "time ms", "Time_ms", "milliseconds", "ms", "time_milliseconds"])
def test_the_unit_may_be_in_the_name(tmp_path, column):
    assert read(tmp_path, f"benchmark,{column}\nfft,5\n")["time"].item() == pytest.approx(5e-3)


def test_comment_and_name_must_agree(tmp_path):
    assert read(tmp_path, "# units: ms\nbenchmark,time_ms\nfft,5\n")["time"].item() == pytest.approx(5e-3)
    with pytest.raises(ValueError, match="says its units are 's', and its column of values is 'time_ms'"):
        read(tmp_path, "# units: s\nbenchmark,time_ms\nfft,5\n")


def test_units_of_rows(tmp_path):
    """A column of units is used, row by row where rows differ, for the limits of stopped runs too; it is no dim."""
    times = read(tmp_path, "benchmark,unit,censored,censored_at,time\nfft,ms,,,5\nfft,s,,,2\nsort,ns/op,1,7,9\n")
    np.testing.assert_allclose(times["time"], [[5e-3, 2.0], [9e-9, np.nan]])
    np.testing.assert_allclose(times["censored_at"].sel(benchmark="sort"), 7e-9)
    assert times["time"].dims == ("benchmark", "execution")
    assert read(tmp_path, "# units: ms\nbenchmark,Units,time\nfft,ms,5\n")["time"].item() == pytest.approx(5e-3)
    assert read(tmp_path, "benchmark,unit,energy\nfft,kJ,5\n")["energy"].attrs["units"] == "kJ"


@pytest.mark.parametrize(("text", "message"), [
    ("benchmark,unit,time\nfft,ms,5\nfft,parsec,5\n", "column 'unit' has rows in 'ms', 'parsec'"),
    ("benchmark,unit,time\nfft,ms,5\nfft,,5\n", "column 'unit' is empty in row 2"),
    ("# units: s\nbenchmark,unit,time\nfft,ms,5\n", "says its units are 's', and column 'unit' says 'ms'"),
    ("# units: s\nbenchmark,unit,time\nfft,ms,5\nfft,s,5\n", "column 'unit' has rows in 'ms', 's'"),
    ("benchmark,unit,time_ms\nfft,s,5\n", "says its units are 's', and its column of values is 'time_ms'"),
    ("benchmark,unit,time\nfft,millisec,5\n", "says its times are in 'millisec', which is not a unit of time: these are ns, us, ms"),
    ("benchmark,unit,energy\nfft,J,5\nfft,kJ,5\n", "column 'unit' has rows in 'J', 'kJ'"),
    ("# units: ms\nbenchmark,throughput\nfft,5\n", "'throughput' is in 'ms', which is a time"),
    ("benchmark,censored,censored_at,time\nfft,1,1_000,5\n", "column 'censored_at' holds 1 values that are not numbers"),
    ("benchmark,time\nf\0ft,5\n", "is not text: character 16 is NUL"),
])  # fmt: skip
def test_units_and_numbers_that_are_refused(tmp_path, text, message):
    """The message names what is wrong and what is known."""
    with pytest.raises(ValueError, match=rf"runs\.csv: .*{message}"):
        read(tmp_path, text)


def test_lines_of_data_may_begin_as_comments_do(tmp_path):
    """After the header what has a separator is a row."""
    found = read(tmp_path, "# a comment, with a comma\nbenchmark,time\n#1,5\n# reboot\n#2,6\n")
    assert found["benchmark"].values.tolist() == ["#1", "#2"]


def test_another_column_of_values(tmp_path):
    """`# metric:` names the column, `units` and `better` what it is."""
    found = read(tmp_path, "# metric: score\n# units: points\n# better: higher\nbenchmark,score\nfft,5\n")
    assert found["score"].attrs == {"units": "points", "better": "higher"}
    assert found.attrs["metric"] == "score"


def test_throughput_is_never_time(tmp_path):
    """It keeps its unit and is better high."""
    found = read(tmp_path, "# units: ops/ms\nbenchmark,throughput\nfft,5\n")
    assert list(found) == ["throughput"]
    assert found["throughput"].attrs == {"units": "ops/ms", "better": "higher"}


def test_several_metrics(tmp_path):
    """Time is the main one; energy has its unit."""
    found = read(tmp_path, "benchmark,energy,cpu_time_ms,time\nfft,5,6,7\n")
    assert {name: variable.attrs["units"] for name, variable in found.items()} == {"time": "s", "energy": "J", "cpu_time": "s"}
    assert found["cpu_time"].item() == pytest.approx(6e-3)
    assert found.attrs["metric"] == "time"


def test_marks_are_bool(tmp_path):
    """true, yes and 1 mark; whatever is empty does not."""
    rows = "fft,0,true,,no,1\nfft,1,False,1,yes,2\nfft,2,,0,,3\n"
    times = read(tmp_path, "benchmark,execution,warmup,failed,censored,time\n" + rows)
    assert times["warmup"].values.tolist() == [[True, False, False]]
    assert times["failed"].values.tolist() == [[False, True, False]]
    assert times["censored"].values.tolist() == [[False, True, False]]
    assert {times[mark].dtype for mark in ("warmup", "failed", "censored")} == {np.dtype(bool)}


def test_what_describes_a_machine_lies_along_it(tmp_path):
    """A column constant within each machine is its coordinate."""
    times = read(tmp_path, "benchmark,machine,cpu,mhz,time\nfft,a,Xeon,2000,1\nfft,b,Epyc,3000,2\nsort,b,Epyc,3000,2\n")
    assert times["cpu"].dims == times["mhz"].dims == ("machine",)
    assert times["time"].dims[:2] == ("benchmark", "machine")


def test_text_that_nothing_explains_is_compared(tmp_path):
    times = read(tmp_path, "benchmark,execution,allocator,time\nfft,0,a,1\nfft,0,b,2\nfft,1,a,3\nfft,1,b,4\n")
    assert times["time"].sel(allocator="b").values.tolist() == [[2.0, 4.0]]


def test_repetitions_nobody_numbered_are_numbered(tmp_path):
    """Rows that repeat are executions; executions that repeat have iterations."""
    assert read(tmp_path, "benchmark,time\nfft,1\nfft,2\nsort,3\n")["time"].sizes == {"benchmark": 2, "execution": 2}
    assert read(tmp_path, "benchmark,execution,time\nfft,4,1\nfft,4,2\n")["time"].sizes == {"benchmark": 1, "execution": 1, "iteration": 2}


def test_a_measurement_that_repeats_is_an_error(tmp_path):
    """Nothing tells two rows apart: the message names the row and the place."""
    text = "benchmark,execution,iteration,time\nfft,0,0,1\nfft,0,1,2\nfft,0,1,3\n"
    with pytest.raises(ValueError, match=r"runs\.csv: 1 rows repeat a measurement, the first is row 3 under the header \(benchmark=fft, "):
        read(tmp_path, text)


def test_what_is_no_number_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"runs\.csv: column 'time', row 2 under the header, is 'fast'; expected a number"):
        read(tmp_path, "benchmark,time\nfft,1\nfft,fast\n")
    with pytest.raises(ValueError, match="column 'time', row 1 under the header, is True; expected a number"):
        read(tmp_path, "benchmark,time\nfft,True\n")


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null"])
def test_missing_values_are_nan(tmp_path, missing):
    np.testing.assert_array_equal(read(tmp_path, f"benchmark,time\nfft,1\nfft,{missing}\n")["time"], [[1.0, np.nan]])


def test_labels_are_as_they_are_written(tmp_path):
    """`3.10` is not `3.1`, `NA` and `None` are names, `a#2` is no comment; an empty label is unknown, whole numbers are numbers."""
    text = "benchmark,version,machine,time\nNA,3.10,2,1\nNone,3.1,10,2\na#2,,2,3\n"
    times = read(tmp_path, text)
    assert times["benchmark"].values.tolist() == ["NA", "None", "a#2"]
    assert times["version"].values.tolist() == ["3.10", "3.1", "unknown"]
    assert times["machine"].values.tolist() == [2, 10]


def test_lines_of_comment_between_rows_are_passed_over(tmp_path):
    """Also where the harness wrote one in the middle."""
    assert read(tmp_path, "benchmark,time\nfft,1\n# reboot\nfft,2\n")["time"].values.tolist() == [[1.0, 2.0]]


def test_names_of_coordinates_can_be_stored(tmp_path):
    """A slash in a column's name becomes an underscore."""
    assert "l1_l2" in read(tmp_path, "benchmark,l1/l2,time\nfft,3,1\n").coords


@pytest.mark.parametrize(("text", "message"), [
    ("", "is empty"),
    (" \n\n", "is empty"),
    ("benchmark,time\n", "has a header and no rows"),
    ("benchmark,time,time_ms\nfft,1,2\n", "has two columns of time, 'time' and 'time_ms'"),
    ("benchmark,time,time\nfft,1,2\n", "has a column twice: 'time'"),
    ("# units: parsec\nbenchmark,time\nfft,1\n", "says its times are in 'parsec', which is not a unit of time"),
    ("# better: sideways\nbenchmark,time\nfft,1\n", "better='sideways' is not known"),
    ("# metric: score\nbenchmark,time2\nfft,1\n", "says its values are in column 'score'; its columns are 'benchmark', 'time2'"),
    ("benchmark,execution,time\nfft,,1\nfft,1,1\n", "column 'execution' names repetitions but is empty in 1 rows"),
    ("benchmark,warmup,time\nfft,maybe,1\n", "column 'warmup' is a mark, true or false; it holds 'maybe'"),
    ("benchmark,time\nfft,1\nsort,2,3,4\n", "is not a table"),
    ("benchmark,version,time\nfft,a,1\n\nfft,3\n", "row 2 under the header has 2 cells, and the header 3: 'fft,3'"),
    ("benchmark,time\nfft,1\nfft,nan\n", "column 'time', row 2 under the header, is 'nan'; expected a number"),
])  # fmt: skip
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "runs.csv"))


def test_an_array_too_large_is_refused(tmp_path):
    """Three dims that each have another label in every row."""
    rows = "".join(f"b{i},m{i},v{i},1\n" for i in range(1300))
    with pytest.raises(ValueError, match=r"runs\.csv: 1300 measurements would need an array of 2197000000 cells"):
        read(tmp_path, "benchmark,machine,version,time\n" + rows)


def test_a_forced_format_needs_values(tmp_path):
    """`format="tidy_csv"` lists what is there."""
    path = write(tmp_path / "runs.csv", "program,seconds_taken\nfft,1\n")
    with pytest.raises(ValueError, match=r"has no column of values: expected one of 'time', .*it has 'program', 'seconds_taken'"):
        perfarray.read(path, format="tidy_csv")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "benchmark;size\nfft;1\n"])
def test_other_tables_are_not_taken(tmp_path, text):
    with pytest.raises(ValueError, match="no reader recognises its content"):
        read(tmp_path, text)


def test_a_log_with_dates_and_times_of_day_is_not_taken(tmp_path):
    """A `date` beside a bare `time` says when a row was written; beside a time with a unit it is compared."""
    rows = "2026-01-01,12:30\n2026-01-02,12:45\n"
    with pytest.raises(ValueError, match="no reader recognises its content"):
        read(tmp_path, f"date,time\n{rows}")
    assert read(tmp_path, "commit,time\na,1\nb,2\n").sizes["commit"] == 2
    assert read(tmp_path, "date,time_ms\n2026-01-01,1\n2026-01-02,2\n").sizes["date"] == 2


def test_spec_runs_are_not_taken(tmp_path):
    """SPEC's single runs hold sums and scores among the rows, which their own reader knows."""
    assert read(tmp_path, "benchmark,time,ratio\n500.perlbench_r,344,4.63\nint_rate,3262,4.87\n").attrs["format"] == "spec_runs"


def test_what_was_written_is_read(tmp_path):
    """`to_frame().to_csv()` and back gives the same times."""
    times = perfarray.simulate(sizes={"execution": 3, "iteration": 2}, variances={"execution": 0.1, "iteration": 0.1}, rng=1)
    times = times.expand_dims(benchmark=["a", "a#2"])
    path = tmp_path / "times.csv"
    times.perf.to_frame().to_csv(path, index=False)
    again = perfarray.read(path)
    np.testing.assert_array_equal(again["time"].transpose(*times["time"].dims), times["time"])


def test_a_row_wider_than_the_header_is_named(tmp_path):
    """A decimal comma makes two cells of one number: an error that names the row, not a number cut off."""
    message = r"runs.csv: is not a table: row {} under the header has 4 cells, and the header 3: 'parse,1,3,5'"
    for row, text in ((1, "parse,1,3,5\n"), (2, "parse,0,4\nparse,1,3,5\n")):
        with pytest.raises(ValueError, match=message.format(row)):
            read(tmp_path, "benchmark,execution,time_ms\n" + text)

"""Tidy CSV: columns are dims, levels, marks and values, whatever separates them."""

import csv
import io
import re
from contextlib import nullcontext

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import NAN, check, reader, readings, refusals

read = reader("runs.csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators(tmp_path, separator, end):
    """Comma, semicolon and tab; lines of any system; blanks after the separator."""
    rows = ["benchmark,version,time", "fft, old,1.5", "fft, new,2.5"]
    times = read(tmp_path, end.join(row.replace(",", separator) for row in rows) + end)
    check(times.sel(benchmark="fft", version="new"), time=2.5)
    assert times.attrs == {"format": "tidy_csv", "metric": "time"}


@pytest.mark.parametrize(
    "column",
    [
        "time_ms",
        "time [ms]",
        "time (ms)",
        "time ms",
        "Time_ms",
        "milliseconds",
        "ms",
        "time_milliseconds",
    ],
)
@pytest.mark.parametrize("comment", ["", "# units: ms\n"])
def test_the_unit_may_be_in_the_name(tmp_path, column, comment):
    check(read(tmp_path, f"{comment}benchmark,{column}\nfft,5\n"), rtol=1e-6, time=5e-3)


MARKS = "benchmark,execution,warmup,failed,censored,time\nfft,0,true,,no,1\nfft,1,False,1,yes,2\nfft,2,,0,,3\n"
SCORE = "# metric: score\n# units: points\n# better: higher\nbenchmark,score\nfft,5\n"
SHARED = (
    "# measured at night\n\n# units: ms\n# shared_levels: "
    "binary\nbenchmark,binary,time\nfft,3,5\nfft,7,6\nsort,7,8\n"
)

test_what_is_read = readings(
    read,
    [
        (
            "comments give units and shared levels, and what they do not know is passed over",
            SHARED,
            {
                "time": [[5e-3, 6e-3], [NAN, 8e-3]],
                "time.attrs": {"units": "s", "better": "lower", "shared_levels": "binary"},
                "rtol": 1e-7,
            },
        ),
        (
            (
                "a column of units is used row by row, for the limits of stopped runs too; it is "
                "no dim"
            ),
            "benchmark,unit,censored,censored_at,time\nfft,ms,,,5\nfft,s,,,2\nsort,ns/op,1,7,9\n",
            {
                "time.dims": ("benchmark", "execution"),
                "time": [[5e-3, 2.0], [9e-9, NAN]],
                "censored_at": [NAN, 7e-9],
                "rtol": 1e-7,
            },
        ),
        (
            "a column of units may agree with a comment",
            "# units: ms\nbenchmark,Units,time\nfft,ms,5\n",
            {"time": 5e-3, "rtol": 1e-6},
        ),
        (
            "a column of units may be of energy",
            "benchmark,unit,energy\nfft,kJ,5\n",
            {"energy.units": "kJ"},
        ),
        (
            (
                "after the header what has a separator is a row, and other lines of comment are "
                "passed over"
            ),
            "# a comment, with a comma\nbenchmark,time\n#1,5\n# reboot\n#2,6\n",
            {"benchmark": ["#1", "#2"], "time": [[5], [6]]},
        ),
        (
            "`# metric:` names the column of values, `units` and `better` what it is",
            SCORE,
            {
                "metrics": ["score"],
                "score.attrs": {"units": "points", "better": "higher"},
                "metric": "score",
            },
        ),
        (
            "throughput is never time",
            "# units: ops/ms\nbenchmark,throughput\nfft,5\n",
            {
                "metrics": ["throughput"],
                "throughput.attrs": {"units": "ops/ms", "better": "higher"},
                "metric": "throughput",
            },
        ),
        (
            "time is the main one of several metrics; energy has its unit",
            "benchmark,energy,cpu_time_ms,time\nfft,5,6,7\n",
            {
                "metrics": ["time", "energy", "cpu_time"],
                "energy.units": "J",
                "cpu_time.units": "s",
                "cpu_time": 6e-3,
                "metric": "time",
                "rtol": 1e-6,
            },
        ),
        (
            "true, yes and 1 mark, and whatever is empty does not",
            MARKS,
            {
                "warmup": [[True, False, False]],
                "failed": [[False, True, False]],
                "censored": [[False, True, False]],
            },
        ),
        (
            "a column constant within each machine is its coordinate",
            "benchmark,machine,cpu,mhz,time\nfft,a,Xeon,2000,1\nfft,b,Epyc,3000,2\nsort,b,Epyc,3000,2\n",
            {
                "cpu.dims": ("machine",),
                "mhz.dims": ("machine",),
                "time.dims": ("benchmark", "machine", "execution"),
            },
        ),
        (
            "text that nothing explains is compared",
            "benchmark,execution,allocator,time\nfft,0,a,1\nfft,0,b,2\nfft,1,a,3\nfft,1,b,4\n",
            {
                "time.dims": ("benchmark", "allocator", "execution"),
                "time": [[[1.0, 3.0], [2.0, 4.0]]],
            },
        ),
        (
            "rows that repeat are executions",
            "benchmark,time\nfft,1\nfft,2\nsort,3\n",
            {"time.dims": ("benchmark", "execution"), "time": [[1, 2], [3, NAN]]},
        ),
        (
            "executions that repeat have iterations",
            "benchmark,execution,time\nfft,4,1\nfft,4,2\n",
            {"time.dims": ("benchmark", "execution", "iteration"), "time": [[[1, 2]]]},
        ),
        *(
            (
                f"{missing!r} is missing",
                f"benchmark,time\nfft,1\nfft,{missing}\n",
                {"time": [[1.0, NAN]]},
            )
            for missing in ("", "NA", "NaN", "null")
        ),
        (
            (
                "`3.10` is not `3.1`, `NA` and `None` are names, `a#2` is no comment; an empty "
                "label "
                "is unknown, whole numbers are numbers"
            ),
            "benchmark,version,machine,l1/l2,time\nNA,3.10,2,x,1\nNone,3.1,10,x,2\na#2,,2,x,3\n",
            {
                "benchmark": ["NA", "None", "a#2"],
                "version": ["3.10", "3.1", "unknown"],
                "machine": [2, 10],
                "l1_l2": "x",
            },
        ),
        (
            "a commit beside a bare time is compared",
            "commit,time\na,1\nb,2\n",
            {"commit": ["a", "b"]},
        ),
        (
            "a date beside a time with a unit is compared",
            "date,time_ms\n2026-01-01,1\n2026-01-02,2\n",
            {"date": ["2026-01-01", "2026-01-02"]},
        ),
    ],
)

test_what_is_wrong_is_said = refusals(
    read,
    "runs.csv",
    [
        ("benchmark,time\n", "has a header and no rows"),
        ("benchmark,time,time_ms\nfft,1,2\n", "has two columns of time, 'time' and 'time_ms'"),
        ("benchmark,time,time\nfft,1,2\n", "has a column twice: 'time'; rename or remove one"),
        (
            "benchmark,benchmark ,time\nfft,fft,2\n",
            "has a column twice: 'benchmark'; rename or remove one",
        ),
        (
            "# units: parsec\nbenchmark,time\nfft,1\n",
            "says its times are in 'parsec', which is not a unit of time",
        ),
        ("# better: sideways\nbenchmark,time\nfft,1\n", ".*better='sideways' is not known"),
        (
            "# metric: score\nbenchmark,time2\nfft,1\n",
            "says its values are in column 'score'; its columns are 'benchmark', 'time2'",
        ),
        (
            "benchmark,execution,time\nfft,,1\nfft,1,1\n",
            "column 'execution' names repetitions but is empty in 1 rows",
        ),
        (
            "benchmark,warmup,time\nfft,maybe,1\n",
            "column 'warmup' is a mark, true or false; it holds 'maybe'",
        ),
        ("benchmark,time\nfft,1\nsort,2,3,4\n", "is not a table"),
        (
            "benchmark,version,time\nfft,a,1\n\nfft,3\n",
            ".*row 2 under the header has 2 cells, and the header 3: 'fft,3'",
        ),
        # A line of blanks is no row, a line of separators is one.
        *(
            (
                f"benchmark,time\nfft,1\n{line}\nfft,x\n",
                f"column 'time', row {number} under the header, is 'x'; expected a number",
            )
            for line, number in (("", 2), ("  ", 2), (",", 3))
        ),
        (
            "benchmark,time\nfft,True\n",
            "column 'time', row 1 under the header, is True; expected a number",
        ),
        (
            "benchmark,execution,iteration,time\nfft,0,0,1\nfft,0,1,2\nfft,0,1,3\n",
            r"1 rows repeat a measurement. The first is row 3 under the header \(benchmark=fft, ",
        ),
        (
            "# units: s\nbenchmark,time_ms\nfft,5\n",
            ".*says its units are 's', and its column of values is 'time_ms'",
        ),
        (
            "benchmark,unit,time\nfft,ms,5\nfft,parsec,5\n",
            ".*column 'unit' has rows in 'ms', 'parsec'",
        ),
        ("benchmark,unit,time\nfft,ms,5\nfft,,5\n", ".*column 'unit' is empty in row 2"),
        (
            "# units: s\nbenchmark,unit,time\nfft,ms,5\n",
            ".*says its units are 's', and column 'unit' says 'ms'",
        ),
        (
            "# units: s\nbenchmark,unit,time\nfft,ms,5\nfft,s,5\n",
            ".*column 'unit' has rows in 'ms', 's'",
        ),
        (
            "benchmark,unit,time_ms\nfft,s,5\n",
            ".*says its units are 's', and its column of values is 'time_ms'",
        ),
        (
            "benchmark,unit,time\nfft,millisec,5\n",
            ".*says its times are in 'millisec', which is not a unit of time: these are ns, us, ms",
        ),
        ("benchmark,unit,energy\nfft,J,5\nfft,kJ,5\n", ".*column 'unit' has rows in 'J', 'kJ'"),
        (
            "# units: ms\nbenchmark,throughput\nfft,5\n",
            ".*'throughput' is in 'ms', which is a time",
        ),
        (
            "benchmark,censored,censored_at,time\nfft,1,1_000,5\n",
            ".*column 'censored_at' holds 1 values that are not numbers",
        ),
        ("benchmark,time\nf\0ft,5\n", ".*is not text: character 16 is NUL"),
        # Three dims that each have another label in every row.
        (
            "benchmark,machine,version,time\n"
            + "".join(f"b{i},m{i},v{i},1\n" for i in range(1300)),
            "1300 measurements would need an array of 2197000000 cells",
        ),
        # A decimal comma makes two cells of one number: the row is named, and no number is cut off.
        *(
            (
                f"benchmark,execution,time_ms\n{rows}parse,1,3,5\n",
                (
                    f"is not a table: row {number} under the header has 4 cells, and the header 3: "
                    "'parse,1,3,5'"
                ),
            )
            for number, rows in ((1, ""), (2, "parse,0,4\n"))
        ),
        # A `date` beside a bare `time` says when a row was written.
        *(
            (text, "no reader recognises its content")
            for text in (
                "a,b\n1,2\n",
                "benchmark;size\nfft;1\n",
                "date,time\n2026-01-01,12:30\n2026-01-02,12:45\n",
            )
        ),
    ],
)
test_a_forced_format_needs_values = refusals(
    lambda folder, text: read(folder, text, format="tidy_csv"),
    "runs.csv",
    [
        (
            "program,seconds_taken\nfft,1\n",
            "has no column of values: expected one of 'time', .*it has 'program', 'seconds_taken'",
        ),
    ],
)


def test_what_was_written_is_read(tmp_path):
    times = perfarray.simulate(
        sizes={"execution": 3, "iteration": 2},
        variances={"execution": 0.1, "iteration": 0.1},
        rng=1,
    )
    times = times.expand_dims(benchmark=["a", "a#2"])
    reread = read(tmp_path, times.perf.to_frame().to_csv(index=False))
    np.testing.assert_array_equal(reread["time"].transpose(*times["time"].dims), times["time"])


HEAD = "benchmark,machine,execution,note,time\n"
RECURRING = "".join(f"{{0}},{{1}},{n},x,1.5\n" for n in range(9))


@pytest.mark.parametrize("comment", ["", "# units: ms\n"])
@pytest.mark.parametrize(
    "row",
    [
        '"a,b",m,10,x,1',
        "a ,m, 10,x,1",
        "a,m,10,x,",
        "µ,m,10,x,1",
        "NA,,10,nan,1",
        "a#2,m,10,1,1",
        "#a,m,10,x,1",
    ],
)
@pytest.mark.parametrize(
    "labels",
    [
        ("fft", "m"),
        ("2", "10"),
        ("02", "2"),
        ("True", "true"),
        ("1.0", "1"),
        ('"fft"', "m"),
        ("", "unknown"),
    ],
)
def test_labels_stay_as_they_are_written(tmp_path, labels, row, comment):
    """pandas would take some of them for numbers and truths; only whole numbers are numbers. A
    missing label is `unknown`, or `missing` beside a label `unknown`, with a note."""
    content = HEAD + RECURRING.format(*labels) + row + "\n" + RECURRING.format(*labels[::-1])
    has_both = {"", "unknown"} == {*labels}
    told = (
        pytest.warns(perfarray.PerfarrayWarning, match="has the label 'unknown', and")
        if has_both
        else nullcontext()
    )
    with told:
        times = read(tmp_path, comment + content)
    missing = "missing" if has_both else "unknown"
    rows = list(csv.DictReader(io.StringIO(content), skipinitialspace=True))
    for dim in ("benchmark", "machine"):
        texts = dict.fromkeys(cells[dim].strip() for cells in rows)
        are_whole = all(re.fullmatch("0|[1-9][0-9]*", text) for text in texts)
        labels = [int(text) if are_whole else text or missing for text in texts]
        assert times[dim].values.tolist() == labels


def test_labels_that_never_recur_are_read_as_texts(tmp_path):
    times = read(tmp_path, "benchmark,time\n" + "".join(f"0{n},1\n" for n in range(30)))
    assert times["benchmark"].values.tolist() == [f"0{n}" for n in range(30)]


def test_a_table_may_begin_with_a_cell_of_two_lines(tmp_path):
    times = read(tmp_path, 'benchmark,time,note\nfft,1,"two\nlines"\n' + "sort,1,x\n" * 30)
    assert times["note"].dims == ("benchmark",)
    assert times["note"].values.tolist() == ["two\nlines", "x"]


def test_a_column_has_one_type_however_late_a_text_comes(tmp_path):
    """pandas, which reads a large table in blocks, would make 1 of `01` in the first rows and leave
    it as text in the last."""
    n_rows = 300_000
    rows = [f"fft,{n},01,2.5\n" for n in range(n_rows - 1)]
    times = read(
        tmp_path, "".join(["benchmark,execution,power,time\n", *rows, f"fft,{n_rows - 1},x,2.5\n"])
    )
    assert set(times["power"].values.ravel().tolist()) == {"01", "x"}


@pytest.mark.parametrize(
    "header", ["benchmark,version,execution,time", "benchmark,threads,session,time_ms"]
)
@pytest.mark.parametrize("labels", [("1", "2"), ("1", "02"), ("fft", "sort"), ("-3", "1.0")])
@pytest.mark.parametrize(
    "values", [("1", "2"), ("1", "2.5"), ("0.1", "1e-3"), ("3", "12345678901")]
)
def test_small_tables_are_read_as_large_ones(tmp_path, header, labels, values):
    """A small table of plain cells is parsed at once, and one with quotes or many rows by pandas:
    labels, numbers and their types are the same."""
    rows = [
        (label, label, str(run), value)
        for label in labels
        for run, value in enumerate(values, start=3)
    ]
    plain = "\n".join([header, *map(",".join, rows)])
    quoted = "\n".join([header, *(f'"{row[0]}",{",".join(row[1:])}' for row in rows)])
    small, large = read(tmp_path, plain), read(tmp_path, quoted)
    assert small.identical(large)
    assert {name: small[name].dtype for name in small.variables} == {
        name: large[name].dtype for name in large.variables
    }


def test_copies_beside_a_mark(tmp_path):
    """Rows that copy another are left out of tables with marks, too."""
    path = tmp_path / "runs.csv"
    rows = ["fft,1,false,2", "fft,1,false,2", "fft,2,true,-1", "fft,3,false,3"]
    path.write_text("\n".join(["benchmark,execution,failed,time_ms", *rows]))
    with pytest.warns(perfarray.PerfarrayWarning, match="1 row is an exact copy"):
        assert perfarray.read(path)["time"].values.tolist() == [[0.002, -0.001, 0.003]]

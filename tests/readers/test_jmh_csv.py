"""JMH's CSV: separators and decimal signs, parameters, secondary metrics, scores that are no
numbers."""

import pytest

import perfarray
from readers.files_of_our_own import NAN, entry, reader, readings, refusals, write

HEADER = '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"'
OLD = (
    '"Benchmark","Mode","Samples","Score","Score Error '
    '(99,9%)","Unit"\r\n"a.B.x","thrpt",3,50883.7,10285.8,"ops/min"\r\n'
)
COMMA = HEADER.replace("99.9", "99,9") + '\n"a.B.x","avgt",1,5,"50,500000","0,100000","ms/op"\n'
NOTE = "benchmarks have no values but their mean.*-rf json writes every iteration"

read = reader("results.csv")


def table(*rows, params=""):
    """Return what `-rf csv` writes."""
    return "\r\n".join((HEADER + params, *rows, ""))


def row(name="a.B.copy", score="2.500000", mode="avgt", unit="us/op", params="", threads=1):
    """Return one line."""
    return f'"{name}","{mode}",{threads},10,{score},0.100000,"{unit}"{params}'


SIZES = table(
    row(params=",16,x"),
    row(score="5.000000", params=',1024,"a, b"'),
    params=',"Param: size","Param: text"',
)
GC = table(
    row(),
    row("a.B.copy:gc.alloc.rate", "80.5", unit="MB/sec"),
    row("a.B.copy:gc.count", "NaN", unit="counts"),
    row("a.B.sort", "9"),
)

test_what_is_read = readings(
    read,
    [
        (
            "a score is the mean, in the unit of the row",
            table(row()),
            {
                "time": [[[2.5e-6]]],
                "benchmark": "a.B.copy",
                "mode": "avgt",
                "threads": 1,
                "format": "jmh",
                "rtol": 1e-12,
            },
            NOTE,
        ),
        (
            "a throughput is no time",
            table(row(score="3.5", mode="thrpt", unit="ops/ms")),
            {
                "throughput": 3.5,
                "throughput.units": "ops/ms",
                "throughput.better": "higher",
                "absent": ["time"],
            },
            NOTE,
        ),
        (
            "the first versions wrote no threads; the comma in the header is in quotes",
            OLD,
            {"throughput": 50883.7, "benchmark": "a.B.x"},
            NOTE,
        ),
        ("of a locale with a decimal comma", COMMA, {"time": 0.0505, "rtol": 1e-12}, NOTE),
        (
            "scsv has semicolons, and no quotes around a decimal comma",
            (
                '"Benchmark";"Mode";"Threads";"Samples";"Score";"Score Error '
                '(99,9%)";"Unit"\n"a.B.x";"ss";1;5;60,5;0,1;"s/op"\n'
            ),
            {"time": 60.5},
            NOTE,
        ),
        (
            "parameters are in the labels",
            SIZES,
            {
                "benchmark": ["a.B.copy[size=16,text=x]", "a.B.copy[size=1024,text=a, b]"],
                "size": ["16", "1024"],
            },
            NOTE,
        ),
        (
            "several threads and modes are in the labels",
            table(row(), row(threads=4)),
            {"benchmark": ["a.B.copy[threads=1]", "a.B.copy[threads=4]"], "threads": [1, 4]},
            NOTE,
        ),
    ],
)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_secondary_metrics_belong_to_their_benchmark(tmp_path):
    """The lines of a profiler are variables of the benchmark above them."""
    times = read(tmp_path, GC)
    assert times["benchmark"].values.tolist() == ["a.B.copy", "a.B.sort"]
    assert times["gc.alloc.rate"].values[0].item() == 80.5


@pytest.mark.parametrize(
    ("score", "reason"), [("NaN", "Score is 'NaN'"), ("", "Score is ''"), ("x,y", "Score is 'x'")]
)
def test_a_score_that_is_no_number_is_named(tmp_path, score, reason):
    """The benchmark was not measured, and all others are read."""
    with pytest.warns(perfarray.PerfarrayWarning, match=NOTE) as caught:
        times = read(
            tmp_path, table(row(), row("a.B.sort", f'"{score}"' if "," not in score else '"x"'))
        )
    assert f'1 value is missing: "line 3: a.B.sort: {reason}"' in str(caught[0].message)
    assert times["time"].values.ravel().tolist() == pytest.approx([2.5e-6, NAN], nan_ok=True)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_csv_and_json_are_compared(tmp_path):
    """A benchmark has one label in both."""
    folder = write(tmp_path / "old.csv", table(row("copy"))).parent
    write(folder / "new.json", [entry()])
    times = perfarray.read_archive(
        {"old": folder / "old.csv", "new": folder / "new.json"}, dim="version"
    )
    assert times["benchmark"].values.tolist() == ["copy"]


def test_a_metric_without_its_benchmark_is_named(tmp_path):
    """Lines that were cut out of their table say nothing."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        read(tmp_path, table(row(), row("a.B.sort:gc.count", "3", unit="counts")))
    assert "'line 3: a.B.sort:gc.count: its benchmark has no row'" in str(caught[0].message)


test_what_is_wrong_is_said = refusals(
    read,
    "results.csv",
    [
        (table(row(params=",1,2")), "line 2 has 9 cells; expected 7, as the header has"),
        (table(row(name='a"b')), "line 2 is no row of CSV: "),
        (table(), "has a header and no rows"),
        (table(row(unit="MB")), "entry 0 has unit 'MB'; expected a time per operation"),
    ],
)
TABLE = (
    "Benchmark           (size)  Mode  Cnt   Score   Error  Units\nCopy.copy             1024  "
    "avgt   10  20.100 ± 0.300  us/op\n"
)
test_what_is_printed_for_people = refusals(
    read,
    "results.csv",
    [
        (
            text,
            (
                "no reader recognises its content.*; JMH prints this; it writes what is read "
                "with -rf "
                "json"
            ),
        )
        for text in (
            TABLE,
            TABLE.replace("(size)  ", ""),
            f"\n{TABLE}",
            TABLE.replace("Cnt", "Samples"),
            f"# JMH version: 1.37\n\n{TABLE}",
        )
    ],
)

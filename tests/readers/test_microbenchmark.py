"""CSV of R's microbenchmark: nanoseconds, names of rows, times that are none."""

from readers.files_of_our_own import NAN, reader, readings, refusals

UNIT = (
    "the file states no unit. Its times are read as nanoseconds, as R's microbenchmark writes them"
)
ROWS = '"sort(x)",1000\n"order(x, y)",2000\n"sort(x)",1010\n"order(x, y)",2030\n"sort(x)",1e+05\n'

read = reader("times.csv")

test_what_is_read = readings(
    read,
    [
        (
            "evaluations are iterations of one process, in the order of the rows",
            '"expr","time"\n' + ROWS,
            {
                "benchmark": ["sort(x)", "order(x, y)"],
                "time": [[[1e-6, 1.01e-6, 1e-4]], [[2e-6, 2.03e-6, NAN]]],
                "format": "microbenchmark",
                "rtol": 1e-12,
            },
            UNIT,
        ),
        (
            "R may name the rows",
            '"","expr","time"\n"1","f",1000\n"2","f",1010\n',
            {"time": [[[1e-6, 1.01e-6]]], "rtol": 1e-12},
            UNIT,
        ),
        (
            "semicolons may separate, as write.csv2 writes them",
            '"";"expr";"time"\n"1";"f";1000\n',
            {"time": 1e-6, "rtol": 1e-12},
            UNIT,
        ),
        (
            "other writers need no quotes",
            "expr,time\nf,1000\n",
            {"time": 1e-6, "rtol": 1e-12},
            UNIT,
        ),
        (
            "what has no time is named, and the rest is read",
            "expr,time\nf,1000\ng,NA\n",
            {"time": [[[1e-6]], [[NAN]]], "rtol": 1e-12},
            rf"{UNIT}(?s:.*)1 value is missing: \"line 3: g: time is 'NA'\"",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "times.csv",
    [
        (
            "expr,time\nf,1.5\n",
            (
                r"line 2: time is 1.5; expected whole nanoseconds. Name the unit with "
                r"dims=\{'benchmark': 'expr', 'time_ms': 'time'\}"
            ),
        ),
        ("expr,time\nf,1,2\n", "line 2 has 3 cells; expected 2"),
        ("expr,time\nf,\n", "holds no measurement"),
    ],
)
COLUMN = (
    "column 'time' states no unit. It is read as seconds. Name another unit with units='ms' or "
    "dims="
)
test_what_a_caller_names = readings(
    lambda folder, dims: read(folder, "expr,time\nf,1000\nf,1010\n", dims=dims),
    [
        (
            "times without a unit are seconds, with a note",
            {"benchmark": "expr"},
            {"time": [[1000.0, 1010.0]]},
            COLUMN,
        ),
        (
            "the unit that the caller states is used",
            {"benchmark": "expr", "time_us": "time"},
            {"time": [[0.001, 0.00101]], "rtol": 1e-12},
        ),
    ],
)

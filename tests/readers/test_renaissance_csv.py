"""Renaissance's CSV (`--csv`): JVMs, counters, cells that are no numbers."""

from readers.files_of_our_own import NAN, reader, readings, refusals

HEADER = "benchmark,duration_ns,uptime_ns,vm_start_unix_ms\n"
KMEANS = "scala-kmeans,1000000000,11,1700000000000\nscala-kmeans,900000000,12,1700000000000\n"
AGAIN = "scala-kmeans,2000000000,11,1700000099000\n"
NOTE = "1 value is missing: \"line 3: als: duration_ns is 'NA'\". All others are read"

read = reader("results.csv")

test_what_is_read = readings(
    read,
    [
        (
            "repetitions are iterations of one JVM",
            HEADER + KMEANS,
            {
                "time": [[[1.0, 0.9]]],
                "benchmark": "scala-kmeans",
                "format": "renaissance",
                "absent": ["uptime_ns"],
            },
        ),
        (
            "files that were put together are several JVMs",
            HEADER + KMEANS + HEADER + AGAIN,
            {"time": [[[1.0, 0.9], [2.0, NAN]]]},
        ),
        (
            "counters stand beside the times; NA is none",
            "benchmark,duration_ns,cycles,uptime_ns,vm_start_unix_ms\na,5e8,7,1,2\na,1e9,NA,3,2\n",
            {"time": [[[0.5, 1.0]]], "cycles": [[[7, NAN]]]},
        ),
        (
            "the column was called nanos",
            "benchmark,nanos,unixts.before,vm_start_unix_ms\na,500000000,1,2\n",
            {"time": 0.5},
        ),
        (
            "what has no time is named, and the rest is read",
            HEADER + "als,500000000,1,2\nals,NA,3,2\n",
            {"time": [[[0.5, NAN]]]},
            NOTE,
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "results.csv",
    [
        (HEADER, "has a header and no rows"),
        (HEADER + "a,1,2,3,4\n", "line 2 has 5 cells; expected 4"),
        (HEADER + "a,-5,2,3\n", "holds no measurement"),
    ],
)

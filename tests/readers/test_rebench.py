"""ReBench: lines of old and new versions, what is sent to ReBenchDB, criteria."""

import json

import pytest

import perfarray
from readers.files_of_our_own import NAN, check, readings, refusals, write


def old(
    value,
    stamp="10:00:00",
    unit="ms",
    criterion="total",
    name="Sort",
    vm="SOM",
    args="10 0",
    warmup="5",
    cores="1",
):
    """Return a line of a version before 1.0; empty columns at its end stay."""
    return (
        f"[2014-08-26T{stamp}]\t{value}\t{unit}\t{criterion}\t{name}\t{vm}\tsuite\t{args}\t"
        f"{warmup}\t{cores}\t\t\n"
    )


def new(value, invocation, iteration, unit="ms", criterion="total", name="Sort", vm="SOM"):
    """Return a line of a version since 1.0."""
    return (
        f"{invocation}\t{iteration}\t{value}\t{unit}\t{criterion}\t{name}\t{vm}\tsuite\t10 "
        "0\t1\t\t\t\n"
    )


def read(tmp_path, text):
    return perfarray.read(
        write(tmp_path / "bench.data", "#!/usr/local/bin/rebench -d bench.conf all\n" + text)
    )


test_what_is_read = readings(
    read,
    [
        (
            (
                "lines are iterations in their order, a time stamp is an invocation, and a "
                "run that "
                "went on after an abort another"
            ),
            old("10.0")
            + old("11.0")
            + "#!/usr/local/bin/rebench again\n"
            + old("12.0", "11:00:00"),
            {
                "time": [[[0.01, 0.011], [0.012, NAN]]],
                "benchmark": "Sort",
                "vm": "SOM",
                "suite": "suite",
                "extra_args": "10 0",
                "cores": 1,
                "warmup_iterations": 5,
                "absent": ["input_size"],
                "rtol": 1e-15,
            },
        ),
        (
            "settings are in the label where one name has several",
            old("1.0") + old("2.0", vm="Java 8") + old("3.0", name="Compose Hard Light"),
            {
                "benchmark": ["Sort[vm=SOM]", "Sort[vm=Java 8]", "Compose Hard Light[vm=SOM]"],
                "vm": ["SOM", "Java 8", "SOM"],
                "extra_args": ["10 0"] * 3,
            },
        ),
        (
            "`total` is a time or a throughput, in one file both; a size is a variable of its own",
            old("100", unit="byte", criterion="trace size")
            + old("10.0")
            + old("5.0", unit="ops/ms", name="Rate"),
            {
                "metrics": ["time", "throughput", "trace size"],
                "metric": "time",
                "throughput": [[[NAN]], [[5.0]]],
                **{
                    f"{name}.attrs": {"units": units, "better": better}
                    for name, units, better in (
                        ("time", "s", "lower"),
                        ("throughput", "ops/ms", "higher"),
                        ("trace size", "byte", "lower"),
                    )
                },
            },
        ),
        (
            "rates of several units are per second",
            old("5.0", unit="ops/ms") + old("5.0", unit="ops/s"),
            {"throughput": [[[5000.0, 5.0]]], "throughput.units": "ops/s", "rtol": 1e-15},
        ),
    ],
)


def test_new_files_number_invocations_and_iterations(tmp_path):
    """A number stands at its iteration; a repeated cell is another execution."""
    environment = {
        "hostName": "box",
        "cpu": "A CPU",
        "memory": 2**34,
        "clockSpeed": 28 * 10**8,
        "osType": "Linux",
    }
    head = (
        f"# Execution Start: now\n# Environment: {json.dumps(environment)}\n# Source: "
        f"{json.dumps({'commitId': 'abc'})}\n# Source: {{\n"
    )
    header = (
        "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\texecutor\tsuite\textraArgs\t"
        "cores\tinputSize\tvarValue\n"
    )
    lines = (
        new("7", 1, 2, "byte", "size")
        + new("10.0", 1, 1)
        + new("11.0", 1, 2)
        + new("12.0", 2, 1)
        + new("13.0", 2, 1)
    )
    times = read(tmp_path, head + header + lines)
    check(times, rtol=1e-15, time=[[[0.01, 0.011], [0.012, NAN], [0.013, NAN]]])
    check(times.isel(benchmark=0, execution=0), size=[NAN, 7.0])
    check(times, machine="box", cpu="A CPU", os="Linux", memory_gb=16, cpu_mhz=2800, commit="abc")


@pytest.mark.parametrize("compact", [False, True])
def test_what_is_sent_to_rebenchdb(tmp_path, compact):
    """Criteria are found by their index; values come one by one or as lists."""
    criteria = [{"i": 1, "c": "total", "u": "ms"}, {"i": 0, "c": "size", "u": "byte"}]
    run = {
        "benchmark": {"name": "Sort", "suite": {"name": "s", "executor": {"name": "SOM"}}},
        "extraArgs": "10",
        "cores": 4,
    }
    points = [{"in": 1, "it": 1, "m": [{"c": 0, "v": 0.0}, {"c": 1, "v": 10.0}]}]
    points += [
        {"in": number, "it": it, "m": [{"c": 1, "v": value}]}
        for number, it, value in ((1, 2, 11.0), (2, 1, 12.0))
    ]
    if compact:
        points = [{"in": 1, "m": [[0.0], [10.0, 11.0]]}, {"in": 2, "m": [None, [12.0]]}]
    content = {
        "env": {"hostName": "box"},
        "source": {"commitId": "abc"},
        "criteria": criteria,
        "data": [{"runId": run, "d": points}],
    }
    times = perfarray.read(write(tmp_path / "sent.json", content))
    check(times, rtol=1e-15, time=[[[0.01, 0.011], [0.012, NAN]]])
    check(times, size=[[[0.0, NAN], [NAN, NAN]]], machine="box", commit="abc", cores=4)


def test_a_profile_is_no_measurement(tmp_path):
    run = {
        "runId": {
            "benchmark": {"name": "Sort", "suite": {"name": "s", "executor": {"name": "SOM"}}}
        },
        "p": [],
    }
    with pytest.raises(ValueError, match=r"profile\.json: holds no measurement"):
        perfarray.read(write(tmp_path / "profile.json", {"data": [run]}))


def test_zeros_and_what_is_no_number(tmp_path):
    """A time of 0 is a value; one that is no number is missing, and named."""
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 value is missing: \"Sort: line 3: 'total' is nan\""
    ):
        times = read(tmp_path, old("0.0") + old("nan"))
    check(times, time=[[[0.0, NAN]]])


test_what_is_wrong_is_said = refusals(
    lambda folder, line: read(folder, old("1.0") + line),
    "bench.data",
    [
        (old("-1.0"), "line 3: 'total' is '-1.0'; expected a number from 0"),
        ("[2014-08-26T10:00:00]\t1\tms\ttotal\n", "line 3 has 4 columns"),
        (new("1.0", "x", 1), "line 3 begins with 'x'"),
    ],
)

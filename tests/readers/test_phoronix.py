"""Phoronix' composite files: runs behind means, units, systems."""

import perfarray
from readers.files_of_our_own import NAN, readings, refusals, write


def result(
    title="Sort",
    description="Size: 1",
    scale="Seconds",
    proportion="LIB",
    arguments="-1",
    **entries,
):
    """Return one result; an entry is the text of its runs, one after another for a list."""
    raw_values = [
        (name, raw)
        for name, raws in entries.items()
        for raw in ([raws] if isinstance(raws, str) else raws)
    ]
    data = "".join(
        f"<Entry><Identifier>{name}</Identifier><Value>9</Value><RawString>{raw}</RawString></Entry>"
        for name, raw in raw_values
    )
    tags = {
        "Title": title,
        "Description": description,
        "Scale": scale,
        "Proportion": proportion,
        "Arguments": arguments,
    }
    head = "".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items())
    return f"<Result>{head}<Data>{data}</Data></Result>"


def system(name, cpu="A CPU, 4 cores"):
    hardware, software = (
        f"Processor: {cpu}, Motherboard: M, Memory: 8GB",
        "OS: Linux, Compiler: GCC 13, File-System: ext4",
    )
    return (
        f"<System><Identifier>{name}</Identifier><Hardware>{hardware}</Hardware>"
        f"<Software>{software}</Software></System>"
    )


def read(tmp_path, *elements):
    content = f'<?xml version="1.0"?><PhoronixTestSuite>{"".join(elements)}</PhoronixTestSuite>'
    return perfarray.read(write(tmp_path / "composite.xml", content))


UNITS = {
    **{
        f"{name}.attrs": {"units": units, "better": better}
        for name, units, better in (
            ("time", "s", "lower"),
            ("MB_s", "MB/s", "higher"),
            ("MB_s (lower)", "MB/s", "lower"),
            ("score", "1", "higher"),
        )
    },
    "metrics": ["time", "MB_s", "MB_s (lower)", "score"],
    "time": [[[[0.005]]]] + [[[[NAN]]]] * 3,
    "rtol": 1e-15,
}

test_what_is_read = readings(
    lambda folder, elements: read(folder, *elements),
    [
        (
            (
                "runs are executions, of which systems, along which they are described, may have "
                "different numbers; the mean is not read"
            ),
            [system("old"), system("new", "B CPU"), result(old="1.5:2.5", new="1.0:2.0:3.0")],
            {
                "time.dims": ("benchmark", "system", "execution", "iteration"),
                "time": [[[[1.5], [2.5], [NAN]], [[1.0], [2.0], [3.0]]]],
                "cpu": ["A CPU, 4 cores", "B CPU"],
                "memory": "8GB",
                "compiler": "GCC 13",
                "file_system": "ext4",
                "benchmark": ["Sort: Size: 1"],
            },
        ),
        (
            (
                "each unit is a variable, one that is better in both directions is two, no unit "
                "is a score"
            ),
            [
                result("A", a="5", scale="ms"),
                result("B", a="6", scale="MB/s", proportion="HIB"),
                result("C", a="7", scale="MB/s"),
                result("D", a="8", scale="", proportion="HIB"),
            ],
            UNITS,
        ),
        (
            "time and size of an installation are no measurements, and counted",
            [
                result(a="1.5"),
                result(description="Test Install Time", a="133"),
                result("B", a=["", ""]),
            ],
            {"time": 1.5, "n_without_runs": 3},
        ),
        (
            "a time of 0 is a value; one that is no number is missing, and named",
            [result(a="1.5:0:nan")],
            {"time": [[[[1.5], [0.0], [NAN]]]]},
            "1 value is missing: \"Result 0 \\('Sort: Size: 1'\\): run 2 is nan\"",
        ),
        (
            "arguments are in labels that need them; a system that occurs twice has more runs",
            [result(a="1.5"), result(a=["2.5", "3.5"], arguments="-2")],
            {
                "benchmark": ["Sort: Size: 1[arguments=-1]", "Sort: Size: 1[arguments=-2]"],
                "time": [[[[1.5], [NAN]]], [[[2.5], [3.5]]]],
            },
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "composite.xml",
    [
        (result(a=""), "holds no measurement"),
        (
            result(a="1.5:-1"),
            r"Result 0 \('Sort: Size: 1'\): run 1 is '-1'; expected a number from 0",
        ),
    ],
)

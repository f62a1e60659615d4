"""nanobench's JSON: epochs, the batch of an iteration, counters, settings in labels."""

import pytest

import perfarray
from perfarray.readers.opening import FileError
from readers.files_of_our_own import NAN, check, read_placed, readings, refusals, write


def result(name="sort", elapsed=(1e-6, 2e-6), batch=1, size=-1, **fields):
    """Return one result, of as many epochs as there are times."""
    counters = {"instructions": 50.0, "pagefaults": 0}
    measurements = [
        {"iterations": 10 + epoch, "elapsed": time, **counters}
        for epoch, time in enumerate(elapsed)
    ]
    metadata = {
        "title": "benchmark",
        "name": name,
        "unit": "op",
        "batch": batch,
        "complexityN": size,
        "median(elapsed)": 1.0,
    }
    return metadata | {"measurements": measurements} | fields


def counters(**values):
    """Return one result of one epoch with these counters."""
    return {"name": "sort", "measurements": [{"iterations": 3, "elapsed": 1e-6, **values}]}


def read(tmp_path, *results):
    return perfarray.read(write(tmp_path / "file.json", {"results": list(results)}))


test_what_is_read = readings(
    lambda folder, results: read(folder, *results),
    [
        (
            (
                "`elapsed` is the time of an iteration, `loops` how many an epoch has; "
                "counters are "
                "variables"
            ),
            [result()],
            {
                "time.dims": ("benchmark", "execution", "iteration"),
                "time": [[[1e-6, 2e-6]]],
                "loops": [[[10.0, 11.0]]],
                "format": "nanobench",
                "metric": "time",
                "metrics": ["time", "instructions", "pagefaults"],
                "instructions": [[[50.0, 50.0]]],
                "instructions.better": "lower",
            },
        ),
        (
            (
                "a counter that is 0 counts if others of its kind do: no branch was missed, and "
                "no page"
            ),
            [counters(instructions=9, branchmisses=0, pagefaults=0)],
            {
                "metrics": ["time", "instructions", "branchmisses", "pagefaults"],
                "branchmisses": 0.0,
                "pagefaults": 0.0,
            },
        ),
        (
            "a processor whose counters are all 0 could not count",
            [counters(instructions=0, cpucycles=0, pagefaults=2, contextswitches=0)],
            {"metrics": ["time", "pagefaults", "contextswitches"], "contextswitches": 0.0},
        ),
        (
            "nothing counted where all are 0",
            [counters(instructions=0, pagefaults=0)],
            {"metrics": ["time"]},
        ),
        (
            "a time of 0 is one that the clock does not see",
            [result(elapsed=(1e-6, 0.0))],
            {"time": [[[1e-6, 0.0]]], "notes": []},
        ),
        (
            "of a template of its own, a name and epochs are enough",
            [{"name": "sort", "measurements": [{"iterations": 3, "elapsed": 1e-6}]}],
            {"time": 1e-6, "loops": 3, "format": "nanobench"},
        ),
        (
            "the time is that of an iteration, whatever its batch",
            [result(batch=64, unit="byte")],
            {
                "batch": 64,
                "unit": "byte",
                "title": "benchmark",
                "time": [[[1e-6, 2e-6]]],
                "absent": ["complexityN"],
            },
        ),
        (
            "sizes are in labels that need them",
            [result(size=10), result(size=100)],
            {"benchmark": ["sort[complexityN=10]", "sort[complexityN=100]"]},
        ),
        (
            "a benchmark without epochs is left out",
            [result(), result("skipped", elapsed=())],
            {"benchmark": ["sort"]},
        ),
    ],
)


BARE = """{"results": [
 {"name": "nan", "measurements": [{"iterations": 1, "elapsed": %s, "instructions": %s}]},
 {"name": "b", "measurements": [{"iterations": 2, "elapsed": 1e-6, "instructions": 7}]}]}"""


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("nan", "nan"),
        ("-nan", "nan"),
        ("-nan(ind)", "nan"),
        ("NaN", "nan"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("+INF", "inf"),
        ("Infinity", "inf"),
        ("-infinity", "-inf"),
    ],
)
def test_bare_words_for_no_number(tmp_path, word, text):
    """What printf writes for no number makes its value missing, with its name and place in one
    note; all others are read."""
    locations = ", ".join(
        rf"\"nan: results\[0\]: '{key}': value 0 is {text}\"" for key in ("elapsed", "instructions")
    )
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=rf"2 values are missing: {locations}\. All others are read",
    ) as caught:
        times = perfarray.read(write(tmp_path / "file.json", BARE % (word, word)))
    assert len(caught) == 1
    check(
        times,
        benchmark=["nan", "b"],
        time=[[[NAN]], [[1e-6]]],
        instructions=[[[NAN]], [[7.0]]],
        loops=[[[1.0]], [[2.0]]],
    )


def test_a_word_in_another_place_is_broken_json(tmp_path):
    """The message says where in the file as it is."""
    with pytest.raises(
        FileError, match=r"file\.json: is not valid JSON: Expecting value at line 2, column 64"
    ):
        perfarray.read(write(tmp_path / "file.json", BARE % ("none", "nan")))


test_files_are_executions = readings(
    read_placed,
    [
        (
            "by a layout",
            (
                "{execution}.json",
                {
                    f"{i}.json": {"results": [result(elapsed=(time,))]}
                    for i, time in enumerate((1e-6, 3e-6))
                },
            ),
            {"time": [[[1e-6], [3e-6]]]},
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    [
        (
            result(elapsed=(1e-6, -1.0)),
            r"results\[0\]: 'elapsed': value 1 is -1\.0; expected a number from 0",
        ),
        (
            result(measurements=[{"iterations": 1}]),
            r"no reader .*as nanobench does, but results\[0\]\.measurements\[0\] has no 'elapsed'",
        ),
        (result(elapsed=()), "no reader recognises its content"),
    ],
)

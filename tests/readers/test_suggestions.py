"""What an error proposes for a file that no reader recognises is followed: it reads, and what it
reads is what the file says."""

import ast
import json
import re
import warnings

import pytest

import perfarray
from readers.files_of_our_own import write

PROPOSED = re.compile(r"\b(pattern|dims)=('[^']*'|\{[^{}]*\}) takes ")
"""How a message proposes something."""


def proposal(tmp_path, content):
    """Return what the refusal of a file proposes, and what is read of the file with that; nothing
    where nothing is proposed."""
    path = write(tmp_path / "a.txt", content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ValueError, match="no reader recognises its content") as caught:
        perfarray.read(path)
    match = PROPOSED.search(str(caught.value))
    if match is None:
        assert "{" not in str(caught.value).partition("; ")[2].replace(
            perfarray.readers.custom.EXAMPLE, ""
        )
        return None, None
    option = {match[1]: ast.literal_eval(match[2])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        return option, perfarray.read(path, **option)


def record(name, value, unit=None, **fields):
    return {"name": name, "value": value, **({} if unit is None else {"unit": unit}), **fields}


@pytest.mark.parametrize(
    "content",
    [
        [record("throughput", 120.0, "MB/s", host="h"), record("memory", 34.0, "MB", host="h")],
        [record("throughput", 120.0), record("memory", 34.0)],
        {"throughput": 120.0, "memory": 34.0},
        {"fft": 1.5, "sort": 2.5},
        {"throughput": {"value": 120.0}, "memory": {"value": 34.0}},
        {"fft": record("x", 1.5, "ms"), "sort": record("y", 1.5, "s")},
        {"fft": {"wall": 1.5, "user": 1.2}, "sort": {"wall": 2.5, "user": 1.2}},
        {"host": {"speed": 4}},
        {"host": {"name": "h", "slots": 4}},
        {"runs": [{"n": 8, "wall": 1.5}, {"n": 9, "wall": 1.6}]},
        {"names": ["wall", "heap"], "values": [1.5, 3.4]},
        {"columns": ["wall", "heap"], "data": [[1.5, 3.4], [1.6, 3.5]]},
        {"data": {"peakMemory": [5.0, 6.0]}},
        [[1700000000, 1.5], [1700000100, 1.6]],
        {"samples": [0, 1, 2]},
        "program,metric1,metric2\nfft,1,2\nsort,3,4\n",
        "program,heap_run1,memory_run2,memory_run3\nfft,1,2,3\n",
        "1,1.5\n2,1.6\n",
    ],
)
def test_nothing_is_proposed(tmp_path, content):
    """No pattern reads quantities of several names or units as one, nor what is no time as
    seconds."""
    assert proposal(tmp_path, content) == (None, None)


@pytest.mark.parametrize(
    ("content", "proposed", "metric", "units", "sizes"),
    [
        (
            {"setup": 3, "fft": {"wall": [1.5, 1.6]}},
            "fft/wall/{iteration}",
            "time",
            "s",
            {"iteration": 2},
        ),
        (
            [record("a", 1.5, "ms", host="h"), record("b", 2.5, "ms", host="h")],
            "{place}/value = time_ms",
            "time",
            "s",
            {"place": 2},
        ),
        (
            [record("a", 1.5, "MB", host="h"), record("b", 2.5, "MB", host="h")],
            "{place}/value = value [MB]",
            "value",
            "MB",
            {"place": 2},
        ),
        ([record("a", 1.5, rounds=3), record("b", 2.5, rounds=4)], None, "", "", {}),
        (
            {"unit": "us", "a": {"x": [5, 6]}, "b": {"x": [5, 6]}},
            "a/x/{iteration} = time_us",
            "time",
            "s",
            {"iteration": 2},
        ),
        (
            {"fft": {"mean": 1.5}, "sort": {"mean": 2.5}},
            "{benchmark}/mean",
            "time",
            "s",
            {"benchmark": 2},
        ),
        (
            {"throughput": [9.0, 8.0], "memory": [3.0, 4.0]},
            "throughput/{iteration} = throughput",
            "throughput",
            "ops/s",
            {"iteration": 2},
        ),
        (
            {"runs": [{"n": 8, "time_ms": 5}, {"n": 9, "time_ms": 6}]},
            "runs/{place}/time_ms = time_ms",
            "time",
            "s",
            {"place": 2},
        ),
        (
            {"runs": [{"n": 8, "s": [5, None]}, {"n": 9, "s": [6]}]},
            "runs/{place}/s/{iteration}",
            "time",
            "s",
            {"place": 2, "iteration": 2},
        ),
        (
            "program,n,r1,r2\nfft,8,1,2\nfft,9,1,2\n",
            "r{execution}",
            "time",
            "s",
            {"data_n": 2, "execution": 2},
        ),
        (
            "program,mean,r1,r2\nfft,1.5,1,2\nsort,3.5,3,4\n",
            "r{execution}",
            "time",
            "s",
            {"program": 2, "execution": 2},
        ),
        (
            {"host": "h", "results": [{"s": [[1.0, 2.0]]}]},
            "results/{place}/s/{place2}/{iteration}",
            "time",
            "s",
            {"iteration": 2},
        ),
        ("seconds of it\n1.5\n2.5\n", {"time": "seconds of it"}, "time", "s", {"execution": 2}),
        (
            "p,time_ms_1,time_ms_2\nfft,5,6\n",
            "time_ms_{execution} = time_ms",
            "time",
            "s",
            {"execution": 2},
        ),
        (
            "p,time1,memory1,time2,memory2\nfft,5,6,7,8\n",
            "time{execution}",
            "time",
            "s",
            {"execution": 2},
        ),
        ("memory_kb\n5\n6\n", {"metric": "memory_kb"}, "memory_kb", "1", {"execution": 2}),
        ("latency [ms]\n5\n6\n", {"metric": "latency [ms]"}, "latency", "s", {"execution": 2}),
        (
            "alg,size,ms\nsort,1,2\nfft,2,3\n",
            {"benchmark": "alg", "size": "size"},
            "time",
            "s",
            {"benchmark": 2, "size": 2},
        ),
    ],
)
def test_what_is_proposed_reads_as_what_it_is(tmp_path, content, proposed, metric, units, sizes):
    """Quantity and unit are those of the file, names beside the numbers tell them apart, and only
    like numbers are repetitions."""
    option, times = proposal(tmp_path, content)
    if proposed is None:
        assert option is None
        return
    assert option == {"dims" if isinstance(proposed, dict) else "pattern": proposed}
    assert times.attrs["metric"] == metric
    assert times[metric].attrs["units"] == units
    assert {dim: size for dim, size in times[metric].sizes.items() if size > 1} == sizes

"""NVBench JSON (`--json`, `--jsonbin`): a file is an execution.

The samples that `--jsonbin` writes beside it are iterations.

`time` is that of a kernel alone on the GPU, or of the CPU in a benchmark without a GPU. Without
samples the mean is the one value, and `loops` the number of samples. States that were skipped, or
have a time of batches alone, are left out and counted.
"""

from pathlib import PurePath
from typing import Any

import numpy as np

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import Entry, Run, amounts, note_means, table_of_entries, times
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import SCALAR, TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "nvbench"
BESIDE = (".bin",)  # Samples and clock rates
MEANS = {
    "nv/cold": "nv/cold/time/gpu/mean",
    "nv/cpu_only": "nv/cpu_only/time/cpu/mean",
}  # By what was measured
VALUES = [{"name": TEXT, "value": SCALAR}]
STATE = {"device?": SCALAR, "axis_values?": VALUES, "summaries?": [{"tag": TEXT, "data": VALUES}]}
SHAPE = {
    "devices?": [{"id": SCALAR, "name": SCALAR}],
    "benchmarks": [{"name": TEXT, "states?": [STATE]}],
}

started = has_keys("devices", "benchmarks|sm_version")


def recognise(source: Source) -> bool:
    """Return whether the content is devices, and benchmarks with states."""
    return "devices" in source.json_object and rows_with(
        source.json_object.get("benchmarks"), "name", "states"
    )


def read(source: Source) -> Table:
    """Read the samples, or else the means: benchmark x execution x iteration."""
    content = source.json
    devices = {device["id"]: device["name"] for device in content.get("devices") or ()}
    entries = [
        _entry(source, bench["name"], state, devices)
        for bench in content["benchmarks"]
        for state in bench.get("states") or ()
    ]
    note_means(
        source,
        sum(LOOPS in run.counters for entry in entries for run in entry.runs),
        "--jsonbin writes the samples beside them",
    )
    return table_of_entries(
        source, entries, counts={"n_skipped": sum(not entry.runs for entry in entries)}
    )


def _entry(source: Source, name: str, state: dict[str, Any], devices: dict[Any, Any]) -> Entry:
    """Return one state of a benchmark; without a time it was not measured, and has no run."""
    location = f"benchmark {name[:60]!r}, state {str(state.get('name'))[:60]!r}"
    summaries = {
        summary["tag"]: {value["name"]: value["value"] for value in summary["data"]}
        for summary in state.get("summaries") or ()
    }
    settings = {
        axis["name"]: value_of(str(axis["value"])) for axis in state.get("axis_values") or ()
    } | {"device": state.get("device")}
    entry = Entry(name, [], settings, {"gpu": devices.get(state.get("device"))})
    for prefix, tag in MEANS.items():
        if file_summary := summaries.get(f"nv/json/bin:{prefix}/sample_times"):
            return entry._replace(
                runs=[
                    Run(
                        {
                            TIME: times(
                                source, f"{location}: samples", _samples(source, file_summary)
                            )
                        }
                    )
                ]
            )
        if tag in summaries:
            size = amounts(
                source,
                f"{location}: sample_size",
                [summaries.get(f"{prefix}/sample_size", {}).get("value")],
                above_zero=True,
            )
            mean = times(source, f"{location}: {tag}", [summaries[tag].get("value")])
            return entry._replace(runs=[Run({TIME: mean}, {LOOPS: size})])
    return entry


def _samples(source: Source, file_summary: dict[str, Any]) -> list[float]:
    """Return the samples in a file in a folder beside this one.

    Paths of older versions begin where NVBench ran.
    """
    path = PurePath("..", str(file_summary.get("filename")))
    file = None if path.parent.name == ".." else source.beside(f"{path.parent.name}/{path.name}")
    if file is None:
        raise source.error(
            f"names samples that do not lie in a folder beside it: {str(path)[3:80]!r}"
        )
    samples: list[float] = np.frombuffer(file.packed, dtype="<f4").astype(float).tolist()
    if str(len(samples)) != str(file_summary.get("size")):
        raise file.error(
            f"has {len(samples)} samples; expected {file_summary.get('size')}, as "
            f"{source.path.name} says"
        )
    return samples

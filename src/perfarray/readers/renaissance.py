"""Renaissance harness JSON: a file is one JVM, so one execution; results are iterations, warm-up among them and not marked."""

from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.readers.entries import FAILED, Entry, Run, amounts, columns_by_name, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, Either
from perfarray.tables.columns import Table

NAME = "renaissance"
DURATIONS = ("duration_ns", "nanos")  # What the time of a repetition is called, from version 2 of the format on and before
STAMPS = ("uptime_ns", "unixts.before", "unixts.after")
VM = {"name": "vm", "version": "vm_version", "vm_version": "vm_version", "jre_version": "jre_version", "mode": "vm_mode"}
# `environment` to our coordinates
OS = {"name": "os", "version": "os_release", "arch": "architecture", "available_processors": "logical_cores"}
RESULTS = {...: Either([{}], {"results": [{}]})}
ENVIRONMENT = {"vm?": {}, "os?": {"phys_mem_total?": NUMBER}}
# The shape of the JSON: what is known of each benchmark and of the machine, the whole
SHAPE = {"format_version": ANY, "benchmarks": ANY, "data|results": ANY, "data?": RESULTS, "results?": RESULTS, "environment?": ENVIRONMENT}


def started(head: str) -> bool:
    """Return whether a broken file began as Renaissance's."""
    return '"duration_ns"' in head or '"unixts.before"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is results of the harness."""
    content = source.json_or_none
    return isinstance(content, dict) and "format_version" in content and _results(content) is not None


def _results(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is known of each benchmark."""
    results = content.get("data", content.get("results"))
    return results if isinstance(results, dict) and "benchmarks" in content else None


def read(source: Source) -> Table:
    """Read the durations: benchmark x execution x iteration."""
    content = source.json
    results = _results(content) or {}
    environment = content.get("environment") or {}
    vm, system = environment.get("vm") or {}, environment.get("os") or {}
    about = {name: stated[key] for stated, names in ((vm, VM), (system, OS)) for key, name in names.items() if key in stated}
    if isinstance(system.get("phys_mem_total"), int | float):
        about["memory_gb"] = system["phys_mem_total"] / 2**30
    return table_of_entries(source, [_entry(source, name, result) for name, result in results.items()], about=about)


def _entry(source: Source, name: str, result: Any) -> Entry:
    """Return one benchmark; counters stand beside the times."""
    results = result["results"] if isinstance(result, dict) else result
    termination = result.get("termination") if isinstance(result, dict) else None
    if not results:
        return Entry(name, [FAILED], metadata={"termination": termination})
    duration = next((key for key in DURATIONS if key in results[0]), DURATIONS[0])
    location = f"{name!r}: {duration!r}"
    values = times(source, location, [result.get(duration) for result in results], 1e-9)
    counters = {}
    for key, (rows, stated) in columns_by_name(source, results).items():
        if key not in (*DURATIONS, *STAMPS):
            counters[key] = np.full(len(results), np.nan)
            counters[key][rows] = amounts(source, f"{name!r}: {key!r}", stated)
    return Entry(name, [Run({TIME: values}, counters)], metadata={"termination": termination})

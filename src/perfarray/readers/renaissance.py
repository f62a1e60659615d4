"""Renaissance harness JSON: a file is one JVM, so one execution; results are iterations, warm-up among them and not marked."""

from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.readers.entries import FAILED, Entry, Run, amounts, by_name, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, Either
from perfarray.tables.columns import Table

NAME = "renaissance"

DURATIONS = ("duration_ns", "nanos")
"""What the time of a repetition is called, from version 2 of the format on and before."""

STAMPS = ("uptime_ns", "unixts.before", "unixts.after")

VM = {"name": "vm", "version": "vm_version", "vm_version": "vm_version", "jre_version": "jre_version", "mode": "vm_mode"}
OS = {"name": "os", "version": "os_release", "arch": "architecture", "available_processors": "logical_cores"}
"""`environment` to our coordinates."""

RESULTS = {...: Either([{}], {"results": [{}]})}
ENVIRONMENT = {"vm?": {}, "os?": {"phys_mem_total?": NUMBER}}
SHAPE = {"format_version": ANY, "benchmarks": ANY, "data|results": ANY, "data?": RESULTS, "results?": RESULTS, "environment?": ENVIRONMENT}
"""The shape of the JSON: what is known of each benchmark and of the machine, the whole."""


def started(head: str) -> bool:
    """Return whether a broken file began as Renaissance's."""
    return '"duration_ns"' in head or '"unixts.before"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is results of the harness."""
    content = source.json_or_none
    return isinstance(content, dict) and "format_version" in content and _results(content) is not None


def _results(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return what is known of each benchmark."""
    found = content.get("data", content.get("results"))
    return found if isinstance(found, dict) and "benchmarks" in content else None


def read(source: Source) -> Table:
    """Read the durations: benchmark x execution x iteration."""
    content = source.json
    known = _results(content) or {}
    environment = content.get("environment") or {}
    vm, system = environment.get("vm") or {}, environment.get("os") or {}
    about = {ours: stated[theirs] for stated, names in ((vm, VM), (system, OS)) for theirs, ours in names.items() if theirs in stated}
    if isinstance(system.get("phys_mem_total"), int | float):
        about["memory_gb"] = system["phys_mem_total"] / 2**30
    return table_of_entries(source, [_entry(source, name, own) for name, own in known.items()], about=about)


def _entry(source: Source, name: str, own: Any) -> Entry:
    """Return one benchmark; counters stand beside the times."""
    results = own["results"] if isinstance(own, dict) else own
    termination = own.get("termination") if isinstance(own, dict) else None
    if not results:
        return Entry(name, [FAILED], known={"termination": termination})
    duration = next((key for key in DURATIONS if key in results[0]), DURATIONS[0])
    place = f"{name!r}: {duration!r}"
    values = times(source, place, [result.get(duration) for result in results], 1e-9)
    beside = {}
    for key, (having, stated) in by_name(source, results).items():
        if key not in (*DURATIONS, *STAMPS):
            beside[key] = np.full(len(results), np.nan)
            beside[key][having] = amounts(source, f"{name!r}: {key!r}", stated)
    return Entry(name, [Run({TIME: values}, beside)], known={"termination": termination})

"""Krun results (bzip2-packed JSON): executions with all iterations, warm-up not marked.

Times lie under `wallclock_times`, in older files under `data`, or are the whole file;
`eta_estimates` look the same and are none.
"""

import re
from typing import Any

from perfarray.conventions import TIME
from perfarray.readers.entries import FAILED, Entry, Run, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, Either, has_keys
from perfarray.tables.columns import Table

NAME = "krun"
EXECUTIONS = {...: [[ANY]]}
SHAPE = Either({"wallclock_times": EXECUTIONS}, {"data": EXECUTIONS}, EXECUTIONS)

started = has_keys("wallclock_times|eta_estimates")


def recognise(source: Source) -> bool:
    """Return whether the content is executions of `benchmark:vm:variant`."""
    return _executions(source.json_object) is not None


def _executions(content: Any) -> dict[str, Any] | None:
    """Return the times by `benchmark:vm:variant`, or None where the content is something else."""
    if isinstance(content, dict) and content.keys() & {"audit", "config", "reboots"}:
        content = content.get("wallclock_times", content.get("data"))
    if not isinstance(content, dict) or not content:
        return None
    lists = all(
        isinstance(value, list) and all(isinstance(execution, list) for execution in value)
        for value in content.values()
    )
    return content if lists and all(key.count(":") == 2 for key in content) else None


def read(source: Source) -> Table:
    """Read the times: benchmark x execution x iteration; an execution without any crashed."""
    executions = _executions(source.json)
    if executions is None:
        raise source.error("is not Krun's: expected lists of executions by 'benchmark:vm:variant'")
    entries = []
    for key, times_by_execution in executions.items():
        name, vm, variant = key.split(":")
        numbered = enumerate(times_by_execution)
        runs = [
            Run({TIME: times(source, f"{key!r}: execution {index}", values)}) if values else FAILED
            for index, values in numbered
        ]
        entries.append(Entry(name, runs, {"vm": vm, "variant": variant}))
    audit = source.json.get("audit")
    if not isinstance(audit, dict):
        return table_of_entries(source, entries)
    cpu = re.search(r"^model name[ \t]*:[ \t]*(\S.*)", str(audit.get("cpuinfo")), re.M)
    return table_of_entries(
        source, entries, file_metadata={"cpu": cpu and cpu[1].rstrip(), "os": audit.get("uname")}
    )

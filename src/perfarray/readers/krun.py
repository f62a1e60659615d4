"""Krun results (bzip2-packed JSON): executions of all iterations, warm-up among them and not marked.

Times lie under `wallclock_times`, in older files under `data`, or are the whole file; `eta_estimates` look the same and are none.
"""

import re
from typing import Any

from perfarray.conventions import TIME
from perfarray.readers.entries import FAILED, Entry, Run, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, Either
from perfarray.tables.columns import Table

NAME = "krun"
EXECUTIONS = {...: [[ANY]]}
# The shape of the JSON: the times by benchmark, the whole
SHAPE = Either({"wallclock_times": EXECUTIONS}, {"data": EXECUTIONS}, EXECUTIONS)


def started(head: str) -> bool:
    """Return whether a broken file began as Krun's."""
    return '"wallclock_times"' in head or '"eta_estimates"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is executions of `benchmark:vm:variant`."""
    return _executions(source.json_or_none) is not None


def _executions(content: Any) -> dict[str, Any] | None:
    """Return the times by `benchmark:vm:variant`, or None where the content is something else."""
    if not isinstance(content, dict):
        return None
    is_bare = not content.keys() & {"audit", "config", "reboots"}
    executions = content if is_bare else content.get("wallclock_times", content.get("data"))
    if not isinstance(executions, dict) or not executions:
        return None
    fits = all(
        key.count(":") == 2 and isinstance(value, list) and all(isinstance(execution, list) for execution in value)
        for key, value in executions.items()
    )
    return executions if fits else None


def read(source: Source) -> Table:
    """Read the times: benchmark x execution x iteration; an execution without any crashed."""
    executions = _executions(source.json)
    if executions is None:
        raise source.error("is not Krun's: expected lists of executions by 'benchmark:vm:variant'")
    entries = []
    for key, benchmark_executions in executions.items():
        name, vm, variant = key.split(":")
        lists = enumerate(benchmark_executions)
        runs = [Run({TIME: times(source, f"{key!r}: execution {index}", values)}) if values else FAILED for index, values in lists]
        entries.append(Entry(name, runs, {"vm": vm, "variant": variant}))
    return table_of_entries(source, entries, about=_about(source.json.get("audit")))


def _about(audit: Any) -> dict[str, Any]:
    """Return what the audit says of the machine."""
    if not isinstance(audit, dict):
        return {}
    cpu = re.search(r"^model name[ \t]*:[ \t]*(\S.*)", str(audit.get("cpuinfo")), re.M)
    return {"cpu": cpu and cpu[1].rstrip(), "os": audit.get("uname")}

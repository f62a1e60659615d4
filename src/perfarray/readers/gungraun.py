"""Gungraun and iai-callgrind (`--save-summary`, `--output-format=json`): Callgrind's counts.

Counts have no noise: what is counted again is the same, so that any difference is one of the
programs, and no interval belongs to it: instructions are declared exact. Cycles are estimated from
accesses to simulated caches. What a file repeats of the run before (`old`) is not read.
"""

from contextlib import suppress
from dataclasses import replace
from json import JSONDecodeError, JSONDecoder
from typing import Any

from perfarray.conventions import LOWER
from perfarray.readers.entries import Entry, Run, amounts, table_of_entries
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, TEXT, Either, has_keys
from perfarray.tables.columns import Table

NAME = "gungraun"
PLACED = True
BESIDE = (".out", ".old", ".log", ".svg")
INSTRUCTIONS = "instructions"
EVENTS = {
    "Ir": INSTRUCTIONS,
    "EstimatedCycles": "estimated_cycles",
    "TotalRW": "memory_accesses",
    "RamHits": "ram_accesses",
}
NO_NOISE = (
    "Counts of instructions have no noise: there is one of each, and a difference is exact. "
    "compare gives verdicts without intervals. Other counts and times need repeated runs."
)
TOTAL = {"total": {"metrics|summary": ANY, "metrics?": {}, "summary?": Either({...: {}}, TEXT)}}
PROFILE = {"tool": ANY, "data|summaries": ANY, "data?": TOTAL, "summaries?": TOTAL}
SUMMARY = {
    "module_path": TEXT,
    "id?": TEXT,
    "profiles|tool_summaries": ANY,
    "profiles?": [PROFILE],
    "tool_summaries?": [PROFILE],
}
SHAPE = Either(SUMMARY, [SUMMARY])

started = has_keys("benchmark_exe", "benchmark_file", "kind")


def recognise(source: Source) -> bool:
    """Return whether the file begins as a summary, behind which others may follow."""
    return source.looks_like_json and started(source.head)


def read(source: Source) -> Table:
    """Read the counts: benchmark x execution x iteration."""
    text, position, summaries = source.text.strip(), 0, []
    while position < len(text):
        try:
            content, position = JSONDecoder().raw_decode(text, position)
        except JSONDecodeError as error:
            raise source.error(
                f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
            ) from None
        summaries += content if isinstance(content, list) else [content]
        while text[position : position + 1].isspace():
            position += 1
    source.note("no_noise", NO_NOISE, benchmarks=len(summaries))
    entries = [_entry(source, summary) for summary in summaries]
    table = table_of_entries(source, entries, kinds=dict.fromkeys(EVENTS.values(), ("1", LOWER)))
    if INSTRUCTIONS not in table.metrics:
        return table
    # Simulated caches depend on addresses, which may differ from run to run.
    exact = {INSTRUCTIONS: replace(table.metrics[INSTRUCTIONS], exact=True)}
    return replace(table, metrics=table.metrics | exact)


def _entry(source: Source, summary: dict[str, Any]) -> Entry:
    """Return the total of what Callgrind counted for one benchmark, in schema 7 or 3 to 6."""
    name = "::".join(filter(None, (summary["module_path"], summary.get("id"))))
    profiles = [
        profile
        for profile in summary.get("profiles") or summary["tool_summaries"]
        if profile["tool"] == "Callgrind"
    ]
    total = (
        (profiles[0].get("data") or profiles[0]["summaries"])["total"]
        if profiles
        else {"metrics": {}}
    )
    events = total["metrics"] if "metrics" in total else next(iter(total["summary"].values()), {})
    counts = {
        ours: amounts(source, f"benchmark {name[:80]!r}: {key!r}", [_new(events[key])])
        for key, ours in EVENTS.items()
        if key in events
    }
    if not counts:
        source.failures.append(
            f"{name[:80]}: it has no counts of Callgrind, from version 0.14 on; other tools "
            "count no instructions"
        )
    return Entry(
        name,
        [Run(counts)] if counts else [],
        metadata={"function": summary.get("function_name"), "details": summary.get("details")},
    )


def _new(event: Any) -> Any:
    """Return the count of the new run, where the old one may stand beside it.

    None if there is none.
    """
    with suppress(IndexError, KeyError, TypeError):
        counts = event["values"] if "values" in event else event["metrics"]
        value = (
            counts["new"]
            if "new" in counts
            else counts["Left"]
            if "Left" in counts
            else counts["Both"][0]
        )
        return value["Int"] if isinstance(value, dict) else value
    return None

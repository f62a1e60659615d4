"""Labels of benchmarks, and names that a file gives to variables.

A setting (a parameter, threads, a package) is a coordinate along `benchmark`. The label contains it
too, `name[setting=value]`, where one name occurs with several of its values.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from perfarray.conventions import (
    BENCHMARK,
    COMPARED,
    EXECUTION,
    LEVELS,
    MARKS,
    SESSION,
    THROUGHPUT,
    TIME,
    plural,
)
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import rename_labels
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

RESERVED = frozenset(
    {*COMPARED, *LEVELS, *MARKS, TIME, THROUGHPUT}
)  # Names that no setting or further metric of a file may take
LISTED_NAMES = 20  # Names that a note holds as data
PLAIN_NAME = "benchmark_name"  # Coordinate: the name of a benchmark without its settings
OCCURRENCE = (
    "occurrence"  # Coordinate: which of the entries of one name in a file an entry is, from 1
)


class LabelParts(NamedTuple):
    """Components of a label: name, settings, suffix of a repeat, settings always shown."""

    name: str
    settings: Mapping[str, Any]
    repeated: str = ""
    identity: frozenset[str] = frozenset()

    def without(self, removed: Collection[str], plain_name: str) -> "LabelParts":
        """Return the label without some settings.

        Without any, the name stays, and without the name itself the settings.
        """
        remaining = {key: value for key, value in self.settings.items() if key not in removed}
        name = self.name if remaining.keys() == self.settings.keys() else plain_name
        name = "" if PLAIN_NAME in removed else name
        return self._replace(
            name=name, settings=remaining, repeated="" if OCCURRENCE in removed else self.repeated
        )

    def label(self, keys: Collection[str]) -> str:
        """Return `name[setting=value,...]` with some of its settings."""
        shown_keys = self.identity.union(keys)
        settings = ",".join(
            f"{key}={value}"
            for key, value in self.settings.items()
            if key in shown_keys and value is not None
        )
        return f"{name_with_settings(self.name, settings)}{self.repeated}"


def name_with_settings(name: str, settings: str) -> str:
    """Return `name[settings]`.

    Where the name is a dim, the settings alone, and `all` without any.
    """
    return f"{name}[{settings}]" if name and settings else name or settings or "all"


def ambiguous_settings(files: Iterable[Sequence[LabelParts]]) -> set[str]:
    """Return the settings that one name has with several values in one file."""
    ambiguous = set()
    for file_parts in files:
        first_values: dict[tuple[str, str], Any] = {}
        keys = dict.fromkeys(key for label_parts in file_parts for key in label_parts.settings)
        for label_parts in file_parts:
            for key in keys:
                value = label_parts.settings.get(key)
                if first_values.setdefault((label_parts.name, key), value) != value:
                    ambiguous.add(key)
    return ambiguous


def agree(tables: Sequence[Table]) -> list[Table]:
    """Name a setting in the labels of all files if one file needs it.

    The default for formats without an `agree` of their own; labels without components stay.
    """
    keys = ambiguous_settings(table.parts.get(BENCHMARK, ()) for table in tables)
    return relabelled(tables, lambda label_parts: label_parts.label(keys))


def relabelled(tables: Sequence[Table], label: Callable[[Any], str]) -> list[Table]:
    """Return the tables with benchmark labels composed again of their components, if any."""
    components = [table.parts.get(BENCHMARK, ()) for table in tables]
    labels = [list(map(label, file_parts)) for file_parts in components]
    note = None
    if any(label_parts.repeated for file_parts in components for label_parts in file_parts):
        note = _count_repeats(
            labels,
            [
                [label(label_parts._replace(repeated="")) for label_parts in file_parts]
                for file_parts in components
            ],
            tables,
        )
    agreed = [
        rename_labels(
            table, BENCHMARK, dict(zip(table.labels[BENCHMARK].labels, names, strict=True))
        )
        if names
        else table
        for table, names in zip(tables, labels, strict=True)
    ]
    return [replace(agreed[0], notes=(*agreed[0].notes, note)), *agreed[1:]] if note else agreed


def _count_repeats(
    labels: Sequence[list[str]], names: Sequence[Sequence[str]], tables: Sequence[Table]
) -> Note | None:
    """Write `name#1 of 2` for names that occur more often in one file than in another."""
    counts = list(map(Counter, names))
    numbers: dict[str, set[int]] = {}
    for count in counts:
        for name, number in count.items():
            numbers.setdefault(name, set()).add(number)
    unmatched = [name for name in numbers if len(numbers[name]) > 1]
    for file_labels, file_names, count in zip(labels, names, counts, strict=True):
        occurrences: Counter[str] = Counter()
        for position, name in enumerate(file_names):
            occurrences[name] += 1
            if count[name] > 1 and len(numbers[name]) > 1:
                file_labels[position] = f"{name}#{occurrences[name]} of {count[name]}"
    if not unmatched:
        return None
    times = " or ".join(map(str, sorted(numbers[unmatched[0]])))
    sentence = (
        f"{unmatched[0]!r} occurs {times} times in a file, and nothing else tells its entries "
        "apart. "
        "Files with different numbers of them are not compared by position. Give each entry a "
        "name of its own."
    )
    if any(OCCURRENCE in table.descriptors for table in tables):
        has_executions = any(table.levels[EXECUTION].max(initial=0) > 0 for table in tables)
        sentence = f"{sentence} {as_repetitions(has_executions)}"
    return Note(
        "unmatched_repeats",
        sentence,
        {"repeated": len(unmatched), "names": unmatched[:LISTED_NAMES]},
    )


def as_repetitions(has_executions: bool) -> str:
    """Return how entries of one name become repetitions of a level that the file lacks."""
    level = SESSION if has_executions else EXECUTION
    return (
        f"If they are runs of one benchmark, dims={{{level!r}: {OCCURRENCE!r}}} reads them as "
        f"{plural(level)}."
    )


def unique_labels(
    names: Sequence[str],
    source: Source,
    repetition: str = "benchmark names occur more than once",
    remedy: str = "",
) -> list[str]:
    """Return labels, the second of one name as `name#2`, with a note on what to do."""
    used_labels = set(names)
    if len(used_labels) == len(names):
        return list(names)
    counts: Counter[str] = Counter()
    labels = []
    for name in names:
        counts[name] += 1
        label = name
        while counts[name] > 1 and (label := f"{name}#{counts[name]}") in used_labels:
            counts[name] += 1
        used_labels.add(label)
        labels.append(label)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if OCCURRENCE not in source.options.dims.values():
        sentence = (
            f"{len(repeated)} {repetition}; all are kept, the second as "
            f"{repeated[0] + '#2'!r}: {listed(repeated, 5)}"
        )
        values = {"repeated": len(repeated), "names": repeated[:LISTED_NAMES]}
        source.note("repeated_names", f"{sentence}. {remedy}" if remedy else sentence, **values)
    return labels


def variable_name(name: str, prefix: str, used_names: Collection[str] = RESERVED) -> str:
    """Return a name that every file format can store, with a prefix where it is taken."""
    clean = re.sub(r"[/\x00-\x1f\x7f]", "_", name).strip()
    return clean if re.match(r"\w", clean) and clean not in used_names else f"{prefix}{clean}"


def number_or_text(value: Any) -> Any:
    """Return a number that a double holds exactly as it is, None as None, and all else as text."""
    if value is None or (type(value) in (int, float) and abs(value) < 2**53):
        return value
    return str(value)

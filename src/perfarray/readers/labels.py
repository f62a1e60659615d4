"""Labels of benchmarks, and names that a file gives to variables.

A setting (a parameter, threads, a package) is a coordinate along `benchmark`. The label contains it too, `name[setting=value]`, where one
name occurs with several of its values.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from perfarray.conventions import BENCHMARK, COMPARED, LEVELS, MARKS, THROUGHPUT, TIME
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import rename_labels
from perfarray.timings.validation import listed

RESERVED = frozenset({*COMPARED, *LEVELS, *MARKS, TIME, THROUGHPUT})  # Names that no setting or further metric of a file may take
LISTED_NAMES = 20  # Names that a note holds as data


class LabelParts(NamedTuple):
    """Components of a label: name, settings, and the suffix of a repeated label."""

    name: str
    settings: Mapping[str, Any]
    repeated: str = ""

    def without(self, removed: Collection[str], plain_name: str) -> "LabelParts":
        """Return the label without some settings; without any, the name stays."""
        remaining = {key: value for key, value in self.settings.items() if key not in removed}
        return LabelParts(self.name if remaining.keys() == self.settings.keys() else plain_name, remaining, self.repeated)

    def label(self, keys: Collection[str]) -> str:
        """Return `name[setting=value,...]` with some of its settings."""
        settings = ",".join(f"{key}={value}" for key, value in self.settings.items() if key in keys and value is not None)
        return f"{self.name}[{settings}]{self.repeated}" if settings else f"{self.name}{self.repeated}"


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
    """Name a setting in the labels of all files if one file needs it, so that a benchmark has one label in all.

    The default for formats without an `agree` of their own; labels without components stay.
    """
    keys = ambiguous_settings(table.parts.get(BENCHMARK, ()) for table in tables)
    return [relabelled(table, lambda label_parts: label_parts.label(keys)) for table in tables]


def relabelled(table: Table, label: Callable[[Any], str]) -> Table:
    """Return the table with benchmark labels composed again of their components, if any."""
    if BENCHMARK not in table.parts:
        return table
    return rename_labels(table, BENCHMARK, dict(zip(table.labels[BENCHMARK].labels, map(label, table.parts[BENCHMARK]), strict=True)))


def unique_labels(names: Sequence[str], source: Source, repetition: str = "benchmark names occur more than once") -> list[str]:
    """Return labels of which the second of one name is `name#2`; a note lists the repeated names."""
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
    source.note(
        "repeated_names",
        f"{len(repeated)} {repetition}; all are kept, the second as {repeated[0] + '#2'!r}: {listed(repeated, 5)}",
        repeated=len(repeated),
        names=repeated[:LISTED_NAMES],
    )
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

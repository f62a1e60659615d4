"""Names that files give: benchmarks that occur twice, variables that no file format would store, names that mean something else here."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from perfarray.conventions import COMPARED, LEVELS, MARKS, THROUGHPUT, TIME
from perfarray.readers.opening import Source
from perfarray.timings.validation import listed

RESERVED = frozenset({*COMPARED, *LEVELS, *MARKS, TIME, THROUGHPUT})  # Names that a setting or a further metric of a file must not take
NAMED = 20  # Names that a note holds as data


def unique_labels(names: Sequence[str], source: Source, repetition: str = "benchmark names occur more than once") -> list[str]:
    """Keep every one of several labels of the same name: the second becomes `name#2`; one note names them."""
    used_labels = set(names)
    if len(used_labels) == len(names):
        return list(names)
    counts: dict[str, int] = {}
    labels = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
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
        names=repeated[:NAMED],
    )
    return labels


def variable_name(name: str, prefix: str, used_names: Collection[str] = RESERVED) -> str:
    """Return a name a variable can have in every file format, with a prefix where it is taken."""
    clean = re.sub(r"[/\x00-\x1f\x7f]", "_", name).strip()
    return clean if re.match(r"\w", clean) and clean not in used_names else f"{prefix}{clean}"


def number_or_text(value: Any) -> Any:
    """Return what describes a benchmark as a number if it is a usual one, None as None, and all else as text."""
    if value is None or (type(value) in (int, float) and abs(value) < 2**53):
        return value
    return str(value)

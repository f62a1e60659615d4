"""Suggestions for a file that no reader recognises: a pattern or columns for its numbers.

A pattern is suggested for lists of numbers, or for the numbers at one key of objects that are
alike. None is suggested that puts quantities of several names or units under one, or that calls
seconds what is no time by its name, its unit, or the names beside it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any, NamedTuple

from perfarray.conventions import BENCHMARK, COMPARED, METRIC, SECONDS, TIME, seconds_factor
from perfarray.readers import custom, tidy_csv
from perfarray.readers.numbers import check_measured, number
from perfarray.readers.opening import FileOptions, Source
from perfarray.tables.measured import UNITS_OF_ROWS, is_time_of_no_unit, name_and_unit, value_column
from perfarray.tables.roles import KNOWN_TIMES
from perfarray.timings.validation import listed

NUMBERED = re.compile(
    r"(\D{0,40})\d{1,9}", re.A
)  # How columns of one kind are called: `r1`, `run-10`, `time_ms_2`

# What a column of a repetition is called before its number
REPETITIONS = frozenset({
    "r", "run", "rep", "repeat", "repetition", "iter", "iteration", "exec", "execution", "trial",
    "sample", "fork", "invocation", "pass", "round", "measurement", "t", "time",
})  # fmt: skip

# Words in the names of what is no time
NO_TIME = frozenset({
    "accuracy", "bandwidth", "bit", "byte", "bytes", "cache", "clock", "core", "count", "counter",
    "cpu", "date", "density", "depth", "efficiency", "energy", "epoch", "error", "flops", "fps",
    "freq", "frequency", "gb", "gbps", "gflops", "height", "hz", "id", "index", "instructions",
    "iops", "joules", "kb", "kib", "length", "level", "line", "load", "loss", "mb", "mbps", "mem",
    "memory", "mhz", "mib", "number", "ops", "order", "page", "percent", "percentage", "pid",
    "port", "power", "price", "qps", "rank", "rate", "ratio", "reads", "rps", "rss", "score",
    "seed", "size", "speed", "speedup", "status", "temperature", "throughput", "timestamp", "total",
    "tps", "usage", "utilization", "version", "volume", "watts", "width", "writes", "year",
})  # fmt: skip

UNLIKE = 1000  # A time that is so many times another is no repetition of it
FORMS = 20  # Keys on the way to numbers that are tried
EMPTY = 10  # Cells for each number above which columns are no labels of dims
NUMBERS = 100_000  # Numbers of a file that are looked at

# What stands in text that tools print for people, and what would help
JMH_TABLE = r"^\s*Benchmark +(?:\(\S+\) +)*Mode +(?:Threads +)?(?:Cnt|Samples) +Score\b"
PRINTED = {
    re.compile(
        rf"^# Benchmark mode: |{JMH_TABLE}", re.M
    ): "JMH prints this; it writes what is read with -rf json -rff FILE",
    re.compile(
        r" time:   \["
    ): "criterion prints this; what is read are the files below target/criterion",
    re.compile(
        r" Performance counter stats for "
    ): "perf stat prints this, for people; what is read is a table of seconds, run by run",
}

Keys = tuple[Any, ...]


class Leaf(NamedTuple):
    """One number of JSON: the keys on the way to it, and the objects on that way."""

    keys: Keys
    value: float
    objects: tuple[dict[str, Any], ...]


def suggestion(source: Source, *, companion: bool = False) -> str:
    """Return what would help with a file that no reader recognises.

    None of its numbers is proposed where it lies beside results.
    """
    if source.looks_like_json:
        return _for_json(source, companion)
    for printed, helps in PRINTED.items():
        if printed.search(source.head):
            return helps
    return _for_table(source)


def _for_json(source: Source, companion: bool) -> str:
    """Return the pattern that reads the numbers of JSON, else how to write one."""
    leaves = list(islice(_leaves(source.json), NUMBERS))
    if not leaves:
        return "it has no number"
    groups: dict[Keys, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(_form(leaf.keys), []).append(leaf)
    first = "/".join(map(str, leaves[0].keys))
    forms = sorted(
        groups, key=lambda form: (value_column(_name(form)) is None, form[-1] is not ...)
    )
    for form in forms[: 0 if companion else FORMS]:
        quantity = (
            _quantity(_name(form), groups[form])
            if _is_alike(source.json, form, groups[form])
            else None
        )
        if quantity is None:
            continue
        pattern = _pattern(form) + (f" = {quantity}" if quantity != TIME else "")
        if _reads(source, pattern):
            example = "/".join(map(str, groups[form][0].keys))
            subject = "it" if example == first else repr(example)
            kind = "seconds" if quantity == TIME else repr(quantity)
            return (
                f"say where its numbers are. The first is {first!r}. {pattern=} takes {subject}, "
                f"and its like, for {kind}. A name in braces in the place of a key makes a dim "
                "of it"
            )
    return (
        f"say where its numbers are. The first is {first!r}. A pattern is the keys on the way to "
        "numbers of one kind. A name in braces in the place of a key makes a dim of it. Behind "
        "' = ' stands what the numbers are, if they are no seconds"
    )


def _leaves(content: Any) -> Iterator[Leaf]:
    nodes: list[tuple[Keys, Any, tuple[dict[str, Any], ...]]] = [((), content, ())]
    while nodes:
        keys, node, objects = nodes.pop()
        if type(node) in (int, float):
            yield Leaf(keys, node, objects)
        elif isinstance(node, dict):
            nodes += reversed(
                [((*keys, key), child, (*objects, node)) for key, child in node.items()]
            )
        elif isinstance(node, list):
            nodes += reversed(
                [((*keys, index), child, objects) for index, child in enumerate(node)]
            )


def _form(keys: Keys) -> Keys:
    """Return the common keys of like numbers: a list's position is `...`, any first key None."""
    form = tuple(... if isinstance(key, int) else key for key in keys)
    return form if ... in form or len(form) < 2 else (None, *form[1:])


def _name(form: Keys) -> str:
    return next((key for key in reversed(form) if isinstance(key, str)), "")


def _words(*texts: str) -> set[str]:
    """Return the words of some names, with and without a plural s: `peakClocks_kb` has four."""
    words = {
        word.lower() for text in texts for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text[:1000])
    }
    return words | {word.removesuffix("s") for word in words}


def _quantity(name: str, leaves: Sequence[Leaf]) -> str | None:
    """Return the quantity of numbers as a pattern writes it, by their unit or name, else a time.

    None for several, or for no time.
    """
    units = _texts((record for leaf in leaves for record in leaf.objects), units=True)
    if len(units) > 1:
        return None
    column = value_column(name)
    for unit in units:
        if seconds_factor(unit) is None:
            return f"{name} [{unit}]"
        return TIME if unit == SECONDS else f"{TIME}_{unit}"
    if column is not None:
        return TIME if column[:2] == (TIME, SECONDS) else name
    is_count = (
        any(isinstance(leaf.keys[-1], str) for leaf in leaves)
        and name.endswith("s")
        and len(name) > 2
    )
    names = {key for leaf in leaves for key in leaf.keys if isinstance(key, str)}
    texts = _texts((record for leaf in leaves for record in leaf.objects[-1:]), units=False)
    return None if is_count or NO_TIME & _words(*names, *texts) else TIME


def _texts(objects: Iterable[dict[str, Any]], *, units: bool) -> set[str]:
    """Return the texts in objects: the units, or all others."""
    distinct = {id(record): record for record in objects}.values()
    return {
        text
        for record in distinct
        for key, text in record.items()
        if isinstance(text, str) and (key.lower() in UNITS_OF_ROWS) == units
    }


def _is_alike(content: Any, form: Keys, leaves: Sequence[Leaf]) -> bool:
    """Return whether numbers may be repetitions of one thing, or the same of several."""
    if form[-1] is ...:
        lists: dict[Keys, list[Leaf]] = {}
        for leaf in leaves:
            lists.setdefault(leaf.keys[:-1], []).append(leaf)
        return all(map(_are_repetitions, lists.values()))
    rivals = any(
        type(value) in (int, float)
        for leaf in leaves
        for key, value in leaf.objects[-1].items()
        if key != form[-1]
    )
    if rivals and value_column(_name(form)) is None:
        return False
    return ... in form or (
        form[0] is None
        and len(leaves) == sum(isinstance(child, dict | list) for child in content.values())
    )


def _are_repetitions(leaves: Sequence[Leaf]) -> bool:
    """Return whether numbers of a list may be repetitions: alike, and without names beside."""
    values = [leaf.value for leaf in leaves]
    siblings = [
        sibling
        for record in leaves[0].objects[-1:]
        for sibling in record.values()
        if isinstance(sibling, list)
    ]
    has_names = any(
        len(sibling) == len(values) and all(isinstance(name, str) for name in sibling)
        for sibling in siblings
    )
    return 0 < max(values) < UNLIKE * min(values) and not has_names


def _pattern(form: Keys) -> str:
    """Return a form's pattern: iterations for lists of numbers, `place` for other lists."""
    names = iter(["{place}", *(f"{{place{number}}}" for number in range(2, len(form) + 2))])
    above = [next(names) if key is ... else key for key in form[:-1]]
    last = "{iteration}" if form[-1] is ... else form[-1]
    return "/".join([*above, last] if ... in form else ["{benchmark}", *form[1:]])


def _reads(source: Source, pattern: str | None = None, dims: dict[str, Any] | None = None) -> bool:
    """Return whether pattern or dims read a file into an array that is not almost empty."""
    trial = source.rewritten(source.text)
    trial.notes, trial.options = [], FileOptions(pattern=pattern, dims=dims or {})
    try:
        table = custom.read(trial)
        check_measured(trial, table)
    except ValueError:
        return False
    return prod(len(column.labels) for column in table.labels.values()) <= EMPTY * len(table)


def _for_table(source: Source) -> str:
    columns = tidy_csv.header(source.beginning)
    if all(number(name) is not None for name in columns):
        begin = f"it begins with {len(columns)} numbers without a header: "
        remedy = "dims={'time': 0} takes those in column 0 for seconds"
        return begin + (
            remedy
            if len(columns) == 1
            else "dims= names its columns by their places, the first of which is 0"
        )
    if len(columns) == 1 and any(number(line) is not None for line in source.text.split("\n")[1:2]):
        kind = _dim_of_values(columns[0])
        dims, quantity = {kind: columns[0]}, "seconds" if kind == TIME else "what they are called"
        return f"it is one column of numbers: {dims=} takes them for {quantity}"
    pattern = _pattern_of_heads(columns)
    if pattern is not None and _reads(source, pattern):
        quantity = repr(pattern.partition(" = ")[2]) if " = " in pattern else "seconds"
        return f"its columns look like repetitions: {pattern=} takes them for {quantity}"
    needs = (
        f"a table needs a column of what is measured ({', '.join(COMPARED[:3])}, ...) and one "
        "of values (time, time_ms, ...)"
    )
    units = [name for name in columns if is_time_of_no_unit(name)]
    if units:
        return f"column {units[0]!r} has no unit of time that is known; these are {KNOWN_TIMES}"
    has = f", and this has {listed(columns, 12)}" if len(columns) > 1 else ""
    dims = _dims_of_labels(columns)
    labels = (
        f"{dims=} takes the others for labels; else " if dims and _reads(source, dims=dims) else ""
    )
    return (
        f"{needs}{has}: {labels}name them with {custom.EXAMPLE}; format='tidy_csv' says what "
        "it lacks"
    )


def _dims_of_labels(columns: Sequence[str]) -> dict[str, Any]:
    """Return dims for the columns beside the only column of values, the first as benchmarks.

    None if other columns hold values.
    """
    named_columns = [name for name in columns if name]
    labels = [name for name in named_columns if value_column(name) is None]
    return (
        dict(zip([BENCHMARK, *labels[1:]], labels, strict=False))
        if len(labels) == len(named_columns) - 1
        else {}
    )


def _dim_of_values(name: str) -> str:
    """Return the `dims` key of a numeric column: a time, a known name or another quantity."""
    if value_column(name) is not None:
        return name
    return METRIC if name_and_unit(name)[1] or NO_TIME & _words(name) else TIME


def _pattern_of_heads(columns: Sequence[str]) -> str | None:
    """Return the pattern of columns with names of repetitions (`run-1`), None if there are none."""
    prefixes = Counter(match[1] for name in columns if (match := NUMBERED.fullmatch(name)))
    for prefix, number_of_columns in prefixes.most_common():
        name = prefix.rstrip("_-. ")
        *front, last = re.split(r"[_\-. ]+", name)
        quantity = (
            name if value_column(name) else "_".join(front) if value_column("_".join(front)) else ""
        )
        if number_of_columns > 1 and (
            quantity or (last.lower() in REPETITIONS and not NO_TIME & _words(*front))
        ):
            return f"{prefix}{{execution}}" + (
                f" = {quantity}" if quantity not in ("", TIME) else ""
            )
    return None

"""Which descriptions are parsed, and the columns that their parts become."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import UNKNOWN
from perfarray.tables.descriptions import hardware, software

# Texts that state nothing
SILENT: Final = frozenset({"", "-", "--", "Multiple", "Not Applicable", UNKNOWN})


class Reading(NamedTuple):
    """The parser of a kind of text, and the columns of its parts.

    `{}` is the name of the text without `_cache`.
    """

    parse: Callable[[str], Any]
    columns: Mapping[str, str]


CACHES: Final = {
    "kb": "{}_kb",
    "instruction_kb": "{}_instruction_kb",
    "data_kb": "{}_data_kb",
    "per": "{}_per",
}
MEMORY: Final = {
    "gb": "memory_gb",
    "sticks": "memory_sticks",
    "stick_gb": "memory_stick_gb",
    "speed": "memory_speed",
}
DISK: Final = {
    "gb": "disk_gb",
    "disks": "disks",
    "rpm": "disk_rpm",
    "solid_state": "disk_solid_state",
}
COUNTS: Final = {name: name for name in hardware.ProcessorCounts._fields}
PRODUCT: Final = {"family": "{}", "version": "{}_version"}
ITSELF: Final = {"": "{}"}

# The parsed texts by the name of the coordinate; other texts are categories
READINGS: Final[Mapping[str, Reading]] = {
    **{f"{name}_cache": Reading(hardware.cache, CACHES) for name in ("l1", "l2", "l3", "other")},
    "memory": Reading(hardware.memory, MEMORY),
    **dict.fromkeys(("disk", "disk_subsystem", "storage"), Reading(hardware.disk, DISK)),
    **dict.fromkeys(("cpus_enabled", "enabled"), Reading(hardware.counts, COUNTS)),
    **dict.fromkeys(("cpu_mhz", "cpu_max_mhz"), Reading(hardware.clock, ITSELF)),
    **dict.fromkeys(
        ("hardware_available", "software_available", "date_tested", "published", "updated", "date"),
        Reading(software.year, ITSELF),
    ),
    **dict.fromkeys(("os", "operating_system"), Reading(software.operating_system, PRODUCT)),
    "compiler": Reading(software.compiler, PRODUCT),
    "file_system": Reading(software.file_system, ITSELF),
    "auto_parallel": Reading(software.yes_or_no, ITSELF),
}

# Parts that describe a machine even where its text does not state them
PLAIN: Final = frozenset({"kb", "gb", *COUNTS, ""})

# Parts that describe a machine only where its text states them
TOLD_APART: Final = frozenset({"instruction_kb", "data_kb"})


def stated(text: str) -> str | None:
    """Return a text with single blanks, or None where it states nothing."""
    plain = " ".join(text.split())
    return None if plain in SILENT else plain


def read_each(parse: Callable[[str], Any], texts: Iterable[Any]) -> list[Any]:
    """Return the parsed value of each text, None where it states nothing.

    Equal texts are parsed once.
    """
    codes, distinct = pd.factorize(
        np.array([None if _silent(text) else str(text) for text in texts], dtype=object)
    )
    answers = [parse(text) for text in distinct]
    return [answers[code] if code >= 0 else None for code in codes.tolist()]


def read_texts(name: str, texts: Sequence[Any]) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the columns parsed from a descriptor's texts, and the texts that could not be.

    Examples
    --------
    >>> read_texts("memory", ["16 x 32 GB DDR4", "a lot"])[0]["memory_gb"]
    [512.0, None]
    >>> read_texts("os", ["Plan 9"])[1]
    ['Plan 9']
    """
    reading, stem = READINGS[name], name.removesuffix("_cache")
    answers = read_each(reading.parse, texts)
    unparsed = [
        str(text) if _empty(answer) and not _silent(text) else ""
        for text, answer in zip(texts, answers, strict=True)
    ]
    columns = {}
    for field, template in reading.columns.items():
        column = [
            getattr(answer, field) if field and answer is not None else answer for answer in answers
        ]
        if field in ("", "family", "kb", "gb") or any(value is not None for value in column):
            columns[template.format(stem)] = column
    return columns, unparsed


def machine_numbers(texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the numbers in the texts about one machine, by column of the machine table.

    Examples
    --------
    >>> cache = "32 KB I + 32 KB D on chip per core"
    >>> machine_numbers({"l1_cache": cache, "memory": "16 x 32 GB DDR4"})
    {'l1_kb': 64.0, 'l1_instruction_kb': 32.0, 'l1_data_kb': 32.0, 'memory_gb': 512.0}
    """
    numbers = {}
    for name, text in texts.items():
        reading, stem = READINGS[name], name.removesuffix("_cache")
        answer = reading.parse(text or "")
        for field, template in reading.columns.items():
            value = getattr(answer, field) if field else answer
            if field in PLAIN or (field in TOLD_APART and value):
                numbers[template.format(stem)] = value
    return numbers


def _empty(answer: Any) -> bool:
    """Return whether nothing could be parsed."""
    return answer is None or (isinstance(answer, tuple) and all(field is None for field in answer))


def _silent(text: Any) -> bool:
    """Return whether a text states nothing: empty, `unknown`, None or NaN."""
    return text is None or text != text or text in ("", UNKNOWN)

"""Machine, tester and blocks HARDWARE and SOFTWARE around the table of a text report.

Reports are written for people, so what is not where it usually stands is unknown, and no error.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from perfarray.conventions import MACHINE
from perfarray.readers.spec.results import FIELDS, describe_machine

TITLE = re.compile(r"^ *SPEC\b.*\b(?:Result|Summary) *$", re.M)
# Lines in a frame of `#` above the title: the run is not valid, or SPEC withdrew the result
INVALID = re.compile(
    r"^#.*(?:\bINVALID RUN\b|\bnon-?complian|\bnot in compliance|\bnot comply)", re.M | re.I
)
# Fields between the title and the table, two in a line
ABOUT = {
    "Test date": "date_tested",
    "Test sponsor": "test_sponsor",
    "Tested by": "tested_by",
    "Hardware availability": "hardware_available",
    "Software availability": "software_available",
}
FIELD = rf"(?:\bLicense|{'|'.join(ABOUT)}):"
PAIRS = re.compile(rf"({'|'.join(ABOUT)}):(.*?)(?={FIELD}|$)", re.M)
FIRST_FIELD = re.compile(rf"^.*{FIELD}", re.M)
DATE = re.compile(
    r"\w{3} \w{3} +\d{1,2} \d\d:\d\d:\d\d(?: \w+)? \d{4}", re.A
)  # When the report of 2006 was made


def is_head(text: str) -> bool:
    """Return whether the text above a table is the head of a whole result."""
    return "SPEC" in text and TITLE.search(text) is not None


def is_invalid(text: str) -> bool:
    """Return whether the head says that the run is invalid or not compliant."""
    return "#" in text and INVALID.search(text) is not None


def about(head: str, tail: str) -> dict[str, Any]:
    """Return the metadata of machine and run from the texts above and below a table."""
    return describe_machine(_run(head) | _blocks(tail))


def _run(head: str) -> dict[str, str]:
    """Return the texts below the title: vendor, model, then fields."""
    title = TITLE.search(head)
    below = head[title.end() :] if title else ""
    texts = {ABOUT[field]: text for field, text in PAIRS.findall(below)}
    first = FIRST_FIELD.search(below)
    names = below[: first.start()] if first else below.strip("\n").partition("\n\n")[0]
    lines = [" ".join(line.split()) for line in names.split("\n")]
    return texts | _vendor_and_model(
        [line for line in lines if line and not DATE.fullmatch(line)], texts
    )


def _vendor_and_model(lines: list[str], texts: dict[str, str]) -> dict[str, str]:
    """Return the vendor, in the first line, and the model.

    Reports of 2006 have both in one line, which may begin with who tested.
    """
    if len(lines) != 1:
        return {"vendor": lines[0], MACHINE: " ".join(lines[1:])} if lines else {}
    names = (" ".join(texts.get(name, "").split()) for name in ("test_sponsor", "tested_by"))
    vendor = next((name for name in names if name and f"{lines[0]} ".startswith(f"{name} ")), "")
    return {"vendor": vendor, MACHINE: lines[0][len(vendor) :].strip()}


def _blocks(tail: str) -> dict[str, str]:
    """Return the texts of the blocks by our names; the title of a block is underlined."""
    lines, texts = [*tail.split("\n"), ""], dict[str, str]()
    titles = [
        number
        for number, line in enumerate(lines[1:])
        if line.strip(" -") == "" and "---" in line and lines[number].strip()
    ]
    for number, end in pairwise([*titles, len(lines)]):
        names = FIELDS.get(lines[number].strip(), {})
        for field, text in _fields(lines[number + 2 : end]) if names else ():
            if field in names:
                texts.setdefault(names[field], text)
    return texts


def _fields(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield field and text.

    Lines that begin to the right of the colon continue a text, up to an empty line.
    """
    field, texts, colon = "", [""], -1
    for line in (*lines, ""):
        indentation = len(line) - len(line.lstrip())
        if line.strip() and field and indentation > colon:
            texts.append(line.strip())
            continue
        yield field, " ".join(texts)
        name, separator, text = line.partition(":")
        field, texts, colon = (
            (name.strip().rstrip("."), [text.strip()], len(name)) if separator else ("", [""], -1)
        )

"""An answer as build servers read it: workflow commands of GitHub, and JUnit's XML."""

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from perfarray.results.printed import CHANGE, VERDICT, Grid
from perfarray.timings.notes import escape_controls

SLOWER: Final = "slower"
CAUSE: Final = "cause"
HOST: Final = "host"  # the cause of a change that is not judged: another machine measured

# The file in the name of a test: tests/test_sort.py::test_large
FILE: Final = re.compile(r"([^\s:]+\.\w+)::")

NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def workflow_commands(
    grid: Grid, outcome: str, warned: Sequence[str], *, has_answer: bool = True
) -> str:
    """Return an answer as GitHub's workflow commands, which become annotations of a change.

    An error for each slower row, at its file where its name holds one; a warning for each message;
    and the outcome as a notice, or as an error where it says why there is no answer.
    """
    commands = []
    for row in grid.rows:
        if is_slower(grid, row):
            name = row_name(grid, row)
            file = FILE.match(name)
            at_file = f"file={_escape_property(file[1])}," if file else ""
            title = _escape_property(f"slower: {name}")
            commands.append(f"::error {at_file}title={title}::{_escape(row_text(grid, row))}")
    commands += [f"::warning title=perfarray::{_escape(message)}" for message in warned]
    level = "notice" if has_answer else "error"
    return "\n".join([*commands, f"::{level} title=perfarray::{_escape(outcome)}"])


def junit(
    grid: Grid, outcome: str, warned: Sequence[str], suite: str, *, has_answer: bool = True
) -> str:
    """Return an answer as JUnit's XML: a test case for each row, which fails if it is slower.

    Without an answer, a further test case has the outcome as its error. An answer without rows is
    one test case, since build servers take a file without tests for an error.
    """
    failures = [is_slower(grid, row) for row in grid.rows]
    outcome_case = not (failures and has_answer)
    counts = {
        "tests": len(failures) + outcome_case,
        "failures": sum(failures),
        "errors": int(not has_answer),
        "skipped": 0,
        "time": 0,
    }
    attributes = {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", attributes)
    cases = ElementTree.SubElement(suites, "testsuite", {"name": suite, **attributes})
    for row, failed in zip(grid.rows, failures, strict=True):
        case = ElementTree.SubElement(
            cases, "testcase", classname=suite, name=_xml_text(row_name(grid, row)), time="0"
        )
        text = _xml_text(row_text(grid, row))
        if failed:
            ElementTree.SubElement(case, "failure", type=SLOWER, message=text).text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text
    if outcome_case:
        case = ElementTree.SubElement(cases, "testcase", classname=suite, name="answer", time="0")
        if not has_answer:
            ElementTree.SubElement(case, "error", type="no answer", message=_xml_text(outcome))
    ElementTree.SubElement(cases, "system-out").text = _xml_text(outcome)
    if warned:
        ElementTree.SubElement(cases, "system-err").text = _xml_text("\n".join(warned))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode")


def is_slower(grid: Grid, row: Sequence[str]) -> bool:
    """Return whether a row is slower by a change of the program."""
    texts = dict(zip(grid.titles, row, strict=True))
    return texts.get(VERDICT) == SLOWER and texts.get(CAUSE) != HOST


def row_name(grid: Grid, row: Sequence[str]) -> str:
    """Return the labels of a row as one name."""
    return " ".join(text for text in row[: grid.n_labels] if text) or "all"


def row_text(grid: Grid, row: Sequence[str]) -> str:
    """Return what a row says: the change first, the other texts behind their titles."""
    pairs = list(zip(grid.titles, row, strict=True))[grid.n_labels :]
    changes = [text for title, text in pairs if title == CHANGE]
    others = [f"{title}: {text}" for title, text in pairs if title != CHANGE and text]
    return "; ".join([*filter(None, changes), *others])


def _escape(text: str) -> str:
    """Return a text that ends no workflow command; GitHub decodes %25, %0D and %0A."""
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(character, code)
    return text


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _xml_text(text: str) -> str:
    """Return a text with the characters that XML forbids written as escapes."""
    lines = "\n".join(map(escape_controls, text.splitlines()))
    return NOT_IN_XML.sub(lambda match: ascii(match[0])[1:-1], lines)

"""Answers for build servers: GitHub's workflow commands and JUnit's XML."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from perfarray.results.builds import junit, workflow_commands
from perfarray.results.printed import Grid

NAMES = ["tests/test_sort.py::test_large[a, b]", "BM_Copy/8", "all 2"]
GRID = Grid(
    ["benchmark", "old -> new", "change", "verdict"],
    [
        [NAMES[0], "1 s -> 2 s", "2.00x slower (1.90 to 2.10)", "slower"],
        [NAMES[1], "1 s -> 1 s", "1.00x (.99 to 1.01)", "equivalent"],
        [NAMES[2], "", "1.41x slower (1.30 to 1.50)", "slower"],
    ],
    1,
    1,
    [],
)
COMMAND = re.compile(r"::(?P<kind>\w+) (?P<properties>[^:]*)::(?P<message>[^\r\n]*)")


def annotations(text):
    """Return what GitHub makes of the lines: kinds, properties and messages, decoded."""
    commands = [COMMAND.fullmatch(line) for line in text.split("\n")]
    return [
        (
            command["kind"],
            dict(map(unquote, pair.split("=", 1)) for pair in command["properties"].split(",")),
            unquote(command["message"]),
        )
        for command in commands
    ]


class TestGitHub:
    def test_a_slower_row_is_an_error_at_its_file(self):
        """The name of a test holds its file; a suite has none; what is not slower has no
        annotation."""
        first, suite, outcome = annotations(workflow_commands(GRID, "2 slower", []))
        assert first == (
            "error",
            {"file": "tests/test_sort.py", "title": f"slower: {NAMES[0]}"},
            "2.00x slower (1.90 to 2.10); old -> new: 1 s -> 2 s; verdict: slower",
        )
        assert suite[:2] == ("error", {"title": "slower: all 2"})
        assert outcome == ("notice", {"title": "perfarray"}, "2 slower")

    def test_texts_end_no_command(self):
        """A line break, a percent sign and the name of another command are the reader's text."""
        message = "50 % of\r\n::error::rows, see: a"
        kinds = annotations(workflow_commands(GRID._replace(rows=[]), message, [message]))
        assert [(kind, text) for kind, _, text in kinds] == [
            ("warning", message),
            ("notice", message),
        ]

    def test_no_answer_is_an_error(self):
        assert annotations(workflow_commands(GRID._replace(rows=[]), "why", [], has_answer=False))[
            0
        ] == ("error", {"title": "perfarray"}, "why")

    def test_a_change_that_another_machine_explains_is_no_error(self):
        grid = Grid(
            ["benchmark", "verdict", "cause"],
            [["a", "slower", "host"], ["b", "slower", "code"]],
            1,
            0,
            [],
        )
        errors = annotations(workflow_commands(grid, "", []))[:-1]
        assert [properties["title"] for _, properties, _ in errors] == ["slower: b"]


class TestJUnit:
    def test_one_test_case_a_row_that_fails_if_slower(self):
        root = ElementTree.fromstring(junit(GRID, "2 slower", ["a note"], "compare"))
        suite = root.find("testsuite")
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": "3", "failures": "2", "errors": "0", "skipped": "0"}
        cases = suite.findall("testcase")
        assert [case.get("name") for case in cases] == NAMES
        assert [case.find("failure") is not None for case in cases] == [True, False, True]
        assert cases[0].find("failure").get("message").startswith("2.00x slower (1.90 to 2.10)")
        assert suite.findtext("system-out") == "2 slower"
        assert suite.findtext("system-err") == "a note"

    def test_no_answer_is_an_error(self):
        root = ElementTree.fromstring(
            junit(GRID._replace(rows=[]), "why", [], "compare", has_answer=False)
        )
        assert root.find("testsuite").get("errors") == "1"
        assert root.find("testsuite/testcase/error").get("message") == "why"

    def test_an_answer_without_rows_is_one_test_case_that_passes(self):
        """Build servers take a file without test cases for an error."""
        root = ElementTree.fromstring(junit(GRID._replace(rows=[]), "no change", [], "history"))
        assert root.find("testsuite").get("tests") == "1"
        (case,) = root.iter("testcase")
        assert (case.get("name"), list(case)) == ("answer", [])

    @pytest.mark.parametrize("name", ["\x00\x1b[31m", "<a & 'b'>", "]]>", "\ud800", "\ufffe"])
    def test_any_name_is_read_back(self, name):
        """What XML forbids is written as an escape."""
        grid = GRID._replace(rows=[[name, *GRID.rows[0][1:]]])
        text = junit(grid, "", [], "compare").encode()
        (case,) = ElementTree.fromstring(text).iter("testcase")
        assert case.get("name") == (name if name.isprintable() else ascii(name)[1:-1])

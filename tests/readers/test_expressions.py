"""No regular expression takes time that grows with the square of a text: of digits, blanks, or its
own words over and over."""

import ast
import re
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfarray
from perfarray.readers.layout import read_layout
from perfarray.readers.numbers import WRITTEN
from perfarray.readers.opening import first_line
from perfarray.tables.descriptions.hardware import COUNTS, TOTAL

SIZE = 8_000
"""Characters of a text: a square of them takes a fifth of a second, or much more."""

MOST = 0.08
"""Seconds of CPU that one may take; a linear expression takes some milliseconds."""

RUNS = (
    "1",
    " ",
    "\t \n",
    "a",
    "A1",
    "1 ",
    "1.",
    "1 x 1 ",
    "a b ",
    "a=",
    "a/",
    "a-",
    "#:",
    "(",
    "[a]",
    '"',
    ",",
    "1e",
    "-",
    ".",
    "\n",
    "a\n",
    "/",
)

HEADS = ("#a:", "#a:b", "a:", "a=", "a: ", "[", "(", '"', "1 ", "a,")
"""What an expression may want before it comes to a run."""

METHODS = dict.fromkeys(("search", "findall", "finditer", "sub", "split"), "search") | {
    "match": "match",
    "fullmatch": "fullmatch",
}

WORDS = re.compile(r"[A-Za-z_]{2,}")

ASSEMBLED = {"perfarray.cli.problems", "perfarray.reports.redaction"}
"""Modules whose expressions hold names of arguments, or labels with nothing that repeats."""


def inside(value: object) -> Iterator[re.Pattern]:
    """Yield the compiled expressions in what a module holds."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict | tuple | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from inside(inner)


def used(module: object) -> Iterator[tuple[re.Pattern, str]]:
    """Yield the expressions that code of a module calls, given as text or by name, and how it calls
    them."""
    text = Path(module.__file__).read_text()
    if "import re\n" not in text and not any(
        isinstance(value, re.Pattern) for value in vars(module).values()
    ):
        return  # parsing the others takes a second, in every process of the tests
    for node in ast.walk(ast.parse(text)):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            continue
        name, how = node.func.value.id, METHODS.get(node.func.attr)
        if how and isinstance(getattr(module, name, None), re.Pattern):
            yield getattr(module, name), how
        elif how and name == "re" and not isinstance(node.args[0], ast.Constant):
            assert module.__name__ in ASSEMBLED, (
                f"{module.__name__}: compile {ast.unparse(node.args[0])} where this test sees it"
            )
        elif how and name == "re":
            called = ast.unparse(node)
            yield (
                re.compile(
                    node.args[0].value,
                    (re.M if "re.M" in called else 0) | (re.I if "re.I" in called else 0),
                ),
                how,
            )


def expressions() -> list[tuple[re.Pattern, str]]:
    """Return every expression of the package and how it is used, each once, and one that a layout
    becomes."""
    names = [
        "perfarray",
        *(module.name for module in walk_packages(perfarray.__path__, "perfarray.")),
    ]
    modules = [
        import_module(name)
        for name in names
        if not re.search(r"\.(compiled|__main__)$|\.datasets\.measurement|\.plots", name)
    ]
    positions = {
        pair for module in modules for pair in used(module) if isinstance(pair[0].pattern, str)
    }
    patterns = {pattern for pattern, _ in positions}
    positions |= {
        (pattern, "search")
        for module in modules
        for pattern in inside(vars(module))
        if pattern not in patterns
    }
    positions.add((read_layout("{version}/{machine}_{session}-{binary}.json").pattern, "fullmatch"))
    return sorted(positions, key=lambda pair: (pair[0].pattern, pair[1]))


def texts(pattern: re.Pattern) -> Iterator[str]:
    """Yield long texts: runs, the words of the expression over and over, and each once before a
    run."""
    words = list(dict.fromkeys(WORDS.findall(pattern.pattern)))
    for unit in (
        *RUNS,
        *words,
        *(f"{word} " for word in words),
        *(f"1 {word}" for word in words),
        " ".join([*words, ""]) or "x",
    ):
        yield unit * (SIZE // len(unit))
    for head in HEADS:
        for unit in ("1", " ", "a ", "\n"):
            yield head + unit * (SIZE // len(unit))
    for word in words:
        for unit in ("1", " ", *words[:6]):
            yield word + unit * (SIZE // len(unit))


EXPRESSIONS = expressions()


def seconds(pattern: re.Pattern, how: str, text: str) -> float:
    """Return the processor time of a search."""
    began = time.process_time()
    if how == "search":
        sum(1 for _ in pattern.finditer(text + "\x01"))
    else:
        getattr(pattern, how)(text + "\x01")
    return time.process_time() - began


@pytest.mark.parametrize(
    ("pattern", "how"),
    EXPRESSIONS,
    ids=lambda value: value if isinstance(value, str) else value.pattern[:40],
)
def test_time_grows_with_the_text(pattern, how):
    for text in texts(pattern):
        # A collection of garbage takes as long as a slow expression, which is slow every time.
        assert any(seconds(pattern, how, text) < MOST for _ in range(3)), text[:40]


def test_they_are_all_here():
    assert {(WRITTEN, "fullmatch"), (TOTAL, "search"), (COUNTS["cores"], "search")} <= set(
        EXPRESSIONS
    )
    assert len(EXPRESSIONS) > 60


@given(text=st.text(alphabet="ab \n", max_size=40), begins=st.sampled_from(["a", "b ", "ab"]))
def test_the_first_line_is_what_the_expression_finds(text, begins):
    """Lines are found by their beginning, and it is the same line."""
    pattern = re.compile(rf"^{begins}[ab]*$", re.M)
    match, expected = first_line(text, begins, pattern), pattern.search(text)
    assert (match and match.span()) == (expected and expected.span())

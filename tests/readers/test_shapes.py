"""Refusals of JSON name the place in it: shapes, and damage to every value of small files of each
format."""

import json
import re

import pytest

import perfarray
from perfarray.readers.recognising import formats
from perfarray.readers.shapes import (
    ANY,
    COUNT,
    NULL,
    NUMBER,
    SCALAR,
    TEXT,
    Either,
    deviation,
    path_of_key,
)
from readers.files_of_our_own import entry, write
from readers.test_broken_files import FILES, ODD, replaced
from readers.test_broken_files import places as value_paths
from strategies import MANY

SHAPE = {
    "runs": [{"name": TEXT, "values|mean": ANY, "values?": [NUMBER]}],
    "params?": {...: SCALAR},
    "pair?": Either((COUNT, ANY), NULL),
}


def document(**changes):
    """Return JSON of the shape, with changes."""
    return {
        "runs": [{"name": "a", "values": [1.5]}, {"name": "b", "mean": 2, "more": []}],
        **changes,
    }


@pytest.mark.parametrize(
    "content",
    [
        document(),
        document(params={"n": 1, "x y": "z"}, pair=["4", {}]),
        document(pair=None, params=None),
    ],
)
def test_what_has_the_shape(content):
    """Optional keys may be null; further keys are allowed."""
    assert deviation(content, SHAPE) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "the document is []; expected an object"),
        ({}, "the document has no 'runs'; it has no key"),
        (document(runs=None), "runs is None; expected a list"),
        (document(runs=[{"mean": 1}]), "runs[0] has no 'name'; it has 'mean'"),
        (document(runs=[{"name": "a", "values": []}]), "runs[0] has neither 'values' nor 'mean'"),
        (
            document(runs=[{"name": "a", "values": [1, True]}]),
            "runs[0].values[1] is True; expected a number",
        ),
        (document(params={"x y": []}), "params['x y'] is []; expected a text or a number"),
        (document(pair=["0", 1]), "pair[0] is '0'; expected a number from 1"),
        (document(pair=[1]), "pair is [1]; expected a list of 2 or null"),
        (
            document(params="x" * 1000),
            "params is 'xxxxxxxxxxxx...xxxxxxxxxxxxx'; expected an object",
        ),
    ],
)
def test_the_first_deviation(content, message):
    assert deviation(content, SHAPE) == message


def test_the_alternative_that_is_most_like():
    shape = Either({"a": NUMBER, "b": NUMBER}, {"c": NUMBER})
    assert deviation({"a": 1, "b": "x"}, shape) == "b is 'x'; expected a number"
    assert deviation({"c": []}, shape) == "c is []; expected a number"


def test_a_file_that_is_almost_one(tmp_path):
    """The error names the format as which a file begins, and where it deviates."""
    path = write(
        tmp_path / "jmh.json",
        [entry(), {key: value for key, value in entry("b").items() if key != "primaryMetric"}],
    )
    with pytest.raises(
        ValueError,
        match=r"no reader recognises.*it begins as jmh does, but \[1\] has no 'primaryMetric'; it has 'jmhV",
    ):
        perfarray.read(path)


def path_of(keys):
    """Write the place of a value as messages do."""
    path = ""
    for key in keys:
        path = f"{path}[{key}]" if isinstance(key, int) else path_of_key(path, key)
    return path or "the document"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("json")])
def test_every_refusal_names_the_place(tmp_path, name):
    """A value that is another, or gone: what is refused is it, what is in it, or what it is missing
    from (of all, an eighth)."""
    form = next(form for form in formats() if name.startswith(form))
    content = json.loads(FILES[name])
    for number, keys in enumerate(value_paths(content)):
        for odd in ODD if MANY else ODD[number % 8 :: 8]:
            if not keys and odd is ...:
                continue
            path = write(tmp_path / name, replaced(content, keys, odd))
            try:
                perfarray.read(path, format=form)
                continue
            except ValueError as error:
                message = str(error).removeprefix(f"{path}: ")
            assert not re.search(r"\b[A-Z]\w+Error: ", message), (keys, odd, message)
            if " writes it: " in message:
                reason = message.partition(" writes it: ")[2]
                around = path_of(keys[:-1])
                prefixes = (
                    path_of(keys),
                    f"{around} has n",
                    f"{around} is ",
                    f"{path_of(keys[:-2])} has neither ",
                )
                assert reason.startswith(prefixes) or not keys, (keys, odd, message)

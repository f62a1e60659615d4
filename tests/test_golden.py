"""The reference numbers of tests/golden: each file says what computed it."""

import json
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "golden").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_says_what_computed_it(path):
    """Program, version, packages with theirs, the calls, and how closely another right
    implementation agrees."""
    source = json.loads(path.read_text(encoding="utf-8"))["source"]
    assert {"what", "program", "version", "packages", "call", "tolerance"} <= source.keys()
    assert all(source[key] for key in ("what", "program", "version", "call", "tolerance"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_used(path):
    """Numbers that no test reads are no reference."""
    tests = [
        test.read_text(encoding="utf-8")
        for test in Path(__file__).parent.rglob("test_*.py")
        if test != Path(__file__)
    ]
    assert any(f'"{path.stem}"' in test for test in tests)

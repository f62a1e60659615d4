"""The output of commands is as wide on every machine, and has no colours."""

import pytest


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")
    monkeypatch.setenv("NO_COLOR", "1")

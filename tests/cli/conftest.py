"""The output of commands is as wide on every machine, and has no colours; the current folder is
empty."""

import pytest


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

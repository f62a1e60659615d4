"""Progress bars: by themselves where a person looks on, silent in scripts."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from perfarray.timings import apply, progress


@pytest.fixture
def long_call(monkeypatch):
    """Return a call of several blocks that counts as long."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(apply, "BLOCK", 1000)
    values = np.random.default_rng(1).normal(10, 1, (50, 30))
    times = xr.DataArray(values, dims=("benchmark", "execution"), attrs={"units": "s"}, name="time")
    return times.perf.mean_interval


def test_scripts_are_silent(long_call, capsys):
    long_call()
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar_over_blocks(long_call, monkeypatch, capsys):
    expected = long_call()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    xr.testing.assert_identical(long_call(), expected)
    assert "12/12" in capsys.readouterr().err


def test_a_notebook_is_watched_and_its_terminal_free_shell_is_not(monkeypatch):
    for shell, watched in ((SimpleNamespace(kernel=1), True), (SimpleNamespace(), False), (None, False)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert (progress.progress_bar(1, "", "", show=None) is not None) == watched


def test_bar_is_shown_or_not_on_request(capsys):
    assert progress.progress_bar(1, "", "", show=False) is None
    progress.progress_bar(2, "counting", "cell", show=True).close()
    assert "counting" in capsys.readouterr().err

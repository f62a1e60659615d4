"""Progress bars: by themselves where a person looks on, silent in scripts."""

import sys
import time
from types import SimpleNamespace
from weakref import WeakSet

import numpy as np
import pytest
import xarray as xr

import perfarray
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
    for shell, watched in (
        (SimpleNamespace(kernel=1), True),
        (SimpleNamespace(), False),
        (None, False),
    ):
        monkeypatch.setitem(
            sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell)
        )
        assert (progress.progress_bar(1, "", "", show=None) is not None) == watched


def test_bar_is_shown_or_not_on_request(capsys):
    assert progress.progress_bar(1, "", "", show=False) is None
    progress.progress_bar(2, "counting", "cell", show=True).close()
    assert "counting" in capsys.readouterr().err


def test_a_bar_does_not_wait_for_the_first_step(monkeypatch, capsys):
    """A long first step has a bar, too; a call that ends before has none."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.progress_bar(2, "first step", "cell", show=None):
        deadline = time.monotonic() + 10
        printed = ""
        while "first step" not in printed and time.monotonic() < deadline:
            time.sleep(0.01)
            printed += capsys.readouterr().err
    assert "0/2" in printed
    progress.progress_bar(2, "short", "cell", show=None).close()
    time.sleep(0.2)
    assert "short" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statistic", "method"), [("median", "exact"), ("median", "monte_carlo"), ("mean", "exact")]
)
def test_the_bar_of_machines_counts_all(capsys, statistic, method):
    """Rows whose runs are redrawn are counted one by one, others together."""
    values = np.random.default_rng(2).lognormal(0, 0.02, (5, 3, 9, 2))
    times = xr.DataArray(
        values, dims=("machine", "benchmark", "execution", "iteration"), name="time"
    )
    perfarray.machine_table(
        times, statistic=statistic, method=method, unit="execution", rng=1, progress=True
    )
    assert "5/5" in capsys.readouterr().err


def test_a_terminal_tells_the_time(monkeypatch, capsys):
    """A long block says how long it has taken, and leaves nothing on the screen; a bar goes first,
    and scripts are silent."""

    def printed(watched, *, bars=0):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: watched)
        with progress.telling_time("plan"):
            bar = progress.progress_bar(2, "cells", "cell", show=True) if bars else None
            time.sleep(0.3)
            if bar is not None:
                bar.close()
        return capsys.readouterr().err

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "BARS", WeakSet())  # without those that other tests left open
    assert printed(False) == ""
    text = printed(True)
    assert "\rplan: 0 s" in text
    assert text.endswith("\r\x1b[K")
    with_bar = printed(True, bars=1)
    assert "cells" in with_bar
    assert "plan" not in with_bar
    monkeypatch.setattr(progress, "PATIENCE", 10.0)
    assert printed(True) == "\r\x1b[K"

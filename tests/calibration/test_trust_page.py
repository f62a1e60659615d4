"""The tables that docs/evidence/kalibera_jones.md draws hold: a few of their cells are made anew, with another
seed."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.strategies import experiments as count

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts"

MADE = {"coverage": 2000, "flat": 10_000, "executions": 1000, "resampling": 400}
"""Experiments behind a cell of the committed tables."""


@pytest.fixture
def trust(monkeypatch):
    """The script, as a module, with a few cells and a new folder."""
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.delitem(sys.modules, "trust", raising=False)
    import trust

    monkeypatch.setattr(trust, "SHOWN", ("FFT NA OPT",))
    monkeypatch.setattr(trust, "BINARIES", [3, 15])
    monkeypatch.setattr(trust, "FEWER", [3, 10])
    monkeypatch.setattr(trust, "GRID", [3, 10])
    return trust


@pytest.mark.parametrize(
    ("name", "number"),
    [("coverage", 1000), ("flat", 1000), ("executions", 400), ("resampling", 40)],
)
def test_cells_hold(trust, name, number, tmp_path, monkeypatch):
    """Within four Monte Carlo errors of both, in percent."""
    printed = pd.read_csv(SCRIPTS / "trust" / f"{name}.csv")
    monkeypatch.setattr(trust, "FOLDER", tmp_path)
    trust.write(getattr(trust, name), count(number), 20)
    recomputed = pd.read_csv(tmp_path / f"{name}.csv")
    labels = [column for column in recomputed.columns if not column.replace(".", "").isdigit()]
    merged = recomputed.merge(printed, on=labels, suffixes=("", " printed"))
    assert len(merged) == len(recomputed) > 0
    for column in set(recomputed.columns) - set(labels):
        share, rate = merged[f"{column} printed"] / 100, merged[column] / 100
        error = np.sqrt(
            np.maximum(share * (1 - share), 0.01) * (1 / MADE[name] + 1 / count(number))
        )
        assert (abs(rate - share) < 4 * error).all(), column

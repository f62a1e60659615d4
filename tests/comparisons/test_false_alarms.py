"""False alarms: how often a rule sees a difference between a program and itself, and that the
printed tables hold."""

import importlib.util
import re
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "scripts" / "false_alarms.py"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("false_alarms", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rates(script):
    """A rerun with another seed and fewer experiments than the printed tables."""
    return script.false_alarms(experiments=2000, rng=20)


def printed(page):
    """Return heading, and per design the rates and errors, of the table behind the mark."""
    lines = (
        (ROOT / page).read_text(encoding="utf-8").partition("<!-- false alarms")[2].splitlines()[2:]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[: lines.index("", 1)]
    ]
    return rows[0], {
        row[0]: [tuple(map(float, re.findall(r"[\d.]+", cell))) for cell in row[1:]]
        for row in rows[2:]
    }


def test_respecting_the_nest_keeps_the_error_rate(rates):
    """The verdicts of `compare` err in 5 % of comparisons whatever the number of iterations, and in
    fewer with three units."""
    ours = rates.sel(rule="perfarray")
    error = np.sqrt(0.05 * 0.95 / rates.attrs["experiments"])
    assert (ours < 0.05 + 4 * error).all()
    assert (abs(ours - 0.05).sel(design=["20 x 3", "10 x 10", "5 x 20"]) < 4 * error).all()
    assert ours.sel(design="3 x 100").item() > 0.02


def test_pooled_alarms_follow_from_the_share(script, rates):
    """The rate is that of a normal test whose error is too small by the square root of 1 + (m - 1)
    share."""
    for executions, iterations in script.DESIGNS:
        design = f"{executions} x {iterations}"
        theory = 2 * NormalDist().cdf(-1.96 / (1 + (iterations - 1) * script.SHARE) ** 0.5)
        assert abs(rates.sel(design=design, rule="pooled t (pyperf)").item() - theory) < 0.06


def test_the_printed_table_holds(script, rates):
    heading, rows = printed("docs/evidence/false_alarms.md")
    assert heading[1:] == list(script.RULES)
    assert list(rows) == rates["design"].values.tolist()
    for design, cells in rows.items():
        recomputed, error = (
            rates.sel(design=design).values,
            script.standard_error(rates).sel(design=design).values,
        )
        for (rate, printed_error), value, standard_error in zip(
            cells, recomputed, error, strict=True
        ):
            assert (
                abs(rate / 100 - value) < 4 * np.hypot(standard_error, printed_error / 100) + 0.002
            )

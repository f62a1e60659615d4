"""How often the Speedup-Test errs: a rerun with another seed agrees with the tables that are
printed."""

import importlib.util
import re
from pathlib import Path

import pytest

from strategies import experiments

ROOT = Path(__file__).parents[2]
EVIDENCE, NESTED = (
    ROOT / "docs" / "evidence" / f"{page}.md" for page in ("suites", "speedup_test")
)
EXPERIMENTS = experiments(800)


@pytest.fixture(scope="module")
def script():
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location(
        "speedup_risk", ROOT / "docs" / "scripts" / "speedup_risk.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(page, head):
    """Return the tables of a page that begin so: row label to rates, in their order."""
    tables = [
        table
        for table in re.findall(r"((?:^\|.*\n)+)", page.read_text(encoding="utf-8"), re.M)
        if table.startswith(head)
    ]
    rows = [
        [line.strip("|\n ").split(" | ") for line in table.splitlines()[2:]] for table in tables
    ]
    return [{row[0]: [float(cell) / 100 for cell in row[1:]] for row in table} for table in rows]


def assert_near(rates, expected):
    """Four standard errors of the difference, and never less than one alarm in a hundred."""
    for rate, printed_rate in zip(rates, expected, strict=True):
        assert rate == pytest.approx(
            printed_rate,
            abs=max(
                0.01, 4 * (printed_rate * (1 - printed_rate) * (1 / EXPERIMENTS + 1 / 4000)) ** 0.5
            ),
        )


@pytest.mark.slow
def test_tables_hold(script):
    """False alarms at 95 %, no conclusions, and levels found without an effect, for skewed times of
    10, 30 and 50 runs."""
    alarms, unknown, searched, high, tools = printed(EVIDENCE, "| protocol, runs")
    columns = [script.SIZES.index(n) for n in (10, 30, 50)]
    level = script.risks(["skewed"], (10, 30, 50), experiments=EXPERIMENTS, rng=20).squeeze(
        "distribution"
    )
    search, tool = (
        script.risks(
            ["skewed"],
            (10, 30, 50),
            experiments=EXPERIMENTS,
            confidence_level=None,
            search=name,
            rng=21,
        ).squeeze("distribution")
        for name in script.SEARCHES
    )
    for statistic in ("mean", "median"):
        for rates, table in (
            (level["false_alarms"], alarms),
            (level["no_conclusion"], unknown),
            (search["false_alarms"], searched),
            (search["at_level"], high),
            (tool["false_alarms"], tools),
        ):
            expected = [table[f"{statistic}, skewed"][column] for column in columns]
            assert_near(rates.sel(statistic=statistic).transpose("n").values, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Iterations are taken as independent:perfarray.PerfarrayWarning")
def test_pooled_iterations_raise_false_alarms(script):
    """Executions keep the level, pooled iterations do not, as printed."""
    (nested,) = printed(NESTED, "| executions x iterations")
    rates = script.nested_risks([(10, 10)], experiments=EXPERIMENTS, rng=22)["false_alarms"].sel(
        design="10 x 10"
    )
    assert_near(rates.transpose("statistic", "unit").values.ravel(), nested["10 x 10"])
    assert (rates.sel(unit="iteration") > 3 * rates.sel(unit="execution")).all()

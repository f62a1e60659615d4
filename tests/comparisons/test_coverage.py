"""What the intervals promise, seen by simulation: thousands of experiments whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

import perfarray
from comparisons.arrays import in_seconds
from perfarray.numerics.verdicts import correct
from strategies import experiments

EXPERIMENTS = experiments(10_000)
pytestmark = pytest.mark.slow


def error_of(rate: float, count: int) -> float:
    """Return four Monte Carlo standard errors of a rate."""
    return 4 * np.sqrt(rate * (1 - rate) / count)


def covered(result, truth=1.0, row=""):
    return float(((result[f"{row}lower"] <= truth) & (result[f"{row}upper"] >= truth)).mean())


@pytest.mark.parametrize("units", [5, 8, 20])
def test_fieller_satterthwaite_covers_95_percent(units):
    """94.4 to 95.7 % at 5 or more units a side under normality, within two Monte Carlo errors."""
    nest = {
        "sizes": {"execution": units, "iteration": 3},
        "variances": {"execution": 0.02**2, "iteration": 0.03**2},
    }
    coverage = perfarray.coverage(
        "ratio_interval", **nest, n_experiments=EXPERIMENTS, rng=100 * units
    )
    error = error_of(0.95, EXPERIMENTS) / 2
    assert 0.944 - error <= float(coverage["estimate"]) <= 0.957 + error


def test_shared_builds_cover_95_percent_where_independence_covers_67():
    """Twelve benchmarks linked into one build whose effects correlate at 0.3: 95 % where that is
    known, 67 where it is not."""
    count = experiments(3000)
    nest = {
        "sizes": {"binary": 10, "execution": 2},
        "variances": {"binary": 0.02**2, "execution": 0.002**2},
        "shared": {"binary": 0.3},
    }
    new, old = (
        perfarray.simulate(**nest, dims={"benchmark": 12, "experiment": count}, rng=seed)
        for seed in (1, 2)
    )
    joint, independent = (new.perf.compare(old, shared=shared) for shared in ("binary", ()))
    assert (joint.attrs["benchmarks"], independent.attrs["benchmarks"]) == (
        "shared: binary",
        "independent (assumed)",
    )
    assert abs(covered(joint, row="suite_") - 0.95) < error_of(0.95, count)
    assert abs(covered(independent, row="suite_") - 0.67) < 0.03


def test_mean_interval_covers_ragged_nests():
    nest = {
        "sizes": {"execution": 8, "iteration": (1, 12)},
        "variances": {"execution": 1e-4, "iteration": 4e-4},
    }
    coverage = perfarray.coverage("mean_interval", **nest, n_experiments=EXPERIMENTS, rng=3)
    assert abs(float(coverage["estimate"]) - 0.95) < min(error_of(0.95, EXPERIMENTS), 0.01)


@pytest.mark.parametrize(
    ("dims", "ask", "alone"),
    [
        (
            {"benchmark": 10, "version": ["old", "new"]},
            {"baseline": "old"},
            0.401,
        ),
        ({"version": 6}, {"dim": "version"}, 0.37),
    ],
    ids=["ten benchmarks", "six versions pairwise"],
)
def test_corrections_keep_the_family_at_5_percent(dims, ask, alone):
    """Of what did not change any verdict is false: in at most 5 % of the families, in about 40 %
    without correction."""
    count = experiments(2000)
    dims = dims | {"experiment": count}
    times = perfarray.simulate(
        sizes={"execution": 10}, variances={"execution": 1e-4}, dims=dims, rng=4
    )["time"]
    verdicts = (perfarray.compare if "baseline" in ask else perfarray.pairwise)(times, **ask)
    family = [dim for dim in verdicts["verdict"].dims if dim != "experiment"]
    uncorrected = verdicts["verdict"].isin(["faster", "slower"]).any(family).mean().item()
    assert abs(uncorrected - alone) < error_of(alone, count)
    # Of a pair of labels and its reverse, one is a member.
    member = np.tri(6, k=-1, dtype=bool) if "baseline" in family else True
    pvalues = [
        np.where(member, verdicts[name].transpose("experiment", ...).values, np.nan)
        for name in ("pvalue", "pvalue_equivalent", "pvalue_not_slower")
    ]
    for correction in ("holm", "bh"):
        false = [
            np.nanmin(correct(*family, correction=correction, alpha=0.05)[0]) <= 0.05
            for family in zip(*pvalues, strict=True)
        ]
        assert np.mean(false) < 0.05 + error_of(0.05, count)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_a_paired_suite_row_covers_95_percent_whatever_moves_together(correlation):
    """Thirteen benchmarks in five sessions: 95 % with effects of the sessions that the benchmarks
    share, or do not."""
    rng, count = np.random.default_rng(7), experiments(3000)
    session = 0.03 * rng.normal(size=(count, 13, 5))
    sides = []
    for _ in range(2):
        common, noise = rng.normal(size=(count, 1, 5)), rng.normal(size=(count, 13, 5))
        values = (
            1 + session + 0.02 * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * noise)
        )
        sides.append(in_seconds(values, "case", "benchmark", "session"))
    verdicts = sides[0].perf.compare(sides[1], paired="session")
    assert abs(covered(verdicts, row="suite_") - 0.95) < error_of(0.95, count)


def test_verdicts_of_positive_data_are_given_wherever_p_allows():
    """Three runs a side, coefficient of variation 0.5, three times as long: a verdict in 37 % of
    comparisons, wherever p <= 0.05."""
    rng, count = np.random.default_rng(8), EXPERIMENTS
    new, old = (
        in_seconds(
            rng.lognormal(np.log(mean), np.sqrt(np.log(1.25)), (count, 3)), "case", "execution"
        )
        for mean in (3.0, 1.0)
    )
    verdicts = new.perf.compare(old)
    is_decided = verdicts["verdict"].isin(["faster", "slower"])
    assert (is_decided == (verdicts["pvalue"] <= 0.05)).all()
    assert abs(float(is_decided.mean()) - 0.371) < error_of(0.371, count)
    assert (verdicts["kind"] == "at_least").any()
    assert (verdicts["lower"].where(verdicts["kind"] != "unbounded") >= 0).sum() == (
        verdicts["kind"] != "unbounded"
    ).sum()


def random_values(rng, law, shape):
    if law == "lognormal":
        return (np.exp(rng.normal(size=shape)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    if law == "two modes":
        return (rng.normal(size=shape) + 20 * (rng.random(shape) < 0.2) - 4) / np.sqrt(
            1 + 400 * 0.16
        )
    return rng.exponential(size=shape) - 1 if law == "exponential" else rng.normal(size=shape)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_printed_coverage_holds():
    """Every cell of the table of evidence, of 20,000 experiments, agrees with others of another
    seed within Monte Carlo error."""
    page = (Path(__file__).parents[2] / "docs" / "evidence" / "intervals.md").read_text(
        encoding="utf-8"
    )
    lines = page.partition("<!-- coverage of fieller -->")[2].split("\n\n")[1].splitlines()
    heading, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rng, count = np.random.default_rng(21), EXPERIMENTS
    assert len(rows) == 8
    for label, *cells in rows:
        sizes = [int(number) for number in label.split(",")]
        for law, printed in zip(heading[1:], cells, strict=True):
            laws = zip(sizes, (0.08, 0.02), strict=True)
            new, old = (
                in_seconds(1 + spread * random_values(rng, law, (count, size)), "case", "execution")
                for size, spread in laws
            )
            share = covered(new.perf.ratio_interval(old))
            assert (
                abs(share - float(printed) / 100)
                < np.hypot(error_of(share, count), error_of(share, 20_000)) + 0.0005
            )

"""What the intervals promise, seen by simulation: thousands of experiments whose truth is known."""

import numpy as np
import pytest

import perfarray

EXPERIMENTS = 10_000


def error_of(rate: float, count: int) -> float:
    """Return four Monte Carlo standard errors of a rate."""
    return 4 * np.sqrt(rate * (1 - rate) / count)


def two_systems(rng, experiments, units, **keywords):
    """Simulate many independent comparisons: executions are the units, three iterations each; the true ratio is 0.95."""
    sides = []
    for mean, seed in ((0.95, rng), (1.0, rng + 1)):
        sides.append(
            perfarray.simulate(
                sizes={"execution": units, "iteration": 3},
                variances={"execution": 0.02**2, "iteration": 0.03**2},
                mean=mean,
                dims={"experiment": experiments},
                rng=seed,
                **keywords,
            )
        )
    return sides


@pytest.mark.slow
@pytest.mark.parametrize("units", [5, 8, 20])
def test_fieller_satterthwaite_covers_95_percent(units):
    """94 to 96 % at 5 or more units a side (94.4 to 95.7 under normality)."""
    new, old = two_systems(100 * units, EXPERIMENTS, units)
    found = new.perf.ratio_interval(old)
    covered = float(((found["lower"] <= 0.95) & (found["upper"] >= 0.95)).mean())
    assert 0.94 <= covered <= 0.96


@pytest.mark.slow
def test_a_program_against_itself_is_called_different_in_5_percent():
    """The false alarms of `compare`, with units 20 x 3 and 3 x 100, stay at 5 %."""
    for executions, iterations in ((20, 3), (5, 100)):
        times = perfarray.simulate(
            sizes={"execution": executions, "iteration": iterations},
            variances={"execution": 0.37e-4, "iteration": 0.63e-4},
            dims={"experiment": 4000, "version": ["old", "new"]},
            rng=executions,
        )
        verdict = times.perf.compare("old")["verdict"]
        alarms = float(verdict.isin(["faster", "slower"]).mean())
        assert abs(alarms - 0.05) < error_of(0.05, 4000) + 0.005


@pytest.mark.slow
def test_shared_builds_cover_95_percent_where_independence_covers_67():
    """Twelve benchmarks linked into one build whose effects correlate at 0.3: 95 % where that is known, 67 where it is not."""
    covered = {}
    experiments, builds = 3000, 10
    sides = [
        perfarray.simulate(
            sizes={"binary": builds, "execution": 2},
            variances={"binary": 0.02**2, "execution": 0.002**2},
            dims={"benchmark": 12, "experiment": experiments},
            shared={"binary": 0.3},
            rng=seed,
        )
        for seed in (1, 2)
    ]
    for name, shared in (("joint", "binary"), ("independent", ())):
        found = sides[0].perf.compare(sides[1], shared=shared)
        covered[name] = float(((found["suite_lower"] <= 1) & (found["suite_upper"] >= 1)).mean())
        assert found.attrs["benchmarks"] == ("shared: binary" if shared else "independent (assumed)")
    assert abs(covered["joint"] - 0.95) < error_of(0.95, experiments)
    assert abs(covered["independent"] - 0.67) < 0.03


@pytest.mark.slow
def test_mean_interval_covers_ragged_nests():
    """Units with unequal numbers of iterations: t on unweighted unit means covers 95 %."""
    times = perfarray.simulate(
        sizes={"execution": 8, "iteration": (1, 12)},
        variances={"execution": 0.01, "iteration": 0.04},
        mean=10.0,
        dims={"experiment": EXPERIMENTS},
        rng=3,
    )
    found = times.perf.mean_interval()
    covered = float(((found["lower"] <= 10) & (found["upper"] >= 10)).mean())
    assert 0.94 <= covered <= 0.965


@pytest.mark.slow
def test_holm_keeps_the_family_at_5_percent():
    """Ten benchmarks that did not change: any false verdict in at most 5 % of the suites; without correction in about 40 %."""
    times = perfarray.simulate(
        sizes={"execution": 10},
        variances={"execution": 1e-4},
        dims={"benchmark": 10, "experiment": 2000, "version": ["old", "new"]},
        rng=4,
    )
    rates = {}
    for correction in (None, "holm", "bh"):
        verdict = times.perf.compare("old", correction=correction)["verdict"]
        rates[correction] = float(verdict.isin(["faster", "slower"]).any("benchmark").mean())
    assert rates[None] > 0.3
    assert rates["holm"] < 0.05 + error_of(0.05, 2000)
    assert rates["bh"] < 0.05 + error_of(0.05, 2000)

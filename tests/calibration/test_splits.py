"""Halves of the same timings: how often rules see a difference that is not there, counted on one's
own data."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from tests.strategies import experiments as count

import perfarray
from perfarray.calibration import splits
from perfarray.calibration.numerics.splits import errors_apart, halves, number_of_splits, pooled_t

pytestmark = pytest.mark.filterwarnings(
    "ignore:of comparisons between halves:perfarray.PerfarrayWarning"
)


def simulated(benchmarks=40, executions=10, iterations=20, **options):
    """Return timings of which 37 % of the variance lies between executions."""
    return perfarray.simulate(
        sizes={"execution": executions, "iteration": iterations},
        variances={"execution": 0.37e-4, "iteration": 0.63e-4},
        dims={"benchmark": benchmarks},
        rng=1,
        **options,
    )["time"]


def splits_of(n, number):
    """Return splits as sets of two sets."""
    first, second = halves(n, number, np.random.default_rng(1))
    return [
        frozenset({frozenset(a), frozenset(b)})
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_few_splits_are_enumerated_each_once(n):
    splits = splits_of(n, 10_000)
    expected = {
        frozenset({frozenset(half), frozenset(range(n)) - set(half)})
        for half in combinations(range(n), n // 2)
    }
    assert set(splits) == expected
    assert len(splits) == len(expected) == number_of_splits(n)


@pytest.mark.parametrize("n", [8, 9, 20])
def test_many_splits_are_drawn_distinct_and_of_all_units(n):
    splits = set(splits_of(n, 30))
    assert len(splits) == 30
    assert all(frozenset().union(*halves) == set(range(n)) for halves in splits)


def test_rules_of_other_tools_are_scipys():
    """Student's t with gaps, and intervals of 99.9 %."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(1, 0.1, (20, 9)), rng.normal(1.1, 0.1, (20, 7))
    gaps = np.concatenate([x, np.full((20, 3), np.nan)], axis=1)
    np.testing.assert_allclose(
        pooled_t(gaps, y), scipy.stats.ttest_ind(x, y, axis=1).pvalue, rtol=1e-10
    )
    reach = sum(
        scipy.stats.sem(side, axis=1) * scipy.stats.t.ppf(0.9995, side.shape[1] - 1)
        for side in (x, y)
    )
    errors, is_defined = errors_apart(gaps, y, 0.999)
    np.testing.assert_array_equal(errors, np.abs(x.mean(axis=1) - y.mean(axis=1)) > reach)
    assert is_defined.all()


def test_pooling_raises_false_alarms():
    """Halves of 5 x 20: the pooled t errs as a normal test would whose error is too small by the
    root of 1 + 19 x 0.37; ours as asked."""
    calibration = simulated(benchmarks=count(200)).perf.calibrate(n_splits=40, rng=1)
    rate, error = (calibration[name].to_series() for name in ("false_alarm_rate", "error"))
    assert abs(rate["perfarray"] - 0.05) < 4 * error["perfarray"]
    expected = 2 * scipy.stats.norm.sf(1.96 / np.sqrt(1 + 19 * 0.37))
    assert abs(rate["pooled_t"] - expected) < 4 * error["pooled_t"] + 0.02
    assert rate["pooled_mannwhitney"] > 0.35
    assert rate["means_5_percent"] == 0
    assert (calibration["n_splits"] == 40).all()


def test_what_could_have_been_seen():
    """The smallest change is that of a comparison with as many units again; the noise floor is near
    1.96 standard errors of it."""
    times = simulated(executions=30)
    verdicts = times.perf.calibrate(rules="perfarray", rng=1)
    np.testing.assert_allclose(
        verdicts["smallest_change"], perfarray.compare(times, times)["smallest_change"]
    )
    error = np.sqrt(2 * times.mean("iteration").var("execution", ddof=1) / 30)
    assert abs(float((verdicts["noise_floor"] / error).mean()) - 1.96) < 0.1


def test_the_shipped_pair():
    """Two sessions of the same programs: the pooled t test sees a difference in a fifth of the
    halves, ours in less than 5 %."""
    times = perfarray.load_dataset("aa_sessions")
    rate = times.perf.calibrate(rng=1, n_splits=50)["false_alarm_rate"].to_series()
    assert rate["perfarray"] < 0.06
    assert rate["pooled_t"] > 0.12
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        between = times.rename(version="session").perf.calibrate()
    assert (between["n_splits"] == 1).all()
    assert between["unanswered"].sel(rule="perfarray") == 1
    assert between["false_alarm_rate"].sel(rule="pooled_t") > 0.5
    assert {"calibration", "halves", "few_units"} <= {note.code for note in caught[0].message.notes}


class TestSameNumbers:
    """What must not change an answer."""

    def test_other_cells_and_blocks(self, monkeypatch):
        """Selected, transposed, in single precision, lazy, and in small blocks; rules that draw
        too."""
        times = simulated(benchmarks=3, executions=6, iterations=3)
        options = {
            "rules": ("perfarray", "pooled_t", "randomization_test"),
            "n_splits": 3,
            "rng": 1,
        }
        calibration = times.perf.calibrate(**options)
        one_benchmark = (
            times.isel(benchmark=[2])
            .transpose("iteration", "benchmark", "execution")
            .perf.calibrate(**options)
        )
        for name in ("cell_rate", "noise_floor", "n_splits"):
            xr.testing.assert_allclose(one_benchmark[name], calibration[name].isel(benchmark=[2]))
        monkeypatch.setattr(splits, "MOST_VALUES", 80)
        xr.testing.assert_allclose(times.perf.calibrate(**options), calibration)
        xr.testing.assert_allclose(
            times.astype(np.float32).perf.calibrate(**options), calibration, rtol=1e-4
        )
        pytest.importorskip("dask")
        xr.testing.assert_allclose(times.chunk(benchmark=1).perf.calibrate(**options), calibration)

    def test_gaps(self):
        """A unit that was not measured is none; one in which some values were not is one."""
        times = simulated(benchmarks=2, executions=6, iterations=3)
        padded = times.pad(execution=(1, 2)).where(
            lambda array: array["execution"] != 3, drop=False
        )
        padded[0, 2, 1] = np.nan
        calibration = padded.pad(iteration=(0, 4)).perf.calibrate(rng=1)
        xr.testing.assert_allclose(calibration, padded.perf.calibrate(rng=1))
        assert (calibration["n"] == 5).all()
        assert (calibration["n_splits"] == number_of_splits(5)).all()
        assert calibration["cell_rate"].notnull().all()


class TestFewUnits:
    """What is said at three units, two and one; with one benchmark; with no variation."""

    @pytest.mark.parametrize(
        ("units", "splits", "codes"),
        [(3, 3, {"few_units"}), (2, 1, {"few_units"}), (1, 0, {"few_units"})],
    )
    def test_notes(self, units, splits, codes):
        with pytest.warns(perfarray.PerfarrayWarning) as caught:
            calibration = simulated(executions=units, benchmarks=3).perf.calibrate(rng=1)
        assert (calibration["n_splits"] == splits).all()
        assert codes <= {note.code for note in caught[0].message.notes}
        assert bool(calibration["false_alarm_rate"].isnull().all()) == (units == 1)
        if units > 1:
            assert calibration["unanswered"].sel(rule="perfarray") == 1

    def test_one_benchmark(self):
        with pytest.warns(perfarray.PerfarrayWarning, match="one cell, 20 of 126 distinct splits"):
            calibration = (
                simulated(executions=9).isel(benchmark=0).perf.calibrate(n_splits=20, rng=1)
            )
        assert calibration["error"].isnull().all()

    def test_shared_units(self):
        """Cells whose units are the same are no independent evidence."""
        with pytest.warns(perfarray.PerfarrayWarning, match="The cells share their executions"):
            simulated(benchmarks=3, executions=6, shared={"execution": 0.5}).perf.calibrate(rng=1)

    def test_constant(self):
        """No alarm; of a test, which gives no answer, no rate either, and the sentence and the
        table say so."""
        times = xr.full_like(simulated(benchmarks=2, executions=8), 2.0)
        calibration = times.perf.calibrate(rng=1)
        silent = calibration["unanswered"] == 1
        assert (calibration["false_alarm_rate"].where(~silent, 0.0) == 0).all()
        assert (
            calibration["false_alarm_rate"]
            .isnull()
            .equals(silent.drop_attrs().rename("false_alarm_rate"))
        )
        assert silent.sel(rule="pooled_t")
        assert calibration.perf.table().loc["pooled_t", "false alarms"] == "-"
        assert (calibration["noise_floor"] == 0).all()


def test_rates_and_stopped_runs():
    """Throughput is compared as well; a run that was stopped is left out, and counted."""
    times = simulated(benchmarks=3, executions=8).assign_attrs(units="ops/s", better="higher")
    with_stopped_runs = times.assign_coords(
        censored=xr.zeros_like(times, dtype=bool).where(times["execution"] != 7, True)
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="60 runs that were stopped at a limit"):
        calibration = with_stopped_runs.perf.calibrate(rng=1, rules=("perfarray", "pooled_t"))
    assert (calibration["n"] == 7).all()
    assert calibration.attrs["n_censored"] == 60


def test_a_rule_of_the_caller():
    """Named as the function is; it is given halves as methods are."""

    def widest(times, baseline):
        return {
            "significant": abs(
                times.mean(("execution", "iteration")) - baseline.mean(("execution", "iteration"))
            )
            > 0
        }

    calibration = simulated(benchmarks=2).perf.calibrate(
        rules=[widest, "hierarchical_performance_test"], n_splits=5, rng=1
    )
    assert calibration["rule"].values.tolist() == ["widest", "hierarchical_performance_test"]
    assert calibration["false_alarm_rate"].sel(rule="widest") == 1
    assert calibration["used_by"].values.tolist() == [
        "the caller",
        "perfarray.hierarchical_performance_test",
    ]


def test_a_threshold_is_for_every_rule():
    """With 1 %, few differences of pooled means are alarms; a limit of 2 % stays what it is."""
    times = simulated(benchmarks=10)
    plain, tolerant = (
        times.perf.calibrate(threshold=tau, rng=1)["false_alarm_rate"] for tau in (0.0, 0.01)
    )
    assert (tolerant <= plain).all()
    assert tolerant.sel(rule="pooled_t") < 0.1 * plain.sel(rule="pooled_t")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": "welch"}, "rules='welch' is not known; choose one of 'perfarray', 'pooled_t'"),
        ({"rules": ()}, "give at least one of 'perfarray'"),
        ({"rules": ("pooled_t", "pooled_t")}, "names something twice"),
        ({"rules": "simulate"}, "method 'simulate' is not known"),
        ({"threshold": -0.01}, "threshold=-0.01 is out of range"),
        ({"n_splits": 0}, "n_splits=0: give a whole number of at least 1"),
        ({"confidence_level": 1}, "out of range"),
        ({"levels": "session"}, "level 'session' not found"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        simulated(benchmarks=2).perf.calibrate(**change)


def test_the_table_shows_rules():
    """A row a rule, with its error; the sentence for a report comes first among the notes."""
    table = (
        simulated(benchmarks=5)
        .perf.calibrate(rules=("perfarray", "means_5_percent"), rng=1)
        .perf.table()
    )
    assert table.columns.tolist() == ["false alarms", "no answer", "used by"]
    assert table.loc["means_5_percent"].tolist() == ["0 % ± 0 %", "0 %", "a limit on the means"]
    assert table.attrs["notes"][0].startswith(
        "Of comparisons between halves of the same timings, perfarray calls "
    )

"""Coverage, false alarms and power are those that were published, or can be worked out, within
Monte Carlo error."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from tests.strategies import experiments as count

import perfarray
from perfarray.calibration import experiments

TABLE_VII = {
    "FFT NA OPT": (3.4, 8.2, 1.4),
    "Rijndael OPT": (0.4, 3.8, 9.3),
    "TCP OPT": (0.6, 1.7, 41.8),
}
"""Relative variation of binaries, executions and iterations in percent (Kalibera and Jones, table VII)."""

LEVELS = ("binary", "execution", "iteration")

NEST = {"sizes": {"binary": 5, "execution": 3}, "variances": {"binary": 4e-4, "execution": 1e-4}}
SUITE = {"sizes": {"execution": 6}, "variances": {"execution": 1e-4}, "dims": {"benchmark": 6}}


def components(name):
    """Return the variances of a benchmark of the paper."""
    return {
        level: (percent / 100) ** 2 for level, percent in zip(LEVELS, TABLE_VII[name], strict=True)
    }


def by_benchmark(labels):
    """Return a map over benchmarks."""
    return xr.DataArray(
        np.linspace(0.9, 0.95, len(labels)), {"benchmark": list(labels)}, "benchmark"
    )


def agrees(result, expected, slack=0.0):
    """Return whether a share lies within four Monte Carlo errors of what is expected, and the slack
    of a rounded number."""
    error = np.sqrt(expected * (1 - expected) / result.attrs["n_experiments"])
    return abs(float(result["estimate"]) - expected) < 4 * error + slack


class TestPublished:
    """What Kalibera and Jones found (sections 8.3 and 8.4), with their variances."""

    @pytest.mark.parametrize(
        ("df", "binaries", "expected"),
        [
            ("normal", 3, 0.88),
            ("normal", 50, 0.945),
            ("conservative", 3, 0.99),
            ("conservative", 50, 0.955),
        ],
    )
    def test_fieller(self, df, binaries, expected):
        """Normal: "around 88 % for 3 binaries", "above 94 % for 15"; t: about 99 % at 3, 95 to 96 %
        at 50."""
        sizes = {"binary": binaries, "execution": 3, "iteration": 2}
        coverage = perfarray.coverage(
            "ratio_interval",
            df=df,
            sizes=sizes,
            variances=components("FFT NA OPT"),
            n_experiments=count(4000),
            rng=1,
        )
        assert agrees(coverage, expected, slack=0.005)

    @pytest.mark.parametrize(
        ("name", "binaries", "expected"),
        [("TCP OPT", 3, 0.95), ("TCP OPT", 50, 0.99), ("FFT NA OPT", 50, 0.95)],
    )
    def test_everything_redrawn(self, name, binaries, expected):
        """RRR counts the variance of lower levels again: 95 % at 3 binaries and 98 to 99 at 50
        where these have most of it."""
        coverage = perfarray.coverage(
            "ratio_interval",
            method="percentile",
            resample="all",
            n_resamples=100,
            variances=components(name),
            sizes={"binary": binaries, "execution": 2, "iteration": 2},
            n_experiments=count(800),
            rng=2,
        )
        assert agrees(coverage, expected, slack=0.025)

    def test_one_binary(self):
        """False alarms of an ignored level grow with the executions, to about 60 % at 100."""
        sizes = {"binary": 1, "execution": [3, 100], "iteration": 2}
        rates = perfarray.false_alarm_rate(
            "ratio_interval",
            df="conservative",
            sizes=sizes,
            variances=components("FFT NA OPT"),
            ignored="binary",
            n_experiments=count(4000),
            rng=3,
        )
        few_units, many_units = (rates.sel(execution=number) for number in sizes["execution"])
        assert few_units["estimate"] < 0.06
        assert agrees(many_units, 0.6, slack=0.03)

    def test_flat(self):
        """One execution of one binary: a false alarm in about 95 %; a threshold of 20 % leaves
        about 9."""
        rates = perfarray.false_alarm_rate(
            "ratio_interval",
            sizes={"binary": 1, "execution": 1, "iteration": 45},
            ignored=("binary", "execution"),
            threshold=[0, 0.2],
            df="conservative",
            variances=components("FFT NA OPT"),
            n_experiments=count(4000),
            rng=4,
        )
        assert agrees(rates.isel(threshold=0), 0.95, slack=0.02)
        assert agrees(rates.isel(threshold=1), 0.09, slack=0.02)

    def test_a_threshold_instead_of_binaries(self):
        """8.3.1: with 3 binaries and a threshold of 2 % the benchmark with most variation has false
        alarms in about 2 %."""
        rates = perfarray.false_alarm_rate(
            "ratio_interval",
            df="conservative",
            sizes={"binary": 3, "execution": 20, "iteration": 2},
            threshold=0.02,
            variances=components("FFT NA OPT"),
            n_experiments=count(4000),
            rng=5,
        )
        assert rates["estimate"] < 0.02


class TestKnown:
    """What can be worked out."""

    def test_the_normal_mean(self):
        """A normal interval of three values covers P[|t| < 1.96] with 2 degrees of freedom."""
        coverage = perfarray.coverage(
            "mean_interval",
            method="normal",
            sizes={"execution": 3},
            variances={"execution": 1e-4},
            n_experiments=count(8000),
            rng=1,
        )
        assert agrees(coverage, 1 - 2 * scipy.stats.t.sf(scipy.stats.norm.ppf(0.975), 2))
        assert float(coverage["estimate"] + coverage["below"] + coverage["above"]) == pytest.approx(
            1
        )

    def test_hidden_units(self):
        """Pooled executions: a normal test whose error is too small by the root of 1 + (m - 1)
        share."""
        share, m = 0.37, 20
        rates = perfarray.false_alarm_rate(
            "compare",
            sizes={"execution": 20, "iteration": m},
            ignored="execution",
            n_experiments=count(4000),
            rng=1,
            variances={"execution": share * 4e-4, "iteration": (1 - share) * 4e-4},
        )
        assert agrees(
            rates, 2 * scipy.stats.norm.sf(1.96 / np.sqrt(1 + (m - 1) * share)), slack=0.02
        )
        assert rates.attrs["levels"] == "iteration"

    def test_power_is_that_of_the_t_test(self):
        """The noncentral t, for a change of 2 % at 6 units of 1.5 % a side; none in the other
        direction."""
        shift = 0.02 / (0.015 * np.sqrt(2 / 6))
        expected = scipy.stats.nct.sf(scipy.stats.t.ppf(0.975, 10), 10, shift)
        power = perfarray.power(
            "compare",
            ratio=[0.98, 1.02],
            sizes={"execution": 6},
            variances={"execution": 0.015**2},
            n_experiments=count(4000),
            rng=1,
        )
        assert agrees(power.isel(ratio=0), expected, slack=0.01)
        assert agrees(power.isel(ratio=1), expected, slack=0.01)
        assert power["opposite"].max() < 0.005

    def test_dependence(self):
        """Neighbours that correlate at 0.6: 10 values know as little as some 3 (METHODS: 66 to 68 %
        coverage at any number)."""
        coverage = perfarray.coverage(
            "mean_interval",
            sizes={"execution": 30},
            variances={"execution": 1e-4},
            autocorrelation={"execution": 0.6},
            n_experiments=count(4000),
            rng=1,
        )
        assert 0.60 < coverage["estimate"] < 0.72

    def test_unequal_sides(self):
        """Ten units of the noisier side, against three of a quiet one."""

        def against_three_quiet_units(times, baseline):
            quiet = 1 + (baseline.isel(execution=slice(3)) - 1) / 20
            return times.perf.ratio_interval(quiet.assign_attrs(baseline.attrs))

        coverage = perfarray.coverage(
            against_three_quiet_units,
            sizes={"execution": 10},
            variances={"execution": 4e-4},
            n_experiments=count(4000),
            rng=1,
        )
        assert agrees(coverage, 0.95, slack=0.005)

    def test_components(self):
        """Limits of components cover the variances that went in, along `level`."""
        coverage = perfarray.coverage(
            "variance_components", **NEST, n_experiments=count(2000), rng=1
        )
        assert (
            abs(coverage["estimate"] - 0.95)
            < 4 * np.sqrt(0.95 * 0.05 / coverage.attrs["n_experiments"]) + 0.01
        ).all()
        assert coverage["level"].values.tolist() == ["binary", "execution"]

    def test_units_that_serve_a_suite(self):
        """Declared, the ratio of scores covers 95 %; not declared, about 56 % at a correlation of
        0.8."""
        nest = {
            "sizes": {"binary": 10},
            "variances": {"binary": 1e-4},
            "dims": {"benchmark": 13},
            "shared": {"binary": 0.8},
        }
        coverage = perfarray.coverage(
            "score_ratio_interval", **nest, n_experiments=count(2000), rng=1
        )
        untold = perfarray.coverage(
            lambda times, baseline: times.perf.score_ratio_interval(baseline, shared=()),
            **nest,
            n_experiments=count(2000),
            rng=1,
        )
        assert agrees(coverage, 0.95, slack=0.005)
        assert untold["estimate"] < 0.6


class TestSameNumbers:
    """What must not change an answer."""

    @pytest.mark.parametrize("method", ["studentized", "fieller"])
    def test_batches(self, method):
        """Any size of a batch, with a bootstrap too; with and without a bar."""
        options = NEST | {"n_experiments": 7, "rng": 7, "method": method, "n_resamples": 20}
        in_one_batch = perfarray.coverage("ratio_interval", **options)
        for batch in (1, 3):
            xr.testing.assert_identical(
                in_one_batch, perfarray.coverage("ratio_interval", batch=batch, **options)
            )
        barred = perfarray.coverage(
            "ratio_interval", **options | {"rng": in_one_batch.attrs["rng_key"], "progress": True}
        )
        xr.testing.assert_identical(in_one_batch, barred)

    def test_memory_is_bounded(self, monkeypatch):
        """Experiments are given in as many calls as their values need."""
        batch_sizes = []

        def spy(times):
            batch_sizes.append(times.sizes["experiment"])
            return times.perf.mean_interval()

        monkeypatch.setattr(experiments, "MOST_VALUES", 40)
        perfarray.coverage(spy, sizes={"execution": 5}, variances={}, n_experiments=20, rng=1)
        assert batch_sizes == [8, 8, 4]

    def test_the_first_are_those_of_fewer(self):
        """So that more experiments are added to those that were made."""
        batches = []

        def keep(times):
            batches.append(times.copy())
            return times.perf.mean_interval()

        for number in (5, 9):
            perfarray.coverage(
                keep,
                sizes={"execution": (2, 4), "iteration": 2},
                variances={"execution": 1.0},
                n_experiments=number,
                rng=1,
            )
        xr.testing.assert_identical(batches[0], batches[1].isel(experiment=slice(5)))
        assert batches[0].isnull().any()

    def test_a_map_is_its_places(self):
        """A place keeps its numbers whatever others there are, by list or by DataArray; benchmarks
        are maps too."""
        variances = {
            "binary": xr.DataArray(
                [1e-4, 4e-4], dims="benchmark", coords={"benchmark": ["a", "b"]}
            ),
            "execution": 1e-4,
        }
        grid = perfarray.coverage(
            "ratio_interval",
            sizes={"binary": [3, 6], "execution": 2},
            variances=variances,
            n_experiments=50,
            rng=1,
        )
        assert dict(grid.sizes) == {"binary": 2, "benchmark": 2}
        components = {
            level: value.sel(benchmark=["b"]) if level == "binary" else value
            for level, value in variances.items()
        }
        cell = perfarray.coverage(
            "ratio_interval",
            sizes={"binary": [6], "execution": 2},
            variances=components,
            n_experiments=50,
            rng=1,
        )
        xr.testing.assert_equal(cell.squeeze(), grid.sel(binary=6, benchmark="b"))
        variance = xr.DataArray([1e-4], {"level": ["execution"]}, "level")
        ragged = perfarray.coverage(
            "mean_interval",
            sizes={"execution": [(2, 4), (5, 5)]},
            variances=variance,
            n_experiments=50,
            rng=1,
        )
        five = perfarray.coverage(
            "mean_interval",
            sizes={"execution": 5},
            variances={"execution": 1e-4},
            n_experiments=50,
            rng=1,
        )
        assert ragged["execution"].values.tolist() == [0, 1]
        assert ragged["width"].sel(execution=1) == pytest.approx(five["width"].item(), rel=0.3)

    def test_a_callable_of_one_experiment(self):
        """Takes batch=1, and what SciPy returns."""
        rate = perfarray.false_alarm_rate(
            lambda times, baseline: scipy.stats.ttest_ind(
                times.values.ravel(), baseline.values.ravel()
            ),
            batch=1,
            sizes={"execution": 5},
            variances={"execution": 1e-4},
            n_experiments=40,
            rng=1,
        )
        rates = perfarray.false_alarm_rate(
            lambda times, baseline: {
                "pvalue": scipy.stats.ttest_ind(times.values, baseline.values, axis=1).pvalue
            },
            sizes={"execution": 5},
            variances={"execution": 1e-4},
            n_experiments=40,
            rng=1,
        )
        assert rate["estimate"] == rates["estimate"]


@pytest.mark.filterwarnings("ignore:.*have no answer:perfarray.PerfarrayWarning")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("compare", {"threshold": 0.01}),
        ("compare", {"correction": "holm"}),
        ("score_ratio_interval", {"method": "percentile", "n_resamples": 20}),
        ("randomization_test", {"n_resamples": 50}),
        ("hierarchical_performance_test", {}),
        ("speedup_test", {}),
        ("agreement", {"n_resamples": 20}),
        ("normality", {}),
    ],
)
def test_every_method_comes_to_a_decision(method, options):
    """By name, and by itself; a study of several benchmarks is one experiment."""
    by_name = perfarray.false_alarm_rate(method, **SUITE, n_experiments=2, rng=1, **options)
    by_itself = perfarray.false_alarm_rate(
        getattr(perfarray, method), **SUITE, n_experiments=2, rng=1, **options
    )
    xr.testing.assert_identical(by_name, by_itself)
    assert by_name["estimate"].notnull().all()


def test_an_unbounded_interval_covers_and_none_is_counted_apart():
    """Four intervals are the whole line, two are missing, one misses the truth from below; of two
    exclusive sets one leaves it out."""
    lower = np.array([-np.inf, -np.inf, -np.inf, -np.inf, np.nan, np.nan, 0.5, 0.5, 0.5])
    upper = np.array([np.inf, np.inf, np.inf, np.inf, np.nan, np.nan, 0.8, 1.5, 0.8])
    kind = np.array(["unbounded"] * 6 + ["bounded", "exclusive", "exclusive"], dtype=object)

    def unbounded_interval(_times, _baseline):
        return {"lower": lower, "upper": upper, "kind": kind}

    nest = {"sizes": {"execution": 2}, "variances": {}, "n_experiments": 9}
    with pytest.warns(perfarray.PerfarrayWarning, match="have no answer"):
        coverage = perfarray.coverage(unbounded_interval, ratio=1.0, **nest)
    expected = {
        "estimate": 5 / 7,
        "below": 1 / 7,
        "above": 0.0,
        "unbounded": 6 / 7,
        "unanswered": 2 / 9,
        "width": np.inf,
    }
    assert {name: float(coverage[name]) for name in expected} == pytest.approx(expected)
    with pytest.warns(perfarray.PerfarrayWarning, match="count as seeing nothing"):
        assert float(perfarray.false_alarm_rate(unbounded_interval, **nest)["estimate"]) == 1 / 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"method": "speed"},
            (
                r"method 'speed' is not known. Give a callable f\(times, baseline\) or f\(times\), "
                "or the name of a function: 'agreement', 'compare'"
            ),
        ),
        ({"method": "simulate"}, "method 'simulate' is not known"),
        ({"method": 3}, "method 3 is not known"),
        ({"method": "speedup_test"}, "speedup_test has no interval whose truth is known"),
        ({"speed": 1}, "ratio_interval takes no 'speed'; what it takes is"),
        (
            {"sizes": {"binary": 1, "execution": 3}},
            r"sizes leaves one binary in an experiment.*at least 2 binaries.*ignored='binary'",
        ),
        ({"sizes": {"binary": [1, 3], "execution": 3}}, "sizes leaves one binary"),
        (
            {"sizes": {"binary": 1, "execution": 1, "iteration": 5}, "ignored": "binary"},
            "sizes leaves one execution",
        ),
        (
            {"sizes": {"binary": 0, "execution": 1}},
            r"sizes\['binary'\]=0: give a whole number of at least 1",
        ),
        ({"sizes": 3}, "sizes=3: give a mapping of levels to numbers"),
        ({"sizes": {"execution": 3, "binary": 3}}, "is in the wrong order"),
        ({"variances": {"binary": -1e-4}}, r"variances\['binary'\]=-0.0001 is negative"),
        (
            {"variances": {"build": 1e-4}},
            "'build' is not one of the levels in sizes: 'binary', 'execution'",
        ),
        ({"variances": {"binary": "much"}}, "'much' is not a number"),
        ({"ratio": 0.0}, "a number above zero"),
        ({"ratio": [0.9, np.nan]}, "finite numbers"),
        ({"ignored": "execution"}, "the lowest level, cannot become those of a lower one"),
        ({"ignored": "session"}, "'session' is not one of the levels in sizes"),
        ({"autocorrelation": {"execution": 1.0}}, "not a correlation between -1 and 1"),
        ({"shared": {"binary": 0.5}}, r"dims=\{'benchmark': 13\}"),
        ({"distribution": "cauchy"}, "distribution='cauchy' is not known"),
        ({"n_experiments": 1}, "n_experiments=1: give a whole number of at least 2"),
        ({"batch": 0}, "batch=0"),
        ({"confidence_level": 95}, "out of range"),
        (
            {"method": "variance_components", "ignored": "binary"},
            "the components of levels that are pooled are not those in variances=",
        ),
        (
            {"ratio": by_benchmark("ab"), "variances": {"binary": by_benchmark("cd")}},
            "maps whose labels differ",
        ),
        (
            {"ratio": by_benchmark("ab"), "dims": {"benchmark": 3}},
            "an array has 2 along 'benchmark', and dims={'benchmark': ...} has 3",
        ),
        ({"method": lambda _: None}, "neither lower and upper nor"),
        (
            {"method": lambda times: {"pvalue": times.mean(("binary", "execution"))}},
            "has no lower and upper",
        ),
        (
            {"method": lambda _: {"lower": 0.0, "upper": 1.0}},
            "Let the answer keep this dim, or take batch=1",
        ),
    ],
)
def test_bad_input(change, message):
    method, options = (
        change.get("method", "ratio_interval"),
        {name: value for name, value in change.items() if name != "method"},
    )
    with pytest.raises(ValueError, match=message):
        perfarray.coverage(method, **{"n_experiments": 4, **NEST, **options})


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("compare", {"threshold": -0.02}, "threshold=-0.02 is out of range"),
        ("ratio_interval", {"threshold": [0.0, -0.02]}, "threshold=-0.02 is out of range"),
        (
            "randomization_test",
            {"threshold": 0.02},
            "randomization_test tests whether there is any difference, and knows no threshold",
        ),
        ("mean_interval", {}, "mean_interval has limits, and no verdict"),
        ("compare", {"correction": "holm"}, r"correction= is for several verdicts"),
    ],
)
def test_bad_decisions(method, change, message):
    with pytest.raises(ValueError, match=message):
        perfarray.false_alarm_rate(method, **{"n_experiments": 4, **NEST, **change})


def test_pairs_have_something_in_common():
    """Wholly correlated sessions are the same in both systems; intervals of pairs cover 95 % and
    are narrower, others cover more."""
    nest = {
        "sizes": {"session": 8, "iteration": 2},
        "variances": {"session": 4e-4, "iteration": 1e-6},
        "rng": 1,
    }
    correlations = []

    def method(times, baseline):
        correlations.append((times.mean("iteration") / baseline.mean("iteration")).std().item())
        return {"lower": times.mean(), "upper": times.mean()}

    for correlation in (0.0, 1.0):
        perfarray.coverage(
            method, pairs={"session": correlation}, ratio=1.0, n_experiments=2, batch=1, **nest
        )
    assert max(correlations[2:]) < 0.002 < 0.01 < min(correlations[:2])
    ask = {"ratio": 1.0, "n_experiments": count(2000), "pairs": {"session": 0.8}}
    independent, together = (
        perfarray.coverage("ratio_interval", **nest, **ask, **how)
        for how in ({}, {"paired": "session"})
    )
    assert independent["estimate"] > 0.98
    assert 0.93 < together["estimate"] < 0.97
    assert together["width"] / independent["width"] == pytest.approx(
        np.sqrt(0.2), rel=0.2
    )  # and a larger t, of fewer degrees of freedom
    estimates = [
        perfarray.coverage("ratio_interval", **nest, n_experiments=9, **how)["width"].item()
        for how in ({}, {"pairs": {}})
    ]
    assert estimates[0] == estimates[1]


def test_pairs_that_cannot_be():
    """One system has no pairs; nor have systems of different sizes; a correlation is one, of a
    level that there is."""
    nest = {"sizes": {"session": 8}, "variances": {"session": 4e-4}}
    for method, how, message in (
        (
            "mean_interval",
            {"pairs": {"session": 0.5}},
            "is about two systems, and the method is of one",
        ),
        ("compare", {"pairs": {"session": 1.5}}, "is not a correlation between 0 and 1"),
        ("compare", {"pairs": {"binary": 0.5}}, "'binary' is not one of the levels in sizes"),
    ):
        with pytest.raises(ValueError, match=message):
            perfarray.coverage(method, **nest, **how)

"""The Speedup-Test on labelled timings: levels, units, baselines, warnings, the whole suite, the
proportion."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import perfarray
from perfarray.numerics.two_sample import exact_ks_pvalue

OLD = [2.799, 2.046, 1.259, 1.877, 2.244]
NEW = [1.046, 0.259, 0.877, 1.244, 1.799]


@pytest.fixture
def example():
    """Example 1 of the paper."""
    return perfarray.from_samples({"old": OLD, "new": NEW})


@pytest.fixture
def suite():
    """Five benchmarks of 12 runs a side; the last one is slower in the new version."""
    rng = np.random.default_rng(5)
    factors = np.array([0.5, 0.8, 0.9, 0.97, 1.2])
    values = 10 * rng.lognormal(sigma=0.02, size=(5, 2, 12))
    values[:, 1] *= factors[:, None]
    labels = {"benchmark": list("abcde"), "version": ["old", "new"]}
    return xr.DataArray(
        values,
        dims=("benchmark", "version", "execution"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_every_case_of_the_reference(golden, statistic):
    """Speedups, verdicts at 95 % and searched levels are the tool's; "cannot conclude" has no
    p-value and keeps a level given."""
    for case in (
        golden("speedup_software_example")["benchmarks"]
        + golden("speedup_protocol_synthetic")["benchmarks"]
    ):
        times = perfarray.from_samples(
            {"old": case["input"]["x_initial"], "new": case["input"]["y_optimised"]}
        )
        given_level, output = case["output"]["at_fixed_level"][0], case["output"]
        found = times.perf.speedup_test("old", statistic=statistic, confidence_level=0.95).squeeze()
        expected = given_level[
            "mean_significant" if statistic == "mean" else "median_significant_ks_R_le_4.1"
        ]
        assert found["speedup"].item() == pytest.approx(output[f"speedup_{statistic}"], rel=1e-12)
        assert found["significant"].item() is bool(expected)
        assert (
            (found["test"].item() == "cannot conclude")
            == (expected is None)
            == bool(np.isnan(found["pvalue"].item()))
        )
        assert found["confidence_level"].item() == 0.95
        search = times.perf.speedup_test("old", statistic=statistic, search="tool").squeeze()
        level = output[f"search_{statistic}"]["conf_level"]
        assert search["significant"].item() is output[f"search_{statistic}"]["is_significant"]
        assert search["confidence_level"].item() == pytest.approx(
            np.nan if level is None else level, abs=1e-12, nan_ok=True
        )


@pytest.mark.parametrize(
    ("statistic", "value"),
    [("mean", 10.225 / 5.225), ("median", 2.046 / 1.046), ("min", 1.259 / 0.259)],
)
def test_observed_speedups(example, statistic, value):
    """A speedup is baseline divided by candidate, of the mean, the median or the minimum; n is of
    the smaller side."""
    result = example.perf.speedup("old", statistic=statistic)
    assert result["estimate"].item() == pytest.approx(value)
    assert result["n"].item() == 5
    assert result.attrs["statistic"] == statistic
    assert (
        perfarray.from_samples({"old": OLD[:3], "new": NEW})
        .perf.speedup("old", statistic=statistic)["n"]
        .item()
        == 3
    )


@pytest.mark.parametrize(("wild", "limits"), [("old", (0.0, 8.7266)), ("new", (0.1146, np.inf))])
def test_limits_at_the_ends(wild, limits):
    """A side that varies as much as its mean leaves a limit of 0, or of infinity, and a note."""
    times = perfarray.from_samples(
        {"old": [1.0, 1.01, 0.99], "new": [1.0, 1.01, 0.99], wild: [0.1, 5.0, 0.2]}
    )
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="1 of 1 cells have a limit at 95 % that is 0 or infinite. Measure more executions",
    ):
        found = times.perf.speedup("old", confidence_level=0.95).squeeze()
    assert (found["lower"].item(), found["upper"].item()) == pytest.approx(limits, rel=1e-4)


def test_example_1(example):
    """The steps of the paper's first example, and as a sentence; P[X > Y] comes with the median
    only."""
    result = example.perf.speedup_test("old", confidence_level=0.95).squeeze()
    assert result["step"].values.tolist() == [
        "normal_baseline",
        "normal_candidate",
        "equal_variances",
        "faster",
    ]
    assert result["step_outcome"].values.tolist() == [
        "normal",
        "normal",
        "equal variances",
        "significant",
    ]
    assert result["step_pvalue"].values == pytest.approx([0.9647, 0.9647, 1.0, 0.01118], abs=5e-5)
    assert result["warnings"].item() == ""
    assert result["protocol"].item() == (
        "n = 5 (baseline) and 5 (candidate), risk 5 %. Shapiro-Wilk, baseline: p = 0.965, "
        "normal. Shapiro-Wilk, candidate: p = 0.965, "
        "normal. F test: p = 1, equal variances. Student t, one-sided: p = 0.0112, significant."
    )
    assert example.perf.speedup_test("old", statistic="median")["prob_faster"].item() == 0.96
    assert "prob_faster" not in result


def test_small_and_large_samples_that_are_not_normal():
    """30 skewed values allow no conclusion and say so, 31 do with a warning."""
    rng = np.random.default_rng(2)
    values = {
        "old": rng.lognormal(sigma=1.5, size=31) + 9,
        "new": rng.lognormal(sigma=1.5, size=31),
    }
    small = perfarray.from_samples(
        {name: one[:30] for name, one in values.items()}
    ).perf.speedup_test("old", confidence_level=0.95)
    large = perfarray.from_samples(values).perf.speedup_test("old", confidence_level=0.95)
    assert small["test"].item() == "cannot conclude"
    assert (
        small["step_outcome"].values.ravel().tolist()
        == ["not normal, small sample"] * 2 + ["not reached"] * 2
    )
    assert [text.split(" for ")[0] for text in small["warnings"].item().split("; ")] == [
        "Sample1 too small",
        "Sample2 too small",
    ]
    assert large["significant"].item()
    assert re.findall(r"Sample\d data are not normally distributed", large["warnings"].item()) == [
        f"Sample{side} data are not normally distributed" for side in (1, 2)
    ]


@pytest.mark.parametrize(
    ("n", "m", "outcome", "warning"),
    [
        (20, 20, "not a shift, small sample", "too small for applying the Wilcoxon"),
        (20, 40, "not a shift, small sample", "Sample1 too small for applying the Wilcoxon"),
        (40, 40, "not a shift, large samples", "shift model"),
    ],
)
def test_shapes_that_differ(n, m, outcome, warning):
    """A narrow and a wide sample are no shift of each other: there is no conclusion if one is
    small, else a warning."""
    rng = np.random.default_rng(3)
    times = perfarray.from_samples(
        {"old": 10 + rng.normal(0, 0.05, n), "new": 9 + rng.normal(0, 1, m)}
    )
    result = times.perf.speedup_test("old", statistic="median", confidence_level=0.95).squeeze()
    assert result["step_outcome"].values[0] == outcome
    assert warning in result["warnings"].item()
    assert result["significant"].item() is (n == 40)


def test_ties_have_an_exact_p():
    """Odd samples less their medians are tied at 0: p is then the limit law's by default, and exact
    where asked for."""
    times = perfarray.from_samples(
        {"old": [1.0, 2.0, 3.0, 4.0, 41.0], "new": [1.0, 11.0, 21.0, 21.5, 21.6]}
    )
    pvalues = [
        times.perf.speedup_test("old", statistic="median", confidence_level=0.95, **keywords)[
            "step_pvalue"
        ]
        .sel(step="same_shape")
        .item()
        for keywords in ({}, {"ties": "limit"}, {"ties": "exact"})
    ]
    exact = exact_ks_pvalue(np.array([-2.0, -1, 0, 1, 38]), np.array([-20.0, -10, 0, 0.5, 0.6]))
    assert pvalues == pytest.approx([stats.kstwobign.sf(0.4 * np.sqrt(2.5))] * 2 + [float(exact)])
    assert abs(pvalues[2] - pvalues[0]) > 0.05


def test_constant_and_tiny_samples():
    """Equal values, or two, have no normality test; the median's protocol still answers, unless
    everything is equal."""
    times = perfarray.from_samples({"old": [2.0] * 4, "new": [1.0] * 4})
    result = times.perf.speedup_test("old")
    assert result["test"].item() == "cannot conclude"
    assert "equal values only" in result["warnings"].item()
    assert times.perf.speedup_test("old", statistic="median", confidence_level=0.95)[
        "significant"
    ].item()
    same = perfarray.from_samples({"old": [2.0] * 4, "new": [2.0] * 4}).perf.speedup_test(
        "old", statistic="median"
    )
    assert same["test"].item() == "cannot conclude"
    assert same["warnings"].item().startswith("All values of both samples are equal")


def test_levels_of_benchmarks(suite):
    """A benchmark's level wins over the call's, the call's over the search."""
    own = suite.assign_coords(confidence_level=("benchmark", [0.8, np.nan, np.nan, np.nan, np.nan]))
    called = own.perf.speedup_test("old", confidence_level=0.9)
    assert called["confidence_level"].squeeze().values.tolist() == [0.8, 0.9, 0.9, 0.9, 0.9]
    searched = own.perf.speedup_test("old")
    assert searched["searched"].squeeze().values.tolist() == [False, True, True, True, True]
    assert searched["confidence_level"].sel(benchmark="b").item() == 0.99
    array = xr.DataArray([0.7, np.nan], dims="benchmark", coords={"benchmark": ["c", "a"]})
    given_levels = suite.perf.speedup_test("old", confidence_level=array)
    assert given_levels["searched"].squeeze().values.tolist() == [True, True, False, True, True]
    assert given_levels["confidence_level"].sel(benchmark="c").item() == 0.7


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_a_level_found_is_one(statistic):
    """At the level that the search found, the speedup is significant; where it found none, the
    steps are those at 99 %."""
    rng = np.random.default_rng(4)
    values = 1 + 0.05 * rng.lognormal(0, 0.5, (2, 200, 12))
    coords = {"version": ["old", "new"]}
    times = xr.DataArray(
        values,
        dims=("version", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    found = times.perf.speedup_test("old", statistic=statistic).squeeze("version", drop=True)
    level = found["confidence_level"]
    assert found.attrs["search"] == "exhaustive"
    np.testing.assert_array_equal(level.notnull(), found["significant"])
    np.testing.assert_array_equal(found["judged_level"], level.fillna(0.99))
    again = times.perf.speedup_test(
        "old", statistic=statistic, confidence_level=found["judged_level"]
    ).squeeze("version", drop=True)
    for name in ("significant", "pvalue", "test", "step_outcome"):
        np.testing.assert_array_equal(again[name], found[name])
    tool = times.perf.speedup_test("old", statistic=statistic, search="tool").squeeze(
        "version", drop=True
    )
    assert (tool["significant"] <= found["significant"]).all()
    assert (
        tool["confidence_level"].where(tool["significant"]) < level
    ).any()  # its bisection ends short of the highest


def test_a_level_that_few_runs_just_reach():
    """Two runs against three are ordered by chance in 1 of 10: significant at 90 %, though 1 - 0.9
    is less than 0.1 in a computer."""
    times = perfarray.from_samples({"old": [3.0, 4.0, 5.0], "new": [1.0, 2.0]})
    found = times.perf.speedup_test("old", statistic="median", confidence_level=0.9)
    assert found["pvalue"].item() == pytest.approx(0.1, rel=1e-12)
    assert found["significant"].item()


def test_one_value_per_unit():
    """Executions are the sample unless iterations are asked for; the attrs say which, and a note
    what that does."""
    times = perfarray.simulate(
        sizes={"execution": 6, "iteration": 50},
        variances={"execution": 1e-4, "iteration": 1e-4},
        dims={"version": ["old", "new"]},
        rng=1,
    )
    units = times.perf.speedup_test("old")
    with pytest.warns(perfarray.PerfarrayWarning, match="Iterations are taken as independent"):
        pooled = times.perf.speedup_test("old", unit="iteration")
    assert [note.code for note in pooled.perf.notes()] == ["one_process"]
    flat = times.mean("iteration").perf.speedup_test("old")
    assert (units["n"].item(), pooled["n"].item()) == (6, 300)
    assert (units.attrs["unit"], pooled.attrs["unit"]) == ("execution", "iteration")
    assert units["pvalue"].equals(flat["pvalue"])


def test_throughput_is_better_when_higher(example):
    """A rate is faster when it is larger: one over the times' order gives the same ranks."""
    rates = (1 / example["time"]).assign_attrs(units="ops/s", better="higher")
    times, rate = (
        data.perf.speedup_test("old", statistic="median", confidence_level=0.95)
        for data in (example["time"], rates)
    )
    assert rate["speedup"].item() == pytest.approx(times["speedup"].item())
    assert rate["prob_faster"].item() == times["prob_faster"].item()
    assert rate["step_pvalue"].values[0, 1] == pytest.approx(times["step_pvalue"].values[0, 1])
    assert rates.perf.speedup("old", statistic="median")["estimate"].item() == pytest.approx(
        times["speedup"].item()
    )


def test_a_missing_sample_and_a_slower_benchmark(suite):
    """A benchmark without values on one side is NaN and named once; of a slower one the protocol
    says so; the others are significant."""
    suite.loc[{"benchmark": "c", "version": "new"}] = np.nan
    with pytest.warns(
        UserWarning,
        match=r"1 of 5 cells have no measured value on one side. Their answers are NaN: "
        r"'new, c'|'c, new'",
    ) as caught:
        result = suite.perf.speedup_test("old")
    assert len(caught) == 1
    missing = result.sel(benchmark="c").squeeze()
    assert missing["warnings"].item() == "Cannot process benchmark: samples unavailable."
    assert missing["protocol"].item().endswith("nothing to compare")
    assert np.isnan([missing["speedup"].item(), missing["confidence_level"].item()]).all()
    assert result["significant"].squeeze().values.tolist()[:2] == [True, True]
    slower = result.sel(benchmark="e").squeeze()
    assert slower["step_outcome"].sel(step="faster").item() == "not significant, slower"
    assert "not significant, slower" in slower["protocol"].item()


def test_one_unit():
    """A single execution shows no spread; the warning names the remedy."""
    with pytest.warns(
        UserWarning, match="1 of 1 cells rest on one execution.*Measure several executions"
    ):
        perfarray.from_samples({"old": [1.0], "new": [1.0, 2.0, 4.0]}).perf.speedup_test("old")


def test_objects_dims_metrics_and_chunks(suite):
    """Two objects, transposed data, several metrics and chunks give what one labelled array
    gives."""
    expected = suite.perf.speedup_test("old", statistic="median")
    two = perfarray.speedup_test(
        suite.sel(version="new", drop=True), suite.sel(version="old", drop=True), statistic="median"
    )
    assert np.array_equal(two["pvalue"].values, expected["pvalue"].squeeze().values)
    pytest.importorskip("dask")
    computed = suite.chunk(benchmark=2).perf.speedup_test("old", statistic="median").compute()
    assert computed.attrs.pop("unchecked") == "one_side single_units"
    xr.testing.assert_identical(computed, expected)
    turned = suite.transpose("execution", "version", "benchmark").perf.speedup_test(
        "old", statistic="median"
    )
    assert turned["protocol"].transpose(*expected["protocol"].dims).equals(expected["protocol"])
    both = xr.Dataset({"time": suite, "energy": 2 * suite}).perf.speedup_test(
        "old", metric=["time", "energy"]
    )
    assert np.array_equal(
        both["pvalue"].sel(metric="time").values,
        suite.perf.speedup_test("old")["pvalue"].values,
        equal_nan=True,
    )


@given(st.floats(1e-3, 1e3), st.permutations(range(5)))
def test_neither_units_nor_order_matter(factor, order):
    """Scaled times in another order have the same steps and p-values."""
    one = perfarray.from_samples({"old": OLD, "new": NEW}).perf.speedup_test(
        "old", confidence_level=0.95
    )
    other = perfarray.from_samples(
        {"old": [factor * OLD[i] for i in order], "new": [factor * value for value in NEW]}
    )
    two = other.perf.speedup_test("old", confidence_level=0.95)
    assert two["step_pvalue"].values == pytest.approx(one["step_pvalue"].values, rel=1e-6)
    assert two["step_outcome"].equals(one["step_outcome"])


class TestOverall:
    """Weighted sums of times, before and after."""

    def test_the_four_benchmarks(self, golden):
        """Gains and speedups of section 6.3 for every statistic and weight, within 1e-12."""
        data = golden("speedup_software_example")
        sides = {"old": "x_initial", "new": "y_optimised"}
        rows = [
            (one["name"], side, value)
            for one in data["benchmarks"]
            for side, key in sides.items()
            for value in one["input"][key]
        ]
        times = pd.DataFrame(rows, columns=["benchmark", "version", "time"]).perf.to_timings()
        for statistic, ways in data["overall"].items():
            for name, weights in (
                ("equal", "equal"),
                ("fraction", "fraction"),
                ("custom_2_1.5_1_0.5", [2, 1.5, 1, 0.5]),
            ):
                found = times.perf.overall_speedup("old", statistic=statistic, weights=weights)
                assert found["speedup"].item() == pytest.approx(ways[name]["speedup"], rel=1e-12)
                assert found["gain"].item() == pytest.approx(ways[name]["gain"], rel=1e-12)

    def test_accelerated_ones_only(self, suite):
        """The slower benchmark is in the whole, not in the accelerated part; what counts as
        accelerated can be said."""
        found = suite.perf.overall_speedup("old").squeeze()
        means = suite.mean("execution").isel(benchmark=slice(4))
        assert (found["n"].item(), found["n_accelerated"].item()) == (5, 4)
        expected = means.sel(version="old").sum() / means.sel(version="new").sum()
        assert found["accelerated_speedup"].item() == pytest.approx(expected.item())
        assert found["accelerated_gain"].item() == pytest.approx(1 - 1 / expected.item())
        assert found["speedup"].item() < found["accelerated_speedup"].item()
        only = xr.DataArray(
            [False, True, False, False, False], {"benchmark": list("bacde")}, "benchmark"
        )
        two = suite.perf.overall_speedup("old", significant=only).squeeze()
        assert two["accelerated_speedup"].item() == pytest.approx(
            suite.sel(benchmark="a").perf.speedup("old")["estimate"].item()
        )

    def test_weights_in_every_form(self, suite):
        """Labels decide, not their order; a coordinate is custom; only ratios matter."""
        expected = suite.perf.overall_speedup("old", weights=[1, 2, 3, 4, 5])["speedup"].item()
        array = xr.DataArray(
            [50.0, 40.0, 30.0, 20.0, 10.0], dims="benchmark", coords={"benchmark": list("edcba")}
        )
        own = suite.assign_coords(weight=("benchmark", [1.0, 2, 3, 4, 5]))
        for times, weights in (
            (suite, array),
            (suite, dict(zip("abcde", [1, 2, 3, 4, 5], strict=True))),
            (own, "custom"),
        ):
            assert times.perf.overall_speedup("old", weights=weights)[
                "speedup"
            ].item() == pytest.approx(expected)


class TestProportion:
    """How many of the benchmarks are accelerated."""

    def test_of_a_result(self, suite):
        """A result of the test is taken as it is; benchmarks without samples are no part of it, and
        chance is counted."""
        suite.loc[{"benchmark": "c", "version": "new"}] = np.nan
        with pytest.warns(UserWarning, match="no measured value"):
            tested = suite.perf.speedup_test("old", statistic="median", confidence_level=0.95)
        found = tested.perf.accelerated_proportion().squeeze()
        assert (found["accelerated"].item(), found["n"].item()) == (3, 4)
        assert (found["lower"].item(), found["upper"].item()) == pytest.approx(
            (0.219426520065363, 0.986808838176273), rel=1e-12
        )
        assert not found["reliable"].item()
        assert found["by_chance"].item() == pytest.approx(4 * 0.05)
        with pytest.warns(
            UserWarning, match="no measured value"
        ):  # a level that was searched for counts with the risk of 0.5
            assert (
                suite.perf.speedup_test("old").perf.accelerated_proportion()["by_chance"].item()
                == 4 * 0.5
            )

    def test_of_flags(self):
        """Two candidates, one with a benchmark nothing is known of; the attrs say what the number
        does not mean."""
        flags = xr.DataArray([[1.0, 0.0, 1.0], [1.0, np.nan, 1.0]], dims=("version", "program"))
        found = perfarray.accelerated_proportion(flags, across="program", method="exact")
        assert found["n"].values.tolist() == [3, 2]
        assert found["estimate"].values == pytest.approx([2 / 3, 1.0])
        assert found["by_chance"].isnull().all()
        assert "without any effect" in found.attrs["remark_risk"]
        assert "drawn at random" in found.attrs["remark_selection"]

    @pytest.mark.parametrize(("accelerated", "n", "reliable"), [(18, 26, True), (10, 20, False)])
    def test_reliable(self, accelerated, n, reliable):
        """The normal approximation is accurate where a (1 - a/b) is above 5: here 5.54, and 5."""
        flags = xr.DataArray(np.arange(n) < accelerated, dims="benchmark")
        assert perfarray.accelerated_proportion(flags)["reliable"].item() is reliable


def array(values, dim="benchmark"):
    return xr.DataArray(values, dims=dim)


RATES = array([1.0], "execution").assign_attrs(better="higher")
SPEEDUP_TEST, OVERALL = (
    partial(perfarray.speedup_test, baseline="old"),
    partial(perfarray.overall_speedup, baseline="old"),
)


@pytest.mark.parametrize(
    ("function", "data", "keywords", "message"),
    [
        (
            SPEEDUP_TEST,
            None,
            {"statistic": "min"},
            "statistic='min' is not known; choose one of 'mean', 'median'",
        ),
        (
            SPEEDUP_TEST,
            None,
            {"search": "bisection"},
            "search='bisection' is not known; choose one of 'exhaustive', 'tool'",
        ),
        (SPEEDUP_TEST, None, {"confidence_level": 95}, "confidence_level=95 is out of range"),
        (
            SPEEDUP_TEST,
            None,
            {"confidence_level": array([1.5, 0.9, np.nan, 0.9, 0.9])},
            "holds 1.5; give numbers between 0 and 1",
        ),
        (
            SPEEDUP_TEST,
            None,
            {"confidence_level": array([0.9] * 12, "execution")},
            "confidence_level lies along the level 'execution'",
        ),
        (
            SPEEDUP_TEST,
            None,
            {"confidence_level": array([0.9], "program")},
            "dim of confidence_level 'program' not found",
        ),
        (
            SPEEDUP_TEST,
            None,
            {"unit": "iteration"},
            "unit='iteration' is not known; choose one of 'execution'",
        ),
        (OVERALL, None, {"weights": [1, 2]}, "weights has 2 numbers for 5 labels of 'benchmark'"),
        (OVERALL, None, {"weights": [1, 1, 1, 1, -1]}, "weights are missing or negative for 'e'"),
        (
            OVERALL,
            None,
            {"weights": {"a": 1}},
            "weights are missing or negative for 'b', 'c', 'd', 'e'",
        ),
        (OVERALL, None, {"weights": [0] * 5}, "weights are all zero"),
        (
            OVERALL,
            None,
            {"weights": "custom"},
            "takes the coordinate 'weight', which the data do not have",
        ),
        (OVERALL, None, {"weights": "even"}, "weights='even' is not known"),
        (OVERALL, None, {"across": "version"}, "across='version' is the dim compared"),
        (OVERALL, RATES, {"baseline": RATES}, "rates do not add up"),
        (perfarray.accelerated_proportion, array([2.0]), {}, "values other than True and False"),
        (
            perfarray.accelerated_proportion,
            xr.Dataset(),
            {},
            "must be a DataArray of True and False, or a result of speedup_test",
        ),
        (perfarray.accelerated_proportion, array([1.0], "x"), {}, "dim 'benchmark' not found"),
        (
            perfarray.accelerated_proportion,
            array([1.0]),
            {"method": "score"},
            "method='score' is not known",
        ),
        (perfarray.required_benchmarks, 1.5, {}, "proportion=1.5 is out of range"),
        (perfarray.required_benchmarks, 0.5, {"precision": 0}, "precision=0 is out of range"),
    ],
)
def test_wrong_arguments(suite, function, data, keywords, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        function(suite if data is None else data, **keywords)

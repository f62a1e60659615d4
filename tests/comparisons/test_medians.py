"""Ratios of medians: default method, refusals, what runs are, few units, stopped runs, coverage."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.timings.notes import collecting_notes

NEST = ("binary", "execution", "iteration")
RNG = np.random.default_rng(1)
NESTED = perfarray.from_samples(
    {"old": RNG.lognormal(0, 0.1, (6, 5, 3)), "new": 0.8 * RNG.lognormal(0, 0.1, (6, 5, 3))},
    level=NEST,
)
PLAIN = perfarray.from_samples(
    {"old": [10.0, 10.2, 10.4, 10.1, 10.3, 17.0], "new": [8.0, 8.3, 8.1, 8.4, 12.0, 8.2]}
)


def limits(result):
    return [result[name].item() for name in ("lower", "upper")]


def marks_of_run(version, execution):
    """Return which run of the plain timings was stopped."""
    marks = np.arange(12).reshape(2, 6) == 6 * version + execution
    return xr.DataArray(marks, dims=("version", "execution"))


def test_the_default_method_is_said():
    """Means have Fieller's set, medians order statistics, and the attrs say what the runs were."""
    assert PLAIN.perf.ratio_interval("old").attrs["method"] == "fieller"
    median = NESTED.perf.ratio_interval("old", statistic="median")
    assert {median.attrs[name] for name in ("method", "statistic", "value")} == {
        "order_statistics",
        "median",
        "execution",
    }
    assert (
        median.perf.table().attrs["about"]
        == "version new; 95 % intervals; medians; n counts binaries"
    )


OF_MEANS = ("fieller", "delta", "log_delta", "studentized", "batch_means", "skew_adjusted")
OF_MEDIANS = "'order_statistics', 'rank', 'percentile', 'basic', 'bca', or statistic='mean'"


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"statistic": "min"}, "statistic='min' is not known"),
        ({"statistic": "median", "df": "normal"}, "df='normal' is for formulas of means"),
        ({"value": "execution"}, "value='execution' says what the runs are whose median is taken"),
        ({"statistic": "median", "value": "binary"}, "value='binary' is not known"),
        ({"statistic": "median", "resample": "all"}, "which draws nothing"),
        ({"method": "order_statistics"}, "method='order_statistics' is not known"),
        *(({"statistic": "median", "method": method}, OF_MEDIANS) for method in OF_MEANS),
    ],
)
def test_bad_choices_are_named(choices, message):
    """A choice that is none, or does not go with the others, as what rests on standard errors of
    means; the message lists what there is."""
    with pytest.raises(ValueError, match=message):
        PLAIN.perf.ratio_interval("old", **choices)


def test_medians_must_be_positive():
    """A ratio of medians takes their logs: a few runs of 0 are runs like others, and a median of 0
    has no ratio."""
    times = NESTED["time"].copy().assign_attrs(units="1")
    times[0, 0, 0, 0] = 0.0
    with collecting_notes() as notes:
        ratio = times.perf.ratio_interval("old", statistic="median", value="iteration")
    assert [note.code for note in notes][:1] == ["zeros"]
    assert np.isfinite(ratio["estimate"]).all()
    times[{"version": 0}] = 0.0
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"1 cell has zeros and no answer: .*\. .* "
        "since a ratio of medians needs values above 0",
    ):
        ratio = times.perf.ratio_interval("old", statistic="median", value="iteration")
    assert np.isnan(ratio["estimate"]).all()


def test_runs_are_those_of_the_value():
    """Lower levels are averaged first, and the estimate is the ratio of what `run_estimate`
    gives."""
    for value in NEST:
        estimate = NESTED.perf.ratio_interval("old", statistic="median", value=value)[
            "estimate"
        ].item()
        run_medians = NESTED.perf.run_estimate(statistic="median", value=value)["estimate"]
        assert estimate == pytest.approx(
            (run_medians.sel(version="new") / run_medians.sel(version="old")).item(), rel=1e-12
        )
        with collecting_notes():
            interval = NESTED.perf.ratio_interval(
                "old", statistic="median", value=value, method="percentile", rng=1, n_resamples=50
            )
        assert interval["estimate"].item() == pytest.approx(estimate, rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"resample": "all"}, {"resample": "flat"}, {"method": "bca"}, {"paired": "binary"}],
)
def test_drawn_limits_are_near_those_of_order_statistics(options):
    """The bootstrap, which covers less, lies inside some wider interval of the same median, and
    draws the same numbers again."""
    choices = {"statistic": "median", "method": "percentile", "rng": 1, "n_resamples": 99} | options
    with collecting_notes() as notes:
        first, second = (limits(NESTED.perf.ratio_interval("old", **choices)) for _ in range(2))
    wide = limits(
        NESTED.perf.ratio_interval(
            "old", statistic="median", confidence_level=0.999, paired=options.get("paired")
        )
    )
    assert first == second
    assert wide[0] < first[0] < first[1] < wide[1]
    assert options.get("resample") == "flat" or "Use method='order_statistics'" in notes[0].message


@pytest.mark.parametrize(("units", "code"), [(1, "single_unit"), (2, "no_limit"), (5, "no_limit")])
def test_few_units_are_told(units, code):
    """Fewer than six units of one run have no interval of 95 %: a note says so and names the number
    that has."""
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        interval = PLAIN.isel(execution=slice(units)).perf.ratio_interval("old", statistic="median")
    assert [note.code for note in caught[0].message.notes] == [code]
    assert interval["kind"].item() == ("bounded" if units == 1 else "unbounded")
    if code == "no_limit":
        assert "6 executions of one run each have both" in str(caught[0].message)
        assert limits(interval) == [-np.inf, np.inf]


def test_stopped_runs_leave_what_is_sure():
    """A stopped run beyond the median leaves the ratio as it is and opens one side; too many leave
    a bound, and both sides nothing."""
    new, old = (marks_of_run(*indices) for indices in ((1, 4), (0, 5)))
    complete = limits(PLAIN.perf.ratio_interval("old", statistic="median"))

    def interval_of_marked(marks):
        return PLAIN.assign_coords(censored=marks).perf.ratio_interval("old", statistic="median")

    with pytest.warns(
        perfarray.PerfarrayWarning, match="limits hold whatever they would have taken"
    ):
        new_stopped, old_stopped, both_stopped, all_of_them = (
            interval_of_marked(new),
            interval_of_marked(old),
            interval_of_marked(new | old),
            interval_of_marked(~(new & old)),
        )
    assert (limits(new_stopped), new_stopped["kind"].item()) == (
        [pytest.approx(complete[0]), np.inf],
        "at_least",
    )
    assert (limits(old_stopped), old_stopped["kind"].item()) == (
        [0.0, pytest.approx(complete[1])],
        "at_most",
    )
    assert (both_stopped["kind"].item(), both_stopped["estimate"].item()) == (
        "unbounded",
        pytest.approx(8.25 / 10.25),
    )
    assert np.isnan(all_of_them["estimate"].item())


@pytest.mark.parametrize(
    ("sizes", "variances", "distribution"),
    [
        ({"execution": 7}, {"execution": 1e-3}, "lognormal"),
        ({"binary": 5, "execution": 10}, {"binary": 4e-4, "execution": 6e-4}, "normal"),
        ({"binary": 5, "execution": 10}, {"binary": 9e-4, "execution": 1e-4}, "exponential"),
    ],
)
def test_coverage_is_kept(sizes, variances, distribution):
    """Limits cover at least 95 % within chance, and not all; a program is seldom called faster or
    slower than itself."""
    nest = {"sizes": sizes, "variances": variances, "distribution": distribution, "rng": 1}
    coverage = perfarray.coverage("ratio_interval", statistic="median", n_experiments=600, **nest)
    assert 0.95 - 3 * 0.009 < coverage["estimate"] <= 0.995
    alarms = perfarray.false_alarm_rate(
        "compare", statistic="median", n_experiments=60, dims={"benchmark": 6}, **nest
    )
    assert alarms["estimate"].mean() < 0.05 + 3 * 0.0115


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_speedups_have_the_limits_of_the_inverse_ratio(statistic):
    """Limits of a speedup are those of the ratio turned over, of rates those of the ratio
    itself."""
    ratio = PLAIN.perf.ratio_interval("old", statistic=statistic)
    speedup = PLAIN.perf.speedup("old", statistic=statistic, confidence_level=0.95)
    assert limits(speedup) == pytest.approx([1 / limit for limit in limits(ratio)[::-1]])
    speedup = (
        PLAIN["time"]
        .assign_attrs(better="higher", units="1/s")
        .perf.speedup("old", statistic=statistic, confidence_level=0.95)
    )
    assert limits(speedup) == pytest.approx(limits(ratio))
    assert " to " in speedup.perf.table()["speedup"].iloc[0]


def test_speedups_without_limits_say_why():
    """A minimum has no limits, two runs have none of their median, and a stopped side opens one."""
    with pytest.raises(ValueError, match="statistic='min' has no limits"):
        PLAIN.perf.speedup("old", statistic="min", confidence_level=0.95)
    with pytest.warns(perfarray.PerfarrayWarning, match="6 executions a side have them"):
        PLAIN.isel(execution=slice(2)).perf.speedup(
            "old", statistic="median", confidence_level=0.95
        )
    with pytest.warns(perfarray.PerfarrayWarning, match="stopped"):
        speedup = PLAIN.assign_coords(censored=marks_of_run(1, 4)).perf.speedup(
            "old", statistic="median", confidence_level=0.95
        )
    assert limits(speedup)[0] == -np.inf
    assert np.isfinite(limits(speedup)[1])


FACTORS = np.linspace(0.8, 1.1, 8)[:, None, None, None]
RUNS = {
    "old": RNG.lognormal(0, 0.1, (8, 6, 5, 3)),
    "new": FACTORS * RNG.lognormal(0, 0.1, (8, 6, 5, 3)),
}
SUITE = perfarray.from_samples(RUNS, level=("benchmark", *NEST))
RATES = (1 / SUITE).assign({"time": (1 / SUITE["time"]).assign_attrs(better="higher", units="1/s")})


@pytest.mark.parametrize(
    ("threshold", "options"),
    [
        (0.0, {}),
        (0.15, {}),
        (0.02, {"paired": "binary"}),
        (0.1, {"value": "iteration"}),
        (0.05, {"method": "percentile", "rng": 1}),
    ],
)
def test_a_verdict_is_what_the_limits_say(options, threshold):
    """Limits of a comparison are those of the ratio of medians, and verdicts and p-values say on
    which side of the band they lie."""
    with collecting_notes():
        verdicts = SUITE.perf.compare("old", statistic="median", threshold=threshold, **options)
        ratio = SUITE.perf.ratio_interval("old", statistic="median", **options)
    for name in ("estimate", "lower", "upper", "n", "kind", "df"):
        xr.testing.assert_identical(verdicts[name].drop_attrs(), ratio[name].drop_attrs())
    outside = (verdicts["lower"] > 1 + threshold) | (verdicts["upper"] < 1 - threshold)
    inside = (verdicts["lower"] >= 1 - threshold) & (verdicts["upper"] <= 1 + threshold)
    xr.testing.assert_equal(outside, verdicts["pvalue"] <= 0.05)
    xr.testing.assert_equal(outside, verdicts["verdict"].isin(["faster", "slower"]))
    xr.testing.assert_equal(inside, verdicts["verdict"] == "equivalent")
    xr.testing.assert_equal(inside, verdicts["pvalue_equivalent"] <= 0.025)
    xr.testing.assert_equal(verdicts["upper"] <= 1 + threshold, verdicts["not_slower"])


def test_a_p_value_of_medians_by_hand():
    """Six runs above a constant: limits hold 1 out until they leave the smallest run, at twice the
    chance of six heads."""
    times = perfarray.from_samples({"old": [1.0] * 20, "new": [1.2, 1.3, 1.4, 1.5, 1.6, 1.7]})
    verdicts = times.perf.compare("old", statistic="median")
    assert verdicts["pvalue"].item() == pytest.approx(2 / 2**6, abs=1e-3)
    assert (
        verdicts["verdict"].item(),
        verdicts["candidate_median"].item(),
        verdicts["baseline_median"].item(),
    ) == ("slower", 1.45, 1.0)
    assert "candidate_mean" not in verdicts
    table = verdicts.perf.table()
    assert table.attrs["about"] == "version new; 95 % intervals; medians; n counts executions"
    assert table.iloc[0, 0] == "1.00 s -> 1.45 s"


def test_corrected_verdicts_of_medians():
    """Holm's p-values are corrected, intervals are Bonferroni's, and every pair of labels is
    counted once."""
    verdicts = SUITE.perf.compare("old", statistic="median", correction="holm")
    wide = SUITE.perf.ratio_interval("old", statistic="median", confidence_level=1 - 0.05 / 8)
    assert verdicts["lower"].values == pytest.approx(wide["lower"].values, rel=1e-12)
    assert verdicts["pvalue_adjusted"].min().item() == pytest.approx(
        8 * verdicts["pvalue"].min().item()
    )
    pairs = SUITE.perf.pairwise(dim="version", statistic="median", correction="holm")
    forward, back = (
        pairs.sel(version=new, baseline=old) for new, old in (("new", "old"), ("old", "new"))
    )
    assert forward["pvalue_adjusted"].values == pytest.approx(
        verdicts["pvalue_adjusted"].values.ravel()
    )
    assert (1 / back["upper"].values) == pytest.approx(forward["lower"].values)


def test_medians_of_rates_are_the_mirror_image():
    """What is said of times is said of their inverse, but for the middle of an even number."""
    options = {"statistic": "median", "value": "iteration"}
    times, rates = (data.perf.compare("old", **options) for data in (SUITE, RATES))
    xr.testing.assert_equal(times["verdict"], rates["verdict"])
    xr.testing.assert_allclose(1 / times["upper"], rates["lower"], rtol=1e-3)
    xr.testing.assert_allclose(
        times["pvalue_not_slower"], rates["pvalue_not_slower"], rtol=0.02, atol=1e-6
    )


def test_the_suite_row_of_medians():
    """It is the geometric mean, joint or not; of one benchmark that benchmark's row; the bootstrap
    has it of independent ones alone."""
    verdicts = SUITE.perf.compare("old", statistic="median")
    assert verdicts["suite_estimate"].item() == pytest.approx(
        np.exp(np.log(verdicts["estimate"]).mean().item())
    )
    widths = {}
    for options in ({}, {"shared": "binary"}, {"paired": "binary"}):
        for copies in (2, 8):  # of one benchmark, whose units are then as common as can be
            times = SUITE.isel(benchmark=[0] * copies).assign_coords(benchmark=range(copies))
            with collecting_notes():
                suite_row = times.perf.compare("old", statistic="median", **options)
            widths[(*options, copies)] = np.log(
                suite_row["suite_upper"] / suite_row["suite_lower"]
            ).item()
    assert widths["shared", 8] == pytest.approx(widths["shared", 2])
    assert widths["paired", 8] == pytest.approx(widths["paired", 2])
    assert 0.4 < widths[8,] / widths[2,] < 0.5
    assert 1.3 < widths["shared", 2] / widths[2,] < 1.6
    same_runs = SUITE.isel(binary=[0] * 6).assign_coords(
        binary=range(6)
    )  # units that do not differ show none of the error of medians
    with collecting_notes():
        joint, alone = (
            same_runs.perf.compare("old", statistic="median", shared=shared)
            for shared in ("binary", ())
        )
    width, expected_width = (
        np.log(verdicts["suite_upper"] / verdicts["suite_lower"]).item()
        for verdicts in (joint, alone)
    )
    assert width == pytest.approx(expected_width, rel=0.2)
    one_benchmark = SUITE.isel(benchmark=0).perf.compare("old", statistic="median")
    assert one_benchmark["suite_lower"].item() == one_benchmark["lower"].item()
    with pytest.raises(ValueError, match="Choose method='order_statistics'"):
        SUITE.perf.compare("old", statistic="median", method="bca", shared="binary")


@pytest.mark.parametrize("function", [perfarray.compare, perfarray.ratio_interval])
def test_lazy_transposed_and_float32_agree(function):
    """Chunks, the order of dims and single precision change nothing beyond rounding."""
    expected = function(SUITE, "old", statistic="median")
    for variant in (SUITE.chunk({"benchmark": 4}), SUITE.transpose(*reversed(SUITE["time"].dims))):
        xr.testing.assert_allclose(
            function(variant, "old", statistic="median").compute().transpose(*expected.dims),
            expected,
        )
    float32 = function(SUITE.astype("float32"), "old", statistic="median")
    for name in {"upper", "suite_upper"} & set(expected):
        xr.testing.assert_allclose(float32[name], expected[name], rtol=1e-5)


def test_few_units_of_medians_have_p_values_and_no_verdict():
    """Five units of one run cannot reach 5 %: their p-value is that of the widest limits; a note
    says how many units would do."""
    single_runs = SUITE.isel(execution=slice(1), iteration=slice(1))
    for units in (3, 5):
        with pytest.warns(perfarray.PerfarrayWarning, match="6 binaries of one run each have both"):
            verdicts = single_runs.isel(binary=slice(units)).perf.compare("old", statistic="median")
        assert (verdicts["verdict"] == "inconclusive").all()
        assert ((verdicts["pvalue"] > 0.05) & (verdicts["pvalue"] <= 1)).all()
        assert verdicts["smallest_change"].isnull().all()
        assert np.isfinite(verdicts["suite_lower"].item())
    with collecting_notes() as notes:
        verdicts = single_runs.isel(binary=slice(1)).perf.compare("old", statistic="median")
    assert verdicts["pvalue"].isnull().all()
    assert [note.code for note in notes] == ["single_unit"]


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_replicates_of_one_unit_give_medians_no_limits(method):
    """One run a side has a ratio of medians, and nothing to redraw: the limits are NaN, and a note
    says why."""
    times = perfarray.from_samples({"old": [10.0], "new": [9.0]})
    with pytest.warns(perfarray.PerfarrayWarning, match="one shows no spread"):
        interval = times.perf.ratio_interval(
            "old", statistic="median", method=method, n_resamples=50, rng=1
        )
    assert interval["estimate"].item() == 0.9
    assert np.isnan(limits(interval)).all()


@pytest.mark.parametrize(
    "options", [{}, {"paired": "binary"}, {"value": "binary"}, {"shared": "binary"}]
)
@pytest.mark.parametrize("function", ["compare", "ratio_interval"])
def test_a_cell_without_runs_is_nan_beside_others(function, options):
    """It has no answer and warns of nothing but itself; the other benchmark has the numbers that it
    has alone."""
    options = (
        options
        if function == "compare"
        else {name: choice for name, choice in options.items() if name != "shared"}
    )
    times = xr.concat(
        [NESTED, NESTED.where(NESTED["version"] == "old")], dim="benchmark"
    ).assign_coords(benchmark=["sort", "fft"])
    with collecting_notes() as notes:
        result = getattr(times.perf, function)("old", statistic="median", **options)
        alone = getattr(times.sel(benchmark=["sort"]).perf, function)(
            "old", statistic="median", **options
        )
    assert "no_value" in {note.code for note in notes}
    xr.testing.assert_equal(result.sel(benchmark=["sort"]), alone)
    empty = result.sel(benchmark="fft")
    assert np.isnan([empty[name].item() for name in ("estimate", "lower", "upper", "df")]).all()
    assert function != "compare" or empty["verdict"].item() == "inconclusive"


@pytest.mark.parametrize(("unlimited", "chunks"), [(False, None), (True, {"benchmark": 4})])
def test_stopped_runs_leave_verdicts_that_hold(unlimited, chunks):
    """One stopped run of thirty leaves a verdict of medians, limit known or not, where that of
    means would go; half of them leave none."""
    marks = xr.zeros_like(SUITE["time"], dtype=bool)
    marks[{"version": 1, "benchmark": 0, "binary": 0, "execution": 0}] = True
    marks[{"version": 1, "benchmark": 1, "binary": slice(4)}] = True
    times = SUITE.assign(time=SUITE["time"].where(~marks)) if unlimited else SUITE
    times = times.assign_coords(censored=marks)
    with collecting_notes():
        verdicts = (
            (times.chunk(chunks) if chunks else times)
            .perf.compare("old", statistic="median")
            .compute()
        )
        ratio = times.perf.ratio_interval("old", statistic="median")
    for name in ("estimate", "lower", "upper", "kind"):
        xr.testing.assert_equal(verdicts[name], ratio[name])
    assert verdicts["verdict"].values.ravel()[:2].tolist() == ["faster", "inconclusive"]
    assert any(
        "limits hold whatever they would have taken" in note.message
        for note in verdicts.perf.notes()
    )
    assert verdicts["upper"].values.ravel()[1] == np.inf
    assert (verdicts["suite_upper"].item(), verdicts["suite_verdict"].item()) == (
        np.inf,
        "inconclusive",
    )


def separated(benchmarks=20, units=8):
    """Return benchmarks of which every new run is slower than every old one."""
    rng = np.random.default_rng(1)
    runs = {
        f"b{number}": [rng.normal(mean, 0.1, units) for mean in (10, 12)]
        for number in range(benchmarks)
    }
    return perfarray.from_samples(
        runs, dim="benchmark", level=("version", "execution")
    ).assign_coords(version=["old", "new"])


@pytest.mark.parametrize("chunks", [None, {"benchmark": 3}])
def test_complete_separations_are_seen_by_ranks(chunks):
    """Twenty of 8 units a side, corrected by Holm: all decided by the exact p of 2 / 12870, and
    none by order statistics, which say so."""
    times = separated() if chunks is None else separated().chunk(chunks)
    ranked = times.perf.compare(
        "old", statistic="median", method="rank", correction="holm"
    ).compute()
    assert (ranked["verdict"] == "slower").all()
    np.testing.assert_allclose(ranked["pvalue"], 2 / 12870)
    assert ((ranked["lower"] > 1) & (ranked["upper"] < 1.3) & (ranked["kind"] == "bounded")).all()
    assert [note.code for note in ranked.perf.notes()] == ["suite_unadjusted", "common_shift"]
    assert not separated(1).perf.compare("old", statistic="median", method="rank").perf.notes()
    with collecting_notes() as notes:
        ordered = separated().perf.compare("old", statistic="median", correction="holm")
    assert (ordered["verdict"] == "inconclusive").all()
    assert (
        "9 executions of one run each have both, fewer at a lower confidence_level. "
        "method='rank' needs 6, and"
    ) in notes[0].message


def test_ratios_by_ranks():
    """The Hodges-Lehmann ratio with the limits of both functions; rates are the mirror image; one
    value of each unit is ranked."""
    times, rank = separated(3), {"statistic": "median", "method": "rank"}
    interval, verdicts = times.perf.ratio_interval("old", **rank), times.perf.compare("old", **rank)
    for name in ("estimate", "lower", "upper", "n"):
        xr.testing.assert_allclose(interval[name], verdicts[name])
    rates = (
        (1 / times["time"]).assign_attrs(units="1/s", better="higher").perf.compare("old", **rank)
    )
    np.testing.assert_allclose(1 / rates["upper"], verdicts["lower"])
    assert rates["verdict"].values.tolist() == verdicts["verdict"].values.tolist()
    means = NESTED.mean(("execution", "iteration"), keep_attrs=True)
    np.testing.assert_allclose(
        *(units.perf.ratio_interval("old", **rank)["lower"] for units in (NESTED, means))
    )
    for choice in ({"value": "execution"}, {"paired": "binary"}):
        with pytest.raises(
            ValueError, match="does not go with method='rank', which ranks one value of each binary"
        ):
            NESTED.perf.compare("old", **rank, **choice)


def test_stopped_runs_widen_what_ranks_say():
    """A candidate stopped at its limit is at least as slow: the upper limit is open, or as with any
    longer run."""
    times = separated(1).isel(benchmark=0)
    with_stopped_runs = times.assign_coords(censored=("execution", np.arange(8) == 0)).where(
        times > 0
    )
    with_stopped_runs["censored"] = (times["version"] == "new") & (times["execution"] == 0)
    with collecting_notes():
        bound = with_stopped_runs.perf.compare("old", statistic="median", method="rank")
        longer = (
            times.where(~with_stopped_runs["censored"], 1e6)
            .drop_vars("censored")
            .perf.compare("old", statistic="median", method="rank")
        )
        as_is = times.perf.compare("old", statistic="median", method="rank")
    assert bound["lower"].item() == pytest.approx(as_is["lower"].item())
    assert bound["upper"].item() >= as_is["upper"].item()
    assert bound["verdict"].item() == longer["verdict"].item() == "slower"


@pytest.mark.parametrize("function", ["compare", "ratio_interval"])
def test_ranks_of_sides_that_vary_differently_are_named(function):
    """Six noisy against twenty quiet runs, of which ranks cover 85 %: a note; none of sides that
    vary alike, or of other methods."""
    rng = np.random.default_rng(2)
    noisy, quiet, equal_spreads = (
        xr.DataArray(rng.normal(10, sd, (2, number)), dims=("benchmark", "execution"))
        for sd, number in ((0.4, 6), (0.1, 20), (0.1, 6))
    )

    def codes(new, method):
        with collecting_notes() as notes:
            getattr(perfarray, function)(new, quiet, statistic="median", method=method)
        return [note.code for note in notes]

    assert "unequal_spreads" in codes(noisy, "rank")
    assert "unequal_spreads" not in codes(equal_spreads, "rank") + codes(noisy, "order_statistics")


def test_rounded_runs_are_compared_by_their_mean_ranks():
    """Of runs of whole nanoseconds the p-value is that of all exchanges of their mean ranks, as of
    benchstat, and the limits agree."""
    times = perfarray.from_samples({"old": [2.0, 1.0, 3.0, 5.0], "new": [2.0, 2.0, 2.0, 2.0]})
    with pytest.warns(perfarray.PerfarrayWarning, match="vary differently"):
        result = times.perf.compare("old", statistic="median", method="rank")
    assert result["pvalue"].item() == pytest.approx(0.7142857142857143)
    assert result["verdict"].item() == "inconclusive"
    rounded = perfarray.from_samples(
        {"old": [100.0, 101, 102, 101, 101, 100], "new": [102.0, 103, 102, 103, 103, 104]}
    )
    result = rounded.perf.compare("old", statistic="median", method="rank")
    assert result["verdict"].item() == "slower"
    assert result["lower"].item() > 1
    assert result["interval_agrees"].item()

"""Weights of benchmarks in scores, their ratios, distributions and tests."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray

MEANS = ("geometric", "harmonic", "arithmetic")
WEIGHTS = {"a": 3.0, "b": 1.0, "c": 0.0}


@pytest.fixture
def times():
    """Three benchmarks of two versions, five runs each, a few percent apart."""
    rng = np.random.default_rng(5)
    mean = np.array([[2.0, 2.2], [8.0, 7.6], [1.0, 9.0]])
    values = mean[..., None] * np.exp(0.02 * rng.standard_normal((3, 2, 5)))
    coords = {"benchmark": list("abc"), "version": ["old", "new"]}
    return xr.DataArray(
        values, dims=("benchmark", "version", "execution"), coords=coords, name="time"
    )


def test_three_means_by_hand():
    """Weights 3 and 1 of scores 2 and 8; 0 leaves out the third."""
    single_runs = xr.DataArray(
        [[2.0], [8.0], [5.0]], dims=("benchmark", "execution"), coords={"benchmark": list("abc")}
    )
    scores = [single_runs.perf.suite_score(mean=mean, weights=WEIGHTS) for mean in MEANS]
    np.testing.assert_allclose(
        [score["estimate"].item() for score in scores], [2**1.5, 4 / (3 / 2 + 1 / 8), 3.5]
    )
    assert json.loads(scores[0].attrs["weights"]) == {"a": 0.75, "b": 0.25}
    assert scores[0].attrs["n_benchmarks"] == 2
    assert scores[0]["estimate"].attrs["long_name"] == "weighted geometric mean over benchmark"
    assert "weights" not in single_runs.perf.suite_score().attrs


@pytest.mark.parametrize(
    "weights",
    [
        [3, 1, 0],
        np.array([6.0, 2, 0]),
        pd.Series({"c": 0, "b": 1, "a": 3}),
        xr.DataArray([0.0, 1, 3], {"benchmark": list("cba")}),
        WEIGHTS,
    ],
    ids=["list", "array", "series", "labelled", "mapping"],
)
def test_every_form_says_the_same(times, weights):
    """By label or in order, with or without a label that the data lack."""
    expected = times.perf.score_ratio_interval("old", weights=WEIGHTS | {"gone": 5.0})
    xr.testing.assert_identical(times.perf.score_ratio_interval("old", weights=weights), expected)
    turned = times.isel(benchmark=[2, 1, 0]).perf.score_ratio_interval("old", weights=WEIGHTS)
    xr.testing.assert_identical(turned["upper"], expected["upper"])
    sides = [times.sel(version=version, drop=True) for version in ("new", "old")]
    interval = sides[0].perf.score_ratio_interval(sides[1], weights=weights)
    np.testing.assert_allclose(interval["lower"], expected["lower"].squeeze(), rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1}, "weights are missing or negative for 'b', 'c'"),
        ([1, -1, 2], "weights are missing or negative for 'b'"),
        ([0, 0, 0], "weights are all zero"),
        ([1, np.inf, 1], "weights are infinite"),
        ([1, 2], "weights has 2 numbers for 3 labels of 'benchmark'"),
        (
            xr.DataArray(np.ones((3, 2)), dims=("benchmark", "version")),
            r"weights lie along \('benchmark', 'version'\)",
        ),
        (xr.DataArray(np.ones(3), dims="program"), "dim of weights 'benchmark' not found"),
    ],
)
@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("suite_score", {}),
        ("score_ratio_interval", {"baseline": "old"}),
        ("five_number_summary", {}),
        ("relative_variation", {}),
        ("randomization_test", {"baseline": "old"}),
        ("required_runs", {"baseline": "old", "width": 0.02}),
    ],
)
def test_wrong_weights(times, name, keywords, weights, message):
    """Every function that takes weights says what is wrong with them."""
    with pytest.raises(ValueError, match=message):
        getattr(perfarray, name)(times, weights=weights, **keywords)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize(
    "keywords",
    [{}, {"method": "percentile", "rng": 1}, {"method": "bca", "rng": 1}],
    ids=["t", "percentile", "bca"],
)
def test_a_weight_of_two_is_a_benchmark_twice(times, mean, keywords):
    """Of shared units, where a second benchmark with the same runs adds no chance of its own: every
    number of the answer."""
    twice = times.isel(benchmark=[0, 0, 1, 2]).assign_coords(benchmark=["a", "a2", "b", "c"])
    options = {"baseline": "old", "mean": mean, "shared": "execution", **keywords}
    with warnings.catch_warnings(action="ignore"):
        expected = twice.perf.score_ratio_interval(**options)
        interval = times.perf.score_ratio_interval(weights={"a": 2, "b": 1, "c": 1}, **options)
    for name in ("estimate", "lower", "upper", "standard_error", "pvalue"):
        np.testing.assert_allclose(interval[name], expected[name], rtol=1e-10)
    exchanges = {"baseline": "old", "mean": mean, "shared": "execution", "method": "exact"}
    expected, interval = (
        twice.perf.randomization_test(**exchanges),
        times.perf.randomization_test(weights=[2, 1, 1], **exchanges),
    )
    np.testing.assert_allclose(interval["pvalue"], expected["pvalue"])
    np.testing.assert_allclose(interval["statistic"], expected["statistic"])


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("suite_score", {}),
        ("score_ratio_interval", {"baseline": "old", "sensitivity": True}),
        ("score_ratio_interval", {"baseline": "old", "random_benchmarks": True}),
        (
            "score_ratio_interval",
            {
                "baseline": "old",
                "random_benchmarks": True,
                "method": "bca",
                "rng": 1,
                "n_resamples": 50,
            },
        ),
        ("score_distribution", {"rng": 1, "n_resamples": 20}),
        ("five_number_summary", {"method": "exact"}),
        ("relative_variation", {"rng": 1, "statistic": "mean"}),
        ("randomization_test", {"baseline": "old", "rng": 1, "n_resamples": 20}),
        ("required_runs", {"baseline": "old", "width": 0.05}),
    ],
)
def test_equal_weights_change_nothing(times, name, keywords):
    """All 0.7 each: the answer without weights to the last bit, and the attrs say that there were
    some."""
    with warnings.catch_warnings(action="ignore"):
        expected = getattr(perfarray, name)(times, mean="harmonic", **keywords)
        result = getattr(perfarray, name)(
            times, mean="harmonic", weights=[0.7, 0.7, 0.7], **keywords
        )
    assert "weights" not in expected.attrs
    assert json.loads(result.attrs["weights"]) == dict.fromkeys("abc", pytest.approx(1 / 3))
    assert result.equals(expected)


def test_standard_error_by_hand(times):
    """Fixed benchmarks: the squares of w s / (m ybar) add up; df after Welch and Satterthwaite."""
    interval = times.perf.score_ratio_interval("old", weights=WEIGHTS).squeeze()
    shares = xr.DataArray([0.75, 0.25], {"benchmark": ["a", "b"]})
    weighted = times.sel(benchmark=["a", "b"])
    squared_errors = (
        shares**2 * weighted.var("execution", ddof=1) / 5 / weighted.mean("execution") ** 2
    )
    np.testing.assert_allclose(interval["standard_error"], np.sqrt(squared_errors.sum()))
    np.testing.assert_allclose(
        interval["df"], squared_errors.sum() ** 2 / (squared_errors**2 / 4).sum()
    )


def test_distributions_are_of_weighted_scores():
    """Two runs of two benchmarks: the four weighted scores; and lazily, and in single precision."""
    times = perfarray.from_samples(
        {"fft": [1.0, 16.0], "sort": [1.0, 81.0], "idle": [3.0, 4.0]}, dim="benchmark"
    )
    weights = {"fft": 3, "sort": 1, "idle": 0}
    for mean, scores in (
        ("geometric", [1.0, 3.0, 8.0, 24.0]),
        ("arithmetic", [1.0, 12.25, 21.0, 32.25]),
    ):
        for data in (times, times.chunk(), times.astype(np.float32)):
            five = data.perf.five_number_summary(method="exact", mean=mean, weights=weights)
            numbers = [float(five[name]) for name in ("minimum", "q1", "median", "maximum")]
            np.testing.assert_allclose(numbers, np.array(scores)[[0, 0, 1, 3]], rtol=1e-6)
        distribution = times.perf.score_distribution(mean=mean, weights=weights, rng=1)
        np.testing.assert_allclose(np.unique(distribution.values.round(9)), np.sort(scores))
        assert json.loads(distribution.attrs["weights"]) == {"fft": 0.75, "sort": 0.25}


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("statistic", ["median", "geometric"])
def test_the_spread_of_a_weighted_score_by_enumeration(mean, statistic):
    """Two benchmarks of two runs, weights 3 and 1: the 16 experiments that can be redrawn, or the 4
    of shared runs."""
    runs = np.array([[1.0, 4.0], [2.0, 9.0]])
    times = xr.DataArray(runs, dims=("benchmark", "execution"), coords={"benchmark": ["a", "b"]})
    of_runs = {"median": np.median, "geometric": lambda x, axis: np.exp(np.log(x).mean(axis))}[
        statistic
    ]
    redraws = of_runs(runs[:, np.array([[0, 0], [0, 1], [1, 0], [1, 1]])], axis=-1)
    scales = {
        "geometric": (np.log, np.exp),
        "harmonic": (np.reciprocal, np.reciprocal),
        "arithmetic": (np.asarray, np.asarray),
    }
    scale, back = scales[mean]
    for shared, scores in (
        ((), np.add.outer(3 * scale(redraws[0]), scale(redraws[1]))),
        ("execution", 3 * scale(redraws[0]) + scale(redraws[1])),
    ):
        options = {
            "weights": {"b": 1, "a": 3},
            "mean": mean,
            "statistic": statistic,
            "shared": shared,
        }
        with warnings.catch_warnings(action="ignore"):
            variation = times.perf.relative_variation(**options, rng=1)
            random = times.perf.relative_variation(
                **options, method="monte_carlo", n_resamples=2000, rng=1
            )
        np.testing.assert_allclose(random["standard_deviation"], back(scores / 4).std(), rtol=0.05)
        np.testing.assert_allclose(
            variation["standard_deviation"],
            back(scores / 4).std(),
            rtol=0.05 if variation["drawn"] else 1e-12,
        )
        np.testing.assert_allclose(
            variation["performance"], back((scale(of_runs(runs, axis=-1)) * [3, 1]).sum() / 4)
        )
        assert json.loads(variation.attrs["weights"]) == {"a": 0.75, "b": 0.25}


@pytest.mark.parametrize(
    "keywords",
    [{}, {"method": "percentile", "rng": 1, "n_resamples": 100}],
    ids=["t", "percentile"],
)
def test_runs_are_required_of_the_weighted_ratio(times, keywords):
    """The interval of the first four runs is that of `score_ratio_interval`; without the benchmark
    that does not count."""
    plan = times.perf.required_runs("old", width=0.05, weights=WEIGHTS, **keywords).squeeze()
    with warnings.catch_warnings(action="ignore"):
        four = (
            times.isel(execution=slice(4))
            .perf.score_ratio_interval("old", weights=WEIGHTS, **keywords)
            .squeeze()
        )
    np.testing.assert_allclose(
        plan.sel(runs=4)[["lower", "upper"]].to_array(),
        four[["lower", "upper"]].to_array(),
        rtol=1e-12,
    )
    assert json.loads(plan.attrs["weights"]) == {"a": 0.75, "b": 0.25}


def test_a_benchmark_that_one_cell_lacks_leaves_the_ratio_of_the_others(times):
    """Weights 3, 1 and 2: without b, 3 to 2."""
    holes = times.where((times["benchmark"] != "b") | (times["version"] != "new"))
    with pytest.warns(UserWarning, match="not measured in every cell"):
        scores = holes.perf.suite_score(weights=[3, 1, 2])
    expected = times.sel(benchmark=["a", "c"]).perf.suite_score(weights=[3, 2])
    np.testing.assert_allclose(scores["estimate"], expected["estimate"])


@pytest.mark.parametrize(("light", "heavy", "weight"), [(20, 20, 4.0), (10, 3, 8.0), (4, 1, 4.0)])
def test_the_weighted_t_over_benchmarks_keeps_its_level(light, heavy, weight):
    """Benchmarks of unequal weight as a sample: false alarms at 5 % at most, within three standard
    errors."""
    weights, experiments = np.repeat([1.0, weight], [light, heavy]), 2000
    ratios = np.exp(0.1 * np.random.default_rng(1).standard_normal((experiments, len(weights))))
    mean_ratios = xr.DataArray(
        np.stack([np.ones_like(ratios), ratios]), dims=("version", "experiment", "benchmark")
    )
    times = mean_ratios.expand_dims("execution", -1).assign_coords(version=["old", "new"])
    interval = times.perf.score_ratio_interval("old", random_benchmarks=True, weights=weights)
    assert (interval["pvalue"] < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / experiments)


def test_the_weighted_t_over_benchmarks_by_hand():
    """Log ratios 0, 1 and 2 of weights 2, 1 and 1: mean 3/4, s^2 = 11/10, S = 3/8, and (5/8)^2 over
    3/8 + 9/64 - 10/32 df."""
    runs = np.exp([[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])[..., None]
    times = xr.DataArray(
        runs, dims=("version", "benchmark", "execution"), coords={"version": ["old", "new"]}
    )
    interval = times.perf.score_ratio_interval(
        "old", random_benchmarks=True, weights=[2, 1, 1]
    ).squeeze()
    np.testing.assert_allclose(np.log(interval["estimate"]), 3 / 4)
    np.testing.assert_allclose(interval["standard_error"] ** 2, 11 / 10 * 3 / 8)
    np.testing.assert_allclose(interval["df"], (25 / 64) / (3 / 8 + 9 / 64 - 10 / 32))


@pytest.mark.parametrize("weight", [1e6, 1e12])
def test_a_benchmark_that_outweighs_all_others(weight):
    """Of the one, next to nothing is known: as the shares e of the others go to nothing, df go to
    (8 e)^2 over 28 e^2."""
    runs = np.exp([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 3.0, 4.0]])[..., None]
    times = xr.DataArray(
        runs, dims=("version", "benchmark", "execution"), coords={"version": ["old", "new"]}
    )
    interval = times.perf.score_ratio_interval(
        "old", random_benchmarks=True, weights=[weight, 1, 1, 1, 1]
    ).squeeze()
    np.testing.assert_allclose(interval["standard_error"] ** 2, (1 + 4 + 9 + 16) / 8, rtol=1e-4)
    np.testing.assert_allclose(interval["df"], 64 / 28, rtol=1e-4)


def test_a_bar_counts_the_cells_of_exact_numbers(times, capsys):
    """Exact quartiles of many machines take time; a bar shows it and changes no number."""
    summary = times.perf.five_number_summary(method="exact", progress=True)
    assert "2/2" in capsys.readouterr().err
    xr.testing.assert_identical(summary, times.perf.five_number_summary(method="exact"))
    assert capsys.readouterr().err == ""


def test_unknown_labels_are_named():
    """A misspelt label is named beside what it leaves without a weight; of a part of a suite,
    weights of the whole will do."""
    times = perfarray.simulate(
        sizes={"execution": 3},
        variances={"execution": 1e-4},
        dims={"benchmark": ["fft", "sort"]},
        rng=1,
    )
    with pytest.raises(
        ValueError,
        match="missing for 'sort', and given for what is no label of 'benchmark': 'srot'",
    ):
        times.perf.suite_score(weights={"fft": 1, "srot": 2})
    scores = times.perf.suite_score(weights={"fft": 1, "sort": 2, "walk": 3})
    assert scores.identical(times.perf.suite_score(weights={"fft": 1, "sort": 2}))


def test_an_extra_label_that_is_misspelt_is_named():
    """A weight of no label that looks like one is left out, and a kept note says so; names that
    differ in digits are others."""
    dims = {"benchmark": ["fft", "sort1"], "version": ["old", "new"]}
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 1e-4}, dims=dims, rng=1
    )
    weights = {"fft": 1, "sort1": 2, "srot1": 9, "sort2": 4, "walk": 3}
    for mapping in (
        weights,
        pd.Series(weights),
        pd.Series(weights).rename_axis("benchmark").to_xarray(),
    ):
        (note,) = times.perf.suite_score(weights=mapping).perf.notes()
        assert (note.code, note.aside) == ("unused", True)
        assert note.message == (
            "Weights for what is no label of 'benchmark' are left out: 'srot1' (there is 'sort1')"
        )
    costs = {"execution": 1}
    for method, choices in {
        "score_distribution": {},
        "five_number_summary": {},
        "relative_variation": {},
        "score_ratio_interval": {"baseline": "old"},
        "randomization_test": {"baseline": "old"},
        "required_runs": {"baseline": "old", "width": 0.1},
        "plan_suite": {"baseline": "old", "costs": costs, "budget": 1000},
    }.items():
        result = getattr(times.perf, method)(weights=weights, **choices)
        assert "unused" in [note.code for note in result.perf.notes()]


@pytest.mark.parametrize("weights", ["equal", 3.0])
def test_what_is_no_weights(times, weights):
    """A word or one number for all: the message shows what came."""
    with pytest.raises(
        ValueError,
        match=rf"weights={weights!r}: give a mapping of labels of 'benchmark' to numbers",
    ):
        times.perf.suite_score(weights=weights)


def test_a_table_says_that_benchmarks_are_weighted(times):
    """A plain one does not."""
    tables = [
        times.perf.suite_score(**options).perf.table() for options in ({}, {"weights": WEIGHTS})
    ]
    assert ["benchmarks are weighted" in table.attrs["about"] for table in tables] == [False, True]

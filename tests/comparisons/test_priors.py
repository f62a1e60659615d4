"""Variances learned over a suite, through the public methods."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from comparisons.arrays import in_seconds
from perfarray.numerics.moderated import fit_prior, fit_robust_prior, moderate, moderate_components
from perfarray.numerics.nested_anova import nested_anova

LEARNED = [
    "prior_df",
    "prior_standard_deviation",
    "prior_pvalue",
    "standard_error",
    "unmoderated_standard_error",
]


@pytest.fixture(scope="module")
def times():
    rng = np.random.default_rng(2)
    noise = 0.01 * np.exp(0.5 * rng.standard_normal((12, 1, 1)))
    values = (
        np.arange(1, 13)[:, None, None]
        * (1 + noise * rng.standard_normal((12, 3, 3)))
        * np.array([1.0, 1.02, 0.97])[:, None]
    )
    coords = {
        "benchmark": [f"b{i}" for i in range(12)],
        "version": ["old", "new", "next"],
        "suite": ("benchmark", ["a", "b"] * 6),
    }
    return in_seconds(values, "benchmark", "version", "execution", **coords)


def test_compare_and_ratio_interval_agree_and_hold_what_was_learned(times):
    verdicts, ratios = (
        times.perf.compare("old", prior="suite"),
        times.perf.ratio_interval("old", prior="suite"),
    )
    for name in ["estimate", "lower", "upper", "df", "n", *LEARNED]:
        np.testing.assert_allclose(
            verdicts[name].transpose(*ratios[name].dims), ratios[name], rtol=1e-12
        )
    assert verdicts["prior_df"].dims == ("version",)
    assert verdicts.attrs["prior"] == ratios.attrs["prior"] == "suite"
    logs = np.log(times)
    priors = fit_robust_prior(
        *(
            (logs.sel(version=side).var("execution", ddof=1).values, np.full(12, 2.0))
            for side in ("new", "old")
        )
    )
    assert verdicts["prior_df"].sel(version="new").item() == pytest.approx(float(priors.df))
    assert verdicts["prior_standard_deviation"].sel(version="new").item() == pytest.approx(
        np.sqrt(np.mean(priors.variances))
    )


def test_estimates_and_the_suite_row_are_those_without(times):
    moderated, plain = times.perf.compare("old", prior="suite"), times.perf.compare("old")
    names = [
        "estimate",
        "difference",
        *(name for name in plain.data_vars if name.startswith("suite_")),
    ]
    xr.testing.assert_equal(moderated[names], plain[names])
    assert int((moderated["verdict"] != "inconclusive").sum()) > int(
        (plain["verdict"] != "inconclusive").sum()
    )
    assert float((moderated["df"] / plain["df"]).median()) > 1.3


def test_means(times):
    interval = times.perf.mean_interval(prior="suite")
    logs = np.log(times.sel(version="new")).var("execution", ddof=1).values
    prior = fit_robust_prior((logs, np.full(12, 2.0)))
    new = interval.sel(version="new")
    assert new["prior_df"].item() == pytest.approx(float(prior.df))
    share = prior.df / (prior.df + 2) * np.where(prior.pvalue < 1.7 / 2**1.5, 0.0, 0.5)
    np.testing.assert_allclose(new["prior_pvalue"], prior.pvalue)
    expected = np.sqrt((logs + share * (prior.variances[0] - logs)) / 3) * times.sel(
        version="new"
    ).mean("execution")
    np.testing.assert_allclose(new["standard_error"], expected)
    np.testing.assert_allclose(
        new["unmoderated_standard_error"],
        times.perf.mean_interval().sel(version="new")["standard_error"],
    )
    assert interval["standard_error"].attrs["units"] == "s"


def test_cells_of_other_dims_have_priors_of_their_own(times):
    noisy = times.where(
        times["version"] != "next", times * np.random.default_rng(3).normal(1, 0.1, times.shape)
    )
    result = noisy.perf.compare("old", prior="suite")
    xr.testing.assert_allclose(
        result.sel(version="new"), times.perf.compare("old", prior="suite").sel(version="new")
    )
    assert result["prior_standard_deviation"].sel(version="next") > 5 * result[
        "prior_standard_deviation"
    ].sel(version="new")
    by_suite = times.perf.compare("old", prior="suite", by="suite")
    np.testing.assert_array_equal(
        by_suite["lower"], times.perf.compare("old", prior="suite")["lower"]
    )


def test_every_pair_and_lazy_and_ragged(times):
    pairs, verdicts = (
        times.perf.pairwise(dim="version", prior="suite"),
        times.perf.compare("old", prior="suite"),
    )
    for name in ("lower", "verdict", "prior_df"):
        pair = pairs[name].sel(baseline="old", version=["new", "next"])
        np.testing.assert_array_equal(
            pair.transpose(*verdicts[name].dims).values, verdicts[name].values
        )
    assert np.isnan(pairs["prior_df"].sel(baseline="old", version="old"))
    xr.testing.assert_allclose(
        times.chunk({"benchmark": 5}).perf.compare("old", prior="suite").compute(), verdicts
    )
    lazy = times.chunk({"benchmark": 5}).perf.mean_interval(prior="suite").compute()
    xr.testing.assert_allclose(lazy, times.perf.mean_interval(prior="suite"))
    ragged = times.copy()
    ragged[0, 1, 1:] = np.nan
    with warnings.catch_warnings(action="ignore"):
        alone = ragged.perf.compare("old", prior="suite").sel(version="new")
    assert np.isnan(alone["lower"][0])
    assert alone["verdict"][0] == "inconclusive"
    assert not np.isnan(alone["lower"][1:]).any()


def test_a_rate_is_the_mirror_image(times):
    rates = (1 / times).assign_attrs(units="1/s", better="higher").rename("throughput")
    faster = rates.perf.compare("old", prior="suite")["verdict"]
    assert (
        faster == times.perf.compare("old", prior="suite", method="log_delta")["verdict"]
    ).mean() > 0.9


def test_little_to_learn_is_said(times):
    with pytest.warns(
        perfarray.PerfarrayWarning, match="changes little in 1 of 1 suites"
    ) as caught:
        result = times.isel(benchmark=0, version=[0, 1], drop=True).perf.compare(
            "old", prior="suite"
        )
    assert [note.code for note in caught[0].message.notes] == ["weak_prior"]
    assert result["prior_df"].item() == 0
    assert set(result.dims) == {"version"}


def test_noisy_benchmarks_are_named_and_keep_the_limits_of_their_own_runs():
    """One that only its candidate makes noisy too; the others gain as they do without it, and other
    cells have priors of their own."""
    noise = np.full((12, 3, 1), 0.01)
    noise[3, 1:], noise[7, 2] = 0.2, 0.2
    values = 1 + noise * np.random.default_rng(2).standard_normal((12, 3, 5))
    coords = {
        "benchmark": [f"b{number}" for number in range(12)],
        "version": ["old", "new", "next"],
    }
    times = in_seconds(values, "benchmark", "version", "execution", **coords)
    result, alone = times.perf.compare("old", prior="suite"), times.perf.compare("old")
    (note,) = (note for note in result.perf.notes() if note.code == "left_out_of_prior")
    assert note.aside
    assert {"b3, new", "b3, next", "b7, next"} <= set(note.values["names"])
    assert "their own runs" in note.message
    np.testing.assert_allclose(
        *(answer["df"].sel(benchmark="b3") for answer in (result, alone)), rtol=0.2
    )
    np.testing.assert_allclose(
        *(
            result[name].sel(benchmark="b3")
            for name in ("standard_error", "unmoderated_standard_error")
        ),
        rtol=0.2,
    )
    without = times.drop_sel(benchmark="b3").perf.compare("old", prior="suite")
    np.testing.assert_allclose(
        result["prior_standard_deviation"], without["prior_standard_deviation"], rtol=0.1
    )
    labels = {
        name
        for note in times.perf.mean_interval(prior="suite").perf.notes()
        for name in note.values["names"]
    }
    assert {"b3, new", "b3, next", "b7, next"} <= labels


@pytest.mark.parametrize("number", [2, 3])
def test_two_or_three_benchmarks_share_nothing(times, number):
    """Their variances say nearly nothing of what they have in common: limits are those without a
    prior, and a note says so."""
    subset = times.isel(benchmark=slice(number))
    with pytest.warns(perfarray.PerfarrayWarning, match="Fewer than 4 benchmarks"):
        result = subset.perf.compare("old", prior="suite", method="log_delta")
    assert (result["prior_df"] == 0).all()
    np.testing.assert_allclose(
        result["df"], subset.perf.compare("old", method="log_delta")["df"], rtol=0.05
    )


ANSWERS = ("compare", "ratio_interval")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        *(
            (
                name,
                {"prior": "benchmarks"},
                "prior='benchmarks' is not known; choose one of None, 'suite'",
            )
            for name in ANSWERS
        ),
        *(
            (name, {"method": "bca"}, "method='bca' does not go with prior='suite'")
            for name in ANSWERS
        ),
        *(
            (
                name,
                {"statistic": "median"},
                "method='order_statistics' does not go with prior='suite'",
            )
            for name in ANSWERS
        ),
        ("mean_interval", {"method": "skew_adjusted"}, "does not go with prior='suite'"),
        ("stopping", {"half_width": 0.01, "rule": "t"}, "rule='t' does not go with prior='suite'"),
        ("score_ratio_interval", {"method": "bca"}, "method='bca' does not go with prior='suite'"),
        ("score_ratio_interval", {"random_benchmarks": True}, "random_benchmarks=True does not go"),
        ("required_units", {"prior": "all"}, "prior='all' is not known"),
    ],
    ids=str,
)
def test_refusals(times, name, options, message):
    baseline = {} if name in ("mean_interval", "stopping") else {"baseline": "old"}
    with pytest.raises(ValueError, match=message):
        getattr(perfarray, name)(times, **{"prior": "suite"} | baseline | options)


def test_zeros_and_components_have_nothing_to_learn_from(times):
    with pytest.warns(perfarray.PerfarrayWarning, match=r"prior='suite'\) needs values above 0"):
        energy = (
            (times * 0).assign_attrs(units="J").rename("energy").perf.mean_interval(prior="suite")
        )
    assert energy["estimate"].isnull().all()
    components = times.isel(version=0).perf.variance_components()
    with pytest.raises(ValueError, match="Give the pilot's timings"):
        components.perf.plan_repetitions(costs={}, half_width=0.01, prior="suite")


@pytest.fixture(scope="module")
def pilots():
    """60 pilots of 20 benchmarks, three runs a side, whose standard deviations differ."""
    rng = np.random.default_rng(5)
    noise = 0.01 * np.exp(0.3 * rng.standard_normal((1, 20, 1, 1)))
    values = 1 + noise * rng.standard_normal((60, 20, 2, 3))
    return in_seconds(values, "pilot", "benchmark", "version", "execution")


def fold(numbers):
    """Return by what factor plans from pilots of the same benchmark differ, one standard
    deviation."""
    return float(np.exp(np.log(numbers).std("pilot")).mean())


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize(
    ("method", "name", "options"),
    [
        ("required_units", "required", {"baseline": "old", "change": 0.02}),
        ("stopping", "extrapolated", {"half_width": 0.01, "start": 3}),
        ("plan_repetitions", "repetitions", {"costs": {}, "half_width": 0.01, "min_units": 3}),
    ],
)
def test_plans_of_like_pilots_differ_less(pilots, method, name, options):
    plain, learned = (
        getattr(perfarray, method)(pilots, prior=prior, **options)[name].squeeze()
        for prior in (None, "suite")
    )
    assert fold(plain) > 1.4
    assert fold(learned) < 1 + 0.7 * (fold(plain) - 1)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_a_plan_keeps_its_word(pilots):
    """Of experiments planned with assurance 0.9, nine in ten are as narrow as planned, with half
    the units or fewer."""
    rng, count = np.random.default_rng(6), {}
    noise = pilots.std(["pilot", "execution"]).isel(version=0).values
    for prior in (None, "suite"):
        plan = pilots.isel(version=0).perf.plan_repetitions(
            costs={}, half_width=0.01, assurance=0.9, min_units=3, prior=prior
        )
        n = plan["repetitions"].isel(level=0).transpose("pilot", "benchmark").values
        deviations = noise * np.sqrt(rng.chisquare(n - 1) / (n - 1))
        assert (stats.t.ppf(0.975, n - 1) * deviations / np.sqrt(n) <= 0.01).mean() >= 0.87
        count[prior] = n.mean()
    assert count["suite"] < 0.6 * count[None]


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_suite_scores_and_plans_keep_their_standard_error(pilots):
    plain, learned = (
        pilots.perf.score_ratio_interval("old", prior=prior) for prior in (None, "suite")
    )
    xr.testing.assert_equal(learned["standard_error"], plain["standard_error"])
    assert (learned["df"] > plain["df"]).mean() > 0.9
    pilot = pilots.isel(pilot=0, version=0, drop=True).assign_coords(
        benchmark=[f"b{i}" for i in range(20)]
    )
    costs = {"costs": {"execution": 1.0}, "half_width": 0.0005, "shared": None}
    units = [
        pilot.perf.plan_suite(prior=prior, **costs)["repetitions"].isel(level=0).values
        for prior in (None, "suite")
    ]
    assert units[1].std() < 0.6 * units[0].std()
    noise = pilots.std(["pilot", "execution"]).isel(version=0).values
    half_width = 1.96 * np.sqrt((noise**2 / units[1]).sum()) / 20
    assert 0.7 < half_width / 0.0005 < 1.2


def test_components_of_two_levels():
    """S_i^2 are moderated; T_i^2 is S_i^2 without the moderated share of the level below."""
    nest = {
        "sizes": {"execution": 4, "iteration": 3},
        "variances": {"execution": 4e-4, "iteration": 1e-4},
    }
    times = perfarray.simulate(**nest, dims={"benchmark": range(10)}, rng=3)
    components = nested_anova(times["time"].transpose("benchmark", ...).values, 2)
    moderated, prior_of_level = moderate_components(components)
    squared = components.mean**2
    for level, df in ((0, 3), (1, 8)):
        variance = components.level_variance[:, level] / squared
        prior = fit_prior((variance, np.full(10, float(df))))
        expected = moderate(variance, np.full(10, float(df)), prior) * squared
        np.testing.assert_allclose(moderated.level_variance[:, level], expected)
        assert prior_of_level[level] == prior.cautious_df
    np.testing.assert_allclose(
        moderated.variance[:, 0],
        moderated.level_variance[:, 0] - moderated.level_variance[:, 1] / 3,
    )
    suite_components, _ = moderate_components(components, of_suite=True)
    np.testing.assert_allclose(
        (suite_components.level_variance / squared[:, None]).sum(0),
        (components.level_variance / squared[:, None]).sum(0),
    )


def test_picture_of_the_errors(times):
    """Hollow points without the prior, filled ones with it, at the baseline's mean."""
    pytest.importorskip("matplotlib")
    result = times.perf.compare("old", prior="suite").sel(version="new")
    axes = result.perf.plot(kind="errors")
    alone, learned = (line.get_ydata() for line in axes.get_lines())
    np.testing.assert_allclose(alone, 100 * result["unmoderated_standard_error"])
    np.testing.assert_allclose(learned, 100 * result["standard_error"])
    np.testing.assert_allclose(axes.get_lines()[0].get_xdata(), result["baseline_mean"])
    axes.figure.clear()
    with pytest.raises(ValueError, match="made without a prior"):
        times.perf.compare("old").perf.plot(kind="errors")

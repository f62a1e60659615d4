"""Bootstrap on labelled timings: the paper's tables, laws, shared and paired units, coverage, what
is refused, files."""

import tracemalloc

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import perfarray
from comparisons.arrays import in_seconds
from strategies import MANY, experiments, timings

METHODS = ("percentile", "basic", "bca", "studentized")
OLD = [[[9, 11], [5, 6]], [[16, 13], [12, 8]], [[15, 7], [10, 14]]]
NEW = [[[10, 12], [6, 7]], [[9, 1], [11, 4]], [[8, 5], [3, 2]]]
BUILDS = {"sizes": {"binary": 40, "execution": 2}, "variances": {"binary": 0.01, "execution": 1e-4}}
DRAWN = experiments(4000)
WIDTH_ERROR = np.sqrt(2 * 0.025 * 0.975 / DRAWN) / stats.norm.pdf(1.96) / (2 * 1.96)
"""Relative standard error of the width of a 95 % interval from so many replicates."""
law = settings(
    max_examples=30 if MANY else 3, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
few_units_ignored = pytest.mark.filterwarnings("ignore:.*(cells|shared units):UserWarning")


def narrower(method, n, df):
    """Return how much narrower than Student's a bootstrap interval is: (n - 1) / n of the variance
    and normal tails, or t's own."""
    return (
        1.0
        if method == "studentized"
        else np.sqrt((n - 1) / n) * stats.norm.ppf(0.975) / stats.t.ppf(0.975, df)
    )


@pytest.fixture(scope="module")
def suite():
    """Three benchmarks, two versions, 32 executions of 3 iterations; the new version is 5 %
    faster."""
    nest = {
        "sizes": {"execution": 32, "iteration": 3},
        "variances": {"execution": 1e-4, "iteration": 2e-4},
    }
    factor = xr.DataArray([1.0, 0.95], dims="version", coords={"version": ["old", "new"]})
    return perfarray.simulate(
        **nest,
        mean=factor,
        dims={"benchmark": ["fft", "hash", "sort"], "version": ["old", "new"]},
        rng=0,
    )


def ask(times, name, method="percentile", resample="all", rng=3):
    """Call one of the functions that redraw, with 99 replicates."""
    keywords = {"resample": resample, "n_resamples": 99, "rng": rng}
    if name == "bootstrap_distribution":
        return (
            times.perf.bootstrap_distribution(**keywords)
            .reset_coords(["observed", "n"])
            .rename(time="replicates")
        )
    if name == "pairwise":
        keywords["dim"] = "version"
    elif name in ("ratio_interval", "compare"):
        keywords["baseline"] = "old"
    return getattr(times.perf, name)(method=method, confidence_level=0.9, **keywords)


FUNCTIONS = (
    "bootstrap_distribution",
    "bootstrap_interval",
    "mean_interval",
    "ratio_interval",
    "compare",
    "pairwise",
)


@few_units_ignored
@pytest.mark.parametrize("name", FUNCTIONS)
@given(
    times=timings(),
    method=st.sampled_from(METHODS),
    resample=st.sampled_from([None, "all", "flat"]),
)
@law
def test_times_thousand(name, times, method, resample):
    """Another unit scales what has a unit and leaves ratios alone, with the same draws."""
    expected = ask(times, name, method, resample)
    result = ask((times * 1000).assign_attrs(times.attrs), name, method, resample)
    for variable in expected.data_vars:
        if expected[variable].dtype != object and not variable.startswith("pvalue"):
            scale = 1000 if expected[variable].attrs.get("units") == "s" else 1
            np.testing.assert_allclose(
                result[variable], expected[variable] * scale, rtol=1e-6, err_msg=str(variable)
            )


@given(seed=st.integers(0, 1000))
@law
def test_order_of_units_does_not_change_the_law(seed):
    """Shuffled executions: other replicates of the same distribution; the data's statistic is the
    same."""
    times = perfarray.simulate(
        sizes={"execution": 30}, variances={"execution": 1.0}, mean=10.0, rng=1
    )
    shuffled = times.isel(execution=np.random.default_rng(seed).permutation(30))
    replicates, expected = (
        data.perf.bootstrap_distribution(n_resamples=2000, rng=2) for data in (shuffled, times)
    )
    np.testing.assert_allclose(replicates["observed"], expected["observed"])
    assert replicates.std().item() == pytest.approx(
        expected.std().item(), rel=4 * np.sqrt(2 / (2 * 2000))
    )


def test_table_vi_of_the_paper():
    """Replicates of table V are means of 12 of its values; every level redrawn widens the
    distribution by the lower levels' share.

    Median and minimum are those of 12 values; a function gets them on the last axis.
    """
    table_v = perfarray.from_samples(
        {"old": OLD, "new": NEW}, level=("binary", "execution", "iteration")
    )
    replicates = table_v.perf.bootstrap_distribution(resample="all", n_resamples=20_000, rng=1).sel(
        version="old"
    )
    assert replicates["observed"] == 10.5
    np.testing.assert_allclose((replicates.values * 12) % 1, 0, atol=1e-9)
    assert 5 <= replicates.min() <= replicates.max() <= 16
    assert replicates.var().item() == pytest.approx(2.25, rel=4 * np.sqrt(2 / 20_000))
    assert replicates.attrs["resample"] == "binary execution iteration"
    assert replicates.dims == ("replicate",)
    for statistic, observed in (("median", 10.5), ("min", 5.0), (np.max, 16.0)):
        replicates = table_v.perf.bootstrap_distribution(
            statistic=statistic, resample="all", n_resamples=200, rng=1
        ).sel(version="old")
        assert replicates["observed"] == observed
        assert 5 <= replicates.min() <= replicates.max() <= 16
    assert replicates.attrs["statistic"] == "max"


def test_a_distribution_serves_other_levels_and_methods(suite):
    """Limits of a distribution, of a Dataset too, are those from the timings with the same seed;
    nothing is drawn again."""
    replicates = suite.perf.bootstrap_distribution(resample="all", rng=1)
    for method in ("percentile", "basic"):
        for level in (0.9, 0.95):
            result = replicates.perf.bootstrap_interval(method=method, confidence_level=level)
            direct = suite.perf.bootstrap_interval(
                method=method, confidence_level=level, resample="all", rng=1
            )
            interval = suite.perf.mean_interval(
                method=method, confidence_level=level, resample="all", rng=1
            )
            for name in ("estimate", "lower", "upper", "n"):
                np.testing.assert_array_equal(result[name], direct[name])
                np.testing.assert_array_equal(result[name], interval[name])
    assert result.attrs["result"] == "bootstrap_interval"
    assert result.attrs["n_resamples"] == 1000
    stored = replicates.to_dataset(name="replicates")
    xr.testing.assert_identical(
        stored.perf.bootstrap_interval(), replicates.perf.bootstrap_interval()
    )


@few_units_ignored
@pytest.mark.parametrize("method", METHODS)
def test_verdicts_follow_intervals(suite, method):
    """A 5 % change is found; p-values and intervals agree; one cell is what `ratio_interval` gives
    alone with the same draws."""
    verdicts = suite.perf.compare("old", method=method, rng=1, n_resamples=1999, threshold=0.01)
    assert (verdicts[["verdict", "suite_verdict"]] == "faster").to_array().all()
    assert np.isnan(verdicts["df"]).all()
    plain = suite.perf.compare("old")
    for estimate in ("estimate", "suite_estimate"):
        np.testing.assert_allclose(verdicts[estimate], plain[estimate])
    error = (
        np.sqrt(0.025 * 0.975 / 1999) / stats.norm.pdf(1.96) / 1.96
    )  # of a limit, in half-widths
    for row in ("", "suite_"):
        for limit in (f"{row}lower", f"{row}upper"):
            expected = narrower(method, 32, plain[f"{row}df"]) * (
                plain[limit] - plain[f"{row}estimate"]
            )
            assert (
                abs(verdicts[limit] - verdicts[f"{row}estimate"] - expected)
                < 4 * error * abs(expected)
            ).all()
    ratio = suite.perf.ratio_interval("old", method=method, rng=1, n_resamples=1999)
    np.testing.assert_allclose(ratio["lower"], verdicts["lower"])
    verdicts_within_5_percent = suite.perf.compare(
        "old", method=method, rng=1, n_resamples=1999, threshold=0.05
    )
    inside = (verdicts_within_5_percent["lower"] >= 0.95) & (
        verdicts_within_5_percent["upper"] <= 1.05
    )
    assert ((verdicts_within_5_percent["verdict"] == "equivalent") == inside).all()


@few_units_ignored
def test_one_unit_and_no_data_have_nan_limits():
    """One unit, or none: NaN limits and no verdict; the other cells are answered."""
    values = np.random.default_rng(0).normal(10, 1, (3, 2, 8))
    values[0, :, 1:] = values[1] = np.nan
    times = in_seconds(
        values, "benchmark", "version", "execution", benchmark=["one", "none", "all"]
    )
    for method in METHODS:
        verdicts = times.perf.compare("old", method=method, rng=1).squeeze("version")
        assert np.isnan(verdicts["lower"].values).tolist() == [True, True, False]
        assert verdicts["verdict"].values.tolist()[:2] == ["inconclusive"] * 2
        assert not np.isfinite(verdicts["suite_lower"])
    replicates = times.perf.bootstrap_distribution(n_resamples=20, rng=1)
    assert np.isnan(replicates.sel(benchmark="none")).all()
    assert (replicates.sel(benchmark="one").std("replicate") < 1e-12).all()
    with pytest.warns(
        UserWarning, match=r"^1 of 2 cells \('one'\) rest on one execution"
    ) as caught:
        times.isel(version=0).perf.bootstrap_interval(rng=1)
    assert len(caught) == 1


def test_shared_units_are_drawn_jointly():
    """Two benchmarks with the same build effects: replicates are correlated where the builds are
    shared, and not otherwise."""
    times = perfarray.simulate(
        **BUILDS, dims={"benchmark": ["a", "b"]}, shared={"binary": 1.0}, rng=1
    )
    for shared, resample, low, high in (
        (None, "all", 0.95, 1),
        (None, None, 0.95, 1),
        ((), "all", -0.15, 0.15),
    ):
        replicates = times.perf.bootstrap_distribution(shared=shared, resample=resample, rng=2)
        assert (
            low
            <= np.corrcoef(replicates.sel(benchmark="a"), replicates.sel(benchmark="b"))[0, 1]
            <= high
        )
        assert replicates.attrs.get("shared", "") == ("binary" if shared is None else "")
    gaps = times.copy(deep=True)
    gaps["time"][0, :5] = np.nan
    replicates = gaps.perf.bootstrap_distribution(rng=2)
    assert np.corrcoef(replicates.sel(benchmark="a"), replicates.sel(benchmark="b"))[0, 1] > 0.85


@few_units_ignored
def test_the_suite_row_draws_shared_units_jointly():
    """Joint draws widen the suite's interval as the t interval on Z_j is wider; units without a
    benchmark are left out."""
    times = perfarray.simulate(
        **BUILDS, dims={"benchmark": 6, "version": ["old", "new"]}, shared={"binary": 0.8}, rng=1
    )
    times["time"][0, 0, 0] = np.nan
    plain = times.perf.compare("old")
    for method in METHODS:
        expected = narrower(method, 39.5, plain["suite_df"].item()) * (
            plain["suite_upper"] - plain["suite_lower"]
        )
        for resample in (None, "all"):
            joint = times.perf.compare(
                "old", method=method, resample=resample, n_resamples=DRAWN, rng=1
            )
            np.testing.assert_allclose(
                joint["suite_upper"] - joint["suite_lower"], expected, rtol=4 * WIDTH_ERROR
            )
            np.testing.assert_allclose(joint["suite_estimate"], plain["suite_estimate"], rtol=1e-9)
    assert joint.attrs["n_incomplete_units"] == 1


def in_sessions(correlation=1.0, iteration=1e-4):
    """Return two versions measured in the same 40 sessions, whose effects are correlated."""
    nest = {
        "sizes": {"session": 40, "iteration": 3},
        "variances": {"session": 0.01, "iteration": iteration},
    }
    times = perfarray.simulate(
        **nest, dims={"benchmark": ["old", "new"]}, shared={"session": correlation}, rng=1
    )["time"]
    return times.rename(benchmark="version").drop_attrs().assign_attrs(units="s")


@few_units_ignored
def test_paired_units_are_drawn_jointly():
    """Systems measured in the same sessions: pairs give the narrow interval that paired Fieller
    gives."""
    sessions = in_sessions(0.99, 1e-5)
    sessions[0, 3, 1] = (
        np.nan
    )  # one side is ragged, the other complete: they are redrawn in different ways
    exact = sessions.perf.ratio_interval("old", paired="session")
    for method in METHODS:
        ask = {"method": method, "rng": 1, "resample": "all", "n_resamples": DRAWN}
        interval = sessions.perf.ratio_interval("old", paired="session", **ask)
        expected = narrower(method, 40, 39) * (exact["upper"] - exact["lower"])
        np.testing.assert_allclose(
            interval["upper"] - interval["lower"], expected, rtol=4 * WIDTH_ERROR
        )
        np.testing.assert_allclose(interval["estimate"], exact["estimate"])
        suite = sessions.perf.compare("old", paired="session", **ask)
        np.testing.assert_allclose(suite["lower"], interval["lower"])
        np.testing.assert_allclose(suite["suite_upper"], interval["upper"], rtol=1e-3)
    alone = sessions.perf.ratio_interval("old", method="basic", rng=1, resample="all")
    assert alone["upper"] - alone["lower"] > 3 * (interval["upper"] - interval["lower"])


@pytest.mark.parametrize("gaps", [False, True])
def test_paired_replicates_differ_as_paired_units_do(gaps):
    """The variance of a paired difference is that of the units' differences over n; unpaired it is
    the sum of both variances."""
    sessions = in_sessions()
    if gaps:
        sessions[0, 3, 1] = np.nan
    units = sessions.mean("iteration")
    paired, alone = (
        sessions.perf.bootstrap_distribution(n_resamples=DRAWN, rng=2, paired=how)
        for how in ("session", None)
    )
    variance, error = paired.diff("version").var().item(), 4 * np.sqrt(2 / DRAWN)
    assert variance == pytest.approx(units.diff("version").var().item() / 40, rel=error)
    assert alone.diff("version").var().item() == pytest.approx(
        units.var("session").sum().item() / 40, rel=error
    )
    assert float(alone.diff("version").var() / variance) > 50
    assert (paired.attrs["paired"], "paired" in alone.attrs) == ("session", False)
    ratio = sessions.perf.ratio_interval(
        "old", paired="session", method="percentile", n_resamples=DRAWN, rng=1
    ).squeeze()
    ratios = paired.sel(version="new", drop=True) / paired.sel(version="old", drop=True)
    width = float(ratios.quantile(0.975) - ratios.quantile(0.025))
    assert width == pytest.approx(
        float(ratio["upper"] - ratio["lower"]), rel=4 * np.sqrt(2) * WIDTH_ERROR
    )


def test_paired_units_without_a_partner_are_left_out():
    """A session that one version lacks counts for none, as in `ratio_interval`; a version without
    data has no say; one warning."""
    sessions = in_sessions()
    sessions[0, :5], sessions[1, 38:] = np.nan, np.nan
    with pytest.warns(
        UserWarning, match="paired='session': 7 units of one label have no partner and are left out"
    ) as caught:
        replicates = sessions.perf.bootstrap_distribution(n_resamples=50, rng=2, paired="session")
    assert len(caught) == 1
    assert (replicates["n"] == 33).all()
    units = sessions.mean("iteration")[:, 5:38].mean("session")
    np.testing.assert_allclose(replicates["observed"], units)
    ratio = sessions.perf.ratio_interval("old", paired="session").squeeze()
    assert float(replicates["observed"][1] / replicates["observed"][0]) == pytest.approx(
        float(ratio["estimate"])
    )
    third = xr.concat(
        [sessions, sessions[:1].assign_coords(version=["none"]) * np.nan], "version"
    ).assign_attrs(units="s")
    with pytest.warns(UserWarning, match="7 units"):
        with_third_version = third.perf.bootstrap_distribution(
            n_resamples=50, rng=2, paired="session"
        )
    np.testing.assert_array_equal(with_third_version[:2], replicates)
    assert np.isnan(with_third_version[2]).all()


@pytest.mark.parametrize("resample", [None, "all"])
def test_paired_and_shared_units_meet(resample):
    """Replicate r of every benchmark and version rests on the same sessions where these are shared
    and paired; lazily too."""
    pytest.importorskip("dask.array")
    effect = np.random.default_rng(0).normal(10, 1, (1, 1, 30, 1, 1))
    values = effect + 1e-6 * np.random.default_rng(1).normal(size=(2, 3, 30, 2, 2))
    values[0, :, 4:6] = values[1, 2] = values[0, 0, 7, 1] = np.nan
    times = in_seconds(
        values, "benchmark", "version", "session", "execution", "iteration", version=["x", "y", "z"]
    )
    ask = {"paired": "session", "resample": resample, "n_resamples": 300, "rng": 1}
    with pytest.warns(
        perfarray.PerfarrayWarning, match="1 of 6 cells .*z.* have no measured value"
    ):
        replicates, paired = (
            times.perf.bootstrap_distribution(**ask, shared=shared) for shared in ("session", ())
        )
    for cells in replicates.sel(version=["x", "y"]).values:
        assert np.corrcoef(cells)[0, 1] > 0.999999
    assert np.corrcoef(replicates[0, 0], replicates[1, 0])[0, 1] > 0.8
    assert abs(np.corrcoef(paired[0, 0], paired[1, 0])[0, 1]) < 0.3
    lazy = (
        times.transpose(..., "version")
        .chunk({"benchmark": 1, "version": 1})
        .perf.bootstrap_distribution(**ask, shared="session")
    )
    assert lazy.chunks is not None
    np.testing.assert_array_equal(
        lazy.compute(scheduler="synchronous").transpose(*replicates.dims), replicates
    )


def test_joint_draws_have_the_same_blocks(monkeypatch):
    """A complete and a ragged benchmark that share units move together in every block, though they
    are redrawn in different ways."""
    monkeypatch.setattr("perfarray.numerics.bootstrap.BLOCK", 2000)
    effect = np.random.default_rng(0).normal(10, 1, (1, 20, 1, 1))
    values = effect + 1e-6 * np.random.default_rng(1).normal(size=(2, 20, 3, 4))
    values[1, 3, 2, 1] = np.nan
    replicates = in_seconds(
        values, "benchmark", "binary", "execution", "iteration"
    ).perf.bootstrap_distribution(shared="binary", resample="all", n_resamples=200, rng=1)
    assert np.corrcoef(replicates)[0, 1] > 0.999999


def test_warnings_say_what_is_too_little(suite):
    """Percentile, basic and BCa below 30 units, in one warning; studentized does not warn; too few
    replicates."""
    small = suite.isel(execution=slice(10))
    for method in ("percentile", "basic", "bca"):
        with pytest.warns(
            UserWarning, match=f"3 of 3 cells rest on fewer than 30 .*{method} limits.*studentized"
        ) as caught:
            small.perf.ratio_interval("old", method=method, rng=1)
        assert len(caught) == 1
    assert not small.perf.ratio_interval("old", method="studentized", rng=1).perf.notes()
    with pytest.warns(
        UserWarning, match=r"n_resamples=20 is too few for limits at 95 %.* 39 or more are needed"
    ):
        suite.perf.mean_interval(method="basic", n_resamples=20, rng=1)
    with pytest.warns(UserWarning, match=r"n_resamples=50 is too few for limits at 99 %"):
        suite.perf.bootstrap_distribution(n_resamples=50, rng=1).perf.bootstrap_interval(
            confidence_level=0.99
        )
    with pytest.warns(
        UserWarning,
        match=(
            "n_resamples=30 is too few for limits at 98.33 %: they are the extreme replicates; "
            "59 or more"
        ),
    ):
        holm = suite.perf.compare(
            "old", method="studentized", correction="holm", rng=1, n_resamples=30
        )
    assert (holm["pvalue_adjusted"] >= holm["pvalue"]).all()
    with pytest.warns(UserWarning, match="percentile limits are too narrow") as caught:
        small.perf.bootstrap_interval(statistic="median", rng=1)
    assert "studentized" not in str(caught[0].message)


@pytest.mark.parametrize("paired", [None, "execution"])
def test_two_units_studentize_nothing(paired):
    """A replicate of two units has no standard error or the data's own mean: NaN limits and no
    verdict, however the units are paired."""
    two = perfarray.from_samples({"old": [10.0, 10.4], "new": [10.1, 10.4]})
    with pytest.warns(
        UserWarning,
        match=r"cells rest on two units \(execution\), but method='studentized' needs three",
    ):
        verdicts = two.perf.compare("old", method="studentized", paired=paired, rng=1)
    with pytest.warns(UserWarning, match="needs three"):
        mean, interval = (
            ask(method="studentized", rng=1)
            for ask in (two.perf.mean_interval, two.perf.bootstrap_interval)
        )
    for limits in (
        verdicts["lower"],
        verdicts["suite_upper"],
        verdicts["pvalue"],
        mean["upper"],
        interval["upper"],
    ):
        assert limits.isnull().all()
    assert (verdicts["verdict"] == "inconclusive").all()


def test_a_changed_distribution_is_refused(suite):
    """Arithmetic changes the replicates and not the coordinate `observed`: an error, and with the
    coordinate changed too an answer."""
    replicates = suite.perf.bootstrap_distribution(rng=1)
    with pytest.raises(
        ValueError,
        match=r"'observed' lies outside all 1000 replicates\. Were the replicates changed alone",
    ):
        (replicates * 1000).perf.bootstrap_interval()
    scaled = (replicates * 1000).assign_coords(observed=replicates["observed"] * 1000)
    np.testing.assert_allclose(
        scaled.perf.bootstrap_interval()["lower"],
        1000 * replicates.perf.bootstrap_interval()["lower"],
    )


@pytest.mark.filterwarnings("ignore:the replicates have no coordinate")
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_plain_replicates_have_percentile_limits(dtype):
    """Of the replicates 1 to 99, the limits of 90 % are those of rank 100 * 0.05 and 100 * 0.95;
    what is not known is NaN."""
    values = np.random.default_rng(1).permutation(np.arange(1, 100)).astype(dtype)
    array = xr.DataArray(
        np.stack([values, 10 * values]),
        dims=("benchmark", "replicate"),
        coords={"benchmark": ["fft", "sort"]},
    )
    interval = array.perf.bootstrap_interval(confidence_level=0.9)
    np.testing.assert_allclose(
        [interval["lower"], interval["upper"]], [[5, 50], [95, 950]], rtol=1e-12
    )
    assert interval[["estimate", "n"]].isnull().to_array().all()
    assert [note.code for note in interval.perf.notes()] == ["no_value"]
    interval_of_values = perfarray.bootstrap_interval(values, confidence_level=0.9)
    assert (
        interval_of_values["lower"].item(),
        interval_of_values["upper"].item(),
        interval_of_values["lower"].dims,
    ) == (5, 95, ())
    xr.testing.assert_equal(
        array.T.chunk(benchmark=1).perf.bootstrap_interval(confidence_level=0.9), interval
    )


def test_plain_replicates_with_observed_and_n():
    """With `observed` there are an estimate and basic limits, with `n` of one unit no limits."""
    array = xr.DataArray(np.arange(1.0, 100.0), dims="replicate", attrs={"units": "s"})
    interval = array.assign_coords(observed=40.0).perf.bootstrap_interval(
        method="basic", confidence_level=0.9
    )
    assert (interval["lower"].item(), interval["estimate"].item(), interval["upper"].item()) == (
        80 - 95,
        40,
        80 - 5,
    )
    assert interval["lower"].attrs["units"] == "s"
    assert not interval.perf.notes()
    with pytest.warns(perfarray.PerfarrayWarning):
        assert array.assign_coords(n=1.0).perf.bootstrap_interval()["upper"].isnull()


@pytest.mark.filterwarnings("ignore:the replicates have no coordinate")
def test_a_ratio_of_distributions_has_limits(suite):
    """Arithmetic drops `observed`, where the sides differ, and keeps `n`: limits of the ratio,
    which is not in seconds."""
    replicates = suite.perf.bootstrap_distribution(rng=1)
    ratio = replicates.sel(version="new") / replicates.sel(version="old")
    interval = ratio.perf.bootstrap_interval()
    ordered = np.sort(ratio.transpose(..., "replicate").values)
    assert (
        (ordered[:, 24] <= interval["lower"]) & (interval["lower"] <= ordered[:, 25])
    ).all()  # rank 1001 * 0.025
    assert ((ordered[:, 974] <= interval["upper"]) & (interval["upper"] <= ordered[:, 975])).all()
    assert (interval["n"] == 32).all()
    assert interval["lower"].attrs.get("units") != "s"


def test_flat_says_what_its_unit_is(suite):
    interval = suite.perf.mean_interval(method="studentized", resample="flat", rng=1)
    assert interval.attrs["unit"] == "iteration"
    assert (interval["n"] == 96).all()
    nested = suite.perf.mean_interval(method="studentized", rng=1)
    assert ((interval["upper"] - interval["lower"]) < (nested["upper"] - nested["lower"])).all()


def wrong_shape(x, axis=-1):
    return x.mean()


def gives_nan(x, axis=-1):
    return x.mean(axis=axis) * np.nan


DISTRIBUTION, INTERVAL, RATIO, COMPARE = (
    "bootstrap_distribution",
    "bootstrap_interval",
    "ratio_interval",
    "compare",
)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (
            DISTRIBUTION,
            {"statistic": "mode"},
            "statistic='mode' is not known; choose one of 'mean', 'median', 'min'",
        ),
        (DISTRIBUTION, {"statistic": wrong_shape}, r"'wrong_shape' returned shape \(\)"),
        (DISTRIBUTION, {"statistic": gives_nan}, "'gives_nan' returned NaN"),
        (
            DISTRIBUTION,
            {"resample": "binary"},
            r"resample='binary': not among the levels \('execution', 'iteration'\)",
        ),
        (DISTRIBUTION, {"resample": ()}, r"resample=\(\): give a name or a tuple of names"),
        (
            DISTRIBUTION,
            {"resample": "flat", "shared": "execution"},
            "resample='flat' ignores the nest",
        ),
        (
            DISTRIBUTION,
            {"resample": "iteration", "shared": "execution"},
            "leaves out 'execution', whose units are shared",
        ),
        (
            DISTRIBUTION,
            {"resample": "flat", "paired": "execution"},
            "resample='flat' ignores the nest",
        ),
        (
            DISTRIBUTION,
            {"paired": "iteration"},
            "paired='iteration' is not known; choose one of 'execution'",
        ),
        (DISTRIBUTION, {"n_resamples": 1}, "n_resamples=1: give a whole number of at least 2"),
        (DISTRIBUTION, {"rng": "seed"}, "rng='seed': give a whole number that is not negative"),
        (DISTRIBUTION, {"rng": -1}, "rng=-1: give a whole number"),
        (INTERVAL, {"method": "t"}, "method='t' is not known; choose one of 'percentile'"),
        (
            INTERVAL,
            {"method": "studentized", "statistic": "min"},
            "standard error of the mean; statistic='min'",
        ),
        (
            "mean_interval",
            {"resample": "all"},
            "resample='all' was given with method='t', which draws nothing",
        ),
        (
            RATIO,
            {"resample": "all", "baseline": "old"},
            "resample='all' was given with method='fieller'",
        ),
        (
            RATIO,
            {"method": "basic", "resample": "flat", "paired": "execution", "baseline": "old"},
            "resample='flat' ignores the nest",
        ),
        (
            COMPARE,
            {"resample": "all", "baseline": "old"},
            "resample='all' was given with method='fieller'",
        ),
        (
            COMPARE,
            {"method": "bootstrap", "baseline": "old"},
            "method='bootstrap' is not known; choose one of 'fieller'",
        ),
        (
            COMPARE,
            {"method": "basic", "across": "execution", "baseline": "old"},
            "across='execution' is a level",
        ),
    ],
)
def test_bad_input(suite, name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(suite.perf, name)(**arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: t.isel(version=0).perf.bootstrap_distribution(paired="execution"),
            "between labels that are compared",
        ),
        (
            lambda t: t.perf.bootstrap_distribution(rng=1).perf.bootstrap_interval(method="bca"),
            "method='bca' needs the timings",
        ),
        (
            lambda t: t.perf.bootstrap_distribution(rng=1).perf.bootstrap_interval(
                method="studentized"
            ),
            "'studentized' needs the timings",
        ),
        (
            lambda t: t.perf.bootstrap_distribution(rng=1).perf.bootstrap_interval(rng=1),
            "rng= would draw again",
        ),
        (
            lambda t: (
                t.perf.bootstrap_distribution(rng=1)
                .drop_vars("observed")
                .perf.bootstrap_interval(method="basic")
            ),
            ("method='basic' needs the statistic of the data, the coordinate 'observed'"),
        ),
        (
            lambda _: perfarray.bootstrap_interval(np.arange(99.0), method="bca"),
            "method='bca' needs the timings",
        ),
        (lambda _: perfarray.bootstrap_interval(np.arange(99.0), rng=1), "rng= would draw again"),
        (
            lambda _: perfarray.bootstrap_interval(np.ones((9, 99))),
            r"replicates of shape \(9, 99\)",
        ),
        (lambda _: perfarray.bootstrap_interval(np.array(["a", "b"])), "not numbers"),
        (
            lambda t: t.isel(version=0).perf.score_distribution(rng=1).perf.bootstrap_interval(),
            "scores of single runs",
        ),
        (
            lambda t: (t - 1).perf.ratio_interval("old", method="studentized"),
            r"\(method='studentized'\) needs positive",
        ),
    ],
)
def test_bad_data(suite, call, message):
    with pytest.raises(ValueError, match=message):
        call(suite)


def test_generators_are_advanced_and_seeds_are_not(suite):
    rng = np.random.default_rng(1)
    first, second, third = (
        suite.perf.bootstrap_distribution(n_resamples=50, rng=generator)
        for generator in (rng, rng, np.random.default_rng(1))
    )
    np.testing.assert_array_equal(first, third)
    assert not np.array_equal(first, second)


@few_units_ignored
def test_memory_of_limits_is_not_that_of_all_replicates(monkeypatch):
    """1,000 replicates of 500 cells would be 4 MB, and as much again for every step on the way."""
    monkeypatch.setattr("perfarray.numerics.bootstrap_samples.REPLICATES_AT_ONCE", 1 << 15)
    times = xr.DataArray(
        np.random.default_rng(1).normal(10.0, 1.0, (500, 3)), dims=("machine", "execution")
    )
    times.perf.bootstrap_interval(
        statistic="median", n_resamples=2
    )  # what it imports is not counted
    tracemalloc.start()
    times.perf.bootstrap_interval(statistic="median", rng=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.slow
@few_units_ignored
@pytest.mark.parametrize(
    ("method", "units", "low", "high"),
    [
        ("studentized", 5, 0.945, 0.98),
        ("studentized", 10, 0.945, 0.975),
        ("percentile", 5, 0.84, 0.93),
        ("percentile", 10, 0.88, 0.94),
    ],
)
def test_coverage_of_ratios(method, units, low, high):
    """Studentized covers 95 to 97 % at five or more units a side, percentiles of the outermost
    level 85 to 92."""
    nest = {
        "sizes": {"execution": units, "iteration": 3},
        "variances": {"execution": 0.02**2, "iteration": 0.03**2},
    }
    laws = ((0.95, units), (1.0, units + 100))
    sides = [
        perfarray.simulate(**nest, mean=mean, dims={"experiment": 2000}, rng=seed)
        for mean, seed in laws
    ]
    interval = sides[0].perf.ratio_interval(sides[1], method=method, n_resamples=199, rng=1)
    assert low <= float(((interval["lower"] <= 0.95) & (interval["upper"] >= 0.95)).mean()) <= high


@few_units_ignored
@pytest.mark.parametrize("method", METHODS)
def test_a_compiled_bootstrap_has_the_same_limits(method):
    """The engine changes no number, whatever is selected or chunked, and the result names it."""
    pytest.importorskip("numba")
    nest = {
        "sizes": {"execution": 4, "iteration": 40},
        "variances": {"execution": 1e-4, "iteration": 1e-4},
    }
    times = perfarray.simulate(**nest, dims={"benchmark": 3, "version": ["old", "new"]}, rng=1)
    plain = ask(times, "ratio_interval", method)
    with perfarray.set_options(engine="numba"):
        compiled = ask(times, "ratio_interval", method)
        subset = ask(times.isel(benchmark=[2, 0]), "ratio_interval", method)
        assert ask(times, "ratio_interval", method, resample=None).attrs["engine"] == "numpy"
    assert (plain.attrs["engine"], compiled.attrs["engine"]) == ("numpy", "numba")
    xr.testing.assert_equal(compiled, plain)
    xr.testing.assert_equal(subset, compiled.isel(benchmark=[2, 0]))

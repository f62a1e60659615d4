"""Variances learned over a suite, through the public methods."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.numerics.moderated import fit_prior

LEARNED = ["prior_df", "prior_standard_deviation", "standard_error", "unmoderated_standard_error"]


@pytest.fixture
def times():
    rng = np.random.default_rng(2)
    noise = 0.01 * np.exp(0.5 * rng.standard_normal((12, 1, 1)))
    values = np.arange(1, 13)[:, None, None] * (1 + noise * rng.standard_normal((12, 3, 3))) * np.array([1.0, 1.02, 0.97])[:, None]
    coords = {"benchmark": [f"b{i}" for i in range(12)], "version": ["old", "new", "next"], "suite": ("benchmark", ["a", "b"] * 6)}
    return xr.DataArray(values, dims=("benchmark", "version", "execution"), coords=coords, attrs={"units": "s"}, name="time")


def test_compare_and_ratio_interval_agree_and_hold_what_was_learned(times):
    verdicts, ratios = times.perf.compare("old", prior="suite"), times.perf.ratio_interval("old", prior="suite")
    for name in ["estimate", "lower", "upper", "df", "n", *LEARNED]:
        np.testing.assert_allclose(verdicts[name].transpose(*ratios[name].dims), ratios[name], rtol=1e-12)
    assert verdicts["prior_df"].dims == ("version",)
    assert verdicts.attrs["prior"] == ratios.attrs["prior"] == "suite"
    logs = np.log(times)
    priors = fit_prior(*((logs.sel(version=side).var("execution", ddof=1).values, np.full(12, 2.0)) for side in ("new", "old")))
    assert verdicts["prior_df"].sel(version="new").item() == pytest.approx(float(priors.df))
    deviation = np.sqrt(np.mean(priors.variances))
    assert verdicts["prior_standard_deviation"].sel(version="new").item() == pytest.approx(deviation)


def test_estimates_and_the_suite_row_are_those_without(times):
    moderated, plain = times.perf.compare("old", prior="suite"), times.perf.compare("old")
    names = ["estimate", "difference", *(name for name in plain.data_vars if name.startswith("suite_"))]
    xr.testing.assert_equal(moderated[names], plain[names])
    assert int((moderated["verdict"] != "inconclusive").sum()) > int((plain["verdict"] != "inconclusive").sum())
    assert float((moderated["df"] / plain["df"]).median()) > 1.3


def test_means(times):
    interval = times.perf.mean_interval(prior="suite")
    logs = np.log(times.sel(version="new")).var("execution", ddof=1).values
    prior = fit_prior((logs, np.full(12, 2.0)))
    new = interval.sel(version="new")
    assert new["prior_df"].item() == pytest.approx(float(prior.df))
    share = float(prior.df / (prior.df + 2))
    expected = np.sqrt((logs + share * (prior.variances[0] - logs)) / 3) * times.sel(version="new").mean("execution")
    np.testing.assert_allclose(new["standard_error"], expected)
    np.testing.assert_allclose(new["unmoderated_standard_error"], times.perf.mean_interval().sel(version="new")["standard_error"])
    assert interval["standard_error"].attrs["units"] == "s"


def test_cells_of_other_dims_have_priors_of_their_own(times):
    noisy = times.where(times["version"] != "next", times * np.random.default_rng(3).normal(1, 0.1, times.shape))
    result = noisy.perf.compare("old", prior="suite")
    xr.testing.assert_allclose(result.sel(version="new"), times.perf.compare("old", prior="suite").sel(version="new"))
    assert result["prior_standard_deviation"].sel(version="next") > 5 * result["prior_standard_deviation"].sel(version="new")
    by_suite = times.perf.compare("old", prior="suite", by="suite")
    np.testing.assert_array_equal(by_suite["lower"], times.perf.compare("old", prior="suite")["lower"])


def test_every_pair_and_lazy_and_ragged(times):
    pairs, verdicts = times.perf.pairwise(dim="version", prior="suite"), times.perf.compare("old", prior="suite")
    for name in ("lower", "verdict", "prior_df"):
        pair = pairs[name].sel(baseline="old", version=["new", "next"])
        np.testing.assert_array_equal(pair.transpose(*verdicts[name].dims).values, verdicts[name].values)
    assert np.isnan(pairs["prior_df"].sel(baseline="old", version="old"))
    xr.testing.assert_allclose(times.chunk({"benchmark": 5}).perf.compare("old", prior="suite").compute(), verdicts)
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
    rates = (1 / times).assign_attrs(units="1/s", better="higher")
    rates = rates.rename("throughput")
    faster = rates.perf.compare("old", prior="suite")["verdict"]
    assert (faster == times.perf.compare("old", prior="suite", method="log_delta")["verdict"]).mean() > 0.9


def test_little_to_learn_is_said(times):
    with pytest.warns(perfarray.PerfarrayWarning, match="learned little in 1 of 1 suites") as caught:
        result = times.isel(benchmark=0, version=[0, 1], drop=True).perf.compare("old", prior="suite")
    assert [note.code for note in caught[0].message.notes] == ["weak_prior"]
    assert result["prior_df"].item() == 0
    assert set(result.dims) == {"version"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "benchmarks"}, "prior='benchmarks' is not known; choose one of None, 'suite'"),
        ({"prior": "suite", "method": "bca"}, "method='bca' does not go with prior='suite'"),
        ({"prior": "suite", "statistic": "median"}, "method='order_statistics' does not go with prior='suite'"),
    ],
    ids=str,
)
def test_refusals(times, options, message):
    for call in (times.perf.compare, times.perf.ratio_interval):
        with pytest.raises(ValueError, match=message):
            call("old", **options)
    with pytest.raises(ValueError, match="does not go with prior='suite'"):
        times.perf.mean_interval(method="skew_adjusted", prior="suite")


def test_zero_has_no_logarithm(times):
    with pytest.raises(ValueError, match="prior='suite'"):
        (times * 0).assign_attrs(units="J").rename("energy").perf.mean_interval(prior="suite")

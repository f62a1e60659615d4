"""The test of a fit: the distance, its calibration, and what is refused."""

import sys

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import perfarray
from perfarray.mixtures.numerics import goodness_of_fit as tested
from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures
from perfarray.mixtures.numerics.goodness_of_fit import critical_index, fitted, ks_distance
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled
from perfarray.timings import progress
from perfarray.timings.notes import collecting_notes
from strategies import experiments


def two_modes(n=60, seed=1):
    """Return runs of two modes and exponential ones."""
    rng = np.random.default_rng(seed)
    samples = {
        "modes": rng.normal(np.where(np.arange(n) % 3, 1.0, 1.5), 0.05),
        "skewed": np.round(rng.exponential(size=n), 1),
    }
    return perfarray.from_samples(samples, dim="benchmark", units="1")


def distances(values):
    """Fit samples as mclust does, and return their distances."""
    fits = fit_mixtures(values, None, FitRequest(tolerance=1e-5))
    return ks_distance(
        values, None, Scaled(NormalMixture(*fits[:3]), np.zeros(len(values), int))
    ), fits


def test_given_samples_give_mclusts_distances(golden):
    """For samples that are given, distances, share and critical value are those of R and mclust."""
    for case in golden("ksfit")["fixed"]:
        observed, _ = distances(np.array(case["input"]["x"])[None])
        samples, fits = distances(np.array(case["input"]["bootstrap_samples"]))
        theirs = case["output"]
        assert observed[0] == pytest.approx(theirs["ks_data"], abs=1e-8)
        assert np.allclose(samples, theirs["ks_boot"], rtol=0, atol=1e-8)
        assert fits.n_components.tolist() == [selected["G"] for selected in theirs["chosen"]]
        assert (samples > observed).mean() == theirs["p_value_exceed"]
        assert np.sort(samples)[critical_index(len(samples), 0.05)] == pytest.approx(
            theirs["critical_value_5pct"], abs=1e-8
        )


def test_the_p_value_is_that_of_many_draws(golden):
    """With own random numbers p lies within three standard errors of R's, whole and undersampled;
    the paper's 0.205 is one such draw."""
    oracle = golden("ksfit")
    times = perfarray.from_samples({"ammp": oracle["fixed"][0]["input"]["x"]}, dim="benchmark")
    for name, share in (
        ("ammp reselect K each time", 1.0),
        ("ammp reselect, 0.9 undersampling", 0.9),
    ):
        theirs = oracle["monte_carlo"][name]
        ours = times.perf.goodness_of_fit(
            n_resamples=experiments(200), undersample=share, resolution=None, rng=1
        )
        assert ours["statistic"].item() == pytest.approx(theirs["ks_data"], abs=1e-8)
        assert abs(ours["pvalue"].item() - theirs["p_value"]) < 3 * np.hypot(
            ours["pvalue_error"].item(), theirs["mc_se"]
        )


def test_distance_looks_at_both_sides_of_a_step():
    """One value at the median of a mixture is half away; weights move the steps."""
    values = Scaled(
        NormalMixture(np.array([[1.0]]), np.array([[0.0]]), np.array([[1.0]])), np.array([0])
    )
    assert ks_distance(np.array([[0.0, np.nan]]), None, values)[0] == pytest.approx(0.5)
    assert ks_distance(np.array([[0.0, 40.0]]), np.array([[1.5, 0.5]]), values)[0] == pytest.approx(
        0.5
    )
    assert np.isnan(ks_distance(np.array([[np.nan]]), None, values)[0])


def test_mixtures_pass_and_others_fail():
    """Two modes are a mixture, rounded exponential runs taken as continuous are none."""
    fit = two_modes().perf.goodness_of_fit(n_resamples=60, resolution=None, rng=1)
    assert fit["pvalue"].sel(benchmark="modes") > 0.05 > fit["pvalue"].sel(benchmark="skewed")
    assert ((fit["pvalue"] < 0.05) == (fit["statistic"] > fit["critical_value"])).all()
    assert fit["n"].values.tolist() == [60, 60]
    assert fit.attrs["n_resamples"] == 60


def test_the_same_seed_gives_the_same_numbers():
    """Order of dims, chunks and neighbours do not matter: a benchmark's draws are named by its
    label."""
    times = two_modes(30)
    complete = times.perf.goodness_of_fit(n_resamples=10, rng=1)
    xr.testing.assert_identical(
        complete,
        times.transpose("execution", "benchmark").perf.goodness_of_fit(n_resamples=10, rng=1),
    )
    for subset in (["skewed", "modes"], "skewed"):
        xr.testing.assert_equal(
            times.sel(benchmark=subset).perf.goodness_of_fit(n_resamples=10, rng=1),
            complete.sel(benchmark=subset),
        )
    pytest.importorskip("dask")
    lazy = times.chunk({"benchmark": 1}).perf.goodness_of_fit(n_resamples=10, rng=1).compute()
    assert lazy.attrs.pop("unchecked") == "goodness_of_fit"
    xr.testing.assert_identical(complete, lazy)


def test_a_given_mixture_is_the_one_tested():
    """The fit as an argument is what is found without it; a forced number of components stays
    forced in what is drawn."""
    times = two_modes(40)
    fit = times.perf.fit_mixture(tolerance=1e-5)
    xr.testing.assert_allclose(
        times.perf.goodness_of_fit(fit, n_resamples=10, rng=1),
        times.perf.goodness_of_fit(n_resamples=10, rng=1),
    )
    first = times.perf.goodness_of_fit(
        times.perf.fit_mixture(n_components=1), n_resamples=40, rng=1
    )
    assert (first["pvalue"] < 0.05).all()
    assert (first["pvalue_error"] > 0).all()  # also where no draw exceeds, and p is 0
    distant = times.perf.goodness_of_fit(
        perfarray.GaussianMixture.from_parameters([1.0], [9.0], [1.0]), n_resamples=5, rng=1
    )
    assert distant["statistic"].values == pytest.approx(
        1 - norm.cdf(times["time"].max("execution"), 9, 1), abs=1e-12
    )


def test_rounded_data_need_rounded_draws():
    """Ties make the distance large; against draws rounded likewise, to the step that is given or
    found, it is not."""
    sample = np.round(np.random.default_rng(4).normal(10, 0.1, 100), 1)
    times = perfarray.from_samples({"rounded": sample}, dim="benchmark")
    fit = times.perf.fit_mixture(n_components=1)
    without, source, answer = (
        times.perf.goodness_of_fit(fit, n_resamples=100, rng=1, resolution=step)
        for step in (None, 0.1, "auto")
    )
    assert without["pvalue"] == 0
    assert source["pvalue"] > 0.05
    assert answer["pvalue"].item() == pytest.approx(source["pvalue"].item(), abs=0.02)
    assert [result["resolution"].item() for result in (without, source, answer)] == pytest.approx(
        [0, 0.1, 0.1]
    )
    assert [result.attrs["resolution"] for result in (without, source, answer)] == [
        "none",
        0.1,
        "auto",
    ]


def test_rounding_is_no_reason_to_reject():
    """Of samples of one mode rounded to half a standard deviation the test rejects about 5 %; taken
    as continuous, most."""
    values = 10 + np.round(2 * np.random.default_rng(7).standard_normal((60, 50))) / 2
    times = xr.DataArray(
        values, dims=("benchmark", "execution"), coords={"benchmark": np.arange(60)}, name="time"
    )
    first = times.perf.fit_mixture(n_components=1)
    result, continuous = (
        times.perf.goodness_of_fit(first, n_resamples=39, rng=1, resolution=step)["pvalue"]
        for step in ("auto", None)
    )
    assert (result < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert (continuous < 0.05).mean() > 0.6


def test_cells_tested_together_have_the_numbers_of_each_alone(monkeypatch):
    """Small samples of several cells are fitted at once, those of one size; that changes nothing
    but the time."""
    rng = np.random.default_rng(1)
    samples = {
        name: rng.exponential(1, n) for name, n in {"a": 20, "b": 30, "c": 20, "d": 20}.items()
    }
    times = perfarray.from_samples(samples | {"e": np.ones(20)}, dim="benchmark")
    calls = []
    monkeypatch.setattr(
        tested,
        "fitted",
        lambda values, *remainder: calls.append(len(values)) or fitted(values, *remainder),
    )
    with collecting_notes():
        together = times.perf.goodness_of_fit(n_resamples=7, rng=1)
        monkeypatch.setattr(tested, "TOGETHER", 1)
        alone = times.perf.goodness_of_fit(n_resamples=7, rng=1)
    assert calls == [21, 7, 7, 7, 7, 7]
    assert together.identical(alone)


def test_a_bar_appears_in_a_terminal_when_a_test_takes_long(monkeypatch, capsys):
    """Nobody has to ask for it, and it is not written to a file; on request it counts cells, and
    changes no number."""
    times = two_modes(20)
    result = times.perf.goodness_of_fit(n_resamples=5, rng=1, progress=True)
    assert "2/2" in capsys.readouterr().err
    xr.testing.assert_identical(result, times.perf.goodness_of_fit(n_resamples=5, rng=1))
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    times.perf.goodness_of_fit(n_resamples=5, rng=1)
    assert "testing fits" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    times.perf.goodness_of_fit(n_resamples=5, rng=1)
    assert "testing fits" in capsys.readouterr().err
    times.perf.goodness_of_fit(n_resamples=5, rng=1, progress=False)
    assert "testing fits" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"undersample": 1.2}, "undersample=1.2"),
        ({"resolution": 0}, "resolution=0"),
        ({"tolerance": -1.0}, "tolerance=-1.0"),
        ({"n_resamples": 1}, "n_resamples=1"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"rng": -1}, "rng=-1"),
        ({"mixture": 3}, "mixture is a int"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        two_modes(10).perf.goodness_of_fit(**options)


def test_what_has_no_test_is_said_apart():
    """Runs that are not positive have no lognormal mixture; constant ones have one, and no distance
    to be tested."""
    samples = {"zero": [0.0, 1.0, 2.0, 4.0], "constant": [2.0] * 4, "some": [1.0, 2.0, 3.0, 5.0]}
    times = perfarray.from_samples(samples, dim="benchmark", units="1")
    with pytest.warns(UserWarning, match="not positive: they have no fit"):
        fit = times.perf.fit_mixture(distribution="lognormal", n_components=1)
    with pytest.warns(UserWarning, match="1 of 3 cells .* have no mixture, and no test") as warned:
        result = times.perf.goodness_of_fit(fit, n_resamples=5, rng=1)
    assert [note.values["names"] for note in warned[0].message.notes] == [["zero"], ["constant"]]
    assert [note.code for note in result.perf.notes()] == ["no_mixture", "constant"]
    assert result["pvalue"].isnull().values.tolist() == [True, True, False]
    assert result["statistic"].values[:2].tolist() == pytest.approx([np.nan, 0.0], nan_ok=True)


@pytest.mark.filterwarnings("ignore:.*are constant:UserWarning")
def test_distances_drawn_are_returned():
    """p is the share of them above the data's, the critical value one of them; constant samples
    have none; nothing else changes."""
    rng = np.random.default_rng(4)
    times = xr.DataArray([rng.normal(1, 0.1, 12), np.ones(12)], dims=("benchmark", "execution"))
    result = times.perf.goodness_of_fit(n_resamples=21, rng=1, distribution=True)
    samples = result["null_distance"]
    assert samples.dims == ("benchmark", "replicate")
    assert result["pvalue"][0] == (samples[0] > result["statistic"][0]).mean()
    assert result["critical_value"][0].item() in samples[0].values
    assert samples[1].isnull().all()
    xr.testing.assert_identical(
        result.drop_vars(["null_distance", "replicate"]),
        times.perf.goodness_of_fit(n_resamples=21, rng=1),
    )

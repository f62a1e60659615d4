"""Limits that rest on how much mean squares vary: against plain deletion, and against the normal
ones."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import brentq
from scipy.special import polygamma

import perfarray
from perfarray.numerics.nested_anova import nested_anova
from perfarray.timings.notes import collecting_notes
from perfarray.variation.numerics import jackknife
from perfarray.variation.numerics.component_intervals import anova_limits
from perfarray.variation.numerics.jackknife import (
    evenness,
    jackknife_limits,
    left_out,
    log_variance,
    unevenness,
)


def nested(seed=1, units=8, ragged=False, kind="normal"):
    """Return three cells of units x 5 x 4, all levels with the same variance; the last cell has
    gaps."""
    rng = np.random.default_rng(seed)
    draw = (
        rng.standard_normal
        if kind == "normal"
        else lambda shape: (np.exp(rng.standard_normal(shape)) - np.exp(0.5)) / 2.16
    )
    values = 50 + draw((3, units, 1, 1)) + draw((3, units, 5, 1)) + draw((3, units, 5, 4))
    if ragged:
        values[2, 3, 2:] = np.nan
    return values


@pytest.mark.parametrize("ragged", [False, True])
def test_left_out_is_plain_deletion(ragged):
    """Every mean square, without each outermost unit in turn."""
    values = nested(ragged=ragged)
    estimates = left_out(values)
    for unit in range(values.shape[1]):
        refitted = nested_anova(np.delete(values, unit, axis=1), 3).level_variance[:, ::-1]
        np.testing.assert_allclose(estimates[:, unit], refitted, rtol=1e-9)


def test_absent_units_change_nothing():
    values = nested()
    padded = np.concatenate([values, np.full((3, 2, 5, 4), np.nan)], axis=1)
    np.testing.assert_allclose(log_variance(padded), log_variance(values), rtol=1e-9)


@pytest.mark.parametrize("ragged", [False, True])
def test_with_the_nominal_df_the_limits_are_the_normal_ones(monkeypatch, ragged):
    """One way to make limits, whatever their degrees of freedom."""
    values = nested(ragged=ragged)
    components = nested_anova(values, 3)
    monkeypatch.setattr(
        jackknife, "log_variance", lambda cells: np.zeros((len(cells), cells.ndim - 1))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        of_normal_df = jackknife_limits(values, components, 0.9)
    expected = anova_limits(values, components, 0.9)
    np.testing.assert_allclose(
        [of_normal_df.lower, of_normal_df.upper], [expected.lower, expected.upper], rtol=1e-9
    )


def test_degrees_of_freedom_are_those_of_the_variance_of_a_log():
    """Trigamma, inverted."""
    df = np.array([0.3, 1.0, 5.0, 40.0, 3000.0])
    np.testing.assert_allclose(jackknife._df_of(polygamma(1, df / 2)), df, rtol=1e-6)


def test_coverage_of_lognormal_components():
    """Of 95 %, normal limits cover half or less of lognormal components (sigma 1), these 74 to 88
    (30 units of 5 x 4: 700 cells each)."""
    values = np.concatenate([nested(seed, units=30, kind="lognormal") for seed in range(230)])
    components = nested_anova(values, 3)
    true = np.var((np.exp(np.random.default_rng(0).standard_normal(10**6)) - np.exp(0.5)) / 2.16)
    covers = {}
    for name, limits in (
        ("normal", anova_limits(values, components, 0.95)),
        ("jackknife", jackknife_limits(values, components, 0.95)),
    ):
        covers[name] = ((limits.lower <= true) & (limits.upper >= true)).mean(axis=0)
    assert (covers["normal"] < 0.6).all()
    assert (covers["jackknife"] > 0.68).all()
    assert (unevenness(values, components) >= 3).any(axis=-1).mean() > 0.8


def test_labelled_limits():
    """Chosen by name, said in the attrs; of two units the normal ones; a likelihood has its own. A
    note leads there, without a warning."""
    runs = {"fft": np.random.default_rng(1).lognormal(size=(12, 20))}
    uneven = perfarray.from_samples(runs, dim="benchmark", level=("execution", "iteration"))
    plain = uneven.perf.variance_components()
    assert [note.code for note in plain.perf.notes()] == ["uneven"]
    assert "limits='jackknife' covers more" in repr(plain.perf.table())
    wide = uneven.perf.variance_components(limits="jackknife")
    assert ((wide["lower"] <= plain["lower"]) & (wide["upper"] > plain["upper"])).all()
    assert wide["variance"].equals(plain["variance"])
    assert "jackknife" in wide.attrs["interval_method"]
    upper = (wide["upper"].sel(level="iteration") ** 0.5 / wide["mean"]).item()
    assert wide.perf.table()["between iterations"].item().endswith(f" to {100 * upper:.0f} %)")
    two = perfarray.from_samples(
        {"fft": [[1.0, 1.1, 1.3], [1.2, 1.0, 1.5]]},
        dim="benchmark",
        level=("execution", "iteration"),
    )
    with pytest.warns(
        perfarray.PerfarrayWarning, match="limits are those of normal effects"
    ):  # leaving out one leaves no variance
        two.perf.variance_components(limits="jackknife")
    with pytest.raises(ValueError, match="limits='jackknife' are those of method='anova'"):
        uneven.perf.variance_components(method="reml", limits="jackknife")


def test_what_varies_inside_one_unit_alone_is_known_least():
    """One hiccup on a coarse clock: without its unit nothing varies, and the limits say that next
    to nothing is known."""
    values = np.full((12, 3, 4), 10.0) + np.random.default_rng(1).normal(0, 0.5, (12, 1, 1)).round(
        1
    )
    values[4, 1, 2] += 5
    times = xr.DataArray(values, dims=("binary", "execution", "iteration"), name="time")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"one or two binaries cause.*\(binary 4 with 100 % of the squares of iteration\)",
    ):
        normal = times.perf.variance_components()
    with collecting_notes():
        components = times.perf.variance_components(limits="jackknife").sel(level="iteration")
    plain = normal.sel(level="iteration")
    assert components["upper"].item() > 1000 * plain["upper"].item()
    assert np.isinf(plain["unevenness"].item())
    assert [note.code for note in normal.perf.notes()] == ["carried", "uneven"]


def test_evenness_is_the_share_of_the_degrees_of_freedom():
    """Of unit means the df whose trigamma is the jackknife's variance of the log variance, never
    more than units - 1; of two units all."""
    rng = np.random.default_rng(8)
    means = np.stack([np.exp(rng.normal(0, 1, 12)), rng.uniform(1, 2, 12)])
    means[0, 3] = np.nan
    unit_means = means[0][~np.isnan(means[0])]
    logs = np.log([np.delete(unit_means, i).var(ddof=1) for i in range(11)])
    df = 2 * brentq(lambda half: polygamma(1, half) - 10 * logs.var(), 1e-3, 1e3)
    shares = evenness(means)
    assert shares[0] == pytest.approx(df / 10, rel=1e-4)
    assert shares[1] == 1
    assert evenness(np.array([[1.0, 2.0], [1.0, np.nan]])).tolist() == [1, 1]


def test_plans_from_skewed_pilots_ask_for_more():
    """With what the pilot itself shows of its variance more is planned for nine of ten experiments;
    of even units as many as before."""
    skewed, even = [1.0, 1.01, 1.02, 1.03, 1.01, 1.02, 1.03, 1.2], np.linspace(1, 1.1, 8)
    times = perfarray.from_samples({"skewed": skewed, "even": list(even)}, dim="benchmark")
    ask = {"costs": {}, "half_width": 0.02, "assurance": 0.9}
    plain, jackknife = (
        times.perf.plan_repetitions(**ask, limits=limits) for limits in ("normal", "jackknife")
    )
    factor = (jackknife["repetitions"] / plain["repetitions"]).squeeze("level")
    assert factor.sel(benchmark="skewed") > 1.5
    assert factor.sel(benchmark="even") == 1
    assert (jackknife["half_width_upper"] >= plain["half_width_upper"]).all()
    assert jackknife.attrs["limits"] == "jackknife"
    with pytest.raises(
        ValueError, match="limits='bootstrap' is not known; choose one of 'normal', 'jackknife'"
    ):
        times.perf.plan_repetitions(**ask, limits="bootstrap")


def test_a_ratio_is_as_even_as_what_its_error_comes_from():
    """The skewed side has nearly all of the error: the plan is as careful as for it alone; with a
    steady skewed side it is not."""
    rng = np.random.default_rng(9)
    steady = 1 + 1e-4 * rng.standard_normal(9)
    skewed = [1.0, 1.01, 1.02, 1.03, 1.01, 1.02, 1.03, 1.2, 1.01]
    ask = {"costs": {}, "half_width": 0.02, "assurance": 0.9, "limits": "jackknife"}
    alone = perfarray.from_samples({"new": skewed}, dim="version").perf.plan_repetitions(**ask)
    pair = perfarray.from_samples({"old": list(steady), "new": skewed}).perf.plan_repetitions(
        "old", **ask
    )
    assert pair["repetitions"].item() == pytest.approx(alone["repetitions"].item(), rel=0.05)

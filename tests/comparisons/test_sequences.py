"""Pairs of rounds by a rule that may be looked at after each: `method="always_valid"`."""

import numpy as np
import pytest
import statsmodels.api as sm
import xarray as xr

import perfarray
from perfarray.numerics.round_tests import EXPECTED
from perfarray.numerics.sequences import LOG_RISK, sequence_probability, sequence_quantile


def rounds(number, n, *, change=0.0, slot=0.2, noise=0.01, seed=1, benchmarks=1):
    """Return experiments of rounds that share 8 %, in random and balanced order."""
    rng = np.random.default_rng(seed)
    first = rng.integers(1, 3, size=(number, (n + 1) // 2))
    first = np.stack([first, 3 - first], axis=-1).reshape(number, -1)[:, :n]
    slots = np.stack([first, 3 - first])
    logs = noise * rng.standard_normal((2, number, benchmarks, n))
    logs += 0.08 * rng.standard_normal((1, number, 1, n))
    logs += slot * (slots == 2)[:, :, None]
    logs[1] += np.log1p(change)
    return xr.DataArray(
        np.exp(logs),
        dims=("version", "experiment", "benchmark", "session"),
        coords={
            "version": ["old", "new"],
            "benchmark": [str(name) for name in range(benchmarks)],
            "slot": (("version", "experiment", "session"), slots),
        },
        attrs={"units": "s"},
        name="time",
    )


def compare(times, **options):
    """Compare pairs."""
    options = {"dim": "version", "paired": "session", "method": "always_valid"} | options
    return perfarray.compare(times, "old", **options)


@pytest.mark.parametrize(("n", "df"), [(6.0, 4.0), (9.0, 7.0), (30.0, 29.0)])
def test_pvalues_belong_to_limits(n, df):
    """At a limit of 95 % the one-sided p-value is 2.5 %, and it falls with the statistic."""
    limit = sequence_quantile(np.array(n), 0.95, EXPECTED, np.array(df), LOG_RISK)
    statistics = np.array([-np.inf, -2 * limit, -limit, 0.0, limit, np.inf, np.nan])
    pvalues = sequence_probability(statistics, n, df, EXPECTED)
    assert pvalues[[2, 3, 4]] == pytest.approx([0.025, 0.5, 0.975])
    assert 0 < pvalues[0] < pvalues[1] < 0.025
    assert np.isnan(pvalues[-1])
    assert np.isinf(sequence_quantile(np.array(4.0), 0.95, EXPECTED, np.array(2.0), LOG_RISK))


@pytest.mark.parametrize("n", [6, 9, 20])
def test_the_order_is_a_term_of_a_regression(n):
    """Estimate and standard error are those of least squares of log ratios on a mean and the
    order, by statsmodels, for small noise."""
    times = rounds(1, n, change=0.03, noise=1e-5)
    # Of rounds of equal weight, which the ratio of means gives to those that took longer
    times = times / times.sel(version="old").drop_vars(("slot", "version"))
    new, old = (times.sel(version=side).values.ravel() for side in ("new", "old"))
    slot = times["slot"].values.reshape(2, -1)
    design = np.stack([np.ones(n), slot[1] - slot[0]], axis=-1)
    fit = sm.OLS(np.log(new / old), design).fit()
    result = compare(times).squeeze()
    worth = n - (design[:, 1].sum()) ** 2 / n
    t = sequence_quantile(np.array(worth), 0.95, EXPECTED, np.array(n - 2.0), LOG_RISK)
    assert [result[name].item() for name in ("df", "n")] == [n - 2, n]
    assert np.log(result["estimate"].item()) == pytest.approx(fit.params[0], abs=1e-8)
    half = np.log(result["upper"].item() / result["lower"].item()) / 2
    assert half == pytest.approx(t * fit.bse[0], rel=1e-3)
    assert result.attrs["adjusted_for"] == "slot"


def test_verdicts_agree_with_intervals():
    """As for any other method, with and without a correction."""
    times = rounds(50, 12, change=0.05, benchmarks=3)
    for correction in (None, "holm"):
        result = compare(times, threshold=0.005, correction=correction)
        if correction is None:
            assert result["interval_agrees"].all()
        slower = result["verdict"] == "slower"
        assert slower.mean() > 0.2
        assert (result["pvalue_adjusted"].where(slower) <= 0.05).sum() == slower.sum()
        assert result["suite_benchmarks"].sum() == 0


def test_the_level_holds_over_all_rounds():
    """Of programs compared with themselves at most 5 % ever differ, though the second place in a
    round is 20 % slower, where the usual interval of pairs has 5 % at each round."""
    times = rounds(400, 20)
    ever = {
        method: np.zeros(times.sizes["experiment"], dtype=bool)
        for method in ("always_valid", "fieller")
    }
    for n in range(3, 21):
        for method, errors in ever.items():
            part = times.isel(session=slice(n))
            part = part * np.exp(-0.2 * (part["slot"] == 2)) if method == "fieller" else part
            verdict = compare(part, method=method)["verdict"]
            errors |= verdict.isin(["faster", "slower"]).values.ravel()
    assert ever["always_valid"].mean() <= 0.05 < 0.1 < ever["fieller"].mean()


def test_without_the_order():
    """Pairs that do not tell their order, or have always the same, have one degree more."""
    times = rounds(1, 10)
    assert compare(times.drop_vars("slot"))["df"].item() == 9
    same = times.assign_coords(slot=(("version", "session"), [[1] * 10, [2] * 10]))
    assert compare(same)["df"].item() == 9


def test_gaps():
    """A round that lacks a benchmark has no pair of it."""
    times = rounds(1, 12, benchmarks=2)
    gaps = times.where((times["benchmark"] == "0") | (times["session"] < 8))
    alone = compare(times.isel(session=slice(8)))
    with pytest.warns(perfarray.PerfarrayWarning, match="lack some benchmarks"):
        both = compare(gaps)
    for name in ("estimate", "lower", "upper", "df", "n"):
        assert both[name].sel(benchmark="1").item() == pytest.approx(
            alone[name].sel(benchmark="1").item()
        )
    assert both["n"].sel(benchmark="0").item() == 12


def test_equal_counts():
    """Counts that never vary are equivalent from ten rounds on: of a coarse clock five equal rounds
    are common, although one side takes longer. Another count is a change at the fifth."""
    times = xr.ones_like(rounds(1, 12)).assign_attrs(units="1")
    with pytest.warns(perfarray.PerfarrayWarning, match="no spread"):
        verdicts = [compare(times.isel(session=slice(n)))["verdict"].item() for n in (5, 9, 10, 12)]
    assert verdicts == ["inconclusive", "inconclusive", "equivalent", "equivalent"]
    twice = times * xr.where(times["version"] == "new", 2, 1)
    with pytest.warns(perfarray.PerfarrayWarning, match="no spread"):
        verdicts = [compare(twice.isel(session=slice(n)))["verdict"].item() for n in (4, 5)]
    assert verdicts == ["inconclusive", "slower"]


def test_pairs_alone():
    """The method is one of pairs."""
    with pytest.raises(ValueError, match="method='always_valid' compares pairs"):
        compare(rounds(1, 8), paired=None)
    ratio = rounds(1, 8).perf.ratio_interval("old", paired="session", method="always_valid")
    assert ratio["upper"].item() == pytest.approx(compare(rounds(1, 8))["upper"].item())


def test_each_with_each():
    """Of all pairs of labels, that of two sides is their comparison."""
    times = rounds(1, 10, change=0.05, benchmarks=2)
    both = times.perf.pairwise(dim="version", paired="session", method="always_valid")
    alone = compare(times)
    pair = both.sel(version="new", baseline="old")
    assert np.allclose(pair["upper"].values.ravel(), alone["upper"].values.ravel())
    pytest.importorskip("dask")
    lazy = compare(times.chunk({"benchmark": 1}))
    assert np.allclose(lazy["lower"].values, alone["lower"].values)

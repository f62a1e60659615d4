"""Many speedups tested at once."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import false_discovery_control

import perfarray


def suite(effects, runs=10):
    """Return runs of a suite in which each benchmark becomes so much faster."""
    values = 10 + 0.1 * np.random.default_rng(1).standard_normal((len(effects), 2, runs))
    values[:, 1] -= np.array(effects)[:, None]
    return xr.DataArray(
        values, dims=("benchmark", "version", "execution"), coords={"version": ["old", "new"]}
    )


TIMES = suite([0.0] * 6 + [0.1, 0.12, 0.5, 0.6])


@pytest.mark.parametrize("correction", ["holm", "bh"])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_adjusted_pvalues_decide(correction, statistic):
    """Holm's by hand, Benjamini and Hochberg's as SciPy has them, of the tests that were made; they
    decide what is significant."""
    plain, corrected = (
        TIMES.perf.speedup_test(
            "old", statistic=statistic, confidence_level=0.95, ties="exact", correction=choice
        ).squeeze("version")
        for choice in (None, correction)
    )
    is_tested = plain["pvalue"].notnull().values
    pvalue, adjusted = plain["pvalue"].values[is_tested], corrected["pvalue_adjusted"].values
    order = np.argsort(pvalue)
    holm = np.empty_like(pvalue)
    holm[order] = np.minimum(
        np.maximum.accumulate(pvalue[order] * np.arange(len(pvalue), 0, -1)), 1.0
    )
    np.testing.assert_allclose(
        adjusted[is_tested],
        holm if correction == "holm" else false_discovery_control(pvalue),
        rtol=1e-12,
    )
    decided = plain["significant"].values & (adjusted <= 0.05)
    assert corrected["significant"].values.tolist() == decided.tolist()
    assert 2 <= decided.sum() <= plain["significant"].sum()
    assert corrected.attrs["correction"] == correction


def test_cells_without_a_verdict_are_no_members():
    """A benchmark that cannot conclude, or was not measured, does not count; lazy arrays agree."""
    gaps = TIMES.where(xr.DataArray(np.arange(10) > 4, dims="benchmark"))
    one_sided = TIMES.where(
        (TIMES["benchmark"] != TIMES["benchmark"][0]) | (TIMES["version"] == "old")
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="1 of .* no measured value on one side"):
        one_sided.perf.speedup_test("old", confidence_level=0.95)
    tests = gaps.perf.speedup_test("old", confidence_level=0.95, correction="holm")
    fewer = TIMES.isel(benchmark=slice(5, None)).perf.speedup_test(
        "old", confidence_level=0.95, correction="holm"
    )
    np.testing.assert_allclose(
        tests["pvalue_adjusted"].isel(benchmark=slice(5, None)), fewer["pvalue_adjusted"]
    )
    assert tests["pvalue_adjusted"].isel(benchmark=slice(5)).isnull().all()
    lazy = (
        TIMES.chunk({"benchmark": 3})
        .perf.speedup_test("old", confidence_level=0.95, correction="holm")
        .compute()
    )
    plain = TIMES.perf.speedup_test("old", confidence_level=0.95, correction="holm")
    np.testing.assert_allclose(lazy["pvalue_adjusted"], plain["pvalue_adjusted"])
    assert lazy["significant"].equals(plain["significant"])


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"correction": "holm"}, "levels are searched for; give confidence_level=0.95"),
        (
            {"correction": "bonferroni", "confidence_level": 0.95},
            "correction='bonferroni' is not known",
        ),
    ],
)
def test_bad_corrections_are_named(choices, message):
    """A correction that is none, or has no level to hold, is named."""
    with pytest.raises(ValueError, match=message):
        TIMES.perf.speedup_test("old", **choices)

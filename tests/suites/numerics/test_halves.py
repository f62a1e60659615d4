"""Exact exchanges counted by halves of the benchmarks: the counts of those that are listed one by
one."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.suites.numerics import exchanges, randomization


def suite(seed, benchmarks, runs=(3, 3), step=0.0):
    """Return two systems, rounded to a step so that ratios are tied."""
    values = np.random.default_rng(seed).lognormal(sigma=0.1, size=(2, benchmarks, max(runs)))
    values = np.round(values / step) * step if step else values
    for side, n in zip(values, runs, strict=True):
        side[:, n:] = np.nan
    return xr.DataArray(
        values,
        dims=("version", "benchmark", "execution"),
        coords={"version": ["old", "new"]},
        name="time",
    )


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("step", [0.0, 0.05], ids=["continuous", "tied"])
@pytest.mark.parametrize(
    "options",
    [
        *(
            {"mean": mean, "statistic": statistic}
            for mean in ("geometric", "arithmetic", "harmonic")
            for statistic in ("geometric", "median")
        ),
        {"weights": [1.0, 2.0, 0.5]},
        {"shared": "execution"},
        {"paired": "execution", "shared": ()},
    ],
    ids=str,
)
def test_counts_are_those_of_listed_exchanges(monkeypatch, options, step, alternative):
    runs = (3, 3) if "paired" in options or "shared" in options else (2, 3)
    times = suite(1, 3, runs, step)
    if "weights" in options:
        options = {"weights": xr.DataArray(options["weights"], dims="benchmark")}
    listed = times.perf.randomization_test(
        "old", method="exact", alternative=alternative, **options
    )
    for module in (exchanges, randomization):
        monkeypatch.setattr(module, "MOST", 5)
    from_counts = times.perf.randomization_test(
        "old", method="exact", alternative=alternative, **options
    )
    xr.testing.assert_identical(from_counts, listed)


def test_six_benchmarks_of_three_runs_have_an_exact_answer():
    times = suite(2, 6)
    exact = times.perf.randomization_test("old", method="exact")
    assert exact["n_exchanges"].item() == 20**6
    sampled = times.perf.randomization_test("old", n_resamples=200_000, rng=1)
    assert exact["pvalue"].item() == pytest.approx(
        sampled["pvalue"].item(), abs=0.008
    )  # 3.5 standard errors


@pytest.mark.parametrize(
    ("benchmarks", "options", "facts"),
    [
        (
            12,
            {},
            r"4,096,000,000,000,000 exchanges, 64,000,000 of half of the benchmarks, and at most 4,000,000.*monte_carlo",
        ),
        (
            6,
            {"distribution": True},
            r"64,000,000 exchanges and keep 1,000,000 at most.*monte_carlo",
        ),
    ],
    ids=["too many", "kept"],
)
def test_what_cannot_be_counted_is_refused(benchmarks, options, facts):
    with pytest.raises(ValueError, match=facts):
        perfarray.randomization_test(suite(3, benchmarks), "old", method="exact", **options)

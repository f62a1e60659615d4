"""The undisturbed end, for either sense: what is found in times is found in rates."""

import numpy as np
import pytest
import xarray as xr

import perfarray

TOP = 8.0
"""Rates are this less the times: the largest rate is that of the smallest time."""

SPREADS = (
    lambda times, statistic: times.perf.bootstrap_distribution(
        statistic=statistic, n_resamples=50, rng=1
    ),
    lambda times, statistic: times.perf.bootstrap_interval(
        statistic=statistic, n_resamples=50, rng=1
    )["estimate"],
    lambda times, statistic: times.perf.suite_score(statistic=statistic, mean="arithmetic")[
        "estimate"
    ],
    lambda times, statistic: times.perf.relative_variation(statistic=statistic, mean="arithmetic")[
        "performance"
    ],
)
RATIOS = (
    lambda times, statistic: times.perf.score_ratio_interval(
        "old", statistic=statistic, method="percentile", n_resamples=39, rng=1
    ),
    lambda times, statistic: times.perf.score_ratio_interval(
        "old", statistic=statistic, random_benchmarks=True
    ),
    lambda times, statistic: times.perf.randomization_test(
        "old", statistic=statistic, n_resamples=50, rng=1
    ),
)


@pytest.fixture
def times():
    """Three benchmarks, two versions, five executions of exact binary fractions."""
    values = np.random.default_rng(1).integers(1, 128, (3, 2, 5)) / 64 + 2
    coords = {"benchmark": ["fft", "lu", "sort"], "version": ["old", "new"]}
    return xr.DataArray(
        values, coords, ("benchmark", "version", "execution"), "time", {"units": "s"}
    )


def as_rates(times):
    """Say that more is better."""
    return times.assign_attrs(units="ops/s", better="higher")


def codes(result):
    return [note.code for note in result.perf.notes()]


pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.mark.parametrize("ask", SPREADS)
def test_best_of_mirrored_times_is_mirrored(times, ask):
    """The best of TOP - x is TOP less the best of x."""
    best = ask(times, "best")
    np.testing.assert_array_equal(best, ask(times, "min"))
    np.testing.assert_allclose(ask(as_rates(TOP - times), "best"), TOP - best, rtol=1e-13)


def test_spread_of_the_best_is_that_of_the_mirrored(times):
    """In closed form and drawn; and the sampling noise of its log."""
    for method in ("exact", "monte_carlo"):
        spread = [
            system.perf.relative_variation(
                statistic=statistic, mean="arithmetic", method=method, rng=1
            )["standard_deviation"]
            for system, statistic in ((times, "min"), (as_rates(TOP - times), "best"))
        ]
        np.testing.assert_allclose(*spread, rtol=1e-12)
    tables = [
        perfarray.machine_table(system.rename(version="machine"), statistic="best")
        for system in (times, as_rates(1 / times))
    ]
    np.testing.assert_allclose(
        *(table["performance"] for table in (tables[0], 1 / tables[1][["performance"]])), rtol=1e-12
    )
    noise = [table["relative_variation_noise"] for table in tables]
    np.testing.assert_allclose(*noise, rtol=0.07)  # each is made of 4000 random suites


@pytest.mark.parametrize("ask", RATIOS)
def test_best_of_reciprocals_has_the_reciprocal_ratio(times, ask):
    """Of geometric means: the best rate is one over the best time, whatever redraws or exchanges
    them."""
    ours, theirs = ask(times, "best"), ask(as_rates(1 / times), "best")
    xr.testing.assert_equal(ours, ask(times, "min"))
    if ours.attrs["method"] != "percentile":  # between replicates, p-values are interpolated
        np.testing.assert_allclose(ours["pvalue"], theirs["pvalue"], atol=1e-12)
    for name, mirrored in (
        ("estimate", "estimate"),
        ("lower", "upper"),
        ("statistic", "statistic"),
    ):
        if name in ours:
            np.testing.assert_allclose(ours[name], 1 / theirs[mirrored], rtol=1e-12)


def test_speedups_of_the_best(times):
    """How many times as fast is the same said of times and of rates; a suite of rates has no
    overall speedup."""
    rates = as_rates(1 / times)
    speedup = times.perf.speedup("old", statistic="best")["estimate"]
    np.testing.assert_array_equal(speedup, times.perf.speedup("old", statistic="min")["estimate"])
    np.testing.assert_allclose(
        rates.perf.speedup("old", statistic="best")["estimate"], speedup, rtol=1e-13
    )
    total = times.min("execution").sum("benchmark")
    expected = total.sel(version="old") / total.sel(version="new")
    np.testing.assert_allclose(
        times.perf.overall_speedup("old", statistic="best")["speedup"].squeeze(), expected
    )


@pytest.mark.parametrize(("limit", "bound"), [(0.4, "exact"), (4.0, "at_most")])
def test_stopped_rates_bound_the_best(limit, bound):
    """A rate of a stopped run is at most its limit: the best is known where another run is better
    than that."""
    values = xr.DataArray(
        [[1.0, 2.0, 1.5], [3.0, np.nan, 1.0]],
        dims=("version", "execution"),
        coords={"version": ["old", "new"]},
    )
    for times, at in ((as_rates(values), limit), (1 / values, 1 / limit)):
        with_stopped_runs = times.assign_coords(
            censored=values.isnull(), censored_at=xr.where(values.isnull(), at, np.nan)
        )
        speedup = with_stopped_runs.perf.speedup("old", statistic="best")
        assert (speedup["bound"].item(), speedup["estimate"].item()) == (
            bound,
            max(3.0, limit) / 2.0,
        )


def test_stopped_rates_bound_a_ratio_of_the_best(times):
    """The candidate's best rate is at most what its limits give, so the lower limit is open and
    nothing speaks for it."""
    marks = xr.zeros_like(times, dtype=bool)
    marks.loc[{"benchmark": "fft", "version": "new"}] = [True, False, False, False, False]
    rates = as_rates(1 / times).assign_coords(
        censored=marks, censored_at=xr.where(marks, 0.5, np.nan)
    )
    interval = rates.perf.score_ratio_interval(
        "old", statistic="best", method="percentile", n_resamples=99, rng=1
    )
    assert interval["lower"].item() == 0
    assert np.isfinite(interval["upper"].item())
    best = (1 / times).where(~marks, 0.5).max("execution")
    ratio = best.sel(version="new") / best.sel(version="old")
    np.testing.assert_allclose(interval["estimate"].squeeze(), np.exp(np.log(ratio).mean()))


@pytest.mark.parametrize(
    "ask",
    [
        *SPREADS[:1],
        lambda times, statistic: times.perf.bootstrap_interval(
            statistic=statistic, n_resamples=50, rng=1
        ),
        lambda times, statistic: times.perf.suite_score(statistic=statistic),
        lambda times, statistic: times.perf.relative_variation(statistic=statistic),
        lambda times, statistic: times.perf.speedup("old", statistic=statistic),
        lambda times, statistic: perfarray.machine_table(
            times.rename(version="machine"), statistic=statistic
        ),
        *RATIOS,
    ],
)
def test_the_slow_end_of_rates_is_told(times, ask):
    """The minimum of rates is that of the slowest runs; of times, and the best of either, there is
    nothing to say."""
    rates = as_rates(1 / times)
    assert "direction" in codes(ask(rates, "min"))
    assert "direction" not in codes(ask(rates, "best")) + codes(ask(times, "min"))


def test_principal_components_of_the_best():
    """Four machines by three benchmarks: the components of rates' best are those of their
    maxima."""
    values, labels = (
        np.random.default_rng(2).uniform(1, 2, (4, 3, 5)),
        {"machine": list("abcd"), "benchmark": list("xyz")},
    )
    rates = as_rates(xr.DataArray(values, labels, ("machine", "benchmark", "execution")))
    components = rates.perf.principal_components(statistic="best")
    expected = (
        rates.max("execution", keep_attrs=True)
        .expand_dims(execution=1, axis=-1)
        .perf.principal_components()
    )
    np.testing.assert_allclose(components["score"], expected["score"], rtol=1e-12)
    assert "direction" in codes(rates.perf.principal_components(statistic="min"))


@pytest.mark.parametrize("ask", [RATIOS[0], *SPREADS])
def test_the_maximum_has_no_name_of_its_own(times, ask):
    """It is the best of rates and the worst of times: refused with the choices."""
    with pytest.raises(
        ValueError,
        match="statistic='max' is not known; choose one of 'mean', 'median', 'min', 'best'",
    ):
        ask(times, "max")

"""Do repetitions depend on those before them?"""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import perfarray  # noqa: F401  (registers .perf)

ALIKE = np.random.default_rng(4).normal(size=(6, 61))
ALIKE = 10 + ALIKE[:, 1:] + ALIKE[:, :-1]
"""Series whose neighbours have a correlation of one half."""


def timings(values, dims=("execution", "iteration"), **coords):
    return xr.DataArray(
        np.asarray(values, float), dims=dims, coords=coords, name="time", attrs={"units": "s"}
    )


def test_series_and_cells():
    """Every execution has its series; what is said of the cell rests on all of them."""
    result = timings(ALIKE).perf.autocorrelation(max_lag=3)
    assert result["autocorrelation"].dims == ("execution", "lag")
    assert result["pooled_autocorrelation"].sizes == {"lag": 4}
    assert result["pooled_n"].item() == result["n"].sum() == 360
    assert result["pooled_autocorrelation"].sel(lag=1).item() == pytest.approx(0.5, abs=0.1)
    assert result["pooled_effective_n"].item() == pytest.approx(180, rel=0.3)
    assert result["dependence_pvalue"].item() < 1e-8
    single_series = timings(ALIKE[2:3]).perf.autocorrelation(max_lag=3)
    assert_allclose(result["pvalue"].sel(execution=2), single_series["pvalue"].squeeze())


@pytest.mark.parametrize("gap", [False, True])
def test_several_series_are_calibrated_together(gap):
    """Of cells of five independent series of twenty at most one in twenty has p <= 0.05, with gaps
    and without."""
    values = np.random.default_rng(3).normal(10, 1, (1500, 5, 20))
    values[:, 0, 7] = np.nan if gap else values[:, 0, 7]
    result = timings(values, ("benchmark", "execution", "iteration")).perf.autocorrelation(
        max_lag=1
    )
    assert 0.035 < (result["dependence_pvalue"] <= 0.05).mean() < 0.062
    assert abs(result["pooled_autocorrelation"].sel(lag=1).mean()) < 0.01
    assert 0.035 < (result["pooled_drift_pvalue"] <= 0.05).mean() < 0.065


def test_levels_inside_are_averaged():
    """The order of executions is that of their means."""
    with pytest.warns(UserWarning, match="too few to test dependence"):
        result = timings(ALIKE).perf.autocorrelation(dim="execution")
    with pytest.warns(UserWarning, match="too few to test dependence"):
        means = timings(ALIKE.mean(axis=1), ("execution",)).perf.autocorrelation(dim="execution")
    assert_allclose(result["autocorrelation"], means["autocorrelation"])


def test_what_cannot_be_tested_is_said_with_numbers():
    """Fewer than 30 repetitions: the note says what would have been seen; strong dependence is told
    all the same."""
    with pytest.warns(
        UserWarning,
        match=r"1 of 1 cells have fewer than 30 executions, too few to test dependence\. .*10 executions show 11 %, 30 show 34 %",
    ):
        result = timings([1.0, 1.2, 1.1], ("execution",)).perf.autocorrelation(dim="execution")
    assert result["pvalue"].isnull()
    assert result["dependence_pvalue"].isnull()
    assert (
        timings(np.arange(1.0, 21), ("execution",)).perf.autocorrelation(dim="execution")[
            "dependence_pvalue"
        ]
        < 1e-3
    )


def test_a_time_stamp_gives_the_order():
    """Where a coordinate says when, series are sorted by it; `order="stored"` takes them as they
    are."""
    positions = np.random.default_rng(2).permutation(60)
    dates = np.array(
        [f"2024-{1 + day // 28:02}-{1 + day % 28:02}" for day in range(60)], dtype=object
    )
    mixed = timings(ALIKE[0][positions], ("commit",), date=("commit", dates[positions]))
    result, sorted_ = (
        mixed.perf.autocorrelation(dim="commit"),
        timings(ALIKE[0], ("commit",)).perf.autocorrelation(dim="commit"),
    )
    assert (result.attrs["order"], sorted_.attrs["order"]) == ("date", "stored")
    assert_allclose(result["autocorrelation"], sorted_["autocorrelation"])
    assert (
        mixed.perf.autocorrelation(dim="commit", order="stored")["autocorrelation"].sel(lag=1) < 0.3
    )


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dim": "executions"}, "dim 'executions' not found"),
        (
            {"max_lag": 60},
            "max_lag=60 needs more than 60 repetitions along 'iteration'; there are 60",
        ),
        ({"order": "date"}, "order='date' is no complete coordinate along 'iteration'"),
        (
            {"dim": "iteration", "levels": ("execution",)},
            "dim='iteration' is not one of levels=",
        ),
    ],
)
def test_bad_input(keywords, message):
    with pytest.raises(ValueError, match=message):
        timings(ALIKE).perf.autocorrelation(**keywords)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_degenerate_series():
    """One value, equal values, none: NaN, and no error."""
    for values in ([[1.0]], [[2.0] * 40], [[np.nan] * 40]):
        result = timings(values).perf.autocorrelation()
        assert result["dependence_pvalue"].isnull()
        assert result["effective_n"].isnull().all()


def test_marked_values_do_not_count():
    """Warm-up is left out: the series is that without it."""
    marked = timings(ALIKE).assign_coords(warmup=("iteration", np.arange(60) < 20))
    assert_allclose(
        marked.perf.autocorrelation(max_lag=3)["pvalue"],
        timings(ALIKE[:, 20:]).perf.autocorrelation(max_lag=3)["pvalue"],
    )

"""Regions of machines in a biplot, limits of loadings, and which machines differ by more than the
variation of their runs."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from scipy import optimize, stats

import perfarray
from perfarray.machines.numerics.regions import pairwise_tests

LABELS = {"machine": list("uvwxyz"), "benchmark": list("abcde")}


def runs(number, seed=0, spread=0.02):
    """Draw runs of six machines on five benchmarks; u and v are equal."""
    rng = np.random.default_rng(seed)
    truth = np.exp(0.3 * np.random.default_rng(7).standard_normal((6, 5)))
    truth[1] = truth[0]
    values = truth[..., None] * (1 + spread * rng.standard_normal((6, 5, number)))
    return xr.DataArray(
        values,
        dims=("machine", "benchmark", "execution"),
        coords=LABELS,
        name="time",
        attrs={"units": "s"},
    )


def regions(times, **keywords):
    return perfarray.principal_components(times, n_resamples=99, rng=1, **keywords)


def test_regions_are_added():
    """Scores, loadings and variances are those without regions; regions lie around the scores,
    limits around the loadings."""
    times = runs(4)
    result, plain = regions(times), times.perf.principal_components()
    for name in plain.data_vars:
        xr.testing.assert_identical(result[name], plain[name])
    np.testing.assert_allclose(result["score_lower"] + result["score_upper"], 2 * result["score"])
    leading = result.sel(principal_component=1)
    assert (
        (leading["loading_lower"] < leading["loading"])
        & (leading["loading"] < leading["loading_upper"])
    ).all()
    assert result["score_lower"].attrs["units"] == "s"
    assert result["score_covariance"].attrs["units"] == "s2"
    assert result.attrs["n_resamples"] == 99


@pytest.mark.parametrize("scale", [False, True])
def test_distances_are_those_of_the_table(scale):
    """Over all components, however many are kept."""
    times = runs(3)
    table = times.median("execution").values
    table = table / table.std(axis=0, ddof=1) if scale else table
    result = regions(times, scale=scale, n_components=1)
    np.testing.assert_allclose(
        result["distance"], np.linalg.norm(table[:, None] - table[None], axis=-1)
    )


def test_machines_that_differ_are_apart_and_equal_ones_are_not():
    """Runs that vary by 2 % cannot tell u and v apart, and tell them from the others."""
    result = regions(runs(3))["apart_pvalue"]
    assert result.sel(machine="u", machine_2="v") > 0.05
    assert (result.sel(machine=["u", "v"], machine_2=list("wxyz")) <= 0.02).all()
    assert (np.diag(result) == 1).all()
    np.testing.assert_array_equal(result, result.values.T)


def test_the_pvalue_is_the_share_of_exchanges():
    """Two machines, two benchmarks, two runs: the 36 exchanges listed, and 4,000 drawn, within four
    standard errors.

    As far apart is as large a likelihood ratio: the sum over benchmarks of the log of all squares
    over those inside the machines.
    """
    units = np.array([[[1.0, 2.0], [5.0, 5.5]], [[2.5, 3.5], [6.5, 5.2]]])
    ways = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]

    def log_ratio(feature, units_of_sample):
        pool = units[:, feature].ravel()
        return np.log(
            pool.var()
            / np.mean([pool[list(units_of_sample)].var(), np.delete(pool, units_of_sample).var()])
        )

    ratios = [
        sum(log_ratio(feature, units_of_sample) for feature, units_of_sample in enumerate(choices))
        for choices in product(ways, ways)
    ]
    keys = np.array([3, 4], dtype=np.uint64)
    result = pairwise_tests(units, "mean", np.ones(2), keys, 4000, (1, 2))
    np.testing.assert_allclose(result[0][0, 1], np.hypot(1.5, 0.6))
    exact = np.mean(np.array(ratios) >= ratios[0] - 1e-9)
    assert abs(result[1][0, 1] - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)


def test_benchmarks_that_vary_much_do_not_hide_one_that_differs():
    """Scaled or not: u and v differ by 10 % in one benchmark whose runs vary by 1 %; two others,
    where machines are alike, vary by 10 %."""
    rng = np.random.default_rng(3)
    spread = np.array([0.1, 0.1, 0.01, 0.01, 0.01])[None, :, None]
    times = runs(5, spread=0.0)
    times = times.where(~times["benchmark"].isin(["a", "b"]), 50.0) * np.exp(
        spread * rng.standard_normal(times.shape)
    )
    times = times.where((times["machine"] != "v") | (times["benchmark"] != "e"), 1.1 * times)
    result = [regions(times, scale=scale)["apart_pvalue"] for scale in (False, True)]
    assert result[0].sel(machine="u", machine_2="v") <= 0.02
    xr.testing.assert_equal(*result)


def test_runs_that_are_all_equal_tell_nothing():
    """Neither a benchmark without any variation, nor its rounding; one that differs for sure does
    not hide the others."""
    times = runs(5)
    constant = times.where(times["benchmark"] != "a", 0.1)
    expected = regions(times.sel(benchmark=list("bcde")))["apart_pvalue"]
    xr.testing.assert_equal(regions(constant)["apart_pvalue"], expected)
    certain = times.where(times["benchmark"] != "a", 0.1 + 0.2 * (times["machine"] == "v"))
    assert regions(certain)["apart_pvalue"].sel(machine="u", machine_2="v") <= 0.02


def test_false_alarms_and_coverage():
    """24 experiments of five runs: u and v are apart in 5 %, and 95 % of the intervals hold the
    true scores, within three errors."""
    truth = regions(runs(1000, spread=1e-9).isel(execution=slice(2)))["score"]
    alarms, covered = [], []
    for seed in range(24):
        result = perfarray.principal_components(
            runs(5, seed), statistic="mean", n_resamples=40, rng=seed
        )
        alarms.append(result["apart_pvalue"].sel(machine="u", machine_2="v").item() <= 0.05)
        score, units_of_sample = result["score"].values, truth.values
        rotation_left, _, right = np.linalg.svd(units_of_sample.T @ score)
        turned = (units_of_sample @ rotation_left @ right)[:, 0]
        covered.append(
            (result["score_lower"].values[:, 0] <= turned)
            & (turned <= result["score_upper"].values[:, 0])
        )
    assert np.mean(alarms) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 24)
    assert abs(np.mean(covered) - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 24)


def test_one_run_has_no_region():
    """A machine with one run of a benchmark is named; without repetitions nobody has a region, and
    the distances remain."""
    times = runs(3)
    times[{"machine": 2, "benchmark": 0, "execution": slice(1, None)}] = np.nan
    with pytest.warns(
        UserWarning,
        match=(
            r"1 of 6 labels of 'machine' have a single run of some 'benchmark': 'w'\. .*"
            "they have no region"
        ),
    ):
        result = regions(times)
    assert result["region_radius"].isnull().values.tolist() == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert result["loading_lower"].isnull().all()
    assert result["apart_pvalue"].notnull().all()
    with pytest.warns(UserWarning, match="6 of 6 labels"):
        bare = regions(runs(1).isel(execution=0, drop=True))
    assert bare["score_lower"].isnull().all()
    assert (
        bare["apart_pvalue"].where(bare["machine"] != bare["machine_2"].values).isnull().sum() == 36
    )
    assert bare["distance"].notnull().all()


def test_paths_agree():
    """Lazily, in single precision, transposed, rearranged; with a further dim each cell alone; gaps
    leave out what they did."""
    times = runs(3)
    expected = regions(times)
    for variant in (
        times.chunk(machine=2),
        times.transpose(),
        times.isel(benchmark=[4, 2, 0, 1, 3], machine=[5, 3, 4, 2, 0, 1]),
    ):
        result = regions(variant).sel(
            {name: expected[name] for name in ("machine", "benchmark", "machine_2")}
        )
        for name in ("region_radius", "apart_pvalue", "score_lower"):
            np.testing.assert_allclose(
                result[name].transpose(*expected[name].dims), expected[name], rtol=1e-6
            )
    np.testing.assert_allclose(
        regions(times.astype(np.float32))["region_radius"], expected["region_radius"], rtol=1e-3
    )
    clocks = xr.concat([times, 2 * times], "clock").assign_coords(clock=["slow", "fast"])
    np.testing.assert_allclose(
        regions(clocks)["distance"].sel(clock="fast"), 2 * expected["distance"]
    )
    holes = times.where(times["machine"] != "x")
    with pytest.warns(UserWarning, match="1 of 6 labels of 'machine' are left out"):
        assert regions(holes)["apart_pvalue"].sizes == {"machine": 5, "machine_2": 5}


def test_shared_sessions_are_exchanged_together():
    """Sessions that slow all benchmarks alike: exchanged one by one, they would seem to tell equal
    machines apart."""
    times = runs(3, spread=1e-4)
    session = xr.DataArray(
        1 + 0.1 * np.random.default_rng(3).standard_normal((6, 3)), dims=("machine", "execution")
    )
    session[:2] = [[1.1, 1.0, 1.2], [0.9, 1.05, 0.95]]
    together = (times * session).assign_attrs(times.attrs | {"shared_levels": "execution"})
    pvalues = (regions(data)["apart_pvalue"] for data in (together, together.drop_attrs()))
    result, alone = (pvalue.sel(machine="u", machine_2="v").item() for pvalue in pvalues)
    assert result >= 0.1  # 20 exchanges, each with its mirror image
    assert alone < 0.05


def test_too_many_to_compare():
    """More than a hundred machines have regions, and are not compared two by two."""
    times = xr.DataArray(
        np.random.default_rng(1).lognormal(size=(101, 2, 2)),
        dims=("machine", "benchmark", "execution"),
    )
    with pytest.warns(UserWarning, match="101 labels of 'machine' are more than 100"):
        result = perfarray.principal_components(times, n_resamples=20, rng=1)
    assert "apart_pvalue" not in result
    assert result["region_radius"].notnull().all()


def test_bad_numbers():
    with pytest.raises(ValueError, match="n_resamples=5: give a whole number of at least 20"):
        runs(3).perf.principal_components(n_resamples=5)
    with pytest.raises(ValueError, match="confidence_level=95 is out of range"):
        runs(3).perf.principal_components(confidence_level=95)
    with pytest.raises(
        ValueError,
        match="the result has no regions: give principal_components, or biplot, n_resamples=500",
    ):
        runs(3).perf.principal_components().perf.plot(regions=True)


def test_the_size_of_regions():
    """The bootstrap's variance of a mean, (n - 1) / n of the true one, is corrected: of two runs by
    a factor of 2.

    The scores of 6 machines and 5 benchmarks have 30 degrees of freedom, less 5 of centring and 10
    of the rotation.
    """
    times = runs(2, spread=0.001)
    result = perfarray.principal_components(times, statistic="mean", n_resamples=400, rng=1)
    variances = np.einsum("skk->", result["score_covariance"].values)
    assert variances == pytest.approx(
        15 * float((times.var("execution", ddof=1) / 2).mean()), rel=0.25
    )


def test_the_level_of_regions():
    """The radius of two components is that of F with 2 and df degrees of freedom, and limits are
    those of t, at the level given."""
    wide, narrow = (
        regions(runs(5), statistic="mean", confidence_level=level) for level in (0.95, 0.5)
    )
    ratio = (
        (wide["score_upper"] - wide["score"]) / (narrow["score_upper"] - narrow["score"])
    ).isel(principal_component=0)
    df = np.array(
        [
            optimize.brentq(
                lambda df, r=r: stats.t.ppf(0.975, df) / stats.t.ppf(0.75, df) - r, 1, 1e4
            )
            for r in ratio.values
        ]
    )
    for result, level in ((wide, 0.95), (narrow, 0.5)):
        np.testing.assert_allclose(
            result["region_radius"], np.sqrt(2 * stats.f.ppf(level, 2, df)), rtol=1e-6
        )


def test_ellipses_are_drawn():
    """One for each machine with a region; its outline lies where the covariance and radius say."""
    times = runs(3)
    ax = times.perf.biplot(n_resamples=99, rng=1)
    result = regions(times)
    outlines = next(
        collection for collection in ax.collections if "region" in collection.get_label()
    ).get_paths()
    assert len(outlines) == 6
    units_of_sample = result.isel(
        machine=3, principal_component=[0, 1], principal_component_2=[0, 1]
    )
    apart_by = outlines[3].vertices[:60] - units_of_sample["score"].values
    length = np.einsum(
        "ni,ij,nj->n", apart_by, np.linalg.inv(units_of_sample["score_covariance"].values), apart_by
    )
    np.testing.assert_allclose(length, units_of_sample["region_radius"].item() ** 2)
    assert "regions of 95 %" in ax.get_title(loc="left")

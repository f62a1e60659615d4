"""randomization_test on labelled timings."""

import numpy as np
import pytest
import xarray as xr

import perfarray


def timings(ratios, runs=4, spread=0.01, seed=0):
    """Return timings of two versions, `new` being as many times slower as `ratios` say, benchmark
    by benchmark."""
    rng = np.random.default_rng(seed)
    samples = {
        f"b{i}": [
            rng.normal(1, spread, (runs, 3)).tolist(),
            rng.normal(ratio, spread, (runs, 3)).tolist(),
        ]
        for i, ratio in enumerate(ratios)
    }
    times = perfarray.from_samples(
        samples, dim="benchmark", level=("version", "execution", "iteration")
    )
    return times.assign_coords(version=["old", "new"])


def test_a_difference_is_seen_and_its_side():
    """3 % on every benchmark: the smallest p there is on the right side, 1 on the other."""
    times = timings([1.03] * 5)
    for alternative, expected in (("two-sided", 2 / 501), ("less", 1.0), ("greater", 1 / 501)):
        assert times.perf.randomization_test("old", alternative=alternative, rng=1)[
            "pvalue"
        ].item() == pytest.approx(expected)
    assert times.perf.randomization_test("old", plus_one=False, rng=1)["pvalue"].item() == 0.0


def test_effects_that_cancel_are_not_seen_and_the_result_says_so():
    """Half the suite 5 % slower, half 5 % faster."""
    tests = timings([1.05, 1 / 1.05] * 3).perf.randomization_test("old", rng=1)
    assert tests["pvalue"].item() > 0.3
    assert "cancel" in tests.attrs["question"]


def test_units_are_exchanged_and_never_iterations():
    """Two executions a side have 6 exchanges, whatever their iterations; unit= makes the iterations
    the units, with a warning."""
    times = timings([1.1], runs=2)
    tests = times.perf.randomization_test("old", method="exact")
    assert tests["n_exchanges"].item() == 6
    assert tests["n"].item() == 2
    assert tests.attrs["unit"] == "execution"
    with pytest.warns(perfarray.PerfarrayWarning, match="Iterations are taken as independent"):
        assert (
            times.perf.randomization_test("old", method="exact", unit="iteration")[
                "n_exchanges"
            ].item()
            == 924
        )


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_shared_and_paired_units():
    """Shared units: one exchange for all benchmarks; pairs: swapped within, for all benchmarks
    unless it is said that none share them."""
    times = timings([1.0] * 3, runs=3)
    numbers = [
        times.perf.randomization_test("old", method="exact", **keywords)["n_exchanges"].item()
        for keywords in (
            {},
            {"shared": "execution"},
            {"paired": "execution"},
            {"shared": "execution", "paired": "execution"},
            {"shared": (), "paired": "execution"},
        )
    ]
    assert numbers == [20**3, 20, 2**3, 2**3, 2**9]


def test_pairs_that_serve_all_benchmarks():
    """Eight sessions of two equal versions whose effects 8 benchmarks share (0.5): 5 % are
    rejected, 3 standard errors; once 48 %."""
    rng, shape = np.random.default_rng(15), (2, 400, 8, 8)
    effects = rng.normal(size=shape) + rng.normal(size=(2, 400, 1, 8))
    dims, coords = (
        ("version", "cell", "benchmark", "session"),
        {"version": ["new", "old"], "session": range(8)},
    )
    times = xr.DataArray(
        1 + 0.01 * effects,
        dims=dims,
        coords=coords,
        name="time",
        attrs={"units": "s", "better": "lower"},
    )
    tests = times.perf.randomization_test("old", paired="session", method="exact")
    assert (tests["pvalue"] <= 0.05).mean() == pytest.approx(
        0.05, abs=3 * np.sqrt(0.05 * 0.95 / 400)
    )
    assert tests.attrs["benchmarks"] == "paired: session"


def test_few_pairs_are_said():
    """Four pairs have 16 exchanges, and no p below 0.125: a note names the ways out; benchmark by
    benchmark there are enough."""
    times = timings([1.0] * 3)
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"too few pairs of executions.*shared=\(\)"
    ) as caught:
        tests = times.perf.randomization_test("old", paired="execution", method="exact")
    assert [note.code for note in caught[0].message.notes] == ["few_exchanges"]
    assert tests["smallest_pvalue"].item() == 2 / 2**4
    alone = times.perf.randomization_test("old", paired="execution", shared=(), method="exact")
    assert alone.attrs["benchmarks"] == "independent (assumed)"


def test_identical_systems_have_p_one():
    """Twice the smaller share is capped."""
    times = timings([1.0] * 2)
    times["time"].loc[{"version": "new"}] = times["time"].sel(version="old")
    assert times.perf.randomization_test("old", rng=1)["pvalue"].item() == 1.0


def test_the_seed_decides_and_the_cell_has_its_own_numbers():
    """The same seed gives the same p; more replicates than a block holds make no difference in
    law."""
    times = timings([1.003] * 3)
    pvalues = [
        times.perf.randomization_test("old", rng=seed, n_resamples=2000)["pvalue"].item()
        for seed in (1, 1, 2)
    ]
    assert pvalues[0] == pvalues[1] != pvalues[2]
    exact = times.perf.randomization_test("old", method="exact")["pvalue"].item()
    pvalue = times.perf.randomization_test("old", rng=1, n_resamples=400_000)["pvalue"].item()
    assert pvalue == pytest.approx(exact, abs=4 * 2 * np.sqrt(0.25 / 400_000))


@pytest.mark.parametrize(
    ("keywords", "number"),
    [
        ({"rng": 1}, 500),
        ({"rng": 1, "alternative": "less", "plus_one": False}, 500),
        ({"method": "exact"}, 70**2),
        ({"method": "exact", "shared": "execution"}, 70),
        ({"method": "exact", "paired": "execution", "shared": ()}, 2**8),
    ],
)
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_every_exchange_can_be_kept(keywords, number):
    """p is counted from the ratios that are kept; nothing else changes, of lazy timings either, and
    the same seed gives the same."""
    times = timings([1.005, 1.0])
    plain = times.perf.randomization_test("old", **keywords)
    with_distribution = times.perf.randomization_test("old", distribution=True, **keywords)
    assert with_distribution.drop_dims("replicate").identical(plain)
    ratios, observed = (
        with_distribution["null_distribution"].values.ravel(),
        with_distribution["statistic"].item(),
    )
    assert ratios.shape == (number,)
    plus_one = 0 if keywords.get("method") == "exact" else int(keywords.get("plus_one", True))
    below, above = ((sign * ratios >= sign * observed - 1e-9).sum() + plus_one for sign in (-1, 1))
    share = (
        below
        if keywords.get("alternative") == "less"
        else min(number + plus_one, 2 * min(below, above))
    )
    assert with_distribution["pvalue"].item() == pytest.approx(share / (number + plus_one))
    lazy = times.chunk({"version": 1}).perf.randomization_test("old", distribution=True, **keywords)
    assert lazy["null_distribution"].chunks is not None
    np.testing.assert_array_equal(lazy["null_distribution"].values.ravel()[:number], ratios)


def test_exchanges_worked_by_hand():
    """Two runs against one: the ratio of every run to the geometric mean of the others; suites with
    fewer exchanges are filled up."""
    times = xr.DataArray(
        [[[1.0, 4.0], [2.0, np.nan]], [[8.0, np.nan], [1.0, np.nan]]],
        dims=("suite", "version", "execution"),
        coords={"version": ["old", "new"], "suite": ["a", "b"]},
        name="time",
        attrs={"units": "s"},
    )
    null_distribution = times.perf.randomization_test("old", method="exact", distribution=True)[
        "null_distribution"
    ].squeeze("version")
    assert null_distribution.dims == ("suite", "replicate")
    np.testing.assert_allclose(
        np.sort(null_distribution.sel(suite="a")), [1 / 8**0.5, 1.0, 4 / 2**0.5]
    )
    np.testing.assert_allclose(np.sort(null_distribution.sel(suite="b")), [1 / 8, 8, np.nan])

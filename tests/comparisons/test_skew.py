"""`method="skew_adjusted"`: one set with its test, on both sides of 1, and the notes that lead to
it."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from comparisons.arrays import in_seconds
from perfarray.timings.notes import collecting_notes

SKEWED = {"method": "skew_adjusted"}


def two_sides(experiments=None, n=10, spread=4.0, seed=1):
    """Exponential units of a noisier candidate against a baseline of the same mean."""
    shape = (n,) if experiments is None else (experiments, n)
    rng = np.random.default_rng(seed)
    dims = ("execution",) if experiments is None else ("experiment", "execution")
    return (
        in_seconds(100 + factor * (rng.exponential(size=shape) - 1), *dims).assign_attrs(units="1")
        for factor in (spread, 1.0)
    )


def test_it_covers_more_and_is_never_shorter():
    """Of 95 % Fieller covers 91 where ten exponential units have four times the spread; both see
    the same experiments."""
    new, old = two_sides(2000)
    plain, adjusted = (
        new.perf.ratio_interval(old, method=method) for method in ("fieller", "skew_adjusted")
    )
    assert ((adjusted["lower"] <= plain["lower"]) & (adjusted["upper"] >= plain["upper"])).all()
    gain = (adjusted["upper"] >= 1).mean() - (plain["upper"] >= 1).mean()
    assert 0.01 < gain < 0.03
    assert (
        float(((adjusted["upper"] - adjusted["lower"]) / (plain["upper"] - plain["lower"])).mean())
        < 1.12
    )


@pytest.mark.parametrize("paired", [None, "execution"])
def test_the_p_value_belongs_to_the_interval(paired):
    """At the level 1 - p one limit is 1; and so of the inverse, whose limits are the inverse
    ones."""
    (new, old), options = two_sides(n=12), SKEWED | {"paired": paired}
    new = (new + 3).assign_attrs(new.attrs)
    with np.errstate(all="raise"):
        verdicts = new.perf.compare(old, **options)
    inverse = old.perf.compare(new, **options)
    edge = new.perf.compare(old, confidence_level=1 - verdicts["pvalue"].item(), **options)
    assert min(abs(edge["lower"].item() - 1), abs(edge["upper"].item() - 1)) < 1e-9
    assert [1 / inverse["upper"].item(), 1 / inverse["lower"].item()] == pytest.approx(
        [verdicts["lower"].item(), verdicts["upper"].item()]
    )
    assert inverse["pvalue"].item() == pytest.approx(verdicts["pvalue"].item())
    assert new.perf.ratio_interval(old, **options)["upper"].item() == pytest.approx(
        verdicts["upper"].item(), rel=1e-12
    )


@pytest.mark.filterwarnings("ignore:.*rest on skewed executions")
def test_a_mean():
    """The side of the tail is the longer, by as much as the mean's skewness asks; a lazy array
    gives the same."""
    new, _ = two_sides(50, n=20)
    plain, adjusted = (new.perf.mean_interval(method=method) for method in ("t", "skew_adjusted"))
    assert (adjusted["upper"] > plain["upper"]).mean() > 0.8
    assert (adjusted["lower"] <= plain["lower"]).all()
    pytest.importorskip("dask")
    xr.testing.assert_allclose(
        new.chunk(experiment=7).perf.mean_interval(**SKEWED).compute(), adjusted
    )


def test_few_units_are_like_t():
    """Two units have no skewness; of three and four a note says that it cannot be seen."""
    times = perfarray.from_samples({"old": [10.0, 10.1], "new": [9.0, 9.3]})
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on two"):
        two, plain = (
            times.perf.ratio_interval("old", method=method)
            for method in ("skew_adjusted", "fieller")
        )
    assert two["upper"].item() == plain["upper"].item()
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.3, 8.9]})
    with pytest.warns(
        perfarray.PerfarrayWarning, match="so few do not show whether they are skewed"
    ):
        times.perf.compare("old", **SKEWED)


def test_skewed_units_are_named():
    """By every method but the one that counts with them; where both sides have like errors, or
    nothing is skewed, there is no note."""
    rng = np.random.default_rng(3)
    tail = np.concatenate([rng.normal(9, 0.1, 24), [14.0]])
    times = perfarray.from_samples({"old": rng.normal(10, 0.1, 25), "new": tail})
    for call in (
        lambda **how: times.perf.compare("old", **how),
        lambda **how: times.sel(version=["new"]).perf.mean_interval(**how),
    ):
        with pytest.warns(
            perfarray.PerfarrayWarning, match="method='skew_adjusted' covers 1 to 3 points more"
        ) as caught:
            result = call()
        assert [note.code for note in caught[0].message.notes] == ["skewed_units"]
        assert result["skewness"].max() > 0.4
        call(**SKEWED)
    skewed = perfarray.from_samples(
        {"old": np.random.default_rng(4).exponential(size=60)}, dim="benchmark"
    ).perf.mean_interval()
    assert skewed["skewness_pvalue"].item() < 0.001
    assert (
        0.2 < skewed["skewness"].item() < 0.4
    )  # the skewness of the mean of many units does no harm
    assert skewed.perf.notes() == ()
    assert (
        perfarray.from_samples({"old": tail + 1, "new": tail}).perf.compare("old").perf.notes()
        == ()
    )


def test_a_baseline_below_zero_mirrors_the_set():
    """The sign of the baseline turns the ratio round, and with it the longer side."""
    new, old = two_sides(200)
    verdicts, turned = (
        new.perf.ratio_interval((sign * old).assign_attrs(old.attrs), **SKEWED) for sign in (1, -1)
    )
    np.testing.assert_allclose(
        [turned["lower"], turned["upper"]], [-verdicts["upper"], -verdicts["lower"]], rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_sets_that_end_on_one_side_agree_with_their_test():
    """A baseline that may be near zero leaves a set from a lower limit on: that is then the one
    that decides."""
    sides = {"old": [0.03, 1.56, 1.59, 0.71], "new": [4.18, 2.36, 4.67, 9.5]}
    verdicts = perfarray.from_samples(sides).perf.compare("old", **SKEWED)
    assert verdicts["kind"].item() == "at_least"
    assert (
        (verdicts["lower"].item() > 1)
        == (verdicts["pvalue"].item() <= 0.05)
        == (verdicts["verdict"].item() == "slower")
    )


@pytest.mark.filterwarnings("ignore:.*executions are skewed")
def test_the_suite_row_is_said_to_be_unadjusted():
    """Of several benchmarks the suite row is that of t, as without the method, and a kept note says
    so; of one it is the benchmark's."""
    new, old = (side.rename(experiment="benchmark") for side in two_sides(5, n=12))
    verdicts, plain = (
        new.perf.compare(old, method=method, shared=()) for method in ("skew_adjusted", "fieller")
    )
    np.testing.assert_allclose(verdicts["suite_upper"], plain["suite_upper"])
    (note,) = [note for note in verdicts.perf.notes() if note.aside]
    assert note.code == "suite_unadjusted"
    assert "The suite row is not adjusted for skewness" in verdicts.perf.table().attrs["notes"][0]
    one_benchmark = new.isel(benchmark=[0]).perf.compare(old.isel(benchmark=[0]), **SKEWED)
    assert one_benchmark["suite_upper"].item() == one_benchmark["upper"].item()
    assert not any(note.aside for note in (*one_benchmark.perf.notes(), *plain.perf.notes()))


def test_the_suite_row_covers_as_much_as_its_benchmarks():
    """Exponential units: skewness averages out, so that t over five benchmarks covers no less than
    the adjusted limits of each."""
    rng = np.random.default_rng(3)
    samples = [100 + factor * (rng.exponential(size=(1500, 5, 10)) - 1) for factor in (4.0, 1.0)]
    new, old = (in_seconds(values, "experiment", "benchmark", "execution") for values in samples)
    verdicts = new.perf.compare(old, shared=(), **SKEWED)
    coverage, suite = (
        ((verdicts[f"{row}lower"] <= 1) & (verdicts[f"{row}upper"] >= 1)).mean().item()
        for row in ("", "suite_")
    )
    assert 0.91 < coverage < 0.94
    assert suite > coverage - 3 * np.sqrt(0.06 / 1500)


@pytest.mark.parametrize(("units", "lower"), [(3, 0.2), (5, 0.7), (9, 0.9)])
def test_benchmarks_of_few_skewed_units_are_named_together(units, lower):
    """Of 20 benchmarks of 3 to 9 lognormal units none shows that it is skewed, and all together do;
    normal units seldom, alone or alike."""
    rng, suites, benchmarks = np.random.default_rng(5), 60, 20

    def rate(draw):
        n_notes = 0
        for _ in range(suites):
            new, old = (
                xr.DataArray(1 + spread * draw(), dims=("benchmark", "execution"))
                for spread in (0.08, 0.02)
            )
            with collecting_notes() as notes:
                perfarray.compare(new, old)
            n_notes += any(
                note.code == "few_skewed_units" and note.values["cells"] > benchmarks / 2
                for note in notes
            )
        return n_notes / suites

    shape = (benchmarks, units)
    assert rate(lambda: rng.lognormal(0, 1, shape) - np.exp(0.5)) > lower
    assert rate(lambda: rng.standard_normal(shape)) <= 0.1
    assert (
        rate(
            lambda: (
                np.sqrt(0.8) * rng.standard_normal((1, units))
                + np.sqrt(0.2) * rng.standard_normal(shape)
            )
        )
        <= 0.1
    )

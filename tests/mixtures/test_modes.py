"""The number of modes, and how many of them the runs support."""

import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

import perfarray
from strategies import experiments

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture
def few_draws(monkeypatch):
    """Draw 39 samples of one mode, with which a test at 5 % is exact, and fit none again."""
    monkeypatch.setattr("perfarray.mixtures.modes.SAMPLES", 39)


def samples(values, dims=("benchmark", "execution")):
    """Return runs as timings."""
    array = xr.DataArray(values, dims=dims, name="time", attrs={"units": "s"})
    return array.assign_coords(benchmark=np.arange(len(array)))


def two_modes(size, distance, seed=1):
    """Return samples with half of the runs in each of two normal modes, so many of their standard
    deviations apart."""
    rng = np.random.default_rng(seed)
    return samples(10 + rng.standard_normal(size) + distance * (np.arange(size[-1]) % 2))


@pytest.mark.usefixtures("few_draws")
def test_modes_by_level():
    """Modes between executions are found there and not inside them, and the other way round."""
    rng = np.random.default_rng(1)
    between = rng.choice([1.0, 1.5], (30, 1)) + rng.normal(0, 0.02, (30, 20))
    inside = 1.0 + rng.choice([0.0, 0.5], (30, 20)) + rng.normal(0, 0.09, (30, 20))
    array = xr.DataArray(
        [between, inside],
        dims=("benchmark", "execution", "iteration"),
        coords={"benchmark": ["between", "inside"]},
    )
    result = perfarray.variability_level(array, by_level=True, rng=1)
    assert result["estimate"].sel(benchmark="between").values.tolist() == [2, 1]
    assert result["estimate"].sel(benchmark="inside", level="iteration") > 1
    assert result["estimate"].sel(benchmark="inside", level="execution") == 1
    assert result["supported"].all()
    assert result["n"].sel(benchmark="inside").values.tolist() == [30, 600]


def test_one_repetition_has_no_level_of_its_own():
    """A single iteration per execution shows no modes inside executions."""
    array = xr.DataArray(
        np.random.default_rng(1).normal(1, 0.1, (30, 1)), dims=("execution", "iteration")
    )
    result = perfarray.variability_level(array, by_level=True, rng=1)
    assert not result["supported"].sel(level="iteration")
    assert np.isnan(result["estimate"].sel(level="iteration"))


@pytest.mark.usefixtures("few_draws")
def test_one_mode_supports_no_more():
    """Of samples of eight skewed runs of one mode the density of most shows more, and the runs
    support more in at most 5 %."""
    count = experiments(150)
    result = samples(
        np.random.default_rng(8).lognormal(0, 0.25, (count, 8))
    ).perf.variability_level(rng=1)
    assert (result["estimate"] > 1).mean() > 0.5
    assert (result["n_supported"] > 1).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    assert ((result["estimate"] > 1) & result["supported"]).mean() < 0.05


@pytest.mark.usefixtures("few_draws")
def test_two_clear_modes_are_supported():
    """Of eight runs in two modes ten standard deviations apart, and of thirty six apart, most
    samples support two, and hardly any three."""
    for size, distance, share in (
        ((experiments(40), 8), 10.0, 0.7),
        ((experiments(40), 30), 6.0, 0.8),
    ):
        result = two_modes(size, distance).perf.variability_level(rng=1)
        assert (result["n_supported"] == 2).mean() > share
        assert (result["n_supported"] > 2).mean() <= 0.05


def test_groups_are_modes_and_outliers_are_not():
    """Three groups of twelve are three modes, with the least p of 199 draws; one or two runs far
    away are no mode."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(index, 0.01, 12) for index in (1.0, 1.2, 1.6)])
    result = samples(values[None]).perf.variability_level(rng=1)
    assert [result[name].item() for name in ("estimate", "n_supported", "supported", "pvalue")] == [
        3,
        3,
        True,
        1 / 200,
    ]
    for distant in (1, 2):
        values = np.append(rng.normal(1.0, 0.01, 30), np.linspace(2.0, 2.01, distant))
        result = samples(values[None]).perf.variability_level(rng=1)
        assert result["estimate"] > 1
        assert result["n_supported"] == 1


@pytest.mark.usefixtures("few_draws")
def test_units_that_differ_are_no_modes():
    """Four builds that differ show as modes of their runs; they are not supported, and as many runs
    of their own are."""
    rng = np.random.default_rng(3)
    count = experiments(24)
    values = rng.normal(1.0, 0.1, (count, 4, 1)) + rng.normal(0, 0.005, (count, 4, 10))
    nested = samples(values, ("benchmark", "binary", "execution")).perf.variability_level(rng=1)
    alone = samples(values.reshape(count, 40)).perf.variability_level(rng=1)
    assert (nested["estimate"] > 1).all()
    assert (nested["n_supported"] > 1).sum() <= 2
    assert (alone["n_supported"] > 1).mean() > 0.9


@pytest.mark.usefixtures("few_draws")
def test_rounded_runs_have_no_modes_for_it():
    """The gaps of a grid are no valleys: of samples of one mode rounded to half a standard
    deviation, hardly any support more."""
    values = np.round(2 * np.random.default_rng(1).standard_normal((experiments(40), 60))) / 2
    result = samples(10 + values).perf.variability_level(rng=1)
    assert (result["estimate"] > 1).mean() > 0.3
    assert (result["n_supported"] > 1).sum() <= 2


def test_what_there_is_to_say():
    """Modes that runs do not support, and modes that were not tested, are told; one mode is one,
    and supported."""
    small = samples([[1.0, 1.1, 1.15, 1.3, 1.32, 1.33, 1.5, 2.0]])
    with pytest.warns(perfarray.PerfarrayWarning) as caught:
        answer = small.perf.variability_level(rng=1)
    (note,) = caught[0].message.notes
    assert (note.code, note.values["cells"], answer["supported"].item()) == (
        "unsupported_modes",
        1,
        False,
    )
    for result in (
        small.perf.variability_level(n_resamples=0),
        perfarray.variability_level(small.perf.fit_mixture()),
    ):
        assert [note.code for note in result.perf.notes()] == ["few_runs"]
        assert not result["supported"]
        assert np.isnan(result[["n_supported", "pvalue"]].to_dataarray()).all()
    with warnings.catch_warnings(action="error"):
        first = samples([[1.0] * 4]).perf.variability_level(rng=1)
    assert [first[name].item() for name in ("estimate", "supported", "n_supported")] == [1, True, 1]
    assert np.isnan(first["pvalue"])
    (note,) = first.perf.notes()  # two modes need three runs each
    assert (note.code, note.aside, note.values["cells"]) == ("few_runs", True, 1)


def test_degenerate_cells():
    """No runs have no number; one run, and runs of a rate in float32, have one as any."""
    cells = samples([[np.nan] * 6, [1.0, *[np.nan] * 5], [1.0, 1.01, 1.02, 3.0, 3.01, 3.02]])
    result = cells.perf.variability_level(rng=1)
    assert_array_equal(result["estimate"], [np.nan, 1, 2])
    assert_array_equal(result["n_supported"], [np.nan, 1, 2])
    assert_array_equal(result["supported"], [False, True, True])
    rate = (
        cells.astype(np.float32)
        .assign_attrs(units="1/s", better="higher")
        .perf.variability_level(rng=1)
    )
    assert_array_equal(rate["n_supported"], result["n_supported"])


@pytest.mark.usefixtures("few_draws")
def test_streams_hang_on_labels():
    """Selecting, turning or chunking changes no number, and the key of a result gives it again."""
    times = two_modes((3, 12), 4.0)
    result = times.perf.variability_level(rng=1)
    xr.testing.assert_identical(
        times[[2, 0]].perf.variability_level(rng=1)["pvalue"], result["pvalue"][[2, 0]]
    )
    lazy = times.chunk(benchmark=1).perf.variability_level(rng=1)
    assert lazy["supported"].chunks is not None
    xr.testing.assert_equal(lazy.compute(), result)
    first = times.perf.variability_level()
    xr.testing.assert_identical(first, times.perf.variability_level(rng=first.attrs["rng_key"]))


@pytest.mark.usefixtures("few_draws")
def test_mixtures_are_counted():
    """Given mixtures have as many modes as those fitted on the way; by level, timings are
    needed."""
    times = two_modes((3, 12), 4.0)
    fit = times.perf.fit_mixture()
    assert_array_equal(
        perfarray.variability_level(fit)["estimate"],
        times.perf.variability_level(rng=1)["estimate"],
    )
    with pytest.raises(ValueError, match="by_level=True fits every level"):
        perfarray.variability_level(fit, by_level=True)

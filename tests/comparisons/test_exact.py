"""Metrics without noise: a reader or `declare` says so, and values never do."""

import itertools

import numpy as np
import pytest
import xarray as xr

import perfarray
from comparisons.arrays import in_seconds


def counts(old, new, *, better="lower"):
    """Return counts of two versions: an array of benchmarks, or of benchmarks and executions."""
    values = np.array([old, new], dtype=float)
    values = values[..., None] if values.ndim == 2 else values
    array = xr.DataArray(
        values,
        {"version": ["old", "new"], "benchmark": list("abcdefgh")[: values.shape[1]]},
        ("version", "benchmark", "execution"),
        name="instructions",
        attrs={"units": "1", "better": better},
    )
    return array.to_dataset()


def codes(result):
    return [note.code for note in result.perf.notes()]


def verdicts(result):
    return result["verdict"].squeeze("version").values.tolist()


@pytest.fixture
def exact():
    return counts([1_000_000, 2000, 333], [1_001_000, 2000, 300]).perf.declare(exact=True)


def test_any_difference_is_a_change(exact):
    """One run a side decides: .1 % more is slower, equal is equivalent, and there is no interval."""
    result = exact.perf.compare("old")
    assert verdicts(result) == ["slower", "equivalent", "faster"]
    assert (result["kind"] == "exact").all()
    for name in ("lower", "upper", "pvalue", "pvalue_adjusted", "difference_lower"):
        assert result[name].isnull().all()
    np.testing.assert_array_equal(result["estimate"][0], [1.001, 1.0, 300 / 333])
    np.testing.assert_array_equal(result["difference"][0], [1000, 0, -33])
    np.testing.assert_array_equal(result["not_slower"][0], [False, True, True])
    np.testing.assert_array_equal(result["n"][0], [1, 1, 1])
    ratio = np.prod([1.001, 300 / 333]) ** (1 / 3)
    np.testing.assert_allclose(result["suite_estimate"], [ratio])
    assert result["suite_verdict"].item() == "faster"
    assert result["suite_kind"].item() == "exact"
    assert codes(result) == ["exact"]


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_number_of_runs_is_no_change(statistic):
    """Nine runs of .1 and five of it are equal, whatever their sums are rounded to; so is what is
    printed."""
    for old, new in itertools.product((1, 3, 5, 7, 9), repeat=2):
        values = [[[0.1] * n + [np.nan] * (9 - n)] for n in (old, new)]
        array = xr.DataArray(
            np.reshape(values, (2, 1, 3, 3)),
            {"version": ["old", "new"], "benchmark": ["a"]},
            ("version", "benchmark", "execution", "iteration"),
            name="size",
            attrs={"units": "MB", "better": "lower"},
        )
        result = array.perf.declare(exact=True).perf.compare("old", statistic=statistic)
        assert verdicts(result) == ["equivalent"]
        assert result["suite_verdict"].item() == "equivalent"
        assert (result["estimate"] == 1).all()
        assert (result["suite_estimate"] == 1).all()
        assert (result["difference"] == 0).all()
        assert codes(result) == ["exact"]  # no doubt of an interval that is not there


def test_a_table_says_that_counts_are_exact(exact):
    table = exact.perf.compare("old").perf.table()
    assert table["change"].tolist() == [
        "1.001x slower (exact)",
        "unchanged (exact)",
        "1.110x faster (exact)",
        "1.035x faster (exact)",
    ]
    assert table["old -> new"].tolist()[:2] == ["1000000 -> 1001000", "2000 -> 2000"]
    assert table["n"].tolist() == ["1", "1", "1", "1"]
    assert table.attrs["about"] == "version new; exact, without intervals; n counts executions"
    assert "instructions is declared exact" in table.attrs["asides"][0]


def test_only_a_declaration_makes_values_exact(exact):
    """Whole numbers, equal ones too, are not taken as exact by themselves."""
    undeclared = counts([1_000_000, 2000, 333], [1_001_000, 2000, 300])
    for times in (undeclared, exact.perf.declare(exact=False)):
        with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution"):
            result = times.perf.compare("old")
        assert verdicts(result) == ["inconclusive"] * 3
        assert (result["kind"] != "exact").all()


def test_a_declaration_is_of_one_metric():
    """The other metrics of a Dataset stay as noisy as they are."""
    times = counts([10.0], [11.0]).assign(time=counts([10.0], [11.0])["instructions"])
    declared = times.perf.declare(exact=True, metric="instructions")
    assert declared["instructions"].attrs["exact"] == 1
    assert "exact" not in declared["time"].attrs
    with pytest.warns(perfarray.PerfarrayWarning, match="rest on one execution"):
        result = declared.perf.compare("old", metric=["instructions", "time"])
    assert result["verdict"].squeeze().values.tolist() == ["slower", "inconclusive"]
    array = times["instructions"].perf.declare(exact=True)
    assert verdicts(array.perf.compare("old")) == ["slower"]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.0005, ["slower", "equivalent", "faster"]),
        (0.001, ["equivalent", "equivalent", "faster"]),
        ({"a": 0.0, ...: 0.2}, ["slower", "equivalent", "equivalent"]),
    ],
)
def test_a_threshold_is_the_least_change(exact, threshold, expected):
    """A difference of exactly the threshold does not matter."""
    result = exact.perf.compare("old", threshold=threshold)
    assert verdicts(result) == expected
    thresholds = result.get("threshold", xr.full_like(result["n"], result.attrs["threshold"]))
    np.testing.assert_allclose(*xr.broadcast(result["smallest_change"].squeeze(), thresholds))


def test_more_may_be_better():
    result = counts([100.0, 50.0], [101.0, 49.0], better="higher")
    assert verdicts(result.perf.declare(exact=True).perf.compare("old")) == ["faster", "slower"]


def test_a_suite_of_balanced_changes_is_equivalent():
    """The rounding of logarithms is no change."""
    values = [1.0, 3.0, 7.0, 10.0], [3.0, 1.0, 70.0, 1.0]
    result = counts(*values).perf.declare(exact=True).perf.compare("old")
    assert verdicts(result) == ["slower", "faster", "slower", "faster"]
    assert result["suite_verdict"].item() == "equivalent"


@pytest.mark.filterwarnings("ignore:.*mean of 0:perfarray.PerfarrayWarning")
def test_from_and_to_zero():
    """Of counts of 0 there is no ratio, and the difference decides."""
    result = counts([0.0, 0.0, 5.0], [0.0, 3.0, 0.0]).perf.declare(exact=True).perf.compare("old")
    assert verdicts(result) == ["equivalent", "slower", "faster"]


@pytest.mark.filterwarnings("ignore:.*rest on one execution:perfarray.PerfarrayWarning")
def test_runs_that_differ_refute_the_declaration():
    """Then the ordinary analysis applies to all benchmarks beside, and a note names the culprit."""
    old = [[100.0, 100.0, 100.0], [50.0, 51.0, 49.0], [7.0, np.nan, np.nan]]
    new = [[101.0, 101.0, 101.0], [50.0, 51.0, 49.0], [8.0, np.nan, np.nan]]
    times = counts(old, new)
    with pytest.warns(perfarray.PerfarrayWarning, match="declared exact, but repeated runs"):
        result = times.perf.declare(exact=True).perf.compare("old")
    note = next(note for note in result.perf.notes() if note.code == "not_exact")
    assert note.values["names"] == ["b"]
    with pytest.warns(perfarray.PerfarrayWarning):
        ordinary = times.perf.compare("old")
    for name in ("estimate", "lower", "upper", "verdict", "kind", "pvalue", "suite_verdict"):
        xr.testing.assert_identical(result[name], ordinary[name])


def test_equal_repetitions_count_as_units():
    result = counts([[100.0] * 3], [[101.0] * 3]).perf.declare(exact=True).perf.compare("old")
    assert (result["n"].item(), verdicts(result)) == (3, ["slower"])
    assert codes(result) == ["exact"]


def test_what_varies_ratios_takes_the_ordinary_way():
    """Controls and sessions of other timings add an error to any ratio."""
    exact = counts([100.0, 100.0, 100.0], [101.0, 101.0, 102.0]).perf.declare(exact=True)
    for options in ({"between": (0.01, 10)}, {"controls": ["a", "b"]}):
        with pytest.warns(perfarray.PerfarrayWarning):
            result = exact.perf.compare("old", **options)
        assert (result["kind"] != "exact").all()
        assert "exact" not in codes(result)


def test_medians_and_corrections(exact):
    for options in ({"statistic": "median"}, {"correction": "holm"}, {"correction": "bh"}):
        result = exact.perf.compare("old", **options)
        assert verdicts(result) == ["slower", "equivalent", "faster"], options


def test_every_pair(exact):
    result = exact.perf.pairwise(dim="version")
    assert result["verdict"].sel(version="new", baseline="old").values.tolist() == [
        "slower",
        "equivalent",
        "faster",
    ]
    assert result["verdict"].sel(version="old", baseline="new").values.tolist() == [
        "faster",
        "equivalent",
        "slower",
    ]


def test_transposed_and_chunked(exact):
    """All paths agree, lazy ones too."""
    pytest.importorskip("dask")
    result = exact.perf.compare("old")
    for dims in itertools.permutations(exact["instructions"].dims):
        transposed = exact.transpose(*dims).perf.compare("old").transpose(*result.dims)
        xr.testing.assert_equal(transposed, result)
    lazy = exact.chunk(benchmark=1).perf.compare("old")
    for name in ("verdict", "kind", "suite_verdict", "estimate", "n"):
        xr.testing.assert_equal(lazy[name].compute(), result[name])
    assert "exact" in codes(lazy.compute())


def test_a_declaration_survives_selection_storage_and_joining(exact, tmp_path):
    pytest.importorskip("h5netcdf")
    exact.to_netcdf(tmp_path / "counts.nc", engine="h5netcdf")
    stored = xr.load_dataset(tmp_path / "counts.nc", engine="h5netcdf")
    joined = perfarray.join(*(stored.sel(version=[label]) for label in ("old", "new")))
    assert verdicts(joined.perf.compare("old")) == ["slower", "equivalent", "faster"]
    noisy = stored.sel(version=["new"]).perf.declare(exact=False)
    joined = perfarray.join(stored.sel(version=["old"]), noisy)
    assert "exact" not in joined["instructions"].attrs


def test_times_may_be_simulated():
    """A simulator's seconds are exact, and are written as times."""
    times = in_seconds([[[1.0e-6]], [[1.0005e-6]]], "version", "benchmark", "execution")
    table = times.perf.declare(exact=True).perf.compare("old").perf.table()
    assert table.iloc[0].tolist() == [
        "1.0000 us -> 1.0005 us",
        "1.0005x slower (exact)",
        "slower",
        "1",
    ]


def test_a_picture_has_filled_points(exact):
    pytest.importorskip("matplotlib")
    ax = exact.perf.compare("old").perf.plot()
    points = [line for line in ax.lines if line.get_gid() == "estimates"]
    assert points
    assert all(line.get_markerfacecolor() == line.get_color() for line in points)
    assert "exact, without intervals" in ax.get_xlabel()
    assert "hollow" not in ax.get_xlabel()

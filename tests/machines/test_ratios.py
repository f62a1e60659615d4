"""Machines relative to the median machine: by hand, holes, configurations, suites, tables, bad
input."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from shared_material import ARCHIVES, needs_archives


def scores(values, **coords):
    """Return scores of which more is better, along benchmarks and other dims in the order of the
    labels given."""
    return xr.DataArray(
        np.array(values, float), coords, tuple(coords), "ratio", {"better": "higher"}
    )


def test_ratios_by_hand():
    """Medians 2 and 4: ratios, geometric means over benchmarks, and geometric standard deviations
    over machines."""
    table = scores(
        [[1, 8], [2, 4], [4, 2]], machine=list("xyz"), benchmark=["fft", "sort"]
    ).assign_coords(cores=("machine", [1, 2, 4]))
    result = table.perf.machine_ratios()
    assert result["ratio"].values.tolist() == [[0.5, 2.0], [1.0, 1.0], [2.0, 0.5]]
    assert result["reference"].values.tolist() == [2.0, 4.0]
    np.testing.assert_allclose(result["mean_ratio"], 1.0)
    assert result["reach"].item() == pytest.approx(2.0)
    np.testing.assert_allclose(result["spread"], np.exp(np.log(2) * np.sqrt(2 / 3)))
    assert (result["cores"].dims, result.attrs["better"], result.attrs["metric"]) == (
        ("machine",),
        "higher",
        "ratio",
    )
    xr.testing.assert_allclose(table.T.perf.machine_ratios(), result)


def test_every_machine_counts_once():
    """A machine with three compilers has the median of these; a hole and a value that is not
    positive are NaN and leave the rest."""
    values = [
        [[1, 5], [2, np.nan], [9, 7]],
        [[4, 10], [np.nan] * 2, [np.nan] * 2],
        [[8, 0], [np.nan] * 2, [np.nan] * 2],
    ]
    table = scores(
        values, machine=list("xyz"), compiler=["gcc", "icc", "aocc"], benchmark=["fft", "sort"]
    )
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"^1 of 18 cells are 0 or negative: they have no ratio and are holes\.$",
    ):
        result = table.perf.machine_ratios()
    assert result["reference"].values.tolist() == [4.0, 8.0]  # of 2, 4, 8; and of 6, 10
    np.testing.assert_allclose(
        result["ratio"].sel(machine="x"), [[0.25, 0.625], [0.5, np.nan], [2.25, 0.875]]
    )
    assert result["mean_ratio"].sel(machine="z", compiler="gcc") == 2.0
    assert [note.message for note in result.perf.notes()[1:]] == [
        "2 of 10 values are holes, of 2 labels of 'machine': 'x', 'z'."
    ]
    printed = result.perf.table()
    assert printed.index.tolist() == [
        ("x", "gcc"),
        ("x", "icc"),
        ("x", "aocc"),
        ("y", "gcc"),
        ("z", "gcc"),
    ]
    assert printed.loc[("x", "icc")].tolist() == ["0.500x", "0.500x", "-"]
    assert printed.columns.tolist() == ["mean", "fft", "sort"]


def test_repetitions_are_summarised_and_chunks_change_nothing():
    """Medians of executions, or another statistic; lazy timings are computed."""
    pytest.importorskip("dask")
    times = perfarray.simulate(
        sizes={"execution": 5},
        variances={"execution": 0.01},
        dims={"machine": 4, "benchmark": 3},
        rng=1,
    )
    result = times.perf.machine_ratios()
    medians = times["time"].median("execution")
    np.testing.assert_allclose(
        result["ratio"].transpose(*medians.dims), medians / medians.median("machine")
    )
    xr.testing.assert_allclose(times.chunk(machine=1, benchmark=1).perf.machine_ratios(), result)
    smallest = times["time"].min("execution")
    np.testing.assert_allclose(
        times.perf.machine_ratios(statistic="best")["reference"], smallest.median("machine")
    )


def test_suites_have_their_own_medians():
    """Suites along their dim, with their own machines and benchmarks; a suite that one machine ran
    has no median machine and is named."""
    values = [[1, 2, np.nan, np.nan, 5], [3, 2, 8, 6, np.nan], [np.nan, np.nan, 4, 3, np.nan]]
    suites = ["int", "int", "fp", "fp", "one"]
    table = scores(values, machine=list("xyz"), benchmark=list("abcde")).assign_coords(
        suite=("benchmark", suites)
    )
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"1 of 3 along 'suite' have too little data \('one'\); in the last, 1 labels",
    ):
        result = table.perf.machine_ratios(by="suite")
    assert result["suite"].values.tolist() == ["int", "fp"]
    assert result["reference"].sel(suite="int", benchmark=["a", "b"]).values.tolist() == [2.0, 2.0]
    assert result["ratio"].sel(
        suite="fp", machine="y", benchmark=["c", "d"]
    ).values.tolist() == pytest.approx([4 / 3, 4 / 3])
    assert result["mean_ratio"].sel(suite="int").isnull().values.tolist() == [False, False, True]
    assert result.sel(suite="fp").perf.table().columns.tolist() == ["mean", "c", "d"]


@pytest.mark.parametrize(
    ("change", "keywords", "message"),
    [
        (
            lambda table: table[:1],
            {},
            "^1 labels of 'machine' have a positive value: a median machine needs two",
        ),
        (lambda table: table * np.nan, {}, "^0 labels of 'machine'"),
        (lambda table: table, {"samples": "computer"}, "samples 'computer' not found"),
        (lambda table: table, {"statistic": "mode"}, "statistic='mode' is not known"),
    ],
)
def test_bad_input(change, keywords, message):
    table = scores([[1, 8], [2, 4], [4, 2]], machine=list("xyz"), benchmark=["fft", "sort"])
    with pytest.raises(ValueError, match=message):
        change(table).perf.machine_ratios(**keywords)


@needs_archives
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_an_archive_of_163_results():
    """Every result of a suite is a row, and a machine near the middle has ratios near 1."""
    result = perfarray.read(ARCHIVES / "spec_txt").perf.machine_ratios(by="suite")
    integer = result.sel(suite="int2017_rate1")
    assert int(integer["mean_ratio"].count()) == 163
    machines = integer["ratio"].median(["compiler", "flags"])
    np.testing.assert_allclose(machines.median("machine").dropna("benchmark"), 1.0)

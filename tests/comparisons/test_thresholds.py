"""Thresholds that differ between verdicts: each row is that of a comparison with its own
threshold."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from comparisons.arrays import in_seconds

JUDGED = [
    "verdict",
    "pvalue",
    "pvalue_equivalent",
    "pvalue_not_slower",
    "not_slower",
    "smallest_change",
    "interval_agrees",
]


@pytest.fixture(scope="module")
def times():
    values = np.random.default_rng(1).normal(10, 0.05, (3, 3, 12))
    values *= np.array([[1.0, 1.03, 0.99], [1.0, 1.03, 0.97], [1.0, 1.0, 1.0]])[:, :, None]
    coords = {
        "benchmark": ["parse", "sort", "fft"],
        "version": ["old", "new", "next"],
        "group": ("benchmark", ["a", "a", "b"]),
    }
    return in_seconds(values, "benchmark", "version", "execution", **coords)


def check_rows(result, times, thresholds, **options):
    for benchmark, threshold in thresholds.items():
        expected = times.perf.compare("old", threshold=threshold, **options)
        for name in JUDGED:
            xr.testing.assert_identical(
                result[name].sel(benchmark=benchmark), expected[name].sel(benchmark=benchmark)
            )
        assert (result["threshold"].sel(benchmark=benchmark) == threshold).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "studentized", "rng": 3},
        {"statistic": "median"},
        {"statistic": "median", "method": "rank"},
    ],
    ids=str,
)
def test_each_row_is_that_of_its_own_threshold(times, options):
    result = times.perf.compare("old", threshold={"parse": 0.05, ...: 0.01}, **options)
    check_rows(result, times, {"parse": 0.05, "sort": 0.01, "fft": 0.01}, **options)


def test_suite_has_the_threshold_of_the_other_benchmarks(times):
    result = times.perf.compare("old", threshold={"parse": 0.05, ...: 0.01})
    expected = times.perf.compare("old", threshold=0.01)
    for name in ("suite_verdict", "suite_pvalue"):
        xr.testing.assert_identical(result[name], expected[name])
    assert result["suite_threshold"].item() == result.attrs["threshold"] == 0.01


@pytest.mark.parametrize("kind", [dict, pd.Series, xr.DataArray])
def test_kinds_of_thresholds_agree(times, kind):
    numbers = {"parse": 0.05, "sort": 0.02, "fft": 0.02}
    thresholds = (
        xr.DataArray(pd.Series(numbers).rename_axis("benchmark"))
        if kind is xr.DataArray
        else kind(numbers)
    )
    check_rows(times.perf.compare("old", threshold=thresholds), times, numbers)


def test_array_lies_along_any_dim_of_the_verdicts_and_the_suite_has_its_mean(times):
    coords = {"benchmark": ["fft", "sort", "parse"], "version": ["next", "new"]}
    thresholds = xr.DataArray(
        [[0.01, 0.02], [0.01, 0.02], [0.04, 0.05]], dims=("benchmark", "version"), coords=coords
    )
    result = times.perf.compare("old", threshold=thresholds)
    expected = times.perf.compare("old", threshold=0.05)
    verdicts, wide = (answer["verdict"].sel(version="new") for answer in (result, expected))
    assert verdicts.sel(benchmark="parse") == wide.sel(benchmark="parse") == "equivalent"
    assert verdicts.sel(benchmark="sort") == "slower"
    assert result["suite_threshold"].sel(version=["new", "next"]).values.tolist() == pytest.approx(
        [0.03, 0.02]
    )


def test_corrections_hold_for_the_family_of_all_thresholds(times):
    result = times.perf.compare("old", threshold={"parse": 0.05, ...: 0.01}, correction="holm")
    assert result["pvalue_adjusted"].min().item() == pytest.approx(
        6 * result["pvalue"].min().item()
    )


def test_lazy_timings_and_pairs_and_suites_know_thresholds(times):
    ask = {"threshold": {"parse": 0.05, ...: 0.01}}
    result, suites = times.perf.compare("old", **ask), times.perf.compare("old", **ask, by="group")
    xr.testing.assert_equal(
        times.chunk({"benchmark": 1}).perf.compare("old", **ask).compute()[JUDGED], result[JUDGED]
    )
    pairs = times.perf.pairwise(dim="version", **ask).sel(baseline="old", version=["new", "next"])
    assert (
        (pairs["verdict"] == result["verdict"]) & (suites["verdict"] == result["verdict"])
    ).all()
    assert (suites["suite_threshold"] == 0.01).all()


def test_table_and_picture_show_the_threshold_of_each_row(times):
    result = times.perf.compare("old", threshold={"parse": 0.05, ...: 0.01}).sel(version="new")
    assert result.perf.table()["threshold"].tolist() == ["5 %", "1 %", "1 %", "1 %"]
    widths = [
        bar.get_width()
        for container in result.perf.plot().containers
        for bar in getattr(container, "patches", [])
    ]
    assert widths == pytest.approx([0.1, 0.02, 0.02, 0.02])


@pytest.mark.parametrize(
    ("threshold", "facts"),
    [
        ({"pars": 0.05}, "'pars'.*'benchmark'.*'parse'"),
        ({"parse": 2}, "threshold=2 is out of range"),
        (xr.DataArray([0.1], dims="machine"), "'machine' not found"),
        (
            xr.DataArray([0.1], dims="benchmark", coords={"benchmark": ["parse"]}),
            "missing for some labels",
        ),
        ("a", "threshold='a'"),
    ],
    ids=["label", "range", "dim", "missing", "text"],
)
def test_bad_thresholds_are_refused(times, threshold, facts):
    with pytest.raises(ValueError, match=facts):
        times.perf.compare("old", threshold=threshold)

"""Copies of other results: the score of their cells, and no measurements. A peak of SPEC that
reuses its base has the ratio 1."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import spec_pair, spec_result, write
from shared_material import ARCHIVES, needs_archives

SECONDS = {
    "410.alpha": ((40.0, 38.0), (40.2, 38.1), (40.1, 37.9)),
    "433.beta": ((21.0, 21.0), (22.0, 22.0), (21.5, 21.5)),
    "470.gamma": ((31.0, 30.0), (31.2, 30.1), (31.1, 29.9)),
}
"""Seconds of base and peak; the peak of the second is its base."""

LOG_RATIOS = {
    name: np.log(np.divide(*(np.mean([8 / run[side] for run in runs]) for side in (1, 0))))
    for name, runs in SECONDS.items()
}
SUITE = np.exp(sum(LOG_RATIOS.values()) / 3)

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


@pytest.fixture
def times(tmp_path):
    """Return the result of one machine."""
    rows = [
        spec_pair(name, 8, base, peak, k)
        for name, runs in SECONDS.items()
        for k, (base, peak) in enumerate(runs, 1)
    ]
    return perfarray.read(
        write(tmp_path / "result.csv", spec_result(rows, score="SPECfp_rate_base2006"))
    )


def measured_twice(times):
    """Return timings without the benchmark that is copied."""
    return times.sel(benchmark=["410.alpha", "470.gamma"])


def of_suite(verdicts, name):
    """Return a variable of the suite row."""
    return verdicts[f"suite_{name}"].item()


@pytest.mark.parametrize(
    ("statistic", "mean"), [("mean", "geometric"), ("median", "geometric"), ("min", "arithmetic")]
)
def test_scores_count_copies(times, statistic, mean):
    """Base keeps all its benchmarks, and the ratio of both scores is the ratio that SPEC
    publishes."""
    scores = times.perf.suite_score(statistic=statistic, mean=mean)
    assert scores.attrs["n_benchmarks"] == 3
    assert "unmatched" not in scores.attrs
    base = (
        times.sel(tuning=["base"])
        .drop_vars("copied")
        .perf.suite_score(statistic=statistic, mean=mean)
    )
    assert scores["estimate"].sel(tuning="base").item() == base["estimate"].item()
    method = {"method": "t"} if statistic == "mean" else {"method": "percentile", "rng": 1}
    ratio = times.perf.score_ratio_interval("base", statistic=statistic, mean=mean, **method)
    of_scores = scores["estimate"].sel(tuning="peak") / scores["estimate"].sel(tuning="base")
    assert ratio["estimate"].item() == pytest.approx(of_scores.item(), rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"correction": "holm"},
        {"prior": "suite"},
        {"method": "bca", "rng": 1},
        {"paired": "execution"},
        {"shared": "execution"},
        {"threshold": {"410.alpha": 0.05, ...: 0.01}},
        {"between": (0.01, 5)},
    ],
    ids=str,
)
def test_the_suite_row_counts_a_copy_as_ratio_1(times, options):
    """Three benchmarks, one with a log ratio of 0; rows are those without it, and have no test of
    it."""
    verdicts = times.perf.compare("base", dim="tuning", **options)
    assert of_suite(verdicts, "estimate") == pytest.approx(SUITE, rel=1e-9)
    assert of_suite(verdicts, "benchmarks") == 3
    assert "unmatched" not in verdicts.attrs
    copy = verdicts.sel(benchmark="433.beta")
    assert copy["pvalue"].isnull().all()
    assert copy["estimate"].isnull().all()
    assert copy["verdict"].item() == "inconclusive"
    if "prior" in options:
        return  # the runs of base are measurements, and teach the prior
    alone = measured_twice(times).perf.compare("base", dim="tuning", **options)
    for name in ("estimate", "lower", "upper", "pvalue", "pvalue_adjusted"):
        np.testing.assert_array_equal(verdicts[name].dropna("benchmark"), alone[name])


def test_a_copy_has_no_variance_of_its_own(times):
    """The squared error of the suite is that of the two measured benchmarks, over 3 squared; the
    score ratio has the same limits."""
    verdicts, ratio = (
        times.perf.compare("base", dim="tuning"),
        times.perf.score_ratio_interval("base"),
    )
    alone = measured_twice(times).perf.score_ratio_interval("base")
    assert ratio["standard_error"].item() == pytest.approx(
        alone["standard_error"].item() * 2 / 3, rel=1e-9
    )
    assert ratio["df"].item() == pytest.approx(alone["df"].item(), rel=1e-9)
    limits = [of_suite(verdicts, name) for name in ("lower", "estimate", "upper")]
    assert limits == pytest.approx(
        [ratio[name].item() for name in ("lower", "estimate", "upper")], rel=1e-9
    )
    interval = times.perf.score_ratio_interval("base", method="bca", rng=1)
    assert interval["lower"] < SUITE < interval["upper"]


def test_the_note_names_what_is_copied(times):
    """It says that peak is its base, by the benchmark, and what to do."""
    for result in (
        times.perf.compare("base", dim="tuning"),
        times.perf.score_ratio_interval("base"),
    ):
        (note,) = [note for note in result.perf.notes() if note.code == "copied"]
        assert note.message.startswith(
            "peak is its base in 1 cell: '433.beta'. Copies count in the suite and are not tested."
        )
        assert note.values == {"cells": 1, "names": ["433.beta"]}
    sides = [times.sel(tuning=label, drop=True) for label in ("peak", "base")]
    result = sides[0].perf.compare(sides[1])
    assert of_suite(result, "estimate") == pytest.approx(SUITE, rel=1e-9)
    assert "the candidate is a copy of its baseline in 1 cell" in " ".join(
        note.message for note in result.perf.notes()
    )


def test_copies_of_something_else_vary_as_their_runs_do(times):
    """The peaks of two machines are compared by their scores; the copied base of one is a
    measurement of that machine."""
    ratio = (times["ratio"] * np.array([0.9, 0.91, 0.92])).assign_attrs(
        times["ratio"].attrs
    )  # old versions of xarray drop them
    slower = times.assign(ratio=ratio).assign_coords(machine=["Box 2"])
    verdicts = slower.sel(tuning="peak").perf.compare(times.sel(tuning="peak"))
    measured = (
        slower.sel(tuning="peak")
        .drop_vars("copied")
        .perf.compare(times.sel(tuning="peak").drop_vars("copied"))
    )
    for name in ("estimate", "lower", "upper", "benchmarks"):
        assert of_suite(verdicts, name) == pytest.approx(of_suite(measured, name), rel=1e-12)
    assert verdicts["estimate"].notnull().sum() == 2
    assert "a side is a copy of another result in 1 cell: '433.beta'" in " ".join(
        note.message for note in verdicts.perf.notes()
    )


def test_nothing_is_tested_where_all_is_copied(times):
    """A suite of nothing but its own copies has the ratio 1 and no limits."""
    verdicts = times.sel(benchmark=["433.beta"]).perf.compare("base", dim="tuning")
    assert (
        of_suite(verdicts, "estimate"),
        of_suite(verdicts, "benchmarks"),
        of_suite(verdicts, "verdict"),
    ) == (1, 1, "inconclusive")
    assert np.isnan([of_suite(verdicts, name) for name in ("lower", "upper", "pvalue")]).all()


def test_cells_with_measurements_leave_copies_out(times):
    """A copy says nothing beside a measurement: of a cell with both, the measured runs are the
    score."""
    first = times["copied"] & (xr.DataArray(np.arange(3), dims="execution") == 0)
    ratio = (
        times["ratio"].sel(benchmark="433.beta", tuning="peak").isel(execution=[1, 2]).mean().item()
    )
    one_benchmark = times.assign_coords(copied=first).sel(benchmark=["433.beta"]).perf.suite_score()
    assert one_benchmark["estimate"].sel(tuning="peak").item() == pytest.approx(ratio)
    assert one_benchmark.attrs["n_copied"] == 1
    verdicts = times.assign_coords(copied=first).perf.compare("base", dim="tuning")
    assert verdicts["estimate"].notnull().all()
    assert "copied" not in [note.code for note in verdicts.perf.notes()]


def test_means_of_a_copy_are_its_scores(times):
    """The row of a copy has the mean or median of both sides, the same, and a difference of 0."""
    for statistic in ("mean", "median"):
        row = times.perf.compare("base", dim="tuning", statistic=statistic).sel(
            benchmark="433.beta"
        )
        score = getattr(times["ratio"].sel(benchmark="433.beta", tuning="base"), statistic)().item()
        sides = [row[f"{side}_{statistic}"].item() for side in ("candidate", "baseline")]
        assert sides == [score, score]
        assert row["difference"].item() == 0


def test_all_paths_agree(times):
    """Lazy values and marks, other orders of dims, ragged cells and all pairs of tunings give the
    same suite row."""
    expected = of_suite(times.perf.compare("base", dim="tuning"), "upper")
    longer = xr.concat([times, times.isel(execution=[0]).where(False)], "execution").assign_coords(
        execution=range(4)
    )
    longer["copied"] = longer["copied"].fillna(False).astype(bool)
    lazy = times.chunk({"benchmark": 1})
    marked = lazy.assign_coords(copied=times["copied"].chunk({"benchmark": 1}))
    for data in (longer, lazy, marked, times.transpose("execution", "tuning", ...), times["ratio"]):
        assert of_suite(
            data.perf.compare("base", dim="tuning").compute(), "upper"
        ) == pytest.approx(expected, rel=1e-12)
    upper = times.perf.pairwise(dim="tuning")["suite_upper"].sel(tuning="peak", baseline="base")
    assert upper.item() == pytest.approx(expected, rel=1e-12)
    assert marked.perf.score_ratio_interval("base").compute()["upper"].item() == pytest.approx(
        expected, rel=1e-9
    )
    assert marked.perf.suite_score().compute().equals(times.perf.suite_score())


def test_distributions_of_scores_have_copies_in(times):
    """The peak of a copied benchmark is drawn as that of its base is."""
    five = times.perf.five_number_summary(rng=1)
    assert five.attrs["n_benchmarks"] == 3
    summary_with_copies = times.drop_vars("copied").perf.five_number_summary(rng=1)
    assert five["median"].equals(summary_with_copies["median"])


def test_tests_leave_copies_out(times):
    """A copy is no evidence: tests rest on what was measured twice."""
    for name in ("randomization_test", "hierarchical_performance_test"):
        result = getattr(times.perf, name)(
            "base", **({"rng": 1} if name.startswith("rand") else {})
        )
        assert "433.beta" in result.attrs["unmatched"]


@needs_archives
@pytest.mark.parametrize(("name", "base", "peak", "benchmarks"), [
    ("cint2006-example.csv", 38.121805, 42.5491, 12),
    ("cfp2006-example.csv", 66.515561, 70.6859, 17),
    ("cint2006-rates-example.csv", 416.443094, 432.0860, 12),
])  # fmt: skip
def test_published_scores(name, base, peak, benchmarks):
    """The score of base is the published one, whatever peak copies, and the suite row is peak /
    base."""
    times = perfarray.read(ARCHIVES / "spec_csv" / "EstebanMonge_speccpu2006" / name)
    scores = times.perf.suite_score(statistic="median")["estimate"]
    np.testing.assert_allclose(
        [scores.sel(tuning=label).item() for label in ("base", "peak")], [base, peak], rtol=2e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdicts = times.perf.compare("base", dim="tuning", statistic="median")
    assert of_suite(verdicts, "benchmarks") == benchmarks
    assert of_suite(verdicts, "estimate") == pytest.approx(peak / base, rel=2e-6)

"""What a suite row does not show: a factor common to all benchmarks, and changes that cancel."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from perfarray.comparisons.numerics.shifts import common_shift

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "common_shift.py"


def suite(ratios, executions=12, seed=3):
    """Return two versions of benchmarks with 1 % noise, whose new times are the ratios."""
    log_times = 0.01 * np.random.default_rng(seed).standard_normal((2, len(ratios), executions))
    log_times[1] += np.log(ratios)[:, None]
    coords = {
        "version": ["old", "new"],
        "benchmark": [f"b{number}" for number in range(len(ratios))],
    }
    return xr.DataArray(
        np.exp(log_times),
        dims=("version", "benchmark", "execution"),
        coords=coords,
        attrs={"units": "s"},
        name="time",
    )


def note(result, code):
    return next((note for note in result.perf.notes() if note.code == code), None)


@pytest.mark.parametrize(
    "options",
    [{}, {"threshold": 0.1}, {"correction": "holm"}, {"statistic": "median"}, {"prior": "suite"}],
)
def test_all_benchmarks_move_by_one_factor(options):
    """Sixteen benchmarks are 4 % slower: the note has the factor and its limits, whatever decides
    the verdicts."""
    values = note(suite([1.04] * 16).perf.compare("old", **options), "common_shift").values
    assert values["lower"] < 1.04 < values["upper"]
    assert values["upper"] - values["lower"] < 0.01
    assert (values["benchmarks"] >= 15, values["of"]) == (True, 16)


def test_some_may_move_by_more():
    """Two of sixteen that are slower by much more do not hide the factor of the others."""
    shift_note = note(suite([1.04] * 14 + [1.2, 1.3]).perf.compare("old"), "common_shift")
    assert shift_note.message.startswith("14 of 16 benchmarks moved by one factor: 1.0")
    assert shift_note.aside


@pytest.mark.parametrize(
    "ratios",
    [
        [1.0] * 16,
        [1.04] * 8 + [1.0] * 8,
        [1.04] * 8 + [0.96] * 8,
        np.linspace(1, 1.08, 16),
        [1.04] * 4,
    ],
)
def test_parts_of_a_suite_have_no_common_factor(ratios):
    """Nothing changed, half of the benchmarks, both ways, by other factors, or there are too few:
    no note."""
    assert note(suite(ratios).perf.compare("old"), "common_shift") is None


def test_several_comparisons_are_counted():
    """Of three labels two have moved: one note counts them; among machines that are compared the
    factor is the answer."""
    first, second = suite([1.05] * 8), suite([1.02] * 8, seed=5)
    times = xr.concat(
        [first, second.sel(version=["new"]).assign_coords(version=["newer"])], "version"
    )
    assert (
        "in 2 of 2 comparisons, in one of them: 1.05"
        in note(times.perf.compare("old"), "common_shift").message
    )
    assert (
        note(times.rename(version="machine").perf.compare("old", dim="machine"), "common_shift")
        is None
    )


def test_a_suite_in_memory_and_lazy_has_the_same_note():
    """The check is of the answer, so that a lazy one has it when it is computed."""
    pytest.importorskip("dask")
    times = suite([1.04] * 8)
    lazy = times.chunk({"benchmark": 2}).perf.compare("old").compute()
    eager_values, lazy_values = (
        dict(note(answer, "common_shift").values) for answer in (times.perf.compare("old"), lazy)
    )
    assert lazy_values.pop("controls") == eager_values.pop("controls")
    assert lazy_values == pytest.approx(eager_values)


def test_ratios_that_are_missing_or_exact():
    """Benchmarks without a ratio do not count; ratios without noise agree where they are equal."""
    exact = common_shift(
        np.log([[1.1] * 6, [1.1] * 3 + [1.0] * 3]), np.zeros((2, 6)), np.full((2, 6), 4.0)
    )
    assert exact.common.tolist() == [True, False]
    with_gap = common_shift(np.log([1.1] * 5 + [np.nan]), np.full(6, 0.001), np.full(6, 4.0))
    assert (with_gap.common.item(), with_gap.benchmarks.item()) == (True, 5)
    assert not common_shift(np.full(6, np.nan), np.full(6, np.nan), np.full(6, 4.0)).common


def test_a_benchmark_that_stayed_counts_more_than_one_that_moved_further():
    """One of seven that hardly moved leaves no common factor; one that moved by more does."""
    logs = np.log([[1.04] * 6 + [1.2], [1.04] * 6 + [1.001]])
    shift = common_shift(logs, np.full((2, 7), 1e-3), np.full((2, 7), 20.0))
    assert shift.benchmarks.tolist() == [6, 6]
    assert shift.common.tolist() == [True, False]


def test_the_error_of_a_common_factor_is_that_of_a_mean():
    """Where benchmarks vary by more than their noise it is their standard deviation over sqrt(n)."""
    logs = np.array([0.09, 0.10, 0.10, 0.11, 0.12])
    shift = common_shift(logs, np.full(5, 1e-6), np.full(5, 20.0))
    np.testing.assert_allclose([shift.shift, shift.df], [0.104, 4])
    np.testing.assert_allclose(shift.error, np.std(logs, ddof=1) / np.sqrt(5))


def test_changes_that_cancel_are_counted_beneath_the_suite_row():
    """Three of eighteen are 15 % slower and three as much faster: the suite row is equivalent, and
    the note counts them."""
    times = suite([1.15] * 3 + [1 / 1.15] * 3 + [1.0] * 12)
    rows_note = note(times.perf.compare("old", threshold=0.03), "rows_differ")
    assert rows_note.values == {"slower": 3, "faster": 3, "suites": 1}
    assert "equivalent, with 3 slower, 3 faster beneath" in rows_note.message
    assert note(suite([1.0] * 18).perf.compare("old", threshold=0.05), "rows_differ") is None


def test_each_suite_has_its_own():
    """With `by=` the note is of the suite rows, and names the suite."""
    groups = xr.DataArray(["moved"] * 8 + ["same"] * 8, dims="benchmark")
    times = suite([1.04] * 8 + [1.0] * 8).assign_coords(group=groups)
    assert note(times.perf.compare("old", by="group"), "common_shift").message.startswith(
        "moved: All 8 benchmarks"
    )


def test_how_often_the_note_comes():
    """The table of the page holds: seldom where nothing or a half changed, mostly where all did."""
    spec = importlib.util.spec_from_file_location("common_shift", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rng = np.random.default_rng(8)
    for change, low, high in (
        ("the same", 0, 0.02),
        ("half 1 %", 0, 0.1),
        ("half 3 %", 0, 0.05),
        ("all 3 %", 0.95, 1),
    ):
        assert low <= script.share_of_notes(rng, change, 20, 5, experiments=200) <= high


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("options", [{}, {"shared": "execution"}, {"paired": "execution"}])
def test_the_suite_row_is_the_t_interval_of_the_scores(noise, options):
    """Of several benchmarks it has the limits and df of `score_ratio_interval`; a benchmark that
    one side lacks adds nothing to either, even where nothing varies."""
    times = suite([1.04, 1.02, 0.97, 1.3])
    times = times if noise else times.mean("execution").broadcast_like(times).transpose(*times.dims)
    times = times.where((times["version"] == "old") | (times["benchmark"] != "b1"))
    row = times.perf.compare("old", **options)
    score = times.perf.score_ratio_interval("old", method="t", **options)
    for name in ("estimate", "lower", "upper", "df", "n"):
        np.testing.assert_allclose(row[f"suite_{name}"], score[name], rtol=1e-12, err_msg=name)

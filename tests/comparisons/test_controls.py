"""Controls: benchmarks that the change cannot touch, which the others are compared with."""

import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from comparisons.arrays import in_seconds

SCRIPT = Path(__file__).parents[2] / "docs" / "scripts" / "controls.py"
MEASURED = [
    "estimate",
    "lower",
    "upper",
    "df",
    "pvalue",
    "verdict",
    "suite_estimate",
    "suite_upper",
]


def suite(ratios, *, controls=4, executions=10, noise=0.01, seed=3):
    """Return two versions of controls and of benchmarks, whose new times are the ratios."""
    rng = np.random.default_rng(seed)
    logs = noise * rng.standard_normal((2, len(ratios), executions))
    logs[1] += np.log(ratios)[:, None]
    names = [f"io_{number}" for number in range(controls)]
    names += [f"b{number}" for number in range(len(ratios) - controls)]
    return in_seconds(np.exp(logs), "version", "benchmark", "execution", benchmark=names)


def note(result, code):
    return next((note for note in result.perf.notes() if note.code == code), None)


@pytest.fixture(scope="module")
def times():
    return suite([1.03, 1.035, 1.025, 1.03, 1.03, 1.08])


# Worked by hand


def test_ratios_are_relative_to_the_geometric_mean_of_those_of_the_controls(times):
    raw, result = times.perf.compare("old"), times.perf.compare("old", controls="io_*")
    common = np.exp(np.log(raw["estimate"].sel(version="new")[:4]).mean())
    np.testing.assert_allclose(result["control_estimate"], [common])
    np.testing.assert_allclose(result["estimate"][0, 4:], raw["estimate"][0, 4:] / common)
    np.testing.assert_allclose(result["raw_estimate"], raw["estimate"])
    np.testing.assert_allclose(
        result["suite_estimate"], np.exp(np.log(result["estimate"][0, 4:]).mean())
    )
    assert result["suite_benchmarks"].item() == 2


def test_error_holds_the_noise_of_the_controls_once():
    """Controls of ratios 1.02 and 1 / 1.02 without noise of their own vary by twice the square of
    log 1.02. With it in full, and half of it again, in the error of a benchmark without noise, the
    limits are those of t on one degree of freedom."""
    values = np.array([[[1.0, 1.0]] * 3, [[1.02] * 2, [1 / 1.02] * 2, [1.5] * 2]])
    times = in_seconds(values, "version", "benchmark", "execution", benchmark=["a", "b", "c"])
    with warnings.catch_warnings(action="ignore"):  # of no spread
        result = times.perf.compare("old", controls=["a", "b"])
    variance = 2 * np.log(1.02) ** 2
    half = stats.t(1).ppf(0.975) * np.sqrt(variance * (1 + 1 / 2))
    np.testing.assert_allclose(result["upper"].sel(benchmark="c"), 1.5 * np.exp(half))
    np.testing.assert_allclose(result["df"].sel(benchmark="c"), 1)
    np.testing.assert_allclose(result["control_standard_deviation"], np.sqrt(variance))


def test_controls_keep_their_ratios_and_have_no_verdict(times):
    raw = times.perf.compare("old", method="log_delta")
    result = times.perf.compare("old", controls=["io_0", "io_1", "io_2", "io_3"])
    for name in ("estimate", "lower", "upper", "df", "n"):
        np.testing.assert_array_equal(result[name][0, :4], raw[name][0, :4])
    assert result["control"].values.tolist() == [True] * 4 + [False] * 2
    assert (result["verdict"][0, :4] == "control").all()
    assert result["interval_agrees"][0, :4].all()
    for name in ("pvalue", "pvalue_adjusted", "pvalue_equivalent", "smallest_change"):
        assert np.isnan(result[name][0, :4]).all()
    assert not result["not_slower"][0, :4].any()


def test_verdict_is_on_what_is_left_without_the_common_shift(times):
    """All benchmarks are 3 % slower, one of them 8 %: it alone is slower beside the controls."""
    assert (times.perf.compare("old")["verdict"] == "slower").all()
    verdicts = times.perf.compare("old", controls="io_*")["verdict"].sel(version="new")
    assert verdicts[4:].values.tolist() == ["inconclusive", "slower"]


def test_pvalues_agree_with_limits(times):
    """At the level of a limit's p-value, the limit lies on the band."""
    result = times.perf.compare("old", controls="io_*", threshold=0.01).isel(benchmark=5)
    p = result["pvalue"].item()
    half = np.log(result["upper"] / result["estimate"])
    error = half / stats.t(result["df"]).ppf(0.975)
    distance = np.log(result["estimate"] / 1.01) / error
    assert 2 * stats.t(result["df"]).sf(distance).item() == pytest.approx(p)


# Who are controls


@pytest.mark.parametrize(
    "controls", ["io_*", "io_?", ["io_[0-9]", "io_*"][1:], ("io_0", "io_1", "io_2", "io_3")]
)
def test_patterns_and_labels_name_the_same(times, controls):
    expected = times.perf.compare("old", controls=[f"io_{number}" for number in range(4)])
    result = times.perf.compare("old", controls=controls)
    xr.testing.assert_identical(result[MEASURED], expected[MEASURED])


def test_brackets_of_a_pattern_stand_for_themselves():
    times = suite([1.0, 1.0, 1.2], controls=2).assign_coords(benchmark=["a[1]", "a[2]", "a1"])
    result = times.perf.compare("old", controls="a[*]")
    assert result["control"].values.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controls": "disk_*"}, "controls='disk_*' is no label, and no label is like it"),
        ({"controls": ["io_*", "disk"]}, "The labels are 'io_0', 'io_1'"),
        ({"controls": []}, "0 controls measured on both sides"),
        ({"controls": "io_0"}, "1 control measured on both sides. What controls vary by needs"),
        ({"controls": "*"}, "all 6 labels along 'benchmark' are controls"),
        ({"statistic": "median"}, "controls= is for ratios of means"),
        ({"method": "fieller"}, "method='fieller' has others"),
        ({"method": "studentized"}, "choose method='log_delta'"),
        ({"between": (0.01, 5)}, "controls= does not go with between="),
    ],
    ids=str,
)
def test_messages(times, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        times.perf.compare("old", **{"controls": "io_*", **options})


def test_a_single_benchmark_has_no_controls(times):
    with pytest.raises(ValueError, match="the timings have no such dim"):
        times.isel(benchmark=0, drop=True).perf.compare("old", controls="io_*")


def test_controls_of_one_side_are_missing(times):
    new, old = times.sel(version="new", drop=True), times.sel(version="old", drop=True)
    with pytest.raises(ValueError, match="1 control measured on both sides"):
        perfarray.compare(new, old.isel(benchmark=[0, 4, 5]), controls="io_*")
    empty = times.where(~((times["benchmark"] == "io_1") & (times["version"] == "old")))
    with pytest.warns(perfarray.PerfarrayWarning, match="1 control not measured"):
        result = empty.perf.compare("old", controls="io_*")
    assert result["control_n"].item() == 3
    assert note(result, "missing_controls").values["labels"] == ["io_1"]
    assert note(result, "controls").values["labels"] == ["io_0", "io_2", "io_3"]
    assert note(result, "controls").message.startswith("Ratios are relative to 3 controls")


def test_a_candidate_without_controls_has_no_limits():
    """Of two candidates one lacks the controls: it has no answer, and a note counts it."""
    values = np.exp(0.01 * np.random.default_rng(1).standard_normal((3, 5, 6)))
    values[2, 1:3] = np.nan
    names = ["io_0", "io_1", "io_2", "a", "b"]
    times = in_seconds(
        values, "version", "benchmark", "execution", version=["old", "new", "next"], benchmark=names
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="1 of 2 comparisons have fewer than two"):
        result = times.perf.compare("old", controls="io_*")
    assert np.isnan(result["lower"].sel(version="next", benchmark=["a", "b"])).all()
    assert np.isnan(result["suite_lower"].sel(version="next"))
    assert result["lower"].sel(version="new").notnull().all()


# Notes


def test_note_says_what_ratios_are_relative_to(times):
    result = times.perf.compare("old", controls="io_*")
    assert note(result, "controls").aside
    assert note(result, "controls").values["labels"] == ["io_0", "io_1", "io_2", "io_3"]
    factor = result["control_estimate"].item()
    assert f"They moved by {factor:.4g} (" in note(result, "controls").message
    assert note(result, "common_shift") is None


def test_a_control_that_moved_is_named():
    times = suite([1.03] * 9 + [1.3] + [1.03] * 2, controls=10)
    with pytest.warns(perfarray.PerfarrayWarning, match="1 control moved unlike the others"):
        result = times.perf.compare("old", controls="io_*")
    assert note(result, "control_moved").values["labels"] == ["io_9"]
    assert result["control_pvalue"].sel(benchmark="io_9").item() < 1e-6


def test_common_shift_proposes_controls():
    result = suite([1.04] * 8, controls=0).perf.compare("old")
    assert note(result, "common_shift").values["controls"] == [f"b{number}" for number in range(8)]
    assert "controls=['b0', 'b1']" in note(result, "common_shift").message


# With other arguments


def test_controls_are_no_members_of_the_family():
    """Holm's levels are those of the two other benchmarks."""
    result = suite([1.03] * 6).perf.compare("old", controls="io_*", correction="holm")
    np.testing.assert_allclose(result["interval_level"], 1 - 0.05 / 2)
    pvalues = np.sort(result["pvalue"].values[0, 4:])
    expected = [min(2 * pvalues[0], 1), max(min(2 * pvalues[0], 1), pvalues[1])]
    np.testing.assert_allclose(np.sort(result["pvalue_adjusted"].values[0, 4:]), expected)


def test_each_of_several_suites_has_the_controls_of_all():
    times = suite([1.03] * 4 + [1.03, 1.03, 1.08, 1.08])
    times = times.assign_coords(suite=("benchmark", ["x"] * 6 + ["y"] * 2))
    result = times.perf.compare("old", controls="io_*")
    common = times.drop_vars("suite").perf.compare("old", controls="io_*")
    np.testing.assert_allclose(result["upper"], common["upper"])
    np.testing.assert_allclose(result["suite_benchmarks"].sel(version="new"), [2, 2])
    logs = np.log(common["estimate"].sel(version="new").values)
    np.testing.assert_allclose(
        np.log(result["suite_estimate"].sel(version="new")), [logs[4:6].mean(), logs[6:].mean()]
    )


def test_a_suite_of_controls_has_no_row():
    times = suite([1.03] * 7).assign_coords(suite=("benchmark", ["io"] * 4 + ["y"] * 3))
    result = times.perf.compare("old", controls="io_*")
    assert result["suite"].values.tolist() == ["y"]
    assert (result["verdict"] == "control").sum() == 4


def test_one_other_benchmark_is_its_suite():
    result = suite([1.03] * 5).perf.compare("old", controls="io_*", correction="holm")
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(result[f"suite_{name}"], result[name].sel(benchmark="b0"))


@pytest.mark.parametrize(
    "options", [{"prior": "suite"}, {"paired": "execution"}, {"shared": "execution"}]
)
def test_errors_of_other_arguments_are_taken(times, options):
    raw = times.perf.compare("old", method="log_delta", **options)
    result = times.perf.compare("old", controls="io_*", **options)
    common = result["control_estimate"]
    np.testing.assert_allclose(result["estimate"][0, 4:], (raw["estimate"] / common)[0, 4:])
    width, wider = (np.log(each["upper"] / each["lower"])[0, 4:] for each in (raw, result))
    assert (wider > width).all()


def test_thresholds_by_benchmark(times):
    result = times.perf.compare("old", controls="io_*", threshold={"b1": 0.2, ...: 0.0})
    assert result["verdict"].sel(benchmark="b1").item() == "equivalent"


def test_several_metrics_and_candidates(times):
    both = xr.Dataset({"time": times, "energy": times * 2})
    result = both.perf.compare("old", controls="io_*", metric=["time", "energy"])
    expected = times.perf.compare("old", controls="io_*")
    np.testing.assert_allclose(
        result["upper"].sel(metric="energy").transpose("version", "benchmark"), expected["upper"]
    )


def test_rates_are_faster_where_more(times):
    rates = (1 / times).assign_attrs(units="1/s", better="higher").rename("throughput")
    result = rates.perf.compare("old", controls="io_*")
    assert result["verdict"].sel(benchmark="b1").item() == "slower"


# Laws and degenerate data


def test_what_moves_all_changes_nothing(times):
    """A factor of all new times is in the raw ratios alone."""
    moved = times * xr.DataArray([1.0, 1.5], dims="version")
    first, second = (
        each.assign_attrs(times.attrs).perf.compare("old", controls="io_*")
        for each in (times, moved)
    )
    xr.testing.assert_allclose(second["upper"][0, 4:], first["upper"][0, 4:])
    xr.testing.assert_allclose(second["suite_lower"], first["suite_lower"])
    np.testing.assert_allclose(second["raw_estimate"], 1.5 * first["raw_estimate"])


def test_transposed_shuffled_and_chunked(times):
    expected = times.perf.compare("old", controls="io_*")
    shuffled = times.isel(benchmark=[5, 2, 0, 4, 1, 3]).perf.compare("old", controls="io_*")
    xr.testing.assert_allclose(
        shuffled[MEASURED].sel(benchmark=times["benchmark"]), expected[MEASURED]
    )
    turned = times.transpose("execution", "benchmark", "version").perf.compare(
        "old", controls="io_*"
    )
    xr.testing.assert_allclose(
        turned[MEASURED].transpose("version", "benchmark"), expected[MEASURED]
    )
    pytest.importorskip("dask.array")
    lazy = times.chunk(benchmark=2).perf.compare("old", controls="io_*")
    xr.testing.assert_allclose(lazy.compute()[MEASURED], expected[MEASURED])
    assert lazy.compute().perf.notes()[0].code == "controls"


def test_one_run_a_side_has_a_relative_ratio_without_limits():
    times = suite([1.0] * 5 + [1.2], executions=1)
    with pytest.warns(perfarray.PerfarrayWarning):
        result = times.perf.compare("old", controls="io_*")
    assert result["estimate"].notnull().all()
    assert result["lower"].isnull().all()
    assert result["control_upper"].notnull().all()


def test_equal_runs_are_certain():
    """Controls and benchmarks that do not vary at all leave no doubt."""
    values = np.ones((2, 4, 3))
    values[1, 3] = 1.1
    times = in_seconds(values, "version", "benchmark", "execution", benchmark=list("abcd"))
    with warnings.catch_warnings(action="ignore"):  # of no spread
        result = times.perf.compare("old", controls=["a", "b"], threshold=0.01)
    assert result["verdict"].values[0, 2:].tolist() == ["equivalent", "slower"]


def test_stopped_runs_stay_bounds():
    """A benchmark whose new runs were stopped is known as at least so slow; such a control is
    none."""
    times = suite([1.0] * 4 + [1.2, 1.2])
    stopped = (times["version"] == "new") & times["benchmark"].isin(["io_3", "b1"])
    times = times.assign_coords(
        censored=stopped.broadcast_like(times),
        censored_at=("execution", np.full(10, 1.1)),
    )
    with warnings.catch_warnings(action="ignore"):
        result = times.perf.compare("old", controls="io_*")
    assert result["kind"].sel(benchmark="b1").item() == "at_least"
    assert result["upper"].sel(benchmark="b1").item() == np.inf
    assert result["control_n"].item() == 3


def test_round_trip_and_table(times):
    result = times.perf.compare("old", controls="io_*")
    table = result.perf.table()
    assert table["verdict"].tolist()[:4] == ["control"] * 4
    assert "Ratios are relative to 4 controls" in str(table)


# Simulated truth


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("controls_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_unchanged_benchmarks_are_called_changed_in_five_percent(script):
    """Ten controls, a layout of 0.5 % and a common shift of 3 %: 5 % where a test without controls
    has all (400 experiments of 20 benchmarks; the rows of one experiment share the controls)."""
    sides = script.timings(np.random.default_rng(5), shift=0.03, experiments=400)
    rows, suite = script.shares_of_changed(*sides)
    assert 0.03 < rows.mean() < 0.065
    assert rows.max() < 0.09
    assert suite < 0.09
    plain, _ = script.shares_of_changed(*sides, controls=None)
    assert plain.mean() > 0.99


def test_a_change_of_three_percent_is_seen_in_95_percent(script):
    sides = script.timings(np.random.default_rng(6), shift=0.03, changes=(0.03,), experiments=400)
    rows, _ = script.shares_of_changed(*sides)
    assert rows[0] > 0.92

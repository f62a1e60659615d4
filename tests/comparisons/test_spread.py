"""A change of spread under an unchanged mean is noted."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.numerics.spread import spread_change


def verdicts_of_samples(samples, **keywords):
    with warnings.catch_warnings(action="ignore"):
        return perfarray.from_samples(samples).perf.compare("old", **keywords)


def runs(spread, size, seed):
    """Return runs whose mean is 1 and whose logarithms have exactly this spread."""
    values = np.random.default_rng(seed).standard_normal(size)
    return np.exp(spread * (values - values.mean()) / values.std(ddof=1)).tolist()


def test_a_change_of_spread_is_noted():
    """The same mean with five times the spread is equivalent, and a note names the cell and both
    spreads."""
    result = verdicts_of_samples(
        {"old": runs(0.01, 20, 1), "new": runs(0.05, 20, 2), "like": runs(0.012, 20, 3)},
        threshold=0.03,
    )
    assert (
        result["verdict"].sel(version="like")
        == result["verdict"].sel(version="new")
        == "equivalent"
    )
    (note,) = (note for note in result.perf.notes() if note.code == "spread_changed")
    assert note.values["cells"] == ["new"]
    assert note.values["candidate_spread"] == pytest.approx([0.05], rel=0.01)
    assert note.values["baseline_spread"] == pytest.approx([0.01], rel=0.01)
    assert "new: 1 -> 5 %" in note.message


def test_the_table_marks_the_change_beside_the_verdict():
    """The mark stands in the row whose spread changed, and the table has no further column."""
    result = verdicts_of_samples(
        {"old": runs(0.01, 20, 1), "new": runs(0.05, 20, 2), "like": runs(0.012, 20, 3)}
    )
    table = result.perf.table()
    assert result["spread_changed"].values.tolist() == [True, False]
    assert [text.endswith("~") for text in table["change"]] == [True, False]
    assert not [title for title in table.columns if "spread" in title]


def test_limits_are_those_that_the_test_does_not_reject():
    """The p-value is at most 5 % where the limits leave out 1, and 5 % where a side is divided by a
    limit."""
    rng = np.random.default_rng(7)
    new, old = np.exp(0.02 * rng.standard_normal((400, 12))), np.exp(0.03 * rng.standard_normal(20))
    answer = spread_change(new, old)
    outside = (answer.lower > 1) | (answer.upper < 1)
    np.testing.assert_array_equal(outside, answer.pvalue <= 0.05)
    assert 0 < outside.mean() < 1
    for limit in (answer.lower[:1], answer.upper[:1]):
        assert spread_change(new[:1] ** (1 / limit[:, None]), old).pvalue == pytest.approx(0.05)


def test_the_ratio_is_that_of_the_spreads():
    """Logarithms that vary five times as much have a ratio of 5, whatever their means; the other
    way round it is 1/5."""
    rng = np.random.default_rng(8)
    logs = 0.01 * rng.standard_normal(20)
    for new, old, ratio in ((5 * logs + 3, logs, 5), (logs, 5 * logs + 3, 0.2)):
        answer = spread_change(np.exp(new), np.exp(old))
        assert answer.ratio == pytest.approx(ratio)
        assert answer.lower < answer.ratio < answer.upper


def test_a_baseline_whose_spread_may_be_nothing_has_no_upper_limit():
    """One value of ten that differs shows a spread, and not that there is always one."""
    old, rng = np.ones(10), np.random.default_rng(1)
    old[0] = 1.01
    answer = spread_change(np.exp(0.01 * rng.standard_normal(10)), old)
    assert answer.upper == np.inf
    assert answer.lower < answer.ratio


def test_compare_gives_the_ratio_with_its_limits():
    """The variables are those of the units' logarithms; few units have NaN and no mark."""
    samples = {"old": runs(0.01, 20, 1), "new": runs(0.05, 20, 2)}
    result, few = (
        verdicts_of_samples(samples),
        verdicts_of_samples({name: runs[:9] for name, runs in samples.items()}),
    )
    answer = spread_change(np.array(samples["new"]), np.array(samples["old"]))
    names = ("spread_ratio", "spread_lower", "spread_upper", "spread_pvalue")
    expected = (answer.ratio, answer.lower, answer.upper, answer.pvalue)
    for name, value in zip(names, expected, strict=True):
        assert result[name].item() == pytest.approx(float(value))
        assert np.isnan(few[name].item())
    assert not few["spread_changed"].item()


@pytest.mark.parametrize("size", [12, 5])
def test_lazy_timings_have_the_same_ratio(size):
    rng = np.random.default_rng(1)
    values = np.exp(0.01 * rng.standard_normal((4, 3, size)) * np.array([1, 1, 9])[:, None])
    coords = {"version": ["old", "like", "new"]}
    times = xr.DataArray(values, coords, ("benchmark", "version", "execution"), name="time")
    with warnings.catch_warnings(action="ignore"):
        expected = times.perf.compare("old")
        lazy = times.chunk({"benchmark": 2}).perf.compare("old")
        pairs = times.perf.pairwise(dim="version").sel(baseline="old")
        itself = pairs["spread_ratio"].sel(version="old")
    assert lazy["spread_ratio"].chunks is not None
    for name in ("spread_ratio", "spread_upper", "spread_pvalue"):
        xr.testing.assert_allclose(lazy[name].compute(), expected[name])
        xr.testing.assert_allclose(
            pairs[name].sel(version=["like", "new"], drop=True).drop_vars("baseline"),
            expected[name],
        )
    assert itself.isnull().all()
    xr.testing.assert_equal(lazy["spread_changed"].compute(), expected["spread_changed"])
    assert bool(expected["spread_changed"].any()) == (size == 12)


def test_a_change_of_many_cells_must_be_clearer():
    """A p-value between 1/8 % and 1 % marks a cell that is alone, and none of eight (Holm)."""
    old, new = runs(0.01, 20, 1), runs(0.04, 20, 2)
    assert 0.01 / 8 < spread_change(np.array(new), np.array(old)).cautious_pvalue < 0.01
    alone = verdicts_of_samples({"old": old, "new": new})
    eight = verdicts_of_samples({"old": old} | {f"new {number}": new for number in range(8)})
    assert alone["spread_changed"].all()
    assert not eight["spread_changed"].any()


def test_times_that_are_all_longer_have_the_same_spread():
    """Spreads are relative: a program that takes three times as long varies by three times as
    much."""
    old = runs(0.02, 30, 4)
    assert "spread_changed" not in [
        note.code
        for note in verdicts_of_samples(
            {"old": old, "new": [3 * time for time in old]}
        ).perf.notes()
    ]


def test_few_units_and_zeros_are_not_tested():
    """Both tests need ten units a side above 0 that vary."""
    rng = np.random.default_rng(1)
    few_units = spread_change(rng.random((2, 9)) + 0.1, rng.random((2, 40)) + 0.1)
    zeros, equal = (
        spread_change(np.zeros(12), rng.random(12) + 0.1),
        spread_change(np.ones(12), rng.random(12) + 0.1),
    )
    assert all(np.isnan(field).all() for answer in (few_units, zeros, equal) for field in answer)


def test_the_tests_agree_with_scipy_and_with_bonett():
    """The largest p-value: Brown and Forsythe's as in SciPy, Bonett's from its formula with
    Student's t; gaps change nothing."""
    rng = np.random.default_rng(3)
    new, old = np.exp(0.02 * rng.standard_normal(15)), np.exp(0.05 * rng.standard_normal(20))
    logs = [np.log(side) for side in (new, old)]
    brown_forsythe = stats.levene(*logs, center="median").pvalue
    squares = sum(((side - side.mean()) ** 2).sum() for side in logs)
    fourth = sum(
        ((side - stats.trim_mean(side, 1 / (2 * (len(side) - 4) ** 0.5))) ** 4).sum()
        for side in logs
    )
    error = np.sqrt(sum((35 * fourth / squares**2 - (n - 3) / n) / (n - 1) for n in (15, 20)))
    bonett = 2 * stats.t.sf(abs(np.log(logs[0].var(ddof=1) / logs[1].var(ddof=1))) / error, 14)
    gaps = np.concatenate([new, np.full(5, np.nan)])
    assert spread_change(gaps, old)[0] == pytest.approx(max(brown_forsythe, bonett), rel=1e-9)


def test_a_mode_that_one_side_lacks_by_chance_is_judged_by_ranks():
    """Four slow runs of twenty look like a spread; the ranks of the distances count each once."""
    rng = np.random.default_rng(2)
    new, old = 0.005 * rng.standard_normal(20), 0.005 * rng.standard_normal(21)
    new[:4] += 0.05
    distances = np.abs([*new, *old] - np.median([*new, *old]))
    new_ranks, old_ranks = np.split(stats.rankdata(distances), [20])
    by_ranks = stats.f_oneway(new_ranks, old_ranks).pvalue
    answer = spread_change(np.exp(new), np.exp(old))
    assert answer.cautious_pvalue == pytest.approx(by_ranks)
    assert answer.pvalue < by_ranks / 3


@pytest.mark.parametrize("law", ["normal", "lognormal", "t4", "modes"])
@pytest.mark.parametrize("size", [10, 20, 50])
def test_the_level_is_near_five_percent(law, size):
    """`spread_pvalue` is below 5 % in 2.5 to 6.5 % of comparisons without a change."""
    rng = np.random.default_rng(9)
    shape = (2, 4000, size)
    logs = {
        "normal": lambda: np.log1p(0.02 * rng.standard_normal(shape)),
        "lognormal": lambda: 0.5 * rng.standard_normal(shape),
        "t4": lambda: 0.01 * rng.standard_t(4, shape),
        "modes": lambda: 0.02 * (rng.random(shape) < 0.3) + 0.005 * rng.standard_normal(shape),
    }[law]()
    new, old = np.exp(logs)
    assert 0.025 <= (spread_change(new, old).pvalue <= 0.05).mean() <= 0.065


@pytest.mark.parametrize("law", ["normal", "lognormal"])
@pytest.mark.parametrize(("sizes", "benchmarks"), [((10, 10), 1), ((20, 20), 30), ((10, 40), 30)])
def test_equal_shapes_are_seldom_noted(law, sizes, benchmarks):
    """Of calls at most 1 % are noted though nothing changed, of normal and of lognormal runs."""
    rng = np.random.default_rng(5)
    experiments = 2000 if benchmarks == 1 else 300
    samples = [rng.standard_normal((experiments, benchmarks, size)) for size in sizes]
    new, old = (1 + 0.02 * sample if law == "normal" else np.exp(sample) for sample in samples)
    noted = spread_change(new, old)[0].min(axis=-1) * benchmarks <= 0.01
    assert noted.mean() <= 0.01

"""Ratios of medians: default method, refusals, what runs are, few units, stopped runs, coverage."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.timings.notes import collecting

NEST = ("binary", "execution", "iteration")
RNG = np.random.default_rng(1)
NESTED = perfarray.from_samples({"old": RNG.lognormal(0, 0.1, (6, 5, 3)), "new": 0.8 * RNG.lognormal(0, 0.1, (6, 5, 3))}, level=NEST)
PLAIN = perfarray.from_samples({"old": [10.0, 10.2, 10.4, 10.1, 10.3, 17.0], "new": [8.0, 8.3, 8.1, 8.4, 12.0, 8.2]})


def limits(result):
    """Return the limits of the one cell of a result."""
    return [result[name].item() for name in ("lower", "upper")]


def test_the_default_method_is_said():
    """Means have Fieller's set, medians order statistics, and the attrs say what the runs were."""
    assert PLAIN.perf.ratio_interval("old").attrs["method"] == "fieller"
    median = NESTED.perf.ratio_interval("old", statistic="median")
    assert {median.attrs[name] for name in ("method", "statistic", "value")} == {"order_statistics", "median", "execution"}
    assert median.perf.table().attrs["about"] == "version new; 95 % intervals; medians; n counts binaries"


@pytest.mark.parametrize("method", ["fieller", "delta", "log_delta", "studentized", "batch_means", "skew_adjusted"])
def test_methods_of_means_are_refused(method):
    """What rests on standard errors of means is refused for medians, and the message lists what there is."""
    with pytest.raises(ValueError, match="'order_statistics', 'percentile', 'basic', 'bca', or statistic='mean'"):
        PLAIN.perf.ratio_interval("old", statistic="median", method=method)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"statistic": "min"}, "statistic='min' is not known"),
        ({"statistic": "median", "df": "normal"}, "df='normal' is for formulas of means"),
        ({"value": "execution"}, "value='execution' says what the runs are whose median is taken"),
        ({"statistic": "median", "value": "binary"}, "value='binary' is not known"),
        ({"statistic": "median", "resample": "all"}, "which draws nothing"),
        ({"method": "order_statistics"}, "method='order_statistics' is not known"),
    ],
)
def test_bad_choices_are_named(choices, message):
    """A choice that is none, or does not go with the others, is named."""
    with pytest.raises(ValueError, match=message):
        PLAIN.perf.ratio_interval("old", **choices)


def test_values_must_be_positive():
    """A ratio of medians takes logs: a value of zero is refused, unless the run it lies in is above zero."""
    times = NESTED.copy(deep=True)
    times["time"][0, 0, 0, 0] = 0.0
    with pytest.raises(ValueError, match="a ratio of medians needs positive values"):
        times.perf.ratio_interval("old", statistic="median", value="iteration")
    with pytest.warns(perfarray.PerfarrayWarning, match="the means of executions, on which the answer rests, are positive"):
        times.perf.ratio_interval("old", statistic="median")


def test_runs_are_those_of_the_value():
    """Lower levels are averaged first, and the estimate is the ratio of what `run_estimate` gives."""
    for value in NEST:
        found = NESTED.perf.ratio_interval("old", statistic="median", value=value)["estimate"].item()
        own = NESTED.perf.run_estimate(statistic="median", value=value)["estimate"]
        assert found == pytest.approx((own.sel(version="new") / own.sel(version="old")).item(), rel=1e-12)
        with collecting():
            drawn = NESTED.perf.ratio_interval("old", statistic="median", value=value, method="percentile", rng=1, n_resamples=50)
        assert drawn["estimate"].item() == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"resample": "all"}, {"resample": "flat"}, {"method": "bca"}, {"paired": "binary"}])
def test_drawn_limits_are_near_those_of_order_statistics(options):
    """The bootstrap, which covers less, lies inside some wider interval of the same median, and draws the same numbers again."""
    choices = {"statistic": "median", "method": "percentile", "rng": 1, "n_resamples": 99} | options
    with collecting() as told:
        first, again = (limits(NESTED.perf.ratio_interval("old", **choices)) for _ in range(2))
    wide = limits(NESTED.perf.ratio_interval("old", statistic="median", confidence_level=0.999, paired=options.get("paired")))
    assert first == again
    assert wide[0] < first[0] < first[1] < wide[1]
    assert options.get("resample") == "flat" or "method='order_statistics' is not" in told[0].message


def test_lazy_transposed_and_float32_agree():
    """Chunks, the order of dims and single precision change no limit beyond rounding."""
    expected = limits(NESTED.perf.ratio_interval("old", statistic="median"))
    for other in (NESTED.chunk({"version": 1}), NESTED.transpose(*reversed(NESTED["time"].dims)), NESTED.astype("float32")):
        assert limits(other.perf.ratio_interval("old", statistic="median").compute()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("units", "code"), [(1, "single_unit"), (2, "no_limit"), (5, "no_limit")])
def test_few_units_are_told(units, code):
    """Fewer than six units of one run have no interval of 95 %: a note says so and names the number that has."""
    with pytest.warns(perfarray.PerfarrayWarning) as told:
        found = PLAIN.isel(execution=slice(units)).perf.ratio_interval("old", statistic="median")
    assert [note.code for note in told[0].message.notes] == [code]
    assert found["kind"].item() == ("bounded" if units == 1 else "unbounded")
    if code == "no_limit":
        assert "6 executions of one run each have both" in str(told[0].message)
        assert limits(found) == [-np.inf, np.inf]


def test_stopped_runs_leave_what_is_sure():
    """A stopped run beyond the median leaves the ratio as it is and opens one side; too many leave a bound, and both sides nothing."""
    marks = xr.DataArray(np.zeros((2, 6), bool), dims=("version", "execution"))
    new, old = marks.copy(), marks.copy()
    new[1, 4], old[0, 5] = True, True
    whole = limits(PLAIN.perf.ratio_interval("old", statistic="median"))

    def asked(stopped):
        return PLAIN.assign_coords(censored=stopped).perf.ratio_interval("old", statistic="median")

    with pytest.warns(perfarray.PerfarrayWarning, match="limits hold whatever they would have taken"):
        one, other, both, all_of_them = asked(new), asked(old), asked(new | old), asked(~(new & old))
    assert (limits(one), one["kind"].item()) == ([pytest.approx(whole[0]), np.inf], "at_least")
    assert (limits(other), other["kind"].item()) == ([0.0, pytest.approx(whole[1])], "at_most")
    assert (both["kind"].item(), both["estimate"].item()) == ("unbounded", pytest.approx(8.25 / 10.25))
    assert np.isnan(all_of_them["estimate"].item())


@pytest.mark.parametrize(
    ("sizes", "variances", "distribution"),
    [
        ({"execution": 7}, {"execution": 1e-3}, "lognormal"),
        ({"binary": 5, "execution": 10}, {"binary": 4e-4, "execution": 6e-4}, "normal"),
        ({"binary": 5, "execution": 10}, {"binary": 9e-4, "execution": 1e-4}, "exponential"),
    ],
)
def test_coverage_is_kept(sizes, variances, distribution):
    """Limits cover at least 95 % within chance, and not all; the percentile bootstrap of five units of ten runs covers 87 to 93."""
    asked = {"sizes": sizes, "variances": variances, "distribution": distribution, "n_experiments": 600, "rng": 1}
    found = perfarray.coverage("ratio_interval", statistic="median", **asked)
    assert 0.95 - 3 * 0.009 < found["estimate"] <= 0.995


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_speedups_have_the_limits_of_the_inverse_ratio(statistic):
    """Limits of a speedup are those of the ratio turned over, of rates those of the ratio itself."""
    ratio = PLAIN.perf.ratio_interval("old", statistic=statistic)
    speedup = PLAIN.perf.speedup("old", statistic=statistic, confidence_level=0.95)
    assert limits(speedup) == pytest.approx([1 / limit for limit in limits(ratio)[::-1]])
    rates = PLAIN.copy()
    rates["time"] = rates["time"].assign_attrs(better="higher", units="1/s")
    speedup = rates.perf.speedup("old", statistic=statistic, confidence_level=0.95)
    assert limits(speedup) == pytest.approx(limits(ratio))
    assert " to " in speedup.perf.table()["speedup"].iloc[0]


def test_speedups_without_limits_say_why():
    """A minimum has no limits, two runs have none of their median, and a stopped side opens one."""
    with pytest.raises(ValueError, match="statistic='min' has no limits"):
        PLAIN.perf.speedup("old", statistic="min", confidence_level=0.95)
    with pytest.warns(perfarray.PerfarrayWarning, match="6 executions a side have them"):
        PLAIN.isel(execution=slice(2)).perf.speedup("old", statistic="median", confidence_level=0.95)
    marks = xr.DataArray(np.zeros((2, 6), bool), dims=("version", "execution"))
    marks[1, 4] = True
    with pytest.warns(perfarray.PerfarrayWarning, match="stopped"):
        found = PLAIN.assign_coords(censored=marks).perf.speedup("old", statistic="median", confidence_level=0.95)
    assert limits(found)[0] == -np.inf
    assert np.isfinite(limits(found)[1])

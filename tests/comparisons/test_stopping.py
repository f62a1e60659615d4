"""When to stop: intervals after each further unit, four rules, and what they cover where they
stop."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

import perfarray
from perfarray.comparisons.numerics.stopping import Rule, path
from perfarray.numerics.sequences import sequence_quantile
from strategies import experiments

NEST = {
    "sizes": {"execution": 40, "iteration": 3},
    "variances": {"execution": 4e-4, "iteration": 1e-4},
}


def timings():
    """Forty executions of three iterations, of two versions and two benchmarks, with gaps at both
    levels."""
    times = perfarray.simulate(**NEST, dims={"benchmark": 2, "version": ["old", "new"]}, rng=1)[
        "time"
    ]
    times[0, 0, 4] = times[1, 1, 7:9] = times[0, 1, 11, 1] = np.nan
    return times


def first(times, number):
    return times.where(times.notnull().any("iteration").cumsum("execution") <= number)


def sides(units, number, seed, new=1.0):
    """Normal unit means of two systems, of experiments along the first axis."""
    draws = np.random.default_rng(seed).normal(1, 0.02, (2, number, units))
    return new * draws[0], draws[1]


def codes(result):
    return [note.code for note in result.perf.notes()]


@pytest.mark.parametrize("number", [2, 7, 38])
@pytest.mark.parametrize(
    ("method", "how"), [("mean_interval", {}), ("ratio_interval", {"baseline": "old"})]
)
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_after_each_unit_it_is_the_interval_of_those_so_far(number, method, how):
    times = timings()
    stopping = times.perf.stopping(half_width=0.01, rule="t", **how).sel(runs=number)
    expected = getattr(first(times, number).perf, method)(**how)
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(stopping[name], expected[name], rtol=1e-12)
    half = (expected["upper"] - expected["lower"]) / 2 / expected["estimate"]
    np.testing.assert_allclose(stopping["half_width"], half, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_pairs_and_the_last_few_units():
    """Of pairs what they have in common is taken off, however much that is; the rule on variation
    takes the last units alone."""
    times = timings()
    times = times.where(times.notnull().any("iteration").all("version"))
    times = times + 1000 * np.arange(40)[:, None] % 7  # alike in both versions
    stopping = times.perf.stopping("old", half_width=0.01, rule="t", paired="execution").sel(
        runs=20
    )
    expected = first(times, 20).perf.ratio_interval("old", paired="execution")
    np.testing.assert_allclose(
        stopping["upper"] - stopping["lower"], expected["upper"] - expected["lower"], rtol=1e-9
    )
    stopping = times.perf.stopping(half_width=0.01, rule="cv", start=8).sel(runs=20)
    expected = first(times, 20).where(first(times, 12).isnull()).perf.mean_interval()
    np.testing.assert_allclose(stopping["lower"], expected["lower"], rtol=1e-12)


def test_gaps_behind_the_last_unit_are_no_steadier_window():
    """Three steady units after an unsteady one are not four, whatever room the array has behind
    them."""
    times = perfarray.from_samples(
        {"fft": [1.0, 1.5, 1.0, 1.0, 1.0], "sort": [1.0] * 8}, dim="benchmark"
    ).sel(benchmark="fft")
    with pytest.warns(perfarray.PerfarrayWarning, match="no 4 executions in a row"):
        assert np.isnan(times.perf.stopping(half_width=0.01, rule="cv", start=4)["required"])


def test_stein_by_hand():
    """Four units of 10 with s = 0.1155, t = 3.182: ±0.1 takes (3.182 * 0.1155 / 0.1)^2 = 13.5
    units, whatever the others are."""
    rng = np.random.default_rng(3)
    times = perfarray.from_samples({"old": [9.9, 10.1, 10.1, 9.9, *rng.normal(10, 1, 16)]})
    stopping = times.perf.stopping(half_width=0.01, start=4).squeeze()
    assert stopping["required"] == stopping["extrapolated"] == 14
    half = stats.t.ppf(0.975, 3) * np.sqrt(0.04 / 3 / 14)
    assert stopping["upper_at_stop"].item() == pytest.approx(
        times["time"].values.ravel()[:14].mean() + half, rel=1e-12
    )
    assert stopping["lower"].isel(runs=slice(3)).isnull().all()


def test_what_the_rules_cover_where_they_stop():
    """Normal units, a target of 12: Stein's 95 % of a mean, a ratio, pairs (Monte Carlo error 0.7);
    stopping at the first t less."""
    new, old = sides(120, experiments(4000), 1)
    common = sides(120, experiments(4000), 2)[0]
    for case in ((new, None, False), (new, old, False), (new * common, old * common, True)):
        half_width = 1.96 * 0.02 / 12**0.5 * (1 if case[1] is None else 2**0.5)
        covered = {}
        for name in ("stein", "t"):
            sequence = path(*case, Rule(name, 5 if name == "stein" else 3, half_width, 0.95))
            contains_truth = (sequence.stopped_lower <= 1) & (sequence.stopped_upper >= 1)
            assert np.isnan(sequence.required).mean() < 0.01
            covered[name] = contains_truth[~np.isnan(sequence.required)].mean()
        assert 0.93 < covered["stein"] < 0.97
        assert covered["t"] < covered["stein"]
        assert (
            covered["t"] < 0.93 or case[1] is old
        )  # both systems together have twice the degrees of freedom


def test_a_confidence_sequence_holds_the_truth_all_the_time():
    """Of 500 experiments of 150 normal units fewer than 5 % ever leave the truth out; t leaves it
    out at some time in a third."""
    new, old = sides(150, experiments(2000), 4, new=1.3)
    missed = {}
    for name in ("always_valid", "t"):
        for case, truth in (((new, None, False), 1.3), ((new, old, False), 1.3)):
            sequence = path(*case, Rule(name, 5, 0.01, 0.95))
            missed[name] = (
                ((sequence.lower[:, 1:] > truth) | (sequence.upper[:, 1:] < truth))
                .any(axis=1)
                .mean()
            )
            assert (missed[name] < 0.05) == (name == "always_valid"), (name, missed)


@pytest.mark.parametrize(("n", "level", "expected"), [(12.0, 0.95, 30), (40.0, 0.9, 15)])
def test_the_sequence_is_where_the_likelihood_ratio_is_that_of_the_risk(n, level, expected):
    """By quadrature over noncentral t, whose effects are normal with the variance that the sequence
    is narrowest with."""
    t, risk = float(sequence_quantile(np.array(n), level, expected)), 1 - level
    spread = np.sqrt((np.log(1 - 2 * np.log(risk)) - 2 * np.log(risk)) / expected)

    def density(effect):
        return stats.nct.pdf(t, n - 1, effect * np.sqrt(n)) * stats.norm.pdf(effect, scale=spread)

    ratio = integrate.quad(density, -8, 8, points=[0, 1], limit=200)[0] / stats.t.pdf(t, n - 1)
    assert ratio == pytest.approx(1 / risk, rel=1e-6)


def test_a_sequence_of_few_and_of_many_units():
    """For many it is Waudby-Smith's boundary; with too few it is the whole line, and of one there
    is none."""
    n, g = 1e6, (np.log(1 - 2 * np.log(0.05)) - 2 * np.log(0.05)) / 30
    by_hand = np.sqrt(2 * (n * g + 1) / (n * g) * np.log(np.sqrt(n * g + 1) / 0.05))
    assert float(sequence_quantile(np.array(n), 0.95, 30)) == pytest.approx(by_hand, rel=1e-4)
    n_few = 25
    g = (np.log(1 - 2 * np.log(0.05)) - 2 * np.log(0.05)) / (
        3 * 10
    )  # narrowest at three times the start
    m = 1 + n_few * g
    k = (m / 0.05**2) ** (1 / n_few)
    expected = np.sqrt((n_few - 1) * (k - 1) / (1 - k / m))
    assert Rule("always_valid", 10, 0.01, 0.95).quantile(
        np.array(25.0), np.array(24.0)
    ) == pytest.approx(expected)
    assert np.isinf(sequence_quantile(np.array(3.0), 0.95, 30))
    assert np.isnan(sequence_quantile(np.array(1.0), 0.95, 30))


@pytest.mark.parametrize("rule", ["t", "always_valid"])
def test_what_would_do(rule):
    """The fewest units whose standard error, with the spread of the 21 at hand, is small enough; of
    a ratio to first order."""
    new, old = sides(21, 1, 5)
    goal = Rule(rule, 5, 0.003, 0.95)
    for baseline, squared in (
        (None, new.var(ddof=1) / new.mean() ** 2),
        (old, (new / new.mean() - old / old.mean()).var(ddof=1)),
    ):
        sequence = path(new, baseline, baseline is not None, goal)
        assert np.isnan(sequence.required).all()
        for units, suffices in ((sequence.extrapolated, True), (sequence.extrapolated - 1, False)):
            assert (goal.quantile(units, units - 1) * np.sqrt(squared / units) <= 0.003) == suffices


def test_what_is_said_of_too_few_units():
    """One, fewer than the start, not narrow enough, no spread: a note names what is missing, and
    how many would do."""
    times = perfarray.simulate(**NEST, dims={"version": ["old", "new"]}, rng=1)
    for number, code in ((1, "single_unit"), (3, "few_units"), (12, "no_goal")):
        with pytest.warns(perfarray.PerfarrayWarning):
            stopping = times.isel(execution=slice(number)).perf.stopping("old", half_width=0.002)
        assert codes(stopping) == [code]
        assert np.isnan(stopping["required"].item())
    assert "executions suffice if further ones vary as these" in stopping.perf.notes()[0].message
    assert stopping["extrapolated"] > 40
    with pytest.warns(perfarray.PerfarrayWarning, match="ten million executions would not suffice"):
        times.perf.stopping(half_width=1e-7)
    with pytest.warns(
        perfarray.PerfarrayWarning, match="no 10 executions in a row that vary by 0.1 % or less"
    ):
        times.perf.stopping(half_width=0.001, rule="cv")
    constant = perfarray.from_samples({"old": [1.0] * 5, "new": [1.0, 1.0, 1.0, 1.0, 2.0]})
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="2 of 2 cells stop at executions that show no spread",
    ):
        assert (constant.perf.stopping(half_width=0.01, start=3)["required"] == 3).all()
    with pytest.warns(perfarray.PerfarrayWarning, match="2 of 2 cells have no measured value"):
        (times * np.nan).perf.stopping(half_width=0.01)


def test_what_rules_are_worth_is_said_of_those_that_do_not_keep_their_level():
    """Stein's and confidence sequences say nothing; the others name the least coverage that was
    measured from such a start."""
    times = perfarray.simulate(**NEST, rng=1)
    for rule in ("stein", "always_valid"):
        assert codes(times.perf.stopping(half_width=0.05, rule=rule)) == []
    for rule in ("t", "cv"):
        with pytest.warns(
            perfarray.PerfarrayWarning, match="rule='stein' keeps its level"
        ) as caught:
            few_runs, many_runs = (
                times.perf.stopping(half_width=0.05, rule=rule, start=start) for start in (4, 30)
            )
        assert codes(few_runs) == codes(many_runs) == ["optional_stopping"]
        worth = [warning.message.notes[0].values["normal"] for warning in caught]
        assert worth == (
            [91, 94] if rule == "t" else [67, 67]
        )  # as docs/scripts/stopping.py prints them


def test_the_answer_does_not_depend_on_how_the_data_lie():
    """float32 and lazy timings; a rate; a baseline that is another object; stopped runs, which are
    left out; several candidates."""
    times = timings().isel(benchmark=0)
    ask = {"half_width": 0.01, "rule": "always_valid"}
    with warnings.catch_warnings(action="ignore"):
        plain = times.perf.stopping("old", **ask)
        float32 = times.astype(np.float32).perf.stopping("old", **ask)
        np.testing.assert_allclose(float32["upper"], plain["upper"], rtol=1e-5)
        baseline = times.sel(version="old", drop=True)
        separate = (
            times.sel(version=["new"]).isel(execution=slice(30)).perf.stopping(baseline, **ask)
        )
        np.testing.assert_allclose(
            separate["upper"], plain["upper"].sel(runs=slice(30)), rtol=1e-12
        )
        rate = (1 / times).assign_attrs(units="1/s", better="higher").perf.stopping(half_width=0.01)
        assert rate["estimate"].attrs["units"] == "1/s"
        censored = times.assign_coords(censored=("execution", np.arange(40) == 3)).perf.stopping(
            half_width=0.01
        )
        old, new = (times.sel(version=[label]) for label in ("old", "new"))
        versions = xr.concat(
            [old, new, (2 * new).assign_coords(version=["twice"])], "version"
        ).assign_attrs(times.attrs)
        two_versions, one_version = (
            data.perf.stopping("old", half_width=0.01, rule="cv", start=5)
            for data in (versions, times)
        )
    xr.testing.assert_allclose(two_versions.sel(version=["new"]), one_version)
    np.testing.assert_allclose(
        two_versions["upper"].sel(version="twice"), 2 * one_version["upper"].sel(version="new")
    )
    assert "censored" in codes(censored)
    assert (censored["n"] == [38, 39]).all()


def test_bad_input():
    times = perfarray.simulate(**NEST, dims={"version": ["old", "new"]}, rng=1)
    for how, message in (
        (
            {"rule": "wald"},
            "rule='wald' is not known; choose one of 'stein', 't', 'always_valid', 'cv'",
        ),
        ({"half_width": 0}, "half_width=0 is out of range"),
        ({"start": 1}, "start=1: give a whole number of at least 2"),
        ({"paired": "execution"}, "paired='execution' is about two systems. Name the baseline too"),
        ({"dim": "version"}, "dim='version' is about two systems. Name the baseline too"),
    ):
        with pytest.raises(ValueError, match=message):
            times.perf.stopping(**{"half_width": 0.01, **how})

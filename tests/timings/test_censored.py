"""Runs stopped at a limit count as at least that: only what stays true whatever they would have
taken is answered."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.timings.censored import Bounds, bound_interval

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at a limit")

OLD = [10.1, 9.9, 10.2, 9.8, 10.0, 10.3, 9.7, 10.0]


def timings(new=(), old=(), limit=60.0, *, limits_known=True, better="lower"):
    """Eight runs a side: those given, and for the rest runs that were stopped at the limit."""
    values = np.full((2, 8), np.nan)
    values[0, : len(old)], values[1, : len(new)] = old, new
    is_stopped = np.isnan(values)
    coords = {"version": ["old", "new"], "censored": (("version", "execution"), is_stopped)}
    if limits_known:
        coords["censored_at"] = (("version", "execution"), np.full((2, 8), limit))
    attrs = {"units": "s" if better == "lower" else "1", "better": better}
    return xr.DataArray(values, coords, ("version", "execution"), "time", attrs)


SIX_OF_EIGHT = timings(new=[9.0, 9.2], old=OLD)
NEW = [9.0, 9.2, 9.1, 9.3, 9.05, 9.15, 8.9]
SEVEN_OF_EIGHT = timings(new=NEW, old=OLD)
UNLIMITED = timings(new=NEW, old=OLD, limits_known=False)
STOPPED_BASELINE = timings(new=[*NEW, 9.0], old=OLD[:6])
BOTH = timings(new=NEW, old=OLD[:6])
METHODS = [
    {},
    {"method": "log_delta"},
    {"method": "delta"},
    {"method": "percentile", "rng": 1},
    {"correction": "holm"},
]
QUIET = timings(new=[9.0] * 7 + [9.1], old=OLD)


def ended(times, seconds):
    """Return timings in which every stopped run ended, after so many seconds."""
    return (
        times.where(~times["censored"], seconds)
        .assign_attrs(times.attrs)
        .drop_vars(["censored", "censored_at"], errors="ignore")
    )


def test_a_set_that_is_open_on_the_other_side_has_no_limit_left():
    """A set open above has no end where the ratio is at most that, and stays where it is at least
    that; so does one open below, the other way round."""
    result = xr.Dataset(
        {
            "estimate": ("cell", [1.0, 1.0]),
            "lower": ("cell", [0.5, -np.inf]),
            "upper": ("cell", [np.inf, 2.0]),
            "kind": ("cell", np.array(["at_least", "at_most"], dtype=object)),
        }
    )
    yes = xr.ones_like(result["estimate"], dtype=bool)
    at_least, at_most = (
        bound_interval(result, bounds) for bounds in (Bounds(yes, ~yes), Bounds(~yes, yes))
    )
    assert at_least["kind"].values.tolist() == ["at_least", "unbounded"]
    assert at_most["kind"].values.tolist() == ["unbounded", "at_most"]
    assert at_most["lower"].values.tolist() == [-np.inf, -np.inf]


class TestCompare:
    """The stopped side is never better, and never equivalent."""

    @pytest.mark.parametrize("keywords", METHODS)
    def test_six_of_eight_candidates(self, keywords):
        """Two runs that ended faster do not make a system fast: the ratio is at least what the
        limits give; turned round, at most."""
        verdicts, turned = (
            SIX_OF_EIGHT.perf.compare(baseline, **keywords) for baseline in ("old", "new")
        )
        assert verdicts["verdict"].item() == verdicts["suite_verdict"].item() == "slower"
        assert (verdicts["upper"].item(), verdicts["kind"].item()) == (np.inf, "at_least")
        np.testing.assert_allclose(verdicts["estimate"], (9.0 + 9.2 + 6 * 60) / 80.0)
        assert verdicts["pvalue"] < 0.05
        assert verdicts["lower"] > 1
        assert (turned["verdict"].item(), turned["lower"].item(), turned["kind"].item()) == (
            "faster",
            0.0,
            "at_most",
        )

    @pytest.mark.parametrize(
        ("times", "keywords", "verdict", "kind"),
        [
            (
                timings(new=[9.0, 9.2], old=OLD, limit=9.1),
                {},
                "inconclusive",
                "at_least",
            ),  # they may have taken any longer
            (
                timings(new=[9.0, 9.2], old=OLD, limit=9.1),
                {"threshold": 0.2},
                "inconclusive",
                "at_least",
            ),
            (timings(new=[9.0, 9.2], old=OLD[:7]), {}, "inconclusive", "unbounded"),
            (timings(new=[9.0] * 7, old=OLD, limits_known=False), {}, "inconclusive", "unbounded"),
            (timings(new=[11.0] * 7, old=OLD, limits_known=False), {}, "inconclusive", "unbounded"),
            (timings(new=[9.0, 9.2], old=OLD, limit=1.0, better="higher"), {}, "slower", "at_most"),
            (timings(new=[11.0, 11.2], old=OLD, better="higher"), {}, "inconclusive", "at_most"),
            (SIX_OF_EIGHT, {"paired": "execution"}, "slower", "at_least"),
        ],
    )
    def test_verdicts(self, times, keywords, verdict, kind):
        """A stopped time is at least its limit, a rate at most, and of a run without a limit
        nothing is known."""
        verdicts = times.perf.compare("old", **keywords)
        assert (
            verdicts["verdict"].item(),
            verdicts["kind"].item(),
            verdicts["pvalue_equivalent"].item(),
        ) == (verdict, kind, 1.0)
        assert (verdicts["lower"].item() <= 0, verdicts["upper"].item() == np.inf) == (
            kind != "at_least",
            kind != "at_most",
        )
        assert np.isneginf(verdicts["lower"].item()) == (
            kind == "unbounded"
        )  # the whole line, as of ratio_interval
        assert (verdicts["pvalue"].item() == 1.0) == (verdict == "inconclusive")
        for name in ("estimate", "suite_estimate"):
            assert np.isnan(verdicts[name].item()) == (kind == "unbounded")

    @pytest.mark.parametrize(
        ("times", "expected"),
        [
            (SIX_OF_EIGHT.fillna(60.0).drop_vars("censored_at"), SIX_OF_EIGHT),
            (
                SIX_OF_EIGHT.assign_coords(
                    censored_at=xr.where(SIX_OF_EIGHT["censored"], 60.0, 0.0).astype(object)
                ),
                SIX_OF_EIGHT,
            ),
            (SIX_OF_EIGHT.to_dataset().reset_coords("censored_at"), SIX_OF_EIGHT),
            (QUIET, QUIET.drop_vars(["censored", "censored_at"])),
        ],
    )
    def test_where_limits_come_from(self, times, expected):
        """Without a limit the value is one, and it may be a variable; limits of runs that ended,
        and marks of none, do not matter."""
        xr.testing.assert_identical(times.perf.compare("old"), expected.perf.compare("old"))

    def test_drop_is_the_way_without_them(self):
        """As is another mark: a failed run that was stopped as well tells nothing."""
        verdicts = SIX_OF_EIGHT.perf.compare("old", censored="drop")
        assert (
            verdicts["verdict"].item(),
            verdicts.attrs["censored"],
            verdicts.attrs["n_censored"],
        ) == (
            "faster",
            "drop",
            6,
        )
        assert [note.code for note in verdicts.perf.notes()] == ["censored", "few_units"]
        assert (
            SIX_OF_EIGHT.assign_coords(failed=SIX_OF_EIGHT["censored"])
            .perf.compare("old")["verdict"]
            .item()
            == "faster"
        )
        with pytest.raises(
            ValueError, match="censored='keep' is not known; choose one of 'bound', 'drop'"
        ):
            SIX_OF_EIGHT.perf.compare("old", censored="keep")

    def test_it_is_said(self):
        with pytest.warns(
            perfarray.PerfarrayWarning, match="6 runs of the candidate were stopped at a limit"
        ) as caught:
            verdicts = SIX_OF_EIGHT.perf.compare("old")
        (note,) = caught[0].message.notes
        assert (note.code, note.values) == ("censored", {"candidate": 6, "baseline": 0})
        assert (verdicts.attrs["censored"], verdicts.attrs["n_censored"]) == ("bound", 6)

    @pytest.mark.parametrize(
        "limit",
        [
            "60",
            True,
            np.timedelta64(60, "s"),
            np.array(["60"] * 8, dtype=object),
            -1.0,
            0.0,
            np.inf,
        ],
    )
    @pytest.mark.parametrize("method", ["compare", "prob_faster", "score_ratio_interval"])
    def test_what_is_no_limit_is_named(self, method, limit):
        """Not the values, in whose place it would stand."""
        times = SIX_OF_EIGHT.assign_coords(
            censored_at=limit if np.ndim(limit) == 0 else ("execution", limit)
        )
        came = np.ravel(limit)[0]
        with pytest.raises(
            ValueError,
            match=rf"^censored_at .*{came:g}"
            if isinstance(limit, float)
            else rf"^censored_at .*'{came}'",
        ):
            getattr(times.perf, method)("old")

    @pytest.mark.parametrize("dtype", [object, str])
    def test_a_text_is_no_mark(self, dtype):
        """`False` as a text would be taken for true."""
        times = SIX_OF_EIGHT.assign_coords(
            censored=SIX_OF_EIGHT["censored"].astype(str).astype(dtype)
        )
        with pytest.raises(ValueError, match="the mark 'censored' holds the text 'False'"):
            times.perf.compare("old")

    def test_other_benchmarks_keep_their_verdicts(self):
        """The suite row takes the bound."""
        calm = timings(new=[9.0, 9.2, 9.1, 9.0, 9.1, 9.2, 9.0, 9.1], old=OLD)
        times = xr.concat(
            [SIX_OF_EIGHT, calm], dim="benchmark", combine_attrs="override"
        ).assign_coords(benchmark=["fft", "sort"])
        verdicts = times.perf.compare("old")
        assert verdicts["verdict"].values.ravel().tolist() == ["slower", "faster"]
        np.testing.assert_allclose(
            verdicts["upper"].values.ravel()[1], calm.perf.compare("old")["upper"].item()
        )
        assert verdicts["suite_upper"].item() == np.inf
        assert times.perf.compare("new")["suite_lower"].item() == 0.0

    def test_all_pairs_and_other_timings_as_baseline(self):
        verdicts = SIX_OF_EIGHT.perf.pairwise(dim="version")["verdict"]
        sides = {label: SIX_OF_EIGHT.sel(version=label, drop=True) for label in ("old", "new")}
        for candidate, baseline, verdict in (("new", "old", "slower"), ("old", "new", "faster")):
            assert verdicts.sel(version=candidate, baseline=baseline).item() == verdict
            assert sides[candidate].perf.compare(sides[baseline])["verdict"].item() == verdict

    def test_iterations(self):
        """Some iterations of an execution were stopped: its mean is a bound."""
        values = np.where(
            np.arange(5) < 4, np.array(OLD)[:, None] * np.array([[[1.0]], [[0.9]]]), np.nan
        )
        runs = xr.DataArray(
            values, {"version": ["old", "new"]}, ("version", "execution", "iteration"), "time"
        )
        times = runs.assign_coords(
            censored=runs.isnull() & (runs["version"] == "new"), censored_at=60.0
        )
        verdicts = times.perf.compare("old")
        np.testing.assert_allclose(verdicts["estimate"], (0.9 * 4 * 10 + 60) / 5 / 10, rtol=1e-12)
        assert verdicts["verdict"].item() == "slower"


@pytest.mark.parametrize("chunks", [{"version": 1}, {"execution": -1}])
@pytest.mark.parametrize("marks", ["in memory", "lazy"])
@pytest.mark.parametrize(
    ("name", "times", "keywords"),
    [
        ("compare", SIX_OF_EIGHT, {"baseline": "old"}),
        ("prob_faster", SEVEN_OF_EIGHT, {"baseline": "old", "rng": 1}),
        ("run_estimate", SEVEN_OF_EIGHT, {}),
        (
            "bootstrap_interval",
            SEVEN_OF_EIGHT,
            {"statistic": "median", "rng": 1, "n_resamples": 99},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:(?s).*fewer than 30 units")
def test_lazy(name, times, keywords, marks, chunks):
    lazy = times.chunk(chunks)
    lazy = (
        lazy.assign_coords(censored=times["censored"].variable.chunk(chunks))
        if marks == "lazy"
        else lazy
    )
    xr.testing.assert_allclose(
        getattr(lazy.perf, name)(**keywords).compute(), getattr(times.perf, name)(**keywords)
    )


class TestIntervals:
    """The limit towards what is not known is open."""

    def test_ratio(self):
        for keywords in ({}, {"method": "basic", "rng": 1}):
            interval = SIX_OF_EIGHT.perf.ratio_interval("old", **keywords)
            assert (interval["upper"].item(), interval["kind"].item()) == (np.inf, "at_least")
            assert interval["lower"] > 1
            mirrored = SIX_OF_EIGHT.perf.ratio_interval("new", **keywords)
            assert (mirrored["lower"].item(), mirrored["kind"].item()) == (0.0, "at_most")
        np.testing.assert_allclose(
            SIX_OF_EIGHT.perf.ratio_interval("old")["lower"],
            SIX_OF_EIGHT.perf.compare("old")["lower"],
        )

    def test_ratio_of_what_may_be_negative(self):
        """Of differences the limit that is not known is open all the way; where both are, it is the
        whole line whatever the sign."""
        below = (
            SIX_OF_EIGHT.copy(data=np.where(OLD[0] == SIX_OF_EIGHT, -OLD[0], SIX_OF_EIGHT))
            .rename("gain")
            .assign_attrs(units="1")
        )
        interval = below.perf.ratio_interval("new")
        assert (interval["lower"].item(), interval["kind"].item()) == (-np.inf, "at_most")
        complete = timings(new=[9.0, 9.2], old=[10.0, 10.2, 9.9]).perf.ratio_interval("new")
        assert (complete["lower"].item(), complete["upper"].item(), complete["kind"].item()) == (
            -np.inf,
            np.inf,
            "unbounded",
        )

    def test_mean(self):
        interval = SIX_OF_EIGHT.perf.mean_interval()
        assert np.isposinf(interval["upper"].values).tolist() == [False, True]
        with pytest.warns(perfarray.PerfarrayWarning, match="not normal"):
            plain = ended(SIX_OF_EIGHT, 60.0).perf.mean_interval()
        np.testing.assert_allclose(interval["lower"], plain["lower"])
        rate = SIX_OF_EIGHT.assign_attrs(better="higher").perf.mean_interval()
        assert np.isneginf(rate["lower"].values).tolist() == [False, True]


def suite(*, limits_known=True):
    """Six benchmarks, the new version 10 % faster; on the first, six of its eight runs were stopped
    at 60 s."""
    rng = np.random.default_rng(1)
    values = np.stack([rng.normal(10, 0.2, (6, 8)), rng.normal(9, 0.2, (6, 8))])
    values[1, 0, :6] = np.nan
    coords = {
        "version": ["old", "new"],
        "benchmark": list("abcdef"),
        "censored": (("version", "benchmark", "execution"), np.isnan(values)),
    }
    times = xr.DataArray(
        values,
        dims=("version", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    return times.assign_coords(censored_at=60.0) if limits_known else times


def stopped_at(limits, values):
    """Return runs of two versions that were stopped at limits."""
    bounds, dims = np.reshape(limits, (2, 1, 1)), ("version", "benchmark", "execution")
    return xr.DataArray(
        np.minimum(values, bounds),
        {"version": ["old", "new"], "censored": (dims, values >= bounds)},
        dims,
        "time",
    )


class TestSuites:
    """A suite's ratio and score are bounds as soon as one benchmark's are."""

    @pytest.mark.parametrize(
        "keywords", [{"sensitivity": True}, {"method": "percentile", "rng": 1, "sensitivity": True}]
    )
    def test_ratio(self, keywords):
        interval, turned = (
            suite().perf.score_ratio_interval(baseline, **keywords) for baseline in ("old", "new")
        )
        assert interval["lower"].item() > 1
        assert (interval["upper"].item(), turned["lower"].item()) == (np.inf, 0.0)
        assert interval["pvalue"].item() < 0.05
        assert np.isfinite(interval["upper_without"].sel(benchmark="a")).item()
        assert np.isinf(interval["upper_without"].drop_sel(benchmark="a")).all()
        assert (
            suite().perf.score_ratio_interval("old", censored="drop", **keywords)["upper"].item()
            < 1
        )

    def test_a_limit_nobody_knows(self):
        """The benchmark is not left out of the suite for having no run that ended."""
        nothing = suite(limits_known=False)
        nothing[1, 0] = np.nan
        nothing["censored"][1, 0] = True
        with warnings.catch_warnings(action="ignore"):
            for times in (suite(limits_known=False), nothing):
                interval = times.perf.score_ratio_interval("old")
                assert (
                    interval["lower"].item(),
                    interval["upper"].item(),
                    interval["pvalue"].item(),
                ) == (
                    0.0,
                    np.inf,
                    1.0,
                )
                assert times.perf.compare("old")["suite_verdict"].item() == "inconclusive"

    @pytest.mark.parametrize(("alternative", "certain"), [("less", True), ("greater", False)])
    def test_one_sided(self, alternative, certain):
        """What is at least its limits is never shown to be less."""
        for name, keywords in (("score_ratio_interval", {}), ("randomization_test", {"rng": 1})):
            pvalue = getattr(suite().perf, name)("old", alternative=alternative, **keywords)[
                "pvalue"
            ].item()
            assert (pvalue == 1.0) == certain, name

    def test_randomization_of_one_sided_limits(self):
        """The same system with a limit on one side only: the side with the limit is not shown to be
        faster."""
        values = np.random.default_rng(0).lognormal(0, 0.5, (300, 2, 10)).transpose(1, 0, 2)
        ask = stopped_at((np.inf, 1.2), values).rename(benchmark="cell").perf.randomization_test
        assert (ask("old", dim="version", rng=1)["pvalue"] <= 0.05).mean() < 0.05
        assert (ask("old", dim="version", rng=1, censored="drop")["pvalue"] <= 0.05).mean() > 0.15

    def test_ranks_take_the_worst(self):
        tests = suite().perf.hierarchical_performance_test("old")
        worst = (
            suite()
            .fillna(1e9)
            .drop_vars(["censored", "censored_at"])
            .perf.hierarchical_performance_test("old")
        )
        assert tests["confidence"].item() == worst["confidence"].item()

    def test_no_factor_is_left_where_most_runs_were_stopped(self):
        """It is a bound of 0, not one made of what stands in their place."""
        times = xr.concat([SIX_OF_EIGHT] * 6, dim="benchmark", combine_attrs="override")
        tests = times.perf.hierarchical_performance_test("old")
        assert (tests["confidence"].item(), tests["speedup"].item()) == (0.0, 0.0)

    def test_ranks_of_a_baseline_without_limits(self):
        """Its stopped runs may have been about to end: they count as the fastest of all."""
        old = suite(limits_known=False).assign_coords(
            version=["new", "old"]
        )  # the names changed: the stopped side is the baseline now
        slow = old.where(old["version"] == "old", 0.5 * old).assign_attrs(old.attrs)
        tests, with_known_ends = (
            slow.perf.hierarchical_performance_test("old"),
            suite().assign_coords(version=["new", "old"]),
        )
        ended = (
            with_known_ends.where(with_known_ends["version"] == "old", 0.5 * with_known_ends)
            .assign_attrs(old.attrs)
            .perf.hierarchical_performance_test("old")
        )
        assert tests["confidence"].item() < ended["confidence"].item()

    def test_scores_are_bounds(self):
        plain = suite().fillna(60.0).drop_vars(["censored", "censored_at"])
        score, expected = (times.perf.suite_score()["estimate"] for times in (suite(), plain))
        np.testing.assert_allclose(score, expected)
        five, numbers = (
            times.perf.five_number_summary(method="exact") for times in (suite(), plain)
        )
        np.testing.assert_allclose(five["median"], numbers["median"])
        assert np.isnan(five["range"].values).tolist() == [False, True]
        assert np.isnan(
            suite().perf.relative_variation()["relative_variation"].values
        ).tolist() == [False, True]
        assert np.isnan(
            suite(limits_known=False).perf.suite_score()["estimate"].values
        ).tolist() == [
            False,
            True,
        ]
        np.testing.assert_allclose(
            suite().perf.score_distribution(rng=1), plain.perf.score_distribution(rng=1)
        )
        assert "censored" in [
            note.code for note in suite().perf.score_distribution(rng=1).perf.notes()
        ]


class TestSpeedups:
    """A speedup is exact where stopped runs do not decide it, else a bound; it is significant only
    if it is so in the worst case."""

    @pytest.mark.parametrize(
        ("statistic", "times", "bound", "significant"),
        [
            ("mean", SEVEN_OF_EIGHT, "at_most", False),
            ("median", SEVEN_OF_EIGHT, "exact", True),
            ("median", timings(new=NEW, old=OLD, limit=9.31), "exact", True),
            ("mean", SIX_OF_EIGHT, "at_most", False),
            ("median", SIX_OF_EIGHT, "at_most", False),
            ("min", SIX_OF_EIGHT, "exact", None),
            ("mean", STOPPED_BASELINE, "at_least", None),
            ("median", STOPPED_BASELINE, "exact", True),
            ("mean", BOTH, "unknown", False),
            ("mean", UNLIMITED, "unknown", False),
            ("median", UNLIMITED, "unknown", False),
        ],
    )
    def test_observed(self, statistic, times, bound, significant):
        """Where it is exact, it and its p-value are those of runs that took any longer."""
        speedup, overall = (
            times.perf.speedup("old", statistic=statistic),
            times.perf.overall_speedup("old", statistic=statistic),
        )
        assert (speedup["bound"].item(), overall["bound"].item()) == (bound, bound)
        assert (
            np.isnan(speedup["estimate"].item())
            == np.isnan(overall["speedup"].item())
            == (bound == "unknown")
        )
        far_ended = ended(times, 1e4)
        if bound == "exact":
            np.testing.assert_allclose(
                speedup["estimate"], far_ended.perf.speedup("old", statistic=statistic)["estimate"]
            )
        if significant is not None:
            test, known_test = (
                data.perf.speedup_test("old", statistic=statistic, confidence_level=0.95)
                for data in (times, far_ended)
            )
            assert (test["significant"].item(), np.isfinite(test["speedup"].item())) == (
                significant,
                significant,
            )
            if bound == "exact":
                np.testing.assert_allclose(
                    test[["pvalue", "speedup"]].to_array(),
                    known_test[["pvalue", "speedup"]].to_array(),
                )

    def test_means_of_a_stopped_candidate_conclude_nothing(self):
        tests = SEVEN_OF_EIGHT.perf.speedup_test("old")
        assert (tests["significant"].item(), tests["test"].item()) == (False, "cannot conclude")
        assert np.isnan(tests["confidence_level"])
        assert SEVEN_OF_EIGHT.perf.speedup_test("old", censored="drop")["significant"].item()


class TestProbabilities:
    """P[X < Y] is what it is where stopped runs do not decide it, else between two bounds."""

    @pytest.mark.parametrize(
        ("times", "at_least", "at_most"),
        [
            (SEVEN_OF_EIGHT, 7 / 8, 7 / 8),  # all old runs ended before the limit
            (BOTH, 7 / 8, 7 / 8 + 2 / 64),
            (
                timings(new=[11.0] * 7, old=OLD, limit=9.0, better="higher"),
                7 / 8,
                7 / 8,
            ),  # a rate is at most its limit
            (timings(new=[11.0] * 7, old=OLD, limit=12.0, better="higher"), 7 / 8, 1.0),
            (UNLIMITED, 7 / 8, 1.0),
        ],
    )
    def test_between_bounds(self, times, at_least, at_most):
        """Any end gives a probability between the bounds, with limits inside theirs; where they are
        equal, it does not matter which."""
        probability = times.perf.prob_faster("old", rng=1)
        assert (probability["at_least"].item(), probability["at_most"].item()) == (
            at_least,
            at_most,
        )
        np.testing.assert_equal(
            probability["estimate"].item(), at_least if at_least == at_most else np.nan
        )
        longer = (61.0, 62.0), (62.0, 61.0), (1e6, 60.5), (60.1, 60.1)
        for new, old in longer if times.attrs["better"] == "lower" else [(8.9, 8.9), (1e-3, 1e-3)]:
            ended_times = ended(times, xr.where(times["version"] == "new", new, old))
            known_probability = ended_times.perf.prob_faster("old", rng=1)
            assert (
                probability["at_least"] <= known_probability["estimate"] <= probability["at_most"]
            )
            assert probability["lower"] <= known_probability["lower"] + 1e-12
            assert probability["upper"] >= known_probability["upper"] - 1e-12
            if at_least == at_most:
                for name in ("estimate", "lower", "upper", "tied", "n"):
                    np.testing.assert_allclose(probability[name], known_probability[name])
                fastest = [
                    data.perf.prob_fastest(dim="version", rng=1)["estimate"]
                    for data in (times, ended_times)
                ]
                np.testing.assert_allclose(*fastest)

    def test_drop(self):
        np.testing.assert_allclose(
            SEVEN_OF_EIGHT.perf.prob_faster("old", rng=1, censored="drop")["estimate"], 1.0
        )
        assert (
            SEVEN_OF_EIGHT.perf.prob_faster("old", rng=1, method="mixture", censored="drop")[
                "n"
            ].item()
            == 7
        )

    def test_mixtures(self):
        """A mixture has no place for a stopped run: NaN where there is one, on either side, and the
        note names what bounds it."""
        cells = [SEVEN_OF_EIGHT, timings(new=[*NEW, 9.3][:8], old=OLD)]
        times = xr.concat(
            cells, dim="benchmark", coords="all", compat="override", join="outer"
        ).assign_coords(benchmark=["a", "b"])
        for baseline in ("old", "new"):
            with pytest.warns(perfarray.PerfarrayWarning, match="method='empirical'"):
                probability = times.perf.prob_faster(
                    baseline, rng=1, method="mixture", n_resamples=3
                )
            for result in (
                probability,
                times.perf.prob_fastest(dim="version", rng=1, method="mixture", n_resamples=3),
            ):
                is_given = result[["estimate", "lower", "upper", "tied"]].notnull().to_array()
                assert not is_given.sel(benchmark="a").any()
                assert is_given.sel(benchmark="b").all()


def test_agreement():
    """No method calls the side with stopped runs the faster one, in either direction."""
    for baseline, wrong in (("old", "faster"), ("new", "slower")):
        agreement = SIX_OF_EIGHT.expand_dims(benchmark=["a"]).perf.agreement(baseline, rng=1)
        assert not (agreement["verdict"] == wrong).any()
        assert not (agreement["suite_verdict"] == wrong).any()
        assert "censored" in [note.code for note in agreement.perf.notes()]
    without_censoring = suite().perf.agreement("old", rng=1)
    assert not (without_censoring["verdict"].sel(benchmark="a") == "faster").any()
    assert (without_censoring["suite_verdict"] != "faster").all()


class TestRunEstimate:
    """Order statistics take stopped runs as far as they determine them."""

    RATES = timings(new=NEW, old=OLD, limit=1.0, better="higher")

    @pytest.mark.parametrize(
        ("statistic", "times", "estimate", "bound"),
        [
            (
                "median",
                SEVEN_OF_EIGHT,
                9.125,
                "exact",
            ),  # 8.9 9 9.05 9.1 9.15 9.2 9.3 and one beyond: dropped, the median was 9.1
            ("median", timings(new=NEW, old=OLD, limit=9.18), 9.125, "exact"),
            ("median", SIX_OF_EIGHT, 60.0, "at_least"),
            ("median", timings(new=NEW, old=OLD, limit=9.08), 9.09, "at_least"),
            ("median", UNLIMITED, np.nan, "unknown"),
            ("min", SEVEN_OF_EIGHT, 8.9, "exact"),
            ("best", timings(new=[9.0], old=OLD, limit=8.0), 8.0, "at_least"),
            ("best", RATES, 9.3, "exact"),
            ("mean", SEVEN_OF_EIGHT, (sum(NEW) + 60) / 8, "at_least"),
            ("mean", RATES, (sum(NEW) + 1) / 8, "at_most"),
        ],
    )
    def test_what_is_determined(self, statistic, times, estimate, bound):
        """What is exact is so whatever the stopped run would have taken beyond its limit."""
        estimates = times.perf.run_estimate(statistic=statistic)
        assert estimates["bound"].values.tolist() == ["exact", bound]
        assert estimates["estimate"].values[1] == pytest.approx(estimate, nan_ok=True)
        assert estimates["n"].values.tolist() == [8, 8]
        for end in (
            (times["censored_at"].max(), 1e6)
            if bound == "exact" and times.attrs["better"] == "lower"
            else ()
        ):
            np.testing.assert_allclose(
                estimates["estimate"],
                ended(times, end).perf.run_estimate(statistic=statistic)["estimate"],
            )


@pytest.mark.filterwarnings("ignore:(?s).*fewer than 30 units")
class TestBootstrapInterval:
    """Percentiles of what rises with every run lie between those of stopped runs at their limits
    and at their worst."""

    @pytest.mark.parametrize("statistic", ["median", "min", "mean"])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_limits_hold_whatever_it_would_have_been(self, statistic, better):
        keywords = {"statistic": statistic, "n_resamples": 300, "rng": 1, "confidence_level": 0.8}
        new, limit = (NEW, 9.18) if better == "lower" else ([1 / x for x in NEW], 1 / 9.18)
        interval = (
            timings(new=new, old=OLD, limit=limit, better=better)
            .perf.bootstrap_interval(**keywords)
            .sel(version="new")
        )
        for factor in (1.0, 1.01, 50.0):
            run = limit * factor if better == "lower" else limit / factor
            worst_interval = (
                timings(new=[*new, run], old=OLD, better=better)
                .perf.bootstrap_interval(**keywords)
                .sel(version="new")
            )
            assert interval["lower"] <= worst_interval["lower"] + 1e-12
            assert interval["upper"] >= worst_interval["upper"] - 1e-12
            if interval["bound"].item() == "exact":
                np.testing.assert_allclose(interval["estimate"], worst_interval["estimate"])
        exact = statistic == "median" or (statistic, better) == ("min", "lower")
        assert (interval["bound"].item() == "exact") == exact
        assert np.isfinite(interval["upper"].item()) == (better == "higher" or statistic != "mean")

    def test_a_limit_nobody_knows(self):
        interval = (
            timings(new=[9.0, 9.2, 9.1], old=OLD, limits_known=False)
            .perf.bootstrap_interval(statistic="median", rng=1)
            .sel(version="new")
        )
        assert (interval["lower"].item(), interval["upper"].item(), interval["bound"].item()) == (
            0.0,
            np.inf,
            "unknown",
        )
        assert np.isnan(interval["estimate"])

    @pytest.mark.parametrize("method", ["basic", "bca"])
    def test_what_is_not_monotone_leaves_them_out(self, method):
        with pytest.warns(perfarray.PerfarrayWarning, match="left out"):
            interval = SEVEN_OF_EIGHT.perf.bootstrap_interval(method=method, rng=1)
        assert interval["n"].values.tolist() == [8, 7]


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("limits", [(1.52, 1.52), (np.inf, 1.52), (1.52, np.inf)])
def test_false_verdicts(n, limits):
    """Of 4,000 systems compared with themselves, a fifth of the runs stopped on a side or both: 5 %
    at most (Monte Carlo error .34 %)."""
    times = stopped_at(limits, np.random.default_rng(3).lognormal(0.0, 0.5, (2, 4000, n)))
    assert (
        times.perf.compare("old", dim="version")["verdict"].isin(["faster", "slower"]).mean()
        < 0.05 + 3 * 0.0034
    )
    if (
        limits == (np.inf, 1.52) and n == 20
    ):  # what is left of the side with the limit looks fast: 27 %
        assert (
            times.perf.compare("old", dim="version", censored="drop")["verdict"] == "faster"
        ).mean() > 0.2


class TestLimitsTravel:
    """Constructors, joins and movers keep the limit."""

    @pytest.fixture
    def frame(self):
        """A table in milliseconds."""
        frame = SIX_OF_EIGHT.perf.to_frame()
        return (
            frame.assign(time_ms=1000 * frame["time"], censored_at=60_000)
            .drop(columns="time")
            .set_index(["version", "execution"])
        )

    def test_a_table_in_milliseconds(self, frame, tmp_path):
        frame.to_csv(tmp_path / "both.csv")
        times = perfarray.read(tmp_path / "both.csv")
        np.testing.assert_allclose(times["censored_at"], 60.0)
        np.testing.assert_allclose(
            times.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"]
        )

    def test_there_and_back(self):
        """Stopped runs have a row of their own."""
        frame = SIX_OF_EIGHT.perf.to_frame()
        assert len(frame) == 16
        xr.testing.assert_allclose(
            frame.perf.to_timings().perf.compare("old"), SIX_OF_EIGHT.perf.compare("old")
        )

    def test_joined_with_a_file_without(self, frame, tmp_path):
        frame.loc[["old"], ["time_ms"]].to_csv(tmp_path / "old.csv")
        frame.loc[["new"]].to_csv(tmp_path / "new.csv")
        times = perfarray.read_archive(
            [tmp_path / "old.csv", tmp_path / "new.csv"], layout="{file}.csv", dim="file"
        )
        limits = {
            "censored": times["censored"].any("file"),
            "censored_at": times["censored_at"].max("file"),
        }
        merged = times.max("file", keep_attrs=True).assign_coords(limits)
        np.testing.assert_allclose(
            merged.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"]
        )

    def test_rates_in_several_units(self, tmp_path):
        """The limit is converted as the rates are."""
        for name, unit, factor in (("a", "ops/s", 1.0), ("b", "ops/ms", 1e-3)):
            rows = f"fft,0,{5000 * factor},0,\nfft,1,,1,{1000 * factor}\n"
            (tmp_path / f"{name}.csv").write_text(
                f"# units: {unit}\nbenchmark,execution,throughput,censored,censored_at\n{rows}"
            )
        times = perfarray.read_archive(tmp_path)
        np.testing.assert_allclose(times["censored_at"].sel(benchmark="fft", execution=1), 1000.0)
        np.testing.assert_allclose(times.perf.mean_interval()["estimate"], 3000.0)

    def test_another_metric_has_no_limit(self):
        """60 s are no limit of an energy."""
        times = SIX_OF_EIGHT.to_dataset().assign(energy=(SIX_OF_EIGHT * 3).assign_attrs(units="J"))
        verdicts = times.perf.compare("old", metric="energy")
        assert verdicts["kind"].item() == "unbounded"
        assert times.perf.compare("old", metric="time")["kind"].item() == "at_least"

    @pytest.mark.parametrize("as_variable", [False, True])
    def test_merged_levels_and_warm_up(self, as_variable):
        times = SIX_OF_EIGHT.expand_dims(session=2, axis=1).copy().to_dataset()
        times = times.reset_coords("censored_at") if as_variable else times
        merged = times.perf.merge_level("session")
        assert merged.perf.compare("old").attrs["n_censored"] == 12
        np.testing.assert_allclose(
            merged.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"]
        )
        cold = times.assign_coords(warmup=("execution", np.arange(8) == 0)).perf.drop_warmup()
        assert cold.perf.mean_interval().attrs["n_censored"] == 12

"""Runs stopped at a limit count as at least that: only what stays true whatever they would have taken is answered."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at a limit")

OLD = [10.1, 9.9, 10.2, 9.8, 10.0, 10.3, 9.7, 10.0]


def timings(new=(), old=(), limit=60.0, *, known=True, better="lower"):
    """Eight runs a side: those given, and for the rest runs that were stopped at the limit."""
    values = np.full((2, 8), np.nan)
    values[0, : len(old)], values[1, : len(new)] = old, new
    stopped = np.isnan(values)
    coords = {"version": ["old", "new"], "censored": (("version", "execution"), stopped)}
    if known:
        coords["censored_at"] = (("version", "execution"), np.full((2, 8), limit))
    return xr.DataArray(
        values,
        dims=("version", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s" if better == "lower" else "1", "better": better},
    )


SIX_OF_EIGHT = timings(new=[9.0, 9.2], old=OLD)
METHODS = [{}, {"method": "log_delta"}, {"method": "delta"}, {"method": "percentile", "rng": 1}, {"df": "conservative"}]


class TestCompare:
    """The stopped side is never better, and never equivalent."""

    @pytest.mark.parametrize("keywords", METHODS)
    def test_six_of_eight_candidates(self, keywords):
        """Two runs that ended faster do not make a system fast: the ratio is at least what the limits give."""
        found = SIX_OF_EIGHT.perf.compare("old", **keywords)
        assert found["verdict"].item() == "slower"
        assert found["suite_verdict"].item() == "slower"
        assert (found["upper"].item(), found["kind"].item()) == (np.inf, "at_least")
        np.testing.assert_allclose(found["estimate"], (9.0 + 9.2 + 6 * 60) / 80.0)
        assert found["pvalue"] < 0.05
        assert found["lower"] > 1

    @pytest.mark.parametrize("keywords", METHODS)
    def test_the_other_way_round(self, keywords):
        found = SIX_OF_EIGHT.perf.compare("new", **keywords)
        assert found["verdict"].item() == "faster"
        assert (found["lower"].item(), found["kind"].item()) == (0.0, "at_most")

    def test_a_lower_limit_decides_nothing(self):
        """Stopped at 9.1 s against 10 s: they may have taken any longer."""
        found = timings(new=[9.0, 9.2], old=OLD, limit=9.1).perf.compare("old", threshold=0.2)
        assert found["verdict"].item() == "inconclusive"
        assert found["pvalue_equivalent"].item() == 1.0
        assert timings(new=[9.0, 9.2], old=OLD, limit=9.1).perf.compare("old")["verdict"].item() == "inconclusive"

    def test_both_sides(self):
        found = timings(new=[9.0, 9.2], old=OLD[:7]).perf.compare("old")
        assert found["verdict"].item() == "inconclusive"
        assert (found["kind"].item(), found["pvalue"].item()) == ("unbounded", 1.0)
        assert np.isnan(found["estimate"])
        assert np.isnan(found["suite_estimate"])

    @pytest.mark.parametrize("new", [[9.0] * 7, [11.0] * 7])
    def test_a_limit_nobody_knows(self, new):
        """Nothing is known of such a run, in either direction."""
        assert timings(new=new, old=OLD, known=False).perf.compare("old")["verdict"].item() == "inconclusive"

    def test_without_a_limit_the_value_is_the_limit(self):
        times = SIX_OF_EIGHT.fillna(SIX_OF_EIGHT["censored_at"]).drop_vars("censored_at").assign_attrs(SIX_OF_EIGHT.attrs)
        xr.testing.assert_identical(times.perf.compare("old"), SIX_OF_EIGHT.perf.compare("old"))

    def test_rates_are_at_most_their_limit(self):
        """A stopped run did no more than its limit's work: it is the smaller rate that is not known."""
        found = timings(new=[9.0, 9.2], old=OLD, limit=1.0, better="higher").perf.compare("old")
        assert (found["verdict"].item(), found["kind"].item()) == ("slower", "at_most")
        assert timings(new=[11.0, 11.2], old=OLD, limit=60.0, better="higher").perf.compare("old")["verdict"].item() == "inconclusive"

    def test_drop_is_the_way_without_them(self):
        found = SIX_OF_EIGHT.perf.compare("old", censored="drop")
        assert (found["verdict"].item(), found.attrs["censored"], found.attrs["n_censored"]) == ("faster", "drop", 6)
        assert [note.code for note in found.perf.notes()] == ["censored", "two_units"]

    def test_it_is_said(self):
        with pytest.warns(perfarray.PerfarrayWarning, match="6 runs of the candidate were stopped at a limit") as caught:
            found = SIX_OF_EIGHT.perf.compare("old")
        (note,) = caught[0].message.notes
        assert (note.code, note.values) == ("censored", {"candidate": 6, "baseline": 0})
        assert (found.attrs["censored"], found.attrs["n_censored"]) == ("bound", 6)

    @pytest.mark.parametrize("limit", ["60", True, np.timedelta64(60, "s"), np.array(["60"] * 8, dtype=object), -1.0, 0.0, np.inf])
    @pytest.mark.parametrize("method", ["compare", "prob_faster", "score_ratio_interval"])
    def test_what_is_no_limit_is_named(self, method, limit):
        """Not the values, in whose place it would stand."""
        times = SIX_OF_EIGHT.assign_coords(censored_at=limit if np.ndim(limit) == 0 else ("execution", limit))
        came = np.ravel(limit)[0]
        with pytest.raises(ValueError, match=rf"^censored_at .*{came:g}" if isinstance(limit, float) else rf"^censored_at .*'{came}'"):
            getattr(times.perf, method)("old")

    def test_limits_of_runs_that_ended_do_not_matter(self):
        limits = SIX_OF_EIGHT["censored_at"].where(SIX_OF_EIGHT["censored"], 0.0).astype(object)
        xr.testing.assert_identical(SIX_OF_EIGHT.assign_coords(censored_at=limits).perf.compare("old"), SIX_OF_EIGHT.perf.compare("old"))

    @pytest.mark.parametrize("dtype", [object, str])
    def test_a_text_is_no_mark(self, dtype):
        """`False` as a text would be taken for true."""
        times = SIX_OF_EIGHT.assign_coords(censored=SIX_OF_EIGHT["censored"].astype(str).astype(dtype))
        with pytest.raises(ValueError, match="the mark 'censored' holds the text 'False'"):
            times.perf.compare("old")

    def test_data_without_stopped_runs_are_as_before(self):
        times = timings(new=[9.0] * 7 + [9.1], old=OLD)
        bare = times.drop_vars(["censored", "censored_at"])
        xr.testing.assert_identical(times.perf.compare("old"), bare.perf.compare("old"))

    def test_what_else_is_marked_is_left_out(self):
        """A failed run that was stopped as well tells nothing."""
        times = SIX_OF_EIGHT.assign_coords(failed=SIX_OF_EIGHT["censored"])
        found, expected = times.perf.compare("old"), SIX_OF_EIGHT.perf.compare("old", censored="drop")
        assert found["verdict"].item() == expected["verdict"].item() == "faster"

    @pytest.mark.parametrize("keywords", [{"version": 1}, {"execution": -1}])
    def test_lazy(self, keywords):
        lazy = SIX_OF_EIGHT.chunk(keywords).assign_coords(censored=SIX_OF_EIGHT["censored"].variable.chunk(keywords))
        for times in (lazy, SIX_OF_EIGHT.chunk(keywords)):
            xr.testing.assert_allclose(times.perf.compare("old").compute(), SIX_OF_EIGHT.perf.compare("old"))

    def test_other_benchmarks_keep_their_verdicts(self):
        """The suite row takes the bound."""
        calm = timings(new=[9.0, 9.2, 9.1, 9.0, 9.1, 9.2, 9.0, 9.1], old=OLD)
        times = xr.concat([SIX_OF_EIGHT, calm], dim="benchmark", combine_attrs="override").assign_coords(benchmark=["fft", "sort"])
        found = times.perf.compare("old")
        assert found["verdict"].values.ravel().tolist() == ["slower", "faster"]
        np.testing.assert_allclose(found["upper"].values.ravel()[1], calm.perf.compare("old")["upper"].item())
        assert found["suite_upper"].item() == np.inf
        assert times.perf.compare("new")["suite_lower"].item() == 0.0

    def test_pairs(self):
        found = SIX_OF_EIGHT.perf.compare("old", paired="execution")
        assert (found["verdict"].item(), found["upper"].item()) == ("slower", np.inf)

    def test_pairwise(self):
        verdicts = SIX_OF_EIGHT.perf.pairwise(dim="version")["verdict"]
        assert verdicts.sel(version="new", baseline="old").item() == "slower"
        assert verdicts.sel(version="old", baseline="new").item() == "faster"

    def test_other_timings_as_baseline(self):
        old, new = (SIX_OF_EIGHT.sel(version=[label], drop=True).squeeze("version", drop=True) for label in ("old", "new"))
        assert new.perf.compare(old)["verdict"].item() == "slower"
        assert old.perf.compare(new)["verdict"].item() == "faster"

    def test_iterations(self):
        """Some iterations of an execution were stopped: its mean is a bound."""
        runs = xr.DataArray(
            np.where(np.arange(5) < 4, np.array(OLD)[:, None] * np.array([[[1.0]], [[0.9]]]), np.nan),
            dims=("version", "execution", "iteration"),
            coords={"version": ["old", "new"]},
            name="time",
        )
        times = runs.assign_coords(censored=runs.isnull() & (runs["version"] == "new"), censored_at=60.0)
        found = times.perf.compare("old")
        np.testing.assert_allclose(found["estimate"], (0.9 * 4 * 10 + 60) / 5 / 10, rtol=1e-12)
        assert found["verdict"].item() == "slower"

    def test_a_wrong_choice(self):
        with pytest.raises(ValueError, match="censored='keep' is not known; choose one of 'bound', 'drop'"):
            SIX_OF_EIGHT.perf.compare("old", censored="keep")


class TestIntervals:
    """The limit towards what is not known is open."""

    def test_ratio(self):
        for keywords in ({}, {"method": "basic", "rng": 1}):
            found = SIX_OF_EIGHT.perf.ratio_interval("old", **keywords)
            assert (found["upper"].item(), found["kind"].item()) == (np.inf, "at_least")
            assert found["lower"] > 1
            other = SIX_OF_EIGHT.perf.ratio_interval("new", **keywords)
            assert (other["lower"].item(), other["kind"].item()) == (0.0, "at_most")
        np.testing.assert_allclose(SIX_OF_EIGHT.perf.ratio_interval("old")["lower"], SIX_OF_EIGHT.perf.compare("old")["lower"])

    def test_ratio_of_what_may_be_negative(self):
        """Of differences the limit that is not known is open all the way; where both are, it is the whole line whatever the sign."""
        below = SIX_OF_EIGHT.copy(data=np.where(OLD[0] == SIX_OF_EIGHT, -OLD[0], SIX_OF_EIGHT)).rename("gain").assign_attrs(units="1")
        found = below.perf.ratio_interval("new")
        assert (found["lower"].item(), found["kind"].item()) == (-np.inf, "at_most")
        both = timings(new=[9.0, 9.2], old=[10.0, 10.2, 9.9]).perf.ratio_interval("new")
        assert (both["lower"].item(), both["upper"].item(), both["kind"].item()) == (-np.inf, np.inf, "unbounded")

    def test_mean(self):
        found = SIX_OF_EIGHT.perf.mean_interval()
        assert np.isposinf(found["upper"].values).tolist() == [False, True]
        with pytest.warns(perfarray.PerfarrayWarning, match="not normal"):
            plain = SIX_OF_EIGHT.fillna(60.0).drop_vars(["censored", "censored_at"]).perf.mean_interval()
        np.testing.assert_allclose(found["lower"], plain["lower"])
        rate = SIX_OF_EIGHT.assign_attrs(better="higher").perf.mean_interval()
        assert np.isneginf(rate["lower"].values).tolist() == [False, True]


def suite(*, known=True):
    """Six benchmarks, the new version 10 % faster; on the first, six of its eight runs were stopped at 60 s."""
    rng = np.random.default_rng(1)
    values = np.stack([rng.normal(10, 0.2, (6, 8)), rng.normal(9, 0.2, (6, 8))])
    values[1, 0, :6] = np.nan
    coords = {"version": ["old", "new"], "benchmark": list("abcdef"), "censored": (("version", "benchmark", "execution"), np.isnan(values))}
    times = xr.DataArray(values, dims=("version", "benchmark", "execution"), coords=coords, name="time", attrs={"units": "s"})
    return times.assign_coords(censored_at=60.0) if known else times


class TestSuites:
    """A suite's ratio and score are bounds as soon as one benchmark's are."""

    @pytest.mark.parametrize("keywords", [{"sensitivity": True}, {"method": "percentile", "rng": 1, "sensitivity": True}])
    def test_ratio(self, keywords):
        found, turned = (suite().perf.score_ratio_interval(baseline, **keywords) for baseline in ("old", "new"))
        assert found["lower"].item() > 1
        assert (found["upper"].item(), turned["lower"].item()) == (np.inf, 0.0)
        assert found["pvalue"].item() < 0.05
        assert np.isfinite(found["upper_without"].sel(benchmark="a")).item()
        assert np.isinf(found["upper_without"].drop_sel(benchmark="a")).all()
        assert suite().perf.score_ratio_interval("old", censored="drop", **keywords)["upper"].item() < 1

    def test_a_limit_nobody_knows(self):
        """The benchmark is not left out of the suite for having no run that ended."""
        nothing = suite(known=False)
        nothing[1, 0] = np.nan
        nothing["censored"][1, 0] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for times in (suite(known=False), nothing):
                found = times.perf.score_ratio_interval("old")
                assert (found["lower"].item(), found["upper"].item(), found["pvalue"].item()) == (0.0, np.inf, 1.0)
                assert times.perf.compare("old")["suite_verdict"].item() == "inconclusive"

    @pytest.mark.parametrize(("alternative", "certain"), [("less", True), ("greater", False)])
    def test_one_sided(self, alternative, certain):
        """What is at least its limits is never shown to be less."""
        for name, keywords in (("score_ratio_interval", {}), ("randomization_test", {"rng": 1})):
            pvalue = getattr(suite().perf, name)("old", alternative=alternative, **keywords)["pvalue"].item()
            assert (pvalue == 1.0) == certain, name

    def test_randomization_of_one_sided_limits(self):
        """The same system with a limit on one side only: the side with the limit is not shown to be faster."""
        values = np.random.default_rng(0).lognormal(0, 0.5, (300, 2, 10))
        stopped = (values > 1.2) & (np.arange(2) == 1)[:, None]
        times = xr.DataArray(
            np.where(stopped, 1.2, values),
            dims=("cell", "version", "execution"),
            coords={"version": ["old", "new"], "censored": (("cell", "version", "execution"), stopped)},
        )
        found = times.perf.randomization_test("old", dim="version", rng=1)
        assert float((found["pvalue"] <= 0.05).mean()) < 0.05
        dropped = times.perf.randomization_test("old", dim="version", rng=1, censored="drop")
        assert float((dropped["pvalue"] <= 0.05).mean()) > 0.15

    def test_ranks_take_the_worst(self):
        found = suite().perf.hierarchical_performance_test("old")
        worst = suite().fillna(1e9).drop_vars(["censored", "censored_at"]).perf.hierarchical_performance_test("old")
        assert found["confidence"].item() == worst["confidence"].item()

    def test_no_factor_is_left_where_most_runs_were_stopped(self):
        """It is a bound of 0, not one made of what stands in their place."""
        times = xr.concat([SIX_OF_EIGHT] * 6, dim="benchmark", combine_attrs="override")
        found = times.perf.hierarchical_performance_test("old")
        assert (found["confidence"].item(), found["speedup"].item()) == (0.0, 0.0)

    def test_ranks_of_a_baseline_without_limits(self):
        """Its stopped runs may have been about to end: they count as the fastest of all."""
        old = suite(known=False).assign_coords(version=["new", "old"])  # the names changed: the stopped side is the baseline now
        slow = old.where(old["version"] == "old", 0.5 * old).assign_attrs(old.attrs)
        found, known = slow.perf.hierarchical_performance_test("old"), suite().assign_coords(version=["new", "old"])
        ended = known.where(known["version"] == "old", 0.5 * known).assign_attrs(old.attrs).perf.hierarchical_performance_test("old")
        assert found["confidence"].item() < ended["confidence"].item()

    def test_scores_are_bounds(self):
        plain = suite().fillna(60.0).drop_vars(["censored", "censored_at"])
        score, expected = (times.perf.suite_score()["estimate"] for times in (suite(), plain))
        np.testing.assert_allclose(score, expected)
        five, numbers = (times.perf.five_number_summary(method="exact") for times in (suite(), plain))
        np.testing.assert_allclose(five["median"], numbers["median"])
        assert np.isnan(five["range"].values).tolist() == [False, True]
        assert np.isnan(suite().perf.relative_variation()["relative_variation"].values).tolist() == [False, True]
        assert np.isnan(suite(known=False).perf.suite_score()["estimate"].values).tolist() == [False, True]
        np.testing.assert_allclose(suite().perf.score_distribution(rng=1), plain.perf.score_distribution(rng=1))
        assert "censored" in [note.code for note in suite().perf.score_distribution(rng=1).perf.notes()]


NEW = [9.0, 9.2, 9.1, 9.3, 9.05, 9.15, 8.9]


class TestSpeedups:
    """A speedup is exact where stopped runs do not decide it, else a bound; it is significant only if it is so in the worst case."""

    @pytest.mark.parametrize(
        ("statistic", "times", "bound"),
        [
            ("mean", timings(new=NEW, old=OLD), "at_most"),
            ("median", timings(new=NEW, old=OLD), "exact"),
            ("median", SIX_OF_EIGHT, "at_most"),
            ("min", SIX_OF_EIGHT, "exact"),
            ("mean", timings(new=[*NEW, 9.0], old=OLD[:6]), "at_least"),
            ("mean", timings(new=NEW, old=OLD[:6]), "unknown"),
            ("median", timings(new=NEW, old=OLD, known=False), "unknown"),
        ],
    )
    def test_observed(self, statistic, times, bound):
        found, overall = times.perf.speedup("old", statistic=statistic), times.perf.overall_speedup("old", statistic=statistic)
        assert (found["bound"].item(), overall["bound"].item()) == (bound, bound)
        assert np.isnan(found["estimate"].item()) == np.isnan(overall["speedup"].item()) == (bound == "unknown")
        if bound == "exact":
            far = times.fillna(1e4).drop_vars(["censored", "censored_at"])
            np.testing.assert_allclose(found["estimate"], far.perf.speedup("old", statistic=statistic)["estimate"])

    def test_means_of_a_stopped_candidate_conclude_nothing(self):
        found = timings(new=NEW, old=OLD).perf.speedup_test("old")
        assert (found["significant"].item(), found["test"].item()) == (False, "cannot conclude")
        assert np.isnan(found["confidence_level"])
        assert timings(new=NEW, old=OLD).perf.speedup_test("old", censored="drop")["significant"].item()

    @pytest.mark.parametrize("limit", [9.31, 60.0])
    def test_ranks_take_them_as_the_slowest(self, limit):
        """Whatever the stopped run would have taken, seven of eight are faster than all old ones."""
        found = timings(new=NEW, old=OLD, limit=limit).perf.speedup_test("old", statistic="median", confidence_level=0.95)
        far = timings(new=[*NEW, 1e4], old=OLD).perf.speedup_test("old", statistic="median", confidence_level=0.95)
        assert found["significant"].item()
        assert found["pvalue"].item() == far["pvalue"].item()
        np.testing.assert_allclose(found["speedup"], far["speedup"])

    @pytest.mark.parametrize("statistic", ["mean", "median"])
    def test_no_claim_for_a_median_that_is_not_known(self, statistic):
        for times in (SIX_OF_EIGHT, timings(new=NEW, old=OLD, known=False)):
            found = times.perf.speedup_test("old", statistic=statistic, confidence_level=0.95)
            assert not found["significant"].item()
            assert np.isnan(found["speedup"])

    def test_a_stopped_baseline(self):
        """It is at least as slow as its limits."""
        found = timings(new=[*NEW, 9.0], old=OLD[:6]).perf.speedup_test("old", statistic="median", confidence_level=0.95)
        assert found["significant"].item()


class TestProbabilities:
    """P[X < Y] is what it is where stopped runs do not decide it, else between two bounds."""

    @staticmethod
    def far(times, **ends):
        """Let stopped runs end after so many seconds, by version."""
        ended = times
        for version, seconds in ends.items():
            ended = ended.where(~(times["censored"] & (times["version"] == version)), seconds)
        return ended.assign_attrs(times.attrs).drop_vars(["censored", "censored_at"])

    @pytest.mark.parametrize("seconds", [60.1, 1e6])
    def test_determined(self, seconds):
        """All old runs ended before the limit: it does not matter how long a stopped one would have taken."""
        times = timings(new=NEW, old=OLD)
        found, ended = times.perf.prob_faster("old", rng=1), self.far(times, new=seconds).perf.prob_faster("old", rng=1)
        for name in ("estimate", "lower", "upper", "tied", "n"):
            np.testing.assert_allclose(found[name], ended[name])
        fastest = times.perf.prob_fastest(dim="version", rng=1)
        np.testing.assert_allclose(fastest["estimate"], self.far(times, new=seconds).perf.prob_fastest(dim="version", rng=1)["estimate"])

    def test_between_bounds(self):
        """A candidate stopped at 9.9 s, baselines at 60 s: any end gives a probability between the bounds, with limits inside theirs."""
        times = timings(new=NEW, old=OLD[:6], limit=60.0)
        found = times.perf.prob_faster("old", rng=1)
        assert np.isnan(found["estimate"])
        assert (found["at_least"].item(), found["at_most"].item()) == (7 / 8, 7 / 8 + 2 / 64)
        for new, old in ((61.0, 62.0), (62.0, 61.0), (1e6, 60.5)):
            ended = self.far(times, new=new, old=old).perf.prob_faster("old", rng=1)
            assert found["at_least"] <= ended["estimate"] <= found["at_most"]
            assert found["lower"] <= ended["lower"] + 1e-12
            assert found["upper"] >= ended["upper"] - 1e-12

    def test_rates(self):
        """A rate of a stopped run is at most its limit."""
        times = timings(new=[11.0] * 7, old=OLD, limit=9.0, better="higher")
        assert times.perf.prob_faster("old", rng=1)["estimate"].item() == 7 / 8
        high = timings(new=[11.0] * 7, old=OLD, limit=12.0, better="higher").perf.prob_faster("old", rng=1)
        assert (high["at_least"].item(), high["at_most"].item()) == (7 / 8, 1.0)

    def test_a_limit_nobody_knows(self):
        found = timings(new=NEW, old=OLD, known=False).perf.prob_faster("old", rng=1)
        assert (found["at_least"].item(), found["at_most"].item()) == (7 / 8, 1.0)

    def test_lazy(self):
        times = timings(new=NEW, old=OLD)
        lazy = times.chunk({"version": 1}).perf.prob_faster("old", rng=1)
        np.testing.assert_allclose(lazy["estimate"], times.perf.prob_faster("old", rng=1)["estimate"])

    def test_drop(self):
        times = timings(new=NEW, old=OLD)
        np.testing.assert_allclose(times.perf.prob_faster("old", rng=1, censored="drop")["estimate"], 1.0)
        assert times.perf.prob_faster("old", rng=1, method="mixture", censored="drop")["n"].item() == 7

    def test_mixtures(self):
        """A mixture has no place for a stopped run: NaN where there is one, on either side, and the note names what bounds it."""
        cells = [timings(new=NEW, old=OLD), timings(new=[*NEW, 9.3][:8], old=OLD)]
        times = xr.concat(cells, dim="benchmark", coords="all", compat="override", join="outer").assign_coords(benchmark=["a", "b"])
        for baseline in ("old", "new"):
            with pytest.warns(perfarray.PerfarrayWarning, match="method='empirical'"):
                found = times.perf.prob_faster(baseline, rng=1, method="mixture", n_resamples=3)
            fastest = times.perf.prob_fastest(dim="version", rng=1, method="mixture", n_resamples=3)
            for name in ("estimate", "lower", "upper", "tied"):
                for result in (found, fastest):
                    assert result[name].sel(benchmark="a").isnull().all()
                    assert result[name].sel(benchmark="b").notnull().all()


def test_agreement():
    """No method calls the side with stopped runs the faster one, in either direction."""
    for baseline, wrong in (("old", "faster"), ("new", "slower")):
        found = SIX_OF_EIGHT.expand_dims(benchmark=["a"]).perf.agreement(baseline, rng=1)
        assert not (found["verdict"] == wrong).any()
        assert not (found["suite_verdict"] == wrong).any()
        assert "censored" in [note.code for note in found.perf.notes()]
    whole = suite().perf.agreement("old", rng=1)
    assert not (whole["verdict"].sel(benchmark="a") == "faster").any()
    assert (whole["suite_verdict"] != "faster").all()


class TestRunEstimate:
    """Order statistics take stopped runs as far as they determine them."""

    @pytest.mark.parametrize(
        ("statistic", "new", "limit", "estimate", "bound"),
        [
            ("median", NEW, 60.0, 9.125, "exact"),  # 8.9 9 9.05 9.1 9.15 9.2 9.3 and one beyond: dropped, the median was 9.1
            ("median", [9.0, 9.2], 60.0, 60.0, "at_least"),
            ("median", NEW, 9.08, 9.09, "at_least"),
            ("min", NEW, 60.0, 8.9, "exact"),
            ("best", [9.0], 8.0, 8.0, "at_least"),
            ("mean", NEW, 60.0, (sum(NEW) + 60) / 8, "at_least"),
        ],
    )
    def test_what_is_determined(self, statistic, new, limit, estimate, bound):
        found = timings(new=new, old=OLD, limit=limit).perf.run_estimate(statistic=statistic)
        assert found["bound"].values.tolist() == ["exact", bound]
        assert found["estimate"].values[1] == pytest.approx(estimate)
        assert found["n"].values.tolist() == [8, 8]

    @pytest.mark.parametrize("far", [9.06, 9.4, 1e6])
    def test_exact_is_what_it_would_have_been(self, far):
        """Whatever the stopped run would have taken beyond its limit."""
        found = timings(new=NEW, old=OLD, limit=9.18).perf.run_estimate(statistic="median")
        whole = timings(new=[*NEW, max(far, 9.18)], old=OLD).perf.run_estimate(statistic="median")
        assert found["bound"].values[1] == "exact"
        np.testing.assert_allclose(found["estimate"], whole["estimate"])

    def test_limits_nobody_knows_and_rates(self):
        found = timings(new=NEW, old=OLD, known=False).perf.run_estimate(statistic="median")
        assert (found["bound"].values[1], np.isnan(found["estimate"].values[1])) == ("unknown", True)
        rates = timings(new=NEW, old=OLD, limit=1.0, better="higher").perf.run_estimate(statistic="mean")
        assert (rates["bound"].values[1], rates["estimate"].values[1]) == ("at_most", pytest.approx((sum(NEW) + 1) / 8))
        best = timings(new=NEW, old=OLD, limit=1.0, better="higher").perf.run_estimate(statistic="best")
        assert (best["bound"].values[1], best["estimate"].values[1]) == ("exact", 9.3)

    def test_lazy(self):
        times = timings(new=NEW, old=OLD)
        xr.testing.assert_allclose(times.chunk({"version": 1}).perf.run_estimate().compute(), times.perf.run_estimate())


@pytest.mark.filterwarnings("ignore:(?s).*fewer than 30 units")
class TestBootstrapInterval:
    """Percentiles of what rises with every run lie between those of stopped runs at their limits and at their worst."""

    @pytest.mark.parametrize("statistic", ["median", "min", "mean"])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_limits_hold_whatever_it_would_have_been(self, statistic, better):
        keywords = {"statistic": statistic, "n_resamples": 300, "rng": 1, "confidence_level": 0.8}
        new, limit = (NEW, 9.18) if better == "lower" else ([1 / x for x in NEW], 1 / 9.18)
        found = timings(new=new, old=OLD, limit=limit, better=better).perf.bootstrap_interval(**keywords).sel(version="new")
        for factor in (1.0, 1.01, 50.0):
            run = limit * factor if better == "lower" else limit / factor
            whole = timings(new=[*new, run], old=OLD, better=better).perf.bootstrap_interval(**keywords).sel(version="new")
            assert found["lower"] <= whole["lower"] + 1e-12
            assert found["upper"] >= whole["upper"] - 1e-12
            if found["bound"].item() == "exact":
                np.testing.assert_allclose(found["estimate"], whole["estimate"])
        exact = statistic == "median" or (statistic, better) == ("min", "lower")
        assert (found["bound"].item() == "exact") == exact
        assert np.isfinite(found["upper"].item()) == (better == "higher" or statistic != "mean")

    def test_a_limit_nobody_knows(self):
        found = timings(new=[9.0, 9.2, 9.1], old=OLD, known=False).perf.bootstrap_interval(statistic="median", rng=1).sel(version="new")
        assert (found["lower"].item(), found["upper"].item(), found["bound"].item()) == (0.0, np.inf, "unknown")
        assert np.isnan(found["estimate"])

    @pytest.mark.parametrize("method", ["basic", "bca"])
    def test_what_is_not_monotone_leaves_them_out(self, method):
        with pytest.warns(perfarray.PerfarrayWarning, match="left out"):
            found = timings(new=NEW, old=OLD).perf.bootstrap_interval(method=method, rng=1)
        assert found["n"].values.tolist() == [8, 7]

    def test_lazy(self):
        times = timings(new=NEW, old=OLD)
        lazy = times.chunk({"version": 1}).perf.bootstrap_interval(statistic="median", rng=1)
        xr.testing.assert_allclose(lazy.compute(), times.perf.bootstrap_interval(statistic="median", rng=1))


class TestOthers:
    """Methods that leave stopped runs out say so."""

    @pytest.mark.parametrize("name", ["variance_components", "fit_mixture", "estimator_stability", "normality"])
    def test_left_out(self, name):
        times = timings(new=[9.0, 9.2, 9.1, 9.3], old=OLD)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(times.perf, name)()
        dataset = found if isinstance(found, xr.Dataset) else found.to_dataset()
        assert "censored" in [note.code for note in dataset.perf.notes()]


def false_verdicts(limits, n, **keywords):
    """Return the shares of `faster` and `slower` among 4,000 comparisons of lognormal runs with themselves, stopped at limits."""
    rng = np.random.default_rng(3)
    values = rng.lognormal(0.0, 0.5, (2, 4000, n))
    bounds = np.reshape(limits, (2, 1, 1))
    times = xr.DataArray(
        np.minimum(values, bounds),
        dims=("version", "benchmark", "execution"),
        coords={"version": ["old", "new"], "censored": (("version", "benchmark", "execution"), values >= bounds)},
        name="time",
    )
    verdict = times.perf.compare("old", dim="version", **keywords)["verdict"]
    return [float((verdict == word).mean()) for word in ("faster", "slower")]


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("limits", [(1.52, 1.52), (np.inf, 1.52), (1.52, np.inf)])
def test_false_verdicts(n, limits):
    """A system compared with itself, a fifth of the runs stopped on one side or both: 5 % at most (Monte Carlo error .34 %)."""
    faster, slower = false_verdicts(limits, n)
    assert faster + slower < 0.05 + 3 * 0.0034


def test_false_verdicts_of_dropping():
    """What is left of the side with the limit looks fast: 27 % of 20 runs a side."""
    faster, _ = false_verdicts((np.inf, 1.52), 20, censored="drop")
    assert faster > 0.2


class TestLimitsTravel:
    """Constructors, joins and movers keep the limit."""

    ROWS = "version,execution,time_ms,censored,censored_at\n" + "".join(
        f"{version},{run},{'' if stopped else 1000 * value},{int(stopped)},{60000}\n"
        for version, values in (("old", OLD), ("new", [9.0, 9.2] + [np.nan] * 6))
        for run, (value, stopped) in enumerate(zip(values, np.isnan(values), strict=True))
    )

    def test_a_table_in_milliseconds(self, tmp_path):
        (tmp_path / "both.csv").write_text(self.ROWS)
        times = perfarray.read(tmp_path / "both.csv")
        np.testing.assert_allclose(times["censored_at"], 60.0)
        np.testing.assert_allclose(times.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"])

    def test_there_and_back(self):
        """Stopped runs have a row of their own."""
        frame = SIX_OF_EIGHT.perf.to_frame()
        assert len(frame) == 16
        xr.testing.assert_allclose(frame.perf.to_timings().perf.compare("old"), SIX_OF_EIGHT.perf.compare("old"))

    def test_joined_with_a_file_without(self, tmp_path):
        lines = self.ROWS.splitlines(keepends=True)
        (tmp_path / "old.csv").write_text(
            "version,execution,time_ms\n" + "".join(",".join(line.split(",")[:3]) + "\n" for line in lines[1:9])
        )
        (tmp_path / "new.csv").write_text("".join([lines[0], *lines[9:]]))
        times = perfarray.read_archive([tmp_path / "old.csv", tmp_path / "new.csv"], layout="{file}.csv", dim="file")
        merged = times.max("file", keep_attrs=True).assign_coords(
            censored=times["censored"].any("file"), censored_at=times["censored_at"].max("file")
        )
        np.testing.assert_allclose(merged.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"])

    def test_rates_in_several_units(self, tmp_path):
        """The limit is converted as the rates are."""
        for name, unit, factor in (("a", "ops/s", 1.0), ("b", "ops/ms", 1e-3)):
            rows = f"fft,0,{5000 * factor},0,\nfft,1,,1,{1000 * factor}\n"
            (tmp_path / f"{name}.csv").write_text(f"# units: {unit}\nbenchmark,execution,throughput,censored,censored_at\n{rows}")
        times = perfarray.read_archive(tmp_path)
        np.testing.assert_allclose(times["censored_at"].sel(benchmark="fft", execution=1), 1000.0)
        np.testing.assert_allclose(times.perf.mean_interval()["estimate"], 3000.0)

    def test_another_metric_has_no_limit(self):
        """60 s are no limit of an energy."""
        times = SIX_OF_EIGHT.to_dataset().assign(energy=(SIX_OF_EIGHT * 3).assign_attrs(units="J"))
        found = times.perf.compare("old", metric="energy")
        assert found["kind"].item() == "unbounded"
        assert times.perf.compare("old", metric="time")["kind"].item() == "at_least"

    def test_a_variable(self):
        times = SIX_OF_EIGHT.to_dataset().reset_coords("censored_at")
        xr.testing.assert_allclose(times.perf.compare("old"), SIX_OF_EIGHT.perf.compare("old"))

    @pytest.mark.parametrize("as_variable", [False, True])
    def test_merged_levels_and_warm_up(self, as_variable):
        times = SIX_OF_EIGHT.expand_dims(session=2, axis=1).copy().to_dataset()
        times = times.reset_coords("censored_at") if as_variable else times
        merged = times.perf.merge_level("session")
        assert merged.perf.compare("old").attrs["n_censored"] == 12
        np.testing.assert_allclose(merged.perf.compare("old")["estimate"], SIX_OF_EIGHT.perf.compare("old")["estimate"])
        cold = times.assign_coords(warmup=("execution", np.arange(8) == 0)).perf.drop_warmup()
        assert cold.perf.mean_interval().attrs["n_censored"] == 12

"""Units that depend on those before them: told, and allowed for by batch means."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from method_calls import OLD, ask

SAID = "executions that depend on those before them, or drift"


def timings(correlation, size, seed=1):
    """Return timings of two versions whose executions have a correlation with those before them;
    the new one takes 10 % longer."""
    noise = np.random.default_rng(seed).normal(size=(*size[:-1], size[-1] + 50)) * np.sqrt(
        1 - correlation**2
    )
    values = (10 + 0.2 * lfilter([1], [1, -correlation], noise)[..., 50:]) * [[1.0], [1.1]]
    return xr.DataArray(
        values,
        {"version": ["old", "new"]},
        ("benchmark", "version", "execution"),
        "time",
        {"units": "s"},
    )


CALLS = {
    "compare": OLD,
    "compare, studentized": OLD | {"method": "studentized", "n_resamples": 20, "rng": 1},
    "mean_interval": {},
    "ratio_interval": OLD,
    "plan_repetitions": {"costs": {}, "budget": 100},
    "plan_suite": OLD | {"costs": {"execution": 1.0}, "budget": 1000, "shared": None},
}


@pytest.mark.filterwarnings("ignore:.*n_resamples:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_dependence_is_told(name):
    """By every interval and plan, once, with the numbers of cells; independent executions are
    not."""
    with pytest.warns(UserWarning, match=f"cells have {SAID}") as caught:
        ask(timings(0.9, (3, 2, 40)), name, CALLS[name])
    assert sum(SAID in str(warning.message) for warning in caught) == 1
    ask(timings(0.0, (3, 2, 40)), name, CALLS[name])


def test_false_alarms_of_a_call():
    """Of comparisons of twenty independent benchmarks at most one in twenty is told to be
    dependent."""
    calls = [timings(0.0, (20, 2, 15), seed).perf.ratio_interval("old") for seed in range(100)]
    assert (
        sum("dependent_units" in [note.code for note in answer.perf.notes()] for answer in calls)
        <= 8
    )


def test_a_lazy_result_says_it_when_computed():
    """Nothing is computed to be told."""
    verdicts = timings(0.9, (2, 2, 40)).chunk(benchmark=1).perf.compare("old")
    assert "dependent_units" in [note.code for note in verdicts.compute().perf.notes()]


def test_pairs_are_looked_at_together():
    """What both systems share does not matter to their ratio."""
    drifting = timings(0.0, (1, 2, 60)) * np.linspace(1, 1.2, 60)
    assert (
        drifting.perf.ratio_interval("old", paired="execution")["dependence_pvalue"].item() > 0.05
    )
    with pytest.warns(UserWarning, match=SAID):
        drifting.perf.ratio_interval("old")


def test_few_or_constant_units_have_no_pvalue():
    """Nine units tell nothing, nor do equal ones."""
    assert timings(0.9, (1, 2, 9)).perf.mean_interval()["dependence_pvalue"].isnull().all()
    with pytest.warns(UserWarning, match="no spread"):
        assert (
            (timings(0.9, (1, 2, 40)) * 0 + 1)
            .perf.mean_interval()["dependence_pvalue"]
            .isnull()
            .all()
        )


class TestBatchMeans:
    def test_estimates_are_the_same(self):
        """Only limits, degrees of freedom and p-values differ; n counts units."""
        times = timings(0.0, (4, 2, 41))
        plain, batched = (
            times.perf.compare("old", method=method) for method in ("fieller", "batch_means")
        )
        for name in ("estimate", "suite_estimate", "n", "suite_n", "candidate_mean"):
            assert_allclose(batched[name], plain[name], rtol=1e-12)
        assert (batched["df"] <= 14).all()
        assert_allclose(times.perf.mean_interval(method="batch_means")["df"], 7)
        ratio = times.perf.ratio_interval("old", method="batch_means")
        assert_allclose(ratio["lower"].transpose(*batched["lower"].dims), batched["lower"])

    @pytest.mark.parametrize(("correlation", "lower"), [(0.0, 0.94), (0.3, 0.935), (0.6, 0.915)])
    def test_covers_under_dependence(self, correlation, lower):
        """Of 30 units, where t covers 67 % at a correlation of 0.6."""
        times = timings(correlation, (2500, 2, 30), 3).sel(version="old")
        interval = times.perf.mean_interval(method="batch_means")
        assert lower < ((interval["lower"] <= 10) & (interval["upper"] >= 10)).mean() < 0.965

    def test_pairs(self):
        """Paired, what both share goes away, and gaps are left out of both."""
        shared = timings(0.0, (1, 2, 60)) * np.linspace(1, 1.5, 60)
        interval = shared.perf.ratio_interval("old", method="batch_means", paired="execution")
        assert (interval["upper"] - interval["lower"]).item() < 0.05
        gaps = shared.where(~((shared["execution"] == 3) & (shared["version"] == "old")))
        complete = shared.isel(execution=[unit for unit in range(60) if unit != 3])
        interval_of_gaps, interval_of_complete = (
            data.perf.ratio_interval("old", method="batch_means", paired="execution")
            for data in (gaps, complete)
        )
        assert_allclose(interval_of_gaps["lower"], interval_of_complete["lower"])
        assert interval_of_gaps["n"].item() == 59

    def test_few_units_are_refused_with_a_note(self):
        """Below 30 there are no limits, and no verdict."""
        with pytest.warns(
            UserWarning,
            match=(
                "2 of 2 cells have fewer than 30 executions, too few for method='batch_means'.*no limits"
            ),
        ):
            verdicts = timings(0.0, (2, 2, 29)).perf.compare("old", method="batch_means")
        assert verdicts["lower"].isnull().all()
        for name, value in (("verdict", "inconclusive"), ("n", 29), ("suite_n", 29)):
            assert (verdicts[name] == value).all()

    def test_rates_and_lower_levels(self):
        """Iterations are averaged first; a higher rate is faster."""
        rates = 1 / timings(0.0, (1, 2, 40)).expand_dims(iteration=3, axis=-1)
        verdicts = rates.assign_attrs(units="1/s", better="higher").perf.compare(
            "old", method="batch_means"
        )
        assert verdicts["verdict"].values.tolist() == [["slower"]]

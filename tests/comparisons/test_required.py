"""Units that a decision needs: against the noncentral t, and carried out."""

import numpy as np
import pytest
from scipy import stats

import perfarray
from perfarray.comparisons.required import planned_distance
from perfarray.numerics.power import Spread, beyond, fewest_units

NEST = {"sizes": {"execution": 10}, "variances": {"execution": 4e-4}}


def pilot(**dims):
    """A program against itself, ten executions of 2 % a side."""
    return perfarray.simulate(**NEST, dims={**dims, "version": ["old", "new"]}, rng=1)


def test_power_is_that_of_the_t_test():
    """Equal spreads: 2 (n - 1) df, as SciPy's noncentral t has it; without spread all or nothing is
    seen."""
    spread, n = Spread(np.array(4e-4), np.array(4e-4)), 12.0
    error, df = spread.error(np.array(n)), spread.df(np.array(n))
    assert df == 22
    expected = stats.nct.sf(stats.t.ppf(0.975, 22), 22, 0.02 / np.sqrt(8e-4 / 12))
    assert float(beyond(np.array(0.02), error, df, 0.025)) == pytest.approx(expected, rel=1e-9)
    # Of two and of three units no more df are counted on than of one side.
    assert spread.df(np.array([2.0, 3.0, 4.0])).tolist() == [1, 2, 6]
    assert beyond(np.array([0.02, 0.0]), np.zeros(2), np.full(2, 22.0), 0.025).tolist() == [
        1.0,
        0.0,
    ]


def test_far_away_the_spread_of_the_sample_decides():
    """A change of 38 standard errors: of 1 and 2 df and a risk over 29 and 1,000 verdicts, 8.2 and
    7.0 % (400,000 draws)."""
    for df, risk in ((1.0, 0.025 / 29), (2.0, 0.025 / 1000)):
        t = (np.random.default_rng(1).standard_normal(200_000) + 38) / np.sqrt(
            np.random.default_rng(2).chisquare(df, 200_000) / df
        )
        expected = (t > stats.t.isf(risk, df)).mean()
        assert float(beyond(np.array(38.0), np.array(1.0), np.array(df), risk)) == pytest.approx(
            expected, abs=0.004
        )


def test_the_fewest_are_the_fewest():
    """One unit less has too little power; what cannot be shown takes infinitely many, what is
    unknown none."""
    spread = Spread(np.array([4e-4, 1e-4, 0.0, np.nan]), np.array([1e-4, 1e-4, 0.0, 1e-4]))
    n_units = fewest_units(spread, np.array(0.02), 0.025, 0.8)
    reached = [
        beyond(np.array(0.02), spread.error(n), spread.df(n), 0.025) for n in (n_units, n_units - 1)
    ]
    assert (reached[0][:2] >= 0.8).all()
    assert (reached[1][:2] < 0.8).all()
    assert n_units[2] == 2
    assert np.isnan(n_units[3])
    assert np.isinf(fewest_units(spread, np.array(1e-9), 0.025, 0.8)[0])


@pytest.mark.parametrize(("deviation", "upper"), [(0.02, 0.85), (0.003, 1.0)])
def test_a_plan_keeps_its_word(deviation, upper):
    """Of 2,000 experiments of the size planned from the true spread, 80 % see the change (Monte
    Carlo error 0.9 %).

    Of two and three units the df of a comparison may be those of one side: the plan counts on no
    more.
    """
    spread, variances = np.array(deviation**2), {"execution": deviation**2}
    n = int(fewest_units(Spread(spread, spread), np.log(1.02), 0.025, 0.8))
    power = perfarray.power(
        "compare",
        ratio=1.02,
        sizes={"execution": n},
        variances=variances,
        n_experiments=2000,
        rng=1,
    )
    assert 0.77 < power["estimate"].item() < upper


def test_what_is_asked_for_costs_units():
    """More assurance, power or confidence, a correction, a threshold nearer to the change: all need
    more."""
    times = pilot(benchmark=3)

    def needed(**how):
        return times.perf.required_units("old", dim="version", **how)["required"].values.ravel()

    plain = needed(change=0.03)
    for how in (
        {"assurance": 0.9},
        {"correction": "holm"},
        {"threshold": 0.01},
        {"power": 0.95},
        {"confidence_level": 0.99},
    ):
        assert (needed(change=0.03, **how) > plain).all(), how


def test_the_smallest_change_is_that_of_a_comparison():
    """With the pilot's own number of units and spread: the same formula, but for the pilot's
    doubt."""
    times = pilot()
    plan = times.perf.required_units("old", change=0.02)
    half = times.perf.compare("old")["smallest_change"].item()
    expected = np.expm1(np.log1p(half) * np.sqrt(18 / stats.chi2.median(18)))
    assert plan["smallest_change"].sel(units=10).item() == pytest.approx(
        expected, rel=0.02
    )  # Welch's df of two estimates
    assert plan["pilot_change"].item() == pytest.approx(
        plan["smallest_change"].sel(units=10).item(), rel=1e-12
    )  # the pilot has ten


def test_pairs_that_move_together_need_fewer():
    """Pairs that move together need fewer."""
    rng = np.random.default_rng(4)
    session = rng.normal(1, 0.05, 12)
    sides = {
        "old": 10 * session * rng.normal(1, 0.01, 12),
        "new": 10 * session * rng.normal(1, 0.01, 12),
    }
    times = perfarray.from_samples(sides, level="session")
    unpaired, together = (
        times.perf.required_units("old", paired=paired)["required"].item()
        for paired in (None, "session")
    )
    assert together < unpaired / 5


def test_the_verdicts_of_several_metrics_are_one_family():
    """Two metrics of three cells are corrected as six cells of one; without a correction a metric
    more changes nothing."""
    times = pilot(benchmark=3)
    two_metrics = times.assign(energy=times["time"].assign_attrs(units="J"))
    six = times.isel(benchmark=[0, 1, 2, 0, 1, 2]).assign_coords(benchmark=list("abcdef"))
    for correction in (None, "holm"):
        ask = {"baseline": "old", "dim": "version", "change": 0.03, "correction": correction}
        of_both = two_metrics.perf.required_units(metric=["time", "energy"], **ask)[
            "required"
        ].transpose("metric", "benchmark", ...)
        np.testing.assert_array_equal(
            of_both.values.ravel(), six.perf.required_units(**ask)["required"].values.ravel()
        )


def test_stopped_runs_are_left_out_and_said():
    """A pilot with a run that was stopped is planned from the others, and a note says which side
    that flatters."""
    times = pilot().assign_coords(censored=("execution", np.arange(10) == 3))
    with pytest.warns(perfarray.PerfarrayWarning, match="stopped at a limit"):
        plan = times.perf.required_units("old")
    assert plan["n"] == 9


def test_small_pilots():
    single_units = perfarray.from_samples({"old": [10.0], "new": [9.0]})
    with pytest.warns(perfarray.PerfarrayWarning, match="fewer than two executions on a side"):
        assert np.isnan(single_units.perf.required_units("old")["required"].item())
    three = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.2, 9.1]})
    with pytest.warns(perfarray.PerfarrayWarning, match="fewer than five executions"):
        three.perf.required_units("old")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"change": 0.01, "threshold": 0.02}, "does not lie beyond threshold"),
        ({"change": -0.01, "threshold": 0.02}, r"change=-0\.01 does not lie beyond threshold=0.02"),
        (
            {"change": -1.0},
            r"change=-1\.0 of a time leaves nothing of it: give a fraction above -1",
        ),
    ],
)
def test_bad_input(keywords, message):
    with pytest.raises(ValueError, match=message):
        pilot().perf.required_units("old", **keywords)


def test_a_pilot_without_spread_knows_no_number():
    """Equal values show no spread: no number is known, and a note says what to do; an unequal side
    beside an equal one has its own."""
    for value in (10.0, 0.1):
        constant = perfarray.from_samples(
            {"old": [[value] * 3] * 6, "new": [[0.9 * value] * 3] * 6},
            level=("execution", "iteration"),
        )
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match="1 of 1 cells have executions that do not differ: no number is known",
        ):
            plan = constant.perf.required_units("old")
        for name in ("required", "power", "pilot_change"):
            assert np.isnan(plan[name].item())
        assert plan["smallest_change"].isnull().all()
    half = perfarray.from_samples({"old": [10.0] * 6, "new": [9.0, 9.2, 9.1, 9.0, 8.9, 9.1]})
    assert np.isfinite(half.perf.required_units("old")["required"].item())


def test_a_change_may_be_for_the_better():
    """A time 2 % below needs what log(0.98) needs, and a rate of -0.02 grows; 2 % to either side of
    a band is another distance."""
    times = pilot()
    for threshold in (0.0, 0.01):
        better = [
            planned_distance(-0.02, threshold, direction) for direction in ("lower", "higher")
        ]
        np.testing.assert_allclose(
            better, [np.log((1 - threshold) / 0.98), np.log(1.02 / (1 + threshold))]
        )
    faster, slower = (
        times.perf.required_units("old", change=change)["required"].item()
        for change in (-0.02, 0.02)
    )
    assert 0 <= slower - faster <= 2
    axes = times.perf.required_units("old", change=-0.02).perf.plot()
    assert "to see -2 %, with a chance of 80 %" in axes.get_legend_handles_labels()[1]
    rate = (1 / times["time"]).assign_attrs(units="1/s", better="higher")
    with pytest.raises(ValueError, match="of a rate leaves nothing of it"):
        rate.perf.required_units("old", change=1.0)

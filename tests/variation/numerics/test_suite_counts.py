"""Suites on shared builds: the worked check, brute force, shared against separate builds,
components from a pilot."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation.numerics import whole_counts as search
from perfarray.variation.numerics.allocation import Goal
from perfarray.variation.numerics.forests import (
    continuous,
    narrowest,
    quantile_of,
    rates_of,
    side_by_side,
    tree,
)
from perfarray.variation.numerics.plans import half_width_limits, plan_assured, units_to_add
from perfarray.variation.numerics.suite_pilot import Sharing, suite_pilot, together
from perfarray.variation.numerics.whole_counts import whole_counts
from strategies import examples

BUILD = np.array([0.02, 0.015])
LOWER = np.array([[0.03, 0.02], [0.01, 0.08]])
PRICES = np.array([[5.0, 0.5], [2.0, 0.25]])

TWO_SIDED = np.append([np.nan, np.nan], t_quantile(0.975, np.arange(1.0, 200.0)))
"""Student's t by the number of units."""


def star(correlation=0.0, *, scale=1.0, lower=LOWER):
    """The worked check of two benchmarks, in squared relative units of the geometric mean."""
    root = (1 - correlation) * (BUILD**2).sum() + correlation * BUILD.sum() ** 2
    return tree(np.array([[scale * root / 4], [60.0]]), np.stack([scale * lower**2 / 4, PRICES]))


def plan_of(forest, **goal):
    goal = Goal(**goal)
    counts = whole_counts(forest, goal)
    return (
        counts,
        forest.price(counts),
        float(
            quantile_of(forest, counts[forest.roots].min(), goal.probability)
            * np.sqrt(forest.noise(counts))
        ),
    )


def of_benchmarks(forest, values):
    """Return along the levels what the nodes of each benchmark have."""
    return values[forest.paths].tolist()


class TestWorkedCheck:
    @pytest.mark.parametrize(
        ("correlation", "n", "executions", "percent"),
        [(0.0, 29.4, [4.16, 2.19], 0.3003), (0.8, 32.8, [3.13, 1.65], 0.3586)],
    )
    def test_continuous(self, correlation, n, executions, percent):
        """n = 29.4, n2 = 4.16 and 2.19, n1 = 2.11 and 22.6, SD 0.3003 %; with correlated builds
        32.8, 3.13 and 1.65, 0.3586 %.

        Without constraints the variance is A^2 / C with A the sum of sqrt(component x price).
        """
        forest = star(correlation)
        totals = continuous(forest, np.array(1.0), budget=3000.0)
        assert round(totals[0], 1) == n
        counts = np.array(of_benchmarks(forest, forest.inside_parent(totals)))
        assert counts[:, 1].round(2).tolist() == executions
        assert [round(counts[0, 2], 2), round(counts[1, 2], 1)] == [2.11, 22.6]
        noise = (forest.variance / totals).sum()
        assert round(100 * math.sqrt(noise), 4) == percent
        assert noise == pytest.approx(np.sqrt(forest.variance * forest.cost).sum() ** 2 / 3000)
        assert (forest.cost * totals).sum() == pytest.approx(3000)

    def test_whole(self):
        """Best integers (30; 4, 2; 2, 24), 0.3005 %."""
        counts, cost, _ = plan_of(star(), budget=3000.0)
        assert of_benchmarks(star(), counts) == [[30, 4, 2], [30, 2, 24]]
        assert cost == 3000
        assert round(100 * math.sqrt(star().noise(counts)), 4) == 0.3005

    def test_two_systems_share_the_budget(self):
        """A system's share is its A over the sum of both."""
        forest = side_by_side([star(), star(scale=4.0)])
        spent = forest.cost * continuous(forest, np.array(1.0), budget=9000.0)
        assert [spent[:5].sum(), spent[5:].sum()] == pytest.approx([3000, 6000])


def undominated(price, variance, most):
    order = np.lexsort((variance, price))
    order = order[price[order] <= most]
    least = np.minimum.accumulate(variance[order])
    order = order[np.append(True, least[1:] < least[:-1])]
    return price[order], variance[order]


def best_of_all(forest, budget, min_units):
    """Try every whole plan of two lower levels: all insides of a unit that the budget buys, joined
    without leaving any out, and all n."""
    root_cost = forest.cost[0]
    most = (budget / min_units - root_cost) * (1 + 1e-12)
    front = np.zeros(1), np.zeros(1)
    for _, execution, iteration in forest.paths:
        (a2, a1), (d2, d1) = (
            forest.variance[[execution, iteration]],
            forest.cost[[execution, iteration]],
        )
        pairs = [
            (m, k)
            for m in range(1, int(most / (d2 + d1)) + 1)
            for k in range(1, int((most / m - d2) / d1) + 1)
        ]
        m, k = np.array(pairs, dtype=float).T
        alone = undominated(m * d2 + m * k * d1, a2 / m + a1 / (m * k), most)
        front = undominated(
            *(np.add.outer(both, one).ravel() for both, one in zip(front, alone, strict=True)), most
        )
    n = np.arange(min_units, int(budget / forest.cost.sum()) + 1.0)
    index = np.searchsorted(front[0], (budget / n - root_cost) * (1 + 1e-12), side="right") - 1
    half = t_quantile(0.975, n - 1) * np.sqrt(
        (forest.variance[0] + front[1][np.maximum(index, 0)]) / n
    )
    return float(half[index >= 0].min())


def random_star(seed):
    """One to three benchmarks; components and prices over three orders of magnitude, some
    components zero."""
    rng = np.random.default_rng(seed)
    benchmarks = int(rng.integers(1, 4))

    def component(*shape):
        return (
            rng.exponential(size=shape)
            * 10 ** rng.uniform(-2, 1, size=shape)
            * (rng.random(shape) > 0.15)
        )

    prices = np.column_stack(
        [10 ** rng.uniform(-1, 1, benchmarks), 10 ** rng.uniform(-1, 0.5, benchmarks)]
    )
    stem = np.array([[float(component(1)[0]) + 1e-3], [float(10 ** rng.uniform(0, 2))]])
    forest = tree(stem, np.stack([component(benchmarks, 2), prices]))
    return forest, forest.cost.sum() * float(10 ** rng.uniform(0.75, 1.5))


class TestBruteForce:
    @pytest.mark.parametrize("seed", range(24))
    def test_small_suites(self, seed):
        """Within 0.2 % of the best of all whole plans (0.11 % at most in 600 of them, the best
        itself in 99 %), and within the budget.

        Planning for its half-width finds it, a cheaper one, or one that costs hardly more.
        """
        forest, budget = random_star(seed)
        _, cost, half_width = plan_of(forest, budget=budget, min_units=3)
        best = best_of_all(forest, budget, 3)
        assert cost <= budget * (1 + 1e-12)
        assert best * (1 - 1e-12) <= half_width <= 1.002 * best
        _, cost_again, half_width_again = plan_of(forest, half_width=half_width, min_units=3)
        assert half_width_again <= half_width * (1 + 1e-9)
        assert cost_again <= 1.002 * cost

    def test_jump_away_from_the_corner(self):
        """Rounded down, the continuous optimum is 189 units of one of everything; all benchmarks
        twice on fewer units is 1.3 % better."""
        forest = tree(
            np.array([[2.9e-4], [5.0]]),
            np.tile(np.array([[1e-4, 1.1e-4], [0.5, 1.0]])[:, None], (1, 3, 1)),
        )
        half_width = plan_of(forest, budget=1800.0)[2]
        assert half_width == pytest.approx(best_of_all(forest, 1800.0, 5), rel=1e-9)
        assert half_width < 0.99 * TWO_SIDED[189] * math.sqrt(forest.variance.sum() / 189)

    @given(seed=st.integers(0, 10_000), factor=st.sampled_from([1 / 1024, 4.0, 1024.0]))
    @settings(max_examples=examples(15), deadline=None)
    def test_units_of_price_and_variance_do_not_matter(self, seed, factor):
        """Prices and budget times a power of two, or components times one: the same counts."""
        forest, budget = random_star(seed)
        dearer = plan_of(forest._replace(cost=forest.cost * factor), budget=budget * factor)
        noisier = plan_of(forest._replace(variance=forest.variance * factor), budget=budget)
        for found in (dearer, noisier):
            np.testing.assert_array_equal(found[0], plan_of(forest, budget=budget)[0])

    @pytest.mark.parametrize("seed", range(5))
    def test_two_systems(self, seed):
        """Two systems of one benchmark and one lower level: all plans tried; the budget is kept."""
        rng = np.random.default_rng(seed)
        roots, lower = rng.exponential(size=2), 5 * rng.exponential(size=2)
        costs = rng.uniform([1.0, 0.1], [20.0, 3.0], (2, 2))
        stars = [
            tree(np.array([[roots[i]], [costs[i, 0]]]), np.array([[[lower[i]]], [[costs[i, 1]]]]))
            for i in range(2)
        ]
        (first, second), forest = stars, side_by_side(stars)
        budget, (n, m, k) = 300.0, np.ogrid[3:60, 3:60, 1:80]
        left = np.floor(
            ((budget - n * (first.cost[0] + k * first.cost[1])) / m - second.cost[0])
            / second.cost[1]
        )
        noise = (first.variance[0] + first.variance[1] / k) / n + (
            second.variance[0] + second.variance[1] / np.maximum(left, 1)
        ) / m
        best = np.where(
            left >= 1, np.array(TWO_SIDED)[np.minimum(n, m)] * np.sqrt(noise), np.inf
        ).min()
        _, cost, half_width = plan_of(forest, budget=budget, min_units=3)
        assert cost <= budget * (1 + 1e-12)
        assert best * (1 - 1e-12) <= half_width <= 1.002 * best
        _, cost_again, half_width_again = plan_of(forest, half_width=half_width, min_units=3)
        assert half_width_again <= half_width * (1 + 1e-9)
        assert cost_again <= cost * 1.002

    def test_a_shared_level_inside_the_shared_one(self):
        """Sessions on builds, each running both benchmarks: all builds, sessions and executions
        tried."""
        forest = tree(
            np.array([[4e-4, 1e-3], [50.0, 10.0]]), np.array([[[9e-4], [4e-3]], [[1.0], [0.5]]])
        )
        best = math.inf
        for n, s, a in itertools.product(range(5, 20), range(1, 15), range(1, 40)):
            b = math.floor(((1500.0 / n - 50.0) / s - 10.0 - a * 1.0) / 0.5)
            if b >= 1:
                noise = 4e-4 + (1e-3 + 9e-4 / a + 4e-3 / b) / s
                best = min(best, TWO_SIDED[n] * math.sqrt(noise / n))
        counts, cost, half_width = plan_of(forest, budget=1500.0)
        assert cost <= 1500
        assert half_width == pytest.approx(best, rel=1e-9)
        assert len(counts) == 4

    def test_twelve_benchmarks_stay_near_the_bound(self):
        """The continuous optimum is a bound no whole plan beats; with counts well above one the
        plan is within 0.5 % of it."""
        rng = np.random.default_rng(3)
        lower = np.stack([rng.exponential(size=(12, 2)) * 1e-3, rng.uniform(0.01, 0.1, (12, 2))])
        forest = tree(np.array([[1e-5], [60.0]]), lower)
        low, noise = narrowest(forest, np.array([3600.0]), 5, 0.975)
        bound = TWO_SIDED[int(low[0])] * math.sqrt(noise[0])
        assert bound <= plan_of(forest, budget=3600.0)[2] <= 1.005 * bound


class TestShared:
    @pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8, 1.0])
    def test_shared_builds_never_lose(self, correlation):
        """They need less, unless build effects are perfectly correlated: then both are equal."""
        own = [
            tree(
                np.array([[BUILD[b] ** 2 / 4], [60.0]]),
                np.stack([LOWER**2 / 4, PRICES])[:, b : b + 1],
            )
            for b in range(2)
        ]
        joint, apart = (
            (forest.variance / continuous(forest, np.array(1.0), budget=3000.0)).sum()
            for forest in (star(correlation), side_by_side(own))
        )
        assert joint == pytest.approx(apart) if correlation == 1 else joint < 0.95 * apart

    def test_a_chain_below_the_root_is_merged_into_it(self):
        """A benchmark without variation of its own runs once on each build: variances add, prices
        join."""
        forest = star(lower=np.array([[0.0, 0.0], [0.01, 0.08]]))
        rates = rates_of(forest)
        assert rates[1] == rates[2] == rates[0]
        assert rates[0] == pytest.approx(forest.variance[0] / (60 + 5 + 0.5))
        assert of_benchmarks(forest, plan_of(forest, budget=3000.0)[0])[0][1:] == [1, 1]

    @pytest.mark.parametrize("seed", range(10))
    def test_rates_of_a_tree_are_the_isotonic_regression(self, seed):
        """None is below its parent's, and the least weighted squares among such: a general
        optimiser finds nothing better."""
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)
        parent = np.array([-1, 0, 1, 1, 3, 0, 5])
        a, d = rng.exponential(size=7), rng.uniform(0.2, 3, 7)
        forest = tree(np.ones((2, 1)), np.ones((2, 1, 6)))._replace(
            variance=a, cost=d, parents=parent
        )
        rates = rates_of(forest)
        assert (rates[1:] >= rates[parent[1:]] - 1e-12).all()
        below = [{"type": "ineq", "fun": lambda x, j=j: x[j] - x[parent[j]]} for j in range(1, 7)]
        optimum = minimize(
            lambda x: (d * (x - a / d) ** 2).sum(),
            np.ones(7),
            constraints=below,
            tol=1e-12,
            options={"maxiter": 500},
        )
        np.testing.assert_allclose(rates, optimum.x, atol=1e-4)


class TestTargets:
    def test_a_repetition_more_gains_its_share_of_the_noise(self):
        """One more of c takes noise / (c + 1): 7 / 11 of the eleventh, against 1 / 2 of the second
        at the same price."""
        forest = tree(np.array([[0.0], [1.0]]), np.array([[[5.0], [350.0]], [[1.0], [1.0]]]))
        counts = np.array([[5.0, 1.0, 10.0]])
        goal = Goal(budget=float(forest.price(counts)[0]) + 5)
        assert search._filled(forest, goal, counts).tolist() == [[5, 1, 11]]

    def test_least_price(self):
        """Five builds with one of everything: 5 x (60 + 5.5 + 2.25)."""
        assert plan_of(star(), budget=338.75)[0].tolist() == [5, 1, 1, 1, 1]

    def test_budgets_that_buy_nothing_are_nan_without_a_word(self):
        """No unit, one, and fewer than min_units; then the half-width of a plan (warnings are
        errors)."""
        units, noise = narrowest(star(), np.array([1.0, 70.0, 300.0, 3000.0]), 5, 0.975)
        assert np.isnan(units).tolist() == np.isnan(noise).tolist() == [True, True, True, False]

    def test_more_budget_helps(self):
        widths = [plan_of(star(), budget=400.0 * 2**k)[2] for k in range(10)]
        assert all(b < a for a, b in itertools.pairwise(widths))


def inside_units(times):
    """Return the variance of the means of units (benchmarks, units, n, m) that their executions
    cause, relative to the squared mean."""
    executions = times.mean(axis=-1)
    return (
        executions.var(axis=-1, ddof=1).mean(axis=-1)
        / times.shape[2]
        / times.mean(axis=(1, 2, 3)) ** 2
    )


def pilot_of(*systems, cost, weights=None, **sharing):
    weights = np.ones(len(cost)) if weights is None else np.array(weights)
    estimated = [(values, cost, nested_anova(values, cost.shape[1], "merge")) for values in systems]
    pilot = suite_pilot(estimated, weights / weights.sum(), Sharing(**sharing))
    return SimpleNamespace(
        pilot=pilot,
        tree=pilot.forest.of(0),
        unit_variance=pilot.unit_variance.item(),
        top=pilot.top.item(),
        df=pilot.df.item(),
    )


class TestPilot:
    SIZES = {"binary": 400, "execution": 4, "iteration": 5}  # noqa: RUF012
    VARIANCES = {"binary": 4e-4, "execution": 2e-4, "iteration": 3e-4}  # noqa: RUF012
    COST = np.tile([60.0, 2.0, np.nan], (3, 1))

    def drawn(self, shared=None, sizes=SIZES, variances=VARIANCES, **dims):
        times = perfarray.simulate(
            sizes=sizes, variances=variances, dims={"benchmark": 3} | dims, shared=shared, rng=3
        )["time"]
        return times.transpose(*dims, ...).values

    @pytest.mark.parametrize("correlation", [0.0, 0.8])
    def test_common_component_is_found_without_knowing_the_correlation(self, correlation):
        """The root's variance times B^2 is the sum of variances, plus the covariances: that of Z_j
        times B, less what lies below."""
        times = self.drawn({"binary": correlation} if correlation else None)
        forest = pilot_of(times, cost=self.COST, in_pilot=1).tree
        variance, cost = forest.variance[forest.paths], forest.cost[forest.paths]
        below, squared = inside_units(times), times.mean(axis=(1, 2, 3)) ** 2
        units, lowest = (
            times.mean(axis=(2, 3)),
            times.var(axis=-1, ddof=1).mean(axis=(1, 2)) / squared,
        )
        assert variance[0, 0] * 9 == pytest.approx(
            np.log(units).sum(axis=0).var(ddof=1) - below.sum(), rel=1e-9
        )
        assert variance[0, 0] * 9 == pytest.approx(3 * 4e-4 * (1 + 2 * correlation), rel=0.15)
        np.testing.assert_allclose(
            variance[:, 1:] * 9, np.column_stack([4 * below - lowest / 5, lowest]), rtol=1e-9
        )
        np.testing.assert_allclose(variance[:, 1:].mean(axis=0) * 9, [2e-4, 3e-4], rtol=0.1)
        np.testing.assert_allclose(
            cost[:, 1:], np.column_stack([[2.0] * 3, times.mean(axis=(1, 2, 3))]), rtol=1e-12
        )
        assumed = pilot_of(times, cost=self.COST, correlation=correlation).tree.variance[0]
        own = units.var(axis=-1, ddof=1) / squared - below
        assert assumed * 9 == pytest.approx(
            (1 - correlation) * own.sum() + correlation * np.sqrt(own).sum() ** 2, rel=1e-9
        )

    @pytest.mark.parametrize("weights", [[2.0, 1.0, 1.0], [5.0, 3.0, 0.0]])
    def test_a_weighted_mean_by_hand(self, weights):
        """The root is the variance of the weighted mean of the units' logs, less what lies below; a
        component counts by the square."""
        times = self.drawn({"binary": 0.5}, {"binary": 20, "execution": 4, "iteration": 2})
        share, plain = (
            np.array(weights) / np.sum(weights),
            pilot_of(times, cost=self.COST, in_pilot=1).tree,
        )
        pilot = pilot_of(times, cost=self.COST, weights=weights, in_pilot=1)
        below, logs = inside_units(times), np.log(times.mean(axis=(2, 3)))
        assert pilot.unit_variance == pytest.approx((share @ logs).var(ddof=1), rel=1e-9)
        assert pilot.top == pytest.approx(
            (share @ logs).var(ddof=1) - (share**2 * below).sum(), rel=1e-9
        )
        lower = plain.paths[:, 1:]
        np.testing.assert_allclose(
            pilot.tree.variance[lower], (3 * share[:, None]) ** 2 * plain.variance[lower], rtol=1e-9
        )
        pairs = pilot_of(times, times[:, ::-1], cost=self.COST, weights=weights, in_pilot=1)
        assert pairs.unit_variance == pytest.approx(
            (share @ (logs - logs[:, ::-1])).var(ddof=1), rel=1e-9
        )

    def test_sessions_shared_inside_builds(self):
        """Both shared components are found: three benchmarks, correlations of 0.5 and 0.9."""
        sizes = {"binary": 200, "session": 6, "execution": 3}
        variances = {"binary": 4e-4, "session": 9e-4, "execution": 3e-4}
        times = self.drawn({"binary": 0.5, "session": 0.9}, sizes, variances)
        pilot = pilot_of(times, cost=np.tile([60.0, 10.0, 1.0], (3, 1)), planned=2, in_pilot=2)
        root, session = pilot.tree.variance[:2] * 9
        joint = np.log(times.mean(axis=-1)).sum(axis=0)
        inside, below = (
            joint.var(axis=-1, ddof=1).mean(),
            times.var(axis=-1, ddof=1).mean(axis=(1, 2)) / times.mean(axis=(1, 2, 3)) ** 2,
        )
        assert root == pytest.approx(joint.mean(axis=-1).var(ddof=1) - inside / 6, rel=1e-9)
        assert root == pytest.approx(3 * 4e-4 * 2.0, rel=0.25)
        assert session == pytest.approx(inside - below.sum() / 3, rel=1e-9)
        assert session == pytest.approx(9e-4 * (3 + 6 * 0.9), rel=0.1)
        assert pilot.tree.cost.tolist() == [60, 10, 1, 1, 1]
        assert together([pilot.pilot]).spent == 200 * 60 + 1200 * 10 + 3 * 3600

    def test_pairs(self):
        """What pairs have in common cancels in the root; the chains of both systems stay; a pair
        costs two builds."""
        new, old = self.drawn(version=2) + np.random.default_rng(1).normal(
            0, 0.05, (1, 1, 400, 1, 1)
        )
        apart = [
            pilot_of(values, cost=self.COST, in_pilot=1).tree.variance[0] for values in (new, old)
        ]
        pairs = pilot_of(new, old, cost=self.COST, in_pilot=1).tree
        differences = np.log(new.mean(axis=(-1, -2))) - np.log(old.mean(axis=(-1, -2)))
        below = inside_units(new) + inside_units(old)
        assert pairs.variance[0] * 9 == pytest.approx(
            differences.sum(axis=0).var(ddof=1) - below.sum(), rel=1e-9
        )
        assert pairs.variance[0] * 9 == pytest.approx(2 * 3 * 4e-4, rel=0.15)
        assert sum(apart) > 5 * pairs.variance[0]
        assert pairs.cost[0] == 120
        assert pairs.paths.shape == (6, 3)
        alone = pilot_of(new, old, cost=self.COST).tree
        assert alone.variance[0] * 9 == pytest.approx(
            (differences.var(axis=-1, ddof=1) - below).sum(), rel=1e-9
        )

    def test_one_unit_is_nan_at_the_root(self):
        values = np.random.default_rng(1).normal(1, 0.01, (2, 1, 3, 3))
        assert np.isnan(pilot_of(values, cost=self.COST[:2], in_pilot=1).tree.variance[0])

    def test_limits_of_the_root(self):
        """Chi-square limits of the variance of Z, as of any sample of 10; what lies below stays."""
        pilot, goal = (
            pilot_of(
                np.random.default_rng(2).normal(1, 0.02, (3, 10, 1, 1)), cost=self.COST, in_pilot=1
            ),
            Goal(budget=5000.0),
        )
        plan = plan_assured(together([pilot.pilot]), goal)
        assert pilot.df == 9
        ratios = [half.item() / plan.half_width.item() for half in half_width_limits(plan, goal)]
        assert ratios == pytest.approx(
            [math.sqrt(9 / quantile) for quantile in (19.0227677986, 2.70038949998)], rel=1e-9
        )

    def test_units_to_add_by_trying(self):
        """The fewest more that give the width, and the most that the rest of the budget buys."""
        pilot, goal = (
            pilot_of(
                np.random.default_rng(2).normal(1, 0.02, (3, 10, 4, 2)), cost=self.COST, in_pilot=1
            ),
            Goal(half_width=0.002),
        )
        of_suite = together([pilot.pilot])
        plan = plan_assured(of_suite, goal)
        one = plan.counts[0].copy()
        one[0] = 1
        new, each = pilot.tree.noise(one), pilot.tree.price(one)

        def half(k):
            return TWO_SIDED[10 + k] * math.sqrt(10 * pilot.unit_variance + k * new) / (10 + k)

        units, half_width = units_to_add(of_suite, plan, goal)
        assert units.item() == next(k for k in range(180) if half(k) <= 0.002)
        assert half_width.item() == pytest.approx(half(int(units.item())))
        spent = of_suite.spent.item()
        assert spent == pytest.approx(
            10 * 60 + 3 * 40 * 2 + 80 * pilot.tree.cost[pilot.tree.paths[:, 2]].sum()
        )
        for left, more in ((7.5 * each, 7), (-1, 0)):
            assert units_to_add(of_suite, plan, Goal(budget=spent + left))[0].item() == more

"""Suites on shared builds: the worked check, brute force, shared against separate builds, components from a pilot."""

import itertools
import math

import numpy as np
import pytest

import perfarray
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.suite_plan import least_price, plan_stars
from perfarray.numerics.suite_star import Star, continuous, star_of, star_rates

BUILD = np.array([0.02, 0.015])
LOWER = np.array([[0.03, 0.02], [0.01, 0.08]])
PRICES = np.array([[5.0, 0.5], [2.0, 0.25]])


def star(correlation=0.0, root_cost=60.0):
    """The worked check of two benchmarks, in squared relative units of the geometric mean."""
    root = (1 - correlation) * (BUILD**2).sum() + correlation * BUILD.sum() ** 2
    return Star(root / 4, root_cost, LOWER**2 / 4, PRICES)


def separate(root_cost=60.0):
    """The same benchmarks, each with builds of its own."""
    return [Star(BUILD[b] ** 2 / 4, root_cost, LOWER[b : b + 1] ** 2 / 4, PRICES[b : b + 1]) for b in range(2)]


def standard_error(own, n, counts):
    return math.sqrt((own.root + (own.variance / np.cumprod(counts, axis=1)).sum()) / n)


class TestWorkedCheck:
    @pytest.mark.parametrize(
        ("correlation", "n", "executions", "percent"), [(0.0, 29.4, [4.16, 2.19], 0.3003), (0.8, 32.8, [3.13, 1.65], 0.3586)]
    )
    def test_continuous(self, correlation, n, executions, percent):
        """n = 29.4, n2 = 4.16 and 2.19, n1 = 2.11 and 22.6, SD 0.3003 %; with correlated builds 32.8, 3.13 and 1.65, 0.3586 %."""
        found = continuous([star(correlation)], 1, budget=3000.0)
        assert round(found.root[0], 1) == n
        assert (found.lower[0][:, 0] / found.root[0]).round(2).tolist() == executions
        iterations = found.lower[0][:, 1] / found.lower[0][:, 0]
        assert [round(iterations[0], 2), round(iterations[1], 1)] == [2.11, 22.6]
        assert round(100 * math.sqrt(found.variance), 4) == percent
        assert found.cost == pytest.approx(3000)

    def test_whole(self):
        """Best integers (30; 4, 2; 2, 24), 0.3005 %."""
        plan = plan_stars([star()], budget=3000.0)
        assert plan.units == [30]
        assert plan.counts[0].tolist() == [[4, 2], [2, 24]]
        assert plan.cost == 3000
        assert round(100 * standard_error(star(), 30, plan.counts[0]), 4) == 0.3005

    def test_formula_without_constraints(self):
        """Var* = A^2 / C with A the sum of sqrt(component x price)."""
        own = star()
        total = math.sqrt(own.root * 60) + np.sqrt(own.variance * own.cost).sum()
        assert continuous([own], 1, budget=3000.0).variance == pytest.approx(total**2 / 3000)

    def test_two_systems_share_the_budget(self):
        """A system's share is its A over the sum of both."""
        noisy = star()._replace(root=4 * star().root, variance=4 * star().variance)
        found = continuous([star(), noisy], 1, budget=9000.0)
        own = [own.root_cost * n + (own.cost * x).sum() for own, n, x in zip([star(), noisy], found.root, found.lower, strict=True)]
        assert own == pytest.approx([3000, 6000])


class TestBruteForce:
    @pytest.mark.parametrize("seed", range(6))
    def test_small_suites(self, seed):
        """Within 0.3 % of the best of all whole plans of two benchmarks, and within the budget."""
        rng = np.random.default_rng(seed)
        own = Star(
            rng.exponential() / 4, 20.0, rng.exponential(size=(2, 2)), np.column_stack([rng.uniform(0.5, 5, 2), rng.uniform(0.1, 1, 2)])
        )
        budget = 500.0
        plan = plan_stars([own], budget=budget, min_units=3)
        best = math.inf
        for n in range(3, 25):
            t = float(t_quantile(0.975, np.array(n - 1.0)))
            for a, b, c in itertools.product(range(1, 20), range(1, 20), range(1, 40)):
                spent = n * (own.root_cost + a * (own.cost[0, 0] + c * own.cost[0, 1]) + b * own.cost[1, 0])
                d = math.floor((budget - spent) / (n * b * own.cost[1, 1]))
                if d >= 1:
                    noise = own.variance[0, 0] / a + own.variance[0, 1] / (a * c) + own.variance[1, 0] / b + own.variance[1, 1] / (b * d)
                    best = min(best, t * math.sqrt((own.root + noise) / n))
        assert plan.cost <= budget
        assert plan.half_width <= 1.003 * best


class TestShared:
    @pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8, 1.0])
    def test_shared_builds_never_lose(self, correlation):
        """They need less, unless build effects are perfectly correlated: then both are equal."""
        joint = continuous([star(correlation)], 1, budget=3000.0).variance
        apart = continuous(separate(), 1, budget=3000.0).variance
        assert joint == pytest.approx(apart) if correlation == 1 else joint < 0.95 * apart

    def test_a_chain_below_the_root_is_merged_into_it(self):
        """A benchmark without variation of its own runs once on each build: variances add, prices join."""
        own = star()._replace(variance=np.array([[0.0, 0.0], [0.01, 0.08]]) ** 2 / 4)
        rate, chains = star_rates(own)
        assert chains[0].tolist() == [rate, rate]
        assert rate == pytest.approx(own.root / (60 + 5 + 0.5))
        plan = plan_stars([own], budget=3000.0)
        assert plan.counts[0][0].tolist() == [1, 1]


class TestTargets:
    def test_a_width_is_reached_at_little_more_than_the_least_price(self):
        """The plan for the width that 3000 s give costs about 3000 s."""
        width = plan_stars([star()], budget=3000.0).half_width
        plan = plan_stars([star()], half_width=width)
        assert plan.half_width <= width
        assert plan.cost <= 3010

    def test_least_price(self):
        """Five builds with one of everything: 5 x (60 + 5.5 + 2.25)."""
        assert least_price([star()], 5) == pytest.approx(338.75)
        plan = plan_stars([star()], budget=338.75)
        assert plan.units == [5]
        assert plan.counts[0].tolist() == [[1, 1], [1, 1]]

    def test_more_budget_helps(self):
        """Ten budgets, each twice the one before."""
        widths = [plan_stars([star()], budget=400.0 * 2**k).half_width for k in range(10)]
        assert all(b < a for a, b in itertools.pairwise(widths))


class TestPilot:
    @pytest.mark.parametrize("correlation", [0.0, 0.8])
    def test_common_component_is_found_without_knowing_the_correlation(self, correlation):
        """The root's variance times B^2 is the sum of variances, plus the covariances."""
        sizes = {"binary": 400, "execution": 4, "iteration": 5}
        variances = {"binary": 4e-4, "execution": 2e-4, "iteration": 3e-4}
        shared = {"binary": correlation} if correlation else None
        times = perfarray.simulate(sizes=sizes, variances=variances, dims={"benchmark": 3}, shared=shared, rng=3)["time"].values
        cost = np.tile([60.0, 2.0, np.nan], (3, 1))
        found = star_of(times, cost, joint=True, correlation=None)
        assert found.root * 9 == pytest.approx(3 * 4e-4 * (1 + 2 * correlation), rel=0.15)
        np.testing.assert_allclose(found.variance.mean(axis=0) * 9, [2e-4, 3e-4], rtol=0.1)
        np.testing.assert_allclose(found.cost[:, 1], 1.0, rtol=0.01)
        assumed = star_of(times, cost, joint=False, correlation=correlation)
        assert assumed.root == pytest.approx(found.root, rel=0.2)

    def test_one_unit_or_none(self):
        """NaN at the root; a benchmark without values is left out."""
        cost = np.tile([60.0, 2.0, np.nan], (2, 1))
        values = np.random.default_rng(1).normal(1, 0.01, (2, 1, 3, 3))
        assert np.isnan(star_of(values, cost, joint=True, correlation=None).root)
        values = np.random.default_rng(1).normal(1, 0.01, (2, 9, 3, 3))
        alone = star_of(values[:1], cost[:1], joint=True, correlation=None)
        values[1] = np.nan
        beside = star_of(values, cost, joint=True, correlation=None)
        assert beside.root == pytest.approx(alone.root)
        assert beside.cost[1].tolist() == [0, 0]

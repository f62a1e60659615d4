"""Suites on shared builds: the worked check, brute force, shared against separate builds, components from a pilot."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.numerics.intervals import t_quantile
from perfarray.variation.numerics.suite_pilot import Sharing, paired_pilot, pilot_limits, plan_assured, suite_pilot, units_to_add
from perfarray.variation.numerics.suite_plans import best_by_budget, best_low, least_price, one_level, plan_stars
from perfarray.variation.numerics.suite_star import Star, continuous, price_inside, tree_rates, variance_inside
from strategies import examples

BUILD = np.array([0.02, 0.015])
LOWER = np.array([[0.03, 0.02], [0.01, 0.08]])
PRICES = np.array([[5.0, 0.5], [2.0, 0.25]])

TWO_SIDED = np.append([np.nan, np.nan], t_quantile(0.975, np.arange(1.0, 200.0)))
"""Student's t by the number of units."""


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


def undominated(price, variance, most):
    """Return the points no other beats, by price."""
    order = np.lexsort((variance, price))
    order = order[price[order] <= most]
    least = np.minimum.accumulate(variance[order])
    order = order[np.append(True, least[1:] < least[:-1])]
    return price[order], variance[order]


def best_of_all(own, budget, min_units):
    """Try every whole plan of two lower levels: all insides of a unit that the budget buys, joined without leaving any out, and all n."""
    most = (budget / min_units - own.root_cost) * (1 + 1e-12)
    front = np.zeros(1), np.zeros(1)
    for (a2, a1), (d2, d1) in zip(own.variance, own.cost, strict=True):
        pairs = [(m, k) for m in range(1, int(most / (d2 + d1)) + 1) for k in range(1, int((most / m - d2) / d1) + 1)]
        m, k = np.array(pairs, dtype=float).T
        alone = undominated(m * d2 + m * k * d1, a2 / m + a1 / (m * k), most)
        front = undominated(*(np.add.outer(both, one).ravel() for both, one in zip(front, alone, strict=True)), most)
    n = np.arange(min_units, int(budget / (own.root_cost + own.cost.sum())) + 1.0)
    place = np.searchsorted(front[0], (budget / n - own.root_cost) * (1 + 1e-12), side="right") - 1
    half = t_quantile(0.975, n - 1) * np.sqrt((own.root + front[1][np.maximum(place, 0)]) / n)
    return float(half[place >= 0].min())


def random_star(seed):
    """One to three benchmarks; components and prices over three orders of magnitude, some components zero."""
    rng = np.random.default_rng(seed)
    benchmarks = int(rng.integers(1, 4))

    def component(*shape):
        return rng.exponential(size=shape) * 10 ** rng.uniform(-2, 1, size=shape) * (rng.random(shape) > 0.15)

    prices = np.column_stack([10 ** rng.uniform(-1, 1, benchmarks), 10 ** rng.uniform(-1, 0.5, benchmarks)])
    own = Star(float(component(1)[0]) + 1e-3, float(10 ** rng.uniform(0, 2)), component(benchmarks, 2), prices)
    return own, (own.root_cost + own.cost.sum()) * float(10 ** rng.uniform(0.75, 1.5))


class TestBruteForce:
    @pytest.mark.parametrize("seed", range(24))
    def test_small_suites(self, seed):
        """Within 0.2 % of the best of all whole plans (0.11 % at most in 600 of them, the best itself in 99 %), and within the budget."""
        own, budget = random_star(seed)
        plan = plan_stars([own], budget=budget, min_units=3)
        best = best_of_all(own, budget, 3)
        assert plan.cost <= budget
        assert best * (1 - 1e-12) <= plan.half_width <= 1.002 * best

    def test_jump_away_from_the_corner(self):
        """Rounded down, the continuous optimum is 189 units of one of everything; all benchmarks twice on fewer units is 1.3 % better."""
        own = Star(2.9e-4, 5.0, np.tile([1e-4, 1.1e-4], (3, 1)), np.tile([0.5, 1.0], (3, 1)))
        plan = plan_stars([own], budget=1800.0)
        assert plan.half_width == pytest.approx(best_of_all(own, 1800.0, 5), rel=1e-9)
        corner = float(t_quantile(0.975, np.array(188.0))) * standard_error(own, 189, np.ones((3, 2)))
        assert plan.half_width < 0.99 * corner

    @given(seed=st.integers(0, 10_000), factor=st.sampled_from([1 / 1024, 4.0, 1024.0]))
    @settings(max_examples=examples(15), deadline=None)
    def test_units_of_price_and_variance_do_not_matter(self, seed, factor):
        """Prices and budget times a power of two, or components times one: the same counts."""
        own, budget = random_star(seed)
        plan = plan_stars([own], budget=budget)
        dearer = plan_stars([own._replace(root_cost=own.root_cost * factor, cost=own.cost * factor)], budget=budget * factor)
        noisier = plan_stars([own._replace(root=own.root * factor, variance=own.variance * factor)], budget=budget)
        assert plan.units == dearer.units == noisier.units
        np.testing.assert_array_equal(plan.counts[0], dearer.counts[0])
        np.testing.assert_array_equal(plan.counts[0], noisier.counts[0])

    @given(seed=st.integers(0, 10_000))
    @settings(max_examples=examples(15), deadline=None)
    def test_a_width_is_reached_for_no_more_than_the_plan_that_gives_it(self, seed):
        """Planning for the half-width of a plan finds it, or a cheaper one; within 0.2 %."""
        own, budget = random_star(seed)
        plan = plan_stars([own], budget=budget)
        again = plan_stars([own], half_width=plan.half_width)
        assert again.half_width <= plan.half_width * (1 + 1e-9)
        assert again.cost <= 1.002 * plan.cost

    @pytest.mark.parametrize("seed", range(5))
    def test_two_systems(self, seed):
        """Two systems of one benchmark and one lower level: all plans tried; the budget is kept."""
        rng = np.random.default_rng(seed)
        stars = [
            Star(rng.exponential(), rng.uniform(1, 20), rng.exponential(size=(1, 1)) * 5, rng.uniform(0.1, 3, (1, 1))) for _ in range(2)
        ]
        budget, (n, m, k) = 300.0, np.ogrid[3:60, 3:60, 1:80]
        spent = n * (stars[0].root_cost + k * stars[0].cost[0, 0])
        left = np.floor(((budget - spent) / m - stars[1].root_cost) / stars[1].cost[0, 0])
        other = stars[1].root + stars[1].variance[0, 0] / np.maximum(left, 1)
        noise = (stars[0].root + stars[0].variance[0, 0] / k) / n + other / m
        best = np.where(left >= 1, np.array(TWO_SIDED)[np.minimum(n, m)] * np.sqrt(noise), np.inf).min()
        plan = plan_stars(stars, budget=budget, min_units=3)
        assert plan.cost <= budget
        assert best * (1 - 1e-12) <= plan.half_width <= 1.002 * best
        again = plan_stars(stars, half_width=plan.half_width, min_units=3)
        assert again.half_width <= plan.half_width * (1 + 1e-9)
        assert again.cost <= plan.cost * 1.002

    def test_a_shared_level_inside_the_shared_one(self):
        """Sessions on builds, each running both benchmarks: all builds, sessions and executions tried."""
        own = Star(4e-4, 50.0, np.array([[9e-4], [4e-3]]), np.array([[1.0], [0.5]]), np.array([[1e-3, 10.0]]))
        best = math.inf
        for n, s, a in itertools.product(range(5, 20), range(1, 15), range(1, 40)):
            b = math.floor(((1500.0 / n - 50.0) / s - 10.0 - a * 1.0) / 0.5)
            if b >= 1:
                noise = 4e-4 + (1e-3 + 9e-4 / a + 4e-3 / b) / s
                best = min(best, TWO_SIDED[n] * math.sqrt(noise / n))
        plan = plan_stars([own], budget=1500.0)
        assert plan.cost <= 1500
        assert plan.half_width == pytest.approx(best, rel=1e-9)
        assert plan.counts[0][0, 0] == plan.counts[0][1, 0]

    def test_twelve_benchmarks_stay_near_the_bound(self):
        """The continuous optimum is a bound no whole plan beats; with counts well above one the plan is within 0.5 % of it."""
        rng = np.random.default_rng(3)
        own = Star(1e-5, 60.0, rng.exponential(size=(12, 2)) * 1e-3, rng.uniform(0.01, 0.1, (12, 2)))
        plan = plan_stars([own], budget=3600.0)
        low, half_width = best_low([own], 3600.0, 5, 0.975)
        bound = TWO_SIDED[int(low)] * math.sqrt(continuous([own], float(low), budget=3600.0).variance)
        assert half_width == pytest.approx(bound)
        assert bound <= plan.half_width <= 1.005 * bound


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
        parent, a, d = np.array([-1, 0, 1, 0, 3]), np.append(own.root, own.variance), np.append(60.0, own.cost)
        rates = tree_rates(parent, a, d)
        assert rates[1] == rates[2] == rates[0]
        assert rates[0] == pytest.approx(own.root / (60 + 5 + 0.5))
        plan = plan_stars([own], budget=3000.0)
        assert plan.counts[0][0].tolist() == [1, 1]

    @pytest.mark.parametrize("seed", range(10))
    def test_rates_of_a_tree_are_the_isotonic_regression(self, seed):
        """None is below its parent's, and the least weighted squares among such: a general optimiser finds nothing better."""
        from scipy.optimize import minimize

        rng = np.random.default_rng(seed)
        parent = np.array([-1, 0, 1, 1, 3, 0, 5])
        a, d = rng.exponential(size=7), rng.uniform(0.2, 3, 7)
        rates = tree_rates(parent, a, d)
        assert (rates[1:] >= rates[parent[1:]] - 1e-12).all()
        below = [{"type": "ineq", "fun": lambda x, j=j: x[j] - x[parent[j]]} for j in range(1, 7)]
        found = minimize(lambda x: (d * (x - a / d) ** 2).sum(), np.ones(7), constraints=below, tol=1e-12, options={"maxiter": 500})
        np.testing.assert_allclose(rates, found.x, atol=1e-4)


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

    def test_budgets_that_buy_nothing_are_nan_without_a_word(self):
        """No unit, one, and fewer than min_units; then the half-width of a plan (warnings are errors)."""
        budgets = np.array([1.0, 70.0, 300.0, 3000.0])
        best, default = best_by_budget([star()], budgets).half_width, one_level([star()], budgets, 0.95).half_width
        assert np.isnan(best).tolist() == [True, True, True, False]
        assert np.isnan(default).tolist() == [True, True, False, False]

    def test_more_budget_helps(self):
        """Ten budgets, each twice the one before."""
        widths = [plan_stars([star()], budget=400.0 * 2**k).half_width for k in range(10)]
        assert all(b < a for a, b in itertools.pairwise(widths))


def inside_units(times):
    """Return the variance of the means of units (benchmarks, units, n, m) that their executions cause, relative to the squared mean."""
    executions = times.mean(axis=-1)
    return executions.var(axis=-1, ddof=1).mean(axis=-1) / times.shape[2] / times.mean(axis=(1, 2, 3)) ** 2


class TestPilot:
    SIZES = {"binary": 400, "execution": 4, "iteration": 5}  # noqa: RUF012
    VARIANCES = {"binary": 4e-4, "execution": 2e-4, "iteration": 3e-4}  # noqa: RUF012
    COST = np.tile([60.0, 2.0, np.nan], (3, 1))

    @pytest.mark.parametrize("correlation", [0.0, 0.8])
    def test_common_component_is_found_without_knowing_the_correlation(self, correlation):
        """The root's variance times B^2 is the sum of variances, plus the covariances: that of Z_j times B, less what lies below."""
        shared = {"binary": correlation} if correlation else None
        times = perfarray.simulate(sizes=self.SIZES, variances=self.VARIANCES, dims={"benchmark": 3}, shared=shared, rng=3)["time"].values
        found = suite_pilot(times, self.COST, Sharing(in_pilot=1)).star
        below, squared = inside_units(times), times.mean(axis=(1, 2, 3)) ** 2
        units, lowest = times.mean(axis=(2, 3)), times.var(axis=-1, ddof=1).mean(axis=(1, 2)) / squared
        assert found.root * 9 == pytest.approx(np.log(units).sum(axis=0).var(ddof=1) - below.sum(), rel=1e-9)
        assert found.root * 9 == pytest.approx(3 * 4e-4 * (1 + 2 * correlation), rel=0.15)
        np.testing.assert_allclose(found.variance * 9, np.column_stack([4 * below - lowest / 5, lowest]), rtol=1e-9)
        np.testing.assert_allclose(found.variance.mean(axis=0) * 9, [2e-4, 3e-4], rtol=0.1)
        np.testing.assert_allclose(found.cost, np.column_stack([[2.0] * 3, times.mean(axis=(1, 2, 3))]), rtol=1e-12)
        assumed = suite_pilot(times, self.COST, Sharing(correlation=correlation)).star
        own = units.var(axis=-1, ddof=1) / squared - below
        assert assumed.root * 9 == pytest.approx((1 - correlation) * own.sum() + correlation * np.sqrt(own).sum() ** 2, rel=1e-9)

    @pytest.mark.parametrize("weights", [[2.0, 1.0, 1.0], [5.0, 3.0, 0.0]])
    def test_a_weighted_mean_by_hand(self, weights):
        """The root is the variance of the weighted mean of the units' logs, less what lies below; a component counts by the square."""
        sizes = {"binary": 20, "execution": 4, "iteration": 2}
        times = perfarray.simulate(sizes=sizes, variances=self.VARIANCES, dims={"benchmark": 3}, shared={"binary": 0.5}, rng=3)[
            "time"
        ].values
        share, plain = np.array(weights) / np.sum(weights), suite_pilot(times, self.COST, Sharing(in_pilot=1)).star
        found = suite_pilot(times, self.COST, Sharing(in_pilot=1), weights=np.array(weights))
        below, logs = inside_units(times), np.log(times.mean(axis=(2, 3)))
        assert found.unit_variance == pytest.approx((share @ logs).var(ddof=1), rel=1e-9)
        assert found.top == pytest.approx((share @ logs).var(ddof=1) - (share**2 * below).sum(), rel=1e-9)
        np.testing.assert_allclose(found.star.variance, (3 * share[:, None]) ** 2 * plain.variance, rtol=1e-9)
        pairs = paired_pilot(times, times[:, ::-1], (self.COST, self.COST), Sharing(in_pilot=1), weights=np.array(weights))
        assert pairs.unit_variance == pytest.approx((share @ (logs - logs[:, ::-1])).var(ddof=1), rel=1e-9)

    def test_sessions_shared_inside_builds(self):
        """Both shared components are found: three benchmarks, correlations of 0.5 and 0.9."""
        sizes = {"binary": 200, "session": 6, "execution": 3}
        variances = {"binary": 4e-4, "session": 9e-4, "execution": 3e-4}
        shared = {"binary": 0.5, "session": 0.9}
        times = perfarray.simulate(sizes=sizes, variances=variances, dims={"benchmark": 3}, shared=shared, rng=3)["time"].values
        found = suite_pilot(times, np.tile([60.0, 10.0, 1.0], (3, 1)), Sharing(2, 2))
        joint = np.log(times.mean(axis=-1)).sum(axis=0)
        inside, below = joint.var(axis=-1, ddof=1).mean(), times.var(axis=-1, ddof=1).mean(axis=(1, 2)) / times.mean(axis=(1, 2, 3)) ** 2
        assert found.star.root * 9 == pytest.approx(joint.mean(axis=-1).var(ddof=1) - inside / 6, rel=1e-9)
        assert found.star.root * 9 == pytest.approx(3 * 4e-4 * 2.0, rel=0.25)
        assert found.star.inner[0].tolist() == [pytest.approx((inside - below.sum() / 3) / 9, rel=1e-9), 10.0]
        assert found.star.inner[0, 0] == pytest.approx(9e-4 * (1 + 2 * 0.9) / 3, rel=0.1)
        assert found.star.variance.shape == (3, 1)
        assert found.spent == 200 * 60 + 1200 * 10 + 3 * 3600

    def test_pairs(self):
        """What pairs have in common cancels in the root; the chains of both systems stay; a pair costs two builds."""
        dims = {"version": 2, "benchmark": 3}
        times = perfarray.simulate(sizes=self.SIZES, variances=self.VARIANCES, dims=dims, rng=3)["time"].values
        common = np.random.default_rng(1).normal(0, 0.05, (1, 1, 400, 1, 1))
        new, old = times + common
        apart = [suite_pilot(values, self.COST, Sharing(in_pilot=1)).star.root for values in (new, old)]
        found = paired_pilot(new, old, (self.COST, self.COST), Sharing(in_pilot=1))
        apart_by = np.log(new.mean(axis=(-1, -2))) - np.log(old.mean(axis=(-1, -2)))
        below = inside_units(new) + inside_units(old)
        assert found.star.root * 9 == pytest.approx(apart_by.sum(axis=0).var(ddof=1) - below.sum(), rel=1e-9)
        assert found.star.root * 9 == pytest.approx(2 * 3 * 4e-4, rel=0.15)
        assert sum(apart) > 5 * found.star.root
        assert found.star.root_cost == 120
        assert found.star.variance.shape == (6, 2)
        alone = paired_pilot(new, old, (self.COST, self.COST), Sharing())
        assert alone.star.root * 9 == pytest.approx((apart_by.var(axis=-1, ddof=1) - below).sum(), rel=1e-9)

    def test_one_unit_or_none(self):
        """NaN at the root; a benchmark without values is left out."""
        cost = self.COST[:2]
        values = np.random.default_rng(1).normal(1, 0.01, (2, 1, 3, 3))
        assert np.isnan(suite_pilot(values, cost, Sharing(in_pilot=1)).star.root)
        values = np.random.default_rng(1).normal(1, 0.01, (2, 9, 3, 3))
        alone = suite_pilot(values[:1], cost[:1], Sharing(in_pilot=1))
        values[1] = np.nan
        beside = suite_pilot(values, cost, Sharing(in_pilot=1))
        assert beside.star.root == pytest.approx(alone.star.root)
        assert beside.star.cost[1].tolist() == [0, 0]
        assert beside.n == 9

    def test_limits_of_the_root(self):
        """Chi-square limits of the variance of Z, as of any sample of 10; what lies below stays."""
        rng = np.random.default_rng(2)
        pilot = suite_pilot(rng.normal(1, 0.02, (3, 10, 1, 1)), self.COST, Sharing(in_pilot=1))
        plan = plan_assured([pilot], None, 0.95, budget=5000.0, min_units=5)
        low, high = pilot_limits([pilot], plan, None, 0.95)
        factors = [9 / 19.0227677986, 9 / 2.70038949998]
        assert pilot.df == 9
        assert [low / plan.half_width, high / plan.half_width] == pytest.approx([math.sqrt(f) for f in factors], rel=1e-9)

    def test_units_to_add_by_trying(self):
        """The fewest more that give the width, and the most that the rest of the budget buys."""
        rng = np.random.default_rng(2)
        pilot = suite_pilot(rng.normal(1, 0.02, (3, 10, 4, 2)), self.COST, Sharing(in_pilot=1))
        plan = plan_assured([pilot], None, 0.95, half_width=0.002, min_units=5)
        new = pilot.star.root + variance_inside(pilot.star, plan.counts[0])

        def half(k):
            return TWO_SIDED[10 + k] * math.sqrt(10 * pilot.unit_variance + k * new) / (10 + k)

        found = units_to_add([pilot], plan, None, 0.002)
        assert found.units == [next(k for k in range(180) if half(k) <= 0.002)]
        assert found.half_width == pytest.approx(half(int(found.units[0])))
        each = 60 + price_inside(pilot.star, plan.counts[0])
        assert pilot.spent == pytest.approx(10 * 60 + 3 * 40 * 2 + 80 * pilot.star.cost[:, 1].sum())
        assert units_to_add([pilot], plan, pilot.spent + 7.5 * each, None).units == [7]
        assert units_to_add([pilot], plan, pilot.spent - 1, None).units == [0]

"""Ratios of values that hardly vary: limits, p-values and verdicts against exact arithmetic, and
against each other."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import perfarray  # noqa: F401 (registers .perf)
from perfarray.numerics.intervals import (
    BOUNDED,
    DF_RULES,
    ratio_df,
    ratio_limits,
    ratio_of,
    ratio_statistic,
    t_quantile,
)
from strategies import examples

EPS = np.finfo(float).eps
SPREADS = (*(10.0**power for power in range(-12, 1)), 3.0, 10.0)


def exact_moments(new, old, paired):
    """Return means, squared standard errors, their covariance, without rounding."""
    sides = [[Fraction(float(value)) for value in side] for side in (new, old)]
    means = [sum(side) / len(side) for side in sides]
    squares = [
        sum((x - m) ** 2 for x in side) / (len(side) - 1) / len(side)
        for side, m in zip(sides, means, strict=True)
    ]
    both = zip(*sides, strict=True) if paired else ()
    together = sum((x - means[0]) * (y - means[1]) for x, y in both) / Fraction(
        (len(new) - 1) * len(new)
    )
    return *means, *squares, together


def exact_fieller(new, old, paired, quantile):
    """Return kind and limits by equation 12 as printed, in rational numbers and 80 digits."""
    n, o, v_n, v_o, c = exact_moments(new, old, paired)
    squared = Fraction(float(quantile)) ** 2
    a, b, d = o * o - squared * v_o, n * o - squared * c, n * n - squared * v_n
    inside = b * b - a * d
    if a < 0 and inside <= 0:
        return "unbounded", -math.inf, math.inf
    with localcontext() as context:
        context.prec = 80
        root, b, a = ((Decimal(x.numerator) / Decimal(x.denominator)) for x in (inside, b, a))
        root = root.sqrt()
        return "bounded" if a > 0 else "exclusive", *sorted(
            (Fraction((b - root) / a), Fraction((b + root) / a))
        )


def exact_statistic(new, old, paired, value):
    """Return the t of "the ratio is value"."""
    n, o, v_n, v_o, c = exact_moments(new, old, paired)
    value = Fraction(value)
    square = (n - value * o) ** 2 / (v_n + value**2 * v_o - 2 * value * c)
    return math.copysign(math.sqrt(square), n / o - value)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("rule", DF_RULES)
def test_fieller_is_that_of_exact_arithmetic(rule, paired):
    """For coefficients of variation from 1e-12 to 10 and 2 to 30 units: limits within a few
    roundings of a ratio, the test likewise."""
    rng = np.random.default_rng(0)
    kinds = set()
    for spread in SPREADS:
        for units in (2, 3, 5, 10, 30):
            scale = rng.choice([1e-9, 1.0, 2.5e10])
            common = rng.normal(size=units) if paired else 0.0
            new, old = (
                scale * (1 + spread * (2 * common + rng.normal(size=units + extra)))
                for extra in (0, 0 if paired else 2)
            )
            new = new * (1 + spread * rng.normal())
            ratio = ratio_of(new, old, paired)
            df = ratio_df(ratio, rule)
            quantile = t_quantile(0.975, df)
            found, (kind, *limits) = (
                ratio_limits(ratio, df, 0.95, "fieller"),
                exact_fieller(new, old, paired, quantile),
            )
            kinds.add(kind)
            assert found.kind == kind
            if kind == "unbounded":
                continue
            # A limit is a double near the ratio; where the quadratic's first coefficient nearly
            # vanishes, its rounding moves a far limit.
            near = abs(1 - quantile**2 * ratio.denominator.variance / ratio.denominator.mean**2)
            for limit, expected in zip((found.lower, found.upper), limits, strict=True):
                bound = (
                    40
                    * EPS
                    * (
                        abs(ratio.estimate)
                        + abs(expected) / min(near, 1) * (1 + quantile**2 * spread**2)
                    )
                )
                assert abs(Fraction(float(limit)) - expected) <= bound
            for value in (1.0, 0.98, 1.02):
                expected = exact_statistic(new, old, paired, value)
                # The ratio itself is rounded: by so many of its standard errors.
                rounding = (
                    8
                    * EPS
                    * abs(ratio.estimate * ratio.denominator.mean)
                    / math.sqrt(ratio.residual)
                )
                np.testing.assert_allclose(
                    ratio_statistic(ratio, value, "fieller"), expected, rtol=1e-7, atol=4 * rounding
                )
    assert kinds == {"bounded", "exclusive", "unbounded"}


@pytest.mark.parametrize("method", ["delta", "log_delta"])
def test_first_order_limits_of_hardly_varying_values(method):
    """Where nothing varies much, first-order limits are Fieller's: at a coefficient of 1e-12
    too."""
    rng = np.random.default_rng(1)
    for spread in (1e-12, 1e-10, 1e-8):
        new, old = (1 + spread * rng.normal(size=(2, 500, 8))) * 3e9
        ratio = ratio_of(new, old, paired=False)
        df = ratio_df(ratio, "satterthwaite")
        first, fieller = (ratio_limits(ratio, df, 0.95, name) for name in (method, "fieller"))
        np.testing.assert_allclose(first.lower, fieller.lower, rtol=4 * EPS)
        np.testing.assert_allclose(first.upper, fieller.upper, rtol=4 * EPS)
        welch = stats.ttest_ind(new, old, axis=-1, equal_var=False).statistic
        np.testing.assert_allclose(
            ratio_statistic(ratio, 1.0, method),
            welch,
            rtol=1e-2 * (1e-12 / spread) + 1e-6,
            atol=0.02,
        )


def test_units_that_do_not_differ_have_no_spread():
    """Ten times 0.1 has the mean 0.1 and no variance, whatever sums are rounded to; so have all
    numbers of equal units."""
    for number in (3, 7, 10, 30):
        for value in (0.1, 1 / 3, 2.5e10 + 0.1):
            ratio = ratio_of(np.full(number, value), np.full(number + 1, value), paired=False)
            assert (ratio.estimate, ratio.residual, ratio.numerator.mean) == (1.0, 0.0, value)


@settings(max_examples=examples(200), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    power=st.floats(-12, 1),
    effect=st.floats(-4, 4),
    units=st.tuples(st.integers(2, 30), st.integers(2, 30)),
    threshold=st.sampled_from([0.0, 0.01, 0.3]),
    options=st.fixed_dictionaries({
        "method": st.sampled_from(["fieller", "delta", "log_delta"]),
        "paired": st.sampled_from([None, "execution"]),
    }),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_verdict_interval_and_p_never_contradict_each_other(
    seed, power, effect, units, threshold, options
):
    """Wholly outside the band, p at most alpha and a verdict are one thing, at any spread; so are
    inside and equivalent."""
    rng = np.random.default_rng(seed)
    units = (units[0], units[0]) if options["paired"] else units
    spread, edge = 10.0**power, rng.choice([1.0, 1 - threshold, 1 + threshold])
    sides = []
    for number, factor in zip(
        units, (edge * abs(1 + effect * spread / math.sqrt(units[0])), 1.0), strict=True
    ):
        noise = rng.normal(size=(20, number))
        values = (
            1 + spread * noise if spread < 0.1 else np.exp(np.sqrt(np.log1p(spread**2)) * noise)
        )
        sides.append(
            xr.DataArray(
                (factor + 1e-15) * values, dims=("benchmark", "execution"), attrs={"units": "s"}
            )
        )
    found = sides[0].perf.compare(sides[1], threshold=threshold, **options)
    low, high = 1 - threshold, 1 + threshold
    lower, upper, kind, verdict, p, p_inside = (
        found[name].values
        for name in ("lower", "upper", "kind", "verdict", "pvalue", "pvalue_equivalent")
    )
    assert (upper >= lower).all()
    assert ((found["estimate"].values >= lower) & (found["estimate"].values <= upper))[
        kind == BOUNDED
    ].all()
    one_piece = np.isin(kind, ["bounded", "at_least", "at_most"])
    sure = np.isin(verdict, ["faster", "slower"])
    # At the edge of the band a limit is rounded to it: neither is then wrong.
    assert ((upper <= low) | ~(verdict == "faster")).all()
    assert ((lower >= high) | ~(verdict == "slower")).all()
    assert (((lower >= low) & (upper <= high)) | ~(verdict == "equivalent")).all()
    assert (~((upper < low) & one_piece) | (verdict == "faster")).all()
    assert (~((lower > high) & one_piece) | (verdict == "slower")).all()
    assert (~((lower > low) & (upper < high) & one_piece) | (verdict == "equivalent")).all()
    assert (sure == ((p <= 0.05) & one_piece)).all()
    assert ((verdict == "equivalent") == ((p_inside <= 0.025) & one_piece & ~sure)).all()
    assert (p[kind == "unbounded"] > 0.05).all()

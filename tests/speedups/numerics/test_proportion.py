"""Intervals of a proportion against R, and the definition of the exact one."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from perfarray.numerics.proportions import proportion_limits
from perfarray.speedups.numerics.proportion import benchmarks_needed

R_NAMES = {"wilson": "ci_wilson_continuity", "exact": "ci_clopper_pearson", "wald": "ci_wald"}


@pytest.mark.parametrize("method", R_NAMES)
def test_intervals_are_those_of_r(golden, method):
    """prop.test, binom.test and the plain formula, for the paper's examples and its four
    benchmarks."""
    paper = golden("speedup_paper_examples")
    software = golden("speedup_software_example")
    cases = [
        paper["example3"]["ci90"],
        paper["example3"]["ci50"],
        paper["example4"]["recomputed"],
        *software["proportion"].values(),
    ]
    for case in cases:
        _, *limits = proportion_limits(case["a"], case["b"], case["level"], method)
        assert limits == pytest.approx(case[R_NAMES[method]], abs=1e-12)
        assert (
            benchmarks_needed(case["proportion"], case["precision"], case["level"])
            == case["n_benchmarks"]
        )


def test_exact_limits_make_the_count_just_unlikely():
    """At the lower limit 7 or more of 20 have 2.5 %, at the upper limit 7 or fewer."""
    _, lower, upper = proportion_limits(7, 20, 0.95, "exact")
    assert stats.binom.sf(6, 20, lower) == pytest.approx(0.025)
    assert stats.binom.cdf(7, 20, upper) == pytest.approx(0.025)


@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_none_all_and_nothing(method):
    """None begins at 0, all ends at 1, no benchmark gives NaN; the two ends mirror each other."""
    estimate, lower, upper = proportion_limits([0, 8, 0], [8, 8, 0], 0.9, method)
    assert (lower[0], upper[1]) == (0.0, 1.0)
    assert upper[0] == pytest.approx(1 - lower[1])
    assert np.isnan([estimate[2], lower[2], upper[2]]).all()


def test_half_of_the_benchmarks():
    """There is no correction of Wilson's limits at a share of 1/2: it takes the count no farther
    than there."""
    _, *limits = proportion_limits(4, 8, 0.95, "wilson")
    assert limits == pytest.approx(proportion_confint(4, 8, 0.05, method="wilson"), rel=1e-12)

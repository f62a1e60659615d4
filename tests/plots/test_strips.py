"""Intervals of replications side by side: what is drawn, what is counted, what is refused."""

import numpy as np
import pytest
import xarray as xr

from picture_parts import title


def result(lower, upper, **attrs):
    lower, upper = (np.array(limits, float) for limits in (lower, upper))
    variables = {"estimate": (lower + upper) / 2, "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: ("experiment", values) for name, values in variables.items()},
        attrs={"result": "score_ratio_interval"} | attrs,
    )


def test_intervals_that_hold_the_truth_are_counted():
    """Three of five hold 2; one has an open end and no line."""
    intervals = result(
        [1.5, 1.9, 1.8, 2.1, 1.0], [2.5, 2.2, 2.1, 2.6, np.inf], confidence_level=0.9
    )
    ax = intervals.perf.plot(kind="strip", truth=2.0)
    assert title(ax) == "3 of 4 intervals of 90 % along experiment hold 2 (1 more without limits)"
    covering, missed = ax.collections[:2]
    assert [line[:, 1].tolist() for line in covering.get_segments()] == [
        [1.5, 2.5],
        [1.9, 2.2],
        [1.8, 2.1],
    ]
    assert missed.get_segments()[0].tolist() == [[4.0, 2.1], [4.0, 2.6]]


@pytest.mark.parametrize("number", [1, 9, 100])
def test_any_number_of_intervals_has_a_line_each(number):
    """Without a known truth all are alike; another result on the same Axes leaves the title as it
    is."""
    intervals = result(np.ones(number), np.full(number, 1.5), confidence_level=0.95)
    ax = intervals.perf.plot(kind="strip", along="experiment")
    assert len(ax.collections[0].get_segments()) == number
    first_title = title(ax)
    speedups = xr.Dataset(
        {"speedup": intervals["lower"]}, attrs={"result": "hierarchical_performance_test"}
    )
    assert speedups.perf.plot(kind="strip", along="experiment", ax=ax) is ax
    assert title(ax) == first_title
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), intervals["lower"])


def test_what_cannot_lie_side_by_side_is_refused():
    """Two dims with several labels, none, or no estimate; other dims are facets."""
    pairs = result([1.0, 1.1], [2.0, 2.1]).expand_dims(pair=["a", "b"])
    for keywords in ({}, {"along": "experiment"}, {"along": "run"}):
        with pytest.raises(
            ValueError,
            match=r"a strip lies along one dim, but \['pair', 'experiment'\] have several labels",
        ):
            pairs.perf.plot(kind="strip", **keywords)
    axes = pairs.perf.plot(kind="strip", along="experiment", col="pair").figure.axes
    assert len(axes) == 2
    with pytest.raises(ValueError, match=r"the result has \['statistic'\]"):
        xr.Dataset({"statistic": 1.0}, attrs={"result": "randomization_test"}).perf.plot(
            kind="strip"
        )

"""Modes of every cell."""

import numpy as np
import xarray as xr

from picture_parts import legend, points, rows, segments, side_texts, texts, title


def test_full_points_are_supported_and_hollow_ones_fitted():
    """Where both numbers are the same there is one point; a line is the range of resampled data; p
    stands beside."""
    numbers = {
        "estimate": [3.0, 2.0],
        "n_supported": [1.0, 2.0],
        "pvalue": [0.4, 0.01],
        "lower": [1.0, 2.0],
        "upper": [4.0, 2.0],
    }
    variables = {name: ("benchmark", [*values, np.nan]) for name, values in numbers.items()}
    result = xr.Dataset(variables, {"benchmark": ["fft", "sort", "zip"]})
    ax = result.assign_attrs(result="variability_level").perf.plot()
    assert points(ax, "supported by the runs")[:2] == [1.0, 2.0]
    assert points(ax, "of the fitted density") == [3.0]
    assert segments(ax)[:2] == [[1.0, 4.0], [2.0, 2.0]]
    assert side_texts(ax) == ["0.400", "0.010"]
    assert title(ax).endswith("2 of 3: those measured")


def test_factors_of_several_cells_are_hollow_where_they_may_be_chance():
    """A filled point up to the risk, a hollow one above; cells of one mode say so, those
    without any are counted in the title; p is called adjusted."""
    shares, pvalues = (
        [[0.9, 0.2], [0.3, 0.8], [np.nan] * 2, [np.nan] * 2],
        [[0.05, 0.4], [0.06, 0.01], [np.nan] * 2, [np.nan] * 2],
    )
    dims = ("benchmark", "factor")
    variables = {
        "statistic": (dims, shares),
        "pvalue_adjusted": (dims, pvalues),
        "n_modes": ("benchmark", [2.0, 3.0, 1.0, 0.0]),
    }
    result = xr.Dataset(
        variables,
        {"benchmark": ["fft", "sort", "zip", "lu"], "factor": ["binary", "order_of_runs"]},
    )
    ax = result.assign_attrs(result="modes_by", alpha=0.05, correction="holm").perf.plot()
    markers = [
        (line.get_markerfacecolor() == "white", [x for x in line.get_xdata() if x == x])
        for line in ax.lines[:4]
    ]
    assert markers == [(False, [0.9]), (True, [0.3]), (False, [0.8]), (True, [0.2])]
    assert legend(ax) == ["binary", "may be chance", "order of runs"]
    assert side_texts(ax) == ["2", "3", "1"]
    assert "one mode" in texts(ax)
    assert "3 of 4: those measured" in title(ax)
    assert ax.get_xlabel().endswith("p-values adjusted for the number of factors (holm)")


def test_of_many_labels_those_farthest_from_the_others_are_drawn():
    """Sixty of a hundred, in their order; the first row of the factor has its p."""
    share = np.where(np.arange(100) < 40, 0.5, np.linspace(0.6, 1.0, 100))
    variables = {
        "share": (("factor", "label", "mode"), np.stack([share, 1 - share], axis=-1)[None]),
        "pvalue_adjusted": ("factor", [0.03]),
    }
    variables |= {"weight": ("mode", [0.5, 0.5]), "location": ("mode", [1.0, 2.0]), "n_modes": 2.0}
    result = xr.Dataset(
        variables, {"factor": ["binary"], "label": [f"b{number}" for number in range(100)]}
    )
    ax = result.assign_attrs(result="modes_by", alpha=0.05, correction="none").perf.plot()
    assert rows(ax) == [f"b{number}" for number in range(40, 100)]
    assert side_texts(ax) == ["0.030"] + [""] * 59
    assert title(ax) == "What the modes go with, 60 of 100: labels farthest from the others"

"""Modes of every cell."""

import numpy as np
import xarray as xr

from picture_parts import beside, points, segments, texts


def test_full_points_are_supported_and_hollow_ones_fitted():
    """Where both numbers are the same there is one point; a line is the range of resampled data; p stands beside."""
    numbers = {
        "estimate": [3.0, 2.0, np.nan],
        "n_supported": [1.0, 2.0, np.nan],
        "pvalue": [0.4, 0.01, np.nan],
        "lower": [1.0, 2.0, np.nan],
        "upper": [4.0, 2.0, np.nan],
    }
    result = xr.Dataset({name: ("benchmark", values) for name, values in numbers.items()}, {"benchmark": ["fft", "sort", "zip"]})
    ax = result.assign_attrs(result="variability_level").perf.plot()
    assert points(ax, "supported by the runs")[:2] == [1.0, 2.0]
    assert points(ax, "of the fitted density") == [3.0]
    assert segments(ax)[:2] == [[1.0, 4.0], [2.0, 2.0]]
    assert beside(ax) == ["0.400", "0.010", "–"]
    assert "not measured" in texts(ax)

"""Modes of every cell."""

import numpy as np
import xarray as xr

from picture_parts import beside, texts


def test_full_points_are_supported_and_hollow_ones_fitted():
    """Where both numbers are the same there is one point; a line reaches over those of samples fitted again; p stands beside."""
    numbers = {
        "estimate": [3.0, 2.0, np.nan],
        "n_supported": [1.0, 2.0, np.nan],
        "pvalue": [0.4, 0.01, np.nan],
        "lower": [1.0, 2.0, np.nan],
    }
    numbers["upper"] = [4.0, 2.0, np.nan]
    result = xr.Dataset({name: ("benchmark", values) for name, values in numbers.items()}, {"benchmark": ["fft", "sort", "zip"]})
    ax = result.assign_attrs(result="variability_level").perf.plot()
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert drawn["supported by the runs"][:2] == [1.0, 2.0]
    assert drawn["of the fitted density"][0] == 3.0
    assert len(drawn["of the fitted density"]) == 1
    assert [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()[:2]] == [[1.0, 4.0], [2.0, 2.0]]
    assert beside(ax) == ["0.400", "0.010", "–"]
    assert "not measured" in texts(ax)

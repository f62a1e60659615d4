"""Correlograms, lag plots and measurements against a coordinate."""

import numpy as np
import pytest
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)
from picture_parts import legend, lines, title


def timings(cells):
    """Return two series for each of so many benchmarks; neighbours of the first benchmark are
    alike."""
    values = np.random.default_rng(1).normal(10, 0.1, (cells, 2, 41))
    values[0, :, 1:] += values[0, :, :-1]
    labels = {"benchmark": [f"b{number}" for number in range(cells)]}
    return xr.DataArray(
        values[..., 1:], dims=("benchmark", "execution", "iteration"), coords=labels
    )


@pytest.mark.parametrize(("cells", "coloured"), [(1, 1), (9, 7)])
def test_cells_that_depend_most_are_in_colour(cells, coloured):
    """Every cell has a line, those in grey share an artist; the legend names those with the
    smallest p; the band contains 95 % of independent correlations."""
    result = timings(cells).perf.autocorrelation(max_lag=4)
    ax = result.perf.plot()
    grey = [line for artist in ax.collections for line in artist.get_segments()]
    assert len(lines(ax, "cell")) + len(grey) == cells
    by_lag = result["pooled_autocorrelation"].isel(lag=slice(1, None)).transpose("lag", ...).values
    drawn = [*(line[:, 1] for line in grey), *(line.get_ydata() for line in lines(ax, "cell"))]
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(by_lag, axis=1).T)
    assert len(legend(ax)) == coloured
    assert any(text.startswith("b0 (p " if cells > 1 else "all series (p ") for text in legend(ax))
    assert ("in colour 7 of 9: lowest p of dependence" in title(ax)) is (cells > 1)
    edge = 1.959964 / result["pooled_n"].values.min() ** 0.5
    assert [line.get_ydata()[0] for line in lines(ax, "band")] == pytest.approx(
        [-edge, edge], rel=1e-4
    )


def test_lag_pairs_values_of_one_series():
    """No pair spans two executions; the title has the correlation."""
    times = timings(1)[0]
    ax = times.perf.plot.lag(lag=2)
    offsets = [points.get_offsets().data for points in ax.collections]
    assert [len(pairs) for pairs in offsets] == [38, 38]
    np.testing.assert_allclose(offsets[1], np.stack([times[1, :-2], times[1, 2:]], axis=-1))
    assert "correlation" in title(ax)


def test_against_a_coordinate():
    """Every measurement that counts at what was recorded with it, a colour for each outermost
    unit."""
    times, warm = LOADED, LOADED.assign_coords(warmup=("iteration", [True, False]))
    ax = times.perf.plot.against("load")
    assert [points.get_offsets().tolist() for points in ax.collections] == [
        [[5.0, 1.0], [80.0, 2.0]],
        [[95.0, 4.0]],
    ]
    assert (ax.get_xlabel(), ax.get_ylabel(), title(ax)) == ("load", "time", "3 measurements")
    assert [
        points.get_offsets().tolist() for points in warm.perf.plot.against("load").collections
    ] == [[[80.0, 2.0]]]


LOADED = xr.DataArray(
    [[1.0, 2.0], [4.0, 8.0]],
    dims=("execution", "iteration"),
    coords={"load": (("iteration", "execution"), [[5.0, 95.0], [80.0, np.nan]], {"units": "%"})},
    name="time",
    attrs={"units": "s"},
)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: timings(2).perf.plot.lag(),
            r"several along benchmark \(2\): select one, as in .sel\(benchmark='b0'\)",
        ),
        (lambda: timings(1).perf.plot.lag(lag=40), "lag=40 needs more than 40 repetitions"),
        (lambda: (timings(1)[0] * np.nan).perf.plot.lag(), "lag has nothing to draw"),
        (
            lambda: LOADED.perf.plot.against("lod"),
            r"'lod' holds no numbers along \('execution', 'iteration'\); these do: 'load'",
        ),
        (
            lambda: LOADED.expand_dims(benchmark=["fft", "lu"]).perf.plot.against("load"),
            "draws one cell at a time",
        ),
        (
            lambda: (LOADED * np.nan).perf.plot.against("load"),
            "no measurement has a number in 'load'",
        ),
    ],
)
def test_what_cannot_be_drawn(draw, message):
    """One cell at a time; lags shorter than the series; something to pair; a coordinate with
    numbers."""
    with pytest.raises(ValueError, match=message):
        draw()

"""Biplot and scree plot: where points and arrows stand, names, what is refused."""

import re

import numpy as np
import pytest
import xarray as xr
from matplotlib.text import Text

from perfarray.plots import principal_components
from picture_parts import title


@pytest.fixture
def result():
    """Six machines by four benchmarks."""
    values = np.random.default_rng(1).lognormal(1, 0.3, (6, 4))
    labels = {"machine": [f"m{i}" for i in range(6)], "benchmark": list("abcd")}
    return xr.DataArray(values, dims=("machine", "benchmark"), coords=labels).perf.principal_components()


def test_points_are_scores_and_arrows_standard_deviations(result):
    """Points at the scores; arrows are loadings times the spread of the component, one scale for both axes; everything named."""
    ax = result.perf.plot()
    found = result.isel(principal_component=[0, 1])
    arrows, points = ax.collections
    np.testing.assert_allclose(points.get_offsets(), found["score"])
    spread = np.std(found["score"].values, axis=0, ddof=1)
    scale = arrows.U / (spread[0] * found["loading"].values[:, 0])
    np.testing.assert_allclose(scale, scale[0])
    np.testing.assert_allclose(arrows.V / (spread[1] * found["loading"].values[:, 1]), scale[0])
    assert {text.get_text() for text in ax.texts} == {*found["machine"].values, *found["benchmark"].values}
    share = 100 * found["explained_variance_ratio"].values[0]
    assert ax.get_xlabel() == f"principal component 1 ({share:.3g} % of the variance)"


def test_both_axes_have_one_scale(result):
    """A distance is as long upwards as sideways, arrows end short of the farthest point, and an axis that is stretched says by how much."""
    short = result.copy(deep=True)
    short["score"][:, 1] *= 0.1
    reach = np.abs(short["score"].values[:, :2]).max(axis=0)
    assert f"drawn {reach[0] / reach[1] / 2:.2g} times as long)" in principal_components(short).get_ylabel()
    ax = result.perf.plot()
    ax.figure.draw_without_rendering()
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0)
    arrows, points = ax.collections
    assert np.hypot(arrows.U, arrows.V).max() == pytest.approx(0.85 * np.hypot(*points.get_offsets().T).max())


def test_what_is_not_scaled_is_said(result):
    """Without `scale=True` features with larger numbers count for more: the title says so."""
    assert result.perf.plot().get_title(loc="left") == "machine and benchmark: biplot, each benchmark in its own size"
    scaled = result.assign(divisor=result["divisor"] * 2)
    assert principal_components(scaled).get_title(loc="left") == "machine and benchmark: biplot"


def test_rounding_is_no_component():
    """Two machines differ in one direction: nothing stands off the horizontal axis, and the vertical one says so."""
    values = np.random.default_rng(1).lognormal(1, 0.3, (2, 4))
    ax = xr.DataArray(values, dims=("machine", "benchmark"), coords={"machine": ["x", "y"], "benchmark": list("abcd")}).perf.biplot()
    arrows, points = ax.collections
    assert not arrows.V.any()
    assert not points.get_offsets()[:, 1].any()
    assert ax.get_ylabel() == "principal component 2 (nothing is left for it)"


def test_names_do_not_stand_on_each_other():
    """Of many points in one place some keep no name, and how many is said."""
    values = np.vstack([np.random.default_rng(1).normal(0, 1e-6, (90, 3)) + 5, [[1, 2, 9]]])
    labels = {"machine": [f"machine number {i}" for i in range(91)], "benchmark": list("abc")}
    ax = xr.DataArray(values, dims=("machine", "benchmark"), coords=labels).perf.biplot()
    said = [text.get_text() for text in ax.texts if text.get_text().startswith("no room for")]
    assert len(said) == 1
    assert len(ax.texts) - 1 + int(said[0].split()[3]) == 94


def machines(number):
    """Return scores of machines whose long names differ in a model number, in the middle."""
    rng = np.random.default_rng(3)
    names = [f"Intel_Xeon_Processor_E5-{2600 + i}_v4_Scalable_Family_Core" for i in range(number)]
    values = rng.lognormal(1, 0.3, (number, 1)) * rng.lognormal(0, 0.1, (number, 10))
    labels = {"machine": names, "benchmark": [f"{500 + i}.program_r" for i in range(10)]}
    return np.log(xr.DataArray(values, dims=("machine", "benchmark"), coords=labels))


@pytest.mark.parametrize("number", [5, 34])
def test_names_stay_inside_and_apart(number):
    """With few machines and with many: every name lies inside the axes, and no two overlap; names keep the number that tells them apart."""
    ax = machines(number).perf.biplot()
    ax.figure.draw_without_rendering()
    names = [text for text in ax.texts if not text.get_text().startswith("no room")]
    texts = np.array([Text.get_window_extent(text).extents for text in names])  # without the lines that lead to them
    frame = ax.get_window_extent().extents
    assert (texts[:, :2] >= frame[:2] - 1).all()
    assert (texts[:, 2:] <= frame[2:] + 1).all()
    inner = texts + np.array([1, 2, -1, -2])
    for place, box in enumerate(inner):
        others = np.delete(inner, place, axis=0)
        assert not ((others[:, 0] < box[2]) & (box[0] < others[:, 2]) & (others[:, 1] < box[3]) & (box[1] < others[:, 3])).any()
    assert len(names) >= 0.8 * (number + 10)
    assert len({text.get_text() for text in names}) == len(names)
    assert all(re.search(r"E5-26\d\d|program_r", text.get_text()) for text in names)


def test_scree_shows_the_shares(result):
    """A bar for each component; the sum ends at 100 %."""
    ax = result.perf.plot(kind="scree")
    ratio = 100 * result["explained_variance_ratio"].values
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], ratio)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(100)


def test_other_components_can_be_drawn(result):
    """The third against the first."""
    ax = result.perf.plot(components=(1, 3))
    np.testing.assert_allclose(ax.collections[1].get_offsets(), result["score"].isel(principal_component=[0, 2]))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [({"kind": "pie"}, "kind='pie' is not known"), ({"components": (1, 9)}, r"components=\(1, 9\): give two of")],
)
def test_bad_input(result, keywords, message):
    """What came and what is needed."""
    with pytest.raises(ValueError, match=message):
        principal_components(result, **keywords)


def test_of_several_analyses_the_fullest_is_drawn(result):
    """The one with most samples, without the samples it lacks; the title says that there are more, above the picture."""
    both = result.expand_dims(tuning=["base", "peak"]).assign_attrs(result.attrs)
    lacking = xr.DataArray([True, False], dims="tuning", coords={"tuning": ["base", "peak"]}) & (both["machine"] == both["machine"][0])
    ax = principal_components(both.assign(score=both["score"].where(~lacking)))
    assert title(ax).endswith("peak, one of 2 analyses (select another)")


def test_angles_between_arrows_are_correlations():
    """Where two components are all there is, the cosine between two arrows is the correlation of their benchmarks."""
    values = np.random.default_rng(2).normal(5, 1, (9, 2)) @ [[1, 2, 0.3, 0.1], [0.2, 0.1, 1, 9]]
    found = xr.DataArray(values, dims=("machine", "benchmark"), coords={"benchmark": list("abcd")}).perf.principal_components(scale=True)
    arrows = np.stack([found.perf.plot().collections[0].U, found.perf.plot().collections[0].V], axis=1)
    directions = arrows / np.linalg.norm(arrows, axis=1, keepdims=True)
    np.testing.assert_allclose(directions @ directions.T, found["correlation"], atol=1e-9)

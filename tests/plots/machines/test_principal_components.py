"""Biplot and scree plot: where points and arrows stand, names, what is refused."""

import re

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.text import Text

from perfarray.plots import principal_components
from perfarray.plots.machines.point_names import Mark, write_names
from picture_parts import texts, title


def components(values, **options):
    """Return the principal components of machines by benchmarks."""
    labels = {
        "machine": [f"m{i}" for i in range(len(values))],
        "benchmark": list("abcdefghij"[: values.shape[1]]),
    }
    return xr.DataArray(
        values, dims=("machine", "benchmark"), coords=labels
    ).perf.principal_components(**options)


@pytest.fixture
def result():
    """Six machines by four benchmarks."""
    return components(np.random.default_rng(1).lognormal(1, 0.3, (6, 4)))


def test_points_are_scores_and_arrows_standard_deviations(result):
    """Arrows are loadings times the spread of the component, one scale for both axes; all have
    names; the third may be drawn."""
    ax = result.perf.plot()
    two = result.isel(principal_component=[0, 1])
    arrows, points = ax.collections
    np.testing.assert_allclose(points.get_offsets(), two["score"])
    spread = np.std(two["score"].values, axis=0, ddof=1)
    scale = np.stack([arrows.U, arrows.V], axis=1) / (spread * two["loading"].values)
    np.testing.assert_allclose(scale, scale[0, 0])
    assert np.hypot(arrows.U, arrows.V).max() == pytest.approx(
        0.85 * np.hypot(*points.get_offsets().T).max()
    )
    assert set(texts(ax)) == {*two["machine"].values, *two["benchmark"].values}
    assert ax.get_xlabel() == (
        f"principal component 1 ({100 * two['explained_variance_ratio'].values[0]:.3g} % "
        "of the variance)"
    )
    ax = result.perf.plot(components=(1, 3))
    np.testing.assert_allclose(
        ax.collections[1].get_offsets(), result["score"].isel(principal_component=[0, 2])
    )


def test_angles_between_arrows_are_correlations():
    """Where two components are all there is, the cosine between two arrows is the correlation of
    their benchmarks."""
    values = np.random.default_rng(2).normal(5, 1, (9, 2)) @ [[1, 2, 0.3, 0.1], [0.2, 0.1, 1, 9]]
    result = components(values, scale=True)
    arrows = result.perf.plot().collections[0]
    directions = np.stack([arrows.U, arrows.V], axis=1) / np.hypot(arrows.U, arrows.V)[:, None]
    np.testing.assert_allclose(directions @ directions.T, result["correlation"], atol=1e-9)


def test_both_axes_have_one_scale(result):
    """A distance is as long upwards as sideways, and an axis that is stretched says by how much."""
    ax = result.perf.plot()
    ax.figure.draw_without_rendering()
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0)
    short = result.copy(deep=True)
    short["score"][:, 1] *= 0.1
    reach = np.abs(short["score"].values[:, :2]).max(axis=0)
    assert (
        f"drawn {reach[0] / reach[1] / 2:.2g} times as long)"
        in principal_components(short).get_ylabel()
    )


def test_titles_say_what_is_drawn(result):
    """Features that are not scaled; of several analyses the one with most samples, without the
    samples it lacks."""
    assert (
        title(result.perf.plot()) == "machine and benchmark: biplot, each benchmark in its own size"
    )
    assert (
        title(principal_components(result.assign(divisor=result["divisor"] * 2)))
        == "machine and benchmark: biplot"
    )
    suites = result.expand_dims(tuning=["base", "peak"]).assign_attrs(result.attrs)
    incomplete = (suites["tuning"] == "base") & (suites["machine"] == "m0")
    ax = principal_components(suites.assign(score=suites["score"].where(~incomplete)))
    assert title(ax).endswith("peak, one of 2 analyses (select another)")


def test_a_selected_suite_is_drawn_without_the_benchmarks_of_others():
    """The analysis of one of two suites has its own arrows, and the title names it."""
    table = xr.DataArray(
        np.random.default_rng(1).lognormal(1, 0.3, (6, 5)),
        {
            "machine": list("uvwxyz"),
            "benchmark": list("abcde"),
            "suite": ("benchmark", ["int", "int", "int", "fp", "fp"]),
        },
        ("machine", "benchmark"),
    )
    ax = table.perf.principal_components().sel(suite="fp").perf.plot()
    assert title(ax) == "machine and benchmark: biplot, each benchmark in its own size, fp"
    assert {*texts(ax)} & {*"abcde"} == {"d", "e"}


def test_rounding_is_no_component():
    """Two machines differ in one direction: nothing stands off the horizontal axis, and the
    vertical one says so."""
    ax = components(np.random.default_rng(1).lognormal(1, 0.3, (2, 4))).perf.plot()
    arrows, points = ax.collections
    assert not arrows.V.any()
    assert not points.get_offsets()[:, 1].any()
    assert ax.get_ylabel() == "principal component 2 (nothing is left for it)"


def test_names_without_room_are_counted():
    """Of many points in one place some keep no name, and the picture says how many."""
    ax = components(
        np.vstack([np.random.default_rng(1).normal(0, 1e-6, (90, 3)) + 5, [[1, 2, 9]]])
    ).perf.plot()
    (note,) = [text for text in texts(ax) if text.startswith("no room for")]
    assert len(ax.texts) - 1 + int(note.split()[3]) == 94


@pytest.mark.parametrize(
    ("left_out", "note"),
    [(["a"], "no room for 1 name: a"), (["a", "b"], "no room for 2 names: a, b")],
)
def test_few_names_without_room_are_written(monkeypatch, left_out, note):
    """Up to three are named, of more the number is told."""
    monkeypatch.setattr(
        "perfarray.plots.machines.principal_components.write_names", lambda *_: left_out
    )
    assert note in texts(components(np.random.default_rng(1).lognormal(1, 0.3, (5, 4))).perf.plot())


@pytest.mark.parametrize("number", [5, 34])
def test_names_stay_inside_and_apart(number):
    """Every name lies inside the axes, and no two overlap; long names keep the number that tells
    them apart."""
    rng = np.random.default_rng(3)
    values = rng.lognormal(1, 0.3, (number, 1)) * rng.lognormal(0, 0.1, (number, 10))
    machines = [
        f"Intel_Xeon_Processor_E5-{2600 + i}_v4_Scalable_Family_Core" for i in range(number)
    ]
    labels = {"machine": machines, "benchmark": [f"{500 + i}.program_r" for i in range(10)]}
    ax = np.log(xr.DataArray(values, dims=("machine", "benchmark"), coords=labels)).perf.biplot()
    ax.figure.draw_without_rendering()
    names = [text for text in ax.texts if not text.get_text().startswith("no room")]
    boxes = np.array(
        [Text.get_window_extent(text).extents for text in names]
    )  # without the lines that lead to them
    frame = ax.get_window_extent().extents
    assert (boxes[:, :2] >= frame[:2] - 1).all()
    assert (boxes[:, 2:] <= frame[2:] + 1).all()
    left, bottom, right, top = (boxes + np.array([1, 2, -1, -2])).T[..., None]
    overlaps = (left < right.T) & (right > left.T) & (bottom < top.T) & (top > bottom.T)
    assert overlaps.sum() == len(names) >= 0.8 * (number + 10)  # each with itself alone
    assert len({text.get_text() for text in names}) == len(names)
    assert all(re.search(r"E5-26\d\d|program_r", text.get_text()) for text in names)


def test_names_leave_room_for_the_note():
    """A name beside a point at the lower border stands above the line on which the note is
    written."""
    ax = plt.subplots()[1]
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    assert write_names(ax, [Mark("low", 0.5, -0.99, "black", is_arrow=False)]) == []
    ax.figure.draw_without_rendering()
    (name,) = ax.texts
    assert Text.get_window_extent(name).y0 > ax.get_window_extent().y0 + 13 * ax.figure.dpi / 72


def test_a_line_to_a_name_crosses_no_arrow():
    """A name is moved to the other side of its point before its line crosses an arrow."""
    tip, points = np.array([0.8, 0.3]), [(0.3 + 0.05 * number, 0.02) for number in range(5)]
    marks = [Mark(f"point {x:.2f}", x, y, "black", is_arrow=False) for x, y in points]
    ax = plt.subplots()[1]
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    assert write_names(ax, [Mark("arrow", *tip, "black", is_arrow=True), *marks]) == []
    ax.figure.draw_without_rendering()
    names = {text.get_text(): np.array(text.xyann) for text in ax.texts}
    points_in_inch = ax.transData.transform([(0, 0), tip, *points]) / ax.figure.dpi
    (x, y), *away = points_in_inch[1:] - points_in_inch[0]
    ends = np.array(away) + [names[mark.name] / 72 for mark in marks]
    for places in (np.array(away), ends):  # below the arrow
        assert (x * places[:, 1] < y * places[:, 0]).all()


def test_scree_shows_the_shares(result):
    """The sum of the bars ends at 100 %."""
    ax = result.perf.plot(kind="scree")
    np.testing.assert_allclose(
        np.cumsum([bar.get_height() for bar in ax.patches]), ax.lines[0].get_ydata()
    )
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(100)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"kind": "pie"}, "kind='pie' is not known"),
        ({"components": (1, 9)}, r"components=\(1, 9\): give two of"),
        (
            {"regions": True},
            "the result has no regions: give principal_components, or biplot, n_resamples=",
        ),
    ],
)
def test_bad_input(result, keywords, message):
    with pytest.raises(ValueError, match=message):
        principal_components(result, **keywords)

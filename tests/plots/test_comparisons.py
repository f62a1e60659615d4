"""Forest plots: points, bars, verdicts, unbounded sets, the suite, and the texts that explain
them."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba
from matplotlib.text import Text

import perfarray
from perfarray.plots import mean_intervals, ratio_intervals
from perfarray.plots.interval_marks import VERDICTS
from picture_parts import legend, lines, points, rows, segments, side_texts, texts, title

INF, NAN = np.inf, np.nan


def verdicts_of_cells(cells, suite=None, **attrs):
    """Return a comparison of benchmarks given as (estimate, lower, upper, kind, verdict)."""
    columns = dict(
        zip(
            ("estimate", "lower", "upper", "kind", "verdict"), zip(*cells, strict=True), strict=True
        )
    )
    labels = {"benchmark": [f"b{number}" for number in range(len(cells))]}
    result = xr.Dataset(
        {name: ("benchmark", list(values)) for name, values in columns.items()}, labels
    )
    if suite:
        names = ("suite_estimate", "suite_lower", "suite_upper", "suite_verdict")
        result = result.assign(dict(zip(names, suite, strict=True)))
    return result.assign_attrs(
        {"result": "compare", "metric": "time", "baseline": "old", "better": "lower", **attrs}
    )


def two_versions(samples):
    """Return timings of benchmarks, each given as the samples of the old version and the new."""
    return perfarray.from_samples(
        samples, dim="benchmark", level=("version", "execution")
    ).assign_coords(version=["old", "new"])


CELLS = [
    (0.8, 0.7, 0.9, "bounded", "faster"),
    (1.3, 1.2, 1.4, "bounded", "slower"),
    (1.0, 0.99, 1.01, "bounded", "equivalent"),
    (1.02, 0.9, 1.1, "bounded", "inconclusive"),
]


def bars(ax):
    """Return (y, left, right) of every bar."""
    return sorted(
        (y, *ends) for ends, (y, _) in zip(segments(ax), segments(ax, axis=1), strict=True)
    )


def arrows(ax):
    """Return (x, y) of every arrow; x is 0 at the left border and 1 at the right."""
    return sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in lines(ax, "arrow"))


def test_points_and_bars_stand_in_rows_with_the_marks_of_their_verdicts():
    """The first row is on top; each verdict has its own colour, marker and legend entry."""
    ax = ratio_intervals(verdicts_of_cells(CELLS))
    assert points(ax) == [0.8, 1.3, 1.0, 1.02]
    assert bars(ax) == [(0, 0.7, 0.9), (1, 1.2, 1.4), (2, 0.99, 1.01), (3, 0.9, 1.1)]
    assert (rows(ax), ax.yaxis_inverted(), ax.get_xscale()) == (
        ["b0", "b1", "b2", "b3"],
        True,
        "log",
    )
    marks = {line.get_label(): (line.get_color(), line.get_marker()) for line in lines(ax)}
    # No benchmark is a control. Its mark, and that of no verdict, has a shape of its own.
    assert marks == {name: VERDICTS[name] for name in VERDICTS if name not in ("", "control")}
    assert [len({*column}) for column in zip(*map(VERDICTS.get, marks), strict=True)] == [4, 4]
    assert len({marker for name, (_, marker) in VERDICTS.items() if name}) == 5
    assert legend(ax) == ["faster", "slower", "equivalent", "inconclusive"]
    assert {tuple(strokes.get_edgecolor()[0]) for strokes in ax.collections} == {
        to_rgba(colour) for colour, _ in VERDICTS.values()
    }


@pytest.mark.parametrize(
    ("attrs", "ends", "entry"),
    [
        ({"threshold": 0.05}, (0.95, 1.05), "within ±5 %"),
        ({"threshold": 0.0}, None, None),
    ],
)
def test_the_threshold_is_a_band_around_1(attrs, ends, entry):
    """From 1 - threshold to 1 + threshold."""
    ax = ratio_intervals(verdicts_of_cells(CELLS, **attrs))
    assert [(band.get_x(), band.get_x() + band.get_width()) for band in ax.patches] == (
        [pytest.approx(ends)] if ends else []
    )
    assert (entry in legend(ax)) is (entry is not None)


def test_the_line_of_no_change_is_always_visible():
    """Ratios far from 1 do not push 1 out of the axis."""
    ax = ratio_intervals(verdicts_of_cells([(0.1, 0.09, 0.11, "bounded", "faster")]))
    low, high = ax.get_xlim()
    assert low < 0.09 < 1 < high
    assert [1, 1] in [list(line.get_xdata()) for line in ax.lines]


@pytest.mark.parametrize(
    ("view", "ticks"),
    [
        (
            (0.65, 1.05),
            ["1.5x faster", "1.4x faster", "1.3x faster", "1.2x faster", "1.1x faster", "same"],
        ),
        ((0.9991, 1.0031), ["same", "1.001x slower", "1.002x slower", "1.003x slower"]),
        ((0.35, 2.2), ["2x faster", "1.5x faster", "same", "1.5x slower", "2x slower"]),
        ((0.09, 6.0), ["10x faster", "5x faster", "2x faster", "same", "2x slower", "5x slower"]),
        (
            (1e-4, 30.0),
            ["10000x faster", "1000x faster", "100x faster", "10x faster", "same", "10x slower"],
        ),
        # 1e+06x would touch its neighbour
        ((1e-12, 1e12), ["1000x faster", "same", "1000x slower"]),
    ],
)
def test_ticks_are_changes(view, ticks):
    """Equal factors on both sides of no change, at most seven that have room; of a metric whose
    better side is not known they are ratios."""
    axis = ratio_intervals(verdicts_of_cells(CELLS)).xaxis
    values = axis.get_major_locator().tick_values(*view)
    assert [axis.get_major_formatter()(value).replace("\n", " ") for value in values] == ticks
    rates = ratio_intervals(verdicts_of_cells(CELLS, better="higher")).xaxis.get_major_formatter()
    unknown = ratio_intervals(verdicts_of_cells(CELLS, better="")).xaxis.get_major_formatter()
    assert (rates(1.25), unknown(1.25)) == ("1.25x\nfaster", "1.25")


def test_changes_stand_beside_as_in_the_table():
    """The column at the right is that of the table, less the limits."""
    times = two_versions(
        {
            "a": [[9.0, 9.2, 9.1], [8.0, 8.1, 8.2]],
            "b": [[5.0, 5.1, 5.2], [40, 45, 42]],
            "c": [[1, 1.1, 1.2]] * 2,
        }
    )
    verdicts = times.perf.compare("old", threshold=0.02)
    cells = [text.partition(" (")[0] for text in verdicts.perf.table()["change"]]
    assert side_texts(verdicts.perf.plot()) == cells
    assert cells[2] == "unchanged"
    alone = [
        (estimate, NAN, NAN, "bounded", "inconclusive")
        for estimate in (0.8, 1.125, 0.99999, 25.0, NAN)
    ]
    assert side_texts(ratio_intervals(verdicts_of_cells(alone))) == [
        "1.25x faster",
        "1.12x slower",
        "unchanged",
        "25.0x slower",
    ]
    cut_to_positive = (
        0.8,
        0.7,
        INF,
        "at_least",
        "faster",
    )  # its set is open, and its estimate bounds nothing
    assert side_texts(ratio_intervals(verdicts_of_cells([cut_to_positive]))) == ["1.25x faster"]


def test_without_limits_a_point_is_hollow():
    """NaN limits: no bar, and a note; a row without an estimate is left out, and the title
    counts it; without any estimate the
    counts are recommended."""
    cells = [
        (0.9, NAN, NAN, "bounded", "inconclusive"),
        (NAN, NAN, NAN, "bounded", "inconclusive"),
        CELLS[3],
    ]
    ax = ratio_intervals(verdicts_of_cells(cells))
    assert {line.get_xdata()[0]: line.get_markerfacecolor() for line in lines(ax)} == {
        0.9: "white",
        1.02: VERDICTS["inconclusive"][0],
    }
    assert [y for y, _, _ in bars(ax)] == [1]
    assert ax.get_xlabel().endswith("; hollow: one unit, no interval")
    assert title(ax).endswith("2 of 3: those measured")
    with pytest.raises(
        ValueError,
        match=r"none of 3 cells is measured on both sides.*times\.perf\.plot\.counts\(\)",
    ):
        ratio_intervals(verdicts_of_cells([cells[1]] * 3))


@pytest.mark.parametrize(
    ("cell", "bar", "ends", "scale"),
    [
        ((1.1, -INF, INF, "unbounded", "inconclusive"), [("left", "right")], [0, 1], "log"),
        ((1.1, -0.5, 1000.0, "bounded", "inconclusive"), [("left", "right")], [0, 1], "log"),
        (
            (1.25, 0.9, 1.2, "exclusive", "inconclusive"),
            [("left", 0.9), (1.2, "right")],
            [0, 1],
            "log",
        ),
        ((1.25, -2.0, -1.0, "exclusive", "inconclusive"), [("left", "right")], [0, 1], "log"),
        ((1.1, 0.9, 5.5, "bounded", "inconclusive"), [(0.9, 5.5)], [], "log"),
        ((-0.5, -0.7, -0.3, "bounded", ""), [(-0.7, -0.3)], [], "linear"),
    ],
)
def test_sets_end_in_arrows_at_the_border(cell, bar, ends, scale):
    """Far limits and what lies outside an interval do not stretch the axis, within a factor of ten
    they do; below zero it is linear."""
    ax = ratio_intervals(verdicts_of_cells([cell, CELLS[0]] if ends else [cell]))
    borders = dict(zip(("left", "right"), ax.get_xlim(), strict=True))
    assert [limits for y, *limits in bars(ax) if y == 0] == [
        [borders.get(end, end) for end in segment] for segment in bar
    ]
    assert [x for x, y in arrows(ax) if y == 0] == ends
    assert ax.get_xscale() == scale
    assert not ends or ax.get_xlim()[1] < 2


def test_the_suite_stands_at_the_bottom():
    """Its row is last, bold, larger, below a line, in the colour of its verdict; of a single
    benchmark there is none."""
    ax = ratio_intervals(verdicts_of_cells(CELLS, suite=(0.95, 0.92, 0.98, "faster")))
    assert rows(ax)[-1] == "suite (geometric mean)"
    assert [label.get_fontweight() for label in ax.get_yticklabels()] == ["normal"] * 4 + ["bold"]
    largest = max(lines(ax), key=lambda line: line.get_markersize())
    assert (list(largest.get_xdata()), largest.get_color()) == ([0.95], VERDICTS["faster"][0])
    (rule,) = lines(ax, "suite")
    assert 3 < rule.get_ydata()[0] < largest.get_ydata()[0]
    assert legend(ax).count("faster") == 1
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    assert rows(times.perf.compare("old").perf.plot()) == ["new"]
    selected = (
        xr.concat([times, times], "benchmark")
        .assign_coords(benchmark=["fft", "sort"])
        .perf.compare("old")
        .sel(benchmark="fft")
    )
    assert len(selected.perf.plot().get_yticks()) == 1


def test_many_suites_take_a_third_of_the_rows_of_cells():
    """Of a hundred candidates the extremes: sixty cells, and twenty suites, whose group says how
    many there are."""
    ratios = np.linspace(0.9, 1.1, 100)
    columns = {"estimate": ratios, "lower": ratios - 0.01, "upper": ratios + 0.01}
    cells = {
        name: (("benchmark", "version"), np.stack([values, values]))
        for name, values in columns.items()
    }
    suites = {f"suite_{name}": ("version", values) for name, values in columns.items()}
    labels = {"benchmark": ["fft", "sort"], "version": [f"v{number}" for number in range(100)]}
    ax = ratio_intervals(
        xr.Dataset(
            cells | suites, labels, attrs={"result": "compare", "baseline": "old", "dim": "version"}
        )
    )
    assert (len(rows(ax)), texts(ax, "group")) == (80, ["suite (geometric mean), 20 of 100"])
    assert "60 of 200: lowest and highest ratio" in title(ax)


@pytest.fixture
def candidates():
    """Return timings of three versions and two benchmarks."""
    values = np.array([[1.0, 1.1, 1.5], [2.0, 1.8, 2.1]])[:, :, None] * np.array(
        [0.99, 1.0, 1.02, 1.01]
    )
    labels = {"benchmark": ["fft", "sort"], "version": ["a", "b", "c"]}
    return xr.DataArray(
        values, labels, ("benchmark", "version", "execution"), "time", {"units": "s"}
    )


def test_several_candidates_stand_in_groups(candidates):
    """Each benchmark is a group of its candidates, the suite one more; without verdicts there is
    one colour and no legend."""
    result = candidates.perf.compare("a")
    ax = ratio_intervals(result)
    assert rows(ax) == ["b", "c"] * 3
    assert texts(ax, "group") == ["fft", "sort", "suite (geometric mean)"]
    assert title(ax) == "Compared with a"
    assert points(ax) == pytest.approx(
        [*result["estimate"].values.ravel(), *result["suite_estimate"].values]
    )
    ax = ratio_intervals(candidates.perf.ratio_interval("a"))
    assert {line.get_color() for line in lines(ax)} == {VERDICTS[""][0]}
    assert (legend(ax), len(rows(ax))) == ([], 4)


def test_each_pair_is_drawn_once(candidates):
    """The later version over the earlier; against a selected baseline all; of a table that is not
    square those without a reverse."""
    pairs = candidates.perf.pairwise(dim="version")
    ax = ratio_intervals(pairs.isel(benchmark=[0]))
    assert (rows(ax), title(ax)) == (["b / a", "c / a", "c / b"], "Every pair compared, fft")
    assert points(ax) == pytest.approx([1.1, 1.5, 1.5 / 1.1])
    ax = ratio_intervals(pairs.sel(baseline="b", benchmark="fft"))
    assert (rows(ax), title(ax)) == (["a", "c"], "Compared with b, fft")
    assert rows(ratio_intervals(pairs.sel(version=["a", "c"], benchmark="fft"))) == [
        "a / b",
        "c / a",
        "c / b",
    ]


def test_a_single_pair_is_a_comparison(candidates):
    """Of two labels the picture is that of the later compared with the earlier, suite included."""
    two = candidates.isel(version=slice(2))
    ax, same = (ratio_intervals(result) for result in (two.perf.pairwise(), two.perf.compare("a")))
    assert (title(ax), rows(ax)) == (title(same), rows(same))
    assert title(ax) == "b compared with a"
    assert points(ax) == points(same)
    pvalues = two.perf.pairwise().perf.plot(kind="pvalues")
    assert rows(pvalues) == rows(two.perf.compare("a").perf.plot(kind="pvalues"))


def test_a_score_without_each_benchmark():
    """The whole suite is first and largest, with a line at its ratio; a benchmark of one side has
    no row."""
    times = two_versions(
        {
            "fft": [[10.0, 10.2], [8.0, 8.1]],
            "sort": [[5.0, 5.1], [4.5, 4.6]],
            "zip": [[5.0, 5.1], [NAN] * 2],
        }
    )
    with pytest.warns(UserWarning, match="'zip'"):
        result = times.perf.score_ratio_interval("old", sensitivity=True, random_benchmarks=False)
    ax = result.perf.plot()
    assert rows(ax) == ["all benchmarks", "without fft", "without sort"]
    suite, without = sorted(lines(ax), key=lambda line: line.get_ydata()[0])
    assert suite.get_xdata().tolist() == result["estimate"].values.ravel().tolist()
    np.testing.assert_array_equal(
        without.get_xdata(), result["estimate_without"].dropna("benchmark").values.ravel()
    )
    assert suite.get_markersize() > without.get_markersize()
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [
        result["estimate"].item()
    ]
    assert ax.get_xlabel().startswith("change of geometric mean of time\n95 % confidence intervals")


def test_the_whole_suite_is_drawn_above_the_extremes():
    """Without each of a hundred benchmarks in turn: sixty rows, and over them that of all."""
    labels = {"benchmark": [f"b{number}" for number in range(100)], "version": ["new"]}
    ratios = xr.DataArray(
        np.linspace(0.9, 1.0, 100)[:, None], dims=("benchmark", "version"), coords=labels
    )
    suite = {
        name: ("version", [value])
        for name, value in (("estimate", 0.95), ("lower", 0.9), ("upper", 1.1))
    }
    result = xr.Dataset(
        suite | {f"{name}_without": ratios for name in ("estimate", "lower", "upper")}
    )
    ax = result.assign_attrs(
        result="score_ratio_interval", baseline="old", dim="version"
    ).perf.plot()
    assert [rows(ax)[0], rows(ax)[1], rows(ax)[-1], len(rows(ax))] == [
        "all benchmarks",
        "without b0",
        "without b99",
        61,
    ]
    assert [line.get_xdata()[0] for line in lines(ax) if line.get_markersize() == 9] == [0.95]


def test_long_titles_are_broken_into_lines_that_fit():
    """A plain savefig cuts nothing: every line of the title ends inside the figure."""
    names = [
        "Cisco UCS B420 M3 (Intel Xeon E5-4607 v2, 2.60 GHz)",
        "ACTINA SOLAR 200 S5+ (Intel Xeon E5-2620 v2, 2.10 GHz)",
    ]
    ax = (
        perfarray.from_samples({names[0]: [10.0, 10.1, 9.9], names[1]: [9.0, 9.1, 8.9]})
        .perf.compare(names[0])
        .perf.plot()
    )
    ax.figure.draw_without_rendering()
    heading = next(
        text for text in ax.findobj(Text) if text.get_text() == ax.get_title(loc="left")
    ).get_window_extent()
    assert title(ax) == f"{names[1]} compared with {names[0]}"
    assert (heading.x1 <= ax.figure.bbox.x1, heading.y1 <= ax.figure.bbox.y1) == (True, True)


@pytest.mark.parametrize(
    ("attrs", "label"),
    [({}, "time"), ({"metric": "energy"}, "energy"), ({"statistic": "median"}, "median time")],
)
def test_the_axis_says_what_changed(attrs, label):
    """The metric and the statistic; below stand the confidence level and the correction."""
    first, second = (
        ratio_intervals(verdicts_of_cells(CELLS, confidence_level=0.99, correction="holm", **attrs))
        .get_xlabel()
        .splitlines()
    )
    assert first == f"change of {label}"
    assert all(fact in second for fact in ("99 %", "(holm)"))


@pytest.mark.parametrize(
    ("attrs", "touched"), [({"threshold": 0.02}, "the band"), ({}, "no change")]
)
def test_a_mark_says_why_the_interval_does_not_show_the_verdict(attrs, touched):
    """Of what is significant by its corrected p-value; an equivalent cell has another sentence."""
    result = verdicts_of_cells(CELLS, confidence_level=0.95, correction="holm", **attrs)
    disagrees = result.assign(interval_agrees=result["verdict"] != "slower")
    lines = ratio_intervals(disagrees).get_xlabel().splitlines()
    assert lines[-1] == f"* the p-value decides, although the interval touches {touched}"
    disagrees = result.assign(interval_agrees=result["verdict"] == "slower")
    lines = ratio_intervals(disagrees).get_xlabel().splitlines()
    assert lines[-1] == "* the p-value decides, the interval is wider"


@pytest.mark.parametrize("size", [10, 13, 18])
def test_ticks_of_changes_do_not_touch(size):
    """Whatever the size of letters is: there are fewer ticks then."""
    with plt.rc_context({"font.size": size}):
        ax = ratio_intervals(verdicts_of_cells(CELLS))
        ax.figure.draw_without_rendering()
        low, high = ax.get_xlim()
        visible = [
            label.get_window_extent()
            for label in ax.get_xticklabels()
            if low <= label.get_position()[0] <= high
        ]
    assert len(visible) > 1
    assert all(left.x1 < right.x0 for left, right in pairwise(visible))


@pytest.mark.filterwarnings("ignore:.*was stopped at a limit:UserWarning")
@pytest.mark.parametrize(("label", "side"), [("new", "at least 4"), ("old", "at most 4")])
def test_bounds_are_called_bounds(label, side):
    """What stopped runs make a bound: ratios, suites, scores and means; not the others, and not
    one-sided limits."""
    times = perfarray.from_samples(
        {"old": [10.0, 10.1, 9.9, 10.2], "new": [41.0, 40.1, 40.3, 40.8]}
    )["time"]
    times = xr.concat([times, times], "benchmark").assign_coords(benchmark=["fft", "sort"])
    times = times.assign_coords(
        censored=(times["benchmark"] == "fft")
        & (times["version"] == label)
        & (times["execution"] == 0)
    )
    assert [text.startswith(side) for text in side_texts(times.perf.plot.intervals("old"))] == [
        True,
        False,
        True,
    ]
    assert [
        text.startswith(side)
        for text in side_texts(times.perf.score_ratio_interval("old").perf.plot())
    ] == [True]
    means = side_texts(times.perf.mean_interval().perf.plot())
    assert [text.startswith("at least") for text in means] == [
        label == "old",
        label == "new",
        False,
        False,
    ]
    one_sided = times.perf.score_ratio_interval("old", alternative="greater")
    assert one_sided.attrs["alternative"] == "greater"
    assert not side_texts(one_sided.perf.plot())[0].startswith("at")


@pytest.mark.parametrize(
    ("samples", "scale", "means"),
    [
        ({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, "linear", ["10 s", "5 s"]),
        ({"fft": [9.0, 10.0, 11.0], "sort": [0.4, 0.5, 0.6]}, "log", ["10 s", "500 ms"]),
        ({"fft": [0.99, 1.0, 1.01], "sort": [0.99e-6, 1e-6, 1.01e-6]}, "percent", ["1 s", "1 µs"]),
        # Two of three means would hide their intervals.
        (
            {"fft": [9.9, 10.0, 10.1], "sort": [0.99e-3, 1e-3, 1.01e-3], "zip": [4.0, 5.0, 6.0]},
            "percent",
            ["10 s", "1 ms", "5 s"],
        ),
        # Within a factor of ten the widths count: 20 times .05 is less than the difference of 5,
        # and 20 times .4 more than that of 6.
        ({"fft": [9.99, 10.0, 10.01], "sort": [4.99, 5.0, 5.01]}, "percent", ["10 s", "5 s"]),
        ({"fft": [9.92, 10.0, 10.08], "sort": [3.92, 4.0, 4.08]}, "linear", ["10 s", "4 s"]),
        # Beyond it the widths relative to the means count: 20 times .5 is more than ln 100, so that
        # none hides, though the two small ones are as narrow as 5 and 10 seconds in 990 ...
        (
            {"fft": [900.0, 1000.0, 1100.0], "sort": [9.0, 10.0, 11.0], "zip": [18.0, 20.0, 22.0]},
            "log",
            ["1 ks", "10 s", "20 s"],
        ),
        # ... and 20 times .2 is less, so that both hide, though the larger is as wide as 199
        # seconds in 990.
        ({"fft": [960.0, 1000.0, 1040.0], "sort": [9.6, 10.0, 10.4]}, "percent", ["1 ks", "10 s"]),
    ],
)
def test_means_have_the_axis_that_shows_their_intervals(samples, scale, means):
    """Units; a logarithmic axis beyond a factor of ten; percent of each mean where most intervals
    would hide behind their points."""
    result = perfarray.from_samples(samples, dim="benchmark").perf.mean_interval()
    ax = mean_intervals(result)
    limits = np.stack([result["lower"], result["upper"]], axis=1)
    centres = result["estimate"].values
    if scale == "percent":
        own_units = mean_intervals(result, relative=False)
        assert (points(own_units), own_units.get_xscale()) == (
            centres.tolist(),
            "log" if max(centres) > 10 * min(centres) else "linear",
        )
        limits, centres = 100 * (limits / centres[:, None] - 1), np.zeros(len(means))
        assert ax.get_xlabel().startswith("time, relative to the mean")
    np.testing.assert_allclose(segments(ax), limits)
    assert points(ax) == centres.tolist()
    assert side_texts(ax) == means
    assert title(ax) == "Mean time"
    assert ax.get_xscale() == ("log" if scale == "log" else "linear")


@pytest.mark.filterwarnings("ignore:the replicates have no coordinate")
def test_limits_without_an_estimate_are_drawn():
    """Replicates without the observed statistic have limits: a bar, and nothing says that they were
    not measured."""
    replicates = xr.DataArray(
        [np.arange(1.0, 100.0)] * 2,
        dims=("benchmark", "replicate"),
        coords={"benchmark": ["fft", "sort"]},
    )
    ax = replicates.perf.bootstrap_interval(confidence_level=0.9).perf.plot()
    np.testing.assert_allclose(segments(ax), [[5, 95]] * 2)
    assert "not measured on both sides" not in texts(ax)


@pytest.mark.parametrize("affinity", ["no affinity", "no affinity at all, of any thread of it"])
def test_groups_stand_beside_the_labels_of_suites(affinity):
    """The suite's name has room beside bold labels, however long these are."""
    rng = np.random.default_rng(1)
    times = xr.DataArray(
        rng.normal(10, 0.1, (2, 2, 2, 2, 4)),
        {
            "version": ["old", "new"],
            "benchmark": ["lu", "b" * 40],
            "affinity": [affinity, "compact"],
            "threads": [2, 4],
        },
        ("version", "benchmark", "affinity", "threads", "execution"),
    )
    ax = times.perf.compare("old").perf.plot()
    ax.figure.draw_without_rendering()
    labels = min(label.get_window_extent().x0 for label in ax.get_yticklabels())
    groups = [text.get_window_extent() for text in ax.texts if text.get_gid() == "group"]
    assert len(groups) == 3
    assert max(group.x1 for group in groups) < labels
    assert min(group.x0 for group in groups) >= 0

"""Forest plots: points, bars, verdicts, sets without end, the suite."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba
from matplotlib.text import Text

import perfarray
from perfarray.plots import ratio_intervals
from perfarray.plots.interval_marks import VERDICTS

INF = np.inf


def compared(rows, suite=None, **attrs):
    """Return a comparison of benchmarks given as (estimate, lower, upper, kind, verdict)."""
    names = [f"b{i}" for i in range(len(rows))]
    columns = dict(zip(("estimate", "lower", "upper", "kind", "verdict"), zip(*rows, strict=True), strict=True))
    result = xr.Dataset({name: ("benchmark", list(values)) for name, values in columns.items()}, coords={"benchmark": names})
    if suite:
        result = result.assign(
            {f"suite_{name}": value for name, value in zip(("estimate", "lower", "upper", "verdict"), suite, strict=True)}
        )
    return result.assign_attrs({"result": "compare", "metric": "time", "baseline": "old", "better": "lower", **attrs})


ROWS = [
    (0.8, 0.7, 0.9, "bounded", "faster"),
    (1.3, 1.2, 1.4, "bounded", "slower"),
    (1.0, 0.99, 1.01, "bounded", "equivalent"),
    (1.02, 0.9, 1.1, "bounded", "inconclusive"),
]


def points(ax):
    """Return the lines of estimates."""
    return [line for line in ax.lines if line.get_gid() == "estimates"]


def bars(ax):
    """Return (y, left, right) of every bar."""
    return sorted((s[0][1], s[0][0], s[1][0]) for lines in ax.collections for s in lines.get_segments())


def arrows(ax):
    """Return (place, y) of every arrow; place 0 is the left border, 1 the right."""
    return sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_gid() == "arrow")


def beside(ax):
    """Return the texts right of the rows."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "beside"]


def test_points_stand_at_estimates_and_bars_at_limits():
    """Every row has its point and its bar, first row on top."""
    ax = ratio_intervals(compared(ROWS))
    drawn = sorted((y, x) for line in points(ax) for x, y in zip(*line.get_data(), strict=True))
    assert drawn == [(0, 0.8), (1, 1.3), (2, 1.0), (3, 1.02)]
    assert bars(ax) == [(0, 0.7, 0.9), (1, 1.2, 1.4), (2, 0.99, 1.01), (3, 0.9, 1.1)]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b0", "b1", "b2", "b3"]
    assert ax.yaxis_inverted()
    assert ax.get_xscale() == "log"


def test_verdicts_differ_in_colour_and_marker():
    """Each verdict has its own of both, and a legend entry."""
    ax = ratio_intervals(compared(ROWS))
    assert {line.get_label(): (line.get_color(), line.get_marker()) for line in points(ax)} == {
        name: VERDICTS[name] for name in VERDICTS if name
    }
    assert len({colour for colour, _ in VERDICTS.values()}) == len({marker for _, marker in VERDICTS.values()}) == 4
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["faster", "slower", "equivalent", "inconclusive"]
    assert {tuple(lines.get_edgecolor()[0]) for lines in ax.collections} == {to_rgba(colour) for colour, _ in VERDICTS.values()}


def test_threshold_is_a_band_around_one():
    """A threshold of 5 percent: 0.95 to 1.05, named in the legend; without it no band."""
    ax = ratio_intervals(compared(ROWS, threshold=0.05))
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.95, 1.05))
    assert ax.get_legend().get_texts()[0].get_text() == "within ±5 %"
    assert not ratio_intervals(compared(ROWS, threshold=0.0)).patches


def test_band_may_be_symmetric_for_the_inverse():
    """A logarithmic band of 25 percent: 0.8 to 1.25."""
    ax = ratio_intervals(compared(ROWS, threshold=0.25, band="log"))
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.8, 1.25))
    assert ax.get_legend().get_texts()[0].get_text() == "within a factor of 1.25"


def test_line_of_no_change_is_always_seen():
    """Ratios far from 1 do not push 1 out of sight."""
    ax = ratio_intervals(compared([(0.1, 0.09, 0.11, "bounded", "faster")]))
    assert ax.get_xlim()[0] < 0.09
    assert ax.get_xlim()[1] > 1
    assert [1, 1] in [list(line.get_xdata()) for line in ax.lines]


def test_changes_stand_beside_in_percent():
    """A ratio of 0.8 is 20 percent less; beyond tenfold it is a factor; no minus before a zero."""
    rows = [(estimate, np.nan, np.nan, "bounded", "inconclusive") for estimate in (0.8, 1.125, 0.99999, 25.0, np.nan)]
    assert beside(ratio_intervals(compared(rows))) == ["−20.0 %", "+12.5 %", "+0.0 %", "×25", "–"]


def test_without_limits_a_point_is_hollow():
    """NaN limits: no bar, a hollow point, and a word about it; a row without an estimate says so."""
    rows = [(0.9, np.nan, np.nan, "bounded", "inconclusive"), (np.nan, np.nan, np.nan, "bounded", "inconclusive"), ROWS[3]]
    ax = ratio_intervals(compared(rows))
    faces = {line.get_xdata()[0]: line.get_markerfacecolor() for line in points(ax)}
    assert faces == {0.9: "white", 1.02: VERDICTS["inconclusive"][0]}
    assert [y for y, _, _ in bars(ax)] == [2]
    assert ax.get_xlabel().endswith("; hollow: one unit, no interval")
    assert "not measured on both sides" in [text.get_text() for text in ax.texts]


def test_unbounded_set_has_arrows_to_both_borders():
    """The whole line is drawn from border to border."""
    ax = ratio_intervals(compared([ROWS[0], (1.1, -INF, INF, "unbounded", "inconclusive")]))
    assert arrows(ax) == [(0, 1), (1, 1)]
    assert bars(ax)[1] == (1, *ax.get_xlim())


def test_exclusive_set_is_everything_outside():
    """Outside (0.9, 1.2): two parts, each ending in an arrow."""
    ax = ratio_intervals(compared([(1.25, 0.9, 1.2, "exclusive", "inconclusive")]))
    low, high = ax.get_xlim()
    assert bars(ax) == [(0, low, 0.9), (0, 1.2, high)]
    assert arrows(ax) == [(0, 0), (1, 0)]


def test_exclusive_set_around_negative_ratios_has_one_part_on_a_logarithmic_axis():
    """Outside (-2, -1): all positive ratios belong to it."""
    ax = ratio_intervals(compared([(1.25, -2.0, -1.0, "exclusive", "inconclusive")]))
    assert bars(ax) == [(0, *ax.get_xlim())]


def test_far_limits_end_in_an_arrow():
    """Limits of -0.5 and 1000 neither stretch nor break the axis."""
    ax = ratio_intervals(compared([ROWS[0], (1.1, -0.5, 1000.0, "bounded", "inconclusive")]))
    assert ax.get_xlim()[1] < 2
    assert arrows(ax) == [(0, 1), (1, 1)]


def test_negative_ratios_have_a_linear_axis():
    """A ratio below zero cannot stand on a logarithmic axis."""
    ax = ratio_intervals(compared([(-0.5, -0.7, -0.3, "bounded", "")], result="ratio_interval"))
    assert ax.get_xscale() == "linear"
    assert bars(ax) == [(0, -0.7, -0.3)]
    assert not arrows(ax)


@pytest.mark.parametrize(
    ("rows", "ticks"), [(ROWS, ["0.7", "0.8", "0.9", "1"]), ([(0.02, 0.01, 0.03, "bounded", "")], ["0.01", "0.1", "1"])]
)
def test_ticks_are_plain_ratios(rows, ticks):
    """No powers of ten, no logarithms."""
    ax = ratio_intervals(compared(rows))
    ax.figure.canvas.draw()
    assert set(ticks) <= {text.get_text() for text in ax.get_xticklabels()}


def test_suite_stands_at_the_bottom():
    """Its row is last, bold, larger, below a line, in the colour of its verdict."""
    ax = ratio_intervals(compared(ROWS, suite=(0.95, 0.92, 0.98, "faster")))
    labels = ax.get_yticklabels()
    assert [text.get_text() for text in labels][-1] == "suite (geometric mean)"
    assert [text.get_fontweight() for text in labels] == ["normal"] * 4 + ["bold"]
    largest = max(points(ax), key=lambda line: line.get_markersize())
    assert (list(largest.get_xdata()), largest.get_color()) == ([0.95], VERDICTS["faster"][0])
    (rule,) = [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "suite"]
    assert 3 < rule < largest.get_ydata()[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()].count("faster") == 1


def test_single_benchmark_has_no_suite_row():
    """It would repeat the only row."""
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    ax = times.perf.compare("old").perf.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["new"]
    selected = xr.concat([times, times], "benchmark").assign_coords(benchmark=["fft", "sort"]).perf.compare("old").sel(benchmark="fft")
    assert len(selected.perf.plot().get_yticks()) == 1


def candidates():
    """Return timings of three versions and two benchmarks."""
    values = np.array([[1.0, 1.1, 1.5], [2.0, 1.8, 2.1]])[:, :, None] * np.array([0.99, 1.0, 1.02, 1.01])
    labels = {"benchmark": ["fft", "sort"], "version": ["a", "b", "c"]}
    return xr.DataArray(values, dims=("benchmark", "version", "execution"), coords=labels, name="time", attrs={"units": "s"})


def test_several_candidates_stand_in_groups():
    """Each benchmark is a group of its candidates, the suite one more."""
    result = candidates().perf.compare("a")
    ax = ratio_intervals(result)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "c"] * 3
    assert [text.get_text() for text in ax.texts if text.get_gid() == "group"] == ["fft", "sort", "suite (geometric mean)"]
    assert ax.get_title(loc="left") == "Compared with a"
    drawn = sorted((y, x) for line in points(ax) for x, y in zip(*line.get_data(), strict=True))
    expected = [*result["estimate"].values.ravel(), *result["suite_estimate"].values]
    assert [x for _, x in drawn] == pytest.approx(expected)


def test_each_pair_is_drawn_once():
    """Three versions: three pairs, the later over the earlier; none against itself."""
    result = candidates().perf.pairwise(dim="version")
    ax = ratio_intervals(result.isel(benchmark=[0]))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b / a", "c / a", "c / b"]
    drawn = sorted((y, x) for line in points(ax) for x, y in zip(*line.get_data(), strict=True))
    assert [x for _, x in drawn] == pytest.approx([1.1, 1.5, 1.5 / 1.1])
    assert ax.get_title(loc="left") == "Every pair compared, fft"


def test_one_baseline_of_all_pairs():
    """A selected baseline is in the title; every version is a row."""
    ax = ratio_intervals(candidates().perf.pairwise(dim="version").sel(baseline="b", benchmark="fft"))
    assert ax.get_title(loc="left") == "Compared with b, fft"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]


def test_part_of_a_table_of_pairs():
    """A table that is no longer square keeps the pairs whose reverse is not there."""
    ax = ratio_intervals(candidates().perf.pairwise(dim="version").sel(version=["a", "c"], benchmark="fft"))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a / b", "c / a", "c / b"]


def test_ratio_interval_has_no_verdicts():
    """One colour, no legend, no suite."""
    ax = ratio_intervals(candidates().perf.ratio_interval("a"))
    assert {line.get_color() for line in points(ax)} == {VERDICTS[""][0]}
    assert ax.get_legend() is None
    assert len(ax.get_yticks()) == 4


def test_a_score_without_each_benchmark():
    """The whole suite first and largest, then the answers without each benchmark, and a line at the whole suite's."""
    samples = {"fft": [[10.0, 10.2], [8.0, 8.1]], "sort": [[5.0, 5.1], [4.5, 4.6]]}
    times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    result = times.perf.score_ratio_interval("old", sensitivity=True)
    ax = result.perf.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all benchmarks", "without fft", "without sort"]
    points = {tuple(line.get_ydata()): line for line in ax.lines if line.get_gid() == "estimates"}
    whole = next(line for y, line in points.items() if y == (0.0,))
    others = next(line for y, line in points.items() if y == (1.0, 2.0))
    assert whole.get_xdata().tolist() == result["estimate"].values.ravel().tolist()
    np.testing.assert_array_equal(others.get_xdata(), result["estimate_without"].values.ravel())
    assert whole.get_markersize() > others.get_markersize()
    (line,) = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert line.get_xdata()[0] == result["estimate"].item()
    assert ax.get_xlabel().startswith("geometric mean of time, candidate / baseline (<1 is faster)\n95 % confidence intervals")


def test_a_benchmark_that_does_not_count_has_no_row():
    """A benchmark of one side has no answer without it."""
    samples = {"fft": [[10.0, 10.2], [8.0, 8.1]], "sort": [[5.0, 5.1], [4.5, 4.6]], "zip": [[5.0, 5.1], [4.5, 4.6]]}
    times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    times["time"][{"benchmark": 2, "version": 1}] = np.nan
    with pytest.warns(UserWarning, match="'zip'"):
        ax = times.perf.score_ratio_interval("old", sensitivity=True, random_benchmarks=False).perf.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all benchmarks", "without fft", "without sort"]


def test_long_titles_are_broken_into_lines_that_fit():
    """A plain savefig cuts nothing: every line of the title ends inside the figure."""
    names = ["Cisco UCS B420 M3 (Intel Xeon E5-4607 v2, 2.60 GHz)", "ACTINA SOLAR 200 S5+ (Intel Xeon E5-2620 v2, 2.10 GHz)"]
    times = perfarray.from_samples({names[0]: [10.0, 10.1, 9.9], names[1]: [9.0, 9.1, 8.9]})
    ax = times.perf.compare(names[0]).perf.plot()
    ax.figure.draw_without_rendering()
    title = next(text for text in ax.findobj(Text) if text.get_text() == ax.get_title(loc="left"))
    assert title.get_text().replace("\n", " ") == f"{names[1]} compared with {names[0]}"
    assert title.get_window_extent().x1 <= ax.figure.bbox.x1
    assert title.get_window_extent().y1 <= ax.figure.bbox.y1


def test_the_answer_itself_is_drawn_above_the_extremes():
    """Without each of a hundred benchmarks in turn: sixty rows that are least and most, and over them that of all."""
    names = [f"b{number}" for number in range(100)]
    ratios = xr.DataArray(
        np.linspace(0.9, 1.0, 100)[:, None], dims=("benchmark", "version"), coords={"benchmark": names, "version": ["new"]}
    )
    whole = {name: ("version", [value]) for name, value in (("estimate", 0.95), ("lower", 0.9), ("upper", 1.1))}
    result = xr.Dataset(whole | {f"{name}_without": ratios for name in ("estimate", "lower", "upper")})
    ax = result.assign_attrs(result="score_ratio_interval", baseline="old", dim="version").perf.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [labels[0], labels[1], labels[-1], len(labels)] == ["all benchmarks", "without b0", "without b99", 61]
    assert [line.get_xdata()[0] for line in points(ax) if line.get_markersize() == 9] == [0.95]


@pytest.mark.filterwarnings("ignore:the replicates have no coordinate")
def test_limits_without_an_estimate_are_drawn():
    """Replicates without the observed statistic have limits: a bar, and nothing says that they were not measured."""
    replicates = xr.DataArray([np.arange(1.0, 100.0)] * 2, dims=("benchmark", "replicate"), coords={"benchmark": ["fft", "sort"]})
    ax = replicates.perf.bootstrap_interval(confidence_level=0.9).perf.plot()
    ends = [segment[:, 0].tolist() for lines in ax.collections for segment in lines.get_segments()]
    np.testing.assert_allclose(ends, [[5, 95]] * 2)
    assert "not measured on both sides" not in [text.get_text() for text in ax.texts]


def test_where_nothing_was_measured_there_is_no_picture():
    """Rows that all say so are none: the message says how many cells, and which picture shows what there is."""
    rows = [(np.nan, np.nan, np.nan, "bounded", "inconclusive")] * 3
    with pytest.raises(
        ValueError, match=r"none of 3 cells is measured on both sides.*the picture counts \(times\.perf\.plot\.counts\(\)\) shows what is"
    ):
        ratio_intervals(compared(rows))

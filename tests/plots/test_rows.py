"""Rows: labels, groups, shortening, sizes."""

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.textpath import TextPath

import perfarray
from perfarray.plots.figure import (
    describe,
    level_colours,
    number_format,
    selection,
    shortened,
    text_width,
    write_units,
)
from perfarray.plots.rows import (
    GAP,
    RowFrame,
    ranked_rows,
    rows_of,
    shown_rows,
    some_named,
    spacing,
)
from picture_parts import title


def cells(**labels):
    """Return an array with these dims and labels."""
    return xr.DataArray(
        np.zeros([len(names) for names in labels.values()]), dims=list(labels), coords=labels
    )


STACKED = cells(benchmark=["fft"], flags=["O2", "O3"]).stack(cell=("benchmark", "flags"))


@pytest.mark.parametrize(
    ("array", "labels"),
    [
        (cells(benchmark=["fft", "sort"], version=["new"]), ["fft", "sort"]),
        (cells(benchmark=["fft"], version=["new"]), ["fft, new"]),
        (xr.DataArray(1.0), [""]),
        (cells(machine=[0, 1]), ["machine 0", "machine 1"]),
        (STACKED, ["fft, O2", "fft, O3"]),
        (cells(benchmark=["Outer$Inner$run", "fft"]), [r"Outer\$Inner\$run", "fft"]),
    ],
)
def test_labels_name_what_differs(array, labels):
    """A single cell has all its labels; a number says of what; a label of several parts is joined;
    dollars are no formula."""
    rows = rows_of(array)
    assert [(row.label, row.group, row.y) for row in rows] == [
        (label, "", float(y)) for y, label in enumerate(labels)
    ]
    assert rows[-1].cell == {dim: size - 1 for dim, size in array.sizes.items()}


def test_several_dims_give_groups_by_benchmark():
    """A benchmark is a group, wherever its dim stands, and groups have room between them; all else
    stands in the label."""
    rows = rows_of(cells(version=["a", "b"], benchmark=["fft", "sort"]))
    assert [(row.group, row.label) for row in rows] == [
        ("fft", "a"),
        ("fft", "b"),
        ("sort", "a"),
        ("sort", "b"),
    ]
    assert [row.y for row in rows] == [0, 1, 2 + GAP, 3 + GAP]
    assert (
        rows_of(cells(benchmark=["fft", "sort"], compiler=["gcc", "clang"], flags=["O2", "O3"]))[
            1
        ].label
        == "gcc, O3"
    )


def test_figures_grow_with_rows_and_labels():
    """Each row has a quarter of an inch; long labels make the figure wider."""
    few_rows, many_rows, long = (
        RowFrame(None, rows_of(cells(benchmark=names))).ax.figure.get_size_inches()
        for names in (list("abc"), [f"b{number}" for number in range(60)], ["b" * 40, "c"])
    )
    assert many_rows[1] - few_rows[1] == pytest.approx(57 * 0.25)
    assert long[0] > few_rows[0] + 2


def test_more_rows_than_fit_show_the_extremes():
    """The lowest and the highest, in that order, under their whole names; what nobody measured is
    not counted; a suite takes a third."""
    number = cells(benchmark=[f"b{i}" for i in range(50)], version=["a", "b"])
    number = number.copy(
        data=np.where(np.arange(100.0) < 5, np.nan, -np.arange(100.0)).reshape(50, 2)
    )
    rows, left_out = shown_rows(number, "change")
    assert left_out == ["60 of 95: lowest and highest change"]
    assert [rows[position].label for position in (0, 29, 30, -1)] == [
        "b49, b",
        "b35, a",
        "b17, a",
        "b2, b",
    ]
    assert [float(number.isel(rows[position].cell)) for position in (0, -1)] == [-99, -5]
    assert rows[30].y == rows[29].y + 1 + GAP
    one = number.isel(version=0)
    measured = rows_of(one, is_measured=one.notnull().values)
    assert shown_rows(one, "change") == (measured, ["47 of 50: those measured"])
    assert shown_rows(one, "change", keeps_empty=True) == (rows_of(one), [])
    assert shown_rows(number.where(number > -20), "change")[1] == ["15 of 100: those measured"]
    assert len(shown_rows(number, "change", share=3)[0]) == 20


def test_ranked_rows_are_those_measured_from_the_best_to_the_worst():
    """Cells without a score have no row; a row is named by what differs among those measured, and
    the title counts those left out."""
    score = cells(machine=["a (Xeon)", "b", "c"], compiler=["gcc", "icc"], tuning=["base", "peak"])
    score = score.copy(
        data=[[[1.0, np.nan], [3.0, np.nan]], [[np.nan] * 2] * 2, [[2.0, np.nan], [np.nan] * 2]]
    )
    ranked, shared, left_out = ranked_rows(score, "higher", 40)
    assert ([row.label for row in ranked], shared, left_out) == (
        ["a (Xeon), icc", "c, gcc", "a (Xeon), gcc"],
        ["base"],
        ["3 of 12: those measured"],
    )
    assert [float(score.isel(row.cell)) for row in ranked] == [3, 2, 1]
    assert [float(score.isel(row.cell)) for row in ranked_rows(score, "lower", 40)[0]] == [1, 2, 3]
    scores = cells(machine=[f"m{number}" for number in range(50)])
    scores = scores.copy(data=np.where(np.arange(50) == 7, np.nan, np.arange(50.0)))
    ranked, _, left_out = ranked_rows(scores, "lower", 5)
    assert [row.label for row in ranked] == ["m0", "m1", "m2", "m48", "m49"]
    assert ranked[3].y == ranked[2].y + 1 + GAP
    assert left_out == [
        "5 of 49: the 3 best and the 2 worst; max_rows=49 draws the 44 others",
        "49 of 50: those measured",
    ]
    assert len(ranked_rows(scores, "lower", 49)[0]) == 49
    with pytest.raises(ValueError, match="max_rows=1: give a number of rows of at least 2"):
        ranked_rows(scores, "lower", 1)
    with pytest.raises(ValueError, match="no cell has a score; nothing to draw"):
        ranked_rows(scores[7:8], "lower", 40)


@pytest.mark.parametrize(
    ("number", "n_labels", "inches", "size"),
    [(40, 40, 0.25, 9), (163, 163, 15 / 163, 72 * 15 / 163), (400, 134, 0.0375, 8.1)],
)
def test_rows_stand_closer_until_all_fit_on_a_sheet(number, n_labels, inches, size):
    """Letters become smaller; where they would be too small, every second or third row has a name,
    and the title says how many."""
    height, step, letters = spacing(number, 0.25)
    assert (height, letters) == (pytest.approx(inches), pytest.approx(size))
    names, left_out = some_named([f"m{position}" for position in range(number)], step, "rows")
    assert ([name != "" for name in names].count(True), len(names)) == (n_labels, number)
    assert left_out == [f"{n_labels} of {number}: rows with a name"] * (n_labels < number)


def test_long_labels_are_shortened_in_the_middle():
    """Beginning and end stay; short ones are left alone; so are those that would become alike;
    those that differ still do."""
    short, long = shortened(["fft", "beginning" + "x" * 50 + "end"])
    assert (short, len(long), long[:9], "…" in long, long[-3:]) == (
        "fft",
        40,
        "beginning",
        True,
        "end",
    )
    labels = ["x" * number + "a" + "x" * (300 - number) for number in range(0, 300, 10)]
    assert shortened(labels) == labels
    for position in (5, 25, 50, 74):
        short_labels = shortened(
            ["x" * position + letter + "x" * (80 - position) for letter in "ab"]
        )
        assert (len(set(short_labels)), max(map(len, short_labels)) <= 60) == (2, True)


def test_packages_and_words_that_many_share_go_first():
    """What stands before a dot in all labels, then the most frequent words; what has digits, or
    stands once, stays."""
    labels = [
        f"Intel_Xeon_Scalable_Processor_Platinum_{model}C_Cloud_Instance" for model in (8576, 8581)
    ] + ["AMD_EPYC_9755"]
    first, second, third = shortened(labels, 24)
    assert ("8576C" in first, "8581C" in second, third) == (True, True, "AMD_EPYC_9755")
    assert max(len(first), len(second)) <= 24
    assert [
        text[-6:] for text in shortened([f"Intel_Core_i9-14900K_{kind}-Core" for kind in "PE"], 20)
    ] == ["P-Core", "E-Core"]
    assert shortened(
        ["org.example.benchmarks.List.sort", "org.example.benchmarks.Map.get"], 20
    ) == ["…List.sort", "…Map.get"]


def test_levels_keep_their_colours():
    """A level has the same colour with and without the others; levels of other names differ from
    them."""
    assert (
        level_colours(["execution", "iteration"])["execution"]
        == level_colours(["binary", "execution"])["execution"]
    )
    assert (
        len(set(level_colours(["machine", "binary", "session", "execution", "iteration"]).values()))
        == 5
    )


@pytest.mark.parametrize(
    ("units", "value", "text"),
    [
        ("s", 7.9751e-4, "797.5 µs"),
        ("ops/s", 12225.7, "12.23 kops/s"),
        ("ops/ms", 12225.7, "12230 ops/ms"),
        ("1", 0.5, "0.5"),
        ("s", np.nan, "–"),
    ],
)
def test_numbers_have_their_unit(units, value, text):
    """Four digits; a prefix only where the unit takes one."""
    assert number_format(units)(value) == text


def test_titles_name_what_was_selected():
    """Dims of size one and selected labels; not what every file carries along, not repetitions of
    size one; dollars are escaped."""
    array = cells(benchmark=["fft", "sort"], version=["new"], iteration=[0]).assign_coords(
        machine="martha", flags="O2", execution=3
    )
    assert selection(array) == ["new", "O2", "execution 3"]
    times = perfarray.from_samples({"old$1": [10.0, 10.1, 9.9], "new$2": [9.0, 9.1, 8.9]})
    assert title(times.perf.compare("old$1").perf.plot()) == r"new\$2 compared with old\$1"


def test_widths_are_those_of_the_font():
    """The measured width is that of the drawn letters, but for the space beside the outermost."""
    for text in ("500.perlbench_r", "+12.3 %", "AMD_EPYC_7742"):
        width = float(np.ptp(TextPath((0, 0), text, size=9).get_extents().intervalx))
        assert text_width([f"i\n{text}", "i"], 9) == pytest.approx(width, abs=2)


def test_a_title_stays_clear_of_the_column_header():
    """Without a legend, a title that is longer than the axes stands above the header of the column
    beside the rows."""
    machines = {
        f"machine_{number}": [1.0 + number, 1.1 + number, 1.2 + number] for number in range(3)
    }
    ax = (
        perfarray.from_samples(machines, dim="machine")
        .perf.score_ratio_interval("machine_0")
        .perf.plot()
    )
    ax.figure.draw_without_rendering()
    (header,) = (text for text in ax.texts if text.get_gid() == "header")
    assert ax.get_legend() is None
    assert ax._left_title.get_window_extent().y0 >= header.get_window_extent().y1


def test_measuring_fewer_texts_changes_no_picture():
    """The layout leaves out all but the widest text of a column, and a saved picture is what
    matplotlib saves when it measures all."""
    names = [f"benchmark {'x' * (number % 7)}{number}" for number in range(12)]
    runs = np.random.default_rng(5).normal(10, 1, (2, 12, 6))
    labels = {"version": ["old", "new"], "benchmark": names}
    times = xr.DataArray(
        runs,
        dims=("version", "benchmark", "execution"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )
    result = times.perf.compare("old")
    measured, saved = result.perf.plot(), result.perf.plot.svg()
    assert sum(text.get_in_layout() for text in measured.get_yticklabels()) == 1
    for text in (*measured.texts, *measured.get_yticklabels()):
        text.set_in_layout(True)
    content = StringIO()
    with plt.rc_context({"svg.hashsalt": "perfarray", "svg.fonttype": "none"}):
        measured.figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    assert content.getvalue() == saved


def test_titles_break_outside_of_short_brackets():
    """A line ends before a bracket of a few letters, not in it, and never before a percent sign;
    a long bracket may break."""
    title_parts = ["significant in 1 of 6 of the mean (1 to 64 %)", "5 of 6 of the median (36 %)"]
    for width in np.arange(2.0, 7.0, 0.1):
        ax = describe(plt.subplots(figsize=(width, 2))[1], [*title_parts, "all 84 % [70, 91]"])
        for line in ax.get_title(loc="left").split("\n"):
            assert line.count("(") == line.count(")")
            assert not line.startswith("%")
        plt.close("all")
    ax = describe(plt.subplots(figsize=(2, 2))[1], ["clusters (largest mean silhouette of all)"])
    assert "\n" in ax.get_title(loc="left").partition("(")[2]


@pytest.mark.parametrize("units", ["s", "1", "pages"])
def test_ticks_are_written_in_full(units):
    """A tick at 1.0015 s is not called 1.002 s."""
    ax = plt.subplots()[1]
    ax.set_xlim(0.9965, 1.002)
    write_units(ax.xaxis, units)
    ax.figure.draw_without_rendering()
    written = [float(label.get_text().split(" ")[0]) for label in ax.get_xticklabels()]
    np.testing.assert_allclose(written, ax.get_xticks(), rtol=1e-12)

"""Rows: labels, groups, shortening, sizes."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.textpath import TextPath

import perfarray
from perfarray.plots.figure import level_colours, number_format, selection, shortened, text_width
from perfarray.plots.rows import GAP, RowFrame, rows_of, shown_rows


def cells(**labels):
    """Return an array with these dims and labels."""
    return xr.DataArray(np.zeros([len(names) for names in labels.values()]), dims=list(labels), coords=labels)


def test_one_dim_gives_one_row_each():
    """One varying dim: its labels, one below the other, no groups."""
    rows = rows_of(cells(benchmark=["fft", "sort"], version=["new"]))
    assert [(row.label, row.group, row.y) for row in rows] == [("fft", "", 0.0), ("sort", "", 1.0)]
    assert rows[1].cell == {"benchmark": 1, "version": 0}


def test_two_dims_give_groups_by_benchmark():
    """Two varying dims: a benchmark is a group, wherever its dim stands; groups have room between them."""
    rows = rows_of(cells(version=["a", "b"], benchmark=["fft", "sort"]))
    assert [(row.group, row.label) for row in rows] == [("fft", "a"), ("fft", "b"), ("sort", "a"), ("sort", "b")]
    assert [row.y for row in rows] == [0, 1, 2 + GAP, 3 + GAP]


def test_three_dims_join_in_the_label():
    """What is not the group stands in the label."""
    rows = rows_of(cells(benchmark=["fft", "sort"], compiler=["gcc", "clang"], flags=["O2", "O3"]))
    assert rows[1].label == "gcc, O3"


def test_a_single_cell_names_itself():
    """One cell: all its labels; no dims, one row without a label."""
    assert [row.label for row in rows_of(cells(benchmark=["fft"], version=["new"]))] == ["fft, new"]
    assert [row.label for row in rows_of(xr.DataArray(1.0))] == [""]


def test_numbers_and_tuples_are_readable():
    """A number says of what; a label of several parts is joined."""
    assert [row.label for row in rows_of(cells(machine=[0, 1]))] == ["machine 0", "machine 1"]
    stacked = cells(benchmark=["fft"], flags=["O2", "O3"]).stack(cell=("benchmark", "flags"))
    assert [row.label for row in rows_of(stacked)] == ["fft, O2", "fft, O3"]


def test_figures_grow_with_rows_and_labels():
    """Sixty rows are three times as legible as in a fixed height; long labels make it wider."""
    few, many = (RowFrame(None, rows_of(cells(benchmark=[f"b{i}" for i in range(n)]))).ax.figure.get_size_inches() for n in (3, 60))
    assert many[1] - few[1] == pytest.approx(57 * 0.25)
    assert RowFrame(None, rows_of(cells(benchmark=["b" * 40, "c"]))).ax.figure.get_figwidth() > few[0] + 2


def test_more_rows_than_fit_show_the_extremes():
    """The lowest and the highest, in that order, under their whole names; what is not measured goes first; a suite takes a third."""
    number = cells(benchmark=[f"b{i}" for i in range(50)], version=["a", "b"])
    number = number.copy(data=np.where(np.arange(100.0) < 5, np.nan, -np.arange(100.0)).reshape(50, 2))
    rows, left_out = shown_rows(number, "change")
    assert left_out == ["60 of 100: lowest and highest change"]
    assert [rows[0].label, rows[29].label, rows[30].label, rows[-1].label] == ["b49, b", "b35, a", "b17, a", "b2, b"]
    assert [float(number.isel(rows[place].cell)) for place in (0, -1)] == [-99, -5]
    assert rows[30].y == rows[29].y + 1 + GAP
    assert shown_rows(number.isel(version=0), "change") == (rows_of(number.isel(version=0)), [])
    assert shown_rows(number.where(number > -20), "change")[1] == ["15 of 100: those measured"]
    assert len(shown_rows(number, "change", share=3)[0]) == 20


def test_long_labels_are_shortened_in_the_middle():
    """Beginning and end stay; short ones are left alone."""
    short, long = shortened(["fft", "beginning" + "x" * 50 + "end"])
    assert short == "fft"
    assert len(long) == 40
    assert long.startswith("beginning")
    assert long.endswith("end")
    assert "…" in long


def test_words_that_many_share_go_before_model_numbers():
    """Of long labels the words that most others have are left out first; what has digits, or stands once, stays."""
    labels = [f"Intel_Xeon_Scalable_Processor_Platinum_{model}C_Cloud_Instance" for model in (8576, 8581)] + ["AMD_EPYC_9755"]
    found = shortened(labels, 24)
    assert found[2] == "AMD_EPYC_9755"
    assert ["8576C" in found[0], "8581C" in found[1]] == [True, True]
    assert max(map(len, found)) <= 24
    cores = [f"Intel_Core_i9-14900K_{kind}-Core" for kind in "PE"]
    assert [text[-6:] for text in shortened(cores, 20)] == ["P-Core", "E-Core"]


@pytest.mark.parametrize("place", [5, 25, 50, 74])
def test_shortened_labels_stay_different(place):
    """Wherever two labels differ, they still do."""
    labels = ["x" * place + letter + "x" * (80 - place) for letter in "ab"]
    found = shortened(labels)
    assert len(set(found)) == 2
    assert max(len(text) for text in found) <= 60


def test_labels_that_cannot_be_shortened_are_left():
    """Differences at both ends and the middle: whole labels."""
    labels = ["x" * i + "a" + "x" * (300 - i) for i in range(0, 300, 10)]
    assert shortened(labels) == labels


def test_levels_keep_their_colours():
    """A level has the same colour with and without the others; levels of other names differ from them."""
    assert level_colours(["execution", "iteration"])["execution"] == level_colours(["binary", "execution"])["execution"]
    assert len(set(level_colours(["machine", "binary", "session", "execution", "iteration"]).values())) == 5


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


def test_selection_names_what_was_selected():
    """Dims of size one and selected labels; not what every file carries along, not repetitions of size one."""
    array = cells(benchmark=["fft", "sort"], version=["new"], iteration=[0]).assign_coords(machine="martha", flags="O2", execution=3)
    assert selection(array) == ["new", "O2", "execution 3"]


def test_dollars_are_no_formula():
    """Between the two dollars of an inner class matplotlib would set mathematics: they are escaped, in labels and titles."""
    rows = rows_of(cells(benchmark=["Outer$Inner$run", "fft"]))
    assert [row.label for row in rows] == [r"Outer\$Inner\$run", "fft"]
    times = perfarray.from_samples({"old$1": [10.0, 10.1, 9.9], "new$2": [9.0, 9.1, 8.9]})
    ax = times.perf.compare("old$1").perf.plot()
    assert ax.get_title(loc="left") == r"new\$2 compared with old\$1"


def test_widths_are_those_of_the_font():
    """The measured width is that of the drawn letters, but for the space beside the outermost."""
    for text in ("500.perlbench_r", "+12.3 %", "AMD_EPYC_7742"):
        drawn = float(np.ptp(TextPath((0, 0), text, size=9).get_extents().intervalx))
        assert text_width([f"i\n{text}", "i"], 9) == pytest.approx(drawn, abs=2)


def test_a_title_stays_clear_of_the_column_header():
    """Without a legend, a title that is longer than the axes stands above the header of the column beside the rows."""
    machines = {f"machine_{number}": [1.0 + number, 1.1 + number, 1.2 + number] for number in range(3)}
    times = perfarray.from_samples(machines, dim="machine")
    ax = times.perf.score_ratio_interval("machine_0").perf.plot()
    ax.figure.draw_without_rendering()
    (header,) = (text for text in ax.texts if text.get_gid() == "header")
    assert ax.get_legend() is None
    assert ax._left_title.get_window_extent().y0 >= header.get_window_extent().y1

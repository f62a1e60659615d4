"""Run sequences: order, executions, marks, messages."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import perfarray  # noqa: F401  (registers .perf)
from perfarray.plots.diagnostics.sequences import ALTERNATING
from picture_parts import columns, legend, rows, title


def run_sequence(times, **keywords):
    """Draw measurements in their order."""
    return times.perf.plot.run_sequence(**keywords)


def timings(values, dims=("execution", "iteration"), **coords):
    """Return timings in seconds."""
    return xr.DataArray(np.asarray(values, float), dims=dims, coords=coords, name="time", attrs={"units": "s"})


def drawn(ax, gid="values"):
    """Return the heights of every line of a kind."""
    return [line.get_ydata().tolist() for line in ax.lines if line.get_gid() == gid]


def labels(ax):
    """Return what stands under the horizontal axis."""
    return columns(ax)


def test_one_line_per_execution_in_order():
    """Executions stand side by side, iterations inside from left to right."""
    ax = run_sequence(timings([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert drawn(ax) == [[1, 2], [3, 4], [5, 6]]
    positions = np.concatenate([line.get_xdata() for line in ax.lines if line.get_gid() == "values"])
    assert (np.diff(positions) > 0).all()
    assert labels(ax) == ["0", "1", "2"]
    assert [line.split()[place] for line, place in zip(ax.get_xlabel().splitlines(), (0, -1), strict=True)] == ["execution,", "iterations"]


def test_order_of_dims_changes_nothing():
    """Iterations stay inside executions."""
    times = timings([[1.0, 2.0], [3.0, 4.0]])
    assert drawn(run_sequence(times.transpose())) == drawn(run_sequence(times))


def test_a_single_level_is_one_line():
    """Executions alone: one line over their numbers."""
    ax = run_sequence(timings([1.0, 3.0, 2.0], dims="execution"))
    assert drawn(ax) == [[1, 3, 2]]
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2]
    assert ax.get_xlabel() == "execution, in the order measured"


def test_warmup_is_drawn_apart():
    """Marked values are hollow and grey, not part of the coloured line or of the mean; one legend entry."""
    warmup = ("execution", "iteration"), [[True, False, False], [True, False, False]]
    ax = run_sequence(timings([[9.0, 1.0, 2.0], [8.0, 3.0, 4.0]], warmup=warmup))
    assert drawn(ax) == [[9, 1, 2], [8, 3, 4]]
    np.testing.assert_equal(drawn(ax, "counted"), [[np.nan, 1, 2], [np.nan, 3, 4]])
    assert drawn(ax, "warmup") == [[9], [8]]
    assert {line.get_markerfacecolor() for line in ax.lines if line.get_gid() == "warmup"} == {"white"}
    assert legend(ax) == ["warmup (left out)"]
    means = [lines.get_segments()[0].tolist() for lines in ax.collections]
    assert means == [[[1, 1.5], [2, 1.5]], [[5, 3.5], [6, 3.5]]]


def test_marks_broadcast_and_others_are_crosses():
    """A mark along one dim holds for all; `failed` values are crosses."""
    times = timings([[9.0, 1.0], [8.0, 3.0]], warmup=("iteration", [True, False]), failed=("execution", [False, True]))
    ax = run_sequence(times)
    assert drawn(ax, "warmup") == [[9], [8]]
    assert drawn(ax, "failed") == [[8, 3]]
    assert {line.get_marker() for line in ax.lines if line.get_gid() == "failed"} == {"x"}
    assert len(ax.get_legend().get_texts()) == 2


def test_without_marks_no_legend():
    """A coordinate that marks nothing says nothing."""
    assert run_sequence(timings([[1.0, 2.0]], warmup=("iteration", [False, False]))).get_legend() is None


def test_padding_is_not_drawn():
    """Ragged executions end where they end; one without values takes no room; a hole inside stays a hole."""
    ax = run_sequence(timings([[1.0, np.nan, 2.0], [np.nan] * 3, [3.0, np.nan, np.nan]]))
    np.testing.assert_equal(drawn(ax), [[1, np.nan, 2], [3]])
    assert labels(ax) == ["0", "2"]


def test_many_executions_are_sampled_evenly():
    """Of 41 executions 5: first, last, and evenly between; the title counts."""
    ax = run_sequence(timings(np.arange(1, 83).reshape(41, 2)), max_lines=5)
    assert labels(ax) == ["0", "10", "20", "30", "40"]
    assert title(ax) == "5 of 41 executions"


def test_builds_alternate_in_colour():
    """Executions of one build share a colour, the next build has the other; labels name both."""
    ax = run_sequence(timings(np.arange(1, 9).reshape(2, 2, 2), dims=("binary", "execution", "iteration")))
    colours = [line.get_color() for line in ax.lines if line.get_gid() == "counted"]
    assert colours == [ALTERNATING[0]] * 2 + [ALTERNATING[1]] * 2
    assert labels(ax) == ["0/0", "0/1", "1/0", "1/1"]
    assert ax.get_xlabel().startswith("binary / execution, ")


def test_crowded_labels_stand_upright():
    """In narrow Axes, or with many executions, labels do not run into each other."""
    times = timings(np.arange(1, 41).reshape(20, 2))
    assert {text.get_rotation() for text in run_sequence(times).get_xticklabels()} == {0}
    _, axes = plt.subplots(1, 3)
    assert {text.get_rotation() for text in run_sequence(times, ax=axes[1]).get_xticklabels()} == {90}


def test_title_and_units():
    """The cell is in the title, the metric and its units on the vertical axis."""
    times = timings([[0.001, 0.002]]).expand_dims(benchmark=["fft"]).assign_coords(flags="O2")
    ax = run_sequence(times)
    ax.figure.canvas.draw()
    assert title(ax) == "fft, O2"
    assert ax.get_ylabel() == "time"
    assert "1 ms" in rows(ax)


def test_very_many_values_are_lines_only():
    """Points would hide each other."""
    few, many = (run_sequence(timings(np.ones((2, n)))).lines[1].get_marker() for n in (10, 2000))
    assert (few, many) == ("o", "")


def test_axes_given_are_used():
    """Everything is in them."""
    _, ax = plt.subplots()
    assert run_sequence(timings([[1.0, 2.0]]), ax=ax) is ax
    assert len(plt.get_fignums()) == 1


def test_several_cells_are_refused():
    """The message names the dims and shows a selection that works."""
    times = timings(np.ones((2, 3, 4)), dims=("benchmark", "flags", "iteration"), benchmark=["fft", "sort"], flags=["O1", "O2", "O3"])
    with pytest.raises(ValueError, match=r"along benchmark \(2\), flags \(3\): select one, as in \.sel\(benchmark='fft', flags='O1'\)"):
        run_sequence(times)
    assert run_sequence(times.sel(benchmark="fft", flags="O1"))


def test_no_repetition_is_refused():
    """Scores have no run sequence."""
    with pytest.raises(ValueError, match=r"no repetition level: the array has dims \('machine',\)"):
        run_sequence(xr.DataArray([1.0], dims="machine"))


def test_no_values_are_refused():
    """Nothing to draw is said."""
    with pytest.raises(ValueError, match="every value is NaN"):
        run_sequence(timings([[np.nan, np.nan]]))


def test_max_lines_is_positive():
    """None, or a negative number, draws nothing."""
    with pytest.raises(ValueError, match="max_lines must be 1 or more, got 0"):
        run_sequence(timings([[1.0]]), max_lines=0)

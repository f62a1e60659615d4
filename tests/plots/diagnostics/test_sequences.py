"""Run sequences and kinds of executions: order, marks, segments, messages."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import perfarray  # noqa: F401  (registers .perf)
from perfarray.plots.diagnostics.sequences import ALTERNATING
from picture_parts import columns, legend, lines, rows, texts, title


def run_sequence(times, **keywords):
    return times.perf.plot.run_sequence(**keywords)


def timings(values, dims=("execution", "iteration"), **coords):
    return xr.DataArray(np.asarray(values, float), coords, dims, "time", {"units": "s"})


def points_of(ax, kind="values"):
    return [line.get_ydata().tolist() for line in lines(ax, kind)]


def test_executions_stand_side_by_side_in_order():
    """One line each, iterations inside from left to right, whatever the order of dims; executions
    alone are one line."""
    times = timings([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ax = run_sequence(times)
    assert points_of(ax) == points_of(run_sequence(times.transpose())) == [[1, 2], [3, 4], [5, 6]]
    assert (np.diff(np.concatenate([line.get_xdata() for line in lines(ax, "values")])) > 0).all()
    assert columns(ax) == ["0", "1", "2"]
    assert ax.get_xlabel() == "execution, in the order measured\ninside each its iterations"
    ax = run_sequence(timings([1.0, 3.0, 2.0], dims=["execution"]))
    assert (points_of(ax), ax.lines[0].get_xdata().tolist()) == ([[1, 3, 2]], [0, 1, 2])
    assert ax.get_xlabel() == "execution, in the order measured"


def test_warmup_is_hollow_and_does_not_count():
    """Marked values are grey, not part of the coloured line or of the mean; one legend entry."""
    warmup = ("execution", "iteration"), [[True, False, False], [True, False, False]]
    ax = run_sequence(timings([[9.0, 1.0, 2.0], [8.0, 3.0, 4.0]], warmup=warmup))
    assert points_of(ax) == [[9, 1, 2], [8, 3, 4]]
    np.testing.assert_equal(points_of(ax, "counted"), [[np.nan, 1, 2], [np.nan, 3, 4]])
    assert points_of(ax, "warmup") == [[9], [8]]
    assert {line.get_markerfacecolor() for line in lines(ax, "warmup")} == {"white"}
    assert legend(ax) == ["warmup (left out)"]
    means = [strokes.get_segments()[0].tolist() for strokes in ax.collections]
    assert means == [[[1, 1.5], [2, 1.5]], [[5, 3.5], [6, 3.5]]]


def test_marks_broadcast_and_others_are_crosses():
    """A mark along one dim holds for all; `failed` values are crosses; what marks nothing has no
    entry in the legend."""
    ax = run_sequence(
        timings(
            [[9.0, 1.0], [8.0, 3.0]],
            warmup=("iteration", [True, False]),
            failed=("execution", [False, True]),
        )
    )
    assert (points_of(ax, "warmup"), points_of(ax, "failed")) == ([[9], [8]], [[8, 3]])
    assert {line.get_marker() for line in lines(ax, "failed")} == {"x"}
    assert len(legend(ax)) == 2
    assert legend(run_sequence(timings([[1.0, 2.0]], warmup=("iteration", [False, False])))) == []


def test_padding_is_not_drawn():
    """Ragged executions end where they end; one without values takes no room; a hole inside stays a
    hole."""
    ax = run_sequence(timings([[1.0, np.nan, 2.0], [np.nan] * 3, [3.0, np.nan, np.nan]]))
    np.testing.assert_equal(points_of(ax), [[1, np.nan, 2], [3]])
    assert columns(ax) == ["0", "2"]


def test_many_executions_are_sampled_evenly():
    """Of 41 executions 5: first, last, and evenly between; the title counts. Very many values are
    lines without points."""
    ax = run_sequence(timings(np.arange(1, 83).reshape(41, 2)), max_lines=5)
    assert columns(ax) == ["0", "10", "20", "30", "40"]
    assert title(ax) == "5 of 41 executions"
    assert [
        run_sequence(timings(np.ones((2, number)))).lines[1].get_marker() for number in (10, 2000)
    ] == ["o", ""]


def test_builds_alternate_in_colour():
    """Executions of one build share a colour, the next build has the other; labels name both."""
    ax = run_sequence(
        timings(np.arange(1, 9).reshape(2, 2, 2), dims=("binary", "execution", "iteration"))
    )
    assert [line.get_color() for line in lines(ax, "counted")] == [ALTERNATING[0]] * 2 + [
        ALTERNATING[1]
    ] * 2
    assert columns(ax) == ["0/0", "0/1", "1/0", "1/1"]
    assert ax.get_xlabel().startswith("binary / execution, ")


def test_crowded_labels_stand_upright():
    """In narrow Axes, or with many executions, labels do not run into each other."""
    times = timings(np.arange(1, 41).reshape(20, 2))
    assert {text.get_rotation() for text in run_sequence(times).get_xticklabels()} == {0}
    assert {
        text.get_rotation()
        for text in run_sequence(times, ax=plt.subplots(1, 3)[1][1]).get_xticklabels()
    } == {90}


def test_title_and_units():
    """The cell is in the title, the metric and its units on the vertical axis."""
    ax = run_sequence(
        timings([[0.001, 0.002]]).expand_dims(benchmark=["fft"]).assign_coords(flags="O2")
    )
    ax.figure.canvas.draw()
    assert (title(ax), ax.get_ylabel(), "1 ms" in rows(ax)) == ("fft, O2", "time", True)


CELLS = timings(
    np.ones((2, 3, 4)),
    dims=("benchmark", "flags", "iteration"),
    benchmark=["fft", "sort"],
    flags=["O1", "O2", "O3"],
)


@pytest.mark.parametrize(
    ("times", "keywords", "message"),
    [
        (
            CELLS,
            {},
            r"along benchmark \(2\), flags \(3\): select one, "
            r"as in \.sel\(benchmark='fft', flags='O1'\)",
        ),
        (
            xr.DataArray([1.0], dims="machine"),
            {},
            r"no repetition level: none of the dims \('machine',\)",
        ),
        (timings([[np.nan, np.nan]]), {}, "every value is NaN"),
        (timings([[1.0]]), {"max_lines": 0}, "max_lines must be 1 or more, got 0"),
    ],
)
def test_what_cannot_be_drawn(times, keywords, message):
    """Several cells, with a selection that works; scores; no values; no lines."""
    with pytest.raises(ValueError, match=message):
        run_sequence(times, **keywords)
    assert run_sequence(CELLS.sel(benchmark="fft", flags="O1"))


def steadiness(cells=1):
    """Return benchmarks with three executions each: flat, warm-up, and no steady state."""
    iteration = np.arange(60)
    levels = 1.0 + np.array([iteration < 0, iteration < 9, iteration >= 50])
    noise = 1 + 0.01 * np.random.default_rng(1).normal(size=(cells, 3, 60))
    return timings(
        levels * noise,
        dims=("benchmark", "execution", "iteration"),
        benchmark=[f"b{number}" for number in range(cells)],
    )


@pytest.mark.filterwarnings("ignore:.*no steady state:UserWarning")
@pytest.mark.parametrize("cells", [1, 9])
def test_kinds_of_executions_add_up(cells):
    """Every row is as long as there are executions; the legend names the kinds that occur."""
    ax = steadiness(cells).perf.steady_state().perf.plot()
    assert legend(ax) == ["flat", "warmup", "no steady state"]
    assert [[bar.get_width() for bar in bars] for bars in ax.containers] == [[1] * cells] * 3
    assert texts(ax) == ["1"] * 3 * cells


def test_small_shares_are_not_written_into_the_bars():
    """One of fourteen executions has no room for its number."""
    kinds = {
        "kind": (("benchmark", "execution"), [["warmup", *["flat"] * 13]]),
        "kind_of_all": ("benchmark", ["flat"]),
    }
    ax = xr.Dataset(
        kinds, {"benchmark": ["fft"]}, attrs={"result": "steady_state", "dim": "iteration"}
    ).perf.plot()
    assert [text for text in texts(ax) if text] == ["13"]


def test_segments_and_starts():
    """A stroke for each segment, warm-up hollow, and a line where it ends; where nothing is steady
    there is none."""
    ax = run_sequence(steadiness()[0], steady=True)
    strokes = [stroke for stroke in ax.collections if stroke.get_gid() == "mean"]
    assert [round(stroke.get_segments()[0][0, 1]) for stroke in strokes] == [1, 2, 1, 1, 2]
    second = lines(ax, "values")[1].get_xdata()
    assert [line.get_xdata()[0] for line in lines(ax, "start")] == [second[9] - 0.5]
    assert sum(len(line.get_xdata()) for line in lines(ax, "warmup")) == 9

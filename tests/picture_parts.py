"""What tests read off a picture: texts, points and lines, from the first row or label on."""

import numpy as np

import perfarray


def simulated(executions, iterations=None, **dims):
    """Return times near a second that vary by 1 % between executions, and inside them."""
    sizes = {"execution": executions} | ({"iteration": iterations} if iterations else {})
    return perfarray.simulate(sizes=sizes, variances=dict.fromkeys(sizes, 1e-4), dims=dims, rng=1)[
        "time"
    ]


def title(ax):
    """Return the title in one line."""
    return ax.get_title(loc="left").replace("\n", " ")


def rows(ax):
    """Return the labels of the rows, or of the ticks of the vertical axis."""
    return [label.get_text() for label in ax.get_yticklabels()]


def columns(ax):
    """Return the labels of the ticks of the horizontal axis."""
    return [label.get_text() for label in ax.get_xticklabels()]


def legend(ax):
    """Return the entries of the legend; none where there is none."""
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def texts(ax, kind=None):
    """Return the texts inside the axes and right of the rows: all, or those of a kind such as
    beside, group or change."""
    return [text.get_text() for text in ax.texts if kind in (None, text.get_gid())]


def side_texts(ax):
    """Return the texts right of the rows."""
    return texts(ax, "beside")


def lines(ax, kind="estimates"):
    """Return the lines of a kind."""
    return [line for line in ax.lines if line.get_gid() == kind]


def points(ax, label=None, kind="estimates"):
    """Return the places of points along the horizontal axis, from the first row down: of an entry
    of the legend, or of a kind."""
    point_lines = [
        line
        for line in ax.lines
        if (line.get_label() == label if label else line.get_gid() == kind)
    ]
    x_by_y = {y: x for line in point_lines for x, y in zip(*line.get_data(), strict=True)}
    return [x_by_y[y] for y in sorted(x_by_y)]


def heights(ax, label):
    """Return the heights of the line with a label."""
    return next(line.get_ydata() for line in ax.lines if line.get_label() == label)


def segments(ax, label=None, axis=0):
    """Return the ends, along an axis, of the strokes in the collections, or in those with a
    label."""
    collections = [
        strokes
        for strokes in ax.collections
        if label in (None, strokes.get_label()) and hasattr(strokes, "get_segments")
    ]
    ends = [segment for strokes in collections for segment in strokes.get_segments()]
    return [segment[:, axis].tolist() for segment in ends if segment.size]  # one of NaN is empty


def bars(ax):
    """Return the heights of the bars of the first histogram of rows, the highest 1."""
    values, _, foot = ax.patches[0].get_data()
    return (foot - values) / (foot - values).max()


def histogram(array, bins=40):
    """Return how many values lie in each bin, the most 1."""
    counts = np.histogram(array, bins)[0]
    return counts / counts.max()

"""A picture as text."""

from io import StringIO

import matplotlib.pyplot as plt
from matplotlib.axes import Axes


def svg(ax: Axes) -> str:
    """Return the figure of some Axes as SVG, and close it; the same picture is the same text."""
    figure, text = ax.get_figure(root=True), StringIO()
    assert figure is not None
    with plt.rc_context({"svg.hashsalt": "perfarray"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return text.getvalue()

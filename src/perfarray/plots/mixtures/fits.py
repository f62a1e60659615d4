"""Mixtures and the runs they were fitted to: densities over histograms, distributions over steps."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, GREY, NOTE_SIZE, axes_for, describe, selection, text_width
from perfarray.plots.mixtures.places import write_density, write_places

TALLEST: Final = 3.0
"""Height at which a narrow peak is cut, where there are runs, in heights of the tallest bar."""

WORDS: Final = {"weibull": "Weibull", "pareto": "Pareto", "extreme": "extreme-value"}
"""What families are called that are not called by their names."""

LINE: Final = 11.0
"""Height in points of a line of text."""


def mixture(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw a mixture: its density and those of its components over a histogram of the runs, or its distribution over theirs.

    Parameters
    ----------
    curves : Dataset
        What `mixtures.curves.mixture_curves` gives; the attr `kind` says which picture.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        In the picture of densities a tick stands for every run, and peaks more than three times as high as the tallest bar are cut
        there, with their height beside them.
        In that of distributions the largest distance is Kolmogorov's and Smirnov's, which takes both sides of a step.
        Of metrics fitted together it is a picture of the first two: ellipses that hold 50 and 95 % of every component, and the runs in the
        colour of the component they most probably come from.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    >>> ax = times.perf.fit_mixture().plot(times=times)
    >>> ax.get_title(loc="left")
    'Mixture of 2 components, old, 6 runs: modes may be chance'
    >>> plt.close(ax.figure)
    """
    ax = axes_for(ax, (7.5, 4.5))
    if curves.attrs["kind"] == "contours":
        return _draw_contours(ax, curves)
    number = int(curves["n_components"].values.item())
    density = curves.attrs["kind"] == "density"
    (_draw_densities if density else _draw_distributions)(ax, curves)
    write_places(ax, "x", str(curves.attrs.get("metric", "time")), str(curves.attrs["units"]))
    family = str(curves.attrs["family"])
    fitted = f"Mixture of {number} {'' if family == 'normal' else WORDS.get(family, family) + ' '}component{'s' * (number > 1)}"
    described = fitted if density else "Distribution of the runs and of the mixture"
    describe(ax, ", ".join([described, *selection(curves["n_components"]), *_doubt(curves, number)]))
    return ax


def _draw_densities(ax: Axes, curves: xr.Dataset) -> None:
    """Draw bars and ticks of the runs, dashed components, and their sum."""
    top = np.inf
    if "run" in curves:
        edges, height = curves["edges"].values, curves["height"].values
        top = TALLEST * height.max()
        ax.bar(edges[:-1], height, np.diff(edges), align="edge", color=GREY, alpha=0.35, label="runs", linewidth=0)
        ax.plot(curves["run"], np.full(curves.sizes["run"], 0.018), "|", color=DARK, markersize=7, transform=ax.get_xaxis_transform())
    for number, bell in enumerate(curves["component_density"].values):
        ax.plot(
            curves["x"], bell, color=COLOURS[2 + number % (len(COLOURS) - 2)], linewidth=1.1, linestyle="--", label="components", zorder=3
        )
    if curves.sizes["component"]:
        ax.plot(curves["x"], curves["density"], color=COLOURS[0], linewidth=1.8, label="mixture")
    for point in curves["constant"].values:
        ax.axvline(point, color=COLOURS[0], linewidth=1.8, label="mixture (constant)")
    write_density(ax, str(curves.attrs["units"]))
    _cut_peaks(ax, curves, top)


def _draw_contours(ax: Axes, curves: xr.Dataset) -> Axes:
    """Draw ellipses that hold shares of every component, and runs in the colours of their components."""
    number = int(curves["n_components"].values.item())
    probabilities = [float(share) for share in curves["probability"]]
    for index, contours in enumerate(curves["contour"].values):
        colour = COLOURS[2 + index % (len(COLOURS) - 2)]
        if "run" in curves:
            points = curves["run"].values[curves["assigned"].values == index + 1]
            ax.plot(*points.T, ".", color=colour, markersize=5, alpha=0.6, linewidth=0, label="runs")
        for share, line, style in zip(probabilities, contours, ("-", "--"), strict=True):
            ax.plot(*line, color=colour, linestyle=style, linewidth=1.3, label=f"{100 * share:.0f} % of a component")
        ax.plot(*curves["center"].values[index], "+", color=DARK, markersize=8, zorder=4, label="mean of a component")
    for axis_name, name, units in zip("xy", curves["metric"].values, curves["units"].values, strict=True):
        write_places(ax, axis_name, str(name), str(units))
    names = " and ".join(str(name) for name in curves["metric"].values)
    described = f"Mixture of {number} component{'s' * (number > 1)} of {names}"
    describe(ax, ", ".join([described, *selection(curves["n_components"]), *_doubt(curves, number)]))
    return ax


def _cut_peaks(ax: Axes, curves: xr.Dataset, top: float) -> None:
    """End the axis where a component's peak would press all else to the floor, and write how high it goes."""
    cut = sorted((float(curves["x"].values[bell.argmax()]), bell.max()) for bell in curves["component_density"].values if bell.max() > top)
    if not cut:
        return
    ax.set_ylim(0, top)
    format_number = ax.yaxis.get_major_formatter()
    texts = [f"cut: goes up to {format_number(float(f'{height:.3g}'), None)}" for _, height in cut]
    first, last = ax.get_xlim()
    points = 72 * ax.get_window_extent().width / ax.figure.dpi / (last - first)
    ends: list[float] = []  # of the text in each line, in points
    for (position, _), text in zip(cut, texts, strict=True):
        start, width = points * (position - first), text_width([text], NOTE_SIZE) + 12
        turned = start + width > points * (last - first)  # at the right border it stands left of its peak
        start -= width * turned
        line = next((number for number, end in enumerate(ends) if end <= start), len(ends))
        ends[line : line + 1] = [start + width]
        ax.annotate(
            text, (position, 1), (-6 if turned else 6, -2 - LINE * line), ("data", "axes fraction"), textcoords="offset points", va="top",
            ha="right" if turned else "left", fontsize=NOTE_SIZE, color=DARK, gid="cut",
        )  # fmt: skip


def _draw_distributions(ax: Axes, curves: xr.Dataset) -> None:
    """Draw the steps of the runs, the curve of the mixture, and where they lie farthest apart."""
    x, step, fitted = curves["x"].values, float(curves["gap_step"]), float(curves["gap_fitted"])
    positions = np.r_[x[0], curves["run"].values, x[-1]]
    ax.step(positions, np.r_[0.0, curves["reached"].values, 1.0], where="post", color=DARK, linewidth=1.1, label="runs")
    ax.plot(x, curves["distribution"], color=COLOURS[0], linewidth=1.8, label="mixture")
    farthest = f"largest distance {round(abs(fitted - step), 12):.3g}"
    ax.vlines(float(curves["gap_at"]), min(step, fitted), max(step, fitted), color=COLOURS[5], linewidth=3, label=farthest)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("share of the runs up to here")


def _doubt(curves: xr.Dataset, components: int) -> list[str]:
    """Return what there is to say where a fit rests on so few runs that its modes may be chance."""
    few = "n" in curves and components > 1 and curves["n"].values.item() < curves.attrs.get("few_runs", 0)
    return [f"{curves['n'].values.item():.0f} runs: modes may be chance"] if few else []

"""Mixtures and the runs they were fitted to: densities, distributions, and ellipses."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import (
    COLOURS,
    DARK,
    GREY,
    NOTE_SIZE,
    axes_for,
    describe,
    selection,
    text_width,
)
from perfarray.plots.mixtures.runs import write_density, write_values

HIGHEST: Final = 3.0  # where there are runs, peaks are cut at so many heights of the tallest bar
FAMILIES: Final = {
    "normal": "",
    "weibull": "Weibull ",
    "pareto": "Pareto ",
    "extreme": "extreme-value ",
}
LINE: Final = 11.0  # height of a line of text, in points
COMPONENT_COLOURS: Final = COLOURS[2:]


def mixture(curves: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Draw a mixture over its runs: densities over a histogram, or both distributions.

    Returns
    -------
    Axes
        In the picture of densities each run has a tick, and peaks more than three times as high as
        the tallest bar are cut there, with their height beside them. In that of distributions the
        largest distance is the Kolmogorov-Smirnov distance, which takes both sides of a step. Of
        metrics fitted together it is a picture of the first two: ellipses that contain 50 and 95 %
        of every component, and the runs in the colour of their most probable component.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2]})
    >>> ax = times.perf.fit_mixture().plot(times=times)
    >>> ax.get_title(loc="left")
    'Mixture of 2 components, old, 6 runs: modes may be chance'
    """
    ax = axes_for(ax, (6.5, 4.0))
    kind, number, family = (
        curves.attrs["kind"],
        int(curves["n_components"].values.item()),
        str(curves.attrs.get("family", "normal")),
    )
    if kind == "contours":
        _draw_contours(ax, curves)
        fitted = (
            f"component{'s' * (number > 1)} of {' and '.join(map(str, curves['metric'].values))}"
        )
    else:
        (_draw_densities if kind == "density" else _draw_distributions)(ax, curves)
        write_values(ax, "x", str(curves.attrs.get("metric", "time")), str(curves.attrs["units"]))
        fitted = f"{FAMILIES.get(family, family + ' ')}component{'s' * (number > 1)}"
    title = (
        "Distribution of the runs and of the mixture"
        if kind == "cdf"
        else f"Mixture of {number} {fitted}"
    )
    is_small = (
        "n" in curves and number > 1 and curves["n"].values.item() < curves.attrs.get("few_runs", 0)
    )
    doubt = [f"{curves['n'].values.item():.0f} runs: modes may be chance"] if is_small else []
    return describe(ax, [title, *selection(curves["n_components"]), *doubt])


def _draw_densities(ax: Axes, curves: xr.Dataset) -> None:
    """Draw bars and ticks of the runs, dashed components, and their sum."""
    top = np.inf
    if "run" in curves:
        edges, height = curves["edges"].values, curves["height"].values
        top = HIGHEST * height.max()
        ax.bar(
            edges[:-1],
            height,
            np.diff(edges),
            align="edge",
            color=GREY,
            alpha=0.35,
            label="runs",
            linewidth=0,
        )
        ax.plot(
            curves["run"],
            np.full(curves.sizes["run"], 0.018),
            "|",
            color=DARK,
            markersize=7,
            transform=ax.get_xaxis_transform(),
        )
    for number, density in enumerate(curves["component_density"].values):
        colour = COMPONENT_COLOURS[number % len(COMPONENT_COLOURS)]
        ax.plot(
            curves["x"],
            density,
            color=colour,
            linewidth=1.1,
            linestyle="--",
            label="components",
            zorder=3,
        )
    if curves.sizes["component"]:
        ax.plot(curves["x"], curves["density"], color=COLOURS[0], linewidth=1.8, label="mixture")
    for point in curves["constant"].values:
        ax.axvline(point, color=COLOURS[0], linewidth=1.8, label="mixture (constant)")
    write_density(ax, str(curves.attrs["units"]))
    _cut_peaks(ax, curves, top)


def _cut_peaks(ax: Axes, curves: xr.Dataset, top: float) -> None:
    """Cut off the peak of a component that would make all else flat, and write its height."""
    densities = [density for density in curves["component_density"].values if density.max() > top]
    peaks = sorted(
        (float(curves["x"].values[density.argmax()]), density.max()) for density in densities
    )
    if not peaks:
        return
    ax.set_ylim(0, top)
    format_number = ax.yaxis.get_major_formatter()
    first, last = ax.get_xlim()
    points = 72 * ax.get_window_extent().width / ax.figure.dpi / (last - first)
    ends: list[float] = []  # of the text in each line, in points
    for x, height in peaks:
        text = f"cut: goes up to {format_number(float(f'{height:.3g}'), None)}"
        start, width = points * (x - first), text_width([text], NOTE_SIZE) + 12
        is_left = start + width > points * (
            last - first
        )  # at the right border the text is left of its peak
        start -= width * is_left
        line = next((number for number, end in enumerate(ends) if end <= start), len(ends))
        ends[line : line + 1] = [start + width]
        ax.annotate(
            text,
            (x, 1),
            (-6 if is_left else 6, -2 - LINE * line),
            ("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            ha="right" if is_left else "left",
            fontsize=NOTE_SIZE,
            color=DARK,
            gid="cut",
        )


def _draw_contours(ax: Axes, curves: xr.Dataset) -> None:
    """Draw ellipses with shares of every component, and runs in the colours of components."""
    for number, contours in enumerate(curves["contour"].values):
        colour = COMPONENT_COLOURS[number % len(COMPONENT_COLOURS)]
        if "run" in curves:
            points = curves["run"].values[curves["assigned"].values == number + 1]
            ax.plot(
                *points.T, ".", color=colour, markersize=5, alpha=0.6, linewidth=0, label="runs"
            )
        for share, line, style in zip(
            curves["probability"].values, contours, ("-", "--"), strict=True
        ):
            ax.plot(
                *line,
                color=colour,
                linestyle=style,
                linewidth=1.3,
                label=f"{100 * share:.0f} % of a component",
            )
        ax.plot(
            *curves["center"].values[number],
            "+",
            color=DARK,
            markersize=8,
            zorder=4,
            label="mean of a component",
        )
    for axis_name, metric, units in zip(
        "xy", curves["metric"].values, curves["units"].values, strict=True
    ):
        write_values(ax, axis_name, str(metric), str(units))


def _draw_distributions(ax: Axes, curves: xr.Dataset) -> None:
    """Draw the steps of the runs, the curve of the mixture, and where their distance is largest."""
    x, step, fitted = curves["x"].values, float(curves["gap_step"]), float(curves["gap_fitted"])
    positions = np.r_[x[0], curves["run"].values, x[-1]]
    ax.step(
        positions,
        np.r_[0.0, curves["reached"].values, 1.0],
        where="post",
        color=DARK,
        linewidth=1.1,
        label="runs",
    )
    ax.plot(x, curves["distribution"], color=COLOURS[0], linewidth=1.8, label="mixture")
    distance = f"largest distance {round(abs(fitted - step), 12):.3g}"
    ax.vlines(
        float(curves["gap_at"]),
        min(step, fitted),
        max(step, fitted),
        color=COLOURS[5],
        linewidth=3,
        label=distance,
    )
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("share of the runs up to here")

"""Principal components: samples as points, features as arrows, and the explained variance."""

from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import SUITE
from perfarray.plots.figure import (
    COLOURS,
    DARK,
    NOTE_SIZE,
    Floats,
    axes_for,
    check_choice,
    describe,
    selection,
    shortened,
)
from perfarray.plots.machines.point_names import Mark, write_names
from perfarray.plots.rows import largest_part

REACH: Final = 0.85  # length of the longest arrow, as a share of the distance of the farthest point
# a component with no larger share of the variance is rounding and not drawn: two machines differ in
# one direction
ROUNDING: Final = 1e-12
LONGEST: Final = 40  # letters of a name beside a point
WIDER: Final = 1.5  # width of a biplot in its heights: names need room beside points
HEIGHTS: Final = (7.0, 11.0)  # least and largest height of a biplot in inches; many names need room
# where scores reach so many times as far along the first axis, the second is stretched, and its
# label says so
FLAT: Final = 2.0
STRETCHED: Final = 20.0  # at most by this factor
CROWD: Final = 20  # more arrows are thin, since thick ones would hide what lies below them
THICK: Final = 0.03  # inches that the shaft of an arrow is thick
NAMED: Final = 3  # names without room that are written below; of more, their number
OUTLINE: Final = 61  # points of the outline of a region


def principal_components(
    result: xr.Dataset,
    ax: Axes | None = None,
    *,
    kind: str = "biplot",
    components: tuple[int, int] = (1, 2),
    regions: bool = False,
) -> Axes:
    """Draw a biplot, or a scree plot.

    Parameters
    ----------
    result : Dataset
        What `perfarray.principal_components` returned. Of several analyses (further dims) the one
        with most samples is drawn, and the title says so; select another.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : {"biplot", "scree"}
        Samples as points and features as arrows; or the share of the variance that each component
        explains.
    components : (int, int)
        The principal components along the two axes of a biplot.
    regions : bool
        Draw the confidence region of each sample, from the variation of its runs, as an ellipse;
        for results made with `n_resamples=`.

    Returns
    -------
    Axes
        Both axes have one scale, so that distances are those of the scores, unless the second
        component is so short that the picture would be a line: then the label of its axis says by
        which factor it is stretched. Arrows have a scale of their own: an arrow is the standard
        deviation of its feature along each component (loading times that of the component), so that
        arrows with the same direction are features that rise and fall together.

    Raises
    ------
    ValueError
        An unknown kind; components that are not there; regions of a result without them.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> labels = {"machine": [1, 2, 3], "benchmark": ["a", "b", "c"]}
    >>> table = xr.DataArray(np.eye(3), labels, dims=("machine", "benchmark"))
    >>> ax = principal_components(table.perf.principal_components(), kind="scree")
    >>> ax.get_ylabel()
    'share of the variance, percent'
    """
    check_choice("kind", kind, ("biplot", "scree"))
    result, left_out = _largest_analysis(result)
    suites = np.unique(result[SUITE].values.astype(str)).tolist() if SUITE in result.coords else []
    labels = dict.fromkeys([*(suites if len(suites) == 1 else ()), *selection(result)])
    title_parts = [*labels, *left_out]
    if regions and "region_radius" not in result:
        raise ValueError(
            "the result has no regions: give principal_components, or biplot, n_resamples=500"
        )
    return (
        _draw_scree(result, ax, title_parts)
        if kind == "scree"
        else _draw_biplot(result, ax, components, title_parts, regions)
    )


def _largest_analysis(result: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Return the analysis with most samples, without what it lacks, and what the title says."""
    extra = [
        str(dim) for dim in result["explained_variance_ratio"].dims if dim != "principal_component"
    ]
    samples, features = str(result.attrs["samples"]), str(result.attrs["features"])
    sizes = result["score"].isel(principal_component=0).count(samples)
    indexers, left_out = largest_part(sizes, "analyses") if extra else ({}, list[str]())
    analysis = result.isel(indexers)
    # An analysis that the caller selected lacks the benchmarks of the other suites, too.
    for dim, name in (
        (samples, "score"),
        (features, "loading"),
        ("principal_component", "explained_variance_ratio"),
    ):
        is_measured = analysis[name].notnull()
        other_dims = [other_dim for other_dim in is_measured.dims if other_dim != dim]
        analysis = analysis.isel({dim: np.flatnonzero(is_measured.any(other_dims).values)})
    return analysis, left_out


def _draw_biplot(
    result: xr.Dataset,
    ax: Axes | None,
    components: tuple[int, int],
    title_parts: list[str],
    regions: bool,
) -> Axes:
    numbers = result["principal_component"].values.tolist()
    if len(components) != 2 or any(number not in numbers for number in components):
        raise ValueError(
            f"components={components!r}: give two of the principal components {numbers}"
        )
    samples, features = str(result.attrs["samples"]), str(result.attrs["features"])
    analysis = result.sel(principal_component=list(components))
    explained = (analysis["explained_variance_ratio"] > ROUNDING).astype(float)
    scores = (explained * analysis["score"]).transpose(samples, "principal_component").values
    deviations = explained * np.sqrt(analysis["explained_variance"].clip(0)) * analysis["loading"]
    loadings = deviations.transpose(features, "principal_component").values
    height = float(np.clip(HEIGHTS[0] + 0.06 * (len(scores) + len(loadings) - 15), *HEIGHTS))
    ax = axes_for(ax, (WIDER * height, height))
    width, depth = np.abs(scores).max(axis=0).tolist()
    stretch = float(np.clip(width / depth / FLAT, 1.0, STRETCHED)) if depth > 0 else 1.0
    farthest, longest = (
        float(np.hypot(coordinates[:, 0], stretch * coordinates[:, 1]).max())
        for coordinates in (scores, loadings)
    )
    scale = REACH * farthest / longest if farthest > 0 and longest > 0 else 1.0
    arrow_tips = loadings * scale
    ax.axhline(0, color="#dddddd", linewidth=0.6, zorder=0)
    ax.axvline(0, color="#dddddd", linewidth=0.6, zorder=0)
    scale_text = f"{scale:.3g}" if 0.001 <= scale < 1e5 else f"{scale:.2e}"
    label = f"{features} (standard deviation; {scale_text} on the axes is 1)"
    thickness, alpha = (THICK / 3, 0.6) if len(arrow_tips) > CROWD else (THICK, 1.0)
    shafts: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches"}
    shafts |= {"width": thickness, "alpha": alpha, "color": COLOURS[5], "zorder": 2, "label": label}
    ax.quiver(*np.zeros_like(arrow_tips).T, *arrow_tips.T, **shafts)
    ax.scatter(
        scores[:, 0], scores[:, 1], s=26, color=COLOURS[0], label=f"{samples} (score)", zorder=3
    )
    ax.update_datalim(arrow_tips)
    if regions:
        _draw_regions(ax, analysis, explained.values, scores)
        level = 100 * float(result.attrs["confidence_level"])
        title_parts = [*title_parts, f"regions of {level:.3g} %"]
    ax.margins(0.15)
    for axis, number in zip((ax.xaxis, ax.yaxis), components, strict=True):
        share = 100 * float(result["explained_variance_ratio"].sel(principal_component=number))
        text = f"{share:.3g} % of the variance"
        text = text if share > 100 * ROUNDING else "nothing is left for it"
        if axis is ax.yaxis and stretch > 1:
            text += f"; drawn {stretch:.2g} times as long"
        axis.set_label_text(f"principal component {number} ({text})")
    scaling = (
        [f"each {features} in its own size"]
        if "divisor" in result and bool((result["divisor"] == 1).all())
        else []
    )
    describe(ax, [f"{samples} and {features}: biplot", *scaling, *title_parts])
    ax.autoscale_view()
    _name_ends(ax, result, {samples: scores, features: arrow_tips}, stretch)
    return ax


def _name_ends(
    ax: Axes, result: xr.Dataset, ends_by_dim: dict[str, Floats], stretch: float
) -> None:
    """Write the names of samples and features, and which have no room."""
    marks = []
    for dim, ends in ends_by_dim.items():
        names = shortened([str(label) for label in result[dim].values], LONGEST)
        is_arrow = dim == result.attrs["features"]
        colour = COLOURS[5] if is_arrow else "black"
        for name, (x, y) in zip(names, ends.tolist(), strict=True):
            marks.append(Mark(name, x, y, colour, is_arrow=is_arrow))
    left_out = write_names(ax, marks, stretch)
    ax.set_aspect(stretch, adjustable="box")
    if left_out:
        text = f"no room for {len(left_out)} name{'s' * (len(left_out) > 1)}"
        text += f": {', '.join(left_out)}" if len(left_out) <= NAMED else ""
        note: dict[str, Any] = {
            "transform": ax.transAxes,
            "ha": "right",
            "fontsize": NOTE_SIZE,
            "color": DARK,
        }
        ax.text(0.99, 0.01, text, **note)


def _draw_regions(ax: Axes, analysis: xr.Dataset, mask: Floats, scores: Floats) -> None:
    samples, dims = str(analysis.attrs["samples"]), ("principal_component", "principal_component_2")
    covariances = analysis["score_covariance"].sel(
        principal_component_2=analysis["principal_component"].values
    )
    radii = analysis["region_radius"].values
    finite = np.isfinite(radii)
    variances, axes = np.linalg.eigh(
        (covariances.transpose(samples, *dims).values * np.outer(mask, mask))[finite]
    )
    angles = np.linspace(0, 2 * np.pi, OUTLINE)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    semi_axes = radii[finite][:, None] * np.sqrt(variances.clip(0))
    outlines = scores[finite][:, None] + (circle * semi_axes[:, None]) @ np.swapaxes(axes, -1, -2)
    label = f"{samples} (region, by the variation of its runs)"
    ax.add_collection(
        PolyCollection(
            outlines,
            facecolors=COLOURS[0],
            edgecolors=COLOURS[0],
            alpha=0.15,
            linewidths=0.8,
            zorder=1,
            label=label,
        )
    )
    ax.update_datalim(outlines.reshape(-1, 2))


def _draw_scree(result: xr.Dataset, ax: Axes | None, title_parts: list[str]) -> Axes:
    shares, cumulative_shares = (
        100 * result[name].values
        for name in ("explained_variance_ratio", "cumulative_variance_ratio")
    )
    numbers = result["principal_component"].values
    ax = axes_for(ax, (6.0, 4.0))
    ax.bar(numbers, shares, 0.6, color=COLOURS[1], label="each")
    ax.plot(
        numbers,
        cumulative_shares,
        "o-",
        color=COLOURS[0],
        markersize=4,
        linewidth=1.4,
        label="sum so far",
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="principal component", ylabel="share of the variance, percent", ylim=(0, 105))
    return describe(ax, ["Explained variance", *title_parts])

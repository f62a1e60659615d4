"""Principal components: samples as points and features as arrows in one picture, and how much of the variance each explains."""

from typing import Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import MaxNLocator

from perfarray.conventions import SUITE
from perfarray.plots.figure import COLOURS, DARK, NOTE_SIZE, Floats, axes_for, describe, selection, shortened
from perfarray.plots.machines.point_names import Mark, write_names

KINDS: Final = ("biplot", "scree")

REACH: Final = 0.85
"""How far arrows reach at most, as a share of the way to the farthest point."""

ROUNDING: Final = 1e-12
"""A component with no larger share of the variance is rounding, and nothing of it is drawn: two machines differ in one direction."""

MOST: Final = 40
"""Letters of a name beside a point."""

WIDER: Final = 1.5
"""Width of a biplot in its heights: names need room beside points."""

FLAT: Final = 2.0
"""Where scores reach so many times as far along one axis as along the other, the shorter one is stretched, and the picture says so."""

STRETCHED: Final = 20.0
"""By how much at most."""

CROWD: Final = 20
"""Arrows that are drawn thick; more would hide what lies below them."""

THICK: Final = 0.03
"""Inches that the shaft of an arrow is thick."""

OUTLINE: Final = 61
"""Points of the outline of a region."""

SIDES: Final = (7.0, 11.0)
"""Least and largest height in inches of a biplot; many names need room."""


def principal_components(
    result: xr.Dataset, ax: Axes | None = None, *, kind: str = "biplot", components: tuple[int, int] = (1, 2), regions: bool = False
) -> Axes:
    """Draw a biplot, or a scree plot.

    Parameters
    ----------
    result : Dataset
        What `to_dataset` of `perfarray.principal_components` gave. Of several analyses (further dims) the one with most samples is drawn,
        and the picture says so; select another.
    ax : Axes, optional
        Where to draw; default: a new figure.
    kind : {"biplot", "scree"}
        Samples as points and features as arrows; or the share of the variance that each component explains.
    components : (int, int)
        The principal components along the two axes of a biplot.
    regions : bool
        Draw where each sample may lie, by the variation of its runs, as an ellipse; for results made with `n_resamples=`.

    Returns
    -------
    Axes
        Both axes have one scale, so that distances are those of the scores, unless the second component is so short that the picture
        would be a line: then the label of its axis says how much longer it is drawn. Arrows have a scale of their own: an arrow is its
        feature's standard deviation along each component (loading times that of the component), so that arrows which point the same way
        are features that rise and fall together.

    Raises
    ------
    ValueError
        An unknown kind; components that are not there; regions of a result without them.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np, xarray as xr, perfarray
    >>> table = xr.DataArray(np.eye(3), dims=("machine", "benchmark"), coords={"machine": [1, 2, 3], "benchmark": ["a", "b", "c"]})
    >>> ax = principal_components(table.perf.principal_components(), kind="scree")
    >>> ax.get_ylabel()
    'share of the variance, percent'
    >>> plt.close(ax.figure)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of 'biplot', 'scree'")
    result = result.compute()
    result, n_others = _one_analysis(result)
    suite = [str(result[SUITE].item())] if SUITE in result.coords and result[SUITE].ndim == 0 else []
    title_parts = [*suite, *selection(result), *([f"one of {n_others + 1} analyses (select another)"] if n_others else [])]
    if regions and "region_radius" not in result:
        raise ValueError("the result has no regions: give principal_components, or biplot, n_resamples=500")
    return _scree(result, ax, title_parts) if kind == "scree" else _biplot(result, ax, components, title_parts, regions)


def _one_analysis(result: xr.Dataset) -> tuple[xr.Dataset, int]:
    """Return the analysis with most samples, without what it lacks, and how many others have an answer."""
    extra = [str(dim) for dim in result["explained_variance_ratio"].dims if dim != "principal_component"]
    if not extra:
        return result, 0
    samples, features = str(result.attrs["samples"]), str(result.attrs["features"])
    sizes = result["score"].isel(principal_component=0).count(samples)
    fullest = {dim: int(index) for dim, index in sizes.argmax(extra).items()}
    analysis = result.isel(fullest)
    for dim, name in ((samples, "score"), (features, "loading"), ("principal_component", "explained_variance_ratio")):
        present = analysis[name].notnull()
        analysis = analysis.isel({dim: np.flatnonzero(present.any([dim_name for dim_name in present.dims if dim_name != dim]).values)})
    return analysis, int(np.count_nonzero(sizes > 0)) - 1


def _biplot(result: xr.Dataset, ax: Axes | None, components: tuple[int, int], title_parts: list[str], regions: bool) -> Axes:
    """Draw points and arrows."""
    numbers = result["principal_component"].values.tolist()
    if len(components) != 2 or any(number not in numbers for number in components):
        raise ValueError(f"components={components!r}: give two of the principal components {numbers}")
    samples, features = str(result.attrs["samples"]), str(result.attrs["features"])
    analysis = result.sel(principal_component=list(components))
    explained = (analysis["explained_variance_ratio"] > ROUNDING).astype(float)
    scores = (explained * analysis["score"]).transpose(samples, "principal_component").values
    spread = np.sqrt(analysis["explained_variance"].clip(0))
    loadings = (explained * spread * analysis["loading"]).transpose(features, "principal_component").values
    height = float(np.clip(SIDES[0] + 0.06 * (len(scores) + len(loadings) - 15), *SIDES))
    ax = axes_for(ax, (WIDER * height, height))
    width, depth = np.abs(scores).max(axis=0).tolist()
    stretch = float(np.clip(width / depth / FLAT, 1.0, STRETCHED)) if depth > 0 else 1.0
    farthest, longest = (float(np.hypot(coordinates[:, 0], stretch * coordinates[:, 1]).max()) for coordinates in (scores, loadings))
    scale = REACH * farthest / longest if farthest > 0 and longest > 0 else 1.0
    arrow_tips = loadings * scale
    ax.axhline(0, color="#dddddd", linewidth=0.6, zorder=0)
    ax.axvline(0, color="#dddddd", linewidth=0.6, zorder=0)
    ax.quiver(
        np.zeros(len(arrow_tips)), np.zeros(len(arrow_tips)), *arrow_tips.T, angles="xy", scale_units="xy", scale=1, color=COLOURS[5],
        units="inches", width=THICK if len(arrow_tips) <= CROWD else THICK / 3, alpha=1.0 if len(arrow_tips) <= CROWD else 0.6,
        label=f"{features} (standard deviation; {_plain(scale)} on the axes is 1)", zorder=2,
    )  # fmt: skip
    ax.scatter(scores[:, 0], scores[:, 1], s=26, color=COLOURS[0], label=f"{samples} (score)", zorder=3)
    ax.update_datalim(arrow_tips)
    if regions:
        _ellipses(ax, analysis, explained.values, scores)
        title_parts = [*title_parts, f"regions of {100 * float(result.attrs['confidence_level']):.3g} %"]
    ax.margins(0.15)
    for axis, number in zip((ax.xaxis, ax.yaxis), components, strict=True):
        share = 100 * float(result["explained_variance_ratio"].sel(principal_component=number))
        share_text = f"{share:.3g} % of the variance" if share > 100 * ROUNDING else "nothing is left for it"
        stretch_note = f"; drawn {stretch:.2g} times as long" if axis is ax.yaxis and stretch > 1 else ""
        axis.set_label_text(f"principal component {number} ({share_text}{stretch_note})")
    scaling_note = [f"each {features} in its own size"] if "divisor" in result and bool((result["divisor"] == 1).all()) else []
    describe(ax, ", ".join([f"{samples} and {features}: biplot", *scaling_note, *title_parts]))
    ax.autoscale_view()
    points, arrows = (shortened([str(label) for label in result[dim].values.tolist()], MOST) for dim in (samples, features))
    marks = [Mark(name, x, y, "black", arrow=False) for name, (x, y) in zip(points, scores.tolist(), strict=True)]
    marks += [Mark(name, x, y, COLOURS[5], arrow=True) for name, (x, y) in zip(arrows, arrow_tips.tolist(), strict=True)]
    left_out = write_names(ax, marks, stretch)
    ax.set_aspect(stretch, adjustable="box")
    if left_out:
        ax.text(0.99, 0.01, f"no room for {left_out} names", transform=ax.transAxes, ha="right", fontsize=NOTE_SIZE, color=DARK)
    return ax


def _ellipses(ax: Axes, analysis: xr.Dataset, mask: Floats, scores: Floats) -> None:
    """Draw the region of every sample that has one."""
    samples = str(analysis.attrs["samples"])
    paired = analysis.sel(principal_component_2=analysis["principal_component"].values)
    covariances = paired["score_covariance"].transpose(samples, "principal_component", "principal_component_2").values * np.outer(
        mask, mask
    )
    radii = analysis["region_radius"].values
    finite = np.isfinite(radii)
    variances, axes = np.linalg.eigh(covariances[finite])
    angles = np.linspace(0, 2 * np.pi, OUTLINE)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    semi_axes = radii[finite][:, None] * np.sqrt(variances.clip(0))
    outlines = scores[finite][:, None] + (circle * semi_axes[:, None]) @ np.swapaxes(axes, -1, -2)
    label = f"{samples} (region, by the variation of its runs)"
    ax.add_collection(
        PolyCollection(outlines, facecolors=COLOURS[0], edgecolors=COLOURS[0], alpha=0.15, linewidths=0.8, zorder=1, label=label)
    )
    ax.update_datalim(outlines.reshape(-1, 2))


def _plain(number: float) -> str:
    """Write a number in three digits."""
    return f"{number:.3g}" if 0.001 <= abs(number) < 1e5 else f"{number:.2e}"


def _scree(result: xr.Dataset, ax: Axes | None, title_parts: list[str]) -> Axes:
    """Draw the share of the variance of every component, and their sum so far."""
    shares, cumulative_shares = (100 * result[name].values for name in ("explained_variance_ratio", "cumulative_variance_ratio"))
    numbers = result["principal_component"].values
    ax = axes_for(ax, (6.0, 4.0))
    ax.bar(numbers, shares, 0.6, color=COLOURS[1], label="each")
    ax.plot(numbers, cumulative_shares, "o-", color=COLOURS[0], markersize=4, linewidth=1.4, label="sum so far")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(0, 105)
    ax.set_xlabel("principal component")
    ax.set_ylabel("share of the variance, percent")
    describe(ax, ", ".join(["Explained variance", *title_parts]))
    return ax

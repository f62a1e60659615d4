"""Machines that behave alike: the tree that joins them, and the clusters cut from it."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from perfarray.plots.figure import COLOURS, DARK, label_text, selection, shortened
from perfarray.plots.rows import INCHES, Row, RowFrame, largest_part, some_named, spacing


def dendrogram(clusters: xr.DataArray, ax: Axes | None = None) -> Axes:
    """Draw the tree in which machines are joined, with a colour for each cluster.

    Parameters
    ----------
    clusters : DataArray
        What `perfarray.cluster_machines` returned. Of several analyses (further dims) the one with
        most samples is drawn, and the title says so; select another.
    ax : Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    Axes
        A row for each sample. Horizontal axis: the distance at which branches are joined. The
        dotted line cuts the tree into the clusters.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> seconds = [[1.0, 2.0], [1.1, 2.1], [9.0, 8.0]]
    >>> table = xr.DataArray(seconds, {"machine": ["x", "y", "z"]}, dims=("machine", "benchmark"))
    >>> ax = table.perf.plot.dendrogram()
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['z', 'x', 'y']
    """
    samples = str(clusters.attrs["samples"])
    indexers, left_out = largest_part(clusters.where(clusters > 0).count(samples), "analyses")
    shared = selection(clusters.isel({dim: [position] for dim, position in indexers.items()}))
    tree = clusters.isel(indexers)
    tree = tree.isel({samples: tree["leaf"].values > 0}).sortby("leaf")
    texts = shortened([label_text(samples, label) for label in tree[samples].values.tolist()])
    inches, step, size = spacing(len(texts), INCHES)
    names, unnamed = some_named(texts, step, "rows")
    rows = [
        Row({samples: position}, name, "", float(position)) for position, name in enumerate(names)
    ]
    frame = RowFrame(ax, rows, unnamed, inches=inches, size=size)
    _draw_tree(frame.ax, tree)
    number = int(tree["n_clusters"])
    reason = (
        ""
        if tree.attrs["criterion"] == "given"
        else f" ({tree.attrs['criterion']}, {float(tree['silhouette']):.2f})"
    )
    title_parts = [
        "Which machines behave alike",
        *shared,
        f"{number} cluster{'s' * (number > 1)}{reason * (number > 1)}",
    ]
    units = str(tree["join_distance"].attrs.get("units", "1"))
    label = (
        "distance at which branches are joined "
        f"({tree.attrs['method']}{'' if units == '1' else f', {units}'})"
    )
    return frame.finish([*title_parts, *left_out], label)


def _draw_tree(ax: Axes, tree: xr.DataArray) -> None:
    """Draw every join as a bracket between two branches, and the line that cuts the clusters."""
    clusters, steps, distances = (
        array.values.tolist() for array in (tree, tree["join_step"], tree["join_distance"])
    )
    # Leaf by leaf the branch it is in: its first and last leaf, height in the picture, distance,
    # and cluster (0 for several).
    branches = [(leaf, leaf, float(leaf), 0.0, cluster) for leaf, cluster in enumerate(clusters)]
    joins = sorted((step, leaf) for leaf, step in enumerate(steps) if step)
    for _, leaf in joins:
        (first, _, low_y, low_distance, low), (_, last, high_y, high_distance, high) = (
            branches[leaf],
            branches[leaf + 1],
        )
        distance, cluster = distances[leaf], low if low == high else 0
        x, y = [low_distance, distance, distance, high_distance], [low_y, low_y, high_y, high_y]
        colour = COLOURS[(cluster - 1) % len(COLOURS)] if cluster else DARK
        ax.plot(x, y, color=colour, linewidth=1.3, gid="join")
        branches[first : last + 1] = [(first, last, (low_y + high_y) / 2, distance, cluster)] * (
            last - first + 1
        )
    heights = [distances[leaf] for _, leaf in joins]
    number = int(tree["n_clusters"])
    below, above = (
        ([0.0, *heights][len(joins) + 1 - number], heights[len(joins) - number + 1])
        if number > 1
        else (0.0, 0.0)
    )
    if below < above:  # distances of the centroid and median methods may fall
        ax.axvline((below + above) / 2, color=DARK, linewidth=0.8, linestyle=":", gid="cut")
    ax.set_xlim(left=0.0 if np.nanmin(distances) >= 0 else None)

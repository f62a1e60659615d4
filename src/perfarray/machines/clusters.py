"""Which machines behave alike: groups by distances between scores on principal components."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr

from perfarray.machines.numerics.clusters import clusters_of
from perfarray.machines.principal_components import coordinates_along, principal_components
from perfarray.machines.regions import COMPONENT
from perfarray.numerics.types import Floats, Integers
from perfarray.timings.apply import Output, apply
from perfarray.timings.notes import Note, add_notes, count_note
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_choice, check_count

LINKAGES = ("ward", "average", "complete", "single", "weighted", "centroid", "median")
MAX_CLUSTERS = 10  # without a number: a reader compares no more groups
WEAK = 0.25  # a mean silhouette below it shows no structure (Kaufman and Rousseeuw 1990, table 4)


def cluster_machines(
    times: Data,
    n_clusters: int | None = None,
    *,
    method: str = "ward",
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    scale: bool = False,
    n_components: int | None = None,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> xr.DataArray:
    """Group machines that behave alike, by distances between scores on principal components.

    Parameters
    ----------
    n_clusters : int, optional
        The number of groups. Default: that of 2 to 10 with the largest mean silhouette, or one.
    method : {"ward", "average", "complete", "single", "weighted", "centroid", "median"}
        How groups are joined (`scipy.cluster.hierarchy.linkage`).
    times, samples, features, by, statistic, scale, unit, levels, metric
        As for `principal_components`; lazy timings are computed.
    n_components : int, optional
        The number of components in the distances. Default: all.

    Returns
    -------
    DataArray
        The cluster 1, 2, ... of every sample; 0 for one without. Coordinates: `n_clusters`, the
        mean `silhouette`, and of the dendrogram `leaf`, the place from 1, `join_distance` and
        `join_step`, where the branch of a sample joins the next one. The attr `criterion` says what
        chose the number.

    Raises
    ------
    ValueError
        As `principal_components`; more clusters than samples.

    Notes
    -----
    A mean silhouette below 0.25 shows no groups, and a note says so. See :doc:`/how-to/biplots`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    11. P. J. Rousseeuw, "Silhouettes", 1987.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> coords = {"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]}
    >>> table = xr.DataArray([[1.0, 2.0], [1.1, 2.1], [9.0, 8.0]], coords, list(coords))
    >>> clusters = table.perf.cluster_machines()
    >>> clusters.values.tolist(), clusters["n_clusters"].item(), clusters.attrs["criterion"]
    ([1, 1, 2], 2, 'largest mean silhouette')
    """
    check_choice(method, "method", LINKAGES)
    number = None if n_clusters is None else check_count(n_clusters, "n_clusters")
    components = principal_components(
        times,
        samples=samples,
        features=features,
        by=by,
        statistic=statistic,
        scale=scale,
        n_components=n_components,
        unit=unit,
        levels=levels,
        metric=metric,
    )
    score = components["score"].compute()
    sizes = score.notnull().any(COMPONENT).sum(samples)
    if number is not None and number > sizes.max():
        raise ValueError(
            f"n_clusters={n_clusters}: there are {int(sizes.max())} labels of {samples!r} to group"
        )
    distance_units = str(score.attrs.get("units", "1"))
    outputs = {
        "cluster": Output((samples,), "1", int),
        "leaf": Output((samples,), "", int, "place in the dendrogram"),
        "join_step": Output((samples,), "", int, "step that joins the branch with the next one"),
        "join_distance": Output(
            (samples,), distance_units, float, "distance of the branch to the next one"
        ),
        "n_clusters": Output((), "", int),
        "silhouette": Output((), "1", float, "mean silhouette"),
    }
    result = apply(
        partial(_cluster_cells, method=method, number=number),
        score,
        core=[(samples, COMPONENT)],
        outputs=outputs,
        coords={samples: score[samples].values.tolist()},
    )
    result = result.assign_coords(coordinates_along(score, samples))
    result = result.set_coords([name for name in outputs if name != "cluster"])
    criterion = "largest mean silhouette" if number is None else "given"
    attrs = {"result": "cluster_machines", "method": method, "criterion": criterion}
    clusters = result["cluster"].assign_attrs(components.attrs | attrs)
    analysed = sizes.values > 0
    numbers = np.unique(result["n_clusters"].values[analysed])
    if numbers.size == 1:
        clusters.attrs["n_clusters"] = int(numbers[0])
    if number is None:
        return add_notes(clusters, _number_note(clusters))
    text = f"{{cells}} have fewer than {number} labels of {samples!r} and no clusters"
    note = count_note("no_value", text, sizes.values[analysed] < number)
    return clusters if note is None else add_notes(clusters, note)


def _cluster_cells(
    scores: Floats, *, method: str, number: int | None
) -> tuple[Integers | Floats, ...]:
    """Return the variables of `cluster_machines` for scores (..., samples, components)."""
    cells = scores.reshape(-1, *scores.shape[-2:])
    labels, leaves, steps = (np.zeros(cells.shape[:-1], dtype=int) for _ in range(3))
    heights = np.full(cells.shape[:-1], np.nan)
    numbers, silhouettes = np.zeros(len(cells), dtype=int), np.full(len(cells), np.nan)
    # SciPy clusters one set of points at a time; samples and components that a cell lacks are NaN.
    for position, cell in enumerate(cells):
        (complete,) = np.nonzero(~np.isnan(cell).all(axis=-1))
        if len(complete) >= (number or 2):
            labels[position, complete], dendrogram, numbers[position], silhouettes[position] = (
                clusters_of(np.nan_to_num(cell[complete]), method, number, MAX_CLUSTERS)
            )
            for along_samples, values in zip((leaves, steps, heights), dendrogram, strict=True):
                along_samples[position, complete] = values
    along = (array.reshape(scores.shape[:-1]) for array in (labels, leaves, steps, heights))
    return (*along, *(array.reshape(scores.shape[:-2]) for array in (numbers, silhouettes)))


def _number_note(clusters: xr.DataArray) -> Note:
    """Return the note on the numbers of clusters that the silhouettes chose.

    It warns where one shows no groups.
    """
    analysed = clusters["n_clusters"].values > 0
    numbers = clusters["n_clusters"].values[analysed].tolist()
    silhouettes = clusters["silhouette"].values[analysed]
    is_several = len(numbers) > 1
    span = f"{min(numbers)}" if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"
    text = f"{span} cluster{'' if span == '1' else 's'}"
    text += f" in {len(numbers)} analyses: " if is_several else ": "
    if max(numbers) == 1:
        text += f"no number of 2 to {MAX_CLUSTERS} has a positive mean silhouette."
    else:
        text += f"the largest mean silhouette of 2 to {MAX_CLUSTERS}"
        text += "." if is_several else f", {silhouettes[0]:.2f}."
    n_weak = int(np.count_nonzero(silhouettes < WEAK))
    if n_weak:
        text += (
            f" Below {WEAK}{f', in {n_weak} of them,' if is_several else ''} the machines form no "
            "clear groups."
        )
    return Note(
        "n_clusters",
        f"{text} n_clusters= gives another number.",
        {"n_clusters": numbers},
        aside=not n_weak,
    )

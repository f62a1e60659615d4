"""Which machines behave alike: groups by the distances between their scores on the principal components."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.machines.numerics.principal_components import cluster_labels
from perfarray.machines.principal_components import coordinates_along, principal_components
from perfarray.machines.regions import COMPONENT
from perfarray.numerics.types import Floats
from perfarray.timings.across import TooFew, for_each_suite
from perfarray.timings.apply import Output, apply
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_choice, check_count

LINKAGES = ("ward", "average", "complete", "single", "weighted", "centroid", "median")


@for_each_suite
def cluster_machines(
    times: Data,
    n_clusters: int,
    *,
    method: str = "ward",
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    scale: bool = False,
    n_components: int | None = None,
    impute: str | None = None,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> xr.DataArray:
    """Group machines that behave alike, by the distances between their scores on the principal components.

    Parameters
    ----------
    n_clusters : int
        The number of groups.
    method : {"ward", "average", "complete", "single", "weighted", "centroid", "median"}
        How groups are joined (`scipy.cluster.hierarchy.linkage`).
    times, samples, features, by, statistic, scale, impute, unit, levels, metric
        As for `principal_components`; lazy timings are computed.
    n_components : int, optional
        The number of components from which distances are computed. Default: all, which gives the distances between the machines.

    Returns
    -------
    DataArray
        The cluster 1, 2, ... of every sample. Samples that are dropped because of gaps are named in the attr `dropped_samples`, and are
        NaN where other dims make several analyses.

    Raises
    ------
    ValueError
        As `principal_components`; more clusters than samples.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 11.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> table = xr.DataArray([[1.0, 2.0], [1.1, 2.1], [9.0, 8.0]], dims=("machine", "benchmark"), coords={"machine": ["x", "y", "z"]})
    >>> table.perf.cluster_machines(2).values.tolist()
    [1, 1, 2]
    """
    check_choice(method, "method", LINKAGES)
    number = check_count(n_clusters, "n_clusters")
    components = principal_components(
        times, samples=samples, features=features, statistic=statistic, scale=scale, n_components=n_components, impute=impute, unit=unit,
        levels=levels, metric=metric,
    )  # fmt: skip
    score = components["score"].compute()
    if number > score.sizes[samples]:
        raise TooFew(f"n_clusters={n_clusters}: there are {score.sizes[samples]} labels of {samples!r} to group")

    def kernel(scores: Floats) -> tuple[np.ndarray, ...]:
        cells = scores.reshape(-1, *scores.shape[-2:])
        labels = np.full(cells.shape[:-1], np.nan)
        # SciPy clusters one set of points at a time; samples and components that a cell lacks are NaN.
        for cell, row in zip(cells, labels, strict=True):
            complete = ~np.isnan(cell).all(axis=-1)
            if complete.sum() >= number:
                row[complete] = cluster_labels(np.nan_to_num(cell[complete]), number, method)
        return (labels.reshape(scores.shape[:-1]),)

    labels = score[samples].values
    outputs = {"cluster": Output((samples,), "1")}
    attrs = components.attrs | {"result": "cluster_machines", "method": method, "n_clusters": number}
    clusters = apply(kernel, score, core=[(samples, COMPONENT)], outputs=outputs, coords={samples: labels.tolist()})["cluster"]
    clusters = clusters if score.isnull().any() else clusters.astype(int)
    return clusters.assign_coords(coordinates_along(score, samples)).assign_attrs(attrs)

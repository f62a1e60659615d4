"""Machines and benchmarks in one picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfarray.machines.principal_components import principal_components
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def biplot(
    times: Data,
    /,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    scale: bool = False,
    impute: str | None = None,
    n_resamples: int | None = None,
    confidence_level: float = 0.95,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
    kind: str = "biplot",
    components: tuple[int, int] = (1, 2),
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw machines as points and benchmarks as arrows along the first two principal components.

    Parameters
    ----------
    times, samples, features, by, statistic, scale, impute, confidence_level, unit, levels, rng, metric
        As for `principal_components`.
    n_resamples : int, optional
        Redraw the runs so many times, and draw where each sample may lie by their variation as an ellipse.
    kind : {"biplot", "scree"}
        Scores as points, and as arrows the standard deviation of each feature along the components; or the share of the variance that
        each component explains.
    components : (int, int)
        The principal components along the two axes of a biplot.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        As `principal_components`.
    ImportError
        When matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> table = xr.DataArray(np.eye(3), dims=("machine", "benchmark"), coords={"machine": [1, 2, 3], "benchmark": ["a", "b", "c"]})
    >>> ax = table.perf.biplot()
    >>> ax.get_xlabel()
    'principal component 1 (50 % of the variance)'
    """
    result = principal_components(
        times,
        samples=samples,
        features=features,
        by=by,
        statistic=statistic,
        scale=scale,
        impute=impute,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        unit=unit,
        levels=levels,
        rng=rng,
        metric=metric,
    )
    axes: Axes = result.perf.plot(ax=ax, kind=kind, components=components, regions=n_resamples is not None)
    return axes

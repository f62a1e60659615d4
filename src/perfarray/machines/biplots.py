"""Machines and benchmarks in one picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfarray.machines.principal_components import principal_components
from perfarray.timings.resolve import Data

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def biplot(
    times: Data,
    /,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    statistic: str = "median",
    scale: bool = False,
    impute: str | None = None,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
    kind: str = "biplot",
    components: tuple[int, int] = (1, 2),
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw machines as points and benchmarks as arrows along the first two principal components.

    Parameters
    ----------
    times, samples, features, statistic, scale, impute, unit, levels, metric
        As for `principal_components`.
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
    found = principal_components(
        times, samples=samples, features=features, statistic=statistic, scale=scale, impute=impute, unit=unit, levels=levels, metric=metric
    )
    return found.plot(ax=ax, kind=kind, components=components)

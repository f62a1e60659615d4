"""Principal components of machines and benchmarks, and biplots."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.principal_components import (
    PrincipalComponents,
    axes_of,
    correlations,
    principal_axes,
)
from perfarray.machines.regions import COMPONENT, resampled_units, with_regions
from perfarray.machines.sample_table import sample_table, without_gaps
from perfarray.timings.across import TooFew, for_each_suite
from perfarray.timings.apply import is_chunked
from perfarray.timings.best import SUMMARIES
from perfarray.timings.notes import Note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED = 5  # cells with gaps that a note names

# Attrs of values, which an answer with several variables does not have
VALUE_ATTRS = ("units", "long_name")

Analysis = tuple[xr.Dataset, tuple[Note, ...]]
Analyse = Callable[[xr.DataArray, dict[Hashable, int]], Analysis]


@for_each_suite
def principal_components(
    times: Data,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    scale: bool = False,
    n_components: int | None = None,
    n_resamples: int | None = None,
    confidence_level: float = 0.95,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Compute the directions in which machines differ most, and the benchmarks that make them.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores; each cell of the other dims stands alone.
    samples, features : str
        The dims of the points and the arrows of a biplot.
    by : str, optional
        A coordinate along `features`: one result for each value. Default: `suite`, if there are
        several.
    statistic : {"median", "mean", "min", "best", "geometric"}
        Of the units of a cell; `best` is the minimum of times and the maximum of rates.
    scale : bool
        Divide every feature by its standard deviation.
    n_components : int, optional
        How many to keep. Default: all.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Resamples of the runs, for regions and tests; their seed, or the `rng_key` of a result.
    confidence_level : float
        Of regions and limits.
    unit : str, optional
        The level whose repetitions are independent.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the levels present); the variable (default: `time`).

    Returns
    -------
    Dataset
        `score` (samples, principal_component), `loading` (features, principal_component),
        `explained_variance`, `explained_variance_ratio`, `cumulative_variance_ratio`
        (principal_component, from 1), `center`, `divisor` (features), `correlation` (features,
        <features>_2).

        With `n_resamples` also limits of scores and loadings, `score_covariance`, `region_radius`
        (samples), `distance` and `apart_pvalue` (samples, <samples>_2).

    Raises
    ------
    ValueError
        Unknown names; fewer than two samples; a constant feature with `scale`; too many components.

    Notes
    -----
    Samples or features with gaps are dropped; attrs name them. Regions that overlap may still
    differ: read `apart_pvalue`, which is of one pair. See :doc:`/how-to/biplots`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    11, tables 17 and 18, figure 16.

    Examples
    --------
    Both benchmarks rise together: the loadings are 1 and 2 over the root of 5.

    >>> import xarray as xr, perfarray
    >>> coords = {"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]}
    >>> table = xr.DataArray([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], coords, list(coords))
    >>> result = table.perf.principal_components(n_components=1)
    >>> result["loading"].round(3).values.ravel().tolist()
    [0.447, 0.894]
    """
    check_choice(statistic, "statistic", SUMMARIES)
    check_choice(scale, "scale", (True, False))
    level = check_confidence_level(confidence_level)
    draws, key = 0, (0, 0)
    if n_resamples is not None:
        draws, key = check_count(n_resamples, "n_resamples", 20), key_of(rng)
    table, notes = sample_table(times, samples, features, statistic, unit, levels, metric)
    if n_components is not None:
        check_count(n_components, "n_components")
    resampled = None
    if draws:
        resampled = resampled_units(
            times, table, samples, features, unit=unit, levels=levels, metric=metric
        )

    def analyse(cell_table: xr.DataArray, cell: dict[Hashable, int]) -> Analysis:
        complete, indexers, gaps, gap_notes = without_gaps(cell_table, samples, features)
        answer = _components(complete, samples, features, scale, n_components)
        if resampled is not None:
            units = resampled.isel({**cell, **indexers}, missing_dims="ignore")
            answer, region_notes = with_regions(
                answer,
                complete,
                units,
                samples,
                features,
                scale=scale,
                draws=draws,
                key=key,
                level=level,
            )
            gap_notes = (*gap_notes, *region_notes)
        return answer.assign_attrs(gaps), gap_notes

    cell_dims = [dim for dim in table.dims if dim not in (samples, features)]
    in_one_chunk = is_chunked(table) and len(table.chunksizes[samples]) == 1
    if cell_dims or resampled is not None or in_one_chunk:
        table = table.compute()
    result, cell_notes = (
        _each_cell(table, cell_dims, samples, features, analyse)
        if cell_dims
        else analyse(table, {})
    )
    own_attrs: dict[Hashable, Any] = {"result": "principal_components", "scale": int(scale)}
    own_attrs |= {"samples": samples, "features": features}
    if draws:
        own_attrs |= {"n_resamples": draws, "confidence_level": level}
        own_attrs.update(describe_key(key))
    of_table = {name: value for name, value in table.attrs.items() if name not in VALUE_ATTRS}
    result.attrs = of_table | result.attrs | own_attrs
    return with_notes(result, *notes, *cell_notes)


def _each_cell(
    table: xr.DataArray, cell_dims: list[Hashable], samples: str, features: str, analyse: Analyse
) -> Analysis:
    """Analyse every cell of the other dims alone.

    A cell with too little data is NaN, and so are labels that a cell lacks.
    """
    of_cells = [dim for dim in table.dims if dim not in cell_dims]
    is_measured = table.notnull().any(of_cells).transpose(*cell_dims).values
    answers: dict[tuple[int, ...], xr.Dataset] = {}
    reason, number, holes = "", int(is_measured.sum()), list[str]()
    for indices in map(tuple, np.argwhere(is_measured).tolist()):
        cell = dict(zip(cell_dims, indices, strict=True))
        cell_table = table.isel(cell, drop=True)
        try:
            answers[indices], cell_notes = analyse(cell_table, cell)
        except TooFew as error:
            reason = f"; in the last, {error}"
            continue
        # A sample or feature that nobody measured in this cell has no hole: it is not named.
        measured = cell_table.dropna(samples, how="all").dropna(features, how="all")
        names = {str(name) for dim in (samples, features) for name in measured[dim].values}
        dropped = [
            name for note in cell_notes for name in note.values.get("labels", ()) if name in names
        ]
        if dropped:
            labels = ", ".join(str(table[dim].values[position]) for dim, position in cell.items())
            holes.append(f"{labels}: {listed(dropped)}")
    along = f"{number} cells along {listed(cell_dims)}"
    if not answers:
        raise TooFew(f"none of {along} has enough data{reason}")
    notes = []
    if len(answers) < number:
        n_without = number - len(answers)
        text = f"{n_without} of {along} have too little data and are NaN"
        notes.append(Note("no_value", text, {"cells": n_without, "of": number}))
    if holes:
        text = f"{len(holes)} cells leave out what was not measured in them: "
        text += "; ".join(holes[:MAX_NAMED])
        text += f"; and {len(holes) - MAX_NAMED} more" if len(holes) > MAX_NAMED else ""
        values = {"cells": len(holes), "of": number, "left_out": holes}
        notes.append(Note("labels_left_out", text, values))
    return _joined(table, cell_dims, answers).assign_attrs(n_cells=len(answers)), tuple(notes)


def _joined(
    table: xr.DataArray, cell_dims: list[Hashable], answers: dict[tuple[int, ...], xr.Dataset]
) -> xr.Dataset:
    labels = {
        dim: table[dim].values
        for answer in answers.values()
        for dim in answer.dims
        if dim in table.dims
    }
    labels[COMPONENT] = np.arange(
        1, max(answer.sizes[COMPONENT] for answer in answers.values()) + 1
    )
    labels |= {
        f"{dim}_2": values
        for dim, values in labels.items()
        if f"{dim}_2" in next(iter(answers.values())).dims
    }
    aligned = [answer.drop_attrs(deep=False).reindex(labels) for answer in answers.values()]
    joined: xr.Dataset = xr.concat(aligned, "_cell", coords="minimal", compat="override")
    index = xr.Coordinates.from_pandas_multiindex(
        pd.MultiIndex.from_tuples(list(answers), names=cell_dims), "_cell"
    )
    joined = joined.assign_coords(index).unstack("_cell")  # noqa: PD010, xarray's
    joined = joined.reindex({dim: range(table.sizes[dim]) for dim in cell_dims}).drop_vars(
        cell_dims
    )
    cell_coords = {
        name: variable
        for name, variable in table.coords.variables.items()
        if set(variable.dims) <= {*cell_dims, *labels}
    }
    return joined.assign_coords(cell_coords).transpose(*cell_dims, ...)


def coordinates_along(array: xr.DataArray, dim: str) -> dict[Hashable, Any]:
    """Return the coordinates that describe the labels of a dim."""
    return {
        name: variable
        for name, variable in array.coords.variables.items()
        if variable.dims == (dim,)
    }


def _components(
    table: xr.DataArray, samples: str, features: str, scale: bool, n_components: int | None
) -> xr.Dataset:
    """Return the principal components of a complete table as labelled arrays."""
    n_samples, n_features = table.sizes[samples], table.sizes[features]
    n_max = min(n_samples, n_features)
    if n_components is not None and n_components > n_max:
        raise ValueError(
            f"n_components={n_components}: there are {n_max}, the lesser of {n_samples} labels of "
            f"{samples!r} and {n_features} of {features!r}"
        )
    constant = (table.max(samples) == table.min(samples)).compute() if scale else None
    if constant is not None and constant.any():
        names = listed(table[features].values[constant.values])
        raise ValueError(
            f"scale=True divides by the standard deviation, which is 0 for {names} of "
            f"{features!r}. Drop them, or give scale=False."
        )
    matrix = table.transpose(samples, features).data
    axes = (
        principal_axes(matrix, scale=scale)
        if isinstance(matrix, np.ndarray)
        else _axes_of_chunks(matrix, scale=scale)
    )
    units, second = str(table.attrs.get("units", "1")), f"{features}_2"
    unit = "1" if scale else units
    variables = {
        "score": ((samples, COMPONENT), axes.scores[:, :n_components], unit),
        "loading": ((features, COMPONENT), axes.loadings[:, :n_components], "1"),
        "explained_variance": ((COMPONENT,), axes.variances[:n_components], square_units(unit)),
        "explained_variance_ratio": ((COMPONENT,), axes.ratios[:n_components], "1"),
        "cumulative_variance_ratio": ((COMPONENT,), axes.ratios[:n_components].cumsum(), "1"),
        "center": ((features,), axes.centres, units),
        "divisor": ((features,), axes.divisors, units if scale else "1"),
        "correlation": ((features, second), axes.correlations, "1"),
    }
    labels = {COMPONENT: np.arange(1, (n_components or n_max) + 1), second: table[features].values}
    cell_coords = coordinates_along(table, samples) | coordinates_along(table, features)
    result = xr.Dataset(
        {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in variables.items()},
        labels | cell_coords,
    )
    result["correlation"].attrs["long_name"] = "Pearson's, between features over samples"
    return result


def _axes_of_chunks(table: Any, *, scale: bool) -> PrincipalComponents:
    """Return the components of a dask array (samples, features), with lazy scores.

    No more than a chunk is in memory.
    """
    from dask.array.linalg import tsqr
    from dask.base import compute

    table = table.rechunk({1: -1})
    samples, features = table.shape
    moments = (table.mean(axis=0), *([table.std(axis=0, ddof=1)] if scale else []))
    centres, divisors = (*compute(*moments), np.ones(features))[:2]  # type: ignore[no-untyped-call]
    scaled = (table - centres) / divisors
    # The triangle R of the QR decomposition of the centred table has the same principal axes.
    triangle = tsqr(scaled)[1].compute()  # type: ignore[no-untyped-call]
    loadings, variances, ratios = axes_of(triangle, samples)
    return PrincipalComponents(
        scaled @ loadings, loadings, variances, ratios, centres, divisors, correlations(triangle)
    )


def biplot(
    times: Data,
    /,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    scale: bool = False,
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
    """Draw machines as points and benchmarks as arrows along two principal components.

    Parameters
    ----------
    times, samples, features, by, statistic, scale
        As for `principal_components`.
    confidence_level, unit, levels, rng, metric
        As for `principal_components`.
    n_resamples : int, optional
        Resample the runs so many times, and draw the region of each sample as an ellipse.
    kind : {"biplot", "scree"}
        Scores as points, and the standard deviation of each feature along the components as arrows;
        or the share of the variance that each component explains.
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
        Without matplotlib.

    Examples
    --------
    >>> import numpy as np, xarray as xr, perfarray
    >>> coords = {"machine": [1, 2, 3], "benchmark": ["a", "b", "c"]}
    >>> ax = xr.DataArray(np.eye(3), coords, list(coords)).perf.biplot()
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
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        unit=unit,
        levels=levels,
        rng=rng,
        metric=metric,
    )
    axes: Axes = result.perf.plot(
        ax=ax, kind=kind, components=components, regions=n_resamples is not None
    )
    return axes

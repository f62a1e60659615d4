"""Principal components of machines and benchmarks: in which directions machines differ, and which benchmarks make them; biplots."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.principal_components import (
    Components,
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

IMPUTATIONS = (None, "mean")
NAMED = 5  # cells with gaps that a note names

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
    impute: str | None = None,
    n_resamples: int | None = None,
    confidence_level: float = 0.95,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
) -> xr.Dataset:
    """Compute the principal components of machines: the directions in which they differ most, and the benchmarks that make them.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores, with or without repetitions. Every other dim broadcasts: each of its
        cells is analysed with the samples and features that it has.
    samples, features : str
        The dims whose labels are the points and the arrows of a biplot.
    by : str, optional
        A coordinate along `features`, such as `suite`: an analysis for each of its values, without
        those with too little data. Default: `suite` where one name stands for benchmarks of several
        suites.
    statistic : {"median", "mean", "min", "best", "geometric"}
        The summary of the units of a cell.
    scale : bool
        Divide every feature by its standard deviation. Otherwise features with larger numbers count
        for more.
    n_components : int, optional
        The number to keep. Default: as many as samples or features, whichever is less.
    impute : {None, "mean"}
        Gaps: None drops the sample or feature with the largest share of them until none is left;
        "mean" fills them with the mean of the feature.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Resample the runs so many times, for regions and tests; and their seed or the `rng_key` of
        an earlier result. Lazy timings are computed for it.
    confidence_level : float
        Of regions and limits.
    unit : str, optional
        The level whose repetitions are independent: lower levels are averaged. Default: the
        outermost.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the repetition dims present); the variable of a Dataset
        (default: its `time`).

    Returns
    -------
    Dataset
        `score` (samples, principal_component), `loading` (features, principal_component),
        `explained_variance`, `explained_variance_ratio` and `cumulative_variance_ratio`
        (principal_component, from 1), `center` and `divisor` (features), and `correlation`
        (features, <features>_2). Attrs `dropped_samples`, `dropped_features` and `n_imputed`
        describe gaps.

        With `n_resamples`: `score_lower`, `score_upper`, `score_covariance` (samples,
        principal_component, principal_component_2); `region_radius` (samples), the radius of the
        region of two components in standard deviations; `loading_lower`, `loading_upper`;
        `distance` (samples, <samples>_2) over all components, and `apart_pvalue` of "the runs of
        both come from the same distributions".

    Raises
    ------
    ValueError
        Unknown dims, statistics or levels; fewer than two samples without gaps; a constant feature
        with `scale`; too many components.

    Notes
    -----
    The largest loading of a component is made positive, since its sign is arbitrary. Of n samples,
    at most n - 1 components have a variance. With `scale=False`, benchmarks that run longer have
    larger loadings, unless logs are given.

    Regions show how far runs move a sample; other benchmarks would move it, too. Regions that
    overlap may still differ: read `apart_pvalue`, which is of one pair and has to be corrected for
    many. See docs/how-to/biplots.md for how both are computed.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    11, tables 17 and 18, figure 16.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> table = xr.DataArray(
    ...     [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]],
    ...     dims=("machine", "benchmark"), coords={"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]},
    ... )
    >>> result = table.perf.principal_components(n_components=1)
    >>> result["loading"].round(3).values.ravel().tolist(), result["score"].round(3).values.ravel().tolist()
    ([0.447, 0.894], [-2.236, 0.0, 2.236])
    """
    check_choice(statistic, "statistic", SUMMARIES)
    check_choice(impute, "impute", IMPUTATIONS)
    check_choice(scale, "scale", (True, False))
    level = check_confidence_level(confidence_level)
    number, key = (
        (0, (0, 0))
        if n_resamples is None
        else (check_count(n_resamples, "n_resamples", 20), key_of(rng))
    )
    table, notes = sample_table(times, samples, features, statistic, unit, levels, metric)
    n_kept = None if n_components is None else check_count(n_components, "n_components")
    resampled = (
        resampled_units(times, table, samples, features, unit=unit, levels=levels, metric=metric)
        if number
        else None
    )

    def analyse(cell_table: xr.DataArray, cell: dict[Hashable, int]) -> Analysis:
        complete, indexers, gaps, gap_notes = without_gaps(cell_table, samples, features, impute)
        answer = _components(complete, samples, features, scale, n_kept)
        if resampled is not None:
            units = resampled.isel({**cell, **indexers}, missing_dims="ignore")
            answer, region_notes = with_regions(
                answer,
                complete,
                units,
                samples,
                features,
                scale=scale,
                draws=number,
                key=key,
                level=level,
            )
            gap_notes = (*gap_notes, *region_notes)
        return answer.assign_attrs(gaps), gap_notes

    cell_dims = [dim for dim in table.dims if dim not in (samples, features)]
    if (
        cell_dims
        or resampled is not None
        or (is_chunked(table) and len(table.chunksizes[samples]) == 1)
    ):
        table = table.compute()
    result, cell_notes = (
        _each_cell(table, cell_dims, samples, features, analyse)
        if cell_dims
        else analyse(table, {})
    )
    attrs = {
        name: value for name, value in table.attrs.items() if name not in ("units", "long_name")
    } | result.attrs
    attrs |= {
        "result": "principal_components",
        "samples": samples,
        "features": features,
        "scale": int(scale),
    }
    if number:
        attrs |= {"n_resamples": number, "confidence_level": level} | describe_key(key)
    return with_notes(result.assign_attrs(attrs), *notes, *cell_notes)


def _each_cell(
    table: xr.DataArray, cell_dims: list[Hashable], samples: str, features: str, analyse: Analyse
) -> Analysis:
    """Analyse every cell of the other dims alone.

    A cell with too little data is NaN, and so are labels that a cell lacks.
    """
    is_measured = (
        table.notnull()
        .any([dim for dim in table.dims if dim not in cell_dims])
        .transpose(*cell_dims)
        .values
    )
    answers: dict[tuple[int, ...], xr.Dataset] = {}
    reason, number, holes = "", int(is_measured.sum()), list[str]()
    for indices in map(tuple, np.argwhere(is_measured).tolist()):
        cell = dict(zip(cell_dims, indices, strict=True))
        cell_table = table.isel(cell, drop=True)
        try:
            answers[indices], cell_notes = analyse(cell_table, cell)
        except TooFew as error:
            reason = str(error)
            continue
        # A sample or feature that nobody measured in this cell has no hole: it is not named.
        measured = cell_table.dropna(samples, how="all").dropna(features, how="all")
        names = [str(name) for dim in (samples, features) for name in measured[dim].values]
        names = [
            name for note in cell_notes for name in note.values.get("labels", ()) if name in names
        ]
        if names or any(note.code == "imputed" for note in cell_notes):
            labels = ", ".join(str(table[dim].values[position]) for dim, position in cell.items())
            holes.append(f"{labels}: {listed(names)}" if names else labels)
    if not answers:
        text = f"none of {number} cells along {listed(cell_dims)} has enough data"
        raise TooFew(f"{text}; in the last, {reason}" if reason else text)
    notes = []
    if len(answers) < number:
        text = (
            f"{number - len(answers)} of {number} cells along {listed(cell_dims)} have too "
            "little data and are NaN"
        )
        notes.append(
            Note("cells_without_answer", text, {"cells": number - len(answers), "of": number})
        )
    if holes:
        text = (
            f"{len(holes)} cells leave out or fill what was not measured in them: "
            f"{'; '.join(holes[:NAMED])}"
        )
        text += f"; and {len(holes) - NAMED} more" if len(holes) > NAMED else ""
        notes.append(
            Note("cells_with_gaps", text, {"cells": len(holes), "of": number, "left_out": holes})
        )
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
    described = {
        name: variable
        for name, variable in table.coords.variables.items()
        if set(variable.dims) <= {*cell_dims, *labels}
    }
    return joined.assign_coords(described).transpose(*cell_dims, ...)


def coordinates_along(array: xr.DataArray, dim: str) -> dict[Hashable, Any]:
    """Return the coordinates that describe the labels of a dim."""
    return {
        name: variable
        for name, variable in array.coords.variables.items()
        if variable.dims == (dim,)
    }


def _components(
    table: xr.DataArray, samples: str, features: str, scale: bool, n_kept: int | None
) -> xr.Dataset:
    """Return the principal components of a complete table as labelled arrays."""
    n_samples, n_features = table.sizes[samples], table.sizes[features]
    n_kept, most = n_kept or min(n_samples, n_features), min(n_samples, n_features)
    if n_kept > most:
        raise ValueError(
            f"n_components={n_kept}: there are {most}, the lesser of {n_samples} labels of "
            f"{samples!r} and {n_features} of {features!r}"
        )
    constant = (table.max(samples) == table.min(samples)).compute() if scale else None
    if constant is not None and constant.any():
        names = listed(table[features].values[constant.values])
        raise ValueError(
            f"scale=True divides by the standard deviation, which is 0 for {names} of "
            f"{features!r}; drop them, or scale=False"
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
        "score": ((samples, COMPONENT), axes.scores[:, :n_kept], unit),
        "loading": ((features, COMPONENT), axes.loadings[:, :n_kept], "1"),
        "explained_variance": ((COMPONENT,), axes.variances[:n_kept], square_units(unit)),
        "explained_variance_ratio": ((COMPONENT,), axes.ratios[:n_kept], "1"),
        "cumulative_variance_ratio": ((COMPONENT,), axes.ratios[:n_kept].cumsum(), "1"),
        "center": ((features,), axes.centres, units),
        "divisor": ((features,), axes.divisors, units if scale else "1"),
        "correlation": ((features, second), axes.correlations, "1"),
    }
    labels = {COMPONENT: np.arange(1, n_kept + 1), second: table[features].values}
    described = coordinates_along(table, samples) | coordinates_along(table, features)
    result = xr.Dataset(
        {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in variables.items()},
        labels | described,
    )
    result["correlation"].attrs["long_name"] = "Pearson's, between features over samples"
    return result


def _axes_of_chunks(table: Any, *, scale: bool) -> Components:
    """Return the components of a dask array (samples, features) with lazy scores, with no more than a chunk in memory."""
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
    return Components(
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
    """Draw machines as points and benchmarks as arrows along two principal components.

    Parameters
    ----------
    times, samples, features, by, statistic, scale, impute
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
    >>> table = xr.DataArray(np.eye(3), dims=("machine", "benchmark"), coords={"machine": [1, 2, 3], "benchmark": ["a", "b", "c"]})
    >>> ax = table.perf.biplot()
    >>> ax.get_xlabel()
    'principal component 1 (50 % of the variance)'
    """
    result = principal_components(
        times, samples=samples, features=features, by=by, statistic=statistic, scale=scale, impute=impute, n_resamples=n_resamples,
        confidence_level=confidence_level, unit=unit, levels=levels, rng=rng, metric=metric,
    )  # fmt: skip
    axes: Axes = result.perf.plot(
        ax=ax, kind=kind, components=components, regions=n_resamples is not None
    )
    return axes

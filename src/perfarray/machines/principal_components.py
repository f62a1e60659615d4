"""Which machines behave alike, and which benchmarks tell them apart: principal components, biplots, clusters."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import square_units
from perfarray.machines.numerics.principal_components import principal_axes
from perfarray.machines.regions import COMPONENT, Chance, Redrawing, redrawing, with_regions
from perfarray.machines.sample_table import sample_table, without_gaps
from perfarray.machines.streamed import streamed_axes
from perfarray.timings.across import TooFew, each_suite
from perfarray.timings.apply import is_chunked
from perfarray.timings.best import SUMMARIES
from perfarray.timings.notes import Note, noted
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng, describe_key, key_of
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, listed

IMPUTATIONS = (None, "mean")


@each_suite
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
    """Show machines and benchmarks in few dimensions: the directions in which machines differ most, and which benchmarks make them.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores, with or without repetitions. Dims that are neither levels, `samples` nor `features` broadcast: each of their
        cells is analysed alone, with the samples and features it has.
    samples, features : str
        The dims whose labels are points and arrows of the biplot.
    by : str, optional
        A coordinate along `features`, such as `suite`: an analysis for each of its values, along a dim of that name; those with too little
        data are left out and named. Default: `suite` where names stand for benchmarks of several suites; else one for all.
    statistic : {"median", "mean", "min", "best", "geometric"}
        The summary of one cell's units; without repetitions there is nothing to summarise.
    scale : bool
        Whether every feature is divided by its standard deviation. By default those with larger numbers count for more.
    n_components : int, optional
        How many to keep; default: as many as there are samples or features, whichever is less.
    impute : {None, "mean"}
        Gaps: by default the sample or feature with the largest share of them is left out until none is left; "mean" keeps all that have
        data, and fills gaps with the feature's mean over the samples that have it.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Redraw the runs so many times: where may each sample lie, how sure are the loadings, and which samples are apart beyond the
        variation of their runs? And their seed or the `rng_key` of an earlier result. Lazy timings are computed for it.
    confidence_level : float
        Of those regions and limits.
    unit : str, optional
        The level whose repetitions are independent: lower levels are averaged. Default: the outermost.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the repetition dims present); the variable of a Dataset (default: its `time`).

    Returns
    -------
    Biplot
        `` has `score` (samples, principal_component), `loading` (features, principal_component), `explained_variance`,
        `explained_variance_ratio` and its sum so far `cumulative_variance_ratio` (principal_component), `center` and `divisor` (features),
        and `correlation` between features (features, <features>_2). Principal components are numbered from 1. Attrs `dropped_samples`,
        `dropped_features` and `n_imputed` say what became of gaps. `.perf.plot()` draws the biplot, `.perf.plot(kind="scree")` the
        explained variance.

        With `n_resamples`: `score_lower`, `score_upper` (samples, principal_component), `score_covariance` (samples, principal_component,
        principal_component_2) and `region_radius` (samples), how many standard deviations the region of a sample in two components
        reaches (`.perf.plot(regions=True)` draws the ellipses); `loading_lower`, `loading_upper`; and for every two samples (samples,
        <samples>_2) `distance`, over all components, and `apart_pvalue`, of "the runs of both come from the same distributions".

    Raises
    ------
    ValueError
        Unknown dims, statistics or levels; fewer than two samples without gaps; a constant feature to be scaled; more components than
        there are.

    Notes
    -----
    Features are centred. The sign of a component is arbitrary: its largest loading is made positive. Centred data of n samples have n - 1
    directions at most; where there are as many features, the last component has no variance and its loadings mean nothing.

    With `scale=False` a benchmark that runs longer has larger loadings; logs (`np.log(times)`) or `scale=True` make them alike. Values
    filled in by `impute="mean"` draw a machine towards the middle.

    Regions say how far the runs move a sample, not what other benchmarks would: samples and features are fixed. Every redrawn table is
    analysed, and its axes are turned onto the observed ones by an orthogonal Procrustes rotation of the scores; regions are ellipses
    with the covariance of the turned scores, as wide as F and t with Satterthwaite's degrees of freedom over the features say. Two regions
    that overlap may be apart: `apart_pvalue` answers that by exchanging the runs of two samples, benchmark by benchmark
    (those of `attrs["shared_levels"]` for all at once), and by their likelihood ratio: how much a benchmark's means differ counts in the
    measure of its own runs' variation, so that `scale` and `statistic` have no say. It is of one pair: for all pairs at once, correct it.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 11, tables 17 and 18, figure 16.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> table = xr.DataArray(
    ...     [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]],
    ...     dims=("machine", "benchmark"), coords={"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]},
    ... )
    >>> found = table.perf.principal_components(n_components=1)
    >>> found["loading"].round(3).values.ravel().tolist(), found["score"].round(3).values.ravel().tolist()
    ([0.447, 0.894], [-2.236, 0.0, 2.236])
    """
    del by  # the wrapper reads it
    check_choice(statistic, "statistic", SUMMARIES)
    check_choice(impute, "impute", IMPUTATIONS)
    check_choice(scale, "scale", (True, False))
    level = check_confidence_level(confidence_level)
    chance = None if n_resamples is None else Chance(check_count(n_resamples, "n_resamples", 20), key_of(rng), level)
    table, notes = sample_table(times, samples, features, statistic, unit, levels, metric)
    n_kept = None if n_components is None else check_count(n_components, "n_components")
    redrawn = None if chance is None else redrawing(times, table, (samples, features), chance, unit=unit, levels=levels, metric=metric)
    analyse = partial(_analysed, samples=samples, features=features, scale=scale, n_kept=n_kept, impute=impute, redrawn=redrawn)
    cell_dims = [dim for dim in table.dims if dim not in (samples, features)]
    if cell_dims or chance is not None or (is_chunked(table) and len(table.chunksizes[samples]) == 1):
        table = table.compute()
    result, of_gaps = _each_analysed(table, cell_dims, analyse) if cell_dims else analyse(table, {})
    attrs = {key: value for key, value in table.attrs.items() if key not in ("units", "long_name")} | result.attrs
    attrs |= {"result": "principal_components", "samples": samples, "features": features, "scale": int(scale)}
    if chance is not None:
        attrs |= {"n_resamples": chance.n_resamples, "confidence_level": level} | describe_key(chance.key)
    return noted(result.assign_attrs(attrs), *notes, *of_gaps)


def _analysed(
    table: xr.DataArray,
    cell: dict[Hashable, int],
    *,
    samples: str,
    features: str,
    scale: bool,
    n_kept: int | None,
    impute: str | None,
    redrawn: Redrawing | None,
) -> tuple[xr.Dataset, tuple[Note, ...]]:
    """Analyse one table of samples and features, that of a cell; return the answer and what there is to say of its gaps."""
    complete, indexers, attrs, notes = without_gaps(table, samples, features, impute)
    number = min(complete.sizes[samples], complete.sizes[features])
    if n_kept is not None and n_kept > number:
        raise ValueError(
            f"n_components={n_kept}: there are {number}, the lesser of {complete.sizes[samples]} labels of {samples!r} and "
            f"{complete.sizes[features]} of {features!r}"
        )
    if scale:
        _check_spread(complete, samples, features)
    units = str(table.attrs.get("units", "1"))
    result = _components(complete, samples, features, scale, n_kept or number, units)
    if redrawn is not None:
        result, of_runs = with_regions(result, complete, redrawn.at({**cell, **indexers}), (samples, features), scale=scale)
        notes = (*notes, *of_runs)
    return result.assign_attrs(attrs), notes


def _each_analysed(
    table: xr.DataArray,
    cell_dims: list[Hashable],
    analyse: Callable[[xr.DataArray, dict[Hashable, int]], tuple[xr.Dataset, tuple[Note, ...]]],
) -> tuple[xr.Dataset, tuple[Note, ...]]:
    """Analyse every cell of the other dims alone; a cell with too little data is NaN, a label that a cell leaves out is NaN there."""
    cells = list(product(*(range(table.sizes[dim]) for dim in cell_dims)))
    answers: dict[tuple[int, ...], xr.Dataset] = {}
    reason, incomplete, number = "", 0, len(cells)
    for indices in cells:
        try:
            cell = dict(zip(cell_dims, indices, strict=True))
            answers[indices], of_gaps = analyse(table.isel(cell, drop=True), cell)
        except TooFew as error:
            reason = str(error)
        else:
            incomplete += bool(of_gaps)
    if not answers:
        raise TooFew(f"none of {number} cells along {listed(cell_dims)} has enough data; in the last, {reason}")
    notes = []
    if len(answers) < number:
        text = f"{number - len(answers)} of {number} cells along {listed(cell_dims)} have too little data and are NaN"
        notes.append(Note("cells_without_answer", text, {"cells": number - len(answers), "of": number}))
    if incomplete:
        text = f"{incomplete} cells leave out or fill what was not measured in them"
        notes.append(Note("cells_with_gaps", text, {"cells": incomplete, "of": number}))
    return _joined(table, cell_dims, answers, cells).assign_attrs(n_cells=len(answers)), tuple(notes)


def _joined(
    table: xr.DataArray, cell_dims: list[Hashable], answers: dict[tuple[int, ...], xr.Dataset], cells: list[tuple[int, ...]]
) -> xr.Dataset:
    """Put the answers of the cells beside each other, with all labels that any of them has."""
    labels = {dim: table[dim].values for answer in answers.values() for dim in answer.dims if dim in table.dims}
    labels[COMPONENT] = np.arange(1, max(answer.sizes[COMPONENT] for answer in answers.values()) + 1)
    labels |= {f"{dim}_2": values for dim, values in labels.items() if f"{dim}_2" in next(iter(answers.values())).dims}
    aligned = {indices: answer.drop_attrs(deep=False).reindex(labels) for indices, answer in answers.items()}
    blank = xr.full_like(next(iter(aligned.values())), np.nan)
    joined: xr.Dataset = xr.concat([aligned.get(indices, blank) for indices in cells], "_cell", coords="minimal", compat="override")
    index = xr.Coordinates.from_pandas_multiindex(pd.MultiIndex.from_tuples(cells, names=cell_dims), "_cell")
    joined = joined.assign_coords(index).unstack("_cell").drop_vars(cell_dims)  # noqa: PD010, xarray's
    described = {name: coordinate.variable for name, coordinate in table.coords.items() if set(coordinate.dims) <= {*cell_dims, *labels}}
    return joined.assign_coords(described).transpose(*cell_dims, ...)


def coordinates_along(array: xr.DataArray, dim: str) -> dict[Hashable, Any]:
    """Return the coordinates that describe the labels of a dim."""
    return {name: coordinate.variable for name, coordinate in array.coords.items() if coordinate.dims == (dim,)}


def _check_spread(table: xr.DataArray, samples: str, features: str) -> None:
    """Raise where a feature is the same for all samples: it cannot be scaled."""
    constant = (table.max(samples) == table.min(samples)).compute()
    if constant.any():
        names = table[features].values[constant.values]
        raise ValueError(
            f"scale=True divides by the standard deviation, which is 0 for {listed(names)} of {features!r}; leave them out, or scale=False"
        )


def _components(table: xr.DataArray, samples: str, features: str, scale: bool, n_kept: int, units: str) -> xr.Dataset:
    """Return the principal components as labelled arrays; of a chunked table the scores are lazy, and no more than a chunk is in memory."""
    matrix = table.transpose(samples, features).data
    axes = principal_axes(matrix, scale=scale) if isinstance(matrix, np.ndarray) else streamed_axes(matrix, scale=scale)
    second, unit = f"{features}_2", "1" if scale else units
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
    result = xr.Dataset({name: (dims, values, {"units": unit}) for name, (dims, values, unit) in variables.items()}, labels | described)
    result["correlation"].attrs["long_name"] = "Pearson's, between features over samples"
    return result

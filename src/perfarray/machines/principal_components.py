"""Which machines behave alike, and which benchmarks tell them apart: principal components, biplots, clusters."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import LEVELS, METRIC, square_units
from perfarray.machines.numerics.principal_components import Components, cluster_labels, complete_part, principal_axes
from perfarray.numerics.bootstrap import evaluate
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply
from perfarray.timings.notes import warn
from perfarray.timings.resolve import Data, check_dim, check_names, check_positive_values, resolve
from perfarray.timings.results import Result
from perfarray.timings.units import describe_unit, unit_place
from perfarray.timings.validation import check_choice, check_count, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COMPONENT = "principal_component"
STATISTICS = ("median", "mean", "min", "geometric")
IMPUTATIONS = (None, "mean")
LINKAGES = ("ward", "average", "complete", "single", "weighted", "centroid", "median")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Biplot(Result):
    """Principal components of machines by benchmarks: what `principal_components` answers.

    Parameters
    ----------
    dataset : Dataset
        What `to_dataset` gives, as `principal_components` says.

    Examples
    --------
    >>> import xarray as xr, perfarray
    >>> table = xr.DataArray(
    ...     [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]],
    ...     dims=("machine", "benchmark"), coords={"machine": ["x", "y", "z"], "benchmark": ["fft", "sort"]},
    ... )
    >>> table.perf.principal_components().to_dataset()["explained_variance_ratio"].round(6).values.tolist()
    [1.0, 0.0]
    """


def principal_components(
    times: Data,
    *,
    samples: str = "machine",
    features: str = "benchmark",
    statistic: str = "median",
    scale: bool = False,
    n_components: int | None = None,
    impute: str | None = None,
    unit: str | None = None,
    levels: str | Sequence[str] | None = None,
    metric: str | None = None,
) -> Biplot:
    """Show machines and benchmarks in few dimensions: the directions in which machines differ most, and which benchmarks make them.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores, with or without repetitions. Dims that are neither levels, `samples` nor `features` broadcast: each of their
        cells is analysed alone, with the samples and features it has.
    samples, features : str
        The dims whose labels are points and arrows of the biplot.
    statistic : {"median", "mean", "min", "geometric"}
        The summary of one cell's units; without repetitions there is nothing to summarise.
    scale : bool
        Whether every feature is divided by its standard deviation. By default those with larger numbers count for more.
    n_components : int, optional
        How many to keep; default: as many as there are samples or features, whichever is less.
    impute : {None, "mean"}
        Gaps: by default the sample or feature with the largest share of them is left out until none is left; "mean" keeps all that have
        data, and fills gaps with the feature's mean over the samples that have it.
    unit : str, optional
        The level whose repetitions are independent: lower levels are averaged. Default: the outermost.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    metric : str, optional
        Variable of a Dataset.

    Returns
    -------
    Biplot
        `.to_dataset()` has `score` (samples, principal_component), `loading` (features, principal_component), `explained_variance` and
        `explained_variance_ratio` (principal_component), `center` and `divisor` (features), and `correlation` between features
        (features, <features>_2). Principal components are numbered from 1. `.plot()` draws the biplot, `.plot(kind="scree")` the
        explained variance. Attrs `dropped_samples`, `dropped_features` and `n_imputed` say what became of gaps.

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
    >>> found = table.perf.principal_components(n_components=1).to_dataset()
    >>> found["loading"].round(3).values.ravel().tolist(), found["score"].round(3).values.ravel().tolist()
    ([0.447, 0.894], [-2.236, 0.0, 2.236])
    """
    check_choice(statistic, "statistic", STATISTICS)
    check_choice(impute, "impute", IMPUTATIONS)
    check_choice(scale, "scale", (True, False))
    table, note = _table(times, samples, features, statistic, unit, levels, metric)
    wanted = None if n_components is None else check_count(n_components, "n_components")
    analyse = partial(_of_one, samples=samples, features=features, scale=scale, wanted=wanted, impute=impute)
    others = [dim for dim in table.dims if dim not in (samples, features)]
    result, said = _of_each(table, others, analyse) if others else analyse(table)
    attrs = {key: value for key, value in table.attrs.items() if key not in ("units", "long_name")} | result.attrs
    attrs |= {"result": "principal_components", "samples": samples, "features": features, "scale": int(scale)}
    warn(note, said)
    return Biplot(dataset=result.assign_attrs(attrs))


class _TooFew(ValueError):
    """A table of which too little is left without gaps."""


def _of_one(
    table: xr.DataArray, samples: str, features: str, scale: bool, wanted: int | None, impute: str | None
) -> tuple[xr.Dataset, str]:
    """Analyse one table of samples and features; return the answer and what is to be warned of."""
    complete, gaps, said = _without_gaps(table, samples, features, impute)
    number = min(complete.sizes[samples], complete.sizes[features])
    if wanted is not None and wanted > number:
        raise ValueError(
            f"n_components={wanted}: there are {number}, the lesser of {complete.sizes[samples]} labels of {samples!r} and "
            f"{complete.sizes[features]} of {features!r}"
        )
    if scale:
        _check_spread(complete, samples, features)
    units = str(table.attrs.get("units", "1"))
    return _components(complete, samples, features, scale, wanted or number, units).assign_attrs(gaps), said


def _of_each(
    table: xr.DataArray, others: list[Hashable], analyse: Callable[[xr.DataArray], tuple[xr.Dataset, str]]
) -> tuple[xr.Dataset, str]:
    """Analyse every cell of the other dims alone; a cell with too little data is NaN, a label that a cell leaves out is NaN there."""
    cells = list(product(*(range(table.sizes[dim]) for dim in others)))
    found: dict[tuple[int, ...], xr.Dataset] = {}
    reason, incomplete = "", 0
    for places in cells:
        try:
            answer, said = analyse(table.isel(dict(zip(others, places, strict=True)), drop=True))
        except _TooFew as error:
            reason = str(error)
            continue
        incomplete += bool(said)
        found[places] = answer
    number = len(cells)
    if not found:
        raise _TooFew(f"none of {number} cells along {listed(others)} has enough data; in the last, {reason}")
    labels = {dim: table[dim].values for answer in found.values() for dim in answer.dims if dim in table.dims}
    labels |= {f"{dim}_2": values for dim, values in labels.items() if f"{dim}_2" in next(iter(found.values())).dims}
    labels[COMPONENT] = np.arange(1, max(answer.sizes[COMPONENT] for answer in found.values()) + 1)
    whole = {places: answer.drop_attrs(deep=False).reindex(labels) for places, answer in found.items()}
    blank = xr.full_like(next(iter(whole.values())), np.nan)
    joined: xr.Dataset = xr.concat([whole.get(places, blank) for places in cells], "_cell", coords="minimal", compat="override")
    index = xr.Coordinates.from_pandas_multiindex(pd.MultiIndex.from_tuples(cells, names=others), "_cell")
    joined = joined.assign_coords(index).unstack("_cell").drop_vars(others)  # noqa: PD010, xarray's
    joined = joined.assign_coords(
        {name: coordinate.variable for name, coordinate in table.coords.items() if set(coordinate.dims) <= {*others, *labels}}
    )
    notes = []
    if len(found) < number:
        notes.append(f"{number - len(found)} of {number} cells along {listed(others)} have too little data and are NaN")
    if incomplete:
        notes.append(f"{incomplete} cells leave out or fill what was not measured in them")
    return joined.transpose(*others, ...).assign_attrs(n_cells=len(found)), "; ".join(notes)


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
    ax: "Axes | None" = None,
    **keywords: Any,
) -> "Axes":
    """Draw machines as points and benchmarks as arrows along the first two principal components.

    Parameters
    ----------
    times : DataArray or Dataset
        As for `principal_components`.
    samples, features, statistic, scale, impute, unit, levels, metric : optional
        As for `principal_components`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    **keywords
        What the picture takes: `kind`, `components`.

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
    return found.plot(ax=ax, **keywords)


def cluster_machines(
    times: Data,
    n_clusters: int,
    *,
    method: str = "ward",
    samples: str = "machine",
    features: str = "benchmark",
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
    times : DataArray or Dataset
        As for `principal_components`.
    n_clusters : int
        How many groups.
    method : {"ward", "average", "complete", "single", "weighted", "centroid", "median"}
        How SciPy's hierarchy joins groups (`scipy.cluster.hierarchy.linkage`).
    samples, features, statistic, scale, impute, unit, levels, metric : optional
        As for `principal_components`.
    n_components : int, optional
        How many components distances are taken from; default: all, which are the distances between the machines themselves.

    Returns
    -------
    DataArray
        Cluster of every sample, 1, 2, ... in the order of the samples. Samples left out because of gaps are named in the attr
        `dropped_samples`; where further dims make several analyses, they are NaN.

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
    found = principal_components(
        times, samples=samples, features=features, statistic=statistic, scale=scale, n_components=n_components, impute=impute, unit=unit,
        levels=levels, metric=metric,
    ).to_dataset()  # fmt: skip
    score = found["score"]
    if number > score.sizes[samples]:
        raise ValueError(f"n_clusters={n_clusters}: there are {score.sizes[samples]} labels of {samples!r} to group")
    gaps = bool(score.isnull().any())

    def kernel(scores: Floats) -> tuple[np.ndarray, ...]:
        cells = scores.reshape(-1, *scores.shape[-2:])
        labels = np.full(cells.shape[:-1], np.nan)
        # SciPy's hierarchy takes one set of points at a time; samples and components that a cell lacks are NaN.
        for cell, own in zip(cells, labels, strict=True):
            here = ~np.isnan(cell).all(axis=-1)
            if here.sum() >= number:
                own[here] = cluster_labels(np.nan_to_num(cell[here]), number, method)
        return ((labels if gaps else labels.astype(int)).reshape(scores.shape[:-1]),)

    labels = score[samples].values
    outputs = {"cluster": Output((samples,), "1", float if gaps else int)}
    attrs = found.attrs | {"result": "cluster_machines", "method": method, "n_clusters": number}
    clusters = apply(kernel, score, core=[(samples, COMPONENT)], outputs=outputs, coords={samples: labels.tolist()})["cluster"]
    return clusters.assign_coords(_along(score, samples)).assign_attrs(attrs)


def _along(array: xr.DataArray, dim: str) -> dict[Hashable, Any]:
    """Return the coordinates that describe the labels of a dim."""
    return {name: coordinate.variable for name, coordinate in array.coords.items() if coordinate.dims == (dim,)}


def _table(
    times: Data,
    samples: str,
    features: str,
    statistic: str,
    unit: str | None,
    levels: str | Sequence[str] | None,
    metric: str | None,
) -> tuple[xr.DataArray, str]:
    """Return one number per sample and feature, in memory, with the attrs of a result; and what is to be warned of."""
    if samples == features:
        raise ValueError(f"samples={samples!r} and features={features!r} are the same dim; name two")
    field = _field(times, metric) if levels is None else None
    if field is not None:
        if unit is not None:
            raise ValueError(f"unit={unit!r} was given for data without a repetition dim (dims {tuple(field.dims)})")
        _check_dims(field, samples, features)
        kept = {key: field.attrs[key] for key in ("units", "better") if key in field.attrs}
        return field.astype(float).compute().assign_attrs({METRIC: str(field.name or "score")} | kept), ""
    data = resolve(times, metric, levels)
    _check_dims(data.array, samples, features)
    if statistic == "geometric":
        check_positive_values(data, "statistic='geometric'")
    place = unit_place(data, unit)
    depth = len(data.levels)

    def kernel(values: Floats) -> tuple[Floats, ...]:
        sample = one_value_per_unit(values, depth, place)
        rows = sample.reshape(-1, sample.shape[-1])
        found = np.exp(evaluate(np.log(rows), "mean")) if statistic == "geometric" else evaluate(rows, statistic)
        return (found.reshape(sample.shape[:-1]),)

    table = apply(kernel, data.array, core=[data.levels], outputs={"value": Output((), data.units)})["value"].compute()
    attrs = describe_unit(data, place) | {"statistic": statistic, "units": data.units, "better": data.better}
    return table.drop_attrs().assign_attrs(attrs), "; ".join(note.message for note in data.notes)


def _field(times: Data, metric: str | None) -> xr.DataArray | None:
    """Return the variable that holds one value per cell, where there is no repetition dim; None where there is one."""
    if isinstance(times, xr.DataArray):
        return None if metric is not None or any(dim in LEVELS for dim in times.dims) else times
    if not isinstance(times, xr.Dataset) or any(dim in LEVELS for dim in times.dims):
        return None
    numbers = [str(name) for name, variable in times.data_vars.items() if variable.dtype.kind in "iuf"]
    wanted = metric if metric is not None else times.attrs.get(METRIC)
    if wanted in numbers:
        return times[str(wanted)]
    if metric is None and len(numbers) == 1:
        return times[numbers[0]]
    raise ValueError(f"which variable holds the values? Say so with metric=; the Dataset has the numbers {listed(numbers)}")


def _check_dims(array: xr.DataArray, samples: str, features: str) -> None:
    """Raise unless the array has both dims."""
    check_names((samples, features), "samples, features")
    check_dim(array, samples, "samples")
    check_dim(array, features, "features")


def _without_gaps(table: xr.DataArray, samples: str, features: str, impute: str | None) -> tuple[xr.DataArray, dict[str, Hashable], str]:
    """Leave out or fill what was not measured; return the table, attrs that say so, and a warning."""
    finite = (table.notnull() & (abs(table) != np.inf)).transpose(samples, features)
    if impute == "mean":
        rows, columns = (finite.any(dim).values for dim in (features, samples))
    else:
        rows, columns = complete_part(finite.values)
    kept = table.isel({samples: np.flatnonzero(rows), features: np.flatnonzero(columns)})
    there = finite.isel({samples: np.flatnonzero(rows), features: np.flatnonzero(columns)})
    filled = int((~there).sum())
    if kept.sizes[samples] < 2 or kept.sizes[features] < 1:
        raise _TooFew(
            f"{kept.sizes[samples]} labels of {samples!r} and {kept.sizes[features]} of {features!r} are left without gaps, of "
            f"{table.sizes[samples]} and {table.sizes[features]}; two and one are needed: measure more, select, or give impute='mean'"
        )
    attrs: dict[str, Hashable] = {"impute": impute or "none"}
    notes = []
    for name, dim, keep in (("dropped_samples", samples, rows), ("dropped_features", features, columns)):
        dropped = [str(label) for label in table[dim].values[~keep]]
        if dropped:
            attrs[name] = ", ".join(dropped)
            notes.append(f"{len(dropped)} of {len(keep)} labels of {dim!r} are left out for lack of values: {listed(dropped)}")
    if filled:
        attrs["n_imputed"] = filled
        notes.append(f"{filled} of {kept.size} values were not measured and are replaced by the mean of their {features}")
        kept = kept.where(there, kept.where(there).mean(samples)).assign_attrs(kept.attrs)
    return kept, attrs, "; ".join(notes)


def _check_spread(table: xr.DataArray, samples: str, features: str) -> None:
    """Raise where a feature is the same for all samples: it cannot be scaled."""
    constant = table.max(samples) == table.min(samples)
    if bool(constant.any()):
        names = table[features].values[constant.values]
        raise ValueError(
            f"scale=True divides by the standard deviation, which is 0 for {listed(names)} of {features!r}; leave them out, or scale=False"
        )


def _components(table: xr.DataArray, samples: str, features: str, scale: bool, kept: int, units: str) -> xr.Dataset:
    """Return the principal components as labelled arrays."""
    second = f"{features}_2"

    def kernel(values: Floats) -> tuple[Floats, ...]:
        found = principal_axes(values, scale=scale)
        first: Components = found._replace(
            scores=found.scores[..., :kept], loadings=found.loadings[..., :kept], variances=found.variances[..., :kept],
            ratios=found.ratios[..., :kept],
        )  # fmt: skip
        return (*first, _correlations(values))

    unit = "1" if scale else units
    outputs = {
        "score": Output((samples, COMPONENT), unit),
        "loading": Output((features, COMPONENT), "1"),
        "explained_variance": Output((COMPONENT,), square_units(unit)),
        "explained_variance_ratio": Output((COMPONENT,), "1"),
        "center": Output((features,), units),
        "divisor": Output((features,), units if scale else "1"),
        "correlation": Output((features, second), "1", long_name="Pearson's, between features over samples"),
    }
    labels = {dim: table[dim].values.tolist() for dim in (samples, features)}
    coords = {COMPONENT: range(1, kept + 1), **labels, second: labels[features]}
    found = apply(kernel, table, core=[(samples, features)], outputs=outputs, coords=coords)
    return found.assign_coords(_along(table, samples) | _along(table, features))


def _correlations(values: Floats) -> Floats:
    """Return Pearson's correlations between the columns of tables; NaN where one is constant."""
    centred = values - values.mean(axis=-2, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / np.where(length > 0, length, np.nan)[..., None, :]
    return np.asarray(np.clip(np.swapaxes(unit, -1, -2) @ unit, -1.0, 1.0))

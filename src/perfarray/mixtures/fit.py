"""Mixtures fitted to run times: the modes of a program, how often each is taken, how wide it is."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import METRIC, UNKNOWN
from perfarray.mixtures.joint import COMPONENT, METRIC_2
from perfarray.mixtures.model import NORMAL, GaussianMixture, parameter_outputs, parameter_values
from perfarray.mixtures.numerics.fit import (
    EQUAL,
    MOST_COMPONENTS,
    UNEQUAL,
    FitRequest,
    Fits,
    weighted_samples,
)
from perfarray.mixtures.numerics.joint import fit_joint_samples
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.pool import FLOOR
from perfarray.mixtures.numerics.scale import NAMES, Scaled, fit_on_scale
from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, outputs
from perfarray.timings.metrics import for_each_metric, single_metric
from perfarray.timings.notes import Note, check, with_notes
from perfarray.timings.options import engine
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, Timings, check_names, resolve
from perfarray.timings.units import cells_note, describe_value, value_depth
from perfarray.timings.validation import check_choice, check_count, check_number

MODELS = (EQUAL, UNEQUAL)

BEST = "best"

# Runs from which on samples of one normal mode show several modes in at most 5 %.
FEW_RUNS = 50


def fit_mixture(
    times: Data,
    *,
    max_components: int = MOST_COMPONENTS,
    n_components: int | None = None,
    covariance: str | Sequence[str] = MODELS,
    tolerance: float | None = None,
    distribution: str | Sequence[str] = NORMAL,
    joint: bool = False,
    progress: bool | None = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> GaussianMixture:
    """Describe the runs of every cell as a mixture of normal distributions, or of another family.

    Mixtures of 1 to `max_components` components are fitted by maximum likelihood (EM), and the one
    with the largest BIC is kept.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast, each cell with a fit of its own.
    max_components : int
        The largest number of components tried.
    n_components : int, optional
        The only number of components tried; cells with fewer distinct values get as many.
    covariance : {"equal", "unequal"} or both
        Components with one common variance, or a variance for each.
    tolerance : float, optional
        The relative change of the log-likelihood at which EM stops, such as mclust's 1e-5. Default:
        EM goes on to the maximum.
    distribution : str or sequence of str
        The family: "normal", "lognormal", "gamma", "weibull", "exponential", "pareto" or "extreme".
        Of several ("best": all), the one with the largest BIC; another than the normal must lead by
        more than 2.
    joint : bool
        Fit the metrics that `metric` lists together, by normal components with correlations.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.
    value : str, optional
        The level whose repetitions are runs; lower ones are averaged. Default: `execution`, else
        the lowest.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    GaussianMixture
        `.to_dataset()` has along `component`, in ascending order of means: `weight` (0: absent),
        `mean` and `standard_deviation` (units of the data); for each cell `n_components`, `family`,
        `covariance`, `loglik`, `bic` (the larger the better), `n` (runs), `n_iterations`,
        `converged`, `floored`, `n_floored`. Other families add SciPy's `shape_parameter`,
        `location` and `scale`; joint fits `correlation` and `n_incomplete`.

    Raises
    ------
    ValueError
        Unknown levels, value, covariance or distribution; numbers that are not positive; `joint`
        without several metrics, or of another family.

    See Also
    --------
    goodness_of_fit : whether the mixture describes the runs

    Notes
    -----
    Every outermost unit has equal weight, and runs are taken as independent. Below 50 runs BIC
    finds too many components. See :doc:`/papers/worms_touati`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, sections 4 and 8.2; L. Scrucca et al., "mclust 5", The R Journal 2016.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> fit = times.perf.fit_mixture().to_dataset().sel(benchmark="fft").dropna("component")
    >>> fit["weight"].round(2).values.tolist(), fit["mean"].round(2).values.tolist()
    ([0.6, 0.4], [1.0, 1.2])
    """
    numbers = (
        range(1, check_count(max_components, "max_components") + 1)
        if n_components is None
        else [check_count(n_components, "n_components")]
    )
    if tolerance is not None:
        check_positive(tolerance, "tolerance", "a positive number such as 1e-5, or None")
    request = FitRequest(
        numbers=numbers,
        models=_in_order(covariance, "covariance", MODELS),
        tolerance=None if tolerance is None else float(tolerance),
        forced=n_components is not None,
        families=_in_order(distribution, "distribution", NAMES, BEST),
        engine=engine(),
    )
    if joint:
        dataset = _fit_jointly(times, metric, levels, value, progress, request)
    else:
        dataset = _fit(
            times, metric=metric, levels=levels, value=value, progress=progress, request=request
        )
    return GaussianMixture(dataset=dataset)


@for_each_metric
def _fit(
    times: Data,
    *,
    metric: Any,
    levels: Any,
    value: str | None,
    progress: bool | None,
    request: FitRequest,
) -> xr.Dataset:
    data = resolve(times, metric, levels, any_size=True)
    variables = parameter_outputs(data.units, request.families) | _fit_outputs("variances")
    attrs = {"units": data.units, "better": data.better}
    result = _apply(
        _fit_cells, [data], variables, attrs, {}, value=value, progress=progress, request=request
    )
    return with_notes(result, *data.notes, checks=("fit_mixture",))


def _fit_jointly(
    times: Data,
    metric: Any,
    levels: Any,
    value: str | None,
    progress: bool | None,
    request: FitRequest,
) -> xr.Dataset:
    names = [] if metric is None or isinstance(metric, str) else check_names(metric, METRIC)
    if len(names) < 2 or not isinstance(times, xr.Dataset):
        raise ValueError(
            f"metric={metric!r}: joint=True fits several metrics of a Dataset together, as in "
            "metric=['time', 'energy']"
        )
    if tuple(request.families) != (NORMAL,):
        raise ValueError(
            f"distribution={' '.join(request.families)!r}: joint=True fits normal components"
        )
    metrics = [resolve(single_metric(times, name), name, levels) for name in names]
    for name, data in zip(names, metrics, strict=True):
        if data.levels != metrics[0].levels:
            raise ValueError(
                f"{name} has the levels {', '.join(data.levels)} and {names[0]} has "
                f"{', '.join(metrics[0].levels)}. Metrics measured together have the same: average "
                "over what one of them has more."
            )
    units = [data.units for data in metrics]
    common = units[0] if len(set(units)) == 1 else ""
    variables = parameter_outputs(common, (NORMAL,), joint=True)
    variables |= _fit_outputs("covariances", n_incomplete="runs without one of the metrics")
    labels = np.array(names, object)
    attrs = {"metric": " ".join(names)} | ({"units": common} if common else {})
    coords = {METRIC: labels, METRIC_2: labels}
    result = _apply(
        _fit_cells_jointly,
        metrics,
        variables,
        attrs,
        coords,
        value=value,
        progress=progress,
        request=request,
    )
    by_metric = {"units": units, "better": [data.better for data in metrics]}
    result = result.assign_coords(
        {name: (METRIC, np.array(texts, object)) for name, texts in by_metric.items()}
    )
    notes = dict.fromkeys(note for data in metrics for note in data.notes)
    return with_notes(result, *notes, checks=("fit_mixture", "joint"))


def _apply(
    kernel: Callable[..., tuple[Any, ...]],
    metrics: Sequence[Timings],
    variables: Mapping[str, Output],
    attrs: Mapping[str, Hashable],
    coords: Mapping[str, Any],
    *,
    value: str | None,
    progress: bool | None,
    request: FitRequest,
) -> xr.Dataset:
    """Fit mixtures to the cells of a metric, or of several together, with a progress bar."""
    nest, depth, largest = metrics[0].levels, value_depth(metrics[0], value), max(request.numbers)
    fit_attrs: dict[str, Hashable] = {
        "result": "fit_mixture",
        "variance_floor": FLOOR,
        "few_runs": FEW_RUNS,
        "models": " ".join(request.models),
        "max_components": largest,
        "engine": request.engine,
        "distribution": " ".join(request.families),
    }
    fit_attrs |= {"tolerance": request.tolerance} if request.tolerance is not None else {}
    fit_attrs |= {"n_components": largest} if request.forced else {}
    cells = metrics[0].array.count(nest)
    bar = cells_bar(cells, "fitting mixtures", show=progress, steps_per_cell=len(request.families))
    request = request if bar is None else replace(request, progress=bar.update)
    result = apply(
        partial(kernel, levels=len(nest), depth=depth, request=request),
        *(data.array for data in metrics),
        core=[nest] * len(metrics),
        outputs=variables,
        coords={COMPONENT: range(1, largest + 1), **coords},
        attrs={**describe_value(metrics[0], depth), **attrs, **fit_attrs},
    )
    if bar is not None:
        bar.close()
    return result


def _fit_outputs(model: str, **counts: str) -> dict[str, Output]:
    """Return the variables that describe a fit."""
    return {
        **outputs(n_components=""),
        "covariance": Output((), "", object, f"{model} of the components"),
        **outputs(
            loglik="log-likelihood",
            bic="2 log-likelihood - parameters log n",
            n="runs",
            **counts,
            n_iterations="steps of EM",
        ),
        "converged": Output((), "", bool),
        "floored": Output((), "", bool, "a component lies at the variance floor"),
        **outputs(n_floored="fits with a component at the variance floor"),
    }


def request_of(mixture: xr.Dataset) -> FitRequest | None:
    """Return how a mixture was fitted, from its attrs.

    None for one that was made from its parameters.
    """
    attrs = mixture.attrs
    if attrs.get("result") != "fit_mixture":
        return None
    forced, tolerance = int(attrs.get("n_components", 0)), attrs.get("tolerance")
    return FitRequest(
        numbers=[forced] if forced else range(1, int(attrs["max_components"]) + 1),
        models=tuple(str(attrs["models"]).split()),
        tolerance=None if tolerance is None else float(tolerance),
        forced=forced > 0,
        families=families_of(mixture),
        engine=engine(),
    )


def families_of(mixture: xr.Dataset) -> tuple[str, ...]:
    """Return the families that the components of a mixture were chosen from."""
    return tuple(str(mixture.attrs.get("distribution", NORMAL)).split())


def check_positive(value: float, name: str, example: str = "a positive number") -> float:
    """Return a positive number."""
    number = check_number(value, name)
    if number <= 0:
        raise ValueError(f"{name}={value!r}: give {example}")
    return number


def _in_order(
    names: str | Sequence[str], argument: str, allowed: tuple[str, ...], wildcard: str | None = None
) -> tuple[str, ...]:
    """Return the names, in the order of those that are known; `every` stands for all of these."""
    requested = check_names(names, argument)
    for name in requested:
        check_choice(name, argument, allowed if wildcard is None else (*allowed, wildcard))
    return (
        allowed if wildcard in requested else tuple(name for name in allowed if name in requested)
    )


def _fit_cells(values: Floats, *, levels: int, depth: int, request: FitRequest) -> tuple[Any, ...]:
    """Return the columns of the fits of every cell in the order of the outputs."""
    runs = values_by_unit(values, levels, depth)
    fits, family = fit_on_scale(*weighted_samples(runs), request)
    parameters = parameter_values(Scaled(NormalMixture(*fits[:3]), family), request.families)
    columns = (*parameters, fits.n_components, _covariance(fits), *fits[5:])
    return tuple(column.reshape((*runs.shape[:-2], *column.shape[1:])) for column in columns)


def _fit_cells_jointly(
    *values: Floats, levels: int, depth: int, request: FitRequest
) -> tuple[Any, ...]:
    """Return the columns of the fits of every cell in the order of the outputs."""
    metrics = np.broadcast_arrays(*values)
    missing = np.isnan(metrics)
    runs = [
        values_by_unit(np.where(missing.any(axis=0), np.nan, metric), levels, depth)
        for metric in metrics
    ]
    partial_runs = values_by_unit(np.where(missing.all(axis=0), np.nan, 0.0), levels, depth)
    samples = np.stack([weighted_samples(metric)[0] for metric in runs], axis=-1)
    fits, correlation = fit_joint_samples(samples, weighted_samples(runs[0])[1], request)
    n_incomplete = (~np.isnan(partial_runs.reshape(len(samples), -1))).sum(axis=-1) - fits.n
    model = _covariance(fits)
    family = np.where(model == UNKNOWN, UNKNOWN, NORMAL).astype(object)
    columns = (
        *fits[:3],
        correlation,
        family,
        fits.n_components,
        model,
        *fits[5:8],
        n_incomplete,
        *fits[8:],
    )
    return tuple(column.reshape((*runs[0].shape[:-2], *column.shape[1:])) for column in columns)


def _covariance(fits: Fits) -> Any:
    return np.where(
        np.isnan(fits.n_components), UNKNOWN, np.where(fits.equal, EQUAL, UNEQUAL)
    ).astype(object)


@check("fit_mixture")
def fit_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells that have no proper fit, or components that may be chance."""
    n, unknown = result["n"], result["n_components"].isnull()
    few_runs = int(result.attrs["few_runs"])
    without = (unknown & (n > 0)).values & (families_of(result) != (NORMAL,))
    chance = ((result["n_components"] > 1) & (n < few_runs)).values
    constant = np.isposinf(result["loglik"].values)
    text_of_few = (
        f"{{cells}} have several components and fewer than {few_runs} runs: they may be chance. "
        "variability_level tests what runs support."
    )
    untested = cells_note("few_runs", text_of_few, n, chance)
    cases = (
        ("no_value", "{cells} have no measured value, and no mixture", (n == 0).values),
        (
            "constant",
            "{cells} are constant or of one run. Their mixture is one component with standard "
            "deviation 0.",
            constant,
        ),
        (
            "floored",
            "{cells} have a component at the variance floor: ties, or too few values for "
            "n_components. Its standard deviation means nothing.",
            result["floored"].values,
        ),
        (
            "floored",
            "{cells} have not converged. Set a tolerance, or a smaller max_components.",
            (~result["converged"] & ~unknown).values,
        ),
        (
            "no_mixture",
            "{cells} have runs that are not positive: they have no fit. distribution='normal' and "
            "'extreme' take them.",
            without,
        ),
    )
    notes = (cells_note(code, text, n, where) for code, text, where in cases)
    return *notes, None if untested is None else replace(untested, aside=True)


@check("joint")
def joint_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name the cells with runs that lack a metric, and those without a fit."""
    n, n_incomplete = result["n"], result["n_incomplete"]
    metrics = str(result.attrs["metric"]).replace(" ", " and ")
    incomplete = (
        f"{{cells}} have runs without {metrics} together, which are left out (n_incomplete)."
    )
    without = (
        f"{{cells}} have no joint fit. Their runs of {metrics} are too few, constant, or "
        "proportional to each other."
    )
    return (
        cells_note("unmatched", incomplete, n_incomplete, (n_incomplete > 0).values),
        cells_note("no_mixture", without, n, (result["n_components"].isnull() & (n > 0)).values),
    )

"""The bootstrap distribution of a statistic, and intervals read off it."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import BENCHMARK, LOWER
from perfarray.numerics.bootstrap_limits import limits_of, percentile_family
from perfarray.numerics.bootstrap_samples import draw_sample, flattened, mean_by_draws, spread
from perfarray.numerics.intervals import BOOTSTRAP_METHODS
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked, outputs
from perfarray.timings.best import BEST, resolve_best, slow_end_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import FAR, statistic_bounds, with_unknown_at_best, with_worst_case
from perfarray.timings.resampling import Resample, check_resampling
from perfarray.timings.resolve import Data, Timings, resolve, shared_levels
from perfarray.timings.streams import Rng, cell_keys
from perfarray.timings.units import UNITS, not_measured  # its check is one of the interval's
from perfarray.timings.units import units_notes as units_notes
from perfarray.timings.validation import accepts, check_choice, check_confidence_level

REPLICATE = "replicate"
OBSERVED = "observed"  # the coordinate of a distribution that holds the statistic of the data
SUITE_SCORE = "suite_score"  # a coordinate that only distributions of scores have
STATISTICS = ("mean", "median", "min", BEST)
STORED = ("percentile", "basic")  # methods that need replicates alone
# replicates from which on an observed statistic outside all of them is an error and not chance
FEWEST = 20

# The consequence for limits whose replicates only rise, or only fall, with stopped runs.
STOPPED = (
    "The limits hold whatever they would have taken. An estimate that depends on "
    "them is a bound, or NaN"
)

Statistic = str | Callable[..., Any]


def bootstrap_distribution(
    times: Data,
    *,
    statistic: Statistic = "mean",
    levels: str | tuple[str, ...] | None = None,
    resample: Resample = None,
    n_resamples: int = 1000,
    rng: Rng = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    metric: str | None = None,
) -> xr.DataArray:
    """Redraw the experiment many times, and return the statistic of every redrawn experiment.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    statistic : {"mean", "median", "min", "best"} or callable
        The mean averages lower levels first; the median weights units alike; `best` is the minimum
        of times, the maximum of rates. `f(x, axis=-1)` gets all values.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the levels present); the variable (default: `time`).
    resample : None, "all", "flat", str or tuple of str
        Levels to redraw: the outermost (None), all or those named; "flat" ignores the nest.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Bootstrap replicates; their seed, or the `rng_key` of a result.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark. Default: `attrs["shared_levels"]`.
    paired : str, optional
        The outermost level, if its units match between the labels that are compared.

    Returns
    -------
    DataArray
        The replicates along the last dim `replicate`, in the units of the data, with coordinates
        `observed` (the statistic of the data) and `n` (the number of outermost units).

    Raises
    ------
    ValueError
        Unknown levels or statistics; a statistic that returns NaN; shared or paired units with a
        flat draw.

    Notes
    -----
    :doc:`/how-to/bootstrap` says which levels to redraw.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 7.2.1.

    Examples
    --------
    Two draws from 1 and 3 have the means 1, 2, 2 and 3: their variance is 1 / 2.

    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [1.0, 3.0]})
    >>> replicates = times.perf.bootstrap_distribution(n_resamples=20_000, rng=1)
    >>> replicates["observed"].item(), round(replicates.var().item(), 1)
    (2.0, 0.5)
    """
    _check_statistic(statistic)
    data = resolve(times, metric, levels)
    of_values = resolve_best(statistic, data.better)
    array, nest, note = data.array, data.levels, None
    compared = [str(dim) for dim in array.dims if dim not in (*nest, BENCHMARK)]
    common = shared_levels(data, shared) if shared is not None or resample != "flat" else ()
    # The number of outer levels that the benchmarks share.
    joint = next((number for number, level in enumerate(nest) if level not in common), len(nest))
    joint = joint if BENCHMARK in (*array.dims, *array.coords) else 0
    plan = check_resampling(data, resample, n_resamples, rng, joint=joint > 0 or paired is not None)
    if paired is not None:
        array, note = _matched_units(data, paired, compared)
    alike = [BENCHMARK] if joint else []  # dims whose cells draw the same units
    cells, groups = cell_keys([array], nest), cell_keys([array], nest, excluded=alike)
    pairs = groups if paired is None else cell_keys([array], nest, excluded=compared + alike)
    outer = [nest[:depth] for depth in range(1, max(joint, paired is not None) + 1)]
    # The units of each outer nest that any cell of a group measured
    present = []
    for names in outer:
        kept = (*names, *(pairs if len(names) == 1 else groups).dims)
        present.append(array.notnull().any([dim for dim in array.dims if dim not in kept]))

    def kernel(
        values: Floats, cells: Any, groups: Any, pairs: Any, *present: Any
    ) -> tuple[Floats, ...]:
        flat = flattened(values, len(nest), plan.flat)
        groups, pairs = (np.broadcast_to(keys, cells.shape) for keys in (groups, pairs))
        counted = [spread(mask, cells.shape, depth) for depth, mask in enumerate(present, 1)]
        sample = draw_sample(
            flat,
            cells,
            groups,
            plan.draws,
            of_values,
            joint=joint,
            present=counted,
            pairs=None if paired is None else pairs,
        )
        return sample.replicates, sample.estimate, sample.n

    sample = apply(
        kernel,
        *(array, cells, groups, pairs, *present),
        core=[nest, (), (), (), *outer],
        outputs=outputs(data.units, (REPLICATE,), replicates="")
        | outputs(data.units, observed="")
        | outputs(n=""),
        coords={REPLICATE: range(plan.draws.n_resamples)},
    )
    attrs = data.describe() | plan.attrs | {"result": "bootstrap_distribution"}
    attrs |= {"statistic": _name(statistic), "units": data.units}
    attrs |= {"shared": " ".join(common)} if joint else {}
    attrs |= {"paired": paired} if paired else {}
    distribution = sample["replicates"].transpose(..., REPLICATE).assign_attrs(attrs)
    distribution = distribution.assign_coords(observed=sample["observed"], n=sample["n"])
    distribution.name = str(array.name or "time")
    slow_end = slow_end_note([statistic], data.better)
    empty = () if is_chunked(sample["n"]) else not_measured(sample)
    return with_notes(distribution, *data.notes, slow_end, note, *empty)


def _matched_units(
    data: Timings, paired: str, compared: list[str]
) -> tuple[xr.DataArray, Note | None]:
    """Leave out the units that some label of the compared dims lacks, with a note."""
    check_choice(paired, "paired", data.levels[:1])
    if not compared:
        raise ValueError(
            f"paired={paired!r} matches units between labels that are compared. The array has "
            f"only the dims {data.array.dims}"
        )
    measured = data.array.notnull().any(data.levels[1:])
    matched = (measured | ~measured.any(paired)).all(compared)
    alone = 0 if is_chunked(data.array) else int((measured & ~matched).sum())
    text = f"paired={paired!r}: {alone} units of one label have no partner and are left out"
    note = Note("no_partner", text, {"level": paired, "units": alone}) if alone else None
    return data.array.where(matched), note


def _check_statistic(statistic: object) -> None:
    if not callable(statistic):
        check_choice(statistic, "statistic", STATISTICS)
    elif not accepts(statistic, np.ones((1, 1)), axis=-1):
        raise ValueError(
            f"statistic {_name(statistic)!r} takes no array and axis=; give a function f(x, "
            "axis=-1) that reduces the last axis"
        )


def _name(statistic: Statistic) -> str:
    return (
        statistic if isinstance(statistic, str) else str(getattr(statistic, "__name__", "function"))
    )


@for_each_metric
def bootstrap_interval(
    times: Data | npt.NDArray[np.floating],
    *,
    confidence_level: float = 0.95,
    method: str = "percentile",
    statistic: Statistic | None = None,
    levels: str | tuple[str, ...] | None = None,
    resample: Resample = None,
    n_resamples: int | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return bootstrap limits of a statistic, from timings or from replicates.

    Parameters
    ----------
    times : DataArray, Dataset or array of shape (replicates,)
        Timings, or the result of `bootstrap_distribution` ("percentile", "basic"). Or other
        replicates: an array, or a DataArray with a dim `replicate`.
    confidence_level : float
        Of the interval.
    method : {"percentile", "basic", "bca", "studentized"}
        The paper's percentiles; mirrored at the estimate; bias corrected and accelerated; symmetric
        studentized (means only).
    statistic, levels, resample, n_resamples, rng, metric : optional
        As for `bootstrap_distribution`. Only with timings.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper` (units of the data) and `n` (independent units); of other
        replicates `estimate` and `n` are NaN. With stopped runs, `bound`: `exact`, `at_least`,
        `at_most` or `unknown`.

    Raises
    ------
    ValueError
        "bca" or "studentized" without timings; "studentized" of another statistic than the mean;
        arguments that draw, with replicates.

    Notes
    -----
    Only "studentized" is for fewer than 30 units: the others are too narrow. See
    :doc:`/how-to/bootstrap`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, section 7.2.1. A. Davison, D. Hinkley, "Bootstrap Methods and their Application", 1997,
    chapter 5.

    Examples
    --------
    t is about 2.02, and the standard error 0.16.

    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 11.0] * 20}, dim="benchmark")
    >>> interval = times.perf.bootstrap_interval(method="studentized", rng=1)
    >>> [round(interval[name].item(), 1) for name in ("lower", "estimate", "upper")]
    [9.7, 10.0, 10.3]
    """
    check_choice(method, "method", BOOTSTRAP_METHODS)
    level = check_confidence_level(confidence_level)
    if isinstance(times, np.ndarray):
        times = _replicates(times)
    if isinstance(times, xr.Dataset) and len(times.data_vars) == 1 and REPLICATE in times.dims:
        times = next(iter(times.data_vars.values()))  # a distribution that came from a file
    if isinstance(times, xr.DataArray) and REPLICATE in times.dims:
        names = ("statistic", "levels", "resample", "n_resamples", "rng", "metric")
        values = (statistic, levels, resample, n_resamples, rng, metric)
        drawing = [name for name, value in zip(names, values, strict=True) if value is not None]
        return _stored_interval(times, level, method, drawing)
    statistic = "mean" if statistic is None else statistic
    _check_statistic(statistic)
    if method == "studentized" and statistic != "mean":
        raise ValueError(
            "method='studentized' needs the standard error of the mean; "
            f"statistic={_name(statistic)!r} has none: use 'bca' or 'percentile'"
        )
    # A longer run moves every replicate in one direction.
    rising = method == "percentile" and isinstance(statistic, str)
    data = resolve(times, metric, levels, censored="bound" if rising else "drop")
    of_values = resolve_best(statistic, data.better)
    plan = check_resampling(data, resample, 1000 if n_resamples is None else n_resamples, rng)
    attrs = data.describe() | plan.attrs | {"statistic": _name(statistic)}
    attrs |= _describe_limits(method, level)
    limits = partial(
        mean_by_draws,
        draws=plan.draws,
        flat=plan.flat,
        method=method,
        level=level,
        statistic=of_values,
    )

    def kernel(values: Floats, cells: Any) -> tuple[Floats, ...]:
        estimate, lower, upper, *_, n = limits(values, cells)
        return estimate, lower, upper, n

    def redrawn(data: Timings) -> xr.Dataset:
        arrays, variables = (data.array, cell_keys([data.array], data.levels)), _outputs(data.units)
        return apply(kernel, *arrays, core=[data.levels, ()], outputs=variables, attrs=attrs)

    if data.bounded:
        best, worst = redrawn(with_unknown_at_best(data)), redrawn(with_worst_case(data))
        result = _widest_limits(data, best, worst)
    else:
        result = redrawn(data)
    slow_end, stopped = slow_end_note([statistic], data.better), data.stopped_note(STOPPED)
    checks = (UNITS, "surrounded", "resampling")
    return with_notes(result, *data.notes, slow_end, *data.unit_notes, stopped, checks=checks)


def _widest_limits(data: Timings, limits: xr.Dataset, worst: xr.Dataset) -> xr.Dataset:
    """Return the widest limits of stopped runs at their limits and at their worst."""
    low, high = (limits, worst) if data.better == LOWER else (worst, limits)
    lower = low["lower"].where(~(low["lower"] < 1 / FAR), 0.0)
    upper = high["upper"].where(~(high["upper"] > FAR), np.inf)
    bounds = statistic_bounds(data, limits["estimate"], worst["estimate"])
    estimate = limits["estimate"].where(~(bounds.at_least & bounds.at_most))
    changed = {"estimate": estimate, "lower": lower, "upper": upper}
    return limits.assign(
        {name: variable.assign_attrs(limits[name].attrs) for name, variable in changed.items()}
    ).assign(bound=bounds.words)


def _outputs(units: str) -> dict[str, Output]:
    return outputs(units, estimate="", lower="", upper="") | outputs(n="independent units")


def _describe_limits(method: str, level: float) -> dict[str, Hashable]:
    return {"result": "bootstrap_interval", "method": method, "confidence_level": level}


def _stored_interval(
    distribution: xr.DataArray, level: float, method: str, options: list[str]
) -> xr.Dataset:
    if method not in STORED:
        raise ValueError(
            f"method={method!r} needs the timings, and a distribution of replicates was given; "
            "give the timings, or choose 'percentile' or 'basic'"
        )
    if options:
        raise ValueError(
            f"{', '.join(f'{name}=' for name in options)} would draw again, and a distribution "
            "of replicates was given; leave it out, or give the timings"
        )
    if distribution.dtype.kind not in "iuf":
        raise ValueError(f"the replicates are {distribution.dtype} values, not numbers")
    if SUITE_SCORE in distribution.coords:
        raise ValueError(
            "these replicates are scores of single runs (score_distribution). Their range is no "
            "interval of the score. Use score_ratio_interval for limits of a ratio of scores"
        )
    plain = OBSERVED not in distribution.coords
    if plain and method != "percentile":
        raise ValueError(
            f"method={method!r} needs the statistic of the data, the coordinate {OBSERVED!r}, "
            "which is missing. Add it (assign_coords), or choose 'percentile'"
        )
    unknown = xr.full_like(
        distribution.isel({REPLICATE: 0}, drop=True).reset_coords(drop=True), np.nan, dtype=float
    )
    observed, n = (
        distribution.coords.get(name, unknown).reset_coords(drop=True) for name in (OBSERVED, "n")
    )
    _check_observed(distribution, observed)

    def kernel(replicates: Floats, estimate: Floats, units: Floats) -> tuple[Floats, ...]:
        limits = limits_of(percentile_family(method, np.asarray(estimate), replicates), level)
        return estimate, *(np.where(units <= 1, np.nan, limit) for limit in limits), units

    attrs = {
        key: value for key, value in distribution.attrs.items() if key not in ("units", "long_name")
    } | _describe_limits(method, level)
    attrs["n_resamples"] = distribution.sizes[REPLICATE]  # arithmetic may have dropped it
    # Arithmetic drops `observed` and keeps the units of its first operand, which are not those of a
    # ratio.
    arithmetic = plain and distribution.attrs.get("result") == "bootstrap_distribution"
    units = "" if arithmetic else str(distribution.attrs.get("units", "1"))
    result = apply(
        kernel,
        distribution.drop_vars([OBSERVED, "n"], errors="ignore"),
        observed,
        n,
        core=[[REPLICATE], [], []],
        outputs=_outputs(units),
        attrs=attrs,
    )
    text = (
        f"the replicates have no coordinate {OBSERVED!r}, the statistic of the data: "
        "percentile limits without an estimate"
    )
    return with_notes(result, Note("no_value", text) if plain else None, checks=("resampling",))


def _replicates(values: npt.NDArray[np.floating]) -> xr.DataArray:
    if values.ndim != 1:
        raise ValueError(
            f"replicates of shape {values.shape}: a NumPy array has one axis here; name the "
            "dims of more, xarray.DataArray(values, "
            f"dims=(..., {REPLICATE!r}))"
        )
    return xr.DataArray(values, dims=REPLICATE)


def _check_observed(distribution: xr.DataArray, observed: xr.DataArray) -> None:
    """Raise where the observed statistic lies outside the replicates.

    Arithmetic changes the replicates and not the coordinate.
    """
    if is_chunked(distribution) or distribution.sizes[REPLICATE] < FEWEST:
        return
    slack = 1e-9 * abs(observed)
    outside = (observed < distribution.min(REPLICATE) - slack) | (
        observed > distribution.max(REPLICATE) + slack
    )
    if bool(outside.any()):
        raise ValueError(
            f"in {int(outside.sum())} of {outside.size} cells the coordinate 'observed' lies "
            f"outside all {distribution.sizes[REPLICATE]} replicates. Were the replicates "
            "changed alone? Change it too (assign_coords), or draw from the changed timings"
        )


@check("surrounded")
def _not_surrounded(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that have units and no limits."""
    text = (
        f"{{cells}} have no {result.attrs['method']} limits: the replicates do not surround "
        "the estimate"
    )
    return (count_note("no_limit", text, np.isnan(result["upper"]) & (result["n"] > 2)),)

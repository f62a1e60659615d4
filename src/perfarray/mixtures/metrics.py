"""Single runs compared: how far apart two systems' runs are, which is faster, which of many is fastest, how many modes a system has."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import HIGHER
from perfarray.mixtures.numerics import empirical
from perfarray.mixtures.numerics import metrics as mixture
from perfarray.mixtures.systems import Plan, of_one, of_pair
from perfarray.numerics.levels import mean_of_measured, unit_means
from perfarray.numerics.types import Floats
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import warn
from perfarray.timings.pairs import Pair
from perfarray.timings.resampling import Rng, cell_numbers, few_replicates
from perfarray.timings.resolve import Data, Timings, check_dim, resolve
from perfarray.timings.results import Result
from perfarray.timings.validation import check_choice, check_number

TIES = ("strict", "half")
LEVEL = "level"

FEW = 10
"""Units below which percentile limits cover clearly less than they say."""

Runs = Data | Result


@over_metrics
def mean_difference(
    times: Runs,
    baseline: object,
    *,
    dim: str | None = None,
    method: str = "empirical",
    paired: str | None = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Say how far apart a run of the candidate and a run of the baseline are on average, whichever is faster: E|X - Y|.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    baseline : label, DataArray, Dataset or GaussianMixture
        A label of `dim`, or another object of the same kind, matched by label on dims that are not levels.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    method : {"empirical", "mixture"}
        All pairs of runs; or mixtures of normals fitted to both (given mixtures are always compared as such).
    paired : str, optional
        The outermost level, where its units match between the two systems (the same sessions): units are then redrawn for both
        together, and those measured on one side only are left out. Not for mixtures.
    confidence_level : float
        Between 0 and 1.
    n_resamples : int, optional
        Redrawn experiments behind the limits; 0 for none. Default: 1000, for mixtures 200 (each is a fit).
    rng : int, numpy.random.Generator, optional
        Seed; the same seed gives the same limits for any order of dims and chunks.
    value : str, optional
        The level whose repetitions are runs; lower levels are averaged first. Default: `execution`, else the lowest level.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper` and `baseline_difference`, the same of two runs of the baseline (of different units): an estimate
        above zero says little, one above that says something (all in the units of the data); `n`, units on the smaller side.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Empirical limits are percentiles over redrawn units, too narrow for few (a nominal 95 % covered
    88 % at 5 units a side, 90 to 92 at 10, 93 to 94 at 20 and 30, for normal runs). Limits of mixtures refit samples drawn from the fit
    or, where units have several runs, redrawn units whose runs are smoothed inside their component (ties would look like spikes).
    Mixtures given without `n` have no limits. Mixtures of log times are compared with each other only; limits refit their logarithms.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equations 4,
    5 and 7.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 11.0]})
    >>> found = times.perf.mean_difference("old", n_resamples=0)
    >>> found["estimate"].item(), found["baseline_difference"].item()
    (1.5, 2.0)
    """
    pair, plan = of_pair(times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric)

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[Floats, ...]:
        systems = plan.systems(new, old)
        if plan.method == "empirical":
            found, own = empirical.resampled(systems, cells, empirical.difference, plan.drawing), empirical.own_differences(systems[1])
        else:
            mixture.check_scales(systems)
            found = mixture.resampled(systems, cells, mixture.difference_on_scale, plan.drawing)
            own = mixture.difference_on_scale([systems[1].own] * 2)
        return *found, np.broadcast_to(own, cells.shape), _smaller(plan, systems, cells)

    units = pair.candidate.units
    outputs = _limits(units) | {
        "baseline_difference": Output((), units, long_name="mean difference of two runs of the baseline"),
        "n": Output((), "1", long_name="independent units on the smaller side"),
    }
    return _compared(pair, plan, kernel, outputs, {"result": "mean_difference", "baseline": _name(baseline)}, True)


@over_metrics
def prob_faster(
    times: Runs,
    baseline: object,
    *,
    dim: str | None = None,
    shift: float = 0.0,
    ties: str = "strict",
    method: str = "empirical",
    paired: str | None = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Say how likely a single run of the candidate is to be faster than a single run of the baseline: P[X < Y + shift].

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    baseline : label, DataArray, Dataset or GaussianMixture
        A label of `dim`, or another object of the same kind, matched by label on dims that are not levels.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    shift : float
        In the units of the data: how much worse the candidate may be and still count (negative: how much better it must be).
    ties : {"strict", "half"}
        Whether runs that tie count not at all, or one half.
    method : {"empirical", "mixture"}
        All pairs of runs; or mixtures of normals fitted to both (given mixtures are always compared as such).
    paired, confidence_level, n_resamples, rng, value, levels, metric : optional
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`; `tied`, the probability of a tie; `n`, units on the smaller side. Where the data say
        `better="higher"`, faster means more: P[X > Y - shift].

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Empirical limits are score limits (Wilson) with the number of units that the variance over
    redrawn units stands for, held between the smaller side's number and twice it. A nominal 95 % covered 92 to 99 % of normal runs at 5
    to 30 units a side, where percentiles of redrawn probabilities cover as few as 33 % (a true 0.96 at 5 units). Limits of mixtures are
    percentiles over refitted samples, as for `mean_difference`. For mixtures of log times there is no `shift`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equations 8
    to 10. The paper's software counted ties one half; equation 9 does not.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 10.0]})
    >>> found = times.perf.prob_faster("old", rng=1)
    >>> found["estimate"].item(), found["tied"].item(), times.perf.prob_faster("old", ties="half", rng=1)["estimate"].item()
    (0.75, 0.25, 0.875)
    """
    check_choice(ties, "ties", TIES)
    amount, half = check_number(shift, "shift"), 0.5 * (ties == "half")
    pair, plan = of_pair(times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric)
    sign = -1.0 if pair.candidate.better == HIGHER else 1.0

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[Floats, ...]:
        systems, once = plan.systems(plan.signed(new, sign), plan.signed(old, sign)), plan.drawing._replace(n_resamples=0)
        if plan.method == "empirical":
            found = empirical.resampled(systems, cells, empirical.less(amount, half), plan.drawing, score=True)
            strict, loose = (empirical.resampled(systems, cells, empirical.less(amount, tie), once).estimate for tie in (0.0, 1.0))
        else:
            mixture.check_scales(systems, amount)
            new_fit, old_fit = (system.own.mixture for system in systems)
            found = mixture.resampled(
                systems, cells, lambda pair: mixture.less(pair[0].mixture, pair[1].mixture, amount, half), plan.drawing
            )
            strict, loose = (np.broadcast_to(mixture.less(new_fit, old_fit, amount, tie), cells.shape) for tie in (0.0, 1.0))
        return *found, loose - strict, _smaller(plan, systems, cells)

    outputs = _limits("1") | {
        "tied": Output((), "1", long_name="probability of a tie"),
        "n": Output((), "1", long_name="independent units on the smaller side"),
    }
    attrs: dict[str, Hashable] = {"result": "prob_faster", "baseline": _name(baseline), "shift": amount, "ties": ties}
    return _compared(pair, plan, kernel, outputs, attrs, plan.method == "mixture")


@over_metrics
def prob_fastest(
    times: Runs,
    *,
    dim: str,
    ties: str = "strict",
    method: str = "empirical",
    paired: str | None = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Say for each of several systems how likely a single run of it is the fastest, when each runs once.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    dim : str
        The dim whose labels are the systems.
    ties : {"strict", "half"}
        Whether a tie for the first place is nobody's, or shared alike by those that tie (one half each, where they are two).
    method : {"empirical", "mixture"}
        All combinations of runs (they are not counted one by one); or mixtures of normals fitted to each.
    paired, confidence_level, n_resamples, rng, value, levels, metric : optional
        As for `mean_difference`.

    Returns
    -------
    Dataset
        Along `dim`: `estimate`, `lower`, `upper`, and `n`, units. `tied`: the probability of a tie for the first place. A system
        without runs is left out of its cell, as NaN. Where the data say `better="higher"`, the fastest is the largest.

    Raises
    ------
    ValueError
        Unknown dims, levels, methods; a dim with a single label.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equations 11
    to 13 (the G of equation 13 is the survival function).

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [1.0, 4.0], "b": [2.0, 3.0], "c": [3.0, 5.0]})
    >>> found = times.perf.prob_fastest(dim="version", rng=1)
    >>> found["estimate"].values.tolist(), found["tied"].item()
    ([0.5, 0.375, 0.0], 0.125)
    """
    check_choice(ties, "ties", TIES)
    data, plan = of_one(times, method, paired, confidence_level, n_resamples, rng, value, levels, metric)
    check_dim(data.array, dim)
    if dim in plan.levels or data.array.sizes[dim] < 2:
        raise ValueError(f"dim={dim!r}: give a dim with two or more systems that is not one of the levels {data.levels}")
    share, sign = ties == "half", -1.0 if data.better == HIGHER else 1.0

    def kernel(values: Floats, cells: Any) -> tuple[Floats, ...]:
        along = np.moveaxis(plan.signed(values, sign), values.ndim - len(plan.levels) - 1, 0)
        systems, once = plan.systems(*along), plan.drawing._replace(n_resamples=0)
        if plan.method == "empirical":
            found = empirical.resampled(systems, cells, empirical.least(share), plan.drawing, each=True, score=True)
            strict = empirical.resampled(systems, cells, empirical.least(False), once, each=True).estimate
        else:
            mixture.check_scales(systems)
            found = mixture.resampled(
                systems, cells, lambda fits: mixture.least(mixture.beside([fit.mixture for fit in fits]), share), plan.drawing, each=True
            )
            strict = mixture.least(mixture.beside([system.own.mixture for system in systems]), False)
        n = np.stack([plan.units(own, cells) for own in systems], axis=-1)
        known = ~np.isnan(strict).all(axis=-1)
        return *found, np.where(known, np.clip(1 - np.nansum(strict, axis=-1), 0.0, 1.0), np.nan), n

    outputs = _limits("1", (dim,)) | {
        "tied": Output((), "1", long_name="probability of a tie for the first place"),
        "n": Output((dim,), "1", long_name="independent units"),
    }
    cells = cell_numbers([data.array], plan.levels, apart=dim)
    attrs = plan.attrs | {"result": "prob_fastest", "dim": dim, "ties": ties, "better": data.better}
    result = apply(
        kernel, data.array, cells, core=[(dim, *plan.levels), ()], outputs=outputs,
        coords={dim: data.array[dim].values.tolist()}, attrs=attrs,
    )  # fmt: skip
    warn(*data.notes, _few(result["n"], plan, percentiles=plan.method == "mixture"))
    return result


@over_metrics
def variability_level(
    times: Runs,
    *,
    by_level: bool = False,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Count the modes of the run times: the different values around which they gather, in the density of a fitted mixture.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    by_level : bool
        Ask where the modes live: for every level, the means of its repetitions, centred on the mean they lie inside (those of the
        outermost as they are), are fitted on their own.
    confidence_level : float
        Between 0 and 1.
    n_resamples : int
        Samples drawn from the fit and fitted again, to see how stable the number is; 0 for none. Not by level.
    rng, value, levels, metric : optional
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, the number of modes; `lower`, `upper`, percentiles of the number over refitted samples, and `stability`, the share
        of them with the same number (NaN where none are drawn); `n`, units. By level: `estimate` and `n` (values fitted) along `level`.

    Raises
    ------
    ValueError
        Unknown levels; `by_level` with a mixture or with n_resamples.

    Notes
    -----
    From 20 runs on the number tends to be too small, where there are several modes: BIC prefers fewer components (section 6.5.6: exact in
    45.5 % of samples of 30 runs and 63.9 % of 200). Below, it is too large: of samples of one normal mode it is 1 in 20 % at 5 runs, 38 %
    at 10, 80 % at 20. By level, means of few repetitions blur what lies below, and deviations from the mean of few spread a mode: two
    modes inside executions show as one or three where an execution has two or three iterations.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis and comparison", 2016, equation 14.

    Examples
    --------
    >>> import numpy as np, perfarray
    >>> rng = np.random.default_rng(1)
    >>> runs = np.concatenate([rng.normal(1.0, 0.01, 60), rng.normal(1.2, 0.01, 40)])
    >>> perfarray.from_samples({"old": runs}).perf.variability_level()["estimate"].values.tolist()
    [2.0]
    """
    if by_level:
        if isinstance(times, Result) or n_resamples:
            raise ValueError("by_level=True fits every level of timings once: give timings, and no n_resamples")
        return _modes_by_level(resolve(times, metric, levels))
    data, plan = of_one(times, "mixture", None, confidence_level, n_resamples, rng, value, levels, metric)

    def kernel(values: Floats, cells: Any) -> tuple[Floats, ...]:
        (system,) = plan.systems(values)
        found, stability = mixture.resampled_modes(system, cells, plan.drawing)
        return *found, stability, plan.units(system, cells)

    outputs = _limits("1") | {
        "stability": Output((), "1", long_name="share of refitted samples with the same number of modes"),
        "n": Output((), "1", long_name="independent units"),
    }
    cells = cell_numbers([data.array], plan.levels)
    attrs = plan.attrs | {"result": "variability_level"}
    result = apply(kernel, data.array, cells, core=[plan.levels, ()], outputs=outputs, attrs=attrs)
    warn(*data.notes, _few(result["n"], plan, percentiles=True) if n_resamples else "")
    return result


def _modes_by_level(data: Timings) -> xr.Dataset:
    """Fit the means of every level, centred on the mean they lie inside."""
    number = len(data.levels)

    def kernel(values: Floats) -> tuple[Floats, ...]:
        found = []
        for place in range(number):
            means = unit_means(values, number - place)
            if place:
                alone = (~np.isnan(means)).sum(axis=-1, keepdims=True) < 2
                means = np.where(alone, np.nan, means - mean_of_measured(means)[..., None])
            by_unit = means.reshape(*values.shape[: values.ndim - number + 1], -1)
            found.append((mixture.number_of_modes(by_unit), (~np.isnan(by_unit)).sum(axis=(-2, -1)).astype(float)))
        modes, n = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
        return modes, n

    outputs = {"estimate": Output((LEVEL,), "1", long_name="modes"), "n": Output((LEVEL,), "1", long_name="values fitted")}
    attrs = data.describe() | {"result": "variability_level", "method": "mixture"}
    result = apply(kernel, data.array, core=[data.levels], outputs=outputs, coords={LEVEL: list(data.levels)}, attrs=attrs)
    warn(*data.notes)
    return result


def _limits(units: str, dims: tuple[str, ...] = ()) -> dict[str, Output]:
    """Return the variables every metric has."""
    return {name: Output(dims, units) for name in ("estimate", "lower", "upper")}


def _compared(pair: Pair, plan: Plan, kernel: Any, outputs: dict[str, Output], attrs: dict[str, Hashable], percentiles: bool) -> xr.Dataset:
    """Compute a metric of pairs, and say what there is to say."""
    sides = [pair.candidate.array, pair.baseline.array]
    core = [plan.levels, plan.levels, ()]
    result = apply(kernel, *sides, cell_numbers(sides, plan.levels), core=core, outputs=outputs, attrs=plan.attrs | attrs)
    warn(*pair.notes, _few(result["n"], plan, percentiles=percentiles))
    return result


def _name(baseline: object) -> str:
    """Return what the attrs say of the baseline."""
    return "other data" if isinstance(baseline, xr.DataArray | xr.Dataset | Result) else str(baseline)


def _smaller(plan: Plan, systems: list[Any], cells: Any) -> Floats:
    """Return the number of units on the smaller side."""
    return np.minimum(*(plan.units(system, cells) for system in systems))


def _few(n: xr.DataArray, plan: Plan, *, percentiles: bool) -> str:
    """Count the cells whose limits are missing or too narrow; a lazy result is not looked at."""
    if is_chunked(n):
        return ""
    units, said = plan.levels[0] if not plan.given else "run", []
    empty, single, few = int((n == 0).sum()), int((n == 1).sum()), int(((n > 1) & (n < FEW)).sum())
    if empty:
        said.append(f"{empty} of {n.size} cells have no measured value on one side; their answers are NaN")
    if single and plan.drawing.n_resamples:
        said.append(f"{single} of {n.size} cells rest on one {units}: their limits are NaN, since one unit shows no spread")
    if few and percentiles and plan.drawing.n_resamples:
        said.append(f"{few} of {n.size} cells rest on fewer than {FEW} units ({units}): their limits are too narrow")
    many = few_replicates(plan.drawing.n_resamples, "percentile", plan.drawing.confidence_level) if plan.drawing.n_resamples else None
    return "; ".join([*said, *([many.message] if many else [])])

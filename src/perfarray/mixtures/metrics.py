"""Single runs compared: how far apart two systems' runs are, which is faster, which of many is fastest, how many modes a system has."""

from functools import partial

import xarray as xr

from perfarray.mixtures.numerics.metrics import (
    EMPIRICAL,
    MIXTURE,
    mean_differences,
    numbers_of_modes,
    numbers_of_modes_by_level,
    probabilities_faster,
    probabilities_fastest,
)
from perfarray.mixtures.systems import Request, Runs, Systems, resolve_systems, resolve_two_systems
from perfarray.timings.apply import LEVEL, Output, apply, outputs
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import noted
from perfarray.timings.resolve import Timings, check_dim, resolve
from perfarray.timings.results import Result
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_choice, check_number

TIES = ("strict", "half")


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
    """Return how far apart a run of the candidate and a run of the baseline are on average, whichever is faster: E|X - Y|.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, such as `fit_mixture` gives.
    baseline, dim : label, DataArray, Dataset or GaussianMixture; str, optional
        A label of `dim` (default: the one dim that holds it), or another object of the same kind, matched by label, but for
        repetitions.
    method : {"empirical", "mixture"}
        All pairs of runs; or mixtures of normals fitted to both (given mixtures are always compared as such).
    paired : str, optional
        The outermost level, where its units match between the two systems (the same sessions): units are then redrawn for both
        together, and those measured on one side only are left out. Not for mixtures.
    confidence_level : float
        Between 0 and 1.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Redrawn experiments behind the limits (0 for none; default: 1000, for mixtures 200, each of which is a fit), and their seed or
        the `rng_key` of an earlier result.
    value, levels, metric : optional
        As for `fit_mixture`.

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
    request = Request(
        method=method, paired=paired, confidence_level=confidence_level, n_resamples=n_resamples,
        rng=rng, value=value, levels=levels, metric=metric,
    )  # fmt: skip
    systems = resolve_two_systems(times, baseline, dim, request)
    units = systems.data.units
    named = _limits(units) | outputs(units, baseline_difference="mean difference of two runs of the baseline")
    named |= outputs(n="independent units on the smaller side")
    return systems.compute(mean_differences, named, {"result": "mean_difference"}, ("run_units", "run_percentiles"))


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
    """Return how likely a single run of the candidate is to be faster than a single run of the baseline: P[X < Y + shift].

    Parameters
    ----------
    shift : float
        In the units of the data: how much worse the candidate may be and still count (negative: how much better it must be).
    ties : {"strict", "half"}
        Whether runs that tie count not at all, or one half.
    times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, probabilities for each cell; `tied`, that of a tie; `n`, units on the smaller side. Where the data say
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
    request = Request(
        method=method, paired=paired, confidence_level=confidence_level, n_resamples=n_resamples,
        rng=rng, value=value, levels=levels, metric=metric,
    )  # fmt: skip
    systems = resolve_two_systems(times, baseline, dim, request)
    named = _limits("1") | outputs(tied="probability of a tie", n="independent units on the smaller side")
    attrs = {"result": "prob_faster", "shift": amount, "ties": ties}
    return systems.compute(partial(probabilities_faster, shift=amount, ties=half), named, attrs, _checks(systems))


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
    """Return for each of several systems how likely a single run of it is the fastest, when each runs once.

    Parameters
    ----------
    dim : str
        The dim whose labels are the systems.
    ties : {"strict", "half"}
        Whether a tie for the first place is nobody's, or shared alike by those that tie (one half each, where they are two).
    method : {"empirical", "mixture"}
        All combinations of runs (they are not counted one by one); or mixtures of normals fitted to each.
    times, paired, confidence_level, n_resamples, rng, value, levels, metric
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
    request = Request(
        method=method, paired=paired, confidence_level=confidence_level, n_resamples=n_resamples,
        rng=rng, value=value, levels=levels, metric=metric,
    )  # fmt: skip
    systems = resolve_systems(times, request)
    array, nest = systems.data.array, systems.data.levels
    check_dim(array, dim)
    if dim in nest or array.sizes[dim] < 2:
        raise ValueError(f"dim={dim!r}: give a dim with two or more systems that is not one of the levels {nest}")
    named = _limits("1", (dim,)) | outputs(tied="probability of a tie for the first place") | outputs("1", (dim,), n="independent units")
    attrs = {"result": "prob_fastest", "dim": dim, "ties": ties, "better": systems.data.better}
    kernel = partial(probabilities_fastest, ties=ties == "half")
    return systems.along(dim).compute(kernel, named, attrs, _checks(systems), (dim,))


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
    by_level : bool
        Ask where the modes live: for every level, the means of its repetitions, centred on the mean they lie inside (those of the
        outermost as they are), are fitted on their own.
    n_resamples : int
        Samples drawn from the fit and fitted again, to see how stable the number is; 0 for none. Not by level.
    times, confidence_level, rng, value, levels, metric
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
    request = Request(
        method=MIXTURE, confidence_level=confidence_level, n_resamples=n_resamples, rng=rng, value=value, levels=levels, metric=metric
    )
    systems = resolve_systems(times, request)
    named = _limits("1") | outputs(stability="share of refitted samples with the same number of modes", n="independent units")
    checks = ("run_units", "run_percentiles") if n_resamples else ()
    return systems.compute(numbers_of_modes, named, {"result": "variability_level"}, checks)


def _modes_by_level(data: Timings) -> xr.Dataset:
    """Fit the means of every level, centred on the mean they lie inside."""
    named = outputs("1", (LEVEL,), estimate="modes", n="values fitted")
    attrs = data.describe() | {"result": "variability_level", "method": "mixture"}
    kernel = partial(numbers_of_modes_by_level, levels=len(data.levels))
    result = apply(kernel, data.array, core=[data.levels], outputs=named, coords={LEVEL: list(data.levels)}, attrs=attrs)
    return noted(result, *data.notes)


def _checks(systems: Systems) -> tuple[str, ...]:
    """Return what is to be checked of a probability: limits of runs are score limits, which few units do not make too narrow."""
    return ("run_units",) if systems.comparison.method == EMPIRICAL else ("run_units", "run_percentiles")


def _limits(units: str, dims: tuple[str, ...] = ()) -> dict[str, Output]:
    """Return the variables every metric has."""
    return outputs(units, dims, estimate="", lower="", upper="")

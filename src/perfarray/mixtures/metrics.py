"""Comparisons of single runs: their mean difference, and which of several is fastest."""

from functools import partial

import xarray as xr

from perfarray.mixtures.numerics.metrics import (
    mean_differences,
    probabilities_faster,
    probabilities_fastest,
)
from perfarray.mixtures.systems import Runs, resolve_systems
from perfarray.timings.apply import outputs
from perfarray.timings.comparable import check_systems
from perfarray.timings.labels import only_comparable_dim
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.resolve import check_dim
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_choice, check_count, check_number

TIES = ("strict", "half")

# The most runs of a total: the lattice of more would be too coarse.
MOST_RUNS = 1000


@for_each_metric
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
    """Return the mean difference E|X - Y| of a run and a run of the baseline.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings, or mixtures of `fit_mixture`.
    baseline, dim : label, DataArray, Dataset or GaussianMixture; str, optional
        A label of `dim` (default: the dim that holds it), or another such object.
    method : {"empirical", "mixture"}
        All pairs of runs, or mixtures of normals.
    paired : str, optional
        The outermost level, if its units match between the two systems.
    confidence_level : float
        Of the interval.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Samples of mixtures for limits (default: 200); their seed, or an `rng_key`.
    value, levels, metric : optional
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, and `baseline_difference`, between units of the baseline
        (units of the data); `n`, units of the smaller side.

    Raises
    ------
    ValueError
        Unknown names; units that differ; mixtures and timings together.

    Notes
    -----
    Limits are too narrow for skewed runs. See :doc:`/how-to/which_is_faster`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 4, 5 and 7.

    Examples
    --------
    The pairs of runs differ by 1, 3, 1 and 1.

    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 11.0]})
    >>> result = times.perf.mean_difference("old", n_resamples=0)
    >>> result["estimate"].item(), result["baseline_difference"].item()
    (1.5, 2.0)
    """
    systems = resolve_systems(
        times,
        baseline,
        dim,
        metric=metric,
        levels=levels,
        paired=paired,
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        value=value,
    )
    variables = outputs(
        systems.data.units,
        estimate="",
        lower="",
        upper="",
        baseline_difference="mean difference of two runs of the baseline",
    ) | outputs(n="independent units on the smaller side")
    return systems.compute(mean_differences, variables, {"result": "mean_difference"})


@for_each_metric
def prob_faster(
    times: Runs,
    baseline: object,
    *,
    dim: str | None = None,
    shift: float = 0.0,
    ties: str = "strict",
    runs: int = 1,
    method: str = "empirical",
    paired: str | None = None,
    censored: str = "bound",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return the probability that a run, or a total of several, is faster than the baseline's.

    It is P[X < Y + shift], or P[X > Y - shift] where higher is better.

    Parameters
    ----------
    shift : float
        The lag of the candidate that is allowed, in the units of the data.
    ties : {"strict", "half"}
        Ties count 0 or one half.
    runs : int
        How many runs of each are added up.
    censored : {"bound", "drop"}
        Count stopped runs as at least their limit, or leave them out.
    times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        Of unit 1: `estimate`, `lower`, `upper`; `tied`, the probability of a tie; `n`, units on the
        smaller side. With stopped runs also `at_least` and `at_most`; where they differ, `estimate`
        is NaN.

    Raises
    ------
    ValueError
        Unknown names; units that differ; mixtures and timings together.

    Notes
    -----
    Totals of few units have too narrow limits. See :doc:`/how-to/which_is_faster`.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 8 to 10. E. R. DeLong et al., "Comparing the areas under
    correlated receiver operating characteristic curves", 1988.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 10.0]})
    >>> result = times.perf.prob_faster("old")
    >>> result["estimate"].item(), result["tied"].item()
    (0.75, 0.25)
    """
    check_choice(ties, "ties", TIES)
    shift, n_runs = check_number(shift, "shift"), _check_runs(runs)
    systems = resolve_systems(
        times,
        baseline,
        dim,
        metric=metric,
        levels=levels,
        paired=paired,
        censored=censored,
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        value=value,
    )
    variables = outputs(
        estimate="",
        lower="",
        upper="",
        tied="probability of a tie",
        n="independent units on the smaller side",
    )
    attrs = {"result": "prob_faster", "shift": shift, "ties": ties, "runs": n_runs}
    kernel = partial(probabilities_faster, shift=shift, ties=ties == "half", n_runs=n_runs)
    return systems.compute(kernel, variables, attrs)


@for_each_metric
def prob_fastest(
    times: Runs,
    *,
    dim: str | None = None,
    ties: str = "strict",
    runs: int = 1,
    method: str = "empirical",
    paired: str | None = None,
    censored: str = "bound",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: Rng = None,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Return for each system the probability that its run, or total of several, is the fastest.

    Parameters
    ----------
    dim : str, optional
        The dim whose labels are the systems; default: the only one that can be.
    ties : {"strict", "half"}
        Whether a tie for the first place counts for none of the systems, or is shared alike by
        those that tie.
    times, runs, method, paired, censored, confidence_level, n_resamples, rng, value, levels, metric
        As for `prob_faster`.

    Returns
    -------
    Dataset
        Along `dim`: `estimate`, `lower`, `upper`, and `n`, units. `tied`: the probability of a tie
        for the first place. A system without runs is left out of its cell, as NaN. With
        `better="higher"` in the data, the fastest is the largest. With stopped runs, `at_least` and
        `at_most` as for `prob_faster`.

    Raises
    ------
    ValueError
        Unknown dims, levels, methods; a dim with a single label.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 11 to 13 (the G of equation 13 is the survival function).

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [1.0, 4.0], "b": [2.0, 3.0], "c": [3.0, 5.0]})
    >>> result = times.perf.prob_fastest(dim="version")
    >>> result["estimate"].values.tolist(), result["tied"].item()
    ([0.5, 0.375, 0.0], 0.125)
    """
    check_choice(ties, "ties", TIES)
    n_runs = _check_runs(runs)
    systems = resolve_systems(
        times,
        metric=metric,
        levels=levels,
        censored=censored,
        method=method,
        paired=paired,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
        value=value,
    )
    array, nest = systems.data.array, systems.data.levels
    dim = only_comparable_dim(array, nest) if dim is None else check_dim(array, dim)
    if dim in nest or array.sizes[dim] < 2:
        raise ValueError(
            f"dim={dim!r}: give a dim with two or more systems that is not one of the levels {nest}"
        )
    systems = systems._replace(notes=(*systems.notes, *check_systems(array, nest, dim)))
    variables = (
        outputs("1", (dim,), estimate="", lower="", upper="")
        | outputs(tied="probability of a tie for the first place")
        | outputs("1", (dim,), n="independent units")
    )
    attrs = {
        "result": "prob_fastest",
        "dim": dim,
        "ties": ties,
        "runs": n_runs,
        "better": systems.data.verdict_direction(),
    }
    kernel = partial(probabilities_fastest, ties=ties == "half", n_runs=n_runs)
    return systems.compute(kernel, variables, attrs, along=dim)


def _check_runs(runs: int) -> int:
    number = check_count(runs, "runs")
    if number > MOST_RUNS:
        raise ValueError(
            f"runs={number}: totals are of up to {MOST_RUNS} runs. Of more, the smaller mean "
            "wins: compare means (ratio_interval)."
        )
    return number

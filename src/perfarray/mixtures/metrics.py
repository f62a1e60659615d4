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
    """Return the mean difference of a run of the candidate and a run of the baseline, E|X - Y|.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, as `fit_mixture` returns them.
    baseline, dim : label, DataArray, Dataset or GaussianMixture; str, optional
        A label of `dim` (default: the only dim that has it), or another object of the same kind.
    method : {"empirical", "mixture"}
        All pairs of runs; or mixtures of normals fitted to both. Given mixtures are always compared
        as such.
    paired : str, optional
        The outermost level, if its units match between the two systems. Not for mixtures.
    confidence_level : float
        Between 0 and 1.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Samples drawn from mixtures and fitted again for their limits (default: 200), and their seed
        or the `rng_key` of an earlier result. Limits of runs take no draws. 0: no limits.
    value, levels, metric : optional
        As for `fit_mixture`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, and `baseline_difference`, that of two runs of different units
        of the baseline (units of the data); `n`, units on the smaller side.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Limits of runs are Student's, of the variance of their
    placements; they are too narrow for skewed runs. Limits of mixtures are percentiles. See
    :doc:`/how-to/which_is_faster` for both, and for their coverage.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 4, 5 and 7.

    Examples
    --------
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

    It is P[X < Y + shift]; with `better="higher"` in the data, P[X > Y - shift].

    Parameters
    ----------
    shift : float
        The lag of the candidate that is allowed, in the units of the data (negative: the lead that
        is required); with several runs, that of the total.
    ties : {"strict", "half"}
        Whether runs that tie count 0 or one half.
    runs : int
        The number of independent runs of each whose totals are compared, up to 1,000.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as far as they determine the order of pairs; or they are left
        out. Mixtures fitted here give NaN.
    times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, probabilities for each cell; `tied`, that of a tie; `n`, units
        on the smaller side. With stopped runs also `at_least` and `at_most`, the probability if
        they had taken longest on one side: where they differ, `estimate` is NaN.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Limits of runs are score limits (Wilson) for the number
    of units that has the variance of their placements. A total draws from all runs that were
    measured, so that one may count more than once: with few units the probability is biased towards
    one half, and limits are too narrow. Totals of mixtures take normal components. See
    :doc:`/how-to/which_is_faster` for methods and coverage.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 8 to 10; E. R. DeLong and others, "Comparing the areas under
    two or more correlated receiver operating characteristic curves", Biometrics 44, 1988.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 10.0]})
    >>> result = times.perf.prob_faster("old")
    >>> result["estimate"].item(), result["tied"].item()
    (0.75, 0.25)
    >>> times.perf.prob_faster("old", ties="half")["estimate"].item()
    0.875
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
    dim: str,
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
    dim : str
        The dim whose labels are the systems.
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
    check_dim(array, dim)
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

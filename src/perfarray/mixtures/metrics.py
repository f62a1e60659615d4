"""Comparisons of single runs: the mean difference of two systems' runs, and which of two or more systems is fastest."""

from functools import partial

import xarray as xr

from perfarray.mixtures.numerics.comparison import EMPIRICAL
from perfarray.mixtures.numerics.metrics import (
    mean_differences,
    probabilities_faster,
    probabilities_fastest,
)
from perfarray.mixtures.systems import Runs, Systems, resolve_systems, resolve_two_systems
from perfarray.timings.apply import Output, outputs
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
    """Return the mean difference of a run of the candidate and a run of the baseline, whichever is faster: E|X - Y|.

    Parameters
    ----------
    times : DataArray, Dataset or GaussianMixture
        Timings; dims that are not levels broadcast. Or mixtures, as `fit_mixture` returns them.
    baseline, dim : label, DataArray, Dataset or GaussianMixture; str, optional
        A label of `dim` (default: the only dim that has it), or another object of the same kind,
        matched by the labels of all dims but repetitions.
    method : {"empirical", "mixture"}
        All pairs of runs; or mixtures of normals fitted to both (given mixtures are always compared
        as such).
    paired : str, optional
        The outermost level, if its units match between the two systems (the same sessions): units
        are then redrawn for both together, and those measured on one side only are left out. Not
        for mixtures.
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
        `estimate`, `lower`, `upper` and `baseline_difference`, the mean difference of two runs of
        the baseline (of different units), with which to compare the estimate (all in the units of
        the data); `n`, units on the smaller side.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Empirical limits are Student's, of the variance of the
    units' placements (the placement of a run is its mean difference from all runs of the other
    side). They are too narrow for skewed runs (:doc:`/how-to/which_is_faster` has the coverage).
    Limits
    of mixtures refit samples drawn from the fit or, if units have several runs, redrawn units whose
    runs are smoothed inside their component. Mixtures given without `n` have no limits. Mixtures
    may be of any families.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 4, 5 and 7; F. E. Satterthwaite, "An approximate distribution
    of estimates of variance components", Biometrics Bulletin 2, 1946.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 11.0]})
    >>> result = times.perf.mean_difference("old", n_resamples=0)
    >>> result["estimate"].item(), result["baseline_difference"].item()
    (1.5, 2.0)
    """
    systems = resolve_two_systems(
        times, baseline, dim, metric=metric, levels=levels, paired=paired, method=method, confidence_level=confidence_level,
        n_resamples=n_resamples, rng=rng, value=value,
    )  # fmt: skip
    units = systems.data.units
    variables = _limits(units) | outputs(
        units, baseline_difference="mean difference of two runs of the baseline"
    )
    variables |= outputs(n="independent units on the smaller side")
    return systems.compute(
        mean_differences, variables, {"result": "mean_difference"}, ("run_units", "run_percentiles")
    )


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
    """Return the probability that a run of the candidate, or the total of several, is faster than the baseline's: P[X < Y + shift].

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
        Runs stopped at a limit count as far as they determine the order of pairs (mixtures fitted
        here give NaN); or they are left out.
    times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, probabilities for each cell; `tied`, that of a tie; `n`, units
        on the smaller side. With `better="higher"` in the data, faster means more: P[X > Y -
        shift]. With stopped runs also `at_least` and `at_most`: the probability if no stopped run
        of the candidate had ended, and if none of the baseline had. Where they differ, `estimate`
        is NaN, and the limits are the lower limit of `at_least` and the upper limit of `at_most`.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Empirical limits are score limits (Wilson) for the number
    of units that has the variance of the units' placements (of a run X, P[X < Y + shift]), or over
    redrawn units with `n_resamples`, held between the smaller side's number and twice it. Limits of
    mixtures are percentiles over refitted samples, as for `mean_difference`.

    A total is that of `runs` independent runs, each drawn from all that were measured, so that one
    run may count more than once: the probability is biased towards one half if units are few. Up to
    some thousand different totals are listed, with their ties; more lie on a lattice, on which ties
    are shared alike and `tied` is 0. Totals of mixtures take normal components. Limits of totals
    cover too little where units are fewer than `runs`, which a note says; means can be compared
    instead (`ratio_interval`). :doc:`/how-to/which_is_faster` has the coverage.

    References
    ----------
    J. Worms, S. Touati, "Parametric and non-parametric statistics for program performance analysis
    and comparison", 2016, equations 8 to 10. The paper's software counts ties one half; equation 9
    does not. E. R. DeLong and others, "Comparing the areas under two or more correlated receiver
    operating characteristic curves", Biometrics 44, 1988 (the variance).

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 12.0], "new": [9.0, 10.0]})
    >>> result = times.perf.prob_faster("old", rng=1)
    >>> result["estimate"].item(), result["tied"].item(), times.perf.prob_faster("old", ties="half", rng=1)["estimate"].item()
    (0.75, 0.25, 0.875)
    """
    check_choice(ties, "ties", TIES)
    shift, number = check_number(shift, "shift"), _check_runs(runs)
    systems = resolve_two_systems(
        times, baseline, dim, metric=metric, levels=levels, paired=paired, censored=censored, method=method,
        confidence_level=confidence_level, n_resamples=n_resamples, rng=rng, value=value,
    )  # fmt: skip
    variables = _limits("1") | outputs(
        tied="probability of a tie", n="independent units on the smaller side"
    )
    attrs = {"result": "prob_faster", "shift": shift, "ties": ties, "runs": number}
    kernel = partial(probabilities_faster, shift=shift, ties=ties == "half", n_runs=number)
    return systems.compute(kernel, variables, attrs, _checks(systems, number))


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
    """Return for each of several systems the probability that its run, or its total of several, is the fastest.

    Parameters
    ----------
    dim : str
        The dim whose labels are the systems.
    ties : {"strict", "half"}
        Whether a tie for the first place counts for none of the systems, or is shared alike by
        those that tie.
    runs : int
        As for `prob_faster`.
    method : {"empirical", "mixture"}
        All combinations of runs (they are not counted one by one); or mixtures of normals fitted to
        each.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as far as they determine the order of pairs (mixtures fitted
        here give NaN); or they are left out.
    times, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

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
    >>> result = times.perf.prob_fastest(dim="version", rng=1)
    >>> result["estimate"].values.tolist(), result["tied"].item()
    ([0.5, 0.375, 0.0], 0.125)
    """
    check_choice(ties, "ties", TIES)
    number = _check_runs(runs)
    systems = resolve_systems(
        times, metric=metric, levels=levels, censored=censored, method=method, paired=paired, confidence_level=confidence_level,
        n_resamples=n_resamples, rng=rng, value=value,
    )  # fmt: skip
    array, nest = systems.data.array, systems.data.levels
    check_dim(array, dim)
    if dim in nest or array.sizes[dim] < 2:
        raise ValueError(
            f"dim={dim!r}: give a dim with two or more systems that is not one of the levels {nest}"
        )
    systems = systems._replace(notes=(*systems.notes, *check_systems(array, nest, dim)))
    variables = _limits("1", (dim,)) | outputs(tied="probability of a tie for the first place")
    variables |= outputs("1", (dim,), n="independent units")
    attrs = {
        "result": "prob_fastest",
        "dim": dim,
        "ties": ties,
        "runs": number,
        "better": systems.data.verdict_direction(),
    }
    kernel = partial(probabilities_fastest, ties=ties == "half", n_runs=number)
    return systems.compute(kernel, variables, attrs, _checks(systems, number), (dim,))


def _check_runs(runs: int) -> int:
    """Return the number of runs of a total."""
    number = check_count(runs, "runs")
    if number > MOST_RUNS:
        raise ValueError(
            f"runs={number}: totals are of up to {MOST_RUNS} runs; of more, the smaller mean "
            "wins: compare means (ratio_interval)"
        )
    return number


def _checks(systems: Systems, runs: int) -> tuple[str, ...]:
    """Return the checks of a probability.

    Empirical limits are score limits, which few units do not make too narrow.
    """
    totals = ("run_totals",) if runs > 1 else ()
    return (
        ("run_units", *totals)
        if systems.comparison.method == EMPIRICAL
        else ("run_units", *totals, "run_percentiles")
    )


def _limits(units: str, dims: tuple[str, ...] = ()) -> dict[str, Output]:
    return outputs(units, dims, estimate="", lower="", upper="")

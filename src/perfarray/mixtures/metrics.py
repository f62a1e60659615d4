"""Single runs compared: how far apart two systems' runs are, which is faster, which of many is fastest."""

from functools import partial

import xarray as xr

from perfarray.mixtures.numerics.metrics import EMPIRICAL, mean_differences, probabilities_faster, probabilities_fastest
from perfarray.mixtures.stopped import Formula, of_stopped
from perfarray.mixtures.systems import Request, Runs, Systems, resolve_systems, resolve_two_systems
from perfarray.timings.apply import Output, outputs
from perfarray.timings.comparable import check_systems
from perfarray.timings.metrics import over_metrics
from perfarray.timings.resolve import check_dim
from perfarray.timings.streams import Rng
from perfarray.timings.validation import check_choice, check_count, check_number

TIES = ("strict", "half")

OF_TOTALS = 200
"""Experiments redrawn for limits of totals unless another number is asked for."""

MOST_RUNS = 1000
"""The most runs of a total: the lattice of more would be too coarse."""


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
    Mixtures given without `n` have no limits. Mixtures may be of any families, each refitted as what it is.

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
    """Return how likely a run of the candidate is to be faster than a run of the baseline, or several runs in total: P[X < Y + shift].

    Parameters
    ----------
    shift : float
        In the units of the data: how much worse the candidate may be and still count (negative: how much better it must be). Of the total,
        where several runs are asked about.
    ties : {"strict", "half"}
        Whether runs that tie count not at all, or one half.
    runs : int
        How many independent runs of each are compared in total, up to 1,000. Limits then take 200 redrawn experiments by default: they need
        their variance alone.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as far as they determine the order of pairs (a mixture fitted here has no place for them: NaN); or
        they are left out.
    times, baseline, dim, method, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        `estimate`, `lower`, `upper`, probabilities for each cell; `tied`, that of a tie; `n`, units on the smaller side. Where the data say
        `better="higher"`, faster means more: P[X > Y - shift]. With stopped runs also `at_least` and `at_most`: the probability if all of
        the candidate's had taken for ever, and if all of the baseline's had; where they differ, `estimate` is NaN, and the limits are the
        lower one of the former and the upper one of the latter.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels, methods; units that differ; mixtures and timings together.

    Notes
    -----
    Every outermost unit has equal weight. Empirical limits are score limits (Wilson) with the number of units that the variance over
    redrawn units stands for, held between the smaller side's number and twice it. A nominal 95 % covered 92 to 99 % of normal runs at 5
    to 30 units a side, where percentiles of redrawn probabilities cover as few as 33 % (a true 0.96 at 5 units). Limits of mixtures are
    percentiles over refitted samples, as for `mean_difference`. Of mixtures of other families than the normal there are
    no totals.

    A total is that of `runs` independent runs, each drawn from all that were measured, so that one may count more than once: of few units
    the probability lies nearer to one half (of totals of 5 runs 0.89 for 0.94 at 5 units, 0.91 at 10). Up to some thousand different totals
    are listed, with their ties; more lie on a lattice, on which ties are shared alike and `tied` is 0 (probabilities are off by 0.001 at
    most in what was tried). The total of a mixture is a mixture, whose components are listed up to 256 of them. With more runs the
    probability of the system with the smaller mean goes to 1, and limits become wide where units are fewer than some times `runs`: a total
    of 30 runs is seen once in 30 units. Then compare means (`ratio_interval`). How often a nominal 95 % covered, of normal runs at 5, 10
    and 30 units a side (`docs/scripts/totals.py`, 600 experiments each, standard error 1 %): for totals of 2 runs 92 to 96 %; for those of
    5, 99, 96 and 94 % where versions are alike, 94, 90 and 94 % where one has the larger in 79 %, and 89, 94 and 94 % where it has in
    94 %; for those of 20, 99 % or more where they are alike, and 75, 84 and 91 % where one has the larger in 94 %. A note says where units
    are fewer than `runs`.

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
    amount, half, number = check_number(shift, "shift"), 0.5 * (ties == "half"), _check_runs(runs)
    request = Request(
        method=method, paired=paired, confidence_level=confidence_level, n_resamples=_redrawn(n_resamples, number),
        rng=rng, value=value, levels=levels, metric=metric, censored=censored,
    )  # fmt: skip
    systems = resolve_two_systems(times, baseline, dim, request)
    named = _limits("1") | outputs(tied="probability of a tie", n="independent units on the smaller side")
    attrs = {"result": "prob_faster", "shift": amount, "ties": ties, "runs": number}
    kernel = partial(probabilities_faster, shift=amount, ties=half, runs=number)
    if any(side.bounded for side in systems.sides):
        return of_stopped(systems, Formula(kernel, named, attrs, _checks(systems, number)))
    return systems.compute(kernel, named, attrs, _checks(systems, number))


@over_metrics
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
    """Return for each of several systems how likely a run of it is the fastest, or several runs in total, when each runs as often.

    Parameters
    ----------
    dim : str
        The dim whose labels are the systems.
    ties : {"strict", "half"}
        Whether a tie for the first place is nobody's, or shared alike by those that tie (one half each, where they are two).
    runs : int
        As for `prob_faster`.
    method : {"empirical", "mixture"}
        All combinations of runs (they are not counted one by one); or mixtures of normals fitted to each.
    censored : {"bound", "drop"}
        Runs stopped at a limit count as far as they determine the order of pairs (a mixture fitted here has no place for them: NaN); or
        they are left out.
    times, paired, confidence_level, n_resamples, rng, value, levels, metric
        As for `mean_difference`.

    Returns
    -------
    Dataset
        Along `dim`: `estimate`, `lower`, `upper`, and `n`, units. `tied`: the probability of a tie for the first place. A system
        without runs is left out of its cell, as NaN. Where the data say `better="higher"`, the fastest is the largest. With stopped runs,
        `at_least` and `at_most` as for `prob_faster`.

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
    number = _check_runs(runs)
    request = Request(
        method=method, paired=paired, confidence_level=confidence_level, n_resamples=_redrawn(n_resamples, number),
        rng=rng, value=value, levels=levels, metric=metric, censored=censored,
    )  # fmt: skip
    systems = resolve_systems(times, request)
    array, nest = systems.data.array, systems.data.levels
    check_dim(array, dim)
    if dim in nest or array.sizes[dim] < 2:
        raise ValueError(f"dim={dim!r}: give a dim with two or more systems that is not one of the levels {nest}")
    systems = systems._replace(notes=(*systems.notes, *check_systems(array, nest, dim)))
    named = _limits("1", (dim,)) | outputs(tied="probability of a tie for the first place") | outputs("1", (dim,), n="independent units")
    attrs = {"result": "prob_fastest", "dim": dim, "ties": ties, "runs": number, "better": systems.data.better}
    kernel = partial(probabilities_fastest, ties=ties == "half", runs=number)
    if systems.data.bounded:
        return of_stopped(systems.along(dim), Formula(kernel, named, attrs, _checks(systems, number), (dim,)))
    return systems.along(dim).compute(kernel, named, attrs, _checks(systems, number), (dim,))


def _check_runs(runs: int) -> int:
    """Return the number of runs of a total."""
    number = check_count(runs, "runs")
    if number > MOST_RUNS:
        raise ValueError(
            f"runs={number}: totals are of up to {MOST_RUNS} runs; of more, the smaller mean wins: compare means (ratio_interval)"
        )
    return number


def _redrawn(n_resamples: int | None, runs: int) -> int | None:
    """Return how many experiments are redrawn: of totals, each of which is dear, fewer unless a number is given."""
    return OF_TOTALS if n_resamples is None and runs > 1 else n_resamples


def _checks(systems: Systems, runs: int) -> tuple[str, ...]:
    """Return what is to be checked of a probability: limits of runs are score limits, which few units do not make too narrow."""
    totals = ("run_totals",) if runs > 1 else ()
    return ("run_units", *totals) if systems.comparison.method == EMPIRICAL else ("run_units", *totals, "run_percentiles")


def _limits(units: str, dims: tuple[str, ...] = ()) -> dict[str, Output]:
    """Return the variables every metric has."""
    return outputs(units, dims, estimate="", lower="", upper="")

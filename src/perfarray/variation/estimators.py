"""Which single number stands for the run time of a program, and how stable that number is."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.numerics.levels import values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.best import BEST, resolve_best, slow_end_note
from perfarray.timings.censored import bound_interval
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import statistic_bounds, with_unknown_at_best, with_worst_case
from perfarray.timings.resolve import Data, Timings, check_names, resolve
from perfarray.timings.units import MEASURED, describe_value, value_depth
from perfarray.timings.validation import check_choice, check_count, check_number
from perfarray.variation.numerics.estimators import (
    estimate_of_runs,
    size_from_which,
    stability_of_estimators,
)

PAPERS = ("mean", "median", "quartile", "min")
STATISTICS = (*PAPERS, BEST)
ODD_SIZES = (1, 3, 5, 7, 9, 11, 13, 15, 17, 19)


@for_each_metric
def run_estimate(
    times: Data,
    *,
    statistic: str = "mean",
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Estimate the run time of a program by one number.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are not levels broadcast.
    statistic : {"mean", "median", "quartile", "min", "best"}
        The average, the median, the lower quartile as the paper defines it, the minimum; `best` is
        the minimum of times and the maximum of rates, the run disturbed least. The paper's advice
        is the minimum of 3 to 5 runs on a lightly loaded machine; `estimator_stability` says
        whether that holds for yours.
    value : str, optional
        The level whose repetitions are runs; lower ones are averaged. Default: `execution`, else
        the lowest.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).

    Returns
    -------
    Dataset
        `estimate` (units of the data) and `n`, the number of runs. Each outermost unit has equal
        weight. Where runs were stopped at a limit, `bound` says whether it is `exact` (a median or
        a minimum may be), `at_least`, `at_most` or `unknown`.

    Raises
    ------
    ValueError
        Unknown levels, statistic or value.

    References
    ----------
    M. Haveraaen, H. Hundvebakke, "Some statistical performance estimation techniques for dynamic
    machines", 2001, section 3.

    Examples
    --------
    >>> import perfarray
    >>> runs = [3.0, 1.0, 7.0, 5.0, 2.0, 6.0, 4.0]
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> times.perf.run_estimate(statistic="quartile")["estimate"].item()
    2.0
    """
    check_choice(statistic, "statistic", STATISTICS)
    data = resolve(times, metric, levels, censored="bound")
    result = _estimated(data, statistic, value)
    if data.bounded:
        result, worst = (
            _estimated(side, statistic, value)
            for side in (with_unknown_at_best(data), with_worst_case(data))
        )
        bounds = statistic_bounds(data, result["estimate"], worst["estimate"])
        result = bound_interval(result, bounds).assign(bound=bounds.words)
    limit_note = data.stopped_note(
        "An estimate that depends on what they would have taken is a bound, or NaN"
    )
    return with_notes(
        result, *data.notes, slow_end_note([statistic], data.better), limit_note, checks=(MEASURED,)
    )


def _estimated(data: Timings, statistic: str, value: str | None) -> xr.Dataset:
    """Return the estimate of every cell from the values at hand."""
    depth, name = value_depth(data, value), resolve_best(statistic, data.better)

    def kernel(values: Floats) -> tuple[Floats, ...]:
        runs = values_by_unit(values, len(data.levels), depth)
        return estimate_of_runs(runs, name), (~np.isnan(runs)).sum(axis=(-2, -1)).astype(float)

    return apply(
        kernel,
        data.array,
        core=[data.levels],
        outputs=outputs(data.units, estimate=f"{statistic} of the runs") | outputs(n="runs"),
        attrs=describe_value(data, depth) | {"result": "run_estimate", "statistic": statistic},
    )


@for_each_metric
def estimator_stability(
    times: Data,
    *,
    group_sizes: Sequence[int] = ODD_SIZES,
    statistics: str | Sequence[str] = PAPERS,
    difference: float = 0.01,
    deviations: float = 2.0,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Show how much an estimate of the run time varies between groups of few consecutive runs.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings, in the order in which they were taken.
    group_sizes : sequence of int
        Runs in a group.
    statistics : str or sequence of {"mean", "median", "quartile", "min", "best"}
        The estimators, as for `run_estimate`.
    difference : float
        A relative difference of two programs to tell apart, 0.01 for 1 %.
    deviations : float
        How many standard deviations apart estimates are called distinct.
    value, levels, metric
        As for `run_estimate`.

    Returns
    -------
    Dataset
        Along `group_size` and `statistic`: `estimate`, the mean over the groups (units of the
        data); `relative_standard_deviation`, the paper's; `adjusted_standard_deviation`, that
        without overlap (NaN beyond half of the runs). Along `statistic`: `required_group_size`,
        from which on adjusted deviations stay within `difference`. `n`: runs.

    Raises
    ------
    ValueError
        Unknown names; group sizes that are not whole numbers.

    Notes
    -----
    Overlapping groups understate the deviation where k comes near n. See
    :doc:`/how-to/which_number`.

    References
    ----------
    M. Haveraaen, H. Hundvebakke, "Some statistical performance estimation techniques for dynamic
    machines", 2001, tables 1 and 2.

    Examples
    --------
    >>> import perfarray
    >>> runs = [3.0, 1.0, 7.0, 5.0, 2.0, 6.0, 4.0, 5.0, 3.0, 4.0, 6.0, 2.0]
    >>> times = perfarray.from_samples({"fft": runs}, dim="benchmark")
    >>> stability = times.perf.estimator_stability(group_sizes=(1, 3), statistics="median")
    >>> stability["relative_standard_deviation"].round(3).values.ravel().tolist()
    [0.465, 0.238]
    """
    sizes, names = check_groups(group_sizes, statistics)
    relative_difference, multiple = (
        check_number(difference, "difference"),
        check_number(deviations, "deviations"),
    )
    if relative_difference <= 0 or multiple <= 0:
        raise ValueError(
            f"difference={difference!r} and deviations={deviations!r} must be positive"
        )
    data = resolve(times, metric, levels)
    depth = value_depth(data, value)

    def kernel(values: Floats) -> tuple[Floats, ...]:
        by_unit = values_by_unit(values, len(data.levels), depth)
        runs = by_unit.reshape(*by_unit.shape[:-2], -1)
        *stability, adjusted = stability_of_estimators(
            runs, sizes, [resolve_best(name, data.better) for name in names]
        )
        deviations = np.moveaxis(adjusted, -2, -1)
        required = size_from_which(
            multiple * deviations <= relative_difference, ~np.isnan(deviations), sizes
        )
        return *stability, adjusted, required, (~np.isnan(runs)).sum(axis=-1).astype(float)

    along = ("group_size", "statistic")
    result = apply(
        kernel,
        data.array,
        core=[data.levels],
        outputs=outputs(data.units, along, estimate="mean over the groups")
        | outputs(
            "1", along, relative_standard_deviation="relative standard deviation over the groups"
        )
        | outputs(
            "1",
            along,
            adjusted_standard_deviation="relative, adjusted for the overlap of groups",
        )
        | outputs(
            "1",
            along[1:],
            required_group_size=f"runs that separate programs {relative_difference:.3g} apart",
        )
        | outputs(n="runs"),
        coords={"group_size": sizes, "statistic": list(names)},
        attrs=describe_value(data, depth)
        | {
            "result": "estimator_stability",
            "difference": relative_difference,
            "deviations": multiple,
        },
    )
    return with_notes(result, *data.notes, slow_end_note(names, data.better), checks=("few_runs",))


def check_groups(
    group_sizes: Sequence[int], statistics: str | Sequence[str]
) -> tuple[list[int], tuple[str, ...]]:
    """Return the sizes of groups, ascending, and the names of estimators.

    Raise where either is not known.
    """
    sizes = sorted({check_count(size, "group_sizes") for size in group_sizes})
    names = check_names(statistics, "statistics")
    for name in names:
        check_choice(name, "statistics", STATISTICS)
    return sizes, names


@check("few_runs")
def few_runs_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with fewer runs than groups need."""
    n, sizes = result["n"].values, result["group_size"].values
    largest = int(sizes[-1])
    overlapping = ((n[..., None] < 4 * sizes) & (n[..., None] >= sizes) & (sizes > 1)).any(axis=-1)
    if (n < max(2, largest)).any():
        text = (
            f"{{cells}} have fewer runs than the largest group ({largest}): larger groups are NaN. "
            "Measure more runs."
        )
        return (count_note("few_runs", text, n < max(2, largest), group_size=largest),)
    text = (
        f"{{cells}} have groups of more than a quarter of their runs (fewest: {n.min():.0f}), "
        "which overlap. Their deviations are uncertain. Measure more runs."
    )
    return (count_note("few_runs", text, overlapping, n=float(n.min())),)

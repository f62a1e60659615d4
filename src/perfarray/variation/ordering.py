"""Which estimator puts two programs in the right order, and from how many runs."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfarray.numerics.intervals import ratio_df, ratio_of, ratio_statistic, t_probability
from perfarray.numerics.levels import unit_means, values_by_unit
from perfarray.numerics.types import Floats
from perfarray.timings.apply import apply, outputs
from perfarray.timings.best import resolve_best, slow_end_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data
from perfarray.timings.units import describe_value, value_depth
from perfarray.timings.validation import check_share
from perfarray.variation.estimators import ODD_SIZES, PAPERS, check_groups
from perfarray.variation.numerics.estimators import (
    estimate_of_runs,
    share_of_right_orders,
    size_from_which,
)

# the p-value of equal means above which all runs do not say which program is the faster one
ESTABLISHED = 0.05


@for_each_metric
def ordering_stability(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    group_sizes: Sequence[int] = ODD_SIZES,
    statistics: str | Sequence[str] = PAPERS,
    share: float = 0.95,
    value: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Show how often few runs put two programs in the order of all runs.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings, in the order in which they were taken.
    baseline, dim : label, DataArray or Dataset; str, optional
        A label of `dim` (default: the dim that holds it), or other timings, matched by label.
    group_sizes : sequence of int
        Consecutive runs in a group.
    statistics : str or sequence of {"mean", "median", "quartile", "min", "best"}
        As for `run_estimate`.
    share : float
        How often groups have to be right.
    value, levels, metric
        As for `run_estimate`.

    Returns
    -------
    Dataset
        Along `group_size` and `statistic`: `right`, the share of pairs of groups in that order (NaN
        beyond half of the runs). Along `statistic`: `required`, the smallest size that is right
        often enough, and `ratio`, candidate / baseline. `pvalue` of equal means (Welch's); `n`,
        runs on the smaller side.

    Raises
    ------
    ValueError
        Unknown names; group sizes that are not whole numbers.

    Notes
    -----
    Equal programs have shares above 0.5, since the same runs make the order. See
    :doc:`/how-to/which_number`.

    References
    ----------
    M. Haveraaen, H. Hundvebakke, "Some statistical performance estimation techniques for dynamic
    machines", 2001, section 3.

    Examples
    --------
    One run in three is disturbed: the minimum of three is always right.

    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [3.0, 3.1, 5.0] * 4, "new": [2.0, 2.1, 4.0] * 4})
    >>> orders = times.perf.ordering_stability("old", group_sizes=(1, 3), statistics="min")
    >>> orders["right"].round(3).values.ravel().tolist()
    [0.778, 1.0]
    """
    sizes, names = check_groups(group_sizes, statistics)
    check_share(share, "share", example="0.95")
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    nest, better = pair.candidate.levels, pair.candidate.better
    depth = value_depth(pair.candidate, value)
    statistic_names = [resolve_best(name, better) for name in names]

    def kernel(new: Floats, old: Floats) -> tuple[Floats, ...]:
        batch = np.broadcast_shapes(*(side.shape[: side.ndim - len(nest)] for side in (new, old)))
        sides = [
            np.broadcast_to(side, (*batch, *side.shape[side.ndim - len(nest) :]))
            for side in (new, old)
        ]
        by_unit = [values_by_unit(side, len(nest), depth) for side in sides]
        runs = [side.reshape(*batch, -1) for side in by_unit]
        new_estimates, old_estimates = (
            np.stack([estimate_of_runs(side, name) for name in statistic_names], axis=-1)
            for side in by_unit
        )
        right = share_of_right_orders(
            runs[0], runs[1], sizes, statistic_names, new_estimates - old_estimates
        )
        at_size = right.swapaxes(-1, -2)
        required = size_from_which(at_size >= share, ~np.isnan(at_size), sizes)
        number = np.minimum(*((~np.isnan(side)).sum(axis=-1) for side in runs)).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            new_means, old_means = (unit_means(side, len(nest)) for side in sides)
            ratio = ratio_of(new_means, old_means, False)
            statistic, df = ratio_statistic(ratio, 1.0, "fieller"), ratio_df(ratio, "satterthwaite")
            return (
                right,
                required,
                new_estimates / old_estimates,
                2 * t_probability(-np.abs(statistic), df),
                number,
            )

    along = ("group_size", "statistic")
    result = apply(
        kernel,
        pair.candidate.array,
        pair.baseline.array,
        core=[nest, nest],
        outputs=outputs("1", along, right="share of pairs of groups in the order of all runs")
        | outputs(
            "1",
            along[1:],
            required=f"runs in a group from which on {100 * share:.4g} % are right",
            ratio="candidate / baseline",
        )
        | outputs(pvalue="p-value of equal means", n="runs on the smaller side"),
        coords={"group_size": sizes, "statistic": list(names)},
        attrs={
            **describe_value(pair.candidate, depth),
            **pair.attrs,
            "result": "ordering_stability",
            "share": float(share),
        },
    )
    return with_notes(result, *pair.notes, slow_end_note(names, better), checks=("orders",))


@check("orders")
def orders_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without an order, or without enough runs for the groups."""
    n, pvalue, ratio = (result[name].values for name in ("n", "pvalue", "ratio"))
    largest, smallest = int(result["group_size"].max()), int(result["group_size"].min())
    equal = (ratio == 1).any(axis=result["ratio"].get_axis_num("statistic"))
    unsure = (pvalue > ESTABLISHED) & ~equal
    too_small = (n > 0) & (n < 2 * smallest)
    overlapping = (n < 4 * largest) & ~too_small & (n > 0) & (largest > 1)
    no_order = (
        "{cells} have means that do not differ at 5 %: all runs do not establish an order. "
        "Shares say how far groups repeat the accidents of these runs. Measure more."
    )
    overlap = (
        f"{{cells}} have groups of more than a quarter of their runs (fewest: {n.min():.0f}). "
        "Shares rest on few separate groups. Measure more runs."
    )
    no_share = f"{{cells}} have fewer than two groups of {smallest} runs: no share. Measure more."
    ties = "{cells} have equal estimates of both programs: there is no order to be right about."
    return (
        count_note("no_order", ties, equal),
        count_note("no_order", no_order, unsure),
        count_note("few_runs", no_share, too_small),
        count_note("few_runs", overlap, overlapping, n=float(n.min())),
    )

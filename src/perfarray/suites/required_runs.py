"""How many runs a suite needs for an interval of the score ratio as narrow as asked."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.numerics.suite import SuiteSides, smallest_numbers
from perfarray.numerics.types import Floats, same_text
from perfarray.suites import matching
from perfarray.suites.numerics import required_runs as numerics
from perfarray.suites.numerics.redrawn_scores import Score
from perfarray.suites.scores import METHODS, check_standard_error
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import Output, is_chunked, outputs
from perfarray.timings.best import resolve_best
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng, describe_key
from perfarray.timings.units import describe_unit, more_units
from perfarray.timings.validation import (
    check_confidence_level,
    check_count,
    check_number,
)
from perfarray.timings.weights import Weights

RUNS = "runs"

QUESTION = (
    "how many runs of every benchmark, on each side, make the interval of the ratio this narrow"
)


# The variables of the answer; `_unused` counts the runs that were left out
OUTPUTS = {
    **outputs(required="fewest runs with an interval as narrow as asked"),
    **outputs(extrapolated="the same, extrapolated where the data do not suffice"),
    **outputs(
        "1", (RUNS,), estimate="candidate / baseline", lower="", upper="", width="upper - lower"
    ),
    **outputs(
        n_candidate="runs of the candidate's benchmark that has fewest",
        n_baseline="runs of the baseline's benchmark that has fewest",
    ),
    "remark": Output((), "", object, "why no number of the runs is enough"),
    **outputs(_unused=""),
}


@for_each_suite
@for_each_metric
def required_runs(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    width: float,
    start: int = 3,
    mean: str = "geometric",
    weights: Weights | None = None,
    statistic: str = "mean",
    confidence_level: float = 0.95,
    method: str = "t",
    n_resamples: int = 500,
    across: str = BENCHMARK,
    by: str | None = None,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Find how many runs of every benchmark make the interval of the score ratio narrow.

    Parameters
    ----------
    width : float
        The width to reach, upper minus lower limit: 0.02 for 2 % of the baseline.
    start : int
        Runs to begin with, at least 2.
    times, baseline, dim, mean, weights, statistic, confidence_level, method, n_resamples
        As for `score_ratio_interval`.
    across, by, unit, levels, shared, rng, metric
        As for `score_ratio_interval`, of a pilot; a run is a unit.

    Returns
    -------
    Dataset
        `required` (runs; NaN where the data do not suffice), `extrapolated` (the same, or an
        extrapolation; NaN beyond ten million), `remark` (why `required` is NaN), `n_candidate` and
        `n_baseline` (runs of the benchmark with fewest), `suite_correlation` and
        `suite_correlation_pvalue` as in `score_ratio_interval`. Along `runs`: `estimate`, `lower`,
        `upper`, `width`, all of unit 1.

    Raises
    ------
    ValueError
        Fewer units than `start`; as `score_ratio_interval`.

    Notes
    -----
    The first narrow interval may be narrow by chance; `stopping` has rules that keep their level.
    See :doc:`/how-to/suites`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    8, figure 13 and table 13.

    Examples
    --------
    >>> import perfarray
    >>> dims = {"benchmark": 4, "version": ["old", "new"]}
    >>> nest = {"sizes": {"execution": 20}, "variances": {"execution": 1e-4}}
    >>> times = perfarray.simulate(**nest, dims=dims, rng=1)
    >>> plan = times.perf.required_runs("old", width=0.02).squeeze()
    >>> plan["required"].item(), (plan["width"].sel(runs=[3, 4]) <= 0.02).values.tolist()
    (4.0, [False, True])
    """
    matching.check_choices(mean, statistic, "two-sided", method, METHODS)
    check_standard_error(method, statistic)
    level, first = check_confidence_level(confidence_level), check_count(start, "start", 2)
    target = check_number(width, "width")
    if target <= 0:
        raise ValueError(f"width={width!r}: give a positive width of the interval, such as 0.02")
    draws = None if method == "t" else matching.draws_of(n_resamples, rng)
    systems = matching.resolve_systems(
        times,
        baseline,
        across,
        weights,
        dim=dim,
        metric=metric,
        levels=levels,
        unit=unit,
        shared=shared,
        with_copies=True,
    )
    shared_units, shares = systems.shared, systems.weights(in_key_order=draws is not None)
    score = Score(
        mean,
        resolve_best(statistic, systems.better),
        shared=shared_units,
        confidence_level=level,
        weights=shares,
    )

    def kernel(sides: SuiteSides, cells: Any) -> tuple[np.ndarray, ...]:
        result = numerics.required_runs(
            sides, cells, score, draws, method, width=target, start=first
        )
        numbers = smallest_numbers(sides)
        used = np.minimum(*numbers)
        return *result, *numbers, _remarks(result, used, first), _unused(sides, used)

    result = matching.over_suites(
        kernel,
        systems,
        OUTPUTS,
        {RUNS: range(first, _most(systems, first) + 1)},
        shared=shared_units,
        in_key_order=draws is not None,
        statistic=score.statistic,
    )
    attrs: dict[str, Hashable] = {"result": "required_runs", "method": method}
    attrs |= {"question": QUESTION, "mean": mean, "statistic": statistic}
    attrs |= {"confidence_level": level, "width": target, "start": first}
    attrs |= {} if draws is None else {"n_resamples": draws.n_resamples} | describe_key(draws.key)
    remark = result["remark"].variable
    measured = matching.measured_on_a_side(systems.pair, across).set_dims(dict(remark.sizes))
    result["remark"] = remark.where(measured.transpose(*remark.dims), "")
    checks = ("suite_start", "suite_pilot", *systems.movement_checks(shared_units))
    answer = matching.describe_two(
        result.drop_vars("_unused"), systems, attrs, _note_unused(result), checks=checks
    )
    return answer.drop_vars("suite_benchmarks")


def _most(systems: matching.TwoSystems, start: int) -> int:
    """Return how many runs the smaller side has room for.

    Raise where that is less than the search begins with.
    """
    nest, depth = systems.pair.candidate.levels, systems.depth
    sides = (systems.pair.candidate, systems.pair.baseline)
    max_runs = min(
        int(np.prod([side.array.sizes[name] for name in nest[: depth + 1]])) for side in sides
    )
    if max_runs < start:
        attrs = describe_unit(systems.pair.candidate, depth)
        remedy = (
            f". {more_units(attrs, unit=True)}"
            if max_runs == 1
            else "; lower start=, or measure more"
        )
        raise ValueError(
            f"start={start} runs, and the data have {max_runs} units ({nest[depth]}) a side{remedy}"
        )
    return max_runs


def _remarks(search: numerics.RequiredRuns, n: Floats, first: int) -> np.ndarray:
    """Return for every suite why no number of its runs is enough; "" where one is."""
    remarks = same_text("", n.shape)
    # Text is made cell by cell, where there is something to say.
    for cell in np.flatnonzero(np.isnan(search.required)):
        runs, extrapolated = int(n[cell]), search.extrapolated[cell]
        widths = search.width[cell][~np.isnan(search.width[cell])]
        if not runs:
            remarks[cell] = "no benchmark measured on both sides"
        elif runs < first:
            remarks[cell] = f"a benchmark has {runs} runs on one side, and start is {first}"
        elif not len(widths):
            remarks[cell] = "the runs show no interval"
        else:
            extrapolation = f"{extrapolated:.0f} would do, if they vary as these do"
            remarks[cell] = f"with all {runs} runs the interval is {widths[-1]:.3g} wide; "
            remarks[cell] += (
                "ten million runs would not do either" if np.isnan(extrapolated) else extrapolation
            )
    return remarks


def _unused(sides: SuiteSides, used: Floats) -> Floats:
    """Count the runs of every suite beyond the fewest that a benchmark has on a side."""
    runs = sum(
        np.where(sides.matched, (~np.isnan(side)).sum(axis=-1), 0).sum(axis=-1)
        for side in (sides.new, sides.old)
    )
    return np.asarray(runs - 2 * used * sides.matched.sum(axis=-1))


def _note_unused(result: xr.Dataset) -> Note | None:
    """Count the runs that are not used, and those a side; a lazy result is not looked at."""
    unused = result["_unused"]
    if is_chunked(unused) or not (unused > 0).any():
        return None
    cells, runs = int((unused > 0).sum()), int(unused.sum())
    ranges = [
        (int(result[name].min()), int(result[name].max())) for name in ("n_candidate", "n_baseline")
    ]
    candidate, baseline = (str(low) if low == high else f"{low} to {high}" for low, high in ranges)
    sides = f"{candidate} (candidate) and {baseline} (baseline)"
    where = f"in {cells} of {unused.size} cells " if unused.size > 1 else ""
    explanation = f"as many are taken of every benchmark and side, and the fewest are {sides}"
    return Note(
        "unused",
        f"{where}{runs} runs are not used: {explanation}",
        {"cells": cells, "of": unused.size, "runs": runs},
    )


@check("suite_start")
def fewer_than_start(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with too few runs to begin with."""
    n_available, start = (
        np.minimum(result["n_candidate"], result["n_baseline"]),
        int(result.attrs["start"]),
    )
    text = (
        f"{{cells}} have fewer than start={start} runs of some benchmark "
        f"({result.attrs['unit']}s). Their answers are NaN"
    )
    text += f". {more_units(result.attrs, unit=True)}" if (n_available == 1).any() else ""
    return (count_note("few_units", text, (n_available > 0) & (n_available < start), start=start),)


@check("suite_pilot")
def without_pilot(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells in which no benchmark was measured on both sides."""
    return (
        matching.count_empty(result["n_candidate"] == 0, "no benchmark measured on both sides"),
    )

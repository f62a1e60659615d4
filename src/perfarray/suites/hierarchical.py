"""The hierarchical performance test: is the candidate better in most benchmarks, by ranks."""

from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, LOWER, plural
from perfarray.numerics.suite import SuiteSides, smallest_number
from perfarray.suites.matching import describe_two, over_suites, resolve_systems
from perfarray.suites.numerics.hierarchical import ZEROS, fewest_runs, hierarchical_test
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.pairs import FAR, worst_case
from perfarray.timings.resolve import Data
from perfarray.timings.units import more_units
from perfarray.timings.validation import check_choice, check_confidence_level, check_share

TAILS = {"two": 2, "one": 1}  # `sides` of the rank-sum tests
RANKED = "is the candidate better in most benchmarks, by ranks"


@for_each_suite
@for_each_metric
def hierarchical_performance_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    alpha: float = 0.05,
    sides: str = "two",
    confidence_level: float = 0.95,
    zeros: str = "drop",
    across: str = BENCHMARK,
    by: str | None = None,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test by ranks whether a candidate is better over a suite, and by which factor at least.

    Parameters
    ----------
    times, baseline, dim, across, by, unit, levels, metric
        As for `score_ratio_interval`.
    alpha : float
        Of the rank-sum test of each benchmark.
    sides : {"two", "one"}
        Against any difference (4 runs a side can reach 0.05), or in the direction seen (3 runs
        can).
    confidence_level : float
        Of the speedup.
    zeros : {"drop", "pratt", "split"}
        Benchmarks without a difference are left out, ranked and left out, or give half of their
        ranks to either side.

    Returns
    -------
    Dataset
        Along the dims of `score_ratio_interval`, unit 1: `confidence` = 1 - exact one-sided p of
        "the candidate is better"; `pvalue`; `speedup`, the largest factor by which it is better at
        `confidence_level` (NaN: none; 0: stopped runs leave no bound); `better_benchmarks` and
        `worse_benchmarks`, by their tests at `alpha`; `n` (units of the benchmark with fewest);
        `suite_benchmarks`. All but the last two are NaN where no benchmark can reach `alpha`.

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values.

    Notes
    -----
    A confidence of 0 does not show that the candidate is worse, or equal: exchange the sides to ask
    that. With fewer than 5 benchmarks the confidence cannot reach 0.95. Benchmarks count equally,
    and as independent. See :doc:`/how-to/suites`.

    References
    ----------
    T. Chen et al., "Statistical performance comparisons of computers", IEEE Transactions on
    Computers 64(5), 2015. S. Irving et al., "Computer comparisons in the presence of performance
    variation", 2018, section 6.

    Examples
    --------
    Six benchmarks, all faster: p = 1 / 2^6.

    >>> import perfarray
    >>> runs = [1.0, 1.01, 1.02, 1.03, 1.04]
    >>> samples = {f"b{i}": [runs, [0.9 * run for run in runs]] for i in range(6)}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution"))
    >>> times = times.assign_coords(version=["old", "new"])
    >>> test = times.perf.hierarchical_performance_test("old")
    >>> round(test["confidence"].item(), 4), round(1 / 2**6, 4)
    (0.9844, 0.0156)
    """
    check_choice(zeros, "zeros", ZEROS)
    check_choice(sides, "sides", tuple(TAILS))
    level, share = (
        check_confidence_level(confidence_level),
        check_share(alpha, "alpha", example="0.05"),
    )
    systems = resolve_systems(
        times,
        baseline,
        across,
        dim=dim,
        metric=metric,
        levels=levels,
        unit=unit,
        shared=(),
        censored="bound",
    )
    systems = systems._replace(pair=worst_case(systems.pair))
    lower_is_better = systems.pair.candidate.better == LOWER

    def kernel(units: SuiteSides, _: Any) -> tuple[np.ndarray, ...]:
        larger, smaller = (units.old, units.new) if lower_is_better else (units.new, units.old)
        result = hierarchical_test(larger, smaller, share, level, zeros, TAILS[sides])
        speedup = np.where(result.speedup < 1 / FAR, 0.0, result.speedup)
        return (
            result.confidence,
            1 - result.confidence,
            speedup,
            result.larger,
            result.smaller,
            smallest_number(units),
        )

    variables = outputs(
        confidence="confidence that the candidate is better",
        pvalue="",
        speedup="factor by which the candidate is better at least",
        better_benchmarks="benchmarks that are better by their own test",
        worse_benchmarks="benchmarks that are worse",
        n="independent units on the smaller side",
    )
    result = over_suites(kernel, systems, variables, tested=False)
    attrs = {
        "result": "hierarchical_performance_test",
        "method": "hpt",
        "alpha": share,
        "confidence_level": level,
        "zeros": zeros,
    }
    attrs |= {"sides": sides, "question": RANKED}
    return describe_two(
        result, systems, attrs, checks=("suite_benchmarks", "suite_ranks", "suite_direction")
    )


@check("suite_ranks")
def too_few_for_ranks(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with too few runs for a test, or too few benchmarks for confidence."""
    attrs = result.attrs
    alpha, level, sides = (
        float(attrs["alpha"]),
        float(attrs["confidence_level"]),
        str(attrs["sides"]),
    )
    no_confidence = (result["suite_benchmarks"] > 0) & result["confidence"].isnull()
    short = result["confidence"].notnull() & result["speedup"].isnull()
    needed = {name: fewest_runs(alpha, tails) for name, tails in TAILS.items()}
    text = (
        f"{{cells}} have no benchmark with enough runs for a rank-sum p of {alpha:g}. Confidence "
        "and speedup are NaN. "
    )
    text += f"Measure {needed[sides]} {plural(str(attrs['unit']))} a side"
    text += f", or give sides='one': {needed['one']} do" if needed["one"] < needed[sides] else ""
    text += f". {more_units(attrs, unit=True)}" if (result["n"] == 1).any() else ""
    n_required = ceil(-log2(1 - level))
    few_benchmarks = (
        f"{{cells}} have fewer than {n_required} benchmarks with enough runs, which a confidence "
        f"of {level:g} needs. The speedup is NaN."
    )
    return (
        count_note("few_runs", text, no_confidence, runs=needed[sides]),
        count_note("few_units", few_benchmarks, short, benchmarks=n_required),
    )


@check("suite_direction")
def direction_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells in which no benchmark differs, and those where more are worse."""
    better, worse, alpha = (
        result["better_benchmarks"],
        result["worse_benchmarks"],
        float(result.attrs["alpha"]),
    )
    equal = (
        f"{{cells}} have no benchmark that differs by its own rank-sum test at {alpha:g}. Their "
        "p is 1 by rule, which does not show "
    )
    equal += "that the sides are equal."
    against = (
        "{cells} have more benchmarks that are worse than better. Only whether the candidate is "
        "better was tested. Exchange the "
    )
    against += "sides to test whether it is worse."
    notes = (
        count_note("no_difference", equal, (better == 0) & (worse == 0)),
        count_note("other_direction", against, worse > better),
    )
    return tuple(replace(note, aside=True) for note in notes if note is not None)

"""The hierarchical performance test: is the candidate better in most benchmarks, by ranks."""

from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, LOWER
from perfarray.numerics.suite import match_sides, smallest_number
from perfarray.numerics.types import Floats
from perfarray.suites.matching import Request, count, counted, describe_two, over_suites, resolve_systems
from perfarray.suites.numerics.hierarchical import ZEROS, hierarchical_test
from perfarray.timings.apply import Output
from perfarray.timings.metrics import over_metrics
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_between, check_choice, check_confidence_level

RANKED = "is the candidate better in most benchmarks, by ranks"


@over_metrics
def hierarchical_performance_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    alpha: float = 0.05,
    confidence_level: float = 0.95,
    zeros: str = "drop",
    across: str = BENCHMARK,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test by ranks alone how surely a candidate is better over a suite, and by which factor at least.

    Parameters
    ----------
    times, baseline, dim, across, unit, levels, metric
        As for `score_ratio_interval`.
    alpha : float
        Of the rank-sum test of each benchmark.
    confidence_level : float
        Of the speedup.
    zeros : {"drop", "pratt", "split"}
        What the signed-rank test does with benchmarks that show no difference: leave them out, rank them and leave them out, or give half
        of their ranks to either side (p as with "pratt").

    Returns
    -------
    Dataset
        `confidence` = 1 - exact one-sided p of "the candidate is better" (as `better` of the data says), `pvalue`, `speedup` (the largest
        factor by which it is better at `confidence_level`; NaN where none is accepted), `n` (units behind the benchmark that has fewest)
        and `suite_benchmarks`.

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or choices; units that differ; values that are zero or negative.

    Notes
    -----
    Benchmarks count equally, however much they differ. With 3 runs a side no rank-sum test rejects at 0.05, and the confidence is 0; with
    fewer than 5 benchmarks it cannot reach 0.95. Shared units are not taken into account: benchmarks are assumed independent.

    References
    ----------
    T. Chen et al., "Statistical performance comparisons of computers", IEEE Transactions on Computers 64(5), 2015. S. Irving et al.,
    "Computer comparisons in the presence of performance variation", 2018, section 6.

    Examples
    --------
    >>> import perfarray
    >>> factor = [0.9, 0.92, 0.94, 0.91, 0.93, 0.95]
    >>> runs = [1.0, 1.01, 1.02, 1.03, 1.04]
    >>> samples = {f"b{i}": [runs, [ratio * run for run in runs]] for i, ratio in enumerate(factor)}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    >>> test = times.perf.hierarchical_performance_test("old")
    >>> round(test["confidence"].item(), 4), round(test["speedup"].item(), 3)
    (0.9844, 1.033)
    """
    check_choice(zeros, "zeros", ZEROS)
    level, share = check_confidence_level(confidence_level), check_between(alpha, "alpha", 0.0, 1.0, example="0.05")
    request = Request(dim=dim, metric=metric, levels=levels, across=across, unit=unit, shared=())
    systems = resolve_systems(times, baseline, request)
    lower_is_better = systems.pair.candidate.better == LOWER

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        del cells
        sides = match_sides(new, old, shared=False, paired=False)
        larger, smaller = (sides.old, sides.new) if lower_is_better else (sides.new, sides.old)
        found = hierarchical_test(larger, smaller, share, level, zeros)
        return found.confidence, 1 - found.confidence, found.speedup, smallest_number(sides), *count(sides)

    outputs = {
        "confidence": Output((), "1", long_name="confidence that the candidate is better"),
        "pvalue": Output((), "1"),
        "speedup": Output((), "1", long_name="factor by which the candidate is better at least"),
        "n": Output((), "1", long_name="independent units on the smaller side"),
    }
    found = over_suites(kernel, systems, outputs | counted(across))
    attrs = {"result": "hierarchical_performance_test", "method": "hpt", "alpha": share, "confidence_level": level, "zeros": zeros}
    return describe_two(found, systems, attrs | {"question": RANKED}, checks=("suite_benchmarks",))

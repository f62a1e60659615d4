"""A whole suite's score as a distribution: one run drawn per benchmark; its five numbers.

How much the score varies.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import xarray as xr

from perfarray.conventions import RNG_KEY, plural
from perfarray.numerics.types import Integers
from perfarray.suites.matching import REPLICATE, count_empty
from perfarray.suites.numerics.distributions import (
    SuiteRuns,
    central_score,
    draw_scores,
    summarise_scores,
    units_of,
)
from perfarray.suites.numerics.exact_quantiles import exact_numbers
from perfarray.suites.one_system import describe_one
from perfarray.suites.runs import over_cells, resolve_runs
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import is_chunked, outputs
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.movement import movement_notes
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng
from perfarray.timings.units import MEASURED, single_unit_note
from perfarray.timings.validation import check_choice
from perfarray.timings.weights import Weights

METHODS = ("monte_carlo", "exact")
PAPER = 500  # redrawn experiments in section 7 of the paper
DRAWN = ("n_resamples", "engine", RNG_KEY)  # attrs of what was drawn


@for_each_suite
def score_distribution(
    times: Data,
    *,
    n_resamples: int = 500,
    mean: str = "geometric",
    weights: Weights | None = None,
    across: str = "benchmark",
    by: str | None = None,
    value: str | None = None,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
) -> xr.DataArray:
    """Draw the distribution of a suite's score: one random run of every benchmark, averaged.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores. Dims that are neither levels nor `across` broadcast.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Scores to draw; their seed, or the `rng_key` of a result.
    mean : {"geometric", "harmonic", "arithmetic"}
        The mean over benchmarks.
    weights : DataArray, Series, mapping or sequence, optional
        How much each benchmark counts, by label of `across` or in their order. Default: all alike.
    across : str
        The dim of the suite.
    by : str, optional
        A coordinate along `across`: one result for each value. Default: `suite`, if there are
        several.
    value : str, optional
        The level whose repetitions are runs; lower ones are averaged. Default: `execution`, else
        the lowest.
    unit : str, optional
        The level whose repetitions are independent. Default: the outermost that a cell repeats.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark. Default: `attrs["shared_levels"]`.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the levels present); the variable (default: `time`).

    Returns
    -------
    DataArray
        The scores along the last dim `replicate`, in the units of the data, with the coordinate
        `suite_score`: the score of all runs.

    Raises
    ------
    ValueError
        Unknown names; negative values where the mean needs positive ones; no benchmark that every
        cell has.

    Notes
    -----
    The distribution is that of single passes through the suite: more runs do not make it narrower.
    For limits of a score, use `score_ratio_interval`. :doc:`/how-to/score_distributions` has the
    rules for several suites and cells that lack benchmarks.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    5, figures 2 and 5.

    Examples
    --------
    Two benchmarks with two runs each: four scores are possible.

    >>> import numpy as np, perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 4.0], "sort": [1.0, 9.0]}, dim="benchmark")
    >>> scores = times.perf.score_distribution(n_resamples=1000, rng=1)
    >>> np.unique(scores.round(6)).tolist()
    [1.0, 2.0, 3.0, 6.0]
    """
    runs = resolve_runs(
        times,
        across,
        weights,
        mean,
        n_resamples,
        rng,
        metric=metric,
        levels=levels,
        value=value,
        unit=unit,
        shared=shared,
    )
    units, drawing = runs.system.data.units, runs.drawing

    def kernel(suite: SuiteRuns, cells: Integers) -> tuple[np.ndarray, ...]:
        return draw_scores(suite, cells, drawing), central_score(suite, mean)

    variables = outputs(units, (REPLICATE,), score="") | outputs(units, suite_score="")
    result = over_cells(kernel, runs, variables, {REPLICATE: range(drawing.n_resamples)})
    attrs = runs.describe(random=True) | {"result": "score_distribution", "units": units}
    notes: list[Note | None] = []
    if not is_chunked(result["score"]):
        notes = [count_empty(result["suite_score"].isnull(), "no measured value")]
        notes += movement_notes(result.assign_attrs(attrs)) if runs.checks else ()
    scores = (
        result["score"].assign_coords(suite_score=result["suite_score"]).transpose(..., REPLICATE)
    )
    scores.name = str(runs.system.data.array.name or "time")
    return describe_one(scores, runs.system, attrs, *notes)


@for_each_suite
@for_each_metric
def five_number_summary(
    times: Data,
    *,
    method: str = "monte_carlo",
    n_resamples: int = 500,
    mean: str = "geometric",
    weights: Weights | None = None,
    across: str = "benchmark",
    by: str | None = None,
    value: str | None = None,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    progress: bool | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Describe a machine by the minimum, quartiles and maximum of its score.

    Parameters
    ----------
    times, mean, weights, across, by, value, unit, shared, levels, rng, metric
        As for `score_distribution`.
    method : {"monte_carlo", "exact"}
        Of `n_resamples` scores drawn at random, as in the paper; or of the distribution itself.
    n_resamples : int
        Scores to draw.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.

    Returns
    -------
    Dataset
        `minimum`, `q1`, `median`, `q3`, `maximum`, `range`, `interquartile_range` (units of the
        data), `n`, the units of the benchmark with the fewest, `suite_correlation` and
        `suite_correlation_pvalue` as in `score_ratio_interval`. Monte Carlo: also
        `standard_deviation`. Exact: bounds of each quartile, `q1_lower`, `q1_upper`,
        `median_lower`, `median_upper`, `q3_lower`, `q3_upper`.

    Raises
    ------
    ValueError
        As for `score_distribution`.

    Notes
    -----
    :doc:`/how-to/score_distributions` has the precision of the exact quartiles, and the rules for
    several suites and cells that lack benchmarks.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    5 and 6.5, figures 9 and 10.

    Examples
    --------
    Two benchmarks with two runs each: the scores are 1, 2, 3 and 6.

    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 4.0], "sort": [1.0, 9.0]}, dim="benchmark")
    >>> five = times.perf.five_number_summary(method="exact")
    >>> [round(five[name].item(), 6) for name in ("minimum", "q1", "median", "q3", "maximum")]
    [1.0, 1.0, 2.0, 3.0, 6.0]
    """
    check_choice(method, "method", METHODS)
    runs = resolve_runs(
        times,
        across,
        weights,
        mean,
        n_resamples,
        rng,
        metric=metric,
        levels=levels,
        value=value,
        unit=unit,
        shared=shared,
    )
    exact, drawing = method == "exact", runs.drawing
    bar = cells_bar(runs.cells, "five numbers", show=progress) if exact else None

    def kernel(suite: SuiteRuns, cells: Integers) -> tuple[np.ndarray, ...]:
        if exact:
            five, bounds = exact_numbers(
                suite, mean, after_each=None if bar is None else bar.update
            )
            spreads = bounds.swapaxes(0, 1).reshape(-1, len(cells))
        else:
            five, spreads = np.split(summarise_scores(suite, cells, drawing), [5])
        return *five, five[4] - five[0], five[3] - five[1], *spreads, units_of(suite)

    names = ["minimum", "q1", "median", "q3", "maximum", "range", "interquartile_range"]
    names += (
        [f"{name}_{side}" for name in names[1:4] for side in ("lower", "upper")]
        if exact
        else ["standard_deviation"]
    )
    variables = outputs(runs.system.data.units, **dict.fromkeys(names, "")) | outputs(
        n="independent units"
    )
    with nullcontext() if bar is None else bar:
        result = over_cells(kernel, runs, variables, in_key_order=not exact)
    attrs = runs.describe(random=not exact) | {"result": "five_number_summary", "method": method}
    return describe_one(
        result, runs.system, attrs, checks=(MEASURED, "suite_single_runs", *runs.checks)
    )


@check("suite_single_runs")
def single_runs(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with a benchmark that has a single unit, inside which values may vary."""
    unit = str(result.attrs["unit"])
    if result.attrs["result"] == "relative_variation":
        return (single_unit_note(result, "their variation is NaN, since one shows none"),)
    one_unit, varied = result.variables["n"].values == 1, result.variables["range"].values > 0
    inside = (
        f"the five numbers show the variation inside one {unit} alone, not that between "
        f"{plural(unit)}"
    )
    return (
        single_unit_note(result, inside, one_unit & varied),
        count_note(
            "single_unit",
            f"{{cells}} have a benchmark with a single {unit}, which shows no spread",
            one_unit & ~varied,
        ),
    )

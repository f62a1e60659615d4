"""A whole suite's score as a distribution: one run drawn per benchmark; its five numbers; how much the score varies."""

from collections.abc import Hashable, Sequence
from contextlib import nullcontext

import numpy as np
import xarray as xr

from perfarray.conventions import RNG_KEY, plural
from perfarray.numerics.types import Integers
from perfarray.suites.matching import REPLICATE, describe_one
from perfarray.suites.numerics.distributions import Suite, central_score, draw_scores, summarise_scores, units_of
from perfarray.suites.numerics.exact_quantiles import exact_numbers
from perfarray.suites.numerics.relative_variation import AIM, FEW, drawn_spread, exact_spread, filled_spread
from perfarray.suites.runs import Request, over_cells, resolve_runs
from perfarray.timings.across import Weights, each_suite, movement_notes
from perfarray.timings.apply import Output, is_chunked, outputs
from perfarray.timings.best import SUMMARIES, named_end
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, check_positive_values
from perfarray.timings.streams import Rng
from perfarray.timings.units import single_unit_note
from perfarray.timings.validation import check_choice

METHODS = ("monte_carlo", "exact")
PAPER = 500
"""Redrawn experiments in section 7 of the paper."""

QUARTILES = ("q1", "median", "q3")


@each_suite
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
    """Draw one run of every benchmark and take the suite's mean, many times over: how the score of a machine is distributed.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores; ragged ones padded with NaN. Dims that are neither levels nor `across` broadcast.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Scores to draw, and their seed or the `rng_key` of an earlier result.
    mean : {"geometric", "harmonic", "arithmetic"}
        The mean over benchmarks.
    weights : DataArray, Series, mapping or sequence, optional
        How much each benchmark counts, a number that is not negative: by label of `across`, or in their order. Only ratios matter; 0
        leaves a benchmark out. Default: all alike.
    across : str
        The dim of the suite.
    by : str, optional
        A coordinate along `across`, such as `suite`: a result for each of its values, along a dim of that name. Default: one for all.
    value : str, optional
        The level whose repetitions are runs; levels below it are averaged. Default: `execution`, else the lowest level.
    unit : str, optional
        The level whose repetitions are independent, those of levels above it pooled; default: the outermost.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark: drawn for all benchmarks together. Default:
        `attrs["shared_levels"]`, else none, and the attr `benchmarks` says so.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the repetition dims present); the variable of a Dataset (default: its `time`).

    Returns
    -------
    DataArray
        The scores along the last dim `replicate`, in the units of the data, with the coordinate `suite_score`: the score of all runs
        (for a geometric mean, their geometric mean, every unit with equal weight).

    Raises
    ------
    ValueError
        Unknown dims, levels, means or methods; zero or negative values where the mean needs positive ones; no benchmark that every cell
        has.

    See Also
    --------
    five_number_summary : the distribution in five numbers, also exactly

    Notes
    -----
    It describes single passes through the suite, not the uncertainty of a mean: more runs do not make it narrower. An interval of the
    score comes from `score_ratio_interval`.

    Benchmarks that some cell lacks are left out of every cell (attr `unmatched`, and a warning): scores of different suites cannot be
    compared. A cell without any value is NaN. Shared units that a benchmark lacks are left out too.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 5, figures 2 and 5.

    Examples
    --------
    Two benchmarks with two runs each: four scores are possible.

    >>> import numpy as np, perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 4.0], "sort": [1.0, 9.0]}, dim="benchmark")
    >>> scores = times.perf.score_distribution(n_resamples=1000, rng=1)
    >>> np.unique(scores.round(6)).tolist()
    [1.0, 2.0, 3.0, 6.0]
    """
    del by  # the wrapper reads it
    request = Request(
        metric=metric, levels=levels, across=across, mean=mean, weights=weights, value=value, unit=unit, shared=shared,
        n_resamples=n_resamples, rng=rng,
    )  # fmt: skip
    runs = resolve_runs(times, request)
    units, drawing = runs.system.data.units, runs.drawing

    def kernel(suite: Suite, cells: Integers) -> tuple[np.ndarray, ...]:
        return draw_scores(suite, cells, drawing), central_score(suite, mean)

    named = outputs(units, (REPLICATE,), score="") | outputs(units, suite_score="")
    result = over_cells(kernel, runs, named, {REPLICATE: range(drawing.n_resamples)})
    attrs = runs.describe(random=True) | {"result": "score_distribution", "units": units}
    notes = movement_notes(result.assign_attrs(attrs)) if runs.moving and not is_chunked(result["score"]) else ()
    scores = result["score"].assign_coords(suite_score=result["suite_score"]).transpose(..., REPLICATE)
    scores.name = str(runs.system.data.array.name or "time")
    return describe_one(scores, runs.system, attrs, *notes, *runs.weighing.notes)


@each_suite
@over_metrics
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
    progress: bool = False,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Describe the performance of a machine by five numbers of its score: minimum, quartiles and maximum.

    Parameters
    ----------
    times, mean, weights, across, value, unit, shared, levels, rng, metric
        As for `score_distribution`.
    method : {"monte_carlo", "exact"}
        Five numbers of `n_resamples` scores drawn at random, as in the paper; or of the distribution itself, without random numbers.
    n_resamples : int
        Scores to draw.
    by : str, optional
        A coordinate along `across`, such as `suite`: a result for each of its values, along a dim of that name. Default: one for all.
    progress : bool
        Show a progress bar that counts cells, with "exact"; a lazy result has none.

    Returns
    -------
    Dataset
        `minimum`, `q1`, `median`, `q3`, `maximum`, `range`, `interquartile_range` (units of the data), `n`, the units of the benchmark
        with the fewest, `suite_correlation` and `suite_correlation_pvalue` as in `score_ratio_interval`. Monte Carlo: also
        `standard_deviation` of the scores drawn. Exact: between what bounds each quartile lies, `q1_lower`, `q1_upper`, `median_lower`,
        `median_upper`, `q3_lower`, `q3_upper`.

    Raises
    ------
    ValueError
        Unknown dims, levels, means or methods; zero or negative values where the mean needs positive ones; no benchmark that every cell
        has.

    See Also
    --------
    score_distribution : all the scores

    Notes
    -----
    A quantile is inf{x: F(x) >= p}. Up to 2**22 scores (13 benchmarks with 3 runs) are listed: the exact quartiles are scores that occur,
    up to rounding, and the bounds are equal to them. Beyond that, runs are rounded on the mean's own scale to a lattice between the
    least and the largest sum, so fine that the true quartile lies between bounds that are at most B / 2**20 of the range of such sums of
    B benchmarks apart. Minimum and maximum are always exact with "exact"; those of 500 random scores lie inside them.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 5 and 6.5, figures 9 and 10.

    Examples
    --------
    Two benchmarks with two runs each: the scores are 1, 2, 3 and 6.

    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [1.0, 4.0], "sort": [1.0, 9.0]}, dim="benchmark")
    >>> five = times.perf.five_number_summary(method="exact")
    >>> [round(five[name].item(), 6) for name in ("minimum", "q1", "median", "q3", "maximum")]
    [1.0, 1.0, 2.0, 3.0, 6.0]
    """
    del by  # the wrapper reads it
    check_choice(method, "method", METHODS)
    request = Request(
        metric=metric, levels=levels, across=across, mean=mean, weights=weights, value=value, unit=unit, shared=shared,
        n_resamples=n_resamples, rng=rng,
    )  # fmt: skip
    runs = resolve_runs(times, request)
    drawing = runs.drawing
    bar = cells_bar(runs.cells, "five numbers", show=progress and method == "exact")

    def kernel(suite: Suite, cells: Integers) -> tuple[np.ndarray, ...]:
        if method == "exact":
            five, bounds = exact_numbers(suite, mean, after_each=None if bar is None else bar.update)
            spreads = [limits for of_quartile in bounds.swapaxes(0, 1) for limits in of_quartile]
        else:
            *five, deviation = summarise_scores(suite, cells, drawing)
            spreads = [deviation]
        return *five, five[4] - five[0], five[3] - five[1], *spreads, units_of(suite)

    bounds = [f"{name}_{side}" for name in QUARTILES for side in ("lower", "upper")]
    names = ["minimum", *QUARTILES, "maximum", "range", "interquartile_range"]
    names += bounds if method == "exact" else ["standard_deviation"]
    named = outputs(runs.system.data.units, **dict.fromkeys(names, "")) | outputs(n="independent units")
    with nullcontext() if bar is None else bar:
        result = over_cells(kernel, runs, named, in_key_order=method == "monte_carlo")
    attrs = runs.describe(random=method == "monte_carlo") | {"result": "five_number_summary", "method": method}
    return describe_one(result, runs.system, attrs, *runs.weighing.notes, checks=("suite_single_runs", *runs.moving))


@each_suite
@over_metrics
def relative_variation(
    times: Data,
    *,
    method: str = "exact",
    n_resamples: int | None = None,
    statistic: str = "median",
    mean: str = "geometric",
    weights: Weights | None = None,
    across: str = "benchmark",
    by: str | None = None,
    value: str | None = None,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Estimate how much a machine's score varies: its standard deviation over redrawn experiments, relative to the score.

    Parameters
    ----------
    times, mean, weights, across, value, shared, levels, rng, metric
        As for `score_distribution`.
    method : {"exact", "monte_carlo"}
        The standard deviation of the bootstrap distribution itself, or of `n_resamples` draws from it, as in the paper. Cells for which
        the former has no closed form are drawn with "exact", too, and a note says so.
    n_resamples : int, optional
        Redrawn experiments. Default: 500 with "monte_carlo", as in the paper; with "exact", where there is no closed form, as many (500 to
        10,000) as bring the Monte Carlo standard error down to 2 % of the standard deviation.
    statistic : {"median", "mean", "min", "best", "geometric"}
        The summary of one benchmark's runs; `best` is the minimum of times and the maximum of rates.
    unit : str, optional
        The level whose repetitions are redrawn, those of levels above it pooled; default: the outermost.
    by : str, optional
        A coordinate along `across`, such as `suite`: a result for each of its values, along a dim of that name. Default: one for all.

    Returns
    -------
    Dataset
        `performance` (the score: the mean over benchmarks of the statistic) and `standard_deviation` in the units of the data,
        `relative_variation` = standard deviation / performance, `n`, the units of the benchmark with the fewest, `drawn`: whether
        the spread comes from random numbers, and `suite_correlation` and `suite_correlation_pvalue` as in `score_ratio_interval`. With one
        unit it is NaN.

    Raises
    ------
    ValueError
        Unknown dims, levels, means or methods; zero or negative values where the mean needs positive ones; no benchmark that every cell
        has.

    Notes
    -----
    An experiment is redrawn as the bootstrap does: as many outermost units as there are, with replacement, in each benchmark (units that
    are shared, for all benchmarks at once). For three runs, the median is then the lowest, middle and highest with weights 7/27, 13/27
    and 7/27; the weights of n runs follow from the binomial distribution, and with the moments
    :math:`E[G^k] = \prod_b \sum_j p_j x_{(j)}^{k/B}` the standard deviation of a geometric mean needs no random numbers.

    "exact" covers geometric and arithmetic means: of medians, minima and maxima of any number of single-run units, of means on the mean's
    own scale, and of any statistic of up to 8 units; up to 8 shared units for any mean.

    The bootstrap variance of a median of three runs is 1.2 times the true one. Ties by rounding can make it zero.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 7 and tables 10 to 12.

    Examples
    --------
    One benchmark, three runs: 7/27 of the medians are 9, 13/27 are 10, 7/27 are 11.

    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> found = times.perf.relative_variation(mean="arithmetic")
    >>> found["performance"].item(), round(found["standard_deviation"].item() ** 2 * 27, 6)
    (10.0, 14.0)
    """
    del by  # the wrapper reads it
    check_choice(method, "method", METHODS)
    check_choice(statistic, "statistic", SUMMARIES)
    number = PAPER if n_resamples is None else n_resamples
    request = Request(
        metric=metric, levels=levels, across=across, mean=mean, weights=weights, value=value, unit=unit, shared=shared,
        n_resamples=number, rng=rng,
    )  # fmt: skip
    runs = resolve_runs(times, request)
    if statistic == "geometric" and mean == "arithmetic":
        positive = check_positive_values(runs.system.data, "statistic='geometric'", runs.depth)
        runs = runs._replace(system=runs.system._replace(data=positive))
    data, drawing = runs.system.data, runs.drawing
    of_runs, aim = named_end(statistic, data.better), AIM if n_resamples is None else np.inf

    def kernel(suite: Suite, cells: Integers) -> tuple[np.ndarray, ...]:
        n = units_of(suite)
        if method == "monte_carlo":
            spread, random = drawn_spread(suite, cells, of_runs, drawing), n > 1
        else:
            spread = exact_spread(suite, of_runs, mean)
            random = (n > 1) & np.isnan(spread.standard_deviation)
            if random.any():
                random_suite = suite._replace(runs=suite.runs[random], shares=None if suite.shares is None else suite.shares[random])
                for field, values in zip(spread[1:], filled_spread(random_suite, cells[random], of_runs, drawing, aim)[1:], strict=True):
                    field[random] = values
        deviation, error = (np.where(n > 1, values, np.nan) for values in (spread.standard_deviation, spread.error))
        return spread.performance, deviation, deviation / spread.performance, error, n, random, np.where(random, spread.draws, 0)

    named = outputs(data.units, performance="", standard_deviation="")
    named |= outputs(relative_variation="", monte_carlo_error="standard error by chance, a share of the variation", n="independent units")
    result = over_cells(kernel, runs, named | {"drawn": Output((), "", bool), "_draws": Output()}, most=1)
    attrs = runs.describe(random=True) | {"result": "relative_variation", "method": method, "statistic": statistic}
    attrs = _as_done(attrs, result, named=n_resamples is not None)
    checks = ("suite_single_runs", *(("suite_redrawn",) if method == "exact" else ()), *runs.moving)
    return describe_one(result.drop_vars("_draws"), runs.system, attrs, data.selected, *runs.weighing.notes, checks=checks)


def _as_done(attrs: dict[str, Hashable], result: xr.Dataset, *, named: bool) -> dict[str, Hashable]:
    """Return attrs that say what was drawn; of a lazy result nobody knows yet. `given`: whether the caller named a number of draws."""
    method = attrs["method"]
    if is_chunked(result["drawn"]):
        return attrs if named or method != "exact" else {name: value for name, value in attrs.items() if name != "n_resamples"}
    any_drawn, all_drawn = bool(result["drawn"].any()), bool((result["drawn"] | (result["n"] <= 1)).all())
    if method == "exact":
        attrs = attrs | {"method": "monte_carlo" if any_drawn and all_drawn else "exact, monte_carlo" if any_drawn else "exact"}
    described = attrs | {"n_resamples": int(result["_draws"].max())}
    return described if any_drawn else {name: value for name, value in described.items() if name not in DRAWN}


DRAWN = ("n_resamples", "engine", RNG_KEY)
"""Attrs of what was drawn."""


@check("suite_redrawn")
def redrawn(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that have no closed form."""
    without_form = result["drawn"]
    error = float(result["monte_carlo_error"].where(without_form).max()) if without_form.any() else 0.0
    text = (
        f"{{cells}} have no closed form (more than {FEW} units, of several runs or of a harmonic mean): their spread is that of redrawn "
        f"experiments, with a standard error of {100 * error:.1f} % of it at most"
    )
    return (count_note("redrawn", text, without_form, error=error),)


@check("suite_single_runs")
def single_runs(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with a benchmark that has a single unit; what lies inside it may vary."""
    unit = str(result.attrs["unit"])
    if result.attrs["result"] == "relative_variation":
        return (single_unit_note(result, "their variation is NaN, since one shows none"),)
    single, varied = result["n"] == 1, result["range"] > 0
    inside = f"what differs between {plural(unit)} is not in the five numbers, which show what differs inside one alone"
    return (
        single_unit_note(result, inside, single & varied),
        count_note("single_unit", f"{{cells}} have a benchmark with a single {unit}, which shows no spread", single & ~varied),
    )

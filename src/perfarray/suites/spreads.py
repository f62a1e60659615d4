"""How much the score of a suite varies: its relative variation."""

from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import xarray as xr

from perfarray.numerics.types import Integers
from perfarray.suites.distributions import DRAWN, METHODS, PAPER
from perfarray.suites.numerics.distributions import Drawing, SuiteRuns, units_of
from perfarray.suites.numerics.relative_variation import (
    AIM,
    FEW,
    drawn_spread,
    exact_spread,
    filled_spread,
    performance_of,
)
from perfarray.suites.one_system import describe_one
from perfarray.suites.runs import over_cells, resolve_runs
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import Output, is_chunked, outputs
from perfarray.timings.best import SUMMARIES, resolve_best
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.progress import cells_bar
from perfarray.timings.resolve import Data, decline_zeros
from perfarray.timings.streams import Rng
from perfarray.timings.units import MEASURED
from perfarray.timings.validation import check_choice
from perfarray.timings.weights import Weights
from perfarray.timings.zeros import Positive


@for_each_suite
@for_each_metric
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
    progress: bool | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Estimate how much a machine's score varies over redrawn experiments.

    Parameters
    ----------
    times, mean, weights, across, by, value, shared, levels, rng, metric
        As for `score_distribution`.
    method : {"exact", "monte_carlo"}
        The standard deviation of the bootstrap distribution itself, or of `n_resamples` draws, as
        in the paper. With "exact", cells without a closed form are drawn, too, and a note says so.
    n_resamples : int, optional
        Redrawn experiments. Default: 500; of drawn cells with "exact", as many (500 to 10,000) as
        reach a Monte Carlo error of 2 %.
    statistic : {"median", "mean", "min", "best", "geometric"}
        The summary of one benchmark's runs; `best` is the minimum of times and the maximum of
        rates.
    unit : str, optional
        The level whose repetitions are redrawn. Default: the outermost that a cell repeats.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.

    Returns
    -------
    Dataset
        `performance` (the score) and `standard_deviation` in the units of the data;
        `relative_variation`, their ratio (NaN with one unit); `monte_carlo_error`, relative, of the
        deviation; `n`, the units of the benchmark with the fewest; `drawn`, whether random numbers
        were used; `suite_correlation` and `suite_correlation_pvalue` as in `score_ratio_interval`.

    Raises
    ------
    ValueError
        As for `score_distribution`.

    Notes
    -----
    The bootstrap variance of a median of three runs is 1.2 times the true one. Ties by rounding can
    make it zero. :doc:`/how-to/score_distributions` has the closed forms, and the rules for several
    suites and cells that lack benchmarks.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    7 and tables 10 to 12.

    Examples
    --------
    One benchmark, three runs: 7/27 of the medians are 9, 13/27 are 10, 7/27 are 11.

    >>> import perfarray
    >>> times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0]}, dim="benchmark")
    >>> variation = times.perf.relative_variation(mean="arithmetic")
    >>> variation["performance"].item(), round(variation["standard_deviation"].item() ** 2 * 27, 6)
    (10.0, 14.0)
    """
    check_choice(method, "method", METHODS)
    check_choice(statistic, "statistic", SUMMARIES)
    number = PAPER if n_resamples is None else n_resamples
    runs = resolve_runs(
        times,
        across,
        weights,
        mean,
        number,
        rng,
        metric=metric,
        levels=levels,
        value=value,
        unit=unit,
        shared=shared,
    )
    if statistic == "geometric" and mean == "arithmetic":
        positive = decline_zeros(
            runs.system.data, Positive("statistic='geometric'", level=runs.depth)
        )
        runs = runs._replace(system=runs.system._replace(data=positive))
    data, drawing, aim = runs.system.data, runs.drawing, AIM if n_resamples is None else np.inf
    of_runs = resolve_best(statistic, data.better)
    bar = cells_bar(runs.cells, "variation", show=progress)

    def kernel(suite: SuiteRuns, cells: Integers) -> tuple[np.ndarray, ...]:
        return _variation(suite, cells, of_runs, drawing, method, aim=aim, bar=bar)

    variables = outputs(data.units, performance="", standard_deviation="")
    variables |= outputs(
        relative_variation="",
        monte_carlo_error="standard error by chance, a share of the variation",
        n="independent units",
    )
    with nullcontext() if bar is None else bar:
        result = over_cells(
            kernel,
            runs,
            variables | {"drawn": Output((), "", bool), "_draws": Output()},
            max_joint=1,
        )
    attrs = runs.describe(random=True) | {"result": "relative_variation", "method": method}
    attrs |= {"statistic": statistic}
    attrs = _describe_drawn(attrs, result, draws_requested=n_resamples is not None)
    checks = (
        MEASURED,
        "suite_single_runs",
        *(("suite_redrawn",) if method == "exact" else ()),
        *runs.checks,
    )
    return describe_one(
        result.drop_vars("_draws"), runs.system, attrs, *data.unit_notes, checks=checks
    )


def _variation(
    suite: SuiteRuns,
    cells: Integers,
    statistic: str,
    drawing: Drawing,
    method: str,
    *,
    aim: float,
    bar: Any,
) -> tuple[np.ndarray, ...]:
    """Return the score of cells, its spread, its Monte Carlo error, and what was drawn.

    Where there is no closed form, experiments are redrawn until the error is below `aim`.
    """
    mean = drawing.mean
    performance, n = performance_of(suite, statistic, mean), units_of(suite)
    deviation, error, n_draws = np.zeros((3, len(cells)))
    if method == "monte_carlo":
        deviation, error = drawn_spread(suite, cells, statistic, drawing)
        n_draws, random = np.full(len(cells), float(drawing.n_resamples)), n > 1
    else:
        deviation = exact_spread(suite, statistic, mean)
        random = (n > 1) & np.isnan(deviation)
        if random.any():
            shares = None if suite.shares is None else suite.shares[random]
            subset = suite._replace(runs=suite.runs[random], shares=shares)
            update = None if bar is None else bar.update
            deviation[random], error[random], n_draws[random] = filled_spread(
                subset, cells[random], statistic, drawing, aim, update
            )
    if bar is not None:
        bar.update(len(cells) if method == "monte_carlo" else int((~random).sum()))
    deviation, error = np.where(n > 1, deviation, np.nan), np.where(n > 1, error, np.nan)
    with np.errstate(invalid="ignore"):
        variation = deviation / performance
    return performance, deviation, variation, error, n, random, np.where(random, n_draws, 0)


def _describe_drawn(
    attrs: dict[str, Hashable], result: xr.Dataset, *, draws_requested: bool
) -> dict[str, Hashable]:
    """Return attrs that say what was drawn, or of a lazy result what may be.

    `draws_requested` if the caller named a number of draws.
    """
    method = attrs["method"]
    if is_chunked(result["drawn"]):
        return (
            attrs
            if draws_requested or method != "exact"
            else {name: value for name, value in attrs.items() if name != "n_resamples"}
        )
    any_drawn, all_drawn = (
        bool(result["drawn"].any()),
        bool((result["drawn"] | (result["n"] <= 1)).all()),
    )
    if method == "exact" and any_drawn:
        attrs = attrs | {"method": "monte_carlo" if all_drawn else "exact, monte_carlo"}
    drawn_attrs = attrs | {"n_resamples": int(result["_draws"].max())}
    return (
        drawn_attrs
        if any_drawn
        else {name: value for name, value in drawn_attrs.items() if name not in DRAWN}
    )


@check("suite_redrawn")
def redrawn_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells that have no closed form."""
    without_form = result["drawn"]
    error = (
        float(result["monte_carlo_error"].where(without_form).max()) if without_form.any() else 0.0
    )
    text = (
        f"{{cells}} have no closed form (more than {FEW} units, of several runs or of a harmonic "
        "mean). Their spread is that of redrawn experiments. Its standard error is at most "
        f"{100 * error:.1f} % of it."
    )
    return (count_note("redrawn", text, without_form, error=error),)

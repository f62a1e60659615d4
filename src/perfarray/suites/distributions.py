"""A whole suite's score as a distribution: one run drawn per benchmark; its five numbers; how much the score varies."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.distributions import (
    Drawing,
    Suite,
    arrange,
    central_score,
    draw_scores,
    from_scale,
    summarise_scores,
    to_scale,
    units_of,
)
from perfarray.suites.numerics.exact_quantiles import Quantiles, points_of, quantiles_of_sum
from perfarray.suites.numerics.relative_variation import FEW, drawn_spread, exact_spread
from perfarray.timings.across import UNMATCHED, check_across, common_benchmarks, left_out_of_all, name_suites
from perfarray.timings.apply import Output, apply, is_chunked
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import warn
from perfarray.timings.options import engine
from perfarray.timings.resampling import Rng, cell_numbers, key_of
from perfarray.timings.resolve import Data, Timings, check_dim, check_positive_values, resolve, shared_levels
from perfarray.timings.units import describe_value, value_place
from perfarray.timings.validation import check_choice, check_count

MEANS = ("geometric", "harmonic", "arithmetic")
STATISTICS = ("median", "mean", "min", "geometric")
METHODS = ("monte_carlo", "exact")
REPLICATE = "replicate"
QUARTILES = ("q1", "median", "q3")


class _Question(NamedTuple):
    """The data of one call: which benchmarks count, which levels are shared, what a run is."""

    data: Timings
    across: str
    kept: xr.DataArray
    unmatched: tuple[str, ...]
    common: tuple[str, ...]
    place: int
    mean: str

    def suite(self, values: Floats, kept: Any, *, whole_units: bool = False) -> Suite:
        """Return the runs of the matched benchmarks; `whole_units` where only the outermost units are drawn together."""
        joint = next((number for number, level in enumerate(self.data.levels) if level not in self.common), len(self.data.levels))
        depth = len(self.data.levels)
        chosen = values.compress(kept.reshape(-1), axis=values.ndim - depth - 1)
        if self.mean != "arithmetic":
            # Data in memory were refused; a lazy cell with such a value has no score.
            axes = tuple(range(chosen.ndim - depth - 1, chosen.ndim))
            chosen = np.where((chosen <= 0).any(axis=axes, keepdims=True), np.nan, chosen)
        return arrange(chosen, depth, self.place, min(joint, 1) if whole_units else joint)

    def describe(self, name: str) -> dict[str, Hashable]:
        """Return the attrs of the result."""
        attrs = describe_value(self.data, self.place) | {"result": name, "mean": self.mean, "across": self.across}
        attrs["benchmarks"] = f"shared: {' '.join(self.common)}" if self.common else "independent (assumed)"
        attrs |= {} if is_chunked(self.kept) else {"n_benchmarks": int(self.kept.sum())}
        return attrs | ({UNMATCHED: ", ".join(self.unmatched)} if self.unmatched else {})

    def suites(self, result: xr.Dataset | xr.DataArray) -> str:
        """Name the suites that one mean is taken over, where they are several."""
        return name_suites(result, self.data, self.kept, self.across)

    def note(self) -> str:
        """Name the benchmarks left out of every cell."""
        return left_out_of_all(self.unmatched, self.kept.size, self.across)


def score_distribution(
    times: Data,
    *,
    n_resamples: int = 500,
    mean: str = "geometric",
    across: str = "benchmark",
    value: str | None = None,
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
    n_resamples : int
        Scores to draw.
    mean : {"geometric", "harmonic", "arithmetic"}
        The mean over benchmarks.
    across : str
        The dim of the suite.
    value : str, optional
        The level whose repetitions are runs; levels below it are averaged. Default: `execution`, else the lowest level.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark: drawn for all benchmarks together. Default:
        `attrs["shared_levels"]`, else none, and the attr `benchmarks` says so.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    rng : int, numpy.random.Generator, optional
        Seed. The same seed gives the same numbers for any order of dims, chunks and number of threads.
    metric : str, optional
        Variable of a Dataset.

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
    question = _ask(times, mean, across, value, shared, levels, metric)
    drawing = _drawing(question, n_resamples, rng)

    def kernel(values: Floats, cells: Any, kept: Any) -> tuple[Floats, ...]:
        suite = question.suite(values, kept)
        return _shaped(values, question, draw_scores(suite, cells.ravel(), drawing), central_score(suite, mean))

    outputs = {"score": Output((REPLICATE,), question.data.units), "suite_score": Output((), question.data.units)}
    found = _apply(kernel, question, outputs, {REPLICATE: range(drawing.n_resamples)})
    attrs = question.describe("score_distribution") | _drawn(drawing) | {"units": question.data.units}
    scores = found["score"].assign_coords(suite_score=found["suite_score"]).assign_attrs(attrs)
    scores.name = str(question.data.array.name or "time")
    warn(*question.data.notes, question.suites(scores), question.note())
    return scores.transpose(..., REPLICATE)


@over_metrics
def five_number_summary(
    times: Data,
    *,
    method: str = "monte_carlo",
    n_resamples: int = 500,
    mean: str = "geometric",
    across: str = "benchmark",
    value: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Describe the performance of a machine by five numbers of its score: minimum, quartiles and maximum.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores; ragged ones padded with NaN. Dims that are neither levels nor `across` broadcast.
    method : {"monte_carlo", "exact"}
        Five numbers of `n_resamples` scores drawn at random, as in the paper; or of the distribution itself, without random numbers.
    n_resamples : int
        Scores to draw.
    mean : {"geometric", "harmonic", "arithmetic"}
        The mean over benchmarks.
    across : str
        The dim of the suite.
    value : str, optional
        The level whose repetitions are runs; levels below it are averaged. Default: `execution`, else the lowest level.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark: drawn for all benchmarks together. Default:
        `attrs["shared_levels"]`, else none, and the attr `benchmarks` says so.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    rng : int, numpy.random.Generator, optional
        Seed. The same seed gives the same numbers for any order of dims, chunks and number of threads.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `minimum`, `q1`, `median`, `q3`, `maximum`, `range`, `interquartile_range` (units of the data) and `n`, the units of the benchmark
        with the fewest. Monte Carlo: also `standard_deviation` of the scores drawn. Exact: between what bounds each quartile lies,
        `q1_lower`, `q1_upper`, `median_lower`, `median_upper`, `q3_lower`, `q3_upper`.

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
    A quantile is inf{x: F(x) >= p}, a score that occurs. The exact quartiles list the sums of two halves of the suite and count pairs:
    exact up to rounding, and the bounds are equal to the quartile, for up to 2**24 sums a half (29 benchmarks with 3 runs: some four
    seconds; 12 with 3: tens of milliseconds). Beyond that, values are rounded to a grid of 65,536 steps between the least and the largest
    sum, counted in whole numbers; the true quartile lies between the bounds. Minimum and maximum are always exact with "exact"; those of
    500 random scores lie inside them.

    Benchmarks that some cell lacks are left out of every cell (attr `unmatched`, and a warning): scores of different suites cannot be
    compared. A cell without any value is NaN. Shared units that a benchmark lacks are left out too.

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
    check_choice(method, "method", METHODS)
    question = _ask(times, mean, across, value, shared, levels, metric)
    drawing = _drawing(question, n_resamples, rng)
    numbers = ["minimum", *QUARTILES, "maximum", "range", "interquartile_range"]
    bounds = [f"{name}_{side}" for name in QUARTILES for side in ("lower", "upper")]

    def kernel(values: Floats, cells: Any, kept: Any) -> tuple[Floats, ...]:
        suite = question.suite(values, kept)
        if method == "exact":
            found = _exact_numbers(suite, mean)
        else:
            low, q1, median, q3, high, deviation = summarise_scores(suite, cells.ravel(), drawing)
            found = [low, q1, median, q3, high, high - low, q3 - q1, deviation]
        return _shaped(values, question, *found, units_of(suite))

    names = numbers + (bounds if method == "exact" else ["standard_deviation"])
    outputs = {name: Output((), question.data.units) for name in names} | {"n": Output((), "1", long_name="independent units")}
    attrs = question.describe("five_number_summary") | {"method": method} | (_drawn(drawing) if method == "monte_carlo" else {})
    result = _apply(kernel, question, outputs, {}).assign_attrs(attrs)
    warn(*question.data.notes, question.suites(result), question.note(), _single_runs(result["n"], "shows no spread"))
    return result


@over_metrics
def relative_variation(
    times: Data,
    *,
    method: str = "exact",
    n_resamples: int = 500,
    statistic: str = "median",
    mean: str = "geometric",
    across: str = "benchmark",
    value: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Say how much a machine's score varies: its standard deviation over redrawn experiments, relative to the score.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores; ragged ones padded with NaN. Dims that are neither levels nor `across` broadcast.
    method : {"exact", "monte_carlo"}
        The standard deviation of the bootstrap distribution itself, or of `n_resamples` draws from it, as in the paper.
    n_resamples : int
        Redrawn experiments.
    statistic : {"median", "mean", "min", "geometric"}
        The summary of one benchmark's runs.
    mean : {"geometric", "harmonic", "arithmetic"}
        The mean over benchmarks.
    across : str
        The dim of the suite.
    value : str, optional
        The level whose repetitions are runs; levels below it are averaged. Default: `execution`, else the lowest level.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark: drawn for all benchmarks together. Default:
        `attrs["shared_levels"]`, else none, and the attr `benchmarks` says so.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    rng : int, numpy.random.Generator, optional
        Seed. The same seed gives the same numbers for any order of dims, chunks and number of threads.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `performance` (the score: the mean over benchmarks of the statistic) and `standard_deviation` in the units of the data,
        `relative_variation` = standard deviation / performance, and `n`, the units of the benchmark with the fewest. With one unit the
        spread is NaN.

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

    "exact" covers geometric and arithmetic means: of medians and minima of any number of single-run units, of means on the mean's own
    scale, and of any statistic of up to 8 units; up to 8 shared units for any mean. Elsewhere it refuses and names "monte_carlo".

    The bootstrap variance of a median of three runs is 1.2 times the true one. Ties by rounding can make it zero.

    Benchmarks that some cell lacks are left out of every cell (attr `unmatched`, and a warning): scores of different suites cannot be
    compared. A cell without any value is NaN. Shared units that a benchmark lacks are left out too.

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
    check_choice(method, "method", METHODS)
    check_choice(statistic, "statistic", STATISTICS)
    question = _ask(times, mean, across, value, shared, levels, metric)
    if statistic == "geometric":
        check_positive_values(question.data, "statistic='geometric'")
    drawing = _drawing(question, n_resamples, rng)

    def kernel(values: Floats, cells: Any, kept: Any) -> tuple[Floats, ...]:
        suite = question.suite(values, kept, whole_units=True)
        n = units_of(suite)
        if method == "exact":
            performance, deviation = exact_spread(suite, statistic, mean)
            _check_closed_form(deviation, n, statistic, mean)
        else:
            performance, deviation = drawn_spread(suite, cells.ravel(), statistic, drawing)
        deviation = np.where(n > 1, deviation, np.nan)
        return _shaped(values, question, performance, deviation, deviation / performance, n)

    outputs = {name: Output((), question.data.units) for name in ("performance", "standard_deviation")}
    outputs |= {"relative_variation": Output((), "1"), "n": Output((), "1", long_name="independent units")}
    attrs = question.describe("relative_variation") | {"method": method, "statistic": statistic}
    attrs |= _drawn(drawing) if method == "monte_carlo" else {}
    result = _apply(kernel, question, outputs, {}).assign_attrs(attrs)
    notes = [*question.data.notes, question.data.selected, question.suites(result), question.note()]
    warn(*notes, _single_runs(result["n"], "has no spread: theirs is NaN"))
    return result


def _ask(
    times: Data,
    mean: str,
    across: str,
    value: str | None,
    shared: str | Sequence[str] | None,
    levels: str | Sequence[str] | None,
    metric: str | Sequence[str] | None,
) -> _Question:
    """Check what was given, and match the suites of all cells."""
    check_choice(mean, "mean", MEANS)
    data = resolve(times, metric, levels)
    check_across(across, data.levels)
    check_dim(data.array, across, "across")
    if mean != "arithmetic":
        check_positive_values(data, f"mean={mean!r}")
    kept, unmatched = common_benchmarks(data, across)
    return _Question(data, across, kept, unmatched, shared_levels(data, shared), value_place(data, value), mean)


def _drawing(question: _Question, n_resamples: int, rng: Rng) -> Drawing:
    """Check how often to draw, and fix the key."""
    return Drawing(check_count(n_resamples, "n_resamples", 2), question.mean, key_of(rng), engine())


def _drawn(drawing: Drawing) -> dict[str, Hashable]:
    """Return the attrs of what was drawn."""
    return {"n_resamples": drawing.n_resamples, "engine": drawing.engine}


def _apply(kernel: Any, question: _Question, outputs: dict[str, Output], coords: dict[str, Any]) -> xr.Dataset:
    """Run a kernel over suites: the values, the numbers of the cells, and the benchmarks that count."""
    array, levels, across = question.data.array, question.data.levels, question.across
    cells = cell_numbers([array], (*levels, across))
    core = [(across, *levels), (), (across,)]
    return apply(kernel, array, cells, question.kept, core=core, outputs=outputs, coords=coords)


def _shaped(values: Floats, question: _Question, *found: Floats) -> tuple[Floats, ...]:
    """Give the cells their dims back."""
    batch = values.shape[: values.ndim - len(question.data.levels) - 1]
    return tuple(part.reshape((*batch, *part.shape[1:])) for part in found)


def _exact_numbers(suite: Suite, mean: str) -> list[Floats]:
    """Return five numbers, range, interquartile range and bounds of quartiles, cell by cell: each is a search of its own."""
    found = np.full((13, len(suite.runs)), np.nan)
    for cell in np.flatnonzero(units_of(suite) > 0):
        runs = suite.runs[cell]
        shares = None if suite.shares is None else suite.shares[cell]
        minimum, maximum, quartiles = _exact_cell(to_scale(runs, mean), shares)
        found[[0, 4], cell] = from_scale(np.array([minimum, maximum]), mean)
        found[1:4, cell] = from_scale(quartiles.values, mean)
        found[7::2, cell], found[8::2, cell] = from_scale(quartiles.lower, mean), from_scale(quartiles.upper, mean)
    found[5], found[6] = found[4] - found[0], found[3] - found[1]
    return list(found)


def _exact_cell(scaled: Floats, shares: Floats | None) -> tuple[float, float, Quantiles]:
    """Return least and largest average over benchmarks, and its quartiles."""
    benchmarks = len(scaled)
    if shares is None:
        groups, weights = [scaled], [Fraction(1)]
    else:
        used: Integers = np.flatnonzero(shares > 0)
        groups = [scaled[:, [unit]] for unit in used]
        weights = [Fraction(float(shares[unit])).limit_denominator(1 << 20) for unit in used]
    points = [[points_of(own) for own in group] for group in groups]
    sums = quantiles_of_sum(points, weights, [Fraction(quarter, 4) for quarter in (1, 2, 3)])
    least = min(sum(float(values[0]) for values, _ in part) for part in points) / benchmarks
    largest = max(sum(float(values[-1]) for values, _ in part) for part in points) / benchmarks
    inside = Quantiles(*(np.clip(part / benchmarks, least, largest) for part in sums))
    return least, largest, inside


def _check_closed_form(deviation: Floats, n: Floats, statistic: str, mean: str) -> None:
    """Raise where a spread could not be computed exactly."""
    missing = np.isnan(deviation) & (n > 1)
    if missing.any():
        raise ValueError(
            f"method='exact' has no closed form for statistic={statistic!r} and mean={mean!r} in {int(missing.sum())} of {n.size} cells "
            f"(up to {int(n[missing].max())} units in each benchmark; {FEW} or fewer can be listed, but for a harmonic mean); "
            "use method='monte_carlo'"
        )


def _single_runs(n: xr.DataArray, consequence: str) -> str:
    """Count the cells with a benchmark that has a single unit."""
    few = 0 if is_chunked(n) else int((n == 1).sum())
    return f"{few} of {n.size} cells have a benchmark with a single unit, which {consequence}" if few else ""

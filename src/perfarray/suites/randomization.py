"""Are two systems alike over a suite: the randomization test, which exchanges whole units."""

from collections.abc import Hashable
from math import prod
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, plural
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.suite import SuiteSides, smallest_number
from perfarray.suites import matching
from perfarray.suites.numerics.exchanges import most_outcomes
from perfarray.suites.numerics.randomization import randomization
from perfarray.suites.numerics.redrawn_scores import Score
from perfarray.timings.across import for_each_suite
from perfarray.timings.apply import Output, is_chunked, outputs
from perfarray.timings.best import resolve_best
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note
from perfarray.timings.resolve import Data
from perfarray.timings.streams import Rng, key_of
from perfarray.timings.validation import check_count
from perfarray.timings.weights import Weights

METHODS = ("monte_carlo", "exact")
SMALL = 0.05  # the p-value that has to be possible: where none as small is, a note says so
QUESTION = (
    "do the runs of both systems have one distribution in every benchmark? Effects that cancel "
    "over the suite are not seen"
)


@for_each_suite
@for_each_metric
def randomization_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    mean: str = "geometric",
    weights: Weights | None = None,
    statistic: str = "geometric",
    alternative: str = "two-sided",
    n_resamples: int = 500,
    method: str = "monte_carlo",
    plus_one: bool = True,
    distribution: bool = False,
    across: str = BENCHMARK,
    by: str | None = None,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    censored: str = "bound",
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether two systems are alike over a suite, by exchanging their units at random.

    The test counts how often exchanges give a ratio of scores as extreme as the one observed.

    Parameters
    ----------
    times, baseline, dim, mean, weights, across, by, unit, levels, metric
        As for `score_ratio_interval`; repetitions of `unit` are exchanged.
    statistic : {"geometric", "mean", "median", "min", "best"}
        Of the runs of one benchmark: one value per unit.
    alternative : {"two-sided", "less", "greater"}
        "less": the candidate's score is smaller. Two-sided p is twice the smaller one-sided p, at
        most 1.
    n_resamples, rng : int; int, str or numpy.random.Generator, optional
        Random exchanges; their seed, or the `rng_key` of a result.
    method : {"monte_carlo", "exact"}
        Random exchanges, or all of them: up to 4 million of each half of the benchmarks.
    plus_one : bool
        p = (b + 1) / (n_resamples + 1), which is never zero; False gives the paper's b /
        n_resamples. Not for "exact".
    distribution : bool
        Keep the ratio after every exchange (at most a million).
    shared, paired, censored : optional
        As for `score_ratio_interval`. Shared and paired units are exchanged for all benchmarks
        together; with `shared=()`, pairs are exchanged benchmark by benchmark.

    Returns
    -------
    Dataset
        Along the dims of `score_ratio_interval`, unit 1: `statistic` (the observed ratio candidate
        / baseline), `pvalue`, `smallest_pvalue` (that these units can reach), `n` (units of the
        benchmark with fewest), `n_exchanges`, `suite_benchmarks` (measured on both sides),
        `suite_correlation` of units (of pairs, of their ratios) between benchmarks and
        `suite_correlation_pvalue` (NaN if shared). With `distribution`, along `replicate`:
        `null_distribution`, NaN after the last exchange.

    Raises
    ------
    ValueError
        Unknown names; units that differ; negative values; more exchanges than "exact" can count, or
        a distribution of more than a million.

    Notes
    -----
    A small p says that some benchmark differs, perhaps only in its spread. A large p does not say
    that none differs: gains and losses may cancel. 3 runs against 3 of one benchmark have no
    two-sided p below 0.1. Benchmarks that one side lacks are left out of both scores. See
    :doc:`/how-to/suites`.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    3.

    Examples
    --------
    Two runs a side of two benchmarks can be exchanged in 36 ways; none gives a smaller ratio.

    >>> import perfarray
    >>> samples = {"fft": [[1.0, 1.1], [0.8, 0.9]], "sort": [[5.0, 5.1], [4.0, 4.1]]}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution"))
    >>> times = times.assign_coords(version=["old", "new"])
    >>> test = times.perf.randomization_test("old", method="exact", alternative="less")
    >>> test["n_exchanges"].item(), round(36 * test["pvalue"].item(), 10)
    (36.0, 1.0)
    """
    matching.check_choices(mean, statistic, alternative, method, METHODS)
    draws = None
    if method == "monte_carlo":
        draws = Draws((True,), check_count(n_resamples, "n_resamples"), key_of(rng))
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
        paired=paired,
        censored=censored,
    )
    # A session may affect all benchmarks of a pair alike.
    joint = systems.shared or (paired is not None and shared is None)
    score = Score(
        mean,
        resolve_best(statistic, systems.better),
        shared=joint,
        paired=paired is not None,
        alternative=alternative,
        weights=systems.weights(in_key_order=draws is not None),
    )
    length = _room(systems, score, draws) if distribution else None

    def kernel(sides: SuiteSides, cells: Any) -> tuple[np.ndarray, ...]:
        tests = randomization(sides, cells, score, draws, plus_one, length=length)
        return *tests, smallest_number(sides)

    result = matching.over_suites(
        kernel,
        systems,
        _test_outputs(length),
        {} if length is None else {matching.REPLICATE: range(length)},
        shared=joint,
        paired=score.paired,
        in_key_order=draws is not None,
    )
    if length is not None and draws is None and not is_chunked(result["n_exchanges"]):
        n_exchanges = int(result["n_exchanges"].max().fillna(0))  # without unused room
        result = result.isel({matching.REPLICATE: slice(n_exchanges)}).copy(deep=True)
    result = result.rename({"statistic": "estimate"})
    result = matching.bounded_result(result, systems, alternative).rename({"estimate": "statistic"})
    attrs: dict[str, Hashable] = {"result": "randomization_test", "method": method}
    attrs |= {"question": QUESTION, "mean": mean, "statistic": statistic}
    attrs |= {"alternative": alternative} | ({} if joint else {"benchmarks": matching.INDEPENDENT})
    attrs |= matching.describe_draws(draws) | ({"plus_one": int(plus_one)} if draws else {})
    checks = ("suite_benchmarks", "suite_exchanges", *systems.movement_checks(joint))
    return matching.describe_two(result, systems, attrs, checks=checks)


def _room(systems: matching.TwoSystems, score: Score, draws: Draws | None) -> int:
    """Return how many ratios the distribution has room for: those of the draws, or all."""
    if draws is not None:
        return draws.n_resamples
    levels = systems.pair.candidate.levels[: systems.depth + 1]
    sizes = [side.array.sizes for side in (systems.pair.candidate, systems.pair.baseline)]
    new, old = (prod(side[level] for level in levels) for side in sizes)
    return most_outcomes(sizes[0].get(systems.across, 1), (new, old), score)


def _test_outputs(length: int | None) -> dict[str, Output]:
    """Return the variables of the test; with a length the ratio after every exchange."""
    variables = outputs(
        statistic="candidate / baseline",
        pvalue="",
        smallest_pvalue="p-value of a ratio that no other exchange reaches",
        n_exchanges="exchanges counted",
    )
    if length is not None:
        exchanged = "candidate / baseline after an exchange"
        variables |= outputs("1", (matching.REPLICATE,), null_distribution=exchanged)
    return variables | outputs(n="independent units on the smaller side")


@check("suite_exchanges")
def too_few_pairs(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells with too few pairs, exchanged together, for a p-value of 5 %."""
    attrs, smallest_pvalue = result.attrs, result["smallest_pvalue"]
    if not str(attrs["benchmarks"]).startswith("paired"):
        return ()
    unit, units = attrs["paired"], plural(str(attrs["paired"]))
    text = (
        f"{{cells}} have too few pairs of {units} for a p-value of {SMALL:g}, since pairs are "
        "exchanged for all benchmarks together. "
    )
    text += f"Measure more, or give shared=() if a {unit} has no common effect on the benchmarks."
    return (
        count_note(
            "few_exchanges", text, smallest_pvalue > SMALL, smallest=float(smallest_pvalue.max())
        ),
    )

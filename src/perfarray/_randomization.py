"""Are two systems alike over a suite: the randomization test, which exchanges whole units."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray._apply import Output, apply, is_chunked
from perfarray._resampling import Rng, cell_numbers, key_of
from perfarray._samples import unit_place
from perfarray._timings import Data, Pair, Timings, check_positive_values, over_metrics, resolve_pair, shared_levels
from perfarray._validation import check_choice, check_count, listed, warn
from perfarray.conventions import BENCHMARK
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.levels import Floats
from perfarray.numerics.randomization import Exchange, randomization
from perfarray.numerics.suite import MEANS, STATISTICS, match_sides, smallest_number, suite_units

METHODS = ("monte_carlo", "exact")
ALTERNATIVES = ("two-sided", "less", "greater")

QUESTION = "do the runs of both systems come from the same distribution in every benchmark; effects that cancel over the suite are not seen"


@over_metrics
def randomization_test(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    mean: str = "geometric",
    statistic: str = "geometric",
    alternative: str = "two-sided",
    n_resamples: int = 500,
    method: str = "monte_carlo",
    plus_one: bool = True,
    across: str = BENCHMARK,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    paired: str | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Test whether two systems are alike over a suite, by exchanging their units at random.

    If the runs of both systems come from the same distribution in every benchmark, it does not matter which run belongs to which
    system. The test gives units to the systems anew, computes the ratio of the suite scores each time, and counts how often it is as
    extreme as the one observed.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings; dims that are neither levels nor `across` broadcast.
    baseline : label, DataArray or Dataset
        A label of `dim`, or other timings, matched by label on dims that are not levels (repetitions are never aligned).
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    mean : {"geometric", "harmonic", "arithmetic"}
        Over the benchmarks.
    statistic : {"geometric", "mean", "median", "min"}
        Of the runs of one benchmark: one value per unit.
    alternative : {"two-sided", "less", "greater"}
        "less": the candidate's score is smaller; two-sided p is twice the smaller one-sided p, at most 1.
    n_resamples : int
        Random exchanges.
    method : {"monte_carlo", "exact"}
        Random exchanges, or every one there is (at most a million).
    plus_one : bool
        p = (b + 1) / (n_resamples + 1), which is never zero; False gives the paper's b / n_resamples. Not for "exact".
    across : str
        The dim of the suite.
    unit : str, optional
        The level whose repetitions are exchanged, lower levels averaged first; default: the outermost.
    levels : str or tuple of str, optional
        The nest from the outside in; default: the repetition dims present.
    shared : str or tuple of str, optional
        Levels whose label is the same unit for every benchmark (one build serves the suite): exchanged for all benchmarks together.
        Default: `attrs["shared_levels"]`, else none, and the attr `benchmarks` of the result says that independence was assumed.
    paired : str, optional
        The outermost level, when its units match between the two systems: exchanged within the pair.
    rng : int, numpy.random.Generator, optional
        Seed; the same seed gives the same p-value for any order of dims, chunks and number of threads.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `statistic` (the ratio candidate / baseline observed), `pvalue`, `n` (units behind the benchmark that has fewest),
        `n_exchanges` (counted) and `suite_benchmarks` (measured on both sides).

    Raises
    ------
    ValueError
        Unknown dims, levels, labels or choices; units that differ; values that are zero or negative; more than a million exchanges with
        `method="exact"` (the message says how many).

    Notes
    -----
    What is tested is "the same distribution in every benchmark", not "the same overall performance". A small p says that some benchmark
    differs, be it in its spread alone; a large one does not say that none does, since gains and losses that cancel in the mean over
    the suite are not seen at all. The smallest p is 1 / (n_resamples + 1), twice that if two-sided.

    Benchmarks that one side lacks are left out of both scores, and named in the attr `unmatched` and in one warning.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 3.

    Examples
    --------
    Two runs a side of two benchmarks can be exchanged in 36 ways; none gives a smaller ratio.

    >>> import perfarray
    >>> samples = {"fft": [[1.0, 1.1], [0.8, 0.9]], "sort": [[5.0, 5.1], [4.0, 4.1]]}
    >>> times = perfarray.from_samples(samples, dim="benchmark", level=("version", "execution")).assign_coords(version=["old", "new"])
    >>> test = times.perf.randomization_test("old", method="exact", alternative="less")
    >>> test["n_exchanges"].item(), round(36 * test["pvalue"].item(), 10)
    (36.0, 1.0)
    """
    check_choice(mean, "mean", MEANS)
    check_choice(statistic, "statistic", STATISTICS)
    check_choice(alternative, "alternative", ALTERNATIVES)
    check_choice(method, "method", METHODS)
    pair = _positive_pair(times, baseline, dim, metric, levels, paired)
    place = unit_place(pair.candidate, unit)
    if paired is not None and place:
        raise ValueError(f"paired={paired!r} matches the outermost units, and unit={unit!r} exchanges others; give one of them")
    common = shared_levels(pair.candidate, shared)
    joint = set(pair.candidate.levels[: place + 1]) <= set(common)
    how = Exchange(mean, statistic, joint, paired is not None)
    draws = Draws((True,), check_count(n_resamples, "n_resamples"), key_of(rng)) if method == "monte_carlo" else None

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        candidate, other = (suite_units(side, cells.shape, len(pair.candidate.levels), place) for side in (new, old))
        sides = match_sides(candidate, other, shared=joint, paired=how.paired)
        found = (*randomization(sides, cells.ravel(), how, alternative, draws, plus_one), smallest_number(sides))
        counts = sides.matched.sum(axis=-1).astype(float), sides.incomplete.astype(float), sides.matched
        return tuple(part.reshape(*cells.shape, *part.shape[1:]) for part in (*found, *counts))

    attrs = pair.describe() | {"result": "randomization_test", "method": method, "unit": pair.candidate.levels[place], "across": across}
    attrs |= {"baseline": "other timings" if isinstance(baseline, xr.DataArray | xr.Dataset) else str(baseline)}
    attrs |= {"mean": mean, "statistic": statistic, "alternative": alternative, "question": QUESTION}
    attrs |= {"benchmarks": f"shared: {' '.join(common)}" if joint else "independent (assumed)"}
    attrs |= {"n_resamples": draws.n_resamples, "plus_one": int(plus_one)} if draws is not None else {}
    attrs |= {"paired": paired} if paired else {}
    result, notes = _reported(_over_suites(pair, across, kernel, attrs), pair, across)
    warn(*notes)
    return result


def _positive_pair(times: Data, baseline: object, dim: Any, metric: Any, levels: Any, paired: str | None) -> Pair:
    """Return both systems, their values positive, their units side by side where they are paired."""
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    for side in (pair.candidate, pair.baseline):
        check_positive_values(side, "a ratio of suite scores")
    if paired is None:
        return pair
    check_choice(paired, "paired", pair.candidate.levels[:1])
    new, old = pair.candidate.array, pair.baseline.array
    apart = {str(name) for name in (*new.dims, *old.dims)} - {paired}
    labelled = [side if paired in side.coords else side.assign_coords({paired: range(side.sizes[paired])}) for side in (new, old)]
    both = xr.align(*labelled, join="inner", exclude=apart)
    if not both[0].sizes[paired]:
        raise ValueError(f"paired={paired!r}: the two systems have no {paired} in common")
    alone = new.sizes[paired] + old.sizes[paired] - 2 * both[0].sizes[paired]
    note = f"paired={paired!r}: {alone} units of one system have no partner and are left out" if alone else ""
    candidate, other = pair.candidate._replace(array=both[0]), pair.baseline._replace(array=both[1])
    return pair._replace(candidate=candidate, baseline=other, notes=(*pair.notes, note))


def _along(side: Timings, across: str) -> xr.DataArray:
    """Return the timings with the dim of the suite in one chunk; a single benchmark gets one."""
    if across in side.levels:
        raise ValueError(f"across={across!r} is a level of the nest {side.levels}; a suite is averaged over a dim that is not")
    array = side.array if across in side.array.dims else side.array.expand_dims({across: 1})
    return array.chunk({across: -1}) if is_chunked(array) else array


def _over_suites(pair: Pair, across: str, kernel: Any, attrs: dict[str, Hashable]) -> xr.Dataset:
    """Give the formula both systems and the numbers of the suites, and label what it returns."""
    sides = [_along(side, across) for side in (pair.candidate, pair.baseline)]
    outputs = {
        "statistic": Output((), "1", long_name="candidate / baseline"),
        "pvalue": Output((), "1"),
        "n_exchanges": Output((), "1", long_name="exchanges counted"),
        "n": Output((), "1", long_name="independent units on the smaller side"),
        "suite_benchmarks": Output((), "1", long_name="benchmarks measured on both sides"),
        "_incomplete": Output((), "1"),
        "_matched": Output((across,), "", bool),
    }
    core = [[across, *pair.candidate.levels], [across, *pair.candidate.levels], []]
    cells = cell_numbers(sides, pair.candidate.levels, across)
    return apply(kernel, *sides, cells, core=core, outputs=outputs, coords={across: sides[0][across].values.tolist()}, attrs=attrs)


def _reported(found: xr.Dataset, pair: Pair, across: str) -> tuple[xr.Dataset, list[str]]:
    """Take out what is only reported, and say what there is to say; a lazy result is not looked at."""
    matched, incomplete, n = found["_matched"], found["_incomplete"], found["n"]
    result = found.drop_vars(["_matched", "_incomplete"]).drop_vars(across, errors="ignore")
    notes = [*pair.notes, pair.candidate.selected]
    if is_chunked(n):
        return result, notes
    complete = matched | ~matched.any(across)
    lacking = matched[across].values[~complete.all([dim for dim in matched.dims if dim != across]).values]
    said = [name for name in str(found.attrs.get("unmatched", "")).split(", ") if name]
    names = list(dict.fromkeys([*said, *(str(label) for label in lacking)]))
    if names:
        result.attrs["unmatched"] = ", ".join(names)
    if len(lacking):
        missing = f"{len(lacking)} of {matched.sizes[across]} along {across!r} are missing in some cells: {listed(lacking)}"
        notes.append(f"{missing}; each ratio is over the benchmarks measured on both sides")
    left_out, empty = int(incomplete.sum()), int((n == 0).sum())
    if left_out:
        result.attrs["n_incomplete_units"] = left_out
        notes.append(f"{left_out} shared units ({result.attrs['unit']}) lack some benchmarks and are left out")
    if empty:
        notes.append(f"{empty} of {n.size} cells have no benchmark measured on both sides; their answers are NaN")
    return result, notes

"""How many runs does a suite need: the fewest whose interval of the score ratio is as narrow as asked."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr

from perfarray._apply import Output, apply, is_chunked
from perfarray._resampling import Rng, cell_numbers, key_of
from perfarray._samples import unit_place
from perfarray._timings import Data, Pair, Timings, check_positive_values, over_metrics, resolve_pair, shared_levels
from perfarray._validation import check_choice, check_confidence_level, check_count, check_number, listed, warn
from perfarray.conventions import BENCHMARK
from perfarray.numerics import required_runs as numerics
from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.levels import Floats
from perfarray.numerics.score_ratio import Score
from perfarray.numerics.suite import MEANS, STATISTICS, match_sides, suite_units

METHODS = ("t", "percentile", "basic", "bca")
RUNS = "runs"


@over_metrics
def required_runs(
    times: Data,
    baseline: object,
    *,
    dim: str | None = None,
    width: float,
    start: int = 3,
    mean: str = "geometric",
    statistic: str = "mean",
    confidence_level: float = 0.95,
    method: str = "t",
    n_resamples: int = 500,
    across: str = BENCHMARK,
    unit: str | None = None,
    levels: str | tuple[str, ...] | None = None,
    shared: str | tuple[str, ...] | None = None,
    rng: Rng = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Say how many runs of every benchmark make the interval of the score ratio as narrow as asked.

    The first runs are taken, then one more at a time, until the interval is no wider than `width`.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot; dims that are neither levels nor `across` broadcast.
    baseline : label, DataArray or Dataset
        A label of `dim`, or other timings, matched by label on dims that are not levels.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the label.
    width : float
        Upper minus lower limit of the ratio that is wanted: 0.02 for 2 % of the baseline.
    start : int
        Runs to begin with, at least 2.
    mean, statistic, confidence_level, method, n_resamples, across, unit, levels, shared, rng : optional
        As for `score_ratio_interval`; a run is a unit.
    metric : str or list of str, optional
        Variable(s) of a Dataset.

    Returns
    -------
    Dataset
        `required` (runs; NaN where the data do not suffice), `extrapolated` (the same, or where the data do not suffice what they promise;
        NaN beyond ten million), and along `runs`: `estimate`, `lower`, `upper`, `width`.

    Raises
    ------
    ValueError
        Fewer units than `start`; a width that is not positive; and what `score_ratio_interval` raises.

    Notes
    -----
    Stopping at the first interval that is narrow enough favours intervals that are narrow by chance: with a start of 3 to 10 runs they
    cover 90 to 94 % where 95 were asked for (normal runs). Start at 10 or more where that matters, and report the interval of all runs.
    The extrapolation shrinks the interval of all runs by the square root of the runs, with the t of their degrees of freedom.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 8, figure 13 and table 13.

    Examples
    --------
    >>> import perfarray
    >>> dims = {"benchmark": 4, "version": ["old", "new"]}
    >>> times = perfarray.simulate(sizes={"execution": 20}, variances={"execution": 1e-4}, dims=dims, rng=1)
    >>> found = times.perf.required_runs("old", width=0.02).squeeze()
    >>> required = int(found["required"])
    >>> required, [bool(found["width"].sel(runs=runs) <= 0.02) for runs in (required - 1, required)]
    (4, [False, True])
    """
    for value, name, choices in ((mean, "mean", MEANS), (statistic, "statistic", STATISTICS), (method, "method", METHODS)):
        check_choice(value, name, choices)
    if method == "t" and statistic in ("median", "min"):
        raise ValueError(f"method='t' has no standard error of a {statistic}; use statistic='mean' or 'geometric', or method='percentile'")
    level, first, wanted = check_confidence_level(confidence_level), check_count(start, "start", 2), check_number(width, "width")
    if wanted <= 0:
        raise ValueError(f"width={width!r}: give the width of the interval that is wanted, a positive number such as 0.02")
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels)
    for side in (pair.candidate, pair.baseline):
        check_positive_values(side, "a ratio of suite scores")
    place = unit_place(pair.candidate, unit)
    common = shared_levels(pair.candidate, shared)
    joint = set(pair.candidate.levels[: place + 1]) <= set(common)
    score = Score(mean, statistic, joint, False, False, level, "two-sided")
    draws = None if method == "t" else Draws((True,), check_count(n_resamples, "n_resamples", 2), key_of(rng))
    sides = [_along(side, across) for side in (pair.candidate, pair.baseline)]
    nest = pair.candidate.levels
    most = min(int(np.prod([side.sizes[name] for name in nest[: place + 1]])) for side in sides)
    if most < first:
        raise ValueError(f"start={first} runs, and the data have {most} units ({nest[place]}) a side; lower start=, or measure more")

    def kernel(new: Floats, old: Floats, cells: Any) -> tuple[np.ndarray, ...]:
        candidate, other = (suite_units(side, cells.shape, len(nest), place) for side in (new, old))
        found = numerics.required_runs(candidate, other, cells.ravel(), score, draws, method, wanted, first)
        matched = match_sides(candidate, other, shared=joint, paired=False).matched
        return tuple(part.reshape(*cells.shape, *part.shape[1:]) for part in (*found, matched))

    attrs = pair.describe() | {"result": "required_runs", "method": method, "unit": nest[place], "across": across}
    attrs |= {"baseline": "other timings" if isinstance(baseline, xr.DataArray | xr.Dataset) else str(baseline)}
    attrs |= {"mean": mean, "statistic": score.within, "confidence_level": level, "width": wanted, "start": first}
    attrs |= {"benchmarks": f"shared: {' '.join(common)}" if joint else "independent (assumed)"}
    attrs |= {"n_resamples": draws.n_resamples} if draws is not None else {}
    core = [[across, *nest], [across, *nest], []]
    coords = {RUNS: range(first, most + 1), across: sides[0][across].values.tolist()}
    cells = cell_numbers(sides, nest, across)
    found = apply(kernel, *sides, cells, core=core, outputs=_outputs(across), coords=coords, attrs=attrs)
    result, notes = _reported(found, pair, across)
    warn(*notes)
    return result


def _along(side: Timings, across: str) -> xr.DataArray:
    """Return the timings with the dim of the suite in one chunk; a single benchmark gets one."""
    if across in side.levels:
        raise ValueError(f"across={across!r} is a level of the nest {side.levels}; a suite is averaged over a dim that is not")
    array = side.array if across in side.array.dims else side.array.expand_dims({across: 1})
    return array.chunk({across: -1}) if is_chunked(array) else array


def _outputs(across: str) -> dict[str, Output]:
    """Return the variables of the result, in the order of `numerics.required_runs.RequiredRuns`."""
    return {
        "required": Output((), "1", long_name="fewest runs with an interval as narrow as asked"),
        "extrapolated": Output((), "1", long_name="the same, extrapolated where the data do not suffice"),
        "estimate": Output((RUNS,), "1", long_name="candidate / baseline"),
        "lower": Output((RUNS,), "1"),
        "upper": Output((RUNS,), "1"),
        "width": Output((RUNS,), "1", long_name="upper - lower"),
        "_matched": Output((across,), "", bool),
    }


def _reported(found: xr.Dataset, pair: Pair, across: str) -> tuple[xr.Dataset, list[str]]:
    """Name in the attrs and in a note the benchmarks that some cell lacks; a lazy result is not looked at."""
    matched = found["_matched"]
    result = found.drop_vars("_matched").drop_vars(across, errors="ignore")
    notes = [*pair.notes, pair.candidate.selected]
    if is_chunked(matched):
        return result, notes
    complete = matched | ~matched.any(across)
    lacking = matched[across].values[~complete.all([dim for dim in matched.dims if dim != across]).values]
    said = [name for name in str(found.attrs.get("unmatched", "")).split(", ") if name]
    names: list[Hashable] = list(dict.fromkeys([*said, *(str(label) for label in lacking)]))
    if names:
        result.attrs["unmatched"] = ", ".join(map(str, names))
    if len(lacking):
        missing = f"{len(lacking)} of {matched.sizes[across]} along {across!r} are missing in some cells: {listed(lacking)}"
        notes.append(f"{missing}; each ratio is over the benchmarks measured on both sides")
    empty = ~matched.any(across)
    if empty.any():
        notes.append(f"{int(empty.sum())} of {empty.size} cells have no benchmark measured on both sides; their answers are NaN")
    return result, notes

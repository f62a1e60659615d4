"""The results of `change_points`, series by series: arrays in, arrays out."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import pdtrc, stdtrit

from perfarray.history.numerics.commits import Commits, commits_of
from perfarray.history.numerics.law import LENGTHS, chance
from perfarray.history.numerics.search import find_changes, strongest
from perfarray.history.numerics.steps import fit_steps, step_ratios
from perfarray.history.numerics.watch import watch
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import Known, decide

# The smallest number of benchmarks that change together.
FEWEST = 3

# The chance, at any commit of a history, that as many sets of commits overlap by chance.
CHANCE = 0.01


class Search(NamedTuple):
    """How series are searched and judged; with a `rate` of false alarms per commit they are watched commit by commit."""

    levels: int
    least: int
    threshold: float
    confidence_level: float
    better: str
    labels: npt.NDArray[Any]
    rate: float


def chances(values: Floats, *, search: Search) -> tuple[Floats]:
    """Return the p-value of "nothing changed" of every series (..., n, n_L, ..., n_1); NaN for those too short to show anything."""
    units = unit_means(values, search.levels)
    pvalues = np.full(units.shape[:-2], np.nan)
    for cell in np.ndindex(pvalues.shape):  # each has its own commits
        commits = commits_of(units[cell])
        if (n := len(commits.values)) >= max(LENGTHS[0], 2 * search.least):
            statistic = strongest(commits.clean, commits.errors, search.least).statistic
            pvalues[cell] = min(commits.doubt * chance(statistic, n), 1.0)
    return (pvalues,)


def describe(
    values: Floats, level: Floats, hosts: Integers, at_least: Mask, at_most: Mask, *, search: Search
) -> tuple[npt.NDArray[Any], ...]:
    """Search every series (..., n, n_L, ..., n_1) at its own level and return the variables of the result, in order."""
    units = unit_means(values, search.levels)
    shape = units.shape[:-2]
    levels = np.broadcast_to(level, shape)
    by_commit: list[Any] = [np.broadcast_to(array, units.shape[:-1]) for array in (hosts, at_least, at_most)]
    hosts, at_least, at_most = by_commit
    rows = [
        _one_series(units[cell], float(levels[cell]), hosts[cell], at_least[cell], at_most[cell], search)
        for cell in np.ndindex(shape)  # each has its own commits
    ]
    stacked = (np.stack(column) for column in zip(*rows, strict=True))
    return tuple(array.reshape((*shape, *array.shape[1:])) for array in stacked)


def _one_series(units: Floats, level: float, hosts: Integers, at_least: Mask, at_most: Mask, search: Search) -> tuple[Any, ...]:
    size, labels = len(units), search.labels
    labels = labels.astype(float) if labels.dtype.kind in "iufb" else labels
    commits = commits_of(units)
    measured, n = commits.positions, len(commits.values)
    pvalues, seen_at = _changes(commits, level, search)
    fit, steps, first_of_steps, last_of_steps, probability = fit_steps(commits, sorted(pvalues), search.least)
    at = measured[steps]
    change, alarm = np.zeros((2, size), dtype=bool)
    change[at] = True
    alarm[measured[seen_at]] = True
    first, last = np.zeros((2, size), dtype=int)
    # The commit that made a change may be one that was not measured, after the last one measured before.
    first[at], last[at] = np.concatenate([[-1], measured])[first_of_steps] + 1, measured[last_of_steps]
    estimate, lower, upper, tests = step_ratios(fit, commits.logs, (1 - search.threshold, 1 + search.threshold), search.confidence_level)
    # Runs that were stopped leave the ratio unknown in some directions.
    more, less = (np.array([bool(np.any(mask[low:high])) for low, high in pairwise([0, *at, size])]) for mask in (at_least, at_most))
    unknown = Known(more[1:] | less[:-1], less[1:] | more[:-1])
    tests, alpha = tests.bounded_by(unknown), 1 - search.confidence_level
    verdict = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, search.better)
    lower, upper = np.where(unknown.at_most, 0.0, lower), np.where(unknown.at_least, np.inf, upper)
    cause = np.where(hosts_changed(hosts[measured], steps, first_of_steps, last_of_steps), "host", "code").astype(object)
    scale = 1.0 if commits.logs else abs(float(np.mean(commits.values))) or np.nan if n else np.nan
    within = np.sqrt(commits.within * np.mean(1 / commits.counts)) if n else np.nan
    errors = commits.errors / np.sqrt(np.mean(commits.errors**2)) if n else commits.errors
    reach = stdtrit(max(n - len(steps) - 1, 1), (1 + search.confidence_level) / 2) * fit.noise * errors
    by_commit = [commits.values, commits.values - reach, commits.values + reach, fit.fitted]
    by_change = [estimate, lower, upper, np.array([pvalues[start] for start in sorted(pvalues)]), verdict, cause]
    return (
        change,
        np.cumsum(change),
        *(_along(size, at, array) for array in (*by_change, labels[first[at]], labels[last[at]])),
        _along(size, measured, probability),
        *(_along(size, measured, np.exp(array) if commits.logs else array) for array in by_commit),
        _along(size, measured, commits.counts),
        _along(size, measured, commits.spreads),
        first,
        last,
        float(n),
        fit.noise / scale,
        within / scale,
        commits.correlation,
        alarm,
        bool(len(steps)) and is_drift(commits.values, fit.fitted, errors * fit.noise, len(steps)),
    )


def _changes(commits: Commits, level: float, search: Search) -> tuple[dict[int, float], list[int]]:
    """Return where a series changes with the p-values, and where one who watches it sees that."""
    if search.rate:
        alarms = watch(commits.clean, commits.errors, search.least, search.rate)
        return {start: pvalue for start, _, pvalue in alarms}, [seen_at for _, seen_at, _ in alarms]
    pvalues = find_changes(commits.clean, commits.errors, search.least, level / commits.doubt) if level > 0 else {}
    return {start: min(commits.doubt * pvalue, 1.0) for start, pvalue in pvalues.items()}, []


def blank(labels: npt.NDArray[Any]) -> Any:
    """Return the value that stands for no label: "", NaT or NaN."""
    kind = labels.dtype.kind
    return "" if kind == "O" else np.array("NaT", dtype=labels.dtype) if kind in "mM" else np.nan


def _along(size: int, positions: Integers, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values at their positions along a history, and blanks elsewhere."""
    full = np.full(size, blank(values), dtype=values.dtype if values.dtype.kind in "OmM" else float)
    full[positions] = values
    return full


def hosts_changed(hosts: Integers, starts: Integers, first: Integers, last: Integers) -> Mask:
    """Return which changes coincide with another host: it measured most of the segment, and came within the set of commits.

    `hosts` (n,) is the host of every commit; segments begin at `starts`, and `first` and `last` are the ends of the sets.
    """
    ends = [0, *starts, len(hosts)]
    usual = [np.bincount(hosts[low:high], minlength=1).argmax() for low, high in pairwise(ends)]
    came = np.flatnonzero(np.diff(hosts)) + 1
    within = ((came >= first[:, None]) & (came <= last[:, None])).any(axis=1)
    return np.asarray(within & (np.diff(usual) != 0))


def common_changes(changes: Mask, first: Integers, last: Integers) -> tuple[Mask, Integers]:
    """Return which changes of many series are common, and their number at each commit.

    Changes are common where so many sets of commits share one commit that chance hardly explains it.

    `changes` (..., series, n) are the starts of segments; there, `first` and `last` are the ends of the set of commits.
    """
    common, numbers = np.zeros(changes.shape, dtype=bool), np.zeros((*changes.shape[:-2], changes.shape[-1]), dtype=int)
    n = changes.shape[-1]
    for cell in np.ndindex(changes.shape[:-2]):  # machines
        rows, columns = np.nonzero(changes[cell])
        low, high = first[cell][rows, columns], last[cell][rows, columns]
        remaining = np.ones(len(rows), dtype=bool)
        while remaining.any():
            ends = np.zeros(n + 1)
            np.add.at(ends, low[remaining], 1)
            np.add.at(ends, high[remaining] + 1, -1)
            counts = np.cumsum(ends[:-1])
            most = round(counts.max())
            shared = np.flatnonzero(counts == counts.max())
            expected = float(np.sum(high[remaining] - low[remaining] + 1)) / n
            if most < FEWEST or n * pdtrc(most - 1, expected) > CHANCE:
                break
            best = shared[np.argmax([np.sum(remaining & (columns == column)) for column in shared])]
            members = remaining & (low <= best) & (high >= best)
            common[cell][rows[members], columns[members]] = True
            numbers[cell][best] = most
            remaining &= ~members
    return common, numbers


def is_drift(values: Floats, levels: Floats, errors: Floats, steps: int) -> bool:
    """Return whether a straight line describes a series better than its steps, by BIC with residuals clipped at 3 standard errors."""
    if not errors.min() > 0:
        return False
    weights = 1.0 / errors**2
    positions = np.arange(len(values)) - np.average(np.arange(len(values)), weights=weights)
    line = np.average(values, weights=weights) + positions * np.sum(weights * positions * values) / np.sum(weights * positions**2)
    stairs, straight = (float(np.sum(np.minimum(np.abs(values - fitted) / errors, 3.0) ** 2)) for fitted in (levels, line))
    return bool(straight + 2 * np.log(len(values)) < stairs + (2 * steps + 1) * np.log(len(values)))

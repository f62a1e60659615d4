"""The results of `change_points`: arrays in, arrays out."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import pdtrc, stdtrit

from perfarray.history.numerics.commits import Commits, stacks
from perfarray.history.numerics.law import LENGTHS, chance
from perfarray.history.numerics.lines import straighten
from perfarray.history.numerics.search import find_changes, strongest
from perfarray.history.numerics.slopes import SHORT, Mixture, judge, robust_slopes
from perfarray.history.numerics.steps import Fit, Steps, fit_steps, step_ratios
from perfarray.history.numerics.watch import watch
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask, same_text
from perfarray.numerics.verdicts import INCONCLUSIVE, Known, decide

Variables = dict[str, npt.NDArray[Any]]

# The cause of a change along a whole segment.
DRIFT = "drift"

# The smallest number of benchmarks that change together.
FEWEST = 3

# The chance, at any commit of a history, that as many sets of commits overlap by chance.
CHANCE = 0.01


class Search(NamedTuple):
    """How series are searched and judged.

    With a `rate` of false alarms per commit they are watched commit by commit.
    """

    levels: int
    min_size: int
    threshold: float
    confidence_level: float
    better: str
    labels: npt.NDArray[Any]
    rate: float


def chances(values: Floats, *, search: Search) -> tuple[Floats]:
    """Return the p-value of "nothing changed" of every series (..., n, n_L, ..., n_1).

    NaN for those too short to show anything.
    """
    units = unit_means(values, search.levels)
    pvalues = np.full(math.prod(units.shape[:-2]), np.nan)
    for rows, commits in stacks(units.reshape(-1, *units.shape[-2:])):
        if (n := commits.values.shape[-1]) >= max(LENGTHS[0], 2 * search.min_size):
            statistics = strongest(commits.clean, commits.errors, search.min_size)[0]
            pvalues[rows] = np.minimum(commits.doubt * chance(statistics, n), 1.0)
    return (pvalues.reshape(units.shape[:-2]),)


def describe(
    values: Floats, level: Floats, hosts: Integers, at_least: Mask, at_most: Mask, *, search: Search
) -> tuple[npt.NDArray[Any], ...]:
    """Search series (..., n, n_L, ..., n_1) at their levels; return the variables in order."""
    units = unit_means(values, search.levels)
    shape, size = units.shape[:-2], units.shape[-2]
    units, levels = units.reshape(-1, *units.shape[-2:]), np.broadcast_to(level, shape).ravel()
    by_commit: list[npt.NDArray[Any]] = [
        np.broadcast_to(array, (*shape, size)).reshape(-1, size)
        for array in (hosts, at_least, at_most)
    ]
    result = _blanks((len(units), size), search.labels)
    for rows, commits in stacks(units):
        pvalues, alarms = _changes(commits, levels[rows], search)
        commits, pvalues = straighten(commits, pvalues, search.min_size)
        fit, steps, probability = fit_steps(commits, pvalues, search.min_size)
        cells = rows[:, None], commits.positions
        result["alarm"][cells], result["probability"][cells] = alarms, probability
        _add_levels(result, rows, commits, fit, search.confidence_level)
        if len(steps.series):
            _add_steps(
                result, rows, commits, fit, steps, [array[rows] for array in by_commit], search
            )
        _add_segments(result, rows, commits, fit, (by_commit[1] | by_commit[2])[rows], search)
    result["segment"] = np.cumsum(result["change"], axis=-1)
    return tuple(array.reshape((*shape, *array.shape[1:])) for array in result.values())


def _blanks(shape: tuple[int, int], labels: npt.NDArray[Any]) -> Variables:
    """Return the variables of series (series, n) of which no commit was measured."""
    along: dict[str, Any] = (
        {"change": False, "segment": 0}
        | dict.fromkeys(("estimate", "lower", "upper", "pvalue"), np.nan)
        | {"verdict": "", "cause": "", "earliest": blank(labels), "latest": blank(labels)}
        | dict.fromkeys(
            (
                "probability",
                "value",
                "value_lower",
                "value_upper",
                "segment_mean",
                "n_units",
                "relative_noise",
                "n_segment",
            ),
            np.nan,
        )
        | {"first": 0, "last": 0}
    )
    result = {
        name: same_text("", shape) if isinstance(value, str) else np.full(shape, value)
        for name, value in along.items()
    }
    by_series = {"n": 0.0, "noise": np.nan, "within": np.nan, "correlation": 0.0}
    result |= {name: np.full(shape[0], value) for name, value in by_series.items()}
    return result | {"alarm": np.full(shape, False), "drifting": np.full(shape[0], False)}


def _changes(commits: Commits, levels: Floats, search: Search) -> tuple[Floats, Mask]:
    """Return the p-values of changes (series, n), NaN where there is none, and the alarms."""
    alarms = np.zeros(commits.values.shape, dtype=bool)
    if not search.rate:
        pvalues = find_changes(
            commits.clean, commits.errors, search.min_size, levels / commits.doubt
        )
        return np.minimum(commits.doubt[:, None] * pvalues, 1.0), alarms
    pvalues = np.full(alarms.shape, np.nan)
    for row in range(len(pvalues)):  # an alarm decides where the watch goes on
        for start, alarm, pvalue in watch(
            commits.clean[row], commits.errors[row], search.min_size, search.rate
        ):
            pvalues[row, start], alarms[row, alarm] = pvalue, True
    return pvalues, alarms


def _add_levels(
    result: Variables, rows: Integers, commits: Commits, fit: Fit, confidence_level: float
) -> None:
    """Add the variables of all commits and of the series."""
    values, n = commits.values, commits.values.shape[-1]
    scale = np.where(commits.logs, 1.0, np.abs(np.mean(values, axis=-1)))
    scale[scale == 0] = np.nan
    within = np.sqrt(commits.within * np.mean(1 / commits.counts, axis=-1))
    reach = (stdtrit(np.maximum(fit.df, 1), (1 + confidence_level) / 2) * fit.noise)[
        :, None
    ] * commits.relative_errors
    cells = rows[:, None], commits.positions
    for name, array in (
        ("value", values),
        ("value_lower", values - reach),
        ("value_upper", values + reach),
        ("segment_mean", fit.fitted),
    ):
        result[name][cells] = np.exp(array, where=commits.logs[:, None], out=array.copy())
    result["n_units"][cells], result["relative_noise"][cells] = commits.counts, commits.spreads
    result["n"][rows], result["noise"][rows], result["within"][rows] = (
        n,
        fit.noise / scale,
        within / scale,
    )
    result["correlation"][rows] = commits.correlation


def _add_steps(
    result: Variables,
    rows: Integers,
    commits: Commits,
    fit: Fit,
    steps: Steps,
    by_commit: list[npt.NDArray[Any]],
    search: Search,
) -> None:
    """Add the variables of steps.

    `by_commit` are the hosts of the series (series, size), and where runs were stopped.
    """
    hosts, at_least, at_most = by_commit
    measured, series = commits.positions, steps.series
    at = measured[series, steps.position]
    cells = rows[series], at
    result["change"][cells], result["pvalue"][cells] = True, steps.pvalue
    # The commit that made a change may be one that was not measured, after the last one measured
    # before.
    result["first"][cells] = first = np.where(
        steps.first > 0, measured[series, steps.first - 1] + 1, 0
    )
    result["last"][cells] = last = measured[series, steps.last]
    result["earliest"][cells], result["latest"][cells] = search.labels[first], search.labels[last]
    between = (measured[series, steps.position - 1] + at) / 2
    band = 1 - search.threshold, 1 + search.threshold
    estimate, lower, upper, tests = step_ratios(
        fit, steps, between, commits.logs, band, search.confidence_level
    )
    # Runs that were stopped leave the ratio unknown in some directions.
    starts = result["change"][rows]
    starts[:, 0] = True
    open_above, open_below = (
        np.logical_or.reduceat(mask.ravel(), np.flatnonzero(starts)) for mask in (at_least, at_most)
    )
    unknown = Known(
        open_above[steps.segments] | open_below[steps.segments - 1],
        open_below[steps.segments] | open_above[steps.segments - 1],
    )
    tests, alpha = tests.bounded_by(unknown), 1 - search.confidence_level
    result["estimate"][cells] = estimate
    result["lower"][cells], result["upper"][cells] = (
        np.where(unknown.at_most, 0.0, lower),
        np.where(unknown.at_least, np.inf, upper),
    )
    result["verdict"][cells] = decide(
        tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, search.better
    )
    for row in np.unique(series).tolist():  # few
        in_row = series == row
        position = steps.position[in_row]
        by_host = hosts_changed(
            hosts[row, measured[row]], position, steps.first[in_row], steps.last[in_row]
        )
        result["cause"][rows[row], at[in_row]] = np.where(by_host, "host", "code")


def _add_segments(
    result: Variables, rows: Integers, commits: Commits, fit: Fit, stopped: Mask, search: Search
) -> None:
    """Add the lengths of segments and, at the last commit of each that drifts, its ratio."""
    n = commits.values.shape[-1]
    is_first = np.take_along_axis(result["change"][rows], commits.positions, axis=-1)
    is_first[:, 0] = True
    firsts = np.flatnonzero(is_first)
    lengths = np.diff(firsts, append=is_first.size)
    result["n_segment"][rows[:, None], commits.positions] = np.repeat(lengths, lengths).reshape(
        is_first.shape
    )
    for number in np.flatnonzero(fit.slopes).tolist():  # few segments drift
        row, start = divmod(int(firsts[number]), n)
        inside = slice(start, start + int(lengths[number]))
        positions = commits.positions[row, inside]
        y, errors, x = (
            commits.values[row, inside],
            commits.errors[row, inside],
            positions - fit.centres[number],
        )
        mixture = robust_slopes(y[None], x[None], errors[None], is_first[row : row + 1, inside])
        # Values without noise lie on the line.
        if np.isnan(mixture.df[0]) or np.isnan(mixture.centre).any():
            exact = np.full((1, 1), fit.slopes[number])
            mixture = Mixture(
                np.ones((1, 1)), exact, 1e-9 * np.abs(exact), np.full(1, float(SHORT))
            )
        level = None if commits.logs[row] else float(fit.levels[number])
        bounds = _slopes_of_ratios(
            np.array([[1 - search.threshold], [1 + search.threshold]]), level, x
        )
        lower, upper, pvalue, verdict = judge(
            mixture, search.confidence_level, bounds, search.better
        )
        slopes = np.concatenate([(mixture.weight * mixture.centre).sum(axis=-1), lower, upper])
        cell = rows[row], positions[-1]
        result["estimate"][cell], result["lower"][cell], result["upper"][cell] = _ratios_of_slopes(
            slopes, level, x
        )
        result["pvalue"][cell], result["verdict"][cell], result["cause"][cell] = (
            pvalue[0],
            verdict[0],
            DRIFT,
        )
        result["earliest"][cell], result["latest"][cell] = search.labels[positions[[0, -1]]]
        if stopped[row, positions].any():
            result["lower"][cell] = result["upper"][cell] = result["pvalue"][cell] = np.nan
            result["verdict"][cell] = INCONCLUSIVE
        result["drifting"][rows[row]] = True


def _ratios_of_slopes(slopes: Floats, level: float | None, x: Floats) -> Floats:
    """Return the ratios of the last value on lines to the first, of logs or about a `level`.

    `x` are positions from the middle.
    """
    if level is None:
        return np.asarray(np.exp(slopes * (x[-1] - x[0])))
    first, last = level + slopes * x[0], level + slopes * x[-1]
    ratios = np.divide(last, first, out=np.full(len(slopes), np.inf), where=first > 0)
    return np.asarray(np.maximum(ratios, 0.0) if level > 0 else np.full(len(slopes), np.nan))


def _slopes_of_ratios(ratios: Floats, level: float | None, x: Floats) -> Floats:
    """Return the slopes of lines with these ratios of the last value to the first.

    0 where a level that is not positive has none.
    """
    if level is None:
        return np.asarray(np.log(ratios) / (x[-1] - x[0]))
    return np.asarray(max(level, 0.0) * (ratios - 1) / (x[-1] - ratios * x[0]))


def blank(labels: npt.NDArray[Any]) -> Any:
    """Return the value that stands for no label: "", NaT or NaN."""
    kind = labels.dtype.kind
    return "" if kind == "O" else np.array("NaT", dtype=labels.dtype) if kind in "mM" else np.nan


def hosts_changed(hosts: Integers, starts: Integers, first: Integers, last: Integers) -> Mask:
    """Return which changes coincide with another host.

    It measured most of the segment, and came within the set of commits. `hosts` (n,) is the host of
    every commit. Segments begin at `starts`; `first` and `last` are the ends of the sets.
    """
    ends = [0, *starts, len(hosts)]
    usual = [np.bincount(hosts[low:high], minlength=1).argmax() for low, high in pairwise(ends)]
    came = np.flatnonzero(np.diff(hosts)) + 1
    within = ((came >= first[:, None]) & (came <= last[:, None])).any(axis=1)
    return np.asarray(within & (np.diff(usual) != 0))


def common_changes(changes: Mask, first: Integers, last: Integers) -> tuple[Mask, Integers]:
    """Return which changes of many series are common, and their number at each commit.

    Changes are common where so many sets of commits share one commit that chance hardly explains
    it.

    `changes` (..., series, n) are the starts of segments; there, `first` and `last` are the ends of
    the set of commits.
    """
    common, numbers = (
        np.zeros(changes.shape, dtype=bool),
        np.zeros((*changes.shape[:-2], changes.shape[-1]), dtype=int),
    )
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
            n_max = round(counts.max())
            shared = np.flatnonzero(counts == counts.max())
            expected = float(np.sum(high[remaining] - low[remaining] + 1)) / n
            if n_max < FEWEST or n * pdtrc(n_max - 1, expected) > CHANCE:
                break
            best = shared[np.argmax([np.sum(remaining & (columns == column)) for column in shared])]
            members = remaining & (low <= best) & (high >= best)
            common[cell][rows[members], columns[members]] = True
            numbers[cell][best] = n_max
            remaining &= ~members
    return common, numbers

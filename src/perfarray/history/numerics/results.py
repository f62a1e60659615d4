"""Everything that is said of many series, one after the other: arrays in, arrays out."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from perfarray.history.numerics.causes import hosts_changed, is_drift
from perfarray.history.numerics.commits import Commits, commits_of, whitened
from perfarray.history.numerics.law import LENGTHS
from perfarray.history.numerics.search import find_changes, whole_chance
from perfarray.history.numerics.steps import Steps, describe_steps
from perfarray.history.numerics.watch import watch
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import Known, decide


class Question(NamedTuple):
    """What is asked of every series."""

    levels: int
    least: int
    threshold: float
    confidence_level: float
    better: str
    labels: npt.NDArray[Any]
    rate: float = 0.0
    """Of false alarms per commit, where series are watched commit by commit."""


class Prepared(NamedTuple):
    """One series: its commits, whether their values are logs, and the values without what neighbours share."""

    commits: Commits
    logs: bool
    clean: Floats


def prepare(units: Floats) -> Prepared:
    """Return the commits of a series of units (commits, units): of their logs where all are positive."""
    logs = not bool(np.any(units <= 0))
    commits = commits_of(np.log(units) if logs else units)
    return Prepared(commits, logs, whitened(commits.values, commits.correlation))


def chances(values: Floats, *, question: Question) -> tuple[Floats]:
    """Return the p-value of "nothing changed" of every series (..., n, n_L, ..., n_1); NaN of those too short to show anything."""
    units = unit_means(values, question.levels)
    pvalues = np.full(units.shape[:-2], np.nan)
    for cell in np.ndindex(pvalues.shape):  # each has its own commits
        commits, _, clean = prepare(units[cell])
        if len(clean) >= max(LENGTHS[0], 2 * question.least):
            pvalues[cell] = min(commits.doubt * whole_chance(clean, commits.errors, question.least), 1.0)
    return (pvalues,)


def describe(
    values: Floats, level: Floats, hosts: Integers, at_least: Mask, at_most: Mask, *, question: Question
) -> tuple[npt.NDArray[Any], ...]:
    """Return what is known of every series (..., n, n_L, ..., n_1), searched at its own level: the variables of the result, in order."""
    units = unit_means(values, question.levels)
    shape = units.shape[:-2]
    levels = np.broadcast_to(level, shape)
    inputs: list[Any] = [np.broadcast_to(array, units.shape[:-1]) for array in (hosts, at_least, at_most)]
    rows = [
        _one(units[cell], float(levels[cell]), inputs[0][cell], Known(inputs[1][cell], inputs[2][cell]), question)
        for cell in np.ndindex(shape)  # each has its own commits
    ]
    return tuple(_stack(column, shape) for column in zip(*rows, strict=True))


def _stack(column: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Put the answers of all series into one array."""
    stacked = np.stack(column)
    return stacked.reshape((*shape, *stacked.shape[1:]))


def _one(units: Floats, level: float, hosts: Integers, bounds: Known, question: Question) -> tuple[Any, ...]:
    """Return the answers of one series."""
    size, labels = len(units), question.labels
    commits, logs, clean = prepare(units)
    pvalues, seen_at = _changes(commits, clean, level, question)
    starts = sorted(pvalues)
    band = (1 - question.threshold, 1 + question.threshold)
    steps = describe_steps(commits, starts, question.least, logs=logs, band=band, level=question.confidence_level)
    at = commits.positions[steps.positions]
    change = np.zeros(size, dtype=bool)
    change[at] = True
    alarm = np.zeros(size, dtype=bool)
    alarm[commits.positions[seen_at]] = True
    earliest = np.concatenate([[-1], commits.positions])[steps.first] + 1
    first, last = (np.zeros(size, dtype=int) for _ in range(2))
    first[at], last[at] = earliest, commits.positions[steps.last]
    lower, upper, verdict = _judge(steps, bounds, at, question)
    cause = np.where(hosts_changed(hosts[commits.positions], steps.positions, steps.first, steps.last), "host", "code").astype(object)
    pvalue = np.array([pvalues[start] for start in starts])
    scale = 1.0 if logs else abs(float(np.mean(commits.values))) or np.nan if len(commits.values) else np.nan
    within = np.sqrt(commits.within * np.mean(1 / commits.counts)) if len(commits.values) else np.nan
    give = np.exp if logs else np.asarray
    return (
        change,
        np.cumsum(change),
        *(_along(size, at, values) for values in (steps.estimate, lower, upper, pvalue)),
        *(_along(size, at, values) for values in (verdict, cause)),
        *(
            _along(size, at, labels[values].astype(float) if labels.dtype.kind in "iufb" else labels[values])
            for values in (earliest, last[at])
        ),
        _along(size, commits.positions, steps.probability),
        *(_along(size, commits.positions, give(values)) for values in (commits.values, *_limits(commits, steps, question), steps.levels)),
        _along(size, commits.positions, commits.counts),
        _along(size, commits.positions, commits.spreads),
        first,
        last,
        float(len(commits.values)),
        steps.noise / scale,
        within / scale,
        commits.correlation,
        alarm,
        bool(starts)
        and is_drift(commits.values, steps.levels, commits.errors * steps.noise / np.sqrt(np.mean(commits.errors**2)), len(starts)),
    )


def _limits(commits: Commits, steps: Steps, question: Question) -> tuple[Floats, Floats]:
    """Return the values of commits less and more what their noise makes of them."""
    df = max(len(commits.values) - len(steps.positions) - 1, 1)
    errors = commits.errors / np.sqrt(np.mean(commits.errors**2)) if len(commits.errors) else commits.errors
    reach = stdtrit(df, (1 + question.confidence_level) / 2) * steps.noise * errors
    return commits.values - reach, commits.values + reach


def _changes(commits: Commits, clean: Floats, level: float, question: Question) -> tuple[dict[int, float], list[int]]:
    """Return where a series changes with the p-values, and where that is seen by one who watches it."""
    if not question.rate:
        pvalues = find_changes(clean, commits.errors, question.least, level / commits.doubt) if level > 0 else {}
        return {start: min(commits.doubt * pvalue, 1.0) for start, pvalue in pvalues.items()}, []
    alarms = watch(clean, commits.errors, question.least, question.rate)
    return {alarm.start: alarm.pvalue for alarm in alarms}, [alarm.seen_at for alarm in alarms]


def _along(size: int, positions: Integers, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values at their places along a history, and nothing elsewhere: NaN, NaT or ""."""
    kind = values.dtype.kind
    blank: Any = "" if kind == "O" else np.array("NaT", dtype=values.dtype) if kind in "mM" else np.nan
    full = np.full(size, blank, dtype=values.dtype if kind in "OmM" else float)
    full[positions] = values
    return full


def _judge(steps: Steps, bounds: Known, at: Integers, question: Question) -> tuple[Floats, Floats, npt.NDArray[Any]]:
    """Return limits and verdicts of changes, open towards what stopped runs leave unknown."""
    ends = [0, *at, len(bounds.at_least)]
    sides = [[bool(mask[low:high].any()) for low, high in pairwise(ends)] for mask in bounds]
    more, less = (np.array(side, dtype=bool) for side in sides)
    ratio = Known(more[1:] | less[:-1], less[1:] | more[:-1])
    tests = steps.tests.bounded_by(ratio)
    alpha = 1 - question.confidence_level
    verdict = decide(tests, tests.two_sided <= alpha, tests.inside <= alpha / 2, question.better)
    return np.where(ratio.at_most, 0.0, steps.lower), np.where(ratio.at_least, np.inf, steps.upper), verdict

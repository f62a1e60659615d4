"""Comparisons by the bootstrap: p-values that invert its limits, and the suite's mean ratio."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from perfarray.numerics.bootstrap import DrawKeys, Draws, cells_of, redrawn_jointly
from perfarray.numerics.bootstrap_limits import (
    Bootstrap,
    enough_units,
    influence_of,
    known_limits,
    limits_of,
    one_sided,
    percentile_family,
    studentized,
)
from perfarray.numerics.bootstrap_samples import (
    REPLICATES_AT_ONCE,
    Pairing,
    RatioSample,
    flattened,
    mean_left_out,
    ratio_bootstrap,
    spread,
)
from perfarray.numerics.intervals import BOUNDED, STUDENTIZED, RatioSet, standard_error
from perfarray.numerics.levels import summarise_units, unit_means
from perfarray.numerics.median_tests import hanging, open_beyond
from perfarray.numerics.random import Streams
from perfarray.numerics.ratio_tests import (
    certain_inside,
    known_of,
    row_of,
    suite_row,
    without_spread,
)
from perfarray.numerics.types import Floats, Integers, Mask, same_text
from perfarray.numerics.verdicts import (
    Known,
    RatioComparison,
    Rules,
    Suite,
    Tests,
    map_arrays,
    open_set,
)


def compare_draws(
    new: Floats,
    old: Floats,
    level: Floats | float,
    cells: Integers,
    groups: Integers,
    *bounds: Mask,
    rules: Rules,
    draws: Draws,
    joint: int,
    flat: bool,
    statistic: str = "mean",
    far: float = np.inf,
) -> RatioComparison:
    """Compare redrawn timings (..., benchmarks, n_L, ..., n_1), at one level or one for each ratio.

    `cells` (..., benchmarks) and `groups` (...) are the keys of random numbers; `joint` levels are
    shared by the benchmarks; `flat` ignores the nest; `bounds` are the fields of `Known`, where
    runs were stopped; limits of medians beyond `far` are open.
    """
    size = max(1, REPLICATES_AT_ONCE // draws.n_resamples)
    levels = new.ndim - cells.ndim
    values = [
        spread(flattened(side, levels, flat), cells.shape, len(draws.resampled))
        for side in (new, old)
    ]
    if rules.threshold is None and cells.size > size:
        # Limits alone need no replicates of other cells, which bounds the memory.
        rows: list[Any] = [
            cells.ravel(),
            *(side.reshape(cells.size, *side.shape[cells.ndim :]) for side in values),
            *(np.broadcast_to(mask, cells.shape).ravel() for mask in bounds),
        ]
        options: dict[str, Any] = {"rules": rules, "draws": draws, "joint": joint, "flat": False}
        blocks = []
        for first in range(0, cells.size, size):
            keys, new, old, *arguments = (row[first : first + size] for row in rows)
            arrays = (new, old, level, keys, groups, *arguments)
            blocks.append(compare_draws(*arrays, **options, statistic=statistic, far=far))

        def joined(*arrays: Any) -> Any:
            return np.concatenate(arrays).reshape(cells.shape) if arrays[0].ndim else arrays[0]

        return cast(RatioComparison, map_arrays(joined, *blocks))
    pair = Pairing(values[0], values[1], cells, rules.paired)
    bootstrap, sample = ratio_bootstrap(pair, draws, rules.method, statistic)
    ratio, sufficient = sample.ratio, enough_units(sample.ratio.n, rules.method)
    censoring = known_of(ratio, bounds)
    lower, upper = (np.where(sufficient, end, np.nan) for end in limits_of(bootstrap, level))
    interval = (
        open_set(RatioSet(lower, upper, same_text(BOUNDED, sufficient.shape)), censoring)
        if statistic == "mean"
        else open_beyond(lower, upper, far)
    )
    comparison = row_of(ratio, np.full(sufficient.shape, np.nan), rules, interval, censoring)
    if rules.threshold is None:
        return comparison
    low, high = (one_sided(bootstrap, value) for value in rules.band)
    tests = certain_inside(Tests(*low, *high), ratio.estimate, without_spread(ratio), rules.band)
    tests = Tests(*(np.where(sufficient, pvalue, np.nan) for pvalue in tests)).bounded_by(censoring)
    comparison = comparison._replace(tests=tests)
    if rules.suite_threshold is None:
        return comparison
    with np.errstate(invalid="ignore"):
        matched: Mask = ratio.estimate > 0
    if (rules.shared or rules.paired) and statistic == "mean":
        groups = np.broadcast_to(groups, cells.shape[:-1])
        suite_bootstrap, n = _shared_units_bootstrap(
            pair, groups, matched, draws, max(joint, 1), rules.method
        )
    else:
        suite_bootstrap, n = _independent_bootstrap(sample, matched, rules.method)
    suite = suite_row(_suite(suite_bootstrap, n, matched, rules), ratio, rules, censoring)
    return comparison._replace(suite=suite)


def compare_stopped_draws(
    _new: Floats,
    _old: Floats,
    level: Floats | float,
    best_new: Floats,
    best_old: Floats,
    worst_new: Floats,
    worst_old: Floats,
    new_unlimited: Mask,
    old_unlimited: Mask,
    *arrays: Any,
    far: float,
    **options: Any,
) -> RatioComparison:
    """Return what holds of medians whatever stopped runs took, from their best and their worst.

    Of the unlimited sides the best is not known. The other `arrays` are those of `compare_draws`.
    """
    pairs = ((best_new, best_old), (worst_new, best_old), (best_new, worst_old))
    ends = [compare_draws(*sides, level, *arrays, **options) for sides in pairs]
    best, worst = (
        (ends[0].candidate_mean, ends[0].baseline_mean),
        (ends[1].candidate_mean, ends[2].baseline_mean),
    )
    hangs, unknown = hanging(best, worst, (new_unlimited, old_unlimited))
    none = np.zeros(hangs.shape, dtype=bool)
    lower, upper = (
        np.min([end.limits.lower for end in ends], axis=0),
        np.max([end.limits.upper for end in ends], axis=0),
    )
    return ends[0]._replace(
        estimate=np.where(unknown, np.nan, ends[0].estimate),
        error=np.where(hangs, np.nan, ends[0].error),
        censoring=Known(none, none),  # the limits allow for stopped runs already
        limits=open_beyond(lower, upper, far),
        tests=Tests(*np.max([end.tests for end in ends], axis=0)),
    )


def _suite(bootstrap: Bootstrap, n: Floats, matched: Mask, rules: Rules) -> Suite:
    sufficient = enough_units(n, rules.method)
    pvalues = [
        np.where(sufficient, pvalue, np.nan)
        for value in rules.suite_band
        for pvalue in one_sided(bootstrap, value)
    ]
    estimate = np.exp(bootstrap.estimate) if bootstrap.log else bootstrap.estimate
    limits = known_limits(bootstrap, rules.confidence_level, n)
    benchmarks = matched.sum(axis=-1).astype(float)
    return Suite(estimate, *limits, np.full(n.shape, np.nan), n, benchmarks, Tests(*pvalues))


def _independent_bootstrap(
    sample: RatioSample, matched: Mask, method: str
) -> tuple[Bootstrap, Floats]:
    """Return the bootstrap of the mean log ratio of independent benchmarks (last axis), and n."""
    count = np.maximum(matched.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(sample.ratio.estimate)
        log = np.where(matched, logs, 0.0).sum(axis=-1) / count
        log_means = np.where(matched[..., None], sample.logs, 0.0).sum(axis=-2) / count[..., None]
    n = np.where(matched, sample.ratio.n, np.inf).min(axis=-1, initial=np.inf)
    n = np.where(np.isinf(n), 0.0, n)
    none = np.asarray(~matched.any(axis=-1))
    log, log_means = np.where(none, np.nan, log), np.where(none[..., None], np.nan, log_means)
    if method == STUDENTIZED:
        squares = np.where(matched, standard_error(sample.ratio, "log_delta"), 0.0) ** 2
        errors = np.where(matched[..., None], sample.errors, 0.0)
        error = np.sqrt(squares.sum(axis=-1)) / count
        return studentized(
            log, error, log_means, np.sqrt((errors**2).sum(axis=-2)) / count[..., None], log=True
        ), n
    estimate = np.exp(log)
    influence = []
    for ratios_without in sample.left_out:
        with np.errstate(divide="ignore", invalid="ignore"):
            changed = estimate[..., None, None] * np.exp(
                (np.log(ratios_without) - logs[..., None]) / count[..., None, None]
            )
        units = np.sum(~np.isnan(changed), axis=-1, keepdims=True)
        scaled = np.where(
            matched[..., None], (units - 1) * (estimate[..., None, None] - changed), np.nan
        )
        influence.append(scaled.reshape(*scaled.shape[:-2], -1))
    return percentile_family(method, estimate, np.exp(log_means), tuple(influence)), n


class SuiteSample(NamedTuple):
    """The log of a suite's geometric mean ratio, its error, their replicates (R), and n.

    `without_new` and `without_old` are the log without each unit of a side.
    """

    log: Floats | float
    error: Floats | float
    logs: Floats
    errors: Floats
    n: int
    without_new: Floats
    without_old: Floats


def _shared_units_bootstrap(
    pair: Pairing, groups: Integers, matched: Mask, draws: Draws, joint: int, method: str
) -> tuple[Bootstrap, Floats]:
    """Return the same where benchmarks (axis before the levels) share units, or pairs correlate.

    Units that lack a benchmark are left out; the others are drawn for all benchmarks jointly.
    """
    batch = groups.shape
    sides = [side.reshape(-1, *side.shape[len(batch) :]) for side in (pair.new, pair.old)]
    cells, keep = pair.cells.reshape(groups.size, -1), matched.reshape(groups.size, -1)
    samples = []
    # Each suite has benchmarks and units of its own.
    for number, group in enumerate(groups.ravel().tolist()):
        rows = np.flatnonzero(keep[number])
        suite_sides, keys = [side[number, rows] for side in sides], cells[number, rows].tolist()
        samples.append(_draw_shared_units(suite_sides, keys, group, draws, joint, pair.paired))
    log, error, n = (
        np.array([getattr(sample, name) for sample in samples], dtype=float).reshape(batch)
        for name in ("log", "error", "n")
    )
    logs, errors = (
        np.array([getattr(sample, name) for sample in samples]).reshape(*batch, -1)
        for name in ("logs", "errors")
    )
    if method == STUDENTIZED:
        return studentized(log, error, logs, errors, log=True), n
    estimate, influence = np.exp(log), []
    if method == "bca":
        for name in ("without_new", "without_old"):
            without = np.exp(_padded([getattr(sample, name) for sample in samples]))
            influence.append(influence_of(estimate, without.reshape(*batch, -1)))
    return percentile_family(method, estimate, np.exp(logs), tuple(influence)), n


def _draw_shared_units(
    sides: Sequence[Floats],
    cells: Sequence[int],
    group: int,
    draws: Draws,
    joint: int,
    paired: bool,
) -> SuiteSample:
    """Draw the units of one suite (benchmarks, n_L, ..., n_1) for all its benchmarks jointly."""
    blank, levels = np.full(draws.n_resamples, np.nan), len(draws.resampled)
    complete = [~np.isnan(unit_means(side, levels)).any(axis=0) for side in sides]
    if paired:
        complete = [complete[0] & complete[1]] * 2
    n = min(int(units.sum()) for units in complete)
    if not cells or not n:
        return SuiteSample(np.nan, np.nan, blank, blank, n, blank[:0], blank[:0])
    units = [
        unit_means(side, levels)[:, common_units]
        for side, common_units in zip(sides, complete, strict=True)
    ]
    scores = [_log_score(side_units) for side_units in units]
    log, error = _difference(scores[0], scores[1], paired)
    logs, errors = blank.copy(), blank.copy()
    keys, groups = np.array(cells, np.uint64), (np.full(len(cells), group, np.uint64),) * joint
    cells_to_draw = [
        cells_of(side[:, common_units], draws, DrawKeys(keys, groups, number, paired), "units")
        for number, (side, common_units) in enumerate(zip(sides, complete, strict=True))
    ]
    for block, drawn_units in redrawn_jointly(
        draws.n_resamples, Streams(draws.key), *cells_to_draw
    ):
        logs[block], errors[block] = _difference(
            _log_score(drawn_units[0]), _log_score(drawn_units[1]), paired
        )
    reduced = [np.log(mean_left_out(side_units)).mean(axis=0) for side_units in units]
    without = (
        (reduced[0] - reduced[1], blank[:0])
        if paired
        else (reduced[0] - scores[1].log, scores[0].log - reduced[1])
    )
    return SuiteSample(log, error, logs, errors, n, *without)


def _padded(rows: Sequence[Floats]) -> Floats:
    """Return rows of different lengths as one array, filled up with NaN."""
    padded = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


class _LogScore(NamedTuple):
    """The log of a geometric mean (...), and every unit's first-order share Z_j (..., units)."""

    log: Floats
    units: Floats


def _log_score(units: Floats) -> _LogScore:
    # Equal units have exactly their value as mean.
    means = units[..., 0] + (units - units[..., :1]).mean(axis=-1)
    return _LogScore(np.log(means).mean(axis=0), (units / means[..., None]).mean(axis=0))


def _difference(new: _LogScore, old: _LogScore, paired: bool) -> tuple[Floats, Floats]:
    if paired:
        return new.log - old.log, np.sqrt(summarise_units(new.units - old.units).variance)
    return new.log - old.log, np.sqrt(
        summarise_units(new.units).variance + summarise_units(old.units).variance
    )

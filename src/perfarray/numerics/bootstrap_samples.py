"""The bootstrap of one sample, of a ratio, and of a suite: cells in, what limits and p-values are made from out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from perfarray.numerics.bootstrap import Cells, DrawKeys, Draws, Purpose, cells_of, redrawn, redrawn_means, redrawn_together
from perfarray.numerics.bootstrap_limits import Bootstrap, influence_of, percentile_family, studentized
from perfarray.numerics.intervals import Ratio, quotient, ratio_of, standard_error
from perfarray.numerics.levels import UnitSummary, mean_of_measured, summarise_units, unit_means
from perfarray.numerics.random import Streams
from perfarray.numerics.statistics import Statistic, evaluate
from perfarray.numerics.types import Floats, Integers, Mask

Scalar = TypeVar("Scalar", bound=np.generic)


class Sample(NamedTuple):
    """The statistic of the data, its replicates (..., R), the standard error over units, and the number of units."""

    estimate: Floats
    replicates: Floats
    standard_error: Floats
    n: Floats


class Pairing(NamedTuple):
    """Two systems: new and old timings (..., n_L, ..., n_1), the keys of their cells (...), and whether units match."""

    new: Floats
    old: Floats
    cells: Integers
    paired: bool


def flattened(values: Floats, levels: int, flat: bool) -> Floats:
    """Return values with one level that holds everything, where the nest is to be ignored."""
    return values.reshape((*values.shape[: values.ndim - levels], -1)) if flat else values


def spread(values: npt.NDArray[Scalar], cells: tuple[int, ...], levels: int) -> npt.NDArray[Scalar]:
    """Return values repeated over the cells of the answer, as a view; the last `levels` axes are the nest."""
    return np.broadcast_to(values, (*cells, *values.shape[values.ndim - levels :]))


def draw_sample(
    values: Floats,
    cells: Integers,
    groups: Integers,
    draws: Draws,
    statistic: Statistic,
    *,
    joint: int = 0,
    present: Sequence[Mask] = (),
    pairs: Integers | None = None,
) -> Sample:
    """Draw the replicates of a statistic for every cell.

    Parameters
    ----------
    values : array, shape (..., n_L, ..., n_1)
        Measurements.
    cells, groups : arrays of uint64, shape (...)
        Keys of the cells, and of the groups whose shared units are drawn jointly.
    draws : Draws
        What is drawn.
    statistic : {"mean", "median", "min", "max"} or callable
        Of one replicate.
    joint : int
        How many levels, from the outermost, are drawn jointly within a group.
    present : sequence of bool arrays, shapes (..., n_L), (..., n_L, n_{L-1}), ...
        For every level drawn jointly, the units that any cell of the group measured.
    pairs : array of uint64, shape (...), optional
        Keys of the larger groups whose outermost units match, where units are paired: these are then drawn jointly too.

    Returns
    -------
    Sample
    """
    levels, streams = len(draws.resampled), Streams(draws.key)
    numbers = [groups.ravel()] * joint if pairs is None else [pairs.ravel(), *[groups.ravel()] * (joint - 1)]
    shape = cells.shape
    flat, masks = _by_cell(values, cells), [_by_cell(mask, cells) for mask in present]
    summary = summarise_units(unit_means(flat, levels))
    estimate = summary.mean if statistic == "mean" else evaluate(flat, statistic)
    draw_keys = DrawKeys(cells.ravel(), tuple(numbers))
    cells_to_draw = cells_of(flat, draws, draw_keys, "means" if statistic == "mean" else "values", masks)
    if statistic == "mean":
        replicates = redrawn_means(draws.n_resamples, streams, cells_to_draw)
    else:
        replicates = np.full((len(flat), draws.n_resamples), np.nan)
        for rows, block, (values_drawn,) in redrawn(draws.n_resamples, streams, cells_to_draw):
            replicates[rows, block] = evaluate(values_drawn.reshape(-1, *values_drawn.shape[2:]), statistic).reshape(values_drawn.shape[:2])
    error = np.sqrt(summary.variance)
    return Sample(estimate.reshape(shape), replicates.reshape(*shape, -1), error.reshape(shape), summary.n.reshape(shape))


def _by_cell(values: npt.NDArray[Scalar], cells: Integers) -> npt.NDArray[Scalar]:
    """Return values with the axes of the cells as one."""
    return values.reshape(-1, *values.shape[cells.ndim :])


def sample_bootstrap(values: Floats, cells: Integers, draws: Draws, statistic: Statistic, method: str) -> tuple[Bootstrap, Sample]:
    """Return what the limits of a statistic are made from; studentized ones are those of the mean."""
    if method == "studentized":
        return _studentized_mean(values, cells, draws)
    sample = draw_sample(values, cells, cells, draws, statistic)
    influence: tuple[Floats, ...] = ()
    if method == "bca":
        influence = (influence_of(sample.estimate, _left_out(values, len(draws.resampled), statistic)),)
    return percentile_family(method, sample.estimate, sample.replicates, influence), sample


def _left_out(values: Floats, levels: int, statistic: Statistic) -> Floats:
    """Return the statistic (..., units) of the data without each outermost unit in turn; NaN for a unit that is none, or the only one."""
    if statistic == "mean":
        return _mean_left_out(unit_means(values, levels))
    flat = values.reshape(-1, *values.shape[values.ndim - levels :])
    if flat.shape[1] == 1:
        return np.full(values.shape[: values.ndim - levels + 1], np.nan)
    # One unit less each time: as many evaluations as there are units.
    changed = np.stack([evaluate(np.delete(flat, unit, axis=1), statistic) for unit in range(flat.shape[1])], axis=-1)
    measured = ~np.isnan(flat).all(axis=tuple(range(2, flat.ndim)))
    without_unit = np.where(measured & (measured.sum(axis=-1, keepdims=True) > 1), changed, np.nan)
    return without_unit.reshape(values.shape[: values.ndim - levels + 1])


def _mean_left_out(units: Floats) -> Floats:
    """Return the mean without each unit along the last axis in turn; NaN for a unit that was not measured, or is the only one."""
    n = np.sum(~np.isnan(units), axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, (np.nansum(units, axis=-1, keepdims=True) - units) / (n - 1), np.nan)


def _studentized_mean(values: Floats, cells: Integers, draws: Draws) -> tuple[Bootstrap, Sample]:
    """Draw means with their standard errors over the outermost units."""
    levels, streams, number = len(draws.resampled), Streams(draws.key), draws.n_resamples
    flat = _by_cell(values, cells)
    units = summarise_units(unit_means(flat, levels))
    means, errors = np.full((2, cells.size, number), np.nan)
    cells_to_draw = cells_of(flat, draws, DrawKeys(cells.ravel()), "units")
    for rows, block, (units_drawn,) in redrawn(number, streams, cells_to_draw):
        summary = summarise_units(units_drawn)
        means[rows, block], errors[rows, block] = summary.mean, np.sqrt(summary.variance)
    shape = cells.shape
    sample = Sample(units.mean.reshape(shape), means.reshape(*shape, -1), np.sqrt(units.variance).reshape(shape), units.n.reshape(shape))
    return studentized(sample.estimate, sample.standard_error, sample.replicates, errors.reshape(*shape, -1), log=False), sample


class Drawn(NamedTuple):
    """The ratios of the data and of replicates (..., R), the standard errors of their logs (`studentized`), and ratios without each unit.

    `log_differences` are those of statistics that are logs before they are a ratio.
    """

    ratio: Ratio
    ratios: Floats
    left_out: tuple[Floats, ...]
    errors: Floats = np.asarray(np.nan)
    log_differences: Floats | None = None

    @property
    def logs(self) -> Floats:
        """The logs of the ratios of replicates: dear, and not every limit is made from them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.ratios) if self.log_differences is None else self.log_differences


def draw_ratio(pair: Pairing, draws: Draws, method: str) -> Drawn:
    """Draw both systems, independently or paired by unit, and take the ratio of their means in every replicate."""
    levels, streams = len(draws.resampled), Streams(draws.key)
    sides = _matched(pair, levels) if pair.paired else (pair.new, pair.old)
    means = [unit_means(side, levels) for side in sides]
    shape, cells = pair.cells.shape, pair.cells.ravel()
    flat = [_by_cell(side, pair.cells) for side in sides]
    purpose: Purpose = "units" if method == "studentized" else "means"
    cells_to_draw = [cells_of(side, draws, DrawKeys(cells, (), number, pair.paired), purpose) for number, side in enumerate(flat)]
    ratio = ratio_of(means[0], means[1], pair.paired)
    if method == "studentized":
        ratios, errors = _ratios_and_errors(cells_to_draw, draws.n_resamples, streams, pair.paired)
        return Drawn(ratio, ratios.reshape(*shape, -1), (), errors.reshape(*shape, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.divide(*(redrawn_means(draws.n_resamples, streams, side) for side in cells_to_draw))
    return Drawn(ratio, ratios.reshape(*shape, -1), _ratios_left_out(means[0], means[1], pair.paired) if method == "bca" else ())


def _ratios_and_errors(sides: Sequence[Cells], number: int, streams: Streams, paired: bool) -> tuple[Floats, Floats]:
    """Return the ratios of replicates, and the standard errors of their logs."""
    ratios, errors = np.full((2, len(sides[0].kinds), number), np.nan)
    for rows, block, (new, old) in redrawn(number, streams, *sides):
        ratio = ratio_of(new, old, paired)
        ratios[rows, block], errors[rows, block] = ratio.estimate, standard_error(ratio, "log_delta")
    return ratios, errors


def _matched(pair: Pairing, levels: int) -> tuple[Floats, Floats]:
    """Leave out the outermost units that one system lacks."""
    batch = pair.new.ndim - levels
    inner = tuple(range(batch + 1, pair.new.ndim))
    complete: Mask = ~np.logical_or(np.isnan(pair.new).all(axis=inner), np.isnan(pair.old).all(axis=inner))
    complete = complete.reshape(complete.shape + (1,) * (levels - 1))
    return np.where(complete, pair.new, np.nan), np.where(complete, pair.old, np.nan)


def _ratios_left_out(new: Floats, old: Floats, paired: bool) -> tuple[Floats, ...]:
    """Return the ratios without each unit in turn: of either system, or of both where they are paired."""
    less = [_mean_left_out(side) for side in (new, old)]
    with np.errstate(divide="ignore", invalid="ignore"):
        if paired:
            return (less[0] / less[1],)
        return less[0] / mean_of_measured(old)[..., None], mean_of_measured(new)[..., None] / less[1]


def draw_statistic_ratio(pair: Pairing, draws: Draws, statistic: Statistic, method: str) -> Drawn:
    """Draw both systems and take the ratio of another statistic than the mean; its errors are the deviations of the logs of replicates."""
    levels, streams, cells = len(draws.resampled), Streams(draws.key), pair.cells.ravel()
    flat = [_by_cell(side, pair.cells) for side in (_matched(pair, levels) if pair.paired else (pair.new, pair.old))]
    cells_to_draw = [cells_of(side, draws, DrawKeys(cells, (), number, pair.paired), "values") for number, side in enumerate(flat)]
    statistics = np.full((2, cells.size, draws.n_resamples), np.nan)
    for rows, block, values_drawn in redrawn(draws.n_resamples, streams, *cells_to_draw):
        for side, logs_of_side in enumerate(values_drawn):
            statistics[side, rows, block] = evaluate(logs_of_side.reshape(-1, *logs_of_side.shape[2:]), statistic).reshape(
                logs_of_side.shape[:2]
            )
    values = [evaluate(side, statistic) for side in flat]
    left_out: tuple[Floats, ...] = ()
    shape, n = pair.cells.shape, [(~np.isnan(unit_means(side, levels))).sum(axis=-1).astype(float) for side in flat]
    with np.errstate(divide="ignore", invalid="ignore"):
        if method == "bca":
            less = [_left_out(side, levels, statistic) for side in flat]
            without = (less[0] / less[1],) if pair.paired else (less[0] / values[1][:, None], values[0][:, None] / less[1])
            left_out = tuple(block.reshape(*shape, -1) for block in without)
        ratios, logs = statistics[0] / statistics[1], np.log(statistics)
        squared = [
            (value * logs_of_side.std(axis=-1)) ** 2
            for value, logs_of_side in zip((values[0], *values), (logs[0] - logs[1], *logs), strict=True)
        ]
    residual, *errors = (
        np.where(number > 1, block, np.nan).reshape(shape) for number, block in zip((np.minimum(*n), *n), squared, strict=True)
    )
    sides = [
        UnitSummary(value.reshape(shape), block, number.reshape(shape)) for value, block, number in zip(values, errors, n, strict=True)
    ]
    ratio = Ratio(quotient(sides[0].mean, sides[1].mean), sides[0], sides[1], residual, np.full(shape, np.nan), pair.paired)
    logs, ratios = (logs[0] - logs[1]).reshape(*shape, -1), ratios.reshape(*shape, -1)
    return Drawn(ratio, ratios, left_out, log_differences=logs)


def ratio_bootstrap(pair: Pairing, draws: Draws, method: str, statistic: Statistic = "mean") -> tuple[Bootstrap, Drawn]:
    """Return what the limits of ratios are made from; studentized ones, of means alone, are symmetric for the log ratio."""
    replicates = draw_ratio(pair, draws, method) if statistic == "mean" else draw_statistic_ratio(pair, draws, statistic, method)
    estimate = replicates.ratio.estimate
    if method == "studentized":
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(estimate)
        return studentized(log, standard_error(replicates.ratio, "log_delta"), replicates.logs, replicates.errors, log=True), replicates
    influence = tuple(influence_of(estimate, ratios_without) for ratios_without in replicates.left_out)
    return percentile_family(method, estimate, replicates.ratios, influence), replicates


def suite_bootstrap(replicates: Drawn, matched: Mask, method: str) -> tuple[Bootstrap, Floats]:
    """Return what the limits of the geometric mean over the last axis are made from, benchmarks being independent; and its n."""
    count = np.maximum(matched.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(replicates.ratio.estimate)
        log = np.where(matched, logs, 0.0).sum(axis=-1) / count
        log_means = np.where(matched[..., None], replicates.logs, 0.0).sum(axis=-2) / count[..., None]
    n = np.where(matched, replicates.ratio.n, np.inf).min(axis=-1, initial=np.inf)
    n = np.where(np.isinf(n), 0.0, n)
    none = np.asarray(~matched.any(axis=-1))
    log, log_means = np.where(none, np.nan, log), np.where(none[..., None], np.nan, log_means)
    if method == "studentized":
        errors_of_rows = np.where(matched, standard_error(replicates.ratio, "log_delta"), 0.0)
        errors = np.where(matched[..., None], replicates.errors, 0.0)
        return studentized(
            log,
            np.sqrt((errors_of_rows**2).sum(axis=-1)) / count,
            log_means,
            np.sqrt((errors**2).sum(axis=-2)) / count[..., None],
            log=True,
        ), n
    estimate = np.exp(log)
    influence = []
    for ratios_without in replicates.left_out:
        with np.errstate(divide="ignore", invalid="ignore"):
            changed = estimate[..., None, None] * np.exp((np.log(ratios_without) - logs[..., None]) / count[..., None, None])
        own_n = np.sum(~np.isnan(changed), axis=-1, keepdims=True)
        scaled = np.where(matched[..., None], (own_n - 1) * (estimate[..., None, None] - changed), np.nan)
        influence.append(scaled.reshape(*scaled.shape[:-2], -1))
    return percentile_family(method, estimate, np.exp(log_means), tuple(influence)), n


def shared_suite_bootstrap(
    pair: Pairing, groups: Integers, matched: Mask, draws: Draws, joint: int, method: str
) -> tuple[Bootstrap, Floats]:
    """Return the same where the benchmarks (axis before the levels) share their units, or pairs of units may move together.

    Units that lack a benchmark are left out; the others are drawn for all benchmarks together.
    """
    batch = groups.shape
    sides = [side.reshape(-1, *side.shape[len(batch) :]) for side in (pair.new, pair.old)]
    cells, keep = pair.cells.reshape(groups.size, -1), matched.reshape(groups.size, -1)
    streams = Streams(draws.key)
    rows: dict[str, list[Any]] = {"log": [], "error": [], "logs": [], "errors": [], "n": [], "first": [], "second": []}
    for number, group in enumerate(groups.ravel().tolist()):  # each suite has benchmarks and units of its own
        benchmarks = np.flatnonzero(keep[number])
        chosen = [side[number, benchmarks] for side in sides]
        row = _shared_cell(chosen, cells[number, benchmarks].tolist(), group, draws, streams, joint, pair.paired)
        for name, value in zip(rows, row, strict=True):
            rows[name].append(value)
    log, error, n = (np.array(rows[name], dtype=float).reshape(batch) for name in ("log", "error", "n"))
    logs, errors = (np.array(rows[name]).reshape(*batch, -1) for name in ("logs", "errors"))
    if method == "studentized":
        return studentized(log, error, logs, errors, log=True), n
    estimate = np.exp(log)
    influence = tuple(
        influence_of(estimate, np.exp(_padded(rows[name])).reshape(*batch, -1)) for name in ("first", "second") if method == "bca"
    )
    return percentile_family(method, estimate, np.exp(logs), influence), n


def _shared_cell(
    sides: Sequence[Floats], cells: Sequence[int], group: int, draws: Draws, streams: Streams, joint: int, paired: bool
) -> tuple[Any, ...]:
    """Return log, its error, their replicates, n, and the log without each unit in turn, for one suite (benchmarks, n_L, ..., n_1)."""
    blank, levels = np.full(draws.n_resamples, np.nan), len(draws.resampled)
    has = [~np.isnan(unit_means(side, levels)).any(axis=0) for side in sides]
    if paired:
        has = [has[0] & has[1]] * 2
    number = min(int(measured.sum()) for measured in has)
    if not cells or not number:
        return np.nan, np.nan, blank, blank, number, blank[:0], blank[:0]
    units = [unit_means(side, levels)[:, measured] for side, measured in zip(sides, has, strict=True)]
    scores = [_scores(side_units) for side_units in units]
    log, error = _difference(scores[0], scores[1], paired)
    logs, errors = blank.copy(), blank.copy()
    keys, groups = np.array(cells, np.uint64), (np.full(len(cells), group, np.uint64),) * joint
    cells_to_draw = [
        cells_of(side[:, measured], draws, DrawKeys(keys, groups, number, paired), "units")
        for number, (side, measured) in enumerate(zip(sides, has, strict=True))
    ]
    for measured, units_drawn in redrawn_together(draws.n_resamples, streams, *cells_to_draw):
        logs[measured], errors[measured] = _difference(_scores(units_drawn[0]), _scores(units_drawn[1]), paired)
    less = [np.log(_mean_left_out(side_units)).mean(axis=0) for side_units in units]
    if paired:
        return log, error, logs, errors, number, less[0] - less[1], blank[:0]
    return log, error, logs, errors, number, less[0] - scores[1].log, scores[0].log - less[1]


def _padded(rows: Sequence[Floats]) -> Floats:
    """Return rows of different lengths as one array, filled up with NaN."""
    padded = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


class _Score(NamedTuple):
    """The log of a geometric mean of benchmarks' means (...), and what every unit (..., units) adds to it, to first order: Z_j."""

    log: Floats
    units: Floats


def _scores(units: Floats) -> _Score:
    """Return the score of unit means (benchmarks, ..., units)."""
    means = units[..., 0] + (units - units[..., :1]).mean(axis=-1)  # of units that do not differ, their own value
    return _Score(np.log(means).mean(axis=0), (units / means[..., None]).mean(axis=0))


def _difference(new: _Score, old: _Score, paired: bool) -> tuple[Floats, Floats]:
    """Return the difference of two scores and its standard error."""
    if paired:
        return new.log - old.log, np.sqrt(summarise_units(new.units - old.units).variance)
    return new.log - old.log, np.sqrt(summarise_units(new.units).variance + summarise_units(old.units).variance)

"""The bootstrap of one sample, of a ratio, and of a suite: cells in, what limits and p-values are made from out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from perfarray.numerics.bootstrap import Draws, Nest, Place, Statistic, blocks, draw_units, evaluate, left_out, nest_of, replicates_of
from perfarray.numerics.bootstrap_limits import Bootstrap, influence_of, percentile_family, studentized
from perfarray.numerics.intervals import Ratio, ratio_of, standard_error
from perfarray.numerics.levels import mean_of_measured, summarise_units, unit_means
from perfarray.numerics.types import Floats, Integers, Mask

Scalar = TypeVar("Scalar", bound=np.generic)


class Sample(NamedTuple):
    """The statistic of the data, its replicates (..., R), the standard error over units, and the number of units."""

    estimate: Floats
    replicates: Floats
    standard_error: Floats
    n: Floats


class Pairing(NamedTuple):
    """Two systems: new and old timings (..., n_L, ..., n_1), the numbers of their cells (...), and whether units match."""

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
    joint: int = 0,
    present: Sequence[Mask] = (),
    pairs: Integers | None = None,
) -> Sample:
    """Draw the replicates of a statistic for every cell.

    Parameters
    ----------
    values : array, shape (..., n_L, ..., n_1)
        Measurements.
    cells, groups : arrays of int, shape (...)
        Numbers of the cells, and of the groups whose shared units are drawn jointly.
    draws : Draws
        What is drawn.
    statistic : {"mean", "median", "min"} or callable
        Of one replicate.
    joint : int
        How many levels, from the outermost, are drawn jointly within a group.
    present : sequence of bool arrays, shapes (..., n_L), (..., n_L, n_{L-1}), ...
        For every level drawn jointly, the units that any cell of the group measured.
    pairs : array of int, shape (...), optional
        Numbers of the larger groups whose outermost units match, where units are paired: these are then drawn jointly too.

    Returns
    -------
    Sample
    """
    numbers = [groups] * joint if pairs is None else [pairs, *[groups] * (joint - 1)]
    if numbers:
        draws = draws._replace(width=int(np.prod(values.shape[values.ndim - len(draws.drawn) :])))
    nests = _nests(values, draws, statistic == "mean", present)
    replicates = np.full((len(nests), draws.n_resamples), np.nan)
    # Each cell has random numbers of its own: a loop over cells.
    for row, nest, cell, *own in zip(replicates, nests, *(part.ravel().tolist() for part in (cells, *numbers)), strict=True):
        row[:] = replicates_of(nest, statistic, draws, Place(cell, tuple(own)))
    summary = summarise_units(unit_means(values, len(draws.drawn)))
    estimate = np.array([evaluate(nest.values[None], statistic)[0] if not np.isnan(nest.values).all() else np.nan for nest in nests])
    shape = cells.shape
    return Sample(estimate.reshape(shape), replicates.reshape(*shape, -1), np.sqrt(summary.variance), summary.n)


def _nests(values: Floats, draws: Draws, means: bool, present: Sequence[Mask] = ()) -> list[Nest]:
    """Return every cell ready to be redrawn."""
    batch = values.ndim - len(draws.drawn)
    flat, *masks = (part.reshape(-1, *part.shape[batch:]) for part in (values, *present))
    return [nest_of(cell, draws.drawn, means=means, present=[mask[number] for mask in masks]) for number, cell in enumerate(flat)]


def sample_bootstrap(values: Floats, cells: Integers, draws: Draws, statistic: Statistic, method: str) -> tuple[Bootstrap, Sample]:
    """Return what the limits of a statistic are made from; studentized ones are those of the mean."""
    if method == "studentized":
        return _studentized_mean(values, cells, draws)
    sample = draw_sample(values, cells, cells, draws, statistic)
    influence: tuple[Floats, ...] = ()
    if method == "bca":
        without = [left_out(nest, statistic) for nest in _nests(values, draws, statistic == "mean")]
        influence = (influence_of(sample.estimate, _padded(without).reshape(*cells.shape, -1)),)
    return percentile_family(method, sample.estimate, sample.replicates, influence), sample


def _padded(rows: Sequence[Floats]) -> Floats:
    """Return rows of different lengths as one array, filled up with NaN."""
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
    for target, row in zip(found, rows, strict=True):
        target[: len(row)] = row
    return found


def _studentized_mean(values: Floats, cells: Integers, draws: Draws) -> tuple[Bootstrap, Sample]:
    """Draw means with their standard errors over the outermost units."""
    units = summarise_units(unit_means(values, len(draws.drawn)))
    means, errors = np.full((2, cells.size, draws.n_resamples), np.nan)
    for mean, error, nest, cell in zip(means, errors, _nests(values, draws, True), cells.ravel().tolist(), strict=True):
        if np.isnan(nest.values).all():
            continue
        for block, part in blocks(draws, nest):
            drawn = summarise_units(draw_units(nest, part.stop - part.start, draws, Place(cell), block))
            mean[part], error[part] = drawn.mean, np.sqrt(drawn.variance)
    shape = (*cells.shape, -1)
    sample = Sample(units.mean, means.reshape(shape), np.sqrt(units.variance), units.n)
    return studentized(sample.estimate, sample.standard_error, sample.replicates, errors.reshape(shape), log=False), sample


class Drawn(NamedTuple):
    """Replicates of ratios: log ratios (..., R) with their standard errors, and those of the data; influence of units on the log."""

    ratio: Ratio
    logs: Floats
    errors: Floats
    ratios: Floats
    left_out: tuple[Floats, ...]


def draw_ratio(pair: Pairing, draws: Draws, method: str) -> Drawn:
    """Draw both systems, independently or paired by unit, and take the ratio of their means in every replicate."""
    levels = len(draws.drawn)
    new, old = _matched(pair, levels) if pair.paired else (pair.new, pair.old)
    ratio = ratio_of(unit_means(new, levels), unit_means(old, levels), pair.paired)
    shape = (*pair.cells.shape, -1)
    ratios, errors = np.full((2, pair.cells.size, draws.n_resamples), np.nan)
    nests = _nests(new, draws, True), _nests(old, draws, True)
    # Each cell has random numbers of its own: a loop over cells.
    for row, error, x, y, cell in zip(ratios, errors, *nests, pair.cells.ravel().tolist(), strict=True):
        if not (np.isnan(x.values).all() or np.isnan(y.values).all()):
            _draw_cell(row, error, (x, y), draws, cell, pair.paired, method == "studentized")
    without = tuple(part.reshape(shape) for part in _ratios_left_out(*nests, pair.paired)) if method == "bca" else ()
    ratios = ratios.reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Drawn(ratio, np.log(ratios), errors.reshape(shape), ratios, without)


def _matched(pair: Pairing, levels: int) -> tuple[Floats, Floats]:
    """Leave out the outermost units that one system lacks."""
    batch = pair.new.ndim - levels
    inner = tuple(range(batch + 1, pair.new.ndim))
    both: Mask = ~np.logical_or(np.isnan(pair.new).all(axis=inner), np.isnan(pair.old).all(axis=inner))
    both = both.reshape(both.shape + (1,) * (levels - 1))
    return np.where(both, pair.new, np.nan), np.where(both, pair.old, np.nan)


def _draw_cell(row: Floats, error: Floats, nests: tuple[Nest, Nest], draws: Draws, cell: int, paired: bool, errors: bool) -> None:
    """Fill in the ratios of a cell's replicates, and the standard errors of their logs where they are wanted."""
    for block, part in blocks(draws, *nests):
        number = part.stop - part.start
        new, old = (draw_units(nest, number, draws, Place(cell, side=side, paired=paired), block) for side, nest in enumerate(nests))
        if errors:
            ratio = ratio_of(new, old, paired)
            row[part], error[part] = ratio.estimate, standard_error(ratio, "log_delta")
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                row[part] = mean_of_measured(new) / mean_of_measured(old)


def _ratios_left_out(new: Sequence[Nest], old: Sequence[Nest], paired: bool) -> tuple[Floats, ...]:
    """Return the ratios without each unit in turn: of either system, or of both where they are paired."""
    rows: list[list[Floats]] = [[], []]
    for x, y in zip(new, old, strict=True):
        means = [mean_of_measured(unit_means(nest.values, nest.values.ndim)[None])[0] for nest in (x, y)]
        with np.errstate(divide="ignore", invalid="ignore"):
            if paired:
                rows[0].append(left_out(x, "mean") / left_out(y, "mean"))
            else:
                rows[0].append(left_out(x, "mean") / means[1])
                rows[1].append(means[0] / left_out(y, "mean"))
    return tuple(_padded(part) for part in rows if part)


def ratio_bootstrap(pair: Pairing, draws: Draws, method: str) -> tuple[Bootstrap, Drawn]:
    """Return what the limits of ratios are made from; studentized ones are symmetric for the log ratio."""
    drawn = draw_ratio(pair, draws, method)
    estimate = drawn.ratio.estimate
    if method == "studentized":
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(estimate)
        return studentized(log, standard_error(drawn.ratio, "log_delta"), drawn.logs, drawn.errors, log=True), drawn
    influence = tuple(influence_of(estimate, part) for part in drawn.left_out)
    return percentile_family(method, estimate, drawn.ratios, influence), drawn


def suite_bootstrap(drawn: Drawn, matched: Mask, method: str) -> tuple[Bootstrap, Floats]:
    """Return what the limits of the geometric mean over the last axis are made from, benchmarks being independent; and its n."""
    count = np.maximum(matched.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(drawn.ratio.estimate)
        log = np.where(matched, logs, 0.0).sum(axis=-1) / count
        replicates = np.where(matched[..., None], drawn.logs, 0.0).sum(axis=-2) / count[..., None]
    n = np.where(matched, drawn.ratio.n, np.inf).min(axis=-1, initial=np.inf)
    n = np.where(np.isinf(n), 0.0, n)
    none = np.asarray(~matched.any(axis=-1))
    log, replicates = np.where(none, np.nan, log), np.where(none[..., None], np.nan, replicates)
    if method == "studentized":
        own = np.where(matched, standard_error(drawn.ratio, "log_delta"), 0.0)
        errors = np.where(matched[..., None], drawn.errors, 0.0)
        return studentized(
            log, np.sqrt((own**2).sum(axis=-1)) / count, replicates, np.sqrt((errors**2).sum(axis=-2)) / count[..., None], log=True
        ), n
    estimate = np.exp(log)
    influence = []
    for part in drawn.left_out:
        with np.errstate(divide="ignore", invalid="ignore"):
            changed = estimate[..., None, None] * np.exp((np.log(part) - logs[..., None]) / count[..., None, None])
        own_n = np.sum(~np.isnan(changed), axis=-1, keepdims=True)
        found = np.where(matched[..., None], (own_n - 1) * (estimate[..., None, None] - changed), np.nan)
        influence.append(found.reshape(*found.shape[:-2], -1))
    return percentile_family(method, estimate, np.exp(replicates), tuple(influence)), n


def shared_suite_bootstrap(
    pair: Pairing, groups: Integers, matched: Mask, draws: Draws, joint: int, method: str
) -> tuple[Bootstrap, Floats]:
    """Return the same where the benchmarks (axis before the levels) share their units: Z_j, means over benchmarks of log unit means.

    Units that lack a benchmark are left out; the others are drawn for all benchmarks together.
    """
    levels = len(draws.drawn)
    batch = groups.shape
    sides = [side.reshape(-1, *side.shape[len(batch) :]) for side in (pair.new, pair.old)]
    cells, keep = pair.cells.reshape(groups.size, -1), matched.reshape(groups.size, -1)
    rows: dict[str, list[Any]] = {"log": [], "error": [], "logs": [], "errors": [], "n": [], "first": [], "second": []}
    for number, group in enumerate(groups.ravel().tolist()):
        which = np.flatnonzero(keep[number])
        chosen = [side[number, which] for side in sides]
        found = _shared_cell(chosen, cells[number, which].tolist(), group, draws, joint, pair.paired, levels)
        for name, value in zip(rows, found, strict=True):
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
    sides: Sequence[Floats], cells: Sequence[int], group: int, draws: Draws, joint: int, paired: bool, levels: int
) -> tuple[Any, ...]:
    """Return log, its error, their replicates, n, and the log without each unit in turn, for one suite (benchmarks, n_L, ..., n_1)."""
    blank = np.full(draws.n_resamples, np.nan)
    has = [~np.isnan(unit_means(side, levels)).any(axis=0) for side in sides]
    if paired:
        has = [has[0] & has[1]] * 2
    number = min(int(part.sum()) for part in has)
    if not cells or not number:
        return np.nan, np.nan, blank, blank, number, blank[:0], blank[:0]
    nests = [[nest_of(values[there], draws.drawn) for values in side] for side, there in zip(sides, has, strict=True)]
    scores = [_scores([unit_means(nest.values, nest.values.ndim)[None] for nest in side])[0] for side in nests]
    log, error = _difference(scores[0], scores[1], paired)
    logs, errors = blank.copy(), blank.copy()
    for block, part in blocks(draws, *nests[0], *nests[1]):
        drawn = []
        for side, own in enumerate(nests):
            places = [Place(cell, (group,) * joint, side, paired) for cell in cells]
            drawn.append(
                _scores([draw_units(nest, part.stop - part.start, draws, place, block) for nest, place in zip(own, places, strict=True)])
            )
        logs[part], errors[part] = _difference(drawn[0], drawn[1], paired)
    means = [score.mean() for score in scores]
    less = [(score.sum() - score) / max(len(score) - 1, 1) for score in scores]
    if paired:
        return log, error, logs, errors, number, less[0] - less[1], blank[:0]
    return log, error, logs, errors, number, less[0] - means[1], means[0] - less[1]


def _scores(units: Sequence[Floats]) -> Floats:
    """Return Z (replicates, units): the mean over benchmarks of the log unit means."""
    return np.asarray(np.mean([np.log(part) for part in units], axis=0))


def _difference(new: Floats, old: Floats, paired: bool) -> tuple[Floats, Floats]:
    """Return the difference of mean scores and its standard error along the last axis."""
    if paired:
        summary = summarise_units(new - old)
        return summary.mean, np.sqrt(summary.variance)
    a, b = summarise_units(new), summarise_units(old)
    return a.mean - b.mean, np.sqrt(a.variance + b.variance)

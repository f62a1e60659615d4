"""The bootstrap of one system and of a ratio: from timings to estimates, replicates and limits."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from perfarray.numerics.bootstrap import (
    CellsToDraw,
    DrawKeys,
    Draws,
    Purpose,
    cells_of,
    redrawn,
    redrawn_means,
)
from perfarray.numerics.bootstrap_limits import (
    Bootstrap,
    influence_of,
    known_limits,
    percentile_family,
    studentized,
)
from perfarray.numerics.intervals import (
    STUDENTIZED,
    Ratio,
    quotient,
    ratio_of,
    standard_error,
)
from perfarray.numerics.levels import UnitSummary, mean_of_measured, summarise_units, unit_means
from perfarray.numerics.random import Streams
from perfarray.numerics.statistics import Statistic, evaluate
from perfarray.numerics.types import Floats, Integers, Mask

# Replicates of cells that are kept at once: this bounds the memory and changes no number.
REPLICATES_AT_ONCE = 1 << 18

Scalar = TypeVar("Scalar", bound=np.generic)


class Sample(NamedTuple):
    """The statistic of the data, its replicates (..., R), its standard error, and units."""

    estimate: Floats
    replicates: Floats
    standard_error: Floats
    n: Floats


class Pairing(NamedTuple):
    """Two systems: timings (..., n_L, ..., n_1), keys of cells (...), and whether units match."""

    new: Floats
    old: Floats
    cells: Integers
    paired: bool


class RatioSample(NamedTuple):
    """The ratio of the data, its replicates (..., R), and what some limits need beside them.

    `left_out` are the ratios without each unit in turn (`bca`), `errors` the standard errors of the
    logs of replicates (`studentized`), `log_ratios` the logs of replicates where they come first.
    """

    ratio: Ratio
    ratios: Floats
    left_out: tuple[Floats, ...] = ()
    errors: Floats = np.asarray(np.nan)
    log_ratios: Floats | None = None

    @property
    def logs(self) -> Floats:
        """The logs of replicates, which are expensive and not needed for all limits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.ratios) if self.log_ratios is None else self.log_ratios


def mean_by_draws(
    values: Floats,
    cells: Integers,
    *,
    draws: Draws,
    flat: bool,
    method: str,
    level: float,
    statistic: Statistic = "mean",
) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df (unknown) and n of a statistic of timings.

    The timings are (..., n_L, ..., n_1).
    """

    def interval(block: Floats, keys: Integers) -> tuple[Floats, ...]:
        bootstrap, sample = sample_bootstrap(block, keys, draws, statistic, method)
        limits = known_limits(bootstrap, level, sample.n)
        return (
            sample.estimate,
            *limits,
            sample.standard_error,
            np.full(sample.n.shape, np.nan),
            sample.n,
        )

    return _by_blocks(interval, draws, cells, flattened(values, values.ndim - cells.ndim, flat))


def _by_blocks(
    interval: Callable[..., tuple[npt.NDArray[Any], ...]],
    draws: Draws,
    cells: Integers,
    *sides: Floats,
) -> tuple[npt.NDArray[Any], ...]:
    """Apply a formula to blocks of the cells of sides (..., drawn levels) and their keys."""
    levels, keys = len(draws.resampled), cells.ravel()
    rows = [
        spread(side, cells.shape, levels).reshape(-1, *side.shape[side.ndim - levels :])
        for side in sides
    ]
    size = max(1, REPLICATES_AT_ONCE // draws.n_resamples)
    blocks = [slice(first, first + size) for first in range(0, max(len(keys), 1), size)]
    fields = [interval(*(side[block] for side in rows), keys[block]) for block in blocks]
    return tuple(np.concatenate(field).reshape(cells.shape) for field in zip(*fields, strict=True))


def flattened(values: Floats, levels: int, flat: bool) -> Floats:
    """Return values with one level that holds everything, where the nest is to be ignored."""
    return values.reshape((*values.shape[: values.ndim - levels], -1)) if flat else values


def spread(values: npt.NDArray[Scalar], cells: tuple[int, ...], levels: int) -> npt.NDArray[Scalar]:
    """Return values repeated over the cells of the answer, as a view.

    The last `levels` axes are the nest.
    """
    return np.broadcast_to(values, (*cells, *values.shape[values.ndim - levels :]))


def _by_cell(values: npt.NDArray[Scalar], cells: Integers) -> npt.NDArray[Scalar]:
    return values.reshape(-1, *values.shape[cells.ndim :])


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

    `cells`, `groups` and `pairs` (...) are the keys of cells of values (..., n_L, ..., n_1), of
    groups in which the `joint` outermost levels are drawn jointly, and of the larger groups whose
    outermost units are paired. `present` are for every level drawn jointly the units that any cell
    of the group measured: (..., n_L), (..., n_L, n_{L-1}), ...
    """
    streams, shape = Streams(draws.key), cells.shape
    group_keys = (
        [groups.ravel()] * joint
        if pairs is None
        else [pairs.ravel(), *[groups.ravel()] * (joint - 1)]
    )
    flat, masks = _by_cell(values, cells), [_by_cell(mask, cells) for mask in present]
    summary = summarise_units(unit_means(flat, len(draws.resampled)))
    estimate = summary.mean if statistic == "mean" else evaluate(flat, statistic)
    purpose: Purpose = "means" if statistic == "mean" else "values"
    cells_to_draw = cells_of(
        flat, draws, DrawKeys(cells.ravel(), tuple(group_keys)), purpose, masks
    )
    if statistic == "mean":
        replicates = redrawn_means(draws.n_resamples, streams, cells_to_draw)
    else:
        (replicates,) = _redrawn_statistics([cells_to_draw], draws.n_resamples, streams, statistic)
    error = np.sqrt(summary.variance)
    return Sample(
        estimate.reshape(shape),
        replicates.reshape(*shape, -1),
        error.reshape(shape),
        summary.n.reshape(shape),
    )


def _redrawn_statistics(
    sides: Sequence[CellsToDraw], number: int, streams: Streams, statistic: Statistic
) -> Floats:
    """Return the replicates of a statistic of every side, shape (sides, cells, R)."""
    replicates = np.full((len(sides), len(sides[0].kinds), number), np.nan)
    for rows, block, values_of_sides in redrawn(number, streams, *sides):
        for side, values in enumerate(values_of_sides):
            replicates[side, rows, block] = evaluate(
                values.reshape(-1, *values.shape[2:]), statistic
            ).reshape(values.shape[:2])
    return replicates


def sample_bootstrap(
    values: Floats, cells: Integers, draws: Draws, statistic: Statistic, method: str
) -> tuple[Bootstrap, Sample]:
    """Return the material of the limits of a statistic; studentized ones are those of the mean."""
    if method == STUDENTIZED:
        return _studentized_mean(values, cells, draws)
    sample = draw_sample(values, cells, cells, draws, statistic)
    influence: tuple[Floats, ...] = ()
    if method == "bca":
        influence = (
            influence_of(sample.estimate, _left_out(values, len(draws.resampled), statistic)),
        )
    return percentile_family(method, sample.estimate, sample.replicates, influence), sample


def _studentized_mean(values: Floats, cells: Integers, draws: Draws) -> tuple[Bootstrap, Sample]:
    number, shape = draws.n_resamples, cells.shape
    flat = _by_cell(values, cells)
    units = summarise_units(unit_means(flat, len(draws.resampled)))
    means, errors = np.full((2, cells.size, number), np.nan)
    for rows, block, (drawn_units,) in redrawn(
        number, Streams(draws.key), cells_of(flat, draws, DrawKeys(cells.ravel()), "units")
    ):
        summary = summarise_units(drawn_units)
        means[rows, block], errors[rows, block] = summary.mean, np.sqrt(summary.variance)
    sample = Sample(
        units.mean.reshape(shape),
        means.reshape(*shape, -1),
        np.sqrt(units.variance).reshape(shape),
        units.n.reshape(shape),
    )
    return studentized(
        sample.estimate,
        sample.standard_error,
        sample.replicates,
        errors.reshape(*shape, -1),
        log=False,
    ), sample


def _left_out(values: Floats, levels: int, statistic: Statistic) -> Floats:
    """Return the statistic (..., units) without each outermost unit in turn.

    NaN for a unit without data, or the only one.
    """
    if statistic == "mean":
        return mean_left_out(unit_means(values, levels))
    flat = values.reshape(-1, *values.shape[values.ndim - levels :])
    if flat.shape[1] == 1:
        return np.full(values.shape[: values.ndim - levels + 1], np.nan)
    # One unit less each time: as many evaluations as there are units.
    changed = np.stack(
        [evaluate(np.delete(flat, unit, axis=1), statistic) for unit in range(flat.shape[1])],
        axis=-1,
    )
    measured = ~np.isnan(flat).all(axis=tuple(range(2, flat.ndim)))
    without_unit = np.where(measured & (measured.sum(axis=-1, keepdims=True) > 1), changed, np.nan)
    return without_unit.reshape(values.shape[: values.ndim - levels + 1])


def mean_left_out(units: Floats) -> Floats:
    """Return the mean without each unit along the last axis in turn.

    NaN for a unit that was not measured, or is the only one.
    """
    n = np.sum(~np.isnan(units), axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, (np.nansum(units, axis=-1, keepdims=True) - units) / (n - 1), np.nan)


def ratio_bootstrap(
    pair: Pairing, draws: Draws, method: str, statistic: Statistic = "mean"
) -> tuple[Bootstrap, RatioSample]:
    """Return the material of the limits of ratios.

    Studentized ones, of means alone, are symmetric for the log ratio.
    """
    sample = (
        _draw_mean_ratio(pair, draws, method)
        if statistic == "mean"
        else _draw_statistic_ratio(pair, draws, statistic, method)
    )
    estimate = sample.ratio.estimate
    if method == STUDENTIZED:
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(estimate)
        return studentized(
            log, standard_error(sample.ratio, "log_delta"), sample.logs, sample.errors, log=True
        ), sample
    influence = tuple(influence_of(estimate, ratios_without) for ratios_without in sample.left_out)
    return percentile_family(method, estimate, sample.ratios, influence), sample


def _draw_mean_ratio(pair: Pairing, draws: Draws, method: str) -> RatioSample:
    """Draw both systems, independently or paired by unit, and return replicates of the ratio."""
    levels, number, streams, shape = (
        len(draws.resampled),
        draws.n_resamples,
        Streams(draws.key),
        pair.cells.shape,
    )
    sides = _matched_sides(pair, levels)
    new_means, old_means = (unit_means(side, levels) for side in sides)
    cells_to_draw = _cells_of_sides(
        sides, pair, draws, "units" if method == STUDENTIZED else "means"
    )
    ratio = ratio_of(new_means, old_means, pair.paired)
    if method == STUDENTIZED:
        ratios, errors = np.full((2, pair.cells.size, number), np.nan)
        for rows, block, (new, old) in redrawn(number, streams, *cells_to_draw):
            replicate = ratio_of(new, old, pair.paired)
            ratios[rows, block], errors[rows, block] = (
                replicate.estimate,
                standard_error(replicate, "log_delta"),
            )
        return RatioSample(ratio, ratios.reshape(*shape, -1), errors=errors.reshape(*shape, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.divide(
            *(redrawn_means(number, streams, side) for side in cells_to_draw)
        ).reshape(*shape, -1)
        if method != "bca":
            return RatioSample(ratio, ratios)
        means = [mean_of_measured(side)[..., None] for side in (new_means, old_means)]
        return RatioSample(
            ratio,
            ratios,
            _ratios_left_out(
                mean_left_out(new_means), mean_left_out(old_means), means, pair.paired
            ),
        )


def _draw_statistic_ratio(
    pair: Pairing, draws: Draws, statistic: Statistic, method: str
) -> RatioSample:
    """Draw both systems and take the ratio of another statistic than the mean.

    Its errors are the deviations of the logs of replicates.
    """
    levels, shape = len(draws.resampled), pair.cells.shape
    flat = [_by_cell(side, pair.cells) for side in _matched_sides(pair, levels)]
    statistics = _redrawn_statistics(
        _cells_of_sides(flat, pair, draws, "values"),
        draws.n_resamples,
        Streams(draws.key),
        statistic,
    )
    values = [evaluate(side, statistic) for side in flat]
    counts = [(~np.isnan(unit_means(side, levels))).sum(axis=-1).astype(float) for side in flat]
    left_out: tuple[Floats, ...] = ()
    with np.errstate(divide="ignore", invalid="ignore"):
        if method == "bca":
            reduced = [_left_out(side, levels, statistic) for side in flat]
            blocks = _ratios_left_out(
                reduced[0], reduced[1], [value[:, None] for value in values], pair.paired
            )
            left_out = tuple(block.reshape(*shape, -1) for block in blocks)
        ratios, logs = statistics[0] / statistics[1], np.log(statistics)
        log_ratios = logs[0] - logs[1]
        residual = np.where(
            np.minimum(*counts) > 1, (values[0] * log_ratios.std(axis=-1)) ** 2, np.nan
        )
        sides = []
        for value, log, n in zip(values, logs, counts, strict=True):
            variance = np.where(n > 1, (value * log.std(axis=-1)) ** 2, np.nan)
            sides.append(
                UnitSummary(value.reshape(shape), variance.reshape(shape), n.reshape(shape))
            )
    unknown = np.full(shape, np.nan)
    ratio = Ratio(
        quotient(sides[0].mean, sides[1].mean),
        sides[0],
        sides[1],
        residual.reshape(shape),
        unknown,
        pair.paired,
    )
    return RatioSample(
        ratio, ratios.reshape(*shape, -1), left_out, log_ratios=log_ratios.reshape(*shape, -1)
    )


def _matched_sides(pair: Pairing, levels: int) -> tuple[Floats, Floats]:
    """Return both systems; paired units that one of them lacks are left out."""
    if not pair.paired:
        return pair.new, pair.old
    inner = tuple(range(1 - levels, 0))
    complete = ~(
        np.isnan(pair.new).all(axis=inner, keepdims=True)
        | np.isnan(pair.old).all(axis=inner, keepdims=True)
    )
    return np.where(complete, pair.new, np.nan), np.where(complete, pair.old, np.nan)


def _cells_of_sides(
    sides: Sequence[Floats], pair: Pairing, draws: Draws, purpose: Purpose
) -> list[CellsToDraw]:
    """Return the cells of both systems ready to be drawn.

    Each has its own streams; paired units have the same ones.
    """
    keys = pair.cells.ravel()
    flat = [
        side.reshape(len(keys), *side.shape[side.ndim - len(draws.resampled) :]) for side in sides
    ]
    return [
        cells_of(side, draws, DrawKeys(keys, (), number, pair.paired), purpose)
        for number, side in enumerate(flat)
    ]


def _ratios_left_out(
    new: Floats, old: Floats, means: Sequence[Floats], paired: bool
) -> tuple[Floats, ...]:
    """Return the ratios without each unit in turn, of either system or of both if paired."""
    return (new / old,) if paired else (new / means[1], means[0] / old)

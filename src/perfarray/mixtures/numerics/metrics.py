"""The metrics of single runs for labelled arrays: from the repetitions of every cell to estimate, limits and number of units."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfarray.mixtures.numerics import integrals, parametric, placements, totals
from perfarray.mixtures.numerics.comparison import EMPIRICAL, Comparison, Limits, number_of_units
from perfarray.mixtures.numerics.scale import Scaled, number_of_modes
from perfarray.mixtures.numerics.valleys import SupportTest, supported_modes
from perfarray.numerics.levels import mean_of_measured, unit_means, values_by_unit
from perfarray.numerics.types import Floats, Integers


def _systems(
    arrays: Sequence[Floats], shape: tuple[int, ...], comparison: Comparison, sign: float = 1.0
) -> tuple[list[Any], list[Floats]]:
    """Return runs times a sign, or mixtures of them, or the given mixtures, and numbers of units."""
    if comparison.fitted:
        mixtures = [parametric.from_parameters(array) for array in arrays]
        return mixtures, [np.broadcast_to(system.n, shape) for system in mixtures]
    runs = [values_by_unit(sign * array, comparison.levels, comparison.depth) for array in arrays]
    units = [np.broadcast_to(number_of_units(values), shape) for values in runs]
    if comparison.method == EMPIRICAL:
        return runs, units
    return [parametric.fitted(values) for values in runs], units


def _without_limits(limits: Limits, comparison: Comparison) -> Limits:
    if comparison.with_limits:
        return limits
    return Limits(limits.estimate, *[np.full_like(limits.estimate, np.nan)] * 2)


def mean_differences(
    new: Floats, old: Floats, cells: Integers, *, comparison: Comparison
) -> tuple[Floats, ...]:
    """Return E|X - Y| with limits, that of two runs of the baseline, and the units on the smaller side."""
    systems, units = _systems([new, old], cells.shape, comparison)
    if comparison.method == EMPIRICAL:
        limits = placements.mean_differences(systems, cells.shape, comparison)
        baseline = placements.unit_differences(systems[1])
    else:
        limits = parametric.resampled(systems, cells, _difference, comparison)
        baseline = _difference([systems[1].scaled] * 2)
    return (
        *_without_limits(limits, comparison),
        np.broadcast_to(baseline, cells.shape),
        np.minimum(*units),
    )


def _difference(pair: Sequence[Scaled]) -> Floats:
    x, y = pair
    if np.any(x.family) or np.any(y.family):
        return integrals.difference(x, y)
    return parametric.difference(x.mixture, y.mixture)


def probabilities_faster(
    new: Floats,
    old: Floats,
    cells: Integers,
    *,
    comparison: Comparison,
    shift: float,
    ties: bool,
    n_runs: int,
) -> tuple[Floats, ...]:
    """Return P[X < Y + shift] of totals, half of the ties counted or none, with limits, the probability of a tie, and the units."""
    systems, units = _systems([new, old], cells.shape, comparison, comparison.sign)
    n = np.minimum(*units)
    if comparison.method == EMPIRICAL and n_runs == 1:
        limits, tied = placements.probabilities_less(
            systems, cells.shape, comparison, shift=shift, ties=0.5 * ties
        )
        return *_without_limits(limits, comparison), tied, n
    if comparison.method == EMPIRICAL:
        limits, tied = placements.probabilities_least(
            systems, cells.shape, comparison, ties=ties, n_runs=n_runs, shift=shift
        )
        first = Limits(*(np.where(n > 0, column[..., 0], np.nan) for column in limits))
        return *_without_limits(first, comparison), np.where(n > 0, tied, np.nan), n

    def less(pair: Sequence[Scaled], share: float) -> Floats:
        # P[X > Y - shift] is P[Y < X + shift]: of given mixtures of rates, more is faster.
        x, y = pair[::-1] if comparison.fitted and comparison.sign < 0 else pair
        if n_runs > 1:
            return totals.less_of_mixtures(x.mixture, y.mixture, n_runs, shift, share)
        if np.any(x.family) or np.any(y.family):
            return integrals.less(x, y, shift, share)
        return parametric.less(x.mixture, y.mixture, shift, share)

    if n_runs > 1:
        parametric.check_normal(systems, n_runs)
    limits = parametric.resampled(systems, cells, lambda pair: less(pair, 0.5 * ties), comparison)
    strict, loose = (less([system.scaled for system in systems], share) for share in (0.0, 1.0))
    return *limits, np.broadcast_to(loose - strict, cells.shape), n


def probabilities_fastest(
    values: Floats, cells: Integers, *, comparison: Comparison, ties: bool, n_runs: int
) -> tuple[Floats, ...]:
    """Return how likely every system, the axis before the nest, has the best total of so many runs, with limits, a tie, and their units."""
    arrays = np.moveaxis(values, values.ndim - comparison.levels - 1, 0)
    systems, units = _systems(list(arrays), cells.shape, comparison, comparison.sign)
    n = np.stack(units, axis=-1)
    if comparison.method == EMPIRICAL:
        limits, tied = placements.probabilities_least(
            systems, cells.shape, comparison, ties=ties, n_runs=n_runs
        )
        return *_without_limits(limits, comparison), tied, n
    sign = comparison.sign if comparison.fitted else 1.0
    if n_runs > 1:
        parametric.check_normal(systems, n_runs)

    def least(fits: Sequence[Scaled], shared: bool) -> Floats:
        if n_runs == 1:
            return integrals.best(fits, shared, sign)
        signed = [fit.mixture._replace(means=sign * fit.mixture.means) for fit in fits]
        return totals.least_of_mixtures(signed, n_runs, shared)

    limits = parametric.resampled(
        systems, cells, lambda fits: least(fits, ties), comparison, each=True
    )
    strict = least([system.scaled for system in systems], False) if ties else limits.estimate
    measured = ~np.isnan(strict).all(axis=-1)
    tied = np.where(measured, np.clip(1 - np.nansum(strict, axis=-1), 0.0, 1.0), np.nan)
    return *limits, np.broadcast_to(tied, cells.shape), n


def numbers_of_modes(
    values: Floats, cells: Integers, *, comparison: Comparison, test: SupportTest
) -> tuple[Floats, ...]:
    """Return the number of modes with limits, the share of refitted samples that agree with it, what the runs support, and the units."""
    (system,), units = _systems([values], cells.shape, comparison)
    limits, stability = parametric.resampled_modes(system, cells, comparison)
    supported = _supported(system.runs, limits.estimate, cells, test)
    return *limits, stability, *supported, *units


def numbers_of_modes_by_level(
    values: Floats, cells: Integers, *, levels: int, test: SupportTest
) -> tuple[Floats, ...]:
    """Return the number of modes of the means of every level, centred on the mean they lie inside, what these support, and their number.

    All have the shape (..., level).
    """
    answers = []
    for depth in range(levels):
        means = unit_means(values, levels - depth)
        if depth:
            alone = (~np.isnan(means)).sum(axis=-1, keepdims=True) < 2
            means = np.where(alone, np.nan, means - mean_of_measured(means)[..., None])
        samples = means.reshape(*values.shape[: values.ndim - levels + 1], -1)
        number = number_of_modes(parametric.fitted(samples).scaled)
        by_parent = means.reshape(
            *values.shape[: values.ndim - levels], -1, means.shape[-1] if depth else 1
        )
        supported = _supported(by_parent, number, cells, test, centred=depth > 0)
        answers.append((number, *supported, (~np.isnan(samples)).sum(axis=(-2, -1)).astype(float)))
    return tuple(np.stack(columns, axis=-1) for columns in zip(*answers, strict=True))


def _supported(
    runs: Floats | None,
    number: Floats,
    cells: Integers,
    test: SupportTest,
    *,
    centred: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Return whether the runs (..., units, runs) support a number of modes, how many they do support, and p of as many against fewer."""
    if runs is None or not test.n_resamples:  # one mode needs no test
        return number == 1, np.where(number == 1, 1.0, np.nan), np.full(number.shape, np.nan)
    keys = np.broadcast_to(cells, number.shape).ravel()
    answers = supported_modes(
        runs.reshape(-1, *runs.shape[-2:]), number.ravel(), keys, test, centred=centred
    )
    n_supported, pvalue = (answer.reshape(number.shape) for answer in answers)
    return n_supported == number, n_supported, pvalue

"""The metrics of single runs: from the repetitions of every cell to estimate and limits."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from perfarray.mixtures.numerics import integrals, parametric, placements, totals
from perfarray.mixtures.numerics.comparison import (
    EMPIRICAL,
    Limits,
    MetricComparison,
    number_of_units,
    percentile_limits,
)
from perfarray.mixtures.numerics.scale import Scaled, number_of_modes
from perfarray.numerics.levels import mean_of_measured, unit_means, values_by_unit
from perfarray.numerics.types import Floats, Integers

# `supported_modes` with its number of samples, risk and key.
SupportTest = partial[tuple[Floats, Floats]]


def _runs(
    arrays: Sequence[Floats], shape: tuple[int, ...], comparison: MetricComparison
) -> tuple[list[Floats], list[Floats]]:
    """Return runs (..., units, runs), and numbers of units of a shape."""
    runs = [values_by_unit(array, comparison.levels, comparison.depth) for array in arrays]
    return runs, [np.broadcast_to(number_of_units(values), shape) for values in runs]


def _mixtures(
    arrays: Sequence[Floats], shape: tuple[int, ...], comparison: MetricComparison
) -> tuple[list[Scaled], list[Floats] | None, list[Floats]]:
    """Return the given mixtures, or those fitted to runs, these runs, and numbers of units."""
    if not comparison.fitted:
        runs, units = _runs(arrays, shape, comparison)
        return [parametric.fitted(values) for values in runs], runs, units
    fits, units = zip(*map(parametric.from_parameters, arrays), strict=True)
    return list(fits), None, [np.broadcast_to(n, shape) for n in units]


def _without_limits(limits: Limits, comparison: MetricComparison) -> Limits:
    if comparison.with_limits:
        return limits
    return Limits(limits.estimate, *[np.full_like(limits.estimate, np.nan)] * 2)


def mean_differences(
    new: Floats, old: Floats, cells: Integers, *, comparison: MetricComparison
) -> tuple[Floats, ...]:
    """Return E|X - Y| with limits, that of two runs of the baseline, and the units."""
    if comparison.method == EMPIRICAL:
        runs, units = _runs([new, old], cells.shape, comparison)
        limits = placements.mean_differences(runs, cells.shape, comparison)
        baseline = placements.unit_differences(runs[1])
    else:
        mixtures = fits, _, units = _mixtures([new, old], cells.shape, comparison)
        metric_values = parametric.replicates(*mixtures, cells, _difference, comparison)
        limits = percentile_limits(metric_values, comparison.confidence_level)
        baseline = _difference([fits[1]] * 2)
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
    comparison: MetricComparison,
    shift: float,
    ties: bool,
    n_runs: int,
) -> tuple[Floats, ...]:
    """Return P[X < Y + shift] of totals with limits, the probability of a tie, and the units."""
    arrays = [new, old] if comparison.fitted else [comparison.sign * new, comparison.sign * old]
    if comparison.method == EMPIRICAL:
        runs, units = _runs(arrays, cells.shape, comparison)
        n = np.minimum(*units)
        if n_runs == 1:
            limits, tied = placements.probabilities_less(
                runs, cells.shape, comparison, shift=shift, ties=0.5 * ties
            )
        else:
            by_system, tied = placements.probabilities_least(
                runs, cells.shape, comparison, ties=ties, n_runs=n_runs, shift=shift
            )
            limits = Limits(*(np.where(n > 0, column[..., 0], np.nan) for column in by_system))
        return *_without_limits(limits, comparison), np.where(n > 0, tied, np.nan), n

    def less(pair: Sequence[Scaled], share: float) -> Floats:
        # P[X > Y - shift] is P[Y < X + shift]: of given mixtures of rates, more is faster.
        x, y = pair[::-1] if comparison.fitted and comparison.sign < 0 else pair
        if n_runs > 1:
            return totals.less_of_mixtures(x.mixture, y.mixture, n_runs, shift, share)
        if np.any(x.family) or np.any(y.family):
            return integrals.less(x, y, shift, share)
        return parametric.less(x.mixture, y.mixture, shift, share)

    mixtures = fits, _, units = _mixtures(arrays, cells.shape, comparison)
    if n_runs > 1:
        parametric.check_normal(fits, n_runs)
    metric_values = parametric.replicates(
        *mixtures, cells, lambda pair: less(pair, 0.5 * ties), comparison
    )
    limits = percentile_limits(metric_values, comparison.confidence_level)
    tied = less(fits, 1.0) - less(fits, 0.0)
    return *limits, np.broadcast_to(tied, cells.shape), np.minimum(*units)


def probabilities_fastest(
    values: Floats, cells: Integers, *, comparison: MetricComparison, ties: bool, n_runs: int
) -> tuple[Floats, ...]:
    """Return the probability of the best total with limits, that of a tie, and the units.

    Systems lie along the axis before the nest.
    """
    arrays = np.moveaxis(values, values.ndim - comparison.levels - 1, 0)
    sign = comparison.sign if comparison.fitted else 1.0
    if not comparison.fitted:
        arrays = comparison.sign * arrays
    if comparison.method == EMPIRICAL:
        runs, units = _runs(list(arrays), cells.shape, comparison)
        limits, tied = placements.probabilities_least(
            runs, cells.shape, comparison, ties=ties, n_runs=n_runs
        )
        return *_without_limits(limits, comparison), tied, np.stack(units, axis=-1)

    def least(fits: Sequence[Scaled], shared: bool) -> Floats:
        if n_runs == 1:
            return integrals.best(fits, shared, sign)
        signed = [fit.mixture._replace(means=sign * fit.mixture.means) for fit in fits]
        return totals.least_of_mixtures(signed, n_runs, shared)

    mixtures = fits, _, units = _mixtures(list(arrays), cells.shape, comparison)
    if n_runs > 1:
        parametric.check_normal(fits, n_runs)
    metric_values = parametric.replicates(
        *mixtures, cells, lambda fits: least(fits, ties), comparison, by_system=True
    )
    strict = least(fits, False) if ties else metric_values[..., 0]
    measured = ~np.isnan(strict).all(axis=-1)
    tied = np.where(measured, np.clip(1 - np.nansum(strict, axis=-1), 0.0, 1.0), np.nan)
    limits = percentile_limits(metric_values, comparison.confidence_level)
    return *limits, np.broadcast_to(tied, cells.shape), np.stack(units, axis=-1)


def numbers_of_modes(
    values: Floats, cells: Integers, *, comparison: MetricComparison, test: SupportTest
) -> tuple[Floats, ...]:
    """Return the number of modes with limits, its stability, its support, and the units."""
    mixtures = _, runs, (n,) = _mixtures([values], cells.shape, comparison)
    metric_values = parametric.replicates(
        *mixtures, cells, lambda fits: number_of_modes(*fits), comparison
    )
    limits = percentile_limits(metric_values, comparison.confidence_level)
    refitted = metric_values[..., 1:]
    stability = np.full(cells.shape, np.nan)
    if comparison.n_resamples:
        agreeing = (refitted == metric_values[..., :1]).mean(axis=-1)
        stability = np.where(np.isnan(refitted).any(axis=-1), np.nan, agreeing)
    supported = _supported(None if runs is None else runs[0], limits.estimate, cells, test)
    ends = np.floor(limits.lower), np.ceil(limits.upper)
    return limits.estimate, *ends, stability, *supported, n


def numbers_of_modes_by_level(
    values: Floats, cells: Integers, *, levels: int, test: SupportTest
) -> tuple[Floats, ...]:
    """Return the number of modes of the means of every level, its support, and their number.

    All have the shape (..., level).
    """
    answers = []
    for depth in range(levels):
        means = unit_means(values, levels - depth)
        if depth:
            alone = (~np.isnan(means)).sum(axis=-1, keepdims=True) < 2
            means = np.where(alone, np.nan, means - mean_of_measured(means)[..., None])
        samples = means.reshape(*values.shape[: values.ndim - levels + 1], -1)
        number = number_of_modes(parametric.fitted(samples))
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
    """Return whether runs (..., units, runs) support a number of modes, how many they do, and p."""
    if runs is None or not test.keywords["n_samples"]:  # one mode needs no test
        return number == 1, np.where(number == 1, 1.0, np.nan), np.full(number.shape, np.nan)
    keys = np.broadcast_to(cells, number.shape).ravel()
    answers = test(runs.reshape(-1, *runs.shape[-2:]), number.ravel(), keys, centred=centred)
    n_supported, pvalue = (answer.reshape(number.shape) for answer in answers)
    return n_supported == number, n_supported, pvalue

"""The metrics of single runs for labelled arrays: from the repetitions of every cell to estimate, limits and number of units."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfarray.mixtures.numerics import empirical, integrals, parametric, totals
from perfarray.mixtures.numerics.empirical import Drawing, Limits
from perfarray.mixtures.numerics.scale import Scaled
from perfarray.mixtures.numerics.valleys import SupportTest, supported_modes
from perfarray.numerics.levels import mean_of_measured, unit_means, values_by_unit
from perfarray.numerics.types import Floats, Integers

EMPIRICAL, MIXTURE = METHODS = ("empirical", "mixture")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared, and how.

    Parameters
    ----------
    method : {"empirical", "mixture"}
        Whether runs are compared, or mixtures.
    given : bool
        Whether the arrays are parameters of mixtures (..., parameter, component); otherwise measurements (..., n_L, ..., n_1).
    levels, place : int
        The number of levels, and the place of the one whose repetitions are runs.
    drawing : Drawing
        How units are redrawn.
    sign : {1, -1}
        -1 where more is better.
    """

    method: str
    given: bool
    levels: int
    place: int
    drawing: Drawing
    sign: float

    def systems(self, *arrays: Floats, sign: float = 1.0) -> list[Any]:
        """Return what the formulas take: runs by unit, times the sign, or mixtures: those given as they are, others fitted to such runs."""
        if self.given:
            return [parametric.given(array) for array in arrays]
        runs = [values_by_unit(sign * array, self.levels, self.place) for array in arrays]
        return [parametric.fitted(own) for own in runs] if self.method == MIXTURE else runs

    def units(self, systems: list[Any], cells: Integers) -> list[Floats]:
        """Return the number of independent units of every system."""
        mixtures = self.method == MIXTURE
        numbers = [own.n if mixtures else (~np.isnan(own)).any(axis=-1).sum(axis=-1).astype(float) for own in systems]
        return [np.broadcast_to(n, cells.shape) for n in numbers]


def mean_differences(new: Floats, old: Floats, cells: Integers, *, comparison: Comparison) -> tuple[Floats, ...]:
    """Return E|X - Y| with limits, that of two runs of the baseline, and the units on the smaller side."""
    systems = comparison.systems(new, old)
    own: Any
    if comparison.method == EMPIRICAL:
        found = empirical.resampled(systems, cells, empirical.difference, comparison.drawing)
        own = empirical.own_differences(systems[1])
    else:
        apart = parametric.difference_on_scale if parametric.alike(systems) else lambda pair: integrals.difference(*pair)
        found = parametric.resampled(systems, cells, apart, comparison.drawing)
        own = apart([systems[1].own] * 2)
    return *found, np.broadcast_to(own, cells.shape), np.minimum(*comparison.units(systems, cells))


def probabilities_faster(
    new: Floats, old: Floats, cells: Integers, *, comparison: Comparison, shift: float, ties: float, runs: int
) -> tuple[Floats, ...]:
    """Return P[X < Y + shift] of the totals of so many runs, ties counting `ties`, with limits, the probability of a tie, and the units."""
    systems = comparison.systems(new, old, sign=comparison.sign)
    closed = comparison.method == EMPIRICAL or parametric.alike(systems, shift, runs)
    if closed and comparison.given and comparison.sign < 0:
        systems = parametric.turned(systems)

    def less(share: float, drawing: Drawing) -> Limits:
        if comparison.method == EMPIRICAL:
            return empirical.resampled(systems, cells, totals.less_in_total(runs, shift, share), drawing, score=runs)

        def metric(pair: Sequence[Scaled]) -> Floats:
            if closed:
                return totals.less_of_mixtures(pair[0].mixture, pair[1].mixture, runs, shift, share)
            x, y = pair if comparison.sign > 0 else pair[::-1]
            return integrals.less(x, y, shift, share)

        return parametric.resampled(systems, cells, metric, drawing)

    once = comparison.drawing._replace(n_resamples=0)
    found, strict, loose = less(ties, comparison.drawing), less(0.0, once).estimate, less(1.0, once).estimate
    return *found, loose - strict, np.minimum(*comparison.units(systems, cells))


def probabilities_fastest(values: Floats, cells: Integers, *, comparison: Comparison, ties: bool, runs: int) -> tuple[Floats, ...]:
    """Return how likely every system, the axis before the nest, has the best total of so many runs, with limits, a tie, and their units."""
    along = np.moveaxis(values, values.ndim - comparison.levels - 1, 0)
    systems = comparison.systems(*along, sign=comparison.sign)
    closed = comparison.method == EMPIRICAL or parametric.alike(systems, runs=runs)
    if closed and comparison.given and comparison.sign < 0:
        systems = parametric.turned(systems)

    def least(shared: bool, drawing: Drawing) -> Limits:
        if comparison.method == EMPIRICAL:
            return empirical.resampled(systems, cells, totals.least_in_total(runs, shared), drawing, each=True, score=runs)

        def metric(fits: Sequence[Scaled]) -> Floats:
            if not closed:
                return integrals.best(fits, shared, comparison.sign)
            return totals.least_of_mixtures(parametric.beside([fit.mixture for fit in fits]), runs, shared)

        return parametric.resampled(systems, cells, metric, drawing, each=True)

    found, strict = least(ties, comparison.drawing), least(False, comparison.drawing._replace(n_resamples=0)).estimate
    known = ~np.isnan(strict).all(axis=-1)
    tied = np.where(known, np.clip(1 - np.nansum(strict, axis=-1), 0.0, 1.0), np.nan)
    return *found, tied, np.stack(comparison.units(systems, cells), axis=-1)


def numbers_of_modes(values: Floats, cells: Integers, *, comparison: Comparison, testing: SupportTest) -> tuple[Floats, ...]:
    """Return the number of modes with limits, the share of refitted samples that agree with it, what the runs support, and the units."""
    systems = comparison.systems(values)
    found, stability = parametric.resampled_modes(systems[0], cells, comparison.drawing)
    runs = systems[0].runs
    tested = _untested(found.estimate) if runs is None else _supported(runs, found.estimate, cells, testing)
    return *found, stability, *tested, *comparison.units(systems, cells)


def numbers_of_modes_by_level(values: Floats, cells: Integers, *, levels: int, testing: SupportTest) -> tuple[Floats, ...]:
    """Return the number of modes of the means of every level, centred on the mean they lie inside, what these support, and their number.

    All have the shape (..., level).
    """
    found = []
    for place in range(levels):
        means = unit_means(values, levels - place)
        if place:
            alone = (~np.isnan(means)).sum(axis=-1, keepdims=True) < 2
            means = np.where(alone, np.nan, means - mean_of_measured(means)[..., None])
        by_unit = means.reshape(*values.shape[: values.ndim - levels + 1], -1)
        number = parametric.number_of_modes(parametric.fitted(by_unit).own)
        inside = means.reshape(*values.shape[: values.ndim - levels], -1, means.shape[-1] if place else 1)
        tested = _supported(inside, number, cells, testing, centred=place > 0)
        found.append((number, *tested, (~np.isnan(by_unit)).sum(axis=(-2, -1)).astype(float)))
    return tuple(np.stack(part, axis=-1) for part in zip(*found, strict=True))


def _supported(
    runs: Floats, number: Floats, cells: Integers, testing: SupportTest, *, centred: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return whether the runs (..., units, runs) support a number of modes, how many they do support, and p of as many against fewer."""
    if not testing.n_resamples:
        return _untested(number)
    keys = np.broadcast_to(cells, number.shape).ravel()
    found = supported_modes(runs.reshape(-1, *runs.shape[-2:]), number.ravel(), keys, testing, centred=centred)
    supported, pvalue = (part.reshape(number.shape) for part in found)
    return supported == number, supported, pvalue


def _untested(number: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what is known without a test: one mode is one."""
    one = number == 1
    return one, np.where(one, 1.0, np.nan), np.full(number.shape, np.nan)

"""The metrics of single runs for labelled arrays: from the repetitions of every cell to estimate, limits and number of units."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from perfarray.mixtures.numerics import empirical, integrals, parametric, placements, totals
from perfarray.mixtures.numerics.empirical import Drawing, Limits
from perfarray.mixtures.numerics.scale import Scaled, number_of_modes
from perfarray.mixtures.numerics.valleys import SupportTest, supported_modes
from perfarray.numerics.levels import mean_of_measured, unit_means, values_by_unit
from perfarray.numerics.types import Floats, Integers

EMPIRICAL, MIXTURE = METHODS = ("empirical", "mixture")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How systems are compared."""

    method: str
    # arrays are parameters of mixtures (..., parameter, component), and not measurements (..., n_L,
    # ..., n_1)
    fitted: bool
    levels: int
    depth: int  # that of the level whose repetitions are runs
    drawing: Drawing
    sign: float  # -1 where more is better
    placed: bool = False  # limits of runs rest on placements: nothing is redrawn

    def systems(self, *arrays: Floats, sign: float = 1.0) -> list[Any]:
        """Return the arguments of the formulas: runs by unit, times the sign.

        Mixtures fitted to them; or the given mixtures.
        """
        if self.fitted:
            return [parametric.from_parameters(array) for array in arrays]
        runs = [values_by_unit(sign * array, self.levels, self.depth) for array in arrays]
        return [parametric.fitted(values) for values in runs] if self.method == MIXTURE else runs

    def at_once(self, runs: int) -> bool:
        """Return whether totals of so many runs are computed by placements, all cells at once."""
        return self.method == EMPIRICAL and runs == 1 and not self.drawing.n_resamples

    def limits(self, limits: Limits) -> Limits:
        """Return limits by placements; NaN where none were asked for."""
        return (
            limits
            if self.placed
            else Limits(limits.estimate, *[np.full_like(limits.estimate, np.nan)] * 2)
        )

    def units(self, systems: list[Any], cells: Integers) -> list[Floats]:
        """Return the number of independent units of every system."""
        numbers = [
            system.n if self.method == MIXTURE else empirical.number_of_units(system)
            for system in systems
        ]
        return [np.broadcast_to(n, cells.shape) for n in numbers]


def mean_differences(
    new: Floats, old: Floats, cells: Integers, *, comparison: Comparison
) -> tuple[Floats, ...]:
    """Return E|X - Y| with limits, that of two runs of the baseline, and the units on the smaller side."""
    systems = comparison.systems(new, old)
    units = np.minimum(*comparison.units(systems, cells))
    baseline: Any
    if comparison.method == EMPIRICAL:
        baseline = empirical.unit_differences(systems[1])
        if comparison.at_once(1):
            placed, _ = placements.two_systems(
                systems, cells.shape, placements.difference_shares, comparison.drawing, score=False
            )
            limits = comparison.limits(placed)
        else:
            limits = empirical.resampled(systems, cells, empirical.difference, comparison.drawing)
    else:
        normal = parametric.are_normal(systems)

        def difference(pair: Sequence[Scaled]) -> Floats:
            return (
                parametric.difference(pair[0].mixture, pair[1].mixture)
                if normal
                else integrals.difference(*pair)
            )

        limits = parametric.resampled(systems, cells, difference, comparison.drawing)
        baseline = difference([systems[1].scaled] * 2)
    return *limits, np.broadcast_to(baseline, cells.shape), units


def probabilities_faster(
    new: Floats,
    old: Floats,
    cells: Integers,
    *,
    comparison: Comparison,
    shift: float,
    ties: float,
    runs: int,
) -> tuple[Floats, ...]:
    """Return P[X < Y + shift] of the totals of so many runs, ties counting `ties`, with limits, the probability of a tie, and the units."""
    systems = comparison.systems(new, old, sign=comparison.sign)
    units = np.minimum(*comparison.units(systems, cells))
    if comparison.at_once(runs):
        shares = partial(placements.less_shares, shift=shift, ties=ties)
        placed, tied = placements.two_systems(
            systems, cells.shape, shares, comparison.drawing, score=True
        )
        return *comparison.limits(placed), tied, units
    normal = comparison.method == MIXTURE and parametric.are_normal(systems, runs)
    if normal and comparison.fitted and comparison.sign < 0:
        systems = parametric.negated(systems)

    def less(share: float, drawing: Drawing) -> Limits:
        if comparison.method == EMPIRICAL:
            return empirical.resampled(
                systems, cells, totals.less_in_total(runs, shift, share), drawing, score=runs
            )

        def metric(pair: Sequence[Scaled]) -> Floats:
            if normal:
                return totals.less_of_mixtures(pair[0].mixture, pair[1].mixture, runs, shift, share)
            x, y = pair if comparison.sign > 0 else pair[::-1]
            return integrals.less(x, y, shift, share)

        return parametric.resampled(systems, cells, metric, drawing)

    estimate_only = comparison.drawing._replace(n_resamples=0)
    limits, loose = less(ties, comparison.drawing), less(1.0, estimate_only).estimate
    strict = less(0.0, estimate_only).estimate if ties else limits.estimate
    return *limits, loose - strict, units


def probabilities_fastest(
    values: Floats, cells: Integers, *, comparison: Comparison, ties: bool, runs: int
) -> tuple[Floats, ...]:
    """Return how likely every system, the axis before the nest, has the best total of so many runs, with limits, a tie, and their units."""
    arrays = np.moveaxis(values, values.ndim - comparison.levels - 1, 0)
    systems = comparison.systems(*arrays, sign=comparison.sign)
    units = np.stack(comparison.units(systems, cells), axis=-1)
    if comparison.at_once(runs):
        placed, tied = placements.several_systems(systems, cells.shape, ties, comparison.drawing)
        return *comparison.limits(placed), tied, units
    sign = comparison.sign if comparison.fitted else 1.0
    if comparison.method == MIXTURE and parametric.are_normal(systems, runs) and sign < 0:
        systems, sign = parametric.negated(systems), 1.0

    def least(shared: bool, drawing: Drawing) -> Limits:
        if comparison.method == EMPIRICAL:
            return empirical.resampled(
                systems, cells, totals.least_in_total(runs, shared), drawing, each=True, score=runs
            )

        def metric(fits: Sequence[Scaled]) -> Floats:
            if runs > 1:
                return totals.least_of_mixtures([fit.mixture for fit in fits], runs, shared)
            return integrals.best(fits, shared, sign)

        return parametric.resampled(systems, cells, metric, drawing, each=True)

    limits = least(ties, comparison.drawing)
    strict = (
        least(False, comparison.drawing._replace(n_resamples=0)).estimate
        if ties
        else limits.estimate
    )
    measured = ~np.isnan(strict).all(axis=-1)
    tied = np.where(measured, np.clip(1 - np.nansum(strict, axis=-1), 0.0, 1.0), np.nan)
    return *limits, tied, units


def numbers_of_modes(
    values: Floats, cells: Integers, *, comparison: Comparison, test: SupportTest
) -> tuple[Floats, ...]:
    """Return the number of modes with limits, the share of refitted samples that agree with it, what the runs support, and the units."""
    systems = comparison.systems(values)
    limits, stability = parametric.resampled_modes(systems[0], cells, comparison.drawing)
    supported = _supported(systems[0].runs, limits.estimate, cells, test)
    return *limits, stability, *supported, *comparison.units(systems, cells)


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

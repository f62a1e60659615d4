"""What a pilot says of a suite: the trees to plan with, and how well their roots are known.

Z_j, the weighted sum over benchmarks of the log of unit j's mean, has the variance of the root plus
that of everything below it at the pilot's counts: so what units have in common is found without
knowing the correlation between benchmarks.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import count_repetitions, unit_means
from perfarray.numerics.nested_anova import Components, nested_anova
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.forests import side_by_side, tree
from perfarray.variation.numerics.plans import Pilot


class Sharing(NamedTuple):
    """How many of the outermost levels serve every benchmark, in the plan and in the pilot.

    Or a correlation to assume instead.
    """

    planned: int = 1
    in_pilot: int = 0
    correlation: float | None = None


def suite_pilot(
    systems: Sequence[tuple[Floats, Floats, Components]],
    shares: Floats,
    sharing: Sharing,
    borrowed_df: Floats | float = 0.0,
) -> Pilot:
    """Estimate one tree: the log geometric mean of one system, or of the ratio of pairs.

    Of pairs, the outermost units of two systems, the root is the variance of their differences,
    less what lies below; the price of a pair is that of both its units. The rows are those of the
    candidate and then those of the baseline.

    `systems` hold positive measurements (benchmarks, n_L, ..., n_1), every benchmark measured,
    prices (benchmarks, L), where NaN at the lowest level means its mean, and their components;
    `shares` are the weights of the benchmarks in the mean, whose sum is 1. The root is NaN where
    fewer than two units stand behind it. `borrowed_df` are degrees of freedom (L,) that other
    benchmarks add.
    """
    levels, planned = systems[0][1].shape[1], sharing.planned
    components = [of_system for _, _, of_system in systems]
    scales = [(shares / estimate.mean)[:, None] ** 2 for estimate in components]
    variances = [
        scale * estimate.variance for scale, estimate in zip(scales, components, strict=True)
    ]
    below = [
        scale * estimate.level_variance - variance
        for scale, estimate, variance in zip(scales, components, variances, strict=True)
    ]
    prices = [
        np.where(np.isnan(cost), estimate.mean[:, None], cost)
        for estimate, (_, cost, _) in zip(components, systems, strict=True)
    ]
    logs = [
        np.log(unit_means(values, levels - max(sharing.in_pilot, 1) + 1)) for values, *_ in systems
    ]
    weighted = (logs[0] if len(logs) == 1 else logs[0] - logs[1]) * shares.reshape(
        -1, *[1] * (logs[0].ndim - 1)
    )
    variance, inside = variances[0][:, :planned], below[0][:, :planned]
    if len(systems) > 1:
        inside = below[0][:, :1] + below[1][:, :1]
        variance = nested_anova(weighted, 1).variance - inside
    shared, unit_variance, df = _shared_components(variance, inside, weighted, sharing)
    stem = np.stack(
        [np.nan_to_num(np.maximum(shared, 0.0)), sum(price[0, :planned] for price in prices)]
    )
    stem[0, 0] = np.maximum(shared[0], 0.0)
    lower = np.stack(
        [np.nan_to_num(np.maximum(np.concatenate(variances), 0.0)), np.concatenate(prices)]
    )[:, :, planned:]
    total = np.concatenate([count_repetitions(values, levels).total for values, *_ in systems])
    forest = tree(stem, lower)
    at_hand = np.zeros(len(forest.cost))  # shared repetitions are counted once
    np.maximum.at(at_hand, forest.paths, total)
    return Pilot(
        forest.of(None),
        unit_variance=np.array([[unit_variance]]),
        top=shared[None, :1],
        df=np.array([[df + np.ravel(borrowed_df)[0]]]),
        units=total[None, :, 0].min(axis=1, keepdims=True),  # of the benchmark with the fewest
        spent=np.array([(at_hand * forest.cost).sum()]),
        total=total,
        borrowed_df=borrowed_df + np.zeros(total.shape),
    )


def _shared_components(
    variance: Floats, inside: Floats, logs: Floats, sharing: Sharing
) -> tuple[Floats, float, float]:
    """Return the components of the shared levels, the variance of the pilot's units, and its df.

    `variance` and `inside` (benchmarks, shared levels) are the components and what lies below them,
    `logs` the weighted logs of means.
    """
    correlation, n_shared = sharing.correlation or 0.0, sharing.in_pilot
    deviations = np.sqrt(np.nan_to_num(np.maximum(variance, 0.0)))
    shared = (1 - correlation) * (deviations**2).sum(axis=0) + correlation * deviations.sum(
        axis=0
    ) ** 2
    if len(variance) == 1:
        shared = variance[0].copy()  # what one benchmark shows may be negative
    if sharing.correlation is None and n_shared:
        common = nested_anova(logs.sum(axis=0)[None], n_shared, "keep")
        shared[:n_shared] = common.variance[0]
        shared[n_shared - 1] -= inside[:, n_shared - 1].sum()
        return shared, float(common.level_variance[0, 0]), float(common.df[0])
    unit_variances = (variance + inside)[:, 0]
    if np.isnan(unit_variances).any():
        shared[0] = np.nan
    units = (~np.isnan(logs.reshape(*logs.shape[:2], -1)).all(axis=-1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = unit_variances.sum() ** 2 / (unit_variances**2 / (units - 1)).sum()
    return shared, float(shared[0] + inside[:, 0].sum()), float(df)


def together(pilots: Sequence[Pilot]) -> Pilot:
    """Return the trees of one suite side by side."""
    forest = side_by_side([pilot.forest.of(0) for pilot in pilots])
    return Pilot(
        forest.of(None),
        unit_variance=np.concatenate([pilot.unit_variance for pilot in pilots], axis=1),
        top=np.concatenate([pilot.top for pilot in pilots], axis=1),
        df=np.concatenate([pilot.df for pilot in pilots], axis=1),
        units=np.concatenate([pilot.units for pilot in pilots], axis=1),
        spent=np.sum([pilot.spent for pilot in pilots], axis=0),
        total=np.concatenate([pilot.total for pilot in pilots]),
        borrowed_df=np.concatenate([pilot.borrowed_df for pilot in pilots]),
    )

"""Mann and Whitney's rank sum test and Kolmogorov and Smirnov's two-sample test, as R 4.1.

The last axis is the sample, and the axes before it broadcast; NaN is not measured. Cells may differ
in the sizes of their samples. SciPy's exact laws ignore ties, its asymptotic Kolmogorov-Smirnov is
another approximation, and small calls take 4 to 12 times as long.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import comb, kolmogorov, ndtr

from perfarray.numerics.two_sample import exact_ks_pvalue
from perfarray.numerics.types import Floats, Integers, Mask

EXACT_BELOW = 50  # Mann-Whitney: samples without ties are tested exactly below this size of both
EXACT_PRODUCT = 10_000  # Kolmogorov-Smirnov: and below this product of sizes


class RankSum(NamedTuple):
    """U of the first sample, its p-value, and the shares of pairs with x above y, or equal."""

    statistic: Floats
    pvalue: Floats
    prob_greater: Floats
    prob_equal: Floats


class KolmogorovSmirnov(NamedTuple):
    """The largest distance of two empirical distributions, and its p-value."""

    statistic: Floats
    pvalue: Floats


def mann_whitney(x: npt.ArrayLike, y: npt.ArrayLike, alternative: str = "greater") -> RankSum:
    """Test whether x tends to be larger than y ("less", "two-sided"), as R's `wilcox.test` does.

    The p-value is exact where both sides have fewer than 50 values without ties; else it is normal,
    corrected for ties and continuity, and NaN where all values are equal.
    """
    ordered, is_x, is_y = _pool(x, y)
    n_x, n_y, (first, last) = is_x.sum(axis=-1), is_y.sum(axis=-1), _tie_bounds(ordered)
    n, m = n_x.astype(float), n_y.astype(float)
    y_counts, ties = (
        np.cumsum(is_y, axis=-1),
        np.where(is_x | is_y, last - first + 1, 1).astype(float),
    )
    y_below: Integers = np.take_along_axis(y_counts - is_y, first, axis=-1)
    greater = np.where(is_x, y_below, 0).sum(axis=-1)
    equal = np.where(is_x, np.take_along_axis(y_counts, last, axis=-1) - y_below, 0).sum(axis=-1)
    # Over all values, each among t ties, which is t^3 - t over the ties.
    tie_sum = (ties**2 - 1).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = np.where(n * m > 0, n * m, np.nan)
        statistic = np.where(n * m > 0, greater + 0.5 * equal, np.nan)
        spread = np.sqrt(n * m / 12 * (n + m + 1 - tie_sum / ((n + m) * (n + m - 1))))
        spread = np.where(spread > 0, spread, np.nan)
        distance = statistic - n * m / 2
        above, below = (
            np.asarray(ndtr(-(distance - 0.5) / spread)),
            np.asarray(ndtr((distance + 0.5) / spread)),
        )
    exact = (n < EXACT_BELOW) & (m < EXACT_BELOW) & ~(ties > 1).any(axis=-1) & (n * m > 0)
    # Each pair of sizes has one null distribution.
    for a, b in {*zip(n_x[exact].tolist(), n_y[exact].tolist(), strict=True)}:
        cells, cdf = exact & (n_x == a) & (n_y == b), rank_sum_cdf(a, b)
        above[cells], below[cells] = cdf[a * b - greater[cells]], cdf[greater[cells]]
    pvalues = {
        "greater": above,
        "less": below,
        "two-sided": np.minimum(1.0, 2 * np.minimum(above, below)),
    }
    return RankSum(statistic, pvalues[alternative], greater / pairs, equal / pairs)


def kolmogorov_smirnov(
    x: npt.ArrayLike, y: npt.ArrayLike, *, exact_ties: bool = False
) -> KolmogorovSmirnov:
    """Test whether x and y have one distribution, two-sided, as R's `ks.test` up to version 4.1.

    Where n m < 10,000 the p-value is exact without ties, and with `exact_ties` also given the ties;
    else it is that of the limit law.
    """
    ordered, is_x, is_y = _pool(x, y)
    n, m = is_x.sum(axis=-1), is_y.sum(axis=-1)
    # From value to value the difference of the distributions, times n m, rises by m or falls by n;
    # it is looked at behind ties.
    differences = np.cumsum(is_x * m[..., None] - is_y * n[..., None], axis=-1)
    tie = ordered[..., 1:] == ordered[..., :-1]
    steps = np.where(tie, 0, np.abs(differences[..., :-1])).max(axis=-1, initial=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(n * m > 0, steps / (n * m), np.nan)
        pvalue = np.asarray(kolmogorov(statistic * np.sqrt(n * m / (n + m))))
    is_small, tied = (n * m < EXACT_PRODUCT) & (n * m > 0), tie.any(axis=-1)
    exact = is_small & ~tied
    # Each pair of sizes has one lattice.
    for a, b in {*zip(n[exact].tolist(), m[exact].tolist(), strict=True)}:
        cells = exact & (n == a) & (m == b)
        distinct, index = np.unique(steps[cells], return_inverse=True)
        pvalue[cells] = _prob_as_far(distinct, a, b)[index]
    if exact_ties:
        cells = is_small & tied
        pvalue[cells] = exact_ks_pvalue(
            *(np.broadcast_to(side, (*n.shape, np.shape(side)[-1]))[cells] for side in (x, y))
        )
    return KolmogorovSmirnov(statistic, pvalue)


def _pool(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Mask, Mask]:
    """Return both samples in ascending rows, NaN last, and which values are of x, and of y."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    joined = np.concatenate(
        [np.broadcast_to(side, (*batch, side.shape[-1])) for side in (x, y)], axis=-1
    )
    order = np.argsort(joined, axis=-1)
    ordered = np.take_along_axis(joined, order, axis=-1)
    measured, from_x = ~np.isnan(ordered), order < x.shape[-1]
    return ordered, measured & from_x, measured & ~from_x


def _tie_bounds(ordered: Floats) -> tuple[Integers, Integers]:
    """Return the first and the last position of the ties at every position of ascending rows."""
    width = ordered.shape[-1]
    positions = np.broadcast_to(np.arange(width), ordered.shape)
    starts = np.ones(ordered.shape, dtype=bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones(ordered.shape, dtype=bool)
    ends[..., :-1] = starts[..., 1:]
    first = np.maximum.accumulate(np.where(starts, positions, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, positions, width)[..., ::-1], axis=-1)[..., ::-1]
    return first, last


@lru_cache(maxsize=64)
def rank_sum_cdf(n: int, m: int) -> Floats:
    """Return P[U <= u] for u = 0 ... n m, of samples of n and m values of one distribution."""
    # By the size of the second sample: the number of orders with U = 0, 1, ...
    row = [np.ones(1)] * (m + 1)
    for i in range(1, n + 1):
        grown = [np.ones(1)]
        for j in range(1, m + 1):  # the largest value is one of x, above j others, or one of y
            orders = np.zeros(i * j + 1)
            orders[j:] += row[j]
            orders[: i * (j - 1) + 1] += grown[j - 1]
            grown.append(orders)
        row = grown
    orders = row[m]
    return np.asarray(np.minimum(np.cumsum(orders) / orders.sum(), 1.0))


def _prob_as_far(steps: Integers, n: int, m: int) -> Floats:
    """Return the probability of a distance of at least steps / (n m), by lattice paths."""
    across = np.arange(m + 1) * n
    inside = np.minimum.accumulate(np.where(across < steps[:, None], 1.0, 0.0), axis=-1)
    for i in range(1, n + 1):
        allowed = np.abs(i * m - across) < steps[:, None]
        inside = np.cumsum(inside * allowed, axis=-1) * allowed
    return np.asarray(np.clip(1.0 - inside[:, -1] / comb(n + m, n), 0.0, 1.0))

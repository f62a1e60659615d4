"""Nested analysis of variance: how much each level of repetition contributes to the variation.

Kalibera and Jones (2012), section 6.1: S_i^2 averages the sample variance of level-i means (biased:
it contains what lies below), and T_1^2 = S_1^2, T_i^2 = S_i^2 - S_{i-1}^2 / n_{i-1} (unbiased).
Ragged nests: the expected mean squares of the unbalanced nested analysis of variance (Searle,
Casella and McCulloch 1992, chapter 5), which give the same on balanced data.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured, summarise_units
from perfarray.numerics.types import Floats, Integers, Mask

BLOCK = 1 << 18  # values worked on at once, so that memory is bounded
# values that stay in a processor's cache with their deviations, or with three copies where there
# are gaps
CACHED = 1 << 15


class Components(NamedTuple):
    """Along the levels, outermost first; NaN where a level has one repetition everywhere.

    `level_df` are the degrees of freedom behind `level_variance`, `df` those of the mean; in a
    `balanced` cell all parents of a level have the same number of repetitions.
    """

    variance: Floats
    level_variance: Floats
    repetitions: Floats
    merged: Mask
    mean: Floats
    standard_error: Floats
    df: Floats
    level_df: Floats
    balanced: Mask

    def rows(self, rows: slice) -> "Components":
        """Return some cells along the first axis."""
        return Components(*(field[rows] for field in self))  # type: ignore[arg-type]


def nested_anova(values: Floats, levels: int, negative: str = "keep") -> Components:
    """Estimate the variance components of nested repetitions.

    Of values (..., n_L, ..., n_1), NaN where nothing was measured, the answer has arrays (..., L)
    and (...). A negative component stays ("keep"), becomes "zero", or its level is merged into the
    one below: "merge", the lowest such level first, then all is estimated again; the outermost
    level is never merged.
    """
    batch, nest = values.shape[: values.ndim - levels], values.shape[values.ndim - levels :]
    cells = np.ascontiguousarray(values, dtype=np.float64).reshape(-1, *nest)
    with np.errstate(invalid="ignore"):  # an infinite value makes its own cell NaN
        components = _estimate(cells)
    if negative == "merge":
        components = _merge_negative(cells, components)
    elif negative == "zero":
        components = components._replace(
            variance=np.where(components.variance < 0, 0.0, components.variance)
        )
    return Components(
        *(np.asarray(field).reshape((*batch, *np.shape(field)[1:])) for field in components)
    )


def _estimate(cells: Floats) -> Components:
    """Estimate complete cells by the short formulas, and those with gaps by the general ones."""
    components = _balanced(cells)
    ragged = np.isnan(components.mean)
    if ragged.any():
        general = _ragged(cells[ragged])
        for field, replacement in zip(components, general, strict=True):
            field[ragged] = replacement
    return components


def _merge_negative(cells: Floats, components: Components) -> Components:
    """Pool levels with a negative component into the level below, and estimate again."""
    levels = components.variance.shape[1]
    merged = np.zeros(components.variance.shape, dtype=bool)
    for _ in range(levels - 2):
        negative = (components.variance < 0) & ~merged
        negative[:, [0, -1]] = False
        rows = np.flatnonzero(negative.any(axis=1))
        if not len(rows):
            break
        merged[rows, levels - 1 - np.argmax(negative[rows, ::-1], axis=1)] = True
        for pattern in np.unique(merged[rows], axis=0):
            pattern_rows = rows[(merged[rows] == pattern).all(axis=1)]
            pooled = _estimate(pool_levels(cells[pattern_rows], pattern))
            for field, replacement in zip(components, pooled, strict=True):
                if field.ndim == 1:
                    field[pattern_rows] = replacement
                else:
                    field[pattern_rows] = np.nan
                    field[np.ix_(pattern_rows, ~pattern)] = replacement
    return components._replace(merged=merged)


def pool_levels(cells: Floats, removed: Mask) -> Floats:
    """Reshape cells so that removed levels' repetitions are those of the level below (Table IV).

    What is removed at the bottom, one repetition in every parent, goes with the level above.
    """
    sizes: list[int] = []
    carry = 1
    for size, gone in zip(cells.shape[1:], removed, strict=True):
        if gone:
            carry *= size
        else:
            sizes.append(size * carry)
            carry = 1
    sizes[-1] *= carry
    return cells.reshape(len(cells), *sizes)


def _balanced(cells: Floats) -> Components:
    """Apply equations S_i^2 and T_i^2 as printed; cells with a gap come out as NaN."""
    count, levels = len(cells), cells.ndim - 1
    variance, level_variance, level_df = np.full((3, count, levels), np.nan)
    repetitions = np.tile(np.array(cells.shape[1:], dtype=float), (count, 1))
    below = np.zeros(count)
    means = cells
    for level in range(levels - 1, -1, -1):
        n = means.shape[-1]
        groups = means.reshape(count, -1, n)
        grouped, squares = squares_within(groups)
        if n > 1:
            level_df[:, level] = groups.shape[1] * (n - 1)
            level_variance[:, level] = squares / level_df[:, level]
            variance[:, level] = level_variance[:, level] - below
            below = level_variance[:, level] / n
        means = grouped.reshape(means.shape[:-1])
    n = cells.shape[1]
    return Components(
        variance=variance,
        level_variance=level_variance,
        repetitions=repetitions,
        merged=np.zeros((count, levels), dtype=bool),
        mean=np.array(means),
        standard_error=np.sqrt(level_variance[:, 0] / n),
        df=np.where(~np.isnan(means) & (n > 1), n - 1.0, np.nan),
        level_df=level_df,
        balanced=~np.isnan(means),
    )


def squares_within(groups: Floats) -> tuple[Floats, Floats]:
    """Return group means (cells, groups) and squares within (cells) of (cells, groups, n)."""
    count, number, n = groups.shape
    means, squares = np.empty((count, number)), np.zeros(count)
    cells_at_once = max(1, CACHED // (number * n))
    groups_at_once = max(1, CACHED // n) if cells_at_once == 1 else number
    for c in range(0, count, cells_at_once):
        for g in range(0, number, groups_at_once):
            where = slice(c, c + cells_at_once), slice(g, g + groups_at_once)
            # einsum starts no threads of BLAS, and does not lose time where groups are small.
            means[where] = np.einsum("cgn->cg", groups[where]) / n
            deviations = groups[where] - means[where][..., None]
            squares[where[0]] += np.einsum("cgn,cgn->c", deviations, deviations)
    return means, squares


def _ragged(cells: Floats) -> Components:
    """Solve the expected sums of squares of the unbalanced analysis, from the lowest level up.

    With N_u the values under node u, E[SS_k] = sum over j <= k of (q_kj - q_{k+1,j}) T_j^2, where
    q_kj adds over the nodes p of level k the sum of N_u^2 / N_p over the nodes u of level j inside
    p (and q_kk = N, all values).
    """
    count, levels = len(cells), cells.ndim - 1
    counts, means, within = _lowest(cells)
    sizes, sums, nodes = _nodes(counts, means)
    total = sizes[-1].reshape(count)
    variance, level_variance, repetitions, level_df = np.full((4, count, levels), np.nan)
    pooled = [
        np.divide(s, n, out=np.zeros_like(s), where=n > 0) for s, n in zip(sums, sizes, strict=True)
    ]
    solved: list[Floats] = []
    for k in range(levels):
        explained = within
        if k:
            explained = (
                ((pooled[k - 1] - pooled[k][..., None]) ** 2 * sizes[k - 1])
                .reshape(count, -1)
                .sum(axis=1)
            )
        for j in range(k):
            explained = explained - solved[j] * (
                _inner(sizes, nodes, j, k) - _inner(sizes, nodes, j, k + 1)
            )
        coefficient = total - _inner(sizes, nodes, k, k + 1)
        identified = nodes[k] > nodes[k + 1]
        estimate = np.divide(
            explained, coefficient, out=np.full(count, np.nan), where=identified & (coefficient > 0)
        )
        solved.append(np.where(identified, estimate, 0.0))
        column = levels - 1 - k
        variance[:, column] = estimate
        with np.errstate(divide="ignore", invalid="ignore"):
            repetitions[:, column] = nodes[k] / nodes[k + 1]
    level_df[:, -1], level_variance[:, -1] = total - nodes[1], within
    units, balanced = cells, _equal_counts(counts.reshape(count, -1))
    for column in range(levels - 2, -1, -1):
        grouped = mean_of_measured(means)
        measured = ~np.isnan(means)
        balanced &= _equal_counts(measured.sum(axis=-1).reshape(count, -1))
        squares = np.where(measured, means - grouped[..., None], 0.0) ** 2
        df = measured.sum(axis=-1) - ~np.isnan(grouped)
        level_df[:, column] = df.reshape(count, -1).sum(axis=1)
        level_variance[:, column] = squares.reshape(count, -1).sum(axis=1)
        units, means = means, grouped
    summary = summarise_units(units)
    level_df[level_df == 0] = np.nan
    level_variance /= level_df
    return Components(
        variance=variance,
        level_variance=level_variance,
        repetitions=repetitions,
        merged=np.zeros((count, levels), dtype=bool),
        mean=summary.mean,
        standard_error=np.sqrt(summary.variance),
        df=np.where(summary.n > 1, summary.n - 1, np.nan),
        level_df=level_df,
        balanced=balanced,
    )


def _equal_counts(children: Floats | Integers) -> Mask:
    """Return for every cell whether all parents that have children have as many.

    Padding with NaN is no imbalance.
    """
    largest = children.max(axis=1)
    return np.asarray(
        ((children == 0) | (children == largest[:, None])).all(axis=1) & (largest > 0)
    )


def _lowest(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how many values parents of the lowest level have, their means, and the squares within.

    The values are read once, in blocks that stay in a processor's cache; all else is as large as
    the level above.
    """
    groups = cells.reshape(-1, cells.shape[-1])
    counts, means, squares = np.empty((3, len(groups)))
    step = max(1, CACHED // groups.shape[1])
    for first in range(0, len(groups), step):
        block = slice(first, first + step)
        measured = ~np.isnan(groups[block])
        weights = measured.astype(float)
        filled = np.where(measured, groups[block], 0.0)
        n = np.einsum("gn->g", weights, out=counts[block])
        mean = np.divide(np.einsum("gn->g", filled), n, out=np.zeros(len(n)), where=n > 0)
        filled -= mean[:, None]
        filled *= weights
        squares[block] = np.einsum("gn,gn->g", filled, filled)
        means[block] = np.where(n > 0, mean, np.nan)
    parents = cells.shape[:-1]
    return (
        counts.reshape(parents),
        means.reshape(parents),
        squares.reshape(len(cells), -1).sum(axis=1),
    )


def _nodes(counts: Floats, means: Floats) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Return the values under each node and their sum, per level, and the nodes with data.

    Levels go from the second lowest to the whole cell.
    """
    sizes, sums = [counts], [np.where(counts > 0, counts * means, 0.0)]
    for _ in range(counts.ndim - 1):
        sizes.append(sizes[-1].sum(axis=-1))
        sums.append(sums[-1].sum(axis=-1))
    nodes = [
        np.count_nonzero(size.reshape(len(counts), -1), axis=1).astype(float) for size in sizes
    ]
    return sizes, sums, [sizes[-1].reshape(len(counts)), *nodes]


def _inner(sizes: list[Floats], nodes: list[Floats], j: int, k: int) -> Floats:
    """Return q_kj for level j below level k.

    Nodes of level k add the squared sizes of the level-j nodes inside, over their own size.

    Values have the size 1: of the lowest level it is the number of nodes of level k.
    """
    if j == 0:
        return nodes[k]
    squared = sizes[j - 1] ** 2
    for _ in range(k - j):
        squared = squared.sum(axis=-1)
    shares = np.divide(squared, sizes[k - 1], out=np.zeros_like(squared), where=sizes[k - 1] > 0)
    return np.asarray(shares.reshape(len(shares), -1).sum(axis=1))

"""Regions of machines among principal components by the variation of their runs.

Units are (samples, features, units), NaN where not measured.
"""

from collections.abc import Iterator

import numpy as np

from perfarray.machines.numerics.principal_components import principal_axes
from perfarray.numerics.dependence import measured_first
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.random import EXCHANGES, UNITS, Streams
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.with_replacement import drawn_places

# Values of resampled tables in memory at once; it does not change the numbers.
BLOCK = 1 << 20

# Sums of logs that differ by less are equal.
TIES = 1e-8

# A smaller share of the variance inside two samples is rounding.
CERTAIN = 1e-12

# Statistics whose resampled variance is (n - 1) / n of the true one. That of a median of three runs
# is 1.2 times the true one.
AVERAGES = ("mean", "geometric")


def regions(
    units: Floats,
    keys: Integers,
    table: Floats,
    scores: Floats,
    *,
    scale: bool,
    statistic: str,
    draws: int,
    key: tuple[int, int],
    level: float,
) -> tuple[Floats, ...]:
    """Return how far the variation of runs moves the scores and loadings of a table.

    `table` is (samples, features), `scores` are (samples, components). Tables are resampled from
    the units of every cell, and their axes are rotated onto the observed ones (orthogonal
    Procrustes, of the scores), since components may change sign or order. The degrees of freedom of
    the covariance of a sample's scores are Welch and Satterthwaite's over the features.

    Returns by sample the limits of the scores, their covariance, and the radius of a region in
    standard deviations; and by feature the limits of the loadings.
    """
    samples, features = table.shape
    n_components = scores.shape[1]
    covariance, squares = (
        np.zeros((samples, n_components, n_components)),
        np.zeros((samples, features)),
    )
    loadings = []
    for tables in _resampled(units, keys, table, statistic, draws, Streams(key)):
        components = principal_axes(tables, scale=scale)
        rotation_left, _, rotation_right = np.linalg.svd(
            np.swapaxes(components.scores[..., :n_components], -1, -2) @ scores
        )
        rotation = rotation_left @ rotation_right
        moved = components.scores[..., :n_components] @ rotation - scores
        covariance += np.einsum("rsk,rsl->skl", moved, moved)
        squares += ((tables - table) ** 2).sum(axis=0)
        loadings.append(components.loadings[..., :n_components] @ rotation)
    counts = np.sum(~np.isnan(units), axis=-1)
    scaled = squares / draws / (table.std(axis=0, ddof=1) if scale else np.ones(features)) ** 2
    df_of_each = np.maximum(counts - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = scaled.sum(axis=-1) ** 2 / (scaled**2 / df_of_each).sum(axis=-1)
    df = np.where(np.isnan(df), df_of_each.sum(axis=-1), df)
    estimable = (counts != 1).all(axis=-1)
    covariance = np.where(estimable[:, None, None], covariance / draws, np.nan)
    half = t_quantile((1 + level) / 2, df)[:, None] * np.sqrt(
        np.diagonal(covariance, axis1=1, axis2=2)
    )
    stacked = (
        np.concatenate(loadings)
        if estimable.all()
        else np.full((1, features, n_components), np.nan)
    )
    loading_lower, loading_upper = np.quantile(stacked, [(1 - level) / 2, (1 + level) / 2], axis=0)
    # The square of the radius, halved, is the quantile of F with 2 and df degrees of freedom.
    radius = np.where(estimable, np.sqrt(df * ((1 - level) ** (-2 / df) - 1)), np.nan)
    return scores - half, scores + half, covariance, radius, loading_lower, loading_upper


def _resampled(
    units: Floats, keys: Integers, table: Floats, statistic: str, draws: int, streams: Streams
) -> Iterator[Floats]:
    """Yield blocks of resampled tables (draws, samples, features).

    A cell without units keeps its value.
    """
    ordered, counts = measured_first(units)
    size = max(1, BLOCK // max(1, units.size))
    for start in range(0, draws, size):
        rows = min(size, draws - start)
        tables = np.broadcast_to(table, (rows, *table.shape)).copy()
        # Cells with equal numbers of units are drawn together: mostly all of them.
        for count in np.unique(counts[counts > 1]).tolist():
            where = np.nonzero(counts == count)
            picks = drawn_places(count, keys[where], UNITS, streams, rows, start)
            values = np.take_along_axis(ordered[where][:, None, :count], picks, axis=-1)
            wider = np.sqrt(count / (count - 1)) if statistic in AVERAGES else 1.0
            tables[:, where[0], where[1]] += (
                wider * (run_statistic(values, statistic) - table[where][:, None]).T
            )
        yield tables


def pairwise_tests(
    units: Floats,
    statistic: str,
    divisors: Floats,
    features: Integers,
    draws: int,
    key: tuple[int, int],
) -> tuple[Floats, Floats]:
    """Return the distance between every two samples, and the p-value that their runs differ.

    The hypothesis is "their runs come from the same distributions". The units of two samples are
    exchanged at random, feature by feature; `features` with one key are exchanged together. The
    p-value is the share of exchanges with as large a sum over features of likelihood ratios of two
    means against one, -log(1 - R^2). In a distance (of a `statistic`, each feature divided by one
    of `divisors`), a feature would count by its size, or by how much other samples differ in it,
    and not by how much its units vary.

    Both are NaN where a sample lacks a feature, and p-values with one unit a side, whose exchange
    changes nothing.
    """
    samples = len(units)
    first, second = np.triu_indices(samples, 1)
    squares, ratios, informative = (
        np.zeros(len(first)),
        np.zeros((len(first), 1 + draws)),
        np.zeros(len(first), dtype=bool),
    )
    streams = Streams(key)
    # Features differ in their exchanges; all pairs of samples with equal numbers of units share
    # them.
    for feature_units, name, divisor in zip(
        np.swapaxes(units, 0, 1), features.tolist(), divisors.tolist(), strict=True
    ):
        ordered, counts = measured_first(feature_units)
        scores = run_statistic(feature_units, statistic)
        squares += ((scores[first] - scores[second]) / divisor) ** 2
        sizes = np.stack([counts[first], counts[second]], axis=-1)
        informative |= sizes.sum(axis=-1) > 2
        for n, m in np.unique(sizes[sizes.min(axis=-1) > 0], axis=0).tolist():
            order = (
                streams.words([name], EXCHANGES, draws * (n + m))
                .reshape(draws, -1)
                .argsort(axis=-1)[:, :n]
            )
            order = np.concatenate([np.arange(n)[None], order])  # the observed units come first
            rows = np.flatnonzero((sizes == (n, m)).all(axis=-1))
            size = max(1, BLOCK // order.size)
            for batch in np.split(rows, range(size, len(rows), size)):
                pool = np.concatenate(
                    [ordered[first[batch], :n], ordered[second[batch], :m]], axis=-1
                )
                # Equal units differ from their rounded mean.
                deviations = pool - pool[:, :1]
                deviations -= deviations.mean(axis=-1, keepdims=True)
                total = (deviations**2).sum(axis=-1, keepdims=True)
                between = deviations[:, order].sum(axis=-1) ** 2 * ((n + m) / (n * m))
                # Equal units tell nothing.
                explained = np.divide(between, total, out=np.zeros_like(between), where=total > 0)
                ratios[batch] -= np.log(np.maximum(1 - explained, CERTAIN))
    pvalues = (ratios >= ratios[:, :1] - TIES).sum(axis=-1) / (draws + 1)
    distances, matrix = np.zeros((samples, samples)), np.ones((samples, samples))
    distances[first, second] = distances[second, first] = np.sqrt(squares)
    matrix[first, second] = matrix[second, first] = np.where(
        informative & ~np.isnan(squares), pvalues, np.nan
    )
    return distances, matrix

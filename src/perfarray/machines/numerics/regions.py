"""Where machines lie among principal components but for the variation of their runs, and which of them that variation cannot tell apart.

Units are (samples, features, units), NaN where not measured.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfarray.machines.numerics.principal_components import principal_axes
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.random import EXCHANGES, UNITS, Streams
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.with_replacement import drawn_places

BLOCK = 1 << 20
"""Values of redrawn tables that are looked at together: what bounds the memory. It changes no number."""

TIES = 1e-8
"""Sums of logs that differ by less are equal."""

CERTAIN = 1e-12
"""A variance inside two samples that is less, as a share of the whole, is rounding."""

AVERAGES = ("mean", "geometric")
"""Statistics whose redrawn variance is (n - 1) / n of the true one. That of a median of three runs is 1.2 times the true one."""


class Regions(NamedTuple):
    """By sample: the covariance of its scores, limits of each, and the radius of a region of two, in standard deviations.

    By feature: limits of its loadings.
    """

    covariance: Floats
    lower: Floats
    upper: Floats
    radius: Floats
    loading_lower: Floats
    loading_upper: Floats


class Axes(NamedTuple):
    """The table, its scores and loadings, and whether features are scaled."""

    table: Floats
    scores: Floats
    loadings: Floats
    scale: bool


def regions(units: Floats, keys: Integers, axes: Axes, statistic: str, draws: int, key: tuple[int, int], level: float) -> Regions:
    """Return how far the variation of runs moves scores and loadings.

    Tables are redrawn from the units of every cell, analysed, and their axes turned (orthogonal Procrustes, of the scores) onto the
    observed ones: components may change their sign or places from table to table. What is left has the covariance of a sample's scores
    about the observed ones. Its degrees of freedom are Welch and Satterthwaite's, over the features.

    Parameters
    ----------
    units : array, shape (samples, features, units)
        One value each.
    keys : array of uint64, shape (samples, features)
        Of the random numbers of each cell.
    axes : Axes
        What is observed: table (samples, features), scores (samples, components), loadings (features, components).
    statistic : str
        Of the units of a cell.
    draws, key, level : int, (int, int), float
        How often, from which key; the level of regions and intervals.
    """
    samples, features = axes.table.shape
    n_components = axes.scores.shape[1]
    covariance, spread = np.zeros((samples, n_components, n_components)), np.zeros((samples, features))
    loadings = []
    for tables in _redrawn(units, keys, axes.table, statistic, draws, Streams(key)):
        components = principal_axes(tables, scale=axes.scale)
        rotation_left, _, rotation_right = np.linalg.svd(np.swapaxes(components.scores[..., :n_components], -1, -2) @ axes.scores)
        turn = rotation_left @ rotation_right
        moved = components.scores[..., :n_components] @ turn - axes.scores
        covariance += np.einsum("rsk,rsl->skl", moved, moved)
        spread += ((tables - axes.table) ** 2).sum(axis=0)
        loadings.append(components.loadings[..., :n_components] @ turn)
    df = _degrees(units, spread / draws, axes)
    enough = (np.sum(~np.isnan(units), axis=-1) != 1).all(axis=-1)
    covariance = np.where(enough[:, None, None], covariance / draws, np.nan)
    half = t_quantile((1 + level) / 2, df)[:, None] * np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    stacked = np.concatenate(loadings) if enough.all() else np.full((1, features, n_components), np.nan)
    limits = np.quantile(stacked, [(1 - level) / 2, (1 + level) / 2], axis=0)
    radius = np.where(enough, _radius(df, level), np.nan)
    return Regions(covariance, axes.scores - half, axes.scores + half, radius, limits[0], limits[1])


def _redrawn(units: Floats, keys: Integers, table: Floats, statistic: str, draws: int, streams: Streams) -> Iterator[Floats]:
    """Yield redrawn tables (draws, samples, features), some at a time; a cell without units keeps its value."""
    counts = np.sum(~np.isnan(units), axis=-1)
    ordered = np.take_along_axis(units, np.argsort(np.isnan(units), axis=-1, kind="stable"), axis=-1)
    size = max(1, BLOCK // max(1, units.size))
    for start in range(0, draws, size):
        rows = min(size, draws - start)
        tables = np.broadcast_to(table, (rows, *table.shape)).copy()
        # Cells with as many units are drawn at once: mostly all of them.
        for count in np.unique(counts[counts > 1]).tolist():
            where = np.nonzero(counts == count)
            picks = drawn_places(count, keys[where], UNITS, streams, rows, start)
            values = np.take_along_axis(ordered[where][:, None, :count], picks, axis=-1)
            wider = np.sqrt(count / (count - 1)) if statistic in AVERAGES else 1.0
            tables[:, where[0], where[1]] += wider * (run_statistic(values, statistic) - table[where][:, None]).T
        yield tables


def _degrees(units: Floats, variance: Floats, axes: Axes) -> Floats:
    """Return the degrees of freedom of every sample's variance, summed over the features in the scale of the scores."""
    divisors = axes.table.std(axis=0, ddof=1) if axes.scale else np.ones(axes.table.shape[1])
    scaled = variance / divisors**2
    each = np.maximum(np.sum(~np.isnan(units), axis=-1) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = scaled.sum(axis=-1) ** 2 / (scaled**2 / each).sum(axis=-1)
    return np.asarray(np.where(np.isnan(df), each.sum(axis=-1), df))


def _radius(df: Floats, level: float) -> Floats:
    """Return how many standard deviations a region of two scores reaches: (radius^2 / 2 is a quantile of F with 2 and df)."""
    return np.asarray(np.sqrt(df * ((1 - level) ** (-2 / df) - 1)))


def apart(units: Floats, statistic: str, divisors: Floats, features: Integers, draws: int, key: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the distance between every two samples, and the p-value of "their runs come from the same distributions".

    The units of two samples are exchanged at random, feature by feature: the p-value is the share of exchanges after which their means
    are as far apart, each feature by the likelihood ratio of two means against one, -log(1 - R^2), its variance being that of the two
    samples. Distances would let a feature count by its size, or if it is scaled by how little other samples differ in it; neither says how
    much its units vary.

    Parameters
    ----------
    units : array, shape (samples, features, units)
        One value each.
    statistic : str
        Of the units of a cell, between which the distance lies.
    divisors : array, shape (features,)
        What each feature of a distance is divided by.
    features : array of uint64, shape (features,)
        Keys of the random numbers of every feature: features with one key are exchanged together.
    draws, key : int, (int, int)
        How many exchanges, from which key.

    Returns
    -------
    distances, pvalues : arrays, shape (samples, samples)
        NaN where a sample lacks a feature, and the p-value where there is one unit a side: their exchange changes nothing.
    """
    samples = len(units)
    first, second = np.triu_indices(samples, 1)
    squares, ratios, informative = np.zeros(len(first)), np.zeros((len(first), 1 + draws)), np.zeros(len(first), dtype=bool)
    streams = Streams(key)
    # Features differ in their exchanges; all pairs of samples with as many units make the same ones.
    for feature_units, name, divisor in zip(np.swapaxes(units, 0, 1), features.tolist(), divisors.tolist(), strict=True):
        counts = np.sum(~np.isnan(feature_units), axis=-1)
        scores = run_statistic(feature_units, statistic)
        squares += ((scores[first] - scores[second]) / divisor) ** 2
        kinds = np.stack([counts[first], counts[second]], axis=-1)
        informative |= kinds.sum(axis=-1) > 2
        ordered = np.take_along_axis(feature_units, np.argsort(np.isnan(feature_units), axis=-1, kind="stable"), axis=-1)
        for n, m in np.unique(kinds[kinds.min(axis=-1) > 0], axis=0).tolist():
            order = streams.words([name], EXCHANGES, draws * (n + m)).reshape(draws, -1).argsort(axis=-1)[:, :n]
            order = np.concatenate([np.arange(n)[None], order])  # what was observed comes first
            rows = np.flatnonzero((kinds == (n, m)).all(axis=-1))
            size = max(1, BLOCK // order.size)
            for batch in np.split(rows, range(size, len(rows), size)):
                pool = np.concatenate([ordered[first[batch], :n], ordered[second[batch], :m]], axis=-1)
                ratios[batch] += _likelihood_ratios(pool, order)
    pvalues = (ratios >= ratios[:, :1] - TIES).sum(axis=-1) / (draws + 1)
    results = np.zeros((2, samples, samples)) + np.array([0.0, 1.0])[:, None, None]
    for matrix, batch in zip(results, (np.sqrt(squares), np.where(informative & ~np.isnan(squares), pvalues, np.nan)), strict=True):
        matrix[first, second] = matrix[second, first] = batch
    return results[0], results[1]


def _likelihood_ratios(pool: Floats, chosen: Integers) -> Floats:
    """Return -log(1 - R^2) (rows, ways) of giving the chosen units (ways, n) of every row to one sample and the others to another."""
    number, n = pool.shape[-1], chosen.shape[-1]
    deviations = pool - pool[:, :1]  # equal units differ from their rounded mean
    deviations -= deviations.mean(axis=-1, keepdims=True)
    total = (deviations**2).sum(axis=-1, keepdims=True)
    between = deviations[:, chosen].sum(axis=-1) ** 2 * (number / (n * (number - n)))
    explained = np.divide(between, total, out=np.zeros_like(between), where=total > 0)  # units that are all equal tell nothing
    return np.asarray(-np.log(np.maximum(1 - explained, CERTAIN)))

"""Splits of units into two halves, and rules that pool all values of each."""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from perfarray.numerics.types import Floats, Integers, Mask


def number_of_splits(n: int) -> int:
    """Return the number of splits of n units into unordered halves.

    Of an odd number one half has one more.
    """
    return comb(n, n // 2) // (2 if n % 2 == 0 else 1) if n > 1 else 0


def halves(n: int, max_splits: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return the units, ascending, of both halves of distinct splits.

    All splits, in lexical order, or at most so many at random.
    """
    if number_of_splits(n) <= max_splits:
        combinations_of_units = np.array(list(combinations(range(n), n // 2)))
        first = combinations_of_units[
            : number_of_splits(n)
        ]  # of an even number, those without unit 0 are the others' second halves
    else:
        first = np.empty((0, n // 2), dtype=np.int64)
        while len(first) < max_splits:  # once, but for a few units
            orders = np.argsort(rng.random((max_splits, n)), axis=1)
            if n % 2 == 0:
                orders = np.where(
                    (orders[:, : n // 2] == 0).any(axis=1)[:, None], orders, orders[:, ::-1]
                )
            candidates = np.concatenate([first, np.sort(orders[:, : n // 2], axis=1)])
            first = candidates[np.sort(np.unique(candidates, axis=0, return_index=True)[1])][
                :max_splits
            ]
    is_second = np.ones((len(first), n), dtype=bool)
    np.put_along_axis(is_second, first, False, axis=1)
    return first, np.nonzero(is_second)[1].reshape(len(first), n - n // 2)


class Pool(NamedTuple):
    """The number of values, their mean, and their sum of squared deviations."""

    n: Integers
    mean: Floats
    squares: Floats


def pool(values: Floats) -> Pool:
    """Summarise the values along the last axis; NaN is not measured."""
    measured = ~np.isnan(values)
    n = measured.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(measured, values, 0.0).sum(axis=-1) / n
    return Pool(n, mean, np.where(measured, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1))


def pooled_t(first: Floats, second: Floats) -> Floats:
    """Return the p-value of Student's t test of all values of two sides, two-sided.

    NaN where nothing varies.
    """
    x, y = pool(first), pool(second)
    df = x.n + y.n - 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((x.squares + y.squares) / df * (1 / x.n + 1 / y.n))
        return np.asarray(2 * stdtr(df, -np.abs(x.mean - y.mean) / error))


def errors_apart(first: Floats, second: Floats, level: float) -> tuple[Mask, Mask]:
    """Return whether the t intervals of two sides do not overlap, and where both exist."""
    x, y = pool(first), pool(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = sum(
            stdtrit(side.n - 1.0, (1 + level) / 2) * np.sqrt(side.squares / (side.n - 1.0) / side.n)
            for side in (x, y)
        )
    return np.asarray(np.abs(x.mean - y.mean) > reach), np.asarray(~np.isnan(reach))

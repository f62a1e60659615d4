"""Print the constants of `history/numerics/law.py` (ten minutes) and, with `watch`, of
`history/numerics/watch.py`, by simulation.

Of every length, orders of the normal scores are drawn at random; the statistic is that of
`strongest`, for many orders at once. A limit is the least value that is reached or exceeded with a
probability of at most the one given (and 2 % of it, for the error of simulation).
"""

import sys

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics import watch
from perfarray.history.numerics.law import BUMPS, CHANCES, LENGTHS
from perfarray.history.numerics.search import GROWTH

BLOCK = 50_000


def draw(n: int, least: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return the statistics of some random orders of n values."""
    scores = ndtri(np.arange(1, n + 1) / (n + 1))
    scores = (scores - scores.mean()) / scores.std()
    orders = rng.permuted(np.broadcast_to(scores, (number, n)), axis=1)
    sums = np.concatenate([np.zeros((number, 1)), np.cumsum(orders, axis=1)], axis=1)
    steps = np.arange(least, n - least + 1)
    largest = (np.abs(sums[:, steps]) / np.sqrt(steps * (n - steps) / n)).max(axis=1)
    length = least
    while length <= min(n - 2 * least, n // 2):
        inside = sums[:, least + length : n - least + 1] - sums[:, least : n - least + 1 - length]
        bumps = np.maximum(inside.max(axis=1), -inside.min(axis=1)) / np.sqrt(
            length * (n - length) / n
        )
        largest = np.maximum(largest, bumps - np.sqrt(2 * np.log(np.e * n / length)) + BUMPS)
        length = max(length + 1, round(length * GROWTH))
    return largest


def limits(n: int, total: int) -> list[float]:
    """Return the limits of series of n values, with segments of at least two."""
    rng = np.random.default_rng(n)
    block = max(1, min(BLOCK, 20_000_000 // n))
    drawn = np.concatenate([draw(n, 2, block, rng) for _ in range(total // block)])
    values, counts = np.unique(np.round(drawn, 9), return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1] / len(drawn)
    return [
        float(values[reached <= 1.02 * chance][0]) if (reached <= 1.02 * chance).any() else np.inf
        for chance in CHANCES
    ]


def alarms(number: int = 900, n: int = 1000) -> list[float]:
    """Return the false alarms per commit of series of n values that are watched, by limit."""
    rng, counts = np.random.default_rng(2), np.zeros(len(watch.LIMITS))
    for _ in range(number):
        values = rng.normal(size=n)
        for place, rate in enumerate(watch.RATES):
            seen = len(watch.watch(values, np.ones(n), 2, rate))
            counts[place] += seen
            if not seen:
                break  # nor at a higher limit
    return (counts / number / n).tolist()


if __name__ == "__main__" and sys.argv[1:] == ["watch"]:
    print(dict(zip(watch.LIMITS.tolist(), alarms(), strict=True)))
elif __name__ == "__main__":
    for length in map(int, sys.argv[1:] or LENGTHS):
        row = limits(length, 2_000_000 if length <= 70 else 500_000 if length <= 200 else 200_000)
        print(f"{length:6d} {' '.join(f'{limit:5.3f}' for limit in row)}", flush=True)

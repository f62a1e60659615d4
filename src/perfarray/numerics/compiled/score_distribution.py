"""The scores of a suite, compiled: the tables of a cell are made, used and forgotten while they are in the cache.

The random bits are those of the NumPy engine, so that both engines draw the same scores, on any number of threads.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats

F = TypeVar("F", bound=Callable[..., Any])

_one_at_a_time = Lock()
"""The threads of one call share the work; calls from several threads take turns, since not every threading layer allows more."""


def _compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, **options)
    return decorate


def scores_compiled(parts: Floats, together: int, bits: npt.NDArray[np.uint32], number: int, mean: str) -> Floats:
    """Draw scores.

    Parameters
    ----------
    parts : array, shape (benchmarks, cells, runs)
        What the runs contribute to the score; the benchmarks are a multiple of `together`.
    together : int
        Benchmarks that share a table of combinations.
    bits : array of uint32, shape (cells, at least benchmarks / together * number)
        Random bits.
    number : int
        Scores a cell.
    mean : {"geometric", "harmonic", "arithmetic"}
        Whether contributions are multiplied, or added, or added and inverted.

    Returns
    -------
    array, shape (cells, number)
    """
    scores = np.empty((len(bits), number))
    with _one_at_a_time:
        _draw(np.ascontiguousarray(parts), together, bits, mean == "geometric", mean == "harmonic", scores)
    return scores


@_compiled(parallel=True, boundscheck=False)
def _draw(parts: Floats, together: int, bits: Any, multiply: bool, invert: bool, scores: Floats) -> None:
    """Fill in the scores of every cell."""
    benchmarks, cells, count = parts.shape
    number = scores.shape[1]
    for cell in numba.prange(cells):
        table = np.empty(count**together)
        scores[cell] = 1.0 if multiply else 0.0
        for group in range(benchmarks // together):
            _fill(parts[group * together : (group + 1) * together, cell], multiply, table)
            _look_up(table, bits[cell, group * number : (group + 1) * number], multiply, scores[cell])
        if invert:
            for place in range(number):
                scores[cell, place] = 1.0 / scores[cell, place]


@_compiled(boundscheck=False)
def _fill(parts: Floats, multiply: bool, table: Floats) -> None:
    """Combine the parts of a few benchmarks, the last one varying slowest."""
    together, count = parts.shape
    table[:count] = parts[0]
    filled = count
    for benchmark in range(1, together):
        # From the last run to the first, so that what is combined is overwritten last.
        for run in range(count - 1, -1, -1):
            for entry in range(filled):
                if multiply:
                    table[run * filled + entry] = parts[benchmark, run] * table[entry]
                else:
                    table[run * filled + entry] = parts[benchmark, run] + table[entry]
        filled *= count


@_compiled(boundscheck=False)
def _look_up(table: Floats, bits: Any, multiply: bool, scores: Floats) -> None:
    """Multiply or add the entries that the bits stand for."""
    entries = np.uint64(len(table))
    for place in range(len(scores)):
        pick = (np.uint64(bits[place]) * entries) >> np.uint64(32)
        if multiply:
            scores[place] *= table[pick]
        else:
            scores[place] += table[pick]

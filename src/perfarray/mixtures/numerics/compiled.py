"""EM for mixtures of normal distributions, compiled by numba: one fit at a time, in the cache.

`run_compiled` gives blocks of a pool's fits to threads, `_climb` takes one fit after the other to
its maximum, `_step` is one step of EM, which `em.py` has in NumPy, and `_extrapolate` fills in
where two steps point to.

A call of `math.exp` or `math.log` would keep a loop from being vectorised; `_exp` and `_log` do
not. They and `_climb` keep the order of their sums; `_step` may take sums in any order, so that its
last bits differ from NumPy's.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread
from typing import Any, TypeVar, cast

import numba
import numpy as np

from perfarray.mixtures.numerics.pool import (
    FLOOR,
    GAIN,
    LOG_2PI,
    MOST_STEPS,
    MOVED,
    SETTLED,
    TINY,
    EmResult,
    Pool,
    Theta,
)

F = TypeVar("F", bound=Callable[..., Any])
Block = TypeVar("Block")

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10

# 1.5 times 2 to the 52: added to a number, it leaves the nearest whole number in the lowest bits.
ROUND = 6755399441055744.0

# Exponents below this are replaced by it; such densities are computed again where they matter.
LEAST = -700.0

# Values times components of the fits that a thread takes at a time: about a millisecond.
BLOCK = 1 << 14

# Blocks below which one thread takes them all: starting threads costs more than they gain.
FEW = 4


# For functions that only compiled ones call: no entries for Python and C, which halves the time to
# compile them.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process; a division by zero raises nothing."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return decorate


def run_compiled(pool: Pool, theta: Theta, limit: float, forced: bool, last: bool) -> EmResult:
    """Run EM on the fits of a pool, a block of them at a time, in threads."""
    samples, size = pool.samples, len(pool.rows)
    values, weights, inside = map(
        np.ascontiguousarray, (samples.values, samples.weights, samples.inside)
    )
    fits = np.stack(
        [pool.rows, pool.n, pool.firsts, pool.numbers, pool.equal], axis=-1, dtype=np.int64
    )
    scales = np.stack([pool.total, pool.jacobian], axis=-1)
    points = np.empty((5, len(pool.owner), 3))
    bounded, low = pool.bounded(theta)
    points[0] = np.stack(bounded, axis=-1)
    logliks, ends = np.empty(size), np.empty((size, 3), np.int64)
    ends[:, 2] = low

    def work(block: slice) -> None:
        buffers = np.empty((pool.numbers[block].max() + 2) * pool.n[block].max())
        _climb(
            values,
            weights,
            inside,
            fits[block],
            scales[block],
            limit,
            forced,
            last,
            points,
            buffers,
            logliks[block],
            ends[block],
        )

    load = np.cumsum(pool.load)
    edges = np.unique(
        [
            0,
            *np.searchsorted(
                load, np.arange(BLOCK, load[-1] if load[-1] >= FEW * BLOCK else 0, BLOCK)
            ),
            size,
        ]
    )
    # The fits with the most components are last, and start first: the last block to start should
    # not take longest.
    blocks = [slice(*pair) for pair in itertools.pairwise(edges)][::-1]
    in_threads(work, blocks, int(cast(Any, numba).config.NUMBA_NUM_THREADS))
    steps, converged, floored = ends.T
    return EmResult(Theta(*points[0].T.copy()), logliks, steps, converged > 0, floored > 0)


def in_threads(work: Callable[[Block], object], blocks: Sequence[Block], threads: int) -> None:
    """Work on independent blocks, started in their order, in several threads.

    In a thread that is not the main one, as in dask's, the cores are shared already: the work stays
    in that thread.
    """
    if min(threads, len(blocks)) < 2 or current_thread() is not main_thread():
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(min(threads, len(blocks))) as executor:
        for _ in executor.map(
            work, blocks
        ):  # an error ends the loop and cancels what has not started
            pass


@compiled(fastmath={"contract"}, **INNER)
def _exp(x: Any) -> Any:
    """Return the exponential of a number that is not above 700."""
    x = x if x > LEAST else LEAST
    shifted = x * LOG2E + ROUND
    rounded = shifted - ROUND
    r = (x - rounded * LN2_HIGH) - rounded * LN2_LOW
    p = 1 / 39916800 + r * (1 / 479001600)  # 1 / 11! and 1 / 12!
    p = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * p))
    p = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * p))
    p = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * p))))
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


@compiled(fastmath={"contract"}, **INNER)
def _log(x: Any) -> Any:
    """Return the logarithm of a positive normal number.

    Of f = (m - 1) / (m + 1), m being the mantissa, it is 2 artanh(f).
    """
    bits = np.float64(x).view(np.int64)
    exponent = np.float64((bits >> 52) - 1023)
    mantissa = np.int64((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    high = mantissa > 1.4142135623730951
    mantissa = 0.5 * mantissa if high else mantissa
    exponent = exponent + 1.0 if high else exponent
    f = (mantissa - 1.0) / (mantissa + 1.0)
    s = f * f
    p = 1 / 15 + s * (1 / 17 + s * (1 / 19 + s * (1 / 21)))
    p = 1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s * p)))
    p = 1.0 + s * (1 / 3 + s * (1 / 5 + s * p))
    return exponent * 0.6931471805599453 + (f + f) * p


@compiled(no_cfunc_wrapper=True)
def _climb(
    values: Any,
    weights: Any,
    inside: Any,
    fits: Any,
    scales: Any,
    limit: float,
    forced: bool,
    last: bool,
    points: Any,
    buffers: Any,
    logliks: Any,
    ends: Any,
) -> None:
    """Run EM, fit after fit: plain to the limit, or accelerated if the limit is 0.

    Accelerated, it takes two steps from the first point, and one from the fourth, where they point
    to. It goes back to plain EM wherever it would lose likelihood.

    A row of `fits` holds the sample, its number of values, the position of the first component, the
    number of components, and whether they have one variance; a row of `scales` the total weight and
    the Jacobian; a row of `ends`, which is filled in, steps, whether the fit converged, and whether
    it was at the floor. `points` holds weight, mean and variance of every component at five points:
    the beginning of a cycle, after one step, after two, where these point to, and after a step from
    there.
    """
    cycle = 1 if limit > 0 else 3
    for fit in range(len(fits)):
        row, n, first = fits[fit, 0], fits[fit, 1], fits[fit, 2]
        number, equal = fits[fit, 3], fits[fit, 4]
        x, w, within = values[row, :n], weights[row, :n], inside[row, :n]
        theta = points[:, first : first + number]
        room = buffers[: (number + 2) * n].reshape(number + 2, n)
        cap, steps, low = 4.0, 0, ends[fit, 2] > 0
        converged = fell = False
        past = math.inf
        previous = loglik = following = stretch = distance = ahead = 0.0
        while steps + cycle <= MOST_STEPS and not converged and (forced or not low):
            fell = fell or low
            low = low_second = low_third = False
            for index in range(cycle):
                start = index + (index == 2)
                previous, loglik = loglik, following
                following, spread = _step(
                    x, w, within, scales[fit, 0], theta[start], theta[start + 1], room
                )
                low, low_second, low_third = low or low_second, low_third, False
                for k in range(number):
                    share = theta[start + 1, k, 0]
                    variance = spread if equal else theta[start + 1, k, 2]
                    at_floor = variance <= FLOOR or share < TINY
                    theta[start + 1, k, 0] = TINY if share < TINY else share
                    theta[start + 1, k, 2] = FLOOR if at_floor else variance
                    low_third = low_third or at_floor
                if index == 1:
                    stretch, distance, ahead = _extrapolate(theta, cap, equal)
            steps += cycle
            if cycle == 1:
                in_units, loglik, moved = following - scales[fit, 1], following, 0.0
                converged = abs(past - in_units) / (1 + abs(in_units)) <= limit
                over = converged or steps == MOST_STEPS
                past, low = in_units, low_third and not over
                for k in range(number):
                    moved += (theta[1, k, 0] - theta[0, k, 0]) ** 2
                point = 0 if over and not (converged and last and moved > MOVED) else 1
            else:
                accepted = following >= loglik
                low = low or (low_third if accepted else low_second)
                if accepted and stretch >= cap:
                    cap *= 4.0
                elif not accepted:
                    cap = cap / 4.0 if cap > 4.0 else 1.0
                fell = fell or low
                converged = distance <= SETTLED or abs(loglik - previous) * ahead <= GAIN
                point = 1 if converged or (low and not forced) else 4 if accepted else 2
            for k in range(number):
                for column in range(3):
                    theta[0, k, column] = theta[point, k, column]
        if cycle == 1 and low and not forced:
            loglik, steps = -math.inf, 0
        logliks[fit] = loglik
        ends[fit, 0], ends[fit, 1], ends[fit, 2] = steps, converged, fell or low


@compiled(fastmath={"reassoc", "contract", "nsz"}, **INNER)
def _step(x: Any, w: Any, inside: Any, total: float, theta: Any, following: Any, room: Any) -> Any:
    """Take one step of EM, from parameters to the following ones.

    Return the log-likelihood, and the one variance that follows.
    """
    number, n = len(theta), len(x)
    sums, shares = room[number], room[number + 1]
    for i in range(n):
        sums[i] = 0.0
    for k in range(number):
        mean, joint = theta[k, 1], room[k]
        slope, height = -0.5 / theta[k, 2], theta[k, 0] / math.sqrt(theta[k, 2])
        for i in range(n):
            d = x[i] - mean
            e = height * _exp(slope * (d * d + inside[i]))
            joint[i] = e
            sums[i] += e
    n_tiny = 0
    for i in range(n):
        n_tiny += sums[i] < TINY
    loglik = -0.5 * LOG_2PI * total
    if n_tiny > 0:
        for i in range(n):
            if sums[i] < TINY:
                loglik += w[i] * _far(x[i], inside[i], theta, room[:, i])
    for i in range(n):
        loglik += w[i] * _log(sums[i])
        shares[i] = w[i] / sums[i]
    spread = 0.0
    for k in range(number):
        mean, joint = theta[k, 1], room[k]
        mass = moment = square = 0.0
        for i in range(n):
            d = x[i] - mean
            r = joint[i] * shares[i]
            mass += r
            moment += r * d
            square += r * (d * d + inside[i])
        safe = mass if mass > 0 else 1.0
        shift = moment / safe
        square -= safe * shift * shift
        spread += square
        following[k, 0], following[k, 1], following[k, 2] = (
            mass / total,
            mean + shift,
            square / safe,
        )
    return loglik, spread / total


@compiled(**INNER)
def _far(x: float, inside: float, theta: Any, joint: Any) -> float:
    """Write the densities at a value far from every component, relative to the largest.

    Their sum comes behind them. Return the largest logarithm.
    """
    number = len(theta)
    largest = -math.inf
    for k in range(number):
        weight, mean, variance = theta[k, 0], theta[k, 1], theta[k, 2]
        d = x - mean
        joint[k] = math.log(weight) - 0.5 * math.log(variance) - 0.5 * (d * d + inside) / variance
        largest = max(largest, joint[k])
    joint[number] = 0.0
    for k in range(number):
        joint[k] = math.exp(joint[k] - largest)
        joint[number] += joint[k]
    return largest


@compiled(**INNER)
def _extrapolate(theta: Any, cap: float, equal: int) -> tuple[float, float, float]:
    """Fill in where two steps of EM point to.

    Return how far that is in steps, the distance to the maximum, and the steps to it.

    The first step and its change are kept in the last two points meanwhile.
    """
    number = theta.shape[1]
    wide = math.sqrt(number) if equal else 1.0
    length = curve = 0.0
    for k in range(number):
        deviation = math.sqrt(theta[0, k, 2])
        for column in range(3):
            start, first, second = theta[0, k, column], theta[1, k, column], theta[2, k, column]
            if column == 0:
                step, next_step = (
                    math.log(first) - math.log(start),
                    math.log(second) - math.log(first),
                )
            elif column == 1:
                step, next_step = (first - start) / deviation, (second - first) / deviation
            else:
                step, next_step = (
                    0.5 * math.log(first / start) / wide,
                    0.5 * math.log(second / first) / wide,
                )
            theta[3, k, column], theta[4, k, column] = step, next_step - step
            length += step * step
            curve += (next_step - step) * (next_step - step)
    length, curve = math.sqrt(length), math.sqrt(curve)
    ahead = max(length / curve, 1.0) if curve > 0 else 1.0
    stretch = min(ahead, cap)
    largest, total = -math.inf, 0.0
    for k in range(number):
        for column in range(3):
            theta[3, k, column] = (
                2 * stretch * theta[3, k, column] + stretch * stretch * theta[4, k, column]
            )
        variance = theta[0, k, 2]
        theta[3, k, 0] += math.log(theta[0, k, 0])
        theta[3, k, 1] = theta[0, k, 1] + math.sqrt(variance) * theta[3, k, 1]
        variance *= math.exp(min(max(2 * wide * theta[3, k, 2], -60.0), 60.0))
        theta[3, k, 2] = min(max(variance, FLOOR), 1e12)
        largest = max(largest, theta[3, k, 0])
    for k in range(number):
        theta[3, k, 0] = math.exp(theta[3, k, 0] - largest)
        total += theta[3, k, 0]
    for k in range(number):
        theta[3, k, 0] = max(theta[3, k, 0] / total, TINY)
    return stretch, length * ahead, ahead

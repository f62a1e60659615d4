"""EM for mixtures of normal distributions, compiled: the NumPy engine's steps, one fit at a time, everything in the cache.

Exponential and logarithm are written out (argument reduction, then a polynomial to full double precision), since only then do loops over
values become vector instructions: with the library's, fits are 1.3 to 3 times as fast as NumPy's, with these 4 to 10 times.

It is compiled when it is first asked for, and written so that this takes little: a compiled function is optimised and translated by itself
and once more in each of its callers, so that there are few, and few layers of them; what NumPy does as well is not compiled; a line assigns
to three names at most, since more would be a tuple.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

from perfarray.mixtures.numerics.pool import Pool, Run, Theta
from perfarray.mixtures.numerics.stops import FLOOR, GAIN, LOG_2PI, MOST_STEPS, MOVED, SETTLED, TINY, Task
from perfarray.numerics.threads import in_threads

F = TypeVar("F", bound=Callable[..., Any])

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
ROUND = 6755399441055744.0
"""1.5 times 2 to the 52: added to a number, it leaves the nearest whole number in the lowest bits."""

LEAST = -700.0
"""Exponents below this are taken for it; such densities are computed again where they matter."""

DOUBLE, BITS = ir.DoubleType(), ir.IntType(64)

CONTRACT = ("contract",)
"""An operation that says this may become one with the next, and keeps its order otherwise: (x + ROUND) - ROUND is not x."""

BLOCK = 1 << 14
"""Values times components of the fits that a thread takes at a time: a millisecond, about."""


def _compiled(function: F) -> F:
    """Compile a function, and keep it for the next process; sums may be taken in any order, so that they become vectors."""
    decorate: Any = numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}, nogil=True)
    return cast(F, decorate(function))


def _write_exp(context: Any, x: Any) -> Any:  # noqa: ARG001 (numba asks for the arguments that it compiles for)
    """Return the types and the code of the exponential of a number that is not above 700."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001
        x = builder.select(builder.fcmp_ordered("<", given[0], _double(LEAST)), _double(LEAST), given[0])
        shifted = _times_plus(builder, x, LOG2E, _double(ROUND))
        whole = builder.fsub(shifted, _double(ROUND), flags=CONTRACT)
        r = _times_plus(builder, whole, -LN2_LOW, _times_plus(builder, whole, -LN2_HIGH, x))
        p = _horner(builder, r, [1 / math.factorial(power) for power in range(12, -1, -1)])
        exponent = builder.shl(builder.bitcast(shifted, BITS), ir.Constant(BITS, 52))
        return builder.bitcast(builder.add(builder.bitcast(p, BITS), exponent), DOUBLE)

    return numba.float64(numba.float64), generate


def _write_log(context: Any, x: Any) -> Any:  # noqa: ARG001
    """Return the types and the code of the logarithm of a positive normal number."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001
        bits = builder.bitcast(given[0], BITS)
        exponent = builder.or_(builder.lshr(bits, ir.Constant(BITS, 52)), ir.Constant(BITS, 0x4330000000000000))
        exponent = builder.fsub(builder.bitcast(exponent, DOUBLE), _double(4503599627370496.0 + 1023.0))
        fraction = builder.or_(builder.and_(bits, ir.Constant(BITS, 0x000FFFFFFFFFFFFF)), ir.Constant(BITS, 0x3FF0000000000000))
        fraction = builder.bitcast(fraction, DOUBLE)
        high = builder.fcmp_ordered(">", fraction, _double(math.sqrt(2)))
        fraction = builder.select(high, builder.fmul(fraction, _double(0.5)), fraction)
        exponent = builder.select(high, builder.fadd(exponent, _double(1.0)), exponent)
        f = builder.fdiv(builder.fsub(fraction, _double(1.0)), builder.fadd(fraction, _double(1.0)))
        p = _horner(builder, builder.fmul(f, f), [1 / power for power in range(21, 0, -2)])
        return _times_plus(builder, exponent, math.log(2), builder.fmul(builder.fadd(f, f), p))

    return numba.float64(numba.float64), generate


def _double(number: float) -> Any:
    """Return a number as it stands in code."""
    return ir.Constant(DOUBLE, number)


def _times_plus(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the code of a times b plus c, in one operation where there is one."""
    return builder.fadd(builder.fmul(a, _double(b) if isinstance(b, float) else b, flags=CONTRACT), c, flags=CONTRACT)


def _horner(builder: Any, x: Any, coefficients: list[float]) -> Any:
    """Return the code of a polynomial, that of the highest power first."""
    p = _double(coefficients[0])
    for coefficient in coefficients[1:]:
        p = _times_plus(builder, p, x, _double(coefficient))
    return p


_exp: Any = intrinsic(_write_exp)
_log: Any = intrinsic(_write_log)


def plain_compiled(pool: Pool, theta: Theta, task: Task) -> Run:
    """Run plain EM on the fits of a pool."""
    return _run(_plain, pool, theta, task)


def accelerated_compiled(pool: Pool, theta: Theta, forced: bool) -> Run:
    """Run squared extrapolation of EM on the fits of a pool."""
    return _run(_accelerated, pool, theta, (forced,))


def _run(kernel: Any, pool: Pool, theta: Theta, asked: tuple[Any, ...]) -> Run:
    """Run a kernel on the fits of a pool, a block of them at a time, in threads."""
    samples, size = pool.samples, len(pool.rows)
    data = tuple(map(np.ascontiguousarray, (samples.values, samples.weights, samples.inside)))
    fits = np.stack([pool.rows, pool.n, pool.firsts, pool.numbers, pool.equal], axis=-1, dtype=np.int64)
    scales = np.stack([pool.total, pool.jacobian], axis=-1)
    points = np.empty((5, len(pool.owner), 3))
    held, low = pool.held(theta)
    points[0] = np.stack(held, axis=-1)
    logliks, ended = np.empty(size), np.empty((size, 3), np.int64)
    ended[:, 2] = low

    def work(part: slice) -> None:
        room = np.empty((pool.numbers[part].max() + 2, pool.n[part].max()))
        kernel(*data, fits[part], scales[part], *asked, points, room, logliks[part], ended[part])

    load = np.cumsum(pool.load)
    edges = np.unique([0, *np.searchsorted(load, np.arange(BLOCK, load[-1], BLOCK)), size])
    # Those with the most components stand last, and are begun first: the last to begin should not be the longest.
    in_threads(work, [slice(*pair) for pair in itertools.pairwise(edges)][::-1], cast(Any, numba).config.NUMBA_NUM_THREADS)
    steps, converged, floored = ended.T
    return Run(Theta(*points[0].T.copy()), logliks, steps, converged > 0, floored > 0)


@_compiled
def _plain(
    values: Any, weights: Any, inside: Any, fits: Any, scales: Any, limit: float, forced: bool, last: bool,
    points: Any, room: Any, logliks: Any, ended: Any,
) -> None:  # fmt: skip
    """Run plain EM until |change of l| / (1 + |l|) is at most the limit, fit after fit."""
    theta, following = points[0], points[1]
    for fit in range(len(fits)):
        first, end = fits[fit, 2], fits[fit, 2] + fits[fit, 3]
        before, loglik, steps = math.inf, -math.inf, 0
        done, low, low_next = False, False, ended[fit, 2] > 0
        while steps < MOST_STEPS and not done:
            low = low or low_next
            if low and not forced:
                loglik, steps = -math.inf, 0
                break
            loglik, low_next = _step(values, weights, inside, fits, scales, fit, theta, following, room)
            steps += 1
            in_units = loglik - scales[fit, 1]
            done = abs(before - in_units) / (1 + abs(in_units)) <= limit
            before, moved = in_units, 0.0
            for k in range(first, end):
                moved += (following[k, 0] - theta[k, 0]) ** 2
            if (last and moved > MOVED) if done else steps < MOST_STEPS:
                for k in range(first, end):
                    theta[k, 0], theta[k, 1], theta[k, 2] = following[k, 0], following[k, 1], following[k, 2]
        logliks[fit] = loglik
        ended[fit, 0], ended[fit, 1], ended[fit, 2] = steps, done, low


@_compiled
def _accelerated(
    values: Any, weights: Any, inside: Any, fits: Any, scales: Any, forced: bool,
    points: Any, room: Any, logliks: Any, ended: Any,
) -> None:  # fmt: skip
    """Run squared extrapolation of EM, which goes back to plain EM wherever it would lose likelihood, fit after fit.

    From the first point two steps are taken, and one from the fourth, where they point to.
    """
    for fit in range(len(fits)):
        first, end = fits[fit, 2], fits[fit, 2] + fits[fit, 3]
        cap, steps = 4.0, 0
        low = arrived = fell = False
        before = loglik = beyond = stretch = distance = ahead = 0.0
        while steps + 3 <= MOST_STEPS and not arrived and (forced or not low):
            low = low_second = low_third = False
            for taken in range(3):
                at = taken + (taken == 2)
                before, loglik = loglik, beyond
                low, low_second = low or low_second, low_third
                beyond, low_third = _step(values, weights, inside, fits, scales, fit, points[at], points[at + 1], room)
                if taken == 1:
                    stretch, distance, ahead = _extrapolate(points, first, end, cap, fits[fit, 4])
            steps += 3
            accepted = beyond >= loglik
            low = low or (low_third if accepted else low_second)
            if accepted and stretch >= cap:
                cap *= 4.0
            elif not accepted:
                cap = cap / 4.0 if cap > 4.0 else 1.0
            fell = fell or low
            arrived = distance <= SETTLED or abs(loglik - before) * ahead <= GAIN
            chosen = points[1 if arrived or (low and not forced) else 4 if accepted else 2]
            for k in range(first, end):
                for part in range(3):
                    points[0, k, part] = chosen[k, part]
        logliks[fit] = loglik
        ended[fit, 0], ended[fit, 1], ended[fit, 2] = steps, arrived, fell


@_compiled
def _step(values: Any, weights: Any, inside: Any, fits: Any, scales: Any, fit: int, theta: Any, following: Any, room: Any) -> Any:
    """Take one step of EM: fill in the next parameters, variances held at the floor or above.

    Return the log-likelihood of the parameters given, and whether those filled in had to be held.
    """
    row, n, total = fits[fit, 0], fits[fit, 1], scales[fit, 0]
    first, number = fits[fit, 2], fits[fit, 3]
    x, w, inside = values[row], weights[row], inside[row]
    sums, shares = room[number], room[number + 1]
    for i in range(n):
        sums[i] = 0.0
    for k in range(number):
        mean, slope = theta[first + k, 1], -0.5 / theta[first + k, 2]
        height = theta[first + k, 0] / math.sqrt(theta[first + k, 2])
        for i in range(n):
            d = x[i] - mean
            e = height * _exp(slope * (d * d + inside[i]))
            room[k, i] = e
            sums[i] += e
    n_tiny = 0
    for i in range(n):
        n_tiny += sums[i] < TINY
    loglik = -0.5 * LOG_2PI * total
    if n_tiny > 0:
        for i in range(n):
            if sums[i] < TINY:
                loglik += w[i] * _far(x[i], inside[i], theta, first, number, room, i)
    for i in range(n):
        loglik += w[i] * _log(sums[i])
        shares[i] = w[i] / sums[i]
    spread = 0.0
    for k in range(number):
        mean = theta[first + k, 1]
        zero = one = two = 0.0
        for i in range(n):
            d = x[i] - mean
            r = room[k, i] * shares[i]
            zero += r
            one += r * d
            two += r * (d * d + inside[i])
        safe = zero if zero > 0 else 1.0
        shift = one / safe
        square = two - safe * shift * shift
        spread += square
        following[first + k, 0], following[first + k, 1], following[first + k, 2] = zero / total, mean + shift, square / safe
    low = False
    for k in range(first, first + number):
        share, variance = following[k, 0], spread / total if fits[fit, 4] else following[k, 2]
        held = variance <= FLOOR or share < TINY
        following[k, 2] = FLOOR if held else variance
        following[k, 0] = TINY if share < TINY else share
        low = low or held
    return loglik, low


@_compiled
def _far(x: float, inside: float, theta: Any, first: int, number: int, room: Any, place: int) -> float:
    """Write the densities at a value far from every component, relative to the largest; return the logarithm of that."""
    largest, together = -math.inf, 0.0
    for k in range(number):
        d, variance = x - theta[first + k, 1], theta[first + k, 2]
        term = math.log(theta[first + k, 0]) - 0.5 * math.log(variance) - 0.5 * (d * d + inside) / variance
        room[k, place] = term
        largest = term if term > largest else largest
    for k in range(number):
        room[k, place] = math.exp(room[k, place] - largest)
        together += room[k, place]
    room[number, place] = together
    return largest


@_compiled
def _extrapolate(points: Any, begin: int, end: int, cap: float, equal: int) -> tuple[float, float, float]:
    """Fill in where two steps of EM point to; return how far that is, and an estimate of the way to the maximum: as it is, in steps.

    The way and its bend stand in the last two points until then.
    """
    wide = math.sqrt(end - begin) if equal else 1.0
    length = curve = 0.0
    for k in range(begin, end):
        deviation = math.sqrt(points[0, k, 2])
        for part in range(3):
            start, first, second = points[0, k, part], points[1, k, part], points[2, k, part]
            if part == 0:
                one, two = math.log(first) - math.log(start), math.log(second) - math.log(first)
            elif part == 1:
                one, two = (first - start) / deviation, (second - first) / deviation
            else:
                one, two = 0.5 * math.log(first / start) / wide, 0.5 * math.log(second / first) / wide
            points[3, k, part], points[4, k, part] = one, two - one
            length += one * one
            curve += (two - one) * (two - one)
    length, curve = math.sqrt(length), math.sqrt(curve)
    ratio = length / curve if curve > 0 else 1.0
    ahead = ratio if ratio > 1.0 else 1.0
    stretch = ahead if ahead < cap else cap
    largest, whole = -math.inf, 0.0
    for k in range(begin, end):
        for part in range(3):
            points[3, k, part] = 2 * stretch * points[3, k, part] + stretch * stretch * points[4, k, part]
        points[3, k, 0] += math.log(points[0, k, 0])
        points[3, k, 1] = points[0, k, 1] + math.sqrt(points[0, k, 2]) * points[3, k, 1]
        moved = 2 * wide * points[3, k, 2]
        variance = points[0, k, 2] * math.exp(-60.0 if moved < -60.0 else 60.0 if moved > 60.0 else moved)
        points[3, k, 2] = FLOOR if variance < FLOOR else 1e12 if variance > 1e12 else variance
        largest = points[3, k, 0] if points[3, k, 0] > largest else largest
    for k in range(begin, end):
        points[3, k, 0] = math.exp(points[3, k, 0] - largest)
        whole += points[3, k, 0]
    for k in range(begin, end):
        points[3, k, 0] = points[3, k, 0] / whole if points[3, k, 0] > TINY * whole else TINY
    return stretch, length * ahead, ahead

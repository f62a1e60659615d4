"""EM for mixtures of normal distributions, compiled: the NumPy engine's steps, one fit at a time, everything in the cache.

Where to begin: `_run` lays a pool's fits out in arrays and gives blocks of them to threads; `_climb` takes one fit after the other to its
maximum; `_step` is one step of EM, which `em.py` has in NumPy; `_extrapolate` is where two steps point to, and `_far` the densities of
values so far from every component that they underflow. What stands above `_run` writes three things that numba has no words for: `_exp`
and `_log` of a number, and `_at`, which is C's `&array[place]`. They write code of LLVM, the compiler under numba, one operation a line.

Why it is not written as NumPy would be: the plain ways were tried, and are slower (200 samples of 60 runs, up to 4 components).

- `math.exp` and `math.log` in the places of `_exp` and `_log`: fits take twice as long. A call of the library stands in the way of vector
  instructions; argument reduction and a polynomial, to full double precision, do not.
- Arrays and slices in the places of pointers: fits take one and a half times as long, the first call 1.3 times. An element of an array
  has strides and places that count from the end; one behind a pointer has neither. So kernels take pointers, and the places of a point's
  parameters (weight, mean and variance of every component, component after component) are counted by hand: `theta[3 * k + 1]` is the mean
  of component k, and `theta[2 * size + 3 * k + 1]` that of the third point.

Both change the last bits of the answers, too. It is compiled when it is first asked for, which is why there are few functions, and why a
line assigns to three names at most: more would be a tuple.

A function is translated by itself and once more in each of its callers, and which of these is run differs between the process that
compiles it and those that find it in the cache. Where sums may be taken in any order (`_step`) the two may differ in their last bits: such
a function is written into its caller (`_as_part`), and others keep the order of their sums.
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
from perfarray.mixtures.numerics.threads import in_threads

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

PLAIN = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""What kernels do without: exceptions of a division by zero, and being called by C."""

INNER = PLAIN | {"no_cpython_wrapper": True}
"""What kernels that only kernels call do without: being called by Python, too."""

BLOCK = 1 << 14
"""Values times components of the fits that a thread takes at a time: a millisecond, about."""

FEW = 4
"""Blocks below which one thread takes them all: where the other cores are busy, to begin threads costs more than they bring."""


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, **options)
    return decorate


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


def _write_at(context: Any, array: Any, place: Any) -> Any:  # noqa: ARG001
    """Return the types and the code of a pointer to a place of a contiguous array, counted through all its rows: C's `&array[place]`."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        return builder.gep(data, [given[1]])

    pointer: Any = numba.types.CPointer
    return pointer(array.dtype)(array, numba.int64), generate


def _marked(*attributes: str) -> Any:
    """Return what a function calls to have attributes of LLVM's own: numba has no argument for them; at run time the call does nothing."""

    def write(context: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001
            for attribute in attributes:
                builder.function.attributes.add(attribute)
            return context.get_dummy_value()

        return numba.void(), generate

    return intrinsic(write)


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
_at: Any = intrinsic(_write_at)

_as_part: Any = _marked("alwaysinline")
_aside: Any = _marked("noinline", "optsize")
"""How the function that calls it becomes part of its callers: written into them, or as short code of its own, which takes half the time."""


def plain_compiled(pool: Pool, theta: Theta, task: Task) -> Run:
    """Run plain EM on the fits of a pool."""
    return _run(pool, theta, task)


def accelerated_compiled(pool: Pool, theta: Theta, forced: bool) -> Run:
    """Run squared extrapolation of EM on the fits of a pool."""
    return _run(pool, theta, Task(0.0, forced, False))


def _run(pool: Pool, theta: Theta, task: Task) -> Run:
    """Run EM on the fits of a pool, a block of them at a time, in threads."""
    samples, size = pool.samples, len(pool.rows)
    values, weights, inside = map(np.ascontiguousarray, (samples.values, samples.weights, samples.inside))
    fits = np.stack([pool.rows, pool.n, pool.firsts, pool.numbers, pool.equal], axis=-1, dtype=np.int64)
    scales = np.stack([pool.total, pool.jacobian], axis=-1)
    points = np.empty((5, len(pool.owner), 3))
    held, low = pool.held(theta)
    points[0] = np.stack(held, axis=-1)
    logliks, ended = np.empty(size), np.empty((size, 3), np.int64)
    ended[:, 2] = low

    def work(part: slice) -> None:
        room = np.empty((pool.numbers[part].max() + 2) * pool.n[part].max())
        _climb(values, weights, inside, fits[part], scales[part], *task, points, room, logliks[part], ended[part])

    load = np.cumsum(pool.load)
    edges = np.unique([0, *np.searchsorted(load, np.arange(BLOCK, load[-1] if load[-1] >= FEW * BLOCK else 0, BLOCK)), size])
    # Those with the most components stand last, and are begun first: the last to begin should not be the longest.
    in_threads(work, [slice(*pair) for pair in itertools.pairwise(edges)][::-1], int(cast(Any, numba).config.NUMBA_NUM_THREADS))
    steps, converged, floored = ended.T
    return Run(Theta(*points[0].T.copy()), logliks, steps, converged > 0, floored > 0)


@compiled(**PLAIN)
def _climb(
    values: Any, weights: Any, inside: Any, fits: Any, scales: Any, limit: float, forced: bool, last: bool,
    points: Any, room: Any, logliks: Any, ended: Any,
) -> None:  # fmt: skip
    """Run EM, fit after fit: plain until |change of l| / (1 + |l|) is at most the limit, or without one accelerated.

    Accelerated, it takes two steps from the first point, and one from the fourth, where they point to. It goes back to plain EM wherever
    it would lose likelihood.

    `theta` points to the parameters of this fit in the first of five points, which lie `size` apart: where a cycle begins, after one step,
    after two, where these point to, and after a step from there. A row of `fits` holds the sample, its number of values, the place of the
    first component, the number of components, and whether they have one variance; a row of `scales` the total weight and what comes off
    likelihoods for them to be in the units of the values; a row of `ended`, which is filled in, steps, whether it converged, and whether it
    was at the floor.
    """
    length, size, cycle = values.shape[1], 3 * points.shape[1], 1 if limit > 0 else 3
    for fit in range(len(fits)):
        own, found, theta = _at(fits, 5 * fit), _at(ended, 3 * fit), _at(points, 3 * fits[fit, 2])
        first, n, number = length * own[0], own[1], own[3]
        x, w, within = _at(values, first), _at(weights, first), _at(inside, first)
        cap, steps, low = 4.0, 0, found[2] > 0
        done = fell = False
        past = math.inf
        before = loglik = beyond = stretch = distance = ahead = 0.0
        while steps + cycle <= MOST_STEPS and not done and (forced or not low):
            fell = fell or low
            low = low_second = low_third = False
            for taken in range(cycle):
                at = (taken + (taken == 2)) * size
                before, loglik = loglik, beyond
                beyond, spread = _step(x, w, within, n, number, scales[fit, 0], theta, at, at + size, _at(room, 0))
                low, low_second, low_third = low or low_second, low_third, False
                for to in range(at + size, at + size + 3 * number, 3):
                    share, variance = theta[to], spread if own[4] else theta[to + 2]
                    held = variance <= FLOOR or share < TINY
                    theta[to], theta[to + 2] = TINY if share < TINY else share, FLOOR if held else variance
                    low_third = low_third or held
                if taken == 1:
                    stretch, distance, ahead = _extrapolate(theta, size, number, cap, own[4])
            steps += cycle
            if cycle == 1:
                in_units, loglik, moved = beyond - scales[fit, 1], beyond, 0.0
                done = abs(past - in_units) / (1 + abs(in_units)) <= limit
                over = done or steps == MOST_STEPS
                past, low = in_units, low_third and not over
                for at in range(0, 3 * number, 3):
                    change = theta[size + at] - theta[at]
                    moved += change * change
                chosen = 0 if over and not (done and last and moved > MOVED) else 1
            else:
                accepted = beyond >= loglik
                low = low or (low_third if accepted else low_second)
                if accepted and stretch >= cap:
                    cap *= 4.0
                elif not accepted:
                    cap = cap / 4.0 if cap > 4.0 else 1.0
                fell = fell or low
                done = distance <= SETTLED or abs(loglik - before) * ahead <= GAIN
                chosen = 1 if done or (low and not forced) else 4 if accepted else 2
            for part in range(3 * number):
                theta[part] = theta[chosen * size + part]
        if cycle == 1 and low and not forced:
            loglik, steps = -math.inf, 0
        logliks[fit] = loglik
        found[0], found[1], found[2] = steps, done, fell or low


@compiled(fastmath={"reassoc", "contract", "nsz"}, **INNER)
def _step(
    x: Any, w: Any, inside: Any, n: int, number: int, total: float, points: Any, theta: int, following: int, room: Any,
) -> Any:  # fmt: skip
    """Take one step of EM, from one place of the points to another; return the log-likelihood there, and the one variance that follows."""
    _as_part()
    sums, shares = number * n, number * n + n
    for i in range(n):
        room[sums + i] = 0.0
    for k in range(number):
        weight, mean, variance = points[theta + 3 * k], points[theta + 3 * k + 1], points[theta + 3 * k + 2]
        slope, height = -0.5 / variance, weight / math.sqrt(variance)
        for i in range(n):
            d = x[i] - mean
            e = height * _exp(slope * (d * d + inside[i]))
            room[k * n + i] = e
            room[sums + i] += e
    n_tiny = 0
    for i in range(n):
        n_tiny += room[sums + i] < TINY
    loglik = -0.5 * LOG_2PI * total
    if n_tiny > 0:
        for i in range(n):
            if room[sums + i] < TINY:
                loglik += w[i] * _far(x[i], inside[i], points, theta, number, room, n, i)
    for i in range(n):
        loglik += w[i] * _log(room[sums + i])
        room[shares + i] = w[i] / room[sums + i]
    spread = 0.0
    for k in range(number):
        mean = points[theta + 3 * k + 1]
        zero = one = two = 0.0
        for i in range(n):
            d = x[i] - mean
            r = room[k * n + i] * room[shares + i]
            zero += r
            one += r * d
            two += r * (d * d + inside[i])
        safe = zero if zero > 0 else 1.0
        shift = one / safe
        square = two - safe * shift * shift
        spread += square
        at = following + 3 * k
        points[at], points[at + 1], points[at + 2] = zero / total, mean + shift, square / safe
    return loglik, spread / total


@compiled(**INNER)
def _far(x: float, inside: float, points: Any, theta: int, number: int, room: Any, n: int, place: int) -> float:
    """Write the densities at a value far from every component, relative to the largest; return the logarithm of that."""
    _aside()
    largest, together = -math.inf, 0.0
    for k in range(number):
        weight, mean, variance = points[theta + 3 * k], points[theta + 3 * k + 1], points[theta + 3 * k + 2]
        d = x - mean
        term = math.log(weight) - 0.5 * math.log(variance) - 0.5 * (d * d + inside) / variance
        room[k * n + place] = term
        largest = term if term > largest else largest
    for k in range(number):
        e = math.exp(room[k * n + place] - largest)
        room[k * n + place] = e
        together += e
    room[number * n + place] = together
    return largest


@compiled(**INNER)
def _extrapolate(points: Any, size: int, number: int, cap: float, equal: int) -> tuple[float, float, float]:
    """Fill in where two steps of EM point to; return how far that is, and an estimate of the way to the maximum: as it is, in steps.

    The way and its bend stand in the last two points until then.
    """
    _aside()
    wide = math.sqrt(number) if equal else 1.0
    length = curve = 0.0
    for at in range(0, 3 * number, 3):
        deviation = math.sqrt(points[at + 2])
        for part in range(at, at + 3):
            start, first, second = points[part], points[size + part], points[2 * size + part]
            if part == at:
                one, two = math.log(first) - math.log(start), math.log(second) - math.log(first)
            elif part == at + 1:
                one, two = (first - start) / deviation, (second - first) / deviation
            else:
                one, two = 0.5 * math.log(first / start) / wide, 0.5 * math.log(second / first) / wide
            points[3 * size + part], points[4 * size + part] = one, two - one
            length += one * one
            curve += (two - one) * (two - one)
    length, curve = math.sqrt(length), math.sqrt(curve)
    ratio = length / curve if curve > 0 else 1.0
    ahead = ratio if ratio > 1.0 else 1.0
    stretch = ahead if ahead < cap else cap
    largest, whole = -math.inf, 0.0
    for at in range(0, 3 * number, 3):
        to = 3 * size + at
        for part in range(to, to + 3):
            points[part] = 2 * stretch * points[part] + stretch * stretch * points[size + part]
        variance = points[at + 2]
        weight = points[to] + math.log(points[at])
        points[to], points[to + 1] = weight, points[at + 1] + math.sqrt(variance) * points[to + 1]
        moved = 2 * wide * points[to + 2]
        variance = variance * math.exp(-60.0 if moved < -60.0 else 60.0 if moved > 60.0 else moved)
        points[to + 2] = FLOOR if variance < FLOOR else 1e12 if variance > 1e12 else variance
        largest = weight if weight > largest else largest
    for to in range(3 * size, 3 * size + 3 * number, 3):
        weight = math.exp(points[to] - largest)
        points[to] = weight
        whole += weight
    for to in range(3 * size, 3 * size + 3 * number, 3):
        weight = points[to]
        points[to] = weight / whole if weight > TINY * whole else TINY
    return stretch, length * ahead, ahead

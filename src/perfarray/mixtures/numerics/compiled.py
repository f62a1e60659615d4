"""EM for mixtures of normal distributions, compiled: the NumPy engine's steps, one sample at a time, everything in the cache.

Exponential and logarithm are written out (argument reduction, then a polynomial to full double precision), since only then do loops over
values become vector instructions.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

from perfarray.numerics.types import Floats

F = TypeVar("F", bound=Callable[..., Any])

# The same numbers as in numerics/mixture_em.py, which imports this module: a compiled function needs them as constants.
FLOOR = 1e-12
TINY = 1e-280
MOVED = 1.4901161193847656e-08
GAIN = 1e-12
MOST_STEPS = 20_000
HALF_LOG_2PI = 0.9189385332046727

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
ROUND = 6755399441055744.0
"""1.5 times 2 to the 52: added to a number, it leaves the nearest whole number in the lowest bits."""

LEAST = -700.0
"""Exponents below this are taken for it; such densities are computed again where they matter."""


def _compiled(*, as_written: bool = False, **options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process; sums may be taken in any order, so that they become vectors.

    What is computed `as_written` keeps its order: there (x + ROUND) - ROUND is not x.
    """
    allowed = {"contract"} if as_written else {"reassoc", "contract", "nsz"}
    decorate: Callable[[F], F] = numba.njit(cache=True, error_model="numpy", fastmath=allowed, **options)
    return decorate


_intrinsic: Callable[[Any], Any] = intrinsic


@_intrinsic
def _as_float(typing: Any, bits: Any) -> Any:
    """Read 64 bits as a double."""
    del typing, bits

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        return builder.bitcast(args[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


@_intrinsic
def _as_bits(typing: Any, number: Any) -> Any:
    """Read a double as 64 bits."""
    del typing, number

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        return builder.bitcast(args[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@_compiled(as_written=True)
def _exp(x: float) -> Any:
    """Return the exponential of a number that is not above 700."""
    x = max(x, LEAST)
    shifted = x * LOG2E + ROUND
    whole = shifted - ROUND
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return _as_float(_as_bits(p) + (_as_bits(shifted) << 52))


@_compiled()
def _log(x: float) -> Any:
    """Return the logarithm of a positive normal number."""
    bits = _as_bits(x)
    exponent = _as_float((bits >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0)
    fraction = _as_float((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    high = fraction > 1.4142135623730951
    fraction = fraction * 0.5 if high else fraction
    exponent = exponent + 1.0 if high else exponent
    f = (fraction - 1.0) / (fraction + 1.0)
    g = f * f
    p = 1.0 / 21.0
    p = p * g + 1.0 / 19.0
    p = p * g + 1.0 / 17.0
    p = p * g + 1.0 / 15.0
    p = p * g + 1.0 / 13.0
    p = p * g + 1.0 / 11.0
    p = p * g + 1.0 / 9.0
    p = p * g + 1.0 / 7.0
    p = p * g + 1.0 / 5.0
    p = p * g + 1.0 / 3.0
    p = p * g + 1.0
    return exponent * 0.6931471805599453 + 2.0 * f * p


def em_compiled(
    values: Floats,
    weights: Floats,
    n: Any,
    total: Floats,
    jacobian: Floats,
    starts: Any,
    equal: bool,
    limit: float,
    forced: bool,
    last: bool,
) -> tuple[Any, ...]:
    """Run plain EM for one number of components and one model on many samples.

    Parameters
    ----------
    values, weights : array, shape (sample, value)
        Standardised samples, and what each value counts.
    n : int array, shape (sample,)
        Values of each sample.
    total, jacobian : array, shape (sample,)
        Sum of the weights, and what is taken off the log-likelihood to have it in the units of the data.
    starts : int array, shape (sample, component + 1)
        Where the classes begin that EM starts from.
    equal : bool
        Whether there is one variance.
    limit : float
        The relative change of the log-likelihood at which EM stops.
    forced, last : bool
        Whether fits at the floor go on; whether weights that still move get one more step.

    Returns
    -------
    tuple
        Weights, means and variances (sample, component); log-likelihood, steps, converged, floored (sample,).
    """
    size, number = len(values), starts.shape[-1] - 1
    theta = np.full((size, 3, number), np.nan)
    found = _room(size)
    samples = (np.ascontiguousarray(values), np.ascontiguousarray(weights), n.astype(np.intp), total, jacobian)
    _fit_all(*samples, np.ascontiguousarray(starts, np.intp), (bool(equal), bool(forced), bool(last)), limit, theta, *found)
    return (tuple(theta[:, part].copy() for part in range(3)), *found)


def finish_compiled(
    values: Floats,
    weights: Floats,
    n: Any,
    total: Floats,
    jacobian: Floats,
    start: Sequence[Floats],
    equal: bool,
    forced: bool,
    limits: tuple[float, float],
) -> tuple[Any, ...]:
    """Go on from weights, means and variances (`start`) to the maximum: plain EM, then squared extrapolation.

    Takes and returns what `em_compiled` does; `limits` are the relative change of the log-likelihood at which plain EM stops, and the
    distance from the maximum at which the extrapolation does.
    """
    theta = np.ascontiguousarray(np.stack(start, axis=1))
    found = _room(len(values))
    samples = (np.ascontiguousarray(values), np.ascontiguousarray(weights), n.astype(np.intp), total, jacobian)
    _finish_all(*samples, (bool(equal), bool(forced)), limits, theta, *found)
    return (tuple(theta[:, part].copy() for part in range(3)), *found)


def _room(size: int) -> tuple[Any, ...]:
    """Return room for log-likelihood, steps, converged and floored."""
    return np.full(size, -np.inf), np.zeros(size, np.intp), np.zeros(size, np.bool_), np.zeros(size, np.bool_)


@_compiled(nogil=True)
def _fit_all(
    values: Any, weights: Any, n: Any, total: Any, jacobian: Any, starts: Any, flags: Any, limit: float, theta: Any, loglik: Any,
    steps: Any, converged: Any, floored: Any,
) -> None:  # fmt: skip
    """Run plain EM on sample after sample."""
    equal, forced, last = flags
    number = starts.shape[1] - 1
    room = np.empty((number + 2, values.shape[1]))
    for row in range(len(values)):
        x, w, own = values[row, : n[row]], weights[row, : n[row]], theta[row]
        _classes(x, w, total[row], starts[row], equal, own)
        if number == 1:
            loglik[row] = _step(x, w, total[row], equal, own, np.empty_like(own), room)
            converged[row] = True
            continue
        loglik[row], steps[row], converged[row], floored[row] = _plain(
            x, w, total[row], jacobian[row], equal, forced, last, limit, own, room
        )


@_compiled(nogil=True)
def _finish_all(
    values: Any, weights: Any, n: Any, total: Any, jacobian: Any, flags: Any, limits: Any, theta: Any, loglik: Any, steps: Any,
    converged: Any, floored: Any,
) -> None:  # fmt: skip
    """Bring sample after sample to its maximum."""
    equal, forced = flags
    room = np.empty((theta.shape[2] + 2, values.shape[1]))
    for row in range(len(values)):
        x, w, own = values[row, : n[row]], weights[row, : n[row]], theta[row]
        found, count, done, low = _plain(x, w, total[row], jacobian[row], equal, forced, False, limits[0], own, room)
        if done and (forced or not low):
            found, more, done, fell = _accelerated(x, w, total[row], equal, forced, limits[1], own, room)
            count, low = count + more, low or fell
        loglik[row], steps[row], converged[row], floored[row] = found, count, done, low


@_compiled(nogil=True)
def _classes(x: Any, w: Any, total: float, starts: Any, equal: bool, theta: Any) -> None:
    """Weights, means and variances of the classes EM starts from."""
    number = theta.shape[1]
    squares = np.empty(number)
    for k in range(number):
        share = first = 0.0
        for i in range(starts[k], starts[k + 1]):
            share += w[i]
            first += w[i] * x[i]
        mean, second = first / share, 0.0
        for i in range(starts[k], starts[k + 1]):
            second += w[i] * (x[i] - mean) * (x[i] - mean)
        theta[0, k], theta[1, k], theta[2, k], squares[k] = share / total, mean, second / share, second
    if equal:
        spread = 0.0
        for k in range(number):
            spread += squares[k]
        for k in range(number):
            theta[2, k] = spread / total


@_compiled(nogil=True)
def _step(x: Any, w: Any, total: float, equal: bool, theta: Any, following: Any, room: Any) -> float:
    """One step of EM: fill in the next parameters, and return the log-likelihood of those given."""
    number, n = theta.shape[1], len(x)
    joint, sums, shares = room[:number], room[number], room[number + 1]
    for i in range(n):
        sums[i] = 0.0
    for k in range(number):
        mean, slope = theta[1, k], -0.5 / theta[2, k]
        height = theta[0, k] / math.sqrt(theta[2, k])
        row = joint[k]
        for i in range(n):
            d = x[i] - mean
            e = height * _exp(slope * d * d)
            row[i] = e
            sums[i] += e
    n_tiny = 0
    for i in range(n):
        n_tiny += sums[i] < TINY
    loglik = 0.0
    if n_tiny == 0:
        for i in range(n):
            loglik += w[i] * _log(sums[i])
            shares[i] = w[i] / sums[i]
    else:
        for i in range(n):
            far = _far(x[i], theta, joint, i) if sums[i] < TINY else 0.0
            if far != 0.0:
                sums[i] = 0.0
                for k in range(number):
                    sums[i] += joint[k, i]
            loglik += w[i] * (math.log(sums[i]) + far)
            shares[i] = w[i] / sums[i]
    spread = 0.0
    for k in range(number):
        mean, row = theta[1, k], joint[k]
        zero = one = two = 0.0
        for i in range(n):
            d = x[i] - mean
            r = row[i] * shares[i]
            zero += r
            one += r * d
            two += r * d * d
        safe = zero if zero > 0 else 1.0
        shift = one / safe
        square = two - safe * shift * shift
        spread += square
        following[0, k], following[1, k], following[2, k] = zero / total, mean + shift, square / safe
    if equal:
        for k in range(number):
            following[2, k] = spread / total
    return loglik - HALF_LOG_2PI * total


@_compiled(nogil=True)
def _far(x: float, theta: Any, joint: Any, place: int) -> float:
    """Densities at a value far from every component, relative to the largest; return the logarithm of that."""
    largest = -math.inf
    for k in range(theta.shape[1]):
        d = x - theta[1, k]
        term = math.log(theta[0, k]) - 0.5 * math.log(theta[2, k]) - 0.5 * d * d / theta[2, k]
        joint[k, place] = term
        largest = max(largest, term)
    for k in range(theta.shape[1]):
        joint[k, place] = math.exp(joint[k, place] - largest)
    return largest


@_compiled(nogil=True)
def _hold(theta: Any) -> bool:
    """Keep variances at the floor or above, and say whether that was needed."""
    low = False
    for k in range(theta.shape[1]):
        if theta[2, k] <= FLOOR or theta[0, k] < TINY:
            low = True
            theta[2, k], theta[0, k] = FLOOR, max(theta[0, k], TINY)
    return low


@_compiled(nogil=True)
def _plain(
    x: Any, w: Any, total: float, jacobian: float, equal: bool, forced: bool, last: bool, limit: float, theta: Any, room: Any
) -> tuple[float, int, bool, bool]:
    """Plain EM until |change of l| / (1 + |l|) is at most `limit`."""
    following = np.empty_like(theta)
    before, low = math.inf, False
    loglik = -math.inf
    for step in range(1, MOST_STEPS + 1):
        low = _hold(theta) or low
        if low and not forced:
            return -math.inf, 0, False, True
        loglik = _step(x, w, total, equal, theta, following, room)
        in_units = loglik - jacobian
        if abs(before - in_units) / (1 + abs(in_units)) <= limit:
            moved = 0.0
            for k in range(theta.shape[1]):
                moved += (following[0, k] - theta[0, k]) ** 2
            if last and moved > MOVED:
                _hold(following)
                theta[:] = following
            return loglik, step, True, low
        before = in_units
        if step < MOST_STEPS:
            theta[:] = following
    return loglik, MOST_STEPS, False, low


@_compiled(nogil=True)
def _accelerated(
    x: Any, w: Any, total: float, equal: bool, forced: bool, settled: float, theta: Any, room: Any
) -> tuple[float, int, bool, bool]:
    """Squared extrapolation of EM, which goes back to plain EM wherever it would lose likelihood."""
    first, second, far, third = np.empty_like(theta), np.empty_like(theta), np.empty_like(theta), np.empty_like(theta)
    cap, fell, loglik = 4.0, False, -math.inf
    for cycle in range(1, MOST_STEPS // 3 + 1):
        low = _hold(theta)
        before = _step(x, w, total, equal, theta, first, room)
        low = _hold(first) or low
        loglik = _step(x, w, total, equal, first, second, room)
        low_second = _hold(second)
        stretch, distance, ahead = _extrapolate(theta, first, second, cap, equal, far)
        accepted = _step(x, w, total, equal, far, third, room) >= loglik
        low = (_hold(third) if accepted else low_second) or low
        if accepted and stretch >= cap:
            cap *= 4.0
        elif not accepted:
            cap = max(cap / 4.0, 1.0)
        fell = fell or low
        arrived = distance <= settled or abs(loglik - before) * ahead <= GAIN
        if arrived or (low and not forced):
            theta[:] = first
            return loglik, 3 * cycle, arrived, fell
        theta[:] = third if accepted else second
    return loglik, 3 * (MOST_STEPS // 3), False, fell


@_compiled(nogil=True)
def _extrapolate(start: Any, first: Any, second: Any, cap: float, equal: bool, far: Any) -> tuple[float, float, float]:
    """Fill in where two steps of EM point to; return how far that is, and an estimate of the way to the maximum: as it is, in steps."""
    number = start.shape[1]
    wide = math.sqrt(number) if equal else 1.0
    one, bend = np.empty((3, number)), np.empty((3, number))
    length = curve = 0.0
    for k in range(number):
        deviation = math.sqrt(start[2, k])
        one[0, k] = math.log(first[0, k]) - math.log(start[0, k])
        bend[0, k] = math.log(second[0, k]) - math.log(first[0, k]) - one[0, k]
        one[1, k] = (first[1, k] - start[1, k]) / deviation
        bend[1, k] = (second[1, k] - first[1, k]) / deviation - one[1, k]
        one[2, k] = 0.5 * math.log(first[2, k] / start[2, k]) / wide
        bend[2, k] = 0.5 * math.log(second[2, k] / first[2, k]) / wide - one[2, k]
        for part in range(3):
            length += one[part, k] * one[part, k]
            curve += bend[part, k] * bend[part, k]
    length, curve = math.sqrt(length), math.sqrt(curve)
    ratio = length / curve if curve > 0 else 1.0
    stretch = min(max(ratio, 1.0), cap)
    largest = -math.inf
    for k in range(number):
        far[0, k] = math.log(start[0, k]) + 2 * stretch * one[0, k] + stretch * stretch * bend[0, k]
        far[1, k] = start[1, k] + math.sqrt(start[2, k]) * (2 * stretch * one[1, k] + stretch * stretch * bend[1, k])
        moved = 2 * wide * (2 * stretch * one[2, k] + stretch * stretch * bend[2, k])
        far[2, k] = min(max(start[2, k] * math.exp(min(max(moved, -60.0), 60.0)), FLOOR), 1e12)
        largest = max(largest, far[0, k])
    whole = 0.0
    for k in range(number):
        far[0, k] = math.exp(far[0, k] - largest)
        whole += far[0, k]
    for k in range(number):
        far[0, k] = max(far[0, k] / whole, TINY)
    return stretch, length * max(ratio, 1.0), max(ratio, 1.0)

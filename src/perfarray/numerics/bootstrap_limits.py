"""From replicates to limits and p-values: percentile, basic, BCa and symmetric studentized.

Quantiles are those of R's boot package (Davison and Hinkley 1997, section 5.3.2): the replicate of
rank (R + 1) p, interpolated on the scale of normal quantiles. P-values invert the limits: the
smallest error rate at which the interval leaves a value out.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import STUDENTIZED, Interval
from perfarray.numerics.types import Floats, Integers, Mask

SAME = 1e-13  # relative difference below which a replicate is the estimate itself, but for rounding


class Bootstrap(NamedTuple):
    """The material of limits.

    Replicates (..., R) are sorted, those that are not finite are NaN at the end.
    """

    method: str
    estimate: Floats
    replicates: Floats
    acceleration: Floats
    standard_error: Floats
    log: bool


def percentile_family(
    method: str, estimate: Floats, replicates: Floats, influence: tuple[Floats, ...] = ()
) -> Bootstrap:
    """Prepare percentile, basic or BCa limits of an estimate (...) with replicates (..., R).

    BCa limits need the `influence` (..., units) of every unit, one array per sample
    (`influence_of`).
    """
    with np.errstate(invalid="ignore"):
        equal = np.abs(replicates - estimate[..., None]) <= SAME * np.abs(estimate[..., None])
    values = np.where(equal, estimate[..., None], replicates)
    unknown = np.full(estimate.shape, np.nan)
    return Bootstrap(
        method,
        estimate,
        _sorted(values),
        acceleration_of(influence) if influence else unknown,
        unknown,
        False,
    )


def studentized(
    estimate: Floats, error: Floats, replicates: Floats, errors: Floats, *, log: bool
) -> Bootstrap:
    """Prepare symmetric studentized limits; `log` says that estimate and replicates are logs.

    Replicates of equal units have no standard error and are left out, as boot leaves out what is
    not finite. Data without spread have equal limits.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        no_error = errors <= 1e-10 * error[..., None]
        t = np.where(no_error, np.nan, np.abs(replicates - estimate[..., None]) / errors)
    constant = error <= SAME * np.maximum(np.abs(estimate), 1.0 if log else 0.0)
    t = np.where(constant[..., None], 0.0, t)
    return Bootstrap(
        STUDENTIZED,
        estimate,
        _sorted(t),
        np.full(estimate.shape, np.nan),
        np.where(constant, 0.0, error),
        log,
    )


def _sorted(values: Floats) -> Floats:
    """Sort replicates in place; those that are not finite become NaN, which sorts to the end."""
    finite = np.isfinite(values)
    if not finite.all():
        values[~finite] = np.nan
    values.sort(axis=-1)
    return values


def _number_finite(ordered: Floats) -> Integers:
    all_finite = not np.isnan(ordered[..., -1:]).any()
    return (
        np.full(ordered.shape[:-1], ordered.shape[-1])
        if all_finite
        else np.sum(~np.isnan(ordered), axis=-1)
    )


def influence_of(estimate: Floats, left_out: Floats) -> Floats:
    """Return the jackknife influence (n - 1) (t - t_(-i)) of units left out in turn (last axis).

    NaN is no unit.
    """
    n = np.sum(~np.isnan(left_out), axis=-1, keepdims=True)
    return np.asarray((n - 1) * (estimate[..., None] - left_out))


def acceleration_of(influence: tuple[Floats, ...]) -> Floats:
    """Return sum L^3 / (6 (sum L^2)^1.5) over all units of all samples; 0 without spread.

    It is equation 5.22 of Davison and Hinkley (1997).
    """
    pooled = np.concatenate(
        [np.where(np.isnan(values), 0.0, values) for values in influence], axis=-1
    )
    largest = np.abs(pooled).max(axis=-1, keepdims=True, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = pooled / largest
        acceleration = (scaled**3).sum(axis=-1) / (6 * (scaled**2).sum(axis=-1) ** 1.5)
    return np.where(largest[..., 0] > 0, acceleration, 0.0)


def quantile(ordered: Floats, probability: Floats | float) -> Floats:
    """Return quantiles of sorted replicates (..., R), by boot's rule.

    There is one probability per cell, or k of them (k, ...).

    The rank is (R + 1) p, interpolated on the scale of normal quantiles; beyond the first and the
    last replicate it is these.
    """
    from scipy.special import ndtri

    share, number = np.broadcast_arrays(
        np.asarray(probability, dtype=float), _number_finite(ordered)
    )
    rank = (number + 1) * np.where(np.isnan(share), 0.5, share)
    is_whole = np.abs(rank - np.round(rank)) < 1e-9
    rank = np.where(is_whole, np.round(rank), rank)
    below = np.clip(np.floor(rank).astype(int), 1, np.maximum(number, 1))
    above = np.minimum(below + 1, np.maximum(number, 1))
    low, high = _at(ordered, np.stack([below, above]))
    with np.errstate(divide="ignore", invalid="ignore"):
        start, end = ndtri(below / (number + 1)), ndtri(above / (number + 1))
        fraction = (ndtri(share) - start) / (end - start)
    fraction = np.where((rank <= 1) | (rank >= number) | (below == rank), 0.0, fraction)
    return np.where((number > 0) & ~np.isnan(share), low + fraction * (high - low), np.nan)


def _at(ordered: Floats, rank: np.ndarray) -> Floats:
    """Return the replicate of a rank that counts from 1."""
    rows = np.broadcast_to(ordered, (*rank.shape, ordered.shape[-1]))
    return np.asarray(np.take_along_axis(rows, np.asarray(rank - 1)[..., None], axis=-1)[..., 0])


def share_below(ordered: Floats, value: Floats, *, ties: bool) -> Floats:
    """Return the probability whose quantile is `value`, from 1 / (R + 1) to R / (R + 1).

    With `ties`, equal replicates count as below.
    """
    from scipy.special import ndtr, ndtri

    number = _number_finite(ordered)
    value = np.broadcast_to(value, number.shape)
    with np.errstate(invalid="ignore"):
        is_below = ordered <= value[..., None] if ties else ordered < value[..., None]
    rank = is_below.sum(axis=-1)
    below, above = (
        np.clip(rank, 1, np.maximum(number, 1)),
        np.clip(rank + 1, 1, np.maximum(number, 1)),
    )
    low, high = _at(ordered, below), _at(ordered, above)
    with np.errstate(divide="ignore", invalid="ignore"):
        start, end = ndtri(below / (number + 1)), ndtri(above / (number + 1))
        fraction = np.where(
            (high > low) & (rank >= 1) & (rank < number), (value - low) / (high - low), 0.0
        )
        fraction = np.where(fraction > 1, 1.0, fraction)
        share = ndtr(start + np.where(fraction > 0, fraction * (end - start), 0.0))
    return np.where((number > 0) & ~np.isnan(value), share, np.nan)


def bias_of(bootstrap: Bootstrap, ties: float = 0.5) -> Floats:
    """Return z0, the normal quantile of the share of replicates below the estimate.

    Replicates equal to the estimate count half: medians and rounded data tie often. `ties=0` does
    not count them, as R's boot: z0 is then too small, and for a minimum minus infinity.
    """
    from scipy.special import ndtri

    number = _number_finite(bootstrap.replicates)
    estimate = bootstrap.estimate[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        equal = (bootstrap.replicates == estimate).sum(axis=-1)
        bias = ndtri(((bootstrap.replicates < estimate).sum(axis=-1) + ties * equal) / number)
    return np.where(
        (equal == number) & (number > 0), 0.0, np.where(np.isfinite(bias), bias, np.nan)
    )


def limits_of(
    bootstrap: Bootstrap, confidence_level: Floats | float, ties: float = 0.5
) -> Interval:
    """Return the limits at a confidence level (one, or one per cell); `ties` as for `bias_of`."""
    from scipy.special import ndtr, ndtri

    level = np.broadcast_to(np.asarray(confidence_level, dtype=float), bootstrap.estimate.shape)
    tails = [(1 - level) / 2, (1 + level) / 2]
    if bootstrap.method == STUDENTIZED:
        half = quantile(bootstrap.replicates, level) * bootstrap.standard_error
        lower, upper = bootstrap.estimate - half, bootstrap.estimate + half
        with np.errstate(over="ignore"):
            return (
                Interval(np.exp(lower), np.exp(upper)) if bootstrap.log else Interval(lower, upper)
            )
    if bootstrap.method == "bca":
        bias = bias_of(bootstrap, ties)
        shifted = [bias + ndtri(tail) for tail in tails]
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = [
                np.asarray(ndtr(bias + shift / (1 - bootstrap.acceleration * shift)))
                for shift in shifted
            ]
    low, high = quantile(bootstrap.replicates, np.stack(tails))
    if bootstrap.method == "basic":
        return Interval(2 * bootstrap.estimate - high, 2 * bootstrap.estimate - low)
    return Interval(low, high)


def known_limits(bootstrap: Bootstrap, level: Floats | float, n: Floats) -> Interval:
    """Return the limits, NaN where there are fewer units than they need."""
    limits = limits_of(bootstrap, level)
    sufficient = enough_units(n, bootstrap.method)
    return Interval(
        np.where(sufficient, limits.lower, np.nan), np.where(sufficient, limits.upper, np.nan)
    )


def enough_units(n: Floats, method: str) -> Mask:
    """Return where there are as many units as limits need.

    A replicate of two units has no standard error, or is the mean of the data.
    """
    return np.asarray(n >= (3 if method == STUDENTIZED else 2))


def one_sided(bootstrap: Bootstrap, value: float) -> tuple[Floats, Floats]:
    """Return two one-sided p-values: small where the parameter is below the value, or above.

    They invert the limits: `value` is outside the interval of level 1 - alpha exactly where the
    smaller is at most alpha / 2. None is smaller than 1 / (R + 1).
    """
    if bootstrap.method == STUDENTIZED:
        return _studentized_sides(bootstrap, value)
    at = (
        2 * bootstrap.estimate - value
        if bootstrap.method == "basic"
        else np.full(bootstrap.estimate.shape, value)
    )
    with_ties = without = share_below(bootstrap.replicates, at, ties=False)
    if (bootstrap.replicates == at[..., None]).any():
        with_ties = share_below(bootstrap.replicates, at, ties=True)
    if bootstrap.method == "basic":
        return with_ties, 1 - without
    if bootstrap.method == "bca":
        without, with_ties = _unshifted(bootstrap, without), _unshifted(bootstrap, with_ties)
    return 1 - without, with_ties


def _unshifted(bootstrap: Bootstrap, share: Floats) -> Floats:
    """Return the tail probability that BCa maps to `share`."""
    from scipy.special import ndtr, ndtri

    bias = bias_of(bootstrap)
    moved = ndtri(share) - bias
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(ndtr(moved / (1 + bootstrap.acceleration * moved) - bias))


def _studentized_sides(bootstrap: Bootstrap, value: float) -> tuple[Floats, Floats]:
    """Return the p-values of the symmetric t: half the share of |t*| >= |t| on the side of t.

    Just beyond a replicate the share is (b + 1) / (R + 1); between two it is interpolated as the
    quantiles of the intervals are.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = bootstrap.estimate - (np.log(value) if bootstrap.log else value)
        t = difference / bootstrap.standard_error
    certain = (bootstrap.standard_error == 0) & (difference != 0)
    t = np.where(
        certain, np.copysign(np.inf, difference), np.where(bootstrap.standard_error == 0, 0.0, t)
    )
    with np.errstate(invalid="ignore"):
        beyond = np.where(
            np.abs(t) <= bootstrap.replicates[..., 0],
            1.0,
            1 - share_below(bootstrap.replicates, np.abs(t), ties=False),
        )
    half = np.where(t == 0, 0.5, beyond / 2)
    return np.where(t < 0, half, 1 - half), np.where(t > 0, half, 1 - half)

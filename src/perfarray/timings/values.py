"""Checks of values: finite, in range, with a direction that is `lower` or `higher`."""

import re
from functools import partial
from numbers import Real
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr

from perfarray.conventions import (
    BETTER,
    DIRECTIONS,
    HIGHER,
    LOWER,
    SCORES,
    SIMULATED,
    THROUGHPUT,
    seconds_factor,
)
from perfarray.numerics.types import Floats, Mask
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.quantities import is_measured
from perfarray.timings.validation import check_choice, number_of

# The spellings of rates, with single blanks: `ops/s`, `1/s`, `MB/s`, `MB s-1`, `s^-1`, `items per
# second`, `GHz`, `MFLOPS`
RATE = re.compile(
    r"[kKMGTPE]?(?:Hz|FLOPS|flops|flop/s|bps|[iI][pP][sS])|[fqrt]ps|[FQRT]PS"
    r"|(?P<what>.*[^\s/]) ?(?:/| per ) ?(?P<per>[^\s/]+)"
    r"|(?P<of>.*?) ?\b(?P<each>[a-zµμ]+)\^?-1"
)

# Variables that may be 0 but not negative
NOT_NEGATIVE = ("cpu_time", THROUGHPUT)

# Energy over time is power, for which lower is better
POWER = re.compile(r"[kMµmun]?(?:J|Wh|joules?)")


# Between these sizes the powers of values up to the sixth neither overflow nor underflow
# (variances, their squares, third moments).
CARRIED = 10_000  # labels of a dim that tasks of lazy arrays carry
SMALLEST, LARGEST = 1e-50, 1e50


def direction_of(units: str, name: str = "") -> str:
    """Return the default direction: `higher` for rates and scores, `lower` for all else.

    Examples
    --------
    >>> [direction_of(units) for units in ("ops/ms", "GHz", "MB s-1", "s", "ns/op", "J/s")]
    ['higher', 'higher', 'higher', 'lower', 'lower', 'lower']
    >>> direction_of("1"), direction_of("1", "score"), direction_of("s", "score")
    ('lower', 'higher', 'lower')
    """
    if name in (THROUGHPUT, *SCORES) and seconds_factor(units) is None:
        return HIGHER
    match = RATE.fullmatch(" ".join(units.split()))
    if match is None:
        return LOWER
    per, quantity = match["per"] or match["each"], match["what"] or match["of"] or ""
    return (
        LOWER
        if per and (seconds_factor(per) is None or POWER.fullmatch(quantity.strip()))
        else HIGHER
    )


def direction_by_name(units: str, name: str) -> str | None:
    """Return the default direction of a variable of a table, or None where unknown.

    Examples
    --------
    >>> [direction_by_name("1", name) for name in ("iops", "page_faults", "score")]
    [None, 'lower', 'higher']
    """
    if units in ("1", "") and name not in (*SCORES, THROUGHPUT) and not is_measured(name):
        return None
    return direction_of(units, name)


def check_direction(array: xr.DataArray) -> tuple[Note, ...]:
    """Raise for an unknown direction; return a note where rates or scores do not state theirs."""
    direction, units = array.attrs.get(BETTER), str(array.attrs.get("units", ""))
    if direction in DIRECTIONS:
        return ()
    if direction is not None:
        check_choice(direction, BETTER, DIRECTIONS)
    if direction_of(units, str(array.name)) != LOWER:
        name = array.name or "the data"
        text = (
            f"{name} is in {units!r} and does not say which direction is good. Less is taken as "
            "better. Set attrs['better'] = 'higher' if more is better."
        )
        return (Note("direction", text, {"units": units}),)
    return ()


def out_of_range(values: Floats, name: object, units: str) -> Mask:
    """Return which values cannot have been measured: infinite ones, seconds and rates below 0.

    `name` is the variable's; None means the only measurement there is. A time of 0 is below the
    clock's resolution.
    """
    wrong = np.isinf(values)
    return (
        np.asarray(wrong | (values < 0))
        if seconds_factor(units) is not None or name in NOT_NEGATIVE
        else wrong
    )


def measurable(array: xr.DataArray, *, any_size: bool = False) -> xr.DataArray:
    """Return the array; raise for values that cannot have been measured or whose squares overflow.

    A lazy array raises when computed.

    With `any_size` squares do not matter, because the method scales the values.
    """
    if not is_chunked(array) and ((array.values >= SMALLEST) & (array.values <= LARGEST)).all():
        return array  # in range whatever the name and the unit
    # A simulation may go below 0, since its effects may be larger than its mean.
    name, units = (
        ("", "") if SIMULATED in array.attrs else (array.name, str(array.attrs.get("units", "")))
    )
    # Every task of a lazy array carries the labels, for its message: of long dims it has positions,
    # so that graphs stay small.
    longest = CARRIED if is_chunked(array) else np.inf
    labels = [
        array.indexes[dim] if dim in array.indexes and size <= longest else range(size)
        for dim, size in array.sizes.items()
    ]
    limits = (0.0, np.finfo(float).max) if any_size else (SMALLEST, LARGEST)
    check = partial(
        _check_range,
        name=name,
        units=units,
        limits=limits,
        dims=tuple(map(str, array.dims)),
        labels=labels,
    )
    if is_chunked(array):
        lazy = array.data
        # A name for each call: tasks of one name that answers computed at the same time join to
        # others in different ways break a cluster.
        new = f"check-{uuid4().hex}"
        return array.copy(
            data=lazy.map_blocks(
                check, name=new, dtype=lazy.dtype, meta=np.empty((0,) * lazy.ndim, lazy.dtype)
            )
        )
    check(array.values)
    return array


def _check_range(
    values: Floats,
    name: object,
    units: str,
    limits: tuple[float, float],
    dims: tuple[str, ...],
    labels: list[Any],
    block_info: Any = None,
) -> Floats:
    """Return the values of an array or of a block.

    Raise at the first that is infinite, else out of range, else of a size to overflow.
    """
    smallest, largest = limits
    impossible = out_of_range(values, name, units)
    extreme = (
        (values > largest)
        | (values < -largest)
        | ((values < smallest) & (values > -smallest) & (values != 0))
    )
    if not (impossible | extreme).any():
        return values
    reasons = (
        (
            np.isinf(values),
            "infinite value",
            "",
            "mark runs that did not end as censored or failed, or remove them",
        ),
        (
            impossible,
            "value",
            " out of range",
            (
                "seconds and rates are not below 0: mark failed runs as failed, and give logs and "
                "differences other units"
            ),
        ),
        (
            extreme,
            "value",
            f" outside {smallest:g} to {largest:g} in size",
            "their squares are lost in rounding: give them in another unit",
        ),
    )
    for wrong, noun, trouble, remedy in reasons:
        if wrong.any():
            first = np.argwhere(wrong)[0]
            starts = (
                [low for low, _ in block_info[0]["array-location"]]
                if block_info
                else [0] * values.ndim
            )
            where = (
                f"the first ({values[tuple(first)]:g}) at {_position(dims, labels, first + starts)}"
            )
            raise ValueError(
                f"{name or 'the data'} has {number_of(int(wrong.sum()), noun)}{trouble}, "
                f"{where}; {remedy}"
            )
    return values


def place_of(array: xr.DataArray, index: Any) -> str:
    """Write the labels of a place in an array."""
    return _position(tuple(map(str, array.dims)), [array[dim].values for dim in array.dims], index)


def _position(dims: tuple[str, ...], labels: list[Any], index: Any) -> str:
    return ", ".join(
        f"{dim}={values[i]!s}" for dim, values, i in zip(dims, labels, index, strict=True)
    )


def check_limits(limit: xr.DataArray, mark: xr.DataArray, name: object) -> None:
    """Raise where the limit of a stopped run is not a number above 0.

    Of lazy limits only the type is checked.
    """
    kind = limit.dtype.kind
    values = [] if kind in "iuf" else [x for x in np.ravel(limit.values) if x is not None]
    odd = [x for x in values if kind != "O" or isinstance(x, bool) or not isinstance(x, Real)]
    if odd:
        raise ValueError(
            f"censored_at holds {str(odd[0])!r}; limits are numbers in the unit of "
            f"{name or 'the data'}, NaN where there is none"
        )
    if is_chunked(limit) or is_chunked(mark):
        return
    wrong, limits = xr.broadcast(
        mark & limit.notnull() & ~((limit > 0) & (limit < np.inf)), limit.astype(float)
    )
    if wrong.any():
        first = np.argwhere(wrong.values)[0]
        location = _position(
            tuple(map(str, wrong.dims)), [wrong[dim].values for dim in wrong.dims], first
        )
        where = f" at {location}" if location else ""
        raise ValueError(
            f"censored_at is {float(limits.values[tuple(first)]):g}{where}; a limit is a "
            "finite number above 0"
        )

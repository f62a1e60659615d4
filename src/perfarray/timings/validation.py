"""Checks of what users give; every message says what came and what is needed."""

import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import xarray as xr

from perfarray.conventions import LEVELS


def listed(names: Iterable[object], most: int = 10) -> str:
    """Write names for a message: `'a', 'b' and 3 more`."""
    names = list(names)
    text = ", ".join(repr(name.item() if hasattr(name, "item") else name) for name in names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def check_choice(value: object, name: str, choices: Sequence[object]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not any(value is choice or value == choice for choice in choices):
        raise ValueError(f"{name}={value!r} is not known; choose one of {listed(choices)}")


def check_confidence_level(value: float) -> float:
    """Return `confidence_level` as a float strictly between 0 and 1."""
    return check_between(value, "confidence_level", 0.0, 1.0, example="0.95")


def check_between(value: float, name: str, low: float, high: float, example: str) -> float:
    """Return a float strictly between two bounds."""
    number = check_number(value, name)
    if not low < number < high:
        raise ValueError(f"{name}={value!r} is out of range; give a number between {low:g} and {high:g}, such as {example}")
    return number


def check_threshold(value: float) -> float:
    """Return a relative threshold: 0.02 means 2 %."""
    number = check_number(value, "threshold")
    if not 0.0 <= number < 1.0:
        raise ValueError(f"threshold={value!r} is out of range; give a fraction from 0 up to 1 (0.02 for 2 %)")
    return number


def check_number(value: Any, name: str) -> float:
    """Return a finite real number as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} is not a number") from None
    if isinstance(value, bool | str) or not math.isfinite(number):
        raise ValueError(f"{name}={value!r} is not a finite number")
    return number


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number that is at least `least`."""
    if isinstance(value, bool) or int(check_number(value, name)) != value or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number of at least {least}")
    return int(value)


def check_names(names: str | Sequence[str], argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple without repeats."""
    found = (names,) if isinstance(names, str) else tuple(names)
    if not found or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{argument}={names!r}: give a name or a tuple of names")
    if len(set(found)) != len(found):
        raise ValueError(f"{argument}={names!r} names something twice")
    return found


def check_levels(array: xr.DataArray | xr.Dataset, levels: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the nest, outermost first: the levels asked for, or those present in the usual order."""
    if levels is None:
        found = tuple(level for level in LEVELS if level in array.dims)
        if not found:
            raise ValueError(
                f"no repetition level: the array has dims {tuple(array.dims)}, and none of them is one of {LEVELS}; "
                "name the dims whose values are repetitions with levels="
            )
        return found
    asked = check_names(levels, "levels")
    for level in asked:
        check_dim(array, level, "level")
    usual = [level for level in LEVELS if level in asked]
    if usual != [level for level in asked if level in LEVELS]:
        raise ValueError(f"levels={asked} turns the nest inside out: levels go from the outside in, {tuple(usual)}")
    return asked


def check_dim(array: xr.DataArray | xr.Dataset, dim: object, what: str = "dim") -> str:
    """Return `dim` if the array has it; the message lists those it has."""
    if not isinstance(dim, str) or dim not in array.dims:
        raise ValueError(f"{what} {dim!r} not found; the array has dims {tuple(array.dims)}")
    return dim


def check_label(array: xr.DataArray, dim: str, label: object) -> None:
    """Raise unless `label` is a label of `dim`; the message lists those that are."""
    labels = array[dim].values.tolist()
    if label not in labels:
        raise ValueError(f"label {label!r} not found along {dim!r}; its labels are {listed(labels)}")


def find_dim(array: xr.DataArray, label: object, levels: Sequence[str]) -> str:
    """Return the one dim that is not a level and holds `label`."""
    dims = [str(dim) for dim in array.dims if dim not in levels]
    holders = [dim for dim in dims if label in array[dim].values.tolist()]
    if len(holders) == 1:
        return holders[0]
    if holders:
        raise ValueError(f"label {label!r} is found along several dims ({listed(holders)}); say which with dim=")
    described = "; ".join(f"{dim}: {listed(array[dim].values.tolist())}" for dim in dims) or "none"
    raise ValueError(f"label {label!r} not found along any dim that is not a level; those dims and labels are {described}")


ALSO = ". Also: "
"""What stands between the parts of a warning: a call warns once."""


def warn(*messages: str) -> None:
    """Emit what there is to say as one UserWarning that points at the line of the first caller outside this package."""
    said = list(dict.fromkeys(message for message in messages if message))
    if not said:
        return
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "perfarray":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(ALSO.join(said), UserWarning, stacklevel=depth)

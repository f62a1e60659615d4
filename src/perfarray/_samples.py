"""What a sample is: the level whose repetitions are independent (`unit=`), and the level whose repetitions are runs (`value=`)."""

from collections.abc import Hashable

from perfarray._timings import Timings
from perfarray._validation import check_choice
from perfarray.conventions import EXECUTION


def unit_place(data: Timings, unit: str | None) -> int:
    """Return the place in the nest of the level whose repetitions are independent; default: the outermost.

    Levels below it are averaged, levels above it are pooled (`numerics.levels.one_value_per_unit`).

    Raises
    ------
    ValueError
        When `unit` is not a level of the nest; the message lists those that are.
    """
    return 0 if unit is None else _place(data, unit, "unit")


def value_place(data: Timings, value: str | None) -> int:
    """Return the place in the nest of the level whose repetitions are runs; default: `execution`, else the lowest level.

    Levels below it are averaged; all values count, each outermost unit with equal weight (`numerics.levels.values_by_unit`).

    Raises
    ------
    ValueError
        When `value` is not a level of the nest; the message lists those that are.
    """
    if value is not None:
        return _place(data, value, "value")
    return data.levels.index(EXECUTION) if EXECUTION in data.levels else len(data.levels) - 1


def describe_unit(data: Timings, place: int) -> dict[str, Hashable]:
    """Attrs that say which repetitions an answer takes as independent."""
    return data.describe() | {"unit": data.levels[place]}


def describe_value(data: Timings, place: int) -> dict[str, Hashable]:
    """Attrs that say which repetitions are runs; the unit stays the outermost level."""
    return data.describe() | {"value": data.levels[place]}


def _place(data: Timings, level: str, argument: str) -> int:
    """Return where a level stands in the nest."""
    check_choice(level, argument, data.levels)
    return data.levels.index(level)

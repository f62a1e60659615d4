"""Checks of what users give; every message says what came and what is needed."""

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any


def listed(names: Iterable[object], limit: int = 10) -> str:
    """Write names for a message: `'a', 'b' and 3 more`."""
    names = list(names)
    text = ", ".join(repr(name.item() if hasattr(name, "item") else name) for name in names[:limit])
    return f"{text} and {len(names) - limit} more" if len(names) > limit else text


def nearest(name: object, names: Iterable[object]) -> str:
    """Write which name may be meant, to end a message; nothing where none is like it.

    Examples
    --------
    >>> nearest("verison", ["benchmark", "version"]), nearest("GCC", ["gcc"]), nearest("x", ["old"])
    (". Did you mean 'version'?", ". Did you mean 'gcc'?", '')
    """
    from difflib import get_close_matches

    names_by_text = {str(candidate).casefold(): candidate for candidate in names}
    matches = get_close_matches(str(name).casefold(), names_by_text, n=1)
    return f". Did you mean {listed([names_by_text[matches[0]]])}?" if matches else ""


def number_of(number: int, noun: str) -> str:
    """Write a number of things: `1 run`, `2 runs`, `2 means of executions`."""
    singular, of, owner = noun.partition(" of ")
    return f"{number} {singular}{'' if number == 1 else 's'}{of}{owner}"


def check_choice(value: object, name: str, choices: Sequence[object]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, Hashable) or value not in choices:
        raise ValueError(
            f"{name}={value!r} is not known; choose one of {listed(choices)}"
            f"{nearest(value, choices)}"
        )


def accepts(function: Callable[..., Any], *args: object, **kwargs: object) -> bool:
    """Return whether a function has parameters for these arguments.

    One written in C may state none, and counts as accepting them.
    """
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def check_share(value: float, name: str, example: str) -> float:
    """Return a float strictly between 0 and 1."""
    number = check_number(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(
            f"{name}={value!r} is out of range; give a number between 0 and 1, such as {example}"
        )
    return number


check_confidence_level = partial(check_share, name="confidence_level", example="0.95")


def check_threshold(value: float) -> float:
    """Return a relative threshold: 0.02 means 2 %."""
    number = check_number(value, "threshold")
    if not 0.0 <= number < 1.0:
        raise ValueError(
            f"threshold={value!r} is out of range; give a fraction from 0 up to 1 (0.02 for 2 %)"
        )
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


def check_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return a whole number that is at least `minimum`."""
    if isinstance(value, bool) or int(check_number(value, name)) != value or value < minimum:
        raise ValueError(f"{name}={value!r}: give a whole number of at least {minimum}")
    return int(value)

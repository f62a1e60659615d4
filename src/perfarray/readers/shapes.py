"""The shape of a format's JSON: a file is refused at the place where it deviates.

A shape is written as the JSON is: `{"runs": [{"values?": [ANY], "name": TEXT}]}`. A key that ends
in `?` may be missing or null, `...` stands for every key, `"times|mean"` says that one of the keys
has a value, a tuple is a list of so many; other keys may be there.
"""

import re
from collections.abc import Callable, Iterable
from reprlib import repr as shortened
from sys import float_info
from typing import Any, NamedTuple, TypeGuard

from perfarray.timings.validation import listed

SHOWN = 60  # Characters of a value or a key in a message
PLAIN = re.compile(rf"[^\W\d]\w{{,{SHOWN}}}")  # Keys that need no quotes


class ScalarShape(NamedTuple):
    """A value that holds no others: its noun in messages, and the test for it."""

    noun: str
    fits: Callable[[Any], bool]


class Either(tuple[Any, ...]):
    """Several shapes, one of which a value has."""

    def __new__(cls, *shapes: Any) -> "Either":
        """Take the shapes one by one, and those of another `Either` among them."""
        flat = (
            inner
            for shape in shapes
            for inner in (shape if isinstance(shape, Either) else (shape,))
        )
        return super().__new__(cls, flat)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and not abs(value) > float_info.max


def _is_count(value: Any) -> bool:
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16
    return (digits and int(value) > 0) or (_is_number(value) and 1 <= value < 1 << 53)


ANY = ScalarShape("a value", lambda _: True)
NULL = ScalarShape("null", lambda value: value is None)
TEXT = ScalarShape("a text", lambda value: isinstance(value, str))
NUMBER = ScalarShape("a number", _is_number)
COUNT = ScalarShape("a number from 1", _is_count)
SCALAR = ScalarShape("a text or a number", lambda value: not isinstance(value, dict | list))


def deviation(value: Any, shape: Any, path: str = "") -> str | None:
    """Return where JSON first deviates from a shape and what stands there, for a message.

    None where it does not.
    """
    if isinstance(shape, Either):
        return _deviation_from_all(value, shape, path)
    if not _is_of_kind(value, shape):
        return f"{path or 'the document'} is {_shortened(value)}; expected {_noun(shape)}"
    deviations: Iterable[str | None] = ()
    if isinstance(shape, dict):
        deviations = (_deviation_at_key(value, key, inner, path) for key, inner in shape.items())
    elif not isinstance(shape, ScalarShape):
        shapes = shape * len(value) if isinstance(shape, list) else shape
        deviations = (
            deviation(item, inner, f"{path}[{index}]")
            for index, (item, inner) in enumerate(zip(value, shapes, strict=True))
        )
    return next(filter(None, deviations), None)


def _deviation_at_key(content: dict[str, Any], key: Any, shape: Any, path: str) -> str | None:
    if key is ...:
        return next(
            filter(
                None,
                (
                    deviation(value, shape, path_of_key(path, name))
                    for name, value in content.items()
                ),
            ),
            None,
        )
    name, *alternatives = key.removesuffix("?").split("|")
    if alternatives:
        present = any(
            content.get(option) is not None and content[option] not in ([], {})
            for option in (name, *alternatives)
        )
        return (
            None
            if present
            else (
                f"{path or 'the document'} has neither "
                f"{' nor '.join(map(repr, (name, *alternatives)))}"
            )
        )
    if content.get(name) is None and key.endswith("?"):
        return None
    if name not in content:
        keys = listed([key[:SHOWN] for key in content], 12) or "no key"
        return f"{path or 'the document'} has no {name!r}; it has {keys}"
    return deviation(content[name], shape, path_of_key(path, name))


def _deviation_from_all(value: Any, shapes: Either, path: str) -> str | None:
    """Return where a value deviates from the one of several shapes that it is most like."""
    deviations = [deviation(value, shape, path) for shape in shapes]
    if None in deviations:
        return None
    fitting = [index for index, shape in enumerate(shapes) if _is_of_kind(value, shape)]
    if not fitting:
        return f"{path or 'the document'} is {_shortened(value)}; expected {_noun(shapes)}"
    return deviations[
        max(
            fitting,
            key=lambda index: (
                len(set(shapes[index]) & set(value)) if isinstance(value, dict) else 0
            ),
        )
    ]


def _is_of_kind(value: Any, shape: Any) -> bool:
    """Return whether a value is an object, a list or a number as a shape is, whatever it holds."""
    if isinstance(shape, ScalarShape):
        return shape.fits(value)
    if isinstance(shape, Either):
        return any(_is_of_kind(value, inner) for inner in shape)
    if isinstance(shape, dict):
        return isinstance(value, dict)
    return isinstance(value, list) and (isinstance(shape, list) or len(value) == len(shape))


def _noun(shape: Any) -> str:
    if isinstance(shape, ScalarShape):
        return shape.noun
    if isinstance(shape, Either):
        return " or ".join(dict.fromkeys(map(_noun, shape)))
    return (
        "an object"
        if isinstance(shape, dict)
        else "a list"
        if isinstance(shape, list)
        else f"a list of {len(shape)}"
    )


def path_of_key(path: str, key: str) -> str:
    """Return the path of what an object has at a key: `benchmarks[0].runs`."""
    if PLAIN.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{_shortened(key)}]"


def _shortened(value: Any) -> str:
    text = shortened(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def rows_with(rows: Any, *keys: str) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether JSON is a list of objects, one at least, each of which has these keys."""
    is_list = isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)
    return is_list and all(key in row for key in keys for row in rows)


def has_keys(*keys: str, first: str = "") -> Callable[[str], bool]:
    """Return a test of whether the head of a file has these keys of JSON."""
    return lambda head: (
        head.lstrip().startswith(first)
        and all(any(f'"{name}"' in head for name in key.split("|")) for key in keys)
    )

"""The labels of a dim: which one is meant, and which are compared."""

import math
import re
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.conventions import BENCHMARK, LEVELS
from perfarray.timings.validation import listed, nearest

# A label that may be meant as a number
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")

# What stands for any text, and for any letter. Brackets stand for themselves: labels have them.
WILDCARDS = {"*": ".*", "?": "."}

BRACES = re.compile(r"\{([^{}]*)\}")


def compared_labels(array: xr.DataArray, dim: str, nest: Sequence[str]) -> list[Any]:
    """Return the labels of the dim compared; raise where there is none, and where it is a level."""
    if dim not in array.dims:
        raise ValueError(
            f"dim {dim!r} not found; the array has dims {array.dims}{nearest(dim, array.dims)}"
        )
    if dim in nest:
        raise ValueError(
            f"dim {dim!r} is a level of the nest {nest}; a comparison is over a dim that is "
            "not a level"
        )
    return labels_along(array, dim)


def dim_with(
    array: xr.DataArray, dim: str, label: object, nest: Sequence[str]
) -> tuple[str, list[Any]]:
    """Return the named dim and its labels; raise where it is a level or lacks the label."""
    labels = compared_labels(array, dim, nest)
    if label_meant(label, labels) is None:
        raise ValueError(
            f"label {label!r} not found along {dim!r}; its labels are {listed(labels)}"
            f"{nearest(label, labels)}"
        )
    return dim, labels


def find_dim(array: xr.DataArray, label: object, levels: Sequence[str]) -> tuple[str, list[Any]]:
    """Return the only dim that is not a level and has the label, and its labels."""
    labels = {str(dim): labels_along(array, dim) for dim in array.dims if dim not in levels}
    holders = [dim for dim, along in labels.items() if label in along]
    holders = holders or [
        dim for dim, along in labels.items() if label_meant(label, along) is not None
    ]
    if len(holders) == 1:
        return holders[0], labels[holders[0]]
    if holders:
        raise ValueError(
            f"label {label!r} is found along several dims ({listed(holders)}); say which with dim="
        )
    raise ValueError(
        f"No label {label!r}. {sides_of_comparison(array, levels)}"
        f"{nearest(label, chain.from_iterable(labels.values()))}"
    )


def comparable_labels(
    times: xr.DataArray | xr.Dataset, levels: str | Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return the dims that can be compared, with their labels; benchmarks if there is no other."""
    repeated = {*LEVELS, *([levels] if isinstance(levels, str) else levels or ())}
    labels = {
        str(dim): labels_along(times, dim)
        for dim, size in times.sizes.items()
        if size > 1 and dim not in repeated
    }
    return {dim: along for dim, along in labels.items() if dim != BENCHMARK} or labels


def sides_of_comparison(
    times: xr.DataArray | xr.Dataset,
    levels: str | Sequence[str] | None = None,
    dim: str | None = None,
) -> str:
    """Write which labels can be compared, of all dims or of one, without the final stop."""
    labels = comparable_labels(times, levels)
    labels = {dim: labels[dim]} if dim in labels else labels
    if not labels:
        return "No dim has two labels to compare"
    listing = "; ".join(f"{dim} {listed(along)}" for dim, along in labels.items())
    return f"You can compare with: {listing}"


def only_comparable_dim(
    times: xr.DataArray | xr.Dataset, levels: str | Sequence[str] | None = None
) -> str:
    """Return the only dim that can be compared; raise where there is none or several."""
    dims = [*comparable_labels(times, levels)]
    if len(dims) == 1:
        return dims[0]
    raise ValueError(
        f"Which dim is compared? Say so with dim=: {listed(dims)}"
        if dims
        else f"No dim has two labels to compare; the array has dims {tuple(times.dims)}"
    )


def label_meant(label: object, labels: Sequence[Any]) -> Any:
    """Return the label that is meant: itself, else the only one that is the same text or number.

    None where there is none.

    Examples
    --------
    >>> label_meant("1.0", [1.0, 2.0]), label_meant("2", [1.0, 2.0])
    (1.0, 2.0)
    >>> label_meant(3, ["3", "03"]), label_meant("x", ["y"])
    ('3', None)
    """
    if label in labels:
        return label
    matches = [candidate for candidate in labels if str(candidate) == str(label)]
    if not matches and isinstance(label, str) and NUMBER.fullmatch(label):
        matches = [
            candidate
            for candidate in labels
            if isinstance(candidate, int | float)
            and not isinstance(candidate, bool)
            and candidate == float(label)
        ]
    return matches[0] if len(matches) == 1 else None


def expression_of(pattern: str) -> str:
    """Return a pattern with * and ? as a regular expression.

    Examples
    --------
    >>> expression_of("io_*"), expression_of("v?")
    ('io_.*', 'v.')
    """
    return "".join(WILDCARDS.get(letter, re.escape(letter)) for letter in pattern)


def expression_with_dims(
    text: str, plain: Callable[[str], str], argument: str, example: str
) -> "re.Pattern[str]":
    """Return a text with names of dims in braces as a regular expression, with groups of the names.

    `plain` makes an expression of what stands between them; `argument` and `example` are for
    messages.
    """
    names = BRACES.findall(text)
    if lone := re.search(r"[{}]", BRACES.sub("", text)):
        brace = "}" if lone[0] == "{" else "{"
        raise ValueError(
            f"{argument}={text!r} has a {lone[0]!r} whose {brace!r} is missing; dims stand in "
            f"braces, as in {example!r}"
        )
    if not names or not all(map(str.isidentifier, names)) or len(set(names)) != len(names):
        raise ValueError(
            f"{argument}={text!r} must name dims in braces, each once, as in {example!r}; it names "
            f"{listed(names) or 'none'}"
        )
    # Plain text and names take turns.
    pieces = [
        f"(?P<{piece}>[^/]+?)" if index % 2 else plain(piece)
        for index, piece in enumerate(BRACES.split(text))
    ]
    return re.compile("".join(pieces), re.DOTALL)


def labels_like(patterns: str | Sequence[str], labels: Sequence[Any], argument: str) -> list[Any]:
    """Return the labels that are one of the patterns or like one; raise for a pattern without any.

    `argument` is for messages.

    Examples
    --------
    >>> labels_like(["io_*", "log"], ["io_read", "log", "sort"], "controls")
    ['io_read', 'log']
    """
    matching: list[Any] = []
    for pattern in [patterns] if isinstance(patterns, str) else [*patterns]:
        texts = [label for label in labels if str(label) == str(pattern)]
        expression = re.compile(expression_of(str(pattern)), re.DOTALL)
        texts = texts or [label for label in labels if expression.fullmatch(str(label))]
        if not texts:
            raise ValueError(
                f"{argument}={pattern!r} is no label, and no label is like it. The labels are "
                f"{listed(labels)}{nearest(pattern, labels)}"
            )
        matching += texts
    return [label for label in labels if label in matching]


def labels_along(array: xr.DataArray | xr.Dataset, dim: Hashable) -> list[Any]:
    """Return the labels of a dim, or its positions."""
    labels = label_values(array, dim)
    # One NaN object for all, which Python then takes for equal.
    return (
        [math.nan if label != label else label for label in labels.tolist()]
        if labels.dtype.kind == "f"
        else list(labels.tolist())
    )


def label_values(array: xr.DataArray | xr.Dataset, dim: Hashable) -> npt.NDArray[Any]:
    """Return the same as an array; five times as fast as `array[dim].values`."""
    labels = array.coords.variables.get(dim)
    return np.arange(array.sizes[dim]) if labels is None else np.asarray(labels.values)

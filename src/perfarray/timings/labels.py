"""The labels of a dim: which one is meant, and which are compared."""

import math
import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from perfarray.timings.validation import listed

# A label that may be meant as a number
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")


def compared_labels(array: xr.DataArray, dim: str, nest: Sequence[str]) -> list[Any]:
    """Return the labels of the dim compared; raise where there is none, and where it is a level."""
    if dim not in array.dims:
        raise ValueError(f"dim {dim!r} not found; the array has dims {array.dims}")
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
    described = "; ".join(f"{dim}: {listed(along)}" for dim, along in labels.items()) or "none"
    raise ValueError(
        f"label {label!r} not found along any dim that is not a level; those dims and labels "
        f"are {described}"
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
    alike = [other for other in labels if str(other) == str(label)]
    if not alike and isinstance(label, str) and NUMBER.fullmatch(label):
        alike = [
            other
            for other in labels
            if isinstance(other, int | float)
            and not isinstance(other, bool)
            and other == float(label)
        ]
    return alike[0] if len(alike) == 1 else None


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

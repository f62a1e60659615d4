"""Factors that modes may go with: levels, orders of repetitions, coordinates, other metrics."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, LEVELS, MARKS, UNKNOWN, plural
from perfarray.mixtures.numerics.origins import Factor
from perfarray.timings.apply import is_chunked
from perfarray.timings.resolve import Data, Timings, check_names, choose_metric
from perfarray.timings.streams import label_hashes
from perfarray.timings.validation import listed

# Follows the name of a level in the name of the order of its repetitions.
ORDER = "_order"

QUARTER_LABELS = ("first quarter", "second quarter", "third quarter", "last quarter")

# Numbers are labels if no more of them differ, and each stands for two repetitions on average.
FEW_VALUES = 4


# The codes of a factor along levels, their labels (None: an order), and the depth of the level
# whose units carry them.
Codes = tuple[xr.DataArray, tuple[str, ...] | None, int]


def nest_with(times: Data, by: str | Sequence[str] | None, metric: Any, levels: Any) -> Any:
    """Return the levels.

    By default, dims that are named as factors and are no repetitions become the outermost ones.
    """
    array = choose_metric(times, metric, levels)
    names = () if by is None else check_names(by, "by")
    dims = [name for name in names if name in array.dims and name not in LEVELS]
    if levels is not None or not dims:
        return levels
    return (*dims, *(level for level in LEVELS if level in array.dims))


def factors_of(
    times: Data, data: Timings, depth: int, by: str | Sequence[str] | None
) -> tuple[dict[str, Factor], list[xr.DataArray], tuple[str, ...]]:
    """Return the requested factors by name, the codes of each, and all labels.

    Default: levels with repetitions inside, their orders, and coordinates with labels or numbers.
    Codes lie along the levels down to the runs; labels of quarters come first.
    """
    names = () if by is None else check_names(by, "by")
    array, nest, sizes = data.array, data.levels[: depth + 1], data.array.sizes
    blank = xr.DataArray(np.zeros([sizes[level] for level in nest]), dims=nest)
    levels = [level for level, below in pairwise(nest) if min(sizes[level], sizes[below]) > 1]
    orders = [level + ORDER for level in nest if sizes[level] > 2] or [nest[-1] + ORDER]
    excluded = {*array.dims, *MARKS, CENSORED_AT}
    coordinates = {
        str(name): coordinate
        for name, coordinate in array.coords.items()
        if name not in excluded and not set(data.levels).isdisjoint(coordinate.dims)
    }
    if isinstance(times, xr.Dataset):
        coordinates |= {
            name: times[name] for name in names if name in times.data_vars and name != array.name
        }
    factors: dict[str, Codes] = {}
    for name in names or dict.fromkeys([*levels, *orders, *coordinates]):
        level = name.removesuffix(ORDER)
        if name in coordinates:
            codes = _described_codes(coordinates[name], nest, blank, required=by is not None)
            factors |= {} if codes is None else {name: codes}
        elif name in nest[:-1]:
            factors[name] = _unit_codes(array, nest, nest.index(name), blank)
        elif level in nest and level != name:
            position = xr.DataArray(np.arange(sizes[level]), dims=level)
            factors[name] = (blank + position, None, nest.index(level))
        elif name == nest[-1]:
            raise ValueError(
                f"by={name!r}: every run is of another {name}; ask for {name + ORDER!r}, or "
                "give as value= a level inside it"
            )
        else:
            candidates = listed(dict.fromkeys([*levels, *orders, *coordinates]))
            raise ValueError(f"by={name!r} is nothing that runs differ in; there is {candidates}")
    return _numbered(factors, nest)


def _unit_codes(
    array: xr.DataArray, nest: tuple[str, ...], depth: int, blank: xr.DataArray
) -> Codes:
    """Return the units of a level, named with those they lie inside.

    The units of the next level are exchanged between them.
    """
    shape = blank.shape[: depth + 1]
    codes = np.arange(np.prod(shape, dtype=int)).reshape(*shape, *[1] * (blank.ndim - depth - 1))
    names = [[str(label) for label in array[level].values.tolist()] for level in nest[: depth + 1]]
    labels = (
        "/".join(level[at] for level, at in zip(names, index, strict=True))
        for index in np.ndindex(*shape)
    )
    return blank + codes, tuple(labels), depth


def _described_codes(
    coordinate: xr.DataArray, nest: tuple[str, ...], blank: xr.DataArray, *, required: bool
) -> Codes | None:
    """Return the codes of a coordinate, numbers averaged over what lies below a run.

    None if it is not required and tells nothing.
    """
    array = coordinate.reset_coords(drop=True).drop_vars(coordinate.dims, errors="ignore")
    below = [str(dim) for dim in array.dims if dim in LEVELS and dim not in nest]
    number = array.dtype.kind in "iuf"
    if below and not number:
        if required:
            text = (
                f"by={coordinate.name!r} differs among the {plural(below[-1])} of a run, and "
                "is no number that could be averaged"
            )
            raise ValueError(
                f"{text}; give value={below[-1]!r}, which makes every one of them a run"
            )
        return None
    array = array.mean(below) if below else array
    if is_chunked(array) and number:  # not computed
        depth = max((nest.index(str(dim)) for dim in array.dims if dim in nest), default=0)
        return array.broadcast_like(blank), None, depth
    values = array.values
    if values.dtype.kind not in "iufM":
        values = values.astype(str).astype(object)
        values[pd.isna(array.values) | (values == UNKNOWN)] = None
    flat, distinct = pd.factorize(values.ravel(), sort=True)
    numbers = flat.reshape(values.shape)  # -1 where not known
    codes = (
        array.copy(data=np.where(numbers < 0, np.nan, numbers))
        .broadcast_like(blank)
        .transpose(..., *nest)
    )
    # The outermost level inside whose units codes do not vary.
    values, depth = codes.values, 0
    for depth in range(len(nest)):
        flat = values.reshape(*values.shape[: values.ndim - len(nest) + depth + 1], -1)
        if not (np.fmax.reduce(flat, axis=-1) > np.fmin.reduce(flat, axis=-1)).any():
            break
    are_labels = len(distinct) <= FEW_VALUES and 2 * len(distinct) <= (numbers >= 0).sum()
    if array.dtype.kind in "iufM" and not are_labels:
        return codes, None, depth
    units = np.prod([blank.sizes[level] for level in nest[: depth + 1]])
    if (
        not required and not 1 < len(distinct) <= units // 2
    ):  # one label, or a label for nearly every unit
        return None
    labels = (f"{label:g}" if isinstance(label, float) else str(label) for label in distinct)
    return codes, tuple(labels), depth


def _numbered(
    factors: dict[str, Codes], nest: tuple[str, ...]
) -> tuple[dict[str, Factor], list[xr.DataArray], tuple[str, ...]]:
    """Number the labels of all factors in one sequence."""
    ranked = any(labels is None for _, labels, _ in factors.values())
    numbers = {label: number for number, label in enumerate(QUARTER_LABELS if ranked else ())}
    tests, arrays = {}, []
    for name, (array, labels, depth) in factors.items():
        stream = int(label_hashes(np.array([name], dtype=object))[0] & np.uint64(2**32 - 1))
        tests[name] = Factor(depth + (name in nest), depth, labels is None, stream)
        if labels is not None:
            renumbered = np.array(
                [numbers.setdefault(label, len(numbers)) for label in labels], dtype=float
            )
            array = array.copy(
                data=np.where(array.isnull(), np.nan, renumbered[array.fillna(0).astype(int)])
            )
        arrays.append(array)
    return tests, arrays, tuple(numbers)

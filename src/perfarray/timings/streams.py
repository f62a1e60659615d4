"""Keys of random numbers: one for a call, and one for every cell, made of its labels."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import COMPARED, RNG_KEY
from perfarray.timings.apply import is_chunked

# A seed, the `rng_key` of an earlier result, a generator, or None for new numbers
Rng = int | str | np.random.Generator | None

Keys = npt.NDArray[np.uint64]

# The name of arrays of keys; no label has it
KEY = "_key"

# Labels converted to text at a time
BLOCK = 1 << 16

# Hexadecimal digits of a key of 128 bits
DIGITS = 32


def key_of(rng: Rng) -> tuple[int, int]:
    """Draw the key of a call, or parse the key of an earlier result."""
    if isinstance(rng, str) and len(rng) == DIGITS and set(rng) <= set("0123456789abcdef"):
        return int(rng[: DIGITS // 2], 16), int(rng[DIGITS // 2 :], 16)
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if isinstance(rng, str) or not (rng is None or isinstance(rng, np.random.Generator) or is_seed):
        raise ValueError(
            f"rng={rng!r}: give a whole number that is not negative, a numpy.random.Generator, "
            f"the {RNG_KEY!r} of a result, or None"
        )
    first, second = np.random.default_rng(rng).integers(0, 2**64, 2, dtype=np.uint64).tolist()
    return first, second


def describe_key(key: tuple[int, int]) -> dict[str, Hashable]:
    """Return the attr that reproduces a result when given as `rng=`."""
    return {RNG_KEY: f"{key[0]:016x}{key[1]:016x}"}


def one_key(function: Callable[..., Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with one key for several calls that draw random numbers."""
    if "rng" not in signature(function).parameters:
        return dict(keywords)
    return {**keywords, "rng": describe_key(key_of(keywords.get("rng")))[RNG_KEY]}


def cell_keys(
    arrays: Sequence[xr.DataArray],
    levels: Sequence[str],
    excluded: str | Sequence[str] | None = None,
) -> xr.DataArray:
    """Return a key for every cell of some arrays, chunked like them.

    It is made of the labels of the cell (positions along dims without labels), whatever other
    labels there are, in whatever order of labels or dims. What is compared may be selected: a
    scalar coordinate `benchmark` counts as the label it is.
    """
    left_out = {*levels, *((excluded,) if isinstance(excluded, str) else excluded or ())}
    dims = sorted({str(dim) for array in arrays for dim in array.dims} - left_out)
    keys: Keys = np.zeros(1, np.uint64)
    coords: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, Any] = {}
    for name in {*COMPARED} - left_out - {*dims}:
        scalars = [
            array.coords[name]
            for array in arrays
            if name in array.coords and not array.coords[name].ndim
        ]
        keys = keys + _hashed(name, scalars[0].values[None]) if scalars else keys
    for dim in dims:
        along = [array for array in arrays if dim in array.dims]
        labelled_array = next((array for array in along if dim in array.coords), along[0])
        labelled = labelled_array.coords.variables.get(dim)
        keys = keys[..., None] + _hashed(
            dim, np.arange(labelled_array.sizes[dim]) if labelled is None else labelled.values
        )
        if labelled is not None:
            labels = labelled_array.xindexes.get_all_coords(dim, errors="ignore") or {dim: labelled}
            coords |= labels
            indexes |= {
                name: index for name, index in labelled_array.xindexes.items() if name in labels
            }
    variable = xr.Variable(dims, keys[0])
    if any(is_chunked(array) for array in arrays):
        variable = variable.chunk({dim: _chunks(arrays, dim) for dim in dims})
    return xr.DataArray(variable, xr.Coordinates(coords, indexes), name=KEY)


def _chunks(arrays: Sequence[xr.DataArray], dim: str) -> Any:
    """Return the chunks of the lazy array with this dim; -1 where none has it."""
    return next(
        (
            array.variable.chunksizes[dim]
            for array in arrays
            if is_chunked(array) and dim in array.dims
        ),
        -1,
    )


def _hashed(dim: str, labels: Any) -> Keys:
    """Return the summands of the labels of a dim in the keys of cells."""
    words: Keys = label_hashes(labels) ^ _hash_of_name(dim)
    if len(np.unique(words)) < len(words):  # the second cell of a label is not the first
        words = words + np.asarray(pd.Series(words).groupby(words).cumcount(), np.uint64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@cache
def _hash_of_name(dim: str) -> np.uint64:
    """Return 64 bits for the name of a dim."""
    return np.uint64(label_hashes(np.array([dim], dtype=object))[0])


def order_of_labels(labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return an order of labels that does not depend on their present order."""
    return np.argsort(label_hashes(labels), kind="stable")


def label_hashes(labels: npt.NDArray[Any]) -> Keys:
    """Return a 64-bit hash of every label, the same in every process."""
    if labels.dtype.kind in "mM":
        labels = labels.astype(f"{labels.dtype.kind}8[ns]").view(np.int64)
    if labels.dtype.kind in "iu" or (
        labels.dtype.kind == "O"
        and all(type(item) is int and abs(item) < 1 << 63 for item in labels)
    ):
        return pd.util.hash_array(labels.astype(np.int64))
    return np.concatenate(
        [
            _text_hashes(labels[start : start + BLOCK].tolist())
            for start in range(0, max(len(labels), 1), BLOCK)
        ]
    )


def _text_hashes(items: Sequence[Any]) -> Keys:
    """Return a 64-bit hash of labels that are not whole numbers."""
    texts = [item if isinstance(item, str) else f"{type(item).__name__}:{item}" for item in items]
    return pd.util.hash_array(np.array(texts, dtype=object), categorize=False)

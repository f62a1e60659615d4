"""The only caller of xarray.apply_ufunc: labels, dims and chunks on one side, a formula over the last axes on the other."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

LEVEL = "level"

TEXT = np.dtype(object, metadata={"element_type": str})
"""Objects that are texts, in xarray's words: what is lazy is then written without having been computed once to see what it is."""


BLOCK = 1 << 21
"""Bytes of what a formula is given at once, where it works on one cell after another: on its way it may need ten times as many."""

Kernel = Callable[..., Sequence[Any]]
"""A formula: of arrays with the dims it works on last, one array for each variable that it returns."""


class Output(NamedTuple):
    """One variable of a result: its extra dims (after those that broadcast), its unit, its dtype."""

    dims: tuple[str, ...] = ()
    units: str = ""
    dtype: Any = float
    long_name: str = ""


def outputs(units: str = "1", dims: tuple[str, ...] = (), /, **named: str) -> dict[str, Output]:
    """Return variables of one unit along the same dims, by name: what each is in full, or "" where its name says it."""
    return {name: Output(dims, units, long_name=text) for name, text in named.items()}


def apply(
    kernel: Kernel,
    *arrays: xr.DataArray,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Hashable] | None = None,
) -> xr.Dataset:
    """Run a formula over the core dims of some arrays and label what it returns.

    Parameters
    ----------
    kernel : callable
        Takes one NumPy array per input, core axes last in the order of `core`, and returns one array per output in their order.
    *arrays : DataArray
        Inputs; dims that are not core broadcast and must carry the same labels.
    core : sequence of sequence of str
        The core dims of each input. The same dim may have other lengths in other inputs: repetitions are never aligned.
    outputs : mapping of str to Output
        What the kernel returns, in its order.
    coords : mapping, optional
        Labels of the dims that outputs have beyond those that broadcast.
    attrs : mapping, optional
        Attrs of the result. Those of the inputs are dropped: `units: "s"` must not survive onto a variance.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        When a core dim is split over chunks.
    """
    return xr.Dataset(*run(kernel, *arrays, core=core, outputs=outputs, coords=coords), attrs)


def run(
    kernel: Kernel,
    *arrays: xr.DataArray,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    coords: Mapping[str, Any] | None = None,
) -> tuple[dict[Hashable, xr.Variable], xr.Coordinates]:
    """Do what `apply` does, and return variables and labels apart: many variables are dear to put together."""
    coords = dict(coords or {})
    used = {dim for dims in core for dim in dims}
    if len(arrays) > 1 and not _same_labels(arrays, used):
        arrays = xr.align(*arrays, join="exact", copy=False, exclude=used)
    sizes = {name: len(values) for name, values in coords.items()}
    variables = compute(kernel, *(array.variable for array in arrays), core=core, outputs=outputs, sizes=sizes)
    returned = {dim for output in outputs.values() for dim in output.dims}
    return variables, _coordinates(arrays, used, {name: values for name, values in coords.items() if name in returned})


def compute(
    kernel: Kernel,
    *arrays: xr.Variable,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int] | None = None,
) -> dict[Hashable, xr.Variable]:
    """Run a formula as `apply` does, on arrays without labels; `sizes` are those of the dims that only outputs have."""
    chunked = any(is_chunked(array) for array in arrays)
    if chunked:
        _check_chunks(arrays, core)
    computed = _lazily(kernel, arrays, core, outputs, sizes or {}) if chunked else _at_once(kernel, arrays, core, outputs)
    order = tuple(dict.fromkeys(dim for array in arrays for dim in array.dims))
    for output, variable in zip(outputs.values(), computed, strict=True):
        if output.units or output.long_name:
            variable.attrs = {key: value for key, value in (("units", output.units), ("long_name", output.long_name)) if value}
    return {name: in_order(variable, order) for name, variable in zip(outputs, computed, strict=True)}


def together(*kernels: Kernel) -> Kernel:
    """Return one formula that gives what several give, one after the other."""
    return lambda *values: [array for kernel in kernels for array in kernel(*values)]


def _at_once(
    kernel: Kernel, arrays: Sequence[xr.Variable], core: Sequence[Sequence[str]], outputs: Mapping[str, Output]
) -> list[xr.Variable]:
    """Call the formula on arrays in memory: what apply_ufunc does, without its price (0.1 ms for ten outputs)."""
    batch = list(dict.fromkeys(dim for array, dims in zip(arrays, core, strict=True) for dim in array.dims if dim not in dims))
    values = []
    for array, dims in zip(arrays, core, strict=True):
        order = (*(dim for dim in batch if dim in array.dims), *dims)
        values_in_order = (array if array.dims == order else array.transpose(*order)).data
        values.append(values_in_order[(*(slice(None) if dim in array.dims else np.newaxis for dim in batch), ...)])
    returned = by_blocks(kernel, values, len(batch), -(-sum(values_in_order.nbytes for values_in_order in values) // BLOCK))
    return [xr.Variable((*batch, *output.dims), array, fastpath=True) for output, array in zip(outputs.values(), returned, strict=True)]


def by_blocks(kernel: Kernel, values: Sequence[npt.NDArray[Any]], axes: int, blocks: int) -> list[npt.NDArray[Any]]:
    """Call a formula on so many blocks along the longest of the first axes, so that what it needs on its way stays small."""
    sizes = [max(array.shape[axis] for array in values) for axis in range(axes)]
    blocks = min(blocks, max(sizes, default=1))
    if blocks < 2:
        return [np.asarray(array) for array in kernel(*values)]
    length, axis = max(sizes), sizes.index(max(sizes))
    results: list[npt.NDArray[Any]] = []
    for number in range(blocks):
        block = (slice(None),) * axis + (slice(length * number // blocks, length * (number + 1) // blocks),)
        returned = [np.asarray(array) for array in kernel(*(array[block] if array.shape[axis] > 1 else array for array in values))]
        results = results or [np.empty((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype) for array in returned]
        for result, array in zip(results, returned, strict=True):
            result[block] = array
        del returned, array  # the next block needs the room
    return results


def _lazily(
    kernel: Kernel,
    arrays: Sequence[xr.Variable],
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int],
) -> Sequence[xr.Variable]:
    """Let dask call the formula, chunk by chunk, when the answer is wanted."""
    returned = {dim for output in outputs.values() for dim in output.dims}
    returned = xr.apply_ufunc(
        kernel if len(outputs) > 1 else lambda *values: kernel(*values)[0],
        *arrays,
        input_core_dims=[list(dims) for dims in core],
        output_core_dims=[list(output.dims) for output in outputs.values()],
        exclude_dims={dim for dims in core for dim in dims} - returned,
        dask="parallelized",
        output_dtypes=[TEXT if output.dtype is object else output.dtype for output in outputs.values()],
        dask_gufunc_kwargs={"output_sizes": dict(sizes)},
        keep_attrs=False,
    )
    return returned if isinstance(returned, tuple) else (returned,)


def _same_labels(arrays: Sequence[xr.DataArray], used: set[str]) -> bool:
    """Return whether what broadcasts has the very same indexes wherever it occurs, or none and one size: that need not be aligned."""
    first: dict[Hashable, Any] = {}
    for array in arrays:
        for name, label in {**array.sizes, **array.xindexes}.items():
            if name not in used and first.setdefault(name, label) != label:
                return False
    return True


def _coordinates(arrays: Sequence[xr.DataArray], used: set[str], coords: Mapping[str, Any]) -> xr.Coordinates:
    """Return the labels of the result: those of the inputs that do not lie along core dims, and those of the new dims.

    Indexes are handed on: xarray makes them anew from anything else.
    """
    variables: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, Any] = {}
    labelled = [array.coords for array in reversed(arrays)] + [_labels(name, tuple(values)) for name, values in coords.items()]
    for number, labels in enumerate(labelled):
        labelled_variables = {
            name: label for name, label in labels.variables.items() if number >= len(arrays) or not used.intersection(label.dims)
        }
        variables |= labelled_variables
        indexes |= {name: index for name, index in labels.xindexes.items() if name in labelled_variables}
    return xr.Coordinates(variables, indexes)


def is_chunked(array: xr.DataArray | xr.Variable) -> bool:
    """Return whether an array is lazy (`array.chunks` tells the same ten times slower)."""
    return not isinstance(array.data, np.ndarray)


def _check_chunks(arrays: Sequence[xr.Variable], core: Sequence[Sequence[str]]) -> None:
    """Dims that broadcast may be chunked; a level must be whole."""
    for array, dims in zip(arrays, core, strict=True):
        for dim in dims:
            pieces = array.chunksizes.get(dim, ()) if is_chunked(array) else ()
            if len(pieces) > 1:
                raise ValueError(f"dim {dim!r} is split over {len(pieces)} chunks; an answer needs it whole: use .chunk({{{dim!r}: -1}})")


@lru_cache(maxsize=64)
def _labels(name: str, values: tuple[Any, ...]) -> xr.Coordinates:
    """Return labels of a new dim; text is object dtype, so that it survives every join and file. Indexes are dear: they are kept."""
    array = np.asarray(values)
    index = pd.Index(array, dtype=object if array.dtype.kind in "US" else None)
    return xr.Coordinates({name: xr.IndexVariable((name,), index)})


def in_order(variable: xr.Variable, order: tuple[Hashable, ...]) -> xr.Variable:
    """Put the dims that broadcast in the order of the input; new dims stay at the end."""
    dims = _ordered(variable.dims, order)
    return variable if dims == variable.dims else variable.transpose(*dims)


@lru_cache(maxsize=256)
def _ordered(dims: tuple[Hashable, ...], order: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return dims in an order, and those that it does not name at the end: the variables of a result have few sets of dims."""
    return tuple(sorted(dims, key=lambda dim: order.index(dim) if dim in order else len(order)))

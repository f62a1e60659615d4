"""The only caller of xarray.apply_ufunc: labels, dims and chunks on one side, a formula over the last axes on the other."""

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from xarray.indexes import PandasIndex

from perfarray.numerics.types import Integers
from perfarray.timings.progress import progress_bar

LEVEL = "level"

# Object dtype that xarray knows to hold text, so that lazy arrays are written without being
# computed first to find out
TEXT = np.dtype(object, metadata={"element_type": str})


# Bytes of input that a formula is given at once; its intermediate results may need ten times as
# many
BLOCK = 1 << 21

# Cells from which on the memory of an answer is checked beforehand, and what makes it smaller
MANY = 1 << 16
ENOUGH = (
    "ask for fewer replicates (n_resamples=), of fewer cells at once (times.isel), or lazily "
    "and in chunks (times.chunk), and write the "
    "answer to Zarr"
)

# A formula: takes arrays with their core axes last, returns one array for each variable
Kernel = Callable[..., Sequence[Any]]


class Output(NamedTuple):
    """One variable of a result: its extra dims (after those that broadcast), its unit, its dtype."""

    dims: tuple[str, ...] = ()
    units: str = ""
    dtype: Any = float
    long_name: str = ""


class Labels(NamedTuple):
    """The coordinates of an answer and their indexes, which xarray would otherwise build anew."""

    variables: dict[Hashable, xr.Variable]
    indexes: dict[Hashable, Any]

    def dataset(
        self, variables: Mapping[Any, xr.Variable], attrs: Mapping[Any, Any] | None = None
    ) -> xr.Dataset:
        """Return a Dataset of variables."""
        return xr.Dataset(variables, xr.Coordinates(self.variables, self.indexes), attrs)

    def array(self, variable: xr.Variable, name: Hashable | None = None) -> xr.DataArray:
        """Return an array of a variable."""
        return xr.DataArray(variable, xr.Coordinates(self.variables, self.indexes), name=name)


def outputs(units: str = "1", dims: tuple[str, ...] = (), /, **named: str) -> dict[str, Output]:
    """Return outputs of one unit along the same dims, by name, with their long names ("" where the name says it all)."""
    return {name: Output(dims, units, long_name=text) for name, text in named.items()}


def apply(
    kernel: Kernel,
    *arrays: xr.DataArray,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Hashable] | None = None,
) -> xr.Dataset:
    """Apply a formula over the core dims of some arrays and label what it returns.

    Parameters
    ----------
    kernel : callable
        Takes one NumPy array per input, core axes last in the order of `core`, and returns one
        array per output in their order.
    *arrays : DataArray
        Inputs; dims that are not core broadcast and must carry the same labels.
    core : sequence of sequence of str
        The core dims of each input. The same dim may have other lengths in other inputs:
        repetitions are never aligned.
    outputs : mapping of str to Output
        What the kernel returns, in its order.
    coords : mapping, optional
        Labels of the dims that outputs have beyond those that broadcast.
    attrs : mapping, optional
        Attrs of the result. Those of the inputs are dropped: `units: "s"` must not survive onto a
        variance.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        When a core dim is split over chunks.
    """
    variables, labels = apply_to_variables(
        kernel, *arrays, core=core, outputs=outputs, coords=coords
    )
    return labels.dataset(variables, attrs)


def apply_to_variables(
    kernel: Kernel,
    *arrays: xr.DataArray,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    coords: Mapping[str, Any] | None = None,
) -> tuple[dict[Hashable, xr.Variable], Labels]:
    """Do what `apply` does, but return variables and their labels."""
    coords = dict(coords or {})
    used = {dim for dims in core for dim in dims}
    if len(arrays) > 1 and not _same_labels(arrays, used):
        arrays = xr.align(*arrays, join="exact", copy=False, exclude=used)
    sizes = {name: len(values) for name, values in coords.items()}
    variables = compute_variables(
        kernel, *(array.variable for array in arrays), core=core, outputs=outputs, sizes=sizes
    )
    returned = {dim for output in outputs.values() for dim in output.dims}
    return variables, _labels_of(
        arrays, used, {name: values for name, values in coords.items() if name in returned}
    )


def compute_variables(
    kernel: Kernel,
    *arrays: xr.Variable,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int] | None = None,
) -> dict[Hashable, xr.Variable]:
    """Apply a formula to arrays without labels.

    `sizes` are those of the dims that only outputs have.
    """
    variables = (
        _lazy(kernel, arrays, core, outputs, sizes or {})
        if any(map(is_chunked, arrays))
        else _in_memory(kernel, arrays, core, outputs, sizes or {})
    )
    order = tuple(dict.fromkeys(dim for array in arrays for dim in array.dims))
    for position, (output, variable) in enumerate(zip(outputs.values(), variables, strict=True)):
        if output.units or output.long_name:
            variable.attrs = {
                key: value
                for key, value in (("units", output.units), ("long_name", output.long_name))
                if value
            }
        if output.dims:
            variables[position] = in_order(variable, order)
    return dict(zip(outputs, variables, strict=True))


def _in_memory(
    kernel: Kernel,
    arrays: Sequence[xr.Variable],
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int],
) -> list[xr.Variable]:
    """Call the formula on arrays in memory, as apply_ufunc does, which takes 0.1 ms for ten outputs."""
    broadcast = list(
        dict.fromkeys(
            dim
            for array, dims in zip(arrays, core, strict=True)
            for dim in array.dims
            if dim not in dims
        )
    )
    lengths: dict[Hashable, int] = {
        dim: length for array in arrays for dim, length in array.sizes.items()
    }
    cells = math.prod(lengths[dim] for dim in broadcast)
    if cells >= MANY:
        lengths.update(sizes)
        _check_memory(
            8.0
            * cells
            * sum(
                math.prod(lengths.get(dim, 1) for dim in output.dims) for output in outputs.values()
            )
        )
    operands, n_bytes = [], 0
    for array, dims in zip(arrays, core, strict=True):
        order = (*(dim for dim in broadcast if dim in array.dims), *dims)
        values = (
            array.data
            if array.dims == order
            else array.data.transpose([array.dims.index(dim) for dim in order])
        )
        operands.append(
            values[(*(slice(None) if dim in array.dims else np.newaxis for dim in broadcast), ...)]
        )
        n_bytes += values.nbytes * (
            cells // math.prod(lengths[dim] for dim in broadcast if dim in array.dims)
            if cells
            else 1
        )
    try:
        results = (
            kernel(*operands)
            if n_bytes <= BLOCK
            else by_blocks(kernel, operands, len(broadcast), -(-n_bytes // BLOCK))
        )
    except MemoryError as error:
        raise MemoryError(f"{error or 'there is not enough memory'}: {ENOUGH}") from None
    return [
        xr.Variable((*broadcast, *output.dims), np.asarray(array))
        for output, array in zip(outputs.values(), results, strict=True)
    ]


def _check_memory(needed: float) -> None:
    """Raise where an answer exceeds the memory of the computer."""
    if needed > (memory := _memory()):
        raise MemoryError(
            f"the answer needs at least {needed / 1e9:,.3g} GB, and this computer has "
            f"{memory / 1e9:,.3g}: {ENOUGH}"
        )


def _memory() -> float:
    """Return the bytes of memory of this computer; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def by_blocks(
    kernel: Kernel, operands: Sequence[npt.NDArray[Any]], axes: int, blocks: int
) -> list[npt.NDArray[Any]]:
    """Call a formula block by block along the longest of the first axes, which bounds the memory of its intermediate results."""
    sizes = [max(array.shape[axis] for array in operands) for axis in range(axes)]
    blocks = min(blocks, max(sizes, default=1))
    if blocks < 2:
        return [np.asarray(array) for array in kernel(*operands)]
    length, axis = max(sizes), sizes.index(max(sizes))
    results: list[npt.NDArray[Any]] = []
    with progress_bar(blocks, "computing", "block", show=None) or nullcontext() as bar:
        for number in range(blocks):
            block = (slice(None),) * axis + (
                slice(length * number // blocks, length * (number + 1) // blocks),
            )
            returned = [
                np.asarray(array)
                for array in kernel(
                    *(array[block] if array.shape[axis] > 1 else array for array in operands)
                )
            ]
            results = results or [
                np.empty((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype)
                for array in returned
            ]
            for result, array in zip(results, returned, strict=True):
                result[block] = array
            del returned, array  # the next block needs the memory
            if bar is not None:
                bar.update()
    return results


def _lazy(
    kernel: Kernel,
    arrays: Sequence[xr.Variable],
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int],
) -> list[xr.Variable]:
    """Let dask call the formula chunk by chunk when the result is computed.

    Dims that broadcast may be chunked, core dims not.
    """
    for array, dims in zip(arrays, core, strict=True):
        for dim in dims:
            pieces = array.chunksizes.get(dim, ()) if is_chunked(array) else ()
            if len(pieces) > 1:
                raise ValueError(
                    f"dim {dim!r} is split over {len(pieces)} chunks; an answer needs it "
                    f"whole: use .chunk({{{dim!r}: -1}})"
                )
    output_dims = {dim for output in outputs.values() for dim in output.dims}
    returned = xr.apply_ufunc(
        kernel if len(outputs) > 1 else lambda *values: kernel(*values)[0],
        *arrays,
        input_core_dims=[list(dims) for dims in core],
        output_core_dims=[list(output.dims) for output in outputs.values()],
        exclude_dims={dim for dims in core for dim in dims} - output_dims,
        dask="parallelized",
        output_dtypes=[
            TEXT if output.dtype is object else output.dtype for output in outputs.values()
        ],
        dask_gufunc_kwargs={"output_sizes": dict(sizes)},
        keep_attrs=False,
    )
    return list(returned) if isinstance(returned, tuple) else [returned]


def _same_labels(arrays: Sequence[xr.DataArray], used: set[str]) -> bool:
    """Return whether the dims that broadcast have identical indexes, or sizes, in all arrays: these need no alignment."""
    first: dict[Hashable, Any] = {}
    for array in arrays:
        for name, label in {**array.sizes, **array.xindexes}.items():
            if name not in used and first.setdefault(name, label) != label:
                return False
    return True


def _labels_of(arrays: Sequence[xr.DataArray], used: set[str], coords: Mapping[str, Any]) -> Labels:
    """Return the labels of the result: those of the inputs that do not lie along core dims, and those of the new dims."""
    variables: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, Any] = {}
    for array in reversed(arrays):
        labels = {
            name: label
            for name, label in array.coords.variables.items()
            if not used.intersection(label.dims)
        }
        variables |= labels
        indexes |= {name: index for name, index in array.xindexes.items() if name in labels}
    for name, values in coords.items():
        new_labels = labels_of_dim(name, tuple(values))
        variables |= new_labels.variables
        indexes |= new_labels.indexes
    return Labels(variables, indexes)


def is_chunked(array: xr.DataArray | xr.Variable) -> bool:
    """Return whether an array is lazy."""
    return not isinstance(
        array.data, np.ndarray
    )  # ten times faster than `array.chunks is not None`


def labels_of_dim(name: str, values: Sequence[Any] | npt.NDArray[Any]) -> Labels:
    """Return the labels of a dim, and their index.

    Text has object dtype, which every join and file keeps.
    """
    array = np.asarray(values)
    array = array.astype(object) if array.dtype.kind in "US" else array
    index = PandasIndex(pd.Index(array, dtype=array.dtype), name, coord_dtype=array.dtype)
    return Labels(index.create_variables(), {name: index})


def in_order(variable: xr.Variable, order: tuple[Hashable, ...]) -> xr.Variable:
    """Transpose the dims that broadcast to the order of the input; new dims stay at the end."""
    return variable.transpose(*(dim for dim in order if dim in variable.dims), ...)


def cut(variable: xr.Variable, dim: str, positions: int | slice | Integers) -> xr.Variable:
    """Return a variable at positions of a dim, and variables without the dim as they are."""
    return variable.isel({dim: positions}) if dim in variable.dims else variable

"""The only caller of xarray.apply_ufunc: labels and chunks around formulas on arrays."""

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

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
    "ask for fewer replicates (n_resamples=), or of fewer cells at once (times.isel). Or work "
    "lazily in chunks (times.chunk), and write the answer to Zarr"
)

# A formula: takes arrays with their core axes last, returns one array for each variable
Kernel = Callable[..., Sequence[Any]]


class Output(NamedTuple):
    """One variable of a result: its extra dims, its unit, its dtype."""

    dims: tuple[str, ...] = ()
    units: str = ""
    dtype: Any = float
    long_name: str = ""


def outputs(
    units: str = "1", dims: tuple[str, ...] = (), /, **long_names: str
) -> dict[str, Output]:
    """Return outputs of one unit along the same dims, by name, with their long names."""
    return {name: Output(dims, units, long_name=text) for name, text in long_names.items()}


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
    used = {dim for dims in core for dim in dims}
    returned = {dim for output in outputs.values() for dim in output.dims}
    new_labels = {name: labels for name, labels in (coords or {}).items() if name in returned}
    sizes = {name: len(labels) for name, labels in new_labels.items()}
    if len(arrays) > 1:
        arrays = xr.align(*arrays, join="exact", copy=False, exclude=used)
    lazy = any(map(is_chunked, arrays))
    for array, dims in zip(arrays, core, strict=True) if lazy else ():
        check_whole(array, dims)
    variables = xr.apply_ufunc(
        _returning(kernel, outputs) if lazy else _in_blocks(kernel, core, outputs, sizes),
        *(array.variable for array in arrays),
        input_core_dims=[list(dims) for dims in core],
        output_core_dims=[list(output.dims) for output in outputs.values()],
        exclude_dims=used - returned,
        dask="parallelized",
        output_dtypes=[
            TEXT if output.dtype is object else output.dtype for output in outputs.values()
        ],
        dask_gufunc_kwargs={"output_sizes": sizes},
        keep_attrs=False,
    )
    labelled = _labels_of(arrays, used, new_labels)
    result = xr.Dataset(
        dict(zip(outputs, variables if len(outputs) > 1 else [variables], strict=True)),
        labelled,
        attrs,
    )
    order = dict.fromkeys(dim for array in arrays for dim in array.dims if dim in result.dims)
    for name, output in outputs.items():
        texts = {"units": output.units, "long_name": output.long_name}
        result.variables[name].attrs = {key: text for key, text in texts.items() if text}
    return result.transpose(*order, ...)


def check_whole(array: xr.DataArray, dims: Sequence[str]) -> None:
    """Raise where a dim that a formula needs whole is split over chunks."""
    for dim in dims:
        n_chunks = len(array.variable.chunksizes.get(dim, ())) if is_chunked(array) else 1
        if n_chunks > 1:
            raise ValueError(
                f"dim {dim!r} is split over {n_chunks} chunks; an answer needs it "
                f"whole: use .chunk({{{dim!r}: -1}})"
            )


def _returning(kernel: Kernel, outputs: Mapping[str, Output]) -> Callable[..., Any]:
    """Return a formula that returns what `xr.apply_ufunc` expects: of one output no tuple."""
    return kernel if len(outputs) > 1 else lambda *values: kernel(*values)[0]


def _in_blocks(
    kernel: Kernel,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    sizes: Mapping[str, int],
) -> Callable[..., Any]:
    """Return a formula that works on arrays in memory in blocks of cells."""

    def compute(*unwrapped: Any) -> Any:
        # A single text is handed over without its array.
        values = [
            np.asarray(value, dtype=object) if isinstance(value, str) else np.asarray(value)
            for value in unwrapped
        ]
        n_axes = max(array.ndim - len(dims) for array, dims in zip(values, core, strict=True))
        operands = [
            array.reshape((1,) * (n_axes + len(dims) - array.ndim) + array.shape)
            for array, dims in zip(values, core, strict=True)
        ]
        shape = np.broadcast_shapes(*(array.shape[:n_axes] for array in operands))
        cells = math.prod(shape)
        if cells >= MANY:
            lengths = dict(sizes)
            for array, dims in zip(operands, core, strict=True):
                lengths |= zip(dims, array.shape[n_axes:], strict=True)
            _check_memory(
                8.0
                * cells
                * sum(
                    math.prod(lengths.get(dim, 1) for dim in out.dims) for out in outputs.values()
                )
            )
        n_bytes = sum(
            array.nbytes * cells // max(math.prod(array.shape[:n_axes]), 1) for array in operands
        )
        try:
            results = (
                kernel(*operands)
                if n_bytes <= BLOCK
                else by_blocks(kernel, operands, n_axes, -(-n_bytes // BLOCK))
            )
        except MemoryError as error:
            raise MemoryError(f"{error or 'there is not enough memory'}: {ENOUGH}") from None
        arrays = tuple(np.asarray(array) for array in results)
        return arrays if len(outputs) > 1 else arrays[0]

    return compute


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
    """Call a formula block by block along the longest of the first axes."""
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


def _labels_of(
    arrays: Sequence[xr.DataArray], used: set[str], coords: Mapping[str, Any]
) -> xr.Coordinates:
    """Return the labels of the result: those of the inputs outside core dims, and new ones.

    Where inputs differ in a descriptor, that of the first counts. Text has object dtype, which
    every join and file keeps.
    """
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
    new = {name: np.asarray(tuple(labels)) for name, labels in coords.items()}
    return xr.Coordinates(variables, indexes).assign(
        {name: (name, as_objects(labels)) for name, labels in new.items()}
    )


def is_chunked(array: xr.DataArray | xr.Variable) -> bool:
    """Return whether an array is lazy."""
    # Ten times faster than `array.chunks is not None`.
    return not isinstance(array.data, np.ndarray)


def as_objects(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return texts with object dtype, and other values as they are."""
    return values.astype(object) if values.dtype.kind in "US" else values

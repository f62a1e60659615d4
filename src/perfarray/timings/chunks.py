"""Chunks of lazy timings: one length along each dim, the same for values and coordinates."""

from collections.abc import Hashable, Mapping
from typing import TypeVar, cast

import xarray as xr

from perfarray.timings.apply import is_chunked

Data = TypeVar("Data", bound=xr.DataArray | xr.Dataset)

# Keys of the encoding that describe the chunks of a variable in its store
STORED = ("chunks", "preferred_chunks", "shards")


def chunk_lengths(array: xr.DataArray) -> dict[Hashable, int]:
    """Return the length of the longest chunk along each dim of a lazy array.

    {} for an array in memory.
    """
    return (
        {dim: max(pieces) for dim, pieces in array.variable.chunksizes.items()}
        if is_chunked(array)
        else {}
    )


def evenly_chunked(
    array: xr.DataArray, lengths: Mapping[Hashable, int] | None = None
) -> xr.DataArray:
    """Return a lazy array whose chunks have one length along each dim.

    Selections leave chunks of many lengths, which Zarr cannot store; coordinates of a store may
    have other chunks than its values, which xarray calls inconsistent. `lengths` replaces the
    lengths of some dims.
    """
    if not is_chunked(array) or 0 in array.sizes.values():
        return array
    target = chunk_lengths(array) | dict(lengths or {})
    lazy = [
        name for name, coordinate in array.coords.items() if coordinate.variable.chunks is not None
    ]
    coords = {name: _chunked(array.coords[name].variable, target) for name in lazy}
    return array.copy(data=_chunked(array.variable, target).data).assign_coords(coords)


def read_again(array: xr.DataArray, awaited: xr.DataArray) -> xr.DataArray:
    """Return a lazy array whose chunks are computed anew when `awaited`, in one chunk, is known.

    Else all would wait for it in memory.

    `dask.graph_manipulation.bind` leaves the tasks of slices as they were (dask issue 12455).
    """
    from dask._task_spec import Task, TaskRef, convert_legacy_graph
    from dask.array import Array
    from dask.base import clone_key
    from dask.highlevelgraph import HighLevelGraph

    data, awaited_data = array.data, awaited.data
    graph = convert_legacy_graph(dict(data.__dask_graph__()))
    keys = {key: clone_key(key, awaited_data.name) for key in graph}
    last = TaskRef((awaited_data.name, *(0 for _ in awaited_data.shape)))
    tasks = {}
    for key, task in graph.items():
        clone = task.substitute(keys, key=keys[key])
        tasks[keys[key]] = clone if task.dependencies else Task(keys[key], _first, clone, last)
    name = clone_key(data.name, awaited_data.name)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[awaited_data])
    return array.copy(data=Array(graph, name, data.chunks, meta=data._meta))  # type: ignore[no-untyped-call]


def _first(value: object, _: object) -> object:
    return value


def storable(times: Data) -> Data:
    """Return timings that Zarr can store: chunks of one length along each dim."""
    if isinstance(times, xr.DataArray):
        return cast(Data, evenly_chunked(times))
    lazy = {
        name: variable for name, variable in times.variables.items() if variable.chunks is not None
    }
    if not lazy or 0 in times.sizes.values():
        return times
    # Descriptors come first, so that the lengths of the measurements hold where both have a dim.
    pieces = [
        lazy[name].chunksizes for name in sorted(lazy, key=lambda name: name in times.data_vars)
    ]
    lengths = {dim: max(length) for piece in pieces for dim, length in piece.items()}
    even = {name: _chunked(variable, lengths) for name, variable in lazy.items()}
    coords = {name: even.pop(name) for name in lazy if name in times.coords}
    return times.assign_coords(coords).assign(even)


def _chunked(variable: xr.Variable, lengths: Mapping[Hashable, int]) -> xr.Variable:
    """Return a variable in chunks of given lengths, without the encoding of former ones."""
    pieces = variable.chunksizes.items()
    # To ask dask for chunks that are there already takes a millisecond for each coordinate.
    even = all(
        {*first} <= {lengths[dim]} and last <= lengths[dim] for dim, (*first, last) in pieces
    )
    chunked = (
        variable.copy(deep=False)
        if even
        else variable.chunk({dim: lengths[dim] for dim in variable.dims})
    )
    chunked.encoding = {key: value for key, value in variable.encoding.items() if key not in STORED}
    return chunked

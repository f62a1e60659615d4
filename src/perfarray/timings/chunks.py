"""Chunks of lazy timings: of one length along each dim, and the same for values and coordinates."""

from collections.abc import Hashable, Mapping

import xarray as xr

from perfarray.timings.apply import is_chunked

STORED = ("chunks", "preferred_chunks", "shards")
"""What the encoding of a variable that was read from a store says of its chunks there."""


def chunk_lengths(array: xr.DataArray) -> dict[Hashable, int]:
    """Return the length of the longest chunk along each dim of a lazy array; nothing of one in memory."""
    return {dim: max(pieces) for dim, pieces in array.variable.chunksizes.items()} if is_chunked(array) else {}


def evenly_chunked(array: xr.DataArray, lengths: Mapping[Hashable, int] | None = None) -> xr.DataArray:
    """Return a lazy array whose chunks, and those of its lazy coordinates, have one length along each dim.

    Selections leave chunks of many lengths, which Zarr cannot store; coordinates of a store may have other chunks than its values, which
    xarray calls inconsistent. `lengths` replaces the lengths of some dims.
    """
    if not is_chunked(array) or 0 in array.sizes.values():
        return array
    wanted = chunk_lengths(array) | dict(lengths or {})
    lazy = [name for name, coordinate in array.coords.items() if coordinate.variable.chunks is not None]
    coords = {name: _chunked(array.coords[name].variable, wanted) for name in lazy}
    return array.copy(data=_chunked(array.variable, wanted).data).assign_coords(coords)


def _chunked(variable: xr.Variable, lengths: Mapping[Hashable, int]) -> xr.Variable:
    """Return a variable in chunks of some lengths; Zarr would refuse it with those it had in its store."""
    chunked = variable.chunk({dim: lengths[dim] for dim in variable.dims})
    chunked.encoding = {key: value for key, value in variable.encoding.items() if key not in STORED}
    return chunked

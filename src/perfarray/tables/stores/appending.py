"""Append machines or commits to a Zarr store, which is replaced in one step.

Chunks that stay are linked.
"""

import json
import os
import shutil
from collections.abc import Hashable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from perfarray.tables.replacing import replacing
from perfarray.tables.stores.joining import grows_along, joined_along
from perfarray.tables.stores.writing import common_chunk_sizes, opened, writing, zarr_encoding
from perfarray.timings.validation import listed, number_of

# Older versions of NumPy end the process at a deep copy of such texts, or reject their dtype
NUMPY = "2.3.0"

Sizes = Mapping[Hashable, int]


def append(times: xr.Dataset, output: Path) -> xr.Dataset:
    """Append the machines of some timings to a Zarr store, or commits of machines it has.

    A new store is made beside the old: chunks that stay are links to those there (copies, where the
    file system has no links), what changes is written, and then the new takes the place of the old.
    Whoever reads, and whatever interrupts, finds one or the other.
    """
    if np.lib.NumpyVersion(np.__version__) < NUMPY:
        raise ImportError(
            f"--append needs NumPy {NUMPY} or newer, whose texts of any length can be joined; "
            f"this is {np.__version__}"
        )
    with replacing(output, unchanged=True) as (fresh,), complete(output) as stored, writing():
        along = grows_along(stored, times)
        joined = joined_along(along, stored, times)
        sizes = _chunk_sizes(along, stored, joined)
        going_on = [
            name
            for name in joined.variables
            if _continues(along, name, stored, joined)
            and stored[name].encoding["chunks"] == tuple(sizes[dim] for dim in stored[name].dims)
        ]
        for name, variable in joined.variables.items():
            encoding_before = stored.variables[name].encoding if name in going_on else {}
            variable.encoding = {
                key: value
                for key, value in encoding_before.items()
                if key not in ("preferred_chunks", "coordinates")
            }
        encoding = zarr_encoding(joined.drop_vars(going_on), sizes)
        joined.to_zarr(
            fresh,
            zarr_format=3,
            compute=False,
            consolidated=True,
            safe_chunks=False,
            encoding=encoding,
        )
        flat = joined.reset_coords().drop_vars(list(joined.indexes))
        flat = flat[
            [
                name
                for name in flat.data_vars
                if not isinstance(flat.variables[name].data, np.ndarray)
            ]
        ]
        linked = [name for name in going_on if _layout(fresh, name) == _layout(output, name)]
        for name in linked:
            shutil.copytree(
                output / str(name),
                fresh / str(name),
                copy_function=_link,
                ignore=_metadata,
                dirs_exist_ok=True,
            )
        new, everything = {along: slice(stored.sizes[along], None)}, {along: slice(0, None)}
        _fill(flat[linked].isel(new, missing_dims="ignore").load(), fresh, new)
        anew = flat.drop_vars(linked)
        _fill(anew.chunk({dim: sizes[dim] for dim in anew.dims}), fresh, everything)
    return opened(output)


def complete(store: Path) -> xr.Dataset:
    """Open a Zarr store lazily.

    Raise where chunks of it are lost, which would be read as what nobody measured, or as blank
    labels.
    """
    group = import_module("zarr").open_group(store, mode="r")
    lost = {
        name: array.nchunks - array.nchunks_initialized for name, array in sorted(group.arrays())
    }
    lost = {name: chunks for name, chunks in lost.items() if chunks > 0}
    if lost:
        raise ValueError(
            f"{store}: {number_of(sum(lost.values()), 'chunk')} of {listed(lost, 5)} cannot be "
            "found. Nothing was added, because their "
            "values would count as not measured. Restore the store, or write it again with "
            "--overwrite."
        )
    return opened(store)


def _chunk_sizes(along: str, stored: xr.Dataset, joined: xr.Dataset) -> Sizes:
    """Return the chunk sizes of all variables: those of the store's largest.

    They are new where those are far too small by now.
    """
    sizes, largest = (
        common_chunk_sizes(joined),
        max(joined.variables, key=lambda name: joined.variables[name].size),
    )
    if not _continues(along, largest, stored, joined):
        return sizes
    stored_sizes = dict(zip(stored[largest].dims, stored[largest].encoding["chunks"], strict=True))
    return sizes | stored_sizes if 2 * stored_sizes[along] >= sizes[along] else sizes


def _continues(along: str, name: Hashable, stored: xr.Dataset, joined: xr.Dataset) -> bool:
    """Return whether a variable is unchanged but for its end."""
    if name in joined.indexes or name not in stored.variables:
        return False
    old, new = stored.variables[name], joined.variables[name]
    if (old.dims, old.dtype) != (new.dims, new.dtype) or along not in old.dims:
        return False
    return all(
        np.array_equal(stored[dim].values, joined[dim].values) for dim in old.dims if dim != along
    )


def _layout(store: Path, name: Hashable) -> dict[str, Any]:
    """Return the chunk layout of a variable."""
    metadata: dict[str, Any] = json.loads((store / str(name) / "zarr.json").read_text())
    return {key: value for key, value in metadata.items() if key not in ("shape", "attributes")}


def _fill(dataset: xr.Dataset, store: Path, region: dict[str, slice]) -> None:
    """Write variables to a region of a store."""
    if dataset.data_vars:
        dataset.to_zarr(store, region=region)


def _metadata(_: str, names: list[str]) -> list[str]:
    """Return the files of an array that are not chunks."""
    return [name for name in names if name == "zarr.json"]


def _link(source: str, target: str) -> None:
    """Link a file, or copy it where there are no links.

    Zarr replaces files and never changes them.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

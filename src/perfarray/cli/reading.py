"""Timings as commands read them: one archive, two that are compared, or the labels of one dim in one of them."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import perfarray
from perfarray.cli.options import FilesAre, Selection
from perfarray.cli.problems import quoted
from perfarray.conventions import BENCHMARK, LEVELS, MARKS, VERSION

if TYPE_CHECKING:
    import xarray as xr

OLD, NEW = "old", "new"

SIDE: Final = "side"  # the dim of two places that both hold several versions; of others it is the version
PROGRAM: Final = "program"  # the dim of benchmarks that are compared with each other: they make no suite

STORES: Final = (".nc", ".zarr")  # what `perfarray convert` writes


class Sides(NamedTuple):
    """Timings, the dim that is compared and the label of its baseline (None: nothing is compared), and the lines that say so."""

    times: "xr.Dataset"
    dim: str | None = None
    baseline: str | None = None
    heading: Sequence[str] = ()


def paths_read(old: str, new: str | None) -> dict[str, str]:
    """Return the paths by the names that they have in JSON."""
    return {"archive": old} if new is None else {OLD: old, NEW: new}


def read_one(archive: str, reading: dict[str, Any], files_are: FilesAre, sentences: list[str]) -> "xr.Dataset":
    """Read an archive; `files_are` says what several files of it are, otherwise they are labels."""
    times = read_archive(archive, reading)
    return times if files_are is None else _merge_files(times, Selection(reading=reading, files_are=files_are), sentences)


def read_archive(archive: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Read an archive, or what `perfarray convert` wrote; a file that is alone is no label."""
    times: xr.Dataset = _open_store(archive, reading) if archive.endswith(STORES) else perfarray.read_archive(archive, **reading)
    return times.isel(file=0, drop=True) if times.sizes.get("file") == 1 else times


def _open_store(store: str, reading: dict[str, Any]) -> "xr.Dataset":
    """Load what `perfarray convert` wrote, which says itself what it holds."""
    import xarray

    from perfarray.tables.stores.writing import check_installed

    if "://" not in store and not Path(store).exists():
        return perfarray.read_archive(store)  # raises, with the most similar name
    check_installed(Path(store))
    if reading:
        raise ValueError(f"{store} was written by perfarray convert and says what it holds; leave out {quoted(list(reading))}")
    with warnings.catch_warnings(action="ignore"):  # as xarray and zarr do about formats they agree on
        return xarray.load_dataset(store, engine="zarr" if store.endswith(".zarr") else "h5netcdf")


def read(old: str, new: str | None, selected: Selection, sentences: list[str]) -> Sides:
    """Read two sides, or one archive; of one nothing is compared unless a dim or a baseline was given."""
    if new is None and selected.dim is None and selected.baseline is None:
        return Sides(read_one(old, selected.reading, selected.files_are, sentences))
    return read_sides(old, new, selected, sentences)


def read_sides(old: str, new: str | None, selected: Selection, sentences: list[str]) -> Sides:
    """Read what is compared; labels that are constant on each side do not separate the sides.

    Raises
    ------
    ValueError
        When the options do not say what is compared, or with what.
    """
    if new is None:
        return _labels_compared(old, selected, sentences)
    if selected.dim is not None or selected.baseline is not None:
        raise ValueError("two inputs are compared with each other; --dim and --baseline are for the labels in one file or folder")
    times = perfarray.read_archive({OLD: old, NEW: new}, dim=SIDE, **selected.reading)
    times, constant = _without_constant_dims(_merge_files(times, selected, sentences, several_sides=True), SIDE)
    heading = []
    for label, path in ((OLD, old), (NEW, new)):
        labels = ", ".join(f"{dim} {times[dim].sel({SIDE: label}).item()}" for dim in constant)
        heading.append(f"{label}  {path}{f'  ({labels})' if labels else ''}")
    if VERSION in times.dims:
        return Sides(times, SIDE, OLD, heading)
    recorded = {VERSION: f"{VERSION}_recorded"} if VERSION in times.coords else {}
    return Sides(times.rename(recorded).rename({SIDE: VERSION}), VERSION, OLD, heading)


def _labels_compared(archive: str, selected: Selection, sentences: list[str]) -> Sides:
    """Read one archive, in which the labels of a dim are compared."""
    times = _merge_files(read_archive(archive, selected.reading), selected, sentences)
    dim = selected.dim or _compared_dim(times, selected.baseline)
    baseline = _baseline(times, dim, selected.baseline)
    times, _ = _without_constant_dims(times, dim)
    heading = [f"{archive}: every {dim} beside {baseline}"]
    return Sides(times.rename({dim: PROGRAM}), PROGRAM, baseline, heading) if dim == BENCHMARK else Sides(times, dim, baseline, heading)


def _merge_files(times: "xr.Dataset", selected: Selection, sentences: list[str], *, several_sides: bool = False) -> "xr.Dataset":
    """Make of several files of the same benchmark what `files_are` says."""
    import numpy as np

    files_are = selected.files_are
    if "file" not in times.dims or "{file}" in selected.reading.get("layout", "") or selected.dim == "file":
        if files_are is not None:
            sentences.append(f"--files-are {files_are} changes nothing: no two files of one side hold the same benchmark")
        return times
    if files_are is None:
        raise ValueError(
            f"several files of one side hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say what a file is: "
            "--files-are session (one run of the whole harness: the files are the independent repetitions), --files-are execution (one "
            "of several executions of the same build), or --files-are separate (compare each with the file of the same name)"
            + ("" if several_sides else "; or --dim file compares them with each other")
        )
    if files_are == "separate":
        return times
    if "session" in times.dims:
        raise ValueError(f"the files hold sessions: --files-are {files_are} would nest them twice; name the dims with --layout")
    times = times.rename(file="session").assign_coords(session=np.arange(times.sizes["file"]))
    if files_are == "session":
        return times.assign_attrs(shared_levels="session")  # a run of the whole harness serves every benchmark
    return cast("xr.Dataset", perfarray.merge_level(times, "session"))


def _compared_dim(times: "xr.Dataset", baseline: str | None) -> str:
    """Return the dim that is compared where it was not named: the one that has several labels, or the baseline's."""
    dims = [str(dim) for dim, size in times.sizes.items() if dim not in LEVELS and dim in times.coords and size > 1]
    labels = {dim: _labels(times, dim) for dim in dims}
    candidates = [dim for dim in dims if (dim != BENCHMARK if baseline is None else baseline in labels[dim])]
    if len(candidates) == 1:
        return candidates[0]
    proposed = [dim for dim in dims if dim != BENCHMARK] or dims
    choices = "; ".join(f"--dim {dim} ({quoted(labels[dim], 4)})" for dim in proposed)
    if not choices:
        dims_read = quoted(list(times.sizes))
        raise ValueError(f"only one input was given, and no dim of it has two labels to compare ({dims_read}); give OLD and NEW")
    if baseline is not None and not candidates:
        raise ValueError(f"--baseline {baseline!r} is no label of what was read; there is {choices}")
    raise ValueError(f"only one input was given; choose what is compared in it: {choices}")


def _baseline(times: "xr.Dataset", dim: str, baseline: str | None) -> Any:
    """Return the label of the baseline as the data have it."""
    if dim not in times.dims or dim not in times.coords:
        dims = [str(name) for name in times.sizes if name not in LEVELS and name in times.coords]
        raise ValueError(f"--dim {dim!r} not found; what was read has {quoted(dims)}")
    labels = dict(zip(_labels(times, dim), times[dim].values.tolist(), strict=True))
    if len(labels) < 2:
        raise ValueError(f"--dim {dim} has one label, {next(iter(labels))!r}: there is nothing to compare it with")
    if baseline is None:
        raise ValueError(f"say with which {dim} the others are compared: --baseline LABEL, one of {quoted(list(labels))}")
    if baseline not in labels:
        raise ValueError(f"--baseline {baseline!r} is no {dim}; there is {quoted(list(labels))}")
    return labels[baseline]


def _labels(times: "xr.Dataset", dim: str) -> list[str]:
    """Return the labels of a dim as they are typed."""
    return [str(label) for label in times[dim].values.tolist()]


def _without_constant_dims(times: "xr.Dataset", dim: str) -> "tuple[xr.Dataset, list[str]]":
    """Remove the dims along which each label of `dim` was measured at one label alone, as each version on a machine of its own.

    Such a dim becomes a descriptor; otherwise no two labels of `dim` could be compared. The names of these dims are returned, too.
    """
    import numpy as np
    import xarray as xr

    variables = [*times.data_vars, *(name for name in MARKS if name in times.coords)]
    measured = [times[name] if name in MARKS else times[name].notnull() for name in variables]
    indexers: dict[str, Any] = {}
    for label_dim in (str(name) for name in times.dims if name not in (*LEVELS, BENCHMARK, dim) and times.sizes[name] > 1):
        masks = [mask for mask in measured if {dim, label_dim} <= set(mask.dims)]
        cells = [mask.any([name for name in mask.dims if name not in (dim, label_dim)]).transpose(dim, label_dim).values for mask in masks]
        present = np.any(cells, axis=0) if cells else np.zeros((1, 1), dtype=bool)
        positions = present.argmax(axis=1)
        if (present.sum(axis=1) == 1).all() and len(set(positions.tolist())) > 1:
            indexers[label_dim] = xr.DataArray(positions, dims=dim)
    return (times.isel({dim: np.arange(times.sizes[dim])} | indexers) if indexers else times), list(indexers)

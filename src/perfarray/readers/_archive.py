"""One file, or many: read each into a table, and build one Dataset of all."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from perfarray._frame import Table, build
from perfarray._validation import check_choice, listed, warn
from perfarray.readers._find import AnyPath, Found, find_files, shown
from perfarray.readers._join import check_place, combine, finished
from perfarray.readers._layout import parse_layout
from perfarray.readers._open import FileError, Source
from perfarray.readers._registry import known_names, not_recognised, read_table, recognise


def read(path: AnyPath, *, format: str | None = None) -> xr.Dataset:
    """Read one file of benchmark results.

    Parameters
    ----------
    path : path-like
        A file; gzip, bzip2 and xz are unpacked.
    format : str, optional
        Its format; default: recognised by content. Known: `pyperf`, `jmh`, `tidy_csv`.

    Returns
    -------
    Dataset
        Timings in seconds over `benchmark` and the file's own levels, ragged runs padded with NaN; marks, settings and machine as
        coordinates; `attrs["metric"]` names the main metric, `attrs["format"]` the format.

    Raises
    ------
    ValueError
        When no format recognises the file, or it is broken: the message names the file, the place and the reason.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.read(perfarray.dataset_path("python_malloc") / "pymalloc.json")
    >>> times["time"].dims
    ('benchmark', 'execution', 'iteration')
    """
    source = Source(Path(path))
    if source.path.is_dir():
        raise FileError(f"{source.path}: is a folder; read_archive reads folders")
    known = recognise(source, format)
    if known is None:
        raise not_recognised(source)
    table = read_table(source, known)
    try:
        dataset = build(finished([table])[0])
    except ValueError as error:
        raise source.error(str(error)) from error
    _report(source.notes)
    return dataset


def read_archive(
    paths: AnyPath | Iterable[AnyPath] | Mapping[str, Any],
    *,
    layout: str | None = None,
    dim: str = "file",
    format: str | None = None,
    on_error: str = "raise",
    progress: bool = False,
    chunks: Any = None,
) -> xr.Dataset:
    """Read many files into one Dataset.

    Parameters
    ----------
    paths : path-like, iterable of them, or mapping
        A folder (with all inside it), a glob pattern, a list of files; or a mapping whose keys become labels of `dim` and whose values
        are any of these, as in `{"old": "old/*.json", "new": "new"}`.
    layout : str, optional
        Names the dims in a path, as in `"{version}/{machine}_{session}.json"`; matched against the end of each path.
    dim : str
        Without a layout or mapping, the dim along which files lie, labelled with their path inside the folder.
    format : str, optional
        As for `read`.
    on_error : {"raise", "warn", "skip"}
        For files that are recognised and broken, or that were named one by one and cannot be read.
    progress : bool
        Show a progress bar.
    chunks : optional
        Chunks of the result, as `Dataset.chunk` takes them (needs dask).

    Returns
    -------
    Dataset
        As `read`, with the dims of the layout. Files that would land on one cell get a dim `file`, never a level. Descriptors lie along
        the dims they vary over; what is unknown is `"unknown"`.

    Raises
    ------
    ValueError
        When nothing can be read, a file is broken, or a path does not match the layout.

    Warns
    -----
    UserWarning
        Once, with counts: files of a folder that no reader recognises, and with `on_error="warn"` broken ones.

    Examples
    --------
    >>> import perfarray
    >>> folder = perfarray.dataset_path("python_malloc")
    >>> perfarray.read_archive(folder, layout="{version}.json")["version"].values.tolist()
    ['malloc', 'pymalloc']
    """
    check_choice(on_error, "on_error", ("raise", "warn", "skip"))
    found = find_files(paths, dim, layout)
    tables, kept, skipped, broken, notes = [], [], [], [], []
    for one in _with_progress(found, progress):
        source = Source(one.path)
        try:
            table = _read(source, format, one.explicit)
            if table is None:
                skipped.append(one.label)
                continue
            placed = one._replace(labels=_labels_of(one, layout, dim))
            check_place(table, placed)
        except FileError as error:
            if on_error == "raise":
                raise
            broken.append(str(error))
            continue
        tables.append(table)
        kept.append(placed)
        notes += source.notes
    if not tables:
        raise ValueError(f"none of the {len(found)} files in {shown(paths)} could be read{_reasons(broken, skipped)}")
    left_out = _left_out(skipped, broken if on_error == "warn" else [])
    _report([f"of {len(found)} files, {left_out}"] if left_out else [], notes)
    dataset = build(combine(tables, kept))
    dataset.attrs |= {"n_files": len(tables), "n_files_skipped": len(skipped), "n_files_broken": len(broken)}
    return dataset.chunk(chunks) if chunks is not None else dataset


def _read(source: Source, format: str | None, explicit: bool) -> Table | None:
    """Read one file of several; None for one that no reader recognises and nobody named."""
    known = recognise(source, format)
    if known is None:
        if explicit:
            raise not_recognised(source)
        return None
    try:
        return read_table(source, known)
    except FileError:
        if format is None or explicit or known.started(source.head) or known.recognise(source):
            raise
        return None


def _labels_of(one: Found, layout: str | None, dim: str) -> dict[str, Any]:
    """Return the labels a file's place gives it."""
    if layout is None:
        return one.labels or {dim: one.label}
    parsed = parse_layout(layout, one.path.absolute().as_posix())
    if parsed is None:
        raise FileError(f"{one.path}: its path does not match layout={layout!r}")
    return one.labels | parsed


def _with_progress(found: list[Found], progress: bool) -> Iterable[Found]:
    """Wrap the files in a progress bar if asked."""
    if not progress:
        return found
    from tqdm.auto import tqdm

    bar: Iterable[Found] = tqdm(found, desc="reading", unit="file")
    return bar


def _left_out(skipped: Sequence[str], broken: Sequence[str]) -> str:
    """Say which files are not in the result, and why."""
    parts = []
    if broken:
        parts.append(f"{len(broken)} are broken and left out: {listed(broken, 5)}")
    if skipped:
        parts.append(f"{len(skipped)} are of no known format and left out: {listed(skipped, 5)}")
    return "; ".join(parts)


def _reasons(broken: Sequence[str], skipped: Sequence[str]) -> str:
    """Say why nothing could be read."""
    known = f"; formats that are known: {known_names()}" if skipped else ""
    return f": {_left_out(skipped, broken)}{known}"


def _report(*notes: Sequence[str]) -> None:
    """Warn once of all that is odd."""
    lines = [note for some in notes for note in some]
    if lines:
        warn("; ".join(lines[:5]) + (f"; and {len(lines) - 5} more" if len(lines) > 5 else ""))

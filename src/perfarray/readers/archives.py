"""Read one file, or many files into one Dataset."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from os import PathLike
from os.path import isdir
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import xarray as xr

from perfarray.conventions import BETTER, DIRECTIONS, HISTORY
from perfarray.readers.attempts import (
    NOT_READ,
    Attempt,
    companion_paths,
    iter_attempts,
    table_or_reason,
)
from perfarray.readers.custom import file_options
from perfarray.readers.finding import AnyPath, InputFile, checked_path, shown
from perfarray.readers.joining import combine
from perfarray.readers.labels import LISTED_NAMES
from perfarray.readers.opening import MissingFileError, Source, suggest_name
from perfarray.readers.packs import is_pack
from perfarray.readers.recognising import formats, names_of_formats
from perfarray.readers.repeated import without_repeats
from perfarray.tables.build import build
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import finished
from perfarray.timings.dates import earliest_dates
from perfarray.timings.notes import Note, add_notes
from perfarray.timings.validation import check_choice, listed

MOST_NOTES = 5  # Notes of one kind that a result keeps
# Why files are not in the result, by the code of the note
LEFT_OUT = {
    "broken_files": "broken and left out",
    "unknown_format": "of no known format and left out",
}


def read(
    path: AnyPath,
    *,
    format: str | None = None,
    dims: Mapping[str, str | int] | None = None,
    pattern: str | None = None,
    units: str | None = None,
    encoding: str | None = None,
    better: str | None = None,
    keep_failed: bool = False,
    chunks: Any = None,
) -> xr.Dataset:
    """Read one file of benchmark results.

    Parameters
    ----------
    path : path-like
        A file (gzip, bzip2, xz, too); or a folder or archive that is one result, such as
        `target/criterion`.
    format : str, optional
        Default: recognised by content (:doc:`/formats`).
    dims : mapping, optional
        Dims or levels, each with the setting or column that holds its labels, as in `{"threads":
        "threads"}`.
    pattern : str, optional
        Where the numbers of a home-grown file are, as in `"{version}/{iteration} = time_ms"`.
    units : str, optional
        Unit of the numbers, as in `"MB/s"`, if the file does not state it.
    encoding : str, optional
        Of the text, as in `"latin-1"`. Default: UTF-8.
    better : {"lower", "higher"}, optional
        Which direction is good, if the file does not say it.
    keep_failed : bool
        Keep the times of runs that failed, unmarked.
    chunks : optional
        As `Dataset.chunk` takes them; `{}` is one chunk.

    Returns
    -------
    Dataset
        Timings in seconds over `benchmark` and the file's own levels, ragged runs padded with NaN;
        marks, settings and machine as coordinates; `attrs["metric"]` names the main metric,
        `attrs["format"]` the format.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        No format recognises the file, or it is broken; the message names the place.
    ImportError
        `chunks` without dask.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.read(perfarray.dataset_path("python_malloc") / "pymalloc.json")
    >>> times["time"].dims
    ('benchmark', 'execution', 'iteration')
    """
    if better is not None:
        check_choice(better, BETTER, DIRECTIONS)
    source = Source(
        checked_path(path),
        file_options=file_options(format, dims, pattern, encoding, units, keep_failed),
    )
    try:
        several = isdir(source.path) or is_pack(source)
    except MissingFileError as error:
        suggest_name(error, source.path)
        raise
    if several:
        return _chunked(_directed(_read_folder(source), better), chunks)
    with source.within_memory():
        table = cast(Table, table_or_reason(source, explicit=True))
        try:
            dataset = build(finished([table])[0])
        except ValueError as error:
            raise source.error(str(error)) from error
    return _chunked(
        _directed(add_notes(dataset, *_first_of_each_kind(table.notes)), better), chunks
    )


def _directed(dataset: xr.Dataset, better: str | None) -> xr.Dataset:
    """Return timings with the direction that the caller says where the data do not."""
    if better is not None:
        for variable in dataset.data_vars.values():
            variable.attrs.setdefault(BETTER, better)
    return dataset


def _chunked(dataset: xr.Dataset, chunks: Any) -> xr.Dataset:
    if chunks is None:
        return dataset
    if find_spec("dask") is None:
        raise ImportError("chunks= needs dask, which is not installed; install perfarray[io]")
    # A random token: to compute one, dask would hash every value and text, which takes longer than
    # reading the files.
    return dataset.chunk(chunks, token=uuid4().hex)


def _read_folder(source: Source) -> xr.Dataset:
    """Read a folder or an archive that holds one file, or files that name themselves."""
    dataset = read_archive(source.path, **source.options._asdict())
    files, name = dataset.attrs["n_files"], dataset.attrs.get("format", "")
    if files > 1 and not (name in formats() and formats()[name].placed):
        raise source.error(
            f"holds {files} files, which do not say themselves what tells them apart; "
            "read_archive reads them along a dim"
        )
    return dataset


def read_archive(
    paths: AnyPath | Iterable[AnyPath] | Mapping[str, Any],
    *,
    layout: str | None = None,
    dim: str = "file",
    format: str | None = None,
    dims: Mapping[str, str | int] | None = None,
    pattern: str | None = None,
    units: str | None = None,
    encoding: str | None = None,
    better: str | None = None,
    keep_failed: bool = False,
    on_error: str = "raise",
    progress: bool | None = None,
    chunks: Any = None,
) -> xr.Dataset:
    """Read many files into one Dataset.

    Parameters
    ----------
    paths : path-like, iterable of them, or mapping
        A folder (with all inside it), a glob pattern or a list of files; or a mapping whose keys
        become labels of `dim`, as in `{"old": "old/*.json", "new": "new"}`. A tar or zip archive is
        read as a folder.
    layout : str, optional
        Names the dims in the end of each path, as in `"{version}/{machine}_{session}.json"`.
    dim : str
        Without a layout or mapping, the dim along which files lie, labelled with their path inside
        the folder.
    format, dims, pattern, units, encoding, better, keep_failed : optional
        As for `read`.
    on_error : {"raise", "warn", "skip"}
        What to do with broken files, named files or folders that cannot be read, and links that
        lead to themselves.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.
    chunks : optional
        Chunks of the result, as `Dataset.chunk` takes them.

    Returns
    -------
    Dataset
        As `read`, with the dims of the layout. Files that would land on one cell get a dim `file`,
        never a level. Descriptors lie along the dims they vary over; what is unknown is
        `"unknown"`. Files are read in the order of their paths; a list and a mapping keep theirs.
        Commits of a folder are sorted by their dates if all have one.

    Raises
    ------
    FileNotFoundError
        A path that leads to no file.
    ValueError
        Nothing can be read, a file is broken, or a path does not match the layout.
    ImportError
        `chunks` without dask.

    Warns
    -----
    PerfarrayWarning
        Once, with counts: files that no reader recognises, broken ones with `on_error="warn"`, and
        what is odd in a file.

    Notes
    -----
    The result is built in memory before it is split into chunks. For tables and archives that do
    not fit, see :doc:`/how-to/large_archives`; :doc:`/formats` has the rules for many files.

    Examples
    --------
    >>> import perfarray
    >>> folder = perfarray.dataset_path("python_malloc")
    >>> perfarray.read_archive(folder, layout="{version}.json")["version"].values.tolist()
    ['malloc', 'pymalloc']
    """
    check_choice(on_error, "on_error", ("raise", "warn", "skip"))
    if better is not None:
        check_choice(better, BETTER, DIRECTIONS)
    about_files = file_options(format, dims, pattern, encoding, units, keep_failed)
    with _collector_paused():
        all_parts = on_error == "raise"
        with closing(
            iter_attempts(
                paths,
                layout,
                dim,
                about_files,
                progress=progress,
                all_parts=all_parts,
            )
        ) as attempts:
            tables, files, skipped, broken = _outcomes(attempts, paths, on_error)
        n_files = sum(len(file.parts) or 1 for file in files) + len(skipped) + len(broken)
        companions = companion_paths(skipped, tables)
        unknown = [file.label for file in skipped if file.path not in companions]
        packed = {
            file.problem: f"{file.label!r} {file.problem}" for file in skipped if file.problem
        }
        if not tables:
            raise ValueError(
                f"none of the {n_files} files in {shown(paths)} could be "
                f"read{_reasons(broken, unknown, [*packed.values()])}"
            )
        tables, files, repeats = without_repeats(tables, files)
        with _errors_with_paths(paths):
            joined = combine(tables, files)
            del tables  # the array needs their room
            built = build(joined)
    dataset = add_notes(
        _by_date(built) if isinstance(paths, str | PathLike) else built,
        _left_out("broken_files", n_files, broken if on_error == "warn" else []),
        _left_out("unknown_format", n_files, unknown, [*packed.values()]),
        *repeats,
        *_first_of_each_kind(joined.notes),
    )
    dataset.attrs |= {
        "n_files": len(files),
        "n_files_skipped": len(unknown),
        "n_files_broken": len(broken),
    }
    return _chunked(_directed(dataset, better), chunks)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the search for cyclic garbage, of which tables have none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _outcomes(
    attempts: Iterable[Attempt], paths: Any, on_error: str
) -> tuple[list[Table], list[InputFile], list[InputFile], list[str]]:
    """Return the tables, their files, the files that were skipped, and the errors of broken ones.

    Raise the first of these if asked to.
    """
    tables, files, skipped = [], [], []
    broken: list[str] = []
    for file, table, skip_reason, error, broken_parts in attempts:
        if table is not None:
            tables.append(table)
            files.append(file._replace(parts=file.parts[len(broken_parts) :]))  # how many were read
            broken += map(str, broken_parts)
        elif error is None:
            skipped.append(file if skip_reason in NOT_READ else file._replace(problem=skip_reason))
        elif on_error != "raise":
            broken.append(str(error))
        else:
            if isinstance(error, MissingFileError):
                suggest_name(error, file.path)
            elif not (isinstance(paths, str | PathLike) and Path(paths).is_file()):
                error.add_note('on_error="warn" leaves such files out, and names them')
            raise error
    return tables, files, skipped, broken


def _by_date(dataset: xr.Dataset) -> xr.Dataset:
    """Sort a history by the dates along it, the earliest of each label, if every label has one."""
    for dim in HISTORY:
        for stamp in (f"{dim}_date", "date"):
            if dim != stamp and stamp in dataset.coords:
                with suppress(ValueError):  # dates that can be read in two ways sort nothing
                    dates = earliest_dates(dataset.coords[stamp], dim)
                    if not dates.isna().any():
                        return dataset.isel({dim: dates.argsort(kind="stable").to_numpy()})
    return dataset


@contextmanager
def _errors_with_paths(paths: Any) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise ValueError(
            f"{shown(paths)}: what they hold together does not fit into the memory there is"
        ) from None
    except ValueError as error:
        raise ValueError(f"{shown(paths)}: {error}") from error


def _reason(code: str, names: Sequence[str]) -> str:
    return f"{len(names)} {'is' if len(names) == 1 else 'are'} {LEFT_OUT[code]}: {listed(names, 5)}"


def _left_out(
    code: str, files: int, names: Sequence[str], remedies: Sequence[str] = ()
) -> Note | None:
    values = {"files": len(names), "of": files, "names": list(names[:LISTED_NAMES])}
    return (
        Note(code, f"of {files} files, {'; '.join([_reason(code, names), *remedies])}", values)
        if names
        else None
    )


def _reasons(broken: Sequence[str], unknown: Sequence[str], remedies: Sequence[str]) -> str:
    reasons = [
        _reason(code, names)
        for code, names in zip(LEFT_OUT, (broken, unknown), strict=True)
        if names
    ]
    reasons += remedies
    if len(unknown) > len(remedies):
        reasons += [
            f"formats that are known: {names_of_formats()}",
            "read(FILE), or perfarray files FILE, says what would help with one",
        ]
    return f": {'; '.join(reasons)}"


def _first_of_each_kind(notes: Sequence[Note]) -> list[Note]:
    """Return the first notes of each kind, and how many more there are of it."""
    first: list[Note] = []
    distinct = list(
        {(note.code, note.message): note for note in notes}.values()
    )  # tables of one kind say the same
    for code, count in Counter(note.code for note in distinct).items():
        of_kind = [note for note in distinct if note.code == code]
        first += of_kind[:MOST_NOTES]
        if count > MOST_NOTES:
            aside = all(note.aside for note in of_kind[MOST_NOTES:])
            first.append(
                Note(
                    code,
                    f"and {count - MOST_NOTES} more of the kind {code!r}",
                    {"notes": count - MOST_NOTES},
                    aside,
                )
            )
    return first

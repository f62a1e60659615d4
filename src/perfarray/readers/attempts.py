"""Read the files of an archive in order, in this process or in several."""

import gc
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from itertools import chain, groupby
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from perfarray.readers import parquet
from perfarray.readers.dims import with_dims
from perfarray.readers.finding import InputFile, find_files
from perfarray.readers.joining import check_location
from perfarray.readers.layout import Layout, read_layout
from perfarray.readers.opening import FileError, FileOptions, Source, text_of_path
from perfarray.readers.packs import is_pack, members
from perfarray.readers.parquet import one_table_each
from perfarray.readers.recognising import formats, not_recognised, read_table, recognise
from perfarray.tables.columns import Table
from perfarray.timings.options import Options, in_force, options
from perfarray.timings.progress import progress_bar
from perfarray.timings.validation import check_count

TASKS_PER_PROCESS = 16  # Small tasks, so that no process gets all the large files
FEWEST_BYTES = (
    1 << 25
)  # Bytes from which `parallel=True` starts processes: starting one takes as long as reading ten million bytes
# Reasons to skip a file
UNKNOWN_FORMAT = "no reader recognises its content"
EMPTY = "is empty"
SUPERSEDED = "another file beside it holds the same"
NOT_READ = (UNKNOWN_FORMAT, EMPTY, SUPERSEDED)  # which need no word on each file
NESTED = "is an archive inside an archive, which is not read; unpack it first"


class Attempt(NamedTuple):
    """A file with its table, the reason to skip it, or the error.

    Of a table in parts also the errors of those that are left out.
    """

    file: InputFile
    table: Table | None = None
    skip_reason: str = ""
    error: FileError | None = None
    broken_parts: tuple[FileError, ...] = ()


class ReadSettings(NamedTuple):
    """How to read the files of an archive, in this process or another."""

    layout: Layout | None
    dim: str
    file_options: FileOptions
    options: Options
    all_parts: bool  # whether a table in parts is read whole or not at all


def iter_attempts(
    paths: Any,
    layout: str | None,
    dim: str,
    file_options: FileOptions,
    *,
    parallel: bool | int,
    progress: bool | None,
    all_parts: bool = True,
) -> Generator[Attempt, None, None]:
    """Yield an attempt for each file, in the order of paths.

    The files of a mapping label by label.
    """
    settings = ReadSettings(
        None if layout is None else read_layout(layout), dim, file_options, options(), all_parts
    )
    files = find_files(paths, dim, layout)
    files = [
        file
        for _, group in groupby(files, attrgetter("labels"))
        for file in sorted(group, key=attrgetter("path.parts"))
    ]
    files = one_table_each(files) if layout is None else files
    attempt = partial(_attempts_at, settings=settings, answers={})
    processes = _number_of_processes(parallel, files)
    results = _by_processes(attempt, files, processes) if processes else map(attempt, files)
    with progress_bar(len(files), "reading", "file", show=progress) or nullcontext() as bar:
        for attempts in results:
            yield from attempts
            if bar is not None:
                bar.update()


def companion_paths(files: Sequence[InputFile], tables: Sequence[Table]) -> set[Path]:
    """Return the paths of skipped files that a tool writes next to results of a format that was read."""
    endings = tuple(
        chain.from_iterable(formats()[name].beside for name in {table.format for table in tables})
    )
    return {file.path for file in files if endings and file.path.name.endswith(endings)}


def _number_of_processes(parallel: bool | int, files: Sequence[InputFile]) -> int:
    if parallel is False:
        return 0
    if parallel is not True:
        return min(check_count(parallel, "parallel"), len(files))
    limit = min(number_of_cores(), len(files))
    return limit if limit > 1 and sum(map(_size, files)) >= FEWEST_BYTES else 0


def number_of_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(file: InputFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:  # reading the file reports the reason
        return 0


def _by_processes(
    attempt: Callable[[InputFile], list[Attempt]], files: Sequence[InputFile], processes: int
) -> Iterator[list[Attempt]]:
    """Read files in new processes: spawned ones cannot inherit a lock that a thread of this process holds."""
    try:
        # As in this process, the search for cyclic garbage would look at all tables again and
        # again.
        with ProcessPoolExecutor(
            processes, mp_context=get_context("spawn"), initializer=gc.disable
        ) as pool:
            yield from pool.map(
                attempt, files, chunksize=-(-len(files) // (TASKS_PER_PROCESS * processes))
            )
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process that read files ended: for want of memory, or since the program that "
            "starts it is not guarded by "
            "`if __name__ == '__main__':`; parallel=False reads in this process"
        ) from error


def _attempts_at(file: InputFile, settings: ReadSettings, answers: dict[Any, Any]) -> list[Attempt]:
    """Read one file, or the members of a tar or zip archive as files of a folder of its name."""
    with in_force(settings.options):
        if file.problem:
            return [Attempt(file, error=FileError(f"{file.path}: {file.problem}"))]
        source = Source(file.path, answers, settings.file_options)
        try:
            with source.within_memory():
                contents = members(source) if not file.parts and is_pack(source) else None
        except FileError as error:
            return [Attempt(file, error=error)]
        if contents is None:
            return [_attempt(file, source, settings)]
        labels = {
            path: f"{file.label}/{text_of_path(path.relative_to(file.path).as_posix())}"
            for path in sorted(contents)
        }
        inner = [
            file._replace(path=path, label=label, explicit=False, pack=file.path)
            for path, label in labels.items()
        ]
        inner = one_table_each(inner) if settings.layout is None else inner
        return [
            _attempt(
                member, Source(member.path, answers, settings.file_options, contents), settings
            )
            for member in inner
        ]


def _attempt(file: InputFile, source: Source, settings: ReadSettings) -> Attempt:
    """Read one file. An error is returned, so that the caller reports the first in order of files and not the first in time."""
    try:
        with source.within_memory():
            table: Table | str
            broken: list[FileError] = []
            if file.parts:
                sources, errors = (
                    [source.at(path) for path in file.parts],
                    None if settings.all_parts else broken,
                )
                table = read_table(
                    source,
                    formats()[parquet.NAME],
                    lambda root: parquet.read_parts(root, sources, errors),
                )
                table = with_dims(source, table)
            elif file.pack and is_pack(source):
                table = NESTED
            else:
                table = table_or_reason(source, file.explicit)
            if isinstance(table, str):
                return Attempt(file, skip_reason=table)
            file = file._replace(labels=_labels_of(file, settings.layout, settings.dim, table))
            check_location(table, file)
    except FileError as error:
        return Attempt(file, error=error)
    return Attempt(file, table, broken_parts=tuple(broken))


def table_or_reason(source: Source, explicit: bool) -> Table | str:
    """Return the table of one file, or the reason to skip a file that the caller did not name."""
    file_format = recognise(source)
    if file_format is None and explicit:
        raise not_recognised(source)
    if file_format is not None:
        if not explicit and file_format.superseded(source):
            return SUPERSEDED
        try:
            return with_dims(source, read_table(source, file_format))
        except FileError:
            forced = source.options.format is not None or source.options.pattern is not None
            if (
                not forced
                or explicit
                or file_format.started(source.head)
                or file_format.recognise(source)
            ):
                raise
    return source.packing_problem or (UNKNOWN_FORMAT if source.first_bytes.strip() else EMPTY)


def _labels_of(file: InputFile, layout: Layout | None, dim: str, table: Table) -> dict[str, Any]:
    """Return the labels from a file's path, or none if its content states them."""
    if layout is None:
        self_located = dim == "file" and (formats()[table.format].placed or bool(file.parts))
        return file.labels or ({} if self_located else {dim: file.label})
    labels = layout.labels(text_of_path(file.path.absolute().as_posix()))
    if labels is None:
        raise FileError(f"{file.path}: its path does not match layout={layout.text!r}")
    return file.labels | labels

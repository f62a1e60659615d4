"""Read the files of an archive in the order of their paths."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

from perfarray.readers import parquet, tidy_csv
from perfarray.readers.dims import with_dims
from perfarray.readers.finding import InputFile, find_files
from perfarray.readers.joining import check_location
from perfarray.readers.layout import PathLayout, read_layout
from perfarray.readers.opening import FileError, FileOptions, Source, text_of_path
from perfarray.readers.packs import is_pack, members
from perfarray.readers.parquet import one_table_each
from perfarray.readers.recognising import formats, not_recognised, read_table, recognise
from perfarray.readers.together import SMALL, read_together
from perfarray.tables.columns import Table
from perfarray.timings.progress import progress_bar

# Reasons to skip a file
UNKNOWN_FORMAT = "no reader recognises its content"
EMPTY = "is empty"
SUPERSEDED = "another file beside it holds the same"
NOT_READ = (UNKNOWN_FORMAT, EMPTY, SUPERSEDED)  # which need no word on each file
MOST_TOGETHER = 64  # Files that are looked at together
NESTED = "is an archive inside an archive, which is not read; unpack it first"

Found = tuple[InputFile, Source]  # A file that is there, and what reads it


class Attempt(NamedTuple):
    """A file with its table, the reason to skip it, or the error.

    Of a table in parts also the errors of those that are left out.
    """

    file: InputFile
    table: Table | None = None
    skip_reason: str = ""
    error: FileError | None = None
    broken_parts: tuple[FileError, ...] = ()


def iter_attempts(
    paths: Any,
    layout: str | None,
    dim: str,
    file_options: FileOptions,
    *,
    progress: bool | None,
    all_parts: bool = True,
) -> Generator[Attempt, None, None]:
    """Yield an attempt for each file, in the order of paths.

    The files of a mapping label by label. A table in parts is read whole, or, without `all_parts`,
    without those that are broken.
    """
    place = None if layout is None else read_layout(layout)
    files = find_files(paths, dim, layout)
    files = [
        file
        for _, group in groupby(files, attrgetter("labels"))
        for file in sorted(group, key=attrgetter("path.parts"))
    ]
    files = one_table_each(files) if layout is None else files
    answers: dict[Any, Any] = {}
    with progress_bar(len(files), "reading", "file", show=progress) or nullcontext() as bar:
        sources = ((file, Source(file.path, answers, file_options)) for file in files)
        for group in _groups(_with_members(sources, bar, in_tables=layout is None)):
            files_read = [item for item in group if not isinstance(item, Attempt)]
            tables = iter(read_together([source for file, source in files_read if not file.parts]))
            for item in group:
                if isinstance(item, Attempt):
                    yield item
                else:
                    together = None if item[0].parts else next(tables)
                    yield _attempt(*item, place, dim, together, all_parts=all_parts)


def companion_paths(files: Sequence[InputFile], tables: Sequence[Table]) -> set[Path]:
    """Return the paths of skipped files that a tool writes next to its results."""
    endings = tuple(
        chain.from_iterable(formats()[name].beside for name in {table.format for table in tables})
    )
    return {file.path for file in files if endings and file.path.name.endswith(endings)}


def _groups(found: Iterable[Attempt | Found]) -> Iterator[list[Attempt | Found]]:
    """Yield small files that follow one another as one group, up to the next larger one."""
    group: list[Attempt | Found] = []
    for item in found:
        group.append(item)
        is_large = not isinstance(item, Attempt) and (item[0].parts or len(item[1].packed) > SMALL)
        if is_large or len(group) == MOST_TOGETHER:
            yield group
            group = []
    yield group


def _with_members(
    sources: Iterable[Found], bar: Any, *, in_tables: bool
) -> Iterator[Attempt | Found]:
    """Yield files, or the members of a tar or zip archive as files of a folder of its name."""
    for file, source in sources:
        yield from _members(file, source, in_tables=in_tables)
        if bar is not None:
            bar.update()


def _members(file: InputFile, source: Source, *, in_tables: bool) -> Iterator[Attempt | Found]:
    if file.problem:
        yield Attempt(file, error=FileError(f"{file.path}: {file.problem}"))
        return
    try:
        with source.within_memory():
            contents = members(source) if not file.parts and is_pack(source) else None
    except FileError as error:
        yield Attempt(file, error=error)
        return
    if contents is None:
        yield file, source
        return
    inner = [
        file._replace(
            path=path,
            label=f"{file.label}/{text_of_path(path.relative_to(file.path).as_posix())}",
            explicit=False,
            pack=file.path,
        )
        for path in sorted(contents)
    ]
    for member in one_table_each(inner) if in_tables else inner:
        yield member, source.at(member.path, contents)


def _attempt(
    file: InputFile,
    source: Source,
    layout: PathLayout | None,
    dim: str,
    together: Table | None,
    *,
    all_parts: bool,
) -> Attempt:
    """Read one file, or take the table that was read together with others.

    Return the error, so that the first in order of files is reported.
    """
    try:
        with source.within_memory():
            table: Table | str
            broken: list[FileError] = []
            if file.parts:
                sources, errors = (
                    [source.at(path) for path in file.parts],
                    None if all_parts else broken,
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
                table = table_or_reason(source, file.explicit, together)
            if isinstance(table, str):
                return Attempt(file, skip_reason=table)
            file = file._replace(labels=_labels_of(file, layout, dim, table))
            check_location(table, file)
    except FileError as error:
        return Attempt(file, error=error)
    return Attempt(file, table, broken_parts=tuple(broken))


def table_or_reason(source: Source, explicit: bool, together: Table | None = None) -> Table | str:
    """Return the table of one file, or the reason to skip a file that the caller did not name.

    `together` is what a tidy table holds that was read together with others.
    """
    file_format = recognise(source)
    if file_format is None and explicit:
        raise not_recognised(source)
    if file_format is not None:
        if not explicit and file_format.superseded(source):
            return SUPERSEDED
        try:
            is_read = together is not None and file_format.name == tidy_csv.NAME
            reader = (lambda _: cast(Table, together)) if is_read else None
            return with_dims(source, read_table(source, file_format, reader))
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


def _labels_of(
    file: InputFile, layout: PathLayout | None, dim: str, table: Table
) -> dict[str, Any]:
    """Return the labels from a file's path, or none if its content states them."""
    if layout is None:
        self_located = dim == "file" and (formats()[table.format].placed or bool(file.parts))
        return file.labels or ({} if self_located else {dim: file.label})
    labels = layout.labels(text_of_path(file.path.absolute().as_posix()))
    if labels is None:
        raise FileError(f"{file.path}: its path does not match layout={layout.text!r}")
    return file.labels | labels

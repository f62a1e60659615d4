"""What came of each file of an archive: read one after another, by several processes, or as dask tasks; always in the same order."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from itertools import chain, groupby
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from perfarray.readers.custom import check
from perfarray.readers.dims import with_dims
from perfarray.readers.finding import Found, find_files
from perfarray.readers.joining import check_place
from perfarray.readers.layout import Layout, read_layout
from perfarray.readers.opening import FileError, Source, Wanted, known_encoding
from perfarray.readers.packs import is_pack, members
from perfarray.readers.recognising import formats, not_recognised, read_table, recognise
from perfarray.tables.columns import Table
from perfarray.timings.options import Options, in_force, options
from perfarray.timings.validation import check_count

BATCH = 256
"""Files handed to dask at once: after them the progress bar moves. Its processes start anew for every batch, so it is not small."""

SHARES = 16
"""Parts that the files are cut into for each process: what one reads at a time, so that none is left with all the large ones."""

WORTH = 1 << 25
"""Bytes from which on processes are started without a number of them: to start one takes as long as to read some ten million."""

UNKNOWN_FORMAT = "no reader recognises its content"
EMPTY = "is empty"
SUPERSEDED = "another file beside it holds the same"
"""Why a file is passed over."""


class Attempt(NamedTuple):
    """What came of one file: its place, and its table, why it is passed over, or what is wrong with it."""

    placed: Found
    table: Table | None = None
    skipped: str = ""
    error: FileError | None = None


class How(NamedTuple):
    """How the files of an archive are read, wherever that is done."""

    layout: Layout | None
    dim: str
    format: str | None
    wanted: Wanted
    options: Options


def asked(
    layout: str | None, dim: str, format: str | None, dims: Mapping[str, str | int] | None, pattern: str | None, encoding: str | None
) -> How:
    """Return how files are to be read as the caller says, or raise."""
    wanted = Wanted(known_encoding(encoding), check(dims, pattern, format), pattern)
    return How(None if layout is None else read_layout(layout), dim, format, wanted, options())


def every_attempt(paths: Any, how: How, *, parallel: bool | int, progress: bool, on_dask: bool = False) -> Generator[Attempt, None, None]:
    """Read files and yield what came of each, whoever is ready first: those of a mapping label by label, in the order of their paths."""
    found = find_files(paths, how.dim, None if how.layout is None else how.layout.text)
    found = [one for _, own in groupby(found, attrgetter("labels")) for one in sorted(own, key=attrgetter("path.parts"))]
    attempt = partial(_attempts_at, how=how, answers={})
    if processes := _processes(parallel, found):
        every = _by_processes(attempt, found, processes)
    elif on_dask:
        every = _as_tasks(attempt, found)
    else:
        every = map(attempt, found)
    with _progress_bar(len(found)) if progress else nullcontext() as bar:
        for of_one in every:
            yield from of_one
            if bar is not None:
                bar.update()


def put_beside(skipped: Sequence[Found], tables: Sequence[Table]) -> set[Path]:
    """Return the paths of those of the files passed over that a tool puts beside the results which were read."""
    ends = tuple(chain.from_iterable(formats()[name].beside for name in {table.format for table in tables}))
    return {file.path for file in skipped if ends and file.path.name.endswith(ends)}


def _processes(parallel: bool | int, found: Sequence[Found]) -> int:
    """Return how many processes read the files, 0 for none but this one; `True` starts them where there is enough to read."""
    if parallel is False:
        return 0
    if parallel is not True:
        return min(check_count(parallel, "parallel"), len(found))
    most = min(cores(), len(found))
    return most if most > 1 and sum(map(_size, found)) >= WORTH else 0


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(one: Found) -> int:
    """Return the bytes of a file, 0 where they cannot be had: why is said when it is read."""
    try:
        return one.path.stat().st_size
    except OSError:
        return 0


def _by_processes(attempt: Callable[[Found], list[Attempt]], found: Sequence[Found], processes: int) -> Iterator[list[Attempt]]:
    """Read files by processes that are started for it, anew: threads of this one do no harm to them."""
    try:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            yield from pool.map(attempt, found, chunksize=-(-len(found) // (SHARES * processes)))
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process that read files ended: for want of memory, or since the program that starts it is not guarded by "
            "`if __name__ == '__main__':`; parallel=False reads in this process"
        ) from error


def _as_tasks(attempt: Callable[[Found], list[Attempt]], found: Sequence[Found]) -> Iterator[list[Attempt]]:
    """Read files on dask's scheduler: the one that was chosen, so that no worker is started that nobody asked for."""
    try:
        from dask.base import compute
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError("chunks= needs dask, which is not installed; install perfarray[io]") from error
    task = delayed(attempt, pure=False, traverse=False)
    for start in range(0, len(found), BATCH):
        yield from compute(*(task(one) for one in found[start : start + BATCH]))  # type: ignore[no-untyped-call]


def _progress_bar(files: int) -> Any:
    """Return a bar that counts files."""
    from tqdm.auto import tqdm

    return tqdm(total=files, desc="reading", unit="file")


def _attempts_at(one: Found, how: How, answers: dict[Any, Any]) -> list[Attempt]:
    """Read one file of several, or the members of an archive, as those of a folder of its name."""
    with in_force(how.options):
        if one.problem:
            return [Attempt(one, error=FileError(f"{one.path}: {one.problem}"))]
        source = Source(one.path, answers, how.wanted)
        try:
            with source.within_memory():
                contents = members(source) if is_pack(source) else None
        except FileError as error:
            return [Attempt(one, error=error)]
        if contents is None:
            return [_attempt(one, source, how)]
        above = one.path.as_posix().removesuffix(one.label)
        inside = [
            one._replace(path=path, label=path.as_posix().removeprefix(above), explicit=False, pack=one.path) for path in sorted(contents)
        ]
        return [_attempt(member, Source(member.path, answers, how.wanted, contents), how) for member in inside]


def _attempt(one: Found, source: Source, how: How) -> Attempt:
    """Read one file; what is wrong with it is returned, so that the first in order is reported and not the first in time."""
    try:
        with source.within_memory():
            table = _read(source, how.format, one.explicit)
            if isinstance(table, str):
                return Attempt(one, skipped=table)
            one = one._replace(labels=_labels_of(one, how.layout, how.dim, table))
            check_place(table, one)
    except FileError as error:
        return Attempt(one, error=error)
    return Attempt(one, table)


def _read(source: Source, format: str | None, explicit: bool) -> Table | str:
    """Read one file of several; of one that nobody named and that is passed over, say why."""
    known = recognise(source, format)
    if known is None:
        if explicit:
            raise not_recognised(source)
        return UNKNOWN_FORMAT if source.first_bytes.strip() else EMPTY
    if known.superseded is not None and not explicit and known.superseded(source):
        return SUPERSEDED
    try:
        return with_dims(source, read_table(source, known))
    except FileError:
        if (format is None and source.wanted.pattern is None) or explicit or known.started(source.head) or known.recognise(source):
            raise
        return UNKNOWN_FORMAT if source.first_bytes.strip() else EMPTY


def _labels_of(one: Found, layout: Layout | None, dim: str, table: Table) -> dict[str, Any]:
    """Return the labels a file's place gives it: none where the file says itself where it belongs."""
    if layout is None:
        placed = dim == "file" and formats()[table.format].placed
        return one.labels or ({} if placed else {dim: one.label})
    parsed = layout.labels(one.path.absolute().as_posix())
    if parsed is None:
        raise FileError(f"{one.path}: its path does not match layout={layout.text!r}")
    return one.labels | parsed

"""Files and folders replaced as a whole: readers never find a part.

Streams are written into.
"""

import errno
import glob
import os
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import IO

from perfarray.timings.notes import Note, emit
from perfarray.timings.validation import listed

# The name of what is replaced, until it is removed
ASIDE = "aside"

# The file in the temporary folder that its program keeps locked; it names the machine and the path
LOCK = "lock"


@contextmanager
def replacing(*paths: Path, unchanged: bool = False) -> Iterator[Sequence[Path]]:
    """Yield temporary paths, whose content goes to `paths` when the block ends without error.

    They lie in a folder beside the first path until they are complete and on the disk. Only regular
    files and folders are replaced, and keep their mode. A link stays, and its target is replaced. A
    pipe or a device is written into. A file is replaced in one step. A folder takes two: the old
    one is moved aside, and back if the second step fails. Before, the leftovers of killed programs
    are cleaned up: a folder that one of them moved aside is moved back.

    Parameters
    ----------
    *paths : Path
        In existing folders of one file system.
    unchanged : bool
        Raise where another program has replaced one of the paths meanwhile.

    Raises
    ------
    OSError
        No room, no permission, a file that would replace a folder, a folder that would replace a
        file, or a path that was changed.
    """
    for path in paths:
        restore(path)
    targets = [Path(os.path.realpath(path)) for path in paths]
    stamps = [_stamp(target) for target in targets]
    try:
        with workspace(*paths) as room:
            fresh = [room / f"{number}{target.suffix}" for number, target in enumerate(targets)]
            yield fresh
            for written, path in zip(fresh, paths, strict=True):
                _check_kind(written, path)
                _flush(written)
            if unchanged and [_stamp(target) for target in targets] != stamps:
                raise OSError(
                    f"{paths[0]}: another program has written there meanwhile, and what it "
                    "wrote is kept; try again"
                )
            for written, path, target in zip(fresh, paths, targets, strict=True):
                if is_stream(path):
                    with written.open("rb") as content, path.open("wb") as stream:
                        shutil.copyfileobj(content, stream)
                else:
                    _put(written, target, room / ASIDE)
                    _flush_one(target.parent)
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(paths[0])) from error


def write_text(path: Path, text: str) -> None:
    """Write a text to a path, as `replacing` does.

    Bytes of file names that are not UTF-8 become escapes, which JSON reads as well.
    """
    with replacing(path) as (fresh,):
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def workspace(*paths: Path) -> Iterator[Path]:
    """Yield a hidden folder beside the first path that can be replaced.

    Before, those of killed programs are removed.
    """
    target = Path(os.path.realpath(paths[0]))
    for room in [room for room, signed in _abandoned(target) if signed]:
        _clear(room)
    # Nothing need be moved to a stream, and in its folder (/dev) few may write.
    replaced = next(
        (Path(os.path.realpath(path)) for path in paths if not is_stream(path)),
        Path(gettempdir()) / target.name,
    )
    room = Path(mkdtemp(prefix=_prefix(target), dir=replaced.parent))
    try:
        with _locked(room, target):
            yield room
    finally:
        _clear(room)


def is_stream(path: Path) -> bool:
    """Return whether a path is written into and never replaced.

    That is a pipe, a device, a socket, or an open file without a name of its own.
    """
    target = Path(os.path.realpath(path))
    return path.exists() and not (target.is_file() or target.is_dir())


def restore(path: Path) -> None:
    """Move back a folder that a killed program had moved aside, with a note.

    Raise where there are several.
    """
    target = Path(os.path.realpath(path))
    rooms = [] if target.exists() else [room for room, _ in _abandoned(target)]
    backups = [room / ASIDE for room in rooms if (room / ASIDE).exists()]
    if len(backups) > 1:
        raise OSError(
            f"{path}: {len(backups)} writes were interrupted; what was there is in "
            f"{listed(map(str, backups))}: move the one that is "
            "meant to its place"
        )
    if backups:
        os.rename(backups[0], target)
        _clear(backups[0].parent)
        emit(
            Note(
                "interrupted_write",
                f"{path}: an earlier write was interrupted; what was there before is back",
                {"file": str(path)},
            )
        )


def _prefix(target: Path) -> str:
    """Return the prefix of the names of temporary folders."""
    return f".{target.name[:100]}."


def _signature(target: Path) -> str:
    """Return the content of a lock; on shared file systems locks may hold on one machine only."""
    return f"{platform.node()}\n{target.name}"


def _abandoned(target: Path) -> Iterator[tuple[Path, bool]]:
    """Yield temporary folders of ended programs, and whether their lock is from this machine."""
    for room in sorted(target.parent.glob(f"{glob.escape(_prefix(target))}{'?' * 8}")):
        try:
            with open(room / LOCK, "r+", encoding="utf-8", errors="surrogateescape") as file:
                if _lock(file):
                    yield room, file.read() == _signature(target)
        # There is no lock: its program was killed before, or the system has none.
        except OSError:
            yield room, False


@contextmanager
def _locked(room: Path, target: Path) -> Iterator[None]:
    """Hold the lock of a temporary folder.

    The file gets its name once it is locked, so that it never looks abandoned.
    """
    with open(room / f"{LOCK}.new", "x", encoding="utf-8", errors="surrogateescape") as file:
        if _lock(file):
            file.write(_signature(target))
            file.flush()
            os.replace(file.name, room / LOCK)
        yield


def _lock(file: IO[str]) -> bool:
    """Lock a file until it is closed or its program ends.

    Return False where another program holds it, or the system has no locks.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(file, LOCK_EX | LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return a mark that changes when a file or folder is replaced."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _clear(room: Path) -> None:
    """Remove a folder, repeatedly while a library that failed is still writing to it."""
    for _ in range(20):
        shutil.rmtree(room, ignore_errors=True)
        if not room.exists():
            return
        time.sleep(0.05)


def _check_kind(written: Path, path: Path) -> None:
    """Raise where a file would replace a folder, or a folder anything else."""
    if written.is_file() and path.is_dir():
        raise IsADirectoryError(
            errno.EISDIR,
            "a folder is there, which no file replaces; name a file inside it",
            str(path),
        )
    if written.is_dir() and path.exists() and not path.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, "a file is there, which no folder replaces; give another name", str(path)
        )


def _put(path: Path, target: Path, aside: Path) -> None:
    """Move a file or folder to its place, with the mode and the owner of what was there."""
    if target.exists():
        shutil.copymode(target, path)
        # One may not give files away, or there are no owners.
        with suppress(OSError, AttributeError):
            os.chown(path, target.stat().st_uid, target.stat().st_gid)
    if not target.is_dir():
        os.replace(path, target)
        return
    os.rename(target, aside)
    try:
        os.rename(path, target)
    except BaseException:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _flush(path: Path) -> None:
    """Flush a file, or a folder with its content, to the disk."""
    for folder, _, files in os.walk(path) if path.is_dir() else [(path.parent, (), (path.name,))]:
        for file in files:
            _flush_one(Path(folder) / file)
        _flush_one(Path(folder))


def _flush_one(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # there a folder cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files written as a whole: a place holds what was there or what is new, and never the half of it; results as what such files hold."""

import errno
import glob
import itertools
import math
import os
import platform
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, TYPE_CHECKING, Any

from perfarray.timings.notes import DATA_NAMES, Note, notes, tell
from perfarray.timings.validation import listed

if TYPE_CHECKING:
    import xarray as xr

# What is replaced is called so until it is gone
ASIDE = "aside"

# The file in a folder of a write that its program has locked as long as it lives; it names the machine and the place
LOCK = "lock"


@contextmanager
def replacing(*paths: Path, unchanged: bool = False) -> Iterator[Sequence[Path]]:
    """Yield places to write files or folders to; they take the places of others when the block has ended well.

    What is written lies in a folder of its own beside the first place until it is complete and on the disk. A link stays, and what it
    leads to is replaced. A file is replaced in one step, a folder in two: the old is moved aside, and back if the second step fails; what a
    program that was killed between the two left aside is put back first, and what else such programs left of the first place is removed.

    Parameters
    ----------
    *places : Path
        In folders that exist, of one file system.
    unchanged : bool
        What is written goes on from what is there: where another program has replaced that meanwhile, nothing is.

    Yields
    ------
    sequence of Path
        One for each.

    Raises
    ------
    OSError
        When there is no room, no right to write there, a file would replace a folder, or a place was changed that should not be.
    """
    for path in paths:
        restore(path)
    targets = [Path(os.path.realpath(path)) for path in paths]
    stamps = [_stamp(target) for target in targets]
    for room in [room for room, signed in _abandoned(targets[0]) if signed]:
        _clear(room)
    room = Path(mkdtemp(prefix=_prefix(targets[0]), dir=targets[0].parent))
    try:
        with _locked(room, targets[0]):
            fresh = [room / f"{number}{target.suffix}" for number, target in enumerate(targets)]
            yield fresh
            for written, path in zip(fresh, paths, strict=True):
                if written.is_file() and path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "a folder is there, which no file replaces; name a file inside it", str(path))
                _flush(written)
            if unchanged and [_stamp(target) for target in targets] != stamps:
                raise OSError(f"{paths[0]}: another program has written there meanwhile, and what it wrote is kept; try again")
            for written, target in zip(fresh, targets, strict=True):
                _put(written, target, room / ASIDE)
            for folder in {target.parent for target in targets}:
                _flush_one(folder)
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(paths[0])) from error
    finally:
        _clear(room)


def restore(path: Path) -> None:
    """Put back a folder that was moved aside to be replaced, by a program that was killed before the new one took its place; say so."""
    target = Path(os.path.realpath(path))
    rooms = [] if target.exists() else [room for room, _ in _abandoned(target)]
    backups = [room / ASIDE for room in rooms if (room / ASIDE).exists()]
    if len(backups) > 1:
        raise OSError(
            f"{path}: {len(backups)} writes were interrupted; what was there is in {listed(map(str, backups))}: move the one that is "
            "meant to its place"
        )
    if backups:
        os.rename(backups[0], target)
        _clear(backups[0].parent)
        tell(Note("interrupted_write", f"{path}: an earlier write was interrupted; what was there before is back", {"file": str(path)}))


def _prefix(target: Path) -> str:
    """Return how the name of the folder begins in which something is written."""
    return f".{target.name[:100]}."


def _signature(target: Path) -> str:
    """Return what the lock of a write to a place says: file systems that machines share may keep locks to each of them."""
    return f"{platform.node()}\n{target.name}"


def _abandoned(target: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of writes to a place whose programs have ended, and whether its lock shows that it is one of this machine."""
    for room in sorted(target.parent.glob(f"{glob.escape(_prefix(target))}{'?' * 8}")):
        try:
            with open(room / LOCK, "r+", encoding="utf-8", errors="replace") as file:
                if _lock(file):
                    yield room, file.read() == _signature(target)
        except OSError:  # there is no lock: its program was killed before, or the system has none
            yield room, False


@contextmanager
def _locked(room: Path, target: Path) -> Iterator[None]:
    """Hold the lock of a write; it gets its name when it is locked, so that nobody takes its program for one that has ended."""
    with open(room / f"{LOCK}.new", "x", encoding="utf-8") as file:
        if _lock(file):
            file.write(_signature(target))
            file.flush()
            os.replace(file.name, room / LOCK)
        yield


def _lock(file: IO[str]) -> bool:
    """Lock a file until it is closed, or its program ends; return False where another program has it, or there are no such locks."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(file, LOCK_EX | LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file or folder is replaced."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _clear(room: Path) -> None:
    """Remove a folder; again where a library that has failed is still writing to it."""
    for _ in range(20):
        shutil.rmtree(room, ignore_errors=True)
        if not room.exists():
            return
        time.sleep(0.05)


def _put(path: Path, target: Path, aside: Path) -> None:
    """Move a file or folder to its place."""
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
    """See that a file, or a folder with all inside it, is on the disk."""
    for folder, _, files in os.walk(path) if path.is_dir() else [(path.parent, (), (path.name,))]:
        for file in files:
            _flush_one(Path(folder) / file)
        _flush_one(Path(folder))


def _flush_one(path: Path) -> None:
    """See that a file or the list of a folder is on the disk."""
    if path.is_dir() and os.name == "nt":  # there a folder cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def plain_markdown(text: str) -> str:
    """Return a text in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]|~<&#])", r"\\\1", " ".join(text.split()))


def plain(value: Any) -> Any:
    """Return what JSON can hold: what is not known is null, infinite limits are texts."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def beside(other: "xr.Dataset", answer: "xr.Dataset") -> "xr.Dataset":
    """Return another answer on the same data as it stands beside one: its dims have the names that they have there, and no descriptors."""
    called = {old: new for note in notes(answer) if note.code == DATA_NAMES for new, old in note.values["names"].items()}
    return other.reset_coords(drop=True).rename({old: new for old, new in called.items() if old in other.dims})


def rows_of(data: "xr.Dataset", dims: Sequence[str]) -> list[dict[str, Any]]:
    """Return one mapping for each cell along some dims: its labels, and every variable; what lies along further dims as mappings."""
    labels = {str(dim): data[dim].values.tolist() for dim in data.dims}
    shape = {dim: len(labels[dim]) for dim in dims}
    columns = [_each(array.variable, shape, labels) for array in data.data_vars.values()]
    titles = [*dims, *map(str, data.data_vars)]
    cells = itertools.product(*(labels[dim] for dim in dims))
    return [dict(zip(titles, (*cell, *values), strict=True)) for cell, *values in zip(cells, *columns, strict=True)]


def _each(variable: "xr.Variable", shape: Mapping[str, int], labels: Mapping[str, list[Any]]) -> list[Any]:
    """Return what a variable says of each cell."""
    inner = [str(dim) for dim in variable.dims if dim not in shape]
    sizes: dict[Any, int] = {**shape, **{dim: variable.sizes[dim] for dim in inner}}
    whole = variable.set_dims(sizes).transpose(*sizes)
    values = whole.values.reshape(-1, *(whole.sizes[dim] for dim in inner))
    if not inner and values.dtype != object:
        return list(values.tolist())
    return [_nested(own, inner, labels) for own in values]


def _nested(values: Any, dims: Sequence[str], labels: Mapping[str, list[Any]]) -> Any:
    """Return a number or a text, or a mapping of labels to what lies there."""
    if not dims:
        return values.item() if hasattr(values, "item") else values
    return {str(label): _nested(inner, dims[1:], labels) for label, inner in zip(labels[dims[0]], values, strict=True)}

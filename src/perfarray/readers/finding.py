"""Which files are meant by a folder, a glob, a list or a mapping of these, and what each is called among the others."""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatch
from operator import attrgetter
from os import DirEntry, PathLike, fspath, scandir
from os.path import commonpath, dirname, exists, isdir
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from perfarray.conventions import LEVELS
from perfarray.readers.opening import MissingFileError
from perfarray.timings.validation import listed

AnyPath = str | PathLike[str]

DEEP = "**"
"""What stands for any folders in a pattern."""


class Found(NamedTuple):
    """A file to read: where, what it is called among the others, what its place says of it, whether it was asked for by name, and when.

    `pack` is the archive that it is a member of, `problem` why it cannot be read, or the folder not be looked into.
    """

    path: Path
    label: str
    labels: dict[str, Any]
    explicit: bool
    order: int = 0
    pack: Path | None = None
    problem: str = ""


def compared_labels(one: Found) -> dict[str, Any]:
    """Return the labels a caller gave to what is compared: neither levels, nor what a file is called among the others."""
    return {name: label for name, label in one.labels.items() if name not in LEVELS and (name, label) != ("file", one.label)}


def find_files(paths: Any, dim: str, layout: str | None) -> list[Found]:
    """Return the files of a folder or glob, sorted, and those of a list or mapping as they were given.

    Raises
    ------
    MissingFileError
        When there are none, or none for a key of the mapping.
    TypeError
        When `paths` is none of these.
    """
    if not isinstance(paths, Mapping):
        found = list(_find(paths))
        if not found:
            raise MissingFileError(f"no files found in {shown(paths)}")
        return _ordered(found)
    if not paths:
        raise ValueError("the mapping of labels to paths is empty")
    if layout is not None and f"{{{dim}}}" in layout:
        raise ValueError(f"dim {dim!r} is named both by the mapping and by layout={layout!r}")
    found = []
    for label, inner in paths.items():
        inside = list(_find(inner))
        if not inside:
            raise MissingFileError(f"no files found for {label!r} in {shown(inner)}")
        found += [one._replace(labels={dim: label}) for one in inside]
    return _ordered(found)


def _ordered(found: Sequence[Found]) -> list[Found]:
    """Number files in the order in which the caller gave them."""
    return [one._replace(order=order) for order, one in enumerate(found)]


def shown(paths: Any) -> str:
    """Write paths for a message."""
    return repr(fspath(paths)) if isinstance(paths, str | PathLike) else listed(map(str, paths), 3)


def _find(paths: Any) -> Iterator[Found]:
    """Yield the files of a folder, glob or list, each once, labelled by their path below the folder they have in common."""
    if isinstance(paths, str | PathLike):
        root = checked_path(paths)
        files = {file.path: file for file in _expanded(paths)}
        folder = root if root.is_dir() else _common_folder(list(files))
    elif isinstance(paths, Iterable) and not isinstance(paths, bytes):
        files = {}
        for item in sorted(paths, key=str) if isinstance(paths, Set) else paths:
            for file in _expanded(item):
                if file.explicit or file.path not in files:
                    files[file.path] = file
        folder = _common_folder(list(files))
    else:
        raise TypeError(
            f"paths must be a folder, a glob pattern, a list of files or a mapping of labels to those; got {type(paths).__name__}"
        )
    above = len(folder.parts) if folder else 0
    for path, file in files.items():
        yield file._replace(label=("/".join(path.parts[above:]) if folder else "") or path.as_posix())


def checked_path(item: Any) -> Path:
    """Return a path that the caller gave, or raise: an empty one would be the current folder, which nobody named."""
    if not isinstance(item, str | PathLike):
        raise TypeError(f"a path must be text or path-like; got {item!r}")
    if not fspath(item):
        raise ValueError("a path is empty, and '' is no file or folder; '.' is the current folder")
    return item if isinstance(item, Path) else Path(item)


def _expanded(item: Any) -> list[Found]:
    """Return the files one path stands for, without their labels, and folders that cannot be looked into."""
    path = checked_path(item)
    text = fspath(item)
    if isdir(text):
        return sorted(_inside(path), key=attrgetter("path.parts"))
    if exists(text) or not glob.has_magic(text):
        return [Found(path, "", {}, True)]
    if DEEP in path.parts:
        return sorted(_matching(path.parts), key=attrgetter("path"))
    matches = map(_entry, sorted(map(Path, glob.glob(text))))
    return [match for match in matches if match is not None]


def _inside(root: Path) -> Iterator[Found]:
    """Yield the files of a folder and of those in it; a link is followed to a file, not to a folder."""
    folders = [fspath(root)]
    while folders:
        folder = folders.pop()
        try:
            with scandir(folder) as scanned:
                entries = list(scanned)
        except OSError as error:
            yield _unreadable(Path(folder), error)
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif (file := _entry(entry)) is not None:
                yield file


def _entry(entry: DirEntry[str] | Path) -> Found | None:
    """Return a file that nobody named; a link in a circle, since what it was to lead to is lost; nothing for what is no file."""
    try:
        return Found(Path(entry), "", {}, False) if S_ISREG(entry.stat().st_mode) else None
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(Path(entry), error)


def _unreadable(path: Path, error: OSError) -> Found:
    """Return what cannot be looked at, with the reason."""
    return Found(path, "", {}, False, problem=f"cannot be opened: {error.strerror or error}")


def _matching(pattern: tuple[str, ...]) -> Iterator[Found]:
    """Yield the files that a pattern with `**` stands for; Python's own `glob` goes through links to folders, in circles as well."""
    depth = pattern.index(DEEP)
    above = fspath(Path(*pattern[:depth]))
    for root in map(Path, glob.glob(above) if glob.has_magic(above) else [above]):
        if root.is_dir():
            for file in _inside(root):
                if _matches(file.path.parts[len(root.parts) :], pattern[depth:]) or (file.problem and isdir(file.path)):
                    yield file


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a path is as a pattern says, by the rules of `glob`: only a name with a dot stands for names that begin with one."""
    if not pattern or not parts:
        return not parts and set(pattern) <= {DEEP}
    visible = not parts[0].startswith(".")
    if pattern[0] == DEEP:
        return _matches(parts, pattern[1:]) or (visible and _matches(parts[1:], pattern))
    return (visible or pattern[0].startswith(".")) and fnmatch(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _common_folder(files: Sequence[Path]) -> Path | None:
    """Return the folder all files lie in, or None where paths are not comparable."""
    if not files or len({path.is_absolute() for path in files}) > 1:
        return None
    return Path(commonpath({dirname(path) for path in files}))

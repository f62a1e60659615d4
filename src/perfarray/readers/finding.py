"""Which files are meant by a folder, a glob, a list or a mapping of these, and what each is called among the others."""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import attrgetter
from os import PathLike, fspath, scandir
from os.path import commonpath, dirname, exists, isdir
from pathlib import Path
from typing import Any, NamedTuple

from perfarray.conventions import LEVELS
from perfarray.readers.opening import MissingFileError
from perfarray.timings.validation import listed

AnyPath = str | PathLike[str]


class Found(NamedTuple):
    """A file to read: where, what it is called among the others, what its place says of it, whether it was asked for by name, and when.

    `pack` is the archive that it is a member of.
    """

    path: Path
    label: str
    labels: dict[str, Any]
    explicit: bool
    order: int = 0
    pack: Path | None = None


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
        files = dict(_expanded(paths))
        folder = root if root.is_dir() else _common_folder(list(files))
    elif isinstance(paths, Iterable) and not isinstance(paths, bytes):
        files = {}
        for item in sorted(paths, key=str) if isinstance(paths, Set) else paths:
            for path, explicit in _expanded(item):
                files[path] = files.get(path, False) or explicit
        folder = _common_folder(list(files))
    else:
        raise TypeError(
            f"paths must be a folder, a glob pattern, a list of files or a mapping of labels to those; got {type(paths).__name__}"
        )
    above = len(folder.parts) if folder else 0
    for path, explicit in files.items():
        yield Found(path, "/".join(path.parts[above:]) if folder else path.as_posix(), {}, explicit)


def checked_path(item: Any) -> Path:
    """Return a path that the caller gave, or raise: an empty one would be the current folder, which nobody named."""
    if not isinstance(item, str | PathLike):
        raise TypeError(f"a path must be text or path-like; got {item!r}")
    if not fspath(item):
        raise ValueError("a path is empty, and '' is no file or folder; '.' is the current folder")
    return item if isinstance(item, Path) else Path(item)


def _expanded(item: Any) -> list[tuple[Path, bool]]:
    """Return the files one path stands for, and whether it named them one by one."""
    path = checked_path(item)
    text = fspath(item)
    if isdir(text):
        return [(inside, False) for inside in sorted(_inside(text), key=attrgetter("parts"))]
    if exists(text) or not glob.has_magic(text):
        return [(path, True)]
    matches = sorted(Path(match) for match in glob.glob(text, recursive=True))
    return [(match, False) for match in matches if match.is_file()]


def _inside(folder: str) -> Iterator[Path]:
    """Yield the files of a folder and of those in it; a link is followed to a file, not to a folder."""
    with scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _inside(entry.path)
            elif entry.is_file():
                yield Path(entry.path)


def _common_folder(files: Sequence[Path]) -> Path | None:
    """Return the folder all files lie in, or None where paths are not comparable."""
    if not files or len({path.is_absolute() for path in files}) > 1:
        return None
    return Path(commonpath({dirname(path) for path in files}))

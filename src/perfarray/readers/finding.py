"""Find the files of a folder, a glob, a list or a mapping of these, and label each."""

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
from perfarray.readers.opening import MissingFileError, text_of_path
from perfarray.timings.validation import listed

AnyPath = str | PathLike[str]
DEEP = "**"  # Pattern of any number of folders


class InputFile(NamedTuple):
    """A file to read, its label among the files, its labels by dim, and the caller's order.

    `pack` is the archive that contains it, `problem` the reason why the file or folder cannot be
    read, `parts` the files of a table that is a folder.
    """

    path: Path
    label: str
    labels: dict[str, Any]
    explicit: bool
    order: int = 0
    pack: Path | None = None
    problem: str = ""
    parts: tuple[Path, ...] = ()


def compared_labels(file: InputFile) -> dict[str, Any]:
    """Return the caller's labels of compared dims, without levels and the file's own label."""
    return {
        name: label
        for name, label in file.labels.items()
        if name not in LEVELS and (name, label) != ("file", file.label)
    }


def find_files(paths: Any, dim: str, layout: str | None) -> list[InputFile]:
    """Return files: a folder's or glob's by path, a list's or mapping's in the given order."""
    labelled = isinstance(paths, Mapping)
    if labelled and not paths:
        raise ValueError("the mapping of labels to paths is empty")
    if labelled and layout is not None and f"{{{dim}}}" in layout:
        raise ValueError(f"dim {dim!r} is named both by the mapping and by layout={layout!r}")
    files: list[InputFile] = []
    for label, inner in paths.items() if labelled else [(None, paths)]:
        group = list(_find(inner))
        if not group:
            raise MissingFileError(
                f"no files found {f'for {label!r} ' if labelled else ''}in {shown(inner)}"
            )
        files += [file._replace(labels={dim: label} if labelled else {}) for file in group]
    return [file._replace(order=order) for order, file in enumerate(files)]


def shown(paths: Any) -> str:
    """Format paths for a message."""
    return repr(fspath(paths)) if isinstance(paths, str | PathLike) else listed(map(str, paths), 3)


def _find(paths: Any) -> Iterator[InputFile]:
    """Yield each file once, labelled by its path below the common folder."""
    is_one_path = isinstance(paths, str | PathLike)
    if not is_one_path and (not isinstance(paths, Iterable) or isinstance(paths, bytes)):
        raise TypeError(
            f"paths is {type(paths).__name__}. Give a folder, a glob pattern, a list of files, "
            "or a mapping of labels to those"
        )
    files: dict[Path, InputFile] = {}
    for item in (
        [paths] if is_one_path else sorted(paths, key=str) if isinstance(paths, Set) else paths
    ):
        for file in _expanded(item):
            if file.explicit or file.path not in files:
                files[file.path] = file
    folder = Path(paths) if is_one_path and isdir(paths) else _common_folder(list(files))
    depth = len(folder.parts) if folder else 0
    for path, file in files.items():
        yield file._replace(
            label=text_of_path(("/".join(path.parts[depth:]) if folder else "") or path.as_posix())
        )


def checked_path(item: Any) -> Path:
    """Return the caller's path, or raise: an empty path would mean the current folder."""
    if not isinstance(item, str | PathLike):
        raise TypeError(f"a path must be text or path-like; got {item!r}")
    if not fspath(item):
        raise ValueError("a path is empty, and '' is no file or folder; '.' is the current folder")
    return item if isinstance(item, Path) else Path(item)


def _expanded(item: Any) -> list[InputFile]:
    path = checked_path(item)
    text = fspath(item)
    if isdir(text):
        return sorted(_inside(path), key=attrgetter("path.parts"))
    if exists(text) or not glob.has_magic(text):
        return [InputFile(path, "", {}, True)]
    if DEEP in path.parts:
        return sorted(_matching(path.parts), key=attrgetter("path"))
    matches = map(_entry, sorted(map(Path, glob.glob(text))))
    return [match for match in matches if match is not None]


def _inside(root: Path) -> Iterator[InputFile]:
    """Yield the files of a folder and its subfolders.

    Links to files are followed, links to folders are not.
    """
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


def _entry(entry: DirEntry[str] | Path) -> InputFile | None:
    """Return a regular file, a broken link with its problem, or None for anything else."""
    try:
        return InputFile(Path(entry), "", {}, False) if S_ISREG(entry.stat().st_mode) else None
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(Path(entry), error)


def _unreadable(path: Path, error: OSError) -> InputFile:
    return InputFile(path, "", {}, False, problem=f"cannot be opened: {error.strerror or error}")


def _matching(pattern: tuple[str, ...]) -> Iterator[InputFile]:
    """Yield the files that match a pattern with `**`.

    `glob` would follow links to folders, even in circles.
    """
    depth = pattern.index(DEEP)
    fixed = fspath(Path(*pattern[:depth]))
    for root in map(Path, glob.glob(fixed) if glob.has_magic(fixed) else [fixed]):
        if root.is_dir():
            for file in _inside(root):
                if _matches(file.path.parts[len(root.parts) :], pattern[depth:]) or (
                    file.problem and isdir(file.path)
                ):
                    yield file


def _matches(components: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a path matches as in `glob`: hidden names need a pattern with a dot."""
    if not pattern or not components:
        return not components and set(pattern) <= {DEEP}
    visible = not components[0].startswith(".")
    if pattern[0] == DEEP:
        return _matches(components, pattern[1:]) or (visible and _matches(components[1:], pattern))
    return (
        (visible or pattern[0].startswith("."))
        and fnmatch(components[0], pattern[0])
        and _matches(components[1:], pattern[1:])
    )


def _common_folder(files: Sequence[Path]) -> Path | None:
    if not files or len({path.is_absolute() for path in files}) > 1:
        return None
    return Path(commonpath({dirname(path) for path in files}))

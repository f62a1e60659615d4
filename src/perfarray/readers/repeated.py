"""Find measurements that were read twice (copies, links, backups): these are no repetitions."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from perfarray.readers.finding import InputFile, compared_labels
from perfarray.readers.labels import LISTED_NAMES
from perfarray.readers.opening import FileError, Source
from perfarray.readers.packs import members
from perfarray.tables.columns import Table
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

# What identifies a measurement: a time of day, a named time in seconds of the epoch, the id of a
# run
STAMP = re.compile(
    r"\b\d{4}-\d\d-\d\d[T_ ]\d\d[:-]\d\d|\b\d\d:\d\d:\d\d\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-"
    r"|(?i:run[_ -]?(?:id|uuid)|date|time[_ -]?stamp|started?)[\"']?\s?[:=]\s?[\"']?\d{10}",
    re.A,
)


def without_repeats(
    tables: Sequence[Table], files: Sequence[InputFile]
) -> tuple[list[Table], list[InputFile], list[Note]]:
    """Drop tables that repeat another: the same file, or equal content with a time or run id.

    Repeats to which the caller gave different compared labels stay. Notes name both kinds.
    """
    dropped, labelled = repeats(tables, files)
    unique = [index for index in range(len(tables)) if index not in dropped]
    notes = []
    if dropped:
        notes.append(
            _note(
                "repeated_files",
                "left out, since another file holds the same measurement",
                files,
                dropped,
            )
        )
    if labelled:
        repeat, first = min(labelled.items())
        pair = " and ".join(_format_labels(files[index]) for index in (first, repeat))
        sentence = (
            f"the same measurement stands under {pair}; both are kept, and to compare them is "
            "to compare it with itself"
        )
        notes.append(_note("repeated_labels", sentence, files, labelled))
    return [tables[index] for index in unique], [files[index] for index in unique], notes


def repeats(
    tables: Sequence[Table], files: Sequence[InputFile]
) -> tuple[dict[int, int], dict[int, int]]:
    """Map each repeated table's index to its original: those to drop, those labelled apart."""
    candidates: dict[tuple[str, int], list[int]] = {}
    for index, table in enumerate(tables):
        first = next(iter(table.metrics.values()))
        candidates.setdefault((table.format, hash(first.values.tobytes())), []).append(index)
    groups = [indices for indices in candidates.values() if len(indices) > 1]
    identities = _identities([files[index] for indices in groups for index in indices])
    dropped: dict[int, int] = {}
    labelled: dict[int, int] = {}
    for indices in groups:
        first_by_identity: dict[Hashable, dict[str, int]] = {}
        for index in sorted(indices, key=lambda index: _is_hidden_or_link(files[index].path)):
            first_by_labels = first_by_identity.setdefault(identities[files[index].path], {})
            labels = repr(
                sorted((name, str(label)) for name, label in compared_labels(files[index]).items())
            )
            if labels in first_by_labels:
                dropped[index] = first_by_labels[labels]
            elif first_by_labels:
                labelled[index] = next(iter(first_by_labels.values()))
            first_by_labels.setdefault(labels, index)
    return dropped, labelled


def _is_hidden_or_link(path: Path) -> tuple[bool, bool]:
    return any(name.startswith(".") and name.strip(".") for name in path.parts), path.is_symlink()


def _identities(files: Sequence[InputFile]) -> dict[Path, Hashable]:
    """Return the identity of each file by path.

    Read each file again, and each archive once for all its members.
    """
    paths: dict[Path | None, list[Path]] = {}
    for file in files:
        paths.setdefault(file.pack, []).append(file.path)
    identities: dict[Path, Hashable] = {}
    for pack, member_paths in paths.items():
        try:
            contents = None if pack is None else members(Source(pack))
        except FileError:  # the archive disappeared after it was read
            contents = {}
        identities |= {path: _identity(path, contents) for path in dict.fromkeys(member_paths)}
    return identities


def _identity(path: Path, contents: Mapping[Path, bytes] | None) -> Hashable:
    """Return a key that is equal for paths of one file and copies of one measurement."""
    try:
        text = Source(path, contents=contents).text
        if STAMP.search(text):
            return blake2b(text.encode("utf-8", "surrogatepass")).digest()
        status = path.stat()
    except (FileError, OSError, KeyError):
        return path
    return status.st_dev, status.st_ino


def _format_labels(file: InputFile) -> str:
    return (
        ", ".join(f"{name}={label!r}" for name, label in compared_labels(file).items())
        or "no label"
    )


def _note(code: str, sentence: str, files: Sequence[InputFile], indices: Collection[int]) -> Note:
    names = [files[index].label for index in sorted(indices)]
    return Note(
        code,
        f"{sentence}: {listed(names, 5)}",
        {"files": len(names), "names": names[:LISTED_NAMES]},
    )

"""One measurement that was read twice: a copy, a link, a file put by in a hidden place. It is not another repetition."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from perfarray.readers.finding import Found, compared_labels
from perfarray.readers.opening import FileError, Source
from perfarray.readers.packs import members
from perfarray.tables.columns import Table
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

NAMED = 20
"""Files whose names a note holds."""

STAMP = re.compile(
    r"\b\d{4}-\d\d-\d\d[T_ ]\d\d[:-]\d\d|\b\d\d:\d\d:\d\d\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-"
    r"|(?i:run[_ -]?(?:id|uuid)|date|time[_ -]?stamp|started?)[\"']?\s?[:=]\s?[\"']?\d{10}",
    re.A,
)
"""What two measurements do not have in common: a time of day, a time in seconds of the epoch beside such a name, the id of a run."""


def without_repeats(tables: Sequence[Table], kept: Sequence[Found]) -> tuple[list[Table], list[Found], list[Note]]:
    """Leave out tables whose files are the same as another's: the same file, or the same content with a time or the id of a run in it.

    Where the caller gave them different labels of what is compared, they stay. Both is noted.

    Parameters
    ----------
    tables : sequence of Table
        What was read.
    kept : sequence of Found
        The file of each.

    Returns
    -------
    tuple of list of Table, list of Found, list of Note
    """
    dropped, labelled = repeats(tables, kept)
    left = [index for index in range(len(tables)) if index not in dropped]
    notes = (
        _note("repeated_files", "left out, since another file holds the same measurement", kept, dropped),
        _note(
            "repeated_labels",
            f"the same measurement stands under {_both(kept, labelled)}; both are kept, and to compare them is to compare it with itself",
            kept,
            labelled,
        ),
    )
    return [tables[index] for index in left], [kept[index] for index in left], [note for note in notes if note is not None]


def repeats(tables: Sequence[Table], kept: Sequence[Found]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the places of tables that repeat another, with the place of that, and of those that do so under a label of their own."""
    alike: dict[tuple[str, int], list[int]] = {}
    for index, table in enumerate(tables):
        first = next(iter(table.metrics.values()))
        alike.setdefault((table.format, hash(first.values.tobytes())), []).append(index)
    groups = [places for places in alike.values() if len(places) > 1]
    identities = _identities([kept[index] for places in groups for index in places])
    dropped: dict[int, int] = {}
    labelled: dict[int, int] = {}
    for places in groups:
        seen: dict[Hashable, dict[str, int]] = {}
        for index in sorted(places, key=lambda index: _put_by(kept[index].path)):
            others = seen.setdefault(identities[kept[index].path], {})
            own = repr(sorted((name, str(label)) for name, label in compared_labels(kept[index]).items()))
            if own in others:
                dropped[index] = others[own]
            elif others:
                labelled[index] = next(iter(others.values()))
            others.setdefault(own, index)
    return dropped, labelled


def _put_by(path: Path) -> tuple[bool, bool]:
    """Return what speaks against a file among its copies: it is hidden, or a link."""
    return any(part.startswith(".") and part.strip(".") for part in path.parts), path.is_symlink()


def _identities(files: Sequence[Found]) -> dict[Path, Hashable]:
    """Return by path what files have in common if they are one, or copies of what was measured once.

    Every file is read once more, and every archive once for all of its members.
    """
    paths: dict[Path | None, list[Path]] = {}
    for file in files:
        paths.setdefault(file.pack, []).append(file.path)
    identities: dict[Path, Hashable] = {}
    for pack, inside in paths.items():
        try:
            contents = None if pack is None else members(Source(pack))
        except FileError:  # it was there when it was read, and is not any more
            contents = {}
        identities |= {path: _identity(path, contents) for path in dict.fromkeys(inside)}
    return identities


def _identity(path: Path, contents: Mapping[Path, bytes] | None) -> Hashable:
    """Return what two files have in common if they are one, or copies of what was measured once."""
    try:
        text = Source(path, contents=contents).text
        if STAMP.search(text):
            return blake2b(text.encode("utf-8", "surrogatepass")).digest()
        about = path.stat()
    except (FileError, OSError, KeyError):
        return path
    return about.st_dev, about.st_ino


def _both(kept: Sequence[Found], labelled: Mapping[int, int]) -> str:
    """Write the labels of the first two files that hold the same: `version='old' and version='new'`."""
    pair = min(labelled.items(), default=())[::-1]
    labels = [[f"{name}={label!r}" for name, label in compared_labels(kept[index]).items()] for index in pair]
    return " and ".join(", ".join(texts) or "no label" for texts in labels)


def _note(code: str, what: str, kept: Sequence[Found], places: Collection[int]) -> Note | None:
    """Name the files of which something holds."""
    names = [kept[index].label for index in sorted(places)]
    return Note(code, f"{what}: {listed(names, 5)}", {"files": len(names), "names": names[:NAMED]}) if names else None

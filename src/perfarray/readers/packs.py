"""Tar and zip archives, read in memory: nothing is written to the disk."""

import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from os.path import normpath
from pathlib import Path

from perfarray.readers.compression import DAMAGED
from perfarray.readers.opening import FileError, Source

Member = tuple[str, int, Callable[[int], bytes]]  # Name, size, and what reads so many bytes
ZIP = b"PK\x03\x04"

# How the sum of the first block of a tar archive begins, at the 149th byte: looked at first, since
# few files have it
CHECKSUM = re.compile(rb"[\x80\xff]|[ \0]*[0-7]+[ \0]")
MOST_MEMBERS = 1 << 16  # Members an archive may have

# What reading an archive raises; `RuntimeError` where it is encrypted, `NotImplementedError` where
# it is packed in another way
BROKEN = (
    *DAMAGED,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    RecursionError,
)


def is_pack(source: Source) -> bool:
    """Return whether a file is a tar archive, compressed or not, or a zip archive."""
    return begins_as_pack(source.first_bytes)


def begins_as_pack(first: bytes) -> bool:
    """Return whether the first bytes without compression are those of a tar or zip archive."""
    if first.startswith(ZIP):
        return True
    if len(first) < tarfile.BLOCKSIZE or not CHECKSUM.match(first, 148):
        return False
    try:
        return (
            tarfile.TarInfo.frombuf(first[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape").size
            >= 0
        )
    except tarfile.HeaderError:
        return False


def members(source: Source) -> dict[Path, bytes]:
    """Return the regular files in an archive by their path in a folder of its name.

    Links, devices and folders are left out: a link may lead anywhere. An archive that is damaged,
    has too many members or too much in them, or a member whose name leads out of it is refused. A
    sparse file counts with its blanks.
    """
    contents: dict[Path, bytes] = {}
    total = 0
    content, (size_limit, limit) = source.unpacked(), source.most_unpacked()
    try:
        for name, size, read_bytes in (
            _zipped(content) if content.startswith(ZIP) else _taped(content)
        ):
            total += size
            if total > size_limit:
                source.too_large(size_limit, limit)
            if len(contents) == MOST_MEMBERS:
                raise source.error(f"has more than {MOST_MEMBERS} members")
            inner = normpath(name)
            if inner.startswith(("/", "..")) or "\\" in inner or "\0" in inner:
                raise source.error(f"has a member whose name leads out of it: {name[:80]!r}")
            contents[source.path / inner] = read_bytes(size)
    except FileError:
        raise
    except BROKEN as error:
        raise source.error(f"is a damaged archive: {error}") from error
    return contents


def _taped(content: bytes) -> Iterator[Member]:
    with tarfile.open(fileobj=BytesIO(content), mode="r:") as archive:
        for member in archive:
            if member.isreg():
                yield member.name, member.size, archive.extractfile(member).read  # type: ignore[union-attr]


def _zipped(content: bytes) -> Iterator[Member]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for member in archive.infolist():
            if not member.is_dir() and (member.external_attr >> 28) in (0, 8):
                with archive.open(member) as file:
                    yield member.filename, member.file_size, file.read

"""Compression recognised by content: gzip, bzip2 and xz are unpacked, others are named."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BufferedReader, RawIOBase
from typing import IO, Any, BinaryIO

BLOCK = 1 << 16  # Bytes that are unpacked at once
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)  # Errors of unpacking

# How what is not read begins, what it is called, and the command that unpacks it
UNREAD = (
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"\x50\x2a\x4d\x18", "zstd", "zstd -d"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
    (b"\x02\x21\x4c\x18", "lz4", "lz4 -d"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
    (b"Rar!\x1a\x07", "rar", "unrar x"),
    (b"\x1f\x9d", "compress", "uncompress"),
    (b"LZIP", "lzip", "lzip -d"),
)


class _Streams(RawIOBase):
    """What compressed streams hold that follow each other, with bytes of 0 between them.

    Anything else after a stream is an error.

    Python's own readers of bzip2 and xz end without a word at what does not begin as another
    stream.
    """

    def __init__(self, new: Callable[[], Any], file: BinaryIO) -> None:
        self._new, self._file, self._stream = new, file, new()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next; 0 is the end."""
        content = b""
        while not content:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")
                while not packed and (block := self._file.read(BLOCK)):
                    packed = block.lstrip(b"\0")
                if not packed:
                    return 0
                self._stream = self._new()
            elif self._stream.needs_input:
                packed = self._file.read(BLOCK)
                if not packed:
                    raise EOFError("it ends before its data do")
            content = self._stream.decompress(packed, len(buffer))
        buffer[: len(content)] = content
        return len(content)


def _opened(new: Callable[[], Any], file: BinaryIO) -> IO[bytes]:
    return BufferedReader(_Streams(new, file))


# How what is read begins, what opens it, and its suffix
COMPRESSIONS: tuple[tuple[bytes, Callable[[Any], Any], str], ...] = (
    (b"\x1f\x8b", gzip.open, ".gz"),  # which reads all streams, and refuses what follows them
    (b"BZh", partial(_opened, bz2.BZ2Decompressor), ".bz2"),
    (b"\xfd7zXZ\x00", partial(_opened, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)), ".xz"),
)


def is_compressed(content: bytes) -> bool:
    """Return whether a content begins as a compression that is unpacked."""
    return any(content.startswith(magic) for magic, _, _ in COMPRESSIONS)


def first_bytes(file: BinaryIO, size: int) -> bytes:
    """Return the first bytes of a file without compression, as many as unpack."""
    first = file.read(size)
    for magic, unpack, _ in COMPRESSIONS:
        if first.startswith(magic):
            file.seek(0)
            content = b""
            with suppress(*DAMAGED), unpack(file) as unpacked:
                while len(content) < size and (chunk := unpacked.read1(size)):
                    content += chunk
            return content
    return first


def packing_problem(content: bytes) -> str:
    """Return why packed content is not read and what unpacks it, else an empty text."""
    if is_compressed(content):
        return "is packed twice, and unpacked once only; unpack it first"
    commands = [(name, command) for magic, name, command in UNREAD if content.startswith(magic)]
    return (
        (
            f"is packed with {commands[0][0]}, which is not read; unpack it first: "
            f"{commands[0][1]} FILE"
        )
        if commands
        else ""
    )

"""Files as text or JSON: compression by content, a limit on size, errors that name the file and the place."""

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Hashable
from functools import cached_property
from io import BytesIO
from os import fstat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from perfarray.timings.notes import Note

T = TypeVar("T")

LARGEST = 1 << 30
"""Bytes a file may hold, packed or not."""

HEAD = 4096
"""Characters a format is first recognised by."""

COMPRESSIONS = ((b"\x1f\x8b", gzip.open, ".gz"), (b"BZh", bz2.open, ".bz2"), (b"\xfd7zXZ\x00", lzma.open, ".xz"))

DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
"""What unpacking raises."""


class FileError(ValueError):
    """A file that cannot be read: the message names the file, the place in it and what was expected."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class Source:
    """One file: its path, its text, and its JSON, each read once and only when asked for; and what is odd about it.

    Readers put what a user should know into `notes`. `answers` is what the files of one archive have in common: what `once` was asked.
    """

    def __init__(self, path: Path, answers: dict[Any, Any] | None = None) -> None:
        self.path = path
        self.notes: list[Note] = []
        self._answers: dict[Any, Any] = {} if answers is None else answers

    def once(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """Return what a function makes of texts, worked out once for all files of an archive."""
        key = (function, *arguments)
        if key not in self._answers:
            self._answers[key] = function(*arguments)
        answer: T = self._answers[key]
        return answer

    def note(self, code: str, sentence: str, **values: Any) -> None:
        """Note what is odd about this file; the sentence goes on after its name."""
        self.notes.append(Note(code, f"{self.path}: {sentence}", {"file": str(self.path), **values}))

    def error(self, message: str) -> FileError:
        """Return an error that names this file."""
        return FileError(f"{self.path}: {message}")

    @cached_property
    def packed(self) -> bytes:
        """The bytes on disk."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                size = fstat(file.fileno()).st_size
                if size > LARGEST:
                    self._too_large(size)
                return file.read()
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path}: there is no such file") from error
        except (OSError, ValueError) as error:
            raise self.error(f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error

    @cached_property
    def text(self) -> str:
        """The whole file as text, unpacked, its lines ended by a line feed whatever ended them before."""
        content = self.packed
        for magic, unpack, name in COMPRESSIONS:
            if content.startswith(magic):
                try:
                    with unpack(BytesIO(content)) as file:
                        content = file.read(LARGEST + 1)
                except DAMAGED as error:
                    raise self.error(f"is cut off or damaged: the {name} compression does not unpack ({error})") from error
                if len(content) > LARGEST:
                    self._too_large(len(content))
                break
        try:
            return _line_feeds(content.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise self.error(f"is not UTF-8 text: byte {error.start} is {content[error.start]:#04x}") from error

    @cached_property
    def head(self) -> str:
        """The beginning of the text, as far as it can be had: nothing of the rest needs to be in order."""
        if "text" in self.__dict__:
            return self.text[:HEAD]
        return _head_of(BytesIO(self.packed))

    @property
    def looks_like_json(self) -> bool:
        """Whether the first character opens a JSON object or list."""
        return self.head.lstrip()[:1] in ("{", "[")

    @cached_property
    def json(self) -> Any:
        """The parsed content.

        Raises
        ------
        FileError
            With the place where the JSON ends to make sense.
        """
        text = self.text
        if not text or text.isspace():
            raise self.error("is empty")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            reason = "the file is cut off" if _is_cut_off(text.strip(), error) else error.msg
            raise self.error(f"is not valid JSON: {reason} at line {error.lineno}, column {error.colno}") from None
        except (ValueError, RecursionError) as error:
            raise self.error(f"is not JSON that can be read: {error}") from None

    @cached_property
    def json_or_none(self) -> Any:
        """The parsed content, or None where it is not JSON."""
        if not self.looks_like_json:
            return None
        try:
            return self.json
        except FileError:
            return None

    def _too_large(self, size: int) -> NoReturn:
        """Refuse a file that would fill the memory."""
        raise self.error(f"holds {size} bytes or more, and {LARGEST} are the most that are read at once")


def beginning(path: Path) -> str:
    """Return the first characters of a file of any size, unpacked, as `Source.head` has them."""
    with path.open("rb") as file:
        return _head_of(file)


def _head_of(file: BinaryIO) -> str:
    """Return the first characters of a file, as far as it unpacks; no more of it is read than that takes."""
    content = file.read(HEAD)
    for magic, unpack, _ in COMPRESSIONS:
        if content.startswith(magic):
            file.seek(0)
            content = _unpacked(unpack(file))
            break
    return _line_feeds(content.decode("utf-8-sig", errors="replace"))[:HEAD]


def _line_feeds(text: str) -> str:
    """Return the text with every line ended by a line feed, as Python's own text files are read."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unpacked(file: Any) -> bytes:
    """Return the first bytes of a compressed file, as many as unpack."""
    content = b""
    with file:
        try:
            while len(content) < HEAD and (more := file.read1(HEAD)):
                content += more
        except DAMAGED:
            pass
    return content


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether the JSON makes no sense because its end is missing."""
    closing = {"{": "}", "[": "]"}.get(text[:1], "")
    return not text.endswith(closing) or error.pos >= len(error.doc.rstrip()) - 1

"""Files as text or JSON: compression by content, limits, errors that name the file and the place."""

import bz2
import gzip
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from pathlib import Path
from stat import S_ISFIFO
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar

from perfarray.timings.notes import Note
from perfarray.timings.options import options

T = TypeVar("T")
UNPACKED = 1 << 24  # Bytes any packed file may unpack to, however small it is
PART = 1 << 20  # Bytes read at once from what does not say how many it has
HEAD = 4096  # Characters a format is first recognised by
COMPRESSIONS = ((b"\x1f\x8b", gzip.open, ".gz"), (b"BZh", bz2.open, ".bz2"), (b"\xfd7zXZ\x00", lzma.open, ".xz"))
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)  # What unpacking raises


# Characters that move the cursor of a terminal, or turn the direction of a text
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # Bytes that no text has, whatever its encoding
COLUMN = re.compile(r"""(?<=column )(?:'[^'\n]*'|"[^"\n]*")""")  # A column in a message
LOOKED_AT = 10_000  # Names of a folder that are compared with one that is not there: so many take half a second


class FileError(ValueError):
    """A file that cannot be read: the message names the file, the place in it and what was expected, at no greater length than allowed."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_and_truncate(message))


class MissingFileError(FileNotFoundError, FileError):
    """A file that is not there."""


def say_near(error: MissingFileError, path: Path) -> None:
    """Add the name in the folder of a file that is not there that is most like its own, where any is."""
    from difflib import get_close_matches

    try:
        names = sorted(os.listdir(path.parent))[:LOOKED_AT]
    except OSError:
        return
    for name in get_close_matches(path.name, names, n=1, cutoff=0.85):
        error.add_note(f"there is {str(path.with_name(name))!r}")


class FileOptions(NamedTuple):
    """What the caller says of files: their encoding, which settings or columns are dims, and how home-grown files are laid out."""

    encoding: str | None = None
    dims: Mapping[str, str | int] = MappingProxyType({})
    pattern: str | None = None


class Source:
    """One file: its path, its text, and its JSON, each read once and only when asked for; and what is odd about it.

    Readers put what a user should know into `notes`. `answers` is what the files of one archive have in common: what `once` was asked.
    Without an encoding a file is UTF-8; a table that is not is taken for Western text of one byte a character, and that is noted.
    `contents` has the members of the tar or zip archive this file is a member of, by the path each would have in a folder. `columns` says
    what the file calls columns that the caller gave other names: messages name them as they stand there.
    """

    def __init__(
        self,
        path: Path,
        answers: dict[Any, Any] | None = None,
        file_options: FileOptions = FileOptions(),  # noqa: B008 (frozen)
        contents: Mapping[Path, bytes] | None = None,
    ) -> None:
        self.path = path
        self.options = file_options
        self.notes: list[Note] = []
        self.columns: Mapping[str, str] = {}
        self._answers: dict[Any, Any] = {} if answers is None else answers
        self._contents = contents

    def once(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """Return what a function makes of texts, worked out once for all files of an archive."""
        key = (function, *arguments)
        if key not in self._answers:
            self._answers[key] = function(*arguments)
        answer: T = self._answers[key]
        return answer

    def note(self, code: str, sentence: str, **values: Any) -> None:
        """Note what is odd about this file; the sentence goes on after its name."""
        self.notes.append(Note(code, escape_and_truncate(f"{self.path}: {self._as_there(sentence)}"), {"file": str(self.path), **values}))

    def error(self, message: str) -> FileError:
        """Return an error that names this file."""
        return FileError(f"{self.path}: {self._as_there(message)}")

    def _as_there(self, sentence: str) -> str:
        """Return a sentence that names columns as the file does."""
        names_in_file = {repr(ours): theirs for ours, theirs in self.columns.items()}
        return COLUMN.sub(lambda match: names_in_file.get(match[0], match[0]), sentence) if names_in_file else sentence

    def beside(self, name: str) -> "Source | None":
        """Return the file of a name in the same folder (`../name`: in the one above), None where there is none; links are not followed."""
        path = Path(os.path.normpath(self.path.parent / name))
        exists = path in self._contents if self._contents is not None else path.is_file() and not path.is_symlink()
        return Source(path, self._answers, self.options, self._contents) if exists else None

    def rewritten(self, text: str) -> "Source":
        """Return this file with another text; what is odd about it is noted here."""
        source = Source(self.path, self._answers, self.options, self._contents)
        source.text, source.notes = text, self.notes
        return source

    @contextmanager
    def within_memory(self) -> Iterator[None]:
        """Make an error of ours of running out of memory."""
        try:
            yield
        except MemoryError:
            raise self.error("does not fit into the memory there is") from None

    @cached_property
    def packed(self) -> bytes:
        """The bytes on disk, or in the archive around; of a pipe that a shell hands over, those that come until it is closed."""
        if self._contents is not None:
            return self._contents[self.path]
        if _is_named_pipe(self.path):
            raise self.error("is a named pipe, whose end may never come; write what it gives to a file, or hand it over as <(command)")
        limit = options().max_file_bytes
        chunks: list[bytes] = []
        try:
            with open(self.path, "rb", buffering=0, opener=_opened) as file:
                size = os.fstat(file.fileno()).st_size
                remaining = limit + 1 if size <= limit else 0
                while remaining > 0 and (chunk := file.read(min(remaining, size + 1 if size else PART))):
                    chunks.append(chunk)
                    remaining -= len(chunk)
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path}: there is no such file") from error
        except (OSError, ValueError) as error:
            raise self.error(f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
        if remaining <= 0:
            self.too_large(limit)
        return b"".join(chunks)

    def unpacked(self) -> bytes:
        """Return the bytes without compression."""
        content = self.packed
        for magic, unpack, name in COMPRESSIONS:
            if content.startswith(magic):
                most, limit = self.most_unpacked()
                try:
                    with unpack(BytesIO(content)) as file:
                        content = file.read(most + 1)
                except DAMAGED as error:
                    raise self.error(f"is cut off or damaged: the {name} compression does not unpack ({error})") from error
                if len(content) > most:
                    self.too_large(most, limit)
                break
        return content

    @cached_property
    def text(self) -> str:
        """The whole file as text, its lines ended by a line feed whatever ended them before."""
        text = self._decoded(self.unpacked())
        if "\0" in text:
            raise self.error(f"is not text: character {text.index(chr(0))} is NUL")
        return _line_feeds(text)

    def _decoded(self, content: bytes) -> str:
        """Return bytes as text."""
        encoding = self.options.encoding or ("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
        try:
            return content.decode(encoding)
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            if self.options.encoding or encoding == "utf-16" or content.lstrip()[:1] in (b"{", b"[", b"<") or NOT_TEXT.search(content):
                named = encoding.upper().removesuffix("-SIG")
                raise self.error(f"is not {named} text: byte {start} is 0x{content[start : start + 1].hex()}") from None
        for guess in ("cp1252", "latin-1"):
            try:
                text = content.decode(guess)
            except UnicodeDecodeError:
                continue
            break
        sentence = f"is not UTF-8 (byte {start} is {content[start]:#04x}) and is read as {guess}; encoding= names another"
        self.note("guessed_encoding", sentence, encoding=guess, byte=start)
        return text

    @cached_property
    def head(self) -> str:
        """The beginning of the text, as far as it can be had: nothing of the rest needs to be in order."""
        if "text" in self.__dict__:
            return self.text[:HEAD]
        return _head_of(BytesIO(self.packed))

    @property
    def first_bytes(self) -> bytes:
        """The first bytes without compression, as many as unpack."""
        return _first_bytes(BytesIO(self.packed))

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
            with self.within_memory():
                return json.loads(text)
        except FileError:
            raise
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

    def most_unpacked(self) -> tuple[int, str]:
        """Return how many bytes this file may unpack to, and which option says so."""
        limits = options()
        by_ratio = max(UNPACKED, limits.max_unpack_ratio * len(self.packed))
        return min((limits.max_file_bytes, "max_file_bytes"), (by_ratio, "max_unpack_ratio"))

    def too_large(self, most: int, limit: str = "max_file_bytes") -> NoReturn:
        """Refuse a file that would fill the memory."""
        raise self.error(f"holds more than the {most} bytes that are read of it; set_options({limit}=...) sets another limit")


def known_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding of text, or raise."""
    try:
        "a".encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"encoding={encoding!r} is not known ({error}); give one such as 'utf-8', 'latin-1' or 'utf-16'") from None
    return encoding


def escape_and_truncate(message: str) -> str:
    """Return a message with no more characters than are wanted, and none that moves a terminal's cursor."""
    limit = options().max_message
    short = message if len(message) <= limit else f"{message[:limit]}... ({len(message) - limit} characters more)"
    return CONTROLS.sub(lambda match: ascii(match[0])[1:-1], short)


def _is_named_pipe(path: Path) -> bool:
    """Return whether a path is a pipe that any program may write to, or none; what a shell hands over ends with its program."""
    try:
        pipe = S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
    return pipe and path.absolute().parts[1:2] not in (("dev",), ("proc",))


def _opened(path: str, flags: int) -> int:
    """Open a file, or the end of a pipe without waiting for somebody to write to it."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return descriptor


def first_line(text: str, prefix: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the first line that begins so and matches: an expression alone looks at every character, and takes ten times as long."""
    position = 0 if text.startswith(prefix) else text.find(f"\n{prefix}") + 1 or -1
    while position >= 0:
        if match := pattern.match(text, position):
            return match
        position = text.find(f"\n{prefix}", position) + 1 or -1
    return None


def beginning(path: Path) -> str:
    """Return the first characters of a file of any size, unpacked, as `Source.head` has them."""
    with open(path, "rb", opener=_opened) as file:
        return _head_of(file)


def _head_of(file: BinaryIO) -> str:
    """Return the first characters of a file, as far as it unpacks; no more of it is read than that takes."""
    return _line_feeds(_first_bytes(file).decode("utf-8-sig", errors="replace"))[:HEAD]


def _first_bytes(file: BinaryIO) -> bytes:
    """Return the first bytes of a file without its compression."""
    content = file.read(HEAD)
    for magic, unpack, _ in COMPRESSIONS:
        if content.startswith(magic):
            file.seek(0)
            return _unpacked(unpack(file))
    return content


def _line_feeds(text: str) -> str:
    """Return the text with every line ended by a line feed, as Python's own text files are read."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unpacked(file: Any) -> bytes:
    """Return the first bytes of a compressed file, as many as unpack."""
    content = b""
    with file:
        try:
            while len(content) < HEAD and (chunk := file.read1(HEAD)):
                content += chunk
        except DAMAGED:
            pass
    return content


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Return whether the JSON makes no sense because its end is missing."""
    closing = {"{": "}", "[": "]"}.get(text[:1], "")
    return not text.endswith(closing) or error.pos >= len(error.doc.rstrip()) - 1

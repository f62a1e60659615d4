"""Files as text, JSON or XML: compression, limits, and errors with their place."""

import json
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from io import BytesIO
from pathlib import Path
from stat import S_ISFIFO
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar

from perfarray.readers.compression import (
    COMPRESSIONS,
    DAMAGED,
    first_bytes,
    is_compressed,
    packing_problem,
)
from perfarray.timings.notes import Note, escape_controls
from perfarray.timings.options import options

T = TypeVar("T")

UNPACKED = 1 << 24  # Bytes any compressed file may unpack to, however small it is
CHUNK = 1 << 20  # Bytes of one read from a pipe or device, which has no size
HEAD = 4096  # Characters by which a format is first recognised
BEGINNING = 1 << 16  # Characters that the comments and the header of a table may have together
NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # Bytes that no text has, whatever its encoding
# A text of JSON, or what C and Fortran print for no number, which JSON does not have; each part
# takes time in proportion to its length
NOT_FINITE = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|(?<![\w.])[+-]?(?:(nan(?:\([^()\s]{0,20}\))?)|inf(?:inity)?)(?![\w.])',
    re.I | re.S,
)
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # An escape in JSON that may stand for half of a letter
COLUMN = re.compile(r"""(?<=column )(?:'[^'\n]*'|"[^"\n]*")""")  # A column in a message
MOST_NAMES = (
    10_000  # Names of a folder that are compared with a missing one: so many take half a second
)


class FileError(ValueError):
    """A file that cannot be read: the message names it, the place and what was expected.

    `proposed_dims` is what `dims=` needs to read it, where the message asks for that.
    """

    def __init__(self, message: str, proposed_dims: Mapping[str, str] | None = None) -> None:
        super().__init__(escape_and_truncate(message))
        self.proposed_dims = dict(proposed_dims or {})


class TooLargeError(FileError):
    """A file beyond a limit of `set_options`."""


class MissingFileError(FileNotFoundError, FileError):
    """A file that does not exist."""


def suggest_name(error: MissingFileError, path: Path) -> None:
    """Add the most similar file name in the folder of a missing file, if any is similar."""
    from difflib import get_close_matches

    with suppress(OSError):
        names = sorted(os.listdir(path.parent))[:MOST_NAMES]
        for name in get_close_matches(path.name, names, n=1, cutoff=0.85):
            error.add_note(f"there is {str(path.with_name(name))!r}")


class FileOptions(NamedTuple):
    """What the caller says of files: format, dims, pattern, encoding, units."""

    format: str | None = None
    dims: Mapping[str, str | int] = MappingProxyType({})
    pattern: str | None = None
    encoding: str | None = None
    keep_failed: bool = False
    units: str | None = None


class Source:
    """One file: its path, text and JSON, each read once when asked for, and notes on it.

    Readers put what a user should know into `notes`. `answers` holds the results of `once`, which
    the files of one archive share. `no_numbers` holds the places of values that are none, and
    `failures` what failed and why: each becomes one note, once the file is read. Without an
    encoding a file is UTF-8; a table that is not is read as Western text of one byte a character,
    with a note. `contents` holds the members of the tar or zip archive that contains this file, by
    the path each would have in a folder. `columns` maps names of columns that the caller gave to
    those in the file, which messages use.
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
        self.no_numbers: list[str] = []
        self.failures: list[str] = []
        self.columns: Mapping[str, str] = {}
        self._answers: dict[Any, Any] = {} if answers is None else answers
        self._contents = contents

    def once(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """Return what a function returns for these arguments, computed once."""
        key = (function, *arguments)
        if key not in self._answers:
            self._answers[key] = function(*arguments)
        answer: T = self._answers[key]
        return answer

    def note(self, code: str, sentence: str, **values: Any) -> None:
        """Add a note on this file; its name comes before the sentence."""
        sentence = escape_and_truncate(f"{self.path}: {self._with_names_in_file(sentence)}")
        self.notes.append(Note(code, sentence, {"file": text_of_path(str(self.path)), **values}))

    def error(self, message: str, proposed_dims: Mapping[str, str] | None = None) -> FileError:
        """Return an error that names this file."""
        return FileError(f"{self.path}: {self._with_names_in_file(message)}", proposed_dims)

    def _with_names_in_file(self, sentence: str) -> str:
        names_in_file = {repr(ours): theirs for ours, theirs in self.columns.items()}
        return (
            COLUMN.sub(lambda match: names_in_file.get(match[0], match[0]), sentence)
            if names_in_file
            else sentence
        )

    def beside(self, name: str) -> "Source | None":
        """Return a file in the same folder, or in the one above; links are not followed."""
        path = Path(os.path.normpath(self.path.parent / name))
        exists = (
            path in self._contents
            if self._contents is not None
            else path.is_file() and not path.is_symlink()
        )
        return self.at(path) if exists else None

    def at(self, path: Path, contents: Mapping[Path, bytes] | None = None) -> "Source":
        """Return another file that is read with the same options."""
        return Source(path, self._answers, self.options, contents or self._contents)

    def rewritten(self, text: str) -> "Source":
        """Return this file with another text; its notes go to this file."""
        source = Source(self.path, self._answers, self.options, self._contents)
        source.ascii, source.text, source.notes = None, text, self.notes
        source.no_numbers, source.failures = self.no_numbers, self.failures
        return source

    @contextmanager
    def within_memory(self) -> Iterator[None]:
        """Turn running out of memory into an error that names the file."""
        try:
            yield
        except MemoryError:
            raise self.error("does not fit into the memory there is") from None

    @cached_property
    def packed(self) -> bytes:
        """The bytes on disk or in the archive.

        Of a pipe that a shell hands over, all bytes until it is closed.
        """
        if self._contents is not None:
            return self._contents[self.path]
        if _is_named_pipe(self.path):
            raise self.error(
                "is a named pipe, which may never end. Write its content to a file, or give it "
                "as <(command"
            )
        limit = options().max_file_bytes
        chunks: list[bytes] = []
        try:
            with open(self.path, "rb", buffering=0, opener=_opened) as file:
                size = os.fstat(file.fileno()).st_size
                remaining = limit + 1 if size <= limit else 0
                while remaining > 0 and (
                    chunk := file.read(min(remaining, size + 1 if size else CHUNK))
                ):
                    chunks.append(chunk)
                    remaining -= len(chunk)
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path}: there is no such file") from error
        except (OSError, ValueError) as error:
            raise self.error(
                f"cannot be opened: {getattr(error, 'strerror', None) or error}"
            ) from error
        if remaining <= 0:
            self.too_large(limit)
        return b"".join(chunks)

    def unpacked(self) -> bytes:
        """Return the bytes without compression; raise where they are packed once more."""
        if problem := self.packing_problem:
            raise self.error(problem)
        for magic, unpack, name in COMPRESSIONS:
            if self.packed.startswith(magic):
                most, limit = self.most_unpacked()
                try:
                    with unpack(BytesIO(self.packed)) as file:
                        content: bytes = file.read(most + 1)
                except DAMAGED as error:
                    raise self.error(
                        f"is cut off or damaged: the {name} compression does not unpack ({error})"
                    ) from error
                if len(content) > most:
                    self.too_large(most, limit)
                return content
        return self.packed

    @property
    def packing_problem(self) -> str:
        """Why nothing is read of a file that is packed, and what unpacks it.

        Empty where it can be read.
        """
        return packing_problem(self.first_bytes)

    @cached_property
    def ascii(self) -> bytes | None:
        """The bytes of a file of ASCII with line feeds: a large table need not become text.

        None of any other, and of a compressed one.
        """
        content = self.packed
        is_text = content.isascii() and b"\0" not in content and b"\r" not in content
        as_written = self.options.encoding is None and not is_compressed(content)
        return content if is_text and as_written else None

    @property
    def beginning(self) -> str:
        """The first characters of the text, among which a table has its header."""
        return self.text[:BEGINNING] if self.ascii is None else self.ascii[:BEGINNING].decode()

    @property
    def is_blank(self) -> bool:
        """Whether the file has no text but white space."""
        content = self.text if self.ascii is None else self.ascii
        return not content or content.isspace()

    @cached_property
    def text(self) -> str:
        """The whole file as text, with line feeds at the ends of lines."""
        if self.ascii is not None:
            return self.ascii.decode()
        text = self._decoded(self.unpacked())
        if "\0" in text:
            raise self.error(f"is not text: character {text.index(chr(0))} is NUL")
        return _line_feeds(text)

    def _decoded(self, content: bytes) -> str:
        encoding = self.options.encoding or (
            "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        )
        try:
            return content.decode(encoding)
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            if (
                self.options.encoding
                or encoding == "utf-16"
                or content.lstrip()[:1] in (b"{", b"[", b"<")
                or NOT_TEXT.search(content)
            ):
                name = encoding.upper().removesuffix("-SIG")
                raise self.error(
                    f"is not {name} text: byte {start} is 0x{content[start : start + 1].hex()}"
                ) from None
        try:
            guess, text = "cp1252", content.decode("cp1252")
        except UnicodeDecodeError:
            guess, text = "latin-1", content.decode("latin-1")
        sentence = (
            f"is not UTF-8 (byte {start} is {content[start]:#04x}) and is read as {guess}; "
            "encoding= names another"
        )
        self.note("guessed_encoding", sentence, encoding=guess, byte=start)
        return text

    @cached_property
    def head(self) -> str:
        """The first characters of the text; what follows them may be damaged."""
        return self.text[:HEAD] if "text" in self.__dict__ else _text_of(self.first_bytes)

    @cached_property
    def first_bytes(self) -> bytes:
        """The first bytes without compression, as many as unpack."""
        return first_bytes(BytesIO(self.packed), HEAD)

    @property
    def looks_like_json(self) -> bool:
        """Whether the first character opens a JSON object or list."""
        return self.head.lstrip()[:1] in ("{", "[")

    @cached_property
    def json(self) -> Any:
        """The parsed JSON, or an error with the place where it is wrong."""
        text = self.text
        if not text or text.isspace():
            raise self.error("is empty")
        with self.within_memory():
            try:
                content = _json_with_bare_words(text)
                if HALF.search(text):  # half of a letter, which no output can hold
                    content = json.loads(
                        json.dumps(content, ensure_ascii=False).encode(errors="replace")
                    )
                return content
            except json.JSONDecodeError as error:
                reason = "the file is cut off" if _is_cut_off(text.strip(), error) else error.msg
                raise self.error(
                    f"is not valid JSON: {reason} at line {error.lineno}, column {error.colno}"
                ) from None
            except (ValueError, RecursionError) as error:
                raise self.error(f"is not JSON that can be read: {error}") from None

    @cached_property
    def json_or_none(self) -> Any:
        """The parsed JSON, None where it is not valid."""
        with suppress(FileError):
            return self.json if self.looks_like_json else None
        return None

    @property
    def json_object(self) -> dict[str, Any]:
        """The parsed JSON where it is an object, else an empty one."""
        content = self.json_or_none
        return content if isinstance(content, dict) else {}

    def xml(self) -> Any:
        """Return the root element; entities are forbidden, since nobody vouches for the file."""
        try:
            from defusedxml.common import DefusedXmlException
            from defusedxml.ElementTree import ParseError, fromstring
        except ImportError as error:
            raise ImportError(
                "XML is read with defusedxml, which is not installed; install perfarray[io]"
            ) from error
        try:
            return fromstring(self.text)
        except ParseError as error:
            raise self.error(f"is not well-formed XML: {error}") from None
        except DefusedXmlException as error:
            raise self.error(f"defines entities, which are not read: {error}") from None

    def most_unpacked(self) -> tuple[int, str]:
        """Return how many bytes this file may unpack to, and the option that sets the limit."""
        limits = options()
        by_ratio = max(UNPACKED, limits.max_unpack_ratio * len(self.packed))
        return min((limits.max_file_bytes, "max_file_bytes"), (by_ratio, "max_unpack_ratio"))

    def too_large(self, most: int, limit: str = "max_file_bytes") -> NoReturn:
        """Refuse a file that would fill the memory."""
        raise TooLargeError(
            f"{self.path}: holds more than the {most} bytes that are read of it; "
            f"set_options({limit}=...) sets another limit"
        )


def escape_and_truncate(message: str) -> str:
    """Return a message of allowed length, without what moves the cursor of a terminal."""
    limit = options().max_message
    short = (
        message
        if len(message) <= limit
        else f"{message[:limit]}... ({len(message) - limit} characters more)"
    )
    return escape_controls(short)


def text_of_path(path: str) -> str:
    """Return a path as a text that every output can hold: bytes that are not UTF-8 are escapes."""
    return path.encode(errors="backslashreplace").decode()


def _json_with_bare_words(text: str) -> Any:
    """Return parsed JSON, in which numbers may be a bare `nan`, `-nan(ind)` or `inf`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        in_words_of_python = NOT_FINITE.sub(_python_word, text)
        with suppress(json.JSONDecodeError):
            return json.loads(in_words_of_python)
        raise error  # that of the second text has other places


def _python_word(match: re.Match[str]) -> str:
    """Return a text as it is, and a bare word as Python writes it."""
    if match[0].startswith('"'):
        return match[0]
    return "NaN" if match[1] else f"{'-' if match[0].startswith('-') else ''}Infinity"


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a text is, an empty one where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def first_line(text: str, prefix: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the first line that begins with a prefix and matches an expression."""
    position = 0 if text.startswith(prefix) else text.find(f"\n{prefix}") + 1 or -1
    while position >= 0:
        if match := pattern.match(text, position):
            return match
        position = text.find(f"\n{prefix}", position) + 1 or -1
    return None


def read_head(path: Path) -> str:
    """Return the first characters of a file of any size, unpacked, as `Source.head` has them."""
    with open(path, "rb", opener=_opened) as file:
        return _text_of(first_bytes(file, HEAD))


def _is_named_pipe(path: Path) -> bool:
    """Return whether a path is a pipe that any program may write to.

    One that a shell hands over ends with its program.
    """
    try:
        pipe = S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
    return pipe and path.absolute().parts[1:2] not in (("dev",), ("proc",))


def _opened(path: str, flags: int) -> int:
    # O_NONBLOCK: opening a pipe would wait for somebody to write to it.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return descriptor


def _text_of(first: bytes) -> str:
    return _line_feeds(first.decode("utf-8-sig", errors="replace"))[:HEAD]


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    closing = {"{": "}", "[": "]"}.get(text[:1], "")
    return not text.endswith(closing) or error.pos >= len(error.doc.rstrip()) - 1

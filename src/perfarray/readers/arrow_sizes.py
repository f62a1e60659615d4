"""What a Parquet or Arrow file would take in memory, from its metadata.

pyarrow gives no lengths of an Arrow file's blocks before it unpacks them, so the few fields are
read here. The format: "Columnar format: IPC file format" of the Arrow project (Block, RecordBatch,
BodyCompression), in FlatBuffers.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from struct import calcsize, unpack_from
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.types import Integers
from perfarray.readers.parquet_footer import Chunk

TAIL = 10  # Bytes at the end: the length of the footer, and ARROW1
BLOCK = "<qixxxxq"  # Where a message begins, the bytes of its head and of its body
BUFFER = "<qq"  # Where a buffer begins in the body, and its bytes
DICTIONARIES, RECORD_BATCHES = 2, 3  # Fields of the footer, and of the head of a message
HEADER_TYPE, HEADER = 1, 2  # Fields of a message
DATA = 1  # Field of a message with a dictionary
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3  # Fields of a record batch
PLAIN = -1  # The unpacked length that a buffer states which is not packed
VIEWS = (
    "string_view",
    "binary_view",
)  # Types of texts that lie in other texts: 16 bytes each, of which 4 are the length
TEXTS = ("string", "large_string", "binary", "large_binary", *VIEWS)
WIDTH = 8  # Bytes of a value whose type does not say


class Size(NamedTuple):
    """Rows of a table, and the bytes of what it stores."""

    rows: int
    bytes: int


def in_memory(size: Size, kinds: Iterable[Any]) -> int:
    """Return the bytes that a table takes at least."""
    return max(size.bytes, size.rows * sum(map(_width, kinds)))


def _width(kind: Any) -> int:
    try:
        return -(-int(kind.bit_width) // 8)
    except ValueError:  # texts, and what has no values
        return WIDTH


def text_bytes(table: Any) -> int:
    """Return the bytes of texts that are stored once and that rows repeat."""
    return sum(_repeated_bytes(chunk) for column in table.columns for chunk in column.chunks)


def _repeated_bytes(chunk: Any) -> int:
    from pyarrow import types

    if types.is_dictionary(chunk.type) and str(chunk.type.value_type) in TEXTS:
        return int(_lengths(chunk.dictionary)[chunk.indices.drop_null().to_numpy()].sum())
    return int(_lengths(chunk).sum()) if str(chunk.type) in VIEWS else 0


def _lengths(texts: Any) -> Integers:
    from pyarrow import compute

    if str(texts.type) in VIEWS:  # for which there is no function
        lengths: Integers = np.frombuffer(texts.buffers()[1], "<i4")[
            4 * texts.offset : 4 * (texts.offset + len(texts)) : 4
        ].clip(0)
    else:
        lengths = compute.fill_null(compute.binary_length(texts), 0).to_numpy()
    return lengths.astype(np.int64)


def parquet_size(metadata: Any, chunks: Sequence[Sequence[Chunk]]) -> Size:
    """Return the largest count of rows that the footer of a Parquet file states."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = sum(
        max([group.num_rows, *(chunk.num_values for chunk in of_group)])
        for group, of_group in zip(groups, chunks, strict=True)
    )
    return Size(max(rows, metadata.num_rows), sum(group.total_byte_size for group in groups))


def arrow_size(content: bytes) -> Size:
    """Return the size that the record batches of an Arrow file state.

    `struct.error` or `IndexError` where it is damaged.
    """
    (length,) = unpack_from("<i", content, len(content) - TAIL)
    footer = _Fields.root(content, len(content) - TAIL - length)
    blocks = sorted(
        block for field in (DICTIONARIES, RECORD_BATCHES) for block in footer.structs(field, BLOCK)
    )
    if any(
        start + head + body > following[0] for (start, head, body), following in pairwise(blocks)
    ):
        raise IndexError("its blocks overlap, and would be read more than once")
    batches = [_batch_size(content, *block) for block in blocks]
    return Size(sum(size.rows for size in batches), sum(size.bytes for size in batches))


def _batch_size(content: bytes, start: int, head: int, body: int) -> Size:
    """Return the size of a record batch, or of a dictionary, which has no rows."""
    fields_of_block = content[start : start + head]
    message = _Fields.root(fields_of_block, 8 if fields_of_block.startswith(b"\xff" * 4) else 4)
    fields = message.table(HEADER)
    is_dictionary = message.number(HEADER_TYPE, "<B") == DICTIONARIES
    batch = fields.table(DATA) if is_dictionary else fields
    lengths = [length for _, length in batch.structs(BUFFERS, BUFFER)]
    if batch.position(COMPRESSION):
        starts = [
            start + head + offset for offset, length in batch.structs(BUFFERS, BUFFER) if length
        ]
        packed = [length for length in lengths if length]
        unpacked = [unpack_from("<q", content, position)[0] for position in starts]
        lengths = [
            length if stated == PLAIN else stated
            for length, stated in zip(packed, unpacked, strict=True)
        ]
    if min(lengths, default=0) < 0 or batch.number(LENGTH, "<q") < 0:
        raise IndexError("a block states a negative size")
    return Size(0 if is_dictionary else batch.number(LENGTH, "<q"), max(sum(lengths), body))


class _Fields(NamedTuple):
    """A table of FlatBuffers: its content, and where it begins."""

    content: bytes
    start: int

    @classmethod
    def root(cls, content: bytes, position: int) -> "_Fields":
        """Return the table that the number at a position leads to."""
        return cls(content, position + unpack_from("<I", content, position)[0])

    def position(self, field: int) -> int:
        """Return where a field lies, 0 where it is left out."""
        directory = self.start - unpack_from("<i", self.content, self.start)[0]
        (size,) = unpack_from("<H", self.content, directory)
        entry = 4 + 2 * field
        offset = unpack_from("<H", self.content, directory + entry)[0] if entry < size else 0
        return self.start + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        """Return a number, 0 where it is left out."""
        position = self.position(field)
        return int(unpack_from(form, self.content, position)[0]) if position else 0

    def table(self, field: int) -> "_Fields":
        """Return the table in a field."""
        position = self.position(field)
        if not position:
            raise IndexError("a block has no head")
        return _Fields.root(self.content, position)

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """Return the structs in a field, as tuples."""
        position = self.position(field)
        if not position:
            return []
        start = position + unpack_from("<I", self.content, position)[0]
        (count,) = unpack_from("<I", self.content, start)
        if count * calcsize(form) > len(self.content):
            raise IndexError("a block has more parts than the file has room for")
        return [
            unpack_from(form, self.content, start + 4 + number * calcsize(form))
            for number in range(count)
        ]

"""What the footer of a Parquet file states of its columns, read without pyarrow.

The footer is a struct of Thrift's compact protocol. Reading it costs time in proportion to its
length and no memory beyond it.
"""

from collections.abc import Sequence
from struct import unpack_from
from typing import Any, NamedTuple

# Numbers of fields in parquet.thrift: of the footer, of a group, of a column chunk, of its metadata
ROW_GROUPS, COLUMNS, META_DATA, ENCODINGS, NUM_VALUES, UNPACKED_BYTES = 4, 1, 3, 2, 5, 6

# Types of Thrift's compact protocol
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

# Names of encodings by number; others are newer
ENCODING_NAMES = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}

MAX_DEPTH = 16  # Structs inside structs; the footer has six


class Chunk(NamedTuple):
    """A column of a group of rows: how its values are stored, their number and bytes."""

    encodings: frozenset[str]
    num_values: int
    total_uncompressed_size: int


def chunks_in_footer(content: bytes) -> list[list[Chunk]]:
    """Return the column chunks of each group of rows.

    IndexError or `struct.error` where the footer is damaged.
    """
    (length,) = unpack_from("<I", content, len(content) - 8)
    start = len(content) - 8 - length
    if start < 0:
        raise IndexError("the footer is longer than the file")
    footer = _Reader(content[start : len(content) - 8]).struct(0)
    return [
        [_chunk(column.get(META_DATA)) for column in _structs(group.get(COLUMNS))]
        for group in _structs(footer.get(ROW_GROUPS))
    ]


def _structs(values: Any) -> Sequence[dict[int, Any]]:
    """Return the structs in a list, none where there is no list."""
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _chunk(fields: Any) -> Chunk:
    fields = fields if isinstance(fields, dict) else {}
    encodings = fields.get(ENCODINGS)
    names = (
        frozenset(ENCODING_NAMES.get(number, str(number)) for number in encodings)
        if isinstance(encodings, list)
        else frozenset()
    )
    sizes = [
        value if isinstance(value := fields.get(field), int) else 0
        for field in (NUM_VALUES, UNPACKED_BYTES)
    ]
    return Chunk(names, *sizes)


class _Reader:
    """Values one after another in the compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self._position = content, 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Return the fields of a struct by number."""
        if depth > MAX_DEPTH:
            raise IndexError("structs inside structs have no end")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind in (I16, I32, I64):
            return self._integer()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            number = head >> 4 if head >> 4 < 15 else self._varint()
            if number > len(self._content) - self._position:  # each value takes a byte at least
                raise IndexError("a list is longer than the footer")
            of_bools = head & 15 in (TRUE, FALSE)
            return [
                self._byte() if of_bools else self._value(head & 15, depth + 1)
                for _ in range(number)
            ]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise IndexError(f"the footer has a value of type {kind}")

    def _byte(self) -> int:
        byte = self._content[self._position]
        self._position += 1
        return byte

    def _bytes(self, length: int) -> bytes:
        if length > len(self._content) - self._position:
            raise IndexError("a text is longer than the footer")
        self._position += length
        return self._content[self._position - length : self._position]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise IndexError("a number is too long")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

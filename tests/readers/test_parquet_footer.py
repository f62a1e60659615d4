"""The footer of a Parquet file: read as pyarrow reads it, and an error where it is damaged, at
which pyarrow ends the program."""

from io import BytesIO
from struct import error as StructError

import numpy as np
import pytest

from perfarray.readers.parquet_footer import chunks_in_footer
from strategies import MANY

pa = pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'perfarray[tables]'")

TABLE = pa.table(
    {
        "benchmark": ["a"] * 20,
        "version": ["x", "y"] * 10,
        "run": range(20),
        "time_ms": np.linspace(1.0, 2.0, 20),
    }
)
ENCODINGS = {
    "benchmark": "DELTA_BYTE_ARRAY",
    "version": "PLAIN",
    "run": "DELTA_BINARY_PACKED",
    "time_ms": "BYTE_STREAM_SPLIT",
}


def written(**options):
    file = BytesIO()
    parquet.write_table(TABLE, file, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 7},
        {"version": "1.0"},
        {"use_dictionary": False, "column_encoding": ENCODINGS},
        {"write_statistics": False},
    ],
)
def test_it_says_what_pyarrow_says(options):
    content = written(**options)
    metadata = parquet.ParquetFile(BytesIO(content)).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    expected = [[group.column(number) for number in range(group.num_columns)] for group in groups]
    assert [
        [(chunk.encodings, chunk.num_values, chunk.total_uncompressed_size) for chunk in group]
        for group in chunks_in_footer(content)
    ] == [
        [
            (frozenset(column.encodings), column.num_values, column.total_uncompressed_size)
            for column in group
        ]
        for group in expected
    ]


def test_damaged_footers():
    """Other bits, and an end before the end: chunks, or an error that the reader of Parquet
    expects."""
    content, rng = written(), np.random.default_rng(2)
    length = int.from_bytes(content[-8:-4], "little")
    for offset in rng.integers(
        len(content) - 8 - length, len(content), 4000 if MANY else 400
    ).tolist():
        damaged = (
            content[:offset] + bytes([content[offset] ^ (1 << offset % 8)]) + content[offset + 1 :]
        )
        for candidate in (damaged, content[:offset] + content[-8:]):
            try:
                groups = chunks_in_footer(candidate)
            except (IndexError, StructError):
                continue
            assert all(isinstance(chunk.num_values, int) for group in groups for chunk in group)

"""Feather, which is Arrow IPC: one row per measurement, read as Parquet is."""

from typing import Final

from perfarray.readers.opening import Source
from perfarray.readers.parquet import read as read

NAME = "feather"
UNITS_BY_CALLER = True
MAGIC: Final = (b"ARROW1",)


def started(head: str) -> bool:
    """Return whether a broken file began as this format."""
    return head.startswith(MAGIC[0].decode())


def recognise(source: Source) -> bool:
    """Return whether the first bytes are those of an Arrow IPC file."""
    return source.first_bytes.startswith(MAGIC)

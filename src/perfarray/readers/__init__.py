"""From files to timings: one file per archive format, found by itself; many files become one Dataset."""

from perfarray.readers.archives import read, read_archive

__all__ = ["read", "read_archive"]

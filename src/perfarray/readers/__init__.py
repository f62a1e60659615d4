"""From files to timings: one file per archive format, found by itself.

Many files become one Dataset.
"""

from perfarray.readers.archives import read, read_archive
from perfarray.readers.survey import archive_table

__all__ = ["archive_table", "read", "read_archive"]

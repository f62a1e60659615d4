"""The formats that can be read, and what was read of each file of an archive, as tables."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import BENCHMARK
from perfarray.readers import recognising
from perfarray.readers.attempts import companion_paths, iter_attempts
from perfarray.readers.custom import file_options
from perfarray.readers.finding import AnyPath
from perfarray.readers.repeated import repeats
from perfarray.tables.columns import Table
from perfarray.timings.validation import check_choice


def archive_table(
    paths: AnyPath | Iterable[AnyPath] | Mapping[str, Any],
    *,
    layout: str | None = None,
    dim: str = "file",
    format: str | None = None,
    dims: Mapping[str, str | int] | None = None,
    pattern: str | None = None,
    encoding: str | None = None,
    keep_failed: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Read the files of an archive and list what was read of each, or why it was not.

    Parameters
    ----------
    paths, layout, dim, format, dims, pattern, encoding, keep_failed, progress
        As for `read_archive`.

    Returns
    -------
    pandas.DataFrame
        A row for each file, and for each member of a tar or zip archive, in the order of their
        paths: `file`; `status`, which is `read`, `skipped` (nobody named it, and no reader
        recognises it or need read it), `broken`, or `repeated` (another file holds the same
        measurement); `format`; how many `benchmarks`, `measurements` (rows of a long table) and
        `values` (of all metrics, without the missing) it holds; `reason`, why it is left out; and
        `notes`, what is odd in it.

    Raises
    ------
    FileNotFoundError
        When a folder or a pattern leads to no file.

    See Also
    --------
    read_archive : Read the files into one Dataset.

    Examples
    --------
    >>> import perfarray
    >>> rows = perfarray.archive_table(perfarray.dataset_path("python_malloc"))
    >>> rows[["file", "status", "format", "measurements"]]
                file status  format  measurements
    0    malloc.json   read  pyperf          480
    1  pymalloc.json   read  pyperf          480
    """
    about_files = file_options(format, dims, pattern, encoding, keep_failed=keep_failed)
    attempts = list(iter_attempts(paths, layout, dim, about_files, progress=progress))
    files = [attempt.file for attempt in attempts if attempt.table is not None]
    tables = [attempt.table for attempt in attempts if attempt.table is not None]
    dropped, _ = repeats(tables, files)
    repeats_of = {
        id(tables[repeat]): f"holds the measurement of {files[first].label}"
        for repeat, first in dropped.items()
    }
    companions = companion_paths(
        [attempt.file for attempt in attempts if attempt.skip_reason], tables
    )
    rows = []
    for file, table, skip_reason, error, _ in attempts:
        status, reason = "read", ""
        if error is not None:
            status, reason = "broken", str(error)
        elif table is None:
            status, reason = (
                "skipped",
                "is put beside its results by the tool" if file.path in companions else skip_reason,
            )
        elif id(table) in repeats_of:
            status, reason = "repeated", repeats_of[id(table)]
        notes = "" if table is None else "\n".join(note.message for note in table.notes)
        rows.append(
            {
                "file": file.label,
                "status": status,
                **_amounts(table),
                "reason": reason,
                "notes": notes,
            }
        )
    return pd.DataFrame(rows)


def _amounts(table: Table | None) -> dict[str, str | int]:
    if table is None:
        return {"format": "", "benchmarks": 0, "measurements": 0, "values": 0}
    values = sum(
        int(np.count_nonzero(~np.isnan(metric.values))) for metric in table.metrics.values()
    )
    benchmarks = len(table.labels[BENCHMARK].labels) if BENCHMARK in table.labels else 0
    return {
        "format": table.format,
        "benchmarks": benchmarks,
        "measurements": len(table),
        "values": values,
    }


def formats(name: str | None = None) -> pd.DataFrame:
    """List the formats that can be read.

    Parameters
    ----------
    name : str, optional
        One of them; default: all.

    Returns
    -------
    pandas.DataFrame
        A row for each, its name (what `format=` takes) in the index: `what` a file of it is and
        becomes, in one sentence, and `details`.

    Raises
    ------
    ValueError
        When there is no such format.

    See Also
    --------
    read : Read one file.

    Examples
    --------
    >>> import perfarray
    >>> print(perfarray.formats("jmh").loc["jmh", "what"])
    JMH JSON (`-rf json`), or its CSV: forks are executions, measurement iterations iterations.
    """
    formats_by_name = dict(sorted(recognising.formats().items()))
    if name is not None:
        check_choice(name, "format", list(formats_by_name))
        formats_by_name = {name: formats_by_name[name]}
    modules = {
        key: sys.modules[file_format.read.__module__]
        for key, file_format in formats_by_name.items()
    }
    texts = {key: str(module.__doc__ or "").partition("\n") for key, module in modules.items()}
    rows = {
        key: {"what": first, "details": " ".join(details.split())}
        for key, (first, _, details) in texts.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("format")

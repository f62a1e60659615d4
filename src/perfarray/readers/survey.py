"""What came of each file of an archive, as a table."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import BENCHMARK
from perfarray.readers.attempts import Attempt, companion_paths, iter_attempts, read_settings
from perfarray.readers.finding import AnyPath
from perfarray.readers.repeated import repeats
from perfarray.tables.columns import Table


def archive_table(
    paths: AnyPath | Iterable[AnyPath] | Mapping[str, Any],
    *,
    layout: str | None = None,
    dim: str = "file",
    format: str | None = None,
    dims: Mapping[str, str | int] | None = None,
    pattern: str | None = None,
    encoding: str | None = None,
    progress: bool = False,
    parallel: bool | int = False,
) -> pd.DataFrame:
    """Read the files of an archive and list what came of each: what was read of it, or why it is left out.

    Parameters
    ----------
    paths, layout, dim, format, dims, pattern, encoding, progress, parallel
        As for `read_archive`.

    Returns
    -------
    pandas.DataFrame
        A row for each file, and for each member of a tar or zip archive, in the order of their paths: `file`; `status`, which is `read`,
        `skipped` (nobody named it, and no reader recognises it or need read it), `broken`, or `repeated` (another file holds the same
        measurement); `format`; how many `benchmarks`, `measurements` (rows of a long table) and `values` (of all metrics, without the
        missing) it holds; `reason`, why it is left out; and `notes`, what is odd in it.

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
    >>> perfarray.archive_table(perfarray.dataset_path("python_malloc"))[["file", "status", "format", "measurements"]]
                file status  format  measurements
    0    malloc.json   read  pyperf          480
    1  pymalloc.json   read  pyperf          480
    """
    settings = read_settings(layout, dim, format, dims=dims, pattern=pattern, encoding=encoding)
    attempts = list(iter_attempts(paths, settings, parallel=parallel, progress=progress))
    files = [(attempt.file, attempt.table) for attempt in attempts if attempt.table is not None]
    tables = [table for _, table in files]
    dropped, _ = repeats(tables, [file for file, _ in files])
    repeats_of = {id(tables[repeat]): f"holds the measurement of {files[first][0].label}" for repeat, first in dropped.items()}
    companions = companion_paths([attempt.file for attempt in attempts if attempt.skip_reason], tables)
    reasons = [_reason(attempt, repeats_of.get(id(attempt.table), ""), attempt.file.path in companions) for attempt in attempts]
    rows = [
        {"file": attempt.file.label, "status": status, **_amounts(attempt.table), "reason": reason, "notes": _notes(attempt.table)}
        for attempt, (status, reason) in zip(attempts, reasons, strict=True)
    ]
    return pd.DataFrame(rows)


def _reason(attempt: Attempt, repeated: str, is_companion: bool) -> tuple[str, str]:
    if attempt.error is not None:
        return "broken", str(attempt.error)
    if attempt.table is None:
        return "skipped", "is put beside its results by the tool" if is_companion else attempt.skip_reason
    return ("repeated", repeated) if repeated else ("read", "")


def _amounts(table: Table | None) -> dict[str, str | int]:
    if table is None:
        return {"format": "", "benchmarks": 0, "measurements": 0, "values": 0}
    values = sum(int(np.count_nonzero(~np.isnan(metric.values))) for metric in table.metrics.values())
    benchmarks = len(table.labels[BENCHMARK].labels) if BENCHMARK in table.labels else 0
    return {"format": table.format, "benchmarks": benchmarks, "measurements": len(table), "values": values}


def _notes(table: Table | None) -> str:
    return "" if table is None else "\n".join(note.message for note in table.notes)

"""The Speedup-Test's configuration: CSV that names two sample files per benchmark.

The samples are text with one time per line, in seconds; they are looked for in the current folder,
as the tool does, then in that of the configuration, and are regular files in one of the two unless
`set_options(allow_outside=True)`. What the file calls Sample1 and Sample2 are the labels of
`version`. Asked for by name, the format is also the plain CSV of section 6: two columns of times
without a header, the baseline's and the candidate's, a file a benchmark. What two columns of
numbers are cannot be seen, so that such a file is never recognised.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from os import curdir
from os.path import exists, isfile, realpath, samefile
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, TIME, VERSION
from perfarray.numerics.types import Floats
from perfarray.readers.numbers import checked, number
from perfarray.readers.opening import FileError, Source
from perfarray.tables.columns import Descriptor, Metric, Table, column_of
from perfarray.timings.options import options
from perfarray.timings.validation import listed

NAME = "speedup_test"
COLUMNS = (
    "name",
    "sample1",
    "sample2",
    "conflevel",
    "coef",
)  # The last two may be absent, empty or NA
REQUIRED = 3  # columns that are always there
SAMPLES = ("Sample1", "Sample2")  # Baseline and candidate
PLAIN = ("sample1", "sample2")  # The same in a file of two columns
FIELD = re.compile("[,;\t]")  # Separator of two columns


class ConfigLine(NamedTuple):
    """A line of the configuration, its samples, and why a file could not be read, by file.

    The confidence level and the weight are NaN where the line has no valid one.
    """

    name: str
    samples: tuple[Floats, Floats]
    level: float = np.nan
    weight: float = np.nan
    unreadable: Mapping[str, str] = MappingProxyType({})


def started(head: str) -> bool:
    """Return whether a file begins with the header of a configuration."""
    return "\n" in head and bool(_columns(head.partition("\n")[0]))


def recognise(source: Source) -> bool:
    """Return whether the first line names the fields."""
    return bool(_columns(source.head.partition("\n")[0]))


def _columns(line: str) -> tuple[str, ...]:
    """Return the fields that a header names, in its order; none where it is not one."""
    names = tuple(name.strip().strip('"').strip().lower() for name in line.split(","))
    if not {*COLUMNS[:REQUIRED]} <= {*names} <= {*COLUMNS} or len({*names}) < len(names):
        return ()
    return (
        COLUMNS if names == COLUMNS[: len(names)] else names
    )  # rows may have fields that a header leaves out at its end


def read(source: Source) -> Table:
    """Read the configuration and its samples.

    A sample that cannot be read is a note, and the others go on.

    A file that begins with a number is one of two columns.
    """
    if number(FIELD.split(source.head.lstrip().partition("\n")[0])[0]) is not None:
        return table_of_entries([ConfigLine(source.path.stem, _two_columns(source))], PLAIN)
    lines = entries(source)
    for entry in lines:
        for file, reason in entry.unreadable.items():
            sentence = (
                f"sample file {file!r} is missing, empty or not numbers; it is left out ({reason})"
            )
            source.note("unreadable_sample", sentence, sample=file)
    if not any(len(sample) for entry in lines for sample in entry.samples):
        raise source.error(
            "none of its sample files can be read: "
            f"{listed([file for entry in lines for file in entry.unreadable], 4)}"
        )
    return table_of_entries(lines)


def _two_columns(source: Source) -> tuple[Floats, Floats]:
    """Return the times of two columns; the shorter one ends in empty fields."""
    rows = [
        (line_number, FIELD.split(line.rstrip()))
        for line_number, line in enumerate(source.text.splitlines(), 1)
        if line.strip()
    ]
    for line_number, row in rows:
        if len(row) != len(PLAIN):
            raise source.error(
                f"line {line_number} has {len(row)} fields, not {len(PLAIN)}: "
                f"{','.join(row)[:60]!r}"
            )
    samples = []
    for column, name in enumerate(PLAIN):
        texts = [row[column].strip() for _, row in rows]
        n_filled = max((position for position, text in enumerate(texts, 1) if text), default=0)
        if not n_filled:
            raise source.error(f"column {column + 1} ({name}) is empty")
        locations = [f"line {line_number}, column {column + 1}" for line_number, _ in rows]
        samples.append(checked(texts[:n_filled], locations.__getitem__, source, from_zero=True))
    return samples[0], samples[1]


def entries(source: Source) -> list[ConfigLine]:
    """Read the configuration and the files it names."""
    if not recognise(source):
        raise source.error(
            "its first line must be Name,Sample1,Sample2,ConfLevel,Coef, of which ConfLevel "
            "and Coef may be left out; it is "
            f"{source.text.partition(chr(10))[0][:80]!r}"
        )
    columns = _columns(source.head.partition("\n")[0])
    rows = [
        row
        for row in csv.reader(io.StringIO(source.text), skipinitialspace=True)
        if any(cell.strip() for cell in row)
    ][1:]
    if not rows:
        raise source.error("has a header and no benchmark")
    config_entries: list[ConfigLine] = []
    parent = source.path.parent
    in_both_folders: list[str] = []
    for position, row in enumerate(rows, 1):
        fields = dict.fromkeys(COLUMNS, "") | dict(zip(columns, map(str.strip, row), strict=False))
        if not REQUIRED <= len(row) <= len(columns) or not all(
            fields[name] for name in COLUMNS[:REQUIRED]
        ):
            raise source.error(
                f"benchmark {position} has {len(row)} fields, not {len(columns)}: {','.join(row)!r}"
            )
        name, file1, file2, level, weight = fields.values()
        if any(entry.name == name for entry in config_entries):
            raise source.error(f"benchmark {position} is called {name!r}, as another one is")
        unreadable: dict[str, str] = {}
        in_both_folders += [
            file
            for file in (file1, file2)
            if isfile(file) and isfile(parent / file) and not samefile(file, parent / file)
        ]
        values = _sample(parent, file1, unreadable), _sample(parent, file2, unreadable)
        share = _number(level)
        config_entries.append(
            ConfigLine(
                name, values, share if 0 < share < 1 else np.nan, _number(weight), unreadable
            )
        )
    if in_both_folders:
        sentence = (
            "sample files that are in the current folder and beside the configuration are "
            "those of the current folder: "
        )
        source.note(
            "current_folder", sentence + listed(in_both_folders, 5), files=len(in_both_folders)
        )
    return config_entries


def _number(text: str) -> float:
    """Return a number, NaN for an empty field, NA, or anything else."""
    value = number(text)
    return np.nan if value is None else value


def table_of_entries(config: Sequence[ConfigLine], versions: tuple[str, str] = SAMPLES) -> Table:
    """Return the values as one table, with confidence level and weight along `benchmark`."""
    rows = [
        (entry.name, version, execution, value)
        for entry in config
        for version, sample in zip(versions, entry.samples, strict=True)
        for execution, value in enumerate(sample)
    ]
    benchmarks, labels, executions, values = zip(*rows, strict=True)
    values_by_name = {
        "confidence_level": {
            (entry.name,): entry.level for entry in config if np.isfinite(entry.level)
        },
        "weight": {(entry.name,): entry.weight for entry in config if np.isfinite(entry.weight)},
    }
    return Table(
        labels={BENCHMARK: column_of(benchmarks), VERSION: column_of(labels)},
        levels={EXECUTION: np.array(executions, dtype=np.intp)},
        metrics={TIME: Metric(values=np.array(values, dtype=float))},
        descriptors={
            name: Descriptor(dims=(BENCHMARK,), values=values, keep=(BENCHMARK,))
            for name, values in values_by_name.items()
            if values
        },
    )


def _sample(parent: Path, file: str, unreadable: dict[str, str]) -> Floats:
    """Return the times of a sample file.

    None where it cannot be read, which `unreadable` then explains.
    """
    try:
        sample = Source(_path_of_sample(parent, file))
        words = sample.text.replace(",", " ").split()
        if not words:
            raise sample.error("is empty")
        return checked(words, lambda index: f"value {index + 1}", sample, from_zero=True)
    except FileError as error:
        unreadable[file] = str(error)
        return np.empty(0)


def _path_of_sample(parent: Path, file: str) -> Path:
    """Return a sample's path, or raise if it is no regular file or outside the folders."""
    path = Path(file) if isfile(file) else parent / file
    if exists(path) and not isfile(path):
        raise FileError(f"{path}: is no regular file")
    if not options().allow_outside and not any(
        Path(realpath(path)).is_relative_to(realpath(folder)) for folder in (curdir, parent)
    ):
        raise FileError(
            f"{path}: is outside the folder of the configuration; "
            "set_options(allow_outside=True) allows that"
        )
    return path

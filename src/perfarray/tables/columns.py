"""A table of measurements as columns with their descriptors: the result of every reader."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray.conventions import LEVELS, LOWER, SECONDS, seconds_factor
from perfarray.numerics.types import Floats, Integers, Mask, Texts
from perfarray.timings.notes import Note

# Integers below this are exact as floats; larger descriptors are kept as text
LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A label for every row, as a code into the distinct labels."""

    codes: Integers
    labels: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """Values that describe labels, by label of some dims (`dims=()`: of the whole table).

    It ends up on as few dims as it depends on, but always on those in `keep`.
    """

    dims: tuple[str, ...]
    values: Mapping[tuple[Any, ...], Any]
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A measured quantity: a value for each row (NaN: none), its unit and direction.

    None where nothing says which is good. An exact one has no noise.
    """

    values: Floats
    units: str = SECONDS
    better: str | None = LOWER
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Measurements as columns: the result of every reader, and the input of `build`.

    Parameters
    ----------
    labels : dict of Column
        The dims that are compared or broadcast.
    levels : dict of int array
        The positions of the repetitions, from 0 inside their parent.
    metrics : dict of Metric
        What was measured.
    metric : str
        The main one of them; "" where the file does not say.
    marks : dict of bool array
        Rows to be left out, and why.
    columns : dict
        Numbers or texts known per row, and the dims they depend on.
    descriptors : dict of Descriptor
        What is known per label.
    level_names : dict of str
        What the file calls the one place it has along a level: the places of several files are
        numbered by it.
    parts : dict of sequence
        What the labels of a dim are made of, one for one, as the format has it: labels of several
        files are made alike from it.
    format : str
        The reader that made it.
    counts : dict of int
        How much of something there was; several tables add up.
    attrs : dict
        What is known of the whole; of several tables, what all say alike.
    shared : tuple of str
        Levels whose labels are the same unit for every benchmark.
    notes : tuple of Note
        What the user should know.
    """

    labels: dict[str, Column]
    levels: dict[str, Integers]
    metrics: dict[str, Metric]
    metric: str = ""
    marks: dict[str, Mask] = field(default_factory=dict)
    columns: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = field(default_factory=dict)
    descriptors: dict[str, Descriptor] = field(default_factory=dict)
    level_names: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Sequence[Any]] = field(default_factory=dict)
    format: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    attrs: dict[str, Hashable] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.metrics.values())).values)

    def place(self, row: int) -> str:
        """Write where a row belongs, for a message."""
        labels = [
            f"{dim}={column.labels[column.codes[row]]}" for dim, column in self.labels.items()
        ]
        return ", ".join(
            labels + [f"{level}={positions[row]}" for level, positions in self.levels.items()]
        )


def column_of(values: Iterable[Any]) -> Column:
    """Code values by their distinct labels, in order of first appearance."""
    codes, labels = pd.factorize(objects(list(values)), use_na_sentinel=False)
    return Column(codes=codes.astype(np.intp, copy=False), labels=labels.tolist())


def codes_of(values: "pd.Series | npt.NDArray[Any]") -> Integers:
    """Code values by first appearance; a missing one is a label, too."""
    # pandas makes an index of the labels of a Series, which takes longer than to code a small one.
    if isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype):
        values = values.to_numpy()
    return pd.factorize(values, use_na_sentinel=False)[0]


def split_rows(column: Column, rows: Sequence[int]) -> list[Column]:
    """Return a column as one for each run of so many rows, coded by first appearance in it.

    >>> [part.labels for part in split_rows(column_of("abba"), [2, 1, 1])]
    [['a', 'b'], ['b'], ['a']]
    """
    count = len(column.labels)
    parts = np.repeat(np.arange(len(rows)), rows)
    codes, distinct = pd.factorize(parts * count + column.codes)
    starts = np.cumsum([0, *rows[:-1]])
    # A part has its first label in its first row, and the labels of a part follow one another.
    first_codes = codes[starts]
    codes = codes - np.repeat(first_codes, rows)
    labels = [column.labels[code] for code in (distinct % count).tolist()]
    ends = [*first_codes[1:].tolist(), len(labels)]
    return [
        Column(codes=codes[start : start + n], labels=labels[first:end])
        for start, n, first, end in zip(
            starts.tolist(), rows, first_codes.tolist(), ends, strict=True
        )
    ]


def constant_column(label: Any, rows: int) -> Column:
    """Return the same label for every row."""
    return Column(codes=np.zeros(rows, dtype=np.intp), labels=[label])


def number_within(parents: Sequence[Integers], labels: npt.ArrayLike) -> Integers:
    """Number repetition labels from 0 inside their parent, in the order of the labels.

    Parameters
    ----------
    parents : sequence of int arrays, shape (rows,)
        Together they say which parent a row belongs to; none means there is one parent.
    labels : array, shape (rows,)
        The repetition's own label; rows with the same parent and label are the same repetition.

    Returns
    -------
    int array, shape (rows,)
    """
    keys = np.asarray(labels)
    parent, count = joint_codes(parents) if parents else (np.zeros(len(keys), dtype=np.intp), 1)
    code_limit = _most_codes(len(keys))
    # Whole numbers that lie close together are codes already.
    low = int(keys.min()) if len(keys) and np.can_cast(keys.dtype, np.intp) else None
    width = code_limit + 1 if low is None else int(keys.max()) - low + 1
    if low is not None and count * width <= code_limit:
        codes = keys.astype(np.intp, copy=False)
        codes = codes - low if low else codes
    else:
        codes, distinct = pd.factorize(keys, sort=True, use_na_sentinel=False)
        codes, width = codes.astype(np.intp, copy=False), len(distinct)
    if count * width > code_limit:
        return (
            pd.Series(codes)
            .groupby(parent, sort=False)
            .rank(method="dense")
            .to_numpy()
            .astype(np.intp)
            - 1
        )
    cells = parent * width
    cells += codes  # in place: memory for another array takes as long as the sum
    occurs = np.zeros(count * width, dtype=bool)
    occurs[cells] = True
    if occurs.all():
        return codes
    return (np.cumsum(occurs.reshape(count, width), axis=1) - 1).reshape(-1)[cells]


def row_in_parent(parents: Sequence[Integers], rows: int) -> Integers:
    """Number rows from 0 inside their parent, in the order they come."""
    if not parents:
        return np.arange(rows)
    parent, count = joint_codes(parents)
    if are_distinct(parent, count):
        return np.zeros(rows, dtype=np.intp)
    return pd.Series(0, index=range(rows)).groupby(parent, sort=False).cumcount().to_numpy()


def are_distinct(codes: Integers, count: int) -> bool:
    """Return whether no code occurs twice; all are below `count`."""
    occurs = np.zeros(count, dtype=bool)
    occurs[codes] = True
    return int(np.count_nonzero(occurs)) == len(codes)


def joint_codes(columns: Sequence[Integers]) -> tuple[Integers, int]:
    """Return one code for each combination of codes, and a number above all of them.

    Parameters
    ----------
    columns : sequence of int arrays, shape (rows,)
        Codes from 0, at least one column of them.

    Returns
    -------
    tuple of int array, shape (rows,), and int
        The number is no more than some times that of the rows.

    Examples
    --------
    >>> joint_codes([np.array([0, 1, 1]), np.array([2, 0, 2])])
    (array([2, 3, 5]), 6)
    """
    joint, count = columns[0], int(columns[0].max(initial=-1)) + 1
    for column in columns[1:]:
        width = int(column.max(initial=-1)) + 1
        joint, count = joint * width, count * width
        joint += column
        if count > _most_codes(len(joint)):
            joint, distinct = pd.factorize(joint)
            count = len(distinct)
    return joint, count


def _most_codes(rows: int) -> int:
    """Return the number of codes up to which a table of all codes is worth its memory."""
    return 4 * rows + 1024


def objects(values: Sequence[Any]) -> Texts:
    """Return a one-dimensional object array of any values."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def level_order(name: str) -> int:
    """Return the position of a level in the usual order; other levels come first."""
    return LEVELS.index(name) if name in LEVELS else -1


def in_seconds(metric: Metric) -> Metric:
    """Return a metric in seconds if its unit is a time, else as it is."""
    factor = seconds_factor(metric.units)
    if factor is None:
        return metric
    values = metric.values if factor == 1.0 else metric.values * factor
    return replace(metric, values=values, units=SECONDS)

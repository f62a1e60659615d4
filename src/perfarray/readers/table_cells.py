"""Which cell of the array each row of a long table belongs to, from its labels alone.

The distinct combinations of all columns but the values and the lowest level of repetition, as a
small table with stand-in values, are read like any other file: roles of columns, orders of labels,
units and errors are those of every table.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, COMPARED, HISTORY, ITERATION, LEVELS, MARKS
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.readers.row_blocks import READ_AT_ONCE, Rows
from perfarray.readers.tidy_csv import check_columns
from perfarray.tables.measured import UNITS_OF_ROWS, name_and_unit, value_column
from perfarray.tables.roles import depends_only_on
from perfarray.timings.crossed import label_name
from perfarray.timings.options import options, set_options
from perfarray.timings.progress import progress_bar
from perfarray.timings.validation import listed
from perfarray.timings.values import out_of_range

MOST = 20_000_000  # combinations of labels that are held
PENDING = 1 << 20  # combinations of several blocks that are held before they are compared
DENSE = 1 << 27  # combinations of codes up to which a table of all of them is worth its memory
ROW = "row {row} under the header"


class TableCells(NamedTuple):
    """The cells of a long table: `template` holds its timings with one repetition of the lowest level and stand-in values."""

    rows: Rows
    combinations: "Combinations"
    template: xr.Dataset
    numbers: Integers  # (combinations,) the cell of each
    ranks: Integers  # position of each label of the lowest level
    names: dict[
        str, xr.Variable
    ]  # the coordinate of these labels, where they are more than positions
    factors: dict[str, float]  # from the numbers of each variable's column to its units
    columns: dict[str, str]  # the column of each variable

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the values, the lowest level last."""
        return tuple(map(str, self.template[next(iter(self.factors))].dims))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of these dims."""
        return (*self.template[next(iter(self.factors))].shape[:-1], len(self.ranks))

    @property
    def label_columns(self) -> list[str]:
        """The columns that say where a row belongs."""
        lowest = self.combinations.lowest
        return [*self.combinations.columns, *([lowest] if lowest else [])]

    def positions(self, batch: Any) -> tuple[Integers, Integers]:
        """Return the cell of each row of a block, and its position along the lowest level."""
        combinations = self.combinations
        cells = self.numbers[
            combinations.numbers_of(combinations.codes_of(batch, combinations.columns, learn=False))
        ]
        if not combinations.lowest:
            return cells, np.zeros(batch.num_rows, dtype=np.int64)
        return cells, self.ranks[
            combinations.codes_of(batch, [combinations.lowest], learn=False)[:, 0]
        ]

    def coords(self, length: int, *, gaps: bool) -> dict[str, xr.Variable]:
        """Return the coordinates of `length` repetitions of the lowest level.

        Raise for labels that have other positions in other cells.
        """
        level, template = self.dims[-1], self.template
        coords = {
            str(name): coord.variable
            for name, coord in template.coords.items()
            if level not in coord.dims
        }
        coords[level] = xr.Variable((level,), np.arange(length))
        if level != self.combinations.lowest or level == ITERATION:
            return coords
        if gaps:
            raise self.rows.error(
                f"column {level!r} does not count from the same number in every cell, so that "
                "its labels cannot be streamed; number it "
                f"from 0 in each cell, or call it {ITERATION!r}"
            )
        return coords | self.names

    def values(self, batch: Any, name: str, first_row: int) -> Floats:
        """Return the values of a block, which begins at row `first_row` of the table, in the variable's units."""
        column = self.columns[name]
        numbers = batch.column(column).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        values: Floats = numbers * self.factors[name]
        wrong = out_of_range(values, name, str(self.template[name].attrs.get("units", "1")))
        if wrong.any():
            row = int(wrong.argmax())
            place = f"column {column!r}, {ROW.format(row=first_row + row + 1)}"
            raise self.rows.error(f"{place}, is {numbers[row]}; expected a number from 0")
        return values


def cells_of(
    rows: Rows, read: Callable[[Path], xr.Dataset], *, progress: bool | None
) -> TableCells:
    """Return the cells of a table.

    `read` reads a small table as the caller would have this one read.
    """
    unsuited = [
        name
        for name in rows.columns
        if name in (*MARKS, CENSORED_AT) or name.lower() in UNITS_OF_ROWS
    ]
    if unsuited:
        raise rows.error(
            f"column {listed(unsuited)} cannot be streamed; leave it out, or read the table in "
            "parts that fit into memory"
        )
    check_columns(rows.error, rows.columns)
    lowest = next((name for name in reversed(LEVELS) if name in rows.columns), None)
    labels = [name for name in rows.columns if name not in (*rows.values, lowest)]
    combinations = Combinations(rows, labels, lowest)
    with progress_bar(1, "labels", "pass", show=progress) or nullcontext():
        for batch in rows.blocks([*labels, *([lowest] if lowest else [])]):
            combinations.add(batch)
    _check_roles(rows, combinations)
    return _placed(rows, combinations, read)


class Combinations:
    """The distinct combinations of some columns by first appearance, and the labels of the lowest level."""

    def __init__(self, rows: Rows, columns: list[str], lowest: str | None) -> None:
        self.rows, self.columns, self.lowest = rows, columns, lowest
        self.labels: dict[str, dict[Any, int]] = {
            name: {} for name in (*columns, *([lowest] if lowest else []))
        }
        self.types: dict[str, Any] = {}
        self.blocks: list[
            pd.DataFrame
        ] = []  # the codes of combinations, first those that are known to be distinct
        self.n_rows = 0

    def codes_of(self, batch: Any, names: Sequence[str], *, learn: bool) -> Integers:
        """Return the codes (rows, names) of the labels of a block.

        New ones are added while they are learned.
        """
        columns = []
        for name in names:
            encoded, known = (
                batch.column(name).dictionary_encode(null_encoding="encode"),
                self.labels[name],
            )
            if (
                str(self.types.get(name, "null")) == "null"
            ):  # a block of missing labels does not say of which type they are
                self.types[name] = encoded.dictionary.type
            values = [*map(_label, encoded.dictionary.to_pylist())]
            if learn:
                for value in values:
                    known.setdefault(value, len(known))
            elif unknown := [value for value in values if value not in known]:
                raise self.rows.error(
                    f"column {name!r} holds {unknown[0]!r}, which was not there when its "
                    "labels were read; read it again"
                )
            table = np.array([known[value] for value in values] or [0], dtype=np.int64)
            columns.append(table[encoded.indices.to_numpy()])
        return (
            np.stack(columns, axis=1) if columns else np.zeros((batch.num_rows, 0), dtype=np.int64)
        )

    def add(self, batch: Any) -> None:
        """Learn the combinations of a block."""
        self.n_rows += batch.num_rows
        codes = self.codes_of(batch, self.columns, learn=True)
        if self.lowest:
            self.codes_of(batch, [self.lowest], learn=True)
        self.blocks.append(
            pd.DataFrame((codes if self.columns else codes[:1]).astype(np.int32)).drop_duplicates()
        )
        if sum(map(len, self.blocks)) > max(2 * len(self.blocks[0]), PENDING):
            self.blocks = [self._distinct()]
        if len(self.blocks[0]) > MOST or any(len(known) > MOST for known in self.labels.values()):
            most = max(self.labels, key=lambda name: len(self.labels[name]))
            raise self.rows.error(
                f"has more than {MOST} combinations of labels, most of them in column "
                f"{most!r}: a column that differs row by row cannot be "
                "streamed; leave it out"
            )

    def _distinct(self) -> pd.DataFrame:
        frame = pd.concat(self.blocks, ignore_index=True)
        return frame.drop_duplicates(ignore_index=True) if len(frame.columns) else frame.iloc[:1]

    @cached_property
    def codes(self) -> Integers:
        """The codes of all combinations, (combinations, columns), once all blocks were added."""
        codes, self.blocks = self._distinct().to_numpy(dtype=np.int64), []
        return codes

    def table(self) -> Any:
        """Return the combinations as an Arrow table."""
        pyarrow = import_module("pyarrow")
        codes, arrays = self.codes, {}
        for position, name in enumerate(self.columns):
            arrays[name] = pyarrow.array(list(self.labels[name]), type=self.types[name]).take(
                pyarrow.array(codes[:, position])
            )
        return pyarrow.table(arrays)

    def numbers_of(self, codes: Integers) -> Integers:
        """Return the number of each row's combination."""
        return self._table[self._joint(codes, self._steps)]

    @cached_property
    def _steps(self) -> list[tuple[int, Integers | None]]:
        """How codes become one: the number of labels of each column, and the joint codes that occur where there may be too many."""
        steps: list[tuple[int, Integers | None]] = []
        count = 1
        for column, name in enumerate(self.columns):
            width, distinct = len(self.labels[name]), None
            count *= width
            if count > DENSE:
                distinct = np.unique(
                    self._joint(self.codes[:, : column + 1], [*steps, (width, None)])
                )
                count = len(distinct)
            steps.append((width, distinct))
        return steps

    @cached_property
    def _table(self) -> Integers:
        """The number of the combination with each joint code."""
        joint = self._joint(self.codes, self._steps)
        table = np.zeros(joint.max(initial=0) + 1, dtype=np.int64)
        table[joint] = np.arange(len(joint))
        return table

    def _joint(self, codes: Integers, steps: Sequence[tuple[int, Integers | None]]) -> Integers:
        joint = np.zeros(len(codes), dtype=np.int64)
        for column, (width, distinct) in zip(codes.T, steps, strict=True):
            joint = joint * width + column
            joint = joint if distinct is None else np.searchsorted(distinct, joint)
        return joint

    def ranks(self) -> Integers:
        """Return the position of each label of the lowest level: numbers by value, texts by first appearance."""
        if not self.lowest:
            return np.zeros(1, dtype=np.int64)
        labels = pd.Series(list(self.labels[self.lowest]))
        if labels.isna().any() or (labels == "").any():
            raise self.rows.error(
                f"column {self.lowest!r} names repetitions but is empty in some rows"
            )
        numbers = pd.to_numeric(labels, errors="coerce")
        order = (
            np.arange(len(labels))
            if numbers.isna().any()
            else np.argsort(numbers.to_numpy(), kind="stable")
        )
        return np.argsort(order).astype(np.int64)


def _placed(
    rows: Rows, combinations: Combinations, read: Callable[[Path], xr.Dataset]
) -> TableCells:
    """Read the combinations as a small table, with their numbers as values: where these are read to are the cells."""
    table, number, lowest = combinations.table(), len(combinations.codes), combinations.lowest
    pyarrow, names = import_module("pyarrow"), dict[str, xr.Variable]()
    if lowest:
        names = _names_of_units(rows, combinations, read, table)
        table = table.append_column(lowest, pyarrow.array(np.zeros(number, dtype=np.int64)))
    template = _read_small(rows, read, table)
    arrays = {str(name): template[name] for name in template.data_vars}
    factors = {name: float(array.min()) for name, array in arrays.items()}
    first = next(iter(arrays))
    stand_ins = np.rint(arrays[first].values.ravel() / factors[first])
    cells = np.empty(number, dtype=np.int64)
    measured = np.flatnonzero(~np.isnan(stand_ins))
    cells[stand_ins[measured].astype(np.int64) - 1] = measured
    return TableCells(
        rows,
        combinations,
        template,
        cells,
        combinations.ranks(),
        names,
        factors=factors,
        columns=_columns_of_metrics(rows, [*factors]),
    )


def _names_of_units(
    rows: Rows, combinations: Combinations, read: Callable[[Path], xr.Dataset], table: Any
) -> dict[str, xr.Variable]:
    """Return the coordinate that a small table would have of the labels of the lowest level, if it has one."""
    pyarrow, lowest = import_module("pyarrow"), str(combinations.lowest)
    labels = pyarrow.array(list(combinations.labels[lowest]), type=combinations.types[lowest])
    first = table.take(pyarrow.array(np.zeros(len(labels), dtype=np.int64)))
    with set_options(
        max_file_bytes=max(options().max_file_bytes, READ_AT_ONCE)
    ):  # a table of our own
        times = _read_small(rows, read, first.append_column(lowest, labels))
    return {
        name: times.coords[name].variable for name in (label_name(lowest),) if name in times.coords
    }


def _read_small(rows: Rows, read: Callable[[Path], xr.Dataset], table: Any) -> xr.Dataset:
    """Write some labels with stand-in values as the table is stored, and read them."""
    for value in rows.values:
        table = table.append_column(
            value, import_module("pyarrow").array(np.arange(1.0, len(table) + 1))
        )
    with TemporaryDirectory() as folder:
        place = file = Path(folder) / rows.place.name
        if rows.place.is_dir():
            place.mkdir()
            file = place / "part-0.parquet"
        rows.write(table.select(rows.columns), file)
        try:
            return read(place).load()
        except ValueError as error:
            raise rows.error(str(error).replace(f"{file}: ", "")) from None


def _check_roles(rows: Rows, combinations: Combinations) -> None:
    """Raise for columns whose role depends on how often labels occur: the combinations do not hold it, and streaming must not guess."""
    codes = dict(zip(combinations.columns, combinations.codes.T, strict=True))
    compared = [codes[name] for name in codes if name in COMPARED]
    histories = [name for name in codes if name in HISTORY]
    undecided = [
        name
        for name in codes
        if name not in (*COMPARED, *HISTORY, *LEVELS)
        and not any(
            depends_only_on(codes[name], dims)
            for dims in (compared, *([codes[history]] for history in histories))
        )
    ]
    if (
        combinations.n_rows == len(combinations.codes)
        and len(combinations.labels.get(combinations.lowest or "", ())) > 1
    ):
        undecided += [
            name for name in histories if not depends_only_on(codes[name], compared)
        ]  # perhaps one label a repetition
    if undecided:
        raise rows.error(
            f"column {listed(undecided)} cannot be streamed: no usual dim determines it, and "
            "its labels alone do not tell its role. "
            "Rename it like a dim ('version', ...), or leave it out"
        )


def _label(value: Any) -> Any:
    """Return a label without the blanks around it, None for a missing one."""
    value = value.strip() if isinstance(value, str) else value
    return None if value == "" or value != value else value  # no NaN equals another


def _columns_of_metrics(rows: Rows, metrics: list[str]) -> dict[str, str]:
    """Return the column of each variable, which may be in another order than the columns."""
    columns = {}
    for column in rows.values:
        measured = value_column(column)
        names = [*([measured[0]] if measured else []), name_and_unit(column)[0], column]
        columns[next((name for name in names if name in metrics), column)] = column
    if columns.keys() != set(metrics):
        raise rows.error(
            f"has columns of values {listed(rows.values)}, which are read as "
            f"{listed(metrics)}; name them so"
        )
    return columns


class Present:
    """Which repetitions of each cell the rows hold, a bit each."""

    def __init__(self, cells: TableCells) -> None:
        *outer, self.depth = cells.shape
        self.rows = cells.rows
        self.bits: npt.NDArray[np.uint8] = np.zeros(
            (int(np.prod(outer)), -(-self.depth // 8)), dtype=np.uint8
        )

    def add(self, cell: Integers, rank: Integers, first_row: int) -> None:
        """Add the repetitions of a block; raise where one occurs a second time."""
        width = self.bits.shape[1]
        place, bit = cell * width + (rank >> 3), (1 << (rank & 7)).astype(np.uint8)
        flat = self.bits.reshape(-1)
        repeated = (flat[place] & bit) > 0
        if not repeated.any():
            repeated = pd.Series(cell * (8 * width) + rank).duplicated().to_numpy()
        if repeated.any():
            row = first_row + int(repeated.argmax()) + 1
            raise self.rows.error(
                f"{ROW.format(row=row)} repeats a measurement; name the column that tells them "
                "apart as a dim or a level"
            )
        np.bitwise_or.at(flat, place, bit)

    def close_gaps(self, arrays: Sequence[Floats]) -> tuple[int, bool]:
        """Number repetitions from 0 inside their parent.

        Return the largest number, and whether there were gaps.
        """
        longest, gaps, step = 0, False, max(1, (1 << 22) // self.depth)
        for start in range(0, len(self.bits), step):
            present = np.unpackbits(
                self.bits[start : start + step], axis=1, count=self.depth, bitorder="little"
            ).astype(bool)
            longest = max(longest, int(present.sum(axis=1).max(initial=0)))
            gaps |= close_gaps(
                present, [array.reshape(-1, self.depth)[start : start + step] for array in arrays]
            )
        return longest, gaps


def close_gaps(present: Mask, blocks: Sequence[Floats]) -> bool:
    """Move what is present to the beginning of each row of the blocks, in place.

    Return whether anything else stood before it.
    """
    uneven = np.flatnonzero((present[:, 1:] & ~present[:, :-1]).any(axis=1))
    if len(uneven):
        order = np.argsort(~present[uneven], axis=1, kind="stable")
        for block in blocks:
            block[uneven] = np.take_along_axis(block[uneven], order, axis=1)
    return len(uneven) > 0

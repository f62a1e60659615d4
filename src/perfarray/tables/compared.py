"""Which columns of a table are dims, where nobody named them.

They are texts, then numbers that cut the combinations of these into equal cells.

One decision for every way in: pandas, Arrow, CSV, Parquet. Columns that are no dims stay beside the
values. Nothing is pooled without a word.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd

from perfarray.conventions import HISTORY
from perfarray.numerics.types import Integers, Mask
from perfarray.tables.cells import ColumnCells, cut_into_cells
from perfarray.tables.columns import Column, are_distinct, codes_of, joint_codes
from perfarray.tables.number_texts import parse_numbers
from perfarray.tables.roles import are_whole, depends_only_on
from perfarray.timings.dates import dates_of
from perfarray.timings.notes import Note
from perfarray.timings.quantities import (
    is_benchmark,
    is_counter,
    is_measured,
    is_remark,
    is_setting,
)
from perfarray.timings.validation import listed

# Share of rows in which a label may be blank: a broken row among many does not make remarks of
# labels
MAX_BLANK = 0.01

# Labels from which 0, 1, 2 look like a numbering of repetitions rather than a setting with two
# values
MIN_NUMBERING = 3

# Distinct decimals that may be the labels of a setting, as .5, .7 and .9 are
MAX_DECIMAL_LABELS = 20


class UnnamedRepetitionsError(ValueError):
    """A column looks like a numbering of repetitions, and nobody named it.

    `proposed_dims` makes it one.
    """

    def __init__(self, name: str, level: str) -> None:
        super().__init__(
            f"column {name!r} looks like a numbering of repetitions. Say so with "
            f"{level}={name!r} ({_option(level, name)}), or make it a "
            f"dim with {name}={name!r} ({_option(name, name)})"
        )
        self.proposed_dims = {level: name}


class ColumnRoles(NamedTuple):
    """What becomes of the columns that nobody named."""

    dims: list[str]  # in the order of the table
    varying: list[str]  # columns that vary inside cells and stay beside the values
    doubtful: list[str]  # those of both kinds that people should look at
    numberings: list[str]  # dims whose labels are 0, 1, 2 or 1, 2, 3


def column_roles(
    columns: Mapping[str, pd.Series],
    labels: Mapping[str, Column],
    repetitions: Mapping[str, pd.Series],
    level: str,
) -> ColumnRoles:
    """Decide which columns become dims.

    The others describe dims or repetitions, or vary beside the values.

    Parameters
    ----------
    columns : mapping of Series
        Columns that nobody named.
    labels : mapping of Column
        The dims that have been named.
    repetitions : mapping of Series
        The levels that have been named, outermost first.
    level : str
        The level that rows are numbered along where no column tells repetitions apart.

    Raises
    ------
    ValueError
        For a column that looks like a numbering of repetitions, and for one whose role cannot be
        decided while runs of unlike settings would be pooled without it. The message gives both
        ways to name it.
    """
    if not columns:
        return ColumnRoles([], [], [], [])
    decision = _Decision(columns, labels, repetitions, level)
    texts = [name for name in columns if not _is_quantity(columns[name]) or name in HISTORY]
    free_texts = _free_texts(decision, texts)
    # The finest column comes first, so that what it determines (a commit its date) becomes its
    # coordinate and not a further dim.
    for name in sorted(texts, key=lambda name: (-decision.n_labels(name), name not in HISTORY)):
        if decision.describes(name, quantity=False):
            continue
        if name in free_texts:
            # A remark on a run that the table numbers is in no doubt.
            decision.stays_beside(name, doubtful=not decision.describes(name, quantity=True))
        else:
            decision.becomes_dim(name)
    numbers = [name for name in columns if name not in texts]
    numberings = {name for name in numbers if is_counter(name) or decision.is_numbering(name)}
    for name in sorted(
        numbers,
        key=lambda name: (name in numberings, not is_setting(name), -decision.n_labels(name)),
    ):
        _decide_number(decision, name)
    in_order = [name for name in columns if name in decision.dims]
    return ColumnRoles(
        in_order,
        [name for name in columns if name in decision.varying],
        decision.doubtful,
        [*filter(decision.is_numbering, in_order)],
    )


class _Decision:
    """The roles decided so far, and the codes of columns, dims and repetitions."""

    def __init__(
        self,
        columns: Mapping[str, pd.Series],
        labels: Mapping[str, Column],
        repetitions: Mapping[str, pd.Series],
        level: str,
    ) -> None:
        self.columns, self.level = columns, level
        self.codes = {name: codes_of(series) for name, series in columns.items()}
        self.nest = [codes_of(series) for series in repetitions.values()]
        self.named = [column.codes for column in labels.values()]
        self.dims: dict[str, Integers] = {}
        self.varying: list[str] = []
        self.doubtful: list[str] = []

    def n_labels(self, name: str) -> int:
        """Return the number of distinct labels of a column."""
        return int(self.codes[name].max(initial=-1)) + 1

    def becomes_dim(self, name: str, *, doubtful: bool = False) -> None:
        """Make a column a dim."""
        self.dims[name] = self.codes[name]
        self.doubtful += [name] if doubtful else []

    def stays_beside(self, name: str, *, doubtful: bool = False) -> None:
        """Leave a column beside the values."""
        self.varying.append(name)
        self.doubtful += [name] if doubtful else []

    def describes(self, name: str, *, quantity: bool) -> bool:
        """Return whether dims determine a column, or the repetitions of a level do.

        By repetitions it is a quantity, or a text that differs between them.
        """
        codes, dims = self.codes[name], [*self.named, *self.dims.values()]
        if depends_only_on(codes, dims):
            return True
        for depth in range(1, len(self.nest) + 1):
            units = [*dims, *self.nest[:depth]]
            if depends_only_on(codes, units):
                return quantity or _n_combinations([*units[:-1], codes]) == _n_combinations(units)
        return False

    def cells(
        self, name: str, other_codes: Sequence[Integers], *, units: bool = True
    ) -> ColumnCells:
        """Return the cells that a column cuts the combinations of other columns into.

        Runs are units of the outermost named level. They are rows where no level is named, and
        where labels are thrown on the rows of units: nearly all units would have each of these
        labels.
        """
        cells = cut_into_cells(self.codes[name], other_codes)
        if not (self.nest and units):
            return cells
        in_units = cut_into_cells(self.codes[name], [*other_codes, self.nest[0]])
        if len(in_units.cut().runs) and not in_units.are_designed:
            return cells
        return cut_into_cells(self.codes[name], other_codes, self.nest[0])

    def may_group(self, name: str) -> bool:
        """Return whether a column may cut runs into groups.

        Its labels are not measured, and recur, or there are runs enough to cross them.
        """
        series = self.columns[name]
        if 2 * self.n_labels(name) > len(series) and self.named:
            n_combinations = len(pd.unique(joint_codes(self.named)[0]))
            if self.n_labels(name) * n_combinations > 2 * len(series):
                return False
        return not _is_quantity(series) or (
            pd.api.types.is_numeric_dtype(series) and not is_measured(name) and _are_whole(series)
        )

    def is_numbering(self, name: str) -> bool:
        """Return whether the labels of a column are consecutive whole numbers from 0 or 1."""
        series = self.columns[name]
        if (
            name in HISTORY
            or is_setting(name)
            or not pd.api.types.is_numeric_dtype(series)
            or pd.api.types.is_bool_dtype(series)
        ):
            return False
        numbers = np.unique(series.dropna().to_numpy(dtype=float))
        return (
            len(numbers) >= MIN_NUMBERING
            and numbers[0] in (0, 1)
            and bool((np.diff(numbers) == 1).all())
        )


def _free_texts(decision: _Decision, texts: Sequence[str]) -> set[str]:
    """Return the texts that are remarks: blank in some rows, or in cells of unequal runs.

    The combinations are those of the named dims, with and without the other columns that cut these
    equally. Lost runs make no remark of a label. Where no label holds half of the rows, as the
    usual remark would, unequal cells may be an unbalanced experiment: that is asked. The names of
    benchmarks are no remarks.
    """
    candidates = [name for name in texts if name not in HISTORY and not is_benchmark(name)]
    free = {name for name in candidates if decision.columns[name].isna().mean() > MAX_BLANK}
    # Labels that are thrown on runs would cut the cells of a design at random, and make remarks of
    # its labels.
    grouping = {
        name: decision.cells(name, decision.named)
        for name in decision.columns
        if name not in free and decision.may_group(name)
    }
    recurring = [
        name
        for name, cells in grouping.items()
        if 2 * len(cells.runs) <= len(decision.columns[name])
    ]
    # Any labels are crossed with a single combination.
    designed = [
        name
        for name, cells in grouping.items()
        if cells.are_designed and (cells.n_combinations > 1 or name in recurring)
    ]
    for name in candidates:
        other_codes = [
            *decision.named,
            *(
                decision.codes[column_name]
                for column_name in designed or recurring
                if column_name != name
            ),
        ]
        # The only labels of a table are no remark.
        if name in free or not other_codes or decision.describes(name, quantity=False):
            continue
        cells, amount = decision.cells(name, other_codes), _is_amount(decision.columns[name])
        if amount and (is_measured(name) or not (cells.are_crossed and cells.are_designed)):
            free.add(name)
            continue
        # Cells of a single run show no design, unless each label has its combination.
        if cells.are_equally_cut or (
            not is_remark(name) and (name in designed or cells.are_ragged or cells.are_local)
        ):
            continue
        if not is_remark(name) and 2 * np.bincount(decision.codes[name]).max() < len(
            decision.codes[name]
        ):
            raise ValueError(_text_message(name))
        free.add(name)
    return free


def _text_message(name: str) -> str:
    """Return the message on a text that may be a label or a remark."""
    return (
        f"column {name!r} cuts the table into unequal numbers of runs, and unlike runs must "
        "not be pooled. Make it a dim with "
        f"{name}={name!r} ({_option(name, name)}); if it holds remarks, drop it or call it "
        "'comment'"
    )


def _decide_number(decision: _Decision, name: str) -> None:
    """Decide the role of a column of numbers or of moments."""
    if decision.describes(name, quantity=True):
        return
    series = decision.columns[name]
    measured, setting = is_measured(name), is_setting(name)
    if not pd.api.types.is_numeric_dtype(series) or (measured and not setting):
        decision.stays_beside(name)
        return
    integral = _are_whole(series)
    cells = decision.cells(name, [*decision.named, *decision.dims.values()])
    single_combination = cells.n_combinations == 1
    designed = cells.are_designed or decision.cells(name, decision.named).are_designed
    if integral and (
        is_counter(name) or (decision.is_numbering(name) and (designed or single_combination))
    ):
        repetitions = decision.cells(
            name, [*decision.named, *decision.dims.values(), *decision.nest], units=False
        )
        if repetitions.have_one_run:
            raise UnnamedRepetitionsError(name, decision.level)
    if integral and not measured and (setting or designed):
        decision.becomes_dim(name, doubtful=not setting)
        return
    may_be_setting = designed and cells.n_labels <= MAX_DECIMAL_LABELS
    if (single_combination or cells.mostly_recur) if integral and not measured else may_be_setting:
        raise ValueError(_undecided_message(name))
    decision.stays_beside(name)


def _undecided_message(name: str) -> str:
    """Return the message on a number that may be a setting or a measured one."""
    return (
        f"column {name!r} may be a setting or a measured number, and unlike runs must not be "
        f"pooled. Make it a dim with {name}={name!r} "
        f"({_option(name, name)}), or a measured variable with value={{..., {name!r}: "
        f"{name!r}}} ({_option(f'{name} [1]', name)})"
    )


def _option(dim: str, name: str) -> str:
    """Write how the command line is told the role of a column."""
    pair = f"{dim}={name}"
    return f"--dims {pair!r}" if " " in pair else f"--dims {pair}"


def roles_note(roles: ColumnRoles, level: str, n_copies: int = 0) -> Note | None:
    """Return the note on unnamed columns: dims, what varies, and copied rows left out."""
    dims = [name for name in roles.dims if name not in (*HISTORY, *roles.numberings)]
    if not (dims or roles.numberings or roles.varying or n_copies):
        return None
    sentences = []
    if roles.numberings:
        sentences.append(
            f"column {listed(roles.numberings)} is a dim, which is compared and never averaged. "
            f"If it numbers repetitions, rename it {level!r}, or give to_timings(..., "
            f"{level}={roles.numberings[0]!r})"
        )
    if dims:
        sentences.append(
            f"{_columns(dims)} {'is a dim' if len(dims) == 1 else 'are dims'}, although nobody "
            f"named {'it' if len(dims) == 1 else 'them'}"
        )
    if roles.varying:
        stays = (
            "varies among runs and stays" if len(roles.varying) == 1 else "vary among runs and stay"
        )
        sentences.append(
            f"{_columns(roles.varying)} {stays} beside the values: these runs are averaged"
        )
    if dims or roles.varying:
        example = (roles.doubtful or roles.varying or dims)[0]
        sentences.append(
            f"dims={{{example!r}: {example!r}}} makes a column a dim ({_option(example, example)})"
        )
    if n_copies:
        are = (
            "row is an exact copy of another and was"
            if n_copies == 1
            else "rows are exact copies of others and were"
        )
        sentences.append(f"{n_copies} {are} left out")
    return Note(
        "unclaimed_column",
        ". ".join(sentences),
        {"dims": roles.dims, "varying": roles.varying, "copies": n_copies},
        aside=not (roles.numberings or roles.doubtful or n_copies),
    )


def _columns(names: Sequence[str]) -> str:
    """Write names of columns."""
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"


def describes(
    series: pd.Series, labels: Mapping[str, Column], repetitions: Mapping[str, pd.Series]
) -> bool:
    """Return whether dims, or the repetitions of a level, determine a column."""
    return _Decision({"": series}, labels, repetitions, "").describes("", quantity=True)


def copied_rows(
    frame: pd.DataFrame,
    labels: Mapping[str, Column],
    repetitions: Mapping[str, pd.Series],
    level: str,
) -> Mask | None:
    """Return which rows copy another one, value and all.

    The others have one row for each named repetition.

    Otherwise, and where no repetition is named, equal rows are runs that took equally long. `level`
    is the one that is not named; where all are, rows that repeat a cell are refused later.
    """
    if not repetitions or level in repetitions:
        return None
    units = [codes_of(series) for series in repetitions.values()]
    cell_of_row, count = joint_codes([*(column.codes for column in labels.values()), *units])
    if are_distinct(cell_of_row, count):
        return None
    copies = frame.duplicated().to_numpy()
    remaining_cells = cell_of_row[~copies]
    return copies if copies.any() and are_distinct(remaining_cells, count) else None


def _is_amount(series: pd.Series) -> bool:
    """Return whether texts are amounts: numbers with a unit, a percent sign or a comma."""
    if pd.api.types.is_bool_dtype(series) or not all(
        isinstance(label, str) for label in series.dropna().unique()
    ):
        return False
    labels = pd.Series(series.dropna().unique(), dtype=object)
    try:
        parsed = parse_numbers(labels)
    except ValueError:  # numbers that can be read in two ways, or in several units
        return True
    return parsed is not None and bool(parsed.unit or labels.str.contains(",").any())


def _is_quantity(series: pd.Series) -> bool:
    """Return whether a column may hold measurements: numbers, or times of day."""
    if pd.api.types.is_bool_dtype(series):
        return False
    if pd.api.types.is_numeric_dtype(series) or pd.api.types.is_timedelta64_dtype(series):
        return True
    moments = series if pd.api.types.is_datetime64_any_dtype(series) else _moments(series)
    return moments is not None and bool((moments.dropna() != moments.dropna().dt.normalize()).any())


def _are_whole(series: pd.Series) -> bool:
    """Return whether all numbers of a column are whole."""
    return are_whole(series.dropna().to_numpy(dtype=float))


def _moments(series: pd.Series) -> pd.Series | None:
    """Return texts as time stamps where all are written as dates, else None."""
    if not all(isinstance(label, str) for label in series.dropna().head(3)):
        return None
    with suppress(ValueError):  # of dates that can be read in two ways
        # What is no date mostly shows among the first.
        moments = dates_of(series) if dates_of(series.dropna().head(3)).notna().all() else None
        return None if moments is None or moments.isna().any() else moments
    return None


def _n_combinations(columns: Sequence[Integers]) -> int:
    """Return the number of distinct combinations of codes."""
    return len(np.unique(joint_codes(columns)[0]))

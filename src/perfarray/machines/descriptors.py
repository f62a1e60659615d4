"""Descriptions of machines as typed columns: numbers, True and False, categories."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import UNKNOWN
from perfarray.numerics.types import Mask
from perfarray.tables.descriptions.readings import PRODUCT, READINGS, read_each, read_texts
from perfarray.tables.descriptions.software import flags

# The beginning of the names of columns of flags.
FLAG: Final = "flag "

# The end of the names of columns with texts that could not be read.
UNPARSED: Final = "_unparsed"

# The end of the name of the column with the family of a label of rows: GCC of `GCC 12.2.0`.
FAMILY: Final = "_family"

# Coordinates and dims with flags, and coordinates with the flags of each benchmark or of all.
FLAGS: Final = ("flags", "base_flags", "peak_flags", "compiler_flags", "jvm_args")
OF_BENCHMARKS: Final = ("optimization_flags", "portability_flags", "other_flags")

# The most frequent flags that become columns: further ones are in few rows, and explain little.
MAX_FLAGS: Final = 100

# Rows of a lazy descriptor in memory at once.
BLOCK: Final = 1 << 16

# A descriptor along the rows, in parts, which may be lazy.
Values = Sequence[xr.Variable]


def read_descriptors(
    coordinates: Mapping[str, Values], labels: Container[str]
) -> tuple[dict[str, Any], list[str], Counter[str]]:
    """Read descriptors, each with a value for every row.

    Those that label the rows keep their texts, and have a column of families beside.

    Return their columns, the names of those of flags, and the number of texts of each descriptor
    that could not be read.
    """
    columns: dict[str, Any] = {}
    of_flags: dict[str, Mask] = {}
    unparsed: Counter[str] = Counter()
    for name, values in coordinates.items():
        is_text = name in READINGS and values[0].dtype.kind in "OUST"
        if name not in FLAGS and not is_text and (name in labels or name in columns):
            continue
        codes, distinct = _distinct(values)  # machines are many, and descriptions few
        if name in FLAGS:
            flag_lists = [flag_list or () for flag_list in read_each(flags, distinct.tolist())]
            n_rows = np.bincount(np.arange(len(distinct))[codes]).tolist()
            number: Counter[str] = Counter()
            for flag_list, count in zip(flag_lists, n_rows, strict=True):
                number.update(dict.fromkeys(flag_list, count))
            for flag in sorted(number, key=lambda flag: (-number[flag], flag))[:MAX_FLAGS]:
                is_in = np.array([flag in flag_list for flag_list in flag_lists])
                of_flags[f"{FLAG}{flag}"] = is_in[codes]
            columns |= of_flags
        elif is_text:
            read, failed = read_texts(name, distinct.tolist())
            if name in labels and READINGS[name].columns is PRODUCT:
                read[f"{name}{FAMILY}"] = read[name]
            for key, values_read in read.items():
                if key in labels:
                    continue
                column = _typed(np.array(values_read, dtype=object))[codes]
                numbers = coordinates.get(key, ())
                if numbers and numbers[0].dtype.kind in "iuf":  # what was read fills their gaps
                    stored = np.concatenate([variable.values for variable in numbers]).astype(float)
                    is_number = isinstance(column, np.ndarray) and column.dtype.kind == "f"
                    column = np.where(np.isnan(stored), column, stored) if is_number else stored
                columns[key] = column
            if any(failed):
                columns[f"{name}{UNPARSED}"] = [failed[code] for code in codes.tolist()]
                unparsed[name] = int(np.array([bool(text) for text in failed])[codes].sum())
        else:
            columns[name] = _typed(distinct)[codes]
    return columns, list(of_flags), unparsed


def _distinct(values: Values) -> tuple[Any, npt.NDArray[Any]]:
    """Return the position of every value among the distinct ones, and these.

    Of numbers all positions, and all numbers.
    """
    if values[0].dtype.kind in "iufb":
        return slice(None), np.concatenate([variable.values for variable in values])
    code_of: dict[Any, int] = {}
    distinct, codes = [], []
    for block in (
        variable[start : start + BLOCK].values.tolist()
        for variable in values
        for start in range(0, variable.size, BLOCK)
    ):
        # Other values than texts are compared by type and repr: True is not 1, and NaN is NaN.
        keys = [value if isinstance(value, str) else (type(value), repr(value)) for value in block]
        for key, value in zip(keys, block, strict=True):
            if key not in code_of:
                code_of[key] = len(code_of)
                distinct.append(value)
        codes.append(np.array([code_of[key] for key in keys], dtype=np.int32))
    column = np.empty(len(distinct), dtype=object)
    column[:] = distinct
    return np.concatenate(codes), column


def _typed(values: npt.NDArray[Any]) -> Any:
    """Return numbers as float, complete answers as True and False, all else as categories."""
    if values.dtype.kind in "iufb":
        return values
    cells = [
        None if value is None or value == UNKNOWN or value != value else value
        for value in values.tolist()
    ]
    answers = [value for value in cells if value is not None]
    if answers and all(isinstance(value, bool) for value in answers):
        if len(answers) == len(values):
            return values.astype(bool)
        cells = [value if value is None else "yes" if value else "no" for value in cells]
    elif answers and all(isinstance(value, int | float) for value in answers):
        return np.array(cells, dtype=float)
    return pd.Categorical([UNKNOWN if value is None else str(value) for value in cells])


def with_flags(rows: xr.DataArray, row: str, across: str) -> xr.DataArray:
    """Return rows with one coordinate of all flags of their benchmarks, not several lists."""
    lists = [rows.coords[name] for name in OF_BENCHMARKS if name in rows.coords]
    # A list that is the same for all benchmarks lies along the rows alone.
    lists = [texts for texts in lists if set(texts.dims) <= {row, across}]
    if not lists or FLAGS[0] in rows.coords or FLAGS[0] in rows.dims:
        return rows
    texts_by_row = [
        texts.variable.set_dims({row: rows.sizes[row], across: rows.sizes[across]}).values
        for texts in lists
    ]
    joined = [
        " ".join(str(text) for text in row_texts if str(text).startswith(("-", "/")))
        for row_texts in np.concatenate(texts_by_row, axis=1)
    ]
    rows = rows.drop_vars([texts.name for texts in lists])
    return rows.assign_coords(
        {FLAGS[0]: (row, np.array([text or UNKNOWN for text in joined], dtype=object))}
    )

"""From pandas tables and Python lists to timings, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import (
    CENSORED,
    CENSORED_AT,
    HIGHER,
    MARKS,
    SCORES,
    SECONDS,
    THROUGHPUT,
    TIME,
    seconds_factor,
)
from perfarray.tables.build import build
from perfarray.tables.columns import Metric, Table, column_of, in_seconds
from perfarray.tables.long_table import table_of
from perfarray.tables.measured import (
    check_values,
    in_one_unit,
    proposed_call,
    scaled,
    value_columns,
)
from perfarray.tables.roles import check_unit, stated_direction
from perfarray.timings.notes import add_notes
from perfarray.timings.resolve import Data, check_names
from perfarray.timings.validation import listed
from perfarray.timings.values import direction_of


@runtime_checkable
class ArrowTable(Protocol):
    """A table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a capsule."""


def to_timings(
    table: pd.DataFrame | ArrowTable,
    /,
    *,
    value: str | Mapping[str, str] | None = None,
    units: str | Mapping[str, str] = "s",
    better: str | Mapping[str, str] | None = None,
    level: str = "execution",
    shared: str | Sequence[str] | None = None,
    **dims: str,
) -> xr.Dataset:
    """Make labelled timings of a long table with one row per measurement.

    Parameters
    ----------
    table : pandas.DataFrame or Arrow table
        One row per measurement. An Arrow table is any object with the Arrow PyCapsule interface
        (pyarrow, Polars, DuckDB).
    value : str or mapping, optional
        The column with the measurements, or a mapping of metric names to columns. Default: those
        that a CSV file is read by (`time`, `time_ms`, `energy`, ...).
    units : str or mapping
        Their unit, or one per metric. Times (ns, us, ms, s, min, h) are converted to seconds. A
        `score` or `ratio` has no unit where this is `"s"`.
    better : {"lower", "higher"} or mapping, optional
        Which direction is good, or one per metric. Default: higher for rates and scores, else
        lower.
    level : str
        The level that rows are numbered along when no column tells repetitions apart.
    shared : str or sequence of str, optional
        Levels whose label is the same unit for every benchmark. Default:
        `frame.attrs["shared_levels"]`.
    **dims : str
        Dim names and the columns that hold their labels, as in `benchmark="program"`. Columns named
        like a usual dim or level are taken as such.

    Returns
    -------
    Dataset
        One variable per metric, times in seconds. Repetition labels are renumbered from 0 within
        their parent, except of shared levels; ragged runs are padded with NaN. Columns named
        `warmup`, `censored`, `failed` or `copied` become boolean coordinates. `censored_at`, the
        limit of a stopped run, has the unit of the first metric. An exit code other than 0 marks a
        failed run. Infinite values count as not measured.

    Raises
    ------
    ValueError
        Missing columns; values that are not numbers, or below 0; rows that repeat a cell; a column
        whose role cannot be decided.
    TypeError
        Anything but a table.

    Notes
    -----
    A column that no argument names becomes a dim if it cuts the rows into cells of equally many
    runs, else a coordinate or a variable. The note `unclaimed_column` lists them, and
    `threads="threads"` makes a column a dim. :doc:`/formats` has the rules.

    Examples
    --------
    >>> import pandas as pd, perfarray
    >>> rows = [("fft", 7, 10.0, "C"), ("fft", 9, 11.0, "C"), ("sort", 7, 20.0, "Go")]
    >>> frame = pd.DataFrame(rows, columns=["program", "run", "ms", "lang"])
    >>> times = frame.perf.to_timings(value="ms", units="ms", benchmark="program", execution="run")
    >>> times["time"].sel(benchmark="fft").values, times["lang"].sel(benchmark="sort").item()
    (array([0.01 , 0.011]), 'Go')
    """
    frame = _pandas(table)
    if shared is None:
        shared = str(frame.attrs.get("shared_levels", "")).split()
    flat = frame.reset_index() if any(name is not None for name in frame.index.names) else frame
    flat = flat.set_axis([_column_name(name) for name in flat.columns], axis=1)
    if not flat.columns.is_unique:
        raise ValueError(
            "the table has a column twice: "
            f"{listed(flat.columns[flat.columns.duplicated()].unique())}; rename or remove one"
        )
    for name, dtype in flat.dtypes.items():
        if hasattr(dtype, "units"):  # of pint: a silent conversion would take ms for seconds
            raise ValueError(
                f"column {name!r} holds quantities in {dtype.units}; give its numbers "
                f"(frame[{name!r}].pint.m) and units={format(dtype.units, '~')!r}"
            )
    if value is None:
        flat, value, units = _recognised(flat, units, dims)
    elif units == SECONDS:
        units = {
            name: "1" if name in SCORES else SECONDS
            for name in ([value] if isinstance(value, str) else value)
        }
    columns = table_of(
        flat, value=value, units=units, better=better, level=level, shared=shared, dims=dims
    )
    check_values(columns)
    return add_notes(build(columns), *columns.notes)


def _column_name(name: Any) -> str:
    """Return the name of a column as text; names of several levels are joined."""
    labels = name if isinstance(name, tuple) else (name,)
    return "_".join(filter(None, (str(label).strip() for label in labels)))


def _pandas(table: Any) -> pd.DataFrame:
    """Return a table as a DataFrame; Arrow tables are converted by pyarrow."""
    if isinstance(table, pd.DataFrame):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(
            f"expected a pandas DataFrame, got {type(table).__name__}; an Arrow table will do, too"
        )
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "a table that is not of pandas is read by pyarrow: pip install 'perfarray[tables]'"
        ) from None
    return cast(pd.DataFrame, pyarrow.table(table).to_pandas())


def _recognised(
    frame: pd.DataFrame, units: str | Mapping[str, str], dims: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, str], dict[str, str]]:
    """Return a table in the units of its columns, its value columns by metric, and units."""
    metadata = {"units": units} if isinstance(units, str) and units != SECONDS else {}
    try:
        frame, metadata, factors = in_one_unit(frame, metadata)
        columns = value_columns(
            (name for name in frame.columns if name not in dims.values()), metadata
        )
    except ValueError as error:
        raise ValueError(f"the table {error}; {proposed_call(frame)}") from None
    frame = scaled(frame, next(iter(columns.values()))[0], factors)
    by_metric = {metric: unit for metric, (_, unit) in columns.items()} | (
        dict(units) if isinstance(units, Mapping) else {}
    )
    return frame, {metric: column for metric, (column, _) in columns.items()}, by_metric


def from_samples(
    samples: Mapping[str, Any],
    *,
    dim: str = "version",
    level: str | Sequence[str] = "execution",
    units: str = "s",
    better: str | None = None,
) -> xr.Dataset:
    """Make timings of plain Python lists: one per label of the dim compared.

    Parameters
    ----------
    samples : mapping
        Label to a list of measurements, or to nested lists with one depth per level. Lists may
        differ in length.
    dim : str
        The dim the labels lie along.
    level : str or sequence of str
        The repetition level(s), outermost first.
    units : str
        The unit of the values; times are converted to seconds.
    better : {"lower", "higher"}, optional
        Which direction is good. Default: higher for rates such as `ops/s`, lower for all else.

    Returns
    -------
    Dataset
        A variable with dims `dim` and the levels: `time` in seconds where `units` is a unit of time
        or 1, `throughput` where it is a rate such as `ops/s`, `value` where it is anything else.

    Raises
    ------
    ValueError
        When the lists are not as deep as there are levels, or hold what is not a number, an
        infinite one, or a time that is not above 0.

    Examples
    --------
    >>> import perfarray
    >>> perfarray.from_samples({"old": [12.0, 11.0], "new": [10.0]}, units="ms")["time"].values
    array([[0.012, 0.011],
           [0.01 ,   nan]])
    """
    levels = check_names(level, "level")
    name = (
        TIME
        if units in ("1", "") or seconds_factor(units) is not None
        else THROUGHPUT
        if direction_of(units) == HIGHER
        else "value"
    )
    check_unit(name, units)
    if not isinstance(samples, Mapping) or not samples:
        raise ValueError(
            f"samples must map labels to lists of measurements, as in {{'old': [1.2, 1.3], "
            f"'new': [1.1]}}; got {samples!r}"
        )
    leaf = np.dtype([("place", np.intp, (len(levels),)), ("number", float)])
    arrays = []
    for label, nested in samples.items():
        arrays.append(np.fromiter(_leaves(nested, len(levels), f"samples[{label!r}]"), dtype=leaf))
        if not len(arrays[-1]):
            raise ValueError(f"samples[{label!r}] is empty; give at least one measurement")
    leaves, column = np.concatenate(arrays), column_of(samples)
    table = Table(
        labels={
            dim: replace(column, codes=np.repeat(column.codes, [len(array) for array in arrays]))
        },
        levels={name: leaves["place"][:, depth] for depth, name in enumerate(levels)},
        metrics={
            name: in_seconds(
                Metric(
                    values=leaves["number"].copy(),
                    units=units,
                    better=stated_direction(better, units, name),
                )
            )
        },
        metric=name,
    )
    check_values(table)
    return build(table)


def _leaves(nested: Any, depth: int, path: str) -> Any:
    """Yield the positions and numbers of nested lists of a given depth."""
    if isinstance(nested, str) or not hasattr(nested, "__len__"):
        raise ValueError(
            f"{path} is {nested!r}, where a list was expected: one depth of lists per level"
        )
    for index, item in enumerate(nested):
        if depth > 1:
            yield from (
                ((index, *path_below), number)
                for path_below, number in _leaves(item, depth - 1, f"{path}[{index}]")
            )
        else:
            try:
                if isinstance(item, timedelta | np.timedelta64):
                    raise TypeError
                yield (index,), float(item)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{path}[{index}] is {item!r}, where a number was expected"
                ) from None


def to_frame(times: Data) -> pd.DataFrame:
    """Return a long table: one row per measurement, a column per dim, coordinate and metric.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings.

    Returns
    -------
    pandas.DataFrame
        In the units of the data. Rows without any measured value are not written, but for stopped
        runs with a limit (`censored_at`); `frame.attrs` holds how many of them carried a mark
        (`n_failed`, ...).

    Examples
    --------
    >>> import perfarray
    >>> perfarray.from_samples({"old": [1.0, 2.0], "new": [3.0]}).perf.to_frame()
      version  execution  time
    0     old          0   1.0
    1     old          1   2.0
    2     new          0   3.0
    """
    dataset = (
        times.to_dataset(name=times.name or "time") if isinstance(times, xr.DataArray) else times
    )
    if not dataset.dims:
        raise ValueError("a table needs a row for every label of a dim, and there are no dims")
    frame = dataset.to_dataframe(dim_order=list(times.dims)).reset_index()
    metrics = [
        name
        for name, variable in dataset.data_vars.variables.items()
        if variable.dims and name != CENSORED_AT
    ]
    empty = frame[metrics].isna().all(axis=1)
    if CENSORED in frame and CENSORED_AT in frame:
        empty &= ~(frame[CENSORED].fillna(False).astype(bool) & frame[CENSORED_AT].notna())
    lost = {
        f"n_{mark}": int((empty & frame[mark].fillna(False).astype(bool)).sum())
        for mark in MARKS
        if mark in frame
    }
    frame = frame[~empty].reset_index(drop=True) if empty.any() else frame
    frame.attrs = {name: number for name, number in lost.items() if number}
    first = list(times.dims)
    return frame[
        [*first, *(name for name in frame if name not in first and name not in metrics), *metrics]
    ]

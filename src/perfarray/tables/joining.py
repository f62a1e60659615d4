"""Join timings of further benchmarks, machines, versions or sessions into one Dataset."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import (
    COMPARED,
    EXACT,
    EXECUTION,
    FORMAT,
    LEVELS,
    MARKS,
    METRIC,
    TIME,
    UNKNOWN,
)
from perfarray.tables.build import build
from perfarray.tables.columns import Column, Descriptor, Metric, Table, objects
from perfarray.tables.concatenation import UNSTATED, alike, join_tables
from perfarray.tables.harmonise import promoted
from perfarray.tables.roles import depends_only_on, fewest_dims, stated_direction
from perfarray.timings.marks import as_mark
from perfarray.timings.notes import NOTES, add_notes, first_of_each_code, notes
from perfarray.timings.resolve import Data, metrics_of
from perfarray.timings.validation import check_choice, listed

# Kinds of coordinates (booleans, dates) that a table holds as text, and that are converted back
AS_TEXT = "bMm"


def join(first: Data, second: Data, /, *others: Data, along: str | None = None) -> xr.Dataset:
    """Join timings of further benchmarks, machines, versions or sessions into one Dataset.

    Parameters
    ----------
    first, second, *others : DataArray or Dataset
        Timings. A label that tells them apart may be a coordinate without a dim,
        `times.assign_coords(version="new")`.
    along : {"binary", "session", "execution", "iteration"}, optional
        The level along which repetitions go on from one to the next. Default: no cell may be
        measured in several.

    Returns
    -------
    Dataset
        Over the labels of all, in order of first appearance; NaN where nothing was measured.
        Repetitions along `along` are renumbered from 0; other levels keep their labels. Descriptors
        lie on the dims they vary over; what one of the timings does not say is `"unknown"`.

    Raises
    ------
    ValueError
        A cell that was measured in several of them, without `along`; a dim that one has and another
        lacks; a metric that differs in unit or direction.

    Notes
    -----
    Works in memory, at the price of one row of numbers per measured value.

    Examples
    --------
    >>> import perfarray
    >>> monday = perfarray.from_samples({"old": [1.0, 2.0], "new": [3.0]})
    >>> tuesday = perfarray.from_samples({"old": [1.5], "new": [2.5, 2.0]})
    >>> perfarray.join(monday, tuesday, along="session").sizes
    Frozen({'version': 2, 'session': 2, 'execution': 2})
    >>> server = monday.assign_coords(machine="server")
    >>> perfarray.join(server, tuesday.assign_coords(machine="laptop"))["machine"].values.tolist()
    ['server', 'laptop']
    """
    if along is not None:
        check_choice(along, "along", LEVELS)
    datasets = [_as_dataset(times) for times in (first, second, *others)]
    _check_metrics(datasets)
    labels = {level: _labels_along(level, datasets) for level in LEVELS if level != along}
    repeated = {
        str(name)
        for times in datasets
        for name, coordinate in times.coords.items()
        if {*coordinate.dims} & {*LEVELS}
    }
    tables = _with_dims([table_of_array(times, labels, repeated) for times in datasets])
    joined = join_tables(tables, [{}] * len(tables), [{}] * len(tables))
    if along is not None:
        lengths = [times.sizes.get(along, 1) for times in datasets]
        starts = np.repeat(np.cumsum([0, *lengths[:-1]]), [len(table) for table in tables])
        positions = joined.levels.get(along, np.zeros(len(joined), dtype=np.intp))
        joined = replace(joined, levels=joined.levels | {along: positions + starts})
        labels[along] = np.arange(sum(lengths))
    _refuse_repeats(joined, tables)
    result = build(
        replace(
            joined,
            columns={
                name: (_dims_of(name, values, joined, datasets), values)
                for name, (_, values) in joined.columns.items()
            },
        )
    )
    for name in result.data_vars:
        narrow = [
            dim
            for dim in LEVELS
            if dim != along
            and not any(dim in times[name].dims for times in datasets if name in times)
        ]
        result[name] = result[name].isel(
            {dim: 0 for dim in narrow if dim in result.dims}, drop=True
        )
    result = result.assign_coords(
        {
            level: positions[: result.sizes[level]]
            for level, positions in labels.items()
            if level in result.dims
        }
    )
    return add_notes(
        _as_given(result, datasets),
        *first_of_each_code([note for times in datasets for note in notes(times)]),
    )


def _as_dataset(times: Data) -> xr.Dataset:
    """Return timings as a Dataset whose variables are all measurements."""
    if isinstance(times, xr.DataArray):
        times = times.to_dataset(name=times.name or TIME)
    if not isinstance(times, xr.Dataset):
        raise TypeError(
            f"expected timings (a DataArray or a Dataset), got {type(times).__name__}; "
            "to_timings makes them of a pandas table"
        )
    metrics = metrics_of(times) or [
        str(name) for name, variable in times.data_vars.items() if variable.dtype.kind in "iuf"
    ]
    unusable = {
        str(name): variable.dtype
        for name, variable in times.data_vars.items()
        if variable.dtype.kind not in "iuf"
    }
    if not any(times[name].dims for name in metrics):
        contents = (
            f"it holds {listed(f'{name} ({dtype})' for name, dtype in unusable.items())}"
            if unusable
            else "it has no values along a dim"
        )
        raise ValueError(
            f"no measurements to join: {contents}; timings are numbers along a dim such as "
            f"{EXECUTION!r}"
        )
    return times.set_coords([name for name in times.data_vars if name not in metrics])


def _check_metrics(datasets: Sequence[xr.Dataset]) -> None:
    """Raise where a metric differs in unit or direction."""
    for name in dict.fromkeys(name for times in datasets for name in times.data_vars):
        meanings = {_meaning(times[name]) for times in datasets if name in times.data_vars}
        if len(meanings) > 1:
            different = listed(
                sorted(f"{units}, {better or 'neither'} is better" for units, better in meanings)
            )
            raise ValueError(
                f"{name!r} differs in unit or direction ({different}); convert some of the timings"
            )


def _meaning(array: xr.DataArray) -> tuple[str, str | None]:
    """Return the unit of a metric and which direction is good; None where nothing says it."""
    units = str(array.attrs.get("units", "1"))
    return units, stated_direction(array.attrs.get("better"), units, str(array.name))


def _labels_along(level: str, datasets: Sequence[xr.Dataset]) -> npt.NDArray[Any]:
    """Return the sorted labels of the repetitions along a level in all timings."""
    labels = [times[level].values for times in datasets if level in times.dims]
    if len({values.dtype.kind in "iuf" or values.dtype.kind for values in labels}) > 1:
        raise ValueError(
            f"the labels along {level!r} are of several kinds: "
            f"{listed(str(values[0]) for values in labels)}; number them alike"
        )
    return np.unique(np.concatenate(labels)) if labels else np.arange(1)


def table_of_array(
    times: xr.Dataset, level_labels: Mapping[str, npt.NDArray[Any]], per_row: Collection[str] = ()
) -> Table:
    """Return the columns of a labelled array: one row for each cell with a measurement or a mark.

    Parameters
    ----------
    times : Dataset
        Its variables are metrics.
    level_labels : mapping
        Of each level, the labels by which its positions are counted; of others they are counted
        from 0.
    per_row : collection of str
        Coordinates that are columns even where they do not depend on a level.
    """
    dims = [str(dim) for dim in times.dims]
    marks = {mark: as_mark(times.coords[mark]).variable for mark in MARKS if mark in times.coords}
    filled = np.zeros([times.sizes[dim] for dim in dims], dtype=bool)
    for variable in (
        *(array.variable.notnull() for array in times.data_vars.values()),
        *marks.values(),
    ):
        filled |= variable.set_dims(dims, filled.shape).transpose(*dims).values
    indices = dict(zip(dims, np.nonzero(filled), strict=True))
    labels = {dim: _plain(times[dim].values) for dim in dims if dim not in LEVELS}
    descriptors_by_name = {
        str(name): c.variable for name, c in times.coords.items() if name not in (*dims, *MARKS)
    }
    return Table(
        labels={dim: Column(codes=indices[dim], labels=values) for dim, values in labels.items()},
        levels={
            dim: np.searchsorted(level_labels[dim], times[dim].values)[indices[dim]]
            if dim in level_labels
            else indices[dim]
            for dim in dims
            if dim in LEVELS
        },
        metrics={str(name): _metric(array, indices) for name, array in times.data_vars.items()},
        metric=str(times.attrs.get(METRIC, "")),
        marks={mark: _at(variable, indices) for mark, variable in marks.items()},
        columns={
            name: (tuple(dims), _numbers_or_texts(_at(values, indices)))
            for name, values in descriptors_by_name.items()
            if name in per_row
        },
        descriptors={
            name: _descriptor(values, labels)
            for name, values in descriptors_by_name.items()
            if name not in per_row
        },
        format=str(times.attrs.get(FORMAT, "")),
        attrs={
            str(name): value
            for name, value in times.attrs.items()
            if name not in (METRIC, FORMAT, NOTES)
        },
    )


def _metric(array: xr.DataArray, indices: Mapping[str, npt.NDArray[Any]]) -> Metric:
    """Return a metric by row; the value of a whole repetition stands in the first row inside it."""
    units, better = _meaning(array)
    values = _at(array.variable, indices).astype(float)
    for dim, codes in indices.items():
        if dim in LEVELS and dim not in array.dims:
            values[codes > 0] = np.nan
    return Metric(values=values, units=units, better=better, exact=bool(array.attrs.get(EXACT)))


def _at(variable: xr.Variable, indices: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the values of a variable in the rows of a table."""
    rows = len(next(iter(indices.values()), ()))
    return (
        variable.values[tuple(indices[str(dim)] for dim in variable.dims)]
        if variable.dims
        else np.full(rows, variable.values)
    )


def _numbers_or_texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as they are, all else as objects."""
    return values if values.dtype.kind in "iuf" else objects(_plain(values))


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    """Return values as Python objects; booleans and dates as text."""
    return (
        [str(value) for value in values.ravel()]
        if values.dtype.kind in AS_TEXT
        else values.ravel().tolist()
    )


def _descriptor(variable: xr.Variable, labels: Mapping[str, list[Any]]) -> Descriptor:
    """Return a coordinate as a descriptor; None for unknown values."""
    dims = tuple(str(dim) for dim in variable.dims)
    values = [
        None if pd.isna(value) or value in (UNKNOWN, "NaT") else value
        for value in _plain(variable.values)
    ]
    return Descriptor(
        dims=dims, values=dict(zip(product(*(labels[dim] for dim in dims)), values, strict=True))
    )


def _with_dims(tables: Sequence[Table]) -> list[Table]:
    """Return the tables with the same dims, and with the labels that distinguish them as dims."""
    telling = [name for name in _telling(tables) if name in COMPARED]
    dims = dict.fromkeys([*(name for table in tables for name in table.labels), *telling])
    full = [promoted(table, dims) for table in tables]
    for number, table in enumerate(full, 1):
        missing = [name for name in dims if name not in table.labels]
        if missing:
            remedy = f"assign_coords({missing[0]}=...) gives it one"
            raise ValueError(
                f"number {number} of the timings has no {listed(missing)}, and others do: {remedy}"
            )
    return full


def _dims_of(
    name: str, values: npt.NDArray[Any], joined: Table, datasets: Sequence[xr.Dataset]
) -> tuple[str, ...]:
    """Return the dims of a coordinate of repetitions: its former ones, or the fewest it needs."""
    had = {dim for times in datasets if name in times.coords for dim in times.coords[name].dims}
    codes = {dim: column.codes for dim, column in joined.labels.items()} | joined.levels
    dims = tuple(dim for dim in codes if dim in had)
    are_sufficient = depends_only_on(
        pd.factorize(values, use_na_sentinel=False)[0], [codes[dim] for dim in dims]
    )
    return dims if are_sufficient else fewest_dims(values, joined.labels, joined.levels)


def _telling(tables: Sequence[Table]) -> list[str]:
    """Return the names of descriptors of whole tables that differ between these."""
    names = [
        name
        for name in tables[0].descriptors
        if all(table.descriptors.get(name, UNSTATED).dims == () for table in tables)
    ]
    return [
        name
        for name in names
        if len({table.descriptors.get(name, UNSTATED).values[()] for table in tables} - {None}) > 1
    ]


def _refuse_repeats(joined: Table, tables: Sequence[Table]) -> None:
    """Raise where a cell was measured in several timings.

    The message names what may distinguish them.
    """
    codes = pd.DataFrame(
        {name: column.codes for name, column in joined.labels.items()} | joined.levels
    )
    repeats = codes.duplicated().to_numpy()
    if not repeats.any():
        return
    row = int(repeats.argmax())
    cell = joined.place(row)
    telling = _telling(tables)
    hint = f" (they differ in {listed(telling)})" if telling else ""
    raise ValueError(
        f"{int(repeats.sum())} cells were measured in several of the timings. The first is "
        f'{cell}. If these are repetitions, name their level: along="session" or another. Else '
        f"give each a label: assign_coords(version=...){hint}"
    )


def _as_given(result: xr.Dataset, datasets: Sequence[xr.Dataset]) -> xr.Dataset:
    """Return the joined Dataset with the types and attrs of the given variables."""
    for name in {
        name: None for times in datasets for name in times.variables if name in result.variables
    }:
        variables = [times.variables[name] for times in datasets if name in times.variables]
        kinds = {variable.dtype.kind for variable in variables}
        if len(kinds) == 1 and kinds <= {*AS_TEXT} and name not in MARKS:
            result[name] = _typed(result.variables[name], variables[0].dtype)
        common_attrs = _alike([variable.attrs for variable in variables])
        result[name].attrs = {
            key: value
            for key, value in result[name].attrs.items()
            if any(key in v.attrs for v in variables)
        } | common_attrs
    return result


def _typed(variable: xr.Variable, dtype: np.dtype[Any]) -> xr.Variable:
    """Return texts converted back to their type: unknown dates are NaT.

    Booleans stay text where one is unknown.
    """
    texts = variable.values
    if dtype.kind == "b":
        return variable if (texts == UNKNOWN).any() else variable.copy(data=texts == "True")
    return variable.copy(data=np.where(texts == UNKNOWN, "NaT", texts).astype(str).astype(dtype))


def _alike(attrs: Sequence[Mapping[Any, Hashable]]) -> dict[Any, Hashable]:
    """Return the attrs that are equal in all."""
    return {
        name: value
        for name, value in attrs[0].items()
        if alike([mapping.get(name) for mapping in attrs])
    }

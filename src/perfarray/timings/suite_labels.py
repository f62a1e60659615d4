"""The suites of benchmarks: their labels, the selection of one, and notes on several."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import MARKS, SUITE, UNKNOWN
from perfarray.timings.apply import is_chunked
from perfarray.timings.marks import as_mark
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.validation import listed

# Attr: the suites that one mean is taken over
SUITES = "suites"


def dims_of(times: Data, name: Hashable) -> tuple[Hashable, ...]:
    """Return the dims of a coordinate, () where it does not exist."""
    labels = times.coords.variables if isinstance(times, xr.DataArray | xr.Dataset) else {}
    return tuple(labels[name].dims) if name in labels else ()


# The coordinate whose labels name several groups of benchmarks each
TAGS = "tags"


def suites_of(times: Data, by: str, across: str) -> dict[str, Any]:
    """Return the labels (or positions) of the benchmarks of each suite, by its name."""
    labels, benchmarks = suite_labels(times, by, across), times[across].values
    rows = [
        {name for label in row if label is not None for name in _names_in(label, by)}
        for row in labels.reshape(len(benchmarks), -1)
    ]
    names = dict.fromkeys(
        name for label in labels.ravel() if label is not None for name in _names_in(label, by)
    )
    measured = measured_along(times, across)
    members = {name: np.array([name in row for row in rows]) for name in names}
    answered = {name: benchmarks[row] for name, row in members.items() if (row & measured).any()}
    return answered or {name: benchmarks[row] for name, row in members.items()}


def _names_in(label: str, by: str) -> list[str]:
    """Return the names in a label: a benchmark may have several tags, as in `"fast, math"`."""
    return [name.strip() for name in label.split(",")] if by == TAGS else [label]


def suite_labels(times: Data, by: str, across: str) -> npt.NDArray[Any]:
    """Return the suite of every cell of the coordinate `by`, benchmarks first.

    Where a benchmark has one suite, all its cells have it. Cells that were not measured are None
    where a benchmark has several suites; lazy cells count as measured where a suite is stated.
    """
    check_dim(times, across, "across")
    if by == across or across not in getattr(times.coords.get(by), "dims", ()):
        along = [
            str(name)
            for name, coordinate in times.coords.items()
            if coordinate.dims == (across,) and name != across
        ]
        raise ValueError(
            f"by={by!r} is not a coordinate along {across!r}; these are: {listed(along) or 'none'}"
        )
    coordinate = times.coords[by].variable.transpose(across, ...)
    labels = np.array([str(label) for label in coordinate.values.ravel()], dtype=object).reshape(
        len(coordinate), -1
    )
    if coordinate.ndim == 1:
        return labels.reshape(coordinate.shape)
    measured = measured_cells(times, coordinate.dims).reshape(labels.shape)
    labels[~measured & (measured.any(axis=1, keepdims=True) | (labels == UNKNOWN))] = None
    for row in labels:
        distinct = [label for label in dict.fromkeys(row.tolist()) if label not in (None, UNKNOWN)]
        row[row == UNKNOWN] = distinct[0] if len(distinct) == 1 else None if distinct else UNKNOWN
    return labels.reshape(coordinate.shape)


def measured_cells(times: Data, dims: tuple[Hashable, ...]) -> npt.NDArray[np.bool_]:
    """Return in which cells of some dims anything was measured; lazy values count as measured."""
    arrays = [times] if isinstance(times, xr.DataArray) else list(times.data_vars.values())
    cells = np.zeros([times.sizes[dim] for dim in dims], dtype=bool)
    for array in arrays:
        if array.dtype.kind == "f" and set(dims) <= set(array.dims):
            lazy = is_chunked(array)
            cells |= (
                True
                if lazy
                else array.variable.notnull()
                .any([dim for dim in array.dims if dim not in dims])
                .transpose(*dims)
                .values
            )
    return cells


def measured_along(times: Data, across: str) -> npt.NDArray[np.bool_]:
    """Return for which labels anything was measured; without the dim, for the only one."""
    return measured_cells(times, (across,)) if across in times.dims else np.ones(1, dtype=bool)


def several_suites_note(times: Data, across: str) -> Note | None:
    """Return a note where benchmarks are of several suites, which are answered one by one."""
    if across not in dims_of(times, SUITE):
        return None
    labels = suite_labels(times, SUITE, across)[measured_cells(times, (across,))]
    suites = dict.fromkeys(label for label in labels.ravel().tolist() if label is not None)
    if len(suites) < 2:
        return None
    shared = sum(len({*row} - {None}) > 1 for row in labels.reshape(len(labels), -1).tolist())
    subject = (
        f"{shared} labels of {across!r} are benchmarks of several suites"
        if shared
        else f"the benchmarks are of {len(suites)} suites"
    )
    text = (
        f"{subject}: each suite has its own answer, as by={SUITE!r} gives it ({listed(suites)}). "
    )
    text += f"times.where(times[{SUITE!r}] == {next(iter(suites))!r}) selects one"
    return Note("suites_apart", text, {"suites": [*suites]}, aside=True)


def _suite_of_each(array: xr.DataArray, across: str) -> npt.NDArray[Any] | None:
    """Return the suite of each benchmark.

    None where suites are not stated, or a label is a benchmark of several.
    """
    if across not in dims_of(array, SUITE):
        return None
    rows = [
        set(row) - {None}
        for row in suite_labels(array, SUITE, across).reshape(array.sizes[across], -1).tolist()
    ]
    return (
        None
        if any(len(row) > 1 for row in rows)
        else np.array([next(iter(row), UNKNOWN) for row in rows], dtype=object)
    )


def names_one_suite(array: xr.DataArray, across: str) -> bool:
    """Return whether all benchmarks are of one suite, which has a name."""
    suites = _suite_of_each(array, across)
    suites = None if suites is None else suites[measured_cells(array, (across,))]
    return (
        suites is not None
        and len(suites) > 0
        and suites[0] != UNKNOWN
        and bool((suites == suites[0]).all())
    )


def select_suite(argument: Any, by: str, across: str, name: str, benchmarks: Any) -> Any:
    """Select one suite from an argument that has benchmarks; other cells become NaN."""
    if not isinstance(argument, xr.DataArray | xr.Dataset):
        # Numbers by label, `...` being all others
        by_label = isinstance(argument, Mapping | pd.Series)
        return (
            {
                label: value
                for label, value in argument.items()
                if label is ... or label in benchmarks
            }
            if by_label
            else argument
        )
    if across not in argument.dims:
        return argument
    times = argument.isel({across: np.isin(argument[across].values, benchmarks)})
    if len(dims_of(times, by)) < 2:
        return times
    labels = suite_labels(times, by, across)
    members = np.array(
        [label is not None and name in _names_in(label, by) for label in labels.ravel().tolist()]
    )
    cells = xr.Variable(
        times.coords[by].variable.transpose(across, ...).dims, members.reshape(labels.shape)
    )
    labelled = [dim for dim in cells.dims if dim in times.indexes]
    positions = {
        dim: np.flatnonzero(
            cells.any([reduced_dim for reduced_dim in cells.dims if reduced_dim != dim]).values
        )
        for dim in labelled
    }
    times, cells = times.isel(positions), cells.isel(positions)

    def masked(variable: xr.Variable, fill: Any) -> xr.Variable:
        inside = cells.set_dims(dict(variable.sizes)).transpose(*variable.dims).values
        values = (
            np.where(inside, variable.values, fill)
            if not is_chunked(variable)
            else variable.where(inside, fill).data
        )
        return xr.Variable(variable.dims, values, variable.attrs)

    marks = {mark: as_mark(times.coords[mark]).variable for mark in MARKS if mark in times.coords}
    coords = {
        mark: masked(variable, False)
        for mark, variable in marks.items()
        if {*cells.dims} <= {*variable.dims}
    }
    coords[by] = xr.Variable(across, np.full(times.sizes[across], name, dtype=object))
    if isinstance(times, xr.DataArray):
        return times.copy(data=masked(times.variable, np.nan).data).assign_coords(coords)
    arrays = {
        key: masked(array.variable, np.nan)
        for key, array in times.data_vars.items()
        if {*cells.dims} <= {*array.dims}
    }
    return times.assign(arrays).assign_coords(coords)


def suites_remedy(by: bool) -> str:
    """Write how to get an answer for each suite.

    `by` says whether the method has an argument `by=`.
    """
    return 'times.groupby("suite")' + (' or by="suite"' if by else "") + " gives each its own"


def suites_hint(array: xr.DataArray, across: str, *, by: bool = True) -> str:
    """Write this as the end of a sentence; an empty text for one suite."""
    labels = _suite_of_each(array, across)
    if labels is None:
        return ""
    measured = (
        slice(None)
        if is_chunked(array)
        else array.notnull().any([dim for dim in array.dims if dim != across]).values
    )
    number = len(set(labels[measured].tolist()))
    return f"; the benchmarks are of {number} suites: {suites_remedy(by)}" if number > 1 else ""


def name_suites(
    result: Any, array: xr.DataArray, included: xr.DataArray, across: str, *, by: bool = False
) -> Note | None:
    """Set the attr `suites` of a mean over several suites, and return the note on them."""
    note = several_suites(array, included, across, by=by)
    if note:
        result.attrs[SUITES] = ", ".join(note.values["suites"])
    return note


def several_suites(
    array: xr.DataArray, included: xr.DataArray | xr.Variable, across: str, *, by: bool = False
) -> Note | None:
    """Return a note where one mean is taken over several suites.

    `included` says which benchmarks count; where it is lazy, all do. `by` says whether the method
    has an argument `by=`.
    """
    labels = _suite_of_each(array, across)
    if labels is None:
        return None
    mask = np.ones((1, len(labels)), dtype=bool)
    if not is_chunked(included):
        mask = np.moveaxis(included.values, included.get_axis_num(across), -1).reshape(
            -1, len(labels)
        )
    names = list(dict.fromkeys(labels))
    has = np.array([mask[:, labels == name].any(axis=1) for name in names])
    is_shared = has.sum(axis=0) > 1
    mixed = [
        name for name, measured in zip(names, has, strict=True) if (measured & is_shared).any()
    ]
    if not mixed:
        return None
    text = (
        f"One mean is taken over the benchmarks of {len(mixed)} suites ({listed(mixed)}). "
        f"{suites_remedy(by)}"
    )
    return Note("several_suites", text, {"suites": mixed})

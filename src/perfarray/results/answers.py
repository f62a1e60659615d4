"""Results as short tables for people: few columns, values with their units, intervals in words."""

import math
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, EXACT, level_of_intervals, percentage, plural
from perfarray.numerics.types import Integers, Mask, Texts
from perfarray.results.combine import as_dataset, parts_of
from perfarray.results.kinds import kind_of, layout_of
from perfarray.results.layouts import OF_SUITE, Layout
from perfarray.results.models import FittedModel
from perfarray.results.printed import CHANGED
from perfarray.results.reserved import without_foreign_names
from perfarray.results.rows import Places, Table
from perfarray.results.words import Cell, Columns, own_name
from perfarray.timings.apply import LEVEL
from perfarray.timings.notes import is_lazy, notes
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.weights import WEIGHTS

SORTS = ("effect", "name")

# Prefix of the variables of suite rows
SUITE = "suite_"

# Cells converted to Python objects at a time
BATCH = 1000


def table(result: xr.Dataset | xr.DataArray | FittedModel, *, sort: str | None = None) -> Table:
    """Show a result as a short table for people.

    Parameters
    ----------
    result : Dataset, DataArray, GaussianMixture or VariabilityModel
        What a function of this package returned; of a lazy result everything is computed.
    sort : {"effect", "name"}, optional
        Rows with the largest effect first (the ratio farthest from 1, else the largest value), or
        by label; default: as they are.

    Returns
    -------
    DataFrame
        Texts, one row a cell in which something was measured, its labels in the index; a dim of one
        label is named below instead, except `benchmark`. Suites stand below their benchmarks.
        Printed, it shows every column, and sentences below. The attrs `findings` (of a regression,
        what it found) and `notes` are tuples of sentences. `about` says in one what the numbers
        rest on. `suites` is the number of suite rows. Notes that the call warned of are not printed
        again: `asides` are those that are.

    Raises
    ------
    ValueError
        When the object is no result, or `sort` is unknown, or "effect" of answers that are texts.

    Examples
    --------
    >>> import perfarray
    >>> runs = {"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]}
    >>> times = perfarray.from_samples(runs)
    >>> times.perf.compare("old").perf.table()
           old -> new                      change verdict n
    10.05 s -> 9.05 s 1.11x faster (1.08 to 1.14)  faster 4
    version new; 95 % intervals; n counts executions
    """
    return select_rows(result, sort=sort)


def select_rows(
    result: xr.Dataset | xr.DataArray | FittedModel,
    *,
    sort: str | None = None,
    only_changes: bool = False,
    limit: int | None = None,
    largest: bool = False,
    together: str | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Table:
    """Return the table of a result, with the rows that are to be printed.

    Parameters
    ----------
    result : Dataset, DataArray, GaussianMixture or VariabilityModel
        As for `table`, and so is `sort`.
    sort : {"effect", "name"}, optional
        The order of the rows.
    only_changes : bool
        Whether rows whose verdict is neither faster nor slower are left out. Suites stay.
    limit : int, optional
        The most rows of cells; default: all. `places.n_left_out` is the number of the others.
    largest : bool
        Whether a limit keeps the largest effects, rather than the first rows.
    together : str, optional
        A dim whose labels keep their rows together, as suites whose scores have no common scale.
    columns : mapping of str to title, optional
        Titles of the columns that are shown, and what the table calls them; default: all.

    Returns
    -------
    DataFrame
        As `table` returns it.
    """
    if sort is not None:
        check_choice(sort, "sort", SORTS)
    data = as_dataset(result)
    if not data.attrs.get("result"):
        raise ValueError(
            "this is no result of perfarray: its attr 'result' is missing; it has the "
            f"variables {listed(data.data_vars)}"
        )
    data = without_foreign_names(data.compute() if is_lazy(data) else data)
    is_combined = data.attrs["result"] == "combine"
    single_results = (
        {
            name: without_foreign_names(single_result)
            for name, single_result in parts_of(data).items()
        }
        if is_combined
        else {"": data}
    )
    measured = reduce(or_, map(_measured_cells, single_results.values()))
    tables = {}
    for name, single_result in single_results.items():
        cells, layout = _cells_of_rows(single_result), layout_of(single_result)
        along = measured.any([dim for dim in measured.dims if dim not in cells.dims])
        positions: Integers = np.flatnonzero(along.transpose(*cells.dims))
        if only_changes:
            positions = positions[np.isin(cells.values["verdict"][positions], CHANGED)]
        n_rows = positions.size
        if largest and limit is not None:
            largest_positions = _in_order(single_result, cells, layout, "effect", positions)[:limit]
            positions = positions[np.isin(positions, largest_positions)]
        positions = _in_order(single_result, cells, layout, sort, positions)
        if together is not None:
            shape = [single_result.sizes[dim] for dim in cells.dims]
            labels = np.unravel_index(positions, shape)[cells.dims.index(together)]
            positions = positions[np.argsort(labels, kind="stable")]
        places = Places(cells.dims, positions[:limit], n_rows - positions[:limit].size)
        tables[name] = _table(single_result, cells, layout, places)
    table = next(iter(tables.values()))
    if is_combined:
        frame = pd.concat(_same_index_order(tables), axis=1).fillna("")
        table = Table.of_cells(frame, {"suites": 0}, table.places)
    if columns is not None:
        frame = table[[*columns.values()]].set_axis([*columns], axis="columns")
        table = Table.of_cells(frame, table.attrs, table.places)
    remarks = notes(data)
    table.attrs = {
        "findings": tuple(kind_of(data).findings(data)),
        "about": _about(data, table, next(iter(single_results.values()))),
        "notes": tuple(note.message for note in remarks),
        "asides": tuple(note.message for note in remarks if note.aside),
        "suites": table.attrs["suites"],
    }
    return table


def _same_index_order(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return tables with the same dims in their index, in the same order."""
    label_dims = {
        name: [str(dim) for dim in frame.index.names if dim is not None]
        for name, frame in frames.items()
    }
    (first, dims), *remaining = label_dims.items()
    for name, names in remaining:
        for dim in sorted({*dims}.symmetric_difference(names)):
            having, without_rows = (first, name) if dim in dims else (name, first)
            raise ValueError(
                f"{having!r} has a row for every {dim}, but {without_rows!r} has not. They "
                "cannot stand side by side. Combine results with the same dims, or make a table "
                "of each"
            )
    return {
        name: frame.reorder_levels(dims) if len(dims) > 1 else frame
        for name, frame in frames.items()
    }


def _cells_of_rows(data: xr.Dataset) -> "ResultCells":
    """Return the cells that have rows where something was measured."""
    layout = layout_of(data)
    main = layout.main if layout.main in data.data_vars else str(next(iter(data.data_vars)))
    return _cells(data, main, layout.inner)


def _measured_cells(data: xr.Dataset) -> xr.DataArray:
    """Return which cells of a result have a row: those with an answer, or units without one."""
    cells = _cells_of_rows(data)
    answer, values = cells.values[cells.main], cells.values
    texts = answer.dtype.kind not in "fciu"
    answered = (
        answer != ""
        if texts
        else ~np.isnan(answer)
        if layout_of(data).zero
        else np.nan_to_num(answer) != 0
    )
    answered = np.asarray(answered.any(axis=tuple(range(1, answered.ndim))))
    # The score of a copy counts in suites, and no unit of its own was measured.
    answered &= np.not_equal(values.get("n", np.nan), 0)
    if not texts:
        # To have been asked, and to say nothing, is an answer.
        answered |= values.get("unanswered", 0) == 1
        answered |= values.get("remark", "") != ""  # and so is why there is none
        answered |= np.nan_to_num(values.get("n", 0)) != 0
    mask = _shown(cells, data) & answered
    return xr.DataArray(mask.reshape([data.sizes[dim] for dim in cells.dims]), dims=cells.dims)


def _in_order(
    data: xr.Dataset, cells: "ResultCells", layout: Layout, sort: str | None, positions: Integers
) -> Integers:
    """Return the positions of cells in the order of their rows."""
    if sort == "effect":
        values = cells.values[layout.effect or cells.main]
        if values.dtype.kind in "OUS":
            raise ValueError(
                f"sort='effect': the answers of {data.attrs['result']} are texts, and none is "
                "larger; use sort='name'"
            )
        largest = values[positions].max(axis=tuple(range(1, values.ndim))).astype(float)
        effects = np.where(np.isnan(largest), -np.inf, largest)
        if layout.ratio:  # a change to 0 is the largest
            with np.errstate(divide="ignore", invalid="ignore"):
                effects = np.where(effects < 0, -np.inf, np.abs(np.log(largest)))
            effects = np.where(np.isnan(effects), -np.inf, effects)
        return positions[np.argsort(-effects, kind="stable")]
    if sort == "name":
        ordered = sorted(positions, key=lambda position: _alphabetical(cells, position))
        return np.array(ordered, dtype=int)
    return positions


def _common_labels(data: xr.Dataset, dims: list[str]) -> list[str]:
    """Return the dims that a table has no column of: those of one label, but benchmarks.

    A row is named along every dim that has other labels, even if these have no row.
    """
    return [dim for dim in dims if dim != BENCHMARK and data.sizes[dim] == 1]


def _table(data: xr.Dataset, cells: "ResultCells", layout: Layout, places: Places) -> Table:
    """Return one row for each place, and the rows of suites last."""
    columns = layout.columns(data)
    label_dims = [dim for dim in cells.dims if dim not in _common_labels(data, cells.dims)]
    rows = [
        [*(cell["coords"][dim] for dim in label_dims), *(text(cell) for text in columns.values())]
        for cell in cells.at(places.positions)
    ]
    suites = _suites(data, layout)
    rows += [_suite_row(cell, data, layout, columns, label_dims) for cell in suites]
    frame = pd.DataFrame(rows, columns=[*label_dims, *columns])
    frame = frame.set_index(label_dims) if label_dims else frame
    return Table.of_cells(frame, {"suites": len(suites)}, places)


def _alphabetical(cells: "ResultCells", position: int) -> list[tuple[bool, float, str]]:
    """Return what sorts the labels of a cell: numbers by size, before texts."""
    labels = [cells.labels[dim][position] for dim in cells.dims]
    return [
        (False, label, "") if isinstance(label, int | float) else (True, 0.0, str(label))
        for label in labels
    ]


def _suites(data: xr.Dataset, layout: Layout) -> list[Cell]:
    """Return the cells of suites of several benchmarks."""
    if "suite_estimate" not in data or "suite_benchmarks" not in data:
        return []
    cells = _cells(data, "suite_estimate", layout.inner, SUITE)
    return list(cells.at(np.flatnonzero(_shown(cells, data) & (cells.values["benchmarks"] > 1))))


def _suite_row(
    cell: Cell, data: xr.Dataset, layout: Layout, columns: Columns, label_dims: list[str]
) -> list[Any]:
    """Return the row of a suite: the labels it shares with the benchmarks, and their number."""
    labels = {dim: cell["coords"].get(dim, "") for dim in label_dims}
    labels_beside = [
        f", {label}"
        for dim, label in cell["coords"].items()
        if dim in data.dims and dim not in label_dims and data.sizes[dim] > 1
    ]
    if label_dims:
        labels[BENCHMARK if BENCHMARK in label_dims else label_dims[0]] = (
            f"all {cell['benchmarks']:.0f}" + "".join(labels_beside)
        )
    return [
        *labels.values(),
        *(
            text(cell) if layout.whole_suites or title in OF_SUITE else ""
            for title, text in columns.items()
        ),
    ]


class ResultCells(NamedTuple):
    """The cells of a result along some dims: values by variable, and labels."""

    dims: list[str]
    # The variable whose cells they are
    main: str
    # The first axis has the cells, the others are inner dims
    values: dict[str, npt.NDArray[Any]]
    # By dim, and the units and directions of cells
    labels: dict[str, Texts]
    size: int

    def at(self, positions: Integers) -> Iterator[Cell]:
        """Yield the values of some cells; a variable with inner dims is an array."""
        # In batches, since Python objects take more memory than arrays.
        for batch in np.split(positions, range(BATCH, len(positions), BATCH)):
            labels = [
                {name: column[position] for name, column in self.labels.items()}
                for position in batch
            ]
            values = (
                list(column[batch]) if column.ndim > 1 else _plain(column[batch])
                for column in self.values.values()
            )
            for cell in zip(labels, *values, strict=True):
                yield dict(zip(("coords", *self.values), cell, strict=True))


def _cells(data: xr.Dataset, main: str, inner: tuple[str, ...], prefix: str = "") -> ResultCells:
    """Return the cells along the dims of the main variable; a prefix of names is removed."""
    dims = [str(dim) for dim in data.variables[main].dims if dim not in inner]
    shape = [data.sizes[dim] for dim in dims]

    def over(variable: xr.Variable) -> npt.NDArray[Any]:
        variable_dims = variable.dims
        ordered = variable.values.transpose(
            [variable_dims.index(dim) for dim in (*dims, *inner) if dim in variable_dims]
        )
        spread = ordered[(*(slice(None) if dim in variable_dims else None for dim in dims), ...)]
        inner_shape = spread.shape[len(dims) :]
        return np.broadcast_to(spread, (*shape, *inner_shape)).reshape(
            math.prod(shape), *inner_shape
        )

    variables = {
        str(name): variable
        for name, variable in data.variables.items()
        if {*variable.dims} <= {*dims, *inner}
    }
    values = {
        name.removeprefix(prefix): over(variable)
        for name, variable in variables.items()
        if name in data.data_vars and name.startswith(prefix)
    }
    describing = [
        name
        for name in ("units", "better")
        if name in variables and name in data.coords and {*variables[name].dims} & {*dims}
    ]
    labels = {}
    for name in (*dims, *describing):
        label_list = _plain(over(data[name].variable))
        labels[name] = np.fromiter(label_list, dtype=object, count=len(label_list))
    return ResultCells(dims, main, values, labels, math.prod(shape))


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    """Return numbers and texts as Python objects, dates as text."""
    return (
        [str(np.datetime_as_string(value, unit="auto")) for value in values]
        if values.dtype.kind == "M"
        else list(values.tolist())
    )


def _shown(cells: ResultCells, data: xr.Dataset) -> Mask:
    """Return which cells are shown: each pair of labels once."""
    dim = str(data.attrs.get("dim"))
    if data.attrs["result"] != "pairwise" or not {dim, "baseline"} <= {*cells.dims}:
        return np.ones(cells.size, dtype=np.bool_)
    order = {label: rank for rank, label in enumerate(dict.fromkeys(cells.labels[dim]))}
    first, second = ([order[label] for label in cells.labels[name]] for name in ("baseline", dim))
    return np.less(first, second)


def _is_exact(data: xr.Dataset) -> bool:
    """Return whether no row of a comparison has noise, and so none has an interval."""
    if "verdict" not in data or "kind" not in data:
        return False
    return bool((data["kind"] == EXACT).any() and data["lower"].isnull().all())


def _about(data: xr.Dataset, table: Table, single_result: xr.Dataset) -> str:
    """Write the sentence below a table: common labels, confidence level, unit."""
    kind = kind_of(data)
    if kind.empty is not None and table.empty:
        return kind.empty(data)
    labels = {
        dim: _plain(single_result[dim].values)[0]
        for dim in _common_labels(single_result, table.places.dims)
    }
    clauses = [
        str(label) if str(label).startswith(f"{dim} ") else f"{dim.replace('_', ' ')} {label}"
        for dim, label in ((own_name(dim), label) for dim, label in labels.items())
    ]
    if kind.precision is not None:
        clauses += kind.precision(data)
    elif _is_exact(data):
        clauses.append("exact, without intervals")
    elif level := level_of_intervals(data):
        corrected = table.attrs["suites"] and data.attrs.get("correction", "none") != "none"
        clauses.append(
            f"{level} intervals"
            + (
                f", of the suite {percentage(data.attrs['confidence_level'])} %"
                if corrected
                else ""
            )
        )
    clauses += kind.remarks(data)
    if "apart_pvalue" in data:
        level = f"{100 * (1 - float(data.attrs['confidence_level'])):.4g} %"
        clauses.append(
            f"not apart from: by a test of each pair at {level}, which is not corrected for "
            "their number"
        )
    clauses += (
        ["benchmarks are weighted"] if str(data.attrs.get(WEIGHTS, "")).startswith("{") else []
    )
    if "cost_units" in data.attrs:
        share = data.attrs.get("assurance")
        clauses += (
            []
            if share is None
            else [f"{100 * float(share):.4g} % of such experiments reach the half-width"]
        )
        return "; ".join(
            [
                *clauses,
                (
                    "one-level: its half-width at the same cost with one of everything in each "
                    f"{data[LEVEL].values[0]}"
                ),
            ]
        )
    clauses += (
        [f"n counts {plural(str(data.attrs['unit']))}"]
        if "unit" in data.attrs and "n" in table
        else []
    )
    return "; ".join(clauses)

"""Results as short tables for people: few columns, values with their units, intervals in words."""

import math
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, level_of_intervals, percentage, plural
from perfarray.numerics.types import Integers, Mask, Texts
from perfarray.results.combine import as_dataset, parts_of
from perfarray.results.kinds import kind_of, layout_of
from perfarray.results.layouts import OF_SUITE, Layout
from perfarray.results.models import FittedModel
from perfarray.results.reserved import without_foreign_names
from perfarray.results.rows import Places, Table
from perfarray.results.words import Cell, Columns
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
        Printed, it shows every column, and its sentences below. The attrs `findings` (of a
        regression, what it found) and `notes` are tuples of sentences, `about` says in one what the
        numbers rest on, `suites` is the number of suite rows.

    Raises
    ------
    ValueError
        When the object is no result, or `sort` is unknown, or "effect" of answers that are texts.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]})
    >>> times.perf.compare("old").perf.table()
           old -> new                      change verdict n
    10.05 s -> 9.05 s 1.11x faster (1.08 to 1.14)  faster 4
    version new; 95 % intervals; n counts executions
    """
    return first_rows(result, sort=sort)


def first_rows(
    result: xr.Dataset | xr.DataArray | FittedModel,
    *,
    sort: str | None = None,
    most: int | None = None,
) -> Table:
    """Return the table of a result, of many cells the first `most`."""
    if sort is not None:
        check_choice(sort, "sort", SORTS)
    data = as_dataset(result)
    kind = str(data.attrs.get("result", ""))
    if not kind:
        raise ValueError(
            "this is no result of perfarray: its attr 'result' is missing; it has the "
            f"variables {listed(data.data_vars)}"
        )
    data = without_foreign_names(data.compute() if is_lazy(data) else data)
    if kind == "combine":
        results = {name: without_foreign_names(dataset) for name, dataset in parts_of(data).items()}
        measured = reduce(or_, map(_measured_cells, results.values()))
        blocks = {name: _rows(dataset, sort, most, measured) for name, dataset in results.items()}
        frame = pd.concat(
            _same_index_order({name: block.frame for name, block in blocks.items()}), axis=1
        ).fillna("")
        rows = next(iter(blocks.values()))._replace(suites=0, frame=frame)
    else:
        rows = _rows(data, sort, most)
    sentences = tuple(note.message for note in notes(data))
    findings = tuple(kind_of(data).findings(data))
    attrs = {
        "findings": findings,
        "about": _about(data, rows),
        "notes": sentences,
        "suites": rows.suites,
    }
    return Table.of_cells(
        rows.frame, attrs, Places(rows.cells.dims, rows.positions, rows.cells.size)
    )


def _same_index_order(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return tables with the same dims in their index, in the same order."""
    named = {
        name: [str(dim) for dim in frame.index.names if dim is not None]
        for name, frame in frames.items()
    }
    (first, dims), *remaining = named.items()
    for name, names in remaining:
        for dim in sorted({*dims}.symmetric_difference(names)):
            having, lacking = (first, name) if dim in dims else (name, first)
            raise ValueError(
                f"{having!r} has a row for every {dim}, and {lacking!r} has not: they cannot "
                "stand side by side; combine results with the "
                "same dims, or make a table of each"
            )
    return {
        name: frame.reorder_levels(dims) if len(dims) > 1 else frame
        for name, frame in frames.items()
    }


class Rows(NamedTuple):
    """The rows of a table with those of suites last, the labels that are not in it, the cells and the positions of those shown."""

    frame: pd.DataFrame
    suites: int
    constant: dict[str, Any]
    cells: "Cells"
    positions: Integers


def _measured_cells(data: xr.Dataset) -> xr.DataArray:
    """Return which cells of a result have a row."""
    layout = layout_of(data)
    cells = _cells(data, main := _main(data, layout), layout.inner)
    mask = _shown(cells, data) & _measured(cells, main, layout.zero)
    return xr.DataArray(mask.reshape([data.sizes[dim] for dim in cells.dims]), dims=cells.dims)


def _main(data: xr.Dataset, layout: Layout) -> str:
    return layout.main if layout.main in data.data_vars else str(next(iter(data.data_vars)))


def _rows(
    data: xr.Dataset, sort: str | None, most: int | None, measured: xr.DataArray | None = None
) -> Rows:
    """Return one row for each cell with a measurement (or those that are given as measured), the rows of suites last."""
    layout = layout_of(data)
    columns = layout.columns(data)
    main = _main(data, layout)
    cells = _cells(data, main, layout.inner)
    measured = (
        _measured_cells(data)
        if measured is None
        else measured.any([dim for dim in measured.dims if dim not in cells.dims])
    )
    positions = np.flatnonzero(measured.transpose(*cells.dims))[:most]
    if sort == "effect":
        values = cells.values[layout.effect or main]
        if values.dtype.kind in "OUS":
            raise ValueError(
                f"sort='effect': the answers of {data.attrs['result']} are texts, and none is "
                "larger; use sort='name'"
            )
        effects = [_effect(value, ratio=layout.ratio) for value in values[positions]]
        positions = positions[np.argsort(np.negative(effects), kind="stable")]
    elif sort == "name":
        positions = np.array(
            sorted(positions, key=lambda position: _alphabetical(cells, position)), dtype=int
        )
    suites = _suites(data, layout)
    # A row is named by its benchmark, and along every dim that has other labels, even if these have
    # no row.
    constant = {
        dim: cells.labels[dim][0] for dim in cells.dims if dim != BENCHMARK and data.sizes[dim] == 1
    }
    named = [dim for dim in cells.dims if dim not in constant]
    rows = [
        [*(cell["coords"][dim] for dim in named), *(text(cell) for text in columns.values())]
        for cell in cells.at(positions)
    ]
    rows += [_suite_row(cell, data, layout, columns, named) for cell in suites]
    frame = pd.DataFrame(rows, columns=[*named, *columns])
    return Rows(frame.set_index(named) if named else frame, len(suites), constant, cells, positions)


def _alphabetical(cells: "Cells", position: int) -> list[tuple[bool, float, str]]:
    """Return what sorts the labels of a cell: numbers by size, before texts."""
    labels = [cells.labels[dim][position] for dim in cells.dims]
    return [
        (False, label, "") if isinstance(label, int | float) else (True, 0.0, str(label))
        for label in labels
    ]


def _suites(data: xr.Dataset, layout: Layout) -> list[Cell]:
    """Return the cells of suites of several benchmarks, with the variable names of single benchmarks."""
    if "suite_estimate" not in data or "suite_benchmarks" not in data:
        return []
    cells = _cells(data, "suite_estimate", layout.inner, SUITE)
    return list(cells.at(np.flatnonzero(_shown(cells, data) & (cells.values["benchmarks"] > 1))))


def _suite_row(
    cell: Cell, data: xr.Dataset, layout: Layout, columns: Columns, named: list[str]
) -> list[Any]:
    """Return the row of a suite: the labels it shares with the benchmarks, and their number."""
    labels = {dim: cell["coords"].get(dim, "") for dim in named}
    labels_beside = [
        f", {label}"
        for dim, label in cell["coords"].items()
        if dim in data.dims and dim not in named and data.sizes[dim] > 1
    ]
    if named:
        labels[BENCHMARK if BENCHMARK in named else named[0]] = (
            f"all {cell['benchmarks']:.0f}" + "".join(labels_beside)
        )
    return [
        *labels.values(),
        *(
            text(cell) if layout.whole_suites or title in OF_SUITE else ""
            for title, text in columns.items()
        ),
    ]


class Cells(NamedTuple):
    """The cells of a result along some dims: values by variable, and labels."""

    dims: list[str]
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


def _cells(data: xr.Dataset, main: str, inner: tuple[str, ...], prefix: str = "") -> Cells:
    """Return the cells along the dims of the main variable, for variables with a prefix, which is removed."""
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
    described = [
        name
        for name in ("units", "better")
        if name in variables and name in data.coords and {*variables[name].dims} & {*dims}
    ]
    labels = {name: _objects(_plain(over(data[name].variable))) for name in (*dims, *described)}
    return Cells(dims, values, labels, math.prod(shape))


def _objects(values: list[Any]) -> Texts:
    """Return labels as an object array."""
    return np.fromiter(values, dtype=object, count=len(values))


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    """Return numbers and texts as Python objects, dates as text."""
    return (
        [str(np.datetime_as_string(value, unit="auto")) for value in values]
        if values.dtype.kind == "M"
        else list(values.tolist())
    )


def _shown(cells: Cells, data: xr.Dataset) -> Mask:
    """Return which cells are shown: each pair of labels once."""
    dim = str(data.attrs.get("dim"))
    if data.attrs["result"] != "pairwise" or not {dim, "baseline"} <= {*cells.dims}:
        return np.ones(cells.size, dtype=np.bool_)
    order = {label: rank for rank, label in enumerate(dict.fromkeys(cells.labels[dim]))}
    first, second = ([order[label] for label in cells.labels[name]] for name in ("baseline", dim))
    return np.less(first, second)


def _measured(cells: Cells, main: str, zero: bool) -> Mask:
    """Return which cells have an answer, or units without an answer."""
    answer, values = cells.values[main], cells.values
    texts = answer.dtype.kind not in "fciu"
    answered = answer != "" if texts else ~np.isnan(answer) if zero else np.nan_to_num(answer) != 0
    answered = np.asarray(answered.any(axis=tuple(range(1, answered.ndim))))
    # The score of a copy counts in suites, and no unit of its own was measured.
    answered &= np.not_equal(values.get("n", np.nan), 0)
    if not texts:
        answered |= (
            values.get("unanswered", 0) == 1
        )  # to have been asked, and to say nothing, is an answer
        answered |= values.get("remark", "") != ""  # and so is why there is none
        answered |= np.nan_to_num(values.get("n", 0)) != 0
    return answered


def _effect(value: Any, *, ratio: bool) -> float:
    """Return the size of an effect; -inf where it is unknown, inf of a change to 0."""
    number_of = float(np.max(value)) if np.size(value) else math.nan
    if math.isnan(number_of) or (ratio and number_of <= 0):
        return math.inf if number_of == 0 else -math.inf
    return abs(math.log(number_of)) if ratio else number_of


def _about(data: xr.Dataset, rows: Rows) -> str:
    """Write the sentence below a table: common labels, confidence level, unit."""
    kind = kind_of(data)
    if kind.empty is not None and rows.frame.empty:
        return kind.empty(data)
    clauses = [
        str(label) if str(label).startswith(f"{dim} ") else f"{dim.replace('_', ' ')} {label}"
        for dim, label in rows.constant.items()
    ]
    if kind.precision is not None:
        clauses += kind.precision(data)
    elif level := level_of_intervals(data):
        corrected = rows.suites and data.attrs.get("correction", "none") != "none"
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
        if "unit" in data.attrs and "n" in rows.frame
        else []
    )
    return "; ".join(clauses)

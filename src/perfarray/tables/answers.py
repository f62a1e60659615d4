"""Results as short tables for people: few columns, values with their units, intervals in words."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, plural
from perfarray.tables.combine import as_dataset, parts_of
from perfarray.tables.layouts import OF_SUITE, Layout, layout_of
from perfarray.tables.words import Cell, Columns
from perfarray.timings.apply import LEVEL
from perfarray.timings.notes import notes
from perfarray.timings.results import Result
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.weights import WEIGHTS

SORTS = ("effect", "name")

SUITE = "suite_"
"""How the variables of suite rows begin."""


MEDIANS = ("compare", "pairwise", "ratio_interval", "speedup")
"""Results that may be of medians, which their tables then say."""


class Table(pd.DataFrame):
    """A table for people, which is printed whole, and what is to be said of it below; whatever is made of it is an ordinary table."""

    def __repr__(self) -> str:
        """Write the columns whole, the rows as many as pandas is asked to show, and the sentences below."""
        rows = self.to_string(index=not isinstance(self.index, pd.RangeIndex), max_rows=pd.get_option("display.max_rows"))
        return "\n".join([rows, *filter(None, [self.attrs.get("about", "")]), *self.attrs.get("notes", ())])


def table(result: xr.Dataset | xr.DataArray | Result, *, sort: str | None = None) -> Table:
    """Show a result as a short table for people.

    Parameters
    ----------
    result : Dataset, DataArray, RepetitionPlan, GaussianMixture or Biplot
        What a function of this package returned; of a lazy result everything is computed.
    sort : {"effect", "name"}, optional
        Rows with the largest effect first (the ratio farthest from 1, else the largest value), or by label; default: as they are.

    Returns
    -------
    DataFrame
        Texts, one row a cell in which something was measured, its labels in the index; dims with one label are left out. Suites stand
        below their benchmarks. Printed, it shows every column, and its sentences below. The attr `notes` is a tuple of sentences, `about`
        says in one what the numbers rest on, `suites` is the number of suite rows.

    Raises
    ------
    ValueError
        When the object is no result, or `sort` is unknown.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]})
    >>> times.perf.compare("old").perf.table()
           old -> new                      change verdict n
    10.05 s -> 9.05 s 1.11x faster (1.08 to 1.14)  faster 4
    version new; 95 % intervals; n counts executions
    """
    if sort is not None:
        check_choice(sort, "sort", SORTS)
    data = as_dataset(result)
    kind = str(data.attrs.get("result", ""))
    if not kind:
        raise ValueError(f"this is no result of perfarray: its attr 'result' is missing; it has the variables {listed(data.data_vars)}")
    frame = _table(data.compute(), sort, None)[0]
    shown = Table(frame)
    shown.attrs = frame.attrs
    return shown


def first_rows(data: xr.Dataset, most: int) -> tuple[pd.DataFrame, int]:
    """Return the first rows of the table of a result that is in memory, and how many cells more there are."""
    frame, cells = _table(data, None, most)
    return frame, max(0, cells - most)


def _table(data: xr.Dataset, sort: str | None, most: int | None) -> tuple[pd.DataFrame, int]:
    """Return the table of a result, or of combined ones side by side with their names above the columns; and how many cells there are."""
    if data.attrs["result"] == "combine":
        tables = {name: _rows(part, sort, most, whole=True) for name, part in parts_of(data).items()}
        frame = pd.concat({name: own.frame for name, own in tables.items()}, axis=1).fillna("")
        first = next(iter(tables.values()))._replace(suites=0)
    else:
        first = _rows(data, sort, most)
        frame = first.frame
    said = tuple(note.message for note in notes(data))
    frame.attrs = {"about": _about(data, first), "notes": said, "suites": first.suites}
    return frame, first.cells


class Rows(NamedTuple):
    """Rows of a table, the last of them of suites, the labels that all of them share, and how many cells the result has."""

    frame: pd.DataFrame
    suites: int
    constant: dict[str, Any]
    cells: int


def _rows(data: xr.Dataset, sort: str | None, most: int | None, *, whole: bool = False) -> Rows:
    """Return one row for each cell in which something was measured, or for the `whole`, the suite rows last."""
    layout = layout_of(data)
    columns = layout.columns(data)
    main = data[layout.main if layout.main in data else next(iter(data.data_vars))]
    dims = [str(dim) for dim in main.dims if dim not in layout.inner]
    every = (cell for cell in _cells(data, dims, layout.inner) if _is_shown(cell, data))
    cells = list(islice((cell for cell in every if whole or _is_measured(cell, str(main.name), layout.zero)), most))
    if sort == "effect":
        cells.sort(key=lambda cell: _effect(cell[layout.main], ratio=layout.ratio), reverse=True)
    elif sort == "name":
        cells.sort(key=lambda cell: [str(cell["coords"][dim]) for dim in dims])
    suites = _suites(data, layout)
    constant = {dim: cells[0]["coords"][dim] for dim in dims if cells and len({cell["coords"][dim] for cell in cells}) == 1}
    if suites:
        constant.pop(BENCHMARK, None)  # what tells one benchmark's row from the suite's
    named = [dim for dim in dims if dim not in constant]
    rows = [{dim: cell["coords"][dim] for dim in named} | {title: text(cell) for title, text in columns.items()} for cell in cells]
    rows += [_suite_row(cell, data, layout, columns, named) for cell in suites]
    frame = pd.DataFrame(rows, columns=[*named, *columns])
    return Rows(frame.set_index(named) if named else frame, len(suites), constant, int(np.prod([data.sizes[dim] for dim in dims])))


def _suites(data: xr.Dataset, layout: Layout) -> list[Cell]:
    """Return the cells of suites of several benchmarks, their variables by the names that they have for one benchmark."""
    if "suite_estimate" not in data or "suite_benchmarks" not in data:
        return []
    dims = [str(dim) for dim in data["suite_estimate"].dims if dim not in layout.inner]
    own = data[[str(name) for name in data.data_vars if str(name).startswith(SUITE)]]
    own = own.rename({str(name): str(name).removeprefix(SUITE) for name in own.data_vars})
    return [cell for cell in _cells(own, dims, layout.inner) if cell["benchmarks"] > 1 and _is_shown(cell, data)]


def _suite_row(cell: Cell, data: xr.Dataset, layout: Layout, columns: Columns, named: list[str]) -> dict[str, Any]:
    """Return the row of a suite: what it shares with benchmarks, and how many of them it has."""
    labels = {dim: cell["coords"].get(dim, "") for dim in named}
    others = [f", {label}" for dim, label in cell["coords"].items() if dim in data.dims and dim not in named and data.sizes[dim] > 1]
    texts = {title: text(cell) if layout.whole_suites or title in OF_SUITE else "" for title, text in columns.items()}
    label = f"all {cell['benchmarks']:.0f}" + "".join(others)
    return {**labels, (BENCHMARK if BENCHMARK in named else named[0] if named else BENCHMARK): label, **texts}


def _is_shown(cell: Cell, data: xr.Dataset) -> bool:
    """Return whether a cell is one that people look for: of pairs of labels each once."""
    dim, labels = data.attrs.get("dim"), cell["coords"]
    if data.attrs["result"] != "pairwise" or not {dim, "baseline"} <= labels.keys():
        return True
    order = data[dim].values.tolist()
    return bool(order.index(labels["baseline"]) < order.index(labels[dim]))


def _is_measured(cell: Cell, main: str, zero: bool) -> bool:
    """Return whether a cell has an answer (of which 0 may be one), or units that have none."""
    answer = np.atleast_1d(cell[main])
    if answer.dtype.kind not in "fc":
        return bool((answer != "").any())
    known = bool(np.any(~np.isnan(answer) if zero else np.nan_to_num(answer)))
    known = known or bool(cell.get("unanswered", 0) == 1)  # to have been asked, and to say nothing, is an answer
    known = known or bool(cell.get("remark"))  # and so is why there is none
    return known or bool(np.nan_to_num(cell.get("n", 0)))


def _effect(value: Any, *, ratio: bool) -> float:
    """Return how large an effect is; what is not known comes last."""
    number_of = float(np.max(value)) if np.size(value) else math.nan
    if math.isnan(number_of) or (ratio and number_of <= 0):
        return -math.inf
    return abs(math.log(number_of)) if ratio else number_of


def _cells(data: xr.Dataset, dims: list[str], inner: tuple[str, ...]) -> Iterator[Cell]:
    """Yield the cells along some dims, with plain values; along inner dims a variable is an array."""
    arrays: dict[str, tuple[Any, list[int]]] = {}
    for name, variable in data.variables.items():
        if name in data.data_vars and set(variable.dims) <= {*dims, *inner}:
            own = [dim for dim in dims if dim in variable.dims]
            arrays[str(name)] = (
                variable.transpose(*own, *(dim for dim in inner if dim in variable.dims)).values,
                [dims.index(dim) for dim in own],
            )
    labels = {dim: list(map(_plain, data[dim].values)) if dim in data.coords else list(range(data.sizes[dim])) for dim in dims}
    own_coords = {str(name): coord.values.tolist() for name, coord in data.coords.items() if coord.ndim == 1 and coord.dims[0] in dims}
    for index in np.ndindex(*(data.sizes[dim] for dim in dims)):
        cell: dict[str, Any] = {}
        for name, (values, places) in arrays.items():
            value = values[tuple(index[place] for place in places)]
            cell[name] = _plain(value)
        cell["coords"] = {dim: labels[dim][place] for dim, place in zip(dims, index, strict=True)}
        for name in ("units", "better"):
            if name in own_coords:
                cell["coords"][name] = own_coords[name][index[dims.index(str(data[name].dims[0]))]]
        yield cell


def _plain(value: Any) -> Any:
    """Return a number or a text as Python's own; a date as it is written."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))
    return value.item() if isinstance(value, np.generic) else value


def _about(data: xr.Dataset, rows: Rows) -> str:
    """Write what the numbers rest on: the labels that all rows share, the level of confidence, the unit."""
    parts = [str(label) if str(label).startswith(f"{dim} ") else f"{dim.replace('_', ' ')} {label}" for dim, label in rows.constant.items()]
    if data.attrs["result"] == "change_points" and rows.frame.empty:
        asked, longest = int(data["pvalue_any"].notnull().sum()), int(data["n"].max())
        return f"no change in {asked} series of up to {longest} {plural(str(data.attrs['dim']))}"
    if data.attrs["result"] == "variance_components":
        parts.append("what each level adds, as standard deviation in percent of the mean")
        if data.attrs.get("limits") == "jackknife":
            parts.append(f"in brackets its {100 * float(data.attrs['confidence_level']):.4g} % interval")
        elif bool(data["share"].notnull().all("level").any()):
            parts.append("in brackets its share of the variance")
    elif data.attrs["result"] == "agreement":
        parts.append(f"{100 * float(data.attrs['confidence_level']):.4g} % intervals")
        parts.append("n/a: these data cannot give the method a verdict (the variable remark says why)")
    elif "confidence_level" in data.attrs:
        parts.append(f"{100 * float(data.attrs['confidence_level']):.4g} % intervals")
    parts += ["medians"] if data.attrs["result"] in MEDIANS and data.attrs.get("statistic") == "median" else []
    together = data.attrs["runs"] if data.attrs["result"] in {"prob_faster", "prob_fastest"} else 1
    parts += [f"totals of {together} runs each"] if together > 1 else []
    parts += ["benchmarks are weighted"] if str(data.attrs.get(WEIGHTS, "")).startswith("{") else []
    if "cost_units" in data.attrs:
        share = data.attrs.get("assurance")
        parts += [] if share is None else [f"{100 * float(share):.4g} % of such experiments reach the half-width"]
        return "; ".join([*parts, f"one-level: its half-width at the same cost with one of everything in each {data[LEVEL].values[0]}"])
    parts += [f"n counts {plural(str(data.attrs['unit']))}"] if "unit" in data.attrs and "n" in rows.frame else []
    return "; ".join(parts)

"""The suite of one system: the benchmarks of every cell; attrs and notes on the others."""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import BETTER, SUITE
from perfarray.suites.matching import Result, along, unmatched_attr
from perfarray.timings.apply import is_chunked
from perfarray.timings.best import slow_end_note
from perfarray.timings.chunks import read_again
from perfarray.timings.labels import label_values
from perfarray.timings.notes import Note, with_notes
from perfarray.timings.resolve import Timings
from perfarray.timings.suite_labels import name_suites, names_one_suite, suites_hint
from perfarray.timings.validation import listed
from perfarray.timings.weights import Weighing
from perfarray.timings.zeros import cell_names

SHOWN = 3  # cells that a note quotes


SPREADS = (
    "range",
    "interquartile_range",
    "standard_deviation",
    "relative_variation",
)  # a bound of the runs is no bound of these


class OneSystem(NamedTuple):
    """The suite of one system: the benchmarks of every cell, and how much each counts."""

    data: Timings
    across: str
    complete: xr.DataArray
    unmatched: tuple[str, ...]
    weighing: Weighing
    incomplete: Note | None = None


def match_cells(data: Timings, across: str, weighing: Weighing) -> OneSystem:
    """Find the benchmarks that count; cells without any value do not matter.

    Benchmarks of one named suite make a score together: a cell that lacks one has none, and is
    named. If no cell has them all, and where no suite is named, those count that every cell has.
    """
    array = along(data, across)
    dims = [dim for dim in array.dims if dim not in data.levels]
    cell_dims, axis = [str(dim) for dim in dims if dim != across], dims.index(across)
    other_axes = tuple(map(dims.index, cell_dims))
    has_data = (~np.isnan(array.data)).any(axis=tuple(map(array.dims.index, data.levels)))
    measured = has_data.any(axis=axis, keepdims=True)
    in_suite = has_data.any(axis=other_axes, keepdims=True)
    full = measured & (has_data | ~in_suite).all(axis=axis, keepdims=True)
    is_named_suite = names_one_suite(array, across)
    by_name = is_named_suite and full.any()
    incomplete = measured & ~full & by_name
    included = (has_data | ~measured).all(axis=other_axes)
    included = (
        (included & ~by_name) | (in_suite.reshape(-1) & by_name) if is_named_suite else included
    )
    names = [name for name in array.coords if name == across]
    complete = xr.DataArray(included, {name: array[name] for name in names}, (across,))
    without_score = xr.Variable(dims, incomplete).isel({across: 0})
    if is_chunked(complete):
        complete = complete.chunk({across: -1})
        array = read_again(data.array, complete)
        array = (
            array.where(~without_score).transpose(*array.dims).assign_attrs(array.attrs)
            if is_named_suite
            else array
        )
        return OneSystem(data._replace(array=array), across, complete, (), weighing)
    if not included.any() and has_data.any():
        raise ValueError(
            f"no label of {across!r} was measured in every cell, so there is no common suite. "
            "Select cells that have benchmarks in common (dims "
            f"{tuple(cell_dims)}){suites_hint(array, across)}"
        )
    missing = () if by_name else label_values(complete, across)[~included & in_suite.reshape(-1)]
    if not incomplete.any():
        return OneSystem(data, across, complete, tuple(map(str, missing)), weighing)
    absent_cells = xr.DataArray(
        xr.Variable(dims, incomplete & in_suite & ~has_data),
        {dim: label_values(array, dim) for dim in dims},
    )
    array = array.where(~without_score).transpose(*array.dims).assign_attrs(array.attrs)
    return OneSystem(
        data._replace(array=array),
        across,
        complete,
        (),
        weighing,
        _incomplete_note(absent_cells, across, int(measured.sum())),
    )


def _incomplete_note(absent_cells: xr.DataArray, across: str, n_cells: int) -> Note:
    """Return the note on the cells that lack benchmarks of their suite, and which."""
    absent_cells = absent_cells.transpose(..., across)
    incomplete = absent_cells.any(across)
    names, rows = cell_names(incomplete), absent_cells.values[incomplete.values]
    benchmarks = [absent_cells[across].values[row].tolist() for row in rows]
    texts = [
        f"{name} (no {listed(lacked, 3)})" for name, lacked in zip(names, benchmarks, strict=True)
    ]
    remainder = f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    text = (
        f"{len(names)} of {n_cells} cells lack benchmarks of their suite and have no score: "
        f"{'; '.join(texts[:SHOWN])}{remainder}. "
        f"times.drop_vars({SUITE!r}) takes the benchmarks that all cells have"
    )
    labels = sorted({str(name) for row in benchmarks for name in row})
    return Note("incomplete_suite", text, {"cells": names, "of": n_cells, "labels": labels})


def describe_one(
    result: Result,
    system: OneSystem,
    attrs: dict[str, Hashable],
    *notes: Note | None,
    checks: tuple[str, ...] = (),
) -> Result:
    """Write the attrs of a result on one system's suite, and its notes."""
    data: Timings = system.data
    across, unmatched = system.across, system.unmatched
    attrs = (
        attrs
        | {"across": across, BETTER: data.better}
        | system.weighing.attrs
        | unmatched_attr(unmatched)
    )
    attrs |= (
        {} if is_chunked(system.complete) else {"n_benchmarks": int(system.complete.values.sum())}
    )
    result = _bounded_scores(result, system) if data.bounded else result
    result.attrs.update(attrs)
    left_out = None
    if unmatched:
        text = (
            f"{len(unmatched)} of {system.complete.size} labels of {across!r} were not measured "
            "in every cell. They are left out of all, "
        )
        text += (
            "so that all cells have the same suite: "
            f"{listed(unmatched)}{suites_hint(data.array, across)}"
        )
        left_out = Note("unmatched", text, {"labels": list(unmatched), "dim": across})
    bounds = data.stopped_note("Their score is a bound, and its spread is NaN")
    suites = name_suites(result, data.array, system.complete, across, by=True)
    slow = slow_end_note([attrs.get("statistic")], data.better)
    if system.incomplete:
        result.attrs.update(unmatched_attr(tuple(system.incomplete.values["labels"])))
    remarks = (
        *data.notes,
        slow,
        *notes,
        *system.weighing.notes,
        bounds,
        suites,
        left_out,
        system.incomplete,
    )
    return with_notes(result, *remarks, checks=checks)


def _bounded_scores(result: Result, system: OneSystem) -> Result:
    """Set to NaN what stopped runs make no bound: spreads, and all where a limit is unknown."""
    at_least, at_most = system.data.bounds.over(system.across)
    one_sided, exact = ~(at_least & at_most), ~(at_least | at_most)
    if isinstance(result, xr.DataArray):
        return result.where(one_sided).transpose(*result.dims).assign_attrs(result.attrs)
    bounded = {}
    for name, variable in result.data_vars.items():
        where = exact if name in SPREADS else one_sided
        bounded[name] = (
            variable
            if name == "n"
            else variable.where(where).transpose(*variable.dims).assign_attrs(variable.attrs)
        )
    return result.assign(bounded)

"""A table of machines: how fast each is, how much it varies, and how it is described."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, MACHINE, MARKS, METRIC, SUITE, UNKNOWN
from perfarray.machines.columns import LABELS, ROLES, computable_responses, computed_roles
from perfarray.machines.descriptors import (
    FAMILY,
    FLAGS,
    OF_BENCHMARKS,
    UNPARSED,
    read_descriptors,
    with_flags,
)
from perfarray.machines.responses import ROW, response_columns, score_columns
from perfarray.machines.sample_table import single_values
from perfarray.timings.across import check_across, joined_notes
from perfarray.timings.apply import is_chunked
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.notes import Note, collecting_notes, with_notes
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.streams import Rng
from perfarray.timings.suite_labels import select_suite, several_suites_note, suites_of
from perfarray.timings.units import pool_above_unit
from perfarray.timings.validation import check_choice

# The end of the names of coordinates that say where a row lies along a dim
POSITION = "_position"

# Attrs of the values that a table keeps
DEFAULT_ATTRS = {"units": "1", "better": "lower"}

# Codes of the notes on how well a variation is known, which a table without one does not need
OF_VARIATION = ("single_unit", "one_session", "move_together")


def machine_table(
    times: Data,
    *,
    response: str | Sequence[str] = ("performance", "relative_variation"),
    across: str = "benchmark",
    by: str | None = None,
    statistic: str = "median",
    mean: str = "geometric",
    method: str = "exact",
    n_resamples: int | None = None,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    progress: bool | None = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """Make a table with a row for each machine: performance, relative variation, and descriptors.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings with a dim of machines, or one score per machine.
    response : str or tuple of str
        `performance`, `relative_variation`, `variation` (their product); the variation that a level
        adds, relative to the mean (`execution_variation`), or its square (`execution_variance`).
    across : str
        The dim of the suite; without it, each row is a benchmark.
    by : str, optional
        A coordinate along `across`: one result for each value. Default: `suite`, if there are
        several.
    statistic, mean, method, n_resamples, unit, shared, rng, progress : optional
        As for `relative_variation`.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the levels present); the variable (default: `time`).

    Returns
    -------
    pandas.DataFrame
        One row per machine and label of the other dims. Columns: labels, responses, `n_runs` (of
        the benchmark with the fewest), `n_benchmarks`, `relative_variation_noise` (of its log), and
        descriptors; `<name>_unparsed` has texts that cannot be read. The attr `roles` (JSON) says
        what is no descriptor.

    Raises
    ------
    ValueError
        Nothing measured; unknown responses, levels or dims; as `relative_variation`.

    Notes
    -----
    Rows of a suite are scores of the same benchmarks; a row that lacks one has no response.
    :doc:`/how-to/explain_variation` names the columns.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section
    7.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [9.0, 10.0], "b": [19.0, 20.0]}, dim="machine")
    >>> caches = ["32 KB I + 32 KB D on chip per core", "a lot"]
    >>> table = perfarray.machine_table(times.assign_coords(l1_cache=("machine", caches)))
    >>> table[["machine", "n_runs", "l1_kb", "l1_cache_unparsed"]].values.tolist()
    [['a', 2, 64.0, ''], ['b', 2, nan, 'a lot']]
    """
    responses = check_names(response, "response")
    scores = single_values(times, metric) if levels is None else None
    if scores is None:
        data = resolve(
            times, metric, levels, shared=shared, censored="bound", with_copies=True, as_nested=True
        )
        data = pool_above_unit(data, unit)
        array, nest, shared, data_notes = data.array, data.levels, data.shared or shared, data.notes
    else:
        for name, option in (("unit", unit), ("shared", shared)):
            if option is not None:
                raise ValueError(f"{name}={option!r} was given for scores without repetitions")
        array, nest, data_notes = scores, (), ()
    for name in responses:
        check_choice(name, "response", computable_responses(nest))
    check_across(across, array, nest)
    if is_chunked(array) and nest:
        dims = [dim for dim in (across, *nest) if dim in array.dims]
        array = evenly_chunked(array, {dim: array.sizes[dim] for dim in dims})
    else:
        array = array.copy(data=array.values)  # descriptors stay lazy
    suites_note = several_suites_note(array, across) if by is None else None
    by = by if suites_note is None else SUITE
    coordinates, array = _apart(array, nest, across, by)
    options: dict[str, Any] = {"statistic": statistic, "mean": mean, "method": method}
    options |= {"n_resamples": n_resamples, "shared": shared, "rng": rng, "progress": progress}
    options["levels"] = None if unit is None and levels is None else nest
    row_arrays, labels, columns, left_out, notes = _suites_in_rows(
        array, nest, across, by, responses, options
    )
    by_name = {
        name: [
            variable.isel({dim: rows[f"{dim}{POSITION}"].variable for dim in variable.dims})
            for rows in row_arrays
        ]
        for name, variable in coordinates.items()
    }
    for name in FLAGS:
        if name in row_arrays[0].coords and row_arrays[0][name].dims == (ROW,):
            by_name[name] = [rows[name].variable for rows in row_arrays]
    descriptors, flags, unparsed = read_descriptors(by_name, labels)
    table = pd.concat([labels, columns, pd.DataFrame(descriptors, index=columns.index)], axis=1)
    # What was read of a label whole, in columns of their own, would explain the same twice.
    read = {name for name in labels if f"{name}{FAMILY}" in descriptors and name not in unparsed}
    of_rows = {*LABELS, by, *read, *(FLAGS if flags else ())}
    roles = {str(name): "label" for name in table if name in of_rows}
    roles |= computed_roles(responses, nest) | dict.fromkeys(flags, "flag")
    roles |= {f"{name}{UNPARSED}": "unparsed" for name in unparsed}
    table.attrs = {name: str(array.attrs.get(name, text)) for name, text in DEFAULT_ATTRS.items()}
    table.attrs |= {
        "result": "machine_table",
        METRIC: str(array.name or "time"),
        "n_unparsed": sum(unparsed.values()),
        "unparsed": ", ".join(f"{name}: {count}" for name, count in sorted(unparsed.items())),
    }
    if "relative_variation" in table:
        table.attrs["n_zero_variation"] = int((table["relative_variation"] == 0).sum())
    table.attrs |= {"unmatched": ", ".join(left_out)} if left_out else {}
    table.attrs[ROLES] = json.dumps(roles)
    return with_notes(table, *data_notes, suites_note, *notes)


def _suites_in_rows(
    array: xr.DataArray,
    nest: tuple[str, ...],
    across: str,
    by: str | None,
    responses: Sequence[str],
    options: dict[str, Any],
) -> tuple[list[xr.DataArray], pd.DataFrame, pd.DataFrame, tuple[str, ...], list[Note]]:
    """Return the rows of each suite, and the labels and responses of all.

    Also the benchmarks that were dropped, and notes.
    """
    suites = {"": array}
    if by is not None:
        arrays = {
            name: select_suite(array, by, across, name, benchmarks)
            for name, benchmarks in suites_of(array, by, across).items()
        }
        # Suites in which nothing was measured have no rows.
        suites = {
            name: suite_rows for name, suite_rows in arrays.items() if suite_rows.notnull().any()
        } or suites
    row_arrays, labels, columns = [], [], []
    left_out, by_code = dict[str, None](), dict[str, dict[str, Note]]()
    for suite, suite_array in suites.items():
        rows, suite_labels = _rows(suite_array, nest, across)
        rows = with_flags(rows, ROW, across)
        with collecting_notes() as inner:
            if nest:
                suite_columns, dropped, column_notes = response_columns(
                    rows, nest, across, responses, options
                )
            else:
                suite_columns, dropped, column_notes = score_columns(
                    rows, across, options["mean"], responses
                )
        row_arrays.append(rows)
        labels.append(suite_labels if by is None else suite_labels.assign(**{by: suite}))
        columns.append(suite_columns)
        left_out |= dict.fromkeys(dropped)
        for note in (*inner, *column_notes):
            if {*responses} != {"performance"} or note.code not in OF_VARIATION:
                by_code.setdefault(note.code, {}).setdefault(suite, note)
    notes = [
        note
        for by_label in by_code.values()
        for note in (by_label.values() if by is None else [joined_notes(by_label, by)])
    ]
    all_labels, all_columns = (pd.concat(frames, ignore_index=True) for frames in (labels, columns))
    return row_arrays, all_labels, all_columns, tuple(left_out), notes


def _apart(
    array: xr.DataArray, levels: Sequence[str], across: str, by: str | None
) -> tuple[dict[str, xr.Variable], xr.DataArray]:
    """Return the descriptors of cells, and the array with positions instead.

    By the positions each row finds its descriptors once.
    """
    if MACHINE in array.coords and not array.coords[MACHINE].dims:  # one machine was selected
        array = array.expand_dims(MACHINE)
    inner, not_descriptors = (
        {across, *levels},
        {*MARKS, CENSORED_AT, *FLAGS, *OF_BENCHMARKS, SUITE, by},
    )
    names = [name for name in array.coords if name not in not_descriptors]
    descriptors = {
        str(name): array.coords[name].variable
        for name in names
        if array.coords[name].dims and not inner & {*array.coords[name].dims}
    }
    positions = {
        f"{dim}{POSITION}": (dim, np.arange(size))
        for dim, size in array.sizes.items()
        if dim not in inner
    }
    array = array.drop_vars([name for name in names if name not in array.dims])
    return descriptors, array.assign_coords(positions)


def _rows(
    array: xr.DataArray, levels: Sequence[str], across: str
) -> tuple[xr.DataArray, pd.DataFrame]:
    """Put every combination of labels that was measured along one dim, machines first.

    Also return its labels.
    """
    dims = sorted(
        (str(dim) for dim in array.dims if dim not in levels and dim != across),
        key=lambda dim: (dim != MACHINE, dim),
    )
    if not dims:
        array, dims = array.expand_dims({MACHINE: np.array([UNKNOWN], dtype=object)}), [MACHINE]
    inner = [str(dim) for dim in array.dims if dim not in dims]
    measured = array.notnull().any(inner).transpose(*dims).values
    if not measured.any():
        raise ValueError(
            f"nothing was measured: all {array.size} values of {array.name or 'the data'} are NaN"
        )
    indexers = dict(
        zip(
            dims, (xr.DataArray(indices, dims=ROW) for indices in np.nonzero(measured)), strict=True
        )
    )
    rows = (
        array.swap_dims({dims[0]: ROW})
        if measured.all() and len(dims) == 1
        else array.isel(indexers)
    )
    varying = [dim for dim in dims if dim == MACHINE or array.sizes[dim] > 1]
    labels = pd.DataFrame(
        {dim: rows[dim].values if dim in rows.coords else indexers[dim].values for dim in varying}
    )
    # Notes name rows by these.
    names = (
        labels[varying[0]]
        if len(varying) == 1
        else labels[varying[0]].astype(str).str.cat(labels[varying[1:]].astype(str), sep=", ")
    )
    return rows.assign_coords({ROW: names.to_numpy()}).transpose(ROW, *inner), labels

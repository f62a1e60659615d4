"""One row per machine: how fast it is, how much it varies, and what it is made of, as typed columns."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import BETTER, CENSORED, LOWER, MACHINE, METRIC, SUITE, UNKNOWN
from perfarray.machines.descriptors import UNPARSED, Described, described, with_flags
from perfarray.machines.numerics.noise_ceiling import concentration, log_spread_noise, spread_of_redrawn
from perfarray.machines.numerics.principal_components import complete_part
from perfarray.machines.roles import (
    COUNTS,
    LABELS,
    LOG_NOISE,
    ROLES,
    computable_responses,
    computed_roles,
    noise_of,
    variance_of,
    variation_of,
)
from perfarray.machines.single_values import single_values
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.suite import MEANS, suite_mean
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.suites.distributions import relative_variation
from perfarray.timings.across import check_across, name_suites, of_suite, shared_names, suites_hint, suites_of
from perfarray.timings.apply import apply, is_chunked, outputs
from perfarray.timings.best import named_end
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.notes import Note, collecting, is_lazy, noted
from perfarray.timings.notes import notes as notes_of
from perfarray.timings.resolve import Data, check_names, resolve
from perfarray.timings.streams import Rng
from perfarray.timings.units import pooled
from perfarray.timings.validation import check_choice, check_count, listed

ROW: Final = "row"


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
    n_flags: int = 100,
    unit: str | None = None,
    shared: str | Sequence[str] | None = None,
    levels: str | Sequence[str] | None = None,
    rng: Rng = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """Make a table of machines: performance, its relative variation, and every descriptor as a typed column.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings or scores with a dim of machines; or one score per machine without repetitions, as in dumps of published results. Lazy
        timings are computed chunk by chunk.
    response : str or tuple of str
        What is computed: `performance`, `relative_variation`, `variation` (performance x relative variation), and for each level of the
        nest what it adds to the variation, relative to the mean (`execution_variation`, `iteration_variation`), or its square as estimated
        without bias (`execution_variance`: negative where that is the estimate; `execution_variance_noise`, what the levels below add to
        the variance of the means of executions, then stands beside it).
    across : str
        The dim of the suite; without it, each row is a benchmark of its own.
    by : str, optional
        A coordinate along `across`, such as `suite`: rows for each of its values, and a column that names it. Default: `suite` where names
        stand for benchmarks of several suites; else all rows are of one.
    statistic, mean, method, n_resamples, unit, shared, rng : optional
        As for `relative_variation`.
    n_flags : int
        How many of the commonest flags become columns.
    levels, metric : str or sequence of str; str, optional
        The nest, outermost first (default: the repetition dims present); the variable of a Dataset (default: its `time`).

    Returns
    -------
    pandas.DataFrame
        One row per machine that was measured. Where other dims are left (`compiler`, `file`, `binary` left out of `levels=`), one row for
        each combination that was measured, and a column that names it.

        Responses, `n_runs` (runs of the benchmark with the fewest), `n_benchmarks`, and `relative_variation_noise`: the standard deviation
        of the sampling noise of log relative variation, from which `explain_variation` computes a noise ceiling. Then descriptors: numbers,
        True or False, or categories; NaN and `unknown` are what nobody wrote down. Caches become `l1_kb` (instructions and data, as
        stated), `l1_instruction_kb`, `l1_data_kb` and `l1_per` (core, chip); memory `memory_gb`, `memory_sticks`, `memory_stick_gb`,
        `memory_speed`; dates are years (May 2012 is 2012.333); `os` and `compiler` are families, with `os_version`, `compiler_version`;
        flags are columns `flag -O3` of True and False, those of single benchmarks included.
        Runs stopped at a limit count as that: performance is a bound, variation NaN.

        A text from which nothing could be read stays in a column `<name>_unparsed`. Attrs: `n_unparsed`, all of them, and `unparsed`, how
        many by name; `n_zero_variation`, rows whose runs are all alike (by rounding); `unmatched`, benchmarks that were left out; `roles`,
        which columns are responses, counts, noise, labels, flags or unread texts (JSON): all others describe machines.

    Raises
    ------
    ValueError
        Nothing measured; unknown responses, levels or dims; and what `relative_variation` raises.

    See Also
    --------
    explain_variation : what explains performance or variation

    Notes
    -----
    All rows are scores of the same suite. Where a row lacks a benchmark, the benchmark or the row with the largest share of gaps goes, and
    so on until there are none; such a row keeps its place, without responses, and is named in a warning.

    References
    ----------
    S. Irving et al., "Computer comparisons in the presence of performance variation", 2018, section 7.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.from_samples({"a": [9.0, 10.0, 11.0], "b": [19.0, 20.0, 21.0]}, dim="machine")
    >>> described = times.assign_coords(l1_cache=("machine", ["32 KB I + 32 KB D on chip per core", "a lot"]))
    >>> table = perfarray.machine_table(described)
    >>> table[["machine", "n_runs", "l1_kb", "l1_cache_unparsed"]].values.tolist()
    [['a', 3, 64.0, ''], ['b', 3, nan, 'a lot']]
    >>> table.attrs["unparsed"]
    'l1_cache: 1'
    """
    check_count(n_flags, "n_flags", 0)
    responses_named = check_names(response, "response")
    scores = single_values(times, metric) if levels is None else None
    data = pooled(resolve(times, metric, levels, shared=shared, censored="bound"), unit) if scores is None else None
    for name, option in (("unit", unit), ("shared", shared)):
        if scores is not None and option is not None:
            raise ValueError(f"{name}={option!r} was given for scores without repetitions")
    nest = data.levels if data is not None else ()
    for name in responses_named:
        check_choice(name, "response", computable_responses(nest))
    array = data.array if data is not None else scores
    assert array is not None  # one of the two was made
    check_across(across, array, nest)
    full_chunks: dict[Hashable, int] = {dim: array.sizes[dim] for dim in (across, *nest) if dim in array.dims}
    array = evenly_chunked(array, full_chunks) if is_chunked(array) and nest else array.copy(data=array.values)  # descriptors stay lazy
    options: dict[str, Any] = {"statistic": statistic, "mean": mean, "method": method, "n_resamples": n_resamples, "rng": rng}
    options["shared"] = (data.shared if data is not None else ()) or shared
    tables, gathered = [], []
    several = shared_names(array, across) if by is None else None
    if several is not None:
        by = SUITE
        gathered.append(several)
    for suite, suite_array in _suites(array, by, across).items():
        rows, labels = _rows(suite_array, nest, across)
        rows = with_flags(rows, ROW, across)
        with collecting() as inner:
            responses = _responses(rows, nest, across, responses_named, options) if nest else _scores(rows, across, mean, responses_named)
        if by is not None:
            labels[by] = suite
        tables.append((rows, labels, responses))
        gathered += [replace(note, message=f"{suite}: {note.message}") if suite else note for note in (*inner, *responses.notes)]
    labels, computed = (
        pd.concat(frames, ignore_index=True)
        for frames in ([suite_array[1] for suite_array in tables], [suite_array[2].table for suite_array in tables])
    )
    descriptors = described(_coordinates([rows for rows, *_ in tables]), labels, n_flags)
    table = pd.concat([labels, computed, pd.DataFrame(descriptors.columns, index=computed.index)], axis=1)
    roles = dict.fromkeys([str(name) for name in table if name in (*LABELS, by)], "label") | computed_roles(responses_named, nest)
    roles |= {f"{name}{UNPARSED}": "unparsed" for name in descriptors.unparsed} | dict.fromkeys(descriptors.flags, "flag")
    left_out = [name for *_, responses in tables for name in responses.left_out]
    table.attrs = _attrs(array, table, left_out, descriptors) | {ROLES: json.dumps(roles)}
    mixed = None if by is not None else name_suites(table, array, tables[0][2].counted(array, across), across, by=True)
    return noted(table, *(data.notes if data else ()), *gathered, mixed)


def _suites(array: xr.DataArray, by: str | None, across: str) -> dict[str, xr.DataArray]:
    """Return what each suite has rows of its own for, those without any measurement left out; all as one where there is no `by`."""
    if by is None:
        return {"": array}
    arrays = {name: of_suite(array, by, across, name, benchmarks) for name, benchmarks in suites_of(array, by, across).items()}
    return {name: suite_array for name, suite_array in arrays.items() if suite_array.notnull().any()} or {"": array}


def _coordinates(row_arrays: Sequence[xr.DataArray]) -> dict[str, list[xr.Variable]]:
    """Return the coordinates of all rows, those of each part apart."""
    names = [str(name) for name, coordinate in row_arrays[0].coords.items() if coordinate.dims == (ROW,)]
    return {name: [rows.coords[name].variable for rows in row_arrays] for name in names}


class _Computed(NamedTuple):
    """Columns of responses and of what they rest on, the benchmarks that were left out of all rows, and what there is to say."""

    table: pd.DataFrame
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def counted(self, array: xr.DataArray, across: str) -> xr.DataArray:
        """Return which benchmarks are in the suite of all rows."""
        labels = array[across].values if across in array.dims else np.zeros(1)
        return xr.DataArray([str(label) not in self.left_out for label in labels], dims=across)


def _rows(array: xr.DataArray, levels: Sequence[str], across: str) -> tuple[xr.DataArray, pd.DataFrame]:
    """Put every combination of labels that was measured on one dim, machines first; also return its labels."""
    dims = sorted((str(dim) for dim in array.dims if dim not in levels and dim != across), key=lambda dim: (dim != MACHINE, dim))
    if not dims:
        array, dims = array.expand_dims({MACHINE: np.array([UNKNOWN], dtype=object)}), [MACHINE]
    inner = [str(dim) for dim in array.dims if dim not in dims]
    measured = array.notnull().any(inner).transpose(*dims).values
    if not measured.any():
        raise ValueError(f"nothing was measured: all {array.size} values of {array.name or 'the data'} are NaN")
    indexers = dict(zip(dims, (xr.DataArray(indices, dims=ROW) for indices in np.nonzero(measured)), strict=True))
    rows = array.swap_dims({dims[0]: ROW}) if measured.all() and len(dims) == 1 else array.isel(indexers)
    varying = [dim for dim in dims if dim == MACHINE or array.sizes[dim] > 1]
    labels = {dim: rows[dim].values if dim in rows.coords else indexers[dim].values for dim in varying}
    return rows.transpose(ROW, *inner), pd.DataFrame(labels)


def _scores(rows: xr.DataArray, across: str, mean: str, responses_named: tuple[str, ...]) -> _Computed:
    """Return performance from one value per machine (and benchmark); how it varies is not known."""
    values = rows.values.reshape(rows.sizes[ROW], -1)
    suite, benchmarks = None, 1
    if across in rows.dims:
        check_choice(mean, "mean", MEANS)
        suite = _same_suite(~np.isnan(values), rows[across].values, suites_hint(rows, across))
        usable = np.where(suite.rows[:, None], values, np.nan)[:, suite.columns]
        if mean != "arithmetic" and (usable <= 0).any():
            raise ValueError(
                f"mean={mean!r} needs positive values; {int((usable <= 0).sum())} scores are zero or negative: zeros that mean "
                "'not measured' must be NaN"
            )
        values, benchmarks = suite_mean(usable, mean)[:, None], int(suite.columns.sum())
    columns = {name: values[:, 0] if name == "performance" else np.full(len(values), np.nan) for name in responses_named}
    counts = np.ones(len(values), dtype=int), np.full(len(values), benchmarks)
    table = pd.DataFrame(columns | dict(zip(COUNTS, counts, strict=True)))
    return _Computed(table) if suite is None else _Computed(table, suite.left_out, suite.notes)


class _Suite(NamedTuple):
    """Which rows and benchmarks are the same suite for all, the benchmarks that are not, and what there is to say of it."""

    rows: Mask
    columns: Mask
    left_out: tuple[str, ...]
    notes: tuple[Note, ...]


def _same_suite(measured: Mask, benchmarks: Any, hint: str) -> _Suite:
    """Find the rows and benchmarks that leave no gap."""
    rows, columns = complete_part(measured)
    left_out = tuple(str(name) for name in benchmarks[~columns])
    notes = []
    if left_out:
        text = f"{len(left_out)} of {len(columns)} benchmarks are left out, so that all rows have the same suite: {listed(left_out)}{hint}"
        notes.append(Note("benchmarks_left_out", text, {"benchmarks": list(left_out), "of": len(columns)}))
    if not rows.all():
        lacking = int((~rows).sum())
        text = f"{lacking} of {len(rows)} rows lack benchmarks of the suite and have no response{'' if left_out else hint}"
        notes.append(Note("incomplete_rows", text, {"rows": lacking, "of": len(rows)}))
    return _Suite(rows, columns, left_out, tuple(notes))


def _responses(
    rows: xr.DataArray, nest: tuple[str, ...], across: str, responses_named: tuple[str, ...], options: dict[str, Any]
) -> _Computed:
    """Return responses and how well they are known, one row each; lazy timings are read chunk by chunk."""
    array = rows.reset_coords(drop=True).assign_coords({CENSORED: rows.coords[CENSORED].variable} if CENSORED in rows.coords else {})
    if across not in array.dims:
        array = array.expand_dims({across: ["all"]})
    array = array.transpose(ROW, across, *nest)
    measured = array.notnull().any(nest).values
    rows_kept, columns, left_out, notes = _same_suite(measured, array[across].values, suites_hint(rows, across))
    suite = (
        array if measured.all() else array.isel({ROW: np.flatnonzero(rows_kept), across: np.flatnonzero(columns)}).assign_attrs(array.attrs)
    )
    answers = relative_variation(suite, across=across, levels=nest, **options).drop_vars("standard_deviation")
    statistic = named_end(options["statistic"], str(rows.attrs.get(BETTER, LOWER)))
    level_columns = [name(level) for level in nest for name in (variance_of, _noise_of_variance, variation_of)]
    by_level = apply(
        partial(_further, levels=nest, statistic=statistic),
        _of_whole_rows(suite),
        core=[(across, *nest)],
        outputs=outputs(**dict.fromkeys([*level_columns, CONCENTRATION], "")),
    )
    roles = computed_roles(responses_named, nest)
    columns_named = [*responses_named, *(name for name, role in roles.items() if role == "noise")]
    answers = answers.assign({name: by_level[name] for name in (*columns_named, CONCENTRATION) if name in by_level})
    if is_lazy(answers):
        answers = answers.compute()
        notes += notes_of(answers)
    if "variation" in columns_named:
        answers["variation"] = answers["performance"] * answers["relative_variation"]
    runs = answers["n"].values.astype(int)
    numbers = {name: answers[name].values for name in columns_named}
    numbers |= dict(zip(COUNTS, (runs, np.full(len(runs), int(columns.sum()))), strict=True))
    if LOG_NOISE in roles:
        numbers[LOG_NOISE] = _noise(answers[CONCENTRATION].values, suite.sizes[across], runs, statistic)
    return _Computed(pd.DataFrame({name: _of_all(values, rows_kept) for name, values in numbers.items()}), left_out, notes)


def _of_all(values: npt.NDArray[Any], rows_kept: Mask) -> npt.NDArray[Any]:
    """Return the numbers of the rows that were kept as those of all rows: of the others, counts are 0, and all else is NaN."""
    if len(values) == len(rows_kept):
        return values
    column = np.full(len(rows_kept), 0 if values.dtype.kind == "i" else np.nan, dtype=values.dtype)
    column[rows_kept] = values
    return column


def _of_whole_rows(suite: xr.DataArray) -> xr.DataArray:
    """Return the values, NaN in rows with stopped runs: how these vary is not known."""
    if CENSORED not in suite.coords:
        return suite
    mark = suite.coords[CENSORED]
    return suite.where(~mark.any([dim for dim in mark.dims if dim != ROW])).transpose(*suite.dims)


CONCENTRATION: Final = "_concentration"
"""How unequal the benchmarks' contributions to the variation of a row are."""


def _noise_of_variance(level: str) -> str:
    """Name what was taken off the variance of a level."""
    return noise_of(variance_of(level))


def _further(values: Floats, levels: tuple[str, ...], statistic: str) -> tuple[Floats, ...]:
    """Return what each level adds over benchmarks (relative variance, noise that was taken off, root), and how unequal these are."""
    components = nested_anova(values, len(levels))
    squared = components.mean[..., None] ** 2
    variance = _mean_of_known(components.variance / squared)
    noise = _mean_of_known((components.level_variance - components.variance) / squared)
    columns = []
    for number in range(len(levels)):
        columns += [variance[:, number], noise[:, number], np.sqrt(np.maximum(variance[:, number], 0.0))]
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = spread_of_redrawn(np.log(one_value_per_unit(values, len(levels), 0)), statistic)
    return *columns, concentration(spread)


def _mean_of_known(shares: Floats) -> Floats:
    """Return means over the benchmarks, axis 1, of what is not NaN."""
    counts = (~np.isnan(shares)).sum(axis=1)
    return np.asarray(np.where(counts > 0, np.nansum(shares, axis=1) / np.maximum(counts, 1), np.nan))


def _noise(concentrations: Floats, benchmarks: int, runs: Integers, statistic: str) -> Floats:
    """Return the noise of log relative variation, the same for all rows with equally many runs."""
    noise = np.full(len(runs), np.nan)
    for number in np.unique(runs[runs > 1]).tolist():
        noise[runs == number] = log_spread_noise(concentrations[runs == number], benchmarks, number, statistic)
    return noise


def _attrs(array: xr.DataArray, table: pd.DataFrame, left_out: list[str], descriptors: Described) -> dict[Hashable, Any]:
    """Return the attrs of the table."""
    attrs: dict[Hashable, Any] = {
        "result": "machine_table",
        METRIC: str(array.name or "time"),
        "units": str(array.attrs.get("units", "1")),
        "better": str(array.attrs.get("better", "lower")),
        "n_unparsed": sum(descriptors.unparsed.values()),
        "unparsed": ", ".join(f"{name}: {count}" for name, count in sorted(descriptors.unparsed.items())),
    }
    if "relative_variation" in table:
        attrs["n_zero_variation"] = int((table["relative_variation"] == 0).sum())
    if left_out:
        attrs["unmatched"] = ", ".join(dict.fromkeys(left_out))
    return attrs

"""The responses of a table of machines: performance, its variation, and the noise of it."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BETTER, CENSORED, LOWER, SUITE
from perfarray.machines.columns import COUNTS, LOG_NOISE, computed_roles, level_columns
from perfarray.machines.numerics.noise_ceiling import (
    concentration,
    log_spread_noise,
    spread_of_redrawn,
)
from perfarray.machines.numerics.principal_components import complete_part
from perfarray.numerics.levels import (
    measured_units,
    one_value_per_unit,
    repeated_level,
    units_on_one_axis,
)
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.suite import MEANS, suite_mean
from perfarray.numerics.types import Floats, Mask
from perfarray.suites.one_system import match_cells
from perfarray.suites.spreads import relative_variation
from perfarray.timings.apply import apply, outputs
from perfarray.timings.best import resolve_best
from perfarray.timings.notes import Note, is_lazy
from perfarray.timings.notes import notes as notes_of
from perfarray.timings.repeated import number_of_unit_levels
from perfarray.timings.resolve import Timings
from perfarray.timings.suite_labels import names_one_suite, suites_hint
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.weights import weigh

ROW: Final = "row"

# How unequal the contributions of the benchmarks to the variation of a row are.
CONCENTRATION: Final = "_concentration"

# The position in the nest of the level that most benchmarks of a row repeat.
UNIT: Final = "_unit"

# Columns, benchmarks that were dropped from all rows, and notes.
Columns = tuple[pd.DataFrame, tuple[str, ...], tuple[Note, ...]]


def score_columns(rows: xr.DataArray, across: str, mean: str, names: Sequence[str]) -> Columns:
    """Return performance from one value per machine (and benchmark); its variation is unknown."""
    values = rows.values.reshape(rows.sizes[ROW], -1)
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    benchmarks = 1
    if across in rows.dims:
        check_choice(mean, "mean", MEANS)
        complete, columns, left_out, notes = _same_suite(rows.notnull(), across)
        usable = np.where(complete[:, None], values, np.nan)[:, columns]
        if mean != "arithmetic" and (usable <= 0).any():
            raise ValueError(
                f"mean={mean!r} needs positive values, and {int((usable <= 0).sum())} scores are "
                "zero or negative. Zeros that mean 'not measured' must be NaN."
            )
        values, benchmarks = suite_mean(usable, mean)[:, None], int(columns.sum())
    table = pd.DataFrame({name: np.full(len(values), np.nan) for name in names})
    if "performance" in names:
        table["performance"] = values[:, 0]
    table["n_runs"], table["n_benchmarks"] = 1, benchmarks
    return table, left_out, notes


def _same_suite(
    measured: xr.DataArray, across: str
) -> tuple[Mask, Mask, tuple[str, ...], tuple[Note, ...]]:
    """Return the rows and benchmarks that leave no gap, the benchmarks that are dropped, and notes.

    Benchmarks of a named suite are those of its scores, if any row has them all. Else benchmarks
    and rows are dropped until no gap is left.
    """
    cells = measured.astype(float).where(measured)
    if names_one_suite(cells, across) and (measured | ~measured.any(ROW)).all(across).any():
        suite = match_cells(Timings(cells, (), {}), across, weigh(cells, across, None))
        incomplete = () if suite.incomplete is None else (suite.incomplete,)
        return suite.data.array.notnull().any(across).values, suite.complete.values, (), incomplete
    rows, columns = complete_part(measured.values)
    left_out = tuple(str(name) for name in measured[across].values[~columns])
    hint, notes = suites_hint(cells, across), []
    if left_out:
        text = (
            f"{len(left_out)} of {len(columns)} benchmarks are left out, so that all rows have "
            f"the same suite: {listed(left_out)}{hint}"
        )
        values = {"dim": across, "labels": list(left_out), "of": len(columns)}
        notes.append(Note("labels_left_out", text, values))
    if not rows.all():
        n_incomplete = int((~rows).sum())
        text = (
            f"{n_incomplete} of {len(rows)} rows lack benchmarks of the suite and have no "
            f"response{'' if left_out else hint}"
        )
        notes.append(Note("rows_left_out", text, {"rows": n_incomplete, "of": len(rows)}))
    return rows, columns, left_out, tuple(notes)


def response_columns(
    rows: xr.DataArray,
    nest: tuple[str, ...],
    across: str,
    names: Sequence[str],
    options: dict[str, Any],
) -> Columns:
    """Return responses and how well they are known; lazy timings are read chunk by chunk."""
    marks = {name: rows[name].variable for name in (CENSORED,) if name in rows.coords}
    array = rows.reset_coords(drop=True).assign_coords(marks)
    if across not in array.dims:
        array = array.expand_dims({across: ["all"]})
    array = array.transpose(ROW, across, *nest)
    suites = {SUITE: rows.coords[SUITE].variable} if SUITE in rows.coords else {}
    measured = array.notnull().any(nest).compute().assign_coords(suites)
    complete, columns, left_out, notes = _same_suite(measured, across)
    suite = (
        array.assign_coords(suites)
        if names_one_suite(measured.astype(float).where(measured), across)
        else array
    )
    if not measured.all():
        suite = suite.isel(
            {ROW: np.flatnonzero(complete), across: np.flatnonzero(columns)}
        ).assign_attrs(array.attrs)
    responses = relative_variation(suite, across=across, **options).drop_vars("standard_deviation")
    statistic = resolve_best(options["statistic"], str(rows.attrs.get(BETTER, LOWER)))
    uncensored = suite
    if CENSORED in suite.coords:  # how rows with stopped runs vary is unknown
        is_stopped = suite.coords[CENSORED]
        is_stopped = is_stopped.any([dim for dim in is_stopped.dims if dim != ROW])
        uncensored = suite.where(~is_stopped).transpose(*suite.dims)
    by_default = options["levels"] is None
    n_units = number_of_unit_levels(nest) if by_default else 1
    variables = [*(name for level in nest for name in level_columns(level)), CONCENTRATION, UNIT]
    by_level = apply(
        partial(_level_columns, levels=nest, n_units=n_units, statistic=statistic),
        uncensored,
        core=[(across, *nest)],
        outputs=outputs(**dict.fromkeys(variables, "")),
    )
    roles = computed_roles(names, nest)
    of_table = [*names, *(name for name, role in roles.items() if role == "noise")]
    responses = responses.assign(
        {name: by_level[name] for name in (*of_table, CONCENTRATION, UNIT) if name in by_level}
    )
    if is_lazy(responses):
        responses = responses.compute()
        if by_default:  # until it was computed, the outermost level was the unit
            depth = np.bincount(responses[UNIT].values.astype(int)).argmax()
            responses.attrs["unit"] = nest[int(depth)]
        notes += notes_of(responses)
    if "variation" in of_table:
        responses["variation"] = responses["performance"] * responses["relative_variation"]
    runs = responses["n"].values.astype(int)
    values = {name: responses[name].values for name in of_table}
    table = pd.DataFrame(values, index=np.flatnonzero(complete))
    table["n_runs"], table["n_benchmarks"] = runs, np.where(runs > 0, columns.sum(), 0)
    if LOG_NOISE in roles:
        concentrations, noise = responses[CONCENTRATION].values, np.full(len(runs), np.nan)
        # Rows with equally many runs have the same noise.
        for number in np.unique(runs[runs > 1]).tolist():
            concentrated, n_benchmarks = concentrations[runs == number], suite.sizes[across]
            noise[runs == number] = log_spread_noise(concentrated, n_benchmarks, number, statistic)
        table[LOG_NOISE] = noise
    table = table.reindex(range(len(complete)))
    table[[*COUNTS]] = table[[*COUNTS]].fillna(0).astype(int)
    return table, left_out, notes


def _level_columns(
    values: Floats, levels: tuple[str, ...], n_units: int, statistic: str
) -> tuple[Floats, ...]:
    """Return the relative variance of each level, averaged over benchmarks, its noise and root.

    Also the concentration of units, and the depth of the level that most benchmarks repeat.
    """
    components = nested_anova(values, len(levels))
    squared = components.mean[..., None] ** 2
    with np.errstate(invalid="ignore"):  # a benchmark of zeros has no relative variance
        variance = _mean_of_known(components.variance / squared)
        noise = _mean_of_known((components.level_variance - components.variance) / squared)
    columns = []
    for number in range(len(levels)):
        columns += [
            variance[:, number],
            noise[:, number],
            np.sqrt(np.maximum(variance[:, number], 0.0)),
        ]
    with np.errstate(invalid="ignore", divide="ignore"):
        units = values if n_units == 1 else units_on_one_axis(values, len(levels), n_units)
        spread = spread_of_redrawn(np.log(one_value_per_unit(units, len(levels), 0)), statistic)
        depth = repeated_level(measured_units(~np.isnan(values), len(levels), n_units)).reshape(
            len(values), -1
        )
    return *columns, concentration(spread), np.median(depth, axis=1)


def _mean_of_known(shares: Floats) -> Floats:
    counts = (~np.isnan(shares)).sum(axis=1)
    return np.asarray(
        np.where(counts > 0, np.nansum(shares, axis=1) / np.maximum(counts, 1), np.nan)
    )

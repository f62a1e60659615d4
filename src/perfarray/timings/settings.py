"""Recorded settings in which two sides differ, and the notes that name them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import (
    BENCHMARK,
    CLOCKS,
    COUNTS,
    ESTIMATED,
    HIGHER,
    HISTORY,
    HOSTS,
    LEVELS,
    LOOPS,
    MARKS,
    MODELS,
    OF_MACHINES,
    SUITE,
    UNKNOWN,
    VALID,
    VERSION,
)
from perfarray.timings.apply import is_chunked
from perfarray.timings.dates import are_dates
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed
from perfarray.timings.zeros import cell_names

DIFFERENT_MACHINES: Final = "different_machines"
SETTINGS_DIFFER: Final = "settings_differ"

COPIES: Final = "copies"
# Numbers of concurrent runs: they are named whatever is compared
CONCURRENCY: Final = (COPIES, "threads")

# Clocks and sizes of memory as operating systems report them vary by less than this on one machine
MEASURED: Final = (*CLOCKS, "memory_gb", "ram")
TOLERANCE: Final = 0.02

# Words in the names of what is recorded of a run and is no setting: it differs whenever something
# is measured again
RECORDS: Final = frozenset({
    "attempt", "author", "boot", "branch", "build", "category", "command", "comment", "commit",
    "confidence", "created", "date", "datetime", "day", "description", "details", "duration",
    "elapsed", "end", "error", "executable", "experiment", "failed", "file", "filename",
    "folder", "git", "hash", "id", "job", "label", "load", "loops", "measured", "message",
    "name", "notes", "number", "occurrence", "path", "pid", "pr", "profile", "project",
    "reason", "recorded", "rev", "revision", "run", "seconds", "seed", "sha", "stamp", "start",
    "started", "status", "tag", "tags", "temp", "temperature", "termination", "time",
    "timestamp", "title", "ts", "uid", "uptime", "url", "user", "username", "uuid", "weight",
    "when",
})  # fmt: skip
# Words that make a setting of such a name, as `warmup_time` is
SETTINGS: Final = frozenset({"dirty", "measurement", "type", "warmup"})
# Words in names of settings that are known to change what is measured; others are named without a
# warning
EFFECTIVE: Final = frozenset(
    {
        "affinity",
        "aslr",
        "build",
        "bytes",
        "compiler",
        "configuration",
        "copies",
        "debug",
        "debugger",
        "dirty",
        "elements",
        "forks",
        "gc",
        "gomaxprocs",
        "goos",
        "governor",
        "jdk",
        "jmh",
        "jre",
        "jvm",
        "kernel",
        "measurement",
        "os",
        "python",
        "runtime",
        "scaling",
        "threads",
        "turbo",
        "version",
        "vm",
        "warmup",
    }
)
NO_SETTINGS: Final = frozenset(
    {
        *LEVELS,
        *MARKS,
        *HISTORY,
        BENCHMARK,
        ESTIMATED,
        LOOPS,
        SUITE,
        VALID,
        VERSION,
        "file",
        "baseline",
    }
)
# Dims whose labels are programs that are compared with each other: what describes them is what is
# compared
PROGRAMS: Final = (BENCHMARK, "program")

MAX_NAMED = 6  # settings that a note names; the others are counted
MAX_VALUES = 3  # values of a setting that are written for a side
MAX_LENGTH = 60  # characters of a value


class Difference(NamedTuple):
    """A setting that differs: its name, its values as text, and the cells concerned."""

    name: str
    candidate: str
    baseline: str
    cells: xr.DataArray


def words_in(name: str) -> list[str]:
    """Return the words in a name: `cpuModel` and `cpu-model` are `cpu`, `model`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").split("_")


def is_condition(name: str) -> bool:
    """Return whether a coordinate of this name is a setting, not the record of a run."""
    words = words_in(name)
    if name in NO_SETTINGS:
        return False
    return name in OF_MACHINES or not SETTINGS.isdisjoint(words) or RECORDS.isdisjoint(words)


def settings_along(array: xr.DataArray, dim: str | None) -> list[str]:
    """Return the names of the settings of a comparison along `dim`, machines first.

    Lazy coordinates are passed over: looking at them would compute them.
    """
    names = [
        str(name)
        for name, values in array.coords.items()
        if name not in (dim, *array.dims) and not is_chunked(values)
    ]
    names = [name for name in names if is_condition(name)]
    names = [
        name
        for name in names
        if name in OF_MACHINES or not _is_record(name, array.coords[name].variable)
    ]
    if dim in OF_MACHINES or dim in PROGRAMS:
        return [name for name in names if name in CONCURRENCY]
    topic = str(dim).partition("_")[0]
    names = [name for name in names if name.partition("_")[0] != topic]
    return sorted(
        names, key=lambda name: OF_MACHINES.index(name) if name in OF_MACHINES else len(OF_MACHINES)
    )


def _is_record(name: str, variable: xr.Variable) -> bool:
    """Return whether values are dates or measured, and so no setting."""
    if variable.dtype.kind not in "iuf":
        return variable.dtype.kind == "M" or are_dates(variable.values)
    inner = [dim for dim in variable.dims if dim in LEVELS]
    if inner and bool((variable.max(inner) != variable.min(inner)).any()):
        return True
    return EFFECTIVE.isdisjoint(words_in(name)) and bool((variable % 1 > 0).any())


def differences(
    new: xr.DataArray,
    old: xr.DataArray,
    levels: Sequence[str],
    dim: str | None,
    names: Sequence[str],
) -> list[Difference]:
    """Return in which of some coordinates both sides differ, in cells that are measured on both."""
    differing = []
    for name in names:
        lazy = name in old.coords and is_chunked(old.coords[name])
        cells = None if lazy else differing_cells(name, new, old, levels)
        if cells is None:
            continue
        values, baseline_values = values_of(name, new, old, cells, levels)
        setting_dims = {*new.coords[name].dims, *old.coords[name].dims} - {dim}
        along = cells.any(
            [reduced_dim for reduced_dim in cells.dims if reduced_dim not in setting_dims]
        )
        differing.append(Difference(name, _text(values), _text(baseline_values), along))
    return differing


def notes_on(
    differing: Sequence[Difference], new: xr.DataArray, old: xr.DataArray
) -> tuple[Note, ...]:
    """Return the note on different machines, and that on other settings."""
    if not differing:
        return ()
    of_machines = [difference for difference in differing if difference.name in OF_MACHINES]
    names = {difference.name for difference in of_machines if _describes_machine(difference)}
    sides = [
        {
            name
            for name in settings_along(side, None)
            if name in OF_MACHINES and _stated(side.coords[name].variable).values.any()
        }
        for side in (new, old)
    ]
    common_names = sides[0] & sides[1] - names
    # One machine, at another clock.
    if names <= {*CLOCKS} and not common_names.isdisjoint((*MODELS, *HOSTS)):
        names = set()
    machines = [difference for difference in of_machines if difference.name in names]
    settings = [difference for difference in differing if difference not in machines]
    notes = []
    if machines:
        only_names = names <= {*HOSTS} and not common_names.isdisjoint((*MODELS, *COUNTS))
        same_hardware = (
            "The recorded hardware is the same, and only the names of the hosts differ. "
            if only_names
            else ""
        )
        text = (
            "The sides were measured on different machines (candidate against baseline): "
            f"{_listed(machines)}. {same_hardware}"
            "The ratio is that of machines and programs together. Measure both sides on one "
            "machine."
        )
        notes.append(Note(DIFFERENT_MACHINES, text, _values(machines)))
    if settings:
        text = (
            f"The sides differ in settings (candidate against baseline): {_listed(settings)}. "
            "The ratio is that of settings and programs "
            "together."
        )
        if (
            any(difference.name == COPIES for difference in settings)
            and new.attrs.get("better") != HIGHER
        ):
            text += (
                " A time does not count copies, a rate does (metric='ratio', where the files "
                "have it)."
            )
        effective = any(
            not EFFECTIVE.isdisjoint(words_in(difference.name)) for difference in settings
        )
        notes.append(Note(SETTINGS_DIFFER, text, _values(settings), aside=not effective))
    return tuple(notes)


def differing_cells(
    name: str, new: xr.DataArray, old: xr.DataArray, levels: Sequence[str]
) -> xr.DataArray | None:
    """Return the cells measured on both sides in which a coordinate differs.

    None where there are none.
    """
    if name not in new.coords or name not in old.coords:
        return None
    candidate, baseline = (
        _without_levels(side.coords[name].variable, levels) for side in (new, old)
    )
    differs = _unequal(name, candidate, baseline) & _stated(candidate) & _stated(baseline)
    if not differs.values.any():
        return None
    for side in (new, old):
        if not is_chunked(side):
            differs = differs & side.variable.notnull().any(
                [level for level in levels if level in side.dims]
            )
    if not differs.values.any():
        return None
    return xr.DataArray(
        differs, {dim: new.indexes[dim] for dim in differs.dims if dim in new.indexes}
    )


def values_of(
    name: str, new: xr.DataArray, old: xr.DataArray, cells: xr.DataArray, levels: Sequence[str]
) -> tuple[list[Any], list[Any]]:
    """Return the distinct values of a coordinate in the cells, for both sides."""
    variables = (_without_levels(side.coords[name].variable, levels) for side in (new, old))
    sides = (
        variable.set_dims(dict(cells.sizes)).transpose(*cells.dims).values[cells.values]
        for variable in variables
    )
    first, second = (list(dict.fromkeys(side.tolist())) for side in sides)
    return first, second


def _without_levels(variable: xr.Variable, levels: Sequence[str]) -> xr.Variable:
    """Return a coordinate by cell: of repetitions with several values, these as one text."""
    inner = [dim for dim in variable.dims if dim in levels]
    variable = variable.astype(object)
    if not inner:
        return variable
    outer = [dim for dim in variable.dims if dim not in levels]
    rows = variable.transpose(*outer, *inner).values.reshape(
        [variable.sizes[dim] for dim in outer] + [-1]
    )
    distinct = np.empty(rows.shape[:-1], dtype=object)
    for cell in np.ndindex(distinct.shape):
        values = [
            value for value in pd.unique(rows[cell]).tolist() if value == value and value != UNKNOWN
        ]
        distinct[cell] = (
            values[0] if len(values) == 1 else ", ".join(sorted(map(str, values))) or UNKNOWN
        )
    return xr.Variable(outer, distinct)


def _unequal(name: str, candidate: xr.Variable, baseline: xr.Variable) -> xr.Variable:
    """Return where values differ; what is measured has a tolerance."""
    unequal: xr.Variable = candidate != baseline
    if name not in MEASURED:
        return unequal
    sides = (
        pd.to_numeric(side.values.ravel(), errors="coerce").reshape(side.shape)
        for side in (candidate, baseline)
    )
    numbers, baseline_numbers = (
        xr.Variable(side.dims, values)
        for side, values in zip((candidate, baseline), sides, strict=True)
    )
    return unequal & ~(abs(numbers - baseline_numbers) <= TOLERANCE * abs(baseline_numbers))


def _stated(variable: xr.Variable) -> xr.Variable:
    """Return where a descriptor is known."""
    has_value: xr.Variable = variable.notnull() & (variable != UNKNOWN)
    return has_value


def _describes_machine(difference: Difference) -> bool:
    """Return whether a difference is one of machines."""
    return difference.name not in COUNTS or BENCHMARK not in difference.cells.dims


def _text(values: Sequence[Any]) -> str:
    """Write the values of a setting on a side."""
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    texts = [
        text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}..."
        for text in dict.fromkeys(texts)
    ]
    remainder = f" and {len(texts) - MAX_VALUES} more" if len(texts) > MAX_VALUES else ""
    return f"{', '.join(texts[:MAX_VALUES])}{remainder}"


def _listed(differing: Sequence[Difference]) -> str:
    """Write the first differences, and how many there are more."""
    texts = []
    for name, candidate, baseline, cells in differing[:MAX_NAMED]:
        where = f" ({listed(cell_names(cells), 2)})" if cells.ndim and not cells.all() else ""
        texts.append(f"{name} {candidate} against {baseline}{where}")
    n_left_out = len(differing) - MAX_NAMED
    return f"{'; '.join(texts)}{f'; and {n_left_out} more' if n_left_out > 0 else ''}"


def _values(differing: Sequence[Difference]) -> Mapping[str, Any]:
    return {
        "settings": [difference.name for difference in differing],
        "candidate": [difference.candidate for difference in differing],
        "baseline": [difference.baseline for difference in differing],
    }

"""Names of variables and dims of answers, which dims and coordinates of timings cannot have."""

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Final, TypeVar, cast

import xarray as xr

from perfarray.conventions import (
    BENCHMARK,
    BETTER,
    CENSORED_AT,
    LEVELS,
    LOOPS,
    MARKS,
    METRIC,
    price_of,
)
from perfarray.results.kinds import KINDS, kind_of
from perfarray.results.variables import COMPARED
from perfarray.timings.notes import Note, add_notes
from perfarray.timings.validation import listed

Labelled = TypeVar("Labelled", bound=xr.DataArray | xr.Dataset)

# Code of the notes on new names
RENAMED: Final = "renamed"

# Coordinates that methods compute with, and that keep their names; a dim has labels like any other
INPUTS: Final = frozenset({*MARKS, CENSORED_AT, LOOPS, "confidence_level", *map(price_of, LEVELS)})

# Variables of comparisons, which new timings make room for; other answers refuse dims of their
# names
SETTLED: Final = frozenset(COMPARED.split())

# Names in every answer on several metrics
OF_METRICS: Final = frozenset({METRIC, "units", BETTER})

# All names of the answers of public functions
ANSWERS: Final = frozenset(
    name for kind in KINDS.values() if kind.question for name in kind.names.split()
)


def settle_dims(times: xr.Dataset) -> xr.Dataset:
    """Rename dims of new timings that are called as a variable of comparisons, with a note."""
    reserved_dims = SETTLED & {*times.dims}
    if not reserved_dims:
        return times
    names = _new_names(reserved_dims, times.variables)
    return add_notes(times.rename(names), renamed_note(names))


def renamed_note(names: Mapping[Hashable, str]) -> Note:
    """Return the note on new names of dims or descriptors."""
    verb = "is" if len(names) == 1 else "are"
    text = (
        f"{listed(list(names))} {verb} called {listed(list(names.values()))} here. "
        "Answers have variables of the old names."
    )
    values = {"names": {new: str(old) for old, new in names.items()}}
    return Note(RENAMED, text, values, aside=True)


def aside_of_answer(function: str, data: Any, metric: Any) -> dict[Hashable, str]:
    """Return new names of descriptors that are called as a variable of the answer.

    Raise where a dim is called so, with the call that renames it.
    """
    if not isinstance(data, xr.DataArray | xr.Dataset) or "result" in data.attrs:
        return {}
    if function == "bootstrap_interval" and "replicate" in data.dims:
        return {}  # an answer of bootstrap_distribution without its attrs
    reserved = {*KINDS[function].names.split()} if function in KINDS else set()
    if isinstance(metric, list | tuple):
        reserved |= OF_METRICS
    names = {*data.dims, *data.coords}
    reserved_dims = {name for name in data.dims if name in reserved or not isinstance(name, str)}
    if reserved_dims:
        raise ValueError(
            f"No dim can be called {listed(sorted(reserved_dims, key=str))} here: the answer has "
            f"such a name. Use times.rename({_new_names(reserved_dims, names)})"
        )
    descriptors: set[Hashable] = {name for name in data.coords if name in reserved - INPUTS}
    descriptors |= {name for name in data.coords if not isinstance(name, str)}
    # A suite without a dim of benchmarks is given one.
    if BENCHMARK in data.coords and data[BENCHMARK].dims not in ((), (BENCHMARK,)):
        descriptors.add(BENCHMARK)
    return _new_names(descriptors, names)


def _new_names(reserved_dims: Collection[Any], names: Collection[Any]) -> dict[Hashable, str]:
    """Return names, `data_<name>`, that no dim or coordinate has."""
    new_names = {}
    for name in sorted(reserved_dims, key=str):
        new_name = f"data_{name}"
        while new_name in names:
            new_name = f"data_{new_name}"
        new_names[name] = new_name
    return new_names


def without_foreign_names(answer: Labelled) -> Labelled:
    """Return an answer without descriptors of the data called as a variable of another answer.

    Tables and pictures look for such variables.
    """
    names = kind_of(answer).names.split()
    if not names:
        return answer
    foreign = ANSWERS - {*names, *OF_METRICS, *answer.dims}
    return cast(Labelled, answer.drop_vars([name for name in answer.coords if name in foreign]))

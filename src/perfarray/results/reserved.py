"""Names of variables and dims of answers, which dims and coordinates of timings cannot have."""

from collections.abc import Collection, Hashable
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
from perfarray.timings.notes import Note, add_notes
from perfarray.timings.validation import listed

Labelled = TypeVar("Labelled", bound=xr.DataArray | xr.Dataset)

# Coordinates that methods compute with, and that may have their names; a dim has labels like any other
INPUTS: Final = frozenset({*MARKS, CENSORED_AT, LOOPS, "confidence_level", *map(price_of, LEVELS)})

# Names that readers and commands document, and few answers use: the functions of those refuse them
DOCUMENTED: Final = frozenset({"baseline", "label", "mode", "range", "side", "test"})

# Names in every answer on several metrics
OF_METRICS: Final = frozenset({METRIC, "units", BETTER})

# All names of the answers of public functions
ANSWERS: Final = frozenset(
    name for kind in KINDS.values() if kind.question for name in kind.names.split()
)


def settle_names(times: Labelled) -> Labelled:
    """Rename dims and coordinates of new timings that are called as a variable of an answer."""
    names = {*times.dims, *times.coords}
    taken = (ANSWERS - DOCUMENTED - (INPUTS - {*times.dims})) & names
    if not taken:
        return times
    new_names = _new_names(taken, {*times.variables} if isinstance(times, xr.Dataset) else names)
    note = Note(
        "renamed",
        f"{listed(sorted(taken))} is called {listed(list(new_names.values()))}: answers have "
        "variables of that name.",
        {"names": {new: str(old) for old, new in new_names.items()}},
        aside=True,
    )
    return cast(Labelled, add_notes(times.rename(new_names), note))


def check_free(function: str, arguments: Collection[Any], metric: Any) -> None:
    """Raise where a dim or coordinate of timings is called as a variable of the answer."""
    reserved = {*KINDS[function].names.split()} if function in KINDS else set()
    if isinstance(metric, list | tuple):
        reserved |= OF_METRICS
    for data in arguments:
        if not isinstance(data, xr.DataArray | xr.Dataset) or "result" in data.attrs:
            continue
        if function == "bootstrap_interval" and "replicate" in data.dims:
            continue  # an answer of bootstrap_distribution without its attrs
        names = {*data.dims, *data.coords}
        taken = (reserved - (INPUTS - {*data.dims})) & names
        taken |= {name for name in names if not isinstance(name, str)}
        if BENCHMARK in data.coords and data[BENCHMARK].dims not in ((), (BENCHMARK,)):
            taken.add(BENCHMARK)
        if taken:
            raise ValueError(
                f"No dim or coordinate can be called {listed(sorted(taken, key=str))} here: the answer "
                f"has such a name. Use times.rename({_new_names(taken, names)})"
            )


def _new_names(taken: Collection[Any], names: Collection[Any]) -> dict[Hashable, str]:
    """Return names, `data_<name>`, that no dim or coordinate has."""
    new_names = {}
    for name in sorted(taken, key=str):
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

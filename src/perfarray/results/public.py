"""The public face: what every public function of labelled data checks and names alike before it is asked."""

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Number
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, BETTER, CENSORED_AT, LEVELS, LOOPS, MARKS, METRIC, price_of
from perfarray.results.answer_names import ANSWER_NAMES
from perfarray.results.models import FittedModel
from perfarray.timings.notes import DATA_NAMES, Note, add_notes
from perfarray.timings.validation import listed

Labelled = TypeVar("Labelled", bound=xr.DataArray | xr.Dataset)

EVERY_NAME = frozenset(" ".join(ANSWER_NAMES.values()).split())

LABELLED = (xr.DataArray, xr.Dataset)

NAMING = frozenset({
    "across", "along", "by", "coordinate", "dim", "family", "features", "groups", "host", "level", "levels", "load", "metric", "order",
    "paired", "predictors", "random", "resample", "response", "samples", "shared", "unit", "value",
})  # fmt: skip
"""Arguments that name dims, coordinates or variables."""

INPUTS = frozenset({*MARKS, CENSORED_AT, LOOPS, *map(price_of, LEVELS)})
"""Coordinates that methods compute with: they keep their names."""

SEPARATOR = ", "
"""Between the parts of a label of a stacked dim."""

OF_METRICS = (METRIC, "units", BETTER)
"""Names that an answer on several metrics has, whatever the method."""

TIMINGS = "a DataArray or a Dataset of timings"
SEVERAL = frozenset((tuple, list, Sequence))
SIMPLE = frozenset((str, int, float, bool, NoneType)) | SEVERAL
"""Kinds of arguments that are one name or number, or several."""

SCALARS = (str, bytes, Number, np.generic, np.ndarray)

COLLECTIONS = (Sequence, Set, pd.Index, np.ndarray)

ACCEPTED: Mapping[type, tuple[type, ...]] = {
    float: (Number, np.ndarray),
    int: (Number, np.ndarray),
    Sequence: COLLECTIONS,
    Path: (PathLike,),
    Mapping: (Mapping, pd.Series),
    xr.DataArray: LABELLED,
}
"""What may stand for a kind of argument: an array without dims for a number, a Series for a mapping, a Dataset for a DataArray."""

CHECKED_BELOW = frozenset({"mixture", "units", "weights"})
"""Arguments whose functions say more exactly what they need."""

EXPECTED = {
    "table": "a pandas DataFrame",
    "table_or_times": "a table of machines or timings",
    "result": "an answer of perfarray",
    "changes": "the answer of change_points",
    "significant": "the answer of speedup_test, or a DataArray of true and false",
}
"""What a first argument of this name is."""

REMEDIES: Mapping[type, str] = {
    pd.DataFrame: ".perf.to_timings() makes timings of a pandas table",
    str: "perfarray.read makes timings of a file",
    FittedModel: "it is an answer; .to_dataset() has its numbers",
}
FROM_NUMBERS = 'perfarray.from_samples({"old": [...], "new": [...]}) makes timings of numbers'


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that refuses what is no labelled data, and gives labels called as a variable of its answer another name.

    What takes no labelled data first is returned as it is.
    """
    parameters = list(inspect.signature(function).parameters.values())
    accepted = _types(parameters[0].annotation) if parameters else ()
    if not {*LABELLED, pd.DataFrame}.intersection(accepted):
        return function
    kinds = {parameter.name: _types(parameter.annotation) for parameter in parameters[1:]}
    defaults = {parameter.name: parameter.default for parameter in parameters}
    positional = [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        arguments_by_name = dict(zip(positional, args, strict=False)) | kwargs
        if positional[0] in arguments_by_name:
            _check_data(arguments_by_name[positional[0]], positional[0], accepted)
        for name, value in arguments_by_name.items():
            if name in kinds and value is not defaults[name]:
                _check_argument(name, value, kinds[name])
        names, stacked = new_names(function.__name__, arguments_by_name), stacked_dims(arguments_by_name.values())
        if not names and not stacked:
            return function(*args, **kwargs)
        names_in_order = [*positional, *("" for _ in args[len(positional) :])]
        arguments = [_renamed(_flat(value, name), names, name) for name, value in zip(names_in_order, args, strict=False)]
        answer = function(*arguments, **{name: _renamed(_flat(value, name), names, name) for name, value in kwargs.items()})
        return _noted(answer, names, stacked)

    # A process that is sent the function looks it up where it stands for users.
    checked.__module__, checked.__qualname__ = "perfarray", function.__name__
    return checked


def _types(annotation: Any) -> tuple[type, ...]:
    """Return the types that an annotation names."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return tuple(cast(type, get_origin(member) or member) for member in members)


def _check_data(data: Any, argument: str, accepted: tuple[type, ...]) -> None:
    """Raise where the first argument is not of the types that a function takes; the message says what makes them."""
    if isinstance(data, accepted):
        if isinstance(data, LABELLED):
            _check_units(data)
        return
    remedy = next((text for kind, text in REMEDIES.items() if isinstance(data, kind)), FROM_NUMBERS)
    raise TypeError(f"expected {EXPECTED.get(argument, TIMINGS)}, got {_kind_of(data)}; {remedy}")


def _check_units(data: xr.DataArray | xr.Dataset) -> None:
    """Raise where a unit of measurement is no text: units are compared, written and stored."""
    metrics = [data.variables[name] for name in data.data_vars] if isinstance(data, xr.Dataset) else [data.variable]
    for variable in metrics:
        units = variable.attrs.get("units", "")
        if not isinstance(units, str):
            raise TypeError(f'attrs["units"] is {_shown(units)}: give a text, such as "s" or "1", or none')


def _kind_of(value: Any) -> str:
    """Write what kind of thing was given."""
    return "None" if value is None else type(value).__name__


def _check_argument(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    """Raise where an argument is not of the kind that a function takes: one name or number, or several of them."""
    if name == "baseline" and not isinstance(value, (*LABELLED, FittedModel, Hashable)):
        raise TypeError(f"baseline is a {_kind_of(value)}: give a label of the data, or other timings; {FROM_NUMBERS}")
    if value is None and (NoneType in kinds or {*kinds} <= {int, float}):
        return
    if not {*kinds} <= SIMPLE:
        _check_kind(name, value, kinds)
        return
    numbers, several = str not in kinds, not SEVERAL.isdisjoint(kinds)
    if isinstance(value, str) and not numbers:
        return
    noun = "name" if not numbers else "True or False" if bool in kinds else "number"
    if not several and (
        value is None or not isinstance(value, SCALARS) or getattr(value, "ndim", None) or (not numbers and name in NAMING)
    ):
        raise ValueError(f"{name}={_shown(value)}: give {noun if bool in kinds else f'one {noun}'}")
    if {*kinds} <= {bool, NoneType} and value not in (True, False):
        raise ValueError(f"{name}={_shown(value)}: give True or False")
    if several and (not isinstance(value, COLLECTIONS) or not (numbers or all(isinstance(item, str) for item in value))):
        raise ValueError(f"{name}={_shown(value)}: give a {noun} or a tuple of {noun}s")
    if several and numbers and not len(value):
        raise ValueError(f"{name}={_shown(value)}: give at least one {noun}")


def _check_kind(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    """Raise where an argument is of none of the kinds that a function names; one that takes anything looks for itself."""
    if name in CHECKED_BELOW or not all(isinstance(kind, type) for kind in kinds):  # a name in quotes is a type of an optional package
        return
    accepted = tuple(accepted_type for kind in kinds for accepted_type in (kind, *ACCEPTED.get(kind, ())))
    if {object, Any, Hashable}.isdisjoint(kinds) and not isinstance(value, accepted):
        needed = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
        raise TypeError(f"{name} is a {_kind_of(value)}; it must be {needed}")


def _shown(value: Any) -> str:
    """Write what was given, or of what is long its kind."""
    return _kind_of(value) if isinstance(value, (*LABELLED, np.ndarray, pd.DataFrame, pd.Series)) else repr(value)


def new_names(function: str, arguments: Mapping[str, Any]) -> dict[Hashable, str]:
    """Return what dims and coordinates are called in an answer that has variables or dims of their names: `data_<name>`."""
    reserved = {*ANSWER_NAMES.get(function, "").split(), *(OF_METRICS if isinstance(arguments.get(METRIC), list | tuple) else ())}
    if not reserved:
        return {}
    data = [value for value in arguments.values() if _is_data(value)]
    if function == "bootstrap_interval" and any("replicate" in value.dims for value in data):
        return {}  # an answer of bootstrap_distribution without its attrs
    present = {name for value in data for name in (*value.dims, *value.coords)}
    not_text = [name for value in data for name in (*present, *getattr(value, "data_vars", ())) if not isinstance(name, str)]
    # Suites without a dim are given one: a coordinate that says of other cells which benchmark they are of would be in its way.
    crossing = any(value.coords[BENCHMARK].dims not in ((), (BENCHMARK,)) for value in data if BENCHMARK in value.coords)
    names: dict[Hashable, str] = {name: str(name) for name in not_text}
    names |= {name: f"data_{name}" for name in sorted((reserved & present - INPUTS) | ({BENCHMARK} if crossing else set()))}
    return {old: _free(new, present) for old, new in names.items()}


def _free(name: str, present: Set[Any]) -> str:
    """Return a name that nothing has."""
    return _free(f"data_{name}", present) if name in present else name


def as_in_answer(function: str, data: Any) -> Any:
    """Return data with the names that they have in the answer of a public function."""
    return _renamed(_flat(data), new_names(function, {"": data}), "") if isinstance(data, LABELLED) else data


def _is_data(value: Any) -> bool:
    """Return whether something is labelled data, and no answer."""
    return isinstance(value, LABELLED) and "result" not in value.attrs


def stacked_dims(values: Iterable[Any]) -> dict[Hashable, list[str]]:
    """Return the dims whose labels are several in one (`stack` makes such), and what these are."""
    return {
        dim: [str(name) for name in index.names]
        for value in values
        if isinstance(value, LABELLED)
        for dim, index in value.indexes.items()
        if dim in value.dims and isinstance(index, pd.MultiIndex)
    }


def _flat(value: Any, argument: str = "") -> Any:
    """Return data with labels that are several in one as a text each; what they are made of stays beside them. So it is with a label."""
    if argument == "baseline" and isinstance(value, tuple):
        return SEPARATOR.join(map(str, value))
    for dim in stacked_dims([value]):
        texts = [SEPARATOR.join(map(str, label)) for label in value.indexes[dim]]
        value = value.reset_index(dim).assign_coords({dim: (dim, np.array(texts, dtype=object))})
    return value


def _renamed(value: Any, names: Mapping[Hashable, str], argument: str) -> Any:
    """Return an argument with the names that the answer uses: of data, and of what names their dims and coordinates."""
    if _is_data(value):
        present = {*value.dims, *value.coords, *getattr(value, "data_vars", ())}
        return value.rename({old: new for old, new in names.items() if old in present})
    if argument not in NAMING or argument == METRIC:
        return value
    if isinstance(value, str):
        return names.get(value, value)
    return tuple(names.get(name, name) for name in value) if isinstance(value, Iterable) else value


def _noted(answer: Any, names: Mapping[Hashable, str], stacked: Mapping[Hashable, list[str]]) -> Any:
    """Keep in an answer what labels of the data are called there."""
    remarks = []
    if names:
        text = f"the data's {listed(names)} are called {listed(names.values())} here: variables of the answer have those names"
        remarks.append(Note(DATA_NAMES, text, {"names": {new: str(old) for old, new in names.items()}}, aside=True))
    for dim, level_names in stacked.items():
        text = f"a label of {str(dim)!r} is {listed(level_names)} in one, and a text here"
        remarks.append(Note("stacked_labels", text, {"dim": str(dim), "names": level_names}, aside=True))
    if isinstance(answer, FittedModel):
        return replace(answer, dataset=add_notes(answer.dataset, *remarks))
    return add_notes(answer, *remarks) if isinstance(answer, (*LABELLED, pd.DataFrame)) else answer


def without_foreign_names(answer: Labelled) -> Labelled:
    """Return an answer without descriptors of the data that are called as a variable of other answers: what shows it may look for those."""
    reserved = ANSWER_NAMES.get(str(answer.attrs.get("result")), "").split()
    foreign = EVERY_NAME - {*reserved, *OF_METRICS, *answer.dims}
    return cast(Labelled, answer.drop_vars([name for name in answer.coords if name in foreign])) if reserved else answer

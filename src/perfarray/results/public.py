"""The gate of public functions: it checks the kinds of the arguments, and renames labels that collide with variables of the answer."""

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
from xarray.indexes import PandasMultiIndex

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
from perfarray.results.answer_names import ANSWER_NAMES
from perfarray.results.models import FittedModel
from perfarray.timings.notes import DATA_NAMES, Note, add_notes
from perfarray.timings.validation import listed

Labelled = TypeVar("Labelled", bound=xr.DataArray | xr.Dataset)

EVERY_NAME = frozenset(" ".join(ANSWER_NAMES.values()).split())

LABELLED = (xr.DataArray, xr.Dataset)

# Arguments whose values are names of dims, coordinates or variables
NAMING = frozenset({
    "across", "along", "by", "coordinate", "dim", "family", "features", "groups", "host", "level", "levels", "load", "metric", "order",
    "paired", "predictors", "random", "resample", "response", "samples", "shared", "unit", "value",
})  # fmt: skip

# Coordinates that methods compute with, which keep their names; a dim of such a name has labels
# like any other
INPUTS = frozenset({*MARKS, CENSORED_AT, LOOPS, "confidence_level", *map(price_of, LEVELS)})

# Separates the parts of a label of a stacked dim
SEPARATOR = ", "

# Names in every answer on several metrics
OF_METRICS = (METRIC, "units", BETTER)

TIMINGS = "a DataArray or a Dataset of timings"
SEVERAL = frozenset((tuple, list, Sequence))
# Types of arguments that are a name or a number, or several of these
SIMPLE = frozenset((str, int, float, bool, NoneType)) | SEVERAL

SCALARS = (str, bytes, Number, np.generic, np.ndarray)

COLLECTIONS = (Sequence, Set, pd.Index, np.ndarray)

# What is accepted besides the annotated type: an array without dims for a number, a Series for a
# mapping, a Dataset for a DataArray
ACCEPTED: Mapping[type, tuple[type, ...]] = {
    float: (Number, np.ndarray),
    int: (Number, np.ndarray),
    Sequence: COLLECTIONS,
    Path: (PathLike,),
    Mapping: (Mapping, pd.Series),
    xr.DataArray: LABELLED,
}

# Arguments that their functions check themselves, with better messages
CHECKED_BELOW = frozenset({"mixture", "threshold", "units", "weights"})

# Descriptions of first arguments, by their name
EXPECTED = {
    "table": "a pandas DataFrame",
    "table_or_times": "a table of machines or timings",
    "result": "an answer of perfarray",
    "changes": "the answer of change_points",
    "significant": "the answer of speedup_test, or a DataArray of true and false",
}

REMEDIES: Mapping[type, str] = {
    pd.DataFrame: ".perf.to_timings() makes timings of a pandas table",
    str: "perfarray.read makes timings of a file",
    FittedModel: "it is an answer; .to_dataset() has its numbers",
}
FROM_NUMBERS = 'perfarray.from_samples({"old": [...], "new": [...]}) makes timings of numbers'

# Arguments that earlier versions had, and what to use instead
REMOVED: Mapping[str, str] = {
    "band": "the band of equivalence is 1 - threshold to 1 + threshold",
    "baseline_costs": "give the costs of both systems as arrays in costs=",
    "baseline_sizes": "both sides have the sizes of sizes=",
    "baseline_variances": "both sides have the variances of variances=",
    "commit_cost": "every commit costs the same; multiply runs by your own cost",
    "df": "ratio_interval has df=; compare takes Satterthwaite's degrees of freedom",
    "equivalence_risk": "choose the risk by confidence_level=",
    "family": "a correction is over all verdicts of the call; call once for each family",
    "goal": "threshold= says which change matters",
    "impute": "fill the gaps of the table before, for example with fillna",
    "load_bins": "take groups of runs by your own load with groupby",
    "parallel": "files are read in one process; split the paths over processes of your own",
    "n_flags": "drop columns of the table that you do not need",
    "shrink": "correction= and prior= remain",
}


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that checks its arguments.

    It names what replaces an argument of earlier versions, and renames labels that collide with
    variables of its answer. Functions whose first argument is not labelled data are returned with the
    check of removed arguments alone.
    """
    parameters = list(inspect.signature(function).parameters.values())
    removed = REMOVED.keys() - {parameter.name for parameter in parameters}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        removed = set()  # names of the caller's own columns
    accepted = _types(parameters[0].annotation) if parameters else ()
    if not {*LABELLED, pd.DataFrame}.intersection(accepted):

        @functools.wraps(function)
        def unchecked(*args: Any, **kwargs: Any) -> Any:
            _check_removed(function.__name__, removed.intersection(kwargs))
            return function(*args, **kwargs)

        unchecked.__module__, unchecked.__qualname__ = "perfarray", function.__name__
        return unchecked
    kinds = {parameter.name: _types(parameter.annotation) for parameter in parameters[1:]}
    defaults = {parameter.name: parameter.default for parameter in parameters}
    positional = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(positional, args, strict=False)) | kwargs
        _check_removed(function.__name__, removed.intersection(kwargs))
        if positional[0] in arguments:
            _check_data(arguments[positional[0]], positional[0], accepted)
        for name, value in arguments.items():
            if name in kinds and value is not defaults[name]:
                _check_argument(name, value, kinds[name])
        names, stacked = new_names(function.__name__, arguments), stacked_dims(arguments.values())
        if not names and not stacked:
            return function(*args, **kwargs)
        argument_names = [*positional, *("" for _ in args[len(positional) :])]
        renamed = [
            _renamed(_flat(value, name), names, name)
            for name, value in zip(argument_names, args, strict=False)
        ]
        answer = function(
            *renamed,
            **{name: _renamed(_flat(value, name), names, name) for name, value in kwargs.items()},
        )
        return _noted(answer, names, stacked)

    # Pickle finds the function by its public address.
    checked.__module__, checked.__qualname__ = "perfarray", function.__name__
    return checked


def _check_removed(function: str, names: Iterable[str]) -> None:
    """Raise for an argument that earlier versions had, with what to use instead."""
    for name in sorted(names):
        raise TypeError(f"{function}() has no argument {name!r} any more. {REMOVED[name]}")


def _types(annotation: Any) -> tuple[type, ...]:
    """Return the types that an annotation names."""
    members = (
        get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    )
    return tuple(cast(type, get_origin(member) or member) for member in members)


def _check_data(data: Any, argument: str, accepted: tuple[type, ...]) -> None:
    """Raise for a first argument of another type, with what makes one of the right type.

    And for units of measurement that are no text.
    """
    if not isinstance(data, accepted):
        remedy = next(
            (text for kind, text in REMEDIES.items() if isinstance(data, kind)), FROM_NUMBERS
        )
        raise TypeError(
            f"expected {EXPECTED.get(argument, TIMINGS)}, got {_type_name(data)}; {remedy}"
        )
    if not isinstance(data, LABELLED):
        return
    for variable in (
        data.data_vars.variables.values() if isinstance(data, xr.Dataset) else [data.variable]
    ):
        units = variable.attrs.get("units", "")
        if not isinstance(units, str):
            raise TypeError(
                f'attrs["units"] is {_described(units)}: give a text, such as "s" or "1", or none'
            )


def _type_name(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _check_argument(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    """Raise for an argument of another kind than the function takes: one name or number, or several of them."""
    if name == "baseline" and not isinstance(value, (*LABELLED, FittedModel, Hashable)):
        raise TypeError(
            f"baseline is a {_type_name(value)}: give a label of the data, or other timings; "
            f"{FROM_NUMBERS}"
        )
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
        value is None
        or not isinstance(value, SCALARS)
        or getattr(value, "ndim", None)
        or (not numbers and name in NAMING)
    ):
        raise ValueError(
            f"{name}={_described(value)}: give {noun if bool in kinds else f'one {noun}'}"
        )
    if {*kinds} <= {bool, NoneType} and value not in (True, False):
        raise ValueError(f"{name}={_described(value)}: give True or False")
    if several and (
        not isinstance(value, COLLECTIONS)
        or not (numbers or all(isinstance(item, str) for item in value))
    ):
        raise ValueError(f"{name}={_described(value)}: give a {noun} or a tuple of {noun}s")
    if several and numbers and not len(value):
        raise ValueError(f"{name}={_described(value)}: give at least one {noun}")


def _check_kind(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    """Raise for an argument of none of the annotated types."""
    # An annotation in quotes is a type of an optional package.
    if name in CHECKED_BELOW or not all(isinstance(kind, type) for kind in kinds):
        return
    accepted = tuple(
        accepted_type for kind in kinds for accepted_type in (kind, *ACCEPTED.get(kind, ()))
    )
    if {object, Any, Hashable}.isdisjoint(kinds) and not isinstance(value, accepted):
        needed = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
        raise TypeError(f"{name} is a {_type_name(value)}; it must be {needed}")


def _described(value: Any) -> str:
    """Return the repr of a value, or its type where the repr would be long."""
    return (
        _type_name(value)
        if isinstance(value, (*LABELLED, np.ndarray, pd.DataFrame, pd.Series))
        else repr(value)
    )


def new_names(function: str, arguments: Mapping[str, Any]) -> dict[Hashable, str]:
    """Return new names, `data_<name>`, for dims and coordinates that collide with variables or dims of the answer."""
    reserved = {
        *ANSWER_NAMES.get(function, "").split(),
        *(OF_METRICS if isinstance(arguments.get(METRIC), list | tuple) else ()),
    }
    data = [
        value
        for value in arguments.values()
        if isinstance(value, LABELLED) and "result" not in value.attrs
    ]
    if not reserved or not data:
        return {}
    if function == "bootstrap_interval" and any("replicate" in value.dims for value in data):
        return {}  # an answer of bootstrap_distribution without its attrs
    coords = [value.coords.variables for value in data]  # many times as fast as value.coords
    present = {
        name
        for value, variables in zip(data, coords, strict=True)
        for name in (*value.dims, *variables)
    }
    inputs = INPUTS.difference(*(value.dims for value in data))
    of_variables = {
        name for value in data if isinstance(value, xr.Dataset) for name in value.data_vars
    }
    not_text = [name for name in {*present, *of_variables} if not isinstance(name, str)]
    # A suite without a dim `benchmark` is given one, with which a coordinate of that name along
    # other dims would collide.
    crossing = any(
        variables[BENCHMARK].dims not in ((), (BENCHMARK,))
        for variables in coords
        if BENCHMARK in variables
    )
    names: dict[Hashable, str] = {name: str(name) for name in not_text}
    names |= {
        name: f"data_{name}"
        for name in sorted((reserved & present - inputs) | ({BENCHMARK} if crossing else set()))
    }
    for old, new in names.items():
        while new in present:
            new = f"data_{new}"
        names[old] = new
    return names


def as_in_answer(function: str, data: Any) -> Any:
    """Return data with the names that they have in the answer of a public function."""
    return (
        _renamed(_flat(data), new_names(function, {"": data}), "")
        if isinstance(data, LABELLED)
        else data
    )


def stacked_dims(values: Iterable[Any]) -> dict[Hashable, list[str]]:
    """Return the dims with a MultiIndex, as `stack` makes them, and the names of its levels."""
    return {
        dim: [str(name) for name in index.index.names]
        for value in values
        if isinstance(value, LABELLED)
        for dim, index in value.xindexes.items()
        if dim in value.dims and isinstance(index, PandasMultiIndex)
    }


def _flat(value: Any, argument: str = "") -> Any:
    """Return data in which each label of a MultiIndex is one text, with its parts as coordinates.

    A baseline's label likewise.
    """
    if argument == "baseline" and isinstance(value, tuple):
        return SEPARATOR.join(map(str, value))
    for dim in stacked_dims([value]):
        texts = [SEPARATOR.join(map(str, label)) for label in value.indexes[dim]]
        value = value.reset_index(dim).assign_coords({dim: (dim, np.array(texts, dtype=object))})
    return value


def _renamed(value: Any, names: Mapping[Hashable, str], argument: str) -> Any:
    """Return an argument with the new names: data with their dims and coordinates renamed, or names of dims."""
    if isinstance(value, LABELLED):
        present = (
            set()
            if "result" in value.attrs
            else {*value.dims, *value.coords, *getattr(value, "data_vars", ())}
        )
        return value.rename({old: new for old, new in names.items() if old in present})
    if argument not in NAMING or argument == METRIC:
        return value
    if isinstance(value, str):
        return names.get(value, value)
    return tuple(names.get(name, name) for name in value) if isinstance(value, Iterable) else value


def _noted(
    answer: Any, names: Mapping[Hashable, str], stacked: Mapping[Hashable, list[str]]
) -> Any:
    """Add notes on the new names to an answer."""
    remarks = []
    if names:
        text = (
            f"the data's {listed(names)} are called {listed(names.values())} here: variables "
            "of the answer have those names"
        )
        remarks.append(
            Note(
                DATA_NAMES,
                text,
                {"names": {new: str(old) for old, new in names.items()}},
                aside=True,
            )
        )
    for dim, level_names in stacked.items():
        text = f"a label of {str(dim)!r} is {listed(level_names)} in one, and a text here"
        remarks.append(
            Note("stacked_labels", text, {"dim": str(dim), "names": level_names}, aside=True)
        )
    if isinstance(answer, FittedModel):
        return replace(answer, dataset=add_notes(answer.dataset, *remarks))
    return add_notes(answer, *remarks) if isinstance(answer, (*LABELLED, pd.DataFrame)) else answer


def without_foreign_names(answer: Labelled) -> Labelled:
    """Return an answer without descriptors of the data named like a variable of other answers, for which tables and pictures look."""
    reserved = ANSWER_NAMES.get(str(answer.attrs.get("result")), "").split()
    foreign = EVERY_NAME - {*reserved, *OF_METRICS, *answer.dims}
    return (
        cast(Labelled, answer.drop_vars([name for name in answer.coords if name in foreign]))
        if reserved
        else answer
    )

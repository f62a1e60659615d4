"""The check of the arguments of public functions."""

import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Number
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin

import numpy as np
import pandas as pd
import xarray as xr
from xarray.indexes import PandasMultiIndex

from perfarray.conventions import METRIC
from perfarray.results.models import FittedModel
from perfarray.results.reserved import aside_of_answer, renamed_note
from perfarray.timings.declared import declared_arguments
from perfarray.timings.labels import sides_of_comparison
from perfarray.timings.notes import Note, add_notes
from perfarray.timings.validation import listed

LABELLED = (xr.DataArray, xr.Dataset)

# Arguments whose values are names of dims, coordinates or variables
NAMING = frozenset(
    {
        "across",
        "along",
        "by",
        "coordinate",
        "dim",
        "features",
        "groups",
        "host",
        "level",
        "levels",
        "metric",
        "order",
        "paired",
        "predictors",
        "random",
        "resample",
        "response",
        "samples",
        "shared",
        "unit",
        "value",
    }
)

# Separates the parts of a label of a stacked dim
SEPARATOR = ", "

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
    "baseline_costs": "costs= takes arrays over the dim compared, or the mean of both prices",
    "baseline_sizes": "both sides have the sizes of sizes=",
    "baseline_variances": "both sides have the variances of variances=",
    "commit_cost": "measuring another commit costs as much as one run",
    "df": "ratio_interval has df=; compare takes Satterthwaite's degrees of freedom",
    "equivalence_risk": "choose the risk by confidence_level=",
    "family": "a correction is over all verdicts of the call; call once for each family",
    "goal": "threshold= says which change matters",
    "impute": "fill the gaps of the table before, for example with fillna",
    "load": "select the runs of a class of load with where or groupby, and ask of each",
    "load_bins": "select the runs of a class of load with where or groupby, and ask of each",
    "n_flags": "drop columns of the table that you do not need",
    "parallel": "files are read in one process; split the paths over processes of your own",
    "random": "explain_variation has one random effect, the column of groups=",
    "shrink": "correction= and prior= remain",
}


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that checks its arguments, and makes texts of stacked labels."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = {parameter.name: _types(parameter.annotation) for parameter in parameters}
    defaults = {parameter.name: parameter.default for parameter in parameters}
    positional = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    of_data = positional and {*LABELLED, pd.DataFrame}.intersection(kinds[positional[0]])
    needs_baseline = defaults.get("baseline") is inspect.Parameter.empty
    removed = REMOVED.keys() - kinds.keys()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        # Other keywords are those of the method that is studied, which checks them itself.
        removed = {"baseline_sizes", "baseline_variances"}

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name in removed.intersection(kwargs):
            raise TypeError(
                f"{function.__name__}() has no argument {name!r} any more. {REMOVED[name]}"
            )
        if not of_data:
            return function(*args, **kwargs)
        if not args and positional[0] not in kwargs:
            raise TypeError(f"{function.__name__}() needs {EXPECTED.get(positional[0], TIMINGS)}")
        args = args or (kwargs.pop(positional[0]),)
        arguments, data = dict(zip(positional, args, strict=False)) | kwargs, args[0]
        if isinstance(data, xr.Dataset) and type(data) is not xr.Dataset and not data.data_vars:
            # A node of a DataTree that holds nothing but nodes; xarray maps functions over these,
            # too, as a subclass of Dataset that has no public name.
            return xr.Dataset()
        for name, value in arguments.items():
            if name == positional[0]:
                _check_data(value, name, kinds[name])
            elif name in kinds and value is not defaults[name]:
                _check_argument(name, value, kinds[name])
        if "pint" in sys.modules:  # else nothing holds quantities, and no file is read for them
            args = tuple(map(dequantified, args))
            kwargs = {name: dequantified(value) for name, value in kwargs.items()}
            arguments = dict(zip(positional, args, strict=False)) | kwargs
        declared = declared_arguments(args[0], arguments, [*kinds])
        kwargs, arguments = kwargs | declared, arguments | declared
        if needs_baseline and "baseline" not in arguments:
            sides = _sides_text(args[0], arguments.get("levels"), arguments.get("dim"))
            raise TypeError(f"{function.__name__}() needs a baseline. {sides}")
        names = [*positional, *("" for _ in args[len(positional) :])]
        stacked = stacked_dims(arguments.values())
        if stacked:
            args = tuple(flat(value, name) for name, value in zip(names, args, strict=False))
            kwargs = {name: flat(value, name) for name, value in kwargs.items()}
        aside: dict[Hashable, str] = {}
        for value in (*args, *kwargs.values()):
            aside |= aside_of_answer(function.__name__, value, kwargs.get(METRIC))
        if not stacked and not aside:
            return function(*args, **kwargs)
        args = tuple(renamed(value, name, aside) for name, value in zip(names, args, strict=False))
        kwargs = {name: renamed(value, name, aside) for name, value in kwargs.items()}
        return _with_notes(function(*args, **kwargs), aside, stacked)

    # Pickle finds the function by its public address.
    checked.__module__, checked.__qualname__ = "perfarray", function.__name__
    return checked


def _sides_text(data: Any, levels: Any, dim: Any) -> str:
    """Write which labels of data can be compared."""
    if isinstance(data, FittedModel):
        return sides_of_comparison(data.dataset, data.WHOLE, dim)
    return sides_of_comparison(data, levels, dim)


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
    """Raise for an argument of another kind than the function takes."""
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
    numbers, takes_sequence = str not in kinds, not SEVERAL.isdisjoint(kinds)
    if isinstance(value, str) and not numbers:
        return
    noun = "name" if not numbers else "True or False" if bool in kinds else "number"
    if not takes_sequence and (
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
    if takes_sequence and (
        not isinstance(value, COLLECTIONS)
        or not (numbers or all(isinstance(item, str) for item in value))
    ):
        raise ValueError(f"{name}={_described(value)}: give a {noun} or a tuple of {noun}s")
    if takes_sequence and numbers and not len(value):
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


def dequantified(value: Any) -> Any:
    """Return data in which quantities (of pint) are numbers with their unit as the attr `units`."""
    if not isinstance(value, LABELLED):
        return value
    is_array = isinstance(value, xr.DataArray)
    data = value.to_dataset(name="quantities") if is_array else value
    numbers = {
        name: (
            variable.dims,
            variable.data.magnitude,
            variable.attrs | {"units": format(variable.data.units, "~") or "1"},
        )
        for name, variable in data.variables.items()
        if name not in data.xindexes and hasattr(variable.data, "magnitude")
    }
    if not numbers:
        return value
    data = data.assign(numbers)
    return data["quantities"].rename(value.name) if is_array else data


def stacked_dims(values: Iterable[Any]) -> dict[Hashable, list[str]]:
    """Return the dims with a MultiIndex, as `stack` makes them, and the names of its levels."""
    return {
        dim: [str(name) for name in index.index.names]
        for value in values
        if isinstance(value, LABELLED)
        for dim, index in value.xindexes.items()
        if dim in value.dims and isinstance(index, PandasMultiIndex)
    }


def flat(value: Any, argument: str = "") -> Any:
    """Return data, or the label of a baseline, in which each label of a MultiIndex is one text.

    The parts of the labels of data are coordinates.
    """
    if argument == "baseline" and isinstance(value, tuple):
        return SEPARATOR.join(map(str, value))
    for dim in stacked_dims([value]):
        texts = [SEPARATOR.join(map(str, label)) for label in value.indexes[dim]]
        value = value.reset_index(dim).assign_coords({dim: (dim, np.array(texts, dtype=object))})
    return value


def renamed(value: Any, argument: str, names: Mapping[Hashable, str]) -> Any:
    """Return an argument with new names of descriptors: data, or the name of a coordinate."""
    if isinstance(value, LABELLED) and "result" not in value.attrs:
        return value.rename({old: new for old, new in names.items() if old in value.coords})
    return names.get(value, value) if argument in NAMING and isinstance(value, str) else value


def _with_notes(
    answer: Any, names: Mapping[Hashable, str], stacked: Mapping[Hashable, list[str]]
) -> Any:
    """Add notes on new names of descriptors, and on labels that are texts now."""
    notes = [
        Note(
            "stacked_labels",
            f"Each label of {str(dim)!r} is one text here, made of {listed(levels)}.",
            {"dim": str(dim), "names": levels},
            aside=True,
        )
        for dim, levels in stacked.items()
    ]
    if names:
        notes.append(renamed_note(names))
    if isinstance(answer, FittedModel):
        return replace(answer, dataset=add_notes(answer.dataset, *notes))
    return add_notes(answer, *notes) if isinstance(answer, (*LABELLED, pd.DataFrame)) else answer

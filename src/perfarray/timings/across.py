"""What crosses benchmarks: the dim of a suite, and the suites that one mean is taken over."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, UNKNOWN, plural
from perfarray.timings.apply import is_chunked
from perfarray.timings.metrics import beside
from perfarray.timings.notes import NOTES, Note, check, collecting, in_all, noted
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.streams import one_key
from perfarray.timings.validation import listed

SUITES = "suites"
"""The attr that names the suites that one mean is taken over."""

UNMATCHED = "unmatched"
"""The attr that names benchmarks which not everybody has, for people; as data they travel in the note of that code."""

P = ParamSpec("P")
R = TypeVar("R")

SUITE = "suite"
"""The coordinate of the readers that says which suite a benchmark belongs to."""


def check_across(across: str, array: xr.DataArray, nest: tuple[str, ...], compared: str | None = None) -> None:
    """Raise where a suite would average over a level, the dim compared, or one that is not there: only `benchmark` may be missing."""
    if across in nest:
        raise ValueError(f"across={across!r} is a level of the nest {nest}; a suite averages over a dim that is not")
    if across == compared:
        raise ValueError(
            f"across={across!r} is the dim compared; a suite averages over another: give across=, or call what is compared otherwise: "
            f"times.rename({across}='program')"
        )
    if across != BENCHMARK and across not in array.coords:
        check_dim(array, across, "across")


Weights = xr.DataArray | pd.Series | Mapping[Any, float] | Sequence[float]
"""How much each benchmark counts: by label, or in the order of the labels; only ratios matter."""


def as_weights(weights: Weights, labels: xr.DataArray) -> xr.DataArray:
    """Return weights as an array along the dim of some labels, NaN for those without one."""
    across = str(labels.dims[0])
    if isinstance(weights, Mapping | pd.Series):
        known, given = labels.values.tolist(), list(weights.keys())
        unknown, missing = listed([one for one in given if one not in known], 5), listed([one for one in known if one not in given], 5)
        if unknown and missing:  # of a part of a suite, weights of the whole will do
            raise ValueError(f"weights are missing for {missing}, and given for what is no label of {across!r}: {unknown}")
        weights = [weights.get(label, np.nan) for label in known]
    if isinstance(weights, xr.DataArray):
        check_dim(weights, across, "dim of weights")
        return weights
    if np.ndim(weights) != 1:
        raise ValueError(f"weights={weights!r}: give a mapping of labels of {across!r} to numbers, or a number for each")
    if len(weights) != labels.size:
        raise ValueError(f"weights has {len(weights)} numbers for {labels.size} labels of {across!r}")
    return xr.DataArray(np.asarray(weights, dtype=float), dims=across, coords={across: labels})


def check_weights(weights: xr.DataArray, across: str) -> xr.DataArray:
    """Return weights of which none is missing or negative, and one is above zero."""
    rows = weights.transpose(across, ...).values.astype(float)
    bad = [label for label, one in zip(weights[across].values.tolist(), rows, strict=True) if not np.all(one >= 0)]
    if bad or not 0 < rows.sum() < np.inf:
        what = f"missing or negative for {listed(bad, 5)}" if bad else "infinite" if rows.any() else "all zero"
        raise ValueError(f"weights are {what}; give every label of {across!r} a number that is not negative, and one above zero")
    return weights.astype(float)


def each_suite(function: Callable[P, R]) -> Callable[P, R]:
    """Let `by=` name a coordinate along the benchmarks: one result for each of its values, along a dim of that name."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        by, across = kwargs.pop("by", None), str(kwargs.get("across", BENCHMARK))
        if by is None:
            return function(*args, **kwargs)
        labels = suites_of(cast(Data, args[0]), str(by), across)
        results, notes = _apart(function, args, one_key(function, kwargs), labels, str(by))
        return cast(R, noted(beside([result.drop_vars(str(by), errors="ignore") for result in results], str(by), list(labels)), *notes))

    return cast(Callable[P, R], wrapper)


def each_suite_row(function: Callable[P, xr.Dataset]) -> Callable[P, xr.Dataset]:
    """Let `by=` name a coordinate along the benchmarks: a suite row for each of its values, along a dim of that name.

    The benchmarks keep their rows, and what their coordinate says under a name of two parts: `benchmark_suite`.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> xr.Dataset:
        given, across = kwargs.pop("by", None), str(kwargs.get("across", BENCHMARK))
        if given is None:
            return function(*args, **kwargs)
        by, keywords = str(given), one_key(function, kwargs)
        labels = suites_of(cast(Data, args[0]), by, across)
        with collecting() as said:
            whole: xr.Dataset = function(*args, **cast(Any, keywords))
        present = whole[across].values
        labels = {name: own for name, own in ((name, own[np.isin(own, present)]) for name, own in labels.items()) if len(own)}
        results, told = _apart(function, args, keywords, labels, by)
        names = [name for name in whole.data_vars if str(name).startswith(OF_SUITE)]
        rows = beside([result[names].drop_vars(by, errors="ignore") for result in results], by, list(labels))
        result = whole.drop_vars(names).rename({by: f"{across}_{by}"} if by in whole.coords else {}).assign(rows.data_vars)
        for attr in set(result.attrs) & {SUITES, "n_incomplete_units", NOTES}:
            del result.attrs[attr]
        notes = [note for note in said if note.code not in SUITE_NOTES] + [note for note in told if note.code in SUITE_NOTES]
        return noted(result, *notes)

    return cast(Callable[P, xr.Dataset], wrapper)


OF_SUITE = "suite_"
"""What the names of variables of suite rows begin with."""

SUITE_NOTES = ("move_together", "incomplete_units", "several_suites")
"""Codes of notes that are on suite rows."""


def _apart(function: Any, args: Any, kwargs: Any, labels: dict[str, Any], by: str) -> tuple[list[Any], list[Note]]:
    """Return the results of a function for each suite, and their notes, which name it."""
    across, results, gathered = str(kwargs.get("across", BENCHMARK)), [], list[Note]()
    for label, names in labels.items():
        with collecting() as notes:
            own = [_part(argument, across, names) for argument in args]
            results.append(function(*own, **{key: _part(value, across, names) for key, value in kwargs.items()}))
        gathered += [replace(note, message=f"{label}: {note.message}", values={**note.values, by: label}) for note in notes]
    return results, gathered


def suites_of(times: Data, by: str, across: str) -> dict[str, Any]:
    """Return the suites by name, in their order, and the labels (or places) of the benchmarks of each."""
    check_dim(times, across, "across")
    if by == across or across not in getattr(times.coords.get(by), "dims", ()):
        along = [str(name) for name, coordinate in times.coords.items() if coordinate.dims == (across,) and name != across]
        raise ValueError(f"by={by!r} is not a coordinate along {across!r}; these are: {listed(along) or 'none'}")
    coordinate, benchmarks = times.coords[by], times[across].values
    rows = np.moveaxis(coordinate.values, coordinate.get_axis_num(across), 0).reshape(len(benchmarks), -1)
    own = [list(dict.fromkeys(label for label in map(str, row) if label != UNKNOWN)) or [UNKNOWN] for row in rows]
    apart = [f"{name} ({', '.join(labels)})" for name, labels in zip(benchmarks, own, strict=True) if len(labels) > 1]
    if apart:
        raise ValueError(f"by={by!r} puts these into several suites: {listed(apart, 3)}; each of {across!r} is of one")
    names = np.array([labels[0] for labels in own], dtype=object)
    return {name: benchmarks[names == name] for name in dict.fromkeys(names.tolist())}


def _part(argument: Any, across: str, names: Any) -> Any:
    """Return the benchmarks of one suite of whatever has benchmarks."""
    if not isinstance(argument, xr.DataArray | xr.Dataset) or across not in argument.dims:
        return argument
    return argument.isel({across: np.isin(argument[across].values, names)})


def ways_apart(by: bool) -> str:
    """Return how suites are told apart; `by` says whether there is an argument `by=`."""
    return 'times.groupby("suite")' + (' or by="suite"' if by else "") + " gives each its own"


def suites_hint(array: xr.DataArray, across: str, *, by: bool = True) -> str:
    """Return how suites are told apart, as the end of a sentence, where the benchmarks that were measured are of several."""
    suite = array.coords.get(SUITE)
    if suite is None or suite.dims != (across,):
        return ""
    measured = slice(None) if is_chunked(array) else array.notnull().any([dim for dim in array.dims if dim != across]).values
    number = len(set(suite.values[measured].tolist()))
    return f"; the benchmarks are of {number} suites: {ways_apart(by)}" if number > 1 else ""


def name_suites(result: Any, array: xr.DataArray, counted: xr.DataArray, across: str, *, by: bool = False) -> Note | None:
    """Name in the attrs, and in the note that is returned, the suites that one mean is taken over, where they are several."""
    note = several_suites(array, counted, across, by=by)
    if note:
        result.attrs[SUITES] = ", ".join(note.values["suites"])
    return note


def several_suites(array: xr.DataArray, counted: xr.DataArray | xr.Variable, across: str, *, by: bool = False) -> Note | None:
    """Return the note that one mean is taken over several suites, if it is.

    `counted` says which benchmarks count, in every cell or in all; where it is lazy, all do. `by` says whether there is an argument `by=`.
    """
    suite = array.coords.get(SUITE)
    if suite is None or suite.dims != (across,):
        return None
    labels = np.array([str(label) for label in suite.values], dtype=object)
    mask = np.ones((1, len(labels)), dtype=bool)
    if not is_chunked(counted):
        mask = np.moveaxis(counted.values, counted.get_axis_num(across), -1).reshape(-1, len(labels))
    names = list(dict.fromkeys(labels))
    has = np.array([mask[:, labels == name].any(axis=1) for name in names])
    several = has.sum(axis=0) > 1
    mixed = [name for name, own in zip(names, has, strict=True) if (own & several).any()]
    if not mixed:
        return None
    text = f"one mean is taken over the benchmarks of {len(mixed)} suites ({listed(mixed)}); {ways_apart(by)}"
    return Note("several_suites", text, {"suites": mixed})


MOVEMENT = "movement"
"""The check of benchmarks that are taken for independent."""


@check(MOVEMENT)
def movement_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Name `shared=` where the units of different benchmarks move together, in any suite of a result at an error rate of 5 % in all."""
    pvalue, correlation = (result.variables[f"suite_correlation{part}"].values.ravel() for part in ("_pvalue", ""))
    if not in_all(pvalue).any():
        return ()
    place, tested = int(np.nanargmin(pvalue)), int(np.count_nonzero(~np.isnan(pvalue)))
    mean, least = float(correlation[place]), float(pvalue[place])
    unit, units = str(result.attrs["unit"]), plural(str(result.attrs["unit"]))
    text = (
        f"benchmarks are taken for independent, and their {units} move together (mean correlation {mean:.2g}, p {least:.2g}): what is said "
        f"of the suite is too sure; if one {unit} serves all benchmarks, say shared={unit!r}; shared=() says that none does"
    )
    return (Note("move_together", text, {"correlation": mean, "pvalue": least, "suites": tested, "unit": unit}),)

"""Answers across benchmarks: the dim of a suite, and one answer for each of several suites."""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, CENSORED_AT, LEVELS, MARKS, SUITE
from perfarray.timings.apply import Kernel, Output, apply, is_chunked
from perfarray.timings.crossed import label_name
from perfarray.timings.labels import labels_like
from perfarray.timings.metrics import concat_results
from perfarray.timings.notes import NOTES, Note, collecting_notes, with_notes
from perfarray.timings.resolve import Data, check_dim
from perfarray.timings.streams import one_key
from perfarray.timings.suite_labels import (
    SUITES,
    dims_of,
    select_suite,
    several_suites_note,
    suites_of,
)
from perfarray.timings.validation import listed, number_of
from perfarray.timings.weights import as_weights

# How many suites a note that concerns several quotes
SHOWN = 2


# Attr: benchmarks that not all cells have, for people; the note of this code has them as data
UNMATCHED = "unmatched"

# What variances may be learned from: the suite
PRIORS = (None, "suite")

P = ParamSpec("P")
R = TypeVar("R")


def check_across(
    across: str, array: xr.DataArray, nest: tuple[str, ...], compared_dim: str | None = None
) -> None:
    """Raise where `across` is a level, the dim compared, or missing.

    Only `benchmark` may be missing.
    """
    if across in nest:
        raise ValueError(
            f"across={across!r} is a level of the nest {nest}; a suite averages over a dim "
            "that is not"
        )
    if across == compared_dim:
        raise ValueError(
            f"across={across!r} is the dim compared; a suite averages over another: give "
            "across=, or call what is compared otherwise: "
            f"times.rename({across}='program')"
        )
    if across != BENCHMARK and across not in array.coords:
        check_dim(array, across, "across")


def apply_over_suite(
    kernel: Kernel,
    *arrays: xr.DataArray,
    across: str,
    core: Sequence[Sequence[str]],
    outputs: Mapping[str, Output],
    whole: Collection[str] = (),
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Hashable] | None = None,
) -> xr.Dataset:
    """Apply a formula that takes all benchmarks together, its first core axis.

    The variables named by `whole` are one per suite.
    """
    labels = next((array[across] for array in arrays if across in array.dims), None)
    size = 1 if labels is None else labels.size
    sides = []
    for array in arrays:
        side = (
            array
            if across in array.dims
            else array.drop_vars(across, errors="ignore").expand_dims({across: size})
        )
        sides.append(side.chunk({across: -1}) if is_chunked(side) else side)
    variables = {
        name: output if name in whole else output._replace(dims=(across, *output.dims))
        for name, output in outputs.items()
    }
    result = apply(
        kernel,
        *sides,
        core=[[across, *dims] for dims in core],
        outputs=variables,
        coords=coords,
        attrs=attrs,
    )
    if labels is None:
        return result.isel({across: 0}, drop=True)
    along = {name: coord for name, coord in labels.coords.items() if coord.dims == (across,)}
    return result.assign_coords(along)


class TooFew(ValueError):
    """Too few values without gaps for an answer."""


def for_each_suite(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that each of several suites has its own answer, along `suite`.

    `by=` names another coordinate along the benchmarks, whose values have one answer each. Suites
    that raise `TooFew` are left out and named.
    """
    parameters = inspect.signature(function).parameters
    one_system, first = "baseline" not in parameters, next(iter(parameters))

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        by, across = (
            kwargs.pop("by", None),
            str(kwargs.get("across", kwargs.get("features", BENCHMARK))),
        )
        times = cast(Data, args[0] if args else kwargs.get(first))
        suites_note = _suites_apart(times, across, args[1:], kwargs) if by is None else None
        if by is None and suites_note is None:
            return function(*args, **kwargs)
        by = SUITE if by is None else str(by)
        labels = suites_of(times, by, across)
        keywords, unmatched = one_key(function, kwargs), None
        # In the order of all benchmarks.
        if isinstance(keywords.get("weights"), Sequence | np.ndarray):
            keywords["weights"] = as_weights(keywords["weights"], times[across])
        arguments: tuple[Any, ...] = args
        if one_system:
            bare = _without_descriptors(times, by)
            arguments = tuple(bare if argument is times else argument for argument in args)
            keywords = {key: bare if value is times else value for key, value in keywords.items()}
        else:
            unmatched = _baseline_only_note(
                times, args[1] if len(args) > 1 else kwargs.get("baseline"), across
            )
        results, notes = _results_by_suite(function, arguments, keywords, labels, by, across)
        answer = _concat_suites(results, by, times)
        return cast(
            R,
            with_notes(
                _described(answer, times, across) if one_system else answer,
                *notes,
                unmatched,
                suites_note,
            ),
        )

    return cast(Callable[P, R], wrapper)


def _baseline_only_note(times: Data, baseline: object, across: str) -> Note | None:
    """Return the note on benchmarks of other timings that are in no suite of the data."""
    if not isinstance(baseline, xr.DataArray | xr.Dataset) or across not in baseline.dims:
        return None
    names = [
        str(label)
        for label in baseline[across].values[
            ~np.isin(baseline[across].values, times[across].values)
        ]
    ]
    text = f"{len(names)} labels are in the baseline only and are left out: {listed(names)}"
    return Note(UNMATCHED, text, {"labels": names}) if names else None


def _suites_apart(
    times: Data, across: str, baseline: tuple[object, ...], kwargs: Mapping[str, Any]
) -> Note | None:
    """Return the note on several suites, each of which has its own answer.

    Labels compared that may be of different suites, as two machines are, stay together: the
    comparison refuses these.
    """
    dims = [str(name) for name in dims_of(times, SUITE) if name != across]
    reference, dim = baseline[0] if baseline else kwargs.get("baseline"), kwargs.get("dim")
    if dims and not isinstance(reference, xr.DataArray | xr.Dataset):
        baseline_dims = (
            [dim]
            if dim is not None
            else [name for name in dims if reference in times.indexes.get(name, ())]
        )
        if set(baseline_dims) & set(dims):
            return None
    return several_suites_note(times, across)


def _without_descriptors(times: Data, by: str) -> Data:
    """Return timings without the coordinates that formulas do not read."""
    levels = {dim for dim in times.dims if dim in LEVELS}
    needed = {*times.dims, *MARKS, CENSORED_AT, SUITE, by, *map(label_name, map(str, levels))}
    return times.drop_vars(
        [name for name in times.coords if name not in needed and name not in times.xindexes]
    )


def _described(answer: Any, times: Data, across: str) -> Any:
    """Return an answer with the coordinates of the timings along its dims."""
    names = [
        name
        for name in times.coords
        if name not in answer.coords and {*times.coords[name].dims} <= {*answer.dims} - {across}
    ]
    coords = times.coords.to_dataset()[names].drop_vars([*times.dims], errors="ignore")
    indexers = {}
    for dim in coords.dims:
        if dim in answer.indexes and not answer.indexes[dim].equals(times.indexes[dim]):
            indexers[dim] = times.indexes[dim].get_indexer(answer.indexes[dim])
    return answer.assign_coords(coords.isel(indexers).variables)


def _concat_suites(results: Mapping[str, Any], by: str, times: Data) -> Any:
    """Concatenate the results of suites.

    Labels that not all suites have keep the order and the coordinates of the data.
    """
    suites, order = (
        [result.drop_vars(by, errors="ignore") for result in results.values()],
        dict[Any, pd.Index](),
    )
    for dim in times.indexes:
        indexes = [result.indexes[dim] for result in suites if dim in result.indexes]
        union = set().union(*indexes)
        if any(len(index) < len(union) for index in indexes):
            order[dim] = times.indexes[dim][times.indexes[dim].isin(list(union))]
    if not order:
        return concat_results(suites, by, list(results))
    coord_names, dims = (
        {name for result in suites for name in result.coords} - {by},
        {dim for result in suites for dim in result.dims},
    )
    dims_by_coord = {name: {*dims_of(times, name)} for name in coord_names}
    names = [
        name for name, along in dims_by_coord.items() if along & order.keys() and along <= dims
    ]
    # Joined without these coordinates, which would be reindexed one by one.
    joined = concat_results(
        [result.drop_vars({*names} - order.keys(), errors="ignore") for result in suites],
        by,
        list(results),
    )
    ordered = times.coords.to_dataset()[names].sel(order).variables
    return joined.reindex(order).assign_coords({name: ordered[name] for name in names})


def suite_row_for_each(function: Callable[P, xr.Dataset]) -> Callable[P, xr.Dataset]:
    """Decorate a function so that each of several suites has a row, along a dim `suite`.

    `by=` names another coordinate along the benchmarks. These keep their rows, and the coordinate
    under a name of two parts such as `benchmark_suite`.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> xr.Dataset:
        coordinate, across = kwargs.pop("by", None), str(kwargs.get("across", BENCHMARK))
        suites_note = (
            None
            if coordinate is not None
            else _suites_apart(cast(Data, args[0]), across, args[1:], kwargs)
        )
        if coordinate is None and suites_note is None:
            return function(*args, **kwargs)
        by, keywords = SUITE if coordinate is None else str(coordinate), one_key(function, kwargs)
        labels = suites_of(cast(Data, args[0]), by, across)
        with collecting_notes() as all_notes:
            answer: xr.Dataset = function(*args, **cast(Any, keywords))
        labels_in_answer = answer[across].values
        labels = {
            name: members
            for name, members in (
                (name, members[np.isin(members, labels_in_answer)])
                for name, members in labels.items()
            )
            if len(members)
        }
        if controls := kwargs.get("controls"):  # those of all suites serve each
            common = np.isin(
                labels_in_answer,
                labels_like(cast(Any, controls), labels_in_answer.tolist(), "controls"),
            )
            labels = {
                name: labels_in_answer[np.isin(labels_in_answer, members) | common]
                for name, members in labels.items()
            }
        # What is known of machines and settings is said of the rows of benchmarks.
        bare = tuple(
            _without_descriptors(side, by) if isinstance(side, xr.DataArray | xr.Dataset) else side
            for side in args
        )
        results, suite_notes = _results_by_suite(function, bare, keywords, labels, by, across)
        names = [name for name in answer.data_vars if str(name).startswith(OF_SUITE)]
        rows = _concat_suites(
            {name: result[names] for name, result in results.items()}, by, cast(Data, args[0])
        )
        result = (
            answer.drop_vars(names)
            .rename({by: f"{across}_{by}"} if by in answer.coords else {})
            .assign(rows.data_vars)
        )
        for attr in set(result.attrs) & {SUITES, "n_incomplete_units", NOTES}:
            del result.attrs[attr]
        notes = [note for note in all_notes if note.code not in SUITE_NOTES] + [
            note for note in suite_notes if note.code in SUITE_NOTES
        ]
        return with_notes(result, *notes, suites_note)

    return cast(Callable[P, xr.Dataset], wrapper)


# Prefix of the variables of suite rows
OF_SUITE = "suite_"

# Codes of the notes on suite rows
SUITE_NOTES = ("move_together", "incomplete_units", "several_suites", "common_shift", "rows_differ")


def _results_by_suite(
    function: Any, args: Any, kwargs: Any, labels: dict[str, Any], by: str, across: str
) -> tuple[dict[str, Any], list[Note]]:
    """Return the results of a function for each suite, and their notes, which name the suite."""
    results, errors, reason = {}, list[str](), ""
    by_code = dict[tuple[str, int], dict[str, Note]]()
    for label, names in labels.items():
        with collecting_notes() as notes:
            positional = [select_suite(argument, by, across, label, names) for argument in args]
            keywords = {
                key: select_suite(value, by, across, label, names) for key, value in kwargs.items()
            }
            try:
                _check_sides([*positional, *keywords.values()], across)
                results[label] = function(*positional, **keywords)
            except TooFew as error:
                errors.append(label)
                reason = str(error)
        # A suite may have several notes of one code: each stays.
        numbers: Counter[str] = Counter()
        for note in {(note.code, note.message): note for note in notes}.values():
            by_code.setdefault((note.code, numbers[note.code]), {})[label] = note
            numbers[note.code] += 1
    gathered = [joined_notes(by_label, by) for by_label in by_code.values()]
    if errors:
        text = (
            f"{len(errors)} of {len(labels)} along {by!r} have too little data "
            f"({listed(errors)}); in the last, {reason}"
        )
        if not results:
            raise TooFew(text)
        gathered.append(Note("unanswered", text, {by: errors}))
    return results, gathered


def _check_sides(arguments: Sequence[object], across: str) -> None:
    """Raise `TooFew` where other timings have no benchmark of a suite."""
    sides = [
        argument
        for argument in arguments
        if isinstance(argument, xr.DataArray | xr.Dataset) and across in argument.dims
    ]
    if not all(side.sizes[across] for side in sides):
        raise TooFew(f"no label of {across!r} is on both sides")


def joined_notes(by_label: Mapping[str, Note], by: str) -> Note:
    """Return the notes of one code of several suites as one, which names the suites."""
    first = replace(
        next(iter(by_label.values())), aside=all(note.aside for note in by_label.values())
    )
    if len(by_label) == 1:
        label = next(iter(by_label))
        return replace(
            first, message=f"{label}: {first.message}", values={**first.values, by: label}
        )
    counts = [(note.values.get("cells"), note.values.get("of")) for note in by_label.values()]
    texts = {
        note.message.replace(f"{cells} of {of}", "{}", 1)
        for note, (cells, of) in zip(by_label.values(), counts, strict=True)
    }
    if len(texts) == 1 and all(isinstance(cells, int) for cells, _ in counts):
        cells, of = (
            sum(numbers) for numbers in zip(*cast(list[tuple[int, int]], counts), strict=True)
        )
        message, aside = (
            texts.pop().replace("{}", f"{cells} of {of}", 1),
            all(note.aside for note in by_label.values()),
        )
        return replace(
            first, message=message, values={**first.values, "cells": cells, "of": of}, aside=aside
        )
    message = "; ".join(f"{label}: {note.message}" for label, note in [*by_label.items()][:SHOWN])
    message += f"; and {number_of(len(by_label) - SHOWN, by)} more" if len(by_label) > SHOWN else ""
    return replace(
        first,
        message=message,
        values={
            by: [*by_label],
            "of": {label: dict(note.values) for label, note in by_label.items()},
        },
    )

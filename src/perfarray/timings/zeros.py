"""Zeros: they count in means and differences.

Cells of which a method needs values above 0 are declined, by name.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import seconds_factor
from perfarray.numerics.levels import one_value_per_unit
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed, number_of
from perfarray.timings.values import place_of

ZEROS, DECLINED = "zeros", "declined"  # codes of the notes


class Positive(NamedTuple):
    """What a method needs to be above 0 in a cell.

    `needs` says what needs it, for messages. `of` is the statistic: `min` for every mean; "" if
    means may be 0, and only negative values are refused. `level` is a level or its position in the
    nest.
    """

    needs: str
    of: str = "min"
    level: str | int = 0


def cell_names(where: xr.DataArray) -> list[str]:
    """Return the labels of the True cells, each as `label` or `label, label`."""
    labels = [where[dim].values for dim in where.dims]
    return [
        ", ".join(str(values[i]) for values, i in zip(labels, index, strict=True))
        for index in np.argwhere(where.values)
    ]


def without_zeros(
    array: xr.DataArray, levels: tuple[str, ...], positive: Positive
) -> tuple[xr.DataArray, tuple[Note, ...]]:
    """Return timings without the cells that are not above 0, and a note on them.

    Negative values raise. Cells of lazy timings are declined when they are computed, without a
    note.
    """
    needs, statistic, level = positive
    lazy = is_chunked(array)
    if not lazy:
        if not (array.values <= 0).any():
            return array, ()
        _check_negative(array, needs)
    if not statistic:
        return array, ()
    depth = (
        (levels.index(level) if level in levels else 0)
        if isinstance(level, str)
        else level % len(levels)
    )
    decline = partial(
        _declined, axes=tuple(map(array.dims.index, levels)), depth=depth, statistic=statistic
    )
    if lazy:
        return array.copy(
            data=array.data.map_blocks(decline, dtype=float, meta=np.empty((0,) * array.ndim))
        ), ()
    values = decline(array.values)
    declined = (np.isnan(values) & ~np.isnan(array.values)).any(
        axis=tuple(map(array.dims.index, levels))
    )
    if not declined.any():
        return array, ()
    names = cell_names(array.isel(dict.fromkeys(levels, 0), drop=True).copy(data=declined))
    return array.copy(data=values), (_declined_note(names, needs),)


def _declined(values: Floats, axes: tuple[int, ...], depth: int, statistic: str) -> Floats:
    """Return values with NaN in the cells of which a statistic is not above 0."""
    number = len(axes)
    ordered = np.moveaxis(values, axes, range(-number, 0))
    with np.errstate(invalid="ignore"):
        declined = run_statistic(one_value_per_unit(ordered, number, depth), statistic) <= 0
    return np.where(np.expand_dims(declined, sorted(axes)), np.nan, values)


def _check_negative(array: xr.DataArray, needs: str) -> None:
    negative = array.values < 0
    if negative.any():
        number, first = int(negative.sum()), np.argwhere(negative)[0]
        negatives = f"{number_of(number, 'value')} that {'is' if number == 1 else 'are'} negative"
        value = float(array.values[tuple(first)])
        raise ValueError(
            f"{needs} needs positive values; {array.name or 'the data'} has {negatives}, the "
            f"first ({value:g}) at "
            f"{place_of(array, first)}; mark failed runs as failed, or remove them"
        )


def zeros_note(array: xr.DataArray, *, of_times: bool = False) -> tuple[Note, ...]:
    """Return a note on the values that are 0, or on those `of_times` alone.

    Lazy values are not counted.
    """
    is_time = seconds_factor(str(array.attrs.get("units", ""))) is not None
    if is_chunked(array) or (of_times and not is_time):
        return ()
    zeros = int(np.count_nonzero(array.values == 0))
    if not zeros:
        return ()
    return (
        _zeros_note(
            zeros,
            int(np.count_nonzero(~np.isnan(array.values))),
            str(array.name or "the data"),
            is_time=is_time,
        ),
    )


def _zeros_note(zeros: int, number: int, name: str, *, is_time: bool) -> Note:
    # A count of 0 is a result like others, and no reason to warn.
    resolution = ", below the clock's resolution" if is_time else ""
    text = (
        f"{zeros} of {number} values of {name} are 0{resolution}. They count as 0 in means and "
        "differences."
    )
    return Note(ZEROS, text, {"values": zeros, "of": number, "name": name}, aside=not is_time)


def _declined_note(names: Sequence[str], needs: str) -> Note:
    cells = number_of(len(names), "cell")
    text = (
        f"{cells} {'has' if len(names) == 1 else 'have'} zeros and no answer: {listed(names, 5)}. "
    )
    text += f"Zeros count as not measured here, since {needs} needs values above 0."
    return Note(DECLINED, text, {"cells": len(names), "names": list(names), "needs": needs})


def joined_notes(notes: tuple[Note, ...], other_notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Return the notes on two sides, with one on the zeros of both, and one on cells declined."""
    joined = {note.code: note for note in notes if note.code in (ZEROS, DECLINED)}
    for note in other_notes:
        first = joined.get(note.code)
        if first is None:
            continue
        if note.code == ZEROS:
            zeros, number = (first.values[name] + note.values[name] for name in ("values", "of"))
            joined[ZEROS] = _zeros_note(
                zeros, number, first.values["name"], is_time=not first.aside
            )
        else:
            joined[DECLINED] = _declined_note(
                list(dict.fromkeys((*first.values["names"], *note.values["names"]))),
                note.values["needs"],
            )
    return (
        *(joined.get(note.code, note) for note in notes),
        *(note for note in other_notes if note.code not in joined),
    )
